//! A year of reminders on a clock that is told: set back and forth, with the daemon killed between any
//! two steps, stopped for days, and places that lose messages. What was told is what the oracle says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use recalld::domain::reminder::{DeliveryState, OnMissed, Priority, ReminderSettings, View};
use recalld::ports::Clock as _;
use recalld::service::remind::{
    ListReminders, ReminderAction, ReminderView, SetReminder, UpdateReminder,
};

use super::judge::Judge;
use super::oracle::{Reminder, Snooze};
use super::place::{Mood, Place};
use super::plan::{Days, Plan, below, pick};
use super::world::{Looked, Machine, Process, owner};
use crate::random::Random;

/// Reminders that are set at the beginning, and in the course of the year.
const N_FIRST: usize = 150;
/// See [`N_FIRST`].
const N_LATER: usize = 50;
/// Both changes of clocks of every zone lie in it.
const BEGAN: &str = "2027-01-10T12:00:00Z";
const YEAR: Duration = Duration::from_hours(24 * 366);
/// Time at the end in which nothing happens to the daemon and the places.
const CALM: Duration = Duration::from_hours(30);
/// Furthest that the clock on the wall is from the right time, hours: two of them are within a day.
const OFF_HOURS: u64 = 11;
/// Longest time by which a look is late, ms.
const LATE_MS: u64 = 30_000;
/// Least time between two looks.
const PAUSE: Duration = Duration::from_millis(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_year_is_told_as_the_oracle_says_whatever_happens_to_the_daemon_and_its_clock() {
    let mut random = Random::from_environment("a year of reminders");
    let mut year = Year::begin(&mut random).await;
    year.live(&mut random).await;
    let judge =
        Judge::over(year.process(), &year.places, &year.reminders, &year.machine.looks).await;
    eprintln!("{:?}", year.seen);
    judge.passes();
    let found = year.process().store.verify().await.unwrap();
    assert_eq!(found.violations, Vec::<String>::new());
    for what in ["steps", "kills", "kills within a look", "stops", "snoozes"] {
        assert!(year.seen.get(what).is_some_and(|n| *n > 3), "{what}: {:?}", year.seen);
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// Something that begins within so many days.
    Within(usize),
    /// Something in an hour or two.
    Soon,
}

/// A year.
struct Year {
    machine: Machine,
    process: Option<Process>,
    places: Vec<Arc<Place>>,
    reminders: Vec<Reminder>,
    /// How often what happened.
    seen: BTreeMap<&'static str, usize>,
}

impl Year {
    async fn begin(random: &mut Random) -> Self {
        let keep = SignedDuration::from_hours(24 * 3_650);
        let settings = ReminderSettings { keep, ..ReminderSettings::default() };
        let machine = Machine::new(BEGAN.parse().unwrap(), settings);
        let places = Place::all(&machine.clock, &machine.fuse, &machine.look, random);
        let process = Some(machine.start(places.iter().map(Place::outlet).collect()));
        let mut year =
            Self { machine, process, places, reminders: Vec::new(), seen: BTreeMap::new() };
        for _ in 0..N_FIRST {
            year.set(random, Asked::Within(120)).await;
        }
        year
    }

    fn process(&self) -> &Process {
        self.process.as_ref().unwrap()
    }

    fn wall(&self) -> Timestamp {
        self.machine.clock.now()
    }

    fn passed(&self) -> Duration {
        self.machine.clock.monotonic()
    }

    fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// Sets a reminder.
    async fn set(&mut self, random: &mut Random, asked: Asked) {
        let (now, number) = (self.wall(), self.reminders.len());
        let mut reminder = loop {
            let from = jiff::tz::TimeZone::UTC.to_datetime(now).date();
            let plan = match asked {
                Asked::Within(n_days) => Plan::random(random, from, n_days),
                Asked::Soon => Plan::soon(random, now),
            };
            let last = from.checked_add(jiff::Span::new().days(800)).unwrap();
            let occasions = plan.occasions(last);
            let is_once = matches!(plan.days, Days::Once);
            let on_missed = if is_once { OnMissed::Late } else { OnMissed::Coalesce };
            let (set_at, from_look) = (now, self.machine.looks.len());
            let reminder = Reminder {
                id: recalld::domain::id::MemoryId::new(0, 0),
                plan,
                on_missed,
                is_urgent: random.below(7) == 0,
                sinks: sinks(random),
                set_at,
                from_look,
                occasions,
                snoozes: Vec::new(),
            };
            if reminder.counted().next().is_some() {
                break reminder;
            }
        };
        let all = [None, Some(OnMissed::Late), Some(OnMissed::Skip), Some(OnMissed::Coalesce)];
        let on_missed = pick(random, &all);
        reminder.on_missed = on_missed.unwrap_or(reminder.on_missed);
        let plan = &reminder.plan;
        let asked = SetReminder {
            text: Some(format!("Errand {number}")),
            at: Some(plan.start.strftime("%Y-%m-%dT%H:%M:%S").to_string()),
            rule: plan.rule(),
            lead: Some(plan.lead()),
            zone: Some(plan.zone.to_owned()),
            sinks: reminder.sinks.clone(),
            priority: reminder.is_urgent.then_some(Priority::Urgent),
            on_missed,
            ..SetReminder::default()
        };
        let view = self.process().service.set_reminder(&owner(), asked).await;
        let view = view.unwrap_or_else(|error| panic!("{error}: {plan:?}"));
        let expected: Vec<_> = reminder.counted().take(3).map(|one| (one.due, one.at)).collect();
        let echoed: Vec<_> = view.next.iter().map(|one| (one.told_at, one.occurrence.at)).collect();
        // What comes in more than two years the oracle does not know.
        assert!(echoed.starts_with(&expected), "{plan:?}: {echoed:?}, expected {expected:?}");
        reminder.id = view.entry.id;
        self.reminders.push(reminder);
    }

    /// From look to look, to the end.
    async fn live(&mut self, random: &mut Random) {
        let mut event_at = Duration::ZERO;
        while self.passed() < YEAR {
            match self.machine.look(self.process.as_ref().unwrap()).await {
                Looked::Killed => {
                    self.saw("kills within a look");
                    let after = Duration::from_mins(random.below(5));
                    self.restart(random, true, after);
                }
                Looked::Next(next) => {
                    let (now, due) = (self.wall(), self.next_due());
                    let wake = next.into_iter().chain(due).min();
                    assert!(due.is_none() || next <= due, "{next:?} is asked for, {due:?} is due");
                    let late = Duration::from_millis(random.below(2) * random.below(LATE_MS));
                    let wait = wake.map_or(YEAR, |at| {
                        Duration::try_from(at.duration_since(now)).unwrap_or_default().max(PAUSE)
                    });
                    let until_event = event_at.saturating_sub(self.passed()).max(PAUSE);
                    self.machine.clock.advance((wait + late).min(until_event));
                    if random.below(40) == 0 && !self.machine.fuse.is_set() {
                        self.snooze(random).await;
                    }
                }
            }
            if self.passed() >= event_at && self.passed() + CALM < YEAR {
                let pause_h = self.happen(random).await;
                event_at =
                    self.passed() + Duration::from_secs(3_600 * pause_h + random.below(3_600));
            } else if self.passed() + CALM >= YEAR {
                self.calm();
                event_at = YEAR;
            }
        }
    }

    /// When the first that nobody has looked at is due, by the clock on the wall.
    fn next_due(&self) -> Option<Timestamp> {
        let seen = self.machine.looks.iter().map(|look| look.wall).max().unwrap();
        let seen = seen.max(self.wall());
        let next = |reminder: &Reminder| {
            let snoozed =
                reminder.snoozes.iter().map(|one| one.until).filter(|until| *until > seen);
            let counted = reminder.counted().map(|one| one.due).find(|due| *due > seen);
            counted.into_iter().chain(snoozed).min()
        };
        self.reminders.iter().filter_map(next).min()
    }

    /// Somebody puts off something that was told.
    async fn snooze(&mut self, random: &mut Random) {
        let asked =
            ListReminders { view: View::Due, namespaces: Vec::new(), limit: None, cursor: None };
        let due = self.process().service.reminders(&owner(), asked).await.unwrap().reminders;
        let is_told = |view: &ReminderView| {
            !view.rows.iter().any(|row| row.delivery.state == DeliveryState::Queued)
        };
        let due: Vec<_> = due.into_iter().filter(is_told).collect();
        if due.is_empty() {
            return;
        }
        let view = pick(random, &due);
        let minutes = i64::try_from(1 + random.below(600)).unwrap();
        let wait = Some(format!("{minutes}m"));
        let action = ReminderAction::Snooze { wait, until: None };
        let update = UpdateReminder { reference: view.entry.id.to_string(), action };
        let until = self.wall() + SignedDuration::from_mins(minutes);
        if let Err(error) = self.process().service.update_reminder(&owner(), update).await {
            assert!(error.to_string().contains("are snoozed already"), "{error}");
            return;
        }
        self.saw("snoozes");
        let civil = view.entry.reminder.open.unwrap().occurrence.civil;
        let from_look = self.machine.looks.len();
        let reminder = self.reminders.iter_mut().find(|one| one.id == view.entry.id).unwrap();
        reminder.snoozes.push(Snooze { civil, until, from_look });
    }

    /// Nothing is lost from now on.
    fn calm(&self) {
        self.machine.fuse.set(None);
        for place in &self.places {
            *place.mood.lock().unwrap() = Mood::Best;
        }
    }

    /// Something; gives the hours until something else.
    async fn happen(&mut self, random: &mut Random) -> u64 {
        if self.reminders.len() < N_FIRST + N_LATER {
            self.machine.fuse.set(None);
            self.set(random, Asked::Within(60)).await;
        }
        for place in &self.places {
            *place.mood.lock().unwrap() = Mood::Well;
        }
        match random.below(10) {
            0..=2 => {
                self.step(random);
                if random.below(3) == 0 {
                    self.machine.fuse.set(None);
                    self.set(random, Asked::Soon).await;
                }
            }
            3..=5 => self.machine.fuse.set(Some(1 + random.below(60))),
            6 => {
                self.saw("kills");
                let after = Duration::from_secs(random.below(600));
                self.restart(random, true, after);
            }
            7 => {
                self.saw("stops");
                let hours = pick(random, &[1, 3, 20, 30, 72, 96]);
                self.restart(random, false, Duration::from_hours(hours));
            }
            _ => {
                self.saw("places away");
                *pick(random, &self.places).mood.lock().unwrap() = Mood::Away;
                return random.below(30);
            }
        }
        6 + random.below(120)
    }

    /// Ends the process, and starts the next one after a while.
    fn restart(&mut self, random: &mut Random, is_killed: bool, after: Duration) {
        self.machine.fuse.set(None);
        let outlets = self.places.iter().map(Place::outlet).collect();
        let dead = self.process.take().unwrap();
        if is_killed {
            self.machine.kill(&dead);
        } else {
            dead.store.close();
        }
        self.machine.clock.advance(after);
        if random.below(4) == 0 {
            self.step(random);
        }
        self.process = Some(self.machine.start(outlets));
    }

    /// Somebody sets the clock on the wall.
    fn step(&mut self, random: &mut Random) {
        self.saw("steps");
        let began: Timestamp = BEGAN.parse().unwrap();
        let right = began + SignedDuration::try_from(self.passed()).unwrap();
        let most_m = if random.below(3) == 0 { 40 } else { 60 * OFF_HOURS };
        let off =
            i64::try_from(random.below(2 * most_m + 1)).unwrap() - i64::try_from(most_m).unwrap();
        self.machine.clock.set(right + SignedDuration::from_mins(off));
    }
}

/// Mostly one place.
fn sinks(random: &mut Random) -> Vec<String> {
    let mut names = vec!["keyed", "plain", "night"];
    let n = if random.below(5) == 0 { 2 } else { 1 };
    while names.len() > n {
        names.remove(below(random, names.len()));
    }
    names.into_iter().map(str::to_owned).collect()
}
