//! What a look at one part came to, and how that is told.

use serde_json::{Map, Value};

/// How a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Well.
    Ok,
    /// Not there or switched off, and nothing is wrong with that.
    Off,
    /// It could not be found out.
    Unknown,
    /// Not as it should be; the daemon works.
    Degraded,
    /// Does not work.
    Down,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Off => "off",
            Self::Unknown => "unknown",
            Self::Degraded => "degraded",
            Self::Down => "down",
        }
    }
}

/// What a look at one part came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The part.
    pub part: &'static str,
    /// How it is.
    pub state: State,
    /// What was seen; since when and why, if it is not well.
    pub detail: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl Finding {
    /// A part that is well.
    pub fn ok(part: &'static str, detail: impl Into<String>) -> Self {
        Self { part, state: State::Ok, detail: detail.into(), advice: None }
    }

    /// A part that is not there, which is no fault.
    pub fn off(part: &'static str, detail: impl Into<String>) -> Self {
        Self { state: State::Off, ..Self::ok(part, detail) }
    }

    /// A part that could not be looked at.
    pub fn unknown(part: &'static str, detail: impl Into<String>) -> Self {
        Self { state: State::Unknown, ..Self::ok(part, detail) }
    }

    /// A part that is not as it should be.
    pub fn degraded(
        part: &'static str,
        detail: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { state: State::Degraded, ..Self::ok(part, detail) }.advise(advice)
    }

    /// A part that does not work.
    pub fn down(part: &'static str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: State::Down, ..Self::ok(part, detail) }.advise(advice)
    }

    /// The same with something that can be done.
    #[must_use]
    pub fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("part".to_owned(), self.part.into());
        fields.insert("state".to_owned(), self.state.as_str().into());
        fields.insert("detail".to_owned(), self.detail.clone().into());
        if let Some(advice) = &self.advice {
            fields.insert("advice".to_owned(), advice.clone().into());
        }
        Value::Object(fields)
    }
}

/// Everything that was found.
#[derive(Debug)]
pub(super) struct Report(pub(super) Vec<Finding>);

impl Report {
    /// Whether some part does not work.
    pub(super) fn is_down(&self) -> bool {
        self.0.iter().any(|finding| finding.state == State::Down)
    }

    fn count(&self, state: State) -> usize {
        self.0.iter().filter(|finding| finding.state == state).count()
    }

    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        let worst = self.0.iter().map(|finding| finding.state).max().unwrap_or(State::Ok);
        let verdict = if worst < State::Degraded { State::Ok } else { worst };
        let mut fields = Map::new();
        fields.insert("ok".to_owned(), (verdict == State::Ok).into());
        fields.insert("state".to_owned(), verdict.as_str().into());
        fields.insert("version".to_owned(), env!("CARGO_PKG_VERSION").into());
        let findings: Vec<Value> = self.0.iter().map(Finding::to_json).collect();
        fields.insert("findings".to_owned(), findings.into());
        Value::Object(fields)
    }

    /// For people: a line a part, more where there is more to say.
    pub(super) fn to_text(&self) -> String {
        let width = self.0.iter().map(|finding| finding.part.len()).max().unwrap_or(0);
        let indent = " ".repeat("degraded".len() + width + 4);
        let mut text = String::new();
        for Finding { part, state, detail, advice } in &self.0 {
            let detail = detail.replace('\n', &format!("\n{indent}"));
            text.push_str(&format!("{:8}  {part:width$}  {detail}\n", state.as_str()));
            if let Some(advice) = advice {
                let advice = advice.replace('\n', &format!("\n{indent}   "));
                text.push_str(&format!("{indent}-> {advice}\n"));
            }
        }
        let (n_down, n_degraded) = (self.count(State::Down), self.count(State::Degraded));
        text.push_str(&match (n_down, n_degraded) {
            (0, 0) => "Everything is well.".to_owned(),
            (0, n) => format!("It works; {n} of its parts could be better."),
            (n, _) => format!("{n} of its parts do not work."),
        });
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_as_bad_as_its_worst_finding() {
        let ok = Finding::ok("socket", "answers");
        let off = Finding::off("linger", "off");
        let degraded = Finding::degraded("clock", "not synchronised", "switch it on");
        let down = Finding::down("store", "the disk is full\nof logs", "free some space");
        for (findings, state, is_ok, is_down) in [
            (vec![], "ok", true, false),
            (vec![ok.clone(), off.clone()], "ok", true, false),
            (vec![ok.clone(), degraded.clone()], "degraded", false, false),
            (vec![down.clone(), degraded, off], "down", false, true),
        ] {
            let report = Report(findings);
            let json = report.to_json();
            assert_eq!(json["state"], state, "{json}");
            assert_eq!((&json["ok"], report.is_down()), (&is_ok.into(), is_down), "{json}");
        }
        let text = Report(vec![ok, down]).to_text();
        let expected = "\
ok        socket  answers
down      store   the disk is full
                  of logs
                  -> free some space
1 of its parts do not work.";
        assert_eq!(text, expected);
    }
}
