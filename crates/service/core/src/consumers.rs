//! What performance_schema collects of single statements: the rows of `setup_consumers` that can be changed.

use gannet_base::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A consumer that can be switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumer {
    StatementsCurrent,
    StatementsHistory,
    StatementsHistoryLong,
    WaitsCurrent,
}

impl Consumer {
    /// By its name in `setup_consumers`.
    pub fn by_name(name: &str) -> Option<Consumer> {
        Some(match name {
            "events_statements_current" => Consumer::StatementsCurrent,
            "events_statements_history" => Consumer::StatementsHistory,
            "events_statements_history_long" => Consumer::StatementsHistoryLong,
            "events_waits_current" => Consumer::WaitsCurrent,
            _ => return None,
        })
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Where a statement that ends is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// With its session.
    pub own: bool,
    /// With those of all sessions.
    pub long: bool,
}

/// Which are on.
pub struct Consumers(AtomicU8);

/// Nothing is collected, whatever is on: `performance_schema` is OFF.
const OFF: u8 = 1 << 7;

impl Default for Consumers {
    /// As MySQL's defaults: without the long history and the waits.
    fn default() -> Self {
        Consumers(AtomicU8::new(Consumer::StatementsCurrent.bit() | Consumer::StatementsHistory.bit()))
    }
}

impl Consumers {
    /// A consumer is on. The long history and the current statements' figures are made of the history.
    #[inline]
    pub fn is_on(&self, consumer: Consumer) -> bool {
        self.0.load(Relaxed) & (consumer.bit() | OFF) == consumer.bit()
    }

    /// What statements leave behind when they end.
    #[inline]
    pub fn of_ended(&self) -> Kept {
        let bits = self.0.load(Relaxed);
        if bits & OFF != 0 {
            return Kept { own: false, long: false };
        }
        Kept {
            own: bits & (Consumer::StatementsCurrent.bit() | Consumer::StatementsHistory.bit()) != 0,
            long: bits & Consumer::StatementsHistoryLong.bit() != 0,
        }
    }

    /// Anything is collected of statements.
    #[inline]
    pub fn collect(&self) -> bool {
        self.0.load(Relaxed) & OFF == 0
    }

    /// Collects again, or nothing any more.
    pub fn switch_all(&self, on: bool) {
        if on {
            self.0.fetch_and(!OFF, Relaxed);
        } else {
            self.0.fetch_or(OFF, Relaxed);
        }
    }

    /// Switches one.
    pub fn set(&self, consumer: Consumer, on: bool) {
        if on {
            self.0.fetch_or(consumer.bit(), Relaxed);
        } else {
            self.0.fetch_and(!consumer.bit(), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_collected_while_all_is_off() {
        let consumers = Consumers::default();
        consumers.set(Consumer::StatementsHistoryLong, true);
        consumers.switch_all(false);
        assert!(!consumers.collect() && !consumers.is_on(Consumer::StatementsHistory));
        assert_eq!(consumers.of_ended(), Kept { own: false, long: false });
        consumers.switch_all(true);
        assert!(consumers.collect() && consumers.is_on(Consumer::StatementsHistory));
        assert_eq!(consumers.of_ended(), Kept { own: true, long: true });
    }
}
