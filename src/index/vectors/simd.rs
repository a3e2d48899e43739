//! The dot product of two int8 rows, the inner loop of every vector search.
//!
//! AVX2 where the processor has it (found at run time), else a plain loop that the compiler
//! vectorises for the baseline. A property test holds the two equal.
#![allow(
    unsafe_code,
    reason = "vector intrinsics; each block states why it is sound, and a property test compares them with the safe loop"
)]

/// Sum of the products of the coordinates that both rows have.
pub fn dot(a: &[i8], b: &[i8]) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, which is all that `dot_avx2` requires.
        return unsafe { dot_avx2(a, b) };
    }
    dot_plain(a, b)
}

fn dot_plain(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum()
}

/// 32 coordinates a step: widened to 16 bits, multiplied, and added in pairs to 32 bits, where
/// nothing overflows below 2^16 steps.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_avx2(a: &[i8], b: &[i8]) -> i32 {
    use std::arch::x86_64::{
        __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_shuffle_epi32,
        _mm256_add_epi32, _mm256_castsi256_si128, _mm256_cvtepi8_epi16, _mm256_extracti128_si256,
        _mm256_madd_epi16, _mm256_setzero_si256,
    };
    /// Sums of the products of two halves of a step.
    #[target_feature(enable = "avx2")]
    fn products(x: &[i8; 16], y: &[i8; 16]) -> __m256i {
        // SAFETY: both pointers are to 16 readable bytes, and the load asks for no alignment.
        let (x, y) =
            unsafe { (_mm_loadu_si128(x.as_ptr().cast()), _mm_loadu_si128(y.as_ptr().cast())) };
        _mm256_madd_epi16(_mm256_cvtepi8_epi16(x), _mm256_cvtepi8_epi16(y))
    }

    let n = a.len().min(b.len());
    let (a, b) = (a.get(..n).unwrap_or_default(), b.get(..n).unwrap_or_default());
    let (halves_a, rest_a) = a.as_chunks::<16>();
    let (halves_b, rest_b) = b.as_chunks::<16>();
    let (steps_a, last_a) = halves_a.as_chunks::<2>();
    let (steps_b, last_b) = halves_b.as_chunks::<2>();
    // Two sums, so that an addition need not wait for the one before it.
    let (mut low, mut high) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    for ([a_low, a_high], [b_low, b_high]) in steps_a.iter().zip(steps_b) {
        low = _mm256_add_epi32(low, products(a_low, b_low));
        high = _mm256_add_epi32(high, products(a_high, b_high));
    }
    for (a, b) in last_a.iter().zip(last_b) {
        low = _mm256_add_epi32(low, products(a, b));
    }
    let sum = _mm256_add_epi32(low, high);
    let half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b_01_00_11_10>(half));
    let whole = _mm_add_epi32(quarter, _mm_shuffle_epi32::<0b_10_11_00_01>(quarter));
    _mm_cvtsi128_si32(whole) + dot_plain(rest_a, rest_b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_vector_kernel_and_the_plain_loop_agree(
            a in prop::collection::vec(any::<i8>(), 0..900),
            b in prop::collection::vec(any::<i8>(), 0..900),
        ) {
            prop_assert_eq!(dot(&a, &b), dot_plain(&a, &b));
            let n = a.len().min(b.len());
            prop_assert_eq!(dot(&a[..n], &b[..n]), dot_plain(&a[..n], &b[..n]));
        }
    }

    #[test]
    fn the_largest_products_do_not_overflow() {
        let row = [i8::MIN; 4_096];
        assert_eq!(dot(&row, &row), 128 * 128 * 4_096);
    }
}
