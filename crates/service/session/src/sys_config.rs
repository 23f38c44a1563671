//! The table `sys.sys_config`, which is stored: made when a server starts that has none.

use super::owned::SCHEMA;
use super::{OwnSession, Sessions};
use gannet_core::accounts::Account;
use gannet_core::vars::Live;
use gannet_types::Result;
use std::sync::Arc;

const TABLE: &str = "sys_config";

/// What makes the table, its triggers and its first rows.
const MAKE: &str = include_str!("sys/config.sql");

/// Makes what is missing of the tables that the server stores for itself. The caller may wait.
pub fn ensure_all(sessions: &Sessions) -> Result<()> {
    ensure(sessions)?;
    super::log_tables::ensure(sessions)
}

/// Makes what is missing of `sys.sys_config`, unless nothing may be written. The caller may wait.
fn ensure(sessions: &Sessions) -> Result<()> {
    let core = sessions.core();
    let snapshot = core.catalog.snapshot();
    let whole = snapshot.base_table(SCHEMA, TABLE).is_some_and(|t| t.triggers.len() >= 2);
    if whole || core.globals.get(Live::SuperReadOnly).as_bool() {
        return Ok(());
    }
    let mut session: OwnSession = sessions.own_of(Arc::new(Account::unchecked()), gannet_core::registry::STARTS)?;
    session.execute("SET SESSION sql_log_bin = 0").map_err(|(_, e)| e)?;
    session.execute(MAKE).map_err(|(_, e)| e).map(drop)
}
