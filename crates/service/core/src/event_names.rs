//! Names of events: `statement/sql/select`. A kind of statement is called as its `Com_` counter is.

use crate::kinds;
use gannet_parser::LexMode;
use gannet_parser::ast::{MaintenanceKind, ShowKind, Statement, Xa};
use gannet_telemetry::Counter;

/// A statement that could not be read.
pub const ERROR: &str = "statement/sql/error";
/// A text whose statement is not known.
pub const QUERY: &str = "statement/abstract/Query";
/// COM_STMT_EXECUTE.
pub const EXECUTE: &str = "statement/com/Execute";

/// The counter is one of a kind of statement, and names it.
pub fn names(counter: Counter) -> bool {
    counter.name().starts_with("Com_") && !counter.name().starts_with("Com_stmt_")
}

/// The name of a kind of statement, by its counter.
pub fn of_counter(counter: Option<Counter>) -> String {
    let kind = counter.and_then(|c| c.name().strip_prefix("Com_"));
    kind.map_or(QUERY.into(), |name| format!("statement/sql/{name}"))
}

/// The counter that names a statement's kind.
pub fn counter_of(statement: &Statement) -> Option<Counter> {
    kinds::counter(statement).or_else(|| elsewhere(statement))
}

/// The name of a text's first statement. `whole`: the text is not cut.
pub fn of_text(text: &[u8], whole: bool, mode: LexMode) -> String {
    let counter = match gannet_parser::parse_one(text, mode) {
        Ok(parsed) => counter_of(&parsed.statement),
        Err(_) if whole => return ERROR.into(),
        Err(_) => first_word(text),
    };
    of_counter(counter)
}

/// Of a long statement: one that holds data.
fn first_word(text: &[u8]) -> Option<Counter> {
    let word = text.trim_ascii_start().split(|b| !b.is_ascii_alphabetic()).next()?.to_ascii_uppercase();
    Some(match &*word {
        b"SELECT" | b"WITH" => Counter::ComSelect,
        b"INSERT" => Counter::ComInsert,
        b"REPLACE" => Counter::ComReplace,
        b"UPDATE" => Counter::ComUpdate,
        b"DELETE" => Counter::ComDelete,
        b"SET" => Counter::ComSetOption,
        _ => return None,
    })
}

/// Counters of statements that are counted where they are run.
fn elsewhere(statement: &Statement) -> Option<Counter> {
    use Counter::*;
    Some(match statement {
        Statement::Begin(_) => ComBegin,
        Statement::Commit(_) => ComCommit,
        Statement::Rollback(_) => ComRollback,
        Statement::Savepoint(_) => ComSavepoint,
        Statement::RollbackTo(_) => ComRollbackToSavepoint,
        Statement::ReleaseSavepoint(_) => ComReleaseSavepoint,
        Statement::Xa(xa) => match xa {
            Xa::Start { .. } => ComXaStart,
            Xa::End { .. } => ComXaEnd,
            Xa::Prepare(_) => ComXaPrepare,
            Xa::Commit { .. } => ComXaCommit,
            Xa::Rollback(_) => ComXaRollback,
            Xa::Recover { .. } => ComXaRecover,
        },
        Statement::Set(_) | Statement::SetStatement { .. } => ComSetOption,
        Statement::Describe { .. } => ComShowFields,
        Statement::Show(show) => return shown(&show.kind),
        Statement::Kill { .. } => ComKill,
        Statement::Prepare { .. } => ComPrepareSql,
        Statement::Execute { .. } => ComExecuteSql,
        Statement::Deallocate(_) => ComDeallocSql,
        Statement::TableMaintenance(m) => match m.kind {
            MaintenanceKind::Analyze => ComAnalyze,
            MaintenanceKind::Check => ComCheck,
            MaintenanceKind::Checksum => ComChecksum,
            MaintenanceKind::Optimize => ComOptimize,
            MaintenanceKind::Repair => ComRepair,
        },
        Statement::KeyCache(k) if k.load => ComPreloadKeys,
        Statement::KeyCache(_) => ComAssignToKeycache,
        Statement::Flush(_) => ComFlush,
        Statement::Shutdown => ComShutdown,
        Statement::User(user) if user.alter => ComAlterUser,
        Statement::User(_) => ComCreateUser,
        Statement::DropUser { .. } => ComDropUser,
        Statement::RenameUser(_) => ComRenameUser,
        Statement::Grant(_) => ComGrant,
        Statement::Revoke(_) => ComRevoke,
        _ => return None,
    })
}

fn shown(kind: &ShowKind) -> Option<Counter> {
    use Counter::*;
    Some(match kind {
        ShowKind::Databases => ComShowDatabases,
        ShowKind::Tables { .. } => ComShowTables,
        ShowKind::TableStatus { .. } => ComShowTableStatus,
        ShowKind::Columns { .. } => ComShowFields,
        ShowKind::Index { .. } => ComShowKeys,
        ShowKind::CreateDatabase { .. } => ComShowCreateDb,
        ShowKind::CreateTable(_) => ComShowCreateTable,
        ShowKind::Variables(_) => ComShowVariables,
        ShowKind::Status(_) => ComShowStatus,
        ShowKind::ProcessList { .. } => ComShowProcesslist,
        ShowKind::Engines => ComShowStorageEngines,
        ShowKind::Engine { .. } => ComShowEngineStatus,
        ShowKind::CharacterSet => ComShowCharsets,
        ShowKind::Collation => ComShowCollations,
        ShowKind::Warnings(_) | ShowKind::CountWarnings => ComShowWarnings,
        ShowKind::Errors(_) | ShowKind::CountErrors => ComShowErrors,
        ShowKind::Grants { .. } => ComShowGrants,
        ShowKind::Privileges => ComShowPrivileges,
        _ => return None,
    })
}
