//! The tree against `BTreeMap`: random operations, many shapes of keys, a pool smaller than the data.

mod common;

use std::collections::BTreeMap;

use common::{Rng, store};
use gannet_btree::{APPROACHED, Builder, Leaf, MAX_ENTRY, MAX_KEY, Place, Spot, Tree, approach_leaves};
use gannet_buffer::Error;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn compare(tree: &Tree, model: &Model) {
    let mut entries = Vec::new();
    let check = tree.check_tree(|k, v| entries.push((k.to_vec(), v.to_vec()))).unwrap();
    assert_eq!(check.entries as usize, model.len());
    assert!(entries.iter().zip(model).all(|((k, v), (mk, mv))| k == mk && v == mv));
    assert_eq!(check.other_pages, 0, "pages leaked");
    let mut cursor = tree.cursor();
    cursor.set_range(None, None);
    for (k, v) in model {
        assert!(cursor.next().unwrap());
        assert_eq!((cursor.key(), cursor.value()), (&k[..], &v[..]));
    }
    assert!(!cursor.next().unwrap());
    cursor.set_range(None, None);
    for (k, v) in model.iter().rev() {
        assert!(cursor.prev().unwrap());
        assert_eq!((cursor.key(), cursor.value()), (&k[..], &v[..]));
    }
    assert!(!cursor.prev().unwrap());
}

fn range_compare(tree: &Tree, model: &Model, a: &[u8], b: &[u8]) {
    let (a, b) = (a.min(b), a.max(b));
    let mut cursor = tree.cursor();
    cursor.set_range(Some(a), Some(b));
    let expect: Vec<_> = model.range(a.to_vec()..b.to_vec()).collect();
    for (k, v) in expect.iter().take(50) {
        assert!(cursor.next().unwrap());
        assert_eq!((cursor.key(), cursor.value()), (&k[..], &v[..]));
    }
    // Turn round in the middle.
    if expect.len() > 2 {
        for (k, _) in expect.iter().take(50).rev().skip(1) {
            assert!(cursor.prev().unwrap());
            assert_eq!(cursor.key(), &k[..]);
        }
        assert!(!cursor.prev().unwrap());
    }
    cursor.set_range(Some(a), Some(b));
    for (k, v) in expect.iter().rev().take(50) {
        assert!(cursor.prev().unwrap());
        assert_eq!((cursor.key(), cursor.value()), (&k[..], &v[..]));
    }
}

/// As `Tree::put`, with a spot. Returns whether the key was there.
fn put_at(tree: &Tree, key: &[u8], value: &[u8], spot: Spot) -> bool {
    let pool = tree.pool();
    pool.run(|| {
        let mut mtr = pool.mtr()?;
        let leaf = Leaf::at_spot(tree, &mut mtr, key, value.len(), spot)?;
        match leaf.found() {
            true => leaf.replace(&mut mtr, value),
            false => leaf.insert(&mut mtr, key, value),
        }
        mtr.commit();
        Ok(leaf.found())
    })
    .unwrap()
}

#[test]
fn an_entry_is_changed_where_it_was_found_if_it_is_there_still() {
    let s = store(64);
    let tree = Tree::create(&s.pool).unwrap();
    let key = |i: u32| i.to_be_bytes();
    (0..2000).for_each(|i| assert!(!tree.put(&key(i), &[1; 40]).unwrap()));
    let (mut spot, mut out) = (Spot::default(), Vec::new());
    assert!(spot.lookup(&tree, &key(700), &mut out).unwrap());
    let again = spot;
    assert!(put_at(&tree, &key(700), &[2; 40], spot));
    // Its page has changed since, and other keys are not there: all is found by a descent.
    for (i, spot) in [(700, again), (701, spot), (1500, spot), (700, Spot::default())] {
        assert!(put_at(&tree, &key(i), &[3; 60], spot));
    }
    assert!(!put_at(&tree, &key(5000), &[4; 10], spot));
    // It leaves its page.
    assert!(spot.lookup(&tree, &key(900), &mut out).unwrap());
    (10_000..10_400).for_each(|i: u32| assert!(!tree.put(&[&key(899)[..], &key(i)].concat(), &[5; 40]).unwrap()));
    assert!(put_at(&tree, &key(900), &[6; 41], spot));
    // It goes, and another one has its place.
    assert!(spot.lookup(&tree, &key(300), &mut out).unwrap());
    assert!(tree.delete(&key(300)).unwrap());
    assert!(!put_at(&tree, &key(300), &[7; 9], spot));
    for (i, len, byte) in [(700, 60, 3), (701, 60, 3), (900, 41, 6), (300, 9, 7), (301, 40, 1), (5000, 10, 4)] {
        out.clear();
        assert!(tree.lookup(&key(i), &mut out).unwrap());
        assert_eq!(out, vec![byte; len], "{i}");
    }
    assert!(!spot.lookup(&tree, &key(6000), &mut out).unwrap());
    assert!(!put_at(&tree, &key(6000), b"x", spot));
    tree.check_tree(|_, _| ()).unwrap();
}

#[test]
fn a_place_strays_where_lookups_go_to_other_leaves() {
    let s = store(64);
    let tree = Tree::create(&s.pool).unwrap();
    let key = |i: u32| i.to_be_bytes();
    (0..2000).for_each(|i| assert!(!tree.put(&key(i), &[1; 40]).unwrap()));
    let (mut place, mut out) = (Place::new(), Vec::new());
    (0..20).for_each(|i| assert!(tree.lookup_near(&key(i), &mut place, &mut out).unwrap()));
    assert!(!place.strays());
    (0..20).for_each(|i| assert!(tree.lookup_near(&key(i * 700 % 2000), &mut place, &mut out).unwrap()));
    assert!(place.strays());
}

/// Random operations with keys from `key` and values up to `value_max` bytes.
fn run(seed: u64, frames: u64, steps: usize, value_max: u64, mut key: impl FnMut(&mut Rng) -> Vec<u8>) {
    let s = store(frames);
    let tree = Tree::create(&s.pool).unwrap();
    let mut model = Model::new();
    let mut rng = Rng(seed);
    let mut out = Vec::new();
    let mut spot = Spot::default();
    for step in 0..steps {
        let k = key(&mut rng);
        // Phases of growth and of shrinking.
        let shrinking = step / (steps / 4).max(1) % 2 == 1;
        match rng.below(10) {
            0..5 if !shrinking => {
                let len = rng.below(value_max + 1).min((MAX_ENTRY - k.len()) as u64) as usize;
                let v: Vec<u8> = (0..len).map(|i| (rng.0 as usize + i / 3) as u8).collect();
                assert_eq!(tree.put(&k, &v).unwrap(), model.insert(k, v).is_some());
            }
            0..7 => {
                // A key that is there, mostly.
                let k = model.range(k.clone()..).next().map_or(k, |(k, _)| k.clone());
                assert_eq!(tree.delete(&k).unwrap(), model.remove(&k).is_some());
            }
            7 => {
                if let Some((k, v)) = model.range_mut(k..).next() {
                    for _ in 0..rng.below(3) {
                        let i = rng.below(v.len().max(1) as u64) as usize;
                        if let Some(b) = v.get_mut(i) {
                            *b ^= 0x55;
                        }
                    }
                    match rng.below(3) {
                        0 => assert!(tree.put(k, v).unwrap()),
                        // Where it was found now, or where another one was a while ago.
                        now => {
                            out.clear();
                            if now == 1 {
                                assert!(spot.lookup(&tree, k, &mut out).unwrap());
                            }
                            assert!(put_at(&tree, k, v, spot));
                        }
                    }
                } else {
                    assert!(!spot.lookup(&tree, b"zzzz", &mut out).unwrap() || model.contains_key(&b"zzzz"[..]));
                }
            }
            8 => range_compare(&tree, &model, &k, &key(&mut rng)),
            _ => {
                out.clear();
                // Whatever is asked of memory beforehand changes nothing.
                let others: Vec<_> = (0..rng.below(20)).map(|_| key(&mut rng)).collect();
                let others: Vec<_> = others.iter().map(|k| &k[..]).take(APPROACHED).collect();
                approach_leaves(&tree, &others);
                let found = tree.lookup(&k, &mut out).unwrap();
                assert_eq!(found.then_some(&out), model.get(&k));
                assert_eq!(tree.contains(&k).unwrap(), found);
            }
        }
        if step % (steps / 5).max(1) == 0 {
            compare(&tree, &model);
        }
    }
    compare(&tree, &model);
    let keys: Vec<_> = model.keys().cloned().collect();
    for k in keys {
        assert!(tree.delete(&k).unwrap());
    }
    compare(&tree, &Model::new());
    let stats = tree.stats().unwrap();
    // Separators of half a page cannot always be moved to where an empty leaf would find a neighbour.
    let long_keys = value_max >= 900;
    assert!((stats.height, stats.pages) == (1, 1) || (long_keys && stats.pages < 100), "empty, but {stats:?}");
}

#[test]
fn short_keys() {
    run(1, 64, 20_000, 60, |r| (r.below(6000) as u32).to_be_bytes().to_vec());
}

#[test]
fn tiny_and_empty_keys() {
    run(2, 64, 12_000, 300, |r| (0..r.below(4)).map(|_| r.below(3) as u8 * 100).collect());
}

#[test]
fn long_common_prefixes() {
    run(3, 64, 6_000, 200, |r| {
        let n = 1 << r.below(11);
        let mut k = vec![b'p'; n];
        k.extend_from_slice(&(r.below(300) as u16).to_be_bytes());
        k
    });
}

#[test]
fn keys_of_every_length_up_to_the_longest() {
    run(4, 96, 3_000, 7000, |r| {
        let fill = [0u8, 7, 255][r.below(3) as usize];
        let len = r.below(MAX_KEY as u64 + 1) as usize;
        let mut k = vec![fill; len];
        for _ in 0..2 {
            let at = r.below(len.max(1) as u64) as usize;
            if let Some(b) = k.get_mut(at) {
                *b = r.below(4) as u8;
            }
        }
        k
    });
}

#[test]
fn longest_keys_differing_at_the_end() {
    run(5, 96, 1_500, 900, |r| {
        let mut k = vec![(r.below(3) as u8) * 90; MAX_KEY - 2];
        k.extend_from_slice(&(r.below(200) as u16).to_be_bytes());
        k
    });
}

#[test]
fn random_words() {
    run(6, 64, 15_000, 500, |r| {
        let n = r.below(24);
        (0..n).map(|_| b'a' + r.below(26) as u8).collect()
    });
}

fn fill_of(order: impl Iterator<Item = u64>) -> f64 {
    let s = store(4096);
    let tree = Tree::create(&s.pool).unwrap();
    let mut bytes = 0usize;
    for i in order {
        tree.put(&i.to_be_bytes(), &[i as u8; 100]).unwrap();
        bytes += 100 + 8 + 2 + 8;
    }
    let check = tree.check_tree(|_, _| ()).unwrap();
    bytes as f64 / (check.leaves as f64 * 16320.0)
}

#[test]
fn ordered_inserts_fill_pages() {
    let n = 20_000;
    assert!(fill_of(0..n) > 0.95, "ascending");
    assert!(fill_of((0..n).rev()) > 0.95, "descending");
    // Ascending runs within groups, as of order lines within districts.
    let fill = fill_of((0..n).map(|i| (i % 10) << 32 | (i / 10)));
    assert!(fill > 0.85, "interleaved runs: {fill}");
    let mut rng = Rng(9);
    assert!(fill_of((0..n).map(|_| rng.next())) > 0.62, "random");
}

#[test]
fn estimates_are_near() {
    let s = store(4096);
    let tree = Tree::create(&s.pool).unwrap();
    let n = 50_000u64;
    for i in 0..n {
        tree.put(&i.to_be_bytes(), &[1; 40]).unwrap();
    }
    // Three levels, the last branch nearly empty.
    let deep = Tree::create(&s.pool).unwrap();
    for i in 0..40_000u64 {
        deep.put(&[&i.to_be_bytes()[..], &[b'k'; 200]].concat(), &[1; 200]).unwrap();
    }
    let stats = deep.stats().unwrap();
    assert!(stats.height >= 3 && (stats.rows - 40_000.0).abs() < 4000.0, "{stats:?}");
    let est = |a: u64, b: u64| tree.estimate_rows(Some(&a.to_be_bytes()), Some(&b.to_be_bytes())).unwrap();
    assert_eq!(est(5, 15).rows, 10.0);
    assert!(est(5, 15).exact);
    for (a, b) in [(0, 1000), (30_000, n - 10), (100, 40_000), (0, n), (20_000, 20_500)] {
        let rows = est(a, b).rows;
        let real = (b - a) as f64;
        assert!((rows - real).abs() / real < 0.1, "{a}..{b}: {rows}");
    }
    let stats = tree.stats().unwrap();
    assert!((stats.rows - n as f64).abs() / (n as f64) < 0.1, "{stats:?}");
    let check = tree.check_tree(|_, _| ()).unwrap();
    assert!((stats.leaf_pages - check.leaves as f64).abs() <= 2.0, "{stats:?} {check:?}");
    assert_eq!(stats.pages, check.nodes);
}

#[test]
fn too_long_is_refused() {
    let s = store(64);
    let tree = Tree::create(&s.pool).unwrap();
    let refused = |key: &[u8], value: &[u8]| matches!(tree.put(key, value), Err(Error::TooLong { bytes }) if bytes == key.len() + value.len());
    assert!(refused(&vec![1; MAX_KEY + 1], b"") && refused(b"k", &vec![1; MAX_ENTRY]));
    tree.put(b"k", &vec![1; MAX_ENTRY - 1]).unwrap();
    tree.put(b"l", &vec![1; MAX_ENTRY - 1]).unwrap();
    assert_eq!(tree.check_tree(|_, _| ()).unwrap().entries, 2);
}

/// Builds a tree from `n` sorted keys of a shape, and changes it afterwards as any other.
fn build(seed: u64, n: usize, value_max: u64, mut key: impl FnMut(&mut Rng) -> Vec<u8>) {
    let s = store(128);
    let (mut rng, mut model) = (Rng(seed), Model::new());
    while model.len() < n {
        let k = key(&mut rng);
        let len = rng.below(value_max + 1).min((MAX_ENTRY - k.len()) as u64) as usize;
        model.insert(k, vec![rng.0 as u8; len]);
    }
    let tree = Tree::create(&s.pool).unwrap();
    let mut builder = Builder::new(&tree);
    for (k, v) in &model {
        assert!(builder.push(k, v).unwrap());
        assert!(!builder.push(k, v).unwrap(), "a key that is there already is not taken");
    }
    assert!(tree.cursor_is_empty(), "nothing leads to what is not finished");
    assert_eq!(builder.finish().unwrap(), n as u64);
    compare(&tree, &model);
    for _ in 0..500 {
        let k = key(&mut rng);
        if rng.below(2) == 0 {
            assert_eq!(tree.put(&k, &[1, 2, 3]).unwrap(), model.insert(k, vec![1, 2, 3]).is_some());
        } else {
            let k = model.range(k.clone()..).next().map_or(k, |(k, _)| k.clone());
            assert_eq!(tree.delete(&k).unwrap(), model.remove(&k).is_some());
        }
    }
    compare(&tree, &model);
    // What is given up gives its extents back, and its chains are found by no one.
    let (before, doomed) = (s.pool.space().usage(tree.id()), Tree::create(&s.pool).unwrap());
    let mut builder = Builder::new(&doomed);
    for (k, v) in &model {
        assert!(builder.push(k, v).unwrap());
    }
    drop(builder);
    doomed.free(|_| Ok(())).unwrap();
    assert_eq!(s.pool.space().usage(tree.id()).named, before.named);
    assert_eq!(s.pool.space().owners().iter().filter(|o| **o == doomed.id()).count(), 0);
}

trait IsEmpty {
    fn cursor_is_empty(&self) -> bool;
}

impl IsEmpty for Tree {
    fn cursor_is_empty(&self) -> bool {
        let mut cursor = self.cursor();
        cursor.set_range(None, None);
        !cursor.next().unwrap()
    }
}

#[test]
fn built_trees_are_trees() {
    for n in [0, 1, 2, 300, 3_000, 40_000] {
        build(n as u64, n, 20, |rng| rng.below(1 << 40).to_be_bytes().to_vec());
    }
    // Long common prefixes that change in the middle of a leaf.
    build(11, 5_000, 300, |rng| {
        let mut key = vec![b'a' + rng.below(2) as u8; 40 + 400 * rng.below(2) as usize];
        key.extend_from_slice(&rng.below(100_000).to_be_bytes());
        key
    });
    build(12, 3_000, 40, |rng| {
        let len = rng.below(60) as usize;
        (0..len).map(|_| b'a' + rng.below(2) as u8).collect()
    });
    // Two entries a leaf, and two children an inner node.
    build(13, 150, 8000, |rng| vec![rng.below(250) as u8; MAX_KEY - rng.below(9) as usize]);
    build(14, 400, 100, |rng| {
        let mut key = vec![7; MAX_KEY - 8];
        key.extend_from_slice(&rng.below(100_000).to_be_bytes());
        key
    });
}

#[test]
fn built_chains_are_read() {
    let s = store(128);
    let tree = Tree::create(&s.pool).unwrap();
    let mut builder = Builder::new(&tree);
    let value = |i: u32| vec![i as u8; 10 + (i as usize * 7919) % 70_000];
    let mut firsts = Vec::new();
    for i in 0..100_u32 {
        let first = builder.chain(&value(i)).unwrap();
        assert!(builder.push(&i.to_be_bytes(), &first.0.to_le_bytes()).unwrap());
        firsts.push(first);
    }
    builder.finish().unwrap();
    for (i, first) in firsts.into_iter().enumerate() {
        let mut out = Vec::new();
        tree.read_chain(first, usize::MAX >> 1, &mut out).unwrap();
        assert!(out == value(i as u32));
    }
    tree.check_tree(|_, _| ()).unwrap();
}
