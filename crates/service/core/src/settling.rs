//! Gives the words of new rows their places in full-text indexes, in the background: see [`gannet_exec::settle`].

use crate::Core;
use gannet_engine::lock::{MdlDuration, MdlMode, Wait as LockWait};
use gannet_engine::{Isolation, TxnOptions};
use gannet_exec::{Settled, settle, waited};
use gannet_runtime::{Unpark, Wait, interrupted, now_ns, park};
use gannet_schema::{RowSource, Table};
use gannet_types::Result;
use std::sync::Arc;

/// Pause between two looks: searches take apart what waits.
const PAUSE_NS: u64 = 100_000_000;

/// Rows of a transaction: they are locked as long as it lasts, some milliseconds.
const MOST: usize = 512;

/// The background task; ends when the server stops.
pub(crate) fn run(core: &Arc<Core>) {
    // Those that have waited when the server stopped go first.
    let mut seen = None;
    while !core.shutting_down() && !interrupted() {
        if park(Wait::FullTextIdle, Some(now_ns() + PAUSE_NS)) == Unpark::Interrupted {
            break;
        }
        let now = waited();
        if seen != Some(now) {
            seen = look_at_all(core).then_some(now);
        }
    }
}

/// False: some rows wait still.
fn look_at_all(core: &Arc<Core>) -> bool {
    let snapshot = core.catalog.snapshot();
    let mut all = true;
    for table in snapshot.all_tables().filter(|t| t.source == RowSource::Engine) {
        for (number, _) in table.indexes.iter().enumerate().filter(|(_, i)| i.text().is_some()) {
            loop {
                if core.shutting_down() || interrupted() {
                    return false;
                }
                // What fails now is tried again; statements report damage.
                match settle_some(core, table, number) {
                    Ok(Settled::Some) => gannet_runtime::yield_now(),
                    Ok(Settled::All) => break,
                    Ok(Settled::Enough) | Err(_) => {
                        all = false;
                        break;
                    }
                }
            }
        }
    }
    all
}

fn settle_some(core: &Arc<Core>, table: &Arc<Table>, index: usize) -> Result<Settled> {
    let options = TxnOptions { isolation: Isolation::ReadCommitted, ..TxnOptions::default() };
    let mut txn = core.engine.try_begin(options).map_err(gannet_exec::error::from_engine)?;
    let object = core.lock_of(table);
    let owner = txn.lock_owner();
    let locked = owner.mdl_lock(object, MdlMode::Write, MdlDuration::Transaction, LockWait::No);
    let outcome = locked.map_err(crate::work::lock_error).and_then(|()| {
        let snapshot = core.catalog.snapshot();
        match snapshot.base_table(&table.schema, &table.name) {
            Some(now) if Arc::ptr_eq(now, table) => settle(table, index, MOST, &mut txn),
            _ => Ok(Settled::All),
        }
    });
    let ended = match &outcome {
        Ok(_) => txn.commit_unsynced().map(drop),
        Err(_) => txn.rollback(),
    };
    // A transaction that is half undone keeps the table.
    if !txn.is_half_undone() {
        txn.lock_owner().mdl_end_transaction();
    }
    ended.map_err(gannet_exec::error::from_engine)?;
    outcome
}
