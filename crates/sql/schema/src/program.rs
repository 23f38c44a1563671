//! Stored programs: routines, triggers, events. All of a program is kept as text, with what its text means the same by.
//!
//! ```text
//! made     text user · text host · u64 sql_mode · u16 client · u16 connection · u16 database (collations)
//!          · varint created (microseconds since 1970 UTC) · varint changed
//! routine  u8 version · made · text parameters · text returns · text body · u8 flags · u8 data access · text comment
//!          flags: 1 = DETERMINISTIC, 2 = SQL SECURITY INVOKER
//! trigger  text name · made · u8 event · u8 after · text body
//! event    u8 version · made · u8 status · u8 preserve · schedule · text zone · text comment · text body
//!          · varint last run
//! schedule u8 0 · i64 at, or u8 1 · text amount · text unit · i64 starts · u8, i64 ends
//! ```

use crate::fields::{Decoded, collation, text};
use gannet_base::sync::atomic::{AtomicU64, Ordering};
use gannet_base::{Attached, DecodeError, Reader, Writer};
use gannet_types::CollationId;
use std::sync::Arc;

const VERSION: u8 = 1;
const MAX_NAME: usize = 1024;
const MAX_BODY: usize = 64 << 20;

/// Under what a program was made: its statements mean the same wherever they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// DEFINER: user and host.
    pub definer: (Box<str>, Box<str>),
    /// `sql_mode`, its bits.
    pub sql_mode: u64,
    /// A collation of `character_set_client`.
    pub client: CollationId,
    /// `collation_connection`
    pub connection: CollationId,
    /// The default collation of the database.
    pub database: CollationId,
    /// CREATED, microseconds since 1970 UTC.
    pub created_us: u64,
    /// LAST_ALTERED, likewise.
    pub changed_us: u64,
}

/// Procedure or function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum RoutineKind {
    /// A procedure.
    Procedure,
    /// A function.
    Function,
}

impl RoutineKind {
    /// As messages write it.
    pub fn word(self) -> &'static str {
        match self {
            RoutineKind::Procedure => "PROCEDURE",
            RoutineKind::Function => "FUNCTION",
        }
    }
}

/// What a routine says that it does with data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataAccess {
    /// CONTAINS SQL
    Contains,
    /// NO SQL
    No,
    /// READS SQL DATA
    Reads,
    /// MODIFIES SQL DATA
    Modifies,
}

impl DataAccess {
    const ALL: [DataAccess; 4] = [DataAccess::Contains, DataAccess::No, DataAccess::Reads, DataAccess::Modifies];

    /// As SQL writes it.
    pub fn word(self) -> &'static str {
        match self {
            DataAccess::Contains => "CONTAINS SQL",
            DataAccess::No => "NO SQL",
            DataAccess::Reads => "READS SQL DATA",
            DataAccess::Modifies => "MODIFIES SQL DATA",
        }
    }
}

/// A procedure or function.
#[derive(Debug)]
pub struct Routine {
    /// Its schema's name.
    pub schema: Arc<str>,
    /// Name as created.
    pub name: Arc<str>,
    /// Procedure or function.
    pub kind: RoutineKind,
    /// Definer, sql_mode, character sets, times.
    pub made: Made,
    /// Its parameters as written, without parentheses.
    pub params: Box<str>,
    /// RETURNS as written; empty for procedures.
    pub returns: Box<str>,
    /// The body as written.
    pub body: Box<str>,
    /// DETERMINISTIC
    pub deterministic: bool,
    /// Its characteristic about data.
    pub access: DataAccess,
    /// SQL SECURITY INVOKER
    pub invoker: bool,
    /// COMMENT
    pub comment: Box<str>,
    /// What was made of its text, the compiler's own to fill.
    pub compiled: Attached,
    /// What its runs have taken, which its later versions share.
    pub ran: Arc<Attached>,
    /// What the planner knows of it, its own to fill.
    pub called: Attached,
}

/// A routine is itself alone.
impl PartialEq for Routine {
    fn eq(&self, other: &Routine) -> bool {
        std::ptr::eq(self, other)
    }
}

/// What fires a trigger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TriggerEvent {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

impl TriggerEvent {
    const ALL: [TriggerEvent; 3] = [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete];

    /// As SQL writes it.
    pub fn word(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
        }
    }
}

/// A trigger; its table has it.
#[derive(Debug)]
pub struct Trigger {
    /// Name as created.
    pub name: Arc<str>,
    /// Definer, sql_mode, character sets, times.
    pub made: Made,
    /// What fires it.
    pub event: TriggerEvent,
    /// AFTER; otherwise BEFORE.
    pub after: bool,
    /// The body as written.
    pub body: Box<str>,
    /// What was made of its text, the compiler's own to fill.
    pub compiled: Attached,
    /// What its runs have taken, which its later versions share.
    pub ran: Arc<Attached>,
}

/// When an event runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventSchedule {
    /// Once, microseconds since 1970 UTC.
    At(i64),
    /// Again and again.
    Every {
        /// The amount as text: `1`, `1:30`.
        amount: Box<str>,
        /// The unit's name.
        unit: Box<str>,
        /// STARTS, microseconds since 1970 UTC.
        starts: i64,
        /// ENDS.
        ends: Option<i64>,
    },
}

/// ENABLE, DISABLE and DISABLE ON REPLICA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum EventStatus {
    Enabled,
    Disabled,
    ReplicaSideDisabled,
}

impl EventStatus {
    const ALL: [EventStatus; 3] = [EventStatus::Enabled, EventStatus::Disabled, EventStatus::ReplicaSideDisabled];
}

/// An event.
#[derive(Debug)]
pub struct Event {
    /// Its schema's name.
    pub schema: Arc<str>,
    /// Name as created.
    pub name: Arc<str>,
    /// Definer, sql_mode, character sets, times.
    pub made: Made,
    /// When it runs.
    pub schedule: EventSchedule,
    /// ENABLE, DISABLE ...
    pub status: EventStatus,
    /// ON COMPLETION PRESERVE
    pub preserve: bool,
    /// `time_zone` of the session that scheduled it: times are shown in it.
    pub zone: Box<str>,
    /// COMMENT
    pub comment: Box<str>,
    /// The body as written.
    pub body: Box<str>,
    /// When it last began to run, microseconds since 1970 UTC; 0: never. All versions of the event share it; the
    /// dictionary has it as of the last change.
    pub last_run_us: Arc<AtomicU64>,
    /// What was made of its text, the compiler's own to fill.
    pub compiled: Attached,
    /// What its runs have taken, which its later versions share.
    pub ran: Arc<Attached>,
}

impl Made {
    fn encode(&self, w: &mut Writer<'_>) {
        w.prefixed(self.definer.0.as_bytes()).prefixed(self.definer.1.as_bytes()).u64(self.sql_mode);
        w.u16(self.client.0).u16(self.connection.0).u16(self.database.0);
        w.varint(self.created_us).varint(self.changed_us);
    }

    fn decode(r: &mut Reader<'_>) -> Decoded<Made> {
        Ok(Made {
            definer: (text(r, MAX_NAME)?, text(r, MAX_NAME)?),
            sql_mode: r.u64()?,
            client: collation(r)?,
            connection: collation(r)?,
            database: collation(r)?,
            created_us: r.varint()?,
            changed_us: r.varint()?,
        })
    }
}

fn version(r: &mut Reader<'_>) -> Decoded<()> {
    if r.u8()? == VERSION { Ok(()) } else { Err(r.invalid("version of a stored program")) }
}

fn member<T: Copy>(r: &mut Reader<'_>, all: &[T], what: &'static str) -> Decoded<T> {
    let code = r.u8()?;
    all.get(usize::from(code)).copied().ok_or(r.invalid(what))
}

fn code_of<T: PartialEq>(all: &[T], value: &T) -> u8 {
    all.iter().position(|v| v == value).unwrap_or(0) as u8
}

impl Routine {
    /// Its row. Schema, kind and name are the key.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        w.u8(VERSION);
        self.made.encode(&mut w);
        w.prefixed(self.params.as_bytes()).prefixed(self.returns.as_bytes()).prefixed(self.body.as_bytes());
        w.u8(u8::from(self.deterministic) | u8::from(self.invoker) << 1).u8(code_of(&DataAccess::ALL, &self.access));
        w.prefixed(self.comment.as_bytes());
    }

    /// From its row.
    pub fn decode(schema: &Arc<str>, name: &str, kind: RoutineKind, bytes: &[u8]) -> Result<Routine, DecodeError> {
        let mut r = Reader::new(bytes);
        version(&mut r)?;
        let made = Made::decode(&mut r)?;
        let (params, returns, body) = (text(&mut r, MAX_BODY)?, text(&mut r, MAX_BODY)?, text(&mut r, MAX_BODY)?);
        let flags = r.u8()?;
        let access = member(&mut r, &DataAccess::ALL, "data access of a routine")?;
        let comment = text(&mut r, MAX_BODY)?;
        r.finish()?;
        Ok(Routine {
            schema: schema.clone(),
            name: name.into(),
            kind,
            made,
            params,
            returns,
            body,
            deterministic: flags & 1 != 0,
            access,
            invoker: flags & 2 != 0,
            comment,
            compiled: Attached::default(),
            ran: Arc::default(),
            called: Attached::default(),
        })
    }

    /// The same routine before it is compiled, for a changed one.
    pub fn copy(&self) -> Routine {
        Routine {
            schema: self.schema.clone(),
            name: self.name.clone(),
            kind: self.kind,
            made: self.made.clone(),
            params: self.params.clone(),
            returns: self.returns.clone(),
            body: self.body.clone(),
            deterministic: self.deterministic,
            access: self.access,
            invoker: self.invoker,
            comment: self.comment.clone(),
            compiled: Attached::default(),
            ran: self.ran.clone(),
            called: Attached::default(),
        }
    }
}

impl Trigger {
    /// The same trigger before it is compiled, for another version of its table.
    pub fn copy(&self) -> Trigger {
        Trigger {
            name: self.name.clone(),
            made: self.made.clone(),
            event: self.event,
            after: self.after,
            body: self.body.clone(),
            compiled: Attached::default(),
            ran: self.ran.clone(),
        }
    }
}

/// Encodes the triggers of a table, at the end of its row.
pub(crate) fn encode_triggers(triggers: &[Arc<Trigger>], w: &mut Writer<'_>) {
    w.varint(triggers.len() as u64);
    for t in triggers {
        w.prefixed(t.name.as_bytes());
        t.made.encode(w);
        w.u8(code_of(&TriggerEvent::ALL, &t.event)).u8(u8::from(t.after)).prefixed(t.body.as_bytes());
    }
}

pub(crate) fn decode_triggers(r: &mut Reader<'_>) -> Decoded<Box<[Arc<Trigger>]>> {
    const MAX_TRIGGERS: u64 = 1 << 20;
    let n = r.varint()?;
    if n > MAX_TRIGGERS {
        return Err(r.invalid("number of triggers"));
    }
    let one = |r: &mut Reader<'_>| {
        let name = text(r, MAX_NAME)?;
        let made = Made::decode(r)?;
        let event = member(r, &TriggerEvent::ALL, "event of a trigger")?;
        let after = r.u8()? != 0;
        let body = text(r, MAX_BODY)?;
        let (compiled, ran) = (Attached::default(), Arc::default());
        Ok(Arc::new(Trigger { name: (&*name).into(), made, event, after, body, compiled, ran }))
    };
    (0..n).map(|_| one(r)).collect()
}

impl Event {
    /// Its row. Schema and name are the key.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        w.u8(VERSION);
        self.made.encode(&mut w);
        w.u8(code_of(&EventStatus::ALL, &self.status)).u8(u8::from(self.preserve));
        match &self.schedule {
            EventSchedule::At(at) => {
                w.u8(0).i64(*at);
            }
            EventSchedule::Every { amount, unit, starts, ends } => {
                w.u8(1).prefixed(amount.as_bytes()).prefixed(unit.as_bytes()).i64(*starts);
                w.u8(u8::from(ends.is_some())).i64(ends.unwrap_or(0));
            }
        }
        w.prefixed(self.zone.as_bytes()).prefixed(self.comment.as_bytes()).prefixed(self.body.as_bytes());
        w.varint(self.last_run_us.load(Ordering::Relaxed));
    }

    /// From its row.
    pub fn decode(schema: &Arc<str>, name: &str, bytes: &[u8]) -> Result<Event, DecodeError> {
        let mut r = Reader::new(bytes);
        version(&mut r)?;
        let made = Made::decode(&mut r)?;
        let status = member(&mut r, &EventStatus::ALL, "status of an event")?;
        let preserve = r.u8()? != 0;
        let schedule = match r.u8()? {
            0 => EventSchedule::At(r.i64()?),
            1 => {
                let (amount, unit) = (text(&mut r, MAX_NAME)?, text(&mut r, MAX_NAME)?);
                let starts = r.i64()?;
                let ends = (r.u8()? != 0, r.i64()?);
                EventSchedule::Every { amount, unit, starts, ends: ends.0.then_some(ends.1) }
            }
            _ => return Err(r.invalid("schedule of an event")),
        };
        let (zone, comment, body) = (text(&mut r, MAX_NAME)?, text(&mut r, MAX_BODY)?, text(&mut r, MAX_BODY)?);
        let last_run_us = Arc::new(AtomicU64::new(r.varint()?));
        r.finish()?;
        Ok(Event {
            schema: schema.clone(),
            name: name.into(),
            made,
            schedule,
            status,
            preserve,
            zone,
            comment,
            body,
            last_run_us,
            compiled: Attached::default(),
            ran: Arc::default(),
        })
    }

    /// The same event, for a changed one.
    pub fn copy(&self) -> Event {
        Event {
            schema: self.schema.clone(),
            name: self.name.clone(),
            made: self.made.clone(),
            schedule: self.schedule.clone(),
            status: self.status,
            preserve: self.preserve,
            zone: self.zone.clone(),
            comment: self.comment.clone(),
            body: self.body.clone(),
            last_run_us: self.last_run_us.clone(),
            compiled: Attached::default(),
            ran: self.ran.clone(),
        }
    }
}
