//! How far recovery is.

use gannet_base::sync::atomic::{AtomicU8, AtomicU64, Ordering::*};
use gannet_runtime::now_ns;
use gannet_telemetry::Events;

/// Between two lines about the progress, in nanoseconds.
const NOTE_EVERY_NS: u64 = 2_000_000_000;

/// What recovery is doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum RecoveryPhase {
    /// Reading the log.
    Scan = 0,
    /// The store is open; pages get their changes on first use and in the background.
    Redo = 1,
    /// All pages have their changes.
    Done = 2,
}

/// How far recovery is: what the server shows as `gannet_recovery%`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RecoveryStatus {
    /// What it is doing.
    pub phase: RecoveryPhase,
    /// Of the whole work, 0 to 100. Scanning counts as half when there is redo to do.
    pub percent: f64,
    /// Bytes of log read.
    pub log_bytes: u64,
    /// Bytes of log to read at most.
    pub log_bytes_total: u64,
    /// Pages brought up to date.
    pub pages: u64,
    /// Pages with changes in the log.
    pub pages_total: u64,
    /// Rounds in which their changes were gathered from the log so far.
    pub rounds: u64,
    /// Bytes of log a second while scanning, else pages a second.
    pub rate: f64,
    /// Seconds to the end, guessed from the rate.
    pub eta_seconds: Option<f64>,
    /// A page could not be read; it is tried again.
    pub failed: bool,
}

/// One step of recovery, whether it is over, under way, or to come: a row of `information_schema.GANNET_RECOVERY`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RecoveryStep {
    /// `log`, `redo` or `rollback`.
    pub name: &'static str,
    /// What `done` and `total` count.
    pub unit: &'static str,
    /// Dealt with.
    pub done: u64,
    /// To be dealt with, at most.
    pub total: u64,
    /// It has begun.
    pub begun: bool,
    /// It has ended.
    pub ended: bool,
    /// Time it took, or has taken so far.
    pub seconds: f64,
}

impl RecoveryStep {
    /// Of this step, 0 to 100.
    pub fn percent(&self) -> f64 {
        match (self.ended, self.total) {
            (true, _) => 100.0,
            (false, 0) => 0.0,
            (false, total) => 100.0 * self.done.min(total) as f64 / total as f64,
        }
    }

    /// Units a second.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.done as f64 / self.seconds } else { 0.0 }
    }

    /// Seconds to its end, guessed from the rate; `None` before there is one.
    pub fn eta_seconds(&self) -> Option<f64> {
        if self.ended {
            Some(0.0)
        } else {
            (self.begun && self.rate() > 0.0).then(|| self.total.saturating_sub(self.done) as f64 / self.rate())
        }
    }
}

/// When something began and ended, in nanoseconds of the clock; 0: it has not.
#[derive(Default, Debug)]
pub(super) struct Span {
    began: AtomicU64,
    ended: AtomicU64,
}

impl Span {
    pub(super) fn begin(&self) {
        self.began.store(now_ns(), Relaxed);
    }

    pub(super) fn end(&self) {
        self.ended.store(now_ns(), Release);
    }

    pub(super) fn step(&self, name: &'static str, unit: &'static str, done: u64, total: u64) -> RecoveryStep {
        let (began, ended) = (self.began.load(Relaxed), self.ended.load(Acquire));
        let (begun, is_over) = (began != 0, ended != 0);
        let until = if is_over { ended } else { now_ns() };
        let seconds = if begun { until.saturating_sub(began) as f64 / 1e9 } else { 0.0 };
        RecoveryStep { name, unit, done, total, begun, ended: is_over, seconds }
    }
}

#[derive(Default, Debug)]
pub(super) struct Progress {
    pub(super) phase: AtomicU8,
    pub(super) scan: Span,
    pub(super) redo: Span,
    pub(super) rollback: Span,
    pub(super) losers: AtomicU64,
    pub(super) log_bytes: AtomicU64,
    pub(super) log_total: AtomicU64,
    pub(super) pages: AtomicU64,
    pub(super) pages_total: AtomicU64,
    pub(super) rounds: AtomicU64,
    pub(super) phase_began: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) noted: AtomicU64,
}

impl Progress {
    pub(super) fn enter(&self, phase: RecoveryPhase) {
        match phase {
            RecoveryPhase::Scan => self.scan.begin(),
            RecoveryPhase::Redo => {
                self.scan.end();
                self.redo.begin();
            }
            RecoveryPhase::Done => self.redo.end(),
        }
        self.phase_began.store(now_ns(), Relaxed);
        self.phase.store(phase as u8, Release);
    }

    /// Every few seconds a line for the log.
    pub(super) fn note(&self, events: &Events) {
        let (now, last) = (now_ns(), self.noted.load(Relaxed));
        if now.saturating_sub(last) < NOTE_EVERY_NS || self.noted.compare_exchange(last, now, Relaxed, Relaxed).is_err()
        {
            return;
        }
        let s = self.status();
        let eta = s.eta_seconds.map_or(String::new(), |eta| format!(", {eta:.0} s to go"));
        let done = match s.phase {
            RecoveryPhase::Scan => {
                let rate = s.rate / f64::from(1 << 20);
                format!("{} of at most {} bytes of log, {rate:.0} MiB/s", s.log_bytes, s.log_bytes_total)
            }
            _ => format!("{} of {} pages, {:.0} pages/s", s.pages, s.pages_total, s.rate),
        };
        events.note(format_args!("recovery: {:.0} %, {done}{eta}", s.percent));
    }

    pub(super) fn status(&self) -> RecoveryStatus {
        let phase = match self.phase.load(Acquire) {
            0 => RecoveryPhase::Scan,
            1 => RecoveryPhase::Redo,
            _ => RecoveryPhase::Done,
        };
        let get = |a: &AtomicU64| a.load(Relaxed);
        let (log_bytes, log_total) = (get(&self.log_bytes), get(&self.log_total));
        let (pages, pages_total) = (get(&self.pages), get(&self.pages_total));
        let seconds = now_ns().saturating_sub(get(&self.phase_began)) as f64 / 1e9;
        let share = |n: u64, of: u64| if of == 0 { 1.0 } else { n.min(of) as f64 / of as f64 };
        let (done, left) = match phase {
            RecoveryPhase::Scan => (log_bytes, log_total.saturating_sub(log_bytes)),
            _ => (pages, pages_total.saturating_sub(pages)),
        };
        let rate = if seconds > 0.0 { done as f64 / seconds } else { 0.0 };
        let percent = match phase {
            RecoveryPhase::Scan => 50.0 * share(log_bytes, log_total),
            RecoveryPhase::Redo => 50.0 + 50.0 * share(pages, pages_total),
            RecoveryPhase::Done => 100.0,
        };
        RecoveryStatus {
            phase,
            percent,
            log_bytes,
            log_bytes_total: log_total,
            pages,
            pages_total,
            rounds: get(&self.rounds),
            rate: if phase == RecoveryPhase::Done { 0.0 } else { rate },
            eta_seconds: (phase != RecoveryPhase::Done && rate > 0.0).then(|| left as f64 / rate),
            failed: get(&self.failed) != 0,
        }
    }
}
