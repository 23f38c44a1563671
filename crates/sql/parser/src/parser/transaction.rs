//! Transactions and locks.

use super::*;

impl Parser<'_> {
    /// `BEGIN [WORK]` as a statement of its own.
    #[inline(never)]
    pub(super) fn begin(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::BEGIN)?;
        self.eat_kw(Kw::WORK);
        Ok(Statement::Begin(Begin::default()))
    }

    /// Behind `START TRANSACTION`.
    #[inline(never)]
    pub(super) fn start_transaction(&mut self) -> Result<Statement> {
        let mut begin = Begin::default();
        if self.at(Tok::End) || self.at(Tok::Semi) {
            return Ok(Statement::Begin(begin));
        }
        loop {
            if self.at_kw(Kw::WITH) {
                self.advance();
                self.expect_kw(Kw::CONSISTENT)?;
                self.expect_kw(Kw::SNAPSHOT)?;
                begin.consistent_snapshot = true;
            } else if self.at_kw(Kw::READ) && begin.read_only.is_none() {
                begin.read_only = Some(self.read_mode()?);
            } else {
                return self.syntax();
            }
            if !self.eat(Tok::Comma) {
                return Ok(Statement::Begin(begin));
            }
        }
    }

    /// `READ ONLY | WRITE`: is it ONLY?
    #[inline(never)]
    pub(super) fn read_mode(&mut self) -> Result<bool> {
        self.expect_kw(Kw::READ)?;
        match self.one_of(&[Kw::ONLY, Kw::WRITE]) {
            Some(kw) => Ok(kw == Kw::ONLY),
            None => self.syntax(),
        }
    }

    #[inline(never)]
    pub(super) fn commit(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::COMMIT)?;
        self.eat_kw(Kw::WORK);
        self.completion().map(Statement::Commit)
    }

    #[inline(never)]
    pub(super) fn rollback(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::ROLLBACK)?;
        self.eat_kw(Kw::WORK);
        if self.eat_kw(Kw::TO) {
            if self.at_kw(Kw::SAVEPOINT) && is_ident(self.peek(1)) {
                self.advance();
            }
            return self.ident().map(Statement::RollbackTo);
        }
        self.completion().map(Statement::Rollback)
    }

    /// `[AND [NO] CHAIN] [[NO] RELEASE]`
    #[inline(never)]
    fn completion(&mut self) -> Result<Completion> {
        let mut c = Completion::default();
        if self.eat_kw(Kw::AND) {
            let no = self.eat_kw(Kw::NO);
            self.expect_kw(Kw::CHAIN)?;
            c.chain = Some(!no);
        }
        if c.chain != Some(true) && self.eat_kw(Kw::RELEASE) {
            c.release = Some(true);
        } else if self.eat_kw(Kw::NO) {
            self.expect_kw(Kw::RELEASE)?;
            c.release = Some(false);
        }
        Ok(c)
    }

    #[inline(never)]
    pub(super) fn savepoint(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::SAVEPOINT)?;
        self.ident().map(Statement::Savepoint)
    }

    #[inline(never)]
    pub(super) fn release(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::RELEASE)?;
        self.expect_kw(Kw::SAVEPOINT)?;
        self.ident().map(Statement::ReleaseSavepoint)
    }

    #[inline(never)]
    pub(super) fn xa(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::XA)?;
        let verbs = [Kw::START, Kw::BEGIN, Kw::END, Kw::PREPARE, Kw::COMMIT, Kw::ROLLBACK, Kw::RECOVER];
        let Some(verb) = self.one_of(&verbs) else { return self.syntax() };
        if verb == Kw::RECOVER {
            let convert_xid = self.eat_kw(Kw::CONVERT);
            if convert_xid {
                self.expect_kw(Kw::XID)?;
            } else if self.eat_word("FORMAT") {
                // MariaDB: XA RECOVER FORMAT = 'SQL'
                self.expect(Tok::Eq)?;
                self.string()?;
            }
            return Ok(Statement::Xa(Xa::Recover { convert_xid }));
        }
        let xid = self.xid()?;
        Ok(Statement::Xa(match verb {
            Kw::START | Kw::BEGIN => {
                let join = self.eat_kw(Kw::JOIN);
                let resume = !join && self.eat_kw(Kw::RESUME);
                Xa::Start { xid, join, resume }
            }
            Kw::END => {
                let suspend = self.eat_kw(Kw::SUSPEND);
                let for_migrate = suspend && self.eat_kw(Kw::FOR);
                if for_migrate {
                    self.expect_kw(Kw::MIGRATE)?;
                }
                Xa::End { xid, suspend, for_migrate }
            }
            Kw::PREPARE => Xa::Prepare(xid),
            Kw::COMMIT => {
                let one_phase = self.eat_kw(Kw::ONE);
                if one_phase {
                    self.expect_kw(Kw::PHASE)?;
                }
                Xa::Commit { xid, one_phase }
            }
            _ => Xa::Rollback(xid),
        }))
    }

    #[inline(never)]
    fn xid(&mut self) -> Result<Xid> {
        let texts = [self.at(Tok::Str), true];
        let gtrid = self.string_bytes()?;
        let mut xid = Xid { gtrid, bqual: Box::default(), format_id: 1, texts };
        if self.eat(Tok::Comma) {
            xid.texts[1] = self.at(Tok::Str);
            xid.bqual = self.string_bytes()?;
            if self.eat(Tok::Comma) {
                xid.format_id = self.number()?;
            }
        }
        Ok(xid)
    }

    /// LOCK TABLES, LOCK INSTANCE.
    #[inline(never)]
    pub(super) fn lock(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::LOCK)?;
        if self.eat_kw(Kw::INSTANCE) {
            self.expect_kw(Kw::FOR)?;
            self.expect_kw(Kw::BACKUP)?;
            return Ok(Statement::LockInstance);
        }
        if !self.eat_kw(Kw::TABLE) {
            self.expect_kw(Kw::TABLES)?;
        }
        let locks = self.list(|p| {
            let table = p.object_name()?;
            let alias = p.table_alias()?;
            let kind = match p.one_of(&[Kw::READ, Kw::WRITE, Kw::LOW_PRIORITY]) {
                Some(Kw::READ) if p.eat_kw(Kw::LOCAL) => TableLockKind::ReadLocal,
                Some(Kw::READ) => TableLockKind::Read,
                Some(Kw::WRITE) => TableLockKind::Write,
                Some(_) => {
                    p.expect_kw(Kw::WRITE)?;
                    TableLockKind::Write
                }
                None => return p.syntax(),
            };
            Ok(TableLock { table, alias, kind })
        })?;
        Ok(Statement::LockTables(locks))
    }

    #[inline(never)]
    pub(super) fn unlock(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::UNLOCK)?;
        match self.one_of(&[Kw::TABLE, Kw::TABLES, Kw::INSTANCE]) {
            Some(Kw::INSTANCE) => Ok(Statement::UnlockInstance),
            Some(_) => Ok(Statement::UnlockTables),
            None => self.syntax(),
        }
    }
}
