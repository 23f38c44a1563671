//! The frame of an event, and where one ends in a stream of them. Little-endian:
//!
//! ```text
//! 0   u32  seconds since 1970: of the statement
//! 4   u8   kind
//! 5   u32  server id
//! 9   u32  size in bytes, this header and the checksum included
//! 13  u32  position in the file behind the event, modulo 2^32; 0 in events that were never in a file
//! 17  u16  flags
//! 19  ...  body
//! -4  u32  CRC-32 (IEEE) of all before, where the file's first event says that there are checksums
//! ```
//!
//! A file begins with [`MAGIC`] and a format description event. Source: MySQL 8.4 Source Code Documentation, "Binary
//! log event".

use gannet_base::{DecodeError, Reader};
use std::sync::LazyLock;

/// The first bytes of a file.
pub const MAGIC: [u8; 4] = [0xfe, b'b', b'i', b'n'];
/// Size of an event's header.
pub const HEADER: usize = 19;
/// Size of a checksum.
pub const CHECKSUM: usize = 4;
/// Largest event that is taken from others: the largest value of `max_allowed_packet`, and room for what is around a
/// row.
pub const MAX_EVENT: u32 = (1 << 30) + (1 << 20);

/// What is wrong with an event whose bytes are not those that were written.
pub const WRONG_CHECKSUM: &str = "checksum of an event";

/// Kinds of events: MySQL's numbers.
pub mod kind {
    /// Rows that were inserted, changed or deleted, as a server writes them that does not compress them.
    pub fn is_rows(kind: u8) -> bool {
        matches!(kind, WRITE_ROWS_V1..=DELETE_ROWS_V1 | WRITE_ROWS..=DELETE_ROWS | PARTIAL_UPDATE_ROWS)
    }

    pub const QUERY: u8 = 2;
    pub const STOP: u8 = 3;
    pub const ROTATE: u8 = 4;
    pub const INTVAR: u8 = 5;
    pub const APPEND_BLOCK: u8 = 9;
    pub const DELETE_FILE: u8 = 11;
    pub const RAND: u8 = 13;
    pub const USER_VAR: u8 = 14;
    pub const FORMAT_DESCRIPTION: u8 = 15;
    pub const XID: u8 = 16;
    pub const BEGIN_LOAD_QUERY: u8 = 17;
    pub const EXECUTE_LOAD_QUERY: u8 = 18;
    pub const TABLE_MAP: u8 = 19;
    pub const WRITE_ROWS_V1: u8 = 23;
    pub const UPDATE_ROWS_V1: u8 = 24;
    pub const DELETE_ROWS_V1: u8 = 25;
    pub const INCIDENT: u8 = 26;
    pub const HEARTBEAT: u8 = 27;
    pub const IGNORABLE: u8 = 28;
    pub const ROWS_QUERY: u8 = 29;
    pub const WRITE_ROWS: u8 = 30;
    pub const UPDATE_ROWS: u8 = 31;
    pub const DELETE_ROWS: u8 = 32;
    pub const GTID: u8 = 33;
    pub const ANONYMOUS_GTID: u8 = 34;
    pub const PREVIOUS_GTIDS: u8 = 35;
    pub const TRANSACTION_CONTEXT: u8 = 36;
    pub const VIEW_CHANGE: u8 = 37;
    pub const XA_PREPARE: u8 = 38;
    pub const PARTIAL_UPDATE_ROWS: u8 = 39;
    pub const TRANSACTION_PAYLOAD: u8 = 40;
    pub const HEARTBEAT_V2: u8 = 41;
    pub const GTID_TAGGED: u8 = 42;
    pub const MARIADB_ANNOTATE_ROWS: u8 = 160;
    pub const MARIADB_BINLOG_CHECKPOINT: u8 = 161;
    pub const MARIADB_GTID: u8 = 162;
    pub const MARIADB_GTID_LIST: u8 = 163;
    pub const MARIADB_START_ENCRYPTION: u8 = 164;
    pub const MARIADB_QUERY_COMPRESSED: u8 = 165;
    pub const MARIADB_WRITE_ROWS_COMPRESSED_V1: u8 = 166;
    pub const MARIADB_UPDATE_ROWS_COMPRESSED_V1: u8 = 167;
    pub const MARIADB_DELETE_ROWS_COMPRESSED_V1: u8 = 168;
    pub const MARIADB_WRITE_ROWS_COMPRESSED: u8 = 169;
    pub const MARIADB_UPDATE_ROWS_COMPRESSED: u8 = 170;
    pub const MARIADB_DELETE_ROWS_COMPRESSED: u8 = 171;

    /// The name of others.
    pub const UNKNOWN: &str = "Unknown";

    /// The name in SHOW BINLOG EVENTS.
    pub fn name(kind: u8) -> &'static str {
        match kind {
            QUERY => "Query",
            STOP => "Stop",
            ROTATE => "Rotate",
            INTVAR => "Intvar",
            APPEND_BLOCK => "Append_block",
            DELETE_FILE => "Delete_file",
            RAND => "RAND",
            USER_VAR => "User var",
            FORMAT_DESCRIPTION => "Format_desc",
            XID => "Xid",
            BEGIN_LOAD_QUERY => "Begin_load_query",
            EXECUTE_LOAD_QUERY => "Execute_load_query",
            TABLE_MAP => "Table_map",
            WRITE_ROWS_V1 => "Write_rows_v1",
            UPDATE_ROWS_V1 => "Update_rows_v1",
            DELETE_ROWS_V1 => "Delete_rows_v1",
            INCIDENT => "Incident",
            HEARTBEAT | HEARTBEAT_V2 => "Heartbeat",
            IGNORABLE => "Ignorable",
            ROWS_QUERY => "Rows_query",
            WRITE_ROWS => "Write_rows",
            UPDATE_ROWS => "Update_rows",
            DELETE_ROWS => "Delete_rows",
            GTID => "Gtid",
            ANONYMOUS_GTID => "Anonymous_Gtid",
            PREVIOUS_GTIDS => "Previous_gtids",
            TRANSACTION_CONTEXT => "Transaction_context",
            VIEW_CHANGE => "View_change",
            XA_PREPARE => "XA_prepare",
            PARTIAL_UPDATE_ROWS => "Update_rows_partial",
            TRANSACTION_PAYLOAD => "Transaction_payload",
            GTID_TAGGED => "Gtid_tagged_log_event",
            MARIADB_ANNOTATE_ROWS => "Annotate_rows",
            MARIADB_BINLOG_CHECKPOINT => "Binlog_checkpoint",
            MARIADB_GTID => "Gtid",
            MARIADB_GTID_LIST => "Gtid_list",
            MARIADB_START_ENCRYPTION => "Start_encryption",
            MARIADB_QUERY_COMPRESSED => "Query_compressed",
            MARIADB_WRITE_ROWS_COMPRESSED_V1 => "Write_rows_compressed_v1",
            MARIADB_UPDATE_ROWS_COMPRESSED_V1 => "Update_rows_compressed_v1",
            MARIADB_DELETE_ROWS_COMPRESSED_V1 => "Delete_rows_compressed_v1",
            MARIADB_WRITE_ROWS_COMPRESSED => "Write_rows_compressed",
            MARIADB_UPDATE_ROWS_COMPRESSED => "Update_rows_compressed",
            MARIADB_DELETE_ROWS_COMPRESSED => "Delete_rows_compressed",
            _ => UNKNOWN,
        }
    }
}

/// Flags of events.
pub mod flags {
    /// In a format description: the file has not been closed. The checksum is that of the event without it.
    pub const IN_USE: u16 = 1;
    /// Made for the reader: it is in no file.
    pub const ARTIFICIAL: u16 = 32;
    /// Whoever does not know the kind passes over it.
    pub const IGNORABLE: u16 = 128;
}

/// `binlog_checksum`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Checksum {
    /// NONE
    None,
    /// CRC32
    #[default]
    Crc32,
}

impl Checksum {
    /// Bytes at the end of each event.
    pub fn bytes(self) -> usize {
        match self {
            Checksum::None => 0,
            Checksum::Crc32 => CHECKSUM,
        }
    }

    /// The number in a format description.
    pub fn number(self) -> u8 {
        match self {
            Checksum::None => 0,
            Checksum::Crc32 => 1,
        }
    }
}

/// An event's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// Seconds since 1970.
    pub timestamp: u32,
    /// See [`kind`].
    pub kind: u8,
    /// Of the server where it came into being.
    pub server_id: u32,
    /// In bytes, with header and checksum.
    pub size: u32,
    /// Behind it in the file.
    pub end_position: u32,
    /// See [`flags`].
    pub flags: u16,
}

impl Header {
    /// From the first bytes of an event. Refuses sizes that no event has.
    pub fn decode(bytes: &[u8]) -> Result<Header, DecodeError> {
        let mut r = Reader::new(bytes);
        let header = Header {
            timestamp: r.u32()?,
            kind: r.u8()?,
            server_id: r.u32()?,
            size: r.u32()?,
            end_position: r.u32()?,
            flags: r.u16()?,
        };
        if header.size < HEADER as u32 || header.size > MAX_EVENT {
            return Err(DecodeError::Invalid { at: 9, what: "size of an event" });
        }
        Ok(header)
    }

    /// Appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes());
    }

    fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&self.timestamp.to_le_bytes());
        bytes[4] = self.kind;
        bytes[5..9].copy_from_slice(&self.server_id.to_le_bytes());
        bytes[9..13].copy_from_slice(&self.size.to_le_bytes());
        bytes[13..17].copy_from_slice(&self.end_position.to_le_bytes());
        bytes[17..].copy_from_slice(&self.flags.to_le_bytes());
        bytes
    }
}

/// An event in bytes that hold it.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Its header.
    pub header: Header,
    /// Behind the header, without the checksum.
    pub body: &'a [u8],
    /// All of it.
    pub bytes: &'a [u8],
}

impl<'a> Event<'a> {
    /// The event at the front of `bytes`; `None` when they end within it. Verifies its checksum.
    pub fn first(bytes: &'a [u8], checksum: Checksum) -> Result<Option<Event<'a>>, DecodeError> {
        if bytes.len() < HEADER {
            return Ok(None);
        }
        let header = Header::decode(bytes)?;
        let Some(bytes) = bytes.get(..header.size as usize) else { return Ok(None) };
        // A format description has a checksum whatever it says of the others.
        let described = header.kind == kind::FORMAT_DESCRIPTION;
        let tail = if described { checksum_of_description(bytes) } else { checksum.bytes() };
        let end = bytes.len() - tail;
        if end < HEADER {
            return Err(DecodeError::Short { at: bytes.len(), need: tail });
        }
        let (covered, sum) = bytes.split_at(end);
        let event = Event { header, body: &covered[HEADER..], bytes };
        if let Some(sum) = sum.first_chunk()
            && u32::from_le_bytes(*sum) != checksum_over(covered)
        {
            return Err(DecodeError::Invalid { at: end, what: WRONG_CHECKSUM });
        }
        Ok(Some(event))
    }
}

/// How many bytes of checksum a format description ends with: those of servers before MySQL 5.6.1 have none.
fn checksum_of_description(bytes: &[u8]) -> usize {
    let version = bytes.get(HEADER + 2..HEADER + 52).unwrap_or_default();
    if crate::format::version_number(version) >= 50601 { CHECKSUM } else { 0 }
}

/// A format description that does not tell of a start of its server: a copy of one that did.
pub fn without_start(description: &[u8]) -> Vec<u8> {
    /// Behind the number of the format and the version.
    const CREATED: usize = HEADER + 2 + 50;
    let mut it = description.to_vec();
    if let Some(created) = it.get_mut(CREATED..CREATED + 4) {
        created.fill(0);
        let end = it.len() - checksum_of_description(&it);
        if end < it.len() {
            let sum = checksum_over(&it[..end]).to_le_bytes();
            it[end..].copy_from_slice(&sum);
        }
    }
    it
}

/// CRC-32 of an event without its checksum. A format description's is that of a closed file.
fn checksum_over(event: &[u8]) -> u32 {
    /// A new one asks for the processor's abilities.
    static NEW: LazyLock<crc32fast::Hasher> = LazyLock::new(crc32fast::Hasher::new);
    let mut hasher = NEW.clone();
    match event.first_chunk::<HEADER>() {
        Some(header) if header[4] == kind::FORMAT_DESCRIPTION => {
            let mut header = *header;
            header[17] &= !(flags::IN_USE as u8);
            hasher.update(&header);
            hasher.update(&event[HEADER..]);
        }
        _ => hasher.update(event),
    }
    hasher.finalize()
}

/// Appends events, and counts positions.
#[derive(Clone, Copy, Debug)]
pub struct Appender {
    /// The server that writes.
    pub server_id: u32,
    /// What events end with.
    pub checksum: Checksum,
    /// Where the next event begins in the file.
    pub position: u64,
}

impl Appender {
    /// Appends an event whose body `write` makes. Gives its size.
    pub fn event(
        &mut self,
        out: &mut Vec<u8>,
        timestamp: u32,
        kind: u8,
        flags: u16,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> usize {
        let start = out.len();
        out.resize(start + HEADER, 0);
        write(out);
        self.close(out, start, Header { timestamp, kind, flags, ..Header::default() })
    }

    /// Appends an event that is in no file, with the header as it is but for the sizes.
    pub fn at(&mut self, out: &mut Vec<u8>, header: Header, write: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        out.resize(start + HEADER, 0);
        write(out);
        let end = header.end_position;
        self.finish(out, start, header, |_| end);
    }

    /// Fills in the header of the event that begins at `start`, and appends the checksum. Gives its size. Of a position
    /// beyond 4 GiB, which only a transaction of that size can reach, a header has the low 32 bits, as MySQL's have.
    pub fn close(&mut self, out: &mut Vec<u8>, start: usize, header: Header) -> usize {
        self.finish(out, start, header, |position| position as u32)
    }

    fn finish(&mut self, out: &mut Vec<u8>, start: usize, header: Header, end: impl FnOnce(u64) -> u32) -> usize {
        // A format description ends with a checksum always, as its readers do not know yet.
        let described = header.kind == kind::FORMAT_DESCRIPTION;
        let tail = if described { CHECKSUM } else { self.checksum.bytes() };
        let size = out.len() - start + tail;
        self.position += size as u64;
        let header =
            Header { size: size as u32, end_position: end(self.position), server_id: self.server_id, ..header };
        out[start..start + HEADER].copy_from_slice(&header.bytes());
        if tail > 0 {
            let sum = checksum_over(&out[start..]);
            out.extend_from_slice(&sum.to_le_bytes());
        }
        size
    }
}

/// A variable that MariaDB sends, to readers which do not know its own events, in place of one that is too short to be
/// a comment, as is the empty list of GTIDs that its first log begins with. It is NULL, and its name is as long as
/// there is room.
pub fn stands_for_another(user_var: &[u8]) -> bool {
    const NAME: &[u8] = b"!dummyvar";
    let Some((length, rest)) = user_var.split_first_chunk() else { return false };
    let length = u32::from_le_bytes(*length) as usize;
    length > 0 && NAME.get(..length).is_some_and(|name| rest.strip_prefix(name) == Some(&[1]))
}
