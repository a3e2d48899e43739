//! The settings of the daemon, validated into the types that the other rooms work with.

use std::path::PathBuf;
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::access::AccessRule;
use super::consolidate::{self, ConsolidateConfig};
use super::endpoint::{self, EndpointConfig};
use super::entries;
use super::jobs::{self, JobsConfig};
use super::llm::{self, LlmConfig};
use super::problem::Problem;
use super::reader::Reader;
use super::reminders;
use super::retention;
use super::session;
use super::sinks;
use crate::domain::archive::ArchivePolicy;
use crate::domain::contradiction;
use crate::domain::decay::DecayPolicy;
use crate::domain::embedding::is_model_name;
use crate::domain::identity::{Access, AgentName};
use crate::domain::limits::SEARCH_LIMIT_MAX;
use crate::domain::memory::Kind;
use crate::domain::namespace::Namespace;
use crate::domain::ranking::RankingPolicy;
use crate::domain::reminder::ReminderSettings;
use crate::domain::retention::RetentionRule;
use crate::domain::session::SessionPolicy;
use crate::domain::sink::SinkSettings;

/// Everything that can be set. What a key means, its unit and its range stand in
/// `config.toml.example` ([`super::DEFAULTS`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `[store]`
    pub store: StoreConfig,
    /// `[embed]`
    pub embed: EmbedConfig,
    /// `[llm]`
    pub llm: LlmConfig,
    /// `[index]`
    pub index: IndexConfig,
    /// `[recall]`
    pub recall: RecallConfig,
    /// `[decay]`
    pub decay: DecayPolicy,
    /// `[contradiction]`
    pub contradiction: ContradictionConfig,
    /// `[archive]`
    pub archive: ArchivePolicy,
    /// `[retention]`
    pub retention: Vec<RetentionRule>,
    /// `[consolidate]`
    pub consolidate: ConsolidateConfig,
    /// `[session]` and `[extract]`
    pub sessions: SessionPolicy,
    /// `[forget]`
    pub forget: ForgetConfig,
    /// `[backup]`
    pub backup: BackupConfig,
    /// `[jobs]`
    pub jobs: JobsConfig,
    /// `[sinks.NAME]`, by name.
    pub sinks: Vec<SinkSettings>,
    /// `[reminders]`
    pub reminders: ReminderSettings,
    /// `[mcp]`
    pub mcp: McpConfig,
    /// `[server]`
    pub server: ServerConfig,
    /// `[[access.agents]]`, in the order in which they are tried.
    pub access: Vec<AccessRule>,
    /// `[log]`
    pub log: LogConfig,
}

/// Data on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// Data directory, absolute; `None`: the default place (see [`super::state_dir`]).
    pub dir: Option<PathBuf>,
    /// Page cache of the database, bytes.
    pub cache_bytes: usize,
    /// Size of the file that is given up when the disk is full, bytes; 0: none.
    pub ballast_bytes: u64,
    /// Age after which log entries may be trimmed.
    pub log_keep: Duration,
}

/// Which embedding model is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EmbedModel {
    /// The one inside the binary.
    #[default]
    Bundled,
    /// The one behind the endpoint of `[embed.endpoint]`.
    Endpoint,
    /// Vectors drawn from a hash of the text: no meaning, for tests of scale.
    Seeded,
    /// None: memories are found by their words only.
    None,
    /// An installed one (`recalld model`).
    Installed(String),
}

/// Embeddings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedConfig {
    /// The model.
    pub model: EmbedModel,
    /// How long a store waits for its vectors.
    pub store_wait: Duration,
    /// Threads of the model, at least 1.
    pub threads: usize,
    /// ONNX Runtime; `None`: it is looked for.
    pub onnx_runtime: Option<PathBuf>,
    /// `[embed.endpoint]`
    pub endpoint: EndpointConfig,
}

/// Indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexConfig {
    /// Vectors of one namespace from which a graph serves it; 0: always.
    pub graph_from: usize,
    /// Longest time until the text index commits.
    pub text_commit: Duration,
    /// Memory of the text index writer, bytes.
    pub text_buffer_bytes: usize,
}

/// Searches.
#[derive(Clone, Debug, PartialEq)]
pub struct RecallConfig {
    /// Results of a search that names no limit, 1..=100.
    pub limit: usize,
    /// Size of an answer that names none, estimated tokens.
    pub max_tokens: usize,
    /// Time after which a search answers with what it has.
    pub deadline: Duration,
    /// Weights of the ranking.
    pub ranking: RankingPolicy,
}

/// Comparing new memories with old ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContradictionConfig {
    /// Whether that is done at all.
    pub is_automatic: bool,
    /// How near memories must be.
    pub policy: contradiction::Policy,
}

/// Forgetting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgetConfig {
    /// How long the person can bring back what an agent forgot; at most `erase_within`.
    pub agent_grace: Duration,
    /// Time until the content of a forgotten memory is deleted at the latest.
    pub erase_within: Duration,
}

/// Backups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupConfig {
    /// Where they go, absolute; `None`: `backups` in the data directory.
    pub dir: Option<PathBuf>,
    /// Time from one to the next; zero: only on request.
    pub every: Duration,
    /// How many are kept, at least 1.
    pub keep: usize,
}

/// The protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpConfig {
    /// Whether agents are shown every tool instead of those they need most.
    pub has_all_tools: bool,
}

/// The socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// Path of the socket, absolute; `None`: the default place (see [`super::server_socket`]).
    pub socket: Option<PathBuf>,
    /// Uids that may connect besides the daemon's own.
    pub allow_uids: Vec<u32>,
    /// Connections of one uid at a time.
    pub connections_per_uid: usize,
    /// Calls carried out at a time.
    pub calls_in_flight: usize,
}

/// Logging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// Filter directives that `tracing_subscriber::EnvFilter` accepts.
    pub directives: String,
    /// One JSON object a line instead of text.
    pub json: bool,
    /// Directory of log files, absolute; `None`: stderr alone.
    pub dir: Option<PathBuf>,
    /// Size at which a file is set aside, bytes.
    pub file_bytes_max: u64,
    /// Files kept beside the present one.
    pub files_keep: usize,
}

impl Config {
    /// What this agent may read and write: the first entry that fits counts.
    pub fn caller_access(&self, agent: &AgentName) -> Access {
        match self.rule(agent) {
            Some(rule) => rule.access(agent),
            // Loading always leaves an entry for everybody at the end; without one nothing is allowed.
            None => {
                Access { read: Vec::new(), write: Vec::new(), write_default: Namespace::user() }
            }
        }
    }

    /// Whether a caller that shows this token may take this name. Only entries with a `token_hash`
    /// ask for one.
    pub fn admits(&self, agent: &AgentName, token: Option<&str>) -> bool {
        self.rule(agent).is_some_and(|rule| rule.is_proven(token))
    }

    fn rule(&self, agent: &AgentName) -> Option<&AccessRule> {
        self.access.iter().find(|rule| rule.is_for(agent))
    }

    /// Reads every key. The result is of use only if the reader then has no problems.
    pub(super) fn read(reader: &mut Reader<'_, '_>, warnings: &mut Vec<String>) -> Self {
        let sinks = sinks::read(reader);
        Self {
            store: StoreConfig {
                dir: reader.path("store.dir"),
                cache_bytes: MIB * reader.count("store.cache_mb", &(8..=65_536)),
                ballast_bytes: (MIB * reader.count("store.ballast_mb", &(0..=4_096))) as u64,
                log_keep: reader.duration("store.log_keep_days", DAY, &(1..=36_500)),
            },
            embed: embed(reader, warnings),
            llm: llm::read(reader),
            index: IndexConfig {
                graph_from: reader.count("index.graph_from", &(0..=100_000_000)),
                text_commit: reader.duration("index.text_commit_ms", MILLISECOND, &(50..=60_000)),
                text_buffer_bytes: MIB * reader.count("index.text_buffer_mb", &(15..=4_096)),
            },
            recall: recall(reader),
            decay: decay(reader),
            contradiction: ContradictionConfig {
                is_automatic: reader.flag("contradiction.automatic"),
                policy: contradiction::Policy {
                    related_min: reader.number("contradiction.related_min", &(0.0..=1.0)),
                    same_min: reader.number("contradiction.same_min", &(0.0..=1.0)),
                },
            },
            archive: ArchivePolicy {
                strength_below: reader.number("archive.strength_below", &(0.0..=1.0)),
                unused_days: reader.number("archive.unused_days", &(1.0..=36_500.0)),
            },
            retention: retention::read(reader),
            consolidate: consolidate::read(reader),
            sessions: session::read(reader),
            forget: forget(reader),
            backup: BackupConfig {
                dir: reader.path("backup.dir"),
                every: reader.duration("backup.every_hours", HOUR, &(0..=8_760)),
                keep: reader.count("backup.keep", &(1..=1_000)),
            },
            jobs: jobs::read(reader),
            reminders: reminders::read(reader, &sinks),
            sinks,
            mcp: McpConfig {
                has_all_tools: reader.one_of("mcp.toolset", &[("small", false), ("full", true)]),
            },
            server: ServerConfig {
                socket: reader.path("server.socket"),
                allow_uids: reader.uids("server.allow_uids"),
                connections_per_uid: reader.count("server.connections_per_uid", &(1..=65_536)),
                calls_in_flight: reader.count("server.calls_in_flight", &(1..=65_536)),
            },
            access: entries::read(reader, warnings),
            log: LogConfig {
                directives: reader
                    .read("log.level", LEVEL, |value| value.as_str().and_then(directives))
                    .unwrap_or_default(),
                json: reader.one_of("log.format", &[("text", false), ("json", true)]),
                dir: reader.path("log.dir"),
                file_bytes_max: MIB as u64 * reader.integer("log.file_mb", &(1..=4_096)),
                files_keep: reader.count("log.files_keep", &(1..=1_000)),
            },
        }
    }
}

const MIB: usize = 1024 * 1024;
const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

const MODEL: &str = "\"bundled\", \"none\", \"endpoint\", \"seeded\", or the name of an installed \
                     model (`recalld model list`)";

impl EmbedModel {
    /// Those that are no installed model, and what they are called.
    const WORDS: [(&str, Self); 4] = [
        ("bundled", Self::Bundled),
        ("endpoint", Self::Endpoint),
        ("seeded", Self::Seeded),
        ("none", Self::None),
    ];

    /// What configuration calls it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Bundled => "bundled",
            Self::Endpoint => "endpoint",
            Self::Seeded => "seeded",
            Self::None => "none",
            Self::Installed(name) => name,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let word = Self::WORDS.into_iter().find(|(name, _)| *name == text);
        word.map(|(_, model)| model)
            .or_else(|| is_model_name(text).then(|| Self::Installed(text.to_owned())))
    }
}

fn embed(reader: &mut Reader<'_, '_>, warnings: &mut Vec<String>) -> EmbedConfig {
    let model = reader.read("embed.model", MODEL, |value| EmbedModel::parse(value.as_str()?));
    let model = model.unwrap_or_default();
    if model == EmbedModel::Seeded {
        let warning = "embed.model = \"seeded\" is for tests: nothing is found by its meaning";
        warnings.push(warning.to_owned());
    }
    EmbedConfig {
        endpoint: endpoint::read(reader, model == EmbedModel::Endpoint),
        model,
        store_wait: reader.duration("embed.store_wait_ms", MILLISECOND, &(0..=10_000)),
        threads: reader.count("embed.threads", &(1..=64)),
        onnx_runtime: reader.path("embed.onnx_runtime"),
    }
}

fn recall(reader: &mut Reader<'_, '_>) -> RecallConfig {
    RecallConfig {
        limit: reader.count("recall.limit", &(1..=SEARCH_LIMIT_MAX as u64)),
        max_tokens: reader.count("recall.max_tokens", &(100..=8_000)),
        deadline: reader.duration("recall.deadline_ms", MILLISECOND, &(50..=60_000)),
        ranking: RankingPolicy {
            vector_weight: reader.number("recall.vector_weight", &(0.0..=10.0)),
            date_weight: reader.number("recall.date_weight", &(0.0..=10.0)),
            exact_weight: reader.number("recall.exact_weight", &(0.0..=10.0)),
            threshold: reader.number("recall.threshold", &(0.0..=1.0)),
            hit_threshold: reader.number("recall.hit_threshold", &(0.0..=1.0)),
            strength_weight: reader.number("recall.strength_weight", &(0.0..=0.1)),
            recency_weight: reader.number("recall.recency_weight", &(0.0..=0.1)),
            recency_rate: reader.number("recall.recency_rate_per_day", &(0.0..=10.0)),
            consolidated_factor: reader.number("recall.consolidated_factor", &(0.5..=1.0)),
            twin_cosine: reader.number("recall.twin_cosine", &(0.0..=1.0)),
            ..RankingPolicy::default()
        },
    }
}

fn decay(reader: &mut Reader<'_, '_>) -> DecayPolicy {
    let floor = reader.number("decay.floor", &(0.0..=1.0));
    let mut half_life_days = [0.0; Kind::ALL.len()];
    for (kind, days) in Kind::ALL.iter().zip(&mut half_life_days) {
        let key = format!("decay.half_life_days.{}", kind.as_str());
        *days = reader.number(&key, &(0.1..=36_500.0));
    }
    DecayPolicy { floor, half_life_days }
}

fn forget(reader: &mut Reader<'_, '_>) -> ForgetConfig {
    let agent_grace = reader.duration("forget.agent_grace_hours", HOUR, &(0..=8_760));
    let erase_within = reader.duration("forget.erase_within_hours", HOUR, &(0..=8_760));
    if agent_grace > erase_within
        && let Some(place) = reader.place("forget.agent_grace_hours")
    {
        reader.problems.push(Problem::value(
            place,
            "forget.agent_grace_hours",
            "at most forget.erase_within_hours: what is erased cannot be brought back",
            format!("{} and {}", agent_grace.as_secs() / 3600, erase_within.as_secs() / 3600),
        ));
    }
    ForgetConfig { agent_grace, erase_within }
}

const LEVEL: &str = "error, warn, info, debug, trace, off, or a list of directives like \
                     \"info,recalld::store=debug\"";

/// The filter directives of a text, without blanks around them. The parser takes any bare word for a
/// target, so that `inof` would silence everything else: a bare word has to be a level here.
fn directives(text: &str) -> Option<String> {
    let directives: Vec<&str> = text.split(',').map(str::trim).collect();
    let is_level =
        |directive: &str| !directive.is_empty() && directive.parse::<LevelFilter>().is_ok();
    let is_clear =
        directives.iter().all(|directive| is_level(directive) || directive.contains(['=', '[']));
    let text = directives.join(",");
    (is_clear && EnvFilter::try_new(&text).is_ok()).then_some(text)
}
