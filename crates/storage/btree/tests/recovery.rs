//! Redo gives the same bytes; a sweep's LSN is a checkpoint; torn pages are repaired; the log comes first.

mod common;

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Dir, Rng, Store, options, store};
use gannet_base::{Lsn, PageNo};
use gannet_btree::Tree;
use gannet_buffer::testing::{MemoryLog, MemoryRedo, changes};
use gannet_buffer::{PageBytes, Pool, PoolOptions, Priority, Wal, repair};
use gannet_page::{PAGE_SIZE, PageBuf, apply};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Random growth and shrinking of a tree.
fn work(tree: &Tree, model: &mut Model, rng: &mut Rng, steps: usize) {
    for step in 0..steps {
        let mut k = (rng.below(3000) as u16).to_be_bytes().to_vec();
        k.extend(std::iter::repeat_n(b'x', (k[1] as usize % 30).pow(2)));
        if step / (steps / 5).max(1) % 2 == 1 {
            let k = model.range(k.clone()..).next().map_or(k, |(k, _)| k.clone());
            assert_eq!(tree.delete(&k).unwrap(), model.remove(&k).is_some());
        } else {
            let v: Vec<u8> = (0..rng.below(2000)).map(|_| rng.0 as u8).collect();
            tree.put(&k, &v).unwrap();
            model.insert(k, v);
        }
    }
}

fn assert_same(tree: &Tree, model: &Model) {
    let mut entries = model.iter();
    let check =
        tree.check_tree(|k, v| assert_eq!(entries.next().map(|(k, v)| (&k[..], &v[..])), Some((k, v)))).unwrap();
    assert_eq!(check.entries as usize, model.len());
    assert_eq!(check.other_pages, 0);
}

#[test]
fn replaying_the_log_on_blank_pages_gives_the_same_bytes() {
    let s = store(80);
    let mut model = Model::new();
    let mut rng = Rng(1);
    let trees: Vec<_> = (0..3).map(|_| Tree::create(&s.pool).unwrap()).collect();
    work(&trees[0], &mut model, &mut rng, 3000);
    assert_same(&trees[0], &model);
    work(&trees[1], &mut Model::new(), &mut rng, 500);
    trees[1].free(|_| Ok(())).unwrap();
    let chain = trees[2].write_chain(&[5; 40_000], |_, _| Ok(())).unwrap();
    trees[2].write_chain(&[6; 20_000], |_, _| Ok(())).unwrap();
    trees[2].free_chain(chain, |_, _| Ok(())).unwrap();

    let mut pages: HashMap<PageNo, Box<PageBuf>> = HashMap::new();
    for (lsn, payload) in s.log.records() {
        changes(&payload, |no, op| {
            let page = pages.entry(no).or_insert_with(PageBuf::boxed);
            apply(no, &op, page).unwrap();
            page.set_lsn(lsn);
        });
    }
    let gone = trees[1].id().0 / 64;
    let mut compared = 0;
    for (no, page) in pages {
        // The freed tree's frames are thrown away unwritten.
        if no.0 / 64 >= gone && s.pool.load(no, Priority::Scan).is_err() {
            continue;
        }
        let mut live = PageBuf::boxed();
        s.pool
            .read(no, |p| {
                p.copy_page(&mut live);
                Ok(())
            })
            .unwrap();
        assert!(live.0[4..] == page.0[4..], "{no:?} differs");
        compared += 1;
    }
    assert!(compared > 60, "{compared}");
}

/// What a crash leaves: the files as they are and the log. A pool over them with redo from `checkpoint`.
fn reopen(s: Store, frames: u64, checkpoint: Lsn) -> (Store, Arc<MemoryRedo>) {
    let log = s.log.clone();
    // The old pool goes without writing anything; its directory stays.
    let mut s = s;
    let dir = std::mem::replace(&mut s.dir, Dir::new());
    s.pool.stop_cleaner();
    drop(s);
    repair(&dir.0, gannet_base::Lsn::ZERO).unwrap();
    let redo = Arc::new(MemoryRedo::new(&log.records(), checkpoint));
    let tail = log.tail_lsn();
    let log = Arc::new(MemoryLog::starting_at(tail));
    let pool = Pool::open(&options(&dir, frames), log.clone(), Some(redo.clone())).unwrap();
    (Store { pool, log, dir }, redo)
}

#[test]
fn redo_from_nothing_but_the_log() {
    let s = store(4000);
    let tree = Tree::create(&s.pool).unwrap();
    let mut model = Model::new();
    work(&tree, &mut model, &mut Rng(2), 3000);
    let id = tree.id();
    drop(tree);
    let (s, redo) = reopen(s, 64, Lsn::ZERO);
    let tree = Tree::open(s.pool.clone(), id);
    // On first touch, then the rest.
    assert_same(&tree, &model);
    work(&tree, &mut model, &mut Rng(3), 1000);
    for no in redo.pages() {
        // Pages freed before the end may be left: their last change is 'free'.
        s.pool.load(no, Priority::Scan).unwrap();
    }
    assert_eq!(redo.pages(), []);
    s.pool.end_redo();
    assert_same(&tree, &model);
}

/// Writers, the cleaner and the sweeper at the same time; then a crash; redo begins at the least of the sectors' LSNs.
#[test]
fn a_sweep_is_a_checkpoint() {
    for seed in 0..4 {
        let s = store([72, 200, 4000, 100][seed as usize]);
        if seed != 3 {
            s.pool.start_cleaner();
        }
        let trees: Vec<_> = (0..2).map(|_| Tree::create(&s.pool).unwrap()).collect();
        let stop = AtomicBool::new(false);
        let (models, checkpoint) = std::thread::scope(|scope| {
            let sweeper = scope.spawn(|| {
                let mut least = Lsn::ZERO;
                let mut rounds = 0;
                while !stop.load(Ordering::Relaxed) || rounds == 0 {
                    least = s.pool.flush_all().unwrap();
                    rounds += 1;
                }
                least
            });
            let writers: Vec<_> = trees
                .iter()
                .enumerate()
                .map(|(i, tree)| {
                    scope.spawn(move || {
                        let mut model = Model::new();
                        work(tree, &mut model, &mut Rng(seed * 10 + i as u64), 1500);
                        model
                    })
                })
                .collect();
            let models: Vec<_> = writers.into_iter().map(|w| w.join().unwrap()).collect();
            stop.store(true, Ordering::Relaxed);
            (models, sweeper.join().unwrap())
        });
        assert!(checkpoint > Lsn(4096));
        let ids: Vec<_> = trees.iter().map(Tree::id).collect();
        drop(trees);
        let (s, _) = reopen(s, 100, checkpoint);
        for (id, model) in ids.into_iter().zip(&models) {
            assert_same(&Tree::open(s.pool.clone(), id), model);
        }
    }
}

fn file(s: &Store, name: &str) -> std::fs::File {
    std::fs::OpenOptions::new().read(true).write(true).open(s.dir.0.join(name)).unwrap()
}

#[test]
fn torn_pages_are_repaired() {
    let s = store(4000);
    let tree = Tree::create(&s.pool).unwrap();
    let mut model = Model::new();
    work(&tree, &mut model, &mut Rng(5), 1500);
    let checkpoint = s.pool.flush_all().unwrap();
    // Each page that the last batches wrote was torn, lost or turned to garbage while it was written in place.
    let (data, double) = (file(&s, "data.gnt"), file(&s, "double.gnt"));
    let mut copy = PageBuf::boxed();
    let mut torn = 0;
    for i in 0..double.metadata().unwrap().len() / PAGE_SIZE as u64 {
        double.read_exact_at(&mut copy.0, i * PAGE_SIZE as u64).unwrap();
        if copy.type_byte() != 0 {
            let at = copy.page_no().0 * PAGE_SIZE as u64;
            match i % 3 {
                0 => data.write_all_at(&[0; PAGE_SIZE - 4096], at + 4096).unwrap(),
                1 => data.write_all_at(&[0; PAGE_SIZE], at).unwrap(),
                _ => data.write_all_at(&[0xee; 512], at + 512).unwrap(),
            }
            torn += 1;
        }
    }
    assert!(torn >= 5, "{torn}");
    let id = tree.id();
    drop(tree);
    let (s, _) = reopen(s, 64, checkpoint);
    assert_same(&Tree::open(s.pool.clone(), id), &model);
    drop(s);
}

#[test]
fn a_damaged_page_concerns_its_tree_only() {
    let s = store(4000);
    let trees: Vec<_> = (0..2).map(|_| Tree::create(&s.pool).unwrap()).collect();
    let mut models = [Model::new(), Model::new()];
    work(&trees[0], &mut models[0], &mut Rng(6), 800);
    work(&trees[1], &mut models[1], &mut Rng(7), 800);
    s.pool.flush_all().unwrap();
    let damaged = s.pool.space().pages_of(trees[0].id())[1];
    file(&s, "data.gnt").write_all_at(b"!", damaged.0 * PAGE_SIZE as u64 + 5000).unwrap();
    std::fs::remove_file(s.dir.0.join("double.gnt")).unwrap();
    let ids: Vec<_> = trees.iter().map(Tree::id).collect();
    drop(trees);
    let (s, _) = reopen(s, 64, Lsn::MAX);
    match Tree::open(s.pool.clone(), ids[0]).check_tree(|_, _| ()) {
        Err(gannet_buffer::Error::Page(e)) => {
            assert_eq!((e.page, &*e.what), (damaged, "page checksum does not match"));
            assert!(e.lsn > Lsn::ZERO);
        }
        other => panic!("{other:?}"),
    }
    assert_same(&Tree::open(s.pool.clone(), ids[1]), &models[1]);
}

#[test]
fn the_log_is_durable_before_the_page() {
    let s = store(64);
    s.pool.start_cleaner();
    let tree = Tree::create(&s.pool).unwrap();
    let mut model = Model::new();
    work(&tree, &mut model, &mut Rng(8), 2500);
    s.pool.flush_all().unwrap();
    work(&tree, &mut model, &mut Rng(9), 300);
    s.pool.stop_cleaner();
    let durable = s.log.durable_lsn();
    let data = file(&s, "data.gnt");
    let mut page = PageBuf::boxed();
    let mut seen = 0;
    for no in 0..s.pool.status().file_pages {
        data.read_exact_at(&mut page.0, no * PAGE_SIZE as u64).unwrap();
        page.verify(PageNo(no)).unwrap();
        assert!(page.lsn() <= durable);
        seen += !page.is_blank() as u32;
    }
    assert!(seen > 50);
}

#[test]
fn a_freed_tree_gives_its_space_back() {
    let s = store(4000);
    let keep = Tree::create(&s.pool).unwrap();
    for round in 0..6 {
        let tree = Tree::create(&s.pool).unwrap();
        for i in 0..3000u64 {
            tree.put(&i.to_be_bytes(), &[7; 1000]).unwrap();
        }
        assert!(s.pool.space().tree_pages(tree.id()).used > 150);
        let id = tree.id();
        tree.free(|_| Ok(())).unwrap();
        assert_eq!(s.pool.space().tree_pages(id).used, 0);
        s.log.wait_durable(s.log.tail_lsn()).unwrap();
        s.pool.give_back();
        assert!(s.pool.status().file_pages < 64 * 40, "round {round}: the file grows");
    }
    assert_eq!(s.pool.space().tree_pages(keep.id()).used, 1);
    let before = s.pool.status();
    s.pool.flush_all().unwrap();
    let id = keep.id();
    drop(keep);
    let (s, _) = reopen(s, 64, Lsn::MAX);
    assert_eq!(s.pool.status().file_free_pages, before.file_free_pages);
    Tree::open(s.pool.clone(), id).check_tree(|_, _| ()).unwrap();
}

#[test]
fn the_file_has_a_greatest_size() {
    let dir = Dir::new();
    let log = Arc::new(MemoryLog::new());
    let small = PoolOptions { max_data_bytes: 8 << 20, ..options(&dir, 64) };
    let pool = Pool::open(&small, log.clone(), None).unwrap();
    let tree = Tree::create(&pool).unwrap();
    let full = (0..10_000u64).find_map(|i| tree.put(&i.to_be_bytes(), &[1; 4000]).err());
    assert!(matches!(full, Some(gannet_buffer::Error::Full)), "{full:?}");
    tree.check_tree(|_, _| ()).unwrap();
    // Deleting needs no space.
    for i in 0..500u64 {
        assert!(tree.delete(&i.to_be_bytes()).unwrap());
    }
    tree.put(b"again", &[1; 4000]).unwrap();
    tree.check_tree(|_, _| ()).unwrap();
}

#[test]
fn chains_of_overflow_pages() {
    let s = store(64);
    let tree = Tree::create(&s.pool).unwrap();
    for len in [1usize, 16335, 16336, 16337, 100_000, 1_000_000] {
        let bytes: Vec<u8> = (0..len).map(|i| (i / 7) as u8).collect();
        let mut firsts = Vec::new();
        let first = tree
            .write_chain(&bytes, |_, no| {
                firsts.push(no);
                Ok(())
            })
            .unwrap();
        assert_eq!(firsts.last(), Some(&first));
        let mut out = vec![9];
        tree.read_chain(first, len, &mut out).unwrap();
        assert!(out[1..] == bytes);
        out.clear();
        tree.read_chain(first, len.min(100), &mut out).unwrap();
        assert!(out == bytes[..len.min(100)]);
        assert_eq!(tree.check_tree(|_, _| ()).unwrap().other_pages as usize, len.div_ceil(16336));
        let mut steps = 0;
        tree.free_chain(first, |_, _| {
            steps += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(steps, len.div_ceil(16336));
        assert_eq!(tree.check_tree(|_, _| ()).unwrap().other_pages, 0);
    }
}

#[test]
fn a_scan_reads_ahead_and_does_not_displace_what_is_in_use() {
    let s = store(4000);
    let tree = Tree::create(&s.pool).unwrap();
    for i in 0..30_000u64 {
        tree.put(&i.to_be_bytes(), &[1; 400]).unwrap();
    }
    let hot = Tree::create(&s.pool).unwrap();
    for i in 0..1000u64 {
        hot.put(&i.to_be_bytes(), &[2; 400]).unwrap();
    }
    let checkpoint = s.pool.flush_all().unwrap();
    let (id, hot) = (tree.id(), hot.id());
    drop(tree);
    let (s, _) = reopen(s, 200, checkpoint);
    s.pool.start_cleaner();
    let (tree, hot) = (Tree::open(s.pool.clone(), id), Tree::open(s.pool.clone(), hot));
    let reads = || gannet_telemetry::total(gannet_telemetry::Counter::InnodbBufferPoolReadAhead);
    let before = reads();
    let mut out = Vec::new();
    let touch = |out: &mut Vec<u8>| (0..1000u64).all(|i| hot.lookup(&i.to_be_bytes(), out).unwrap());
    assert!(touch(&mut out));
    let hot_pages = s.pool.space().pages_of(hot.id());
    for backward in [false, true] {
        let mut cursor = tree.cursor();
        cursor.set_scan(true);
        cursor.set_range(None, None);
        let mut rows = 0u64;
        while if backward { cursor.prev() } else { cursor.next() }.unwrap() {
            let expect = if backward { 29_999 - rows } else { rows };
            assert_eq!(cursor.key(), expect.to_be_bytes());
            rows += 1;
            if rows.is_multiple_of(500) {
                assert!(touch(&mut out));
                out.clear();
            }
        }
        assert_eq!(rows, 30_000);
    }
    assert!(reads() - before > 1000, "{}", reads() - before);
    assert!(hot_pages.iter().all(|no| s.pool.is_resident(*no)), "the scan displaced pages in use");
}

/// Pages that are whole, and in the wrong place.
#[test]
fn a_check_finds_nodes_that_do_not_fit() {
    // What is written over a leaf: another leaf but for the number; another tree's number; another level.
    type Damage = fn(leaf: &mut PageBuf, other: &PageBuf);
    let damages: [(Damage, &str); 3] = [
        (
            |leaf, other| {
                leaf.0[24..].copy_from_slice(&other.0[24..]);
            },
            "key is outside of the node's bounds",
        ),
        (|leaf, _| leaf.0[24] ^= 1, "node belongs to another tree or level than its parent says"),
        (|leaf, _| leaf.0[32] ^= 1, "inner entry is not a child"),
    ];
    for (damage, wanted) in damages {
        let s = store(4000);
        let tree = Tree::create(&s.pool).unwrap();
        (0..400_u32).for_each(|n| assert!(!tree.put(&n.to_be_bytes(), &[7; 200]).unwrap()));
        s.pool.flush_all().unwrap();
        let data = file(&s, "data.gnt");
        let at = |no: &PageNo| no.0 * PAGE_SIZE as u64;
        let read = |no: &PageNo| {
            let mut page = PageBuf::boxed();
            data.read_exact_at(&mut page.0, at(no)).unwrap();
            page
        };
        let nodes = s.pool.space().pages_of(tree.id());
        let leaves: Vec<&PageNo> = nodes.iter().filter(|no| gannet_page::Node(&*read(no)).level() == 0).collect();
        let (mut page, other) = (read(leaves[1]), read(leaves[2]));
        damage(&mut page, &other);
        page.seal();
        data.write_all_at(&page.0, at(leaves[1])).unwrap();
        std::fs::remove_file(s.dir.0.join("double.gnt")).unwrap();
        let (id, damaged) = (tree.id(), *leaves[1]);
        drop(tree);
        let (s, _) = reopen(s, 64, Lsn::MAX);
        match Tree::open(s.pool.clone(), id).check_tree(|_, _| ()) {
            Err(gannet_buffer::Error::Page(e)) => assert_eq!((e.page, &*e.what), (damaged, wanted)),
            other => panic!("{wanted}: {other:?}"),
        }
    }
}
