//! A session with its client: the commands of the protocol.

use crate::attempt::Attempt;
use crate::exchange::{packets, read_packet};
use crate::prepared::{Statements, keep_attributes};
use crate::wire::Wire;
use gannet_core::accounts::hosts::Failure;
use gannet_core::accounts::{Origin, Privilege, Privileges, count_connection, nonce, stands_in_for};
use gannet_core::registry::{Activity, Who};
use gannet_runtime::{Conn, Interrupt, Next, Wait, Waker};
use gannet_session::Session;
use gannet_session::reply::Done;
use gannet_session::{Abilities, Opening};
use gannet_telemetry::{Counter, add, count};
use gannet_types::{Result, sql_err};
use gannet_wire::auth::Verdict;
use gannet_wire::command::Command;
use gannet_wire::flags::cap;
use gannet_wire::handshake;
use gannet_wire::reply;
use gannet_wire::value::Format;

/// Largest packet of a client that has not logged in.
pub(crate) const LOGIN_PACKET: usize = 256 * 1024;

/// A session with its client.
pub(crate) struct Client {
    pub(crate) session: Session,
    /// The greeting's challenge.
    nonce: [u8; gannet_wire::auth::NONCE],
    pub(crate) statements: Statements,
    /// Agreed with the client.
    capabilities: u32,
    /// Reused from one result set to the next.
    formats: Vec<Format>,
    /// It has sent no command yet.
    fresh: bool,
}

/// What a login's packet says to a session.
pub(crate) fn opening(hello: &handshake::Login, capabilities: u32) -> Opening {
    let has = |bit: u32| capabilities & bit != 0;
    Opening {
        user: String::from_utf8_lossy(&hello.user).into_owned(),
        database: hello.database.as_deref().map(|d| String::from_utf8_lossy(d).into_owned()),
        collation: hello.collation,
        attributes: hello.attributes.clone(),
        abilities: Abilities {
            found_rows: has(cap::FOUND_ROWS),
            interactive: has(cap::INTERACTIVE),
            multi_statements: has(cap::MULTI_STATEMENTS),
            multi_results: has(cap::MULTI_RESULTS) || has(cap::MULTI_STATEMENTS),
            takes_outs: has(cap::PS_MULTI_RESULTS),
            tracks: has(cap::SESSION_TRACK),
            sends_files: has(cap::LOCAL_FILES),
            omits_metadata: has(cap::OPTIONAL_RESULTSET_METADATA),
        },
    }
}

impl Client {
    pub(crate) fn new(session: Session, nonce: [u8; gannet_wire::auth::NONCE], capabilities: u32) -> Self {
        Client { session, nonce, statements: Statements::default(), capabilities, formats: Vec::new(), fresh: true }
    }

    /// Agreed with the client.
    pub(crate) fn capabilities(&self) -> u32 {
        self.capabilities
    }

    /// Serves one command.
    pub(crate) fn command(&mut self, packet: &[u8], conn: &mut Conn, sequence: &mut u8) -> Next {
        self.session.arrives();
        // KILL QUERY between statements has no statement to kill.
        conn.begin_statement();
        let mut wire = self.wire(conn, sequence);
        let command = match Command::decode(packet, self.capabilities) {
            Ok(command) => command,
            Err(_) => {
                self.session.fail(&mut wire, sql_err!(MalformedPacket));
                wire.exchange.conn.end_statement();
                return Next::Idle;
            }
        };
        let quit = matches!(command, Command::Quit);
        self.session.begins_command();
        add(Counter::BytesReceived, packet.len() as u64 + 4);
        match std::mem::take(&mut self.fresh).then(|| gannet_session::init_connect(&mut self.session)) {
            Some(Err(e)) => {
                if let Ok(ip) = self.session.entry.address.parse() {
                    self.session.server.accounts.limits.hosts.failed(ip, Failure::InitConnect);
                }
                self.session.closing = true;
                self.session.fail(&mut wire, e);
            }
            _ => self.dispatch(command, &mut wire),
        }
        self.formats = std::mem::take(&mut wire.formats);
        if self.session.is_left() {
            gannet_runtime::cpu_rests();
            self.session.entry.counters.leave();
            return Next::Later(Wait::LogFlush);
        }
        self.end_command(&mut wire, quit)
    }

    /// Goes on with a statement whose rest was left, when the log is durable: [`gannet_runtime::Service::resume`].
    pub(crate) fn resume(&mut self, conn: &mut Conn, sequence: &mut u8, waker: &Waker) -> Option<Next> {
        let outcome = self.session.resume(waker)?;
        let mut wire = self.wire(conn, sequence);
        self.session.answer(&mut wire, outcome);
        self.formats = std::mem::take(&mut wire.formats);
        Some(self.end_command(&mut wire, false))
    }

    /// The reply is written.
    pub(crate) fn end_command(&mut self, wire: &mut Wire<'_>, quit: bool) -> Next {
        wire.exchange.conn.end_statement();
        add(Counter::BytesSent, wire.exchange.conn.out().len() as u64);
        let closing = self.session.ends_command();
        let killed = matches!(
            wire.exchange.conn.context().pending(),
            Some(Interrupt::Connection | Interrupt::Shutdown | Interrupt::PeerGone)
        );
        if quit || closing || killed { Next::Close } else { Next::Idle }
    }

    #[inline(always)]
    fn dispatch(&mut self, command: Command<'_>, wire: &mut Wire<'_>) {
        match &command {
            Command::ProcessKill(_)
            | Command::ProcessInfo
            | Command::Shutdown
            | Command::Debug
            | Command::Refresh(_) => {
                // Statements look for newer rights where they take their snapshot.
                self.session.state.renew_snapshot();
            }
            _ => {}
        }
        match command {
            Command::Query { sql, attributes } if attributes.is_empty() => self.session.query(sql, wire),
            Command::Query { sql, attributes } => {
                match keep_attributes(&mut self.session, &attributes) {
                    Ok(()) => self.session.query(sql, wire),
                    Err(e) => self.session.fail(wire, e),
                }
                self.session.state.running.attributes = None;
            }
            Command::Execute(_)
            | Command::Prepare(_)
            | Command::CloseStatement(_)
            | Command::SendLongData { .. }
            | Command::ResetStatement(_)
            | Command::Fetch { .. } => self.prepared(command, wire),
            Command::Ping => {
                count(Counter::ComAdminCommands);
                self.session.note_command("Ping", "");
                self.session.begins(Activity::Other, b"");
                self.session.answer(wire, Ok(Done::default()));
            }
            Command::InitDb(name) => {
                self.session.begins(Activity::InitDb, name);
                count(Counter::ComChangeDb);
                let name = gannet_session::name_of(&self.session, name);
                self.session.note_command("Init DB", &name);
                let outcome = self.session.use_database(&name).map(|()| Done::default());
                self.session.running.diagnostics.warnings.clear();
                self.session.answer(wire, outcome);
            }
            Command::Quit => self.session.note_command("Quit", ""),
            Command::ResetConnection => {
                count(Counter::ComAdminCommands);
                self.session.note_command("Reset Connection", "");
                let opening = self.as_opening();
                self.reset(&opening);
                self.session.answer(wire, Ok(Done::default()));
            }
            Command::ChangeUser(body) => self.change_user(body, wire),
            Command::SetOption(option) => {
                count(Counter::ComSetOption);
                match option {
                    0 => self.session.multi_statements = true,
                    1 => self.session.multi_statements = false,
                    _ => return self.session.fail(wire, sql_err!(UnknownCom)),
                }
                let status = wire.word(self.session.status());
                // The reply is an EOF packet, or OK for clients without EOF.
                let ok = reply::Ok { status, ..reply::Ok::default() };
                reply::end_of_rows(&mut wire.writer(), self.capabilities, &ok);
            }
            Command::Statistics => {
                count(Counter::ComShowStatus);
                self.session.note_command("Statistics", "");
                let text = gannet_core::status::one_line(&self.session.server);
                wire.writer().packet(text.as_bytes());
            }
            Command::FieldList { table, pattern } => {
                self.session.note_command("Field List", &String::from_utf8_lossy(table));
                self.session.begins(Activity::FieldList, table);
                let outcome = self.field_list(table, pattern, wire);
                if let Err(e) = outcome {
                    self.session.fail(wire, e);
                }
            }
            Command::ProcessKill(id) => {
                let outcome = self.session.kill(id.into(), false).map(|()| Done::default());
                self.session.answer(wire, outcome);
            }
            Command::ProcessInfo => {
                let outcome = self.session.show_processlist(false, wire);
                self.session.answer(wire, outcome);
            }
            Command::Shutdown => {
                let outcome = self.session.shutdown_server();
                let closing = outcome.is_ok();
                if closing {
                    // Clients of this command expect EOF.
                    let ok = reply::Ok { status: wire.word(self.session.status()), ..reply::Ok::default() };
                    reply::end_of_rows(&mut wire.writer(), self.capabilities, &ok);
                } else {
                    self.session.answer(wire, outcome);
                }
                self.session.closing |= closing;
            }
            Command::Debug => {
                count(Counter::ComAdminCommands);
                let outcome = self.session.state.privileges().require(Privilege::Super).map(|()| Done::default());
                self.session.server.log.note("COM_DEBUG dumps nothing: see SHOW ENGINE INNODB STATUS");
                self.session.answer(wire, outcome);
            }
            Command::Refresh(bits) => {
                let required = self.session.state.privileges().require(Privilege::Reload);
                let outcome = required.and_then(|()| self.session.flush(&gannet_session::admin::refreshed(bits)));
                self.session.answer(wire, outcome);
            }
            Command::RegisterReplica(replica) => self.register_replica(replica, wire),
            Command::Dump(dump) => self.dump(dump, wire),
            Command::Unknown(_) => self.session.fail(wire, sql_err!(UnknownCom)),
        }
    }

    /// A command about a prepared statement.
    fn prepared(&mut self, command: Command<'_>, wire: &mut Wire<'_>) {
        let (all, session) = (&mut self.statements, &mut self.session);
        match command {
            Command::Execute(execute) => all.execute(session, &execute, wire),
            Command::Prepare(sql) => all.prepare(session, sql, wire),
            Command::CloseStatement(id) => {
                session.note_command("Close stmt", "");
                all.close(session, id);
            }
            Command::SendLongData { statement, parameter, data } => all.long_data(session, statement, parameter, data),
            Command::ResetStatement(id) => {
                session.note_command("Reset stmt", "");
                let outcome = all.reset(session, id);
                session.answer(wire, outcome);
            }
            Command::Fetch { statement, rows } => all.fetch(session, statement, rows, wire),
            _ => session.fail(wire, sql_err!(UnknownCom)),
        }
    }

    /// The replies of a command.
    pub(crate) fn wire<'a>(&mut self, conn: &'a mut Conn, sequence: &'a mut u8) -> Wire<'a> {
        Wire::new(conn, sequence, std::mem::take(&mut self.formats), self.capabilities)
    }

    /// The session as if it had just logged in: for COM_RESET_CONNECTION.
    fn as_opening(&self) -> Opening {
        let user = self.session.state.user.rsplit_once('@').map_or("", |(u, _)| u);
        Opening { user: user.into(), ..opening(&handshake::Login::default(), self.capabilities) }
    }

    fn reset(&mut self, opening: &Opening) {
        self.statements.clear();
        self.session.reset(opening);
    }

    /// The connection is over.
    pub(crate) fn end(&mut self) {
        self.session.end();
        self.statements.clear();
    }

    /// COM_CHANGE_USER: authenticates anew; failure ends the connection.
    fn change_user(&mut self, body: &[u8], wire: &mut Wire<'_>) {
        count(Counter::ComAdminCommands);
        self.session.begins(Activity::ChangeUser, b"");
        match self.authenticate_again(body, wire) {
            Ok(()) => {
                self.session
                    .note_login("Change user", matches!(wire.exchange.conn.peer(), gannet_runtime::Peer::Unix { .. }));
                self.session.answer(wire, Ok(Done::default()));
            }
            Err(error) => {
                self.session.note_command("Change user", error.message());
                self.session.fail(wire, error);
                self.session.closing = true;
            }
        }
    }

    fn authenticate_again(&mut self, body: &[u8], wire: &mut Wire<'_>) -> Result<()> {
        let hello =
            handshake::Login::read_change_user(body, self.capabilities).map_err(|_| sql_err!(MalformedPacket))?;
        let (origin, secure) = match wire.exchange.conn.peer() {
            gannet_runtime::Peer::Unix { .. } => (Origin::Local(None), true),
            gannet_runtime::Peer::Tcp { peer, .. } => {
                let ip = peer.ip().to_canonical();
                (
                    if ip.is_loopback() { Origin::Local(Some(ip)) } else { Origin::Remote(ip) },
                    self.session.entry.tls.get().is_some(),
                )
            }
        };
        let (hello, nonce) = if self.capabilities & cap::PLUGIN_AUTH != 0 {
            // A switch brings a new nonce, whatever the response was made from.
            let passwordless = matches!(hello.response.as_slice(), [] | [0]);
            let plugin = hello.plugin.filter(|_| passwordless).or(Some(b"".to_vec()));
            (handshake::Login { plugin, ..hello }, nonce())
        } else {
            // Such a client cannot be switched: it has answered the greeting's.
            (hello, self.nonce)
        };
        let server = self.session.server.clone();
        let (mut attempt, mut verdict) = {
            let mut w = wire.writer();
            Attempt::start(&server, hello, origin, nonce, secure, &mut w)?
        };
        while verdict == Verdict::More {
            let lenient = self.session.entry.compression.get().is_some();
            let mut decoder = packets(LOGIN_PACKET, lenient);
            let packet = read_packet(&mut wire.exchange, self.session.net_read_timeout_s(), &mut decoder)?;
            verdict = attempt.feed(&server, &packet, &mut wire.writer())?;
        }
        let own = attempt.admitted(&server, verdict, self.session.entry.tls.get())?;
        let account = stands_in_for(&server, &own).unwrap_or_else(|| own.clone());
        let usage = count_connection(&server, &account)?;
        self.session.state.account = account;
        self.session.state.leave_account();
        self.reset(&opening(&attempt.hello, self.capabilities));
        self.session.came_as(&own);
        self.session.entry.keep_attributes(&attempt.hello.attributes);
        self.session.state.usage = usage;
        self.session.state.set_database(None);
        let who = Who { user: attempt.hello_user(), host: self.session.entry.who().host, database: None };
        server.registry.known_as(&self.session.entry, who);
        if let Some(db) = &attempt.hello.database {
            self.session.use_database(&gannet_session::name_of(&self.session, db))?;
            self.session.greeted();
        }
        Ok(())
    }

    /// COM_FIELD_LIST: the columns of a table, which `mysql` asks for completion.
    fn field_list(&mut self, table: &[u8], pattern: &[u8], wire: &mut Wire<'_>) -> Result<()> {
        self.session.state.renew_snapshot();
        let db = self.session.state.require_database()?.clone();
        let (name, pattern) =
            (gannet_session::name_of(&self.session, table), gannet_session::name_of(&self.session, pattern));
        let table = self.session.table_for(None, &db, &name)?;
        let (charsets, word) = (self.session.settings.charsets, wire.word(self.session.status()));
        let mut w = wire.writer();
        for (i, column) in table.columns.iter().enumerate() {
            if column.hidden || !pattern.is_empty() && !gannet_core::names::like(&pattern, &column.name) {
                continue;
            }
            let rights = |t: &gannet_schema::Table| self.session.state.access.column(&t.schema, &t.name, &column.name);
            if !table.temporary && !self.session.state.access.all && rights(&table) == Privileges::NONE {
                continue;
            }
            let described = gannet_session::virt::result_column(&table, i as u32);
            let default = gannet_schema::show::column_default(column);
            crate::wire::put_column(&mut w, &described, &charsets, Some(default.as_deref()));
        }
        let ok = reply::Ok { status: word, ..reply::Ok::default() };
        reply::end_of_rows(&mut w, self.capabilities, &ok);
        Ok(())
    }
}
