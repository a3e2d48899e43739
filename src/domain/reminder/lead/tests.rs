//! Tests of leads.

use super::*;
use crate::domain::reminder::{Pattern, Rule, zone_named};

/// When the reminder of one occurrence in Berlin is due, in its zone.
#[track_caller]
fn check(lead: &str, at: &str, expected: &str) {
    let zone = zone_named("Europe/Berlin").unwrap();
    let rule = Rule::every(at.parse().unwrap(), zone, Pattern::Once).unwrap();
    let lead: Lead = lead.parse().unwrap();
    let moment = lead.moment(rule.first().unwrap(), rule.zone());
    let shown = moment.to_zoned_datetime(rule.zone().clone()).strftime("%F %R%:z").to_string();
    assert_eq!(shown, expected, "{lead} before {at}");
}

#[test]
fn elapsed_time_is_counted_on_a_stopwatch() {
    check("PT1H", "2026-11-27T15:00", "2026-11-27 14:00+01:00");
    check("PT0S", "2026-11-27T15:00", "2026-11-27 15:00+01:00");
    // 02:15 does not exist that night; 03:15 stands for it.
    check("PT1H", "2027-03-28T02:15", "2027-03-28 01:15+01:00");
    check("PT24H", "2027-03-28T09:00", "2027-03-27 08:00+01:00");
}

#[test]
fn days_are_counted_on_the_calendar() {
    check("P1D@18:00", "2026-11-27T15:00", "2026-11-26 18:00+01:00");
    check("P1D", "2027-03-28T09:00", "2027-03-27 09:00+01:00");
    check("P1W", "2026-10-26T09:00", "2026-10-19 09:00+02:00");
    check("P0D@08:30", "2026-11-27T15:00", "2026-11-27 08:30+01:00");
    // It moves forward like any time that is skipped.
    check("P1D@02:30", "2027-03-29T09:00", "2027-03-28 03:30+02:00");
}

#[test]
fn a_reminder_never_follows_what_it_is_about() {
    check("P0D@18:00", "2026-11-27T15:00", "2026-11-27 15:00+01:00");
}

#[test]
fn a_lead_that_is_written_is_read_back() {
    for text in ["PT0S", "PT1H", "PT1H30M", "P1D", "P7D", "P1D@18:00", "P0D@08:30", "P366D"] {
        assert_eq!(text.parse::<Lead>().unwrap().to_string(), text);
    }
    assert_eq!("1h 30m".parse(), Ok(Lead::minutes(90)));
    assert_eq!("90 minutes".parse(), Ok(Lead::minutes(90)));
    assert_eq!("PT8784H".parse::<Lead>().map(Lead::is_ahead), Ok(true));
    assert_eq!("PT0S".parse::<Lead>().map(Lead::is_ahead), Ok(false));
}

#[test]
fn anything_else_is_no_lead() {
    for text in [
        "",
        "soon",
        "-PT1H",
        "P1M",
        "P1Y",
        "P1DT1H",
        "P367D",
        "PT8785H",
        "PT0.5S",
        "PT1H@18:00",
        "P1D@25:00",
        "1",
    ] {
        let error = text.parse::<Lead>().map(|lead| lead.to_string()).unwrap_err().to_string();
        assert!(error.contains("PT1H"), "{text}: {error}");
    }
}
