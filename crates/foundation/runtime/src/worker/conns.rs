//! Connections of a worker.
//!
//! Who owns what: between requests the worker owns all of a [`WorkerConn`]. While a fiber serves it (`fiber` is set),
//! the fiber owns `service` and `conn` exclusively and the worker's loop touches only the other fields; bytes that
//! arrive meanwhile wait in `pending`. A connection whose service has left the rest of a request for later (`held` is
//! set) belongs to the loop, but is served all the same: bytes wait in `pending`, nothing closes it. The kernel owns
//! `sending` while `send_inflight`.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use gannet_base::sync::atomic::Ordering::Relaxed;
use gannet_telemetry::Wait;

use super::driver::Driver;
use super::{Fiber, Job, SWEEP_NS, Worker};
use crate::serve::{Conn, Link, Next, Peer, Ready, Service, socket, tell_panic, wait_for_rest};
use crate::task::{Interrupt, TaskContext, Unpark};
use crate::{mask_interrupts, park};

/// One connection.
#[repr(align(16))]
pub(crate) struct WorkerConn {
    pub(super) fd: OwnedFd,
    id: u64,
    service: UnsafeCell<Box<dyn Service>>,
    conn: UnsafeCell<Conn>,
    pub(super) context: TaskContext,
    /// The fiber that serves it now, or null.
    pub(super) fiber: Cell<*const Fiber>,
    /// The service has left the rest of a request for later, and why: the connection is in the worker's list of those.
    held: Cell<Option<Wait>>,
    /// Received while being served.
    pending: RefCell<Vec<u8>>,
    /// With the ring: a reception is with the kernel.
    receiving: Cell<bool>,
    /// With epoll: the socket may hold bytes not yet read.
    readable: Cell<bool>,
    /// Epoll has announced the peer's end: the socket is read until it comes.
    ended: Cell<bool>,
    eof: Cell<bool>,
    /// Why the socket cannot be used any more: an errno.
    pub(super) error: Cell<i32>,
    /// The serving fiber is parked for bytes, or for the send to end.
    pub(super) awaits: Cell<bool>,
    pub(super) sending: RefCell<Vec<u8>>,
    pub(super) sent: Cell<usize>,
    pub(super) send_inflight: Cell<bool>,
    /// The kernel says nothing of that send, unless it fails.
    pub(super) quick: Cell<bool>,
    /// The socket was full during the present request: further sends of it wait for room.
    pub(super) full: Cell<bool>,
    /// Requests with the kernel that name this connection.
    pub(super) inflight: Cell<u32>,
    pub(super) closing: Cell<bool>,
    /// When (in sweeps, by the worker's clock) it last became idle, or was closed.
    since: Cell<u32>,
    index: Cell<u32>,
}

/// Bytes that may wait in `pending`; reception stops beyond.
const MAX_PENDING: usize = 64 << 10;
/// Bytes received by one system call where the ring does not do it.
const CHUNK: usize = 16 << 10;
/// Buffers kept by a worker, and the largest one worth keeping.
const KEEP_BUFFERS: usize = 256;
const KEEP_CAPACITY: usize = 64 << 10;
/// Idle times are counted in sweeps.
const TICKS_PER_S: u32 = (1_000_000_000 / SWEEP_NS) as u32;
/// A closed connection whose peer does not take the last reply is cut off after this long.
const LINGER: u32 = 10 * TICKS_PER_S;

fn ticks(now: u64) -> u32 {
    (now / SWEEP_NS) as u32
}

impl WorkerConn {
    /// Not between requests: a fiber serves it, or the rest of one is left for later.
    fn is_served(&self) -> bool {
        !self.fiber.get().is_null() || self.held.get().is_some()
    }
}

impl Worker {
    fn take_buffer(&self) -> Vec<u8> {
        self.buffers.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes a buffer's memory away: for the next one that is needed, or to be freed.
    pub(super) fn keep_buffer(&self, buffer: &mut Vec<u8>) {
        let capacity = buffer.capacity();
        if capacity == 0 {
            return;
        }
        let mut kept = self.buffers.borrow_mut();
        if capacity <= KEEP_CAPACITY && kept.len() < KEEP_BUFFERS {
            buffer.clear();
            kept.push(std::mem::take(buffer));
        } else {
            *buffer = Vec::new();
        }
    }

    pub(super) fn open_conn(&self, fd: OwnedFd, peer: Peer, context: TaskContext, service: Box<dyn Service>) {
        let id = context.0.route.worker().map_or(0, |&(_, id)| id);
        let raw = fd.as_raw_fd();
        let conn = Box::new(WorkerConn {
            fd,
            id,
            service: UnsafeCell::new(service),
            conn: UnsafeCell::new(Conn::new(peer, context.clone(), Link::Worker(NonNull::dangling()))),
            context,
            fiber: Cell::new(std::ptr::null()),
            held: Cell::new(None),
            pending: RefCell::default(),
            receiving: Cell::new(false),
            readable: Cell::new(false),
            ended: Cell::new(false),
            eof: Cell::new(false),
            error: Cell::new(0),
            awaits: Cell::new(false),
            sending: RefCell::default(),
            sent: Cell::new(0),
            send_inflight: Cell::new(false),
            quick: Cell::new(false),
            full: Cell::new(false),
            inflight: Cell::new(0),
            closing: Cell::new(false),
            since: Cell::new(ticks(self.now.get())),
            index: Cell::new(self.conns.borrow().len() as u32),
        });
        let c = NonNull::from(Box::leak(conn));
        // SAFETY: just made; nobody else has it.
        unsafe { (*c.as_ref().conn.get()).link = Link::Worker(c) };
        if self.conns.borrow().is_empty() && self.lingering.borrow().is_empty() {
            self.next_sweep.set(self.now.get() + SWEEP_NS);
        }
        self.conns.borrow_mut().push(c);
        self.by_id.borrow_mut().insert(id, c);
        if let Driver::Epoll(epoll) = &self.driver {
            socket::set_nonblocking(raw);
            if epoll.add(raw, c.as_ptr() as usize).is_err() {
                return self.start_fiber(Job::Close(c));
            }
        }
        if self.stopping.get() {
            return self.start_fiber(Job::Close(c));
        }
        self.dispatch(c);
    }

    /// Lets the service of an idle connection look at its bytes, and does what it says.
    #[inline(always)]
    fn dispatch(&self, c: NonNull<WorkerConn>) {
        // SAFETY: connections are freed only by `release`, which no event can follow.
        let wc = unsafe { c.as_ref() };
        debug_assert!(!wc.is_served());
        // SAFETY: no fiber serves it, so the worker owns both.
        let ready = unsafe { look(&mut **wc.service.get(), &mut *wc.conn.get()) };
        match ready {
            Ready::NeedMore if !self.become_idle(c) => self.start_fiber(Job::Close(c)),
            Ready::NeedMore => {}
            Ready::Serve => {
                // Also while it is served: the peer's end is then seen at once.
                self.want_bytes(wc);
                self.start_fiber(Job::Serve(c))
            }
            Ready::Close => self.start_fiber(Job::Close(c)),
        }
    }

    /// Waits for the client's next bytes, holding no buffers if none are needed. False: the connection has ended, and
    /// the caller closes it, on the fiber that it may be on.
    fn become_idle(&self, c: NonNull<WorkerConn>) -> bool {
        // SAFETY: as in `dispatch`; no fiber serves it any more, or the one that calls is done with it.
        let (wc, conn) = unsafe { (c.as_ref(), &mut *c.as_ref().conn.get()) };
        // The message that told of it came while a fiber served the connection, which did not look.
        if wc.context.pending().is_some_and(|i| i >= Interrupt::PeerGone) {
            return false;
        }
        wc.fiber.set(std::ptr::null());
        wc.full.set(false);
        wc.since.set(ticks(self.now.get()));
        self.give_buffers_back(conn);
        self.want_bytes(wc);
        true
    }

    /// Buffers with nothing in them go to whoever needs some next.
    fn give_buffers_back(&self, conn: &mut Conn) {
        if conn.buffered().is_empty() {
            self.keep_buffer(&mut conn.input);
            conn.pos = 0;
        }
        self.keep_buffer(&mut conn.out);
    }

    /// Makes sure that bytes which arrive are received.
    fn want_bytes(&self, wc: &WorkerConn) {
        if wc.eof.get() || wc.error.get() != 0 || wc.closing.get() {
            return;
        }
        match &self.driver {
            Driver::Ring(ring) => {
                if !wc.receiving.replace(true) {
                    wc.inflight.set(wc.inflight.get() + 1);
                    ring.receive(wc.fd.as_raw_fd(), wc as *const WorkerConn as usize);
                }
            }
            Driver::Epoll(_) => {}
        }
    }

    pub(super) fn on_received(&self, key: usize, result: i32, buffer: Option<u16>, more: bool) {
        let c = NonNull::new(key as *mut WorkerConn).expect("a connection");
        // SAFETY: `inflight` counts this request, so the connection is alive.
        let wc = unsafe { c.as_ref() };
        if !more {
            wc.receiving.set(false);
            wc.inflight.set(wc.inflight.get() - 1);
        }
        let Driver::Ring(ring) = &self.driver else { return };
        let bytes = match buffer {
            Some(id) => ring.buffer(id, result.max(0) as usize),
            None => &[],
        };
        let dispatch = !wc.closing.get() && result > 0 && self.take_bytes(c, bytes);
        if let Some(id) = buffer {
            ring.give_back(id);
        }
        if wc.closing.get() {
            return self.try_release(wc);
        }
        match result {
            1.. if dispatch => self.dispatch(c),
            1.. => {
                if wc.pending.borrow().len() < MAX_PENDING {
                    self.want_bytes(wc);
                } else if wc.receiving.get() {
                    ring.cancel_receive(key);
                }
            }
            0 => self.on_end(c, 0),
            // All provided buffers were in use for a moment; or the reception was stopped because enough is pending.
            e if -e == libc::ENOBUFS || -e == libc::EINTR => self.want_bytes(wc),
            e if -e == libc::ECANCELED => {
                if wc.awaits.get() || !wc.is_served() {
                    self.want_bytes(wc);
                }
            }
            e => self.on_end(c, -e),
        }
    }

    /// Keeps bytes that have arrived. `true` when the service should look at them.
    fn take_bytes(&self, c: NonNull<WorkerConn>, bytes: &[u8]) -> bool {
        // SAFETY: as in `dispatch`.
        let wc = unsafe { c.as_ref() };
        if !wc.is_served() {
            // SAFETY: no fiber serves it: the worker owns `conn`.
            let conn = unsafe { &mut *wc.conn.get() };
            if conn.input.capacity() == 0 {
                conn.input = self.take_buffer();
            }
            if conn.receive(bytes).is_err() {
                self.on_end(c, libc::EPROTO);
                return false;
            }
            return true;
        }
        wc.pending.borrow_mut().extend_from_slice(bytes);
        wake_if_waiting(wc);
        false
    }

    /// The peer has closed (0) or the socket has failed.
    fn on_end(&self, c: NonNull<WorkerConn>, errno: i32) {
        // SAFETY: as in `dispatch`.
        let wc = unsafe { c.as_ref() };
        wc.eof.set(true);
        wc.error.set(errno);
        if wc.closing.get() {
            self.try_release(wc);
        } else if !wc.is_served() {
            self.start_fiber(Job::Close(c));
        } else {
            wc.context.interrupt(Interrupt::PeerGone);
            wake_if_waiting(wc);
        }
    }

    pub(super) fn on_ready(&self, key: usize, readable: bool, writable: bool, ended: bool) {
        let c = NonNull::new(key as *mut WorkerConn).expect("a connection");
        // SAFETY: with epoll a connection is freed by `release` only after this batch of events (see there).
        let wc = unsafe { c.as_ref() };
        if wc.closing.get() && !wc.send_inflight.get() {
            return;
        }
        if ended {
            wc.ended.set(true);
        }
        if writable && wc.send_inflight.get() {
            self.continue_send(c);
        }
        if readable && !wc.closing.get() {
            wc.readable.set(true);
            self.read_socket(c);
        }
    }

    /// With epoll: reads what the socket holds, within bounds.
    fn read_socket(&self, c: NonNull<WorkerConn>) {
        // SAFETY: as in `dispatch`.
        let wc = unsafe { c.as_ref() };
        while wc.readable.get() && !wc.eof.get() && !wc.closing.get() {
            if wc.is_served() && wc.pending.borrow().len() >= MAX_PENDING {
                return;
            }
            let mut chunk = self.take_buffer();
            let n = socket::recv(&wc.fd, &mut chunk, CHUNK, libc::MSG_DONTWAIT);
            // Less than asked for: the socket is empty, and the next arrival is a new edge (epoll(7)). The end has been
            // announced with the last bytes, so it has to be read now.
            if matches!(n, Ok(n) if n < CHUNK) && !wc.ended.get() {
                wc.readable.set(false);
            }
            match n {
                Ok(0) => self.on_end(c, 0),
                Ok(_) => {
                    if take_chunk(self, c, chunk) {
                        self.dispatch(c);
                    }
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => wc.readable.set(false),
                Err(e) => self.on_end(c, e.raw_os_error().unwrap_or(libc::EIO)),
            }
            self.keep_buffer(&mut chunk);
        }
    }

    /// With epoll: reads what the socket held when enough was pending, of which no event tells again. False when there
    /// was nothing.
    fn read_rest(&self, c: NonNull<WorkerConn>) -> bool {
        // SAFETY: as in `dispatch`.
        let wc = unsafe { c.as_ref() };
        if !matches!(self.driver, Driver::Epoll(_)) || !wc.readable.get() || wc.eof.get() {
            return false;
        }
        self.read_socket(c);
        !wc.pending.borrow().is_empty()
    }

    /// The connection waits for the rest of a request, without a fiber and without buffers.
    fn hold(&self, c: NonNull<WorkerConn>, why: Wait) {
        // SAFETY: as in `dispatch`; the fiber that served it gives it up.
        let (wc, conn) = unsafe { (c.as_ref(), &mut *c.as_ref().conn.get()) };
        wc.fiber.set(std::ptr::null());
        wc.held.set(Some(why));
        wc.context.0.begin_wait(why);
        self.give_buffers_back(conn);
        self.held.borrow_mut().push_back(c);
    }

    /// Asks those that were left for later, when one of them has been told to ask again.
    pub(super) fn resume_held(&self) {
        if !self.ask_held.get() {
            return;
        }
        // A wake that comes while they are asked leads to another round.
        self.waker.0.awake();
        for _ in 0..super::TURN {
            let Some(&c) = self.held.borrow().front() else { return self.ask_held.set(false) };
            // SAFETY: connections in the list are alive, and no fiber serves them: the worker owns both.
            let (wc, service, conn) =
                unsafe { (c.as_ref(), &mut **c.as_ref().service.get(), &mut *c.as_ref().conn.get()) };
            if conn.out.capacity() == 0 {
                conn.out = self.take_buffer();
            }
            let next = ask(service, conn, |service, conn| service.resume(conn, &self.waker));
            let Some(next) = next else { return self.ask_held.set(false) };
            self.held.borrow_mut().pop_front();
            if let Some(why) = wc.held.take() {
                wc.context.0.end_wait(why);
            }
            self.go_on(c, next);
        }
    }

    /// A request is done with. The common case needs no fiber: nobody wants anything of the connection but the reply.
    fn go_on(&self, c: NonNull<WorkerConn>, next: Next) {
        // SAFETY: as in `resume_held`.
        let (wc, conn) = unsafe { (c.as_ref(), &mut *c.as_ref().conn.get()) };
        let rests = next == Next::Idle && conn.buffered().is_empty() && wc.pending.borrow().is_empty();
        let sound = !wc.eof.get() && wc.error.get() == 0 && wc.context.pending().is_none() && !self.stopping.get();
        let unread = matches!(self.driver, Driver::Epoll(_)) && wc.readable.get();
        if !rests || !sound || unread || wc.send_inflight.get() || conn.transport.is_some() {
            return self.start_fiber(Job::GoOn(c, next));
        }
        self.start_send(wc, std::mem::take(&mut conn.out), false);
        match wc.error.get() {
            0 if !self.become_idle(c) => self.start_fiber(Job::Close(c)),
            0 => {}
            _ => self.start_fiber(Job::Close(c)),
        }
    }

    /// The service has been told: nothing more is read; what is unsent still goes out.
    pub(super) fn finish_close(&self, c: NonNull<WorkerConn>) {
        // SAFETY: as in `dispatch`.
        let wc = unsafe { c.as_ref() };
        wc.fiber.set(std::ptr::null());
        wc.closing.set(true);
        wc.since.set(ticks(self.now.get()));
        self.by_id.borrow_mut().remove(&wc.id);
        let mut conns = self.conns.borrow_mut();
        let index = wc.index.get() as usize;
        conns.swap_remove(index);
        if let Some(moved) = conns.get(index) {
            // SAFETY: connections in the list are alive.
            unsafe { moved.as_ref() }.index.set(index as u32);
        }
        drop(conns);
        self.shared.connections.fetch_sub(1, Relaxed);
        self.lingering.borrow_mut().push(c);
        if !wc.send_inflight.get() {
            socket::shutdown(wc.fd.as_raw_fd());
            self.try_release(wc);
        }
    }

    /// A closed connection may be free of requests to the kernel: the next turn of the loop looks. Not now, because
    /// events already taken from epoll may still name it.
    pub(super) fn try_release(&self, wc: &WorkerConn) {
        if wc.inflight.get() == 0 && !wc.send_inflight.get() {
            self.reap.set(true);
        }
    }

    fn release(&self, c: NonNull<WorkerConn>) {
        // SAFETY: made by Box::leak; in no list, no request with the kernel, no fiber.
        drop(unsafe { Box::from_raw(c.as_ptr()) });
    }

    /// Once a turn: frees closed connections that the kernel has nothing of any more. Four times a second: closes those
    /// idle too long.
    pub(super) fn sweep(&self) {
        let due = self.now.get() >= self.next_sweep.get();
        if (due || self.reap.replace(false)) && !self.lingering.borrow().is_empty() {
            let all = self.lingering.take();
            let now = ticks(self.now.get());
            for c in all {
                // SAFETY: connections in the list are alive.
                let wc = unsafe { c.as_ref() };
                let epoll = matches!(self.driver, Driver::Epoll(_));
                let expired = now.saturating_sub(wc.since.get()) >= LINGER;
                if wc.inflight.get() == 0 && (!wc.send_inflight.get() || (epoll && expired)) {
                    self.release(c);
                    continue;
                }
                if expired {
                    socket::shutdown(wc.fd.as_raw_fd());
                }
                self.lingering.borrow_mut().push(c);
            }
        }
        if !due {
            return;
        }
        self.next_sweep.set(self.now.get() + SWEEP_NS);
        self.trim_idle();
        let now = ticks(self.now.get());
        let mut expired = Vec::new();
        for &c in self.conns.borrow().iter() {
            // SAFETY: connections in the list are alive; without a fiber the worker owns the service.
            unsafe {
                let wc = c.as_ref();
                let most = u64::from((*wc.service.get()).idle_timeout_s()) * u64::from(TICKS_PER_S);
                if !wc.is_served() && u64::from(now.saturating_sub(wc.since.get())) > most {
                    expired.push(c);
                }
            }
        }
        expired.into_iter().for_each(|c| self.start_fiber(Job::Close(c)));
    }

    pub(super) fn conn_interrupted(&self, id: u64) {
        let Some(&c) = self.by_id.borrow().get(&id) else { return };
        // SAFETY: connections in the map are alive.
        let wc = unsafe { c.as_ref() };
        if !wc.fiber.get().is_null() {
            // SAFETY: the fiber that serves a connection is alive.
            unsafe { (*wc.fiber.get()).task.wake_local(self) };
        } else if wc.held.get().is_none() && wc.context.pending().is_some_and(|i| i >= Interrupt::PeerGone) {
            self.start_fiber(Job::Close(c));
        }
    }

    pub(super) fn stop_conns(&self) {
        let all: Vec<_> = self.conns.borrow().clone();
        for c in all {
            // SAFETY: closing one connection frees no other, and a connection of the copied list that has been closed
            // meanwhile would be one that another's close closed: there are none.
            let wc = unsafe { c.as_ref() };
            if !wc.is_served() {
                self.start_fiber(Job::Close(c));
            } else {
                wc.context.interrupt(Interrupt::Shutdown);
            }
        }
    }
}

/// Asks the service what the received bytes are; a panic means no more of them.
#[inline(always)]
fn look(service: &mut dyn Service, conn: &mut Conn) -> Ready {
    let mut ready = |conn: &mut Conn| loop {
        match service.ready(conn.buffered()) {
            Ready::NeedMore => match conn.more() {
                Ok(true) => {}
                Ok(false) => return Ready::NeedMore,
                Err(_) => return Ready::Close,
            },
            ready => return ready,
        }
    };
    catch_unwind(AssertUnwindSafe(|| ready(conn))).unwrap_or_else(|panic| {
        tell_panic(service, "reading a request", &*panic);
        Ready::Close
    })
}

/// [`Worker::take_bytes`] of a buffer, which becomes the connection's own where it has none.
fn take_chunk(worker: &Worker, c: NonNull<WorkerConn>, mut chunk: Vec<u8>) -> bool {
    // SAFETY: as in `dispatch`.
    let wc = unsafe { c.as_ref() };
    if !wc.is_served() {
        // SAFETY: no fiber serves it: the worker owns `conn`.
        let conn = unsafe { &mut *wc.conn.get() };
        if conn.input.capacity() == 0 && conn.transport.is_none() {
            conn.input = chunk;
            return true;
        }
    }
    let dispatch = worker.take_bytes(c, &chunk);
    worker.keep_buffer(&mut chunk);
    dispatch
}

pub(super) fn wake_if_waiting(wc: &WorkerConn) {
    if wc.awaits.get() && !wc.fiber.get().is_null() {
        // SAFETY: the fiber that serves a connection is alive.
        unsafe { (*wc.fiber.get()).task.wake_local(super::fiber::worker()) };
    }
}

/// What a service says to a request. A panic closes the connection.
fn ask(
    service: &mut dyn Service,
    conn: &mut Conn,
    what: impl FnOnce(&mut dyn Service, &mut Conn) -> Option<Next>,
) -> Option<Next> {
    catch_unwind(AssertUnwindSafe(|| what(service, conn))).unwrap_or_else(|panic| {
        tell_panic(service, "serving a connection", &*panic);
        // Half a reply helps nobody.
        conn.out.clear();
        Some(Next::Close)
    })
}

/// A connection has sent a request: whether it has been the only one for a while, and nothing else is to be done
/// here now.
fn is_alone(worker: &Worker, c: NonNull<WorkerConn>) -> bool {
    let (last, times) = worker.last_served.get();
    let times = if last == c.as_ptr() { times.saturating_add(1) } else { 0 };
    worker.last_served.set((c.as_ptr(), times));
    times >= super::ALONE
        && worker.active.get() == 1
        && worker.ready.borrow().is_empty()
        && worker.yielded.borrow().is_empty()
        && worker.held.borrow().is_empty()
}

/// Runs on a fiber: serves a connection until it has no whole request left. `resumed`: what its service has said last.
pub(super) fn serve(worker: &Worker, c: NonNull<WorkerConn>, mut resumed: Option<Next>) {
    // SAFETY: while this fiber serves it, it owns `service` and `conn`, and the connection is not freed.
    let (wc, service, conn) = unsafe { (c.as_ref(), &mut **c.as_ref().service.get(), &mut *c.as_ref().conn.get()) };
    if conn.out.capacity() == 0 {
        conn.out = worker.take_buffer();
    }
    loop {
        let mut next = resumed.take().or_else(|| ask(service, conn, |service, conn| Some(service.serve(conn))));
        let alone = is_alone(worker, c);
        if let Some(Next::Later(why)) = next {
            if alone && conn.out.is_empty() {
                crate::task::block_briefly(why, || {
                    let _ = ask(service, conn, |service, _| {
                        service.hasten();
                        None
                    });
                });
            }
            next = ask(service, conn, |service, conn| match conn.out.is_empty() {
                true => service.resume(conn, &worker.waker),
                // Replies of requests before that one leave together with its own.
                false => Some(wait_for_rest(service, conn, why)),
            });
            if next.is_none() {
                return worker.hold(c, why);
            }
        }
        let sent = if conn.out.is_empty() { Ok(()) } else { send_all(worker, wc, conn, false) };
        let killed = wc.context.pending().is_some_and(|i| i >= Interrupt::PeerGone);
        if next == Some(Next::Close) || sent.is_err() || killed || worker.stopping.get() {
            break;
        }
        let ready = loop {
            if take_pending(worker, wc, conn).is_err() {
                break Ready::Close;
            }
            let nothing = conn.buffered().is_empty() && conn.transport.is_none() && !wc.eof.get();
            let ready = if nothing { Ready::NeedMore } else { look(service, conn) };
            if ready != Ready::NeedMore || !worker.read_rest(c) {
                break ready;
            }
        };
        match ready {
            Ready::Serve => {
                // A client that always has the next request there does not keep the worker for itself.
                super::yield_if_due();
                if conn.out.capacity() == 0 {
                    conn.out = worker.take_buffer();
                }
            }
            Ready::NeedMore if !wc.eof.get() && worker.become_idle(c) => return,
            _ => break,
        }
    }
    close(worker, c);
}

/// Runs on a fiber: tells the service, then closes.
pub(super) fn close(worker: &Worker, c: NonNull<WorkerConn>) {
    {
        // SAFETY: as in `serve`.
        let (wc, service, conn) = unsafe { (c.as_ref(), &mut **c.as_ref().service.get(), &mut *c.as_ref().conn.get()) };
        let _mask = mask_interrupts();
        let closed = catch_unwind(AssertUnwindSafe(|| service.closed(conn)));
        if let Err(panic) = &closed {
            tell_panic(service, "closing a connection", &**panic);
            conn.out.clear();
        }
        conn.seal_last();
        if !conn.out.is_empty() && wc.error.get() == 0 && !wc.send_inflight.get() {
            worker.start_send(wc, std::mem::take(&mut conn.out), false);
        }
    }
    worker.finish_close(c);
}

/// Whether the kernel still has output of the connection.
pub(crate) fn is_sending(c: NonNull<WorkerConn>) -> bool {
    // SAFETY: as in `fill`.
    unsafe { c.as_ref() }.send_inflight.get()
}

/// Sends all output without waiting for its end, except for that of an earlier one. `more`: there will be more of it,
/// and soon.
#[inline(always)]
fn send_all(worker: &Worker, wc: &WorkerConn, conn: &mut Conn, more: bool) -> io::Result<()> {
    wait_for_send(wc, conn)?;
    conn.seal()?;
    worker.start_send(wc, std::mem::take(&mut conn.out), more);
    check(wc)
}

fn check(wc: &WorkerConn) -> io::Result<()> {
    match wc.error.get() {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

fn wait_for_send(wc: &WorkerConn, conn: &Conn) -> io::Result<()> {
    while wc.send_inflight.get() {
        await_event(wc, conn, Wait::ClientWrite)?;
    }
    check(wc)
}

/// Parks the serving fiber until something happens to its connection.
fn await_event(wc: &WorkerConn, conn: &Conn, why: Wait) -> io::Result<()> {
    wc.awaits.set(true);
    let unpark = park(why, conn.deadline);
    wc.awaits.set(false);
    match unpark {
        Unpark::Woken => Ok(()),
        Unpark::TimedOut => Err(io::ErrorKind::TimedOut.into()),
        Unpark::Interrupted if !conn.interruptible().ends() => Ok(()),
        Unpark::Interrupted => Err(io::ErrorKind::Interrupted.into()),
    }
}

/// Moves bytes that arrived during the service to where it sees them.
#[inline(always)]
fn take_pending(worker: &Worker, wc: &WorkerConn, conn: &mut Conn) -> io::Result<usize> {
    // What comes out of a long compressed packet is computed elsewhere, and more may arrive meanwhile.
    let mut pending = wc.pending.take();
    let n = pending.len();
    if n == 0 {
        return Ok(0);
    }
    if conn.input.capacity() == 0 && conn.transport.is_none() {
        conn.input = pending;
        return Ok(n);
    }
    let taken = conn.receive(&pending);
    worker.keep_buffer(&mut pending);
    taken.map(|()| n)
}

/// [`Conn::fill`] for a connection on a worker.
pub(crate) fn fill(c: NonNull<WorkerConn>, conn: &mut Conn) -> io::Result<usize> {
    // SAFETY: called by the serving fiber through its `Conn`: the connection is alive. `conn` is this connection's own,
    // and only shared access is made through `wc`.
    let wc = unsafe { c.as_ref() };
    let worker = super::fiber::worker();
    loop {
        let n = take_pending(worker, wc, conn)?;
        if n > 0 {
            return Ok(n);
        }
        if wc.eof.get() {
            return check(wc).map(|()| 0);
        }
        check(wc)?;
        match &worker.driver {
            Driver::Ring(_) => worker.want_bytes(wc),
            Driver::Epoll(_) if wc.readable.get() => {
                worker.read_socket(c);
                continue;
            }
            Driver::Epoll(_) => {}
        }
        await_event(wc, conn, Wait::ClientRead)?;
    }
}

/// [`Conn::try_fill`] for a connection on a worker: `WouldBlock` when nothing has arrived.
pub(crate) fn try_fill(c: NonNull<WorkerConn>, conn: &mut Conn) -> io::Result<usize> {
    // SAFETY: as in `fill`.
    let wc = unsafe { c.as_ref() };
    let worker = super::fiber::worker();
    if matches!(worker.driver, Driver::Epoll(_)) && wc.readable.get() {
        worker.read_socket(c);
    }
    let n = take_pending(worker, wc, conn)?;
    if n > 0 {
        return Ok(n);
    }
    check(wc)?;
    if wc.eof.get() {
        return Ok(0);
    }
    worker.want_bytes(wc);
    Err(io::ErrorKind::WouldBlock.into())
}

/// [`Conn::park`] for a connection on a worker.
pub(crate) fn await_any(c: NonNull<WorkerConn>, conn: &Conn, why: Wait) -> io::Result<()> {
    // SAFETY: as in `fill`.
    await_event(unsafe { c.as_ref() }, conn, why)
}

/// [`Conn::flush`] for a connection on a worker: starts to send, when what was sent before is out. So a statement
/// produces the next part of its result while one part is under way, and no more. It is handed to the kernel here and
/// now: on the ring it would lie until the worker has served everybody else, and each part would wait for that.
pub(crate) fn flush(c: NonNull<WorkerConn>, conn: &mut Conn) -> io::Result<()> {
    // SAFETY: as in `fill`.
    let wc = unsafe { c.as_ref() };
    let worker = super::fiber::worker();
    send_all(worker, wc, conn, true)?;
    conn.out = worker.take_buffer();
    Ok(())
}
