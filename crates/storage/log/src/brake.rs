//! The brake on writers. It is proportional, so that the log's age settles below its bound instead of hitting it.

use gannet_base::Lsn;
use gannet_base::sync::atomic::Ordering::{Acquire, SeqCst};
use gannet_runtime::{Unpark, Wait, hurries, mask_interrupts, now_ns, park, waker};
use gannet_telemetry::{Counter, count};

use crate::LogError;
use crate::core::{Checkpoints, Core};
use crate::delay::delay_ns;
use crate::waiters::Want;

/// How long a checkpoint that fails is waited for where the log is full: what keeps it from moving may pass.
const PATIENCE_NS: u64 = 10_000_000_000;
impl Core {
    /// The slow part of [`crate::Log::admit`].
    #[cold]
    pub(crate) fn brake(&self) -> Result<(), LogError> {
        let mut failing_since = None;
        loop {
            self.check()?;
            if self.stop.load(SeqCst) {
                return Err(LogError::Closed);
            }
            let reserved = self.ring.reserved();
            let size = self.ring.size();
            if reserved.saturating_sub(self.ring.freed()) > size / 4 * 3 {
                count(Counter::InnodbLogWaits);
                count(Counter::LogOnBufferSpaceWaits);
                self.wait_slow(Lsn(reserved - size / 2), Want::Written, Wait::LogBuffer)?;
                continue;
            }
            let checkpoint = self.checkpoint.load(Acquire);
            let by_checkpoint = delay_ns(reserved.saturating_sub(self.age_from(checkpoint)), self.usable());
            let by_consumer = match self.checkpoints() {
                Checkpoints::Closing => Some(0),
                // Else a consumer that cannot read on for want of room would keep those from ending whose locks
                // others wait for, and from making room.
                _ if hurries() => Some(0),
                _ => self.consumer_delay_ns(reserved),
            };
            match by_checkpoint.zip(by_consumer).map(|(a, b)| a.max(b)) {
                Some(0) => return Ok(()),
                Some(delay) => {
                    let until = now_ns() + delay;
                    // An interrupted task goes on at once: it will end or roll back.
                    while park(Wait::Throttle, Some(until)) == Unpark::Woken {}
                    return self.check();
                }
                None => {
                    count(Counter::InnodbLogWaits);
                    let now = now_ns();
                    match self.checkpoints() {
                        Checkpoints::Move => failing_since = None,
                        _ if by_checkpoint.is_some() => {}
                        Checkpoints::Fail if now - *failing_since.get_or_insert(now) < PATIENCE_NS => {}
                        Checkpoints::Fail | Checkpoints::Failed => return Err(LogError::Full),
                        Checkpoints::Closing => return Err(LogError::Closed),
                    }
                    count(Counter::LogOnFileSpaceWaits);
                    self.space_waiters.lock().push(waker());
                    // Only what stops this writer counts, or it would look again and again.
                    let moved = by_checkpoint.is_none() && self.checkpoint.load(Acquire) != checkpoint
                        || by_consumer.is_none() && reserved <= self.retentions.brake_from();
                    if !moved && !self.stop.load(SeqCst) {
                        // For the checkpoint even an interrupted task has to wait: its roll-back writes too.
                        let _mask = by_checkpoint.is_none().then(mask_interrupts);
                        if park(Wait::LogSpace, Some(now_ns() + 100_000_000)) == Unpark::Interrupted {
                            return Err(LogError::Interrupted);
                        }
                    }
                }
            }
        }
    }

    /// [`delay_ns`] for the slowest consumer. Reports a consumer that stops writers to the server's log.
    fn consumer_delay_ns(&self, reserved: u64) -> Option<u64> {
        let (delay, stops) = self.retentions.delay_ns(reserved);
        if let Some(name) = stops {
            self.events.warning(format_args!(
                "log: consumer '{name}' is so far behind that its bound is reached; writers wait until it has read on"
            ));
        }
        delay
    }
}
