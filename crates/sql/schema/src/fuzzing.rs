//! What the fuzzer calls: bytes of the dictionary's rows.

use crate::fixture::rich;
use crate::histogram::Histogram;
use crate::partition::serial::{decode_parts, encode_parts};
use crate::partition::{By, Method, PartOptions, PartTrees, Partition, Partitioned, Partitioning, Spread, Values};
use crate::program::{DataAccess, Event, EventSchedule, EventStatus, Made, Routine, RoutineKind};
use crate::serial::{decode_schema, decode_table, encode_schema, encode_table};
use crate::show::{ShowOptions, show_create_table};
use crate::{Figures, Schema, SchemaId};
use gannet_base::sync::atomic::AtomicU64;
use gannet_base::{Attached, Reader, TreeId, Writer};
use gannet_types::{CollationId, Value};
use std::sync::Arc;

/// Takes bytes for a row of each kind. One that is read is written as it is read again.
pub fn check(data: &[u8]) {
    if let Ok(schema) = decode_schema("s", data, false) {
        let mut bytes = Vec::new();
        encode_schema(&schema, &mut bytes);
        decode_schema("s", &bytes, false).expect("a schema survives encoding");
    }
    if let Ok(table) = decode_table(&"s".into(), "t", data) {
        let _ = show_create_table(&table, &ShowOptions::default());
        let mut bytes = Vec::new();
        encode_table(&table, &mut bytes);
        decode_table(&"s".into(), "t", &bytes).expect("a table survives encoding");
    }
    let _ = Histogram::decode(data);
    let _ = Figures::decode(data);
    let schema: Arc<str> = "s".into();
    if let Ok(routine) = Routine::decode(&schema, "r", RoutineKind::Function, data) {
        let mut bytes = Vec::new();
        routine.encode(&mut bytes);
        Routine::decode(&schema, "r", RoutineKind::Function, &bytes).expect("a routine survives encoding");
    }
    if let Ok(event) = Event::decode(&schema, "e", data) {
        let mut bytes = Vec::new();
        event.encode(&mut bytes);
        Event::decode(&schema, "e", &bytes).expect("an event survives encoding");
    }
    if let Ok(parts) = decode_parts(&mut Reader::new(data), 2) {
        (0..parts.definition.leaves().min(100)).for_each(|leaf| drop(parts.definition.file_name(leaf)));
    }
}

/// A row of each kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let row = |encode: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        encode(&mut bytes);
        bytes
    };
    let (collation, schema): (_, Arc<str>) = (CollationId::DEFAULT, "s".into());
    let made = Made {
        definer: ("root".into(), "localhost".into()),
        sql_mode: 1 << 20,
        client: collation,
        connection: collation,
        database: collation,
        created_us: 1 << 50,
        changed_us: 1 << 50,
    };
    let routine = Routine {
        schema: schema.clone(),
        name: "r".into(),
        kind: RoutineKind::Function,
        made: made.clone(),
        params: "a INT".into(),
        returns: "INT".into(),
        body: "RETURN a".into(),
        deterministic: true,
        access: DataAccess::Reads,
        invoker: false,
        comment: "c".into(),
        compiled: Attached::default(),
        ran: Arc::default(),
        called: Attached::default(),
    };
    let every = EventSchedule::Every { amount: "1:30".into(), unit: "HOUR_MINUTE".into(), starts: 5, ends: Some(9) };
    let event = Event {
        schema,
        name: "e".into(),
        made,
        schedule: every,
        status: EventStatus::Enabled,
        preserve: true,
        zone: "+01:00".into(),
        comment: "c".into(),
        body: "DO 1".into(),
        last_run_us: Arc::new(AtomicU64::new(7)),
        compiled: Attached::default(),
        ran: Arc::default(),
    };
    let named = Schema { id: SchemaId(9), name: "s".into(), collation, system: false, read_only: true };
    vec![
        row(&|out| encode_table(&rich(), out)),
        row(&|out| encode_schema(&named, out)),
        row(&|out| routine.encode(out)),
        row(&|out| event.encode(out)),
        row(&|out| encode_parts(&parts(), &mut Writer::new(out))),
    ]
}

/// Two partitions by a range, of an expression and of a column.
fn parts() -> Partitioned {
    let partition = |name: &str, values| Partition {
        name: name.into(),
        values,
        options: PartOptions { comment: "c".into(), others: Box::new([("MAX_ROWS".into(), "5".into())]) },
        subs: Box::default(),
    };
    let partitions = Box::new([
        partition("p0", Values::LessThan(Box::new([Some(Value::Int(5))]))),
        partition("p1", Values::LessThan(Box::new([None]))),
    ]);
    let by = By::Expression("year(`d`)".into());
    let definition = Partitioning {
        spread: Spread::new(Method::Range, by),
        sub: None,
        counted: false,
        subs_counted: false,
        count_written: false,
        sub_count_written: false,
        partitions,
    };
    let trees = |n: u64| PartTrees { row: TreeId(n), indexes: Box::new([TreeId(n), TreeId(n + 1)]) };
    Partitioned { definition, trees: Box::new([trees(50), trees(60)]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_read() {
        let seeds = seeds();
        seeds.iter().for_each(|s| check(s));
        let schema: Arc<str> = "s".into();
        assert!(decode_table(&schema, "t", &seeds[0]).is_ok());
        assert!(decode_schema("s", &seeds[1], false).is_ok());
        assert!(Routine::decode(&schema, "r", RoutineKind::Function, &seeds[2]).is_ok());
        assert!(Event::decode(&schema, "e", &seeds[3]).is_ok());
        assert!(decode_parts(&mut Reader::new(&seeds[4]), 2).is_ok());
    }
}
