//! What the metrics are made from: see [`super::rows`].

use crate::Core;
use crate::seen::{Moment, Span};
use gannet_base::sync::Mutex;
use gannet_catalog::StoredTable;
use gannet_engine::{EngineStatus, SpaceUsage, TreeUses};
use gannet_telemetry::{Counter, Wait, WaitTotals, totals, wait_totals};

/// Where a value comes from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Counter(Counter),
    /// Two of them: what was done, in how many parts; on average.
    Average(Counter, Counter),
    /// A time in nanoseconds, shown in these.
    Time(Counter, u64),
    /// What grows like a counter.
    Computed(fn(&Figures) -> u64),
    /// What is now.
    Value(fn(&Figures) -> u64),
    /// How often something was waited for: a place among all waits.
    Waits(usize),
    /// How long, in microseconds.
    Waited(usize),
}

/// All that sources look at, of one moment.
pub(super) struct Figures {
    pub(super) engine: EngineStatus,
    pub(super) active_writers: u64,
    totals: Vec<(Counter, u64)>,
    waits: Vec<WaitTotals>,
    space: SpaceUsage,
    /// Rows of the dictionary.
    pub(super) system: TreeUses,
    /// What was counted in the last seconds, and how many milliseconds these are.
    recent: Moment,
    /// Locks on tables that sessions hold.
    pub(super) table_locks: u64,
    /// Tables whose trees are open.
    pub(super) open_tables: u64,
    /// Percent of all processors, in the server itself and in the system on its behalf.
    pub(super) cpu_percent: (u64, u64),
}

/// Seconds that InnoDB looks back for averages (`innodb_flushing_avg_loops`).
const RECENT_MS: u64 = 30_000;

/// What was counted in the last seconds that the sampler has looked at.
fn recent(core: &Core) -> Moment {
    let now_ms = gannet_runtime::WallTime::now().micros() / 1000;
    let mut sum = Moment::default();
    for moment in core.seen.moments.between(now_ms.saturating_sub(RECENT_MS), u64::MAX, Span::Second) {
        sum.join(&moment);
    }
    sum
}

/// Processor time at an earlier look: microseconds by the monotonic clock, and of both kinds.
#[derive(Default)]
pub(super) struct Looked(Mutex<(u64, (u64, u64), (u64, u64))>);

impl Looked {
    /// Percent since the look before, which is at least a second ago.
    fn percent(&self) -> (u64, u64) {
        let (now_us, (user, system)) = (gannet_runtime::now_ns() / 1000, gannet_runtime::cpu_times_us());
        let mut looked = self.0.lock();
        let (at_us, before, _) = *looked;
        let passed = now_us.saturating_sub(at_us);
        if at_us == 0 {
            *looked = (now_us, (user, system), (0, 0));
        } else if passed >= 1_000_000 {
            let share = |now: u64, then: u64| now.saturating_sub(then) * 100 / (passed * cores());
            *looked = (now_us, (user, system), (share(user, before.0), share(system, before.1)));
        }
        looked.2
    }
}

impl Figures {
    pub(super) fn of(core: &Core, looked: &Looked) -> Figures {
        // Before the tables are looked at: one that is opened meanwhile is not taken for closed.
        let totals = totals();
        let locks = core.engine.lock_table().metadata_locks();
        let tables = core.catalog.snapshot();
        Figures {
            engine: core.engine.status(),
            active_writers: core.engine.active_writers(),
            totals,
            waits: wait_totals(),
            space: core.engine.space(),
            system: gannet_catalog::uses(&core.catalog),
            recent: recent(core),
            table_locks: locks.iter().filter(|l| l.granted && l.name.contains('.')).count() as u64,
            open_tables: tables.all_tables().filter(|t| t.opened_trees().is_some()).count() as u64,
            cpu_percent: looked.percent(),
        }
    }

    /// What a counter has grown by lately.
    pub(super) fn lately(&self, counter: Counter) -> u64 {
        self.recent.count(counter as usize)
    }

    /// What a counter grows by in a second, lately.
    pub(super) fn rate(&self, counter: Counter) -> u64 {
        (self.lately(counter) * 1000).checked_div(self.recent.span_ms).unwrap_or(0)
    }

    /// A time by what took it, on average, in milliseconds.
    pub(super) fn average_ms(&self, ns: Counter, parts: Counter) -> u64 {
        (self.total(ns) / 1_000_000).checked_div(self.total(parts)).unwrap_or(0)
    }

    pub(super) fn total(&self, counter: Counter) -> u64 {
        self.totals.get(counter as usize).map_or(0, |(_, n)| *n)
    }

    pub(super) fn read(&self, source: Source) -> i64 {
        let wait = |at: usize| self.waits.get(at);
        let n = match source {
            Source::Counter(counter) => self.total(counter),
            Source::Average(sum, parts) => self.total(sum).checked_div(self.total(parts)).unwrap_or(0),
            Source::Time(counter, unit) => self.total(counter) / unit,
            Source::Computed(f) | Source::Value(f) => f(self),
            Source::Waits(at) => wait(at).map_or(0, |w| w.count),
            Source::Waited(at) => wait(at).map_or(0, |w| w.ns / 1000),
        };
        i64::try_from(n).unwrap_or(i64::MAX)
    }
}

/// What InnoDB calls a metric's type.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Grows.
    Counter,
    /// Grows, and SHOW STATUS has it too.
    StatusCounter,
    /// What is now.
    Value,
    /// A sum of which others are the parts.
    SetOwner,
    /// How many parts there are, or what is in one on average.
    SetMember,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::StatusCounter => "status_counter",
            Kind::Value => "value",
            Kind::SetOwner => "set_owner",
            Kind::SetMember => "set_member",
        }
    }
}

/// A metric but those of waits.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) subsystem: &'static str,
    pub(super) kind: Kind,
    /// On at the start.
    pub(super) on: bool,
    pub(super) source: Source,
    pub(super) comment: &'static str,
}

impl Figures {
    pub(super) fn age(&self) -> u64 {
        self.engine.log_lsn.0.saturating_sub(self.engine.checkpoint_lsn.0)
    }

    /// A part of what the log may grow by, in thousandths.
    pub(super) fn of_log(&self, thousandths: u64) -> u64 {
        self.engine.redo_usable_bytes / 1000 * thousandths
    }

    /// Versions of tables that were opened, and that there are no more.
    pub(super) fn closed_tables(&self) -> u64 {
        self.total(Counter::TableHandlesOpened).saturating_sub(self.open_tables)
    }

    pub(super) fn waits(&self, wait: Wait) -> u64 {
        self.waits.get(wait as usize).map_or(0, |w| w.count)
    }

    /// Pages that undo takes.
    pub(super) fn undo_pages(&self) -> u64 {
        self.space.named.used
    }

    /// Commits that found the log far enough, or need not wait for it.
    pub(super) fn commits_without_wait(&self) -> u64 {
        self.total(Counter::TrxRwCommits).saturating_sub(self.total(Counter::TrxOnLogWaits))
    }

    /// Single SELECTs without locks.
    pub(super) fn plain_reads(&self) -> u64 {
        let others = self.total(Counter::TrxRwCommits) + self.total(Counter::TrxRoCommits);
        self.total(Counter::TransactionsCommitted).saturating_sub(others)
    }

    /// Pages a second that the checkpoint's sweep aims at.
    pub(super) fn pace(&self) -> u64 {
        self.engine.checkpoint_pace
    }

    /// How long a batch of pages takes on average, in milliseconds.
    pub(super) fn batch_ms(&self) -> u64 {
        let ms = self.total(Counter::FlushNs) / 1_000_000;
        ms.checked_div(self.total(Counter::FlushBatches)).unwrap_or(0)
    }

    /// How long a sync of the log takes on average, in milliseconds.
    pub(super) fn log_sync_ms(&self) -> u64 {
        let ms = self.total(Counter::LogFlushNs) / 1_000_000;
        ms.checked_div(self.total(Counter::InnodbOsLogFsyncs)).unwrap_or(0)
    }

    /// Microseconds between waits for the log, lately; 0 without any.
    pub(super) fn log_wait_interval(&self) -> u64 {
        let waits = self.lately(Counter::LogOnWriteWaits) + self.lately(Counter::LogOnFlushWaits);
        (self.recent.span_ms * 1000).checked_div(waits).unwrap_or(0)
    }

    pub(super) fn average_row_lock(&self) -> u64 {
        let ms = self.total(Counter::InnodbRowLockTimeMicros) / 1000;
        ms.checked_div(self.total(Counter::InnodbRowLockWaits)).unwrap_or(0)
    }
}

pub(super) fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u64)
}
