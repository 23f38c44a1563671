//! The diagnostics area, and the statements about it: SIGNAL, RESIGNAL, GET DIAGNOSTICS.

use super::Session;
use super::reply::Done;
use gannet_parser::ast::{self, ConditionValue, Expr, GetDiagnostics, Ident, IntoTarget, Signal};
use gannet_types::{ErrorCode, Items, Level, Result, SqlError, Value, Warning, Warnings, convert, sql_err};

/// What a handler was called for: the area of that moment, and the condition in it.
#[derive(Clone, Debug)]
pub(crate) struct Stacked {
    pub(crate) area: Warnings,
    pub(crate) raised: Warning,
}

/// The conditions of the statement that runs, and what the handlers at work were called for.
#[derive(Default)]
pub struct Diagnostics {
    /// The diagnostics area.
    pub warnings: Warnings,
    /// The areas of handlers, innermost last.
    pub(crate) stacked: Vec<Stacked>,
    /// How often a statement of a program has cleared the area.
    clears: u64,
}

/// How many conditions were in the area when a handler was called: they go with it if nothing has cleared the area
/// meanwhile.
pub(crate) struct Handled {
    conditions: usize,
    clears: u64,
}

impl Diagnostics {
    /// Those of a statement inside.
    pub(crate) fn inside(&self) -> Self {
        Diagnostics { warnings: self.warnings.like(), ..Diagnostics::default() }
    }

    /// Empties the area; gives what was in it.
    pub(crate) fn set_aside(&mut self) -> Warnings {
        let fresh = self.warnings.like();
        std::mem::replace(&mut self.warnings, fresh)
    }

    /// Empties the area for a step of a program.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.warnings.clear();
        self.cleared();
    }

    /// What was in the area is gone.
    pub(crate) fn cleared(&mut self) {
        self.clears += 1;
    }

    /// A handler is called for `raised`.
    pub(crate) fn stack(&mut self, raised: Warning) -> Handled {
        let area = self.warnings.clone();
        let handled = Handled { conditions: area.iter().count(), clears: self.clears };
        self.stacked.push(Stacked { area, raised });
        handled
    }

    /// The handler has ended.
    pub(crate) fn unstack(&mut self, handled: &Handled) {
        self.stacked.pop();
        if self.clears == handled.clears {
            self.warnings.forget_first(handled.conditions);
        }
    }

    /// The area, or that of the innermost handler.
    fn area(&self, stacked: bool) -> &Warnings {
        self.stacked.last().filter(|_| stacked).map_or(&self.warnings, |s| &s.area)
    }
}

/// Characters that MESSAGE_TEXT and the other items may have.
const MESSAGE_CHARS: usize = 128;
const ITEM_CHARS: usize = 64;

/// What SIGNAL and RESIGNAL set.
#[derive(Default)]
struct SetItems {
    number: Option<u16>,
    message: Option<Box<str>>,
    items: Items,
}

/// SIGNAL, RESIGNAL.
pub(crate) fn signal(session: &mut Session, signal: &Signal) -> Result<Done> {
    let active = session.running.diagnostics.stacked.last().cloned();
    let state = match &signal.condition {
        None => None,
        Some(ConditionValue::SqlState(state)) => Some(sqlstate(state)?),
        Some(ConditionValue::Named(name)) => return Err(sql_err!(SpCondMismatch, name)),
        Some(_) => return Err(sql_err!(SignalBadConditionType)),
    };
    if signal.resignal && active.is_none() {
        return Err(sql_err!(ResignalWithoutActiveHandler));
    }
    let set = set_items(session, &signal.items)?;
    let (mut area, condition) = match (active.filter(|_| signal.resignal), state) {
        (Some(active), None) => {
            let mut area = active.area;
            area.remove_last(&active.raised);
            (area, changed(SqlError::of_condition(&active.raised), active.raised.level, None, set))
        }
        (Some(active), Some(state)) => {
            let before = SqlError::of_condition(&active.raised);
            (active.area, changed(before, level_of(state), Some(state), set))
        }
        (None, state) => {
            let state = state.unwrap_or(*b"45000");
            let code = default_code(state);
            let plain = SqlError::signal(code.number(), state, code.format());
            (session.running.diagnostics.warnings.like(), changed(plain, level_of(state), None, set))
        }
    };
    // Truncated items were warned of just now.
    let mut warned = std::mem::take(&mut session.running.diagnostics.warnings);
    if !signal.resignal {
        area.append(&mut warned);
    }
    session.running.diagnostics.warnings = area;
    session.running.diagnostics.cleared();
    let (error, level) = condition;
    if level == Level::Error {
        return Err(error);
    }
    let raised = error.to_warning(level);
    session.running.diagnostics.warnings.push(raised.clone());
    if signal.resignal
        && let Some(active) = session.running.diagnostics.stacked.last_mut()
    {
        // GET STACKED DIAGNOSTICS and a further RESIGNAL begin with what this one has left.
        let area = session.running.diagnostics.warnings.clone();
        *active = Stacked { area, raised };
    }
    Ok(Done::default())
}

/// The items behind SET. Errors 1231, 1641, 1648.
fn set_items(session: &mut Session, items: &[(Ident, Expr)]) -> Result<SetItems> {
    let mut set = SetItems::default();
    for (at, (name, expr)) in items.iter().enumerate() {
        let name = name.text.to_uppercase();
        if items[..at].iter().any(|(other, _)| other.text.to_uppercase() == name) {
            return Err(sql_err!(DupSignalSet, name));
        }
        let value = session.evaluate(expr)?;
        let wrong = |shown: &str| sql_err!(WrongValueForVar, name, shown);
        if value.is_null() {
            return Err(wrong("NULL"));
        }
        let text = String::from_utf8_lossy(&convert::utf8_text(&value.as_ref())).into_owned();
        match &*name {
            "MYSQL_ERRNO" => {
                let number = match &value {
                    Value::Int(n) => u16::try_from(*n).ok(),
                    Value::UInt(n) => u16::try_from(*n).ok(),
                    _ => error_number(session, expr)?,
                };
                let number = number.filter(|n| *n > 0);
                set.number = Some(number.ok_or_else(|| wrong(&text))?);
            }
            "MESSAGE_TEXT" => set.message = Some(fitting(session, text, MESSAGE_CHARS, &name)?),
            _ => {
                let place = Items::NAMES.iter().position(|n| *n == name);
                let place = place.ok_or_else(|| SqlError::unsupported(format_args!("SIGNAL SET {name}")))?;
                set.items.0[place] = Some(fitting(session, text, ITEM_CHARS, &name)?);
            }
        }
    }
    Ok(set)
}

/// A number that is no integer, or written in hexadecimal or as bits.
fn error_number(session: &mut Session, expr: &Expr) -> Result<Option<u16>> {
    let zero = Expr::Literal(ast::Literal::new(ast::LiteralValue::Int(0)));
    let (left, right) = (Box::new(expr.clone()), Box::new(zero));
    let number = session.evaluate(&Expr::Binary { op: ast::BinaryOp::Add, left, right })?;
    let mut text = Vec::new();
    number.write_text(&mut text);
    let number = String::from_utf8_lossy(&text).trim().parse::<f64>().unwrap_or(0.0).round();
    Ok((0.0..=f64::from(u16::MAX)).contains(&number).then_some(number as u16))
}

/// Error 1648 for a text that is too long; without strict mode it is cut, with warning 1647.
fn fitting(session: &mut Session, text: String, most: usize, item: &str) -> Result<Box<str>> {
    if text.chars().count() <= most {
        return Ok(text.into());
    }
    if session.settings.exec.sql_mode.is_strict() {
        return Err(sql_err!(CondItemTooLong, item));
    }
    session.running.diagnostics.warnings.warn(ErrorCode::WarnCondItemTruncated, &[&item]);
    Ok(text.chars().take(most).collect::<String>().into())
}

/// GET DIAGNOSTICS.
pub(crate) fn get_diagnostics(session: &mut Session, get: &GetDiagnostics) -> Result<Done> {
    if get.stacked && session.running.diagnostics.stacked.is_empty() {
        return Err(sql_err!(GetStackedDaWithoutActiveHandler));
    }
    for (target, _) in &get.items {
        if let IntoTarget::Local(name) = target {
            session.slot_of(&name.text)?;
        }
    }
    // What fails here is one more condition of the area, not an error of the statement.
    match tell_diagnostics(session, get) {
        Err(e) if e.code() != ErrorCode::QueryInterrupted => {
            session.running.diagnostics.warnings.push(e.to_warning(Level::Error))
        }
        outcome => outcome?,
    }
    session.running.keeps_row_count = true;
    Ok(Done::default())
}

fn tell_diagnostics(session: &mut Session, get: &GetDiagnostics) -> Result<()> {
    let wanted = match &get.condition {
        None => None,
        Some(number) => {
            let n = match session.evaluate(number)? {
                Value::Int(n) => usize::try_from(n).unwrap_or(0),
                Value::UInt(n) => usize::try_from(n).unwrap_or(usize::MAX),
                other => {
                    let mut text = Vec::new();
                    other.write_text(&mut text);
                    let number = String::from_utf8_lossy(&text).trim().parse::<f64>().unwrap_or(0.0);
                    number.round() as usize
                }
            };
            let area = session.running.diagnostics.area(get.stacked);
            let found = n.checked_sub(1).and_then(|at| area.iter().nth(at)).cloned();
            Some(found.ok_or_else(|| sql_err!(DaInvalidConditionNumber))?)
        }
    };
    for (target, item) in &get.items {
        let name = item.text.to_uppercase();
        let value = match &wanted {
            Some(condition) => item_of(condition, &name)?,
            None => match &*name {
                "NUMBER" => Value::Int(session.running.diagnostics.area(get.stacked).iter().count() as i64),
                _ => Value::Int(session.state.running.before.row_count),
            },
        };
        session.assign_target(target, value, false)?;
    }
    Ok(())
}

/// One item of a condition.
fn item_of(condition: &Warning, name: &str) -> Result<Value> {
    let text = |s: &str| Value::Str(s.into(), gannet_types::CollationId::UTF8MB3_GENERAL_CI);
    let state = condition.sqlstate();
    let iso = matches!(state[0], b'0'..=b'4' | b'A'..=b'H');
    let own = |at: usize| condition.signalled.as_ref().and_then(|s| s.items.0[at].as_deref());
    Ok(match name {
        "RETURNED_SQLSTATE" => text(&String::from_utf8_lossy(&state)),
        "MYSQL_ERRNO" => Value::Int(condition.number().into()),
        "MESSAGE_TEXT" => text(&condition.message),
        _ => {
            let at = Items::NAMES.iter().position(|n| *n == name);
            let at = at.ok_or_else(|| SqlError::unsupported(format_args!("GET DIAGNOSTICS of {name}")))?;
            let default = match name {
                // SIGNAL says it itself.
                "CLASS_ORIGIN" | "SUBCLASS_ORIGIN" if condition.signalled.is_some() => "",
                "CLASS_ORIGIN" if iso => "ISO 9075",
                "SUBCLASS_ORIGIN" if iso || &state[2..] == b"000" => "ISO 9075",
                "CLASS_ORIGIN" | "SUBCLASS_ORIGIN" => "MySQL",
                _ => "",
            };
            text(own(at).unwrap_or(default))
        }
    })
}

fn level_of(state: [u8; 5]) -> Level {
    if state.starts_with(b"01") { Level::Warning } else { Level::Error }
}

fn default_code(state: [u8; 5]) -> ErrorCode {
    match &state[..2] {
        b"01" => ErrorCode::SignalWarn,
        b"02" => ErrorCode::SignalNotFound,
        _ => ErrorCode::SignalException,
    }
}

/// A condition with another SQLSTATE and other items.
fn changed(before: SqlError, level: Level, state: Option<[u8; 5]>, set: SetItems) -> (SqlError, Level) {
    let number = match (set.number, state) {
        (Some(number), _) => number,
        (None, Some(state)) => default_code(state).number(),
        (None, None) => before.number(),
    };
    let message = match (set.message, state) {
        (Some(message), _) => message,
        (None, _) => before.message().into(),
    };
    let mut items = before.items();
    for (own, new) in items.0.iter_mut().zip(set.items.0) {
        if new.is_some() {
            *own = new;
        }
    }
    (SqlError::signal(number, state.unwrap_or(before.sqlstate()), message).with_items(items), level)
}

/// An SQLSTATE. Error 1407.
fn sqlstate(text: &str) -> Result<[u8; 5]> {
    let bad = || sql_err!(SpBadSqlstate, text);
    let state: [u8; 5] = text.as_bytes().try_into().map_err(|_| bad())?;
    let plain = state.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    if plain && !state.starts_with(b"00") { Ok(state) } else { Err(bad()) }
}
