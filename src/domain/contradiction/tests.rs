//! Pairs of statements and what the second is to the first, in English and Chinese.

use proptest::prelude::*;

use super::Verdict::{Correction, Same, Unclear, Unrelated};
use super::*;

use Kind::{Event, Fact, Preference, Task};

fn statement(text: &str, kind: Kind, day: i8) -> Read<'_> {
    let event_time = jiff::civil::date(2026, 11, day).at(9, 0, 0, 0);
    Read::of(Statement { text, kind, event_time })
}

/// The verdict on two statements of one kind, the second a week later.
fn verdict(kind: Kind, old: &str, new: &str, cosine: Option<f64>) -> Verdict {
    judge(&statement(old, kind, 10), &statement(new, kind, 17), cosine, &Policy::default())
}

#[track_caller]
fn check_each(cases: &[(Kind, &str, &str, Verdict)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(kind, old, new, expected)| verdict(*kind, old, new, Some(0.85)) != *expected)
        .map(|(kind, old, new, expected)| {
            let found = verdict(*kind, old, new, Some(0.85));
            format!("`{old}` / `{new}`: {}, expected {}", found.as_str(), expected.as_str())
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn restatements_are_the_same() {
    check_each(&[
        (Fact, "The router is 192.168.7.1", "the router is 192.168.7.1.", Same),
        (Fact, "The router is 192.168.7.1", "The router's IP address is 192.168.7.1", Same),
        (Fact, "The backup costs 1,000 EUR", "The backup costs EUR 1000", Same),
        (Fact, "The standup is at 3pm", "Standup is at 15:00", Same),
        (Preference, "I love oolong tea", "The user likes oolong tea", Same),
        (Preference, "I do not drink coffee", "I don't drink coffee", Same),
        (Fact, "路由器的地址是192.168.7.1", "路由器是192.168.7.1。", Same),
        (Preference, "我喜欢喝乌龙茶", "用户非常喜欢喝乌龙茶", Same),
        (Fact, "下午三点开站会", "下午3点开站会", Same),
        (Fact, "团队有二十人", "团队有20人", Same),
    ]);
}

#[test]
fn another_value_in_the_same_place_corrects() {
    check_each(&[
        (Fact, "The router is 192.168.7.1", "The router is 192.168.9.1", Correction),
        (Fact, "The deadline is 20 November 2026", "The deadline is 27 November 2026", Correction),
        (Fact, "The team has 20 people", "The team has 25 people", Correction),
        (Fact, "The API listens on port 8080", "The API listens on port 9090", Correction),
        (Fact, "We run Postgres v15.2.0", "We run Postgres v16.1.0", Correction),
        (
            Fact,
            "The docs are at https://a.example.org",
            "The docs are at https://b.example.org",
            Correction,
        ),
        (Fact, "I live in Berlin", "I live in Munich", Correction),
        (Fact, "My manager is Alice", "My manager is Bob", Correction),
        (Preference, "My favourite colour is blue", "My favourite colour is green", Correction),
        (Fact, "路由器是192.168.7.1", "路由器是192.168.9.1", Correction),
        (Fact, "团队有20人", "团队有二十五人", Correction),
        (Fact, "我住在北京", "我住在上海", Correction),
        (Fact, "我在谷歌工作", "我在微软工作", Correction),
        (Fact, "打印机在二楼", "打印机在三楼", Correction),
        (Fact, "The server has 16 GB of RAM", "The server has 32 GB of RAM", Correction),
        (Fact, "Backups are kept for 30 days", "Backups are kept for 14 days", Correction),
        (Fact, "我的上司是赵雅琳", "我的上司是李娜", Correction),
        (Fact, "截止日期是11月20日", "截止日期是11月27日", Correction),
        (Preference, "我最喜欢的颜色是蓝色", "我最喜欢的颜色是绿色", Correction),
    ]);
}

#[test]
fn what_is_turned_round_corrects() {
    check_each(&[
        (Preference, "I am vegetarian", "I eat meat again", Correction),
        (Preference, "I am vegetarian.", "I am not vegetarian anymore.", Correction),
        (Preference, "I like coffee", "I don't like coffee", Correction),
        (Preference, "I like coffee", "I hate coffee", Correction),
        (Fact, "I work at Acme", "I no longer work at Acme", Correction),
        (Fact, "I smoke", "I no longer smoke", Correction),
        (Fact, "The feature is enabled", "The feature is disabled", Correction),
        (Fact, "The north gate is open", "The north gate is closed", Correction),
        (
            Fact,
            "Hypothesis: the crash comes from the cache",
            "Actually the crash does not come from the cache but from the resolver",
            Correction,
        ),
        (
            Fact,
            "The crash is probably caused by the cache",
            "The crash is caused by the resolver, not by the cache",
            Correction,
        ),
        (Preference, "我吃素", "我又开始吃肉了", Correction),
        (Preference, "我喜欢喝咖啡", "我不再喝咖啡了", Correction),
        (Preference, "我喜欢香菜", "我讨厌香菜", Correction),
        (Fact, "防火墙已启用", "防火墙已关闭", Correction),
        (Fact, "我抽烟", "我不抽烟了", Correction),
        (Fact, "我对花生过敏", "我对花生不过敏", Correction),
        (Fact, "他同意这个方案", "他不同意这个方案", Correction),
        (Fact, "Ann is allergic to peanuts", "Ann is not allergic to peanuts", Correction),
    ]);
}

#[test]
fn cue_words_correct_what_rules_alone_would_leave() {
    check_each(&[
        (
            Event,
            "The meeting with Bob is on Monday",
            "The meeting with Bob was moved to Tuesday",
            Correction,
        ),
        (Fact, "The team uses Slack for chat", "The team now uses Discord for chat", Correction),
        (Fact, "We use tabs for indentation", "We use spaces for indentation instead", Correction),
        (
            Fact,
            "The release is on Friday at 3pm",
            "The release was moved to Monday at 5pm",
            Correction,
        ),
        (Task, "Call the dentist on Monday", "Call the dentist on Tuesday instead", Correction),
        (Event, "和李娜的会议在周一", "和李娜的会议改到周二", Correction),
        (Fact, "站会在上午10点", "站会改为上午11点", Correction),
        (Fact, "项目用Slack聊天", "项目现在用Discord聊天", Correction),
    ]);
}

#[test]
fn two_facts_about_like_things_stay_two() {
    check_each(&[
        (Fact, "The office router is 192.168.7.1", "The home router is 192.168.9.1", Unrelated),
        (Fact, "The router is 192.168.7.1", "The guest router is 192.168.9.1", Unrelated),
        (Fact, "订单接口的超时时间是3秒。", "订单接口超时以后最多重试2次。", Unrelated),
        (Event, "Meeting with Bob on 20 November", "Meeting with Bob on 27 November", Unrelated),
        (Fact, "The meeting is on Monday", "The meeting is on Tuesday", Unrelated),
        (Event, "I ran 5 km", "I ran 8 km", Unrelated),
        (Fact, "I bought 3 apples", "I bought 5 apples", Unrelated),
        (Fact, "Alice likes tea", "Bob likes tea", Unrelated),
        (Fact, "Alice likes tea", "Bob does not like tea", Unrelated),
        (Preference, "I like tea", "I like coffee", Unrelated),
        (Preference, "Alice likes tea", "Alice likes tea, not coffee", Unrelated),
        (Fact, "I am vegetarian", "My wife eats meat", Unrelated),
        (Fact, "Room 5 is booked", "Room 6 is booked", Unrelated),
        (Fact, "db-prod-1 runs Postgres 15", "db-prod-2 runs Postgres 16", Unrelated),
        (Fact, "INC-90312 is closed", "INC-90313 is closed", Unrelated),
        (Fact, "The backup runs on Monday", "A second backup now runs on Friday", Unrelated),
        (Fact, "My friend is Alice", "My friend is Bob", Unrelated),
        (Fact, "Leaflet number 3", "Leaflet number 4", Unrelated),
        (Fact, "Draft 3 of the leaflet", "Draft 4 of the leaflet", Unrelated),
        (Fact, "Entry 0.1 of the logbook", "Entry 0.2 of the logbook", Unrelated),
        (Fact, "We lost in round 3", "We lost in round 4", Unrelated),
        (Fact, "memory 12", "memory 13", Unrelated),
        (
            Fact,
            "The rehearsal moved to the parish hall of house2x",
            "The rehearsal moved to the parish hall of house3x",
            Unrelated,
        ),
        (Fact, "第3号箱子放在架子上", "第4号箱子放在架子上", Unrelated),
        (
            Fact,
            "Ann: I'm majoring in Economics!",
            "Ann: I'm doing well, Kate. I've been travelling from Miami to Turin for a couple of days, \
             it's nice to get to the beach again!",
            Unrelated,
        ),
        (
            Fact,
            "Always use APA style for references",
            "I adjusted my manuscript to MLA style because the journal asks for it, and I wonder \
             whether that changes how I use my tools for references",
            Unrelated,
        ),
        (Fact, "I live in Berlin", "I live in Berlin, near the zoo", Unrelated),
        (Fact, "My manager is a lawyer", "My manager is Bob", Unrelated),
        (Fact, "我的上司是干律师这行的", "我的上司是天津人", Unrelated),
        (Fact, "They really are", "Will do!", Unrelated),
        (Fact, "Do you like coffee?", "I don't like coffee", Unrelated),
        (
            Fact,
            "The crash is probably caused by the cache",
            "The crash is caused by the cache",
            Unrelated,
        ),
        (Preference, "I like oolong tea", "I like oolong tea in the morning", Unrelated),
        (Fact, "办公室的路由器是192.168.7.1", "家里的路由器是192.168.9.1", Unrelated),
        (Event, "11月20日和李娜开会", "11月27日和李娜开会", Unrelated),
        (Event, "我跑了5公里", "我跑了8公里", Unrelated),
        (Fact, "张伟喜欢喝茶", "李娜喜欢喝茶", Unrelated),
        (Preference, "我喜欢喝茶", "我喜欢喝咖啡", Unrelated),
        (Fact, "我吃素", "我妻子吃肉", Unrelated),
        (Fact, "我对花生过敏", "我对海鲜过敏", Unrelated),
        (Fact, "我儿子五岁", "我女儿六岁", Unrelated),
        (Fact, "Ann is allergic to peanuts", "Ann is allergic to shellfish", Unrelated),
        (Fact, "The invoice INC-90312 is 300 EUR", "The invoice INC-90313 is 500 EUR", Unrelated),
        (Fact, "备份在周一运行", "第二个备份在周五运行", Unrelated),
        (Fact, "I went to the zoo", "The database needs 3 GB", Unrelated),
    ]);
}

#[test]
fn without_an_order_a_contradiction_is_unclear() {
    let policy = Policy::default();
    for (old, new) in [
        ("The router is 192.168.7.1", "The router is 192.168.9.1"),
        ("I like coffee", "I don't like coffee"),
        ("我住在北京", "我住在上海"),
        ("团队有20人", "团队有25人"),
    ] {
        for (old_day, new_day) in [(10, 10), (17, 10)] {
            let read = (statement(old, Fact, old_day), statement(new, Fact, new_day));
            assert_eq!(judge(&read.0, &read.1, Some(0.9), &policy), Unclear, "{old} {new}");
        }
    }
    let old = statement("The deadline is 20 November", Fact, 10);
    let new = statement("The deadline was changed to 27 November", Fact, 10);
    assert_eq!(judge(&old, &new, Some(0.9), &policy), Correction);
    for (old, new) in [
        ("My name is Ann", "My name is Bob"),
        ("你好，我叫郝明，很高兴认识你。", "你好，我叫李雪，很高兴能认识你。"),
        ("My brother lives in Berlin", "My brother lives in Munich"),
        ("我的同事他在广州上班呢。", "我的同事在设计院工作。"),
        ("I like coffee and my dentist is on the third floor", "I no longer like coffee"),
        ("我喜欢喝咖啡，我的牙医在三楼", "我不再喝咖啡了"),
    ] {
        assert_eq!(verdict(Fact, old, new, Some(0.9)), Unclear, "{old} {new}");
    }
    // One says more than the other: both may hold in part.
    assert_eq!(verdict(Fact, "I like tea", "I don't like tea with milk", Some(0.8)), Unclear);
}

#[test]
fn an_event_is_the_same_only_on_its_day() {
    let policy = Policy::default();
    let (old, new) =
        (statement("I went running", Event, 10), statement("I went running", Event, 12));
    assert_eq!(judge(&old, &new, Some(1.0), &policy), Unrelated);
    assert_eq!(judge(&old, &old, Some(1.0), &policy), Same);
    let (old, new) = (
        statement("The release is tomorrow", Fact, 19),
        statement("The release is on 20 November 2026", Fact, 12),
    );
    assert_eq!(judge(&old, &new, Some(0.9), &policy), Same);
}

#[test]
fn a_low_cosine_ends_it_and_none_leaves_it_to_the_words() {
    let (old, new) = ("The router is 192.168.7.1", "The router is 192.168.9.1");
    assert_eq!(verdict(Fact, old, new, Some(0.1)), Unrelated);
    assert_eq!(verdict(Fact, old, new, None), Correction);
    assert_eq!(verdict(Fact, old, old, None), Same);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_contradicts_itself(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "I", "am", "not", "vegetarian", "the router is", "192.168.7.1", "no longer", "like", "hate", "coffee", "20 people",
                "on Friday", "but", ",", ".", "without", "failed", "Alice", "我", "不", "喜欢", "吃素", "没有", "改成", "11月20日", "，", "。",
            ]),
            1..10,
        ),
        later in 10_i8..12,
    ) {
        let text = words.join(" ");
        let found = judge(
            &statement(&text, Fact, 10),
            &statement(&text, Fact, later),
            Some(1.0),
            &Policy::default(),
        );
        prop_assert!(matches!(found, Same | Unrelated), "{found:?} of `{text}`");
    }
}
