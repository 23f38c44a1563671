//! Workers apply transactions of rows beside each other, and commit them in the order of the source's log.
//!
//! Which transactions touch the same rows is not known before: row locks tell. One that waits for its turn to commit
//! does so as if it waited for a row of the one whose turn it is, so that a cycle of both kinds of waiting is found as
//! a deadlock; the later transaction is undone then. It is applied again when all before it have committed, and so is
//! one that did not find what another one has still to write: only an error in its turn is one. Where the replica
//! stands goes with each commit, so that a crash leaves a beginning of the log, without a gap.

use crate::Fault;
use crate::channel::Channel;
use crate::source::Position;
use crate::status::Transaction;
use gannet_base::TrxId;
use gannet_base::sync::{Arc, Mutex};
use gannet_binlog::map::TableMap;
use gannet_catalog::Position as Record;
use gannet_core::vars::Live;
use gannet_engine::{Lsn, commit_gate};
use gannet_exec::error::from_engine;
use gannet_runtime::{Interrupt, JoinHandle, Unpark, Wait, Waker, now_ns, park, waker};
use gannet_session::follow::{Follower, KeyCheck, LogKind};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};
use std::collections::{BTreeMap, VecDeque};

/// So many transactions wait for a worker at most, and so many bytes of them.
const MOST_QUEUED: usize = 256;
const MOST_QUEUED_BYTES: usize = 32 << 20;
/// One that waits for its turn so long may stand in the way of the one whose turn it is.
const PATIENCE_NS: u64 = 300_000;

/// What a transaction consists of.
pub(crate) enum Piece {
    /// Rows of this table follow.
    Map(TableMap),
    /// Kind of event, its body, and when the source wrote it: seconds since 1970.
    Rows(u8, Vec<u8>, u32),
}

impl Piece {
    pub(crate) fn apply(&self, follower: &mut Follower) -> Result<()> {
        match self {
            Piece::Map(map) => {
                follower.map(map.clone());
                Ok(())
            }
            Piece::Rows(kind, body, timestamp) => follower.rows(*kind, body, *timestamp),
        }
    }
}

/// A transaction of rows.
pub(crate) struct Job {
    pub(crate) transaction: Transaction,
    pub(crate) log: LogKind,
    pub(crate) pieces: Vec<Piece>,
    /// Bytes of its events.
    pub(crate) bytes: usize,
    /// Where the source's log stands behind it, and that as a record of the dictionary.
    pub(crate) position: Position,
    pub(crate) record: Record,
    /// When the source committed it: seconds since 1970.
    pub(crate) timestamp: u32,
}

/// Transactions in the order of the log, by their numbers since the start.
#[derive(Default)]
struct Line {
    queue: VecDeque<Job>,
    queued_bytes: usize,
    /// The number of the next one that a worker takes, and of the one whose turn it is to commit.
    taken: u64,
    turn: u64,
    /// The engine's numbers of those under way.
    named: BTreeMap<u64, TrxId>,
    /// The last commit.
    last: Lsn,
    /// Nothing is applied any more: with this error, or because it was stopped.
    failed: Option<SqlError>,
    closed: bool,
    /// Workers without a transaction, those that wait for their turn, and who hands on transactions.
    idle: Vec<Waker>,
    waiting: Vec<(u64, Waker)>,
    feeder: Option<Waker>,
}

impl Line {
    /// Transactions that have been handed on and are not committed.
    fn open(&self) -> u64 {
        self.taken + self.queue.len() as u64 - self.turn
    }

    fn is_full(&self) -> bool {
        self.queue.len() >= MOST_QUEUED || self.queued_bytes >= MOST_QUEUED_BYTES
    }

    fn ends(&self) -> bool {
        self.closed || self.failed.is_some()
    }

    fn wake_all(&mut self) {
        self.idle.drain(..).for_each(|w| w.wake());
        self.waiting.drain(..).for_each(|(_, w)| w.wake());
        self.feeder.take().iter().for_each(Waker::wake);
    }
}

/// The workers of a channel.
pub(crate) struct Workers {
    channel: Arc<Channel>,
    line: Arc<Mutex<Line>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Workers {
    /// What is not committed is undone, and asked for again.
    fn drop(&mut self) {
        {
            let mut line = self.line.lock();
            line.closed = true;
            line.wake_all();
        }
        for task in self.tasks.drain(..) {
            task.context().interrupt(Interrupt::Shutdown);
            let _ended = task.join();
        }
        show_commits(&self.channel, &self.line);
    }
}

/// Waits for the log up to the last commit: before that nobody else sees it, whoever asks when appliers have ended.
fn show_commits(channel: &Channel, line: &Mutex<Line>) {
    let last = line.lock().last;
    if !last.is_zero() {
        // A log that cannot be written has told so.
        let _written = commit_gate(&channel.core.engine).wait_for_log(last);
    }
}

fn stopped() -> SqlError {
    sql_err!(QueryInterrupted)
}

impl Workers {
    /// `count` of them.
    pub(crate) fn start(channel: &Arc<Channel>, count: usize) -> Workers {
        let line = Arc::new(Mutex::new(Line::default()));
        let task = |number: usize| {
            let (channel, line) = (channel.clone(), line.clone());
            gannet_runtime::spawn("applier", move || Worker { number, channel, line }.run())
        };
        Workers { channel: channel.clone(), line: line.clone(), tasks: (0..count).map(task).collect() }
    }

    /// Hands a transaction on; waits while many are under way.
    pub(crate) fn hand_on(&self, job: Job) -> std::result::Result<(), Fault> {
        self.wait(|line| !line.is_full())?;
        let mut line = self.line.lock();
        line.queued_bytes += job.bytes;
        line.queue.push_back(job);
        if let Some(idle) = line.idle.pop() {
            idle.wake();
        }
        Ok(())
    }

    /// Waits until all of them have committed.
    pub(crate) fn drain(&self) -> std::result::Result<(), Fault> {
        self.wait(|line| line.open() == 0)
    }

    /// And until that is durable.
    pub(crate) fn settle(&self) -> std::result::Result<(), Fault> {
        self.drain()?;
        let last = std::mem::take(&mut self.line.lock().last);
        let gate = commit_gate(&self.channel.core.engine);
        if last.is_zero() { Ok(()) } else { Ok(gate.wait_for_log(last).map_err(from_engine)?) }
    }

    /// The error that has ended them.
    pub(crate) fn failure(&self) -> Option<SqlError> {
        self.line.lock().failed.clone()
    }

    fn wait(&self, done: impl Fn(&Line) -> bool) -> std::result::Result<(), Fault> {
        loop {
            {
                let mut line = self.line.lock();
                if let Some(e) = &line.failed {
                    return Err(Fault::Applying(e.clone()));
                }
                if done(&line) {
                    return Ok(());
                }
                line.feeder = Some(waker());
            }
            if park(Wait::LogFollow, None) == Unpark::Interrupted {
                return Err(Fault::Stopped);
            }
        }
    }
}

struct Worker {
    number: usize,
    channel: Arc<Channel>,
    line: Arc<Mutex<Line>>,
}

impl Drop for Worker {
    /// Nobody waits for one that has panicked.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut line = self.line.lock();
            line.failed.get_or_insert_with(|| SqlError::internal("a worker of the replica has panicked"));
            line.wake_all();
        }
    }
}

impl Worker {
    fn run(&self) {
        let outcome = self.follower().and_then(|mut follower| {
            while let Some((number, job)) = self.take() {
                self.channel.status.lock().begins(self.number, &job.transaction);
                self.apply(&mut follower, number, &job)?;
                let idle = self.line.lock().open() == 0;
                if idle {
                    // Others see it, and whoever asks.
                    follower.settle()?;
                }
            }
            Ok(())
        });
        if let Err(e) = outcome {
            // What has committed before it is seen with the error.
            show_commits(&self.channel, &self.line);
            {
                let mut line = self.line.lock();
                if !line.ends() {
                    self.channel.status.lock().failed_at(self.number, &e);
                    line.failed = Some(e);
                }
                line.wake_all();
            }
            // Whoever reads hears of it.
            self.channel.relay.wake_reader();
        }
    }

    fn follower(&self) -> Result<Follower> {
        let session = self.channel.session()?;
        let mut follower = Follower::new(session, KeyCheck::Stream);
        follower.read_committed()?;
        Ok(follower)
    }

    /// The next transaction and its number; `None`: it is over.
    fn take(&self) -> Option<(u64, Job)> {
        loop {
            {
                let mut line = self.line.lock();
                if line.ends() {
                    return None;
                }
                if let Some(job) = line.queue.pop_front() {
                    line.queued_bytes -= job.bytes;
                    line.taken += 1;
                    if line.queue.len() <= MOST_QUEUED / 2 && line.queued_bytes <= MOST_QUEUED_BYTES / 2 {
                        line.feeder.take().iter().for_each(Waker::wake);
                    }
                    return Some((line.taken - 1, job));
                }
                line.idle.push(waker());
            }
            if park(Wait::LogFollow, None) == Unpark::Interrupted {
                return None;
            }
        }
    }

    /// Applies a transaction, again and again where others stood in its way.
    fn apply(&self, follower: &mut Follower, number: u64, job: &Job) -> Result<()> {
        let retries = self.channel.core.globals.get(Live::ReplicaTransactionRetries).as_u64();
        let (mut tried, mut seen) = (0, false);
        loop {
            let in_turn = self.line.lock().turn == number;
            let Err(e) = self.attempt(follower, number, job) else { return Ok(()) };
            follower.rollback()?;
            self.line.lock().named.remove(&number);
            if in_turn && !seen {
                // It may have looked for what the one before has committed, and what is to be seen only now.
                show_commits(&self.channel, &self.line);
                seen = true;
                self.channel.status.lock().again(self.number, &e);
                continue;
            }
            if in_turn {
                let passes = matches!(e.code(), ErrorCode::LockWaitTimeout | ErrorCode::LockDeadlock);
                if !passes || tried >= retries {
                    return Err(e);
                }
                tried += 1;
            }
            self.wait_for_turn(number, None)?;
            self.channel.status.lock().again(self.number, &e);
        }
    }

    fn attempt(&self, follower: &mut Follower, number: u64, job: &Job) -> Result<()> {
        let applies = job.transaction.applies(follower.begin(job.transaction.gtid, job.transaction.first())?)?;
        if applies {
            follower.is_as(job.log);
            follower.start()?;
            let name = follower.name()?;
            self.line.lock().named.insert(number, name);
            job.pieces.iter().try_for_each(|piece| piece.apply(follower))?;
        }
        self.wait_for_turn(number, Some(follower))?;
        let lsn = if applies { follower.commit_early(&job.record)? } else { None };
        self.channel.applied(self.number, &job.position, job.timestamp, lsn.unwrap_or_default());
        self.pass(number, lsn);
        follower.left(lsn)
    }

    /// It has committed: the next one's turn.
    fn pass(&self, number: u64, lsn: Option<Lsn>) {
        let mut line = self.line.lock();
        line.turn = number + 1;
        line.named.remove(&number);
        line.last = lsn.unwrap_or(line.last);
        if let Some(at) = line.waiting.iter().position(|(n, _)| *n == number + 1) {
            line.waiting.swap_remove(at).1.wake();
        }
        if line.open() == 0 {
            line.feeder.take().iter().for_each(Waker::wake);
        }
    }

    /// Waits until all before it have committed; `holds`: it may stand in their way.
    fn wait_for_turn(&self, number: u64, mut holds: Option<&mut Follower>) -> Result<()> {
        loop {
            {
                let mut line = self.line.lock();
                if line.ends() {
                    return Err(stopped());
                }
                if line.turn == number {
                    return Ok(());
                }
                line.waiting.retain(|(n, _)| *n != number);
                line.waiting.push((number, waker()));
            }
            let patience = holds.as_ref().map(|_| now_ns() + PATIENCE_NS);
            match park(Wait::LogFollow, patience) {
                Unpark::Woken => {}
                Unpark::Interrupted => return Err(stopped()),
                Unpark::TimedOut => {
                    let ahead = {
                        let line = self.line.lock();
                        line.named.get(&line.turn).copied()
                    };
                    if let (Some(follower), Some(ahead)) = (&mut holds, ahead) {
                        follower.wait_behind(ahead)?;
                    }
                }
            }
        }
    }
}
