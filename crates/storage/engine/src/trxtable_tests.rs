//! Unit tests of [`crate::trxtable`]; beside it, because the model checker compiles that file with other atomics.

use gannet_base::{Lsn, TrxId};

use crate::trxtable::{RING, TrxState, TrxTable, View};

/// A reader to whom no id is too new.
fn at(lsn: Lsn) -> View {
    View { at: lsn, next: TrxId(u64::MAX), settled: TrxId(0) }
}

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
    assert!(!t.visible(a, at(Lsn::MAX)) && !t.visible(b, at(Lsn(49))) && t.visible(b, at(Lsn(50))));
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

#[test]
fn the_floor_tells_new_readers_what_an_old_snapshot_keeps_in_the_map() {
    let t = <TrxTable>::new(TrxId(1000));
    let open = t.begin(Lsn(0));
    let old = t.view(Lsn(100));
    let begun: Vec<TrxId> = (0..2 * RING as u64)
        .map(|i| {
            let id = t.begin(old.at);
            t.end(id, Lsn(200 + i));
            id
        })
        .collect();
    let end = Lsn(200 + 2 * RING as u64);
    let new = t.view(end);
    let check = || {
        for (i, &id) in begun.iter().enumerate().step_by(97) {
            assert_eq!(t.state(id), TrxState::Ended(Lsn(200 + i as u64)));
            assert!(t.visible(id, new) && !t.visible(id, old) && !t.visible(id, at(old.at)));
        }
        assert!(!t.visible(open, new) && !t.visible(open, old));
        assert_eq!((t.state(open), t.outcome(open)), (TrxState::Active, TrxState::Active));
    };
    check();
    let first = begun[0];
    assert_eq!(t.outcome(first), TrxState::Ended(Lsn(200)), "no floor yet");
    t.raise_floor(|| end);
    assert_eq!(t.outcome(first), TrxState::Ended(end), "the floor has passed it");
    check();
    t.raise_floor(|| Lsn::MAX);
    assert_eq!(t.outcome(first), TrxState::Ended(end), "raised again for nothing");
    // An exception that ends is one until the floor is raised again.
    t.end(open, Lsn(end.0 + 1));
    assert_eq!(t.outcome(open), TrxState::Ended(Lsn(end.0 + 1)));
    assert!(!t.visible(open, new) && t.visible(open, at(Lsn(end.0 + 1))));
    t.trim(Lsn(end.0 + 1));
    assert_eq!((t.state(first), t.overflow_len()), (TrxState::Old, 0));
}

#[test]
fn a_view_behind_the_floor_is_settled_up_to_the_first_open_transaction() {
    let t = <TrxTable>::new(TrxId(1000));
    let ended = |n: u64| {
        for i in 0..n {
            let id = t.begin(Lsn(0));
            t.end(id, Lsn(10 + i));
        }
    };
    ended(300);
    assert_eq!(t.view(Lsn(5000)).settled, TrxId(0), "no floor yet");
    t.raise_floor(|| Lsn(500));
    assert_eq!(t.view(Lsn(499)).settled, TrxId(0), "the floor may hold what ended behind this view");
    assert_eq!(t.view(Lsn(500)).settled, TrxId(1300));
    let open = t.begin(Lsn(0));
    ended(300);
    t.raise_floor(|| Lsn(600));
    let view = t.view(Lsn(600));
    assert_eq!((view.settled, view.next), (open, TrxId(1601)));
    assert!(t.visible(TrxId(open.0 - 1), view) && !t.visible(open, view) && t.visible(TrxId(open.0 + 1), view));
    t.end(open, Lsn(700));
    ended(300);
    t.raise_floor(|| Lsn(800));
    assert_eq!(t.view(Lsn(800)).settled, TrxId(1901), "an exception that has ended is none");
}

#[test]
fn the_floor_passes_a_few_transactions_when_no_more_come() {
    let t = <TrxTable>::new(TrxId(1000));
    t.raise_floor(|| Lsn(1));
    let id = t.begin(Lsn(0));
    t.end(id, Lsn(10));
    t.raise_floor(|| Lsn(20));
    assert!(t.view(Lsn(100)).settled <= id, "one more may come");
    t.raise_floor(|| Lsn(30));
    assert_eq!(t.view(Lsn(100)).settled, TrxId(1001));
    t.raise_floor(|| Lsn(101));
    assert_eq!(t.view(Lsn(100)).settled, TrxId(1001), "raised again for nothing");
    // The last one is active at the raise that passes it, and nothing comes behind it.
    let last = t.begin(Lsn(0));
    t.raise_floor(|| Lsn(110));
    t.raise_floor(|| Lsn(120));
    assert_eq!(t.view(Lsn(200)).settled, last);
    t.raise_floor(|| Lsn(130));
    assert_eq!(t.view(Lsn(125)).settled, last, "raised again although it is active");
    t.end(last, Lsn(140));
    t.raise_floor(|| Lsn(150));
    assert_eq!(t.view(Lsn(200)).settled, TrxId(1002));
}

#[test]
fn more_open_transactions_than_the_floor_has_exceptions() {
    let t = TrxTable::<4>::new(TrxId(1));
    let open: Vec<TrxId> = (0..100).map(|_| t.begin(Lsn(0))).collect();
    for i in 0..500 {
        let id = t.begin(Lsn(0));
        t.end(id, Lsn(10 + i));
    }
    t.raise_floor(|| Lsn(1000));
    for &id in &open {
        assert_eq!(t.outcome(id), TrxState::Active);
    }
    for id in 101..=600 {
        assert_eq!(t.outcome(TrxId(id)), TrxState::Ended(Lsn(id - 91)), "the floor lies below");
    }
}

/// Every answer that a reader got, while slots were taken over all the time and the floor rose, is held against the
/// ends.
#[test]
fn readers_and_the_floor_race() {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
    const WRITERS: u64 = 3;
    let t = &TrxTable::<5>::new(TrxId(1));
    let (horizon, log) = (&AtomicU64::new(1), &Mutex::new(()));
    let (ends, answers) = (&Mutex::new(Vec::new()), &Mutex::new(Vec::new()));
    let running = &AtomicU64::new(WRITERS);
    let stop = &AtomicBool::new(false);
    // Ids that have begun, which is when others meet them.
    let begun = &[const { AtomicU64::new(0) }; 128];
    let end = move |id: TrxId| {
        let _one = log.lock().unwrap();
        let lsn = horizon.load(Relaxed) + 1;
        t.end(id, Lsn(lsn));
        horizon.store(lsn, Release);
        ends.lock().unwrap().push((id, lsn));
    };
    std::thread::scope(|s| {
        for seed in 1..=WRITERS {
            s.spawn(move || {
                let mut open = Vec::new();
                let mut random = seed;
                for _ in 0..30_000 {
                    random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let id = t.begin(Lsn(0));
                    begun[id.0 as usize % begun.len()].store(id.0, Release);
                    open.push(id);
                    if open.len() > 9 || random >> 62 != 0 {
                        end(open.swap_remove((random >> 33) as usize % open.len()));
                    }
                }
                open.into_iter().for_each(end);
                if running.fetch_sub(1, AcqRel) == 1 {
                    stop.store(true, Release);
                }
            });
        }
        s.spawn(move || {
            while !stop.load(Acquire) {
                t.raise_floor(|| Lsn(horizon.load(Acquire) + 1));
            }
        });
        s.spawn(move || {
            let mut mine = Vec::new();
            let mut old = View { at: Lsn(1), next: TrxId(1), settled: TrxId(0) };
            for turn in 0_u64.. {
                if stop.load(Acquire) {
                    break;
                }
                let new = t.view(Lsn(horizon.load(Acquire)));
                if turn % 64 == 0 {
                    old = new;
                }
                for back in [1, 3, 20, 40, 60, 90, 120] {
                    let id = TrxId(begun[(new.next.0.saturating_sub(back)) as usize % begun.len()].load(Acquire));
                    for view in [new, old] {
                        mine.push((id, view.at.0, t.visible(id, view)));
                    }
                }
            }
            answers.lock().unwrap().append(&mut mine);
        });
    });
    let ends: std::collections::HashMap<TrxId, u64> = ends.lock().unwrap().drain(..).collect();
    let answers = answers.lock().unwrap();
    assert!(answers.iter().filter(|a| a.2).count() > 100 && answers.iter().filter(|a| !a.2).count() > 100);
    for &(id, at, seen) in &*answers {
        if let Some(&end) = ends.get(&id) {
            assert_eq!(seen, end <= at, "{id} ended at {end}, a snapshot at {at} was told {seen}");
        }
    }
}
