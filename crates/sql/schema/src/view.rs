//! Views.

use gannet_types::CollationId;

/// What a view is besides its name and columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// The query as MySQL prints it, every name with its schema and table: it means the same in any session.
    pub query: Box<str>,
    /// ALGORITHM
    pub algorithm: ViewAlgorithm,
    /// User and host of DEFINER.
    pub definer: (Box<str>, Box<str>),
    /// SQL SECURITY INVOKER
    pub invoker: bool,
    /// WITH CHECK OPTION
    pub check: Option<CheckOption>,
    /// Names of its columns were written.
    pub named: bool,
    /// UPDATE, DELETE and perhaps INSERT reach a table through it.
    pub updatable: bool,
    /// collation_connection when it was created: of its string literals.
    pub collation: CollationId,
}

/// ALGORITHM of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewAlgorithm {
    /// The server's choice.
    Undefined,
    /// Merged into the statement that names it, where that is possible.
    Merge,
    /// Always a query of its own.
    Temptable,
}

/// WITH CHECK OPTION of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckOption {
    /// Its own condition, and those of views below that have an option themselves.
    Local,
    /// The conditions of all views below.
    Cascaded,
}
