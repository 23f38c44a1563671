//! The unit of work: what everybody goes through who reads and writes tables.
//!
//! A [`Work`] is one engine transaction with all that the rules of the server add to it: metadata locks, the gates of
//! FLUSH TABLES WITH READ LOCK, `read_only`, the limits of accounts, `lock_wait_timeout`, the retry after a
//! deadlock, and a commit whose reply waits without a stack. A session of SQL has one, and so has a client of
//! another protocol.
//!
//! | module | what |
//! |---|---|
//! | `transaction` | the state machine: autocommit, BEGIN, statements, savepoints |
//! | `locks` | metadata locks and gates |
//! | `logged` | changed rows for the binary log |
//! | `gtid` | the GTID that the next commit has |
//! | `rows` | work without SQL: tables and their rows by key |
//! | `once` | the same where each command is a transaction on one table |
//! | `watched` | what performance_schema is told of the transactions of a session |
//!
//! *Invariants.* No row of a table is written before [`Locks::pass_write_gate`], none is committed behind a closed
//! gate. A metadata lock lasts at least as long as the changes that it covers are not decided.

mod gtid;
mod locks;
mod logged;
mod once;
mod rows;
mod transaction;
mod watched;

pub use gtid::{Gtids, NextGtid, Origin};
pub use locks::{Gates, Locks, lock_error};
pub use logged::{LoggedStatement, Told, exchange};
pub use once::OpenTable;
pub(crate) use rows::append;
pub use rows::{Mode, isolation};
pub use transaction::Transaction;
pub use watched::{Watched, settle, tell_alone};

use crate::Core;
use crate::accounts::{Access, Account, Usage};
use gannet_binlog::group::Payload;
use gannet_engine::{EngineError, Isolation, Lsn, Txn, TxnOptions};
use gannet_exec::error::from_engine;
use gannet_runtime::Waker;
use gannet_types::Result;
use std::io::Read;
use std::sync::Arc;

/// What transactions are begun with, unless they say otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// `transaction_isolation`.
    pub isolation: Isolation,
    /// `transaction_read_only`.
    pub read_only: bool,
    /// `autocommit`.
    pub autocommit: bool,
    /// `innodb_lock_wait_timeout`: of rows, seconds.
    pub row_wait_s: u32,
    /// `lock_wait_timeout`: of tables and gates, seconds.
    pub table_wait_s: u32,
    /// `binlog_transaction_compression`.
    pub compressed: bool,
}

/// Whose work it is, where no session asks for that itself.
struct Holder {
    account: Arc<Account>,
    access: Access,
    usage: Option<Arc<Usage>>,
}

/// A unit of work, made once for a session and begun again and again.
pub struct Work {
    core: Arc<Core>,
    holder: Option<Box<Holder>>,
    /// The connection, for lists of transactions and locks.
    thread: u64,
    terms: Terms,
    state: Transaction,
    /// FLUSH TABLES WITH READ LOCK is its own.
    read_locked: bool,
    /// LOCK INSTANCE FOR BACKUP is its own.
    backup_locked: bool,
    /// The reply of the next commit may wait without a stack.
    later: bool,
    /// A commit that has not waited; zero: none.
    unsynced: Lsn,
    /// The transaction, by its number, in which a table was locked for writing; zero: none.
    writes_in: u64,
    /// Changed rows, for the binary log.
    logged: logged::LoggedRows,
    /// The binary log has a commit that was not asked for yet: [`Work::told`].
    told: bool,
    /// What is told of its transactions.
    pub watched: Watched,
    txn: Txn,
}

impl Work {
    /// The work of a session, which asks for its account itself, or of the server itself, which may do everything.
    /// `thread`: of the connection, else 0. Nothing is begun.
    pub fn new(core: Arc<Core>, thread: u64, terms: Terms) -> Self {
        let txn = gannet_engine::idle(&core.engine, TxnOptions { owner_thread_id: thread, ..TxnOptions::default() });
        let state = Transaction::default();
        Self {
            core,
            holder: None,
            thread,
            terms,
            state,
            read_locked: false,
            backup_locked: false,
            later: false,
            unsynced: Lsn::ZERO,
            writes_in: 0,
            logged: logged::LoggedRows::default(),
            told: false,
            watched: Watched::default(),
            txn,
        }
    }

    /// The terms of the transactions to come.
    #[inline]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Other terms, for the transactions to come.
    pub fn set_terms(&mut self, terms: Terms) {
        self.terms = terms;
    }

    /// The state of the transaction.
    #[inline]
    pub fn transaction(&self) -> &Transaction {
        &self.state
    }

    #[inline]
    pub fn transaction_mut(&mut self) -> &mut Transaction {
        &mut self.state
    }

    /// The engine's transaction, for reading: changes go through [`Work::writer`] or a statement's executor.
    #[inline]
    pub fn txn(&self) -> &Txn {
        &self.txn
    }

    /// The same, for the executor.
    #[inline]
    pub fn txn_mut(&mut self) -> &mut Txn {
        &mut self.txn
    }

    /// Nothing but the reply follows the next commit: it need not wait for the log, and [`Work::unsynced`] says so.
    /// Until `false` is given.
    #[inline]
    pub fn leave_waiting(&mut self, later: bool) {
        self.later = later;
    }

    /// The commit that has not waited for the log, if one has not. Its client must not be told before
    /// [`Work::poll`] says so.
    #[inline]
    pub fn unsynced(&mut self) -> Option<Lsn> {
        let commit = std::mem::take(&mut self.unsynced);
        (!commit.is_zero()).then_some(commit)
    }

    /// Whether a commit is durable; `false`: not yet, and `waker` is used when it is time to ask again.
    pub fn poll(&self, commit: Lsn, waker: &Waker) -> Result<bool> {
        self.txn.poll_commit(commit, waker).map_err(from_engine)
    }

    /// Commits the engine's transaction; waits for the log, or leaves that.
    #[inline]
    fn commit_now(&mut self, payload: Option<&mut dyn Read>) -> gannet_engine::Result<()> {
        let later = std::mem::take(&mut self.later);
        let carried = self.logged.take_carried();
        if payload.is_none()
            && !carried
            && let Some(logged) = self.logged.take(&self.txn, self.thread)
        {
            return self.commit_logged(later, logged);
        }
        match payload {
            None if later => self.unsynced = self.txn.commit_unsynced()?.unwrap_or_default(),
            None => drop(self.txn.commit()?),
            Some(payload) if later => self.unsynced = self.txn.commit_with_unsynced(payload)?,
            Some(payload) => drop(self.txn.commit_with(payload)?),
        }
        if carried {
            logged::committed(self);
        }
        Ok(())
    }

    /// The same with the rows for the binary log.
    fn commit_logged(&mut self, later: bool, mut payload: Payload) -> gannet_engine::Result<()> {
        if self.terms.compressed {
            payload.compress();
        }
        let (bytes, spilled) = (payload.len(), payload.parts().is_none());
        let lsn = match payload.parts() {
            Some(parts) => self.txn.commit_parts_unsynced(parts),
            None => self.txn.commit_with_unsynced(&mut payload),
        };
        let done = match lsn {
            Ok(lsn) if later => {
                self.unsynced = lsn;
                Ok(())
            }
            Ok(lsn) => self.txn.wait_commit(lsn),
            Err(e) => Err(e),
        };
        // These two come when the commit is in the log already.
        if matches!(done, Ok(()) | Err(EngineError::LogPoisoned | EngineError::ShutDown)) {
            payload.keep();
        }
        done?;
        logged::note_written(bytes, spilled);
        self.logged.reuse(payload);
        logged::committed(self);
        Ok(())
    }
}
