//! Taking back what a transaction has filled a tree with.
//!
//! The entries are found by their stamps. All changes that the transaction has made to the tree since are undone by
//! then. After a restart others may have put entries between them: these stay.

use gannet_base::{PageNo, TrxId};
use gannet_page::node::MAX_KEY;

use super::NO_VERSION;
use crate::index::split_key;
use crate::purge::note_chain;
use crate::row::{RowHeader, chain_of};
use crate::store::Store;
use crate::trees::TreeShared;
use crate::undo::record::UndoPtr;
use crate::{Result, TreeKind};

/// Takes out what the transaction's record at `at` tells of. `chain`: an overflow chain that was to be freed before a
/// crash. Repeatable; it does not mark the record.
pub(crate) fn take_back(by: (&Store, &TreeShared, TrxId), at: UndoPtr, chain: PageNo) -> Result<()> {
    let (_, tree, trx) = by;
    free_chain(by, at, chain)?;
    let mut cursor = tree.tree.cursor();
    let mut from = Vec::new();
    loop {
        cursor.set_range(Some(&from), None);
        loop {
            if !cursor.next()? {
                return Ok(());
            }
            if is_filled(tree.kind, trx, cursor.key(), cursor.value()) {
                break;
            }
            gannet_runtime::yield_if_due();
        }
        from = take_run(by, at, cursor.key())?;
        gannet_runtime::yield_if_due();
    }
}

/// An entry that the transaction has filled the tree with.
fn is_filled(kind: TreeKind, trx: TrxId, key: &[u8], value: &[u8]) -> bool {
    match kind {
        TreeKind::Row => RowHeader::decode(value).is_some_and(|h| h.writer == trx && h.undo == NO_VERSION),
        TreeKind::Index => split_key(key).is_some_and(|(_, inserter)| inserter == trx),
    }
}

/// Takes entries out, from `key` on as far as the leaf goes, and gives a key behind them, from which to look on. A row
/// with an overflow chain goes alone, so that the record can tell of its chain.
fn take_run((store, tree, trx): (&Store, &TreeShared, TrxId), at: UndoPtr, key: &[u8]) -> Result<Vec<u8>> {
    let (mut last, row) = (Vec::new(), tree.kind == TreeKind::Row);
    let (n, underfull, chain) = store.pool.run(|| {
        let mut mtr = store.pool.mtr()?;
        let leaf = tree.tree.leaf_for_write(&mut mtr, key, 0)?;
        last.clear();
        last.extend_from_slice(key);
        if !leaf.found() {
            return Ok((0, false, PageNo::ZERO));
        }
        let first = if row { chain_of(leaf.value(&mtr)).map_or(PageNo::ZERO, |c| c.0) } else { PageNo::ZERO };
        let n = if first.is_zero() {
            leaf.run(&mtr, &mut last, |k, v| is_filled(tree.kind, trx, k, v) && !(row && chain_of(v).is_some()))
        } else {
            note_chain(&mut mtr, at, first)?;
            1
        };
        let underfull = leaf.remove_run(&mut mtr, n);
        mtr.commit();
        Ok((n, underfull, first))
    })?;
    tree.count_rows(-(n as i64));
    free_chain((store, tree, trx), at, chain)?;
    if underfull {
        tree.tree.merge(&last)?;
    }
    // The next key there can be; the longest one has none but its neighbour in order.
    if last.len() < MAX_KEY {
        last.push(0);
    } else {
        while last.pop_if(|b| *b == u8::MAX).is_some() {}
        if let Some(b) = last.last_mut() {
            *b += 1;
        }
    }
    Ok(last)
}

fn free_chain((_, tree, _): (&Store, &TreeShared, TrxId), at: UndoPtr, chain: PageNo) -> Result<()> {
    if chain.is_zero() {
        return Ok(());
    }
    Ok(tree.tree.free_chain(chain, |mtr, next| note_chain(mtr, at, next))?)
}
