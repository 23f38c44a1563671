//! Strings: parts, lengths, case, padding, trimming.

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext},
    rules::{
        self, arg_text, chars_in, chars_of, constant_int, count_arg, own_text, result_collation, string, text_type,
    },
};
use gannet_types::{
    Result, SqlType, Value,
    charset::Charset,
    collation::{to_lower, to_upper},
};
use std::borrow::Cow;

/// Text as long as all arguments together.
fn concat_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = result_collation(cx, args, "concat")?;
    let chars = args.iter().fold(0u64, |sum, a| sum.saturating_add(chars_in(a.ty, collation)));
    Ok(text_type(chars, collation, rules::nullable(args)))
}

fn concat(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let parts = (0..args.len()).map(|i| arg_text(call, args, i)).collect::<Result<Vec<Cow<'_, [u8]>>>>()?;
    join(cx, call, "concat", &parts, b"")
}

fn join(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    name: &str,
    parts: &[Cow<'_, [u8]>],
    separator: &[u8],
) -> Result<Value> {
    let gaps = parts.len().saturating_sub(1) as u64;
    let bytes = parts.iter().map(|p| p.len() as u64).sum::<u64>() + gaps * separator.len() as u64;
    if !rules::fits(cx, bytes) {
        return rules::too_long(cx, name);
    }
    let mut out = Vec::with_capacity(bytes as usize);
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(part);
    }
    Ok(string(call, out))
}

fn concat_ws_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = result_collation(cx, args, "concat_ws")?;
    let gaps = chars_in(args[0].ty, collation).saturating_mul(args.len() as u64 - 2);
    let chars = args[1..].iter().fold(gaps, |sum, a| sum.saturating_add(chars_in(a.ty, collation)));
    Ok(text_type(chars, collation, args[0].ty.nullable))
}

fn concat_ws(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let separator = arg_text(call, args, 0)?;
    let present = (1..args.len()).filter(|i| !args[*i].is_null());
    let parts = present.map(|i| arg_text(call, args, i)).collect::<Result<Vec<Cow<'_, [u8]>>>>()?;
    join(cx, call, "concat_ws", &parts, &separator)
}

fn length_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::int_of(11, rules::nullable(args)))
}

fn length(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Int(own_text(call, args, 0).len() as i64))
}

fn bit_length(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Int(own_text(call, args, 0).len() as i64 * 8))
}

fn char_length(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let charset = rules::charset_of(&call.args[0]);
    Ok(Value::Int(charset.char_count(&own_text(call, args, 0)) as i64))
}

/// Text as long as the first argument, with its collation.
fn same_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = result_collation(cx, &args[..1], "upper")?;
    Ok(text_type(chars_of(args[0].ty), collation, rules::nullable(args)))
}

fn upper(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let mut out = Vec::new();
    to_upper(call.ty.collation.get(), &arg_text(call, args, 0)?, &mut out);
    Ok(string(call, out))
}

fn lower(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let mut out = Vec::new();
    to_lower(call.ty.collation.get(), &arg_text(call, args, 0)?, &mut out);
    Ok(string(call, out))
}

fn reverse(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let charset = call.ty.collation.charset();
    let text = arg_text(call, args, 0)?;
    let mut out = vec![0; text.len()];
    let (mut from, mut to) = (0, text.len());
    while from < text.len() {
        let n = charset.char_len(&text[from..]);
        out[to - n..to].copy_from_slice(&text[from..from + n]);
        from += n;
        to -= n;
    }
    Ok(string(call, out))
}

fn substring_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = result_collation(cx, &args[..1], "substr")?;
    let all = chars_of(args[0].ty);
    let mut chars = all;
    match constant_int(&args[1]) {
        Some(0) => chars = 0,
        Some(n @ ..0) => chars = chars.min(n.unsigned_abs()),
        Some(n) => chars = chars.saturating_sub(n as u64 - 1),
        None => {}
    }
    if let Some(n) = args.get(2).and_then(constant_int) {
        chars = chars.min(n.max(0) as u64);
    }
    Ok(text_type(chars, collation, rules::nullable(args)))
}

/// `count` characters (all, if there are fewer) from the `start`-th on.
fn slice(charset: Charset, text: &[u8], start: usize, count: usize) -> &[u8] {
    let rest = &text[charset.prefix_len(text, start)..];
    &rest[..charset.prefix_len(rest, count)]
}

fn to_usize(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0)
}

fn substring(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let charset = call.ty.collation.charset();
    let start = count_arg(cx, &args[1])?;
    let count = match args.get(2) {
        Some(n) => count_arg(cx, n)?,
        None => i64::MAX,
    };
    let text = arg_text(call, args, 0)?;
    if start == 0 || count <= 0 {
        return Ok(string(call, &b""[..]));
    }
    let start = if start > 0 {
        to_usize(start - 1)
    } else {
        // A start before the first character gives nothing.
        match charset.char_count(&text).checked_sub(usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX)) {
            Some(start) => start,
            None => return Ok(string(call, &b""[..])),
        }
    };
    Ok(string(call, slice(charset, &text, start, to_usize(count))))
}

fn left_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = result_collation(cx, &args[..1], "left")?;
    let all = chars_of(args[0].ty);
    let chars = constant_int(&args[1]).map_or(all, |n| all.min(n.max(0) as u64));
    Ok(text_type(chars, collation, rules::nullable(args)))
}

fn left(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let count = count_arg(cx, &args[1])?;
    let text = arg_text(call, args, 0)?;
    Ok(string(call, slice(call.ty.collation.charset(), &text, 0, to_usize(count))))
}

fn right(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let charset = call.ty.collation.charset();
    let count = to_usize(count_arg(cx, &args[1])?);
    let text = arg_text(call, args, 0)?;
    let skip = charset.char_count(&text).saturating_sub(count);
    Ok(string(call, &text[charset.prefix_len(&text, skip)..]))
}

fn trim_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = rules::common_collation(cx, args, "trim")?;
    Ok(text_type(chars_in(args[0].ty, collation), collation, rules::nullable(args)))
}

fn trim_ends(call: Call<'_>, args: &[Value], leading: bool, trailing: bool) -> Result<Value> {
    let text = arg_text(call, args, 0)?;
    let remove = if args.len() > 1 { arg_text(call, args, 1)? } else { call.ty.collation.charset().ascii(b" ") };
    let mut rest = &text[..];
    if !remove.is_empty() {
        while leading && let Some(shorter) = rest.strip_prefix(&remove[..]) {
            rest = shorter;
        }
        let charset = call.ty.collation.charset();
        while trailing && let Some(shorter) = rest.strip_suffix(&remove[..]) {
            if charset.is_multi() && !charset.is_boundary(rest, shorter.len()) {
                break;
            }
            rest = shorter;
        }
    }
    Ok(string(call, rest))
}

fn trim(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    trim_ends(call, args, true, true)
}

fn ltrim(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    trim_ends(call, args, true, false)
}

fn rtrim(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    trim_ends(call, args, false, true)
}

/// Text of so many characters as an argument says, or long text.
fn counted_type(cx: RuleContext, args: &[ArgInfo<'_>], of: &[ArgInfo<'_>], name: &str, each: u64) -> Result<SqlType> {
    let collation = result_collation(cx, of, name)?;
    let chars = constant_int(&args[1]).map_or(u64::from(u32::MAX), |n| (n.max(0) as u64).saturating_mul(each));
    Ok(text_type(chars, collation, true))
}

fn pad_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    counted_type(cx, args, &[args[0], args[2]], "lpad", 1)
}

fn repeat_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    counted_type(cx, args, &args[..1], "repeat", chars_of(args[0].ty))
}

fn pad(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value], name: &str, in_front: bool) -> Result<Value> {
    let charset = call.ty.collation.charset();
    let count = count_arg(cx, &args[1])?;
    let (text, pad) = (arg_text(call, args, 0)?, arg_text(call, args, 2)?);
    let Ok(count) = u64::try_from(count) else { return Ok(Value::Null) };
    let have = charset.char_count(&text) as u64;
    if count <= have {
        return Ok(string(call, slice(charset, &text, 0, count as usize)));
    }
    if !rules::fits(cx, count.saturating_mul(u64::from(charset.max_len()))) {
        return rules::too_long(cx, name);
    }
    let each = charset.char_count(&pad) as u64;
    if each == 0 {
        return Ok(string(call, &text[..]));
    }
    let missing = count - have;
    let filler = |out: &mut Vec<u8>| {
        for _ in 0..missing / each {
            out.extend_from_slice(&pad);
        }
        out.extend_from_slice(slice(charset, &pad, 0, (missing % each) as usize));
    };
    let mut out = Vec::with_capacity(text.len() + (missing / each + 1) as usize * pad.len());
    if in_front {
        filler(&mut out);
        out.extend_from_slice(&text);
    } else {
        out.extend_from_slice(&text);
        filler(&mut out);
    }
    Ok(string(call, out))
}

fn lpad(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    pad(cx, call, args, "lpad", true)
}

fn rpad(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    pad(cx, call, args, "rpad", false)
}

fn repeated(cx: &mut EvalContext<'_>, call: Call<'_>, name: &str, text: &[u8], count: i64) -> Result<Value> {
    let count = count.max(0) as u64;
    if text.is_empty() || count == 0 {
        return Ok(string(call, &b""[..]));
    }
    if !rules::fits(cx, (text.len() as u64).saturating_mul(count)) {
        return rules::too_long(cx, name);
    }
    Ok(string(call, text.repeat(count as usize)))
}

fn repeat(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let count = count_arg(cx, &args[1])?;
    repeated(cx, call, "repeat", &arg_text(call, args, 0)?, count)
}

/// A number of times or characters, of whatever it is made; 0 for what is no number.
fn count_of(value: &Value) -> usize {
    match value {
        Value::Int(n) => usize::try_from(*n).unwrap_or(0),
        Value::UInt(n) => usize::try_from(*n).unwrap_or(usize::MAX),
        Value::Decimal(n) => n.to_i64().map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(0)),
        Value::Double(n) => *n as usize,
        Value::Float(n) => *n as usize,
        // Text may say any number.
        Value::Str(..) | Value::Json(_) => usize::MAX,
        _ => 0,
    }
}

/// Bytes that LPAD and RPAD fill up to.
fn padded(args: &[Value]) -> usize {
    count_of(&args[1])
}

fn space_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let chars = constant_int(&args[0]).map_or(u64::from(u32::MAX), |n| n.max(0) as u64);
    Ok(rules::ascii_type(cx, chars, true))
}

fn space(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let count = count_arg(cx, &args[0])?;
    repeated(cx, call, "space", b" ", count)
}

fn insert_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = result_collation(cx, &[args[0], args[3]], "insert")?;
    let chars = chars_in(args[0].ty, collation).saturating_add(chars_in(args[3].ty, collation));
    Ok(text_type(chars, collation, true))
}

fn insert(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let charset = call.ty.collation.charset();
    let (start, count) = (count_arg(cx, &args[1])?, count_arg(cx, &args[2])?);
    let (text, new) = (arg_text(call, args, 0)?, arg_text(call, args, 3)?);
    if start < 1 || start as u64 > charset.char_count(&text) as u64 {
        return Ok(string(call, &text[..]));
    }
    let from = charset.prefix_len(&text, to_usize(start - 1));
    let rest = &text[from..];
    let cut = if count < 0 { rest.len() } else { charset.prefix_len(rest, to_usize(count)) };
    if !rules::fits(cx, (text.len() - cut + new.len()) as u64) {
        return rules::too_long(cx, "insert");
    }
    Ok(string(call, [&text[..from], &new, &rest[cut..]].concat()))
}

fn ascii_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::int_of(4, rules::nullable(args)))
}

fn ascii(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Int(own_text(call, args, 0).first().map_or(0, |b| i64::from(*b))))
}

fn ord(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = own_text(call, args, 0);
    if text.is_empty() {
        return Ok(Value::Int(0));
    }
    let n = rules::charset_of(&call.args[0]).char_len(&text);
    Ok(Value::Int(text[..n].iter().fold(0, |code, b| code << 8 | i64::from(*b))))
}

fn char_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType { nullable: false, ..rules::bytes_type(args.len() as u64 * 4, false) })
}

/// The bytes of each number, without leading zero bytes (but one for 0); NULLs are left out.
fn char_(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let mut out = Vec::with_capacity(args.len() * 4);
    for arg in args.iter().filter(|a| !a.is_null()) {
        let code = (rules::int_arg(cx, arg)? as u32).to_be_bytes();
        let skip = code.iter().take(3).take_while(|b| **b == 0).count();
        out.extend_from_slice(&code[skip..]);
    }
    Ok(string(call, out))
}

fn quote_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let null = args[0].ty.id == gannet_types::TypeId::Null;
    let collation = if null { cx.collation } else { result_collation(cx, args, "quote")? };
    Ok(text_type(chars_of(args[0].ty).saturating_mul(2).saturating_add(2).max(4), collation, false))
}

fn quote(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(string(call, &*call.ty.collation.charset().ascii(b"NULL")));
    }
    let charset = call.ty.collation.charset();
    let text = arg_text(call, args, 0)?;
    let text = charset.narrow(&text);
    let special = text.iter().filter(|b| matches!(b, b'\\' | b'\'' | 0 | 0x1A)).count();
    if !rules::fits(cx, (text.len() + special + 2) as u64) {
        return rules::too_long(cx, "quote");
    }
    let mut out = Vec::with_capacity(text.len() + special + 2);
    out.push(b'\'');
    let mut within = 0;
    for (at, b) in text.iter().enumerate() {
        if within > 0 {
            // A later byte of a character.
            within -= 1;
            out.push(*b);
            continue;
        }
        within = if charset.is_multi() { charset.char_len(&text[at..]) - 1 } else { 0 };
        match b {
            0 => out.extend_from_slice(b"\\0"),
            0x1A => out.extend_from_slice(b"\\Z"),
            b'\\' | b'\'' => out.extend_from_slice(&[b'\\', *b]),
            _ => out.push(*b),
        }
    }
    out.push(b'\'');
    if charset.is_wide() {
        return Ok(string(call, &*Charset::Utf8mb4.convert(&out, charset).bytes));
    }
    Ok(string(call, out))
}

fn soundex_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = result_collation(cx, args, "soundex")?;
    Ok(text_type(chars_of(args[0].ty).max(4), collation, rules::nullable(args)))
}

/// The sound of a letter: digits of the Soundex code; vowels, H, W and Y have none; letters beyond ASCII count as
/// vowels.
fn sound(c: char) -> Option<u8> {
    match c.to_ascii_uppercase() {
        'B' | 'F' | 'P' | 'V' => Some(b'1'),
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => Some(b'2'),
        'D' | 'T' => Some(b'3'),
        'L' => Some(b'4'),
        'M' | 'N' => Some(b'5'),
        'R' => Some(b'6'),
        _ => None,
    }
}

/// The first letter, and the digits of all sounds that differ from the one before, at least three. (The original
/// algorithm of 1918 stops after three; MySQL does not.)
fn soundex(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let charset = call.ty.collation.charset();
    let unit = charset.unit();
    let text = arg_text(call, args, 0)?;
    // MySQL takes all of Unicode from the capital A with grave on for letters.
    let is_letter = |c: &char| match charset.is_single_byte() {
        true => c.is_alphabetic(),
        false => c.is_ascii_alphabetic() || *c >= '\u{C0}',
    };
    let mut letters = charset.chars(&text).filter(is_letter);
    let mut out = Vec::new();
    let Some(first) = letters.next() else { return Ok(string(call, out)) };
    charset.encode(first.to_ascii_uppercase(), &mut out);
    let head = out.len();
    let mut last = sound(first);
    for c in letters {
        let code = sound(c);
        if let Some(digit) = code.filter(|_| code != last) {
            out.extend_from_slice(&charset.ascii(&[digit]));
        }
        // Vowels stand between two sounds without parting them.
        last = code.or(last);
    }
    while out.len() < head + 3 * unit {
        out.extend_from_slice(&charset.ascii(b"0"));
    }
    Ok(string(call, out))
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("CONCAT", 1, 1, concat_rule, concat, "The arguments' texts, one after the other.")
        .made_of(|_| true)
        .variadic(),
    FunctionDef::new(
        "CONCAT_WS",
        2,
        2,
        concat_ws_rule,
        concat_ws,
        "The arguments but the first, which stands between them; NULLs are left out.",
    )
    .made_of(|_| true)
    .variadic()
    .sees_null(),
    FunctionDef::new("LENGTH", 1, 1, length_rule, length, "Bytes of a text.").also(&["OCTET_LENGTH"]),
    FunctionDef::new("BIT_LENGTH", 1, 1, length_rule, bit_length, "Bits of a text."),
    FunctionDef::new("CHAR_LENGTH", 1, 1, length_rule, char_length, "Characters of a text.")
        .also(&["CHARACTER_LENGTH"]),
    FunctionDef::new("UPPER", 1, 1, same_rule, upper, "Text in upper case.").made_of(|_| true).also(&["UCASE"]),
    FunctionDef::new("LOWER", 1, 1, same_rule, lower, "Text in lower case.").made_of(|_| true).also(&["LCASE"]),
    FunctionDef::new("REVERSE", 1, 1, same_rule, reverse, "Text with its characters in opposite order.")
        .made_of(|_| true),
    FunctionDef::new(
        "SUBSTRING",
        2,
        3,
        substring_rule,
        substring,
        "Part of a text: from a position (negative: from the end), so many characters.",
    )
    .numbers_at(&[1, 2])
    .made_of(|i| i == 0)
    .also(&["SUBSTR", "MID"]),
    FunctionDef::new("LEFT", 2, 2, left_rule, left, "The first n characters.").numbers_at(&[1]).made_of(|i| i == 0),
    FunctionDef::new("RIGHT", 2, 2, left_rule, right, "The last n characters.").numbers_at(&[1]).made_of(|i| i == 0),
    FunctionDef::new("TRIM", 1, 2, trim_rule, trim, "Text without what is to be removed (spaces) at both ends.")
        .made_of(|_| true),
    FunctionDef::new("LTRIM", 1, 2, trim_rule, ltrim, "Text without leading spaces.").made_of(|_| true),
    FunctionDef::new("RTRIM", 1, 2, trim_rule, rtrim, "Text without trailing spaces.").made_of(|_| true),
    FunctionDef::new("LPAD", 3, 3, pad_rule, lpad, "Text filled up in front to n characters, or cut.")
        .numbers_at(&[1])
        .made_of(|i| i != 1)
        .makes(padded),
    FunctionDef::new("RPAD", 3, 3, pad_rule, rpad, "Text filled up behind to n characters, or cut.")
        .numbers_at(&[1])
        .made_of(|i| i != 1)
        .makes(padded),
    FunctionDef::new("REPEAT", 2, 2, repeat_rule, repeat, "Text n times.")
        .numbers_at(&[1])
        .made_of(|i| i == 0)
        .makes(|args| args[0].long_bytes().max(1).saturating_mul(count_of(&args[1]))),
    FunctionDef::new("SPACE", 1, 1, space_rule, space, "n spaces.").numbers_at(&[0]).makes(|args| count_of(&args[0])),
    FunctionDef::new("INSERT", 4, 4, insert_rule, insert, "Text in which n characters from a position are replaced.")
        .numbers_at(&[1, 2])
        .made_of(|i| matches!(i, 0 | 3)),
    FunctionDef::new("ASCII", 1, 1, ascii_rule, ascii, "The first byte's number."),
    FunctionDef::new("ORD", 1, 1, rules::int, ord, "The first character's bytes as a number."),
    FunctionDef::new("CHAR", 1, 1, char_rule, char_, "The bytes of the numbers.")
        .variadic()
        .sees_null()
        .takes_numbers(),
    FunctionDef::new("QUOTE", 1, 1, quote_rule, quote, "Text as a literal of SQL.").made_of(|_| true).sees_null(),
    FunctionDef::new("SOUNDEX", 1, 1, soundex_rule, soundex, "A text's sound.").made_of(|_| true),
];

#[cfg(test)]
mod tests {
    use crate::testing::{Evaluator, check, check_in, check_types};

    #[test]
    fn parts() {
        check(&[
            ("CONCAT('a', 1, 2.50, NULL)", "NULL"),
            ("CONCAT('a', 1, 2.50, 1e20, DATE'2024-01-02')", "a12.501e202024-01-02"),
            ("CONCAT(x'FF', 'a')", "FF61"),
            ("CONCAT(PI())", "3.141593"),
            ("CONCAT_WS(',', 'a', NULL, '', 'b')", "a,,b"),
            ("CONCAT_WS(NULL, 'a')", "NULL"),
            ("CONCAT_WS(',', NULL)", ""),
            ("LENGTH('äb')", "3"),
            ("CHAR_LENGTH('äb😀')", "3"),
            ("BIT_LENGTH('ab')", "16"),
            ("LENGTH(123.40)", "6"),
            ("CHAR_LENGTH(x'C3A4')", "2"),
            ("UPPER('straße äß ÿ')", "STRAßE Äß Ÿ"),
            ("LCASE('ABCÄ')", "abcä"),
            ("UPPER(BINARY 'ab')", "ab"),
            ("REVERSE('abcä😀')", "😀äcba"),
            ("REVERSE('')", ""),
            ("SUBSTRING('Quadratically', 5)", "ratically"),
            ("SUBSTRING('foobarbar' FROM 4)", "barbar"),
            ("SUBSTRING('Quadratically', 5, 6)", "ratica"),
            ("SUBSTRING('Sakila', -3)", "ila"),
            ("SUBSTRING('Sakila', -5, 3)", "aki"),
            ("SUBSTRING('Sakila' FROM -4 FOR 2)", "ki"),
            ("SUBSTRING('abc', 0)", ""),
            ("SUBSTRING('abc', -4, 2)", ""),
            ("SUBSTRING('abc', 2, 0)", ""),
            ("SUBSTRING('abc', 2, -1)", ""),
            ("SUBSTRING('abc', 4)", ""),
            ("SUBSTR('abc', 1, 18446744073709551615)", "abc"),
            ("SUBSTR('abc', 18446744073709551615)", ""),
            ("SUBSTR('abc', -9223372036854775808)", ""),
            ("MID('äöü', 2, 1)", "ö"),
            ("LEFT('äöü', 2)", "äö"),
            ("LEFT('abc', -1)", ""),
            ("LEFT('abc', 1e30)", "abc !1292"),
            ("RIGHT('äöü', 2)", "öü"),
            ("RIGHT('äöü', 9)", "äöü"),
            ("RIGHT('äöü', 0)", ""),
            ("INSERT('Quadratic', 3, 4, 'What')", "QuWhattic"),
            ("INSERT('Quadratic', -1, 4, 'What')", "Quadratic"),
            ("INSERT('Quadratic', 3, 100, 'What')", "QuWhat"),
            ("INSERT('Quadratic', 3, -1, 'What')", "QuWhat"),
            ("INSERT('abc', 4, 0, 'd')", "abc"),
            ("INSERT('', 1, 0, 'd')", ""),
        ]);
    }

    #[test]
    fn ends() {
        check(&[
            ("TRIM('  bar   ')", "bar"),
            ("TRIM(LEADING 'x' FROM 'xxxbarxxx')", "barxxx"),
            ("TRIM(BOTH 'x' FROM 'xxxbarxxx')", "bar"),
            ("TRIM(TRAILING 'xyz' FROM 'barxxyz')", "barx"),
            ("TRIM('' FROM 'a')", "a"),
            ("TRIM('X' FROM 'xax')", "xax"),
            ("TRIM('aba' FROM 'ababa')", "ba"),
            ("LTRIM('  a ')", "a "),
            ("RTRIM('  a ')", "  a"),
            ("LTRIM('\\ta')", "\ta"),
            ("LPAD('hi', 4, '??')", "??hi"),
            ("LPAD('hi', 1, '??')", "h"),
            ("LPAD('hi', 7, 'xyz')", "xyzxyhi"),
            ("RPAD('hi', 7, 'äö')", "hiäöäöä"),
            ("LPAD('a', 5, '')", "a"),
            ("LPAD('a', 0, '')", ""),
            ("LPAD('a', -1, 'x')", "NULL"),
            ("LPAD('a', 9223372036854775807, 'x')", "NULL !1301"),
            ("RPAD('a', 18446744073709551615, 'x')", "NULL !1301"),
            ("REPEAT('MySQL', 3)", "MySQLMySQLMySQL"),
            ("REPEAT('x', 0)", ""),
            ("REPEAT('x', -5)", ""),
            ("REPEAT('x', 1000000000000)", "NULL !1301"),
            ("REPEAT('', 1000000000000)", ""),
            ("LENGTH(REPEAT('x', 1048576))", "1048576"),
            ("LENGTH(REPEAT('x', 1048577))", "NULL !1301"),
            ("CONCAT(REPEAT('x', 1048576), 'y')", "NULL !1301"),
            ("LENGTH(SPACE(6))", "6"),
            ("SPACE(-1)", ""),
            ("SPACE(4294967296)", "NULL !1301"),
        ]);
        let mut strict = Evaluator { strict: true, ..Evaluator::default() };
        check_in(&mut strict, &[("REPEAT('x', 1e9)", "ERROR 1301")]);
    }

    #[test]
    fn codes() {
        check(&[
            ("ASCII('dx')", "100"),
            ("ASCII('')", "0"),
            ("ASCII(2)", "50"),
            ("ASCII('ä')", "195"),
            ("ORD('ä')", "50084"),
            ("ORD('😀')", "4036991104"),
            ("ORD(_latin1 x'E4')", "228"),
            ("ORD('')", "0"),
            ("CHAR(77,121,83,81,'76')", "MySQL"),
            ("CHAR(77,NULL,77.3,'77.3')", "MMM !1292"),
            ("CHAR(0x0100)", "\u{1}\0"),
            ("HEX(CHAR(256*256))", "010000"),
            ("HEX(CHAR(0))", "00"),
            ("HEX(CHAR(-1))", "FFFFFFFF"),
            ("QUOTE('Don\\'t!')", "'Don\\'t!'"),
            ("QUOTE(NULL)", "NULL"),
            ("QUOTE(CONCAT('a', CHAR(0), '\\\\'))", "'a\\0\\\\'"),
            ("SOUNDEX('Hello')", "H400"),
            ("SOUNDEX('Quadratically')", "Q36324"),
            ("SOUNDEX('')", ""),
            ("SOUNDEX('12a')", "A000"),
            ("SOUNDEX('😀x')", "😀200"),
            ("SOUNDEX('bcb')", "B210"),
            ("SOUNDEX('bab')", "B000"),
            ("SOUNDEX('äbc')", "ä120"),
        ]);
    }

    #[test]
    fn types() {
        check_types(&[
            ("CONCAT('ab', 1)", "varchar(4) not null"),
            ("CONCAT('ab', NULL)", "varchar(2)"),
            ("CONCAT(x'00', 'a')", "varbinary(5) not null"),
            ("LENGTH('a')", "bigint(11)"),
            ("SUBSTRING('abcdef', 3)", "varchar(4) not null"),
            ("SUBSTRING('abcdef', -3, 2)", "varchar(2) not null"),
            ("LEFT('abcdef', 2)", "varchar(2) not null"),
            ("REPEAT('ab', 3)", "varchar(6)"),
            ("REPEAT('ab', 100000)", "mediumtext"),
            ("REPEAT('ab', RAND())", "longtext"),
            ("LPAD('a', 5, 'b')", "varchar(5)"),
            ("CHAR(1, 2)", "varbinary(8) not null"),
            ("QUOTE('ab')", "varchar(6) not null"),
            ("CONCAT('a' COLLATE utf8mb4_bin, 'b' COLLATE utf8mb4_general_ci)", "ERROR 1267"),
        ]);
    }
}
