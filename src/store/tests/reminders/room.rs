//! Limits: of reminders, of rows that wait, and of the disk.

use redb::Database;
use redb::backends::InMemoryBackend;

use super::super::fixture::at;
use super::{entry, new, queued, row, sink_change};
use crate::domain::id::MemoryId;
use crate::domain::limits::{DELIVERIES_MAX, REMINDERS_MAX};
use crate::domain::reminder::{DeliveryState, Enact, Enacted, Entry, SinkState};
use crate::ports::StoreError;
use crate::store::batch::Batch;
use crate::store::migrations;
use crate::store::reminders::enact;
use crate::store::reserve::Room;

/// Runs `look` in a transaction on a disk with that much room.
fn on_disk(database: &Database, room: Room, look: impl FnOnce(&mut Batch<'_>)) {
    let transaction = database.begin_write().unwrap();
    let mut batch = Batch::open(&transaction, room).unwrap();
    look(&mut batch);
    batch.finish().unwrap();
    transaction.commit().unwrap();
}

fn empty() -> Database {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    migrations::create(&database, at(0)).unwrap();
    database
}

fn one() -> Entry {
    entry(MemoryId::new(1, 1), "a", 10)
}

#[test]
fn a_full_disk_takes_no_new_reminder_but_tells_those_that_are_due() {
    let (database, one) = (empty(), one());
    on_disk(&database, Room::Enough, |batch| {
        let done = enact(batch, &new(&[&one]), at(0)).unwrap();
        assert_eq!(done, Enacted::Done(vec![one.id]));
    });
    on_disk(&database, Room::Little("full".to_owned()), |batch| {
        let two = entry(MemoryId::new(2, 2), "b", 10);
        let refused = enact(batch, &new(&[&two]), at(0));
        assert_eq!(refused, Err(StoreError::NoRoom("full".to_owned())));
        assert_eq!(batch.n_writes(), 0);
        let due = queued(&[&row(&one, "desk", 10)]);
        assert_eq!(enact(batch, &due, at(10)), Ok(Enacted::Done(Vec::new())));
    });
    on_disk(&database, Room::None("full".to_owned()), |batch| {
        let failed = SinkState { n_failures: 1, ..SinkState::default() };
        let sinks = vec![sink_change("desk", SinkState::default(), failed)];
        let refused = enact(batch, &Enact { sinks, ..Enact::default() }, at(10));
        assert_eq!(refused, Err(StoreError::NoRoom("full".to_owned())));
        assert_eq!(batch.n_writes(), 0);
    });
}

#[test]
fn more_rows_than_may_wait_are_refused_and_ended_ones_do_not_count() {
    let (database, one) = (empty(), one());
    let more = queued(&[&row(&one, "desk", 10)]);
    on_disk(&database, Room::Enough, |batch| {
        enact(batch, &new(&[&one]), at(0)).unwrap();
        for n in 0..DELIVERIES_MAX {
            let code = u8::try_from(n % 2).unwrap();
            batch.change().outbox.insert(u128::from(n), [].as_slice()).unwrap();
            batch.change().outbox_by_state.insert((code, 0, u128::from(n)), "desk").unwrap();
        }
        assert_eq!(enact(batch, &more, at(0)), Ok(Enacted::Done(Vec::new())));
        for n in (1..DELIVERIES_MAX).step_by(2) {
            batch.change().outbox_by_state.insert((0, 1, u128::from(n)), "desk").unwrap();
        }
        let n_writes = batch.n_writes();
        let other = queued(&[&row(&one, "team", 10)]);
        assert_eq!(enact(batch, &other, at(0)), Ok(Enacted::TooMany));
        // What is there already makes it no longer.
        assert_eq!(batch.n_writes(), n_writes);
        assert_eq!(enact(batch, &more, at(0)), Ok(Enacted::Done(Vec::new())));
        let mut sent = row(&one, "desk", 10);
        sent.delivery.state = DeliveryState::Sent;
        let settled = Enact { rows: vec![sent], ..Enact::default() };
        assert_eq!(enact(batch, &settled, at(0)), Ok(Enacted::Done(Vec::new())));
    });
}

#[test]
fn more_reminders_than_may_be_are_refused_unless_as_many_go() {
    let (database, one) = (empty(), one());
    on_disk(&database, Room::Enough, |batch| {
        enact(batch, &new(&[&one]), at(0)).unwrap();
        for n in 1..REMINDERS_MAX {
            batch.change().reminders.insert(u128::from(n), [].as_slice()).unwrap();
        }
        let n_writes = batch.n_writes();
        let two = entry(MemoryId::new(2, 2), "b", 10);
        assert_eq!(enact(batch, &new(&[&two]), at(0)), Ok(Enacted::TooMany));
        assert_eq!(batch.n_writes(), n_writes);
        let instead = Enact { removed: vec![one.id], ..new(&[&two]) };
        assert_eq!(enact(batch, &instead, at(0)), Ok(Enacted::Done(vec![two.id])));
        // Those that are there go on.
        let done = Enact { changed: vec![two.clone()], ..Enact::default() };
        assert_eq!(enact(batch, &done, at(0)), Ok(Enacted::Done(Vec::new())));
    });
}
