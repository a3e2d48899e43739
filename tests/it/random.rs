//! Seeded randomness for tests: the seed is printed and read back from `RECALLD_SEED`.

/// `SplitMix64` (Steele, Lea and Flood 2014): small, and good enough to choose test steps.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The generator of `RECALLD_SEED`, else of the process id; the seed is printed.
    pub fn from_environment(what: &str) -> Self {
        let seed = std::env::var("RECALLD_SEED")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| u64::from(std::process::id()));
        eprintln!("{what}: RECALLD_SEED={seed}");
        Self::new(seed)
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}
