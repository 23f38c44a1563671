//! Commands of the protocol.

use super::Session;
use super::login::{Attempt, nonce};
use super::service::{LOGIN_PACKET, frame_error};
use super::sink::Target;
use super::state::Clock;
use gannet_core::accounts::{Origin, Privilege, Privileges};
use gannet_core::registry::{Activity, Who};
use gannet_core::vars::Live;
use gannet_runtime::{Conn, Interrupt, Next, Wait, now_ns, unix_micros};
use gannet_telemetry::{Counter, add, count};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};
use gannet_wire::auth::Verdict;
use gannet_wire::command::Command;
use gannet_wire::flags::cap;
use gannet_wire::frame::{Decoder, Fed, Writer};
use gannet_wire::handshake;
use gannet_wire::reply;

/// The client's side of a command: where replies go.
pub(crate) struct Io<'a> {
    pub(crate) conn: &'a mut Conn,
    pub(crate) sequence: &'a mut u8,
    /// Rows go out in the binary protocol.
    pub(crate) binary: bool,
}

/// What a statement or command did, before it is put into a packet.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// A result set was sent: its end is due instead of OK.
    pub(crate) rows: bool,
    pub(crate) affected: u64,
    pub(crate) insert_id: u64,
    pub(crate) info: String,
}

impl Done {
    /// A result set was sent.
    pub(crate) const ROWS: Done = Done { rows: true, affected: 0, insert_id: 0, info: String::new() };

    /// Rows were changed.
    pub(crate) fn affected(affected: u64) -> Done {
        Done { affected, ..Done::default() }
    }
}

impl Session {
    /// Serves one command.
    pub(crate) fn command(&mut self, packet: &[u8], conn: &mut Conn, sequence: &mut u8) -> Next {
        self.prefetch_behind();
        // KILL QUERY between statements has no statement to kill.
        conn.begin_statement();
        self.state.clock = Clock::now();
        let mut io = Io { conn, sequence, binary: false };
        let command = match Command::decode(packet, self.capabilities) {
            Ok(command) => command,
            Err(_) => {
                self.fail(&mut io, sql_err!(MalformedPacket));
                io.conn.end_statement();
                return Next::Idle;
            }
        };
        let quit = matches!(command, Command::Quit);
        self.state.counters.enter();
        add(Counter::BytesReceived, packet.len() as u64 + 4);
        count(Counter::Queries);
        self.extra_status = 0;
        self.dispatch(command, &mut io);
        if self.reply.is_left() {
            self.state.counters.leave();
            return Next::Later(Wait::LogFlush);
        }
        self.end_command(&mut io, quit)
    }

    /// The reply is written.
    pub(super) fn end_command(&mut self, io: &mut Io<'_>, quit: bool) -> Next {
        io.conn.end_statement();
        add(Counter::BytesSent, io.conn.out().len() as u64);
        self.state.counters.leave();
        self.entry.idle(match self.state.clock.ended_us {
            0 => unix_micros(),
            ended_us => ended_us,
        });
        let killed = matches!(
            io.conn.context().pending(),
            Some(Interrupt::Connection | Interrupt::Shutdown | Interrupt::PeerGone)
        );
        if quit || self.closing || killed { Next::Close } else { Next::Idle }
    }

    /// The process list shows what the session does from now on.
    #[inline]
    pub(super) fn begins(&self, activity: Activity, text: &[u8]) {
        self.entry.begin(activity, self.state.clock.unix_us, text);
    }

    fn dispatch(&mut self, command: Command<'_>, io: &mut Io<'_>) {
        match &command {
            Command::ProcessKill(_)
            | Command::ProcessInfo
            | Command::Shutdown
            | Command::Debug
            | Command::Refresh(_) => {
                // Statements look for newer rights where they take their snapshot.
                self.state.renew_snapshot();
            }
            _ => {}
        }
        match command {
            Command::Query { sql, attributes } if attributes.is_empty() => self.query(sql, io),
            Command::Query { sql, attributes } => {
                match self.keep_attributes(&attributes) {
                    Ok(()) => self.query(sql, io),
                    Err(e) => self.fail(io, e),
                }
                self.state.query_attributes.clear();
            }
            Command::Execute(execute) => self.execute_prepared(execute, io),
            Command::Prepare(sql) => self.prepare(sql, io),
            Command::CloseStatement(id) => {
                self.note_command("Close stmt", "");
                self.close_prepared(id);
            }
            Command::SendLongData { statement, parameter, data } => self.long_data(statement, parameter, data),
            Command::ResetStatement(id) => {
                self.note_command("Reset stmt", "");
                let outcome = self.reset_prepared(id);
                self.answer(io, outcome);
            }
            Command::Fetch { statement, rows } => self.fetch_prepared(statement, rows, io),
            Command::Ping => {
                count(Counter::ComAdminCommands);
                self.note_command("Ping", "");
                self.begins(Activity::Other, b"");
                self.answer(io, Ok(Done::default()));
            }
            Command::InitDb(name) => {
                self.begins(Activity::InitDb, name);
                count(Counter::ComChangeDb);
                let name = String::from_utf8_lossy(name).into_owned();
                self.note_command("Init DB", &name);
                let outcome = self.use_database(&name).map(|()| Done::default());
                self.warnings.clear();
                self.answer(io, outcome);
            }
            Command::Quit => self.note_command("Quit", ""),
            Command::ResetConnection => {
                count(Counter::ComAdminCommands);
                self.note_command("Reset Connection", "");
                let hello = self.as_hello();
                self.reset(&hello);
                self.answer(io, Ok(Done::default()));
            }
            Command::ChangeUser(body) => self.change_user(body, io),
            Command::SetOption(option) => {
                count(Counter::ComSetOption);
                match option {
                    0 => self.multi_statements = true,
                    1 => self.multi_statements = false,
                    _ => return self.fail(io, sql_err!(UnknownCom)),
                }
                let status = self.status_flags();
                // The reply is an EOF packet, or OK for clients without EOF.
                let ok = reply::Ok { status, ..reply::Ok::default() };
                reply::end_of_rows(&mut Writer::new(io.conn.out(), io.sequence), self.capabilities, &ok);
            }
            Command::Statistics => {
                count(Counter::ComShowStatus);
                self.note_command("Statistics", "");
                let text = gannet_core::status::one_line(&self.server);
                Writer::new(io.conn.out(), io.sequence).packet(text.as_bytes());
            }
            Command::FieldList { table, pattern } => {
                self.note_command("Field List", &String::from_utf8_lossy(table));
                self.begins(Activity::FieldList, table);
                let outcome = self.field_list(table, pattern, io);
                if let Err(e) = outcome {
                    self.fail(io, e);
                }
            }
            Command::ProcessKill(id) => {
                let outcome = self.kill(id.into(), false).map(|()| Done::default());
                self.answer(io, outcome);
            }
            Command::ProcessInfo => {
                let outcome = self.show_processlist(false, io);
                self.answer(io, outcome);
            }
            Command::Shutdown => {
                let outcome = self.shutdown_server();
                let closing = outcome.is_ok();
                if closing {
                    // Clients of this command expect EOF.
                    let ok = reply::Ok { status: self.status_flags(), ..reply::Ok::default() };
                    reply::end_of_rows(&mut Writer::new(io.conn.out(), io.sequence), self.capabilities, &ok);
                } else {
                    self.answer(io, outcome);
                }
                self.closing |= closing;
            }
            Command::Debug => {
                count(Counter::ComAdminCommands);
                let outcome = self.state.privileges().require(Privilege::Super).map(|()| Done::default());
                self.server.log.note("COM_DEBUG: there is nothing to dump");
                self.answer(io, outcome);
            }
            Command::Refresh(bits) => {
                let required = self.state.privileges().require(Privilege::Reload);
                let outcome = required.and_then(|()| self.flush(&super::admin::refreshed(bits)));
                self.answer(io, outcome);
            }
            Command::Unknown(_) => self.fail(io, sql_err!(UnknownCom)),
        }
    }

    /// Writes OK, the end of rows, or the error: unless the outcome is left for later.
    pub(crate) fn answer(&mut self, io: &mut Io<'_>, outcome: Result<Done>) {
        match outcome {
            _ if self.reply.is_left() => {}
            Ok(done) => {
                if self.tracker.on {
                    self.track_statement(done.rows);
                }
                let warnings = self.warnings.raised().min(u64::from(u16::MAX)) as u16;
                let ok = reply::Ok {
                    affected: done.affected,
                    insert_id: done.insert_id,
                    status: self.status_flags(),
                    warnings,
                    info: done.info.as_bytes(),
                    state: &self.track,
                };
                let mut w = Writer::new(io.conn.out(), io.sequence);
                if done.rows {
                    reply::end_of_rows(&mut w, self.capabilities, &ok);
                } else {
                    reply::ok(&mut w, self.capabilities, &ok);
                }
                self.track.clear();
            }
            Err(error) => self.fail(io, error),
        }
    }

    /// Writes an error packet.
    #[cold]
    pub(crate) fn fail(&mut self, io: &mut Io<'_>, error: SqlError) {
        if error.code() == ErrorCode::InternalError {
            self.tell_internal(&error);
        }
        let mut w = Writer::new(io.conn.out(), io.sequence);
        reply::err(&mut w, self.capabilities, error.number(), &error.sqlstate(), error.message());
    }

    /// An error of the server's own is not the client's alone to know.
    #[cold]
    fn tell_internal(&self, error: &SqlError) {
        let text = self.entry.info().unwrap_or_default();
        let statement = super::service::in_log(text.bytes(), super::query::lex_mode(self.settings.sql_mode));
        self.server.log.error(format_args!("Connection {}: {}; {statement}", self.entry.id, error.message()));
    }

    /// Does the client want its results described? `resultset_metadata`.
    pub(crate) fn metadata(&self) -> bool {
        self.capabilities & cap::OPTIONAL_RESULTSET_METADATA == 0
            || self.state.vars[Live::ResultsetMetadata].as_str() != "NONE"
    }

    /// How results go to this client.
    pub(crate) fn target<'a>(&self, io: &'a mut Io<'_>) -> Target<'a> {
        Target {
            conn: io.conn,
            sequence: io.sequence,
            capabilities: self.capabilities,
            charsets: self.charsets,
            status: self.status_flags(),
            binary: io.binary,
            metadata: self.metadata(),
            write_timeout_ns: self.write_timeout_ns(),
        }
    }

    /// The session as if it had just logged in: for COM_RESET_CONNECTION.
    fn as_hello(&self) -> handshake::Login {
        let user = self.state.user.rsplit_once('@').map_or("", |(u, _)| u);
        handshake::Login {
            capabilities: self.capabilities,
            user: user.as_bytes().to_vec(),
            ..handshake::Login::default()
        }
    }

    /// COM_CHANGE_USER: authenticates anew; failure ends the connection.
    fn change_user(&mut self, body: &[u8], io: &mut Io<'_>) {
        count(Counter::ComAdminCommands);
        self.begins(Activity::ChangeUser, b"");
        match self.authenticate_again(body, io) {
            Ok(()) => {
                self.note_login("Change user", matches!(io.conn.peer(), gannet_runtime::Peer::Unix { .. }));
                self.answer(io, Ok(Done::default()));
            }
            Err(error) => {
                self.note_command("Change user", error.message());
                self.fail(io, error);
                self.closing = true;
            }
        }
    }

    fn authenticate_again(&mut self, body: &[u8], io: &mut Io<'_>) -> Result<()> {
        let hello =
            handshake::Login::read_change_user(body, self.capabilities).map_err(|_| sql_err!(MalformedPacket))?;
        let (origin, secure) = match io.conn.peer() {
            gannet_runtime::Peer::Unix { .. } => (Origin::Local(None), true),
            gannet_runtime::Peer::Tcp { peer, .. } => {
                let ip = peer.ip().to_canonical();
                (
                    if ip.is_loopback() { Origin::Local(Some(ip)) } else { Origin::Remote(ip) },
                    self.entry.tls.get().is_some(),
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
        let server = self.server.clone();
        let (mut attempt, mut verdict) = {
            let mut w = Writer::new(io.conn.out(), io.sequence);
            Attempt::start(&server, hello, origin, nonce, secure, &mut w)?
        };
        while verdict == Verdict::More {
            let lenient = self.entry.compression.get().is_some();
            let mut decoder = packets(LOGIN_PACKET, lenient);
            let packet = read_packet(io, self.net_read_timeout_s(), &mut decoder)?;
            verdict = attempt.feed(&server, &packet, &mut Writer::new(io.conn.out(), io.sequence))?;
        }
        let own = attempt.admitted(&server, verdict, self.entry.tls.get())?;
        let account = super::login::stands_in_for(&server, &own).unwrap_or_else(|| own.clone());
        let usage = super::login::count_connection(&server, &account)?;
        self.state.account = account;
        self.state.release_locks();
        self.reset(&attempt.hello);
        self.came_as(&own);
        self.entry.keep_attributes(&attempt.hello.attributes);
        self.state.usage = usage;
        self.state.set_database(None);
        self.entry.set_who(Who { user: attempt.hello_user(), host: self.entry.who().host, database: None });
        if let Some(db) = &attempt.hello.database {
            self.use_database(&String::from_utf8_lossy(db))?;
            self.track.clear();
        }
        Ok(())
    }

    /// COM_FIELD_LIST: the columns of a table, which `mysql` asks for completion.
    fn field_list(&mut self, table: &[u8], pattern: &[u8], io: &mut Io<'_>) -> Result<()> {
        self.state.renew_snapshot();
        let db = self.state.require_database()?.clone();
        let name = String::from_utf8_lossy(table).into_owned();
        let pattern = String::from_utf8_lossy(pattern).into_owned();
        let table = self.table_for(None, &db, &name)?;
        let charsets = self.charsets;
        let mut w = Writer::new(io.conn.out(), io.sequence);
        for (i, column) in table.columns.iter().enumerate() {
            if column.hidden || !pattern.is_empty() && !gannet_core::names::like(&pattern, &column.name) {
                continue;
            }
            let rights = |t: &gannet_catalog::Table| self.state.access.column(&t.schema, &t.name, &column.name);
            if !table.temporary && !self.state.access.all && rights(&table) == Privileges::NONE {
                continue;
            }
            let described = crate::virt::result_column(&table, i as u32);
            let default = gannet_catalog::show::column_default(column);
            reply::column_with_default(
                &mut w,
                &super::sink::describe(&described, &charsets),
                default.as_deref().map(str::as_bytes),
            );
        }
        let ok = reply::Ok { status: self.status_flags(), ..reply::Ok::default() };
        reply::end_of_rows(&mut w, self.capabilities, &ok);
        Ok(())
    }
}

/// What reads packets of at most `limit` bytes. `lenient`: their sequence numbers are taken as they come.
pub(crate) fn packets(limit: usize, lenient: bool) -> Decoder {
    let mut decoder = Decoder::new(limit);
    decoder.set_lenient(lenient);
    decoder
}

/// Sends what is due and reads the client's next packet in the middle of an exchange; error 1153 when it is longer than `decoder`
/// allows. After error 1317 the exchange may go on, with the same decoder: it has what has come of the packet.
pub(crate) fn read_packet(io: &mut Io<'_>, timeout_s: u64, decoder: &mut Decoder) -> Result<Vec<u8>> {
    let lost = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::TimedOut => sql_err!(NetReadInterrupted),
        std::io::ErrorKind::Interrupted => sql_err!(QueryInterrupted),
        _ => sql_err!(NetRead),
    };
    add(Counter::BytesSent, io.conn.out().len() as u64);
    io.conn.flush().map_err(lost)?;
    loop {
        // It limits the time between two arrivals, not that of a long packet.
        io.conn.set_deadline(Some(now_ns() + timeout_s * 1_000_000_000));
        match decoder.feed(io.conn.buffered(), io.sequence).map_err(frame_error)? {
            Fed::InPlace { payload, consumed } => {
                let packet = io.conn.buffered()[payload].to_vec();
                io.conn.consume(consumed);
                return Ok(packet);
            }
            Fed::Assembled { consumed } => {
                io.conn.consume(consumed);
                return Ok(decoder.take_assembled());
            }
            Fed::Partial { consumed, .. } => {
                io.conn.consume(consumed);
                if io.conn.fill().map_err(lost)? == 0 {
                    return Err(sql_err!(NetRead));
                }
            }
        }
    }
}
