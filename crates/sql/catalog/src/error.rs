//! What can go wrong in the dictionary.

use gannet_base::DecodeError;
use gannet_engine::EngineError;
use gannet_types::SqlError;

/// Result of the catalog's calls.
pub type CatalogResult<T> = Result<T, CatalogError>;

/// An error of SQL's rules, or of the engine.
#[derive(Clone, Debug)]
pub enum CatalogError {
    /// As the client sees it.
    Sql(SqlError),
    /// Of the engine; the executor has the one place where these become SQL errors.
    Engine(EngineError),
    /// A dictionary row cannot be read.
    Damaged {
        /// Which.
        what: String,
        /// What is wrong.
        error: DecodeError,
    },
}

impl std::fmt::Display for CatalogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CatalogError::Sql(e) => write!(f, "{e}"),
            CatalogError::Engine(e) => write!(f, "{e}"),
            CatalogError::Damaged { what, error } => write!(f, "dictionary entry of {what}: {error}"),
        }
    }
}

impl std::error::Error for CatalogError {}

impl From<SqlError> for CatalogError {
    fn from(e: SqlError) -> Self {
        CatalogError::Sql(e)
    }
}

impl From<EngineError> for CatalogError {
    fn from(e: EngineError) -> Self {
        CatalogError::Engine(e)
    }
}
