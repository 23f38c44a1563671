//! Workers, fibers, parking, timers, file and socket I/O, and the simulated twin of all of it.
//!
//! All waiting, time, randomness, disk and network of the server go through the free functions and types of this crate.
//! They act on the *current task*: a plain thread, a fiber on a worker thread, or a fiber of the simulation, so code
//! above is plain synchronous Rust that runs in all three. `README.md` beside this crate tells how it waits and what a
//! task may not hold while it does.

#![warn(missing_docs)]

mod batch;
mod buf;
mod cpu;
mod cx;
mod fiber;
mod figures;
mod file;
pub mod fs;
mod monitor;
mod op;
mod os;
mod pool;
mod serve;
pub mod sim;
mod spawn;
mod stack;
mod task;
mod threads;
mod time;
mod together;
mod worker;

pub use buf::{ALIGN, AlignedBuf};
pub use cpu::{cpu_rests, cpu_runs};
pub use cx::simulated;
pub use figures::{FileCount, FileFigures, FileUse, file_figures, forget_file_figures, open_files};
pub use file::{File, OpenOptions};
pub use gannet_base::slot::MAX_SLOTS;
pub use gannet_telemetry::{LongWork, Stage, Wait};
pub use monitor::Monitor;
pub use os::{
    bound_free_memory, cpu_ns, cpu_times_us, raise_descriptor_limit, read_secret, release_free_memory, resident_bytes,
    run_blocking, run_long, tell_service_manager,
};
pub use serve::{
    Addr, Conn, Factory, Listener, ListenerOptions, Next, Panicked, Peer, Ready, Service, ThreadHandling, Transport,
    connect_from, remember_panics,
};
pub use spawn::{JoinHandle, spawn, spawn_beside, spawn_local, workers_beside};
pub use stack::{LastWord, last_words_to, remaining_stack};
pub use task::{
    Hurry, Interrupt, InterruptMask, TaskContext, Unpark, Waker, context, hurries, hurry, interrupted, interruption,
    mask_interrupts, may_park, park, site, slot, slot_count, waker, yield_if_due, yield_now,
};
pub use threads::{ThreadInfo, start_thread, threads};
pub use time::{WallTime, now_ns, random_u64, sleep};
pub use together::{beside, together};
pub use worker::{IoMode, RecvMode, SendMode, WorkerOptions, Workers};
