//! What the daemon does by itself: asked for, by timer, after a kill, after a reload.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::daemon::{Agent, Home, WAIT, eventually};

/// Without a model, so that many memories are stored quickly; what was missed is made up for at once.
const CONFIG: &str = "[embed]\nmodel = \"none\"\n[jobs]\nzone = \"UTC\"\ncatch_up_after_s = 0\n";

/// Stores memories, a hundred at a time, once the start is over.
async fn fill(home: &Home, n_hundreds: usize) {
    let agent = home.agent("filler").await;
    eventually("the first comparison of the indexes", async || {
        let status = agent.must("memory_status", json!({})).await;
        status.get("parity").map(drop)
    })
    .await;
    for hundred in 0..n_hundreds {
        let memories: Vec<String> =
            (0..100).map(|n| format!("Entry {hundred}.{n} of the logbook")).collect();
        agent.must("memory_store", json!({ "memories": memories })).await;
    }
}

async fn list(owner: &Agent) -> Value {
    owner.must("maintenance_list", json!({})).await
}

/// The runs of a list, newest first.
fn runs(list: &Value) -> &[Value] {
    list["runs"].as_array().map_or(&[], Vec::as_slice)
}

/// Runs the program; gives what it printed.
#[track_caller]
fn prints(home: &Home, arguments: &[&str]) -> String {
    let output = home.run(arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn a_person_runs_a_job_reads_its_report_and_undoes_it() {
    let home = Home::with_config(CONFIG);
    let _daemon = home.serve().await;
    fill(&home, 1).await;
    let printed = prints(&home, &["jobs", "list"]);
    assert!(printed.contains("decay") && printed.contains("03:30:00+00:00"), "{printed}");
    let tried: Value =
        serde_json::from_str(&prints(&home, &["--json", "jobs", "run", "decay", "--dry-run"]))
            .unwrap();
    assert_eq!((&tried["outcome"], &tried["dry_run"]), (&json!("done"), &json!(true)), "{tried}");
    let ran: Value =
        serde_json::from_str(&prints(&home, &["--json", "jobs", "run", "decay"])).unwrap();
    assert_eq!(ran["trigger"], "owner", "{ran}");
    assert_eq!(ran["report"]["n_memories"], 100);
    assert_eq!(ran["report"]["after"]["n"], 100);
    let id = ran["run"].to_string();
    let report = prints(&home, &["jobs", "report", &id]);
    assert!(report.contains("memories: 100") && report.contains("owner"), "{report}");
    assert!(!report.contains('{'), "in words: {report}");
    let list = list(&home.owner().await).await;
    assert_eq!(runs(&list).len(), 2, "{list}");
    assert_eq!(list["jobs"][0]["last_outcome"], "done");
    let undone = prints(&home, &["jobs", "undo", &id]);
    assert!(undone.contains("0 restored, 0 withdrawn, 0 left"), "{undone}");
    let tried: Value =
        serde_json::from_str(&prints(&home, &["--json", "jobs", "run", "decay", "--dry-run"]))
            .unwrap();
    for (arguments, code, said) in [
        (&["jobs", "run", "coffee"][..], 64, "one of decay"),
        (&["jobs", "report", "4711"], 1, "there is no such run"),
        (&["jobs", "undo", &id], 1, "undone before"),
        (&["jobs", "undo", &tried["run"].to_string()], 1, "dry run"),
    ] {
        let output = home.run(arguments);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {complaint}");
        assert!(complaint.contains(said), "{arguments:?}: {complaint}");
    }
}

#[tokio::test]
async fn usr2_runs_the_jobs_and_the_timer_does_too() {
    let home = Home::with_config(&format!("{CONFIG}[jobs.decay]\nschedule = \"* * * * * *\"\n"));
    let daemon = home.serve().await;
    let owner = home.owner().await;
    eventually("a run by the timer", async || {
        let list = list(&owner).await;
        let by_timer = |run: &&Value| run["trigger"] == "timer" && run["outcome"] == "done";
        runs(&list).iter().find(by_timer).map(drop)
    })
    .await;
    home.rewrite(&format!("{CONFIG}[jobs.decay]\nschedule = \"0 4 1 1 *\"\n"));
    daemon.signal(Signal::HUP);
    eventually("the reload", async || {
        let next = &list(&owner).await["jobs"][0]["next_at"];
        next.as_str().is_some_and(|at| at.ends_with("-01-01T04:00:00Z")).then_some(())
    })
    .await;
    daemon.signal(Signal::USR2);
    eventually("a run by the signal", async || {
        let list = list(&owner).await;
        runs(&list)
            .iter()
            .any(|run| run["trigger"] == "signal" && run["outcome"] == "done")
            .then_some(())
    })
    .await;
    let status = owner.must("memory_status", json!({})).await;
    assert_eq!(status["jobs"][0]["last_outcome"], "done", "{status}");
    let part = status["parts"].as_array().unwrap().iter().find(|part| part["name"] == "jobs");
    assert_eq!(part.unwrap()["state"], "ok");
    assert!(home.log().contains("job scheduled"), "the timetable is told at the start");
    assert!(daemon.stop().await.success());
}

#[tokio::test]
async fn a_broken_schedule_is_refused_and_the_old_one_goes_on() {
    let mut home = Home::with_config(CONFIG).expect_log("configuration refused");
    let daemon = home.serve().await;
    let owner = home.owner().await;
    let before = list(&owner).await["jobs"][0]["next_at"].clone();
    let broken = format!("{CONFIG}[jobs.decay]\nschedule = \"0 4 31 2 *\"\n");
    home.rewrite(&broken);
    daemon.signal(Signal::HUP);
    eventually("the refusal", async || {
        home.log().contains("config.toml:7:12: jobs.decay.schedule").then_some(())
    })
    .await;
    assert_eq!(list(&owner).await["jobs"][0]["next_at"], before);
    assert!(daemon.stop().await.success());
    home.configure(&broken);
    for command in ["check-config", "serve"] {
        let output = home.run(&[command]);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{command}: {complaint}");
        for part in ["jobs.decay.schedule", "never comes due", "0 4 31 2 *"] {
            assert!(complaint.contains(part), "{command}: {complaint}");
        }
    }
}

#[tokio::test]
async fn check_config_tells_the_next_three_runs_with_their_zone() {
    let home = Home::with_config(
        "[jobs]\nzone = \"Asia/Shanghai\"\n[jobs.decay]\nschedule = \"0 9 * * *\"\n",
    );
    let printed = prints(&home, &["check-config"]);
    let line = printed.lines().find(|line| line.starts_with("job     decay next runs")).unwrap();
    assert_eq!(line.matches("T09:00:00+08:00[Asia/Shanghai]").count(), 3, "{line}");
}

#[tokio::test]
async fn a_run_cut_off_by_a_kill_is_made_again_once_after_the_start() {
    let home = Home::with_config(CONFIG).expect_log("runs were cut off by the end of the daemon");
    let daemon = home.serve().await;
    fill(&home, 60).await;
    // Held in the middle of a run: the job has begun, and its process stands still.
    let mut n_runs = 0;
    loop {
        let owner = home.owner().await;
        let asking = tokio::spawn(async move {
            drop(owner.client.call_tool("maintenance_run", json!({ "job": "decay" }), WAIT).await);
        });
        n_runs += 1;
        eventually("the start of the run", async || {
            (home.log().matches("job started").count() == n_runs).then_some(())
        })
        .await;
        daemon.signal(Signal::STOP);
        if home.log().matches("job finished").count() < n_runs {
            asking.abort();
            break;
        }
        daemon.signal(Signal::CONT);
        asking.await.unwrap();
    }
    daemon.kill();
    let _daemon = home.serve().await;
    let owner = home.owner().await;
    let list = eventually("the run that makes up for it", async || {
        let list = list(&owner).await;
        let is_done = runs(&list).first().is_some_and(|run| run["outcome"] == "done")
            && list["jobs"][0]["activity"].is_null();
        (is_done && runs(&list).len() == n_runs + 1).then_some(list)
    })
    .await;
    assert_eq!(runs(&list)[0]["trigger"], "catch_up", "{list}");
    assert_eq!(runs(&list)[1]["outcome"], "interrupted", "{list}");
    // Nothing more comes of it: the next run is the one that is asked for.
    let asked = owner.must("maintenance_run", json!({ "job": "decay" })).await;
    let list = self::list(&owner).await;
    assert_eq!((runs(&list).len(), &runs(&list)[0]["run"]), (n_runs + 2, &asked["run"]), "{list}");
}

#[tokio::test]
async fn agents_are_shown_jobs_with_the_full_set_only() {
    let home = Home::with_config(CONFIG);
    let daemon = home.serve().await;
    let agent = home.agent("a").await;
    assert!(agent.client.call_tool("maintenance_run", json!({}), WAIT).await.is_err());
    let id = agent.store("The lift is out of order").await;
    let told = agent.must("memory_feedback", json!({ "ids": [id], "verdict": "useful" })).await;
    assert_eq!(told["memories"][0]["strength"], 0.55, "{told}");
    assert!(daemon.stop().await.success());
    home.rewrite(&format!("{CONFIG}[mcp]\ntoolset = \"full\"\n"));
    let _daemon = home.serve().await;
    let agent = home.agent("a").await;
    let told = agent.must("maintenance_run", json!({ "job": "decay" })).await;
    assert_eq!((&told["outcome"], &told["trigger"]), (&json!("done"), &json!("agent")), "{told}");
    let got = agent.must("memory_get", json!({ "ids": [id] })).await;
    let strength = got["memories"][0]["strength"].as_f64().unwrap();
    assert!((strength - 0.55).abs() < 0.01, "the feedback outlived the stop: {got}");
}
