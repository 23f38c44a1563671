//! What the functions and triggers of a statement may use: all of it is locked before the statement begins, as in
//! MySQL.
//!
//! A plan names the functions that it calls, and its tables have the triggers that it may fire. Their statements are
//! planned for their tables alone, once a version of the dictionary, and so on. A statement that cannot be planned (a
//! table is missing, perhaps behind an IF) is an error only when it runs.

use super::Session;
use super::compiled::{compiled, compiled_trigger};
use gannet_core::kinds;
use gannet_parser::ast::Statement;
use gannet_plan::plan::{Intent, PlanKind, PlanTable};
use gannet_plan::{Plan, PlanOptions};
use gannet_program::{Program, Used, UsedTable};
use gannet_schema::{Made, Routine, RoutineKind, RowSource, Table, Trigger, TriggerEvent};
use gannet_types::SqlMode;
use std::sync::Arc;

/// Programs of one statement that are looked into; beyond, locks are taken when a program's statement runs.
const MAX_PROGRAMS: usize = 10_000;

/// A table that a program may use.
pub(super) struct Reached {
    pub(super) table: Arc<Table>,
    /// It may be written.
    pub(super) write: bool,
}

#[derive(Default)]
struct Reach {
    tables: Vec<Reached>,
    routines: Vec<Arc<Routine>>,
    triggers: Vec<(Arc<Table>, Arc<Trigger>)>,
}

/// The tables that the functions and triggers of a plan may use, the plan's own among them; none of them is temporary
/// or virtual.
pub(super) fn of_plan(session: &Session, plan: &Plan) -> Vec<Reached> {
    if !plan.uses.programs {
        return Vec::new();
    }
    let mut used = Used::default();
    note(&mut used, plan);
    let mut reach = Reach::default();
    reach.take(session, &used);
    reach.follow(session)
}

/// The tables that a table's triggers may use.
pub(super) fn of_triggers(session: &Session, table: &Arc<Table>) -> Vec<Reached> {
    let triggers = table.triggers.iter().map(|t| (table.clone(), t.clone())).collect();
    Reach { triggers, ..Reach::default() }.follow(session)
}

impl Reach {
    /// Goes through what is noted, which notes more.
    fn follow(mut self, session: &Session) -> Vec<Reached> {
        let (mut routine, mut trigger) = (0, 0);
        while routine + trigger < MAX_PROGRAMS {
            let used = if let Some(next) = self.routines.get(routine) {
                routine += 1;
                compiled(next).ok().map(|program| used_by(session, &program, &next.schema, &next.made))
            } else if let Some((table, next)) = self.triggers.get(trigger) {
                trigger += 1;
                compiled_trigger(table, next).ok().map(|program| used_by(session, &program, &table.schema, &next.made))
            } else {
                break;
            };
            used.into_iter().for_each(|used| self.take(session, &used));
        }
        self.tables
    }

    fn take(&mut self, session: &Session, used: &Used) {
        let snapshot = &session.state.snapshot;
        for (schema, kind, name) in &used.routines {
            let Some(routine) = snapshot.routine(schema, *kind, name) else { continue };
            if !self.routines.iter().any(|known| Arc::ptr_eq(known, routine)) {
                self.routines.push(routine.clone());
            }
        }
        for u in &used.tables {
            let Some(table) = snapshot.base_table(&u.schema, &u.name) else { continue };
            match self.tables.iter_mut().find(|known| known.table.id == table.id) {
                Some(known) => known.write |= u.write,
                None => self.tables.push(Reached { table: table.clone(), write: u.write }),
            }
            for trigger in table.triggers.iter().filter(|g| u.fires.contains(&g.event)) {
                if !self.triggers.iter().any(|(_, known)| Arc::ptr_eq(known, trigger)) {
                    self.triggers.push((table.clone(), trigger.clone()));
                }
            }
        }
    }
}

/// What the statements of a program use.
fn used_by(session: &Session, program: &Program, schema: &str, made: &Made) -> Arc<Used> {
    let version = session.state.snapshot.plans_version();
    if let Some((at, used)) = &*program.used.lock()
        && *at == version
    {
        return used.clone();
    }
    let mut used = Used::default();
    let around = (session, schema, made);
    for code in &program.exprs {
        look(&mut used, around, program, code.scope, &Statement::Do(vec![code.expr.clone()]));
    }
    for inner in &program.statements {
        match &inner.statement {
            Statement::Call { name, args } => {
                look(&mut used, around, program, inner.scope, &Statement::Do(args.clone()));
                let called = name.schema.as_ref().map_or(schema, |s| s);
                used.routines.push((called.into(), RoutineKind::Procedure, (&*name.name.text).into()));
            }
            statement if kinds::of(statement).way == kinds::Way::Planned => {
                look(&mut used, around, program, inner.scope, statement);
            }
            _ => {}
        }
    }
    let used = Arc::new(used);
    *program.used.lock() = Some((version, used.clone()));
    used
}

/// Plans a statement of a program for what it uses.
fn look(used: &mut Used, around: (&Session, &str, &Made), program: &Program, scope: u32, statement: &Statement) {
    let (session, schema, made) = around;
    let names = program.names(scope);
    let options = PlanOptions {
        sql_mode: SqlMode::from_bits(made.sql_mode).unwrap_or_default(),
        database: Some(schema),
        collation: made.connection,
        client: made.client.charset(),
        locals: Some(&names),
        estimator: None,
        on_table: None,
        ..session.plan_options(&[])
    };
    if let Ok(plan) = gannet_plan::plan(statement, &session.state.snapshot, &options) {
        note(used, &plan);
    }
}

/// Takes the tables and functions of a plan, and which triggers it may fire.
fn note(used: &mut Used, plan: &Plan) {
    for r in &plan.routines {
        used.routines.push((r.schema.clone(), r.kind, r.name.clone()));
    }
    // Parents and children of foreign keys are the statement's own to lock.
    let shared =
        |t: &&PlanTable| t.intent.is_named() && !t.table.temporary && !matches!(t.table.source, RowSource::Virtual(_));
    for t in plan.tables.iter().filter(shared) {
        let write = !matches!(t.intent, Intent::Read | Intent::LockingRead);
        let events = [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete];
        let fires = events.into_iter().filter(|event| fires(plan, t.intent, *event));
        let same = |known: &&mut UsedTable| known.schema == t.table.schema && known.name == t.table.name;
        match used.tables.iter_mut().find(same) {
            Some(known) => {
                known.write |= write;
                known.fires.extend(fires);
            }
            None => used.tables.push(UsedTable {
                schema: t.table.schema.clone(),
                name: t.table.name.clone(),
                write,
                fires: fires.collect(),
            }),
        }
    }
}

/// A statement with this intent may fire triggers of the event.
fn fires(plan: &Plan, intent: Intent, event: TriggerEvent) -> bool {
    let updates = matches!(&plan.kind, PlanKind::Insert(i) if !i.on_duplicate.is_empty());
    match intent {
        Intent::Insert => event == TriggerEvent::Insert || updates && event == TriggerEvent::Update,
        Intent::Replace => event != TriggerEvent::Update,
        Intent::Update => event == TriggerEvent::Update,
        Intent::Delete => event == TriggerEvent::Delete,
        _ => false,
    }
}
