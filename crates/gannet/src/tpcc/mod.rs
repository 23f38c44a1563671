//! `gannet bench tpcc`: TPC-C against any server that speaks MySQL.
//!
//! The transactions, the mix, the population and the twelve consistency conditions are those of the specification
//! (revision 5.11); terminals do not wait for keying and thinking, so a figure here is a comparison of servers on one
//! machine, not a tpmC.

mod check;
mod client;
mod random;
mod schema;
mod transactions;

use client::{Client, Outcome};
use random::Random;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use transactions::{End, Kind, Terminal};

/// Text of `gannet bench tpcc --help`.
pub const HELP: &str = "\
gannet bench tpcc [prepare|run|check|all] [options]

  --socket PATH | --host HOST --port N    the server (default: 127.0.0.1:3306)
  --user NAME --password TEXT             default: root, none
  --database NAME                         default: tpcc
  --warehouses N                          default: 4
  --terminals N                           default: 16
  --seconds N                             default: 300
  --seed N                                default: 1

prepare loads the tables and checks them, run measures, check verifies the twelve consistency conditions, all does
the three in turn. The exit status is 1 when a condition does not hold or a transaction fails for another reason than
a deadlock or a lock wait timeout (which are run again and counted).
";

/// What to measure, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// prepare, run, check, all.
    pub command: String,
    /// UNIX socket; TCP without one.
    pub socket: Option<String>,
    /// TCP host.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Account.
    pub user: String,
    /// Its password.
    pub password: String,
    /// Database, made anew by `prepare`.
    pub database: String,
    /// Scale.
    pub warehouses: u64,
    /// Connections.
    pub terminals: usize,
    /// Length of the measurement.
    pub seconds: u64,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Options {
    /// From the words after `bench tpcc`.
    pub fn parse(args: &[String]) -> Result<Options, String> {
        let mut options = Options {
            command: "all".to_owned(),
            socket: None,
            host: "127.0.0.1".to_owned(),
            port: 3306,
            user: "root".to_owned(),
            password: String::new(),
            database: "tpcc".to_owned(),
            warehouses: 4,
            terminals: 16,
            seconds: 300,
            seed: 1,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let Some(name) = arg.strip_prefix("--") else {
                options.command = arg.clone();
                continue;
            };
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (name, args.next().ok_or(format!("--{name} wants a value"))?.clone()),
            };
            let number = || value.parse::<u64>().map_err(|_| format!("--{name}: {value} is not a number"));
            match name {
                "socket" => options.socket = Some(value),
                "host" => options.host = value,
                "port" => options.port = number()?.try_into().map_err(|_| format!("--port: {value} is too large"))?,
                "user" => options.user = value,
                "password" => options.password = value,
                "database" => options.database = value,
                "warehouses" => options.warehouses = number()?.max(1),
                "terminals" => options.terminals = number()?.max(1) as usize,
                "seconds" => options.seconds = number()?.max(1),
                "seed" => options.seed = number()?,
                _ => return Err(format!("unknown option --{name}\n\n{HELP}")),
            }
        }
        match options.command.as_str() {
            "prepare" | "run" | "check" | "all" => Ok(options),
            other => Err(format!("unknown command {other}\n\n{HELP}")),
        }
    }

    fn connect(&self) -> Outcome<Client> {
        Client::connect(self)
    }

    fn connect_database(&self) -> Outcome<Client> {
        let mut client = self.connect()?;
        client.run(&format!("USE {}", self.database))?;
        Ok(client)
    }
}

/// Runs `bench tpcc`; the error is the message for the user.
pub fn run(args: &[String]) -> Result<(), String> {
    if args.iter().any(|a| a == "--help" || a == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let options = Options::parse(args)?;
    let all = options.command == "all";
    if all || options.command == "prepare" {
        prepare(&options).map_err(|e| e.to_string())?;
        conditions(&options, true)?;
    }
    if all || options.command == "run" {
        measure(&options)?;
    }
    if all || options.command == "check" {
        conditions(&options, false)?;
    }
    Ok(())
}

fn prepare(options: &Options) -> Outcome<()> {
    let begin = Instant::now();
    let mut client = options.connect()?;
    schema::create(&mut client, &options.database)?;
    schema::load_items(&mut client, &mut Random::new(options.seed))?;
    let next = AtomicUsize::new(1);
    std::thread::scope(|scope| {
        let loaders: Vec<_> = (0..options.warehouses.min(4))
            .map(|_| {
                scope.spawn(|| -> Outcome<()> {
                    let mut client = options.connect_database()?;
                    loop {
                        let w = next.fetch_add(1, Ordering::Relaxed) as u64;
                        if w > options.warehouses {
                            return Ok(());
                        }
                        schema::load_warehouse(&mut client, &mut Random::new(options.seed + w), w)?;
                    }
                })
            })
            .collect();
        loaders.into_iter().try_for_each(|l| l.join().unwrap_or_else(|_| Err("a loader panicked".into())))
    })?;
    println!("loaded {} warehouses in {:.1} s", options.warehouses, begin.elapsed().as_secs_f64());
    Ok(())
}

fn conditions(options: &Options, initial: bool) -> Result<(), String> {
    let mut client = options.connect_database().map_err(|e| e.to_string())?;
    let results = check::check(&mut client, initial).map_err(|e| e.to_string())?;
    let faults: Vec<String> =
        results.iter().filter_map(|(n, r)| r.as_ref().err().map(|e| format!("condition {n}: {e}"))).collect();
    if faults.is_empty() {
        println!("all {} consistency conditions hold", results.len());
        Ok(())
    } else {
        Err(format!("{} of {} consistency conditions do not hold\n{}", faults.len(), results.len(), faults.join("\n")))
    }
}

/// What one terminal, or all together, did.
#[derive(Default, Clone)]
struct Tally {
    committed: [u64; 5],
    rolled_back: u64,
    retried: u64,
    /// Latencies of new orders in microseconds.
    latencies_us: Vec<u32>,
}

impl Tally {
    fn merge(&mut self, other: &Tally) {
        for (mine, theirs) in self.committed.iter_mut().zip(other.committed) {
            *mine += theirs;
        }
        self.rolled_back += other.rolled_back;
        self.retried += other.retried;
        self.latencies_us.extend_from_slice(&other.latencies_us);
    }
}

fn measure(options: &Options) -> Result<(), String> {
    let stop = Arc::new(AtomicBool::new(false));
    let total = Mutex::new(Tally::default());
    let mut terminals = Vec::new();
    for n in 0..options.terminals {
        let home = n as u64 % options.warehouses + 1;
        let client = options.connect_database().map_err(|e| e.to_string())?;
        let seed = options.seed.wrapping_mul(1_000_003) + n as u64;
        terminals.push(Terminal::new(client, seed, options.warehouses, home).map_err(|e| e.to_string())?);
    }
    let begin = Instant::now();
    let end = begin + Duration::from_secs(options.seconds);
    let outcome = std::thread::scope(|scope| {
        let runs: Vec<_> =
            terminals.into_iter().map(|terminal| scope.spawn(|| terminal_loop(terminal, &stop, end, &total))).collect();
        runs.into_iter().try_for_each(|r| r.join().unwrap_or_else(|_| Err("a terminal panicked".into())))
    });
    outcome.map_err(|e| e.to_string())?;
    let seconds = begin.elapsed().as_secs_f64();
    let mut tally = total.into_inner().map_err(|e| e.to_string())?;
    report(options, seconds, &mut tally);
    Ok(())
}

fn terminal_loop(mut terminal: Terminal, stop: &AtomicBool, end: Instant, total: &Mutex<Tally>) -> Outcome<()> {
    let mut tally = Tally::default();
    let outcome = (|| {
        while !stop.load(Ordering::Relaxed) && Instant::now() < end {
            let kind = terminal.draw();
            let begin = Instant::now();
            match terminal.run(kind) {
                Ok(End::Committed) => tally.committed[kind as usize] += 1,
                Ok(End::RolledBack) => tally.rolled_back += 1,
                Err(error) if error.is_transient() => {
                    tally.retried += 1;
                    continue;
                }
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
            if kind == Kind::NewOrder {
                tally.latencies_us.push(begin.elapsed().as_micros().min(u128::from(u32::MAX)) as u32);
            }
        }
        Ok(())
    })();
    if let Ok(mut total) = total.lock() {
        total.merge(&tally);
    }
    outcome
}

fn report(options: &Options, seconds: f64, tally: &mut Tally) {
    tally.latencies_us.sort_unstable();
    let at = |share: f64| {
        let n = tally.latencies_us.len();
        tally
            .latencies_us
            .get(((n as f64 * share) as usize).min(n.saturating_sub(1)))
            .map_or(0.0, |us| f64::from(*us) / 1e3)
    };
    let all: u64 = tally.committed.iter().sum();
    println!(
        "{} warehouses, {} terminals, {seconds:.0} s: {:.1} transactions/s, {:.0} new orders/min",
        options.warehouses,
        options.terminals,
        all as f64 / seconds,
        tally.committed[Kind::NewOrder as usize] as f64 / seconds * 60.0,
    );
    for (kind, _) in Kind::MIX {
        println!("  {kind:?}: {}", tally.committed[kind as usize]);
    }
    println!(
        "  rolled back as specified: {}, run again after a deadlock or timeout: {}; new order latency ms: p50 {:.2} p95 {:.2} p99 {:.2}",
        tally.rolled_back,
        tally.retried,
        at(0.50),
        at(0.95),
        at(0.99)
    );
}
