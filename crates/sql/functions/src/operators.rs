//! Arithmetic, bit operators, LIKE, XOR.

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, Kernel, RuleContext},
    rules,
};
use gannet_types::{
    Result, SqlType, Value,
    collation::LikePattern,
    convert::{
        self,
        arith::{ArithOp, BitOp, arith, arith_type, bit_not, bits, neg, neg_type},
    },
    sql_err,
};

fn arith_rule(op: ArithOp, cx: RuleContext, args: &[ArgInfo<'_>]) -> SqlType {
    arith_type(op, args[0].ty, args[1].ty, cx.sql_mode, cx.div_precision_increment).0
}

fn arith_eval(op: ArithOp, symbol: &str, cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let increment = cx.div_precision_increment;
    let (_, domain) = arith_type(op, &call.args[0], &call.args[1], cx.sql_mode, increment);
    let (a, b) = (args[0].as_ref(), args[1].as_ref());
    match arith(op, domain, a, b, increment, &mut cx.conversion())? {
        Some(value) => Ok(value),
        None => {
            let (left, right) = (rules::operand(&args[0]), rules::operand(&args[1]));
            Err(domain.out_of_range(format_args!("({left} {symbol} {right})")))
        }
    }
}

macro_rules! arithmetic {
    ($($rule:ident $eval:ident $op:ident $symbol:literal;)*) => {$(
        fn $rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
            Ok(arith_rule(ArithOp::$op, cx, args))
        }
        fn $eval(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
            arith_eval(ArithOp::$op, $symbol, cx, call, args)
        }
    )*};
}

arithmetic! {
    add_rule add Add "+";
    sub_rule sub Sub "-";
    mul_rule mul Mul "*";
    div_rule div Div "/";
    int_div_rule int_div IntDiv "DIV";
    rem_rule rem Mod "%";
}

macro_rules! bitwise {
    ($($eval:ident $op:ident;)*) => {$(
        fn $eval(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
            bits(BitOp::$op, args[0].as_ref(), args[1].as_ref(), &mut cx.conversion())
        }
    )*};
}

bitwise! {
    bit_and And;
    bit_or Or;
    bit_xor Xor;
    shift_left ShiftLeft;
    shift_right ShiftRight;
}

/// BIGINT UNSIGNED, or binary text when the operands are.
fn bit_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let nullable = rules::nullable(args);
    match args.first() {
        Some(a) if a.ty.id.is_binary_string() && args.iter().all(|a| a.ty.id.is_binary_string()) => {
            Ok(SqlType { nullable, ..a.ty.clone() })
        }
        _ => Ok(SqlType { nullable, ..SqlType::bigint_unsigned() }),
    }
}

/// The same; how far is a number.
fn shift_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType { nullable: rules::nullable(args), ..bit_rule(cx, &args[..1])? })
}

fn not_bits(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    bit_not(args[0].as_ref(), &mut cx.conversion())
}

fn negative_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(neg_type(args[0].ty).0)
}

fn negative(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let (_, domain) = neg_type(&call.args[0]);
    match neg(domain, args[0].as_ref(), &mut cx.conversion())? {
        Some(value) => Ok(value),
        None => Err(domain.out_of_range(format_args!("-({})", rules::operand(&args[0])))),
    }
}

fn xor(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    let mut conversion = cx.conversion();
    let a = convert::to_bool(args[0].as_ref(), &mut conversion)?;
    let b = convert::to_bool(args[1].as_ref(), &mut conversion)?;
    Ok(match (a, b) {
        (Some(a), Some(b)) => Value::from(a != b),
        _ => Value::Null,
    })
}

fn like_rule(cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    rules::common_collation(cx, &args[..2], "like")?;
    rules::truth(cx, args)
}

/// `text LIKE pattern [ESCAPE escape]`. The collation is that of the operand which holds on to its own more firmly;
/// with two columns they are the same.
fn like(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let collation = match (&call.args[0], &call.args[1]) {
        (a, b) if a.id.is_binary_string() || b.id.is_binary_string() => gannet_types::CollationId::BINARY,
        (a, _) if a.id.is_string() => a.collation,
        (_, b) if b.id.is_string() => b.collation,
        _ => gannet_types::CollationId::DEFAULT,
    };
    let charset = collation.charset();
    let escape = match args.get(2) {
        None => Some('\\'),
        Some(value) => {
            let text = rules::text_in(value, charset)?;
            let mut chars = charset.chars(&text);
            let first = chars.next();
            if chars.next().is_some() {
                return Err(sql_err!(WrongArguments, "ESCAPE"));
            }
            first
        }
    };
    let pattern = LikePattern::new(&rules::text_of(&args[1], &call.args[1], charset)?, escape, collation);
    let text = rules::text_of(&args[0], &call.args[0], charset)?;
    pattern.matches_unless(&text, cx.stopped).map(Value::from).ok_or_else(|| sql_err!(QueryInterrupted))
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("+", 2, 2, add_rule, add, "Sum.").kernel(Kernel::Add).keeps_digits().takes_numbers(),
    FunctionDef::new("-", 2, 2, sub_rule, sub, "Difference.").kernel(Kernel::Subtract).keeps_digits().takes_numbers(),
    FunctionDef::new("*", 2, 2, mul_rule, mul, "Product.").kernel(Kernel::Multiply).keeps_digits().takes_numbers(),
    FunctionDef::new("/", 2, 2, div_rule, div, "Quotient; NULL for division by zero.").keeps_digits().takes_numbers(),
    FunctionDef::new("DIV", 2, 2, int_div_rule, int_div, "Integer part of the quotient.")
        .keeps_digits()
        .takes_numbers(),
    FunctionDef::new("%", 2, 2, rem_rule, rem, "Remainder, with the sign of the dividend.")
        .also(&["MOD"])
        .kernel(Kernel::Remainder)
        .keeps_digits()
        .takes_numbers(),
    FunctionDef::new("NEGATIVE OF", 1, 1, negative_rule, negative, "The operand with its sign turned (prefix `-`).")
        .keeps_digits()
        .takes_numbers(),
    FunctionDef::new("&", 2, 2, bit_rule, bit_and, "Bitwise and."),
    FunctionDef::new("|", 2, 2, bit_rule, bit_or, "Bitwise or."),
    FunctionDef::new("^", 2, 2, bit_rule, bit_xor, "Bitwise exclusive or."),
    FunctionDef::new("<<", 2, 2, shift_rule, shift_left, "Bits shifted to the left."),
    FunctionDef::new(">>", 2, 2, shift_rule, shift_right, "Bits shifted to the right."),
    FunctionDef::new("~", 1, 1, bit_rule, not_bits, "All bits turned."),
    FunctionDef::new("XOR", 2, 2, rules::truth, xor, "Logical exclusive or."),
    FunctionDef::new(
        "LIKE",
        2,
        3,
        like_rule,
        like,
        "Simple pattern matching; the third operand is the escape character.",
    ),
];
