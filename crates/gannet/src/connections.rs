//! `gannet bench connections`: many connections, of which few are busy.

use gannet_wire::client::{Address, Connection, Options as Login};
use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Text of `gannet bench connections --help`.
pub const HELP: &str = "\
gannet bench connections [options]

  --socket PATH | --host HOST --port N    the server (default: 127.0.0.1:3306)
  --user NAME --password TEXT             default: root, none
  --idle N                                connections that ran one statement and stay open (default: 10000)
  --busy N                                connections that select without pause (default: 8)
  --seconds N                             length of each measurement (default: 5)
  --pid N                                 the server's process, to show its resident memory

Measures the busy connections alone, then beside the idle ones, then has every idle connection run a statement again.
";

struct Options {
    socket: Option<String>,
    host: String,
    port: u16,
    login: Login,
    idle: usize,
    busy: usize,
    seconds: u64,
    pid: Option<u64>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Options, String> {
        let mut options = Options {
            socket: None,
            host: "127.0.0.1".to_owned(),
            port: 3306,
            login: Login { user: "root".to_owned(), ..Login::default() },
            idle: 10_000,
            busy: 8,
            seconds: 5,
            pid: None,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let name = arg.strip_prefix("--").ok_or_else(|| format!("unknown word {arg}\n\n{HELP}"))?;
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (name, args.next().ok_or(format!("--{name} wants a value"))?.clone()),
            };
            let number = || value.parse::<u64>().map_err(|_| format!("--{name}: {value} is not a number"));
            match name {
                "socket" => options.socket = Some(value),
                "host" => options.host = value,
                "port" => options.port = number()?.try_into().map_err(|_| format!("--port: {value} is too large"))?,
                "user" => options.login.user = value,
                "password" => options.login.password = value,
                "idle" => options.idle = number()? as usize,
                "busy" => options.busy = number()?.max(1) as usize,
                "seconds" => options.seconds = number()?.max(1),
                "pid" => options.pid = Some(number()?),
                _ => return Err(format!("unknown option --{name}\n\n{HELP}")),
            }
        }
        Ok(options)
    }

    fn connect(&self) -> Result<Connection, String> {
        let address = match &self.socket {
            Some(path) => Address::Unix(path.into()),
            None => Address::Tcp(self.host.clone(), self.port),
        };
        Connection::connect(&address, &self.login).map_err(|e| e.to_string())
    }

    fn resident(&self) -> String {
        let Some(pid) = self.pid else { return String::new() };
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let kib = status.lines().find_map(|l| l.strip_prefix("VmRSS:")?.trim().strip_suffix("kB")?.trim().parse().ok());
        kib.map_or(String::new(), |kib: u64| format!(", server resident {:.1} MiB", kib as f64 / 1024.0))
    }
}

/// Runs `bench connections`; the error is the message for the user.
pub fn run(args: &[String]) -> Result<(), String> {
    if args.iter().any(|a| a == "--help" || a == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let options = Options::parse(args)?;
    gannet_runtime::raise_descriptor_limit().map_err(|e| e.to_string())?;
    println!("{} busy alone: {:.0} statements/s{}", options.busy, rate(&options)?, options.resident());
    let begin = Instant::now();
    let mut idle = Vec::with_capacity(options.idle);
    for n in 0..options.idle {
        let mut connection = options.connect().map_err(|e| format!("connection {n}: {e}"))?;
        connection.query("SELECT 1").map_err(|e| format!("connection {n}: {e}"))?;
        idle.push(connection);
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{} connections opened in {seconds:.1} s, one statement each{}", idle.len(), options.resident());
    println!("{} busy beside them: {:.0} statements/s{}", options.busy, rate(&options)?, options.resident());
    let begin = Instant::now();
    for (n, connection) in idle.iter_mut().enumerate() {
        connection.query("SELECT 1").map_err(|e| format!("connection {n}: {e}"))?;
    }
    println!("all of them answer again: {:.1} s{}", begin.elapsed().as_secs_f64(), options.resident());
    Ok(())
}

/// Statements a second of the busy connections.
fn rate(options: &Options) -> Result<f64, String> {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let busy = (0..options.busy).map(|_| options.connect()).collect::<Result<Vec<_>, _>>()?;
    let begin = Instant::now();
    let outcome = std::thread::scope(|scope| {
        let clients: Vec<_> = busy
            .into_iter()
            .map(|mut connection| {
                let (stop, done) = (&stop, &done);
                scope.spawn(move || -> Result<(), String> {
                    let mut n = 0;
                    while !stop.load(Ordering::Relaxed) {
                        connection.query("SELECT 1").map_err(|e| e.to_string())?;
                        n += 1;
                    }
                    done.fetch_add(n, Ordering::Relaxed);
                    Ok(())
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs(options.seconds));
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().try_for_each(|c| c.join().unwrap_or_else(|_| Err("a client panicked".into())))
    });
    outcome.map(|()| done.into_inner() as f64 / begin.elapsed().as_secs_f64())
}
