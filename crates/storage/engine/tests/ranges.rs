//! Scans that lock many rows: what they keep of locks is a few intervals, and others notice no difference.

mod common;
use std::time::Duration;

use common::{create, key, script, with_tree};
use gannet_engine::lock::LockKind;
use gannet_engine::*;

const ROWS: u64 = 3000;
const UPDATE: ReadMode = ReadMode::FOR_UPDATE;

fn table() -> (common::TempDir, Engine, TreeHandle) {
    let (dir, engine, tree) = with_tree();
    let mut t = engine.begin(TxnOptions::default());
    // Every tenth number.
    for k in 0..ROWS {
        t.insert(&tree, &key(k * 10), b"0").unwrap();
    }
    t.commit().unwrap();
    (dir, engine, tree)
}

/// A transaction that waits for nothing.
fn hasty(engine: &Engine) -> Txn {
    engine.begin(TxnOptions { lock_wait_timeout: Duration::ZERO, ..TxnOptions::default() })
}

fn scan(t: &mut Txn, tree: &TreeHandle, range: (u64, u64), mode: ReadMode, direction: Direction) -> u64 {
    let (low, high) = (key(range.0), key(range.1));
    let options = ScanOptions { mode, direction, ..ScanOptions::default() };
    let mut scan = t.scan(tree, KeyRange::new(Cut::Before(&low), Cut::After(&high)), options).unwrap();
    let mut n = 0;
    while scan.next(t).unwrap().is_some() {
        n += 1;
    }
    n
}

fn kinds(engine: &Engine) -> (usize, usize, usize) {
    let locks = engine.lock_table().locks(100_000);
    let count = |f: fn(&LockKind) -> bool| locks.iter().filter(|l| f(&l.kind)).count();
    (
        count(|k| matches!(k, LockKind::Record { .. })),
        count(|k| matches!(k, LockKind::Rows { .. })),
        count(|k| matches!(k, LockKind::Gap { .. })),
    )
}

#[test]
fn a_scan_of_many_rows_keeps_few_locks() {
    for direction in [Direction::Forward, Direction::Backward] {
        let (_dir, engine, tree) = table();
        let mut a = engine.begin(TxnOptions::default());
        assert_eq!(scan(&mut a, &tree, (10_000, 19_995), UPDATE, direction), 1000);
        let (records, rows, gaps) = kinds(&engine);
        assert!(records <= 256 && rows == 1 && gaps == 1, "{records} {rows} {gaps}");
        assert_eq!(engine.transactions(10)[0].locks.as_ref().map(|l| l.records), Some(1000));

        let mut b = hasty(&engine);
        for k in [10_000, 10_010, 15_000, 19_990] {
            assert_eq!(b.update(&tree, &key(k), b"b"), Err(EngineError::LockWaitTimeout), "{k}");
            assert_eq!(b.delete(&tree, &key(k)), Err(EngineError::LockWaitTimeout));
            let mut row = RowBuf::new();
            assert_eq!(b.get(&tree, &key(k), ReadMode::FOR_SHARE, &mut row), Err(EngineError::LockWaitTimeout));
            assert_eq!(b.get(&tree, &key(k), ReadMode::Snapshot, &mut row), Ok(Read::Found));
            assert_eq!(b.insert(&tree, &key(k), b"b"), Err(EngineError::LockWaitTimeout));
        }
        for k in [10_001, 15_555, 19_999] {
            // Nothing is there: a locking read locks the gap only, which others may have locked too; but nobody can
            // insert.
            let mut row = RowBuf::new();
            assert_eq!(b.get(&tree, &key(k), UPDATE, &mut row), Ok(Read::Missing), "{k}");
            assert_eq!(b.insert(&tree, &key(k), b"b"), Err(EngineError::LockWaitTimeout), "{k}");
        }
        for k in [9_990, 20_000] {
            assert_eq!(b.update(&tree, &key(k), b"b"), Ok(Update::Updated), "{k}");
        }
        assert_eq!(b.insert(&tree, &key(20_001), b"b"), Ok(Insert::Inserted));
        assert_eq!(b.insert(&tree, &key(9_985), b"b"), Ok(Insert::Inserted));
        b.rollback().unwrap();
        // Its own rows are its own.
        assert_eq!(a.update(&tree, &key(15_000), b"a"), Ok(Update::Updated));
        assert_eq!(a.delete(&tree, &key(15_010)), Ok(Delete::Deleted));
        assert_eq!(a.insert(&tree, &key(15_005), b"a"), Ok(Insert::Inserted));
        assert_eq!(scan(&mut a, &tree, (10_000, 19_995), UPDATE, direction), 1000);
        a.commit().unwrap();
        let mut b = hasty(&engine);
        assert_eq!(scan(&mut b, &tree, (0, 99_999), UPDATE, direction), ROWS);
        b.commit().unwrap();
        assert_eq!(kinds(&engine), (0, 0, 0));
    }
}

#[test]
fn rows_changed_and_taken_back_stay_locked() {
    let (_dir, engine, tree) = table();
    let mut a = engine.begin(TxnOptions::default());
    let mark = a.savepoint();
    let options = ScanOptions { mode: UPDATE, ..ScanOptions::default() };
    let mut rows = a.scan(&tree, KeyRange::ALL, options).unwrap();
    let mut at = Vec::new();
    while let Some(e) = rows.next(&mut a).unwrap() {
        at.clear();
        at.extend_from_slice(e.key);
        a.update(&tree, &at, b"1").unwrap();
    }
    a.rollback_to(mark).unwrap();
    let (records, rows, gaps) = kinds(&engine);
    assert!(records <= 256 && rows == 1 && gaps == 1, "{records} {rows} {gaps}");
    let mut b = hasty(&engine);
    for k in (0..ROWS).step_by(97).chain([0, ROWS - 1]) {
        assert_eq!(b.update(&tree, &key(k * 10), b"b"), Err(EngineError::LockWaitTimeout), "{k}");
    }
    a.rollback().unwrap();
    assert_eq!(b.update(&tree, &key(50), b"b"), Ok(Update::Updated));
}

#[test]
fn skipped_rows_are_not_of_an_interval() {
    let (_dir, engine, tree) = table();
    let mut b = engine.begin(TxnOptions::default());
    for k in [11_000, 12_000, 12_010] {
        b.update(&tree, &key(k), b"b").unwrap();
    }
    let mut a = engine.begin(TxnOptions::default());
    let skip = ReadMode::Locking { mode: LockMode::Exclusive, wait: WaitPolicy::SkipLocked };
    assert_eq!(scan(&mut a, &tree, (10_000, 19_995), skip, Direction::Forward), 997);
    let (_, rows, gaps) = kinds(&engine);
    // Nor are the gaps before them: there is none between 12,000 and 12,010.
    assert_eq!((rows, gaps), (3, 3));
    b.commit().unwrap();
    let mut b = hasty(&engine);
    for (k, free) in [(10_985, false), (10_995, true), (11_005, false), (12_005, true), (12_015, false)] {
        assert_eq!(b.insert(&tree, &key(k), b"n").is_ok(), free, "{k}");
    }
    for (k, free) in [(10_990, false), (11_000, true), (11_010, false), (12_000, true), (12_010, true), (12_020, false)]
    {
        assert_eq!(b.update(&tree, &key(k), b"c").is_ok(), free, "{k}");
    }
}

#[test]
fn who_waits_for_a_row_of_an_interval_is_told_of_a_deadlock() {
    let (_dir, engine, tree) = table();
    let mut a = engine.begin(TxnOptions::default());
    let mut b = engine.begin(TxnOptions::default());
    scan(&mut a, &tree, (10_000, 14_995), UPDATE, Direction::Forward);
    scan(&mut b, &tree, (15_000, 19_995), UPDATE, Direction::Forward);
    a.update(&tree, &key(10_000), b"a").unwrap();
    std::thread::scope(|s| {
        let waits = s.spawn(|| a.update(&tree, &key(17_000), b"a"));
        while engine.lock_table().waits().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(b.update(&tree, &key(12_000), b"b"), Err(EngineError::Deadlock));
        assert_eq!(waits.join().unwrap(), Ok(Update::Updated));
    });
    a.commit().unwrap();
    assert_eq!(kinds(&engine), (0, 0, 0));
}

#[test]
fn sharers_share_intervals() {
    let (_dir, engine, tree) = table();
    let other = create(&engine, TreeKind::Row);
    let (mut a, mut b) = (engine.begin(TxnOptions::default()), hasty(&engine));
    for t in [&mut a, &mut b] {
        assert_eq!(scan(t, &tree, (0, 99_999), ReadMode::FOR_SHARE, Direction::Forward), ROWS);
    }
    assert_eq!(scan(&mut b, &other, (0, 99_999), ReadMode::FOR_SHARE, Direction::Forward), 0);
    let (records, rows, _) = kinds(&engine);
    assert!(records <= 512 && rows == 2, "{records} {rows}");
    assert_eq!(b.update(&tree, &key(15_000), b"b"), Err(EngineError::LockWaitTimeout));
    a.rollback().unwrap();
    assert_eq!(b.update(&tree, &key(15_000), b"b"), Ok(Update::Updated));
    b.rollback().unwrap();
    assert_eq!(kinds(&engine), (0, 0, 0));
}

#[test]
fn read_committed_keeps_a_lock_for_each_row() {
    let (_dir, engine, tree) = table();
    let mut a = engine.begin(TxnOptions { isolation: Isolation::ReadCommitted, ..TxnOptions::default() });
    assert_eq!(scan(&mut a, &tree, (10_000, 19_995), UPDATE, Direction::Forward), 1000);
    assert_eq!(kinds(&engine), (1000, 0, 0));
    let mut b = hasty(&engine);
    assert_eq!(b.insert(&tree, &key(15_555), b"b"), Ok(Insert::Inserted));
    assert_eq!(b.update(&tree, &key(15_550), b"b"), Err(EngineError::LockWaitTimeout));
}

#[test]
fn an_interval_around_rows_that_came_and_went() {
    script(
        "
        z: insert 10 x
        z: insert 20 x
        z: insert 30 x
        z: insert 40 x
        z: insert 50 x
        z: del 30
        a: begin
        a: scan 0 99 update -> 10=x 20=x 40=x 50=x
        b: begin short
        b: get 30 update -> -          # a deleted row is none
        b: get 35 update -> -
        b: insert 30 b -> timeout
        b: insert 50 b -> timeout
        b: put 40 b -> timeout
        b: put 30 b -> missing
        b: get 40 update skip -> skipped
        b: get 40 share nowait -> nowait
        b: rollback
        a: insert 30 a
        a: del 50
        a: save s
        a: put 40 a
        a: back s
        b: begin short
        b: put 30 b -> timeout
        b: put 40 b -> timeout
        b: put 50 b -> timeout
        b: rollback
        c: begin
        c: insert 50 c -> blocks
        a: commit
        c => ok
        c: put 40 c
        c: commit
        c: scan 0 99 -> 10=x 20=x 30=a 40=c 50=c
        ",
    );
}

#[test]
fn who_has_changed_a_row_does_not_queue_up_for_it() {
    let (_dir, engine, tree) = table();
    let (mut a, mut b) = (engine.begin(TxnOptions::default()), engine.begin(TxnOptions::default()));
    assert_eq!(a.queue_up(&tree, &key(50)), Ok(false));
    a.update(&tree, &key(50), b"a").unwrap();
    std::thread::scope(|s| {
        let waits = s.spawn(|| {
            let mut row = RowBuf::new();
            let read = b.get(&tree, &key(50), UPDATE, &mut row).unwrap();
            (read, row.row().to_vec())
        });
        while engine.lock_table().waits().is_empty() {
            std::thread::yield_now();
        }
        // The reader holds the row's explicit lock and waits for the stamp.
        assert_eq!(a.queue_up(&tree, &key(50)), Ok(false));
        a.update(&tree, &key(50), b"b").unwrap();
        let mut c = hasty(&engine);
        assert_eq!(c.queue_up(&tree, &key(50)), Err(EngineError::LockWaitTimeout));
        a.commit().unwrap();
        assert_eq!(waits.join().unwrap(), (Read::Found, b"b".to_vec()));
    });
    let mut c = engine.begin(TxnOptions::default());
    std::thread::scope(|s| {
        let waits = s.spawn(|| c.queue_up(&tree, &key(50)));
        while engine.lock_table().waits().is_empty() {
            std::thread::yield_now();
        }
        b.commit().unwrap();
        assert_eq!(waits.join().unwrap(), Ok(true));
    });
    c.update(&tree, &key(50), b"c").unwrap();
    c.commit().unwrap();
    assert_eq!(kinds(&engine), (0, 0, 0));
}

#[test]
fn at_read_committed_locks_become_a_set_of_exactly_those_rows() {
    const MANY: u64 = 12_000;
    let (_dir, engine, tree) = with_tree();
    let mut t = engine.begin(TxnOptions::default());
    for k in 0..MANY {
        t.insert(&tree, &key(k * 10), b"0").unwrap();
    }
    t.commit().unwrap();
    let rc =
        TxnOptions { isolation: Isolation::ReadCommitted, lock_wait_timeout: Duration::ZERO, ..TxnOptions::default() };
    let mut a = engine.begin(rc);
    let mut rows = a.scan(&tree, KeyRange::ALL, ScanOptions { mode: UPDATE, ..ScanOptions::default() }).unwrap();
    let mut n = 0;
    while rows.next(&mut a).unwrap().is_some() {
        // Every third does not match.
        if n % 3 == 0 {
            rows.unlock_row(&mut a);
        }
        n += 1;
    }
    let locks = engine.transactions(10)[0].locks.clone().unwrap();
    assert_eq!((n, locks.records as u64), (MANY, MANY / 3 * 2));
    assert!(locks.bytes < 10_000 * 150, "{}", locks.bytes);
    let mut b = engine.begin(rc);
    for k in (0..MANY).step_by(7) {
        let expected = if k % 3 == 0 { Ok(Update::Updated) } else { Err(EngineError::LockWaitTimeout) };
        assert_eq!(b.update(&tree, &key(k * 10), b"b"), expected, "{k}");
        // Others may insert in between, and have what they inserted.
        assert_eq!(b.insert(&tree, &key(k * 10 + 5), b"b"), Ok(Insert::Inserted));
        assert_eq!(b.update(&tree, &key(k * 10 + 5), b"c"), Ok(Update::Updated));
    }
    b.rollback().unwrap();
    let mut c = engine.begin(rc);
    let skip = ReadMode::Locking { mode: LockMode::Exclusive, wait: WaitPolicy::SkipLocked };
    assert_eq!(scan(&mut c, &tree, (0, 10 * MANY), skip, Direction::Backward), MANY / 3);
    c.rollback().unwrap();
    // A row deleted by who has locked it, and one that comes after it.
    assert_eq!(a.delete(&tree, &key(10)), Ok(Delete::Deleted));
    a.commit().unwrap();
    let mut b = engine.begin(rc);
    assert_eq!(b.insert(&tree, &key(10), b"b"), Ok(Insert::Inserted));
    assert_eq!(scan(&mut b, &tree, (0, 10 * MANY), UPDATE, Direction::Forward), MANY);
    b.rollback().unwrap();
    assert_eq!(kinds(&engine), (0, 0, 0));
}
