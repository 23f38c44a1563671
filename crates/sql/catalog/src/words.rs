//! What those who follow the log are told of a change of definitions or accounts.

use crate::keys::{KIND_REPLICATION, dictionary_key};
use gannet_engine::{EngineError, Insert, Lsn, TreeHandle, Txn};
use std::sync::Arc;

/// Where this server stands in another one's log: the record's name and content.
pub type Position = (Arc<str>, Vec<u8>);

/// What goes with the change's commit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Words {
    /// Its payload ([`gannet_engine::Txn::commit_with`]); empty: none. Who runs the statement makes it, who follows the
    /// log knows its format.
    pub payload: Vec<u8>,
    /// Where another server's log stands behind the change, which it has told of: a record of the dictionary
    /// ([`crate::Catalog::replication`]).
    pub position: Option<Position>,
}

/// Commits a change of definitions or accounts, and tells those who follow the log of it if there are words. `tree` is
/// the dictionary's.
pub(crate) fn commit(tree: &TreeHandle, txn: &mut Txn, words: Option<&Words>) -> Result<Option<Lsn>, EngineError> {
    if let Some((name, position)) = words.and_then(|words| words.position.as_ref()) {
        let key = dictionary_key(KIND_REPLICATION, &[name]);
        if txn.insert_or_lock(tree, &key, position)? == Insert::Duplicate {
            txn.update(tree, &key, position)?;
        }
    }
    match words {
        Some(words) if !words.payload.is_empty() => txn.commit_with(&mut &words.payload[..]).map(Some),
        _ => txn.commit(),
    }
}
