//! `[reminders]`: how reminders are told.

use std::time::Duration;

use jiff::SignedDuration;
use jiff::civil::Time;
use toml::de::DeValue;

use super::problem::Problem;
use super::reader::Reader;
use crate::domain::reminder::{Backoff, NagBudget, Policy, ReminderSettings, Repeat, zone_named};
use crate::domain::sink::SinkSettings;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

const ZONE: &str =
    "the name of a time zone like \"Europe/Berlin\", or \"\" for the one of the system";
const NAMES: &str = "a list of names of sinks, like [\"team\", \"phone\"], or [] for all";
const COMMAND: &str = "a program by its absolute path and its arguments, each a string, or []";

/// Reads the section; names of sinks are those of `sinks`.
pub(super) fn read(reader: &mut Reader<'_, '_>, sinks: &[SinkSettings]) -> ReminderSettings {
    let named = reader.read("reminders.sinks", NAMES, strings).unwrap_or_default();
    for name in &named {
        check_sink(reader, "reminders.sinks", name, sinks);
    }
    let escalate_to = Some(reader.text("reminders.escalate_to")).filter(|name| !name.is_empty());
    if let Some(name) = &escalate_to {
        check_sink(reader, "reminders.escalate_to", name, sinks);
    }
    let zone = reader.read("reminders.zone", ZONE, |value| match value.as_str()?.trim() {
        "" => Some(None),
        name => zone_named(name).ok().map(Some),
    });
    ReminderSettings {
        sinks: named,
        zone: zone.flatten(),
        policy: policy(reader),
        escalate_to,
        all_day_at: all_day_at(reader),
        nag: NagBudget {
            per_day: reader.count("reminders.nag_per_day", &(0..=100)),
            apart: length(reader, "reminders.nag_apart_s", SECOND, 0, 86_400),
        },
        backoff: Backoff {
            base: length(reader, "reminders.backoff_s", SECOND, 1, 3_600),
            max: length(reader, "reminders.backoff_max_m", MINUTE, 1, 1_440),
        },
        attempts_max: whole(reader, "reminders.attempts", 1, 100),
        repeats_uncertain: reader.flag("reminders.repeat_uncertain"),
        agent_gap: length(reader, "reminders.agent_gap_m", MINUTE, 0, 1_440),
        on_due: on_due(reader),
        keep: length(reader, "reminders.keep_days", DAY, 2, 3_650),
    }
}

fn policy(reader: &mut Reader<'_, '_>) -> Policy {
    let times = whole(reader, "reminders.repeats", 0, 10);
    let every = length(reader, "reminders.repeat_after_m", MINUTE, 1, 1_440);
    Policy {
        late_after: length(reader, "reminders.late_after_s", SECOND, 1, 86_400),
        grace: length(reader, "reminders.grace_h", HOUR, 0, 720),
        open_for: length(reader, "reminders.open_for_h", HOUR, 1, 8_760),
        repeat: (times > 0).then_some(Repeat { every, times }),
        escalate_after: Some(length(reader, "reminders.escalate_after_m", MINUTE, 1, 1_440)),
    }
}

fn all_day_at(reader: &mut Reader<'_, '_>) -> Time {
    let expected = "a time of day like \"09:00\"";
    let read = reader.read("reminders.all_day_at", expected, |value| {
        let text = value.as_str()?;
        Time::strptime("%H:%M", text).ok().filter(|_| text.is_ascii())
    });
    read.unwrap_or_default()
}

fn on_due(reader: &mut Reader<'_, '_>) -> Vec<String> {
    let read = reader.read("reminders.on_due", COMMAND, |value| {
        let words = strings(value)?;
        words.first().is_none_or(|program| program.starts_with('/')).then_some(words)
    });
    read.unwrap_or_default()
}

fn strings(value: &DeValue<'_>) -> Option<Vec<String>> {
    let items = value.as_array()?.iter();
    items.map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
}

fn check_sink(reader: &mut Reader<'_, '_>, key: &str, name: &str, sinks: &[SinkSettings]) {
    if sinks.iter().any(|sink| sink.name == name) {
        return;
    }
    if let Some(place) = reader.place(key) {
        let names: Vec<String> = sinks.iter().map(|sink| format!("{:?}", sink.name)).collect();
        let expected = match names.as_slice() {
            [] => "no name, since there is no [sinks.NAME]".to_owned(),
            names => format!("the name of a sink, one of {}", names.join(", ")),
        };
        reader.problems.push(Problem::value(place, key, expected, format!("{name:?}")));
    }
}

fn whole(reader: &mut Reader<'_, '_>, key: &str, least: u64, most: u64) -> u32 {
    u32::try_from(reader.integer(key, &(least..=most))).unwrap_or(u32::MAX)
}

/// A time of so many units.
fn length(
    reader: &mut Reader<'_, '_>,
    key: &str,
    unit: Duration,
    least: u64,
    most: u64,
) -> SignedDuration {
    let length = reader.duration(key, unit, &(least..=most));
    SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX)
}
