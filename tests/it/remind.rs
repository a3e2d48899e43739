//! Reminders of the real daemon: over the socket and the command line, to a webhook on loopback.

use jiff::SignedDuration;
use recalld::clock::SystemClock;
use recalld::ports::Clock as _;
use serde_json::{Value, json};

use crate::daemon::{Agent, Home, eventually};
use crate::endpoint_server::{Answer, Asked, Endpoint};

/// A receiver that takes everything.
fn receiver() -> Endpoint {
    Endpoint::start(taken())
}

fn taken() -> Answer {
    Answer::Raw(200, "", String::new())
}

fn refused() -> Answer {
    Answer::Raw(400, "", "no".to_owned())
}

/// Without a model of meaning, with one sink.
fn config(receiver: &Endpoint) -> String {
    format!(
        "[embed]\nmodel = \"none\"\n[reminders]\nzone = \"Europe/Berlin\"\n\
         [sinks.hook]\nkind = \"json\"\nurl = \"{}\"\npace_ms = 1\nburst = 100\n",
        receiver.url
    )
}

/// A moment soon.
fn soon() -> String {
    (SystemClock::new().now() + SignedDuration::from_secs(2)).to_string()
}

/// Sets a reminder that is due soon; gives its handle.
async fn remind_soon(agent: &Agent, text: &str) -> String {
    let set = agent.must("reminder_set", json!({ "text": text, "at": soon() })).await;
    set["reminder"]["handle"].as_str().unwrap().to_owned()
}

/// Waits for a message to the receiver with this title.
async fn arrives(receiver: &Endpoint, title: &str) -> Asked {
    eventually(title, async || {
        receiver.asked().into_iter().find(|asked| asked.body["data"]["title"] == title)
    })
    .await
}

fn texts(answer: &Value) -> Vec<&str> {
    let reminders = answer["reminders"].as_array().into_iter().flatten();
    reminders.map(|one| one["text"].as_str().unwrap()).collect()
}

/// A command with `--json`; gives its answer.
#[track_caller]
fn told(home: &Home, arguments: &[&str]) -> Value {
    let all: Vec<&str> = [&["--json"], arguments].concat();
    let output = home.run(&all);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A command that must succeed; gives what it prints.
#[track_caller]
fn prints(home: &Home, arguments: &[&str]) -> String {
    let output = home.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A command about reminders that must fail: its exit code, and what it must say.
#[track_caller]
fn fails(home: &Home, arguments: &[&str], code: i32, said: &str) {
    let output = home.run(&[&["remind"], arguments].concat());
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {complaint}");
    assert!(complaint.contains(said), "{arguments:?}: {complaint}");
}

#[tokio::test]
async fn a_reminder_set_over_the_socket_arrives_rides_and_is_acknowledged() {
    let receiver = receiver();
    let home = Home::with_config(&config(&receiver));
    let daemon = home.serve().await;
    let (a, b) = (home.agent("a").await, home.agent("b").await);
    let arguments =
        json!({ "text": "Water the plants", "at": soon(), "namespace": "agent/a", "zone": "UTC" });
    let set = a.must("reminder_set", arguments).await;
    let reminder = &set["reminder"];
    let told_at = reminder["next"][0]["told"].as_str().unwrap();
    assert!(told_at.ends_with("+00:00 UTC"), "{set}");

    let message = arrives(&receiver, "Water the plants").await;
    let data = &message.body["data"];
    assert_eq!(data["reminders"], json!([reminder["handle"]]), "{data}");
    assert_eq!(message.header("idempotency-key"), data["id"].as_str());

    let answer = a.must("memory_status", json!({})).await;
    assert_eq!(texts(&answer), ["Water the plants"], "{answer}");
    assert_eq!(texts(&a.must("memory_status", json!({})).await), Vec::<&str>::new(), "once");
    assert_eq!(texts(&b.must("memory_status", json!({})).await), Vec::<&str>::new());
    assert_eq!(texts(&b.must("reminder_list", json!({ "view": "all" })).await), Vec::<&str>::new());
    let listed = a.must("reminder_list", json!({ "view": "due" })).await;
    assert_eq!(texts(&listed), ["Water the plants"], "{listed}");

    let request = json!({ "id": reminder["id"], "action": "ack" });
    let done = a.must("reminder_update", request).await;
    assert_eq!(done["reminder"]["state"], "done", "{done}");
    let delivery = &done["reminder"]["deliveries"][0];
    assert_eq!((&delivery["state"], &delivery["sink"]), (&json!("sent"), &json!("hook")));
    assert_eq!(texts(&a.must("reminder_list", json!({})).await), Vec::<&str>::new());
    let past = a.must("reminder_list", json!({ "view": "past" })).await;
    assert_eq!(texts(&past), ["Water the plants"]);
    assert!(daemon.stop().await.success());
    assert_eq!(receiver.asked().len(), 0, "it was told once");
}

#[tokio::test]
async fn what_is_snoozed_arrives_once_more() {
    let receiver = receiver();
    let home = Home::with_config(&config(&receiver));
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let handle = remind_soon(&agent, "Call Bob").await;
    let first = arrives(&receiver, "Call Bob").await;
    let snoozed = told(&home, &["remind", "snooze", &handle, "1s"]);
    assert_eq!(snoozed["reminder"]["state"], "snoozed", "{snoozed}");
    let second = arrives(&receiver, "Call Bob").await;
    assert_ne!(first.body["data"]["id"], second.body["data"]["id"], "another telling");
    // Until when in words is as good, said where the wait is said or by its option.
    for words in [
        &["in", "10", "minutes"][..],
        &["tomorrow 9:00"],
        &["--for", "in 2 hours"],
        &["--for", "90m"],
        &["--until", "tomorrow 9:00"],
    ] {
        let arguments = [&["remind", "snooze", &handle], words].concat();
        let snoozed = told(&home, &arguments);
        assert_eq!(snoozed["reminder"]["state"], "snoozed", "{words:?}: {snoozed}");
    }
    let done = told(&home, &["remind", "ack", &handle]);
    assert_eq!(done["reminders"][0]["state"], "done", "{done}");
}

#[tokio::test]
async fn what_does_not_arrive_is_listed_sent_again_or_dropped() {
    let receiver = Endpoint::start(refused());
    let home = Home::with_config(&config(&receiver)).expect_log("reminder not told");
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    remind_soon(&agent, "Call Bob").await;
    remind_soon(&agent, "Call Eve").await;
    let dead = eventually("both are given up", async || {
        let dead = told(&home, &["remind", "dead"]);
        (dead["n_listed"] == 2).then_some(dead)
    })
    .await;
    let letter = |text: &str| {
        let letters = dead["deliveries"].as_array().unwrap();
        letters.iter().find(|letter| letter["text"] == text).unwrap().clone()
    };
    let (bob, eve) = (letter("Call Bob"), letter("Call Eve"));
    assert_eq!((&bob["state"], &bob["n_attempts"]), (&json!("dead"), &json!(1)), "{bob}");
    assert!(bob["why"].as_str().unwrap().contains("400"), "{bob}");
    let listed = agent.must("reminder_list", json!({ "view": "dead" })).await;
    assert_eq!(listed["n_listed"], 2, "{listed}");
    let sinks = told(&home, &["sinks", "list"]);
    assert_eq!(sinks["sinks"][0]["n_dead"], 2, "{sinks}");
    let table = prints(&home, &["remind", "dead", "list"]);
    assert!(table.contains("Call Bob") && table.contains("400"), "{table}");

    receiver.always(taken());
    receiver.asked();
    let key = bob["key"].as_str().unwrap();
    let again = told(&home, &["remind", "dead", "retry", &key[..12]]);
    assert_eq!(again["deliveries"][0]["key"], key, "{again}");
    let message = arrives(&receiver, "Call Bob").await;
    assert_eq!(message.body["data"]["id"], key);
    let dropped = told(&home, &["remind", "dead", "drop", "--all"]);
    assert_eq!(dropped["n_done"], 1, "{dropped}");
    assert_eq!(dropped["deliveries"][0]["key"], eve["key"], "{dropped}");
    assert_eq!(dropped["deliveries"][0]["state"], "dropped", "{dropped}");
    assert!(prints(&home, &["remind", "dead"]).contains("every message arrived"));
}

#[tokio::test]
async fn people_set_see_change_and_end_reminders_on_the_command_line() {
    let receiver = receiver();
    let home = Home::with_config(&config(&receiver));
    let _daemon = home.serve().await;
    let words = ["remind", "add", "weekly", "team", "meeting", "every", "Friday", "15:00"];
    let printed = prints(&home, &words);
    assert!(printed.contains("14:00") && printed.contains("Europe/Berlin"), "{printed}");
    assert_eq!(printed.matches("  told Fri ").count(), 3, "{printed}");
    let listed = told(&home, &["remind", "list"]);
    let handle = listed["reminders"][0]["handle"].as_str().unwrap();
    assert_eq!(listed["reminders"][0]["lead"], "PT1H", "{listed}");

    // Each: the command, what people read, where programs find it, and what is there.
    for (arguments, said, pointer, expected) in [
        (&["pause", handle][..], "is paused", "/reminders/0/state", "paused"),
        (&["resume", handle][..], "is upcoming", "/reminders/0/state", "upcoming"),
        (&["change", handle, "--lead", "30m"][..], "14:30", "/reminder/lead", "PT30M"),
        (
            &["change", handle, "--zone", "UTC"][..],
            "UTC",
            "/reminder/when",
            "every Friday at 15:00 UTC",
        ),
        (
            &["change", handle, "Team", "meeting"][..],
            "Team meeting",
            "/reminder/text",
            "Team meeting",
        ),
        (
            &["change", handle, "--priority", "urgent"][..],
            "change:",
            "/reminder/priority",
            "urgent",
        ),
        (&["show", handle][..], "on_missed", "/reminder/set_by", "owner"),
        (&["list", "--view", "upcoming"][..], handle, "/reminders/0/handle", handle),
        (&["list"][..], "UTC", "/reminders/0/handle", handle),
    ] {
        let arguments: Vec<&str> = [&["remind"], arguments].concat();
        let printed = prints(&home, &arguments);
        assert!(printed.contains(said), "{arguments:?}: {printed}");
        let answer = told(&home, &arguments);
        assert_eq!(answer.pointer(pointer), Some(&json!(expected)), "{arguments:?}: {answer}");
    }
    let shown = told(&home, &["remind", "show", handle]);
    let rule = shown["reminder"]["rule"].as_str().unwrap();
    assert!(rule.contains("DTSTART") && rule.contains("\nRRULE:FREQ=WEEKLY;BYDAY=FR"), "{rule}");
    let same = told(&home, &["remind", "add", "The same", "--rule", rule]);
    assert_eq!(same["reminder"]["when"], shown["reminder"]["when"]);
    prints(&home, &["remind", "cancel", same["reminder"]["handle"].as_str().unwrap()]);
    let once = told(&home, &["remind", "add", "Call Bob", "--at", "tomorrow 9:00"]);
    let once = once["reminder"]["handle"].as_str().unwrap();
    let both = told(&home, &["remind", "show", handle, once]);
    assert_eq!(both["reminders"][1]["handle"], once, "{both}");
    let both = prints(&home, &["remind", "show", handle, once]);
    assert!(both.contains("Team meeting\n") && both.contains("Call Bob\n"), "{both}");
    let done = told(&home, &["remind", "cancel", handle, once]);
    assert_eq!(done["reminders"][1]["state"], "cancelled", "{done}");
    assert!(
        prints(&home, &["remind", "list"]).contains("no reminders are due, proposed or to come")
    );
    assert!(
        prints(&home, &["remind", "list", "--view", "due"]).contains("no reminders in view due")
    );
    assert!(prints(&home, &["remind", "list", "--view", "all"]).contains("Call Bob"));
}

#[tokio::test]
async fn a_text_asks_again_when_it_is_stored_again_and_hears_why_it_asks_in_vain() {
    let receiver = receiver();
    let home = Home::with_config(&config(&receiver));
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    let content = "Remind me in 1 second to water the plants";
    for _ in 0..2 {
        agent.must("memory_store", json!({ "content": content })).await;
        arrives(&receiver, "water the plants").await;
    }
    let content = "Remind me every 5 minutes to look at the mail";
    let said = agent.must("memory_store", json!({ "content": content })).await;
    let why = said["memories"][0]["unarmed"][0].as_str().unwrap();
    assert!(why.contains("once a day at most"), "{said}");
    let out = prints(&home, &["remember", "Remind me to call Bob on 3 November 2023 at 3pm"]);
    assert!(out.contains("nothing is armed") && out.contains("is over"), "{out}");
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn what_is_said_wrong_about_a_reminder_is_refused_with_what_was_expected() {
    let home = Home::with_config(&config(&receiver()));
    let _daemon = home.serve().await;
    let set = told(&home, &["remind", "add", "Call Bob", "--at", "tomorrow 9:00"]);
    let handle = set["reminder"]["handle"].as_str().unwrap();
    for (arguments, said) in [
        (&["change", handle, "a", "--text", "b"][..], "cannot be used with"),
        (&["change", handle, "--lead", "-5h"][..], "never negative"),
        (&["change", handle, "--count", "-1"][..], "1 or more"),
        (&["snooze", handle, "--for", "-5m"][..], "a time to wait"),
        (&["snooze", handle, "sometime"][..], "tomorrow 9:00"),
        (&["snooze", handle, "5m", "--until", "tomorrow 9:00"][..], "cannot be used with"),
        (&["snooze", handle][..], "TIME"),
    ] {
        fails(&home, arguments, 64, said);
    }
    told(&home, &["remind", "cancel", handle]);
    for (arguments, code, said) in [
        (&["add", "Call Bob"][..], 64, "`at`"),
        (&["add", "Call Bob", "--at", "yesterday"][..], 64, "`at`"),
        (&["add", "Call Bob", "--at", "tomorrow", "--sink", "pigeon"][..], 64, "`sinks`"),
        (&["change", handle][..], 64, "--at TIME"),
        (&["add", "Call Bob", "--at", "-5m"][..], 64, "`at`"),
        (&["ack", handle][..], 64, "cancelled"),
        (&["show", "zzzzzzzz"][..], 64, "zzzzzzzz"),
        (&["list", "--view", "old"][..], 64, "`view`"),
        (&["dead", "retry", "00000000"][..], 64, "00000000"),
        (&["dead", "retry"][..], 64, "KEY"),
    ] {
        fails(&home, arguments, code, said);
    }
}

#[tokio::test]
async fn sinks_are_listed_and_tested() {
    let receiver = receiver();
    let home = Home::with_config(&config(&receiver));
    let _daemon = home.serve().await;
    let sinks = told(&home, &["sinks", "list"]);
    let sink = &sinks["sinks"][0];
    assert_eq!((&sink["name"], &sink["kind"]), (&json!("hook"), &json!("json")), "{sinks}");
    assert_eq!((&sink["state"], &sink["n_queued"]), (&json!("ok"), &json!(0)), "{sinks}");
    assert!(prints(&home, &["sinks", "list"]).contains("127.0.0.1"));
    assert!(prints(&home, &["sinks", "test", "hook"]).contains("hook: sent"));
    assert_eq!(receiver.asked().len(), 1);
    receiver.next([refused()]);
    let output = home.run(&["sinks", "test", "hook"]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("hook: refused") && complaint.contains("400"), "{complaint}");
    let output = home.run(&["sinks", "test", "pigeon"]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(64), "{complaint}");
    assert!(complaint.contains("hook"), "it names those there are: {complaint}");
}
