//! The lines of reminders.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{all_ids, id, ids, text_of, time, times};
use crate::domain::reminder::{
    Entry, InvalidForm, Open, OpenForm, ReminderForm, Skipped, SkippedNote, Snooze, SnoozeForm,
    Source,
};

/// A reminder.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReminderLine {
    id: String,
    namespace: String,
    text: String,
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    topic: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sinks: Vec<String>,
    actor: String,
    created_at: String,
    updated_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proposed_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skipped: Option<SkippedLine>,
    rule: String,
    lead: String,
    priority: String,
    on_missed: String,
    is_timed: bool,
    status: String,
    counts_from: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    done_through: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open: Option<OpenLine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    snoozed: Vec<SnoozeLine>,
    #[serde(default)]
    generation: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SkippedLine {
    n: u64,
    last_due_at: String,
    why: String,
    at: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenLine {
    occurrence: String,
    told_at: String,
    last_told_at: String,
    n_repeats: u32,
    is_escalated: bool,
    n_snoozes: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SnoozeLine {
    occurrence: String,
    until: String,
    n: u32,
}

impl ReminderLine {
    pub(super) fn of(entry: &Entry) -> Self {
        let reminder = &entry.reminder;
        Self {
            id: entry.id.to_string(),
            namespace: entry.namespace.to_string(),
            text: entry.text.clone(),
            source: entry.source.to_string(),
            memory: entry.memory.map(|id| id.to_string()),
            evidence: entry.evidence.iter().map(ToString::to_string).collect(),
            topic: entry.topic.clone(),
            sinks: entry.sinks.clone(),
            actor: entry.actor.clone(),
            created_at: entry.created_at.to_string(),
            updated_at: entry.updated_at.to_string(),
            proposed_at: text_of(entry.proposed_at),
            skipped: entry.skipped.as_ref().map(|skipped| SkippedLine {
                n: skipped.n,
                last_due_at: skipped.last_due_at.to_string(),
                why: skipped.why.name().to_owned(),
                at: skipped.at.to_string(),
            }),
            rule: reminder.rule.to_string(),
            lead: reminder.lead.to_string(),
            priority: reminder.priority.to_string(),
            on_missed: reminder.on_missed.to_string(),
            is_timed: reminder.is_timed,
            status: reminder.status.to_string(),
            counts_from: reminder.counts_from.to_string(),
            done_through: reminder.done_through.map(|civil| civil.to_string()),
            open: reminder.open.as_ref().map(open_line),
            snoozed: reminder.snoozed.iter().map(snooze_line).collect(),
            generation: reminder.generation,
        }
    }

    pub(super) fn into_entry(self) -> Result<Entry, String> {
        let unknown = |field: &str| format!("`{field}` has a name that is not known here");
        let skipped = |skipped: SkippedLine| -> Result<SkippedNote, String> {
            Ok(SkippedNote {
                n: skipped.n,
                last_due_at: time("skipped.last_due_at", &skipped.last_due_at)?,
                why: Skipped::named(&skipped.why).ok_or_else(|| unknown("skipped.why"))?,
                at: time("skipped.at", &skipped.at)?,
            })
        };
        let form = ReminderForm {
            rule: self.rule,
            lead: self.lead,
            priority: self.priority,
            on_missed: self.on_missed,
            is_timed: self.is_timed,
            status: self.status,
            counts_from: microseconds("counts_from", &self.counts_from)?,
            done_through: self.done_through,
            open: self.open.map(open_form).transpose()?,
            snoozed: self.snoozed.into_iter().map(snooze_form).collect::<Result<_, _>>()?,
            generation: self.generation,
        };
        let wrong = |error: InvalidForm| format!("`{}` is none", error.field);
        Ok(Entry {
            id: id("id", &self.id)?,
            version: 1,
            namespace: self.namespace.parse().map_err(|_| "`namespace` is none")?,
            text: self.text,
            source: Source::parse(&self.source).ok_or_else(|| unknown("source"))?,
            memory: ids("memory", self.memory.as_ref())?,
            evidence: all_ids("evidence", &self.evidence)?,
            topic: self.topic,
            sinks: self.sinks,
            actor: self.actor,
            created_at: time("created_at", &self.created_at)?,
            updated_at: time("updated_at", &self.updated_at)?,
            proposed_at: times("proposed_at", self.proposed_at.as_ref())?,
            skipped: self.skipped.map(skipped).transpose()?,
            wakes_at: None,
            reminder: form.try_into().map_err(wrong)?,
        })
    }
}

fn open_line(open: &Open) -> OpenLine {
    OpenLine {
        occurrence: open.occurrence.civil.to_string(),
        told_at: open.told_at.to_string(),
        last_told_at: open.last_told_at.to_string(),
        n_repeats: open.n_repeats,
        is_escalated: open.is_escalated,
        n_snoozes: open.n_snoozes,
    }
}

fn open_form(line: OpenLine) -> Result<OpenForm, String> {
    Ok(OpenForm {
        occurrence: line.occurrence,
        told_at: microseconds("open.told_at", &line.told_at)?,
        last_told_at: microseconds("open.last_told_at", &line.last_told_at)?,
        n_repeats: line.n_repeats,
        is_escalated: line.is_escalated,
        n_snoozes: line.n_snoozes,
    })
}

fn snooze_line(snooze: &Snooze) -> SnoozeLine {
    SnoozeLine {
        occurrence: snooze.occurrence.civil.to_string(),
        until: snooze.until.to_string(),
        n: snooze.n,
    }
}

fn snooze_form(line: SnoozeLine) -> Result<SnoozeForm, String> {
    let until = microseconds("snoozed.until", &line.until)?;
    Ok(SnoozeForm { occurrence: line.occurrence, until, n: line.n })
}

fn microseconds(field: &str, text: &str) -> Result<i64, String> {
    time(field, text).map(Timestamp::as_microsecond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::MemoryId;
    use crate::domain::reminder::{Lead, Pattern, Reminder, Rule, Status, zone_named};
    use crate::domain::transfer::Item;
    use crate::mcp::transfer::{read_item, write_item};

    fn whole() -> Entry {
        let now: Timestamp = "2026-11-25T12:00:00.000001Z".parse().unwrap();
        let zone = zone_named("Europe/Berlin").unwrap();
        let rule = Rule::every("2026-11-26T09:00".parse().unwrap(), zone, Pattern::Daily).unwrap();
        let mut reminder = Reminder::new(rule, Lead::minutes(90), Status::Active, now).unwrap();
        let (_, occurrence) = reminder.upcoming(1)[0];
        reminder.done_through = Some(occurrence.civil);
        reminder.open = Some(Open {
            occurrence,
            told_at: now,
            last_told_at: now,
            n_repeats: 1,
            is_escalated: true,
            n_snoozes: 2,
        });
        reminder.snoozed = vec![Snooze { occurrence, until: now, n: 3 }];
        reminder.generation = 4;
        let (why, at) = (Skipped::TooLate, now);
        Entry {
            id: MemoryId::new(1, 1),
            version: 1,
            namespace: "shared/team".parse().unwrap(),
            text: "Say \"hello\"\n明天".to_owned(),
            source: Source::Pattern,
            memory: Some(MemoryId::new(2, 2)),
            evidence: vec![MemoryId::new(3, 3)],
            topic: Some("team meeting".to_owned()),
            sinks: vec!["desk".to_owned()],
            actor: "agent/a".to_owned(),
            created_at: now,
            updated_at: now,
            proposed_at: Some(now),
            skipped: Some(SkippedNote { n: 6, last_due_at: now, why, at }),
            wakes_at: None,
            reminder,
        }
    }

    #[test]
    fn a_reminder_is_read_back_from_its_line() {
        let plain = Entry {
            memory: None,
            evidence: Vec::new(),
            topic: None,
            sinks: Vec::new(),
            proposed_at: None,
            skipped: None,
            ..whole()
        };
        for entry in [whole(), plain] {
            let item = Item::Reminder(Box::new(entry));
            let line = write_item(&item).unwrap();
            assert!(line.starts_with("{\"reminder\":{"), "{line}");
            assert_eq!(read_item(&line), Ok(item));
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_named_without_what_it_says() {
        let line = write_item(&Item::Reminder(Box::new(whole()))).unwrap();
        for (right, wrong, named) in [
            ("FREQ=DAILY", "FREQ=SECRET", "`rule`"),
            ("\"PT1H30M\"", "\"SECRET\"", "`lead`"),
            ("\"too_late\"", "\"SECRET\"", "`skipped.why`"),
            ("\"active\"", "\"SECRET\"", "`status`"),
            ("\"pattern\"", "\"SECRET\"", "`source`"),
            ("2026-11-25T12:00:00.000001Z", "SECRET", "`"),
        ] {
            assert!(line.contains(right), "{right}: {line}");
            let error = read_item(&line.replace(right, wrong)).unwrap_err();
            assert!(error.contains(named) && !error.contains("SECRET"), "{error}");
        }
    }
}
