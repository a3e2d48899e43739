//! The sinks: where reminders reach a person, one file a kind, behind [`Sink`].
//!
//! Each kind knows how to ask and what the answer means. Many services answer with the status of a
//! success to what they refuse, so it is the body that decides there. What goes out is text and
//! nothing else (`text`), where the configuration lets it go (`http/`), and what comes back is told in
//! our own words (`judge`): no reason has a secret or a word of a message in it.
//!
//! Nothing here tries again, waits, or remembers: that is for those to do who keep account of
//! deliveries.

mod text;

mod files;
mod judge;
mod mask;
mod sign;
mod webhook;

mod dingtalk;
mod feishu;
mod json;
mod ntfy;
mod slack;
mod telegram;
mod wecom;

mod discord;
mod googlechat;
mod gotify;
mod matrix;
mod mattermost;
mod rocketchat;
mod teams;

mod desktop;
mod email;
mod exec;
mod log;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::desktop::Desktop;
use self::email::Email;
use self::exec::Exec;
use self::log::Log;
use self::webhook::{Service, Webhook};
use crate::domain::sink::{SinkKind, SinkSettings};
use crate::ports::{Clock, Sink};

/// Makes a sink; reads no secret and sends nothing yet.
pub fn open(settings: SinkSettings, clock: Arc<dyn Clock>) -> Arc<dyn Sink> {
    let webhook =
        |settings, service: Service| Arc::new(Webhook::new(settings, service, Arc::clone(&clock)));
    match settings.kind {
        SinkKind::Slack => webhook(settings, slack::SERVICE),
        SinkKind::Telegram => webhook(settings, telegram::SERVICE),
        SinkKind::Feishu => webhook(settings, feishu::SERVICE),
        SinkKind::DingTalk => webhook(settings, dingtalk::SERVICE),
        SinkKind::WeCom => webhook(settings, wecom::SERVICE),
        SinkKind::Ntfy => webhook(settings, ntfy::SERVICE),
        SinkKind::Json => webhook(settings, json::SERVICE),
        SinkKind::Discord => webhook(settings, discord::SERVICE),
        SinkKind::Teams => webhook(settings, teams::SERVICE),
        SinkKind::Mattermost => webhook(settings, mattermost::SERVICE),
        SinkKind::RocketChat => webhook(settings, rocketchat::SERVICE),
        SinkKind::GoogleChat => webhook(settings, googlechat::SERVICE),
        SinkKind::Gotify => webhook(settings, gotify::SERVICE),
        SinkKind::Matrix => webhook(settings, matrix::SERVICE),
        SinkKind::Desktop => Arc::new(Desktop::new(settings)),
        SinkKind::Email => Arc::new(Email::new(settings, clock)),
        SinkKind::Exec => Arc::new(Exec(settings)),
        SinkKind::Log => Arc::new(Log(settings)),
    }
}
