//! Extracts of small sets of notes, and the property that every extract is grounded.

use proptest::prelude::*;

use super::*;
use crate::domain::grounding::{self, Source, Summary};

const NOTES: [(&str, &str, &str); 6] = [
    ("m1", "2026-11-03T09:00", "Nightly backups of db-prod-2 run at 02:00. They take 45 minutes."),
    ("m2", "2026-11-05T10:00", "Alice moved the backups of db-prod-2 to the new storage."),
    ("m3", "2026-11-09T11:00", "The backup of db-prod-2 did not finish because the disk was full."),
    ("m4", "2026-11-12T12:00", "Bob freed 200 GB and the backup finished without errors."),
    ("m5", "2026-11-15T13:00", "Lunch was good. The coffee machine is broken!"),
    ("m6", "2026-11-20T14:00", "The restore test of db-prod-2 failed with exit code 7."),
];

fn items<'a>(notes: &'a [(&'a str, &'a str, &'a str)]) -> Vec<Item<'a>> {
    notes
        .iter()
        .map(|(id, time, text)| Item { id, text, event_time: time.parse().unwrap() })
        .collect()
}

#[test]
fn an_extract_quotes_what_matters_in_the_order_of_time_and_ends_with_the_newest() {
    let extract = extract(&items(&NOTES), &[], &Policy::default()).unwrap();
    assert!(extract.header.starts_with("db-prod-2, "), "{extract}");
    assert!(extract.header.ends_with("; 2026-11-03 – 2026-11-20"), "{extract}");
    assert!(extract.quotes.len() >= 2 && extract.quotes.len() <= 3, "{extract}");
    assert_eq!(extract.quotes.last().unwrap().id, "m6");
    assert!(extract.quotes.is_sorted_by_key(|quote| quote.date));
    assert!(extract.to_string().chars().count() <= 300, "{extract}");
    assert!(!extract.to_string().contains("coffee"), "{extract}");
    assert!(extract.to_string().contains("2026-11-20 [m6]: The restore test"), "{extract}");
}

#[test]
fn vectors_decide_when_they_are_given() {
    let notes = [
        ("a", "2026-01-01T00:00", "Alpha is first."),
        ("b", "2026-01-02T00:00", "Beta comes next."),
        ("c", "2026-01-03T00:00", "Gamma is alone."),
        ("d", "2026-01-04T00:00", "Delta is last."),
    ];
    let vectors: Vec<Vector> =
        [[1.0, 0.0], [0.98, 0.199], [0.0, 1.0], [1.0, 0.0]].map(Vector::from).to_vec();
    let policy = Policy { sentences_max: 2, ..Policy::default() };
    let extract = extract(&items(&notes), &vectors, &policy).unwrap();
    let ids: Vec<&str> = extract.quotes.iter().map(|quote| quote.id.as_str()).collect();
    assert_eq!(ids, ["b", "d"]);
    let novel = Policy { lambda: 0.2, ..policy };
    let extract = super::extract(&items(&notes), &vectors, &novel).unwrap();
    let ids: Vec<&str> = extract.quotes.iter().map(|quote| quote.id.as_str()).collect();
    assert_eq!(ids, ["c", "d"]);
}

#[test]
fn an_extract_is_in_the_language_of_its_items() {
    let notes = [
        ("m1", "2026-11-03T09:00", "数据库的备份每天凌晨两点开始。大约需要45分钟。"),
        ("m2", "2026-11-10T09:00", "昨天的备份没有完成，因为磁盘满了！"),
        ("m3", "2026-11-12T09:00", "张伟负责清理空间，备份已经完成。"),
    ];
    let extract = extract(&items(&notes), &[], &Policy::default()).unwrap();
    assert_eq!(extract.header, "张伟; 2026-11-03 – 2026-11-12");
    assert_eq!(extract.quotes.last().unwrap().text, "张伟负责清理空间，备份已经完成。");
}

#[test]
fn repeated_and_empty_items_add_nothing() {
    let policy = Policy::default();
    assert_eq!(extract(&[], &[], &policy), None);
    assert_eq!(extract(&items(&[("a", "2026-01-01T00:00", " \n. ")]), &[], &policy), None);
    let same =
        [("a", "2026-01-01T00:00", "We like tea."), ("b", "2026-01-02T00:00", "we like  tea.")];
    assert_eq!(extract(&items(&same), &[], &policy).unwrap().quotes.len(), 1);
}

#[test]
fn a_sentence_longer_than_the_room_is_cut() {
    let long = format!("The report says that {}, and it was not sent", "much was done ".repeat(60));
    let notes = [("a", "2026-01-01T00:00", "Short one."), ("b", "2026-01-02T00:00", long.as_str())];
    let extract = extract(&items(&notes), &[], &Policy::default()).unwrap();
    assert_eq!(extract.quotes.last().unwrap().id, "b");
    assert!(extract.to_string().chars().count() <= 300);
}

/// Pieces of which the property test makes memories.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "Alice",
        "Bob Miller",
        "the backup",
        "of db-prod-2",
        "did not finish",
        "failed",
        "never",
        "without errors",
        "on 20 November 2026",
        "at 3pm",
        "20 people",
        "1,000 EUR",
        "3.5 GB",
        "yesterday",
        "next Friday",
        "v1.2.3",
        "https://example.org/a?b=1",
        "/etc/recalld/config.toml",
        "192.168.7.1",
        "INC-90312",
        "and",
        "but",
        "because",
        "not only",
        ",",
        ", ",
        ". ",
        "! ",
        "? ",
        "\n",
        "; ",
        ": ",
        "(",
        ")",
        "\"",
        "…",
        "Dr. ",
        "e.g. ",
        "No. 5",
        "a.m. ",
        "张伟负责备份",
        "，",
        "。",
        "！",
        "？",
        "；",
        "没有完成",
        "失败了",
        "下午三点半",
        "11月20日",
        "二十人",
        "3公里",
        "昨天",
        "和李娜",
        "不仅",
        "但是",
        "三台服务器",
        "the very long story of",
        "it was great",
        "half past three",
        "three",
        "Nov 20",
        "2026",
        "7",
    ];
    prop_oneof![
        8 => prop::sample::select(pieces.map(str::to_owned).to_vec()),
        1 => "[a-zA-Z0-9.:/ -]{0,8}",
    ]
}

fn memory() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.join(" ").replace("  ", " "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_extract_is_grounded(
        texts in prop::collection::vec(memory(), 1..5),
        days in prop::collection::vec(1_i8..28, 5),
        chars_max in 60_usize..400,
    ) {
        let ids: Vec<String> = (0..texts.len()).map(|at| format!("s{at}")).collect();
        let items: Vec<Item<'_>> = texts
            .iter()
            .zip(&ids)
            .zip(&days)
            .map(|((text, id), day)| Item {
                id,
                text,
                event_time: jiff::civil::date(2026, 11, *day).at(9, 0, 0, 0),
            })
            .collect();
        let policy = Policy { chars_max, ..Policy::default() };
        if let Some(extract) = extract(&items, &[], &policy) {
            let sources: Vec<Source<'_>> = items
                .iter()
                .map(|item| Source { id: item.id, text: item.text, event_date: Some(item.event_time.date()) })
                .collect();
            let citations: Vec<&str> = ids.iter().map(String::as_str).collect();
            let text = extract.to_string();
            let summary = Summary { text: &text, citations: &citations };
            let violations = grounding::check(&summary, &sources, &grounding::Policy::for_extracts());
            prop_assert!(violations.is_empty(), "{violations:?} in `{text}`");
        }
    }
}
