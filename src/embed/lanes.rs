//! Where texts wait for a model: three bounded lanes, and the calls that the texts belong to.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::domain::embedding::{ModelIdentity, Vector};
use crate::domain::limits::EMBED_QUEUE_MAX;
use crate::ports::{EmbedError, EmbedderReport};

/// Which line a text waits in. The first is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    Queries,
    Documents,
    /// Documents that nobody waits for.
    Backlog,
}

/// What a thread takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Serves {
    /// Only queries, so that none waits behind a slow call for documents.
    Queries,
    /// Everything.
    All,
}

/// What callers and threads share.
pub(super) struct Shared {
    name: String,
    identity: OnceLock<ModelIdentity>,
    lanes: Mutex<Lanes>,
    wake: Condvar,
    /// Cancelled when the queue is closed, so that a model can leave a call it waits in.
    pub(super) closing: CancellationToken,
}

#[derive(Default)]
struct Lanes {
    queries: VecDeque<Task>,
    documents: VecDeque<Task>,
    backlog: VecDeque<Task>,
    n_loading: usize,
    n_ready: usize,
    /// Why the model did not load, or the last text failed; none again after a success.
    failure: Option<String>,
    /// Whether that failure would meet every text.
    is_down: bool,
    is_closed: bool,
}

/// What a thread does next.
pub(super) enum Turn {
    /// Embed these queries.
    Queries(Vec<Task>),
    /// Begin these documents (perhaps none), of whichever lane, and go on with those begun.
    Documents(Vec<Task>),
    /// End.
    Stop,
}

impl Shared {
    /// Empty lanes for `n_threads` threads, which load the model called `name` now.
    pub(super) fn new(name: String, identity: Option<ModelIdentity>, n_threads: usize) -> Self {
        let lanes = Lanes { n_loading: n_threads, ..Lanes::default() };
        Self {
            name,
            identity: identity.map_or_else(OnceLock::new, OnceLock::from),
            lanes: Mutex::new(lanes),
            wake: Condvar::new(),
            closing: CancellationToken::new(),
        }
    }

    /// What the vectors can be compared with, once it is known; it never changes afterwards.
    pub(super) fn identity(&self) -> Option<&ModelIdentity> {
        self.identity.get()
    }

    /// Says what was loaded.
    ///
    /// # Errors
    /// If it is not what was known before.
    pub(super) fn identify(&self, found: &ModelIdentity) -> Result<&ModelIdentity, String> {
        let known = self.identity.get_or_init(|| found.clone());
        if known == found {
            return Ok(known);
        }
        let change = "it is not the model it was when the daemon started: restart the daemon";
        Err(change.to_owned())
    }

    /// Puts texts into a lane and waits for their vectors.
    pub(super) async fn ask(&self, lane: Lane, texts: Vec<Arc<str>>) -> Reply {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let (sender, receiver) = oneshot::channel();
        self.push(lane, texts, sender)?;
        receiver.await.unwrap_or_else(|_| Err(EmbedError::Unavailable("it ended".to_owned())))
    }

    fn push(
        &self,
        lane: Lane,
        texts: Vec<Arc<str>>,
        sender: oneshot::Sender<Reply>,
    ) -> Result<(), EmbedError> {
        if texts.len() > EMBED_QUEUE_MAX {
            let refusal = format!("a call may bring at most {EMBED_QUEUE_MAX} texts");
            return Err(EmbedError::Failed(refusal));
        }
        let mut lanes = lock(&self.lanes);
        if lanes.is_closed {
            return Err(EmbedError::Unavailable("it is stopped".to_owned()));
        }
        if lanes.n_loading + lanes.n_ready == 0 {
            return Err(EmbedError::Unavailable(lanes.failure.clone().unwrap_or_default()));
        }
        let waiting = match lane {
            Lane::Queries => &mut lanes.queries,
            Lane::Documents => &mut lanes.documents,
            Lane::Backlog => &mut lanes.backlog,
        };
        if waiting.len() + texts.len() > EMBED_QUEUE_MAX {
            // Those whose caller went away take no room from those who still wait.
            waiting.retain(|task| !task.call.is_over());
            if waiting.len() + texts.len() > EMBED_QUEUE_MAX {
                return Err(EmbedError::Busy);
            }
        }
        let call = Arc::new(Call::new(texts.len(), sender));
        waiting.extend(texts.into_iter().enumerate().map(|(slot, text)| Task {
            text,
            lane,
            slot,
            call: Arc::clone(&call),
        }));
        drop(lanes);
        self.wake.notify_all();
        Ok(())
    }

    /// Waits for work. Queries come first; new documents are begun while fewer than `batch_max`
    /// chunks of documents are at hand, those of the backlog only while that lane is all there is.
    pub(super) fn next(&self, serves: Serves, begun: ChunksBegun, batch_max: usize) -> Turn {
        let mut lanes = lock(&self.lanes);
        loop {
            if lanes.is_closed {
                return Turn::Stop;
            }
            let queries = take(&mut lanes.queries, batch_max);
            if !queries.is_empty() {
                return Turn::Queries(queries);
            }
            if serves == Serves::Queries {
                lanes = self.wake.wait(lanes).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let room = batch_max.saturating_sub(begun.documents);
            let documents = take(&mut lanes.documents, room);
            if begun.documents > 0 || !documents.is_empty() {
                return Turn::Documents(documents);
            }
            let backlog = take(&mut lanes.backlog, batch_max.saturating_sub(begun.backlog));
            if begun.backlog > 0 || !backlog.is_empty() {
                return Turn::Documents(backlog);
            }
            lanes = self.wake.wait(lanes).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A thread has loaded its model, or could not, at its `attempt` (0: the first). When the last
    /// one could not, nobody waits on.
    pub(super) fn loaded(&self, attempt: u32, outcome: Result<(), String>) {
        let mut lanes = lock(&self.lanes);
        if attempt == 0 {
            lanes.n_loading = lanes.n_loading.saturating_sub(1);
        }
        match outcome {
            Ok(()) => {
                lanes.n_ready += 1;
                lanes.failure = None;
            }
            Err(reason) => {
                lanes.failure = Some(reason.clone());
                if lanes.n_loading + lanes.n_ready == 0 {
                    let abandoned = lanes.take_all();
                    drop(lanes);
                    fail_all(&abandoned, &EmbedError::Unavailable(reason));
                }
            }
        }
    }

    /// Waits before the next attempt to load; `false` if the queue was closed meanwhile.
    pub(super) fn pause(&self, pause: Duration) -> bool {
        let waited =
            self.wake.wait_timeout_while(lock(&self.lanes), pause, |lanes| !lanes.is_closed);
        waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// How the latest text went, for `status`.
    pub(super) fn note(&self, failure: Option<&EmbedError>) {
        let mut lanes = lock(&self.lanes);
        lanes.failure = failure.map(|error| match error {
            EmbedError::Unavailable(reason) | EmbedError::Failed(reason) => reason.clone(),
            EmbedError::Loading | EmbedError::Busy => error.to_string(),
        });
        lanes.is_down = matches!(failure, Some(EmbedError::Unavailable(_)));
    }

    /// State, for `status`.
    pub(super) fn report(&self) -> EmbedderReport {
        let lanes = lock(&self.lanes);
        let name = &self.name;
        let detail = match (&lanes.failure, lanes.n_ready, lanes.n_loading) {
            _ if lanes.is_closed => format!("{name} is stopped"),
            (Some(failure), ..) if lanes.is_down => format!("{name} is down: {failure}"),
            (Some(failure), 0, 0) => format!("{name} is down: {failure}"),
            (_, 0, _) => format!("{name} is loading"),
            (Some(failure), ..) => format!("{name} answers; the last failure: {failure}"),
            (None, ..) => format!("{name} answers"),
        };
        EmbedderReport {
            ready: lanes.n_ready > 0 && !lanes.is_closed && !lanes.is_down,
            detail,
            n_waiting: lanes.queries.len() + lanes.documents.len() + lanes.backlog.len(),
        }
    }

    /// Refuses new calls, fails those that wait and stops the threads.
    pub(super) fn close(&self) {
        let mut lanes = lock(&self.lanes);
        lanes.is_closed = true;
        self.closing.cancel();
        let abandoned = lanes.take_all();
        drop(lanes);
        self.wake.notify_all();
        fail_all(&abandoned, &EmbedError::Unavailable("it is stopped".to_owned()));
    }
}

impl Lanes {
    fn take_all(&mut self) -> Vec<Task> {
        [&mut self.queries, &mut self.documents, &mut self.backlog]
            .into_iter()
            .flat_map(|lane| lane.drain(..))
            .collect()
    }
}

/// Chunks that a thread still has to embed, of documents it has begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChunksBegun {
    pub(super) documents: usize,
    pub(super) backlog: usize,
}

/// The first `n` tasks whose callers still wait; those before them whose callers left are dropped.
fn take(waiting: &mut VecDeque<Task>, n: usize) -> Vec<Task> {
    let mut taken = Vec::new();
    while taken.len() < n {
        let Some(task) = waiting.pop_front() else { break };
        if !task.call.is_over() {
            taken.push(task);
        }
    }
    taken
}

fn fail_all(tasks: &[Task], error: &EmbedError) {
    for task in tasks {
        task.call.fail(error.clone());
    }
}

/// The vectors of each text of a call, in order.
type Reply = Result<Vec<Vec<Vector>>, EmbedError>;

/// One text of a call.
pub(super) struct Task {
    pub(super) text: Arc<str>,
    pub(super) lane: Lane,
    slot: usize,
    call: Arc<Call>,
}

impl Task {
    /// Delivers the vectors of this text.
    pub(super) fn finish(&self, vectors: Vec<Vector>) {
        self.call.finish(self.slot, vectors);
    }

    /// Fails the whole call of this text.
    pub(super) fn fail(&self, error: EmbedError) {
        self.call.fail(error);
    }

    /// Whether nobody waits for this text any more.
    pub(super) fn is_over(&self) -> bool {
        self.call.is_over()
    }
}

/// A caller that waits, and what is there for it so far.
struct Call {
    state: Mutex<CallState>,
}

struct CallState {
    vectors: Vec<Vec<Vector>>,
    n_missing: usize,
    sender: Option<oneshot::Sender<Reply>>,
}

impl Call {
    fn new(n_texts: usize, sender: oneshot::Sender<Reply>) -> Self {
        let state = CallState {
            vectors: vec![Vec::new(); n_texts],
            n_missing: n_texts,
            sender: Some(sender),
        };
        Self { state: Mutex::new(state) }
    }

    fn finish(&self, slot: usize, vectors: Vec<Vector>) {
        let mut state = lock(&self.state);
        if let Some(place) = state.vectors.get_mut(slot) {
            *place = vectors;
        }
        state.n_missing = state.n_missing.saturating_sub(1);
        if state.n_missing == 0 {
            let answer = std::mem::take(&mut state.vectors);
            state.answer(Ok(answer));
        }
    }

    fn fail(&self, error: EmbedError) {
        lock(&self.state).answer(Err(error));
    }

    fn is_over(&self) -> bool {
        lock(&self.state).sender.as_ref().is_none_or(oneshot::Sender::is_closed)
    }
}

impl CallState {
    /// Answers, unless that was done before. A caller who went away misses nothing.
    fn answer(&mut self, reply: Reply) {
        if let Some(sender) = self.sender.take() {
            drop(sender.send(reply));
        }
    }
}

/// The guarded value; no code of ours panics while it holds a guard.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
