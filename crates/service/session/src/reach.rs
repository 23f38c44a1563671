//! What the functions and triggers of a statement may use: all of it is locked before the statement begins, as in MySQL.
//!
//! A plan names the functions that it calls, and its tables have the triggers that it may fire. Their statements are
//! planned for their tables alone, and so on. A statement that cannot be planned (a table is missing, perhaps behind an
//! IF) is an error only when it runs.

use super::Session;
use super::compiled::{compiled, compiled_trigger};
use gannet_core::kinds;
use gannet_parser::ast::Statement;
use gannet_plan::plan::{Intent, PlanKind};
use gannet_plan::{Plan, PlanOptions};
use gannet_program::Program;
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

/// The tables that the functions and triggers of a plan may use; none of them is temporary, virtual or another view's.
pub(super) fn of_plan(session: &Session, plan: &Plan) -> Vec<Reached> {
    if !plan.uses.programs {
        return Vec::new();
    }
    let mut reach = Reach::default();
    reach.note(plan);
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
            if let Some(next) = self.routines.get(routine).cloned() {
                routine += 1;
                if let Ok(program) = compiled(&next) {
                    self.program(session, &program, &next.schema, &next.made);
                }
            } else if let Some((table, next)) = self.triggers.get(trigger).cloned() {
                trigger += 1;
                if let Ok(program) = compiled_trigger(&table, &next) {
                    self.program(session, &program, &table.schema, &next.made);
                }
            } else {
                break;
            }
        }
        self.tables
    }

    fn program(&mut self, session: &Session, program: &Arc<Program>, schema: &str, made: &Made) {
        let around = (session, schema, made);
        for code in &program.exprs {
            self.look(around, program, code.scope, &Statement::Do(vec![code.expr.clone()]));
        }
        for inner in &program.statements {
            match &inner.statement {
                Statement::Call { name, args } => {
                    self.look(around, program, inner.scope, &Statement::Do(args.clone()));
                    let called = name.schema.as_ref().map_or(schema, |s| s);
                    let procedure = session.state.snapshot.routine(called, RoutineKind::Procedure, &name.name);
                    procedure.cloned().into_iter().for_each(|p| self.routine(p));
                }
                statement if kinds::of(statement).way == kinds::Way::Planned => {
                    self.look(around, program, inner.scope, statement);
                }
                _ => {}
            }
        }
    }

    /// Plans a statement of a program for what it uses.
    fn look(&mut self, around: (&Session, &str, &Made), program: &Program, scope: u32, statement: &Statement) {
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
            self.note(&plan);
        }
    }

    fn routine(&mut self, routine: Arc<Routine>) {
        if !self.routines.iter().any(|known| Arc::ptr_eq(known, &routine)) {
            self.routines.push(routine);
        }
    }

    /// Takes the tables, functions and triggers of a plan.
    fn note(&mut self, plan: &Plan) {
        plan.routines.iter().for_each(|r| self.routine(r.clone()));
        let shared =
            |t: &&gannet_plan::plan::PlanTable| !t.table.temporary && !matches!(t.table.source, RowSource::Virtual(_));
        for t in plan.tables.iter().filter(shared) {
            let write = !matches!(t.intent, Intent::Read | Intent::LockingRead | Intent::ForeignRead);
            match self.tables.iter_mut().find(|known| known.table.id == t.table.id) {
                Some(known) => known.write |= write,
                None => self.tables.push(Reached { table: t.table.clone(), write }),
            }
            for trigger in t.table.triggers.iter().filter(|g| fires(plan, t.intent, g.event)) {
                let same = |(_, known): &(Arc<Table>, Arc<Trigger>)| Arc::ptr_eq(known, trigger);
                if !self.triggers.iter().any(same) {
                    self.triggers.push((t.table.clone(), trigger.clone()));
                }
            }
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
        Intent::Read | Intent::LockingRead | Intent::ForeignRead | Intent::ForeignWrite => false,
    }
}
