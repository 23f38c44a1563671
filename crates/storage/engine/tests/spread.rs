//! Rows and index entries of several trees that are inserted together.

mod common;
use std::time::Duration;

use common::{TempDir, create, dump, key, open};
use gannet_engine::*;

fn begin(engine: &Engine) -> Txn {
    engine.begin(TxnOptions { lock_wait_timeout: Duration::from_millis(200), ..TxnOptions::default() })
}

fn trees(engine: &Engine, kind: TreeKind, n: usize) -> Vec<TreeHandle> {
    (0..n).map(|_| create(engine, kind)).collect()
}

/// Inserts `each` rows into each tree, their keys from `from` on, as a statement does: how many calls that took.
fn put(t: &mut Txn, trees: &[TreeHandle], from: u64, each: u64) -> Result<usize> {
    let keys: Vec<_> = (0..each).map(|n| key(from + n)).collect();
    let of: Vec<&TreeHandle> = trees.iter().flat_map(|tree| keys.iter().map(move |_| tree)).collect();
    let rows: Vec<NewEntry<'_>> = trees.iter().flat_map(|_| keys.iter().map(|key| (&key[..], &b"row"[..]))).collect();
    let (mut done, mut calls) = (0, 0);
    while done < rows.len() {
        done += match TreeHandle::insert_spread(&of[done..], &rows[done..], done == 0, t)? {
            0 if of[done].kind() == TreeKind::Row => match t.insert(of[done], rows[done].0, rows[done].1)? {
                Insert::Inserted => 1,
                Insert::Duplicate => return Err(EngineError::NoWait),
            },
            0 => t.index_insert(of[done], rows[done].0, rows[done].1).map(|()| 1)?,
            n => n,
        };
        calls += 1;
    }
    Ok(calls)
}

#[test]
fn rows_of_many_trees_go_together() {
    let dir = TempDir::new();
    let engine = open(&dir);
    for kind in [TreeKind::Row, TreeKind::Index] {
        let trees = trees(&engine, kind, 40);
        let mut old = begin(&engine);
        old.consistent_snapshot();
        for round in 0..300u64 {
            let mut t = begin(&engine);
            let calls = put(&mut t, &trees, round * 2, 2).unwrap();
            assert!(calls < 16, "80 entries took {calls} calls in round {round}");
            if round % 3 == 0 { t.rollback().unwrap() } else { t.commit().map(drop).unwrap() }
        }
        let mut seen = old.scan(&trees[7], KeyRange::ALL, ScanOptions::default()).unwrap();
        assert!(seen.next(&mut old).unwrap().is_none());
        drop(seen);
        old.commit().unwrap();
        engine.purge_now().unwrap();
        for tree in &trees {
            assert_eq!(engine.check_tree(tree).unwrap(), 400);
            assert_eq!(tree.approximate_rows(), 400);
            assert_eq!(dump(&engine, tree).len(), 400);
        }
    }
    let findings = engine.check_store().unwrap().findings;
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn writers_of_the_same_trees_do_not_wait_for_each_other() {
    let dir = TempDir::new();
    let engine = open(&dir);
    let trees = trees(&engine, TreeKind::Row, 30);
    std::thread::scope(|s| {
        for task in 0..4u64 {
            let (engine, mut trees) = (&engine, trees.clone());
            // Each has an order of its own.
            trees.rotate_left(task as usize * 7);
            if task == 3 {
                trees.reverse();
            }
            s.spawn(move || {
                for n in 0..200 {
                    let mut t = begin(engine);
                    put(&mut t, &trees, (n * 4 + task) * 3, 3).unwrap();
                    t.commit().unwrap();
                }
            });
        }
    });
    for tree in &trees {
        assert_eq!(engine.check_tree(tree).unwrap(), 2400);
    }
}

#[test]
fn what_is_in_the_way_is_met_by_the_row_itself() {
    let dir = TempDir::new();
    let engine = open(&dir);
    let trees = trees(&engine, TreeKind::Row, 10);
    let of: Vec<&TreeHandle> = trees.iter().collect();
    let (one, two) = (key(1), key(2));
    let rows = |key: &'static str| vec![(key.as_bytes(), &b"row"[..]); 10];

    // A row with the key of the sixth one: five go in, and that one is left.
    let mut t = begin(&engine);
    t.insert(&trees[5], b"k", b"there").unwrap();
    t.commit().unwrap();
    let mut t = begin(&engine);
    assert_eq!(TreeHandle::insert_spread(&of, &rows("k"), true, &mut t), Ok(5));
    assert_eq!(TreeHandle::insert_spread(&of[5..], &rows("k")[5..], true, &mut t), Ok(0));
    assert_eq!(t.insert(&trees[5], b"k", b"row"), Ok(Insert::Duplicate));
    t.rollback().unwrap();

    // A gap of the third one is locked: two go in, and the third one waits.
    let mut reader = begin(&engine);
    let locking = ScanOptions { mode: ReadMode::FOR_UPDATE, ..ScanOptions::default() };
    let mut scan = reader.scan(&trees[2], KeyRange::ALL, locking).unwrap();
    assert!(scan.next(&mut reader).unwrap().is_none());
    drop(scan);
    let mut t = begin(&engine);
    assert_eq!(TreeHandle::insert_spread(&of, &rows("m"), true, &mut t), Ok(2));
    assert_eq!(t.insert(&trees[2], b"m", b"row"), Err(EngineError::LockWaitTimeout));
    t.rollback().unwrap();
    reader.commit().unwrap();

    // A long row is left to its own way, wherever it stands.
    let long = vec![b'l'; 20_000];
    let mut some = rows("n");
    some[4].1 = &long;
    let mut t = begin(&engine);
    assert_eq!(TreeHandle::insert_spread(&of, &some, true, &mut t), Ok(4));
    assert_eq!(TreeHandle::insert_spread(&of[4..], &some[4..], true, &mut t), Ok(0));
    t.rollback().unwrap();

    // A tree that is dropped says so when it is the first one.
    let mut t = begin(&engine);
    t.drop_tree(&trees[8]).unwrap();
    t.commit().unwrap();
    let mut t = begin(&engine);
    let gone = EngineError::NoSuchTree(trees[8].id());
    assert_eq!(TreeHandle::insert_spread(&of, &rows("p"), true, &mut t), Ok(8));
    assert_eq!(TreeHandle::insert_spread(&of[8..], &rows("p")[8..], true, &mut t), Err(gone));
    t.rollback().unwrap();

    // Two keys of one tree, and none at all.
    let mut t = begin(&engine);
    let twice = [(&one[..], &b"row"[..]), (&two[..], &b"row"[..]), (&one[..], &b"row"[..])];
    assert_eq!(TreeHandle::insert_spread(&[of[0], of[0], of[1]], &twice, true, &mut t), Ok(3));
    assert_eq!(TreeHandle::insert_spread(&[], &[], true, &mut t), Ok(0));
    t.commit().unwrap();
    assert_eq!(dump(&engine, &trees[0]).len(), 2);
    assert_eq!(dump(&engine, &trees[1]).len(), 1);

    let mut t = engine.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    assert_eq!(TreeHandle::insert_spread(&of, &rows("q"), true, &mut t), Err(EngineError::ReadOnly));
}
