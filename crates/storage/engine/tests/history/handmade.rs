//! Histories written by hand: each anomaly is told apart from the others.

use crate::checker::{Anomaly, History, Level, Op, Record, check};

/// Steps: transaction, then `r` plain read, `l` locking read, `g` range of one key, with the version found (0: none),
/// `w` write with the version before (0: none) and the new one, `c` commit. Version 1 of each key is there at the start
/// unless its first write is over 0.
fn history(level: Level, steps: &[(usize, char, u64, u64, u64)]) -> History {
    let begun = |t: usize| steps.iter().position(|s| s.0 == t).unwrap_or(0) as u64 + 1;
    let most = steps.iter().map(|s| s.0).max().unwrap_or(0);
    let new =
        |t| Record { level, committed: t == 0, begin: if t == 0 { 0 } else { begun(t) }, end: 0, ops: Vec::new() };
    let mut h = History { txns: (0..=most).map(new).collect(), ..History::default() };
    for (at, &(t, what, key, before, version)) in steps.iter().enumerate() {
        let some = |v: u64| (v != 0).then_some(v);
        if h.txns[t].ops.iter().all(|_| true) && before == 1 {
            let order = h.order.entry(key).or_default();
            if order.is_empty() {
                order.push((0, 1));
            }
        }
        let op = match what {
            'c' => {
                (h.txns[t].committed, h.txns[t].end) = (true, 100 + at as u64);
                continue;
            }
            'w' => {
                h.order.entry(key).or_default().push((t, version));
                Op::Write { key, version, before: some(before), row: true }
            }
            _ => Op::Read { locking: what != 'r', range: what == 'g', found: vec![(key, some(before))] },
        };
        h.txns[t].ops.push((at as u64 + 1, op));
    }
    h
}

fn anomaly(level: Level, steps: &[(usize, char, u64, u64, u64)]) -> Option<Anomaly> {
    check(&history(level, steps)).map(|a| a.0)
}

use Level::*;

#[test]
fn anomalies_are_told_apart() {
    let c = |t| (t, 'c', 0, 2, 0);
    // Nothing wrong: one after the other.
    assert_eq!(anomaly(Serializable, &[(1, 'w', 5, 1, 2), c(1), (2, 'l', 5, 2, 0), (2, 'w', 5, 2, 3), c(2)]), None);
    // Two rows written over in different orders.
    let g0 = [(1, 'w', 5, 1, 2), (2, 'w', 5, 2, 3), (2, 'w', 6, 1, 3), (1, 'w', 6, 3, 2), c(1), c(2)];
    assert_eq!(anomaly(ReadCommitted, &g0), Some(Anomaly::G0));
    // A version nobody committed.
    assert_eq!(anomaly(ReadCommitted, &[(1, 'w', 5, 1, 2), (2, 'r', 5, 2, 0), c(2)]), Some(Anomaly::G1a));
    assert_eq!(anomaly(ReadUncommitted, &[(1, 'w', 5, 1, 2), (2, 'r', 5, 2, 0), c(2)]), None);
    // One its writer wrote over.
    let g1b = [(1, 'w', 5, 1, 2), (2, 'r', 5, 2, 0), (1, 'w', 5, 2, 3), c(1), c(2)];
    assert_eq!(anomaly(ReadCommitted, &g1b), Some(Anomaly::G1b));
    // Each has seen the other's.
    let g1c = [(1, 'w', 5, 1, 2), (2, 'w', 6, 1, 3), (1, 'l', 6, 3, 0), (2, 'l', 5, 2, 0), c(1), c(2)];
    assert_eq!(anomaly(ReadCommitted, &g1c), Some(Anomaly::G1c));
    // Read skew: one row before a transaction, one after it.
    let skew = [(1, 'r', 5, 1, 0), (2, 'w', 5, 1, 2), (2, 'w', 6, 1, 3), c(2), (1, 'r', 6, 3, 0), c(1)];
    assert_eq!(anomaly(RepeatableRead, &skew), Some(Anomaly::GSingle));
    assert_eq!(anomaly(ReadCommitted, &skew), None);
    // Lost update, with a locking read; a plain one may.
    let lost = |r| [(1, r, 5, 1, 0), (2, 'w', 5, 1, 2), c(2), (1, 'w', 5, 2, 3), c(1)];
    assert_eq!(anomaly(RepeatableRead, &lost('l')), Some(Anomaly::LostUpdate));
    assert_eq!(anomaly(RepeatableRead, &lost('r')), None);
    assert_eq!(anomaly(Serializable, &lost('r')), Some(Anomaly::LostUpdate));
    // Write skew.
    let write = [(1, 'r', 5, 1, 0), (2, 'r', 6, 1, 0), (1, 'w', 6, 1, 2), (2, 'w', 5, 1, 3), c(1), c(2)];
    assert_eq!(anomaly(Serializable, &write), Some(Anomaly::G2Item));
    assert_eq!(anomaly(RepeatableRead, &write), None);
    // A row that came into a locked gap.
    let phantom = [(1, 'g', 5, 0, 0), (2, 'w', 5, 0, 2), (2, 'w', 6, 1, 3), c(2), (1, 'l', 6, 3, 0), c(1)];
    assert_eq!(anomaly(RepeatableRead, &phantom), Some(Anomaly::Phantom));
    assert_eq!(anomaly(ReadCommitted, &phantom), None);
    // What was acknowledged before is not seen.
    let mut stale = history(RepeatableRead, &[(1, 'w', 5, 1, 2), c(1), (2, 'r', 5, 1, 0), c(2)]);
    stale.txns[1].end = 2;
    (stale.txns[2].begin, stale.txns[2].ops[0].0) = (3, 3);
    assert_eq!(check(&stale).map(|a| a.0), Some(Anomaly::Stale));
}
