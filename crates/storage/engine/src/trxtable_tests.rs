//! Unit tests of [`crate::trxtable`]; beside it, because the model checker compiles that file with other atomics.

use gannet_base::{Lsn, TrxId};

use crate::trxtable::{RING, TrxState, TrxTable};

#[test]
fn begins_ends_and_moves() {
    let t = <TrxTable>::new(TrxId(1));
    let a = t.begin(Lsn(0));
    let b = t.begin(Lsn(0));
    assert_eq!(t.state(a), TrxState::Active);
    t.end(b, Lsn(50));
    assert_eq!(t.state(b), TrxState::Ended(Lsn(50)));
    for i in 0..RING as u64 {
        let id = t.begin(Lsn(40));
        t.end(id, Lsn(60 + i));
    }
    // `a` is still active, `b` ended after the oldest snapshot: both are in the map now.
    assert_eq!((t.state(a), t.state(b)), (TrxState::Active, TrxState::Ended(Lsn(50))));
    assert!(!t.visible(a, Lsn::MAX) && !t.visible(b, Lsn(49)) && t.visible(b, Lsn(50)));
    t.trim(Lsn(50));
    assert_eq!((t.state(b), t.overflow_len()), (TrxState::Old, 1));
    t.end(a, Lsn(1 << 40));
    assert_eq!(t.state(a), TrxState::Ended(Lsn(1 << 40)));
    t.trim(Lsn(1 << 40));
    assert_eq!((t.state(a), t.overflow_len()), (TrxState::Old, 0));
}

#[test]
fn recovered_ids_are_active_until_ended() {
    let t = <TrxTable>::new(TrxId(1));
    t.begin_recovered(TrxId(77));
    assert_eq!(t.state(TrxId(77)), TrxState::Active);
    assert_eq!(t.next(), TrxId(78));
    t.end(TrxId(77), Lsn(9));
    assert_eq!(t.state(TrxId(77)), TrxState::Ended(Lsn(9)));
}

#[test]
fn owners_takers_and_readers_race() {
    // A small id space cannot be forced into one slot, so run whole rings from several threads with stragglers.
    let t = &<TrxTable>::new(TrxId(1));
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(move || {
                let mut open = std::collections::VecDeque::new();
                for i in 0..120_000u64 {
                    let id = t.begin(Lsn(0));
                    assert_eq!(t.state(id), TrxState::Active);
                    open.push_back(id);
                    if open.len() > 7 || i % 1000 < 3 {
                        let id = open.pop_front().unwrap();
                        t.end(id, Lsn(id.0 + 5));
                        assert_eq!(t.state(id), TrxState::Ended(Lsn(id.0 + 5)));
                    }
                }
                for id in open {
                    t.end(id, Lsn(id.0 + 5));
                }
            });
        }
    });
    let end = t.next().0;
    for id in 1..end {
        assert_eq!(t.state(TrxId(id)), TrxState::Ended(Lsn(id + 5)), "{id}");
    }
}
