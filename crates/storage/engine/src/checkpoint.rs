//! The checkpointer: sweeps the pool sector by sector, at a pace set by the log's growth, and moves the checkpoint.
//!
//! A round over all sectors takes as long as the log needs for six tenths of what it may grow, so that the log's age
//! settles there, below the brake on writers: the longer a page stays dirty, the more of its changes go to disk in
//! one write. The fuller the log or the dirtier the pool, the faster the round; from eight tenths on it makes no
//! pauses. A sector gets the share of the round that it has of the pages, and its batches are spread evenly over that
//! time, so that writes are a steady stream.

use gannet_base::Lsn;
use gannet_base::sync::Arc;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use gannet_buffer::Pool;
use gannet_log::{Checkpoints, Log};
use gannet_runtime::{Unpark, Wait, interrupted, now_ns, park};
use gannet_telemetry::{Counter, Events, add, count};

use crate::control::Control;
use crate::recovery::Recovery;
use crate::{EngineError, Result, TrxId};

const SECOND: u64 = 1_000_000_000;
/// The longest a round may take when little is written.
const SLOW_ROUND_NS: u64 = 30 * SECOND;
/// The part of the usable log that a round takes.
const PART: f64 = 0.6;
/// How fast the average of the log's growth follows a higher rate and a lower one, in seconds: a new storm must not
/// wait for the average, a lull may.
const RISE_SECONDS: f64 = 0.5;
const FALL_SECONDS: f64 = 5.0;
/// Between two looks when there is nothing to do.
const IDLE_NS: u64 = SECOND / 2;

/// Figures of the checkpointer. Written by its task only.
#[derive(Default, Debug)]
pub(crate) struct CheckpointFigures {
    /// Growth of the log in bytes a second, averaged over some seconds.
    pub(crate) growth: AtomicU64,
    /// Pages a second it aims at; 0 while idle, `u64::MAX` without pauses.
    pub(crate) pace: AtomicU64,
    /// Percent: [`Load::pressed`].
    pub(crate) pressed: [AtomicU64; 2],
    /// Checkpoints written.
    pub(crate) count: AtomicU64,
    /// All changes below this LSN are known to be on disk: the least of the sectors.
    pub(crate) swept: AtomicU64,
    /// Length of the last whole round in nanoseconds.
    pub(crate) round_ns: AtomicU64,
    /// Pages or control file cannot be written.
    pub(crate) failed: AtomicBool,
    /// Pages are not written back and the checkpoint stays, until three quarters of the log are full: for tests and
    /// measurements. Set from outside.
    pub(crate) held: AtomicBool,
}

/// Everything from which the pace follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Bytes of log since the checkpoint, as far as they count.
    pub(crate) age: u64,
    /// The checkpoint has yet to pass the log found at the start, and its age is counted from the end of that: the
    /// first round must not take as long.
    pub(crate) catching_up: bool,
    /// Bytes at which writers are stopped.
    pub(crate) usable: u64,
    /// Log growth in bytes a second.
    pub(crate) growth: u64,
    /// Dirty pages.
    pub(crate) dirty: u64,
    /// Pages the pool may hold.
    pub(crate) pages: u64,
}

impl Load {
    /// How hard the sweep is pressed by the log's fullness, and by the pool's dirtiness: 0 not at all, 1 as hard as can
    /// be.
    fn pressed(&self) -> [f64; 2] {
        let pressed = |x: f64, from: f64, to: f64| ((x - from) / (to - from)).clamp(0.0, 1.0);
        let fullness = self.age as f64 / self.usable.max(1) as f64;
        let dirtiness = self.dirty as f64 / self.pages.max(1) as f64;
        // A pool that takes new pages all the time is dirty as a matter of course: the cleaner writes what it needs.
        [pressed(fullness, 0.65, 0.8), pressed(dirtiness, 0.75, 0.95)]
    }

    /// 1 at ease, 0 when hard pressed.
    fn ease(&self) -> f64 {
        let [full, dirty] = self.pressed();
        1.0 - full.max(dirty)
    }

    /// How long a round over the whole pool may take, in seconds; 0 means without pauses.
    pub(crate) fn round_seconds(&self) -> f64 {
        let part = if self.catching_up { PART / 3.0 } else { PART };
        let by_growth = part * self.usable as f64 / (self.growth.max(1) as f64);
        by_growth.min(SLOW_ROUND_NS as f64 / 1e9) * self.ease()
    }
}

impl Load {
    /// What counts the batches of such a round, and their pages: those that hurry, those paced by the log's growth, and
    /// those of the slowest round.
    fn counters(&self) -> (Counter, Counter) {
        let seconds = self.round_seconds();
        if seconds == 0.0 {
            (Counter::FlushSync, Counter::FlushSyncPages)
        } else if seconds < SLOW_ROUND_NS as f64 / 1e9 {
            (Counter::FlushAdaptive, Counter::FlushAdaptivePages)
        } else {
            (Counter::FlushBackground, Counter::FlushBackgroundPages)
        }
    }
}

pub(crate) struct Checkpointer {
    pool: Arc<Pool>,
    log: Arc<Log>,
    control: Arc<Control>,
    figures: Arc<CheckpointFigures>,
    /// Up to where each sector's changes are known to be on disk.
    sectors: Vec<Lsn>,
    growth: f64,
    seen: (u64, Lsn),
    written_at: u64,
    events: Events,
    /// The last failure, when it was not overcome yet.
    trouble: Option<String>,
}

impl Checkpointer {
    pub(crate) fn new(
        pool: Arc<Pool>,
        log: Arc<Log>,
        control: Arc<Control>,
        figures: Arc<CheckpointFigures>,
        events: Events,
    ) -> Checkpointer {
        let sectors = vec![log.checkpoint_lsn(); pool.sectors()];
        let seen = (now_ns(), log.tail_lsn());
        Checkpointer {
            pool,
            log,
            control,
            figures,
            sectors,
            growth: 0.0,
            seen,
            written_at: now_ns(),
            events,
            trouble: None,
        }
    }

    /// Works until the task is interrupted. `next_trx` returns the id that the next writer gets. Waits for
    /// `recovery`'s redo first: the checkpoint passes no pending page.
    pub(crate) fn run(mut self, recovery: &Recovery, next_trx: impl Fn() -> TrxId) {
        while !recovery.redo_is_done() {
            let failing = recovery.status().failed;
            self.log.set_checkpoints(if failing { Checkpoints::Fail } else { Checkpoints::Move });
            if self.pause(SECOND / 20) {
                return;
            }
        }
        self.log.set_checkpoints(Checkpoints::Move);
        while !interrupted() {
            if self.is_held() {
                if self.pause(IDLE_NS / 10) {
                    return;
                }
                continue;
            }
            let start = now_ns();
            let before = self.log.tail_lsn();
            for sector in 0..self.pool.sectors() {
                if self.is_held() {
                    break;
                }
                let outcome = self.step(sector, &next_trx);
                if interrupted() {
                    return;
                }
                match outcome {
                    Ok(()) => self.overcome(),
                    Err(e) if self.is_final(&e) => return,
                    Err(_) if self.pause(SECOND) => return,
                    Err(_) => break,
                }
            }
            self.figures.round_ns.store(now_ns() - start, Relaxed);
            let idle = self.log.tail_lsn() == before && self.pool.status().pages_dirty == 0;
            if idle {
                self.figures.pace.store(0, Relaxed);
            }
            if (idle || now_ns() - start < IDLE_NS / 10) && self.pause(if idle { IDLE_NS } else { IDLE_NS / 10 }) {
                return;
            }
        }
    }

    /// Logs a failure, once. False: it may pass (a full disk), and the round begins again.
    fn is_final(&mut self, e: &EngineError) -> bool {
        let last = self.pool.poisoned().is_some() || self.log.poisoned().is_some();
        self.figures.failed.store(true, Relaxed);
        self.log.set_checkpoints(if last { Checkpoints::Failed } else { Checkpoints::Fail });
        let text = e.to_string();
        if self.trouble.as_ref() != Some(&text) {
            let end = if last { "nothing is written back until a restart" } else { "it is tried again" };
            self.events.error(format_args!("checkpoint at {}: {text}; {end}", self.log.checkpoint_lsn()));
            self.trouble = Some(text);
        }
        last
    }

    fn is_held(&self) -> bool {
        let age = self.log.tail_lsn().since(self.log.checkpoint_lsn());
        self.figures.held.load(Relaxed) && age < self.log.usable_bytes() / 4 * 3
    }

    fn overcome(&mut self) {
        if self.trouble.take().is_some() {
            self.figures.failed.store(false, Relaxed);
            self.log.set_checkpoints(Checkpoints::Move);
            self.events.note("checkpoint: pages can be written back again");
        }
    }

    /// Sleeps; true when the task is to end.
    fn pause(&self, ns: u64) -> bool {
        let until = now_ns() + ns;
        loop {
            match park(Wait::Background, Some(until)) {
                Unpark::Woken => {}
                Unpark::TimedOut => return false,
                Unpark::Interrupted => return true,
            }
        }
    }

    fn load(&mut self) -> Load {
        let (now, tail) = (now_ns(), self.log.tail_lsn());
        let seconds = (now - self.seen.0) as f64 / 1e9;
        if seconds > 0.05 {
            let rate = tail.since(self.seen.1) as f64 / seconds;
            let slowness = if rate > self.growth { RISE_SECONDS } else { FALL_SECONDS };
            self.growth += (rate - self.growth) * (seconds / slowness).min(0.5);
            self.seen = (now, tail);
            self.figures.growth.store(self.growth as u64, Relaxed);
        }
        let pool = self.pool.status();
        Load {
            age: self.log.braked_age(),
            catching_up: self.log.is_catching_up(),
            usable: self.log.usable_bytes(),
            growth: self.growth as u64,
            dirty: pool.pages_dirty,
            pages: pool.pages_total,
        }
    }

    /// Sweeps one sector and moves the checkpoint if that helps.
    fn step(&mut self, sector: usize, next_trx: &impl Fn() -> TrxId) -> Result<()> {
        // All that the log has was written by the sweep before.
        if self.sectors.get(sector) == Some(&self.log.tail_lsn()) && self.pool.status().pages_dirty == 0 {
            return self.swept(sector, self.sectors[sector], next_trx);
        }
        let mut due = now_ns();
        // The batch that is written, of which counter and since when.
        let mut batch: Option<(Counter, u64)> = None;
        let ended = |batch: Option<(Counter, u64)>| {
            if let Some((Counter::FlushAdaptive, since)) = batch {
                add(Counter::FlushAdaptiveNs, now_ns().saturating_sub(since));
            }
        };
        let pool = self.pool.clone();
        let swept = pool.sweep_paced(sector, &mut |pages, share| {
            ended(batch);
            let load = self.load();
            let (batches, written) = load.counters();
            count(batches);
            let [full, dirty] = load.pressed().map(|part| (part * 100.0) as u64);
            self.figures.pressed[0].store(full, Relaxed);
            self.figures.pressed[1].store(dirty, Relaxed);
            add(written, pages as u64);
            let time = (load.round_seconds() * share * 1e9) as u64;
            self.figures.pace.store((pages as u64 * SECOND).checked_div(time).unwrap_or(u64::MAX), Relaxed);
            due += time;
            let now = now_ns();
            if due > now && !interrupted() {
                self.pause((due - now).min(SECOND));
            }
            due = due.max(now.saturating_sub(SECOND / 10));
            batch = Some((batches, now_ns()));
        });
        ended(batch);
        self.swept(sector, swept?, next_trx)
    }

    /// Notes that no page of a sector has a change before `swept` that is not on disk.
    fn swept(&mut self, sector: usize, swept: Lsn, next_trx: &impl Fn() -> TrxId) -> Result<()> {
        // A pool that has grown has more of them, whose pages may have been changed before this sweep began.
        if self.sectors.len() < self.pool.sectors() {
            self.sectors.resize(self.pool.sectors(), self.log.checkpoint_lsn());
        }
        self.sectors[sector] = swept;
        let least = self.sectors.iter().copied().min().unwrap_or(swept);
        self.figures.swept.store(least.0, Relaxed);
        self.move_to(least, next_trx)
    }

    /// Moves the checkpoint to `lsn` unless that gains too little.
    fn move_to(&mut self, lsn: Lsn, next_trx: &impl Fn() -> TrxId) -> Result<()> {
        let (newest, in_both) = self.control.checkpoints();
        let gain = lsn.since(newest);
        let now = now_ns();
        let worth_it = gain >= self.log.usable_bytes() / 32 || now - self.written_at >= SECOND;
        if (gain == 0 && newest == in_both) || !worth_it {
            return Ok(());
        }
        self.written_at = now;
        write(&self.log, &self.control, lsn, next_trx())?;
        self.figures.count.fetch_add(1, Relaxed);
        Ok(())
    }
}

fn write(log: &Log, control: &Control, lsn: Lsn, next_trx: TrxId) -> Result<()> {
    // Recovery must find the log at the checkpoint.
    log.wait_durable(lsn)?;
    control.update(|data| {
        data.checkpoint = lsn;
        data.checkpoint_epoch = log.epoch_at(lsn);
        data.next_trx = data.next_trx.max(next_trx);
    })?;
    log.set_checkpoint(control.checkpoints().1);
    Ok(())
}

/// Writes everything back where the log is half full. The checkpointer has ended, or has not begun; all redo is
/// applied.
pub(crate) fn make_room(pool: &Pool, log: &Log, control: &Control, next_trx: TrxId) -> Result<()> {
    if log.braked_age() <= log.usable_bytes() / 2 {
        return Ok(());
    }
    log.wait_durable(log.tail_lsn())?;
    let lsn = pool.flush_all()?;
    // Twice: the log is free up to the checkpoint that stands in both slots.
    write(log, control, lsn, next_trx)?;
    write(log, control, lsn, next_trx)
}

/// The last checkpoint of a store that is closed in good order: all is written back, the log ends at the checkpoint.
/// The checkpointer has ended; all redo is applied.
///
/// A statement that did not end in time may still change pages: the checkpoint is no further than the pages written
/// back, and where the log goes on behind it the store has to be recovered at the next start.
pub(crate) fn close(pool: &Pool, log: &Log, control: &Control, next_trx: TrxId) -> Result<()> {
    log.wait_durable(log.tail_lsn())?;
    let lsn = pool.flush_all()?;
    write(log, control, lsn, next_trx)?;
    log.close()?;
    if log.tail_lsn() > lsn {
        return Ok(());
    }
    control.update(|data| data.state = crate::control::State::Closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(age: u64, growth: u64, dirty: u64) -> Load {
        Load { age, catching_up: false, usable: 1000 << 20, growth, dirty, pages: 10_000 }
    }

    #[test]
    fn the_round_follows_growth_age_and_dirt() {
        let round = |load: Load| load.round_seconds();
        // Idle: what is dirty goes in half a minute.
        assert_eq!(round(load(0, 0, 3000)), 30.0);
        // 50 MiB a second into 1000 MiB: 600 MiB are 12 seconds.
        assert_eq!(round(load(100 << 20, 50 << 20, 3000)), 12.0);
        let mut last = f64::MAX;
        for percent in 0..100 {
            let r = round(load((percent * 10) << 20, 50 << 20, 3000));
            assert!(r <= last, "{percent} %");
            last = r;
        }
        assert_eq!(round(load(800 << 20, 1, 3000)), 0.0);
        assert_eq!(round(load(0, 1, 9500)), 0.0);
        assert!(round(load(0, 1, 8500)) < 0.6 * round(load(0, 1, 7500)));
        assert_eq!(round(Load { usable: 0, pages: 0, ..load(0, 0, 1) }), 0.0);
    }
}
