//! What every login has in common, whatever the protocol.

use super::{Account, Usage};
use crate::Core;
use crate::vars::Live;
use gannet_types::{Result, sql_err};
use gannet_wire::auth::NONCE;
use std::sync::Arc;

/// A challenge: random bytes, none of them 0 or `$`.
pub fn nonce() -> [u8; NONCE] {
    let mut bytes = [0; NONCE];
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&gannet_runtime::random_u64().to_le_bytes()[..chunk.len()]);
    }
    for b in &mut bytes {
        *b = *b % 90 + b'%';
    }
    bytes
}

/// Counts a connection that begins against the account's limits.
pub fn count_connection(server: &Core, account: &Account) -> Result<Option<Arc<Usage>>> {
    let most = server.globals.get(Live::MaxUserConnections).as_u64();
    if account.policy.limits == [0; 4] && most == 0 {
        return Ok(None);
    }
    let usage = server.accounts.limits.usage(account);
    usage.take(account, 2)?;
    usage.take(account, 3)?;
    if account.policy.limits[3] == 0 && most != 0 && u64::from(usage.connections()) > most {
        usage.disconnect();
        return Err(sql_err!(TooManyUserConnections, account.user));
    }
    Ok(Some(usage))
}
