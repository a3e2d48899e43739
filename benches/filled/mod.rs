//! A data directory that holds many memories, filled through the use cases with the seeded model.
//!
//! Texts are sentences of 12 to 24 words whose frequencies fall as in natural language (Zipf 1949),
//! each with one word that no other memory has; tags mark a half, a twentieth and a two-hundredth.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use recalld::app::{Engine, EngineSettings};
use recalld::clock::SystemClock;
use recalld::config::{Config, Environment, Sources};
use recalld::domain::identity::{Access, Actor, Caller};
use recalld::ports::{Clock as _, Store as _};
use recalld::service::remember::Draft;
use recalld::telemetry::Counters;

/// Tags, each with the number of memories of which one bears it and the share in words.
pub const TAGS: [(&str, u64, &str); 3] =
    [("half", 2, "50 %"), ("twentieth", 20, "5 %"), ("rare", 200, "0.5 %")];

/// Memories in one store.
const BATCH: u64 = 100;
/// Stores in flight.
const N_WRITERS: u64 = 4;
/// Words that texts are made of.
const N_WORDS: u64 = 20_000;
const SEED: u64 = 20_261_129;

/// The person.
pub fn owner() -> Caller {
    Caller { uid: 0, actor: Actor::Owner, access: Access::owner() }
}

/// An engine on `dir` with this embedding model, not loaded yet.
pub fn open(dir: &Path, model: &str) -> Arc<Engine> {
    std::fs::create_dir_all(dir).unwrap();
    let file = dir.join(format!("{model}.toml"));
    std::fs::write(&file, format!("[embed]\nmodel = \"{model}\"\n")).unwrap();
    let sources = Sources {
        environment: Environment::new([], 0),
        config: Some(file),
        socket: Some(dir.join("recalld.sock")),
        state_dir: Some(dir.join("state")),
    };
    let config = Config::load(&sources).unwrap().config;
    let settings = EngineSettings { state_dir: dir.join("state"), config, start_empty: false };
    Arc::new(Engine::open(&settings, Arc::new(Counters::default())).unwrap())
}

/// A directory for directories to be filled: that of `RECALLD_BENCH_DIR`, which keeps them between
/// runs, else a temporary one.
pub fn root() -> (PathBuf, Option<tempfile::TempDir>) {
    if let Some(dir) = std::env::var_os("RECALLD_BENCH_DIR") {
        return (dir.into(), None);
    }
    let dir = tempfile::tempdir().unwrap();
    (dir.path().to_owned(), Some(dir))
}

/// Fills the directory up to `n_memories` of [`draft`], unless it holds them already.
pub async fn fill(dir: &Path, n_memories: u64) {
    fill_with(dir, n_memories, draft).await;
}

/// The same with memories of another kind.
pub async fn fill_with(dir: &Path, n_memories: u64, draft: fn(u64) -> Draft) {
    let engine = open(dir, "seeded");
    let clock = SystemClock::new();
    engine.load().await.unwrap();
    let n_before = engine.store().report().await.unwrap().n_memories;
    let writers = (0..N_WRITERS).map(|writer| {
        let service = Arc::clone(&engine.service);
        tokio::spawn(async move {
            let first = n_before + writer * BATCH;
            for start in (first..n_memories).step_by(usize::try_from(N_WRITERS * BATCH).unwrap()) {
                let end = (start + BATCH).min(n_memories);
                let drafts = (start..end).map(draft).collect();
                service.remember(&owner(), drafts, None).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let filled = clock.monotonic();
    let mut failed = HashSet::new();
    while engine.service.embed_backlog(&mut failed).await.unwrap().has_more {}
    let n_new = n_memories.saturating_sub(n_before);
    if n_new > 0 {
        println!(
            "{n_new} memories stored in {:.1} s ({:.0} a second), late vectors {:.1} s",
            filled.as_secs_f64(),
            n_new as f64 / filled.as_secs_f64(),
            clock.monotonic().saturating_sub(filled).as_secs_f64(),
        );
    }
    let closing = Arc::clone(&engine);
    tokio::task::spawn_blocking(move || closing.close()).await.unwrap();
}

/// The memory of this number.
pub fn draft(number: u64) -> Draft {
    let mut random = Random(SEED ^ number);
    let n_words = 12 + random.below(13);
    let mut words: Vec<String> = (0..n_words).map(|_| word(random.rank())).collect();
    words.push(own_word(number));
    let tags = TAGS.iter().filter(|(_, one_in, _)| number.is_multiple_of(*one_in));
    let tags = tags.map(|(tag, ..)| (*tag).to_owned()).collect();
    Draft { content: words.join(" "), tags, ..Draft::default() }
}

/// A memory of this number that is 300 characters long.
pub fn long_draft(number: u64) -> Draft {
    let mut random = Random(SEED ^ number);
    let mut content = own_word(number);
    while content.len() < 300 {
        content = format!("{content} {}", word(random.rank()));
    }
    content.truncate(300);
    Draft { content, ..Draft::default() }
}

/// The word that only the memory of this number has.
pub fn own_word(number: u64) -> String {
    word(N_WORDS + number)
}

/// A question of four words, one of them rare.
pub fn question(number: u64) -> String {
    let mut random = Random(SEED ^ number.rotate_left(32));
    let rare = N_WORDS / 2 + random.below(N_WORDS / 2);
    [random.rank(), random.rank(), random.rank(), rare].map(word).join(" ")
}

/// The middle of what was measured.
pub fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A pronounceable word for a number, another for each.
fn word(number: u64) -> String {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 4] = b"aeio";
    let mut rest = number;
    let mut word = String::new();
    while rest > 0 || word.len() < 6 {
        let syllable = usize::try_from(rest % 64).unwrap();
        word.push(char::from(CONSONANTS[syllable / 4]));
        word.push(char::from(VOWELS[syllable % 4]));
        rest /= 64;
    }
    word
}

/// `SplitMix64` (Steele et al. 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A rank whose probability falls as one over it: the inverse of `ln(rank) / ln(N_WORDS)`.
    fn rank(&mut self) -> u64 {
        let uniform = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let rank = (N_WORDS as f64).powf(uniform) - 1.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0.0 to N_WORDS"
        )]
        (rank as u64).min(N_WORDS - 1)
    }
}
