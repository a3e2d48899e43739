//! A sink that keeps what it is given and answers what it was told to, and a way to live with it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, mpsc};

use super::fixture::{Fixture, owner, service_settings};
use crate::clock::ManualClock;
use crate::domain::reminder::{DeliveryKey, Outcome};
use crate::domain::sink::{Abilities, Message, SinkKind};
use crate::ports::{Clock as _, Sink};
use crate::service::remind::{Outlet, ReminderView, SetReminder};
use crate::service::{Service, Settings};

/// A message that arrived.
#[derive(Clone, Debug)]
pub(super) struct Arrived {
    pub(super) at: Timestamp,
    pub(super) message: Message,
}

/// What a recorder does when a message comes.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// This.
    Is(Outcome),
    /// Takes it, and never answers.
    Hangs,
    /// Takes it, and says so when it is let go.
    Waits(Arc<Notify>),
}

pub(super) struct Recorder {
    name: String,
    pub(super) abilities: Mutex<Abilities>,
    clock: Arc<ManualClock>,
    answers: Mutex<VecDeque<Answer>>,
    arrived: Mutex<Vec<Arrived>>,
    mark: AtomicU64,
    lacks: Mutex<Option<String>>,
    acks: (
        mpsc::UnboundedSender<DeliveryKey>,
        tokio::sync::Mutex<mpsc::UnboundedReceiver<DeliveryKey>>,
    ),
}

impl Recorder {
    pub(super) fn new(name: &str, clock: &Arc<ManualClock>) -> Arc<Self> {
        let (sender, receiver) = mpsc::unbounded_channel();
        Arc::new(Self {
            name: name.to_owned(),
            abilities: Mutex::new(Abilities { knows_keys: false, ..Abilities::of(SinkKind::Json) }),
            clock: Arc::clone(clock),
            answers: Mutex::default(),
            arrived: Mutex::default(),
            mark: AtomicU64::default(),
            lacks: Mutex::default(),
            acks: (sender, tokio::sync::Mutex::new(receiver)),
        })
    }

    /// What it answers next; everything is taken after that.
    pub(super) fn answers(&self, answers: impl IntoIterator<Item = Answer>) {
        self.answers.lock().unwrap().extend(answers);
    }

    pub(super) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }

    /// The times at which something arrived, in UTC.
    pub(super) fn times(&self) -> Vec<String> {
        self.arrived().iter().map(|arrived| arrived.at.to_string()).collect()
    }

    pub(super) fn acknowledge(&self, key: DeliveryKey) {
        self.acks.0.send(key).unwrap();
    }

    /// Its files are others.
    pub(super) fn gets_other_files(&self) {
        self.mark.fetch_add(1, Ordering::Relaxed);
    }

    /// Its files do not hold what it needs, for this reason.
    pub(super) fn lacks(&self, why: &str) {
        *self.lacks.lock().unwrap() = Some(why.to_owned());
    }

    pub(super) fn may(&self, change: impl FnOnce(&mut Abilities)) {
        change(&mut self.abilities.lock().unwrap());
    }
}

impl Sink for Recorder {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> SinkKind {
        SinkKind::Json
    }

    fn place(&self) -> String {
        "a test".to_owned()
    }

    fn abilities(&self) -> Abilities {
        *self.abilities.lock().unwrap()
    }

    fn check(&self) -> Result<(), String> {
        self.lacks.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    fn mark(&self) -> Option<u64> {
        Some(self.mark.load(Ordering::Relaxed))
    }

    fn deliver<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Outcome> {
        let arrived = Arrived { at: self.clock.now(), message: message.clone() };
        self.arrived.lock().unwrap().push(arrived);
        let answer = self.answers.lock().unwrap().pop_front();
        match answer.unwrap_or(Answer::Is(Outcome::Sent { remote_id: None })) {
            Answer::Is(outcome) => std::future::ready(outcome).boxed(),
            Answer::Hangs => std::future::pending().boxed(),
            Answer::Waits(until) => async move {
                until.notified().await;
                Outcome::Sent { remote_id: None }
            }
            .boxed(),
        }
    }

    fn acknowledged(&self) -> BoxFuture<'_, DeliveryKey> {
        async { self.acks.1.lock().await.recv().await.unwrap() }.boxed()
    }
}

/// A recorder as it is configured.
pub(super) fn outlet(sink: &Arc<Recorder>) -> Outlet {
    Outlet { sink: sink.clone(), quiet: None, zone: None, timeout: Duration::from_secs(20) }
}

/// Use cases with one recorder, `team`, that are driven through time.
pub(super) struct World {
    pub(super) f: Fixture,
    pub(super) service: Arc<Service>,
    pub(super) team: Arc<Recorder>,
}

impl World {
    /// On Monday, 30 November 2026, at noon in Berlin, where the person is.
    pub(super) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(super) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let f = Fixture::of_words(None).await;
        f.clock.set(time("2026-11-30T12:00+01:00"));
        let mut settings = settings();
        change(&mut settings);
        f.service.reconfigure(settings);
        let team = Recorder::new("team", &f.clock);
        f.service.use_sinks(vec![outlet(&team)]);
        Self { service: Arc::clone(&f.service), f, team }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.f.clock.now()
    }

    pub(super) async fn set(&self, asked: SetReminder) -> ReminderView {
        self.service.set_reminder(&owner(), asked).await.unwrap()
    }

    /// Sets a reminder at a time in ISO 8601 or words.
    pub(super) async fn set_at(&self, text: &str, at: &str) -> ReminderView {
        self.set(SetReminder { at: Some(at.to_owned()), ..says(text) }).await
    }

    /// Sets one that recurs.
    pub(super) async fn set_rule(&self, text: &str, rule: &str, lead: &str) -> ReminderView {
        let lead = Some(lead.to_owned());
        self.set(SetReminder { rule: Some(rule.to_owned()), lead, ..says(text) }).await
    }

    /// Looks once, as the loop of the daemon does; tells when there is more to do.
    pub(super) async fn look(&self) -> Option<Timestamp> {
        self.service.advance_reminders(self.now()).await.unwrap();
        let again = self.service.deliver_reminders().await.unwrap();
        let wake = self.service.next_reminder_wake().await.unwrap();
        again.into_iter().chain(wake).min()
    }

    /// Lives until a moment.
    pub(super) async fn live_until(&self, until: &str) {
        let until = time(until);
        loop {
            let next = self.look().await.unwrap_or(until);
            let now = self.now();
            if now >= until {
                return;
            }
            let least = now.checked_add(SignedDuration::from_millis(1)).unwrap();
            let wait = next.max(least).min(until).duration_since(now);
            self.f.clock.advance(Duration::try_from(wait).unwrap());
        }
    }

    /// What a restart brings.
    pub(super) async fn restart(&mut self) {
        self.service = self.f.restarted(settings());
        self.service.use_sinks(vec![outlet(&self.team)]);
        self.service.take_over_reminders(self.now()).await.unwrap();
    }
}

pub(super) fn settings() -> Settings {
    let mut settings = service_settings();
    settings.reminders.zone = Some(jiff::tz::TimeZone::get("Europe/Berlin").unwrap());
    settings
}

pub(super) fn says(text: &str) -> SetReminder {
    SetReminder { text: Some(text.to_owned()), ..SetReminder::default() }
}

/// A moment with its offset.
pub(super) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}
