//! Tables of performance_schema that are empty here: of parts that do not exist, and of events that are not collected.

use super::columns::*;
use super::declare::{
    BIGINT, INT, JSON, LONGTEXT, NAME, UBIGINT, UINT, UMEDIUMINT, UTINYINT, YES_NO, enumeration, fixed, timestamp,
    tinyint, varchar,
};
use super::empty::no_rows;
use gannet_core::Core;

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    component_scheduler_tasks by no_rows { NAME: varchar(128).not_null(), STATUS: enumeration(&["RUNNING", "WAITING"]).not_null(), COMMENT: varchar(256).not_null(), INTERVAL_SECONDS: BIGINT.not_null(), TIMES_RUN: BIGINT.not_null(), TIMES_FAILED: BIGINT.not_null() }
    clone_progress by no_rows { ID: INT, STAGE: fixed(32), STATE: fixed(16), BEGIN_TIME: timestamp(6), END_TIME: timestamp(6), THREADS: INT, ESTIMATE: BIGINT, DATA: BIGINT, NETWORK: BIGINT, DATA_SPEED: INT, NETWORK_SPEED: INT }
    keyring_component_status by no_rows { STATUS_KEY: varchar(256).not_null(), STATUS_VALUE: varchar(1024).not_null() }
    user_defined_functions by no_rows { UDF_NAME: NAME.not_null(), UDF_RETURN_TYPE: varchar(20).not_null(), UDF_TYPE: varchar(20).not_null(), UDF_LIBRARY: varchar(1024), UDF_USAGE_COUNT: BIGINT }
    setup_meters by no_rows { NAME: varchar(63).not_null(), FREQUENCY: UMEDIUMINT.not_null(), ENABLED: YES_NO.not_null(), DESCRIPTION: varchar(1023) }
    setup_metrics by no_rows { NAME: varchar(63).not_null(), METER: varchar(63).not_null(), METRIC_TYPE: enumeration(&["ASYNC COUNTER", "ASYNC UPDOWN COUNTER", "ASYNC GAUGE COUNTER"]).not_null(), NUM_TYPE: enumeration(&["INTEGER", "DOUBLE"]).not_null(), UNIT: varchar(63), DESCRIPTION: varchar(1023) }
    cond_instances by no_rows { NAME: varchar(128).not_null(), OBJECT_INSTANCE_BEGIN: COUNT }
    mutex_instances by no_rows { NAME: varchar(128).not_null(), OBJECT_INSTANCE_BEGIN: COUNT, LOCKED_BY_THREAD_ID: UBIGINT }
    rwlock_instances by no_rows { NAME: varchar(128).not_null(), OBJECT_INSTANCE_BEGIN: COUNT, WRITE_LOCKED_BY_THREAD_ID: UBIGINT, READ_LOCKED_BY_COUNT: UINT.not_null() }
    replication_asynchronous_connection_failover_managed by no_rows { CHANNEL_NAME: fixed(64).utf8mb3().not_null(), MANAGED_NAME: fixed(64).utf8mb3().not_null().empty(), MANAGED_TYPE: fixed(64).utf8mb3().not_null().empty(), CONFIGURATION: JSON }
    replication_group_communication_information by no_rows { WRITE_CONCURRENCY: COUNT, PROTOCOL_VERSION: LONGTEXT.not_null(), WRITE_CONSENSUS_LEADERS_PREFERRED: LONGTEXT.not_null(), WRITE_CONSENSUS_LEADERS_ACTUAL: LONGTEXT.not_null(), WRITE_CONSENSUS_SINGLE_LEADER_CAPABLE: tinyint(1).not_null(), MEMBER_FAILURE_SUSPICIONS_COUNT: LONGTEXT.not_null() }
    replication_group_configuration_version by no_rows { NAME: fixed(255).ascii().not_null(), VERSION: COUNT }
    replication_group_member_actions by no_rows { NAME: fixed(255).ascii().not_null(), EVENT: fixed(64).ascii().not_null(), ENABLED: tinyint(1).not_null(), TYPE: fixed(64).ascii().not_null(), PRIORITY: UTINYINT.not_null(), ERROR_HANDLING: fixed(64).ascii().not_null() }
}

// Of consumers that are off, as `setup_consumers` says, or of what is not counted: see `docs/observability.md`.
tables! {
    OFF in "performance_schema":
    events_waits_history by no_rows, reset by nothing {  } + WAIT
    events_waits_history_long by no_rows, reset by nothing {  } + WAIT
    events_waits_summary_by_instance by no_rows, reset by nothing { EVENT_NAME: varchar(128).not_null(), OBJECT_INSTANCE_BEGIN: COUNT } + TIMED
}

/// There is nothing to forget.
fn nothing(_: &Core) {}
