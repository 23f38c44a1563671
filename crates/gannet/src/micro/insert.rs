//! `gannet bench insert`: the steps of the Insert Benchmark: load in the order of the key, three indexes, inserts with
//! as many deletes of the oldest rows, and short range queries beside a writer of a fixed rate.

use super::{Figure, Options, Outcome, Server, cpu_us, query};
use crate::pressure::Random;
use gannet_wire::client::{Arg, Connection, Statement};
use std::{
    fmt::Write,
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Text of `gannet bench insert --help`.
pub const HELP: &str = "\
gannet bench insert --server NAME=SOCKET[,PID] ... [options]

  --server, --user, --password as for micro
  --rows N                     rows to load (default: 200000)
  --clients N                  clients that query (default: 1)
  --seconds N                  of each step but the load (default: 3)

Works in database gannet_insert, made anew. One line a step: rows or queries a second, and the server's processor time
in microseconds for one.
";

const DATABASE: &str = "gannet_insert";
/// Rows of one INSERT while loading.
const BULK: i64 = 100;
const INDEXES: [&str; 3] =
    ["(price, customerid)", "(cashregisterid, price, customerid)", "(price, dateandtime, customerid)"];

/// One server's run.
struct Run<'a> {
    options: &'a Options,
    server: &'a Server,
    /// The key after the last row, and the oldest row's.
    next: AtomicI64,
    oldest: AtomicI64,
}

/// Runs `bench insert`; the error is the message for the user.
pub fn run(args: &[String]) -> Outcome<()> {
    if args.iter().any(|a| a == "--help" || a == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let (_, options) = Options::parse(args, HELP)?;
    let mut lines: Vec<(String, Vec<Figure>)> = Vec::new();
    for server in &options.servers {
        let run = Run { options: &options, server, next: AtomicI64::new(1), oldest: AtomicI64::new(1) };
        for (n, (name, figure)) in run.steps()?.into_iter().enumerate() {
            match lines.get_mut(n) {
                Some((_, figures)) => figures.push(figure),
                None => lines.push((name, vec![figure])),
            }
        }
    }
    super::print_head("step", &options);
    for (name, figures) in lines {
        println!("{}", super::line(&name, &figures));
    }
    Ok(())
}

impl Run<'_> {
    fn steps(&self) -> Outcome<Vec<(String, Figure)>> {
        let mut c = self.options.connect(self.server)?;
        query(&mut c, &format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        query(&mut c, &format!("CREATE DATABASE {DATABASE}"))?;
        query(&mut c, &format!("USE {DATABASE}"))?;
        let columns = "transactionid BIGINT NOT NULL, dateandtime DATETIME, cashregisterid INT NOT NULL, \
                       customerid INT NOT NULL, productid INT NOT NULL, price FLOAT NOT NULL, data VARCHAR(4000), \
                       PRIMARY KEY (transactionid)";
        query(&mut c, &format!("CREATE TABLE purchases ({columns}) ENGINE = InnoDB"))?;
        let mut figures = Vec::new();
        let rows = self.options.rows as i64;
        figures.push(("load".to_owned(), self.timed(|| self.load(&mut c, rows))?));
        figures.push((
            "three indexes".to_owned(),
            self.timed(|| {
                for (n, columns) in INDEXES.iter().enumerate() {
                    query(&mut c, &format!("CREATE INDEX i{n} ON purchases {columns}"))?;
                }
                Ok(rows as u64)
            })?,
        ));
        for size in [50, 5] {
            let name = format!("inserts and deletes, {size} a commit");
            figures.push((name, self.timed(|| self.churn(&mut c, size, None, &AtomicBool::new(false)))?));
        }
        for rate in [100, 500, 1000] {
            let name = format!("queries beside {rate} inserts a second");
            figures.push((name, self.queries(rate)?));
        }
        Ok(figures)
    }

    /// What `work` does of something a second, and what it costs.
    fn timed(&self, work: impl FnOnce() -> Outcome<u64>) -> Outcome<Figure> {
        let (begin, cpu) = (Instant::now(), cpu_us(self.server));
        let done = work()? as f64;
        Ok(Figure { rate: done / begin.elapsed().as_secs_f64(), cpu: (cpu_us(self.server) - cpu) / done })
    }

    fn insert(&self, rows: i64, random: &mut Random) -> String {
        let first = self.next.fetch_add(rows, Relaxed);
        let mut sql = String::from("INSERT INTO purchases VALUES");
        for id in first..first + rows {
            let (register, customer, product) = (random.below(1000), random.below(100_000), random.below(10_000));
            let (price, data) = (random.below(50_000) as f64 / 100.0, "x".repeat(10 + random.below(20)));
            let _ = write!(
                sql,
                "{}({id}, '2024-01-01 00:00:00', {register}, {customer}, {product}, {price}, '{data}')",
                if id > first { "," } else { "" }
            );
        }
        sql
    }

    fn load(&self, c: &mut Connection, rows: i64) -> Outcome<u64> {
        let mut random = Random::new(1);
        for _ in 0..rows / BULK {
            query(c, &self.insert(BULK, &mut random))?;
        }
        Ok((rows / BULK * BULK) as u64)
    }

    /// Inserts rows and deletes as many of the oldest, so many a commit; at a rate, or as fast as it goes. Returns the
    /// rows inserted.
    fn churn(&self, c: &mut Connection, size: i64, rate: Option<u64>, stop: &AtomicBool) -> Outcome<u64> {
        let mut random = Random::new(2);
        let (begin, mut done) = (Instant::now(), 0);
        while !stop.load(Relaxed) && begin.elapsed() < Duration::from_secs(self.options.seconds) {
            query(c, "BEGIN")?;
            query(c, &self.insert(size, &mut random))?;
            let from = self.oldest.fetch_add(size, Relaxed);
            query(
                c,
                &format!("DELETE FROM purchases WHERE transactionid >= {from} AND transactionid < {}", from + size),
            )?;
            query(c, "COMMIT")?;
            done += size as u64;
            if let Some(rate) = rate {
                let due = Duration::from_secs_f64(done as f64 / rate as f64);
                std::thread::sleep(due.saturating_sub(begin.elapsed()));
            }
        }
        Ok(done)
    }

    /// Clients that read ten entries of an index at a time, beside a writer.
    fn queries(&self, rate: u64) -> Outcome<Figure> {
        let connect = || {
            let mut c = self.options.connect(self.server)?;
            query(&mut c, &format!("USE {DATABASE}"))?;
            Ok::<_, String>(c)
        };
        let (stop, total) = (AtomicBool::new(false), AtomicU64::new(0));
        let reader = |n: usize| -> Outcome<()> {
            let mut c = connect()?;
            let prepare = |sql| c.prepare(sql).map_err(|e| format!("{sql}: {e}"));
            let statements: Vec<Statement> = QUERIES.into_iter().map(prepare).collect::<Outcome<_>>()?;
            let mut random = Random::new(n + 3);
            while !stop.load(Relaxed) {
                let which = random.below(statements.len());
                let price = random.below(400) as i64;
                let args = [Arg::Int(if which == 1 { random.below(1000) as i64 } else { price }), Arg::Int(price)];
                let args = if which == 1 { &args[..] } else { &args[..1] };
                c.execute(&statements[which], args).map_err(|e| e.to_string())?;
                total.fetch_add(1, Relaxed);
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let (stop, reader) = (&stop, &reader);
            let readers: Vec<_> = (0..self.options.clients).map(|n| scope.spawn(move || reader(n))).collect();
            let figure = self.timed(|| {
                self.churn(&mut connect()?, 10, Some(rate), stop)?;
                Ok(total.load(Relaxed))
            });
            stop.store(true, Relaxed);
            for reader in readers {
                reader.join().unwrap_or_else(|_| Err("a client panicked".into()))?;
            }
            figure
        })
    }
}

const QUERIES: [&str; 3] = [
    "SELECT price, customerid FROM purchases FORCE INDEX (i0) WHERE price >= ? ORDER BY price, customerid LIMIT 10",
    "SELECT cashregisterid, price, customerid FROM purchases FORCE INDEX (i1) \
     WHERE cashregisterid = ? AND price >= ? ORDER BY price, customerid LIMIT 10",
    "SELECT price, dateandtime, customerid FROM purchases FORCE INDEX (i2) WHERE price >= ? \
     ORDER BY price, dateandtime LIMIT 10",
];
