//! SET_VAR: system variables that have another value for one statement.

use super::{Session, set};
use gannet_core::vars::{Live, VarId, VarValue};
use gannet_parser::ast::{QueryBody, Statement};
use gannet_parser::hint::{self, Hint, HintValue};
use gannet_types::{ErrorCode, Level, Value};

/// What a statement's SET_VAR hints have changed.
#[derive(Default)]
struct Saved {
    vars: Vec<(VarId, VarValue)>,
    time: Option<Option<i64>>,
    insert_id: Option<u64>,
}

/// The hints behind a statement's verb.
fn hints_of(statement: &Statement) -> Option<&str> {
    fn of_body(body: &QueryBody) -> Option<&str> {
        match body {
            QueryBody::Select(select) => select.hints.as_deref(),
            QueryBody::Query(query) => of_body(&query.body),
            QueryBody::Set(set) => of_body(&set.first),
            QueryBody::Values(_) | QueryBody::Table(_) => None,
        }
    }
    match statement {
        Statement::Query(query) => of_body(&query.body),
        Statement::Insert(s) => s.hints.as_deref(),
        Statement::Update(s) => s.hints.as_deref(),
        Statement::Delete(s) => s.hints.as_deref(),
        Statement::Explain(e) => match &e.target {
            gannet_parser::ast::ExplainTarget::Statement(s) => hints_of(s),
            gannet_parser::ast::ExplainTarget::Connection(_) => None,
        },
        _ => None,
    }
}

/// The statement has SET_VAR among its hints.
pub(super) fn sets_variables(statement: &Statement) -> bool {
    let (hints, _) = hint::parse(hints_of(statement).unwrap_or_default());
    hints.iter().any(|h| h.name == "SET_VAR")
}

impl Session {
    /// Runs `f` with the variables as the statement's hints want them.
    pub(super) fn with_hinted<R>(&mut self, statement: &Statement, f: impl FnOnce(&mut Self) -> R) -> R {
        if !sets_variables(statement) {
            return f(self);
        }
        let (hints, _) = hint::parse(hints_of(statement).unwrap_or_default());
        let mut saved = Saved::default();
        let mut done: Vec<Box<str>> = Vec::new();
        for hint in hints.iter().filter(|h| h.name == "SET_VAR") {
            set_hinted(self, hint, &mut done, &mut saved);
        }
        let outcome = f(self);
        // The statement's own diagnostics stay as its own limit has them.
        for (id, value) in saved.vars.into_iter().rev() {
            self.state.vars.set(id, value);
        }
        if let Some(number) = saved.insert_id {
            self.state.next_insert_id = number;
        }
        if let Some(time) = saved.time {
            self.state.fixed_time_us = time;
        }
        self.refresh();
        outcome
    }
}

fn set_hinted(session: &mut Session, hint: &Hint, done: &mut Vec<Box<str>>, saved: &mut Saved) {
    let Some((name, value)) = &hint.value else { return };
    let Ok(id) = super::components::variable(&session.server.globals, name) else {
        return session
            .running
            .diagnostics
            .warnings
            .warn(ErrorCode::UnresolvedHintName, &[&format!("'{name}'"), &"SET_VAR"]);
    };
    let def = id.def();
    if !def.hintable {
        return session.running.diagnostics.warnings.warn(ErrorCode::NotHintUpdatableVariable, &[&def.name]);
    }
    if done.iter().any(|d| **d == *def.name) {
        return session.running.diagnostics.warnings.warn(ErrorCode::WarnConflictingHint, &[hint]);
    }
    done.push(def.name.into());
    if let Err(e) = super::powers::check_restricted(session, def.name) {
        return session.running.diagnostics.warnings.push(e.to_warning(Level::Warning));
    }
    let value = match value {
        HintValue::Number(n) => i64::try_from(*n).map_or(Value::UInt(*n), Value::Int),
        HintValue::Other(n) => n.parse::<f64>().map_or(Value::text(n), |f| match n.parse::<i64>() {
            Ok(i) => Value::Int(i),
            Err(_) => Value::Double(f),
        }),
        HintValue::Text(t) => Value::text(t),
    };
    if id.is(Live::Timestamp) {
        saved.time = Some(session.state.fixed_time_us);
    } else if id.is(Live::InsertId) {
        saved.insert_id = Some(session.state.next_insert_id);
    } else {
        saved.vars.push((id, session.state.vars.get(id).clone()));
    }
    if let Err(e) = set::set_session(session, id, Some(value)) {
        saved.vars.retain(|(i, _)| *i != id);
        session.running.diagnostics.warnings.push(e.to_warning(Level::Warning));
    }
}
