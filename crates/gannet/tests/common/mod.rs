//! A server of the real binary in a directory of its own.

use gannet_wire::client::{Address, Connection, Error, Options};
use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A directory that goes away with the value.
pub struct Dir(pub PathBuf);

impl Dir {
    pub fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("gannet-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a directory");
        Dir(dir)
    }

    pub fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.0.join("server.log")).unwrap_or_default()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

pub struct Server {
    pub child: Child,
    socket: PathBuf,
}

impl Server {
    /// Starts the server; the error is what it said when it ended instead. `wrap` is a shell line before `exec`.
    pub fn try_start(dir: &Dir, name: &str, wrap: &str, options: &[&str]) -> Result<Server, String> {
        let socket = dir.0.join(format!("{name}.sock"));
        let _ = std::fs::remove_file(&socket);
        let log = dir.0.join("server.log");
        let mut child = Command::new("bash")
            .args(["-c", &format!("{wrap}\nexec \"$@\""), "bash", env!("CARGO_BIN_EXE_gannet"), "serve"])
            .arg(format!("--datadir={}", dir.data().display()))
            .arg(format!("--socket={}", socket.display()))
            .args(["--skip-networking", "--innodb-buffer-pool-size=16M", "--innodb-redo-log-capacity=32M"])
            .args(options)
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).expect("a log"))
            .spawn()
            .expect("bash starts");
        let deadline = Instant::now() + Duration::from_secs(180);
        loop {
            if connect(&socket).is_ok() {
                return Ok(Server { child, socket });
            }
            if let Some(status) = child.try_wait().expect("a child") {
                let text = std::fs::read_to_string(&log).unwrap_or_default();
                assert!(!status.success() && status.code() == Some(1), "{status}: {text}");
                assert!(!text.contains("panicked"), "{text}");
                return Err(text);
            }
            assert!(Instant::now() < deadline, "no connection: {}", dir.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn start(dir: &Dir) -> Server {
        Server::try_start(dir, "s", "", &[]).unwrap_or_else(|e| panic!("the server did not start: {e}"))
    }

    pub fn connect(&self) -> Connection {
        connect(&self.socket).expect("a connection")
    }

    /// SIGTERM; the server must end by itself, with status 0.
    pub fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().is_ok_and(|s| s.success()));
        let deadline = Instant::now() + Duration::from_secs(180);
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                assert!(status.success(), "{status}");
                return;
            }
            assert!(Instant::now() < deadline, "the server does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn kill(mut self) {
        self.child.kill().expect("kill -9");
        self.child.wait().expect("the process ends");
    }
}

fn connect(socket: &Path) -> Result<Connection, Error> {
    let options = Options { timeout: Some(Duration::from_secs(180)), ..Options::default() };
    Connection::connect(&Address::Unix(socket.into()), &options)
}

/// The only value of the only row.
pub fn one(db: &mut Connection, sql: &str) -> String {
    let rows = db.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).texts();
    rows[0][0].clone()
}
