//! memcached's protocol on tables: its clients read and write the rows that SQL does. Requests are read by
//! `gannet_wire::memcached`.
//!
//! | module | what |
//! |---|---|
//! | `config`, `container` | the tables of `innodb_memcache`; a table as a container of items |
//! | `client` | commands as transactions of a unit of work |
//! | `text`, `meta`, `stats` | the commands and their answers |
//! | `service`, `login`, `seen` | a connection: turns, answers that wait for the log; logins; what others see of it |
//! | `expire` | the background: expired items, later flushes |
//! | `reads` | when items were read, while clients ask for it |
//!
//! *Invariants.* A change is answered when it is durable, unless its container is set otherwise. A get writes nothing
//! that others read, unless clients ask when items were read. A connection that asks for nothing holds no transaction.

mod client;
mod config;
mod container;
mod expire;
mod login;
mod meta;
mod reads;
mod seen;
mod service;
mod stats;
mod text;

use crate::config::{Config, Mapping};
use crate::expire::Flush;
use crate::reads::Reads;
use crate::seen::Digests;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use gannet_core::accounts::Account;
use gannet_core::vars::{Live, VarValue};
use gannet_core::{Core, Instance};
use gannet_runtime::{Addr, Interrupt, JoinHandle, now_ns};
use gannet_session::Sessions;
use gannet_telemetry::total;
use gannet_types::{Result, sql_err};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// A change of the tables of `innodb_memcache` is seen so much later at most.
const CONFIG_NS: u64 = 1_000_000_000;

/// Variables as commands read them: nobody writes to their line while they stay as they are.
#[derive(Default)]
pub(crate) struct Settings {
    item_size_max: AtomicU64,
    durable: AtomicBool,
    slow_ns: AtomicU64,
}

impl Settings {
    /// Looks at the variables.
    pub(crate) fn renew(&self, core: &Core) {
        let get = |id: Live| core.globals.get(id);
        let put = |to: &AtomicU64, n: u64| {
            if to.load(Relaxed) != n {
                to.store(n, Relaxed);
            }
        };
        put(&self.item_size_max, get(Live::MemcachedItemSizeMax).as_u64());
        put(&self.slow_ns, slow_ns(&get(Live::LongQueryTime)));
        let durable = get(Live::MemcachedDurable).as_bool();
        if self.durable.load(Relaxed) != durable {
            self.durable.store(durable, Relaxed);
        }
    }

    /// `memcached_item_size_max`.
    pub(crate) fn item_size_max(&self) -> usize {
        self.item_size_max.load(Relaxed) as usize
    }

    /// `memcached_durable`.
    pub(crate) fn durable(&self) -> bool {
        self.durable.load(Relaxed)
    }

    /// `long_query_time`.
    pub(crate) fn slow_ns(&self) -> u64 {
        self.slow_ns.load(Relaxed)
    }
}

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) core: Arc<Core>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) digests: Digests,
    pub(crate) settings: Settings,
    pub(crate) reads: Reads,
    /// The tables as they were read last, and when.
    config: Mutex<Option<(u64, Arc<Config>)>>,
    flushes: Mutex<Vec<Flush>>,
    connections: AtomicU64,
    /// Counters at `stats reset`.
    before: Mutex<Vec<u64>>,
    /// The log says that a client speaks the binary protocol.
    told_of_binary: AtomicBool,
}

impl Shared {
    fn new(core: &Arc<Core>, sessions: &Arc<Sessions>) -> Shared {
        let settings = Settings::default();
        settings.renew(core);
        Shared {
            settings,
            reads: Reads::default(),
            core: core.clone(),
            sessions: sessions.clone(),
            digests: Digests::new(&core.stats),
            config: Mutex::new(None),
            flushes: Mutex::default(),
            connections: AtomicU64::new(0),
            before: Mutex::default(),
            told_of_binary: AtomicBool::new(false),
        }
    }

    /// What the tables say now, or said a moment ago. Makes them where they are not.
    pub(crate) fn config(&self) -> Result<Arc<Config>> {
        let kept = self.config.lock().clone();
        if let Some((read_ns, config)) = kept
            && now_ns() < read_ns + CONFIG_NS
        {
            return Ok(config);
        }
        let config = Arc::new(Config::load(self)?);
        *self.config.lock() = Some((now_ns(), config.clone()));
        Ok(config)
    }

    /// What the tables said last; `None`: no client has asked yet.
    pub(crate) fn known_config(&self) -> Option<Arc<Config>> {
        self.config.lock().as_ref().map(|(_, config)| config.clone())
    }

    /// `flush_all` of a later time takes the place of one that was to come.
    pub(crate) fn flush_at(&self, mapping: Mapping, us: u64) {
        let mut all = self.flushes.lock();
        all.retain(|flush| flush.mapping.name != mapping.name);
        all.push(Flush { mapping, us });
    }

    pub(crate) fn due_flushes(&self, now_us: u64) -> Vec<Flush> {
        let mut all = self.flushes.lock();
        let (due, later) = std::mem::take(&mut *all).into_iter().partition(|flush| flush.us <= now_us);
        *all = later;
        due
    }

    /// The account of clients that need not log in.
    pub(crate) fn nobody(&self) -> Result<Arc<Account>> {
        if self.core.accounts.skipped() {
            return Ok(Arc::new(Account::unchecked()));
        }
        let named = self.core.globals.get(Live::MemcachedAccount);
        let (user, host) = account_name(named.as_str());
        self.core.accounts.get(user, host).ok_or_else(|| sql_err!(AccessDeniedNoPassword, user, host))
    }

    pub(crate) fn logs_in(&self) -> bool {
        self.core.globals.get(Live::MemcachedAuth).as_bool()
    }

    /// One more connection; how many there are.
    pub(crate) fn enter(&self) -> u64 {
        self.connections.fetch_add(1, Relaxed) + 1
    }

    pub(crate) fn leave(&self) {
        self.connections.fetch_sub(1, Relaxed);
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    pub(crate) fn reset_stats(&self) {
        *self.before.lock() = stats::COUNTED.iter().map(|(_, counter)| total(*counter)).collect();
    }

    pub(crate) fn stats_before(&self) -> Vec<u64> {
        self.before.lock().clone()
    }

    pub(crate) fn tell_of_binary(&self) {
        if !self.told_of_binary.swap(true, Relaxed) {
            self.core.log.warning(
                "a client speaks memcached's binary protocol, which is not served: it has to be set to text or meta",
            );
        }
    }
}

/// `long_query_time` in nanoseconds.
fn slow_ns(value: &VarValue) -> u64 {
    match value {
        VarValue::Double(seconds) => (seconds * 1e9) as u64,
        _ => u64::MAX,
    }
}

/// User and host of an account's name.
fn account_name(name: &str) -> (&str, &str) {
    name.rsplit_once('@').unwrap_or((name, "localhost"))
}

/// The protocol, while it is served.
#[derive(Default)]
pub struct Served {
    /// The TCP address.
    pub tcp: Option<SocketAddr>,
    /// The UNIX socket.
    pub socket: Option<PathBuf>,
    background: Option<JoinHandle<()>>,
}

impl Drop for Served {
    /// Ends the background task, which uses the store. (Connections end with the instance.)
    fn drop(&mut self) {
        if let Some(task) = self.background.take()
            && !std::thread::panicking()
        {
            task.context().interrupt(Interrupt::Shutdown);
            let _ = task.join();
        }
    }
}

/// The protocol on a server inside a simulation: it has no listeners and no background.
#[doc(hidden)]
pub struct Simulated(Arc<Shared>);

impl Simulated {
    /// On this server.
    pub fn over(core: &Arc<Core>, sessions: &Arc<Sessions>) -> Simulated {
        Simulated(Arc::new(Shared::new(core, sessions)))
    }

    /// A client.
    pub fn connect(&self) -> gannet_runtime::sim::SimClient {
        let connections = service::Connections { shared: self.0.clone(), tls: false };
        gannet_runtime::sim::connect(|peer, context| connections.open(peer, context))
    }
}

/// Serves memcached's protocol where the variables `memcached_port` and `memcached_socket` say; to be dropped before
/// the instance stops. The error is a sentence for the administrator.
pub fn start(instance: &Instance, sessions: &Arc<Sessions>) -> std::result::Result<Served, String> {
    let core = instance.core();
    let get = |id: Live| core.globals.get(id);
    let mut served = Served::default();
    let (port, socket) = (get(Live::MemcachedPort).as_u64() as u16, get(Live::MemcachedSocket));
    let with_port = port != 0 && !get(Live::SkipNetworking).as_bool();
    if !with_port && socket.as_str().is_empty() {
        return Ok(served);
    }
    if account_name(get(Live::MemcachedAccount).as_str()).0 == "root" {
        return Err("--memcached-account=root: clients without a login do not get the rights of root".into());
    }
    let shared = Arc::new(Shared::new(core, sessions));
    let connections = |tls| Arc::new(service::Connections { shared: shared.clone(), tls });
    if with_port {
        let tls = get(Live::MemcachedTls).as_bool();
        let at = SocketAddr::new(bind_address(core)?, port);
        if let Addr::Tcp(at) = instance.add_listener(&Addr::Tcp(at), connections(tls))? {
            served.tcp = Some(at);
        }
    }
    if !socket.as_str().is_empty() {
        let path = PathBuf::from(socket.as_str());
        instance.add_listener(&Addr::Unix(path.clone()), connections(false))?;
        served.socket = Some(path);
    }
    served.background = Some(gannet_runtime::spawn("memcached", move || expire::run(&shared)));
    Ok(served)
}

/// The address of `memcached_port`. Beyond this machine nobody is served without a login and TLS.
fn bind_address(core: &Core) -> std::result::Result<IpAddr, String> {
    let get = |id: Live| core.globals.get(id);
    let named = get(Live::MemcachedBindAddress);
    let ip: IpAddr =
        named.as_str().parse().map_err(|_| format!("--memcached-bind-address={}: not an address", named.as_str()))?;
    let tls = get(Live::MemcachedTls).as_bool();
    if tls && core.tls.acceptor().is_none() {
        return Err("--memcached-tls: the server has no TLS".into());
    }
    let guarded = tls && get(Live::MemcachedAuth).as_bool();
    if !ip.is_loopback() && !guarded {
        return Err(format!(
            "refusing to serve memcached's protocol on {ip}: beyond loopback it needs --memcached-auth=ON and --memcached-tls=ON"
        ));
    }
    Ok(ip)
}
