//! Replication statements.

use super::*;

impl Parser<'_> {
    /// CHANGE REPLICATION SOURCE / FILTER, CHANGE MASTER
    #[inline(never)]
    pub(super) fn change(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::CHANGE)?;
        let mut channel = None;
        if self.eat_kw(Kw::REPLICATION) {
            if self.eat_kw(Kw::FILTER) {
                return self.change_filter();
            }
            self.expect_kw(Kw::SOURCE)?;
        } else {
            self.expect_kw(Kw::MASTER)?;
            // MariaDB: CHANGE MASTER 'connection' TO
            if self.at(Tok::Str) {
                channel = Some(self.string()?);
            }
        }
        self.expect_kw(Kw::TO)?;
        let options = self.list(Self::replication_option)?;
        if let Some(named) = self.opt_channel()? {
            channel = Some(named);
        }
        Ok(Statement::Replication(Box::new(Replication::ChangeSource { options, channel })))
    }

    /// `NAME = value`
    #[inline(never)]
    fn replication_option(&mut self) -> Result<(Ident, ReplicationValue)> {
        let mut name = self.any_word()?;
        name.text = name.text.to_ascii_uppercase().into();
        self.expect(Tok::Eq)?;
        let is_account = &*name.text == "PRIVILEGE_CHECKS_USER";
        Ok((name, self.replication_value(is_account)?))
    }

    #[inline(never)]
    fn replication_value(&mut self, is_account: bool) -> Result<ReplicationValue> {
        let t = self.tok();
        match t.kind {
            Tok::Int | Tok::Decimal | Tok::Float | Tok::Hex => {
                self.advance();
                Ok(ReplicationValue::Number(String::from_utf8_lossy(self.bytes(t)).into()))
            }
            Tok::LParen => {
                self.advance();
                let list = if self.at(Tok::RParen) { Vec::new() } else { self.list(Self::number)? };
                self.expect(Tok::RParen)?;
                Ok(ReplicationValue::List(list))
            }
            _ if self.eat_kw(Kw::NULL) => Ok(ReplicationValue::Null),
            _ if is_account => self.account().map(ReplicationValue::Account),
            Tok::Str => self.string().map(ReplicationValue::Text),
            Tok::Word => self.any_word().map(ReplicationValue::Word),
            _ => self.syntax(),
        }
    }

    /// Rules of CHANGE REPLICATION FILTER: `NAME = (a, (b, c), 'd')`; the elements are kept as text.
    #[inline(never)]
    fn change_filter(&mut self) -> Result<Statement> {
        let rules = self.list(|p| {
            let name = p.ident()?;
            p.expect(Tok::Eq)?;
            p.expect(Tok::LParen)?;
            let mut values = Vec::new();
            if !p.at(Tok::RParen) {
                values = p.list(|p| {
                    let start = p.here();
                    if p.eat(Tok::LParen) {
                        p.ident()?;
                        p.expect(Tok::Comma)?;
                        p.ident()?;
                        p.expect(Tok::RParen)?;
                    } else if p.at(Tok::Str) {
                        p.string()?;
                    } else {
                        p.object_name()?;
                    }
                    Ok(p.source_text(start).0)
                })?;
            }
            p.expect(Tok::RParen)?;
            Ok((name, values))
        })?;
        let channel = self.opt_channel()?;
        Ok(Statement::Replication(Box::new(Replication::ChangeFilter { rules, channel })))
    }

    /// Behind START or STOP.
    #[inline(never)]
    pub(super) fn replica(&mut self, start: bool) -> Result<Statement> {
        if self.eat_kw(Kw::GROUP_REPLICATION) {
            let mut credentials = Vec::new();
            while start && matches!(self.tok().kw, Kw::USER | Kw::PASSWORD | Kw::DEFAULT_AUTH) {
                credentials.push(self.credential()?);
                self.eat(Tok::Comma);
            }
            return Ok(Statement::Replication(Box::new(Replication::Group { start, credentials })));
        }
        // MariaDB: START ALL SLAVES, START SLAVE 'connection'
        let all = self.eat_kw(Kw::ALL);
        let plural = self.eat_word("SLAVES") || self.eat_kw(Kw::REPLICAS);
        if !plural && self.one_of(&[Kw::REPLICA, Kw::SLAVE]).is_none() {
            return self.syntax();
        }
        let mut channel = if self.at(Tok::Str) { Some(self.string()?) } else { None };
        let mut threads = Vec::new();
        while matches!(self.tok().kw, Kw::SQL_THREAD | Kw::IO_THREAD | Kw::RELAY_THREAD) {
            threads.push(self.any_word()?);
            self.eat(Tok::Comma);
        }
        let mut until = Vec::new();
        if start && self.eat_kw(Kw::UNTIL) {
            until = self.list(|p| {
                let mut name = p.any_word()?;
                name.text = name.text.to_ascii_uppercase().into();
                if p.eat(Tok::Eq) {
                    return Ok((name, p.replication_value(false)?));
                }
                Ok((name, ReplicationValue::Null))
            })?;
        }
        let mut credentials = Vec::new();
        while start && matches!(self.tok().kw, Kw::USER | Kw::PASSWORD | Kw::DEFAULT_AUTH | Kw::PLUGIN_DIR) {
            credentials.push(self.credential()?);
        }
        if let Some(named) = self.opt_channel()? {
            channel = Some(named);
        }
        Ok(Statement::Replication(Box::new(Replication::Replica { start, threads, until, credentials, channel, all })))
    }

    /// `NAME = 'value'`
    #[inline(never)]
    fn credential(&mut self) -> Result<(Ident, Box<str>)> {
        let name = self.ident()?;
        self.expect(Tok::Eq)?;
        Ok((name, self.string()?))
    }

    #[inline(never)]
    pub(super) fn purge(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::PURGE)?;
        if self.one_of(&[Kw::BINARY, Kw::MASTER]).is_none() {
            return self.syntax();
        }
        self.expect_kw(Kw::LOGS)?;
        let (mut to, mut before) = (None, None);
        if self.eat_kw(Kw::TO) {
            to = Some(self.string()?);
        } else {
            self.expect_kw(Kw::BEFORE)?;
            before = Some(self.expr_without_subquery()?);
        }
        Ok(Statement::Replication(Box::new(Replication::PurgeLogs { to, before })))
    }
}
