//! What everything that serves clients shares.

use crate::accounts::{Accounts, Privileges};
use crate::binlog::Binlog;
use crate::kept::StatementStats;
use crate::log::ErrorLog;
use crate::registry::Registry;
use crate::replication::Replicas;
use crate::reports::Reports;
use crate::startup::{bind_addresses, flush_policy};
use crate::statement_log::StatementLogs;
use crate::timers::Timers;
use crate::tls::ServerTls;
use crate::user_locks::UserLocks;
use crate::vars::persist::PersistedVars;
use crate::vars::{GlobalVars, Live, Then, VarId, VarSet, VarValue};
use crate::xa::Branches;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use gannet_base::sync::{Condvar, Mutex};
use gannet_catalog::Catalog;
use gannet_engine::Engine;
use gannet_exec::TempSpace;
use gannet_runtime::{WallTime, now_ns};
use gannet_telemetry::totals;
use gannet_types::charset::Charset;
use gannet_types::{Collation, CollationId, Result, SqlError, TimeZone, sql_err};
use gannet_wire::auth::RsaKey;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, Weak};

/// Facts about the server that never change.
pub struct Facts {
    /// `VERSION()`.
    pub version: String,
    /// The machine's time zone at the start.
    pub system_zone: TimeZone,
    pub(crate) started_ns: u64,
}

/// What `VERSION()` begins with: the MySQL version this server follows.
pub const MYSQL_VERSION: &str = "8.4.0";

/// What all sessions of a server share.
pub struct Core {
    /// The store.
    pub engine: Engine,
    /// The dictionary.
    pub catalog: Catalog,
    /// Global variables.
    pub globals: GlobalVars,
    /// Accounts.
    pub accounts: Accounts,
    /// Connections.
    pub registry: Registry,
    /// The recent past.
    pub seen: crate::seen::Seen,
    /// What SHOW ENGINE INNODB STATUS and summaries keep.
    pub reports: Reports,
    /// Prepared branches of distributed transactions.
    pub branches: Branches,
    /// Facts.
    pub facts: Facts,
    /// The error log.
    pub log: Arc<ErrorLog>,
    /// The binary log, where it is on.
    pub(crate) binlog: OnceLock<Arc<Binlog>>,
    /// The general and the slow query log.
    pub logs: StatementLogs,
    /// Memory and temporary files of all statements.
    pub temp: Arc<TempSpace>,
    /// What writing statements and definitions share, and FLUSH TABLES WITH READ LOCK has alone.
    pub write_gate: gannet_engine::lock::MdlObject,
    /// The same for commits.
    pub commit_gate: gannet_engine::lock::MdlObject,
    /// What definitions share, and LOCK INSTANCE FOR BACKUP has alone.
    pub backup_gate: gannet_engine::lock::MdlObject,
    /// What a statement that changes accounts has alone, from reading them until they are written; and one that changes
    /// another list that is read and written as a whole: servers, resource groups, components, what is collected.
    pub lists_lock: gannet_engine::lock::MdlObject,
    pub stats: StatementStats,
    pub user_locks: UserLocks,
    pub timers: Timers,
    /// Prepared statements of all sessions.
    pub prepared: AtomicU64,
    /// Seed of the shape hashes.
    pub scan_secret: u64,
    /// Variables of SET PERSIST.
    pub persisted: PersistedVars,
    /// The variables as the options gave them.
    pub started_with: VarSet,
    /// The variables as the server started with them.
    pub(crate) configured: VarSet,
    pub(crate) rsa: OnceLock<Option<RsaKey>>,
    pub tls: ServerTls,
    /// `read_only` or `super_read_only` is on.
    pub(crate) read_only: AtomicBool,
    pub(crate) beyond_loopback: bool,
    pub(crate) stopping: AtomicBool,
    pub(crate) stop: (Mutex<bool>, Condvar),
    /// Counters at FLUSH STATUS, and when.
    pub(crate) status_base: Mutex<(Vec<u64>, u64)>,
    /// What applies another server's log.
    pub(crate) replicas: OnceLock<Weak<dyn Replicas>>,
    /// Status of the services that stand on this.
    pub(crate) figures: Mutex<Vec<Figures>>,
    /// How INNODB_METRICS is switched.
    pub monitors: crate::monitors::Monitors,
}

/// Names and values of a service, for SHOW STATUS.
pub type Figures = Box<dyn Fn() -> Vec<(&'static str, u64)> + Send + Sync>;

impl Core {
    /// The key pair for passwords over open transports; made when the first client needs it.
    pub fn rsa_key(&self) -> Option<&RsaKey> {
        self.rsa.get_or_init(RsaKey::generate).as_ref()
    }

    /// What applies another server's log, where there is one.
    pub fn replicas(&self) -> Option<Arc<dyn Replicas>> {
        self.replicas.get().and_then(Weak::upgrade)
    }

    /// From now on statements reach it, as long as it is there.
    pub fn set_replicas(&self, replicas: Weak<dyn Replicas>) {
        let _former = self.replicas.set(replicas);
    }

    /// The binary log, where it is on.
    #[inline]
    pub fn binlog(&self) -> Option<&Arc<Binlog>> {
        self.binlog.get()
    }

    /// Collects what performance_schema and the console show, or nothing any more.
    pub(crate) fn collect(&self, on: bool) {
        self.registry.consumers.switch_all(on);
        self.seen.switch(on);
    }

    /// `character_set_server` with its collation.
    pub fn collation(&self) -> &'static Collation {
        let name = self.globals.get(Live::CollationServer);
        Collation::by_name(name.as_str()).unwrap_or_else(|_| CollationId::DEFAULT.get())
    }

    /// Id of the default collation, for the greeting.
    pub fn default_collation(&self) -> u16 {
        self.collation().id.0
    }

    pub fn shutting_down(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    /// Error 1290 when `read_only` or `super_read_only` keeps an account with these global privileges from writing.
    pub fn require_writable(&self, privileges: Privileges) -> Result<()> {
        if !self.is_read_only() {
            return Ok(());
        }
        if self.globals.get(Live::SuperReadOnly).as_bool() {
            return Err(sql_err!(OptionPreventsStatement, "--super-read-only"));
        }
        if privileges.may_administer_connections() {
            return Ok(());
        }
        Err(sql_err!(OptionPreventsStatement, "--read-only"))
    }

    pub fn listens_beyond_loopback(&self) -> bool {
        self.beyond_loopback
    }

    /// The addresses of `bind_address` and `port`; none with `skip_networking`. The error is a sentence.
    pub fn addresses(&self) -> std::result::Result<Vec<SocketAddr>, String> {
        let get = |id: Live| self.globals.get(id);
        let all = bind_addresses(get(Live::BindAddress).as_str(), get(Live::Port).as_u64() as u16)?;
        Ok(if get(Live::SkipNetworking).as_bool() { Vec::new() } else { all })
    }

    /// Makes [`Instance::wait`](crate::Instance::wait) return.
    pub fn request_stop(&self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
    }

    /// The value that options gave, or the built-in default.
    pub fn configured(&self, id: VarId) -> VarValue {
        self.configured[id.index()].clone()
    }

    /// When it was started.
    pub fn started(&self) -> WallTime {
        WallTime::of(self.facts.started_ns)
    }

    /// The same, as `now_ns` tells.
    pub fn started_ns(&self) -> u64 {
        self.facts.started_ns
    }

    pub fn uptime_s(&self) -> u64 {
        now_ns().saturating_sub(self.facts.started_ns) / 1_000_000_000
    }

    pub fn uptime_since_flush_s(&self) -> u64 {
        now_ns().saturating_sub(self.status_base.lock().1) / 1_000_000_000
    }

    pub fn status_base(&self) -> Vec<u64> {
        self.status_base.lock().0.clone()
    }

    /// FLUSH STATUS.
    pub fn flush_status(&self) {
        let now = totals().into_iter().map(|(_, n)| n).collect();
        *self.status_base.lock() = (now, now_ns());
        let connected =
            u64::try_from(gannet_telemetry::total(gannet_telemetry::Counter::ThreadsConnected) as i64).unwrap_or(0);
        gannet_telemetry::restart_max_connections(connected, gannet_runtime::WallTime::now().micros());
    }

    /// Bytes of temporary files.
    pub fn temp_disk_used(&self) -> u64 {
        self.temp.disk_used()
    }

    /// A service's own figures stand in SHOW STATUS from now on.
    pub fn add_figures(&self, figures: Figures) {
        self.figures.lock().push(figures);
    }

    /// The figures of all services.
    pub(crate) fn service_figures(&self) -> Vec<(&'static str, u64)> {
        self.figures.lock().iter().flat_map(|f| f()).collect()
    }

    pub(crate) fn limit_temp(&self) {
        let get = |id| self.globals.get(id).as_u64();
        self.temp.set_limits(get(Live::TemptableMaxRam), get(Live::TmpDiskLimit));
        gannet_engine::count_sorts(&self.engine, self.temp.clone());
    }

    /// Sets a global variable that has passed its checks, and does what follows from it.
    pub fn set_global(&self, id: VarId, value: VarValue) -> Result<()> {
        let then = id.def().then;
        match then {
            Then::MandatoryRoles => {
                let roles = crate::accounts::parse_role_list(value.as_str());
                let wrong = || sql_err!(WrongValueForVar, "mandatory_roles", value.as_str());
                self.accounts.set_mandatory(roles.ok_or_else(wrong)?);
            }
            Then::PartialRevokes => self.accounts.set_partial_revokes(value.as_bool())?,
            Then::Fixed if value != self.globals.get(id) => {
                return Err(SqlError::unsupported(format_args!("changing {}", id.def().name)));
            }
            Then::BufferPool => crate::pool::resize(self, &value)?,
            Then::RedoCapacity => crate::pool::resize_log(self, value.as_u64())?,
            Then::Monitors(to) => self.monitors.switch(self, (id.def().name, to), value.as_str())?,
            Then::ErrorServices => self.log.set_services(value.as_str())?,
            _ => {}
        }
        let former = self.globals.get(id);
        self.globals.set(id, value.clone());
        match then {
            Then::Nothing | Then::MandatoryRoles | Then::PartialRevokes | Then::Fixed | Then::BufferPool => {}
            Then::RedoCapacity | Then::ErrorServices | Then::Monitors(_) => {}
            Then::BinlogFile => self.binlog().map_or(Ok(()), |binlog| binlog.flush(&self.engine))?,
            Then::Binlog => {
                if let Some(binlog) = self.binlog() {
                    binlog.configure(&self.globals);
                }
            }
            Then::StatementLogs => {
                if let Err(e) = crate::log_tables::check(self).and_then(|()| self.logs.configure(&self.globals)) {
                    self.globals.set(id, former);
                    // The logs that were open before can be opened again; if not, the first error says so.
                    return self.logs.configure(&self.globals).and(Err(e));
                }
            }
            Then::Collecting => self.collect(value.as_bool()),
            Then::Users => self.registry.consumers.switch_users(value.as_bool()),
            Then::FlushPolicy => self.engine.set_flush_policy(flush_policy(&value)),
            Then::Checkpoint => self.engine.hold_checkpoint(value.as_bool()),
            Then::ScrubPace => self.engine.set_scrub_pace(value.as_u64()),
            Then::TempLimits => self.limit_temp(),
            Then::Verbosity => self.log.set_verbosity(value.as_u64()),
            Then::Events => self.registry.wake_events(),
            Then::ReadOnly => {
                // Turning the stronger one on turns both on, turning the weaker one off turns both off.
                if value.as_bool() {
                    self.globals.set(Live::ReadOnly, VarValue::bool(true));
                } else if id.is(Live::ReadOnly) {
                    self.globals.set(Live::SuperReadOnly, VarValue::bool(false));
                }
                self.read_only.store(self.globals.get(Live::ReadOnly).as_bool(), Ordering::Relaxed);
                self.registry.wake_events();
            }
            Then::Collation(collation) => {
                if let Ok(charset) = Charset::by_name(value.as_str()) {
                    self.globals.set(collation, VarValue::text(Collation::default_of(charset).name));
                }
            }
            Then::Charset(charset) => {
                if let Ok(collation) = Collation::by_name(value.as_str()) {
                    self.globals.set(charset, VarValue::text(collation.charset.name()));
                }
            }
        }
        Ok(())
    }
}
