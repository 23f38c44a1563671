//! SHOW CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT.

use super::Session;
use super::reply::{RowsSink, plain_column};
use super::state::text;
use super::text::{quoted_by, show_options};
use gannet_core::accounts::{Access, Privilege};
use gannet_parser::ast::ObjectName;
use gannet_plan::plan::ResultColumn;
use gannet_schema::show::{ShowOptions, requoted};
use gannet_schema::{Event, EventSchedule, EventStatus, Made, Routine, RoutineKind, Table, Trigger};
use gannet_types::{Result, SqlMode, SqlType, TimeZone, Timestamp, TypeId, Value, sql_err};

fn column(name: &str, length: u32) -> ResultColumn {
    plain_column(name, SqlType::varchar(length, gannet_types::CollationId::UTF8MB3_GENERAL_CI))
}

/// A name in backticks.
fn ticked(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Text as a literal.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    gannet_schema::names::quote_text(&mut out, text);
    out
}

fn definer(made: &Made) -> String {
    format!("DEFINER={}@{}", ticked(&made.definer.0), ticked(&made.definer.1))
}

/// `sql_mode` of its creation.
pub(crate) fn mode_of(made: &Made) -> String {
    SqlMode::from_bits(made.sql_mode).unwrap_or_default().to_string()
}

/// Names are quoted as under the `sql_mode` of the creation.
fn own_options(session: &Session, made: &Made) -> ShowOptions {
    quoted_by(session, SqlMode::from_bits(made.sql_mode).unwrap_or_default())
}

/// A type as RETURNS shows it, with its character set.
pub(crate) fn type_text(ty: &SqlType) -> String {
    let mut out = ty.to_string();
    if ty.is_text() && !ty.collation.is_binary() && ty.id != TypeId::Json {
        out += &format!(" CHARSET {}", ty.collation.charset().name());
        if !ty.collation.get().is_default {
            out += &format!(" COLLATE {}", ty.collation.get().name);
        }
    }
    out
}

/// CREATE PROCEDURE or CREATE FUNCTION.
pub(crate) fn create_routine(routine: &Routine, options: &ShowOptions) -> Result<String> {
    let head = format!("CREATE {} {} {}(", definer(&routine.made), routine.kind.word(), ticked(&routine.name));
    let mut out = requoted(&head, options);
    out += &routine.params;
    out.push(')');
    if routine.kind == RoutineKind::Function {
        let program = super::compiled::compiled(routine)?;
        let ty = program.returns.as_ref().map_or(SqlType::NULL, |slot| slot.ty.clone());
        out += &format!(" RETURNS {}", type_text(&ty));
    }
    out.push('\n');
    if routine.access != gannet_schema::DataAccess::Contains {
        out += &format!("    {}\n", routine.access.word());
    }
    if routine.deterministic {
        out += "    DETERMINISTIC\n";
    }
    if routine.invoker {
        out += "    SQL SECURITY INVOKER\n";
    }
    if !routine.comment.is_empty() {
        out += &format!("    COMMENT {}\n", quoted(&routine.comment));
    }
    out += &routine.body;
    Ok(out)
}

/// CREATE TRIGGER.
pub(crate) fn create_trigger(table: &Table, trigger: &Trigger, options: &ShowOptions) -> String {
    let time = if trigger.after { "AFTER" } else { "BEFORE" };
    let head = format!(
        "CREATE {} TRIGGER {} {time} {} ON {} FOR EACH ROW ",
        definer(&trigger.made),
        ticked(&trigger.name),
        trigger.event.word(),
        ticked(&table.name),
    );
    requoted(&head, options) + &trigger.body
}

/// An instant in a zone, as text.
pub(crate) fn instant_text(us: i64, zone: &TimeZone) -> String {
    let Some(at) = zone.local(us) else { return String::new() };
    let mut text = Vec::new();
    Value::DateTime(at, 0).write_text(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// CREATE EVENT, with STARTS filled in.
pub(crate) fn create_event(event: &Event, zone: &TimeZone, options: &ShowOptions) -> String {
    let head = format!("CREATE {} EVENT {} ON SCHEDULE ", definer(&event.made), ticked(&event.name));
    let mut out = requoted(&head, options);
    match &event.schedule {
        EventSchedule::At(at) => out += &format!("AT '{}'", instant_text(*at, zone)),
        EventSchedule::Every { amount, unit, starts, ends } => {
            let plain = amount.bytes().all(|b| b.is_ascii_digit()) && !unit.contains('_');
            let amount = if plain { amount.to_string() } else { format!("'{amount}'") };
            out += &format!("EVERY {amount} {unit} STARTS '{}'", instant_text(*starts, zone));
            if let Some(ends) = ends {
                out += &format!(" ENDS '{}'", instant_text(*ends, zone));
            }
        }
    }
    out += if event.preserve { " ON COMPLETION PRESERVE" } else { " ON COMPLETION NOT PRESERVE" };
    out += match event.status {
        EventStatus::Enabled => " ENABLE",
        EventStatus::Disabled => " DISABLE",
        EventStatus::ReplicaSideDisabled => " DISABLE ON REPLICA",
    };
    if !event.comment.is_empty() {
        out += &format!(" COMMENT {}", quoted(&event.comment));
    }
    format!("{out} DO {}", event.body)
}

/// The zone that an event was scheduled in.
pub(crate) fn zone_of(event: &Event, system: &TimeZone) -> TimeZone {
    match event.zone.eq_ignore_ascii_case("SYSTEM") {
        true => system.clone(),
        false => TimeZone::parse(&event.zone).unwrap_or(TimeZone::UTC),
    }
}

/// The text of a routine may be read by its definer, and by who may read or change routines.
pub(crate) fn may_read(access: &Access, current_user: &str, routine: &Routine) -> bool {
    let function = routine.kind == RoutineKind::Function;
    let own = access.routine(&routine.schema, &routine.name, function);
    let global = access.global.has(Privilege::Select) || access.global.has(Privilege::ShowRoutine);
    global
        || own.has(Privilege::AlterRoutine)
        || own.has(Privilege::CreateRoutine)
        || current_user == format!("{}@{}", routine.made.definer.0, routine.made.definer.1)
}

fn surroundings(made: &Made) -> Vec<Value> {
    vec![text(made.client.charset().name()), text(made.connection.get().name), text(made.database.get().name)]
}

fn surrounding_columns() -> Vec<ResultColumn> {
    ["character_set_client", "collation_connection", "Database Collation"].map(|n| column(n, 64)).into()
}

fn one_row(mut columns: Vec<ResultColumn>, mut row: Vec<Value>, made: &Made) -> RowsSink {
    columns.extend(surrounding_columns());
    row.extend(surroundings(made));
    RowsSink { columns, rows: vec![row] }
}

/// SHOW CREATE PROCEDURE, SHOW CREATE FUNCTION. Without the right to see it the text is NULL.
pub(crate) fn show_create_routine(session: &mut Session, kind: RoutineKind, name: &ObjectName) -> Result<RowsSink> {
    let schema = session.program_schema(name)?;
    let function = kind == RoutineKind::Function;
    let missing = || sql_err!(SpDoesNotExist, kind.word(), name.name);
    let routine = session.state.snapshot.routine(&schema, kind, &name.name).cloned().ok_or_else(missing)?;
    let some = session.state.access.routine(&schema, &name.name, function);
    let readable = may_read(&session.state.access, &session.state.current_user, &routine);
    if !readable && !some.has(Privilege::Execute) {
        return Err(missing());
    }
    let options = own_options(session, &routine.made);
    let sql = if readable { text(&create_routine(&routine, &options)?) } else { Value::Null };
    let (head, body) = if function { ("Function", "Create Function") } else { ("Procedure", "Create Procedure") };
    let columns = vec![column(head, 64), column("sql_mode", 256), column(body, 1024)];
    let row = vec![text(&routine.name), text(&mode_of(&routine.made)), sql];
    Ok(one_row(columns, row, &routine.made))
}

/// SHOW CREATE TRIGGER.
pub(crate) fn show_create_trigger(session: &mut Session, name: &ObjectName) -> Result<RowsSink> {
    let schema = session.program_schema(name)?;
    let told = session.state.access.enters_schema(&schema);
    let Some((table, trigger)) = session.state.snapshot.trigger(&schema, &name.name) else {
        return Err(match session.state.snapshot.schema(&schema) {
            None if told => sql_err!(BadDb, schema),
            _ => sql_err!(TrgDoesNotExist),
        });
    };
    session.require_on_table(Privilege::Trigger.into(), &schema, &table.name)?;
    let columns = vec![column("Trigger", 64), column("sql_mode", 256), column("SQL Original Statement", 1024)];
    let sql = create_trigger(table, trigger, &own_options(session, &trigger.made));
    let row = vec![text(&trigger.name), text(&mode_of(&trigger.made)), text(&sql)];
    let mut sink = one_row(columns, row, &trigger.made);
    sink.columns.push(plain_column("Created", SqlType::temporal(TypeId::Timestamp, 2)));
    let created = i64::try_from(trigger.made.created_us / 10_000 * 10_000).unwrap_or(0);
    let created = Timestamp::from_unix_micros(created)
        .map_or(Value::Null, |t| Value::DateTime(t.to_local(&session.settings.exec.time_zone), 2));
    sink.rows[0].push(created);
    Ok(sink)
}

/// SHOW CREATE EVENT.
pub(crate) fn show_create_event(session: &mut Session, name: &ObjectName) -> Result<RowsSink> {
    let schema = session.program_schema(name)?;
    session.require_on_schema(Privilege::Event.into(), &schema)?;
    let event = session.state.snapshot.event(&schema, &name.name).cloned();
    let event = event.ok_or_else(|| sql_err!(EventDoesNotExist, name.name))?;
    let zone = zone_of(&event, &session.server.facts.system_zone);
    let columns =
        vec![column("Event", 64), column("sql_mode", 256), column("time_zone", 64), column("Create Event", 1024)];
    let mut options = own_options(session, &event.made);
    if options.quote == '`' {
        options = show_options(session);
    }
    let sql = create_event(&event, &zone, &options);
    let row = vec![text(&event.name), text(&mode_of(&event.made)), text(&event.zone), text(&sql)];
    Ok(one_row(columns, row, &event.made))
}
