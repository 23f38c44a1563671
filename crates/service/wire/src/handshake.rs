//! The connection phase: greeting, HandshakeResponse41, SSLRequest, COM_CHANGE_USER.

use crate::auth::{NONCE, Plugin};
use crate::codec::{Malformed, Reader, put_lenenc, put_lenenc_bytes, put_nul_bytes};
use crate::flags::cap;
use crate::frame::Writer;

/// Protocol version of the greeting.
pub const PROTOCOL_VERSION: u8 = 10;

/// What this server can do, apart from what configuration adds (`SSL`).
pub const SERVER_CAPABILITIES: u32 = cap::LONG_PASSWORD
    | cap::FOUND_ROWS
    | cap::LONG_FLAG
    | cap::CONNECT_WITH_DB
    | cap::LOCAL_FILES
    | cap::NO_SCHEMA
    | cap::IGNORE_SPACE
    | cap::PROTOCOL_41
    | cap::INTERACTIVE
    | cap::TRANSACTIONS
    | cap::SECURE_CONNECTION
    | cap::MULTI_STATEMENTS
    | cap::MULTI_RESULTS
    | cap::PS_MULTI_RESULTS
    | cap::PLUGIN_AUTH
    | cap::CONNECT_ATTRS
    | cap::PLUGIN_AUTH_LENENC
    | cap::SESSION_TRACK
    | cap::CAN_HANDLE_EXPIRED_PASSWORDS
    | cap::DEPRECATE_EOF
    | cap::OPTIONAL_RESULTSET_METADATA
    | cap::QUERY_ATTRIBUTES;

/// The server's first packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// `VERSION()`.
    pub version: String,
    /// Connection id (its low 32 bits travel).
    pub connection_id: u32,
    /// Challenge of this connection; no byte is 0.
    pub nonce: [u8; NONCE],
    /// [`cap`] bits offered.
    pub capabilities: u32,
    /// Default collation, low byte.
    pub collation: u8,
    /// [`crate::flags::status`] bits.
    pub status: u16,
    /// Name of the default authentication plugin.
    pub plugin: String,
}

impl Greeting {
    /// Writes handshake v10: `u8 10 · version NUL · u32 id · 8 bytes nonce · 0 · u16 capabilities · u8 collation ·
    /// u16 status · u16 capabilities (high) · u8 nonce length + 1 · 10 zeros · 12 bytes nonce · 0 · plugin NUL`.
    pub fn write(&self, out: &mut Writer<'_>) {
        let mark = out.begin();
        let b = out.buf();
        b.push(PROTOCOL_VERSION);
        put_nul_bytes(b, self.version.as_bytes());
        b.extend_from_slice(&self.connection_id.to_le_bytes());
        b.extend_from_slice(&self.nonce[..8]);
        b.push(0);
        b.extend_from_slice(&(self.capabilities as u16).to_le_bytes());
        b.push(self.collation);
        b.extend_from_slice(&self.status.to_le_bytes());
        b.extend_from_slice(&((self.capabilities >> 16) as u16).to_le_bytes());
        b.push(NONCE as u8 + 1);
        b.extend_from_slice(&[0; 10]);
        b.extend_from_slice(&self.nonce[8..]);
        b.push(0);
        put_nul_bytes(b, self.plugin.as_bytes());
        out.end(mark);
    }

    /// Reads a greeting; the client's side.
    pub fn read(payload: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(payload);
        if r.u8()? != PROTOCOL_VERSION {
            return Err(Malformed);
        }
        let version = String::from_utf8_lossy(r.nul_bytes()?).into_owned();
        let connection_id = r.u32()?;
        let mut nonce = [0; NONCE];
        nonce[..8].copy_from_slice(r.bytes(8)?);
        r.u8()?;
        let low = r.u16()?;
        let collation = r.u8()?;
        let status = r.u16()?;
        let capabilities = u32::from(low) | u32::from(r.u16()?) << 16;
        r.bytes(11)?;
        nonce[8..].copy_from_slice(r.bytes(NONCE - 8)?);
        r.u8()?;
        let plugin = String::from_utf8_lossy(r.nul_or_rest()).into_owned();
        Ok(Self { version, connection_id, nonce, capabilities, collation, status, plugin })
    }
}

/// What a client says of itself in the handshake response or in COM_CHANGE_USER.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Login {
    /// Capabilities of the client (not yet cut to what the server offers).
    pub capabilities: u32,
    /// Longest packet it takes.
    pub max_packet: u32,
    /// Collation id it starts with; 0 = the server's default.
    pub collation: u16,
    /// User name.
    pub user: Vec<u8>,
    /// First authentication response.
    pub response: Vec<u8>,
    /// Database to start in.
    pub database: Option<Vec<u8>>,
    /// Plugin that made `response`.
    pub plugin: Option<Vec<u8>>,
    /// `zstd` level the client asks for, with that capability; 0 without.
    pub zstd_level: u8,
    /// Connection attributes (`_client_name` ...).
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The first packet of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientHello {
    /// SSLRequest: a TLS handshake follows, then the response.
    StartTls {
        /// Capabilities of the client.
        capabilities: u32,
    },
    /// HandshakeResponse41.
    Login(Login),
    /// The protocol before 4.1, which MySQL 8.4 does not speak either.
    TooOld,
}

/// Attributes beyond this many bytes in all are dropped (`performance_schema_session_connect_attrs_size` is 512 by
/// default in MySQL; what is longer is not kept).
const ATTRIBUTES_LIMIT: usize = 64 * 1024;

impl ClientHello {
    /// Reads a client's first packet.
    pub fn read(payload: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(payload);
        let low = r.u16()?;
        if u32::from(low) & cap::PROTOCOL_41 == 0 {
            return Ok(ClientHello::TooOld);
        }
        let capabilities = u32::from(low) | u32::from(r.u16()?) << 16;
        let max_packet = r.u32()?;
        let collation = u16::from(r.u8()?);
        // MariaDB's clients put extended capabilities into the last four of these when the server says it is MariaDB.
        r.bytes(23)?;
        if r.is_empty() && capabilities & cap::SSL != 0 {
            return Ok(ClientHello::StartTls { capabilities });
        }
        let user = r.nul_bytes()?.to_vec();
        let response = if capabilities & cap::PLUGIN_AUTH_LENENC != 0 {
            r.lenenc_bytes()?
        } else if capabilities & cap::SECURE_CONNECTION != 0 {
            let n = r.u8()?;
            r.bytes(n.into())?
        } else {
            r.nul_bytes()?
        }
        .to_vec();
        let database = (capabilities & cap::CONNECT_WITH_DB != 0 && !r.is_empty()).then(|| r.nul_or_rest().to_vec());
        let mut login = Login { capabilities, max_packet, collation, user, response, database, ..Login::default() };
        login.read_tail(&mut r)?;
        Ok(ClientHello::Login(login))
    }
}

impl Login {
    /// Reads COM_CHANGE_USER (after the command byte): `user NUL · u8 length, response · database NUL · u16 collation ·
    /// plugin NUL · attributes`.
    pub fn read_change_user(body: &[u8], capabilities: u32) -> Result<Self, Malformed> {
        let mut r = Reader::new(body);
        let user = r.nul_bytes()?.to_vec();
        let n = r.u8()?;
        let response = r.bytes(n.into())?.to_vec();
        let database = Some(r.nul_or_rest().to_vec()).filter(|d| !d.is_empty());
        let collation = if r.is_empty() { 0 } else { r.u16()? };
        let mut login = Login { capabilities, collation, user, response, database, ..Login::default() };
        login.read_tail(&mut r)?;
        Ok(login)
    }

    fn read_tail(&mut self, r: &mut Reader<'_>) -> Result<(), Malformed> {
        if self.capabilities & cap::PLUGIN_AUTH != 0 && !r.is_empty() {
            self.plugin = Some(r.nul_or_rest().to_vec());
        }
        if self.capabilities & cap::CONNECT_ATTRS != 0 && !r.is_empty() {
            let mut pairs = Reader::new(r.lenenc_bytes()?);
            let keep = pairs.rest().len() <= ATTRIBUTES_LIMIT;
            while keep && !pairs.is_empty() {
                self.attributes.push((pairs.lenenc_bytes()?.to_vec(), pairs.lenenc_bytes()?.to_vec()));
            }
        }
        if self.capabilities & cap::ZSTD_COMPRESSION != 0 && !r.is_empty() {
            self.zstd_level = r.u8()?;
        }
        Ok(())
    }

    /// The plugin that made the response; what is not named is `mysql_native_password`.
    pub fn plugin(&self) -> Option<Plugin> {
        match &self.plugin {
            None => Some(Plugin::Native),
            Some(name) => Plugin::by_name(name),
        }
    }

    /// Writes SSLRequest, which is the beginning of HandshakeResponse41; the client's side.
    pub fn write_tls_request(&self, out: &mut Writer<'_>) {
        let mark = out.begin();
        self.put_head(out.buf());
        out.end(mark);
    }

    fn put_head(&self, b: &mut Vec<u8>) {
        b.extend_from_slice(&self.capabilities.to_le_bytes());
        b.extend_from_slice(&self.max_packet.to_le_bytes());
        b.push(self.collation as u8);
        b.extend_from_slice(&[0; 23]);
    }

    /// Writes HandshakeResponse41; the client's side.
    pub fn write(&self, out: &mut Writer<'_>) {
        let mark = out.begin();
        let b = out.buf();
        self.put_head(b);
        put_nul_bytes(b, &self.user);
        if self.capabilities & cap::PLUGIN_AUTH_LENENC != 0 {
            put_lenenc_bytes(b, &self.response);
        } else {
            let n = self.response.len().min(255);
            b.push(n as u8);
            b.extend_from_slice(&self.response[..n]);
        }
        if self.capabilities & cap::CONNECT_WITH_DB != 0 {
            put_nul_bytes(b, self.database.as_deref().unwrap_or_default());
        }
        if self.capabilities & cap::PLUGIN_AUTH != 0 {
            put_nul_bytes(b, self.plugin.as_deref().unwrap_or_default());
        }
        if self.capabilities & cap::CONNECT_ATTRS != 0 {
            let mut pairs = Vec::new();
            for (k, v) in &self.attributes {
                put_lenenc_bytes(&mut pairs, k);
                put_lenenc_bytes(&mut pairs, v);
            }
            put_lenenc(b, pairs.len() as u64);
            b.extend_from_slice(&pairs);
        }
        if self.capabilities & cap::ZSTD_COMPRESSION != 0 {
            b.push(self.zstd_level);
        }
        out.end(mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let (mut out, mut seq) = (Vec::new(), 0);
        write(&mut Writer::new(&mut out, &mut seq));
        out.split_off(crate::frame::HEADER)
    }

    fn login(capabilities: u32) -> Login {
        Login {
            capabilities: capabilities | cap::PROTOCOL_41 | cap::SECURE_CONNECTION,
            max_packet: 1 << 24,
            collation: 255,
            user: b"root".to_vec(),
            response: vec![7; 20],
            database: (capabilities & cap::CONNECT_WITH_DB != 0).then(|| b"test".to_vec()),
            plugin: (capabilities & cap::PLUGIN_AUTH != 0).then(|| b"caching_sha2_password".to_vec()),
            attributes: if capabilities & cap::CONNECT_ATTRS != 0 {
                vec![(b"_os".to_vec(), b"Linux".to_vec()), (b"x".to_vec(), vec![])]
            } else {
                vec![]
            },
            zstd_level: if capabilities & cap::ZSTD_COMPRESSION != 0 { 3 } else { 0 },
        }
    }

    #[test]
    fn greeting_round_trips() {
        let g = Greeting {
            version: "8.4.0".into(),
            connection_id: 7,
            nonce: *b"abcdefghijklmnopqrst",
            capabilities: SERVER_CAPABILITIES,
            collation: 255,
            status: 2,
            plugin: "caching_sha2_password".into(),
        };
        assert_eq!(Greeting::read(&payload(|w| g.write(w))), Ok(g));
    }

    #[test]
    fn login_round_trips_with_every_set_of_fields() {
        for bits in 0..32u32 {
            let caps = [
                cap::CONNECT_WITH_DB,
                cap::PLUGIN_AUTH,
                cap::CONNECT_ATTRS,
                cap::PLUGIN_AUTH_LENENC,
                cap::ZSTD_COMPRESSION,
            ]
            .iter()
            .enumerate()
            .filter(|(i, _)| bits >> i & 1 == 1)
            .fold(0, |a, (_, c)| a | c);
            let l = login(caps);
            let p = payload(|w| l.write(w));
            assert_eq!(ClientHello::read(&p), Ok(ClientHello::Login(l)), "{bits}");
            for cut in 0..p.len() {
                let _ = ClientHello::read(&p[..cut]);
            }
        }
    }

    #[test]
    fn tls_request_and_ancient_clients_are_recognised() {
        let mut p = payload(|w| login(cap::SSL).write(w));
        p.truncate(32);
        assert!(matches!(ClientHello::read(&p), Ok(ClientHello::StartTls { .. })));
        assert_eq!(ClientHello::read(&[0; 40]), Ok(ClientHello::TooOld));
        assert_eq!(ClientHello::read(&[0, 2, 0]), Err(Malformed));
    }

    #[test]
    fn change_user_reads_what_libmysql_sends() {
        let mut b = b"u\0\x03abcdb\0\xff\0mysql_native_password\0".to_vec();
        b.extend_from_slice(b"\x05\x01a\x02bc");
        let l = Login::read_change_user(&b, cap::PLUGIN_AUTH | cap::CONNECT_ATTRS).unwrap();
        assert_eq!((l.user.as_slice(), l.response.as_slice(), l.collation), (&b"u"[..], &b"abc"[..], 255));
        assert_eq!(l.database.as_deref(), Some(&b"db"[..]));
        assert_eq!(l.plugin(), Some(Plugin::Native));
        assert_eq!(l.attributes, [(b"a".to_vec(), b"bc".to_vec())]);
    }
}
