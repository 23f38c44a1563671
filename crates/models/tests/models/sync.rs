//! `gannet_base::sync` over loom, with orderings that can be weakened by source line.

use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::AtomicU64;

pub use loom::sync::MutexGuard;
/// Who owns what for how long is not modelled.
pub use std::sync::{Arc, OnceLock, Weak};

/// A weakening: the source (the end of its path), a text, and which of the lines with that text it is in, from 1; 0:
/// all. Operations there become `Relaxed`, fences vanish.
pub type Weakening = (&'static str, &'static str, usize);

/// The sources in which weakenings may be planted, by the end of their paths.
const SOURCES: &[(&str, &str)] = &[
    ("base/src/sequence.rs", include_str!("../../../foundation/base/src/sequence.rs")),
    ("buffer/src/state.rs", include_str!("../../../storage/buffer/src/state.rs")),
    ("log/src/ring.rs", include_str!("../../../storage/log/src/ring.rs")),
    ("log/src/waiters.rs", include_str!("../../../storage/log/src/waiters.rs")),
    ("log/src/idle.rs", include_str!("../../../storage/log/src/idle.rs")),
    ("lock/src/gaps.rs", include_str!("../../../storage/lock/src/gaps.rs")),
    ("lock/src/graph.rs", include_str!("../../../storage/lock/src/graph.rs")),
    ("lock/src/mdl.rs", include_str!("../../../storage/lock/src/mdl.rs")),
    ("lock/src/owner.rs", include_str!("../../../storage/lock/src/owner.rs")),
    ("lock/src/queue.rs", include_str!("../../../storage/lock/src/queue.rs")),
    ("lock/src/record.rs", include_str!("../../../storage/lock/src/record.rs")),
    ("lock/src/table.rs", include_str!("../../../storage/lock/src/table.rs")),
    ("lock/src/tree.rs", include_str!("../../../storage/lock/src/tree.rs")),
    ("lock/src/trx.rs", include_str!("../../../storage/lock/src/trx.rs")),
    ("engine/src/trxtable.rs", include_str!("../../../storage/engine/src/trxtable.rs")),
];

thread_local! {
    /// Lines of the source the weakening is in, counted from 1.
    static LINES: Cell<Option<(&'static str, &'static [u32])>> = const { Cell::new(None) };
}

/// Plants a weakening for the calling thread's models; `None` takes it out.
///
/// # Panics
/// When there is no such line: the source has changed.
fn weaken(planted: Option<Weakening>) {
    LINES.set(planted.map(|(file, text, nth)| {
        let (_, source) = SOURCES.iter().find(|(name, _)| *name == file).expect("a source of the models");
        let mut found: Vec<u32> =
            (1..).zip(source.lines()).filter(|(_, line)| line.contains(text)).map(|(n, _)| n).collect();
        assert!(found.len() >= nth.max(1), "{file} has no line {nth} with {text}");
        if nth > 0 {
            found = vec![found[nth - 1]];
        }
        (file, &*found.leak())
    }));
}

#[track_caller]
fn is_weak() -> bool {
    let at = Location::caller();
    LINES.get().is_some_and(|(file, lines)| at.file().ends_with(file) && lines.contains(&at.line()))
}

/// Just before an operation on shared state: loom knows by itself.
pub fn sched_point() {}

/// A turn of a spin-wait.
pub fn spin_hint() {
    loom::thread::yield_now();
}

/// Spins: another thread must run first.
#[derive(Default)]
pub struct Backoff;

impl Backoff {
    /// Turns before a thread gives way: here each one does.
    pub const SPINS: u32 = 0;

    /// A fresh back-off.
    pub const fn new() -> Self {
        Backoff
    }

    /// Waits for another thread.
    pub fn wait(&mut self) {
        loom::thread::yield_now();
    }
}

/// A lock without poisoning.
#[derive(Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    /// Waits until the lock is free and takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }
}

/// Atomics that may be weakened.
pub mod atomic {
    use Ordering::*;
    pub use loom::sync::atomic::Ordering;

    use super::is_weak;

    /// A fence, unless it is planted away.
    #[track_caller]
    pub fn fence(order: Ordering) {
        if !is_weak() {
            loom::sync::atomic::fence(order);
        }
    }

    macro_rules! atomics {
        ($($name:ident: $value:ty,)*) => { $(
            /// An atomic of loom's.
            #[derive(Default, Debug)]
            pub struct $name(loom::sync::atomic::$name);

            impl $name {
                /// An atomic with this value.
                pub fn new(value: $value) -> Self {
                    Self(loom::sync::atomic::$name::new(value))
                }

                /// Reads.
                #[track_caller]
                pub fn load(&self, order: Ordering) -> $value {
                    self.0.load(if is_weak() { Relaxed } else { order })
                }

                /// Writes.
                #[track_caller]
                pub fn store(&self, value: $value, order: Ordering) {
                    self.0.store(value, if is_weak() { Relaxed } else { order });
                }

                /// Exchanges.
                #[track_caller]
                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    self.0.swap(value, if is_weak() { Relaxed } else { order })
                }

                /// Exchanges what is expected.
                #[track_caller]
                pub fn compare_exchange(
                    &self,
                    old: $value,
                    new: $value,
                    then: Ordering,
                    otherwise: Ordering,
                ) -> Result<$value, $value> {
                    let (then, otherwise) = if is_weak() { (Relaxed, Relaxed) } else { (then, otherwise) };
                    self.0.compare_exchange(old, new, then, otherwise)
                }

                /// Exchanges what is expected, or fails for no reason.
                #[track_caller]
                pub fn compare_exchange_weak(
                    &self,
                    old: $value,
                    new: $value,
                    then: Ordering,
                    otherwise: Ordering,
                ) -> Result<$value, $value> {
                    self.compare_exchange(old, new, then, otherwise)
                }
            }
        )* };
    }

    macro_rules! numbers {
        ($($name:ident: $value:ty,)*) => { $(
            impl $name {
                /// Adds; gives the value before.
                #[track_caller]
                pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                    self.0.fetch_add(value, if is_weak() { Relaxed } else { order })
                }

                /// Subtracts; gives the value before.
                #[track_caller]
                pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                    self.0.fetch_sub(value, if is_weak() { Relaxed } else { order })
                }

                /// The greater of the two; gives the value before.
                #[track_caller]
                pub fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                    self.0.fetch_max(value, if is_weak() { Relaxed } else { order })
                }
            }
        )* };
    }

    /// What the server uses where the processor's instructions do the rest: stronger here than there.
    #[track_caller]
    pub fn compiler_fence(order: Ordering) {
        fence(order);
    }

    atomics! { AtomicU64: u64, AtomicUsize: usize, AtomicBool: bool, AtomicU8: u8, }
    numbers! { AtomicU64: u64, AtomicUsize: usize, }
}

/// Runs a model: every order of its threads' steps with at most `preemptions` switches that no thread asked for.
pub fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) -> u64 {
    // The thread's counters are made here, on its own stack: those of a model's threads are too small for that.
    gannet_telemetry::count(gannet_telemetry::Counter::LockTimeouts);
    let runs = Arc::new(AtomicU64::new(0));
    let counted = runs.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(move || {
        counted.fetch_add(1, atomic::Ordering::Relaxed);
        model()
    });
    runs.load(atomic::Ordering::Relaxed)
}

/// The weakening to be planted in this process, as a number.
const PLANTED: &str = "GANNET_WEAKENED";

/// Runs a model sound, then with each weakening, which it must notice: in processes of their own, since a model that
/// deadlocks aborts. `test` is the name of the calling test.
pub fn sound_and_weakened(test: &str, preemptions: usize, model: fn(), weakenings: &[Weakening]) {
    if let Ok(n) = std::env::var(PLANTED) {
        weaken(Some(weakenings[n.parse::<usize>().expect("a number")]));
        check(preemptions, model);
        return;
    }
    let started = std::time::Instant::now();
    let runs = check(preemptions, model);
    println!("{test}: {runs} executions, {} ms", started.elapsed().as_millis());
    let mut missed = Vec::new();
    for (n, weakening) in weakenings.iter().enumerate() {
        let started = std::time::Instant::now();
        let program = std::env::current_exe().expect("this program");
        let mut child = std::process::Command::new(program);
        let child = child.args([test, "--exact", "--test-threads", "1"]).env(PLANTED, n.to_string());
        let found = !child.output().expect("this program runs").status.success();
        println!("  weakened {weakening:?}: {} ms, noticed: {found}", started.elapsed().as_millis());
        if !found {
            missed.push(weakening);
        }
    }
    assert!(missed.is_empty(), "{test}: not noticed: {missed:?}");
}
