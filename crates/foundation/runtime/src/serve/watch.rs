//! Notices that the peer of a connection with a thread of its own has gone while the thread is busy elsewhere.
//!
//! One thread watches all such sockets for the peer's end of transmission only; nothing is done per request.

use gannet_base::sync::Mutex;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;

use crate::{Interrupt, TaskContext};

struct Watch {
    epoll: OwnedFd,
    contexts: Mutex<(u64, HashMap<u64, TaskContext>)>,
}

static WATCH: OnceLock<Option<Watch>> = OnceLock::new();

/// Keeps a connection watched. Dropped before its socket is closed.
pub(super) struct Watched(u64);

fn watch() -> Option<&'static Watch> {
    WATCH.get_or_init(|| start().ok()).as_ref()
}

fn start() -> io::Result<Watch> {
    // SAFETY: epoll_create1 gives a new descriptor that nobody else owns, or -1.
    let epoll = unsafe {
        let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    crate::start_thread("peer-watch", Some(128 << 10), run)?;
    Ok(Watch { epoll, contexts: Mutex::default() })
}

fn run() {
    // Waits until the static is set: this thread is started while it is being made.
    let Some(watch) = watch() else { return };
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
    loop {
        // SAFETY: there is room for the number of events given.
        let n = unsafe { libc::epoll_wait(watch.epoll.as_raw_fd(), events.as_mut_ptr(), events.len() as i32, -1) };
        for e in &events[..n.max(0) as usize] {
            let gone = {
                let contexts = watch.contexts.lock();
                contexts.1.get(&{ e.u64 }).cloned()
            };
            if let Some(context) = gone {
                context.interrupt(Interrupt::PeerGone);
            }
        }
    }
}

/// Interrupts the context when the socket's peer goes, until the result is dropped. `None` when the system refuses.
pub(super) fn add(fd: &OwnedFd, context: &TaskContext) -> Option<Watched> {
    let watch = watch()?;
    let id = {
        let mut contexts = watch.contexts.lock();
        contexts.0 += 1;
        let id = contexts.0;
        contexts.1.insert(id, context.clone());
        id
    };
    let watched = Watched(id);
    let mut event = libc::epoll_event { events: (libc::EPOLLRDHUP | libc::EPOLLET) as u32, u64: id };
    // SAFETY: both descriptors are open; `event` is valid for the call. Closing the socket ends the watch.
    let n = unsafe { libc::epoll_ctl(watch.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd.as_raw_fd(), &mut event) };
    (n == 0).then_some(watched)
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(watch) = watch() {
            watch.contexts.lock().1.remove(&self.0);
        }
    }
}
