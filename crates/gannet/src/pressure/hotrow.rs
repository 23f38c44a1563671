//! One row, updated by all.

use super::{Options, Outcome, load, number, run as statement};
use std::{sync::atomic::Ordering, time::Instant};

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
        let connections = options.many(sessions, &[])?;
        let (tally, seconds) = load(connections, options.span(), |_, connection, stop, tally| {
            let update = connection.prepare("UPDATE hot SET n = n + 1 WHERE id = 1").map_err(|e| e.to_string())?;
            while !stop.load(Ordering::Relaxed) {
                let begin = Instant::now();
                connection.execute(&update, &[]).map_err(|e| e.to_string())?;
                tally.took(begin);
                tally.done += 1;
            }
            Ok(())
        })?;
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
