//! New indexes of a table that others go on changing.
//!
//! The builder holds the table exclusively at first. It publishes a version of the table whose writers note the keys of
//! the rows they change ([`RowLog`]), takes a snapshot, lets the others in and builds from the snapshot. Then it
//! *follows*: it takes a newer snapshot, and what the log has of transactions that have ended by then; of each of these
//! rows it compares the two snapshots, and changes the entries that differ. When little is left it keeps the others out
//! again, follows a last time, and the table's next version, which has the indexes, can be published. Until then nobody
//! reads them, and their trees belong to the builder's transaction: after an error or a crash they are gone.
//!
//! Rows that were changed to and fro make no work, nor do rollbacks. If more rows change than the log can hold, all
//! rows are compared. A duplicate of a unique index that is there at one of the snapshots is error 1062, even if its
//! writer would have removed it (manual, 17.12.1 "Online DDL Operations").

use crate::alter::Pending;
use crate::build::{self, EntryMaker, check_interrupt};
use crate::edit::Edit;
use crate::error::CatalogResult;
use crate::trees::StoredTable;
use gannet_engine::{Cut, Item, KeyRange, ScanOptions, SnapshotReader, SnapshotScan, Txn, lock::LockOwner};
use gannet_runtime::{LongWork, Stage};
use gannet_schema::{Change, RowLog, Table, Touched};
use gannet_types::{Result as SqlResult, SqlError};
use std::sync::Arc;

/// The others are kept out for the last rows: at most so many, unless they change as fast as they are followed.
const FEW_ROWS: usize = 2000;
/// Rounds before the others are kept out in any case.
const ROUNDS: usize = 20;

/// Lets others use a table whose definition is being changed. The table's metadata locks are its matter.
pub trait Gate {
    /// Others may read and change the rows. They cannot change the definition.
    fn open(&mut self, owner: &LockOwner);
    /// Keeps all others out again, when their transactions that have used the table have ended. Errors 1205 and 1213.
    fn close(&mut self, owner: &LockOwner) -> SqlResult<()>;
    /// Where they note what they change.
    fn row_log(&self) -> RowLog {
        RowLog::default()
    }
}

impl Edit<'_> {
    /// Builds the new indexes of an alteration that leaves the rows where they are, while others change them. The gate
    /// is closed when it succeeds.
    pub fn build_beside_writers(&mut self, pending: &mut Pending, gate: &mut dyn Gate) -> CatalogResult<()> {
        let fresh = std::mem::take(&mut pending.fresh);
        let log = Arc::new(gate.row_log());
        self.lent.push(pending.old.clone());
        self.catalog.publish(vec![Change::PutTable(Arc::new(pending.old.with_row_log(log.clone())))]);
        let mut now = self.reader(&pending.old)?;
        gate.open(self.txn.lock_owner());
        let work = &self.work;
        let mut builder = Builder { table: &pending.table, txn: self.txn, log: &log, work };
        for part in pending.table.all_parts() {
            build::build_indexes(&now, builder.txn, part?, &fresh, self.workers, work)?;
        }
        work.enter(Stage::AlterFollow);
        for _ in 0..ROUNDS {
            let rows;
            (now, rows) = builder.follow(now, &fresh)?;
            if rows.is_some_and(|n| n <= FEW_ROWS) {
                break;
            }
        }
        gate.close(builder.txn.lock_owner())?;
        builder.follow(now, &fresh)?;
        match log.take(|_| true) {
            Touched::Rows(left) if left.is_empty() => Ok(()),
            _ => Err(SqlError::internal("a transaction changes rows of a table that it has not locked").into()),
        }
    }
}

/// What brings indexes up to date.
struct Builder<'a> {
    table: &'a Table,
    txn: &'a mut Txn,
    log: &'a RowLog,
    work: &'a LongWork,
}

/// Which entries a pass over changed rows deals with. Of a unique index those that go come first, so that none is in
/// the way of another row's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Delete,
    Insert,
    Both,
}

impl Builder<'_> {
    /// Brings the indexes from the rows at `from` to those at a new snapshot, which it returns with the number of rows
    /// that it looked at, unless these were all.
    fn follow(&mut self, from: SnapshotReader, fresh: &[usize]) -> CatalogResult<(SnapshotReader, Option<usize>)> {
        // What a transaction has noted was there before it ended: so the snapshot comes first.
        let to = SnapshotReader::of_now(self.txn, false)?;
        let touched = self.log.take(|trx| to.sees(trx));
        // A row is a unit for each index. How many there are where all are compared would be a guess.
        if let Touched::Rows(keys) = &touched {
            self.work.expect((keys.len() * fresh.len()) as u64);
        }
        for position in fresh {
            let passes: &[Pass] =
                if self.table.indexes[*position].unique() { &[Pass::Delete, Pass::Insert] } else { &[Pass::Both] };
            for pass in passes {
                let table = self.table;
                match &touched {
                    Touched::Any => {
                        for part in table.all_parts() {
                            self.compare(part?, (&from, &to), KeyRange::ALL, *position, *pass)?;
                        }
                    }
                    Touched::Rows(keys) => {
                        for key in keys {
                            let (part, key) = table.noted(key)?;
                            let row = KeyRange::new(Cut::Before(key), Cut::After(key));
                            self.compare(part, (&from, &to), row, *position, *pass)?;
                        }
                    }
                }
            }
            if let Touched::Rows(keys) = &touched {
                self.work.done(keys.len() as u64);
            }
        }
        let rows = match touched {
            Touched::Any => None,
            Touched::Rows(keys) => Some(keys.len()),
        };
        Ok((to, rows))
    }

    /// Changes the entries of the rows in `range` that differ between two snapshots.
    fn compare(
        &mut self,
        table: &Table,
        (from, to): (&SnapshotReader, &SnapshotReader),
        range: KeyRange<'_>,
        position: usize,
        pass: Pass,
    ) -> CatalogResult<()> {
        let trees = table.trees(from.engine())?;
        let (tree, maker) = (&trees.indexes[position], EntryMaker::new(table, position));
        let mut old = Side::new(from.scan(&trees.row, range, ScanOptions::default())?)?;
        let mut new = Side::new(to.scan(&trees.row, range, ScanOptions::default())?)?;
        let mut compared = 0_usize;
        while old.there || new.there {
            if compared.is_multiple_of(256) {
                check_interrupt()?;
            }
            compared += 1;
            let order = match (old.there, new.there) {
                (true, true) => old.key.cmp(&new.key),
                (true, false) => std::cmp::Ordering::Less,
                (false, _) => std::cmp::Ordering::Greater,
            };
            if order.is_ne() || old.row != new.row {
                let gone = if order.is_le() { old.entries(&maker)? } else { Vec::new() };
                let come = if order.is_ge() { new.entries(&maker)? } else { Vec::new() };
                for entry in gone.iter().filter(|e| pass != Pass::Insert && !come.contains(e)) {
                    self.txn.index_delete(tree, &entry.key)?;
                }
                for Made { key, unique, carried } in come.iter().filter(|e| pass != Pass::Delete && !gone.contains(e)) {
                    let item = Item { key, unique: *unique, value: carried };
                    build::insert((to, self.txn), (table, position), tree, item)?;
                }
            }
            if order.is_le() {
                old.advance()?;
            }
            if order.is_ge() {
                new.advance()?;
            }
        }
        Ok(())
    }
}

/// One of two scans that go on side by side.
struct Side {
    scan: SnapshotScan,
    there: bool,
    key: Vec<u8>,
    row: Vec<u8>,
}

impl Side {
    fn new(scan: SnapshotScan) -> CatalogResult<Side> {
        let mut side = Side { scan, there: false, key: Vec::new(), row: Vec::new() };
        side.advance()?;
        Ok(side)
    }

    fn advance(&mut self) -> CatalogResult<()> {
        self.key.clear();
        self.row.clear();
        let next = self.scan.next()?;
        self.there = next.is_some();
        if let Some(entry) = next {
            self.key.extend_from_slice(entry.key);
            self.row.extend_from_slice(entry.value);
        }
        Ok(())
    }

    /// The row's entries.
    fn entries(&self, maker: &EntryMaker<'_>) -> CatalogResult<Vec<Made>> {
        let (mut made, mut key, mut carried) = (Vec::new(), Vec::new(), Vec::new());
        maker.entries((&self.key, &self.row), (&mut key, &mut carried), &mut |item| {
            made.push(Made { key: item.key.to_vec(), unique: item.unique, carried: item.value.to_vec() });
            Ok(())
        })?;
        Ok(made)
    }
}

/// An entry of a row.
#[derive(PartialEq, Eq)]
struct Made {
    key: Vec<u8>,
    /// Bytes of the key that no other entry may have; zero: it may repeat.
    unique: usize,
    carried: Vec<u8>,
}
