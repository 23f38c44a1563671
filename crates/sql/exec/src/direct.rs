//! The direct path: `SELECT columns FROM table WHERE key = ...` with a fully bound key. No operator, no batch, and with
//! warm buffers no allocation: key bytes, one engine read, the columns from the row's copy to the sink.

use crate::{
    batch::Batch,
    codec,
    context::Cx,
    error::from_engine,
    eval,
    sink::{ResultSink, Stored},
};
use gannet_engine::{KeyRange, Read, RowBuf, ScanOptions};
use gannet_plan::{
    plan::PointSelect,
    range::{Bounds, encode_point},
};
use gannet_telemetry::{Counter, add_all};
use gannet_types::Result;

/// Buffers that live from statement to statement.
#[derive(Default)]
pub struct DirectBuffers {
    key: Vec<u8>,
    row: RowBuf,
    pub(crate) bounds: Bounds,
}

/// Runs a point select. Returns the number of rows: 0 or 1.
pub fn point_select<'p>(
    point: &'p PointSelect,
    buffers: &mut DirectBuffers,
    sink: &mut dyn ResultSink,
    cx: &mut Cx<'_, 'p>,
) -> Result<u64> {
    let plan = cx.shared.plan;
    let table = &*plan.tables[0].table;
    sink.begin(&plan.columns)?;
    let mode = cx.shared.settings.locks.mode(point.lock);
    let index = point.index as usize;
    let (empty, zone) = (Batch::default(), &cx.shared.settings.time_zone);
    let eval = |expr| eval::eval(expr, &empty, 0, cx);
    // With the statement's end, which counts nothing for this kind of plan: see the server's `run_plan`.
    add_all([(Counter::HandlerReadKey, 1), (Counter::HandlerCommit, 1), (Counter::HandlerExternalLock, 2)]);
    let found = if !encode_point(table.key_parts(index), &point.key, zone, eval, &mut buffers.key)? {
        false
    } else if point.clustered {
        let tree = codec::row_tree(table, cx.txn.get()?)?;
        cx.txn.get()?.get(tree, &buffers.key, mode, &mut buffers.row).map_err(from_engine)? == Read::Found
    } else {
        let options = ScanOptions { mode, unique_equality: true, ..ScanOptions::default() };
        let tree = codec::index_tree(table, index, cx.txn.get()?)?;
        let mut scan = cx.txn.get()?.scan(tree, KeyRange::prefix(&buffers.key), options).map_err(from_engine)?;
        let verify = scan.must_verify();
        loop {
            let Some(entry) = scan.next(cx.txn.get()?).map_err(from_engine)? else { break false };
            let entry_key = entry.key.to_vec();
            let row_key = table.split_index_key(index, &entry_key)?.1;
            let tree = codec::row_tree(table, cx.txn.get()?)?;
            if cx.txn.get()?.get_near(tree, row_key, mode, None, &mut buffers.row, false).map_err(from_engine)?
                != Read::Found
            {
                continue;
            }
            // A candidate only: the row's columns have to make the entry's key still.
            if !verify {
                break true;
            }
            let values = codec::decode_row(table, buffers.row.row())?;
            if codec::index_entry(table, index, row_key, &values)?.key == entry_key {
                break true;
            }
        }
    };
    if !found {
        return Ok(0);
    }
    cx.counts.examined += 1;
    let row = table.layout().open(buffers.row.row())?;
    sink.stored(Stored { row, columns: &point.columns, zone: &cx.shared.settings.time_zone })?;
    cx.counts.sent += 1;
    Ok(1)
}
