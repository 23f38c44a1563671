//! Gives memory that was freed back to the system: the allocator keeps it otherwise.
//!
//! Statements announce what they give back of their bounded memory. What nobody announces (texts, plans, closed
//! prepared statements) shows in the size of the process: when it is much larger than it was at its least, beyond the
//! pages of the pool, what is free is given back, less and less often while that does not make it smaller.

use crate::Core;
use gannet_base::PAGE_SIZE;
use gannet_runtime::now_ns;

/// Memory that is not left to the allocator.
const MUCH: u64 = 32 << 20;
/// Between two releases.
const RELEASE_NS: u64 = 5_000_000_000;
/// A statement announces the release of memory shortly before it releases it.
const AFTER_NS: u64 = 1_000_000_000;
/// The longest pause between two releases that the process's size asks for.
const LONGEST_NS: u64 = 60_000_000_000;

/// What is known of it; the background task keeps it.
#[derive(Default)]
pub struct Release {
    /// Announced since the last release.
    freed: u64,
    release_at: u64,
    size: Size,
}

/// The process without the pool's pages.
#[derive(Default)]
struct Size {
    /// At its least.
    least: Option<u64>,
    /// At the last look.
    last: u64,
    look_at: u64,
    pause_ns: u64,
}

impl Release {
    /// To be called again and again.
    pub fn look(&mut self, core: &Core) {
        let given_back = core.temp.take_given_back() as u64;
        if self.freed < MUCH && self.freed + given_back >= MUCH {
            self.release_at = self.release_at.max(now_ns() + AFTER_NS);
        }
        self.freed += given_back;
        let announced = self.freed >= MUCH && now_ns() >= self.release_at;
        if announced || self.size.wants(core) {
            gannet_runtime::run_blocking(gannet_runtime::release_free_memory);
            (self.freed, self.release_at) = (0, now_ns() + RELEASE_NS);
        }
    }
}

impl Size {
    /// The process is so large that a release may help.
    fn wants(&mut self, core: &Core) -> bool {
        let now = now_ns();
        if now < self.look_at {
            return false;
        }
        let Some(resident) = gannet_runtime::resident_bytes() else { return false };
        let size = resident.saturating_sub(core.engine.status().pool_resident * PAGE_SIZE as u64);
        self.judge(size, now)
    }

    fn judge(&mut self, size: u64, now: u64) -> bool {
        let least = self.least.map_or(size, |least| least.min(size));
        self.least = Some(least);
        let changed = size.abs_diff(self.last) >= MUCH;
        self.last = size;
        self.look_at = now + RELEASE_NS;
        if size < least + 2 * MUCH {
            self.pause_ns = RELEASE_NS;
            return false;
        }
        // It grew, or the last release helped: go on. Else what it holds is in use.
        self.pause_ns = if changed { RELEASE_NS } else { (self.pause_ns * 2).clamp(RELEASE_NS, LONGEST_NS) };
        self.look_at = now + self.pause_ns;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_stays_large_is_asked_less_and_less() {
        let mut size = Size::default();
        let (mut now, mut asked) = (0, Vec::new());
        let mut look = |bytes: u64, size: &mut Size| {
            now = size.look_at.max(now);
            size.judge(bytes, now).then(|| asked.push(now / 1_000_000_000));
        };
        look(100 << 20, &mut size);
        look(150 << 20, &mut size);
        for _ in 0..6 {
            look(600 << 20, &mut size);
        }
        // A release helped.
        look(300 << 20, &mut size);
        look(100 << 20, &mut size);
        assert_eq!(asked, [10, 15, 25, 45, 85, 145, 205]);
    }
}
