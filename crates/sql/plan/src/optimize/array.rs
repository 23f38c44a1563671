//! What conditions say of arrays that multi-valued indexes have.

use super::relset::RelSet;
use crate::expr::Expr;
use crate::logical::ColId;
use gannet_types::Value;

/// A condition that a multi-valued index serves.
pub(super) struct Members {
    /// Position of the index.
    pub(super) index: usize,
    /// Position of the condition.
    pub(super) condition: usize,
    /// The document whose elements are looked for.
    pub(super) document: Expr,
    /// Its elements as the index has them, as far as the statement tells. `None`: not known.
    pub(super) seen: Option<Vec<Value>>,
    /// All of them are wanted.
    pub(super) all: bool,
    /// MEMBER OF.
    pub(super) single: bool,
    /// Elements are compared as documents, not as the index has them.
    pub(super) exact: bool,
    /// Relations that must be read before.
    pub(super) needs: RelSet,
    /// The column that the value is, for EXPLAIN.
    pub(super) source: Option<ColId>,
}
