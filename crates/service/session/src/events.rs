//! Events: CREATE, ALTER, DROP EVENT.

use super::bodies;
use super::reply::Done;
use super::{Session, programs};
use gannet_catalog::CatalogError;
use gannet_core::accounts::Privilege;
use gannet_core::vars::Live;
use gannet_parser::ast::{self, AlterEvent, CreateEvent, ObjectName, Schedule};
use gannet_program::{Kind, Source};
use gannet_schema::{Event, EventSchedule, EventStatus, names};
use gannet_types::convert::{self, StoreTarget};
use gannet_types::room::Room;
use gannet_types::temporal::{Interval, IntervalUnit};
use gannet_types::{ErrorCode, Result, SqlType, TypeId, Value, sql_err};

/// Characters of a COMMENT that the dictionary keeps.
const MAX_COMMENT: usize = 64;

/// The longest interval that MySQL takes, in seconds.
const MAX_INTERVAL_S: i64 = 0x7FFF_FFFF;

/// What became of an event's time.
enum Timed {
    Future(EventSchedule),
    /// It has passed.
    Past(EventSchedule),
}

fn status_of(status: Option<ast::EventStatus>) -> EventStatus {
    match status {
        None | Some(ast::EventStatus::Enable) => EventStatus::Enabled,
        Some(ast::EventStatus::Disable) => EventStatus::Disabled,
        Some(ast::EventStatus::DisableOnReplica) => EventStatus::ReplicaSideDisabled,
    }
}

impl Session {
    pub(super) fn drop_event(&mut self, schema: &str, if_exists: bool, name: &ObjectName) -> Result<Done> {
        programs::begin_definition(self)?;
        self.require_on_schema(Privilege::Event.into(), schema)?;
        crate::locks::refuse_under_locks(self)?;
        let mut missing = false;
        programs::define_program(self, schema, "EVENT", &name.name, |s, edit| {
            match s.state.snapshot.event(schema, &name.name).cloned() {
                Some(event) => {
                    super::powers::check_guarded(s, &event.made.definer).map_err(CatalogError::Sql)?;
                    edit.drop_event(&event)
                }
                None => {
                    missing = true;
                    Ok(())
                }
            }
        })?;
        if missing {
            // MySQL's note about a missing event is the one about routines.
            let error = match if_exists {
                true => sql_err!(SpDoesNotExist, "Event", name.name),
                false => sql_err!(EventDoesNotExist, name.name),
            };
            return programs::absent(self, if_exists, error);
        }
        Ok(Done::default())
    }
}

/// CREATE EVENT. What follows another server makes an event that does not run here: its changes come from there.
pub(crate) fn create_event(session: &mut Session, create: &CreateEvent) -> Result<Done> {
    bodies::check(&create.body.statement, bodies::Program::Event)?;
    let schema = session.program_schema(&create.name)?;
    session.require_on_schema(Privilege::Event.into(), &schema)?;
    let made = session.made(&schema, create.definer.as_ref())?;
    programs::check_definer(session, &made.definer)?;
    check_event_body(session, &create.name.name, &create.body.statement, made.database)?;
    let known = session.state.snapshot.schema(&schema).ok_or_else(|| names::missing_schema(&schema))?.name.clone();
    let timed = times_of(session, &create.schedule)?;
    let preserve = create.preserve.unwrap_or(false);
    let mut status = status_of(create.status);
    programs::begin_definition(session)?;
    crate::locks::refuse_under_locks(session)?;
    let name = &create.name.name;
    let (schedule, past) = match timed {
        Timed::Future(schedule) => (schedule, false),
        Timed::Past(schedule) => (schedule, true),
    };
    let there = session.state.snapshot.event(&schema, name).is_some();
    if past && !there {
        if !preserve {
            session.note(&sql_err!(EventCannotCreateInThePast));
            return Ok(Done::default());
        }
        status = EventStatus::Disabled;
        session.note(&sql_err!(EventExecTimeInThePast));
    }
    if session.follows {
        status = EventStatus::ReplicaSideDisabled;
    }
    let zone = session.state.vars[Live::TimeZone].as_str().into();
    let event = Event {
        schema: known,
        name: (&*name.text).into(),
        made,
        schedule,
        status,
        preserve,
        zone,
        comment: comment_of(create.comment.as_deref()),
        body: create.body.text.0.clone(),
        last_run_us: Default::default(),
        compiled: Default::default(),
        ran: Default::default(),
    };
    programs::define_program(session, &schema, "EVENT", name, |s, edit| {
        match s.state.snapshot.event(&schema, name).cloned() {
            Some(old) if create.existence.or_replace => {
                edit.drop_event(&old)?;
                edit.put_event(event)
            }
            Some(_) if create.existence.if_exists => {
                s.note(&sql_err!(EventAlreadyExists, name));
                Ok(())
            }
            Some(_) => Err(CatalogError::Sql(sql_err!(EventAlreadyExists, name))),
            None => edit.put_event(event),
        }
    })?;
    Ok(Done::default())
}

/// Error 1537 for the new name of an event that another one has, also where the event is not there.
fn require_free(session: &Session, name: Option<&(String, Box<str>)>) -> Result<()> {
    match name.filter(|(schema, name)| session.state.snapshot.event(schema, name).is_some()) {
        Some((_, name)) => Err(sql_err!(EventAlreadyExists, name)),
        None => Ok(()),
    }
}

/// ALTER EVENT.
pub(crate) fn alter_event(session: &mut Session, alter: &AlterEvent) -> Result<Done> {
    let schema = session.program_schema(&alter.name)?;
    let name = &alter.name.name;
    if let Some(body) = &alter.body {
        bodies::check(&body.statement, bodies::Program::Event)?;
    }
    session.require_on_schema(Privilege::Event.into(), &schema)?;
    let renamed = match &alter.rename {
        Some(to) => {
            let to_schema = to.schema.as_ref().map_or(schema.clone(), |s| s.text.to_string());
            names::check_routine_name(&to.name)?;
            if to_schema == schema && names::eq_name(&to.name, name) {
                return Err(sql_err!(EventSameName));
            }
            session.require_on_schema(Privilege::Event.into(), &to_schema)?;
            Some((to_schema, to.name.text.clone()))
        }
        None => None,
    };
    programs::begin_definition(session)?;
    crate::locks::refuse_under_locks(session)?;
    require_free(session, renamed.as_ref())?;
    let Some(old) = session.state.snapshot.event(&schema, name).cloned() else {
        return Err(sql_err!(EventDoesNotExist, name));
    };
    let made = session.made(&schema, alter.definer.as_ref())?;
    programs::check_definer(session, &made.definer)?;
    let mut event = old.copy();
    // Who changes an event is its definer from then on.
    event.made = gannet_schema::Made { created_us: old.made.created_us, ..made };
    event.preserve = alter.preserve.unwrap_or(event.preserve);
    if let Some(status) = alter.status {
        event.status = status_of(Some(status));
    }
    if let Some(schedule) = &alter.schedule {
        match times_of(session, schedule)? {
            Timed::Future(schedule) => event.schedule = schedule,
            Timed::Past(_) if !event.preserve => return Err(sql_err!(EventCannotAlterInThePast)),
            Timed::Past(schedule) => {
                event.schedule = schedule;
                event.status = EventStatus::Disabled;
                session.note(&sql_err!(EventExecTimeInThePast));
            }
        }
        event.zone = session.state.vars[Live::TimeZone].as_str().into();
        event.last_run_us = Default::default();
    }
    event.comment = alter.comment.as_ref().map_or(event.comment, |comment| comment_of(Some(comment)));
    if let Some(body) = &alter.body {
        check_event_body(session, name, &body.statement, event.made.database)?;
        event.body = body.text.0.clone();
    }
    if let Some((to_schema, to_name)) = &renamed {
        let known = session.state.snapshot.schema(to_schema).ok_or_else(|| names::missing_schema(to_schema))?;
        event.schema = known.name.clone();
        event.name = (&**to_name).into();
    }
    event.status = if session.follows { EventStatus::ReplicaSideDisabled } else { event.status };
    programs::define_program(session, &schema, "EVENT", name, |s, edit| {
        let taken = |(schema, name): &(String, Box<str>)| s.state.snapshot.event(schema, name).is_some();
        if let Some(to) = renamed.as_ref().filter(|to| taken(to)) {
            return Err(CatalogError::Sql(sql_err!(EventAlreadyExists, to.1)));
        }
        super::powers::check_guarded(s, &old.made.definer).map_err(CatalogError::Sql)?;
        edit.drop_event(&old)?;
        edit.put_event(event)
    })?;
    Ok(Done::default())
}

fn check_event_body(
    session: &Session,
    name: &str,
    body: &ast::Statement,
    collation: gannet_types::CollationId,
) -> Result<()> {
    let mode = session.settings.exec.sql_mode;
    let source = Source { kind: Kind::Event, name, params: &[], returns: None, body, mode, collation, rows: None };
    gannet_program::compile(&source).map(drop)
}

/// When an event runs. Errors 1525, 1542, 1543.
fn times_of(session: &mut Session, schedule: &Schedule) -> Result<Timed> {
    // Events have whole seconds.
    let now = i64::try_from(programs::settings_now(session)).unwrap_or(i64::MAX).div_euclid(1_000_000) * 1_000_000;
    match schedule {
        Schedule::At(at) => {
            let at = instant(session, at, "AT")?;
            let schedule = EventSchedule::At(at);
            Ok(if at < now { Timed::Past(schedule) } else { Timed::Future(schedule) })
        }
        Schedule::Every { amount, unit, starts, ends } => {
            let unit = unit.name().to_ascii_uppercase();
            let value = session.evaluate(amount)?;
            let wrong = || sql_err!(EventIntervalNotPositiveOrTooBig);
            if value.is_null() {
                return Err(wrong());
            }
            let mut text = Vec::new();
            value.write_text(&mut text);
            let kind = IntervalUnit::by_name(&unit).ok_or_else(wrong)?;
            if kind.has_micros() {
                return Err(gannet_types::SqlError::unsupported("MICROSECOND"));
            }
            let interval = Interval::parse(&text, kind).ok_or_else(wrong)?;
            if !is_positive(interval) {
                return Err(wrong());
            }
            let starts = match starts {
                Some(starts) => instant(session, starts, "STARTS")?,
                None => now,
            };
            let ends = ends.as_ref().map(|ends| instant(session, ends, "ENDS")).transpose()?;
            if ends.is_some_and(|ends| ends <= starts) {
                return Err(sql_err!(EventEndsBeforeStarts));
            }
            let amount = composed(interval, kind).unwrap_or_else(|| String::from_utf8_lossy(&text).trim().into());
            let schedule = EventSchedule::Every { amount, unit: unit.into(), starts, ends };
            Ok(if ends.is_some_and(|ends| ends < now) { Timed::Past(schedule) } else { Timed::Future(schedule) })
        }
    }
}

/// An expression as an instant, in the session's time zone; whole seconds. Error 1525.
fn instant(session: &mut Session, expr: &ast::Expr, word: &str) -> Result<i64> {
    let value = session.evaluate(expr)?;
    let mut text = Vec::new();
    value.write_text(&mut text);
    let shown = if value.is_null() { "NULL".into() } else { String::from_utf8_lossy(&text).into_owned() };
    let wrong = || sql_err!(WrongValue, word, shown);
    let mut warnings = session.running.diagnostics.warnings.like();
    let mut conversion = convert::Context {
        mode: session.settings.exec.sql_mode,
        zone: &session.settings.exec.time_zone,
        today: session.settings.exec.today,
        strict: true,
        warnings: &mut warnings,
        stopped: gannet_exec::stopped,
        room: Room::FREE,
    };
    let at = StoreTarget { column: word, row: 1 };
    let ty = SqlType::temporal(TypeId::DateTime, 0);
    match convert::store(value.as_ref(), &ty, at, &mut conversion) {
        Ok(Value::DateTime(at, _)) => session.settings.exec.time_zone.instant(at).ok_or_else(wrong),
        Err(e) if e.code() == ErrorCode::QueryInterrupted => Err(e),
        _ => Err(wrong()),
    }
}

fn comment_of(comment: Option<&str>) -> Box<str> {
    comment.unwrap_or_default().chars().take(MAX_COMMENT).collect::<String>().into()
}

/// The amount of a unit of several fields, as MySQL keeps it: each field but the first within its bounds.
fn composed(interval: Interval, unit: IntervalUnit) -> Option<Box<str>> {
    let seconds = match interval {
        Interval::Months(n) if unit == IntervalUnit::YearMonth => return Some(format!("{}-{}", n / 12, n % 12).into()),
        Interval::Months(_) => return None,
        Interval::Micros(n) => n / 1_000_000,
    };
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600, seconds / 60);
    let (h, m, s) = (hours % 24, minutes % 60, seconds % 60);
    let text = match unit {
        IntervalUnit::MinuteSecond => format!("{minutes}:{s}"),
        IntervalUnit::HourSecond => format!("{hours}:{m}:{s}"),
        IntervalUnit::HourMinute => format!("{hours}:{m}"),
        IntervalUnit::DaySecond => format!("{days} {h}:{m}:{s}"),
        IntervalUnit::DayMinute => format!("{days} {h}:{m}"),
        IntervalUnit::DayHour => format!("{days} {h}"),
        _ => return None,
    };
    Some(text.into())
}

fn is_positive(interval: Interval) -> bool {
    match interval {
        Interval::Months(n) => n > 0 && n < MAX_INTERVAL_S / (28 * 86_400),
        Interval::Micros(n) => n > 0 && n / 1_000_000 <= i128::from(MAX_INTERVAL_S),
    }
}
