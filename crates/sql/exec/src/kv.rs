//! Rows by their primary key (or the unique one in its place), without SQL: for protocols that know keys and values.
//!
//! What SQL computes around a row is not done here, so that only tables take part for which there is nothing to
//! compute: no triggers, no generated columns (functional indexes among them), no checks, no foreign keys in either
//! direction, no partitions. Values are converted to the columns' types as by INSERT in strict mode.
//!
//! Metadata locks, gates and limits are not looked at here: a service takes its transaction and its [`RowWriter`] from
//! `gannet_core::work::Work`, which has them.

use crate::changes::RowWriter;
use crate::dml::rows::{self, Conflict, Write};
use crate::spill::Allowance;
use crate::{codec, context, error::from_engine};
use gannet_engine::{Read, ReadMode, RowBuf, Txn};
use gannet_schema::{CatalogSnapshot, Column, Table};
use gannet_types::convert::{self, Context, StoreTarget, Stored};
use gannet_types::room::Room;
use gannet_types::{Date, Result, SqlError, SqlMode, TimeZone, Value, ValueRef, Warnings, sql_err};
use std::sync::Arc;

mod stored;

pub use stored::{Become, Defaults, NewRow, Stored as StoredRow};

/// Memory for making one value.
const VALUE_MEMORY: usize = 64 << 20;

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

/// What [`KeyValueTable::compare_and_set`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swap {
    /// The row was as expected; the new one is in its place.
    Done,
    /// The row is another one, which stays.
    Other,
    /// There is no such row.
    Missing,
}

/// Does what is there as a whole or not at all.
fn statement<T>(to: &mut RowWriter<'_>, f: impl FnOnce(&mut RowWriter<'_>) -> Result<T>) -> Result<T> {
    let mark = to.txn.begin_statement();
    let outcome = f(to);
    match outcome {
        Ok(_) => to.txn.end_statement().map_err(from_engine)?,
        // After a deadlock all is rolled back already.
        Err(_) if to.txn.is_active() => to.txn.rollback_to(mark).map_err(from_engine)?,
        Err(_) => {}
    }
    outcome
}

fn refused(table: &Table, why: &str) -> SqlError {
    sql_err!(NotSupportedYet, format_args!("rows by key of `{}`.`{}`: {why}", table.schema, table.name))
}

impl KeyValueTable {
    /// Error 1235 for a table with something that only SQL does. To be asked anew for each version of the
    /// dictionary; the caller holds the table's metadata lock while it uses it.
    pub fn new(table: Arc<Table>, snapshot: &CatalogSnapshot) -> Result<KeyValueTable> {
        let refuse = |why: &str| Err(refused(&table, why));
        if !table.source.is_engine() {
            return refuse("it has no stored rows");
        }
        let Some(index) = table.clustered else {
            return refuse("it has no primary key, nor another one of columns that are never NULL");
        };
        if table.indexes[index].parts.iter().any(|p| p.prefix.is_some()) {
            return refuse("its primary key is of the first characters of a text");
        }
        if !table.triggers.is_empty() {
            return refuse("it has triggers");
        }
        if table.partitions.is_some() {
            return refuse("it has partitions");
        }
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
        let row_key = self.key_of(key, zone)?;
        let mut buffer = RowBuf::new();
        match txn.get(codec::row_tree(&self.table, txn)?, &row_key, mode, &mut buffer).map_err(from_engine)? {
            Read::Found => codec::decode_row(&self.table, buffer.row()).map(Some),
            Read::Missing | Read::Skipped => Ok(None),
        }
    }

    /// Puts a row, a value for each column, in the place of the one with the same primary key, if there is one.
    /// Error 1062 when another row has one of its unique keys. After an error nothing of it is there.
    pub fn put(&self, to: &mut RowWriter<'_>, row: &[Value], zone: &TimeZone) -> Result<Put> {
        let (key, new) = self.whole_row(row, zone)?;
        statement(to, |to| {
            if self.insert(to, &key, &new, zone)? {
                return Ok(Put::Inserted);
            }
            let Some(old) = codec::current(&self.table, &key, to.txn)? else {
                return Err(SqlError::internal("the duplicate disappeared while it was locked"));
            };
            self.change_row(to, &key, (&old, &new), zone)
        })
    }

    /// Adds a row, a value for each column. `false`, and nothing is done, when there is one with the same primary
    /// key, which is locked then. Error 1062 when another row has one of its unique keys.
    pub fn add(&self, to: &mut RowWriter<'_>, row: &[Value], zone: &TimeZone) -> Result<bool> {
        let (key, new) = self.whole_row(row, zone)?;
        statement(to, |to| self.insert(to, &key, &new, zone))
    }

    /// Puts a row in the place of the one with the same primary key; `None`, and nothing is done, when there is none.
    pub fn replace(&self, to: &mut RowWriter<'_>, row: &[Value], zone: &TimeZone) -> Result<Option<Put>> {
        let (key, new) = self.whole_row(row, zone)?;
        statement(to, |to| match codec::current(&self.table, &key, to.txn)? {
            Some(old) => self.change_row(to, &key, (&old, &new), zone).map(Some),
            None => Ok(None),
        })
    }

    /// Looks at the row with this primary key, locked for change, and puts what `change` makes of it in its place;
    /// `None` from `change` leaves it as it is. `None`: there is no such row. A counter, and a value that was read
    /// before and is written if it is still the same, are this. Error 1235 when `change` gives it another primary
    /// key.
    pub fn change(
        &self,
        to: &mut RowWriter<'_>,
        key: &[Value],
        zone: &TimeZone,
        change: impl FnOnce(&[Value]) -> Result<Option<Vec<Value>>>,
    ) -> Result<Option<Put>> {
        let key = self.key_of(key, zone)?;
        statement(to, |to| {
            let Some(old) = codec::current(&self.table, &key, to.txn)? else { return Ok(None) };
            let Some(row) = change(&old)? else { return Ok(Some(Put::Same)) };
            let (new_key, new) = self.whole_row(&row, zone)?;
            if new_key != key {
                return Err(refused(&self.table, "another key for a row"));
            }
            self.change_row(to, &key, (&old, &new), zone).map(Some)
        })
    }

    /// Puts `new` in the place of the row with its primary key where that is equal to `expected`, column by column.
    pub fn compare_and_set(
        &self,
        to: &mut RowWriter<'_>,
        (expected, new): (&[Value], &[Value]),
        zone: &TimeZone,
    ) -> Result<Swap> {
        let (key, new) = self.whole_row(new, zone)?;
        let (_, expected) = self.whole_row(expected, zone)?;
        statement(to, |to| match codec::current(&self.table, &key, to.txn)? {
            None => Ok(Swap::Missing),
            Some(old) if old != expected => Ok(Swap::Other),
            Some(old) => self.change_row(to, &key, (&old, &new), zone).map(|_| Swap::Done),
        })
    }

    /// Deletes the row with this primary key; `false` when there is none.
    pub fn delete(&self, to: &mut RowWriter<'_>, key: &[Value], zone: &TimeZone) -> Result<bool> {
        let key = self.key_of(key, zone)?;
        statement(to, |to| match codec::current(&self.table, &key, to.txn)? {
            Some(old) => rows::delete_row(&self.table, &key, &old, to),
            None => Ok(false),
        })
    }

    /// Inserts a row; `false`, and nothing is left of it, when its primary key is there.
    fn insert(&self, to: &mut RowWriter<'_>, key: &[u8], new: &[Value], zone: &TimeZone) -> Result<bool> {
        let mark = to.txn.savepoint();
        match rows::insert_row(&self.table, key, new, true, to)? {
            Conflict::None => rows::raise_counter(&self.table, new, to.txn).map(|()| true),
            Conflict::Duplicate { index, .. } if index != self.index => {
                Err(rows::duplicate_error(&self.table, index, new, zone))
            }
            Conflict::Duplicate { .. } => to.txn.rollback_to(mark).map_err(from_engine).map(|()| false),
        }
    }

    fn change_row(
        &self,
        to: &mut RowWriter<'_>,
        key: &[u8],
        (old, new): (&[Value], &[Value]),
        zone: &TimeZone,
    ) -> Result<Put> {
        if old == new {
            return Ok(Put::Same);
        }
        let all: Vec<u32> = (0..self.table.indexes.len() as u32).collect();
        match rows::change_row(&self.table, key, (old.into(), new.into()), &all, Write::Here, to)? {
            Conflict::None => Ok(Put::Replaced),
            Conflict::Duplicate { index, .. } => Err(rows::duplicate_error(&self.table, index, new, zone)),
        }
    }

    /// A given row as it is stored, and its key.
    fn whole_row(&self, row: &[Value], zone: &TimeZone) -> Result<(Vec<u8>, Vec<Value>)> {
        if row.len() != self.table.columns.len() {
            return Err(sql_err!(WrongValueCountOnRow, 1));
        }
        let new: Vec<Value> = row.iter().enumerate().map(|(i, v)| self.converted(i, v, zone)).collect::<Result<_>>()?;
        Ok((self.row_key(&new)?, new))
    }

    /// The key of a row, from the values of its columns in the key's order.
    fn key_of(&self, key: &[Value], zone: &TimeZone) -> Result<Vec<u8>> {
        let columns = self.table.clustered_columns();
        if key.len() != columns.len() {
            return Err(SqlError::internal(format_args!("{} values for a key of {}", key.len(), columns.len())));
        }
        let mut values = vec![Value::Null; self.table.columns.len()];
        for (column, value) in columns.iter().zip(key) {
            values[*column as usize] = self.converted(*column as usize, value, zone)?;
        }
        self.row_key(&values)
    }

    fn row_key(&self, values: &[Value]) -> Result<Vec<u8>> {
        let mut key = Vec::with_capacity(32);
        self.table.clustered_key(|i| values[i].as_ref(), &mut key)?;
        Ok(key)
    }

    fn converted(&self, column: usize, value: &Value, zone: &TimeZone) -> Result<Value> {
        convert_for(&self.table.columns[column], value.as_ref(), zone).map(Stored::into_owned)
    }
}

/// A value as a column takes it, as by INSERT in strict mode.
fn convert_for<'v>(column: &Column, value: ValueRef<'v>, zone: &TimeZone) -> Result<Stored<'v>> {
    let mut warnings = Warnings::default();
    let allowance = Allowance::alone(VALUE_MEMORY);
    let mut conversion = Context {
        mode: SqlMode::default(),
        zone,
        today: Date::ZERO,
        strict: true,
        warnings: &mut warnings,
        stopped: context::stopped,
        room: Room::of(&allowance),
    };
    convert::store_ref(value, &column.ty, StoreTarget { column: &column.name, row: 1 }, &mut conversion)
}
