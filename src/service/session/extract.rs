//! Extraction: what is worth remembering is taken out of the turns of a session, a memory a fact.
//!
//! A session is looked at when it has ended or fallen silent, or at once where that is asked for. The
//! memories and the note that their turns have been dealt with are one change, so a turn is never
//! dealt with twice and never lost: one for which the model is away or of no use goes on waiting, and
//! only when the session itself is over its time do rules take the last look at it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::super::redaction::Redactor;
use super::super::{Service, ServiceError, Settings};
use super::report::ExtractReport;
use crate::domain::change::{ChangeSet, NewMemory, StoreStatus};
use crate::domain::extraction::{Refusal, SAID_AT_KEY, Witness, batch_max, retry_at};
use crate::domain::identity::Actor;
use crate::domain::job::{JobName, RunId};
use crate::domain::limits::{
    LLM_PASSAGES_MAX, SESSIONS_PAGE, TURN_PASSAGE_BYTES_MAX, TURN_TOKENS_OVERHEAD, TURNS_TOKENS_MAX,
};
use crate::domain::memory::{Metadata, Origin};
use crate::domain::scoring::{self, Candidate, Policy, has_content};
use crate::domain::session::{Fate, Relook, Session, SessionKey, Settle, Settled, Turn, Waiting};
use crate::domain::summary::{Passage, ScoredFact, ScoredTurn, tokens_most};
use crate::domain::text::sentences::sentences;
use crate::ports::{LlmError, Scorer};

/// A look that is asked for.
#[derive(Clone, Debug)]
pub struct Extraction {
    /// The run under which its changes are recorded.
    pub run: RunId,
    /// The time at which sessions are looked at.
    pub now: Timestamp,
    /// Whether it only tells what it would do.
    pub is_dry_run: bool,
    /// Cancelled when it is to end.
    pub stop: CancellationToken,
}

/// A statement, and the turn that it is taken out of.
struct Taken<'a> {
    turn: &'a Turn,
    candidate: Candidate,
}

/// What a look at some turns came to.
#[derive(Default)]
struct Look<'a> {
    taken: Vec<Taken<'a>>,
    /// Turns that go on waiting.
    later: Vec<u64>,
}

/// What a model has to say of some turns.
enum Answer {
    Facts(Vec<(usize, ScoredFact)>),
    /// Nothing of use.
    Useless,
    /// Nothing now.
    Away,
}

/// Who extracts.
const EXTRACT_JOB: Actor = Actor::Job(JobName::Extract.as_str());

impl Service {
    /// Looks at every session that is due. When it is stopped or fails, what it has done by then
    /// stands, and the next one goes on from there.
    ///
    /// # Errors
    /// `Store`. A model that fails is no error: the report tells.
    pub async fn extract(&self, order: &Extraction) -> Result<ExtractReport, ServiceError> {
        let mut report = ExtractReport::default();
        let mut after = None;
        while !report.is_stopped {
            let due = self.sessions.due_sessions(order.now, after, SESSIONS_PAGE).await?;
            let Some(last) = due.last() else { break };
            after = Some(*last);
            self.look_at_sessions(order, due.into_iter().map(|(_, key)| key), &mut report).await?;
        }
        // They may have been given less time since they were last looked at.
        let over = self.sessions_over(order.now).await?;
        self.look_at_sessions(order, over.into_iter(), &mut report).await?;
        Ok(report)
    }

    /// Removes sessions whose time is over, whatever waits in them: for where nothing is taken out of
    /// sessions. Returns how many turns that were.
    ///
    /// # Errors
    /// `Store`.
    pub async fn drop_sessions_over(&self) -> Result<u64, ServiceError> {
        let now = self.clock.now();
        let over = self.sessions_over(now).await?;
        if over.is_empty() {
            return Ok(0);
        }
        Ok(self.sessions.erase_sessions(over, now).await?)
    }

    /// The sessions whose time is over.
    async fn sessions_over(&self, now: Timestamp) -> Result<Vec<SessionKey>, ServiceError> {
        let window = self.settings().sessions.window;
        let mut all = self.sessions.sessions().await?;
        all.retain(|session| window.expires_at(session.last_at) <= now);
        Ok(all.iter().map(|one| SessionKey::of(&one.namespace, &one.name)).collect())
    }

    async fn look_at_sessions(
        &self,
        order: &Extraction,
        keys: impl Iterator<Item = SessionKey>,
        report: &mut ExtractReport,
    ) -> Result<(), ServiceError> {
        for key in keys {
            report.is_stopped |= order.stop.is_cancelled();
            if report.is_stopped {
                return Ok(());
            }
            self.look_at_session(order, key, report).await?;
        }
        Ok(())
    }

    async fn look_at_session(
        &self,
        order: &Extraction,
        key: SessionKey,
        report: &mut ExtractReport,
    ) -> Result<(), ServiceError> {
        let Some(session) = self.sessions.session(key).await? else { return Ok(()) };
        report.n_sessions += 1;
        let settings = self.settings();
        let window = settings.sessions.window;
        let is_over = window.expires_at(session.last_at) <= order.now;
        let is_ripe = session.extract_at.is_some_and(|at| at <= order.now);
        if is_ripe || is_over {
            self.take_out(order, &session, is_over, &settings, report).await?;
        }
        if session.recent().len() >= window.full() && !is_over {
            self.tell_overflow(order, key, report).await?;
        }
        if order.is_dry_run || report.is_stopped {
            return Ok(());
        }
        if is_over && self.sessions.expire(key, session.last_turn).await? {
            report.n_expired += 1;
            return Ok(());
        }
        let Some(now) = self.sessions.session(key).await? else { return Ok(()) };
        let unseen_at = match session.extract_at.filter(|_| !is_ripe) {
            Some(at) => at,
            None => retry_at(1, order.now),
        };
        let at = |turn: &Turn| turn.waiting.and_then(|waiting| waiting.retry_at);
        let extract_at = now.waiting().map(|turn| at(turn).unwrap_or(unseen_at)).min();
        let mut look_at = window.expires_at(now.last_at);
        if now.recent().len() >= window.full() || look_at <= order.now {
            look_at = retry_at(1, order.now);
        }
        let look_at = extract_at.map_or(look_at, |at| at.min(look_at));
        let last_turn = session.last_turn;
        self.sessions.relook(Relook { key, last_turn, extract_at, look_at }).await?;
        Ok(())
    }

    /// Takes out of the waiting turns what is worth remembering. If the session `is_over`, nothing
    /// waits for a model any more.
    async fn take_out(
        &self,
        order: &Extraction,
        session: &Session,
        is_over: bool,
        settings: &Settings,
        report: &mut ExtractReport,
    ) -> Result<(), ServiceError> {
        let is_due = |turn: &&Turn| {
            let retry_at = turn.waiting.and_then(|waiting| waiting.retry_at);
            is_over || retry_at.is_none_or(|at| at <= order.now)
        };
        let model = self.scorer.as_deref().filter(|_| !is_over);
        for batch in batches(session.waiting().filter(is_due), model.is_some()) {
            if order.stop.is_cancelled() {
                report.is_stopped = true;
                return Ok(());
            }
            let policy = settings.sessions.policy(&session.namespace);
            let look = match model {
                None => Some(by_rules(&batch, settings, policy, report).await),
                Some(_) if order.is_dry_run => Some(Look::default()),
                Some(model) => self.by_model(order, model, &batch, settings, &policy, report).await,
            };
            let Some(look) = look else { return Ok(()) };
            report.n_turns += batch.len() as u64;
            let is_empty = |turn: &&&Turn| !has_content(&turn.text);
            report.n_small_talk += batch.iter().filter(is_empty).count() as u64;
            let author = if model.is_some() { "model" } else { "rules" };
            *report.n_facts.entry(author).or_default() += look.taken.len() as u64;
            report.n_later += look.later.len() as u64;
            if !order.is_dry_run {
                let by = model.map_or("rules", |model| model.model());
                self.settle_turns(order, session, &batch, look, by, report).await?;
            }
        }
        Ok(())
    }

    /// `None`: the model is away, or the run is to end; the turns wait as they are.
    async fn by_model<'a>(
        &self,
        order: &Extraction,
        model: &dyn Scorer,
        batch: &[&'a Turn],
        settings: &Settings,
        policy: &Policy,
        report: &mut ExtractReport,
    ) -> Option<Look<'a>> {
        let telling: Vec<&'a Turn> =
            batch.iter().copied().filter(|turn| has_content(&turn.text)).collect();
        let passages = self.turn_passages(&telling, settings);
        let mut look = Look::default();
        let mut facts = Vec::new();
        for part in in_calls(passages) {
            match self.ask(order, model, part, report).await {
                Answer::Facts(found) => facts.extend(found),
                Answer::Away => return None,
                Answer::Useless => {
                    look.later = telling.iter().map(|turn| turn.number).collect();
                    return Some(look);
                }
            }
        }
        let mut made_up: BTreeMap<u64, bool> = BTreeMap::new();
        for (place, fact) in facts {
            let Some(turn) = telling.get(place).copied() else { continue };
            let said = scoring_turn(turn);
            match Witness::of(&said, &settings.zone).accept(&fact, policy) {
                Ok(candidate) => {
                    made_up.insert(turn.number, false);
                    look.taken.push(Taken { turn, candidate });
                }
                Err(refusal) => {
                    note(&refusal, report);
                    if refusal.is_made_up() {
                        made_up.entry(turn.number).or_insert(true);
                    }
                }
            }
        }
        // A turn of which everything was made up may be understood the next time.
        look.later =
            made_up.into_iter().filter(|(_, all)| *all).map(|(number, _)| number).collect();
        Some(look)
    }

    /// Asks a model about some passages, each with the place of its turn.
    async fn ask(
        &self,
        order: &Extraction,
        model: &dyn Scorer,
        part: Vec<(usize, ScoredTurn)>,
        report: &mut ExtractReport,
    ) -> Answer {
        if report.away.is_some() {
            return Answer::Away;
        }
        let turns: Vec<ScoredTurn> = part.iter().map(|(_, turn)| turn.clone()).collect();
        let scored = tokio::select! {
            scored = model.score(turns) => scored,
            () = order.stop.cancelled() => {
                report.is_stopped = true;
                return Answer::Away;
            }
        };
        match scored {
            Ok(facts) => {
                let place = |fact: &ScoredFact| {
                    let named = |(_, turn): &&(usize, ScoredTurn)| turn.passage.label == fact.label;
                    part.iter().find(named).map(|(place, _)| *place)
                };
                let placed = |fact: ScoredFact| Some((place(&fact)?, fact));
                Answer::Facts(facts.into_iter().filter_map(placed).collect())
            }
            Err(LlmError::Away(reason)) => {
                report.away = Some(reason);
                Answer::Away
            }
            Err(LlmError::Unusable(why)) => {
                ExtractReport::count(&mut report.unusable, why.as_str());
                Answer::Useless
            }
        }
    }

    /// The turns in parts that a model reads whole, each under a label that nobody can foresee, with
    /// the place of its turn.
    fn turn_passages(&self, turns: &[&Turn], settings: &Settings) -> Vec<(usize, ScoredTurn)> {
        let mut passages = Vec::new();
        let salt = self.summaries.salt();
        for (place, turn) in turns.iter().enumerate() {
            let day = settings.zone.to_datetime(turn.at).date();
            for text in parts_of(&turn.text) {
                let label = format!("{salt}-{}", passages.len() + 1);
                let passage = Passage { label, text, event_date: Some(day) };
                passages.push((place, ScoredTurn { role: turn.role, passage }));
            }
        }
        passages
    }

    /// Stores what was taken out of turns and notes that they have been dealt with, in one change.
    async fn settle_turns(
        &self,
        order: &Extraction,
        session: &Session,
        batch: &[&Turn],
        look: Look<'_>,
        by: &str,
        report: &mut ExtractReport,
    ) -> Result<(), ServiceError> {
        let at = self.clock.now();
        let mut new: Vec<NewMemory> = Vec::with_capacity(look.taken.len());
        let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for Taken { turn, candidate } in look.taken {
            places.entry(turn.number).or_default().push(new.len());
            let mut memory = self.extracted(session, turn, candidate, by, at);
            // It is the turn that speaks of its own tomorrow. Who said it is not there to be told why
            // nothing is armed.
            let _ = self.foresee_from(&mut memory, &EXTRACT_JOB, turn.at, at);
            new.push(memory);
        }
        let texts = new.iter().map(|memory| memory.content.clone()).collect();
        for (memory, embedded) in new.iter_mut().zip(self.embed_in_time(texts).await) {
            memory.embedded = embedded;
        }
        let fate = |turn: &&Turn| {
            let tries = turn.waiting.unwrap_or_default().tries.saturating_add(1);
            let fate = if look.later.contains(&turn.number) {
                Fate::Later(Waiting { tries, retry_at: Some(retry_at(tries, order.now)) })
            } else {
                Fate::Done(places.remove(&turn.number).unwrap_or_default())
            };
            (turn.number, fate)
        };
        let turns = batch.iter().map(fate).collect();
        let set = ChangeSet {
            run: Some(order.run),
            new,
            changes: Vec::new(),
            marks: Vec::new(),
            actor: EXTRACT_JOB,
            at,
        };
        let settle = Settle { key: session.key(), set, turns };
        let applied = match self.sessions.settle(settle).await? {
            Settled::Done(applied) => applied,
            Settled::Changed => {
                report.n_conflicts += batch.len() as u64;
                return Ok(());
            }
        };
        for one in &applied.stored {
            match one.status {
                StoreStatus::Deduplicated => report.n_known += 1,
                StoreStatus::Stored | StoreStatus::Superseded | StoreStatus::Forgotten => {
                    report.keep(one.id);
                    if self.settings().contradiction.is_automatic {
                        self.compare_later(one.id, true);
                    }
                }
            }
        }
        if applied.stored.iter().any(|one| one.status != StoreStatus::Deduplicated) {
            self.reminders_are_other();
        }
        self.uncompared.wake();
        if applied.stored.iter().any(|one| !one.embedded) {
            self.backlog.notify_one();
        }
        Ok(())
    }

    /// The memory that a statement becomes.
    fn extracted(
        &self,
        session: &Session,
        turn: &Turn,
        candidate: Candidate,
        by: &str,
        at: Timestamp,
    ) -> NewMemory {
        let Candidate { text, kind, importance, event_time, scores } = candidate;
        let fields = [
            ("turn", json!(turn.number)),
            ("speaker", json!(turn.role.as_str())),
            ("scores", json!([scores.density, scores.timeliness, scores.reusability])),
            ("extracted_by", json!(by)),
            (SAID_AT_KEY, json!(turn.at.to_string())),
        ];
        let metadata: Metadata =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect();
        NewMemory {
            id: self.ids.next_id(at),
            namespace: session.namespace.clone(),
            content: Redactor::default().text(&text),
            kind,
            tags: Vec::new(),
            metadata,
            session: Some(session.name.clone()),
            agent: turn.agent.clone(),
            occurred_at: event_time,
            importance,
            pinned: false,
            origin: Origin::Extracted,
            supersedes: None,
            derived_from: Vec::new(),
            contradicts: Vec::new(),
            embedded: None,
            reminders: Vec::new(),
        }
    }
}

fn scoring_turn(turn: &Turn) -> scoring::Turn<'_> {
    scoring::Turn { role: turn.role, text: &turn.text, at: turn.at }
}

fn note(refusal: &Refusal, report: &mut ExtractReport) {
    for name in refusal.names() {
        ExtractReport::count(&mut report.rejections, name);
    }
}

/// Reading takes long enough to hold up what else a thread of the runtime has to do.
async fn by_rules<'a>(
    batch: &[&'a Turn],
    settings: &Settings,
    policy: Policy,
    report: &mut ExtractReport,
) -> Look<'a> {
    let turns: Vec<Turn> = batch.iter().map(|turn| (*turn).clone()).collect();
    let zone = settings.zone.clone();
    let read = tokio::task::spawn_blocking(move || {
        let read = |turn: &Turn| {
            let said = scoring_turn(turn);
            let witness = Witness::of(&said, &zone);
            let candidates = scoring::candidates(&said, &zone, &policy).into_iter();
            candidates.map(|candidate| witness.prove(candidate)).collect::<Vec<_>>()
        };
        turns.iter().map(read).collect::<Vec<_>>()
    });
    let mut look = Look::default();
    let Ok(read) = read.await else {
        // The log tells where it panicked; what was said waits for a better program.
        ExtractReport::count(&mut report.unusable, "broken");
        look.later = batch.iter().map(|turn| turn.number).collect();
        return look;
    };
    for (turn, statements) in batch.iter().copied().zip(read) {
        for statement in statements {
            match statement {
                Ok(candidate) => look.taken.push(Taken { turn, candidate }),
                Err(refusal) => note(&refusal, report),
            }
        }
    }
    look
}

/// The turns in batches that are dealt with together. Those that a model could not deal with before
/// are kept from the others.
fn batches<'a>(turns: impl Iterator<Item = &'a Turn>, is_for_model: bool) -> Vec<Vec<&'a Turn>> {
    let mut by_tries: BTreeMap<u32, Vec<&Turn>> = BTreeMap::new();
    for turn in turns {
        let tries = if is_for_model { turn.waiting.unwrap_or_default().tries } else { 0 };
        by_tries.entry(tries).or_default().push(turn);
    }
    let mut batches = Vec::new();
    for (tries, turns) in by_tries {
        let mut batch: Vec<&Turn> = Vec::new();
        let mut n_tokens = 0;
        for turn in turns {
            let own = tokens_most(&turn.text) + TURN_TOKENS_OVERHEAD;
            let is_full = batch.len() >= batch_max(tries) || n_tokens + own > TURNS_TOKENS_MAX;
            if is_full && !batch.is_empty() {
                batches.push(std::mem::take(&mut batch));
                n_tokens = 0;
            }
            n_tokens += own;
            batch.push(turn);
        }
        batches.push(batch);
    }
    batches
}

/// The passages that are sent in one call each.
fn in_calls(passages: Vec<(usize, ScoredTurn)>) -> Vec<Vec<(usize, ScoredTurn)>> {
    let mut calls: Vec<Vec<(usize, ScoredTurn)>> = Vec::new();
    let mut n_tokens = 0;
    for passage in passages {
        let own = tokens_most(&passage.1.passage.text) + TURN_TOKENS_OVERHEAD;
        match calls.last_mut() {
            Some(call) if call.len() < LLM_PASSAGES_MAX && n_tokens + own <= TURNS_TOKENS_MAX => {
                n_tokens += own;
                call.push(passage);
            }
            Some(_) | None => {
                n_tokens = own;
                calls.push(vec![passage]);
            }
        }
    }
    calls
}

/// A text in parts of whole sentences that a model reads at once; a longer sentence is one part.
fn parts_of(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for range in sentences(text) {
        let sentence = text.get(range).unwrap_or_default();
        match parts.last_mut() {
            Some(part) if part.len() + sentence.len() < TURN_PASSAGE_BYTES_MAX => {
                part.push(' ');
                part.push_str(sentence);
            }
            Some(_) | None => parts.push(sentence.to_owned()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::scoring::Role;

    fn turn(number: u64, text: &str, tries: u32) -> Turn {
        let at = Timestamp::UNIX_EPOCH;
        Turn {
            number,
            role: Role::User,
            text: Arc::from(text),
            at,
            received_at: at,
            agent: None,
            waiting: Some(Waiting { tries, retry_at: None }),
            memories: Vec::new(),
        }
    }

    #[test]
    fn a_turn_that_failed_again_and_again_is_asked_about_alone() {
        let turns: Vec<Turn> =
            [(1, 0), (2, 2), (3, 0), (4, 2), (5, 1)].map(|(n, t)| turn(n, "x", t)).to_vec();
        let numbers = |is_for_model| {
            let batches = batches(turns.iter(), is_for_model);
            let number = |batch: &Vec<&Turn>| batch.iter().map(|turn| turn.number).collect();
            batches.iter().map(number).collect::<Vec<Vec<u64>>>()
        };
        assert_eq!(numbers(true), [vec![1, 3], vec![5], vec![2], vec![4]]);
        assert_eq!(numbers(false), [vec![1, 2, 3, 4, 5]]);
    }

    #[test]
    fn no_call_is_larger_than_its_budget_and_nothing_is_left_out() {
        let long = "The backup of the night failed again for the third time. ".repeat(400);
        let turns = [turn(1, &long, 0), turn(2, "Short.", 0), turn(3, "Short.", 0)];
        let together = batches(turns.iter(), true);
        assert_eq!(together.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2]);
        let passage = |text: String| Passage { label: String::new(), text, event_date: None };
        let passages: Vec<(usize, ScoredTurn)> = parts_of(&long)
            .into_iter()
            .map(|text| (0, ScoredTurn { role: Role::User, passage: passage(text) }))
            .collect();
        let n_passages = passages.len();
        let calls = in_calls(passages);
        assert!(calls.len() > 3 && n_passages > calls.len());
        assert_eq!(calls.iter().map(Vec::len).sum::<usize>(), n_passages);
        for call in &calls {
            let n_tokens: usize = call
                .iter()
                .map(|(_, turn)| tokens_most(&turn.passage.text) + TURN_TOKENS_OVERHEAD)
                .sum();
            assert!(n_tokens <= TURNS_TOKENS_MAX, "{n_tokens}");
        }
        let joined: Vec<String> =
            calls.iter().flatten().map(|(_, turn)| turn.passage.text.clone()).collect();
        assert_eq!(joined.join(" "), long.trim());
    }
}
