//! GTIDs that sessions have chosen for their transactions (`gtid_next`): each has one owner, from SET to its commit,
//! and is in the files once.

use super::{Binlog, RELEASE, RESERVE};
use gannet_base::Lsn;
use gannet_engine::Engine;
use gannet_exec::error::from_engine;
use gannet_runtime::{Unpark, Wait, park};
use gannet_types::gtid::{GtidSet, Uuid};
use gannet_types::{Result, SqlError, sql_err};

/// A transaction: its server, and its number there.
pub type OwnGtid = (Uuid, u64);

/// A GTID that is chosen and not in the files yet.
pub(super) struct Owned {
    pub(super) gtid: OwnGtid,
    connection: u64,
    /// Its transaction has committed.
    committed: bool,
}

impl Binlog {
    /// Takes a GTID for a connection; waits while another one has it. False when it is executed: its transaction is
    /// to be passed over.
    pub fn own(&self, engine: &Engine, gtid: OwnGtid, connection: u64) -> Result<bool> {
        self.wait_done(engine.horizon())?;
        if !self.take(gtid, connection)? {
            return Ok(false);
        }
        if gtid.0 != self.uuid {
            return Ok(true);
        }
        // Transactions before this one in the log may have got the number; those behind it get another.
        let reserved = self.request(engine, RESERVE, gtid.1).map_err(from_engine);
        let failed = match reserved.and_then(|lsn| self.wait_done(lsn)) {
            Ok(()) if !self.shared.lock().executed.contains(&gtid.0.into(), gtid.1) => return Ok(true),
            Ok(()) => None,
            Err(e) => Some(e),
        };
        self.disown(engine, gtid, false);
        failed.map_or(Ok(false), Err)
    }

    /// The same without a look at commits that may not be in the files yet: for one who knows what it has executed.
    pub fn take(&self, gtid: OwnGtid, connection: u64) -> Result<bool> {
        loop {
            {
                let mut shared = self.shared.lock();
                if shared.executed.contains(&gtid.0.into(), gtid.1) {
                    return Ok(false);
                }
                match shared.owned.iter().find(|o| o.gtid == gtid) {
                    None => {
                        shared.owned.push(Owned { gtid, connection, committed: false });
                        return Ok(true);
                    }
                    Some(own) if own.connection == connection && !own.committed => return Ok(true),
                    Some(_) => {}
                }
                if shared.ended {
                    return Err(SqlError::internal("the binary log has ended"));
                }
                shared.wait();
            }
            if park(Wait::LogFollow, None) == Unpark::Interrupted {
                return Err(sql_err!(QueryInterrupted));
            }
        }
    }

    /// The owner's transaction has ended: it is in the log, or nothing of it is.
    pub fn disown(&self, engine: &Engine, gtid: OwnGtid, committed: bool) {
        if !committed && gtid.0 == self.uuid {
            // Before another one can own it. Without that, the number stays free until the next start.
            let _released = self.request(engine, RELEASE, gtid.1);
        }
        let mut shared = self.shared.lock();
        let passed = shared.executed.contains(&gtid.0.into(), gtid.1);
        if committed && !passed {
            if let Some(own) = shared.owned.iter_mut().find(|o| o.gtid == gtid) {
                own.committed = true;
            }
            return;
        }
        shared.owned.retain(|o| o.gtid != gtid);
        let waiting = std::mem::take(&mut shared.waiting);
        drop(shared);
        waiting.iter().for_each(gannet_runtime::Waker::wake);
    }

    /// Waits until all of these transactions are executed; false when they are not by `deadline` (of `now_ns`). Error
    /// 1317.
    pub fn wait_executed(&self, engine: &Engine, set: &GtidSet, deadline: Option<u64>) -> Result<bool> {
        self.catch_up(engine);
        loop {
            {
                let mut shared = self.shared.lock();
                if set.is_subset(&shared.executed) {
                    return Ok(true);
                }
                if shared.ended {
                    return Err(SqlError::internal("the binary log has ended"));
                }
                shared.wait();
            }
            match park(Wait::LogFollow, deadline) {
                Unpark::Woken => {}
                Unpark::TimedOut => return Ok(false),
                Unpark::Interrupted => return Err(sql_err!(QueryInterrupted)),
            }
        }
    }

    /// `gtid_owned`
    pub fn owned(&self) -> Vec<(OwnGtid, u64)> {
        let shared = self.shared.lock();
        shared.owned.iter().filter(|o| !o.committed).map(|o| (o.gtid, o.connection)).collect()
    }

    /// The last commit of a connection behind `since`, as far as it is remembered: where it is in the log, and its
    /// GTID.
    pub fn last_of(&self, connection: u64, since: Lsn) -> Option<(Lsn, OwnGtid)> {
        let shared = self.shared.lock();
        let mut later = shared.passed.iter().rev().take_while(|p| p.lsn > since);
        later.find(|p| p.thread == connection as u32).map(|p| (p.lsn, p.gtid))
    }
}
