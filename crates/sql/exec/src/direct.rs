//! The direct path: `SELECT columns FROM table WHERE key = ...` with a fully bound key. No operator, no batch, and with
//! warm buffers no allocation: key bytes, one engine read, the columns from the row's copy to the sink.

use crate::{
    codec,
    context::Cx,
    error::from_engine,
    eval,
    ops::{DirectBounds, read_mode},
    sink::{ResultSink, RowSource, Rows},
};
use gannet_engine::{Read, RowBuf, ScanOptions};
use gannet_plan::plan::PointSelect;
use gannet_types::{Result, ValueRef};

/// Buffers that live from statement to statement.
#[derive(Default)]
pub struct DirectBuffers {
    key: DirectBounds,
    row: RowBuf,
}

/// Runs a point select. Returns the number of rows: 0 or 1.
pub fn point_select<'p>(
    point: &'p PointSelect,
    buffers: &mut DirectBuffers,
    sink: &mut dyn ResultSink,
    cx: &mut Cx<'_, 'p>,
) -> Result<u64> {
    let plan = cx.plan;
    let table = &*plan.tables[0].table;
    sink.begin(&plan.columns)?;
    let empty = crate::batch::Batch::one_empty_row();
    let zone = &cx.settings.time_zone;
    let mode = read_mode(point.lock);
    let found = {
        let bounds = buffers.key.encode(table, point, zone, &mut |expr| eval::eval(expr, &empty, 0, cx))?;
        match bounds {
            None => false,
            Some(key) if point.clustered => {
                let read = cx.txn.get(codec::row_tree(table, cx)?, key, mode, &mut buffers.row).map_err(from_engine)?;
                read == Read::Found
            }
            Some(key) => {
                let options = ScanOptions { mode, unique_equality: true, ..ScanOptions::default() };
                let tree = codec::index_tree(table, point.index as usize, cx)?;
                let range = gannet_engine::KeyRange::prefix(key);
                let mut scan = cx.txn.scan(tree, range, options).map_err(from_engine)?;
                let row_key = match scan.next(cx.txn).map_err(from_engine)? {
                    Some(entry) => table.split_index_key(point.index as usize, entry.key)?.1.to_vec(),
                    None => return Ok(0),
                };
                let tree = codec::row_tree(table, cx)?;
                cx.txn.get(tree, &row_key, mode, &mut buffers.row).map_err(from_engine)? == Read::Found
            }
        }
    };
    if !found {
        return Ok(0);
    }
    cx.counts.examined += 1;
    let payload = buffers.row.row();
    let layout = table.layout();
    let mut values = [ValueRef::Null; 16];
    let zone = &cx.settings.time_zone;
    if point.columns.len() <= values.len() {
        for (value, column) in values.iter_mut().zip(&point.columns) {
            *value = layout.get(payload, *column as usize)?;
        }
        sink.rows(Rows { source: RowSource::One(&values[..point.columns.len()]), zone })?;
    } else {
        let mut values = Vec::with_capacity(point.columns.len());
        for column in &point.columns {
            values.push(layout.get(payload, *column as usize)?);
        }
        sink.rows(Rows { source: RowSource::One(&values), zone })?;
    }
    cx.counts.sent += 1;
    Ok(1)
}
