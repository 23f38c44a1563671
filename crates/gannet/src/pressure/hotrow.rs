//! One row, updated by all.

use super::{Options, Outcome, Tally, number, run as statement};
use gannet_wire::client::Connection;
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

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
    let mut sessions = options.from.min(most);
    let last = loop {
        let before = [processor_us("self"), options.server_pid.and_then(|pid| processor_us(&pid.to_string()))];
        let pauses = Pauses::default();
        let (tally, seconds) = updates(options, sessions, &pauses)?;
        acknowledged += tally.done;
        let rate = tally.done as f64 / seconds;
        best = best.max(rate);
        print!("{sessions} connections: {rate:.0} updates/s, {}", tally.latencies());
        print!("; longest time without one {:.1} ms", pauses.longest_us.into_inner() as f64 / 1e3);
        let after = [processor_us("self"), options.server_pid.and_then(|pid| processor_us(&pid.to_string()))];
        for (who, (before, after)) in ["this program", "the server"].into_iter().zip(before.into_iter().zip(after)) {
            if let (Some(before), Some(after)) = (before, after) {
                print!("; processor time of {who} {:.1} us each", (after - before) as f64 / tally.done.max(1) as f64);
            }
        }
        println!();
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

/// Microseconds of processor time that a process has used so far (proc(5): in hundredths of a second).
fn processor_us(process: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the name, which may hold anything.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) * 10_000)
}

/// Times in which no update ended, told to a fifth of a millisecond.
#[derive(Default)]
struct Pauses {
    last_us: AtomicU64,
    longest_us: AtomicU64,
}

impl Pauses {
    const GRAIN_US: u64 = 200;

    /// An update has ended, so long after the beginning.
    fn ended(&self, at: Duration) {
        let now = at.as_micros() as u64;
        let pause = now.saturating_sub(self.last_us.load(Relaxed));
        if pause > Self::GRAIN_US {
            self.last_us.store(now, Relaxed);
            self.longest_us.fetch_max(pause, Relaxed);
        }
    }
}

/// Updates by so many connections, each of which always waits for one.
fn updates(options: &Options, sessions: usize, pauses: &Pauses) -> Outcome<(Tally, f64)> {
    let mut connections = options.many(sessions, &[])?;
    let begin = Instant::now();
    let end = begin + options.span();
    std::thread::scope(|scope| {
        let parts = connections.chunks_mut(sessions.div_ceil(THREADS));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || drive(part, begin, end, pauses))).collect();
        let mut total = Tally::default();
        for thread in threads {
            total.merge(thread.join().unwrap_or_else(|_| Err("a client panicked".into()))?);
        }
        Ok((total, begin.elapsed().as_secs_f64()))
    })
}

/// Sends on all connections, then takes an answer from each in turn and sends again.
fn drive(connections: &mut [Connection], begin: Instant, end: Instant, pauses: &Pauses) -> Outcome<Tally> {
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
            let now = Instant::now();
            tally.micros.push((now - *sent).as_micros() as u32);
            tally.done += 1;
            pauses.ended(now - begin);
            *sent = now;
            if *sent < end {
                connection.command(COM_QUERY, UPDATE).map_err(|e| e.to_string())?;
                waiting += 1;
            }
        }
    }
    Ok(tally)
}
