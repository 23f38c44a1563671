//! The MySQL protocol on a running server: its listeners, and what its sessions share beyond the core.

use crate::service::{Connection, Connections};
use gannet_base::sync::Mutex;
use gannet_core::accounts::Account;
use gannet_core::vars::{Live, VarValue};
use gannet_core::{Core, Instance, ServerOptions};
use gannet_runtime::{Addr, JoinHandle};
use gannet_session::Sessions;
use gannet_session::cached::forget_thread;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A running server that speaks MySQL.
pub struct Server {
    instance: Instance,
    sessions: Arc<Sessions>,
    /// The event scheduler.
    scheduler: Mutex<Option<JoinHandle<()>>>,
    socket: Option<PathBuf>,
    tcp: Option<SocketAddr>,
}

impl Server {
    /// [`Server::open`] and [`Server::serve`].
    pub fn start(options: ServerOptions) -> Result<Server, String> {
        let mut it = Self::open(options)?;
        it.serve()?;
        Ok(it)
    }

    /// Opens the store. Services that may refuse to start are started before [`Server::serve`]: a client that is
    /// let in must not see a server go that never was ready.
    pub fn open(options: ServerOptions) -> Result<Server, String> {
        let it = Self::over(Instance::open(options)?);
        let ready = it.make_sys().and_then(|()| it.run_init_file());
        ready.map_err(|e| it.with_note(e))?;
        Ok(it)
    }

    /// Listens to clients and starts the event scheduler. The error is a sentence for the administrator.
    pub fn serve(&mut self) -> Result<(), String> {
        let ready = self.listen().and_then(|()| self.instance.write_pid());
        ready.map_err(|e| self.with_note(e))?;
        self.start_scheduler();
        Ok(())
    }

    /// An error of the start, and which settings of SET PERSIST took part in it.
    fn with_note(&self, error: String) -> String {
        format!("{error}{}", self.core().persisted.note())
    }

    /// A server inside a simulation: clients come by [`Server::connect_simulated`].
    #[doc(hidden)]
    pub fn start_simulated(options: ServerOptions) -> Result<Server, String> {
        forget_thread();
        Ok(Self::over(Instance::open_simulated(options)?))
    }

    /// A client of a server inside a simulation.
    #[doc(hidden)]
    pub fn connect_simulated(&self) -> gannet_runtime::sim::SimClient {
        let sessions = self.sessions.clone();
        gannet_runtime::sim::connect(|peer, context| Box::new(Connection::new(sessions, peer, context)))
    }

    fn over(instance: Instance) -> Server {
        let sessions = Sessions::over(instance.core());
        Server { instance, sessions, scheduler: Mutex::new(None), socket: None, tcp: None }
    }

    /// The sessions: for services beside this one, which run SQL without a client.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// Makes what is stored of the schemas sys and mysql. On a task of its own: it may wait.
    fn make_sys(&self) -> Result<(), String> {
        let sessions = self.sessions.clone();
        let made = gannet_runtime::spawn("sys", move || gannet_session::sys_config::ensure_all(&sessions)).join();
        match made {
            Ok(Ok(())) => Ok(()),
            Ok(Err(e)) => Err(format!("the tables of sys and mysql cannot be made: {e}")),
            Err(_) => Err("the tables of sys and mysql cannot be made: a panic, see the log".to_owned()),
        }
    }

    /// Runs the statements of `init_file`, with all rights, before a client can connect. The first statement that
    /// fails keeps the server from starting.
    fn run_init_file(&self) -> Result<(), String> {
        let file = self.core().globals.get(Live::InitFile);
        let file = file.as_str();
        if file.is_empty() {
            return Ok(());
        }
        let text = std::fs::read_to_string(file).map_err(|e| format!("cannot read --init-file={file}: {e}"))?;
        if text.trim().is_empty() {
            return Ok(());
        }
        let sessions = self.sessions.clone();
        // On a task of its own: it may wait.
        let task = gannet_runtime::spawn("init-file", move || {
            let mut session =
                sessions.own_of(Arc::new(Account::unchecked()), gannet_core::registry::STARTS).map_err(|e| (0, e))?;
            let mut ended = 0;
            for piece in delimited(&text) {
                ended += session.execute(piece).map_err(|(n, e)| (ended + n, e))?;
            }
            Ok(ended)
        });
        match task.join() {
            Ok(Ok(_)) => Ok(()),
            Ok(Err((ended, e))) => {
                Err(format!("--init-file={file}: statement {}: ERROR {}: {}", ended + 1, e.number(), e.message()))
            }
            Err(_) => Err(format!("--init-file={file}: a panic, see the log")),
        }
    }

    /// Starts the event scheduler, unless it is DISABLED.
    fn start_scheduler(&self) {
        if self.core().globals.get(Live::EventScheduler).as_str() == "DISABLED" {
            return;
        }
        let (core, sessions) = (self.core().clone(), self.sessions.clone());
        let task = gannet_runtime::spawn("events", move || gannet_session::scheduler::run(&core, &sessions));
        *self.scheduler.lock() = Some(task);
    }

    fn listen(&mut self) -> Result<(), String> {
        let core = self.core();
        let socket = PathBuf::from(core.globals.get(Live::Socket).as_str());
        let factory = Arc::new(Connections { sessions: self.sessions.clone() });
        for at in core.addresses()? {
            if let Addr::Tcp(at) = self.instance.add_listener(&Addr::Tcp(at), factory.clone())? {
                self.tcp.get_or_insert(at);
            }
        }
        self.instance.add_listener(&Addr::Unix(socket.clone()), factory)?;
        self.socket = Some(socket);
        let globals = &self.core().globals;
        if let Some(at) = self.tcp {
            globals.set(Live::Port, VarValue::uint(at.port().into()));
        }
        if globals.get(Live::ReportPort).as_u64() == 0 {
            globals.set(Live::ReportPort, globals.get(Live::Port));
        }
        Ok(())
    }

    /// What all services share.
    pub fn core(&self) -> &Arc<Core> {
        self.instance.core()
    }

    /// What the sessions share.
    pub fn shared(&self) -> &Arc<Core> {
        self.core()
    }

    /// The TCP address, unless networking is off.
    pub fn tcp(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// The UNIX socket.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Lines for the administrator: how to connect, where the data is, how to stop.
    pub fn banner(&self) -> String {
        let s = self.core();
        let datadir = s.globals.get(Live::Datadir);
        let pool = s.globals.get(Live::InnodbBufferPoolSize).as_u64() >> 20;
        let mut out = format!("Gannet {} is ready.\n", s.facts.version);
        // Clients look for the socket of their distribution's server when they are told nothing.
        let mut ways = Vec::new();
        let secure = s.globals.get(Live::RequireSecureTransport).as_bool();
        if let Some(at) = self.tcp {
            let port = if at.port() == 3306 { String::new() } else { format!(" -P{}", at.port()) };
            // Clients that do not encrypt by themselves are refused.
            let encrypted = if secure { " --ssl-mode=REQUIRED" } else { "" };
            ways.push(format!("-h{}{port} -uroot{encrypted}", shown_ip(at.ip())));
        }
        if let Some(path) = &self.socket {
            ways.push(format!("-S {} -uroot", path.display()));
        }
        if secure {
            // What needs no certificate comes first.
            ways.reverse();
        }
        for (n, way) in ways.iter().enumerate() {
            out.push_str(&format!("  {}  mysql {way}\n", if n == 0 { "connect:" } else { "        " }));
        }
        out.push_str(&format!("  data:     {} (buffer pool {pool} MiB)\n", datadir.as_str()));
        let way = ways.first().map_or("-uroot", |w| w);
        out.push_str(&format!("  stop:     Ctrl-C, or  mysqladmin {way} shutdown\n"));
        out.push_str("  client:   gannet sql, where there is no mysql\n");
        if let Some(open) = s.accounts.open_account() {
            out.push_str(&format!("  note:     {open} has no password; it is reachable from this machine only\n"));
        }
        out
    }

    /// The running server, to which other services may add their listeners.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Waits until the server is asked to stop.
    pub fn wait(&self) {
        self.instance.wait();
    }

    /// Stops: no new connections, running statements are interrupted, everything is written back. Idempotent.
    pub fn stop(&self) {
        let scheduler = self.scheduler.lock().take();
        if let Some(task) = scheduler {
            task.context().interrupt(gannet_runtime::Interrupt::Shutdown);
            let _ = task.join();
        }
        self.instance.stop();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Waiting for the threads is not possible while unwinding.
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

/// The pieces of a script between its DELIMITER lines and the delimiters that these name; those under `;` are left
/// whole.
fn delimited(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut delimiter = ";";
    let named = |line: &str| {
        let word = line.trim_start().get(..9)?;
        word.eq_ignore_ascii_case("delimiter").then_some(())
    };
    while !rest.is_empty() {
        // Up to the next line that names another one.
        let mut end = 0;
        let line = rest.split_inclusive('\n').find(|line| {
            named(line).is_some() || {
                end += line.len();
                false
            }
        });
        let (section, behind) = rest.split_at(end);
        match delimiter {
            ";" => pieces.push(section),
            other => pieces.extend(section.split(other)),
        }
        let Some(line) = line else { break };
        delimiter = line.trim()[9..].trim();
        if delimiter.is_empty() {
            delimiter = ";";
        }
        rest = &behind[line.len()..];
    }
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

fn shown_ip(ip: IpAddr) -> String {
    if ip.is_unspecified() { "127.0.0.1".into() } else { ip.to_string() }
}

#[cfg(test)]
mod tests {
    use super::delimited;

    #[test]
    fn scripts_name_their_delimiters() {
        assert_eq!(delimited("select 1; select 2;"), ["select 1; select 2;"]);
        let script =
            "select 1;\nDELIMITER //\ncreate procedure p() begin select 1; end//\nselect 2//\ndelimiter ;\nselect 3;\n";
        let want = ["select 1;\n", "create procedure p() begin select 1; end", "\nselect 2", "select 3;\n"];
        assert_eq!(delimited(script), want);
    }
}
