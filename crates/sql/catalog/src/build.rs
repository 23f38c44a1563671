//! Building indexes over the rows that are there, or that come: one pass over the rows sorts the entries of all of
//! them, then each tree is made bottom-up from its entries in order (`engine::Fill`).

use crate::error::{CatalogError, CatalogResult};
use crate::fill::{self, Fault, Filling, Of, TOLD, Telling};
use crate::trees::StoredTable;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use gannet_engine::{
    Cut, Fill, IndexInsert, Item, KeyRange, ScanOptions, SnapshotReader, SortSpace, Sorter, TreeHandle, Txn,
};
use gannet_runtime::{LongWork, Stage, Wait};
use gannet_schema::Table;
use gannet_text::Splitter;
use gannet_types::row::RowLayout;
use gannet_types::{ErrorCode, SqlError, ValueRef, sql_err};

/// Rows below which one task builds; fewer where tests are to meet the other way.
const ALONE_ROWS: u64 = if cfg!(debug_assertions) { 1_000 } else { 20_000 };

/// Ranges of rows for each task: for the last one of them the others wait.
const RANGES: usize = 32;

/// Columns of an entry that are read from a row once; further ones, which hardly any index has, each time they are
/// asked for.
const AT_ONCE: usize = 16;

/// Error 1317 when the statement was killed; lets other fibers run.
pub(crate) fn check_interrupt() -> CatalogResult<()> {
    gannet_runtime::yield_if_due();
    if gannet_runtime::interrupted() { Err(sql_err!(QueryInterrupted).into()) } else { Ok(()) }
}

/// Values of a row that an index is over.
struct RowValues<'r> {
    layout: &'r RowLayout,
    row: &'r [u8],
    columns: &'r [usize],
    /// Of the first columns.
    values: [ValueRef<'r>; AT_ONCE],
}

impl<'r> RowValues<'r> {
    #[inline]
    fn get(&self, column: usize) -> ValueRef<'r> {
        match self.columns.iter().take(AT_ONCE).position(|c| *c == column) {
            Some(i) => self.values[i],
            None => self.layout.get(self.row, column).unwrap_or(ValueRef::Null),
        }
    }
}

/// Makes the entries of an index from rows as they are stored.
pub(crate) struct EntryMaker<'t> {
    table: &'t Table,
    position: usize,
    columns: Vec<usize>,
}

impl EntryMaker<'_> {
    pub(crate) fn new(table: &Table, position: usize) -> EntryMaker<'_> {
        let mut columns: Vec<usize> = table.indexes[position].parts.iter().map(|p| p.column as usize).collect();
        columns.extend(table.carried_columns(position).iter().map(|c| *c as usize));
        EntryMaker { table, position, columns }
    }

    /// Gives `put` the row's entries: one, or as many as it has words or elements. `key` and `carried` are
    /// buffers.
    pub(crate) fn entries(
        &self,
        (row_key, row): (&[u8], &[u8]),
        (key, carried): (&mut Vec<u8>, &mut Vec<u8>),
        put: &mut dyn FnMut(Item<'_>) -> CatalogResult<()>,
    ) -> CatalogResult<()> {
        let values = self.values(row)?;
        let value = |column: usize| values.get(column);
        if !self.is_ordered() {
            let mut each = |key: &[u8], unique: usize, value: &[u8]| put(Item { key, unique, value });
            return self.table.entries(self.position, value, row_key, &mut each);
        }
        key.clear();
        carried.clear();
        self.table.index_carried(self.position, value, carried)?;
        let unique = self.key(&values, row_key, key)?;
        put(Item { key, unique, value: carried })
    }

    /// Gives a sorter the one entry that a row has in an ordered index. `carried` is a buffer.
    #[inline]
    fn entry(&self, (row_key, row): (&[u8], &[u8]), carried: &mut Vec<u8>, to: &mut Sorter) -> CatalogResult<()> {
        let values = self.values(row)?;
        carried.clear();
        self.table.index_carried(self.position, |column| values.get(column), carried)?;
        to.push_key(carried, |key| self.key(&values, row_key, key))
    }

    fn is_ordered(&self) -> bool {
        self.table.indexes[self.position].is_ordered()
    }

    /// Appends the entry's key: how much of it is unique.
    #[inline]
    fn key(&self, values: &RowValues<'_>, row_key: &[u8], key: &mut Vec<u8>) -> CatalogResult<usize> {
        let made = self.table.index_key(self.position, |column| values.get(column), row_key, key)?;
        let unique = self.table.indexes[self.position].unique() && !made.has_null;
        Ok(if unique { made.prefix_len } else { 0 })
    }

    /// The values of a row. A damaged one is found here, once; afterwards its columns can be read.
    #[inline]
    fn values<'r>(&'r self, row: &'r [u8]) -> CatalogResult<RowValues<'r>> {
        let (layout, mut values) = (self.table.layout(), [ValueRef::Null; AT_ONCE]);
        for (i, column) in self.columns.iter().enumerate() {
            let value = layout.get(row, *column).map_err(SqlError::from)?;
            if let Some(place) = values.get_mut(i) {
                *place = value;
            }
        }
        Ok(RowValues { layout, row, columns: &self.columns, values })
    }

    /// Takes the texts of a row apart, which a full-text index is over.
    fn split(&self, row: &[u8], words: &mut Splitter) -> CatalogResult<()> {
        let Some(text) = self.table.indexes[self.position].text() else { return Ok(()) };
        let parts = self.table.indexes[self.position].parts.iter();
        let columns = parts.map(|part| match self.table.layout().get(row, part.column as usize)? {
            ValueRef::Str(bytes, _) => Ok(Some(bytes)),
            _ => Ok(None),
        });
        // A damaged row is found here.
        let columns = columns.collect::<Result<Vec<_>, SqlError>>()?;
        words.split(&text.analyzer, columns.into_iter());
        Ok(())
    }
}

/// What puts the entries of rows that come in the order of their keys into a sorter.
struct Sorting<'t> {
    maker: EntryMaker<'t>,
    sorter: Sorter,
    /// Of a full-text index: the words so far. Their numbers are those of the sorter's groups.
    words: Option<Splitter>,
}

impl<'t> Sorting<'t> {
    /// `ordered`: rows come in the order of their keys.
    fn new(table: &'t Table, position: usize, space: SortSpace, ordered: bool) -> Sorting<'t> {
        let words = (ordered && table.indexes[position].text().is_some()).then(Splitter::default);
        Sorting { maker: EntryMaker::new(table, position), sorter: Sorter::new(space), words }
    }

    fn row(&mut self, row: (&[u8], &[u8]), (key, carried): (&mut Vec<u8>, &mut Vec<u8>)) -> CatalogResult<()> {
        let sorter = &mut self.sorter;
        let Some(words) = &mut self.words else {
            if self.maker.is_ordered() {
                return self.maker.entry(row, carried, sorter);
            }
            return self.maker.entries(row, (key, carried), &mut |item| Ok(sorter.push(item)?));
        };
        let known = words.words() as u32;
        self.maker.split(row.1, words)?;
        (known..words.words() as u32).for_each(|word| _ = sorter.group(words.key(word)));
        for word in words.found() {
            carried.clear();
            word.carried(carried);
            sorter.push_to(word.word, row.0, carried);
        }
        if sorter.make_room(words.size())? {
            words.clear();
        }
        Ok(())
    }
}

/// Fills indexes, whose trees are new and empty, from the rows that `reader` sees, with `workers` tasks at most. Error
/// 1062 for duplicates of a unique index.
pub(crate) fn build_indexes(
    reader: &SnapshotReader,
    txn: &mut Txn,
    table: &Table,
    positions: &[usize],
    workers: usize,
    work: &LongWork,
) -> CatalogResult<()> {
    if positions.is_empty() {
        return Ok(());
    }
    let trees = table.trees(txn.engine())?;
    let expected = trees.row.approximate_rows();
    let tasks = if expected < ALONE_ROWS { 1 } else { workers.max(1) };
    work.enter(Stage::AlterRead);
    let cuts = if tasks == 1 { Vec::new() } else { reader.cuts(&trees.row, tasks * RANGES)? };
    let rows = Rows {
        reader,
        table,
        cuts,
        next: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        read: AtomicU64::new(0),
        work,
    };
    let space = SortSpace::of_builds(txn.engine()).share(tasks * positions.len());
    let sorted = gannet_runtime::together(tasks, Wait::Parallel, |_| {
        let sorters = positions.iter().map(|p| Sorting::new(table, *p, space.clone(), true)).collect();
        let sorted = rows.sort(sorters).and_then(|mut sorters| {
            sorters.iter_mut().try_for_each(Sorter::seal)?;
            Ok(sorters)
        });
        rows.failed.fetch_or(sorted.is_err(), Relaxed);
        sorted
    });
    let mut of_index: Vec<Vec<Sorter>> = positions.iter().map(|_| Vec::new()).collect();
    for task in all(sorted)? {
        of_index.iter_mut().zip(task).for_each(|(sorters, sorter)| sorters.push(sorter));
    }
    let entries: u64 = of_index.iter().flatten().map(Sorter::entries).sum();
    work.expect_instead(expected * (1 + positions.len() as u64), rows.read.into_inner() + entries);
    let fills = fills(txn, table, positions)?;
    let telling = Telling { work, insert: Stage::AlterInsert };
    fill_indexes(fills.into_iter().zip(of_index).collect(), tasks, txn, telling).map_err(|fault| match fault {
        Fault::Engine(e) => e.into(),
        Fault::DuplicateRow(_) => SqlError::internal("a row among the entries of an index").into(),
        Fault::Duplicate(position, key) => match duplicate(reader, table, position, &key) {
            Ok(error) => error.into(),
            Err(error) => error,
        },
    })
}

/// Before [`build_indexes`] of all parts of a table: how much there is to do, as far as it can be known.
pub(crate) fn expect_builds(txn: &Txn, table: &Table, indexes: usize, work: &LongWork) -> CatalogResult<u64> {
    let mut rows = 0;
    for part in table.all_parts() {
        rows += part?.trees(txn.engine())?.row.approximate_rows();
    }
    let expected = rows * (1 + indexes as u64);
    work.expect(expected);
    Ok(expected)
}

fn fills(txn: &mut Txn, table: &Table, positions: &[usize]) -> CatalogResult<Vec<Filling>> {
    let trees = table.trees(txn.engine())?;
    positions.iter().map(|p| Ok((*p, Fill::begin(txn, &trees.indexes[*p])?))).collect()
}

/// Fills trees from what has been sorted for them, by so many tasks. The transaction's own task then shows them.
fn fill_indexes(
    work: Vec<(Filling, Vec<Sorter>)>,
    tasks: usize,
    txn: &mut Txn,
    telling: Telling<'_>,
) -> Result<(), Fault> {
    if telling.insert == Stage::AlterInsert && work.iter().any(|(_, sorters)| sorters.iter().any(Sorter::is_spilled)) {
        telling.work.enter(Stage::AlterMerge);
    }
    let work: Vec<Mutex<Option<(Filling, Vec<Sorter>)>>> = work.into_iter().map(|w| Mutex::new(Some(w))).collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let tasks_each = (tasks / work.len().max(1)).max(1);
    let built = gannet_runtime::together(tasks.min(work.len()).max(1), Wait::Parallel, |_| {
        let mut filled = Vec::new();
        while let Some(work) = work.get(next.fetch_add(1, Relaxed)).filter(|_| !failed.load(Relaxed)) {
            let Some(((position, tree), sorters)) = work.lock().take() else { continue };
            match fill::fill(sorters, tree, Of::Index(position), tasks_each, telling) {
                Ok(one) => filled.push(one),
                Err(fault) => {
                    failed.store(true, Relaxed);
                    return Err(fault);
                }
            }
        }
        Ok(filled)
    });
    for filled in all(built)?.into_iter().flatten() {
        filled.attach(txn)?;
    }
    Ok(())
}

/// The rows of a table, whose trees are new and empty, as they come; with its indexes.
pub struct Load<'t> {
    table: &'t Table,
    sorters: Vec<Sorting<'t>>,
    indexes: Vec<Filling>,
    rows: Fill,
    /// Rows that do not come in the order of their keys.
    unordered: Option<Sorter>,
    buffers: (Vec<u8>, Vec<u8>),
}

/// Why rows could not be loaded.
#[derive(Debug)]
pub enum NotLoaded {
    /// Two rows have the key of this one, which is given as it is stored.
    Duplicate(Vec<u8>),
    /// Another error; 1062 for a secondary index.
    Other(CatalogError),
}

impl<E: Into<CatalogError>> From<E> for NotLoaded {
    fn from(e: E) -> NotLoaded {
        NotLoaded::Other(e.into())
    }
}

impl<'t> Load<'t> {
    /// Begins to load a table that the transaction has made, with the indexes at `positions`; `ordered`: its rows come
    /// in the order of their keys.
    pub fn begin(txn: &mut Txn, table: &'t Table, positions: &[usize], ordered: bool) -> CatalogResult<Load<'t>> {
        let indexes = fills(txn, table, positions)?;
        let rows = Fill::begin(txn, &table.trees(txn.engine())?.row)?;
        Ok(Load::with(txn, table, (rows, indexes), ordered))
    }

    /// The same for a table that was there before, all of whose indexes are filled; `None`: it has rows, or locks are
    /// in it. The caller keeps other writers out until the transaction ends.
    pub fn of_empty(txn: &mut Txn, table: &'t Table, ordered: bool) -> CatalogResult<Option<Load<'t>>> {
        let trees = table.trees(txn.engine())?;
        let secondary = || (0..table.indexes.len()).filter(|i| Some(*i) != table.clustered);
        for position in secondary() {
            if !trees.indexes[position].is_empty()? {
                return Ok(None);
            }
        }
        let Some(rows) = Fill::of_empty(txn, &trees.row)? else { return Ok(None) };
        let mut indexes = Vec::new();
        for position in secondary() {
            let Some(fill) = Fill::of_empty(txn, &trees.indexes[position])? else { return Ok(None) };
            indexes.push((position, fill));
        }
        Ok(Some(Load::with(txn, table, (rows, indexes), ordered)))
    }

    fn with(txn: &Txn, table: &'t Table, (rows, indexes): (Fill, Vec<Filling>), ordered: bool) -> Load<'t> {
        let space = SortSpace::of_builds(txn.engine()).share(indexes.len() + usize::from(!ordered));
        Load {
            table,
            sorters: indexes.iter().map(|(p, _)| Sorting::new(table, *p, space.clone(), ordered)).collect(),
            indexes,
            rows,
            unordered: (!ordered).then(|| Sorter::new(space)),
            buffers: Default::default(),
        }
    }

    /// Takes a row, as it is stored.
    pub fn row(&mut self, key: &[u8], row: &[u8]) -> Result<(), NotLoaded> {
        match &mut self.unordered {
            Some(sorter) => sorter.push(Item { key, unique: 0, value: row })?,
            None if !self.rows.row(key, row)? => return Err(NotLoaded::Duplicate(row.to_vec())),
            None => {}
        }
        let (entry, carried) = (&mut self.buffers.0, &mut self.buffers.1);
        for sorting in &mut self.sorters {
            sorting.row((key, row), (entry, carried))?;
        }
        Ok(())
    }

    /// Entries that are sorted, and go to the trees in the end: of indexes, and of rows that come in no order.
    pub fn entries(&self) -> u64 {
        self.sorters.iter().map(|s| &s.sorter).chain(&self.unordered).map(Sorter::entries).sum()
    }

    /// Completes the trees, those of indexes by so many tasks.
    pub fn finish(self, txn: &mut Txn, tasks: usize, telling: Telling<'_>) -> Result<(), NotLoaded> {
        let Load { table, sorters, indexes, rows, unordered, .. } = self;
        let filled = match unordered {
            None => rows.finish()?,
            Some(sorter) => match fill::fill(vec![sorter], rows, Of::Rows, tasks, telling) {
                Ok(filled) => filled,
                Err(Fault::DuplicateRow(row)) => return Err(NotLoaded::Duplicate(row)),
                Err(Fault::Engine(e)) => return Err(e.into()),
                Err(Fault::Duplicate(..)) => return Err(SqlError::internal("an entry among rows").into()),
            },
        };
        filled.attach(txn)?;
        let work = indexes.into_iter().zip(sorters.into_iter().map(|s| vec![s.sorter])).collect();
        match fill_indexes(work, tasks, txn, telling) {
            Ok(()) => Ok(()),
            Err(Fault::Engine(e)) => Err(e.into()),
            Err(Fault::DuplicateRow(_)) => Err(SqlError::internal("a row among the entries of an index").into()),
            Err(Fault::Duplicate(position, key)) => {
                let reader = SnapshotReader::of_now(txn, true)?;
                Err(duplicate(&reader, table, position, &key)?.into())
            }
        }
    }
}

/// What all tasks have made, or the first one's error. An interruption follows from what has befallen another, perhaps.
fn all<T, E>(outcomes: Vec<Result<T, E>>) -> Result<Vec<T>, E> {
    outcomes.into_iter().collect()
}

/// Rows that several tasks sort the entries of.
struct Rows<'a> {
    reader: &'a SnapshotReader,
    table: &'a Table,
    /// Range `i` lies between cuts `i - 1` and `i`.
    cuts: Vec<Vec<u8>>,
    /// The next range that nobody has.
    next: AtomicUsize,
    /// A task has met an error: the others need not go on.
    failed: AtomicBool,
    /// Rows that were read.
    read: AtomicU64,
    work: &'a LongWork,
}

impl Rows<'_> {
    /// Puts the entries of ranges into sorters, one for each index, while there are any.
    fn sort(&self, mut sorters: Vec<Sorting<'_>>) -> CatalogResult<Vec<Sorter>> {
        let trees = self.table.trees(self.reader.engine())?;
        let (mut key, mut carried) = (Vec::new(), Vec::new());
        let options = ScanOptions { sequential: true, ..ScanOptions::default() };
        loop {
            let range = self.next.fetch_add(1, Relaxed);
            if range > self.cuts.len() || self.failed.load(Relaxed) {
                return Ok(sorters.into_iter().map(|s| s.sorter).collect());
            }
            let from = range.checked_sub(1).map_or(Cut::Start, |before| Cut::Before(&self.cuts[before]));
            let to = self.cuts.get(range).map_or(Cut::End, |cut| Cut::Before(cut));
            let mut scan = self.reader.scan(&trees.row, KeyRange::new(from, to), options)?;
            let mut rows = 0_u64;
            while let Some(row) = scan.next()? {
                rows += 1;
                if rows.is_multiple_of(256) {
                    check_interrupt()?;
                }
                if rows.is_multiple_of(TOLD) {
                    self.work.done(TOLD);
                }
                for sorting in &mut sorters {
                    sorting.row((row.key, row.value), (&mut key, &mut carried))?;
                }
            }
            self.work.done(rows % TOLD);
            self.read.fetch_add(rows, Relaxed);
        }
    }
}

/// Inserts an entry of index `position`. Error 1062 when its unique columns are there.
pub(crate) fn insert(
    (reader, txn): (&SnapshotReader, &mut Txn),
    (table, position): (&Table, usize),
    tree: &TreeHandle,
    item: Item<'_>,
) -> CatalogResult<()> {
    if item.unique == 0 {
        txn.index_insert(tree, item.key, item.value)?;
    } else if let IndexInsert::Duplicate { .. } =
        txn.index_insert_unique(tree, item.unique, item.key, item.value, false)?
    {
        return Err(duplicate(reader, table, position, item.key)?.into());
    }
    Ok(())
}

/// Error 1062 with the row's own values, fetched by its clustered key.
fn duplicate(reader: &SnapshotReader, table: &Table, position: usize, key: &[u8]) -> CatalogResult<SqlError> {
    let (_, clustered) = table.split_index_key(position, key)?;
    let row_tree = &table.trees(reader.engine())?.row;
    let only = KeyRange::new(Cut::Before(clustered), Cut::After(clustered));
    let mut scan = reader.scan(row_tree, only, ScanOptions::default())?;
    let row = scan.next()?.map(|entry| entry.value).unwrap_or_default();
    let text = table.duplicate_text(position, |i| table.layout().get(row, i).unwrap_or(ValueRef::Null));
    let name = format!("{}.{}", table.name, table.indexes[position].name);
    Ok(SqlError::new(ErrorCode::DupEntry, &[&text, &name]))
}
