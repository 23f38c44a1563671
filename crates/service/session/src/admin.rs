//! Administration: KILL, FLUSH, SHUTDOWN.

use super::reply::Done;
use super::{Session, counting, locks, logs};
use gannet_core::accounts::{Privilege, Privileges};
use gannet_parser::ast::{self, FlushTarget};
use gannet_telemetry::{Counter, count};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};

impl Session {
    /// KILL.
    pub fn kill(&mut self, id: u64, query_only: bool) -> Result<()> {
        count(Counter::ComKill);
        let entry = self.server.registry.get(id).ok_or_else(|| sql_err!(NoSuchThread, id))?;
        let user = self.state.user.rsplit_once('@').map_or("", |(u, _)| u);
        let whose = entry.who().user;
        if whose != user
            && !(self.state.privileges().may_administer_connections()
                && super::powers::may_end_session_of(self, &whose))
        {
            return Err(sql_err!(KillDenied, id));
        }
        self.server.registry.kill(id, query_only);
        if id == self.entry.id {
            // Killing oneself: MySQL answers with 1317.
            return Err(sql_err!(QueryInterrupted));
        }
        Ok(())
    }

    /// SHUTDOWN, COM_SHUTDOWN.
    pub fn shutdown_server(&mut self) -> Result<Done> {
        count(Counter::ComShutdown);
        self.state.privileges().require(Privilege::Shutdown)?;
        self.server.log.system(format_args!("{} asks the server to shut down", self.state.user));
        self.server.request_stop();
        Ok(Done::default())
    }

    /// FLUSH.
    pub fn flush(&mut self, targets: &[FlushTarget]) -> Result<Done> {
        count(Counter::ComFlush);
        if !may_flush(self.state.privileges(), targets) {
            return Err(sql_err!(SpecificAccessDenied, "RELOAD"));
        }
        self.commit_implicitly()?;
        for target in targets {
            match target {
                // Nothing is cached that could be stale, and no file is kept open for these.
                FlushTarget::OptimizerCosts | FlushTarget::EngineLogs => {}
                FlushTarget::ErrorLogs => self.server.log.reopen()?,
                FlushTarget::GeneralLogs | FlushTarget::SlowLogs | FlushTarget::Logs => {
                    let all = *target == FlushTarget::Logs;
                    let (general, slow) = (FlushTarget::GeneralLogs, FlushTarget::SlowLogs);
                    self.server.logs.reopen(all || *target == general, all || *target == slow)?;
                    if all {
                        self.server.log.reopen()?;
                        logs::flush_binary_logs(self)?;
                        if let Some(replicas) = self.server.replicas() {
                            replicas.flush_relay_logs(None)?;
                        }
                    }
                }
                FlushTarget::Privileges => {
                    self.server.accounts.limits.forgive_all();
                    self.server.accounts.take_up();
                }
                FlushTarget::Hosts => self.server.accounts.limits.forget_hosts(),
                FlushTarget::UserResources => self.server.accounts.limits.forget_usage(),
                FlushTarget::Status => {
                    self.server.flush_status();
                    self.entry.counters.reset();
                    counting::counters_reset(self);
                }
                FlushTarget::Tables { names, with_read_lock: false, for_export: false } => {
                    locks::check_flushed(self, names)?;
                    count(Counter::FlushCommands);
                }
                FlushTarget::Tables { names, for_export: false, .. } if names.is_empty() => {
                    count(Counter::FlushCommands);
                    locks::lock_everything(self)?;
                }
                FlushTarget::Tables { names, for_export, .. } => {
                    locks::refuse_under_locks(self)?;
                    if *for_export {
                        // The tables are locked as for an export, and have no files that could be copied.
                        let what = "files of single tables (FLUSH TABLES ... FOR EXPORT only locks the tables)";
                        self.running.diagnostics.warnings.warn(ErrorCode::NotSupportedYet, &[&what]);
                    }
                    let lock = |n: &ast::ObjectName| ast::TableLock {
                        table: n.clone(),
                        alias: None,
                        kind: ast::TableLockKind::Read,
                    };
                    locks::lock_tables_explicitly(self, &names.iter().map(lock).collect::<Vec<_>>())?;
                }
                FlushTarget::BinaryLogs => logs::flush_binary_logs(self)?,
                FlushTarget::RelayLogs(channel) => super::replicas::flush_relay_logs(self, channel.as_deref())?,
                FlushTarget::Other(words) => {
                    let words: Vec<&str> = words.iter().map(|w| &*w.text).collect();
                    let flushed = matches!(*words, [what] if super::virt::flush_statistics(&self.state, what));
                    if !flushed {
                        return Err(SqlError::unsupported(format_args!("FLUSH {}", words.join(" "))));
                    }
                }
            }
        }
        Ok(Done::default())
    }
}

/// ALTER INSTANCE: RELOAD TLS, of the one channel there is.
pub(crate) fn alter_instance(session: &mut Session, s: &ast::StorageStatement) -> Result<Done> {
    let words = s.rest.0.to_ascii_uppercase();
    let words: Vec<&str> = words.split_whitespace().collect();
    let (words, keep) = match words.as_slice() {
        [words @ .., "NO", "ROLLBACK", "ON", "ERROR"] => (words, false),
        words => (words, true),
    };
    match words {
        ["RELOAD", "TLS"] | ["RELOAD", "TLS", "FOR", "CHANNEL", "MYSQL_MAIN"] => {}
        _ => return Err(SqlError::unsupported(format_args!("ALTER INSTANCE {}", words.join(" ")))),
    }
    if !session.state.privileges().may_administer_connections() {
        return Err(sql_err!(SpecificAccessDenied, "CONNECTION_ADMIN"));
    }
    session.commit_implicitly()?;
    let server = session.server.clone();
    gannet_runtime::run_blocking(|| server.tls.reload(&server, keep))?;
    Ok(Done::default())
}

/// What the bits of COM_REFRESH ask for, as FLUSH: `mysqladmin reload`, `flush-logs`, `refresh` and others. Bit 5,
/// the cache of threads, has no meaning here; 6 and 7 are about replication.
pub fn refreshed(bits: u8) -> Vec<FlushTarget> {
    let each = [
        FlushTarget::Privileges,
        FlushTarget::Logs,
        FlushTarget::Tables { names: Vec::new(), with_read_lock: false, for_export: false },
        FlushTarget::Hosts,
        FlushTarget::Status,
    ];
    let mut targets: Vec<_> =
        each.into_iter().enumerate().filter(|(bit, _)| bits & 1 << bit != 0).map(|t| t.1).collect();
    if bits & 0xc0 != 0 {
        targets.push(FlushTarget::BinaryLogs);
    }
    targets
}

/// RELOAD, or the dynamic privilege of what is flushed.
fn may_flush(p: Privileges, targets: &[FlushTarget]) -> bool {
    let own = |t: &FlushTarget| match t {
        FlushTarget::OptimizerCosts => p.has(Privilege::FlushOptimizerCosts),
        FlushTarget::Status => p.has(Privilege::FlushStatus),
        FlushTarget::UserResources => p.has(Privilege::FlushUserResources),
        FlushTarget::Privileges => p.has(Privilege::FlushPrivileges),
        FlushTarget::Tables { .. } => p.has(Privilege::FlushTables),
        _ => false,
    };
    p.has(Privilege::Reload) || targets.iter().all(own)
}
