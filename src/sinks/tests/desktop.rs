//! The desktop, by a bus of its own with a notification service that a test stands in for.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use zbus::{Connection, MessageStream, Variant, connection};

use super::message;
use crate::clock::SystemClock;
use crate::domain::reminder::{DeliveryKey, Outcome};
use crate::domain::sink::{Message, SinkKind, SinkSettings};
use crate::ports::Sink;
use crate::sinks::open;

/// A bus that nobody else uses.
struct Bus {
    daemon: Child,
    address: String,
}

impl Bus {
    /// Nothing, said loudly, where there is no `dbus-daemon`.
    fn start() -> Option<Self> {
        let started = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--print-address=1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut daemon) = started else {
            println!("SKIPPED: dbus-daemon is not installed");
            return None;
        };
        let mut address = String::new();
        let stdout = daemon.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut address).unwrap();
        // What follows the comma is the id of the bus.
        Some(Self { daemon, address: address.trim().to_owned() })
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        drop(self.daemon.kill());
        drop(self.daemon.wait());
    }
}

/// What the service is to do with a notification.
#[derive(Clone, Copy)]
enum Act {
    Show,
    /// It shows it, and a person closes it, or clicks the button of what is urgent.
    React,
    Refuse,
    Silence,
}

type Shown = (String, String, u8);

/// A notification service that keeps title, text and urgency of what it shows.
async fn service(bus: &Bus, capabilities: &[&str], act: Act) -> Arc<Mutex<Vec<Shown>>> {
    let connection = connection::Builder::address(bus.address.as_str())
        .name("org.freedesktop.Notifications")
        .build()
        .await
        .unwrap();
    let shown = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&shown);
    let capabilities: Vec<String> = capabilities.iter().map(|name| (*name).to_owned()).collect();
    let calls = MessageStream::from(&connection);
    tokio::spawn(answer(connection, calls, capabilities, act, kept));
    shown
}

async fn answer(
    connection: Connection,
    mut calls: MessageStream,
    capabilities: Vec<String>,
    act: Act,
    kept: Arc<Mutex<Vec<Shown>>>,
) {
    type Hints<'a> = HashMap<String, Variant<'a>>;
    type Call<'a> = (String, u32, String, String, String, Vec<String>, Hints<'a>, i32);
    while let Some(Ok(call)) = calls.next().await {
        let header = call.header();
        match header.member().map(|member| member.as_str().to_owned()).as_deref() {
            Some("GetCapabilities") => {
                connection.reply(&header, &capabilities).await.unwrap();
            }
            Some("Notify") => match act {
                Act::Show | Act::React => {
                    let body = call.body();
                    let (_, _, _, title, text, _, hints, _): Call<'_> = body.deserialize().unwrap();
                    let urgency = u8::try_from(hints["urgency"].try_clone().unwrap()).unwrap();
                    kept.lock().unwrap().push((title, text, urgency));
                    connection.reply(&header, &7_u32).await.unwrap();
                    if matches!(act, Act::React) {
                        react(&connection, urgency).await;
                    }
                }
                Act::Refuse => {
                    let name = "org.freedesktop.Notifications.Error.ExcessNotificationGeneration";
                    connection.reply_error(&header, name, &"team meeting").await.unwrap();
                }
                Act::Silence => {}
            },
            _ => {}
        }
    }
}

/// Others are closed and clicked meanwhile.
async fn react(connection: &Connection, urgency: u8) {
    let (path, interface) = ("/org/freedesktop/Notifications", "org.freedesktop.Notifications");
    let emit = async |member: &str, id: u32, action: &str| {
        let to = None::<&str>;
        if member == "ActionInvoked" {
            connection.emit_signal(to, path, interface, member, &(id, action)).await.unwrap();
        } else {
            connection.emit_signal(to, path, interface, member, &(id, 2_u32)).await.unwrap();
        }
    };
    emit("NotificationClosed", 6, "").await;
    emit("ActionInvoked", 8, "done").await;
    if urgency == 2 {
        emit("ActionInvoked", 7, "done").await;
    } else {
        emit("NotificationClosed", 7, "").await;
    }
}

#[tokio::test]
async fn a_click_acknowledges_and_closing_does_not() {
    let Some(bus) = Bus::start() else { return };
    service(&bus, &["body", "actions"], Act::React).await;
    let sink = sink(&bus.address);
    let closed = Message { key: DeliveryKey::from_bytes([1; 16]), ..message() };
    let clicked = Message { key: DeliveryKey::from_bytes([2; 16]), is_urgent: true, ..message() };
    for message in [&closed, &clicked, &closed, &clicked] {
        let outcome = sink.deliver(message).await;
        assert!(matches!(outcome, Outcome::Sent { .. }), "{outcome:?}");
    }
    for _ in 0..2 {
        let key = tokio::time::timeout(Duration::from_mins(1), sink.acknowledged()).await;
        assert_eq!(key, Ok(clicked.key));
    }
    assert!(sink.abilities().has_ack);
}

async fn deliver(address: &str, message: &Message) -> Outcome {
    sink(address).deliver(message).await
}

fn sink(address: &str) -> Arc<dyn Sink> {
    let mut settings = SinkSettings::new("here", SinkKind::Desktop);
    settings.url = Some(address.to_owned());
    settings.timeout = Duration::from_secs(3);
    open(settings, Arc::new(SystemClock::new()))
}

#[tokio::test]
async fn a_notification_is_shown_as_text_whatever_the_service_reads() {
    let Some(bus) = Bus::start() else { return };
    let shown = service(&bus, &["body", "body-markup"], Act::Show).await;
    let message = Message { text: "<b>a & b</b>".to_owned(), is_urgent: true, ..message() };
    let outcome = deliver(&bus.address, &message).await;
    assert_eq!(outcome, Outcome::Sent { remote_id: Some("7".to_owned()) });
    let title = "Reminder: team meeting & <!channel>".to_owned();
    let text = "&lt;b&gt;a &amp; b&lt;/b&gt;\nr7k2m9qx".to_owned();
    assert_eq!(*shown.lock().unwrap(), [(title.clone(), text, 2)]);

    let Some(bus) = Bus::start() else { return };
    let shown = service(&bus, &["body"], Act::Show).await;
    let message = Message { is_urgent: false, ..message };
    deliver(&bus.address, &message).await;
    assert_eq!(*shown.lock().unwrap(), [(title, "<b>a & b</b>\nr7k2m9qx".to_owned(), 1)]);
}

#[tokio::test]
async fn without_a_session_or_a_service_it_is_tried_later() {
    let outcome = deliver("unix:path=/no/such/bus", &message()).await;
    assert!(matches!(outcome, Outcome::Retry { after: None, .. }), "{outcome:?}");
    let Some(bus) = Bus::start() else { return };
    let outcome = deliver(&bus.address, &message()).await;
    let Outcome::Retry { why, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(why, "nobody shows notifications on the bus of the session");
}

#[tokio::test]
async fn a_refusal_is_a_no_and_silence_is_open() {
    let Some(bus) = Bus::start() else { return };
    service(&bus, &[], Act::Refuse).await;
    let outcome = deliver(&bus.address, &message()).await;
    let Outcome::Retry { why, .. } = outcome else { panic!("{outcome:?}") };
    assert!(why.contains("ExcessNotificationGeneration") && !why.contains("team"), "{why}");

    let Some(bus) = Bus::start() else { return };
    service(&bus, &[], Act::Silence).await;
    let outcome = deliver(&bus.address, &message()).await;
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
}
