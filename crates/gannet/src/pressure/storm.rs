//! Many open transactions, and many deadlocks.

use super::{HISTORY, Options, Outcome, Random, Tally, is_deadlock, load, number, run as statement};
use gannet_wire::client::Connection;
use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Rows of which a storm's transactions lock pairs.
const ROWS: usize = 200;
/// Connections that do ordinary work beside.
const BUSY: usize = 8;

pub(super) fn run(options: &Options) -> Outcome<()> {
    let sessions = options.sessions.unwrap_or(1000);
    let mut control = options.connect()?;
    prepare(&mut control, options.open.max(sessions).max(ROWS))?;
    println!("alone: {}", busy(options)?);
    let mut open = Vec::with_capacity(options.open);
    let begin = Instant::now();
    for n in 0..options.open {
        let mut connection = options.connect().map_err(|e| format!("connection {n}: {e}"))?;
        for sql in ["BEGIN", "SELECT COUNT(*) FROM other", &format!("UPDATE storm SET n = n + 1 WHERE id = {n}")] {
            statement(&mut connection, sql).map_err(|e| format!("connection {n}: {e}"))?;
        }
        open.push(connection);
    }
    println!(
        "{} transactions opened in {:.1} s, each with a snapshot and a changed row",
        open.len(),
        begin.elapsed().as_secs_f64()
    );
    println!("beside them: {}", busy(options)?);
    let begin = Instant::now();
    let more = turn_over(&mut open)?;
    println!(
        "{more} more opened over time, one ended for each, in {:.1} s; history {} then",
        begin.elapsed().as_secs_f64(),
        number(&mut control, HISTORY)?
    );
    println!("beside them: {}", busy(options)?);
    let begin = Instant::now();
    for connection in &mut open {
        statement(connection, "ROLLBACK")?;
    }
    println!("rolled back in {:.1} s", begin.elapsed().as_secs_f64());
    drop(open);
    ring(options, sessions)?;
    pairs(options, sessions)
}

/// Ends each transaction and opens another in its place, nine times, the oldest first; every third is rolled back. As
/// many threads as [`BUSY`]. How many were opened.
fn turn_over(open: &mut [Connection]) -> Outcome<usize> {
    let each = open.len().div_ceil(BUSY).max(1);
    let turn = |connections: &mut [Connection], first: usize| -> Outcome<usize> {
        let mut opened = 0;
        for turn in 0..9 {
            for (i, connection) in connections.iter_mut().enumerate() {
                let end = if (turn + i) % 3 == 0 { "ROLLBACK" } else { "COMMIT" };
                let update = format!("UPDATE storm SET n = n + 1 WHERE id = {}", first + i);
                for sql in [end, "BEGIN", "SELECT COUNT(*) FROM other WHERE id < 10", &update] {
                    statement(connection, sql)?;
                }
                opened += 1;
            }
        }
        Ok(opened)
    };
    std::thread::scope(|scope| {
        let parts = open.chunks_mut(each).enumerate();
        let threads: Vec<_> = parts.map(|(n, part)| scope.spawn(move || turn(part, n * each))).collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|_| Err("a client panicked".into()))).sum()
    })
}

fn prepare(control: &mut Connection, rows: usize) -> Outcome<()> {
    for table in ["storm", "other"] {
        statement(control, &format!("DROP TABLE IF EXISTS {table}"))?;
        statement(control, &format!("CREATE TABLE {table} (id INT PRIMARY KEY, n INT NOT NULL)"))?;
        let ids: Vec<usize> = (0..if table == "storm" { rows } else { 1000 }).collect();
        for chunk in ids.chunks(1000) {
            let values: Vec<String> = chunk.iter().map(|id| format!("({id}, 0)")).collect();
            statement(control, &format!("INSERT INTO {table} VALUES {}", values.join(",")))?;
        }
    }
    Ok(())
}

/// A read and an update of rows that nobody holds.
fn ordinary(n: usize, connection: &mut Connection, stop: &AtomicBool, tally: &mut Tally) -> Outcome<()> {
    let mut random = Random::new(n);
    while !stop.load(Ordering::Relaxed) {
        // Each of its own rows.
        let id = random.below(1000 / BUSY) * BUSY + n;
        for sql in
            [format!("SELECT n FROM other WHERE id = {id}"), format!("UPDATE other SET n = n + 1 WHERE id = {id}")]
        {
            let begin = Instant::now();
            statement(connection, &sql)?;
            tally.took(begin);
            tally.done += 1;
        }
    }
    Ok(())
}

fn busy(options: &Options) -> Outcome<String> {
    let (tally, seconds) = load(options.many(BUSY, &[])?, options.span(), ordinary)?;
    Ok(format!("{BUSY} busy connections run {:.0} statements/s, {}", tally.done as f64 / seconds, tally.latencies()))
}

/// Transaction k holds row k and wants row k+1, the last wants row 0: one is the victim, the others end one after the
/// other.
fn ring(options: &Options, sessions: usize) -> Outcome<()> {
    let connections = options.many(sessions, &["SET SESSION innodb_lock_wait_timeout = 100"])?;
    let barrier = Barrier::new(sessions);
    let closed = AtomicU64::new(0);
    let begin = Instant::now();
    let (tally, seconds) = load(connections, Duration::ZERO, |n, connection, _, tally| {
        statement(connection, "BEGIN")?;
        statement(connection, &format!("UPDATE storm SET n = n + 1 WHERE id = {n}"))?;
        barrier.wait();
        if n + 1 == sessions {
            // The last: the others wait by now.
            std::thread::sleep(Duration::from_millis(500));
            closed.store(begin.elapsed().as_micros() as u64, Ordering::Relaxed);
        }
        match connection.query(&format!("UPDATE storm SET n = n + 1 WHERE id = {}", (n + 1) % sessions)) {
            Ok(_) => {}
            Err(e) if is_deadlock(&e) => {
                tally.victims += 1;
                let told = begin.elapsed().as_micros() as u64 - closed.load(Ordering::Relaxed);
                println!(
                    "ring of {sessions}: the victim was told {:.1} ms after the ring was closed",
                    told as f64 / 1e3
                );
            }
            Err(e) => return Err(e.to_string()),
        }
        tally.done += 1;
        statement(connection, "COMMIT")
    })?;
    println!("ring of {sessions}: {} victim, all ended after {seconds:.2} s", tally.victims);
    if tally.victims == 1 { Ok(()) } else { Err(format!("{} victims of one ring", tally.victims)) }
}

/// Sessions that lock two rows each, in any order, beside ordinary work.
fn pairs(options: &Options, sessions: usize) -> Outcome<()> {
    let connections = options.many(sessions + BUSY, &["SET SESSION innodb_lock_wait_timeout = 100"])?;
    let quiet = gannet_base::sync::Mutex::new(Tally::default());
    let (tally, seconds) = load(connections, options.span(), |n, connection, stop, tally| {
        if n < BUSY {
            let mut own = Tally::default();
            let outcome = ordinary(n, connection, stop, &mut own);
            quiet.lock().merge(own);
            return outcome;
        }
        let mut random = Random::new(n);
        while !stop.load(Ordering::Relaxed) {
            let first = random.below(ROWS);
            let second = (first + 1 + random.below(ROWS - 1)) % ROWS;
            statement(connection, "BEGIN")?;
            let begin = Instant::now();
            let both = [first, second].into_iter().try_for_each(|id| {
                connection.query(&format!("UPDATE storm SET n = n + 1 WHERE id = {id}")).map(|_| ())
            });
            tally.took(begin);
            match both {
                Ok(()) => {
                    statement(connection, "COMMIT")?;
                    tally.done += 1;
                }
                Err(e) if is_deadlock(&e) => tally.victims += 1,
                Err(e) => return Err(e.to_string()),
            }
        }
        Ok(())
    })?;
    println!(
        "{sessions} sessions lock pairs of {ROWS} rows: {:.0} commits/s, {:.0} victims/s; both locks or the error, {}",
        tally.done as f64 / seconds,
        tally.victims as f64 / seconds,
        tally.latencies()
    );
    let quiet = quiet.into_inner();
    println!(
        "beside them: {BUSY} busy connections run {:.0} statements/s, {}",
        quiet.done as f64 / seconds,
        quiet.latencies()
    );
    Ok(())
}
