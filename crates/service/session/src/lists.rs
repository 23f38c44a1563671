//! Lists that are read and written as a whole: accounts, servers, resource groups, components, of whom and of what is
//! collected, channels of replicas.

use super::Session;
use gannet_core::work::Gates;
use gannet_types::Result;

/// Does what changes accounts, or another list. No other session changes any between reading and writing them.
pub(crate) fn alone<T>(session: &mut Session, change: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
    alone_behind(session, Gates::Definitions, change)
}

/// The same, of what other gates keep waiting.
pub(crate) fn alone_behind<T>(
    session: &mut Session,
    gates: Gates,
    change: impl FnOnce(&mut Session) -> Result<T>,
) -> Result<T> {
    session.work.locks().take_lists(gates)?;
    let done = change(session);
    session.work.locks().leave_lists(gates);
    done
}
