//! What may block a thread, executed so that it holds up no other task: operations on files, long calls.

use std::io;

use gannet_telemetry::Wait;

use crate::batch;
use crate::cx::{Kind, kind};
use crate::op::Op;
use crate::worker;

/// Lets this process open as many files and sockets as the system allows it; how many that is.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a plain call with a valid structure.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: as above.
    let raised = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } == 0;
    Ok(if raised { limit.rlim_cur } else { before })
}

/// Processor time that this process has taken, in nanoseconds.
pub fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a plain call with a valid structure.
    if unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) } < 0 {
        return 0;
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Processor time that this process has taken itself, and in the system, in microseconds.
pub fn cpu_times_us() -> (u64, u64) {
    let zero = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: a plain call with room for the structure, which is of integers only: zeros are valid.
    let (user, system) = unsafe {
        match libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) {
            0 => (usage.assume_init().ru_utime, usage.assume_init().ru_stime),
            _ => (zero, zero),
        }
    };
    let us = |t: libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
    (us(user), us(system))
}

/// Bounds the free memory that the allocator keeps for each of its arenas: by itself it keeps up to 64 MiB at the
/// end of each, which [`release_free_memory`] does not reach. Before other threads are begun.
pub fn bound_free_memory() {
    #[cfg(target_env = "gnu")]
    for (what, bytes) in [(libc::M_MMAP_THRESHOLD, 32 << 20), (libc::M_TRIM_THRESHOLD, 8 << 20)] {
        // SAFETY: no other thread uses the allocator yet; the values are within mallopt(3)'s bounds, and one that it
        // refused would leave it as it is.
        unsafe { libc::mallopt(what, bytes) };
    }
}

/// Gives memory that was freed back to the system: after something large is over. The allocator keeps it otherwise.
/// Takes milliseconds for each hundred megabytes; run it with [`run_blocking`] where tasks would notice.
pub fn release_free_memory() {
    #[cfg(target_env = "gnu")]
    if !crate::cx::simulated() {
        // SAFETY: may be called at any time, by any thread (malloc_trim(3)).
        unsafe { libc::malloc_trim(0) };
    }
}

/// Asks the person at the terminal for a line that is not shown while it is typed.
pub fn read_secret(prompt: &str) -> io::Result<String> {
    use std::io::{BufRead, Write};
    use std::os::fd::AsRawFd;
    let terminal = std::fs::File::options().read(true).write(true).open("/dev/tty")?;
    let fd = terminal.as_raw_fd();
    // SAFETY: all zero bytes are a value of this plain structure.
    let mut before: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: an open descriptor and a valid structure.
    if unsafe { libc::tcgetattr(fd, &mut before) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut silent = before;
    silent.c_lflag &= !libc::ECHO;
    (&terminal).write_all(prompt.as_bytes())?;
    let mut line = String::new();
    // SAFETY: as above.
    if unsafe { libc::tcsetattr(fd, libc::TCSAFLUSH, &silent) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let read = io::BufReader::new(&terminal).read_line(&mut line);
    // SAFETY: as above.
    unsafe { libc::tcsetattr(fd, libc::TCSAFLUSH, &before) };
    (&terminal).write_all(b"\n")?;
    read?;
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}

/// Tells the service manager that started this process (systemd's `Type=notify`), if one did: `READY=1`, `STOPPING=1`.
pub fn tell_service_manager(state: &str) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::{ffi::OsStrExt, net};
    let Some(at) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match at.as_bytes().strip_prefix(b"@") {
        Some(name) => net::SocketAddr::from_abstract_name(name),
        None => net::SocketAddr::from_pathname(&at),
    };
    // A manager that cannot be told waits in vain, and says so.
    let _ = address.and_then(|to| net::UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &to));
}

/// Bytes of this process that are in memory; `None` where the system does not tell.
pub fn resident_bytes() -> Option<u64> {
    if crate::cx::simulated() {
        return None;
    }
    let figures = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = figures.split_ascii_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: a plain call.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * u64::try_from(page).ok()?)
}

/// Executes an operation, waiting without blocking other tasks: the count of bytes, or the error.
pub(crate) fn perform(op: Op) -> io::Result<usize> {
    let mut result = [0];
    measured(&op, || match kind() {
        Kind::Fiber if !std::thread::panicking() => worker::perform(&[op], &mut result),
        _ => result[0] = op.execute(),
    });
    if result[0] < 0 { Err(io::Error::from_raw_os_error(-result[0])) } else { Ok(result[0] as usize) }
}

/// Executes several operations, many in flight at once where that is possible; `results` gets one entry each, a byte
/// count or a negated error number.
pub(crate) fn perform_many(ops: &[Op], results: &mut Vec<i32>) {
    results.clear();
    let Some(first) = ops.first() else { return };
    results.resize(ops.len(), 0);
    measured(first, || match kind() {
        Kind::Fiber if !std::thread::panicking() => worker::perform(ops, results),
        _ if ops.len() > 1 && batch::perform(ops, results) => {}
        _ => results.iter_mut().zip(ops).for_each(|(result, op)| *result = op.execute()),
    });
}

/// Shows and records that the current task waits for a file.
fn measured(op: &Op, f: impl FnOnce()) {
    let why = match op {
        Op::Read { .. } => Wait::FileRead,
        Op::Write { .. } | Op::Writev { .. } => Wait::FileWrite,
        Op::Sync { .. } => Wait::FileSync,
        Op::Allocate { .. } => Wait::FileMeta,
    };
    crate::task::waiting(why, f);
}

/// Runs a closure that may block the thread for long (name look-ups, metadata of files, slow hashing) without holding
/// up the worker: on a fiber it runs on a helper thread and parks the fiber, elsewhere it just runs.
pub fn run_blocking<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    match kind() {
        Kind::Fiber if !std::thread::panicking() => worker::run_blocking(f),
        _ => f(),
    }
}

/// Computes what may take long without holding up the worker: as [`run_blocking`], on helper threads of its own. There
/// [`interrupted`] tells of the task that waits for it; nothing in `f` may wait for anything but processor time.
///
/// [`interrupted`]: crate::interrupted
pub fn run_long<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    match kind() {
        Kind::Fiber if !std::thread::panicking() => worker::run_long(f),
        _ => f(),
    }
}
