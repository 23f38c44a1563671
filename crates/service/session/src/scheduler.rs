//! The event scheduler: a task that starts events when they are due.
//!
//! An event's times are computed, not kept: occurrence `k` of EVERY is STARTS + k intervals. Months and days count in
//! the event's time zone, so that an event at noon stays at noon; hours and shorter units are elapsed time. What was
//! due while the server stood still is not made up for; an AT that has passed meanwhile is dropped, or disabled.

use crate::Sessions;
use crate::show_programs::zone_of;
use gannet_base::sync::atomic::Ordering;
use gannet_catalog::{CatalogResult, Edit};
use gannet_core::Core;
use gannet_core::registry::{Activity, Entry};
use gannet_core::vars::Live;
use gannet_engine::TxnOptions;
use gannet_runtime::{JoinHandle, Unpark, Wait, WallTime, interrupted, now_ns, park};
use gannet_schema::{Event, EventSchedule, EventStatus};
use gannet_types::temporal::{Interval, IntervalUnit, add_interval};
use gannet_types::{SqlError, TimeZone};
use std::collections::HashMap;
use std::sync::Arc;

/// The longest sleep: the clock may be set, or a definition change unheard.
const LONGEST_NS: u64 = 5_000_000_000;
/// Pause before an event that is due and may not start yet is looked at again.
const PAUSE_NS: u64 = 200_000_000;
/// Runs of events at once: more wait for the next look.
const MOST_RUNS: usize = 64;
/// Runs of one event at once, when it takes longer than its interval.
const MOST_RUNS_OF_ONE: usize = 4;

/// Who the scheduler is in the process list.
pub(crate) const SCHEDULER: &str = "event_scheduler";

/// What is known of an event.
struct Planned {
    event: Arc<Event>,
    /// Its next run, microseconds since 1970 UTC; `None`: never.
    next_us: Option<i64>,
}

struct Run {
    task: JoinHandle<()>,
    schema: Arc<str>,
    name: Arc<str>,
}

/// Runs until the server stops.
pub fn run(core: &Arc<Core>, sessions: &Arc<Sessions>) {
    // Of the process list, while events run.
    let mut entry = None;
    // Events have whole seconds.
    let began_us = WallTime::now().seconds() as i64 * 1_000_000;
    let mut planned = AllPlanned::new();
    let mut version = None;
    let mut runs: Vec<Run> = Vec::new();
    let mut sleep_ns = 0;
    core.registry.starts_events();
    while !core.shutting_down() && !interrupted() {
        if park(Wait::EventsIdle, Some(now_ns() + sleep_ns)) == Unpark::Interrupted {
            break;
        }
        sleep_ns = LONGEST_NS;
        runs.retain(|r| !r.task.is_finished());
        let on = core.globals.get(Live::EventScheduler).as_str() == "ON";
        show(core, &mut entry, on, &planned);
        if !on || core.is_read_only() {
            continue;
        }
        let now_us = WallTime::now().micros() as i64;
        if version != Some(core.catalog.version()) {
            let snapshot = core.catalog.snapshot();
            version = Some(snapshot.version());
            plan(core, &snapshot, &mut planned, began_us, now_us);
        }
        for p in planned.values_mut() {
            let Some(due) = p.next_us.filter(|due| *due <= now_us) else { continue };
            let same = |r: &&Run| r.schema == p.event.schema && r.name == p.event.name;
            if runs.len() >= MOST_RUNS || runs.iter().filter(same).count() >= MOST_RUNS_OF_ONE {
                continue;
            }
            p.next_us = next(core, &p.event, now_us + 1);
            let passed = matches!(p.event.schedule, EventSchedule::At(_)) && due < began_us;
            if !passed {
                p.event.last_run_us.store(now_us as u64, Ordering::Relaxed);
            }
            if p.next_us.is_none()
                && let Err(e) = finish(core, &p.event)
            {
                core.log.error(format_args!("event {}.{}: {e}", p.event.schema, p.event.name));
            }
            if passed {
                continue;
            }
            runs.push(start(core, sessions, &p.event));
        }
        show(core, &mut entry, on, &planned);
        for due in planned.values().filter_map(|p| p.next_us) {
            let until = u64::try_from(due - now_us).map_or(PAUSE_NS, |us| us.saturating_mul(1_000));
            sleep_ns = sleep_ns.min(if until == 0 { PAUSE_NS } else { until });
        }
    }
    for run in runs {
        run.task.context().interrupt(gannet_runtime::Interrupt::Shutdown);
        let _ = run.task.join();
    }
    show(core, &mut entry, false, &planned);
}

type AllPlanned = HashMap<(Arc<str>, Arc<str>), Planned>;

/// What the process list shows of the scheduler: nothing when it is off.
fn show(core: &Core, entry: &mut Option<Arc<Entry>>, on: bool, planned: &AllPlanned) {
    match (on, &entry) {
        (false, None) => {}
        (false, Some(own)) => {
            core.registry.leave(own.id);
            *entry = None;
        }
        (true, _) => {
            let enter = || core.registry.enter_own(gannet_runtime::context(), SCHEDULER, "localhost");
            let own = entry.get_or_insert_with(enter);
            let due = planned.values().any(|p| p.next_us.is_some());
            let now = if due { Activity::EventsDue } else { Activity::NoEvents };
            if own.activity().0 != now {
                own.begin(now, now_ns(), b"");
            }
        }
    }
}

/// Takes over the events as they are now. One that is known as it is keeps its next time.
fn plan(core: &Core, snapshot: &gannet_schema::CatalogSnapshot, planned: &mut AllPlanned, began_us: i64, now_us: i64) {
    let mut kept = HashMap::new();
    let schemas: Vec<_> = snapshot.schemas().map(|s| s.name.clone()).collect();
    for event in schemas.iter().flat_map(|s| snapshot.events(s)) {
        if event.status != EventStatus::Enabled {
            continue;
        }
        let key = (event.schema.clone(), event.name.clone());
        let known = planned.remove(&key).filter(|p| Arc::ptr_eq(&p.event, event));
        let p = known.unwrap_or_else(|| {
            // A new event may be due at once; one from before the start is not made up for.
            let made = i64::try_from(event.made.changed_us).unwrap_or(0) / 1_000_000 * 1_000_000;
            let from = if made >= began_us { made } else { now_us };
            let next_us = match event.schedule {
                EventSchedule::At(at) => Some(at),
                EventSchedule::Every { .. } => next(core, event, from),
            };
            Planned { event: event.clone(), next_us }
        });
        kept.insert(key, p);
    }
    *planned = kept;
}

/// The first run at `from` or later; `None` when there is none.
fn next(core: &Core, event: &Event, from: i64) -> Option<i64> {
    let EventSchedule::Every { amount, unit, starts, ends } = &event.schedule else { return None };
    let unit = IntervalUnit::by_name(unit)?;
    let interval = Interval::parse(amount.as_bytes(), unit)?;
    let at = occurrence(interval, *starts, from, &zone_of(event, &core.facts.system_zone))?;
    ends.is_none_or(|ends| at <= ends).then_some(at)
}

const DAY_US: i128 = 86_400_000_000;

/// The first `starts + k * interval` at `from` or later.
fn occurrence(interval: Interval, starts: i64, from: i64, zone: &TimeZone) -> Option<i64> {
    if from <= starts {
        return Some(starts);
    }
    let begin = zone.local(starts)?;
    let at = |k: i64| {
        let step = match interval {
            Interval::Months(n) => Interval::Months(n.checked_mul(k)?),
            Interval::Micros(n) => Interval::Micros(n.checked_mul(i128::from(k))?),
        };
        let local = add_interval(begin, step)?;
        // In the gap of spring: at its end.
        zone.instant(local)
    };
    let passed = i128::from(from) - i128::from(starts);
    match interval {
        Interval::Micros(n) if n <= 0 => None,
        Interval::Micros(n) if n % DAY_US != 0 => {
            let k = (passed + n - 1) / n;
            i64::try_from(i128::from(starts) + k * n).ok()
        }
        Interval::Micros(n) => {
            let near = i64::try_from(passed / n).ok()?;
            (near.saturating_sub(2).max(0)..=near + 2).filter_map(at).find(|t| *t >= from)
        }
        Interval::Months(n) if n <= 0 => None,
        Interval::Months(n) => {
            let near = i64::try_from(passed / (31 * DAY_US)).ok()? / n;
            (near.saturating_sub(1).max(0)..).map(at).take(4096).map_while(|t| t).find(|t| *t >= from)
        }
    }
}

/// An event that will not run again is dropped, or with PRESERVE disabled.
fn finish(core: &Core, event: &Arc<Event>) -> Result<(), SqlError> {
    let mut txn = core.engine.try_begin(TxnOptions::default()).map_err(gannet_exec::error::from_engine)?;
    let change = |edit: &mut Edit<'_>| -> CatalogResult<()> {
        let now = edit.snapshot().event(&event.schema, &event.name).cloned();
        // Somebody may have changed it meanwhile.
        let Some(now) = now.filter(|now| Arc::ptr_eq(now, event)) else { return Ok(()) };
        if !event.preserve {
            return edit.drop_event(&now);
        }
        let mut disabled = now.copy();
        disabled.status = EventStatus::Disabled;
        edit.put_event(disabled)
    };
    core.catalog.ddl(&mut txn, None, change).map(drop).map_err(gannet_exec::error::from_catalog)
}

/// Starts an event on a task of its own.
fn start(core: &Arc<Core>, sessions: &Arc<Sessions>, event: &Arc<Event>) -> Run {
    let (schema, name) = (event.schema.clone(), event.name.clone());
    let (core, sessions, event) = (core.clone(), sessions.clone(), event.clone());
    let task = gannet_runtime::spawn("event", move || {
        let (user, host) = (&event.made.definer.0, &event.made.definer.1);
        let label = format!("[{user}@{host}][{}.{}]", event.schema, event.name);
        if let Err(e) = core.catalog.event_ran(&event) {
            core.log.error(format_args!("Event Scheduler: {label} {e}"));
        }
        let account = core.accounts.get(user, host).ok_or_else(|| gannet_types::sql_err!(NoSuchUser, user, host));
        let outcome = account.and_then(|account| {
            let mut session = sessions.own_of(account, user)?;
            session.comes_from(SCHEDULER, "localhost");
            session.run_event(&event)
        });
        match outcome {
            Ok(warnings) => {
                for w in warnings {
                    core.log.warning(format_args!("Event Scheduler: {label} {}", w.message));
                }
            }
            Err(e) => core.log.error(format_args!("Event Scheduler: {label} {}", e.message())),
        }
    });
    Run { task, schema, name }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000;

    #[test]
    fn occurrences_count_from_the_start() {
        let utc = TimeZone::UTC;
        let every = |n: i128| Interval::Micros(n * i128::from(S));
        assert_eq!(occurrence(every(10), 100 * S, 5 * S, &utc), Some(100 * S));
        assert_eq!(occurrence(every(10), 100 * S, 100 * S + 1, &utc), Some(110 * S));
        assert_eq!(occurrence(every(10), 100 * S, 110 * S, &utc), Some(110 * S));
        assert_eq!(occurrence(every(86_400), S, 86_401 * S + 1, &utc), Some((2 * 86_400 + 1) * S));
        // A month from 31 January 1970 is its last day, and the next the last of March.
        let january = 30 * 86_400 * S;
        assert_eq!(occurrence(Interval::Months(1), january, january + 1, &utc), Some((31 + 27) * 86_400 * S));
        assert_eq!(
            occurrence(Interval::Months(1), january, (31 + 28) * 86_400 * S, &utc),
            Some((59 + 30) * 86_400 * S)
        );
    }

    #[test]
    fn days_stay_at_their_hour_over_summer_time() {
        let zone = TimeZone::parse("Europe/Berlin").unwrap_or(TimeZone::UTC);
        // Noon of 28 March 2026, a day before the clocks go forward: 11:00 UTC, then 10:00 UTC.
        let noon = 1_774_695_600 * S;
        let next = occurrence(Interval::Micros(DAY_US), noon, noon + 1, &zone);
        assert_eq!(next, Some(noon + 23 * 3600 * S));
        let hours = occurrence(Interval::Micros(24 * 3600 * i128::from(S) + 1), noon, noon + 1, &zone);
        assert_eq!(hours, Some(noon + 24 * 3600 * S + 1));
    }
}
