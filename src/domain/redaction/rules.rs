//! The table of secrets. Token shapes are those that the providers document or that their tokens
//! have shown; lengths are lower bounds, since providers lengthen their tokens.

/// One kind of secret.
pub(super) struct Rule {
    /// What a replacement and a report call it.
    pub(super) name: &'static str,
    /// Whether the pattern must not continue a word: short prefixes such as `sk-` end ordinary words.
    starts_word: bool,
    /// The secret, or its surroundings with the secret in a group.
    pattern: &'static str,
    /// Whether what the pattern found is a secret and no placeholder or plain word.
    pub(super) is_secret: fn(&str) -> bool,
}

/// What may stand before a pattern that starts a word: anything but an ASCII letter or digit (Chinese
/// is written without blanks), or the end of an escape in JSON or in an address.
const WORD_START: &str = r"(?:(?-u:\b)|_|%[0-9A-Fa-f]{2}|\\[nrt])";

impl Rule {
    /// The whole regular expression.
    pub(super) fn regex(&self) -> String {
        if self.starts_word {
            format!("{WORD_START}({})", self.pattern)
        } else {
            self.pattern.to_owned()
        }
    }
}

/// A token whose shape says enough.
const fn token(name: &'static str, pattern: &'static str) -> Rule {
    Rule { name, starts_word: false, pattern, is_secret: |_| true }
}

/// A token whose prefix must not continue a word.
const fn word(name: &'static str, pattern: &'static str) -> Rule {
    Rule { name, starts_word: true, pattern, is_secret: |_| true }
}

/// A value that its surroundings call a secret, if it looks like one.
const fn named(name: &'static str, pattern: &'static str, is_secret: fn(&str) -> bool) -> Rule {
    Rule { name, starts_word: false, pattern, is_secret }
}

/// All rules, in the order in which they are applied: what contains others first, then providers,
/// then what only its surroundings tell.
pub(super) static RULES: &[Rule] = &[
    // A whole block; one whose end is missing, line by line; one whose beginning is missing. Lines
    // end at a line feed or, in JSON, at its escape.
    token(
        "private-key",
        concat!(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
            r"(?:(?:[^-]|-{1,4}[^-])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
            r"|(?:(?:\s|\\+[nr])*(?:(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]*|[A-Za-z0-9+/=]{16,}))*)",
            r"|(?:[A-Za-z0-9+/=]{16,}(?:\s|\\+[nr])+)*[A-Za-z0-9+/=]{4,}(?:\s|\\+[nr])*",
            r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
        ),
    ),
    token("private-key", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    word("aws-access-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b)"),
    token(
        "aws-secret-key",
        concat!(
            r"(?i)(?:secret[_ -]?(?:access[_ -]?)?key|session[_ -]?token)",
            r#"["'`]?\s*(?:[:=]|=>|is)\s*["'`]?([A-Za-z0-9/+]{40,}={0,2})"#,
        ),
    ),
    token("github-token", r"gh[oprsu]_[A-Za-z0-9]{36,}"),
    token("github-token", r"github_pat_[A-Za-z0-9_]{22,}"),
    word(
        "gitlab-token",
        concat!(
            r"gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct)-[A-Za-z0-9_-]{20,}",
            r"(?:\.[0-9a-z]{2}\.?[0-9a-z]{7,9})?",
        ),
    ),
    token("slack-token", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    token("slack-token", r"xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    token(
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})",
    ),
    token(
        "discord-webhook",
        r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/([A-Za-z0-9_-]{20,})",
    ),
    token(
        "feishu-webhook",
        r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/([A-Za-z0-9-]{16,})",
    ),
    Rule {
        starts_word: true,
        ..named(
            "telegram-bot-token",
            r"(?:bot)?([0-9]{8,10}(?::|%3A)[A-Za-z0-9_-]{35})(?:[^A-Za-z0-9_-]|$)",
            |value| has(value, char::is_uppercase) && has(value, char::is_lowercase),
        )
    },
    Rule {
        starts_word: true,
        ..named(
            "discord-token",
            r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
            |value| has(value, |c| c.is_ascii_digit()),
        )
    },
    word("anthropic-key", r"sk-ant-[A-Za-z0-9_-]{20,}"),
    word("openai-key", r"sk-(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{20,}"),
    word("openai-key", r"sk-[A-Za-z0-9]{20,}"),
    token("google-key", r"AIza[A-Za-z0-9_-]{35,}"),
    word("google-key", r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    word("google-key", r"ya29\.[A-Za-z0-9_-]{20,}"),
    word("stripe-key", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    word("webhook-secret", r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    word("npm-token", r"npm_[A-Za-z0-9]{36,}"),
    word("huggingface-token", r"hf_[A-Za-z0-9]{30,}"),
    token("pypi-token", r"pypi-AgE[A-Za-z0-9_-]{40,}"),
    word("sendgrid-key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    token("digitalocean-token", r"do[opr]_v1_[0-9a-f]{64}"),
    word("docker-token", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    word("groq-key", r"gsk_[A-Za-z0-9]{40,}"),
    // Three parts signed, five encrypted.
    token(
        "jwt",
        r"eyJ[A-Za-z0-9_-]{8,}(?:\.eyJ[A-Za-z0-9_-]{3,}\.[A-Za-z0-9_-]*|(?:\.[A-Za-z0-9_-]*){4})",
    ),
    named(
        "url-password",
        r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#:@"'<>]*:([^\s/?#"'<>]+)@"#,
        is_filled_in,
    ),
    named("url-password", r"[A-Za-z0-9_.-]+:([^\s/@]+)@(?:tcp|unix)\(", is_filled_in),
    named(
        "authorization",
        r#"(?i)authorization["'`]?\s*[:=]\s*["'`]?(?:bearer|basic|token|bot|apikey)\s+([A-Za-z0-9._~+/=:-]{8,})"#,
        is_filled_in,
    ),
    named("authorization", r"(?i)(?-u:\b)bearer\s+([A-Za-z0-9._~+/-]{16,}=*)", is_mixed),
    named(
        "assigned-secret",
        concat!(
            r"(?i)(?:passw(?:or)?d|passphrase|(?-u:\b|_)pwd)",
            r#"["'`]?(?:\s*(?:=>|:=|==?|:|：)\s*|\s+is\s+)["'`]?([!-~&&[^"'`,;&)<>]]{5,}[!-~&&[^"'`,;&()<>.:?\]}]])"#,
        ),
        is_assigned,
    ),
    named(
        "assigned-secret",
        concat!(
            r"(?:密码|口令|密钥|令牌)",
            r#"\s*(?:=|:|：|是|为)\s*["'`“「]?([!-~&&[^"'`,;&)<>]]{5,}[!-~&&[^"'`,;&()<>.:?\]}]])"#,
        ),
        is_assigned,
    ),
    named(
        "assigned-secret",
        concat!(
            r"(?i)(?:secret(?:[_ -]?key)?|(?:api|access|account|private|signing|encryption)[_ -]?key",
            r"|(?:access|auth|refresh|bot|api)[_ -]?token)",
            r#"["'`]?(?:\s*(?:=>|:=|==?|:|：)\s*|\s+is\s+)["'`]?([!-~&&[^"'`,;&)<>]]{11,}[!-~&&[^"'`,;&()<>.:?\]}]])"#,
        ),
        |value| is_assigned(value) && is_mixed(value),
    ),
];

fn has(value: &str, predicate: impl Fn(char) -> bool) -> bool {
    value.chars().any(predicate)
}

/// Letters and digits both: plain words and plain numbers are not.
fn is_mixed(value: &str) -> bool {
    has(value, |c| c.is_ascii_alphabetic()) && has(value, |c| c.is_ascii_digit())
}

/// Something stands there, not a place for it: `${NAME}`, `$NAME`, `<password>`, `{{x}}`, `****`.
fn is_filled_in(value: &str) -> bool {
    let is_variable = value.strip_prefix('$').is_some_and(|name| {
        name.starts_with(['{', '('])
            || name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    });
    let is_blanked = value.chars().all(|c| matches!(c, '*' | 'x' | 'X' | '.' | '-' | '_'));
    !is_variable && !is_blanked && !value.starts_with("{{") && !value.starts_with('<')
}

/// A value after "password =": with a digit, so that "password: required" stays, and neither a place
/// for one, nor a path or an address of one, nor code that gets one (`b64decode(x)`, `argv[2]`).
fn is_assigned(value: &str) -> bool {
    let is_path = ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start))
        && value.trim_start_matches(['.', '~', '/']).contains(['/', '.']);
    let after_name =
        value.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
    let is_code = after_name.starts_with(['(', '[']) && after_name.len() < value.len();
    let is_type_or_address = value.contains("::") || value.contains("://");
    has(value, |c| c.is_ascii_digit())
        && is_filled_in(value)
        && !is_path
        && !is_code
        && !is_type_or_address
}
