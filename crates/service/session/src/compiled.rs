//! From the texts of stored programs to what runs: routines, triggers and events, compiled when they are first needed.

use super::text::{lex_mode, parse_error};
use gannet_base::Attached;
use gannet_parser::ast::{self, Characteristic, Statement};
use gannet_program::{Figures, Kind, Program, Slot, Source};
use gannet_schema::{DataAccess, Event, Made, Routine, RoutineKind, Table, Trigger, TriggerEvent};
use gannet_types::{Result, SqlError, SqlMode};
use std::sync::Arc;

/// Characters of a routine's COMMENT that the dictionary keeps.
const MAX_COMMENT: usize = 2048;

pub(super) fn kind_of(kind: ast::RoutineKind) -> RoutineKind {
    match kind {
        ast::RoutineKind::Procedure => RoutineKind::Procedure,
        ast::RoutineKind::Function => RoutineKind::Function,
    }
}

/// Sets what characteristics say; of several the last.
pub(super) fn characterise(routine: &mut Routine, list: &[Characteristic]) -> Result<()> {
    for c in list {
        match c {
            Characteristic::Comment(text) => {
                routine.comment = text.chars().take(MAX_COMMENT).collect::<String>().into()
            }
            Characteristic::Language(name) if name.text.eq_ignore_ascii_case("SQL") => {}
            Characteristic::Language(name) => {
                return Err(SqlError::unsupported(format_args!("LANGUAGE {name}")));
            }
            Characteristic::Deterministic(yes) => routine.deterministic = *yes,
            Characteristic::ContainsSql => routine.access = DataAccess::Contains,
            Characteristic::NoSql => routine.access = DataAccess::No,
            Characteristic::ReadsSqlData => routine.access = DataAccess::Reads,
            Characteristic::ModifiesSqlData => routine.access = DataAccess::Modifies,
            Characteristic::SqlSecurityDefiner => routine.invoker = false,
            Characteristic::SqlSecurityInvoker => routine.invoker = true,
        }
    }
    Ok(())
}

/// Parses the text of a program that was stored.
pub(super) fn stored(text: &str, made: &Made) -> Result<Statement> {
    let mode = SqlMode::from_bits(made.sql_mode).unwrap_or_default();
    let parsed = gannet_parser::parse(text.as_bytes(), lex_mode(mode)).map_err(parse_error)?;
    Ok(parsed.statement)
}

/// The figures of a program's runs: those of its versions before, too.
fn figures(ran: &Attached) -> Arc<Figures> {
    let kept: Result<_, std::convert::Infallible> = ran.get_or_try_init(|| Ok(Arc::<Figures>::default()));
    let Ok(figures) = kept;
    figures.clone()
}

/// The routine's program, compiled when it is first called.
pub(crate) fn compiled(routine: &Routine) -> Result<Arc<Program>> {
    let made = routine.compiled.get_or_try_init(|| -> Result<Arc<Program>> {
        let kind = routine.kind.word();
        let returns = if routine.returns.is_empty() { String::new() } else { format!(" RETURNS {}", routine.returns) };
        let text = format!("CREATE {kind} `p`({}){returns}\n{}", routine.params, routine.body);
        let Statement::CreateRoutine(r) = stored(&text, &routine.made)? else {
            return Err(SqlError::internal("the text of a routine is another statement"));
        };
        let mut program = gannet_program::compile(&Source {
            kind: match routine.kind {
                RoutineKind::Procedure => Kind::Procedure,
                RoutineKind::Function => Kind::Function,
            },
            name: &routine.name,
            params: &r.params,
            returns: r.returns.as_ref(),
            body: &r.body.statement,
            mode: SqlMode::from_bits(routine.made.sql_mode).unwrap_or_default(),
            collation: routine.made.database,
            rows: None,
        })?;
        program.figures = figures(&routine.ran);
        Ok(Arc::new(program))
    })?;
    Ok(made.clone())
}

/// The slots of OLD and NEW: OLD first.
pub(super) fn trigger_rows(table: &Table, event: TriggerEvent) -> (gannet_program::Rows, Vec<Slot>) {
    let width = table.columns.len() as u32;
    let (old, new) = match event {
        TriggerEvent::Insert => (None, Some(0)),
        TriggerEvent::Delete => (Some(0), None),
        TriggerEvent::Update => (Some(0), Some(width)),
    };
    let columns: Vec<Slot> = table.columns.iter().map(|c| Slot { name: (&*c.name).into(), ty: c.ty.clone() }).collect();
    let slots = match event {
        TriggerEvent::Update => columns.iter().chain(&columns).cloned().collect(),
        _ => columns.clone(),
    };
    // Hidden columns have no names that could be written.
    let name = |c: &gannet_schema::Column| if c.hidden { "".into() } else { (&*c.name).into() };
    let names = table.columns.iter().map(name).collect();
    (gannet_program::Rows { old, new, event: event.word(), columns: names }, slots)
}

/// The trigger's program, compiled when it first fires on this version of its table.
pub(super) fn compiled_trigger(table: &Table, trigger: &Trigger) -> Result<Arc<Program>> {
    let made = trigger.compiled.get_or_try_init(|| -> Result<Arc<Program>> {
        let time = if trigger.after { "AFTER" } else { "BEFORE" };
        let event = trigger.event.word();
        let text = format!("CREATE TRIGGER g {time} {event} ON t FOR EACH ROW\n{}", trigger.body);
        let Statement::CreateTrigger(t) = stored(&text, &trigger.made)? else {
            return Err(SqlError::internal("the text of a trigger is another statement"));
        };
        let mut program = gannet_program::compile(&Source {
            kind: Kind::Trigger,
            name: &trigger.name,
            params: &[],
            returns: None,
            body: &t.body.statement,
            mode: SqlMode::from_bits(trigger.made.sql_mode).unwrap_or_default(),
            collation: trigger.made.database,
            rows: Some(trigger_rows(table, trigger.event)),
        })?;
        program.figures = figures(&trigger.ran);
        Ok(Arc::new(program))
    })?;
    Ok(made.clone())
}

/// The event's program, compiled when it first runs.
pub(super) fn compiled_event(event: &Event) -> Result<Arc<Program>> {
    let made = event.compiled.get_or_try_init(|| -> Result<Arc<Program>> {
        let text = format!("CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO\n{}", event.body);
        let Statement::CreateEvent(e) = stored(&text, &event.made)? else {
            return Err(SqlError::internal("the text of an event is another statement"));
        };
        let mut program = gannet_program::compile(&Source {
            kind: Kind::Event,
            name: &event.name,
            params: &[],
            returns: None,
            body: &e.body.statement,
            mode: SqlMode::from_bits(event.made.sql_mode).unwrap_or_default(),
            collation: event.made.database,
            rows: None,
        })?;
        program.figures = figures(&event.ran);
        Ok(Arc::new(program))
    })?;
    Ok(made.clone())
}
