//! The input rows of window functions: whole partitions, in memory or, when that is full, on disk with the pieces last
//! used in memory.

use crate::{
    batch::{Batch, Column},
    context::Cx,
    eval,
    order::{Keyed, RowOrder},
    spill::{Run, RunWriter, SpillFile},
    vector,
};
use gannet_plan::{expr::Expr, physical::Window as Definition};
use gannet_telemetry::Counter;
use gannet_types::{Result, SqlError, Value};
use std::{cell::RefCell, collections::VecDeque, rc::Rc};

/// Pieces kept in memory of those on disk: a frame has two ends, and NTH_VALUE, LAG and LEAD one more place.
const CACHED: usize = 6;

/// A batch with the columns that are computed over it once.
pub(super) struct Piece {
    /// The rows with the keys of ORDER BY; behind the input's columns there may be others.
    pub(super) keyed: Keyed,
    /// For each function its arguments.
    pub(super) args: Vec<Vec<Column>>,
}

/// Rows, by number from 0.
pub(super) struct Rows<'p> {
    definition: &'p Definition,
    /// Columns of the input.
    width: usize,
    pieces: Vec<Rc<Piece>>,
    writer: Option<RunWriter>,
    run: Option<Run>,
    cache: RefCell<VecDeque<(usize, Rc<Piece>)>>,
    /// First row of each piece, and the number of rows.
    starts: Vec<usize>,
    held: usize,
}

impl<'p> Rows<'p> {
    pub(super) fn new(definition: &'p Definition) -> Rows<'p> {
        Rows {
            definition,
            width: 0,
            pieces: Vec::new(),
            writer: None,
            run: None,
            cache: RefCell::default(),
            starts: vec![0],
            held: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    pub(super) fn pieces(&self) -> usize {
        self.starts.len() - 1
    }

    /// Appends a batch.
    pub(super) fn push(&mut self, batch: Batch, cx: &mut Cx<'_, 'p>) -> Result<()> {
        cx.begin_computing();
        self.width = batch.columns.len();
        self.starts.push(self.len() + batch.rows);
        let mut args = Vec::with_capacity(self.definition.functions.len());
        for function in &self.definition.functions {
            args.push(function.args.iter().map(|e| vector::eval(e, &batch, cx)).collect::<Result<Vec<_>>>()?);
        }
        let piece = Piece { keyed: RowOrder::new(&self.definition.order).keyed(batch, cx)?, args };
        if let Some(writer) = &mut self.writer {
            return writer.write_one(&saved(piece));
        }
        let bytes = piece.keyed.memory_bytes() + piece.args.iter().flatten().map(Column::memory_bytes).sum::<usize>();
        self.held += bytes;
        cx.hold(bytes);
        self.pieces.push(Rc::new(piece));
        if cx.over(self.held) {
            gannet_telemetry::count(Counter::CreatedTmpDiskTables);
            let mut writer = RunWriter::new(&SpillFile::create(&cx.temp_space()?)?);
            for piece in self.pieces.drain(..) {
                let piece = Rc::into_inner(piece).ok_or_else(|| SqlError::internal("a window's rows are in use"))?;
                writer.write_one(&saved(piece))?;
            }
            cx.release(std::mem::take(&mut self.held));
            self.writer = Some(writer);
        }
        Ok(())
    }

    /// All rows are here.
    pub(super) fn seal(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            self.run = Some(writer.finish()?);
        }
        Ok(())
    }

    pub(super) fn piece(&self, number: usize) -> Result<Rc<Piece>> {
        let Some(run) = &self.run else { return Ok(self.pieces[number].clone()) };
        if let Some((_, piece)) = self.cache.borrow().iter().find(|(n, _)| *n == number) {
            return Ok(piece.clone());
        }
        let batch = run.batch(number)?.ok_or_else(|| SqlError::internal("a window's rows are gone"))?;
        let piece = Rc::new(self.load(batch));
        let mut cache = self.cache.borrow_mut();
        if cache.len() == CACHED {
            cache.pop_front();
        }
        cache.push_back((number, piece.clone()));
        Ok(piece)
    }

    fn load(&self, mut batch: Batch) -> Piece {
        let functions = &self.definition.functions;
        let count: usize = functions.iter().map(|f| f.args.len()).sum();
        let mut args = batch.columns.split_off(batch.columns.len().saturating_sub(count)).into_iter();
        let args = functions.iter().map(|f| args.by_ref().take(f.args.len()).collect()).collect();
        Piece { keyed: RowOrder::new(&self.definition.order).keyed_again(batch, self.width), args }
    }

    /// The piece of row `i`, and its place there.
    pub(super) fn place(&self, i: usize) -> Result<(Rc<Piece>, usize)> {
        let number = self.starts.partition_point(|start| *start <= i) - 1;
        Ok((self.piece(number)?, i - self.starts[number]))
    }

    /// A function's argument in row `i`.
    pub(super) fn arg(&self, function: usize, arg: usize, i: usize) -> Result<Value> {
        let (piece, row) = self.place(i)?;
        Ok(piece.args[function][arg].get(row).to_owned())
    }

    /// A function's arguments in row `i`.
    pub(super) fn args(&self, function: usize, i: usize) -> Result<Vec<Value>> {
        let (piece, row) = self.place(i)?;
        Ok(piece.args[function].iter().map(|c| c.get(row).to_owned()).collect())
    }

    /// The first key of ORDER BY in row `i`.
    pub(super) fn key(&self, i: usize) -> Result<Value> {
        let (piece, row) = self.place(i)?;
        Ok(piece.keyed.key(0, row).to_owned())
    }

    /// Evaluates over row `i`.
    pub(super) fn eval(&self, expr: &'p Expr, i: usize, cx: &mut Cx<'_, 'p>) -> Result<Value> {
        let (piece, row) = self.place(i)?;
        eval::eval(expr, &piece.keyed.rows, row, cx)
    }

    /// The input's columns of a piece, and the numbers of its rows.
    pub(super) fn columns(&self, number: usize) -> Result<(Batch, std::ops::Range<usize>)> {
        let piece = self.piece(number)?;
        let columns = piece.keyed.rows.columns[..self.width].to_vec();
        let range = self.starts[number]..self.starts[number + 1];
        Ok((Batch { rows: range.len(), columns }, range))
    }

    /// Gives the memory back.
    pub(super) fn clear(&mut self, cx: &mut Cx<'_, '_>) {
        cx.release(self.held);
        *self = Rows::new(self.definition);
    }
}

/// A piece as it goes to disk: columns, computed keys, arguments.
fn saved(piece: Piece) -> Batch {
    let mut batch = piece.keyed.into_batch();
    batch.columns.extend(piece.args.into_iter().flatten());
    batch
}
