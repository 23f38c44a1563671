//! Processor time of sessions, where that is measured: [`gannet_telemetry::measures_cpu`].

/// The command of the current session begins or goes on: its processor time runs.
#[inline]
pub fn cpu_runs() {
    if gannet_telemetry::measures_cpu() {
        gannet_telemetry::cpu_from(thread_ns());
    }
}

/// It pauses or ends: its processor time is counted up to here.
#[inline]
pub fn cpu_rests() {
    if gannet_telemetry::measures_cpu() {
        gannet_telemetry::cpu_upto(thread_ns());
    }
}

/// Processor time that this thread has taken, in nanoseconds.
#[cold]
fn thread_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a plain call with a valid structure.
    if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } < 0 {
        return 0;
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
