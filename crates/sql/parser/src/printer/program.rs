//! Stored programs and the statements of their bodies.

use super::*;

pub(super) fn definer(definer: &Option<Account>, sql: &mut Sql) {
    if let Some(definer) = definer {
        sql.s("definer=").p(definer).s(" ");
    }
}

/// `create [or replace] [definer]`
fn create(existence: &Existence, account: &Option<Account>, sql: &mut Sql) {
    sql.s("create ").flag(existence.or_replace, "or replace ");
    definer(account, sql);
}

impl Print for RoutineKind {
    fn print(&self, sql: &mut Sql) {
        sql.s(match self {
            RoutineKind::Procedure => "procedure",
            RoutineKind::Function => "function",
        });
    }
}

impl Print for ProgramKind {
    fn print(&self, sql: &mut Sql) {
        sql.s(match self {
            ProgramKind::Procedure => "procedure",
            ProgramKind::Function => "function",
            ProgramKind::Trigger => "trigger",
            ProgramKind::Event => "event",
        });
    }
}

impl Print for CreateRoutine {
    fn print(&self, sql: &mut Sql) {
        create(&self.existence, &self.definer, sql);
        sql.p(&self.kind).s(" ").flag(self.existence.if_exists, "if not exists ").p(&self.name).parens(&self.params);
        if let Some((data_type, collation)) = &self.returns {
            sql.s(" returns ").p(data_type).opt(" collate ", collation);
        }
        sql.list(&self.characteristics, "").s(" ").p(&self.body.statement);
    }
}

impl Print for RoutineParam {
    fn print(&self, sql: &mut Sql) {
        sql.s(match self.mode {
            ParamMode::In => "",
            ParamMode::Out => "out ",
            ParamMode::InOut => "inout ",
        });
        sql.p(&self.name).s(" ").p(&self.data_type).opt(" collate ", &self.collation);
    }
}

impl Print for Characteristic {
    fn print(&self, sql: &mut Sql) {
        use Characteristic as C;
        match self {
            C::Comment(text) => sql.s(" comment ").string(text.as_bytes()),
            C::Language(name) => sql.s(" language ").s(name),
            C::Deterministic(true) => sql.s(" deterministic"),
            C::Deterministic(false) => sql.s(" not deterministic"),
            C::ContainsSql => sql.s(" contains sql"),
            C::NoSql => sql.s(" no sql"),
            C::ReadsSqlData => sql.s(" reads sql data"),
            C::ModifiesSqlData => sql.s(" modifies sql data"),
            C::SqlSecurityDefiner => sql.s(" sql security definer"),
            C::SqlSecurityInvoker => sql.s(" sql security invoker"),
        };
    }
}

impl Print for LoadableFunction {
    fn print(&self, sql: &mut Sql) {
        sql.s("create ").flag(self.aggregate, "aggregate ").s("function ");
        sql.flag(self.if_not_exists, "if not exists ").p(&self.name).s(" returns ").s(&self.returns);
        sql.s(" soname ").string(self.library.as_bytes());
    }
}

impl Print for CreateTrigger {
    fn print(&self, sql: &mut Sql) {
        create(&self.existence, &self.definer, sql);
        sql.s("trigger ").flag(self.existence.if_exists, "if not exists ").p(&self.name);
        sql.s(if self.after { " after " } else { " before " }).s(match self.event {
            TriggerEvent::Insert => "insert on ",
            TriggerEvent::Update => "update on ",
            TriggerEvent::Delete => "delete on ",
        });
        sql.p(&self.table).s(" for each row ");
        if let Some((follows, other)) = &self.order {
            sql.s(if *follows { "follows " } else { "precedes " }).p(other).s(" ");
        }
        sql.p(&self.body.statement);
    }
}

impl Print for CreateEvent {
    fn print(&self, sql: &mut Sql) {
        create(&self.existence, &self.definer, sql);
        sql.s("event ").flag(self.existence.if_exists, "if not exists ").p(&self.name);
        sql.s(" on schedule ").p(&self.schedule);
        preserve(self.preserve, sql);
        sql.opt("", &self.status).opt_string(" comment ", &self.comment).s(" do ").p(&self.body.statement);
    }
}

impl Print for AlterEvent {
    fn print(&self, sql: &mut Sql) {
        sql.s("alter ");
        definer(&self.definer, sql);
        sql.s("event ").p(&self.name).opt(" on schedule ", &self.schedule);
        preserve(self.preserve, sql);
        sql.opt(" rename to ", &self.rename).opt("", &self.status).opt_string(" comment ", &self.comment);
        if let Some(body) = &self.body {
            sql.s(" do ").p(&body.statement);
        }
    }
}

fn preserve(preserve: Option<bool>, sql: &mut Sql) {
    sql.s(match preserve {
        None => "",
        Some(true) => " on completion preserve",
        Some(false) => " on completion not preserve",
    });
}

impl Print for EventStatus {
    fn print(&self, sql: &mut Sql) {
        sql.s(match self {
            EventStatus::Enable => " enable",
            EventStatus::Disable => " disable",
            EventStatus::DisableOnReplica => " disable on replica",
        });
    }
}

impl Print for Schedule {
    fn print(&self, sql: &mut Sql) {
        match self {
            Schedule::At(expr) => sql.s("at ").p(expr),
            Schedule::Every { amount, unit, starts, ends } => {
                sql.s("every ").p(amount).s(" ").p(unit).opt(" starts ", starts).opt(" ends ", ends)
            }
        };
    }
}

/// Statements, each with its `;`.
fn block(statements: &[Statement], sql: &mut Sql) {
    for statement in statements {
        sql.p(statement).s("; ");
    }
}

impl Print for Compound {
    fn print(&self, sql: &mut Sql) {
        use Compound as C;
        let start = |label: &Option<Ident>, word: &str, sql: &mut Sql| {
            if let Some(label) = label {
                sql.p(label).s(": ");
            }
            sql.s(word);
        };
        match self {
            C::Block { label, statements } => {
                start(label, "begin ", sql);
                block(statements, sql);
                sql.s("end");
            }
            C::DeclareVariable { names, data_type, collation, default } => {
                sql.s("declare ").list(names, ",").s(" ").p(data_type).opt(" collate ", collation);
                sql.opt(" default ", default);
            }
            C::DeclareCondition { name, value } => {
                sql.s("declare ").p(name).s(" condition for ").p(value);
            }
            C::DeclareCursor { name, query } => {
                sql.s("declare ").p(name).s(" cursor for ").p(query);
            }
            C::DeclareHandler { action, conditions, statement } => {
                sql.s(match action {
                    HandlerKind::Continue => "declare continue handler for ",
                    HandlerKind::Exit => "declare exit handler for ",
                    HandlerKind::Undo => "declare undo handler for ",
                });
                sql.list(conditions, ",").s(" ").p(statement);
            }
            C::If { branches, otherwise } => {
                for (i, (condition, statements)) in branches.iter().enumerate() {
                    sql.s(if i == 0 { "if " } else { "elseif " }).p(condition).s(" then ");
                    block(statements, sql);
                }
                if let Some(statements) = otherwise {
                    sql.s("else ");
                    block(statements, sql);
                }
                sql.s("end if");
            }
            C::Case { operand, branches, otherwise } => {
                sql.s("case").opt(" ", operand);
                for (condition, statements) in branches {
                    sql.s(" when ").p(condition).s(" then ");
                    block(statements, sql);
                }
                if let Some(statements) = otherwise {
                    sql.s("else ");
                    block(statements, sql);
                }
                sql.s("end case");
            }
            C::Loop { label, statements } => {
                start(label, "loop ", sql);
                block(statements, sql);
                sql.s("end loop");
            }
            C::While { label, condition, statements } => {
                start(label, "while ", sql);
                sql.p(condition).s(" do ");
                block(statements, sql);
                sql.s("end while");
            }
            C::Repeat { label, statements, until } => {
                start(label, "repeat ", sql);
                block(statements, sql);
                sql.s("until ").p(until).s(" end repeat");
            }
            C::Leave(label) => sql.s("leave ").p(label).end(),
            C::Iterate(label) => sql.s("iterate ").p(label).end(),
            C::Return(expr) => sql.s("return ").p(expr).end(),
            C::Open(cursor) => sql.s("open ").p(cursor).end(),
            C::Fetch { cursor, into } => sql.s("fetch ").p(cursor).s(" into ").list(into, ",").end(),
            C::Close(cursor) => sql.s("close ").p(cursor).end(),
        }
    }
}

impl Print for ConditionValue {
    fn print(&self, sql: &mut Sql) {
        match self {
            ConditionValue::Code(n) => sql.n(*n),
            ConditionValue::SqlState(text) => sql.s("sqlstate ").string(text.as_bytes()),
            ConditionValue::Named(name) => sql.p(name),
            ConditionValue::SqlWarning => sql.s("sqlwarning"),
            ConditionValue::NotFound => sql.s("not found"),
            ConditionValue::SqlException => sql.s("sqlexception"),
        };
    }
}

impl Print for Signal {
    fn print(&self, sql: &mut Sql) {
        sql.s(if self.resignal { "resignal" } else { "signal" }).opt(" ", &self.condition);
        for (i, (name, value)) in self.items.iter().enumerate() {
            sql.s(if i == 0 { " set " } else { "," }).s(name).s(" = ").p(value);
        }
    }
}

impl Print for GetDiagnostics {
    fn print(&self, sql: &mut Sql) {
        sql.s("get ").flag(self.stacked, "stacked ").s("diagnostics ");
        if let Some(condition) = &self.condition {
            sql.s("condition ").p(condition).s(" ");
        }
        for (i, (target, item)) in self.items.iter().enumerate() {
            sql.flag(i > 0, ",").p(target).s(" = ").s(item);
        }
    }
}
