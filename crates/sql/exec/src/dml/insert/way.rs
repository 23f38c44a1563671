//! How rows go into the table: one by one, or, where many come to an empty table, into trees that are built from all of
//! them. What a statement says and does is the same.

use super::Run;
use crate::context::Cx;
use crate::dml::bulk::{Bulk, ENOUGH, ENOUGH_BYTES, Unbuilt, are_simple, gives_numbers_back, is_for_building};
use crate::dml::rows;
use crate::error::from_engine;
use gannet_telemetry::{Counter, add};
use gannet_types::error::WarningMark;
use gannet_types::{ErrorCode, Result, Value};

/// How rows go into the table.
pub(super) enum Way<'p> {
    OneByOne,
    /// The first rows of a statement that may build the trees wait until there are enough.
    Waiting(Box<FirstRows>),
    /// Some at a time: those that are neighbours go into their leaf at once.
    Runs(Box<FirstRows>),
    /// Into trees that are built from all of them.
    Built(Box<Bulk<'p>>),
}

/// Rows of a run, and bytes of their texts.
const RUN: usize = 128;
const RUN_BYTES: usize = 64 << 10;

/// Rows that wait.
pub(super) struct FirstRows {
    rows: Vec<Waiting>,
    /// Of their texts.
    bytes: usize,
    /// What was warned of before them.
    warned: WarningMark,
}

/// A row that waits, with what the statement knows of its number.
struct Waiting {
    values: Vec<Value>,
    row_id: (u64, bool),
    last_row_id: u64,
}

/// What is said of the row, and its number, depend on the rows before, if one of them is passed over.
fn is_over(row: &Waiting, warned: WarningMark, cx: &Cx<'_, '_>) -> bool {
    row.row_id.1 || cx.warnings.total() != warned.total()
}

impl<'p> Run<'p> {
    /// The rows to come may be built into the trees of an empty table, if they are many.
    pub(in crate::dml) fn await_rows(&mut self, many: bool, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if !matches!(self.way, Way::OneByOne) || !are_simple(self.insert, self.table, cx) {
            return Ok(());
        }
        let first = Box::new(FirstRows { rows: Vec::new(), bytes: 0, warned: cx.warnings.mark() });
        if many && is_for_building(self.insert, self.table, cx)? {
            self.way = Way::Waiting(first);
        } else if !gives_numbers_back(self.insert, self.table) {
            self.way = Way::Runs(first);
        }
        Ok(())
    }

    /// A row of a run.
    pub(super) fn join(&mut self, mut run: Box<FirstRows>, values: Vec<Value>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let row = Waiting { last_row_id: self.last_row_id, row_id: std::mem::take(&mut self.row_id), values };
        if self.insert.ignore && is_over(&row, run.warned, cx) {
            let mut own = cx.warnings.take_since(run.warned);
            self.put_run(&run.rows, cx)?;
            cx.warnings.append(&mut own);
            self.put_waiting(row, cx)?;
            run.rows.clear();
            run.warned = cx.warnings.mark();
        } else {
            run.bytes += row.values.iter().map(Value::long_bytes).sum::<usize>();
            run.rows.push(row);
        }
        if run.rows.len() >= RUN || run.bytes >= RUN_BYTES {
            self.put_run(&run.rows, cx)?;
            run.rows.clear();
            (run.bytes, run.warned) = (0, cx.warnings.mark());
        }
        self.way = Way::Runs(run);
        Ok(())
    }

    /// Puts the rows of a run in. What goes wrong is what would go wrong row by row.
    fn put_run(&mut self, run: &[Waiting], cx: &mut Cx<'_, 'p>) -> Result<()> {
        let zone = &cx.shared.settings.time_zone;
        let rows: Vec<&[Value]> = run.iter().map(|row| &row.values[..]).collect();
        let mut put = 0;
        while put < rows.len() {
            let before = cx.txn.get()?.savepoint();
            let n = match rows::insert_run(self.table, &rows[put..], zone, &mut cx.row_writer()?) {
                Ok(n) => n,
                // One of the rows is to be passed over: which one shows row by row.
                Err(e) if self.insert.ignore && e.code() == ErrorCode::DupEntry => {
                    cx.txn.get()?.rollback_to(before).map_err(from_engine)?;
                    return run[put..].iter().try_for_each(|row| self.put_single(row, cx));
                }
                Err(e) => return Err(e),
            };
            add(Counter::HandlerWrite, n as u64);
            for row in &run[put..put + n] {
                (self.row_id, self.last_row_id) = (row.row_id, row.last_row_id);
                self.affected += 1;
                self.raise_counter(cx)?;
                self.stored();
            }
            put += n;
            if n == 0 {
                self.put_single(&run[put], cx)?;
                put += 1;
            }
        }
        Ok(())
    }

    fn put_single(&mut self, row: &Waiting, cx: &mut Cx<'_, 'p>) -> Result<()> {
        (self.row_id, self.last_row_id) = (row.row_id, row.last_row_id);
        self.put(row.values.clone(), None, cx)
    }

    /// A row comes while others wait.
    pub(super) fn wait(&mut self, mut first: Box<FirstRows>, values: Vec<Value>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let row = Waiting { last_row_id: self.last_row_id, row_id: std::mem::take(&mut self.row_id), values };
        if self.insert.ignore && is_over(&row, first.warned, cx) {
            let mut own = cx.warnings.take_since(first.warned);
            first.rows.into_iter().try_for_each(|row| self.put_waiting(row, cx))?;
            cx.warnings.append(&mut own);
            return self.put_waiting(row, cx);
        }
        first.bytes += row.values.iter().map(Value::long_bytes).sum::<usize>();
        first.rows.push(row);
        if first.rows.len() < ENOUGH && first.bytes < ENOUGH_BYTES {
            self.way = Way::Waiting(first);
            return Ok(());
        }
        if let Some(bulk) = Bulk::of_empty(self.insert, self.table, cx)? {
            self.way = Way::Built(Box::new(bulk));
        }
        first.rows.into_iter().try_for_each(|row| self.put_waiting(row, cx))
    }

    /// The source has no more rows, or has failed: then what is wrong with a row before comes first.
    pub(in crate::dml) fn ended(&mut self, outcome: Result<()>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        match std::mem::replace(&mut self.way, Way::OneByOne) {
            Way::OneByOne => outcome,
            Way::Runs(run) => self.put_run(&run.rows, cx).and(outcome),
            Way::Waiting(first) => first.rows.into_iter().try_for_each(|row| self.put_waiting(row, cx)).and(outcome),
            Way::Built(bulk) => {
                outcome?;
                let count = bulk.rows();
                match bulk.finish(cx)? {
                    None => {
                        add(Counter::HandlerWrite, count);
                        add(Counter::InnodbRowsInserted, count);
                    }
                    Some(rows) => self.put_unbuilt(rows, cx)?,
                }
                Ok(())
            }
        }
    }

    fn put_waiting(&mut self, row: Waiting, cx: &mut Cx<'_, 'p>) -> Result<()> {
        (self.row_id, self.last_row_id) = (row.row_id, row.last_row_id);
        match std::mem::replace(&mut self.way, Way::OneByOne) {
            Way::Built(bulk) => self.put_built(bulk, row.values, cx),
            Way::OneByOne | Way::Waiting(_) | Way::Runs(_) => self.put(row.values, None, cx),
        }
    }

    /// Gives a row to the trees that are built.
    pub(super) fn put_built(&mut self, mut bulk: Box<Bulk<'p>>, values: Vec<Value>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if bulk.is_over(self.row_id.1, cx) {
            let number = self.row_id;
            let rows = bulk.leave(cx)?;
            let mut own = cx.warnings.take_since(rows.warned);
            self.put_unbuilt(rows, cx)?;
            cx.warnings.append(&mut own);
            self.row_id = number;
            return self.put(values, None, cx);
        }
        bulk.row(&values, cx)?;
        self.way = Way::Built(bulk);
        self.affected += 1;
        self.raise_counter(cx)?;
        self.stored();
        Ok(())
    }

    /// Puts rows in one by one that were to be built into trees. All that the statement has put in so far is among
    /// them.
    fn put_unbuilt(&mut self, rows: Unbuilt, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let last = self.last_row_id;
        (self.affected, self.any_stored) = (0, false);
        rows.each(self.table, |values| {
            self.row_id = (self.number_of(&values), false);
            self.put(values, None, cx)
        })?;
        self.last_row_id = last;
        Ok(())
    }
}
