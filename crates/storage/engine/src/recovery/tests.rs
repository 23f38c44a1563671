use std::path::PathBuf;

use gannet_buffer::PageBytes;
use gannet_page::{PageOp, PageType};

use super::*;
use crate::FlushPolicy;
use crate::checkpoint::{self, CheckpointFigures, Checkpointer};
use crate::indexer::Indexer;
use crate::plant::{Fault, plant};

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("gannet-recovery-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Dir(path)
    }

    fn copy(&self, name: &str) -> Dir {
        fn copy(from: &Path, to: &Path) {
            std::fs::create_dir_all(to).unwrap();
            for e in std::fs::read_dir(from).unwrap() {
                let e = e.unwrap();
                let target = to.join(e.file_name());
                if e.file_type().unwrap().is_dir() {
                    copy(&e.path(), &target)
                } else {
                    _ = std::fs::copy(e.path(), target)
                }
            }
        }
        let to = Dir::new(name);
        copy(&self.0, &to.0);
        to
    }

    fn options(&self) -> EngineOptions {
        EngineOptions {
            buffer_pool_bytes: 8 << 20,
            redo_capacity_bytes: 8 << 20,
            flush_policy: FlushPolicy::AtCommit,
            ..EngineOptions::new(self.0.clone())
        }
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_combination_has_its_decision() {
    let data = |state| ControlData {
        store_id: [1; 16],
        state,
        checkpoint: FIRST_LSN,
        checkpoint_epoch: 1,
        epoch: 1,
        next_trx: TrxId(1),
        created_us: 0,
    };
    let valid = |state, one_bad| Found::Valid { data: data(state), sequence: 3, one_bad };
    let mut controls = vec![Found::Missing, Found::Bad, Found::Other(9)];
    for state in [State::Creating, State::Open, State::Closed] {
        controls.extend([valid(state, false), valid(state, true)]);
    }
    let mut counts = std::collections::BTreeMap::new();
    for control in controls {
        for (has_data, log) in [(false, false), (false, true), (true, false), (true, true)] {
            for mode in [OpenMode::OpenOrCreate, OpenMode::Existing, OpenMode::Fresh] {
                let decision = decide(Seen { control, data: has_data, log, mode });
                let what = match &decision {
                    Decision::Create => "create",
                    Decision::CreateAgain => "again",
                    Decision::Recover(..) => "recover",
                    Decision::Refuse(EngineError::OtherFormat { found: 9, known: 2 }) => "other",
                    Decision::Refuse(EngineError::Corrupt { .. } | EngineError::Damaged(_)) => "damaged",
                    Decision::Refuse(EngineError::Io(_)) => "unexpected",
                    Decision::Refuse(e) => panic!("{e}"),
                };
                *counts.entry(what).or_insert(0) += 1;
                // What must never happen: creating over something, or opening what is not whole.
                match decision {
                    Decision::Create => assert!(control == Found::Missing && !has_data && !log),
                    Decision::CreateAgain => {
                        let unfinished = matches!(control, Found::Valid { data, .. } if data.state == State::Creating);
                        assert!(unfinished || (control == Found::Bad && !has_data && !log));
                        assert!(mode != OpenMode::Existing);
                    }
                    Decision::Recover(found, 3) => {
                        assert!(has_data && log && found.state != State::Creating && mode != OpenMode::Fresh);
                    }
                    Decision::Recover(..) => panic!("a sequence from nowhere"),
                    Decision::Refuse(_) => {}
                }
            }
        }
    }
    let counts: Vec<_> = counts.into_iter().collect();
    assert_eq!(
        counts,
        [("again", 18), ("create", 2), ("damaged", 42), ("other", 12), ("recover", 8), ("unexpected", 26)]
    );
}

/// Page 2 and the next few serve as the tests' data.
fn write(opened: &Opened, page: u64, value: u64) -> Lsn {
    let pool = &opened.pool;
    pool.run(|| {
        let mut mtr = pool.mtr()?;
        let no = PageNo(page);
        let p = match mtr.latch(no) {
            Ok(p) => p,
            Err(_) if value == 0 => {
                let p = mtr.create(no)?;
                mtr.apply(p, &PageOp::Format { ty: PageType::Meta, owner: gannet_page::raw::SYSTEM });
                p
            }
            Err(stop) => return Err(stop),
        };
        mtr.apply(p, &PageOp::Overwrite { at: 64, bytes: &value.to_le_bytes() });
        Ok(mtr.commit())
    })
    .unwrap()
}

fn read(opened: &Opened, page: u64) -> u64 {
    opened.pool.read(PageNo(page), |g| Ok(g.u64_at(64))).unwrap()
}

const PAGES: std::ops::Range<u64> = 2..40;

fn new_store(dir: &Dir) -> Opened {
    let opened = open(&dir.options()).unwrap();
    assert!(opened.is_new && opened.recovery.redo_is_done());
    for page in PAGES {
        write(&opened, page, 0);
    }
    opened.created().unwrap();
    opened
}

fn finish_redo(opened: &Opened) {
    for task in opened.recovery.spawn(&opened.pool) {
        task.join().unwrap();
    }
    assert!(opened.recovery.redo_is_done());
    let status = opened.recovery.status();
    assert_eq!((status.percent, status.phase), (100.0, RecoveryPhase::Done));
}

#[test]
fn a_crashed_store_has_everything_durable() {
    let dir = Dir::new("crash");
    let opened = new_store(&dir);
    assert!(matches!(open(&dir.options()), Err(EngineError::DataDirInUse(_))));
    let mut last = Lsn::ZERO;
    for value in 1..200 {
        last = write(&opened, PAGES.start + value % 38, value);
    }
    opened.log.wait_durable(last).unwrap();
    let want: Vec<_> = PAGES.map(|p| read(&opened, p)).collect();
    // Three crashes in a row: before redo, half way, after.
    let mut copy = dir.copy("crash-0");
    drop(opened);
    for round in 0..3 {
        let opened = open(&copy.options()).unwrap();
        assert!(!opened.is_new);
        let status = opened.recovery.status();
        assert!(status.pages_total >= 38 && status.phase == RecoveryPhase::Redo && status.percent >= 50.0);
        // Open at once: pages are right on first touch.
        if round != 1 {
            for p in PAGES.step_by(3) {
                assert_eq!(read(&opened, p), want[(p - PAGES.start) as usize], "page {p}");
            }
        }
        if round == 2 {
            finish_redo(&opened);
        }
        assert_eq!(PAGES.map(|p| read(&opened, p)).collect::<Vec<_>>(), want);
        let next = copy.copy(&format!("crash-{}", round + 1));
        drop(opened);
        copy = next;
    }
}

#[test]
fn a_closed_store_needs_no_redo() {
    let dir = Dir::new("closed");
    let opened = new_store(&dir);
    write(&opened, 7, 77);
    checkpoint::close(&opened.pool, &opened.log, &opened.control, TrxId(5)).unwrap();
    drop(opened);
    for _ in 0..3 {
        let opened = open(&dir.options()).unwrap();
        assert_eq!(opened.recovery.status().pages_total, 0);
        assert_eq!(opened.next_trx, TrxId(5));
        assert_eq!(read(&opened, 7), 77);
        finish_redo(&opened);
        checkpoint::close(&opened.pool, &opened.log, &opened.control, TrxId(4)).unwrap();
    }
}

#[test]
fn the_checkpointer_keeps_up_and_recovery_starts_there() {
    let dir = Dir::new("checkpointer");
    let opened = new_store(&dir);
    let figures = Arc::new(CheckpointFigures::default());
    let worker = Checkpointer::new(
        opened.pool.clone(),
        opened.log.clone(),
        opened.control.clone(),
        figures.clone(),
        Default::default(),
    );
    let recovery = opened.recovery.clone();
    let task = spawn("checkpoint", move || worker.run(&recovery, || TrxId(123)));
    let mut last = Lsn::ZERO;
    // Several times the capacity.
    let filler = vec![7u8; 12_000];
    for value in 1..3000u64 {
        let pool = &opened.pool;
        last = pool
            .run(|| {
                let mut mtr = pool.mtr()?;
                let p = mtr.latch(PageNo(PAGES.start + value % 38))?;
                mtr.apply(p, &PageOp::Overwrite { at: 64, bytes: &value.to_le_bytes() });
                mtr.apply(p, &PageOp::Overwrite { at: 100, bytes: &filler });
                Ok(mtr.commit())
            })
            .unwrap();
        assert!(opened.log.age() <= opened.log.usable_bytes() + (64 << 10));
    }
    opened.log.wait_durable(last).unwrap();
    assert!(figures.count.load(Relaxed) > 2);
    assert!(opened.control.data().checkpoint > FIRST_LSN);
    let want: Vec<_> = PAGES.map(|p| read(&opened, p)).collect();
    // A copy file by file is one moment's picture only when nobody writes.
    task.context().interrupt(gannet_runtime::Interrupt::Shutdown);
    task.join().unwrap();
    let copy = dir.copy("checkpointer-copy");
    assert!(!figures.failed.load(Relaxed));
    drop(opened);
    let opened = open(&copy.options()).unwrap();
    assert_eq!(opened.next_trx, TrxId(123));
    finish_redo(&opened);
    assert_eq!(PAGES.map(|p| read(&opened, p)).collect::<Vec<_>>(), want);
}

/// A store whose data lies in many extents, with a log of a few MiB: its pages, and what they have.
fn long_log(dir: &Dir, writes: u64) -> Vec<(u64, u64)> {
    let opened = new_store(dir);
    let pool = &opened.pool;
    let root = || {
        pool.run(|| {
            let mut mtr = pool.mtr()?;
            let mut root = pool.reserve_tree()?;
            let owner = root.owner();
            let page = mtr.take(&mut root);
            mtr.apply(page, &PageOp::Format { ty: PageType::Meta, owner });
            mtr.commit();
            Ok(owner.0)
        })
        .unwrap()
    };
    let pages: Vec<u64> =
        (0..32).flat_map(|_| (0..4).map(|i| (i, root())).collect::<Vec<_>>()).map(|p| p.0 + p.1).collect();
    let mut last = Lsn::ZERO;
    for &page in pages.iter().filter(|p| *p % 64 != 0) {
        last = write(&opened, page, 0).max(last);
    }
    for value in 1..writes {
        last = write(&opened, pages[(value * value) as usize % pages.len()], value);
    }
    opened.log.wait_durable(last).unwrap();
    pages.iter().map(|&p| (p, read(&opened, p))).collect()
}

fn have(opened: &Opened, like: &[(u64, u64)]) -> Vec<(u64, u64)> {
    like.iter().map(|&(p, _)| (p, read(opened, p))).collect()
}

#[test]
fn a_long_log_is_applied_in_rounds() {
    let dir = Dir::new("rounds");
    let want = long_log(&dir, 8_000);
    // Memory, rounds at least, pages looked at before the rounds.
    // Without an index there is no file for what does not fit either.
    let cases = [(0, 1, 3), (100_000, 2, 5), (100_000, 2, 200), (20_000, 5, 7), (20_000, 5, 11), (20_000, 5, 300)];
    for (i, (memory, least, early)) in cases.into_iter().enumerate() {
        let copy = dir.copy(&format!("rounds-{i}"));
        let options =
            EngineOptions { redo_memory_bytes: memory, redo_index_bytes: [64 << 10, 0][i % 2], ..copy.options() };
        let opened = open(&options).unwrap();
        for &(page, value) in want.iter().step_by(early) {
            assert_eq!(read(&opened, page), value, "page {page}, {memory} bytes");
        }
        finish_redo(&opened);
        let rounds = opened.recovery.status().rounds;
        assert!(rounds >= least && (memory != 0 || rounds == 1), "{rounds} rounds with {memory} bytes");
        assert_eq!(have(&opened, &want), want, "{memory} bytes");
        assert_eq!(opened.recovery.bytes(), 0);
        assert!(!fs::exists(spill::path(&copy.0)).unwrap());
        // A second crash, before the checkpoint has moved.
        let again = copy.copy(&format!("rounds-again-{i}"));
        drop(opened);
        let opened = open(&again.options()).unwrap();
        assert_eq!(have(&opened, &want), want);
    }
}

/// INV-REC-3: the damage passes, but by then the log is gone that has the page's changes.
#[test]
fn a_page_that_was_damaged_is_never_outdated() {
    let dir = Dir::new("outdated");
    // A tree's root.
    let page = long_log(&dir, 200)[1].0;
    let opened = open(&dir.options()).unwrap();
    write(&opened, page, 1);
    finish_redo(&opened);
    checkpoint::close(&opened.pool, &opened.log, &opened.control, TrxId(5)).unwrap();
    drop(opened);
    let opened = open(&dir.options()).unwrap();
    finish_redo(&opened);
    opened.log.wait_durable(write(&opened, page, 2)).unwrap();
    let copy = dir.copy("outdated-crashed");
    drop(opened);
    let flip = || {
        let file = std::fs::File::options().read(true).write(true).open(Pool::data_file(&copy.0)).unwrap();
        let (mut byte, at) = ([0], PageNo(page).offset() + 5000);
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut byte, at).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[byte[0] ^ 1], at).unwrap();
    };
    let fails = |opened: &Opened| opened.pool.read(PageNo(page), |g| Ok(g.u64_at(64))).unwrap_err().to_string();
    flip();
    let opened = open(&copy.options()).unwrap();
    assert!(fails(&opened).contains("checksum"));
    finish_redo(&opened);
    assert!(fails(&opened).contains("checksum") && read(&opened, 8) == 0 && opened.recovery.bytes() == 0);
    checkpoint::close(&opened.pool, &opened.log, &opened.control, TrxId(5)).unwrap();
    drop(opened);
    flip();
    let opened = open(&copy.options()).unwrap();
    assert_eq!(opened.recovery.status().pages_total, 0);
    assert!(fails(&opened).contains("checksum"), "the page is sound, without its last change");
}

#[test]
fn an_index_that_does_not_fit_goes_to_files() {
    let dir = Dir::new("spilled");
    let want = long_log(&dir, 20_000);
    let options = EngineOptions { redo_memory_bytes: 20_000, redo_index_bytes: 64 << 10, ..dir.options() };
    let log = dir.0.join(LOG_DIR);
    assert!(chunk::files(&log).unwrap().is_empty());
    for round in 0..3 {
        let opened = open(&options).unwrap();
        let written = chunk::files(&log).unwrap().len();
        assert!(written > 3, "{written} chunks");
        assert!(opened.index.at > FIRST_LSN && opened.index.files.len() == written);
        assert_eq!(have(&opened, &want), want, "{round}");
        if round == 1 {
            finish_redo(&opened);
        }
    }
}

#[test]
fn a_start_by_the_index_of_the_log() {
    let dir = Dir::new("indexed");
    let opened = new_store(&dir);
    let mut last = Lsn::ZERO;
    for value in 1..20_000 {
        last = write(&opened, PAGES.start + value % 38, value);
    }
    opened.log.wait_durable(last).unwrap();
    let state = index_state(&dir.options(), &opened.control.data(), &[], FIRST_LSN, 1);
    let mut indexer = Indexer::new(state, opened.pool.clone(), opened.log.clone(), 64 << 10);
    indexer.step().unwrap();
    let chunks = chunk::files(&dir.0.join(LOG_DIR)).unwrap();
    assert!(chunks.len() >= 5, "{chunks:?}");
    let want: Vec<_> = PAGES.map(|p| read(&opened, p)).collect();
    let copies: Vec<_> = (0..4).map(|i| dir.copy(&format!("indexed-{i}"))).collect();
    drop(indexer);
    drop(opened);
    for (i, copy) in copies.iter().enumerate() {
        let mut whole = true;
        let log = copy.0.join(LOG_DIR);
        let damage = |name: &Path, at: usize| {
            let path = log.join(name.file_name().unwrap());
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[at] ^= 1;
            std::fs::write(path, bytes).unwrap();
        };
        match i {
            // Up to the one before it the index is used, then the log is read.
            1 => damage(&chunks[3], 100),
            2 => (whole, _) = (false, damage(&chunks[0], 70)),
            _ => {}
        }
        let opened = open(&copy.options()).unwrap();
        assert_eq!(opened.index.at > FIRST_LSN, whole);
        let status = opened.recovery.status();
        assert!(status.pages_total >= 38 && status.phase == RecoveryPhase::Redo);
        if i != 3 {
            // Before the log is in memory, and after.
            for p in PAGES.step_by(3) {
                assert_eq!(read(&opened, p), want[(p - PAGES.start) as usize], "page {p}");
            }
        }
        finish_redo(&opened);
        assert!(opened.recovery.indexed().is_none());
        assert_eq!(PAGES.map(|p| read(&opened, p)).collect::<Vec<_>>(), want);
        // The new incarnation goes on with the index.
        let at = opened.index.at;
        assert_eq!(at > FIRST_LSN, whole);
        for value in 1..5_000 {
            last = write(&opened, PAGES.start + value % 38, value);
        }
        opened.log.wait_durable(last).unwrap();
        let state = index_state(&copy.options(), &opened.control.data(), &[], FIRST_LSN, 1);
        let state = IndexState { at, epoch: opened.index.epoch, files: opened.index.files.clone(), ..state };
        let mut indexer = Indexer::new(state, opened.pool.clone(), opened.log.clone(), 64 << 10);
        indexer.step().unwrap();
        let want: Vec<_> = PAGES.map(|p| read(&opened, p)).collect();
        let again = copy.copy(&format!("indexed-again-{i}"));
        drop(indexer);
        drop(opened);
        let opened = open(&again.options()).unwrap();
        assert!(opened.index.at > at);
        finish_redo(&opened);
        assert_eq!(PAGES.map(|p| read(&opened, p)).collect::<Vec<_>>(), want);
    }
}

/// Indexes all of the log that is durable: the index ends where the next incarnation begins.
fn index_all(dir: &Dir, opened: &Opened) {
    let state = index_state(&dir.options(), &opened.control.data(), &[], FIRST_LSN, 1);
    let (at, epoch, files) = (opened.index.at, opened.index.epoch, opened.index.files.clone());
    let state = IndexState { at, epoch, files, ..state };
    let mut indexer = Indexer::new(state, opened.pool.clone(), opened.log.clone(), 0);
    indexer.index_all().unwrap();
}

#[test]
fn an_index_ends_where_an_incarnation_does() {
    // Crashes one after the other; a store that was closed first, so that the checkpoint is at the boundary; and, to
    // see that the test would notice, an index that does not know of the boundary.
    for (name, closed, fault) in [
        ("boundary", false, None),
        ("boundary-closed", true, None),
        ("boundary-fault", false, Some(Fault::IndexOldEpoch)),
    ] {
        let mut dir = Dir::new(name);
        let mut opened = new_store(&dir);
        for round in 0..4 {
            let mut last = Lsn::ZERO;
            for value in 1..2_000 {
                last = write(&opened, PAGES.start + value % 38, value + round * 10_000);
            }
            opened.log.wait_durable(last).unwrap();
            let want: Vec<_> = PAGES.map(|p| read(&opened, p)).collect();
            let closes = closed && round == 0;
            if closes {
                checkpoint::close(&opened.pool, &opened.log, &opened.control, TrxId(5)).unwrap();
            } else {
                plant(fault.filter(|_| round > 0));
                index_all(&dir, &opened);
                plant(None);
            }
            let copy = dir.copy(&format!("{name}-{round}"));
            drop(opened);
            opened = open(&copy.options()).unwrap();
            dir = copy;
            let (at, epoch) = (opened.index.at, opened.log.epoch());
            assert_eq!(opened.index.files.is_empty(), closes, "{name}, {round}");
            assert!(closes || at > FIRST_LSN);
            assert_eq!(opened.log.epoch_at(at), epoch, "{name}, {round}: the index ends before the incarnation does");
            assert!(opened.log.epoch_at(Lsn(at.0 - 1)) < epoch, "{name}, {round}");
            if fault.is_some() && round > 0 {
                let failed = PAGES.filter(|&p| opened.pool.read(PageNo(p), |g| Ok(g.u64_at(64))).is_err()).count();
                assert!(failed > 30, "{failed} pages cannot be read");
                break;
            }
            assert_eq!(PAGES.map(|p| read(&opened, p)).collect::<Vec<_>>(), want, "{name}, {round}");
            if round % 2 == 1 {
                finish_redo(&opened);
            }
        }
    }
}

#[test]
fn what_is_not_whole_is_refused_and_left_alone() {
    let dir = Dir::new("refuse");
    let opened = new_store(&dir);
    checkpoint::close(&opened.pool, &opened.log, &opened.control, TrxId(5)).unwrap();
    drop(opened);
    let refused = |copy: &Dir, want: &str| {
        let Err(e) = open(&copy.options()) else { panic!("opened, where it should say {want}") };
        assert!(e.to_string().contains(want), "{e}, not {want}");
    };
    let copy = dir.copy("refuse-1");
    std::fs::remove_file(copy.0.join("control")).unwrap();
    refused(&copy, "control file is missing");
    let copy = dir.copy("refuse-2");
    std::fs::write(copy.0.join("control"), vec![1; 8192]).unwrap();
    refused(&copy, "both slots");
    let copy = dir.copy("refuse-3");
    std::fs::remove_file(copy.0.join("data.gnt")).unwrap();
    refused(&copy, "data file is missing");
    let copy = dir.copy("refuse-4");
    std::fs::remove_dir_all(copy.0.join(LOG_DIR)).unwrap();
    refused(&copy, "log is missing");
    let copy = dir.copy("refuse-5");
    for e in std::fs::read_dir(copy.0.join(LOG_DIR)).unwrap() {
        let path = e.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        if bytes[24..32] != [0; 8] {
            std::fs::remove_file(path).unwrap();
        }
    }
    refused(&copy, "no log segment");
    // And the store itself still opens.
    open(&dir.options()).unwrap();
}

#[test]
fn an_unfinished_creation_starts_over() {
    let dir = Dir::new("creating");
    let opened = open(&dir.options()).unwrap();
    let id = opened.control.data().store_id;
    drop(opened);
    let opened = new_store(&dir);
    assert_ne!(opened.control.data().store_id, id);
    drop(opened);
    assert!(!open(&dir.options()).unwrap().is_new);
}
