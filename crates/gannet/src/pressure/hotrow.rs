//! One row, updated by all.

use super::{Options, Outcome, Tally, number, run as statement};
use gannet_wire::client::Connection;
use std::time::Instant;

/// Threads that drive the connections: few, so that their number does not cost the machine what is to be measured.
const THREADS: usize = 4;
const COM_QUERY: u8 = 3;
const UPDATE: &[u8] = b"UPDATE hot SET n = n + 1 WHERE id = 1";

pub(super) fn run(options: &Options) -> Outcome<()> {
    let mut control = options.connect()?;
    for sql in [
        "DROP TABLE IF EXISTS hot",
        "CREATE TABLE hot (id INT PRIMARY KEY, n BIGINT NOT NULL)",
        "INSERT INTO hot VALUES (1, 0)",
    ] {
        statement(&mut control, sql)?;
    }
    let most = options.sessions.unwrap_or(1024);
    let (mut best, mut acknowledged) = (0.0f64, 0);
    let mut sessions = 1;
    let last = loop {
        let (tally, seconds) = updates(options, sessions)?;
        acknowledged += tally.done;
        let rate = tally.done as f64 / seconds;
        best = best.max(rate);
        println!("{sessions} connections: {rate:.0} updates/s, {}", tally.latencies());
        if sessions >= most {
            break rate;
        }
        sessions = (sessions * 2).min(most);
    };
    let value = number(&mut control, "SELECT n FROM hot WHERE id = 1")?;
    println!(
        "{most} connections give {:.0} % of the best rate; {acknowledged} updates, the row says {value}",
        last / best * 100.0
    );
    if value == acknowledged as i64 { Ok(()) } else { Err("updates were lost".to_owned()) }
}

/// Updates by so many connections, each of which always waits for one.
fn updates(options: &Options, sessions: usize) -> Outcome<(Tally, f64)> {
    let mut connections = options.many(sessions, &[])?;
    let begin = Instant::now();
    let end = begin + options.span();
    std::thread::scope(|scope| {
        let parts = connections.chunks_mut(sessions.div_ceil(THREADS));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || drive(part, end))).collect();
        let mut total = Tally::default();
        for thread in threads {
            total.merge(thread.join().unwrap_or_else(|_| Err("a client panicked".into()))?);
        }
        Ok((total, begin.elapsed().as_secs_f64()))
    })
}

/// Sends on all connections, then takes an answer from each in turn and sends again.
fn drive(connections: &mut [Connection], end: Instant) -> Outcome<Tally> {
    let mut tally = Tally::default();
    let mut sent = Vec::with_capacity(connections.len());
    for connection in connections.iter_mut() {
        sent.push(Instant::now());
        connection.command(COM_QUERY, UPDATE).map_err(|e| e.to_string())?;
    }
    let mut waiting = connections.len();
    while waiting > 0 {
        waiting = 0;
        for (connection, sent) in connections.iter_mut().zip(&mut sent) {
            // Sent too late to be sent again: nothing is waited for.
            if *sent >= end {
                continue;
            }
            let answer = connection.receive().map_err(|e| e.to_string())?;
            if answer.first() != Some(&0) {
                return Err(format!(
                    "the update failed: {}",
                    String::from_utf8_lossy(answer.get(9..).unwrap_or_default())
                ));
            }
            tally.took(*sent);
            tally.done += 1;
            *sent = Instant::now();
            if *sent < end {
                connection.command(COM_QUERY, UPDATE).map_err(|e| e.to_string())?;
                waiting += 1;
            }
        }
    }
    Ok(tally)
}
