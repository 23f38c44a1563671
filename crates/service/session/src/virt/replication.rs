//! Tables about the binary log and replicas.

use super::declare::{NAME, SMALLINT, TEXT, UBIGINT, enumeration, timestamp};
use super::{Emit, Equals, member, micros, text};
use crate::state::State;
use gannet_core::Core;
use gannet_core::binlog::Sized;
use gannet_types::{Result, Value};

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    binary_log_transaction_compression_stats by compression, reset by forget_compression {
        LOG_TYPE: enumeration(&["BINARY", "RELAY"]).not_null(), COMPRESSION_TYPE: NAME.not_null(),
        TRANSACTION_COUNTER: UBIGINT.not_null(), COMPRESSED_BYTES_COUNTER: UBIGINT.not_null(),
        UNCOMPRESSED_BYTES_COUNTER: UBIGINT.not_null(), COMPRESSION_PERCENTAGE: SMALLINT.not_null(),
        FIRST_TRANSACTION_ID: TEXT, FIRST_TRANSACTION_COMPRESSED_BYTES: UBIGINT.not_null(),
        FIRST_TRANSACTION_UNCOMPRESSED_BYTES: UBIGINT.not_null(), FIRST_TRANSACTION_TIMESTAMP: timestamp(6),
        LAST_TRANSACTION_ID: TEXT, LAST_TRANSACTION_COMPRESSED_BYTES: UBIGINT.not_null(),
        LAST_TRANSACTION_UNCOMPRESSED_BYTES: UBIGINT.not_null(), LAST_TRANSACTION_TIMESTAMP: timestamp(6),
    }
}

/// Of the binary log; there is no relay log.
fn compression(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let Some(log) = state.server.binlog() else { return Ok(()) };
    for (name, sizes) in ["NONE", "ZSTD"].into_iter().zip(log.sizes()) {
        let Some(sizes) = sizes else { continue };
        let saved = 100.0 * (1.0 - sizes.bytes as f64 / sizes.plain_bytes.max(1) as f64);
        let one = |s: &Sized| {
            let id = text(&format!("{}:{}", s.gtid.0, s.gtid.1));
            [id, Value::UInt(s.bytes), Value::UInt(s.plain_bytes), micros(s.committed_us, 6)]
        };
        let mut row = vec![
            member("binary_log_transaction_compression_stats", "LOG_TYPE", "BINARY"),
            text(name),
            Value::UInt(sizes.count),
            Value::UInt(sizes.bytes),
            Value::UInt(sizes.plain_bytes),
            Value::Int(saved.round() as i64),
        ];
        row.extend(one(&sizes.first));
        row.extend(one(&sizes.last));
        emit(&row)?;
    }
    Ok(())
}

fn forget_compression(server: &Core) {
    if let Some(log) = server.binlog() {
        log.forget_sizes();
    }
}
