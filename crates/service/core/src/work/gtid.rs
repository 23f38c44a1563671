//! `gtid_next`: the GTID of the transaction that commits next.

use super::Work;
use crate::binlog::OwnGtid;

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

    /// The transaction with the chosen GTID has ended; `told`: it is in the log.
    pub fn end(self, told: bool) {
        let work = self.0;
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
