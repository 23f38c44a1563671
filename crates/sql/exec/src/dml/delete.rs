//! DELETE.

use super::{Affected, rows};
use crate::{batch::Batch, codec, context::Cx, error::from_engine, foreign, ops};
use gannet_plan::plan::Delete;
use gannet_types::{ErrorCode, Level, Result, Value};

/// Runs DELETE.
pub fn delete<'p>(delete: &'p Delete, cx: &mut Cx<'_, 'p>) -> Result<Affected> {
    cx.ignore = delete.ignore;
    cx.strict = cx.settings.sql_mode.is_strict() && !cx.ignore;
    let mut deleted = 0;
    let mut operator = ops::build(&delete.input, false)?;
    if delete.collect_first || delete.targets.len() > 1 {
        let mut batches = ops::collect(&mut operator, cx)?;
        for batch in &batches {
            deleted += delete_batch(delete, batch, cx)?;
        }
        ops::release(&mut batches, cx);
    } else {
        operator.open(cx)?;
        while let Some(batch) = operator.next(cx)? {
            deleted += delete_batch(delete, &batch, cx)?;
        }
    }
    Ok(Affected { rows: deleted, ..Affected::default() })
}

fn delete_batch(delete: &Delete, batch: &Batch, cx: &mut Cx<'_, '_>) -> Result<u64> {
    let plan = cx.plan;
    let mut deleted = 0;
    for row in 0..batch.rows {
        cx.check_interrupt()?;
        for (table, offset) in &delete.targets {
            let slot = *table as usize;
            let table = &*plan.tables[slot].table;
            let offset = *offset as usize;
            let values: Vec<Value> =
                (0..table.columns.len()).map(|i| batch.columns[offset + i].get(row).to_owned()).collect();
            let hidden =
                table.has_hidden_key().then(|| batch.columns[offset + table.columns.len()].get(row).to_owned());
            let mut key = Vec::new();
            if !codec::existing_row_key(table, &values, hidden.as_ref(), &mut key)? {
                continue;
            }
            let savepoint = (delete.ignore && plan.tables[slot].links.is_some()).then(|| cx.txn.savepoint());
            if !rows::delete_row(table, &key, &values, cx)? {
                continue;
            }
            match (foreign::deleted(slot, &values, cx), savepoint) {
                (Ok(()), _) => deleted += 1,
                (Err(error), Some(savepoint)) if error.code() == ErrorCode::RowIsReferenced2 => {
                    cx.txn.rollback_to(savepoint).map_err(from_engine)?;
                    cx.warnings.push(error.to_warning(Level::Warning));
                }
                (Err(error), _) => return Err(error),
            }
        }
    }
    Ok(deleted)
}
