//! What dynamic privileges are asked for, where a statement has no other place that asks: before anything else is
//! looked at, also of statements that are not there yet.

use super::Session;
use gannet_core::accounts::{Access, Name, Privilege, privilege_name};
use gannet_parser::ast::{self, CloneStatement, Replication, Statement, StorageObject, StorageVerb};
use gannet_types::{Result, SqlError, sql_err};

/// Variables whose global value needs a privilege beside the one for global variables.
const GLOBAL: &[(&str, Privilege)] = &[
    ("authentication_policy", Privilege::AuthenticationPolicyAdmin),
    ("binlog_encryption", Privilege::BinlogEncryptionAdmin),
];

/// Restricted session variables that those who apply a log may set, too.
const APPLIED: &[&str] = &[
    "default_collation_for_utf8mb4",
    "gtid_next",
    "immediate_server_version",
    "original_commit_timestamp",
    "original_server_version",
    "pseudo_replica_mode",
    "pseudo_thread_id",
];

/// Error 1227 without any of the privileges.
fn require_any(session: &Session, list: &[Privilege]) -> Result<()> {
    let have = session.state.privileges();
    if list.iter().any(|p| have.has(*p)) {
        return Ok(());
    }
    let words: Vec<String> = list.iter().map(|p| privilege_name(*p).to_ascii_uppercase()).collect();
    Err(sql_err!(SpecificAccessDenied, words.join(" or ")))
}

/// What kinds of statements need as a whole.
pub(crate) fn check_powers(session: &Session, statement: &Statement) -> Result<()> {
    use Privilege as P;
    let need: &[P] = match statement {
        Statement::LockInstance | Statement::UnlockInstance => &[P::BackupAdmin],
        Statement::Clone(clone) => match **clone {
            CloneStatement::Local(_) => &[P::BackupAdmin],
            CloneStatement::Instance { .. } => &[P::CloneAdmin],
        },
        Statement::Binlog(_) => &[P::Super, P::BinlogAdmin, P::ReplicationApplier],
        Statement::Restart => &[P::Shutdown],
        Statement::Replication(replication) => match &**replication {
            Replication::ChangeSource { .. } | Replication::ChangeFilter { .. } | Replication::Replica { .. } => {
                &[P::Super, P::ReplicationSlaveAdmin]
            }
            Replication::Group { .. } => &[P::Super, P::GroupReplicationAdmin],
            Replication::PurgeLogs { .. } => &[P::Super, P::BinlogAdmin],
        },
        Statement::Storage(s) => return require_any(session, of_storage(s)),
        Statement::TableMaintenance(m) if m.kind == ast::MaintenanceKind::Optimize && m.no_write_to_binlog => {
            &[P::OptimizeLocalTable]
        }
        Statement::Reset(targets) if targets.iter().any(|t| !matches!(t, ast::ResetTarget::Persist { .. })) => {
            &[P::Reload]
        }
        Statement::User(s) if s.users.iter().any(|u| u.auth.iter().any(|a| a.initial.is_some())) => {
            &[P::PasswordlessUserAdmin]
        }
        _ => return Ok(()),
    };
    require_any(session, need)
}

/// Error 1227 for a definer that the session may not name: another account than its own, one that may do more, or
/// one that does not exist, of which there is a note.
pub(crate) fn check_definer(session: &mut Session, definer: &Name) -> Result<()> {
    if session.state.account.is_unchecked() || session.state.account.is(definer) {
        return Ok(());
    }
    require_any(session, &[Privilege::Super, Privilege::SetAnyDefiner])?;
    let accounts = &session.server.accounts;
    match accounts.get(&definer.user, &definer.host) {
        Some(account) => {
            let access = Access::new(accounts, &account, &account.grants.default_roles);
            if access.global.has(Privilege::SystemUser) {
                session.state.privileges().require(Privilege::SystemUser)?;
            }
        }
        None => {
            require_any(session, &[Privilege::Super, Privilege::AllowNonexistentDefiner])?;
            session.note(&sql_err!(NoSuchUser, definer.user, definer.host));
        }
    }
    Ok(())
}

/// What an account with SYSTEM_USER has defined is changed and dropped by such accounts alone. Error 1227.
pub(crate) fn check_guarded(session: &Session, definer: &(Box<str>, Box<str>)) -> Result<()> {
    let definer = Name::new(&definer.0, &definer.1);
    if session.state.account.is_unchecked() || session.state.account.is(&definer) {
        return Ok(());
    }
    let accounts = &session.server.accounts;
    let Some(account) = accounts.get(&definer.user, &definer.host) else { return Ok(()) };
    let access = Access::new(accounts, &account, &account.grants.default_roles);
    match access.global.has(Privilege::SystemUser) {
        true => session.state.privileges().require(Privilege::SystemUser),
        false => Ok(()),
    }
}

/// [`check_definer`] of CREATE VIEW and ALTER VIEW. A view that is altered keeps its definer, unless the
/// statement names another. [`check_guarded`] of DROP VIEW. The view is locked.
pub(crate) fn check_view_definer(session: &mut Session, statement: &Statement) -> Result<()> {
    if let Statement::DropView { names, .. } = statement {
        let database = session.state.database.as_deref().unwrap_or_default();
        for name in names {
            let schema = name.schema.as_ref().map_or(database, |s| s);
            let table = session.state.snapshot.base_table(schema, &name.name);
            if let Some(view) = table.and_then(|t| t.view()) {
                check_guarded(session, &view.definer)?;
            }
        }
    }
    let Statement::CreateView(view) = statement else { return Ok(()) };
    let definer = match &view.definer {
        Some(account) => session.account_name(account),
        None if view.alter => {
            let database = session.state.database.as_deref().unwrap_or_default();
            let schema = view.name.schema.as_ref().map_or(database, |s| s);
            let old = session.state.snapshot.base_table(schema, &view.name.name).and_then(|t| t.view());
            let Some(old) = old else { return Ok(()) };
            Name::new(&old.definer.0, &old.definer.1)
        }
        None => return Ok(()),
    };
    check_definer(session, &definer)
}

/// Error 1227 for a global variable that needs a privilege of its own.
pub(crate) fn check_global_variable(session: &Session, name: &str) -> Result<()> {
    match GLOBAL.iter().find(|(n, _)| *n == name) {
        Some((_, privilege)) => session.state.privileges().require(*privilege),
        None => Ok(()),
    }
}

/// Session variables that need a privilege to set.
const RESTRICTED: &[&str] = &[
    "binlog_direct_non_transactional_updates",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_value_options",
    "binlog_rows_query_log_events",
    "binlog_transaction_compression",
    "binlog_transaction_compression_level_zstd",
    "bulk_insert_buffer_size",
    "character_set_database",
    "character_set_filesystem",
    "collation_database",
    "connection_memory_chunk_size",
    "connection_memory_limit",
    "default_collation_for_utf8mb4",
    "global_connection_memory_tracking",
    "gtid_next",
    "histogram_generation_max_mem_size",
    "immediate_server_version",
    "innodb_strict_mode",
    "internal_tmp_mem_storage_engine",
    "low_priority_updates",
    "max_delayed_threads",
    "max_error_count",
    "max_insert_delayed_threads",
    "min_examined_row_limit",
    "original_commit_timestamp",
    "original_server_version",
    "preload_buffer_size",
    "pseudo_replica_mode",
    "pseudo_thread_id",
    "rbr_exec_mode",
    "require_row_format",
    "select_into_buffer_size",
    "select_into_disk_sync_delay",
    "sql_generate_invisible_primary_key",
    "sql_log_bin",
    "sql_log_off",
    "sql_require_primary_key",
    "xa_detach_on_prepare",
];

/// Error 1227 for a session variable that not everybody may set.
pub(super) fn check_restricted(session: &Session, name: &str) -> Result<()> {
    if RESTRICTED.contains(&name) { check_restricted_variable(session, name) } else { Ok(()) }
}

/// Error 1227 for a restricted session variable.
fn check_restricted_variable(session: &Session, name: &str) -> Result<()> {
    let p = session.state.privileges();
    let applies = APPLIED.contains(&name);
    if p.may_set_restricted_variables() || applies && p.has(Privilege::ReplicationApplier) {
        return Ok(());
    }
    let words = match applies {
        true => "SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN or REPLICATION_APPLIER",
        false => "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN",
    };
    Err::<(), SqlError>(sql_err!(SpecificAccessDenied, words))
}

/// Sessions of accounts with SYSTEM_USER are ended by accounts with SYSTEM_USER alone.
pub(crate) fn may_end_session_of(session: &Session, user: &str) -> bool {
    let guarded = |a: &gannet_core::accounts::Account| a.user == user && a.grants.global.has(Privilege::SystemUser);
    session.state.privileges().has(Privilege::SystemUser)
        || !session.server.accounts.list().iter().any(|account| guarded(account))
}

/// Of tablespaces, servers, resource groups and the instance. Nothing: whoever does it asks.
fn of_storage(s: &ast::StorageStatement) -> &'static [Privilege] {
    use Privilege as P;
    match s.object {
        StorageObject::Tablespace | StorageObject::UndoTablespace | StorageObject::LogfileGroup => {
            &[P::CreateTablespace]
        }
        StorageObject::Server | StorageObject::SpatialReferenceSystem => &[P::Super],
        StorageObject::ResourceGroup if s.verb == StorageVerb::Set => &[P::ResourceGroupAdmin, P::ResourceGroupUser],
        StorageObject::ResourceGroup => &[P::ResourceGroupAdmin],
        StorageObject::Instance => {
            let words = s.rest.0.to_ascii_uppercase();
            let words: Vec<&str> = words.split_whitespace().collect();
            match words.as_slice() {
                ["ROTATE", "BINLOG", ..] => &[P::BinlogEncryptionAdmin],
                ["ROTATE", ..] | ["RELOAD", "KEYRING", ..] => &[P::EncryptionKeyAdmin],
                ["ENABLE" | "DISABLE", "INNODB", ..] => &[P::InnodbRedoLogEnable],
                _ => &[P::Usage],
            }
        }
        StorageObject::Sequence => &[P::Usage],
    }
}
