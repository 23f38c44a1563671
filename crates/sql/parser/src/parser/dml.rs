//! INSERT, REPLACE, UPDATE, DELETE, LOAD, HANDLER, DO, CALL.

use super::*;
use crate::error::ErrorKind;

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn insert(&mut self) -> Result<Statement> {
        let replace = self.advance().kw == Kw::REPLACE;
        let hints = self.opt_hints();
        let priority = match self.one_of(&[Kw::LOW_PRIORITY, Kw::DELAYED, Kw::HIGH_PRIORITY]) {
            Some(Kw::LOW_PRIORITY) => Some(Priority::Low),
            Some(Kw::DELAYED) => {
                self.notice(Notice::Delayed(if replace { "REPLACE" } else { "INSERT" }));
                Some(Priority::Delayed)
            }
            Some(_) => Some(Priority::High),
            None => None,
        };
        let ignore = !replace && self.eat_kw(Kw::IGNORE);
        self.eat_kw(Kw::INTO);
        let table = self.object_name()?;
        let partitions = self.opt_partitions()?;
        let mut insert = Insert {
            replace,
            hints,
            priority,
            ignore,
            table,
            partitions,
            columns: None,
            source: InsertSource::Values(Vec::new()),
            row_alias: None,
            on_duplicate: Vec::new(),
            returning: Vec::new(),
        };
        self.insert_source(&mut insert)?;
        if matches!(insert.source, InsertSource::Values(_)) && self.eat_kw(Kw::AS) {
            let alias = self.ident()?;
            insert.row_alias = Some((alias, self.opt_ident_list()?));
        }
        if !replace && self.eat_kw(Kw::ON) {
            if !(self.eat_kw(Kw::DUPLICATE) && self.eat_kw(Kw::KEY)) {
                return self.syntax();
            }
            self.expect_kw(Kw::UPDATE)?;
            let before = self.notices.len();
            insert.on_duplicate = self.list(Self::assignment)?;
            for notice in &mut self.notices[before..] {
                if *notice == Notice::ValuesElsewhere {
                    *notice = Notice::ValuesFunction;
                }
            }
        }
        insert.returning = self.opt_returning()?;
        Ok(Statement::Insert(Box::new(insert)))
    }

    #[inline(never)]
    fn insert_source(&mut self, insert: &mut Insert) -> Result<()> {
        if self.eat_kw(Kw::SET) {
            let (mut columns, mut row) = (Vec::new(), Vec::new());
            for Assignment { column, value } in self.list(Self::assignment)? {
                columns.push(column);
                row.push(value);
            }
            insert.columns = Some(columns);
            insert.source = InsertSource::Values(vec![row]);
            return Ok(());
        }
        if self.at(Tok::LParen) && !self.query_follows(1) && self.peek(1).kind != Tok::LParen {
            self.advance();
            let columns = if self.at(Tok::RParen) { Vec::new() } else { self.list(Self::column_ref)? };
            self.expect(Tok::RParen)?;
            insert.columns = Some(columns);
        }
        insert.source = match self.tok().kw {
            Kw::VALUES | Kw::VALUE if self.peek(1).kw != Kw::ROW => {
                self.advance();
                InsertSource::Values(self.list(Self::row_values)?)
            }
            _ => {
                let query = self.query()?;
                if query.into.is_some() {
                    return self.error_at(ErrorKind::Syntax, self.into_at);
                }
                InsertSource::Query(query)
            }
        };
        // `()` is no list, but where no values follow either.
        let bare = matches!(&insert.source, InsertSource::Values(rows) if rows.iter().all(Vec::is_empty));
        insert.columns = insert.columns.take().filter(|list| bare || !list.is_empty());
        Ok(())
    }

    #[inline(never)]
    fn opt_returning(&mut self) -> Result<Vec<SelectItem>> {
        let mut items = Vec::new();
        if self.eat_kw(Kw::RETURNING) {
            self.select_items(&mut items)?;
        }
        Ok(items)
    }

    /// `column = expr`
    #[inline(never)]
    pub(super) fn assignment(&mut self) -> Result<Assignment> {
        let column = self.column_ref()?;
        if !self.eat(Tok::Eq) {
            self.expect(Tok::Assign)?;
        }
        Ok(Assignment { column, value: self.expr()? })
    }

    #[inline(never)]
    pub(super) fn update(&mut self, with: Option<With>) -> Result<Statement> {
        self.expect_kw(Kw::UPDATE)?;
        let hints = self.opt_hints();
        let low_priority = self.eat_kw(Kw::LOW_PRIORITY);
        let ignore = self.eat_kw(Kw::IGNORE);
        let tables = self.table_list()?;
        self.expect_kw(Kw::SET)?;
        let assignments = self.list(Self::assignment)?;
        let filter = self.opt_where()?;
        let order_by = self.opt_order_by()?;
        let limit = self.opt_row_limit()?;
        Ok(Statement::Update(Box::new(Update {
            with,
            hints,
            low_priority,
            ignore,
            tables,
            assignments,
            filter,
            order_by,
            limit,
        })))
    }

    #[inline(never)]
    pub(super) fn delete(&mut self, with: Option<With>) -> Result<Statement> {
        self.expect_kw(Kw::DELETE)?;
        let mut delete = Delete {
            with,
            hints: self.opt_hints(),
            low_priority: false,
            quick: false,
            ignore: false,
            targets: Vec::new(),
            using: false,
            tables: Vec::new(),
            filter: None,
            order_by: Vec::new(),
            limit: None,
            returning: Vec::new(),
        };
        loop {
            match self.one_of(&[Kw::LOW_PRIORITY, Kw::QUICK, Kw::IGNORE]) {
                Some(Kw::LOW_PRIORITY) => delete.low_priority = true,
                Some(Kw::QUICK) => delete.quick = true,
                Some(_) => delete.ignore = true,
                None => break,
            }
        }
        if !self.eat_kw(Kw::FROM) {
            delete.targets = self.list(Self::delete_target)?;
            self.expect_kw(Kw::FROM)?;
            delete.tables = self.table_list()?;
            delete.filter = self.opt_where()?;
            return Ok(Statement::Delete(Box::new(delete)));
        }
        let first = self.delete_target()?;
        if self.at(Tok::Comma) || self.at_kw(Kw::USING) {
            delete.targets.push(first);
            while self.eat(Tok::Comma) {
                delete.targets.push(self.delete_target()?);
            }
            self.expect_kw(Kw::USING)?;
            delete.using = true;
            delete.tables = self.table_list()?;
            delete.filter = self.opt_where()?;
            return Ok(Statement::Delete(Box::new(delete)));
        }
        let alias = self.table_alias()?;
        let partitions = self.opt_partitions()?;
        let table = TableFactor { name: first, partitions, alias, index_hints: Vec::new() };
        delete.tables = vec![TableRef::Table(Box::new(table))];
        delete.filter = self.opt_where()?;
        delete.order_by = self.opt_order_by()?;
        delete.limit = self.opt_row_limit()?;
        delete.returning = self.opt_returning()?;
        Ok(Statement::Delete(Box::new(delete)))
    }

    /// `[schema.]table[.*]`
    #[inline(never)]
    fn delete_target(&mut self) -> Result<ObjectName> {
        let first = self.ident()?;
        let mut name = ObjectName { schema: None, name: first };
        while self.eat(Tok::Dot) {
            if self.eat(Tok::Star) {
                break;
            }
            if name.schema.is_some() {
                return self.syntax();
            }
            let second = self.ident()?;
            name = ObjectName { schema: Some(name.name), name: second };
        }
        Ok(name)
    }

    #[inline(never)]
    pub(super) fn load(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::LOAD)?;
        if self.eat_kw(Kw::INDEX) {
            return self.load_index();
        }
        let xml = match self.one_of(&[Kw::DATA, Kw::XML]) {
            Some(kw) => kw == Kw::XML,
            None => return self.syntax(),
        };
        let concurrency = match self.one_of(&[Kw::LOW_PRIORITY, Kw::CONCURRENT]) {
            Some(Kw::LOW_PRIORITY) => Some(LoadConcurrency::LowPriority),
            Some(_) => Some(LoadConcurrency::Concurrent),
            None => None,
        };
        let local = self.eat_kw(Kw::LOCAL);
        self.expect_kw(Kw::INFILE)?;
        let file = self.string()?;
        let duplicates = match self.one_of(&[Kw::REPLACE, Kw::IGNORE]) {
            Some(Kw::REPLACE) => LoadDuplicates::Replace,
            Some(_) => LoadDuplicates::Ignore,
            None => LoadDuplicates::Error,
        };
        self.expect_kw(Kw::INTO)?;
        self.expect_kw(Kw::TABLE)?;
        let table = self.object_name()?;
        let partitions = self.opt_partitions()?;
        let charset = if self.eat_charset() { Some(self.charset_name()?) } else { None };
        let rows_identified_by = if xml && self.eat_kw(Kw::ROWS) {
            self.expect_kw(Kw::IDENTIFIED)?;
            self.expect_kw(Kw::BY)?;
            Some(self.string_bytes()?)
        } else {
            None
        };
        let format = self.field_format()?;
        let mut ignore_lines = 0;
        if self.eat_kw(Kw::IGNORE) {
            ignore_lines = self.number()?;
            if self.one_of(&[Kw::LINES, Kw::ROWS]).is_none() {
                return self.syntax();
            }
        }
        let mut columns = Vec::new();
        if self.eat(Tok::LParen) {
            if !self.at(Tok::RParen) {
                columns = self.list(|p| {
                    if p.at(Tok::UserVar) {
                        return p.user_var().map(|v| LoadTarget::Variable(IntoTarget::User(v)));
                    }
                    p.column_ref().map(LoadTarget::Column)
                })?;
            }
            self.expect(Tok::RParen)?;
        }
        let assignments = if self.eat_kw(Kw::SET) { self.list(Self::assignment)? } else { Vec::new() };
        Ok(Statement::Load(Box::new(Load {
            xml,
            concurrency,
            local,
            file,
            duplicates,
            table,
            partitions,
            charset,
            rows_identified_by,
            format,
            ignore_lines,
            columns,
            assignments,
        })))
    }

    #[inline(never)]
    pub(super) fn handler(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::HANDLER)?;
        let table = self.object_name()?;
        let action = match self.one_of(&[Kw::OPEN, Kw::CLOSE, Kw::READ]) {
            Some(Kw::OPEN) => HandlerAction::Open(self.table_alias()?),
            Some(Kw::CLOSE) => HandlerAction::Close,
            Some(_) => self.handler_read()?,
            None => return self.syntax(),
        };
        Ok(Statement::Handler(Box::new(Handler { table, action })))
    }

    #[inline(never)]
    fn handler_read(&mut self) -> Result<HandlerAction> {
        let words = [Kw::FIRST, Kw::NEXT, Kw::PREV, Kw::LAST];
        let bare = words.contains(&self.tok().kw)
            && !matches!(self.peek(1).kind, Tok::Eq | Tok::Lt | Tok::Le | Tok::Gt | Tok::Ge)
            && !words.contains(&self.peek(1).kw);
        let index = if bare { None } else { Some(self.index_name()?) };
        let position = match self.one_of(&words) {
            Some(Kw::FIRST) => HandlerPosition::First,
            Some(Kw::NEXT) => HandlerPosition::Next,
            Some(Kw::PREV) => HandlerPosition::Prev,
            Some(_) => HandlerPosition::Last,
            None => {
                let op = match self.advance().kind {
                    Tok::Eq => BinaryOp::Eq,
                    Tok::Lt => BinaryOp::Lt,
                    Tok::Le => BinaryOp::Le,
                    Tok::Gt => BinaryOp::Gt,
                    Tok::Ge => BinaryOp::Ge,
                    _ => return self.syntax(),
                };
                HandlerPosition::Key(op, self.row_values()?)
            }
        };
        let filter = self.opt_where()?;
        let limit = self.opt_limit()?;
        Ok(HandlerAction::Read { index, position, filter, limit })
    }

    #[inline(never)]
    pub(super) fn do_statement(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::DO)?;
        // As in a select list, aliases are allowed and mean nothing.
        self.list(|p| {
            let expr = p.expr()?;
            if p.eat_kw(Kw::AS) || p.at_ident() || p.at(Tok::Str) {
                p.ident_or_string()?;
            }
            Ok(expr)
        })
        .map(Statement::Do)
    }

    #[inline(never)]
    pub(super) fn call_statement(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::CALL)?;
        let name = self.object_name()?;
        let args = if self.at(Tok::LParen) { self.row_values()? } else { Vec::new() };
        Ok(Statement::Call { name, args })
    }
}
