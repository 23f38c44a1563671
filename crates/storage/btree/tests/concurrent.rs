//! Many tasks on one tree: writers with keys of their own, readers and scanners over all of them, eviction and sweeps.

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Rng, Store, store};
use gannet_btree::Tree;
use gannet_buffer::resize::{self, ResizeStage};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A key of writer `who`: the writers' keys are mixed throughout the tree.
fn key(rng: &mut Rng, who: u64, keys: u64) -> Vec<u8> {
    let n = rng.below(keys);
    let mut k = format!("{:06}", n * 7919 % keys).into_bytes();
    k.push(who as u8);
    k.extend(std::iter::repeat_n(b'.', (n % 5) as usize * 20));
    k
}

/// A value says which key it belongs to.
fn value(rng: &mut Rng, key: &[u8]) -> Vec<u8> {
    let mut v = key.to_vec();
    v.extend(std::iter::repeat_n(rng.0 as u8, rng.below(300) as usize));
    v
}

fn write(tree: &Tree, seed: u64, who: u64, keys: u64, steps: usize) -> Model {
    let mut rng = Rng(seed);
    let mut model = Model::new();
    let mut out = Vec::new();
    for step in 0..steps {
        let k = key(&mut rng, who, keys);
        if step / (steps / 5).max(1) % 2 == 1 {
            let k = model.range(k.clone()..).next().map_or(k.clone(), |(k, _)| k.clone());
            assert_eq!(tree.delete(&k).unwrap(), model.remove(&k).is_some());
        } else {
            let v = value(&mut rng, &k);
            assert_eq!(tree.put(&k, &v).unwrap(), model.insert(k.clone(), v).is_some());
        }
        out.clear();
        assert_eq!(tree.lookup(&k, &mut out).unwrap().then_some(&out), model.get(&k), "own write is not seen");
    }
    model
}

fn check_entry(k: &[u8], v: &[u8]) {
    assert!(v.starts_with(k), "a value of another key: {k:?} {v:?}");
}

fn read(tree: &Tree, seed: u64, writers: u64, keys: u64, stop: impl Fn(u64) -> bool) {
    let mut rng = Rng(seed);
    let mut cursor = tree.cursor();
    let mut out = Vec::new();
    let mut round = 0;
    while !stop(round) {
        round += 1;
        let who = rng.below(writers);
        let k = key(&mut rng, who, keys);
        match rng.below(4) {
            0 => {
                cursor.set_range(Some(&k), None);
                let mut before = k;
                for _ in 0..rng.below(200) {
                    if !cursor.next().unwrap() {
                        break;
                    }
                    assert!(cursor.key() >= &before[..], "a scan goes back");
                    check_entry(cursor.key(), cursor.value());
                    before = cursor.key().to_vec();
                }
            }
            1 => {
                cursor.set_range(None, Some(&k));
                let mut after = k;
                for _ in 0..rng.below(200) {
                    if !cursor.prev().unwrap() {
                        break;
                    }
                    assert!(cursor.key() < &after[..], "a backward scan goes forward");
                    check_entry(cursor.key(), cursor.value());
                    after = cursor.key().to_vec();
                }
            }
            _ => {
                out.clear();
                if tree.lookup(&k, &mut out).unwrap() {
                    check_entry(&k, &out);
                }
            }
        }
    }
}

fn finish(s: &Store, tree: &Tree, models: Vec<Model>) {
    let model: Model = models.into_iter().flatten().collect();
    let mut entries = model.iter();
    let check =
        tree.check_tree(|k, v| assert_eq!(entries.next().map(|(k, v)| (&k[..], &v[..])), Some((k, v)))).unwrap();
    assert_eq!((check.entries as usize, check.other_pages), (model.len(), 0));
    s.pool.flush_all().unwrap();
    assert_eq!(s.pool.status().pages_dirty, 0);
}

/// Sizes far apart, so that pages move, sectors are appended and memory is given back.
fn keep_resizing(s: &Store, stop: &AtomicBool) {
    for frames in [4000, 64, 200, 8000, 300, 64].into_iter().cycle() {
        assert!(resize::resize(&s.pool, frames * 16384));
        while resize::resized(&s.pool).stage != ResizeStage::Done {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(s.pool.status().pages_total, frames);
    }
}

#[test]
fn threads() {
    for (frames, keys, resizes) in [(64, 3000, false), (4000, 3000, false), (200, 100, false), (64, 3000, true)] {
        let s = store(frames);
        s.pool.start_cleaner();
        let tree = Tree::create(&s.pool).unwrap();
        let stop = AtomicBool::new(false);
        let writers = 3;
        let models = std::thread::scope(|scope| {
            let stop = &stop;
            let readers: Vec<_> = (0..2)
                .map(|i| {
                    let tree = &tree;
                    scope.spawn(move || read(tree, 100 + i, writers, keys, |_| stop.load(Ordering::Relaxed)))
                })
                .collect();
            let sweeper = scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    s.pool.flush_all().unwrap();
                    tree.estimate_rows(Some(b"000100"), Some(b"000900")).unwrap();
                }
            });
            let resizer = resizes.then(|| scope.spawn(|| keep_resizing(&s, stop)));
            let writers: Vec<_> = (0..writers)
                .map(|i| {
                    let tree = &tree;
                    scope.spawn(move || write(tree, i, i, keys, 3000))
                })
                .collect();
            let models: Vec<_> = writers.into_iter().map(|w| w.join().unwrap()).collect();
            stop.store(true, Ordering::Relaxed);
            readers.into_iter().for_each(|r| r.join().unwrap());
            sweeper.join().unwrap();
            resizer.into_iter().for_each(|r| r.join().unwrap());
            models
        });
        finish(&s, &tree, models);
    }
}

/// A check finds nothing amiss in a tree that others split and merge.
#[test]
fn a_check_beside_writers() {
    let s = store(4000);
    let tree = Tree::create(&s.pool).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for who in 0..3 {
            let (tree, stop) = (&tree, &stop);
            scope.spawn(move || {
                // From here and there leaves grow, split, become empty and merge.
                while !stop.load(Ordering::Relaxed) {
                    for range in 0..8_u64 {
                        let key = |n: u64| format!("{:04}{:06}{who}", range * 7 % 8, n);
                        for n in 0..400 {
                            tree.put(key(n).as_bytes(), &[b'v'; 200]).unwrap();
                        }
                        for n in 0..400 {
                            tree.delete(key(n).as_bytes()).unwrap();
                        }
                    }
                }
            });
        }
        let _stops = Stops(&stop);
        for _ in 0..300 {
            let mut before = Vec::new();
            tree.check_tree(|key, _| {
                assert!(key > &before[..], "keys come in order, once");
                before = key.to_vec();
            })
            .unwrap();
        }
    });
    finish(&s, &tree, Vec::new());
}

/// The threads end, when the test fails, too.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
