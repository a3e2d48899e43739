//! Sessions: that what is taken out of a turn and the note of it are one change, and that what is
//! forgotten stays so wherever a copy comes from.

use std::sync::Arc;

use jiff::Timestamp;

use super::fixture::{Fixture, SETTINGS, at};
use crate::domain::change::{ChangeSet, NewMemory};
use crate::domain::identity::Actor;
use crate::domain::limits::SESSION_TURNS_MAX;
use crate::domain::memory::Origin;
use crate::domain::namespace::Namespace;
use crate::domain::scoring::Role;
use crate::domain::session::{
    Append, Fate, NewTurn, NotAppended, Part, Relook, Retell, Session, SessionKey, SessionSummary,
    Settle, Settled, Waiting,
};
use crate::domain::transfer::{ExportPlace, ImportOutcome, Item};
use crate::ports::{Backups as _, Ledger as _, Sessions as _, StoreError, Transfer as _};
use crate::store::tables::{FORGOTTEN_TURNS, SESSION_LOOKS, SESSION_SUMMARIES, SESSIONS, TURNS};
use crate::store::{RedbBackups, RedbStore, restore_backup};

const NAME: &str = "s1";

fn key() -> SessionKey {
    SessionKey::of(&Namespace::user(), NAME)
}

fn append(texts: &[&str], second: i64) -> Append {
    let turn = |text: &&str| NewTurn { role: Role::User, text: Arc::from(*text), at: at(second) };
    Append {
        namespace: Namespace::user(),
        name: NAME.to_owned(),
        agent: None,
        turns: texts.iter().map(turn).collect(),
        ends: false,
        extract_at: at(second + 100),
        expires_at: at(second + 1_000),
        full: 100,
        request: None,
        at: at(second),
    }
}

impl Fixture {
    async fn say(&self, texts: &[&str], second: i64) {
        self.store.append(append(texts, second)).await.unwrap().unwrap();
    }

    async fn talk(&self) -> Session {
        self.store.session(key()).await.unwrap().unwrap()
    }

    fn taken(&self, text: &str) -> NewMemory {
        NewMemory { origin: Origin::Extracted, session: Some(NAME.to_owned()), ..self.fact(text) }
    }

    async fn settle(&self, new: Vec<NewMemory>, turns: Vec<(u64, Fate)>) -> Settled {
        let set = ChangeSet {
            run: None,
            new,
            changes: Vec::new(),
            marks: Vec::new(),
            actor: Actor::Job("extract"),
            at: at(50),
        };
        self.store.settle(Settle { key: key(), set, turns }).await.unwrap()
    }

    async fn tell(&self, through: u64, parts: Vec<Part>, of: &[u64]) -> bool {
        let before = self.talk().await.summary;
        let summary = SessionSummary { through, parts };
        self.store.retell(Retell { key: key(), before, of: of.to_vec(), summary }).await.unwrap()
    }
}

fn quote(turn: u64, text: &str) -> Part {
    let (text, memories) = (text.to_owned(), Vec::new());
    Part { turn, role: Some(Role::User), at: at(0), text, memories }
}

fn numbers(session: &Session) -> Vec<u64> {
    session.turns.iter().map(|turn| turn.number).collect()
}

#[tokio::test]
async fn a_turn_is_dealt_with_once_and_with_its_memories_or_not_at_all() {
    let f = Fixture::new();
    f.say(&["I live in Bergen.", "Hello.", "I like tea."], 1).await;
    let both = vec![(1, Fate::Done(vec![0])), (2, Fate::Done(Vec::new()))];
    let Settled::Done(applied) = f.settle(vec![f.taken("Bergen")], both.clone()).await else {
        panic!("not done");
    };
    let talk = f.talk().await;
    assert_eq!(talk.turns[0].memories, [applied.stored[0].id]);
    assert_eq!(talk.waiting().map(|turn| turn.number).collect::<Vec<_>>(), [3]);
    // As after a crash in which the answer was lost.
    assert_eq!(f.settle(vec![f.taken("Bergen again")], both).await, Settled::Changed);
    let with_one_gone = vec![(3, Fate::Done(vec![0])), (9, Fate::Done(Vec::new()))];
    assert_eq!(f.settle(vec![f.taken("tea")], with_one_gone).await, Settled::Changed);
    assert_eq!((f.n_memories().await, f.talk().await), (1, talk));
    let later = Waiting { tries: 2, retry_at: Some(at(70)) };
    let waits = f.settle(Vec::new(), vec![(3, Fate::Later(later))]).await;
    assert!(matches!(waits, Settled::Done(_)));
    assert_eq!(f.talk().await.turns[2].waiting, Some(later));
    f.finish().await;
}

#[tokio::test]
async fn a_memory_that_was_there_is_noted_as_taken_out_too() {
    let f = Fixture::new();
    let known = f.store_fact("Bergen", 1).await;
    f.say(&["I live in Bergen."], 2).await;
    f.settle(vec![f.taken("Bergen")], vec![(1, Fate::Done(vec![0]))]).await;
    assert_eq!(f.talk().await.turns[0].memories, [known]);
    f.forget(&[known], Some(500), 60).await;
    assert_eq!(numbers(&f.talk().await), [0; 0], "restorable is the memory alone");
    f.finish().await;
}

#[tokio::test]
async fn turns_go_when_a_summary_tells_of_them_and_nothing_waits() {
    let f = Fixture::new();
    f.say(&["One.", "Two.", "Three."], 1).await;
    f.settle(vec![f.taken("One")], vec![(1, Fate::Done(vec![0]))]).await;
    assert!(f.tell(2, vec![quote(1, "One."), quote(2, "Two.")], &[1, 2]).await);
    assert_eq!(numbers(&f.talk().await), [2, 3], "the second still waits");
    assert_eq!(f.talk().await.recent().len(), 1);
    let Settled::Done(applied) =
        f.settle(vec![f.taken("Two")], vec![(2, Fate::Done(vec![0]))]).await
    else {
        panic!("not done")
    };
    let talk = f.talk().await;
    assert_eq!(numbers(&talk), [3]);
    // What was taken out of it is known where it is told.
    let told = talk.summary.clone().unwrap();
    assert_eq!(told.parts[1].memories, [applied.stored[0].id]);
    f.forget(&[applied.stored[0].id], None, 60).await;
    let told: Vec<String> =
        f.talk().await.summary.unwrap().parts.into_iter().map(|part| part.text).collect();
    assert_eq!(told, ["One."]);
    // A summary of what has changed meanwhile is not taken.
    let old = Retell {
        key: key(),
        before: talk.summary,
        of: vec![3],
        summary: SessionSummary { through: 3, parts: Vec::new() },
    };
    assert!(!f.store.retell(old).await.unwrap());
    assert!(!f.tell(3, Vec::new(), &[2, 3]).await, "the second is gone");
    f.finish().await;
}

#[tokio::test]
async fn sessions_come_up_in_the_order_of_their_time_and_new_turns_are_not_put_off() {
    let f = Fixture::new();
    f.say(&["One."], 1).await;
    let mut other = append(&["Other."], 2);
    (other.name, other.extract_at) = ("s2".to_owned(), at(2));
    f.store.append(other).await.unwrap().unwrap();
    assert_eq!(f.store.next_session_look().await.unwrap(), Some(at(2)));
    let due = |second| f.store.due_sessions(at(second), None, 9);
    assert_eq!(due(50).await.unwrap().len(), 1);
    let both = due(101).await.unwrap();
    assert_eq!(both.iter().map(|(when, _)| *when).collect::<Vec<_>>(), [at(2), at(101)]);
    let after = f.store.due_sessions(at(101), Some(both[0]), 9).await.unwrap();
    assert_eq!(after, both[1..]);
    // It was looked at, and something came meanwhile.
    f.say(&["Two."], 60).await;
    let relook = Relook { key: key(), last_turn: 1, extract_at: None, look_at: at(900) };
    f.store.relook(relook).await.unwrap();
    assert_eq!(f.talk().await.extract_at, Some(at(160)));
    assert!(!f.store.expire(key(), 1).await.unwrap());
    f.store.relook(Relook { last_turn: 2, extract_at: Some(at(500)), ..relook }).await.unwrap();
    assert_eq!((f.talk().await.extract_at, f.talk().await.look_at), (Some(at(500)), at(900)));
    assert!(!f.store.expire(key(), 2).await.unwrap(), "turns wait");
    let all = vec![(1, Fate::Done(Vec::new())), (2, Fate::Done(Vec::new()))];
    f.settle(Vec::new(), all).await;
    assert!(f.store.expire(key(), 2).await.unwrap());
    assert_eq!(f.store.session(key()).await.unwrap(), None);
    f.finish().await;
}

#[tokio::test]
async fn a_session_holds_only_so_many_turns_that_wait() {
    let f = Fixture::new();
    let texts = vec!["x"; 100];
    for second in 1..=i64::try_from(SESSION_TURNS_MAX / 100).unwrap() {
        f.say(&texts, second).await;
    }
    let refused = f.store.append(append(&["one more"], 99)).await.unwrap();
    assert_eq!(refused, Err(NotAppended::Full));
    let missing = Append { name: "none".to_owned(), ends: true, ..append(&[], 99) };
    assert_eq!(f.store.append(missing).await.unwrap(), Err(NotAppended::Missing));
    f.settle(Vec::new(), vec![(1, Fate::Done(Vec::new()))]).await;
    assert!(f.store.append(append(&["one more"], 99)).await.unwrap().is_ok());
    f.finish().await;
}

/// A store made of a backup, in the place of the one that has gone on since.
async fn restored(f: &Fixture, file: &std::path::Path) -> RedbStore {
    f.store.close();
    restore_backup(f.dir.path(), file, &[], SETTINGS, at(900)).unwrap();
    let store = RedbStore::open(f.dir.path(), SETTINGS, at(901)).unwrap();
    assert_eq!(store.verify().await.unwrap().violations, Vec::<String>::new());
    store
}

#[tokio::test]
async fn a_backup_brings_nothing_back_that_was_forgotten_since() {
    let f = Fixture::new();
    f.say(&["I live in Bergen.", "I like tea."], 1).await;
    let mut other = append(&["The door code is 4711."], 2);
    other.name = "s2".to_owned();
    f.store.append(other).await.unwrap().unwrap();
    let backups = RedbBackups::new(Arc::clone(&f.store), f.dir.path().join("backups"));
    let made = backups.make(None, at(10)).await.unwrap();
    // Taken out and forgotten after the backup: in the backup the turn still waits.
    let Settled::Done(applied) =
        f.settle(vec![f.taken("Bergen")], vec![(1, Fate::Done(vec![0]))]).await
    else {
        panic!("not done")
    };
    f.forget(&[applied.stored[0].id], None, 60).await;
    let gone = SessionKey::of(&Namespace::user(), "s2");
    assert_eq!(f.store.erase_sessions(vec![gone], at(61)).await.unwrap(), 1);
    let store = restored(&f, &made.path).await;
    let talk = store.session(key()).await.unwrap().unwrap();
    assert_eq!(numbers(&talk), [2]);
    assert_eq!(store.session(gone).await.unwrap(), None);
}

#[tokio::test]
async fn a_session_that_was_begun_anew_is_another_one() {
    let f = Fixture::new();
    f.say(&["Old."], 1).await;
    assert_eq!(f.store.erase_sessions(vec![key()], at(5)).await.unwrap(), 1);
    f.say(&["New."], 6).await;
    let backups = RedbBackups::new(Arc::clone(&f.store), f.dir.path().join("backups"));
    let made = backups.make(None, at(10)).await.unwrap();
    let store = restored(&f, &made.path).await;
    let talk = store.session(key()).await.unwrap().unwrap();
    assert_eq!((&*talk.turns[0].text, talk.last_turn), ("New.", 1));
}

async fn exported(f: &Fixture, bytes_max: usize) -> Vec<Item> {
    let mut items = Vec::new();
    let mut place = ExportPlace::Start;
    loop {
        let page = f.store.export(place, bytes_max).await.unwrap();
        items.extend(page.items);
        match page.next {
            Some(next) => place = next,
            None => return items,
        }
    }
}

async fn import(f: &Fixture, items: &[Item]) -> Result<Vec<ImportOutcome>, StoreError> {
    let groups = items.iter().map(|item| vec![item.clone()]).collect();
    f.store.import(groups, Actor::Owner, at(80), false).await
}

#[tokio::test]
async fn sessions_go_out_and_come_in_whole_however_they_are_paged() {
    let f = Fixture::new();
    f.say(&["One 乌龙茶.", "Two.", "Three."], 1).await;
    f.settle(vec![f.taken("One")], vec![(1, Fate::Done(vec![0]))]).await;
    assert!(f.tell(2, vec![quote(2, "Two.")], &[1, 2]).await);
    let mut other = append(&["Other."], 2);
    other.name = "s2".to_owned();
    f.store.append(other).await.unwrap().unwrap();
    let whole = exported(&f, usize::MAX).await;
    assert_eq!(whole.len(), 1 + 2 + 3, "a memory, sessions, turns");
    for bytes_max in [0, 1, 10] {
        assert_eq!(exported(&f, bytes_max).await, whole, "pages of {bytes_max} bytes");
    }
    let target = Fixture::at_second(5);
    let added = import(&target, &whole).await.unwrap();
    assert!(added.iter().all(|one| *one == ImportOutcome::Added), "{added:?}");
    let (mut there, here) = (target.talk().await, f.talk().await);
    // When it is looked at is its own affair.
    there.extract_at = here.extract_at;
    assert_eq!(there, here);
    let again = import(&target, &whole).await.unwrap();
    assert!(again.iter().all(|one| *one == ImportOutcome::Same), "{again:?}");
    target.finish().await;
    f.finish().await;
}

#[tokio::test]
async fn an_import_changes_no_session_and_brings_nothing_forgotten_back() {
    let f = Fixture::new();
    f.say(&["I live in Bergen.", "I like tea."], 1).await;
    let whole = exported(&f, usize::MAX).await;
    let Settled::Done(applied) =
        f.settle(vec![f.taken("Bergen")], vec![(1, Fate::Done(vec![0]))]).await
    else {
        panic!("not done")
    };
    f.forget(&[applied.stored[0].id], None, 60).await;
    let outcomes = import(&f, &whole).await.unwrap();
    let expected = [ImportOutcome::Same, ImportOutcome::ForgottenHere, ImportOutcome::Same];
    assert_eq!(outcomes, expected);
    f.say(&["More."], 70).await;
    let outcomes = import(&f, &whole).await.unwrap();
    assert_eq!(outcomes[0], ImportOutcome::Different);
    assert_eq!(numbers(&f.talk().await), [2, 3]);
    f.store.erase_sessions(vec![key()], at(75)).await.unwrap();
    let outcomes = import(&f, &whole).await.unwrap();
    assert!(outcomes.iter().all(|one| *one == ImportOutcome::ForgottenHere), "{outcomes:?}");
    f.finish().await;
}

#[tokio::test]
async fn what_an_undo_withdraws_was_said_all_the_same() {
    let f = Fixture::new();
    f.say(&["I live in Bergen."], 1).await;
    let run = f.begin(2).await;
    let set = ChangeSet {
        run: Some(run),
        new: vec![f.taken("Bergen")],
        changes: Vec::new(),
        marks: Vec::new(),
        actor: Actor::Job("extract"),
        at: at(3),
    };
    let turns = vec![(1, Fate::Done(vec![0]))];
    f.store.settle(Settle { key: key(), set, turns }).await.unwrap();
    f.end(run, 4).await;
    f.store.undo(run, Actor::Owner, at(5)).await.unwrap().unwrap();
    let talk = f.talk().await;
    assert_eq!((numbers(&talk), talk.turns[0].memories.len()), (vec![1], 0));
    let target = Fixture::at_second(5);
    import(&target, &exported(&f, usize::MAX).await).await.unwrap();
    assert_eq!(numbers(&target.talk().await), [1]);
    target.finish().await;
    f.finish().await;
}

#[tokio::test]
async fn what_is_forgotten_is_not_even_in_the_words_of_another_turn() {
    let f = Fixture::new();
    let short = f.store_fact("tea", 1).await;
    let long = f.store_fact("The door code is 4711.", 1).await;
    let texts = ["tea", "I like tea.", "Yes, The door code is 4711, I said.", "code"];
    f.say(&texts, 2).await;
    f.forget(&[short, long], None, 60).await;
    // A word alone is no memory of a sentence that has it.
    assert_eq!(numbers(&f.talk().await), [2, 4]);
    f.finish().await;
}

#[tokio::test]
async fn a_check_finds_what_does_not_agree() {
    let f = Fixture::new();
    f.say(&["One."], 1).await;
    let lose = |batch: &mut crate::store::batch::Batch<'_>| {
        batch.change().turns.remove((&key().0, 1))?;
        Ok(())
    };
    f.store.writer.write(lose).await.unwrap();
    let found = f.store.verify().await.unwrap().violations;
    assert!(found.iter().any(|one| one.contains("0 turns wait instead of 1")), "{found:?}");
    let lose = |batch: &mut crate::store::batch::Batch<'_>| {
        batch.change().sessions.remove(&key().0)?;
        Ok(())
    };
    f.store.writer.write(lose).await.unwrap();
    let found = f.store.verify().await.unwrap().violations;
    assert!(found.iter().any(|one| one.contains("session_looks has 1 rows")), "{found:?}");
    assert_eq!(
        f.store.next_session_look().await.unwrap().map(Timestamp::as_second),
        Some(at(101).as_second())
    );
}

#[tokio::test]
async fn a_store_of_an_earlier_version_has_no_sessions_and_takes_them_in() {
    let mut f = Fixture::new();
    f.store.close();
    let database = redb::Database::open(f.dir.path().join("recalld.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    assert!(transaction.delete_table(SESSIONS).unwrap());
    assert!(transaction.delete_table(TURNS).unwrap());
    assert!(transaction.delete_table(SESSION_SUMMARIES).unwrap());
    assert!(transaction.delete_table(SESSION_LOOKS).unwrap());
    assert!(transaction.delete_table(FORGOTTEN_TURNS).unwrap());
    transaction.commit().unwrap();
    drop(database);
    f.reopen();
    assert_eq!(f.store.session(key()).await.unwrap(), None);
    assert_eq!(f.store.sessions().await.unwrap(), []);
    assert_eq!(f.store.due_sessions(at(9), None, 9).await.unwrap(), []);
    assert_eq!(f.store.next_session_look().await.unwrap(), None);
    assert_eq!(exported(&f, usize::MAX).await, []);
    assert_eq!(f.store.verify().await.unwrap().violations, Vec::<String>::new());
    f.say(&["One."], 1).await;
    assert_eq!(numbers(&f.talk().await), [1]);
    f.finish().await;
}
