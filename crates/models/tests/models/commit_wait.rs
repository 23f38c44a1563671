//! Commits that wait for the log writer, and the writer that falls asleep: no wake-up is lost. A lost one is a deadlock
//! here.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::thread;

use crate::Waker;
use crate::idle::Idle;
use crate::sync::sound_and_weakened;
use crate::waiters::{Waiters, Want};

struct Log {
    waiters: Waiters,
    idle: Idle,
    durable: AtomicU64,
}

/// As the log's `wait_slow`.
fn wait(log: &Log, writer: &Waker, slot: usize, lsn: u64) {
    log.waiters.enter(slot, lsn, Want::Durable, Waker(thread::current()));
    while log.durable.load(Acquire) < lsn {
        if log.idle.take_up() {
            writer.wake();
        }
        thread::park();
    }
}

/// As the log's `poll_commit`.
fn poll(log: &Log, writer: &Waker, slot: usize, lsn: u64, waker: &Waker) -> bool {
    if log.durable.load(Acquire) >= lsn {
        return true;
    }
    log.waiters.enter_once(slot, lsn, Want::Durable, waker);
    let there = log.durable.load(Acquire) >= lsn;
    if !there && log.idle.take_up() {
        writer.wake();
    }
    there
}

/// As a worker with connections that wait without a fiber: each is asked once when it begins to, the first one again at
/// each wake.
fn hold(log: &Log, writer: &Waker, slot: usize, lsns: &[u64]) {
    let waker = Waker(thread::current());
    for &lsn in lsns {
        let _ = poll(log, writer, slot, lsn, &waker);
    }
    for &lsn in lsns {
        while !poll(log, writer, slot, lsn, &waker) {
            thread::park();
        }
    }
}

/// As the log writer's loop: until everything up to `last` is durable.
fn write(log: &Log, last: u64) {
    let mut durable = 0;
    while durable < last {
        let (_, wanted) = log.waiters.demand();
        if wanted > durable {
            durable = wanted;
            log.durable.store(durable, Release);
            log.waiters.wake(0, durable, false);
        } else {
            log.idle.sleep(|| log.waiters.demand().1 > durable, thread::park);
        }
    }
}

fn commits(last: u64) {
    let log = Arc::new(Log { waiters: Waiters::new(), idle: Idle::default(), durable: AtomicU64::new(0) });
    let main = thread::current();
    let committers: Vec<_> = (1..=last)
        .map(|lsn| {
            let (log, main) = (log.clone(), Waker(main.clone()));
            thread::spawn(move || wait(&log, &main, lsn as usize, lsn))
        })
        .collect();
    write(&log, last);
    committers.into_iter().for_each(|c| c.join().unwrap());
}

#[test]
fn no_wake_up_is_lost() {
    sound_and_weakened(
        "commit_wait::no_wake_up_is_lost",
        3,
        || commits(1),
        &[("log/src/waiters.rs", "fence(SeqCst);", 1), ("log/src/idle.rs", "fence(SeqCst);", 1)],
    );
}

#[test]
fn two_commits_are_both_woken() {
    // One is made durable by the other's wish, which the writer has seen while it has not seen its own.
    sound_and_weakened(
        "commit_wait::two_commits_are_both_woken",
        2,
        || commits(2),
        &[("log/src/waiters.rs", "fence(SeqCst);", 2)],
    );
}

#[test]
fn connections_without_fibers_are_all_resumed() {
    // The second enters nothing while the entry of the first is there, and enters anew when the writer has taken that
    // out.
    let held = || {
        let log = Arc::new(Log { waiters: Waiters::new(), idle: Idle::default(), durable: AtomicU64::new(0) });
        let main = Waker(thread::current());
        let worker = {
            let log = log.clone();
            thread::spawn(move || hold(&log, &main, 0, &[1, 2]))
        };
        write(&log, 2);
        worker.join().unwrap();
    };
    sound_and_weakened(
        "commit_wait::connections_without_fibers_are_all_resumed",
        3,
        held,
        &[("log/src/waiters.rs", "fence(SeqCst);", 1), ("log/src/idle.rs", "fence(SeqCst);", 1)],
    );
}
