//! Statements about transactions: BEGIN, COMMIT, ROLLBACK, savepoints, characteristics. The state machine is
//! [`gannet_core::work`]'s.

use super::{Session, locks, track};
use gannet_core::vars::{Live, SessionVars};
use gannet_core::work::{self, Terms};
use gannet_engine::{Isolation, Savepoint};
use gannet_exec::Locks;
use gannet_parser::ast;
use gannet_plan::physical::Reads;
use gannet_telemetry::{Counter, count};
use gannet_types::{ErrorCode, Result, sql_err};

/// What the variables say of transactions.
pub(crate) fn terms(vars: &SessionVars) -> Terms {
    Terms {
        isolation: work::isolation(vars[Live::TransactionIsolation].as_str()),
        read_only: vars[Live::TransactionReadOnly].as_bool(),
        autocommit: vars[Live::Autocommit].as_bool(),
        row_wait_s: vars[Live::InnodbLockWaitTimeout].as_u64() as u32,
        table_wait_s: vars[Live::LockWaitTimeout].as_u64() as u32,
        compressed: vars[Live::BinlogTransactionCompression].as_bool(),
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

pub(crate) fn engine_isolation(level: ast::Isolation) -> Isolation {
    match level {
        ast::Isolation::ReadUncommitted => Isolation::ReadUncommitted,
        ast::Isolation::ReadCommitted => Isolation::ReadCommitted,
        ast::Isolation::RepeatableRead => Isolation::RepeatableRead,
        ast::Isolation::Serializable => Isolation::Serializable,
    }
}

impl Session {
    /// A statement that uses tables begins; how it reads. Returns the mark to roll back to when it fails.
    #[inline(always)]
    pub(crate) fn begin_statement(&mut self, reads: Reads) -> Result<Savepoint> {
        if self.inside {
            return Ok(self.work.txn_mut().savepoint());
        }
        let mark = self.work.begin_statement()?;
        let level = self.work.transaction().isolation();
        self.settings.exec.locks = Locks::of(level, reads);
        if level == Isolation::Serializable {
            self.work.txn_mut().lock_plain_reads(reads != Reads::Snapshot);
        }
        Ok(mark)
    }

    /// Ends the statement. Returns its outcome, or the commit's error. Inside another statement it is a savepoint of
    /// it.
    #[inline(always)]
    pub(crate) fn end_statement<T>(&mut self, mark: Savepoint, outcome: Result<T>) -> Result<T> {
        if !self.inside {
            return self.work.end_statement(mark, outcome);
        }
        if outcome.is_err() && self.work.txn().is_active() {
            let _mask = gannet_runtime::mask_interrupts();
            self.work.txn_mut().rollback_to(mark).map_err(gannet_exec::error::from_engine)?;
        }
        outcome
    }

    /// BEGIN, START TRANSACTION.
    pub(crate) fn begin(&mut self, begin: &ast::Begin) -> Result<()> {
        count(Counter::ComBegin);
        self.commit_implicitly()?;
        locks::unlock_tables(self);
        track::track_begin(self, begin);
        self.work.start(begin.read_only, begin.consistent_snapshot)
    }

    /// COMMIT.
    pub(crate) fn commit(&mut self, completion: ast::Completion) -> Result<()> {
        count(Counter::ComCommit);
        let read_only = self.work.transaction().is_read_only();
        if work::NextGtid::of(&self.work) != work::NextGtid::Automatic {
            work::Gtids::of(&mut self.work).commit_whole();
        }
        self.finish(true)?;
        self.work.transaction_mut().forget_next();
        complete(self, completion, read_only);
        Ok(())
    }

    /// ROLLBACK.
    pub(crate) fn rollback(&mut self, completion: ast::Completion) -> Result<()> {
        count(Counter::ComRollback);
        let read_only = self.work.transaction().is_read_only();
        let (created, dropped) = self.temporaries.changed_in(self.work.transaction());
        self.finish(false)?;
        if created {
            self.running.diagnostics.warnings.warn(ErrorCode::WarningNotCompleteRollbackWithCreatedTempTable, &[]);
        }
        if dropped {
            self.running.diagnostics.warnings.warn(ErrorCode::WarningNotCompleteRollbackWithDroppedTempTable, &[]);
        }
        self.work.transaction_mut().forget_next();
        complete(self, completion, read_only);
        Ok(())
    }

    /// Ends the open transaction, if there is one.
    pub(crate) fn finish(&mut self, commit: bool) -> Result<()> {
        if self.inside {
            return Err(sql_err!(CommitNotAllowedInSfOrTrg));
        }
        let outcome = if commit { self.work.commit(None) } else { self.work.rollback() };
        self.discard_dropped();
        outcome
    }

    /// Commits the open transaction: before DDL, account statements and the like.
    pub(crate) fn commit_implicitly(&mut self) -> Result<()> {
        super::branch::refuse_commit(self)?;
        self.finish(true)
    }

    /// Rolls the open transaction back when the session ends or is reset.
    pub(crate) fn abandon_transaction(&mut self) {
        self.work.watched.within_program();
        if let Err(e) = self.finish(false) {
            let id = self.entry.id;
            self.server.log.error(format_args!("connection {id}: its open transaction cannot be rolled back: {e}"));
        }
    }

    /// Error 1792 or 1290 when writing is not allowed now.
    pub(crate) fn require_writable(&self) -> Result<()> {
        self.work.require_read_write()?;
        if self.follows { Ok(()) } else { self.server.require_writable(self.state.privileges()) }
    }
}

/// Error 3944 where `require_row_format` allows rows of BINLOG alone.
pub(crate) fn refuse_statements(session: &Session) -> Result<()> {
    match session.state.vars[Live::RequireRowFormat].as_bool() {
        true => Err(sql_err!(ClientQueryFailureInvalidNonRowFormat)),
        false => Ok(()),
    }
}

/// AND CHAIN, RELEASE, `completion_type`.
fn complete(session: &mut Session, completion: ast::Completion, read_only: bool) {
    let default = session.state.vars[Live::CompletionType].as_str();
    let chain = completion.chain.unwrap_or(default == "CHAIN" && completion.release != Some(true));
    let release = completion.release.unwrap_or(default == "RELEASE" && !chain);
    if chain {
        // The new transaction has the characteristics of the one that ended; its level is still set.
        session.work.transaction_mut().chain(read_only);
    }
    session.closing |= release;
}

/// SAVEPOINT.
pub(crate) fn savepoint(session: &mut Session, name: &str) -> Result<()> {
    count(Counter::ComSavepoint);
    session.work.savepoint(name)
}

/// ROLLBACK TO SAVEPOINT.
pub(crate) fn rollback_to(session: &mut Session, name: &str) -> Result<()> {
    count(Counter::ComRollbackToSavepoint);
    session.work.rollback_to(name)
}

/// RELEASE SAVEPOINT.
pub(crate) fn release_savepoint(session: &mut Session, name: &str) -> Result<()> {
    count(Counter::ComReleaseSavepoint);
    session.work.release_savepoint(name)
}

/// `SET autocommit`: turning it on commits the open transaction.
pub(crate) fn set_autocommit(session: &mut Session, on: bool) -> Result<()> {
    if session.inside {
        return Err(sql_err!(SpCantSetAutocommit));
    }
    if on && !session.work.terms().autocommit {
        session.commit_implicitly()?;
    }
    let terms = Terms { autocommit: on, ..*session.work.terms() };
    session.work.set_terms(terms);
    Ok(())
}
