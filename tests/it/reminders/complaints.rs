//! What users of other programs complained of, tried on the real daemon with receivers on loopback.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use jiff::{SignedDuration, Timestamp};
use recalld::clock::SystemClock;
use recalld::ports::Clock as _;
use serde_json::{Value, json};

use super::receiver::{Got, Receiver, answer};
use crate::daemon::{Agent, Home, eventually};

/// Without a model of meaning, quick in trying again; what is a second late was missed.
const HEAD: &str = "[embed]\nmodel = \"none\"\n[jobs]\nzone = \"UTC\"\n[reminders]\nbackoff_s = 1\n\
    late_after_s = 1\n";

/// With a receiver of this name that does not tell messages apart.
fn with_sink(receiver: &Receiver, name: &str) -> String {
    format!(
        "{HEAD}[sinks.{name}]\nkind = \"json\"\nknows_keys = false\nurl = \"{}/{name}\"\n",
        receiver.base
    )
}

/// So many seconds from now; a whole second is read of it, so that it may be one less.
fn soon(seconds: i64) -> String {
    let at = SystemClock::new().now() + SignedDuration::from_secs(seconds);
    Timestamp::from_second(at.as_second()).unwrap().to_string()
}

/// Sets a reminder that is due in a moment; gives its handle.
async fn set_soon(agent: &Agent, text: &str, beside: Value) -> String {
    let mut asked = json!({ "text": text, "at": soon(2) });
    asked.as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
    let set = agent.must("reminder_set", asked).await;
    set["reminder"]["handle"].as_str().unwrap().to_owned()
}

/// Waits until so many messages were taken at a path.
async fn taken(receiver: &Receiver, path: &str, n: usize) -> Vec<Got> {
    eventually("messages arrive", async || {
        Some(receiver.taken(path)).filter(|taken| taken.len() >= n)
    })
    .await
}

/// A sink as it is listed.
async fn sink(owner: &Agent, name: &str) -> Value {
    let answer = owner.must("sink_list", json!({})).await;
    let sinks = answer["sinks"].as_array().unwrap();
    sinks.iter().find(|sink| sink["name"] == name).cloned().unwrap_or_default()
}

/// Waits until a sink is like this.
async fn sink_with(owner: &Agent, name: &str, key: &str, value: Value) -> Value {
    eventually("the sink is as it should be", async || {
        Some(sink(owner, name).await).filter(|sink| sink[key] == value)
    })
    .await
}

/// What a command with `--json` prints.
fn told(home: &Home, arguments: &[&str]) -> Value {
    let output = home.run(&[&["--json"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn what_was_sent_is_not_sent_again_after_restarts() {
    let receiver = Receiver::start();
    let home = Home::with_config(&with_sink(&receiver, "team")).expect_log("reminder not told");
    let daemon = home.serve().await;
    set_soon(&home.agent("a").await, "Stand-up", json!({})).await;
    taken(&receiver, "/team", 1).await;
    // The receiver has said yes; whether that was heard nobody knows.
    daemon.kill();
    for _ in 0..3 {
        let daemon = home.serve().await;
        sink_with(&home.owner().await, "team", "n_queued", json!(0)).await;
        daemon.kill();
    }
    let got = receiver.taken("/team");
    assert!(got.len() <= 2, "{got:?}");
    for again in got.iter().skip(1) {
        assert_eq!(*again.data("may_repeat"), json!(true), "{again:?}");
    }
}

#[tokio::test]
async fn ten_edits_and_five_reloads_make_one_message() {
    let receiver = Receiver::start();
    let home = Home::with_config(&with_sink(&receiver, "team"));
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    let asked = json!({ "text": "Draft 0", "at": soon(4) });
    let set = agent.must("reminder_set", asked).await;
    for n in 1..=10 {
        let text = format!("Draft {n}");
        let change = json!({ "id": set["reminder"]["id"], "action": "change", "text": text });
        agent.must("reminder_update", change).await;
        if n % 2 == 0 {
            daemon.signal(rustix::process::Signal::HUP);
        }
    }
    let got = taken(&receiver, "/team", 1).await;
    assert_eq!(*got[0].data("title"), json!("Draft 10"));
    assert!(home.run(&["reload"]).status.success());
    assert!(daemon.stop().await.success());
    let daemon = home.serve().await;
    sink_with(&home.owner().await, "team", "n_queued", json!(0)).await;
    assert!(daemon.stop().await.success());
    assert_eq!(receiver.got("/team").len(), 1);
}

#[tokio::test]
async fn quiet_hours_that_are_none_are_an_error_when_they_are_read() {
    let receiver = Receiver::start();
    let good = with_sink(&receiver, "team");
    let bad = format!("{good}quiet = \"25:99\"\n");
    let home = Home::with_config(&bad);
    let output = home.run(&["check-config"]);
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{complaint}");
    let line = format!("config.toml:{}:", bad.lines().count());
    for part in [line.as_str(), "sinks.team.quiet", "22:00-07:00", "25:99"] {
        assert!(complaint.contains(part), "{part}: {complaint}");
    }
}

#[tokio::test]
async fn a_sink_that_asks_for_time_gets_it_and_loses_nothing() {
    let receiver = Receiver::start();
    let later =
        || super::receiver::Act::Answer(429, "Retry-After: 2\r\n".to_owned(), String::new());
    receiver.next("/team", [later(), later()]);
    let home = Home::with_config(&with_sink(&receiver, "team"));
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    for n in 0..2 {
        set_soon(&agent, &format!("Errand {n}"), json!({})).await;
    }
    taken(&receiver, "/team", 2).await;
    let got = receiver.got("/team");
    assert_eq!(got.len(), 4, "{got:?}");
    for pair in got.windows(2).filter(|pair| !pair[0].is_taken) {
        let waited = pair[1].at.duration_since(pair[0].at);
        assert!(waited >= SignedDuration::from_millis(1_900), "{waited}");
    }
}

/// A sink of a service whose address is a secret.
fn at_service(home: &Home, receiver: &Receiver, kind: &str) -> String {
    let path = home.path(&format!("{kind}.url"));
    fs::write(&path, format!("{}/{kind}?key=abc", receiver.base)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    format!("[sinks.{kind}]\nkind = \"{kind}\"\nurl_file = \"{}\"\n", path.display())
}

#[tokio::test]
async fn a_refusal_with_the_status_of_a_success_is_no_success() {
    let receiver = Receiver::start();
    let refusals = [
        ("feishu", r#"{"code":19021,"msg":"sign match fail"}"#, "disabled", "19021"),
        ("wecom", r#"{"errcode":40058,"errmsg":"invalid Request Parameter"}"#, "dead", "40058"),
        (
            "dingtalk",
            r#"{"errcode":310000,"errmsg":"keywords not in content"}"#,
            "disabled",
            "310000",
        ),
    ];
    let mut home = Home::new().expect_log("reminder not told").expect_log("sink takes nothing");
    let mut config = HEAD.to_owned();
    for (kind, body, ..) in refusals {
        receiver.always(&format!("/{kind}"), answer(200, body));
        config.push_str(&at_service(&home, &receiver, kind));
    }
    home.configure(&config);
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let set = set_soon(&agent, "Stand-up", json!({})).await;
    let owner = home.owner().await;
    for (kind, _, end, code) in refusals {
        let why = if end == "dead" {
            sink_with(&owner, kind, "n_dead", json!(1)).await;
            let dead = owner.must("reminder_dead", json!({})).await;
            let letters = dead["deliveries"].as_array().unwrap();
            letters.iter().find(|letter| letter["sink"] == kind).unwrap()["why"].clone()
        } else {
            let sink = sink_with(&owner, kind, "state", json!("disabled")).await;
            assert_eq!(
                sink["n_queued"],
                json!(1),
                "it waits until somebody has seen to it: {sink}"
            );
            sink["why"].clone()
        };
        assert!(why.as_str().unwrap().contains(code), "{kind}: {why}");
    }
    let shown = owner.must("reminder_show", json!({ "id": set })).await;
    let rows = shown["reminder"]["deliveries"].as_array().unwrap();
    assert!(rows.len() == 3 && !rows.iter().any(|row| row["state"] == "sent"), "{shown}");
    let status = home.run(&["status"]);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("feishu"), "{status}");
}

#[tokio::test]
async fn what_waits_for_a_sink_that_is_removed_is_dead_with_the_reason() {
    let receiver = Receiver::start();
    receiver.always("/team", answer(503, ""));
    let both = format!("{}[sinks.log]\nkind = \"log\"\n", with_sink(&receiver, "team"));
    let home = Home::with_config(&both).expect_log("reminder not told");
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    set_soon(&agent, "Stand-up", json!({ "sinks": ["team"] })).await;
    let owner = home.owner().await;
    sink_with(&owner, "team", "n_queued", json!(1)).await;
    home.rewrite(&format!("{HEAD}[sinks.log]\nkind = \"log\"\n"));
    assert!(home.run(&["reload"]).status.success());
    let gone = sink_with(&owner, "team", "n_dead", json!(1)).await;
    assert_eq!(gone["state"], json!("not configured any more"), "{gone}");
    let dead = told(&home, &["remind", "dead"]);
    let why = dead["deliveries"][0]["why"].as_str().unwrap();
    assert!(why.contains("no sink team"), "{dead}");
    // Everybody is told how to get rid of it, and then it is gone for good.
    let how = "recalld remind dead drop --sink team";
    for command in ["status", "doctor"] {
        let printed = printed(&home, &[command]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains(how), "{command}: {printed}");
    }
    let output = home.run(&["remind", "dead", "drop", "--sink", "log"]);
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    let dropped = told(&home, &["remind", "dead", "drop", "--sink", "team"]);
    assert_eq!(dropped["n_done"], json!(1), "{dropped}");
    assert_eq!(sink(&owner, "team").await, Value::Null);
    let reminders = part(&home, "reminders");
    assert_eq!(reminders["state"], json!("ok"), "{reminders}");
}

/// What a command prints for people.
fn printed(home: &Home, arguments: &[&str]) -> String {
    String::from_utf8_lossy(&home.run(arguments).stdout).into_owned()
}

/// A part of the daemon, as its status has it.
fn part(home: &Home, name: &str) -> Value {
    let status = told(home, &["status"]);
    let parts = status["parts"].as_array().unwrap();
    parts.iter().find(|part| part["name"] == name).cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_key_that_is_missing_is_told_everywhere_and_counts_as_soon_as_it_is_there() {
    let receiver = Receiver::start();
    receiver.always("/slack", answer(200, "ok"));
    let mut home = Home::new().expect_log("sink takes nothing").expect_log("configuration");
    home.configure(&format!("{HEAD}{}", at_service(&home, &receiver, "slack")));
    let (key, aside) = (home.path("slack.url"), home.path("slack.aside"));
    fs::rename(&key, &aside).unwrap();
    let _daemon = home.serve().await;
    let owner = home.owner().await;
    let agent = home.agent("a").await;
    for is_used in [false, true] {
        if is_used {
            set_soon(&agent, "Stand-up", json!({})).await;
            sink_with(&owner, "slack", "n_queued", json!(1)).await;
            eventually("it was tried", async || home.log().contains("sink takes").then_some(()))
                .await;
        }
        let reloaded = told(&home, &["reload"])["warnings"].clone();
        let listed = told(&home, &["sinks", "list"]);
        assert_eq!(listed["sinks"][0]["state"], json!("disabled"), "{listed}");
        assert_eq!(part(&home, "reminders")["state"], json!("degraded"));
        for said in [
            reloaded.to_string(),
            listed["sinks"][0]["why"].to_string(),
            part(&home, "reminders")["because"].to_string(),
            told(&home, &["status"])["reminders"]["sinks"][0]["why"].to_string(),
            printed(&home, &["doctor", "--json"]),
        ] {
            assert!(said.contains("slack.url") && said.contains("No such file"), "{said}");
        }
        assert!(!listed["sinks"][0]["place"].to_string().contains("No such file"), "{listed}");
    }
    let dead = printed(&home, &["remind", "dead"]);
    assert!(dead.contains("waiting to be sent: 1\n  slack: 1 since "), "{dead}");
    assert!(dead.contains("disabled") && dead.contains("recalld sinks test slack"), "{dead}");
    // Nobody reloads anything: a change of another reminder has the loop look.
    fs::rename(&aside, &key).unwrap();
    set_soon(&agent, "Retro", json!({})).await;
    taken(&receiver, "/slack", 2).await;
    sink_with(&owner, "slack", "state", json!("ok")).await;
    assert_eq!(printed(&home, &["remind", "dead"]), "every message arrived\n");
    assert_eq!(part(&home, "reminders")["state"], json!("ok"));
}

#[tokio::test]
async fn times_are_those_of_the_named_zone_wherever_the_daemon_runs() {
    let home = Home::with_config(&HEAD.replace("[jobs]\nzone = \"UTC\"\n", ""));
    let daemon = home
        .serve_with(|command| {
            command.env("TZ", "America/New_York");
        })
        .await;
    let agent = home.agent("a").await;
    let next = async |asked: Value| {
        let answer = agent.must("reminder_set", asked).await;
        let next = answer["reminder"]["next"].as_array().unwrap().clone();
        next.iter().map(|one| one["told"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all_day = "DTSTART;VALUE=DATE;TZID=Asia/Shanghai:20400305";
    let told = next(json!({ "text": "Spring outing", "rule": all_day, "lead": "PT2H" })).await;
    assert_eq!(told, ["Sun 4 Mar 2040 22:00 +08:00 Asia/Shanghai"]);
    let monthly = json!({
        "text": "Pay the rent",
        "at": "2039-01-31T09:00",
        "rule": "FREQ=MONTHLY;BYMONTHDAY=28,29,30,31;BYSETPOS=-1",
        "zone": "Europe/Berlin",
    });
    let told = next(monthly).await;
    assert_eq!(
        told,
        [
            "Mon 31 Jan 2039 09:00 +01:00 Europe/Berlin",
            "Mon 28 Feb 2039 09:00 +01:00 Europe/Berlin",
            "Thu 31 Mar 2039 09:00 +02:00 Europe/Berlin",
        ]
    );
    let usual = next(json!({ "text": "Lunch", "at": "2040-03-05T12:00" })).await;
    assert_eq!(usual, ["Mon 5 Mar 2040 12:00 -05:00 America/New_York"]);
    // Another zone of the machine makes no other time of it.
    assert!(daemon.stop().await.success());
    let _daemon = home
        .serve_with(|command| {
            command.env("TZ", "Asia/Tokyo");
        })
        .await;
    let listed = home.agent("a").await.must("reminder_list", json!({ "view": "upcoming" })).await;
    let lunch = listed["reminders"].as_array().unwrap().iter().find(|one| one["text"] == "Lunch");
    assert_eq!(lunch.unwrap()["next"][0]["told"], json!(usual[0]), "{listed}");
}

#[tokio::test]
async fn what_was_due_while_the_daemon_was_down_goes_by_its_policy_and_says_how_late_it_is() {
    let receiver = Receiver::start();
    let home = Home::with_config(&with_sink(&receiver, "team"));
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    set_soon(&agent, "Told late", json!({ "on_missed": "late" })).await;
    let skipped = set_soon(&agent, "Not told", json!({ "on_missed": "skip" })).await;
    assert!(daemon.stop().await.success());
    let from = SystemClock::new().now() + SignedDuration::from_secs(4);
    eventually("the time passes", async || (SystemClock::new().now() > from).then_some(())).await;
    let _daemon = home.serve().await;
    let got = taken(&receiver, "/team", 1).await;
    assert_eq!(*got[0].data("title"), json!("Told late"));
    let text = got[0].data("text").as_str().unwrap();
    assert!(text.contains("was due ") && text.contains(" s late"), "{text}");
    let owner = home.owner().await;
    let shown = owner.must("reminder_show", json!({ "id": skipped })).await;
    let shown = &shown["reminder"];
    assert_eq!(
        (&shown["n_skipped"], &shown["skipped_why"]),
        (&json!(1), &json!("missed")),
        "{shown}"
    );
    sink_with(&owner, "team", "n_queued", json!(0)).await;
    assert_eq!(receiver.got("/team").len(), 1);
}

#[tokio::test]
async fn a_webhook_that_fails_is_tried_again_and_what_never_gets_through_can_be_sent_again() {
    let receiver = Receiver::start();
    receiver.next("/team", [answer(500, ""), answer(500, "")]);
    let config =
        with_sink(&receiver, "team").replace("backoff_s = 1", "backoff_s = 1\nattempts = 3");
    let home = Home::with_config(&config).expect_log("reminder not told");
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    set_soon(&agent, "Third time lucky", json!({})).await;
    taken(&receiver, "/team", 1).await;
    assert_eq!(receiver.got("/team").len(), 3);
    receiver.next("/team", [answer(500, ""), answer(500, ""), answer(500, "")]);
    set_soon(&agent, "Never", json!({})).await;
    let owner = home.owner().await;
    let dead = eventually("it is given up", async || {
        let dead = told(&home, &["remind", "dead"]);
        (dead["n_listed"] == json!(1)).then_some(dead)
    })
    .await;
    let letter = &dead["deliveries"][0];
    assert_eq!((&letter["state"], &letter["n_attempts"]), (&json!("dead"), &json!(3)), "{dead}");
    let key = letter["key"].as_str().unwrap();
    // Somebody has seen to the receiver.
    assert_eq!(told(&home, &["sinks", "test", "team"])["outcome"], json!("sent"));
    told(&home, &["remind", "dead", "retry", key]);
    let got = eventually("it arrives", async || {
        receiver.taken("/team").into_iter().find(|got| *got.data("title") == json!("Never"))
    })
    .await;
    assert_eq!(*got.data("id"), json!(key), "it is the same message");
    sink_with(&owner, "team", "n_dead", json!(0)).await;
}
