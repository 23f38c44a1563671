//! Strings in other notations: hexadecimal and other bases, Base64, digests, numbers with separators.

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext},
    rules::{self, ascii_type, chars_of, own_text, string},
};
use gannet_types::{CollationId, ErrorCode, Result, SqlType, Value, convert};
use sha2::Digest;
use std::fmt::Write;

/// Bytes of an argument's text at most.
fn bytes_of(ty: &SqlType) -> u64 {
    if ty.id.is_lob() { u64::from(ty.length) } else { rules::chars_in(ty, CollationId::BINARY) }
}

fn is_number(ty: &SqlType) -> bool {
    ty.id.is_numeric()
}

const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

fn hex_of(bytes: &[u8]) -> Vec<u8> {
    let digit = |n: u8| DIGITS[usize::from(n & 15)];
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(*b)]).collect()
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    format!("{:x}", sha2::Sha256::digest(bytes))
}

fn hex_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let chars = if is_number(args[0].ty) { 16 } else { bytes_of(args[0].ty).saturating_mul(2) };
    Ok(ascii_type(cx, chars, rules::nullable(args)))
}

fn hex(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if is_number(&call.args[0]) {
        let number = match &args[0] {
            // Halves away from zero; beyond 64 bits all are set.
            fraction @ (Value::Double(_) | Value::Float(_) | Value::Decimal(_)) => {
                let number = convert::to_f64(fraction.as_ref(), &mut cx.conversion())?;
                match number + 0.5f64.copysign(number) {
                    _ if number <= -(2f64.powi(63)) || number >= 2f64.powi(64) => u64::MAX,
                    rounded if number < 0.0 => (rounded as i64).cast_unsigned(),
                    rounded => rounded as u64,
                }
            }
            other => convert::to_u64(other.as_ref(), &mut cx.conversion())?,
        };
        return Ok(string(call, format!("{number:X}").into_bytes()));
    }
    let text = own_text(call, args, 0);
    if !rules::fits(cx, text.len() as u64 * 2) {
        return rules::too_long(cx, "hex");
    }
    Ok(string(call, hex_of(&text)))
}

fn long_number_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::bigint_unsigned().not_null())
}

/// The number of a hexadecimal literal beyond 64 bits: all of them, with warning 1292.
fn long_number(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let digits = hex_of(&rules::bytes_of(&args[0]));
    let literal = format!("x'{}'", String::from_utf8_lossy(&digits));
    let shown: String = literal.chars().take(128).collect();
    cx.conversion().warn(ErrorCode::TruncatedWrongValue, &[&"BINARY", &shown])?;
    Ok(Value::UInt(u64::MAX))
}

fn unhex_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::bytes_type(bytes_of(args[0].ty).div_ceil(2), true))
}

fn unhex(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = own_text(call, args, 0);
    let digit = |b: &u8| char::from(*b).to_digit(16).map(|d| d as u8);
    // An odd digit stands in front.
    let (odd, pairs) = text.split_at(text.len() % 2);
    let mut out: Option<Vec<u8>> = odd.iter().map(digit).collect();
    if let Some(out) = &mut out {
        out.reserve(pairs.len() / 2);
    }
    for pair in pairs.chunks_exact(2) {
        match (&mut out, digit(&pair[0]), digit(&pair[1])) {
            (Some(out), Some(high), Some(low)) => out.push(high << 4 | low),
            _ => out = None,
        }
    }
    match out {
        Some(out) => Ok(string(call, out)),
        None => rules::wrong_value(cx, "string", &[b"'", &text[..], b"'"].concat(), "unhex"),
    }
}

fn base_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let _ = args;
    Ok(ascii_type(cx, 65, true))
}

/// The integer at the front of a text in a base: as unsigned (a minus sign wraps it), or signed; the limits beyond.
fn parse_base(text: &[u8], base: u32, signed: bool) -> u64 {
    let mut rest = text.trim_ascii_start();
    let negative = rest.first() == Some(&b'-');
    if matches!(rest.first(), Some(b'-' | b'+')) {
        rest = &rest[1..];
    }
    let (mut value, mut over) = (0u64, false);
    for b in rest {
        let Some(digit) = char::from(*b).to_digit(base) else { break };
        match value.checked_mul(u64::from(base)).and_then(|v| v.checked_add(u64::from(digit))) {
            Some(next) => value = next,
            None => over = true,
        }
    }
    match (signed, negative) {
        (true, true) if over || value > 1 << 63 => 1 << 63,
        (true, false) if over || value >= 1 << 63 => i64::MAX as u64,
        _ if over => u64::MAX,
        (_, true) => value.wrapping_neg(),
        _ => value,
    }
}

fn write_base(value: u64, base: i64) -> Option<Vec<u8>> {
    let radix = u64::from(u32::try_from(base.unsigned_abs()).ok().filter(|b| (2..=36).contains(b))?);
    let negative = base < 0 && (value as i64) < 0;
    let mut rest = if negative { (value as i64).unsigned_abs() } else { value };
    let mut out = Vec::with_capacity(65);
    loop {
        out.push(DIGITS[(rest % radix) as usize]);
        rest /= radix;
        if rest == 0 {
            break;
        }
    }
    if negative {
        out.push(b'-');
    }
    out.reverse();
    Some(out)
}

fn convert_base(call: Call<'_>, text: &[u8], from: i64, to: i64) -> Value {
    let Some(base) = u32::try_from(from.unsigned_abs()).ok().filter(|b| (2..=36).contains(b)) else {
        return Value::Null;
    };
    if text.is_empty() {
        return Value::Null;
    }
    let value = parse_base(text, base, from < 0);
    write_base(value, to).map_or(Value::Null, |out| string(call, out))
}

fn conv(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let (from, to) = (rules::int_arg(cx, &args[1])?, rules::int_arg(cx, &args[2])?);
    if let Value::Bit(bits, _) = &args[0] {
        return Ok(write_base(*bits, to).map_or(Value::Null, |out| string(call, out)));
    }
    Ok(convert_base(call, &own_text(call, args, 0), from, to))
}

fn bin(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(in_base(call, args, 2))
}

fn oct(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(in_base(call, args, 8))
}

fn in_base(call: Call<'_>, args: &[Value], base: i64) -> Value {
    match &args[0] {
        Value::Bit(bits, _) => write_base(*bits, base).map_or(Value::Null, |out| string(call, out)),
        _ => convert_base(call, &own_text(call, args, 0), 10, base),
    }
}

fn digest_rule<const CHARS: u64>(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(ascii_type(cx, CHARS, rules::nullable(args)))
}

fn digest(call: Call<'_>, bytes: &[u8]) -> Value {
    string(call, hex_of(bytes).to_ascii_lowercase())
}

fn md5(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(digest(call, &md5::Md5::digest(&own_text(call, args, 0)[..])))
}

fn sha1(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(digest(call, &sha1::Sha1::digest(&own_text(call, args, 0)[..])))
}

fn sha2_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let chars = match rules::constant_int(&args[1]) {
        Some(224) => 56,
        Some(0 | 256) => 64,
        Some(384) => 96,
        _ => 128,
    };
    Ok(ascii_type(cx, chars, true))
}

fn sha2(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let bits = rules::int_arg(cx, &args[1])?;
    let text = own_text(call, args, 0);
    Ok(match bits {
        224 => digest(call, &sha2::Sha224::digest(&text[..])),
        0 | 256 => digest(call, &sha2::Sha256::digest(&text[..])),
        384 => digest(call, &sha2::Sha384::digest(&text[..])),
        512 => digest(call, &sha2::Sha512::digest(&text[..])),
        _ => {
            cx.conversion().warn(ErrorCode::WrongParametersToNativeFct, &[&"sha2"])?;
            Value::Null
        }
    })
}

/// Remainders of CRC-32 (polynomial 0x04C11DB7, reflected) for one byte.
const CRC32: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let (mut crc, mut bit) = (i as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

fn crc32_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType { length: 10, nullable: rules::nullable(args), ..SqlType::bigint_unsigned() })
}

fn crc32(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let step = |crc: u32, b: &u8| crc >> 8 ^ CRC32[usize::from(crc as u8 ^ b)];
    let crc = own_text(call, args, 0).iter().fold(u32::MAX, step);
    Ok(Value::UInt(u64::from(!crc)))
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Characters that Base64 makes of so many bytes: lines of 76, with line feeds between them.
fn base64_length(bytes: u64) -> u64 {
    let chars = bytes.div_ceil(3).saturating_mul(4);
    chars.saturating_add(chars.saturating_sub(1) / 76)
}

/// Base64 in lines of 76 characters.
pub(crate) fn to_base64_lines(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(base64_length(bytes.len() as u64) as usize);
    for (i, chunk) in bytes.chunks(3).enumerate() {
        if i > 0 && i % 19 == 0 {
            out.push(b'\n');
        }
        let group = chunk.iter().chain(&[0, 0]).take(3).fold(0u32, |g, b| g << 8 | u32::from(*b));
        for n in 0..4 {
            let digit = BASE64[(group >> (18 - 6 * n) & 63) as usize];
            out.push(if n <= chunk.len() { digit } else { b'=' });
        }
    }
    out
}

fn to_base64_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(ascii_type(cx, base64_length(bytes_of(args[0].ty)), rules::nullable(args)))
}

fn to_base64(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = own_text(call, args, 0);
    if !rules::fits(cx, base64_length(text.len() as u64)) {
        return rules::too_long(cx, "to_base64");
    }
    Ok(string(call, to_base64_lines(&text)))
}

/// The bytes of Base64 text; white space does not count. `None` if it is none.
pub(crate) fn from_base64_text(text: &[u8]) -> Option<Vec<u8>> {
    let value = |b: u8| match b {
        b'A'..=b'Z' => Some(b - b'A'),
        b'a'..=b'z' => Some(b - b'a' + 26),
        b'0'..=b'9' => Some(b - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut count, mut padding) = (0u32, 0, 0);
    for b in text.iter().filter(|b| !b.is_ascii_whitespace()) {
        if padding > 0 && (*b != b'=' || count == 0) {
            return None;
        }
        let digit = match *b {
            b'=' if count >= 2 => {
                padding += 1;
                0
            }
            b => value(b)?,
        };
        group = group << 6 | u32::from(digit);
        count += 1;
        if count == 4 {
            out.extend_from_slice(&group.to_be_bytes()[1..4 - padding]);
            (group, count) = (0, 0);
        }
    }
    (count == 0).then_some(out)
}

fn from_base64_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::bytes_type(bytes_of(args[0].ty) / 4 * 3 + 3, true))
}

fn from_base64(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = own_text(call, args, 0);
    Ok(from_base64_text(&text).map_or(Value::Null, |bytes| string(call, bytes)))
}

fn format_bytes_rule(cx: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(ascii_type(cx, 11, true))
}

/// Two decimals and a unit; whole numbers of the smallest.
fn with_unit(value: f64, units: &[(f64, &str)], smallest: &str) -> String {
    let mut out = String::new();
    let unit = units.iter().find(|(size, _)| value.abs() >= *size);
    let _ = match unit {
        Some((size, name)) if value.abs() / size >= 100_000.0 => write!(out, "{:.2e} {name}", value / size),
        Some((size, name)) => write!(out, "{:.2} {name}", value / size),
        None => write!(out, "{:4} {smallest}", value as i64),
    };
    out
}

fn format_bytes(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    const UNITS: &[(f64, &str)] = &[
        (1_152_921_504_606_846_976.0, "EiB"),
        (1_125_899_906_842_624.0, "PiB"),
        (1_099_511_627_776.0, "TiB"),
        (1_073_741_824.0, "GiB"),
        (1_048_576.0, "MiB"),
        (1024.0, "KiB"),
    ];
    let value = rules::double_arg(cx, &args[0])?;
    Ok(string(call, with_unit(value, UNITS, "bytes").as_str()))
}

fn format_pico_time(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    const UNITS: &[(f64, &str)] =
        &[(86_400e12, "d"), (3600e12, "h"), (60e12, "min"), (1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns")];
    let value = rules::double_arg(cx, &args[0])?;
    Ok(string(call, with_unit(value, UNITS, "ps").as_str().trim_start()))
}

/// Separators of a locale: decimal point, between groups of digits, sizes of the groups from the right (the last
/// repeats).
struct Separators {
    point: &'static str,
    group: &'static str,
    sizes: &'static [usize],
}

fn format_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let digits = chars_of(args[0].ty).max(22);
    Ok(ascii_type(cx, digits + digits / 3 + 32, true))
}

fn format(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() || args[1].is_null() {
        return Ok(Value::Null);
    }
    let decimals = rules::count_arg(cx, &args[1])?.clamp(0, 30) as u8;
    let separators = match args.get(2) {
        Some(locale) if !locale.is_null() => separators_of(cx, &rules::bytes_of(locale))?,
        _ => EN,
    };
    let mut digits = Vec::new();
    match &args[0] {
        v @ (Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Year(_) | Value::Bit(..)) => {
            let number = convert::to_decimal(v.as_ref(), &mut cx.conversion())?;
            number.round(decimals).unwrap_or(number).write(&mut digits);
        }
        v => {
            let number = rules::double_arg(cx, v)?;
            let rounded = crate::math::round_double(number, i64::from(decimals), false);
            convert::float::write_fixed(rounded, decimals, &mut digits);
        }
    }
    Ok(string(call, grouped(&digits, &separators)))
}

fn grouped(number: &[u8], separators: &Separators) -> Vec<u8> {
    let (sign, rest) = number.split_at(usize::from(number.first() == Some(&b'-')));
    let dot = rest.iter().position(|b| *b == b'.').unwrap_or(rest.len());
    let (mut whole, fraction) = rest.split_at(dot);
    let mut groups: Vec<&[u8]> = Vec::new();
    let mut sizes = separators.sizes.iter();
    let mut size = sizes.next().copied().unwrap_or(usize::MAX);
    while whole.len() > size {
        let (front, group) = whole.split_at(whole.len() - size);
        groups.push(group);
        whole = front;
        size = sizes.next().copied().unwrap_or(size);
    }
    groups.push(whole);
    groups.reverse();
    let mut out = sign.to_vec();
    out.extend_from_slice(&groups.join(separators.group.as_bytes()));
    if let Some(fraction) = fraction.strip_prefix(b".") {
        out.extend_from_slice(separators.point.as_bytes());
        out.extend_from_slice(fraction);
    }
    out
}

const EN: Separators = Separators { point: ".", group: ",", sizes: &[3] };

/// Locales by their separators, from the locale data of the C library.
const LOCALES: &[(Separators, &[&str])] = &[
    (
        Separators { point: ".", group: ",", sizes: &[3] },
        &[
            "en_US", "en_GB", "ja_JP", "ar_AE", "ar_BH", "ar_JO", "ar_SY", "gu_IN", "he_IL", "hi_IN", "ko_KR", "ms_MY",
            "th_TH", "ur_PK", "zh_CN", "zh_TW", "ar_DZ", "ar_EG", "ar_IN", "ar_IQ", "ar_KW", "ar_LB", "ar_LY", "ar_MA",
            "ar_OM", "ar_QA", "ar_SD", "ar_TN", "ar_YE", "en_AU", "en_CA", "en_NZ", "en_PH", "en_ZA", "en_ZW", "es_DO",
            "es_GT", "es_HN", "es_MX", "es_NI", "es_PA", "es_PE", "es_PR", "es_SV", "es_US", "zh_HK",
        ],
    ),
    (
        Separators { point: ",", group: " ", sizes: &[3] },
        &["sv_SE", "sv_FI", "cs_CZ", "et_EE", "fi_FI", "lv_LV", "mk_MK", "ru_RU", "sk_SK", "es_CR"],
    ),
    (
        Separators { point: ",", group: ".", sizes: &[3] },
        &[
            "de_DE", "be_BY", "da_DK", "nb_NO", "es_ES", "fo_FO", "hu_HU", "id_ID", "is_IS", "lt_LT", "mn_MN", "no_NO",
            "ro_RO", "ru_UA", "sq_AL", "tr_TR", "uk_UA", "vi_VN", "de_BE", "de_LU", "es_AR", "es_BO", "es_CL", "es_CO",
            "es_EC", "es_PY", "es_UY", "es_VE",
        ],
    ),
    (
        Separators { point: ",", group: "", sizes: &[] },
        &[
            "fr_FR", "ca_ES", "de_AT", "eu_ES", "gl_ES", "hr_HR", "nl_NL", "pl_PL", "pt_BR", "pt_PT", "sl_SI", "fr_BE",
            "fr_CA", "fr_CH", "fr_LU", "it_IT", "nl_BE", "el_GR",
        ],
    ),
    (Separators { point: ".", group: "", sizes: &[] }, &["ar_SA", "sr_RS"]),
    (Separators { point: ",", group: "\0", sizes: &[3] }, &["bg_BG"]),
    (Separators { point: ",", group: "'", sizes: &[3] }, &["it_CH", "rm_CH"]),
    (Separators { point: ".", group: ",", sizes: &[3, 2] }, &["ta_IN", "te_IN", "en_IN"]),
    (Separators { point: ".", group: "'", sizes: &[3] }, &["de_CH"]),
];

/// Warning 1649 and en_US for a locale that is none.
fn separators_of(cx: &mut EvalContext<'_>, name: &[u8]) -> Result<Separators> {
    let name = String::from_utf8_lossy(name);
    for (s, names) in LOCALES {
        if names.iter().any(|n| n.eq_ignore_ascii_case(&name)) {
            return Ok(Separators { ..*s });
        }
    }
    cx.conversion().warn(ErrorCode::UnknownLocale, &[&name])?;
    Ok(EN)
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new(
        "HEX NUMBER",
        1,
        1,
        long_number_rule,
        long_number,
        "A long hexadecimal literal as a number (internal).",
    ),
    FunctionDef::new("HEX", 1, 1, hex_rule, hex, "Bytes, or a number, in hexadecimal."),
    FunctionDef::new("UNHEX", 1, 1, unhex_rule, unhex, "Bytes from hexadecimal."),
    FunctionDef::new("CONV", 3, 3, base_rule, conv, "A number in another base (2 to 36; negative: signed).")
        .numbers_at(&[1, 2]),
    FunctionDef::new("BIN", 1, 1, base_rule, bin, "A number in base 2."),
    FunctionDef::new("OCT", 1, 1, base_rule, oct, "A number in base 8."),
    FunctionDef::new("MD5", 1, 1, digest_rule::<32>, md5, "MD5 digest in hexadecimal."),
    FunctionDef::new("SHA1", 1, 1, digest_rule::<40>, sha1, "SHA-1 digest in hexadecimal.").also(&["SHA"]),
    FunctionDef::new("SHA2", 2, 2, sha2_rule, sha2, "SHA-224, 256, 384 or 512 digest in hexadecimal.").numbers_at(&[1]),
    FunctionDef::new("CRC32", 1, 1, crc32_rule, crc32, "CRC-32 of a text's bytes."),
    FunctionDef::new("TO_BASE64", 1, 1, to_base64_rule, to_base64, "Bytes in Base64, in lines of 76 characters."),
    FunctionDef::new("FROM_BASE64", 1, 1, from_base64_rule, from_base64, "Bytes from Base64."),
    FunctionDef::new("FORMAT", 2, 3, format_rule, format, "A number with separators and so many decimals.")
        .numbers_at(&[0, 1])
        .sees_null()
        .keeps_digits(),
    FunctionDef::new("FORMAT_BYTES", 1, 1, format_bytes_rule, format_bytes, "A number of bytes with a unit.")
        .numbers_at(&[0]),
    FunctionDef::new("FORMAT_PICO_TIME", 1, 1, format_bytes_rule, format_pico_time, "Picoseconds with a unit.")
        .numbers_at(&[0]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn bases() {
        check(&[
            ("HEX('abc')", "616263"),
            ("HEX('ä')", "C3A4"),
            ("HEX(255)", "FF"),
            ("HEX(-1)", "FFFFFFFFFFFFFFFF"),
            ("HEX(1.5)", "2"),
            ("HEX(1e30)", "FFFFFFFFFFFFFFFF"),
            ("HEX(18446744073709551615)", "FFFFFFFFFFFFFFFF"),
            ("HEX(DATE'2024-01-02')", "323032342D30312D3032"),
            ("UNHEX('4D7953514C')", "MySQL"),
            ("HEX(UNHEX('ABC'))", "0ABC"),
            ("UNHEX('GG')", "NULL !1411"),
            ("UNHEX('')", ""),
            ("CONV('a', 16, 2)", "1010"),
            ("CONV('6E', 18, 8)", "172"),
            ("CONV(-17, 10, -18)", "-H"),
            ("CONV(-17, 10, 16)", "FFFFFFFFFFFFFFEF"),
            ("CONV('18446744073709551616', 10, 16)", "FFFFFFFFFFFFFFFF"),
            ("CONV('18446744073709551615', -10, 16)", "7FFFFFFFFFFFFFFF"),
            ("CONV('zz', 36, 10)", "1295"),
            ("CONV('9', 8, 10)", "0"),
            ("CONV(1, 1, 10)", "NULL"),
            ("CONV(1, 10, 37)", "NULL"),
            ("CONV(1, -9223372036854775808, 10)", "NULL"),
            ("CONV('', 10, 16)", "NULL"),
            ("BIN(12)", "1100"),
            ("BIN(12.9)", "1100"),
            ("BIN(-1)", &"1".repeat(64)),
            ("OCT(12)", "14"),
            ("OCT('x')", "0"),
        ]);
    }

    #[test]
    fn digests() {
        check(&[
            ("MD5('testing')", "ae2b1fca515949e5d54fb22b8ed95575"),
            ("MD5('')", "d41d8cd98f00b204e9800998ecf8427e"),
            ("SHA1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("SHA2('abc', 224)", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
            ("SHA2('abc', 0)", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            ("LENGTH(SHA2('abc', 384))", "96"),
            ("LENGTH(SHA2('abc', 512))", "128"),
            ("SHA2('abc', 1)", "NULL !1583"),
            ("CRC32('MySQL')", "3259397556"),
            ("CRC32('mysql')", "2501908538"),
            ("CRC32('')", "0"),
            ("TO_BASE64('abc')", "YWJj"),
            ("TO_BASE64('ab')", "YWI="),
            ("TO_BASE64('a')", "YQ=="),
            ("TO_BASE64('')", ""),
            ("LENGTH(TO_BASE64(REPEAT('a', 57)))", "76"),
            ("LENGTH(TO_BASE64(REPEAT('a', 58)))", "81"),
            ("FROM_BASE64(TO_BASE64(REPEAT('ab', 50)))", &"ab".repeat(50)),
            ("FROM_BASE64('YQ==')", "a"),
            ("FROM_BASE64(' Y W\nI = ')", "ab"),
            ("FROM_BASE64('Y')", "NULL"),
            ("FROM_BASE64('Y===')", "NULL"),
            ("FROM_BASE64('YQ==YQ==')", "NULL"),
            ("FROM_BASE64('YQ=a')", "NULL"),
            ("FROM_BASE64('')", ""),
        ]);
    }

    #[test]
    fn formats() {
        check(&[
            ("FORMAT(12332.123456, 4)", "12,332.1235"),
            ("FORMAT(12332.1, 4)", "12,332.1000"),
            ("FORMAT(12332.2, 0)", "12,332"),
            ("FORMAT(12332.2, 2, 'de_DE')", "12.332,20"),
            ("FORMAT(1234567890, 1, 'en_IN')", "1,23,45,67,890.0"),
            ("FORMAT(1234567, 1, 'fr_FR')", "1234567,0"),
            ("FORMAT(-999, 0)", "-999"),
            ("FORMAT(-1000.5, 0)", "-1,001"),
            ("FORMAT(1e3, 3)", "1,000.000"),
            ("FORMAT('12345.678', 2)", "12,345.68"),
            ("FORMAT(1, -5)", "1"),
            ("FORMAT(1.005, 40)", "1.005000000000000000000000000000"),
            ("FORMAT(1234, 2, 'xx')", "1,234.00 !1649"),
            ("FORMAT(1234, 2, NULL)", "1,234.00"),
            ("FORMAT(NULL, 2)", "NULL"),
            ("FORMAT_BYTES(512)", " 512 bytes"),
            ("FORMAT_BYTES(18446644073709551615)", "16.00 EiB"),
            ("FORMAT_PICO_TIME(3501)", "3.50 ns"),
            ("FORMAT_PICO_TIME(188732396662000)", "3.15 min"),
        ]);
    }
}
