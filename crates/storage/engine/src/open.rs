//! Opening and closing a store.

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64};
use gannet_base::TrxId;
use gannet_buffer::{Pool, PoolOptions};
use gannet_lock::LockTable;
use gannet_log::Log;

use crate::purge::PurgeState;
use crate::snapshot::Snapshots;
use crate::store::Store;
use crate::trees::Trees;
use crate::trxtable::TrxTable;
use crate::undo::stream::Streams;
use crate::{EngineOptions, Result, meta};

pub(crate) fn open(options: &EngineOptions) -> Result<Arc<Store>> {
    let mut log = gannet_log::Options::new(options.datadir.join("log"));
    log.capacity = options.redo_capacity_bytes;
    log.policy = options.flush_policy.into();
    std::fs::create_dir_all(&options.datadir).unwrap();
    let first = gannet_log::FIRST_LSN;
    let start = gannet_log::Start { store: 1, checkpoint: first, end: first, epochs: Vec::new(), epoch: 1 };
    let log = Log::open(log, start)?;
    let pool = Pool::open(
        &PoolOptions {
            dir: options.datadir.clone(),
            pool_bytes: options.buffer_pool_bytes,
            max_data_bytes: options.max_data_bytes,
            direct_io: false,
            store_id: [0; 16],
        },
        log.clone(),
        None,
    )?;
    meta::create(&pool)?;
    let locks = LockTable::new();
    let trees = Trees::new(locks.clone());
    trees.open_table(&pool)?;
    let streams = Streams::new();
    Ok(Arc::new(Store {
        pool,
        log,
        trees,
        locks,
        trx: TrxTable::new(TrxId(1)),
        snapshots: Snapshots::new(),
        streams,
        purge: PurgeState::new(),
        losers: AtomicU64::new(0),
        stopped: AtomicBool::new(false),
    }))
}

pub(crate) fn close(store: &Store) -> Result<()> {
    store.trees.save(true)?;
    store.log.close()?;
    Ok(())
}

pub(crate) fn percent(_store: &Store) -> u8 {
    100
}
