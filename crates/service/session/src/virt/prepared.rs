//! performance_schema: prepared statements of sessions, and what they were used for.

use super::columns::{COUNT, STATEMENT_SUMS};
use super::declare::{Columns, LONGTEXT, NAME, UBIGINT, enumeration};
use super::deeds::{sums, timed};
use super::runtime::{ps, visible};
use super::{Emit, Equals, maybe, member, text};
use crate::state::State;
use gannet_core::Core;
use gannet_types::{Result, Value};

const TIMES: Columns = &[
    ("COUNT_EXECUTE", COUNT),
    ("SUM_TIMER_EXECUTE", COUNT),
    ("MIN_TIMER_EXECUTE", COUNT),
    ("AVG_TIMER_EXECUTE", COUNT),
    ("MAX_TIMER_EXECUTE", COUNT),
];

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    prepared_statements_instances by instances, reset by forget {
        OBJECT_INSTANCE_BEGIN: COUNT, STATEMENT_ID: COUNT, STATEMENT_NAME: NAME, SQL_TEXT: LONGTEXT.not_null(),
        OWNER_THREAD_ID: COUNT, OWNER_EVENT_ID: COUNT,
        OWNER_OBJECT_TYPE: enumeration(&["EVENT", "FUNCTION", "PROCEDURE", "TABLE", "TRIGGER"]),
        OWNER_OBJECT_SCHEMA: NAME, OWNER_OBJECT_NAME: NAME, EXECUTION_ENGINE: enumeration(&["PRIMARY", "SECONDARY"]),
        TIMER_PREPARE: UBIGINT.not_null(), COUNT_REPREPARE: COUNT,
    } + TIMES + STATEMENT_SUMS
}

fn instances(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let n = Value::UInt;
    for entry in visible(state) {
        for instance in entry.deeds.prepared.all() {
            let used = entry.deeds.used(&instance, &state.server.registry.prepared);
            let mut row = vec![
                n(entry.id << 32 | u64::from(instance.number)),
                n(instance.number.into()),
                maybe(instance.name.as_deref()),
                text(&instance.text().to_string()),
                n(entry.id),
                n(instance.event),
            ];
            row.resize(9, Value::Null);
            row.push(member("prepared_statements_instances", "EXECUTION_ENGINE", "PRIMARY"));
            row.extend([ps(instance.prepare_ns), n(used.again)]);
            let did = &used.did;
            row.extend(timed(did.count, did.total_ns, did.min_ns, did.max_ns));
            row.extend(sums(did));
            emit(&row)?;
        }
    }
    Ok(())
}

fn forget(core: &Core) {
    core.registry.prepared.forget();
}
