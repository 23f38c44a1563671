//! Databases, views, DROP, RENAME, TRUNCATE, and objects of storage.

use super::*;

impl Parser<'_> {
    /// CREATE ...
    #[inline(never)]
    pub(super) fn create(&mut self) -> Result<Statement> {
        let start = self.here();
        self.expect_kw(Kw::CREATE)?;
        let or_replace = self.eat_kw2(Kw::OR, Kw::REPLACE);
        match self.tok().kw {
            Kw::TEMPORARY => {
                self.advance();
                self.expect_kw(Kw::TABLE)?;
                self.create_table(true, or_replace)
            }
            Kw::TABLE => {
                self.advance();
                self.create_table(false, or_replace)
            }
            Kw::INDEX | Kw::UNIQUE | Kw::FULLTEXT => self.create_index(or_replace),
            Kw::SPATIAL if self.peek(1).kw == Kw::INDEX => self.create_index(or_replace),
            Kw::DATABASE | Kw::SCHEMA if !or_replace => {
                self.advance();
                let if_not_exists = self.if_not_exists();
                let name = self.ident()?;
                Ok(Statement::CreateDatabase { if_not_exists, name, options: self.database_options()? })
            }
            Kw::USER => {
                self.advance();
                self.user_statement(false, or_replace)
            }
            Kw::ROLE if !or_replace => {
                self.advance();
                let if_not_exists = self.if_not_exists();
                Ok(Statement::CreateRole { if_not_exists, roles: self.list(Self::role_name)? })
            }
            Kw::ALGORITHM
            | Kw::VIEW
            | Kw::DEFINER
            | Kw::SQL
            | Kw::PROCEDURE
            | Kw::FUNCTION
            | Kw::AGGREGATE
            | Kw::TRIGGER
            | Kw::EVENT => self.create_program(start, or_replace),
            Kw::DATABASE | Kw::SCHEMA | Kw::ROLE => self.syntax(),
            _ => self.storage_statement(StorageVerb::Create, or_replace),
        }
    }

    /// Options of CREATE / ALTER DATABASE.
    #[inline(never)]
    fn database_options(&mut self) -> Result<Vec<DatabaseOption>> {
        let mut out = Vec::new();
        loop {
            let has_default = self.eat_kw(Kw::DEFAULT);
            let option = match self.tok().kw {
                Kw::COLLATE => {
                    self.advance();
                    self.eat(Tok::Eq);
                    DatabaseOption::Collate(self.collation_name()?)
                }
                Kw::ENCRYPTION => {
                    self.advance();
                    self.eat(Tok::Eq);
                    DatabaseOption::Encryption(self.string()?)
                }
                Kw::READ => {
                    self.advance();
                    self.expect_kw(Kw::ONLY)?;
                    self.eat(Tok::Eq);
                    DatabaseOption::ReadOnly(self.number_or_default()?)
                }
                Kw::COMMENT => {
                    self.advance();
                    self.eat(Tok::Eq);
                    DatabaseOption::Comment(self.string()?)
                }
                _ if self.eat_charset() => {
                    self.eat(Tok::Eq);
                    DatabaseOption::Charset(self.charset_name()?)
                }
                _ if has_default => return self.syntax(),
                _ => return Ok(out),
            };
            out.push(option);
        }
    }

    /// ALTER ...
    #[inline(never)]
    pub(super) fn alter(&mut self) -> Result<Statement> {
        let start = self.here();
        self.expect_kw(Kw::ALTER)?;
        // MariaDB: ALTER [ONLINE] TABLE. IGNORE, which dropped duplicate rows, is refused as 8.4 does.
        if self.at_word("ONLINE") && self.peek(1).kw == Kw::TABLE {
            self.advance();
        }
        match self.tok().kw {
            Kw::TABLE => {
                self.advance();
                self.alter_table()
            }
            Kw::DATABASE | Kw::SCHEMA => {
                self.advance();
                let options_follow = matches!(
                    self.tok().kw,
                    Kw::DEFAULT | Kw::CHARACTER | Kw::CHAR | Kw::CHARSET | Kw::COLLATE | Kw::ENCRYPTION | Kw::READ
                );
                let name = if options_follow { None } else { Some(self.ident()?) };
                let options = self.database_options()?;
                if options.is_empty() {
                    return self.syntax();
                }
                Ok(Statement::AlterDatabase { name, options })
            }
            Kw::USER => {
                self.advance();
                self.user_statement(true, false)
            }
            Kw::PROCEDURE | Kw::FUNCTION => {
                let kind =
                    if self.advance().kw == Kw::PROCEDURE { RoutineKind::Procedure } else { RoutineKind::Function };
                let name = self.object_name()?;
                Ok(Statement::AlterRoutine { kind, name, characteristics: self.characteristics()? })
            }
            Kw::ALGORITHM | Kw::VIEW | Kw::DEFINER | Kw::SQL => self.alter_program(start),
            Kw::EVENT => self.alter_event(None),
            _ => self.storage_statement(StorageVerb::Alter, false),
        }
    }

    /// Behind `VIEW`; the clauses in front of it are given.
    #[inline(never)]
    pub(super) fn view(&mut self, mut view: CreateView) -> Result<Statement> {
        if !view.alter {
            view.existence.if_exists = self.if_not_exists();
        }
        view.name = self.object_name()?;
        view.columns = self.opt_ident_list()?;
        self.expect_kw(Kw::AS)?;
        let start = self.here();
        view.query = *self.query()?;
        view.text = self.source_text(start);
        if self.eat_kw(Kw::WITH) {
            let cascaded = match self.one_of(&[Kw::CASCADED, Kw::LOCAL]) {
                Some(kw) => kw == Kw::CASCADED,
                None => true,
            };
            self.expect_kw(Kw::CHECK)?;
            self.expect_kw(Kw::OPTION)?;
            view.check_option = Some(cascaded);
        }
        Ok(Statement::CreateView(Box::new(view)))
    }

    /// DROP ...
    #[inline(never)]
    pub(super) fn drop(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::DROP)?;
        let kw = self.tok().kw;
        let kind = match kw {
            Kw::TEMPORARY => {
                self.advance();
                if !matches!(self.tok().kw, Kw::TABLE | Kw::TABLES) {
                    return self.syntax();
                }
                self.advance();
                return self.drop_table(true);
            }
            Kw::TABLE | Kw::TABLES => {
                self.advance();
                return self.drop_table(false);
            }
            Kw::VIEW => {
                self.advance();
                let if_exists = self.if_exists();
                let names = self.list(Self::object_name)?;
                let _ = self.eat_kw(Kw::RESTRICT) || self.eat_kw(Kw::CASCADE);
                return Ok(Statement::DropView { if_exists, names });
            }
            Kw::DATABASE | Kw::SCHEMA => {
                self.advance();
                return Ok(Statement::DropDatabase { if_exists: self.if_exists(), name: self.ident()? });
            }
            Kw::INDEX => {
                self.advance();
                let if_exists = self.if_exists();
                let name = self.index_name()?;
                self.expect_kw(Kw::ON)?;
                let table = self.object_name()?;
                let online = self.online_options()?;
                return Ok(Statement::DropIndex(Box::new(DropIndex { if_exists, name, table, online })));
            }
            Kw::USER => {
                self.advance();
                return Ok(Statement::DropUser { if_exists: self.if_exists(), users: self.list(Self::account)? });
            }
            Kw::ROLE => {
                self.advance();
                return Ok(Statement::DropRole { if_exists: self.if_exists(), roles: self.list(Self::role_name)? });
            }
            Kw::PREPARE => {
                self.advance();
                return self.ident().map(Statement::Deallocate);
            }
            Kw::PROCEDURE => ProgramKind::Procedure,
            Kw::FUNCTION => ProgramKind::Function,
            Kw::TRIGGER => ProgramKind::Trigger,
            Kw::EVENT => ProgramKind::Event,
            _ => return self.storage_statement(StorageVerb::Drop, false),
        };
        self.advance();
        Ok(Statement::DropProgram { kind, if_exists: self.if_exists(), name: self.object_name()? })
    }

    #[inline(never)]
    fn drop_table(&mut self, temporary: bool) -> Result<Statement> {
        let if_exists = self.if_exists();
        let names = self.list(Self::object_name)?;
        let _ = self.eat_kw(Kw::RESTRICT) || self.eat_kw(Kw::CASCADE);
        Ok(Statement::DropTable { temporary, if_exists, names })
    }

    #[inline(never)]
    pub(super) fn rename(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::RENAME)?;
        if self.eat_kw(Kw::USER) {
            let pairs = self.list(|p| {
                let from = p.account()?;
                p.expect_kw(Kw::TO)?;
                Ok((from, p.account()?))
            })?;
            return Ok(Statement::RenameUser(pairs));
        }
        if !self.eat_kw(Kw::TABLES) {
            self.expect_kw(Kw::TABLE)?;
        }
        let if_exists = self.if_exists();
        let pairs = self.list(|p| {
            let from = p.object_name()?;
            p.expect_kw(Kw::TO)?;
            Ok((from, p.object_name()?))
        })?;
        Ok(Statement::RenameTable { if_exists, pairs })
    }

    #[inline(never)]
    pub(super) fn truncate(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::TRUNCATE)?;
        self.eat_kw(Kw::TABLE);
        self.object_name().map(Statement::Truncate)
    }

    /// Does what follows `ALTER INSTANCE` name an action?
    fn instance_action(&mut self) -> bool {
        let second = self.peek(1);
        let innodb = self.is_word_token(second, "INNODB");
        match self.tok().kw {
            Kw::ROTATE => innodb || second.kw == Kw::BINLOG,
            Kw::RELOAD => second.kw == Kw::TLS || second.kw == Kw::KEYRING,
            Kw::ENABLE | Kw::DISABLE => innodb,
            _ => false,
        }
    }

    /// Tablespaces and so on: what stands behind the name is kept as text.
    #[inline(never)]
    pub(super) fn storage_statement(&mut self, verb: StorageVerb, or_replace: bool) -> Result<Statement> {
        let kw = self.tok().kw;
        let next = self.peek(1).kw;
        let (object, words) = match (kw, next) {
            (Kw::TABLESPACE, _) => (StorageObject::Tablespace, 1),
            (Kw::UNDO, Kw::TABLESPACE) => (StorageObject::UndoTablespace, 2),
            (Kw::LOGFILE, Kw::GROUP) => (StorageObject::LogfileGroup, 2),
            (Kw::SERVER, _) => (StorageObject::Server, 1),
            (Kw::RESOURCE, Kw::GROUP) => (StorageObject::ResourceGroup, 2),
            (Kw::SPATIAL, Kw::REFERENCE) => (StorageObject::SpatialReferenceSystem, 3),
            (Kw::INSTANCE, _) if verb == StorageVerb::Alter => (StorageObject::Instance, 1),
            _ if self.at_word("SEQUENCE") => (StorageObject::Sequence, 1),
            _ => return self.syntax(),
        };
        for _ in 0..words {
            self.advance();
        }
        if object == StorageObject::Instance && !self.instance_action() {
            return self.syntax();
        }
        let if_exists = if verb == StorageVerb::Create { self.if_not_exists() } else { self.if_exists() };
        let name = match object {
            StorageObject::Instance => Ident::default(),
            StorageObject::SpatialReferenceSystem => {
                let t = self.tok();
                self.number()?;
                Ident { text: String::from_utf8_lossy(self.bytes(t)).into(), span: Span { start: t.start, end: t.end } }
            }
            _ => self.ident_or_string()?,
        };
        // The rest by its tokens, so that it stands for itself wherever it is printed.
        let mut rest = String::new();
        while !matches!(self.tok().kind, Tok::End | Tok::Semi) {
            let t = self.tok();
            let word = match t.kind {
                Tok::Error | Tok::Hint | Tok::Param => return self.syntax(),
                Tok::Str => crate::printer::quote_string(&unquote_string(self.bytes(t), self.mode)),
                Tok::Quoted => crate::printer::quote_name(&self.ident_of(t)?).into_bytes(),
                _ => self.bytes(t).to_vec(),
            };
            let word = self.utf8(t, word)?;
            if !rest.is_empty() {
                rest.push(' ');
            }
            rest.push_str(&word);
            self.advance();
        }
        let rest = SourceText(rest.into());
        let existence = Existence { if_exists, or_replace };
        Ok(Statement::Storage(Box::new(StorageStatement { verb, object, existence, name, rest })))
    }
}
