//! A table as a queue: each session takes the first row that nobody else has.

use super::{Options, Outcome, load, number, run as statement};
use gannet_wire::client::Connection;
use std::{
    sync::atomic::{AtomicU8, Ordering},
    time::{Duration, Instant},
};

/// A way to take a row: its name, how it is found and how it is made one that nobody finds again.
const KINDS: [(&str, &str, &str); 2] = [
    (
        "rows are deleted",
        "SELECT id FROM queue ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
        "DELETE FROM queue WHERE id = ",
    ),
    (
        "rows are marked",
        "SELECT id FROM queue WHERE state = 0 ORDER BY state, id LIMIT 1 FOR UPDATE SKIP LOCKED",
        "UPDATE queue SET state = 1 WHERE id = ",
    ),
];

pub(super) fn run(options: &Options) -> Outcome<()> {
    let sessions = options.sessions.unwrap_or(64);
    let mut control = options.connect()?;
    for (name, find, take) in KINDS {
        prepare(&mut control, options.rows)?;
        let times: Vec<AtomicU8> = (0..=options.rows).map(|_| AtomicU8::new(0)).collect();
        let connections = options.many(sessions, &[])?;
        let (tally, seconds) = load(connections, Duration::ZERO, |_, connection, _, tally| {
            loop {
                let begin = Instant::now();
                statement(connection, "BEGIN")?;
                let row = connection.query(find).map_err(|e| format!("{find}: {e}"))?.texts();
                let Some(id) = row.first().and_then(|r| r.first()) else {
                    return statement(connection, "COMMIT");
                };
                statement(connection, &format!("{take}{id}"))?;
                statement(connection, "COMMIT")?;
                tally.took(begin);
                tally.done += 1;
                let place = id.parse().ok().and_then(|id: usize| times.get(id)).ok_or("a row nobody made")?;
                if place.fetch_add(1, Ordering::Relaxed) != 0 {
                    return Err(format!("row {id} was taken twice"));
                }
            }
        })?;
        let left = number(&mut control, "SELECT COUNT(*) FROM queue WHERE state = 0")?;
        println!(
            "{sessions} sessions, {name}: {} rows taken in {seconds:.1} s, {:.0} a second; {}; no deadlock, none twice, {left} left",
            tally.done,
            tally.done as f64 / seconds,
            tally.latencies()
        );
        if left != 0 || tally.done != options.rows as u64 {
            return Err(format!("{} of {} rows were taken, {left} are left", tally.done, options.rows));
        }
    }
    Ok(())
}

fn prepare(control: &mut Connection, rows: usize) -> Outcome<()> {
    statement(control, "DROP TABLE IF EXISTS queue")?;
    statement(
        control,
        "CREATE TABLE queue (id INT PRIMARY KEY, state INT NOT NULL, payload VARCHAR(100), KEY (state, id))",
    )?;
    let ids: Vec<usize> = (1..=rows).collect();
    for chunk in ids.chunks(1000) {
        let values: Vec<String> = chunk.iter().map(|id| format!("({id}, 0, 'a job to be done')")).collect();
        statement(control, &format!("INSERT INTO queue VALUES {}", values.join(",")))?;
    }
    Ok(())
}
