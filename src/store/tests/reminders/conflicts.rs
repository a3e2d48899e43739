//! Changes by who has read what others have changed since: none of them is made.

use super::super::fixture::{Fixture, at};
use super::{new, row, sink_change};
use crate::domain::reminder::{Enact, Entry, Lease, Row, SinkState};
use crate::ports::Reminders as _;

#[tokio::test]
async fn whoever_read_an_older_version_changes_nothing() {
    let f = Fixture::new();
    let (a, b) = (f.entry("a", 10), f.entry("b", 20));
    let (row_a, row_b) = (row(&a, "desk", 10), row(&b, "desk", 20));
    f.do_all(Enact { queued: vec![row_a.clone(), row_b.clone()], ..new(&[&a, &b]) }).await;
    let changed = Entry { text: "a2".to_owned(), ..a.clone() };
    f.do_all(Enact { changed: vec![changed.clone()], ..Enact::default() }).await;
    assert_eq!(f.entry_now(a.id).await, Entry { version: 2, ..changed.clone() });
    let mut claimed = row_a.clone();
    claimed.delivery.claim(Lease { owner: 1, until: at(99) }, at(10)).unwrap();
    f.do_all(Enact { rows: vec![claimed.clone()], ..Enact::default() }).await;
    assert_eq!(f.row_now(&row_a).await, Row { version: 2, ..claimed.clone() });

    let failed = SinkState { n_failures: 1, ..SinkState::default() };
    let sinks = vec![sink_change("desk", SinkState::default(), failed.clone())];
    let others = Enact {
        new: vec![f.entry("c", 30)],
        changed: vec![b.clone()],
        rows: vec![row_b.clone()],
        sinks,
        ..Enact::default()
    };
    let with = |change: fn(&mut Enact, &Entry, &Row)| {
        let mut request = others.clone();
        change(&mut request, &changed, &claimed);
        request
    };
    f.refuse(with(|r, entry, _| r.changed.push(entry.clone())), "has changed").await;
    f.refuse(with(|r, _, row| r.rows.push(row.clone())), "has changed").await;
    f.refuse(with(|r, entry, _| r.new.push(entry.clone())), "is there already").await;
    f.refuse(with(|r, _, _| r.changed.push(r.changed[0].clone())), "has changed").await;
    f.refuse(with(|r, _, _| r.rows.push(r.rows[0].clone())), "has changed").await;
    f.refuse(with(|r, _, _| r.removed.push(r.changed[0].id)), "has changed").await;
    f.refuse(with(|r, _, _| r.removed.push(r.new[0].id)), "is there already").await;
    f.refuse(with(|r, entry, _| r.rows[0].reminder = entry.id), "has changed").await;
    f.refuse(with(|r, _, _| r.sinks[0].was.n_failures = 2), "has changed").await;
    assert_eq!(f.store.sink_states().await.unwrap(), []);
    f.do_all(others).await;
    let again = vec![sink_change("desk", SinkState::default(), failed)];
    f.refuse(Enact { sinks: again, ..Enact::default() }, "the sink desk has changed").await;
    assert_eq!(f.entry_now(b.id).await.version, 2);
    f.finish().await;
}
