//! Changes of performance_schema's setup tables: of whom and of what is collected (MySQL manual, "Performance Schema
//! Setup Tables").
//!
//! The statement runs on a temporary copy, as for the grant tables, and then what its rows say is done. What cannot be
//! switched stays as it is, with a warning: the table goes on saying what is true.

use super::grant_tables::{Made, copy_table, run_on_copy};
use super::lists::alone_behind;
use super::reply::{Done, Reply};
use super::{Session, grant_tables};
use gannet_core::accounts::{Privilege, Privileges};
use gannet_core::consumers::Consumer;
use gannet_core::ledger::Kind;
use gannet_core::setup::{Actor, Object, Watched};
use gannet_core::work::Gates;
use gannet_parser::ast::Statement;
use gannet_telemetry::Stage;
use gannet_types::{ErrorCode, Result, SqlError, Value, Warning, sql_err};

const SCHEMA: &str = "performance_schema";

/// A row of a setup table as its texts; NULL is an empty one.
type Row = Vec<String>;

/// A table of performance_schema whose rows may be changed.
struct SetupTable {
    name: &'static str,
    /// The key of a row.
    key: &'static [&'static str],
    /// Other columns, which UPDATE may change. No statement changes another column than these.
    switches: &'static [&'static str],
    /// Does what the rows say. Returns how many of them stay as they were.
    apply: fn(&mut Session, &Change) -> u64,
}

/// Rows of key and switches, in the order of their keys.
struct Change {
    before: Vec<Row>,
    after: Vec<Row>,
}

static TABLES: [SetupTable; 6] = [
    SetupTable { name: "setup_consumers", key: &["NAME"], switches: &["ENABLED"], apply: switch_consumers },
    SetupTable {
        name: "setup_instruments",
        key: &["NAME"],
        switches: &["ENABLED", "TIMED"],
        apply: switch_instruments,
    },
    SetupTable {
        name: "setup_actors",
        key: &["HOST", "USER", "ROLE"],
        switches: &["ENABLED", "HISTORY"],
        apply: put_actors,
    },
    SetupTable {
        name: "setup_objects",
        key: &["OBJECT_TYPE", "OBJECT_SCHEMA", "OBJECT_NAME"],
        switches: &["ENABLED", "TIMED"],
        apply: put_objects,
    },
    SetupTable { name: "threads", key: &["THREAD_ID"], switches: &["INSTRUMENTED", "HISTORY"], apply: switch_threads },
    SetupTable {
        name: "setup_threads",
        key: &["NAME"],
        switches: &["ENABLED", "HISTORY"],
        apply: |session, change| change.switched().map(|row| cannot(session, &row[0])).count() as u64,
    },
];

/// A statement that changes a table of the server's own.
pub(super) fn change(session: &mut Session, statement: &Statement, reply: &mut dyn Reply) -> Result<Done> {
    match grant_tables::made_table(session, statement) {
        Some(Made::Grants(table)) => grant_tables::change_grants(session, table, statement, reply),
        Some(Made::Servers) => grant_tables::change_servers(session, statement, reply),
        Some(Made::Setup(name)) => {
            let table = TABLES.iter().find(|table| table.name == name);
            change_setup(session, table.ok_or_else(|| SqlError::internal(name))?, statement, reply)
        }
        // A dump's rows of a table that the server has by itself.
        Some(Made::Own) => Ok(Done::default()),
        None => Err(sql_err!(NonUpdatableTable, "user", "UPDATE")),
    }
}

/// MySQL says of a table of the server's schemas that is not to be changed that nobody has the right to: error 1142, or
/// 1044 in information_schema.
pub(super) fn in_own_words(session: &Session, statement: &Statement, error: SqlError) -> SqlError {
    if !matches!(error.code(), ErrorCode::NonUpdatableTable | ErrorCode::NonInsertableTable) {
        return error;
    }
    let (name, privilege) = match statement {
        Statement::Insert(i) if i.replace => (Some(&i.table), Privileges::of(&[Privilege::Insert, Privilege::Delete])),
        Statement::Insert(insert) => (Some(&insert.table), Privilege::Insert.into()),
        Statement::Update(update) => (grant_tables::single(&update.tables), Privilege::Update.into()),
        Statement::Delete(delete) => (grant_tables::single(&delete.tables), Privilege::Delete.into()),
        _ => return error,
    };
    let Some(name) = name else { return error };
    let schema = name.schema.as_ref().map(|s| &*s.text).or(session.state.database.as_deref());
    let schema = gannet_schema::names::canonical_schema(schema.unwrap_or_default());
    match &*schema {
        SCHEMA => session.denied(privilege, &name.name.text),
        "information_schema" => {
            let account = &session.state.account;
            sql_err!(DbaccessDenied, account.user, account.host, schema)
        }
        _ => error,
    }
}

fn change_setup(
    session: &mut Session,
    table: &'static SetupTable,
    statement: &Statement,
    reply: &mut dyn Reply,
) -> Result<Done> {
    let needs = match statement {
        Statement::Insert(_) => Privileges::of(&[Privilege::Insert]),
        Statement::Delete(_) => Privileges::of(&[Privilege::Select, Privilege::Delete]),
        _ => Privileges::of(&[Privilege::Select, Privilege::Update]),
    };
    session.require_on_table(needs, SCHEMA, table.name)?;
    let values = session.running.markers.clone();
    let key = format!("UNIQUE KEY ({})", table.key.join(", "));
    alone_behind(session, Gates::Writes, |session| {
        let copy = copy_table(session, (SCHEMA, table.name), &key, "", reply)?;
        let outcome = change_copy(session, table, statement, &values, reply);
        session.forget_temporary(&copy);
        session.discard_dropped();
        outcome
    })
}

fn change_copy(
    session: &mut Session,
    table: &SetupTable,
    statement: &Statement,
    values: &[Value],
    reply: &mut dyn Reply,
) -> Result<Done> {
    let columns = [table.key, table.switches].concat().join(", ");
    let chosen = format!("SELECT {columns} FROM {SCHEMA}.{0} ORDER BY {1}", table.name, table.key.join(", "));
    let all = format!("SELECT * FROM {SCHEMA}.{0} ORDER BY {1}", table.name, table.key.join(", "));
    let rows = |session: &mut Session, query: &str| -> Result<Vec<Row>> {
        let rows = session.own_rows(query)?.rows;
        Ok(rows.iter().map(|row| row.iter().map(shown).collect()).collect())
    };
    // Without the switches, to see that nothing else is changed.
    let fixed = |session: &mut Session| -> Result<Vec<Row>> {
        let found = session.own_rows(&all)?;
        let is_fixed = |at: &usize| !table.switches.iter().any(|s| found.columns[*at].name.eq_ignore_ascii_case(s));
        let places: Vec<usize> = (0..found.columns.len()).filter(is_fixed).collect();
        Ok(found.rows.iter().map(|row| places.iter().map(|at| shown(&row[*at])).collect()).collect())
    };
    let (before, fixed_before) = (rows(session, &chosen)?, fixed(session)?);
    // A row that is there is a duplicate to REPLACE, too.
    let plain = match statement {
        Statement::Insert(i) if i.replace => {
            Some(Statement::Insert(Box::new(gannet_parser::ast::Insert { replace: false, ..(**i).clone() })))
        }
        _ => None,
    };
    let of_key = |code| matches!(code, ErrorCode::DupEntry | ErrorCode::DupEntryWithKeyName);
    let mark = session.running.diagnostics.warnings.mark();
    let done = run_on_copy(session, plain.as_ref().unwrap_or(statement), values, reply);
    let done = done.map_err(|error| match statement {
        Statement::Update(_) if of_key(error.code()) => sql_err!(WrongPerfschemaUsage),
        _ if of_key(error.code()) => sql_err!(DupKey, table.name),
        _ => error,
    })?;
    let as_key = |w: &Warning| of_key(w.code).then(|| Warning::new(w.level, ErrorCode::DupKey, &[&table.name]));
    session.running.diagnostics.warnings.replace_since(mark, as_key);
    let mut change = Change { after: rows(session, &chosen)?, before };
    let refused = change.refuse_invalid(table);
    for _ in 0..refused {
        session.running.diagnostics.warnings.warn(ErrorCode::NoReferencedRow2, &[&""]);
    }
    match statement {
        Statement::Update(_) if fixed(session)? != fixed_before => return Err(sql_err!(WrongPerfschemaUsage)),
        // REPLACE and ON DUPLICATE KEY find no row to change.
        Statement::Insert(_) if !change.before.iter().all(|row| change.after.contains(row)) => {
            return Err(sql_err!(DupKey, table.name));
        }
        _ => {}
    }
    let left = refused + (table.apply)(session, &change);
    Ok(Done { affected: done.affected.saturating_sub(left), ..done })
}

impl Change {
    /// Rows with a value that no member has, as IGNORE leaves them, are not taken: new ones go, others stay as they
    /// were. Returns how many.
    fn refuse_invalid(&mut self, table: &SetupTable) -> u64 {
        let keys = table.key.len();
        let mut refused = 0;
        let before = &self.before;
        self.after.retain_mut(|row| {
            let was = before.iter().find(|was| was[..keys] == row[..keys]);
            let is_new = |at: usize| was.is_none_or(|was| was[at] != row[at]);
            let no_switch = (keys..row.len()).any(|at| is_new(at) && !matches!(&*row[at], "YES" | "NO"));
            let no_kind = table.key[0] == "OBJECT_TYPE" && !gannet_core::setup::OBJECTS.contains(&&*row[0]);
            if !no_switch && !no_kind {
                return true;
            }
            refused += 1;
            was.inspect(|was| row.clone_from(was)).is_some()
        });
        refused
    }

    /// The rows that say something else now.
    fn switched(&self) -> impl Iterator<Item = &Row> {
        self.after.iter().zip(&self.before).filter(|(now, was)| now != was).map(|(now, _)| now)
    }
}

/// Says that a row cannot be switched.
fn cannot(session: &mut Session, what: &str) {
    session.running.diagnostics.warnings.warn(ErrorCode::NotSupportedYet, &[&format!("switching {what}")]);
}

fn is_on(text: &str) -> bool {
    text == "YES"
}

fn switch_consumers(session: &mut Session, change: &Change) -> u64 {
    let mut left = 0;
    for row in change.switched() {
        match Consumer::by_name(&row[0]) {
            Some(consumer) => session.server.registry.consumers.set(consumer, is_on(&row[1])),
            None => {
                cannot(session, &row[0]);
                left += 1;
            }
        }
    }
    left
}

/// Statements and transactions can be switched, with their times; stages, and whether they are timed.
fn switch_instruments(session: &mut Session, change: &Change) -> u64 {
    let mut left = 0;
    for row in change.switched() {
        let (name, enabled, timed) = (&row[0], is_on(&row[1]), is_on(&row[2]));
        if let Some(stage) = Stage::ALL.iter().find(|stage| stage.name() == *name) {
            session.server.registry.consumers.stages.switch(*stage, enabled, timed);
            continue;
        }
        let kind = Kind::all().find(|kind| kind.name() == *name);
        if kind.is_none() && name != "transaction" {
            cannot(session, name);
            left += 1;
            continue;
        }
        session.server.registry.setup.switch(kind, enabled);
        if enabled && !timed {
            cannot(session, &format!("TIMED of {name}"));
        }
    }
    left
}

fn put_actors(session: &mut Session, change: &Change) -> u64 {
    let actor = |row: &Row| Actor {
        host: row[0].clone(),
        user: row[1].clone(),
        role: row[2].clone(),
        watched: Watched { instrumented: is_on(&row[3]), history: is_on(&row[4]) },
    };
    session.server.registry.setup.set_actors(change.after.iter().map(actor).collect());
    0
}

fn put_objects(session: &mut Session, change: &Change) -> u64 {
    for row in change.after.iter().filter(|row| is_on(&row[3]) && !is_on(&row[4])) {
        cannot(session, &format!("TIMED of {} {}.{}", row[0], row[1], row[2]));
    }
    let object = |row: &Row| Object {
        kind: row[0].clone(),
        schema: row[1].clone(),
        name: row[2].clone(),
        enabled: is_on(&row[3]),
    };
    session.server.registry.setup.set_objects(change.after.iter().map(object).collect());
    0
}

/// Sessions can be switched.
fn switch_threads(session: &mut Session, change: &Change) -> u64 {
    let mut left = 0;
    for row in change.switched() {
        let entry = row[0].parse().ok().and_then(|id| session.server.registry.get(id));
        match entry {
            Some(entry) => entry.watched.set(Watched { instrumented: is_on(&row[1]), history: is_on(&row[2]) }),
            None => {
                cannot(session, &format!("thread {}", row[0]));
                left += 1;
            }
        }
    }
    left
}

/// A value's text, without the spaces that fill up a CHAR.
fn shown(value: &Value) -> String {
    let mut out = Vec::new();
    if !value.is_null() {
        value.write_text(&mut out);
    }
    String::from_utf8_lossy(&out).trim_end_matches(' ').to_owned()
}
