//! What applies another server's log here, as statements see it. A service of its own does it, above sessions.

use gannet_parser::ast::{Ident, ReplicationValue};
use gannet_types::{Result, Value};
use std::sync::Arc;

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
    /// SHOW REPLICA STATUS: names and values; `None` without a source.
    fn status(&self) -> Option<Vec<(&'static str, Value)>>;
}
