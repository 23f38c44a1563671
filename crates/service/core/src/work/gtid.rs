//! `gtid_next`: the GTID of the transaction that commits next.

use super::Work;
use crate::binlog::OwnGtid;
use gannet_base::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use gannet_binlog::group::{First, UNKNOWN_TIME, UNKNOWN_VERSION};
use std::sync::Arc;

/// What `gtid_next` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NextGtid {
    /// The next free number of this server.
    #[default]
    Automatic,
    /// This one, which the session owns.
    Owned(OwnGtid),
    /// One that is executed: what follows is passed over.
    Skipped,
    /// One whose transaction has ended: another has to be given.
    Used,
}

/// What is said of the next transaction's first server: a session's variables `original_commit_timestamp` and the like,
/// until the binary log has that transaction.
#[derive(Debug)]
pub struct Origin {
    committed_us: AtomicU64,
    version: AtomicU32,
    immediate: AtomicU32,
    /// What is not said is not known, as another server was the first.
    elsewhere: AtomicBool,
}

impl Default for Origin {
    fn default() -> Origin {
        Origin {
            committed_us: AtomicU64::new(UNKNOWN_TIME),
            version: AtomicU32::new(u32::MAX),
            immediate: AtomicU32::new(UNKNOWN_VERSION),
            elsewhere: AtomicBool::new(false),
        }
    }
}

impl Origin {
    /// Of the next transaction of a unit of work.
    #[inline]
    pub fn first(work: &Work) -> Option<First> {
        work.logged.first()
    }

    /// What is said; `None`: nothing.
    pub(super) fn said(&self) -> Option<First> {
        let (committed_us, version) = (self.committed_us.load(Relaxed), self.version.load(Relaxed));
        let unsaid = self.elsewhere.load(Relaxed);
        let first = First {
            committed_us: (committed_us != UNKNOWN_TIME).then_some(committed_us).or(unsaid.then_some(0)),
            version: (version != u32::MAX).then_some(version).or(unsaid.then_some(0)),
        };
        (first != First::default()).then_some(first)
    }

    /// What is said of it by who applies another server's log.
    pub fn say(&self, first: First) {
        self.committed_us.store(first.committed_us.unwrap_or(UNKNOWN_TIME), Relaxed);
        self.version.store(first.version.unwrap_or(u32::MAX), Relaxed);
    }

    /// Whether what is not said of transactions is unknown, until this is said otherwise.
    pub fn set_elsewhere(&self, elsewhere: bool) {
        self.elsewhere.store(elsewhere, Relaxed);
    }

    /// Nothing is said.
    pub(super) fn forget(&self) {
        self.say(First::default());
        self.immediate.store(UNKNOWN_VERSION, Relaxed);
    }

    /// `original_commit_timestamp`
    pub fn committed_us(&self) -> u64 {
        self.committed_us.load(Relaxed)
    }

    /// `original_server_version`
    pub fn version(&self) -> u32 {
        let version = self.version.load(Relaxed);
        if version == u32::MAX { UNKNOWN_VERSION } else { version }
    }

    /// `immediate_server_version`: nothing follows from it, as events have this server's.
    pub fn immediate(&self) -> u32 {
        self.immediate.load(Relaxed)
    }

    /// `SET original_commit_timestamp`
    pub fn set_committed_us(&self, us: u64) {
        self.committed_us.store(us, Relaxed);
    }

    /// `SET original_server_version`
    pub fn set_version(&self, version: u32) {
        self.version.store(if version == UNKNOWN_VERSION { u32::MAX } else { version }, Relaxed);
    }

    /// `SET immediate_server_version`
    pub fn set_immediate(&self, version: u32) {
        self.immediate.store(version, Relaxed);
    }
}

/// The GTID of a unit of work's next commit, and what the binary log has of its commits.
pub struct Gtids<'w>(&'w mut Work);

impl NextGtid {
    /// Of a unit of work.
    #[inline]
    pub fn of(work: &Work) -> NextGtid {
        work.logged.next()
    }
}

impl<'w> Gtids<'w> {
    /// Of a unit of work.
    pub fn of(work: &'w mut Work) -> Gtids<'w> {
        Gtids(work)
    }

    /// Another `gtid_next`; a GTID that is owned is given back.
    pub fn set(self, next: NextGtid) {
        let work = self.0;
        if let NextGtid::Owned(gtid) = NextGtid::of(work)
            && next != NextGtid::Owned(gtid)
            && let Some(log) = work.core.binlog()
        {
            log.disown(&work.core.engine, gtid, false);
        }
        work.logged.set_next(next);
    }

    /// Another `gtid_next` for a while; what is owned stays so.
    pub fn set_aside(self, next: NextGtid) {
        self.0.logged.set_next(next);
    }

    /// The next group of rows has this event before them.
    pub fn put_before(self, kind: u8, body: Vec<u8>) {
        if self.0.core.binlog().is_some() {
            self.0.logged.before(kind, body);
        }
    }

    /// This says what the first server of the next transactions is.
    pub fn from(self, origin: &Arc<Origin>) {
        self.0.logged.set_origin(origin);
    }

    /// The transaction with the chosen GTID has ended; `told`: it is in the log.
    pub fn end(self, told: bool) {
        let work = self.0;
        if told {
            work.logged.forget_origin();
        }
        match NextGtid::of(work) {
            NextGtid::Automatic | NextGtid::Used => return,
            NextGtid::Skipped => {}
            NextGtid::Owned(gtid) => {
                if let Some(log) = work.core.binlog() {
                    log.disown(&work.core.engine, gtid, told);
                }
            }
        }
        work.logged.set_next(NextGtid::Used);
    }

    /// COMMIT of a transaction whose GTID is chosen: it is in the log even if nothing is in it.
    pub fn commit_whole(self) {
        self.0.logged.whole(true);
    }

    /// Whether the binary log has had commits since this was asked last.
    pub fn told(self) -> bool {
        std::mem::take(&mut self.0.told)
    }

    /// The binary log has a commit that did not go through the unit of work.
    pub fn tell(self) {
        self.0.told = true;
    }
}
