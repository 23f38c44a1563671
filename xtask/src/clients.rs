//! `cargo xtask clients`: real clients, installed from the distribution and the language registries, against a running
//! server.
//!
//! Each client is one script in `tests/clients/`. A script installs what it needs, finds the server through
//! `GANNET_SOCKET`, `GANNET_PORT`, `GANNET_MEMCACHED_PORT` and `GANNET_BIN`, and fails by its exit status. Its last
//! line says what it did.
//!
//! The scripts in `tests/clients/suites/` run the tests of other projects, which takes minutes: only a filter that
//! names the folder (`suites`, `suites/django`) runs them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

/// Builds the release binary, and runs the clients with it.
pub fn run(root: &Path, args: &[String]) -> Result<String, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let isolation = format!("{} isolation", own.display());
    run_with(root, &build_release(root)?, args.first().map(String::as_str), &isolation)
}

/// Scripts that run at once: most of them wait for a client that waits for the server.
const LANES: usize = 2;

/// Starts a server on a fresh directory for every script whose name contains the filter, and runs it. `isolation`: the
/// command that tries the isolation levels of the server at `GANNET_SOCKET`; another build of this would take minutes.
pub fn run_with(root: &Path, bin: &Path, filter: Option<&str>, isolation: &str) -> Result<String, String> {
    let scripts = scripts(&root.join("tests/clients"), filter)?;
    let next = AtomicUsize::new(0);
    let lane = || {
        let mut failed = Vec::new();
        while let Some(script) = scripts.get(next.fetch_add(1, Ordering::Relaxed)) {
            if !run_script(root, bin, script, isolation)? {
                failed.push(name_of(script));
            }
        }
        Ok(failed)
    };
    let lanes = if scripts.iter().any(|s| s.parent().is_some_and(|p| p.ends_with("suites"))) { 1 } else { LANES };
    let failed: Vec<Result<Vec<String>, String>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        running.into_iter().map(|lane| lane.join().unwrap_or_else(|_| Err("a lane panicked".into()))).collect()
    });
    let failed: Vec<String> = failed.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    let line = format!("clients: {} passed, {} failed", scripts.len() - failed.len(), failed.len());
    if failed.is_empty() { Ok(line) } else { Err(format!("{line}: {}", failed.join(", "))) }
}

fn name_of(script: &Path) -> String {
    script.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Runs one script beside a server of its own, and prints what it has said; true when all went well.
fn run_script(root: &Path, bin: &Path, script: &Path, isolation: &str) -> Result<bool, String> {
    let name = name_of(script);
    let server = Server::start(bin, &name)?;
    let begin = Instant::now();
    let said = server.dir.join("script.log");
    let log = fs::File::create(&said).map_err(|e| e.to_string())?;
    let errors = log.try_clone().map_err(|e| e.to_string())?;
    let status = Command::new("bash")
        .arg(script)
        .env("GANNET_SOCKET", server.dir.join("gannet.sock"))
        .env("GANNET_PORT", server.port.to_string())
        .env("GANNET_MEMCACHED_PORT", server.memcached_port.to_string())
        .env("GANNET_DATADIR", server.dir.join("data"))
        .env("GANNET_BIN", bin)
        .env("GANNET_ISOLATION", isolation)
        .current_dir(root)
        .stdout(log)
        .stderr(errors)
        .status()
        .map_err(|e| format!("{}: {e}", script.display()))?;
    let said = fs::read_to_string(said).unwrap_or_default();
    let alive = server.stop();
    let seconds = begin.elapsed().as_secs_f64();
    if status.success() && alive {
        println!("{said}ok      {name} ({seconds:.1} s)");
    } else {
        println!(
            "{said}FAILED  {name} ({seconds:.1} s){}",
            if alive { "" } else { ": the server did not stop cleanly" }
        );
    }
    Ok(status.success() && alive)
}

/// Builds the release binary; where it is.
pub(crate) fn build_release(root: &Path) -> Result<PathBuf, String> {
    build(root, "release")
}

/// Builds the binary with a profile; where it is.
pub(crate) fn build(root: &Path, profile: &str) -> Result<PathBuf, String> {
    let build = ["build", "--profile", profile, "--package", "gannet"];
    let built = Command::new("cargo").args(build).current_dir(root).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err(format!("the {profile} build failed"));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), |dir| root.join(dir));
    Ok(target.join(profile).join("gannet"))
}

fn scripts(dir: &Path, filter: Option<&str>) -> Result<Vec<PathBuf>, String> {
    let suites = filter.is_some_and(|f| f.starts_with("suites"));
    let dir = if suites { &dir.join("suites") } else { dir };
    let entries = fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut scripts: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "sh"))
        .filter(|path| filter.is_none_or(|f| path.to_string_lossy().contains(f)))
        .collect();
    scripts.sort();
    if scripts.is_empty() { Err(format!("no client matches {filter:?}")) } else { Ok(scripts) }
}

struct Server {
    child: Child,
    dir: PathBuf,
    port: u16,
    memcached_port: u16,
}

impl Server {
    fn start(bin: &Path, name: &str) -> Result<Server, String> {
        let dir = std::env::temp_dir().join(format!("gannet-clients-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let (port, memcached_port) = (free_port()?, free_port()?);
        let log = fs::File::create(dir.join("server.log")).map_err(|e| e.to_string())?;
        let socket = dir.join("gannet.sock");
        let mut child = Command::new(bin)
            .arg("serve")
            .arg(format!("--datadir={}", dir.join("data").display()))
            .arg(format!("--socket={}", socket.display()))
            .arg(format!("--port={port}"))
            .arg("--max-connections=2000")
            .arg(format!("--memcached-port={memcached_port}"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|e| format!("{}: {e}", bin.display()))?;
        let deadline = Instant::now() + Duration::from_secs(120);
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            if Instant::now() > deadline || child.try_wait().is_ok_and(|status| status.is_some()) {
                let _ = child.kill();
                let log = fs::read_to_string(dir.join("server.log")).unwrap_or_default();
                return Err(format!("the server did not start:\n{log}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Server { child, dir, port, memcached_port })
    }

    /// Ends the server with SIGTERM; true when it ended by itself with status 0 and had not ended before.
    fn stop(mut self) -> bool {
        if self.child.try_wait().is_ok_and(|status| status.is_some()) {
            return false;
        }
        let _ = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    let _ = fs::remove_dir_all(&self.dir);
                    return status.success();
                }
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
                _ => {
                    let _ = self.child.kill();
                    return false;
                }
            }
        }
    }
}

/// A port that nobody listens on and that no connection of a client takes meanwhile: it is below those that the
/// system gives to outgoing connections (32768 and above unless told), because a workload opens thousands of
/// them between this look and the server's start, or while a suite starts its server again.
fn free_port() -> Result<u16, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(17);
    for _ in 0..PORTS {
        let turn = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = 20_000 + (turn % PORTS) as u16;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err("no port is free".into())
}

const PORTS: u32 = 10_000;
