//! ANALYZE TABLE ... UPDATE HISTOGRAM and DROP HISTOGRAM.

use super::Session;
use super::reply::{Done, Reply};
use super::show::table;
use super::state::{text, unsupported};
use gannet_catalog::StoredTable;
use gannet_core::accounts::{Privilege, Privileges};
use gannet_exec::error::from_catalog;
use gannet_parser::ast;
use gannet_schema::histogram::key_part;
use gannet_schema::{Bucket, Column, Histogram, RowSource, Shape, Table};
use gannet_types::{Result, SqlType, Timestamp, TypeId, Value, key, sql_err};
use std::fmt::Write;

/// Buckets without WITH n BUCKETS.
const DEFAULT_BUCKETS: u64 = 100;
/// Most buckets.
const MAX_BUCKETS: u64 = 1024;
/// Rows looked at: of larger tables a sample.
const SAMPLE_ROWS: u64 = 500_000;

/// A distinct value with its number of rows.
type Counted = (Value, u64);

/// UPDATE HISTOGRAM, DROP HISTOGRAM: one row a column.
pub(super) fn histograms(
    session: &mut Session,
    m: &ast::TableMaintenance,
    wanted: &ast::Histogram,
    reply: &mut dyn Reply,
) -> Result<Done> {
    if wanted.data.is_some() {
        return unsupported("ANALYZE TABLE ... UPDATE HISTOGRAM ... USING DATA");
    }
    let buckets = wanted.buckets.unwrap_or(DEFAULT_BUCKETS);
    if !(1..=MAX_BUCKETS).contains(&buckets) {
        return Err(sql_err!(DataOutOfRange, "Number of buckets", "ANALYZE TABLE"));
    }
    let mut rows = Vec::new();
    let mut line = |label: &str, kind: &str, message: &str| {
        rows.push(vec![text(label), text("histogram"), text(kind), text(message)]);
    };
    let [name] = &m.tables[..] else {
        line("", "Error", "Only one table can be specified while modifying histogram statistics.");
        return send_histograms(session, rows, reply);
    };
    let schema = match &name.schema {
        Some(s) => s.text.to_string(),
        None => session.state.require_database()?.to_string(),
    };
    session.require_on_table(Privileges::of(&[Privilege::Select, Privilege::Insert]), &schema, &name.name)?;
    session.state.renew_snapshot();
    let t = session.state.snapshot.require_table(&schema, &name.name).cloned()?;
    let label = format!("{schema}.{}", name.name);
    let refused = match &t.source {
        RowSource::View(_) => Some("Cannot create histogram statistics for a view."),
        _ if t.temporary => Some("Cannot create histogram statistics for a temporary table."),
        RowSource::Virtual(_) => return unsupported("histograms of the server's own tables"),
        RowSource::Engine => None,
    };
    if let Some(message) = refused {
        line(&label, "Error", message);
        return send_histograms(session, rows, reply);
    }
    for (i, ident) in wanted.columns.iter().enumerate() {
        if wanted.columns[..i].iter().any(|c| c.text.eq_ignore_ascii_case(&ident.text)) {
            return Err(sql_err!(DupFieldname, &*ident.text));
        }
    }
    // One line a column, by name.
    let mut columns: Vec<_> = wanted.columns.iter().collect();
    columns.sort_by(|a, b| a.text.cmp(&b.text));
    for ident in columns {
        let found = t.column(&ident.text).and_then(|i| t.columns.get(i as usize)).filter(|c| !c.hidden);
        let Some(c) = found else {
            line(&label, "Error", &format!("The column '{}' does not exist.", ident.text));
            continue;
        };
        if wanted.drop {
            let dropped = session.server.catalog.drop_histogram(&t, &c.name).map_err(from_catalog)?;
            if dropped {
                line(&label, "status", &format!("Histogram statistics removed for column '{}'.", c.name))
            } else {
                line(&label, "Error", &format!("No histogram statistics found for column '{}'.", c.name));
            }
            continue;
        }
        let ordinal = t.column(&ident.text).unwrap_or(0);
        let alone = |i: &gannet_schema::Index| i.unique() && i.parts.len() == 1 && i.parts[0].column == ordinal;
        if t.indexes.iter().any(alone) {
            let message = format!("The column '{}' is covered by a single-part unique index.", c.name);
            line(&label, "Error", &message);
            continue;
        }
        if data_type(&c.ty).is_none() {
            line(&label, "Error", &format!("The column '{}' has an unsupported data type.", c.name));
            continue;
        }
        make_histogram(session, &t, c, buckets, wanted.auto_update == Some(true))?;
        line(&label, "status", &format!("Histogram statistics created for column '{}'.", c.name));
    }
    send_histograms(session, rows, reply)
}

fn send_histograms(session: &mut Session, rows: Vec<Vec<Value>>, reply: &mut dyn Reply) -> Result<Done> {
    session.send_table(&table(super::show::maintained(), rows), reply)
}

/// The histograms that every ANALYZE TABLE rebuilds.
pub(super) fn renew_histograms(session: &mut Session, t: &Table) -> Result<()> {
    for h in t.statistics.histograms().iter().filter(|h| h.automatic) {
        if let Some(c) = t.columns.iter().find(|c| h.fits(c)) {
            make_histogram(session, t, c, h.wanted.into(), true)?;
        }
    }
    Ok(())
}

fn make_histogram(session: &mut Session, t: &Table, c: &Column, buckets: u64, automatic: bool) -> Result<()> {
    let ident = |s: &str| format!("`{}`", s.replace('`', "``"));
    let engine = &session.server.engine;
    let of_part = |part: &Table| part.trees(engine).map_or(0, |trees| trees.row.approximate_rows());
    let counted = t.all_parts().flatten().map(of_part).sum();
    let rows = t.statistics.figures().rows.max(counted);
    let rate = if rows > SAMPLE_ROWS { SAMPLE_ROWS as f64 / rows as f64 } else { 1.0 };
    let sample = if rate < 1.0 { format!(" WHERE RAND() < {rate}") } else { String::new() };
    let name = ident(&c.name);
    let sql = format!(
        "SELECT {name} AS v, COUNT(*) AS n FROM {}.{}{sample} GROUP BY {name} ORDER BY {name}",
        ident(&t.schema),
        ident(&t.name)
    );
    let kept = session.own_rows(&sql)?;
    let (mut nulls, mut total) = (0, 0);
    let mut values: Vec<Counted> = Vec::with_capacity(kept.rows.len());
    for row in kept.rows {
        let mut row = row.into_iter();
        let (Some(value), Some(n)) = (row.next(), row.next()) else { continue };
        let n = match n {
            Value::Int(n) => n.max(0) as u64,
            Value::UInt(n) => n,
            _ => 0,
        };
        total += n;
        match value {
            Value::Null => nulls += n,
            v => values.push((v, n)),
        }
    }
    let histogram =
        build(c, &values, (nulls, total.max(1)), (buckets, automatic, rate), session.state.statement_time())?;
    session.server.catalog.put_histogram(t, histogram).map_err(from_catalog)
}

/// A histogram of sorted distinct values. Singleton when each value has a bucket of its own, equi-height otherwise.
fn build(
    c: &Column,
    values: &[Counted],
    (nulls, total): (u64, u64),
    (wanted, automatic, rate): (u64, bool, f64),
    now_us: i64,
) -> Result<Histogram> {
    let singleton = values.len() as u64 <= wanted;
    let part = key_part(&c.ty);
    let encode = |v: &Value| -> Result<Box<[u8]>> {
        let mut out = Vec::new();
        key::encode(&part, v.as_ref(), &mut out)?;
        Ok(out.into())
    };
    let filled: u64 = values.iter().map(|(_, n)| n).sum();
    let (mut buckets, mut shown) = (Vec::new(), Vec::new());
    let (mut first, mut before) = (0, 0u64);
    for (i, (value, n)) in values.iter().enumerate() {
        before += n;
        // A bucket is full when the buckets so far hold their part of the rows.
        let full = u128::from(before) * u128::from(wanted) >= u128::from(filled) * (buckets.len() as u128 + 1);
        if !singleton && !full && i + 1 < values.len() {
            continue;
        }
        let cumulative = before as f64 / total as f64;
        let (low, distinct) = (&values[first].0, (i + 1 - first) as f64);
        shown.push(if singleton {
            format!("[{}, {cumulative:?}]", json_value(value, &c.ty))
        } else {
            let (low, high) = (json_value(low, &c.ty), json_value(value, &c.ty));
            format!("[{low}, {high}, {cumulative:?}, {distinct}]")
        });
        buckets.push(Bucket { low: encode(low)?, high: encode(value)?, cumulative, distinct });
        first = i + 1;
    }
    let updated = Timestamp::from_unix_micros(now_us).map(|t| t.to_local(&gannet_types::TimeZone::UTC));
    let mut time = Vec::new();
    if let Some(at) = updated {
        Value::DateTime(at, 6).write_text(&mut time);
    }
    let nulls = nulls as f64 / total as f64;
    let json = format!(
        "{{\"buckets\": [{}], \"data-type\": \"{}\", \"auto-update\": {automatic}, \"null-values\": {nulls:?}, \"collation-id\": {}, \
         \"last-updated\": \"{}\", \"sampling-rate\": {rate:?}, \"histogram-type\": \"{}\", \"number-of-buckets-specified\": {wanted}}}",
        shown.join(", "),
        data_type(&c.ty).unwrap_or("string"),
        // Values that are not text have latin1's there.
        if c.ty.id.is_string() || matches!(c.ty.id, TypeId::Enum | TypeId::Set) { c.ty.collation.0 } else { 8 },
        String::from_utf8_lossy(&time),
        if singleton { "singleton" } else { "equi-height" },
    );
    let wanted = wanted as u32;
    let buckets = buckets.into();
    Ok(Histogram {
        column: (&*c.name).into(),
        shape: Shape::of(&c.ty),
        nulls,
        buckets,
        json: json.into(),
        wanted,
        automatic,
    })
}

/// `data-type`; none for what cannot have a histogram.
fn data_type(ty: &SqlType) -> Option<&'static str> {
    Some(match ty.id {
        id if id.is_integer() => {
            if ty.unsigned {
                "uint"
            } else {
                "int"
            }
        }
        TypeId::Year | TypeId::Bit => "uint",
        TypeId::Float | TypeId::Double => "double",
        TypeId::Decimal => "decimal",
        TypeId::Date => "date",
        TypeId::Time => "time",
        TypeId::DateTime | TypeId::Timestamp => "datetime",
        TypeId::Enum => "enum",
        TypeId::Set => "set",
        id if id.is_string() => "string",
        _ => return None,
    })
}

/// A value as MySQL writes it into a histogram: text in base64, as its bytes need not be UTF-8.
fn json_value(v: &Value, ty: &SqlType) -> String {
    let mut shown = Vec::new();
    match v {
        Value::Enum(n, _) => return n.to_string(),
        Value::Set(n, _) => return n.to_string(),
        Value::Bit(n, _) => return n.to_string(),
        Value::Double(f) if f.is_finite() => return format!("{f:?}"),
        Value::Float(f) if f.is_finite() => return format!("{:?}", f64::from(*f)),
        v => v.write_text(&mut shown),
    }
    match data_type(ty) {
        Some("int" | "uint" | "decimal" | "double") => String::from_utf8_lossy(&shown).into_owned(),
        Some("string") => {
            // MySQL's number of the type of strings.
            let mut out = String::from("\"base64:type254:");
            base64(&shown, &mut out);
            out.push('"');
            out
        }
        _ => format!("\"{}\"", String::from_utf8_lossy(&shown)),
    }
}

fn base64(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize] as char;
            let _ = out.write_char(if i <= chunk.len() { digit } else { '=' });
        }
    }
}
