//! Rows by their primary key, without SQL: for protocols that know keys and values.
//!
//! What SQL computes around a row is not done here, so that only tables take part for which there is nothing to compute: no
//! generated columns (functional indexes among them), no checks, no foreign keys in either direction. Values are converted to the
//! columns' types as by INSERT in strict mode.

use crate::changes::RowWriter;
use crate::dml::rows::{self, Conflict, Write};
use crate::{codec, context, error::from_engine};
use gannet_engine::{Read, ReadMode, RowBuf, Txn};
use gannet_schema::{CatalogSnapshot, IndexKind, Table};
use gannet_types::convert::{self, Context, StoreTarget};
use gannet_types::{Date, Result, SqlError, SqlMode, TimeZone, Value, Warnings, sql_err};
use std::sync::Arc;

/// A table whose rows are read and written by their primary key.
pub struct KeyValueTable {
    table: Arc<Table>,
    index: usize,
}

/// What [`KeyValueTable::put`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Put {
    /// The row is new.
    Inserted,
    /// It took the place of another one.
    Replaced,
    /// It was there already.
    Same,
}

fn refused(table: &Table, why: &str) -> SqlError {
    sql_err!(NotSupportedYet, format_args!("rows by key of `{}`.`{}`: {why}", table.schema, table.name))
}

impl KeyValueTable {
    /// Error 1235 for a table with something that only SQL does. To be asked anew for each version of the dictionary; the caller
    /// holds the table's metadata lock while it uses it.
    pub fn new(table: Arc<Table>, snapshot: &CatalogSnapshot) -> Result<KeyValueTable> {
        let refuse = |why: &str| Err(refused(&table, why));
        if !table.source.is_engine() {
            return refuse("it has no stored rows");
        }
        let Some(index) = table.clustered.filter(|i| table.indexes[*i].kind == IndexKind::Primary) else {
            return refuse("it has no primary key");
        };
        if table.columns.iter().any(|c| c.generated.is_some()) {
            return refuse("it has generated columns");
        }
        let (keys, checks) = (&table.constraints.foreign_keys, &table.constraints.checks);
        if checks.iter().any(|c| c.enforced) {
            return refuse("it has checks");
        }
        if !keys.is_empty() || !snapshot.children(&table.schema, &table.name).is_empty() {
            return refuse("it has foreign keys");
        }
        Ok(KeyValueTable { table, index })
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// The row with this primary key, its columns' values in the key's order.
    pub fn get(&self, txn: &mut Txn, key: &[Value], mode: ReadMode, zone: &TimeZone) -> Result<Option<Vec<Value>>> {
        let columns = self.table.clustered_columns();
        if key.len() != columns.len() {
            return Err(SqlError::internal(format_args!("{} values for a key of {}", key.len(), columns.len())));
        }
        let mut values = vec![Value::Null; self.table.columns.len()];
        for (column, value) in columns.iter().zip(key) {
            values[*column as usize] = self.converted(*column as usize, value, zone)?;
        }
        let row_key = self.row_key(&values)?;
        let mut buffer = RowBuf::new();
        match txn.get(codec::row_tree(&self.table, txn)?, &row_key, mode, &mut buffer).map_err(from_engine)? {
            Read::Found => codec::decode_row(&self.table, buffer.row()).map(Some),
            Read::Missing | Read::Skipped => Ok(None),
        }
    }

    /// Puts a row, a value for each column, in the place of the one with the same primary key, if there is one. Error 1062 when
    /// another row has one of its unique keys. After an error nothing of it is there.
    pub fn put(&self, to: &mut RowWriter<'_>, row: &[Value], zone: &TimeZone) -> Result<Put> {
        let table = &*self.table;
        if row.len() != table.columns.len() {
            return Err(sql_err!(WrongValueCountOnRow, 1));
        }
        let new: Vec<Value> = row.iter().enumerate().map(|(i, v)| self.converted(i, v, zone)).collect::<Result<_>>()?;
        let key = self.row_key(&new)?;
        let mark = to.txn.begin_statement();
        let outcome = self.write(to, &key, &new, zone);
        match outcome {
            Ok(_) => to.txn.end_statement().map_err(from_engine)?,
            // After a deadlock all is rolled back already.
            Err(_) if to.txn.is_active() => to.txn.rollback_to(mark).map_err(from_engine)?,
            Err(_) => {}
        }
        outcome
    }

    fn write(&self, to: &mut RowWriter<'_>, key: &[u8], new: &[Value], zone: &TimeZone) -> Result<Put> {
        let table = &*self.table;
        let mark = to.txn.savepoint();
        let other = match rows::insert_row(table, key, new, true, to)? {
            Conflict::None => {
                rows::raise_counter(table, new, to.txn)?;
                return Ok(Put::Inserted);
            }
            Conflict::Duplicate { index, .. } => index,
        };
        if other != self.index {
            return Err(rows::duplicate_error(table, other, new, zone));
        }
        to.txn.rollback_to(mark).map_err(from_engine)?;
        let Some(old) = rows::current(table, key, to.txn)? else {
            return Err(SqlError::internal("the duplicate disappeared while it was locked"));
        };
        if old == new {
            return Ok(Put::Same);
        }
        let all: Vec<u32> = (0..table.indexes.len() as u32).collect();
        match rows::change_row(table, key, (&old, new), &all, Write::Here, to)? {
            Conflict::None => Ok(Put::Replaced),
            Conflict::Duplicate { index, .. } => Err(rows::duplicate_error(table, index, new, zone)),
        }
    }

    fn row_key(&self, values: &[Value]) -> Result<Vec<u8>> {
        let mut key = Vec::with_capacity(32);
        self.table.clustered_key(|i| values[i].as_ref(), &mut key)?;
        Ok(key)
    }

    fn converted(&self, column: usize, value: &Value, zone: &TimeZone) -> Result<Value> {
        let column = &self.table.columns[column];
        let mut warnings = Warnings::default();
        let mut conversion = Context {
            mode: SqlMode::default(),
            zone,
            today: Date::ZERO,
            strict: true,
            warnings: &mut warnings,
            stopped: context::stopped,
        };
        convert::store(value.as_ref(), &column.ty, StoreTarget { column: &column.name, row: 1 }, &mut conversion)
    }
}
