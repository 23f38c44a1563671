//! Strings: searching, replacing, lists of texts, bits as texts.

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext},
    rules::{self, arg_text, chars_in, collation_of, count_arg, result_collation, string, text_of, text_type},
};
use gannet_types::{
    Collation, CollationId, Decimal, Result, SqlType, TypeId, Value,
    convert::{self, arith::Domain},
};
use std::borrow::Cow;
use std::sync::OnceLock;

/// Work, in windows and eighths of their bytes, between two looks at the kill flag.
const INTERRUPT_EVERY: usize = 1 << 14;

/// How many characters more or fewer than what is looked for a window has: one letter may be equal to several, and
/// marks behind a letter to one with the mark.
const WINDOW_MARGIN: usize = 16;

/// Byte offset of the first occurrence of `what` in `text` that starts at or behind `from`; a match is a run of
/// characters that the collation holds for equal.
fn find(cx: &EvalContext<'_>, collation: CollationId, text: &[u8], what: &[u8], from: usize) -> Result<Option<usize>> {
    let info = collation.get();
    if info.is_bytes() && !info.charset.is_multi() {
        return Ok(memchr::memmem::find(&text[from..], what).map(|at| at + from));
    }
    if info.is_bytes() {
        return Ok(info.charset.occurrences(&text[from..], what).next().map(|at| at + from));
    }
    if !info.charset.is_wide()
        && is_plain(text)
        && is_plain(what)
        && let Some(classes) = ascii_classes(collation)
    {
        let class = |b: &u8| classes[usize::from(*b)];
        let text: Vec<u8> = text[from..].iter().map(class).collect();
        let what: Vec<u8> = what.iter().map(class).collect();
        return Ok(memchr::memmem::find(&text, &what).map(|at| at + from));
    }
    if info.has_elements() {
        return find_elements(cx, info, text, what, from);
    }
    let charset = info.charset;
    let chars = charset.char_count(what);
    // Under PAD SPACE a shorter text may be equal for the spaces that it lacks.
    let spaced = what.last() == Some(&b' ');
    let fewer = if spaced { 0 } else { WINDOW_MARGIN.min(chars / 2) };
    let first_weights = |text: &[u8], out: &mut Vec<u8>| {
        out.clear();
        info.weights(&text[..charset.char_len(text).min(text.len())], out);
        out.truncate(2);
    };
    let (mut wanted, mut met) = (Vec::new(), Vec::new());
    first_weights(what, &mut wanted);
    let mut at = from;
    let mut work = 0;
    while at < text.len() {
        let rest = &text[at..];
        let window = &rest[..charset.prefix_len(rest, chars)];
        if spaced && window.len() == rest.len() && charset.char_count(rest) < chars {
            return Ok(None);
        }
        if info.equal(window, what) {
            return Ok(Some(at));
        }
        first_weights(rest, &mut met);
        if met.is_empty() || wanted.is_empty() || met == wanted {
            let mut end = charset.prefix_len(rest, chars - fewer);
            for _ in 0..=fewer + WINDOW_MARGIN.min(chars + 2) {
                if info.equal(&rest[..end], what) {
                    return Ok(Some(at));
                }
                if end == rest.len() {
                    break;
                }
                end = (end + charset.char_len(&rest[end..])).min(rest.len());
            }
            work += 2 * WINDOW_MARGIN;
        }
        at += charset.char_len(rest);
        work += 1 + what.len() / 8;
        if work >= INTERRUPT_EVERY {
            work = 0;
            rules::check_interrupt(cx)?;
        }
    }
    Ok(None)
}

/// Characters of the longest letter: the Hungarian `ddzs`.
const LONGEST_LETTER: usize = 4;

/// The same where a letter may have several weights, as `ß`, or several letters one: `what` is found where its weights
/// are those that the rest of the text begins with, so that a part of such a letter is found, too.
fn find_elements(
    cx: &EvalContext<'_>,
    collation: &Collation,
    text: &[u8],
    what: &[u8],
    from: usize,
) -> Result<Option<usize>> {
    let charset = collation.charset;
    let chars = charset.char_count(what);
    let (mut wanted, mut met) = (Vec::new(), Vec::new());
    collation.weights(what, &mut wanted);
    let first = |weights: &[u8]| levels(weights).next().and_then(|level| level.first().copied());
    let begins_with = first(&wanted);
    let (mut at, mut work) = (from, 0);
    while at < text.len() {
        let rest = &text[at..];
        met.clear();
        collation.weights(&rest[..charset.prefix_len(rest, LONGEST_LETTER)], &mut met);
        let may_be = begins_with.is_none() || first(&met).is_none_or(|met| Some(met) == begins_with);
        if may_be {
            met.clear();
            let window = &rest[..charset.prefix_len(rest, chars + WINDOW_MARGIN.min(chars + 2))];
            collation.weights(window, &mut met);
            if begins(&met, &wanted) {
                return Ok(Some(at));
            }
            work += window.len();
        }
        at += charset.char_len(rest);
        work += 1 + LONGEST_LETTER;
        if work >= INTERRUPT_EVERY {
            work = 0;
            rules::check_interrupt(cx)?;
        }
    }
    Ok(None)
}

/// Weights of two bytes, by levels, which 0000 divides.
fn levels(weights: &[u8]) -> impl Iterator<Item = &[[u8; 2]]> {
    weights.as_chunks::<2>().0.split(|w| *w == [0, 0])
}

/// Each level begins with that of the other one.
fn begins(weights: &[u8], with: &[u8]) -> bool {
    levels(weights).zip(levels(with)).all(|(own, other)| own.starts_with(other))
}

/// ASCII without control characters, which count for nothing in some collations.
fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|b| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~'))
}

/// For each ASCII character the first one that is equal to it. `None` where one of those in plain texts counts for
/// nothing: then a window has to be compared as a whole.
fn ascii_classes(collation: CollationId) -> Option<&'static [u8; 128]> {
    type Slot = OnceLock<Option<Box<[u8; 128]>>>;
    static CLASSES: [Slot; 512] = [const { OnceLock::new() }; 512];
    let make = || {
        let info = collation.get();
        let mut classes = Box::new([0; 128]);
        for c in 0..128u8 {
            if is_plain(&[c]) && info.equal(&[b'x', c, b'x'], b"xx") {
                return None;
            }
            let first = (0..c).find(|d| info.equal(&[*d, b'x'], &[c, b'x']));
            classes[usize::from(c)] = first.unwrap_or(c);
        }
        // Two letters that are one.
        let is_one = |a: u8, b: u8| {
            let mut weights = Vec::new();
            info.weights(&[a, b], &mut weights);
            info.has_elements() && levels(&weights).next().is_some_and(|first| first.len() == 1)
        };
        if (b'a'..=b'z').any(|a| (b'a'..=b'z').any(|b| is_one(a, b))) {
            return None;
        }
        Some(classes)
    };
    let slot = CLASSES.get(usize::from(collation.0))?;
    slot.get_or_init(make).as_deref()
}

/// All texts in the character set in which they compare.
fn compared(call: Call<'_>, args: &[Value], indexes: &[usize]) -> Result<(CollationId, Vec<Vec<u8>>)> {
    let types: Vec<SqlType> = indexes.iter().map(|i| call.args[*i].clone()).collect();
    let collation = collation_of(&types);
    let text = |i: &usize| Ok(text_of(&args[*i], &call.args[*i], collation.charset())?.into_owned());
    Ok((collation, indexes.iter().map(text).collect::<Result<_>>()?))
}

fn locate_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    rules::common_collation(cx, &args[..2], "locate")?;
    Ok(rules::int_of(11, rules::nullable(args)))
}

/// One-based character position of `what` in `text`, from a position on.
fn position(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
    what: usize,
    text: usize,
    start: i64,
) -> Result<Value> {
    let (collation, texts) = compared(call, args, &[what, text])?;
    let (what, text) = (&texts[0], &texts[1]);
    let charset = collation.charset();
    let Ok(start) = usize::try_from(start - 1) else { return Ok(Value::Int(0)) };
    if start > charset.char_count(text) {
        return Ok(Value::Int(0));
    }
    let from = charset.prefix_len(text, start);
    if what.is_empty() {
        return Ok(Value::Int(start as i64 + 1));
    }
    let found = find(cx, collation, text, what, from)?;
    Ok(Value::Int(found.map_or(0, |at| charset.char_count(&text[..at]) as i64 + 1)))
}

fn locate(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let start = match args.get(2) {
        Some(start) => count_arg(cx, start)?,
        None => 1,
    };
    if start < 1 {
        return Ok(Value::Int(0));
    }
    position(cx, call, args, 0, 1, start)
}

fn instr(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    position(cx, call, args, 1, 0, 1)
}

fn strcmp_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    rules::common_collation(cx, args, "strcmp")?;
    Ok(rules::int_of(2, rules::nullable(args)))
}

fn strcmp(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let (collation, texts) = compared(call, args, &[0, 1])?;
    match collation.get().compare_until(&texts[0], &texts[1], cx.stopped) {
        Some(order) => Ok(Value::Int(order as i64)),
        None => Err(gannet_types::sql_err!(QueryInterrupted)),
    }
}

fn replace_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = rules::common_collation(cx, args, "replace")?;
    let [all, from, to] = [0, 1, 2].map(|i| chars_in(args[i].ty, collation));
    let grows = all.checked_div(from).map_or(0, |times| times.saturating_mul(to.saturating_sub(from)));
    // A shorter text than the type allows may be looked for, and found more often.
    let most = if to > 1 { all.saturating_mul(to) } else { all };
    let chars = if args[1].constant.is_some() { all.saturating_add(grows) } else { most };
    Ok(text_type(chars, collation, rules::nullable(args)))
}

/// How many there are, asking for an interrupt now and then.
fn count_of(cx: &EvalContext<'_>, found: impl Iterator<Item = usize>) -> Result<usize> {
    let mut count = 0;
    for _ in found {
        count += 1;
        if count % INTERRUPT_EVERY == 0 {
            rules::check_interrupt(cx)?;
        }
    }
    Ok(count)
}

/// Occurrences compare byte by byte, whatever the collation.
fn replace(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let (text, from, to) = (arg_text(call, args, 0)?, arg_text(call, args, 1)?, arg_text(call, args, 2)?);
    if from.is_empty() {
        return Ok(string(call, &text[..]));
    }
    let charset = call.ty.collation.charset();
    let count = count_of(cx, charset.occurrences(&text, &from))? as u64;
    if count == 0 {
        return Ok(string(call, &text[..]));
    }
    let length = text.len() as u64 + count * to.len() as u64 - count * from.len() as u64;
    if !rules::fits(cx, length) {
        return rules::too_long(cx, "replace");
    }
    let mut out = Vec::with_capacity(length as usize);
    let mut done = 0;
    for (i, at) in charset.occurrences(&text, &from).enumerate() {
        out.extend_from_slice(&text[done..at]);
        out.extend_from_slice(&to);
        done = at + from.len();
        if i % INTERRUPT_EVERY == INTERRUPT_EVERY - 1 {
            rules::check_interrupt(cx)?;
        }
    }
    out.extend_from_slice(&text[done..]);
    Ok(string(call, out))
}

fn substring_index_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = rules::common_collation(cx, &args[..2], "substring_index")?;
    Ok(text_type(chars_in(args[0].ty, collation), collation, rules::nullable(args)))
}

fn substring_index(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let (text, delimiter) = (arg_text(call, args, 0)?, arg_text(call, args, 1)?);
    let count = count_arg(cx, &args[2])?;
    if count == 0 || delimiter.is_empty() {
        return Ok(string(call, &b""[..]));
    }
    let charset = call.ty.collation.charset();
    let nth = usize::try_from(count.unsigned_abs() - 1).unwrap_or(usize::MAX);
    let part = if count > 0 {
        let at = charset.occurrences(&text, &delimiter).nth(nth);
        &text[..at.unwrap_or(text.len())]
    } else {
        // Occurrences of texts that overlap themselves are counted from the front in multi-byte character sets.
        let at = if charset.is_single_byte() {
            memchr::memmem::rfind_iter(&text, &delimiter).nth(nth)
        } else {
            let count = count_of(cx, charset.occurrences(&text, &delimiter))?;
            let skipped = count.checked_sub(nth.saturating_add(1));
            skipped.and_then(|n| charset.occurrences(&text, &delimiter).nth(n))
        };
        &text[at.map_or(0, |at| at + delimiter.len())..]
    };
    Ok(string(call, part))
}

fn field_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    if args.iter().all(|a| is_stringy(a.ty)) {
        rules::common_collation(cx, args, "field")?;
    }
    Ok(rules::int_of(3, false))
}

/// Dates compare as texts here, as texts do.
fn is_stringy(ty: &SqlType) -> bool {
    ty.is_text() || ty.id.is_string() || ty.id.is_temporal() || ty.id == TypeId::Null
}

fn field(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Int(0));
    }
    let types = call.args;
    let found = if types.iter().all(is_stringy) {
        let all: Vec<usize> = (0..args.len()).collect();
        let (collation, texts) = compared(call, args, &all)?;
        (1..args.len()).find(|i| !args[*i].is_null() && collation.get().equal(&texts[0], &texts[*i]))
    } else if types.iter().any(|t| t.id == TypeId::Double || t.id == TypeId::Float || is_stringy(t)) {
        let wanted = rules::double_arg(cx, &args[0])?;
        first_equal(cx, args, wanted, rules::double_arg)?
    } else if types.iter().any(|t| t.id == TypeId::Decimal) {
        let to_decimal = |cx: &mut EvalContext<'_>, v: &Value| convert::to_decimal(v.as_ref(), &mut cx.conversion());
        let wanted: Decimal = to_decimal(cx, &args[0])?;
        first_equal(cx, args, wanted, to_decimal)?
    } else {
        let wanted = rules::int_arg(cx, &args[0])?;
        first_equal(cx, args, wanted, rules::int_arg)?
    };
    Ok(Value::Int(found.unwrap_or(0) as i64))
}

fn first_equal<T: PartialEq>(
    cx: &mut EvalContext<'_>,
    args: &[Value],
    wanted: T,
    read: impl Fn(&mut EvalContext<'_>, &Value) -> Result<T>,
) -> Result<Option<usize>> {
    for (i, arg) in args.iter().enumerate().skip(1) {
        if !arg.is_null() && read(cx, arg)? == wanted {
            return Ok(Some(i));
        }
    }
    Ok(None)
}

fn elt_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = result_collation(cx, &args[1..], "elt")?;
    let chars = args[1..].iter().map(|a| chars_in(a.ty, collation)).max().unwrap_or(0);
    Ok(text_type(chars, collation, true))
}

fn elt(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let n = count_arg(cx, &args[0])?;
    match usize::try_from(n).ok().filter(|n| (1..args.len()).contains(n)) {
        Some(n) if !args[n].is_null() => Ok(string(call, arg_text(call, args, n)?.into_owned())),
        _ => Ok(Value::Null),
    }
}

fn find_in_set_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    rules::common_collation(cx, args, "find_in_set")?;
    Ok(rules::int_of(3, rules::nullable(args)))
}

fn find_in_set(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let (collation, texts) = compared(call, args, &[0, 1])?;
    let (what, list) = (&texts[0], &texts[1]);
    if list.is_empty() {
        return Ok(Value::Int(0));
    }
    // Spaces at the end count.
    let spaces = |text: &[u8]| text.iter().rev().take_while(|b| **b == b' ').count();
    let same = |item: &[u8]| collation.get().equal(item, what) && spaces(item) == spaces(what);
    for (i, item) in list.split(|b| *b == b',').enumerate() {
        if i % INTERRUPT_EVERY == INTERRUPT_EVERY - 1 {
            rules::check_interrupt(cx)?;
        }
        if same(item) {
            return Ok(Value::Int(i as i64 + 1));
        }
    }
    Ok(Value::Int(0))
}

fn make_set_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let collation = result_collation(cx, &args[1..], "make_set")?;
    let chars = args[1..].iter().fold(args.len() as u64 - 2, |sum, a| sum.saturating_add(chars_in(a.ty, collation)));
    Ok(text_type(chars, collation, args[0].ty.nullable))
}

fn make_set(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let bits = convert::to_u64(args[0].as_ref(), &mut cx.conversion())?;
    let chosen = (1..args.len().min(65)).filter(|i| bits >> (i - 1) & 1 == 1 && !args[*i].is_null());
    let parts = chosen.map(|i| arg_text(call, args, i)).collect::<Result<Vec<Cow<'_, [u8]>>>>()?;
    if !rules::fits(cx, parts.iter().map(|p| p.len() as u64 + 1).sum()) {
        return rules::too_long(cx, "make_set");
    }
    Ok(string(call, parts.join(&call.ty.collation.charset().ascii(b",")[..])))
}

fn export_set_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let texts = &args[1..args.len().min(4)];
    let collation = result_collation(cx, texts, "export_set")?;
    let word = chars_in(args[1].ty, collation).max(chars_in(args[2].ty, collation));
    let separator = args.get(3).map_or(1, |a| chars_in(a.ty, collation));
    Ok(text_type(
        word.saturating_mul(64).saturating_add(separator.saturating_mul(63)),
        collation,
        rules::nullable(args),
    ))
}

fn export_set(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let bits = convert::to_u64(args[0].as_ref(), &mut cx.conversion())?;
    let (on, off) = (arg_text(call, args, 1)?, arg_text(call, args, 2)?);
    let separator = if args.len() > 3 { arg_text(call, args, 3)? } else { call.ty.collation.charset().ascii(b",") };
    let count = match args.get(4) {
        Some(n) => count_arg(cx, n)?,
        None => 64,
    };
    let count = if (0..=64).contains(&count) { count as usize } else { 64 };
    let bytes = on.len().max(off.len()) as u64 * count as u64 + separator.len() as u64 * 63;
    if !rules::fits(cx, bytes) {
        return rules::too_long(cx, "export_set");
    }
    let words: Vec<&[u8]> = (0..count).map(|i| if bits >> i & 1 == 1 { &on[..] } else { &off[..] }).collect();
    Ok(string(call, words.join(&separator[..])))
}

fn interval_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::int_of(2, false))
}

/// How many of the later arguments, from the front on, are not above the first.
fn interval(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Int(-1));
    }
    let domain = |t: &SqlType| convert::arith::numeric_domain(t);
    let exact = call.args.iter().all(|t| domain(t) != Domain::Double);
    let mut below = 0;
    if exact {
        let wanted = convert::to_decimal(args[0].as_ref(), &mut cx.conversion())?;
        for arg in &args[1..] {
            if !arg.is_null() && convert::to_decimal(arg.as_ref(), &mut cx.conversion())? > wanted {
                break;
            }
            below += 1;
        }
    } else {
        let wanted = rules::double_arg(cx, &args[0])?;
        for arg in &args[1..] {
            if !arg.is_null() && rules::double_arg(cx, arg)? > wanted {
                break;
            }
            below += 1;
        }
    }
    Ok(Value::Int(below))
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new(
        "LOCATE",
        2,
        3,
        locate_rule,
        locate,
        "Position of the first text in the second, from a position on; 0 if it is not there.",
    )
    .numbers_at(&[2]),
    FunctionDef::new("INSTR", 2, 2, locate_rule, instr, "Position of the second text in the first."),
    FunctionDef::new(
        "STRCMP",
        2,
        2,
        strcmp_rule,
        strcmp,
        "-1, 0 or 1, as the first text is below, equal to or above the second.",
    ),
    FunctionDef::new(
        "REPLACE",
        3,
        3,
        replace_rule,
        replace,
        "Text in which all occurrences of the second are replaced by the third.",
    )
    .made_of(|_| true),
    FunctionDef::new(
        "SUBSTRING_INDEX",
        3,
        3,
        substring_index_rule,
        substring_index,
        "What stands before the n-th delimiter (negative: behind it, counted from the end).",
    )
    .numbers_at(&[2])
    .made_of(|i| i < 2),
    FunctionDef::new("FIELD", 2, 2, field_rule, field, "Which of the later arguments equals the first; 0 if none.")
        .variadic()
        .sees_null(),
    FunctionDef::new("ELT", 2, 2, elt_rule, elt, "The n-th of the later arguments.")
        .numbers_at(&[0])
        .made_of(|i| i > 0)
        .variadic()
        .sees_null(),
    FunctionDef::new("FIND_IN_SET", 2, 2, find_in_set_rule, find_in_set, "Position of a text in a list with commas."),
    FunctionDef::new(
        "MAKE_SET",
        2,
        2,
        make_set_rule,
        make_set,
        "The arguments whose bits are set, as a list with commas.",
    )
    .numbers_at(&[0])
    .made_of(|i| i > 0)
    .variadic()
    .sees_null(),
    FunctionDef::new("EXPORT_SET", 3, 5, export_set_rule, export_set, "One of two texts for each bit, lowest first.")
        .numbers_at(&[0, 4])
        .made_of(|i| matches!(i, 1..=3)),
    FunctionDef::new(
        "INTERVAL",
        2,
        2,
        interval_rule,
        interval,
        "How many of the later arguments, in ascending order, are not above the first.",
    )
    .variadic()
    .takes_numbers()
    .sees_null(),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn positions() {
        check(&[
            ("LOCATE('bar', 'foobarbar')", "4"),
            ("LOCATE('xbar', 'foobar')", "0"),
            ("LOCATE('bar', 'foobarbar', 5)", "7"),
            ("LOCATE('BAR', 'foobarbar')", "4"),
            ("LOCATE(BINARY 'BAR', 'foobarbar')", "0"),
            ("LOCATE('BAR' COLLATE utf8mb4_bin, 'foobarbar')", "0"),
            ("LOCATE('Ö', 'aäo')", "3"),
            ("LOCATE('Ö', 'aäö')", "3"),
            ("LOCATE('', 'abc')", "1"),
            ("LOCATE('', 'abc', 3)", "3"),
            ("LOCATE('', 'abc', 4)", "4"),
            ("LOCATE('', 'abc', 5)", "0"),
            ("LOCATE('', '')", "1"),
            ("LOCATE('a', 'abc', 0)", "0"),
            ("LOCATE('a', 'abc', -1)", "0"),
            ("LOCATE('a', 'abc', 9223372036854775807)", "0"),
            ("INSTR('foobarbar', 'bar')", "4"),
            ("INSTR('xyz', 'äöüäöü')", "0"),
            ("INSTR('中文字', '字')", "3"),
            ("POSITION('b' IN 'abc')", "2"),
            ("STRCMP('text', 'text2')", "-1"),
            ("STRCMP('text2', 'text')", "1"),
            ("STRCMP('Text', 'text')", "0"),
            ("STRCMP('a ', 'a')", "1"),
            ("STRCMP(_utf8mb4'a ' COLLATE utf8mb4_general_ci, 'a')", "0"),
        ]);
    }

    #[test]
    fn replacements() {
        check(&[
            ("REPLACE('www.mysql.com', 'w', 'Ww')", "WwWwWw.mysql.com"),
            ("REPLACE('abc', 'B', 'x')", "abc"),
            ("REPLACE('aaa', 'aa', 'b')", "ba"),
            ("REPLACE('aaa', '', 'b')", "aaa"),
            ("REPLACE('aXa', 'X', '')", "aa"),
            ("REPLACE('äöä', 'ä', 'x')", "xöx"),
            ("LENGTH(REPLACE(REPEAT('a', 1000), 'a', REPEAT('b', 2000)))", "NULL !1301"),
            ("SUBSTRING_INDEX('www.mysql.com', '.', 2)", "www.mysql"),
            ("SUBSTRING_INDEX('www.mysql.com', '.', -2)", "mysql.com"),
            ("SUBSTRING_INDEX('www.mysql.com', '.', 9)", "www.mysql.com"),
            ("SUBSTRING_INDEX('www.mysql.com', '.', -9)", "www.mysql.com"),
            ("SUBSTRING_INDEX('www.mysql.com', '.', 0)", ""),
            ("SUBSTRING_INDEX('www.mysql.com', '', 1)", ""),
            ("SUBSTRING_INDEX('aXbxc', 'x', 1)", "aXb"),
            ("SUBSTRING_INDEX('aaa', 'aa', -1)", "a"),
            ("SUBSTRING_INDEX(BINARY 'aaa', 'aa', -1)", ""),
            ("SUBSTRING_INDEX('abc', 'b', -9223372036854775808)", "abc"),
        ]);
    }

    #[test]
    fn lists() {
        check(&[
            ("FIELD('Bb', 'Aa', 'bb', 'Cc')", "2"),
            ("FIELD('Gg', 'Aa', 'Bb')", "0"),
            ("FIELD(NULL, 'a', NULL)", "0"),
            ("FIELD('a', NULL, 'a')", "2"),
            ("FIELD(2, 1, 2, 3)", "2"),
            ("FIELD(1.0, 2, 1)", "2"),
            ("FIELD('1', 2, 1)", "2"),
            ("FIELD(3, '3.0', 3)", "1"),
            ("ELT(1, 'Aa', 'Bb')", "Aa"),
            ("ELT(3, 'Aa', 'Bb')", "NULL"),
            ("ELT(0, 'Aa')", "NULL"),
            ("ELT(2, 'Aa', 5)", "5"),
            ("ELT(NULL, 'Aa')", "NULL"),
            ("FIND_IN_SET('b', 'a,b,c,d')", "2"),
            ("FIND_IN_SET('B', 'a,b,c,d')", "2"),
            ("FIND_IN_SET('a,b', 'a,b')", "0"),
            ("FIND_IN_SET('', '')", "0"),
            ("FIND_IN_SET('', 'a,')", "2"),
            ("FIND_IN_SET('x', NULL)", "NULL"),
            ("MAKE_SET(1, 'a', 'b', 'c')", "a"),
            ("MAKE_SET(1 | 4, 'hello', 'nice', 'world')", "hello,world"),
            ("MAKE_SET(1 | 4, 'hello', 'nice', NULL, 'world')", "hello"),
            ("MAKE_SET(0, 'a')", ""),
            ("EXPORT_SET(5, 'Y', 'N', ',', 4)", "Y,N,Y,N"),
            ("EXPORT_SET(6, '1', '0', ',', 10)", "0,1,1,0,0,0,0,0,0,0"),
            ("EXPORT_SET(1, '1', '0', '', 65)", &format!("1{}", "0".repeat(63))),
            ("EXPORT_SET(1, '1', '0', '', 0)", ""),
            ("INTERVAL(23, 1, 15, 17, 30, 44, 200)", "3"),
            ("INTERVAL(10, 1, 10, 100, 1000)", "2"),
            ("INTERVAL(22, 23, 30, 44, 200)", "0"),
            ("INTERVAL(NULL, 1)", "-1"),
            ("INTERVAL(2, NULL, 3)", "1"),
            ("INTERVAL(1.5, '1', 1.4, 1.6)", "2"),
        ]);
    }
}
