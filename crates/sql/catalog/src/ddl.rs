//! Changes of the dictionary, from the transaction to the publication.

use crate::catalog::Catalog;
use crate::edit::Edit;
use crate::error::{CatalogError, CatalogResult};
use crate::keys::{KIND_TEMPORARY, table_key};
use crate::trees::StoredTable;
use crate::words::{self, Words};
use gannet_engine::{Cut, KeyRange, ScanOptions, Txn, TxnOptions};
use gannet_schema::{CatalogSnapshot, Change, Table, Temporaries, decode_table};
use std::sync::Arc;

impl Catalog {
    /// Runs a change and commits `txn` with it. On an error everything is rolled back and nothing is published. Those
    /// who follow the log are told of `words` with the commit, if there are any.
    ///
    /// `txn` is begun and has written nothing the caller wants to keep apart. The caller holds the metadata locks
    /// of the objects named.
    pub fn ddl<R>(
        &self,
        txn: &mut Txn,
        words: Option<Words>,
        change: impl FnOnce(&mut Edit<'_>) -> CatalogResult<R>,
    ) -> CatalogResult<(R, Arc<CatalogSnapshot>)> {
        self.ddl_with(txn, words, None, change)
    }

    /// As [`Catalog::ddl`] for a session with temporary tables. The snapshot that comes back has those that are there
    /// afterwards; changes of them are published to nobody. Trees of dropped ones stay: see
    /// [`Catalog::discard_temporary`].
    pub fn ddl_with<R>(
        &self,
        txn: &mut Txn,
        words: Option<Words>,
        temporaries: Option<Temporaries>,
        change: impl FnOnce(&mut Edit<'_>) -> CatalogResult<R>,
    ) -> CatalogResult<(R, Arc<CatalogSnapshot>)> {
        let mut edit = Edit::new(self, txn, &self.snapshot().with_temporaries(temporaries));
        edit.words = words;
        let outcome = change(&mut edit);
        let words = edit.words.take();
        let temporaries = edit.snapshot().temporaries().cloned();
        let (mut changes, back) = edit.into_changes();
        changes.retain(|c| match c {
            Change::PutTable(table) => !table.temporary,
            Change::DropTemporary(..) => false,
            _ => true,
        });
        let outcome = outcome.and_then(|result| Ok(words::commit(self.tree(), txn, words.as_ref()).map(|_| result)?));
        match outcome {
            Ok(result) => {
                let snapshot = self.publish(changes);
                Ok((
                    result,
                    match temporaries {
                        None => snapshot,
                        some => Arc::new(snapshot.with_temporaries(some)),
                    },
                ))
            }
            Err(e) => {
                // After a deadlock the transaction is rolled back already.
                if txn.is_active() {
                    txn.rollback()?;
                }
                self.publish(back);
                Err(e)
            }
        }
    }

    /// Frees what a temporary table holds, in a transaction of its own. No transaction that has changed the table may
    /// be open.
    pub fn discard_temporary(&self, table: &Table) -> CatalogResult<()> {
        let mut txn = self.engine().try_begin(TxnOptions::default())?;
        let outcome = (|| {
            let trees = table.trees(self.engine())?.clone();
            for (index, tree) in table.indexes.iter().zip(&trees.indexes) {
                if index.tree != table.row_tree {
                    txn.drop_tree(tree)?;
                }
            }
            txn.drop_tree(&trees.row)?;
            txn.delete(self.tree(), &table_key(table))?;
            Ok(())
        })();
        match outcome {
            Ok(()) => Ok(txn.commit().map(drop)?),
            Err(e) => {
                if txn.is_active() {
                    txn.rollback()?;
                }
                Err(e)
            }
        }
    }

    /// The temporary tables of all sessions, as the dictionary has them: without schema and name.
    pub fn temporary_tables(&self) -> CatalogResult<Vec<Table>> {
        let options = TxnOptions { read_only: true, autocommit: true, ..TxnOptions::default() };
        let mut txn = self.engine().try_begin(options)?;
        let (from, to) = ([KIND_TEMPORARY], [KIND_TEMPORARY + 1]);
        let range = KeyRange::new(Cut::Before(&from), Cut::Before(&to));
        let mut scan = txn.scan(self.tree(), range, ScanOptions::default())?;
        let (mut tables, no_schema) = (Vec::new(), Arc::from(""));
        while let Some(entry) = scan.next(&mut txn)? {
            let what = || "a temporary table".to_owned();
            let table = decode_table(&no_schema, "", entry.value);
            tables.push(table.map_err(|error| CatalogError::Damaged { what: what(), error })?);
        }
        drop(scan);
        txn.commit()?;
        let left_over = self.left_over().lock();
        tables.retain(|t| !left_over.iter().any(|l| l.id == t.id));
        Ok(tables)
    }

    /// Frees temporary tables of sessions that a crash has ended, when what they left undone is undone. Gives how many
    /// are still there.
    pub fn discard_left_over(&self) -> CatalogResult<usize> {
        let left_over = || self.left_over().lock();
        if !left_over().is_empty() && self.engine().status().recovering == 0 {
            // One statement each: the lock is not held while a table goes.
            loop {
                let Some(table) = left_over().pop() else { break };
                self.discard_temporary(&table)?;
            }
        }
        let left = left_over().len();
        Ok(left)
    }
}
