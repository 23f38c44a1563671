//! Transactions that have to commit in an order that is given from outside: those of another server's log.

use gannet_lock::Wait;

use crate::trxtable::TrxState;
use crate::{Result, TrxId, Txn};

/// Gives a transaction its number, if it has none yet: others can wait for its end by it.
pub fn name(txn: &mut Txn) -> Result<TrxId> {
    txn.start_writing()?;
    Ok(txn.own_id())
}

/// Waits for the end of a transaction that has to commit before `txn`. If that one waits for rows of `txn` in turn,
/// `txn` is the victim: [`crate::EngineError::Deadlock`], and it is rolled back.
pub fn wait_behind(txn: &mut Txn, ahead: TrxId) -> Result<()> {
    txn.owner.set_weight(0);
    let outcome = {
        let store = &*txn.engine.store;
        let active = || store.trx.state(ahead) == TrxState::Active;
        txn.owner.wait_trx(ahead, active, Wait::For(txn.options.lock_wait_timeout))
    };
    outcome.map_err(|e| txn.failed(e.into()))
}
