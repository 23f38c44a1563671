//! `gannet bench micro`: one shape of statement at a time, against any servers that speak MySQL, in turn.
//!
//! The tables are sysbench's, the shapes those of the field's microbenchmarks: reads and changes by key, by lists of
//! keys, by ranges, and transactions made of these.

pub mod insert;
mod shapes;

use crate::pressure::Random;
use gannet_wire::client::{Address, Connection, Options as Login};
use shapes::{SHAPES, Shape, Statements};
use std::{
    fmt::Write,
    sync::{
        Barrier, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Text of `gannet bench micro --help`.
pub const HELP: &str = "\
gannet bench micro [prepare|run|all] --server NAME=SOCKET[,PID] ... [options]

  --server NAME=SOCKET[,PID]   a server to measure, by its UNIX socket; with its process number the processor time of
                               the server is told, too. Repeat it: the servers are measured in turn, shape by shape,
                               and the others are compared with the last one
  --user NAME --password TEXT  default: root, none
  --tables N --rows N          default: 4 tables of 200000 rows
  --clients N                  default: 1
  --seconds N                  of one measurement (default: 3)
  --rounds N                   medians of so many (default: 1)
  --events N                   so many statements of each client in place of seconds
  --only TEXT                  shapes whose names contain it; the one whose name it is alone

Works in database gannet_micro, made anew by prepare. One line a shape: events a second, and the server's processor
time in microseconds an event.
";

const DATABASE: &str = "gannet_micro";

/// Result of a step; the error is the message for the user.
type Outcome<T> = Result<T, String>;

struct Options {
    servers: Vec<Server>,
    login: Login,
    tables: u64,
    rows: u64,
    clients: usize,
    seconds: u64,
    rounds: usize,
    events: Option<u64>,
    only: String,
}

struct Server {
    name: String,
    socket: String,
    pid: Option<u32>,
}

impl Options {
    fn parse(args: &[String], help: &str) -> Outcome<(String, Options)> {
        let mut options = Options {
            servers: Vec::new(),
            login: Login { timeout: Some(Duration::from_secs(120)), ..Login::default() },
            tables: 4,
            rows: 200_000,
            clients: 1,
            seconds: 3,
            rounds: 1,
            events: None,
            only: String::new(),
        };
        options.login.user = "root".to_owned();
        let mut command = "all".to_owned();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let Some(name) = arg.strip_prefix("--") else {
                command.clone_from(arg);
                continue;
            };
            let value = args.next().ok_or(format!("--{name} wants a value"))?.clone();
            let number = || value.parse::<u64>().map_err(|_| format!("--{name}: {value} is not a number"));
            match name {
                "server" => options.servers.push(server(&value)?),
                "user" => options.login.user = value,
                "password" => options.login.password = value,
                "tables" => options.tables = number()?.max(1),
                "rows" => options.rows = number()?.max(1000),
                "clients" => options.clients = number()?.max(1) as usize,
                "seconds" => options.seconds = number()?.max(1),
                "rounds" => options.rounds = number()?.max(1) as usize,
                "events" => options.events = Some(number()?),
                "only" => options.only = value,
                _ => return Err(format!("unknown option --{name}\n\n{help}")),
            }
        }
        if options.servers.is_empty() || !["prepare", "run", "all"].contains(&command.as_str()) {
            return Err(help.to_owned());
        }
        Ok((command, options))
    }

    fn connect(&self, server: &Server) -> Outcome<Connection> {
        Connection::connect(&Address::Unix(server.socket.as_str().into()), &self.login)
            .map_err(|e| format!("{}: {e}", server.name))
    }
}

fn server(text: &str) -> Outcome<Server> {
    let (name, rest) = text.split_once('=').ok_or(format!("--server {text}: NAME=SOCKET[,PID]"))?;
    let (socket, pid) = match rest.split_once(',') {
        None => (rest, None),
        Some((socket, pid)) => (socket, Some(pid.parse().map_err(|_| format!("{pid} is not a process number"))?)),
    };
    Ok(Server { name: name.to_owned(), socket: socket.to_owned(), pid })
}

/// Runs `bench micro`; the error is the message for the user.
pub fn run(args: &[String]) -> Outcome<()> {
    if args.iter().any(|a| a == "--help" || a == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let (command, options) = Options::parse(args, HELP)?;
    if command != "run" {
        options.servers.iter().try_for_each(|server| prepare(&options, server))?;
    }
    if command != "prepare" {
        measure(&options)?;
    }
    Ok(())
}

fn query(connection: &mut Connection, sql: &str) -> Outcome<()> {
    connection.query(sql).map(drop).map_err(|e| format!("{}: {e}", sql.chars().take(100).collect::<String>()))
}

/// Rows of one INSERT.
const BULK: u64 = 1000;

fn prepare(options: &Options, server: &Server) -> Outcome<()> {
    let mut c = options.connect(server)?;
    query(&mut c, &format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    query(&mut c, &format!("CREATE DATABASE {DATABASE}"))?;
    query(&mut c, &format!("USE {DATABASE}"))?;
    let mut random = Random::new(1);
    for table in 1..=options.tables {
        let columns = "id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', \
                       pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id)";
        query(&mut c, &format!("CREATE TABLE t{table} ({columns}) ENGINE = InnoDB"))?;
        let mut at = 0;
        while at < options.rows {
            let mut sql = format!("INSERT INTO t{table} (id, k, c, pad) VALUES");
            for id in at + 1..=(at + BULK).min(options.rows) {
                let k = random.below(options.rows as usize) + 1;
                let (c, pad) = (digits(&mut random, 10), digits(&mut random, 5));
                let _ = write!(sql, "{}({id},{k},'{c}','{pad}')", if id > at + 1 { "," } else { "" });
            }
            query(&mut c, &sql)?;
            at += BULK;
        }
        query(&mut c, &format!("CREATE INDEX k ON t{table} (k)"))?;
        query(&mut c, &format!("ANALYZE TABLE t{table}"))?;
    }
    Ok(())
}

/// Groups of eleven digits, as sysbench makes them.
pub(crate) fn digits(random: &mut Random, groups: usize) -> String {
    let group = |_| format!("{:011}", random.below(100_000_000_000));
    (0..groups).map(group).collect::<Vec<_>>().join("-")
}

/// One measurement of a server.
#[derive(Clone, Copy, Default)]
struct Figure {
    rate: f64,
    /// Microseconds of the server's processor time an event.
    cpu: f64,
}

fn print_head(of: &str, options: &Options) {
    let mut head = format!("| {of} |");
    for server in &options.servers {
        let _ = write!(head, " {0}/s | {0} CPU us |", server.name);
    }
    println!("{head} rate | CPU |\n|---|{}--:|--:|", "--:|--:|".repeat(options.servers.len()));
}

/// The figures of all servers, and the first one's as multiples of the last one's.
fn line(name: &str, figures: &[Figure]) -> String {
    let mut line = format!("| {name} |");
    for figure in figures {
        let _ = write!(line, " {:.0} | {:.1} |", figure.rate, figure.cpu);
    }
    if let [first, .., last] = figures {
        let _ = write!(line, " {:.2} | {:.2} |", first.rate / last.rate, first.cpu / last.cpu);
    }
    line
}

fn measure(options: &Options) -> Outcome<()> {
    print_head("shape", options);
    let (mut rates, mut shares) = (Vec::new(), Vec::new());
    let exact = SHAPES.iter().any(|s| s.name == options.only);
    let wanted = |s: &&Shape| if exact { s.name == options.only } else { s.name.contains(&options.only) };
    for shape in SHAPES.iter().filter(wanted) {
        let mut figures = vec![Vec::new(); options.servers.len()];
        for _ in 0..options.rounds {
            for (server, figures) in options.servers.iter().zip(&mut figures) {
                figures.push(load(options, server, shape).map_err(|e| format!("{}: {e}", shape.name))?);
            }
        }
        let figures: Vec<Figure> = figures.iter_mut().map(|f| median(f)).collect();
        if let [first, .., last] = &figures[..] {
            rates.push(first.rate / last.rate);
            shares.push(first.cpu / last.cpu);
        }
        println!("{}", line(shape.name, &figures));
    }
    let mean = |all: &[f64]| (all.iter().map(|x| x.ln()).sum::<f64>() / all.len() as f64).exp();
    if !rates.is_empty() {
        println!("geometric means of the first against the last: rate {:.2}, CPU {:.2}", mean(&rates), mean(&shares));
    }
    Ok(())
}

fn median(figures: &mut [Figure]) -> Figure {
    let middle = |mut all: Vec<f64>| {
        all.sort_unstable_by(f64::total_cmp);
        all[all.len() / 2]
    };
    Figure {
        rate: middle(figures.iter().map(|f| f.rate).collect()),
        cpu: middle(figures.iter().map(|f| f.cpu).collect()),
    }
}

/// Runs a shape by all clients for a while.
fn load(options: &Options, server: &Server, shape: &Shape) -> Outcome<Figure> {
    let (stop, start) = (AtomicBool::new(false), Barrier::new(options.clients + 1));
    let total = Mutex::new(0u64);
    let client = |n: usize| -> Outcome<()> {
        let ready = (|| {
            let mut c = options.connect(server)?;
            query(&mut c, &format!("USE {DATABASE}"))?;
            let mut statements = Statements::new(c, options.tables, options.rows, n);
            // What it prepares, and the pages that it reads first, are not measured.
            (0..3).try_for_each(|_| (shape.event)(&mut statements))?;
            Ok::<_, String>(statements)
        })();
        start.wait();
        let mut statements = ready?;
        let mut done = 0;
        while options.events.map_or(!stop.load(Relaxed), |events| done < events) {
            (shape.event)(&mut statements)?;
            done += 1;
        }
        *total.lock().unwrap_or_else(|e| e.into_inner()) += done;
        Ok(())
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..options.clients).map(|n| scope.spawn(move || client(n))).collect();
        start.wait();
        let (begin, cpu) = (Instant::now(), cpu_us(server));
        if options.events.is_none() {
            std::thread::sleep(Duration::from_secs(options.seconds));
            stop.store(true, Relaxed);
        }
        let outcomes: Vec<_> =
            clients.into_iter().map(|c| c.join().unwrap_or_else(|_| Err("a client panicked".into()))).collect();
        let (seconds, cpu) = (begin.elapsed().as_secs_f64(), cpu_us(server) - cpu);
        outcomes.into_iter().collect::<Outcome<()>>()?;
        let done = *total.lock().unwrap_or_else(|e| e.into_inner()) as f64;
        Ok(Figure { rate: done / seconds, cpu: cpu / done })
    })
}

/// Processor time that the server has used, in microseconds; without its number nothing.
fn cpu_us(server: &Server) -> f64 {
    let Some(pid) = server.pid else { return f64::NAN };
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Behind the name in brackets: state is the third field, user and system time the 14th and 15th, in hundredths.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) * 10_000.0
}
