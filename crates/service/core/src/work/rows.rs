//! Work without SQL: a protocol of its own locks a table and reads and writes its rows by key.

use super::{Holder, LoggedStatement, Terms, Told, Work};
use crate::Core;
use crate::accounts::{Access, Account, Privilege, Privileges};
use crate::vars::Live;
use gannet_engine::Isolation;
use gannet_engine::lock::{MdlDuration, MdlMode};
use gannet_exec::changes::RowWriter;
use gannet_exec::kv::KeyValueTable;
use gannet_runtime::{Unpark, Wait, now_ns, park, random_u64};
use gannet_schema::Table;
use gannet_types::{ErrorCode, Result, SqlError, Value, sql_err};
use std::io::Read;
use std::sync::Arc;

/// How often work is done again after a deadlock, or when a table's definition has changed, before the error is told.
pub(super) const MOST_TRIES: u32 = 10;

/// A deadlock's victim waits a random time, which doubles with each try, so that it meets neither the same transactions
/// nor another victim in the same step again and again: at most 0.2 ms after the first try, 50 ms after the ninth. A
/// KILL ends the wait; the next try finds it.
pub(super) fn let_others_go(tries: u32) {
    let most_ns = 100_000 << tries.min(9);
    let until = now_ns() + random_u64() % most_ns;
    while park(Wait::RowLock, Some(until)) == Unpark::Woken {}
}

/// What a table is locked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Rows are read: SELECT.
    Read,
    /// Rows are read and written: SELECT, INSERT, UPDATE and DELETE.
    Write,
}

impl Mode {
    fn needs(self) -> Privileges {
        match self {
            Mode::Read => Privilege::Select.into(),
            Mode::Write => {
                Privileges::of(&[Privilege::Select, Privilege::Insert, Privilege::Update, Privilege::Delete])
            }
        }
    }
}

/// The level with this name in `transaction_isolation`.
pub fn isolation(name: &str) -> Isolation {
    match name {
        "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
        "READ-COMMITTED" => Isolation::ReadCommitted,
        "SERIALIZABLE" => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

impl Holder {
    /// Who writes does that where `read_only` allows it, and counts it.
    pub(super) fn admit_writer(&self, core: &Core) -> Result<()> {
        core.require_writable(self.access.global)?;
        self.usage.as_ref().map_or(Ok(()), |usage| usage.take(&self.account, 1))
    }

    /// Error 1142.
    fn require(&mut self, core: &Core, need: Privileges, table: &Table) -> Result<()> {
        self.renew(core);
        let missing = need.without(self.access.table(&table.schema, &table.name));
        if missing == Privileges::NONE {
            return Ok(());
        }
        let (words, a) = (missing.words(), &self.account);
        Err(sql_err!(TableaccessDenied, words, a.user, a.host, table.name))
    }

    /// What the account may do on a table, as things stand.
    pub(super) fn may(&mut self, core: &Core, table: &Table) -> Privileges {
        self.renew(core);
        self.access.table(&table.schema, &table.name)
    }

    fn renew(&mut self, core: &Core) {
        if self.access.version != core.accounts.version() {
            if let Some(now) = core.accounts.get(&self.account.user, &self.account.host) {
                self.account = now;
            }
            self.access = Access::new(&core.accounts, &self.account, &self.account.grants.default_roles);
        }
    }
}

impl Work {
    /// The work of an account, in whatever protocol it has logged in. `thread`: number of its connection. Nothing
    /// is begun: [`Work::lock`] does that.
    pub fn begin(core: &Arc<Core>, account: &Arc<Account>, thread: u64) -> Work {
        let get = |id: Live| core.globals.get(id);
        let terms = Terms {
            isolation: isolation(get(Live::TransactionIsolation).as_str()),
            read_only: get(Live::TransactionReadOnly).as_bool(),
            autocommit: false,
            row_wait_s: get(Live::InnodbLockWaitTimeout).as_u64() as u32,
            table_wait_s: get(Live::LockWaitTimeout).as_u64() as u32,
            compressed: get(Live::BinlogTransactionCompression).as_bool(),
        };
        let access = Access::new(&core.accounts, account, &account.grants.default_roles);
        let limited = account.policy.limits != [0; 4];
        let usage = limited.then(|| core.accounts.limits.usage(account));
        let holder = Some(Box::new(Holder { account: account.clone(), access, usage }));
        Work { holder, ..Work::new(core.clone(), thread, terms) }
    }

    /// The rows of a table by key, by its newest definition. Errors 1049, 1146; 1235 for a table with something
    /// that only SQL does. What the account may not do is said by [`Work::lock`].
    pub fn table(&self, schema: &str, name: &str) -> Result<KeyValueTable> {
        let snapshot = self.core.catalog.snapshot();
        KeyValueTable::new(snapshot.require_table(schema, name)?.clone(), &snapshot)
    }

    /// Locks a table's definition until the transaction ends, and begins one where none is open. Whoever writes
    /// passes what stands before that: error 1290 under `read_only`, 1223 or a wait under FLUSH TABLES WITH READ
    /// LOCK, 1792 in a read-only transaction, 1226 beyond the account's limits. Error 1142 without the privileges,
    /// 1205 and 1213 for waits, 1615 when the definition is not the newest any more ([`Work::run`] tries again).
    /// After an error the caller rolls back.
    pub fn lock(&mut self, table: &Arc<Table>, mode: Mode) -> Result<()> {
        if let Some(holder) = &mut self.holder {
            holder.require(&self.core, mode.needs(), table)?;
        }
        let _mark = self.begin_statement()?;
        if mode == Mode::Write {
            self.require_read_write()?;
            if let Some(holder) = &self.holder {
                holder.admit_writer(&self.core)?;
            }
            self.locks().pass_write_gate(MdlDuration::Transaction)?;
            self.writes_in = self.state.number();
            let now_s = gannet_runtime::WallTime::now().seconds() as u32;
            self.log_rows(Told::Statement(LoggedStatement { now_s, ..LoggedStatement::default() }));
        }
        let lock = if mode == Mode::Write { MdlMode::Write } else { MdlMode::Read };
        let object = self.core.lock_of(table);
        self.locks().take(object, lock, MdlDuration::Transaction)?;
        let snapshot = self.core.catalog.snapshot();
        match snapshot.table(&table.schema, &table.name) {
            Some(now) if Arc::ptr_eq(now, table) => Ok(()),
            _ => Err(sql_err!(NeedReprepare)),
        }
    }

    /// Changes rows of the tables that are locked for writing.
    pub fn writer(&mut self) -> Result<RowWriter<'_>> {
        if self.writes_in != self.state.number() {
            return Err(SqlError::internal("rows are to be written whose table is not locked for that"));
        }
        let (txn, sink) = self.writing();
        Ok(RowWriter { txn, sink, cascade: false, linked: false })
    }

    /// Commits: waits for the log, or leaves that ([`Work::leave_waiting`]). `payload`: for the consumers of the log.
    pub fn commit(&mut self, payload: Option<&mut dyn Read>) -> Result<()> {
        self.finish(true, payload)
    }

    /// Undoes everything of the open transaction.
    pub fn rollback(&mut self) -> Result<()> {
        self.finish(false, None)
    }

    /// Does a whole transaction: `f`, and the commit. After an error all is undone; after a deadlock, or when a table's
    /// definition has changed, it is done again.
    pub fn run<T>(&mut self, mut f: impl FnMut(&mut Work) -> Result<T>) -> Result<T> {
        if let Some(Holder { account, usage: Some(usage), .. }) = self.holder.as_deref() {
            usage.take(account, 0)?;
        }
        let mut tries = 1;
        loop {
            let outcome = f(self).and_then(|value| self.commit(None).map(|()| value));
            let Err(e) = outcome else {
                // Where nothing was begun, nothing was committed.
                self.leave_waiting(false);
                return outcome;
            };
            self.rollback()?;
            if !matches!(e.code(), ErrorCode::LockDeadlock | ErrorCode::NeedReprepare) || tries == MOST_TRIES {
                self.leave_waiting(false);
                return Err(e);
            }
            if e.code() == ErrorCode::LockDeadlock {
                let_others_go(tries);
            }
            tries += 1;
        }
    }
}

/// Adds rows to a table of the server's own, in a transaction: neither gates nor the binary log know of it, and nobody
/// waits until it is durable. Errors 1205, 1615; and what [`gannet_exec::append`] says.
pub(crate) fn append(work: &mut Work, table: &Arc<Table>, rows: &[&[Value]]) -> Result<()> {
    let mark = work.begin_statement()?;
    let object = work.core.lock_of(table);
    let locked = work.locks().take(object, MdlMode::Write, MdlDuration::Statement);
    let outcome = locked.and_then(|()| {
        let snapshot = work.core.catalog.snapshot();
        if !snapshot.table(&table.schema, &table.name).is_some_and(|now| Arc::ptr_eq(now, table)) {
            return Err(sql_err!(NeedReprepare));
        }
        rows.iter().try_for_each(|row| gannet_exec::append(table, row, &mut work.txn))
    });
    work.leave_waiting(true);
    let outcome = work.end_statement(mark, outcome);
    work.leave_waiting(false);
    let _commit = work.unsynced();
    outcome
}
