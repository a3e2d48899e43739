//! What the tests of this room share.

use jiff::Timestamp;

use crate::domain::embedding::Vector;
use crate::domain::id::MemoryId;
use crate::domain::memory::Memory;

/// A memory with nothing special about it.
pub(super) fn memory(id: MemoryId, namespace: &str, content: &str) -> Memory {
    let namespace = namespace.parse().unwrap();
    Memory { namespace, ..Memory::plain(id, content, Timestamp::UNIX_EPOCH) }
}

/// Numbers that follow from a seed (`SplitMix64`, Steele et al. 2014).
pub(super) struct Seeded(pub(super) u64);

impl Seeded {
    /// The generator of `RECALLD_SEED`, else of the process id; the seed is printed.
    pub(super) fn from_environment(what: &str) -> Self {
        let seed = std::env::var("RECALLD_SEED").ok().and_then(|text| text.parse().ok());
        let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
        eprintln!("{what}: RECALLD_SEED={seed}");
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    /// Roughly normal, from -6.0 to 6.0.
    pub(super) fn normal(&mut self) -> f32 {
        (0..12).map(|_| (self.next() >> 40) as f32 / (1 << 24) as f32).sum::<f32>() - 6.0
    }

    /// A vector of length 1 near `centre`.
    pub(super) fn near(&mut self, centre: &[f32], noise: f32) -> Vector {
        let moved: Vec<f32> = centre.iter().map(|x| x + noise * self.normal()).collect();
        let length = moved.iter().map(|x| x * x).sum::<f32>().sqrt();
        moved.iter().map(|x| x / length).collect()
    }
}
