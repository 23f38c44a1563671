//! SHOW.

use super::*;

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn show(&mut self) -> Result<Statement> {
        self.expect_kw(Kw::SHOW)?;
        let kind = self.show_kind()?;
        let filter = if takes_filter(&kind) { self.show_filter()? } else { None };
        Ok(Statement::Show(Box::new(Show { kind, filter })))
    }

    #[inline(never)]
    fn show_filter(&mut self) -> Result<Option<ShowFilter>> {
        if self.eat_kw(Kw::LIKE) {
            return Ok(Some(ShowFilter::Like(self.string_bytes()?)));
        }
        Ok(self.opt_where()?.map(ShowFilter::Where))
    }

    /// `{FROM | IN} schema`
    #[inline(never)]
    fn opt_from_schema(&mut self) -> Result<Option<Ident>> {
        if self.eat_kw(Kw::FROM) || self.eat_kw(Kw::IN) { self.ident().map(Some) } else { Ok(None) }
    }

    /// `{FROM | IN} table [{FROM | IN} schema]`
    #[inline(never)]
    fn from_table(&mut self) -> Result<ObjectName> {
        if !self.eat_kw(Kw::FROM) {
            self.expect_kw(Kw::IN)?;
        }
        let mut table = self.object_name()?;
        if let Some(schema) = self.opt_from_schema()? {
            table.schema = Some(schema);
        }
        Ok(table)
    }

    #[inline(never)]
    fn show_kind(&mut self) -> Result<ShowKind> {
        use ShowKind as S;
        let t = self.tok();
        let extended = t.kw == Kw::EXTENDED && self.eat_kw(Kw::EXTENDED);
        let full = self.eat_kw(Kw::FULL);
        let kw = self.tok().kw;
        let Some(kind) = self.show_plain(kw, extended, full)? else {
            return self.show_words(kw);
        };
        if (extended || full)
            && !matches!(
                kind,
                S::Tables { .. } | S::Columns { .. } | S::Index { .. } | S::ProcessList { .. } | S::Triggers { .. }
            )
        {
            return self.error_at(ErrorKind::Syntax, t.start);
        }
        Ok(kind)
    }

    /// The common ones.
    #[inline(never)]
    fn show_plain(&mut self, kw: Kw, extended: bool, full: bool) -> Result<Option<ShowKind>> {
        use ShowKind as S;
        let next = self.peek(1).kw;
        let kind = match kw {
            Kw::DATABASES | Kw::SCHEMAS => {
                self.advance();
                S::Databases
            }
            Kw::TABLES => {
                self.advance();
                S::Tables { full, extended, schema: self.opt_from_schema()? }
            }
            Kw::TABLE if next == Kw::STATUS => {
                self.advance();
                self.advance();
                S::TableStatus { schema: self.opt_from_schema()? }
            }
            Kw::OPEN if next == Kw::TABLES => {
                self.advance();
                self.advance();
                S::OpenTables { schema: self.opt_from_schema()? }
            }
            Kw::TRIGGERS => {
                self.advance();
                S::Triggers { full, schema: self.opt_from_schema()? }
            }
            Kw::EVENTS => {
                self.advance();
                S::Events { schema: self.opt_from_schema()? }
            }
            Kw::COLUMNS | Kw::FIELDS => {
                self.advance();
                S::Columns { full, extended, table: self.from_table()? }
            }
            Kw::INDEX | Kw::INDEXES | Kw::KEYS => {
                self.advance();
                S::Index { extended, table: self.from_table()? }
            }
            Kw::CREATE => {
                self.advance();
                self.show_create()?
            }
            Kw::GLOBAL | Kw::SESSION | Kw::LOCAL if matches!(next, Kw::VARIABLES | Kw::STATUS) => {
                self.advance();
                let scope = if kw == Kw::GLOBAL { VarScope::Global } else { VarScope::Session };
                if self.advance().kw == Kw::VARIABLES { S::Variables(scope) } else { S::Status(scope) }
            }
            Kw::VARIABLES => {
                self.advance();
                S::Variables(VarScope::Implicit)
            }
            Kw::STATUS => {
                self.advance();
                S::Status(VarScope::Implicit)
            }
            Kw::PROCESSLIST => {
                self.advance();
                S::ProcessList { full }
            }
            Kw::ENGINES => {
                self.advance();
                S::Engines
            }
            Kw::STORAGE if next == Kw::ENGINES => {
                self.advance();
                self.advance();
                S::Engines
            }
            Kw::CHARACTER | Kw::CHAR | Kw::CHARSET => {
                if !self.eat_charset() {
                    return self.syntax();
                }
                S::CharacterSet
            }
            Kw::COLLATION => {
                self.advance();
                S::Collation
            }
            Kw::WARNINGS => {
                self.advance();
                S::Warnings(self.opt_limit()?)
            }
            Kw::ERRORS => {
                self.advance();
                S::Errors(self.opt_limit()?)
            }
            Kw::PRIVILEGES => {
                self.advance();
                S::Privileges
            }
            Kw::PLUGINS => {
                self.advance();
                S::Plugins
            }
            Kw::PROFILES => {
                self.advance();
                S::Profiles
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    /// The rarer ones.
    #[inline(never)]
    fn show_words(&mut self, kw: Kw) -> Result<ShowKind> {
        use ShowKind as S;
        let next = self.peek(1).kw;
        match kw {
            Kw::ENGINE => {
                self.advance();
                let name = if self.at_kw(Kw::ALL) { self.any_word()? } else { self.ident_or_string()? };
                if !matches!(self.tok().kw, Kw::STATUS | Kw::MUTEX | Kw::LOGS) {
                    return self.syntax();
                }
                Ok(S::Engine { name, what: self.any_word()? })
            }
            Kw::COUNT => {
                self.advance();
                self.expect(Tok::LParen)?;
                self.expect(Tok::Star)?;
                self.expect(Tok::RParen)?;
                match self.one_of(&[Kw::WARNINGS, Kw::ERRORS]) {
                    Some(Kw::WARNINGS) => Ok(S::CountWarnings),
                    Some(_) => Ok(S::CountErrors),
                    None => self.syntax(),
                }
            }
            Kw::GRANTS => {
                self.advance();
                self.show_grants()
            }
            Kw::PROCEDURE | Kw::FUNCTION => {
                self.advance();
                let procedure = kw == Kw::PROCEDURE;
                if self.eat_kw(Kw::STATUS) {
                    return Ok(if procedure { S::ProcedureStatus } else { S::FunctionStatus });
                }
                self.expect_kw(Kw::CODE)?;
                let name = self.object_name()?;
                Ok(if procedure { S::ProcedureCode(name) } else { S::FunctionCode(name) })
            }
            Kw::PROFILE => {
                self.advance();
                self.show_profile()
            }
            Kw::BINARY if next == Kw::LOG => {
                self.advance();
                self.advance();
                self.expect_kw(Kw::STATUS)?;
                Ok(S::BinaryLogStatus)
            }
            Kw::BINARY | Kw::MASTER if next == Kw::LOGS => {
                self.advance();
                self.advance();
                Ok(S::BinaryLogs)
            }
            Kw::MASTER if next == Kw::STATUS => {
                self.advance();
                self.advance();
                Ok(S::BinaryLogStatus)
            }
            Kw::BINLOG if next == Kw::STATUS => {
                self.advance();
                self.advance();
                Ok(S::BinaryLogStatus)
            }
            Kw::BINLOG | Kw::RELAYLOG => {
                self.advance();
                self.log_events(kw == Kw::RELAYLOG)
            }
            Kw::REPLICAS => {
                self.advance();
                Ok(S::Replicas)
            }
            Kw::SLAVE | Kw::REPLICA => {
                self.advance();
                if self.eat_kw(Kw::HOSTS) {
                    return Ok(S::Replicas);
                }
                // MariaDB: SHOW SLAVE 'connection' STATUS
                let mut channel = if self.at(Tok::Str) { Some(self.string()?) } else { None };
                self.expect_kw(Kw::STATUS)?;
                if channel.is_none() {
                    channel = self.opt_channel()?;
                }
                Ok(S::ReplicaStatus { channel, all: false })
            }
            Kw::ALL if matches!(next, Kw::REPLICAS) || self.is_word_ahead(1, "SLAVES") => {
                self.advance();
                self.advance();
                self.expect_kw(Kw::STATUS)?;
                Ok(S::ReplicaStatus { channel: None, all: true })
            }
            Kw::PARSE_TREE => {
                self.advance();
                let statement = self.nested(Self::statement)?;
                Ok(S::ParseTree(Box::new(statement)))
            }
            _ if self.at_words(&["PACKAGE", "AUTHORS", "CONTRIBUTORS", "LOCALES"]) || self.at_statistics() => {
                self.words().map(S::Other)
            }
            _ => self.syntax(),
        }
    }

    #[inline(never)]
    fn show_create(&mut self) -> Result<ShowKind> {
        use ShowKind as S;
        let kw = self.tok().kw;
        let make: fn(ObjectName) -> ShowKind = match kw {
            Kw::DATABASE | Kw::SCHEMA => {
                self.advance();
                return Ok(S::CreateDatabase { if_not_exists: self.if_not_exists(), name: self.ident()? });
            }
            Kw::USER => {
                self.advance();
                return self.account().map(S::CreateUser);
            }
            Kw::TABLE => S::CreateTable,
            Kw::VIEW => S::CreateView,
            Kw::PROCEDURE => S::CreateProcedure,
            Kw::FUNCTION => S::CreateFunction,
            Kw::TRIGGER => S::CreateTrigger,
            Kw::EVENT => S::CreateEvent,
            _ => return self.syntax(),
        };
        self.advance();
        self.object_name().map(make)
    }

    #[inline(never)]
    fn show_grants(&mut self) -> Result<ShowKind> {
        let (mut user, mut current_user, mut using) = (None, false, Vec::new());
        if self.eat_kw(Kw::FOR) {
            match self.account()? {
                Account::CurrentUser => current_user = true,
                other => user = Some(other),
            }
            if self.eat_kw(Kw::USING) {
                using = self.list(Self::role)?;
            }
        }
        Ok(ShowKind::Grants { user, current_user, using })
    }

    #[inline(never)]
    fn show_profile(&mut self) -> Result<ShowKind> {
        let mut types: Vec<Box<str>> = Vec::new();
        while matches!(
            self.tok().kw,
            Kw::ALL | Kw::BLOCK | Kw::CONTEXT | Kw::CPU | Kw::IPC | Kw::MEMORY | Kw::PAGE | Kw::SOURCE | Kw::SWAPS
        ) {
            let first = self.advance().kw;
            let words = match first {
                Kw::BLOCK => {
                    self.expect_kw(Kw::IO)?;
                    "BLOCK IO"
                }
                Kw::CONTEXT => {
                    self.expect_kw(Kw::SWITCHES)?;
                    "CONTEXT SWITCHES"
                }
                Kw::PAGE => {
                    self.expect_kw(Kw::FAULTS)?;
                    "PAGE FAULTS"
                }
                other => other.word(),
            };
            types.push(words.into());
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        let query = if self.eat_kw2(Kw::FOR, Kw::QUERY) { Some(self.number()?) } else { None };
        Ok(ShowKind::Profile { types, query, limit: self.opt_limit()? })
    }

    #[inline(never)]
    fn log_events(&mut self, relay: bool) -> Result<ShowKind> {
        // MariaDB: SHOW RELAYLOG ['connection'] EVENTS
        let mut channel = if relay && self.at(Tok::Str) { Some(self.string()?) } else { None };
        self.expect_kw(Kw::EVENTS)?;
        let file = if self.eat_kw(Kw::IN) { Some(self.string()?) } else { None };
        let position = if self.eat_kw(Kw::FROM) { Some(self.number()?) } else { None };
        let limit = self.opt_limit()?;
        if relay && channel.is_none() {
            channel = self.opt_channel()?;
        }
        Ok(ShowKind::LogEvents { relay, file, position, limit, channel })
    }

    pub(super) fn at_words(&self, words: &[&str]) -> bool {
        words.iter().any(|w| self.at_word(w))
    }

    /// `CLIENT_STATISTICS` and its kin of MariaDB.
    pub(super) fn at_statistics(&self) -> bool {
        self.at_words(&["CLIENT_STATISTICS", "USER_STATISTICS", "INDEX_STATISTICS", "TABLE_STATISTICS"])
    }

    /// Words up to a clause or the end, as written.
    pub(super) fn words(&mut self) -> Result<Vec<Ident>> {
        let mut words = Vec::new();
        while self.at(Tok::Word) && !matches!(self.tok().kw, Kw::LIKE | Kw::WHERE) {
            words.push(self.any_word()?);
        }
        Ok(words)
    }

    /// `FOR CHANNEL name`
    #[inline(never)]
    pub(super) fn opt_channel(&mut self) -> Result<Option<Box<str>>> {
        if self.eat_kw2(Kw::FOR, Kw::CHANNEL) { self.ident_or_string().map(|i| Some(i.text)) } else { Ok(None) }
    }
}

fn takes_filter(kind: &ShowKind) -> bool {
    use ShowKind as S;
    matches!(
        kind,
        S::Databases
            | S::Tables { .. }
            | S::TableStatus { .. }
            | S::OpenTables { .. }
            | S::Triggers { .. }
            | S::Events { .. }
            | S::Columns { .. }
            | S::Index { .. }
            | S::Variables(_)
            | S::Status(_)
            | S::CharacterSet
            | S::Collation
            | S::ProcedureStatus
            | S::FunctionStatus
            | S::Plugins
            | S::ProcessList { .. }
            | S::Other(_)
    )
}
