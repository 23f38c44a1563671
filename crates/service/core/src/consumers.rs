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

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Which are on.
pub struct Consumers(AtomicU8);

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
        self.0.load(Relaxed) & consumer.bit() != 0
    }

    /// Statements leave something behind when they end.
    #[inline]
    pub fn keep_statements(&self) -> bool {
        let kept = [Consumer::StatementsCurrent, Consumer::StatementsHistory, Consumer::StatementsHistoryLong];
        self.0.load(Relaxed) & kept.map(Consumer::bit).iter().fold(0, |all, bit| all | bit) != 0
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
