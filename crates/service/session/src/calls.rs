//! Calls of stored programs: CALL, functions in expressions, triggers.
//!
//! A procedure runs on the session as it is. A function or trigger runs in the middle of a statement, whose executor
//! has the session's transaction and state in hand: these are moved into a session of their own
//! ([`Session::prepare_inside`]) for the time of the call, and back.

use super::reply::{Done, Ended, Manner, Reply};
use super::state::State;
use super::steps::Frame;
use super::text::{lex_mode, parse_error};
use super::{Charsets, Session};
use gannet_base::Attached;
use gannet_core::accounts::{Access, Account, Name, Privilege};
use gannet_core::vars::{Live, VarValue};
use gannet_engine::Txn;
use gannet_exec::Rows;
use gannet_parser::ast::{Expr, ObjectName, ParamMode, Statement};
use gannet_plan::Plan;
use gannet_plan::expr::Called;
use gannet_plan::plan::{Intent, PlanTable, ResultColumn};
use gannet_program::{Kind, Program, Slot, Source};
use gannet_schema::{Event, Made, Routine, RoutineKind, Table, Trigger, TriggerEvent};
use gannet_types::charset::Charset;
use gannet_types::{Collation, CollationId, Result, SqlError, SqlMode, Value, Warnings, sql_err};
use std::sync::Arc;

/// Calls that may be nested, whatever they are of.
const MAX_NESTED: usize = 512;

/// Where an OUT argument goes.
enum Out {
    /// It is no OUT argument.
    None,
    User(Box<str>),
    Local(u32),
    Marker(u32),
}

/// What a program's beginning has changed of the session, to be put back at its end.
pub(super) struct Entered {
    mode: SqlMode,
    client: Charset,
    connection: CollationId,
    database: Option<Option<Arc<str>>>,
    identity: Option<Box<Identity>>,
}

/// Whose rights count.
struct Identity {
    account: Arc<Account>,
    roles: Vec<Name>,
    current_user: String,
    access: Access,
}

/// Where the rows of functions and triggers would go: error 1415.
struct Nowhere;

impl Reply for Nowhere {
    fn begin(&mut self, _: &[ResultColumn], _: Manner, _: Option<&Attached>) -> Result<()> {
        Err(sql_err!(SpNoRetset, "function"))
    }

    fn rows(&mut self, _: Rows<'_>, _: usize) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &[Value]) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _: &Ended<'_>) {}

    fn error(&mut self, _: &SqlError, _: &Charsets) {}
}

/// Parses the text of a program that was stored.
pub(super) fn stored(text: &str, made: &Made) -> Result<Statement> {
    let mode = SqlMode::from_bits(made.sql_mode).unwrap_or_default();
    let parsed = gannet_parser::parse(text.as_bytes(), lex_mode(mode)).map_err(parse_error)?;
    Ok(parsed.statement)
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
        let program = gannet_program::compile(&Source {
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
        let program = gannet_program::compile(&Source {
            kind: Kind::Trigger,
            name: &trigger.name,
            params: &[],
            returns: None,
            body: &t.body.statement,
            mode: SqlMode::from_bits(trigger.made.sql_mode).unwrap_or_default(),
            collation: trigger.made.database,
            rows: Some(trigger_rows(table, trigger.event)),
        })?;
        Ok(Arc::new(program))
    })?;
    Ok(made.clone())
}

fn compiled_event(event: &Event) -> Result<Arc<Program>> {
    let made = event.compiled.get_or_try_init(|| -> Result<Arc<Program>> {
        let text = format!("CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO\n{}", event.body);
        let Statement::CreateEvent(e) = stored(&text, &event.made)? else {
            return Err(SqlError::internal("the text of an event is another statement"));
        };
        let program = gannet_program::compile(&Source {
            kind: Kind::Event,
            name: &event.name,
            params: &[],
            returns: None,
            body: &e.body.statement,
            mode: SqlMode::from_bits(event.made.sql_mode).unwrap_or_default(),
            collation: event.made.database,
            rows: None,
        })?;
        Ok(Arc::new(program))
    })?;
    Ok(made.clone())
}

impl Session {
    /// It runs in the middle of another session's statement: a function's or trigger's.
    pub(crate) fn is_inside(&self) -> bool {
        self.inside
    }

    /// The statement is one of a program: `max_execution_time` does not hold for it, or does for the statement around.
    pub(crate) fn is_part(&self) -> bool {
        self.inside || self.running.locals.is_some()
    }

    // ---- procedures ----

    /// CALL.
    pub(super) fn call(&mut self, name: &ObjectName, args: &[Expr], reply: &mut dyn Reply) -> Result<Done> {
        let schema = self.program_schema(name)?;
        self.state.renew_snapshot();
        let found = self.state.snapshot.routine(&schema, RoutineKind::Procedure, &name.name).cloned();
        self.require_routine(Privilege::Execute, &schema, &name.name, false)?;
        let Some(routine) = found else {
            return Err(sql_err!(SpDoesNotExist, "PROCEDURE", format_args!("{schema}.{}", name.name)));
        };
        let full = format!("{}.{}", routine.schema, routine.name);
        let program = compiled(&routine)?;
        if args.len() != program.params.len() {
            return Err(sql_err!(SpWrongNoOfArgs, "PROCEDURE", full, program.params.len(), args.len()));
        }
        if program.rows && !self.abilities.multi_results {
            return Err(sql_err!(SpBadselect, full));
        }
        let limit = self.recursion_limit();
        let around = self.state.calls.iter().filter(|r| Arc::ptr_eq(r, &routine)).count() as u64;
        if around > limit {
            return Err(sql_err!(SpRecursionLimit, limit, routine.name));
        }
        self.check_nesting()?;
        let mut frame = Frame::new(program.clone());
        let outs = self.arguments(&program, args, &full, &mut frame)?;
        self.state.calls.push(routine.clone());
        let outcome = self.within(&routine.schema, &routine.made, !routine.invoker, |s| {
            s.as_program(|s| s.run_program(&mut frame, reply))
        });
        self.state.calls.pop();
        outcome?;
        for ((out, value), slot) in outs.iter().zip(&frame.slots).zip(&program.slots) {
            self.give_out(out, value.clone())?;
            if let Out::Marker(n) = out {
                self.running.outs.push((*n, slot.name.clone(), slot.ty.clone()));
            }
        }
        let affected = u64::try_from(self.state.row_count).unwrap_or(0);
        Ok(Done { affected, insert_id: 0, ..Done::default() })
    }

    /// Error 1436 where calls are nested too deeply.
    fn check_nesting(&self) -> Result<()> {
        const RESERVE: usize = 4 * gannet_types::STACK_RESERVE;
        let left = gannet_runtime::remaining_stack();
        if left < RESERVE || self.state.calls.len() >= MAX_NESTED {
            return Err(sql_err!(StackOverrunNeedMore, RESERVE, left, RESERVE));
        }
        Ok(())
    }

    /// Evaluates the arguments of a CALL, all of them before anything runs. Error 1414.
    fn arguments(&mut self, program: &Program, args: &[Expr], full: &str, frame: &mut Frame) -> Result<Vec<Out>> {
        let mut outs = Vec::with_capacity(args.len());
        for (i, (arg, param)) in args.iter().zip(&program.params).enumerate() {
            let out = match (param.mode, arg) {
                (ParamMode::In, _) => Out::None,
                (_, Expr::UserVar(name)) => Out::User(name.text.clone()),
                (_, Expr::Param(n)) => Out::Marker(*n),
                (_, Expr::Column(column)) => {
                    let names = self.running.locals.clone();
                    let slot = match (&names, &column.qualifier) {
                        (Some(names), None) => names.slot(&column.column.text),
                        (Some(names), Some(q)) if q.schema.is_none() => {
                            let slot = names.row_slot(&q.name.text, &column.column.text)?;
                            slot.filter(|s| !names.is_old(*s))
                        }
                        _ => None,
                    };
                    Out::Local(slot.ok_or_else(|| sql_err!(SpNotVarArg, i + 1, full))?)
                }
                _ => return Err(sql_err!(SpNotVarArg, i + 1, full)),
            };
            if param.mode != ParamMode::Out {
                let value = self.evaluate(arg)?;
                frame.slots[i] = self.converted(value, &program.slots[i])?;
            }
            outs.push(out);
        }
        Ok(outs)
    }

    fn give_out(&mut self, out: &Out, value: Value) -> Result<()> {
        match out {
            Out::None => Ok(()),
            Out::User(name) => self.assign(name, value),
            Out::Marker(n) => {
                if let Some(place) = self.running.markers.get_mut(*n as usize) {
                    *place = value;
                }
                Ok(())
            }
            Out::Local(slot) => match self.running.locals.clone() {
                Some(names) => self.assign_slot(&names, *slot, value),
                None => Ok(()),
            },
        }
    }

    /// Runs a program as part of the running statement: its parameters, names and status bits are put aside.
    fn as_program<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let markers = std::mem::take(&mut self.running.markers);
        let locals = self.running.locals.take();
        let stacked = std::mem::take(&mut self.running.stacked);
        let more = self.running.more;
        let clock = self.state.running.clock;
        let result = f(self);
        self.state.running.clock = clock;
        self.running.more = more;
        (self.running.markers, self.running.locals, self.running.stacked) = (markers, locals, stacked);
        result
    }

    // ---- events ----

    /// Runs an event's body.
    pub(super) fn run_event(&mut self, event: &Arc<Event>, reply: &mut dyn Reply) -> Result<()> {
        self.state.renew_snapshot();
        let program = compiled_event(event)?;
        let mut frame = Frame::new(program);
        let outcome = self.within(&event.schema, &event.made, true, |s| {
            s.require_on_schema(Privilege::Event.into(), &event.schema)?;
            s.as_program(|s| s.run_program(&mut frame, reply))
        });
        outcome.map(drop)
    }

    // ---- the surroundings of a program ----

    /// Runs `f` with sql_mode, character sets, default database and, with `definer`, rights of a program.
    fn within<R>(
        &mut self,
        schema: &Arc<str>,
        made: &Made,
        definer: bool,
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let entered = self.enter(schema, made, definer)?;
        let outcome = f(self);
        self.leave_program(entered);
        outcome
    }

    fn enter(&mut self, schema: &Arc<str>, made: &Made, definer: bool) -> Result<Entered> {
        let identity = if definer { self.become_account(&made.definer)? } else { None };
        let (mode, client, connection) = (self.settings.sql_mode, self.charsets.client, self.charsets.connection);
        let database = (self.state.database.as_deref() != Some(&**schema)).then(|| self.state.database.clone());
        if database.is_some() {
            self.state.set_database(Some(schema.clone()));
        }
        let wanted = SqlMode::from_bits(made.sql_mode).unwrap_or_default();
        self.set_surroundings(wanted, made.client.charset(), made.connection);
        Ok(Entered { mode, client, connection, database, identity })
    }

    fn leave_program(&mut self, entered: Entered) {
        self.set_surroundings(entered.mode, entered.client, entered.connection);
        if let Some(database) = entered.database {
            self.state.set_database(database);
        }
        self.become_again(entered.identity);
    }

    fn set_surroundings(&mut self, mode: SqlMode, client: Charset, connection: CollationId) {
        let same = self.settings.sql_mode == mode && self.charsets.client == client;
        if same && self.charsets.connection == connection {
            return;
        }
        let vars = &mut self.state.vars;
        vars.set(Live::SqlMode, VarValue::text(&mode.to_string()));
        vars.set(Live::CharacterSetClient, VarValue::text(client.name()));
        vars.set(Live::CharacterSetConnection, VarValue::text(connection.charset().name()));
        vars.set(Live::CollationConnection, VarValue::text(connection.get().name));
        let unlock_unmatched = self.settings.unlock_unmatched;
        self.refresh();
        self.settings.unlock_unmatched = unlock_unmatched;
    }

    /// Runs `f` with the rights of a definer. Error 1449.
    fn as_definer<R>(
        &mut self,
        definer: &(Box<str>, Box<str>),
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let before = self.become_account(definer)?;
        let outcome = f(self);
        self.become_again(before);
        outcome
    }

    fn become_again(&mut self, before: Option<Box<Identity>>) {
        if let Some(before) = before {
            self.state.account = before.account;
            self.state.roles = before.roles;
            self.state.current_user = before.current_user;
            self.state.access = before.access;
        }
    }

    /// Takes the rights of a definer, unless they are the session's. Error 1449.
    fn become_account(&mut self, definer: &(Box<str>, Box<str>)) -> Result<Option<Box<Identity>>> {
        let (user, host) = (&*definer.0, &*definer.1);
        if *self.state.account.user == *user && *self.state.account.host == *host {
            return Ok(None);
        }
        let account = self.server.accounts.get(user, host).or_else(|| super::sys::definer(user, host));
        let account = account.ok_or_else(|| sql_err!(NoSuchUser, user, host))?;
        let roles = account.grants.default_roles.clone();
        let access = Access::new(&self.server.accounts, &account, &roles);
        let s = &mut self.state;
        Ok(Some(Box::new(Identity {
            current_user: std::mem::replace(&mut s.current_user, account.name()),
            account: std::mem::replace(&mut s.account, account),
            roles: std::mem::replace(&mut s.roles, roles),
            access: std::mem::replace(&mut s.access, access),
        })))
    }

    // ---- functions and triggers ----

    /// A plan that calls functions or fires triggers is about to run: a session for these is there when it is needed.
    pub(super) fn prepare_inside(&mut self) {
        let mut inner = match self.state.inside.pop() {
            Some(inner) => inner,
            None => self.new_inside(),
        };
        inner.settings = self.settings.clone();
        inner.charsets = self.charsets;
        inner.mode_key = self.mode_key;
        inner.passes = self.passes;
        inner.work.nested_in(&self.work);
        inner.running.warnings = self.running.warnings.like();
        self.state.inside.push(inner);
    }

    /// The statement is one whose functions and triggers may not change its tables.
    #[inline]
    pub(super) fn begin_using(&mut self, plan: &Plan) {
        if plan.uses.programs {
            self.use_tables(plan);
        }
    }

    #[cold]
    fn use_tables(&mut self, plan: &Plan) {
        self.prepare_inside();
        let tables = plan.tables.iter().filter(|t| !t.table.temporary).map(|t| t.table.id).collect();
        self.state.using.push(tables);
    }

    /// It has ended.
    #[inline]
    pub(super) fn end_using(&mut self, plan: &Plan) {
        if !plan.uses.programs {
            return;
        }
        self.state.using.pop();
        if std::mem::take(&mut self.state.changed_inside) {
            self.refresh();
            self.state.changed_inside = self.inside;
        }
    }

    /// Error 1442 for a table that a statement around this one uses.
    pub(super) fn refuse_used(&self, plan: &Plan) -> Result<()> {
        let written = |t: &&PlanTable| match t.intent {
            Intent::Insert | Intent::Replace | Intent::Update | Intent::Delete => true,
            Intent::Read | Intent::LockingRead | Intent::ForeignRead | Intent::ForeignWrite => false,
        };
        for t in plan.tables.iter().filter(written) {
            if self.state.using.iter().any(|tables| tables.contains(&t.table.id)) {
                return Err(sql_err!(CantUpdateUsedTableInSfOrTrg, t.table.name));
            }
        }
        Ok(())
    }

    #[cold]
    fn new_inside(&self) -> Box<Session> {
        let (server, plans, entry) = (self.server.clone(), self.plans.clone(), self.entry.clone());
        let opening = super::Opening::default();
        let mut inner = Box::new(Session::new(server, plans, entry, self.state.account.clone(), &opening));
        inner.inside = true;
        inner.ended = true;
        inner
    }

    /// Error 1370.
    fn check_execute(&self, routine: &Routine) -> Result<()> {
        let access = &self.state.access;
        if access.all || access.routine(&routine.schema, &routine.name, true).has(Privilege::Execute) {
            return Ok(());
        }
        let a = &self.state.account;
        let full = format_args!("{}.{}", routine.schema, routine.name);
        Err(sql_err!(ProcaccessDenied, "execute", a.user, self.state.host(), full))
    }

    /// A function's value.
    fn run_function(&mut self, routine: &Arc<Routine>, args: &[Value]) -> Result<Value> {
        self.check_execute(routine)?;
        if self.state.calls.iter().any(|r| Arc::ptr_eq(r, routine)) {
            return Err(sql_err!(SpNoRecursion));
        }
        self.check_nesting()?;
        let program = compiled(routine)?;
        let mut frame = Frame::new(program.clone());
        for (i, arg) in args.iter().enumerate() {
            frame.slots[i] = self.converted(arg.clone(), &program.slots[i])?;
        }
        self.state.calls.push(routine.clone());
        let outcome = self.within(&routine.schema, &routine.made, !routine.invoker, |s| {
            s.as_program(|s| s.run_program(&mut frame, &mut Nowhere))
        });
        self.state.calls.pop();
        outcome?.ok_or_else(|| sql_err!(SpNoreturnend, routine.name))
    }

    /// Fires a trigger. OLD and NEW are its first slots; NEW comes back as the trigger leaves it.
    fn run_trigger(
        &mut self,
        table: &Arc<Table>,
        trigger: &Arc<Trigger>,
        old: Option<&[Value]>,
        new: Option<&mut [Value]>,
    ) -> Result<()> {
        self.check_nesting()?;
        let program = compiled_trigger(table, trigger)?;
        let mut frame = Frame::new(program);
        let mut at = 0;
        if let Some(old) = old {
            frame.slots[..old.len()].clone_from_slice(old);
            at = old.len();
        }
        if let Some(new) = &new {
            frame.slots[at..at + new.len()].clone_from_slice(new);
        }
        self.within(&table.schema, &trigger.made, true, |s| {
            let access = &s.state.access;
            if !access.all && !access.table(&table.schema, &table.name).has(Privilege::Trigger) {
                return Err(s.denied(Privilege::Trigger.into(), &table.name));
            }
            s.as_program(|s| s.run_program(&mut frame, &mut Nowhere))
        })?;
        if let Some(new) = new.filter(|_| !trigger.after) {
            new.clone_from_slice(&frame.slots[at..at + new.len()]);
        }
        Ok(())
    }
}

impl State {
    /// Runs `f` on a session of its own that has this state and the transaction.
    fn inside<R>(
        &mut self,
        txn: &mut Txn,
        warnings: &mut Warnings,
        f: impl FnOnce(&mut Session) -> Result<R>,
    ) -> Result<R> {
        let Some(mut inner) = self.inside.pop() else {
            return Err(SqlError::internal("a program without a session to run in"));
        };
        std::mem::swap(&mut inner.state, self);
        std::mem::swap(inner.work.txn_mut(), txn);
        let s = &inner.state;
        let before = (s.last_insert_id, s.found_rows, s.row_count, s.warning_count, s.error_count);
        let seen = (s.running.insert_id_given, s.running.over_tables);
        let outcome = f(&mut inner);
        let s = &mut inner.state;
        (s.last_insert_id, s.found_rows, s.row_count, s.warning_count, s.error_count) = before;
        (s.running.insert_id_given, s.running.over_tables) = seen;
        std::mem::swap(inner.work.txn_mut(), txn);
        std::mem::swap(&mut inner.state, self);
        if !inner.running.warnings.is_empty() {
            let fresh = inner.running.warnings.like();
            warnings.append(&mut std::mem::replace(&mut inner.running.warnings, fresh));
        }
        self.inside.push(inner);
        outcome
    }

    /// A function's value, for the executor.
    pub(super) fn call_function(
        &mut self,
        txn: &mut Txn,
        warnings: &mut Warnings,
        called: &Called,
        args: &[Value],
    ) -> Result<Value> {
        self.inside(txn, warnings, |inner| match called.view.as_ref().and_then(|v| Some((v, v.view()?))) {
            None => inner.run_function(&called.routine, args),
            Some((table, view)) => inner.as_definer(&view.definer, |s| {
                // Whoever may use the view is not told what is wrong below it.
                let may = s.check_execute(&called.routine);
                may.map_err(|_| sql_err!(ViewInvalid, table.schema, table.name))?;
                s.run_function(&called.routine, args)
            }),
        })
    }

    /// Fires a trigger, for the executor.
    pub(super) fn call_trigger(
        &mut self,
        txn: &mut Txn,
        warnings: &mut Warnings,
        (table, trigger): (&Arc<Table>, &Arc<Trigger>),
        old: Option<&[Value]>,
        new: Option<&mut [Value]>,
    ) -> Result<()> {
        self.inside(txn, warnings, |inner| inner.run_trigger(table, trigger, old, new))
    }
}

/// The collation that stands for a character set.
pub(super) fn collation_of(charset: Charset) -> CollationId {
    Collation::default_of(charset).id
}
