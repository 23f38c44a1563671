//! Assertions in two tiers.
//!
//! [`check!`](crate::check) is cheap and always on: better to stop than to corrupt. [`paranoid!`](crate::paranoid) is
//! for expensive checks; it is compiled in with `RUSTFLAGS="--cfg paranoid"` and type-checked always. `.ci/full` runs
//! storage's tests with it: pages after each mini-transaction, undo records, lock queues, what the space map's trees
//! have.

/// Whether [`paranoid!`](crate::paranoid) looks.
#[allow(unexpected_cfgs)]
pub const PARANOID: bool = cfg!(paranoid);

/// Stops the process's current task when an invariant does not hold. Always compiled in: keep the condition cheap.
#[macro_export]
macro_rules! check {
    ($cond:expr $(,)?) => {
        if !$cond { $crate::invariant_failed(stringify!($cond), None) }
    };
    ($cond:expr, $($arg:tt)+) => {
        if !$cond { $crate::invariant_failed(stringify!($cond), Some(format_args!($($arg)+))) }
    };
}

/// An expensive invariant, evaluated only where [`PARANOID`](crate::PARANOID) is set.
#[macro_export]
macro_rules! paranoid {
    ($cond:expr $(,)?) => {
        if $crate::PARANOID && !$cond { $crate::invariant_failed(stringify!($cond), None) }
    };
    ($cond:expr, $($arg:tt)+) => {
        if $crate::PARANOID && !$cond { $crate::invariant_failed(stringify!($cond), Some(format_args!($($arg)+))) }
    };
}

/// The cold end of the assertion macros: panics with the condition and, if given, the explanation.
#[cold]
#[inline(never)]
#[track_caller]
pub fn invariant_failed(cond: &str, why: Option<std::fmt::Arguments<'_>>) -> ! {
    match why {
        Some(why) => panic!("invariant does not hold: {cond}: {why}"),
        None => panic!("invariant does not hold: {cond}"),
    }
}
