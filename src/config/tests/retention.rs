//! Rules of retention, and the switches of contradictions and archiving.

use super::*;
use crate::domain::archive::ArchivePolicy;
use crate::domain::contradiction::Policy;
use crate::domain::memory::{Kind, Status};

#[test]
fn there_are_no_rules_unless_somebody_gives_some() {
    let config = Machine::with_file("").load().config;
    assert!(config.retention.is_empty());
    assert_eq!(config.archive, ArchivePolicy::default());
    assert!(config.contradiction.is_automatic);
    assert_eq!(config.contradiction.policy, Policy::default());
    let text = "[[retention.rules]]\nnamespace = 'shared/*'\nkinds = ['event']\n\
                statuses = ['archived']\nolder_than_days = 30\n\
                [[retention.rules]]\nnamespace = 'agent/ci'\nolder_than_days = 7\n";
    let rules = Machine::with_file(text).load().config.retention;
    assert_eq!(
        (&rules[0].kinds[..], &rules[0].statuses[..]),
        (&[Kind::Event][..], &[Status::Archived][..])
    );
    assert_eq!((rules.len(), rules[1].older_than_days), (2, 7));
    assert!(rules[1].kinds.is_empty() && rules[1].statuses.is_empty());
}

#[test]
fn a_rule_that_is_none_is_told_with_its_place_and_the_reason() {
    for (rule, why) in [
        ("namespace = 'user'", "`older_than_days` is no whole number from 1 to 36500"),
        ("older_than_days = 3", "`namespace` is no pattern"),
        ("namespace = 'user'\nolder_than_days = 0", "`older_than_days`"),
        ("namespace = 'user'\nolder_than_days = 3\nkinds = ['opinion']", "`kinds` is no list"),
        ("namespace = 'user'\nolder_than_days = 3\nage = 3", "there is no field `age`"),
    ] {
        let problems = Machine::with_file(&format!("[[retention.rules]]\n{rule}\n")).problems();
        assert!(
            problems.contains("retention.rules") && problems.contains(why),
            "{rule}: {problems}"
        );
    }
    assert!(Machine::with_file("retention.rules = 3").problems().contains("the number 3"));
}
