//! The functions of named locks: GET_LOCK and its kin.

use super::state::State;
use gannet_core::user_locks::Refused;
use gannet_runtime::now_ns;
use gannet_types::{Result, SqlError, Value, sql_err};

/// MySQL: names have at most 64 characters.
const MAX_NAME: usize = 64;

fn name_of(v: Option<&Value>) -> Result<String> {
    let mut text = Vec::new();
    if let Some(v) = v.filter(|v| !v.is_null()) {
        v.write_text(&mut text);
    }
    let name = String::from_utf8_lossy(&text).to_lowercase();
    if name.is_empty() || name.chars().count() > MAX_NAME {
        return Err(sql_err!(UserLockWrongName, name));
    }
    Ok(name)
}

/// GET_LOCK, RELEASE_LOCK, RELEASE_ALL_LOCKS, IS_FREE_LOCK, IS_USED_LOCK.
pub fn call(state: &mut State, function: &'static str, args: &[Value]) -> Result<Value> {
    let me = state.entry.id;
    let locks = &state.server.user_locks;
    match function {
        "GET_LOCK" => {
            let name = name_of(args.first())?;
            if let Some((_, n)) = state.user_locks.iter_mut().find(|(n, _)| *n == name) {
                *n += 1;
                return Ok(Value::Int(1));
            }
            let seconds = match args.get(1) {
                Some(Value::Int(n)) => *n as f64,
                Some(Value::UInt(n)) => *n as f64,
                Some(Value::Double(d)) => *d,
                Some(Value::Decimal(d)) => d.to_f64(),
                _ => 0.0,
            };
            let deadline = (seconds >= 0.0).then(|| now_ns().saturating_add((seconds.min(1e9) * 1e9) as u64));
            match locks.acquire(&name, me, deadline) {
                Ok(()) => {
                    state.user_locks.push((name, 1));
                    Ok(Value::Int(1))
                }
                Err(Refused::Timeout) => Ok(Value::Int(0)),
                Err(Refused::Interrupted) => Ok(Value::Null),
                Err(Refused::Deadlock) => Err(sql_err!(UserLockDeadlock)),
            }
        }
        "RELEASE_LOCK" => {
            let name = name_of(args.first())?;
            match state.user_locks.iter().position(|(n, _)| *n == name) {
                Some(at) => {
                    state.user_locks[at].1 -= 1;
                    if state.user_locks[at].1 == 0 {
                        state.user_locks.swap_remove(at);
                        locks.release(&name, me);
                    }
                    Ok(Value::Int(1))
                }
                None => Ok(if locks.owner(&name).is_some() { Value::Int(0) } else { Value::Null }),
            }
        }
        "RELEASE_ALL_LOCKS" => {
            let n: u64 = state.user_locks.iter().map(|(_, n)| u64::from(*n)).sum();
            state.release_user_locks();
            Ok(Value::UInt(n))
        }
        "IS_FREE_LOCK" => {
            let name = name_of(args.first())?;
            Ok(Value::from(locks.owner(&name).is_none()))
        }
        "IS_USED_LOCK" => {
            let name = name_of(args.first())?;
            Ok(locks.owner(&name).map_or(Value::Null, Value::UInt))
        }
        other => Err(SqlError::unsupported(other)),
    }
}
