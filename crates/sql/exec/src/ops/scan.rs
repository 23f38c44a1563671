//! Scans of tables: point, range and full, over the clustered tree or a secondary index, plain and locking; and of
//! virtual tables.

mod direct;
mod gathered;
mod late;
mod made;
mod members;
mod merge;
mod parts;
mod search;
mod skip;

pub(crate) use direct::Direct;
use gathered::Gathered;
use late::Late;
pub(super) use search::ranked;

use crate::context::{BoxedOperator, Operator};
use crate::{
    batch::{BATCH_BYTES, BATCH_ROWS, Batch, Column},
    codec,
    context::Cx,
    error::from_engine,
    eval, padding, typed, vector,
};
use gannet_engine::{
    Cut, Direction, FreshLock, Isolation, KeyRange, Place, Read, RowBuf, Scan, ScanOptions, TreeHandle,
};
use gannet_plan::{
    physical::{Access, LockStrength, LockWait, ROW_ID, ROW_PART, TableScan},
    range::{Bounds, Limit, encode_access},
};
use gannet_schema::{EntryPlaces, Table};
use gannet_telemetry::{Counter, add, count};
use gannet_types::{Result, SqlError, SqlType, Value, ValueRef};
use std::collections::HashSet;

/// Rows of the first batch, if no fewer are of use; later ones double up to [`BATCH_ROWS`], so that a LIMIT or a
/// semijoin reads little too much.
pub(super) const FIRST_ROWS: usize = 64;

pub(crate) fn build<'p>(scan: &'p TableScan, types: &'p [SqlType]) -> BoxedOperator<'p> {
    if let Some(how) = &scan.parts {
        return parts::build(scan, how, types);
    }
    match &scan.access {
        Access::Virtual { .. } => Box::new(made::VirtualScan::new(scan, types)),
        Access::Merge { kind, parts } => Box::new(merge::MergeScan::new(scan, *kind, parts, types)),
        Access::Search(search) => Box::new(search::SearchScan::new(scan, search, types)),
        Access::Skip(skip) => Box::new(skip::SkipScan::new(scan, skip, types)),
        Access::Members(members) => Box::new(members::MembersScan::new(scan, members, types)),
        _ => Box::new(TreeScan::new(scan, &scan.access, types)),
    }
}

/// By what a row is read.
#[derive(Clone, Copy)]
pub(super) enum By<'a> {
    Key,
    /// An index entry leads to it. With an index and the entry's key the row counts only if its columns still make that
    /// key.
    Entry(Option<&'a (usize, Vec<u8>)>),
}

/// Makes delivered rows of what trees hold.
pub(super) struct Reader<'p> {
    pub(super) scan: &'p TableScan,
    /// The part of the table that is read, if it has parts, and its number.
    pub(super) part: Option<(u32, &'p Table)>,
    buffer: RowBuf,
    /// Where the last row was.
    place: Place,
    /// Bytes of the rows that the present batch was made of.
    pub(super) taken: usize,
    /// Where the delivered columns are in an entry of the index.
    places: Option<EntryPlaces>,
}

/// A scan of an engine tree.
pub(super) struct TreeScan<'p> {
    scan: &'p TableScan,
    access: &'p Access,
    types: &'p [SqlType],
    bounds: Bounds,
    /// Next range.
    at: usize,
    open: Option<Scan>,
    /// A scan of a range that was read to its end, for the next one.
    idle: Option<Scan>,
    /// A batch that was given back.
    spare: Option<Batch>,
    rows: usize,
    /// The open range's first read, if it has not happened: it counts as this.
    first_read: Option<Counter>,
    /// The range has one entry at most: no read looks for a second one.
    single: bool,
    /// At most so many rows are of use: no more are locked.
    want: usize,
    /// Keys of the entries that the batch at hand was made of, where somebody wants them.
    keys: Option<Vec<Box<[u8]>>>,
    /// Rows that are read already, by their keys, where one row may have several entries in the ranges; and their
    /// bytes that memory was taken for.
    met: Option<(HashSet<Box<[u8]>>, usize)>,
    /// Columns that the filter does not look at are taken from the rows that pass it.
    late: Option<Late>,
    /// Rows of the batch at hand that have yet to be read.
    gathered: Gathered,
    reader: Reader<'p>,
}

impl<'p> TreeScan<'p> {
    /// Reads what `access` says in place of the scan's own.
    pub(super) fn new(scan: &'p TableScan, access: &'p Access, types: &'p [SqlType]) -> Self {
        TreeScan {
            scan,
            access,
            types,
            bounds: Bounds::default(),
            at: 0,
            open: None,
            idle: None,
            spare: None,
            rows: FIRST_ROWS,
            first_read: None,
            single: false,
            want: BATCH_ROWS,
            keys: None,
            met: None,
            late: Late::of(scan, access),
            gathered: Gathered::default(),
            reader: Reader::new(scan),
        }
    }

    /// The scan of one part of the table.
    fn of_part(mut self, part: (u32, &'p Table)) -> Self {
        self.reader.part = Some(part);
        self
    }

    /// Keeps the keys of the entries that rows are made of: [`Self::take_keys`].
    fn with_keys(mut self) -> Self {
        // Rows and their keys are taken together.
        (self.keys, self.late) = (Some(Vec::new()), None);
        self
    }

    /// The keys of the rows of the last batch, in their order.
    fn take_keys(&mut self) -> Vec<Box<[u8]>> {
        self.keys.replace(Vec::new()).unwrap_or_default()
    }

    fn table(&self, cx: &Cx<'_, 'p>) -> &'p Table {
        self.reader.table(cx)
    }

    /// The index walked, when it is a secondary one.
    fn secondary(&self, table: &Table) -> Option<usize> {
        // In place of elements of an array all rows.
        if matches!((self.access, &self.scan.access), (Access::Full, Access::Members(_))) {
            return None;
        }
        self.scan.index.map(|i| i as usize).filter(|i| Some(*i) != table.clustered)
    }

    fn tree(&self, table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<&'p TreeHandle> {
        match self.secondary(table) {
            Some(index) => codec::index_tree(table, index, cx.txn.get()?),
            None => codec::row_tree(table, cx.txn.get()?),
        }
    }

    /// Opens the scan of the next range; false when there is none.
    fn open_next(&mut self, table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let count = self.bounds.len();
        if self.at >= count {
            return Ok(false);
        }
        let number = self.number();
        self.single = matches!(self.access, Access::Point { .. })
            || self.has_whole_keys(table) && self.bounds.one_key(number).is_some();
        self.at += 1;
        let (low, high) = self.bounds.get(number);
        let options = ScanOptions {
            direction: if self.scan.reverse { Direction::Backward } else { Direction::Forward },
            mode: cx.shared.settings.locks.mode(self.scan.lock),
            unique_equality: matches!(self.access, Access::Point { .. }),
            sequential: matches!(self.access, Access::Full) && !self.scan.expects_few,
            whole: self.reads_whole(self.secondary(table).is_some()),
            unseen: false,
            semi_consistent: self.scan.lock.wait == LockWait::IfMatched
                && cx.shared.settings.locks.unlock_unmatched
                && self.secondary(table).is_none()
                && !matches!(self.access, Access::Point { .. }),
        };
        // As in MySQL, a whole index is one.
        cx.counts.no_index |= matches!(self.access, Access::Full) && self.secondary(table).is_none();
        self.first_read = Some(match (self.scan.reverse, low, high) {
            (false, Limit::Open, _) => Counter::HandlerReadFirst,
            (true, _, Limit::Open) => Counter::HandlerReadLast,
            _ => Counter::HandlerReadKey,
        });
        let tree = self.tree(table, cx)?;
        let range = KeyRange::new(cut(low, Cut::Start), cut(high, Cut::End));
        let txn = cx.txn.get()?;
        self.open = Some(match self.idle.take() {
            Some(mut scan) => {
                scan.restart(txn, range).map_err(from_engine)?;
                scan
            }
            None => txn.scan(tree, range, options).map_err(from_engine)?,
        });
        Ok(true)
    }

    /// Begins to read these ranges, each row once.
    fn open_ranges(&mut self, bounds: Bounds) {
        if self.open.is_some() {
            self.idle = self.open.take();
        }
        (self.at, self.rows) = (0, FIRST_ROWS);
        let taken = self.met.take().map_or(0, |(_, taken)| taken);
        self.met = (bounds.len() > 1).then(|| (HashSet::new(), taken));
        self.bounds = bounds;
    }

    /// An index entry passes the filter that is for entries.
    fn passes(
        &self,
        table: &'p Table,
        index: usize,
        (key, value): (&[u8], &[u8]),
        cx: &mut Cx<'_, 'p>,
    ) -> Result<bool> {
        let Some(filter) = &self.scan.index_filter else { return Ok(true) };
        let mut row = self.reader.index_row(table, index, key, value)?;
        self.reader.pad(table, &mut row, cx);
        count(Counter::IcpAttempts);
        let passes = eval::is_true(filter, &row, 0, cx)?;
        count(if passes { Counter::IcpMatch } else { Counter::IcpNoMatch });
        Ok(passes)
    }

    /// Reads lock what they meet: also plain ones under SERIALIZABLE.
    fn locks(&self, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let strong = self.scan.lock.strength != LockStrength::None;
        Ok(strong || cx.txn.get()?.options().isolation >= Isolation::Serializable)
    }

    /// Rows behind index entries may be read some entries later, several at once. Reads that lock take each row before
    /// the next entry and the gap behind it.
    fn gathers(&self, verify: bool, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        Ok(!verify && self.keys.is_none() && self.met.is_none() && !self.locks(cx)?)
    }

    /// Reads the rows that were gathered.
    fn fetch_gathered(&mut self, table: &'p Table, batch: &mut Batch, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if self.gathered.len() == 0 {
            return Ok(());
        }
        let gathered = std::mem::take(&mut self.gathered);
        if gathered.len() > 1 && self.reader.place.strays() {
            gathered.approach(codec::row_tree(table, cx.txn.get()?)?);
        }
        gathered.keys().try_for_each(|key| self.reader.fetch(table, key, By::Entry(None), batch, cx))?;
        self.gathered = gathered;
        self.gathered.clear();
        Ok(())
    }

    /// Reads the row behind an index entry, if that passes and the row was not read before; gives the
    /// index of one that was read. `verify`: the entry is a candidate only.
    fn fetch_behind(
        &mut self,
        table: &'p Table,
        index: usize,
        (key, value): (&[u8], &[u8]),
        verify: bool,
        batch: &mut Batch,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<Option<usize>> {
        if !self.passes(table, index, (key, value), cx)? {
            return Ok(None);
        }
        if self.gathers(verify, cx)? {
            self.gathered.push(table.split_index_key(index, key)?.1);
            if self.gathered.is_full() {
                self.fetch_gathered(table, batch, cx)?;
            }
            return Ok(None);
        }
        let row_key = table.split_index_key(index, key)?.1.to_vec();
        if self.met.as_ref().is_some_and(|(met, _)| met.contains(&row_key[..])) {
            return Ok(None);
        }
        let (made_by, before) = (verify.then(|| (index, key.to_vec())), batch.rows);
        self.reader.fetch(table, &row_key, By::Entry(made_by.as_ref()), batch, cx)?;
        if let Some((met, taken)) = self.met.as_mut().filter(|_| batch.rows > before) {
            let bytes = (met.len() + 1) * (row_key.len() + 32);
            met.insert(row_key.into());
            if bytes > *taken {
                cx.reserve(bytes - std::mem::replace(taken, bytes))?;
            }
        }
        Ok(Some(index))
    }

    /// Lets the row go that was read behind an entry of an index.
    fn unlock_behind(
        &self,
        table: &Table,
        (behind, fresh): (Option<usize>, FreshLock),
        entry_key: &[u8],
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        let Some(index) = behind else { return Ok(()) };
        let tree = codec::row_tree(table, cx.txn.get()?)?;
        fresh.release(cx.txn.get()?, tree, table.split_index_key(index, entry_key)?.1);
        Ok(())
    }

    /// Which range is the next one.
    fn number(&self) -> usize {
        if self.scan.reverse { self.bounds.len() - 1 - self.at } else { self.at }
    }

    /// What a range of one key begins with is a whole key, which one row may have.
    fn has_whole_keys(&self, table: &Table) -> bool {
        self.scan.index.is_some_and(|i| table.indexes[i as usize].unique() && table.key_parts(i as usize).len() == 1)
    }

    /// Reads rows by their whole keys, as long as ranges of one key follow each other: no scan is needed for these.
    fn take_points(&mut self, table: &'p Table, batch: &mut Batch, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if !self.has_whole_keys(table) {
            return Ok(());
        }
        let before = (batch.rows, self.at);
        while self.at < self.bounds.len() && !self.is_full(batch) {
            let Some(key) = self.bounds.one_key(self.number()) else { break };
            self.reader.fetch(table, key, By::Key, batch, cx)?;
            self.at += 1;
            if self.at.is_multiple_of(256) {
                cx.check_interrupt()?;
            }
        }
        add(Counter::HandlerReadKey, (self.at - before.1) as u64);
        cx.counts.examined += (batch.rows - before.0) as u64;
        Ok(())
    }

    /// The row with the one key of a point.
    fn row(&mut self, table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if self.at > 0 || self.bounds.is_empty() {
            return Ok(None);
        }
        self.at = 1;
        count(Counter::HandlerReadKey);
        let mut batch = Batch::fresh(&mut self.spare, self.types);
        let (Limit::Before(key), _) = self.bounds.get(0) else { return Ok(None) };
        cx.counts.examined += 1;
        self.reader.fetch(table, key, By::Key, &mut batch, cx)?;
        self.reader.pad(table, &mut batch, cx);
        let kept = match &self.scan.filter {
            Some(filter) if batch.rows > 0 => eval::is_true(filter, &batch, 0, cx)?,
            _ => batch.rows > 0,
        };
        if kept {
            return Ok(Some(batch));
        }
        self.spare = Some(batch);
        Ok(None)
    }

    fn is_full(&self, batch: &Batch) -> bool {
        batch.rows + self.gathered.len() + self.failed() >= self.rows.min(self.want) || self.reader.taken > BATCH_BYTES
    }

    /// Rows of the batch at hand that were read and not taken.
    fn failed(&self) -> usize {
        self.late.as_ref().map_or(0, |late| late.failed)
    }

    /// Nothing is asked for but the columns of rows, and nothing is locked.
    fn wants_rows_only(&self) -> bool {
        self.keys.is_none()
            && self.scan.lock.strength == LockStrength::None
            && self.scan.columns.iter().all(|c| *c < ROW_ID)
    }

    /// Takes entries of the open scan until the batch is full. True when the range is exhausted.
    fn fill(&mut self, table: &'p Table, batch: &mut Batch, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let Some(mut scan) = self.open.take() else { return Ok(true) };
        let secondary = self.secondary(table);
        if let (Some(late), Some(filter)) = (&mut self.late, &self.scan.filter) {
            late.prepare(|| typed::leading_tests(filter, cx));
        }
        // Entries that are candidates only: the row decides, and the index covers nothing.
        let verify = scan.must_verify();
        let mut read = 0u64;
        let rows_only = secondary.is_none() && self.wants_rows_only();
        let outcome = loop {
            if self.is_full(batch) {
                break Ok(false);
            }
            if read > 0 && (rows_only || read.is_multiple_of(256)) {
                cx.check_interrupt()?;
            }
            if rows_only {
                match scan.next_row(cx.txn.get()?) {
                    Ok(Some(row)) => push_stored(&mut self.reader, &mut self.late, table, (&[], row), batch)?,
                    Ok(None) => break Ok(true),
                    Err(error) => break Err(from_engine(error)),
                }
                read += 1 + self.take_at_hand(&mut scan, table, batch, cx)?;
                continue;
            }
            let entry = match scan.next(cx.txn.get()?) {
                Ok(Some(entry)) => entry,
                Ok(None) => break Ok(true),
                Err(error) => break Err(from_engine(error)),
            };
            read += 1;
            if entry.blocked {
                let mut row = Batch::for_types(self.types);
                self.reader.push_row(table, entry.key, entry.value, &mut row)?;
                self.reader.pad(table, &mut row, cx);
                let filter = self.scan.filter.as_ref();
                if filter.map_or(Ok(true), |f| eval::is_true(f, &row, 0, cx))? {
                    scan.insist();
                }
                continue;
            }
            let before = batch.rows;
            let mut behind = None;
            match secondary {
                None => push_stored(&mut self.reader, &mut self.late, table, (entry.key, entry.value), batch)?,
                Some(index) if self.scan.covering && !verify => {
                    self.reader.push_entry(table, index, entry.key, entry.value, batch)?;
                }
                Some(index) => behind = self.fetch_behind(table, index, (entry.key, entry.value), verify, batch, cx)?,
            }
            if let Some(keys) = &mut self.keys
                && batch.rows > before
            {
                keys.push(entry.key.into());
            }
            // A row that fails the filter is let go at once where the level allows it.
            if let Some(fresh) = self.unmatched(table, batch, before, cx)? {
                self.unlock_behind(table, (behind, fresh), entry.key, cx)?;
                scan.unlock_row(cx.txn.get()?);
            }
        };
        cx.counts.examined += read;
        self.count_reads(read + u64::from(matches!(outcome, Ok(true))), secondary.is_some());
        self.open = Some(scan);
        let ended = outcome?;
        self.fetch_gathered(table, batch, cx)?;
        Ok(ended)
    }

    /// Takes rows that the leaf at hand has, up to a full batch; how many.
    fn take_at_hand(&mut self, scan: &mut Scan, table: &Table, batch: &mut Batch, cx: &mut Cx<'_, 'p>) -> Result<u64> {
        let (mut outcome, most) = (Ok(()), self.rows.min(self.want));
        let TreeScan { reader, late, .. } = self;
        let taken = scan.take_at_hand(cx.txn.get()?, |row| {
            let failed = late.as_ref().map_or(0, |late| late.failed);
            if batch.rows + failed >= most || reader.taken > BATCH_BYTES {
                return false;
            }
            outcome = push_stored(reader, late, table, (&[], row), batch);
            outcome.is_ok()
        });
        outcome.map(|()| taken)
    }

    /// The rows of a batch that pass the filter, with all their columns.
    fn select_late(&mut self, table: &Table, mut batch: Batch, cx: &mut Cx<'_, 'p>) -> Result<Batch> {
        let Some(filter) = &self.scan.filter else { return Ok(batch) };
        self.reader.pad(table, &mut batch, cx);
        let kept = vector::select(filter, &batch, cx)?;
        let all = batch.rows;
        let mut some =
            if kept.len() == all { std::mem::take(&mut batch) } else { Batch::fresh(&mut self.spare, self.types) };
        if let Some(late) = &mut self.late {
            late.saw(all, kept.len());
            late.complete(table, &self.scan.columns, (&batch, &kept), &mut some)?;
        }
        if !batch.columns.is_empty() {
            self.spare = Some(batch);
        }
        self.reader.pad(table, &mut some, cx);
        Ok(some)
    }

    /// The lock of the row that was read last, where it is to be let go: no row has come behind the first `before` of
    /// the batch, or it fails the filter.
    fn unmatched(&self, table: &Table, batch: &Batch, before: usize, cx: &mut Cx<'_, 'p>) -> Result<Option<FreshLock>> {
        if !cx.shared.settings.locks.unlock(self.scan.lock) {
            return Ok(None);
        }
        let mut fresh = FreshLock::default();
        fresh.note(cx.txn.get()?);
        Ok((!self.last_passes(table, batch, before, cx)?).then_some(fresh))
    }

    /// A row has come behind the first `before` of a batch, and passes the filter.
    fn last_passes(&self, table: &Table, batch: &Batch, before: usize, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        if batch.rows == before {
            return Ok(false);
        }
        let Some(filter) = &self.scan.filter else { return Ok(true) };
        let mut last = batch.slice(batch.rows - 1, batch.rows);
        self.reader.pad(table, &mut last, cx);
        eval::is_true(filter, &last, 0, cx)
    }

    /// The table is read from end to end, in no order.
    fn reads_whole(&self, secondary: bool) -> bool {
        matches!(self.access, Access::Full) && !secondary && !self.scan.reverse
    }

    /// Counts reads as MySQL's handlers do: the first of a range finds its place, each further one moves on, also the
    /// one that finds no more. A table that is read from end to end in no order has one kind only.
    fn count_reads(&mut self, reads: u64, secondary: bool) {
        if self.reads_whole(secondary) {
            return add(Counter::HandlerReadRndNext, reads);
        }
        let first = self.first_read.take_if(|_| reads > 0);
        if let Some(first) = first {
            count(first);
        }
        let moves = if self.single { 0 } else { reads - u64::from(first.is_some()) };
        if moves > 0 {
            add(if self.scan.reverse { Counter::HandlerReadPrev } else { Counter::HandlerReadNext }, moves);
        }
    }
}

/// Appends a stored row, or takes it for later.
#[inline]
fn push_stored(
    reader: &mut Reader<'_>,
    late: &mut Option<Late>,
    table: &Table,
    (key, payload): (&[u8], &[u8]),
    batch: &mut Batch,
) -> Result<()> {
    match late {
        Some(late) if late.pays => {
            reader.taken += payload.len();
            late.take(table, payload, &reader.scan.columns, batch)
        }
        _ => reader.push_row(table, key, payload, batch),
    }
}

impl<'p> Reader<'p> {
    pub(super) fn new(scan: &'p TableScan) -> Self {
        Reader { scan, part: None, buffer: RowBuf::new(), place: Place::new(), taken: 0, places: None }
    }

    /// The table, or the part, that is read.
    #[inline]
    pub(super) fn table(&self, cx: &Cx<'_, 'p>) -> &'p Table {
        match self.part {
            None => {
                let plan = cx.shared.plan;
                &plan.tables[self.scan.table as usize].table
            }
            Some((_, part)) => part,
        }
    }

    /// Fills CHAR columns up, where the mode says so.
    pub(super) fn pad(&self, table: &Table, batch: &mut Batch, cx: &Cx<'_, 'p>) {
        padding::fill_batch(batch, table, &self.scan.columns, cx);
    }

    /// Appends the delivered columns of a stored row.
    pub(super) fn push_row(&mut self, table: &Table, key: &[u8], payload: &[u8], batch: &mut Batch) -> Result<()> {
        self.taken += payload.len();
        let row = table.layout().open(payload)?;
        for (column, ordinal) in batch.columns.iter_mut().zip(&self.scan.columns) {
            if *ordinal == ROW_ID {
                let id = table.row_id_of_key(key).ok_or_else(|| SqlError::internal("a row without its id"))?;
                column.push(ValueRef::UInt(id));
            } else if *ordinal == ROW_PART {
                column.push(ValueRef::UInt(self.part.map_or(0, |(number, _)| number.into())));
            } else {
                column.push_stored(&row, *ordinal as usize)?;
            }
        }
        batch.rows += 1;
        Ok(())
    }

    /// Appends the delivered columns of an index entry that has them all.
    pub(super) fn push_entry(
        &mut self,
        table: &Table,
        index: usize,
        key: &[u8],
        carried: &[u8],
        batch: &mut Batch,
    ) -> Result<()> {
        let places = self.places.get_or_insert_with(|| table.entry_places(index, &self.scan.columns));
        table.read_entry(index, places, key, carried, |at, value| batch.columns[at].push_value(value))?;
        if let (Some(&ROW_PART), Some(column)) = (self.scan.columns.last(), batch.columns.last_mut()) {
            column.push(ValueRef::UInt(self.part.map_or(0, |(number, _)| number.into())));
        }
        batch.rows += 1;
        Ok(())
    }

    /// The index columns of an entry in their places of the delivered row, NULL elsewhere.
    pub(super) fn index_row(&self, table: &Table, index: usize, key: &[u8], carried: &[u8]) -> Result<Batch> {
        let covered: Vec<u32> =
            self.scan.columns.iter().copied().filter(|c| *c < ROW_ID && table.index_has(index, *c)).collect();
        let mut values = Vec::with_capacity(covered.len());
        table.index_values(index, key, carried, &covered, &mut values)?;
        let mut values = values.into_iter();
        let columns = self
            .scan
            .columns
            .iter()
            .map(|c| if covered.contains(c) { values.next().unwrap_or(Value::Null) } else { Value::Null })
            .map(|v| Column::Constant(v, 1))
            .collect();
        Ok(Batch { rows: 1, columns })
    }

    /// Reads the row behind an index entry.
    pub(super) fn fetch(
        &mut self,
        table: &'p Table,
        row_key: &[u8],
        by: By<'_>,
        batch: &mut Batch,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        if self.find(table, row_key, by, cx)? {
            let buffer = std::mem::take(&mut self.buffer);
            self.push_row(table, row_key, buffer.row(), batch)?;
            self.buffer = buffer;
        }
        Ok(())
    }

    /// The same; the row that counts is in the buffer.
    fn find(&mut self, table: &'p Table, row_key: &[u8], by: By<'_>, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let tree = codec::row_tree(table, cx.txn.get()?)?;
        let mode = cx.shared.settings.locks.mode(self.scan.lock);
        let txn = cx.txn.get()?;
        let (place, buffer) = (&mut self.place, &mut self.buffer);
        let counts = matches!(by, By::Key);
        let read = txn.get_near(tree, row_key, mode, Some(place), buffer, counts).map_err(from_engine)?;
        match by {
            By::Entry(Some((index, key))) if read == Read::Found => {
                let values = codec::decode_row(table, self.buffer.row())?;
                codec::makes(table, *index, row_key, &values, key)
            }
            _ => Ok(read == Read::Found),
        }
    }
}

pub(super) fn cut<'a>(limit: Limit<'a>, open: Cut<'static>) -> Cut<'a> {
    match limit {
        Limit::Open => open,
        Limit::Before(key) => Cut::Before(key),
        Limit::After(key) => Cut::After(key),
    }
}

impl<'p> Operator<'p> for TreeScan<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if self.open.is_some() {
            self.idle = self.open.take();
        }
        (self.at, self.rows) = (0, FIRST_ROWS);
        self.late.iter_mut().for_each(Late::begins);
        self.gathered.clear();
        let table = self.table(cx);
        let index = self.scan.index.map(|i| i as usize);
        let (empty, zone) = (Batch::one_empty_row(), &cx.shared.settings.time_zone);
        let mut eval = |expr| eval::eval(expr, &empty, 0, cx);
        encode_access(table, index, self.access, zone, &mut eval, &mut self.bounds)
    }

    fn want(&mut self, rows: u64) {
        let rows = rows.clamp(1, BATCH_ROWS as u64) as usize;
        if self.scan.lock.strength != LockStrength::None {
            self.want = rows;
        } else if self.at == 0 {
            self.rows = self.rows.min(rows);
        }
    }

    fn recycle(&mut self, batch: Batch) {
        self.spare = Some(batch).filter(|b| b.columns.len() == self.types.len());
    }

    fn skip(&mut self, rows: u64, cx: &mut Cx<'_, 'p>) -> Result<u64> {
        let plain = self.scan.filter.is_none()
            && self.scan.index_filter.is_none()
            && !matches!(self.access, Access::Point { .. })
            && !self.locks(cx)?;
        let table = self.table(cx);
        let mut skipped = 0;
        while plain && skipped < rows && (self.open.is_some() || self.open_next(table, cx)?) {
            // What is a candidate only has to be looked at.
            if self.open.as_ref().is_some_and(Scan::must_verify) {
                break;
            }
            let Some(mut scan) = self.open.take() else { break };
            let before = skipped;
            let more = loop {
                if skipped == rows {
                    break true;
                }
                if scan.next_row(cx.txn.get()?).map_err(from_engine)?.is_none() {
                    break false;
                }
                skipped += 1;
                if skipped.is_multiple_of(256) {
                    cx.check_interrupt()?;
                }
            };
            cx.counts.examined += skipped - before;
            self.count_reads(skipped - before + u64::from(!more), self.secondary(table).is_some());
            *if more { &mut self.open } else { &mut self.idle } = Some(scan);
        }
        Ok(skipped)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let table = self.table(cx);
        let point = matches!(self.access, Access::Point { .. });
        // A row by its key needs no scan: inner sides of joins do this for every outer row.
        if point && self.scan.lock.strength == LockStrength::None && self.secondary(table).is_none() {
            return self.row(table, cx);
        }
        let mut batch = Batch::fresh(&mut self.spare, self.types);
        if self.rows < FIRST_ROWS {
            batch.columns.iter_mut().for_each(|column| column.reserve(self.rows));
        }
        self.reader.taken = 0;
        let by_key = self.keys.is_none() && self.secondary(table).is_none() && !self.locks(cx)?;
        loop {
            if self.open.is_none() {
                if by_key {
                    self.take_points(table, &mut batch, cx)?;
                }
                if self.is_full(&batch) || !self.open_next(table, cx)? {
                    break;
                }
            }
            if self.fill(table, &mut batch, cx)? {
                self.idle = self.open.take();
            }
            if self.is_full(&batch) {
                break;
            }
        }
        if batch.rows + self.failed() == 0 {
            self.spare = Some(batch);
            return Ok(None);
        }
        self.rows = (self.rows * 2).min(BATCH_ROWS);
        if self.late.as_ref().is_some_and(|late| late.pays) && self.secondary(table).is_none() {
            return self.select_late(table, batch, cx).map(Some);
        }
        self.reader.pad(table, &mut batch, cx);
        let Some(filter) = &self.scan.filter else { return Ok(Some(batch)) };
        let kept = vector::select(filter, &batch, cx)?;
        if let Some(late) = &mut self.late {
            late.saw(batch.rows, kept.len());
        }
        if kept.len() == batch.rows {
            return Ok(Some(batch));
        }
        if let Some(keys) = &mut self.keys {
            *keys = kept.iter().map(|n| std::mem::take(&mut keys[*n as usize])).collect();
        }
        let some = batch.gather(&kept);
        self.spare = Some(batch);
        Ok(Some(some))
    }
}
