//! Metadata locks and gates of a unit of work.

use super::Work;
use crate::Core;
use gannet_engine::lock::{LockError, LockOwner, MdlDuration, MdlMode, MdlObject, MdlRow, Wait};
use gannet_schema::Table;
use gannet_types::{Result, SqlError, sql_err};
use std::time::Duration;

/// A lock that was not granted as the client sees it.
pub fn lock_error(e: LockError) -> SqlError {
    match e {
        LockError::WouldWait => sql_err!(LockNowait),
        LockError::Timeout => sql_err!(LockWaitTimeout),
        LockError::Deadlock => sql_err!(LockDeadlock),
        LockError::Killed => sql_err!(QueryInterrupted),
    }
}

impl Core {
    /// A table as something that can be locked.
    pub fn lock_of(&self, t: &Table) -> MdlObject {
        self.engine.lock_table().mdl_object(t.id.0, &format!("{}.{}", t.schema, t.name))
    }
}

/// What keeps a change of a list of the server's waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gates {
    /// FLUSH TABLES WITH READ LOCK and LOCK INSTANCE FOR BACKUP.
    Definitions,
    /// FLUSH TABLES WITH READ LOCK.
    Writes,
    /// Neither.
    None,
}

/// The metadata locks of a unit of work.
pub struct Locks<'w> {
    core: &'w Core,
    owner: &'w LockOwner,
    /// How long it waits for one: `lock_wait_timeout`.
    pub wait: Wait,
    /// FLUSH TABLES WITH READ LOCK is its own.
    read_locked: &'w mut bool,
    /// LOCK INSTANCE FOR BACKUP is its own.
    backup_locked: &'w mut bool,
}

impl Work {
    /// Its metadata locks.
    #[inline]
    pub fn locks(&mut self) -> Locks<'_> {
        let wait = Wait::For(Duration::from_secs(self.terms.table_wait_s.into()));
        let (read_locked, backup_locked) = (&mut self.read_locked, &mut self.backup_locked);
        Locks { core: &self.core, owner: self.txn.lock_owner(), wait, read_locked, backup_locked }
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
}

impl<'w> Locks<'w> {
    /// Begins to take locks in a row, of these objects.
    pub fn row(&self, objects: &[MdlObject]) -> MdlRow<'w> {
        MdlRow::new(self.owner, objects)
    }

    /// Releases the explicit locks on objects.
    pub fn release(&self, objects: &[MdlObject]) {
        objects.iter().for_each(|object| self.owner.mdl_release(*object, MdlDuration::Explicit));
    }

    /// Takes a metadata lock. Errors 1205, 1213, 1317.
    #[inline]
    pub fn take(&self, object: MdlObject, mode: MdlMode, duration: MdlDuration) -> Result<()> {
        self.owner.mdl_lock(object, mode, duration, self.wait).map_err(lock_error)
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
        if *self.read_locked {
            return Err(sql_err!(CantUpdateWithReadlock));
        }
        self.take(gate, MdlMode::Write, duration)
    }

    /// FLUSH TABLES WITH READ LOCK: waits for statements that write, and lets none begin and none commit. No
    /// transaction of its own is open, and none of its other locks is explicit.
    pub fn close_gates(&mut self) -> Result<()> {
        if !*self.read_locked
            && let Err(e) = self.take_gates()
        {
            self.owner.mdl_release_explicit();
            self.keep_instance();
            return Err(e);
        }
        *self.read_locked = true;
        // Commits may have passed the gates and not be on disk. Where the log can take no more, none of them will be.
        let _ = self.core.engine.sync();
        Ok(())
    }

    fn take_gates(&self) -> Result<()> {
        let close = |gate| self.take(gate, MdlMode::NoWrite, MdlDuration::Explicit);
        [self.core.write_gate, self.core.commit_gate].into_iter().try_for_each(close)
    }

    /// Releases the explicit locks on tables (LOCK TABLES); the gates stay closed.
    pub fn release_tables(&mut self) {
        self.owner.mdl_release_explicit();
        if *self.read_locked {
            // Another session can be in the way of taking them again only for a moment.
            *self.read_locked = self.take_gates().is_ok();
        }
        self.keep_instance();
    }

    /// Releases all explicit locks, and opens the gates; but for LOCK INSTANCE.
    pub fn release_explicit(&mut self) {
        *self.read_locked = false;
        self.owner.mdl_release_explicit();
        self.keep_instance();
    }

    /// LOCK INSTANCE FOR BACKUP: changes of definitions and of accounts wait until UNLOCK INSTANCE; rows are changed
    /// on.
    pub fn lock_instance(&mut self) -> Result<()> {
        if !*self.backup_locked {
            self.take(self.core.backup_gate, MdlMode::NoWrite, MdlDuration::Explicit)?;
            *self.backup_locked = true;
        }
        Ok(())
    }

    /// UNLOCK INSTANCE.
    pub fn unlock_instance(&mut self) {
        if std::mem::take(self.backup_locked) {
            self.owner.mdl_release(self.core.backup_gate, MdlDuration::Explicit);
        }
    }

    /// What LOCK INSTANCE FOR BACKUP of another session keeps waiting.
    pub fn pass_backup_gate(&self, duration: MdlDuration) -> Result<()> {
        if *self.backup_locked { Ok(()) } else { self.take(self.core.backup_gate, MdlMode::Write, duration) }
    }

    /// Both gates, for what is defined without tables: accounts, servers, resource groups. Errors as of each.
    pub fn pass_definition_gates(&self) -> Result<()> {
        self.pass_write_gate(MdlDuration::Statement)?;
        self.pass_backup_gate(MdlDuration::Statement).inspect_err(|_| self.leave_definition_gates())
    }

    /// Goes on behind the gates before its statement has ended.
    pub fn leave_definition_gates(&self) {
        [self.core.write_gate, self.core.backup_gate]
            .into_iter()
            .for_each(|gate| self.owner.mdl_release(gate, MdlDuration::Statement));
    }

    /// Accounts, and other lists that are kept as a whole, are changed by one session at a time: what it reads of them
    /// is what it changes. Behind the gates, which nobody waits for while others wait for this.
    pub fn take_lists(&self, gates: Gates) -> Result<()> {
        match gates {
            Gates::Definitions => self.pass_definition_gates()?,
            Gates::Writes => self.pass_write_gate(MdlDuration::Statement)?,
            Gates::None => {}
        }
        let taken = self.take(self.core.lists_lock, MdlMode::Exclusive, MdlDuration::Explicit);
        taken.inspect_err(|_| self.leave_gates(gates))
    }

    fn leave_gates(&self, gates: Gates) {
        if gates != Gates::None {
            self.leave_definition_gates();
        }
    }

    /// Whether the session is the one that changes lists.
    pub fn has_lists(&self) -> bool {
        self.owner.mdl_mode(self.core.lists_lock) == Some(MdlMode::Exclusive)
    }

    /// Others may change lists.
    pub fn leave_lists(&self, gates: Gates) {
        self.owner.mdl_release(self.core.lists_lock, MdlDuration::Explicit);
        self.leave_gates(gates);
    }

    /// UNLOCK TABLES does not concern it. Another session can be in the way of taking it again only for a moment.
    fn keep_instance(&mut self) {
        if std::mem::take(self.backup_locked) {
            let taken = self.take(self.core.backup_gate, MdlMode::NoWrite, MdlDuration::Explicit);
            *self.backup_locked = taken.is_ok();
        }
    }
}
