//! SET.

use super::*;

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn set(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::SET)?;
        match self.tok().kw {
            Kw::PASSWORD if self.password_follows() => return self.set_password(),
            Kw::ROLE if self.peek(1).kind != Tok::Eq && self.peek(1).kind != Tok::Assign => {
                self.advance();
                return self.role_selection(true).map(Statement::SetRole);
            }
            Kw::DEFAULT if self.peek(1).kw == Kw::ROLE => {
                self.advance();
                self.advance();
                let roles = self.role_selection(false)?;
                if !self.eat_kw(Kw::TO) {
                    // MariaDB: FOR
                    self.expect_kw(Kw::FOR)?;
                }
                return Ok(Statement::SetDefaultRole { roles, users: self.list(Self::account)? });
            }
            Kw::RESOURCE if self.peek(1).kw == Kw::GROUP => return self.set_resource_group(),
            _ => {}
        }
        if self.at_word("STATEMENT") && is_ident(self.peek(1)) {
            self.advance();
            let assignments = self.set_items()?;
            self.expect_kw(Kw::FOR)?;
            let statement = Box::new(self.nested(Self::statement)?);
            return Ok(Statement::SetStatement { assignments, statement });
        }
        self.set_items().map(Statement::Set)
    }

    #[inline(never)]
    fn password_follows(&mut self) -> bool {
        let t = self.peek(1);
        matches!(t.kind, Tok::Eq | Tok::Assign) || matches!(t.kw, Kw::FOR | Kw::TO)
    }

    /// `SET RESOURCE GROUP name [FOR threads]`
    #[inline(never)]
    fn set_resource_group(&mut self) -> Result<Statement> {
        self.advance();
        self.advance();
        let name = self.ident()?;
        let start = self.here();
        let mut rest = SourceText::default();
        if self.eat_kw(Kw::FOR) {
            self.list(Self::number)?;
            rest = self.source_text(start);
        }
        let statement = StorageStatement {
            verb: StorageVerb::Set,
            object: StorageObject::ResourceGroup,
            existence: Existence::default(),
            name,
            rest,
        };
        Ok(Statement::Storage(Box::new(statement)))
    }

    /// The elements of SET. A scope word holds for the element it stands in front of, and, as in MySQL, for those of
    /// the same list that follow without one.
    #[inline(never)]
    pub(super) fn set_items(&mut self) -> Result<Vec<SetItem>> {
        let mut scope = VarScope::Implicit;
        self.list(|p| p.set_item(&mut scope))
    }

    #[inline(never)]
    fn set_item(&mut self, scope: &mut VarScope) -> Result<SetItem> {
        match self.tok().kind {
            Tok::UserVar => {
                let name = self.user_var()?;
                self.assign_sign()?;
                return Ok(SetItem::User { name, value: self.expr()? });
            }
            Tok::AtAt => {
                let var = self.sys_var()?;
                self.assign_sign()?;
                return Ok(SetItem::Variable {
                    scope: var.scope,
                    at_at: true,
                    prefix: var.prefix,
                    name: var.name,
                    value: self.set_value()?,
                });
            }
            _ => {}
        }
        let assigns = |t: Token| matches!(t.kind, Tok::Eq | Tok::Assign | Tok::Dot);
        let word = self.tok().kw;
        let written = match word {
            Kw::GLOBAL => Some(VarScope::Global),
            Kw::SESSION | Kw::LOCAL => Some(VarScope::Session),
            Kw::PERSIST => Some(VarScope::Persist),
            Kw::PERSIST_ONLY => Some(VarScope::PersistOnly),
            _ => None,
        };
        if let Some(s) = written {
            self.advance();
            *scope = s;
        }
        if self.at_kw(Kw::TRANSACTION) && !assigns(self.peek(1)) {
            let scope = if written.is_some() { *scope } else { VarScope::Implicit };
            return self.set_transaction(scope);
        }
        if self.at_kw(Kw::NAMES) && !matches!(self.peek(1).kind, Tok::Eq | Tok::Assign) {
            self.advance();
            if self.eat_kw(Kw::DEFAULT) {
                return Ok(SetItem::Names { charset: None, collation: None });
            }
            let charset = Some(self.charset_name()?);
            let collation = if self.eat_kw(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
            return Ok(SetItem::Names { charset, collation });
        }
        if self.eat_charset() {
            // MySQL warns of no name here.
            let charset = if self.eat_kw(Kw::DEFAULT) { None } else { Some(self.collation_in_expr()?) };
            return Ok(SetItem::Charset(charset));
        }
        let mut name =
            if self.at_kw(Kw::DEFAULT) && self.peek(1).kind == Tok::Dot { self.any_word()? } else { self.ident()? };
        let mut prefix = None;
        if self.eat(Tok::Dot) {
            prefix = Some(std::mem::replace(&mut name, self.ident()?));
        }
        self.assign_sign()?;
        Ok(SetItem::Variable { scope: *scope, at_at: false, prefix, name, value: self.set_value()? })
    }

    #[inline(never)]
    fn assign_sign(&mut self) -> Result<()> {
        if self.eat(Tok::Assign) {
            return Ok(());
        }
        self.expect(Tok::Eq).map(|_| ())
    }

    #[inline(never)]
    fn set_value(&mut self) -> Result<SetValue> {
        let ends = |t: Token| matches!(t.kind, Tok::Comma | Tok::Semi | Tok::End) || t.kw == Kw::FOR;
        let t = self.tok();
        match t.kw {
            Kw::DEFAULT if ends(self.peek(1)) => {
                self.advance();
                Ok(SetValue::Default)
            }
            Kw::ON | Kw::ALL | Kw::BINARY | Kw::ROW | Kw::SYSTEM if ends(self.peek(1)) => {
                self.advance();
                let value =
                    LiteralValue::String { bytes: t.kw.word().to_ascii_lowercase().into_bytes().into(), charset: None };
                let span = Span { start: t.start, end: t.end };
                Ok(SetValue::Expr(Expr::Literal(Literal { value, index: LiteralIndex(None), span })))
            }
            _ => match self.expr()? {
                // Signs and parentheses leave no trace in the tree; around DEFAULT they are errors.
                Expr::Default => self.error_at(ErrorKind::Syntax, t.start),
                expr => Ok(SetValue::Expr(expr)),
            },
        }
    }

    #[inline(never)]
    fn set_transaction(&mut self, scope: VarScope) -> Result<SetItem> {
        self.advance();
        let (mut isolation, mut read_only) = (None, None);
        loop {
            if isolation.is_none() && self.eat_kw(Kw::ISOLATION) {
                self.expect_kw(Kw::LEVEL)?;
                isolation = Some(self.isolation()?);
            } else if read_only.is_none() && self.at_kw(Kw::READ) {
                read_only = Some(self.read_mode()?);
            } else {
                return self.syntax();
            }
            if !self.eat(Tok::Comma) {
                return Ok(SetItem::Transaction { scope, isolation, read_only });
            }
        }
    }

    #[inline(never)]
    fn isolation(&mut self) -> Result<Isolation> {
        match self.one_of(&[Kw::READ, Kw::REPEATABLE, Kw::SERIALIZABLE]) {
            Some(Kw::READ) => match self.one_of(&[Kw::UNCOMMITTED, Kw::COMMITTED]) {
                Some(Kw::UNCOMMITTED) => Ok(Isolation::ReadUncommitted),
                Some(_) => Ok(Isolation::ReadCommitted),
                None => self.syntax(),
            },
            Some(Kw::REPEATABLE) => {
                self.expect_kw(Kw::READ)?;
                Ok(Isolation::RepeatableRead)
            }
            Some(_) => Ok(Isolation::Serializable),
            None => self.syntax(),
        }
    }
}
