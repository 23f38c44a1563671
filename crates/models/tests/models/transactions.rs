//! The table of transactions: an owner that ends, takers of its slot, readers who ask.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::thread;

use crate::sync::sound_and_weakened;
use crate::trxtable::{TrxState, TrxTable, View};
use crate::{Lsn, TrxId};

const SEQUENCE: &str = "base/src/sequence.rs";
const TABLE: &str = "engine/src/trxtable.rs";
const END: Lsn = Lsn(50);

/// With one slot: the first transaction ends while the second takes its slot over. No snapshot is beyond the end, so it
/// is never forgotten: who asks is told that it is active or where it ended, and nothing else, ever.
fn taken_over() {
    let table = Arc::new(TrxTable::<0, 1>::new(TrxId(1)));
    let horizon = Arc::new(AtomicU64::new(0));
    let first = table.begin(Lsn(0));
    let owner = {
        let (table, horizon) = (table.clone(), horizon.clone());
        thread::spawn(move || {
            table.end(first, END);
            horizon.store(END.0, Release);
        })
    };
    let taker = {
        let table = table.clone();
        thread::spawn(move || table.begin(Lsn(0)))
    };
    let ended = horizon.load(Acquire) == END.0;
    let seen = [table.state(first), table.state(first)];
    for state in seen {
        assert!(matches!(state, TrxState::Active | TrxState::Ended(END)), "{state:?}");
    }
    assert!(!ended || seen[0] == TrxState::Ended(END), "ended, and the table does not know");
    assert!(seen[0] == TrxState::Active || seen[1] == seen[0], "active after its end");
    owner.join().unwrap();
    let second = taker.join().unwrap();
    assert_eq!((table.state(first), table.state(second)), (TrxState::Ended(END), TrxState::Active));
}

/// Two takers of one slot, and purge that trims the map.
fn trimmed() {
    let table = Arc::new(TrxTable::<0, 1>::new(TrxId(1)));
    let first = table.begin(Lsn(0));
    table.end(first, END);
    let taker = || {
        let table = table.clone();
        thread::spawn(move || table.begin(Lsn(0)))
    };
    let takers = [taker(), taker()];
    table.trim(Lsn(10));
    let state = table.state(first);
    assert_eq!(state, TrxState::Ended(END));
    let ids = takers.map(|t| t.join().unwrap());
    for id in ids {
        assert_eq!(table.state(id), TrxState::Active);
        table.end(id, Lsn(60));
    }
    table.trim(Lsn(60));
    assert_eq!(table.overflow_len(), 0, "the count of the map is wrong");
    assert_eq!(table.state(first), TrxState::Old);
}

/// Takers of one slot, one of which may be passed by the other, while purge raises the floor: it passes nobody who is
/// active.
fn floor() {
    let table = Arc::new(TrxTable::<0, 1>::new(TrxId(1)));
    let first = table.begin(Lsn(0));
    let taker = || {
        let table = table.clone();
        thread::spawn(move || table.begin(Lsn(0)))
    };
    let taker = [taker(), taker()];
    table.raise_floor(|| END);
    let view = View { at: END, next: TrxId(u64::MAX), settled: TrxId(0) };
    assert!(!table.visible(first, view), "the floor passed an active transaction");
    for id in taker.map(|t| t.join().unwrap()) {
        assert!(!table.visible(id, view), "the floor passed {id}, which was about to begin");
        assert_eq!(table.outcome(id), TrxState::Active);
    }
}

/// A reader while the floor is raised past an exception that has ended: it is told the new end or nothing, never the
/// old one.
fn floor_is_read_whole() {
    let table = Arc::new(TrxTable::<0, 1>::new(TrxId(1)));
    table.publish_floor(9, Lsn(20), &[7]);
    let raiser = {
        let table = table.clone();
        thread::spawn(move || table.publish_floor(10, END, &[]))
    };
    let told = table.end_by_floor(TrxId(7));
    assert!(matches!(told, None | Some(END)), "{told:?}");
    raiser.join().unwrap();
    assert_eq!(table.end_by_floor(TrxId(7)), Some(END));
}

#[test]
fn the_floor_passes_nobody() {
    sound_and_weakened("transactions::the_floor_passes_nobody", 2, floor, &[]);
}

#[test]
fn the_floor_is_read_whole() {
    sound_and_weakened(
        "transactions::the_floor_is_read_whole",
        2,
        floor_is_read_whole,
        &[(SEQUENCE, "fence(Release);", 1), (SEQUENCE, "fence(Acquire);", 1)],
    );
}

#[test]
fn no_end_is_missed() {
    sound_and_weakened(
        "transactions::no_end_is_missed",
        2,
        taken_over,
        &[
            (TABLE, "slot.state.store(ACTIVE | id, Release)", 0),
            (TABLE, "slot.id.store(id, Release)", 0),
            (TABLE, "let state = slot.state.load(Acquire);", 2),
        ],
    );
}

#[test]
fn the_map_is_counted() {
    sound_and_weakened("transactions::the_map_is_counted", 2, trimmed, &[]);
}
