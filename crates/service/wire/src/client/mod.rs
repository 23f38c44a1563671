//! A small blocking client for MySQL and MariaDB servers: load tools, tests and the bench command use it.
//!
//! Text and binary protocol, native and `caching_sha2_password` authentication, TCP and UNIX sockets, TLS, compression.

mod compressed;
mod polled;
mod result;
mod stream;
mod tls;

pub use result::{Cell, ColumnInfo, OkInfo, ResultSet};
pub(crate) use result::{read_binary, read_error, read_ok, read_text};
pub use stream::Rows;
pub use tls::tls_client;

use crate::auth::{self, Plugin};
use crate::codec::{Malformed, Reader, put_lenenc, put_lenenc_bytes};
use crate::command::{DateTime, ParamType, Time};
use crate::compress::Algorithm;
use crate::flags::{cap, com, ty};
use crate::frame::{self, Writer};
use crate::handshake::{Greeting, Login};
use crate::row::{binary_datetime, binary_time};
use polled::Polled;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Host and port.
    Tcp(String, u16),
    /// A UNIX socket.
    Unix(PathBuf),
}

/// The account that logs in, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// User name.
    pub user: String,
    /// Password; empty for none.
    pub password: String,
    /// Database to start in.
    pub database: Option<String>,
    /// Capabilities beyond the usual ones.
    pub capabilities: u32,
    /// Usual capabilities to do without.
    pub without: u32,
    /// Longest wait for a packet.
    pub timeout: Option<Duration>,
    /// Bytes of the longest packet that is taken.
    pub longest: usize,
    /// Plugin to answer the greeting with, whatever it proposes.
    pub plugin: Option<Plugin>,
    /// Connection attributes.
    pub attributes: Vec<(String, String)>,
    /// Encrypt: error when the server cannot.
    pub tls: Option<Tls>,
    /// The key under which a password travels where nothing is encrypted.
    pub key: ServerKey,
    /// The level at which the server is to compress by zstd.
    pub zstd_level: u8,
}

/// How a client encrypts.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// PEM of the authorities of which one has to have signed the server's certificate; `None` trusts every server.
    pub ca: Option<Vec<u8>>,
    /// PEM of lists of certificates that these have revoked; empty: that is not looked at.
    pub revoked: Vec<u8>,
    /// The host that the server's certificate has to be for; `None`: any. It needs an authority.
    pub host: Option<String>,
    /// The client's own certificate.
    pub identity: Option<crate::tls::Identity>,
    /// `TLSv1.2`, `TLSv1.3`, separated by commas; empty: both.
    pub versions: String,
    /// Suites of TLS 1.2, separated by colons; empty: all. Those that are not there are passed over.
    pub ciphers: String,
    /// Suites of TLS 1.3, separated by colons; `None`: all.
    pub suites: Option<String>,
}

/// The server's key under which a password travels where nothing is encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ServerKey {
    /// The server is asked for it, and believed.
    #[default]
    Asked,
    /// This one, as PEM.
    Known(String),
    /// There is none, and `caching_sha2_password` does not ask: error 2061 where it needs one. `sha256_password` asks,
    /// as MySQL's client does.
    Unknown,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            user: "root".into(),
            password: String::new(),
            database: None,
            capabilities: 0,
            without: 0,
            timeout: None,
            longest: usize::MAX,
            plugin: None,
            attributes: Vec::new(),
            tls: None,
            key: ServerKey::default(),
            zstd_level: DEFAULT_ZSTD_LEVEL,
        }
    }
}

/// MySQL's.
pub const DEFAULT_ZSTD_LEVEL: u8 = 3;

/// What goes wrong at the client.
#[derive(Debug)]
pub enum Error {
    /// The connection failed.
    Io(io::Error),
    /// There is no agreement on TLS.
    Tls(String),
    /// The password would have to travel in the open: error 2061 of MySQL's client.
    Insecure(Plugin),
    /// The server's answer is not MySQL protocol.
    Protocol(&'static str),
    /// It is longer than [`Options::longest`].
    TooLong,
    /// The server refused.
    Server {
        /// Error number.
        code: u16,
        /// SQLSTATE; `HY000` where the server sent none.
        sqlstate: [u8; 5],
        /// Its text.
        message: String,
    },
}

impl Error {
    /// The server's error number, when it is one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Error::Server { code, .. } => Some(*code),
            _ => None,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Io(e) => write!(f, "connection: {e}"),
            Error::Tls(e) => write!(f, "TLS: {e}"),
            Error::Insecure(plugin) => write!(
                f,
                "Authentication plugin '{}' reported error: Authentication requires secure connection.",
                plugin.name()
            ),
            Error::Protocol(what) => write!(f, "protocol: {what}"),
            Error::TooLong => f.write_str("a packet is longer than is taken"),
            Error::Server { code, sqlstate, message } => {
                write!(f, "ERROR {code} ({}): {message}", String::from_utf8_lossy(sqlstate))
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Error::Io(e)
    }
}

impl From<Malformed> for Error {
    fn from(_: Malformed) -> Self {
        Error::Protocol("malformed packet")
    }
}

/// Result of a client call.
pub type Result<T> = std::result::Result<T, Error>;

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A statement that was prepared on one connection.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Its id on the connection.
    pub id: u32,
    /// Number of parameters.
    pub params: u16,
    /// Columns of its result; empty for statements without one.
    pub columns: Vec<ColumnInfo>,
}

/// A parameter of an execution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arg<'a> {
    /// NULL.
    Null,
    /// BIGINT.
    Int(i64),
    /// BIGINT UNSIGNED.
    UInt(u64),
    /// DOUBLE.
    Double(f64),
    /// VARCHAR.
    Text(&'a str),
    /// BLOB.
    Bytes(&'a [u8]),
    /// TINYINT.
    Tiny(i8),
    /// FLOAT.
    Float(f32),
    /// DECIMAL, as text.
    Decimal(&'a str),
    /// DATE or DATETIME.
    DateTime(DateTime),
    /// TIME.
    Time(Time),
}

impl Arg<'_> {
    fn ty(&self) -> ParamType {
        let (ty, unsigned) = match self {
            Arg::Null => (ty::NULL, false),
            Arg::Int(_) => (ty::LONGLONG, false),
            Arg::UInt(_) => (ty::LONGLONG, true),
            Arg::Double(_) => (ty::DOUBLE, false),
            Arg::Text(_) => (ty::VAR_STRING, false),
            Arg::Bytes(_) => (ty::BLOB, false),
            Arg::Tiny(_) => (ty::TINY, false),
            Arg::Float(_) => (ty::FLOAT, false),
            Arg::Decimal(_) => (ty::NEWDECIMAL, false),
            Arg::DateTime(d) => (if d.date_only { ty::DATE } else { ty::DATETIME }, false),
            Arg::Time(_) => (ty::TIME, false),
        };
        ParamType { ty, unsigned }
    }

    /// The value as the binary protocol has it.
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Arg::Null => {}
            Arg::Int(v) => out.extend_from_slice(&v.to_le_bytes()),
            Arg::UInt(v) => out.extend_from_slice(&v.to_le_bytes()),
            Arg::Double(v) => out.extend_from_slice(&v.to_le_bytes()),
            Arg::Text(s) => put_lenenc_bytes(out, s.as_bytes()),
            Arg::Bytes(s) => put_lenenc_bytes(out, s),
            Arg::Tiny(v) => out.extend_from_slice(&v.to_le_bytes()),
            Arg::Float(v) => out.extend_from_slice(&v.to_le_bytes()),
            Arg::Decimal(s) => put_lenenc_bytes(out, s.as_bytes()),
            Arg::DateTime(d) => binary_datetime(out, d),
            Arg::Time(t) => binary_time(out, t),
        }
    }
}

/// A connection.
pub struct Connection {
    stream: Box<dyn Stream>,
    /// What was received lies in `taken..filled`. Not longer than the largest packet needs, and not cleared between
    /// packets: a client of thousands of connections has them all in its caches.
    input: Vec<u8>,
    taken: usize,
    filled: usize,
    out: Vec<u8>,
    /// The number that the next packet has to have, by the last one.
    pub sequence: u8,
    longest: usize,
    /// Capabilities agreed on.
    pub capabilities: u32,
    /// What the server said of itself.
    pub greeting: Greeting,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({})", self.greeting.connection_id)
    }
}

/// Ends a connection from outside.
#[derive(Debug)]
pub struct Ender(TcpStream);

impl Ender {
    /// Whoever reads from it, or writes, gets an error.
    pub fn end(&self) {
        // One that has ended already stays so.
        let _ended = self.0.shutdown(std::net::Shutdown::Both);
    }

    /// How long reads of the connection take at most.
    pub fn set_patience(&self, patience: Option<Duration>) -> Result<()> {
        Ok(self.0.set_read_timeout(patience)?)
    }
}

/// Capabilities this client asks for when the server has them.
const WANTED: u32 = cap::LONG_PASSWORD
    | cap::LONG_FLAG
    | cap::PROTOCOL_41
    | cap::TRANSACTIONS
    | cap::SECURE_CONNECTION
    | cap::MULTI_RESULTS
    | cap::PS_MULTI_RESULTS
    | cap::PLUGIN_AUTH
    | cap::DEPRECATE_EOF;

impl Connection {
    /// Connects and logs in.
    pub fn connect(address: &Address, options: &Options) -> Result<Self> {
        match address {
            Address::Tcp(host, port) => {
                let s = TcpStream::connect((host.as_str(), *port))?;
                s.set_nodelay(true)?;
                s.set_read_timeout(options.timeout)?;
                Self::over(s, options, false)
            }
            Address::Unix(path) => {
                let s = Polled::new(UnixStream::connect(path)?, options.timeout);
                Self::over(s, options, true)
            }
        }
    }

    /// Connects over TCP to the first address of the host that `dial` reaches, and logs in. `ended` gets what ends the
    /// connection, whoever waits for it, before the login.
    pub fn connect_ended(
        (host, port): (&str, u16),
        options: &Options,
        dial: impl Fn(SocketAddr) -> io::Result<TcpStream>,
        ended: impl FnOnce(Ender),
    ) -> Result<Self> {
        let unknown = |why: &dyn std::fmt::Display| io::Error::new(io::ErrorKind::NotFound, why.to_string());
        let mut failed = unknown(&"the host has no address");
        for address in (host, port).to_socket_addrs().map_err(|e| unknown(&e))? {
            match dial(address) {
                Ok(s) => {
                    s.set_nodelay(true)?;
                    s.set_read_timeout(options.timeout)?;
                    ended(Ender(s.try_clone()?));
                    return Self::over(s, options, false);
                }
                Err(e) => failed = e,
            }
        }
        Err(failed.into())
    }

    /// Logs in over a stream that is there already; `secure`: nobody listens in on it.
    pub fn over(stream: impl Read + Write + Send + 'static, options: &Options, secure: bool) -> Result<Self> {
        let greeting = Greeting {
            version: String::new(),
            connection_id: 0,
            nonce: [0; auth::NONCE],
            capabilities: 0,
            collation: 0,
            status: 0,
            plugin: String::new(),
        };
        let (input, out) = (Vec::new(), Vec::new());
        let stream = Box::new(stream);
        let longest = options.longest;
        let mut it = Self { stream, input, taken: 0, filled: 0, out, sequence: 0, longest, capabilities: 0, greeting };
        it.login(options, secure)?;
        Ok(it)
    }

    fn login(&mut self, options: &Options, secure: bool) -> Result<()> {
        let first = self.receive()?;
        self.greeting = Greeting::read(&first)?;
        let mut wanted = (WANTED | options.capabilities) & !options.without;
        if options.database.is_some() {
            wanted |= cap::CONNECT_WITH_DB;
        }
        if !options.attributes.is_empty() {
            wanted |= cap::CONNECT_ATTRS;
        }
        if options.tls.is_some() {
            wanted |= cap::SSL;
        }
        self.capabilities = wanted & self.greeting.capabilities;
        let plugin = options.plugin.or(Plugin::by_name(self.greeting.plugin.as_bytes())).unwrap_or(Plugin::Native);
        let password = options.password.as_bytes();
        let secure = secure || options.tls.is_some();
        let proof = Proof { password, secure, key: &options.key };
        let login = Login {
            capabilities: self.capabilities,
            max_packet: 1 << 30,
            collation: 45,
            user: options.user.as_bytes().to_vec(),
            response: proof.respond(plugin, &self.greeting.nonce)?,
            database: options.database.as_ref().map(|d| d.as_bytes().to_vec()),
            plugin: Some(plugin.name().as_bytes().to_vec()),
            zstd_level: options.zstd_level,
            attributes: options
                .attributes
                .iter()
                .map(|(k, v)| (k.as_bytes().to_vec(), v.as_bytes().to_vec()))
                .collect(),
        };
        if let Some(tls) = &options.tls {
            self.start_tls(&login, tls)?;
        }
        login.write(&mut Writer::new(&mut self.out, &mut self.sequence));
        self.flush()?;
        self.authenticate(plugin, &proof)?;
        if let Some(algorithm) = Algorithm::agreed(self.capabilities) {
            let plain = std::mem::replace(&mut self.stream, Box::new(io::empty()));
            self.stream = Box::new(compressed::Compressing::new(plain, algorithm));
        }
        Ok(())
    }

    /// Sends SSLRequest and puts TLS around the stream.
    fn start_tls(&mut self, login: &Login, tls: &Tls) -> Result<()> {
        if self.capabilities & cap::SSL == 0 {
            return Err(Error::Tls("SSL is required but the server doesn't support it".to_owned()));
        }
        let connection = tls_client(tls).map_err(Error::Tls)?;
        let mut w = Writer::new(&mut self.out, &mut self.sequence);
        login.write_tls_request(&mut w);
        self.flush()?;
        let plain = std::mem::replace(&mut self.stream, Box::new(io::empty()));
        let mut stream = rustls::StreamOwned::new(connection, plain);
        stream.conn.complete_io(&mut stream.sock).map_err(|e| match e.kind() {
            io::ErrorKind::InvalidData => Error::Tls(e.to_string()),
            _ => Error::Io(e),
        })?;
        self.stream = Box::new(stream);
        Ok(())
    }

    /// Answers the server's authentication packets until OK.
    fn authenticate(&mut self, mut plugin: Plugin, proof: &Proof<'_>) -> Result<()> {
        let mut nonce = self.greeting.nonce;
        loop {
            let packet = self.receive()?;
            let answer = match packet.as_slice() {
                [0x00, ..] => return Ok(()),
                [0xFE, rest @ ..] => {
                    let mut r = Reader::new(rest);
                    let name = r.nul_bytes()?;
                    plugin = Plugin::by_name(name).ok_or(Error::Protocol("unknown authentication plugin"))?;
                    if let Some(n) = r.rest().first_chunk() {
                        nonce = *n;
                    }
                    proof.respond(plugin, &nonce)?
                }
                [auth::MORE_DATA, auth::FAST_OK] => continue,
                [auth::MORE_DATA, auth::FULL] if proof.secure => [proof.password, &[0]].concat(),
                [auth::MORE_DATA, auth::FULL] => match proof.key {
                    ServerKey::Asked => vec![auth::REQUEST_KEY],
                    ServerKey::Known(pem) => proof.encrypted(pem, &nonce)?,
                    ServerKey::Unknown => return Err(Error::Insecure(plugin)),
                },
                // Only who was asked for a key has one to say.
                [auth::MORE_DATA, pem @ ..] if proof.may_ask(plugin) => {
                    let pem = std::str::from_utf8(pem).map_err(|_| Error::Protocol("RSA key"))?;
                    proof.encrypted(pem, &nonce)?
                }
                _ => return Err(Error::Protocol("unexpected packet in authentication")),
            };
            self.send(&answer)?;
        }
    }

    /// Runs SQL; returns the first result, and reads past further ones.
    pub fn query(&mut self, sql: &str) -> Result<ResultSet> {
        let mut all = self.query_multi(sql)?;
        Ok(all.swap_remove(0))
    }

    /// Runs SQL; returns all results.
    pub fn query_multi(&mut self, sql: &str) -> Result<Vec<ResultSet>> {
        self.query_bytes(sql.as_bytes())
    }

    /// Runs SQL of any bytes; returns all results.
    pub fn query_bytes(&mut self, sql: &[u8]) -> Result<Vec<ResultSet>> {
        if self.capabilities & cap::QUERY_ATTRIBUTES != 0 {
            return self.query_with(&[], sql);
        }
        self.command(com::QUERY, sql)?;
        self.results(false)
    }

    /// Runs SQL with query attributes; the capability has to be agreed.
    pub fn query_with(&mut self, attributes: &[(&str, Arg<'_>)], sql: &[u8]) -> Result<Vec<ResultSet>> {
        let mut body = Vec::new();
        put_lenenc(&mut body, attributes.len() as u64);
        body.push(1);
        if !attributes.is_empty() {
            let nulls = body.len();
            body.resize(nulls + attributes.len().div_ceil(8), 0);
            body.push(1);
            for (i, (name, a)) in attributes.iter().enumerate() {
                if *a == Arg::Null {
                    body[nulls + i / 8] |= 1 << (i % 8);
                }
                let t = a.ty();
                body.extend_from_slice(&[t.ty, u8::from(t.unsigned) << 7]);
                put_lenenc_bytes(&mut body, name.as_bytes());
            }
            attributes.iter().for_each(|(_, a)| a.put(&mut body));
        }
        body.extend_from_slice(sql);
        self.command(com::QUERY, &body)?;
        self.results(false)
    }

    /// Prepares a statement.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement> {
        self.command(com::STMT_PREPARE, sql.as_bytes())?;
        let head = self.receive()?;
        let mut r = Reader::new(&head);
        r.u8()?;
        let (id, columns, params) = (r.u32()?, r.u16()?, r.u16()?);
        self.columns(params.into())?;
        let columns = self.columns(columns.into())?;
        Ok(Statement { id, params, columns })
    }

    /// Executes a prepared statement.
    pub fn execute(&mut self, statement: &Statement, args: &[Arg<'_>]) -> Result<ResultSet> {
        self.send_execute(statement, args, 0)?;
        Ok(self.results(true)?.swap_remove(0))
    }

    /// Executes a prepared statement that has rows, which stay at the server for [`Connection::fetch`].
    pub fn open_cursor(&mut self, statement: &Statement, args: &[Arg<'_>]) -> Result<OkInfo> {
        self.send_execute(statement, args, crate::command::CURSOR_READ_ONLY)?;
        self.cursor_opened()
    }

    /// Up to `rows` further rows of a cursor.
    pub fn fetch(&mut self, statement: &Statement, rows: u32) -> Result<ResultSet> {
        let mut body = statement.id.to_le_bytes().to_vec();
        body.extend(rows.to_le_bytes());
        self.command(com::STMT_FETCH, &body)?;
        let (rows, ok) = self.rows(true, &statement.columns)?;
        Ok(ResultSet { columns: statement.columns.clone(), rows, ok })
    }

    fn send_execute(&mut self, statement: &Statement, args: &[Arg<'_>], flags: u8) -> Result<()> {
        if args.len() != usize::from(statement.params) {
            return Err(Error::Protocol("wrong number of arguments"));
        }
        self.sequence = 0;
        let mut w = Writer::new(&mut self.out, &mut self.sequence);
        let mark = w.begin();
        let b = w.buf();
        b.push(com::STMT_EXECUTE);
        b.extend_from_slice(&statement.id.to_le_bytes());
        b.extend_from_slice(&[flags, 1, 0, 0, 0]);
        if !args.is_empty() {
            let nulls = b.len();
            b.resize(nulls + args.len().div_ceil(8), 0);
            b.push(1);
            for (i, a) in args.iter().enumerate() {
                if *a == Arg::Null {
                    b[nulls + i / 8] |= 1 << (i % 8);
                }
                let t = a.ty();
                b.extend_from_slice(&[t.ty, u8::from(t.unsigned) << 7]);
            }
            args.iter().for_each(|a| a.put(b));
        }
        w.end(mark);
        self.flush()
    }

    /// Forgets a prepared statement; there is no reply.
    pub fn close(&mut self, statement: &Statement) -> Result<()> {
        self.command(com::STMT_CLOSE, &statement.id.to_le_bytes())
    }

    /// COM_PING.
    pub fn ping(&mut self) -> Result<()> {
        self.command(com::PING, &[])?;
        self.receive().map(drop)
    }

    /// COM_QUIT.
    pub fn quit(mut self) -> Result<()> {
        self.command(com::QUIT, &[])
    }

    /// Sends a command packet as it is; the reply is the caller's to read.
    pub fn command(&mut self, byte: u8, body: &[u8]) -> Result<()> {
        self.sequence = 0;
        let mut w = Writer::new(&mut self.out, &mut self.sequence);
        let mark = w.begin();
        w.buf().push(byte);
        w.buf().extend_from_slice(body);
        w.end(mark);
        self.flush()
    }

    /// Sends one packet that continues an exchange.
    pub fn send(&mut self, payload: &[u8]) -> Result<()> {
        Writer::new(&mut self.out, &mut self.sequence).packet(payload);
        self.flush()
    }

    /// Sends bytes as they are, framed or not: for tests of bad input.
    pub fn send_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes)?;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        if self.out.capacity() > 1 << 20 {
            self.out = Vec::new();
        }
        Ok(sent?)
    }

    /// Reads one payload; an ERR packet becomes [`Error::Server`].
    pub fn receive(&mut self) -> Result<Vec<u8>> {
        let payload = self.receive_raw()?;
        if payload.first() == Some(&crate::reply::ERR) {
            return Err(result::read_error(&payload)?);
        }
        Ok(payload)
    }

    /// Reads one payload, whatever it is.
    pub fn receive_raw(&mut self) -> Result<Vec<u8>> {
        let mut payload = Vec::new();
        loop {
            self.fill(frame::HEADER)?;
            let (len, sequence) = frame::header(&self.input[self.taken..self.filled])?;
            self.taken += frame::HEADER;
            self.sequence = sequence.wrapping_add(1);
            if len > self.longest - payload.len() {
                return Err(Error::TooLong);
            }
            self.fill(len)?;
            payload.extend_from_slice(&self.input[self.taken..self.taken + len]);
            self.taken += len;
            if len < frame::MAX_PAYLOAD {
                return Ok(payload);
            }
        }
    }

    /// Waits as long as a read may take for the beginning of a packet: [`Ender::set_patience`] says how long that is.
    pub fn arrives(&mut self) -> Result<bool> {
        match self.fill(frame::HEADER) {
            Ok(()) => Ok(true),
            Err(Error::Io(e)) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// A whole packet is here already: [`Connection::receive`] does not wait.
    pub fn has_packet(&self) -> bool {
        let unread = &self.input[self.taken..self.filled];
        let whole = |(len, _): (usize, u8)| len < frame::MAX_PAYLOAD && unread.len() >= frame::HEADER + len;
        unread.len() >= frame::HEADER && frame::header(unread).is_ok_and(whole)
    }

    /// Waits until `n` bytes are unread in the buffer.
    fn fill(&mut self, n: usize) -> Result<()> {
        if self.filled - self.taken >= n {
            return Ok(());
        }
        self.input.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        if self.input.len() > MOST_KEPT && n < MOST_KEPT && self.filled < MOST_KEPT {
            self.input = self.input[..MOST_KEPT].to_vec();
        }
        while self.filled < n {
            if self.input.len() - self.filled < LEAST_READ.min(n - self.filled) {
                // A long packet's buffer grows as its bytes come: its announced length alone costs no memory.
                self.input.resize((self.filled + LEAST_READ).max(n.min(self.filled + (1 << 20))), 0);
            }
            match self.stream.read(&mut self.input[self.filled..]) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(got) => self.filled += got,
                Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e.into()),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// Room for a read of the stream, if more than that is missing.
const LEAST_READ: usize = 16 << 10;
/// Input buffer kept after a long packet.
const MOST_KEPT: usize = 1 << 20;

/// How a login proves that it knows the password.
struct Proof<'a> {
    password: &'a [u8],
    /// Nobody listens in.
    secure: bool,
    key: &'a ServerKey,
}

impl Proof<'_> {
    /// The first answer to a challenge.
    fn respond(&self, plugin: Plugin, nonce: &[u8; auth::NONCE]) -> Result<Vec<u8>> {
        Ok(match (plugin, self.key) {
            (Plugin::Sha256, _) if self.secure || self.password.is_empty() => [self.password, &[0]].concat(),
            (Plugin::Sha256, ServerKey::Known(pem)) => self.encrypted(pem, nonce)?,
            (Plugin::Sha256, _) => vec![auth::SHA256_REQUEST_KEY],
            (Plugin::Native, _) => auth::native_response(self.password, nonce),
            (Plugin::Sha2, _) => auth::sha2_response(self.password, nonce),
        })
    }

    /// A server's key is taken from itself.
    fn may_ask(&self, plugin: Plugin) -> bool {
        match self.key {
            ServerKey::Asked => true,
            ServerKey::Known(_) => false,
            ServerKey::Unknown => plugin == Plugin::Sha256,
        }
    }

    fn encrypted(&self, pem: &str, nonce: &[u8; auth::NONCE]) -> Result<Vec<u8>> {
        auth::encrypt_password(pem, self.password, nonce).ok_or(Error::Protocol("RSA key"))
    }
}
