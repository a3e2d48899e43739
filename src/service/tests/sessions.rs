//! Working memory: what is kept of a conversation, what is told of the rest, and that all of it can be
//! forgotten.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::fixture::{Fixture, agent, draft, key, owner, reader, service_settings};
use crate::domain::identity::Caller;
use crate::domain::job::{JobName, NewRun, RunId, Trigger};
use crate::domain::limits::{CONTENT_BYTES_MAX, SESSION_BYTES_MAX, TURNS_PER_CALL_MAX};
use crate::domain::scoring::Role;
use crate::domain::session::{SessionPolicy, WindowPolicy};
use crate::domain::summary::{Draft, ScoredFact, ScoredTurn, SummaryRequest, Unusable};
use crate::ports::{
    Clock as _, LanguageModel, Ledger as _, LlmError, LlmReport, Scorer, Summarizer,
};
use crate::service::forget::{ForgetAnswer, ForgetRequest};
use crate::service::scope::Scope;
use crate::service::session::extract::Extraction;
use crate::service::session::report::ExtractReport;
use crate::service::session::{AppendAnswer, AppendRequest, SessionAnswer, TurnDraft};
use crate::service::{ServiceError, Settings};

pub(super) fn user(text: &str) -> TurnDraft {
    TurnDraft { role: Role::User, content: text.to_owned(), at: None }
}

pub(super) fn assistant(text: &str) -> TurnDraft {
    TurnDraft { role: Role::Assistant, ..user(text) }
}

pub(super) fn append(session: &str, turns: Vec<TurnDraft>) -> AppendRequest {
    AppendRequest { session: session.to_owned(), turns, ..AppendRequest::default() }
}

/// The same, and the session is over.
pub(super) fn ended(session: &str, turns: Vec<TurnDraft>) -> AppendRequest {
    AppendRequest { ends: true, ..append(session, turns) }
}

impl Fixture {
    pub(super) async fn say(&self, request: AppendRequest) -> AppendAnswer {
        self.service.session_append(&agent("a"), request).await.unwrap()
    }

    pub(super) async fn try_session(&self, name: &str) -> Result<SessionAnswer, ServiceError> {
        self.service.session_get(&agent("a"), name, None).await
    }

    /// The texts of a session as it is shown.
    pub(super) async fn said(&self, name: &str) -> Vec<String> {
        let answer = self.try_session(name).await.unwrap();
        answer.session.recent().iter().map(|turn| turn.text.to_string()).collect()
    }

    pub(super) fn window(&self, turns: usize) {
        let window = WindowPolicy { turns, ..WindowPolicy::default() };
        let sessions = SessionPolicy { window, ..SessionPolicy::default() };
        self.service.reconfigure(Settings { sessions, ..service_settings() });
    }

    /// A run of the job.
    pub(super) async fn extract(&self) -> ExtractReport {
        self.extract_as(false).await.1
    }

    pub(super) async fn extract_as(&self, is_dry_run: bool) -> (RunId, ExtractReport) {
        let now = self.clock.now();
        let new = NewRun {
            job: JobName::Extract,
            trigger: Trigger::Timer,
            is_dry_run,
            scheduled_at: None,
            now,
            lease: "l".to_owned(),
        };
        let run = self.store.begin_run(new).await.unwrap().unwrap().id;
        let order = Extraction { run, now, is_dry_run, stop: CancellationToken::new() };
        let report = self.service.extract(&order).await.unwrap();
        let (outcome, facts) = (report.outcome(), report.facts().to_string());
        self.store.finish_run(run, outcome, report.n_stored, facts, now).await.unwrap();
        (run, report)
    }

    pub(super) async fn sound(&self) {
        assert_eq!(self.store.verify().await.unwrap().violations, Vec::<String>::new());
    }
}

/// What a model makes of what it is asked.
pub(super) type Scored = Box<dyn FnMut(&[ScoredTurn]) -> Result<Vec<ScoredFact>, LlmError> + Send>;

/// A model that answers as it is told, and then that it is away.
#[derive(Default)]
pub(super) struct Scripted {
    pub(super) scored: Mutex<VecDeque<Scored>>,
    pub(super) drafts: Mutex<VecDeque<String>>,
    pub(super) asked: Mutex<Vec<Vec<ScoredTurn>>>,
    pub(super) asked_to_tell: Mutex<Vec<SummaryRequest>>,
}

impl LanguageModel for Scripted {
    fn model(&self) -> &'static str {
        "scripted"
    }

    fn recall(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    fn report(&self) -> LlmReport {
        LlmReport {
            model: "scripted".to_owned(),
            place: String::new(),
            form: "text",
            trouble: None,
            calls: (0, 1),
            tokens: (0, 1),
        }
    }
}

impl Scorer for Scripted {
    fn score(&self, turns: Vec<ScoredTurn>) -> BoxFuture<'_, Result<Vec<ScoredFact>, LlmError>> {
        let next = self.scored.lock().unwrap().pop_front();
        let outcome = next.map_or_else(
            || Err(LlmError::Away("it sleeps".to_owned())),
            |mut answer| answer(&turns),
        );
        self.asked.lock().unwrap().push(turns);
        std::future::ready(outcome).boxed()
    }
}

impl Summarizer for Scripted {
    fn prompt_version(&self) -> u32 {
        1
    }

    fn summarise(&self, request: SummaryRequest) -> BoxFuture<'_, Result<Draft, LlmError>> {
        let next = self.drafts.lock().unwrap().pop_front();
        let citations = request.passages.iter().map(|passage| passage.label.clone()).collect();
        self.asked_to_tell.lock().unwrap().push(request);
        let outcome = match next.as_deref() {
            None => Err(LlmError::Away("it sleeps".to_owned())),
            Some("nonsense") => Err(LlmError::Unusable(Unusable::NotJson)),
            Some(text) => Ok(Draft { text: text.to_owned(), citations }),
        };
        std::future::ready(outcome).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_keeps_what_was_said_with_its_speaker_and_time() {
    let f = Fixture::of_words(None).await;
    let at = "2023-11-14T20:00:00Z".parse().unwrap();
    let first = vec![TurnDraft { at: Some(at), ..user("I live in Bergen.") }, assistant("Noted.")];
    let answer = f.say(append("s1", first)).await;
    assert_eq!((answer.appended.first, answer.appended.last), (1, 2));
    assert_eq!((answer.session.as_str(), answer.namespace.as_str()), ("s1", "user"));
    f.say(append("s1", vec![user("我不吃辣。")])).await;
    let found = f.try_session("s1").await.unwrap();
    let turns: Vec<_> = found
        .session
        .turns
        .iter()
        .map(|turn| (turn.number, turn.role, turn.text.to_string(), turn.agent.clone()))
        .collect();
    let a = Some("a".to_owned());
    let expected = [
        (1, Role::User, "I live in Bergen.".to_owned(), a.clone()),
        (2, Role::Assistant, "Noted.".to_owned(), a.clone()),
        (3, Role::User, "我不吃辣。".to_owned(), a),
    ];
    assert_eq!(turns, expected);
    assert_eq!((found.session.turns[0].at, found.session.turns[1].at), (at, f.clock.now()));
    assert_eq!((found.summary, found.session.waiting().count()), (None, 3));
    f.sound().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_sent_again_adds_nothing() {
    let f = Fixture::of_words(None).await;
    let caller = agent("a");
    let request = AppendRequest {
        request: Some(key(&caller, "k")),
        ..append("s1", vec![user("I live in Bergen.")])
    };
    let first = f.say(request.clone()).await;
    f.say(append("s1", vec![user("And another.")])).await;
    assert_eq!(f.say(request).await.appended, first.appended);
    assert_eq!(f.said("s1").await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_is_named() {
    let f = Fixture::of_words(None).await;
    let ahead = TurnDraft { at: Some("2033-01-01T00:00:00Z".parse().unwrap()), ..user("x") };
    for (argument, request) in [
        ("session", append("  ", vec![user("x")])),
        ("session", append(&"s".repeat(SESSION_BYTES_MAX + 1), vec![user("x")])),
        ("session", ended("never begun", Vec::new())),
        ("content", append("s", vec![user(" ")])),
        ("content", append("s", vec![user(&"x".repeat(CONTENT_BYTES_MAX + 1))])),
        ("at", append("s", vec![ahead])),
        ("turns", append("s", vec![user("x"); TURNS_PER_CALL_MAX + 1])),
        (
            "namespace",
            AppendRequest {
                namespace: Some("No Namespace".to_owned()),
                ..append("s", vec![user("x")])
            },
        ),
    ] {
        let error = f.service.session_append(&agent("a"), request).await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{argument}`")), "{argument}: {error}");
    }
    let error = f.try_session("nothing").await.unwrap_err().to_string();
    assert!(error.starts_with("`session`") && error.contains("nothing"), "{error}");
    assert_eq!(f.service.status().await.sessions, Some(Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_session_is_read_and_written_as_its_namespace_is() {
    let f = Fixture::of_words(None).await;
    let own = AppendRequest {
        namespace: Some("agent/a".to_owned()),
        ..append("s1", vec![user("The door code is 4711.")])
    };
    f.say(own.clone()).await;
    let refused = f.service.session_append(&agent("b"), own).await;
    assert!(matches!(refused, Err(ServiceError::NotWritable { .. })), "{refused:?}");
    let refused = f.service.session_append(&reader("b"), append("s1", vec![user("x")])).await;
    assert!(matches!(refused, Err(ServiceError::NotWritable { .. })), "{refused:?}");
    let refused = f.service.session_get(&agent("b"), "s1", Some("agent/a")).await;
    assert!(matches!(refused, Err(ServiceError::NotReadable { .. })), "{refused:?}");
    // One of the same name elsewhere is another one.
    f.say(append("s1", vec![user("Hello.")])).await;
    assert_eq!(f.said("s1").await, ["Hello."]);
    let found = f.service.session_get(&owner(), "s1", Some("agent/a")).await.unwrap();
    assert_eq!(&*found.session.turns[0].text, "The door code is 4711.");
}

#[tokio::test(start_paused = true)]
async fn secrets_do_not_reach_the_disk() {
    let f = Fixture::of_words(None).await;
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let answer = f.say(append("s1", vec![user(&format!("My token is {secret}, keep it."))])).await;
    assert_eq!(answer.redacted, ["github-token"]);
    assert!(!f.said("s1").await[0].contains(secret));
}

#[tokio::test(start_paused = true)]
async fn what_falls_out_of_the_window_is_quoted_without_a_model_in_both_languages() {
    for (lines, first, last) in [
        (
            [
                "Hi, good morning!",
                "The backup of db-prod-2 failed on Monday because the disk was full.",
                "Mara freed 40 GB on db-prod-2.",
                "The backup moved to 01:30.",
                "Thanks!",
                "It has run well since.",
            ],
            "db-prod-2",
            "It has run well since.",
        ),
        (
            [
                "你好，早上好！",
                "db-prod-2 的备份周一失败，因为磁盘满了。",
                "小李在 db-prod-2 上腾出 40 GB。",
                "备份改到凌晨1点30分。",
                "谢谢！",
                "之后一直正常。",
            ],
            "db-prod-2",
            "之后一直正常。",
        ),
    ] {
        let f = Fixture::of_words(None).await;
        f.window(2);
        for line in lines {
            f.say(append("s1", vec![user(line)])).await;
        }
        let report = f.extract().await;
        assert_eq!(report.n_told.get("quotes"), Some(&1), "{report:?}");
        let found = f.try_session("s1").await.unwrap();
        let summary = found.summary.clone().unwrap();
        assert!(summary.contains(first) && summary.contains("2023-11-14 user: "), "{summary}");
        assert!(!summary.contains(last), "{summary}");
        assert!(!summary.contains(lines[0]), "small talk says nothing: {summary}");
        assert_eq!(f.said("s1").await, lines[4..]);
        // They wait for the end of the session, so they are still there.
        assert_eq!(found.session.turns.len(), 6);
        f.say(ended("s1", Vec::new())).await;
        f.extract().await;
        let found = f.try_session("s1").await.unwrap();
        assert_eq!((found.session.turns.len(), found.summary), (2, Some(summary)));
        f.sound().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_tells_what_fell_out_and_each_summary_is_made_of_the_one_before() {
    let model = Arc::new(Scripted::default());
    let first = "Mara freed 40 GB on db-prod-2 and moved the backup to 01:30.";
    let second = "Mara freed 40 GB on db-prod-2, moved the backup to 01:30, and went to Bergen.";
    model.drafts.lock().unwrap().extend([first.to_owned(), second.to_owned()]);
    let f = Fixture::of_words(Some(model.clone())).await;
    f.window(1);
    f.say(append("s1", vec![user("Mara freed 40 GB on db-prod-2 this morning, at last.")])).await;
    f.say(append("s1", vec![user("She moved the backup to 01:30, away from the reports.")])).await;
    f.say(append("s1", vec![user("Then she went to Bergen for the rest of the week.")])).await;
    let report = f.extract().await;
    assert_eq!(report.n_told.get("model"), Some(&1), "{:?}", f.service.status().await.llm);
    assert_eq!(f.try_session("s1").await.unwrap().summary.as_deref(), Some(first));
    f.say(append("s1", vec![user("Is there anything else to do?")])).await;
    assert_eq!(f.extract().await.n_told.get("model"), Some(&1));
    assert_eq!(f.try_session("s1").await.unwrap().summary.as_deref(), Some(second));
    let asked = model.asked_to_tell.lock().unwrap().clone();
    let texts: Vec<&str> = asked[1].passages.iter().map(|passage| passage.text.as_str()).collect();
    assert_eq!(texts, [first, "user: Then she went to Bergen for the rest of the week."]);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_makes_things_up_or_is_away_is_replaced_by_quotations() {
    let lie = "Caroline sold the old harbour to the king of Bergen on 1999-01-02.";
    for answers in [vec![lie, lie], vec!["nonsense", "nonsense"], Vec::new()] {
        let model = Arc::new(Scripted::default());
        model.drafts.lock().unwrap().extend(answers.iter().map(|text| (*text).to_owned()));
        let f = Fixture::of_words(Some(model)).await;
        f.window(1);
        f.say(append("s1", vec![user("Mara freed 40 GB on db-prod-2 this morning.")])).await;
        f.say(append("s1", vec![user("She moved the backup to 01:30.")])).await;
        let report = f.extract().await;
        assert_eq!(report.n_told.get("quotes"), Some(&1), "{answers:?}: {report:?}");
        let summary = f.try_session("s1").await.unwrap().summary.unwrap();
        assert!(summary.contains("user: Mara freed 40 GB") && !summary.contains("Caroline"));
    }
}

#[tokio::test(start_paused = true)]
async fn all_of_it_is_gone_when_its_time_is_over() {
    let f = Fixture::of_words(None).await;
    f.say(append("s1", vec![user("I live in Bergen."), assistant("Noted, thank you.")])).await;
    f.clock.advance(Duration::from_hours(7 * 24 - 1));
    f.say(append("s2", vec![user("Hello!")])).await;
    assert_eq!(f.said("s1").await.len(), 2);
    f.clock.advance(Duration::from_hours(2));
    assert!(f.try_session("s1").await.is_err(), "over its time it is not shown");
    let report = f.extract().await;
    assert_eq!((report.n_expired, report.n_stored), (1, 1), "{report:?}");
    assert_eq!(f.found("where do I live in Bergen").await, ["I live in Bergen."]);
    let counts = f.service.status().await.sessions.unwrap();
    assert_eq!((counts.len(), counts[0].n_sessions, counts[0].n_waiting), (1, 1, 0));
    assert_eq!(f.said("s2").await, ["Hello!"]);
    // The name can be used again.
    f.say(append("s1", vec![user("Good morning.")])).await;
    assert_eq!(f.try_session("s1").await.unwrap().session.last_turn, 1);
    f.sound().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_given_less_time_goes_with_the_next_look() {
    let f = Fixture::of_words(None).await;
    f.say(append("s1", vec![user("I live in Bergen.")])).await;
    f.clock.advance(Duration::from_hours(2));
    assert_eq!(
        (f.extract().await.n_expired, f.service.drop_sessions_over().await.unwrap()),
        (0, 0)
    );
    f.say(append("s2", vec![user("Hello!")])).await;
    let window = WindowPolicy { ttl: Duration::from_hours(1), ..WindowPolicy::default() };
    let sessions = SessionPolicy { window, ..SessionPolicy::default() };
    f.service.reconfigure(Settings { sessions, ..service_settings() });
    assert_eq!(f.extract().await.n_expired, 1);
    f.clock.advance(Duration::from_hours(2));
    // Where nothing is taken out of sessions.
    assert_eq!(f.service.drop_sessions_over().await.unwrap(), 1);
    assert_eq!(f.service.status().await.sessions, Some(Vec::new()));
    f.sound().await;
}

/// Forgets by a session: the preview and the receipt.
async fn forget(f: &Fixture, caller: &Caller, scope: Scope) -> (usize, u64, usize) {
    let matching = |confirm| ForgetRequest::Matching {
        scope: Box::new(scope.clone()),
        query: None,
        confirm,
        request: None,
    };
    let preview = f.service.forget(caller, matching(None)).await.unwrap();
    let ForgetAnswer::Preview { n_sessions, confirm, .. } = preview else { panic!("{preview:?}") };
    let receipt = f.service.forget(caller, matching(Some(confirm))).await.unwrap();
    let ForgetAnswer::Receipt { n_turns, receipt, .. } = receipt else { panic!("{receipt:?}") };
    (n_sessions, n_turns, receipt.ids.len())
}

fn of_session(name: &str) -> Scope {
    Scope { session: Some(name.to_owned()), ..Scope::default() }
}

#[tokio::test(start_paused = true)]
async fn a_session_is_forgotten_with_its_memories_and_what_still_waits_in_it() {
    let f = Fixture::of_words(None).await;
    f.say(ended("s1", vec![user("I live in Bergen and love oolong tea.")])).await;
    f.extract().await;
    let mut old = draft("The person of s1 was called Max");
    old.session = Some("s1".to_owned());
    let old = f.remember(&agent("a"), old).await.id;
    let mut new = draft("The person of s1 is called Mara");
    (new.session, new.supersedes) = (Some("s1".to_owned()), Some(old.to_string()));
    f.remember(&agent("a"), new).await;
    f.say(append("s1", vec![user("My router is 192.168.7.1.")])).await;
    f.say(append("s2", vec![user("I hate the smell of paint.")])).await;
    assert_eq!(forget(&f, &owner(), of_session("s1")).await, (1, 2, 4));
    assert!(f.try_session("s1").await.is_err());
    f.clock.advance(Duration::from_hours(1));
    let report = f.extract().await;
    assert_eq!(report.n_stored, 1, "only that of the other session: {report:?}");
    for question in ["Bergen", "oolong tea", "router 192.168.7.1", "called Max", "called Mara"] {
        assert_eq!(f.found(question).await, Vec::<String>::new(), "{question}");
    }
    assert_eq!(f.found("smell of paint").await, ["I hate the smell of paint."]);
    f.sound().await;
}

#[tokio::test(start_paused = true)]
async fn a_token_is_of_what_was_shown_and_others_have_no_say() {
    let f = Fixture::of_words(None).await;
    let own = AppendRequest {
        namespace: Some("agent/a".to_owned()),
        ..append("s1", vec![user("I live in Bergen.")])
    };
    f.say(own.clone()).await;
    let matching = |confirm| ForgetRequest::Matching {
        scope: Box::new(of_session("s1")),
        query: None,
        confirm,
        request: None,
    };
    let preview = f.service.forget(&agent("a"), matching(None)).await.unwrap();
    let ForgetAnswer::Preview { confirm, n_sessions, .. } = preview else { panic!() };
    assert_eq!(n_sessions, 1);
    f.say(own).await;
    let stale = f.service.forget(&agent("a"), matching(Some(confirm))).await.unwrap_err();
    assert!(stale.to_string().starts_with("`confirm`"), "{stale}");
    assert_eq!(forget(&f, &agent("b"), of_session("s1")).await, (0, 0, 0));
    // A part of a session is its memories alone.
    let part = Scope { tags: vec!["t".to_owned()], ..of_session("s1") };
    assert_eq!(forget(&f, &agent("a"), part).await, (0, 0, 0));
    assert_eq!(forget(&f, &agent("a"), of_session("s1")).await, (1, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn forgetting_a_memory_forgets_where_it_was_said() {
    let f = Fixture::of_words(None).await;
    f.window(1);
    f.say(append("s1", vec![user("I live in Bergen, and my boss is Caroline.")])).await;
    f.say(append("s1", vec![user("我不吃辣。")])).await;
    f.say(append("s1", vec![user("See you.")])).await;
    f.say(ended("s1", Vec::new())).await;
    let report = f.extract().await;
    assert_eq!((report.n_stored, report.n_told.len()), (3, 1), "{report:?}");
    let told = f.try_session("s1").await.unwrap().summary.unwrap();
    assert!(told.contains("Bergen") && told.contains("不吃辣"), "{told}");
    // The same fact waits in another session, and in a third it was only said in passing.
    f.say(append("s2", vec![user("Well. I live in Bergen. And you?")])).await;
    let found = f.recall(&owner(), "live in Bergen").await;
    let id = found.hits[0].memory.id;
    f.service
        .forget(&owner(), ForgetRequest::Ids { references: vec![id.to_string()], request: None })
        .await
        .unwrap();
    let told = f.try_session("s1").await.unwrap().summary.unwrap();
    assert!(!told.contains("Bergen") && told.contains("不吃辣"), "{told}");
    assert_eq!(f.said("s2").await, Vec::<String>::new());
    f.clock.advance(Duration::from_hours(1));
    assert_eq!(f.extract().await.n_stored, 0);
    assert_eq!(f.found("live in Bergen").await, Vec::<String>::new());
    f.sound().await;
}

#[tokio::test(start_paused = true)]
async fn a_summary_of_a_forgotten_turn_does_not_come_back_either() {
    let model = Arc::new(Scripted::default());
    model.drafts.lock().unwrap().push_back("The user lives in Bergen and drinks tea.".to_owned());
    let f = Fixture::of_words(Some(model)).await;
    f.window(1);
    f.say(append("s1", vec![user("I live in Bergen these days, with my cat.")])).await;
    f.say(ended("s1", vec![user("I drink a lot of tea."), user("See you.")])).await;
    f.extract().await;
    assert!(f.try_session("s1").await.unwrap().summary.unwrap().contains("Bergen"));
    let id = f.recall(&owner(), "live in Bergen").await.hits[0].memory.id;
    f.service
        .forget(&owner(), ForgetRequest::Ids { references: vec![id.to_string()], request: None })
        .await
        .unwrap();
    assert_eq!(f.try_session("s1").await.unwrap().summary, None);
    f.sound().await;
}
