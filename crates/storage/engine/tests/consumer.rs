//! Payloads of transactions, and those who follow the log for them.

mod common;

use std::io::{Cursor, Read as _};
use std::time::{Duration, Instant};

use common::{TempDir, create, key, open, options, with_tree};
use gannet_engine::*;

const HOLD: Hold = Hold { bound_bytes: 1 << 30, beyond: Beyond::Brake };
const MIB: usize = 1 << 20;

/// Bytes that differ from place to place and from one payload to another.
fn payload(n: u64, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u64 * 31 + (i as u64 >> 8) * 7 + n) as u8).collect()
}

fn commit(engine: &Engine, tree: &TreeHandle, k: u64, told: &[u8]) -> Lsn {
    let mut t = engine.begin(TxnOptions::default());
    t.insert(tree, &key(k), b"row").unwrap();
    t.commit_with(&mut &told[..]).unwrap()
}

fn sync(engine: &Engine) {
    engine.sync().unwrap();
}

#[test]
fn payloads_come_in_the_order_of_commits() {
    let (_dir, engine, tree) = with_tree();
    commit(&engine, &tree, 1, b"before anybody follows");
    assert!(engine.consumers().is_empty());
    let mut consumer = engine.consumer("c", HOLD).unwrap();
    assert!(!engine.consumers().is_empty() && !consumer.is_resumed());
    let mut lsns = Vec::new();
    let lens = [0, 10, MIB - 16, MIB - 15, 2 * MIB, 3 * MIB, 3 * MIB + 1];
    for (k, len) in lens.into_iter().enumerate() {
        lsns.push(commit(&engine, &tree, 10 + k as u64, &payload(k as u64, len)));
        // Others tell nothing.
        let mut t = engine.begin(TxnOptions::default());
        t.insert(&tree, &key(100 + k as u64), b"row").unwrap();
        t.commit().unwrap();
    }
    // Without a change.
    let mut t = engine.begin(TxnOptions::default());
    lsns.push(t.commit_with(&mut &b"alone"[..]).unwrap());
    t.begin(TxnOptions::default()).unwrap();
    lsns.push(t.commit_with(&mut Cursor::new(payload(9, 2 * MIB))).unwrap());
    // One that is rolled back has told nothing.
    t.begin(TxnOptions::default()).unwrap();
    t.insert(&tree, &key(1000), b"row").unwrap();
    t.rollback().unwrap();
    sync(&engine);
    for (k, len) in lens.into_iter().enumerate() {
        let got = consumer.poll().unwrap().unwrap();
        assert!((got.lsn, got.payload) == (lsns[k], payload(k as u64, len)), "payload {k}");
    }
    let alone = consumer.next().unwrap().unwrap();
    assert_eq!((alone.lsn, &*alone.payload), (lsns[lens.len()], &b"alone"[..]));
    assert!(consumer.next().unwrap().unwrap().payload == payload(9, 2 * MIB));
    assert!(consumer.poll().unwrap().is_none());
    assert_eq!(engine.check_tree(&tree).unwrap(), 1 + 2 * lens.len() as u64);
}

#[test]
fn a_commit_that_fails_rolls_the_transaction_back_and_tells_nothing() {
    let (_dir, engine, tree) = with_tree();
    let mut consumer = engine.consumer("c", HOLD).unwrap();
    let mut t = engine.begin(TxnOptions::default());
    t.insert(&tree, &key(1), b"first").unwrap();
    // The log's capacity is 16 MiB: a quarter of it is too much by one byte.
    let long = payload(1, 4 * MIB + 1);
    assert_eq!(t.commit_with(&mut &long[..]), Err(EngineError::PayloadTooLong { most: 4 << 20 }));
    assert!(!t.is_active());
    t.begin(TxnOptions::default()).unwrap();
    t.insert(&tree, &key(1), b"second").unwrap();
    struct Fails(u64);
    impl std::io::Read for Fails {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(into.len() as u64).ok_or(std::io::ErrorKind::Other)?;
            Ok(into.len())
        }
    }
    assert!(matches!(t.commit_with(&mut Fails(3 << 20)), Err(EngineError::Io(_))));
    assert!(!t.is_active());
    // A shorter one.
    t.begin(TxnOptions::default()).unwrap();
    t.insert(&tree, &key(1), b"row").unwrap();
    let told = payload(2, 2 * MIB + 5);
    t.commit_with(&mut (&told[..]).chain(&b"end"[..])).unwrap();
    assert_eq!(t.commit_with(&mut &b""[..]), Err(EngineError::NotActive));
    // A whole transaction in one record has ended without.
    let mut row = RowBuf::new();
    t.begin(TxnOptions::default()).unwrap();
    t.get(&tree, &key(1), ReadMode::Newest, &mut row).unwrap();
    let written = t.update_and_commit_if(&tree, &key(1), row.stamp(), b"new", Default::default());
    assert_eq!((written.unwrap(), t.has_ended()), (Update::Updated, true));
    assert_eq!(t.commit_with(&mut &b"late"[..]), Err(EngineError::NotActive));
    assert_eq!(t.commit_parts_unsynced([b"late", b""]), Err(EngineError::NotActive));
    t.commit().unwrap();
    sync(&engine);
    let got = consumer.poll().unwrap().unwrap();
    assert!(got.payload == [&told[..], b"end"].concat());
    assert!(consumer.poll().unwrap().is_none());
}

/// A payload goes with the only change of a transaction, in its one record, or the transaction has not ended yet.
#[test]
fn the_only_change_of_a_transaction_carries_a_payload() {
    let (_dir, engine, tree) = with_tree();
    let mut consumer = engine.consumer("c", HOLD).unwrap();
    let mut t = engine.begin(TxnOptions::default());
    t.insert(&tree, &key(1), b"old").unwrap();
    t.insert(&tree, &key(2), b"other").unwrap();
    t.commit().unwrap();
    let mut row = RowBuf::new();
    let mut begin = |t: &mut Txn| {
        t.begin(TxnOptions::default()).unwrap();
        assert_eq!(t.get(&tree, &key(1), ReadMode::Newest, &mut row).unwrap(), Read::Found);
        row.stamp()
    };
    // Two halves, one of them empty, a whole piece.
    let most = payload(3, MIB - 16);
    let mut lsns = Vec::new();
    for (i, parts) in [[&b"one"[..], b"two"], [b"", b"half"], [&most[..7], &most[7..]]].into_iter().enumerate() {
        let stamp = begin(&mut t);
        let new = [b'0' + i as u8];
        assert_eq!(t.update_and_commit_if(&tree, &key(1), stamp, &new, parts).unwrap(), Update::Updated);
        assert!(t.has_ended());
        lsns.push(t.commit().unwrap().unwrap());
    }
    // A version that is out of date, and what may come after it: nothing of the payload is in the log.
    let stamp = begin(&mut t);
    t.rollback().unwrap();
    commit(&engine, &tree, 5, b"between");
    begin(&mut t);
    t.update(&tree, &key(1), b"newer").unwrap();
    t.commit().unwrap();
    t.begin(TxnOptions::default()).unwrap();
    let written = t.update_and_commit_if(&tree, &key(1), stamp, b"late", [b"void", b""]).unwrap();
    assert_eq!((written, t.has_ended()), (Update::Changed, false));
    t.rollback().unwrap();
    // Beyond a piece, behind another change, with a row of several pages: it is committed as ever.
    let (long, longer) = (payload(4, MIB - 15), vec![7; 40 << 10]);
    for (i, (new, parts)) in
        [(&b"x"[..], [&long[..], b""]), (b"y", [b"a", b"b"]), (&longer, [b"c", b"d"])].into_iter().enumerate()
    {
        let stamp = begin(&mut t);
        if i == 1 {
            t.update(&tree, &key(2), b"first").unwrap();
        }
        assert_eq!(t.update_and_commit_if(&tree, &key(1), stamp, new, parts).unwrap(), Update::Updated);
        assert!(!t.has_ended());
        lsns.push(t.commit_parts_unsynced(parts).unwrap());
    }
    sync(&engine);
    let mut got = Vec::new();
    while let Some(committed) = consumer.poll().unwrap() {
        got.push((committed.lsn, committed.payload));
    }
    let told: [&[u8]; 7] = [b"onetwo", b"half", &most, b"between", &long, b"ab", b"cd"];
    assert!(got.iter().map(|g| &*g.1).eq(told));
    got.remove(3);
    assert!(got.iter().map(|g| g.0).eq(lsns));
}

/// What is not dealt with comes again after a restart, a payload that was begun before others had committed among it.
#[test]
fn a_consumer_goes_on_where_it_was() {
    let dir = TempDir::new();
    let engine = open(&dir);
    let tree = create(&engine, TreeKind::Row);
    let mut consumer = engine.consumer("c", HOLD).unwrap();
    // Another commits while the long one reads its payload.
    struct Between<'a>(&'a Engine, &'a TreeHandle, u64);
    impl std::io::Read for Between<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            if self.2 == 0 {
                return Ok(0);
            }
            let n = into.len().min(self.2 as usize).min(32 << 10);
            into[..n].fill(3);
            // While the second piece is read, and the third: the first is in the log then.
            for (k, left) in [(40u64, 3 << 19), (80, 1 << 19)] {
                if self.2 > left && self.2 - n as u64 <= left {
                    commit(self.0, self.1, k, &k.to_le_bytes());
                }
            }
            self.2 -= n as u64;
            Ok(n)
        }
    }
    let mut t = engine.begin(TxnOptions::default());
    t.insert(&tree, &key(1), b"row").unwrap();
    let long = t.commit_with(&mut Between(&engine, &tree, 3 << 20)).unwrap();
    sync(&engine);
    let first = consumer.poll().unwrap().unwrap();
    assert_eq!(first.payload, 40u64.to_le_bytes());
    let second = consumer.poll().unwrap().unwrap();
    assert_eq!(second.payload, 80u64.to_le_bytes());
    consumer.done(&second).unwrap();
    // Older ones go with it.
    consumer.done(&first).unwrap();
    drop(consumer);
    drop(t);
    engine.shutdown().unwrap();
    drop((engine, tree));
    let engine = open(&dir);
    let status = &engine.consumers()[0];
    assert!(status.position.from < second.lsn && status.position.done == second.lsn, "{status:?}");
    let mut consumer = engine.consumer("c", HOLD).unwrap();
    assert!(consumer.is_resumed());
    assert_eq!(consumer.begins_behind(), second.lsn);
    let third = consumer.poll().unwrap().unwrap();
    assert!(third.lsn == long && third.payload == vec![3; 3 * MIB]);
    consumer.done(&third).unwrap();
    assert!(consumer.poll().unwrap().is_none());
    let (done, from) = (engine.consumers()[0].position.done, engine.consumers()[0].position.from);
    assert!(done == from && done > long);
    consumer.forget().unwrap();
    assert!(engine.consumers().is_empty());
    assert!(!engine.forget_consumer("c").unwrap());
}

#[test]
fn a_consumer_waits_and_ends_with_the_store() {
    let (_dir, engine, tree) = with_tree();
    let mut consumer = engine.consumer("c", HOLD).unwrap();
    let follower = std::thread::spawn(move || {
        let mut got = Vec::new();
        while let Some(committed) = consumer.next().unwrap() {
            consumer.done(&committed).unwrap();
            got.push((committed.lsn, committed.payload));
        }
        got
    });
    let writers: Vec<_> = (0..4u64)
        .map(|w| {
            let (engine, tree) = (engine.clone(), tree.clone());
            std::thread::spawn(move || -> Vec<_> {
                let told = |k: u64| payload(k, if k.is_multiple_of(10) { 2 * MIB } else { k as usize });
                (0..30).map(|i| w * 1000 + i).map(|k| (commit(&engine, &tree, k, &told(k)), told(k))).collect()
            })
        })
        .collect();
    let mut told: Vec<_> = writers.into_iter().flat_map(|w| w.join().unwrap()).collect();
    told.sort_by_key(|t| t.0);
    sync(&engine);
    engine.shutdown().unwrap();
    let got = follower.join().unwrap();
    assert_eq!(got.iter().map(|g| g.0).collect::<Vec<_>>(), told.iter().map(|t| t.0).collect::<Vec<_>>());
    assert!(got == told);
}

/// The log grows far beyond its capacity for one who does not read, and shrinks when that one is gone; one with a small
/// bound is cut off.
#[test]
fn what_nobody_reads_is_kept_within_bounds() {
    let dir = TempDir::new();
    let engine = Engine::open(EngineOptions { redo_capacity_bytes: 8 << 20, ..options(&dir) }).unwrap();
    let tree = create(&engine, TreeKind::Row);
    let mut slow = engine.consumer("slow", Hold { bound_bytes: 4 << 20, beyond: Beyond::CutOff }).unwrap();
    let mut kept = engine.consumer("kept", HOLD).unwrap();
    for k in 0..40 {
        commit(&engine, &tree, k, &payload(k, MIB));
    }
    let waited = Instant::now();
    while engine.status().log_retained_bytes < 20 << 20 {
        assert!(waited.elapsed() < Duration::from_secs(60), "{:?}", engine.status());
        std::thread::sleep(Duration::from_millis(20));
    }
    sync(&engine);
    assert_eq!(slow.next().unwrap_err(), EngineError::CutOff("slow".to_owned()));
    drop(slow);
    assert_eq!(engine.consumer("slow", HOLD).err(), Some(EngineError::CutOff("slow".to_owned())));
    assert_eq!(engine.consumer("kept", HOLD).err(), Some(EngineError::NameInUse("kept".to_owned())));
    for k in 0..40 {
        let got = kept.poll().unwrap().unwrap();
        assert!(got.payload == payload(k, MIB));
        kept.done(&got).unwrap();
    }
    // Transactions that tell nothing are passed over.
    let before = engine.consumers()[1].position.done;
    for k in 1000..3000 {
        let mut t = engine.begin(TxnOptions::default());
        t.insert(&tree, &key(k), &[1; 1000]).unwrap();
        t.commit().unwrap();
    }
    sync(&engine);
    assert!(kept.poll().unwrap().is_none());
    assert!(engine.consumers()[1].position.done.since(before) > 2_000_000);
    let waited = Instant::now();
    while engine.status().log_retained_bytes > 0 {
        assert!(waited.elapsed() < Duration::from_secs(60), "{:?}", engine.status());
        assert!(kept.poll().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
}
