//! The right class of outcome for everything that a service may do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;

use super::message;
use super::server::{Act, Server, answer};
use crate::clock::ManualClock;
use crate::domain::reminder::Outcome;
use crate::domain::sink::{SinkKind, SinkSettings};
use crate::ports::Sink;
use crate::sinks::open;

/// Secrets of the tests; none may ever be seen.
pub(super) const PATH_SECRET: &str = "S3cr3tP4thXYZ/aB+c=d";
pub(super) const QUERY_SECRET: &str = "S3cr3tQu3ry/Z+y=";
pub(super) const TOKEN: &str = "987654:S3cr3tT0ken+/x=";
pub(super) const SIGNING: &str = "whsec_UzNjcjN0U2lnbmluZ0tleQ==";
pub(super) const TOPIC: &str = "S3cr3tT0pic";

/// A sink of each kind that is asked by HTTP, at a server.
pub(super) const KINDS: [SinkKind; 14] = [
    SinkKind::Slack,
    SinkKind::Telegram,
    SinkKind::Feishu,
    SinkKind::DingTalk,
    SinkKind::WeCom,
    SinkKind::Ntfy,
    SinkKind::Json,
    SinkKind::Discord,
    SinkKind::Teams,
    SinkKind::Mattermost,
    SinkKind::RocketChat,
    SinkKind::GoogleChat,
    SinkKind::Gotify,
    SinkKind::Matrix,
];

/// Files with secrets, and a sink that reads them.
pub(super) struct Setting {
    pub(super) sink: Arc<dyn Sink>,
    pub(super) settings: SinkSettings,
    _dir: TempDir,
}

impl Setting {
    /// A sink at `base`, with every secret that its kind has.
    pub(super) fn new(kind: SinkKind, base: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(kind, base, dir.path());
        let clock = Arc::new(ManualClock::at(Timestamp::from_second(1_700_000_000).unwrap()));
        Self { sink: open(settings.clone(), clock), settings, _dir: dir }
    }

    pub(super) async fn deliver(&self) -> Outcome {
        self.sink.deliver(&message()).await
    }
}

fn settings(kind: SinkKind, base: &str, dir: &Path) -> SinkSettings {
    let mut settings = SinkSettings::new("ops", kind);
    settings.timeout = Duration::from_secs(3);
    let has = |option: &str| {
        let mut all = kind.needs().iter().copied().flatten().chain(kind.takes());
        all.any(|known| *known == option)
    };
    let file = |name: &str, content: &str| {
        let path = dir.join(name);
        write(&path, content);
        has(&format!("{name}_file")).then_some(path)
    };
    let encoded = crate::sinks::mask::percent_encoded;
    let (path, query) = (encoded(PATH_SECRET), encoded(QUERY_SECRET));
    settings.url_file = file("url", &format!("{base}/hook/{path}?key={query}"));
    settings.url = settings.url_file.is_none().then(|| base.to_owned());
    settings.token_file = file("token", TOKEN);
    settings.secret_file = file("secret", SIGNING);
    settings.to_file = file("to", TOPIC);
    settings.to = vec!["-100123".to_owned()];
    settings
}

/// A sink of a kind and the server that it is at.
pub(super) struct Pair {
    pub(super) server: Server,
    pub(super) setting: Setting,
}

impl Pair {
    pub(super) async fn of(kind: SinkKind) -> Self {
        let server = Server::that(success(kind)).await;
        let setting = Setting::new(kind, &server.base);
        Self { server, setting }
    }

    /// What comes of a message if the server does `act`, and what it got.
    pub(super) async fn outcome(&self, act: Act) -> (Outcome, Vec<String>) {
        self.server.does(act);
        let outcome = self.setting.deliver().await;
        (outcome, self.server.got())
    }
}

fn write(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A class of outcome, with the time of a retry.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Class {
    Sent(Option<&'static str>),
    Accepted,
    Retry(Option<SignedDuration>),
    Refused,
    Disabled,
    Unknown,
}

use Class::{Accepted, Disabled, Refused, Retry, Sent, Unknown};

const fn after(seconds: i64) -> Class {
    Retry(Some(SignedDuration::from_secs(seconds)))
}

fn is_of(outcome: &Outcome, class: &Class) -> bool {
    match (outcome, class) {
        (Outcome::Sent { remote_id }, Sent(expected)) => remote_id.as_deref() == *expected,
        (Outcome::Retry { after, .. }, Retry(expected)) => after == expected,
        (Outcome::Accepted, Accepted)
        | (Outcome::Refused(_), Refused)
        | (Outcome::Disabled(_), Disabled)
        | (Outcome::Unknown(_), Unknown) => true,
        _ => false,
    }
}

#[track_caller]
fn check(kind: SinkKind, act: &Act, outcome: &Outcome, class: &Class) {
    assert!(is_of(outcome, class), "{kind} {act:?}: {outcome:?} is not {class:?}");
}

/// What each service answers to what it takes.
pub(super) fn success(kind: SinkKind) -> Act {
    match kind {
        SinkKind::Slack | SinkKind::Mattermost => answer(200, "ok"),
        SinkKind::Telegram => answer(200, r#"{"ok":true,"result":{"message_id":42}}"#),
        SinkKind::Feishu => answer(200, r#"{"code":0,"data":{},"msg":"success"}"#),
        SinkKind::DingTalk | SinkKind::WeCom => answer(200, r#"{"errcode":0,"errmsg":"ok"}"#),
        SinkKind::Ntfy => answer(200, r#"{"id":"hwQ2YpKdmg","event":"message"}"#),
        SinkKind::Discord => answer(200, r#"{"id":"1234567890","type":0}"#),
        SinkKind::Teams => answer(202, ""),
        SinkKind::RocketChat => answer(200, r#"{"success":true}"#),
        SinkKind::GoogleChat => answer(200, r#"{"name":"spaces/A/messages/b.c"}"#),
        SinkKind::Gotify => answer(200, r#"{"id":25,"appid":5}"#),
        SinkKind::Matrix => answer(200, r#"{"event_id":"$abc:example.org"}"#),
        SinkKind::Json | SinkKind::Desktop | SinkKind::Email | SinkKind::Exec | SinkKind::Log => {
            answer(204, "")
        }
    }
}

#[tokio::test]
async fn what_a_service_takes_is_sent_in_one_request() {
    for kind in KINDS {
        let names = [
            (SinkKind::Telegram, "42"),
            (SinkKind::Ntfy, "hwQ2YpKdmg"),
            (SinkKind::Discord, "1234567890"),
            (SinkKind::GoogleChat, "spaces/A/messages/b.c"),
            (SinkKind::Gotify, "25"),
            (SinkKind::Matrix, "$abc:example.org"),
        ];
        let name = names.iter().find(|(named, _)| *named == kind).map(|(_, name)| *name);
        let class = if kind == SinkKind::Teams { Accepted } else { Sent(name) };
        let act = success(kind);
        let (outcome, got) = Pair::of(kind).await.outcome(act.clone()).await;
        check(kind, &act, &outcome, &class);
        assert_eq!(got.len(), 1, "{kind}");
    }
}

/// What the status of a success means without the body of one.
fn without_body(kind: SinkKind) -> Class {
    if kind == SinkKind::Json {
        Sent(None)
    } else if kind == SinkKind::Teams {
        Accepted
    } else {
        Unknown
    }
}

#[tokio::test]
async fn a_success_by_status_is_none_where_the_body_decides() {
    for kind in KINDS {
        let act = answer(200, "<html>Sign in to the network</html>");
        let class = without_body(kind);
        let (outcome, _) = Pair::of(kind).await.outcome(act.clone()).await;
        check(kind, &act, &outcome, &class);
    }
}

/// What each service answers to what it does not take.
const REFUSALS: &[(SinkKind, u16, &str, Class)] = &[
    (SinkKind::Slack, 400, "invalid_payload", Refused),
    (SinkKind::Slack, 400, "no_text", Refused),
    (SinkKind::Slack, 403, "action_prohibited", Disabled),
    (SinkKind::Slack, 403, "invalid_token", Disabled),
    (SinkKind::Slack, 404, "no_service", Disabled),
    (SinkKind::Slack, 404, "channel_not_found", Disabled),
    (SinkKind::Slack, 410, "channel_is_archived", Disabled),
    (SinkKind::Slack, 200, "no_service", Disabled),
    (SinkKind::Slack, 500, "rollup_error", Retry(None)),
    (
        SinkKind::Telegram,
        429,
        r#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 7","parameters":{"retry_after":7}}"#,
        after(7),
    ),
    (
        SinkKind::Telegram,
        200,
        r#"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":9}}"#,
        after(9),
    ),
    (
        SinkKind::Telegram,
        403,
        r#"{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}"#,
        Disabled,
    ),
    (
        SinkKind::Telegram,
        400,
        r#"{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}"#,
        Disabled,
    ),
    (
        SinkKind::Telegram,
        400,
        r#"{"ok":false,"error_code":400,"description":"Bad Request: message text is empty"}"#,
        Refused,
    ),
    (
        SinkKind::Telegram,
        400,
        r#"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded","parameters":{"migrate_to_chat_id":-100456}}"#,
        Disabled,
    ),
    (
        SinkKind::Telegram,
        401,
        r#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#,
        Disabled,
    ),
    (
        SinkKind::Telegram,
        404,
        r#"{"ok":false,"error_code":404,"description":"Not Found"}"#,
        Disabled,
    ),
    (
        SinkKind::Telegram,
        500,
        r#"{"ok":false,"error_code":500,"description":"Internal Server Error"}"#,
        Retry(None),
    ),
    (
        SinkKind::Feishu,
        200,
        r#"{"code":19021,"msg":"sign match fail or timestamp is not within one hour"}"#,
        Disabled,
    ),
    (SinkKind::Feishu, 200, r#"{"code":19022,"msg":"Ip Not Allowed"}"#, Disabled),
    (SinkKind::Feishu, 200, r#"{"code":19024,"msg":"Key Words Not Found"}"#, Disabled),
    (SinkKind::Feishu, 400, r#"{"code":9499,"msg":"Bad Request"}"#, Refused),
    (
        SinkKind::Feishu,
        200,
        r#"{"code":11232,"msg":"create message trigger rate limit"}"#,
        after(60),
    ),
    (SinkKind::Feishu, 429, r#"{"code":11233}"#, after(60)),
    (SinkKind::Feishu, 200, r#"{"code":77777}"#, Refused),
    (SinkKind::Feishu, 200, r#"{"StatusCode":0,"StatusMessage":"success"}"#, Sent(None)),
    (SinkKind::DingTalk, 200, r#"{"errcode":310000,"errmsg":"keywords not in content"}"#, Disabled),
    (SinkKind::DingTalk, 200, r#"{"errcode":310000,"errmsg":"sign not match"}"#, Disabled),
    (SinkKind::DingTalk, 200, r#"{"errcode":130101,"errmsg":"send too fast"}"#, after(600)),
    (SinkKind::DingTalk, 200, r#"{"errcode":90030}"#, after(3_600)),
    (SinkKind::DingTalk, 200, r#"{"errcode":300001,"errmsg":"token is not exist"}"#, Disabled),
    (SinkKind::DingTalk, 200, r#"{"errcode":40035,"errmsg":"bad parameter"}"#, Refused),
    (SinkKind::DingTalk, 200, r#"{"errcode":-1,"errmsg":"system busy"}"#, Retry(None)),
    (SinkKind::WeCom, 200, r#"{"errcode":45009,"errmsg":"api freq out of limit"}"#, after(60)),
    (SinkKind::WeCom, 200, r#"{"errcode":93000,"errmsg":"invalid webhook url"}"#, Disabled),
    (SinkKind::WeCom, 200, r#"{"errcode":40058,"errmsg":"content exceed max length"}"#, Refused),
    (SinkKind::Ntfy, 429, r#"{"code":42901,"http":429,"error":"limit reached"}"#, after(60)),
    (SinkKind::Ntfy, 401, r#"{"code":40101,"http":401,"error":"unauthorized"}"#, Disabled),
    (SinkKind::Ntfy, 403, r#"{"code":40301,"http":403,"error":"forbidden"}"#, Disabled),
    (SinkKind::Ntfy, 400, r#"{"code":40024,"http":400,"error":"invalid request"}"#, Refused),
    (SinkKind::Ntfy, 507, r#"{"code":50701,"http":507}"#, Retry(None)),
    (SinkKind::Json, 410, "", Disabled),
    (SinkKind::Json, 400, r#"{"error":"no"}"#, Refused),
    (SinkKind::Json, 409, "", Refused),
    (SinkKind::Discord, 204, "", Sent(None)),
    (
        SinkKind::Discord,
        429,
        r#"{"message":"You are being rate limited.","retry_after":0.9,"global":false}"#,
        after(1),
    ),
    (SinkKind::Discord, 400, r#"{"message":"Invalid Form Body","code":50035}"#, Refused),
    (SinkKind::Discord, 404, r#"{"message":"Unknown Webhook","code":10015}"#, Disabled),
    (SinkKind::Discord, 401, r#"{"message":"Invalid Webhook Token","code":50027}"#, Disabled),
    (SinkKind::Teams, 200, "1", Accepted),
    (SinkKind::Teams, 400, r#"{"error":{"code":"TriggerInputSchemaMismatch"}}"#, Refused),
    (SinkKind::Teams, 401, r#"{"error":{"code":"DirectApiAuthorizationRequired"}}"#, Disabled),
    (SinkKind::Teams, 404, r#"{"error":{"code":"WorkflowNotFound"}}"#, Disabled),
    (SinkKind::Teams, 429, "", after(60)),
    (
        SinkKind::Mattermost,
        400,
        r#"{"id":"web.incoming_webhook.invalid.app_error","message":"Invalid webhook."}"#,
        Disabled,
    ),
    (
        SinkKind::Mattermost,
        400,
        r#"{"id":"web.incoming_webhook.text.app_error","message":"No text"}"#,
        Refused,
    ),
    (SinkKind::Mattermost, 403, r#"{"id":"web.incoming_webhook.permissions.app_error"}"#, Disabled),
    (SinkKind::Mattermost, 501, r#"{"id":"web.incoming_webhook.disabled.app_error"}"#, Disabled),
    (SinkKind::RocketChat, 200, r#"{"success":false,"error":"error-no-message"}"#, Refused),
    (
        SinkKind::RocketChat,
        200,
        r#"{"success":false,"error":"error-too-many-requests"}"#,
        after(60),
    ),
    (
        SinkKind::RocketChat,
        404,
        r#"{"success":false,"error":"Invalid integration id or token provided."}"#,
        Disabled,
    ),
    (
        SinkKind::GoogleChat,
        429,
        r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#,
        after(60),
    ),
    (SinkKind::GoogleChat, 400, r#"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#, Refused),
    (SinkKind::GoogleChat, 403, r#"{"error":{"code":403,"status":"PERMISSION_DENIED"}}"#, Disabled),
    (SinkKind::Gotify, 401, r#"{"error":"Unauthorized","errorCode":401}"#, Disabled),
    (SinkKind::Gotify, 400, r#"{"error":"Bad Request","errorCode":400}"#, Refused),
    (
        SinkKind::Matrix,
        429,
        r#"{"errcode":"M_LIMIT_EXCEEDED","error":"Too many","retry_after_ms":2000}"#,
        after(2),
    ),
    (SinkKind::Matrix, 401, r#"{"errcode":"M_UNKNOWN_TOKEN","error":"Invalid"}"#, Disabled),
    (SinkKind::Matrix, 403, r#"{"errcode":"M_FORBIDDEN","error":"not in room"}"#, Disabled),
    (SinkKind::Matrix, 413, r#"{"errcode":"M_TOO_LARGE","error":"too large"}"#, Refused),
];

#[tokio::test]
async fn refusals_of_each_service_have_their_class() {
    let mut pair = Pair::of(SinkKind::Slack).await;
    for (kind, status, body, class) in REFUSALS {
        if pair.setting.sink.kind() != *kind {
            pair = Pair::of(*kind).await;
        }
        let act = answer(*status, *body);
        let (outcome, got) = pair.outcome(act.clone()).await;
        check(*kind, &act, &outcome, class);
        assert_eq!(got.len(), 1, "{kind} {act:?} was sent again");
    }
}

#[tokio::test]
async fn a_status_has_its_class_at_every_service() {
    let wait = "Retry-After: 7\r\n".to_owned();
    let there = "Location: https://elsewhere.example.org/login\r\n".to_owned();
    let limited = Act::Answer { status: 429, headers: wait, body: String::new() };
    let moved = Act::Answer { status: 308, headers: there.clone(), body: String::new() };
    let sent_off = Act::Answer { status: 302, headers: there, body: String::new() };
    let table = [
        (limited, after(7)),
        (answer(429, ""), after(60)),
        (moved, Disabled),
        (sent_off, Retry(None)),
        (answer(500, "oh no"), Retry(None)),
        (answer(502, "<html>"), Retry(None)),
        (answer(503, ""), Retry(None)),
        (answer(504, ""), Unknown),
        (answer(401, ""), Disabled),
        (answer(404, "<html>"), Disabled),
        (answer(410, ""), Disabled),
        (answer(413, ""), Refused),
        (answer(500, "x".repeat(1024 * 1024)), Retry(None)),
    ];
    for kind in KINDS {
        let pair = Pair::of(kind).await;
        for (act, class) in &table {
            let (outcome, got) = pair.outcome(act.clone()).await;
            check(kind, act, &outcome, class);
            assert_eq!(got.len(), 1, "{kind} {act:?} was sent again or followed");
        }
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_leaves_it_open_whether_it_arrived() {
    let mut pairs = Vec::new();
    for kind in KINDS {
        let pair = Pair::of(kind).await;
        // What takes long is done before the clocks run.
        pair.outcome(success(kind)).await;
        pairs.push((kind, pair));
    }
    futures::future::join_all(pairs.iter().map(|(kind, pair)| left_open(*kind, pair))).await;
}

async fn left_open(kind: SinkKind, pair: &Pair) {
    let by_status_alone = without_body(kind);
    for (act, class) in [
        (Act::Silence, Unknown),
        (Act::Reset, Unknown),
        (Act::Stall(200), by_status_alone.clone()),
        (Act::Stall(500), Retry(None)),
        (Act::Stall(401), Disabled),
        (answer(200, "x".repeat(1024 * 1024)), by_status_alone),
    ] {
        let (outcome, got) = pair.outcome(act.clone()).await;
        check(kind, &act, &outcome, &class);
        assert_eq!(got.len(), 1, "{kind} {act:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_sent_can_be_sent_later() {
    for kind in KINDS {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let outcome = Setting::new(kind, &base).deliver().await;
        check(kind, &Act::Silence, &outcome, &Retry(None));
    }
    // A handshake that fails comes before anything of the message.
    let server = Server::that(Act::ResetAtOnce).await;
    let base = server.base.replace("http://", "https://");
    let encrypted = Setting::new(SinkKind::Slack, &base).deliver().await;
    check(SinkKind::Slack, &Act::ResetAtOnce, &encrypted, &Retry(None));
    // Nobody knows what was read before the reset.
    let (outcome, _) = Pair::of(SinkKind::Slack).await.outcome(Act::ResetAtOnce).await;
    check(SinkKind::Slack, &Act::ResetAtOnce, &outcome, &Unknown);
}

#[tokio::test]
async fn messages_go_only_where_the_configuration_lets_them() {
    for (base, words) in [
        ("http://8.8.8.8", "https only"),
        ("https://192.168.1.20", "sinks.ops.allow_private"),
        ("http://169.254.169.254", "sinks.ops.allow_private"),
        ("http://[::ffff:10.0.0.1]", "sinks.ops.allow_private"),
        ("http://2130706433.example.org:99999", "holds no address"),
        ("ftp://127.0.0.1", "holds no address"),
        ("http://user:pass@127.0.0.1", "holds no address"),
    ] {
        let outcome = Setting::new(SinkKind::Slack, base).deliver().await;
        let Outcome::Disabled(why) = &outcome else { panic!("{base}: {outcome:?}") };
        assert!(why.contains(words), "{base}: {why}");
    }
    // A name is checked by the address that it has: this machine's is allowed.
    let server = Server::that(success(SinkKind::Slack)).await;
    let base = server.base.replace("127.0.0.1", "localhost");
    let outcome = Setting::new(SinkKind::Slack, &base).deliver().await;
    check(SinkKind::Slack, &Act::Silence, &outcome, &Sent(None));
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_is_told_and_read_anew_each_time() {
    let server = Server::that(success(SinkKind::Slack)).await;
    let setting = Setting::new(SinkKind::Slack, &server.base);
    let file = setting.settings.url_file.clone().unwrap();
    let url = fs::read_to_string(&file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let Outcome::Disabled(why) = setting.deliver().await else { panic!("a readable secret") };
    assert!(why.contains("chmod 600"), "{why}");
    fs::remove_file(&file).unwrap();
    let Outcome::Disabled(why) = setting.deliver().await else { panic!("no secret") };
    assert!(why.contains("read the key in"), "{why}");
    write(&file, &url);
    check(SinkKind::Slack, &Act::Silence, &setting.deliver().await, &Sent(None));
    assert_eq!(server.got().len(), 1);
}
