//! Identifiers and addresses: UUIDs, IPv4 and IPv6 addresses.

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext, Stability},
    rules::{self, ascii_type, own_text, string},
};
use gannet_base::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering},
};
use gannet_types::gtid::{GtidSet, Uuid};
use gannet_types::{CollationId, ErrorCode, Level, Result, SqlError, SqlType, Value, charset::Charset, sql_err};
use std::net::{Ipv4Addr, Ipv6Addr};

/// 100-nanosecond intervals between 1582-10-15 and 1970-01-01.
const GREGORIAN_TICKS: u64 = 0x01B2_1DD2_1381_4000;

fn uuid_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::varchar(36, CollationId::UTF8MB3_GENERAL_CI).not_null())
}

/// Version 1 (RFC 9562, 5.1): time, and random bits for the clock sequence and the node (a multicast address, as 6.10
/// has it), so that no state is shared between sessions.
fn uuid(cx: &mut EvalContext<'_>, call: Call<'_>, _: &[Value]) -> Result<Value> {
    let micros = cx.session.clock_us().unwrap_or(cx.now_us).max(0) as u64;
    let (a, b) = (cx.session.random(), cx.session.random());
    let ticks = (micros * 10 + a % 10).wrapping_add(GREGORIAN_TICKS);
    let mut bytes = [0u8; 16];
    bytes[..4].copy_from_slice(&(ticks as u32).to_be_bytes());
    bytes[4..6].copy_from_slice(&((ticks >> 32) as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&((ticks >> 48) as u16 & 0x0FFF | 0x1000).to_be_bytes());
    bytes[8..10].copy_from_slice(&((a >> 32) as u16 & 0x3FFF | 0x8000).to_be_bytes());
    bytes[10..].copy_from_slice(&b.to_be_bytes()[2..]);
    bytes[10] |= 1;
    Ok(string(call, Uuid(bytes).to_string().as_bytes()))
}

fn uuid_short_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::bigint_unsigned().not_null())
}

/// `(server_id & 255) << 56 | seconds of the start << 24`, counted up.
fn uuid_short(cx: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    static NEXT: OnceLock<AtomicU64> = OnceLock::new();
    let seconds = cx.session.clock_us().unwrap_or(cx.now_us).max(0) as u64 / 1_000_000;
    let next = NEXT.get_or_init(|| AtomicU64::new(seconds << 24));
    let count = next.fetch_add(1, Ordering::Relaxed) & 0x00FF_FFFF_FFFF_FFFF;
    let server = match cx.session.variable("server_id")? {
        Value::UInt(n) => n,
        Value::Int(n) => n as u64,
        _ => 0,
    };
    Ok(Value::UInt((server & 255) << 56 | count))
}

/// The time's high part first: values of later times come later in an index.
fn swapped(b: [u8; 16]) -> [u8; 16] {
    let mut out = b;
    out[..2].copy_from_slice(&b[6..8]);
    out[2..4].copy_from_slice(&b[4..6]);
    out[4..8].copy_from_slice(&b[..4]);
    out
}

fn unswapped(b: [u8; 16]) -> [u8; 16] {
    let mut out = b;
    out[..4].copy_from_slice(&b[4..8]);
    out[4..6].copy_from_slice(&b[2..4]);
    out[6..8].copy_from_slice(&b[..2]);
    out
}

fn flag(cx: &mut EvalContext<'_>, arg: Option<&Value>) -> Result<bool> {
    match arg {
        Some(arg) if !arg.is_null() => Ok(rules::int_arg(cx, arg)? != 0),
        _ => Ok(false),
    }
}

/// Error 1411: what an argument should be, and is not.
fn wrong_string(text: &[u8], name: &str) -> gannet_types::SqlError {
    sql_err!(WrongValueForType, "string", gannet_types::convert::printable(text, 128), name)
}

fn uuid_to_bin_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::varbinary(16))
}

fn uuid_to_bin(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let text = own_text(call, args, 0);
    let bytes = Uuid::parse(&text).ok_or_else(|| wrong_string(&text, "uuid_to_bin"))?.0;
    let bytes = if flag(cx, args.get(1))? { swapped(bytes) } else { bytes };
    Ok(Value::bytes(&bytes))
}

fn bin_to_uuid_rule(cx: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(ascii_type(cx, 36, true))
}

fn bin_to_uuid(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let text = own_text(call, args, 0);
    let bytes: [u8; 16] = text[..].try_into().map_err(|_| {
        let shown = gannet_types::charset::escaped(&text[..text.len().min(128)]);
        sql_err!(WrongValueForType, "string", shown, "bin_to_uuid")
    })?;
    let bytes = if flag(cx, args.get(1))? { unswapped(bytes) } else { bytes };
    Ok(string(call, Uuid(bytes).to_string().as_bytes()))
}

fn bool_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType { length: 1, nullable: rules::nullable(args), ..SqlType::BIGINT })
}

fn is_uuid(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(Uuid::parse(&own_text(call, args, 0)).is_some()))
}

/// Error 1772 for text that is no set of GTIDs.
fn gtids(call: Call<'_>, args: &[Value], i: usize) -> Result<GtidSet> {
    let text = own_text(call, args, i);
    GtidSet::parse(&text)
        .ok_or_else(|| sql_err!(MalformedGtidSetSpecification, gannet_types::convert::printable(&text, 200)))
}

fn gtid_subset(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(gtids(call, args, 0)?.is_subset(&gtids(call, args, 1)?)))
}

/// Error 1210 for a time that is none.
fn wait_for_gtids(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Err(sql_err!(MalformedGtidSetSpecification, "NULL"));
    }
    gtids(call, args, 0)?;
    let seconds = match args.get(1) {
        None => return cx.session.server_function(WAIT_FOR_GTIDS, &args[..1]),
        Some(Value::Null) => return Err(sql_err!(WrongArguments, WAIT_FOR_GTIDS)),
        Some(seconds) => rules::double_arg(cx, seconds)?,
    };
    if seconds < 0.0 {
        return Err(sql_err!(WrongArguments, WAIT_FOR_GTIDS));
    }
    cx.session.server_function(WAIT_FOR_GTIDS, &[args[0].clone(), Value::Double(seconds)])
}

const SOURCE_POS_WAIT: &str = "SOURCE_POS_WAIT";
const MASTER_POS_WAIT: &str = "MASTER_POS_WAIT";

fn place_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType { length: 21, nullable: true, ..SqlType::BIGINT })
}

fn source_pos_wait(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    wait_for_place(cx, call, args, SOURCE_POS_WAIT)
}

fn master_pos_wait(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = "'MASTER_POS_WAIT' is deprecated and will be removed in a future release. Please use SOURCE_POS_WAIT \
                instead";
    cx.warnings.push(SqlError::with_message(ErrorCode::WarnDeprecatedSyntax, text).to_warning(Level::Warning));
    wait_for_place(cx, call, args, MASTER_POS_WAIT)
}

/// Seconds of 0 are for ever. Error 1210 for fewer, or the warning without a strict mode.
fn wait_for_place(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value], name: &str) -> Result<Value> {
    let number = |i: usize, cx: &mut EvalContext<'_>| {
        let number = gannet_types::convert::to_integer(args[i].as_ref(), &mut cx.conversion())?;
        Ok::<_, SqlError>(number.unwrap_or_else(|u| i64::try_from(u).unwrap_or(i64::MAX)))
    };
    let file = own_text(call, args, 0);
    let at = number(1, cx)?;
    let seconds = args.get(2).map_or(Ok(0.0), |seconds| rules::double_arg(cx, seconds))?;
    if seconds < 0.0 {
        let wrong = sql_err!(WrongArguments, format_args!("{name}."));
        if cx.sql_mode.is_strict() {
            return Err(wrong);
        }
        cx.warnings.push(wrong.to_warning(Level::Warning));
        return Ok(Value::Null);
    }
    if file.is_empty() || at < 0 {
        return Ok(Value::Null);
    }
    let mut given = vec![Value::text(&String::from_utf8_lossy(&file)), Value::Int(at), Value::Double(seconds)];
    if args.len() > 3 {
        given.push(Value::text(&String::from_utf8_lossy(&own_text(call, args, 3))));
    }
    cx.session.server_function(SOURCE_POS_WAIT, &given)
}

const WAIT_FOR_GTIDS: &str = "WAIT_FOR_EXECUTED_GTID_SET";

fn gtid_subtract_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let length = args.first().map_or(0, |a| u64::from(a.ty.display_chars()));
    // Entries of one uuid may be printed apart from each other.
    Ok(ascii_type(cx, (length * 2).max(64), true))
}

fn gtid_subtract(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let mut left = gtids(call, args, 0)?;
    left.subtract(&gtids(call, args, 1)?);
    Ok(string(call, left.to_string().as_bytes()))
}

/// Warning 1411 for text that is no address, in quotes of its own.
fn no_address(cx: &mut EvalContext<'_>, call: Call<'_>, text: &[u8], name: &str) -> Result<Value> {
    let shown = gannet_types::convert::printable(text, 128);
    let shown = if call.args[0].id.is_string() { format!("'{shown}'") } else { shown };
    rules::wrong_value(cx, "string", shown.as_bytes(), name)
}

fn inet_aton_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType { length: 21, nullable: true, ..SqlType::bigint_unsigned() })
}

/// `127.1` is 127.0.0.1, as the C library's functions have it.
fn parse_inet(text: &[u8]) -> Option<u64> {
    let (mut result, mut part, mut dots, mut last) = (0u64, 0u64, 0, b'.');
    for b in text {
        match b {
            b'0'..=b'9' => {
                part = part * 10 + u64::from(b - b'0');
                if part > 255 {
                    return None;
                }
            }
            b'.' => {
                dots += 1;
                result = (result << 8) + part;
                part = 0;
                if dots > 3 {
                    return None;
                }
            }
            _ => return None,
        }
        last = *b;
    }
    if last == b'.' {
        return None;
    }
    match dots {
        1 => result <<= 16,
        2 => result <<= 8,
        _ => {}
    }
    Some((result << 8) + part)
}

fn inet_aton(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = own_text(call, args, 0);
    match parse_inet(&text) {
        Some(n) => Ok(Value::UInt(n)),
        None => no_address(cx, call, &text, "inet_aton"),
    }
}

fn inet_ntoa_rule(cx: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(ascii_type(cx, 31, true))
}

fn inet_ntoa(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let number = gannet_types::convert::to_integer(args[0].as_ref(), &mut cx.conversion())?;
    match number.map_or_else(|u| u32::try_from(u).ok(), |n| u32::try_from(n).ok()) {
        Some(n) => Ok(string(call, Ipv4Addr::from(n).to_string().as_bytes())),
        None => rules::wrong_value(cx, "integer", &rules::bytes_of(&args[0]), "inet_ntoa"),
    }
}

/// `a.b.c.d` with one to three digits each.
fn parse_ipv4(text: &[u8]) -> Option<[u8; 4]> {
    if !(7..=15).contains(&text.len()) {
        return None;
    }
    let mut out = [0u8; 4];
    let mut parts = 0;
    for part in text.split(|b| *b == b'.') {
        if parts == 4 || part.is_empty() || part.len() > 3 || !part.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let n = part.iter().fold(0u32, |n, b| n * 10 + u32::from(b - b'0'));
        out[parts] = u8::try_from(n).ok()?;
        parts += 1;
    }
    (parts == 4).then_some(out)
}

/// IPv6 text; an IPv4 address may stand at its end.
fn parse_ipv6(text: &[u8]) -> Option<[u8; 16]> {
    if !(2..=39).contains(&text.len()) {
        return None;
    }
    let (head, tail) = match text.iter().rposition(|b| *b == b':') {
        Some(at) if text[at..].contains(&b'.') => {
            let v4 = parse_ipv4(&text[at + 1..])?;
            let groups = format!("{:x}:{:x}", u16::from_be_bytes([v4[0], v4[1]]), u16::from_be_bytes([v4[2], v4[3]]));
            (&text[..=at], groups)
        }
        _ => (text, String::new()),
    };
    let whole = format!("{}{tail}", std::str::from_utf8(head).ok()?);
    whole.parse::<Ipv6Addr>().ok().map(|a| a.octets())
}

fn inet6_aton_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::varbinary(16))
}

fn inet6_aton(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = own_text(call, args, 0);
    let textual = rules::charset_of(&call.args[0]) != Charset::Binary;
    match parse_ipv4(&text).map(|a| a.to_vec()).or_else(|| parse_ipv6(&text).map(|a| a.to_vec())) {
        Some(bytes) if textual => Ok(Value::bytes(&bytes)),
        _ => no_address(cx, call, &text, "inet6_aton"),
    }
}

fn inet6_ntoa_rule(cx: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(ascii_type(cx, 39, true))
}

/// Groups in hexadecimal; the longest run of zero groups is `::`; a tail after 96 zero bits (or `::ffff`) is IPv4.
fn ipv6_text(bytes: [u8; 16]) -> String {
    let groups: Vec<u16> = bytes.chunks_exact(2).map(|b| u16::from_be_bytes([b[0], b[1]])).collect();
    let (mut gap, mut length, mut run) = (0, 0, 0);
    for (i, group) in groups.iter().enumerate() {
        run = if *group == 0 { run + 1 } else { 0 };
        if run > length {
            (gap, length) = (i + 1 - run, run);
        }
    }
    let tail = Ipv4Addr::new(bytes[12], bytes[13], bytes[14], bytes[15]);
    if gap == 0 && length == 6 || length == 5 && gap == 0 && groups[5] == 0xFFFF {
        return format!("::{}{tail}", if length == 5 { "ffff:" } else { "" });
    }
    let text = |groups: &[u16]| groups.iter().map(|g| format!("{g:x}")).collect::<Vec<_>>().join(":");
    match length {
        0 => text(&groups),
        _ => format!("{}::{}", text(&groups[..gap]), text(&groups[gap + length..])),
    }
}

fn inet6_ntoa(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = own_text(call, args, 0);
    let shown = match (call.args[0].id.is_binary_string(), text.len()) {
        (true, 4) => Ipv4Addr::new(text[0], text[1], text[2], text[3]).to_string(),
        (true, 16) => {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(&text);
            ipv6_text(bytes)
        }
        _ => return no_address(cx, call, &text, "inet6_ntoa"),
    };
    Ok(string(call, shown.as_bytes()))
}

fn is_address_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::int_of(1, args[0].ty.nullable))
}

fn is_ipv4(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(parse_ipv4(&own_text(call, args, 0)).is_some()))
}

fn is_ipv6(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::from(parse_ipv6(&own_text(call, args, 0)).is_some()))
}

/// Sixteen bytes of an address, from a binary argument.
fn ipv6_bytes(call: Call<'_>, args: &[Value]) -> Option<[u8; 16]> {
    if !call.args[0].id.is_binary_string() {
        return None;
    }
    own_text(call, args, 0)[..].try_into().ok()
}

fn is_ipv4_compat(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let compat = ipv6_bytes(call, args)
        .is_some_and(|b| b[..12].iter().all(|b| *b == 0) && u32::from_be_bytes([b[12], b[13], b[14], b[15]]) > 1);
    Ok(Value::from(compat))
}

fn is_ipv4_mapped(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let mapped = ipv6_bytes(call, args).is_some_and(|b| b[..10].iter().all(|b| *b == 0) && b[10..12] == [255, 255]);
    Ok(Value::from(mapped))
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("UUID", 0, 0, uuid_rule, uuid, "A new universally unique identifier.").is(Stability::Volatile),
    FunctionDef::new("UUID_SHORT", 0, 0, uuid_short_rule, uuid_short, "A new identifier as an integer.")
        .is(Stability::Effect),
    FunctionDef::new("UUID_TO_BIN", 1, 2, uuid_to_bin_rule, uuid_to_bin, "Bytes of a UUID; 1: time's high part first.")
        .numbers_at(&[1])
        .sees_null(),
    FunctionDef::new("BIN_TO_UUID", 1, 2, bin_to_uuid_rule, bin_to_uuid, "Text of a UUID's bytes.")
        .numbers_at(&[1])
        .sees_null(),
    FunctionDef::new("IS_UUID", 1, 1, bool_rule, is_uuid, "Is the text a UUID?"),
    FunctionDef::new("GTID_SUBSET", 2, 2, bool_rule, gtid_subset, "Are all GTIDs of the first set in the second?"),
    FunctionDef::new(
        "GTID_SUBTRACT",
        2,
        2,
        gtid_subtract_rule,
        gtid_subtract,
        "GTIDs of the first set that are not in the second.",
    ),
    FunctionDef::new(
        SOURCE_POS_WAIT,
        2,
        4,
        place_rule,
        source_pos_wait,
        "Waits until a replica has applied all up to a file and position of its source's log.",
    )
    .is(Stability::Effect),
    FunctionDef::new(MASTER_POS_WAIT, 2, 4, place_rule, master_pos_wait, "The same as SOURCE_POS_WAIT.")
        .is(Stability::Effect),
    FunctionDef::new(
        WAIT_FOR_GTIDS,
        1,
        2,
        bool_rule,
        wait_for_gtids,
        "Waits until all GTIDs of a set are executed; 1 after so many seconds without that.",
    )
    .sees_null()
    .is(Stability::Effect),
    FunctionDef::new("INET_ATON", 1, 1, inet_aton_rule, inet_aton, "Number of an IPv4 address."),
    FunctionDef::new("INET_NTOA", 1, 1, inet_ntoa_rule, inet_ntoa, "IPv4 address of a number.").numbers_at(&[0]),
    FunctionDef::new("INET6_ATON", 1, 1, inet6_aton_rule, inet6_aton, "Bytes of an IPv6 or IPv4 address."),
    FunctionDef::new("INET6_NTOA", 1, 1, inet6_ntoa_rule, inet6_ntoa, "Address of 16 or 4 bytes."),
    FunctionDef::new("IS_IPV4", 1, 1, is_address_rule, is_ipv4, "Is the text an IPv4 address?"),
    FunctionDef::new("IS_IPV6", 1, 1, is_address_rule, is_ipv6, "Is the text an IPv6 address?"),
    FunctionDef::new("IS_IPV4_COMPAT", 1, 1, is_address_rule, is_ipv4_compat, "Are the bytes `::a.b.c.d`?"),
    FunctionDef::new("IS_IPV4_MAPPED", 1, 1, is_address_rule, is_ipv4_mapped, "Are the bytes `::ffff:a.b.c.d`?"),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn uuids() {
        check(&[
            ("LENGTH(UUID())", "36"),
            ("SUBSTR(UUID(), 15, 1)", "1"),
            ("IS_UUID(UUID())", "1"),
            ("IS_UUID('{12345678-1234-5678-1234-567812345678}')", "1"),
            ("IS_UUID('12345678123456781234567812345678')", "1"),
            ("IS_UUID('12345678-12345678-1234-567812345678')", "0"),
            ("IS_UUID(NULL)", "NULL"),
            ("HEX(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db'))", "6CCD780CBABA102695645B8C656024DB"),
            ("HEX(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db', 1))", "1026BABA6CCD780C95645B8C656024DB"),
            (
                "BIN_TO_UUID(UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db', 1), 1)",
                "6ccd780c-baba-1026-9564-5b8c656024db",
            ),
            ("UUID_TO_BIN('x')", "ERROR 1411"),
            ("BIN_TO_UUID(NULL, 1)", "NULL"),
            ("BIN_TO_UUID(x'00')", "ERROR 1411"),
        ]);
    }

    #[test]
    fn gtids() {
        let a = "3E11FA47-71CA-11E1-9E33-C80AA9429562";
        let of = |text: &str| text.replace('@', a);
        let lower = a.to_lowercase();
        check(&[
            (&of("GTID_SUBSET('@:23', '@:21-57')"), "1"),
            (&of("GTID_SUBSET('@:23-58', '@:21-57')"), "0"),
            (&of("GTID_SUBSET('', '@:1')"), "1"),
            ("GTID_SUBSET(NULL, '')", "NULL"),
            (&of("GTID_SUBSET('@', '')"), "ERROR 1772"),
            (&of("GTID_SUBTRACT('@:21-57', '@:20-25:57')"), &format!("{lower}:26-56")),
            (&of("GTID_SUBTRACT('@:21-57', '@:1-100')"), ""),
            ("GTID_SUBTRACT('', NULL)", "NULL"),
            ("GTID_SUBTRACT('', 'x')", "ERROR 1772"),
        ]);
    }

    #[test]
    fn addresses() {
        check(&[
            ("INET_ATON('10.0.5.9')", "167773449"),
            ("INET_ATON('127.1')", "2130706433"),
            ("INET_ATON('122.256')", "NULL !1411"),
            ("INET_ATON('')", "NULL !1411"),
            ("INET_NTOA(167773449)", "10.0.5.9"),
            ("INET_NTOA(1099511627775)", "NULL !1411"),
            ("HEX(INET6_ATON('fdfe::5a55:caff:fefa:9089'))", "FDFE0000000000005A55CAFFFEFA9089"),
            ("HEX(INET6_ATON('10.0.5.9'))", "0A000509"),
            ("HEX(INET6_ATON('::ffff:1.2.3.4'))", "00000000000000000000FFFF01020304"),
            ("INET6_ATON('x')", "NULL !1411"),
            ("INET6_NTOA(INET6_ATON('fdfe::5a55:caff:fefa:9089'))", "fdfe::5a55:caff:fefa:9089"),
            ("INET6_NTOA(x'0A000509')", "10.0.5.9"),
            ("INET6_NTOA(INET6_ATON('::1.2.3.4'))", "::1.2.3.4"),
            ("INET6_NTOA(INET6_ATON('::ffff:1.2.3.4'))", "::ffff:1.2.3.4"),
            ("INET6_NTOA(INET6_ATON('::1'))", "::1"),
            ("INET6_NTOA('abcd')", "NULL !1411"),
            ("IS_IPV4('10.0.5.256')", "0"),
            ("IS_IPV6('10.0.5.9')", "0"),
            ("IS_IPV6('::1')", "1"),
            ("IS_IPV4(NULL)", "NULL"),
            ("IS_IPV4_COMPAT(INET6_ATON('::10.0.5.9'))", "1"),
            ("IS_IPV4_MAPPED(INET6_ATON('::ffff:10.0.5.9'))", "1"),
            ("IS_IPV4_MAPPED(INET6_ATON('::10.0.5.9'))", "0"),
        ]);
    }
}
