//! One bit flipped in each of a store's control structures: it opens with all its rows wherever a whole copy of what is
//! needed exists, and is otherwise refused with words that name the file.

use std::cell::RefCell;
use std::rc::Rc;

use gannet_engine::*;
use gannet_runtime::sim::{Sim, SimDisk};

const ROWS: u64 = 700;
const PAGE: usize = 16384;

fn options() -> EngineOptions {
    EngineOptions {
        buffer_pool_bytes: 4 << 20,
        redo_capacity_bytes: 32 << 20,
        max_data_bytes: 256 << 20,
        redo_index_bytes: 1 << 19,
        redo_memory_bytes: 1 << 20,
        mode: OpenMode::Existing,
        ..EngineOptions::new("/store")
    }
}

/// A store with `ROWS` rows in a tree: closed in good order, or its power cut with a log of several segments to be
/// applied.
fn store(closed: bool) -> (SimDisk, TreeId) {
    store_by(u64::from(closed), closed)
}

fn store_by(seed: u64, closed: bool) -> (SimDisk, TreeId) {
    let (disk, id) = (SimDisk::new(), Rc::new(RefCell::new(None)));
    let made = id.clone();
    Sim::new(seed).disk(&disk).max_steps(20_000_000).run_outcome(move || {
        let engine = Engine::open(EngineOptions { mode: OpenMode::Fresh, ..options() }).expect("a store");
        let mut t = engine.begin(TxnOptions::default());
        let tree = t.create_tree(TreeKind::Row).expect("a tree");
        t.commit().expect("a commit");
        *made.borrow_mut() = Some(tree.id());
        for n in 0..ROWS {
            if n == ROWS / 4 {
                // What comes before is in the data file, more or less.
                let _ = gannet_runtime::sleep(std::time::Duration::from_secs(65));
                engine.hold_checkpoint(true);
            }
            t.begin(TxnOptions::default()).expect("a transaction");
            t.insert(&tree, &n.to_be_bytes(), &[n as u8; 5000]).expect("a row");
            t.commit().expect("a commit");
        }
        // The log's index follows.
        let _ = gannet_runtime::sleep(std::time::Duration::from_secs(2));
        match closed {
            true => engine.shutdown().expect("it is closed"),
            false => gannet_runtime::sim::crash(),
        }
    });
    let id = id.take().expect("a tree");
    (disk, id)
}

/// Rows that can be read, or why the store is refused.
fn read(disk: &SimDisk, id: TreeId) -> std::result::Result<u64, String> {
    let out = Rc::new(RefCell::new(None));
    let seen = out.clone();
    Sim::new(1).disk(disk).max_steps(20_000_000).run_outcome(move || {
        let count = || {
            let engine = Engine::open(options())?;
            let tree = engine.tree(id)?;
            let mut t = engine.begin(TxnOptions { autocommit: true, ..TxnOptions::default() });
            let mut scan = t.scan(&tree, KeyRange::ALL, ScanOptions::default())?;
            let mut rows = 0;
            while let Some(entry) = scan.next(&mut t)? {
                assert_eq!(entry.value, [rows as u8; 5000], "row {rows}");
                rows += 1;
            }
            t.commit()?;
            engine.shutdown()?;
            Ok(rows)
        };
        *seen.borrow_mut() = Some(count().map_err(|e: EngineError| e.to_string()));
    });
    out.take().expect("an outcome")
}

/// Flips one bit of each byte given (all bits of those in `thorough`), one at a time, and hands what comes of it to
/// `judge`.
fn flip(
    disk: &SimDisk,
    id: TreeId,
    file: &str,
    bytes: impl Iterator<Item = usize>,
    thorough: impl Fn(usize) -> bool,
    judge: impl Fn(&str, std::result::Result<u64, String>),
) {
    let whole = disk.peek(file).expect("the file");
    for at in bytes {
        for bit in (0..8).filter(|&bit| thorough(at) || bit == at % 8) {
            let copy = disk.copy();
            copy.poke(file, at as u64, &[whole[at] ^ 1 << bit]);
            judge(&format!("{file}, byte {at}, bit {bit}"), read(&copy, id));
        }
    }
}

fn opens(what: &str, outcome: std::result::Result<u64, String>) {
    assert_eq!(outcome, Ok(ROWS), "{what}");
}

fn segments(disk: &SimDisk) -> Vec<String> {
    let names = disk.files().into_iter().map(|p| p.display().to_string());
    let in_use = |p: &String| p.ends_with(".log") && disk.peek(p).is_some_and(|f| f[24..32] != [0; 8]);
    names.filter(in_use).collect()
}

fn flips_in_either_control_slot(closed: bool) {
    let (disk, id) = store(closed);
    opens("untouched", read(&disk.copy(), id));
    for slot in [0, 4096] {
        let version = |at: usize| (8..12).contains(&(at - slot)) || (88..92).contains(&(at - slot));
        let bytes = (slot..slot + 130).filter(|&at| at % 7 == 0 || version(at));
        flip(&disk, id, "/store/control", bytes, version, opens);
    }
    // Both: there is no copy.
    let both = disk.copy();
    assert!(both.poke("/store/control", 20, &[0xEE]) && both.poke("/store/control", 4096 + 20, &[0xEE]));
    assert!(read(&both, id).is_err_and(|e| e.contains("both slots of the control file")));
}

#[test]
fn a_flip_in_either_control_slot_is_no_matter() {
    flips_in_either_control_slot(false);
}

#[test]
fn a_flip_in_either_control_slot_after_a_shutdown_is_no_matter() {
    flips_in_either_control_slot(true);
}

#[test]
fn a_flip_in_the_header_of_a_segment_is_no_matter() {
    for closed in [false, true] {
        let (disk, id) = store(closed);
        let all = segments(&disk);
        assert!(closed || all.len() > 2, "{all:?}");
        for file in &all {
            flip(&disk, id, file, (0..66).step_by(if closed { 10 } else { 6 }), |at| at == 9, opens);
        }
    }
}

#[test]
fn a_header_of_a_segment_that_is_gone_is_named_or_not_missed() {
    for closed in [false, true] {
        let (disk, id) = store(closed);
        let all = segments(&disk);
        let mut named = 0;
        for file in &all {
            let copy = disk.copy();
            copy.poke(file, 0, &[0xA5; 64]);
            let name = file.rsplit('/').next().expect("a name");
            match read(&copy, id) {
                Ok(rows) => assert_eq!(rows, ROWS, "{file}"),
                Err(e) => {
                    assert!(e.contains(name), "{file}: {e}");
                    named += 1;
                }
            }
        }
        // Those below the checkpoint are not needed.
        assert!(closed || named > 1, "{named} of {}", all.len());
    }
}

#[test]
fn a_flip_in_the_file_header_is_no_matter() {
    for closed in [false, true] {
        let (disk, id) = store(closed);
        let bytes = (0..80).chain([100, 5000, PAGE - 1]);
        flip(&disk, id, "/store/data.gnt", bytes, |at| at == 40, opens);
        let other = disk.copy();
        other.poke("/store/data.gnt", 48, &[7; 16]);
        assert!(read(&other, id).is_err_and(|e| e.contains("page 0 ")));
    }
}

#[test]
fn a_flip_in_the_space_map_is_named() {
    let (disk, id) = store(true);
    // There is no other copy of it.
    let double = disk.peek("/store/double.gnt").expect("the file").len();
    disk.poke("/store/double.gnt", 0, &vec![0; double]);
    flip(
        &disk,
        id,
        "/store/data.gnt",
        (PAGE..PAGE + 100).step_by(9),
        |_| false,
        |what, outcome| {
            assert!(outcome.clone().is_err_and(|e| e.contains("page 1 ")), "{what}: {outcome:?}");
        },
    );
}

#[test]
fn flips_in_what_can_be_done_without_are_no_matter() {
    // It is not synced: a power cut may leave nothing of it.
    let written = |disk: &SimDisk| {
        let names = disk.files().into_iter().map(|p| p.display().to_string());
        let mut whole = names.filter(|p| p.ends_with(".idx") && disk.peek(p).is_some_and(|f| f.len() > 64));
        whole.next()
    };
    let mut stores = (0..40).map(|seed| store_by(seed, false));
    let found = stores.find_map(|(disk, id)| written(&disk).map(|index| (disk, id, index)));
    let (disk, id, index) = found.expect("an index of the log");
    flip(&disk, id, &index, (0..64).step_by(2), |at| at == 8, opens);
    flip(&disk, id, "/store/double.gnt", (0..40).step_by(3), |_| false, opens);
}

#[test]
fn a_data_file_that_was_cut_is_refused() {
    for closed in [false, true] {
        let (disk, id) = store(closed);
        let data = disk.peek("/store/data.gnt").expect("the file");
        let used = data.chunks(PAGE).rposition(|p| p[4] != 0).expect("a page") + 1;
        for pages in [0, 1, 2, 40, 64, used / 128 * 64] {
            let copy = disk.copy();
            assert!(copy.cut("/store/data.gnt", (pages * PAGE) as u64));
            let outcome = read(&copy, id);
            assert!(outcome.clone().is_err_and(|e| e.contains("page ")), "{pages} of {used} pages: {outcome:?}");
        }
    }
}
