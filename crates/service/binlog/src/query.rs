//! QUERY events: statements, and what they ran under.
//!
//! ```text
//! 0   u32  connection id
//! 4   u32  seconds that it took
//! 8   u8   length of the schema's name
//! 9   u16  error number
//! 11  u16  length of the status variables
//! 13  ...  status variables; the schema's name, 0; the text to the end
//! ```
//!
//! Status variables are a number each and what belongs to it. Readers stop at the first that they do not know, so
//! they are in ascending order.

use gannet_base::{DecodeError, Reader, Writer};

const FLAGS2: u8 = 0;
const SQL_MODE: u8 = 1;
const CATALOG: u8 = 2;
const AUTO_INCREMENT: u8 = 3;
const CHARSET: u8 = 4;
const TIME_ZONE: u8 = 5;
const CATALOG_NZ: u8 = 6;
const LC_TIME_NAMES: u8 = 7;
const CHARSET_DATABASE: u8 = 8;
const TABLE_MAP_FOR_UPDATE: u8 = 9;
const SOURCE_DATA_WRITTEN: u8 = 10;
const INVOKER: u8 = 11;
const UPDATED_SCHEMAS: u8 = 12;
const MICROSECONDS: u8 = 13;
const EXPLICIT_DEFAULTS: u8 = 16;
const DDL_XID: u8 = 17;
const DEFAULT_COLLATION_UTF8MB4: u8 = 18;
const REQUIRE_PRIMARY_KEY: u8 = 19;
const DEFAULT_ENCRYPTION: u8 = 20;
/// A MariaDB's [`MICROSECONDS`].
const MARIADB_MICROSECONDS: u8 = 128;

/// More schemas than this are not listed: 254 stands for all.
const MAX_SCHEMAS: usize = 16;

/// Bits of [`Settings::flags2`].
pub mod flags2 {
    pub const AUTO_IS_NULL: u32 = 1 << 14;
    pub const NOT_AUTOCOMMIT: u32 = 1 << 19;
    pub const NO_FOREIGN_KEY_CHECKS: u32 = 1 << 26;
    pub const RELAXED_UNIQUE_CHECKS: u32 = 1 << 27;
    /// A MariaDB's `sql_if_exists`.
    pub const IF_EXISTS: u32 = 1 << 28;
}

/// What a statement ran under. `None` is not written, and stands for what was in force before.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// See [`flags2`].
    pub flags2: Option<u32>,
    /// `sql_mode`
    pub sql_mode: Option<u64>,
    /// `auto_increment_increment`, `auto_increment_offset`
    pub auto_increment: Option<(u16, u16)>,
    /// Collations of `character_set_client`, the connection, the server.
    pub charset: Option<[u16; 3]>,
    /// `time_zone`
    pub time_zone: Option<String>,
    /// Number of `lc_time_names`
    pub lc_time_names: Option<u16>,
    /// Collation of the current schema.
    pub charset_database: Option<u16>,
    /// User and host on whose behalf.
    pub invoker: Option<(String, String)>,
    /// Schemas that it changes.
    pub schemas: Option<Vec<String>>,
    /// Microseconds of the event's time.
    pub microseconds: Option<u32>,
    /// `explicit_defaults_for_timestamp`
    pub explicit_defaults: Option<bool>,
    /// Id of the transaction that a definition commits with.
    pub ddl_xid: Option<u64>,
    /// `default_collation_for_utf8mb4`
    pub default_collation_utf8mb4: Option<u16>,
    /// `sql_require_primary_key`
    pub require_primary_key: Option<bool>,
    /// `default_table_encryption`
    pub default_encryption: Option<bool>,
}

impl Settings {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        if let Some(v) = self.flags2 {
            w.u8(FLAGS2).u32(v);
        }
        if let Some(v) = self.sql_mode {
            w.u8(SQL_MODE).u64(v);
        }
        if let Some((increment, offset)) = self.auto_increment {
            w.u8(AUTO_INCREMENT).u16(increment).u16(offset);
        }
        if let Some([client, connection, server]) = self.charset {
            w.u8(CHARSET).u16(client).u16(connection).u16(server);
        }
        if let Some(zone) = &self.time_zone {
            short(w.u8(TIME_ZONE), zone.as_bytes());
        }
        w.u8(CATALOG_NZ);
        short(&mut w, b"std");
        if let Some(v) = self.lc_time_names {
            w.u8(LC_TIME_NAMES).u16(v);
        }
        if let Some(v) = self.charset_database {
            w.u8(CHARSET_DATABASE).u16(v);
        }
        if let Some((user, host)) = &self.invoker {
            short(w.u8(INVOKER), user.as_bytes());
            short(&mut w, host.as_bytes());
        }
        match &self.schemas {
            Some(schemas) if schemas.len() > MAX_SCHEMAS => {
                w.u8(UPDATED_SCHEMAS).u8(254);
            }
            Some(schemas) if !schemas.is_empty() => {
                w.u8(UPDATED_SCHEMAS).u8(schemas.len() as u8);
                for schema in schemas {
                    w.bytes(schema.as_bytes()).u8(0);
                }
            }
            _ => {}
        }
        if let Some(us) = self.microseconds.filter(|us| *us > 0) {
            w.u8(MICROSECONDS).bytes(&us.to_le_bytes()[..3]);
        }
        if let Some(v) = self.explicit_defaults {
            w.u8(EXPLICIT_DEFAULTS).u8(u8::from(v));
        }
        if let Some(v) = self.ddl_xid {
            w.u8(DDL_XID).u64(v);
        }
        if let Some(v) = self.default_collation_utf8mb4 {
            w.u8(DEFAULT_COLLATION_UTF8MB4).u16(v);
        }
        if let Some(v) = self.require_primary_key {
            w.u8(REQUIRE_PRIMARY_KEY).u8(u8::from(v));
        }
        if let Some(v) = self.default_encryption {
            w.u8(DEFAULT_ENCRYPTION).u8(u8::from(v));
        }
    }

    /// Takes what it knows, and passes over all from the first number on that it does not know.
    fn decode(bytes: &[u8]) -> Result<Settings, DecodeError> {
        let mut r = Reader::new(bytes);
        let mut it = Settings::default();
        while !r.is_empty() {
            match r.u8()? {
                FLAGS2 => it.flags2 = Some(r.u32()?),
                SQL_MODE => it.sql_mode = Some(r.u64()?),
                CATALOG => {
                    let n = usize::from(r.u8()?);
                    r.bytes(n + 1)?;
                }
                AUTO_INCREMENT => it.auto_increment = Some((r.u16()?, r.u16()?)),
                CHARSET => it.charset = Some([r.u16()?, r.u16()?, r.u16()?]),
                TIME_ZONE => it.time_zone = Some(short_text(&mut r)?),
                CATALOG_NZ => {
                    short_text(&mut r)?;
                }
                LC_TIME_NAMES => it.lc_time_names = Some(r.u16()?),
                CHARSET_DATABASE => it.charset_database = Some(r.u16()?),
                TABLE_MAP_FOR_UPDATE => {
                    r.u64()?;
                }
                SOURCE_DATA_WRITTEN => {
                    r.u32()?;
                }
                INVOKER => it.invoker = Some((short_text(&mut r)?, short_text(&mut r)?)),
                UPDATED_SCHEMAS => {
                    let n = r.u8()?;
                    if n != 254 {
                        it.schemas = Some((0..n).map(|_| nul_text(&mut r)).collect::<Result<_, _>>()?);
                    }
                }
                MICROSECONDS | MARIADB_MICROSECONDS => {
                    let [a, b, c] = r.array()?;
                    it.microseconds = Some(u32::from_le_bytes([a, b, c, 0]));
                }
                EXPLICIT_DEFAULTS => it.explicit_defaults = Some(r.u8()? != 0),
                DDL_XID => it.ddl_xid = Some(r.u64()?),
                DEFAULT_COLLATION_UTF8MB4 => it.default_collation_utf8mb4 = Some(r.u16()?),
                REQUIRE_PRIMARY_KEY => it.require_primary_key = Some(r.u8()? != 0),
                DEFAULT_ENCRYPTION => it.default_encryption = Some(r.u8()? != 0),
                _ => break,
            }
        }
        Ok(it)
    }
}

fn short(w: &mut Writer<'_>, bytes: &[u8]) {
    let n = bytes.len().min(255);
    w.u8(n as u8).bytes(&bytes[..n]);
}

fn short_text(r: &mut Reader<'_>) -> Result<String, DecodeError> {
    let n = usize::from(r.u8()?);
    Ok(String::from_utf8_lossy(r.bytes(n)?).into_owned())
}

fn nul_text(r: &mut Reader<'_>) -> Result<String, DecodeError> {
    let mut rest = *r;
    let n = rest.rest().iter().position(|b| *b == 0).ok_or(r.invalid("name"))?;
    let text = String::from_utf8_lossy(r.bytes(n)?).into_owned();
    r.u8()?;
    Ok(text)
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query<'a> {
    /// Of the connection.
    pub thread_id: u32,
    /// Seconds that it took.
    pub seconds: u32,
    /// With which it ended; 0.
    pub error: u16,
    /// The current schema; empty: none.
    pub schema: &'a [u8],
    /// What it ran under.
    pub settings: Settings,
    /// Its text.
    pub text: &'a [u8],
}

impl<'a> Query<'a> {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let schema = &self.schema[..self.schema.len().min(255)];
        Writer::new(out).u32(self.thread_id).u32(self.seconds).u8(schema.len() as u8).u16(self.error).u16(0);
        let start = out.len();
        self.settings.encode(out);
        let length = (out.len() - start) as u16;
        out[start - 2..start].copy_from_slice(&length.to_le_bytes());
        Writer::new(out).bytes(schema).u8(0).bytes(self.text);
    }

    /// From a body.
    pub fn decode(body: &'a [u8]) -> Result<Query<'a>, DecodeError> {
        Ok(Query::decode_with::<0>(body)?.0)
    }

    /// From the body of an event that has so many bytes of its own before the status variables; and these.
    pub(crate) fn decode_with<const N: usize>(body: &'a [u8]) -> Result<(Query<'a>, &'a [u8]), DecodeError> {
        let mut r = Reader::new(body);
        let (thread_id, seconds) = (r.u32()?, r.u32()?);
        let (schema, error, settings) = (r.u8()?, r.u16()?, r.u16()?);
        let own = r.bytes(N)?;
        let settings = Settings::decode(r.bytes(usize::from(settings))?)?;
        let schema = r.bytes(usize::from(schema))?;
        if r.u8()? != 0 {
            return Err(r.invalid("end of a schema's name"));
        }
        Ok((Query { thread_id, seconds, error, schema, settings, text: r.rest() }, own))
    }
}
