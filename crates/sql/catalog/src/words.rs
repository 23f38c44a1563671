//! What those who follow the log are told of a change of definitions or accounts.

use gannet_engine::{EngineError, Lsn, Txn};

/// The payload of the change's commit ([`gannet_engine::Txn::commit_with`]). Who runs the statement makes it, who
/// follows the log knows its format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words(pub Vec<u8>);

/// Commits a change of definitions or accounts, and tells those who follow the log of it if there are words.
pub fn commit(txn: &mut Txn, words: Option<&Words>) -> Result<Option<Lsn>, EngineError> {
    match words {
        Some(words) => txn.commit_with(&mut &words.0[..]).map(Some),
        None => txn.commit(),
    }
}
