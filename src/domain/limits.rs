//! Every named limit of the daemon: sizes, counts, pages, queues and waits.
//!
//! A limit lives here when it guards memory, disk or a reply; tunable *policy* (weights, half-lives)
//! is configuration. Unless a constant says otherwise it was chosen, not measured.

use std::time::Duration;

use jiff::SignedDuration;

/// Longest content of one memory, bytes of UTF-8.
pub const CONTENT_BYTES_MAX: usize = 32 * 1024;
/// Most memories in one `memory_store`.
pub const STORE_BATCH_MAX: usize = 100;
/// Most tags of one memory.
pub const TAGS_MAX: usize = 32;
/// Longest tag, bytes.
pub const TAG_BYTES_MAX: usize = 128;
/// Most top-level keys in the metadata of one memory.
pub const METADATA_KEYS_MAX: usize = 64;
/// Longest metadata of one memory as JSON text, bytes.
pub const METADATA_BYTES_MAX: usize = 8 * 1024;
/// Longest session name, bytes.
pub const SESSION_BYTES_MAX: usize = 256;
/// Most turns in one call.
pub const TURNS_PER_CALL_MAX: usize = 100;
/// How far the time of a turn may lie ahead: clocks differ.
pub const TURN_AHEAD_MAX: Duration = Duration::from_hours(24);
/// The summary of a session has room for so many times what another summary has.
pub const SESSION_SUMMARY_LENGTHS: usize = 2;
/// Turns that one session keeps while they wait to be looked at.
pub const SESSION_TURNS_MAX: u64 = 2_000;
/// Sessions at a time.
pub const SESSIONS_MAX: u64 = 10_000;
/// Turns of a session that are shown unless fewer are asked for, the newest.
pub const SESSION_TURNS_SHOWN: usize = 20;
/// Most turns of a session that are shown at once, the newest.
pub const SESSION_TURNS_SHOWN_MAX: usize = 200;
/// Characters that a statement taken out of a turn may have.
pub const FACT_CHARS_MAX: usize = 500;
/// Longest part of a turn that a language model reads at once, bytes; a longer turn is read in parts.
pub const TURN_PASSAGE_BYTES_MAX: usize = 1_500;
/// Tokens of turns that a language model is asked about at once, so that nothing of them is cut off to
/// fit into the window that is configured by default.
pub const TURNS_TOKENS_MAX: usize = 1_200;
/// Tokens that a turn costs beside its text.
pub const TURN_TOKENS_OVERHEAD: usize = 30;
/// First and longest time until turns are looked at again that a language model was of no use for.
pub const EXTRACT_RETRY_MIN: Duration = Duration::from_mins(5);
/// See [`EXTRACT_RETRY_MIN`].
pub const EXTRACT_RETRY_MAX: Duration = Duration::from_hours(24);
/// Sessions that are looked at in one step.
pub const SESSIONS_PAGE: usize = 100;
/// Time from what makes a session due to the run that looks at it: what follows at once comes along.
pub const EXTRACT_DELAY: Duration = Duration::from_secs(1);
/// Least time between two such runs, so that they do not crowd the others out of the list of runs.
pub const EXTRACT_PAUSE: Duration = Duration::from_secs(15);
/// Longest namespace, bytes.
pub const NAMESPACE_BYTES_MAX: usize = 128;
/// Most segments of a namespace path.
pub const NAMESPACE_SEGMENTS_MAX: usize = 8;
/// Longest agent name, bytes.
pub const AGENT_BYTES_MAX: usize = 64;

/// Passes of the redaction over one text; each after the first finds only what was glued to a find.
pub const REDACTION_PASSES_MAX: usize = 8;

/// Longest query, bytes of UTF-8; the rest is cut and the answer warns.
pub const QUERY_BYTES_MAX: usize = 4 * 1024;
/// Most results of one search.
pub const SEARCH_LIMIT_MAX: usize = 100;
/// Results of a search that names no limit (DESIGN: MCP surface).
pub const SEARCH_LIMIT_DEFAULT: usize = 8;
/// Most memories in one page of a listing.
pub const LIST_LIMIT_MAX: usize = 200;
/// Memories in a page of a listing that names no limit.
pub const LIST_LIMIT_DEFAULT: usize = 20;
/// Most ids in one `memory_get`.
pub const GET_IDS_MAX: usize = 50;
/// Most ids an agent may forget in one call.
pub const FORGET_IDS_MAX_AGENT: usize = 20;
/// Most memories one filtered forget may match.
pub const FORGET_FILTER_MAX: usize = 10_000;
/// Most namespaces or namespace patterns in one call.
pub const NAMESPACES_PER_CALL_MAX: usize = 64;

/// Candidates taken from the text arm (a memory that matches no word has no text score, so up to
/// this depth the arm is complete).
pub const TEXT_CANDIDATES_MAX: usize = 1_000;
/// Candidates taken from the vector arm.
pub const VECTOR_CANDIDATES_MAX: usize = 400;
/// Records loaded for the second ranking stage.
pub const RANKED_RECORDS_MAX: usize = 160;
/// Candidates of the int8 scan that are scored again in f32 (measured: recall@10 is 1.000 with 30;
/// the scan keeps at least this many and at most [`VECTOR_CANDIDATES_MAX`]).
pub const RESCORED_MIN: usize = 30;
/// Most terms of one clause of a query; the first are kept. A question of 80 Chinese characters has
/// about 150 (with 64, recall@10 on memdaily-zh fell from .86 to .81).
pub const QUERY_TERMS_MAX: usize = 256;
/// Archived memories that a search finds by their words.
pub const ARCHIVED_CANDIDATES_MAX: usize = 50;
/// Memories that a new one is compared with, the nearest of as many found by words and by meaning.
pub const COMPARED_MAX: usize = 8;
/// Terms of a new memory by which others are found that it is compared with.
pub const COMPARED_TERMS_MAX: usize = 48;
/// Memories of one call that are compared before its answer; of more, all are compared after it.
pub const COMPARED_AT_STORE_MAX: usize = 16;
/// Memories that are compared in the background in one step, with a pause after it.
pub const COMPARED_PER_STEP: usize = 32;
/// Longest text that is compared with others for contradictions, bytes: a longer one says too many
/// things to be right or wrong as a whole.
pub const COMPARED_BYTES_MAX: usize = 400;
/// Memories that wait to be compared with others because their store could not wait for it; of more,
/// the oldest are left as they are.
pub const UNCOMPARED_MAX: usize = 10_000;
/// Time between two notes of up to where memories have been compared with others.
pub const COMPARED_NOTED_EVERY: Duration = Duration::from_mins(1);
/// Memories that say otherwise, or that replaced another, which are shown beside one.
pub const LINKED_SHOWN_MAX: usize = 8;
/// Characters of each of them.
pub const LINKED_CHARS_MAX: usize = 120;
/// Ids that the report of a run names one by one.
pub const REPORTED_IDS_MAX: usize = 1_000;
/// Largest record that is compressed, and what a compressed one may unpack to, bytes.
pub const PACKED_BYTES_MAX: usize = 1 << 20;
/// Memories that one run forgets by rules of retention.
pub const PURGED_MAX: usize = 1_000;
/// Most clauses a question is split into.
pub const QUERY_CLAUSES_MAX: usize = 8;

/// Fewest tokens a search may be limited to.
pub const RECALL_TOKENS_MIN: usize = 50;
/// Most tokens a search may be allowed.
pub const RECALL_TOKENS_MAX: usize = 8_000;
/// Tokens a hit costs beside its excerpt: ids, kind, reasons (counted on printed answers).
pub const HIT_TOKENS_OVERHEAD: usize = 60;
/// Characters of its best chunk that a hit shows (the rest by `memory_get`).
pub const HIT_CHARS_MAX: usize = 600;
/// Tokens of what an agent is told before it begins, if it names no budget; chosen.
pub const CONTEXT_TOKENS_DEFAULT: usize = 1_500;
/// Tokens that an item of it costs beside its text: handle, kind, time (counted on printed answers).
pub const CONTEXT_TOKENS_OVERHEAD: usize = 45;
/// Most standing orders, and most other memories, that it is chosen from.
pub const CONTEXT_ITEMS_MAX: usize = 24;
/// Reminders that are read in one text, those that it asks for first.
pub const REMINDERS_READ_MAX: usize = 3;
/// Reminders that a list of what is pending shows of each sort but those that are due.
pub const PENDING_SHOWN_MAX: usize = 10;
/// Reminders that are due which it shows.
pub const PENDING_DUE_MAX: usize = 500;
/// How far ahead what is next counts as pending.
pub const PENDING_AHEAD: SignedDuration = SignedDuration::from_hours(24);
/// How far back a habit is looked for: monthly ones need four months.
pub const SUGGEST_LOOKBACK: SignedDuration = SignedDuration::from_hours(24 * 200);
/// Memories of one namespace in which it is looked for, the newest.
pub const SUGGEST_MEMORIES_MAX: usize = 5_000;
/// Suggestions of one run; the next has more.
pub const SUGGESTED_PER_RUN_MAX: usize = 3;
/// Memories that are kept as what shows a habit.
pub const SUGGESTED_EVIDENCE_MAX: usize = 24;
/// Longest input of a hook that is read, bytes.
pub const HOOK_INPUT_BYTES_MAX: u64 = 1024 * 1024;
/// Tokens that a hook puts before one prompt.
pub const HOOK_PROMPT_TOKENS: usize = 600;
/// Longest wait of a hook for the daemon: its harness waits as well.
pub const HOOK_WAIT: Duration = Duration::from_secs(5);
/// Time between two looks of a hook that waits for what is due.
pub const HOOK_LOOK_EVERY: Duration = Duration::from_secs(3);
/// Longest time that it waits.
pub const HOOK_WAIT_MAX: Duration = Duration::from_hours(24);
/// Tellings for which a session was woken that are remembered.
pub const HOOK_WOKEN_MAX: usize = 2_000;
/// Time after which what is known of a session is dropped.
pub const HOOK_SESSION_AGE_MAX: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Characters of a memory that a listing or a preview shows.
pub const LISTED_CHARS_MAX: usize = 240;
/// Entries of the change log that a memory which is read with its history shows, the newest.
pub const CHANGES_SHOWN_MAX: usize = 20;
/// Links of one sort that a memory shows.
pub const LINKS_SHOWN_MAX: usize = 20;
/// Sources that a memory shows by their handles where it is shown in brief.
pub const HANDLES_SHOWN_MAX: usize = 10;
/// Ids that a receipt of forgetting names one by one.
pub const FORGOTTEN_IDS_SHOWN_MAX: usize = 200;
/// Hard cap of a tool result's text, bytes (about 6,000 to 8,000 tokens).
pub const RESULT_BYTES_MAX: usize = 24 * 1024;
/// Of these the room of the reminders that ride in each form of a result, bytes.
pub const RIDING_BYTES_MAX: usize = 4 * 1024;
/// Due reminders that ride in a result.
pub const RIDERS_MAX: usize = 3;
/// Characters of the text of a reminder that rides.
pub const RIDER_CHARS_MAX: usize = 160;
/// Mentions of reminders to agents that are remembered, so that they are not made again too soon.
pub const RIDES_KEPT_MAX: usize = 20_000;

/// Connections waiting to be accepted.
pub const SOCKET_BACKLOG: i32 = 1_024;
/// Longest protocol line, bytes.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest hello line, bytes.
pub const HELLO_BYTES_MAX: usize = 64 * 1024;
/// Read buffer of a connection, bytes (small, since a thousand of them may sit idle).
pub const CONNECTION_BUFFER_BYTES: usize = 4 * 1024;
/// Answers a peer has not taken yet, bytes; past it nothing more is read from it.
pub const UNSENT_BYTES_MAX: usize = 1024 * 1024;
/// Time for the first line of a connection.
pub const HELLO_WAIT: Duration = Duration::from_secs(10);
/// Calls in flight on one connection.
pub const CALLS_PER_CONNECTION_MAX: usize = 64;
/// Calls that wait in the bridge for a free place among [`CALLS_PER_CONNECTION_MAX`]; past it the
/// bridge stops reading.
pub const CALLS_WAITING_MAX: usize = 256;
/// Bytes of unanswered calls the bridge holds; past it the bridge stops reading.
pub const CALLS_WAITING_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes queued in one direction of the bridge; past it the bridge stops reading the other end.
pub const OUTBOX_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Room that the bridge keeps in a line for the request key it inserts, bytes.
pub const REQUEST_KEY_ROOM: usize = 256;
/// Open `subscriptions/listen` requests of one client.
pub const LISTENS_MAX: usize = 16;
/// Resource subscriptions (`resources/subscribe`) the bridge restores after a reconnect.
pub const SUBSCRIPTIONS_MAX: usize = 256;
/// Times the bridge sends one request again after its connection was lost.
pub const RESENDS_MAX: u32 = 3;
/// First and longest wait between two attempts to reach the daemon.
pub const DIAL_WAIT_MIN: Duration = Duration::from_millis(20);
/// See [`DIAL_WAIT_MIN`].
pub const DIAL_WAIT_MAX: Duration = Duration::from_secs(1);
/// Time without the daemon after which the bridge answers the handshake itself (clients fall back
/// to another protocol about 0.6 s after their first probe).
pub const OFFLINE_AFTER: Duration = Duration::from_millis(500);
/// Time without the first word of a connected daemon after which the bridge does the same (one
/// client gives up after 10 s; a daemon behind an activated socket may still be starting).
pub const SILENT_AFTER: Duration = Duration::from_secs(2);
/// Time without the daemon after which the bridge answers calls with an error.
pub const UNREACHABLE_AFTER: Duration = Duration::from_secs(30);
/// Time for calls in flight after the client closed its end.
pub const BRIDGE_DRAIN_WAIT: Duration = Duration::from_secs(5);
/// Time the bridge gives others (systemd, an admin's restart) to bring a lost daemon back before
/// it starts one.
pub const START_GRACE: Duration = Duration::from_secs(1);
/// Time between two attempts of one bridge to start the daemon.
pub const START_RETRY: Duration = Duration::from_secs(5);
/// Time for a started daemon to open its socket.
pub const START_WAIT: Duration = Duration::from_secs(10);
/// Bytes at the end of a log in which the last words of a daemon that did not start are looked for.
pub const LAST_WORDS_BYTES_MAX: u64 = 8_192;
/// Time for `systemctl` to say whether the unit exists.
pub const SYSTEMCTL_WAIT: Duration = Duration::from_secs(3);
/// Time between two looks whether another daemon has let go of the store or the socket.
pub const IN_USE_WAIT: Duration = Duration::from_millis(100);
/// Such looks before a start is given up: five seconds (chosen: the kernel takes a killed process apart
/// in less, unless its disk hangs).
pub const IN_USE_WAITS_MAX: u32 = 50;
/// Calls running at a time on all connections; more wait (a setting; this is its default).
pub const CALLS_MAX: usize = 256;
/// Connections of one uid.
pub const CONNECTIONS_PER_UID_MAX: usize = 2_048;

/// Free bytes of the disk below which nothing that grows is stored any more (and at most one
/// [`FREE_SHARE_LOW`]th of it).
pub const FREE_BYTES_LOW: u64 = 4 * 1024 * 1024;
/// See [`FREE_BYTES_LOW`].
pub const FREE_SHARE_LOW: u64 = 64;
/// Free bytes beside the ballast at which a store that was full takes new memories again: as many as
/// the ballast has, and at least these (but at most one [`DISK_SHARE`]th of the disk).
pub const FREE_BYTES_TO_RESUME: u64 = 16 * 1024 * 1024;
/// The ballast takes at most one of so many parts of the disk.
pub const DISK_SHARE: u64 = 8;

/// Operations that share one commit.
pub const GROUP_COMMIT_MAX: usize = 256;
/// Operations waiting for the writer.
pub const WRITE_QUEUE_MAX: usize = 4_096;
/// Request keys kept for replay.
pub const REQUEST_KEYS_MAX: u64 = 100_000;
/// Age after which a request key is dropped.
pub const REQUEST_KEY_AGE_MAX: Duration = Duration::from_hours(24);
/// Old request keys dropped whenever one is added: more than one, so that they cannot pile up.
pub const REQUEST_KEYS_DROPPED_MAX: usize = 16;
/// Longest request key, bytes.
pub const REQUEST_KEY_BYTES_MAX: usize = 128;
/// Memories that one handle may name.
pub const HANDLE_MATCHES_MAX: usize = 32;
/// Runs of jobs that are kept with what they changed, and can be undone; of more, the oldest go (two
/// runs a day of six jobs make this more than five months).
pub const RUNS_KEPT: u64 = 2_000;
/// Most entries of the change log that are shown of one memory, the newest (all of them fit into a
/// result).
pub const HISTORY_ENTRIES_MAX: usize = 100;
/// Violations that a check of the store tells of.
pub const VIOLATIONS_MAX: usize = 100;
/// Rows that a backup writes in one transaction.
pub const BACKUP_ROWS_PER_COMMIT: usize = 10_000;
/// Page cache of a backup that is written or proven, bytes.
pub const BACKUP_CACHE_BYTES: usize = 16 * 1024 * 1024;
/// Backups that a store remembers besides those in its usual place; the oldest are dropped.
pub const BACKUPS_REMEMBERED_MAX: usize = 256;
/// Time from the start of the daemon to a backup that is overdue.
pub const BACKUP_START_DELAY: Duration = Duration::from_mins(2);
/// Time from a backup that failed to the next attempt.
pub const BACKUP_RETRY: Duration = Duration::from_mins(15);
/// Text in one page of an export, about; a page holds at least one line, bytes.
pub const EXPORT_PAGE_BYTES: usize = 256 * 1024;
/// Longest line of an import, bytes (the longest content and metadata with every character escaped
/// are well below).
pub const IMPORT_LINE_BYTES_MAX: usize = 1024 * 1024;
/// Lines of an import that are sent at once, bytes; a line of the protocol may be longer even when
/// every quote of them is escaped.
pub const IMPORT_BATCH_BYTES: usize = 1024 * 1024;
/// Most lines of an import that are sent at once.
pub const IMPORT_LINES_MAX: usize = 1_000;
/// Problems of an import that are told one by one.
pub const IMPORT_PROBLEMS_MAX: usize = 20;
/// Size up to which a store is read through and its checksums proven at each start, bytes (measured:
/// 0.1 s of CPU for 40,000 memories in 37 MB, the whole start included).
pub const PROVEN_AT_START_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Rows read in one step of a background pass (rebuild, load, parity).
pub const SCAN_PAGE: usize = 500;

/// Texts waiting for the embedder.
pub const EMBED_QUEUE_MAX: usize = 1_024;
/// Texts in one call of the model.
pub const EMBED_BATCH_MAX: usize = 32;
/// Threads of one embedding model (each may hold its own copy of the weights).
pub const EMBED_THREADS_MAX: usize = 16;
/// First and longest wait before a model that did not load is tried again.
pub const EMBED_RETRY_MIN: Duration = Duration::from_secs(5);
/// See [`EMBED_RETRY_MIN`].
pub const EMBED_RETRY_MAX: Duration = Duration::from_mins(1);
/// Tokens in one call of a model that computes here; a query waits for one.
pub const EMBED_BATCH_TOKENS: usize = 1_024;
/// Longest input of a model, tokens.
pub const EMBED_TOKENS_MAX: usize = 32_768;
/// Most coordinates of a vector.
pub const EMBED_DIMENSION_MAX: usize = 8_192;
/// Time for an endpoint to take a connection.
pub const ENDPOINT_CONNECT_WAIT: Duration = Duration::from_secs(3);
/// Longest answer of an endpoint, bytes (32 vectors of 8,192 numbers as text are about 6 MB).
pub const ENDPOINT_REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Times one request is sent again to an endpoint that is busy or out of reach.
pub const ENDPOINT_RETRIES_MAX: u32 = 2;
/// First wait before that; it doubles, and up to as much again is added at random.
pub const ENDPOINT_RETRY_WAIT: Duration = Duration::from_millis(200);
/// Failed requests in a row after which an endpoint is left alone for a while.
pub const ENDPOINT_FAILURES_MAX: u32 = 3;
/// How long it is left alone, if it does not say how long.
pub const ENDPOINT_PAUSE: Duration = Duration::from_secs(15);
/// Longest time it may ask to be left alone.
pub const ENDPOINT_PAUSE_MAX: Duration = Duration::from_mins(5);
/// Longest answer of a sink that is read, bytes; theirs are a few hundred.
pub const SINK_REPLY_BYTES_MAX: usize = 64 * 1024;
/// Time for a sink to take a connection, if a message has as much.
pub const SINK_CONNECT_WAIT: Duration = Duration::from_secs(5);
/// How long a sink is left alone that says that it got too much and not for how long.
pub const SINK_PAUSE: Duration = Duration::from_mins(1);
/// Notifications on the desktop that are watched for an answer; older ones are not any more.
pub const DESKTOP_WATCHED_MAX: usize = 32;
/// How long one is watched.
pub const DESKTOP_WATCH: Duration = Duration::from_hours(24);
/// Longest title of a message, characters; what is longer goes on in the text or is cut.
pub const SINK_TITLE_CHARS_MAX: usize = 160;
/// Most sinks that can be configured.
pub const SINKS_MAX: usize = 64;
/// How long the endpoint of a language model is left alone, if it does not say how long.
pub const LLM_PAUSE: Duration = Duration::from_mins(5);
/// Longest answer of a language model, bytes.
pub const LLM_REPLY_BYTES_MAX: usize = 1024 * 1024;
/// Texts that a language model reads in one call.
pub const LLM_PASSAGES_MAX: usize = 24;
/// Longest part of one of those texts that it reads, bytes, and the shortest that is worth it.
pub const LLM_PASSAGE_BYTES_MAX: usize = 2 * 1024;
/// See [`LLM_PASSAGE_BYTES_MAX`].
pub const LLM_PASSAGE_BYTES_MIN: usize = 160;
/// Requests of one call: each of the forms of an answer, and what else an endpoint may not take.
pub const LLM_ATTEMPTS_MAX: usize = 6;
/// Statements that a language model may choose in one call.
pub const LLM_FACTS_MAX: usize = 64;
/// Faults of a draft that its author is told of.
pub const LLM_FAULTS_MAX: usize = 8;
/// Tokens that a model may think before it answers, if it is seen to think.
pub const LLM_THINKING_TOKENS: usize = 1_024;
/// Places in an answer where a JSON object is looked for.
pub const LLM_OBJECTS_MAX: usize = 64;
/// Age at which what was learned of an endpoint is tried anew: servers are updated.
pub const LLM_LEARNED_AGE_MAX: Duration = Duration::from_hours(7 * 24);
/// Longest file of a secret, bytes.
pub const SECRET_BYTES_MAX: usize = 16 * 1024;
/// First and longest wait before a model that was away is asked again what it is.
pub const MODEL_RETRY_MIN: Duration = Duration::from_secs(1);
/// See [`MODEL_RETRY_MIN`].
pub const MODEL_RETRY_MAX: Duration = Duration::from_secs(30);
/// Query embeddings kept in the cache.
pub const QUERY_CACHE_MAX: usize = 512;
/// Chunks embedded of one memory (32 KiB of English is about 95 windows of 75 words, of
/// source code about 115).
pub const CHUNKS_MAX: usize = 128;

/// Sentences that an extract is chosen from; of more, the last ones (each is compared with every other).
pub const EXTRACT_SENTENCES_MAX: usize = 400;

/// Most points that are searched for clusters at a time (`examples/cluster_quality.rs` prints what they
/// take).
pub const CLUSTER_POINTS_MAX: usize = 50_000;
/// Points whose neighbours are measured to suggest an eps.
pub const KNEE_SAMPLE_MAX: usize = 500;
/// Points in one hierarchy of clusters, which takes 8 bytes for each pair.
pub const LINKAGE_POINTS_MAX: usize = 1_500;
/// What a report of a consolidation names one by one: summaries, and ids of each.
pub const REPORT_TASKS_MAX: usize = 200;
/// See [`REPORT_TASKS_MAX`].
pub const REPORT_IDS_MAX: usize = 20;
/// Runs in which a model may fail to write a summary before it is left alone with it.
pub const REFUSALS_MAX: u32 = 3;
/// Memories that make a profile: with fewer there is none, and of more it takes the most important.
pub const PROFILE_SOURCES_MIN: usize = 3;
/// See [`PROFILE_SOURCES_MIN`].
pub const PROFILE_SOURCES_MAX: usize = LLM_PASSAGES_MAX;
/// A profile has room for so many times what a summary has.
pub const PROFILE_LENGTHS: usize = 3;
/// Profiles that are shown at once.
pub const PROFILES_SHOWN_MAX: usize = 32;
/// Longest wait of a caller for a summary by a model; clients give up after a minute.
pub const SUMMARIZE_WAIT: Duration = Duration::from_secs(45);
/// Sources of one summary, which keeps the id of each.
pub const SUMMARY_SOURCES_MAX: usize = 1_000;

/// Longest wait of a search for vectors that are still being loaded; words answer alone then.
pub const VECTORS_WAIT_MAX: Duration = Duration::from_millis(300);
/// Committed changes that the text index may not have committed yet; past it a commit is forced.
pub const TEXT_TAIL_MAX: usize = 2_000;
/// Memories or changes up to which searches wait while they are put into the text index again.
pub const TEXT_PASS_WAITED_MAX: u64 = 10_000;
/// Changes at which the text index commits before its time.
pub const TEXT_COMMIT_CHANGES: usize = 256;
/// Longest wait of a writer for room in a full tail; after it the tail grows.
pub const TEXT_TAIL_WAIT_MAX: Duration = Duration::from_secs(1);
/// Pause after a failed commit of the text index.
pub const TEXT_RETRY: Duration = Duration::from_secs(30);
/// Smallest write buffer of the text index, bytes (what the library asks for).
pub const TEXT_BUFFER_BYTES_MIN: usize = 15_000_000;
/// Access notes (returned, used) waiting to be written; the oldest are dropped and counted.
pub const ACCESS_BUFFER_MAX: usize = 10_000;

/// Log lines that wait for the log file; more are dropped and counted.
pub const LOG_QUEUE_MAX: usize = 4_096;

/// Longest configuration file, bytes.
pub const CONFIG_BYTES_MAX: usize = 1024 * 1024;
/// Longest path of a Unix socket, bytes (`sun_path` of unix(7), without its final zero).
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Longest crontab line, bytes.
pub const SCHEDULE_BYTES_MAX: usize = 256;
/// Next runs of a job that are told ahead.
pub const JOB_RUNS_TOLD: usize = 3;
/// Time after which a run counts as late.
pub const JOB_LATE_AFTER: Duration = Duration::from_mins(5);
/// How far ahead of the clock the last run may have been due and still count: less than this and the
/// clock was set back, more and it was wrong before.
pub const JOB_STEP_BACK_MAX: Duration = Duration::from_hours(1);
/// Failures of a job in a row after which it is left alone for a while.
pub const JOB_FAILURES_MAX: u32 = 5;
/// First and longest time that it is left alone; it doubles with each further failure.
pub const JOB_PAUSE_MIN: Duration = Duration::from_hours(1);
/// See [`JOB_PAUSE_MIN`].
pub const JOB_PAUSE_MAX: Duration = Duration::from_hours(7 * 24);
/// Longest time between two looks at what is due: timers stand still while the machine sleeps.
pub const JOB_LOOK_EVERY: Duration = Duration::from_secs(30);
/// Difference between the clock and the time that has passed from which the clock was set, or the
/// machine slept.
pub const CLOCK_STEP_MIN: Duration = Duration::from_secs(5);
/// Time until a run is tried again that the store refused to begin.
pub const JOB_RETRY: Duration = Duration::from_mins(5);
/// Time that a job gets to end after it was told to because the daemon stops.
pub const JOB_STOP_WAIT: Duration = Duration::from_millis(1_500);
/// Time that it gets after its own time was over.
pub const JOB_DEADLINE_WAIT: Duration = Duration::from_secs(30);
/// Changes that are counted of a run which could not count them itself.
pub const RUN_CHANGES_COUNTED_MAX: usize = 1_000_000;
/// Time that who asks for a run waits for its end before the answer is that it is under way.
pub const JOB_ANSWER_WAIT: Duration = Duration::from_secs(10);
/// Runs that a list shows.
pub const RUNS_SHOWN: usize = 10;
/// Memories that a job reads in one step.
pub const JOB_PAGE: usize = 2_000;

/// Longest interval of a recurrence rule, in its days, weeks, months or years.
pub const RULE_EVERY_MAX: u32 = 1_000;
/// Most dates of a rule that ends after so many; one that is meant to go on has no count.
pub const RULE_COUNT_MAX: u32 = 10_000;
/// Most exceptions of a rule.
pub const RULE_EXCEPTIONS_MAX: usize = 366;
/// Longest text of a rule, bytes; 366 exceptions are under 7,000.
pub const RULE_BYTES_MAX: usize = 16 * 1024;
/// Longest lead of a reminder, days.
pub const LEAD_DAYS_MAX: u16 = 366;

/// Most times that are read from one text; a text with more is a log or a table.
pub const SCANNED_TIMES_MAX: usize = 64;
/// Longest text of a reminder, bytes.
pub const REMINDER_TEXT_BYTES_MAX: usize = 2_000;
/// Most reminders that are kept, those that are over included.
pub const REMINDERS_MAX: u64 = 100_000;
/// Most rows of the outbox that wait at once.
pub const DELIVERIES_MAX: u64 = 100_000;
/// Occurrences of one reminder that are snoozed at a time.
pub const REMINDER_SNOOZED_MAX: usize = 8;
/// Longest snooze, days.
pub const SNOOZE_DAYS_MAX: i64 = 366;
/// Missed occurrences of one reminder that are told late one by one; earlier ones are skipped.
pub const REMINDER_LATE_TOLD_MAX: usize = 10;
/// How far ahead of the clock an occurrence may have been dealt with and still count as dealt with:
/// less, and the clock was set back; more, and it had been wrong before.
pub const REMINDER_STEP_BACK_MAX: SignedDuration = SignedDuration::from_hours(48);
/// Reminders that are due together from which they are told in one message.
pub const DIGEST_MIN: usize = 3;
/// Longest time between two looks at what is due.
pub const REMINDER_LOOK_EVERY: Duration = Duration::from_secs(30);
/// Least time between two of them.
pub const REMINDER_LOOK_PAUSE: Duration = Duration::from_millis(20);
/// Time that messages under way get to have an outcome when the daemon stops.
pub const REMINDER_STOP_WAIT: Duration = Duration::from_secs(10);
/// Time between two looks for what is over and kept no longer.
pub const REMINDER_TRIM_EVERY: Duration = Duration::from_hours(1);
/// Most reminders in one message.
pub const DIGEST_PARTS_MAX: usize = 200;
/// Time within which they count as due together.
pub const DIGEST_WINDOW: SignedDuration = SignedDuration::from_mins(5);
/// Shortest and longest time for which a sink may ask to be left alone.
pub const RETRY_AFTER_MIN: SignedDuration = SignedDuration::from_secs(1);
/// See [`RETRY_AFTER_MIN`].
pub const RETRY_AFTER_MAX: SignedDuration = SignedDuration::from_hours(1);
