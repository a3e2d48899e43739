//! Tables of what is a secret and what only looks like one, and the properties of the whole.

use proptest::prelude::*;

use super::*;

/// A body of `n` letters and digits without meaning. Tokens are put together here so that none
/// stands in the source.
fn body(n: usize) -> String {
    "a7Bq2Xz9Lm4Tk8Wd".chars().cycle().take(n).collect()
}

fn hex(n: usize) -> String {
    "9f86d081884c7d65".chars().cycle().take(n).collect()
}

fn upper(n: usize) -> String {
    "Q7X2M4ZK".chars().cycle().take(n).collect()
}

/// Fake secrets, each with its rule.
fn tokens() -> Vec<(&'static str, String)> {
    let jwt = format!("eyJ{}.eyJ{}.{}", body(20), body(40), body(43));
    vec![
        ("aws-access-key", format!("AKIA{}", upper(16))),
        ("aws-access-key", format!("ASIA{}", upper(16))),
        ("github-token", format!("ghp_{}", body(36))),
        ("github-token", format!("gho_{}", body(36))),
        ("github-token", format!("ghs_{}", body(36))),
        ("github-token", format!("ghu_{}", body(36))),
        ("github-token", format!("ghr_{}", body(76))),
        ("github-token", format!("github_pat_{}_{}", body(22), body(59))),
        ("gitlab-token", format!("glpat-{}", body(20))),
        ("gitlab-token", format!("glpat-{}.01.{}", body(27), "0a1b2c3d4")),
        ("gitlab-token", format!("glrt-{}", body(20))),
        (
            "slack-token",
            format!("xoxb-{}-{}-{}", 123_456_789_012_u64, 123_456_789_012_u64, body(24)),
        ),
        ("slack-token", format!("xoxp-{}-{}", 123_456_789_012_u64, body(32))),
        ("slack-token", format!("xapp-1-A{}-{}", upper(10), hex(64))),
        ("telegram-bot-token", format!("{}:AA{}", 1_234_567_890, body(33))),
        ("telegram-bot-token", format!("{}:AA{}-", 12_345_678, body(32))),
        ("discord-token", format!("MT{}.{}.{}", body(24), body(6), body(38))),
        ("anthropic-key", format!("sk-ant-api03-{}-{}AA", body(50), body(43))),
        ("openai-key", format!("sk-proj-{}_{}", body(40), body(40))),
        ("openai-key", format!("sk-svcacct-{}", body(60))),
        ("openai-key", format!("sk-{}", body(48))),
        ("openai-key", format!("sk-{}", hex(32))),
        ("google-key", format!("AIza{}", body(35))),
        ("google-key", format!("GOCSPX-{}", body(28))),
        ("google-key", format!("ya29.{}", body(60))),
        ("stripe-key", format!("sk_live_{}", body(24))),
        ("stripe-key", format!("rk_live_{}", body(24))),
        ("webhook-secret", format!("whsec_{}", body(32))),
        ("npm-token", format!("npm_{}", body(36))),
        ("huggingface-token", format!("hf_{}", body(34))),
        ("pypi-token", format!("pypi-AgE{}", body(100))),
        ("sendgrid-key", format!("SG.{}.{}", body(22), body(43))),
        ("digitalocean-token", format!("dop_v1_{}", hex(64))),
        ("docker-token", format!("dckr_pat_{}", body(27))),
        ("groq-key", format!("gsk_{}", body(52))),
        ("jwt", jwt),
        ("jwt", format!("eyJ{}..{}.{}.{}", body(20), body(16), body(40), body(22))),
        ("private-key", format!("AGE-SECRET-KEY-1{}", upper(58))),
        ("private-key", pem("RSA ", "\n", true)),
        ("private-key", pem("", "\\n", true)),
        ("private-key", pem("OPENSSH ", "\r\n", true)),
        ("private-key", pem("EC ", "\\\\n", true)),
        ("private-key", pem("ENCRYPTED ", "\n    ", true)),
    ]
}

/// A key block with lines ended by `end`; without its last line if it is not `whole`.
fn pem(sort: &str, end: &str, whole: bool) -> String {
    let head = format!("-----BEGIN {sort}PRIVATE KEY-----");
    let mut lines = vec![head, body(64), body(64), body(52) + "=="];
    if whole {
        lines.push(format!("-----END {sort}PRIVATE KEY-----"));
    }
    lines.join(end)
}

#[track_caller]
fn check(text: &str, expected: &str, found: &[&str]) {
    let redacted = redact(text);
    assert_eq!(redacted.text, expected, "of `{text}`");
    assert_eq!(redacted.found, found, "of `{text}`");
    let again = redact(&redacted.text);
    assert_eq!(again.text, expected, "redacted twice");
    assert!(again.found.is_empty(), "{again:?}");
}

#[test]
fn every_rule_compiles() {
    assert_eq!(COMPILED.len(), RULES.len());
}

#[test]
fn tokens_are_found_wherever_they_stand() {
    for (rule, token) in tokens() {
        for (before, after) in [
            ("", ""),
            ("my key is ", ", keep it"),
            ("密钥", "是新的"),
            ("密钥为：", "。"),
            ("https://example.org/login?user=ann&t=", "&page=2"),
            ("https://example.org/login?t%3D", "%26page"),
            ("{\"key\":\"", "\"}"),
            ("a line\\n", "\\nanother"),
            ("export KEY='", "'\n"),
            ("(`", "`)."),
            ("<", ">"),
            ("key=", ";"),
        ] {
            let text = format!("{before}{token}{after}");
            check(&text, &format!("{before}[redacted:{rule}]{after}"), &[rule]);
        }
    }
}

#[test]
fn several_tokens_are_all_found() {
    let (aws, telegram) = (format!("AKIA{}", upper(16)), format!("{}:AA{}", 123_456_789, body(33)));
    let github = format!("ghp_{}", body(36));
    check(
        &format!("{aws} {aws},{telegram} {telegram}\n{github}"),
        "[redacted:aws-access-key] [redacted:aws-access-key],[redacted:telegram-bot-token] \
         [redacted:telegram-bot-token]\n[redacted:github-token]",
        &["aws-access-key", "github-token", "telegram-bot-token"],
    );
}

#[test]
fn pieces_of_a_private_key_are_found() {
    let mark = "[redacted:private-key]";
    for end in ["\n", "\r\n", "\\n", "\n  "] {
        let cut = pem("RSA ", end, false);
        check(&format!("it was {cut}"), &format!("it was {mark}"), &["private-key"]);
        let gone = format!("{cut}{end}{end}Keep it.");
        check(&gone, &format!("{mark}{end}{end}Keep it."), &["private-key"]);
        let whole = pem("RSA ", end, true);
        let (_, tail) = whole.split_once(end).unwrap();
        check(&format!("{tail} ok"), &format!("{mark} ok"), &["private-key"]);
    }
    let two = format!("{}\nand\n{}", pem("", "\n", true), pem("EC ", "\n", true));
    check(&two, &format!("{mark}\nand\n{mark}"), &["private-key"]);
    let old = pem("RSA ", "\n", false).replacen(
        '\n',
        "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,9F86D081\n\n",
        1,
    );
    check(&old, mark, &["private-key"]);
    check(&format!("{old}\n-----END RSA {}-----", "PRIVATE KEY"), mark, &["private-key"]);
}

#[test]
fn of_an_address_only_the_password_goes() {
    for (text, expected) in [
        ("postgres://ann:s3cret@db:5432/app", "postgres://ann:[_]@db:5432/app"),
        ("redis://:s3cret@cache/0", "redis://:[_]@cache/0"),
        (
            "mongodb+srv://ann:p@ss:w%40rd@c0.example.org/x?y",
            "mongodb+srv://ann:[_]@c0.example.org/x?y",
        ),
        ("连接mysql://root:密码123@localhost/db即可", "连接mysql://root:[_]@localhost/db即可"),
        ("ann:s3cret@tcp(127.0.0.1:3306)/db", "ann:[_]@tcp(127.0.0.1:3306)/db"),
        ("a://b:c@d and e://f:g@h", "a://b:[_]@d and e://f:[_]@h"),
    ] {
        check(text, &expected.replace('_', "redacted:url-password"), &["url-password"]);
    }
    let token = format!("glpat-{}", body(20));
    check(
        &format!("git clone https://oauth2:{token}@gitlab.com/a/b"),
        "git clone https://oauth2:[redacted:gitlab-token]@gitlab.com/a/b",
        &["gitlab-token"],
    );
}

#[test]
fn addresses_of_hooks_lose_their_secret_part() {
    for (rule, address, secret) in [
        (
            "slack-webhook",
            "https://hooks.slack.com/services/",
            format!("T{}/B{}/{}", upper(9), upper(9), body(24)),
        ),
        ("discord-webhook", "https://discord.com/api/webhooks/1234567890/", body(68)),
        (
            "feishu-webhook",
            "https://open.feishu.cn/open-apis/bot/v2/hook/",
            "1a2b3c4d-0000-4000-8000-1a2b3c4d5e6f".to_owned(),
        ),
        (
            "telegram-bot-token",
            "https://api.telegram.org/bot",
            format!("{}:AA{}", 123_456_789, body(33)),
        ),
    ] {
        let text = format!("post to {address}{secret} please");
        check(&text, &format!("post to {address}[redacted:{rule}] please"), &[rule]);
    }
}

#[test]
fn what_is_called_a_secret_is_one() {
    let aws = body(20) + "/+" + &body(18);
    for (rule, before, secret, after) in [
        ("aws-secret-key", "aws_secret_access_key = ", aws.as_str(), "\n"),
        ("aws-secret-key", "\"SecretAccessKey\": \"", &aws, "\","),
        ("authorization", "Authorization: Bearer ", &body(24), ""),
        ("authorization", "curl -H 'authorization: Basic ", "YW5uOnNlY3JldA==", "' x"),
        ("authorization", "send bearer ", &body(32), " along"),
        ("assigned-secret", "password = \"", "hunter2!", "\""),
        ("assigned-secret", "DB_PASSWORD=", "s3cr3t#9", " make"),
        ("assigned-secret", "The wifi password is ", "correct7horse", "."),
        ("assigned-secret", "Server=x;Pwd=", "a1b2c3d4", ";Timeout=3"),
        ("assigned-secret", "jdbc:x://h/d?user=a&password=", "a1b2c3d4", "&ssl=1"),
        ("assigned-secret", "{\"client_secret\":\"", "0a1b2c3d4e5f", "\"}"),
        ("assigned-secret", "API_KEY: ", "0a1b-2c3d-4e5f-6071", ""),
        ("assigned-secret", "our API key is ", "0a1b2c3d4e5f6071", ", he said"),
        ("assigned-secret", "WiFi密码是", "88888888a", "，别外传"),
    ] {
        let text = format!("{before}{secret}{after}");
        check(&text, &format!("{before}[redacted:{rule}]{after}"), &[rule]);
    }
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let long_words =
        "a-task-force-of-disk-and-desk-risk-management-professionals-in-brusk-helsinki";
    for text in [
        "commit 42a5fc1d0c7e8a4b9f3e2d1c0b9a8f7e6d5c4b3a fixes it",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "memory 0192f3c4-7b1a-7c3d-9e4f-a1b2c3d4e5f6, handle 7ZK2M4QX",
        "request 1234567890:550e8400-e29b-41d4-a716-446655440000",
        "logo_aGVsbG8gd29ybGQgdGhpcyBpcyBhIG5hbWU.png and #ff8800, #FA0",
        long_words,
        "install sk-learn, sk-video and npm_config_registry; use hf_transfer and AIzawa",
        "call +41 44 668 18 00 or 0044-20-7946-0958, ISBN 978-3-16-148410-0",
        "我喜欢喝乌龙茶，密码学是我的专业，密码是什么？令牌桶算法",
        "the password is required; password: string; Password: <your password here>",
        "password = ${DB_PASSWORD_2}; PASSWORD=$PASS_1 and password: ********",
        "postgres://ann:${PG_PASS}@db/app, https://example.org:8080/a@b?c=d, ann@example.org:22",
        "ssh://git@github.com:22/a/b and http://[::1]:8080/",
        "Authorization: Bearer <token> or Authorization: Bearer $TOKEN",
        "bearer of extraordinarily-good-news",
        "password = b64decode(line), password=argv[2]; Password: super::UTF16String",
        "PWD=/home/ann/src2/app, private_key: /etc/ssl/private/host1.pem",
        "secret: the garden of 1911; the secret is patience",
        "the api_key parameter; token budget: 4096; max_tokens=128",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ\n-----END CERTIFICATE-----",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0v8m7m ann@laptop",
        "AKIA is the prefix of such keys; EURASIA2024CONFERENCEX1 is not one",
        "eyJ is how a JSON object begins in base64",
        "version 1.2.3-rc.1, at 2025-01-14T09:07:00Z, 192.168.9.1:8080, aa:bb:cc:dd:ee:ff",
        "[redacted:github-token] password: [redacted:assigned-secret]",
        "",
    ] {
        let redacted = redact(text);
        assert!(redacted.found.is_empty(), "{redacted:?}");
        assert!(matches!(redacted.text, Cow::Borrowed(same) if same == text));
    }
}

/// Pieces of texts from which the property test makes longer ones: secrets, their halves, what stands
/// around them and what has to stay.
fn piece() -> impl Strategy<Value = String> {
    let whole: Vec<String> = tokens().into_iter().map(|(_, token)| token).collect();
    let halves: Vec<String> = whole
        .iter()
        .flat_map(|token| [&token[..token.len() / 2], &token[token.len() / 2..]])
        .map(str::to_owned)
        .collect();
    let around: Vec<String> = [
        "password=",
        "密码是",
        "secret_key: ",
        "Authorization: Bearer ",
        "bearer ",
        "bot",
        "_",
        "\\n",
        "://",
        "a://b:",
        "@",
        "@tcp(",
        "[redacted:",
        "]",
        ":",
        "/",
        ".",
        " ",
        "\n",
        "\"",
        "-",
        "-----",
        "12345678:",
        "eyJ",
        "sk-",
        "AKIA",
        "茶",
        "a1b2c3d4",
        "%3A",
        "=",
        "${X}",
    ]
    .map(str::to_owned)
    .to_vec();
    prop_oneof![
        2 => prop::sample::select(whole),
        2 => prop::sample::select(halves),
        6 => prop::sample::select(around),
        1 => "[ -~]{0,12}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn redacting_twice_changes_nothing(pieces in prop::collection::vec(piece(), 0..10)) {
        let text = pieces.concat();
        let once = redact(&text);
        let twice = redact(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(twice.found.is_empty(), "{:?} in {}", twice.found, once.text);
    }

    #[test]
    fn a_text_without_a_find_is_returned_as_it_is(text in ".{0,200}") {
        let redacted = redact(&text);
        prop_assert_eq!(redacted.found.is_empty(), redacted.text == text);
    }
}
