//! Where a reminder can be sent: the kinds of sinks, what each needs to be set and what each can do.

use std::path::PathBuf;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::address::Network;
use super::memory::named_values;
use super::reminder::{DeliveryKey, Pace, QuietHours};

named_values! {
    /// What sort of place a sink is.
    SinkKind {
        /// A Slack channel, by an incoming webhook.
        Slack = "slack",
        /// A Telegram chat, by a bot.
        Telegram = "telegram",
        /// A Feishu or Lark group, by a custom bot.
        Feishu = "feishu",
        /// A `DingTalk` group, by a custom bot.
        DingTalk = "dingtalk",
        /// A `WeCom` group, by a bot.
        WeCom = "wecom",
        /// A topic of ntfy.
        Ntfy = "ntfy",
        /// Any program that takes JSON, signed as Standard Webhooks asks.
        Json = "json",
        /// The desktop of the session, by D-Bus.
        Desktop = "desktop",
        /// A Discord channel, by a webhook.
        Discord = "discord",
        /// A Microsoft Teams channel, by a workflow.
        Teams = "teams",
        /// A Mattermost channel, by an incoming webhook.
        Mattermost = "mattermost",
        /// A Rocket.Chat channel, by an incoming webhook.
        RocketChat = "rocketchat",
        /// A Google Chat space, by a webhook.
        GoogleChat = "googlechat",
        /// An application of Gotify.
        Gotify = "gotify",
        /// A Matrix room without encryption.
        Matrix = "matrix",
        /// Mailboxes, by SMTP.
        Email = "email",
        /// A program that is started for each message.
        Exec = "exec",
        /// The log of the daemon.
        Log = "log",
    }
}

/// The options that only some kinds have, as the configuration calls them.
pub const OPTIONS: [&str; 11] = [
    "url",
    "url_file",
    "token_file",
    "secret_file",
    "to",
    "to_file",
    "from",
    "username",
    "command",
    "links",
    "knows_keys",
];

impl SinkKind {
    /// The options that must be given: of each group exactly one.
    pub const fn needs(self) -> &'static [&'static [&'static str]] {
        const URL_FILE: &[&str] = &["url_file"];
        const URL: &[&str] = &["url"];
        const TOKEN: &[&str] = &["token_file"];
        const TO: &[&str] = &["to"];
        match self {
            Self::Slack
            | Self::Feishu
            | Self::DingTalk
            | Self::WeCom
            | Self::Discord
            | Self::Teams
            | Self::Mattermost
            | Self::RocketChat
            | Self::GoogleChat => &[URL_FILE],
            Self::Telegram => &[TOKEN, TO],
            Self::Ntfy => &[&["to", "to_file"]],
            Self::Json => &[&["url", "url_file"]],
            Self::Gotify => &[URL, TOKEN],
            Self::Matrix => &[URL, TOKEN, TO],
            Self::Email => &[URL, &["from"], TO],
            Self::Exec => &[&["command"]],
            Self::Desktop | Self::Log => &[],
        }
    }

    /// The options that may be given besides.
    pub const fn takes(self) -> &'static [&'static str] {
        match self {
            Self::Feishu | Self::DingTalk => &["secret_file", "links"],
            Self::WeCom | Self::Discord | Self::Mattermost | Self::GoogleChat | Self::Matrix => {
                &["links"]
            }
            Self::Telegram | Self::Desktop => &["url"],
            Self::Ntfy => &["url", "token_file"],
            Self::Json => &["token_file", "secret_file", "knows_keys"],
            Self::Email => &["username", "token_file"],
            Self::Slack
            | Self::Teams
            | Self::RocketChat
            | Self::Gotify
            | Self::Exec
            | Self::Log => &[],
        }
    }

    /// Where a service is that has one place for everybody.
    pub const fn default_url(self) -> Option<&'static str> {
        if matches!(self, Self::Telegram) {
            Some("https://api.telegram.org")
        } else if matches!(self, Self::Ntfy) {
            Some("https://ntfy.sh")
        } else {
            None
        }
    }
}

/// A sink as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkSettings {
    /// What the configuration calls it.
    pub name: String,
    /// What sort of place it is.
    pub kind: SinkKind,
    /// Where it is, if that is no secret.
    pub url: Option<String>,
    /// File with the address, which is a secret at most services.
    pub url_file: Option<PathBuf>,
    /// File with the token, key or password that it wants.
    pub token_file: Option<PathBuf>,
    /// File with the secret that messages are signed with.
    pub secret_file: Option<PathBuf>,
    /// Whom it is for there: a chat, a room, a topic, or addresses of mailboxes.
    pub to: Vec<String>,
    /// File with the same, where that is a secret.
    pub to_file: Option<PathBuf>,
    /// Sender of a mail.
    pub from: Option<String>,
    /// Name to log in with at a mail server.
    pub username: Option<String>,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Whether addresses in a text stay links where a preview of them cannot be switched off.
    pub links: bool,
    /// Time for one message.
    pub timeout: Duration,
    /// Addresses that are neither this machine nor public and may be used all the same.
    pub allow_private: Vec<Network>,
    /// Hours in which nobody wants to be disturbed there.
    pub quiet: Option<QuietHours>,
    /// The zone of those hours; `None`: the usual one.
    pub zone: Option<TimeZone>,
    /// What it can do.
    pub abilities: Abilities,
}

impl SinkSettings {
    /// A sink of which nothing but name and kind is set.
    pub fn new(name: impl Into<String>, kind: SinkKind) -> Self {
        Self {
            name: name.into(),
            kind,
            url: kind.default_url().map(str::to_owned),
            url_file: None,
            token_file: None,
            secret_file: None,
            to: Vec::new(),
            to_file: None,
            from: None,
            username: None,
            command: Vec::new(),
            links: false,
            timeout: Duration::from_secs(20),
            allow_private: Vec::new(),
            quiet: None,
            zone: None,
            abilities: Abilities::of(kind),
        }
    }

    /// The key of the configuration that sets one of its options.
    pub fn key(&self, option: &str) -> String {
        format!("sinks.{}.{option}", self.name)
    }
}

/// What the length of a text is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextUnit {
    /// Unicode scalar values.
    Chars,
    /// UTF-16 code units.
    Utf16,
    /// Bytes of UTF-8.
    Bytes,
}

impl TextUnit {
    /// How long a text is.
    pub fn length(self, text: &str) -> usize {
        match self {
            Self::Chars => text.chars().count(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::Bytes => text.len(),
        }
    }
}

/// What a sink can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Whether it tells by its key that it has a message already, so that one which may have arrived
    /// can be sent again without harm.
    pub knows_keys: bool,
    /// Whether a person can acknowledge a message there, where the place is one that can.
    pub has_ack: bool,
    /// Longest text, in `text_unit`; what it takes more is cut.
    pub text_max: usize,
    /// What that is counted in.
    pub text_unit: TextUnit,
    /// How often it takes a message.
    pub pace: Pace,
    /// Whether it asks senders to avoid full and half hours.
    pub avoids_half_hours: bool,
}

/// Longest text to a program that takes JSON, bytes.
const JSON_TEXT_MAX: usize = 200 * 1024;

impl Abilities {
    /// What a kind can do by what its vendor writes or, where that is silent, by what is known of it;
    /// texts have nine tenths of what is taken, and less where the whole request is limited, in
    /// which each quotation mark counts twice.
    pub const fn of(kind: SinkKind) -> Self {
        use TextUnit::{Bytes, Chars, Utf16};
        let (text_max, text_unit, pace_ms, burst) = match kind {
            // Slack: 4,000 recommended, 40,000 cut off; 1/s with bursts. Mattermost: 16,383, with older
            // servers 4,000.
            SinkKind::Slack | SinkKind::Mattermost => (3_600, Chars, 1_000, 5),
            // 4,096; 1/s in a chat, 20/min in a group.
            SinkKind::Telegram => (3_686, Utf16, 3_000, 3),
            // A request of 20 KB; 100/min and 5/s.
            SinkKind::Feishu => (9_000, Bytes, 600, 5),
            // A request of 20,000 bytes; 20/min, else muted for 10 min.
            SinkKind::DingTalk => (9_000, Bytes, 3_300, 5),
            // 2,048; 20/min.
            SinkKind::WeCom => (1_843, Bytes, 3_300, 5),
            // 4,096, longer ones become files; 60 at once, then 1 in 5 s.
            SinkKind::Ntfy => (3_686, Bytes, 5_000, 30),
            SinkKind::Json | SinkKind::Exec => (JSON_TEXT_MAX, Bytes, 100, 20),
            // Popups show a few lines.
            SinkKind::Desktop => (1_000, Chars, 500, 5),
            // 2,000; 5 in 2 s and 30/min.
            SinkKind::Discord => (1_800, Chars, 2_000, 4),
            // A request of 28 KB; 4/s.
            SinkKind::Teams => (9_000, Bytes, 500, 4),
            // 5,000 unless set otherwise.
            SinkKind::RocketChat => (4_500, Chars, 1_000, 5),
            // 4,096 in older documents, 32,000 bytes in newer ones; 1/s in a space.
            SinkKind::GoogleChat => (3_686, Bytes, 1_000, 1),
            SinkKind::Gotify => (9_000, Chars, 500, 10),
            // An event of 65 KB.
            SinkKind::Matrix => (18_000, Bytes, 1_000, 5),
            SinkKind::Email => (100_000, Bytes, 10_000, 5),
            SinkKind::Log => (9_000, Bytes, 0, 100),
        };
        Self {
            knows_keys: matches!(kind, SinkKind::Json | SinkKind::Matrix),
            has_ack: matches!(kind, SinkKind::Desktop),
            text_max,
            text_unit,
            pace: Pace { every: SignedDuration::from_millis(pace_ms), burst },
            avoids_half_hours: matches!(kind, SinkKind::Feishu),
        }
    }
}

/// What is told. Its words may come from memories, so that no sink takes them for anything but text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What makes it one and the same in every attempt.
    pub key: DeliveryKey,
    /// What it is about, in one line.
    pub title: String,
    /// The rest, perhaps nothing.
    pub text: String,
    /// A last line that is never cut off: how to answer.
    pub footer: String,
    /// Whether it is more than a notice.
    pub is_urgent: bool,
    /// Whether an earlier attempt may have arrived.
    pub may_repeat: bool,
    /// When what it tells was due.
    pub due_at: Timestamp,
    /// Handles of the reminders that it tells.
    pub reminders: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_a_kind_is_an_option_there_is() {
        for kind in SinkKind::ALL {
            let all = kind.needs().iter().copied().flatten().chain(kind.takes());
            for option in all.clone() {
                assert!(OPTIONS.contains(option), "{kind}: {option}");
                assert_eq!(all.clone().filter(|other| *other == option).count(), 1, "{kind}");
            }
        }
    }

    #[test]
    fn a_text_is_as_long_as_its_unit_says() {
        for (text, chars, utf16, bytes) in
            [("", 0, 0, 0), ("abc", 3, 3, 3), ("\u{4f1a}\u{8bae}", 2, 2, 6), ("\u{1f600}", 1, 2, 4)]
        {
            assert_eq!(TextUnit::Chars.length(text), chars);
            assert_eq!(TextUnit::Utf16.length(text), utf16);
            assert_eq!(TextUnit::Bytes.length(text), bytes);
        }
    }

    #[test]
    fn every_kind_has_room_for_a_message_and_a_pace() {
        for kind in SinkKind::ALL {
            let abilities = Abilities::of(*kind);
            assert!(abilities.text_max >= 1_000 && abilities.pace.burst >= 1, "{kind}");
        }
    }
}
