//! Rows about stored programs.

use super::declare::{
    ABSENT, BIGINT, DATETIME, LONGTEXT, MEDIUMTEXT, NAME, SQL_MODE, TEXT, UBIGINT, UINT, enumeration, timestamp,
    varchar,
};
use super::metadata::{CATALOG, numeric};
use super::{Emit, Equals, maybe, member, micros, seconds, text, yes_no};
use crate::show_programs::{may_read, mode_of, type_text, zone_of};
use crate::state::State;
use gannet_base::sync::atomic::Ordering;
use gannet_core::accounts::Privilege;
use gannet_core::vars::Live;
use gannet_schema::{EventSchedule, EventStatus, Made, Routine, RoutineKind, TriggerEvent};
use gannet_types::{Result, SqlType, TypeId, Value};
use std::sync::Arc;

tables! {
    INFORMATION_SCHEMA in "information_schema":
    ROUTINES by routines {
        SPECIFIC_NAME: NAME.not_null(), ROUTINE_CATALOG: NAME.bin().not_null(), ROUTINE_SCHEMA: NAME.bin().not_null(),
        ROUTINE_NAME: NAME.not_null(), ROUTINE_TYPE: enumeration(&["FUNCTION", "PROCEDURE"]).bin().not_null(),
        DATA_TYPE: LONGTEXT.bin(), CHARACTER_MAXIMUM_LENGTH: BIGINT, CHARACTER_OCTET_LENGTH: BIGINT,
        NUMERIC_PRECISION: UINT, NUMERIC_SCALE: UINT, DATETIME_PRECISION: UINT, CHARACTER_SET_NAME: NAME,
        COLLATION_NAME: NAME, DTD_IDENTIFIER: LONGTEXT.bin(), ROUTINE_BODY: varchar(8).not_null().empty(),
        ROUTINE_DEFINITION: LONGTEXT.bin(), EXTERNAL_NAME: ABSENT, EXTERNAL_LANGUAGE: NAME.bin().not_null(),
        PARAMETER_STYLE: varchar(3).not_null().empty(), IS_DETERMINISTIC: varchar(3).not_null().empty(),
        SQL_DATA_ACCESS: enumeration(&["CONTAINS SQL", "NO SQL", "READS SQL DATA", "MODIFIES SQL DATA"]).bin().not_null(),
        SQL_PATH: ABSENT, SECURITY_TYPE: enumeration(&["DEFAULT", "INVOKER", "DEFINER"]).bin().not_null(),
        CREATED: timestamp(0).not_null(), LAST_ALTERED: timestamp(0).not_null(), SQL_MODE: SQL_MODE.bin().not_null(),
        ROUTINE_COMMENT: TEXT.bin().not_null(), DEFINER: varchar(288).bin().not_null(),
        CHARACTER_SET_CLIENT: NAME.not_null(), COLLATION_CONNECTION: NAME.not_null(),
        DATABASE_COLLATION: NAME.not_null(),
    }
    PARAMETERS by parameters {
        SPECIFIC_CATALOG: NAME.bin().not_null(), SPECIFIC_SCHEMA: NAME.bin().not_null(), SPECIFIC_NAME: NAME.not_null(),
        ORDINAL_POSITION: UBIGINT.not_null().empty(), PARAMETER_MODE: varchar(5).bin(), PARAMETER_NAME: NAME,
        DATA_TYPE: LONGTEXT.bin(), CHARACTER_MAXIMUM_LENGTH: BIGINT, CHARACTER_OCTET_LENGTH: BIGINT,
        NUMERIC_PRECISION: UINT, NUMERIC_SCALE: BIGINT, DATETIME_PRECISION: UINT, CHARACTER_SET_NAME: NAME,
        COLLATION_NAME: NAME, DTD_IDENTIFIER: MEDIUMTEXT.bin().not_null(),
        ROUTINE_TYPE: enumeration(&["FUNCTION", "PROCEDURE"]).bin().not_null(),
    }
    TRIGGERS by triggers {
        TRIGGER_CATALOG: NAME.bin().not_null(), TRIGGER_SCHEMA: NAME.bin().not_null(), TRIGGER_NAME: NAME.not_null(),
        EVENT_MANIPULATION: enumeration(&["INSERT", "UPDATE", "DELETE"]).bin().not_null(),
        EVENT_OBJECT_CATALOG: NAME.bin().not_null(), EVENT_OBJECT_SCHEMA: NAME.bin().not_null(),
        EVENT_OBJECT_TABLE: NAME.bin().not_null(), ACTION_ORDER: UINT.not_null(), ACTION_CONDITION: ABSENT,
        ACTION_STATEMENT: LONGTEXT.bin().not_null(), ACTION_ORIENTATION: varchar(3).not_null().empty(),
        ACTION_TIMING: enumeration(&["BEFORE", "AFTER"]).bin().not_null(), ACTION_REFERENCE_OLD_TABLE: ABSENT,
        ACTION_REFERENCE_NEW_TABLE: ABSENT, ACTION_REFERENCE_OLD_ROW: varchar(3).not_null().empty(),
        ACTION_REFERENCE_NEW_ROW: varchar(3).not_null().empty(), CREATED: timestamp(2).not_null(),
        SQL_MODE: SQL_MODE.bin().not_null(), DEFINER: varchar(288).bin().not_null(),
        CHARACTER_SET_CLIENT: NAME.not_null(), COLLATION_CONNECTION: NAME.not_null(),
        DATABASE_COLLATION: NAME.not_null(),
    }
    EVENTS by events {
        EVENT_CATALOG: NAME.bin().not_null(), EVENT_SCHEMA: NAME.bin().not_null(), EVENT_NAME: NAME.not_null(),
        DEFINER: varchar(288).bin().not_null(), TIME_ZONE: NAME.bin().not_null(),
        EVENT_BODY: varchar(3).not_null().empty(), EVENT_DEFINITION: LONGTEXT.bin().not_null(),
        EVENT_TYPE: varchar(9).not_null().empty(), EXECUTE_AT: DATETIME, INTERVAL_VALUE: varchar(256),
        INTERVAL_FIELD: enumeration(&["YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "WEEK", "SECOND", "MICROSECOND", "YEAR_MONTH", "DAY_HOUR", "DAY_MINUTE", "DAY_SECOND", "HOUR_MINUTE", "HOUR_SECOND", "MINUTE_SECOND", "DAY_MICROSECOND", "HOUR_MICROSECOND", "MINUTE_MICROSECOND", "SECOND_MICROSECOND"]).bin(),
        SQL_MODE: SQL_MODE.bin().not_null(), STARTS: DATETIME, ENDS: DATETIME,
        STATUS: varchar(21).bin().not_null().empty(), ON_COMPLETION: varchar(12).not_null().empty(),
        CREATED: timestamp(0).not_null(), LAST_ALTERED: timestamp(0).not_null(), LAST_EXECUTED: DATETIME,
        EVENT_COMMENT: varchar(2048).bin().not_null(), ORIGINATOR: UINT.not_null(),
        CHARACTER_SET_CLIENT: NAME.not_null(), COLLATION_CONNECTION: NAME.not_null(),
        DATABASE_COLLATION: NAME.not_null(),
    }
}

fn definer(made: &Made) -> Value {
    text(&format!("{}@{}", made.definer.0, made.definer.1))
}

/// The members of a SET column of `sql_mode`.
fn mode(table: &'static str, made: &Made) -> Value {
    let names: Vec<String> = mode_of(made).split(',').map(str::to_owned).collect();
    super::members(table, "SQL_MODE", &names)
}

fn surroundings(made: &Made) -> [Value; 3] {
    [text(made.client.charset().name()), text(made.connection.get().name), text(made.database.get().name)]
}

/// The names of the schemas that may have rows.
fn schemas(state: &State, equals: &Equals<'_>, column: &str) -> Vec<Arc<str>> {
    let wanted = equals.text(column);
    let all = state.snapshot.schemas().map(|s| s.name.clone());
    all.filter(|name| wanted.as_deref().is_none_or(|w| w == &**name)).collect()
}

/// The routines that the session may know of.
fn visible(state: &State, equals: &Equals<'_>, column: &str) -> Vec<Arc<Routine>> {
    let mut found = Vec::new();
    for schema in schemas(state, equals, column) {
        for routine in state.snapshot.routines(&schema) {
            let own = state.access.routine(&schema, &routine.name, routine.kind == RoutineKind::Function);
            if own.has(Privilege::Execute) || may_read(&state.access, &state.current_user, routine) {
                found.push(routine.clone());
            }
        }
    }
    // Functions come first, as in MySQL's dictionary.
    found.sort_by(|a, b| (&a.schema, b.kind, &a.name).cmp(&(&b.schema, a.kind, &b.name)));
    found
}

/// DATA_TYPE and the seven columns behind it, then DTD_IDENTIFIER, of a parameter or value.
fn type_columns(ty: &SqlType) -> [Value; 9] {
    let textual = ty.id.is_string() || matches!(ty.id, TypeId::Enum | TypeId::Set);
    let (chars, bytes) = match ty.id {
        _ if !textual => (Value::Null, Value::Null),
        id if id.is_lob() => {
            let bytes = i64::from(ty.length);
            (Value::Int(bytes / ty.collation.charset().unit() as i64), Value::Int(bytes))
        }
        _ => {
            let chars = i64::from(ty.display_chars());
            (Value::Int(chars), Value::Int(chars * i64::from(ty.collation.charset().max_len())))
        }
    };
    let (precision, mut scale) = numeric(ty);
    if ty.id == TypeId::Bit {
        // Of a column it is NULL.
        scale = Value::UInt(0);
    }
    let fraction = match ty.id {
        TypeId::Time | TypeId::DateTime | TypeId::Timestamp => Value::UInt(ty.scale.into()),
        _ => Value::Null,
    };
    let charset = textual && ty.is_text();
    [
        text(ty.data_type()),
        chars,
        bytes,
        precision,
        scale,
        fraction,
        if charset { text(ty.collation.charset().name()) } else { Value::Null },
        if charset { text(ty.collation.get().name) } else { Value::Null },
        text(&ty.to_string()),
    ]
}

fn routines(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for r in visible(state, equals, "ROUTINE_SCHEMA") {
        let program = crate::compiled::compiled(&r);
        let returns = program.ok().and_then(|p| Some(p.returns.as_ref()?.ty.clone()));
        let mut types: [Value; 9] = std::array::from_fn(|_| Value::Null);
        types[0] = text("");
        if let Some(ty) = &returns {
            types = type_columns(ty);
            types[8] = text(type_text(ty).split(" CHARSET").next().unwrap_or_default());
        }
        let [ty, chars, bytes, precision, scale, fraction, charset, collation, dtd] = types;
        let body = if may_read(&state.access, &state.current_user, &r) { text(&r.body) } else { Value::Null };
        let [client, connection, database] = surroundings(&r.made);
        emit(&[
            text(&r.name),
            text(CATALOG),
            text(&r.schema),
            text(&r.name),
            member("ROUTINES", "ROUTINE_TYPE", r.kind.word()),
            ty,
            chars,
            bytes,
            precision,
            scale,
            fraction,
            charset,
            collation,
            dtd,
            text("SQL"),
            body,
            Value::Null,
            text("SQL"),
            text("SQL"),
            yes_no(r.deterministic),
            member("ROUTINES", "SQL_DATA_ACCESS", r.access.word()),
            Value::Null,
            member("ROUTINES", "SECURITY_TYPE", if r.invoker { "INVOKER" } else { "DEFINER" }),
            seconds(r.made.created_us / 1_000_000),
            seconds(r.made.changed_us / 1_000_000),
            mode("ROUTINES", &r.made),
            text(&r.comment),
            definer(&r.made),
            client,
            connection,
            database,
        ])?;
    }
    Ok(())
}

fn parameters(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for r in visible(state, equals, "SPECIFIC_SCHEMA") {
        let Ok(program) = crate::compiled::compiled(&r) else { continue };
        let row = |at: u64, mode: Option<&str>, name: Option<&str>, ty: &SqlType| -> Vec<Value> {
            let mut row = vec![text(CATALOG), text(&r.schema), text(&r.name), Value::UInt(at)];
            row.extend([maybe(mode), maybe(name)]);
            row.extend(type_columns(ty));
            row.push(member("PARAMETERS", "ROUTINE_TYPE", r.kind.word()));
            row
        };
        if let Some(gannet_program::Slot { ty, .. }) = &program.returns {
            emit(&row(0, None, None, ty))?;
        }
        for (i, (p, slot)) in program.params.iter().zip(&program.slots).enumerate() {
            let mode = match p.mode {
                gannet_parser::ast::ParamMode::In => "IN",
                gannet_parser::ast::ParamMode::Out => "OUT",
                gannet_parser::ast::ParamMode::InOut => "INOUT",
            };
            emit(&row(i as u64 + 1, Some(mode), Some(&slot.name), &slot.ty))?;
        }
    }
    Ok(())
}

fn triggers(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for schema in schemas(state, equals, "TRIGGER_SCHEMA") {
        for table in state.snapshot.tables(&schema).iter().filter(|t| !t.triggers.is_empty()) {
            if !state.access.table(&schema, &table.name).has(Privilege::Trigger) {
                continue;
            }
            let mut orders = std::collections::HashMap::<(TriggerEvent, bool), u64>::new();
            for t in &table.triggers {
                let order = orders.entry((t.event, t.after)).or_default();
                *order += 1;
                let [client, connection, database] = surroundings(&t.made);
                emit(&[
                    text(CATALOG),
                    text(&schema),
                    text(&t.name),
                    member("TRIGGERS", "EVENT_MANIPULATION", t.event.word()),
                    text(CATALOG),
                    text(&schema),
                    text(&table.name),
                    Value::UInt(*order),
                    Value::Null,
                    text(&t.body),
                    text("ROW"),
                    member("TRIGGERS", "ACTION_TIMING", if t.after { "AFTER" } else { "BEFORE" }),
                    Value::Null,
                    Value::Null,
                    text("OLD"),
                    text("NEW"),
                    micros(t.made.created_us / 10_000 * 10_000, 2),
                    mode("TRIGGERS", &t.made),
                    definer(&t.made),
                    client,
                    connection,
                    database,
                ])?;
            }
        }
    }
    Ok(())
}

fn events(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for schema in schemas(state, equals, "EVENT_SCHEMA") {
        if !state.access.schema(&schema).has(Privilege::Event) {
            continue;
        }
        for e in state.snapshot.events(&schema) {
            let zone = zone_of(e, &state.server.facts.system_zone);
            let local = |us: i64| zone.local(us).map_or(Value::Null, |t| Value::DateTime(t, 0));
            let (kind, at, amount, unit, starts, ends) = match &e.schedule {
                EventSchedule::At(at) => ("ONE TIME", local(*at), Value::Null, Value::Null, Value::Null, Value::Null),
                EventSchedule::Every { amount, unit, starts, ends } => (
                    "RECURRING",
                    Value::Null,
                    // MySQL keeps an amount of several parts with its quotes.
                    if amount.bytes().all(|b| b.is_ascii_digit()) {
                        text(amount)
                    } else {
                        text(&format!("'{amount}'"))
                    },
                    member("EVENTS", "INTERVAL_FIELD", unit),
                    local(*starts),
                    ends.map_or(Value::Null, local),
                ),
            };
            let status = match e.status {
                EventStatus::Enabled => "ENABLED",
                EventStatus::Disabled => "DISABLED",
                EventStatus::ReplicaSideDisabled => "REPLICA_SIDE_DISABLED",
            };
            let last = i64::try_from(e.last_run_us.load(Ordering::Relaxed)).ok().filter(|n| *n > 0);
            let [client, connection, database] = surroundings(&e.made);
            emit(&[
                text(CATALOG),
                text(&schema),
                text(&e.name),
                definer(&e.made),
                text(&e.zone),
                text("SQL"),
                text(&e.body),
                text(kind),
                at,
                amount,
                unit,
                mode("EVENTS", &e.made),
                starts,
                ends,
                text(status),
                text(if e.preserve { "PRESERVE" } else { "NOT PRESERVE" }),
                seconds(e.made.created_us / 1_000_000),
                seconds(e.made.changed_us / 1_000_000),
                last.map_or(Value::Null, local),
                text(&e.comment),
                Value::UInt(state.server.globals.get(Live::ServerId).as_u64()),
                client,
                connection,
                database,
            ])?;
        }
    }
    Ok(())
}
