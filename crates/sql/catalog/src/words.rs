//! What those who follow the log are told of a statement that changes definitions or accounts: the payload of its commit
//! ([`gannet_engine::Txn::commit_with`]). Little-endian:
//!
//! ```text
//! 0  u8   1: the words of a definition
//! 1  u8   1: foreign_key_checks; 0: off
//! 2  u16  collation_connection
//! 4  u16  collation_server
//! 6  u16  length of the schema's name
//! 8  u64  sql_mode
//! 16 i64  start of the statement, microseconds since 1970 UTC
//! 24 ...  the current schema's name, then the statement's text to the end
//! ```

use gannet_base::{DecodeError, Reader, Writer};
use gannet_engine::{EngineError, Lsn, Txn};
use gannet_types::{CollationId, SqlMode};

/// First byte of the payload.
const DEFINITION: u8 = 1;

/// A statement that changes definitions or accounts, as others have to know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words {
    /// Its text. Passwords are hidden in it.
    pub text: Vec<u8>,
    /// The current schema; empty when there is none.
    pub schema: String,
    /// `sql_mode`
    pub sql_mode: SqlMode,
    /// `collation_connection`
    pub collation: CollationId,
    /// `collation_server`
    pub server_collation: CollationId,
    /// `foreign_key_checks`
    pub foreign_key_checks: bool,
    /// Start of the statement, microseconds since 1970 UTC.
    pub now_us: i64,
}

impl Words {
    /// As the log has them.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![DEFINITION, u8::from(self.foreign_key_checks)];
        Writer::new(&mut out)
            .u16(self.collation.0)
            .u16(self.server_collation.0)
            .u16(self.schema.len() as u16)
            .u64(self.sql_mode.bits())
            .u64(self.now_us as u64)
            .bytes(self.schema.as_bytes())
            .bytes(&self.text);
        out
    }

    /// From the payload of a commit; `None` when it is none of a definition.
    pub fn decode(payload: &[u8]) -> Result<Option<Words>, DecodeError> {
        let mut r = Reader::new(payload);
        let [kind, checks] = r.array()?;
        if kind != DEFINITION {
            return Ok(None);
        }
        let (collation, server_collation, len) = (r.u16()?, r.u16()?, r.u16()?);
        let (sql_mode, now_us) = (r.u64()?, r.u64()? as i64);
        let schema = std::str::from_utf8(r.bytes(usize::from(len))?).map_err(|_| r.invalid("schema"))?.to_owned();
        let text = payload.get(24 + usize::from(len)..).unwrap_or_default().to_vec();
        Ok(Some(Words {
            text,
            schema,
            sql_mode: SqlMode::from_bits(sql_mode).map_err(|_| r.invalid("sql_mode"))?,
            collation: CollationId(collation),
            server_collation: CollationId(server_collation),
            foreign_key_checks: checks != 0,
            now_us,
        }))
    }
}

/// Commits a change of definitions or accounts, and tells those who follow the log of it if there are words.
pub fn commit(txn: &mut Txn, words: Option<&Words>) -> Result<Option<Lsn>, EngineError> {
    match words {
        Some(words) => txn.commit_with(&mut &words.encode()[..]).map(Some),
        None => txn.commit(),
    }
}
