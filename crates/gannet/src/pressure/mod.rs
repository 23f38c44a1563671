//! `gannet bench pressure`: what a server does when many want the same thing, against any server that speaks MySQL.

mod hotrow;
mod queue;
mod readers;
mod storm;

use gannet_wire::client::{Address, Connection, Error, Options as Login};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

/// Text of `gannet bench pressure --help`.
pub const HELP: &str = "\
gannet bench pressure hotrow|queue|storm|readers [options]

  --socket PATH | --host HOST --port N    the server (default: 127.0.0.1:3306)
  --user NAME --password TEXT             default: root, none
  --seconds N                             length of each measurement (default: 5)
  --sessions N                            default: hotrow 1024, queue 64, storm 1000, readers 1000
  --rows N                                queue: rows to take (default: 20000)
  --open N                                storm: open transactions (default: 10000)
  --from N                                hotrow: connections to begin with (default: 1)
  --server-pid N                          hotrow: tell the processor time of this process, too

hotrow    one row updated from 1, 2, 4, ... SESSIONS connections: rates, and that no update is lost
queue     SESSIONS connections take rows by SELECT ... FOR UPDATE SKIP LOCKED LIMIT 1: every row once, no deadlock
storm     statements beside OPEN transactions, and beside those that took their places, nine times; a ring of SESSIONS
          transactions, each waiting for the next; SESSIONS connections that lock pairs of rows in any order
readers   updates beside SESSIONS open snapshots: rates, length of the history, and how soon it is short again

Works in database gannet_pressure, made anew. The exit status is 1 when something is lost, hangs or fails as it should not.
";

const DATABASE: &str = "gannet_pressure";
/// How many transactions wait to be purged.
const HISTORY: &str = "SELECT count FROM information_schema.INNODB_METRICS WHERE name = 'trx_rseg_history_len'";

/// What to do, and where.
#[derive(Clone)]
struct Options {
    address: Option<Address>,
    host: String,
    port: u16,
    login: Login,
    seconds: u64,
    sessions: Option<usize>,
    rows: usize,
    open: usize,
    from: usize,
    server_pid: Option<u64>,
}

/// Result of a step; the error is the message for the user.
type Outcome<T> = Result<T, String>;

impl Options {
    fn parse(args: &[String]) -> Outcome<Options> {
        let mut options = Options {
            address: None,
            host: "127.0.0.1".to_owned(),
            port: 3306,
            login: Login { timeout: Some(Duration::from_secs(120)), ..Login::default() },
            seconds: 5,
            sessions: None,
            rows: 20_000,
            open: 10_000,
            from: 1,
            server_pid: None,
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
                "socket" => options.address = Some(Address::Unix(value.into())),
                "host" => options.host = value,
                "port" => options.port = number()?.try_into().map_err(|_| format!("--port: {value} is too large"))?,
                "user" => options.login.user = value,
                "password" => options.login.password = value,
                "seconds" => options.seconds = number()?.max(1),
                "sessions" => options.sessions = Some(number()?.max(1) as usize),
                "rows" => options.rows = number()?.max(1) as usize,
                "from" => options.from = number()?.max(1) as usize,
                "server-pid" => options.server_pid = Some(number()?),
                "open" => options.open = number()? as usize,
                _ => return Err(format!("unknown option --{name}\n\n{HELP}")),
            }
        }
        Ok(options)
    }

    fn connect(&self) -> Outcome<Connection> {
        let mut connection = Connection::connect(&self.address(), &self.login).map_err(|e| e.to_string())?;
        run(&mut connection, &format!("USE {DATABASE}"))?;
        Ok(connection)
    }

    /// Makes the database.
    fn prepare(&self) -> Outcome<()> {
        let mut connection = Connection::connect(&self.address(), &self.login).map_err(|e| e.to_string())?;
        run(&mut connection, &format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        run(&mut connection, &format!("CREATE DATABASE {DATABASE}"))
    }

    fn address(&self) -> Address {
        self.address.clone().unwrap_or_else(|| Address::Tcp(self.host.clone(), self.port))
    }

    /// Connections that did `begin` each.
    fn many(&self, count: usize, begin: &[&str]) -> Outcome<Vec<Connection>> {
        let open = |n| {
            let mut connection = self.connect().map_err(|e| format!("connection {n}: {e}"))?;
            begin.iter().try_for_each(|sql| run(&mut connection, sql))?;
            Ok(connection)
        };
        (0..count).map(open).collect()
    }

    fn span(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// Runs `bench pressure`; the error is the message for the user.
pub fn run_words(words: &[String]) -> Outcome<()> {
    let Some((what, args)) = words.split_first().filter(|_| !words.iter().any(|w| w == "--help" || w == "-h")) else {
        print!("{HELP}");
        return Ok(());
    };
    let options = Options::parse(args)?;
    gannet_runtime::raise_descriptor_limit().map_err(|e| e.to_string())?;
    options.prepare()?;
    match what.as_str() {
        "hotrow" => hotrow::run(&options),
        "queue" => queue::run(&options),
        "storm" => storm::run(&options),
        "readers" => readers::run(&options),
        other => Err(format!("unknown workload {other}\n\n{HELP}")),
    }
}

/// Runs a statement that must succeed.
fn run(connection: &mut Connection, sql: &str) -> Outcome<()> {
    connection.query(sql).map(|_| ()).map_err(|e| format!("{sql}: {e}"))
}

/// The first value of a query's first row.
fn number(connection: &mut Connection, sql: &str) -> Outcome<i64> {
    let rows = connection.query(sql).map_err(|e| format!("{sql}: {e}"))?.texts();
    let value = rows.first().and_then(|r| r.last()).and_then(|v| v.parse().ok());
    value.ok_or_else(|| format!("{sql}: no number"))
}

/// Random numbers (xorshift64, Marsaglia 2003).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: usize) -> Random {
        Random((seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// What clients did.
#[derive(Default)]
struct Tally {
    /// Successes.
    done: u64,
    /// Deadlock victims (error 1213).
    victims: u64,
    /// Microseconds that calls took.
    micros: Vec<u32>,
}

impl Tally {
    fn took(&mut self, since: Instant) {
        self.micros.push(since.elapsed().as_micros().min(u128::from(u32::MAX)) as u32);
    }

    fn merge(&mut self, other: Tally) {
        self.done += other.done;
        self.victims += other.victims;
        self.micros.extend(other.micros);
    }

    /// Latencies in milliseconds: median, 99 %, greatest.
    fn latencies(&self) -> String {
        let mut micros = self.micros.clone();
        micros.sort_unstable();
        let at = |share: f64| {
            let n = ((micros.len() as f64 * share) as usize).min(micros.len().saturating_sub(1));
            micros.get(n).map_or(0.0, |us| f64::from(*us) / 1e3)
        };
        format!("ms: p50 {:.2}, p99 {:.2}, greatest {:.2}", at(0.5), at(0.99), at(1.0))
    }
}

/// Gives each connection a thread that calls `client` until the time is over or one fails; what all did together, and
/// in how long.
fn load<F>(connections: Vec<Connection>, span: Duration, client: F) -> Outcome<(Tally, f64)>
where
    F: Fn(usize, &mut Connection, &AtomicBool, &mut Tally) -> Outcome<()> + Sync,
{
    let stop = AtomicBool::new(false);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let mut clients = Vec::new();
        for (n, mut connection) in connections.into_iter().enumerate() {
            let (stop, client) = (&stop, &client);
            let body = move || -> Outcome<Tally> {
                let mut tally = Tally::default();
                let outcome = client(n, &mut connection, stop, &mut tally);
                if outcome.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
                outcome.map(|()| tally)
            };
            let spawned = std::thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, body);
            clients.push(spawned.map_err(|e| format!("cannot start a thread: {e}")));
        }
        while !stop.load(Ordering::Relaxed) && begin.elapsed() < span && !span.is_zero() {
            std::thread::sleep(Duration::from_millis(10).min(span));
        }
        // A span of zero: the clients end by themselves.
        if !span.is_zero() {
            stop.store(true, Ordering::Relaxed);
        }
        let mut total = Tally::default();
        let mut fault = Ok(());
        for client in clients {
            match client.map(|c| c.join().unwrap_or_else(|_| Err("a client panicked".into()))).and_then(|r| r) {
                Ok(tally) => total.merge(tally),
                Err(e) => fault = Err(e),
            }
        }
        fault.map(|()| (total, begin.elapsed().as_secs_f64()))
    })
}

/// The error is a deadlock.
fn is_deadlock(error: &Error) -> bool {
    error.code() == Some(1213)
}
