//! Functions which ask or act on the server: user-level locks, BENCHMARK, files, digests; and what a value's text is.

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, Kernel, RuleContext, Stability},
    rules::{self, int_of},
};
use gannet_types::{CollationId, Result, SqlType, TypeId, Value, sql_err};

fn lock_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(int_of(1, true))
}

fn used_lock_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType { length: 21, ..SqlType::bigint_unsigned() })
}

fn release_all_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType { length: 21, ..SqlType::bigint_unsigned() }.not_null())
}

fn get_lock(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let seconds = match &args[1] {
        Value::Null => 0.0,
        other => rules::double_arg(cx, other)?,
    };
    cx.session.server_function("GET_LOCK", &[args[0].clone(), Value::Double(seconds)])
}

macro_rules! asks_server {
    ($($eval:ident $name:literal;)*) => {$(
        fn $eval(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
            cx.session.server_function($name, args)
        }
    )*};
}

asks_server! {
    release_lock "RELEASE_LOCK";
    release_all_locks "RELEASE_ALL_LOCKS";
    is_free_lock "IS_FREE_LOCK";
    is_used_lock "IS_USED_LOCK";
    load_file "LOAD_FILE";
    statement_digest_text "STATEMENT_DIGEST_TEXT";
    ps_current_thread_id "PS_CURRENT_THREAD_ID";
    ps_thread_id "PS_THREAD_ID";
    current_role "CURRENT_ROLE";
    query_attribute "MYSQL_QUERY_ATTRIBUTE_STRING";
    roles_graphml "ROLES_GRAPHML";
}

/// The version of ICU whose regular expressions MySQL 8.4 has: their syntax is this server's.
fn icu_version(_: &mut EvalContext<'_>, call: Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(rules::string(call, "73.1"))
}

fn icu_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::varchar(60, CollationId::UTF8MB3_GENERAL_CI).not_null())
}

/// SHA-256 of the digest text, in hexadecimal.
fn statement_digest(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = cx.session.server_function("STATEMENT_DIGEST_TEXT", args)?;
    Ok(rules::string(call, crate::encode::sha256_hex(&rules::bytes_of(&text)).into_bytes()))
}

fn load_file_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::new(TypeId::LongBlob))
}

fn digest_rule(cx: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::text_type(64, cx.collation, true))
}

fn digest_text_rule(cx: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::new(TypeId::LongText).with_collation(cx.collation))
}

fn role_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::new(TypeId::LongText).with_collation(CollationId::UTF8MB3_GENERAL_CI))
}

fn attribute_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    // MySQL's length, whatever the value's.
    Ok(SqlType::varchar(1024, CollationId::UTF8MB4_0900_AI_CI))
}

fn benchmark_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(int_of(1, true))
}

/// The executor has evaluated the second argument as often as the first one says.
fn benchmark(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    if rules::count_arg(cx, &args[0])? < 0 {
        let shown = String::from_utf8_lossy(&rules::bytes_of(&args[0])).into_owned();
        cx.warnings
            .push(sql_err!(WrongValueForType, "count", shown, "benchmark").to_warning(gannet_types::Level::Warning));
        return Ok(Value::Null);
    }
    Ok(Value::Int(0))
}

fn name_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::varchar(64, CollationId::UTF8MB3_GENERAL_CI).not_null())
}

/// The collation of a value's text as the protocol has it: numbers and dates are bytes.
fn collation(ty: &SqlType) -> CollationId {
    match ty.id {
        TypeId::Json => CollationId::UTF8MB4_BIN,
        _ if ty.is_text() => ty.collation,
        _ => CollationId::BINARY,
    }
}

fn charset_name(_: &mut EvalContext<'_>, call: Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Str(collation(&call.args[0]).charset().name().into(), CollationId::UTF8MB3_GENERAL_CI))
}

fn collation_name(_: &mut EvalContext<'_>, call: Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Str(collation(&call.args[0]).get().name.into(), CollationId::UTF8MB3_GENERAL_CI))
}

fn weight_string_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::bytes_type(args[0].ty.max_bytes().saturating_mul(8).max(1), true))
}

/// `WEIGHT_STRING(text [, characters])`: weights as the collation compares them. NULL for what is no text. With three
/// numbers: [`shaped_weights`].
fn weight_string(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let ty = &call.args[0];
    if args[0].is_null() || !ty.id.is_string() {
        return Ok(Value::Null);
    }
    let text = rules::own_text(call, args, 0);
    let charset = ty.collation.charset();
    if args.len() == 4 {
        return shaped_weights(cx, call, args, &text);
    }
    let mut cut = text.to_vec();
    if let Some(chars) = args.get(1) {
        let chars = usize::try_from(rules::count_arg(cx, chars)?).unwrap_or(0);
        if !rules::fits(cx, chars as u64 * 8) {
            return rules::too_long(cx, "weight_string");
        }
        cut.truncate(charset.prefix_len(&cut, chars));
        let missing = chars - charset.char_count(&cut);
        if ty.collation.get().pad == gannet_types::collation::Pad::PadSpace {
            let space = charset.ascii(b" ");
            (0..missing).for_each(|_| cut.extend_from_slice(&space));
        }
    }
    let mut key = Vec::new();
    ty.collation.weights(&cut, &mut key);
    if !rules::fits(cx, key.len() as u64) {
        return rules::too_long(cx, "weight_string");
    }
    Ok(rules::string(call, key))
}

/// Fill with the weights of spaces up to the number of weights, in collations that pad.
const PAD_WEIGHTS: i64 = 0x40;
/// Fill up to the number of bytes: with weights of spaces, or zeros in collations that do not pad.
const PAD_BYTES: i64 = 0x80;

/// `WEIGHT_STRING(text, bytes, weights, flags)`: the first so many weights, cut to so many bytes.
fn shaped_weights(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value], text: &[u8]) -> Result<Value> {
    let collation = call.args[0].collation;
    let mut numbers = [0; 3];
    for (n, arg) in numbers.iter_mut().zip(&args[1..]) {
        *n = rules::count_arg(cx, arg)?.max(0);
    }
    let [bytes, count, flags] = numbers;
    if !rules::fits(cx, bytes as u64) {
        return rules::too_long(cx, "weight_string");
    }
    let (bytes, count) = (bytes as usize, usize::try_from(count).unwrap_or(usize::MAX));
    let (mut space, mut key) = (Vec::new(), Vec::new());
    collation.weights(&collation.charset().ascii(b" "), &mut space);
    let units = match collation.get().weight_units() {
        // A character may have several weights.
        Some(width) => {
            collation.weights(text, &mut key);
            key.truncate(count.saturating_mul(width));
            key.len() / width
        }
        None => {
            let cut = &text[..collation.charset().prefix_len(text, count)];
            collation.weights(cut, &mut key);
            collation.charset().char_count(cut)
        }
    };
    let pads = collation.get().pad == gannet_types::collation::Pad::PadSpace;
    if flags & PAD_WEIGHTS != 0 && pads {
        let missing = (count - units).min(bytes);
        key.extend(space.iter().cycle().take(missing * space.len()));
    }
    key.truncate(bytes);
    if flags & PAD_BYTES != 0 {
        let missing = bytes - key.len();
        if pads {
            // A weight that was cut is not completed: the next one follows whole.
            let part = key.len() % space.len().max(1);
            key.extend(space.iter().cycle().skip(part).take(missing));
        } else {
            key.resize(bytes, 0);
        }
    }
    Ok(rules::string(call, key))
}

/// Points of a password by the rules of the validate_password component; 0 where it is not in use.
fn password_strength(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let number = |cx: &mut EvalContext<'_>, name: &str| -> Result<i64> {
        match cx.session.variable(name) {
            Ok(v) => rules::int_arg(cx, &v),
            Err(_) => Ok(-1),
        }
    };
    let text = rules::own_text(call, args, 0);
    let least = number(cx, "validate_password.length")?;
    let chars = rules::charset_of(&call.args[0]).char_count(&text) as i64;
    if least < 0 || chars < 4 {
        return Ok(Value::Int(0));
    }
    if chars < least {
        return Ok(Value::Int(25));
    }
    let mixed = number(cx, "validate_password.mixed_case_count")?;
    let digits = number(cx, "validate_password.number_count")?;
    let special = number(cx, "validate_password.special_char_count")?;
    let count = |f: fn(&u8) -> bool| text.iter().filter(|b| f(b)).count() as i64;
    let medium = count(u8::is_ascii_uppercase) >= mixed
        && count(u8::is_ascii_lowercase) >= mixed
        && count(u8::is_ascii_digit) >= digits
        && count(|b| !b.is_ascii_alphanumeric()) >= special;
    Ok(Value::Int(if medium { 100 } else { 50 }))
}

fn strength_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(int_of(10, true))
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("GET_LOCK", 2, 2, lock_rule, get_lock, "Takes a named lock; 0 after so many seconds without it.")
        .numbers_at(&[1])
        .sees_null()
        .is(Stability::Effect),
    FunctionDef::new("RELEASE_LOCK", 1, 1, lock_rule, release_lock, "Gives a named lock up.")
        .sees_null()
        .is(Stability::Effect),
    FunctionDef::new("RELEASE_ALL_LOCKS", 0, 0, release_all_rule, release_all_locks, "Gives all named locks up.")
        .is(Stability::Effect),
    FunctionDef::new("IS_FREE_LOCK", 1, 1, lock_rule, is_free_lock, "Has nobody the named lock?")
        .sees_null()
        .is(Stability::Effect),
    FunctionDef::new("IS_USED_LOCK", 1, 1, used_lock_rule, is_used_lock, "Connection that has the named lock.")
        .sees_null()
        .is(Stability::Effect),
    FunctionDef::new("BENCHMARK", 2, 2, benchmark_rule, benchmark, "Evaluates an expression so many times.")
        .numbers_at(&[0])
        .sees_null()
        .is(Stability::Volatile)
        .kernel(Kernel::Repeat),
    FunctionDef::new("LOAD_FILE", 1, 1, load_file_rule, load_file, "Contents of a file below secure_file_priv.")
        .is(Stability::Volatile),
    FunctionDef::new("STATEMENT_DIGEST", 1, 1, digest_rule, statement_digest, "Hash of a statement's digest text.")
        .is(Stability::Statement),
    FunctionDef::new("STATEMENT_DIGEST_TEXT", 1, 1, digest_text_rule, statement_digest_text, "A statement's digest.")
        .any_text()
        .is(Stability::Statement),
    FunctionDef::new("PS_CURRENT_THREAD_ID", 0, 0, rules::uint, ps_current_thread_id, "The session's thread number.")
        .is(Stability::Statement),
    FunctionDef::new("PS_THREAD_ID", 1, 1, used_lock_rule, ps_thread_id, "Thread number of a connection.")
        .is(Stability::Statement),
    FunctionDef::new("CURRENT_ROLE", 0, 0, role_rule, current_role, "The active roles.")
        .any_text()
        .is(Stability::Statement),
    FunctionDef::new("ICU_VERSION", 0, 0, icu_rule, icu_version, "Version of ICU whose regular expressions these are."),
    FunctionDef::new("ROLES_GRAPHML", 0, 0, role_rule, roles_graphml, "Which roles are granted to whom, as GraphML.")
        .any_text()
        .is(Stability::Statement),
    FunctionDef::new(
        "MYSQL_QUERY_ATTRIBUTE_STRING",
        1,
        1,
        attribute_rule,
        query_attribute,
        "A query attribute that the client sent with the statement.",
    )
    .any_text()
    .is(Stability::Statement),
    FunctionDef::new("CHARSET", 1, 1, name_rule, charset_name, "Character set of the argument.").sees_null(),
    FunctionDef::new("COLLATION", 1, 1, name_rule, collation_name, "Collation of the argument.").sees_null(),
    FunctionDef::new("WEIGHT_STRING", 1, 4, weight_string_rule, weight_string, "Weights that a text compares by.")
        .sees_null(),
    FunctionDef::new(
        "VALIDATE_PASSWORD_STRENGTH",
        1,
        1,
        strength_rule,
        password_strength,
        "How strong a password is, 0 to 100.",
    )
    .is(Stability::Statement),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn texts() {
        check(&[
            ("CHARSET('a')", "utf8mb4"),
            ("CHARSET(1)", "binary"),
            ("COLLATION('a' COLLATE utf8mb4_bin)", "utf8mb4_bin"),
            ("COLLATION(CONVERT('a' USING latin1))", "latin1_swedish_ci"),
            ("HEX(WEIGHT_STRING('ab'))", "1C471C60"),
            ("HEX(WEIGHT_STRING('ab' COLLATE utf8mb4_bin))", "000061000062"),
            ("HEX(WEIGHT_STRING('ab' COLLATE utf8mb4_general_ci))", "00410042"),
            ("WEIGHT_STRING(1)", "NULL"),
        ]);
    }
}
