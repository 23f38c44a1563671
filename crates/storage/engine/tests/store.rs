//! The store as a whole, on plain threads and real files: restarts, trees, counters, long rows, small pools, many
//! writers.

mod common;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::{TempDir, create, dump, key, open, options, with_tree};
use gannet_engine::*;

fn begin(engine: &Engine) -> Txn {
    engine.begin(TxnOptions::default())
}

fn put(engine: &Engine, tree: &TreeHandle, k: u64, value: &[u8]) {
    let mut t = begin(engine);
    if t.update(tree, &key(k), value).unwrap() == Update::Missing {
        assert_eq!(t.insert(tree, &key(k), value).unwrap(), Insert::Inserted);
    }
    t.commit().unwrap();
}

fn get(engine: &Engine, tree: &TreeHandle, k: u64) -> Option<Vec<u8>> {
    let mut t = begin(engine);
    let mut row = RowBuf::new();
    let found = t.get(tree, &key(k), ReadMode::Snapshot, &mut row).unwrap();
    (found == Read::Found).then(|| row.row().to_vec())
}

/// Ends an engine as a crash of the process would: nothing is written back.
fn kill(engine: Engine) {
    engine.sync().unwrap();
    drop(engine);
}

#[test]
fn committed_rows_survive_restarts_and_open_transactions_do_not() {
    let dir = TempDir::new();
    let id = {
        let engine = open(&dir);
        let tree = create(&engine, TreeKind::Row);
        engine.set_meta(0, tree.id().0).unwrap();
        for k in 0..500 {
            put(&engine, &tree, k, format!("value {k}").as_bytes());
        }
        let mut t = begin(&engine);
        for k in 0..500 {
            t.update(&tree, &key(k), b"never committed").unwrap();
        }
        t.insert(&tree, &key(1000), b"neither").unwrap();
        // It is neither committed nor rolled back: the next start finds it unfinished.
        engine.shutdown().unwrap();
        assert_eq!(t.rollback(), Err(EngineError::ShutDown));
        tree.id()
    };
    for round in 0..3 {
        let engine = open(&dir);
        assert_eq!(engine.meta(0).unwrap(), id.0);
        let tree = engine.tree(id).unwrap();
        assert_eq!(get(&engine, &tree, 7).as_deref(), Some(&b"value 7"[..]));
        assert_eq!(get(&engine, &tree, 1000), None);
        // A writer waits for the rollback of the row it wants.
        put(&engine, &tree, 499, b"value 499");
        while engine.status().recovering > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        engine.purge_now().unwrap();
        assert_eq!(engine.check_tree(&tree).unwrap(), 500);
        assert_eq!(dump(&engine, &tree).len(), 500);
        match round {
            0 => kill(engine),
            _ => engine.shutdown().unwrap(),
        }
    }
}

#[test]
fn a_second_engine_is_refused() {
    let dir = TempDir::new();
    let engine = open(&dir);
    assert!(matches!(Engine::open(options(&dir)), Err(EngineError::DataDirInUse(_))));
    engine.shutdown().unwrap();
    drop(engine);
    open(&dir).shutdown().unwrap();
    let mut o = options(&dir);
    o.mode = OpenMode::Fresh;
    assert!(matches!(Engine::open(o).unwrap_err(), EngineError::Io(_)));
}

#[test]
fn calls_after_shutdown_fail() {
    let (_dir, engine, tree) = with_tree();
    let mut t = begin(&engine);
    engine.shutdown().unwrap();
    assert_eq!(t.insert(&tree, &key(1), b"x"), Err(EngineError::ShutDown));
    assert_eq!(engine.try_begin(TxnOptions::default()).err(), Some(EngineError::ShutDown));
}

#[test]
fn trees_come_and_go_with_their_transactions() {
    let dir = TempDir::new();
    let (kept, gone, dropped);
    {
        let engine = open(&dir);
        let mut t = begin(&engine);
        kept = t.create_tree(TreeKind::Row).unwrap();
        t.insert(&kept, &key(1), b"x").unwrap();
        t.commit().unwrap();
        let mut t = begin(&engine);
        gone = t.create_tree(TreeKind::Index).unwrap();
        t.index_insert(&gone, b"k", b"").unwrap();
        t.rollback().unwrap();
        assert_eq!(engine.tree(gone.id()).err(), Some(EngineError::NoSuchTree(gone.id())));
        // Dropped, but rolled back: still there.
        let mut t = begin(&engine);
        t.drop_tree(&kept).unwrap();
        assert_eq!(t.insert(&kept, &key(2), b"x"), Err(EngineError::NoSuchTree(kept.id())));
        t.rollback().unwrap();
        put(&engine, &kept, 2, b"y");
        // Dropped for good: the pages are free after purge, while a snapshot keeps them before.
        dropped = create(&engine, TreeKind::Row);
        for k in 0..3000 {
            put(&engine, &dropped, k, &[1; 200]);
        }
        let mut reader = begin(&engine);
        reader.consistent_snapshot();
        let mut t = begin(&engine);
        t.drop_tree(&dropped).unwrap();
        t.commit().unwrap();
        engine.purge_now().unwrap();
        let before = engine.status().free_pages;
        let mut row = RowBuf::new();
        let read = reader.get(&dropped, &key(1), ReadMode::Snapshot, &mut row);
        assert_eq!(read, Err(EngineError::NoSuchTree(dropped.id())));
        reader.commit().unwrap();
        engine.purge_now().unwrap();
        assert_eq!(engine.tree(dropped.id()).err(), Some(EngineError::NoSuchTree(dropped.id())));
        engine.sync().unwrap();
        let mut tries = 0;
        while engine.status().free_pages < before + 64 {
            tries += 1;
            assert!(tries < 6000, "the dropped tree's pages do not come back");
            std::thread::sleep(Duration::from_millis(10));
        }
        kill(engine);
    }
    let engine = open(&dir);
    for tree in [&gone, &dropped] {
        assert_eq!(engine.tree(tree.id()).err(), Some(EngineError::NoSuchTree(tree.id())));
    }
    let kept = engine.tree(kept.id()).unwrap();
    assert_eq!(dump(&engine, &kept).len(), 2);
}

#[test]
fn what_a_snapshot_held_is_given_back_to_the_file_system() {
    let dir = TempDir::new();
    let engine = open(&dir);
    let tree = create(&engine, TreeKind::Row);
    let write = |n: u8| {
        let mut t = begin(&engine);
        for k in 0..500 {
            let value: Vec<u8> = (0..4000u32).map(|i| (i * 31 + u32::from(n) * 7 + k as u32) as u8).collect();
            if t.update(&tree, &key(k), &value).unwrap() == Update::Missing {
                assert_eq!(t.insert(&tree, &key(k), &value).unwrap(), Insert::Inserted);
            }
        }
        t.commit().unwrap();
    };
    write(0);
    let mut reader = begin(&engine);
    reader.consistent_snapshot();
    (1..40).for_each(write);
    let held = engine.space();
    assert!(held.named.owned * 16384 > 60 << 20, "{held:?}");
    let mut row = RowBuf::new();
    assert_eq!(reader.get(&tree, &key(7), ReadMode::Snapshot, &mut row).unwrap(), Read::Found);
    assert_eq!(row.row()[..3], [7, 38, 69]);
    reader.commit().unwrap();
    engine.purge_now().unwrap();
    engine.sync().unwrap();
    let blocks = || {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(dir.0.join("data.gnt")).unwrap().blocks() / 32
    };
    let mut tries = 0;
    loop {
        let now = engine.space();
        let known = now.named.owned + now.others.owned + now.free;
        if now.named.owned <= 128 && now.free <= 32 * 64 && blocks() <= known + 64 {
            break;
        }
        tries += 1;
        assert!(tries < 6000, "{now:?}, {} pages on disk", blocks());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(engine.space().others.used, held.others.used);
    let id = tree.id();
    drop((reader, tree));
    kill(engine);
    let engine = open(&dir);
    assert_eq!(dump(&engine, &engine.tree(id).unwrap()).len(), 500);
}

#[test]
fn a_tree_dropped_before_a_crash_is_freed_after_it() {
    let dir = TempDir::new();
    let mut o = options(&dir);
    o.purge_tasks = 0;
    let engine = Engine::open(o.clone()).unwrap();
    let tree = create(&engine, TreeKind::Row);
    for k in 0..200 {
        put(&engine, &tree, k, &[3; 20_000]);
    }
    let mut t = begin(&engine);
    for k in 0..100 {
        t.delete(&tree, &key(k)).unwrap();
    }
    t.commit().unwrap();
    t.begin(TxnOptions::default()).unwrap();
    t.drop_tree(&tree).unwrap();
    t.commit().unwrap();
    drop(t);
    kill(engine);
    let engine = Engine::open(o).unwrap();
    assert!(engine.tree(tree.id()).is_ok());
    engine.purge_now().unwrap();
    assert_eq!(engine.tree(tree.id()).err(), Some(EngineError::NoSuchTree(tree.id())));
    assert_eq!(engine.status().history_length, 0);
    // The number may be given out again, to an empty tree.
    for _ in 0..20 {
        let again = create(&engine, TreeKind::Row);
        assert_eq!(dump(&engine, &again), []);
        put(&engine, &again, 1, &[5; 30_000]);
    }
}

/// Redo of pages behind all that their tree uses in the end: they have no blocks in the file, which a full disk could
/// not give them.
#[test]
fn redo_leaves_pages_out_that_a_tree_no_longer_uses() {
    let dir = TempDir::new();
    let engine = open(&dir);
    engine.hold_checkpoint(true);
    let trees: Vec<_> = (0..20).map(|_| create(&engine, TreeKind::Row)).collect();
    for tree in &trees {
        let mut t = begin(&engine);
        (0..150).for_each(|k| assert_eq!(t.insert(tree, &key(k), &[3; 1000]).unwrap(), Insert::Inserted));
        t.commit().unwrap();
    }
    let most = engine.space().named.used + engine.space().others.used;
    for tree in &trees {
        let mut t = begin(&engine);
        (1..150).for_each(|k| assert_eq!(t.delete(tree, &key(k)).unwrap(), Delete::Deleted));
        t.commit().unwrap();
    }
    engine.purge_now().unwrap();
    let used = engine.space().named.used + engine.space().others.used;
    assert!(used + 150 < most, "{used} of {most} pages are used: nothing is shown");
    drop(trees);
    kill(engine);
    let engine = open(&dir);
    while engine.status().recovery_percent < 100 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let resident = engine.status().pool_resident;
    assert!(resident < used + 100, "{resident} pages are resident, {used} are used");
}

#[test]
fn counters_never_repeat() {
    let dir = TempDir::new();
    let mut seen = std::collections::HashSet::new();
    let mut id = None;
    for round in 0..4 {
        let engine = open(&dir);
        let tree = match id {
            None => create(&engine, TreeKind::Row),
            Some(id) => engine.tree(id).unwrap(),
        };
        id = Some(tree.id());
        let exact = round == 2;
        if exact {
            // After a clean shutdown nothing is skipped.
            assert_eq!(tree.counter_next(), *seen.iter().max().unwrap() + 1);
        }
        let batches: Vec<Vec<u64>> = std::thread::scope(|s| {
            let workers: Vec<_> = (0..4)
                .map(|_| {
                    let tree = &tree;
                    s.spawn(move || {
                        (0..300)
                            .map(|_| tree.counter_reserve(2, 1, 1).unwrap().unwrap())
                            .flat_map(|v| [v, v + 1])
                            .collect()
                    })
                })
                .collect();
            workers.into_iter().map(|w| w.join().unwrap()).collect()
        });
        for v in batches.into_iter().flatten() {
            assert!(seen.insert(v), "{v} twice");
        }
        match round {
            1 => {
                // Before its redo is done a store is not closed in good order.
                while engine.recovery().phase != RecoveryPhase::Done {
                    std::thread::sleep(Duration::from_millis(1));
                }
                engine.shutdown().unwrap();
            }
            _ => kill(engine),
        }
    }
    let engine = open(&dir);
    let tree = engine.tree(id.unwrap()).unwrap();
    tree.counter_raise(1_000_000).unwrap();
    assert_eq!(tree.counter_reserve(3, 10, 5).unwrap(), Some(1_000_005));
    assert_eq!(tree.counter_next(), 1_000_026);
    tree.counter_reset(10).unwrap();
    assert_eq!(tree.counter_reserve(1, 1, 1).unwrap(), Some(10));
    tree.counter_raise(u64::MAX).unwrap();
    assert_eq!(tree.counter_reserve(1, 1, 1).unwrap(), None);
}

#[test]
fn long_rows_keep_their_old_versions_and_give_pages_back() {
    let (_dir, engine, tree) = with_tree();
    let value = |n: u64, len: usize| (0..len).map(|i| (i as u64 * 7 + n) as u8).collect::<Vec<u8>>();
    put(&engine, &tree, 1, &value(1, 300_000));
    put(&engine, &tree, 2, &value(2, 10));
    let mut reader = begin(&engine);
    reader.consistent_snapshot();
    for n in 3..20 {
        put(&engine, &tree, 1, &value(n, 20_000 * n as usize));
        put(&engine, &tree, 2, &value(n, if n % 2 == 0 { 100_000 } else { 5 }));
    }
    let mut t = begin(&engine);
    t.delete(&tree, &key(1)).unwrap();
    t.commit().unwrap();
    // Roll back long rows, and a statement that does not need the chain it wrote.
    let mut t = begin(&engine);
    t.update(&tree, &key(2), &value(99, 50_000)).unwrap();
    assert_eq!(t.update(&tree, &key(77), &value(99, 50_000)).unwrap(), Update::Missing);
    assert_eq!(t.insert(&tree, &key(2), &value(99, 50_000)).unwrap(), Insert::Duplicate);
    t.rollback().unwrap();
    let mut row = RowBuf::new();
    assert_eq!(reader.get(&tree, &key(1), ReadMode::Snapshot, &mut row).unwrap(), Read::Found);
    assert_eq!(row.row(), value(1, 300_000));
    assert_eq!(reader.get(&tree, &key(2), ReadMode::Snapshot, &mut row).unwrap(), Read::Found);
    assert_eq!(row.row(), value(2, 10));
    reader.commit().unwrap();
    assert_eq!(get(&engine, &tree, 2), Some(value(19, 5)));
    assert_eq!(get(&engine, &tree, 1), None);
    engine.purge_now().unwrap();
    assert_eq!(engine.check_tree(&tree).unwrap(), 1);
    assert_eq!(engine.tree_stats(&tree).unwrap().pages, 1, "overflow pages leaked");
}

#[test]
fn keys_and_rows_of_all_lengths() {
    let (_dir, engine, tree) = with_tree();
    let index = create(&engine, TreeKind::Index);
    let mut t = begin(&engine);
    for len in [0, 1, 100, 3072, TreeHandle::MAX_KEY_BYTES] {
        for row in [0, 1, 1000, 8000, 8200, 16_400, 70_000] {
            let mut k = vec![b'k'; len];
            k.extend_from_slice(&(row as u32).to_be_bytes());
            k.truncate(TreeHandle::MAX_KEY_BYTES);
            if len == TreeHandle::MAX_KEY_BYTES {
                k[len - 4..].copy_from_slice(&(row as u32).to_be_bytes());
            }
            assert_eq!(t.insert(&tree, &k, &vec![7; row]).unwrap(), Insert::Inserted);
            let mut buf = RowBuf::new();
            assert_eq!(t.get(&tree, &k, ReadMode::Snapshot, &mut buf).unwrap(), Read::Found);
            assert_eq!(buf.row(), vec![7; row]);
            assert_eq!(t.update(&tree, &k, &vec![8; row * 2]).unwrap(), Update::Updated);
        }
        let carried = vec![1; (TreeHandle::MAX_INDEX_ENTRY_BYTES - len).min(5000)];
        if len + 8 <= TreeHandle::MAX_KEY_BYTES {
            t.index_insert(&index, &vec![b'i'; len], &carried).unwrap();
            t.index_delete(&index, &vec![b'i'; len]).unwrap();
            t.index_insert(&index, &vec![b'i'; len], &carried).unwrap();
        }
    }
    let long = vec![0; TreeHandle::MAX_KEY_BYTES + 1];
    assert!(matches!(t.insert(&tree, &long, b""), Err(EngineError::KeyTooLong { .. })));
    assert!(matches!(t.index_insert(&index, &long, b""), Err(EngineError::KeyTooLong { .. })));
    let mut n = 0;
    let mut scan = t.scan(&tree, KeyRange::ALL, ScanOptions::default()).unwrap();
    while scan.next(&mut t).unwrap().is_some() {
        n += 1;
    }
    assert_eq!(n, 35);
    t.rollback().unwrap();
    assert_eq!((engine.check_tree(&tree).unwrap(), engine.check_tree(&index).unwrap()), (0, 0));
}

/// Versions of one index entry, by transactions whose ids are of different lengths: each reader sees the one it should.
#[test]
fn one_entry_of_many_transactions() {
    let (_dir, engine, _) = with_tree();
    let index = create(&engine, TreeKind::Index);
    let carried = |n: usize| vec![b'c'; n % 3 * n];
    let replace = |n: usize| {
        let mut t = begin(&engine);
        if n > 0 {
            t.index_delete(&index, b"entry").unwrap();
        }
        // A neighbour fills the leaf, so that deletions split it.
        t.index_insert(&index, format!("neighbour {n}").as_bytes(), &[0; 300]).unwrap();
        t.index_insert(&index, b"entry", &carried(n)).unwrap();
        if n % 5 == 4 {
            t.rollback().unwrap();
            let mut t = begin(&engine);
            t.index_delete(&index, b"entry").unwrap();
            t.index_insert(&index, b"entry", &carried(n)).unwrap();
            t.index_delete(&index, b"entry").unwrap();
            t.index_insert(&index, b"entry", &carried(n)).unwrap();
            t.commit().unwrap();
        } else {
            t.commit().unwrap();
        }
    };
    let seen = |t: &mut Txn| {
        let options = ScanOptions { mode: ReadMode::Snapshot, ..ScanOptions::default() };
        let mut scan = t.scan(&index, KeyRange::prefix(b"entry"), options).unwrap();
        let mut seen = Vec::new();
        while let Some(entry) = scan.next(t).unwrap() {
            assert_eq!(entry.key, b"entry");
            seen.push(entry.value.to_vec());
        }
        seen
    };
    let mut readers = Vec::new();
    for n in 0..120 {
        if n == 60 {
            // Three bytes from here on.
            for _ in 0..8200 {
                let mut t = begin(&engine);
                t.index_insert(&index, b"other", b"").unwrap();
                t.rollback().unwrap();
            }
        }
        replace(n);
        let mut reader = begin(&engine);
        assert_eq!(seen(&mut reader), [carried(n)]);
        readers.push((n, reader));
    }
    for (n, mut reader) in readers {
        assert_eq!(seen(&mut reader), [carried(n)], "reader {n}");
        reader.commit().unwrap();
    }
    engine.check_tree(&index).unwrap();
}

#[test]
fn a_hot_row_loses_no_update() {
    let (_dir, engine, tree) = with_tree();
    put(&engine, &tree, 1, &0u64.to_le_bytes());
    const THREADS: u64 = 8;
    const EACH: u64 = 150;
    std::thread::scope(|s| {
        for n in 0..THREADS {
            let (engine, tree) = (engine.clone(), tree.clone());
            s.spawn(move || {
                let mut t = begin(&engine);
                let mut row = RowBuf::new();
                for _ in 0..EACH {
                    t.begin(TxnOptions { autocommit: n % 3 == 0, ..TxnOptions::default() }).unwrap();
                    if n % 2 == 0 {
                        t.get(&tree, &key(1), ReadMode::FOR_UPDATE, &mut row).unwrap();
                        let v = u64::from_le_bytes(row.row().try_into().unwrap()) + 1;
                        assert_eq!(t.update(&tree, &key(1), &v.to_le_bytes()).unwrap(), Update::Updated);
                    } else {
                        loop {
                            t.get(&tree, &key(1), ReadMode::Newest, &mut row).unwrap();
                            let v = u64::from_le_bytes(row.row().try_into().unwrap()) + 1;
                            let done = match t.options().autocommit {
                                true => t.update_and_commit_if(
                                    &tree,
                                    &key(1),
                                    row.stamp(),
                                    &v.to_le_bytes(),
                                    Default::default(),
                                ),
                                false => t.update_if(&tree, &key(1), row.stamp(), &v.to_le_bytes()),
                            };
                            match done.unwrap() {
                                Update::Updated => break,
                                other => assert_eq!(other, Update::Changed),
                            }
                        }
                    }
                    t.commit().unwrap();
                }
            });
        }
    });
    let v = get(&engine, &tree, 1).unwrap();
    assert_eq!(u64::from_le_bytes(v.try_into().unwrap()), THREADS * EACH);
    engine.purge_now().unwrap();
    assert_eq!(engine.check_tree(&tree).unwrap(), 1);
    assert_eq!(engine.status().history_length, 0);
}

#[test]
fn a_change_that_is_the_whole_transaction_commits_with_it() {
    let (_dir, engine, tree) = with_tree();
    put(&engine, &tree, 1, b"old");
    let (mut a, mut b) = (begin(&engine), begin(&engine));
    let mut row = RowBuf::new();
    let mut read = |t: &mut Txn, mode| {
        assert_eq!(t.get(&tree, &key(1), mode, &mut row).unwrap(), Read::Found);
        (row.row().to_vec(), row.stamp())
    };
    // Who has a snapshot from before keeps it; a writer does not wait.
    let (before, _) = read(&mut b, ReadMode::Snapshot);
    let (_, stamp) = read(&mut a, ReadMode::Newest);
    assert_eq!(a.update_and_commit_if(&tree, &key(1), stamp, b"new", Default::default()).unwrap(), Update::Updated);
    let mut c = engine.begin(TxnOptions { lock_wait_timeout: Duration::ZERO, ..TxnOptions::default() });
    assert_eq!(read(&mut c, ReadMode::FOR_UPDATE).0, b"new");
    assert_eq!(c.update(&tree, &key(1), b"newer").unwrap(), Update::Updated);
    assert!(a.is_active());
    assert!(a.commit().unwrap().is_some());
    c.rollback().unwrap();
    assert_eq!((before, read(&mut b, ReadMode::Snapshot).0), (b"old".to_vec(), b"old".to_vec()));
    b.commit().unwrap();
    assert_eq!(get(&engine, &tree, 1).as_deref(), Some(&b"new"[..]));
    // There is no way back.
    a.begin(TxnOptions::default()).unwrap();
    let (_, stamp) = read(&mut a, ReadMode::Newest);
    let mark = a.savepoint();
    assert_eq!(a.update_and_commit_if(&tree, &key(1), stamp, b"kept", Default::default()).unwrap(), Update::Updated);
    assert_eq!(a.rollback_to(mark), Err(EngineError::NotActive));
    a.rollback().unwrap();
    assert_eq!(get(&engine, &tree, 1).as_deref(), Some(&b"kept"[..]));
    // One that has written before ends when it is told to.
    a.begin(TxnOptions::default()).unwrap();
    assert_eq!(a.insert(&tree, &key(2), b"second").unwrap(), Insert::Inserted);
    let (_, stamp) = read(&mut a, ReadMode::Newest);
    assert_eq!(a.update_and_commit_if(&tree, &key(1), stamp, b"undone", Default::default()).unwrap(), Update::Updated);
    assert_eq!(get(&engine, &tree, 1).as_deref(), Some(&b"kept"[..]));
    a.rollback().unwrap();
    assert_eq!((get(&engine, &tree, 1).as_deref(), get(&engine, &tree, 2)), (Some(&b"kept"[..]), None));
    // Another version: nothing happens.
    a.begin(TxnOptions::default()).unwrap();
    assert_eq!(a.update_and_commit_if(&tree, &key(1), stamp, b"late", Default::default()).unwrap(), Update::Updated);
    a.commit().unwrap();
    a.begin(TxnOptions::default()).unwrap();
    assert_eq!(
        a.update_and_commit_if(&tree, &key(1), stamp, b"too late", Default::default()).unwrap(),
        Update::Changed
    );
    a.commit().unwrap();
    assert_eq!(get(&engine, &tree, 1).as_deref(), Some(&b"late"[..]));
    drop((a, b, c));
    engine.purge_now().unwrap();
    assert_eq!(engine.check_tree(&tree).unwrap(), 1);
    assert_eq!(engine.status().history_length, 0);
    assert!(engine.check_store().unwrap().findings.is_empty());
}

#[test]
fn of_racing_inserters_of_a_unique_value_one_wins() {
    let (_dir, engine, rows) = with_tree();
    let index = create(&engine, TreeKind::Index);
    let won = AtomicU64::new(0);
    std::thread::scope(|s| {
        for n in 0..6u64 {
            let (engine, rows, index, won) = (engine.clone(), rows.clone(), index.clone(), &won);
            s.spawn(move || {
                let mut t = begin(&engine);
                for v in 0..200u64 {
                    loop {
                        t.begin(TxnOptions::default()).unwrap();
                        let pk = v * 10 + n;
                        let entry = [key(v), key(pk)].concat();
                        let result = t.insert(&rows, &key(pk), b"r").and_then(|r| {
                            assert_eq!(r, Insert::Inserted);
                            t.index_insert_unique(&index, 4, &entry, b"", false)
                        });
                        match result {
                            Ok(IndexInsert::Inserted) if (v + n) % 5 == 0 => {
                                t.rollback().unwrap(); // the others go on waiting, or find nothing
                                break;
                            }
                            Ok(IndexInsert::Inserted) => {
                                t.commit().unwrap();
                                won.fetch_add(1, Ordering::Relaxed);
                                break;
                            }
                            Ok(IndexInsert::Duplicate { existing, .. }) => {
                                assert_eq!(existing[..4], key(v));
                                t.rollback().unwrap();
                                break;
                            }
                            Err(EngineError::Deadlock) => continue,
                            Err(e) => panic!("{e}"),
                        }
                    }
                }
            });
        }
    });
    let entries = dump(&engine, &index);
    assert_eq!(entries.len() as u64, won.load(Ordering::Relaxed));
    assert!(entries.windows(2).all(|w| w[0].0[..4] != w[1].0[..4]), "a unique value is there twice");
    assert_eq!(dump(&engine, &rows).len(), entries.len());
    engine.purge_now().unwrap();
    assert_eq!(engine.check_tree(&index).unwrap() as usize, entries.len());
}

#[test]
fn data_larger_than_the_pool() {
    let dir = TempDir::new();
    let mut o = options(&dir);
    o.buffer_pool_bytes = 4 << 20;
    let engine = Engine::open(o.clone()).unwrap();
    let tree = create(&engine, TreeKind::Row);
    let index = create(&engine, TreeKind::Index);
    const ROWS: u64 = 30_000;
    std::thread::scope(|s| {
        for n in 0..3 {
            let (engine, tree, index) = (engine.clone(), tree.clone(), index.clone());
            s.spawn(move || {
                let mut t = begin(&engine);
                for k in (n..ROWS).step_by(3) {
                    if !t.is_active() {
                        t.begin(TxnOptions::default()).unwrap();
                    }
                    assert_eq!(t.insert(&tree, &key(k), &[k as u8; 300]).unwrap(), Insert::Inserted);
                    t.index_insert(&index, &[key(ROWS - k), key(k)].concat(), b"").unwrap();
                    if k % 50 == 0 {
                        t.commit().unwrap();
                    }
                }
                t.commit().unwrap();
            });
        }
    });
    assert!(engine.status().data_pages > 2 * engine.status().pool_pages, "the data fits the pool");
    let check = |engine: &Engine, tree: &TreeHandle| {
        let mut t = begin(engine);
        let mut row = RowBuf::new();
        for k in (0..ROWS).step_by(37) {
            assert_eq!(t.get(tree, &key(k), ReadMode::Snapshot, &mut row).unwrap(), Read::Found);
            assert_eq!(row.row(), [k as u8; 300]);
        }
        let o = ScanOptions { sequential: true, ..ScanOptions::default() };
        let mut scan = t.scan(tree, KeyRange::ALL, o).unwrap();
        let mut n = 0;
        while scan.next(&mut t).unwrap().is_some() {
            n += 1;
        }
        assert_eq!(n, ROWS);
    };
    check(&engine, &tree);
    let stats = engine.tree_stats(&tree).unwrap();
    assert_eq!(stats.rows, ROWS);
    assert!(stats.leaf_pages > 500 && stats.height >= 2, "{stats:?}");
    let all = engine.estimate_rows(&tree, KeyRange::ALL).unwrap().rows;
    assert!((ROWS / 2..ROWS * 2).contains(&all), "{all}");
    let (lo, hi) = (key(1000), key(2000));
    let some = engine.estimate_rows(&tree, KeyRange::new(Cut::Before(&lo), Cut::Before(&hi))).unwrap().rows;
    assert!((400..2500).contains(&some), "{some}");
    kill(engine);
    let engine = Engine::open(o).unwrap();
    check(&engine, &engine.tree(tree.id()).unwrap());
    engine.shutdown().unwrap();
}

#[test]
fn thousands_of_open_transactions() {
    let (_dir, engine, tree) = with_tree();
    let mut open: Vec<Txn> = (0..3000u64)
        .map(|n| {
            let mut t = begin(&engine);
            if n % 3 == 0 {
                assert_eq!(t.insert(&tree, &key(n), b"x").unwrap(), Insert::Inserted);
            } else {
                t.consistent_snapshot();
            }
            t
        })
        .collect();
    assert_eq!(engine.active_writers(), 1000);
    assert_eq!(engine.transactions(10).len(), 10);
    let mut seen = 0;
    for (n, t) in open.iter_mut().enumerate() {
        match n % 3 {
            0 if n % 2 == 0 => drop(t.commit().unwrap()),
            0 => t.rollback().unwrap(),
            _ => {
                let mut scan = t.scan(&tree, KeyRange::ALL, ScanOptions::default()).unwrap();
                seen += usize::from(scan.next(t).unwrap().is_some());
            }
        }
    }
    assert_eq!(seen, 0, "a snapshot saw what was committed after it");
    drop(open);
    assert_eq!(dump(&engine, &tree).len(), 500);
    engine.purge_now().unwrap();
    assert_eq!(engine.check_tree(&tree).unwrap(), 500);
}

#[test]
fn a_panic_rolls_its_transaction_back() {
    let (_dir, engine, tree) = with_tree();
    put(&engine, &tree, 1, b"a");
    let (e, t) = (engine.clone(), tree.clone());
    let panicked = std::thread::spawn(move || {
        let mut txn = begin(&e);
        txn.update(&t, &key(1), b"b").unwrap();
        std::panic::resume_unwind(Box::new("boom"));
    })
    .join();
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"boom"));
    put(&engine, &tree, 1, b"c");
    assert_eq!(get(&engine, &tree, 1).as_deref(), Some(&b"c"[..]));
}

#[test]
fn undo_of_a_long_transaction_and_its_savepoints() {
    let (_dir, engine, tree) = with_tree();
    for k in 0..50 {
        put(&engine, &tree, k, &[0; 500]);
    }
    let mut t = begin(&engine);
    let mut saves = Vec::new();
    for round in 1..40u8 {
        saves.push(t.savepoint());
        for k in 0..50 {
            t.update(&tree, &key(k), &vec![round; 500 + usize::from(round)]).unwrap();
        }
    }
    let mut row = RowBuf::new();
    for (n, save) in saves.iter().enumerate().rev().step_by(7) {
        t.rollback_to(*save).unwrap();
        t.get(&tree, &key(49), ReadMode::Snapshot, &mut row).unwrap();
        assert_eq!(row.row()[0], n as u8);
        assert_eq!(get(&engine, &tree, 49).unwrap(), [0; 500]);
    }
    t.rollback().unwrap();
    assert!(dump(&engine, &tree).iter().all(|(_, v)| v == &[0; 500]));
    engine.purge_now().unwrap();
    assert_eq!(engine.status().history_length, 0);
}

/// Changes that cannot be undone, for now, are never committed, however the transaction goes on.
#[test]
fn what_is_half_undone_is_never_committed() {
    use gannet_engine::plant::{Fault, plant};
    let (dir, engine, tree) = with_tree();
    for k in 0..20 {
        put(&engine, &tree, k, b"old");
    }
    let old = dump(&engine, &tree);
    let mut row = RowBuf::new();
    let change = |t: &mut Txn| (0..20).for_each(|k| assert_eq!(t.update(&tree, &key(k), b"new"), Ok(Update::Updated)));
    let mut t = begin(&engine);
    // A statement.
    t.update(&tree, &key(7), b"kept").unwrap();
    let mark = t.savepoint();
    change(&mut t);
    plant(Some(Fault::UndoFails));
    assert_eq!(t.rollback_to(mark), Err(EngineError::DiskFull));
    assert!(t.is_active() && t.is_half_undone());
    assert_eq!(t.get(&tree, &key(1), ReadMode::Snapshot, &mut row).unwrap_err(), EngineError::HalfUndone);
    assert_eq!(t.insert(&tree, &key(50), b"new").unwrap_err(), EngineError::HalfUndone);
    assert_eq!(t.create_tree(TreeKind::Row).unwrap_err(), EngineError::HalfUndone);
    assert_eq!(t.prepare(), Err(EngineError::HalfUndone));
    assert_eq!(t.rollback_to(mark), Err(EngineError::DiskFull));
    // Once it can be undone the transaction goes on.
    plant(None);
    t.rollback_to(mark).unwrap();
    assert_eq!(t.get(&tree, &key(7), ReadMode::Snapshot, &mut row).unwrap(), Read::Found);
    assert_eq!(row.row(), b"kept");
    // A commit of a half, before and after it can be undone.
    change(&mut t);
    plant(Some(Fault::UndoFails));
    assert_eq!(t.rollback_to(mark), Err(EngineError::DiskFull));
    assert_eq!(t.commit(), Err(EngineError::DiskFull));
    assert!(t.is_half_undone());
    assert_eq!(t.commit_with(&mut &b"payload"[..]), Err(EngineError::HalfUndone));
    assert_eq!(t.begin(TxnOptions::default()), Err(EngineError::DiskFull));
    plant(None);
    assert_eq!(t.commit(), Err(EngineError::HalfUndone));
    assert!(!t.is_active());
    assert_eq!(dump(&engine, &tree), old);
    // The end of a transaction, prepared or not, that a crash follows.
    for prepared in [false, true] {
        t.begin(TxnOptions::default()).unwrap();
        change(&mut t);
        if prepared {
            t.prepare().unwrap();
        }
        plant(Some(Fault::UndoFails));
        assert_eq!(t.rollback(), Err(EngineError::DiskFull));
        assert_eq!(t.commit(), Err(EngineError::DiskFull));
        plant(None);
        if !prepared {
            t.rollback().unwrap();
        }
    }
    let id = tree.id();
    drop((t, tree));
    kill(engine);
    let engine = open(&dir);
    assert_eq!(engine.prepared(), []);
    let tree = engine.tree(id).unwrap();
    assert_eq!(dump(&engine, &tree), old);
}

/// A commit that fails before it is in the log is rolled back: it does not become a part of what comes next.
#[test]
fn a_failed_commit_leaves_nothing_behind() {
    use gannet_engine::plant::{Fault, plant};
    let (_dir, engine, tree) = with_tree();
    let (mut failed, mut stood) = (0, Vec::new());
    let mut t = begin(&engine);
    for k in 0..60 {
        t.begin(TxnOptions::default()).unwrap();
        t.insert(&tree, &key(k), b"row").unwrap();
        plant(Some(Fault::UndoFails));
        let done = t.commit();
        plant(None);
        match done {
            Ok(_) => stood.push((key(k).to_vec(), b"row".to_vec())),
            Err(e) => {
                assert_eq!(e, EngineError::DiskFull);
                failed += 1;
            }
        }
    }
    drop(t);
    assert!(failed > 5 && stood.len() > 5, "{failed}");
    assert_eq!(dump(&engine, &tree), stood);
}

/// Prepared transactions outlive crashes with their rows locked, and end as they are told to; purge and later
/// transactions go on around them.
#[test]
fn prepared_transactions_outlive_crashes() {
    for (commit, crash) in [(true, true), (true, false), (false, true), (false, false)] {
        let (dir, engine, tree) = with_tree();
        let id = tree.id();
        let mut t = engine.begin(TxnOptions::default());
        for n in 0..10 {
            t.insert(&tree, &key(n), b"old").unwrap();
        }
        t.commit().unwrap();
        let mut p = engine.begin(TxnOptions::default());
        p.update(&tree, &key(1), b"new").unwrap();
        p.delete(&tree, &key(2)).unwrap();
        p.insert(&tree, &key(100), b"new").unwrap();
        let trx = p.prepare().unwrap().unwrap();
        let mut nothing = engine.begin(TxnOptions::default());
        assert_eq!(nothing.prepare().unwrap(), None);
        drop((t, p, nothing, tree));
        match crash {
            true => kill(engine),
            false => {
                engine.shutdown().unwrap();
                drop(engine);
            }
        }
        // Once more, without anybody caring.
        let engine = open(&dir);
        assert_eq!(engine.prepared(), [trx]);
        kill(engine);
        let engine = open(&dir);
        assert_eq!(engine.prepared(), [trx]);
        let tree = engine.tree(id).unwrap();
        let old: Vec<_> = (0..10).map(|n| (key(n).to_vec(), b"old".to_vec())).collect();
        assert_eq!(dump(&engine, &tree), old);
        let wait = Duration::from_millis(50);
        let mut t = engine.begin(TxnOptions { lock_wait_timeout: wait, ..TxnOptions::default() });
        assert_eq!(t.update(&tree, &key(1), b"x").unwrap_err(), EngineError::LockWaitTimeout);
        assert_eq!(t.delete(&tree, &key(2)).unwrap_err(), EngineError::LockWaitTimeout);
        t.update(&tree, &key(3), b"x").unwrap();
        t.commit().unwrap();
        engine.purge_now().unwrap();
        let mut p = engine.take_prepared(trx, TxnOptions::default()).unwrap().unwrap();
        assert!(engine.take_prepared(trx, TxnOptions::default()).unwrap().is_none());
        // A snapshot from before its end sees the rows as they were.
        let mut before = engine.begin(TxnOptions::default());
        before.consistent_snapshot();
        match commit {
            true => drop(p.commit().unwrap()),
            false => p.rollback().unwrap(),
        }
        engine.purge_now().unwrap();
        let mut row = RowBuf::new();
        assert_eq!(before.get(&tree, &key(1), ReadMode::Snapshot, &mut row).unwrap(), Read::Found);
        assert_eq!(row.row(), b"old");
        assert_eq!(before.get(&tree, &key(2), ReadMode::Snapshot, &mut row).unwrap(), Read::Found);
        drop((before, p));
        let check = |engine: &Engine| {
            let tree = engine.tree(id).unwrap();
            let rows = dump(engine, &tree);
            let get = |n: u64| rows.iter().find(|(k, _)| *k == key(n)).map(|(_, v)| v.clone());
            let (one, two, hundred) = match commit {
                true => (Some(b"new".to_vec()), None, Some(b"new".to_vec())),
                false => (Some(b"old".to_vec()), Some(b"old".to_vec()), None),
            };
            assert_eq!((get(1), get(2), get(100)), (one, two, hundred));
            assert_eq!(get(3), Some(b"x".to_vec()));
            engine.check_tree(&tree).unwrap();
        };
        check(&engine);
        drop((t, tree));
        kill(engine);
        let engine = open(&dir);
        assert_eq!(engine.prepared(), []);
        check(&engine);
        engine.purge_now().unwrap();
        check(&engine);
    }
}

/// The transaction table forgets ends that no snapshot asks for, before purge has come to them.
#[test]
fn drops_whose_ends_are_forgotten_do_not_wait_for_one_another() {
    let dir = TempDir::new();
    let engine = open(&dir);
    let kept = create(&engine, TreeKind::Row);
    let trees: Vec<_> = (0..3).map(|_| create(&engine, TreeKind::Row)).collect();
    trees.iter().for_each(|tree| put(&engine, tree, 1, b"goes"));
    let mut writers = Vec::new();
    for tree in &trees {
        let mut t = begin(&engine);
        t.drop_tree(tree).unwrap();
        assert!(t.prepare().unwrap().is_some());
        writers.push(t);
    }
    drop((writers, trees, kept));
    kill(engine);
    let engine = open(&dir);
    let prepared = engine.prepared();
    assert_eq!(prepared.len(), 3);
    // One of them is not dropped after all.
    for (i, trx) in prepared.into_iter().enumerate() {
        let mut t = engine.take_prepared(trx, TxnOptions::default()).unwrap().unwrap();
        match i {
            1 => t.rollback().unwrap(),
            _ => assert!(t.commit().unwrap().is_some()),
        }
    }
    engine.purge_now().unwrap();
    let store = engine.check_store().unwrap();
    assert_eq!((store.trees, store.findings), (2, vec![]));
}

/// Flips a bit in each page of a tree in a store that is closed.
fn damage(dir: &TempDir, tree: TreeId) {
    const PAGE: usize = 16384;
    let file = dir.0.join("data.gnt");
    let mut data = std::fs::read(&file).unwrap();
    let mut pages = 0;
    for page in data.chunks_exact_mut(PAGE).filter(|page| page[4] != 0 && page[24..32] == tree.0.to_le_bytes()) {
        page[1000] ^= 1;
        pages += 1;
    }
    assert!(pages > 1);
    std::fs::write(&file, data).unwrap();
}

#[test]
fn purge_passes_over_damage() {
    let dir = TempDir::new();
    let o = EngineOptions { purge_tasks: 0, ..options(&dir) };
    let engine = Engine::open(o.clone()).unwrap();
    let (bad, good) = (create(&engine, TreeKind::Row), create(&engine, TreeKind::Row));
    for k in 0..300 {
        put(&engine, &bad, k, &[1; 200]);
        put(&engine, &good, k, &[1; 200]);
    }
    let delete = |engine: &Engine, keys: std::ops::Range<u64>| {
        let mut t = begin(engine);
        for k in keys {
            t.delete(&engine.tree(bad.id()).unwrap(), &key(k)).unwrap();
            t.delete(&engine.tree(good.id()).unwrap(), &key(k)).unwrap();
        }
        t.commit().unwrap();
    };
    delete(&engine, 0..100);
    engine.shutdown().unwrap();
    drop(engine);
    damage(&dir, bad.id());
    // What was left by the run before, and what comes now.
    let engine = Engine::open(o).unwrap();
    let tree = engine.tree(good.id()).unwrap();
    assert_eq!(engine.check_tree(&tree).unwrap(), 300);
    engine.purge_now().unwrap();
    assert_eq!(engine.check_tree(&tree).unwrap(), 200);
    let mut t = begin(&engine);
    t.delete(&tree, &key(100)).unwrap();
    let e = t.delete(&engine.tree(bad.id()).unwrap(), &key(100)).unwrap_err();
    assert!(matches!(e, EngineError::Corrupt { page, .. } if page.0 >= bad.id().0), "{e}");
    t.commit().unwrap();
    engine.purge_now().unwrap();
    assert_eq!(engine.check_tree(&tree).unwrap(), 199);
    assert_eq!(engine.status().history_length, 0);
}

/// A transaction that cannot be rolled back because of a damaged tree keeps its rows locked until that tree is dropped.
#[test]
fn dropping_a_damaged_tree_lets_what_is_unfinished_there_end() {
    for restart in [false, true] {
        let dir = TempDir::new();
        let engine = open(&dir);
        let trees: Vec<_> = (0..3).map(|_| create(&engine, TreeKind::Row)).collect();
        let (bad, good, other) = (trees[0].id(), trees[1].id(), trees[2].id());
        for k in 0..300 {
            trees.iter().for_each(|tree| put(&engine, tree, k, &[b'a'; 200]));
        }
        let mut t = begin(&engine);
        t.update(&trees[1], &key(1), b"never committed").unwrap();
        t.update(&trees[0], &key(1), b"never committed").unwrap();
        engine.shutdown().unwrap();
        drop((t, trees, engine));
        damage(&dir, bad);
        let mut engine = open(&dir);
        let stuck = |engine: &Engine| {
            for _ in 0..6000 {
                let s = engine.status();
                if s.recovering == s.stuck {
                    return s.stuck;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            panic!("{:?}", engine.status());
        };
        assert_eq!(stuck(&engine), 1);
        let wait = Duration::from_millis(50);
        let mut t = engine.begin(TxnOptions { lock_wait_timeout: wait, ..TxnOptions::default() });
        let tree = engine.tree(good).unwrap();
        assert_eq!(t.update(&tree, &key(1), b"x").unwrap_err(), EngineError::LockWaitTimeout);
        t.update(&tree, &key(2), b"x").unwrap();
        // A drop that is taken back leaves what is to be undone there.
        let before = t.savepoint();
        t.drop_tree(&tree).unwrap();
        t.rollback_to(before).unwrap();
        // The drop of a sound tree waits too: it is not known where else there is something to undo.
        t.drop_tree(&engine.tree(other).unwrap()).unwrap();
        t.commit().unwrap();
        assert_eq!(get(&engine, &tree, 1), Some(vec![b'a'; 200]));
        assert_eq!(stuck(&engine), 1);
        t.begin(TxnOptions::default()).unwrap();
        t.drop_tree(&engine.tree(bad).unwrap()).unwrap();
        t.commit().unwrap();
        drop((t, tree));
        if restart {
            kill(engine);
            engine = open(&dir);
        }
        let began = std::time::Instant::now();
        while engine.status().recovering > 0 {
            assert!(began.elapsed() < Duration::from_secs(60), "{:?}", engine.status());
            std::thread::sleep(Duration::from_millis(10));
        }
        // From here on everybody sees the end of the rollback.
        engine.purge_now().unwrap();
        let tree = engine.tree(good).unwrap();
        assert_eq!(get(&engine, &tree, 1), Some(vec![b'a'; 200]));
        put(&engine, &tree, 1, b"free");
        engine.purge_now().unwrap();
        let store = engine.check_store().unwrap();
        assert_eq!((store.trees, store.findings), (1, vec![]));
    }
}

#[test]
fn a_held_checkpoint_stays_and_recovery_begins_there() {
    let dir = TempDir::new();
    let id = {
        let engine = open(&dir);
        let tree = create(&engine, TreeKind::Row);
        engine.hold_checkpoint(true);
        let writes = || {
            let held = engine.status();
            for k in 0..300 {
                put(&engine, &tree, k, format!("value {k}").as_bytes());
            }
            std::thread::sleep(Duration::from_millis(1500));
            let now = engine.status();
            assert!(now.log_lsn.since(held.log_lsn) > 300 * 50 && now.pool_dirty > 0);
            now.checkpoint_lsn == held.checkpoint_lsn && now.checkpoints == held.checkpoints
        };
        // A step that was under way may have ended, once.
        assert!(writes() || writes());
        let id = tree.id();
        kill(engine);
        id
    };
    let engine = open(&dir);
    let recovery = engine.recovery();
    assert!(recovery.log_bytes > 300 * 50 && recovery.pages_total > 0, "{recovery:?}");
    let tree = engine.tree(id).unwrap();
    assert_eq!(dump(&engine, &tree).len(), 300);
    let mut tries = 0;
    let [log, redo, rollback] = loop {
        let steps = engine.recovery_steps();
        if steps.iter().all(|s| s.ended) {
            break steps;
        }
        tries += 1;
        assert!(tries < 6000, "{steps:?}");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(log.done > 300 * 50 && log.done == log.total && log.rate() > 0.0 && log.seconds > 0.0, "{log:?}");
    assert!(redo.done > 0 && redo.done == redo.total && redo.percent() == 100.0, "{redo:?}");
    assert_eq!((rollback.total, rollback.begun, rollback.eta_seconds()), (0, false, Some(0.0)));
}

/// Blocks are given to a tree as it grows; all it has are there before it uses them.
#[test]
fn small_trees_take_few_blocks_of_the_file() {
    use std::os::unix::fs::MetadataExt;
    let dir = TempDir::new();
    let file = dir.0.join("data.gnt");
    let blocks = || std::fs::metadata(&file).unwrap().blocks() * 512;
    let mut ids = Vec::new();
    {
        let engine = open(&dir);
        let before = blocks();
        for k in 0..200 {
            let tree = create(&engine, TreeKind::Row);
            put(&engine, &tree, k, b"a row");
            ids.push(tree.id());
        }
        engine.shutdown().unwrap();
        let each = (blocks() - before) / 200;
        assert!(each <= 128 << 10, "{each} bytes a tree");
    }
    let engine = open(&dir);
    let tree = engine.tree(ids[77]).unwrap();
    // Over the first pages, over the extent, and in others' neighbourhood.
    for k in 0..2000 {
        put(&engine, &tree, k, &[7; 1000]);
    }
    for (k, id) in ids.iter().enumerate() {
        let tree = engine.tree(*id).unwrap();
        let want: &[u8] = if k == 77 { &[7; 1000] } else { b"a row" };
        assert_eq!(get(&engine, &tree, k as u64).as_deref(), Some(want));
    }
    assert_eq!(engine.check_store().unwrap().findings, Vec::<String>::new());
    engine.shutdown().unwrap();
}

/// Tasks that read together at one snapshot see what the transaction sees, and keep it from purge when the transaction
/// has ended.
#[test]
fn readers_share_a_snapshot() {
    let (_dir, engine, tree) = with_tree();
    let mut t = begin(&engine);
    (0..5000).for_each(|k| assert_eq!(t.insert(&tree, &key(k), b"old").unwrap(), Insert::Inserted));
    t.commit().unwrap();
    let mut t = begin(&engine);
    t.update(&tree, &key(7), b"own").unwrap();
    let reader = t.snapshot_reader().unwrap().unwrap();
    let shown = engine.transactions(100);
    assert_eq!(shown.iter().filter(|t| t.snapshot).count(), 1, "a reader is no transaction of its own: {shown:?}");
    let cuts = reader.cuts(&tree, 4).unwrap();
    assert!(cuts.len() == 3 && cuts.is_sorted(), "{cuts:?}");
    // Others change half of the rows, again and again, while the readers are at work.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..20u64 {
                (1000..3500).for_each(|k| put(&engine, &tree, k, &round.to_be_bytes()));
                engine.purge_now().unwrap();
            }
            (1000..3500).for_each(|k| {
                let mut t = begin(&engine);
                assert_eq!(t.delete(&tree, &key(k)).unwrap(), Delete::Deleted);
                t.commit().unwrap();
            });
            engine.purge_now().unwrap();
        });
        let tasks: Vec<_> = (0..=cuts.len())
            .map(|i| {
                let (reader, tree, cuts) = (reader.clone(), tree.clone(), &cuts);
                scope.spawn(move || {
                    let from = i.checked_sub(1).map_or(Cut::Start, |i| Cut::Before(&cuts[i]));
                    let to = cuts.get(i).map_or(Cut::End, |cut| Cut::Before(cut));
                    let mut counts = Vec::new();
                    for _ in 0..10 {
                        let mut scan = reader.scan(&tree, KeyRange::new(from, to), ScanOptions::default()).unwrap();
                        let (mut old, mut own) = (0, 0);
                        while let Some(entry) = scan.next().unwrap() {
                            match entry.value {
                                b"old" => old += 1,
                                b"own" => own += 1,
                                other => panic!("a row of another snapshot: {other:?}"),
                            }
                        }
                        counts.push((old, own));
                    }
                    counts
                })
            })
            .collect();
        let counts: Vec<_> = tasks.into_iter().map(|t| t.join().unwrap()).collect();
        for round in 0..10 {
            let sum = |f: fn(&(u64, u64)) -> u64| counts.iter().map(|c| f(&c[round])).sum::<u64>();
            assert_eq!((sum(|c| c.0), sum(|c| c.1)), (4999, 1));
        }
    });
    t.rollback().unwrap();
    // The reader outlives the transaction: what it may need is still there.
    engine.purge_now().unwrap();
    let everything = KeyRange::new(Cut::Start, Cut::End);
    let mut scan = reader.scan(&tree, everything, ScanOptions::default()).unwrap();
    let mut rows = 0;
    while scan.next().unwrap().is_some() {
        rows += 1;
    }
    assert_eq!(rows, 5000);
    drop((scan, reader));
    engine.purge_now().unwrap();
    assert_eq!(engine.status().history_length, 0);
    assert_eq!(dump(&engine, &tree).len(), 2500);
}

/// A plain read at a snapshot that is older than a tree would miss what the tree's maker found; it is refused, until no
/// such snapshot is left.
#[test]
fn a_tree_is_not_for_older_snapshots() {
    let (_dir, engine, first) = with_tree();
    put(&engine, &first, 1, b"row");
    let mut old = begin(&engine);
    old.consistent_snapshot();
    let reader = old.snapshot_reader().unwrap().unwrap();
    let mut maker = begin(&engine);
    let rows = maker.create_tree(TreeKind::Row).unwrap();
    let index = maker.create_tree(TreeKind::Index).unwrap();
    maker.insert(&rows, &key(1), b"row").unwrap();
    maker.index_insert(&index, b"entry", b"").unwrap();
    let too_new = |e: EngineError| assert!(matches!(e, EngineError::TreeTooNew(_)), "{e}");
    let plain = ReadMode::Snapshot;
    for committed in [false, true] {
        let mut row = RowBuf::new();
        if committed {
            maker.commit().unwrap();
        } else {
            assert_eq!(maker.get(&rows, &key(1), plain, &mut row).unwrap(), Read::Found);
        }
        too_new(old.get(&rows, &key(1), plain, &mut row).unwrap_err());
        for tree in [&rows, &index] {
            too_new(old.scan(tree, KeyRange::ALL, ScanOptions::default()).unwrap_err());
            too_new(reader.scan(tree, KeyRange::ALL, ScanOptions::default()).unwrap_err());
        }
        assert_eq!(old.get(&first, &key(1), plain, &mut row).unwrap(), Read::Found);
        // What reads the newest versions misses nothing.
        let newest = ScanOptions { mode: ReadMode::Newest, ..ScanOptions::default() };
        let mut scan = old.scan(&index, KeyRange::ALL, newest).unwrap();
        assert!(scan.next(&mut old).unwrap().is_some());
    }
    let mut row = RowBuf::new();
    assert_eq!(old.get(&rows, &key(1), ReadMode::FOR_UPDATE, &mut row).unwrap(), Read::Found);
    old.rollback().unwrap();
    // A newer snapshot may read it, which does not make it fit for the older one.
    assert_eq!(get(&engine, &rows, 1).as_deref(), Some(&b"row"[..]));
    too_new(reader.scan(&rows, KeyRange::ALL, ScanOptions::default()).unwrap_err());
    drop(reader);
    engine.purge_now().unwrap();
    assert_eq!(dump(&engine, &rows).len(), 1);
    // A tree that only one session knows is for all of its snapshots.
    let mut old = begin(&engine);
    old.consistent_snapshot();
    let own = create(&engine, TreeKind::Row);
    own.show_to_all();
    assert_eq!(old.get(&own, &key(1), plain, &mut row).unwrap(), Read::Missing);
}

/// Entries of an index, put by [`TreeHandle::insert_run`] in as many runs as it takes: how many those were.
fn put_run(tree: &TreeHandle, t: &mut Txn, names: &[Vec<u8>]) -> usize {
    let entries: Vec<NewEntry<'_>> = names.iter().map(|name| (&name[..], &b"carried"[..])).collect();
    let (mut put, mut runs) = (0, 0);
    while put < entries.len() {
        put += match tree.insert_run(&entries[put..], t).unwrap() {
            0 => t.index_insert(tree, entries[put].0, entries[put].1).map(|()| 1).unwrap(),
            n => n,
        };
        runs += 1;
    }
    runs
}

#[test]
fn index_entries_go_into_many_leaves_at_once() {
    let dir = TempDir::new();
    let engine = open(&dir);
    let tree = create(&engine, TreeKind::Index);
    let name = |n: u64, row: u64| [&key(n)[..], &key(row), &[7; 100]].concat();
    // Each row has 40 of 400 words, which lie in leaves of their own after a while.
    let row = |row: u64| -> Vec<Vec<u8>> { (0..40).map(|i| name(i * 10 + row % 10, row)).collect() };
    let (mut expect, mut runs) = (Vec::new(), 0);
    for n in 0..400 {
        let mut t = begin(&engine);
        runs = put_run(&tree, &mut t, &row(n));
        if n % 3 == 0 {
            t.rollback().unwrap();
        } else {
            t.commit().unwrap();
            expect.extend(row(n));
        }
    }
    assert!(runs < 10, "40 entries went into leaves of their own in {runs} runs");
    // Writers of neighbouring entries meet in leaves.
    std::thread::scope(|s| {
        for task in 0..4 {
            let (engine, tree) = (&engine, &tree);
            s.spawn(move || {
                for n in 0..100 {
                    let mut t = begin(engine);
                    put_run(tree, &mut t, &row(1000 + n * 4 + task));
                    t.commit().unwrap();
                }
            });
        }
    });
    expect.extend((1000..1400).flat_map(row));
    // Under a lock in the tree each goes by itself, and waits.
    let mut reader = begin(&engine);
    let options = ScanOptions { mode: ReadMode::FOR_UPDATE, ..ScanOptions::default() };
    let mut scan = reader.scan(&tree, KeyRange::prefix(&name(0, 0)), options).unwrap();
    assert!(scan.next(&mut reader).unwrap().is_none());
    let mut t = begin(&engine);
    assert_eq!(put_run(&tree, &mut t, &row(2001)), 40);
    t.commit().unwrap();
    expect.extend(row(2001));
    reader.commit().unwrap();
    expect.sort();
    let mut t = begin(&engine);
    let mut scan = t.scan(&tree, KeyRange::ALL, ScanOptions::default()).unwrap();
    let mut got = Vec::new();
    while let Some(entry) = scan.next(&mut t).unwrap() {
        assert_eq!(entry.value, b"carried");
        got.push(entry.key.to_vec());
    }
    assert!(got == expect);
    t.commit().unwrap();
    engine.check_tree(&tree).unwrap();
}
