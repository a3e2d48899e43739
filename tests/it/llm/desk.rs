//! A desk at which a language model behind a stand-in writes summaries, and the notes on it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::tz::TimeZone;
use recalld::clock::{ManualClock, SeededIds};
use recalld::domain::grounding::{self, Source, Summary};
use recalld::domain::id::MemoryId;
use recalld::domain::memory::{Anchor, Kind, Memory, Origin, Status, Usage};
use recalld::domain::summary::Aim;
use recalld::llm::{Llm, LlmSettings};
use recalld::ports::{LanguageModel as _, Marks, StoreError, Summarizer};
use recalld::service::summary::{Author, Because, SummaryOrder, SummaryWriter, WrittenSummary};

use crate::endpoint_server::{Answer, Asked, Chat};

pub(super) const KEY: &str = "sk-test-4711";

pub(super) const ENGLISH: [(&str, &str); 5] = [
    ("2026-11-03", "The backup of db-prod-2 failed at 03:10 because the disk was full."),
    ("2026-11-04", "Mara freed 40 GB on db-prod-2 by deleting old WAL files."),
    ("2026-11-10", "The backup of db-prod-2 took 45 minutes instead of 20 minutes."),
    ("2026-11-18", "Mara moved the backup of db-prod-2 to 01:30, away from the report job."),
    ("2026-11-20", "The backup of db-prod-2 has not failed since it was moved to 01:30."),
];
pub(super) const CHINESE: [(&str, &str); 5] = [
    ("2026-11-03", "db-prod-2 的备份在凌晨3点10分失败，因为磁盘满了。"),
    ("2026-11-04", "小李删除了旧的 WAL 文件，给 db-prod-2 腾出 40 GB。"),
    ("2026-11-10", "db-prod-2 的备份用了45分钟，平时只要20分钟。"),
    ("2026-11-18", "小李把 db-prod-2 的备份改到凌晨1点30分，避开报表任务。"),
    ("2026-11-20", "改到凌晨1点30分以后，db-prod-2 的备份没有再失败。"),
];
pub(super) const GOOD: &str = r#"{"summary":"The backup of db-prod-2 failed at 03:10 on 2026-11-03 because the disk was full; Mara freed 40 GB, moved the backup to 01:30, and it has not failed since.","sources":["$1","$2","$4","$5"]}"#;
pub(super) const GOOD_ZH: &str = r#"{"summary":"db-prod-2 的备份在凌晨3点10分失败，因为磁盘满了。小李腾出 40 GB，备份改到凌晨1点30分以后没有再失败。","sources":["$1","$2","$4","$5"]}"#;

/// Marks in memory, which outlive the model that keeps them.
#[derive(Default)]
pub(super) struct Kept(Mutex<BTreeMap<String, Vec<u8>>>);

impl Marks for Kept {
    fn mark<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        std::future::ready(Ok(self.0.lock().unwrap().get(name).cloned())).boxed()
    }

    fn keep_mark<'a>(
        &'a self,
        name: &'a str,
        value: Vec<u8>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.lock().unwrap().insert(name.to_owned(), value);
        std::future::ready(Ok(())).boxed()
    }
}

/// A model behind a stand-in, and who writes summaries with it.
pub(super) struct Desk {
    pub(super) clock: Arc<ManualClock>,
    pub(super) kept: Arc<Kept>,
    pub(super) settings: LlmSettings,
    pub(super) llm: Arc<Llm>,
    pub(super) writer: SummaryWriter,
}

impl Desk {
    pub(super) fn at(url: &str) -> Self {
        let clock = Arc::new(ManualClock::at("2026-12-01T10:00:00Z".parse().unwrap()));
        let settings = LlmSettings {
            url: url.parse().unwrap(),
            model: "stand-in".to_owned(),
            key_file: None,
            timeout: Duration::from_secs(20),
            context_tokens: 3_000,
            calls_per_day: 100,
            tokens_per_day: 1_000_000,
            allow_private: Vec::new(),
            section: "llm.summary",
        };
        Self::with(settings, Arc::default(), clock)
    }

    pub(super) fn with(settings: LlmSettings, kept: Arc<Kept>, clock: Arc<ManualClock>) -> Self {
        let llm = Arc::new(Llm::new(settings.clone(), kept.clone(), clock.clone()));
        let model = Arc::clone(&llm) as Arc<dyn Summarizer>;
        let writer = SummaryWriter::new(Some(model), Arc::new(SeededIds::new(5)), clock.clone());
        Self { clock, kept, settings, llm, writer }
    }

    /// The same after a restart of the daemon, with other settings.
    pub(super) fn restarted(&self, change: impl FnOnce(&mut LlmSettings)) -> Self {
        let mut settings = self.settings.clone();
        change(&mut settings);
        Self::with(settings, Arc::clone(&self.kept), Arc::clone(&self.clock))
    }

    pub(super) async fn write(&self, notes: &[(&str, &str)]) -> WrittenSummary {
        let memories = memories(notes);
        let order = SummaryOrder {
            aim: Aim::Summary,
            memories: &memories,
            chars: 200..=300,
            zone: &TimeZone::UTC,
        };
        let written = self.writer.write(order).await.unwrap();
        assert_grounded(&written, &memories);
        assert!(!written.text.contains(KEY), "{written:?}");
        written
    }

    pub(super) fn trouble(&self) -> String {
        self.llm.report().trouble.unwrap_or_default()
    }
}

pub(super) fn memories(notes: &[(&str, &str)]) -> Vec<Memory> {
    let notes = notes.iter().zip(1_u128..);
    notes
        .map(|((day, text), n)| {
            let at = format!("{day}T12:00:00Z").parse().unwrap();
            Memory {
                id: MemoryId::new(1_700_000_000_000, n << 50),
                namespace: "user".parse().unwrap(),
                content: Arc::from(*text),
                kind: Kind::Event,
                tags: Vec::new(),
                metadata: BTreeMap::new(),
                session: None,
                agent: None,
                occurred_at: Some(at),
                created_at: at,
                updated_at: at,
                importance: 0.4,
                pinned: false,
                status: Status::Active,
                supersedes: None,
                superseded_by: None,
                valid_to: None,
                contradicts: Vec::new(),
                derived_from: Vec::new(),
                consolidated_into: None,
                origin: Origin::Stated,
                version: 1,
                usage: Usage {
                    last_recalled_at: None,
                    recalls: 0,
                    anchor: Anchor { value: 0.4, at },
                },
            }
        })
        .collect()
}

/// Whatever wrote it, a summary says only what the memories it names say.
#[track_caller]
pub(super) fn assert_grounded(written: &WrittenSummary, memories: &[Memory]) {
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

pub(super) fn is_by_model(written: &WrittenSummary) -> bool {
    matches!(&written.author, Author::Model { name, .. } if name == "stand-in")
}

pub(super) fn away(written: &WrittenSummary) -> &str {
    let Author::Extract(Because::Away(reason)) = &written.author else {
        panic!("{:?}: {:?}", written.author, written.rejections);
    };
    reason
}

pub(super) fn raw(status: u16, headers: &'static str, body: &str) -> Answer {
    Answer::Raw(status, headers, body.to_owned())
}

pub(super) fn cut(content: &str) -> Answer {
    Answer::Chat(Chat { content: content.to_owned(), finish: "length", prompt_tokens: 0 })
}

/// The forms that were asked for, in order.
pub(super) fn forms(asked: &[Asked]) -> Vec<String> {
    let form = |asked: &Asked| asked.body["response_format"]["type"].as_str().map(str::to_owned);
    asked.iter().map(|asked| form(asked).unwrap_or_else(|| "text".to_owned())).collect()
}
