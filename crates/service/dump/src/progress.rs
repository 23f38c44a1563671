//! Progress: how much is done, how fast, how long it will take.

use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use gannet_base::sync::{Arc, Condvar, Mutex};
use std::io::{IsTerminal, Write};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What tasks count.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) rows: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Of `total`: rows or bytes, whichever the total is known in.
    pub(crate) done: AtomicU64,
    /// What there is to do, as far as it is known; 0 when it is not.
    pub(crate) total: AtomicU64,
    /// A task has failed; the others stop.
    pub(crate) stop: AtomicBool,
}

/// Shows the counts while it lives: in one line of a terminal, or as a line every ten seconds.
pub(crate) struct Progress {
    counts: Arc<Counts>,
    begun: Instant,
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    pub(crate) fn begin(counts: Arc<Counts>, quiet: bool) -> Progress {
        let ended: Arc<(Mutex<bool>, Condvar)> = Arc::new((Mutex::new(false), Condvar::new()));
        let begun = Instant::now();
        let (shown, end) = (counts.clone(), ended.clone());
        let show = move || {
            let terminal = std::io::stderr().is_terminal();
            let every = Duration::from_secs(if terminal { 1 } else { 10 });
            let mut over = end.0.lock();
            while !*over {
                let timed_out = end.1.wait_for(&mut over, every);
                if timed_out && !*over {
                    let text = line(&shown, begun.elapsed());
                    let mut err = std::io::stderr().lock();
                    let _ = if terminal { write!(err, "\r\x1b[K{text}") } else { writeln!(err, "{text}") };
                    let _ = err.flush();
                }
            }
            if terminal {
                let _ = write!(std::io::stderr(), "\r\x1b[K");
            }
        };
        // Without the thread the work goes on, only unseen.
        let thread = if quiet { None } else { gannet_runtime::start_thread("progress", None, show).ok() };
        Progress { counts, begun, ended, thread }
    }

    /// Ends the display; what was done, as a line.
    pub(crate) fn end(mut self) -> String {
        self.close();
        let seconds = self.begun.elapsed();
        let rate = rates(&self.counts, seconds);
        format!("{} in {}, {rate}", amounts(&self.counts), duration(seconds.as_secs()))
    }

    fn close(&mut self) {
        *self.ended.0.lock() = true;
        self.ended.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.close();
    }
}

fn line(counts: &Counts, elapsed: Duration) -> String {
    let (done, total) = (counts.done.load(Relaxed), counts.total.load(Relaxed));
    let mut text = String::new();
    if total > 0 {
        // The total is an estimate: the end is where the tasks end.
        text += &format!("{:.0}% ", (done as f64 / total as f64 * 100.0).min(99.0));
    }
    text += &format!("{}, {}", amounts(counts), rates(counts, elapsed));
    if total > done && done > 0 {
        let left = elapsed.as_secs_f64() * (total - done) as f64 / done as f64;
        text += &format!(", {} left", duration(left as u64));
    }
    text
}

fn amounts(counts: &Counts) -> String {
    format!("{} rows, {}", short(counts.rows.load(Relaxed)), bytes(counts.bytes.load(Relaxed)))
}

fn rates(counts: &Counts, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(0.001);
    let per_second = |n: &AtomicU64| (n.load(Relaxed) as f64 / seconds) as u64;
    format!("{} rows/s, {}/s", short(per_second(&counts.rows)), bytes(per_second(&counts.bytes)))
}

/// A number of at most four digits, with its unit.
fn short(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..10_000_000 => format!("{}k", n / 1000),
        10_000_000..10_000_000_000 => format!("{}M", n / 1_000_000),
        _ => format!("{}G", n / 1_000_000_000),
    }
}

/// Bytes with their unit.
pub(crate) fn bytes(n: u64) -> String {
    let n = n as f64;
    match n {
        0.0..1e3 => format!("{n} B"),
        1e3..1e6 => format!("{:.1} kB", n / 1e3),
        1e6..1e9 => format!("{:.1} MB", n / 1e6),
        _ => format!("{:.2} GB", n / 1e9),
    }
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        _ => format!("{}:{:02} h", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_how_much_how_fast_and_how_long() {
        let counts = Counts::default();
        counts.rows.store(25_000, Relaxed);
        counts.bytes.store(5_000_000, Relaxed);
        counts.done.store(25_000, Relaxed);
        counts.total.store(100_000, Relaxed);
        assert_eq!(
            line(&counts, Duration::from_secs(50)),
            "25% 25k rows, 5.0 MB, 500 rows/s, 100.0 kB/s, 2:30 min left"
        );
        counts.total.store(0, Relaxed);
        assert_eq!(line(&counts, Duration::from_secs(1)), "25k rows, 5.0 MB, 25k rows/s, 5.0 MB/s");
        assert_eq!((duration(59), duration(7261)), ("59 s".into(), "2:01 h".into()));
    }
}
