//! The state machine of transactions: autocommit, BEGIN, statements, savepoints, characteristics.
//!
//! ```text
//!              BEGIN                     COMMIT, ROLLBACK, implicit commit, deadlock
//!   none ─────────────────▶ explicit ─────────────────────────────────────────────▶ none
//!     │ statement, autocommit=1: begun and ended with it
//!     └ statement, autocommit=0 ─▶ implicit ──────────────────(as above)───────────▶ none
//! ```
//!
//! The engine's transaction begins with the first statement that needs one, so that BEGIN costs nothing.

use super::{Gtids, Terms, Work};
use crate::vars::Live;
use gannet_binlog::group::{Around, Payload};
use gannet_engine::plant::{Fault, planted};
use gannet_engine::{Isolation, Savepoint, Txn, TxnOptions};
use gannet_exec::error::from_engine;
use gannet_telemetry::{Counter, count};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};
use std::io::Read;
use std::time::Duration;

/// The state machine's state.
#[derive(Debug)]
pub struct Transaction {
    /// BEGIN was given.
    explicit: bool,
    /// The engine's transaction is active and lives longer than a statement.
    started: bool,
    /// It may not write.
    read_only: bool,
    /// Level of the open transaction.
    isolation: Isolation,
    /// SET TRANSACTION: for the next transaction only.
    next_isolation: Option<Isolation>,
    next_read_only: Option<bool>,
    /// A statement has used tables: the engine has a part in the transaction.
    used: bool,
    /// `None`: the engine had no part yet.
    savepoints: Vec<(String, Option<Savepoint>)>,
    /// How many have ended, and one.
    number: u64,
}

/// How many savepoints a transaction may have: a bound on memory, far beyond what programs use.
const MAX_SAVEPOINTS: usize = 100_000;

impl Default for Transaction {
    fn default() -> Self {
        Self {
            explicit: false,
            started: false,
            read_only: false,
            isolation: Isolation::default(),
            next_isolation: None,
            next_read_only: None,
            used: false,
            savepoints: Vec::new(),
            number: 1,
        }
    }
}

impl Transaction {
    /// Of the engine's transaction that begins now for connection `thread`; what SET TRANSACTION has set counts once.
    fn options(&mut self, terms: &Terms, autocommit: bool, thread: u64) -> TxnOptions {
        if !self.explicit {
            self.isolation = self.next_isolation.take().unwrap_or(terms.isolation);
            self.read_only = self.next_read_only.take().unwrap_or(terms.read_only);
        }
        TxnOptions {
            isolation: self.isolation,
            // What it means is decided here: temporary tables may be written all the same.
            read_only: false,
            autocommit,
            plain_reads_lock: false,
            owner_thread_id: thread,
            lock_wait_timeout: Duration::from_secs(terms.row_wait_s.into()),
        }
    }

    /// COMMIT AND CHAIN, ROLLBACK AND CHAIN: a transaction with the level of the one that has ended.
    pub fn chain(&mut self, read_only: bool) {
        self.explicit = true;
        self.read_only = read_only;
    }

    /// COMMIT and ROLLBACK end also a transaction that no statement has begun: what was set for the next one counts no
    /// more.
    pub fn forget_next(&mut self) {
        (self.next_isolation, self.next_read_only) = (None, None);
    }

    /// SET SESSION outside of a transaction holds for the next one, too, whatever SET TRANSACTION has set before: the
    /// level, or else whether it may write.
    pub fn replace_next(&mut self, level: bool) {
        match (self.is_open(), level) {
            (true, _) => {}
            (false, true) => self.next_isolation = None,
            (false, false) => self.next_read_only = None,
        }
    }

    /// SET TRANSACTION without a scope: for the next transaction only. Error 1568 in a transaction.
    pub fn set_next(&mut self, isolation: Option<Isolation>, read_only: Option<bool>) -> Result<()> {
        if self.is_open() {
            return Err(sql_err!(CantChangeTxCharacteristics));
        }
        self.next_isolation = isolation.or(self.next_isolation);
        self.next_read_only = read_only.or(self.next_read_only);
        Ok(())
    }

    /// In a transaction that outlives the statement.
    pub fn is_open(&self) -> bool {
        self.explicit || self.started
    }

    /// BEGIN was given.
    pub fn is_explicit(&self) -> bool {
        self.explicit
    }

    /// The open one may not write.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The level of the open one.
    #[inline]
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// What SET TRANSACTION set for the next transaction.
    pub fn next_isolation(&self) -> Option<Isolation> {
        self.next_isolation
    }

    /// READ ONLY or READ WRITE of SET TRANSACTION, for the next transaction.
    pub fn next_read_only(&self) -> Option<bool> {
        self.next_read_only
    }

    /// Numbers the transactions of a unit of work: another one for each that ends.
    pub fn number(&self) -> u64 {
        self.number
    }

    fn ended(&mut self) {
        self.explicit = false;
        self.started = false;
        self.read_only = false;
        self.used = false;
        self.savepoints.clear();
        self.number += 1;
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        let found = self.savepoints.iter().position(|(n, _)| n.eq_ignore_ascii_case(name));
        found.ok_or_else(|| sql_err!(SpDoesNotExist, "SAVEPOINT", name))
    }
}

/// As `INNODB_TRX` has it; 0: it has not written.
#[inline]
fn number(txn: &Txn) -> u64 {
    txn.id().map_or(0, |id| id.0)
}

impl Work {
    /// The next statement is a transaction by itself.
    #[inline]
    pub fn is_autocommit(&self) -> bool {
        self.terms.autocommit && !self.state.explicit
    }

    /// Tries again to undo a transaction that has ended for the client; one that is open awaits its ROLLBACK.
    #[cold]
    fn undo_ended(&mut self) -> Result<()> {
        if !self.state.started {
            let _mask = gannet_runtime::mask_interrupts();
            self.txn.rollback().map_err(from_engine)?;
            self.unlock_transaction();
        }
        Ok(())
    }

    /// A statement that uses tables begins. Returns the mark to roll back to when it fails.
    #[inline]
    pub fn begin_statement(&mut self) -> Result<Savepoint> {
        if self.txn.is_half_undone() {
            self.undo_ended()?;
        }
        if !self.txn.is_active() {
            let autocommit = self.is_autocommit();
            let options = self.state.options(&self.terms, autocommit, self.thread);
            self.logged.clear();
            self.watched.begins();
            self.txn.begin(options).map_err(from_engine)?;
            self.state.started = !autocommit;
        }
        self.state.used = self.state.started;
        self.logged.begin_statement();
        Ok(self.txn.begin_statement())
    }

    /// Ends the statement. Returns its outcome, or the commit's error.
    #[inline]
    pub fn end_statement<T>(&mut self, mark: Savepoint, outcome: Result<T>) -> Result<T> {
        match outcome {
            Ok(value) => {
                let done = if self.is_autocommit() && !self.state.started {
                    self.watched.passes(&self.state, number(&self.txn), true);
                    self.state.read_only = false;
                    self.logged.whole_if_writing();
                    let done = self.commit_now(None);
                    self.logged.whole(false);
                    self.watched.passed(done.is_ok());
                    done
                } else {
                    self.txn.end_statement()
                };
                self.unlock_statement();
                done.map_err(from_engine)?;
                Ok(value)
            }
            Err(error) => {
                self.fail_statement(mark, &error);
                Err(error)
            }
        }
    }

    #[cold]
    fn fail_statement(&mut self, mark: Savepoint, error: &SqlError) {
        // This rollback is completed even if the session is to stop.
        let _mask = gannet_runtime::mask_interrupts();
        if !self.txn.is_active() {
            // Victim of a deadlock: the engine has rolled the transaction back.
            self.watched.passes(&self.state, number(&self.txn), self.terms.autocommit && !self.state.explicit);
            self.state.ended();
            self.unlock_transaction();
            return self.watched.passed(false);
        }
        let whole = match error.code() {
            // Of metadata locks and gates: as of row locks, for which the engine has done it.
            ErrorCode::LockDeadlock => true,
            ErrorCode::LockWaitTimeout => self.core.globals.get(Live::InnodbRollbackOnTimeout).as_bool(),
            _ => false,
        };
        let undone = if whole || !self.state.started {
            self.watched.passes(&self.state, number(&self.txn), self.terms.autocommit && !self.state.explicit);
            self.state.ended();
            let done = self.txn.rollback();
            if self.logged.take_carried() {
                // It had committed with the change already.
                super::logged::committed(self);
            }
            self.unlock_transaction();
            self.watched.passed(false);
            done
        } else {
            let kept = planted(Fault::KeepFailed);
            let undone = if kept { Ok(()) } else { self.txn.rollback_to(mark) };
            let undone = undone.and_then(|()| self.txn.end_statement());
            self.unlock_statement();
            undone
        };
        if let Err(e) = undone {
            let id = self.thread;
            self.core.log.error(format_args!(
                "connection {id}: the changes of a failed statement cannot be undone: {e}; nothing but ROLLBACK is possible in its \
                 transaction, and its rows stay locked until that succeeds"
            ));
        }
    }

    /// BEGIN, START TRANSACTION: no transaction is open. `snapshot`: the engine's begins now, with a view of now.
    pub fn start(&mut self, read_only: Option<bool>, snapshot: bool) -> Result<()> {
        let options = self.state.options(&self.terms, false, self.thread);
        self.state.chain(read_only.unwrap_or(self.state.read_only));
        self.watched.begins();
        if snapshot {
            self.logged.clear();
            self.txn.begin(options).map_err(from_engine)?;
            self.txn.consistent_snapshot();
            (self.state.started, self.state.used) = (true, true);
        }
        Ok(())
    }

    /// Ends the open transaction, if there is one, and releases its locks. `payload`: for the consumers of the log,
    /// with a commit.
    pub fn finish(&mut self, commit: bool, payload: Option<&mut dyn Read>) -> Result<()> {
        if self.txn.is_half_undone() {
            self.undo_ended()?;
        }
        let whole = commit && self.logged.is_whole();
        if whole && !self.txn.is_active() {
            let options = self.state.options(&self.terms, false, self.thread);
            self.txn.begin(options).map_err(from_engine)?;
        }
        let active = self.txn.is_active();
        if commit && active && self.txn.has_writes() {
            self.locks().pass_commit_gate()?;
        }
        let ends = active || self.state.is_open();
        if ends {
            self.watched.passes(&self.state, number(&self.txn), false);
        }
        self.state.ended();
        let outcome = if active {
            count(if commit { Counter::HandlerCommit } else { Counter::HandlerRollback });
            let _mask = (!commit).then(gannet_runtime::mask_interrupts);
            if commit { self.commit_now(payload) } else { self.txn.rollback() }.map_err(from_engine)
        } else {
            Ok(())
        };
        if ends {
            self.watched.passed(commit && outcome.is_ok());
        }
        self.unlock_transaction();
        if whole || !commit {
            self.logged.whole(false);
            Gtids::of(self).end(false);
        }
        outcome
    }

    /// Rolls the engine's transaction back, which belongs to no statement and no open transaction.
    pub fn rest(&mut self) {
        if self.txn.is_active() {
            // An error is kept as the transaction's state, which the next statement asks for.
            let _half_undone = self.txn.rollback();
        }
    }

    /// Gives the engine's transaction away, for a branch that is prepared, with what the binary log has of it between
    /// the events `around`; [`Work::take_back`] undoes that.
    pub fn give_away(&mut self, around: impl FnOnce() -> Around) -> Result<(Txn, Option<Payload>)> {
        if !self.txn.is_active() {
            let options = TxnOptions { owner_thread_id: self.thread, ..TxnOptions::default() };
            self.txn.begin(options).map_err(from_engine)?;
        }
        if self.txn.has_writes() {
            self.locks().pass_commit_gate()?;
        }
        self.unlock_statement();
        let options = TxnOptions { owner_thread_id: self.thread, ..TxnOptions::default() };
        let next = gannet_engine::idle(&self.core.engine, options);
        let payload = self.logged.take_branch(&self.txn, self.thread, around);
        Ok((std::mem::replace(&mut self.txn, next), payload))
    }

    /// The engine's transaction is back, with what the binary log has of it; `None`: it was taken for good.
    pub fn take_back(&mut self, back: Option<(Txn, Option<Payload>)>) {
        let Some((txn, payload)) = back else { return self.state.ended() };
        if let Some(payload) = payload {
            self.logged.take_back(txn.weight(), payload);
        }
        self.txn = txn;
    }

    /// As inside a statement of another unit of work, with whose engine transaction this one's is exchanged meanwhile.
    pub fn nested_in(&mut self, outer: &Work) {
        (self.terms, self.read_locked) = (outer.terms, outer.read_locked);
        let Transaction { started, read_only, isolation, .. } = outer.state;
        let explicit = !outer.is_autocommit();
        self.state = Transaction { explicit, started, read_only, isolation, used: true, ..Transaction::default() };
    }

    /// Error 1792 in a transaction that is READ ONLY, or where the next one will be.
    pub fn require_read_write(&self) -> Result<()> {
        let next = self.state.next_read_only.unwrap_or(self.terms.read_only);
        let read_only = if self.state.is_open() { self.state.read_only } else { next };
        if read_only { Err(sql_err!(CantExecuteInReadOnlyTransaction)) } else { Ok(()) }
    }

    /// SAVEPOINT. It begins no transaction.
    pub fn savepoint(&mut self, name: &str) -> Result<()> {
        if self.is_autocommit() {
            return Ok(());
        }
        if self.txn.is_half_undone() {
            self.undo_ended()?;
        }
        if self.state.used {
            count(Counter::HandlerSavepoint);
        }
        let mark = self.state.used.then(|| self.txn.savepoint());
        let t = &mut self.state;
        t.savepoints.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        if t.savepoints.len() >= MAX_SAVEPOINTS {
            return Err(sql_err!(OutOfResources));
        }
        t.savepoints.push((name.to_string(), mark));
        self.watched.counts_savepoint(&self.state, 0);
        Ok(())
    }

    /// ROLLBACK TO SAVEPOINT.
    pub fn rollback_to(&mut self, name: &str) -> Result<()> {
        let at = self.state.find_savepoint(name)?;
        let mark = self.state.savepoints[at].1;
        self.state.savepoints.truncate(at + 1);
        self.watched.counts_savepoint(&self.state, 1);
        let _mask = gannet_runtime::mask_interrupts();
        match mark {
            Some(mark) => {
                count(Counter::HandlerSavepointRollback);
                self.txn.rollback_to(mark)
            }
            // In MySQL, too, the engine rolls all back then: its locks and its snapshot go.
            None if std::mem::take(&mut self.state.used) => {
                count(Counter::HandlerRollback);
                self.logged.clear();
                let options = *self.txn.options();
                self.txn.begin(options)
            }
            None => Ok(()),
        }
        .map_err(from_engine)
    }

    /// RELEASE SAVEPOINT.
    pub fn release_savepoint(&mut self, name: &str) -> Result<()> {
        let at = self.state.find_savepoint(name)?;
        self.state.savepoints.truncate(at);
        self.watched.counts_savepoint(&self.state, 2);
        Ok(())
    }

    /// Forgets what SET TRANSACTION has set, and where a transaction was; none is open.
    pub fn reset(&mut self) {
        Gtids::of(self).set(super::NextGtid::Automatic);
        self.logged.forget_origin();
        self.state = Transaction { number: self.state.number, ..Transaction::default() };
    }
}
