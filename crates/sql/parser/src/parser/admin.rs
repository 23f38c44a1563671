//! Maintenance, FLUSH, RESET, CLONE, INSTALL, diagnostics.

use super::*;

impl Parser<'_> {
    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE; MariaDB's ANALYZE of a statement.
    #[inline(never)]
    pub(super) fn maintenance(&mut self) -> Result<Statement> {
        use MaintenanceKind as M;
        let kind = match self.advance().kw {
            Kw::ANALYZE => M::Analyze,
            Kw::CHECK => M::Check,
            Kw::CHECKSUM => M::Checksum,
            Kw::OPTIMIZE => M::Optimize,
            _ => M::Repair,
        };
        if kind == M::Analyze
            && (matches!(self.tok().kw, Kw::SELECT | Kw::UPDATE | Kw::DELETE | Kw::INSERT | Kw::REPLACE | Kw::WITH)
                || (self.at_kw(Kw::FORMAT) && self.peek(1).kind == Tok::Eq))
        {
            let mut format = None;
            if self.eat_kw(Kw::FORMAT) {
                self.advance();
                format = Some(self.ident_or_string()?);
            }
            if !self.explainable(self.tok()) {
                return self.syntax();
            }
            let target = ExplainTarget::Statement(self.nested(Self::statement)?);
            let explain = Explain { analyze: true, format, into: None, schema: None, target };
            return Ok(Statement::Explain(Box::new(explain)));
        }
        let no_write_to_binlog = matches!(kind, M::Analyze | M::Optimize | M::Repair) && self.no_write_to_binlog();
        if !self.eat_kw(Kw::TABLES) {
            self.expect_kw(Kw::TABLE)?;
        }
        let tables = self.list(Self::object_name)?;
        let mut m = TableMaintenance { kind, no_write_to_binlog, tables, options: Vec::new(), histogram: None };
        match kind {
            M::Analyze => m.histogram = self.histogram()?,
            M::Check => {
                while matches!(self.tok().kw, Kw::FOR | Kw::QUICK | Kw::FAST | Kw::MEDIUM | Kw::EXTENDED | Kw::CHANGED)
                {
                    if self.eat_kw(Kw::FOR) && !self.at_kw(Kw::UPGRADE) {
                        return self.syntax();
                    }
                    m.options.push(self.any_word()?);
                }
            }
            M::Checksum if matches!(self.tok().kw, Kw::QUICK | Kw::EXTENDED) => m.options.push(self.any_word()?),
            M::Repair => {
                while matches!(self.tok().kw, Kw::QUICK | Kw::EXTENDED | Kw::USE_FRM) {
                    m.options.push(self.any_word()?);
                }
            }
            _ => {}
        }
        if kind == M::Analyze && self.eat_word("PERSISTENT") {
            // MariaDB: PERSISTENT FOR ALL
            self.expect_kw(Kw::FOR)?;
            self.expect_kw(Kw::ALL)?;
        }
        Ok(Statement::TableMaintenance(Box::new(m)))
    }

    #[inline(never)]
    fn histogram(&mut self) -> Result<Option<Histogram>> {
        let drop = match self.tok().kw {
            Kw::UPDATE => false,
            Kw::DROP => true,
            _ => return Ok(None),
        };
        self.advance();
        self.expect_kw(Kw::HISTOGRAM)?;
        self.expect_kw(Kw::ON)?;
        let columns = self.list(Self::ident)?;
        let mut h = Histogram { drop, columns, buckets: None, auto_update: None, data: None };
        if drop {
            return Ok(Some(h));
        }
        if self.eat_kw(Kw::USING) {
            self.expect_kw(Kw::DATA)?;
            h.data = Some(self.string()?);
            return Ok(Some(h));
        }
        if self.eat_kw(Kw::WITH) {
            h.buckets = Some(self.number()?);
            self.expect_kw(Kw::BUCKETS)?;
        }
        if let Some(kw) = self.one_of(&[Kw::AUTO, Kw::MANUAL]) {
            self.expect_kw(Kw::UPDATE)?;
            h.auto_update = Some(kw == Kw::AUTO);
        }
        Ok(Some(h))
    }

    /// CACHE INDEX
    #[inline(never)]
    pub(super) fn cache_index(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::CACHE)?;
        self.expect_kw(Kw::INDEX)?;
        let tables = self.list(Self::key_cache_table)?;
        self.expect_kw(Kw::IN)?;
        let cache = if self.at_kw(Kw::DEFAULT) { self.any_word()? } else { self.ident()? };
        Ok(Statement::KeyCache(Box::new(KeyCache { load: false, tables, cache: Some(cache) })))
    }

    /// Behind `LOAD INDEX`.
    #[inline(never)]
    pub(super) fn load_index(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::INTO)?;
        self.expect_kw(Kw::CACHE)?;
        let tables = self.list(Self::key_cache_table)?;
        Ok(Statement::KeyCache(Box::new(KeyCache { load: true, tables, cache: None })))
    }

    #[inline(never)]
    fn key_cache_table(&mut self) -> Result<KeyCacheTable> {
        let table = self.object_name()?;
        let partitions = if self.eat_kw(Kw::PARTITION) {
            if self.peek(1).kw == Kw::ALL {
                self.paren_list(|p| p.expect_kw(Kw::ALL).map(|()| Ident::new("ALL")))?
            } else {
                self.paren_list(Self::ident)?
            }
        } else {
            Vec::new()
        };
        let mut indexes = None;
        if self.eat_kw(Kw::INDEX) || self.eat_kw(Kw::KEY) {
            self.expect(Tok::LParen)?;
            let names = if self.at(Tok::RParen) { Vec::new() } else { self.list(Self::index_name)? };
            self.expect(Tok::RParen)?;
            indexes = Some(IndexHint { action: IndexHintAction::Use, purpose: None, indexes: names });
        }
        let ignore_leaves = self.eat_kw2(Kw::IGNORE, Kw::LEAVES);
        Ok(KeyCacheTable { table, partitions, indexes, ignore_leaves })
    }

    #[inline(never)]
    pub(super) fn flush(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::FLUSH)?;
        let no_write_to_binlog = self.no_write_to_binlog();
        let targets = if matches!(self.tok().kw, Kw::TABLE | Kw::TABLES) {
            vec![self.flush_tables()?]
        } else {
            self.list(Self::flush_target)?
        };
        Ok(Statement::Flush(Flush { no_write_to_binlog, targets }))
    }

    #[inline(never)]
    fn flush_tables(&mut self) -> Result<FlushTarget> {
        self.advance();
        let names = if self.at_ident() { self.list(Self::object_name)? } else { Vec::new() };
        let (mut with_read_lock, mut for_export) = (false, false);
        if self.eat_kw(Kw::WITH) {
            self.expect_kw(Kw::READ)?;
            self.expect_kw(Kw::LOCK)?;
            with_read_lock = true;
            // MariaDB: AND DISABLE CHECKPOINT
            if self.eat_kw(Kw::AND) {
                self.expect_kw(Kw::DISABLE)?;
                if !self.eat_word("CHECKPOINT") {
                    return self.syntax();
                }
            }
        } else if self.at_kw(Kw::FOR) {
            if names.is_empty() {
                return self.syntax();
            }
            self.advance();
            self.expect_kw(Kw::EXPORT)?;
            for_export = true;
        }
        Ok(FlushTarget::Tables { names, with_read_lock, for_export })
    }

    #[inline(never)]
    fn flush_target(&mut self) -> Result<FlushTarget> {
        use FlushTarget as F;
        let kw = self.tok().kw;
        let target = match kw {
            Kw::BINARY => F::BinaryLogs,
            Kw::ENGINE => F::EngineLogs,
            Kw::ERROR => F::ErrorLogs,
            Kw::GENERAL => F::GeneralLogs,
            Kw::SLOW => F::SlowLogs,
            Kw::RELAY => {
                self.advance();
                self.expect_kw(Kw::LOGS)?;
                return Ok(F::RelayLogs(self.opt_channel()?));
            }
            _ => {
                let target = match kw {
                    Kw::LOGS => F::Logs,
                    Kw::HOSTS => F::Hosts,
                    Kw::OPTIMIZER_COSTS => F::OptimizerCosts,
                    Kw::PRIVILEGES => F::Privileges,
                    Kw::STATUS => F::Status,
                    Kw::USER_RESOURCES => F::UserResources,
                    _ if self.at_words(&["QUERY", "SSL"]) || self.at_statistics() => {
                        return self.words().map(F::Other);
                    }
                    _ => return self.syntax(),
                };
                self.advance();
                return Ok(target);
            }
        };
        self.advance();
        self.expect_kw(Kw::LOGS)?;
        Ok(target)
    }

    #[inline(never)]
    pub(super) fn reset(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::RESET)?;
        self.list(|p| {
            match p.tok().kw {
                Kw::BINARY => {
                    p.advance();
                    p.expect_kw(Kw::LOGS)?;
                    p.expect_kw(Kw::AND)?;
                    p.expect_kw(Kw::GTIDS)?;
                }
                Kw::MASTER => {
                    p.advance();
                }
                Kw::REPLICA | Kw::SLAVE => {
                    p.advance();
                    // MariaDB: RESET SLAVE 'connection' [ALL]
                    let named = if p.at(Tok::Str) { Some(p.string()?) } else { None };
                    let all = p.eat_kw(Kw::ALL);
                    let channel = p.opt_channel()?;
                    return Ok(ResetTarget::Replica { all, channel: channel.or(named) });
                }
                Kw::PERSIST => {
                    p.advance();
                    let if_exists = p.if_exists();
                    let mut name = if if_exists { Some(p.ident()?) } else { p.opt_ident()? };
                    if name.is_some() && p.eat(Tok::Dot) {
                        let last = p.ident()?;
                        name = name.map(|n| Ident { text: format!("{n}.{last}").into(), span: n.span });
                    }
                    return Ok(ResetTarget::Persist { if_exists, name });
                }
                Kw::QUERY => {
                    p.advance();
                    p.expect_kw(Kw::CACHE)?;
                    return Ok(ResetTarget::QueryCache);
                }
                _ => return p.syntax(),
            }
            let to = if p.eat_kw(Kw::TO) { Some(p.number()?) } else { None };
            Ok(ResetTarget::BinaryLogs(to))
        })
        .map(Statement::Reset)
    }

    #[inline(never)]
    pub(super) fn clone_statement(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::CLONE)?;
        let clone = if self.eat_kw(Kw::LOCAL) {
            CloneStatement::Local(self.data_directory()?)
        } else {
            self.expect_kw(Kw::INSTANCE)?;
            self.expect_kw(Kw::FROM)?;
            let donor = self.account()?;
            self.expect(Tok::Colon)?;
            let port = self.number()?;
            self.expect_kw(Kw::IDENTIFIED)?;
            self.expect_kw(Kw::BY)?;
            let password = self.string()?;
            let directory = if self.at_kw(Kw::DATA) { Some(self.data_directory()?) } else { None };
            let ssl = if self.eat_kw(Kw::REQUIRE) {
                let no = self.eat_kw(Kw::NO);
                self.expect_kw(Kw::SSL)?;
                Some(!no)
            } else {
                None
            };
            CloneStatement::Instance { donor, port, password, directory, ssl }
        };
        Ok(Statement::Clone(Box::new(clone)))
    }

    #[inline(never)]
    fn data_directory(&mut self) -> Result<Box<str>> {
        self.expect_kw(Kw::DATA)?;
        self.expect_kw(Kw::DIRECTORY)?;
        self.eat(Tok::Eq);
        self.string()
    }

    #[inline(never)]
    pub(super) fn install(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::INSTALL)?;
        let install = if self.eat_kw(Kw::PLUGIN) {
            let name = self.ident()?;
            self.expect_kw(Kw::SONAME)?;
            Install::Plugin { name, library: self.string()? }
        } else {
            self.expect_kw(Kw::COMPONENT)?;
            let urns = self.list(Self::string)?;
            let set = if self.eat_kw(Kw::SET) { self.set_items()? } else { Vec::new() };
            Install::Component { urns, set }
        };
        Ok(Statement::Install(Box::new(install)))
    }

    #[inline(never)]
    pub(super) fn uninstall(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::UNINSTALL)?;
        Ok(Statement::Uninstall(if self.eat_kw(Kw::PLUGIN) {
            Uninstall::Plugin(self.ident()?)
        } else {
            self.expect_kw(Kw::COMPONENT)?;
            Uninstall::Component(self.list(Self::string)?)
        }))
    }

    /// SIGNAL, RESIGNAL
    #[inline(never)]
    pub(super) fn signal(&mut self) -> Result<Statement> {
        let resignal = self.advance().kw == Kw::RESIGNAL;
        let condition = if self.at_kw(Kw::SQLSTATE) {
            Some(self.sqlstate()?)
        } else if self.at_ident() {
            Some(ConditionValue::Named(self.ident()?))
        } else if resignal {
            None
        } else {
            return self.syntax();
        };
        let items = if self.eat_kw(Kw::SET) {
            self.list(|p| {
                let name = p.condition_item(false)?;
                p.expect(Tok::Eq)?;
                Ok((name, p.plain_value()?))
            })?
        } else {
            Vec::new()
        };
        Ok(Statement::Signal(Box::new(Signal { resignal, condition, items })))
    }

    /// Name of an item of a condition.
    fn condition_item(&mut self, readable: bool) -> Result<Ident> {
        match self.tok().kw {
            Kw::CLASS_ORIGIN
            | Kw::SUBCLASS_ORIGIN
            | Kw::MESSAGE_TEXT
            | Kw::MYSQL_ERRNO
            | Kw::CONSTRAINT_CATALOG
            | Kw::CONSTRAINT_SCHEMA
            | Kw::CONSTRAINT_NAME
            | Kw::CATALOG_NAME
            | Kw::SCHEMA_NAME
            | Kw::TABLE_NAME
            | Kw::COLUMN_NAME
            | Kw::CURSOR_NAME => self.ident(),
            Kw::RETURNED_SQLSTATE if readable => self.ident(),
            _ => self.syntax(),
        }
    }

    /// A literal, a variable or a name.
    fn plain_value(&mut self) -> Result<Expr> {
        match self.tok().kind {
            Tok::UserVar => self.user_var().map(Expr::UserVar),
            Tok::AtAt => Ok(Expr::SysVar(Box::new(self.sys_var()?))),
            Tok::Word | Tok::Quoted if self.at_ident() && !self.at_literal() => self.column_ref().map(Expr::Column),
            Tok::Minus | Tok::Plus => self.syntax(),
            _ => self.signed_literal(),
        }
    }

    /// `SQLSTATE [VALUE] '.....'`
    #[inline(never)]
    pub(super) fn sqlstate(&mut self) -> Result<ConditionValue> {
        self.expect_kw(Kw::SQLSTATE)?;
        self.eat_kw(Kw::VALUE);
        self.string().map(ConditionValue::SqlState)
    }

    #[inline(never)]
    pub(super) fn get_diagnostics(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::GET)?;
        let stacked = self.one_of(&[Kw::CURRENT, Kw::STACKED]) == Some(Kw::STACKED);
        self.expect_kw(Kw::DIAGNOSTICS)?;
        let condition = if self.eat_kw(Kw::CONDITION) { Some(self.plain_value()?) } else { None };
        let of_statement = condition.is_none();
        let items = self.list(|p| {
            let target = p.into_target()?;
            p.expect(Tok::Eq)?;
            if !of_statement {
                return Ok((target, p.condition_item(true)?));
            }
            if !matches!(p.tok().kw, Kw::NUMBER | Kw::ROW_COUNT) {
                return p.syntax();
            }
            Ok((target, p.ident()?))
        })?;
        Ok(Statement::GetDiagnostics(Box::new(GetDiagnostics { stacked, condition, items })))
    }
}
