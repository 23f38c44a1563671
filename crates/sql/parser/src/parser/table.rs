//! Table references and joins.

use super::*;

/// What a parenthesis in FROM turned out to hold.
enum Paren {
    Query(Box<Query>),
    Tables(Vec<TableRef>),
}

impl Parser<'_> {
    /// `a, b JOIN c ON .., ...`
    pub(super) fn table_list(&mut self) -> Result<Vec<TableRef>> {
        self.list(Self::table_ref)
    }

    /// One reference with its joins.
    pub(super) fn table_ref(&mut self) -> Result<TableRef> {
        let first = self.table_factor()?;
        self.joins(first)
    }

    /// The joins behind a reference. A join waits for its condition while further ones start:
    /// `a LEFT JOIN b JOIN c ON x ON y` is `a LEFT JOIN (b JOIN c ON x) ON y`. One that never gets a condition is a
    /// cross join and associates to the left: `a JOIN b JOIN c ON x` is `(a JOIN b) JOIN c ON x`.
    #[inline(never)]
    fn joins(&mut self, first: TableRef) -> Result<TableRef> {
        let mut waiting: Vec<(TableRef, JoinKind)> = Vec::new();
        let mut current = first;
        let mut count = 0;
        loop {
            let condition = if waiting.is_empty() || (self.at_kw(Kw::ON) && self.peek(1).kw == Kw::DUPLICATE) {
                // `INSERT .. SELECT .. FROM t ON DUPLICATE KEY UPDATE ..`
                JoinCondition::None
            } else if self.eat_kw(Kw::ON) {
                JoinCondition::On(self.expr()?)
            } else if self.eat_kw(Kw::USING) {
                JoinCondition::Using(self.paren_list(Self::ident)?)
            } else {
                JoinCondition::None
            };
            if condition != JoinCondition::None {
                let Some((left, kind)) = waiting.pop() else { return self.syntax() };
                current = TableRef::Join(Box::new(Join { left, right: current, kind, condition }));
                continue;
            }
            let Some((kind, natural)) = self.join_kind()? else { break };
            count += 1;
            if count > MAX_HEIGHT {
                return self.too_deep();
            }
            let right = self.table_factor()?;
            if natural {
                let condition = JoinCondition::Natural;
                current = TableRef::Join(Box::new(Join { left: current, right, kind, condition }));
            } else {
                waiting.push((std::mem::replace(&mut current, right), kind));
            }
        }
        while let Some((left, kind)) = waiting.pop() {
            if matches!(kind, JoinKind::Left | JoinKind::Right) {
                return self.syntax();
            }
            current = cross(left, kind, current);
        }
        Ok(current)
    }

    /// Reads a join operator; the flag says NATURAL.
    fn join_kind(&mut self) -> Result<Option<(JoinKind, bool)>> {
        let kind = match self.tok().kw {
            Kw::JOIN => JoinKind::Inner,
            Kw::INNER | Kw::CROSS => {
                self.advance();
                JoinKind::Inner
            }
            Kw::STRAIGHT_JOIN => {
                self.advance();
                return Ok(Some((JoinKind::Straight, false)));
            }
            Kw::LEFT | Kw::RIGHT => self.outer(),
            Kw::NATURAL => {
                self.advance();
                let kind = match self.tok().kw {
                    Kw::LEFT | Kw::RIGHT => self.outer(),
                    _ => {
                        self.eat_kw(Kw::INNER);
                        JoinKind::Inner
                    }
                };
                self.expect_kw(Kw::JOIN)?;
                return Ok(Some((kind, true)));
            }
            _ => return Ok(None),
        };
        self.expect_kw(Kw::JOIN)?;
        Ok(Some((kind, false)))
    }

    fn outer(&mut self) -> JoinKind {
        let kind = if self.advance().kw == Kw::LEFT { JoinKind::Left } else { JoinKind::Right };
        self.eat_kw(Kw::OUTER);
        kind
    }

    #[inline(never)]
    fn table_factor(&mut self) -> Result<TableRef> {
        let t = self.tok();
        match t.kind {
            Tok::LParen => {
                return match self.paren()? {
                    Paren::Query(query) => self.derived(false, query),
                    Paren::Tables(list) => Ok(TableRef::Nested(list)),
                };
            }
            Tok::LBrace => {
                // `{OJ a LEFT JOIN b ON ..}`
                self.advance();
                self.expect_kw(Kw::OJ)?;
                let inner = self.nested(Self::table_ref)?;
                self.expect(Tok::RBrace)?;
                return Ok(match inner {
                    nested @ TableRef::Nested(_) => nested,
                    inner => TableRef::Nested(vec![inner]),
                });
            }
            _ => {}
        }
        if t.kw == Kw::LATERAL {
            self.advance();
            let query = self.paren_query()?;
            return self.derived(true, query);
        }
        if t.kw == Kw::JSON_TABLE {
            return self.json_table();
        }
        let name = self.object_name()?;
        let partitions = self.opt_partitions()?;
        let alias = self.table_alias()?;
        let index_hints = self.index_hints()?;
        Ok(TableRef::Table(Box::new(TableFactor { name, partitions, alias, index_hints })))
    }

    /// `PARTITION (p, ...)`
    pub(super) fn opt_partitions(&mut self) -> Result<Vec<Ident>> {
        if self.at_kw(Kw::PARTITION) && self.peek(1).kind == Tok::LParen {
            self.advance();
            return self.paren_list(Self::ident);
        }
        Ok(Vec::new())
    }

    pub(super) fn table_alias(&mut self) -> Result<Option<Ident>> {
        if self.eat_kw(Kw::AS) {
            return self.ident().map(Some);
        }
        // RETURNING starts MariaDB's clause.
        if self.at_kw(Kw::RETURNING) {
            return Ok(None);
        }
        self.opt_ident()
    }

    #[inline(never)]
    fn derived(&mut self, lateral: bool, query: Box<Query>) -> Result<TableRef> {
        let alias = self.table_alias()?;
        let columns = if alias.is_some() { self.opt_ident_list()? } else { Vec::new() };
        Ok(TableRef::Derived(Box::new(Derived { lateral, query: *query, alias, columns })))
    }

    /// A parenthesis: a query, or references.
    #[inline(never)]
    fn paren(&mut self) -> Result<Paren> {
        self.nested(|p| {
            p.expect(Tok::LParen)?;
            if p.query_follows(0) {
                let query = super::query::query_without_into(p)?;
                p.expect(Tok::RParen)?;
                return Ok(Paren::Query(query));
            }
            let first = if p.at(Tok::LParen) {
                match p.paren()? {
                    Paren::Query(query) if p.at(Tok::RParen) => {
                        p.advance();
                        return Ok(Paren::Query(query));
                    }
                    Paren::Query(query) if p.query_continues() => {
                        let query = p.query_behind(query)?;
                        p.expect(Tok::RParen)?;
                        return Ok(Paren::Query(query));
                    }
                    Paren::Query(query) => p.derived(false, query)?,
                    Paren::Tables(list) => TableRef::Nested(list),
                }
            } else {
                p.table_factor()?
            };
            let mut list = vec![p.joins(first)?];
            while p.eat(Tok::Comma) {
                list.push(p.table_ref()?);
            }
            p.expect(Tok::RParen)?;
            // A parenthesis around a parenthesis adds nothing.
            if list.len() == 1 && matches!(list[0], TableRef::Nested(_)) {
                let Some(TableRef::Nested(inner)) = list.pop() else { return p.syntax() };
                return Ok(Paren::Tables(inner));
            }
            Ok(Paren::Tables(list))
        })
    }

    #[inline(never)]
    fn index_hints(&mut self) -> Result<Vec<IndexHint>> {
        let mut out = Vec::new();
        while let Some(hint) = self.opt_index_hint()? {
            out.push(hint);
            // MySQL separates hints by white space, MariaDB also allows commas.
            if self.at(Tok::Comma)
                && matches!(self.peek(1).kw, Kw::USE | Kw::FORCE | Kw::IGNORE)
                && matches!(self.peek(2).kw, Kw::INDEX | Kw::KEY)
            {
                self.advance();
            }
        }
        Ok(out)
    }

    fn opt_index_hint(&mut self) -> Result<Option<IndexHint>> {
        let action = match self.tok().kw {
            Kw::USE => IndexHintAction::Use,
            Kw::FORCE => IndexHintAction::Force,
            Kw::IGNORE => IndexHintAction::Ignore,
            _ => return Ok(None),
        };
        if !matches!(self.peek(1).kw, Kw::INDEX | Kw::KEY) {
            return Ok(None);
        }
        self.advance();
        self.advance();
        let purpose = if self.eat_kw(Kw::FOR) {
            Some(match self.one_of(&[Kw::JOIN, Kw::ORDER, Kw::GROUP]) {
                Some(Kw::JOIN) => IndexHintPurpose::Join,
                Some(kw) => {
                    self.expect_kw(Kw::BY)?;
                    if kw == Kw::ORDER { IndexHintPurpose::OrderBy } else { IndexHintPurpose::GroupBy }
                }
                None => return self.syntax(),
            })
        } else {
            None
        };
        self.expect(Tok::LParen)?;
        let mut indexes = Vec::new();
        if !(action == IndexHintAction::Use && self.at(Tok::RParen)) {
            indexes = self.list(Self::index_name)?;
        }
        self.expect(Tok::RParen)?;
        Ok(Some(IndexHint { action, purpose, indexes }))
    }

    /// An index's name or PRIMARY.
    pub(super) fn index_name(&mut self) -> Result<Ident> {
        if self.at_kw(Kw::PRIMARY) { self.any_word() } else { self.ident() }
    }

    #[inline(never)]
    fn json_table(&mut self) -> Result<TableRef> {
        self.advance();
        self.expect(Tok::LParen)?;
        let expr = self.expr()?;
        self.expect(Tok::Comma)?;
        let path = self.string_literal()?;
        let columns = self.json_columns()?;
        self.expect(Tok::RParen)?;
        let alias = self.table_alias()?;
        Ok(TableRef::JsonTable(Box::new(JsonTable { expr, path, columns, alias })))
    }

    fn json_columns(&mut self) -> Result<Vec<JsonTableColumn>> {
        self.expect_kw(Kw::COLUMNS)?;
        self.nested(|p| p.paren_list(Self::json_column))
    }

    fn json_column(&mut self) -> Result<JsonTableColumn> {
        if self.at_kw(Kw::NESTED) && (self.peek(1).kw == Kw::PATH || self.peek(1).kind == Tok::Str) {
            self.advance();
            self.eat_kw(Kw::PATH);
            let path = self.string_literal()?;
            return Ok(JsonTableColumn::Nested { path, columns: self.json_columns()? });
        }
        let name = self.ident()?;
        if self.eat_kw(Kw::FOR) {
            self.expect_kw(Kw::ORDINALITY)?;
            return Ok(JsonTableColumn::Ordinality(name));
        }
        let data_type = self.data_type()?;
        let collation = self.opt_collate()?;
        let exists = self.eat_kw(Kw::EXISTS);
        self.expect_kw(Kw::PATH)?;
        let path = self.string_literal()?;
        let (on_empty, on_error) = self.json_on()?;
        Ok(JsonTableColumn::Path { name, data_type, collation, exists, path, on_empty, on_error })
    }

    /// `COLLATE name`
    pub(super) fn opt_collate(&mut self) -> Result<Option<Ident>> {
        if self.eat_kw(Kw::COLLATE) { self.collation_name().map(Some) } else { Ok(None) }
    }
}

/// Puts a cross join of `left` at the leftmost leaf of `right`.
fn cross(left: TableRef, kind: JoinKind, right: TableRef) -> TableRef {
    let mut spine = Vec::new();
    let mut leaf = right;
    while let TableRef::Join(join) = leaf {
        let Join { left, right, kind, condition } = *join;
        spine.push((right, kind, condition));
        leaf = left;
    }
    let condition = JoinCondition::None;
    let mut out = TableRef::Join(Box::new(Join { left, right: leaf, kind, condition }));
    while let Some((right, kind, condition)) = spine.pop() {
        out = TableRef::Join(Box::new(Join { left: out, right, kind, condition }));
    }
    out
}
