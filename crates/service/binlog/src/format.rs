//! Bodies of the events around rows: what a file begins and ends with, transactions, statements.
//!
//! Each has its layout at its type. Source: MySQL 8.4 Source Code Documentation, "binary_log" namespace.

use crate::event::{Checksum, HEADER, kind};
use gannet_base::{DecodeError, Reader, Writer};
use gannet_types::gtid::{GtidSet, Uuid};

/// Bytes of a version's field.
const VERSION: usize = 50;
/// Sizes of the fixed parts of bodies, by kind from 1 on: what an MySQL 8.4 writes.
const FIXED: [u8; 42] = [
    0, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 99, 0, 4, 26, 8, 0, 0, 0, 8, 8, 8, 2, 0, 0, 0, 10, 10, 10, 42, 42, 0,
    18, 52, 0, 10, 40, 0, 0,
];
const _: () = assert!(FIXED[kind::FORMAT_DESCRIPTION as usize - 1] as usize == 2 + VERSION + 4 + 1 + FIXED.len());

/// The first event of a file:
///
/// ```text
/// 0   u16      format: 4
/// 2   50 bytes version of the server, zeros
/// 52  u32      seconds since 1970: when the server started, if the file is the first since; else 0
/// 56  u8       size of headers: 19
/// 57  ...      sizes of the bodies' fixed parts, by kind from 1 on
/// -1  u8       1: events end with a CRC-32; 0: they do not
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatDescription {
    /// Version of the server.
    pub version: String,
    /// When it was written; 0 when the server has not just been started.
    pub created: u32,
    /// What the events behind it end with.
    pub checksum: Checksum,
    /// Fixed parts of bodies, by kind from 1 on.
    pub fixed: Vec<u8>,
}

/// `8.0.34-log` as 80034; 0 when it is no version.
pub fn version_number(text: &[u8]) -> u32 {
    let mut number = 0;
    let mut rest = text;
    for _ in 0..3 {
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let part = rest[..digits].iter().fold(0u32, |n, d| (n * 10 + u32::from(d - b'0')).min(99));
        number = number * 100 + part;
        rest = rest.get(digits + 1..).unwrap_or_default();
    }
    number
}

impl FormatDescription {
    /// As this server writes it.
    pub fn new(version: &str, created: u32, checksum: Checksum) -> FormatDescription {
        FormatDescription { version: version.to_owned(), created, checksum, fixed: FIXED.to_vec() }
    }

    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut version = [0; VERSION];
        let n = self.version.len().min(VERSION - 1);
        version[..n].copy_from_slice(&self.version.as_bytes()[..n]);
        let mut w = Writer::new(out);
        w.u16(4).bytes(&version).u32(self.created).u8(HEADER as u8).bytes(&self.fixed).u8(self.checksum.number());
    }

    /// From a body, without its checksum.
    pub fn decode(body: &[u8]) -> Result<FormatDescription, DecodeError> {
        let mut r = Reader::new(body);
        if r.u16()? != 4 {
            return Err(r.invalid("version of a binary log"));
        }
        let version = r.bytes(VERSION)?;
        let number = version_number(version);
        let text = version.split(|b| *b == 0).next().unwrap_or_default();
        let (created, header) = (r.u32()?, r.u8()?);
        if usize::from(header) != HEADER {
            return Err(r.invalid("size of an event's header"));
        }
        let mut fixed = r.rest().to_vec();
        let mut checksum = Checksum::None;
        if number >= 50601 {
            checksum = match fixed.pop() {
                Some(0) => Checksum::None,
                Some(1) => Checksum::Crc32,
                _ => return Err(r.invalid("algorithm of checksums")),
            };
        }
        Ok(FormatDescription { version: String::from_utf8_lossy(text).into_owned(), created, checksum, fixed })
    }

    /// Size of the fixed part of a kind's bodies; `None` for kinds that the writer does not know.
    pub fn fixed_part(&self, kind: u8) -> Option<usize> {
        self.fixed.get(usize::from(kind).checked_sub(1)?).map(|n| usize::from(*n))
    }
}

/// What comes next: `u64` position in the next file, then its name to the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rotate<'a> {
    /// Where to read on, 4 at least.
    pub position: u64,
    /// In this file.
    pub file: &'a [u8],
}

impl<'a> Rotate<'a> {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Writer::new(out).u64(self.position).bytes(self.file);
    }

    /// From a body.
    pub fn decode(body: &'a [u8]) -> Result<Rotate<'a>, DecodeError> {
        let mut r = Reader::new(body);
        Ok(Rotate { position: r.u64()?, file: r.rest() })
    }
}

/// Appends the body of PREVIOUS_GTIDS: `u64` number of servers, then for each its uuid, `u64` number of intervals,
/// and these as `u64` first, `u64` behind the last.
pub fn put_gtids(set: &GtidSet, out: &mut Vec<u8>) {
    let servers: Vec<_> = set.iter().filter(|(sid, _)| sid.tag.is_empty()).collect();
    let mut w = Writer::new(out);
    w.u64(servers.len() as u64);
    for (sid, intervals) in servers {
        w.bytes(&sid.uuid.0).u64(intervals.len() as u64);
        for interval in intervals {
            w.u64(interval.start).u64(interval.end);
        }
    }
}

/// A set from what [`put_gtids`] appends.
pub fn gtids(body: &[u8]) -> Result<GtidSet, DecodeError> {
    let mut r = Reader::new(body);
    let mut set = GtidSet::default();
    for _ in 0..r.u64()? {
        let uuid = Uuid(r.array()?);
        for _ in 0..r.u64()? {
            let (first, behind) = (r.u64()?, r.u64()?);
            if first == 0 || first >= behind || behind > i64::MAX as u64 {
                return Err(r.invalid("interval of a GTID set"));
            }
            set.add(&uuid.into(), first..behind);
        }
    }
    if r.is_empty() { Ok(set) } else { Err(r.invalid("GTID set")) }
}

/// The first event of a transaction:
///
/// ```text
/// 0   u8       1: it may hold statements; 0: rows only
/// 1   16 bytes uuid
/// 17  u64      number
/// 25  u8       2
/// 26  u64      last_committed: transactions of this file up to this number have to be applied before
/// 34  u64      sequence_number in this file
/// 42  u56      microseconds since 1970: when this server committed it; bit 55: another time follows
///    [u56      when the first server did]
/// ..  lenenc   size of the transaction in bytes, this event included
/// ..  u32      version of this server; bit 31: another version follows
///    [u32      that of the first server]
/// ```
///
/// Servers before MySQL 8.0 end it after 25 or 42 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gtid {
    /// See above.
    pub may_have_statements: bool,
    /// Server; zeros in an anonymous one.
    pub uuid: Uuid,
    /// Number; 0 in an anonymous one.
    pub number: u64,
    /// See above.
    pub last_committed: u64,
    /// See above.
    pub sequence_number: u64,
    /// Microseconds since 1970.
    pub committed_us: u64,
    /// Microseconds since 1970, by the first server.
    pub first_committed_us: u64,
    /// Of the transaction in bytes.
    pub size: u64,
    /// 80400 for 8.4.0
    pub server_version: u32,
    /// Of the first server.
    pub first_server_version: u32,
}

impl Gtid {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        const MORE: u64 = 1 << 55;
        let mut w = Writer::new(out);
        w.u8(u8::from(self.may_have_statements)).bytes(&self.uuid.0).u64(self.number).u8(2);
        w.u64(self.last_committed).u64(self.sequence_number);
        let u56 = |w: &mut Writer<'_>, v: u64| {
            w.bytes(&v.to_le_bytes()[..7]);
        };
        if self.first_committed_us == self.committed_us {
            u56(&mut w, self.committed_us & !MORE);
        } else {
            u56(&mut w, self.committed_us | MORE);
            u56(&mut w, self.first_committed_us & !MORE);
        }
        put_lenenc(self.size, out);
        let mut w = Writer::new(out);
        if self.first_server_version == self.server_version {
            w.u32(self.server_version);
        } else {
            w.u32(self.server_version | 1 << 31).u32(self.first_server_version);
        }
    }

    /// Sets the size of a transaction with this many bytes behind this event, which ends with `tail` bytes of checksum.
    pub fn set_size(&mut self, behind: u64, tail: usize) {
        let mut fixed = HEADER + 42 + 7 + 4 + tail;
        fixed += if self.first_committed_us == self.committed_us { 0 } else { 7 };
        fixed += if self.first_server_version == self.server_version { 0 } else { 4 };
        let least = behind + fixed as u64;
        // The number counts its own bytes.
        self.size = least + lenenc_len(least) as u64;
        self.size = least + lenenc_len(self.size) as u64;
    }

    /// From the body of a GTID event, which has a number, of any version.
    pub fn named(body: &[u8]) -> Result<Gtid, DecodeError> {
        let it = Gtid::decode(body)?;
        if it.number == 0 { Err(Reader::new(body).invalid("number of a GTID")) } else { Ok(it) }
    }

    /// From a body of any version.
    pub fn decode(body: &[u8]) -> Result<Gtid, DecodeError> {
        let mut r = Reader::new(body);
        let mut it =
            Gtid { may_have_statements: r.u8()? & 1 != 0, uuid: Uuid(r.array()?), number: r.u64()?, ..Gtid::default() };
        if it.number >= i64::MAX as u64 {
            return Err(r.invalid("number of a GTID"));
        }
        if r.is_empty() || r.u8()? != 2 || r.remaining() < 16 {
            return Ok(it);
        }
        (it.last_committed, it.sequence_number) = (r.u64()?, r.u64()?);
        if r.remaining() < 7 {
            return Ok(it);
        }
        let (us, more) = u56(&mut r)?;
        (it.committed_us, it.first_committed_us) = (us, if more { u56(&mut r)?.0 } else { us });
        if r.is_empty() {
            return Ok(it);
        }
        it.size = lenenc(&mut r)?;
        if r.remaining() >= 4 {
            let version = r.u32()?;
            it.server_version = version & !(1 << 31);
            it.first_server_version = if version >> 31 == 1 { r.u32()? } else { version };
        }
        Ok(it)
    }
}

fn u56(r: &mut Reader<'_>) -> Result<(u64, bool), DecodeError> {
    let mut bytes = [0; 8];
    bytes[..7].copy_from_slice(r.bytes(7)?);
    let value = u64::from_le_bytes(bytes);
    Ok((value & ((1 << 55) - 1), value >> 55 & 1 == 1))
}

/// A branch of a distributed transaction is prepared:
///
/// ```text
/// 0  u8   1: committed in one phase
/// 1  u32  format id
/// 5  u32  length of gtrid
/// 9  u32  length of bqual
/// 13 ...  gtrid, bqual
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct XaPrepare<'a> {
    /// XA COMMIT ... ONE PHASE.
    pub one_phase: bool,
    /// Format id.
    pub format: u32,
    /// Global part.
    pub gtrid: &'a [u8],
    /// Branch's part.
    pub bqual: &'a [u8],
}

impl<'a> XaPrepare<'a> {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        w.u8(u8::from(self.one_phase)).u32(self.format).u32(self.gtrid.len() as u32).u32(self.bqual.len() as u32);
        w.bytes(self.gtrid).bytes(self.bqual);
    }

    /// From a body.
    pub fn decode(body: &'a [u8]) -> Result<XaPrepare<'a>, DecodeError> {
        let mut r = Reader::new(body);
        let (one_phase, format, gtrid, bqual) = (r.u8()? != 0, r.u32()?, r.u32()? as usize, r.u32()? as usize);
        if gtrid > 64 || bqual > 64 {
            return Err(r.invalid("xid"));
        }
        Ok(XaPrepare { one_phase, format, gtrid: r.bytes(gtrid)?, bqual: r.bytes(bqual)? })
    }
}

/// A branch of XA: format id, global part, the branch's part.
pub type Xid<'a> = (u32, &'a [u8], &'a [u8]);

/// What a transaction of a MariaDB begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MariadbGtid<'a> {
    /// One statement follows, which is a transaction by itself; else it takes the place of BEGIN.
    pub standalone: bool,
    /// It takes the place of XA START: the branch is prepared at the end.
    pub prepares: Option<Xid<'a>>,
}

impl<'a> MariadbGtid<'a> {
    const STANDALONE: u8 = 1;
    const GROUP_COMMIT: u8 = 2;
    const PREPARED_XA: u8 = 64;
    const COMPLETED_XA: u8 = 128;

    /// From a body: number, domain, flags, then what these say; later versions may have more behind that.
    pub fn decode(body: &'a [u8]) -> Result<MariadbGtid<'a>, DecodeError> {
        let mut r = Reader::new(body);
        let (_number, _domain, flags) = (r.u64()?, r.u32()?, r.u8()?);
        if flags & Self::GROUP_COMMIT != 0 {
            r.u64()?;
        }
        let mut xid = None;
        if flags & (Self::PREPARED_XA | Self::COMPLETED_XA) != 0 {
            let (format, gtrid, bqual) = (r.u32()?, usize::from(r.u8()?), usize::from(r.u8()?));
            if gtrid > 64 || bqual > 64 {
                return Err(r.invalid("xid"));
            }
            xid = Some((format, r.bytes(gtrid)?, r.bytes(bqual)?));
        }
        let prepares = xid.filter(|_| flags & Self::PREPARED_XA != 0);
        Ok(MariadbGtid { standalone: flags & Self::STANDALONE != 0, prepares })
    }
}

/// Appends the body of ROWS_QUERY: its length in a byte, which nobody reads, and the statement.
pub fn put_rows_query(text: &[u8], out: &mut Vec<u8>) {
    out.push(text.len().min(255) as u8);
    out.extend_from_slice(text);
}

/// The statement of ROWS_QUERY.
pub fn rows_query(body: &[u8]) -> &[u8] {
    body.get(1..).unwrap_or_default()
}

/// Appends a length-encoded integer.
pub fn put_lenenc(n: u64, out: &mut Vec<u8>) {
    let bytes = n.to_le_bytes();
    match lenenc_len(n) {
        1 => out.push(n as u8),
        3 => out.extend_from_slice(&[0xFC, bytes[0], bytes[1]]),
        4 => out.extend_from_slice(&[0xFD, bytes[0], bytes[1], bytes[2]]),
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&bytes);
        }
    }
}

fn lenenc_len(n: u64) -> usize {
    match n {
        0..=0xFA => 1,
        0xFB..=0xFFFF => 3,
        0x1_0000..=0xFF_FFFF => 4,
        _ => 9,
    }
}

/// The next length-encoded integer.
pub fn lenenc(r: &mut Reader<'_>) -> Result<u64, DecodeError> {
    Ok(match r.u8()? {
        n @ 0..=0xFA => u64::from(n),
        0xFC => u64::from(r.u16()?),
        0xFD => {
            let [a, b, c] = r.array()?;
            u64::from(u32::from_le_bytes([a, b, c, 0]))
        }
        0xFE => r.u64()?,
        _ => return Err(r.invalid("length")),
    })
}

/// Next bytes with a length-encoded length before them.
pub fn lenenc_bytes<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let n = lenenc(r)?;
    let n = usize::try_from(n).map_err(|_| r.invalid("length"))?;
    r.bytes(n)
}
