//! Metadata locks and gates of a unit of work.

use super::Work;
use gannet_engine::lock::{LockError, MdlDuration, MdlMode, MdlObject, Wait};
use gannet_schema::Table;
use gannet_types::{Result, SqlError, sql_err};

/// A lock that was not granted as the client sees it.
pub fn lock_error(e: LockError) -> SqlError {
    match e {
        LockError::WouldWait => sql_err!(LockNowait),
        LockError::Timeout => sql_err!(LockWaitTimeout),
        LockError::Deadlock => sql_err!(LockDeadlock),
        LockError::Killed => sql_err!(QueryInterrupted),
    }
}

impl Work {
    /// A table as something that can be locked.
    pub fn object(&self, t: &Table) -> MdlObject {
        let name = format!("{}.{}", t.schema, t.name);
        self.core.engine.lock_table().mdl_object(t.id.0, &name)
    }

    /// `lock_wait_timeout`.
    #[inline]
    pub fn table_wait(&self) -> Wait {
        Wait::For(self.terms.table_wait)
    }

    /// Takes a metadata lock, waiting up to `lock_wait_timeout`. Errors 1205, 1213, 1317.
    #[inline]
    pub fn lock_object(&self, object: MdlObject, mode: MdlMode, duration: MdlDuration) -> Result<()> {
        self.txn.lock_owner().mdl_lock(object, mode, duration, self.table_wait()).map_err(lock_error)
    }

    /// Whoever writes goes through the gate which FLUSH TABLES WITH READ LOCK closes. Error 1223 for who has closed it.
    #[inline]
    pub fn pass_write_gate(&self, duration: MdlDuration) -> Result<()> {
        self.pass(self.core.write_gate, duration)
    }

    /// The same for the commit of an open transaction that has written.
    pub fn pass_commit_gate(&self) -> Result<()> {
        self.pass(self.core.commit_gate, MdlDuration::Statement)
    }

    #[inline]
    fn pass(&self, gate: MdlObject, duration: MdlDuration) -> Result<()> {
        if self.read_locked {
            return Err(sql_err!(CantUpdateWithReadlock));
        }
        self.lock_object(gate, MdlMode::Write, duration)
    }

    fn close_gates(&self) -> Result<()> {
        for gate in [self.core.write_gate, self.core.commit_gate] {
            self.lock_object(gate, MdlMode::NoWrite, MdlDuration::Explicit)?;
        }
        Ok(())
    }

    /// FLUSH TABLES WITH READ LOCK: waits for statements that write, and lets none begin and none commit. No transaction
    /// of its own is open, and none of its other locks is explicit.
    pub fn lock_everything(&mut self) -> Result<()> {
        if !self.read_locked
            && let Err(e) = self.close_gates()
        {
            self.txn.lock_owner().mdl_release_explicit();
            return Err(e);
        }
        self.read_locked = true;
        // Commits may have passed the gates and not be on disk. Where the log can take no more, none of them will be.
        let _ = self.core.engine.sync();
        Ok(())
    }

    /// Releases the explicit locks on tables (LOCK TABLES); the global read lock stays.
    pub fn unlock_explicit(&mut self) {
        self.txn.lock_owner().mdl_release_explicit();
        if self.read_locked {
            // Another session can be in the way of taking it again only for a moment.
            self.read_locked = self.close_gates().is_ok();
        }
    }

    /// Releases all explicit locks, the global read lock among them.
    pub fn unlock_everything(&mut self) {
        self.read_locked = false;
        self.txn.lock_owner().mdl_release_explicit();
    }

    /// Releases the statement's locks; those of an open transaction stay.
    #[inline]
    pub fn unlock_statement(&mut self) {
        self.txn.lock_owner().mdl_end_statement();
    }

    /// Locks of a transaction that has ended go. One that is half undone keeps them, as it keeps its rows: nobody may
    /// define its tables anew.
    #[inline]
    pub fn unlock_transaction(&mut self) {
        if !self.txn.is_half_undone() {
            self.txn.lock_owner().mdl_end_transaction();
        }
    }

    /// Ids of the tables on which it holds metadata locks.
    pub fn locked_tables(&self) -> Vec<u64> {
        let locks = self.core.engine.lock_table().metadata_locks();
        let tables = locks.iter().filter(|l| l.granted && l.party.thread == self.thread && l.object < 1 << 62);
        let mut ids: Vec<u64> = tables.map(|l| l.object).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
