//! A server in this process on a directory of its own, and connections to it. When it goes, its error log must not tell
//! of a panic or an internal error (1815), whatever the test has looked at.
#![allow(dead_code, reason = "each test program uses its part")]

pub mod random;

use gannet_server::vars::{Live, VarValue};
use gannet_server::{Server, ServerOptions};
use gannet_wire::client::{Address, Connection, Options};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What must happen has happened by then, whatever else the machine does. A test that passes waits for no more than
/// what it waits for.
pub const PATIENCE: Duration = Duration::from_secs(180);

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A server and its directory, both gone when dropped.
pub struct Running {
    pub server: Option<Server>,
    pub dir: PathBuf,
    configure: fn(&mut ServerOptions),
    /// The test breaks something that only an internal error can tell of.
    pub may_break: bool,
}

/// The error log, beside the data directory.
fn log_of(dir: &Path) -> PathBuf {
    dir.with_extension("log")
}

/// The directory that those of the servers stand in: in memory where there is room, or most tests wait for the syncs
/// of a disk. TMPDIR names another one.
fn home() -> PathBuf {
    const ROOM: u64 = 4 << 30;
    let memory = Path::new("/dev/shm");
    let in_memory =
        std::env::var_os("TMPDIR").is_none() && gannet_runtime::fs::free_space(memory).is_ok_and(|b| b > ROOM);
    if in_memory { memory.to_path_buf() } else { std::env::temp_dir() }
}

impl Running {
    /// On a fresh directory.
    pub fn start() -> Self {
        Self::configured(|_| {})
    }

    /// On a fresh directory, with options of the test's own.
    pub fn configured(configure: fn(&mut ServerOptions)) -> Self {
        let n = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = home().join(format!("gannet-test-{}-{n}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let _ = std::fs::remove_file(log_of(&dir));
        let mut it = Self { server: None, dir, configure, may_break: false };
        it.up();
        it
    }

    /// Starts it.
    pub fn up(&mut self) {
        let mut o = ServerOptions::new(&self.dir);
        o.set(Live::Port, VarValue::Int(0));
        o.set(Live::InnodbBufferPoolSize, VarValue::Int(32 << 20));
        o.set(Live::InnodbRedoLogCapacity, VarValue::Int(32 << 20));
        o.set(Live::Workers, VarValue::Int(2));
        o.set(Live::LogErrorVerbosity, VarValue::Int(1));
        let log = log_of(&self.dir);
        o.set(Live::LogError, VarValue::text(log.to_str().expect("a path of text")));
        (self.configure)(&mut o);
        self.server = Some(Server::start(o).expect("the server starts"));
    }

    /// Stops the server and starts it on the same directory.
    pub fn restart(&mut self) {
        self.server = None;
        self.up();
    }

    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("the server runs")
    }

    pub fn socket(&self) -> Address {
        Address::Unix(self.server().socket().expect("a socket").to_path_buf())
    }

    pub fn tcp(&self) -> Address {
        let at = self.server().tcp().expect("networking");
        Address::Tcp(at.ip().to_string(), at.port())
    }

    /// A connection of root over the socket.
    pub fn connect(&self) -> Connection {
        Connection::connect(&self.socket(), &options()).expect("root connects")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server = None;
        let _ = std::fs::remove_dir_all(&self.dir);
        let log = std::fs::read_to_string(log_of(&self.dir)).unwrap_or_default();
        let _ = std::fs::remove_file(log_of(&self.dir));
        let broken: Vec<&str> =
            log.lines().filter(|l| l.contains("a panic while") || l.contains("Internal error")).collect();
        if std::thread::panicking() {
            eprint!("{log}");
        }
        let known = self.may_break || std::thread::panicking();
        assert!(known || broken.is_empty(), "the server's log tells of faults of its own:\n{}", broken.join("\n"));
    }
}

/// root, no password, and no test that waits for ever.
pub fn options() -> Options {
    Options { timeout: Some(PATIENCE), ..Options::default() }
}

/// Asks until something that must happen has happened.
pub fn wait_for(what: &str, mut has: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !has() {
        assert!(Instant::now() < until, "{what}: it does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Something takes less than `bound`, in one of several tries: what else the machine does holds up any of them.
pub fn within(bound: Duration, what: &str, mut took: impl FnMut() -> Duration) {
    let tries: Vec<Duration> = std::iter::repeat_with(&mut took).take(12).take_while(|took| *took >= bound).collect();
    assert!(tries.len() < 12, "{what}: each of {tries:?} is more than {bound:?}");
}

/// Rows as text.
pub fn rows(c: &mut Connection, sql: &str) -> Vec<Vec<String>> {
    c.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).texts()
}

/// The single value of a query.
pub fn one(c: &mut Connection, sql: &str) -> String {
    rows(c, sql).remove(0).remove(0)
}

/// Runs a statement that must succeed.
pub fn run(c: &mut Connection, sql: &str) {
    c.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// The number of the error that a statement gives.
pub fn error(c: &mut Connection, sql: &str) -> u16 {
    match c.query(sql) {
        Ok(_) => 0,
        Err(e) => e.code().unwrap_or_else(|| panic!("{sql}: {e}")),
    }
}

/// The repository's root.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("three levels down")
}

/// A socket on which root has logged in with these capabilities beside the usual ones: for bytes of the test's own.
pub fn raw_login(r: &Running, capabilities: u32) -> std::os::unix::net::UnixStream {
    use gannet_wire::flags::cap;
    use std::io::{Read, Write};
    let mut s = std::os::unix::net::UnixStream::connect(r.server().socket().expect("a socket")).expect("it accepts");
    s.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let packet = |s: &mut std::os::unix::net::UnixStream| {
        let mut head = [0; 4];
        s.read_exact(&mut head).expect("a header");
        let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
        s.read_exact(&mut body).expect("a packet");
        body
    };
    packet(&mut s);
    let login = gannet_wire::handshake::Login {
        capabilities: cap::PROTOCOL_41 | cap::SECURE_CONNECTION | cap::PLUGIN_AUTH | capabilities,
        max_packet: 1 << 24,
        collation: 45,
        user: b"root".to_vec(),
        plugin: Some(b"caching_sha2_password".to_vec()),
        ..gannet_wire::handshake::Login::default()
    };
    let (mut out, mut sequence) = (Vec::new(), 1);
    login.write(&mut gannet_wire::frame::Writer::new(&mut out, &mut sequence));
    s.write_all(&out).expect("it reads");
    assert_eq!(packet(&mut s).first(), Some(&0), "OK");
    s
}
