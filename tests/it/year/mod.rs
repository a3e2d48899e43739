//! A year of all jobs, twice a day, on a clock that is told: notes come in, are read, put right and
//! forgotten; the language model is well for weeks, then away or wrong; the process starts anew now
//! and then. Nothing is lost, and everything can be explained.

mod acts;
mod checks;
mod dialogue;
pub mod disk;
mod replay;
mod undo;
mod world;
#[allow(dead_code, reason = "the unit tests use more of it")]
#[path = "../../../src/service/tests/writer.rs"]
mod writer;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use recalld::domain::id::MemoryId;
use recalld::domain::job::{JobName, Outcome, Run};
use recalld::domain::memory::{Kind, Memory, Status};
use recalld::domain::summary::Unusable;

use self::acts::Book;
use self::dialogue::Said;
use self::replay::Replay;
use self::undo::Past;
use self::world::World;
use self::writer::Manner;
use crate::random::Random;
use crate::skip::skip;

/// Runs of each job: twice a day for a year.
const ROUNDS: usize = 730;
const STEP: Duration = Duration::from_hours(12);
/// Rounds between two looks at everything.
const LOOK_EVERY: usize = 73;
/// Memories searched for by their words at such a look; at the end it is all.
const SEARCHES: usize = 10;
/// Rounds for which the language model stays as it is.
const MOOD: usize = 40;
const RAMBLES: Manner = Manner::Useless(Unusable::NotJson);
const MOODS: [Manner; 6] =
    [Manner::Well, Manner::Away, Manner::Well, Manner::Invents, Manner::Well, RAMBLES];
/// Runs that changed something and are undone at the end.
const UNDONE: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn a_year_of_all_jobs_loses_nothing_and_can_be_explained_and_undone() {
    let mut random = Random::from_environment("a simulated year");
    let said = dialogue::generated(160, &mut random);
    let seen = year(said, &mut random).await;
    assert!(seen.products > 0 && seen.undone == UNDONE, "{seen:?}");
    assert!(seen.changed.contains_key(&JobName::Archive), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_year_over_real_dialogues_loses_nothing_either() {
    let Some(data) = std::env::var_os("RECALLD_EVALDATA").map(PathBuf::from) else {
        skip("a year over real dialogues", "RECALLD_EVALDATA does not say where the sets are");
        return;
    };
    let mut random = Random::from_environment("a simulated year over real dialogues");
    for name in ["locomo", "locomo-zh"] {
        let said = dialogue::real(&data.join(format!("{name}.memories.jsonl")), 100);
        eprintln!("{name}");
        year(said, &mut random).await;
    }
}

/// What was seen.
#[derive(Debug, Default)]
struct Seen {
    runs: BTreeMap<(JobName, &'static str), usize>,
    changed: BTreeMap<JobName, u64>,
    products: usize,
    undone: usize,
    restarts: usize,
}

async fn year(said: Vec<Said>, random: &mut Random) -> Seen {
    let mut world = World::new("2026-01-01T04:00:00Z".parse().unwrap()).await;
    let (mut book, mut replay, mut seen) = (Book::default(), Replay::default(), Seen::default());
    let mut said = VecDeque::from(said);
    let n_said = said.len();
    let mut past: VecDeque<Past> = VecDeque::new();
    for round in 0..ROUNDS {
        world.writer.set(&[MOODS[round / MOOD % MOODS.len()]]);
        // To the last round something is new.
        let due = n_said * (round + 1) / ROUNDS - (n_said - said.len());
        book.say(&world, &mut said, due).await;
        book.act(&world, random).await;
        world.keep_up().await;
        let mut records = world.records().await;
        for job in world.jobs() {
            if let Some(one) = run(&world, job, &mut records, &book, &mut replay, &mut seen).await {
                past.push_back(one);
            }
        }
        while past.len() > UNDONE {
            past.pop_front();
        }
        if random.below(150) == 0 {
            seen.restarts += 1;
            world = world.restarted().await;
        }
        if round % LOOK_EVERY == LOOK_EVERY - 1 {
            look(&world, &book, &mut replay, random, SEARCHES).await;
        }
        world.advance(STEP);
    }
    look(&world, &book, &mut replay, random, usize::MAX).await;
    eprintln!("{n_said} said, {} there: {seen:?}", world.records().await.len());
    seen.undone = past.len();
    let now = world.now();
    let disk = world.close();
    let past = Vec::from(past);
    for one in &past {
        undo::alone(&disk, one, now).await;
    }
    undo::backwards(&disk, &past, &replay, now).await;
    seen
}

/// One run of a job over these records, and what must be true after it; what there was before it, if it
/// changed anything.
async fn run(
    world: &World,
    job: JobName,
    records: &mut BTreeMap<MemoryId, Memory>,
    book: &Book,
    replay: &mut Replay,
    seen: &mut Seen,
) -> Option<Past> {
    let sequence = world.sequence().await;
    let run = world.run(job).await;
    let outcome = run.outcome.as_ref().unwrap();
    *seen.runs.entry((job, outcome.as_str())).or_default() += 1;
    let is_well = matches!(outcome, Outcome::Done | Outcome::Partial(_) | Outcome::Skipped(_));
    assert!(is_well, "{run:?}");
    if job == JobName::Decay {
        checks::strengths(world, records, run.now).await;
    }
    replay.follow(&world.store).await;
    let changes = replay.agrees_with(&world.store, &run).await;
    assert_eq!(changes.is_empty(), run.n_changed == 0, "{run:?}");
    if changes.is_empty() {
        assert_eq!(world.sequence().await, sequence, "{run:?}");
        return None;
    }
    *seen.changed.entry(job).or_default() += run.n_changed;
    let before = std::mem::replace(records, world.records().await);
    checks::only_links(&before, records, book);
    checks::spoken_for(records);
    for change in changes.iter().filter(|change| change.is_new) {
        seen.products += 1;
        checks::grounded(&records[&change.id], records);
    }
    one_summary_each(records, &run);
    Some(Past { run: run.id, before, changes, sequence: world.sequence().await })
}

/// No two current summaries are made of the same memories.
fn one_summary_each(records: &BTreeMap<MemoryId, Memory>, run: &Run) {
    let mut seen = BTreeSet::new();
    let is_live =
        |memory: &&Memory| memory.kind == Kind::Summary && memory.status == Status::Active;
    for summary in records.values().filter(is_live) {
        let mut sources = summary.derived_from.clone();
        sources.sort_unstable();
        assert!(seen.insert(sources), "{run:?}: {summary:?}");
    }
}

/// A look at everything.
async fn look(
    world: &World,
    book: &Book,
    replay: &mut Replay,
    random: &mut Random,
    n_searches: usize,
) {
    replay.follow(&world.store).await;
    let records = world.records().await;
    let found = world.store.verify().await.unwrap();
    assert_eq!(found.violations, Vec::<String>::new());
    checks::nothing_lost(book, &records);
    replay.explains(&world.store, &records).await;
    let mut ids: Vec<MemoryId> = book.texts.keys().chain(book.fixed.keys()).copied().collect();
    while ids.len() > n_searches {
        ids.swap_remove(usize::try_from(random.below(ids.len() as u64)).unwrap());
    }
    checks::reachable(world, &records, &ids).await;
}
