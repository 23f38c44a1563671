//! The connection to the source.

use super::Fault;
use super::channel::Channel;
use super::source::{Position, Source};
use gannet_binlog::format::put_gtids;
use gannet_core::Core;
use gannet_core::vars::Live;
use gannet_runtime::{WallTime, connect_from, fs, run_blocking};
use gannet_types::{SqlError, sql_err};
use gannet_wire::auth::{Plugin, is_public_key};
use gannet_wire::client::{Connection, Error, Options, ServerKey};
use gannet_wire::codec::put_lenenc_bytes;
use gannet_wire::compress;
use gannet_wire::flags::{cap, com};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// Packets that are taken at once, and their bytes.
const PACKETS: usize = 1000;
const BYTES: usize = 4 << 20;

/// Before the flags of events, and in acknowledgements.
const SEMI_SYNC: u8 = 0xef;

/// Events as they come.
pub(crate) struct Reading {
    connection: Connection,
    /// The source asks for acknowledgements.
    semi: bool,
    /// A source that says nothing for so long is gone.
    patience: Duration,
}

fn fault(e: Error) -> Fault {
    match e {
        Error::Io(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            let text = unreadable(LOST, &"it has said nothing for replica_net_timeout seconds");
            Fault::Source(SqlError::signal(LOST, *b"HY000", text.message()))
        }
        Error::TooLong => {
            let text = "Got a packet bigger than 'replica_max_allowed_packet' bytes";
            Fault::Refused(SqlError::signal(TOO_LONG, *b"08S01", text))
        }
        // The source answers, and does not want.
        Error::Server { code: code @ 1236, message, .. } => {
            let e = sql_err!(SourceFatalErrorReadingBinlog, code, message);
            Fault::Refused(SqlError::signal(UNREADABLE_SOURCE, *b"HY000", e.message()))
        }
        Error::Server { code: code @ (1045 | 1227 | 1130), message, .. } => Fault::Refused(unreadable(code, &message)),
        Error::Server { code, message, .. } => Fault::Source(unreadable(code, &message)),
        e => Fault::Source(SqlError::signal(LOST, *b"HY000", unreadable(LOST, &e).message())),
    }
}

/// Numbers of MySQL's client library: there is no server, no host, and no server any more.
const NO_SERVER: u16 = 2003;
const NO_HOST: u16 = 2005;
const LOST: u16 = 2013;
/// The number under which a replica has its source's error 1236.
const UNREADABLE_SOURCE: u16 = 13114;
/// There is no agreement on TLS, and a plugin of the login has failed.
const NO_TLS: u16 = 2026;
const INSECURE: u16 = 2061;
/// What follows the events of an event's packet: its first byte, the flags of semi-sync, and the head of the event.
const BESIDE_EVENT: usize = 64;
/// The client's number for algorithms of compression that the server does not have.
const NO_COMPRESSION: u16 = 2066;
/// The number of a packet that is too long.
const TOO_LONG: u16 = 1153;

/// There is no connection, as MySQL says it: under the number of what is wrong. It is tried again, whatever it is: an
/// account may be made meanwhile.
fn unconnected(e: Error, shared: &Channel, source: &Source) -> Fault {
    let place = format!("{}:{}", source.host, source.port);
    let (number, message) = match e {
        Error::Server { code, message, .. } => (code, message),
        Error::Io(e) if e.kind() == ErrorKind::NotFound => {
            (NO_HOST, format!("Unknown MySQL server host '{}' ({e})", source.host))
        }
        Error::Io(e) => {
            let why = e.raw_os_error().map_or_else(|| e.to_string(), |number| number.to_string());
            (NO_SERVER, format!("Can't connect to MySQL server on '{place}' ({why})"))
        }
        Error::Tls(e) => (NO_TLS, format!("SSL connection error: {e}")),
        e @ Error::Insecure(_) => (INSECURE, e.to_string()),
        e @ (Error::Protocol(_) | Error::TooLong) => (LOST, e.to_string()),
    };
    let (user, attempt) = (&source.user, shared.status.lock().attempt);
    let Source { retries, retry_s, .. } = source;
    let text = format!(
        "Error connecting to source '{user}@{place}'. This was attempt {attempt}/{retries}, with a delay of {retry_s} \
         seconds between attempts. Message: {message}"
    );
    Fault::Source(SqlError::signal(number, *b"HY000", text))
}

fn unreadable(code: u16, e: &dyn std::fmt::Display) -> SqlError {
    sql_err!(ReplicaFatalError, format_args!("error {code} of the source: {e}"))
}

fn one(connection: &mut Connection, sql: &str) -> Result<Option<String>, Fault> {
    let found = connection.query(sql).map_err(fault)?.texts();
    Ok(found.into_iter().next().and_then(|row| row.into_iter().next()))
}

/// The key under which the password travels where nothing is encrypted. Error 2061 for a file that cannot be read.
fn server_key(source: &Source) -> Result<ServerKey, Fault> {
    let path = &source.public_key_path;
    let failed = |e: &dyn std::fmt::Display| {
        Fault::Refused(SqlError::signal(INSECURE, *b"HY000", format!("SOURCE_PUBLIC_KEY_PATH = '{path}': {e}")))
    };
    match (path.as_str(), source.public_key) {
        ("", true) => Ok(ServerKey::Asked),
        ("", false) => Ok(ServerKey::Unknown),
        (path, _) => {
            let pem = fs::read_plain(path).map_err(|e| failed(&e))?;
            let pem = String::from_utf8(pem).map_err(|e| failed(&e))?;
            if is_public_key(&pem) { Ok(ServerKey::Known(pem)) } else { Err(failed(&"it has no RSA public key")) }
        }
    }
}

/// The address of SOURCE_BIND that reaches `to`.
fn bound(name: &str, to: SocketAddr) -> std::io::Result<Option<IpAddr>> {
    if name.is_empty() {
        return Ok(None);
    }
    let found = (name, 0).to_socket_addrs()?.find(|from| from.is_ipv4() == to.is_ipv4());
    let none = || std::io::Error::new(ErrorKind::AddrNotAvailable, format!("SOURCE_BIND = '{name}' does not reach it"));
    found.map(|from| Some(from.ip())).ok_or_else(none)
}

/// A connection to the source. STOP REPLICA ends it, from its first moment on.
fn sign_in(
    shared: &Channel,
    (source, plugin): (&Source, Option<Plugin>),
    patience: Duration,
) -> Result<Connection, Fault> {
    let get = |id: Live| shared.core.globals.get(id);
    let (algorithms, plain) = match get(Live::ReplicaCompressedProtocol).as_bool() {
        true => (cap::COMPRESS, true),
        false => compress::allowed(&source.compression).unwrap_or((0, true)),
    };
    if source.user.is_empty() {
        let what = "Invalid (empty) username when attempting to connect to the source server. Connection attempt \
                    terminated.";
        return Err(Fault::Refused(sql_err!(ReplicaReceiverFatal, what)));
    }
    let options = Options {
        user: source.user.clone(),
        password: source.password.clone(),
        timeout: Some(patience),
        longest: get(Live::ReplicaMaxAllowedPacket).as_u64() as usize + BESIDE_EVENT,
        capabilities: algorithms,
        plugin,
        tls: source.tls.client(&source.host)?,
        key: server_key(source)?,
        zstd_level: source.zstd_level,
        ..Options::default()
    };
    let dial = |to| connect_from(bound(&source.bind, to)?, to, Some(patience));
    let connected = Connection::connect_ended((&source.host, source.port), &options, dial, |ender| {
        let mut kept = shared.ender.lock();
        if shared.is_stopping() {
            ender.end();
        }
        *kept = Some(ender);
    });
    if shared.is_stopping() {
        return Err(Fault::Stopped);
    }
    let c = connected.map_err(|e| unconnected(e, shared, source))?;
    if !plain && c.capabilities & algorithms == 0 {
        let what = format!("the source compresses by none of SOURCE_COMPRESSION_ALGORITHMS: {}", source.compression);
        return Err(Fault::Refused(SqlError::signal(NO_COMPRESSION, *b"HY000", what)));
    }
    Ok(c)
}

impl Reading {
    /// Connects, and asks for the events behind `position`.
    pub(crate) fn open(
        shared: &Channel,
        source: (&Source, Option<Plugin>),
        position: &Position,
    ) -> Result<Reading, Fault> {
        run_blocking(|| Reading::connect(shared, source, position))
    }

    fn connect(
        shared: &Channel,
        (source, plugin): (&Source, Option<Plugin>),
        position: &Position,
    ) -> Result<Reading, Fault> {
        let get = |id: Live| shared.core.globals.get(id);
        let patience = Duration::from_secs(get(Live::ReplicaNetTimeout).as_u64());
        let mut c = sign_in(shared, (source, plugin), patience)?;
        let (own_id, own_uuid) = (get(Live::ServerId).as_u64(), get(Live::ServerUuid).as_str().to_owned());
        if let Some(clock) = one(&mut c, "SELECT UNIX_TIMESTAMP()")?.and_then(|s| s.parse::<i64>().ok()) {
            shared.status.lock().ahead_s = (WallTime::now().seconds() as i64).saturating_sub(clock);
        }
        let source_id = one(&mut c, "SELECT @@GLOBAL.server_id")?.and_then(|id| id.parse().ok()).unwrap_or(0);
        if source_id == own_id {
            let what = "The replica I/O thread stops because source and replica have equal MySQL server ids; these ids \
                        must be different for replication to work (or the --replicate-same-server-id option must be \
                        used on replica but this does not always make sense; please check the manual before using it).";
            return Err(Fault::Refused(sql_err!(ReplicaReceiverFatal, what)));
        }
        shared.status.lock().source_id = source_id;
        let mariadb = c.greeting.version.contains("MariaDB");
        if !mariadb {
            let uuid = one(&mut c, "SELECT @@GLOBAL.server_uuid")?.unwrap_or_default();
            if uuid.eq_ignore_ascii_case(&own_uuid) {
                let what = "The replica I/O thread stops because source and replica have equal MySQL server UUIDs; \
                            these UUIDs must be different for replication to work.";
                return Err(Fault::Refused(sql_err!(ReplicaReceiverFatal, what)));
            }
            shared.status.lock().source_uuid = uuid;
        } else if source.auto_position {
            let what = "the source is a MariaDB, which has other GTIDs: it is followed by file and position";
            return Err(Fault::Refused(sql_err!(ReplicaFatalError, what)));
        }
        let period = Duration::from_millis(source.heartbeat_ms).as_nanos();
        if mariadb {
            // Its events for GTIDs are known: without them it sends no branch of XA.
            c.query("SET @mariadb_slave_capability = 4").map_err(fault)?;
        }
        for sql in [
            format!("SET @master_heartbeat_period = {period}, @source_heartbeat_period = {period}"),
            "SET @master_binlog_checksum = 'CRC32', @source_binlog_checksum = 'CRC32'".to_owned(),
            format!("SET @slave_uuid = '{own_uuid}', @replica_uuid = '{own_uuid}'"),
        ] {
            c.query(&sql).map_err(fault)?;
        }
        let semi = get(Live::RplSemiSyncReplicaEnabled).as_bool() && agrees(&mut c)?;
        register(&mut c, &shared.core, own_id as u32)?;
        let (command, body) = match source.auto_position {
            true => by_gtids(shared, (position, semi), own_id as u32)?,
            false => by_position(&mut c, position, own_id as u32)?,
        };
        c.command(command, &body).map_err(fault)?;
        shared.status.lock().connected(semi);
        Ok(Reading { connection: c, semi, patience })
    }

    /// Waits until something comes, so long at most. False: nothing has.
    pub(crate) fn arrives(&mut self, shared: &Channel, patience: Duration) -> Result<bool, Fault> {
        let patient = |patience| match &*shared.ender.lock() {
            Some(ender) => ender.set_patience(patience),
            None => Ok(()),
        };
        patient(Some(patience)).map_err(fault)?;
        let came = run_blocking(|| self.connection.arrives());
        patient(Some(self.patience)).map_err(fault)?;
        if shared.is_stopping() {
            return Err(Fault::Stopped);
        }
        came.map_err(fault)
    }

    /// The event in a packet, and whether it is to be acknowledged when it is applied.
    pub(crate) fn event<'p>(&self, packet: &'p [u8]) -> Result<(&'p [u8], bool), Fault> {
        let rest = packet.get(1..).unwrap_or_default();
        match rest {
            _ if !self.semi => Ok((rest, false)),
            [SEMI_SYNC, asks, event @ ..] => Ok((event, *asks != 0)),
            _ => Err(Fault::Refused(sql_err!(RelayLogWriteFailure, "an event without the flags of semi-sync"))),
        }
    }

    /// Tells the source that all up to this place is here, and durable.
    pub(crate) fn acknowledge(&mut self, file: &str, at: u64) -> Result<(), Fault> {
        let body = [&at.to_le_bytes()[..], file.as_bytes()].concat();
        run_blocking(|| self.connection.command(SEMI_SYNC, &body)).map_err(fault)
    }

    /// The next packets; `None`: the source has ended the log.
    pub(crate) fn next(&mut self, shared: &Channel) -> Result<Option<Vec<Vec<u8>>>, Fault> {
        let connection = &mut self.connection;
        let read = run_blocking(|| {
            let mut packets = vec![connection.receive()?];
            let mut bytes = packets[0].len();
            while packets.len() < PACKETS && bytes < BYTES && connection.has_packet() {
                let packet = connection.receive()?;
                bytes += packet.len();
                packets.push(packet);
            }
            Ok(packets)
        });
        if shared.is_stopping() {
            return Err(Fault::Stopped);
        }
        let packets = read.map_err(fault)?;
        // EOF: a dump that does not wait has ended.
        if packets.first().is_some_and(|p| p.first() == Some(&0xFE) && p.len() < 9) {
            return Ok(None);
        }
        Ok(Some(packets))
    }
}

/// Offers a source that can be semi-synchronous to acknowledge what it sends. False: it cannot.
fn agrees(c: &mut Connection) -> Result<bool, Fault> {
    const NAMES: &str = "'rpl_semi_sync_source_enabled', 'rpl_semi_sync_master_enabled'";
    if one(c, &format!("SHOW VARIABLES WHERE Variable_name IN ({NAMES})"))?.is_none() {
        return Ok(false);
    }
    c.query("SET @rpl_semi_sync_replica = 1, @rpl_semi_sync_slave = 1").map_err(fault)?;
    Ok(true)
}

/// The source lists this server in SHOW REPLICAS as the variables report_... say.
fn register(c: &mut Connection, core: &Core, server_id: u32) -> Result<(), Fault> {
    let get = |id: Live| core.globals.get(id);
    let mut body = server_id.to_le_bytes().to_vec();
    for (id, most) in [(Live::ReportHost, 255), (Live::ReportUser, 96), (Live::ReportPassword, 96)] {
        let value = get(id);
        // Longer ones are not sent, as in MySQL.
        let text = Some(value.as_str()).filter(|text| text.len() <= most).unwrap_or_default();
        put_lenenc_bytes(&mut body, text.as_bytes());
    }
    body.extend_from_slice(&(get(Live::ReportPort).as_u64() as u16).to_le_bytes());
    body.extend_from_slice(&[0; 8]);
    let refused = |e| match e {
        Error::Server { code, message, .. } => {
            let why = format_args!("{message} (Errno: {code})").to_string();
            Fault::Refused(sql_err!(ReplicaSourceComFailure, "COM_REGISTER_REPLICA", why))
        }
        e => fault(e),
    };
    c.command(com::REGISTER_SLAVE, &body).map_err(refused)?;
    c.receive().map(drop).map_err(refused)
}

/// All that is not executed here, or received. A source that waits for acknowledgements takes what is named as
/// acknowledged: then it is only what is executed durably, and the rest comes once more.
fn by_gtids(shared: &Channel, (position, semi): (&Position, bool), server_id: u32) -> Result<(u8, Vec<u8>), Fault> {
    let mut has = position.applied.clone();
    if semi {
        shared.make_durable().map_err(Fault::Refused)?;
    } else {
        has.add_all(&shared.relay.retrieved());
    }
    if let Some(log) = shared.core.binlog() {
        // What is missed in it would be done twice.
        has.add_all(&log.all_executed(&shared.core.engine).map_err(Fault::Source)?);
    }
    let mut set = Vec::new();
    put_gtids(&has, &mut set);
    let mut body = vec![0, 0];
    body.extend_from_slice(&server_id.to_le_bytes());
    body.extend_from_slice(&0u32.to_le_bytes());
    body.extend_from_slice(&4u64.to_le_bytes());
    body.extend_from_slice(&(set.len() as u32).to_le_bytes());
    body.extend_from_slice(&set);
    Ok((com::BINLOG_DUMP_GTID, body))
}

/// From a position on; without one, from the source's first file on.
fn by_position(c: &mut Connection, position: &Position, server_id: u32) -> Result<(u8, Vec<u8>), Fault> {
    let file = match position.file.as_str() {
        "" => one(c, "SHOW BINARY LOGS")?.unwrap_or_default(),
        file => file.to_owned(),
    };
    let at = if position.file.is_empty() { 4 } else { position.at.max(4) };
    let at = u32::try_from(at).map_err(|_| {
        Fault::Refused(sql_err!(ReplicaFatalError, format_args!("position {at} is beyond what can be asked for")))
    })?;
    let mut body = at.to_le_bytes().to_vec();
    body.extend_from_slice(&[0, 0]);
    body.extend_from_slice(&server_id.to_le_bytes());
    body.extend_from_slice(file.as_bytes());
    Ok((com::BINLOG_DUMP, body))
}
