//! Summaries that are true whatever a model hands in.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::tz::TimeZone;

use super::fixture::Fixture;
use crate::clock::SeededIds;
use crate::domain::grounding::{self, Source, Summary};
use crate::domain::limits::LLM_PASSAGES_MAX;
use crate::domain::memory::Memory;
use crate::domain::summary::{Aim, Draft, SummaryRequest, Unusable};
use crate::ports::{LanguageModel, LlmError, LlmReport, Summarizer};
use crate::service::summary::{Author, Because, SummaryOrder, SummaryWriter, WrittenSummary};

/// What a model makes of a request.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// The newest text, which it cites.
    Copies,
    /// A person and a date of its own.
    Invents,
    /// Nothing of use.
    Is(Unusable),
}

use Answer::{Copies, Invents, Is};

impl Answer {
    fn draft(self, request: &SummaryRequest) -> Result<Draft, LlmError> {
        let newest = request.passages.last().unwrap();
        let text = match self {
            Copies => newest.text.clone(),
            Invents => "Caroline ran the nightly report on 1999-01-02.".to_owned(),
            Is(why) => return Err(LlmError::Unusable(why)),
        };
        Ok(Draft { text, citations: vec![newest.label.clone()] })
    }
}

/// A model that answers as it is told, and then that it is away.
#[derive(Default)]
struct Scripted {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<SummaryRequest>>,
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

impl Summarizer for Scripted {
    fn prompt_version(&self) -> u32 {
        7
    }

    fn summarise(&self, request: SummaryRequest) -> BoxFuture<'_, Result<Draft, LlmError>> {
        let answer = self.answers.lock().unwrap().pop_front();
        let outcome = match answer {
            Some(answer) => answer.draft(&request),
            None => Err(LlmError::Away("it went home".to_owned())),
        };
        self.asked.lock().unwrap().push(request);
        std::future::ready(outcome).boxed()
    }
}

/// A writer whose model gives these answers, and the model.
fn writer(fixture: &Fixture, answers: &[Answer]) -> (SummaryWriter, Arc<Scripted>) {
    let model = Arc::new(Scripted::default());
    model.answers.lock().unwrap().extend(answers);
    let summarizer: Arc<dyn Summarizer> = model.clone();
    let ids = Arc::new(SeededIds::new(3));
    (SummaryWriter::new(Some(summarizer), ids, fixture.clock.clone()), model)
}

/// Memories with these texts, an hour apart.
async fn stored(fixture: &Fixture, texts: &[String]) -> Vec<Memory> {
    let mut memories = Vec::new();
    for text in texts {
        let id = fixture.store(text).await;
        memories.push(fixture.memory(id).await);
        fixture.clock.advance(Duration::from_hours(1));
    }
    memories
}

async fn write(writer: &SummaryWriter, memories: &[Memory]) -> Option<WrittenSummary> {
    let (zone, chars) = (&TimeZone::UTC, 200..=300);
    let written = writer.write(SummaryOrder { aim: Aim::Summary, memories, chars, zone }).await?;
    assert_grounded(&written, memories);
    Some(written)
}

#[track_caller]
fn assert_grounded(written: &WrittenSummary, memories: &[Memory]) {
    let handles: Vec<String> = memories.iter().map(|memory| memory.id.handle()).collect();
    let sources: Vec<Source<'_>> = memories
        .iter()
        .zip(&handles)
        .map(|(memory, id)| Source {
            id,
            text: &memory.content,
            event_date: Some(TimeZone::UTC.to_datetime(memory.event_time()).date()),
        })
        .collect();
    let cited: Vec<String> = written.sources.iter().map(|id| id.handle()).collect();
    let citations: Vec<&str> = cited.iter().map(String::as_str).collect();
    let summary = Summary { text: &written.text, citations: &citations };
    let violations = grounding::check(&summary, &sources, &grounding::Policy::for_extracts());
    assert!(violations.is_empty(), "{violations:#?}\n{}", written.text);
}

fn notes(n: usize) -> Vec<String> {
    (1..=n).map(|n| format!("Run {n} of the nightly report took {} minutes.", 20 + n)).collect()
}

#[tokio::test(start_paused = true)]
async fn without_a_model_the_memories_are_quoted() {
    let fixture = Fixture::new().await;
    let memories = stored(&fixture, &notes(4)).await;
    let written = fixture.service.write_summary(Aim::Summary, &memories).await.unwrap();
    assert_grounded(&written, &memories);
    assert_eq!(written.author, Author::Extract(Because::NoModel));
    assert_eq!(written.sources.len(), 4);
    assert!(!written.is_to_redo());
    assert_eq!(fixture.service.summary_key(), "extractive");
    assert!(fixture.service.write_summary(Aim::Summary, &[]).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_model_reads_the_latest_and_quotations_draw_from_all() {
    let fixture = Fixture::new().await;
    let mut memories = stored(&fixture, &notes(LLM_PASSAGES_MAX + 6)).await;
    memories.reverse();
    let (writer, model) = writer(&fixture, &[Copies]);
    let newest = memories[0].clone();
    let written = write(&writer, &memories).await.unwrap();
    assert_eq!((&*written.text, written.sources), (&*newest.content, vec![newest.id]));
    let Author::Model { name, prompt_version } = written.author else { panic!() };
    assert_eq!(
        (name.as_str(), prompt_version, writer.key().as_str()),
        ("scripted", 7, "scripted 7")
    );
    let asked = model.asked.lock().unwrap()[0].clone();
    assert_eq!(asked.passages.len(), LLM_PASSAGES_MAX);
    assert_eq!(asked.passages.last().unwrap().text, *newest.content);
    assert_eq!(asked.chars, 200..=300);
    let written = write(&writer, &memories).await.unwrap();
    assert!(written.is_to_redo());
    assert_eq!(written.sources.len(), memories.len());
}

#[tokio::test(start_paused = true)]
async fn a_summary_of_little_is_shorter() {
    let fixture = Fixture::new().await;
    let memories = stored(&fixture, &notes(3)).await;
    let (writer, model) = writer(&fixture, &[Copies]);
    assert!(write(&writer, &memories).await.is_some());
    let n_chars: usize = memories.iter().map(|memory| memory.content.chars().count()).sum();
    let chars = model.asked.lock().unwrap()[0].chars.clone();
    assert_eq!(*chars.end(), n_chars * 6 / 10);
    assert!(chars.start() < chars.end());
}

#[tokio::test(start_paused = true)]
async fn a_model_has_two_attempts_and_what_it_may_do_again_later_is_marked() {
    let fixture = Fixture::new().await;
    let memories = stored(&fixture, &notes(5)).await;
    let table: [(&[Answer], usize, bool, bool); 7] = [
        (&[Copies], 1, true, false),
        (&[Invents, Copies], 2, true, false),
        (&[Is(Unusable::NotJson), Copies], 2, true, false),
        (&[Invents, Is(Unusable::Cut), Copies], 2, false, false),
        (&[Invents], 2, false, true),
        (&[Is(Unusable::Declined), Copies], 1, false, false),
        (&[Is(Unusable::Refused), Copies], 1, false, true),
    ];
    for (answers, n_asked, is_model, is_to_redo) in table {
        let (writer, model) = writer(&fixture, answers);
        let written = write(&writer, &memories).await.unwrap();
        let asked = model.asked.lock().unwrap().clone();
        let is_by_model = matches!(written.author, Author::Model { .. });
        let found = (asked.len(), is_by_model, written.is_to_redo());
        assert_eq!(found, (n_asked, is_model, is_to_redo), "{written:?}");
        assert_eq!(writer.rejections(), written.rejections);
        assert_eq!(written.metadata().contains_key("redo"), is_to_redo);
        if let [_, second] = asked.as_slice() {
            let repair = second.repair.as_ref().unwrap();
            assert!(!repair.faults.is_empty());
            assert_eq!(second.passages, asked[0].passages, "faults name labels of the first");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn reasons_are_counted_once_a_draft() {
    let fixture = Fixture::new().await;
    let memories = stored(&fixture, &notes(5)).await;
    let (writer, _) = writer(&fixture, &[Invents, Invents]);
    let written = write(&writer, &memories).await.unwrap();
    assert_eq!(
        (written.rejections.get("date"), written.rejections.get("name")),
        (Some(&2), Some(&2))
    );
    let metadata = written.metadata();
    assert_eq!(metadata["summary_kind"], "\"extractive\"");
    assert!(metadata["rejected"].contains("\"date\":2"), "{metadata:?}");
}
