//! The background: variables are looked at, rows whose items have expired go, and `flush_all` of a later time comes. In
//! small transactions, with pauses, and not while the server is read-only.

use crate::Shared;
use crate::client::{UNIT, remove_unit};
use crate::config::Mapping;
use crate::container::Container;
use gannet_core::accounts::Privileges;
use gannet_core::vars::Live;
use gannet_core::work::{Mode, Terms, Work};
use gannet_engine::{Isolation, Lsn};
use gannet_runtime::{Unpark, WallTime, interrupted, sleep};
use gannet_telemetry::{Counter, add};
use gannet_types::{ErrorCode, Result};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks, each at [`UNIT`] rows of each container: five thousand rows a second.
const PAUSE: Duration = Duration::from_millis(50);
/// So many looks after the end of a table before the next walk over it: ten seconds.
const REST: u32 = 200;

/// Where the walk over a container's table is.
#[derive(Default)]
struct Walk {
    after: Vec<u8>,
    rest: u32,
}

/// A later `flush_all`: the container, and when, microseconds since 1970.
pub(crate) struct Flush {
    pub(crate) mapping: Mapping,
    pub(crate) us: u64,
}

/// The background task; ends when it is interrupted.
pub(crate) fn run(shared: &Arc<Shared>) {
    let core = &shared.core;
    let terms = Terms {
        isolation: Isolation::ReadCommitted,
        read_only: false,
        autocommit: true,
        row_wait_s: 1,
        table_wait_s: 1,
        compressed: core.globals.get(Live::BinlogTransactionCompression).as_bool(),
    };
    let mut work = Work::new(core.clone(), 0, terms);
    let mut walks: BTreeMap<String, Walk> = BTreeMap::new();
    while !core.shutting_down() && sleep(PAUSE) != Unpark::Interrupted {
        shared.settings.renew(core);
        if core.is_read_only() {
            continue;
        }
        for flush in shared.due_flushes(WallTime::now().micros()) {
            if let Err(e) = flush_all(shared, &mut work, &flush) {
                core.log.warning(format_args!("flush_all of {} has ended early: {}", flush.mapping.name, e.message()));
            }
        }
        // What no client has used since the start is not walked over.
        let Some(config) = shared.known_config() else { continue };
        walks.retain(|name, _| config.find(name).is_some());
        for mapping in config.containers.iter().filter(|m| m.expiry.is_some()) {
            let walk = walks.entry(mapping.name.clone()).or_default();
            if walk.rest > 0 {
                walk.rest -= 1;
                continue;
            }
            match step(&mut work, mapping, config.separator, walk) {
                Ok(gone) => add(Counter::MemcachedExpiredRows, gone),
                // It is locked, altered, gone or unusable: at another time, perhaps.
                Err(_) => walk.rest = REST,
            }
        }
    }
}

fn step(work: &mut Work, mapping: &Mapping, separator: u8, walk: &mut Walk) -> Result<u64> {
    let Container { mut table, columns } = Container::open(work, mapping, separator)?;
    let now_s = WallTime::now().seconds() as i64;
    let (gone, last) = table.once(work, (Mode::Write, Privileges::NONE), |work, rows| {
        rows.remove_some(&mut work.writer()?, (&walk.after, UNIT), |row| Ok(columns.facts(row)?.is_expired(now_s)))
    })?;
    walk.rest = if last.is_some() { 0 } else { REST };
    walk.after = last.unwrap_or_default();
    Ok(gone)
}

fn flush_all(shared: &Shared, work: &mut Work, flush: &Flush) -> Result<()> {
    let separator = shared.known_config().map_or(b'|', |config| config.separator);
    let mut after = Vec::new();
    loop {
        let Container { mut table, .. } = Container::open(work, &flush.mapping, separator)?;
        let step =
            table.once(work, (Mode::Write, Privileges::NONE), |work, rows| remove_unit(work, rows, &after, Lsn::ZERO));
        match step {
            Ok((_, Some(last))) => after = last,
            Ok((_, None)) => return Ok(()),
            Err(e) if e.code() == ErrorCode::NeedReprepare && !interrupted() => {}
            Err(e) => return Err(e),
        }
    }
}
