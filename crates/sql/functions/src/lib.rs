//! Scalar functions, operators and aggregates, one declaration each: signature, result type, evaluation, documentation.
//!
//! The binder resolves names with [`function`] and [`aggregate`]; constant folding and the executor call the
//! evaluation. Comparisons, AND, OR, NOT, IS NULL, BETWEEN, IN, CASE and CAST are forms of the bound expression
//! instead, because they decide which of their operands is evaluated or in which domain.

mod absent;
mod aggregates;
mod common;
mod control;
mod crypt;
mod def;
mod encode;
pub mod failover;
mod ids;
mod implicit;
mod info;
pub mod json;
mod math;
mod operators;
mod regexp;
mod regexp_syntax;
mod rules;
mod search;
mod server;
#[cfg(test)]
mod testing;
mod text;
mod time;
mod xml;

pub use absent::is_spatial;
pub use aggregates::{Extreme, Sum};
pub use common::common_type;
pub use def::{
    Accumulator, AggregateDef, AggregateKernel, ArgInfo, Arity, Call, CallStates, Eval, EvalContext, FunctionDef,
    Kernel, Part, RuleContext, SessionInfo, Stability, TypeRule,
};
pub use encode::sha256_hex;
pub use math::Generator;
pub use rules::source as argument_source;

use gannet_types::{
    SqlType,
    collation::{Coercibility, CollationSource},
};
use std::{collections::HashMap, sync::LazyLock};

/// All scalar functions, by family.
static FAMILIES: &[&[FunctionDef]] = &[
    operators::FUNCTIONS,
    control::FUNCTIONS,
    implicit::FUNCTIONS,
    info::FUNCTIONS,
    text::FUNCTIONS,
    search::FUNCTIONS,
    encode::FUNCTIONS,
    crypt::FUNCTIONS,
    ids::FUNCTIONS,
    failover::FUNCTIONS,
    regexp::FUNCTIONS,
    server::FUNCTIONS,
    math::FUNCTIONS,
    time::FAMILIES[0],
    time::FAMILIES[1],
    time::FAMILIES[2],
    time::FAMILIES[3],
    time::FAMILIES[4],
    time::FAMILIES[5],
    json::FAMILIES[0],
    json::FAMILIES[1],
    json::FAMILIES[2],
    json::FAMILIES[3],
    json::FAMILIES[4],
    xml::FUNCTIONS,
];

static BY_NAME: LazyLock<HashMap<&'static str, &'static FunctionDef>> = LazyLock::new(|| {
    let all = FAMILIES.iter().flat_map(|family| family.iter());
    all.flat_map(|def| std::iter::once(&def.name).chain(def.aliases).map(move |name| (*name, def))).collect()
});

/// The scalar function or operator called `name`, in any case.
pub fn function(name: &str) -> Option<&'static FunctionDef> {
    BY_NAME.get(name.to_ascii_uppercase().as_str()).copied()
}

/// All scalar functions and operators.
pub fn functions() -> impl Iterator<Item = &'static FunctionDef> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// All aggregates.
pub fn aggregates() -> impl Iterator<Item = &'static AggregateDef> {
    aggregates::AGGREGATES.iter()
}

/// The aggregate called `name`, in any case.
pub fn aggregate(name: &str) -> Option<&'static AggregateDef> {
    let named = |def: &&AggregateDef| {
        def.name.eq_ignore_ascii_case(name) || def.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    };
    aggregates::AGGREGATES.iter().find(named)
}

/// Coercibility of a call's text, and whether all of it is ASCII: it follows from the arguments whose text it is made
/// of (manual, "Collation Coercibility in Expressions").
pub fn text_source(cx: RuleContext, def: &FunctionDef, ty: &SqlType, args: &[ArgInfo<'_>]) -> CollationSource {
    let made_of: Vec<ArgInfo<'_>> = (0..).zip(args).filter(|(i, _)| (def.made_of)(*i)).map(|(_, a)| *a).collect();
    let own = CollationSource {
        collation: ty.collation,
        coercibility: if def.stability == Stability::Statement {
            Coercibility::SysConst
        } else {
            Coercibility::Coercible
        },
        ascii_only: !ty.id.is_binary_string() && !def.any_text,
    };
    let plain = !def.names_dates || cx.locale.is_english();
    let source = match rules::result_source(cx, &made_of, "") {
        Ok(source) if !made_of.is_empty() => CollationSource { collation: ty.collation, ..source },
        _ => own,
    };
    CollationSource { ascii_only: source.ascii_only && plain, ..source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each function over a text of latin1 and one that has no place there, in every order: an error, or a text
    /// with both.
    #[test]
    fn no_function_replaces_a_character() {
        use gannet_types::{CollationId, Value, collation::Collation};
        let latin1 = Collation::by_name("latin1_swedish_ci").expect("a collation").id;
        let utf8 = CollationId::UTF8MB4_GENERAL_CI;
        let kinds = [
            (Value::Str("x".into(), latin1), SqlType::varchar(9, latin1), Coercibility::Implicit),
            (Value::Str("\u{65e5}".into(), utf8), SqlType::varchar(9, utf8), Coercibility::Coercible),
            (Value::Int(1), SqlType::BIGINT, Coercibility::Numeric),
        ];
        let mut texts = 0;
        for def in functions().filter(|def| def.stability == Stability::Pure) {
            let most = usize::from(def.arity.max.unwrap_or(4)).min(4);
            for n in usize::from(def.arity.min).max(2)..=most {
                for choice in 0..3usize.pow(n as u32) {
                    let of = |i: usize| &kinds[choice / 3usize.pow(i as u32) % 3];
                    let chosen: Vec<_> = (0..n).map(of).collect();
                    if let Some(value) = testing::outcome(def, &chosen) {
                        let text = rules::bytes_of(&value);
                        let shown = String::from_utf8_lossy(&text);
                        assert!(!text.contains(&b'?'), "{} of {chosen:?} is {shown}", def.name);
                        texts += 1;
                    }
                }
            }
        }
        assert!(texts > 1000, "only {texts} texts were made");
    }

    #[test]
    fn no_name_is_declared_twice() {
        let names = functions().map(|def| 1 + def.aliases.len()).sum::<usize>();
        assert_eq!(names, BY_NAME.len());
        assert!(function("coalesce").is_some() && function("no_such_function").is_none());
        assert!(aggregate("std").is_some());
    }
}
