//! A partitioning in the row of its table.
//!
//! ```text
//! parts       u8 version (1) · spread · u8 flags · [spread of subpartitions] · partitions (count)
//!             · trees (one for each leaf: u64 row tree, one u64 for each index)
//!             flags: 1 = subpartitions, 2 = counted, 4 = subpartitions counted, 8 = PARTITIONS written,
//!             16 = SUBPARTITIONS written
//! spread      u8 method · u8 flags (1 = LINEAR, 2 = columns, 4 = the primary key, 8 = placed as MySQL does)
//!             · u8 algorithm
//!             · text expression, or columns (count, names)
//! partition   text name · options · u8 kind of values · values · subpartitions (count: text name, options)
//!             LESS THAN: bounds (count: u8 type, value; 0 is MAXVALUE)
//!             IN: rows (count: values (count: u8 type, value))
//! options     text comment · others (count: text name, text value)
//! ```
//!
//! A value is preceded by 1 and written as the dictionary writes defaults.

use super::{
    Bound, By, MAX_PARTS, Method, PartOptions, PartTrees, Partition, Partitioned, Partitioning, Placement, Spread,
    SubPartition, Values,
};
use crate::column::MAX_COLUMNS;
use crate::fields::{Decoded, text};
use crate::values::{decode_plain_value, encode_value};
use gannet_base::{Reader, TreeId, Writer};
use gannet_types::Value;
use std::sync::Arc;

const VERSION: u8 = 1;
const MAX_TEXT: usize = 1 << 20;
const MAX_NAME: usize = 1024;
const MAX_VALUES: usize = 1 << 20;
const MAX_OPTIONS: usize = 16;

const METHODS: [Method; 4] = [Method::Range, Method::List, Method::Hash, Method::Key];

fn count(r: &mut Reader<'_>, max: usize, what: &'static str) -> Decoded<usize> {
    match usize::try_from(r.varint()?) {
        Ok(n) if n <= max => Ok(n),
        _ => Err(r.invalid(what)),
    }
}

pub(crate) fn encode_parts(parts: &Partitioned, w: &mut Writer<'_>) {
    let definition = &parts.definition;
    w.u8(VERSION);
    encode_spread(&definition.spread, w);
    let flags = u8::from(definition.sub.is_some())
        | u8::from(definition.counted) << 1
        | u8::from(definition.subs_counted) << 2
        | u8::from(definition.count_written) << 3
        | u8::from(definition.sub_count_written) << 4;
    w.u8(flags);
    if let Some(sub) = &definition.sub {
        encode_spread(sub, w);
    }
    w.varint(definition.partitions.len() as u64);
    for partition in &definition.partitions {
        w.prefixed(partition.name.as_bytes());
        encode_options(&partition.options, w);
        encode_values(&partition.values, w);
        w.varint(partition.subs.len() as u64);
        for sub in &partition.subs {
            w.prefixed(sub.name.as_bytes());
            encode_options(&sub.options, w);
        }
    }
    for trees in &parts.trees {
        w.u64(trees.row.0);
        for index in &trees.indexes {
            w.u64(index.0);
        }
    }
}

fn encode_spread(spread: &Spread, w: &mut Writer<'_>) {
    let method = METHODS.iter().position(|m| *m == spread.method).unwrap_or(0);
    let kind = match &spread.by {
        By::Expression(_) => 0,
        By::Columns(_) => 2,
        By::Primary => 4,
    };
    let placed = u8::from(spread.placement == Placement::Mysql) << 3;
    w.u8(method as u8).u8(u8::from(spread.linear) | kind | placed).u8(spread.algorithm);
    match &spread.by {
        By::Expression(text) => {
            w.prefixed(text.as_bytes());
        }
        By::Columns(names) => {
            w.varint(names.len() as u64);
            for name in names {
                w.prefixed(name.as_bytes());
            }
        }
        By::Primary => {}
    }
}

fn encode_options(options: &PartOptions, w: &mut Writer<'_>) {
    w.prefixed(options.comment.as_bytes()).varint(options.others.len() as u64);
    for (name, value) in &options.others {
        w.prefixed(name.as_bytes()).prefixed(value.as_bytes());
    }
}

fn encode_values(values: &Values, w: &mut Writer<'_>) {
    match values {
        Values::None => {
            w.u8(0);
        }
        Values::LessThan(bounds) => {
            w.u8(1).varint(bounds.len() as u64);
            for bound in bounds {
                match bound {
                    None => {
                        w.u8(0);
                    }
                    Some(value) => encode_value(value, w.u8(1)),
                }
            }
        }
        Values::In(rows) => {
            w.u8(2).varint(rows.len() as u64);
            for row in rows {
                w.varint(row.len() as u64);
                for value in row {
                    encode_value(value, w);
                }
            }
        }
    }
}

/// Decodes a partitioning of a table with so many indexes.
pub(crate) fn decode_parts(r: &mut Reader<'_>, indexes: usize) -> Decoded<Partitioned> {
    if r.u8()? != VERSION {
        return Err(r.invalid("version of a partitioning"));
    }
    let spread = decode_spread(r)?;
    let flags = r.u8()?;
    if flags & !31 != 0 {
        return Err(r.invalid("flags of a partitioning"));
    }
    let sub = if flags & 1 != 0 { Some(decode_spread(r)?) } else { None };
    let n = count(r, MAX_PARTS, "number of partitions")?;
    let mut partitions = Vec::with_capacity(n);
    for _ in 0..n {
        partitions.push(decode_partition(r)?);
    }
    let definition = Partitioning {
        spread,
        counted: flags & 2 != 0,
        subs_counted: flags & 4 != 0,
        count_written: flags & 8 != 0,
        sub_count_written: flags & 16 != 0,
        partitions: partitions.into(),
        sub,
    };
    let subs = definition.subs();
    let even = definition.partitions.iter().all(|p| p.subs.len().max(1) == subs && p.subs.is_empty() == (subs == 1));
    let single = definition.sub.is_some() && definition.partitions.iter().all(|p| p.subs.len() == 1);
    if n == 0 || definition.leaves() > MAX_PARTS || !(even || single) {
        return Err(r.invalid("number of partitions"));
    }
    let mut trees = Vec::with_capacity(definition.leaves());
    for _ in 0..definition.leaves() {
        let row = TreeId(r.u64()?);
        let indexes = (0..indexes).map(|_| Ok(TreeId(r.u64()?))).collect::<Decoded<_>>()?;
        trees.push(PartTrees { row, indexes });
    }
    Ok(Partitioned { definition, trees: trees.into() })
}

fn decode_spread(r: &mut Reader<'_>) -> Decoded<Spread> {
    let method = METHODS.get(usize::from(r.u8()?)).copied().ok_or(r.invalid("method of a partitioning"))?;
    let flags = r.u8()?;
    let algorithm = r.u8()?;
    let by = match flags & !(1 | 8) {
        0 => By::Expression(text(r, MAX_TEXT)?),
        2 => {
            let n = count(r, MAX_COLUMNS, "number of columns of a partitioning")?;
            By::Columns((0..n).map(|_| Ok(Arc::from(&*text(r, MAX_NAME)?))).collect::<Decoded<_>>()?)
        }
        4 => By::Primary,
        _ => return Err(r.invalid("flags of a partitioning")),
    };
    let placement = if flags & 8 == 0 { Placement::First } else { Placement::Mysql };
    Ok(Spread { method, linear: flags & 1 != 0, algorithm, placement, by })
}

fn decode_partition(r: &mut Reader<'_>) -> Decoded<Partition> {
    let name = Arc::from(&*text(r, MAX_NAME)?);
    let options = decode_options(r)?;
    let values = decode_values(r)?;
    let n = count(r, MAX_PARTS, "number of subpartitions")?;
    let mut subs = Vec::with_capacity(n);
    for _ in 0..n {
        subs.push(SubPartition { name: Arc::from(&*text(r, MAX_NAME)?), options: decode_options(r)? });
    }
    Ok(Partition { name, values, options, subs: subs.into() })
}

fn decode_options(r: &mut Reader<'_>) -> Decoded<PartOptions> {
    let comment = text(r, MAX_TEXT)?;
    let n = count(r, MAX_OPTIONS, "number of options")?;
    let others = (0..n).map(|_| Ok((text(r, MAX_NAME)?, text(r, MAX_TEXT)?))).collect::<Decoded<_>>()?;
    Ok(PartOptions { comment, others })
}

fn decode_values(r: &mut Reader<'_>) -> Decoded<Values> {
    match r.u8()? {
        0 => Ok(Values::None),
        1 => {
            let n = count(r, MAX_COLUMNS, "number of bounds")?;
            let bound = |r: &mut Reader<'_>| -> Decoded<Bound> {
                match r.u8()? {
                    0 => Ok(None),
                    1 => Ok(Some(decode_plain_value(r)?)),
                    _ => Err(r.invalid("bound")),
                }
            };
            Ok(Values::LessThan((0..n).map(|_| bound(r)).collect::<Decoded<_>>()?))
        }
        2 => {
            let n = count(r, MAX_VALUES, "number of values")?;
            let mut rows: Vec<Box<[Value]>> = Vec::new();
            for _ in 0..n {
                let width = count(r, MAX_COLUMNS, "number of values")?;
                rows.push((0..width).map(|_| decode_plain_value(r)).collect::<Decoded<_>>()?);
            }
            Ok(Values::In(rows.into()))
        }
        _ => Err(r.invalid("values of a partition")),
    }
}
