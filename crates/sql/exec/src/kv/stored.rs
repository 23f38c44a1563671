//! One row by its key, read and changed in the form in which it is stored: nothing is made of the columns that nobody
//! asks for.
//!
//! A change takes no lock where it need not: the newest version is looked at, it is decided what becomes of it, and the
//! engine writes that only if the version is still the newest and committed. Where nothing else is to be written, the
//! transaction commits with that one log record. What is decided against a change is looked at again under a lock:
//! the version may be another transaction's that is not committed.

use super::{KeyValueTable, convert_for, refused, statement};
use crate::changes::{Images, RowWriter};
use crate::dml::rows::{self, Conflict, Write};
use crate::{codec, context, error::from_engine};
use gannet_engine::{Cut, Delete, Insert, KeyRange, Read, ReadMode, RowBuf, RowStamp, ScanOptions, Txn, Update};
use gannet_schema::{Column, ColumnDefault, Table};
use gannet_types::row::RowLayout;
use gannet_types::rowref::RowRef;
use gannet_types::{CollationId, Result, SqlError, TimeZone, Timestamp, TypeId, Value, ValueRef, sql_err};
use std::cell::Cell;
use std::ops::Range;

/// A row as it is stored.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    table: &'a Table,
    payload: &'a [u8],
}

impl<'a> Stored<'a> {
    /// The value of a column.
    #[inline]
    pub fn get(&self, column: u32) -> Result<ValueRef<'a>> {
        Ok(self.table.layout().get(self.payload, column as usize)?)
    }

    /// The stored form, which differs where a column's value does.
    pub fn bytes(&self) -> &'a [u8] {
        self.payload
    }
}

/// What becomes of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Become {
    /// It stays as it is, or is not there.
    Same,
    /// The columns of the [`NewRow`] get new values; a row that is not there is made.
    Written,
    /// It goes.
    Gone,
}

/// New values of a row's columns. The others keep theirs, or get their defaults.
#[derive(Default)]
pub struct NewRow {
    bytes: Vec<u8>,
    cells: Vec<(u32, Given)>,
    payload: Vec<u8>,
}

enum Given {
    Bytes(Range<usize>, CollationId),
    Value(Value),
}

impl Given {
    fn value<'a>(&'a self, bytes: &'a [u8]) -> ValueRef<'a> {
        match self {
            Given::Bytes(range, collation) => ValueRef::Str(&bytes[range.clone()], *collation),
            Given::Value(value) => value.as_ref(),
        }
    }
}

impl NewRow {
    fn clear(&mut self) {
        self.bytes.clear();
        self.cells.clear();
    }

    fn cell(&self, column: u32) -> Option<ValueRef<'_>> {
        let (_, cell) = self.cells.iter().find(|(c, _)| *c == column)?;
        Some(cell.value(&self.bytes))
    }

    /// Makes the row of the old one by giving columns their new values in place. False: they take other numbers of
    /// bytes.
    fn is_patch_of(&mut self, old: &[u8], layout: &RowLayout) -> Result<bool> {
        let NewRow { bytes, cells, payload } = self;
        payload.clear();
        payload.extend_from_slice(old);
        for (column, cell) in &*cells {
            if !layout.patch(payload, *column as usize, cell.value(bytes))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Memory that a long value took goes.
    pub fn shrink(&mut self, most: usize) {
        if self.bytes.capacity() > most || self.payload.capacity() > most {
            *self = NewRow::default();
        }
    }

    /// The row that was written last, as it is stored.
    pub fn written<'a>(&'a self, table: &'a Table) -> Stored<'a> {
        Stored { table, payload: &self.payload }
    }
}

/// What columns of a new row have that are not given, made once for a table.
#[derive(Default)]
pub struct Defaults(Vec<Value>);

impl KeyValueTable {
    /// The defaults of its columns. Error 1364 for a column beside `given` that has none, 1235 for one whose value only
    /// SQL makes.
    pub fn defaults(&self, given: &[u32]) -> Result<Defaults> {
        let default = |(i, column): (usize, &Column)| {
            if column.auto_increment && !given.contains(&(i as u32)) {
                return Err(refused(&self.table, "it has an AUTO_INCREMENT column that is not given"));
            }
            match &column.default {
                ColumnDefault::Null => Ok(Value::Null),
                ColumnDefault::Literal(value) => Ok(value.clone()),
                // Set anew for each row.
                ColumnDefault::CurrentTimestamp => Ok(Value::Null),
                ColumnDefault::Expression(_) => Err(refused(&self.table, "it has a default that is an expression")),
                ColumnDefault::None | ColumnDefault::Dropped if given.contains(&(i as u32)) => Ok(Value::Null),
                ColumnDefault::None | ColumnDefault::Dropped => Err(sql_err!(NoDefaultForField, column.name)),
            }
        };
        self.table.columns.iter().enumerate().map(default).collect::<Result<_>>().map(Defaults)
    }

    /// Appends the key of the row whose primary key is one column with this value.
    pub fn key_of_one(&self, value: &[u8], zone: &TimeZone, out: &mut Vec<u8>) -> Result<()> {
        let column = *self.table.clustered_columns().first().unwrap_or(&0);
        let ty = &self.table.columns[column as usize].ty;
        if ty.id == TypeId::VarBinary && value.len() <= ty.length as usize {
            return self.table.clustered_key(|_| ValueRef::Str(value, CollationId::BINARY), out);
        }
        self.with_converted(column, self.text_for(column, value), zone, |value| {
            self.table.clustered_key(|_| value, out)
        })
    }

    /// Reads the row with this key into a buffer.
    #[inline]
    pub fn read(&self, txn: &mut Txn, key: &[u8], mode: ReadMode, buffer: &mut RowBuf) -> Result<bool> {
        let tree = codec::row_tree(&self.table, txn)?;
        Ok(txn.get(tree, key, mode, buffer).map_err(from_engine)? == Read::Found)
    }

    /// The row that was read into a buffer.
    #[inline]
    pub fn stored<'a>(&'a self, buffer: &'a RowBuf) -> Stored<'a> {
        Stored { table: &self.table, payload: buffer.row() }
    }

    /// Gives a column of a new row a value that came as text, converted as by INSERT in strict mode: errors 1264, 1366,
    /// 1406 and the like.
    pub fn give(&self, new: &mut NewRow, column: u32, text: &[u8], zone: &TimeZone) -> Result<()> {
        self.with_converted(column, self.text_for(column, text), zone, |value| {
            let cell = match value {
                ValueRef::Str(bytes, collation) => {
                    let start = new.bytes.len();
                    new.bytes.extend_from_slice(bytes);
                    Given::Bytes(start..new.bytes.len(), collation)
                }
                value => Given::Value(value.to_owned()),
            };
            new.cells.push((column, cell));
            Ok(())
        })
    }

    /// The same for a number.
    pub fn give_number(&self, new: &mut NewRow, column: u32, number: i128, zone: &TimeZone) -> Result<()> {
        let number = match (i64::try_from(number), u64::try_from(number)) {
            (Ok(n), _) => ValueRef::Int(n),
            (_, Ok(n)) => ValueRef::UInt(n),
            _ => return Err(sql_err!(DataOutOfRange, "BIGINT", number)),
        };
        // Most columns take any such number as it is.
        let ty = &self.table.columns[column as usize].ty;
        let same = match (ty.id, number) {
            (TypeId::BigInt, ValueRef::Int(n)) if !ty.unsigned => Some(Value::Int(n)),
            (TypeId::BigInt, ValueRef::Int(n)) if n >= 0 => Some(Value::UInt(n as u64)),
            (TypeId::Int, ValueRef::Int(n)) if !ty.unsigned && i32::try_from(n).is_ok() => Some(Value::Int(n)),
            _ => None,
        };
        if let Some(value) = same {
            new.cells.push((column, Given::Value(value)));
            return Ok(());
        }
        self.with_converted(column, number, zone, |value| {
            new.cells.push((column, Given::Value(value.to_owned())));
            Ok(())
        })
    }

    /// A client's bytes are of the column's character set, if they can be; else they are refused when they are
    /// converted.
    fn text_for<'t>(&self, column: u32, text: &'t [u8]) -> ValueRef<'t> {
        let ty = &self.table.columns[column as usize].ty;
        let own = if ty.id.is_string() { ty.collation } else { CollationId::DEFAULT };
        ValueRef::Str(text, if own.charset().is_valid(text) { own } else { CollationId::BINARY })
    }

    fn with_converted<T>(
        &self,
        column: u32,
        value: ValueRef<'_>,
        zone: &TimeZone,
        then: impl FnOnce(ValueRef<'_>) -> Result<T>,
    ) -> Result<T> {
        then(convert_for(&self.table.columns[column as usize], value, zone)?.as_ref())
    }

    /// Looks at the row with this key and does with it what `decide` says; it may be asked several times, and what it
    /// said last counts. In a transaction of its own, which does nothing else and is committed afterwards. Error 1062
    /// when another row has one of its unique keys.
    pub fn alter<T>(
        &self,
        to: &mut RowWriter<'_>,
        key: &[u8],
        (new, buffer): (&mut NewRow, &mut RowBuf),
        (defaults, zone): (&Defaults, &TimeZone),
        mut decide: impl FnMut(Option<Stored<'_>>, &mut NewRow) -> Result<(Become, T)>,
    ) -> Result<T> {
        let tree = codec::row_tree(&self.table, to.txn)?;
        let mut locked = to.txn.queue_up(tree, key).map_err(from_engine)?;
        let mut late = 0;
        loop {
            // The first time is no long work.
            if if late == 0 { gannet_runtime::interrupted() } else { context::stopped() } {
                return Err(sql_err!(QueryInterrupted));
            }
            let mode = if locked { ReadMode::FOR_UPDATE } else { ReadMode::Newest };
            let found = self.read(to.txn, key, mode, buffer)?;
            new.clear();
            let (verdict, outcome) = decide(found.then(|| self.stored(buffer)), new)?;
            let done = match verdict {
                // Nothing is changed: certain only of a version that is committed.
                Become::Same | Become::Gone if !found || verdict == Become::Same => locked,
                Become::Gone | Become::Same => self.remove(to, key, (buffer.row(), buffer.stamp()))?,
                Become::Written if found => self.rewrite(to, key, (new, buffer), zone)?,
                Become::Written => self.make(to, key, new, (defaults, zone))?,
            };
            if done {
                return Ok(outcome);
            }
            late += 1;
            if verdict == Become::Same || !found {
                locked = true;
            } else if late > 1 {
                to.txn.lock_first(tree, key).map_err(from_engine)?;
            }
        }
    }

    /// Nothing follows a change of the row but the change sink: no index entry, nobody who makes an index.
    fn stands_alone(&self) -> bool {
        self.table.indexes.len() == 1 && self.table.row_log.is_none()
    }

    /// False: another transaction was faster.
    fn rewrite(
        &self,
        to: &mut RowWriter<'_>,
        key: &[u8],
        (new, buffer): (&mut NewRow, &RowBuf),
        zone: &TimeZone,
    ) -> Result<bool> {
        let (layout, old) = (self.table.layout(), buffer.row());
        for (i, column) in self.table.columns.iter().enumerate().filter(|(_, c)| c.on_update_now) {
            if new.cell(i as u32).is_none() {
                let now = self.now(column, zone)?;
                new.cells.push((i as u32, Given::Value(now)));
            }
        }
        if new.is_patch_of(old, layout)? {
            return self.write(to, key, (new, buffer), zone);
        }
        let mut payload = std::mem::take(&mut new.payload);
        payload.clear();
        let corrupt = Cell::new(None);
        let kept = |i: usize| {
            layout.get(old, i).unwrap_or_else(|e| {
                corrupt.set(Some(e));
                ValueRef::Null
            })
        };
        layout.encode_with(|i| new.cell(i as u32).unwrap_or_else(|| kept(i)), &mut payload)?;
        new.payload = payload;
        if let Some(e) = corrupt.take() {
            return Err(e.into());
        }
        self.write(to, key, (new, buffer), zone)
    }

    /// The new row is made. False: another transaction was faster.
    fn write(
        &self,
        to: &mut RowWriter<'_>,
        key: &[u8],
        (new, buffer): (&NewRow, &RowBuf),
        zone: &TimeZone,
    ) -> Result<bool> {
        let old = buffer.row();
        let (tree, mark, stamp) = (codec::row_tree(&self.table, to.txn)?, to.mark(), buffer.stamp());
        if self.stands_alone() {
            return Ok(to.rewrite(&self.table, (tree, key, stamp), (old, &new.payload), true)? == Update::Updated);
        }
        let written = to.txn.update_if(tree, key, stamp, &new.payload).map_err(from_engine)?;
        if written != Update::Updated {
            return Ok(false);
        }
        let stored = |row| RowRef::Stored(self.table.layout(), row);
        let all: Vec<u32> = (0..self.table.indexes.len() as u32).collect();
        match rows::change_row(&self.table, key, (stored(old), stored(&new.payload)), &all, Write::Done(mark), to)? {
            Conflict::None => Ok(true),
            Conflict::Duplicate { index, .. } => {
                let now = codec::decode_row(&self.table, &new.payload)?;
                Err(rows::duplicate_error(&self.table, index, &now, zone))
            }
        }
    }

    /// False: another transaction was faster, and its row is locked now.
    fn make(
        &self,
        to: &mut RowWriter<'_>,
        key: &[u8],
        new: &mut NewRow,
        (defaults, zone): (&Defaults, &TimeZone),
    ) -> Result<bool> {
        for (i, column) in self.table.columns.iter().enumerate() {
            if column.default == ColumnDefault::CurrentTimestamp && new.cell(i as u32).is_none() {
                let now = self.now(column, zone)?;
                new.cells.push((i as u32, Given::Value(now)));
            }
        }
        let mut payload = std::mem::take(&mut new.payload);
        payload.clear();
        let default = |i: usize| defaults.0.get(i).map_or(ValueRef::Null, Value::as_ref);
        self.table.layout().encode_with(|i| new.cell(i as u32).unwrap_or_else(|| default(i)), &mut payload)?;
        new.payload = payload;
        if self.stands_alone() && self.table.auto_column.is_none() {
            let (tree, mark) = (codec::row_tree(&self.table, to.txn)?, to.mark());
            let made = to.txn.insert_or_lock(tree, key, &new.payload).map_err(from_engine)? == Insert::Inserted;
            if made {
                to.tell(mark, &self.table, Images::Insert(self.image(&new.payload)))?;
            }
            return Ok(made);
        }
        let row = codec::decode_row(&self.table, &new.payload)?;
        statement(to, |to| self.insert(to, key, &row, zone))
    }

    /// Goes over at most `most` rows behind the row key `after`, and deletes those that are `wanted`, unless another
    /// transaction has changed them since. Returns how many went, and the key of the last row that was looked at;
    /// `None`: there are no more.
    pub fn remove_some(
        &self,
        to: &mut RowWriter<'_>,
        (after, most): (&[u8], usize),
        mut wanted: impl FnMut(Stored<'_>) -> Result<bool>,
    ) -> Result<(u64, Option<Vec<u8>>)> {
        let tree = codec::row_tree(&self.table, to.txn)?;
        let lower = if after.is_empty() { Cut::Start } else { Cut::After(after) };
        let options = ScanOptions { mode: ReadMode::Snapshot, ..ScanOptions::default() };
        let mut scan = to.txn.scan(tree, KeyRange::new(lower, Cut::End), options).map_err(from_engine)?;
        let (mut doomed, mut last) = (Vec::new(), None);
        for _ in 0..most {
            last = None;
            let Some(entry) = scan.next(to.txn).map_err(from_engine)? else { break };
            last = Some(entry.key.to_vec());
            if wanted(Stored { table: &self.table, payload: entry.value })? {
                doomed.push((entry.key.to_vec(), entry.value.to_vec(), entry.stamp));
            }
        }
        let mut gone = 0;
        for (key, row, stamp) in &doomed {
            gone += u64::from(self.remove(to, key, (row, *stamp))?);
        }
        Ok((gone, last))
    }

    /// False: another transaction was faster.
    fn remove(&self, to: &mut RowWriter<'_>, key: &[u8], (row, stamp): (&[u8], RowStamp)) -> Result<bool> {
        let (tree, mark) = (codec::row_tree(&self.table, to.txn)?, to.mark());
        match to.txn.delete_if(tree, key, stamp).map_err(from_engine)? {
            Delete::Deleted => {}
            Delete::Missing | Delete::Changed => return Ok(false),
        }
        if !self.stands_alone() {
            let old = codec::decode_row(&self.table, row)?;
            rows::remove_entries(&self.table, key, &old, to.txn)?;
            to.note(&self.table, key);
        }
        to.tell(mark, &self.table, Images::Delete(self.image(row)))?;
        Ok(true)
    }

    fn image<'a>(&'a self, row: &'a [u8]) -> RowRef<'a> {
        RowRef::Stored(self.table.layout(), row)
    }

    fn now(&self, column: &Column, zone: &TimeZone) -> Result<Value> {
        let now = Timestamp::current(gannet_runtime::WallTime::now().micros() as i64, column.ty.scale);
        let now = now.ok_or_else(|| SqlError::internal("the clock is out of range"))?;
        Ok(convert_for(column, ValueRef::Timestamp(now, 6), zone)?.into_owned())
    }
}
