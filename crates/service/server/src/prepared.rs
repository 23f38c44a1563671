//! Prepared statements of the protocol: COM_STMT_...

use crate::cursor::{Cursor, IntoCursor};
use crate::wire::{Wire, put_column};
use gannet_base::hash::HashMap;
use gannet_core::registry::Activity;
use gannet_plan::plan::ResultColumn;
use gannet_session::reply::{Done, plain_column};
use gannet_session::{Prepared, Session, Values};
use gannet_telemetry::{Counter, count};
use gannet_types::charset::Charset;
use gannet_types::{
    CollationId, Date, DateTime, Decimal, ErrorCode, Result, SqlError, SqlType, Time, TypeId, Value, sql_err,
};
use gannet_wire::codec::Malformed;
use gannet_wire::command::{self, Execute, ParamType, Unfit};
use gannet_wire::flags::{status, ty};
use gannet_wire::reply;

/// The prepared statements of a client.
#[derive(Default)]
pub(crate) struct Statements {
    /// `None` while the statement runs.
    by_id: HashMap<u32, Option<Box<Sent>>>,
}

/// One of them, with what the client sends for it before it is executed.
struct Sent {
    statement: Prepared,
    types: Vec<ParamType>,
    /// Parameters that were sent in pieces.
    long: Vec<Option<Vec<u8>>>,
    /// Bytes of these.
    long_held: usize,
    /// Why something that was sent in pieces was not taken: executions fail until the statement is reset.
    long_refused: Option<SqlError>,
    /// CURSOR_TYPE_READ_ONLY.
    cursor: Option<Box<Cursor>>,
}

/// Bytes that COM_STMT_SEND_LONG_DATA may pile up beyond `max_allowed_packet`.
const LONG_DATA_SLACK: usize = 1024;

const LONG_DATA_OVERFLOW: &str = "Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes";

impl Sent {
    /// Drops the parameters that were sent in pieces. Returns how many bytes that frees.
    fn forget_long(&mut self) -> usize {
        self.long = Vec::new();
        std::mem::take(&mut self.long_held)
    }
}

impl Statements {
    /// Forgets them all: the session is reset, or over.
    pub(crate) fn clear(&mut self) {
        self.by_id.clear();
    }

    fn get(&mut self, id: u32, function: &str) -> Result<&mut Sent> {
        let s = self.by_id.get_mut(&id).and_then(Option::as_deref_mut);
        s.ok_or_else(|| sql_err!(UnknownStmtHandler, id, function))
    }
}

/// The values of one execution.
struct Given<'a> {
    execute: &'a Execute<'a>,
    capabilities: u32,
    types: &'a mut Vec<ParamType>,
    long: &'a [Option<Vec<u8>>],
    refused: Option<SqlError>,
}

impl Values for Given<'_> {
    fn take(&mut self, session: &mut Session, bound: &mut [Value]) -> Result<u64> {
        if let Some(refused) = self.refused.take() {
            return Err(refused);
        }
        let (collation, client) = (session.literal_collation(), session.settings.charsets.client);
        let long = self.long;
        let decoded: std::result::Result<_, Refused> = self.execute.params(
            self.capabilities,
            bound.len(),
            self.types,
            |i| long.get(i).is_some_and(Option::is_some),
            |i, p| {
                bound[i] = match p {
                    command::Param::Int(n) => Value::Int(n),
                    p => param_value(p, collation, client).map_err(Refused::Sql)?,
                };
                Ok(())
            },
        );
        match decoded {
            Ok(attributes) if attributes.is_empty() => {}
            Ok(attributes) => keep_attributes(session, &attributes)?,
            Err(Refused::Unfit(Unfit::Count)) => return Err(sql_err!(WrongArguments, "COM_STMT_EXECUTE")),
            Err(Refused::Unfit(Unfit::Types)) => return Err(sql_err!(WrongArguments, "mysqld_stmt_execute")),
            Err(Refused::Malformed) => return Err(sql_err!(MalformedPacket)),
            Err(Refused::Sql(e)) => return Err(e),
        }
        for (i, data) in long.iter().enumerate() {
            if let (Some(data), Some(slot)) = (data, bound.get_mut(i)) {
                let binary = self.types.get(i).is_some_and(|t| is_blob(t.ty));
                *slot = text_or_bytes(data, if binary { CollationId::BINARY } else { collation });
            }
        }
        Ok(types_hash(self.types))
    }

    fn types(&self, literals: CollationId) -> Vec<SqlType> {
        self.types.iter().map(|t| sql_type(*t, literals)).collect()
    }
}

/// Keeps the query attributes of a command.
pub(crate) fn keep_attributes(session: &mut Session, attributes: &[command::Attribute<'_>]) -> Result<()> {
    let client = session.settings.charsets.client;
    let value = |a: &command::Attribute<'_>| param_value(a.value, CollationId::UTF8MB4_0900_AI_CI, client);
    let name = |a: &command::Attribute<'_>| client.convert(a.name, Charset::Utf8mb4).bytes.as_ref().into();
    let named = attributes.iter().filter(|a| !a.name.is_empty());
    let values: Vec<_> = named.map(|a| Ok((name(a), value(a)?))).collect::<Result<_>>()?;
    session.keep_attributes(values.into_iter());
    Ok(())
}

impl Statements {
    /// COM_STMT_PREPARE.
    pub(crate) fn prepare(&mut self, session: &mut Session, sql: &[u8], wire: &mut Wire<'_>) {
        count(Counter::ComStmtPrepare);
        session.begins(Activity::Prepare, sql);
        session.note_text("Prepare", sql);
        let (statement, described) = match session.prepare(sql) {
            Ok(made) => made,
            Err(e) => return session.fail(wire, e),
        };
        let id = statement.number();
        let (columns, markers) = (&described.columns, &described.markers);
        let warnings = described.warnings.min(u64::from(u16::MAX)) as u16;
        let (status, charsets) = (wire.word(session.status()), session.settings.charsets);
        let caps = wire.capabilities();
        let mut w = wire.writer();
        reply::prepared(&mut w, caps, id, columns.len() as u16, statement.markers(), warnings);
        for ty in markers {
            let marker = ResultColumn { flags: ty.expression_flags(), ..plain_column("?", ty.clone()) };
            put_column(&mut w, &marker, &charsets, None);
        }
        if !markers.is_empty() {
            reply::end_of_columns(&mut w, caps, status);
        }
        for c in columns {
            put_column(&mut w, c, &charsets, None);
        }
        if !columns.is_empty() {
            reply::end_of_columns(&mut w, caps, status);
        }
        let (types, long) = (Vec::new(), Vec::new());
        let sent = Sent { statement, types, long, long_held: 0, long_refused: None, cursor: None };
        self.by_id.insert(id, Some(Box::new(sent)));
    }

    /// COM_STMT_EXECUTE.
    pub(crate) fn execute(&mut self, session: &mut Session, execute: &Execute<'_>, wire: &mut Wire<'_>) {
        count(Counter::ComStmtExecute);
        count(Counter::Questions);
        // Out of the map while it runs.
        let place = self.by_id.get_mut(&execute.statement);
        let Some((place, mut s)) = place.and_then(|place| place.take().map(|s| (place, s))) else {
            let name = execute.statement.to_string();
            return session.fail(wire, sql_err!(UnknownStmtHandler, name, "mysqld_stmt_execute"));
        };
        wire.binary = true;
        s.cursor = None;
        let (capabilities, refused) = (wire.capabilities(), s.long_refused.clone());
        let mut given = Given { execute, capabilities, types: &mut s.types, long: &s.long, refused };
        if execute.flags & command::CURSOR_READ_ONLY != 0 && s.statement.is_query() {
            let mut into = IntoCursor::new(wire, session.server.temp.clone());
            session.execute_prepared(&mut s.statement, &mut given, &mut into);
            s.cursor = into.opened();
        } else {
            session.execute_prepared(&mut s.statement, &mut given, wire);
        }
        session.state.held.give(s.forget_long());
        *place = Some(s);
    }

    /// COM_STMT_CLOSE.
    pub(crate) fn close(&mut self, session: &mut Session, id: u32) {
        count(Counter::ComStmtClose);
        if let Some(s) = self.by_id.remove(&id) {
            session.state.held.give(s.map_or(0, |s| s.long_held));
        }
    }

    /// COM_STMT_SEND_LONG_DATA: errors are kept silent until the execution, as the protocol has no wire here.
    pub(crate) fn long_data(&mut self, session: &mut Session, id: u32, parameter: u16, data: &[u8]) {
        count(Counter::ComStmtSendLongData);
        let limit = session.max_packet() + LONG_DATA_SLACK;
        let Some(Some(s)) = self.by_id.get_mut(&id) else { return };
        let i = usize::from(parameter);
        if parameter >= s.statement.markers() {
            s.long_refused = Some(sql_err!(WrongArguments, "mysql_stmt_send_long_data"));
            return;
        }
        if s.long.len() <= i {
            s.long.resize(i + 1, None);
        }
        let slot = s.long[i].get_or_insert_default();
        if s.long_held + data.len() > limit {
            s.long_refused = Some(SqlError::with_message(ErrorCode::UnknownError, LONG_DATA_OVERFLOW));
        } else if !session.state.hold(data.len()) {
            s.long_refused = Some(sql_err!(OutOfResources));
        } else {
            slot.extend_from_slice(data);
            s.long_held += data.len();
        }
    }

    /// COM_STMT_RESET.
    pub(crate) fn reset(&mut self, session: &mut Session, id: u32) -> Result<Done> {
        count(Counter::ComStmtReset);
        let s = self.get(id, "mysqld_stmt_reset")?;
        s.long_refused = None;
        s.cursor = None;
        let given = s.forget_long();
        session.state.held.give(given);
        Ok(Done::default())
    }

    /// COM_STMT_FETCH: the next rows. LAST_ROW_SENT comes with the attempt to read beyond the last row, which closes
    /// the cursor; error 1421 where none is open.
    pub(crate) fn fetch(&mut self, session: &mut Session, id: u32, rows: u32, wire: &mut Wire<'_>) {
        count(Counter::ComStmtFetch);
        session.begins(Activity::Fetch, b"");
        session.running.diagnostics.warnings.clear();
        let outcome = self.get(id, "mysqld_stmt_fetch").and_then(|s| {
            let cursor = s.cursor.as_mut().ok_or_else(|| sql_err!(StmtHasNoOpenCursor, id))?;
            wire.put(session.manner());
            let sent = cursor.send(rows, wire);
            wire.bits = if matches!(sent, Ok(true)) { status::CURSOR_EXISTS } else { status::LAST_ROW_SENT };
            if !matches!(sent, Ok(true)) {
                s.cursor = None;
            }
            sent.map(|_| Done::ROWS).map_err(|e| session.final_error(e))
        });
        session.answer(wire, outcome);
    }
}

/// Why parameters were refused.
enum Refused {
    Malformed,
    Unfit(Unfit),
    Sql(SqlError),
}

impl From<Malformed> for Refused {
    fn from(_: Malformed) -> Self {
        Refused::Malformed
    }
}

impl From<Unfit> for Refused {
    fn from(unfit: Unfit) -> Self {
        Refused::Unfit(unfit)
    }
}

fn is_blob(t: u8) -> bool {
    matches!(t, ty::TINY_BLOB | ty::MEDIUM_BLOB | ty::LONG_BLOB | ty::BLOB)
}

/// A text; bytes that are none in its character set are bytes, as in a literal: no column of texts takes them as they
/// are.
fn text_or_bytes(bytes: &[u8], collation: CollationId) -> Value {
    let valid = collation.charset().is_valid(bytes);
    Value::Str(bytes.into(), if valid { collation } else { CollationId::BINARY })
}

/// A parameter of the protocol as a value.
fn param_value(p: command::Param<'_>, collation: CollationId, client: Charset) -> Result<Value> {
    let wrong = || sql_err!(WrongArguments, "mysqld_stmt_execute");
    Ok(match p {
        command::Param::Null => Value::Null,
        command::Param::Int(n) => Value::Int(n),
        command::Param::UInt(n) => Value::UInt(n),
        command::Param::Float(x) => Value::Float(x),
        command::Param::Double(x) => Value::Double(x),
        command::Param::Decimal(text) => Value::Decimal(Decimal::parse(text).value),
        command::Param::Bytes(b) => Value::Str(b.into(), CollationId::BINARY),
        command::Param::Text(b) => match client {
            _ if client.is_written() && collation.charset().is_written() => text_or_bytes(b, collation),
            Charset::Binary => text_or_bytes(b, collation),
            _ => Value::Str(client.convert(b, collation.charset()).bytes.as_ref().into(), collation),
        },
        command::Param::DateTime(d) => {
            let (y, mo, day) = (u32::from(d.year), u32::from(d.month), u32::from(d.day));
            if y > 9999 || mo > 12 || day > 31 || d.hour > 23 || d.minute > 59 || d.second > 59 || d.micros > 999_999 {
                return Err(wrong());
            }
            if d.date_only {
                Value::Date(Date::new(y, mo, day))
            } else {
                let fsp = if d.micros == 0 { 0 } else { 6 };
                Value::DateTime(
                    DateTime::new(y, mo, day, d.hour.into(), d.minute.into(), d.second.into(), d.micros),
                    fsp,
                )
            }
        }
        command::Param::Time(t) => {
            let us = t.total_micros().ok_or_else(wrong)?;
            Value::Time(Time::from_micros(us).clamp().0, if t.micros == 0 { 0 } else { 6 })
        }
    })
}

/// The SQL type of a parameter's type.
fn sql_type(t: ParamType, collation: CollationId) -> SqlType {
    let int = |id| if t.unsigned { SqlType::new(id).unsigned() } else { SqlType::new(id) };
    match t.ty {
        ty::TINY | ty::SHORT | ty::LONG | ty::INT24 | ty::LONGLONG | ty::YEAR => int(TypeId::BigInt),
        ty::FLOAT => SqlType::new(TypeId::Float),
        ty::DOUBLE => SqlType::DOUBLE,
        ty::DECIMAL | ty::NEWDECIMAL => SqlType::any_decimal(),
        ty::DATE | ty::NEWDATE => SqlType::new(TypeId::Date),
        ty::DATETIME | ty::TIMESTAMP => SqlType::temporal(TypeId::DateTime, 6),
        ty::TIME => SqlType::temporal(TypeId::Time, 6),
        ty::NULL => SqlType::NULL,
        t if is_blob(t) || t == ty::BIT || t == ty::GEOMETRY => SqlType::new(TypeId::LongBlob),
        _ => SqlType::new(TypeId::LongText).with_collation(collation),
    }
}

/// Numbers the classes that plans distinguish; never 0, which is 'not known'.
fn types_hash(types: &[ParamType]) -> u64 {
    types.iter().fold(1, |h: u64, t| (h ^ (u64::from(class(*t)) + 1)).wrapping_mul(0x100_0000_01B3).rotate_left(5))
}

fn class(t: ParamType) -> u8 {
    match t.ty {
        ty::TINY | ty::SHORT | ty::LONG | ty::INT24 | ty::LONGLONG | ty::YEAR => 1 + u8::from(t.unsigned),
        ty::FLOAT => 3,
        ty::DOUBLE => 4,
        ty::DECIMAL | ty::NEWDECIMAL => 5,
        ty::DATE | ty::NEWDATE => 6,
        ty::DATETIME | ty::TIMESTAMP => 7,
        ty::TIME => 8,
        ty::NULL => 9,
        t if is_blob(t) || t == ty::BIT || t == ty::GEOMETRY => 10,
        _ => 11,
    }
}
