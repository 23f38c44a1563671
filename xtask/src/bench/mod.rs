//! `cargo xtask bench tpch|operators`: analytic queries on servers that are running, each query on one after the other;
//! their answers are compared.

mod data;
mod operators;
mod tpch;

use gannet_wire::client::{Address, Connection, Options as Login, ResultSet};
use std::{
    fmt::Write,
    fs,
    time::{Duration, Instant},
};

const USAGE: &str = "\
cargo xtask bench tpch|operators --server NAME=SOCKET[,PID]... [--scale F] [--rounds N] [--only NAME] [--keep]

  --server   by its UNIX socket, user root without a password; with its process number processor time is told
  --scale    of the data: 1 is 6,000,000 lines of orders, or 1,000,000 rows (default: 0.1 for tpch, 1 for operators)
  --rounds   the best of so many (default: 3)
  --only     one query
  --keep     the data is there from an earlier run
";

const BATCH_BYTES: usize = 500_000;

struct Server {
    name: String,
    pid: Option<u32>,
    connection: Connection,
}

struct Wish {
    servers: Vec<Server>,
    scale: f64,
    rounds: u32,
    only: Option<String>,
    keep: bool,
}

/// Seconds, and those of the server's processor.
#[derive(Clone, Copy)]
struct Time {
    wall: f64,
    cpu: Option<f64>,
}

/// Runs the verb; the report is a table.
pub fn run(args: &[String]) -> Result<String, String> {
    let Some((kind, args)) = args.split_first() else { return Err(USAGE.to_owned()) };
    let queries = match kind.as_str() {
        "tpch" => tpch::QUERIES,
        "operators" => operators::QUERIES,
        _ => return Err(USAGE.to_owned()),
    };
    let mut wish = Wish::parse(args, if kind == "tpch" { 0.1 } else { 1.0 })?;
    let database = format!("gannet_{kind}");
    if !wish.keep {
        for server in &mut wish.servers {
            server.query(&format!("DROP DATABASE IF EXISTS {database}"))?;
            server.query(&format!("CREATE DATABASE {database} CHARACTER SET utf8mb4"))?;
        }
    }
    for server in &mut wish.servers {
        server.query(&format!("USE {database}"))?;
    }
    if !wish.keep {
        if kind == "tpch" { fill_tpch(&mut wish) } else { fill_operators(&mut wish) }?;
    }
    wish.measure(queries)
}

impl Wish {
    fn parse(args: &[String], scale: f64) -> Result<Wish, String> {
        let mut wish = Wish { servers: Vec::new(), scale, rounds: 3, only: None, keep: false };
        let mut rest = args.iter();
        while let Some(option) = rest.next() {
            if option == "--keep" {
                wish.keep = true;
                continue;
            }
            let value = rest.next().ok_or_else(|| format!("{option} wants a value\n\n{USAGE}"))?;
            let wrong = || format!("{option} {value} is no such number");
            match option.as_str() {
                "--server" => wish.servers.push(Server::connect(value)?),
                "--scale" => {
                    wish.scale = value.parse().ok().filter(|s| (0.001..=100.0).contains(s)).ok_or_else(wrong)?
                }
                "--rounds" => wish.rounds = value.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
                "--only" => wish.only = Some(value.clone()),
                _ => return Err(USAGE.to_owned()),
            }
        }
        if wish.servers.is_empty() { Err(USAGE.to_owned()) } else { Ok(wish) }
    }

    fn measure(&mut self, queries: &[(&str, &str)]) -> Result<String, String> {
        let mut report = String::from("| query |");
        for server in &self.servers {
            let _ = write!(report, " {}, s | CPU |", server.name);
        }
        report.push_str(" answers |\n|---|");
        report.push_str(&"--:|--:|".repeat(self.servers.len()));
        report.push_str("---|\n");
        let mut differ = Vec::new();
        for (name, sql) in queries.iter().filter(|(name, _)| self.only.as_ref().is_none_or(|only| only == name)) {
            let (mut times, mut answers) = (vec![None; self.servers.len()], Vec::new());
            for _ in 0..self.rounds {
                answers.clear();
                for (server, best) in self.servers.iter_mut().zip(&mut times) {
                    let (time, answer) = server.timed(sql)?;
                    if best.is_none_or(|best: Time| time.wall < best.wall) {
                        *best = Some(time);
                    }
                    answers.push(answer.texts());
                }
            }
            let equal = answers.windows(2).all(|pair| same(&pair[0], &pair[1]));
            if !equal {
                differ.push(format!("{name}: {:?}", answers.iter().map(|a| a.iter().take(3).collect::<Vec<_>>())));
            }
            let _ = write!(report, "| {name} |");
            for time in times.into_iter().flatten() {
                let cpu = time.cpu.map_or(String::new(), |cpu| format!("{cpu:.4}"));
                let _ = write!(report, " {:.3} | {cpu} |", time.wall);
            }
            let rows = answers.first().map_or(0, Vec::len);
            let _ = writeln!(report, " {} ({rows} rows) |", if equal { "equal" } else { "DIFFERENT" });
        }
        if differ.is_empty() { Ok(report) } else { Err(format!("{report}\n{}", differ.join("\n"))) }
    }
}

/// Equal rows; numbers that are so but for the last of their digits count as equal, since servers round at different
/// places.
fn same(a: &[Vec<String>], b: &[Vec<String>]) -> bool {
    let cell = |(a, b): (&String, &String)| {
        a == b
            || match (a.parse::<f64>(), b.parse::<f64>()) {
                (Ok(x), Ok(y)) => (x - y).abs() <= 1e-4_f64.max(x.abs() * 1e-9),
                _ => false,
            }
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(cell))
}

impl Server {
    fn connect(text: &str) -> Result<Server, String> {
        let (name, rest) = text.split_once('=').ok_or_else(|| USAGE.to_owned())?;
        let (socket, pid) = match rest.split_once(',') {
            None => (rest, None),
            Some((socket, pid)) => (socket, Some(pid.parse().map_err(|_| format!("{pid} is no process number"))?)),
        };
        let login = Login { user: "root".to_owned(), timeout: Some(Duration::from_secs(600)), ..Login::default() };
        let connection =
            Connection::connect(&Address::Unix(socket.into()), &login).map_err(|e| format!("{name}: {e}"))?;
        Ok(Server { name: name.to_owned(), pid, connection })
    }

    fn query(&mut self, sql: &str) -> Result<ResultSet, String> {
        let shown: String = sql.chars().take(60).collect();
        self.connection.query(sql).map_err(|e| format!("{}: {shown}: {e}", self.name))
    }

    fn timed(&mut self, sql: &str) -> Result<(Time, ResultSet), String> {
        let (begin, cpu) = (Instant::now(), self.cpu());
        let answer = self.query(sql)?;
        let wall = begin.elapsed().as_secs_f64();
        let cpu = self.cpu().zip(cpu).map(|(after, before)| {
            let (threads, process) = (after.0 - before.0, after.1 - before.1);
            // A thread that has ended takes its time out of the sum.
            if threads < process - 2.0 * TICK { process } else { threads }
        });
        Ok((Time { wall, cpu }, answer))
    }

    /// Seconds of processor time of all threads there are, and of the process, which counts in [`TICK`]s.
    fn cpu(&self) -> Option<(f64, f64)> {
        let process = format!("/proc/{}", self.pid?);
        let threads = fs::read_dir(format!("{process}/task")).ok()?;
        let nanoseconds = threads.flatten().filter_map(|thread| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<f64>().ok()
        });
        let stat = fs::read_to_string(format!("{process}/stat")).ok()?;
        let ticks: f64 = stat.rsplit(')').next()?.split_whitespace().skip(11).take(2).flat_map(str::parse::<f64>).sum();
        Some((nanoseconds.sum::<f64>() / 1e9, ticks * TICK))
    }
}

/// Of the clock in `/proc/PID/stat`, in seconds.
const TICK: f64 = 0.01;

/// Gathers rows, and inserts them into all servers.
struct Filler<'w> {
    servers: &'w mut [Server],
    pending: Vec<(&'static str, String)>,
}

impl Filler<'_> {
    fn add(&mut self, table: &'static str, row: &str) -> Result<(), String> {
        let at = match self.pending.iter().position(|(name, _)| *name == table) {
            Some(at) => at,
            None => {
                self.pending.push((table, String::new()));
                self.pending.len() - 1
            }
        };
        let rows = &mut self.pending[at].1;
        let _ = write!(rows, "{}({row})", if rows.is_empty() { "" } else { "," });
        if rows.len() > BATCH_BYTES { self.send(at) } else { Ok(()) }
    }

    fn send(&mut self, at: usize) -> Result<(), String> {
        let (table, rows) = &mut self.pending[at];
        let sql = format!("INSERT INTO {table} VALUES {}", std::mem::take(rows));
        self.servers.iter_mut().try_for_each(|server| server.query(&sql).map(drop))
    }

    /// Sends what is left, and gathers statistics.
    fn finish(mut self) -> Result<(), String> {
        for at in 0..self.pending.len() {
            if !self.pending[at].1.is_empty() {
                self.send(at)?;
            }
            let sql = format!("ANALYZE TABLE {}", self.pending[at].0);
            self.servers.iter_mut().try_for_each(|server| server.query(&sql).map(drop))?;
        }
        Ok(())
    }
}

fn fill_tpch(wish: &mut Wish) -> Result<(), String> {
    for (table, columns) in data::TABLES {
        let sql = format!("CREATE TABLE {table} ({columns}) ENGINE = InnoDB");
        wish.servers.iter_mut().try_for_each(|server| server.query(&sql).map(drop))?;
    }
    let mut filler = Filler { servers: &mut wish.servers, pending: Vec::new() };
    data::Data::new(wish.scale).rows(&mut |table, row| filler.add(table, &row))?;
    filler.finish()
}

fn fill_operators(wish: &mut Wish) -> Result<(), String> {
    let mut random = data::Random::new(2);
    for table in ["a", "b"] {
        let sql = format!("CREATE TABLE {table} ({}) ENGINE = InnoDB", operators::COLUMNS);
        wish.servers.iter_mut().try_for_each(|server| server.query(&sql).map(drop))?;
    }
    let rows = (1_000_000.0 * wish.scale) as i64;
    let mut filler = Filler { servers: &mut wish.servers, pending: Vec::new() };
    for table in ["a", "b"] {
        for id in 1..=rows {
            let mut below = |high: i64| random.within(0, high - 1);
            let n = if below(50) == 0 { "NULL".to_owned() } else { below(rows).to_string() };
            let (money, double) = (below(1_000_000), below(1_000_000_000));
            let (month, date, hour) = (1 + below(12), 1 + below(28), below(24));
            let row = format!(
                "{id},{},{},{n},{}.{:02},{}e-3,'2024-{month:02}-{date:02} {hour:02}:00:00','word {} of 1000','{:0>90}'",
                below(rows),
                below(100),
                money / 100,
                money % 100,
                double,
                below(1000),
                below(1_000_000_000),
            );
            filler.add(table, &row)?;
        }
    }
    filler.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_equal_but_for_rounding() {
        let rows = |cell: &str| vec![vec!["a".to_owned(), cell.to_owned()]];
        assert!(same(&rows("12345678901.12345"), &rows("12345678901.1234500000")));
        assert!(same(&rows("text"), &rows("text")));
        assert!(!same(&rows("1.01"), &rows("1.02")));
        assert!(!same(&rows("text"), &rows("texts")));
        assert!(!same(&rows("1"), &[]));
    }

    #[test]
    fn there_are_22_queries_and_forty_operators() {
        assert_eq!((tpch::QUERIES.len(), operators::QUERIES.len()), (22, 40));
    }
}
