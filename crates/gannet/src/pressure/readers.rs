//! Open snapshots beside updates: what they keep is kept, and goes when they go.

use super::{HISTORY, Options, Outcome, Random, Tally, load, number, run as statement};
use gannet_wire::client::Connection;
use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

const ROWS: usize = 10_000;
const WRITERS: usize = 16;
/// A history that is short.
const SHORT: i64 = 2_000;

pub(super) fn run(options: &Options) -> Outcome<()> {
    let snapshots = options.sessions.unwrap_or(1000);
    let mut control = options.connect()?;
    statement(&mut control, "DROP TABLE IF EXISTS kept")?;
    statement(&mut control, "CREATE TABLE kept (id INT PRIMARY KEY, n INT NOT NULL, c VARCHAR(100), KEY (n))")?;
    for from in (0..ROWS).step_by(1000) {
        let values: Vec<String> = (from..from + 1000).map(|id| format!("({id}, 0, REPEAT('x', 80))")).collect();
        statement(&mut control, &format!("INSERT INTO kept VALUES {}", values.join(",")))?;
    }
    println!("no snapshot: {}", updates(options)?);
    println!("history {} then", wait_short(&mut control)?.0);
    // The first is old, the others are spread over the load.
    let begin =
        ["SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"];
    let mut readers = options.many(1, &begin)?;
    let parts = 4;
    for _ in 0..parts {
        readers.extend(options.many(snapshots.saturating_sub(1) / parts, &begin)?);
        println!("{} snapshots: {}, history {}", readers.len(), updates(options)?, number(&mut control, HISTORY)?);
    }
    let begin = Instant::now();
    let sum = number(&mut readers[0], "SELECT SUM(n) FROM kept")?;
    println!("the oldest snapshot reads {ROWS} rows in {:.2} s", begin.elapsed().as_secs_f64());
    let again = number(&mut readers[0], "SELECT SUM(n) FROM kept")?;
    for reader in &mut readers {
        statement(reader, "COMMIT")?;
    }
    let (history, seconds) = wait_short(&mut control)?;
    println!("snapshots closed: history {history} after {seconds:.1} s; {}", updates(options)?);
    if sum == again { Ok(()) } else { Err("a snapshot changed".to_owned()) }
}

/// Updates of single rows by 16 connections.
fn updates(options: &Options) -> Outcome<String> {
    let (tally, seconds) = load(
        options.many(WRITERS, &[])?,
        options.span(),
        |n, connection: &mut Connection, stop, tally: &mut Tally| {
            let mut random = Random::new(n);
            while !stop.load(Ordering::Relaxed) {
                let begin = Instant::now();
                statement(connection, &format!("UPDATE kept SET n = n + 1 WHERE id = {}", random.below(ROWS)))?;
                tally.took(begin);
                tally.done += 1;
            }
            Ok(())
        },
    )?;
    Ok(format!("{:.0} updates/s, {}", tally.done as f64 / seconds, tally.latencies()))
}

/// Waits until the history is short; its length, and the seconds it took.
fn wait_short(control: &mut Connection) -> Outcome<(i64, f64)> {
    let begin = Instant::now();
    loop {
        let history = number(control, HISTORY)?;
        if history <= SHORT {
            return Ok((history, begin.elapsed().as_secs_f64()));
        }
        if begin.elapsed() > Duration::from_secs(60) {
            return Err(format!("the history is still {history} long after a minute without snapshots"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
