//! The rolling summary of a session: what has fallen out of its window, told in a few sentences.
//!
//! It is made of the summary before and of the turns that fell out since, and proven against both, so
//! it says only what was said. A model that is away or makes things up holds nothing up: then the
//! turns are quoted.

use jiff::civil::Date;

use super::super::redaction::Redactor;
use super::super::{Service, ServiceError, Settings};
use super::extract::Extraction;
use super::report::ExtractReport;
use crate::domain::extractive::{self, Item};
use crate::domain::limits::{LLM_PASSAGES_MAX, SESSION_SUMMARY_LENGTHS, TURN_PASSAGE_BYTES_MAX};
use crate::domain::scoring::has_content;
use crate::domain::session::{Part, Retell, Session, SessionKey, SessionSummary, Turn};
use crate::domain::summary::{Aim, Passage};
use crate::domain::text::sentences::sentences;

/// Turns that are told at a time, beside the summary before them.
const TOLD_MAX: usize = LLM_PASSAGES_MAX / 2;

impl Service {
    /// Tells what has fallen out of the window of a session, some turns at a time.
    pub(super) async fn tell_overflow(
        &self,
        order: &Extraction,
        key: SessionKey,
        report: &mut ExtractReport,
    ) -> Result<(), ServiceError> {
        if order.is_dry_run {
            return Ok(());
        }
        let settings = self.settings();
        loop {
            if order.stop.is_cancelled() {
                report.is_stopped = true;
                return Ok(());
            }
            let Some(session) = self.sessions.session(key).await? else { return Ok(()) };
            let overflow = session.overflow(settings.sessions.window.turns);
            let turns = overflow.get(..overflow.len().min(TOLD_MAX)).unwrap_or_default();
            let Some(last) = turns.last() else { return Ok(()) };
            let sources = sources(&session, turns);
            let Some((author, parts)) = self.told(order, &sources, &settings).await else {
                report.is_stopped = true;
                return Ok(());
            };
            let retell = Retell {
                key,
                before: session.summary.clone(),
                of: turns.iter().map(|turn| turn.number).collect(),
                summary: SessionSummary { through: last.number, parts },
            };
            if !self.sessions.retell(retell).await? {
                report.n_conflicts += 1;
                return Ok(());
            }
            ExtractReport::count(&mut report.n_told, author);
        }
    }

    /// The new parts and who wrote them; `None`: the run is to end.
    async fn told(
        &self,
        order: &Extraction,
        sources: &[Part],
        settings: &Settings,
    ) -> Option<(&'static str, Vec<Part>)> {
        let last = sources.last()?;
        let chars = settings.summary_chars.start() * SESSION_SUMMARY_LENGTHS
            ..=settings.summary_chars.end() * SESSION_SUMMARY_LENGTHS;
        let salt = self.summaries.salt();
        let passage = |(source, n): (&Part, usize)| Passage {
            label: format!("{salt}-{n}"),
            text: spoken(source),
            event_date: Some(day(source, settings)),
        };
        let passages = sources.iter().zip(1..).map(passage).collect();
        let before = sources.iter().filter(|part| part.role.is_none());
        let n_kept = before.map(|part| part.text.chars().count()).sum();
        let drafted = tokio::select! {
            drafted = self.summaries.draft(Aim::Summary, passages, chars.clone(), n_kept) => drafted,
            () = order.stop.cancelled() => return None,
        };
        let Ok(draft) = drafted else {
            return Some(("quotes", quoted(sources, *chars.end(), settings)));
        };
        let mut memories: Vec<_> = sources.iter().flat_map(|part| part.memories.clone()).collect();
        memories.sort_unstable();
        memories.dedup();
        let text = Redactor::default().text(&draft.text).to_string();
        Some(("model", vec![Part { turn: last.turn, role: None, at: last.at, text, memories }]))
    }
}

/// What the next summary is made of: the parts of the one before, and the turns.
fn sources(session: &Session, turns: &[Turn]) -> Vec<Part> {
    let before = session.summary.iter().flat_map(|summary| summary.parts.clone());
    let said = turns.iter().map(|turn| Part {
        turn: turn.number,
        role: Some(turn.role),
        at: turn.at,
        text: beginning(&turn.text),
        memories: turn.memories.clone(),
    });
    before.chain(said).collect()
}

/// The first sentences of a long turn: a summary has no room for all of it.
fn beginning(text: &str) -> String {
    let mut end = 0;
    for range in sentences(text) {
        if end > 0 && range.end > TURN_PASSAGE_BYTES_MAX {
            break;
        }
        end = range.end;
    }
    text.get(..end).unwrap_or(text).to_owned()
}

/// A part as a model reads it.
fn spoken(part: &Part) -> String {
    part.role.map_or_else(|| part.text.clone(), |role| format!("{role}: {}", part.text))
}

fn day(part: &Part, settings: &Settings) -> Date {
    settings.zone.to_datetime(part.at).date()
}

/// The sentences of the sources that say most, as they stand; small talk says nothing.
fn quoted(sources: &[Part], chars_max: usize, settings: &Settings) -> Vec<Part> {
    let says = |part: &&Part| part.role.is_none() || has_content(&part.text);
    let sources: Vec<&Part> = sources.iter().filter(says).collect();
    let names: Vec<String> = (0..sources.len()).map(|place| place.to_string()).collect();
    let items: Vec<Item<'_>> = sources
        .iter()
        .zip(&names)
        .map(|(part, id)| Item {
            id,
            text: &part.text,
            event_time: settings.zone.to_datetime(part.at),
        })
        .collect();
    let usual = extractive::Policy::default();
    let sentences_max = usual.sentences_max * SESSION_SUMMARY_LENGTHS;
    let policy = extractive::Policy { sentences_max, chars_max, ..usual };
    let Some(extract) = extractive::extract(&items, &[], &policy) else {
        return sources.into_iter().filter(|part| part.role.is_none()).cloned().collect();
    };
    let part = |quote: extractive::Quote| {
        let place: usize = quote.id.parse().ok()?;
        Some(Part { text: quote.text, ..(*sources.get(place)?).clone() })
    };
    extract.quotes.into_iter().filter_map(part).collect()
}
