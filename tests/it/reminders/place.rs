//! Where reminders arrive in a year: places that take them, lose them, take them without saying so, and
//! are away for hours.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use recalld::clock::ManualClock;
use recalld::domain::reminder::{DeliveryKey, Outcome, Pace};
use recalld::domain::sink::{Abilities, Message, SinkKind};
use recalld::ports::{Clock as _, Sink};
use recalld::service::remind::Outlet;
use tokio::sync::Notify;

use super::plan::below;
use crate::random::Random;

/// How often the places take a message.
pub const PACE: Pace = Pace { every: SignedDuration::from_secs(1), burst: 5 };

/// How a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// One message in twelve does not get through, or nobody knows.
    Well,
    /// Nothing gets through.
    Away,
    /// Everything does.
    Best,
}

/// A call, as the place saw it.
#[derive(Clone, Debug)]
pub struct Call {
    /// What the wall showed.
    pub wall: Timestamp,
    /// The time that had really passed.
    pub passed: Duration,
    /// The look in which it was made.
    pub look: usize,
    pub message: Message,
    /// Whether the message was taken.
    pub is_taken: bool,
    /// What was answered.
    pub outcome: Outcome,
    /// Whether a person saw it: a place that knows keys shows none twice.
    pub is_shown: bool,
}

/// A power cut that comes after so many steps, wherever that is.
#[derive(Debug, Default)]
pub struct Fuse {
    left: Mutex<Option<u64>>,
    blown: Notify,
}

impl Fuse {
    /// It blows after so many more steps.
    pub fn set(&self, steps: Option<u64>) {
        *self.left.lock().unwrap() = steps;
    }

    /// Whether it will blow.
    pub fn is_set(&self) -> bool {
        self.left.lock().unwrap().is_some()
    }

    /// Waits until it has.
    pub async fn blown(&self) {
        self.blown.notified().await;
    }

    /// A step; one that never ends, if the process ends here.
    pub async fn step(&self) {
        let is_over = match &mut *self.left.lock().unwrap() {
            None => return,
            Some(0) => true,
            Some(n) => {
                *n -= 1;
                if *n == 0 {
                    self.blown.notify_one();
                }
                *n == 0
            }
        };
        if is_over {
            std::future::pending::<()>().await;
        }
    }
}

/// A place.
pub struct Place {
    name: &'static str,
    knows_keys: bool,
    /// Whether nobody wants to be disturbed there from 22:00 to 07:00 in Berlin.
    pub is_quiet: bool,
    pub mood: Mutex<Mood>,
    pub calls: Mutex<Vec<Call>>,
    had: Mutex<BTreeSet<DeliveryKey>>,
    look: Arc<AtomicUsize>,
    clock: Arc<ManualClock>,
    fuse: Arc<Fuse>,
    random: Mutex<Random>,
}

impl Place {
    /// The places of a year.
    pub fn all(
        clock: &Arc<ManualClock>,
        fuse: &Arc<Fuse>,
        look: &Arc<AtomicUsize>,
        random: &mut Random,
    ) -> Vec<Arc<Self>> {
        let mut place = |name, knows_keys, is_quiet| {
            Arc::new(Self {
                name,
                knows_keys,
                is_quiet,
                mood: Mutex::new(Mood::Well),
                calls: Mutex::default(),
                had: Mutex::default(),
                look: Arc::clone(look),
                clock: Arc::clone(clock),
                fuse: Arc::clone(fuse),
                random: Mutex::new(Random::new(random.next())),
            })
        };
        vec![place("keyed", true, false), place("plain", false, false), place("night", false, true)]
    }

    /// As the configuration has it.
    pub fn outlet(self: &Arc<Self>) -> Outlet {
        Outlet {
            sink: Arc::clone(self) as Arc<dyn Sink>,
            quiet: self.is_quiet.then(|| "22:00-07:00".parse().unwrap()),
            zone: Some(TimeZone::get("Europe/Berlin").unwrap()),
            timeout: Duration::from_secs(20),
        }
    }

    /// Whether it is quiet there.
    pub fn is_quiet_at(&self, at: Timestamp) -> bool {
        let hour = TimeZone::get("Europe/Berlin").unwrap().to_datetime(at).hour();
        self.is_quiet && !(7..22).contains(&hour)
    }

    /// Whether the message is taken, and what is answered.
    fn answer(&self) -> (bool, Outcome) {
        let mut random = self.random.lock().unwrap();
        let retry = |after| Outcome::Retry { after, why: "busy".to_owned() };
        let unknown = || Outcome::Unknown("no answer".to_owned());
        let sent = Outcome::Sent { remote_id: None };
        match (*self.mood.lock().unwrap(), random.below(100)) {
            (Mood::Best, _) | (Mood::Well, 9..) => (true, sent),
            (Mood::Well, 0..=2) | (Mood::Away, 0..=49) => (false, retry(None)),
            (Mood::Well, 3) | (Mood::Away, 50..=59) => (
                false,
                retry(Some(SignedDuration::from_secs(
                    7 + 600 * i64::from(below(&mut random, 2) == 0),
                ))),
            ),
            (Mood::Well, 4 | 5) => (true, unknown()),
            (Mood::Well, 6 | 7) | (Mood::Away, _) => (false, unknown()),
            (Mood::Well, 8) => (false, Outcome::Refused("it is too long".to_owned())),
        }
    }
}

impl Sink for Place {
    fn name(&self) -> &str {
        self.name
    }

    fn kind(&self) -> SinkKind {
        SinkKind::Json
    }

    fn place(&self) -> String {
        "a place in a test".to_owned()
    }

    fn abilities(&self) -> Abilities {
        Abilities { knows_keys: self.knows_keys, pace: PACE, ..Abilities::of(SinkKind::Json) }
    }

    fn deliver<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Outcome> {
        async move {
            self.fuse.step().await;
            let (is_taken, outcome) = self.answer();
            let is_shown = is_taken && {
                let is_new = self.had.lock().unwrap().insert(message.key);
                is_new || !self.knows_keys
            };
            self.calls.lock().unwrap().push(Call {
                wall: self.clock.now(),
                passed: self.clock.monotonic(),
                look: self.look.load(Ordering::Relaxed),
                message: message.clone(),
                is_taken,
                outcome: outcome.clone(),
                is_shown,
            });
            let took = self.random.lock().unwrap().below(3_000);
            self.clock.advance(Duration::from_millis(took));
            self.fuse.step().await;
            outcome
        }
        .boxed()
    }
}
