//! EXTRACTVALUE and UPDATEXML (manual, "XML Functions").

mod document;
mod eval;
mod xpath;

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext, Stability},
    rules::{self, text_type},
};
use document::{Document, parse};
use eval::{Around, Evaluation, Val, number_text};
use gannet_types::{ErrorCode, Result, SqlType, Value, charset::Charset};
use xpath::Expr;

/// What the last evaluation of a call has read.
struct Kept {
    path: Vec<u8>,
    expr: Expr,
}

/// The texts are compared and cut as they are in these character sets; others are converted.
fn working_charset(own: Charset) -> Charset {
    let apart = matches!(own, Charset::Binary | Charset::Ascii | Charset::Latin1 | Charset::Utf8mb3 | Charset::Utf8mb4);
    if apart { own } else { Charset::Utf8mb4 }
}

/// Long text. An expression that is known now is checked now.
fn rule(cx: RuleContext, args: &[ArgInfo<'_>], name: &str) -> Result<SqlType> {
    let collation = rules::common_collation(cx, args, name)?;
    if let Some(path) = args[1].constant.filter(|p| !p.is_null()) {
        xpath::parse(&rules::text_in(path, working_charset(collation.charset()))?)?;
    }
    Ok(text_type(u64::from(u32::MAX), collation, true))
}

fn extract_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    rule(cx, args, "extractvalue")
}

fn update_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    rule(cx, args, "updatexml")
}

/// Runs `f` with the path and the document. NULL for NULL, and with warning 1525 for what is no XML.
fn with_both(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
    f: impl FnOnce(&mut EvalContext<'_>, Charset, &Expr, &Document) -> Result<Option<Vec<u8>>>,
) -> Result<Value> {
    if args[1].is_null() {
        return Ok(Value::Null);
    }
    let own = call.ty.collation.charset();
    let charset = working_charset(own);
    let path = rules::text_of(&args[1], &call.args[1], charset)?.into_owned();
    let expr = match cx.states.get::<Kept>(call) {
        Some(kept) if kept.path == path => kept.expr.clone(),
        _ => {
            let bytes = path.len() * xpath::BYTES_OF_ONE;
            cx.room.take(bytes)?;
            let expr = xpath::parse(&path)?;
            cx.states.set(call, Kept { path, expr: expr.clone() }, bytes);
            expr
        }
    };
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let source = rules::text_of(&args[0], &call.args[0], charset)?.into_owned();
    cx.room.take(document::room_for(&source))?;
    let document = match parse(source) {
        Ok(document) => document,
        Err(what) => {
            cx.conversion().warn(ErrorCode::WrongValue, &[&"XML", &what.chars().take(128).collect::<String>()])?;
            return Ok(Value::Null);
        }
    };
    let Some(bytes) = f(cx, charset, &expr, &document)? else { return Ok(Value::Null) };
    if !rules::fits(cx, bytes.len() as u64) {
        return rules::too_long(cx, "xml");
    }
    let bytes = if charset == own { bytes } else { charset.fit(&bytes, own)?.into_owned() };
    Ok(rules::string(call, bytes))
}

fn extract(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    with_both(cx, call, args, |cx, charset, expr, document| {
        let mut evaluation = Evaluation { document, collation: call.ty.collation, charset, cx, steps: 0 };
        Ok(match evaluation.value(expr, Around::TOP)? {
            Val::Null => None,
            Val::Number(n) => Some(number_text(n)),
            Val::Text(text) => Some(text),
        })
    })
}

/// One node that the path leads to is replaced; with none or several the text stays as it is.
fn update(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let replacement = |charset| rules::text_of(&args[2], &call.args[2], charset);
    with_both(cx, call, args, |cx, charset, expr, document| {
        if !expr.is_nodes() {
            return Ok(None);
        }
        let mut evaluation = Evaluation { document, collation: call.ty.collation, charset, cx, steps: 0 };
        let nodes = evaluation.nodes(expr, Around::TOP)?;
        let [(node, _)] = nodes[..] else { return Ok(Some(document.source.clone())) };
        let (start, end) = document.range(node);
        let mut out = document.source[..start].to_vec();
        out.extend_from_slice(&replacement(charset)?);
        out.extend_from_slice(&document.source[end..]);
        Ok(Some(out))
    })
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("EXTRACTVALUE", 2, 2, extract_rule, extract, "Text that an XPath expression finds in XML.")
        .sees_null()
        .is(Stability::Statement)
        .made_of(|_| true),
    FunctionDef::new("UPDATEXML", 3, 3, update_rule, update, "XML with what an XPath expression finds replaced.")
        .sees_null()
        .is(Stability::Statement)
        .made_of(|_| true),
];

#[cfg(test)]
mod tests;
