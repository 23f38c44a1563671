//! Replies on their way to clients.
//!
//! On the ring a send is quick at first: the kernel tries it while it takes the request, does not wait for room in the
//! socket, and says something only if not all bytes went ([`Ring::send_quick`]). So the call that hands replies over is
//! the one that the worker sleeps in until the next requests come: one system call where a completion for each reply
//! would end the first sleep at once. When the call is back, quick sends of which nothing was said are done
//! ([`settle`]); the rest of others is sent again, by requests that wait.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use super::Worker;
use super::conns::{WorkerConn, wake_if_waiting};
use super::driver::Driver;
use super::event::{Event, SendMode};
use crate::serve::socket;

/// Ends the quick sends that the kernel has taken and has nothing to say of among `events`.
fn settle(worker: &Worker, events: &[Event]) {
    let Driver::Ring(ring) = &worker.driver else { return };
    // Requests that the kernel has refused to take stay queued: they are settled with the next ones.
    if worker.quick.borrow().is_empty() || ring.has_queued() {
        return;
    }
    for event in events {
        if let Event::Sent { key, .. } = event {
            // SAFETY: `inflight` counts this request, so the connection is alive.
            unsafe { &*(*key as *const WorkerConn) }.quick.set(false);
        }
    }
    for c in worker.quick.take() {
        // SAFETY: as above.
        let wc = unsafe { c.as_ref() };
        if wc.quick.replace(false) {
            wc.inflight.set(wc.inflight.get() - 1);
            end_send(worker, c);
        }
    }
}

fn end_send(worker: &Worker, c: NonNull<WorkerConn>) {
    // SAFETY: the send that has ended was this connection's, which is alive.
    let wc = unsafe { c.as_ref() };
    wc.send_inflight.set(false);
    worker.keep_buffer(&mut wc.sending.borrow_mut());
    if wc.closing.get() {
        socket::shutdown(wc.fd.as_raw_fd());
        worker.try_release(wc);
    } else if wc.fiber.get().is_null() {
        // A reset is seen by the reception too; it closes.
    } else {
        wake_if_waiting(wc);
    }
}

impl Worker {
    /// Asks the kernel for events, and settles the sends that it has taken with that.
    #[inline(always)]
    pub(super) fn ask_kernel(&self, timeout: Option<u64>, events: &mut Vec<Event>) {
        // Somebody goes on when a send has ended, of which no event tells.
        let awaited = |c: &NonNull<WorkerConn>| {
            // SAFETY: `inflight` counts the request, so the connection is alive.
            let wc = unsafe { c.as_ref() };
            wc.awaits.get() || wc.closing.get()
        };
        let timeout = if self.quick.borrow().iter().any(awaited) { Some(0) } else { timeout };
        self.driver.wait(timeout, events);
        settle(self, events);
    }

    /// Sends `bytes` without waiting for the end, at once if wanted so. None may be under way.
    #[inline(always)]
    pub(super) fn start_send(&self, wc: &WorkerConn, mut bytes: Vec<u8>, at_once: bool) {
        debug_assert!(!wc.send_inflight.get());
        let mut done = 0;
        let direct = at_once || self.options.send == SendMode::Direct || matches!(self.driver, Driver::Epoll(_));
        if direct && wc.error.get() == 0 {
            match socket::send(&wc.fd, &bytes, libc::MSG_DONTWAIT) {
                Ok(n) => done = n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => wc.error.set(e.raw_os_error().unwrap_or(libc::EIO)),
            }
        }
        if done == bytes.len() || wc.error.get() != 0 {
            return self.keep_buffer(&mut bytes);
        }
        wc.sent.set(done);
        *wc.sending.borrow_mut() = bytes;
        wc.send_inflight.set(true);
        self.send_rest(wc, !direct);
    }

    /// Gives the unsent part of `sending` to the ring; with epoll the next edge continues. `first`: it may be quick.
    fn send_rest(&self, wc: &WorkerConn, first: bool) {
        let ring = match &self.driver {
            Driver::Ring(ring) => ring,
            Driver::Epoll(epoll) => {
                if epoll.want_room(wc.fd.as_raw_fd(), wc as *const WorkerConn as usize).is_err() {
                    wc.error.set(libc::EIO);
                }
                return;
            }
        };
        wc.inflight.set(wc.inflight.get() + 1);
        let sending = wc.sending.borrow();
        let rest = &sending[wc.sent.get()..];
        let (fd, key) = (wc.fd.as_raw_fd(), wc as *const WorkerConn as usize);
        let quick = first && !wc.full.get() && ring.sends_quickly(rest.len());
        // SAFETY: `sending` is neither changed nor freed while `send_inflight`, and the connection outlives its
        // inflight requests.
        unsafe { ring.send(fd, rest.as_ptr(), rest.len(), key, quick) };
        if quick {
            wc.quick.set(true);
            self.quick.borrow_mut().push(NonNull::from(wc));
        }
    }

    pub(super) fn on_sent(&self, key: usize, result: i32) {
        let c = NonNull::new(key as *mut WorkerConn).expect("a connection");
        // SAFETY: `inflight` counts this request, so the connection is alive.
        let wc = unsafe { c.as_ref() };
        wc.inflight.set(wc.inflight.get() - 1);
        if result < 0 && -result != libc::EINTR && -result != libc::EAGAIN {
            wc.error.set(-result);
        }
        wc.sent.set(wc.sent.get() + result.max(0) as usize);
        if wc.error.get() == 0 && wc.sent.get() < wc.sending.borrow().len() {
            wc.full.set(true);
            return self.send_rest(wc, false);
        }
        end_send(self, c);
    }

    /// With epoll: goes on sending.
    pub(super) fn continue_send(&self, c: NonNull<WorkerConn>) {
        // SAFETY: called for an event of the connection, which is alive.
        let wc = unsafe { c.as_ref() };
        while wc.sent.get() < wc.sending.borrow().len() {
            match socket::send(&wc.fd, &wc.sending.borrow()[wc.sent.get()..], libc::MSG_DONTWAIT) {
                Ok(n) => wc.sent.set(wc.sent.get() + n),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) => {
                    wc.error.set(e.raw_os_error().unwrap_or(libc::EIO));
                    break;
                }
            }
        }
        end_send(self, c);
    }
}
