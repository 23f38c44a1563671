//! CREATE TABLE: columns, keys, options, partitions.

use super::*;

impl Parser<'_> {
    /// Behind `CREATE [OR REPLACE] [TEMPORARY] TABLE`.
    #[inline(never)]
    pub(super) fn create_table(&mut self, temporary: bool, or_replace: bool) -> Result<Statement> {
        let existence = Existence { if_exists: self.if_not_exists(), or_replace };
        let name = self.object_name()?;
        let body = self.create_table_body()?;
        Ok(Statement::CreateTable(Box::new(CreateTable { temporary, existence, name, body })))
    }

    #[inline(never)]
    fn create_table_body(&mut self) -> Result<CreateTableBody> {
        if self.eat_kw(Kw::LIKE) {
            return self.object_name().map(CreateTableBody::Like);
        }
        let mut elements = Vec::new();
        if self.at(Tok::LParen) {
            if self.peek(1).kw == Kw::LIKE {
                self.advance();
                self.advance();
                let other = self.object_name()?;
                self.expect(Tok::RParen)?;
                return Ok(CreateTableBody::Like(other));
            }
            // `CREATE TABLE t (SELECT ..)`
            if !self.query_follows(1) && self.peek(1).kind != Tok::LParen {
                elements = self.paren_list(Self::table_element)?;
            }
        }
        let options = self.table_options()?;
        let partition = if self.at_kw(Kw::PARTITION) { Some(Box::new(self.partition_by()?)) } else { None };
        let on_duplicate = match self.one_of(&[Kw::IGNORE, Kw::REPLACE]) {
            Some(Kw::IGNORE) => OnDuplicate::Ignore,
            Some(_) => OnDuplicate::Replace,
            None => OnDuplicate::Error,
        };
        let has_as = self.eat_kw(Kw::AS);
        let query = if has_as || self.at(Tok::LParen) || self.query_follows(0) { Some(self.query()?) } else { None };
        // Without columns and query it is error 1113, which is not the parser's.
        if query.is_none() && on_duplicate != OnDuplicate::Error {
            return self.syntax();
        }
        Ok(CreateTableBody::Define { elements, options, partition, on_duplicate, query })
    }

    #[inline(never)]
    pub(super) fn table_element(&mut self) -> Result<TableElement> {
        if let Some(element) = self.opt_constraint()? {
            return Ok(element);
        }
        let name = self.ident()?;
        self.column_def(name).map(TableElement::Column)
    }

    /// A key, foreign key or check, if one starts here.
    #[inline(never)]
    pub(super) fn opt_constraint(&mut self) -> Result<Option<TableElement>> {
        let mut constraint = None;
        let named = self.eat_kw(Kw::CONSTRAINT);
        let conditional = named && self.if_not_exists();
        if named {
            constraint = self.opt_ident()?;
        }
        let kind = match self.tok().kw {
            _ if conditional && !self.at_kw(Kw::CHECK) => return self.syntax(),
            Kw::PRIMARY => {
                self.advance();
                self.expect_kw(Kw::KEY)?;
                IndexKind::Primary
            }
            Kw::UNIQUE => {
                self.advance();
                let _ = self.eat_kw(Kw::INDEX) || self.eat_kw(Kw::KEY);
                IndexKind::Unique
            }
            Kw::INDEX | Kw::KEY if !named => {
                self.advance();
                IndexKind::Index
            }
            Kw::FULLTEXT | Kw::SPATIAL if !named => {
                let kw = self.advance().kw;
                let _ = self.eat_kw(Kw::INDEX) || self.eat_kw(Kw::KEY);
                if kw == Kw::FULLTEXT { IndexKind::Fulltext } else { IndexKind::Spatial }
            }
            Kw::FOREIGN => {
                self.advance();
                self.expect_kw(Kw::KEY)?;
                let if_not_exists = self.if_not_exists();
                let name = self.opt_ident()?;
                let columns = self.paren_list(Self::ident)?;
                let references = self.references()?;
                let key = ForeignKeyDef { constraint, name, columns, references, if_not_exists };
                return Ok(Some(TableElement::ForeignKey(key)));
            }
            Kw::CHECK => {
                let check = CheckDef { if_not_exists: conditional, ..self.check(constraint)? };
                return Ok(Some(TableElement::Check(check)));
            }
            _ if named => return self.syntax(),
            _ => return Ok(None),
        };
        let if_not_exists = self.if_not_exists();
        let name = if self.at_kw(Kw::USING) { None } else { self.opt_index_name()? };
        self.index_def(constraint, kind, name, if_not_exists).map(|i| Some(TableElement::Index(i)))
    }

    /// A key's optional name; TYPE in front of BTREE or HASH is not one.
    #[inline(never)]
    fn opt_index_name(&mut self) -> Result<Option<Ident>> {
        if self.at_kw(Kw::TYPE) && matches!(self.peek(1).kw, Kw::BTREE | Kw::HASH | Kw::RTREE) {
            return Ok(None);
        }
        self.opt_ident()
    }

    /// From the index type to the end of the options.
    fn index_def(
        &mut self,
        constraint: Option<Ident>,
        kind: IndexKind,
        name: Option<Ident>,
        if_not_exists: bool,
    ) -> Result<IndexDef> {
        let mut options = Vec::new();
        if let Some(using) = self.opt_using(kind)? {
            options.push(using);
        }
        let parts = self.paren_list(Self::key_part)?;
        self.index_options(kind, &mut options)?;
        Ok(IndexDef { constraint, kind, name, if_not_exists, parts, options })
    }

    /// Behind `CREATE`: `[kind] INDEX name [type] ON table (parts) ...`
    #[inline(never)]
    pub(super) fn create_index(&mut self, or_replace: bool) -> Result<Statement> {
        let kind = match self.one_of(&[Kw::UNIQUE, Kw::FULLTEXT, Kw::SPATIAL]) {
            Some(Kw::UNIQUE) => IndexKind::Unique,
            Some(Kw::FULLTEXT) => IndexKind::Fulltext,
            Some(_) => IndexKind::Spatial,
            None => IndexKind::Index,
        };
        self.expect_kw(Kw::INDEX)?;
        let existence = Existence { if_exists: self.if_not_exists(), or_replace };
        let name = Some(self.ident()?);
        let mut options = Vec::new();
        if let Some(using) = self.opt_using(kind)? {
            options.push(using);
        }
        self.expect_kw(Kw::ON)?;
        let table = self.object_name()?;
        let parts = self.paren_list(Self::key_part)?;
        self.index_options(kind, &mut options)?;
        let online = self.online_options()?;
        let index = IndexDef { constraint: None, kind, name, if_not_exists: existence.if_exists, parts, options };
        Ok(Statement::CreateIndex(Box::new(CreateIndex { existence, index, table, online })))
    }

    /// ALGORITHM and LOCK of CREATE / DROP INDEX.
    #[inline(never)]
    pub(super) fn online_options(&mut self) -> Result<Vec<AlterAction>> {
        let mut out = Vec::new();
        while let Some(kw) = self.one_of(&[Kw::ALGORITHM, Kw::LOCK]) {
            self.eat(Tok::Eq);
            let word = self.any_word()?;
            out.push(if kw == Kw::LOCK { AlterAction::Lock(word) } else { AlterAction::Algorithm(word) });
        }
        Ok(out)
    }

    #[inline(never)]
    pub(super) fn key_part(&mut self) -> Result<KeyPart> {
        let source = if self.eat(Tok::LParen) {
            let expr = self.expr()?;
            self.expect(Tok::RParen)?;
            KeySource::Expr(expr)
        } else {
            let name = self.ident()?;
            let prefix = if self.at(Tok::LParen) { Some(self.paren_number()?) } else { None };
            KeySource::Column { name, prefix }
        };
        let order = self.one_of(&[Kw::ASC, Kw::DESC]);
        Ok(KeyPart { source, desc: order == Some(Kw::DESC), ordered: order.is_some() })
    }

    /// `USING | TYPE {BTREE | HASH | RTREE}`; full-text and spatial keys have no choice.
    #[inline(never)]
    fn opt_using(&mut self, kind: IndexKind) -> Result<Option<IndexOption>> {
        if matches!(kind, IndexKind::Fulltext | IndexKind::Spatial) {
            return Ok(None);
        }
        if self.at_kw(Kw::USING)
            || (self.at_kw(Kw::TYPE) && matches!(self.peek(1).kw, Kw::BTREE | Kw::HASH | Kw::RTREE))
        {
            self.advance();
            return match self.tok().kw {
                Kw::BTREE | Kw::HASH | Kw::RTREE => Ok(Some(IndexOption::Using(self.any_word()?))),
                _ => self.syntax(),
            };
        }
        Ok(None)
    }

    #[inline(never)]
    fn index_options(&mut self, kind: IndexKind, out: &mut Vec<IndexOption>) -> Result<()> {
        loop {
            if let Some(using) = self.opt_using(kind)? {
                out.push(using);
                continue;
            }
            let option = match self.tok().kw {
                Kw::KEY_BLOCK_SIZE => {
                    self.advance();
                    self.eat(Tok::Eq);
                    IndexOption::KeyBlockSize(self.number()?)
                }
                Kw::WITH if self.peek(1).kw == Kw::PARSER => {
                    self.advance();
                    self.advance();
                    IndexOption::WithParser(self.ident()?)
                }
                Kw::COMMENT => {
                    self.advance();
                    self.eat(Tok::Eq);
                    IndexOption::Comment(self.string()?)
                }
                // MariaDB's word.
                _ if self.eat_word("IGNORED") => IndexOption::Invisible,
                Kw::VISIBLE | Kw::INVISIBLE => {
                    if self.advance().kw == Kw::VISIBLE {
                        IndexOption::Visible
                    } else {
                        IndexOption::Invisible
                    }
                }
                Kw::ENGINE_ATTRIBUTE => {
                    self.advance();
                    self.eat(Tok::Eq);
                    IndexOption::EngineAttribute(self.string()?)
                }
                Kw::SECONDARY_ENGINE_ATTRIBUTE => {
                    self.advance();
                    self.eat(Tok::Eq);
                    IndexOption::SecondaryEngineAttribute(self.string()?)
                }
                _ => return Ok(()),
            };
            out.push(option);
        }
    }

    /// `CHECK (expr) [[NOT] ENFORCED]`
    #[inline(never)]
    fn check(&mut self, constraint: Option<Ident>) -> Result<CheckDef> {
        self.expect_kw(Kw::CHECK)?;
        self.expect(Tok::LParen)?;
        let start = self.here();
        let expr = self.expr()?;
        let text = self.source_text(start);
        self.expect(Tok::RParen)?;
        let not_enforced = self.eat_kw2(Kw::NOT, Kw::ENFORCED);
        if !not_enforced {
            self.eat_kw(Kw::ENFORCED);
        }
        Ok(CheckDef { constraint, expr, text, not_enforced, if_not_exists: false })
    }

    /// `REFERENCES ...`
    #[inline(never)]
    fn references(&mut self) -> Result<References> {
        self.expect_kw(Kw::REFERENCES)?;
        let table = self.object_name()?;
        let columns = self.opt_ident_list()?;
        let mut refs = References { table, columns, match_kind: None, on_delete: None, on_update: None };
        if self.eat_kw(Kw::MATCH) {
            refs.match_kind = Some(match self.one_of(&[Kw::FULL, Kw::PARTIAL, Kw::SIMPLE]) {
                Some(Kw::FULL) => MatchKind::Full,
                Some(Kw::PARTIAL) => MatchKind::Partial,
                Some(_) => MatchKind::Simple,
                None => return self.syntax(),
            });
        }
        while self.at_kw(Kw::ON) && matches!(self.peek(1).kw, Kw::DELETE | Kw::UPDATE) {
            self.advance();
            let delete = self.advance().kw == Kw::DELETE;
            let slot = if delete { &mut refs.on_delete } else { &mut refs.on_update };
            if slot.is_some() {
                return self.syntax();
            }
            let action = match self.one_of(&[Kw::RESTRICT, Kw::CASCADE, Kw::SET, Kw::NO]) {
                Some(Kw::RESTRICT) => ReferenceAction::Restrict,
                Some(Kw::CASCADE) => ReferenceAction::Cascade,
                Some(Kw::SET) if self.eat_kw(Kw::NULL) => ReferenceAction::SetNull,
                Some(Kw::SET) if self.eat_kw(Kw::DEFAULT) => ReferenceAction::SetDefault,
                Some(Kw::NO) if self.eat_kw(Kw::ACTION) => ReferenceAction::NoAction,
                _ => return self.syntax(),
            };
            if delete {
                refs.on_delete = Some(action);
            } else {
                refs.on_update = Some(action);
            }
        }
        Ok(refs)
    }

    /// A column behind its name.
    #[inline(never)]
    pub(super) fn column_def(&mut self, name: Ident) -> Result<ColumnDef> {
        let serial = self.at_kw(Kw::SERIAL);
        let data_type = self.data_type()?;
        let mut attributes = Vec::new();
        if serial {
            attributes.extend([ColumnAttribute::NotNull, ColumnAttribute::AutoIncrement, ColumnAttribute::Unique]);
        }
        let mut generated = None;
        loop {
            if self.at_kw(Kw::GENERATED) || self.at_kw(Kw::AS) {
                if generated.is_some() {
                    return self.syntax();
                }
                generated = Some(Box::new(self.generated()?));
                continue;
            }
            if self.at_kw(Kw::SERIAL) {
                self.serial_default(&mut attributes)?;
                continue;
            }
            let at = self.here();
            match self.column_attribute()? {
                Some(ColumnAttribute::Collate(_))
                    if attributes.iter().any(|a| matches!(a, ColumnAttribute::Collate(_))) =>
                {
                    return self.error_at(ErrorKind::Syntax, at);
                }
                Some(attribute) => attributes.push(attribute),
                None => break,
            }
        }
        Ok(ColumnDef { name, data_type, generated, attributes })
    }

    /// `SERIAL DEFAULT VALUE` stands for `NOT NULL AUTO_INCREMENT UNIQUE`.
    fn serial_default(&mut self, attributes: &mut Vec<ColumnAttribute>) -> Result<()> {
        self.advance();
        self.expect_kw(Kw::DEFAULT)?;
        self.expect_kw(Kw::VALUE)?;
        attributes.extend([ColumnAttribute::NotNull, ColumnAttribute::AutoIncrement, ColumnAttribute::Unique]);
        Ok(())
    }

    /// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`
    #[inline(never)]
    fn generated(&mut self) -> Result<Generated> {
        if self.eat_kw(Kw::GENERATED) {
            self.expect_kw(Kw::ALWAYS)?;
        }
        self.expect_kw(Kw::AS)?;
        self.expect(Tok::LParen)?;
        let start = self.here();
        let expr = self.expr()?;
        let text = self.source_text(start);
        self.expect(Tok::RParen)?;
        // PERSISTENT is MariaDB's word for STORED.
        let stored = self.eat_kw(Kw::STORED) || self.eat_word("PERSISTENT");
        if !stored {
            self.eat_kw(Kw::VIRTUAL);
        }
        Ok(Generated { expr, text, stored })
    }

    #[inline(never)]
    fn column_attribute(&mut self) -> Result<Option<ColumnAttribute>> {
        use ColumnAttribute as A;
        let kw = self.tok().kw;
        match kw {
            Kw::NOT => {
                self.advance();
                return match self.one_of(&[Kw::NULL, Kw::SECONDARY]) {
                    Some(Kw::NULL) => Ok(Some(A::NotNull)),
                    Some(_) => Ok(Some(A::NotSecondary)),
                    None => self.syntax(),
                };
            }
            Kw::ON => {
                if self.peek(1).kw != Kw::UPDATE {
                    return Ok(None);
                }
                self.advance();
                self.advance();
                let fractional = self.now()?;
                return Ok(Some(A::OnUpdateNow { fractional }));
            }
            Kw::CONSTRAINT => {
                self.advance();
                let constraint = self.opt_ident()?;
                return self.check(constraint).map(|c| Some(A::Check(c)));
            }
            Kw::CHECK => return self.check(None).map(|c| Some(A::Check(c))),
            Kw::REFERENCES => return self.references().map(|r| Some(A::References(Box::new(r)))),
            _ => {}
        }
        let words = [
            Kw::NULL,
            Kw::DEFAULT,
            Kw::AUTO_INCREMENT,
            Kw::PRIMARY,
            Kw::KEY,
            Kw::UNIQUE,
            Kw::COMMENT,
            Kw::COLLATE,
            Kw::COLUMN_FORMAT,
            Kw::STORAGE,
            Kw::SRID,
            Kw::VISIBLE,
            Kw::INVISIBLE,
            Kw::ENGINE_ATTRIBUTE,
            Kw::SECONDARY_ENGINE_ATTRIBUTE,
        ];
        let Some(kw) = self.one_of(&words) else { return Ok(None) };
        Ok(Some(match kw {
            Kw::NULL => A::Null,
            Kw::DEFAULT => {
                let (expr, parenthesised) = self.default_value()?;
                A::Default { expr, parenthesised }
            }
            Kw::AUTO_INCREMENT => A::AutoIncrement,
            Kw::PRIMARY => {
                self.expect_kw(Kw::KEY)?;
                A::PrimaryKey
            }
            Kw::KEY => A::PrimaryKey,
            Kw::UNIQUE => {
                self.eat_kw(Kw::KEY);
                A::Unique
            }
            Kw::COMMENT => {
                // MariaDB allows `=`.
                self.eat(Tok::Eq);
                A::Comment(self.string()?)
            }
            Kw::COLLATE => A::Collate(self.collation_name()?),
            Kw::COLUMN_FORMAT => A::ColumnFormat(match self.one_of(&[Kw::DEFAULT, Kw::FIXED, Kw::DYNAMIC]) {
                Some(Kw::DEFAULT) => ColumnFormat::Default,
                Some(Kw::FIXED) => ColumnFormat::Fixed,
                Some(_) => ColumnFormat::Dynamic,
                None => return self.syntax(),
            }),
            Kw::STORAGE => A::Storage(self.column_storage()?),
            Kw::SRID => A::Srid(self.number()?),
            Kw::VISIBLE => A::Visible,
            Kw::INVISIBLE => A::Invisible,
            Kw::ENGINE_ATTRIBUTE => {
                self.eat(Tok::Eq);
                A::EngineAttribute(self.string()?)
            }
            _ => {
                self.eat(Tok::Eq);
                A::SecondaryEngineAttribute(self.string()?)
            }
        }))
    }

    #[inline(never)]
    fn column_storage(&mut self) -> Result<ColumnStorage> {
        match self.one_of(&[Kw::DEFAULT, Kw::DISK, Kw::MEMORY]) {
            Some(Kw::DEFAULT) => Ok(ColumnStorage::Default),
            Some(Kw::DISK) => Ok(ColumnStorage::Disk),
            Some(_) => Ok(ColumnStorage::Memory),
            None => self.syntax(),
        }
    }

    /// Behind DEFAULT: the value and whether it stands in parentheses.
    #[inline(never)]
    pub(super) fn default_value(&mut self) -> Result<(Expr, bool)> {
        if self.eat(Tok::LParen) {
            let expr = self.expr()?;
            self.expect(Tok::RParen)?;
            return Ok((expr, true));
        }
        if self.at_now() {
            let start = self.here();
            let fractional = self.now()?;
            let span = self.span_from(start);
            let args = fractional.map(|n| Expr::Literal(Literal::new(LiteralValue::Int(n)))).into_iter().collect();
            let name = Ident { text: "now".into(), span };
            let call = Call { schema: None, name, args, arg_names: Vec::new(), not_builtin: false, span };
            return Ok((Expr::Call(Box::new(call)), false));
        }
        // MariaDB prints function defaults without parentheres.
        if matches!(self.tok().kind, Tok::Word | Tok::Quoted) && self.peek(1).kind == Tok::LParen {
            return Ok((self.expr()?, true));
        }
        Ok((self.signed_literal()?, false))
    }

    #[inline(never)]
    fn at_now(&mut self) -> bool {
        matches!(self.tok().kw, Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP | Kw::NOW)
    }

    /// `CURRENT_TIMESTAMP`, `CURRENT_TIMESTAMP(n)`, `NOW()` and so on; returns n.
    #[inline(never)]
    pub(super) fn now(&mut self) -> Result<Option<u64>> {
        if !self.at_now() {
            return self.syntax();
        }
        self.advance();
        if !self.eat(Tok::LParen) {
            return Ok(None);
        }
        let n = if self.at(Tok::RParen) { None } else { Some(self.number()?) };
        self.expect(Tok::RParen)?;
        Ok(n)
    }
}
