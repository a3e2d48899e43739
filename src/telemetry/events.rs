//! Every event that the log tells at INFO or above: its message, which never changes, and what it
//! means to an administrator.
//!
//! A message is the name of its event: what varies stands in the fields. A test fails when the code
//! tells an event that is not here, or one here is told nowhere.

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEvent {
    /// The message, by which it is found.
    pub message: &'static str,
    /// What it means, and what there is to do.
    pub meaning: &'static str,
}

const fn event(message: &'static str, meaning: &'static str) -> LogEvent {
    LogEvent { message, meaning }
}

/// Every event at INFO or above, in the order of the life of a daemon; those of the bridge last.
pub const EVENTS: &[LogEvent] = &[
    // Start and stop.
    event("configuration", "a setting that is allowed but hardly meant"),
    event("descriptor limit not raised", "fewer connections than the hard limit would allow"),
    event("clients look for another socket than the one systemd holds", "set server.socket to it"),
    event(
        "waiting for another daemon to end",
        "it has the store or the socket; a killed one a moment",
    ),
    event("ready", "the store is open and the socket is served"),
    event("stopped while starting", "a signal came before the daemon was ready"),
    event("stopping", "a signal to stop came; calls in flight are answered"),
    event("stopping at once", "a second signal, or SIGQUIT: nothing is waited for"),
    event("calls were still in flight", "they were cut off at the end of the grace"),
    event("background tasks were still running", "they go on after the next start"),
    event("the store did not close in order", "the next start checks it"),
    event("the loop of the reminders did not end in order", "a defect; the next start takes it up"),
    event("stopped", "everything is written and closed"),
    // Reload, status, systemd.
    event("configuration reloaded", "which keys changed, and the number of the configuration"),
    event("keys need a restart", "they were changed and are not in force yet"),
    event("configuration refused", "file, line and key of a problem; the old one stays in force"),
    event("job asked for by a signal", "the answer to SIGUSR2 for each job"),
    event("job not begun", "the same, for one that is running already"),
    event("status", "the answer to SIGUSR1; all of it is in status.json"),
    event("status not written to its file", "the data directory cannot be written"),
    event("service manager not told", "systemd does not take notifications"),
    event("service manager not told of the reload", "the monotonic clock cannot be read"),
    event("no sign of life", "loops that are stuck; systemd ends the daemon if they stay so"),
    // The log itself.
    event("event repeated", "how often an event came again within a minute"),
    event("log lines dropped", "the log file is slower than the lines come"),
    event("log lines not written", "why the log file cannot be written"),
    event("a defect was met", "a panic, by its place; report it"),
    // Reminders.
    event("reminder", "a reminder, with its words, to the sink that is the log"),
    event("reminders told", "one message to a sink, and how many reminders were in it"),
    event("reminder not told", "a message that was given up or may not have arrived, and why"),
    event("occurrences not told", "they were missed while nothing ran; the next digest says so"),
    event(
        "sink takes nothing from us",
        "it waits until somebody sees to it, then: sinks test NAME",
    ),
    event("sink is tried again: its files have changed", "the next message shows whether it works"),
    event("outcome of a message not recorded", "it is taken for uncertain when its time is over"),
    event("acknowledgement lost", "of a message on the desktop; the reminder stays open"),
    event("due reminders could not be read", "an answer went to an agent without them"),
    event("reminders wait for the store", "why it cannot be read or written; it is tried again"),
    event("messages were still under way", "they are taken for uncertain at the next start"),
    // Connections.
    event("peer unknown, connection dropped", "the system does not say who is at the other end"),
    event("uid not allowed, connection dropped", "a user who is not among server.allow_uids"),
    event("too many connections, one dropped", "more than server.connections_per_uid of a user"),
    event("connection refused", "an unreadable hello line, a wrong token or a false owner"),
    event("agent name of the hello line has no usable character", "the client's own name is taken"),
    event("connections cannot be accepted", "descriptors or memory are short; it is tried again"),
    event("connections are accepted again", "the end of that"),
    event("connection failed", "a defect in serving one connection"),
    event("connections cut off at the end of the grace", "their calls took too long for a stop"),
    event("connections did not end", "a defect: they did not even end when cut off"),
    event("socket file was gone and is made again", "something removes it; connections went on"),
    event("socket file is gone", "why it cannot be made again; nobody new can connect"),
    event("socket file not removed", "the next daemon replaces it"),
    // Tools.
    event("tool failed", "the daemon or its disk is at fault, not the caller"),
    event("tool panicked", "a defect; the caller has an error, the daemon goes on"),
    event("resource panicked", "the same, in reading a resource"),
    // Store and upkeep.
    event("the store failed", "no more writes; the daemon ends and systemd starts it anew"),
    event("the file of the store is gone", "nothing more is stored: back up, stop, restore, start"),
    event("the file of the store is back", "what is stored lasts again"),
    event("disk full: nothing new is stored", "how much is free, and how much must be"),
    event("room on the disk again", "new memories are stored again"),
    event("usage notes lost", "a little ranking, no memory"),
    event("forgotten content erased", "the grace of so many forgotten memories was over"),
    event("forgotten content not erased yet", "it is tried again each minute"),
    event("turns of old sessions erased", "they were older than session.ttl_hours"),
    event("turns of old sessions not erased yet", "it is tried again each minute"),
    event("change log trimmed", "entries older than store.log_keep_days"),
    event("change log not trimmed", "it is tried again each minute"),
    event("backup made", "where it lies and how much is in it"),
    event("backup failed", "why; it is tried again"),
    // Jobs.
    event("job scheduled", "its crontab line, and when it runs next, with the zone"),
    event("job finished", "one run: who asked, how it ended, what it changed, how long it took"),
    event("job failed", "the same, and why; it runs again at its next time"),
    event("job paused", "it failed again and again and is left alone until then"),
    event("job skipped", "it was due while it was running, or paused"),
    event("jobs wait for the store", "why their state cannot be read or written"),
    event("runs were cut off by the end of the daemon", "they are made again after this start"),
    event("the clock was set, or the machine slept", "by how much; what is due is looked at anew"),
    event("no heartbeat, jobs start up to 30 s late", "a fault of the scheduling library"),
    // Indexes.
    event("text index loaded", "words can be searched"),
    event("text index not loaded", "status says why; stores go on"),
    event("vectors loaded", "meaning can be searched"),
    event(
        "search is by words alone",
        "why the model or its vectors are not there; it is tried again",
    ),
    event("indexes not compared", "the daily comparison with the store failed"),
    event("indexes repaired", "they differed from the store in so many places"),
    event("text index is to be built", "there is none, half of one, or one of another version"),
    event("text index is to be rebuilt", "its files are damaged"),
    event("text index is built anew", "from the store; searches wait or say degraded"),
    event("text index damaged", "it is made anew from the store"),
    event(
        "text index cannot be made",
        "its directory cannot be used; words are kept in memory alone",
    ),
    event("text index thread not started", "the same, for want of a thread"),
    event("text index thread panicked", "the same, by a defect"),
    event("text index commit failed", "it is tried again; searches see everything meanwhile"),
    event("text index merge failed", "the index works on, with more segments"),
    event("text index files not marked as damaged", "they may be tried again at the next start"),
    event("graphs are built at normal priority", "the system refused a lower one"),
    event("graphs will not be built: no thread", "large namespaces are scanned instead"),
    event("the thread that builds graphs had panicked", "the same, by a defect"),
    // Models.
    event("memories wait for their vectors", "the model is down or slow; it is tried again"),
    event("a thread of the embedding model had panicked", "a defect in the model"),
    event("every memory has a vector of the new model", "searches use them from now on"),
    event("vectors of an old model removed", "their space is free"),
    // The bridge, on the stderr of the agent that runs it.
    event("starting the daemon", "none runs"),
    event("could not start the daemon", "it is tried again"),
    event("connection to the daemon lost", "it is sought again; calls wait"),
    event("gave up on a request", "the daemon was gone too long or too often"),
    event("the tool list changed with the daemon", "another version answers now"),
    event("the daemon refused what was repeated after a reconnect", "the agent has to ask again"),
    event("the daemon sent a line without meaning", "a defect, or another program at the socket"),
    event("the daemon sent an over-long line, dropped", "the same"),
];
