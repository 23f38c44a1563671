//! Change sinks, which are told of changed rows, and the writer through which rows are changed.
//!
//! All changes of rows by statements pass the functions of `dml/rows.rs`. They need a [`RowWriter`], not a statement.
//! So the row trees can be written without SQL ([`crate::kv`]), and a change sink is told of every row.

use crate::error::from_engine;
use gannet_catalog::Words;
use gannet_engine::{Parts, RowStamp, TreeHandle, Txn, Update};
use gannet_schema::Table;
use gannet_types::rowref::RowRef;
use gannet_types::{Result, SqlError};
use std::any::Any;
use std::ops::Range;

/// What became of a row: all its columns, as they are stored.
#[derive(Clone, Copy, Debug)]
pub enum Images<'a> {
    /// It is new.
    Insert(RowRef<'a>),
    /// The first became the second; the row's key may be another one.
    Update(RowRef<'a>, RowRef<'a>),
    /// It is gone.
    Delete(RowRef<'a>),
}

impl<'a> Images<'a> {
    pub(crate) fn insert(new: impl Into<RowRef<'a>>) -> Images<'a> {
        Images::Insert(new.into())
    }

    pub(crate) fn update(old: impl Into<RowRef<'a>>, new: impl Into<RowRef<'a>>) -> Images<'a> {
        Images::Update(old.into(), new.into())
    }

    pub(crate) fn delete(old: impl Into<RowRef<'a>>) -> Images<'a> {
        Images::Delete(old.into())
    }
}

/// What became of a change that a transaction was to commit with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carried {
    /// The transaction has committed with it.
    Committed,
    /// It is made, and the transaction has yet to commit.
    Made,
    /// It is not made.
    Not,
}

/// A changed row.
pub struct RowChange<'a> {
    /// Its table.
    pub table: &'a Table,
    /// What became of it.
    pub images: Images<'a>,
    /// The action of a foreign key changed it, not the statement itself.
    pub cascade: bool,
    /// Foreign keys link rows of the statement's tables with others.
    pub linked: bool,
}

/// Is told of changed rows. It can be recognised: who runs a function or trigger in the middle of a statement takes the
/// sink over for that time.
pub trait ChangeSink: Any {
    /// A row is changed, with all its index entries. `records` are the transaction's undo records of that
    /// ([`Txn::weight`] before and after). They tell which changes were rolled back meanwhile, to a savepoint, of a
    /// statement or of a row: a change with a record at or behind `records.start` is void. ([`Standing`] implements
    /// that.)
    ///
    /// An error fails the statement.
    fn changed(&mut self, records: Range<u64>, change: &RowChange<'_>) -> Result<()>;

    /// As [`ChangeSink::changed`], before a change that is to be all of its transaction and to commit with it: what the
    /// commit then carries for those who follow the log. [`ChangeSink::carried`] is told what became of it. `None`, the
    /// default: it does not commit with the change.
    fn carry(&mut self, change: &RowChange<'_>) -> Result<Option<Parts<'_>>> {
        let _ = change;
        Ok(None)
    }

    /// What became of the change for which [`ChangeSink::carry`] has given something.
    fn carried(&mut self, end: Carried) {
        let _ = end;
    }

    /// The transaction has made a table with all the rows that were told of: what commits it tells those who follow
    /// the log. `definition` is the table's, as SHOW CREATE TABLE has it. The default refuses with error 1235.
    fn made(&mut self, txn: &Txn, definition: &str) -> Result<Words> {
        let _ = (txn, definition);
        Err(SqlError::unsupported("CREATE TABLE ... SELECT for this consumer of the log"))
    }
}

/// Things that belong to changes of one transaction; those of changes that are rolled back go.
#[derive(Debug)]
pub struct Standing<T> {
    /// With the end of the change's undo records.
    kept: Vec<(u64, T)>,
}

impl<T> Default for Standing<T> {
    fn default() -> Self {
        Standing { kept: Vec::new() }
    }
}

impl<T> Standing<T> {
    /// Adds what belongs to the change with these undo records.
    pub fn push(&mut self, records: Range<u64>, thing: T) {
        self.settle(records.start);
        self.kept.push((records.end, thing));
    }

    /// Drops what belongs to changes beyond the transaction's first `records` undo records: before the commit,
    /// [`Txn::weight`].
    pub fn settle(&mut self, records: u64) {
        let stands = self.kept.partition_point(|(end, _)| *end <= records);
        self.kept.truncate(stands);
    }

    /// Takes all, for the next transaction to begin with nothing; `records` as in [`Standing::settle`].
    pub fn take(&mut self, records: u64) -> impl Iterator<Item = T> + use<T> {
        self.settle(records);
        std::mem::take(&mut self.kept).into_iter().map(|(_, thing)| thing)
    }
}

/// Changes rows: a transaction, and the change sinks.
pub struct RowWriter<'a> {
    /// The transaction.
    pub txn: &'a mut Txn,
    /// Is told of each changed row.
    pub sink: Option<&'a mut dyn ChangeSink>,
    /// The changes are actions of foreign keys.
    pub cascade: bool,
    /// Foreign keys link rows of the statement's tables with others.
    pub linked: bool,
}

impl RowWriter<'_> {
    /// Where the undo records of the next change begin; not used when there is no change sink.
    #[inline]
    pub(crate) fn mark(&self) -> u64 {
        if self.sink.is_some() { self.txn.weight() } else { 0 }
    }

    /// A row is changed: whoever makes an index of the table beside its writers is told which one, before the
    /// transaction commits.
    #[inline]
    pub(crate) fn note(&self, table: &Table, key: &[u8]) {
        if let Some(log) = &table.row_log
            && let Some(trx) = self.txn.id()
        {
            table.note(log, trx, key);
        }
    }

    /// Changes a row in its stored form, from `old` to `new`, if it is still the version `stamp` that was found, and
    /// reports it; nobody else has to know: it has no other index entries. `ends`: the transaction commits with it, if
    /// that is possible ([`Txn::update_and_commit_if`]).
    pub(crate) fn rewrite(
        &mut self,
        table: &Table,
        (tree, key, stamp): (&TreeHandle, &[u8], RowStamp),
        (old, new): (&[u8], &[u8]),
        ends: bool,
    ) -> Result<Update> {
        let layout = table.layout();
        let images = Images::Update(RowRef::Stored(layout, old), RowRef::Stored(layout, new));
        let change = RowChange { table, images, cascade: self.cascade, linked: self.linked };
        if ends && self.sink.is_none() {
            let written = self.txn.update_and_commit_if(tree, key, stamp, new, Parts::default());
            return written.map_err(from_engine);
        }
        if ends
            && self.txn.weight() == 0
            && let Some(sink) = &mut self.sink
            && let Some(parts) = sink.carry(&change)?
        {
            let written = self.txn.update_and_commit_if(tree, key, stamp, new, parts);
            sink.carried(match written {
                Ok(Update::Updated) if self.txn.has_ended() => Carried::Committed,
                Ok(Update::Updated) => Carried::Made,
                _ => Carried::Not,
            });
            return written.map_err(from_engine);
        }
        let mark = self.mark();
        let written = self.txn.update_if(tree, key, stamp, new).map_err(from_engine)?;
        if written == Update::Updated {
            self.note(table, key);
            self.tell(mark, table, images)?;
        }
        Ok(written)
    }

    /// Reports one of several changes that were made together: each has an undo record at least, and the changes are
    /// told in the order of these.
    #[inline]
    pub(crate) fn tell_of_run(&mut self, record: u64, table: &Table, images: Images<'_>) -> Result<()> {
        match &mut self.sink {
            None => Ok(()),
            Some(sink) => sink
                .changed(record..record + 1, &RowChange { table, images, cascade: self.cascade, linked: self.linked }),
        }
    }

    /// Reports a change that began at `mark`.
    #[inline]
    pub(crate) fn tell(&mut self, mark: u64, table: &Table, images: Images<'_>) -> Result<()> {
        match &mut self.sink {
            None => Ok(()),
            Some(sink) => sink.changed(
                mark..self.txn.weight(),
                &RowChange { table, images, cascade: self.cascade, linked: self.linked },
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Standing;

    #[test]
    fn what_is_rolled_back_goes() {
        let mut kept = Standing::default();
        kept.push(0..2, "a");
        kept.push(2..3, "b");
        kept.push(3..7, "c");
        // Rolled back to the end of the first, then two records more.
        kept.push(2..4, "d");
        kept.push(4..5, "e");
        kept.settle(5);
        assert_eq!(kept.take(4).collect::<Vec<_>>(), ["a", "d"]);
        assert_eq!(kept.take(4).next(), None);
        // A record of one's own that was written and taken back before is no change.
        kept.push(3..4, "f");
        kept.push(1..4, "g");
        assert_eq!(kept.take(9).collect::<Vec<_>>(), ["g"]);
    }
}
