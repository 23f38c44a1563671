//! What applies another server's log here, as statements see it. A service of its own does it, above sessions.

use gannet_parser::ast::{Ident, ReplicationValue};
use gannet_types::{Result, Value};
use std::sync::Arc;

/// Tables of performance_schema about the replica.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// `replication_connection_configuration`
    ConnectionConfiguration,
    /// `replication_connection_status`
    ConnectionStatus,
    /// `replication_applier_configuration`
    ApplierConfiguration,
    /// `replication_applier_status`
    ApplierStatus,
    /// `replication_applier_status_by_worker`
    Workers,
    /// `replication_applier_filters`
    Filters,
}

/// Names of columns, and values. Those of enumerations are texts, times are microseconds since 1970; what is left out
/// is empty, 0 or never.
pub type Row = Vec<(&'static str, Value)>;

/// The replica's side of replication.
pub trait Replicas: Send + Sync {
    /// CHANGE REPLICATION SOURCE TO. Errors 1235, 1776, 3021.
    fn change(&self, options: &[(Ident, ReplicationValue)]) -> Result<()>;
    /// CHANGE REPLICATION FILTER: names and values as they are written. Errors 1210, 1235, 3081.
    fn change_filter(&self, rules: &[(Ident, Vec<Box<str>>)]) -> Result<()>;
    /// START REPLICA, with what stands behind UNTIL. Errors 1200, 1235, 1277, and note 1254 where it runs.
    fn start(self: Arc<Self>, until: &[(Ident, ReplicationValue)]) -> Result<()>;
    /// STOP REPLICA; returns when nothing is applied any more.
    fn stop(&self) -> Result<()>;
    /// RESET REPLICA; `all`: the source is forgotten too. Error 3081 while it runs.
    fn reset(&self, all: bool) -> Result<()>;
    /// It runs.
    fn runs(&self) -> bool;
    /// It follows, and acknowledges what it has applied.
    fn acknowledges(&self) -> bool;
    /// SHOW REPLICA STATUS: names and values; `None` without a source.
    fn status(&self) -> Option<Row>;
    /// Rows of a table.
    fn rows(&self, of: Table) -> Vec<Row>;
}
