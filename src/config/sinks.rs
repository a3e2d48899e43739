//! `[sinks.NAME]`: where reminders go. Which options a kind has stands in
//! [`crate::domain::sink::SinkKind`]. What could be a secret is never quoted in a problem.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::civil::Weekday;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::endpoint;
use super::layer::Layer;
use super::paths::Environment;
use super::problem::Problem;
use super::reader::{Reader, found, integer, signed};
use crate::domain::limits::SINKS_MAX;
use crate::domain::reminder::{Weekdays, zone_named};
use crate::domain::sink::{OPTIONS, SinkKind, SinkSettings};

const KEY: &str = "sinks";
/// What every kind has.
const COMMON: [&str; 9] = [
    "kind",
    "timeout_ms",
    "allow_private",
    "text_max",
    "pace_ms",
    "burst",
    "quiet",
    "quiet_days",
    "zone",
];
/// The days of the week as `quiet_days` has them.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// What a file is called that systemd hands over.
const CREDENTIAL: &str = "credential:";
/// Longest name of a sink, bytes.
const NAME_BYTES_MAX: usize = 40;

/// The sinks of the highest layer that gives some, by name. Those of lower layers are checked too.
pub(super) fn read(reader: &mut Reader<'_, '_>) -> Vec<SinkSettings> {
    let environment = reader.environment;
    let mut sinks = Vec::new();
    for (layer, leaf) in reader.given(KEY) {
        sinks = of_layer(layer, &leaf.value, environment, &mut reader.problems);
    }
    sinks
}

fn of_layer<'i>(
    layer: &Layer<'i>,
    value: &Spanned<DeValue<'i>>,
    environment: &Environment,
    problems: &mut Vec<Problem>,
) -> Vec<SinkSettings> {
    let place = layer.place(value.span().start);
    let Some(table) = value.get_ref().as_table() else {
        let found = format!("a value of type {}", value.get_ref().type_str());
        problems.push(Problem::value(place, KEY, "tables, [sinks.NAME]", found));
        return Vec::new();
    };
    if table.len() > SINKS_MAX {
        let expected = format!("at most {SINKS_MAX} sinks");
        problems.push(Problem::value(place, KEY, expected, table.len().to_string()));
    }
    let mut sinks = Vec::new();
    for (name, value) in table {
        let (at, name) = (name.span().start, name.get_ref().as_ref());
        let path = format!("{KEY}.{name}");
        let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_fit) {
            let expected = format!("a name of 1 to {NAME_BYTES_MAX} characters of a-z 0-9 _ -");
            problems.push(Problem::value(layer.place(at), path, expected, format!("{name:?}")));
            continue;
        }
        let Some(table) = value.get_ref().as_table() else {
            let found = format!("a value of type {}", value.get_ref().type_str());
            let place = layer.place(value.span().start);
            problems.push(Problem::value(place, path, "a table", found));
            continue;
        };
        let mut entry = Entry { layer, problems, path, at, table, environment };
        sinks.extend(entry.sink(name));
    }
    sinks
}

/// One sink of one layer.
struct Entry<'a, 'i> {
    layer: &'a Layer<'i>,
    problems: &'a mut Vec<Problem>,
    /// `sinks.NAME`.
    path: String,
    /// Where its name stands.
    at: usize,
    table: &'a DeTable<'i>,
    environment: &'a Environment,
}

/// Whether a refused value is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Yes,
    /// It could be a secret that was written where its file is named.
    No,
}

impl<'i> Entry<'_, 'i> {
    fn sink(&mut self, name: &str) -> Option<SinkSettings> {
        let kinds: Vec<String> =
            SinkKind::ALL.iter().map(|kind| format!("{:?}", kind.as_str())).collect();
        let expected = format!("one of {}", kinds.join(", "));
        if self.table.get("kind").is_none() {
            self.miss("kind", &expected, "nothing");
        }
        let kind = self.take("kind", &expected, Shown::Yes, |value| {
            SinkKind::ALL.iter().copied().find(|kind| Some(kind.as_str()) == value.as_str())
        })?;
        self.check_options(kind);
        let mut settings = SinkSettings::new(name, kind);
        self.addresses(&mut settings);
        settings.username = self.text("username");
        settings.command = self.command();
        settings.links = self.flag("links").unwrap_or(settings.links);
        let abilities = &mut settings.abilities;
        abilities.knows_keys = self.flag("knows_keys").unwrap_or(abilities.knows_keys);
        let most = abilities.text_max as u64;
        if let Some(n) = self.number("text_max", 200, most.saturating_mul(10)) {
            abilities.text_max = usize::try_from(n).unwrap_or(abilities.text_max);
        }
        if let Some(ms) = self.number("pace_ms", 0, 3_600_000) {
            abilities.pace.every =
                SignedDuration::from_millis(i64::try_from(ms).unwrap_or_default());
        }
        if let Some(n) = self.number("burst", 1, 1_000) {
            abilities.pace.burst = u32::try_from(n).unwrap_or(1);
        }
        if let Some(ms) = self.number("timeout_ms", 1_000, 120_000) {
            settings.timeout = Duration::from_millis(ms);
        }
        self.networks(&mut settings);
        self.hours(&mut settings);
        if kind == SinkKind::Email && settings.username.is_some() != settings.token_file.is_some() {
            self.miss("username", "username and token_file together, or neither", "one of them");
        }
        Some(settings)
    }

    /// Where it is and for whom.
    fn addresses(&mut self, settings: &mut SinkSettings) {
        let kind = settings.kind;
        settings.url_file = self.file("url_file");
        settings.token_file = self.file("token_file");
        settings.secret_file = self.file("secret_file");
        settings.to_file = self.file("to_file");
        if let Some(url) = self.url(kind) {
            settings.url = Some(url);
        } else if kind == SinkKind::Desktop {
            settings.url = Some(self.environment.session_bus());
        }
        settings.from =
            self.take("from", "an address, like \"me@example.org\"", Shown::Yes, |value| {
                value.as_str().filter(|text| text.contains('@')).map(str::to_owned)
            });
        settings.to = self.to(kind);
    }

    /// Every option is one that its kind has, and of those that it needs one each is there.
    fn check_options(&mut self, kind: SinkKind) {
        let taken = kind.needs().iter().copied().flatten().chain(kind.takes()).copied();
        let known: Vec<String> =
            COMMON.into_iter().chain(taken).map(|name| format!("{}.{name}", self.path)).collect();
        for (name, _) in self.table {
            let key = format!("{}.{}", self.path, name.get_ref());
            if !known.contains(&key) {
                let place = self.layer.place(name.span().start);
                let names = known.iter().map(String::as_str);
                self.problems.push(Problem::unknown_key(place, &key, names));
            }
        }
        debug_assert!(kind.takes().iter().all(|name| OPTIONS.contains(name)));
        for group in kind.needs() {
            let given: Vec<&&str> =
                group.iter().filter(|name| self.table.contains_key(**name)).collect();
            if given.len() != 1 {
                let expected = match group {
                    [one] => format!("{one}, which a sink of kind {kind} needs"),
                    _ => format!("one of {}, which a sink of kind {kind} needs", group.join(", ")),
                };
                let found = if given.is_empty() { "nothing" } else { "more than one" };
                self.miss(group.first().copied().unwrap_or_default(), &expected, found);
            }
        }
    }

    /// An address that is no secret.
    fn url(&mut self, kind: SinkKind) -> Option<String> {
        const BASE: &str = "http or https, a host, and neither user, password, query nor fragment";
        let (expected, schemes): (_, &[&str]) = if kind == SinkKind::Email {
            ("smtps://host or smtp://host, with a port if need be", &["smtps://", "smtp://"])
        } else if kind == SinkKind::Desktop {
            ("the address of a bus, like \"unix:path=/run/user/1000/bus\"", &["unix:"])
        } else {
            (BASE, &[])
        };
        self.take("url", expected, Shown::No, |value| {
            let text = value.as_str()?;
            let is_fit = if schemes.is_empty() {
                endpoint::base(text).is_some()
            } else {
                let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
                rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['@', '?', '#', ' ']))
            };
            is_fit.then(|| text.to_owned())
        })
    }

    /// Whom it is for: one text or number, or, of mailboxes, several.
    fn to(&mut self, kind: SinkKind) -> Vec<String> {
        let (expected, is_fit): (_, fn(&str) -> bool) = if kind == SinkKind::Email {
            ("an address, or a list of them", |text| text.contains('@'))
        } else if kind == SinkKind::Matrix {
            ("the id of a room, like \"!abc:example.org\"", |text| text.starts_with('!'))
        } else if kind == SinkKind::Telegram {
            let is_chat = |text: &str| text.starts_with('@') || text.parse::<i64>().is_ok();
            ("the number of a chat, or \"@channel\"", is_chat)
        } else {
            ("a text", |text| !text.trim().is_empty())
        };
        let one = |value: &DeValue<'_>| {
            let text = match value.as_str() {
                Some(text) => text.to_owned(),
                None => signed(value)?.to_string(),
            };
            is_fit(&text).then_some(text)
        };
        let read = self.take("to", expected, Shown::Yes, |value| match value.as_array() {
            Some(items) if kind == SinkKind::Email && !items.is_empty() => {
                items.iter().map(|item| one(item.get_ref())).collect()
            }
            Some(_) => None,
            None => one(value).map(|text| vec![text]),
        });
        read.unwrap_or_default()
    }

    fn command(&mut self) -> Vec<String> {
        let expected = "a program by its absolute path, and its arguments, each a string";
        let read = self.take("command", expected, Shown::No, |value| {
            let words = value.as_array()?.iter().map(|word| word.get_ref().as_str());
            let words: Vec<String> =
                words.map(|word| word.map(str::to_owned)).collect::<Option<_>>()?;
            words.first().is_some_and(|program| program.starts_with('/')).then_some(words)
        });
        read.unwrap_or_default()
    }

    /// A file that holds a secret.
    fn file(&mut self, name: &str) -> Option<PathBuf> {
        let (home, credentials) = (self.environment.home(), self.environment.credentials());
        let expected = "an absolute path, a path that starts with ~/, or credential:NAME";
        self.take(name, expected, Shown::No, |value| {
            let text = value.as_str()?;
            if let Some(name) = text.strip_prefix(CREDENTIAL) {
                let is_name = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
                return is_name.then(|| credentials.join(name));
            }
            let path = match (text.strip_prefix("~/"), &home) {
                (Some(below), Some(home)) => home.join(below),
                _ => PathBuf::from(text),
            };
            path.is_absolute().then_some(path)
        })
    }

    /// When nobody wants to be disturbed there.
    fn hours(&mut self, settings: &mut SinkSettings) {
        let expected = "quiet hours like \"22:00-07:00\", from 00:00 to 23:59, of two different times; \
                        none: leave the key out";
        settings.quiet =
            self.take("quiet", expected, Shown::Yes, |value| value.as_str()?.parse().ok());
        let expected = format!("a list of days, like [\"sat\", \"sun\"], of {}", DAYS.join(", "));
        let days = self.take("quiet_days", &expected, Shown::Yes, |value| {
            let days: Weekdays = value
                .as_array()?
                .iter()
                .map(|day| weekday(day.get_ref()))
                .collect::<Option<_>>()?;
            (!days.is_empty()).then_some(days)
        });
        match (settings.quiet, days) {
            (Some(quiet), Some(days)) => settings.quiet = Some(quiet.on(days)),
            (None, Some(_)) if !self.table.contains_key("quiet") => {
                self.miss("quiet", "the hours that quiet_days is about", "nothing");
            }
            (Some(_) | None, None) | (None, Some(_)) => {}
        }
        let expected = "the name of a time zone like \"Europe/Berlin\"";
        settings.zone =
            self.take("zone", expected, Shown::Yes, |value| zone_named(value.as_str()?).ok());
    }

    fn networks(&mut self, settings: &mut SinkSettings) {
        let expected = "a list of addresses or networks, like [\"192.168.1.20\", \"10.0.0.0/8\"]";
        let read = self.take("allow_private", expected, Shown::Yes, |value| {
            value.as_array()?.iter().map(|item| item.get_ref().as_str()?.parse().ok()).collect()
        });
        settings.allow_private = read.unwrap_or_default();
    }

    fn text(&mut self, name: &str) -> Option<String> {
        self.take(name, "a string", Shown::Yes, |value| value.as_str().map(str::to_owned))
    }

    fn flag(&mut self, name: &str) -> Option<bool> {
        self.take(name, "true or false", Shown::Yes, DeValue::as_bool)
    }

    fn number(&mut self, name: &str, least: u64, most: u64) -> Option<u64> {
        let expected = format!("a whole number from {least} to {most}");
        self.take(name, &expected, Shown::Yes, |value| {
            integer(value).filter(|number| (least..=most).contains(number))
        })
    }

    /// The value of an option, if it is there and `convert` reads it.
    fn take<T>(
        &mut self,
        name: &str,
        expected: &str,
        shown: Shown,
        convert: impl Fn(&DeValue<'i>) -> Option<T>,
    ) -> Option<T> {
        let value = self.table.get(name)?;
        let converted = convert(value.get_ref());
        if converted.is_none() {
            let place = self.layer.place(value.span().start);
            let found = match (shown, value.get_ref().as_str()) {
                (Shown::Yes, _) => found(value.get_ref()),
                (Shown::No, Some(text)) => {
                    format!("something else, {} characters long", text.chars().count())
                }
                (Shown::No, None) => format!("a value of type {}", value.get_ref().type_str()),
            };
            let key = format!("{}.{name}", self.path);
            self.problems.push(Problem::value(place, key, expected, found));
        }
        converted
    }

    fn miss(&mut self, name: &str, expected: &str, found: &str) {
        let place = self.layer.place(self.at);
        let key = format!("{}.{name}", self.path);
        self.problems.push(Problem::value(place, key, expected, found));
    }
}

/// A day of the week by the first three letters of its name.
fn weekday(value: &DeValue<'_>) -> Option<Weekday> {
    let name = value.as_str()?.trim().to_lowercase();
    let place = DAYS.iter().position(|day| *day == name)?;
    Weekday::from_monday_zero_offset(i8::try_from(place).ok()?).ok()
}
