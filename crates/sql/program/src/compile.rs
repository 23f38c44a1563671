//! From a body's tree to steps, with MySQL's errors about what does not fit together.

use crate::condition::Condition;
use crate::names::{self, Rows, Scope, Scopes};
use crate::{Code, Cursor, Handler, Inner, Kind, Parameter, Place, Program, Reach, Slot, Step};
use gannet_base::sync::atomic::{AtomicU64, Ordering};
use gannet_parser::ast::{
    self, BinaryOp, Compound, ConditionValue, Expr, HandlerKind, Ident, InsertSource, IntoTarget, Limit, RoutineParam,
    SelectInto, SetItem, SetValue, ShowKind, Statement, VarScope,
};
use gannet_parser::printer;
use gannet_plan::{TypeContext, column_type};
use gannet_schema::names::eq_name;
use gannet_types::{CollationId, ErrorCode, Result, SqlError, SqlMode, SqlType, sql_err};
use std::sync::{Arc, OnceLock};

/// What is compiled.
pub struct Source<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its name, for messages.
    pub name: &'a str,
    /// Its parameters.
    pub params: &'a [RoutineParam],
    /// RETURNS.
    pub returns: Option<&'a (ast::DataType, Option<Ident>)>,
    /// Its body.
    pub body: &'a Statement,
    /// sql_mode of its creation.
    pub mode: SqlMode,
    /// The default collation of its database: of variables without one.
    pub collation: CollationId,
    /// OLD and NEW of a trigger, and their slots.
    pub rows: Option<(Rows, Vec<Slot>)>,
}

/// A label in reach.
struct Label {
    name: Option<Box<str>>,
    /// Where ITERATE goes; `None` for a block.
    begin: Option<Place>,
    /// Jumps to its end.
    leaves: Vec<Place>,
    /// The first number of a cursor in it.
    cursors: u32,
}

/// What a block has declared.
#[derive(Default)]
struct Block {
    conditions: Vec<(Box<str>, Condition)>,
    cursors: Vec<u32>,
    handled: Vec<Condition>,
    first_slot: usize,
}

struct Compiler<'a> {
    source: &'a Source<'a>,
    slots: Vec<Slot>,
    scopes: Vec<Scope>,
    scope: u32,
    steps: Vec<Step>,
    resume: Vec<Place>,
    reach: Vec<u32>,
    reaches: Vec<Reach>,
    /// The reach of steps that are made now.
    current: u32,
    handlers: Vec<Handler>,
    /// Handlers whose statements are around what is compiled.
    depth: u32,
    exprs: Vec<Code>,
    statements: Vec<Inner>,
    cursors: Vec<Cursor>,
    blocks: Vec<Block>,
    /// Labels in reach: those behind the last `None` of a handler's statement.
    labels: Vec<Label>,
    returns: bool,
    rows: bool,
}

static NUMBER: AtomicU64 = AtomicU64::new(1);

/// Compiles a program.
///
/// Errors: 1064 (a declaration behind statements), 1308 to 1310 (labels), 1313, 1319, 1320, 1322 to 1324, 1327, 1330 to
/// 1333, 1337, 1338, 1407, 1413, and those of types.
pub fn compile(source: &Source<'_>) -> Result<Program> {
    let mut c = Compiler {
        source,
        slots: Vec::new(),
        scopes: vec![Scope { outer: 0, slots: Vec::new() }],
        scope: 0,
        steps: Vec::new(),
        resume: Vec::new(),
        reach: Vec::new(),
        reaches: vec![Reach { outer: 0, own: Vec::new() }],
        current: 0,
        handlers: Vec::new(),
        depth: 0,
        exprs: Vec::new(),
        statements: Vec::new(),
        cursors: Vec::new(),
        blocks: Vec::new(),
        labels: Vec::new(),
        returns: false,
        rows: false,
    };
    let mut rows = None;
    if let Some((of, slots)) = &source.rows {
        c.slots.clone_from(slots);
        rows = Some(of.clone());
    }
    for p in source.params {
        if c.scopes[0].slots.iter().any(|s| eq_name(&c.slots[*s as usize].name, &p.name.text)) {
            return Err(sql_err!(SpDupParam, p.name));
        }
        c.declare(&p.name.text, &p.data_type, p.collation.as_ref())?;
    }
    let returns = source.returns.map(|(ty, collation)| c.type_of("", ty, collation.as_ref())).transpose()?;
    let returns = returns.map(|ty| Slot { name: format!("{}()", source.name).into(), ty });
    c.statement(source.body)?;
    if source.kind == Kind::Function && !c.returns {
        return Err(sql_err!(SpNoreturn, source.name));
    }
    let names = Scopes { list: c.scopes, slots: c.slots.clone().into(), rows };
    Ok(Program {
        number: NUMBER.fetch_add(1, Ordering::Relaxed),
        kind: source.kind,
        slots: c.slots.into(),
        params: source.params.iter().map(|p| Parameter { mode: p.mode }).collect(),
        returns,
        steps: c.steps.into(),
        exprs: c.exprs.into(),
        statements: c.statements.into(),
        cursors: c.cursors.into(),
        rows: c.rows,
        figures: std::sync::Arc::default(),
        kept: Default::default(),
        used: Default::default(),
        names: Arc::new(names),
        handlers: c.handlers.into(),
        reaches: c.reaches.into(),
        reach: c.reach.into(),
        resume: c.resume.into(),
    })
}

fn syntax(near: &str) -> SqlError {
    let text = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for \
                the right syntax to use near '";
    SqlError::with_message(ErrorCode::Parse, format!("{text}{near}' at line 1"))
}

impl Compiler<'_> {
    fn here(&self) -> Place {
        self.steps.len() as Place
    }

    fn step(&mut self, step: Step) -> Place {
        let at = self.here();
        self.steps.push(step);
        self.resume.push(at + 1);
        self.reach.push(self.current);
        at
    }

    /// Sets where a jump or test that was made before goes.
    fn patch(&mut self, at: Place, to: Place) {
        match &mut self.steps[at as usize] {
            Step::Jump(place) | Step::Test { otherwise: place, .. } => *place = to,
            Step::HandlerEnd { exit: Some(place), .. } => *place = to,
            _ => {}
        }
    }

    fn code(&mut self, expr: &Expr) -> u32 {
        self.exprs.push(Code { expr: expr.clone(), scope: self.scope, alone: OnceLock::new() });
        self.exprs.len() as u32 - 1
    }

    /// A condition. It is asked as a number, and some texts have one that is not what they say: names of days, `x'01'`.
    fn truth(&mut self, expr: &Expr) -> u32 {
        use Expr as E;
        let number = matches!(
            expr,
            E::Column(_) | E::Unary { .. } | E::Binary { .. } | E::And(_) | E::Or(_) | E::Is { .. } | E::InList { .. }
        );
        if number {
            return self.code(expr);
        }
        let (expr, test, negated) = (Box::new(expr.clone()), ast::IsTest::True, false);
        self.code(&E::Is { expr, test, negated })
    }

    fn inner(&mut self, statement: Statement) -> u32 {
        let text = String::from_utf8_lossy(&printer::statement(&statement)).into();
        let mut statement = statement;
        let mut into = None;
        if let Statement::Query(query) = &mut statement
            && let Some(SelectInto::Variables(targets)) =
                query.into.take_if(|i| matches!(**i, SelectInto::Variables(_))).map(|i| *i)
        {
            into = Some(targets.into());
        }
        let values = match &statement {
            Statement::Set(items) => items
                .iter()
                .map(|item| match item {
                    SetItem::User { value, .. } => Some(self.code(value)),
                    _ => None,
                })
                .collect::<Option<_>>()
                .unwrap_or_default(),
            _ => Box::default(),
        };
        self.statements.push(Inner { statement, scope: self.scope, into, text, values });
        self.statements.len() as u32 - 1
    }

    fn type_of(&self, name: &str, ty: &ast::DataType, collation: Option<&Ident>) -> Result<SqlType> {
        let context = TypeContext {
            column: name,
            collation: self.source.collation,
            utf8mb4: CollationId::DEFAULT,
            sql_mode: self.source.mode,
            notes: None,
        };
        let mut ty = column_type(ty, collation.map(|c| &*c.text), context)?;
        ty.nullable = true;
        Ok(ty)
    }

    /// A new variable in the scope at hand.
    fn declare(&mut self, name: &str, ty: &ast::DataType, collation: Option<&Ident>) -> Result<u32> {
        let ty = self.type_of(name, ty, collation)?;
        self.slots.push(Slot { name: name.into(), ty });
        let slot = self.slots.len() as u32 - 1;
        self.scopes[self.scope as usize].slots.push(slot);
        Ok(slot)
    }

    fn slot(&self, name: &str) -> Result<u32> {
        let found = names::find_slot(&self.scopes, &self.slots, self.scope, name);
        found.ok_or_else(|| sql_err!(SpUndeclaredVar, name))
    }

    fn statement(&mut self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Compound(compound) => self.compound(compound),
            Statement::Set(items) => self.set(items),
            Statement::Query(query) => {
                self.check_limit(query.limit.as_ref())?;
                match query.into.as_deref() {
                    None => self.rows = true,
                    Some(SelectInto::Variables(targets)) => self.check_targets(targets)?,
                    Some(_) => {}
                }
                self.run(statement)
            }
            Statement::GetDiagnostics(get) => {
                self.check_targets(get.items.iter().map(|(target, _)| target))?;
                self.run(statement)
            }
            Statement::Signal(signal) => {
                let mut signal = signal.clone();
                match &signal.condition {
                    None => {}
                    Some(value) => match self.condition(value)? {
                        Condition::State(state) => {
                            let text = String::from_utf8_lossy(&state).into();
                            signal.condition = Some(ConditionValue::SqlState(text));
                        }
                        _ => return Err(sql_err!(SignalBadConditionType)),
                    },
                }
                for (at, (item, _)) in signal.items.iter().enumerate() {
                    if signal.items[..at].iter().any(|(other, _)| eq_name(&other.text, &item.text)) {
                        return Err(sql_err!(DupSignalSet, item.text.to_uppercase()));
                    }
                }
                self.run(&Statement::Signal(signal))
            }
            Statement::Show(show) if !matches!(show.kind, ShowKind::Other(_)) => {
                self.rows = true;
                self.run(statement)
            }
            Statement::Explain(_) | Statement::Describe { .. } | Statement::TableMaintenance(_) => {
                self.rows = true;
                self.run(statement)
            }
            Statement::Execute { .. } | Statement::ExecuteImmediate(_) => {
                self.rows = true;
                self.run(statement)
            }
            Statement::Update(update) => {
                self.check_limit(update.limit.as_ref())?;
                self.run(statement)
            }
            Statement::Delete(delete) => {
                self.check_limit(delete.limit.as_ref())?;
                self.run(statement)
            }
            Statement::Insert(insert) => {
                if let InsertSource::Query(query) = &insert.source {
                    self.check_limit(query.limit.as_ref())?;
                }
                self.run(statement)
            }
            _ => self.run(statement),
        }
    }

    fn run(&mut self, statement: &Statement) -> Result<()> {
        let inner = self.inner(statement.clone());
        self.step(Step::Run(inner));
        Ok(())
    }

    /// Error 1327 for a name that no variable has.
    fn check_targets<'t>(&self, targets: impl IntoIterator<Item = &'t IntoTarget>) -> Result<()> {
        for target in targets {
            if let IntoTarget::Local(name) = target {
                self.slot(&name.text)?;
            }
        }
        Ok(())
    }

    /// LIMIT's names are those of variables that count. Errors 1327, 1691.
    fn check_limit(&self, limit: Option<&Limit>) -> Result<()> {
        let Some(limit) = limit else { return Ok(()) };
        for value in std::iter::once(&limit.count).chain(&limit.offset) {
            let Expr::Column(name) = value else { continue };
            let slot = self.slot(&name.column.text)?;
            if !self.slots[slot as usize].ty.id.counts_rows() {
                return Err(sql_err!(WrongSpvarTypeInLimit));
            }
        }
        Ok(())
    }

    /// SET: each variable of the program is a step of its own, what is between goes together.
    fn set(&mut self, items: &[SetItem]) -> Result<()> {
        let mut others: Vec<SetItem> = Vec::new();
        for item in items {
            let slot = match item {
                SetItem::Variable { scope: VarScope::Implicit, at_at: false, prefix, name, value } => {
                    self.target(prefix.as_ref(), name)?.map(|slot| (slot, value))
                }
                _ => None,
            };
            let Some((slot, value)) = slot else {
                others.push(item.clone());
                continue;
            };
            if !others.is_empty() {
                self.run(&Statement::Set(std::mem::take(&mut others)))?;
            }
            let value = match value {
                SetValue::Expr(expr) => Some(self.code(expr)),
                SetValue::Default => return Err(syntax("DEFAULT")),
            };
            self.step(Step::Set { slot, value });
        }
        if !others.is_empty() {
            self.run(&Statement::Set(others))?;
        }
        Ok(())
    }

    /// The variable that SET names, or the column of NEW. Errors 1362, 1363, 1054.
    fn target(&self, prefix: Option<&Ident>, name: &Ident) -> Result<Option<u32>> {
        let Some(prefix) = prefix else {
            return Ok(names::find_slot(&self.scopes, &self.slots, self.scope, &name.text));
        };
        let Some((rows, _)) = &self.source.rows else { return Ok(None) };
        if eq_name(&prefix.text, "OLD") {
            return Err(sql_err!(TrgCantChangeRow, "OLD", ""));
        }
        if !eq_name(&prefix.text, "NEW") {
            return Ok(None);
        }
        let slot = names::row_slot(rows, "NEW", &name.text)?;
        if rows.event.is_empty() || self.source.kind != Kind::Trigger {
            return Ok(None);
        }
        Ok(Some(slot))
    }

    fn compound(&mut self, compound: &Compound) -> Result<()> {
        match compound {
            Compound::Block { label, statements } => self.block(label.as_ref(), statements),
            Compound::DeclareVariable { .. }
            | Compound::DeclareCondition { .. }
            | Compound::DeclareCursor { .. }
            | Compound::DeclareHandler { .. } => Err(syntax("DECLARE")),
            Compound::If { branches, otherwise } => {
                let branches = branches.iter().map(|(condition, then)| (condition.clone(), &**then)).collect();
                self.branches(branches, otherwise.as_deref(), false)
            }
            Compound::Case { operand: Some(operand), branches, otherwise } if !is_plain(operand) => {
                self.choice(operand, branches, otherwise.as_deref())
            }
            Compound::Case { operand, branches, otherwise } => {
                let test = |when: &Expr| match operand {
                    Some(operand) => Expr::Binary {
                        op: BinaryOp::Eq,
                        left: Box::new(operand.clone()),
                        right: Box::new(when.clone()),
                    },
                    None => when.clone(),
                };
                let branches = branches.iter().map(|(when, then)| (test(when), &**then)).collect();
                self.branches(branches, otherwise.as_deref(), true)
            }
            Compound::Loop { .. } | Compound::While { .. } | Compound::Repeat { .. } => self.loops(compound),
            Compound::Leave(label) => self.leave(label, false),
            Compound::Iterate(label) => self.leave(label, true),
            Compound::Return(value) => {
                if self.source.kind != Kind::Function {
                    return Err(sql_err!(SpBadreturn));
                }
                self.returns = true;
                let value = self.code(value);
                self.step(Step::Return(value));
                Ok(())
            }
            Compound::Open(name) => {
                let cursor = self.cursor(name)?;
                self.step(Step::Open(cursor));
                Ok(())
            }
            Compound::Close(name) => {
                let cursor = self.cursor(name)?;
                self.step(Step::Close(cursor));
                Ok(())
            }
            Compound::Fetch { cursor, into } => {
                let cursor = self.cursor(cursor)?;
                let into = into.iter().map(|name| self.slot(&name.text)).collect::<Result<_>>()?;
                self.step(Step::Fetch { cursor, into });
                Ok(())
            }
        }
    }

    fn loops(&mut self, compound: &Compound) -> Result<()> {
        match compound {
            Compound::Loop { label, statements } => {
                let begin = self.here();
                self.begin_label(label.as_ref(), Some(begin))?;
                self.all(statements)?;
                self.step(Step::Jump(begin));
                self.end_label();
                Ok(())
            }
            Compound::While { label, condition, statements } => {
                let begin = self.here();
                self.begin_label(label.as_ref(), Some(begin))?;
                let condition = self.truth(condition);
                let test = self.step(Step::Test { condition, otherwise: 0 });
                self.all(statements)?;
                self.step(Step::Jump(begin));
                let end = self.here();
                self.patch(test, end);
                self.resume[test as usize] = end;
                self.end_label();
                Ok(())
            }
            Compound::Repeat { label, statements, until } => {
                let begin = self.here();
                self.begin_label(label.as_ref(), Some(begin))?;
                self.all(statements)?;
                let condition = self.truth(until);
                let test = self.step(Step::Test { condition, otherwise: begin });
                self.resume[test as usize] = test + 1;
                self.end_label();
                Ok(())
            }
            _ => Err(syntax("")),
        }
    }

    fn all(&mut self, statements: &[Statement]) -> Result<()> {
        statements.iter().try_for_each(|s| self.statement(s))
    }

    /// IF and CASE. Without ELSE, CASE is error 1339.
    fn branches(
        &mut self,
        branches: Vec<(Expr, &[Statement])>,
        otherwise: Option<&[Statement]>,
        case: bool,
    ) -> Result<()> {
        let (mut tests, mut ends) = (Vec::new(), Vec::new());
        for (condition, then) in branches {
            let condition = self.truth(&condition);
            let test = self.step(Step::Test { condition, otherwise: 0 });
            tests.push(test);
            self.all(then)?;
            ends.push(self.step(Step::Jump(0)));
            let next = self.here();
            self.patch(test, next);
        }
        match otherwise {
            Some(statements) => self.all(statements)?,
            None if case => {
                self.step(Step::NoCase);
            }
            None => {}
        }
        let end = self.here();
        ends.into_iter().for_each(|at| self.patch(at, end));
        tests.into_iter().for_each(|at| self.resume[at as usize] = end);
        Ok(())
    }

    /// CASE with an operand that is evaluated once, whatever it does.
    fn choice(
        &mut self,
        operand: &Expr,
        branches: &[(Expr, Vec<Statement>)],
        otherwise: Option<&[Statement]>,
    ) -> Result<()> {
        let number = |n: usize| Expr::Literal(ast::Literal::new(ast::LiteralValue::Int(n as u64)));
        let whens = branches.iter().enumerate().map(|(i, (when, _))| (when.clone(), number(i + 1))).collect();
        let case = ast::Case { operand: Some(operand.clone()), whens, otherwise: Some(number(0)) };
        let index = self.code(&Expr::Case(Box::new(case)));
        let at = self.step(Step::Choose { index, places: Box::default(), otherwise: 0 });
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        for (_, then) in branches {
            begins.push(self.here());
            self.all(then)?;
            ends.push(self.step(Step::Jump(0)));
        }
        let rest = self.here();
        match otherwise {
            Some(statements) => self.all(statements)?,
            None => {
                self.step(Step::NoCase);
            }
        }
        let end = self.here();
        ends.into_iter().for_each(|jump| self.patch(jump, end));
        self.resume[at as usize] = end;
        self.steps[at as usize] = Step::Choose { index, places: begins.into(), otherwise: rest };
        Ok(())
    }

    fn begin_label(&mut self, name: Option<&Ident>, begin: Option<Place>) -> Result<()> {
        let same = |l: &Label| matches!((&l.name, name), (Some(a), Some(b)) if eq_name(a, &b.text));
        if self.labels.iter().any(same) {
            return Err(sql_err!(SpLabelRedefine, name.map_or("", |n| &n.text)));
        }
        let cursors = self.cursors.len() as u32;
        self.labels.push(Label { name: name.map(|n| n.text.clone()), begin, leaves: Vec::new(), cursors });
        Ok(())
    }

    fn end_label(&mut self) {
        let end = self.here();
        if let Some(label) = self.labels.pop() {
            label.leaves.into_iter().for_each(|at| self.patch(at, end));
        }
    }

    fn leave(&mut self, name: &Ident, iterate: bool) -> Result<()> {
        let fits =
            |l: &Label| l.name.as_ref().is_some_and(|n| eq_name(n, &name.text)) && !(iterate && l.begin.is_none());
        let word = if iterate { "ITERATE" } else { "LEAVE" };
        let at = self.labels.iter().rposition(fits).ok_or_else(|| sql_err!(SpLilabelMismatch, word, name))?;
        let (cursors, begin) = (self.labels[at].cursors, self.labels[at].begin);
        if (cursors as usize) < self.cursors.len() {
            self.step(Step::CloseAll(cursors..self.cursors.len() as u32));
        }
        match begin.filter(|_| iterate) {
            Some(begin) => {
                self.step(Step::Jump(begin));
            }
            None => {
                let jump = self.step(Step::Jump(0));
                self.labels[at].leaves.push(jump);
            }
        }
        Ok(())
    }

    fn cursor(&self, name: &Ident) -> Result<u32> {
        let declared = self.blocks.iter().rev().flat_map(|b| b.cursors.iter().rev());
        let mut found = declared.filter(|c| eq_name(&self.cursors[**c as usize].name, &name.text));
        found.next().copied().ok_or_else(|| sql_err!(SpCursorMismatch, name))
    }

    /// What a condition stands for. Errors 1319, 1407.
    fn condition(&self, value: &ConditionValue) -> Result<Condition> {
        Ok(match value {
            ConditionValue::Code(0) => return Err(sql_err!(WrongValue, "CONDITION", "0")),
            ConditionValue::Code(n) => Condition::Code(u16::try_from(*n).unwrap_or(u16::MAX)),
            ConditionValue::SqlState(state) => Condition::State(sqlstate(state)?),
            ConditionValue::SqlWarning => Condition::Warning,
            ConditionValue::NotFound => Condition::NotFound,
            ConditionValue::SqlException => Condition::Exception,
            ConditionValue::Named(name) => {
                let declared = self.blocks.iter().rev().flat_map(|b| b.conditions.iter().rev());
                let mut found = declared.filter(|(n, _)| eq_name(n, &name.text));
                found.next().map(|(_, c)| *c).ok_or_else(|| sql_err!(SpCondMismatch, name))?
            }
        })
    }

    fn block(&mut self, label: Option<&Ident>, statements: &[Statement]) -> Result<()> {
        self.begin_label(label, None)?;
        let (scope, current, first_cursor) = (self.scope, self.current, self.cursors.len());
        self.blocks.push(Block { first_slot: self.slots.len(), ..Block::default() });
        let mut exits = Vec::new();
        let declares = statements.iter().take_while(|s| is_declaration(s)).count();
        for statement in &statements[..declares] {
            if let Statement::Compound(compound) = statement {
                self.declaration(compound, current, &mut exits)?;
            }
        }
        self.all(&statements[declares..])?;
        self.current = current;
        self.blocks.pop();
        self.end_label();
        // Whatever leaves the block by its end, or by an EXIT handler, comes by here.
        let end = self.here();
        exits.into_iter().for_each(|at| self.patch(at, end));
        if first_cursor < self.cursors.len() {
            self.step(Step::CloseAll(first_cursor as u32..self.cursors.len() as u32));
        }
        self.scope = scope;
        Ok(())
    }

    fn declaration(&mut self, compound: &Compound, outer: u32, exits: &mut Vec<Place>) -> Result<()> {
        let at = self.blocks.len() - 1;
        let late = |b: &Block| !b.cursors.is_empty() || !b.handled.is_empty();
        match compound {
            Compound::DeclareVariable { names, data_type, collation, default } => {
                if late(&self.blocks[at]) {
                    return Err(sql_err!(SpVarcondAfterCurshndlr));
                }
                let first = self.blocks[at].first_slot;
                for (i, name) in names.iter().enumerate() {
                    let taken = self.slots[first..].iter().any(|s| eq_name(&s.name, &name.text));
                    if taken || names[..i].iter().any(|n| eq_name(&n.text, &name.text)) {
                        return Err(sql_err!(SpDupVar, name));
                    }
                }
                // A default sees what was declared before.
                let values: Vec<Option<u32>> = names.iter().map(|_| default.as_ref().map(|e| self.code(e))).collect();
                self.scopes.push(Scope { outer: self.scope, slots: Vec::new() });
                self.scope = self.scopes.len() as u32 - 1;
                for (name, value) in names.iter().zip(values) {
                    let slot = self.declare(&name.text, data_type, collation.as_ref())?;
                    self.step(Step::Set { slot, value });
                }
                Ok(())
            }
            Compound::DeclareCondition { name, value } => {
                if late(&self.blocks[at]) {
                    return Err(sql_err!(SpVarcondAfterCurshndlr));
                }
                if self.blocks[at].conditions.iter().any(|(n, _)| eq_name(n, &name.text)) {
                    return Err(sql_err!(SpDupCond, name));
                }
                let condition = self.condition(value)?;
                self.blocks[at].conditions.push((name.text.clone(), condition));
                Ok(())
            }
            Compound::DeclareCursor { name, query } => {
                if !self.blocks[at].handled.is_empty() {
                    return Err(sql_err!(SpCursorAfterHandler));
                }
                let taken = |c: &u32| eq_name(&self.cursors[*c as usize].name, &name.text);
                if self.blocks[at].cursors.iter().any(taken) {
                    return Err(sql_err!(SpDupCurs, name));
                }
                if query.into.is_some() {
                    return Err(sql_err!(SpBadCursorSelect));
                }
                self.check_limit(query.limit.as_ref())?;
                let statement = self.inner(Statement::Query(query.clone()));
                self.cursors.push(Cursor { name: name.text.clone(), statement });
                self.blocks[at].cursors.push(self.cursors.len() as u32 - 1);
                Ok(())
            }
            Compound::DeclareHandler { action, conditions, statement } => {
                self.handler(*action, conditions, statement, outer, exits)
            }
            _ => Err(syntax("")),
        }
    }

    /// A handler: its statement stands here, and what comes to it from above goes around it.
    fn handler(
        &mut self,
        action: HandlerKind,
        conditions: &[ConditionValue],
        statement: &Statement,
        outer: u32,
        exits: &mut Vec<Place>,
    ) -> Result<()> {
        if action == HandlerKind::Undo {
            return Err(syntax("UNDO"));
        }
        let conditions = conditions.iter().map(|c| self.condition(c)).collect::<Result<Vec<_>>>()?;
        let at = self.blocks.len() - 1;
        for condition in &conditions {
            if self.blocks[at].handled.contains(condition) {
                return Err(sql_err!(SpDupHandler));
            }
            self.blocks[at].handled.push(*condition);
        }
        let around = self.step(Step::Jump(0));
        let place = self.here();
        // Inside, the handlers of this block are out of reach, and so are the labels around it.
        let current = std::mem::replace(&mut self.current, outer);
        let labels = std::mem::take(&mut self.labels);
        self.depth += 1;
        self.statement(statement)?;
        self.depth -= 1;
        self.labels = labels;
        let exit = (action == HandlerKind::Exit).then_some(0);
        let end = self.step(Step::HandlerEnd { exit, depth: self.depth });
        if exit.is_some() {
            exits.push(end);
        }
        let next = self.here();
        self.patch(around, next);
        self.handlers.push(Handler { conditions: conditions.into(), place });
        let mut own = if current == outer { Vec::new() } else { self.reaches[current as usize].own.clone() };
        own.push(self.handlers.len() as u32 - 1);
        self.reaches.push(Reach { outer, own });
        self.current = self.reaches.len() as u32 - 1;
        Ok(())
    }
}

fn is_declaration(statement: &Statement) -> bool {
    let Statement::Compound(compound) = statement else { return false };
    matches!(
        **compound,
        Compound::DeclareVariable { .. }
            | Compound::DeclareCondition { .. }
            | Compound::DeclareCursor { .. }
            | Compound::DeclareHandler { .. }
    )
}

/// Evaluating it twice is as good as once: variables and literals, and arithmetic of these.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) | Expr::Column(_) => true,
        Expr::Unary { expr, .. } => is_plain(expr),
        Expr::Binary { left, right, .. } => is_plain(left) && is_plain(right),
        _ => false,
    }
}

/// An SQLSTATE that a condition may have. Error 1407.
fn sqlstate(text: &str) -> Result<[u8; 5]> {
    let bad = || sql_err!(SpBadSqlstate, text);
    let state: [u8; 5] = text.as_bytes().try_into().map_err(|_| bad())?;
    let plain = state.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    if plain && !state.starts_with(b"00") { Ok(state) } else { Err(bad()) }
}
