//! Rows of a table that is empty: they are not inserted one by one, its trees are built from all of them. The table is
//! one that the transaction has made, or one that was there, of which the statement then keeps other writers away.

use super::{rows, triggers};
use crate::changes::Images;
use crate::{
    codec,
    context::Cx,
    error::{from_catalog, from_engine},
};
use gannet_catalog::{Load, NotLoaded, Telling};
use gannet_engine::lock::{LockError, MdlDuration, MdlMode, Wait};
use gannet_engine::{Item, Savepoint, Sorter};
use gannet_plan::plan::{Insert, InsertSource, PlanTable};
use gannet_runtime::{LongWork, Stage};
use gannet_schema::{RowSource, Table};
use gannet_types::error::WarningMark;
use gannet_types::rowref::RowRef;
use gannet_types::{Result, SqlError, Value, sql_err};

/// Rows from which on a statement builds the trees; fewer where tests are to meet the other way.
pub(super) const ENOUGH: usize = if cfg!(debug_assertions) { 20 } else { 1_000 };
/// The same of the bytes of their texts.
pub(super) const ENOUGH_BYTES: usize = 4 << 20;
/// Memory for rows that are kept for IGNORE; what it does not hold goes to a file.
const KEPT_BYTES: usize = 8 << 20;

/// Rows after which it is told of them.
const TOLD: u64 = 1024;

/// Takes rows, and builds the trees when all are there.
pub(super) struct Bulk<'p> {
    table: &'p Table,
    load: Load<'p>,
    key: Vec<u8>,
    payload: Vec<u8>,
    rows: u64,
    again: Option<Again>,
    work: LongWork,
    /// Units of work that are expected so far.
    expected: u64,
}

/// The rows once more, in the order in which they came, where a duplicate is not just an error; and where the statement
/// was before them.
struct Again {
    kept: Sorter,
    savepoint: Savepoint,
    warned: WarningMark,
}

/// Rows that could not be built into trees, of which nothing is left there: they are to be inserted one by one.
pub(super) struct Unbuilt {
    kept: Sorter,
    /// Nothing was warned of before that.
    pub(super) warned: WarningMark,
}

/// Nothing is to be known of a row that only the row's own insertion tells, and nothing is done with it besides.
pub(super) fn are_simple(insert: &Insert, table: &Table, cx: &mut Cx<'_, '_>) -> Result<bool> {
    let plan = cx.shared.plan;
    // A value may be read from the rows before; a query's rows are all there first.
    let reads = |(i, t): (usize, &PlanTable)| i != insert.table as usize && t.table.id == table.id;
    let simple = (matches!(insert.source, InsertSource::Query(_)) || !plan.tables.iter().enumerate().any(reads))
        && (plan.tables[insert.table as usize].links.is_none() || !cx.shared.settings.foreign_key_checks)
        && table.source == RowSource::Engine
        // A trigger may give a row another part.
        && (table.partitions.is_none() || table.triggers.is_empty())
        && plan.routines.is_empty()
        && !cx.inner
        && !insert.replace
        && insert.on_duplicate.is_empty();
    Ok(simple && triggers::are_of_row(insert, cx)?)
}

/// Such rows may be built into the trees of a table that was there.
pub(super) fn is_for_building(insert: &Insert, table: &Table, cx: &mut Cx<'_, '_>) -> Result<bool> {
    if table.row_log.is_some() || table.partitions.is_some() || gives_numbers_back(insert, table) {
        return Ok(false);
    }
    let txn = cx.txn.get()?;
    Ok((gannet_engine::is_autocommit(txn) || table.temporary)
        && codec::row_tree(table, txn)?.is_empty().map_err(from_engine)?)
}

/// A row that IGNORE passes over gives the number that was made for it to the next one.
pub(super) fn gives_numbers_back(insert: &Insert, table: &Table) -> bool {
    insert.ignore && is_unique(table) && table.auto_column.is_some_and(|c| !insert.columns.contains(&c))
}

/// Two rows of the table may be in each other's way.
fn is_unique(table: &Table) -> bool {
    !table.has_hidden_key() || table.indexes.iter().any(|i| i.unique())
}

/// Keeps other writers out until the transaction ends. False: there are some.
fn keep_writers_out(table: &Table, cx: &mut Cx<'_, '_>) -> Result<bool> {
    if table.temporary {
        return Ok(true);
    }
    let txn = cx.txn.get()?;
    let object = txn.engine().lock_table().mdl_object(table.id.0, &format!("{}.{}", table.schema, table.name));
    // The statement is the transaction.
    match txn.lock_owner().mdl_lock(object, MdlMode::NoWrite, MdlDuration::Statement, Wait::No) {
        Ok(()) => Ok(true),
        Err(LockError::Killed) => Err(sql_err!(QueryInterrupted)),
        Err(LockError::WouldWait | LockError::Timeout | LockError::Deadlock) => Ok(false),
    }
}

impl<'p> Bulk<'p> {
    /// Of a table that the transaction has made. `None`: a duplicate is not just an error, or the rows go to several
    /// parts.
    pub(super) fn begin(insert: &Insert, table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<Option<Bulk<'p>>> {
        if table.partitions.is_some() || insert.ignore || insert.replace || !insert.on_duplicate.is_empty() {
            return Ok(None);
        }
        let indexes: Vec<usize> = (0..table.indexes.len()).filter(|i| Some(*i) != table.clustered).collect();
        // Hidden row ids ascend; of keys nothing is known.
        let load = Load::begin(cx.txn.get()?, table, &indexes, table.has_hidden_key()).map_err(from_catalog)?;
        Ok(Some(Bulk::with(table, load, None)))
    }

    /// Of a table of which [`is_for_building`] is true. `None`: others write to it, or have it locked.
    pub(super) fn of_empty(insert: &Insert, table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<Option<Bulk<'p>>> {
        if !keep_writers_out(table, cx)? {
            return Ok(None);
        }
        let txn = cx.txn.get()?;
        let savepoint = txn.savepoint();
        let Some(load) = Load::of_empty(txn, table, table.has_hidden_key()).map_err(from_catalog)? else {
            return Ok(None);
        };
        let kept = (insert.ignore && is_unique(table)).then(|| Sorter::new(txn.engine().sort_space(KEPT_BYTES)));
        let again = kept.map(|kept| Again { kept, savepoint, warned: cx.warnings.mark() });
        Ok(Some(Bulk::with(table, load, again)))
    }

    fn with(table: &'p Table, load: Load<'p>, again: Option<Again>) -> Bulk<'p> {
        Bulk {
            table,
            load,
            key: Vec::new(),
            payload: Vec::new(),
            rows: 0,
            again,
            work: LongWork::default(),
            expected: 0,
        }
    }

    /// Rows so far.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// What was said of a row, or that a number was made for it, depends on the rows before, if one of them is to be
    /// passed over: the rows have to go in one by one.
    pub(super) fn is_over(&self, generated: bool, cx: &Cx<'_, '_>) -> bool {
        self.again.as_ref().is_some_and(|again| generated || cx.warnings.total() != again.warned.total())
    }

    pub(super) fn row(&mut self, values: &[Value], cx: &mut Cx<'_, 'p>) -> Result<()> {
        let (mut key, mut payload) = (std::mem::take(&mut self.key), std::mem::take(&mut self.payload));
        codec::new_row_key(self.table, values, cx.txn.get()?, &mut key)?;
        payload.clear();
        codec::encode_row(self.table, values, &mut payload)?;
        self.put(&key, &payload, cx)?;
        (self.key, self.payload) = (key, payload);
        // Rows that may be inserted once more are told of when they are there.
        if self.again.is_some() { Ok(()) } else { tell(self.table, Images::insert(values), cx) }
    }

    /// As [`Bulk::row`], of a row that is encoded, with its key where it has one.
    pub(super) fn made(&mut self, (key, payload): (&[u8], &[u8]), cx: &mut Cx<'_, 'p>) -> Result<()> {
        if self.table.has_hidden_key() {
            let mut key = std::mem::take(&mut self.key);
            codec::new_row_key(self.table, &[], cx.txn.get()?, &mut key)?;
            self.put(&key, payload, cx)?;
            self.key = key;
        } else {
            self.put(key, payload, cx)?;
        }
        if self.again.is_some() || cx.changes.is_none() {
            return Ok(());
        }
        tell(self.table, Images::insert(RowRef::Stored(self.table.layout(), payload)), cx)
    }

    /// If the rows so far are `made` of `all` bytes, as much work follows in proportion.
    pub(super) fn foresee(&mut self, (made, all): (u64, u64)) {
        let units = u128::from(self.rows + self.load.entries()) * u128::from(all.max(made)) / u128::from(made.max(1));
        let before = std::mem::replace(&mut self.expected, units as u64);
        self.work.expect_instead(before, self.expected);
    }

    /// Fewer rows are no long work.
    #[cold]
    fn tell(&mut self) {
        if self.rows == TOLD {
            self.work = LongWork::begin();
            self.work.enter(Stage::LoadRead);
        }
        self.work.done(TOLD);
    }

    fn put(&mut self, key: &[u8], payload: &[u8], cx: &Cx<'_, 'p>) -> Result<()> {
        if let Some(again) = &mut self.again {
            let item = Item { key: &self.rows.to_be_bytes(), unique: 0, value: payload };
            again.kept.push(item).map_err(from_engine)?;
        }
        self.rows += 1;
        if self.rows.is_multiple_of(TOLD) {
            self.tell();
        }
        self.load.row(key, payload).map_err(|e| refused(e, self.table, cx))
    }

    /// Error 1062 when two rows have one key; with IGNORE the rows.
    pub(super) fn finish(self, cx: &mut Cx<'_, 'p>) -> Result<Option<Unbuilt>> {
        let Bulk { table, load, again, work, rows, expected, .. } = self;
        work.done(rows % TOLD);
        work.expect_instead(expected, rows + load.entries());
        let (tasks, telling) =
            (cx.shared.settings.ddl_threads as usize, Telling { work: &work, insert: Stage::LoadInsert });
        let loaded = load.finish(cx.txn.get()?, tasks, telling).map_err(|e| refused(e, table, cx));
        match (loaded, again) {
            (Ok(()), None) => Ok(None),
            (Ok(()), Some(_)) if cx.changes.is_none() => Ok(None),
            (Ok(()), Some(again)) => {
                let mut rows = Sorter::merge(vec![again.kept]).map_err(from_engine)?;
                while let Some(row) = rows.next().map_err(from_engine)? {
                    tell(table, Images::insert(RowRef::Stored(table.layout(), row.value)), cx)?;
                }
                Ok(None)
            }
            (Err(e), Some(again)) if e.code() == gannet_types::ErrorCode::DupEntry => again.back(cx).map(Some),
            (Err(e), _) => Err(e),
        }
    }

    /// The rows, where [`Bulk::is_over`].
    pub(super) fn leave(self, cx: &mut Cx<'_, 'p>) -> Result<Unbuilt> {
        match self.again {
            Some(again) => again.back(cx),
            None => Err(SqlError::internal("rows that are built into trees are asked for")),
        }
    }
}

impl Again {
    fn back(self, cx: &mut Cx<'_, '_>) -> Result<Unbuilt> {
        cx.txn.get()?.rollback_to(self.savepoint).map_err(from_engine)?;
        Ok(Unbuilt { kept: self.kept, warned: self.warned })
    }
}

impl Unbuilt {
    /// Gives the rows to `put`.
    pub(super) fn each(self, table: &Table, mut put: impl FnMut(Vec<Value>) -> Result<()>) -> Result<()> {
        let mut rows = Sorter::merge(vec![self.kept]).map_err(from_engine)?;
        while let Some(row) = rows.next().map_err(from_engine)? {
            put(codec::decode_row(table, row.value)?)?;
        }
        Ok(())
    }
}

fn tell(table: &Table, images: Images<'_>, cx: &mut Cx<'_, '_>) -> Result<()> {
    let mut to = cx.row_writer()?;
    let mark = to.mark();
    to.tell(mark, table, images)
}

fn refused(error: NotLoaded, table: &Table, cx: &Cx<'_, '_>) -> SqlError {
    match error {
        NotLoaded::Duplicate(row) => match codec::decode_row(table, &row) {
            Ok(values) => {
                let index = table.clustered.unwrap_or(0);
                rows::duplicate_error(table, index, &values, &cx.shared.settings.time_zone)
            }
            Err(error) => error,
        },
        NotLoaded::Other(error) => from_catalog(error),
    }
}
