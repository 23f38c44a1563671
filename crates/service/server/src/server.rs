//! The server: what all sessions share, starting and stopping.

use crate::accounts::Accounts;
use crate::kept::StatementStats;
use crate::log::ErrorLog;
use crate::options::ServerOptions;
use crate::registry::Registry;
use crate::session::cached::Cached;
use crate::session::service::Connections;
use crate::statement_log::StatementLogs;
use crate::timers::Timers;
use crate::user_locks::UserLocks;
use crate::vars::persist::PersistedVars;
use crate::vars::{self, GlobalVars, Live, VarId, VarSet, VarValue};
use crate::virt;
use gannet_base::sync::{Condvar, Mutex};
use gannet_catalog::Catalog;
use gannet_engine::{Engine, EngineError, EngineOptions, FlushPolicy};
use gannet_exec::TempSpace;
use gannet_plan::PlanCache;
use gannet_runtime::fs::{Readers, write_plain};
use gannet_runtime::{Addr, Listener, ListenerOptions, ThreadHandling, WorkerOptions, Workers, now_ns};
use gannet_telemetry::totals;
use gannet_types::charset::Charset;
use gannet_types::{Collation, CollationId, Result, TimeZone};
use gannet_wire::auth::RsaKey;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Facts about the server that never change.
pub struct Facts {
    /// `VERSION()`.
    pub version: String,
    /// The machine's time zone at the start.
    pub system_zone: TimeZone,
    started_ns: u64,
}

/// What `VERSION()` begins with: the MySQL version this server follows.
pub const MYSQL_VERSION: &str = "8.4.0";

/// What all sessions of a server share.
pub struct Shared {
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
    /// What SHOW ENGINE INNODB STATUS keeps.
    pub(crate) reports: crate::reports::Reports,
    /// Prepared branches of distributed transactions.
    pub branches: crate::xa::Branches,
    /// Facts.
    pub facts: Facts,
    /// The error log.
    pub log: Arc<ErrorLog>,
    /// The general and the slow query log.
    pub(crate) logs: StatementLogs,
    pub(crate) plans: PlanCache<Cached>,
    /// Memory and temporary files of all statements.
    pub(crate) temp: Arc<TempSpace>,
    /// What writing statements and definitions share, and FLUSH TABLES WITH READ LOCK has alone.
    pub(crate) write_gate: gannet_engine::lock::MdlObject,
    /// The same for commits.
    pub(crate) commit_gate: gannet_engine::lock::MdlObject,
    pub(crate) stats: StatementStats,
    pub(crate) user_locks: UserLocks,
    pub(crate) timers: Timers,
    /// Prepared statements of all sessions.
    pub(crate) prepared: AtomicU64,
    /// Seed of the shape hashes.
    pub(crate) scan_secret: u64,
    /// Variables of SET PERSIST.
    pub persisted: PersistedVars,
    /// The variables as the options gave them.
    pub(crate) started_with: VarSet,
    /// The variables as the server started with them.
    configured: VarSet,
    rsa: OnceLock<Option<RsaKey>>,
    pub(crate) tls: crate::tls::ServerTls,
    /// `read_only` or `super_read_only` is on.
    read_only: AtomicBool,
    beyond_loopback: bool,
    stopping: AtomicBool,
    stop: (Mutex<bool>, Condvar),
    /// Counters at FLUSH STATUS, and when.
    status_base: Mutex<(Vec<u64>, u64)>,
}

impl Shared {
    /// The key pair for passwords over open transports; made when the first client needs it.
    pub(crate) fn rsa_key(&self) -> Option<&RsaKey> {
        self.rsa.get_or_init(RsaKey::generate).as_ref()
    }

    /// `character_set_server` with its collation.
    pub(crate) fn collation(&self) -> &'static Collation {
        let name = self.globals.get(Live::CollationServer);
        Collation::by_name(name.as_str()).unwrap_or_else(|_| CollationId::DEFAULT.get())
    }

    /// Id of the default collation, for the greeting.
    pub(crate) fn default_collation(&self) -> u16 {
        self.collation().id.0
    }

    pub(crate) fn shutting_down(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    pub(crate) fn listens_beyond_loopback(&self) -> bool {
        self.beyond_loopback
    }

    /// Makes [`Server::wait`] return.
    pub fn request_stop(&self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
    }

    /// The value that options gave, or the built-in default.
    pub(crate) fn configured(&self, id: VarId) -> VarValue {
        self.configured[id.index()].clone()
    }

    pub(crate) fn uptime_s(&self) -> u64 {
        now_ns().saturating_sub(self.facts.started_ns) / 1_000_000_000
    }

    pub(crate) fn uptime_since_flush_s(&self) -> u64 {
        now_ns().saturating_sub(self.status_base.lock().1) / 1_000_000_000
    }

    pub(crate) fn status_base(&self) -> Vec<u64> {
        self.status_base.lock().0.clone()
    }

    /// FLUSH STATUS.
    pub(crate) fn flush_status(&self) {
        let now = totals().into_iter().map(|(_, n)| n).collect();
        *self.status_base.lock() = (now, now_ns());
    }

    /// Bytes of temporary files.
    pub fn temp_disk_used(&self) -> u64 {
        self.temp.disk_used()
    }

    fn limit_temp(&self) {
        let get = |id| self.globals.get(id).as_u64();
        self.temp.set_limits(get(Live::TemptableMaxRam), get(Live::TmpDiskLimit));
    }

    /// Sets a global variable that has passed its checks, and does what follows from it.
    pub(crate) fn set_global(&self, id: VarId, value: VarValue) -> Result<()> {
        if id.is(Live::MandatoryRoles) {
            let roles = crate::accounts::parse_role_list(value.as_str());
            let wrong = || gannet_types::sql_err!(WrongValueForVar, "mandatory_roles", value.as_str());
            self.accounts.set_mandatory(roles.ok_or_else(wrong)?);
        }
        if id.is(Live::PartialRevokes) {
            self.accounts.set_partial_revokes(value.as_bool())?;
        }
        let former = self.globals.get(id);
        self.globals.set(id, value.clone());
        if StatementLogs::concerns(id)
            && let Err(e) = self.logs.configure(&self.globals)
        {
            self.globals.set(id, former);
            let _ = self.logs.configure(&self.globals);
            return Err(e);
        }
        let is = |live: Live| id.is(live);
        if is(Live::InnodbFlushLogAtTrxCommit) {
            self.engine.set_flush_policy(flush_policy(&value));
        }
        if is(Live::InnodbCheckpointDisabled) {
            self.engine.hold_checkpoint(value.as_bool());
        }
        if is(Live::ScrubPages) {
            self.engine.set_scrub_pace(value.as_u64());
        }
        if is(Live::TemptableMaxRam) || is(Live::TmpDiskLimit) {
            self.limit_temp();
        }
        if is(Live::LogErrorVerbosity) {
            self.log.set_verbosity(value.as_u64());
        }
        if is(Live::SuperReadOnly) && value.as_bool() {
            self.globals.set(Live::ReadOnly, VarValue::bool(true));
        }
        if is(Live::ReadOnly) && !value.as_bool() {
            self.globals.set(Live::SuperReadOnly, VarValue::bool(false));
        }
        if is(Live::ReadOnly) || is(Live::SuperReadOnly) {
            self.read_only.store(self.globals.get(Live::ReadOnly).as_bool(), Ordering::Relaxed);
        }
        let pairs = [
            (Live::CharacterSetServer, Live::CollationServer),
            (Live::CharacterSetConnection, Live::CollationConnection),
        ];
        for (charset, collation) in pairs {
            if is(charset)
                && let Ok(cs) = Charset::by_name(value.as_str())
            {
                self.globals.set(collation, VarValue::text(Collation::default_of(cs).name));
            }
            if is(collation)
                && let Ok(c) = Collation::by_name(value.as_str())
            {
                self.globals.set(charset, VarValue::text(c.charset.name()));
            }
        }
        Ok(())
    }
}

/// Descriptors that are not connections: files, rings, listeners.
const OWN_DESCRIPTORS: u64 = 128;

/// As many descriptors as the system allows; fewer than `max_connections` wants lower it, as in MySQL.
fn fit_descriptors(vars: &mut [VarValue], log: &ErrorLog) {
    let Ok(limit) = gannet_runtime::raise_descriptor_limit() else { return };
    vars[Live::OpenFilesLimit as usize] = VarValue::UInt(limit);
    let wanted = vars[Live::MaxConnections as usize].as_u64();
    let possible = limit.saturating_sub(OWN_DESCRIPTORS).max(1);
    if wanted > possible {
        log.warning(format!(
            "Changed limits: max_connections: {possible} (requested {wanted}): the system allows {limit} open files"
        ));
        vars[Live::MaxConnections as usize] = VarValue::UInt(possible);
    }
}

/// Threads kept beyond `max_connections` for clients that are told so.
const SPARE_THREADS: usize = 64;

/// A thread for each connection: there are only so many slots for threads. More `max_connections` would have clients
/// closed without a word.
fn fit_threads(vars: &mut [VarValue], log: &ErrorLog) {
    if vars[Live::ThreadHandling as usize].as_str() != "one-thread-per-connection" {
        return;
    }
    let wanted = vars[Live::MaxConnections as usize].as_u64();
    let possible = ListenerOptions::default().max_threads.saturating_sub(SPARE_THREADS).max(1) as u64;
    if wanted > possible {
        log.warning(format!(
            "Changed limits: max_connections: {possible} (requested {wanted}): thread_handling is one-thread-per-connection"
        ));
        vars[Live::MaxConnections as usize] = VarValue::UInt(possible);
    }
}

fn flush_policy(value: &VarValue) -> FlushPolicy {
    match value.as_u64() {
        0 => FlushPolicy::EverySecond,
        2 => FlushPolicy::WriteAtCommit,
        _ => FlushPolicy::AtCommit,
    }
}

/// A running server.
pub struct Server {
    /// Keeps statistics fresh.
    statistics: Mutex<Option<gannet_runtime::JoinHandle<()>>>,
    shared: Arc<Shared>,
    listeners: Mutex<Vec<Listener>>,
    workers: Option<Arc<Workers>>,
    socket: Option<PathBuf>,
    tcp: Option<SocketAddr>,
    pid_file: Option<PathBuf>,
    stopped: AtomicBool,
}

/// How long running statements have to end when the server stops.
const PATIENCE: Duration = Duration::from_secs(10);

impl Server {
    /// Opens the store and starts to listen. The error is a sentence for the person who started it.
    pub fn start(options: ServerOptions) -> std::result::Result<Server, String> {
        gannet_runtime::remember_panics();
        let datadir = prepare_datadir(&options)?;
        let persisted = PersistedVars::load(&datadir, &options)?;
        let note = persisted.note();
        // A persisted value that keeps the server from starting is not seen on the command line.
        Self::start_with(options, datadir, persisted).map_err(|e| format!("{e}{note}"))
    }

    fn start_with(
        mut options: ServerOptions,
        datadir: PathBuf,
        persisted: PersistedVars,
    ) -> std::result::Result<Server, String> {
        let started_with = options.vars.clone();
        persisted.apply(&mut options.vars);
        let log = Arc::new(open_log(&options, &datadir)?);
        let mut it = Self::open(options, datadir, log, (persisted, started_with))?;
        let get = |id: Live| it.shared.globals.get(id);
        let bind = bind_addresses(get(Live::BindAddress).as_str(), get(Live::Port).as_u64() as u16)?;
        let networking = !get(Live::SkipNetworking).as_bool();
        let (socket, backlog) = (PathBuf::from(get(Live::Socket).as_str()), get(Live::BackLog).as_u64());
        it.workers = match get(Live::ThreadHandling).as_str() {
            "one-thread-per-connection" => None,
            _ => {
                let count = get(Live::Workers).as_u64() as usize;
                let options = WorkerOptions { count, ..WorkerOptions::default() };
                Some(Arc::new(Workers::start(options).map_err(|e| format!("cannot start the workers: {e}"))?))
            }
        };
        it.listen(&bind, networking, &socket, backlog)?;
        it.write_pid()?;
        Ok(it)
    }

    /// A server inside a simulation, on the simulated disk: it has no sockets, clients come by [`Server::connect_simulated`]. Files beside the
    /// store (log, persisted variables, certificates) are not simulated, and not used.
    #[doc(hidden)]
    pub fn start_simulated(mut options: ServerOptions) -> std::result::Result<Server, String> {
        let mut set = |id: Live, value: VarValue| options.vars[id as usize] = value;
        set(Live::TlsVersion, VarValue::text(""));
        crate::session::cached::forget_thread();
        set(Live::SkipNetworking, VarValue::bool(true));
        let datadir = options.datadir();
        let persisted = PersistedVars::load(&datadir, &options)?;
        let started_with = options.vars.clone();
        persisted.apply(&mut options.vars);
        Self::open(options, datadir, Arc::new(ErrorLog::to_stderr()), (persisted, started_with))
    }

    /// A client of a server inside a simulation.
    #[doc(hidden)]
    pub fn connect_simulated(&self) -> gannet_runtime::sim::SimClient {
        let shared = self.shared.clone();
        gannet_runtime::sim::connect(|peer, context| {
            Box::new(crate::session::service::Connection::new(shared, peer, context))
        })
    }

    /// Opens the store and what belongs to it. The persisted variables are applied already; with them come the values without them.
    fn open(
        options: ServerOptions,
        datadir: PathBuf,
        log: Arc<ErrorLog>,
        (persisted, started_with): (PersistedVars, VarSet),
    ) -> std::result::Result<Server, String> {
        for w in options.warnings.iter().chain(&persisted.warnings) {
            log.warning(w);
        }
        let mut vars = options.vars;
        if options.skip_grant_tables {
            // As in MySQL: nobody comes from elsewhere.
            vars[Live::SkipNetworking as usize] = VarValue::bool(true);
        }
        settle_defaults(&mut vars, &datadir);
        fit_descriptors(&mut vars, &log);
        fit_threads(&mut vars, &log);
        let get = |id: Live| &vars[id as usize];
        log.set_verbosity(get(Live::LogErrorVerbosity).as_u64());

        let bind = bind_addresses(get(Live::BindAddress).as_str(), get(Live::Port).as_u64() as u16)?;
        let networking = !get(Live::SkipNetworking).as_bool();
        let beyond_loopback = networking && bind.iter().any(|a| !a.ip().is_loopback());

        let engine = Engine::open(EngineOptions {
            buffer_pool_bytes: get(Live::InnodbBufferPoolSize).as_u64(),
            redo_capacity_bytes: get(Live::InnodbRedoLogCapacity).as_u64(),
            flush_policy: flush_policy(get(Live::InnodbFlushLogAtTrxCommit)),
            scrub_pages_per_second: get(Live::ScrubPages).as_u64(),
            events: ErrorLog::events(&log),
            ..EngineOptions::new(&datadir)
        })
        .map_err(|e| open_error(&datadir, &e))?;
        engine.hold_checkpoint(get(Live::InnodbCheckpointDisabled).as_bool());
        let catalog = Catalog::open(engine.clone()).map_err(|e| format!("the dictionary cannot be read: {e}"))?;
        virt::publish(&catalog);
        let accounts = Accounts::load(&catalog).map_err(|e| format!("the accounts cannot be read: {e}"))?;
        if options.skip_grant_tables {
            accounts.skip();
            log.warning("--skip-grant-tables: whoever connects may do everything, until FLUSH PRIVILEGES");
        } else if accounts.is_empty() {
            log.warning(
                "there are no accounts: nobody can log in. Start with --skip-grant-tables, connect over the socket, run \
                 FLUSH PRIVILEGES and CREATE USER",
            );
        }
        let mandatory = vars[Live::MandatoryRoles as usize].as_str();
        let roles = crate::accounts::parse_role_list(mandatory);
        accounts.set_mandatory(roles.ok_or_else(|| format!("--mandatory-roles={mandatory}: not a list of roles"))?);
        let partial_revokes = get(Live::PartialRevokes).as_bool() || accounts.any_restricted();
        if partial_revokes != get(Live::PartialRevokes).as_bool() {
            log.warning("partial_revokes is turned on: there are partial revokes");
        }
        let _ = accounts.set_partial_revokes(partial_revokes);
        if beyond_loopback && let Some(open) = accounts.open_account() {
            let _ = engine.shutdown();
            return Err(format!(
                "refusing to listen on {}: the account {open} has no password.\n\
                 Start without --bind-address, run  ALTER USER {open} IDENTIFIED BY '...';  and start again.",
                get(Live::BindAddress).as_str()
            ));
        }

        let tmpdir = Path::new(vars[Live::Tmpdir as usize].as_str()).join("#tmp");
        let temp = TempSpace::open(tmpdir.clone());
        let temp = Arc::new(temp.map_err(|e| format!("cannot use {} for temporary files: {e}", tmpdir.display()))?);
        let hostname = vars[Live::Hostname as usize].as_str().to_string();
        let tls = crate::tls::ServerTls::open(&mut vars, &datadir, &log, &hostname)?;
        let version = format!("{MYSQL_VERSION}-gannet");
        vars[Live::Version as usize] = VarValue::text(&version);
        vars[Live::PartialRevokes as usize] = VarValue::bool(partial_revokes);
        vars[Live::InnodbVersion as usize] = VarValue::text(MYSQL_VERSION);
        let plan_bytes = vars[Live::PlanCacheSize as usize].as_u64() as usize;
        let digests = vars[Live::PerformanceSchemaDigestsSize as usize].as_u64() as usize;
        let pid_file = Some(vars[Live::PidFile as usize].as_str()).filter(|p| !p.is_empty()).map(PathBuf::from);
        let read_only = vars[Live::ReadOnly as usize].as_bool() || vars[Live::SuperReadOnly as usize].as_bool();
        let facts = Facts { version, system_zone: TimeZone::system(), started_ns: now_ns() };
        let logs = StatementLogs::new(&datadir, crate::statement_log::header(&vars));
        // Numbers beyond those of tables and of hashed names.
        let write_gate = engine.lock_table().mdl_object(1 << 62, "global");
        let commit_gate = engine.lock_table().mdl_object(1 << 62 | 1, "commit");
        let shared = Arc::new(Shared {
            engine,
            catalog,
            persisted,
            started_with,
            configured: vars.clone(),
            globals: GlobalVars::new(vars),
            accounts,
            registry: Registry::default(),
            reports: Default::default(),
            branches: crate::xa::Branches::default(),
            facts,
            log,
            logs,
            plans: PlanCache::new(plan_bytes),
            temp,
            write_gate,
            commit_gate,
            stats: StatementStats::new(digests, 1024),
            user_locks: UserLocks::default(),
            timers: Timers::default(),
            prepared: AtomicU64::new(0),
            scan_secret: gannet_runtime::random_u64(),
            rsa: OnceLock::new(),
            tls,
            read_only: AtomicBool::new(read_only),
            beyond_loopback,
            stopping: AtomicBool::new(false),
            stop: (Mutex::new(false), Condvar::new()),
            status_base: Mutex::new((Vec::new(), now_ns())),
        });

        let weak = Arc::downgrade(&shared);
        shared.engine.lock_table().describe_sessions(move |thread| {
            let entry = weak.upgrade().and_then(|shared| shared.registry.get(thread));
            entry.map_or(Vec::new(), |entry| crate::reports::session(&entry))
        });
        shared.limit_temp();
        crate::statement_log::start(&shared.logs, &shared.globals, &shared.log);
        let taken_up = shared.branches.recover(&shared);
        taken_up.map_err(|e| format!("the prepared XA branches cannot be read: {e}"))?;
        let statistics = {
            let shared = shared.clone();
            gannet_runtime::spawn("statistics", move || crate::statistics::run(&shared))
        };
        Ok(Server {
            shared,
            statistics: Mutex::new(Some(statistics)),
            listeners: Mutex::new(Vec::new()),
            workers: None,
            socket: None,
            tcp: None,
            pid_file,
            stopped: AtomicBool::new(false),
        })
    }

    fn listen(
        &mut self,
        bind: &[SocketAddr],
        networking: bool,
        socket: &Path,
        backlog: u64,
    ) -> std::result::Result<(), String> {
        let options = ListenerOptions {
            handling: match &self.workers {
                Some(w) => ThreadHandling::Workers(w.clone()),
                None => ThreadHandling::OneThreadPerConnection,
            },
            backlog: backlog as i32,
            ..ListenerOptions::default()
        };
        let factory = Arc::new(Connections(self.shared.clone()));
        let open = |addr: Addr, shown: String| {
            let l = Listener::start(&addr, options.clone(), factory.clone())
                .map_err(|e| format!("cannot listen on {shown}: {e}"))?;
            let at = l.addr().clone();
            self.listeners.lock().push(l);
            Ok::<Addr, String>(at)
        };
        if networking {
            for addr in bind {
                if let Addr::Tcp(at) = open(Addr::Tcp(*addr), addr.to_string())? {
                    self.tcp.get_or_insert(at);
                }
            }
        }
        open(Addr::Unix(socket.into()), socket.display().to_string())?;
        self.socket = Some(socket.into());
        if let Some(at) = self.tcp {
            self.shared.globals.set(Live::Port, VarValue::uint(at.port().into()));
        }
        Ok(())
    }

    fn write_pid(&self) -> std::result::Result<(), String> {
        let Some(path) = &self.pid_file else { return Ok(()) };
        write_plain(path, Readers::Group, format!("{}\n", std::process::id()).as_bytes())
            .map_err(|e| format!("cannot write the pid file {}: {e}", path.display()))
    }

    /// What the sessions share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The TCP address, unless networking is off.
    pub fn tcp(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// The UNIX socket.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Lines for the person who started the server: how to connect, where the data is, how to stop.
    pub fn banner(&self) -> String {
        let s = &self.shared;
        let datadir = s.globals.get(Live::Datadir);
        let pool = s.globals.get(Live::InnodbBufferPoolSize).as_u64() >> 20;
        let mut out = format!("Gannet {} is ready.\n", s.facts.version);
        // Clients look for the socket of their distribution's server when they are told nothing.
        let mut ways = Vec::new();
        if let Some(at) = self.tcp {
            let port = if at.port() == 3306 { String::new() } else { format!(" -P{}", at.port()) };
            ways.push(format!("-h{}{port} -uroot", shown_ip(at.ip())));
        }
        if let Some(path) = &self.socket {
            ways.push(format!("-S {} -uroot", path.display()));
        }
        for (n, way) in ways.iter().enumerate() {
            out.push_str(&format!("  {}  mysql {way}\n", if n == 0 { "connect:" } else { "        " }));
        }
        out.push_str(&format!("  data:     {} (buffer pool {pool} MiB)\n", datadir.as_str()));
        let way = ways.first().map_or("-uroot", |w| w);
        out.push_str(&format!("  stop:     Ctrl-C, or  mysqladmin {way} shutdown\n"));
        if let Some(open) = s.accounts.open_account() {
            out.push_str(&format!("  note:     {open} has no password; it is reachable from this machine only\n"));
        }
        out
    }

    /// Waits until somebody asks the server to stop.
    pub fn wait(&self) {
        let (flag, changed) = &self.shared.stop;
        let mut stop = flag.lock();
        while !*stop {
            changed.wait(&mut stop);
        }
    }

    /// Stops: no new connections, running statements are interrupted, everything is written back. Idempotent.
    pub fn stop(&self) {
        if self.stopped.swap(true, Ordering::SeqCst) {
            return;
        }
        let s = &self.shared;
        s.stopping.store(true, Ordering::Relaxed);
        for l in std::mem::take(&mut *self.listeners.lock()) {
            l.stop();
        }
        s.registry.shut_down();
        // Taken out first: nobody waits with a lock held.
        let statistics = self.statistics.lock().take();
        if let Some(task) = &statistics {
            task.context().interrupt(gannet_runtime::Interrupt::Shutdown);
        }
        let clean = match &self.workers {
            Some(w) => w.shutdown(PATIENCE),
            None => wait_for_sessions(s),
        };
        if !clean {
            s.log.warning("some statements did not end in time; their transactions are rolled back at the next start");
        }
        // It may write, and the log be full.
        s.engine.forgo_checkpoints();
        if let Some(task) = statistics {
            let _ = task.join();
        }
        if let Err(e) = s.engine.shutdown() {
            s.log.error(format_args!("the store was not closed cleanly: {e}"));
        }
        if let Some(path) = &self.pid_file {
            let _ = std::fs::remove_file(path);
        }
        s.log.note("stopped");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() && gannet_runtime::sim::active() {
            // The power is cut.
        } else if std::thread::panicking() {
            // Stopping waits, which a thread that unwinds must not.
            std::thread::scope(|scope| {
                scope.spawn(|| self.stop());
            });
        } else {
            self.stop();
        }
    }
}

fn wait_for_sessions(s: &Shared) -> bool {
    let until = now_ns() + PATIENCE.as_nanos() as u64;
    while !s.registry.is_empty() {
        if now_ns() > until {
            return false;
        }
        let _ = gannet_runtime::sleep(Duration::from_millis(1));
    }
    true
}

fn shown_ip(ip: IpAddr) -> String {
    if ip.is_unspecified() { "127.0.0.1".into() } else { ip.to_string() }
}

/// Creates the data directory for its owner only, or makes sure that it is one.
fn prepare_datadir(options: &ServerOptions) -> std::result::Result<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt;
    let dir = options.datadir();
    let made = gannet_runtime::fs::create_dir_all(&dir);
    made.map_err(|e| format!("cannot create the data directory {}: {e}", dir.display()))?;
    let meta = std::fs::metadata(&dir).map_err(|e| format!("cannot look at {}: {e}", dir.display()))?;
    if meta.permissions().mode() & 0o077 != 0 {
        let tightened = std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700));
        tightened.map_err(|e| format!("{} is open to others and cannot be closed: {e}", dir.display()))?;
    }
    std::fs::canonicalize(&dir).map_err(|e| format!("cannot resolve {}: {e}", dir.display()))
}

fn open_log(options: &ServerOptions, datadir: &Path) -> std::result::Result<ErrorLog, String> {
    let name = options.get(Live::LogError).as_str();
    if name.is_empty() || name == "stderr" {
        return Ok(ErrorLog::to_stderr());
    }
    let path = datadir.join(name);
    ErrorLog::to_file(&path).map_err(|e| format!("cannot open the error log {}: {e}", path.display()))
}

/// Defaults that depend on other values or on the machine.
fn settle_defaults(vars: &mut VarSet, datadir: &Path) {
    let mut set = |id: Live, value: &str| vars[id as usize] = VarValue::text(value);
    set(Live::Datadir, &format!("{}/", datadir.display()));
    if let Ok(name) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
        set(Live::Hostname, name.trim());
    }
    let names = crate::statement_log::default_names(vars[Live::Hostname as usize].as_str());
    for (id, name) in names {
        if vars[id as usize].as_str().is_empty() {
            vars[id as usize] = VarValue::text(&datadir.join(name).to_string_lossy());
        }
    }
    let mut set = |id: Live, value: &str| vars[id as usize] = VarValue::text(value);
    set(Live::SystemTimeZone, &zone_name());
    set(Live::ServerUuid, &server_uuid(datadir));
    if vars[Live::Tmpdir as usize].as_str().is_empty() {
        vars[Live::Tmpdir as usize] = VarValue::text(&datadir.to_string_lossy());
    }
    if vars[Live::Socket as usize].as_str().is_empty() {
        vars[Live::Socket as usize] = VarValue::text(&datadir.join("gannet.sock").to_string_lossy());
    }
    let (charset, collation) = (Live::CharacterSetServer as usize, Live::CollationServer as usize);
    let defaults = vars::defaults();
    if vars[collation] == defaults[collation]
        && let Ok(cs) = Charset::by_name(vars[charset].as_str())
    {
        let name = Collation::default_of(cs).name;
        vars[collation] = VarValue::text(name);
    } else if let Ok(c) = Collation::by_name(vars[collation].as_str()) {
        vars[charset] = VarValue::text(c.charset.name());
    }
    for (to, from) in [
        (Live::CharacterSetDatabase, Live::CharacterSetServer),
        (Live::CollationDatabase, Live::CollationServer),
        (Live::CharacterSetClient, Live::CharacterSetServer),
        (Live::CharacterSetConnection, Live::CharacterSetServer),
        (Live::CharacterSetResults, Live::CharacterSetServer),
        (Live::CollationConnection, Live::CollationServer),
    ] {
        vars[to as usize] = vars[from as usize].clone();
    }
}

/// The abbreviation of the machine's zone, as `system_time_zone` shows it.
fn zone_name() -> String {
    match TimeZone::system().offset_at((gannet_runtime::unix_micros() / 1_000_000) as i64) {
        0 => "UTC".into(),
        s => format!("{}{:02}:{:02}", if s < 0 { '-' } else { '+' }, s.abs() / 3600, s.abs() / 60 % 60),
    }
}

/// The server's UUID: made at the first start, kept in `auto.cnf` as MySQL does.
fn server_uuid(datadir: &Path) -> String {
    let path = datadir.join("auto.cnf");
    if let Ok(text) = std::fs::read_to_string(&path)
        && let Some(uuid) = text.lines().find_map(|l| l.strip_prefix("server-uuid="))
    {
        return uuid.trim().into();
    }
    let (a, b) = (gannet_runtime::random_u64(), gannet_runtime::random_u64());
    // Version 4, variant 1.
    let (a, b) = (a & !0xF000 | 0x4000, b >> 2 | 1 << 63);
    let uuid = format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        a >> 32,
        a >> 16 & 0xFFFF,
        a & 0xFFFF,
        b >> 48,
        b & 0xFFFF_FFFF_FFFF
    );
    // Without it the next start makes another one; nothing here depends on it yet.
    let _ = write_plain(&path, Readers::Group, format!("[auto]\nserver-uuid={uuid}\n").as_bytes());
    uuid
}

/// `bind_address`: addresses or names, separated by commas; `*` is everything.
fn bind_addresses(list: &str, port: u16) -> std::result::Result<Vec<SocketAddr>, String> {
    let mut all = Vec::new();
    for name in list.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        let name = if name == "*" { "::" } else { name };
        match name.parse::<IpAddr>() {
            Ok(ip) => all.push(SocketAddr::new(ip, port)),
            Err(_) => {
                let found =
                    (name, port).to_socket_addrs().map_err(|e| format!("cannot resolve --bind-address={name}: {e}"))?;
                // One address a name: a machine's name often has two that overlap.
                all.extend(found.take(1));
            }
        }
    }
    if all.is_empty() { Err("--bind-address names no address".into()) } else { Ok(all) }
}

pub(crate) fn open_error(datadir: &Path, e: &EngineError) -> String {
    match e {
        EngineError::DataDirInUse(_) => format!("the data directory {} is in use by another server", datadir.display()),
        EngineError::Corrupt { .. } => {
            format!("the data in {} cannot be opened: data.gnt: {e}", datadir.display())
        }
        other => format!("the data in {} cannot be opened: {other}", datadir.display()),
    }
}
