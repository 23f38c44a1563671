//! Queries: SELECT, VALUES, TABLE, set operations, WITH.

use super::*;

impl Parser<'_> {
    /// Does the `n`-th token from here (0 is the current one) start a query that needs no further parenthesis?
    pub(super) fn query_follows(&mut self, n: usize) -> bool {
        let t = if n == 0 { self.tok() } else { self.peek(n) };
        match t.kw {
            Kw::SELECT | Kw::WITH | Kw::TABLE => true,
            Kw::VALUES => self.peek(n + 1).kw == Kw::ROW,
            _ => false,
        }
    }

    /// Behind a query in parentheses: does something follow that makes it a part of a larger query?
    pub(super) fn query_continues(&self) -> bool {
        matches!(self.tok().kw, Kw::UNION | Kw::EXCEPT | Kw::INTERSECT | Kw::ORDER | Kw::LIMIT)
    }

    /// `(query)`
    #[inline(never)]
    pub(super) fn paren_query(&mut self) -> Result<Box<Query>> {
        self.expect(Tok::LParen)?;
        if self.no_subquery {
            return self.syntax();
        }
        let query = query_without_into(self)?;
        self.expect(Tok::RParen)?;
        Ok(query)
    }

    /// A query expression.
    #[inline(never)]
    pub(super) fn query(&mut self) -> Result<Box<Query>> {
        self.nested(|p| {
            let start = p.here();
            let with = p.opt_with()?;
            p.query_body_and_tail(with, start)
        })
    }

    /// A query whose WITH was read already.
    pub(super) fn query_body_and_tail(&mut self, with: Option<With>, start: u32) -> Result<Box<Query>> {
        let (first, into) = self.query_primary()?;
        self.query_from(with, first, into, start)
    }

    /// A query that starts with another one in parentheses, which were consumed.
    pub(super) fn query_behind(&mut self, first: Box<Query>) -> Result<Box<Query>> {
        let start = first.span.start;
        let query = self.query_from(None, body_of(first), None, start)?;
        match query.into {
            Some(_) => self.error_at(ErrorKind::MisplacedInto, self.into_at),
            None => Ok(query),
        }
    }

    #[inline(never)]
    fn query_from(
        &mut self,
        with: Option<With>,
        first: QueryBody,
        mut into: Option<Box<SelectInto>>,
        start: u32,
    ) -> Result<Box<Query>> {
        let body = self.set_operations(first, &mut into)?;
        let order_by = self.opt_order_by()?;
        let limit = self.opt_limit()?;
        trailing_into(self, &mut into)?;
        let locking = self.locking()?;
        trailing_into(self, &mut into)?;
        let mut query = Query { with, body, order_by, limit, locking, into: None, span: self.span_from(start) };
        // `(query)` and nothing else is that query.
        if is_bare(&query)
            && let QueryBody::Query(mut inner) = query.body
        {
            inner.into = into;
            return Ok(inner);
        }
        query.into = into;
        Ok(Box::new(query))
    }

    #[inline(never)]
    pub(super) fn opt_with(&mut self) -> Result<Option<With>> {
        if !self.eat_kw(Kw::WITH) {
            return Ok(None);
        }
        let recursive = self.eat_kw(Kw::RECURSIVE);
        let ctes = self.list(|p| {
            let name = p.ident()?;
            let columns = p.opt_ident_list()?;
            p.expect_kw(Kw::AS)?;
            let query = p.paren_query()?;
            Ok(Cte { name, columns, query })
        })?;
        Ok(Some(With { recursive, ctes }))
    }

    /// `first [op operand]...`: INTERSECT binds closer than UNION and EXCEPT.
    #[inline(never)]
    fn set_operations(&mut self, first: QueryBody, into: &mut Option<Box<SelectInto>>) -> Result<QueryBody> {
        let first = self.intersections(first, into)?;
        let mut rest = Vec::new();
        loop {
            refuse_into_before_set(self, into)?;
            let Some(kw) = self.one_of(&[Kw::UNION, Kw::EXCEPT]) else { break };
            let op = if kw == Kw::UNION { SetOp::Union } else { SetOp::Except };
            let all = self.set_quantifier();
            let operand = self.set_operand(into)?;
            let body = self.intersections(operand, into)?;
            rest.push(SetArm { op, all, body });
        }
        Ok(set_body(first, rest))
    }

    fn intersections(&mut self, first: QueryBody, into: &mut Option<Box<SelectInto>>) -> Result<QueryBody> {
        let mut rest = Vec::new();
        loop {
            refuse_into_before_set(self, into)?;
            if !self.eat_kw(Kw::INTERSECT) {
                break;
            }
            let all = self.set_quantifier();
            rest.push(SetArm { op: SetOp::Intersect, all, body: self.set_operand(into)? });
        }
        Ok(set_body(first, rest))
    }

    fn set_operand(&mut self, into: &mut Option<Box<SelectInto>>) -> Result<QueryBody> {
        let (body, its_into) = self.query_primary()?;
        // One that ends the text is the whole query's.
        if its_into.is_some() && self.into_end != self.state.prev_end {
            self.notice(Notice::InnerInto);
        }
        *into = its_into;
        Ok(body)
    }

    /// Returns whether ALL was written.
    fn set_quantifier(&mut self) -> bool {
        if self.eat_kw(Kw::ALL) {
            return true;
        }
        self.eat_kw(Kw::DISTINCT);
        false
    }

    /// SELECT, VALUES, TABLE or a query in parentheses.
    #[inline(never)]
    fn query_primary(&mut self) -> Result<(QueryBody, Option<Box<SelectInto>>)> {
        if self.at(Tok::LParen) {
            self.advance();
            let mut query = self.query()?;
            self.expect(Tok::RParen)?;
            let into = query.into.take();
            if into.is_some() && self.into_trails && !matches!(self.tok().kind, Tok::End | Tok::Semi | Tok::RParen) {
                return self.syntax();
            }
            return Ok((body_of(query), into));
        }
        match self.tok().kw {
            Kw::SELECT => {
                let (select, into) = self.select()?;
                Ok((QueryBody::Select(select), into))
            }
            Kw::TABLE => {
                self.advance();
                Ok((QueryBody::Table(Box::new(self.object_name()?)), None))
            }
            Kw::VALUES => {
                self.advance();
                let rows = self.list(|p| {
                    p.expect_kw(Kw::ROW)?;
                    p.row_values()
                })?;
                Ok((QueryBody::Values(rows), None))
            }
            _ => self.syntax(),
        }
    }

    /// `(value, ...)`, possibly empty.
    pub(super) fn row_values(&mut self) -> Result<Vec<Expr>> {
        self.expect(Tok::LParen)?;
        let row = if self.at(Tok::RParen) { Vec::new() } else { self.list(Self::expr)? };
        self.expect(Tok::RParen)?;
        Ok(row)
    }

    /// `/*+ hints */` behind a verb.
    pub(super) fn opt_hints(&mut self) -> Option<Box<str>> {
        if !self.at(Tok::Hint) {
            return None;
        }
        let t = self.advance();
        let raw = self.bytes(t);
        Some(String::from_utf8_lossy(&raw[3..raw.len() - 2]).into())
    }

    /// One SELECT and its INTO. Split into small pieces: subqueries nest through it, so its stack frame counts.
    #[inline(never)]
    fn select(&mut self) -> Result<(Box<Select>, Option<Box<SelectInto>>)> {
        let start = self.here();
        self.expect_kw(Kw::SELECT)?;
        let mut select = Select::empty();
        select.hints = self.opt_hints();
        select.options = self.select_options()?;
        self.select_items(&mut select.items)?;
        let mut into = self.opt_into()?;
        self.select_from(&mut select)?;
        select.filter = self.opt_where()?;
        self.select_grouping(&mut select)?;
        if self.at_kw(Kw::WINDOW) {
            self.select_windows(&mut select)?;
        }
        if !self.at_kw(Kw::ORDER) && !self.at_kw(Kw::LIMIT) {
            trailing_into(self, &mut into)?;
        }
        select.span = self.span_from(start);
        Ok((select, into))
    }

    #[inline(never)]
    pub(super) fn select_items(&mut self, items: &mut Vec<SelectItem>) -> Result<()> {
        // `*` without a table stands in front only.
        let t = self.tok();
        if t.kind == Tok::Star {
            self.advance();
            items.push(SelectItem::Wildcard(Span { start: t.start, end: t.end }));
            if !self.eat(Tok::Comma) {
                return Ok(());
            }
        }
        loop {
            items.push(self.select_item()?);
            if !self.eat(Tok::Comma) {
                return Ok(());
            }
        }
    }

    #[inline(never)]
    fn select_from(&mut self, select: &mut Select) -> Result<()> {
        if self.eat_kw(Kw::FROM) && !self.eat_kw(Kw::DUAL) {
            select.from = self.table_list()?;
        }
        Ok(())
    }

    /// GROUP BY and HAVING
    #[inline(never)]
    fn select_grouping(&mut self, select: &mut Select) -> Result<()> {
        if self.eat_kw2(Kw::GROUP, Kw::BY) {
            if self.at_word("ROLLUP") && self.peek(1).kind == Tok::LParen {
                self.advance();
                select.group_by = self.paren_list(Self::group_item)?;
                select.rollup = true;
            } else {
                select.group_by = self.list(Self::group_item)?;
                select.rollup = self.eat_kw2(Kw::WITH, Kw::ROLLUP);
            }
        }
        if self.eat_kw(Kw::HAVING) {
            select.having = Some(self.expr()?);
        }
        Ok(())
    }

    #[inline(never)]
    fn select_windows(&mut self, select: &mut Select) -> Result<()> {
        self.expect_kw(Kw::WINDOW)?;
        select.windows = self.list(|p| {
            let name = p.ident()?;
            p.expect_kw(Kw::AS)?;
            Ok((name, p.window_spec()?))
        })?;
        Ok(())
    }

    #[inline(never)]
    fn select_options(&mut self) -> Result<SelectOptions> {
        let mut o = SelectOptions::default();
        loop {
            match self.tok().kw {
                Kw::DISTINCT | Kw::DISTINCTROW => o.distinct = true,
                Kw::ALL => o.all = true,
                Kw::HIGH_PRIORITY => o.high_priority = true,
                Kw::STRAIGHT_JOIN => o.straight_join = true,
                Kw::SQL_SMALL_RESULT => o.sql_small_result = true,
                Kw::SQL_BIG_RESULT => o.sql_big_result = true,
                Kw::SQL_BUFFER_RESULT => o.sql_buffer_result = true,
                Kw::SQL_NO_CACHE => {
                    o.sql_no_cache = true;
                    self.notice(Notice::NoCache);
                }
                Kw::SQL_CALC_FOUND_ROWS => {
                    o.sql_calc_found_rows = true;
                    self.notice(Notice::CalcFoundRows);
                }
                // Gone in MySQL 8; clients of MariaDB still send it. It means nothing without a query cache.
                _ if self.at_word("SQL_CACHE") && !matches!(self.peek(1).kind, Tok::Comma | Tok::Dot) => {}
                _ => return Ok(o),
            }
            self.advance();
        }
    }

    #[inline(never)]
    fn select_item(&mut self) -> Result<SelectItem> {
        let t = self.tok();
        if is_ident(t) && self.peek(1).kind == Tok::Dot {
            if self.peek(2).kind == Tok::Star {
                let name = self.ident()?;
                self.advance();
                self.advance();
                return Ok(SelectItem::TableWildcard(ObjectName { schema: None, name }));
            }
            if let Some(name) = self.schema_wildcard()? {
                return Ok(SelectItem::TableWildcard(name));
            }
        }
        let expr = self.expr()?;
        let text = self.column_name(&expr, t.start);
        let alias = self.select_alias()?;
        Ok(SelectItem::Expr { expr, alias, text })
    }

    /// `schema.table.*`
    #[inline(never)]
    fn schema_wildcard(&mut self) -> Result<Option<ObjectName>> {
        if !is_ident(self.peek(2)) || self.peek(3).kind != Tok::Dot {
            return Ok(None);
        }
        let saved = self.state;
        let name = self.object_name()?;
        self.advance();
        if self.eat(Tok::Star) {
            return Ok(Some(name));
        }
        self.state = saved;
        Ok(None)
    }

    #[inline(never)]
    fn select_alias(&mut self) -> Result<Option<Ident>> {
        if self.eat_kw(Kw::AS) || is_ident(self.tok()) || self.at(Tok::Str) {
            return self.ident_or_string().map(Some);
        }
        Ok(None)
    }

    /// Name of the result's column for an item without an alias.
    #[inline(never)]
    fn column_name(&self, expr: &Expr, start: u32) -> SourceText {
        match expr {
            Expr::Column(c) => SourceText(c.column.text.clone()),
            Expr::Literal(Literal { value: LiteralValue::Null, .. }) => SourceText("NULL".into()),
            Expr::Literal(Literal {
                value: LiteralValue::Int(_) | LiteralValue::Decimal(_) | LiteralValue::Float(_),
                span,
                ..
            }) => {
                // Without the parentheses or the plus sign around it.
                let raw = &self.text[span.start as usize..span.end as usize];
                SourceText(String::from_utf8_lossy(raw).into())
            }
            Expr::Literal(Literal { value: LiteralValue::String { .. }, span, .. }) => {
                // MySQL names it by the first of the adjacent strings.
                let raw = &self.text[span.start as usize..span.end as usize];
                let mut lexer = Lexer::new(raw, self.mode);
                let mut t = lexer.next();
                if t.kind == Tok::Word {
                    t = lexer.next();
                }
                let raw = &raw[t.start as usize..t.end as usize];
                let raw = if t.kind == Tok::NStr { &raw[1..] } else { raw };
                SourceText(String::from_utf8_lossy(&unquote_string(raw, self.mode)).into())
            }
            _ => self.source_text(start),
        }
    }

    #[inline(never)]
    pub(super) fn opt_where(&mut self) -> Result<Option<Expr>> {
        if self.eat_kw(Kw::WHERE) { self.expr().map(Some) } else { Ok(None) }
    }

    /// MySQL 8 refuses ASC and DESC here, MariaDB allows them.
    fn group_item(&mut self) -> Result<OrderItem> {
        Ok(OrderItem { expr: self.expr()?, desc: false })
    }

    pub(super) fn order_item(&mut self) -> Result<OrderItem> {
        let expr = self.expr()?;
        let desc = self.one_of(&[Kw::ASC, Kw::DESC]) == Some(Kw::DESC);
        Ok(OrderItem { expr, desc })
    }

    pub(super) fn opt_order_by(&mut self) -> Result<Vec<OrderItem>> {
        if !self.eat_kw(Kw::ORDER) {
            return Ok(Vec::new());
        }
        self.expect_kw(Kw::BY)?;
        self.list(Self::order_item)
    }

    #[inline(never)]
    pub(super) fn opt_limit(&mut self) -> Result<Option<Limit>> {
        if !self.eat_kw(Kw::LIMIT) {
            return Ok(None);
        }
        let first = self.limit_value()?;
        if self.eat(Tok::Comma) {
            return Ok(Some(Limit { count: self.limit_value()?, offset: Some(first) }));
        }
        let offset = if self.eat_kw(Kw::OFFSET) { Some(self.limit_value()?) } else { None };
        Ok(Some(Limit { count: first, offset }))
    }

    /// `LIMIT n` without an offset (UPDATE, DELETE).
    pub(super) fn opt_row_limit(&mut self) -> Result<Option<Limit>> {
        if !self.eat_kw(Kw::LIMIT) {
            return Ok(None);
        }
        Ok(Some(Limit { count: self.limit_value()?, offset: None }))
    }

    fn limit_value(&mut self) -> Result<Expr> {
        match self.tok().kind {
            Tok::Int | Tok::Hex | Tok::Bit => {
                let at = self.here();
                match self.literal()? {
                    Literal { value: LiteralValue::Decimal(_), .. } => self.error_at(ErrorKind::Syntax, at),
                    literal => Ok(Expr::Literal(literal)),
                }
            }
            Tok::Param => self.param(),
            _ if self.at_ident() => self.ident().map(|column| Expr::Column(ColumnRef { qualifier: None, column })),
            _ => self.syntax(),
        }
    }

    #[inline(never)]
    fn locking(&mut self) -> Result<Vec<Locking>> {
        let mut out = Vec::new();
        loop {
            let strength = if self.at_kw(Kw::FOR) {
                match self.peek(1).kw {
                    Kw::UPDATE => LockStrength::Update,
                    Kw::SHARE => LockStrength::Share,
                    _ => return Ok(out),
                }
            } else if self.at_kw(Kw::LOCK) && self.peek(1).kw == Kw::IN {
                self.advance();
                self.advance();
                self.expect_kw(Kw::SHARE)?;
                self.expect_kw(Kw::MODE)?;
                out.push(Locking { strength: LockStrength::Share, of: Vec::new(), wait: LockWait::Wait });
                continue;
            } else {
                return Ok(out);
            };
            self.advance();
            self.advance();
            let of = if self.eat_kw(Kw::OF) { self.list(Self::object_name)? } else { Vec::new() };
            let wait = if self.eat_kw(Kw::NOWAIT) {
                LockWait::NoWait
            } else if self.eat_kw(Kw::SKIP) {
                self.expect_kw(Kw::LOCKED)?;
                LockWait::SkipLocked
            } else {
                LockWait::Wait
            };
            out.push(Locking { strength, of, wait });
        }
    }

    #[inline(never)]
    fn opt_into(&mut self) -> Result<Option<Box<SelectInto>>> {
        if !self.at_kw(Kw::INTO) {
            return Ok(None);
        }
        self.into_at = self.advance().start;
        self.into_trails = false;
        let into = if self.eat_kw(Kw::OUTFILE) {
            let file = self.string()?;
            let charset = if self.eat_charset() { Some(self.charset_name()?) } else { None };
            SelectInto::Outfile { file, charset, format: self.field_format()? }
        } else if self.eat_kw(Kw::DUMPFILE) {
            SelectInto::Dumpfile(self.string()?)
        } else {
            SelectInto::Variables(self.list(Self::into_target)?)
        };
        self.into_end = self.state.prev_end;
        Ok(Some(Box::new(into)))
    }

    pub(super) fn into_target(&mut self) -> Result<IntoTarget> {
        if self.at(Tok::UserVar) {
            return self.user_var().map(IntoTarget::User);
        }
        self.ident().map(IntoTarget::Local)
    }

    /// `[FIELDS ...] [LINES ...]`
    pub(super) fn field_format(&mut self) -> Result<FieldFormat> {
        let mut f = FieldFormat::default();
        if self.eat_kw(Kw::FIELDS) || self.eat_kw(Kw::COLUMNS) {
            let mut any = false;
            loop {
                if self.eat_kw2(Kw::TERMINATED, Kw::BY) {
                    f.terminated_by = Some(self.string_bytes()?);
                } else if self.eat_kw(Kw::OPTIONALLY) {
                    self.expect_kw(Kw::ENCLOSED)?;
                    self.expect_kw(Kw::BY)?;
                    f.enclosed_by = Some(self.string_bytes()?);
                    f.optionally_enclosed = true;
                } else if self.eat_kw2(Kw::ENCLOSED, Kw::BY) {
                    f.enclosed_by = Some(self.string_bytes()?);
                } else if self.eat_kw2(Kw::ESCAPED, Kw::BY) {
                    f.escaped_by = Some(self.string_bytes()?);
                } else if any {
                    break;
                } else {
                    return self.syntax();
                }
                any = true;
            }
        }
        if self.eat_kw(Kw::LINES) {
            let mut any = false;
            loop {
                if self.eat_kw2(Kw::STARTING, Kw::BY) {
                    f.lines_starting_by = Some(self.string_bytes()?);
                } else if self.eat_kw2(Kw::TERMINATED, Kw::BY) {
                    f.lines_terminated_by = Some(self.string_bytes()?);
                } else if any {
                    break;
                } else {
                    return self.syntax();
                }
                any = true;
            }
        }
        Ok(f)
    }
}

/// The query of a parenthesis in which INTO cannot be.
pub(super) fn query_without_into(p: &mut Parser<'_>) -> Result<Box<Query>> {
    let query = p.query()?;
    match query.into {
        Some(_) => p.error_at(ErrorKind::MisplacedInto, p.into_at),
        None => Ok(query),
    }
}

/// INTO belongs to the last operand of a set operation.
fn refuse_into_before_set(p: &mut Parser<'_>, into: &Option<Box<SelectInto>>) -> Result<()> {
    if into.is_none() || !matches!(p.tok().kw, Kw::UNION | Kw::EXCEPT | Kw::INTERSECT) {
        return Ok(());
    }
    if p.into_trails { p.syntax() } else { p.error_at(ErrorKind::MisplacedInto, p.into_at) }
}

/// INTO behind all of a query, where it has none yet.
fn trailing_into(p: &mut Parser<'_>, into: &mut Option<Box<SelectInto>>) -> Result<()> {
    if into.is_some() {
        let again = p.at_kw(Kw::INTO);
        return if again { p.error_at(ErrorKind::MultipleInto, p.into_at) } else { Ok(()) };
    }
    *into = p.opt_into()?;
    p.into_trails |= into.is_some();
    Ok(())
}

/// No clause beside the body?
fn is_bare(q: &Query) -> bool {
    q.with.is_none() && q.order_by.is_empty() && q.limit.is_none() && q.locking.is_empty() && q.into.is_none()
}

/// A query in parentheses as an operand.
fn body_of(query: Box<Query>) -> QueryBody {
    if is_bare(&query) { query.body } else { QueryBody::Query(query) }
}

fn set_body(first: QueryBody, rest: Vec<SetArm>) -> QueryBody {
    if rest.is_empty() { first } else { QueryBody::Set(Box::new(SetOperation { first, rest })) }
}
