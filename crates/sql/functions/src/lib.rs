//! Scalar functions, operators and aggregates, one declaration each: signature, result type, evaluation, documentation.
//!
//! The binder resolves names with [`function`] and [`aggregate`]; constant folding and the executor call the
//! evaluation. Comparisons, AND, OR, NOT, IS NULL, BETWEEN, IN, CASE and CAST are forms of the bound expression
//! instead, because they decide which of their operands is evaluated or in which domain.

mod def;

pub use def::{
    Accumulator, AggregateDef, AggregateKernel, ArgInfo, Arity, Call, Eval, EvalContext, FunctionDef, Kernel,
    RuleContext, SessionInfo, Stability, TypeRule,
};

/// The scalar function or operator called `name`, in any case.
pub fn function(name: &str) -> Option<&'static FunctionDef> {
    FUNCTIONS.iter().find(|def| named(def.name, def.aliases, name))
}

/// The aggregate called `name`, in any case.
pub fn aggregate(name: &str) -> Option<&'static AggregateDef> {
    AGGREGATES.iter().find(|def| named(def.name, def.aliases, name))
}

fn named(name: &str, aliases: &[&str], wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted) || aliases.iter().any(|alias| alias.eq_ignore_ascii_case(wanted))
}

static FUNCTIONS: &[FunctionDef] = &[];
static AGGREGATES: &[AggregateDef] = &[];
