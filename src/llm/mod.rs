//! A language model behind an OpenAI-compatible `/v1/chat/completions` endpoint: Ollama, llama.cpp,
//! vLLM, LM Studio, `OpenAI`, `DeepSeek`, behind [`Summarizer`] and [`Scorer`].
//!
//! Servers differ in what they take and models in how they answer, so this asks for the strictest form
//! first, goes down where it must, and remembers what worked. It gives back what has the right form;
//! whether it is true is for the caller to prove. One request is under way at a time: many servers here
//! take no more, and nobody waits for these answers.

mod answer;
mod ladder;
mod parse;
mod prompt;
mod reply;
mod spending;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use reqwest::Url;
use serde_json::{Map, Value, json};

use self::ladder::{Form, Learned, REFUSABLE, Way};
use self::prompt::{Messages, Question};
use self::reply::Reply;
use self::spending::{Caps, Spent};
use crate::domain::address::Network;
use crate::domain::limits::{
    LLM_ATTEMPTS_MAX, LLM_PAUSE, LLM_REPLY_BYTES_MAX, LLM_THINKING_TOKENS,
};
use crate::domain::summary::{Draft, ScoredFact, ScoredTurn, SummaryRequest, Unusable};
use crate::http::{Breaker, Client, Fault, FaultKind, Place};
use crate::ports::{Clock, LanguageModel, LlmError, LlmReport, Marks, Scorer, Summarizer};

/// Where a model is and what it may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmSettings {
    /// Base, like `http://127.0.0.1:11434/v1`.
    pub url: Url,
    /// What the endpoint calls the model.
    pub model: String,
    /// File with the API key, if it wants one.
    pub key_file: Option<PathBuf>,
    /// Time for one request, its repetitions included.
    pub timeout: Duration,
    /// Tokens of a question and its answer together.
    pub context_tokens: usize,
    /// Requests a day of UTC.
    pub calls_per_day: u64,
    /// Tokens a day of UTC, read and written.
    pub tokens_per_day: u64,
    /// Addresses that are neither this machine nor public and may be used all the same.
    pub allow_private: Vec<Network>,
    /// The section of the configuration that says so, for messages: `llm.summary`.
    pub section: &'static str,
}

/// How freely a model chooses its words, 0.0..=2.0: hardly, since it is to copy facts. Chosen.
const TEMPERATURE: f64 = 0.2;
/// Share of the usual estimate of a prompt below which the endpoint has not read all of it: no common
/// vocabulary needs so few tokens. Chosen.
const READ_SHARE_MIN: f64 = 0.6;

/// A language model behind an endpoint.
pub struct Llm {
    settings: LlmSettings,
    /// Or why there is no way to the endpoint.
    client: Result<Client, String>,
    marks: Arc<dyn Marks>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Whose turn it is, and whether what was kept in the marks has been read.
    turn: tokio::sync::Mutex<bool>,
}

struct State {
    breaker: Breaker,
    learned: Option<Learned>,
    spent: Spent,
    /// Why the last request failed.
    trouble: Option<String>,
}

impl State {
    /// Learns of the endpoint by how a question went at `now`.
    fn note(&mut self, failure: Option<&Failure>, now: Duration) {
        match failure {
            None => {
                self.breaker.succeeded();
                self.trouble = None;
            }
            Some(Failure { of_endpoint: Some(EndpointFault { reason, retry_after }), .. }) => {
                self.breaker.failed(now, reason, *retry_after);
                self.trouble = Some(reason.clone());
            }
            Some(Failure { of_endpoint: None, .. }) => {}
        }
    }
}

/// Why a question has no answer.
struct Failure {
    error: LlmError,
    /// What it says of the endpoint; `None`: nothing.
    of_endpoint: Option<EndpointFault>,
}

struct EndpointFault {
    reason: String,
    retry_after: Option<Duration>,
}

impl Failure {
    /// The endpoint was not asked.
    const fn unasked(error: LlmError) -> Self {
        Self { error, of_endpoint: None }
    }

    fn away(reason: String, retry_after: Option<Duration>) -> Self {
        let of_endpoint = Some(EndpointFault { reason: reason.clone(), retry_after });
        Self { error: LlmError::Away(reason), of_endpoint }
    }

    fn useless(why: Unusable) -> Self {
        let says_nothing = matches!(why, Unusable::Declined | Unusable::TooLong);
        let fault = EndpointFault { reason: why.to_string(), retry_after: None };
        Self { error: LlmError::Unusable(why), of_endpoint: (!says_nothing).then_some(fault) }
    }
}

/// What one request came to.
enum Step<T> {
    Answer(T),
    /// Useless, and the way to ask instead, if there is one.
    Useless(Unusable, Option<Way>),
}

impl Llm {
    /// The way to a model; asks nothing.
    pub fn new(settings: LlmSettings, marks: Arc<dyn Marks>, clock: Arc<dyn Clock>) -> Self {
        let place = Place {
            target: Place::below(&settings.url, "chat/completions"),
            key_file: settings.key_file.clone(),
            timeout: settings.timeout,
            allow_private: settings.allow_private.clone(),
            reply_bytes_max: LLM_REPLY_BYTES_MAX,
            section: settings.section,
            refusable: REFUSABLE,
        };
        let client = Client::open(place, Arc::clone(&clock));
        let state = State {
            breaker: Breaker::new(LLM_PAUSE),
            learned: None,
            spent: Spent::default(),
            trouble: client.as_ref().err().cloned(),
        };
        let (state, turn) = (Mutex::new(state), tokio::sync::Mutex::new(false));
        Self { settings, client, marks, clock, state, turn }
    }

    /// Asks, in one way after another, until an answer reads as it should.
    async fn ask<T>(
        &self,
        question: &Question<'_>,
        read: impl Fn(&Map<String, Value>) -> Result<T, Unusable>,
    ) -> Result<T, LlmError> {
        let turn = self.take_turn().await;
        let client = self.client.as_ref().map_err(|reason| LlmError::Away(reason.clone()))?;
        self.state().breaker.admit(self.clock.monotonic()).map_err(LlmError::Away)?;
        let outcome = self.try_ways(client, question, read).await;
        drop(turn);
        self.state().note(outcome.as_ref().err(), self.clock.monotonic());
        outcome.map_err(|failure| failure.error)
    }

    async fn try_ways<T>(
        &self,
        client: &Client,
        question: &Question<'_>,
        read: impl Fn(&Map<String, Value>) -> Result<T, Unusable>,
    ) -> Result<T, Failure> {
        let mut way = Learned::begin(self.state().learned.as_ref(), self.clock.now());
        let mut last = Unusable::Refused;
        for _ in 0..LLM_ATTEMPTS_MAX {
            let Some(messages) = question.messages(self.room(way, question)) else {
                return Err(Failure::useless(Unusable::TooLong));
            };
            self.check_budget(messages.tokens_most + limit(way, question))?;
            match self.once(client, question, &messages, way, &read).await? {
                Step::Answer(answer) => {
                    self.learn(way).await;
                    return Ok(answer);
                }
                Step::Useless(why, Some(other)) => (last, way) = (why, other),
                Step::Useless(why, None) => return Err(Failure::useless(why)),
            }
        }
        Err(Failure::useless(last))
    }

    async fn once<T>(
        &self,
        client: &Client,
        question: &Question<'_>,
        messages: &Messages,
        way: Way,
        read: impl Fn(&Map<String, Value>) -> Result<T, Unusable>,
    ) -> Result<Step<T>, Failure> {
        let n_asked = messages.tokens_most + limit(way, question);
        let body = match client.post(&self.request(question, messages, way)).await {
            Ok(body) => body,
            Err(Fault { kind: FaultKind::Refused, words, .. }) => {
                self.spend(0).await;
                return Ok(Step::Useless(Unusable::Refused, way.after_refusal(&words, n_asked)));
            }
            Err(Fault { reason, retry_after, .. }) => {
                self.spend(0).await;
                return Err(Failure::away(reason, retry_after));
            }
        };
        let host = client.place().host();
        let reply = match reply::read(&body) {
            Ok(reply) => reply,
            Err(reason) => {
                self.spend(0).await;
                return Err(Failure::away(format!("{host}: {reason}"), None));
            }
        };
        // A server that counts nothing is held to have done what it was asked.
        self.spend(reply.total_tokens.unwrap_or(n_asked as u64)).await;
        if let Some(n_read) = cut_to(&reply, messages) {
            let window = n_read + limit(way, question);
            let is_news = way.window.is_none_or(|known| window < known);
            let other = is_news.then_some(Way { window: Some(window), ..way });
            return Ok(Step::Useless(Unusable::PromptCut, other));
        }
        Ok(match useful(&reply, question.key).and_then(|fields| read(&fields)) {
            Ok(answer) => Step::Answer(answer),
            Err(why) => Step::Useless(why, way.after_useless(why, reply.thinks)),
        })
    }

    fn request(&self, question: &Question<'_>, messages: &Messages, way: Way) -> Value {
        let mut body = json!({
            "model": self.settings.model,
            "messages": messages.list,
            "stream": false,
        });
        let Some(fields) = body.as_object_mut() else { return body };
        let name = if way.is_limit_renamed { "max_completion_tokens" } else { "max_tokens" };
        fields.insert(name.to_owned(), limit(way, question).into());
        if !way.is_temperature_left_out {
            fields.insert("temperature".to_owned(), TEMPERATURE.into());
        }
        let (name, schema) = &question.schema;
        let format = match way.form {
            Form::JsonSchema => Some(json!({
                "type": "json_schema",
                "json_schema": { "name": name, "strict": true, "schema": schema },
            })),
            // The schema is what llama.cpp takes here; others leave it aside.
            Form::JsonObject => Some(json!({ "type": "json_object", "schema": schema })),
            Form::Text => None,
        };
        if let Some(format) = format {
            fields.insert("response_format".to_owned(), format);
        }
        body
    }

    /// Tokens that a question may have.
    fn room(&self, way: Way, question: &Question<'_>) -> usize {
        let window = way.window.unwrap_or(usize::MAX).min(self.settings.context_tokens);
        window.saturating_sub(limit(way, question))
    }

    fn check_budget(&self, n_tokens: usize) -> Result<(), Failure> {
        let (now, section) = (self.clock.now(), self.settings.section);
        let refusal = self.state().spent.refusal(self.caps(), n_tokens, now, section);
        refusal.map_or(Ok(()), |reason| Err(Failure::unasked(LlmError::Away(reason))))
    }

    const fn caps(&self) -> Caps {
        Caps { calls: self.settings.calls_per_day, tokens: self.settings.tokens_per_day }
    }

    async fn spend(&self, n_tokens: u64) {
        let bytes = {
            let mut state = self.state();
            state.spent.spend(n_tokens, self.clock.now());
            state.spent.to_bytes()
        };
        self.keep(&self.spent_mark(), bytes).await;
    }

    async fn learn(&self, way: Way) {
        let learned = {
            let mut state = self.state();
            let Some(learned) = Learned::after(state.learned.as_ref(), way, self.clock.now())
            else {
                return;
            };
            state.learned = Some(learned);
            learned
        };
        self.keep(&self.learned_mark(), learned.to_bytes()).await;
    }

    /// Waits for its turn; whoever is first reads what was kept of the endpoint and of this day.
    async fn take_turn(&self) -> tokio::sync::MutexGuard<'_, bool> {
        let mut has_recalled = self.turn.lock().await;
        if *has_recalled {
            return has_recalled;
        }
        let (learned, spent) =
            (self.kept(&self.learned_mark()).await, self.kept(&self.spent_mark()).await);
        let mut state = self.state();
        state.learned = learned.and_then(|bytes| Learned::from_bytes(&bytes));
        state.spent = spent.and_then(|bytes| Spent::from_bytes(&bytes)).unwrap_or_default();
        drop(state);
        *has_recalled = true;
        has_recalled
    }

    async fn kept(&self, name: &str) -> Option<Vec<u8>> {
        self.marks.mark(name).await.unwrap_or_else(|error| {
            tracing::debug!(%error, name, "mark not read");
            None
        })
    }

    async fn keep(&self, name: &str, value: Vec<u8>) {
        // It is learned or counted anew after a restart.
        if let Err(error) = self.marks.keep_mark(name, value).await {
            tracing::debug!(%error, name, "mark not kept");
        }
    }

    fn learned_mark(&self) -> String {
        let LlmSettings { url, model, .. } = &self.settings;
        let hash = blake3::hash(format!("{url}\n{model}").as_bytes()).to_hex();
        format!("llm/{}", hash.get(..16).unwrap_or_default())
    }

    fn spent_mark(&self) -> String {
        format!("llm/spent/{}", self.settings.section)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LanguageModel for Llm {
    fn model(&self) -> &str {
        &self.settings.model
    }

    fn recall(&self) -> BoxFuture<'_, ()> {
        async move { drop(self.take_turn().await) }.boxed()
    }

    fn report(&self) -> LlmReport {
        let LlmSettings { model, context_tokens, section, .. } = &self.settings;
        let (now, caps) = (self.clock.now(), self.caps());
        let (way, spent, trouble) = {
            let state = self.state();
            let way = Learned::begin(state.learned.as_ref(), now);
            (way, state.spent, state.trouble.clone())
        };
        let window = way.window.filter(|window| window < context_tokens).map(|window| {
            format!(
                "the endpoint reads about {window} tokens, not the {context_tokens} of \
                 {section}.context_tokens: raise its window (Ollama: num_ctx) or lower the key"
            )
        });
        let (calls, tokens) = spent.on(now);
        let place = self.client.as_ref().map(|client| client.place().host());
        LlmReport {
            model: model.clone(),
            place: place.unwrap_or_default(),
            form: way.form.as_str(),
            trouble: spent.refusal(caps, 0, now, section).or(trouble).or(window),
            calls: (calls, caps.calls),
            tokens: (tokens, caps.tokens),
        }
    }
}

impl Summarizer for Llm {
    fn prompt_version(&self) -> u32 {
        prompt::PROMPT_VERSION
    }

    fn summarise(&self, request: SummaryRequest) -> BoxFuture<'_, Result<Draft, LlmError>> {
        async move { self.ask(&Question::summary(&request), answer::draft).await }.boxed()
    }
}

impl Scorer for Llm {
    fn score(&self, turns: Vec<ScoredTurn>) -> BoxFuture<'_, Result<Vec<ScoredFact>, LlmError>> {
        async move {
            self.ask(&Question::scoring(&turns), |fields| answer::facts(fields, &turns)).await
        }
        .boxed()
    }
}

/// Tokens that an answer may have, thoughts included.
const fn limit(way: Way, question: &Question<'_>) -> usize {
    question.answer_tokens + if way.thinks { LLM_THINKING_TOKENS } else { 0 }
}

/// How many tokens the endpoint read, if those are too few for what it was sent.
fn cut_to(reply: &Reply, messages: &Messages) -> Option<usize> {
    let n_read = usize::try_from(reply.prompt_tokens?).ok()?;
    ((n_read as f64) < READ_SHARE_MIN * messages.tokens_estimate as f64).then_some(n_read)
}

/// The object in an answer.
fn useful(reply: &Reply, key: &str) -> Result<Map<String, Value>, Unusable> {
    let spoken = parse::spoken(&reply.content);
    if reply.is_declined {
        Err(Unusable::Declined)
    } else if reply.is_cut {
        Err(Unusable::Cut)
    } else if spoken.is_empty() {
        Err(Unusable::Empty)
    } else {
        parse::object(spoken, key).ok_or(Unusable::NotJson)
    }
}
