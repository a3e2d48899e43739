//! A new memory beside an old one: said again, corrected, or contradicted.

use std::time::Duration;

use super::fixture::{Fixture, agent, contents, draft, draft_in, key, owner, question};
use super::model::Mood;
use crate::domain::change::StoreStatus;
use crate::domain::decay::Verdict;
use crate::domain::embedding::Scripts;
use crate::domain::id::MemoryId;
use crate::domain::limits::COMPARED_NOTED_EVERY;
use crate::domain::memory::{Kind, Status};
use crate::ports::Store as _;
use crate::service::contradict::{Compared, ContradictionSettings};
use crate::service::feedback::{FeedbackRequest, Judged};
use crate::service::recall::RecallRequest;
use crate::service::remember::{Draft, Kept};
use crate::service::scope::Scope;

const DAY: Duration = Duration::from_hours(24);

/// Stores a text a day after what was stored before.
async fn next_day(fixture: &Fixture, draft: Draft) -> Kept {
    fixture.clock.advance(DAY);
    fixture.remember(&agent("a"), draft).await
}

async fn found_under(fixture: &Fixture, query: &str, scope: Scope) -> Vec<String> {
    let request = RecallRequest { scope, ..question(query) };
    let mut found = contents(&fixture.service.recall(&agent("a"), request).await.unwrap());
    found.sort();
    found
}

/// How often what waits is looked at until something comes of it.
const LOOKS: usize = 5;

/// Compares what waits; gives how many memories were linked.
async fn compare_late(fixture: &Fixture) -> usize {
    // A clock that stands still jumps to the deadline while a thread of the store works, and a busy
    // machine may pass it: what is not compared by then waits for the next time.
    tokio::time::resume();
    let mut n_linked = 0;
    for _ in 0..LOOKS {
        let (n, more) = fixture.service.compare_late(None).await.unwrap();
        assert_eq!(more, None);
        n_linked += n;
        if n_linked > 0 {
            break;
        }
    }
    tokio::time::pause();
    n_linked
}

async fn assert_replaced(fixture: &Fixture, old: MemoryId, new: MemoryId) {
    let (old, new) = (fixture.memory(old).await, fixture.memory(new).await);
    assert_eq!((old.status, old.superseded_by), (Status::Superseded, Some(new.id)));
    assert_eq!(old.valid_to, Some(new.event_time()));
    assert_eq!((new.status, new.supersedes), (Status::Active, Some(old.id)));
}

#[tokio::test(start_paused = true)]
async fn a_correction_by_one_digit_replaces_what_it_corrects_and_says_so() {
    for (first, second, query) in [
        ("The router is 192.168.7.1", "The router is 192.168.9.1", "router"),
        ("路由器是192.168.7.1", "路由器是192.168.9.1", "路由器"),
    ] {
        let fixture = Fixture::with_scripts(Scripts::LATIN).await;
        let old = fixture.store(first).await;
        let kept = next_day(&fixture, draft(second)).await;
        assert_eq!(kept.status, StoreStatus::Superseded);
        assert_eq!(kept.compared, Compared { superseded: vec![old], ..Compared::default() });
        assert_replaced(&fixture, old, kept.id).await;
        assert_eq!(fixture.found(query).await, [second]);
        let all = Scope { include_superseded: true, ..Scope::default() };
        assert_eq!(found_under(&fixture, query, all).await, [first, second]);
        let got = fixture.get(&owner(), &kept.id.to_string()).await.unwrap();
        assert_eq!(got.linked.chain.iter().map(|m| m.id).collect::<Vec<_>>(), [old]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_true_in_march_is_not_what_is_true_now() {
    for (scripts, january, june, query) in [
        (Scripts::ALL, "I am vegetarian", "I eat meat again", "vegetarian or meat?"),
        (Scripts::LATIN, "我吃素", "我又开始吃肉了", "吃肉还是吃素"),
    ] {
        let fixture = Fixture::with_scripts(scripts).await;
        let dated = |content: &str, day: &str| Draft {
            occurred_at: Some(day.parse().unwrap()),
            kind: Some(Kind::Preference),
            ..draft(content)
        };
        let old = next_day(&fixture, dated(january, "2023-01-10T12:00:00Z")).await.id;
        let new = next_day(&fixture, dated(june, "2023-06-10T12:00:00Z")).await;
        assert_eq!(new.compared.superseded, [old], "{june}");
        assert_eq!(fixture.found(query).await, [june]);
        for (day, expected) in [
            ("2023-01-09T00:00:00Z", &[][..]),
            ("2023-03-15T00:00:00Z", &[january]),
            ("2023-06-10T11:59:59Z", &[january]),
            ("2023-06-10T12:00:00Z", &[june]),
            ("2030-01-01T00:00:00Z", &[june]),
        ] {
            let scope = Scope { as_of: Some(day.parse().unwrap()), ..Scope::default() };
            assert_eq!(found_under(&fixture, query, scope.clone()).await, expected, "{day}");
            let said = expected.len() + usize::from(expected == [june]);
            let scope = Scope { include_superseded: true, ..scope };
            assert_eq!(found_under(&fixture, query, scope).await.len(), said, "{day}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_again_strengthens_what_was_said() {
    let fixture = Fixture::new().await;
    let old = fixture.store("The router is 192.168.7.1").await;
    fixture.clock.advance(30 * DAY);
    let kept = fixture.remember(&agent("a"), draft("The router's IP address is 192.168.7.1")).await;
    assert_eq!(kept.status, StoreStatus::Stored);
    assert_eq!(kept.compared, Compared { reinforced: vec![old], ..Compared::default() });
    fixture.service.flush_usage().await.unwrap();
    let memory = fixture.memory(old).await;
    assert_eq!((memory.status, memory.version), (Status::Active, 1));
    assert_eq!(memory.usage.anchor.at, crate::ports::Clock::now(&*fixture.clock));
    assert_eq!(fixture.memory(kept.id).await.status, Status::Active);
}

#[tokio::test(start_paused = true)]
async fn what_nothing_settles_stays_and_is_shown_with_its_opposite() {
    let fixture = Fixture::new().await;
    let old = fixture.store("I like coffee").await;
    // At the same moment: nothing tells which came later.
    let kept = fixture.remember(&agent("a"), draft("I don't like coffee")).await;
    assert_eq!(kept.compared, Compared { contradicts: vec![old], ..Compared::default() });
    let answer = fixture.recall(&agent("a"), "coffee").await;
    assert_eq!(answer.hits.len(), 2);
    for hit in &answer.hits {
        let other = if hit.memory.id == old { kept.id } else { old };
        assert_eq!(hit.contradicts.iter().map(|m| m.id).collect::<Vec<_>>(), [other]);
    }
    let got = fixture.get(&owner(), &old.to_string()).await.unwrap();
    assert_eq!(got.linked.contradicts[0].id, kept.id);
}

#[tokio::test(start_paused = true)]
async fn what_is_protected_is_never_replaced_by_itself() {
    let protected = [
        Draft { pinned: true, ..draft("The router is 192.168.7.1") },
        Draft { importance: Some(1.0), ..draft("The router is 192.168.7.1") },
        Draft { kind: Some(Kind::Instruction), ..draft("The router is 192.168.7.1") },
    ];
    for old in protected {
        let fixture = Fixture::new().await;
        let old = fixture.remember(&agent("a"), old).await.id;
        let kept = next_day(&fixture, draft("The router is 192.168.9.1")).await;
        assert_eq!(kept.compared, Compared { contradicts: vec![old], ..Compared::default() });
        assert_eq!(fixture.memory(old).await.status, Status::Active);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_marked_as_of_another_project_is_not_replaced() {
    let tagged = |content: &str, tag: &str| Draft { tags: vec![tag.to_owned()], ..draft(content) };
    let within = |content: &str, project: &str| Draft {
        metadata: [("project".to_owned(), project.to_owned())].into(),
        ..draft(content)
    };
    for (old, new, is_replaced) in [
        (tagged("路由器是192.168.7.1", "家"), tagged("路由器是192.168.9.1", "公司"), false),
        (tagged("The port is 8080", "api"), tagged("The port is 9090", "web"), false),
        (tagged("The port is 8080", "api"), tagged("The port is 9090", "api"), true),
        (tagged("The port is 8080", "api"), draft("The port is 9090"), true),
        (within("The port is 8080", "api"), within("The port is 9090", "web"), false),
        (within("The port is 8080", "api"), within("The port is 9090", "api"), true),
    ] {
        let fixture = Fixture::new().await;
        let old = fixture.remember(&agent("a"), old).await.id;
        let kept = next_day(&fixture, new).await;
        let (superseded, contradicts) =
            if is_replaced { (vec![old], Vec::new()) } else { (Vec::new(), vec![old]) };
        assert_eq!(kept.compared, Compared { superseded, contradicts, ..Compared::default() });
    }
}

#[tokio::test(start_paused = true)]
async fn two_things_stay_two_and_nothing_leaves_its_namespace() {
    let fixture = Fixture::new().await;
    for (old, new) in [
        (draft("The office router is 10.0.0.1"), draft("The guest router is 10.0.9.1")),
        (draft_in("agent/a", "The printer is 10.0.0.7"), draft("The printer is 10.0.9.7")),
        (draft("Alice likes tea"), draft("Bob does not like tea")),
    ] {
        let old = fixture.remember(&agent("a"), old).await.id;
        let kept = next_day(&fixture, new).await;
        assert_eq!(kept.compared, Compared::default());
        assert_eq!(fixture.memory(old).await.status, Status::Active);
    }
}

#[tokio::test(start_paused = true)]
async fn a_switch_turns_it_off() {
    let fixture = Fixture::new().await;
    let settings = ContradictionSettings { is_automatic: false, ..Default::default() };
    fixture.reconfigure(|all| all.contradiction = settings);
    let old = fixture.store("The router is 192.168.7.1").await;
    let kept = next_day(&fixture, draft("The router is 192.168.9.1")).await;
    assert_eq!(kept.compared, Compared::default());
    assert_eq!(fixture.memory(old).await.status, Status::Active);
}

#[tokio::test(start_paused = true)]
async fn what_could_not_wait_is_compared_when_its_vectors_come() {
    let fixture = Fixture::new().await;
    let old = fixture.store("I am vegetarian").await;
    fixture.model.set(Mood::Slow);
    let kept = next_day(&fixture, draft("I eat meat again")).await;
    assert!(kept.compared.is_pending && !kept.embedded);
    compare_late(&fixture).await;
    assert_eq!(fixture.memory(old).await.status, Status::Active, "no word tells");
    fixture.model.set(Mood::Well);
    fixture.embed_backlog().await;
    assert_eq!(compare_late(&fixture).await, 1);
    assert_replaced(&fixture, old, kept.id).await;
    assert_eq!(compare_late(&fixture).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_verdict_that_was_taken_back_is_not_given_again() {
    for (first, second) in [
        ("The router is 192.168.7.1", "The router is 192.168.9.1"),
        ("路由器是192.168.7.1", "路由器是192.168.9.1"),
    ] {
        let fixture = Fixture::new().await;
        let old = fixture.store(first).await;
        fixture.model.set(Mood::Slow);
        let kept = next_day(&fixture, draft(second)).await;
        assert!(kept.compared.is_pending);
        // By its words, at the store if a thread of it was quick, else late; once more with its vector.
        let n_at_once = kept.compared.superseded.len();
        assert_eq!(n_at_once + compare_late(&fixture).await, 1, "{:?}", kept.compared);
        assert_replaced(&fixture, old, kept.id).await;
        fixture.clock.advance(Duration::from_secs(1));
        fixture.service.reinstate(&owner(), &old.to_string()).await.unwrap();
        fixture.model.set(Mood::Well);
        fixture.embed_backlog().await;
        assert_eq!(compare_late(&fixture).await, 0);
        assert_eq!(fixture.memory(old).await.status, Status::Active);
    }
}

#[tokio::test(start_paused = true)]
async fn what_waited_to_be_compared_is_compared_after_a_restart() {
    let mut fixture = Fixture::new().await;
    fixture.service.resume_comparing().await.unwrap();
    fixture.lay_out([7, 9].map(MemoryId::from_u128));
    let drafts = vec![draft("The standup is at 10:00"), draft("The standup was moved to 11:00")];
    let answer = fixture.service.remember(&agent("a"), drafts, None).await.unwrap();
    fixture.restart().await;
    assert_eq!(compare_late(&fixture).await, 0, "nobody knows that it waits");
    fixture.service.resume_comparing().await.unwrap();
    assert_eq!(compare_late(&fixture).await, 1);
    let [old, new] = [answer.memories[0].id, answer.memories[1].id];
    assert_replaced(&fixture, old, new).await;

    let mark = async |fixture: &Fixture| {
        let snapshot = fixture.store.snapshot().await.unwrap();
        let mark = snapshot.mark("contradict/compared").await.unwrap().unwrap();
        (u64::from_be_bytes(mark.try_into().unwrap()), snapshot.sequence())
    };
    let (noted, sequence) = mark(&fixture).await;
    assert!(noted < sequence, "{noted} of {sequence}");
    for _ in 0..2 {
        assert_eq!(mark(&fixture).await.0, noted, "who stores may not have said what waits");
        fixture.clock.advance(COMPARED_NOTED_EVERY);
        fixture.service.note_compared().await.unwrap();
    }
    assert_eq!(mark(&fixture).await.0, sequence);
    // What waits holds it up.
    fixture.model.set(Mood::Slow);
    fixture.store("I am vegetarian").await;
    for _ in 0..3 {
        compare_late(&fixture).await;
        fixture.clock.advance(COMPARED_NOTED_EVERY);
        fixture.service.note_compared().await.unwrap();
    }
    assert_eq!(mark(&fixture).await.0, sequence);
}

#[tokio::test(start_paused = true)]
async fn the_later_one_corrects_whichever_vector_comes_first() {
    let fixture = Fixture::new().await;
    fixture.model.set(Mood::Slow);
    let old = fixture.store("I am vegetarian").await;
    let kept = next_day(&fixture, draft("I eat meat again")).await;
    fixture.model.set(Mood::Well);
    fixture.embed_backlog().await;
    // The older one comes first, and sees the newer one.
    compare_late(&fixture).await;
    assert_replaced(&fixture, old, kept.id).await;
    assert_eq!(fixture.memory(kept.id).await.contradicts, []);
}

#[tokio::test(start_paused = true)]
async fn what_is_stored_in_one_call_is_compared_after_it() {
    let fixture = Fixture::new().await;
    let drafts = vec![
        draft("The standup is at 10:00"),
        draft("The standup was moved to 11:00"),
        draft("The cat is called Miso"),
    ];
    let answer = fixture.service.remember(&agent("a"), drafts, None).await.unwrap();
    let ids: Vec<MemoryId> = answer.memories.iter().map(|kept| kept.id).collect();
    compare_late(&fixture).await;
    let status = async |id| fixture.memory(id).await.status;
    assert_eq!(status(ids[2]).await, Status::Active);
    let first = fixture.memory(ids[0]).await;
    let is_linked = first.superseded_by == Some(ids[1]) || first.contradicts == [ids[1]];
    assert!(is_linked, "{first:?}");
}

#[tokio::test(start_paused = true)]
async fn the_person_makes_the_old_one_current_again_and_history_tells() {
    let fixture = Fixture::new().await;
    let old = fixture.store("The router is 192.168.7.1").await;
    let new = next_day(&fixture, draft("The router is 192.168.9.1")).await.id;
    let answer = fixture.service.reinstate(&owner(), &old.handle()).await.unwrap();
    assert_eq!(answer.changed, ["status", "valid_to", "superseded_by"]);
    let (old, new) = (fixture.memory(old).await, fixture.memory(new).await);
    assert_eq!((old.status, old.superseded_by, old.valid_to), (Status::Active, None, None));
    assert_eq!((new.status, new.supersedes), (Status::Active, None));
    assert_eq!(fixture.found("router").await.len(), 2);
    let snapshot = fixture.store.snapshot().await.unwrap();
    let entries = snapshot.log_of(old.id, 10).await.unwrap();
    let operations: Vec<&str> = entries.iter().map(|entry| entry.operation.as_str()).collect();
    assert_eq!(operations, ["store", "supersede", "update"]);
    assert_eq!(entries[2].actor, "owner");
    let again = fixture.service.reinstate(&owner(), &old.id.handle()).await.unwrap();
    assert!(again.changed.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_sent_again_tells_the_same() {
    let fixture = Fixture::new().await;
    let old = fixture.store("The router is 192.168.7.1").await;
    fixture.clock.advance(DAY);
    let caller = agent("a");
    let send = async || {
        let drafts = vec![draft("The router is 192.168.9.1")];
        let request = Some(key(&caller, "k1"));
        fixture.service.remember(&caller, drafts, request).await.unwrap().memories.remove(0)
    };
    let (first, second) = (send().await, send().await);
    assert_eq!(first.compared.superseded, [old]);
    assert_eq!(
        (first.id, first.status, first.compared),
        (second.id, second.status, second.compared)
    );
    assert_eq!(fixture.n_memories().await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_hypothesis_that_was_corrected_is_history() {
    for (scripts, wrong, right, query) in [
        (
            Scripts::ALL,
            "Hypothesis: the crash comes from the cache",
            "The crash comes from the resolver",
            "crash",
        ),
        (Scripts::LATIN, "假设：崩溃来自缓存", "崩溃来自解析器", "崩溃来自"),
    ] {
        let fixture = Fixture::with_scripts(scripts).await;
        let old = fixture.store(wrong).await;
        let correction = Draft { supersedes: Some(old.handle()), ..draft(right) };
        let kept = next_day(&fixture, correction).await;
        assert_eq!(kept.compared.superseded, [old]);
        assert_eq!(fixture.found(query).await, [right]);
        let all = Scope { include_superseded: true, ..Scope::default() };
        assert_eq!(found_under(&fixture, query, all).await.len(), 2);
        let got = fixture.get(&owner(), &kept.id.to_string()).await.unwrap();
        assert_eq!(&*got.linked.chain[0].content, wrong);
    }
}

/// Says that a memory is wrong.
async fn wrong(fixture: &Fixture, id: MemoryId, correction: Option<&str>) -> Judged {
    let request = FeedbackRequest {
        references: vec![id.to_string()],
        verdict: Verdict::Wrong,
        correction: correction.map(str::to_owned),
    };
    fixture.clock.advance(DAY);
    fixture.service.feedback(&agent("a"), request).await.unwrap().memories.remove(0)
}

#[tokio::test(start_paused = true)]
async fn what_is_called_wrong_is_replaced_by_what_is_said_instead() {
    for (scripts, said, right, query) in [
        (Scripts::ALL, "The crash comes from the cache", "A resolver crashes", "crash"),
        (Scripts::LATIN, "崩溃来自缓存", "崩溃来自解析器", "崩溃来自"),
    ] {
        let fixture = Fixture::with_scripts(scripts).await;
        let marked = Draft { kind: Some(Kind::Task), tags: vec!["x".to_owned()], ..draft(said) };
        let old = fixture.remember(&agent("a"), marked).await.id;
        let judged = wrong(&fixture, old, Some(right)).await;
        let new = judged.memory.superseded_by.unwrap();
        assert_eq!((judged.memory.status, judged.replaced), (Status::Superseded, None));
        assert_replaced(&fixture, old, new).await;
        let new = fixture.memory(new).await;
        assert_eq!(
            (&*new.content, new.kind, &*new.tags),
            (right, Kind::Task, &["x".to_owned()][..])
        );
        assert_eq!(fixture.found(query).await, [right]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_called_wrong_settles_its_contradiction() {
    let fixture = Fixture::new().await;
    let old = fixture.store("I like coffee").await;
    let new = fixture.store("I don't like coffee").await;
    assert_eq!(fixture.memory(old).await.contradicts, [new]);
    let judged = wrong(&fixture, old, None).await;
    assert_eq!(
        (judged.memory.status, judged.memory.superseded_by),
        (Status::Superseded, Some(new))
    );
    assert_eq!(judged.memory.valid_to, Some(crate::ports::Clock::now(&*fixture.clock)));
    assert_eq!(fixture.memory(new).await.supersedes, Some(old));
    let answer = fixture.recall(&agent("a"), "coffee").await;
    assert_eq!((answer.hits.len(), answer.hits[0].contradicts.len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_memory_without_another_ends_and_names_what_it_had_replaced() {
    let fixture = Fixture::new().await;
    let old = fixture.store("The router is 192.168.7.1").await;
    let new = next_day(&fixture, draft("The router is 192.168.9.1")).await.id;
    let judged = wrong(&fixture, new, None).await;
    assert_eq!((judged.memory.status, judged.replaced), (Status::Invalidated, Some(old)));
    assert!(fixture.found("router").await.is_empty(), "nothing comes back by itself");
    fixture.service.reinstate(&owner(), &old.to_string()).await.unwrap();
    assert_eq!(fixture.found("router").await, ["The router is 192.168.7.1"]);
    assert_eq!(wrong(&fixture, new, None).await.replaced, None, "it is known to be wrong");

    let both = vec![old.to_string(), new.to_string()];
    for (references, verdict) in [(both, Verdict::Wrong), (vec![old.to_string()], Verdict::Useful)]
    {
        let correction = Some("The router is gone".to_owned());
        let request = FeedbackRequest { references, verdict, correction };
        let refused = fixture.service.feedback(&agent("a"), request).await.unwrap_err();
        assert!(refused.to_string().contains("correction"), "{refused}");
    }
    assert_eq!(fixture.memory(old).await.status, Status::Active);
}
