//! What performance_schema collects of single statements: the rows of `setup_consumers` that can be changed.

use crate::stages::Stages;
use crate::usual::changed;
use gannet_base::sync::atomic::{AtomicBool, AtomicU16, Ordering::Relaxed};
use std::sync::Arc;

/// A consumer that can be switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumer {
    StatementsCurrent,
    StatementsHistory,
    StatementsHistoryLong,
    WaitsCurrent,
    StatementsCpu,
    TransactionsCurrent,
    TransactionsHistory,
    TransactionsHistoryLong,
    StagesCurrent,
    StagesHistory,
    StagesHistoryLong,
}

impl Consumer {
    /// By its name in `setup_consumers`.
    pub fn by_name(name: &str) -> Option<Consumer> {
        Some(match name {
            "events_stages_current" => Consumer::StagesCurrent,
            "events_stages_history" => Consumer::StagesHistory,
            "events_stages_history_long" => Consumer::StagesHistoryLong,
            "events_statements_current" => Consumer::StatementsCurrent,
            "events_statements_history" => Consumer::StatementsHistory,
            "events_statements_history_long" => Consumer::StatementsHistoryLong,
            "events_statements_cpu" => Consumer::StatementsCpu,
            "events_transactions_current" => Consumer::TransactionsCurrent,
            "events_transactions_history" => Consumer::TransactionsHistory,
            "events_transactions_history_long" => Consumer::TransactionsHistoryLong,
            "events_waits_current" => Consumer::WaitsCurrent,
            _ => return None,
        })
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// Where a statement or transaction that ends is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// With its session.
    pub own: bool,
    /// With those of all sessions.
    pub long: bool,
    /// Among the session's last ones, and not only as the last of all.
    pub listed: bool,
}

/// Which are on.
pub struct Consumers {
    bits: AtomicU16,
    /// Processor time is measured for them.
    measures: AtomicBool,
    /// Users' processor time is shown, whatever is on.
    of_users: AtomicBool,
    /// Stages know it by themselves: see there.
    pub stages: Arc<Stages>,
}

/// Nothing is collected, whatever is on: `performance_schema` is OFF.
const OFF: u16 = 1 << 15;

impl Default for Consumers {
    /// As MySQL's defaults: without the long histories, the stages and the waits.
    fn default() -> Self {
        let statements = Consumer::StatementsCurrent.bit() | Consumer::StatementsHistory.bit();
        let bits = statements | Consumer::TransactionsCurrent.bit() | Consumer::TransactionsHistory.bit();
        let [measures, of_users] = [const { AtomicBool::new(false) }; 2];
        Consumers { bits: AtomicU16::new(bits), measures, of_users, stages: Arc::default() }
    }
}

impl Consumers {
    /// A consumer is on. The long history and the current statements' figures are made of the history.
    #[inline]
    pub fn is_on(&self, consumer: Consumer) -> bool {
        self.bits.load(Relaxed) & (consumer.bit() | OFF) == consumer.bit()
    }

    /// What statements leave behind when they end; `None`: nothing is collected of them.
    #[inline]
    pub fn of_ended(&self) -> Option<Kept> {
        self.kept(
            Consumer::StatementsCurrent.bit() | Consumer::StatementsHistory.bit(),
            Consumer::StatementsHistoryLong.bit(),
        )
    }

    /// The same of transactions.
    #[inline]
    pub fn of_transactions(&self) -> Option<Kept> {
        self.kept(
            Consumer::TransactionsCurrent.bit() | Consumer::TransactionsHistory.bit(),
            Consumer::TransactionsHistoryLong.bit(),
        )
    }

    #[inline]
    fn kept(&self, own: u16, long: u16) -> Option<Kept> {
        let bits = self.bits.load(Relaxed);
        (bits & OFF == 0).then_some(Kept { own: bits & own != 0, long: bits & long != 0, listed: true })
    }

    /// Statements and transactions are kept with their sessions, and nowhere else.
    #[inline]
    pub fn are_usual(&self) -> bool {
        const STATEMENTS: u16 = Consumer::StatementsCurrent.bit() | Consumer::StatementsHistory.bit();
        const TRANSACTIONS: u16 = Consumer::TransactionsCurrent.bit() | Consumer::TransactionsHistory.bit();
        const NOT: u16 = OFF | Consumer::StatementsHistoryLong.bit() | Consumer::TransactionsHistoryLong.bit();
        let bits = self.bits.load(Relaxed);
        bits & STATEMENTS != 0 && bits & TRANSACTIONS != 0 && bits & NOT == 0
    }

    /// Anything is collected of statements.
    #[inline]
    pub fn collect(&self) -> bool {
        self.bits.load(Relaxed) & OFF == 0
    }

    /// Collects again, or nothing any more.
    pub fn switch_all(&self, on: bool) {
        if on {
            self.bits.fetch_and(!OFF, Relaxed);
        } else {
            self.bits.fetch_or(OFF, Relaxed);
        }
        self.follow();
    }

    /// `userstat` is on, whose tables have users' processor time, or off.
    pub fn switch_users(&self, on: bool) {
        self.of_users.store(on, Relaxed);
        self.follow();
    }

    /// Processor time is measured, for a consumer or for `userstat`.
    pub fn measures_cpu(&self) -> bool {
        self.measures.load(Relaxed)
    }

    /// Processor time is measured while somebody shows it: by the process, where other servers may be, too. Stages
    /// hear of their consumers.
    fn follow(&self) {
        let stages = [Consumer::StagesCurrent, Consumer::StagesHistory, Consumer::StagesHistoryLong];
        self.stages.follow(self.collect(), stages.map(|consumer| self.is_on(consumer)));
        changed();
        let on = self.is_on(Consumer::StatementsCpu) || self.of_users.load(Relaxed);
        if self.measures.swap(on, Relaxed) != on {
            gannet_telemetry::measure_cpu(on);
        }
    }

    /// Switches one.
    pub fn set(&self, consumer: Consumer, on: bool) {
        if on {
            self.bits.fetch_or(consumer.bit(), Relaxed);
        } else {
            self.bits.fetch_and(!consumer.bit(), Relaxed);
        }
        self.follow();
    }
}

impl Drop for Consumers {
    fn drop(&mut self) {
        if self.measures.load(Relaxed) {
            gannet_telemetry::measure_cpu(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_collected_while_all_is_off() {
        let consumers = Consumers::default();
        assert!(consumers.are_usual());
        consumers.set(Consumer::StatementsHistoryLong, true);
        assert!(!consumers.are_usual());
        consumers.switch_all(false);
        assert!(!consumers.collect() && !consumers.is_on(Consumer::StatementsHistory));
        assert_eq!(consumers.of_ended(), None);
        consumers.switch_all(true);
        assert!(consumers.collect() && consumers.is_on(Consumer::StatementsHistory));
        assert_eq!(consumers.of_ended(), Some(Kept { own: true, long: true, listed: true }));
    }
}
