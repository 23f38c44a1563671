//! Which statement is it?

use super::*;

impl Parser<'_> {
    pub(super) fn statement_or_empty(&mut self) -> Result<Statement> {
        if self.at(Tok::Semi) {
            // `;` at the end of a packet means nothing.
            let start = self.here();
            while self.eat(Tok::Semi) {}
            if !self.at(Tok::End) {
                return self.error_at(ErrorKind::Syntax, start);
            }
        }
        if self.at(Tok::End) {
            return Ok(Statement::Empty);
        }
        self.statement()
    }

    /// Any statement; inside a stored program also those that exist only there.
    pub(super) fn statement(&mut self) -> Result<Statement> {
        if self.in_program
            && let Some(compound) = self.opt_compound()?
        {
            return Ok(compound);
        }
        let kw = self.tok().kw;
        match kw {
            Kw::SELECT | Kw::VALUES => self.query().map(Statement::Query),
            Kw::TABLE => self.query().map(Statement::Query),
            Kw::WITH => self.with_statement(),
            Kw::INSERT | Kw::REPLACE => self.insert(),
            Kw::UPDATE => self.update(None),
            Kw::DELETE => self.delete(None),
            Kw::LOAD => self.load(),
            Kw::DO => self.do_statement(),
            Kw::CALL => self.call_statement(),
            Kw::HANDLER => self.handler(),
            Kw::CREATE => self.create(),
            Kw::ALTER => self.alter(),
            Kw::DROP => self.drop(),
            Kw::TRUNCATE => self.truncate(),
            Kw::RENAME => self.rename(),
            Kw::BEGIN => self.begin_statement(),
            Kw::START => self.start(),
            Kw::STOP => self.stop(),
            Kw::COMMIT => self.commit(),
            Kw::ROLLBACK => self.rollback(),
            Kw::SAVEPOINT => self.savepoint(),
            Kw::RELEASE => self.release(),
            Kw::XA => self.xa(),
            Kw::LOCK => self.lock(),
            Kw::UNLOCK => self.unlock(),
            Kw::SET => self.set(),
            Kw::SHOW => self.show(),
            Kw::EXPLAIN | Kw::DESCRIBE | Kw::DESC => self.explain(),
            Kw::HELP => {
                self.advance();
                self.ident_or_string().map(|i| Statement::Help(i.text))
            }
            Kw::USE => {
                self.advance();
                self.ident().map(Statement::Use)
            }
            Kw::KILL => self.kill(),
            Kw::PREPARE => self.prepare(),
            Kw::EXECUTE => self.execute(),
            Kw::DEALLOCATE => {
                self.advance();
                self.expect_kw(Kw::PREPARE)?;
                self.ident().map(Statement::Deallocate)
            }
            Kw::ANALYZE | Kw::CHECK | Kw::CHECKSUM | Kw::OPTIMIZE | Kw::REPAIR => self.maintenance(),
            Kw::CACHE => self.cache_index(),
            Kw::FLUSH => self.flush(),
            Kw::RESET => self.reset(),
            Kw::SHUTDOWN => {
                self.advance();
                Ok(Statement::Shutdown)
            }
            Kw::RESTART => {
                self.advance();
                Ok(Statement::Restart)
            }
            Kw::BINLOG => {
                self.advance();
                self.string_bytes().map(Statement::Binlog)
            }
            Kw::CLONE => self.clone_statement(),
            Kw::IMPORT => {
                self.advance();
                self.expect_kw(Kw::TABLE)?;
                self.expect_kw(Kw::FROM)?;
                self.list(Self::string_bytes).map(Statement::ImportTable)
            }
            Kw::INSTALL => self.install(),
            Kw::UNINSTALL => self.uninstall(),
            Kw::GRANT => self.grant(),
            Kw::REVOKE => self.revoke(),
            Kw::CHANGE => self.change(),
            Kw::PURGE => self.purge(),
            Kw::SIGNAL | Kw::RESIGNAL => self.signal(),
            Kw::GET => self.get_diagnostics(),
            _ if self.at(Tok::LParen) => self.query().map(Statement::Query),
            _ => self.syntax(),
        }
    }

    /// WITH in front of a query, UPDATE or DELETE.
    #[inline(never)]
    fn with_statement(&mut self) -> Result<Statement> {
        let start = self.here();
        let with = self.nested(Self::opt_with)?;
        match self.tok().kw {
            Kw::UPDATE => self.update(with),
            Kw::DELETE => self.delete(with),
            _ => {
                let query = self.nested(|p| p.query_body_and_tail(with, start))?;
                Ok(Statement::Query(query))
            }
        }
    }

    /// BEGIN of a transaction, or MariaDB's `BEGIN NOT ATOMIC` block.
    #[inline(never)]
    fn begin_statement(&mut self) -> Result<Statement> {
        if self.peek(1).kw == Kw::NOT && self.is_word_ahead(2, "ATOMIC") {
            self.advance();
            self.advance();
            self.advance();
            return self.in_program(|p| p.block_body(None));
        }
        self.begin()
    }

    pub(super) fn is_word_ahead(&mut self, n: usize, word: &str) -> bool {
        let t = self.peek(n);
        self.is_word_token(t, word)
    }

    fn start(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::START)?;
        if self.eat_kw(Kw::TRANSACTION) {
            return self.start_transaction();
        }
        self.replica(true)
    }

    fn stop(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::STOP)?;
        self.replica(false)
    }

    #[inline(never)]
    fn kill(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::KILL)?;
        // MariaDB: KILL [HARD | SOFT]
        let _ = self.eat_word("HARD") || self.eat_word("SOFT");
        let query = self.eat_kw(Kw::QUERY);
        if !query {
            self.eat_kw(Kw::CONNECTION);
        }
        Ok(Statement::Kill { query, id: self.expr_without_subquery()? })
    }

    #[inline(never)]
    fn prepare(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::PREPARE)?;
        let name = self.ident()?;
        self.expect_kw(Kw::FROM)?;
        let source = if self.at(Tok::UserVar) {
            PrepareSource::Variable(self.user_var()?)
        } else {
            PrepareSource::Text(self.string_bytes()?)
        };
        Ok(Statement::Prepare { name, source })
    }

    #[inline(never)]
    fn execute(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::EXECUTE)?;
        if self.at_word("IMMEDIATE")
            && !matches!(self.peek(1).kind, Tok::End | Tok::Semi)
            && self.peek(1).kw != Kw::USING
        {
            self.advance();
            return self.expr().map(Statement::ExecuteImmediate);
        }
        let name = self.ident()?;
        let using = if self.eat_kw(Kw::USING) { self.list(Self::user_var)? } else { Vec::new() };
        Ok(Statement::Execute { name, using })
    }

    /// EXPLAIN, DESCRIBE, DESC
    #[inline(never)]
    fn explain(&mut self) -> Result<Statement> {
        self.advance();
        let mut explain = Explain {
            analyze: false,
            format: None,
            into: None,
            schema: None,
            target: ExplainTarget::Statement(Statement::Empty),
        };
        let mut plain = true;
        loop {
            let next = self.peek(1);
            match self.tok().kw {
                Kw::ANALYZE if !explain.analyze => {
                    self.advance();
                    explain.analyze = true;
                }
                Kw::FORMAT if next.kind == Tok::Eq => {
                    self.advance();
                    self.advance();
                    explain.format = Some(self.ident_or_string()?);
                }
                Kw::INTO if next.kind == Tok::UserVar => {
                    self.advance();
                    explain.into = Some(self.user_var()?);
                }
                Kw::FOR if matches!(next.kw, Kw::SCHEMA | Kw::DATABASE) => {
                    self.advance();
                    self.advance();
                    explain.schema = Some(self.ident()?);
                }
                _ => break,
            }
            plain = false;
        }
        if self.eat_kw2(Kw::FOR, Kw::CONNECTION) {
            explain.target = ExplainTarget::Connection(self.number()?);
            return Ok(Statement::Explain(Box::new(explain)));
        }
        let t = self.tok();
        if self.explainable(t) {
            let statement = self.nested(Self::statement)?;
            explain.target = ExplainTarget::Statement(statement);
            return Ok(Statement::Explain(Box::new(explain)));
        }
        if !plain {
            return self.syntax();
        }
        let table = self.object_name()?;
        let column = if self.at(Tok::Str) {
            Some(DescribeColumn::Pattern(self.string_bytes()?))
        } else {
            self.opt_ident()?.map(DescribeColumn::Name)
        };
        Ok(Statement::Describe { table, column })
    }

    pub(super) fn explainable(&self, t: Token) -> bool {
        t.kind == Tok::LParen
            || matches!(
                t.kw,
                Kw::SELECT | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE | Kw::WITH | Kw::TABLE | Kw::VALUES
            )
    }
}
