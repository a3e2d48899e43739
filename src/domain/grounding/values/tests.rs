//! Tables of what is read from texts, and of what bears out what.

use proptest::prelude::*;

use super::*;

/// The values of a text in a short notation, in order.
fn shown(text: &str) -> Vec<String> {
    read(text).values.iter().map(|found| show(&found.value)).collect()
}

fn show(value: &Value) -> String {
    let part = |number: Option<i8>| number.map_or("?".to_owned(), |number| number.to_string());
    let amount = |amount: Amount| {
        let text = format!("{}", amount.0 as f64 / 1e9);
        text
    };
    match value {
        Value::Date(date) => format!(
            "{}-{}-{}",
            date.year.map_or("?".to_owned(), |year| year.to_string()),
            part(date.month),
            part(date.day)
        ),
        Value::Weekday { day, week } => {
            format!("{day:?}{}", week.map_or(String::new(), |week| format!("{week:+}")))
        }
        Value::Relative { period, shift } => format!("{period:?}{shift:+}"),
        Value::Time(time) => format!(
            "{}:{:02}{}{}",
            time.hour,
            time.minute,
            time.second.map_or(String::new(), |second| format!(":{second:02}")),
            if time.is_vague { "~" } else { "" }
        ),
        Value::Quantity { amount: number, unit } => format!("{} {unit}", amount(*number)),
        Value::Number { amount: number, counted } => {
            format!("{} {counted}", amount(*number)).trim_end().to_owned()
        }
        Value::Ordinal(number) => format!("#{number}"),
        Value::Version(text) => format!("version {text}"),
        Value::Url(text) => format!("url {text}"),
        Value::Email(text) => format!("email {text}"),
        Value::Path(text) => format!("path {text}"),
        Value::Address(text) => format!("ip {text}"),
        Value::Identifier(text) => format!("id {text}"),
        Value::Name(text) => format!("name {text}"),
    }
}

#[track_caller]
fn check_each(cases: &[(&str, &[&str])]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(text, expected)| shown(text) != *expected)
        .map(|(text, expected)| format!("`{text}`: {:?}, expected {expected:?}", shown(text)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(shown(text), expected, "of `{text}`");
}

#[test]
fn dates_are_read_in_the_forms_people_write() {
    check_each(&[
        ("on 2026-11-20 we", &["2026-11-20"]),
        ("2026/11/20", &["2026-11-20"]),
        ("20 November 2026", &["2026-11-20"]),
        ("20th of November, 2026", &["2026-11-20"]),
        ("November 20, 2026", &["2026-11-20"]),
        ("due Nov 20", &["?-11-20"]),
        ("due Nov. 20.", &["?-11-20"]),
        ("5-Feb-2024", &["2024-2-5"]),
        ("20.11.2026", &["2026-11-20"]),
        ("20/11/2026", &["2026-11-20"]),
        ("11/20/2026", &["2026-11-20"]),
        ("2026-11", &["2026-11-?"]),
        ("in November 2026", &["2026-11-?"]),
        ("back in May", &["?-5-?"]),
        ("since 2024", &["2024-?-?"]),
        ("2026年11月20日", &["2026-11-20"]),
        ("2026 年", &["2026-?-?"]),
        ("定在11月20日", &["?-11-20"]),
        ("11月20号开会", &["?-11-20"]),
        ("十一月二十日", &["?-11-20"]),
        ("二〇二六年三月", &["2026-3-?"]),
        ("本次20日截止", &["?-?-20"]),
    ]);
    check("3–20 Nov 2026", &["2026-11-3", "2026-11-20"]);
    check("November 3-5", &["?-11-3", "?-11-5"]);
    check("11月3日至5日", &["?-11-3", "?-11-5"]);
    check("at 2026-11-20T15:04:05Z", &["2026-11-20", "15:04:05"]);
    check("you may go, march on", &[]);
    check("住20号楼", &["20"]);
}

#[test]
fn weekdays_and_relative_dates_are_values_of_their_own() {
    check_each(&[
        ("on Friday", &["Friday"]),
        ("next friday", &["Friday+1"]),
        ("every Monday", &["Monday"]),
        ("下周五", &["Friday+1"]),
        ("星期天", &["Sunday"]),
        ("上周三", &["Wednesday-1"]),
        ("yesterday", &["Day-1"]),
        ("明天", &["Day+1"]),
        ("last month", &["Month-1"]),
        ("下个月", &["Month+1"]),
        ("去年", &["Year-1"]),
        ("the day after tomorrow", &["Day+2"]),
    ]);
    check("3 days ago", &["Day-3", "3 day"]);
    check("三天前", &["Day-3", "3 day"]);
    check("in two weeks", &["Week+2", "2 week"]);
    check("每周一次", &[]);
    check("每周一开会", &["Monday"]);
}

#[test]
fn times_are_read_in_both_halves_of_the_day() {
    check_each(&[
        ("at 15:00", &["15:00"]),
        ("at 3pm", &["15:00"]),
        ("at 3 p.m.", &["15:00"]),
        ("at 12am", &["0:00"]),
        ("at 09:30", &["9:30"]),
        ("at 9:30", &["9:30~"]),
        ("3 o'clock", &["3:00~"]),
        ("half past three", &["3:30~"]),
        ("quarter to one", &["12:45~"]),
        ("at noon", &["12:00"]),
        ("下午3点", &["15:00"]),
        ("下午三点", &["15:00"]),
        ("下午三点半", &["15:30"]),
        ("三点半", &["3:30~"]),
        ("早上六点半", &["6:30"]),
        ("晚上8点20分", &["20:20"]),
        ("3点", &["3:00~"]),
        ("15时30分", &["15:30"]),
        ("上午10:30", &["10:30"]),
        ("晚上九点一刻", &["21:15"]),
        ("中午12点", &["12:00"]),
        ("凌晨两点", &["2:00"]),
    ]);
    check("from 3-4pm", &["15:00", "16:00"]);
    check("from 11-1pm", &["11:00", "13:00"]);
    check("下午三点到五点", &["15:00", "17:00"]);
    check("明晚八点", &["Day+1", "20:00"]);
    check("周三三点开会", &["Wednesday", "3:00~"]);
    check("他提了三点建议，一点也不难", &[]);
    check("20小时, 3时间段", &["20 hour", "3"]);
}

#[test]
fn numbers_and_quantities_keep_their_units() {
    check_each(&[
        ("20 people", &["20 person"]),
        ("twenty people", &["20 person"]),
        ("二十人", &["20 person"]),
        ("二十个人", &["20 person"]),
        ("20位", &["20 person"]),
        ("3 GB", &["3 gigabyte"]),
        ("3GB", &["3 gigabyte"]),
        ("1,000 EUR", &["1000 euro"]),
        ("€1000", &["1000 euro"]),
        ("EUR 1,000.00", &["1000 euro"]),
        ("$1.5 million", &["1500000 dollar"]),
        ("5 kg", &["5 kilogram"]),
        ("五公斤", &["5 kilogram"]),
        ("3公里", &["3 kilometre"]),
        ("三公里", &["3 kilometre"]),
        ("35%", &["35 percent"]),
        ("35 percent", &["35 percent"]),
        ("百分之三十五", &["35 percent"]),
        ("30分钟", &["30 minute"]),
        ("两个小时", &["2 hour"]),
        ("a 3-day trip", &["3 day"]),
        ("-5°C", &["-5 degree"]),
        ("三个月", &["3 month"]),
        ("3万元", &["30000 yuan"]),
        ("三万元", &["30000 yuan"]),
        ("5k", &["5000"]),
        ("three servers", &["3 server"]),
        ("3 servers", &["3 server"]),
        ("三台服务器", &["3"]),
        ("两次", &["2 time"]),
        ("twenty-five", &["25"]),
        ("two hundred and five", &["205"]),
        ("1.5", &["1.5"]),
        ("2000 requests", &["2000 request"]),
        ("the 3rd try", &["#3"]),
        ("第三次", &["#3"]),
        ("the third try", &["#3"]),
    ]);
    check("一起去三亚, 万一十分忙", &[]);
    check("one of us, no one", &[]);
    check("3-5 people", &["3", "5 person"]);
}

#[test]
fn addresses_paths_versions_and_identifiers_are_whole() {
    check_each(&[
        (
            "see https://Example.org/a/2026-11-20?b=3.",
            &["url https://example.org/a/2026-11-20?b=3"],
        ),
        ("见https://example.org/a。", &["url https://example.org/a"]),
        ("mail ann@example.org, please", &["email ann@example.org"]),
        ("/etc/recalld/config.toml", &["path /etc/recalld/config.toml"]),
        ("在~/notes/2026-11-20.md里", &["path ~/notes/2026-11-20.md"]),
        ("src/main.rs", &["path src/main.rs"]),
        ("config.toml", &["path config.toml"]),
        ("router 192.168.7.1", &["ip 192.168.7.1"]),
        ("路由器是192.168.7.1。", &["ip 192.168.7.1"]),
        ("fe80::1", &["ip fe80::1"]),
        ("v1.2.3-rc.1", &["version 1.2.3-rc.1"]),
        ("version 1.2.3.", &["version 1.2.3"]),
        ("v2", &["version 2"]),
        ("INC-90312", &["id inc-90312"]),
        ("工单INC-90312已关闭", &["id inc-90312"]),
        ("commit 42a5fc1d", &["id 42a5fc1d"]),
        ("db-prod-2", &["id db-prod-2"]),
        ("foo_bar", &["id foo_bar"]),
        ("#4711", &["id 4711"]),
    ]);
    check("10.0.0.1:8080", &["ip 10.0.0.1", "8080"]);
    check("24/7, and/or, e.g. this", &["24"]);
}

#[test]
fn a_long_run_is_one_value_and_what_stands_around_it_is_read() {
    for piece in ["a-", "1/1/", "Zm9v", "{\"a\":1,", "é.", "1:"] {
        let blob = piece.repeat(32 * 1024 / piece.len());
        let text = format!("On 2026-11-20 {blob} ran for 3 GB，见{blob}。");
        let values = shown(&text);
        let [date, first, size, second] = values.as_slice() else { panic!("{}", values.len()) };
        assert_eq!((date.as_str(), size.as_str()), ("2026-11-20", "3 gigabyte"), "{piece}");
        let blob = blob.to_lowercase();
        assert!(first.contains(&blob) && second.contains(&blob), "{piece}");
    }
}

#[test]
fn names_are_capitals_inside_a_sentence_and_known_ones_at_its_start() {
    check_each(&[
        ("We met Alice", &["name alice"]),
        ("Alice met us", &["name alice"]),
        ("Backups run at night", &[]),
        ("Eve Miller called", &["name eve", "name miller"]),
        ("The Atlas project. Atlas ships.", &["name atlas", "name atlas"]),
        ("DeviceMemory uses the API", &["name devicememory", "name api"]),
        ("It's what I think. Don't ask", &[]),
        ("Bob's car", &["name bob"]),
        ("我的上司叫赵雅琳。", &["name 赵雅琳"]),
        ("张伟负责备份", &["name 张伟"]),
        ("和李娜说了", &["name 李娜"]),
        ("王总同意了", &["name 王总"]),
        ("张经理、小李和老王", &["name 张经理", "name 小李", "name 老王"]),
        ("周末很高兴, 马上开始, 时间安全", &[]),
        ("Mel 和 Caroline 去了", &["name mel", "name caroline"]),
    ]);
}

#[track_caller]
fn bears(source: &str, event: Option<&str>, stated: &str) -> bool {
    let support = Support::of(source, event.map(|date| date.parse().unwrap()));
    let reading = read(stated);
    assert!(!reading.values.is_empty(), "nothing in `{stated}`");
    reading.values.iter().all(|found| support.holds(&found.value))
}

#[test]
fn what_means_the_same_bears_out() {
    let mut wrong = Vec::new();
    for (source, event, stated) in [
        ("It cost 1,000 EUR", None, "1000 EUR"),
        ("at 15:00", None, "at 3pm"),
        ("下午三点", None, "15:00"),
        ("at 3pm", None, "3点"),
        ("Nov 20", None, "2026-11-20"),
        ("2026-11-20", None, "Nov 20"),
        ("on 20 November 2026", None, "in November 2026"),
        ("11月20日", Some("2026-11-03"), "2026年11月20日"),
        ("yesterday", Some("2026-11-21"), "2026-11-20"),
        ("昨天", Some("2026-11-21"), "11月20日"),
        ("last Friday", Some("2026-11-25"), "on Nov 20"),
        ("下周五", Some("2026-11-20"), "11月27日"),
        ("on 2026-11-20", None, "on Friday"),
        ("last month", Some("2026-11-20"), "in October 2026"),
        ("it rained", Some("2026-11-20"), "on 20 November"),
        ("20 people", None, "20"),
        ("twenty people", None, "20人"),
        ("3 new servers", None, "three servers"),
        ("atlas ships", None, "We ship Atlas"),
        ("/etc/recalld/config.toml", None, "config.toml"),
        ("42a5fc1d0c7e8a4b9f3e", None, "42a5fc1d"),
        ("ticket inc-90312", None, "INC-90312"),
        ("v1.2.3", None, "1.2.3"),
        ("the 20th", Some("2026-11-03"), "Nov 20"),
    ] {
        if !bears(source, event, stated) {
            wrong.push(format!("`{stated}` from `{source}`"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_means_something_else_does_not() {
    let mut wrong = Vec::new();
    for (source, event, stated) in [
        ("on 2026-11-20", None, "20 people"),
        ("on 2026-11-20", None, "a team of 20"),
        ("on 2026-11-20", None, "2026-11-21"),
        ("in November 2026", None, "20 November"),
        ("in 2026", None, "in November 2026"),
        ("20 people", None, "20 servers"),
        ("20 people", None, "20 GB"),
        ("3 GB", None, "3 MB"),
        ("a team of 20", None, "20 people"),
        ("at 3pm", None, "at 03:00"),
        ("9点", None, "21:00"),
        ("yesterday", None, "2026-11-20"),
        ("yesterday", Some("2026-11-20"), "2026-11-21"),
        ("Nov 20", Some("2026-11-03"), "2024-11-20"),
        ("on Friday", None, "on Thursday"),
        ("on 2026-11-20", None, "on Thursday"),
        ("on Nov 20", None, "yesterday"),
        ("192.168.7.1", None, "192.168.9.1"),
        ("https://example.org/a", None, "https://example.org/b"),
        ("ann@example.org", None, "bob@example.org"),
        ("/etc/recalld/config.toml", None, "fig.toml"),
        ("v1.2.3", None, "v1.2.4"),
        ("INC-90312", None, "INC-90313"),
        ("Alice called", None, "We met Bob"),
        ("张伟负责备份", None, "李娜负责备份"),
        ("第二次", None, "第三次"),
        ("35%", None, "36%"),
    ] {
        if bears(source, event, stated) {
            wrong.push(format!("`{stated}` from `{source}`"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Pieces of texts, joined at random: what stands between values changes how they are read.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "2026-11-20",
        "Nov 20",
        "20",
        "3pm",
        "下午三点半",
        "三",
        "二十人",
        "11月20日",
        "v1.2",
        "1.2.3",
        "192.168.7.1",
        ":8080",
        "GB",
        "people",
        "%",
        "EUR",
        "$",
        "€",
        "Alice",
        "张伟",
        "说",
        "INC-7",
        "https://a.b/c",
        "a@b.org",
        "/etc/x.toml",
        "next Friday",
        "下周五",
        "half past",
        "o'clock",
        "ago",
        "in",
        "三天前",
        "第",
        "百分之",
        "万",
        "k",
        "st",
        "-",
        ".",
        ",",
        "，",
        " ",
        "\n",
        "/",
        "_",
        "(",
        "é",
    ];
    prop_oneof![8 => prop::sample::select(pieces.map(str::to_owned).to_vec()), 1 => ".{0,6}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_text_bears_itself_out(pieces in prop::collection::vec(piece(), 0..14)) {
        let text = pieces.concat();
        let support = Support::of(&text, None);
        let mut end = 0;
        let mut last = 0..0;
        for found in &support.reading.values {
            prop_assert!(support.reading.text.get(found.range.clone()).is_some_and(|t| !t.is_empty()));
            prop_assert!(found.range == last || found.range.start >= end, "{:?}", support.reading);
            prop_assert!(support.holds(&found.value), "{:?} in {:?}", found, support.reading);
            (end, last) = (found.range.end, found.range.clone());
        }
    }
}
