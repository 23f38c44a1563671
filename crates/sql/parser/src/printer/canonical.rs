//! Forms that MySQL gives expressions when it keeps them: names of functions, and operands of logical operators.

use crate::ast::{BinaryOp, Expr, IsTest, Literal, LiteralValue, UnaryOp};

/// The name under which MySQL prints a function.
pub fn name(name: &str) -> &str {
    match name {
        "substring" | "mid" => "substr",
        "lcase" => "lower",
        "ucase" => "upper",
        "character_length" => "char_length",
        "octet_length" => "length",
        "power" => "pow",
        "ceil" => "ceiling",
        "day" => "dayofmonth",
        "sha1" => "sha",
        "atan2" => "atan",
        "schema" => "database",
        "session_user" | "system_user" => "user",
        "current_date" => "curdate",
        "current_time" => "curtime",
        "current_timestamp" | "localtime" | "localtimestamp" => "now",
        other => other,
    }
}

/// Makes the operands of a logical operator truth values: what is none is compared with 0.
pub fn truths(e: &mut Expr) {
    match e {
        Expr::And(list) | Expr::Or(list) => list.iter_mut().for_each(truth),
        Expr::Binary { op: BinaryOp::Xor, left, right } => {
            truth(left);
            truth(right);
        }
        Expr::Is { expr, test: IsTest::True | IsTest::False, .. } => truth(expr),
        Expr::Unary { op: UnaryOp::Not, expr } if !expr.is_boolean() => {
            let value = std::mem::replace(&mut **expr, Expr::Default);
            *e = beside_zero(BinaryOp::Eq, value);
        }
        _ => {}
    }
}

fn truth(e: &mut Expr) {
    if !e.is_boolean() {
        let value = std::mem::replace(e, Expr::Default);
        *e = beside_zero(BinaryOp::Ne, value);
    }
}

fn beside_zero(op: BinaryOp, value: Expr) -> Expr {
    let zero = Expr::Literal(Literal::new(LiteralValue::Int(0)));
    Expr::Binary { op, left: Box::new(zero), right: Box::new(value) }
}
