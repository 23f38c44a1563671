//! Commands that are a transaction each, on one table that is used again and again.

use super::rows::{MOST_TRIES, let_others_go};
use super::{Holder, LoggedStatement, Mode, Told, Work};
use crate::accounts::Privileges;
use gannet_engine::lock::{MdlDuration, MdlMode, MdlObject};
use gannet_exec::kv::KeyValueTable;
use gannet_schema::Table;
use gannet_types::{ErrorCode, Result, sql_err};
use std::sync::Arc;

/// A table with what was looked up for it, so that a command looks nothing up.
pub struct OpenTable {
    rows: KeyValueTable,
    object: MdlObject,
    /// The dictionary's version for which `rows` is the newest definition.
    dictionary: u64,
    /// The accounts' version for which `may` holds, and one; 0: none.
    accounts: u64,
    may: Privileges,
}

impl OpenTable {
    /// Opens a table: its newest definition. Errors 1049, 1146, 1235.
    pub fn open(work: &Work, schema: &str, name: &str) -> Result<OpenTable> {
        let snapshot = work.core.catalog.snapshot();
        let table = snapshot.require_table(schema, name)?;
        let object = work.core.lock_of(table);
        let rows = KeyValueTable::new(table.clone(), &snapshot)?;
        Ok(OpenTable { rows, object, dictionary: snapshot.version(), accounts: 0, may: Privileges::NONE })
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        self.rows.table()
    }

    /// Its rows.
    pub fn rows(&self) -> &KeyValueTable {
        &self.rows
    }

    /// Does a command, with all that [`Work::lock`] says, and commits it: waits for the log, or leaves that
    /// ([`Work::leave_waiting`]). After an error nothing of it is there; after a deadlock it is done again. Error 1615
    /// when the definition is not the newest any more: the caller opens the table anew.
    ///
    /// A transaction of its own, which writes one row: [`super::Terms::autocommit`] is on.
    pub fn once<T>(
        &mut self,
        work: &mut Work,
        (mode, needs): (Mode, Privileges),
        mut f: impl FnMut(&mut Work, &KeyValueTable) -> Result<T>,
    ) -> Result<T> {
        if let Some(Holder { account, usage: Some(usage), .. }) = work.holder.as_deref() {
            usage.take(account, 0)?;
        }
        let later = work.later;
        let mut tries = 1;
        loop {
            self.require(work, needs)?;
            let mark = work.begin_statement()?;
            let outcome = self.enter(work, mode).and_then(|()| f(work, &self.rows));
            work.later = later;
            let outcome = work.end_statement(mark, outcome);
            work.writes_in = 0;
            let again = matches!(&outcome, Err(e) if e.code() == ErrorCode::LockDeadlock) && tries < MOST_TRIES;
            if !again {
                work.later = false;
                return outcome;
            }
            let_others_go(tries);
            tries += 1;
        }
    }

    /// Error 1142.
    fn require(&mut self, work: &mut Work, needs: Privileges) -> Result<()> {
        let Some(holder) = &mut work.holder else { return Ok(()) };
        let now = work.core.accounts.version() + 1;
        if self.accounts != now {
            (self.may, self.accounts) = (holder.may(&work.core, self.rows.table()), now);
        }
        let missing = needs.without(self.may);
        if missing == Privileges::NONE {
            return Ok(());
        }
        let (words, a) = (missing.words(), &holder.account);
        Err(sql_err!(TableaccessDenied, words, a.user, a.host, self.table().name))
    }

    fn enter(&mut self, work: &mut Work, mode: Mode) -> Result<()> {
        let mut lock = MdlMode::Read;
        if mode == Mode::Write {
            work.require_read_write()?;
            if let Some(holder) = &work.holder {
                holder.admit_writer(&work.core)?;
            }
            work.locks().pass_write_gate(MdlDuration::Statement)?;
            work.writes_in = work.state.number();
            if work.core.binlog().is_some() {
                let now_s = gannet_runtime::WallTime::now().seconds() as u32;
                work.log_rows(Told::Statement(LoggedStatement { now_s, ..LoggedStatement::default() }));
            }
            lock = MdlMode::Write;
        }
        work.locks().take(self.object, lock, MdlDuration::Statement)?;
        if work.core.catalog.version() == self.dictionary {
            return Ok(());
        }
        // Another table's definition may have changed.
        let (snapshot, table) = (work.core.catalog.snapshot(), self.rows.table());
        match snapshot.table(&table.schema, &table.name) {
            Some(now) if Arc::ptr_eq(now, table) => {
                self.dictionary = snapshot.version();
                Ok(())
            }
            _ => Err(sql_err!(NeedReprepare)),
        }
    }
}
