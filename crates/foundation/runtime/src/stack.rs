//! Stacks and their ends: what is left of the current one, and a last word when one has overflowed all the same.
//!
//! Below every stack, a fiber's or a thread's, lies a page that may not be touched. What recurses asks
//! [`remaining_stack`] and fails with an error long before. Code that did not ask, and went too far, faults in that
//! page; nothing sound can be done about it then: the code cannot be unwound from an arbitrary instruction, and what it
//! held cannot be let go. The process ends, but not silently: a handler on a stack of its own writes which thread,
//! fiber and task it was.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::{Once, Weak};

use gannet_base::stack;

use crate::cx::{CX, Kind};

/// Bytes of stack left to the current task: parsers and evaluators of nested expressions refuse with an error before it
/// runs out. Works on fibers and on plain threads.
#[inline]
pub fn remaining_stack() -> usize {
    if stack::low() == 0 {
        find_thread_stack();
    }
    stack::remaining()
}

/// Looks up the calling thread's stack once.
#[cold]
pub(crate) fn find_thread_stack() {
    // SAFETY: `attr` is initialised by pthread_getattr_np when that returns 0, and destroyed exactly then.
    let low = unsafe {
        let mut attr = std::mem::zeroed::<libc::pthread_attr_t>();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attr) == 0 {
            let (mut base, mut size, mut guard) = (std::ptr::null_mut(), 0, 0);
            libc::pthread_attr_getstack(&attr, &mut base, &mut size);
            libc::pthread_attr_getguardsize(&attr, &mut guard);
            libc::pthread_attr_destroy(&mut attr);
            base as usize + guard
        } else {
            0
        }
    };
    // Not known: assume that 64 KiB are left below here.
    stack::set_low(if low == 0 { stack::position().saturating_sub(64 << 10) } else { low });
}

/// What a task is about, for the handler of a stack that has overflowed. It runs in a signal handler: it reads memory,
/// and takes no lock and allocates nothing.
pub trait LastWord: Send + Sync {
    /// Writes it to `out`; gives the number of bytes.
    fn last_word(&self, out: &mut [u8]) -> usize;
}

/// Where the last word goes.
static LOG: AtomicI32 = AtomicI32::new(libc::STDERR_FILENO);

/// The last word goes to this open file from now on; it stays open as long as the process lives.
pub fn last_words_to(file: std::os::fd::RawFd) {
    LOG.store(file, Relaxed);
}

/// Bytes below a stack's lowest usable address in which a fault is an overflow: code compiled from Rust touches every
/// page that it passes.
const GUARD: usize = 4096;
/// Bytes of a handler's stack; the kernel's frame with all vector registers is up to 12 KiB.
const HANDLER_STACK: usize = 64 << 10;

/// Has overflows of the calling thread's stacks reported. Called by every thread that the runtime starts.
pub(crate) fn watch_thread() {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        for (signal, before) in [libc::SIGSEGV, libc::SIGBUS].into_iter().zip(&BEFORE) {
            // SAFETY: a zeroed sigaction is a valid one; the handler has the signature that SA_SIGINFO demands, and
            // what it does is allowed in a signal handler.
            unsafe {
                let mut action = std::mem::zeroed::<libc::sigaction>();
                action.sa_sigaction = overflowed as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                let mut old = std::mem::zeroed::<libc::sigaction>();
                if libc::sigaction(signal, &action, &mut old) == 0 {
                    let _ = before.0.set(old);
                }
            }
        }
    });
    if stack::low() == 0 {
        find_thread_stack();
    }
    // SAFETY: the memory is mapped, and stays so; a thread has one stack for handlers, which it gets here if it has
    // none.
    unsafe {
        let mut now = std::mem::zeroed::<libc::stack_t>();
        if libc::sigaltstack(std::ptr::null(), &mut now) == 0 && now.ss_flags & libc::SS_DISABLE != 0 {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let memory = libc::mmap(std::ptr::null_mut(), HANDLER_STACK, access, flags, -1, 0);
            if memory != libc::MAP_FAILED {
                let own = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: HANDLER_STACK };
                libc::sigaltstack(&own, std::ptr::null_mut());
            }
        }
    }
}

/// The handlers that were there before.
struct Before(std::sync::OnceLock<libc::sigaction>);

// SAFETY: a sigaction is plain numbers.
unsafe impl Sync for Before {}

static BEFORE: [Before; 2] = [const { Before(std::sync::OnceLock::new()) }; 2];

/// The handler: tells of an overflow, and leaves the fault to the handler that was there before, or to the kernel. The
/// instruction faults again when this returns.
extern "C" fn overflowed(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid siginfo for a fault.
    let address = unsafe { (*info).si_addr() } as usize;
    let low = stack::low();
    let kind = CX.with(|cx| cx.kind.get());
    // A thread's guard lies at its lowest usable address as found, or below it: that depends on the C library.
    let reach = if matches!(kind, Kind::Fiber | Kind::Sim) { GUARD } else { 2 * GUARD };
    if low != 0 && (low.saturating_sub(reach)..low).contains(&address) {
        tell(kind);
    }
    let before = &BEFORE[usize::from(signal != libc::SIGSEGV)];
    // SAFETY: the actions are what sigaction gave, or a zeroed one, which is the default.
    unsafe {
        let default = std::mem::zeroed::<libc::sigaction>();
        libc::sigaction(signal, before.0.get().unwrap_or(&default), std::ptr::null_mut());
    }
}

/// Writes the last word: one write of a buffer on the handler's stack.
fn tell(kind: Kind) {
    let mut line = Line { bytes: [0; 512], len: 0 };
    line.push(b"gannet: a stack has overflowed, the server cannot go on. Thread ");
    let mut name = [0u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes, a NUL at their end.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    line.push(name.split(|b| *b == 0).next().unwrap_or_default());
    let (fiber, context) = CX.with(|cx| (cx.fiber.get(), cx.context.get()));
    if kind == Kind::Fiber {
        line.push(b", fiber ");
        line.number(fiber as usize);
    }
    // SAFETY: the pointer is the current task's context, which lives as long as the task runs.
    if let Some(word) = unsafe { context.as_ref() }.and_then(|c| c.last_word.get()).and_then(Weak::upgrade) {
        line.push(b", ");
        let (_, free) = line.bytes.split_at_mut(line.len);
        line.len += word.last_word(free).min(free.len());
        // Its memory is not for a handler to give back.
        std::mem::forget(word);
    }
    line.len = line.len.min(line.bytes.len() - 1);
    line.push(b"\n");
    let file = LOG.load(Relaxed);
    // SAFETY: the bytes are valid; a file that cannot be written has nobody to tell.
    unsafe { libc::write(file, line.bytes.as_ptr().cast(), line.len) };
}

struct Line {
    bytes: [u8; 512],
    len: usize,
}

impl Line {
    fn push(&mut self, text: &[u8]) {
        for (to, from) in self.bytes[self.len..].iter_mut().zip(text) {
            *to = *from;
            self.len += 1;
        }
    }

    fn number(&mut self, n: usize) {
        self.push(b"0x");
        for shift in (0..usize::BITS / 4).rev().skip_while(|s| n >> (s * 4) == 0) {
            self.push(&[b"0123456789abcdef"[n >> (shift * 4) & 15]]);
        }
    }
}
