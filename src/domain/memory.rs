//! A memory: the thing everything else here is about.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::id::MemoryId;
use super::namespace::Namespace;

/// Declares an enum of named values with `ALL`, `as_str` and `FromStr`-like `parse`.
macro_rules! named_values {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name that users read and write and that is stored.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Reads a name, ignoring case and surrounding white space.
            pub fn parse(text: &str) -> Option<Self> {
                let text = text.trim();
                Self::ALL.iter().copied().find(|value| value.as_str().eq_ignore_ascii_case(text))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(super) use named_values;

named_values! {
    /// What sort of statement a memory is.
    Kind {
        /// Something that is so.
        Fact = "fact",
        /// What somebody likes or wants.
        Preference = "preference",
        /// A standing order of the user.
        Instruction = "instruction",
        /// Something that happened.
        Event = "event",
        /// How something is done.
        Procedure = "procedure",
        /// Something to be done.
        Task = "task",
        /// A thought about other memories.
        Reflection = "reflection",
        /// A summary of other memories.
        Summary = "summary",
        /// Who the user is.
        Profile = "profile",
    }
}

named_values! {
    /// The two kinds of long-term memory (Tulving 1972).
    Layer {
        /// Bound to a time: events and tasks.
        Episodic = "episodic",
        /// Everything else.
        Semantic = "semantic",
    }
}

impl Kind {
    /// The layer this kind belongs to.
    pub const fn layer(self) -> Layer {
        match self {
            Self::Event | Self::Task => Layer::Episodic,
            Self::Fact
            | Self::Preference
            | Self::Instruction
            | Self::Procedure
            | Self::Reflection
            | Self::Summary
            | Self::Profile => Layer::Semantic,
        }
    }
}

named_values! {
    /// Where a memory stands in its life. Forgotten memories have no status: they are not there.
    Status {
        /// Current.
        Active = "active",
        /// Replaced by a newer one.
        Superseded = "superseded",
        /// No longer true, without a successor.
        Invalidated = "invalidated",
        /// Cold: kept, found only when asked for.
        Archived = "archived",
    }
}

named_values! {
    /// How a memory came to be.
    Origin {
        /// Somebody stored it.
        Stated = "stated",
        /// Taken out of a conversation.
        Extracted = "extracted",
        /// Made from other memories.
        Consolidated = "consolidated",
        /// Brought from another store.
        Imported = "imported",
    }
}

/// Strength at a moment; what it is later follows from [`super::decay`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// Strength at `at`, 0.0..=1.0.
    pub value: f64,
    /// When it had that value.
    pub at: Timestamp,
}

/// How a memory has been used. Kept beside the record: using a memory is no change of it, so it
/// makes no version and no log entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// Last time it was returned by a search or read.
    pub last_recalled_at: Option<Timestamp>,
    /// How often it was returned or read.
    pub recalls: u64,
    /// The strength anchor.
    pub anchor: Anchor,
}

/// Metadata: top-level keys of a JSON object, each with its value as compact JSON text.
pub type Metadata = BTreeMap<String, String>;

/// A memory as the service sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Its id.
    pub id: MemoryId,
    /// Where it lives.
    pub namespace: Namespace,
    /// The text, 1 byte to 32 KiB, after redaction.
    pub content: Arc<str>,
    /// What sort of statement it is.
    pub kind: Kind,
    /// Sorted, without repeats.
    pub tags: Vec<String>,
    /// Free fields of the caller.
    pub metadata: Metadata,
    /// The conversation it comes from.
    pub session: Option<String>,
    /// The agent that stored it.
    pub agent: Option<String>,
    /// When what it says happened.
    pub occurred_at: Option<Timestamp>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// 0.0..=1.0, given at storing.
    pub importance: f64,
    /// Never decays, never archived.
    pub pinned: bool,
    /// Where it stands in its life.
    pub status: Status,
    /// The memory it replaced.
    pub supersedes: Option<MemoryId>,
    /// The memory that replaced it.
    pub superseded_by: Option<MemoryId>,
    /// Until when it was true; `None` while it is.
    pub valid_to: Option<Timestamp>,
    /// The memories that it was made of, without repeats; none: it was not made of memories. It is
    /// withdrawn when one of them is forgotten.
    pub derived_from: Vec<MemoryId>,
    /// The summary that speaks for it now.
    pub consolidated_into: Option<MemoryId>,
    /// Memories that say otherwise, without it being clear which is right; they name it too.
    pub contradicts: Vec<MemoryId>,
    /// How it came to be.
    pub origin: Origin,
    /// Grows by one with each change, from 1.
    pub version: u64,
    /// How it has been used.
    pub usage: Usage,
}

impl Memory {
    /// Event time: `occurred_at`, else `created_at`.
    pub fn event_time(&self) -> Timestamp {
        self.occurred_at.unwrap_or(self.created_at)
    }
}

#[cfg(test)]
impl Memory {
    /// A fact with nothing special about it, stated in the namespace `user` at this time, for tests.
    pub(crate) fn plain(id: MemoryId, content: &str, at: Timestamp) -> Self {
        Self {
            id,
            namespace: Namespace::user(),
            content: Arc::from(content),
            kind: Kind::Fact,
            tags: Vec::new(),
            metadata: Metadata::new(),
            session: None,
            agent: None,
            occurred_at: None,
            created_at: at,
            updated_at: at,
            importance: 0.5,
            pinned: false,
            status: Status::Active,
            supersedes: None,
            superseded_by: None,
            valid_to: None,
            derived_from: Vec::new(),
            consolidated_into: None,
            contradicts: Vec::new(),
            origin: Origin::Stated,
            version: 1,
            usage: Usage { last_recalled_at: None, recalls: 0, anchor: Anchor { value: 0.5, at } },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_in_any_case() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(&format!(" {} ", kind.as_str().to_uppercase())), Some(*kind));
        }
        assert_eq!(Kind::parse("opinion"), None);
    }
}
