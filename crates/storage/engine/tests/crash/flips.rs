//! Bits flipped on a copy of the disk: what can be read is what it was, what cannot fails with an error that names the
//! damaged page, and damage in one tree leaves the others alone.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use gannet_engine::*;
use gannet_runtime::sim::{Sim, SimDisk};

use crate::common::rng;

const PAGE: usize = 16384;
const DATA: &str = "/store/data.gnt";
const CONTROL: &str = "/store/control";
/// Bytes of a slot of the control file, and those of it that say something.
const SLOT: usize = 4096;
const CHECKED: usize = 128;

/// What came of it.
#[derive(Default)]
pub struct Flips {
    stores: u64,
    refused: u64,
    purged: u64,
    trees_whole: u64,
    trees_failed: u64,
    scrubbed: u64,
    /// Trees refused once the scrubber had found a page of theirs.
    barred: u64,
    controls: u64,
    controls_refused: u64,
}

impl std::fmt::Display for Flips {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Flips { stores, refused, purged, trees_whole, trees_failed, scrubbed, barred, controls, controls_refused } =
            self;
        write!(
            f,
            "bits flipped in {stores} stores: {refused} refused, {purged} purged, {trees_failed} trees failed, {trees_whole} read whole, \
             {scrubbed} pages found by the scrubber, {barred} trees refused for that; in {controls} control files, \
             {controls_refused} refused"
        )
    }
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;
/// What the trees hold, what purge says, what the scrubber finds, and what the trees hold then.
struct Seen {
    trees: Vec<(TreeId, Result<Rows>)>,
    purged: Result<u64>,
    scrubbed: Option<Vec<Damage>>,
    then: Vec<Result<Rows>>,
}
type Outcome = Result<Seen>;

/// Opens the store and reads the trees; then, where `write` is given, writes into that one.
fn read(disk: &SimDisk, seed: u64, trees: &[TreeId], write: Option<TreeId>) -> Outcome {
    let trees = trees.to_vec();
    let out: Rc<RefCell<Option<Outcome>>> = Rc::default();
    let o = out.clone();
    Sim::new(seed).disk(disk).max_steps(20_000_000).run_outcome(move || {
        let engine = match Engine::open(EngineOptions {
            buffer_pool_bytes: 4 << 20,
            redo_capacity_bytes: 8 << 20,
            max_data_bytes: 256 << 20,
            ..EngineOptions::new("/store")
        }) {
            Ok(engine) => engine,
            Err(e) => {
                *o.borrow_mut() = Some(Err(e));
                return;
            }
        };
        let mut all = Vec::new();
        for &id in &trees {
            all.push((id, scan(&engine, id)));
        }
        if let Some(id) = write {
            let tree = engine.tree(id).expect("the tree");
            let mut t = engine.begin(TxnOptions::default());
            t.insert(&tree, b"\xff\xff\xff\xff\xff\xff\xff\xff", b"after the damage")
                .expect("a write into a sound tree");
            t.commit().expect("a commit beside a damaged page");
        }
        let purged = engine.purge_now();
        let scrubbed = scrub(&engine);
        let then = trees.iter().map(|&id| scan(&engine, id)).collect();
        *o.borrow_mut() = Some(Ok(Seen { trees: all, purged, scrubbed, then }));
        // It can be closed, or says why not.
        let _ = engine.shutdown();
    });
    out.take().expect("an outcome")
}

/// What the scrubber finds damaged in a round over the whole file; `None` when it does not come to the end of one.
fn scrub(engine: &Engine) -> Option<Vec<Damage>> {
    engine.set_scrub_pace(1_000_000);
    let before = engine.scrub_status().rounds;
    for _ in 0..400 {
        // The round that was under way may have passed what is damaged before it was read in.
        if engine.scrub_status().rounds >= before + 2 {
            return Some(engine.damaged_pages());
        }
        let _ = gannet_runtime::sleep(std::time::Duration::from_millis(20));
    }
    None
}

fn scan(engine: &Engine, id: TreeId) -> Result<Rows> {
    let tree = engine.tree(id)?;
    let mut t = engine.begin(TxnOptions { autocommit: true, ..TxnOptions::default() });
    let mut scan = t.scan(&tree, KeyRange::ALL, ScanOptions::default())?;
    let mut out = Vec::new();
    while let Some(e) = scan.next(&mut t)? {
        out.push((e.key.to_vec(), e.value.to_vec()));
    }
    t.commit()?;
    Ok(out)
}

/// Flips bits in a few pages of a copy and looks. `trees`: some trees of the store, the last one a row tree.
pub fn run(disk: &SimDisk, seed: u64, trees: &[TreeId], flips: &mut Flips) {
    let mut rnd = rng(seed ^ 0xF11B);
    let copy = disk.copy();
    let Some(data) = copy.peek(DATA) else { return };
    let Ok(whole) = read(&disk.copy(), seed, trees, None) else { return };
    let used: Vec<u64> = (0..(data.len() / PAGE) as u64).filter(|&p| data[p as usize * PAGE + 4] != 0).collect();
    if used.is_empty() {
        return;
    }
    // By page: its owner.
    let mut damaged: BTreeMap<u64, u64> = BTreeMap::new();
    for _ in 0..1 + rnd(2) {
        let page = used[rnd(used.len() as u64) as usize];
        let from = page as usize * PAGE;
        let owner = u64::from_le_bytes(data[from + 24..from + 32].try_into().expect("8 bytes"));
        for _ in 0..1 + rnd(3) {
            let at = from + rnd(PAGE as u64) as usize;
            copy.poke(DATA, at as u64, &[data[at] ^ 1 << rnd(8)]);
        }
        damaged.insert(page, owner);
    }
    flips.stores += 1;
    let elsewhere = |id: TreeId| damaged.values().all(|&owner| trees.iter().any(|t| t.0 == owner) && owner != id.0);
    let last = *trees.last().expect("a tree");
    let names = |e: &EngineError| match e {
        EngineError::Corrupt { page, .. } => damaged.contains_key(&page.0),
        _ => false,
    };
    match read(&copy, seed, trees, elsewhere(last).then_some(last)) {
        Err(e) => {
            assert!(names(&e), "seed {seed}: pages {damaged:?} are damaged, opening fails with: {e}");
            assert!(
                !trees.iter().any(|&t| elsewhere(t)),
                "seed {seed}: {damaged:?}: damage in a tree keeps the store closed: {e}"
            );
            flips.refused += 1;
        }
        Ok(Seen { trees: all, purged, scrubbed, then }) => {
            let in_trees = damaged.values().all(|&owner| trees.iter().any(|t| t.0 == owner));
            match purged {
                Ok(_) => flips.purged += 1,
                Err(e) => assert!(names(&e) && !in_trees, "seed {seed}: {damaged:?}: purge ends with: {e}"),
            }
            for damage in scrubbed.iter().flatten() {
                assert!(
                    damaged.contains_key(&damage.page.0),
                    "seed {seed}: the scrubber finds {damage:?}, but {damaged:?}"
                );
                flips.scrubbed += 1;
            }
            for (((id, found), (_, whole)), then) in all.into_iter().zip(whole.trees).zip(then) {
                // Whoever reads around the damaged page would not notice that rows are missing.
                let first = scrubbed.iter().flatten().find(|d| d.tree == id);
                match (first, &then) {
                    (Some(first), then) => {
                        // Or that of a page which tells where the tree is.
                        let refused = then.as_ref().is_err_and(&names);
                        assert!(refused, "seed {seed}: {first:?} is known, and tree {id} can be read");
                        flips.barred += 1;
                    }
                    (None, Ok(then)) => {
                        // Where something was written since, that is the last one.
                        let same = found.as_ref().is_ok_and(|found| then.starts_with(found));
                        assert!(same, "seed {seed}: tree {id} reads otherwise after the scrubber");
                    }
                    (None, Err(e)) => assert!(names(e), "seed {seed}: {damaged:?}: tree {id} fails with: {e}"),
                }
                match (found, whole) {
                    (Ok(found), Ok(whole)) => {
                        assert!(
                            found == whole,
                            "seed {seed}: {damaged:?}: tree {id} reads otherwise than before the damage"
                        );
                        flips.trees_whole += 1;
                    }
                    (Err(e), Ok(_)) => {
                        assert!(names(&e), "seed {seed}: pages {damaged:?} are damaged, tree {id} fails with: {e}");
                        assert!(!elsewhere(id), "seed {seed}: damage in {damaged:?} takes tree {id} out: {e}");
                        let same = |d: &Damage| EngineError::from(d) == e;
                        let missed = scrubbed.as_ref().is_some_and(|all| !all.iter().any(same));
                        assert!(
                            !missed,
                            "seed {seed}: the scrubber does not find it, or says otherwise: {e}; {scrubbed:?}"
                        );
                        flips.trees_failed += 1;
                    }
                    (_, Err(e)) => panic!("seed {seed}: tree {id} cannot be read: {e}"),
                }
            }
        }
    }
}

/// Flips bits in one slot of a copy's control file, or in both, and looks.
pub fn control(disk: &SimDisk, seed: u64, trees: &[TreeId], flips: &mut Flips) {
    let mut rnd = rng(seed ^ 0xC7F1);
    let copy = disk.copy();
    let Some(file) = copy.peek(CONTROL).filter(|f| f.len() >= 2 * SLOT) else { return };
    let Ok(whole) = read(&disk.copy(), seed, trees, None) else { return };
    let sequence = |slot: usize| u64::from_le_bytes(file[slot * SLOT + 16..][..8].try_into().expect("8 bytes"));
    let (newest, both) = (usize::from(sequence(1) > sequence(0)), rnd(5) == 0);
    let slots = if both { vec![0, 1] } else { vec![rnd(2) as usize] };
    for &slot in &slots {
        for _ in 0..1 + rnd(3) {
            let at = slot * SLOT + [rnd(16), rnd(CHECKED as u64)][rnd(2) as usize] as usize;
            copy.poke(CONTROL, at as u64, &[file[at] ^ 1 << rnd(8)]);
        }
    }
    flips.controls += 1;
    // The same bit twice is no damage.
    let spoilt = copy.peek(CONTROL).expect("a file");
    // The format's version stands there twice; the word that is not checked does not count.
    let counts =
        |bytes: &[u8], slot: usize| [&bytes[slot * SLOT..][..8], &bytes[slot * SLOT + 12..][..CHECKED - 12]].concat();
    let is_spoilt = |slot: usize| counts(&spoilt, slot) != counts(&file, slot);
    // The power may have been cut while the other one was written: alone it is no control file.
    let is_torn = |slot: usize| {
        let alone = disk.copy();
        alone.poke(CONTROL, ((1 - slot) * SLOT) as u64, &[0; CHECKED]);
        read(&alone, seed, trees, None).is_err_and(|e| e.to_string().contains("both slots"))
    };
    match read(&copy, seed, trees, None) {
        Err(e) if (0..2).all(|slot| is_spoilt(slot) || is_torn(slot)) => {
            assert!(e.to_string().contains("both slots"), "seed {seed}: {e}");
            flips.controls_refused += 1;
        }
        // The log goes back to the checkpoint that stands in both.
        Err(e) => panic!("seed {seed}: slot {slots:?} of the control file (newest {newest}): {e}"),
        Ok(seen) => {
            assert!(!(is_spoilt(0) && is_spoilt(1)), "seed {seed}: opened without a control file");
            let same = seen.trees == whole.trees;
            assert!(
                same,
                "seed {seed}: damage of slot {slots:?} of the control file (newest {newest}) changes the trees"
            );
        }
    }
}
