//! Signatures: HMAC-SHA256 in the three ways in which sinks want it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use sha2::Sha256;

/// What a secret of Standard Webhooks begins with.
const PREFIX: &str = "whsec_";

/// Feishu: the key is the time and the secret, and nothing is signed.
pub(super) fn feishu(now: Timestamp, secret: &str) -> String {
    let key = format!("{}\n{secret}", now.as_second());
    STANDARD.encode(hmac(key.as_bytes(), b""))
}

/// `DingTalk`: time in milliseconds and secret, signed with the secret.
pub(super) fn dingtalk(now: Timestamp, secret: &str) -> String {
    let message = format!("{}\n{secret}", now.as_millisecond());
    STANDARD.encode(hmac(secret.as_bytes(), message.as_bytes()))
}

/// Standard Webhooks 1.0.0: id, time and body, signed with the bytes that the secret stands for.
///
/// # Errors
/// If the secret is no base64.
pub(super) fn standard(
    id: &str,
    now: Timestamp,
    body: &[u8],
    secret: &str,
) -> Result<String, String> {
    let secret = secret.strip_prefix(PREFIX).unwrap_or(secret);
    let key = STANDARD.decode(secret).map_err(|_| format!("a secret is `{PREFIX}` and base64"))?;
    let mut message = format!("{id}.{}.", now.as_second()).into_bytes();
    message.extend_from_slice(body);
    Ok(format!("v1,{}", STANDARD.encode(hmac(&key, &message))))
}

fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    // A key of any length is taken (RFC 2104), so there is always a code.
    let Ok(mut code) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    code.update(message);
    code.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_vendors() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let secret = "SECtest123";
        assert_eq!(
            feishu(at(1_700_000_000), secret),
            "eHRRCyLH7Z4IJQSJlfwertHZThRUYVu2hTUH02xPXYU="
        );
        assert_eq!(
            dingtalk(at(1_700_000_000), secret),
            "w3RMHXzixTMdzr8OHJUmVLS4IoPJVdu+Ut1LE48MePE="
        );
        // The vector of the specification.
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", br#"{"test": 2432232314}"#);
        assert_eq!(
            standard(id, at(1_614_265_330), body, secret).unwrap(),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
        assert!(standard(id, at(0), body, "whsec_no base64").is_err());
    }
}
