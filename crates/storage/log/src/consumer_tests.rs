//! Consumers of the log on real files: what is kept for them, through restarts, and what happens beyond their bounds.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gannet_base::Lsn;
use gannet_base::sync::Arc;

use crate::tests::{Dir, STORE, fresh, options, overwrite, read_from};
use crate::*;

const MIB: u64 = 1 << 20;

fn hold(bound_bytes: u64, beyond: Beyond) -> Hold {
    Hold { bound_bytes, beyond }
}

/// Appends `bytes` of records, each with a number of its own, and makes them durable.
fn write(log: &Log, bytes: u64) {
    let end = log.tail_lsn().advance(bytes);
    while log.tail_lsn() < end {
        log.append(RecordKind::Payload, &[&log.tail_lsn().0.to_le_bytes(), &[7; 60_000]]);
    }
    log.wait_durable(log.tail_lsn()).unwrap();
}

/// Numbers of the records that can be read now; each says where it begins.
fn follow(follower: &mut Follower) -> Result<usize, LogError> {
    let mut n = 0;
    while let Some((_, r)) = follower.next()? {
        assert_eq!(r.payload[..8], r.start.0.to_le_bytes());
        n += 1;
    }
    Ok(n)
}

fn place(follower: &Follower) -> Position {
    Position { from: follower.at(), epoch: follower.epoch(), done: follower.at() }
}

/// Opens again what a killed process would leave, with the checkpoint where it was.
fn reopened(dir: &Dir, checkpoint: Lsn, epoch: u64) -> Arc<Log> {
    let (_, end, epochs) = read_from(dir.path(), checkpoint, epoch).unwrap();
    let new = epochs.last().unwrap().1 + 1;
    let start = Start { store: STORE, checkpoint, end, epochs, epoch: new };
    Log::open(options(dir, FlushPolicy::Durable), start).unwrap()
}

#[test]
fn a_new_name_begins_where_the_log_is_durable() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    for n in 0..10 {
        let end = log.append(RecordKind::Payload, &[&log.tail_lsn().0.to_le_bytes(), &[7; 6_000]]);
        let kept = log.retain(&format!("name {n}"), hold(1 << 30, Beyond::Brake), || log.tail_lsn()).unwrap();
        let position = kept.position().unwrap();
        assert!(position.done >= end && log.durable_lsn() >= position.done, "{position:?}");
    }
}

#[test]
fn a_consumer_keeps_the_log_through_restarts() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    write(&log, MIB);
    let kept = log.retain("a", hold(1 << 30, Beyond::Brake), || log.tail_lsn()).unwrap();
    let begun = kept.position().unwrap();
    assert!(!kept.is_resumed() && log.has_consumers());
    assert!(matches!(log.retain("a", hold(1, Beyond::Brake), || log.tail_lsn()), Err(LogError::InUse { .. })));
    assert!(matches!(log.retain("", hold(1, Beyond::Brake), || log.tail_lsn()), Err(LogError::InUse { .. })));
    // Far more than the capacity, and the checkpoint passes all of it.
    for _ in 0..30 {
        write(&log, MIB);
        log.set_checkpoint(log.durable_lsn());
    }
    let (checkpoint, tail) = (log.checkpoint_lsn(), log.tail_lsn());
    assert!(log.retained_bytes() >= checkpoint.since(begun.from));
    let status = &log.consumers()[0];
    assert_eq!((&*status.name, status.position, status.attached, status.cut_off), ("a", begun, true, false));
    assert_eq!(status.behind_bytes, tail.since(begun.from));

    // A killed process: the copy has it all; then two more incarnations.
    let copy = dir.snapshot();
    let again = reopened(&copy, checkpoint, 1);
    write(&again, MIB);
    drop(again);
    let again = reopened(&copy, checkpoint, 1);
    write(&again, MIB);
    let resumed = again.retain("a", hold(1 << 30, Beyond::Brake), || unreachable!()).unwrap();
    assert!(resumed.is_resumed());
    assert_eq!(resumed.position().unwrap(), begun);
    let mut follower = resumed.follow().unwrap();
    let n = follow(&mut follower).unwrap();
    assert!(n >= 32 * 17, "{n} records");
    assert_eq!((follower.epoch(), follower.at()), (again.epoch(), again.durable_lsn()));
    // What it lets go is recycled, once the file says so.
    let files = copy.segment_files().len();
    follower.retention().release_to(place(&follower)).unwrap();
    again.set_checkpoint(again.durable_lsn());
    let waited = Instant::now();
    while copy.segment_files().len() > files / 2 {
        assert!(waited.elapsed() < Duration::from_secs(60), "nothing is recycled");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(again.retained_bytes(), 0);
    let last = follower.retention().position().unwrap();
    drop(follower);
    let (checkpoint, epoch) = (again.checkpoint_lsn(), again.epoch());
    drop(again);
    // Closed in good order: it stands where it stood.
    let again = reopened(&copy, checkpoint, epoch);
    let resumed = again.retain("a", hold(1 << 30, Beyond::Brake), || again.tail_lsn()).unwrap();
    assert_eq!(resumed.position().unwrap(), last);
    resumed.forget().unwrap();
    assert!(again.consumers().is_empty() && !again.has_consumers());
    drop(again);
    assert!(reopened(&copy, checkpoint, epoch).consumers().is_empty());
}

#[test]
fn beyond_its_bound_a_consumer_is_cut_off() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    let slow = log.retain("slow", hold(4 * MIB, Beyond::CutOff), || log.tail_lsn()).unwrap();
    let other = log.retain("other", hold(1 << 30, Beyond::CutOff), || log.tail_lsn()).unwrap();
    let mut follower = slow.follow().unwrap();
    write(&log, 3 * MIB);
    log.set_checkpoint(log.durable_lsn());
    assert!(follow(&mut follower).unwrap() > 40);
    write(&log, 2 * MIB);
    // The bound counts from what it has let go.
    log.set_checkpoint(log.durable_lsn());
    let lost = |e: LogError| matches!(e, LogError::CutOff { name } if name == "slow");
    assert!(lost(follower.retention().position().unwrap_err()));
    assert!(lost(follower.retention().release_to(place(&follower)).unwrap_err()));
    assert!(lost(follower.wait().unwrap_err()));
    drop(follower);
    assert!(lost(log.retain("slow", hold(MIB, Beyond::CutOff), || log.tail_lsn()).err().unwrap()));
    assert_eq!(log.consumers().iter().map(|c| c.cut_off).collect::<Vec<_>>(), [true, false]);
    // It is so after a restart, too, until the name is dropped.
    let (checkpoint, epoch) = (log.checkpoint_lsn(), log.epoch());
    drop((other, log));
    let log = reopened(&dir, checkpoint, epoch);
    assert!(lost(log.retain("slow", hold(MIB, Beyond::CutOff), || log.tail_lsn()).err().unwrap()));
    assert!(log.forget_consumer("slow").unwrap() && !log.forget_consumer("slow").unwrap());
    assert!(!log.retain("slow", hold(MIB, Beyond::CutOff), || log.tail_lsn()).unwrap().is_resumed());
}

#[test]
fn beyond_its_bound_a_consumer_brakes_writers() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    let slow = log.retain("slow", hold(4 * MIB, Beyond::Brake), || log.tail_lsn()).unwrap();
    let mut follower = slow.follow().unwrap();
    let l = log.clone();
    let writer = std::thread::spawn(move || {
        for _ in 0..160 {
            l.admit().unwrap();
            let lsn = l.append(RecordKind::Payload, &[&l.tail_lsn().0.to_le_bytes(), &[7; 60_000]]);
            l.wait_durable(lsn).unwrap();
            l.set_checkpoint(l.durable_lsn());
        }
    });
    let waited = Instant::now();
    while !writer.is_finished() {
        let behind = log.consumers()[0].behind_bytes;
        assert!(behind <= 4 * MIB + 200_000, "{behind} bytes behind");
        assert!(waited.elapsed() < Duration::from_secs(60), "the writer is not let go");
        if behind >= 4 * MIB - 200_000 {
            // A few records later it stands still until something is let go.
            let mut tail = log.tail_lsn();
            let stands = |_| {
                std::thread::sleep(Duration::from_millis(300));
                std::mem::replace(&mut tail, log.tail_lsn()) == log.tail_lsn()
            };
            assert!((0..100).any(stands), "it goes on");
            follow(&mut follower).unwrap();
            follower.retention().release_to(place(&follower)).unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    writer.join().unwrap();
    assert!(waited.elapsed() > Duration::from_millis(600), "it never stood still");
}

/// `log` at the bound of a consumer, with its follower, which reads nothing.
fn at_its_bound(dir: &Dir) -> (Arc<Log>, Follower) {
    let log = fresh(dir, FlushPolicy::Durable);
    let kept = log.retain("slow", hold(4 * MIB, Beyond::Brake), || log.tail_lsn()).unwrap();
    write(&log, 5 * MIB);
    log.set_checkpoint(log.durable_lsn());
    (log, kept.follow().unwrap())
}

/// Enters the log's brake in a task of its own.
fn admitted(log: &Arc<Log>, hurried: bool) -> gannet_runtime::JoinHandle<Result<(), LogError>> {
    let log = log.clone();
    gannet_runtime::spawn("writer", move || {
        let _hurry = hurried.then(gannet_runtime::hurry);
        log.admit()
    })
}

#[test]
fn who_ends_or_makes_room_waits_for_no_consumer() {
    let dir = Dir::new();
    let (log, mut follower) = at_its_bound(&dir);
    admitted(&log, true).join().unwrap().unwrap();
    // Another writer waits, until it is interrupted or the consumer reads on.
    let writers = [admitted(&log, false), admitted(&log, false)];
    std::thread::sleep(Duration::from_millis(300));
    assert!(writers.iter().all(|w| !w.is_finished()));
    let [killed, waiting] = writers;
    killed.context().interrupt(gannet_runtime::Interrupt::Query);
    assert!(matches!(killed.join().unwrap(), Err(LogError::Interrupted)));
    assert!(!waiting.is_finished());
    follow(&mut follower).unwrap();
    follower.retention().release_to(place(&follower)).unwrap();
    waiting.join().unwrap().unwrap();
}

#[test]
fn before_somebody_follows_nobody_waits_for_a_consumer() {
    let dir = Dir::new();
    let (log, follower) = at_its_bound(&dir);
    let (checkpoint, epoch) = (log.checkpoint_lsn(), log.epoch());
    drop((follower, log));
    let log = reopened(&dir, checkpoint, epoch);
    assert!(log.consumers()[0].behind_bytes > 4 * MIB);
    admitted(&log, false).join().unwrap().unwrap();
    // What is kept for it stays.
    write(&log, MIB);
    log.set_checkpoint(log.durable_lsn());
    let mut follower = log.retain("slow", hold(4 * MIB, Beyond::Brake), || unreachable!()).unwrap().follow().unwrap();
    let waiting = admitted(&log, false);
    std::thread::sleep(Duration::from_millis(300));
    assert!(!waiting.is_finished());
    assert!(follow(&mut follower).unwrap() > 6 * MIB as usize / 60_100);
    follower.retention().release_to(place(&follower)).unwrap();
    waiting.join().unwrap().unwrap();
}

#[test]
fn a_follower_waits_for_more_and_ends_with_the_log() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    let mut follower = log.retain("f", hold(1 << 30, Beyond::Brake), || log.tail_lsn()).unwrap().follow().unwrap();
    let reader = std::thread::spawn(move || {
        let mut n = 0;
        loop {
            n += follow(&mut follower).unwrap();
            follower.retention().release_to(place(&follower)).unwrap();
            if !follower.wait().unwrap() {
                return n + follow(&mut follower).unwrap();
            }
        }
    });
    for n in 0..50u64 {
        std::thread::sleep(Duration::from_millis(n % 3));
        let lsn = log.append(RecordKind::Payload, &[&log.tail_lsn().0.to_le_bytes()]);
        if n % 2 == 0 {
            log.wait_durable(lsn).unwrap();
        }
    }
    log.close().unwrap();
    assert_eq!(reader.join().unwrap(), 50);
}

#[test]
fn a_damaged_list_of_consumers_stops_nobody() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    drop(log.retain("a", hold(1 << 30, Beyond::Brake), || log.tail_lsn()).unwrap());
    write(&log, MIB);
    drop(log);
    let file = dir.path().join("consumers");
    let mut bytes = std::fs::read(&file).unwrap();
    for half in bytes.chunks_mut(4096) {
        half[100] ^= 1;
    }
    overwrite(&file, &bytes);
    let log = reopened(&dir, FIRST_LSN, 1);
    assert!(log.consumers().is_empty());
    assert!(!log.retain("a", hold(1 << 30, Beyond::Brake), || log.tail_lsn()).unwrap().is_resumed());
    drop(log);
    // A newer build's is left alone.
    bytes.chunks_mut(4096).for_each(|half| {
        half[100] ^= 1;
        half[8] = 9;
    });
    overwrite(&file, &bytes);
    let start = Start { store: STORE, checkpoint: FIRST_LSN, end: FIRST_LSN, epochs: vec![], epoch: 9 };
    let refused = Log::open(options(&dir, FlushPolicy::Durable), start).err();
    assert!(matches!(refused, Some(LogError::NewerFormat { version: 9, .. })), "{refused:?}");
    assert!(std::fs::read(&file).unwrap() == bytes);
}

/// Segments that a build without consumers has recycled are missed when the log is opened, and only by the consumer.
#[test]
fn a_consumer_whose_segments_are_gone_is_cut_off() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    drop(log.retain("a", hold(1 << 30, Beyond::Brake), || log.tail_lsn()).unwrap());
    let first: Vec<_> = dir.segment_files();
    write(&log, 12 * MIB);
    log.set_checkpoint(log.durable_lsn());
    let (checkpoint, epoch) = (log.checkpoint_lsn(), log.epoch());
    drop(log);
    let holds = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        u64::from_le_bytes(bytes[24..32].try_into().unwrap()) == FIRST_LSN.0
    };
    let gone = first.iter().find(|p| p.extension().is_some_and(|e| e == "log") && holds(p)).unwrap();
    std::fs::remove_file(gone).unwrap();
    let log = reopened(&dir, checkpoint, epoch);
    assert!(log.consumers()[0].cut_off);
    write(&log, MIB);
}

/// Files that are made because a consumer holds the log stay: while nobody writes, none is made or removed.
#[test]
fn an_idle_log_makes_no_files() {
    let dir = Dir::new();
    let options = Options { capacity: 64 << 20, ..options(&dir, FlushPolicy::Durable) };
    let start = Start { store: STORE, checkpoint: FIRST_LSN, end: FIRST_LSN, epochs: vec![], epoch: 1 };
    let log = Log::open(options, start).unwrap();
    let kept = log.retain("a", hold(1 << 30, Beyond::Brake), || log.tail_lsn()).unwrap();
    for _ in 0..3 {
        write(&log, 3 * MIB);
        log.set_checkpoint(log.durable_lsn());
    }
    let files = || {
        let all = dir.segment_files().into_iter();
        all.filter(|p| p.extension().is_some_and(|e| e == "log")).collect::<Vec<_>>()
    };
    let mut before = files();
    let settled = (0..40).any(|_| {
        std::thread::sleep(Duration::from_millis(250));
        std::mem::replace(&mut before, files()) == before
    });
    assert!(settled, "{before:?}");
    drop(kept);
}

#[test]
fn a_tail_passes_the_boundaries_between_incarnations() {
    let dir = Dir::new();
    drop(fresh(&dir, FlushPolicy::Durable));
    for _ in 0..3 {
        write(&reopened(&dir, FIRST_LSN, 1), MIB);
    }
    let log = reopened(&dir, FIRST_LSN, 1);
    write(&log, 3 * MIB);
    let (records, end, mut epochs) = read_from(dir.path(), FIRST_LSN, 1).unwrap();
    let mut tail = Tail::new(&log, FIRST_LSN, 1);
    // What is written from now on it finds in memory.
    write(&log, 3 * MIB);
    let (mut met, mut n) = (vec![tail.epoch()], 0);
    while let Some((epoch, record)) = tail.next().unwrap() {
        assert_eq!(record.payload[..8], record.start.0.to_le_bytes());
        n += 1;
        if met.last() != Some(&epoch) {
            met.push(epoch);
        }
    }
    assert!(n >= records.len() + 50 && tail.at() > end, "{n} records");
    // Incarnations without a record of a user are passed over.
    epochs.retain(|e| met.contains(e));
    assert!(epochs == met && met.len() == 5, "{met:?}");
    assert_eq!(tail.at(), log.durable_lsn());
    // It keeps nothing: once recycled, the log cannot be read from an earlier place.
    log.set_checkpoint(log.durable_lsn());
    for _ in 0..10 {
        write(&log, MIB);
        log.set_checkpoint(log.durable_lsn());
    }
    let gone = Tail::new(&log, FIRST_LSN, 1).next().map(drop);
    assert!(matches!(gone, Err(LogError::SegmentMissing { lsn: FIRST_LSN })), "{gone:?}");
}

#[test]
fn a_tail_is_woken_when_as_much_is_durable_as_it_expects() {
    let dir = Dir::new();
    let log = fresh(&dir, FlushPolicy::Durable);
    let (told, ready) = std::sync::mpsc::channel();
    let its = log.clone();
    let waiting = std::thread::spawn(move || {
        let mut tail = Tail::new(&its, its.durable_lsn(), 1);
        assert!(!tail.expect(MIB));
        told.send(tail.at()).unwrap();
        while !tail.expect(MIB) {
            let _ = gannet_runtime::park(gannet_runtime::Wait::LogFollow, None);
        }
        its.durable_lsn().since(tail.at())
    });
    let at = ready.recv().unwrap();
    while log.durable_lsn().since(at) < MIB {
        assert!(!waiting.is_finished());
        write(&log, 1);
    }
    assert!(waiting.join().unwrap() >= MIB);
}

/// The log's writer cuts records where it makes room, so that some lie in one of its writes and others in two, and the
/// tail falls behind what is in memory first.
#[test]
fn a_tail_reads_from_memory_and_from_disk_what_was_appended() {
    const BYTES: u64 = 24 * MIB;
    let dir = Dir::new();
    let start = Start { store: STORE, checkpoint: FIRST_LSN, end: FIRST_LSN, epochs: vec![], epoch: 1 };
    let log = Log::open(Options { capacity: 64 << 20, ..options(&dir, FlushPolicy::Durable) }, start).unwrap();
    let mut tail = Tail::new(&log, FIRST_LSN, 1);
    let mut read = Vec::new();
    std::thread::scope(|s| {
        for thread in 0..3u64 {
            let log = &log;
            s.spawn(move || {
                let end = FIRST_LSN.advance(BYTES);
                let bytes: Vec<u8> = (0..400_000u64).map(|i| (i * i / 7 + thread) as u8).collect();
                for n in 0.. {
                    let len = if n % 64 == 0 { bytes.len() } else { (n * 7919 % 6000) as usize };
                    let lsn = log.append(RecordKind::Payload, &[&bytes[..len]]);
                    if lsn >= end {
                        log.wait_durable(lsn).unwrap();
                        return;
                    }
                    if n % 50 == 0 {
                        log.wait_durable(lsn).unwrap();
                    }
                }
            });
        }
        while log.durable_lsn() < FIRST_LSN.advance(BYTES) {
            // Half of the log has gone by before it begins.
            if log.durable_lsn() > FIRST_LSN.advance(BYTES / 2) {
                while let Some((_, r)) = tail.next().unwrap() {
                    read.push((r.lsn, r.payload.to_vec()));
                }
            }
            std::thread::yield_now();
        }
    });
    while let Some((_, r)) = tail.next().unwrap() {
        read.push((r.lsn, r.payload.to_vec()));
    }
    log.close().unwrap();
    assert!(read == read_from(dir.path(), FIRST_LSN, 1).unwrap().0, "{} records", read.len());
}
