//! One thread a connection.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use gannet_base::sync::atomic::Ordering::Relaxed;
use gannet_telemetry::Wait;

use super::conn::{Conn, Link, Peer, RECV_CHUNK};
use super::{Next, Ready, Service, socket, watch};
use crate::task::TaskContext;
use crate::threads::os_thread;
use crate::{Interrupt, cx, mask_interrupts, now_ns, park, random_u64, sim, simulated, waker};

/// Serves one accepted connection to its end on the calling thread.
pub(super) fn run(fd: OwnedFd, peer: Peer, context: TaskContext, service: Box<dyn Service>) {
    cx::adopt(Some(context.0.clone()));
    context.0.os_thread.store(os_thread(), Relaxed);
    let fd = Arc::new(fd);
    // From now on a kill ends the thread's wait for the client too.
    context.0.route.set_socket(Some(fd.clone()));
    if context.pending().is_some_and(|i| i >= Interrupt::Connection) {
        // It was killed before there was a socket to shut down.
        socket::shutdown_read(fd.as_raw_fd());
    }
    let _watched = watch::add(&fd, &context);
    let link = Link::Thread { fd, recv_timeout: None };
    run_on_task(service, Conn::new(peer, context.clone(), link));
    context.0.route.set_socket(None);
}

/// Serves a connection to its end on the current task, a thread or a simulated one.
pub(crate) fn run_on_task(mut service: Box<dyn Service>, mut conn: Conn) {
    let served = catch_unwind(AssertUnwindSafe(|| serve(&mut *service, &mut conn)));
    if let Err(panic) = served {
        super::tell_panic(&mut *service, "serving a connection", &*panic);
        // Half a reply helps nobody.
        conn.out.clear();
    }
    let closed = catch_unwind(AssertUnwindSafe(|| {
        let _mask = mask_interrupts();
        service.closed(&mut conn)
    }));
    if let Err(panic) = closed {
        super::tell_panic(&mut *service, "closing a connection", &*panic);
    }
    let _ = catch_unwind(AssertUnwindSafe(|| {
        conn.seal_last();
        conn.flush()
    }));
}

fn serve(service: &mut dyn Service, conn: &mut Conn) {
    loop {
        match service.ready(conn.buffered()) {
            Ready::Close => return,
            Ready::NeedMore => match conn.more().and_then(|more| if more { Ok(1) } else { wait(service, conn) }) {
                Ok(n) if n > 0 => {}
                _ => return,
            },
            Ready::Serve => {
                let next = match service.serve(conn) {
                    Next::Later(why) => wait_for_rest(service, conn, why),
                    next => next,
                };
                if conn.flush().is_err() || next == Next::Close {
                    return;
                }
            }
        }
    }
}

/// Waits on the current task for the rest of a request that was left for later.
pub(crate) fn wait_for_rest(service: &mut dyn Service, conn: &mut Conn, why: Wait) -> Next {
    let _mask = mask_interrupts();
    let waker = waker();
    // Here, a task's waiting holds up no other: a simulation takes both ways.
    if simulated() && random_u64().is_multiple_of(2) {
        service.hasten();
    }
    loop {
        if let Some(next) = service.resume(conn, &waker) {
            return next;
        }
        let _ = park(why, None);
    }
}

/// Waits for bytes between requests, at most as long as the service lets a connection idle.
fn wait(service: &mut dyn Service, conn: &mut Conn) -> io::Result<usize> {
    let timeout = match service.idle_timeout_s() {
        u32::MAX => None,
        s => Some(Duration::from_secs(s.max(1) as u64)),
    };
    let mut arrived = Vec::new();
    let to = if conn.transport.is_none() { &mut conn.input } else { &mut arrived };
    let n = match &mut conn.link {
        Link::Thread { fd, recv_timeout, .. } => {
            if timeout != *recv_timeout {
                socket::set_timeout(fd, libc::SO_RCVTIMEO, timeout)?;
                *recv_timeout = timeout;
            }
            socket::recv(fd, to, RECV_CHUNK, 0)?
        }
        Link::Sim(pipe) => {
            let (pipe, deadline) = (pipe.clone(), timeout.map(|t| now_ns() + t.as_nanos() as u64));
            let n = sim::fill(&pipe, &mut arrived, deadline, &conn.idle_wait())?;
            return conn.receive(&arrived).map(|()| n);
        }
        Link::Worker(_) => unreachable!("a worker's connection"),
    };
    if conn.transport.is_some() {
        conn.receive(&arrived)?;
    }
    Ok(n)
}
