//! `[session]` and `[extract]`.

use super::Machine;
use crate::domain::namespace::Namespace;

#[test]
fn each_namespace_has_its_own_threshold_and_weights_the_first_entry_counting() {
    let config = Machine::with_file(
        "[extract]\nmean_min = 3\n\
         [[extract.namespaces]]\nnamespace = \"shared/*\"\nmean_min = 4.5\n\
         [[extract.namespaces]]\nnamespace = \"shared/a\"\ndensity_weight = 0\n\
         [[extract.namespaces]]\nnamespace = \"user\"\nreusability_weight = 1\n",
    )
    .load()
    .config;
    let of = |name: &str| config.sessions.policy(&name.parse::<Namespace>().unwrap());
    assert!((of("shared/a").mean_min - 4.5).abs() < 1e-9);
    assert!((of("agent/a").mean_min - 3.0).abs() < 1e-9);
    let weights = of("user").weights.map(|weight| format!("{weight:.1}"));
    assert_eq!(weights, ["0.3", "0.2", "1.0"]);
}

#[test]
fn what_is_wrong_with_an_entry_is_told() {
    for (entry, said) in [
        ("{ mean_min = 4 }", "`namespace`"),
        ("{ namespace = \"No!\" }", "`namespace`"),
        ("{ namespace = \"user\", mean_min = 6 }", "`mean_min`"),
        ("{ namespace = \"user\", colour = 1 }", "`colour`"),
        (
            "{ namespace = \"user\", density_weight = 0, timeliness_weight = 0, reusability_weight = 0 }",
            "weights",
        ),
        ("7", "no table"),
    ] {
        let text = Machine::with_file(&format!("[extract]\nnamespaces = [{entry}]\n")).problems();
        assert!(text.contains("extract.namespaces") && text.contains(said), "{entry}: {text}");
    }
    for (text, key) in [
        ("[session]\nidle_minutes = 1440\nttl_hours = 1\n", "session.idle_minutes"),
        (
            "[extract]\ndensity_weight = 0\ntimeliness_weight = 0\nreusability_weight = 0\n",
            "extract.reusability_weight",
        ),
    ] {
        let problems = Machine::with_file(text).problems();
        assert!(problems.contains(key), "{problems}");
    }
}
