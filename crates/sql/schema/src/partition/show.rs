//! The PARTITION BY clause as MySQL prints it.

use super::{By, Method, PartOptions, Partitioning, Spread, Values};
use crate::names::quote_text;
use gannet_types::Value;
use std::fmt::Write;

/// Writes the clause behind the table's options.
pub(crate) fn write_partitioning(out: &mut String, of: &Partitioning, quoted: &dyn Fn(&mut String, &str)) {
    let newer = of.spread.by_columns() || [Some(&of.spread), of.sub.as_ref()].into_iter().flatten().any(seconds);
    out.push_str(if newer { "\n/*!50500 PARTITION BY " } else { "\n/*!50100 PARTITION BY " });
    write_spread(out, &of.spread, quoted);
    if of.counted && of.count_written {
        let _ = write!(out, "\nPARTITIONS {}", of.partitions.len());
    }
    if let Some(sub) = &of.sub {
        out.push_str("\nSUBPARTITION BY ");
        write_spread(out, sub, quoted);
        if of.subs_counted && of.sub_count_written {
            let _ = write!(out, "\nSUBPARTITIONS {}", of.subs());
        }
    }
    if !of.counted {
        write_partitions(out, of, quoted);
    }
    out.push_str(" */");
}

fn write_partitions(out: &mut String, of: &Partitioning, quoted: &dyn Fn(&mut String, &str)) {
    for (i, partition) in of.partitions.iter().enumerate() {
        out.push_str(if i == 0 { "\n(PARTITION " } else { ",\n PARTITION " });
        quoted(out, &partition.name);
        match &partition.values {
            Values::None => {}
            Values::LessThan(_) => {
                let _ = write!(out, " VALUES LESS THAN {}", value_text(of, &partition.values, true));
            }
            Values::In(_) => {
                let _ = write!(out, " VALUES IN ({})", value_text(of, &partition.values, true));
            }
        }
        if of.sub.is_none() || of.subs_counted {
            write_options(out, &partition.options);
            continue;
        }
        for (j, sub) in partition.subs.iter().enumerate() {
            out.push_str(if j == 0 { "\n (SUBPARTITION " } else { ",\n  SUBPARTITION " });
            quoted(out, &sub.name);
            write_options(out, &sub.options);
        }
        out.push(')');
    }
    out.push(')');
}

/// The expression reads seconds: then the clause needs a newer server, says MySQL.
fn seconds(spread: &Spread) -> bool {
    spread.expression().is_some_and(|e| e.contains("to_seconds("))
}

fn write_spread(out: &mut String, spread: &Spread, quoted: &dyn Fn(&mut String, &str)) {
    if spread.linear {
        out.push_str("LINEAR ");
    }
    out.push_str(match spread.method {
        Method::Range => "RANGE ",
        Method::List => "LIST ",
        Method::Hash => "HASH ",
        Method::Key => "KEY ",
    });
    if spread.method == Method::Key && spread.algorithm == 1 {
        out.push_str("*/ /*!50611 ALGORITHM = 1 */ /*!50100 ");
    }
    match &spread.by {
        By::Expression(text) => {
            let _ = write!(out, "({text})");
        }
        By::Columns(names) => {
            out.push_str(if spread.method == Method::Key { "(" } else { " COLUMNS(" });
            for (i, name) in names.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                quoted(out, name);
            }
            out.push(')');
        }
        By::Primary => out.push_str("()"),
    }
}

fn write_options(out: &mut String, options: &PartOptions) {
    for (name, value) in &options.others {
        let _ = write!(out, " {name} = {value}");
    }
    if !options.comment.is_empty() {
        out.push_str(" COMMENT = ");
        quote_text(out, &options.comment);
    }
    out.push_str(" ENGINE = InnoDB");
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("NULL"),
        Value::Int(_) | Value::UInt(_) => push_text(out, value),
        Value::Str(bytes, collation) if collation.is_binary() => {
            out.push_str("_binary 0x");
            write_hex(out, bytes);
        }
        Value::Str(bytes, collation) => {
            let converted = collation.charset().convert(bytes, gannet_types::charset::Charset::Utf8mb4);
            if converted.lossy {
                let _ = write!(out, "_{} 0x", collation.charset().name());
                write_hex(out, bytes);
            } else {
                quote_text(out, &String::from_utf8_lossy(&converted.bytes));
            }
        }
        _ => {
            out.push('\'');
            push_text(out, value);
            out.push('\'');
        }
    }
}

fn write_hex(out: &mut String, bytes: &[u8]) {
    for b in bytes {
        let _ = write!(out, "{b:02X}");
    }
}

fn push_text(out: &mut String, value: &Value) {
    let mut bytes = Vec::new();
    value.write_text(&mut bytes);
    out.push_str(&String::from_utf8_lossy(&bytes));
}

/// A partition's values as `information_schema.PARTITIONS` has them, and with `clause` as the clause has them.
fn value_text(of: &Partitioning, values: &Values, clause: bool) -> String {
    let mut out = String::new();
    match values {
        Values::None => {}
        Values::LessThan(bounds) => {
            let inside = clause && (of.spread.by_columns() || bounds.iter().all(Option::is_some));
            if inside {
                out.push('(');
            }
            for (i, bound) in bounds.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                match bound {
                    None => out.push_str("MAXVALUE"),
                    Some(value) => write_value(&mut out, value),
                }
            }
            if inside {
                out.push(')');
            }
        }
        Values::In(rows) => {
            // NULL comes first where it is no column's.
            let null = |row: &[Value]| !of.spread.by_columns() && row.iter().all(Value::is_null);
            let ordered = rows.iter().filter(|r| null(r)).chain(rows.iter().filter(|r| !null(r)));
            for (i, row) in ordered.enumerate() {
                if i > 0 {
                    out.push(',');
                }
                if row.len() > 1 {
                    out.push('(');
                }
                for (j, value) in row.iter().enumerate() {
                    if j > 0 {
                        out.push(',');
                    }
                    write_value(&mut out, value);
                }
                if row.len() > 1 {
                    out.push(')');
                }
            }
        }
    }
    out
}

impl Partitioning {
    /// PARTITION_DESCRIPTION of `information_schema.PARTITIONS`.
    pub fn description(&self, values: &Values) -> Option<String> {
        (*values != Values::None).then(|| value_text(self, values, false))
    }
}

impl Spread {
    /// PARTITION_METHOD of `information_schema.PARTITIONS`.
    pub fn method_name(&self) -> String {
        let linear = if self.linear { "LINEAR " } else { "" };
        let columns = if self.by_columns() { " COLUMNS" } else { "" };
        let method = match self.method {
            Method::Range => "RANGE",
            Method::List => "LIST",
            Method::Hash => "HASH",
            Method::Key => "KEY",
        };
        format!("{linear}{method}{columns}")
    }

    /// PARTITION_EXPRESSION of `information_schema.PARTITIONS`; `None` of KEY ().
    pub fn expression_text(&self) -> Option<String> {
        match &self.by {
            By::Expression(text) => Some(text.to_string()),
            By::Columns(names) => {
                Some(names.iter().map(|n| format!("`{}`", n.replace('`', "``"))).collect::<Vec<_>>().join(","))
            }
            By::Primary => None,
        }
    }
}
