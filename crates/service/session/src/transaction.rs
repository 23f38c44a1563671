//! Transactions of a session: autocommit, BEGIN, savepoints, characteristics.
//!
//! ```text
//!              BEGIN                     COMMIT, ROLLBACK, implicit commit, deadlock
//!   none ─────────────────▶ explicit ─────────────────────────────────────────────▶ none
//!     │ statement, autocommit=1: begun and ended with it
//!     └ statement, autocommit=0 ─▶ implicit ──────────────────(as above)───────────▶ none
//! ```
//!
//! The engine's transaction begins with the first statement that needs one, so that BEGIN costs nothing.

use super::Session;
use gannet_core::vars::{Live, SessionVars};
use gannet_engine::plant::{Fault, planted};
use gannet_engine::{Isolation, Savepoint, TxnOptions};
use gannet_exec::error::from_engine;
use gannet_parser::ast;
use gannet_telemetry::{Counter, count};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};
use std::time::Duration;

/// The state machine's state.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    /// `@@autocommit`.
    pub(crate) autocommit: bool,
    /// BEGIN was given.
    explicit: bool,
    /// The engine's transaction is active and lives longer than a statement.
    started: bool,
    /// It may not write.
    pub(crate) read_only: bool,
    /// Level of the open transaction.
    isolation: Isolation,
    /// SET TRANSACTION: for the next transaction only.
    next_isolation: Option<Isolation>,
    next_read_only: Option<bool>,
    savepoints: Vec<(String, Savepoint)>,
    /// CREATE or DROP TEMPORARY TABLE happened in it, which ROLLBACK does not undo.
    pub(crate) created_temporary: bool,
    pub(crate) dropped_temporary: bool,
}

/// How many savepoints a transaction may have: a bound on memory, far beyond what programs use.
const MAX_SAVEPOINTS: usize = 100_000;

impl Transaction {
    /// In a transaction that outlives the statement.
    pub(crate) fn is_open(&self) -> bool {
        self.explicit || self.started
    }

    /// BEGIN was given.
    pub(crate) fn is_explicit(&self) -> bool {
        self.explicit
    }

    /// What SET TRANSACTION set for the next transaction.
    pub(crate) fn next_isolation(&self) -> Option<Isolation> {
        self.next_isolation
    }

    /// READ ONLY or READ WRITE of SET TRANSACTION, for the next transaction.
    pub(crate) fn next_read_only(&self) -> Option<bool> {
        self.next_read_only
    }

    /// The next statement is a transaction by itself.
    pub(crate) fn is_autocommit(&self) -> bool {
        self.autocommit && !self.explicit
    }

    /// The transaction was given away: XA PREPARE.
    pub(crate) fn detached(&mut self) {
        self.ended();
    }

    /// COMMIT and ROLLBACK end also a transaction that no statement has begun.
    fn forget_next(&mut self) {
        self.next_isolation = None;
        self.next_read_only = None;
    }

    fn ended(&mut self) {
        self.explicit = false;
        self.started = false;
        self.read_only = false;
        self.savepoints.clear();
        self.created_temporary = false;
        self.dropped_temporary = false;
    }
}

/// `@@transaction_isolation`.
pub(crate) fn session_isolation(vars: &SessionVars) -> Isolation {
    match vars[Live::TransactionIsolation].as_str() {
        "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
        "READ-COMMITTED" => Isolation::ReadCommitted,
        "SERIALIZABLE" => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

/// The level's name in `@@transaction_isolation`.
pub(crate) fn isolation_name(level: ast::Isolation) -> &'static str {
    match level {
        ast::Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        ast::Isolation::ReadCommitted => "READ-COMMITTED",
        ast::Isolation::RepeatableRead => "REPEATABLE-READ",
        ast::Isolation::Serializable => "SERIALIZABLE",
    }
}

fn engine_isolation(level: ast::Isolation) -> Isolation {
    match level {
        ast::Isolation::ReadUncommitted => Isolation::ReadUncommitted,
        ast::Isolation::ReadCommitted => Isolation::ReadCommitted,
        ast::Isolation::RepeatableRead => Isolation::RepeatableRead,
        ast::Isolation::Serializable => Isolation::Serializable,
    }
}

impl Session {
    /// A fresh session's engine transaction is begun by making it: put it to rest.
    pub(crate) fn idle_transaction(&mut self) {
        if self.txn.is_active() {
            // Nothing was written: cannot fail in a way that matters.
            let _ = self.txn.rollback();
        }
    }

    fn txn_options(&mut self, autocommit: bool) -> TxnOptions {
        let (vars, isolation) = (&self.state.vars, self.isolation);
        let t = &mut self.transaction;
        if !t.explicit {
            t.isolation = t.next_isolation.take().unwrap_or(isolation);
            t.read_only = t.next_read_only.take().unwrap_or_else(|| vars[Live::TransactionReadOnly].as_bool());
        }
        self.settings.unlock_unmatched = t.isolation <= Isolation::ReadCommitted;
        TxnOptions {
            isolation: t.isolation,
            // What it means is decided here: temporary tables may be written all the same.
            read_only: false,
            autocommit,
            owner_thread_id: self.entry.id,
            lock_wait_timeout: Duration::from_secs(vars[Live::InnodbLockWaitTimeout].as_u64()),
        }
    }

    /// Tries again to undo a transaction that has ended for the client; one that is open awaits its ROLLBACK.
    #[cold]
    fn undo_ended(&mut self) -> Result<()> {
        if !self.transaction.started {
            let _mask = gannet_runtime::mask_interrupts();
            self.txn.rollback().map_err(from_engine)?;
            self.unlock_transaction();
        }
        Ok(())
    }

    /// A statement that uses tables begins. Returns the mark to roll back to when it fails.
    #[inline]
    pub(crate) fn begin_statement(&mut self) -> Result<Savepoint> {
        if self.txn.is_half_undone() {
            self.undo_ended()?;
        }
        if !self.txn.is_active() {
            let autocommit = self.transaction.is_autocommit();
            let options = self.txn_options(autocommit);
            self.txn.begin(options).map_err(from_engine)?;
            self.transaction.started = !autocommit;
        }
        Ok(self.txn.begin_statement())
    }

    /// Ends the statement. Returns its outcome, or the commit's error.
    #[inline]
    pub(crate) fn end_statement<T>(&mut self, mark: Savepoint, outcome: Result<T>) -> Result<T> {
        match outcome {
            Ok(value) => {
                let done = if self.transaction.is_autocommit() && !self.transaction.started {
                    self.transaction.read_only = false;
                    let done = self.commit_transaction();
                    self.unlock_statement();
                    done
                } else {
                    let done = self.txn.end_statement();
                    self.unlock_statement();
                    done
                };
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
            self.transaction.ended();
            self.unlock_transaction();
            return;
        }
        let whole = error.code() == ErrorCode::LockWaitTimeout
            && self.server.globals.get(Live::InnodbRollbackOnTimeout).as_bool();
        let undone = if whole || !self.transaction.started {
            self.transaction.ended();
            let done = self.txn.rollback();
            self.unlock_transaction();
            done
        } else {
            let kept = planted(Fault::KeepFailed);
            let undone = if kept { Ok(()) } else { self.txn.rollback_to(mark) };
            let undone = undone.and_then(|()| self.txn.end_statement());
            self.unlock_statement();
            undone
        };
        if let Err(e) = undone {
            let id = self.entry.id;
            self.server.log.error(format_args!(
                "connection {id}: the changes of a failed statement cannot be undone: {e}; nothing but ROLLBACK is possible in its \
                 transaction, and its rows stay locked until that succeeds"
            ));
        }
    }

    /// BEGIN, START TRANSACTION.
    pub(crate) fn begin(&mut self, begin: &ast::Begin) -> Result<()> {
        count(Counter::ComBegin);
        self.commit_implicitly()?;
        self.unlock_tables();
        self.track_begin(begin);
        let options = self.txn_options(false);
        self.transaction.explicit = true;
        self.transaction.read_only = begin.read_only.unwrap_or(self.transaction.read_only);
        if begin.consistent_snapshot {
            self.txn.begin(options).map_err(from_engine)?;
            self.txn.consistent_snapshot();
            self.transaction.started = true;
        }
        Ok(())
    }

    /// COMMIT.
    pub(crate) fn commit(&mut self, completion: ast::Completion) -> Result<()> {
        count(Counter::ComCommit);
        let read_only = self.transaction.read_only;
        self.finish(true)?;
        self.transaction.forget_next();
        self.complete(completion, read_only);
        Ok(())
    }

    /// ROLLBACK.
    pub(crate) fn rollback(&mut self, completion: ast::Completion) -> Result<()> {
        count(Counter::ComRollback);
        let read_only = self.transaction.read_only;
        let (created, dropped) = (self.transaction.created_temporary, self.transaction.dropped_temporary);
        self.finish(false)?;
        if created {
            self.running.warnings.warn(ErrorCode::WarningNotCompleteRollbackWithCreatedTempTable, &[]);
        }
        if dropped {
            self.running.warnings.warn(ErrorCode::WarningNotCompleteRollbackWithDroppedTempTable, &[]);
        }
        self.transaction.forget_next();
        self.complete(completion, read_only);
        Ok(())
    }

    pub(crate) fn finish(&mut self, commit: bool) -> Result<()> {
        if self.txn.is_half_undone() {
            self.undo_ended()?;
        }
        let active = self.txn.is_active();
        if commit && active && self.txn.has_writes() {
            self.pass_commit_gate()?;
        }
        self.transaction.ended();
        let outcome = if active {
            count(if commit { Counter::HandlerCommit } else { Counter::HandlerRollback });
            let _mask = (!commit).then(gannet_runtime::mask_interrupts);
            if commit { self.commit_transaction() } else { self.txn.rollback() }.map_err(from_engine)
        } else {
            Ok(())
        };
        self.unlock_transaction();
        self.discard_dropped();
        outcome
    }

    /// AND CHAIN, RELEASE, `completion_type`.
    fn complete(&mut self, completion: ast::Completion, read_only: bool) {
        let default = self.state.vars[Live::CompletionType].as_str();
        let chain = completion.chain.unwrap_or(default == "CHAIN" && completion.release != Some(true));
        let release = completion.release.unwrap_or(default == "RELEASE" && !chain);
        if chain {
            // The new transaction has the characteristics of the one that ended; its level is still set.
            self.transaction.explicit = true;
            self.transaction.read_only = read_only;
        }
        self.closing |= release;
    }

    /// Commits the open transaction: before DDL, account statements and the like.
    pub(crate) fn commit_implicitly(&mut self) -> Result<()> {
        self.finish(true)
    }

    /// Rolls the open transaction back when the session ends or is reset.
    pub(crate) fn abandon_transaction(&mut self) {
        if let Err(e) = self.finish(false) {
            let id = self.entry.id;
            self.server.log.error(format_args!("connection {id}: its open transaction cannot be rolled back: {e}"));
        }
    }

    /// Error 1792 in a transaction that is READ ONLY, or where the next one will be.
    pub(crate) fn require_read_write(&self) -> Result<()> {
        let next =
            self.transaction.next_read_only.unwrap_or_else(|| self.state.vars[Live::TransactionReadOnly].as_bool());
        let read_only = if self.transaction.is_open() { self.transaction.read_only } else { next };
        if read_only {
            return Err(sql_err!(CantExecuteInReadOnlyTransaction));
        }
        Ok(())
    }

    /// Error 1792 or 1290 when writing is not allowed now.
    pub(crate) fn require_writable(&self) -> Result<()> {
        self.require_read_write()?;
        let globals = &self.server.globals;
        if self.server.is_read_only() {
            if globals.get(Live::SuperReadOnly).as_bool() {
                return Err(sql_err!(OptionPreventsStatement, "--super-read-only"));
            }
            if !self.state.privileges().may_administer_connections() {
                return Err(sql_err!(OptionPreventsStatement, "--read-only"));
            }
        }
        Ok(())
    }

    /// SAVEPOINT.
    pub(crate) fn savepoint(&mut self, name: &str) -> Result<()> {
        count(Counter::ComSavepoint);
        if self.transaction.is_autocommit() {
            return Ok(());
        }
        if self.txn.is_active() {
            count(Counter::HandlerSavepoint);
        }
        let mark = self.begin_statement()?;
        let t = &mut self.transaction;
        t.savepoints.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        if t.savepoints.len() >= MAX_SAVEPOINTS {
            return Err(sql_err!(OutOfResources));
        }
        t.savepoints.push((name.to_string(), mark));
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        let found = self.transaction.savepoints.iter().position(|(n, _)| n.eq_ignore_ascii_case(name));
        found.ok_or_else(|| sql_err!(SpDoesNotExist, "SAVEPOINT", name))
    }

    /// ROLLBACK TO SAVEPOINT.
    pub(crate) fn rollback_to(&mut self, name: &str) -> Result<()> {
        count(Counter::ComRollbackToSavepoint);
        let at = self.find_savepoint(name)?;
        count(Counter::HandlerSavepointRollback);
        let mark = self.transaction.savepoints[at].1;
        self.transaction.savepoints.truncate(at + 1);
        let _mask = gannet_runtime::mask_interrupts();
        self.txn.rollback_to(mark).map_err(from_engine)
    }

    /// RELEASE SAVEPOINT.
    pub(crate) fn release_savepoint(&mut self, name: &str) -> Result<()> {
        count(Counter::ComReleaseSavepoint);
        let at = self.find_savepoint(name)?;
        self.transaction.savepoints.truncate(at);
        Ok(())
    }

    /// SET TRANSACTION without a scope: for the next transaction only.
    pub(crate) fn set_next_transaction(
        &mut self,
        isolation: Option<ast::Isolation>,
        read_only: Option<bool>,
    ) -> Result<()> {
        if self.transaction.is_open() {
            return Err(sql_err!(CantChangeTxCharacteristics));
        }
        if let Some(level) = isolation {
            self.transaction.next_isolation = Some(engine_isolation(level));
        }
        self.transaction.next_read_only = read_only.or(self.transaction.next_read_only);
        Ok(())
    }

    /// `SET autocommit`: turning it on commits the open transaction.
    pub(crate) fn set_autocommit(&mut self, on: bool) -> Result<()> {
        if on && !self.transaction.autocommit {
            self.commit_implicitly()?;
        }
        self.transaction.autocommit = on;
        Ok(())
    }
}
