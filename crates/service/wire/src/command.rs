//! Commands of the command phase.

use crate::codec::{Malformed, Reader};
use crate::flags::{cap, com, ty};

/// A decoded command; borrows from the packet.
#[derive(Debug, Clone, PartialEq)]
pub enum Command<'a> {
    /// COM_QUIT.
    Quit,
    /// COM_INIT_DB: database name.
    InitDb(&'a [u8]),
    /// COM_QUERY.
    Query {
        /// SQL text, not yet known to be valid UTF-8.
        sql: &'a [u8],
        /// Query attributes; empty when the client sends none.
        attributes: Vec<Attribute<'a>>,
    },
    /// COM_FIELD_LIST: table and pattern.
    FieldList {
        /// Table name.
        table: &'a [u8],
        /// LIKE pattern for columns, may be empty.
        pattern: &'a [u8],
    },
    /// COM_SHUTDOWN.
    Shutdown,
    /// COM_STATISTICS.
    Statistics,
    /// COM_PROCESS_INFO.
    ProcessInfo,
    /// COM_PROCESS_KILL: connection id.
    ProcessKill(u32),
    /// COM_DEBUG.
    Debug,
    /// COM_PING.
    Ping,
    /// COM_CHANGE_USER: the body, for [`crate::handshake::Login::read_change_user`].
    ChangeUser(&'a [u8]),
    /// COM_STMT_PREPARE: SQL text.
    Prepare(&'a [u8]),
    /// COM_STMT_EXECUTE.
    Execute(Execute<'a>),
    /// COM_STMT_SEND_LONG_DATA; has no reply.
    SendLongData {
        /// Statement id.
        statement: u32,
        /// Parameter number, from 0.
        parameter: u16,
        /// Bytes to append.
        data: &'a [u8],
    },
    /// COM_STMT_CLOSE; has no reply.
    CloseStatement(u32),
    /// COM_STMT_RESET.
    ResetStatement(u32),
    /// COM_STMT_FETCH.
    Fetch {
        /// Statement id.
        statement: u32,
        /// Rows wanted.
        rows: u32,
    },
    /// COM_SET_OPTION: 0 turns multi-statements on, 1 off.
    SetOption(u16),
    /// COM_RESET_CONNECTION.
    ResetConnection,
    /// COM_REFRESH: which caches.
    Refresh(u8),
    /// COM_REGISTER_SLAVE.
    RegisterReplica(Replica<'a>),
    /// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
    Dump(Dump<'a>),
    /// A command byte which this server refuses (1047), with that byte.
    Unknown(u8),
}

/// A replica, as it says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replica<'a> {
    /// `server_id`
    pub server_id: u32,
    /// `report_host`
    pub host: &'a [u8],
    /// `report_port`
    pub port: u16,
    /// `server_id` of its source, or 0.
    pub source_id: u32,
}

impl<'a> Replica<'a> {
    fn read(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let short = |r: &mut Reader<'a>| {
            let n = r.u8()?;
            r.bytes(usize::from(n))
        };
        let server_id = r.u32()?;
        let host = short(r)?;
        // Its user and password are not shown.
        short(r)?;
        short(r)?;
        let port = r.u16()?;
        // The rank for recovery, which nobody uses.
        r.u32()?;
        Ok(Replica { server_id, host, port, source_id: r.u32()? })
    }
}

/// What of the binary log a reader wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dump<'a> {
    /// In the file.
    pub position: u64,
    /// See [`DUMP_NON_BLOCK`].
    pub flags: u16,
    /// The reader's `server_id`.
    pub server_id: u32,
    /// Name of the file; empty: the first.
    pub file: &'a [u8],
    /// The set of transactions that it has, as PREVIOUS_GTIDS has one; the file is not used then.
    pub gtids: Option<&'a [u8]>,
}

/// A flag of [`Dump`]: end at the end of the log.
pub const DUMP_NON_BLOCK: u16 = 1;

/// One query attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its value.
    pub value: Param<'a>,
}

/// COM_STMT_EXECUTE before its parameters are decoded: that needs the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute<'a> {
    /// Statement id.
    pub statement: u32,
    /// Cursor type bits 0-2; [`PARAMETER_COUNT_AVAILABLE`].
    pub flags: u8,
    body: &'a [u8],
}

/// What a well-formed COM_STMT_EXECUTE lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It has fewer parameters than the statement.
    Count,
    /// It brings no types, and there are none of an earlier execution.
    Types,
}

/// For callers that do not tell them apart.
impl From<Unfit> for Malformed {
    fn from(_: Unfit) -> Self {
        Malformed
    }
}

/// COM_STMT_EXECUTE flag: the packet carries a parameter count even if the statement has no parameters. Of clients
/// with query attributes it always does if the statement has some.
pub const PARAMETER_COUNT_AVAILABLE: u8 = 8;
/// COM_STMT_EXECUTE flag: open a read-only cursor.
pub const CURSOR_READ_ONLY: u8 = 1;

/// More parameters than MySQL takes (16 bits in COM_STMT_PREPARE's reply).
pub const MAX_PARAMETERS: u64 = 65_535;

impl<'a> Command<'a> {
    /// Decodes a payload. `capabilities`: those agreed with the client.
    pub fn decode(payload: &'a [u8], capabilities: u32) -> Result<Self, Malformed> {
        let mut r = Reader::new(payload);
        let command = r.u8()?;
        Ok(match command {
            com::QUIT => Command::Quit,
            com::INIT_DB => Command::InitDb(r.rest()),
            com::QUERY => {
                let attributes =
                    if capabilities & cap::QUERY_ATTRIBUTES != 0 { read_attributes(&mut r)? } else { Vec::new() };
                Command::Query { sql: r.rest(), attributes }
            }
            com::FIELD_LIST => {
                let table = r.nul_or_rest();
                Command::FieldList { table, pattern: r.rest() }
            }
            com::REFRESH => Command::Refresh(r.u8()?),
            com::SHUTDOWN => Command::Shutdown,
            com::STATISTICS => Command::Statistics,
            com::PROCESS_INFO => Command::ProcessInfo,
            com::PROCESS_KILL => Command::ProcessKill(r.u32()?),
            com::DEBUG => Command::Debug,
            com::PING => Command::Ping,
            com::CHANGE_USER => Command::ChangeUser(r.rest()),
            com::STMT_PREPARE => Command::Prepare(r.rest()),
            com::STMT_EXECUTE => {
                let statement = r.u32()?;
                let flags = r.u8()?;
                // Iteration count: always 1, never used.
                r.u32()?;
                Command::Execute(Execute { statement, flags, body: r.rest() })
            }
            com::STMT_SEND_LONG_DATA => {
                Command::SendLongData { statement: r.u32()?, parameter: r.u16()?, data: r.rest() }
            }
            com::STMT_CLOSE => Command::CloseStatement(r.u32()?),
            com::STMT_RESET => Command::ResetStatement(r.u32()?),
            com::STMT_FETCH => Command::Fetch { statement: r.u32()?, rows: r.u32()? },
            com::SET_OPTION => Command::SetOption(r.u16()?),
            com::RESET_CONNECTION => Command::ResetConnection,
            com::REGISTER_SLAVE => Command::RegisterReplica(Replica::read(&mut r)?),
            com::BINLOG_DUMP => {
                let (position, flags, server_id) = (r.u32()?, r.u16()?, r.u32()?);
                Command::Dump(Dump { position: position.into(), flags, server_id, file: r.rest(), gtids: None })
            }
            com::BINLOG_DUMP_GTID => {
                let (flags, server_id, length) = (r.u16()?, r.u32()?, r.u32()?);
                let file = r.bytes(length as usize)?;
                let (position, length) = (r.u64()?, r.u32()?);
                let gtids = r.bytes(length as usize)?;
                Command::Dump(Dump { position, flags, server_id, file, gtids: Some(gtids) })
            }
            other => Command::Unknown(other),
        })
    }
}

/// `lenenc count · lenenc sets (1) · [null bitmap · u8 1 · (u16 type, lenenc name)* · values]`.
fn read_attributes<'a>(r: &mut Reader<'a>) -> Result<Vec<Attribute<'a>>, Malformed> {
    let count = r.lenenc()?;
    if r.lenenc()? != 1 || count > MAX_PARAMETERS {
        return Err(Malformed);
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    let count = count as usize;
    let nulls = r.bytes(count.div_ceil(8))?;
    // Types are bound by every value but 0, as of COM_STMT_EXECUTE; there are none of an earlier command.
    if r.u8()? == 0 {
        return Err(Malformed);
    }
    let mut heads = Vec::new();
    for _ in 0..count {
        let ty = ParamType::read(r)?;
        heads.push((ty, r.lenenc_bytes()?));
    }
    attributes_of(heads, nulls, 0, r)
}

/// Values of attributes whose types and names were read; the first one's NULL flag is number `first`.
fn attributes_of<'a>(
    heads: Vec<(ParamType, &'a [u8])>,
    nulls: &[u8],
    first: usize,
    r: &mut Reader<'a>,
) -> Result<Vec<Attribute<'a>>, Malformed> {
    let read = |(i, (ty, name))| {
        let value = if is_null(nulls, first + i) { Param::Null } else { Param::read(ty, r)? };
        Ok(Attribute { name, value })
    };
    heads.into_iter().enumerate().map(read).collect()
}

fn is_null(bitmap: &[u8], i: usize) -> bool {
    bitmap.get(i / 8).is_some_and(|b| b >> (i % 8) & 1 == 1)
}

/// The type a client gives a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParamType {
    /// A [`ty`] byte.
    pub ty: u8,
    /// The value is unsigned.
    pub unsigned: bool,
}

impl ParamType {
    fn read(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let ty = r.u8()?;
        Ok(Self { ty, unsigned: r.u8()? & 0x80 != 0 })
    }
}

/// A parameter's value as it travels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Param<'a> {
    /// NULL.
    Null,
    /// TINY to LONGLONG, signed.
    Int(i64),
    /// TINY to LONGLONG, unsigned.
    UInt(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL as text.
    Decimal(&'a [u8]),
    /// DATE, DATETIME, TIMESTAMP; zeros where the client left parts out. Not checked for being a date.
    DateTime(DateTime),
    /// TIME.
    Time(Time),
    /// Character string.
    Text(&'a [u8]),
    /// BLOB and relatives.
    Bytes(&'a [u8]),
}

/// Calendar fields of a parameter or of a binary row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct DateTime {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub micros: u32,
    /// The type was DATE.
    pub date_only: bool,
}

/// Fields of a TIME parameter or binary column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Time {
    pub negative: bool,
    pub days: u32,
    pub hours: u8,
    pub minutes: u8,
    pub seconds: u8,
    pub micros: u32,
}

impl Time {
    /// Whole microseconds with sign; `None` where fields exceed their range.
    pub fn total_micros(&self) -> Option<i64> {
        if self.hours > 23 || self.minutes > 59 || self.seconds > 59 || self.micros > 999_999 || self.days > 34_000_000
        {
            return None;
        }
        let s = ((i64::from(self.days) * 24 + i64::from(self.hours)) * 60 + i64::from(self.minutes)) * 60
            + i64::from(self.seconds);
        let us = s * 1_000_000 + i64::from(self.micros);
        Some(if self.negative { -us } else { us })
    }
}

impl<'a> Param<'a> {
    /// Reads one value in the binary form of its type.
    #[inline]
    pub fn read(t: ParamType, r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let int = |signed: i64, unsigned: u64| if t.unsigned { Param::UInt(unsigned) } else { Param::Int(signed) };
        Ok(match t.ty {
            ty::LONGLONG => r.u64().map(|v| int(v as i64, v))?,
            ty::LONG | ty::INT24 => r.u32().map(|v| int(i64::from(v as i32), v.into()))?,
            ty::SHORT | ty::YEAR => r.u16().map(|v| int(i64::from(v as i16), v.into()))?,
            ty::TINY => r.u8().map(|v| int(i64::from(v as i8), v.into()))?,
            ty::FLOAT => Param::Float(f32::from_bits(r.u32()?)),
            ty::DOUBLE => Param::Double(f64::from_bits(r.u64()?)),
            ty::DECIMAL | ty::NEWDECIMAL => Param::Decimal(r.lenenc_bytes()?),
            ty::DATE | ty::NEWDATE => Param::DateTime(DateTime { date_only: true, ..read_datetime(r)? }),
            ty::DATETIME | ty::TIMESTAMP => Param::DateTime(read_datetime(r)?),
            ty::TIME => Param::Time(read_time(r)?),
            ty::NULL => Param::Null,
            ty::TINY_BLOB | ty::MEDIUM_BLOB | ty::LONG_BLOB | ty::BLOB | ty::BIT | ty::GEOMETRY => {
                Param::Bytes(r.lenenc_bytes()?)
            }
            ty::VARCHAR | ty::VAR_STRING | ty::STRING | ty::ENUM | ty::SET | ty::JSON => Param::Text(r.lenenc_bytes()?),
            _ => return Err(Malformed),
        })
    }
}

/// `u8 length: 0 | 4: u16 year, u8 month, u8 day | 7: + u8 hour, minute, second | 11: + u32 microseconds`.
pub(crate) fn read_datetime(r: &mut Reader<'_>) -> Result<DateTime, Malformed> {
    let n = r.u8()?;
    let mut d = DateTime::default();
    if !matches!(n, 0 | 4 | 7 | 11) {
        return Err(Malformed);
    }
    if n >= 4 {
        (d.year, d.month, d.day) = (r.u16()?, r.u8()?, r.u8()?);
    }
    if n >= 7 {
        (d.hour, d.minute, d.second) = (r.u8()?, r.u8()?, r.u8()?);
    }
    if n == 11 {
        d.micros = r.u32()?;
    }
    Ok(d)
}

/// `u8 length: 0 | 8: u8 negative, u32 days, u8 hours, minutes, seconds | 12: + u32 microseconds`.
pub(crate) fn read_time(r: &mut Reader<'_>) -> Result<Time, Malformed> {
    let n = r.u8()?;
    if !matches!(n, 0 | 8 | 12) {
        return Err(Malformed);
    }
    let mut t = Time::default();
    if n >= 8 {
        t.negative = r.u8()? != 0;
        t.days = r.u32()?;
        (t.hours, t.minutes, t.seconds) = (r.u8()?, r.u8()?, r.u8()?);
    }
    if n == 12 {
        t.micros = r.u32()?;
    }
    Ok(t)
}

impl<'a> Execute<'a> {
    /// Decodes the parameters. `count`: how many the statement has. `types`: those of the last execution; they are
    /// replaced when the packet brings new ones. `long`: which parameters came by COM_STMT_SEND_LONG_DATA; those have
    /// no value in the packet and `each` is not called for them. `each(i, value)` gets the others in order.
    ///
    /// Returns the query attributes: parameters that have a name, and those that follow the parameters. They have names
    /// only in a packet that brings types.
    #[inline]
    pub fn params<E: From<Malformed> + From<Unfit>>(
        &self,
        capabilities: u32,
        count: usize,
        types: &mut Vec<ParamType>,
        long: impl Fn(usize) -> bool,
        mut each: impl FnMut(usize, Param<'a>) -> Result<(), E>,
    ) -> Result<Vec<Attribute<'a>>, E> {
        let mut r = Reader::new(self.body);
        let named = capabilities & cap::QUERY_ATTRIBUTES != 0;
        let counted = named && (count > 0 || self.flags & PARAMETER_COUNT_AVAILABLE != 0);
        let sent = if counted { r.lenenc()? } else { count as u64 };
        if sent < count as u64 {
            return Err(Unfit::Count.into());
        }
        if sent > MAX_PARAMETERS {
            return Err(Malformed.into());
        }
        if sent == 0 {
            return Ok(Vec::new());
        }
        let (mut heads, mut names) = (Vec::new(), Vec::new());
        let sent = sent as usize;
        let nulls = r.bytes(sent.div_ceil(8))?;
        match r.u8()? {
            0 => {}
            _ => {
                types.clear();
                for i in 0..sent {
                    let t = ParamType::read(&mut r)?;
                    let name = if named { r.lenenc_bytes()? } else { &[] };
                    if i < count {
                        types.push(t);
                        if !name.is_empty() {
                            names.push((i, name));
                        }
                    } else {
                        heads.push((t, name));
                    }
                }
            }
        }
        if types.len() < count {
            return Err(Unfit::Types.into());
        }
        let mut named = names.into_iter().peekable();
        let mut attributes = Vec::new();
        for (i, t) in types[..count].iter().enumerate() {
            let name = named.next_if(|(of, _)| *of == i);
            if long(i) {
                continue;
            }
            let value = if is_null(nulls, i) { Param::Null } else { Param::read(*t, &mut r)? };
            if let Some((_, name)) = name {
                attributes.push(Attribute { name, value });
            }
            each(i, value)?;
        }
        if !heads.is_empty() {
            attributes.append(&mut attributes_of(heads, nulls, count, &mut r)?);
        }
        Ok(attributes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execute(body: &[u8], caps: u32, count: usize, types: &mut Vec<ParamType>) -> Result<Vec<String>, Malformed> {
        let mut p = vec![com::STMT_EXECUTE, 1, 0, 0, 0, 0, 1, 0, 0, 0];
        p.extend_from_slice(body);
        if caps & cap::QUERY_ATTRIBUTES != 0 {
            p[5] = PARAMETER_COUNT_AVAILABLE;
        }
        let Command::Execute(e) = Command::decode(&p, caps)? else { panic!() };
        let mut got = Vec::new();
        let attributes = e.params(
            caps,
            count,
            types,
            |_| false,
            |_, v| {
                got.push(format!("{v:?}"));
                Ok::<(), Malformed>(())
            },
        )?;
        got.extend(attributes.iter().map(|a| format!("{a:?}")));
        Ok(got)
    }

    #[test]
    fn parameters_of_all_kinds() {
        let mut types = Vec::new();
        let body = [
            &[0b100u8, 1][..],
            &[ty::LONGLONG, 0x80, ty::TINY, 0, ty::STRING, 0, ty::TIME, 0, ty::DATE, 0],
            &[0xFF; 8],
            &[0xFE],
            &[8, 1, 2, 0, 0, 0, 3, 4, 5],
            &[4, 0xE8, 7, 12, 31],
        ]
        .concat();
        let got = execute(&body, 0, 5, &mut types).unwrap();
        assert_eq!(got[0], "UInt(18446744073709551615)");
        assert_eq!(got[1], "Int(-2)");
        assert_eq!(got[2], "Null");
        assert!(got[3].starts_with("Time(Time { negative: true, days: 2, hours: 3, minutes: 4, seconds: 5"));
        assert!(got[4].contains("year: 2024, month: 12, day: 31") && got[4].contains("date_only: true"));
        // The second execution leaves the types out.
        let again = [&[0b11101u8, 0][..], &[7]].concat();
        assert_eq!(execute(&again, 0, 5, &mut types).unwrap()[1], "Int(7)");
        for cut in 0..body.len() {
            assert_eq!(execute(&body[..cut], 0, 5, &mut Vec::new()), Err(Malformed));
        }
    }

    #[test]
    fn attributes_of_queries_and_executions_are_read() {
        let q = [&[com::QUERY, 1, 1, 0, 1, ty::STRING, 0, 1, b'k', 1, b'v'][..], b"SELECT 1"].concat();
        let Ok(Command::Query { sql, attributes }) = Command::decode(&q, cap::QUERY_ATTRIBUTES) else { panic!() };
        assert_eq!(sql, b"SELECT 1");
        assert_eq!(attributes, [Attribute { name: b"k", value: Param::Text(b"v") }]);
        let body = [2u8, 0, 1, ty::TINY, 0, 0, ty::STRING, 0, 1, b'k', 9, 1, b'v'];
        let got = execute(&body, cap::QUERY_ATTRIBUTES, 1, &mut Vec::new()).unwrap();
        assert_eq!(got, ["Int(9)", "Attribute { name: [107], value: Text([118]) }"]);
        for cut in 0..body.len() {
            assert_eq!(execute(&body[..cut], cap::QUERY_ATTRIBUTES, 1, &mut Vec::new()), Err(Malformed));
        }
    }

    #[test]
    fn parameters_are_counted_also_without_the_flag() {
        let packet = [com::STMT_EXECUTE, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, ty::LONG, 0, 0, 7, 0, 0, 0];
        let Ok(Command::Execute(e)) = Command::decode(&packet, cap::QUERY_ATTRIBUTES) else { panic!() };
        let mut got = Vec::new();
        let mut types = Vec::new();
        let each = |_, v| {
            got.push(format!("{v:?}"));
            Ok::<(), Malformed>(())
        };
        assert_eq!(e.params(cap::QUERY_ATTRIBUTES, 1, &mut types, |_| false, each), Ok(Vec::new()));
        assert_eq!(got, ["Int(7)"]);
        // A statement without parameters has no count then.
        let packet = &packet[..10];
        let Ok(Command::Execute(e)) = Command::decode(packet, cap::QUERY_ATTRIBUTES) else { panic!() };
        assert_eq!(e.params(cap::QUERY_ATTRIBUTES, 0, &mut types, |_| false, |_, _| Err(Malformed)), Ok(Vec::new()));
    }

    #[test]
    fn every_flag_but_zero_brings_types() {
        for flag in 1..=255 {
            let body = [0, flag, ty::TINY, 0, 9];
            assert_eq!(execute(&body, 0, 1, &mut Vec::new()).unwrap(), ["Int(9)"], "{flag}");
        }
        assert_eq!(execute(&[0, 0, 9], 0, 1, &mut Vec::new()), Err(Malformed));
    }

    #[test]
    fn mutated_commands_never_panic() {
        let mut x = 0x9E37_79B9_7F4A_7C15u64;
        let mut random = || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x
        };
        for _ in 0..50_000 {
            let n = (random() % 40) as usize;
            let mut p: Vec<u8> =
                (0..n).map(|_| ((random() % 33) as u8).wrapping_mul(if random() % 4 == 0 { 8 } else { 1 })).collect();
            if let Some(first) = p.first_mut() {
                *first %= 34;
            }
            for caps in [0, cap::QUERY_ATTRIBUTES] {
                if let Ok(Command::Execute(e)) = Command::decode(&p, caps) {
                    let _ = e.params(caps, 3, &mut Vec::new(), |i| i == 1, |_, _| Ok::<(), Malformed>(()));
                }
            }
        }
    }
}
