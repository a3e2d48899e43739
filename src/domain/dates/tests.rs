//! Tests of dates in questions.

use super::reader::DATES_MAX;
use super::*;

fn date(year: i16, month: i8, day: i8) -> AskedDate {
    let part = |n: i8| (n > 0).then_some(n);
    AskedDate { year: (year > 0).then_some(year), month: part(month), day: part(day) }
}

#[test]
fn dates_are_read_in_the_forms_people_write() {
    for (text, expected) in [
        ("What happened on 8 May 2023?", date(2023, 5, 8)),
        ("on 8th of May, 2023", date(2023, 5, 8)),
        ("on May 8, 2023", date(2023, 5, 8)),
        ("on May 8th 2023", date(2023, 5, 8)),
        ("the May 8 call", date(0, 5, 8)),
        ("On October 13, what did we eat?", date(0, 10, 13)),
        ("October 13: what did we eat?", date(0, 10, 13)),
        ("in May 8:30", date(0, 5, 0)),
        ("3 oct", date(0, 10, 3)),
        ("Sept. 5, 2022", date(2022, 9, 5)),
        ("5-Feb-2024", date(2024, 2, 5)),
        ("in July 2023", date(2023, 7, 0)),
        ("July, 2023", date(2023, 7, 0)),
        ("July of 2023", date(2023, 7, 0)),
        ("Where did we go in October?", date(0, 10, 0)),
        ("the trip in May", date(0, 5, 0)),
        ("last June", date(0, 6, 0)),
        ("in mid-August", date(0, 8, 0)),
        ("in 2023", date(2023, 0, 0)),
        ("2023?", date(2023, 0, 0)),
        ("until 10.01.2024.", date(2024, 1, 10)),
        ("2024-01-10", date(2024, 1, 10)),
        ("2024/1/10", date(2024, 1, 10)),
        ("2024-01-10T08:00:00Z", date(2024, 1, 10)),
        ("report for 2024-01", date(2024, 1, 0)),
        ("5月8日发生了什么？", date(0, 5, 8)),
        ("我5月8号去了哪里", date(0, 5, 8)),
        ("2023年10月", date(2023, 10, 0)),
        ("在2023年5月8日那天", date(2023, 5, 8)),
        ("２０２３年", date(2023, 0, 0)),
        ("10月的计划", date(0, 10, 0)),
    ] {
        assert_eq!(asked(text), [expected], "{text}");
    }
}

#[test]
fn what_only_looks_like_a_date_is_none() {
    for text in [
        "May I ask you something?",
        "what may happen",
        "march on",
        "What does June like?",
        "Is Jan there?",
        "router 192.168.7.1",
        "10.0.20.24",
        "ticket INC-2023",
        "v2023.1 is out",
        "model2023",
        "2023.5 litres",
        "room 1408",
        "port 3000",
        "2024-13-10",
        "45 May",
        "in 20235",
        "5个月",
        "2,023 people",
        "",
    ] {
        assert_eq!(asked(text), [], "{text}");
    }
}

#[test]
fn several_dates_are_read_once_each_and_bounded() {
    assert_eq!(
        asked("Between 3 May 2023 and July 2023, or 3 May 2023"),
        [date(2023, 5, 3), date(2023, 7, 0)]
    );
    let many: String = (1..=28).map(|day| format!("{day} May 2023, ")).collect();
    assert_eq!(asked(&many).len(), DATES_MAX);
}

#[test]
fn dates_print_as_people_say_them() {
    for (date, expected) in [
        (date(2023, 5, 8), "8 May 2023"),
        (date(0, 10, 13), "13 October"),
        (date(2023, 7, 0), "July 2023"),
        (date(2023, 0, 0), "2023"),
    ] {
        assert_eq!(date.to_string(), expected);
    }
}

#[test]
fn an_event_fits_by_its_day_then_by_what_is_near() {
    for (asked, event, expected) in [
        (date(2023, 5, 8), "2023-05-08T12:00:00Z", 1.0),
        (date(2023, 5, 8), "2023-05-07T12:00:00Z", 0.6),
        (date(2023, 5, 8), "2023-05-15T12:00:00Z", 0.25),
        (date(2023, 5, 8), "2023-05-16T12:00:00Z", 0.1),
        (date(2023, 5, 1), "2023-04-30T12:00:00Z", 0.6),
        (date(2023, 5, 8), "2023-06-20T12:00:00Z", 0.0),
        (date(2023, 5, 8), "2022-05-08T12:00:00Z", 0.0),
        (date(0, 5, 8), "2022-05-08T12:00:00Z", 1.0),
        (date(0, 12, 31), "2023-01-01T12:00:00Z", 0.6),
        (date(0, 2, 29), "2024-02-29T12:00:00Z", 1.0),
        (date(2023, 2, 31), "2023-02-10T12:00:00Z", 0.1),
        (date(2023, 7, 0), "2023-07-30T12:00:00Z", 0.5),
        (date(2023, 7, 0), "2022-07-30T12:00:00Z", 0.0),
        (date(0, 7, 0), "2022-07-30T12:00:00Z", 0.5),
        (date(2023, 0, 0), "2023-01-30T12:00:00Z", 0.15),
        (date(2023, 0, 0), "2024-01-30T12:00:00Z", 0.0),
    ] {
        let found = fit(&[asked], event.parse().unwrap(), &TimeZone::UTC);
        let points = found.map_or(0.0, |(_, points)| points);
        assert!((points - expected).abs() < 1e-12, "{asked} {event}: {points}");
    }
}

#[test]
fn the_day_of_an_event_is_that_of_the_zone() {
    let event: Timestamp = "2023-05-08T20:00:00Z".parse().unwrap();
    let zone = TimeZone::fixed(jiff::tz::offset(8));
    assert_eq!(fit(&[date(2023, 5, 9)], event, &zone), Some((date(2023, 5, 9), 1.0)));
    assert_eq!(fit(&[date(2023, 5, 9)], event, &TimeZone::UTC), Some((date(2023, 5, 9), 0.6)));
}

#[test]
fn of_several_dates_the_best_counts() {
    let event: Timestamp = "2023-05-08T20:00:00Z".parse().unwrap();
    let dates = [date(2023, 0, 0), date(2023, 5, 8), date(2023, 5, 0)];
    assert_eq!(fit(&dates, event, &TimeZone::UTC), Some((date(2023, 5, 8), 1.0)));
    assert_eq!(fit(&[], event, &TimeZone::UTC), None);
}
