//! Stored programs: routines, triggers, events, and the statements of their bodies.

use super::*;

impl Parser<'_> {
    /// CREATE of a view, routine, trigger or event, behind `CREATE [OR REPLACE]`.
    #[inline(never)]
    pub(super) fn create_program(&mut self, _start: u32, or_replace: bool) -> Result<Statement> {
        let (algorithm, definer, invoker) = self.program_prefix()?;
        let existence = Existence { if_exists: false, or_replace };
        match self.tok().kw {
            Kw::VIEW => {
                self.advance();
                self.view(new_view(false, existence, algorithm, definer, invoker))
            }
            Kw::PROCEDURE => self.create_routine(RoutineKind::Procedure, existence, definer),
            Kw::AGGREGATE => {
                self.advance();
                self.expect_kw(Kw::FUNCTION)?;
                let if_not_exists = self.if_not_exists();
                let name = self.ident()?;
                self.expect_kw(Kw::RETURNS)?;
                self.loadable(true, if_not_exists, name)
            }
            Kw::FUNCTION => self.create_routine(RoutineKind::Function, existence, definer),
            Kw::TRIGGER => self.create_trigger(existence, definer),
            Kw::EVENT => self.create_event(existence, definer),
            _ => self.syntax(),
        }
    }

    /// ALTER VIEW, ALTER DEFINER = .. EVENT
    #[inline(never)]
    pub(super) fn alter_program(&mut self, _start: u32) -> Result<Statement> {
        let (algorithm, definer, invoker) = self.program_prefix()?;
        if self.at_kw(Kw::EVENT) {
            return self.alter_event(definer);
        }
        self.expect_kw(Kw::VIEW)?;
        self.view(new_view(true, Existence::default(), algorithm, definer, invoker))
    }

    /// `[ALGORITHM = ..] [DEFINER = ..] [SQL SECURITY ..]`
    #[inline(never)]
    fn program_prefix(&mut self) -> Result<(Option<Ident>, Option<Account>, Option<bool>)> {
        let mut algorithm = None;
        if self.eat_kw(Kw::ALGORITHM) {
            self.expect(Tok::Eq)?;
            if !matches!(self.tok().kw, Kw::UNDEFINED | Kw::MERGE | Kw::TEMPTABLE) {
                return self.syntax();
            }
            algorithm = Some(self.any_word()?);
        }
        let mut definer = None;
        if self.eat_kw(Kw::DEFINER) {
            self.expect(Tok::Eq)?;
            definer = Some(self.account()?);
        }
        let mut invoker = None;
        if self.eat_kw2(Kw::SQL, Kw::SECURITY) {
            invoker = Some(self.security()?);
        }
        Ok((algorithm, definer, invoker))
    }

    /// `DEFINER | INVOKER`: is it INVOKER?
    #[inline(never)]
    fn security(&mut self) -> Result<bool> {
        match self.one_of(&[Kw::DEFINER, Kw::INVOKER]) {
            Some(kw) => Ok(kw == Kw::INVOKER),
            None => self.syntax(),
        }
    }

    #[inline(never)]
    fn loadable(&mut self, aggregate: bool, if_not_exists: bool, name: Ident) -> Result<Statement> {
        let returns = self.any_word()?;
        self.expect_kw(Kw::SONAME)?;
        let library = self.string()?;
        let function = LoadableFunction { aggregate, if_not_exists, name, returns, library };
        Ok(Statement::CreateLoadableFunction(Box::new(function)))
    }

    fn create_routine(
        &mut self,
        kind: RoutineKind,
        mut existence: Existence,
        definer: Option<Account>,
    ) -> Result<Statement> {
        self.advance();
        existence.if_exists = self.if_not_exists();
        let name = self.object_name()?;
        if kind == RoutineKind::Function && self.at_kw(Kw::RETURNS) {
            self.advance();
            return self.loadable(false, existence.if_exists, name.name);
        }
        self.expect(Tok::LParen)?;
        let start = self.here();
        let params = if self.at(Tok::RParen) { Vec::new() } else { self.list(|p| p.routine_param(kind))? };
        let params_text = self.raw_text(start);
        self.expect(Tok::RParen)?;
        let mut returns_text = SourceText::default();
        let returns = if kind == RoutineKind::Function {
            self.expect_kw(Kw::RETURNS)?;
            let start = self.here();
            let data_type = self.data_type()?;
            let returns = Some((data_type, self.opt_collate()?));
            returns_text = self.raw_text(start);
            returns
        } else {
            None
        };
        let characteristics = self.characteristics()?;
        let body = self.body()?;
        let routine = CreateRoutine {
            kind,
            existence,
            definer,
            name,
            params,
            params_text,
            returns_text,
            returns,
            characteristics,
            body,
        };
        Ok(Statement::CreateRoutine(Box::new(routine)))
    }

    #[inline(never)]
    fn routine_param(&mut self, kind: RoutineKind) -> Result<RoutineParam> {
        let mut mode = ParamMode::In;
        if kind == RoutineKind::Procedure {
            match self.one_of(&[Kw::IN, Kw::OUT, Kw::INOUT]) {
                Some(Kw::OUT) => mode = ParamMode::Out,
                Some(Kw::INOUT) => mode = ParamMode::InOut,
                _ => {}
            }
        }
        let name = self.ident()?;
        let data_type = self.data_type()?;
        Ok(RoutineParam { mode, name, data_type, collation: self.opt_collate()? })
    }

    #[inline(never)]
    pub(super) fn characteristics(&mut self) -> Result<Vec<Characteristic>> {
        use Characteristic as C;
        let mut out = Vec::new();
        loop {
            out.push(match self.tok().kw {
                Kw::COMMENT => {
                    self.advance();
                    C::Comment(self.string()?)
                }
                Kw::LANGUAGE => {
                    self.advance();
                    C::Language(self.any_word()?)
                }
                Kw::DETERMINISTIC => {
                    self.advance();
                    C::Deterministic(true)
                }
                Kw::NOT if self.peek(1).kw == Kw::DETERMINISTIC => {
                    self.advance();
                    self.advance();
                    C::Deterministic(false)
                }
                Kw::CONTAINS if self.peek(1).kw == Kw::SQL => {
                    self.advance();
                    self.advance();
                    C::ContainsSql
                }
                Kw::NO if self.peek(1).kw == Kw::SQL => {
                    self.advance();
                    self.advance();
                    C::NoSql
                }
                Kw::READS | Kw::MODIFIES => {
                    let reads = self.advance().kw == Kw::READS;
                    self.expect_kw(Kw::SQL)?;
                    self.expect_kw(Kw::DATA)?;
                    if reads { C::ReadsSqlData } else { C::ModifiesSqlData }
                }
                Kw::SQL => {
                    self.advance();
                    self.expect_kw(Kw::SECURITY)?;
                    if self.security()? { C::SqlSecurityInvoker } else { C::SqlSecurityDefiner }
                }
                _ => return Ok(out),
            });
        }
    }

    #[inline(never)]
    fn create_trigger(&mut self, mut existence: Existence, definer: Option<Account>) -> Result<Statement> {
        self.advance();
        existence.if_exists = self.if_not_exists();
        let name = self.object_name()?;
        let after = match self.one_of(&[Kw::BEFORE, Kw::AFTER]) {
            Some(kw) => kw == Kw::AFTER,
            None => return self.syntax(),
        };
        let event = match self.one_of(&[Kw::INSERT, Kw::UPDATE, Kw::DELETE]) {
            Some(Kw::INSERT) => TriggerEvent::Insert,
            Some(Kw::UPDATE) => TriggerEvent::Update,
            Some(_) => TriggerEvent::Delete,
            None => return self.syntax(),
        };
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        self.expect_kw(Kw::FOR)?;
        self.expect_kw(Kw::EACH)?;
        self.expect_kw(Kw::ROW)?;
        let order = match self.one_of(&[Kw::FOLLOWS, Kw::PRECEDES]) {
            Some(kw) => Some((kw == Kw::FOLLOWS, self.ident_or_string()?)),
            None => None,
        };
        self.rows = Some(Vec::new());
        let body = self.body()?;
        let rows = self.rows.take().unwrap_or_default();
        let trigger = CreateTrigger { existence, definer, name, after, event, table, order, body, rows };
        Ok(Statement::CreateTrigger(Box::new(trigger)))
    }

    #[inline(never)]
    fn create_event(&mut self, mut existence: Existence, definer: Option<Account>) -> Result<Statement> {
        self.advance();
        existence.if_exists = self.if_not_exists();
        let name = self.object_name()?;
        self.expect_kw(Kw::ON)?;
        self.expect_kw(Kw::SCHEDULE)?;
        let schedule = self.schedule()?;
        let preserve = self.preserve()?;
        let status = self.event_status()?;
        let comment = if self.eat_kw(Kw::COMMENT) { Some(self.string()?) } else { None };
        self.expect_kw(Kw::DO)?;
        let body = self.body()?;
        let event = CreateEvent { existence, definer, name, schedule, preserve, status, comment, body };
        Ok(Statement::CreateEvent(Box::new(event)))
    }

    #[inline(never)]
    pub(super) fn alter_event(&mut self, definer: Option<Account>) -> Result<Statement> {
        self.expect_kw(Kw::EVENT)?;
        let name = self.object_name()?;
        let mut schedule = None;
        if self.at_kw(Kw::ON) && self.peek(1).kw == Kw::SCHEDULE {
            self.advance();
            self.advance();
            schedule = Some(self.schedule()?);
        }
        let preserve = self.preserve()?;
        let rename = if self.eat_kw(Kw::RENAME) {
            self.expect_kw(Kw::TO)?;
            Some(self.object_name()?)
        } else {
            None
        };
        let status = self.event_status()?;
        let comment = if self.eat_kw(Kw::COMMENT) { Some(self.string()?) } else { None };
        let body = if self.eat_kw(Kw::DO) { Some(self.body()?) } else { None };
        let nothing = schedule.is_none() && preserve.is_none() && rename.is_none() && status.is_none();
        if nothing && comment.is_none() && body.is_none() {
            return self.syntax();
        }
        let event = AlterEvent { definer, name, schedule, preserve, rename, status, comment, body };
        Ok(Statement::AlterEvent(Box::new(event)))
    }

    #[inline(never)]
    fn schedule(&mut self) -> Result<Schedule> {
        if self.eat_kw(Kw::AT) {
            return self.expr_without_subquery().map(Schedule::At);
        }
        self.expect_kw(Kw::EVERY)?;
        let amount = self.expr_without_subquery()?;
        let unit = self.interval_unit()?;
        let starts = if self.eat_kw(Kw::STARTS) { Some(self.expr_without_subquery()?) } else { None };
        let ends = if self.eat_kw(Kw::ENDS) { Some(self.expr_without_subquery()?) } else { None };
        Ok(Schedule::Every { amount, unit, starts, ends })
    }

    #[inline(never)]
    fn preserve(&mut self) -> Result<Option<bool>> {
        if !self.eat_kw2(Kw::ON, Kw::COMPLETION) {
            return Ok(None);
        }
        let not = self.eat_kw(Kw::NOT);
        self.expect_kw(Kw::PRESERVE)?;
        Ok(Some(!not))
    }

    #[inline(never)]
    fn event_status(&mut self) -> Result<Option<EventStatus>> {
        if self.eat_kw(Kw::ENABLE) {
            return Ok(Some(EventStatus::Enable));
        }
        if !self.eat_kw(Kw::DISABLE) {
            return Ok(None);
        }
        if self.eat_kw(Kw::ON) {
            if self.one_of(&[Kw::REPLICA, Kw::SLAVE]).is_none() {
                return self.syntax();
            }
            return Ok(Some(EventStatus::DisableOnReplica));
        }
        Ok(Some(EventStatus::Disable))
    }

    /// Body of a stored program.
    #[inline(never)]
    fn body(&mut self) -> Result<Body> {
        let start = self.here();
        let statement = Box::new(self.in_program(|p| p.nested(Self::statement))?);
        Ok(Body { text: self.raw_text(start), statement })
    }

    /// Runs `f` with the statements of stored programs allowed.
    pub(super) fn in_program<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let saved = std::mem::replace(&mut self.in_program, true);
        let result = f(self);
        self.in_program = saved;
        result
    }

    /// A statement that exists in stored programs only, if one starts here.
    #[inline(never)]
    pub(super) fn opt_compound(&mut self) -> Result<Option<Statement>> {
        let mut label = None;
        if self.at_ident() && self.peek(1).kind == Tok::Colon {
            label = Some(self.ident()?);
            self.advance();
            if !matches!(self.tok().kw, Kw::BEGIN | Kw::LOOP | Kw::WHILE | Kw::REPEAT) {
                return self.syntax();
            }
        }
        let compound = match self.tok().kw {
            Kw::BEGIN => {
                self.advance();
                return self.block_body(label).map(Some);
            }
            Kw::LOOP => {
                self.advance();
                let statements = self.statements(&[Kw::END])?;
                self.end_loop(Kw::LOOP, &label)?;
                Compound::Loop { label, statements }
            }
            Kw::WHILE => {
                self.advance();
                let condition = self.expr()?;
                self.expect_kw(Kw::DO)?;
                let statements = self.statements(&[Kw::END])?;
                self.end_loop(Kw::WHILE, &label)?;
                Compound::While { label, condition, statements }
            }
            Kw::REPEAT => {
                self.advance();
                let statements = self.statements(&[Kw::UNTIL])?;
                self.expect_kw(Kw::UNTIL)?;
                let until = self.expr()?;
                self.end_loop(Kw::REPEAT, &label)?;
                Compound::Repeat { label, statements, until }
            }
            Kw::IF => self.compound_if()?,
            Kw::CASE => self.compound_case()?,
            Kw::DECLARE => self.declare()?,
            Kw::LEAVE => {
                self.advance();
                Compound::Leave(self.ident()?)
            }
            Kw::ITERATE => {
                self.advance();
                Compound::Iterate(self.ident()?)
            }
            Kw::RETURN => {
                self.advance();
                Compound::Return(self.expr()?)
            }
            Kw::OPEN => {
                self.advance();
                Compound::Open(self.ident()?)
            }
            Kw::CLOSE => {
                self.advance();
                Compound::Close(self.ident()?)
            }
            Kw::FETCH => {
                self.advance();
                if self.eat_kw(Kw::NEXT) {
                    self.expect_kw(Kw::FROM)?;
                } else {
                    self.eat_kw(Kw::FROM);
                }
                let cursor = self.ident()?;
                self.expect_kw(Kw::INTO)?;
                Compound::Fetch { cursor, into: self.list(Self::ident)? }
            }
            _ => return Ok(None),
        };
        Ok(Some(Statement::Compound(Box::new(compound))))
    }

    /// Behind BEGIN.
    #[inline(never)]
    pub(super) fn block_body(&mut self, label: Option<Ident>) -> Result<Statement> {
        let statements = if self.at_kw(Kw::END) { Vec::new() } else { self.statements(&[Kw::END])? };
        self.expect_kw(Kw::END)?;
        self.end_label(&label)?;
        Ok(Statement::Compound(Box::new(Compound::Block { label, statements })))
    }

    #[inline(never)]
    fn end_loop(&mut self, kw: Kw, label: &Option<Ident>) -> Result<()> {
        self.expect_kw(Kw::END)?;
        self.expect_kw(kw)?;
        self.end_label(label)
    }

    /// A label behind END must be the one in front.
    #[inline(never)]
    fn end_label(&mut self, label: &Option<Ident>) -> Result<()> {
        if !self.at_ident() {
            return Ok(());
        }
        let at = self.here();
        let end = self.ident()?;
        match label {
            Some(label) if label.text.to_lowercase() == end.text.to_lowercase() => Ok(()),
            _ => self.error_at(ErrorKind::Syntax, at),
        }
    }

    /// `statement; statement; ...` up to one of `stop`.
    #[inline(never)]
    fn statements(&mut self, stop: &[Kw]) -> Result<Vec<Statement>> {
        let mut out = Vec::new();
        loop {
            out.push(self.nested(Self::statement)?);
            self.expect(Tok::Semi)?;
            if stop.contains(&self.tok().kw) {
                return Ok(out);
            }
        }
    }

    #[inline(never)]
    fn compound_if(&mut self) -> Result<Compound> {
        self.advance();
        let stop = [Kw::ELSEIF, Kw::ELSE, Kw::END];
        let mut branches = Vec::new();
        let mut otherwise = None;
        loop {
            let condition = self.expr()?;
            self.expect_kw(Kw::THEN)?;
            branches.push((condition, self.statements(&stop)?));
            if self.eat_kw(Kw::ELSEIF) {
                continue;
            }
            if self.eat_kw(Kw::ELSE) {
                otherwise = Some(self.statements(&[Kw::END])?);
            }
            self.expect_kw(Kw::END)?;
            self.expect_kw(Kw::IF)?;
            return Ok(Compound::If { branches, otherwise });
        }
    }

    #[inline(never)]
    fn compound_case(&mut self) -> Result<Compound> {
        self.advance();
        let operand = if self.at_kw(Kw::WHEN) { None } else { Some(self.expr()?) };
        let stop = [Kw::WHEN, Kw::ELSE, Kw::END];
        let mut branches = Vec::new();
        let mut otherwise = None;
        while self.eat_kw(Kw::WHEN) {
            let condition = self.expr()?;
            self.expect_kw(Kw::THEN)?;
            branches.push((condition, self.statements(&stop)?));
        }
        if branches.is_empty() {
            return self.syntax();
        }
        if self.eat_kw(Kw::ELSE) {
            otherwise = Some(self.statements(&[Kw::END])?);
        }
        self.expect_kw(Kw::END)?;
        self.expect_kw(Kw::CASE)?;
        Ok(Compound::Case { operand, branches, otherwise })
    }

    #[inline(never)]
    fn declare(&mut self) -> Result<Compound> {
        self.advance();
        let kind = match self.tok().kw {
            Kw::CONTINUE => Some(HandlerKind::Continue),
            Kw::EXIT => Some(HandlerKind::Exit),
            Kw::UNDO => Some(HandlerKind::Undo),
            _ => None,
        };
        if let Some(action) = kind {
            self.advance();
            self.expect_kw(Kw::HANDLER)?;
            self.expect_kw(Kw::FOR)?;
            let conditions = self.list(Self::handler_condition)?;
            let statement = self.nested(Self::statement)?;
            return Ok(Compound::DeclareHandler { action, conditions, statement });
        }
        let first = self.ident()?;
        if self.eat_kw(Kw::CONDITION) {
            self.expect_kw(Kw::FOR)?;
            let value = if self.at_kw(Kw::SQLSTATE) { self.sqlstate()? } else { ConditionValue::Code(self.number()?) };
            return Ok(Compound::DeclareCondition { name: first, value });
        }
        if self.eat_kw(Kw::CURSOR) {
            self.expect_kw(Kw::FOR)?;
            return Ok(Compound::DeclareCursor { name: first, query: self.query()? });
        }
        let mut names = vec![first];
        while self.eat(Tok::Comma) {
            names.push(self.ident()?);
        }
        let data_type = self.data_type()?;
        let collation = self.opt_collate()?;
        let default = if self.eat_kw(Kw::DEFAULT) { Some(self.expr()?) } else { None };
        Ok(Compound::DeclareVariable { names, data_type, collation, default })
    }

    #[inline(never)]
    fn handler_condition(&mut self) -> Result<ConditionValue> {
        match self.tok().kw {
            Kw::SQLSTATE => self.sqlstate(),
            Kw::SQLWARNING => {
                self.advance();
                Ok(ConditionValue::SqlWarning)
            }
            Kw::SQLEXCEPTION => {
                self.advance();
                Ok(ConditionValue::SqlException)
            }
            Kw::NOT => {
                self.advance();
                self.expect_kw(Kw::FOUND)?;
                Ok(ConditionValue::NotFound)
            }
            _ if self.at(Tok::Int) => self.number().map(ConditionValue::Code),
            _ => self.ident().map(ConditionValue::Named),
        }
    }
}

fn new_view(
    alter: bool,
    existence: Existence,
    algorithm: Option<Ident>,
    definer: Option<Account>,
    invoker: Option<bool>,
) -> CreateView {
    CreateView {
        alter,
        existence,
        algorithm,
        definer,
        invoker,
        name: ObjectName { schema: None, name: Ident::default() },
        columns: Vec::new(),
        query: Query {
            with: None,
            body: QueryBody::Values(Vec::new()),
            order_by: Vec::new(),
            limit: None,
            locking: Vec::new(),
            into: None,
            span: Span::default(),
        },
        text: SourceText::default(),
        check_option: None,
    }
}
