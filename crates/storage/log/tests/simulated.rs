//! The log on the simulated machine: every interleaving and every crash follows from a seed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gannet_base::Lsn;
use gannet_log::*;
use gannet_runtime::sim::{Sim, SimDisk};
use gannet_runtime::{Wait, now_ns, park, random_u64, sleep, spawn, yield_now};

const STORE: u64 = 9;
const DIR: &str = "/db/log";

/// What the test knows of the log, across crashes. What is changed without a pause in between changes atomically.
#[derive(Clone, Default)]
struct Truth {
    /// Records by their LSN, of all incarnations, without those a crash has taken.
    appended: BTreeMap<Lsn, Vec<u8>>,
    /// Greatest LSN that a waiter was told is durable.
    acknowledged: Lsn,
    /// What a control file would say.
    checkpoint: (Lsn, u64),
    epoch: u64,
}

fn options(policy: FlushPolicy) -> Options {
    Options { dir: DIR.into(), capacity: 8 << 20, policy, ring_bytes: 2 << 20, ..Options::new("") }
}

/// Reads what a crash has left, compares it with the truth, opens the log.
fn recover(truth: &Mutex<Truth>, policy: FlushPolicy) -> Arc<Log> {
    let (from, epoch) = truth.lock().unwrap().checkpoint;
    let mut reader = LogReader::open(Path::new(DIR), STORE, from, epoch).unwrap();
    let mut found = BTreeMap::new();
    while let Some(r) = reader.next().unwrap() {
        found.insert(r.lsn, r.payload.to_vec());
    }
    let (end, epochs) = (reader.end(), reader.epochs().to_vec());
    let new_epoch = {
        let mut t = truth.lock().unwrap();
        assert!(end >= t.acknowledged || from >= t.acknowledged, "{end} is below {}", t.acknowledged);
        let kept: BTreeMap<_, _> =
            t.appended.iter().filter(|(l, _)| **l <= end).map(|(l, p)| (*l, p.clone())).collect();
        let expected: BTreeMap<_, _> = kept.range(from.advance(1)..).map(|(l, p)| (*l, p.clone())).collect();
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        assert!(found == expected, "contents differ");
        t.appended = kept;
        t.epoch += 1;
        t.epoch
    };
    let start = Start { store: STORE, checkpoint: from, end, epochs, epoch: new_epoch };
    Log::open(options(policy), start).unwrap()
}

fn append(log: &Log, truth: &Mutex<Truth>) -> Lsn {
    let long = if random_u64().is_multiple_of(20) { 60_000 } else { 400 };
    let mut body = vec![random_u64() as u8; (random_u64() % long) as usize];
    body.extend(random_u64().to_le_bytes());
    log.append_with(RecordKind::Mtr, &[&body[..body.len() / 2], &body[body.len() / 2..]], |lsn| {
        truth.lock().unwrap().appended.insert(lsn, body.clone());
    })
}

/// Some writers, one that moves the checkpoint. Returns when all have ended.
fn work(log: &Arc<Log>, truth: &Arc<Mutex<Truth>>, rounds: usize) {
    let writers: Vec<_> = (0..4)
        .map(|i| {
            let (log, truth) = (log.clone(), truth.clone());
            spawn(&format!("writer {i}"), move || {
                for _ in 0..rounds {
                    if log.admit().is_err() {
                        return;
                    }
                    let mut lsn = append(&log, &truth);
                    if random_u64().is_multiple_of(3) {
                        lsn = append(&log, &truth);
                    }
                    // By itself, unless another is at it.
                    if random_u64().is_multiple_of(3) {
                        hasten(&log, lsn);
                    }
                    let durable = match random_u64() % 4 {
                        0 => false,
                        1 => log.wait_durable(lsn).is_ok(),
                        _ => log.wait_commit(lsn).is_ok() && log.policy() == FlushPolicy::Durable,
                    };
                    if durable {
                        assert!(log.durable_lsn() >= lsn);
                        let mut t = truth.lock().unwrap();
                        t.acknowledged = t.acknowledged.max(lsn);
                    }
                    if random_u64().is_multiple_of(8) {
                        let _ = sleep(Duration::from_micros(random_u64() % 3000));
                    }
                }
            })
        })
        .collect();
    let (l, t) = (log.clone(), truth.clone());
    let checkpointer = spawn("checkpointer", move || {
        loop {
            match park(Wait::Background, Some(now_ns() + 2_000_000)) {
                gannet_runtime::Unpark::Interrupted => return,
                _ => {
                    let lsn = l.durable_lsn();
                    t.lock().unwrap().checkpoint = (lsn, l.epoch_at(lsn));
                    yield_now();
                    l.set_checkpoint(lsn);
                }
            }
        }
    });
    for w in writers {
        w.join().unwrap();
    }
    checkpointer.context().interrupt(gannet_runtime::Interrupt::Shutdown);
    checkpointer.join().unwrap();
}

fn policy(seed: u64) -> FlushPolicy {
    [FlushPolicy::Durable, FlushPolicy::Durable, FlushPolicy::Written, FlushPolicy::EverySecond][seed as usize % 4]
}

/// Crash after crash on one disk: nothing acknowledged is lost, nothing is read that was not appended.
fn crashes(seed: u64) {
    let disk = SimDisk::new();
    let first = Truth { checkpoint: (FIRST_LSN, 0), ..Truth::default() };
    let truth = Arc::new(Mutex::new(first));
    let mut dice = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for incarnation in 0..6u64 {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        let t = truth.clone();
        // From the middle of opening to well into the work.
        let steps = if dice.is_multiple_of(4) { dice % 200 } else { dice % 6000 };
        Sim::new(seed * 100 + incarnation).disk(&disk).crash_after(steps).run_outcome(move || {
            let log = recover(&t, policy(seed));
            work(&log, &t, 1_000_000);
        });
    }
    let t = truth.clone();
    Sim::new(seed * 100 + 99).disk(&disk).run(move || {
        let log = recover(&t, policy(seed));
        work(&log, &t, 20);
        log.close().unwrap();
        let again = recover(&t, policy(seed));
        again.close().unwrap();
    });
    let appended = truth.lock().unwrap().appended.len();
    assert!(appended > 20, "seed {seed}: only {appended} records");
}

#[test]
fn crashes_lose_nothing_acknowledged() {
    let (from, to) = match std::env::var("SEED") {
        Ok(seed) => (seed.parse().unwrap(), seed.parse::<u64>().unwrap() + 1),
        Err(_) => (1, 25),
    };
    for seed in from..to {
        eprintln!("SEED={seed}");
        crashes(seed);
    }
}

/// A disk that fills up: either all goes on in the space the log has, or it is poisoned and says so; what was
/// acknowledged is there.
#[test]
fn a_full_disk_poisons_or_does_nothing() {
    let mut poisoned = 0;
    for seed in 0..12u64 {
        let disk = SimDisk::new();
        let truth = Arc::new(Mutex::new(Truth { checkpoint: (FIRST_LSN, 0), ..Truth::default() }));
        let (t, d) = (truth.clone(), disk.clone());
        poisoned += Sim::new(seed).disk(&disk).run(move || {
            let log = recover(&t, FlushPolicy::Durable);
            work(&log, &t, 10);
            // Early enough some segments are not yet initialised: writing them needs room.
            if seed % 2 == 0 {
                let _ = sleep(Duration::from_secs(2));
            }
            d.set_capacity(Some(d.used()));
            work(&log, &t, 200);
            if let Some(why) = log.poisoned() {
                assert!(
                    matches!(log.admit(), Err(LogError::Poisoned(_)))
                        && matches!(log.close(), Err(LogError::Poisoned(_)))
                );
                assert!(why.contains("No space"), "{why}");
                return 1;
            }
            log.close().unwrap();
            0
        });
        disk.set_capacity(None);
        let t = truth.clone();
        Sim::new(seed).disk(&disk).run(move || recover(&t, FlushPolicy::Durable).close().unwrap());
    }
    assert!(poisoned < 12, "prepared segments need no room");
}

/// Every waiter is woken, whatever the order of events: the simulation panics when all tasks wait for ever.
#[test]
fn no_wake_up_is_lost() {
    for seed in 0..40u64 {
        let disk = SimDisk::new();
        Sim::new(seed).disk(&disk).run(move || {
            let truth = Arc::new(Mutex::new(Truth { checkpoint: (FIRST_LSN, 0), ..Truth::default() }));
            let log = recover(&truth, FlushPolicy::Durable);
            let tasks: Vec<_> = (0..16)
                .map(|i| {
                    let log = log.clone();
                    spawn(&format!("committer {i}"), move || {
                        for n in 0..6u64 {
                            let lsn = log.append(RecordKind::Mtr, &[&[i as u8; 40]]);
                            match (i + n as usize) % 3 {
                                0 => log.set_policy(FlushPolicy::Written),
                                1 => log.set_policy(FlushPolicy::Durable),
                                _ => {}
                            }
                            if random_u64().is_multiple_of(2) {
                                hasten(&log, lsn);
                            }
                            log.wait_commit(lsn).unwrap();
                            assert!(log.horizon() >= lsn);
                        }
                    })
                })
                .collect();
            let start = now_ns();
            for t in tasks {
                t.join().unwrap();
            }
            assert!(now_ns() - start < 5_000_000_000, "somebody waited for a timer");
            log.close().unwrap();
        });
    }
}

/// While the writer seals a flush others reserve more than the ring holds. To make room it writes what they have
/// completed, which may be more than the flush was to write.
#[test]
fn more_is_appended_while_a_flush_begins_than_the_ring_holds() {
    for seed in 0..90u64 {
        let disk = SimDisk::new();
        Sim::new(seed).disk(&disk).run(move || {
            let start = Start { store: STORE, checkpoint: FIRST_LSN, end: FIRST_LSN, epochs: vec![], epoch: 1 };
            let log = Log::open(options(FlushPolicy::Durable), start).unwrap();
            let task = |i: usize| {
                let log = log.clone();
                let appends = move || {
                    log.wait_durable(log.append(RecordKind::Mtr, &[&[i as u8; 40]])).unwrap();
                    let lsn = log.append(RecordKind::Mtr, &[&vec![i as u8; 900_000]]);
                    if seed % 2 == 0 {
                        hasten(&log, lsn);
                    }
                    log.wait_durable(lsn).unwrap();
                    assert!(log.durable_lsn() >= lsn);
                };
                spawn(&format!("appender {i}"), appends)
            };
            // What is durable ends with a record, whenever somebody looks.
            let reader = (seed >= 80).then(|| {
                let hold = Hold { bound_bytes: 1 << 30, beyond: Beyond::Brake };
                let mut follower = log.retain("a", hold, || log.tail_lsn()).unwrap().follow().unwrap();
                spawn("reader", move || {
                    let mut n = 0;
                    while n < 12 && follower.wait().unwrap() {
                        n += std::iter::from_fn(|| follower.next().unwrap().map(drop)).count();
                    }
                    n
                })
            });
            let tasks: Vec<_> = (0..6).map(task).collect();
            tasks.into_iter().for_each(|t| t.join().unwrap());
            assert!(reader.is_none_or(|r| r.join().unwrap() == 12));
            log.close().unwrap();
        });
    }
}

/// Bits that flip in the log after a crash: what is read is a beginning of what was appended, and it ends before
/// something acknowledged only where nothing written later says so: in what was flushed last.
#[test]
fn damage_is_refused_where_something_later_bears_witness() {
    let (mut refused, mut whole, mut short) = (0, 0, 0);
    for seed in 0..24u64 {
        let disk = SimDisk::new();
        let truth = Arc::new(Mutex::new(Truth { checkpoint: (FIRST_LSN, 0), ..Truth::default() }));
        for incarnation in 0..2 {
            let t = truth.clone();
            Sim::new(seed * 10 + incarnation).disk(&disk).run_outcome(move || {
                let log = recover(&t, FlushPolicy::Durable);
                // Each is told before the next one is appended: the last one alone has no witness.
                let mut last = Lsn::ZERO;
                for _ in 0..20 {
                    last = append(&log, &t);
                    log.wait_durable(last).unwrap();
                }
                t.lock().unwrap().acknowledged = last;
                gannet_runtime::sim::crash()
            });
        }
        let copy = disk.copy();
        // The first segment's body begins at FIRST_LSN, behind a header block: an LSN is its place in the file.
        let first = |f: &std::path::PathBuf| {
            f.starts_with(DIR)
                && copy.peek(f).is_some_and(|bytes| bytes.get(24..32) == Some(&4096u64.to_le_bytes()[..]))
        };
        let file = copy.files().into_iter().find(first).expect("the first segment");
        let (acknowledged, appended) = {
            let t = truth.lock().unwrap();
            (t.acknowledged, t.appended.clone())
        };
        let at = 4096 + (seed * 7919) % (acknowledged.get() - 4096);
        let bytes = copy.peek(&file).expect("its bytes");
        copy.poke(&file, at, &[bytes[at as usize] ^ 1 << (seed % 8)]);
        let read = Sim::new(seed).disk(&copy).run(move || {
            let mut reader = LogReader::open(Path::new(DIR), STORE, FIRST_LSN, 0)?;
            let mut found = BTreeMap::new();
            while let Some(r) = reader.next()? {
                found.insert(r.lsn, r.payload.to_vec());
            }
            Ok::<_, LogError>(found)
        });
        let before_last = *appended.keys().rev().nth(1).expect("two records");
        match read {
            Err(LogError::Corrupt { what, .. }) => {
                assert!(what.contains("damaged at LSN"), "{what}");
                refused += 1;
            }
            Err(e) => panic!("seed {seed}: {e}"),
            Ok(found) if found == appended => whole += 1,
            Ok(found) => {
                assert!(
                    found.iter().all(|(lsn, bytes)| appended.get(lsn) == Some(bytes)),
                    "seed {seed}: not a beginning"
                );
                let end = *found.keys().next_back().expect("a record");
                assert!(
                    end >= before_last,
                    "seed {seed}: the log ends at {end}, before {before_last}, and nobody says so"
                );
                short += 1;
            }
        }
    }
    println!("{refused} refused, {short} end before what was flushed last, {whole} read whole");
    assert!(refused > 12, "{refused} of 24 refused");
}

/// On a full disk a consumer that may be cut off gives way, instead of everybody waiting for it.
#[test]
fn on_a_full_disk_a_consumer_gives_way() {
    let disk = SimDisk::new();
    // The log's 8 MiB, and some.
    disk.set_capacity(Some(12 << 20));
    Sim::new(1).disk(&disk).run(move || {
        let start = Start { store: STORE, checkpoint: FIRST_LSN, end: FIRST_LSN, epochs: vec![], epoch: 1 };
        let log = Log::open(options(FlushPolicy::Durable), start).unwrap();
        let hold = Hold { bound_bytes: 1 << 30, beyond: Beyond::CutOff };
        let _kept = log.retain("a", hold, || log.tail_lsn()).unwrap();
        for n in 0..40 {
            log.admit().unwrap();
            let lsn = log.append(RecordKind::Payload, &[&[n; 900_000]]);
            log.wait_durable(lsn).unwrap();
            log.set_checkpoint(log.durable_lsn());
        }
        assert!(log.consumers()[0].cut_off);
        assert_eq!(log.retained_bytes(), 0);
    });
}

/// Where the disk is full of log that is kept for a consumer, who follows is waited for, and nobody else.
#[test]
fn on_a_full_disk_nobody_waits_for_a_consumer_that_nobody_follows() {
    let disk = SimDisk::new();
    let truth = Arc::new(Mutex::new(Truth { checkpoint: (FIRST_LSN, 0), ..Truth::default() }));
    let hold = Hold { bound_bytes: 1 << 30, beyond: Beyond::Brake };
    let (t, room) = (truth.clone(), disk.clone());
    let fill = move |log: &Log, truth: &Mutex<Truth>| {
        for n in 0..14 {
            let payload = vec![n; 900_000];
            let lsn = log.append(RecordKind::Payload, &[&payload]);
            truth.lock().unwrap().appended.insert(lsn, payload);
            let asked = now_ns();
            while !log.poll_commit(lsn, &gannet_runtime::waker())? {
                let _ = sleep(Duration::from_millis(100));
                if now_ns() - asked > 20_000_000_000 {
                    return Ok(false);
                }
            }
            let mut t = truth.lock().unwrap();
            (t.acknowledged, t.checkpoint) = (lsn, (lsn, log.epoch()));
            drop(t);
            log.set_checkpoint(lsn);
        }
        Ok::<bool, LogError>(true)
    };
    let f = fill;
    Sim::new(1).disk(&disk).crash_after(u64::MAX).run_outcome(move || {
        let log = recover(&t, FlushPolicy::Durable);
        let kept = log.retain("a", hold, || log.tail_lsn()).unwrap();
        room.set_capacity(Some(12 << 20));
        assert!(!f(&log, &t).unwrap(), "it does not wait");
        drop(kept);
        gannet_runtime::sim::crash();
    });
    let t = truth.clone();
    Sim::new(2).disk(&disk).crash_after(u64::MAX).run_outcome(move || {
        let log = recover(&t, FlushPolicy::Durable);
        let began = now_ns();
        let refused = fill(&log, &t).unwrap_err();
        assert!(matches!(&refused, LogError::Poisoned(why) if why.contains("no room")), "{refused}");
        assert!(now_ns() - began < 15_000_000_000);
        gannet_runtime::sim::crash();
    });
    // With room nothing is missing.
    disk.set_capacity(None);
    Sim::new(3).disk(&disk).run(move || {
        let log = recover(&truth, FlushPolicy::Durable);
        let mut follower = log.retain("a", hold, || unreachable!()).unwrap().follow().unwrap();
        let mut n = 0;
        while follower.next().unwrap().is_some() {
            n += 1;
        }
        assert_eq!(n, truth.lock().unwrap().appended.len());
    });
}
