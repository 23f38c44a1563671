//! Regular expressions: REGEXP_LIKE (and `REGEXP`, `RLIKE`), REGEXP_INSTR, REGEXP_REPLACE, REGEXP_SUBSTR.
//!
//! MySQL's syntax is ICU's. `translate` checks a pattern as ICU does, with ICU's errors, and rewrites it for
//! `fancy_regex`: an automaton where there are neither look-around nor back-references, and else a backtracking
//! matcher with a bound on its steps.

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext},
    regexp_syntax::{Flags, is_line_end, translate},
    rules::{self, collation_of, count_arg, string, text_type},
};
use fancy_regex::{Regex, RegexBuilder};
use gannet_types::{ErrorCode, Result, SqlError, SqlType, TypeId, Value, charset::Charset, room::Room, sql_err};

/// Steps of the backtracking matcher before error 3699.
const BACKTRACK_LIMIT: usize = 2_000_000;
/// Bytes of a compiled pattern: the least of these that suffices. Beyond the last: error 3700.
const COMPILED_BYTES: [usize; 3] = [64 << 10, 512 << 10, 4 << 20];
/// Bytes that its matcher may use besides, to remember states.
const CACHE_BYTES: usize = 1 << 20;
/// What reading a pattern takes for each byte of it.
const BYTES_OF_ONE: usize = 400;

/// The last pattern of a call, compiled.
struct Compiled {
    pattern: Vec<u8>,
    flags: Flags,
    regex: Regex,
}

/// The pattern, and what it holds at most.
fn compile(room: Room<'_>, pattern: &str, flags: Flags) -> Result<(Regex, usize)> {
    room.take(pattern.len().saturating_mul(BYTES_OF_ONE))?;
    let mut text = String::new();
    if flags.insensitive {
        text.push_str("(?i)");
    }
    text.push_str(&translate(pattern, flags)?);
    let build = |bytes: usize| {
        let mut builder = RegexBuilder::new(&text);
        builder.backtrack_limit(BACKTRACK_LIMIT).delegate_size_limit(bytes).delegate_dfa_size_limit(CACHE_BYTES);
        builder.build().map(|regex| (regex, bytes + CACHE_BYTES + text.len())).map_err(|e| compile_error(&e))
    };
    let [small, middle, large] = COMPILED_BYTES;
    for bytes in [small, middle] {
        match build(bytes) {
            Err(e) if e.code() == ErrorCode::RegexpPatternTooBig => {}
            built => return built,
        }
    }
    build(large)
}

#[cold]
fn compile_error(e: &fancy_regex::Error) -> SqlError {
    match e {
        fancy_regex::Error::ParseError(..) => sql_err!(RegexpRuleSyntax, 1, 1),
        fancy_regex::Error::CompileError(inner) => match &**inner {
            fancy_regex::CompileError::InnerError(e) if e.size_limit().is_some() => sql_err!(RegexpPatternTooBig),
            _ => sql_err!(RegexpUnimplemented),
        },
        _ => sql_err!(RegexpUnimplemented),
    }
}

#[cold]
fn run_error(_: fancy_regex::Error) -> SqlError {
    sql_err!(RegexpTimeOut)
}

/// Flags from the collation and the `match_type` argument.
fn flags(call: Call<'_>, match_type: Option<&Value>, name: &str) -> Result<Flags> {
    let collation = collation_of(&call.args[..2]);
    let insensitive = !collation.is_binary() && collation.get().name.ends_with("_ci");
    let mut flags = Flags { insensitive, multiline: false, dot_all: false, unix_lines: false, lines: false };
    for c in match_type.map(rules::bytes_of).iter().flat_map(|t| t.iter()) {
        match c {
            b'c' => flags.insensitive = false,
            b'i' => flags.insensitive = true,
            b'm' => flags.multiline = true,
            b'n' => flags.dot_all = true,
            b'u' => flags.unix_lines = true,
            _ => return Err(sql_err!(WrongArguments, name)),
        }
    }
    Ok(flags)
}

/// Text as UTF-8; what is none, by replacement characters.
fn utf8(call: Call<'_>, args: &[Value], i: usize) -> String {
    let from = rules::charset_of(&call.args[i]);
    let text = rules::own_text(call, args, i);
    if from == Charset::Binary {
        return match std::str::from_utf8(&text) {
            Ok(text) => text.to_owned(),
            Err(_) => Charset::Latin1.chars(&text).collect(),
        };
    }
    String::from_utf8_lossy(&from.convert(&text, Charset::Utf8mb4).bytes).into_owned()
}

/// Runs `f` with the call's compiled pattern.
fn with_regex<R>(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    pattern: &str,
    mut flags: Flags,
    subject: &str,
    f: impl FnOnce(&Regex) -> Result<R>,
) -> Result<R> {
    flags.lines = subject.contains(is_line_end);
    rules::check_interrupt(cx)?;
    if let Some(kept) = cx.states.get::<Compiled>(call)
        && kept.flags == flags
        && kept.pattern == pattern.as_bytes()
    {
        return f(&kept.regex);
    }
    let (regex, bytes) = compile(cx.room, pattern, flags)?;
    let outcome = f(&regex);
    cx.states.set(call, Compiled { pattern: pattern.as_bytes().to_vec(), flags, regex }, bytes);
    outcome
}

/// Text and VARBINARY do not go together, in either order; BINARY and BLOB go with text. Error 3995.
fn check_charsets(args: &[ArgInfo<'_>], name: &str) -> Result<()> {
    check_pairs(args, name, |a| a.ty.id == TypeId::VarBinary)
}

/// As [`check_charsets`], where something is replaced: what is made of bytes of any type is of bytes alone.
fn check_replacing(args: &[ArgInfo<'_>]) -> Result<()> {
    let bytes = args.first().is_some_and(|subject| subject.ty.id.is_binary_string());
    check_pairs(args, "regexp_replace", |a| a.ty.id == TypeId::VarBinary || bytes && a.ty.id.is_binary_string())
}

fn check_pairs(args: &[ArgInfo<'_>], name: &str, of_bytes: impl Fn(&ArgInfo<'_>) -> bool) -> Result<()> {
    let is_text = |a: &ArgInfo<'_>| a.ty.id.is_string() && !a.ty.collation.is_binary();
    let kinds = |a: &&ArgInfo<'_>| is_text(a) || of_bytes(a);
    let mut told = args.iter().filter(kinds);
    let Some(first) = told.next() else { return Ok(()) };
    match told.find(|a| is_text(a) != is_text(first)) {
        Some(other) => {
            let name_of = |a: &ArgInfo<'_>| a.ty.collation.get().name;
            Err(sql_err!(CharacterSetMismatch, name_of(first), name_of(other), name))
        }
        None => Ok(()),
    }
}

fn like_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    check_charsets(&args[..2], "regexp_like")?;
    rules::common_collation(cx, &args[..2], "regexp_like")?;
    Ok(SqlType { length: 1, nullable: true, ..SqlType::BIGINT })
}

fn regexp_like(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let (subject, pattern) = (utf8(call, args, 0), utf8(call, args, 1));
    let flags = flags(call, args.get(2), "regexp_like")?;
    let found = with_regex(cx, call, &pattern, flags, &subject, |re| re.is_match(&subject).map_err(run_error))?;
    Ok(Value::from(found))
}

/// Byte offset of a one-based character position. Error 3686 outside of the text (one behind it is inside).
fn offset(cx: &mut EvalContext<'_>, subject: &str, position: Option<&Value>) -> Result<usize> {
    let position = position.map_or(Ok(1), |p| count_arg(cx, p))?;
    let outside = || sql_err!(RegexpIndexOutofbounds);
    let n = position.checked_sub(1).and_then(|n| usize::try_from(n).ok()).ok_or_else(outside)?;
    match subject.char_indices().nth(n) {
        Some((at, _)) => Ok(at),
        None if subject.chars().count() == n => Ok(subject.len()),
        None => Err(outside()),
    }
}

/// The n-th match from an offset on.
fn nth_match(re: &Regex, subject: &str, mut from: usize, n: i64) -> Result<Option<(usize, usize)>> {
    let mut left = n.max(1);
    loop {
        let Some(found) = re.find_from_pos(subject, from).map_err(run_error)? else { return Ok(None) };
        left -= 1;
        if left == 0 {
            return Ok(Some((found.start(), found.end())));
        }
        from = found.end();
        if found.start() == found.end() {
            match subject[from..].chars().next() {
                Some(c) => from += c.len_utf8(),
                None => return Ok(None),
            }
        }
    }
}

fn instr_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    check_charsets(&args[..2], "regexp_instr")?;
    rules::common_collation(cx, &args[..2], "regexp_instr")?;
    Ok(rules::int_of(21, true))
}

fn regexp_instr(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let (subject, pattern) = (utf8(call, args, 0), utf8(call, args, 1));
    let flags = flags(call, args.get(5), "regexp_instr")?;
    let from = offset(cx, &subject, args.get(2))?;
    let nth = args.get(3).map_or(Ok(1), |n| count_arg(cx, n))?;
    let after = match args.get(4).map(|n| count_arg(cx, n)).transpose()? {
        None | Some(0) => false,
        Some(1) => true,
        Some(_) => {
            return Err(SqlError::with_message(
                gannet_types::ErrorCode::WrongArguments,
                "Incorrect arguments to regexp_instr: return_option must be 1 or 0.",
            ));
        }
    };
    let found = with_regex(cx, call, &pattern, flags, &subject, |re| nth_match(re, &subject, from, nth))?;
    let at = found.map(|(start, end)| subject[..if after { end } else { start }].chars().count() as i64 + 1);
    Ok(Value::Int(at.unwrap_or(0)))
}

fn substr_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    check_charsets(&args[..2], "regexp_substr")?;
    rules::common_collation(cx, &args[..2], "regexp_substr")?;
    let collation = rules::result_collation(cx, &args[..1], "regexp_substr")?;
    Ok(text_type(rules::chars_of(args[0].ty), collation, true))
}

/// Text for the result, which is UTF-8 here.
fn from_utf8(call: Call<'_>, text: &str) -> Result<Value> {
    let charset = call.ty.collation.charset();
    if charset == Charset::Binary {
        return Ok(string(call, text.as_bytes()));
    }
    Ok(string(call, &Charset::Utf8mb4.fit(text.as_bytes(), charset)?[..]))
}

fn regexp_substr(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let (subject, pattern) = (utf8(call, args, 0), utf8(call, args, 1));
    let flags = flags(call, args.get(4), "regexp_substr")?;
    let from = offset(cx, &subject, args.get(2))?;
    let nth = args.get(3).map_or(Ok(1), |n| count_arg(cx, n))?;
    let found = with_regex(cx, call, &pattern, flags, &subject, |re| nth_match(re, &subject, from, nth))?;
    found.map_or(Ok(Value::Null), |(start, end)| from_utf8(call, &subject[start..end]))
}

fn replace_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    check_replacing(&args[..3])?;
    rules::common_collation(cx, &args[..3], "regexp_replace")?;
    let collation = rules::result_collation(cx, &args[..1], "regexp_replace")?;
    let id = if collation.is_binary() { TypeId::LongBlob } else { TypeId::LongText };
    Ok(SqlType::new(id).with_collation(collation))
}

/// A piece of a replacement text.
enum Piece {
    Text(String),
    Group(usize),
    Name(String),
}

/// `$1`, `${name}`, `\x`. Errors 3686 (no such group) and 3888 (no group's name).
fn replacement(text: &str, re: &Regex) -> Result<Vec<Piece>> {
    let bad_name = || sql_err!(RegexpInvalidCaptureGroupName);
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.extend(chars.next()),
            '$' => {
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                match chars.next() {
                    Some(d) if d.is_ascii_digit() => {
                        let mut n = d as usize - '0' as usize;
                        if n >= re.captures_len() {
                            return Err(sql_err!(RegexpIndexOutofbounds));
                        }
                        while let Some(d) = chars.peek().and_then(|c| c.to_digit(10)) {
                            if n * 10 + d as usize >= re.captures_len() {
                                break;
                            }
                            n = n * 10 + d as usize;
                            chars.next();
                        }
                        pieces.push(Piece::Group(n));
                    }
                    Some('{') => {
                        let name: String = chars.by_ref().take_while(|c| *c != '}').collect();
                        if !re.capture_names().flatten().any(|n| n == name) {
                            return Err(bad_name());
                        }
                        pieces.push(Piece::Name(name));
                    }
                    _ => return Err(bad_name()),
                }
            }
            c => plain.push(c),
        }
    }
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}

fn replaced(re: &Regex, subject: &str, by: &str, from: usize, nth: i64, limit: u64) -> Result<Option<String>> {
    let mut out = String::from(&subject[..from]);
    let (mut copied, mut at, mut count) = (from, from, 0);
    let mut pieces = None;
    while at <= subject.len() {
        let Some(found) = re.captures_from_pos(subject, at).map_err(run_error)? else { break };
        let Some(whole) = found.get(0) else { break };
        count += 1;
        if nth <= 0 || count == nth {
            let pieces = match &pieces {
                Some(pieces) => pieces,
                None => pieces.insert(replacement(by, re)?),
            };
            out.push_str(&subject[copied..whole.start()]);
            for piece in pieces {
                match piece {
                    Piece::Text(text) => out.push_str(text),
                    Piece::Group(n) => out.push_str(found.get(*n).map_or("", |m| m.as_str())),
                    Piece::Name(name) => out.push_str(found.name(name).map_or("", |m| m.as_str())),
                }
            }
            copied = whole.end();
            if out.len() as u64 > limit {
                return Ok(None);
            }
            if count == nth {
                break;
            }
        }
        at = whole.end();
        if whole.start() == whole.end() {
            match subject[at..].chars().next() {
                Some(c) => at += c.len_utf8(),
                None => break,
            }
        }
    }
    out.push_str(&subject[copied..]);
    Ok((out.len() as u64 <= limit).then_some(out))
}

fn regexp_replace(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let (subject, pattern, by) = (utf8(call, args, 0), utf8(call, args, 1), utf8(call, args, 2));
    let flags = flags(call, args.get(5), "regexp_replace")?;
    let from = offset(cx, &subject, args.get(3))?;
    let nth = args.get(4).map_or(Ok(0), |n| count_arg(cx, n))?;
    if nth < 0 {
        return Err(sql_err!(WrongArguments, "regexp_replace"));
    }
    let limit = cx.max_allowed_packet;
    let done = with_regex(cx, call, &pattern, flags, &subject, |re| replaced(re, &subject, &by, from, nth, limit))?;
    match done {
        Some(text) => from_utf8(call, &text),
        None => Err(sql_err!(RegexpBufferOverflow)),
    }
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("REGEXP_LIKE", 2, 3, like_rule, regexp_like, "Does a text match a regular expression?"),
    FunctionDef::new("REGEXP_INSTR", 2, 6, instr_rule, regexp_instr, "Position of a match.").numbers_at(&[2, 3, 4]),
    FunctionDef::new("REGEXP_SUBSTR", 2, 5, substr_rule, regexp_substr, "Text of a match.")
        .numbers_at(&[2, 3])
        .made_of(|i| i < 2),
    FunctionDef::new("REGEXP_REPLACE", 3, 6, replace_rule, regexp_replace, "A text with its matches replaced.")
        .numbers_at(&[3, 4])
        .made_of(|i| i < 3),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn patterns() {
        check(&[
            ("REGEXP_LIKE('abc', 'B')", "1"),
            ("REGEXP_LIKE('abc', 'B', 'c')", "0"),
            // Larger compiled than the least bound.
            ("REGEXP_LIKE('foobar1234baz', 'foo\\\\w*\\\\d{4}baz')", "1"),
            ("REGEXP_LIKE('a', '(\\\\w{200}){200}')", "ERROR 3700"),
            ("REGEXP_LIKE('abc', BINARY 'b')", "ERROR 3995"),
            ("'Michael!' REGEXP '.*'", "1"),
            ("'new*\\n*line' REGEXP 'new\\\\*.\\\\*line'", "0"),
            ("REGEXP_LIKE('a\\nb', 'a.b', 'n')", "1"),
            ("REGEXP_LIKE('abc\\n', 'abc$')", "1"),
            ("REGEXP_LIKE('x\\nabc\\ny', '^abc$')", "0"),
            ("REGEXP_LIKE('x\\nabc\\ny', '^abc$', 'm')", "1"),
            ("'a' REGEXP '^[a-d]'", "1"),
            ("REGEXP_LIKE('aa', '(a)\\\\1')", "1"),
            ("REGEXP_LIKE('-', 'a[b-a]')", "ERROR 3697"),
            ("REGEXP_LIKE('-', 'a[]b')", "ERROR 3696"),
            ("REGEXP_LIKE('a]b', 'a[]]b')", "1"),
            ("REGEXP_LIKE('-', '*a')", "ERROR 3688"),
            ("REGEXP_LIKE('-', '(*)b')", "ERROR 3688"),
            ("REGEXP_LIKE('-', 'a\\\\')", "ERROR 3689"),
            ("REGEXP_LIKE('-', '(abc')", "ERROR 3691"),
            ("REGEXP_LIKE('-', 'abc)')", "ERROR 3691"),
            ("REGEXP_LIKE('-', '\\\\1')", "ERROR 3694"),
            ("REGEXP_LIKE('-', 'a{2,1}')", "ERROR 3693"),
            ("REGEXP_LIKE('-', 'a{x}')", "ERROR 3692"),
            ("REGEXP_LIKE('-', '')", "ERROR 3685"),
            ("REGEXP_LIKE('a', '(?(1)a|b)')", "ERROR 3690"),
            ("REGEXP_LIKE('a', '(?<=b*)a')", "ERROR 3695"),
            ("REGEXP_LIKE('a', 'a', 'x')", "ERROR 1210"),
            ("REGEXP_LIKE('aXb', 'a(?i)x(?-i)b')", "1"),
            ("REGEXP_LIKE('aB', '(?-i:a)(?-i:b)')", "0"),
            // A setting ends with its group, and holds for all alternatives in it that follow.
            ("REGEXP_LIKE('aB', '((?-i)a)b')", "1"),
            ("REGEXP_LIKE('AB', '((?-i)a)b')", "0"),
            ("REGEXP_LIKE('C', '(?-i)a|c')", "0"),
            ("REGEXP_LIKE('C', 'x(?-i)a|(?i)c')", "1"),
            ("REGEXP_LIKE('aBaBC', '(?:a(?-i)B){2}c')", "1"),
            ("REGEXP_SUBSTR('xAbAB', '(?-i)A(?i)b|(?-i)$')", "Ab"),
            // A group within itself.
            ("REGEXP_LIKE('aaa', '(a\\\\1?){2}')", "ERROR 3690"),
            ("REGEXP_LIKE('aaa', '(?<g>b|a\\\\k<g>)+')", "ERROR 3690"),
            ("REGEXP_LIKE('aa', '(a)\\\\1')", "1"),
            ("REGEXP_LIKE('ab1', '^[[:alpha:]]+[[:digit:]]$')", "1"),
            ("REGEXP_LIKE(REPEAT('a', 50), '(a|aa)+(?<!x)\\\\1(?!a)b|(a|aa)+\\\\2[^a]')", "ERROR 3699"),
            ("REGEXP_LIKE(NULL, 'a')", "NULL"),
        ]);
    }

    #[test]
    fn positions_and_replacements() {
        check(&[
            ("REGEXP_INSTR('dog cat dog', 'dog')", "1"),
            ("REGEXP_INSTR('dog cat dog', 'dog', 2)", "9"),
            ("REGEXP_INSTR('dog cat dog', 'dog', 1, 2, 1)", "12"),
            ("REGEXP_INSTR('aa aaa aaaa', 'a{4}')", "8"),
            ("REGEXP_INSTR('a', 'a', 3)", "ERROR 3686"),
            ("REGEXP_INSTR('a', 'a', 0)", "ERROR 3686"),
            ("REGEXP_INSTR('a', 'a', 1, 1, 2)", "ERROR 1210"),
            ("REGEXP_SUBSTR('abc def ghi', '[a-z]+', 1, 3)", "ghi"),
            ("REGEXP_SUBSTR('abc', 'x')", "NULL"),
            ("REGEXP_REPLACE('a b c', 'b', 'X')", "a X c"),
            ("REGEXP_REPLACE('abc def ghi', '[a-z]+', 'X', 1, 3)", "abc def X"),
            ("REGEXP_REPLACE('abc', '(b)(c)', '$2$1\\\\$')", "acb$"),
            ("REGEXP_REPLACE('abc', 'x*', '-')", "-a-b-c-"),
            ("REGEXP_REPLACE('abc', 'b', '$1')", "ERROR 3686"),
            ("REGEXP_REPLACE('abc', 'b', '$x')", "ERROR 3887"),
        ]);
    }
}
