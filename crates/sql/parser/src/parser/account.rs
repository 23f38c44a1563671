//! Accounts, roles and privileges.

use super::*;

impl Parser<'_> {
    /// `user[@host]`, CURRENT_USER
    #[inline(never)]
    pub(super) fn account(&mut self) -> Result<Account> {
        if self.eat_kw(Kw::CURRENT_USER)
            || (self.at_kw(Kw::USER) && self.peek(1).kind == Tok::LParen && self.eat_kw(Kw::USER))
        {
            if self.eat(Tok::LParen) {
                self.expect(Tok::RParen)?;
            }
            return Ok(Account::CurrentUser);
        }
        self.role()
    }

    /// A role that is defined or dropped: some words would be taken for privileges.
    pub(super) fn role_name(&mut self) -> Result<Account> {
        let refused = matches!(
            self.tok().kw,
            Kw::EVENT
                | Kw::FILE
                | Kw::NONE
                | Kw::PROCESS
                | Kw::PROXY
                | Kw::RELOAD
                | Kw::REPLICATION
                | Kw::RESOURCE
                | Kw::SUPER
                | Kw::EXECUTE
                | Kw::RESTART
                | Kw::SHUTDOWN
        );
        if refused { self.syntax() } else { self.role() }
    }

    /// A role or an account written by name.
    #[inline(never)]
    pub(super) fn role(&mut self) -> Result<Account> {
        let start = self.here();
        let user = self.ident_or_string()?.text;
        let host = if self.at(Tok::UserVar) { self.user_var()?.text.to_ascii_lowercase().into() } else { "%".into() };
        Ok(Account::Name { user, host, span: self.span_from(start) })
    }

    /// NONE, DEFAULT, ALL [EXCEPT ..], or roles. DEFAULT only if `or_default`.
    #[inline(never)]
    pub(super) fn role_selection(&mut self, or_default: bool) -> Result<RoleSelection> {
        if self.eat_kw(Kw::NONE) {
            return Ok(RoleSelection::None);
        }
        if or_default && self.eat_kw(Kw::DEFAULT) {
            return Ok(RoleSelection::Default);
        }
        if self.eat_kw(Kw::ALL) {
            if self.eat_kw(Kw::EXCEPT) {
                return self.list(Self::role).map(RoleSelection::AllExcept);
            }
            return Ok(RoleSelection::All);
        }
        self.list(Self::role).map(RoleSelection::Roles)
    }

    /// Behind `CREATE USER` or `ALTER USER`.
    #[inline(never)]
    pub(super) fn user_statement(&mut self, alter: bool, or_replace: bool) -> Result<Statement> {
        let if_exists = if alter { self.if_exists() } else { self.if_not_exists() };
        let users = self.list(|p| p.user_spec(alter))?;
        let mut s = UserStatement {
            alter,
            existence: Existence { if_exists, or_replace },
            users,
            default_role: None,
            require: None,
            resources: Vec::new(),
            options: Vec::new(),
            comment: None,
        };
        if self.eat_kw(Kw::DEFAULT) {
            self.expect_kw(Kw::ROLE)?;
            s.default_role = Some(self.role_selection(false)?);
        }
        s.require = self.opt_require()?;
        if self.eat_kw(Kw::WITH) {
            s.resources = self.resources()?;
        }
        while let Some(option) = self.user_option()? {
            s.options.push(option);
        }
        if let Some(kw) = self.one_of(&[Kw::COMMENT, Kw::ATTRIBUTE]) {
            s.comment = Some((kw == Kw::COMMENT, self.string()?));
        }
        Ok(Statement::User(Box::new(s)))
    }

    #[inline(never)]
    fn user_spec(&mut self, alter: bool) -> Result<UserSpec> {
        let account = self.account()?;
        let mut spec = bare_user(account);
        if self.at_kw(Kw::IDENTIFIED) {
            spec.auth.push(self.identified()?);
            // MySQL's further factors, MariaDB's alternatives (OR).
            while self.at_kw(Kw::AND) || (self.at_kw(Kw::OR) && !spec.auth.is_empty()) {
                self.advance();
                if self.at_kw(Kw::IDENTIFIED) {
                    spec.auth.push(self.identified()?);
                } else {
                    spec.auth.push(self.authentication_method()?);
                }
            }
            if self.eat_kw(Kw::INITIAL) {
                self.expect_kw(Kw::AUTHENTICATION)?;
                let initial = Some(Box::new(self.identified()?));
                if let Some(last) = spec.auth.last_mut() {
                    last.initial = initial;
                }
            }
        } else if alter {
            if self.eat_kw(Kw::DISCARD) {
                self.expect_kw(Kw::OLD)?;
                self.expect_kw(Kw::PASSWORD)?;
                spec.discard_old_password = true;
            }
            while matches!(self.tok().kw, Kw::ADD | Kw::MODIFY | Kw::DROP) || self.peek(1).kw == Kw::FACTOR {
                spec.factors.push(self.factor()?);
            }
        }
        if self.eat_kw(Kw::REPLACE) {
            spec.replace = Some(self.string_bytes()?);
        }
        if self.at_kw(Kw::RETAIN) {
            self.retain_current()?;
            spec.retain_current = true;
        }
        Ok(spec)
    }

    /// `{ADD | MODIFY} n FACTOR IDENTIFIED ..`, `DROP n FACTOR`, or
    /// `n FACTOR {INITIATE | FINISH} REGISTRATION ..`, `n FACTOR UNREGISTER`
    #[inline(never)]
    fn factor(&mut self) -> Result<FactorAction> {
        let verb = self.one_of(&[Kw::ADD, Kw::MODIFY, Kw::DROP]);
        let factor = self.number()?;
        self.expect_kw(Kw::FACTOR)?;
        let mut auth = None;
        let verb = match verb {
            Some(Kw::DROP) => Kw::DROP,
            Some(verb) => {
                auth = Some(self.identified()?);
                verb
            }
            None => {
                let Some(verb) = self.one_of(&[Kw::INITIATE, Kw::FINISH, Kw::UNREGISTER]) else { return self.syntax() };
                if verb != Kw::UNREGISTER {
                    self.expect_kw(Kw::REGISTRATION)?;
                }
                if verb == Kw::FINISH {
                    self.expect_kw(Kw::SET)?;
                    self.expect_kw(Kw::CHALLENGE_RESPONSE)?;
                    self.expect_kw(Kw::AS)?;
                    let secret = AuthSecret::Hash(self.string_bytes()?);
                    auth = Some(Authentication { plugin: None, secret, initial: None });
                }
                verb
            }
        };
        Ok(FactorAction { verb: Ident::new(verb.word()), factor, auth })
    }

    #[inline(never)]
    fn retain_current(&mut self) -> Result<()> {
        self.expect_kw(Kw::RETAIN)?;
        self.expect_kw(Kw::CURRENT)?;
        self.expect_kw(Kw::PASSWORD)
    }

    /// `IDENTIFIED ...`
    #[inline(never)]
    fn identified(&mut self) -> Result<Authentication> {
        self.expect_kw(Kw::IDENTIFIED)?;
        if self.eat_kw(Kw::BY) {
            let secret = self.secret()?;
            return Ok(Authentication { plugin: None, secret, initial: None });
        }
        if !self.eat_word("VIA") {
            self.expect_kw(Kw::WITH)?;
        }
        self.authentication_method()
    }

    /// `plugin [BY .. | AS .. | USING ..]`
    #[inline(never)]
    fn authentication_method(&mut self) -> Result<Authentication> {
        let plugin = Some(self.ident_or_string()?.text);
        let secret = if self.eat_kw(Kw::BY) {
            self.secret()?
        } else if self.eat_kw(Kw::AS) || self.eat_kw(Kw::USING) {
            if self.at_kw(Kw::PASSWORD) {
                // MariaDB: USING PASSWORD('..')
                self.advance();
                self.expect(Tok::LParen)?;
                let secret = AuthSecret::Password(self.string_bytes()?);
                self.expect(Tok::RParen)?;
                secret
            } else {
                AuthSecret::Hash(self.string_bytes()?)
            }
        } else {
            AuthSecret::None
        };
        Ok(Authentication { plugin, secret, initial: None })
    }

    /// Behind BY.
    #[inline(never)]
    fn secret(&mut self) -> Result<AuthSecret> {
        if self.eat_kw(Kw::RANDOM) {
            self.expect_kw(Kw::PASSWORD)?;
            return Ok(AuthSecret::Random);
        }
        if self.eat_kw(Kw::PASSWORD) {
            return self.string_bytes().map(AuthSecret::Hash);
        }
        self.string_bytes().map(AuthSecret::Password)
    }

    #[inline(never)]
    fn opt_require(&mut self) -> Result<Option<Require>> {
        if !self.eat_kw(Kw::REQUIRE) {
            return Ok(None);
        }
        match self.one_of(&[Kw::NONE, Kw::SSL, Kw::X509]) {
            Some(Kw::NONE) => return Ok(Some(Require::None)),
            Some(Kw::SSL) => return Ok(Some(Require::Ssl)),
            Some(_) => return Ok(Some(Require::X509)),
            None => {}
        }
        let mut attributes = Vec::new();
        while matches!(self.tok().kw, Kw::SUBJECT | Kw::ISSUER | Kw::CIPHER) {
            attributes.push((self.any_word()?, self.string()?));
            self.eat_kw(Kw::AND);
        }
        if attributes.is_empty() {
            return self.syntax();
        }
        Ok(Some(Require::Attributes(attributes)))
    }

    /// Resource limits behind WITH.
    #[inline(never)]
    fn resources(&mut self) -> Result<Vec<(Ident, u64)>> {
        let mut out = Vec::new();
        while matches!(
            self.tok().kw,
            Kw::MAX_QUERIES_PER_HOUR
                | Kw::MAX_UPDATES_PER_HOUR
                | Kw::MAX_CONNECTIONS_PER_HOUR
                | Kw::MAX_USER_CONNECTIONS
        ) || self.at_word("MAX_STATEMENT_TIME")
        {
            out.push((self.any_word()?, self.number()?));
        }
        if out.is_empty() {
            return self.syntax();
        }
        Ok(out)
    }

    #[inline(never)]
    fn user_option(&mut self) -> Result<Option<UserOption>> {
        use UserOption as O;
        Ok(Some(match self.tok().kw {
            Kw::ACCOUNT => {
                self.advance();
                match self.one_of(&[Kw::LOCK, Kw::UNLOCK]) {
                    Some(Kw::LOCK) => O::AccountLock,
                    Some(_) => O::AccountUnlock,
                    None => return self.syntax(),
                }
            }
            Kw::FAILED_LOGIN_ATTEMPTS => {
                self.advance();
                O::FailedLoginAttempts(self.number()?)
            }
            Kw::PASSWORD_LOCK_TIME => {
                self.advance();
                let unbounded = self.eat_word("UNBOUNDED");
                O::PasswordLockTime(if unbounded { None } else { Some(self.number()?) })
            }
            Kw::PASSWORD => {
                self.advance();
                self.password_option()?
            }
            _ => return Ok(None),
        }))
    }

    #[inline(never)]
    fn password_option(&mut self) -> Result<UserOption> {
        use UserOption as O;
        Ok(match self.one_of(&[Kw::EXPIRE, Kw::HISTORY, Kw::REUSE, Kw::REQUIRE]) {
            Some(Kw::EXPIRE) => match self.one_of(&[Kw::DEFAULT, Kw::NEVER, Kw::INTERVAL]) {
                Some(Kw::DEFAULT) => O::PasswordExpireDefault,
                Some(Kw::NEVER) => O::PasswordExpireNever,
                Some(_) => {
                    let days = self.number()?;
                    self.expect_kw(Kw::DAY)?;
                    O::PasswordExpireInterval(days)
                }
                None => O::PasswordExpire,
            },
            Some(Kw::HISTORY) => O::PasswordHistory(self.number_or_default()?),
            Some(Kw::REUSE) => {
                self.expect_kw(Kw::INTERVAL)?;
                let days = self.number_or_default()?;
                if days.is_some() {
                    self.expect_kw(Kw::DAY)?;
                }
                O::PasswordReuseInterval(days)
            }
            Some(_) => {
                self.expect_kw(Kw::CURRENT)?;
                O::PasswordRequireCurrent(match self.one_of(&[Kw::DEFAULT, Kw::OPTIONAL]) {
                    Some(Kw::DEFAULT) => None,
                    Some(_) => Some(false),
                    None => Some(true),
                })
            }
            None => return self.syntax(),
        })
    }

    #[inline(never)]
    pub(super) fn set_password(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::PASSWORD)?;
        let user = if self.eat_kw(Kw::FOR) { Some(self.account()?) } else { None };
        let mut s = SetPassword { user, password: None, replace: None, retain_current: false };
        if self.eat_kw(Kw::TO) {
            self.expect_kw(Kw::RANDOM)?;
        } else {
            if !self.eat(Tok::Assign) {
                self.expect(Tok::Eq)?;
            }
            s.password = Some(self.string_bytes()?);
        }
        if self.eat_kw(Kw::REPLACE) {
            s.replace = Some(self.string_bytes()?);
        }
        if self.at_kw(Kw::RETAIN) {
            self.retain_current()?;
            s.retain_current = true;
        }
        Ok(Statement::SetPassword(Box::new(s)))
    }

    #[inline(never)]
    pub(super) fn grant(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::GRANT)?;
        let items = self.grant_items(Kw::TO)?;
        self.expect_kw(Kw::TO)?;
        let roles = matches!(items, GrantItems::Roles(_));
        let to = self.list(|p| if roles { p.account().map(bare_user) } else { p.user_spec(false) })?;
        let mut grant = Grant { items, to, with_option: false, require: None, resources: Vec::new(), as_user: None };
        if roles {
            if self.eat_kw(Kw::WITH) {
                self.expect_kw(Kw::ADMIN)?;
                self.expect_kw(Kw::OPTION)?;
                grant.with_option = true;
            }
            return Ok(Statement::Grant(Box::new(grant)));
        }
        grant.require = self.opt_require()?;
        if self.eat_kw(Kw::WITH) {
            loop {
                if self.eat_kw(Kw::GRANT) {
                    self.expect_kw(Kw::OPTION)?;
                    grant.with_option = true;
                } else {
                    grant.resources.extend(self.resources()?);
                }
                let more = matches!(
                    self.tok().kw,
                    Kw::GRANT
                        | Kw::MAX_QUERIES_PER_HOUR
                        | Kw::MAX_UPDATES_PER_HOUR
                        | Kw::MAX_CONNECTIONS_PER_HOUR
                        | Kw::MAX_USER_CONNECTIONS
                );
                if !more {
                    break;
                }
            }
        }
        if self.eat_kw(Kw::AS) {
            let user = self.account()?;
            let roles = if self.eat_kw(Kw::WITH) {
                self.expect_kw(Kw::ROLE)?;
                Some(self.role_selection(true)?)
            } else {
                None
            };
            grant.as_user = Some((user, roles));
        }
        Ok(Statement::Grant(Box::new(grant)))
    }

    #[inline(never)]
    pub(super) fn revoke(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::REVOKE)?;
        let if_exists = self.if_exists();
        let items = self.grant_items(Kw::FROM)?;
        self.expect_kw(Kw::FROM)?;
        let from = self.list(Self::account)?;
        let ignore_unknown_user = self.eat_kw2(Kw::IGNORE, Kw::UNKNOWN);
        if ignore_unknown_user {
            self.expect_kw(Kw::USER)?;
        }
        Ok(Statement::Revoke(Box::new(Revoke { if_exists, items, from, ignore_unknown_user })))
    }

    /// What is granted or revoked, up to `stop` (TO or FROM).
    #[inline(never)]
    fn grant_items(&mut self, stop: Kw) -> Result<GrantItems> {
        if self.at_kw(Kw::PROXY) && self.peek(1).kw == Kw::ON {
            self.advance();
            self.advance();
            return self.account().map(GrantItems::Proxy);
        }
        // A list of words or accounts; which of the two shows behind it.
        let mut privileges = Vec::new();
        let mut roles = Vec::new();
        loop {
            let saved = self.state;
            let account = if self.at_ident() || self.at(Tok::Str) { self.role().ok() } else { None };
            let is_role = account.is_some() && (self.at(Tok::Comma) || self.at_kw(stop) || self.at_kw(Kw::ON));
            if !is_role {
                self.state = saved;
                privileges.push(self.privilege()?);
            } else if let Some(account) = account {
                privileges.push(Privilege { name: account_name(&account).into(), columns: Vec::new() });
                roles.push(account);
            }
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        if self.at_kw(Kw::ON) {
            // What could be a role is a dynamic privilege, then: one word without a host.
            if roles.iter().any(|r| !is_dynamic_privilege(r)) {
                return self.syntax();
            }
            self.advance();
            return self.grant_level(privileges);
        }
        if stop == Kw::FROM
            && privileges.len() == 2
            && &*privileges[0].name == "ALL"
            && &*privileges[1].name == "GRANT OPTION"
        {
            return Ok(GrantItems::AllAndGrantOption);
        }
        if roles.len() != privileges.len() {
            return self.syntax();
        }
        Ok(GrantItems::Roles(roles))
    }

    /// Words of one privilege and its columns.
    #[inline(never)]
    fn privilege(&mut self) -> Result<Privilege> {
        let mut name = String::new();
        let start = self.here();
        while self.at(Tok::Word) && !self.at_kw(Kw::ON) && !self.at_kw(Kw::TO) && !self.at_kw(Kw::FROM) {
            let t = self.advance();
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(&String::from_utf8_lossy(self.bytes(t)).to_ascii_uppercase());
        }
        let one_word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if name.is_empty() {
            return self.syntax();
        }
        if !one_word && !PHRASES.contains(&name.as_str()) {
            return self.error_at(ErrorKind::Syntax, start);
        }
        if name == "ALL PRIVILEGES" {
            name = "ALL".into();
        }
        Ok(Privilege { name: name.into(), columns: self.opt_ident_list()? })
    }

    /// Behind ON.
    #[inline(never)]
    fn grant_level(&mut self, privileges: Vec<Privilege>) -> Result<GrantItems> {
        let object = match self.tok().kw {
            Kw::TABLE => GrantObject::Table,
            Kw::FUNCTION => GrantObject::Function,
            Kw::PROCEDURE => GrantObject::Procedure,
            _ => GrantObject::Unspecified,
        };
        if object != GrantObject::Unspecified {
            if object != GrantObject::Table && privileges.iter().any(|p| !p.columns.is_empty()) {
                return self.syntax();
            }
            self.advance();
        }
        let level = if self.eat(Tok::Star) {
            if self.eat(Tok::Dot) {
                self.expect(Tok::Star)?;
                GrantLevel::Global
            } else {
                GrantLevel::CurrentSchema
            }
        } else {
            let first = self.ident()?;
            if !self.eat(Tok::Dot) {
                GrantLevel::Object(ObjectName { schema: None, name: first })
            } else if self.eat(Tok::Star) {
                GrantLevel::Schema(first)
            } else {
                GrantLevel::Object(ObjectName { schema: Some(first), name: self.ident()? })
            }
        };
        Ok(GrantItems::Privileges { privileges, object, level })
    }
}

/// An account and nothing about it.
fn bare_user(account: Account) -> UserSpec {
    UserSpec {
        account,
        auth: Vec::new(),
        factors: Vec::new(),
        discard_old_password: false,
        replace: None,
        retain_current: false,
    }
}

/// Privileges of several words, MySQL's and MariaDB's.
const PHRASES: &[&str] = &[
    "ALL PRIVILEGES",
    "ALTER ROUTINE",
    "CREATE ROLE",
    "CREATE ROUTINE",
    "CREATE TABLESPACE",
    "CREATE TEMPORARY TABLES",
    "CREATE USER",
    "CREATE VIEW",
    "DROP ROLE",
    "GRANT OPTION",
    "LOCK TABLES",
    "REPLICATION CLIENT",
    "REPLICATION SLAVE",
    "SHOW DATABASES",
    "SHOW VIEW",
    "BINLOG ADMIN",
    "BINLOG MONITOR",
    "BINLOG REPLAY",
    "CONNECTION ADMIN",
    "DELETE HISTORY",
    "FEDERATED ADMIN",
    "READ_ONLY ADMIN",
    "REPLICA MONITOR",
    "REPLICATION MASTER ADMIN",
    "REPLICATION REPLICA",
    "REPLICATION REPLICA ADMIN",
    "REPLICATION SLAVE ADMIN",
    "SET USER",
    "SLAVE MONITOR",
];

fn is_dynamic_privilege(account: &Account) -> bool {
    match account {
        Account::Name { user, host, .. } => {
            &**host == "%"
                && user.starts_with(|c: char| c.is_ascii_alphabetic())
                && user.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        }
        Account::CurrentUser => false,
    }
}

fn account_name(account: &Account) -> String {
    match account {
        Account::Name { user, .. } => user.to_ascii_uppercase(),
        Account::CurrentUser => String::new(),
    }
}
