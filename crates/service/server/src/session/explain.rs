//! EXPLAIN's result.

use super::sink::{RowsSink, plain_column};
use super::state::text;
use gannet_plan::Plan;
use gannet_plan::explain::{TRADITIONAL_COLUMNS, json, traditional, tree};
use gannet_plan::plan::ResultColumn;
use gannet_types::{CollationId, Result, SqlType, TypeId, Value, sql_err};

/// The rows for a plan in a format.
pub(crate) fn rows(plan: &Plan, format: &str) -> Result<RowsSink> {
    let format = format.to_ascii_uppercase();
    match format.as_str() {
        "TRADITIONAL" | "TRADITIONAL_STRICT" => Ok(table(plan)),
        "TREE" => {
            let columns = vec![plain_column("EXPLAIN", SqlType::varchar(65_535 / 4, CollationId(33)))];
            Ok(RowsSink { columns, rows: vec![vec![text(&tree(plan, true))]] })
        }
        "JSON" => {
            let columns = vec![plain_column("EXPLAIN", SqlType::varchar(65_535 / 4, CollationId(33)))];
            Ok(RowsSink { columns, rows: vec![vec![text(&json(plan))]] })
        }
        other => Err(sql_err!(UnknownExplainFormat, other)),
    }
}

fn table(plan: &Plan) -> RowsSink {
    let word = |name: &str, length: u32| plain_column(name, SqlType::varchar(length, CollationId(33)));
    let ty = |name: &str| -> ResultColumn {
        match name {
            "id" | "rows" => plain_column(name, SqlType::bigint_unsigned()),
            "filtered" => plain_column(name, SqlType { scale: 2, length: 5, ..SqlType::new(TypeId::Double) }),
            "select_type" => word(name, 19),
            "partitions" | "possible_keys" | "key_len" => word(name, 4096),
            "ref" => word(name, 1024),
            "type" => word(name, 10),
            "Extra" => word(name, 255),
            _ => word(name, 64),
        }
    };
    let maybe = |s: &Option<String>| s.as_deref().map_or(Value::Null, text);
    let row = |r: &gannet_plan::explain::ExplainRow| {
        vec![
            r.id.map_or(Value::Null, Value::UInt),
            text(&r.select_type),
            maybe(&r.table),
            Value::Null,
            maybe(&r.access),
            maybe(&r.possible_keys),
            maybe(&r.key),
            maybe(&r.key_len),
            maybe(&r.refs),
            r.rows.map_or(Value::Null, Value::UInt),
            r.filtered.map_or(Value::Null, Value::Double),
            maybe(&r.extra),
        ]
    };
    RowsSink {
        columns: TRADITIONAL_COLUMNS.iter().map(|n| ty(n)).collect(),
        rows: traditional(plan).iter().map(row).collect(),
    }
}
