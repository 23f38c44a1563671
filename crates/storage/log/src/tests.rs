//! The log as a whole, on real files: what is read back after every way of stopping.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gannet_base::Lsn;
use gannet_base::sync::Arc;

use crate::format::{BLOCK, SEGMENT_HEADER, block_up};
use crate::*;

pub(crate) const STORE: u64 = 77;

/// A directory that is removed at the end.
pub(crate) struct Dir(pub(crate) PathBuf);

impl Dir {
    pub(crate) fn new() -> Dir {
        static N: AtomicU64 = AtomicU64::new(0);
        let n = N.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("gannet-log-{}-{n}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Dir(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A copy of the files as they are now: what a killed process would leave.
    pub(crate) fn snapshot(&self) -> Dir {
        let copy = Dir::new();
        std::fs::create_dir_all(&copy.0).unwrap();
        for e in std::fs::read_dir(&self.0).unwrap() {
            let e = e.unwrap();
            // A segment that is not needed any more may go meanwhile.
            match std::fs::copy(e.path(), copy.0.join(e.file_name())) {
                Err(gone) if gone.kind() == std::io::ErrorKind::NotFound => {}
                copied => drop(copied.unwrap()),
            }
        }
        copy
    }

    pub(crate) fn segment_files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = std::fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        files
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn options(dir: &Dir, policy: FlushPolicy) -> Options {
    Options { dir: dir.0.clone(), capacity: 8 << 20, policy, ring_bytes: 2 << 20, ..Options::new("") }
}

pub(crate) fn fresh(dir: &Dir, policy: FlushPolicy) -> Arc<Log> {
    let start = Start { store: STORE, checkpoint: FIRST_LSN, end: FIRST_LSN, epochs: vec![], epoch: 1 };
    Log::open(options(dir, policy), start).unwrap()
}

pub(crate) type Read = (Vec<(Lsn, Vec<u8>)>, Lsn, Vec<(Lsn, u64)>);

pub(crate) fn read_from(dir: &Path, from: Lsn, epoch: u64) -> Result<Read, LogError> {
    let read = take(LogReader::open(dir, STORE, from, epoch)?)?;
    // A reader with a limit behind the end reads the same.
    let limit = Lsn(block_up(read.1.get() + BLOCK));
    let limited = take(LogReader::open_until(dir, STORE, from, epoch, limit)?)?;
    assert!(limited == read, "{} and {} records", limited.0.len(), read.0.len());
    Ok(read)
}

fn take(mut reader: LogReader) -> Result<Read, LogError> {
    let mut records = Vec::new();
    while let Some(r) = reader.next()? {
        assert_eq!(r.lsn.since(r.start), record_bytes(r.payload.len()));
        records.push((r.lsn, r.payload.to_vec()));
    }
    assert!(reader.next()?.is_none());
    Ok((records, reader.end(), reader.epochs().to_vec()))
}

fn read(dir: &Path) -> Read {
    read_from(dir, FIRST_LSN, 1).unwrap()
}

fn reopen(dir: &Dir, checkpoint: Lsn, epoch: u64, new_epoch: u64) -> Arc<Log> {
    let (_, end, epochs) = read_from(dir.path(), checkpoint, epoch).unwrap();
    let start = Start { store: STORE, checkpoint, end, epochs, epoch: new_epoch };
    Log::open(options(dir, FlushPolicy::Durable), start).unwrap()
}

fn payload(n: u64, len: usize) -> Vec<u8> {
    (0..len).map(|i| (n.wrapping_mul(31) + i as u64) as u8).collect()
}

#[test]
fn empty_and_missing_directories() {
    let dir = Dir::new();
    assert_eq!(read(dir.path()).1, FIRST_LSN);
    assert!(matches!(LogReader::open(dir.path(), STORE, Lsn(1 << 20), 1), Err(LogError::SegmentMissing { .. })));
    let log = fresh(&dir, FlushPolicy::Durable);
    assert_eq!(log.capacity(), 8 << 20);
    log.close().unwrap();
    let (records, end, _) = read(dir.path());
    assert!(records.is_empty());
    assert_eq!(end, log.durable_lsn());
}

#[test]
fn durable_records_come_back_in_order() {
    for policy in [FlushPolicy::Durable, FlushPolicy::Written, FlushPolicy::EverySecond] {
        let dir = Dir::new();
        let log = fresh(&dir, policy);
        let threads: Vec<_> = (0..4u64)
            .map(|t| {
                let log = log.clone();
                std::thread::spawn(move || {
                    let mut mine = Vec::new();
                    for i in 0..100u64 {
                        log.admit().unwrap();
                        let body = payload(t * 1000 + i, (i * 37 % 3000) as usize);
                        let (a, b) = body.split_at(body.len() / 2);
                        let mut seen = Lsn::ZERO;
                        let lsn = log.append_with(RecordKind::Mtr, &[a, b], |lsn| seen = lsn);
                        assert_eq!(lsn, seen);
                        log.wait_commit(lsn).unwrap();
                        assert!(log.horizon() >= lsn);
                        mine.push((lsn, body));
                    }
                    mine
                })
            })
            .collect();
        let mut all: Vec<_> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
        all.sort();
        if policy == FlushPolicy::Durable {
            // Everything is acknowledged: a kill at this moment loses none.
            assert_eq!(read(dir.snapshot().path()).0, all);
        }
        if policy == FlushPolicy::EverySecond {
            log.wait_durable(all.last().unwrap().0).unwrap();
        }
        // Written means in the file: a kill of the process alone loses none either.
        assert_eq!(read(dir.snapshot().path()).0, all);
        log.close().unwrap();
        assert_eq!(read(dir.path()).0, all);
        assert!(log.durable_lsn() >= all.last().unwrap().0);
    }
}

#[test]
fn a_gate_holds_back_what_is_durable() {
    for hides in [true, false] {
        let dir = Dir::new();
        let log = fresh(&dir, FlushPolicy::Durable);
        let append = || log.append(RecordKind::Mtr, &[b"record"]);
        let before = append();
        log.gate().close(hides);
        // What was there is told.
        log.wait_commit(before).unwrap();
        let (first, second) = (append(), append());
        let waiting = [first, second].map(|lsn| {
            let log = log.clone();
            std::thread::spawn(move || log.wait_commit(lsn).map(|()| log.horizon() >= lsn))
        });
        log.wait_log(second).unwrap();
        assert!(log.durable_lsn() >= second);
        assert_eq!((log.horizon() >= before, log.horizon() >= first), (true, !hides));
        std::thread::sleep(Duration::from_millis(20));
        assert!(waiting.iter().all(|t| !t.is_finished()));
        log.gate().advance(first);
        let [one, two] = waiting;
        assert!(one.join().unwrap().unwrap());
        assert_eq!((log.horizon() >= first, log.horizon() >= second), (true, !hides));
        assert!(!two.is_finished());
        log.gate().open();
        assert!(two.join().unwrap().unwrap());
        assert!(log.horizon() >= second);
        // A log that is closed tells nobody.
        log.gate().close(hides);
        let third = append();
        let waits = log.clone();
        let last = std::thread::spawn(move || waits.wait_commit(third));
        log.wait_log(third).unwrap();
        log.close().unwrap();
        assert!(matches!(last.join().unwrap(), Err(crate::LogError::Closed)));
    }
}

#[test]
fn once_a_second_without_being_asked() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::EverySecond);
    let lsn = log.append(RecordKind::Mtr, &[b"lazy"]);
    log.wait_commit(lsn).unwrap();
    let start = Instant::now();
    while log.durable_lsn() < lsn {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn horizon_never_falls_when_the_policy_changes() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::EverySecond);
    let stop = AtomicU64::new(0);
    std::thread::scope(|s| {
        let (log, stop) = (&log, &stop);
        s.spawn(move || {
            while stop.load(Ordering::SeqCst) == 0 {
                log.admit().unwrap();
                let lsn = log.append(RecordKind::Mtr, &[b"tick"]);
                log.wait_commit(lsn).unwrap();
                log.set_checkpoint(log.durable_lsn());
            }
        });
        s.spawn(move || {
            let mut last = Lsn::ZERO;
            while stop.load(Ordering::SeqCst) == 0 {
                let now = log.horizon();
                assert!(now >= last);
                last = now;
            }
        });
        for i in 0..60 {
            let policies = [FlushPolicy::Durable, FlushPolicy::EverySecond, FlushPolicy::Written];
            log.set_policy(policies[i % 3]);
            assert_eq!(log.policy(), policies[i % 3]);
            std::thread::sleep(Duration::from_millis(2));
        }
        stop.store(1, Ordering::SeqCst);
    });
}

#[test]
fn many_laps_with_a_checkpoint_behind() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    let body = payload(5, 100_000);
    let mut last = Vec::new();
    for i in 0..400u64 {
        log.admit().unwrap();
        let lsn = log.append(RecordKind::Mtr, &[&i.to_le_bytes(), &body]);
        last.push(lsn);
        if i % 8 == 7 {
            log.wait_durable(lsn).unwrap();
            let keep = last[last.len() - 4];
            log.set_checkpoint(keep);
            last = last.split_off(last.len() - 4);
        }
    }
    log.wait_durable(*last.last().unwrap()).unwrap();
    let used: u64 = dir.segment_files().iter().map(|f| f.metadata().unwrap().len()).sum();
    assert!(used <= 10 << 20, "{used} bytes of segments for a capacity of 8 MiB");
    let copy = dir.snapshot();
    let checkpoint = log.checkpoint_lsn();
    let (records, ..) = read_from(copy.path(), checkpoint, log.epoch_at(checkpoint)).unwrap();
    let want: Vec<_> = last.iter().copied().filter(|&l| l > checkpoint).collect();
    assert_eq!(records.iter().map(|r| r.0).collect::<Vec<_>>(), want);
    // From before the checkpoint the log is gone, and that is said.
    let gone = LogReader::open(copy.path(), STORE, FIRST_LSN, 1).map(drop);
    assert!(matches!(gone, Err(LogError::SegmentMissing { lsn: FIRST_LSN })), "{gone:?}");
    // The next incarnation goes on in what is there.
    let again = reopen(&copy, checkpoint, 1, 2);
    let lsn = again.append(RecordKind::Mtr, &[b"more"]);
    again.wait_durable(lsn).unwrap();
    assert_eq!(again.epoch_at(checkpoint), 1);
    assert_eq!(again.epoch_at(lsn), 2);
    let (records, end, epochs) = read_from(copy.path(), checkpoint, 1).unwrap();
    assert_eq!(records.last().unwrap(), &(lsn, b"more".to_vec()));
    assert_eq!(epochs.len(), 2);
    assert_eq!(end, again.durable_lsn());
}

#[test]
fn writers_without_a_checkpoint_are_slowed_then_held() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    let body = payload(1, 50_000);
    let start = Instant::now();
    std::thread::scope(|s| {
        let t = s.spawn(|| {
            for _ in 0..300 {
                log.admit().unwrap();
                let lsn = log.append(RecordKind::Mtr, &[&body]);
                log.wait_durable(lsn).unwrap();
            }
        });
        let mut most = 0;
        while !t.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
            most = most.max(log.age());
            // A checkpoint that trails far behind.
            let durable = log.durable_lsn();
            if log.age() < log.usable_bytes() / 5 * 4 && !t.is_finished() {
                continue;
            }
            let target = log.checkpoint_lsn().advance(200_000).min(durable);
            log.set_checkpoint(target);
        }
        assert!(most <= log.usable_bytes() + body.len() as u64 + BLOCK, "age {most} of {}", log.usable_bytes());
        assert!(most >= log.usable_bytes() / 2, "the brake came too early: {most}");
    });
    assert!(start.elapsed() < Duration::from_secs(60));
}

/// A log of a few small records, closed; with the LSNs.
fn small_log(dir: &Dir) -> Vec<(Lsn, Vec<u8>)> {
    let log = fresh(dir, FlushPolicy::Durable);
    let mut all = Vec::new();
    for i in 0..12u64 {
        let body = payload(i, (i * 7 % 40) as usize);
        let lsn = log.append(RecordKind::Mtr, &[&body]);
        all.push((lsn, body));
        if i == 4 {
            log.wait_durable(lsn).unwrap();
        }
    }
    log.close().unwrap();
    all
}

/// The file that holds the log's first bytes.
fn first_segment(dir: &Dir) -> PathBuf {
    let starts_at_first = |f: &PathBuf| std::fs::read(f).unwrap()[24..32] == FIRST_LSN.get().to_le_bytes();
    dir.segment_files().into_iter().find(starts_at_first).unwrap()
}

fn offset(lsn: Lsn) -> usize {
    (SEGMENT_HEADER + lsn.since(FIRST_LSN)) as usize
}

#[test]
fn every_flip_and_every_cut_gives_the_intact_prefix() {
    use std::os::unix::fs::FileExt;
    let dir = Dir::new();
    let all = small_log(&dir);
    let path = first_segment(&dir);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    let whole = good.len() as u64;
    let first = offset(all[4].0);
    let last = offset(all.last().unwrap().0);
    // Every byte of the records of the second flush unit, and some of the padding around it.
    let tail = (first..8192).step_by(411).chain(8192..last);
    let check = |damaged: usize, what: &str| {
        let (records, end, _) = read(dir.path());
        let want: Vec<_> = all.iter().filter(|r| offset(r.0) <= damaged).cloned().collect();
        assert_eq!(records, want, "{what} at {damaged}");
        assert!(offset(end) <= damaged, "{what} at {damaged}: end {end}");
    };
    let restore = |from: usize| file.write_all_at(&good[from..last + 4096], from as u64).unwrap();
    for at in tail {
        for bit in [0x01, 0x80] {
            file.write_all_at(&[good[at] ^ bit], at as u64).unwrap();
            if at >= 8192 {
                check(at, "flip");
                continue;
            }
            // The unit behind says that this one was on disk.
            match read_from(dir.path(), FIRST_LSN, 1) {
                Err(LogError::Corrupt { what, .. }) => assert!(what.contains("on disk up to 8192"), "{what}"),
                other => panic!("a flip at {at} gives {other:?}"),
            }
        }
        restore(at);
        // A torn write: from here on the bytes are those of before.
        for old in [0, 0xa5] {
            file.write_all_at(&vec![old; last + 4096 - at], at as u64).unwrap();
            let changed = (at..good.len()).find(|&i| good[i] != old).unwrap();
            check(changed, "old bytes");
        }
        restore(at);
        if at % 16 == 0 {
            file.set_len(at as u64).unwrap();
            check(at / 4096 * 4096, "file cut");
            file.set_len(whole).unwrap();
            restore(at / 4096 * 4096);
        }
    }
}

#[test]
fn a_chain_of_crashed_incarnations() {
    let dir = Dir::new();
    let mut want = small_log(&dir);
    for epoch in 2..8u64 {
        // Each incarnation starts on a torn copy: its last record and what follows is garbage.
        let lost = want.pop().unwrap();
        let file = first_segment(&dir);
        let mut bytes = std::fs::read(&file).unwrap();
        let from = offset(lost.0) - record_bytes(lost.1.len()) as usize + 3;
        bytes[from..].fill(epoch as u8);
        std::fs::write(&file, &bytes).unwrap();
        let log = reopen(&dir, FIRST_LSN, 1, epoch * 10);
        for i in 0..5 {
            let body = payload(epoch * 100 + i, 50);
            let lsn = log.append(RecordKind::Mtr, &[&body]);
            want.push((lsn, body));
        }
        log.close().unwrap();
        let (records, end, epochs) = read(dir.path());
        assert_eq!(records, want, "epoch {epoch}");
        assert_eq!(end, log.durable_lsn());
        assert_eq!(epochs.len() as u64, epoch);
        assert_eq!(log.epoch_at(want[0].0), 1);
    }
}

#[test]
fn damage_before_a_later_segment_is_not_taken_for_the_end() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    let body = payload(3, 300_000);
    let mut lsns = Vec::new();
    for _ in 0..8 {
        log.admit().unwrap();
        lsns.push(log.append(RecordKind::Mtr, &[&body]));
    }
    log.close().unwrap();
    assert_eq!(read(dir.path()).0.len(), 8);
    let file = first_segment(&dir);
    let good = std::fs::read(&file).unwrap();
    let mut bad = good.clone();
    bad[offset(lsns[0]) + 1000] ^= 1;
    std::fs::write(&file, &bad).unwrap();
    let error = read_from(dir.path(), FIRST_LSN, 1).unwrap_err();
    assert!(matches!(error, LogError::Corrupt { .. }), "{error}");
    // Gone between the directory's list and its own opening, as segments go from a log in use: missed only if it is
    // needed.
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/nowhere/at-all", &file).unwrap();
    let error = read_from(dir.path(), FIRST_LSN, 1).unwrap_err();
    assert!(matches!(error, LogError::SegmentMissing { lsn: FIRST_LSN }), "{error}");
    let other = dir.path().join("00000099.log");
    std::fs::rename(&file, &other).unwrap();
    std::fs::write(&file, &good).unwrap();
    assert_eq!(read(dir.path()).0.len(), 8);
    std::fs::remove_file(&file).unwrap();
    std::fs::remove_file(&other).unwrap();
    // Another store's segment, and one of a newer version.
    bad = good.clone();
    std::fs::write(&file, &bad).unwrap();
    let error = LogReader::open(dir.path(), 5, FIRST_LSN, 1).err().unwrap();
    assert!(matches!(error, LogError::Corrupt { .. }), "{error}");
    bad[48] = 2;
    let sum = gannet_base::crc32c(0, &bad[16..64]);
    bad[12..16].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(&file, &bad).unwrap();
    let error = read_from(dir.path(), FIRST_LSN, 1).unwrap_err();
    assert!(matches!(error, LogError::NewerFormat { version: 2, .. }), "{error}");
}

#[test]
fn arbitrary_bytes_never_panic() {
    let dir = Dir::new();
    small_log(&dir);
    let file = first_segment(&dir);
    let good = std::fs::read(&file).unwrap();
    let mut seed = 12345u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for _ in 0..300 {
        let mut bytes = good[..(SEGMENT_HEADER + 2 * BLOCK) as usize].to_vec();
        for _ in 0..random() % 30 + 1 {
            let at = random() as usize % bytes.len();
            bytes[at] = random() as u8;
        }
        bytes.truncate(random() as usize % (2 * bytes.len()) + 1);
        std::fs::write(&file, &bytes).unwrap();
        let _ = read_from(dir.path(), Lsn(FIRST_LSN.get() + random() % 64 * 8), random() % 3);
    }
}

#[test]
fn capacity_grows_and_shrinks() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    let files = || -> u64 { dir.segment_files().iter().filter_map(|f| f.metadata().ok()).map(|m| m.len()).sum() };
    log.set_capacity(128 << 20).unwrap();
    assert_eq!(log.capacity(), 128 << 20);
    assert!(files() >= 128 << 20);
    log.set_capacity(8 << 20).unwrap();
    let start = Instant::now();
    // Long segments of the greater capacity do not stay: they would leave less of the lesser one to use.
    while files() > 10 << 20 || log.usable_bytes() <= 2 << 20 {
        let usable = log.usable_bytes();
        assert!(start.elapsed() < Duration::from_secs(60), "{} bytes are left, {usable} can be used", files());
        std::thread::sleep(Duration::from_millis(10));
    }
    let error = log.set_capacity(1 << 50).unwrap_err();
    assert!(matches!(error, LogError::NoSpace { .. } | LogError::Io { .. }), "{error}");
    assert_eq!(log.capacity(), 8 << 20);
    assert!(files() <= 10 << 20);
    let lsn = log.append(RecordKind::Mtr, &[b"still here"]);
    log.wait_durable(lsn).unwrap();
}

#[test]
fn waiting_after_close_ends() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    let lsn = log.append(RecordKind::Mtr, &[b"x"]);
    log.close().unwrap();
    log.wait_durable(lsn).unwrap();
    assert!(matches!(log.wait_durable(lsn.advance(1 << 30)), Err(LogError::Closed)));
    assert!(matches!(log.admit(), Err(LogError::Closed)));
}

#[test]
fn a_checkpoint_that_fails_is_waited_for() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    while log.braked_age() < log.usable_bytes() {
        let lsn = log.append(RecordKind::Mtr, &[&[7; 60_000]]);
        log.wait_durable(lsn).unwrap();
    }
    log.set_checkpoints(Checkpoints::Fail);
    let l = log.clone();
    let writer = std::thread::spawn(move || l.admit());
    std::thread::sleep(Duration::from_millis(300));
    assert!(!writer.is_finished());
    log.set_checkpoints(Checkpoints::Move);
    log.set_checkpoint(log.durable_lsn());
    writer.join().unwrap().unwrap();
}

#[test]
#[should_panic(expected = "a log record of")]
fn too_long_a_record_is_refused() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    log.append(RecordKind::Mtr, &[&vec![0; MAX_PAYLOAD], b"1"]);
}

#[test]
fn longest_records_through_the_smallest_ring() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    let body = payload(9, MAX_PAYLOAD);
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                for _ in 0..4 {
                    log.admit().unwrap();
                    let lsn = log.append(RecordKind::Mtr, &[&body]);
                    log.wait_durable(lsn).unwrap();
                }
            });
        }
        s.spawn(|| {
            let end = FIRST_LSN.advance(12 * MAX_PAYLOAD as u64);
            while log.durable_lsn() < end {
                log.set_checkpoint(log.durable_lsn());
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    });
}

fn counted(counter: gannet_telemetry::Counter) -> u64 {
    gannet_telemetry::totals()[counter as usize].1
}

#[test]
fn what_waits_and_what_need_not_is_counted() {
    use gannet_telemetry::Counter::*;
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    // Other tests count at the same time.
    let before = [LogOnFlushWaits, LogOnFlushNoWaits, LogOnWriteNoWaits].map(counted);
    let lsn = log.append(RecordKind::Mtr, &[b"1"]);
    log.wait_durable(lsn).unwrap();
    assert_eq!(wait_durable_in(&log, lsn).unwrap(), 0);
    log.set_policy(FlushPolicy::Written);
    log.wait_commit(lsn).unwrap();
    let after = [LogOnFlushWaits, LogOnFlushNoWaits, LogOnWriteNoWaits].map(counted);
    assert!(after.iter().zip(before).all(|(n, then)| *n > then), "{before:?} {after:?}");
    // While a record is being copied, nothing behind it leaves the buffer: writers wait for room before a record, and
    // those that do not ask wait in one.
    let (body, ends) = (payload(7, 100_000), Instant::now() + Duration::from_secs(60));
    let before = [LogOnBufferSpaceWaits, LogOnRecentWrittenWaitLoops].map(counted);
    let waited =
        || [LogOnBufferSpaceWaits, LogOnRecentWrittenWaitLoops].map(counted).iter().zip(before).all(|(n, b)| *n > b);
    std::thread::scope(|s| {
        let (copying, copies) = std::sync::mpsc::channel();
        let (log, body, waited) = (&log, &body, &waited);
        s.spawn(move || {
            log.append_with(RecordKind::Mtr, &[b"2"], |_| {
                copying.send(()).unwrap();
                while !waited() && Instant::now() < ends {
                    std::thread::sleep(Duration::from_millis(1));
                }
            })
        });
        copies.recv().unwrap();
        s.spawn(move || {
            while !waited() && Instant::now() < ends {
                log.append(RecordKind::Mtr, &[body]);
            }
        });
        while !waited() && Instant::now() < ends {
            log.admit().unwrap();
        }
    });
    assert!(waited(), "no wait for room");
}

/// A task that nobody else waits beside writes and syncs itself; where others waited too, or where syncs are long, the
/// log's writer does.
#[test]
fn a_task_takes_the_writers_turn() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    log.wait_durable(log.append(RecordKind::Mtr, &[b"1"])).unwrap();
    let mut appended = 1;
    let mut alone = |sole: (usize, u32), sync_ns: u64| {
        while log.turns.turn(|w| (w.sole, w.sync_ns, w.next_sync) = (sole, sync_ns, u64::MAX)).is_none() {
            std::thread::yield_now();
        }
        let (before, lsn) = (log.durable_lsn(), log.append(RecordKind::Mtr, &[b"2"]));
        appended += 1;
        hasten(&log, lsn);
        let led = log.durable_lsn() >= lsn;
        assert!(led || log.durable_lsn() == before);
        log.wait_commit(lsn).unwrap();
        led
    };
    // The log's writer may have looked for more to do just then.
    let here = gannet_runtime::slot();
    let ends = Instant::now() + Duration::from_secs(60);
    while !alone((here, u32::MAX), 1000) {
        assert!(Instant::now() < ends, "it never had the turn");
    }
    for _ in 0..10 {
        assert!(!alone((here + 1, u32::MAX), 0) && !alone((here, 0), 0) && !alone((here, u32::MAX), u64::MAX / 8));
        log.set_policy(FlushPolicy::Written);
        assert!(!alone((here, u32::MAX), 0));
        log.set_policy(FlushPolicy::Durable);
    }
    // Who waits meanwhile is woken.
    for _ in 0..100 {
        alone((here, u32::MAX), 0);
        let lsn = log.append(RecordKind::Mtr, &[b"3"]);
        std::thread::scope(|s| {
            s.spawn(|| log.wait_durable(lsn).unwrap());
            hasten(&log, lsn);
        });
    }
    let end = log.tail_lsn();
    log.close().unwrap();
    hasten(&log, end.advance(1));
    assert_eq!(read(dir.path()).0.len(), appended + 100);
}

/// A writer that the checkpoint stops sleeps until it moves: it neither spins nor fills the list of those who wait.
#[test]
fn a_full_log_is_waited_for_asleep() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::EverySecond);
    let body = payload(3, 50_000);
    let times = AtomicU64::new(0);
    let (stopped, waiting) = std::thread::scope(|s| {
        let writer = s.spawn(|| {
            for _ in 0..200 {
                log.admit().unwrap();
                log.wait_durable(log.append(RecordKind::Mtr, &[&body])).unwrap();
                times.fetch_add(1, Ordering::Relaxed);
            }
        });
        // It is stopped when nothing has come for a while, and the log is full: a disk that is slow stops it, too.
        let (mut last, full) = ((0, Instant::now()), || log.age() > log.usable_bytes() / 4 * 3);
        while last.1.elapsed() < Duration::from_millis(if full() { 500 } else { 60_000 }) {
            let now = times.load(Ordering::Relaxed);
            if now != last.0 {
                last = (now, Instant::now());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let stopped = full() && !writer.is_finished();
        let waiting = log.core.space_waiters.lock().len();
        while !writer.is_finished() {
            log.set_checkpoint(log.durable_lsn());
            std::thread::sleep(Duration::from_millis(5));
        }
        (stopped, waiting)
    });
    assert!(stopped && waiting < 100, "entered {waiting} times");
}

pub(crate) fn overwrite(file: &Path, bytes: &[u8]) {
    std::fs::write(file, bytes).unwrap();
}
