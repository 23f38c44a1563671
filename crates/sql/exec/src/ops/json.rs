//! JSON_TABLE.

use super::Operator;
use crate::{
    batch::{BATCH_ROWS, Batch},
    context::Cx,
    eval,
};
use gannet_functions::{EvalContext, json::table::JsonTable};
use gannet_plan::expr::Expr;
use gannet_types::{Result, SqlType, Value, room::Room};

/// Rows out of a JSON document, all made when it opens.
pub struct JsonRows<'p> {
    document: &'p Expr,
    table: &'p JsonTable,
    types: &'p [SqlType],
    batches: std::vec::IntoIter<Batch>,
    held: usize,
}

impl<'p> JsonRows<'p> {
    pub fn new(document: &'p Expr, table: &'p JsonTable, types: &'p [SqlType]) -> Self {
        JsonRows { document, table, types, batches: Vec::new().into_iter(), held: 0 }
    }
}

impl<'p> Operator<'p> for JsonRows<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        cx.release(std::mem::take(&mut self.held));
        self.batches = Vec::new().into_iter();
        let document = eval::eval(self.document, &Batch::one_empty_row(), 0, cx)?;
        let mut batches: Vec<Batch> = Vec::new();
        let mut bytes = 0;
        let limit = cx.shared.settings.memory_limit;
        let mut emit = |row: &[Value]| {
            if batches.last().is_none_or(|b| b.rows >= BATCH_ROWS) {
                batches.push(Batch::for_types(self.types));
            }
            if let Some(batch) = batches.last_mut() {
                batch.push_values(row);
            }
            bytes += row.iter().map(crate::batch::value_bytes).sum::<usize>();
            // The statement's bound is asked once, below; a document that makes too much of little stops here.
            if bytes > limit { Err(gannet_types::sql_err!(OutOfSortmemory)) } else { Ok(()) }
        };
        let allowance = cx.allowance(document.long_bytes());
        let mut context = EvalContext { room: Room::of(&allowance), ..cx.eval_context() };
        self.table.rows(&mut context, &self.document.ty, &document, &mut emit)?;
        drop(allowance);
        cx.reserve(bytes)?;
        self.held = bytes;
        self.batches = batches.into_iter();
        Ok(())
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let batch = self.batches.next();
        if batch.is_none() {
            cx.release(std::mem::take(&mut self.held));
        }
        Ok(batch)
    }
}
