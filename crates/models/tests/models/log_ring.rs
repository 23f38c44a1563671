//! The log's ring buffer: appenders, the writer that empties it, and others who advance `complete`.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::format::RecordKind;
use crate::memory::CELL;
use crate::ring::Ring;
use crate::sync::{Backoff, check, sound_and_weakened};

const START: u64 = 4096;
const RING: &str = "log/src/ring.rs";

/// Appends a record; gives its end. `before` runs before it is published.
fn append(ring: &Ring, says: u8, before: impl FnOnce()) -> u64 {
    let start = ring.reserve(CELL);
    let mut backoff = Backoff::new();
    while !ring.has_room(start + CELL) {
        backoff.wait();
    }
    let payload = [says; CELL as usize - 8];
    ring.fill(start, 1, RecordKind::Mtr, payload.len(), &[&payload], before);
    start + CELL
}

/// Two appenders and the writer; three records in a ring of two.
fn laps() {
    let ring = Arc::new(Ring::new(4096, START));
    let appender = |says: u8, count: u8| {
        let ring = ring.clone();
        thread::spawn(move || {
            for i in 0..count {
                append(&ring, says + i, || ());
            }
        })
    };
    let (a, b) = (appender(1, 2), appender(11, 1));
    let (mut read, mut seen) = (START, Vec::new());
    let mut backoff = Backoff::new();
    while read < START + 3 * CELL {
        let complete = match ring.try_walk() {
            Some(walk) => walk.advance(),
            None => ring.complete(),
        };
        if complete == read {
            backoff.wait();
            continue;
        }
        assert!(complete > read && complete <= ring.reserved());
        // SAFETY: this thread alone frees.
        seen.extend(unsafe { ring.published(read, complete) }.concat());
        // SAFETY: as above, and nothing of the pieces is kept.
        unsafe { ring.free(complete) };
        read = complete;
    }
    a.join().unwrap();
    b.join().unwrap();
    let of = |from: u8| seen.iter().copied().filter(|s| (from..from + 10).contains(s)).collect::<Vec<_>>();
    assert_eq!((of(1), of(11)), (vec![1, 2], vec![11]), "each record once, in its thread's order");
}

/// INV-TRX-2: who sees a horizon at or beyond a record sees what was entered between its reservation and its
/// publication, whoever has advanced the horizon.
fn horizon() {
    let ring = Arc::new(Ring::new(4096, START));
    let entered = Arc::new([UnsafeCell::new(()), UnsafeCell::new(())]);
    let committer = |i: usize| {
        let (ring, entered) = (ring.clone(), entered.clone());
        thread::spawn(move || {
            let end = append(&ring, 1, || entered[i].with_mut(|_| ()));
            // One who has walked over its record, and one who relies on another's walk.
            let seen = ring.try_walk().map_or_else(|| ring.complete(), |walk| walk.advance());
            look(&entered, seen.max(ring.complete()));
            assert!(seen <= ring.reserved() && end <= ring.reserved());
        })
    };
    let (a, b) = (committer(0), committer(1));
    look(&entered, ring.complete());
    a.join().unwrap();
    b.join().unwrap();
}

/// Uses what was entered before the first two records were published, if the horizon is beyond them.
fn look(entered: &[UnsafeCell<()>; 2], horizon: u64) {
    if horizon >= START + 2 * CELL {
        entered.iter().for_each(|e| e.with(|_| ()));
    }
}

/// Padding to a block's end beside an appender.
fn padding() {
    let ring = Arc::new(Ring::new(8192, START));
    let appender = {
        let ring = ring.clone();
        thread::spawn(move || append(&ring, 1, || ()))
    };
    let (pad, end) = ring.reserve_padding();
    let at = appender.join().unwrap() - CELL;
    match (pad, end) {
        // Before the record: a boundary already.
        (START, START) => assert_eq!(at, START),
        (pad, end) => assert!(pad == START + CELL && end == START + 4096 && at == START, "{pad} {end} {at}"),
    }
}

#[test]
fn no_record_is_lost_or_overwritten() {
    sound_and_weakened(
        "log_ring::no_record_is_lost_or_overwritten",
        1,
        laps,
        &[
            (RING, "<< 32 | word as u64, Release)", 0),
            (RING, "memory.word(at).load(Acquire)", 0),
            (RING, "self.freed.store(to, Release)", 0),
            (RING, "end.wrapping_sub(self.freed.load(Acquire))", 0),
        ],
    );
}

#[test]
fn padding_ends_at_a_block() {
    println!("ring, padding: {} executions", check(3, padding));
}

#[test]
fn what_is_entered_before_publication_is_seen_at_the_horizon() {
    sound_and_weakened(
        "log_ring::what_is_entered_before_publication_is_seen_at_the_horizon",
        3,
        horizon,
        &[
            (RING, "<< 32 | word as u64, Release)", 0),
            (RING, "memory.word(at).load(Acquire)", 0),
            (RING, "ring.complete.store(at, Release)", 0),
            (RING, "self.complete.load(Acquire)", 0),
        ],
    );
}
