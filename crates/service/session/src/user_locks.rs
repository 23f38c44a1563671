//! The functions of named locks: GET_LOCK and its kin.

use gannet_core::Core;
use gannet_core::user_locks::Refused;
use gannet_runtime::now_ns;
use gannet_types::{Result, SqlError, Value, convert, sql_err};

/// MySQL: names have at most 64 characters.
const MAX_NAME: usize = 64;

fn name_of(v: Option<&Value>) -> Result<String> {
    let text = v.filter(|v| !v.is_null()).map(Value::as_ref).ok_or_else(|| sql_err!(UserLockWrongName, "NULL"))?;
    let name = String::from_utf8_lossy(&convert::utf8_text(&text)).to_lowercase();
    if name.is_empty() || name.chars().count() > MAX_NAME {
        return Err(sql_err!(UserLockWrongName, name));
    }
    Ok(name)
}

/// Locks of GET_LOCK that a session has, with how often each is held.
#[derive(Default)]
pub(crate) struct NamedLocks(Vec<(String, u32)>);

impl NamedLocks {
    /// `me`: the connection's id. `deadline`: monotonic nanoseconds.
    fn acquire(
        &mut self,
        core: &Core,
        me: u64,
        name: String,
        deadline: Option<u64>,
    ) -> std::result::Result<(), Refused> {
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, n)) => *n += 1,
            None => {
                core.user_locks.acquire(&name, me, deadline)?;
                self.0.push((name, 1));
            }
        }
        Ok(())
    }

    /// `false`: it is not this session's.
    fn release(&mut self, core: &Core, me: u64, name: &str) -> bool {
        let Some(at) = self.0.iter().position(|(n, _)| n == name) else { return false };
        self.0[at].1 -= 1;
        if self.0[at].1 == 0 {
            self.0.swap_remove(at);
            core.user_locks.release(name, me);
        }
        true
    }

    /// Gives how often they were held, all together.
    pub(crate) fn release_all(&mut self, core: &Core, me: u64) -> u64 {
        let held = std::mem::take(&mut self.0).into_iter();
        held.map(|(name, n)| {
            core.user_locks.release(&name, me);
            u64::from(n)
        })
        .sum()
    }

    /// GET_LOCK, RELEASE_LOCK, RELEASE_ALL_LOCKS, IS_FREE_LOCK, IS_USED_LOCK.
    pub(crate) fn call(&mut self, core: &Core, me: u64, function: &'static str, args: &[Value]) -> Result<Value> {
        match function {
            "GET_LOCK" => {
                let name = name_of(args.first())?;
                let seconds = match args.get(1) {
                    Some(Value::Int(n)) => *n as f64,
                    Some(Value::UInt(n)) => *n as f64,
                    Some(Value::Double(d)) => *d,
                    Some(Value::Decimal(d)) => d.to_f64(),
                    _ => 0.0,
                };
                let deadline = (seconds >= 0.0).then(|| now_ns().saturating_add((seconds.min(1e9) * 1e9) as u64));
                match self.acquire(core, me, name, deadline) {
                    Ok(()) => Ok(Value::Int(1)),
                    Err(Refused::Timeout) => Ok(Value::Int(0)),
                    Err(Refused::Interrupted) => Ok(Value::Null),
                    Err(Refused::Deadlock) => Err(sql_err!(UserLockDeadlock)),
                }
            }
            "RELEASE_LOCK" => {
                let name = name_of(args.first())?;
                if self.release(core, me, &name) {
                    return Ok(Value::Int(1));
                }
                Ok(core.user_locks.owner(&name).map_or(Value::Null, |_| Value::Int(0)))
            }
            "RELEASE_ALL_LOCKS" => Ok(Value::UInt(self.release_all(core, me))),
            "IS_FREE_LOCK" => Ok(Value::from(core.user_locks.owner(&name_of(args.first())?).is_none())),
            "IS_USED_LOCK" => Ok(core.user_locks.owner(&name_of(args.first())?).map_or(Value::Null, Value::UInt)),
            other => Err(SqlError::unsupported(other)),
        }
    }
}
