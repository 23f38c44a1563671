//! A running server: its core, its workers and its listeners.

use crate::accounts::{Accounts, parse_role_list};
use crate::binlog::{Binlog, Names, Settings};
use crate::kept::StatementStats;
use crate::log::ErrorLog;
use crate::options::ServerOptions;
use crate::startup::{
    bind_addresses, fit_descriptors, fit_threads, flush_policy, open_error, open_log, prepare_datadir, settle_defaults,
    settle_log, start_watching,
};
use crate::statement_log::StatementLogs;
use crate::timers::Timers;
use crate::user_locks::UserLocks;
use crate::vars::persist::PersistedVars;
use crate::vars::{GlobalVars, Live, VarSet, VarValue};
use crate::xa::Branches;
use crate::{Core, Facts, MYSQL_VERSION};
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use gannet_base::sync::{Condvar, Mutex};
use gannet_catalog::Catalog;
use gannet_engine::{Engine, EngineOptions};
use gannet_exec::TempSpace;
use gannet_runtime::fs::{Readers, write_plain};
use gannet_runtime::{
    Addr, Factory, Listener, ListenerOptions, ThreadHandling, WallTime, WorkerOptions, Workers, now_ns,
};
use gannet_types::TimeZone;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A running server. Services make it reachable: each adds its listeners.
pub struct Instance {
    /// What keeps statistics fresh, what settles words of full-text indexes, and what looks at the server each second.
    tasks: Mutex<Vec<gannet_runtime::JoinHandle<()>>>,
    core: Arc<Core>,
    listeners: Mutex<Vec<Listener>>,
    workers: Option<Arc<Workers>>,
    pid_file: Option<PathBuf>,
    stopped: AtomicBool,
}

/// How long running statements have to end when the server stops.
const PATIENCE: Duration = Duration::from_secs(10);

impl Instance {
    /// Opens the store and starts the workers; nothing listens yet. The error is a sentence for the administrator.
    pub fn open(mut options: ServerOptions) -> std::result::Result<Instance, String> {
        gannet_runtime::remember_panics();
        let datadir = prepare_datadir(&options)?;
        let persisted = PersistedVars::load(&datadir, &options)?;
        let note = persisted.note();
        let started_with = options.vars.clone();
        persisted.apply(&mut options.vars);
        crate::options::settle_log_room(&mut options, &datadir);
        let opened = open_log(&options, &datadir).and_then(|log| {
            let mut it = Self::open_store(options, datadir, Arc::new(log), (persisted, started_with))?;
            it.start_workers()?;
            Ok(it)
        });
        // A persisted value that keeps the server from starting is not seen on the command line.
        opened.map_err(|e| format!("{e}{note}"))
    }

    fn start_workers(&mut self) -> std::result::Result<(), String> {
        let globals = &self.core.globals;
        if globals.get(Live::ThreadHandling).as_str() != "one-thread-per-connection" {
            let count = globals.get(Live::Workers).as_u64() as usize;
            let options = WorkerOptions { count, ..WorkerOptions::default() };
            let workers = Workers::start(options).map_err(|e| format!("cannot start the workers: {e}"))?;
            self.workers = Some(Arc::new(workers));
        }
        self.core.collect(globals.get(Live::PerformanceSchema).as_bool());
        self.core.registry.consumers.switch_users(globals.get(Live::Userstat).as_bool());
        // A simulated server has no sampler: its life is steps, not seconds. Nor has it logs of statements.
        let (core, logged) = (self.core.clone(), self.core.clone());
        self.tasks.lock().extend([
            gannet_runtime::spawn("sampler", move || crate::seen::run(&core)),
            gannet_runtime::spawn("log-tables", move || crate::log_tables::run(&logged)),
        ]);
        Ok(())
    }

    /// A server inside a simulation, on the simulated disk: it has no sockets. Files beside the store (log, persisted
    /// variables, certificates) are not simulated, and not used.
    #[doc(hidden)]
    pub fn open_simulated(mut options: ServerOptions) -> std::result::Result<Instance, String> {
        let mut set = |id: Live, value: VarValue| options.vars[id as usize] = value;
        set(Live::TlsVersion, VarValue::text(""));
        set(Live::SkipNetworking, VarValue::bool(true));
        let datadir = options.datadir();
        let persisted = PersistedVars::load(&datadir, &options)?;
        let started_with = options.vars.clone();
        persisted.apply(&mut options.vars);
        Self::open_store(options, datadir, Arc::new(ErrorLog::to_stderr()), (persisted, started_with))
    }

    /// Opens the store and what belongs to it. The persisted variables are applied already; with them come the values
    /// without them.
    fn open_store(
        options: ServerOptions,
        datadir: PathBuf,
        log: Arc<ErrorLog>,
        (persisted, started_with): (PersistedVars, VarSet),
    ) -> std::result::Result<Instance, String> {
        for w in options.warnings.iter().chain(&persisted.warnings) {
            log.warning(w);
        }
        let mut vars = options.vars;
        if options.skip_grant_tables {
            // As in MySQL: no client connects over the network.
            vars[Live::SkipNetworking as usize] = VarValue::bool(true);
        }
        settle_defaults(&mut vars, &datadir);
        fit_descriptors(&mut vars, &log);
        fit_threads(&mut vars, &log);
        let get = |id: Live| &vars[id as usize];
        settle_log(&vars, &log)?;

        let bind = bind_addresses(get(Live::BindAddress).as_str(), get(Live::Port).as_u64() as u16)?;
        let networking = !get(Live::SkipNetworking).as_bool();
        let beyond_loopback = networking && bind.iter().any(|a| !a.ip().is_loopback());

        let engine = open_engine(&vars, &datadir, &log)?;
        let catalog = Catalog::open(engine.clone()).map_err(|e| format!("the dictionary cannot be read: {e}"))?;
        let accounts = Accounts::load(&catalog).map_err(|e| format!("the accounts cannot be read: {e}"))?;
        let partial_revokes = check_accounts(&accounts, &vars, options.skip_grant_tables, &log)?;
        if beyond_loopback && let Some(open) = accounts.open_account() {
            let closed = engine.shutdown();
            return Err(format!(
                "refusing to listen on {}: the account {open} has no password.\n\
                 Start without --bind-address, run  ALTER USER {open} IDENTIFIED BY '...';  and start again.{}",
                get(Live::BindAddress).as_str(),
                closed.err().map_or(String::new(), |e| format!("\nThe store was not closed cleanly: {e}"))
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
        let digests = vars[Live::PerformanceSchemaDigestsSize as usize].as_u64() as usize;
        let pid_file = Some(vars[Live::PidFile as usize].as_str()).filter(|p| !p.is_empty()).map(PathBuf::from);
        let read_only = vars[Live::ReadOnly as usize].as_bool() || vars[Live::SuperReadOnly as usize].as_bool();
        let facts = Facts { version, system_zone: TimeZone::system(), started_ns: now_ns() };
        let logs = StatementLogs::new(&datadir, crate::statement_log::header(&vars));
        // Numbers beyond those of tables and of hashed names.
        let gate = |n: u64, name: &str| engine.lock_table().mdl_object(1 << 62 | n, name);
        let core = Arc::new(Core {
            write_gate: gate(0, "global"),
            commit_gate: gate(1, "commit"),
            backup_gate: gate(2, "backup"),
            lists_lock: gate(3, "lists"),
            engine,
            catalog,
            persisted,
            started_with,
            configured: vars.clone(),
            globals: GlobalVars::new(vars),
            accounts,
            registry: options.collected.registry(),
            reports: Default::default(),
            seen: Default::default(),
            branches: Branches::default(),
            facts,
            log,
            binlog: OnceLock::new(),
            logs,
            temp,
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
            replicas: OnceLock::new(),
            figures: Mutex::default(),
            monitors: crate::monitors::Monitors::new(WallTime::now().micros()),
        });

        let weak = Arc::downgrade(&core);
        core.engine.lock_table().describe_sessions(move |thread| {
            let entry = weak.upgrade().and_then(|core| core.registry.get(thread));
            entry.map_or(Vec::new(), |entry| crate::reports::session(&entry))
        });
        core.limit_temp();
        start_watching(&core);
        let taken_up = core.branches.recover(&core);
        taken_up.map_err(|e| format!("the prepared XA branches cannot be read: {e}"))?;
        open_binlog(&core)?;
        let (statistics, settling) = (start_statistics(&core), start_settling(&core));
        Ok(Instance {
            core,
            tasks: Mutex::new(vec![statistics, settling]),
            listeners: Mutex::new(Vec::new()),
            workers: None,
            pid_file,
            stopped: AtomicBool::new(false),
        })
    }

    /// Serves the clients that come by an address; where it listens really (a port of 0 is any).
    pub fn add_listener(&self, at: &Addr, factory: Arc<dyn Factory>) -> std::result::Result<Addr, String> {
        let options = ListenerOptions {
            handling: match &self.workers {
                Some(w) => ThreadHandling::Workers(w.clone()),
                None => ThreadHandling::OneThreadPerConnection,
            },
            backlog: self.core.globals.get(Live::BackLog).as_u64() as i32,
            ..ListenerOptions::default()
        };
        let shown = match at {
            Addr::Tcp(at) => at.to_string(),
            Addr::Unix(path) => path.display().to_string(),
        };
        let listener = Listener::start(at, options, factory).map_err(|e| format!("cannot listen on {shown}: {e}"))?;
        let at = listener.addr().clone();
        self.listeners.lock().push(listener);
        Ok(at)
    }

    /// Writes the pid file, when one is wanted: clients may come now.
    pub fn write_pid(&self) -> std::result::Result<(), String> {
        let Some(path) = &self.pid_file else { return Ok(()) };
        write_plain(path, Readers::Group, format!("{}\n", std::process::id()).as_bytes())
            .map_err(|e| format!("cannot write the pid file {}: {e}", path.display()))
    }

    /// What all services share.
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Waits until the server is asked to stop.
    pub fn wait(&self) {
        let (flag, changed) = &self.core.stop;
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
        let s = &self.core;
        s.stopping.store(true, Ordering::Relaxed);
        for l in std::mem::take(&mut *self.listeners.lock()) {
            l.stop();
        }
        s.registry.shut_down();
        // Taken out first, so that no lock is held while they are awaited.
        let tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.iter().for_each(|task| task.context().interrupt(gannet_runtime::Interrupt::Shutdown));
        let clean = match &self.workers {
            Some(w) => w.shutdown(PATIENCE),
            None => wait_for_sessions(s),
        };
        if !clean {
            s.log.warning("some statements did not end in time; their transactions are rolled back at the next start");
        }
        s.logs.tables.close();
        // They may write, and the log be full.
        s.engine.forgo_checkpoints();
        for task in tasks {
            let _ = task.join();
        }
        if let Err(e) = s.engine.shutdown() {
            s.log.error(format_args!("the store is not closed cleanly: {e}; the next start recovers it from the log"));
        }
        if let Some(binlog) = s.binlog() {
            binlog.join();
        }
        if let Some(path) = &self.pid_file {
            let _ = std::fs::remove_file(path);
        }
        s.log.system("the server has stopped");
    }
}

fn start_statistics(core: &Arc<Core>) -> gannet_runtime::JoinHandle<()> {
    let core = core.clone();
    gannet_runtime::spawn("statistics", move || crate::statistics::run(&core))
}

fn start_settling(core: &Arc<Core>) -> gannet_runtime::JoinHandle<()> {
    let core = core.clone();
    gannet_runtime::spawn("full text", move || crate::settling::run(&core))
}

fn open_engine(vars: &VarSet, datadir: &Path, log: &Arc<ErrorLog>) -> std::result::Result<Engine, String> {
    let get = |id: Live| &vars[id as usize];
    let engine = Engine::open(EngineOptions {
        buffer_pool_bytes: get(Live::InnodbBufferPoolSize).as_u64(),
        most_pool_bytes: crate::pool::most_bytes(get(Live::InnodbBufferPoolSize).as_u64()),
        redo_capacity_bytes: get(Live::InnodbRedoLogCapacity).as_u64(),
        flush_policy: flush_policy(get(Live::InnodbFlushLogAtTrxCommit)),
        scrub_pages_per_second: get(Live::ScrubPages).as_u64(),
        sort_dir: Some(Path::new(get(Live::Tmpdir).as_str()).join("#tmp")),
        events: ErrorLog::events(log),
        ..EngineOptions::new(datadir)
    })
    .map_err(|e| open_error(datadir, &e))?;
    engine.hold_checkpoint(get(Live::InnodbCheckpointDisabled).as_bool());
    Ok(engine)
}

/// Opens the binary log where it is on; where it is off, no log is kept for it.
fn open_binlog(core: &Arc<Core>) -> std::result::Result<(), String> {
    let logs = core.globals.get(Live::LogBin).as_bool();
    for id in [Live::GtidMode, Live::EnforceGtidConsistency] {
        core.globals.set(id, VarValue::text(if logs { "ON" } else { "OFF" }));
    }
    if !logs {
        let forgotten = crate::binlog::forget(&core.engine);
        return forgotten.map_err(|e| format!("the log is still kept for a binary log that is off: {e}"));
    }
    let datadir = PathBuf::from(core.globals.get(Live::Datadir).as_str());
    let names = Names::new(&datadir, core.globals.get(Live::LogBinBasename).as_str());
    for (id, path) in [(Live::LogBinBasename, names.basename()), (Live::LogBinIndex, names.index())] {
        core.globals.set(id, VarValue::text(&path.to_string_lossy()));
    }
    let weak = Arc::downgrade(core);
    let first = Settings::of(&core.globals, &core.facts.version);
    let settings = move || weak.upgrade().map_or(first.clone(), |c| Settings::of(&c.globals, &c.facts.version));
    let opened = Binlog::open(&core.engine, names, Arc::new(settings), core.log.clone())?;
    opened.configure(&core.globals);
    core.binlog.set(opened).map_err(|_| "the binary log is open already".to_owned())
}

/// Applies the variables about accounts, and logs warnings. True: `partial_revokes` is on.
fn check_accounts(
    accounts: &Accounts,
    vars: &VarSet,
    skip_grant_tables: bool,
    log: &ErrorLog,
) -> std::result::Result<bool, String> {
    if skip_grant_tables {
        accounts.skip();
        log.warning("--skip-grant-tables: whoever connects may do everything, until FLUSH PRIVILEGES");
    } else if accounts.is_empty() {
        log.warning(
            "there are no accounts: nobody can log in. Start with --skip-grant-tables, connect over the socket, run \
             FLUSH PRIVILEGES and CREATE USER",
        );
    }
    let mandatory = vars[Live::MandatoryRoles as usize].as_str();
    let roles = parse_role_list(mandatory);
    accounts.set_mandatory(roles.ok_or_else(|| format!("--mandatory-roles={mandatory}: not a list of roles"))?);
    let wanted = vars[Live::PartialRevokes as usize].as_bool();
    let on = wanted || accounts.any_restricted();
    if on != wanted {
        log.warning("partial_revokes=OFF has no effect: some accounts have partial revokes, which keep it ON");
    }
    accounts.set_partial_revokes(on).map_err(|e| e.message().to_string())?;
    Ok(on)
}

impl Drop for Instance {
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

fn wait_for_sessions(s: &Core) -> bool {
    let until = now_ns() + PATIENCE.as_nanos() as u64;
    while !s.registry.is_empty() {
        if now_ns() > until {
            return false;
        }
        let _ = gannet_runtime::sleep(Duration::from_millis(1));
    }
    true
}
