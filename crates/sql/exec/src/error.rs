//! The one place where errors of the engine and the catalog become SQL errors.

use gannet_catalog::CatalogError;
use gannet_engine::EngineError;
use gannet_types::{ErrorCode, SqlError, sql_err};

/// An engine error as the client sees it.
#[cold]
pub fn from_engine(error: EngineError) -> SqlError {
    match error {
        EngineError::Deadlock => sql_err!(LockDeadlock),
        EngineError::LockWaitTimeout => sql_err!(LockWaitTimeout),
        EngineError::NoWait => sql_err!(LockNowait),
        EngineError::Interrupted => sql_err!(QueryInterrupted),
        EngineError::HalfUndone => SqlError::with_message(
            ErrorCode::ErrorDuringRollback,
            "Changes of a statement that failed could not be undone; the transaction can only be rolled back",
        ),
        EngineError::ReadOnly => sql_err!(CantExecuteInReadOnlyTransaction),
        EngineError::DiskFull => {
            SqlError::with_message(ErrorCode::RecordFileFull, "The table is full: no space left on the device")
        }
        EngineError::KeyTooLong { .. } => sql_err!(TooLongKey, 3072),
        EngineError::RowTooLong { .. } => sql_err!(TooBigRowsize, u32::MAX),
        EngineError::TooManyTransactions => SqlError::with_message(ErrorCode::OutOfResources, error.to_string()),
        EngineError::Corrupt { .. } | EngineError::Damaged(_) => {
            SqlError::with_message(ErrorCode::NotKeyfile, error.to_string())
        }
        EngineError::LogPoisoned | EngineError::LogFull | EngineError::NotWrittenBack(_) => {
            SqlError::with_message(ErrorCode::ErrorOnWrite, error.to_string())
        }
        EngineError::TreeTooNew(_) => sql_err!(TableDefChanged),
        EngineError::ShutDown => sql_err!(ServerShutdown),
        other => SqlError::internal(other),
    }
}

/// A catalog error as the client sees it.
#[cold]
pub fn from_catalog(error: CatalogError) -> SqlError {
    match error {
        CatalogError::Sql(error) => error,
        CatalogError::Engine(error) => from_engine(error),
        damaged => SqlError::internal(damaged),
    }
}
