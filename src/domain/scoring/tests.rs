//! What passes and what does not, and what becomes of it, in English and Chinese.

use super::*;

fn zone() -> TimeZone {
    TimeZone::get("Europe/Berlin").unwrap()
}

/// Candidates of what the person says on Wednesday, 18 November 2026, at noon in Berlin.
fn found(text: &str) -> Vec<Candidate> {
    let turn = Turn { role: Role::User, text, at: "2026-11-18T11:00:00Z".parse().unwrap() };
    candidates(&turn, &zone(), &Policy::default())
}

fn texts(text: &str) -> Vec<String> {
    found(text).into_iter().map(|candidate| candidate.text).collect()
}

#[test]
fn small_talk_never_passes() {
    let lenient = Policy { mean_min: 1.0, ..Policy::default() };
    for text in [
        "",
        "ok",
        "Hi!",
        "Hey Caroline! Good to see you!",
        "Thanks, that sounds great.",
        "Yes, sure.",
        "Good morning! How are you?",
        "haha lol",
        "👍",
        "...",
        "I see.",
        "You are welcome!",
        "你好",
        "好的，谢谢！",
        "嗯嗯，知道了。",
        "早上好！最近怎么样？",
        "哈哈，太好了",
        "你好，很高兴认识你。",
        "当然可以，没问题。",
        "Can you translate this letter?",
        "What is the capital of France?",
        "你能帮我翻译这封信吗？",
    ] {
        let turn = Turn { role: Role::User, text, at: Timestamp::UNIX_EPOCH };
        let passed = candidates(&turn, &zone(), &lenient);
        assert!(passed.is_empty(), "{text}: {passed:?}");
    }
}

#[test]
fn what_is_over_tomorrow_does_not_pass() {
    for text in [
        "I am so tired right now",
        "Nice weather today",
        "I went shopping",
        "It was fun",
        "hold on, one sec",
        "That's really sweet, Melanie!",
        "You are doing an awesome job of inspiring others with your journey, Caroline.",
        "你好，今天我又来和你聊天啦！",
        "from flask import Flask, request",
        "app.config['DEBUG'] = True",
        "```\nI live in Berlin\n```",
        "今天天气不错",
        "我有点累了",
        "我刚刚回来",
    ] {
        assert!(found(text).is_empty(), "{text}: {:?}", found(text));
    }
}

#[test]
fn what_lasts_passes_with_its_kind() {
    let wrong: Vec<String> = [
        ("I live in Berlin.", Kind::Fact),
        ("My birthday is on 3 May.", Kind::Fact),
        ("I'm allergic to peanuts.", Kind::Fact),
        ("I prefer dark mode in every editor.", Kind::Preference),
        ("I don't like coffee.", Kind::Preference),
        ("I am vegetarian.", Kind::Preference),
        ("Always answer in German, please.", Kind::Instruction),
        ("Never push to main without a review.", Kind::Instruction),
        ("From now on call me Max.", Kind::Instruction),
        ("I need to renew my passport by Friday.", Kind::Task),
        ("The report is due on 27 November.", Kind::Task),
        ("To deploy the site, run make release on db-prod-2.", Kind::Procedure),
        ("I met Alice yesterday at the harbour in Hamburg.", Kind::Event),
        ("We decided to use Postgres 16 for billing.", Kind::Fact),
        ("The router is 192.168.7.1.", Kind::Fact),
        ("我住在北京。", Kind::Fact),
        ("我的上司叫赵雅琳。", Kind::Fact),
        ("我对花生过敏。", Kind::Fact),
        ("我喜欢喝乌龙茶。", Kind::Preference),
        ("我不吃辣。", Kind::Preference),
        ("以后请用中文回答。", Kind::Instruction),
        ("请记住不要删除备份。", Kind::Instruction),
        ("我需要在周五之前交报告。", Kind::Task),
        ("部署时先运行make release，再重启服务器。", Kind::Procedure),
        ("昨天我和李娜去了上海的博物馆。", Kind::Event),
        ("路由器的地址是192.168.7.1。", Kind::Fact),
        ("金融科技精英论坛的地点是北京。", Kind::Fact),
        ("我表弟是当医生的。", Kind::Fact),
    ]
    .iter()
    .filter(|(text, kind)| {
        let found = found(text);
        found.len() != 1 || found[0].kind != *kind
    })
    .map(|(text, kind)| format!("`{text}`: {:?}, expected {kind}", found(text)))
    .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_turn_becomes_one_memory_a_fact() {
    assert_eq!(
        texts("Hi there! I live in Berlin and work at Acme. How are you? I love oolong tea."),
        ["I live in Berlin", "I work at Acme.", "I love oolong tea."]
    );
    assert_eq!(
        texts("你好！我住在北京，喜欢喝乌龙茶。今天天气不错。"),
        ["我住在北京", "我喜欢喝乌龙茶。"]
    );
}

#[test]
fn event_times_are_those_the_text_names() {
    let wrong: Vec<String> = [
        ("I met Alice yesterday at 3pm in Hamburg.", Some("2026-11-17T14:00:00Z")),
        ("I need to renew my passport by Friday.", Some("2026-11-19T23:00:00Z")),
        ("I met Alice on Friday in Hamburg.", Some("2026-11-12T23:00:00Z")),
        ("The report is due on 27 November.", Some("2026-11-26T23:00:00Z")),
        ("I met Alice at the harbour in Hamburg.", Some("2026-11-18T11:00:00Z")),
        ("I prefer dark mode in every editor.", None),
        ("昨天下午三点我和李娜去了上海的博物馆。", Some("2026-11-17T14:00:00Z")),
        ("我需要在下周五上午9点之前交报告。", Some("2026-11-27T08:00:00Z")),
        ("我喜欢喝乌龙茶。", None),
    ]
    .iter()
    .filter(|(text, expected)| {
        let expected = expected.map(|time| time.parse::<Timestamp>().unwrap());
        found(text).first().map(|candidate| candidate.event_time) != Some(expected)
    })
    .map(|(text, expected)| format!("`{text}`: {:?}, expected {expected:?}", found(text)))
    .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn scores_and_thresholds_are_in_range() {
    let policy = Policy::default();
    for text in ["I like tea", "The router is 192.168.7.1", "x", "我喜欢喝茶", "I went shopping"]
    {
        if let Some(scores) = score(text, Role::User) {
            for part in
                [scores.density, scores.timeliness, scores.reusability, policy.mean(&scores)]
            {
                assert!((1.0..=5.0).contains(&part), "{text}: {scores:?}");
            }
        }
    }
    let said = "The capital of France is Paris.";
    let (user, assistant) =
        (score(said, Role::User).unwrap(), score(said, Role::Assistant).unwrap());
    assert!(
        policy.mean(&assistant) < policy.mean_min && policy.mean(&user) > policy.mean(&assistant)
    );
    let strict = Policy { mean_min: 5.0, ..policy };
    let turn = Turn { role: Role::User, text: "I went to Hamburg.", at: Timestamp::UNIX_EPOCH };
    assert!(candidates(&turn, &zone(), &strict).is_empty());
    assert!((initial_importance(Kind::Instruction, "x") - 0.9).abs() < 1e-9);
}
