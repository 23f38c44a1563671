//! Serving connections: what a service is, what it sees of a connection, listeners.

mod conn;
mod listener;
pub(crate) mod socket;
mod thread;
mod watch;

pub use conn::{Conn, Peer, Transport};
pub(crate) use conn::{Interruptible, Link};
pub use listener::{Addr, Listener, ListenerOptions, ThreadHandling};
pub(crate) use thread::{run_on_task, wait_for_rest};

pub use socket::connect_from;
pub(crate) use socket::shutdown_read;

use gannet_telemetry::Wait;

use crate::{TaskContext, Waker};

/// What [`Service::ready`] makes of the bytes that have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ready {
    /// Not yet a whole request.
    NeedMore,
    /// There is something to do: give it a fiber.
    Serve,
    /// Close the connection.
    Close,
}

/// What becomes of the connection when [`Service::serve`] returns. What is in [`Conn::out`] is sent in both cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Wait for the client.
    Idle,
    /// The rest of the request is left to [`Service::resume`]: it waits for something, and needs no stack for that. The
    /// connection is shown as waiting for this.
    Later(Wait),
    /// Close.
    Close,
}

/// One connection's session: a state machine over bytes between requests, plain blocking code during one.
pub trait Service: Send {
    /// Looks at the bytes not yet consumed and decides, quickly and without waiting: it runs on the worker itself, not
    /// on a fiber. Called when bytes arrive, once after the connection is accepted (with no bytes: a protocol in which
    /// the server speaks first returns [`Ready::Serve`] then), and after [`Service::serve`] if bytes are left.
    fn ready(&mut self, buffered: &[u8]) -> Ready;

    /// Serves what has arrived, on a fiber (or the connection's own thread): may wait, and should serve all whole
    /// requests that are buffered before it returns, so that their replies leave in one send. A panic closes this
    /// connection only.
    fn serve(&mut self, conn: &mut Conn) -> Next;

    /// Called behind [`Next::Later`] where the worker has nothing else to do, and has served no other connection for a
    /// while: what the rest waits for may be brought about here, which spares two switches between threads. It may
    /// block the thread for as long as a fast device takes to write, and must not wait for other tasks.
    fn hasten(&mut self) {}

    /// Goes on with what [`Next::Later`] has left. `None`: not yet; `waker` is used when it is time to ask again, or
    /// before. Never another [`Next::Later`]. An interruption in between does not end the wait: it is found when this
    /// has ended.
    ///
    /// It runs on the worker itself, not on a fiber, and must not wait. The connections of a worker are asked in the
    /// order in which they were left, up to the first that says not yet: what they wait for must come to all of them in
    /// about that order.
    fn resume(&mut self, conn: &mut Conn, waker: &Waker) -> Option<Next> {
        let _ = (conn, waker);
        Some(Next::Close)
    }

    /// The connection ends: peer gone, idle too long, killed, closed by `serve`, shutdown, or a panic in `serve`. Runs
    /// on a fiber, so it can roll back and give up locks; called exactly once.
    fn closed(&mut self, conn: &mut Conn) {
        let _ = conn;
    }

    /// A panic of one of the others was caught; [`Service::closed`] follows.
    fn panicked(&mut self, panic: &Panicked<'_>) {
        eprintln!("gannet: {panic}, the connection is closed");
    }

    /// Seconds this connection may be idle before it is closed (`wait_timeout`). Asked about once a second while it is
    /// idle, not at each request. `u32::MAX` means for ever.
    fn idle_timeout_s(&self) -> u32 {
        u32::MAX
    }
}

/// Makes the service of each new connection.
pub trait Factory: Send + Sync + 'static {
    /// Called once per accepted connection, before any byte is read; must not wait. `context` is what kills it. `None`
    /// closes the connection at once.
    fn connect(&self, peer: &Peer, context: &TaskContext) -> Option<Box<dyn Service>>;
}

impl<F> Factory for F
where
    F: Fn(&Peer, &TaskContext) -> Option<Box<dyn Service>> + Send + Sync + 'static,
{
    fn connect(&self, peer: &Peer, context: &TaskContext) -> Option<Box<dyn Service>> {
        self(peer, context)
    }
}

/// A panic that was caught while a connection was served.
#[derive(Debug)]
pub struct Panicked<'a> {
    /// What was being done.
    pub doing: &'a str,
    /// File, line and column; empty where [`remember_panics`] was not called.
    pub place: &'a str,
    /// What it says, up to the first quotation: that may be of a client's text.
    pub what: &'a str,
}

impl std::fmt::Display for Panicked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a panic while {}, at {}: {}", self.doing, self.place, self.what)
    }
}

thread_local! {
    /// Where this thread panicked last.
    static PLACE: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

/// From now on [`Panicked`] tells the place of a panic. The hook that was there still prints it.
pub fn remember_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map_or_else(String::new, ToString::to_string);
            PLACE.with(|p| p.replace(place));
            before(info);
        }));
    });
}

/// Reports a caught panic, once, where it was caught. The panic hook has printed where it happened.
pub(crate) fn log_panic(doing: &str, panic: &(dyn std::any::Any + Send)) {
    report_panic(doing, panic, |panicked| eprintln!("gannet: {panicked}"));
}

/// Reports a panic of a service to itself, which has a log and knows the request.
pub(crate) fn tell_panic(service: &mut dyn Service, doing: &str, panic: &(dyn std::any::Any + Send)) {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    report_panic(doing, panic, |panicked| {
        if catch_unwind(AssertUnwindSafe(|| service.panicked(panicked))).is_err() {
            eprintln!("gannet: {panicked}; and again while that was told");
        }
    });
}

fn report_panic(doing: &str, panic: &(dyn std::any::Any + Send), tell: impl FnOnce(&Panicked<'_>)) {
    if crate::sim::is_power_cut(panic) {
        return;
    }
    gannet_telemetry::count(gannet_telemetry::Counter::FiberPanics);
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let what = text.unwrap_or("of an unknown kind").split(['`', '\'', '"', '\n']).next().unwrap_or_default().trim_end();
    if crate::sim::active() {
        crate::sim::note_panic(panic);
    }
    let place = PLACE.with(|p| p.take());
    tell(&Panicked { doing, place: &place, what });
}
