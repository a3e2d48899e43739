//! How a sink is, in the words that every command and answer uses.

/// How a sink is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkCondition {
    /// Nothing is wrong with it that is known.
    Ok,
    /// It does not take messages now; it is tried again by itself.
    Failing,
    /// It took nothing from us, and was not tried since somebody has seen to it.
    Untried,
    /// It takes nothing until somebody sees to it.
    Disabled,
    /// The configuration does not have it any more, and messages for it are left.
    Gone,
}

impl SinkCondition {
    /// It in a word or two.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failing => "failing",
            Self::Untried => "not tried again yet",
            Self::Disabled => "disabled",
            Self::Gone => "not configured any more",
        }
    }

    /// What helps a sink of this name; `has_files`: it reads secrets from files.
    pub(super) fn advice(self, name: &str, has_files: bool) -> Option<String> {
        match self {
            Self::Ok | Self::Failing => None,
            Self::Untried => {
                Some(format!("the next message tries it; `recalld sinks test {name}` does at once"))
            }
            Self::Disabled => {
                let files =
                    if has_files { "; a change of its files is noticed by itself" } else { "" };
                Some(format!("see to it, then `recalld sinks test {name}`{files}"))
            }
            Self::Gone => Some(format!("`recalld remind dead drop --sink {name}` drops them")),
        }
    }
}
