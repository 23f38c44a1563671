use gannet_base::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;

use gannet_telemetry::{Counter, count};

use super::conn::Peer;
use super::{Factory, socket, thread};
use crate::task::{ContextInner, Route};
use crate::{TaskContext, Workers};

/// Where to listen.
#[derive(Clone, Debug)]
pub enum Addr {
    /// A TCP address; port 0 lets the system choose.
    Tcp(SocketAddr),
    /// A UNIX socket's path; a socket left over there is replaced.
    Unix(PathBuf),
}

/// Who serves the connections of a listener.
#[derive(Clone, Default)]
pub enum ThreadHandling {
    /// A plain thread for each connection.
    #[default]
    OneThreadPerConnection,
    /// Fibers on these workers.
    Workers(Arc<Workers>),
}

/// How a listener behaves.
#[derive(Clone)]
pub struct ListenerOptions {
    /// Who serves the connections.
    pub handling: ThreadHandling,
    /// Connections the kernel keeps waiting for accept.
    pub backlog: i32,
    /// Stack of a connection's own thread in bytes (lazily used).
    pub thread_stack: usize,
    /// Connections served by threads of their own at most; further ones are closed at once. Each needs a slot of its
    /// own, of which there are [`crate::MAX_SLOTS`]. Services that know a limit refuse politely before.
    pub max_threads: usize,
}

impl Default for ListenerOptions {
    fn default() -> Self {
        ListenerOptions {
            handling: ThreadHandling::default(),
            backlog: 4096,
            thread_stack: 1 << 20,
            max_threads: crate::MAX_SLOTS - 128,
        }
    }
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Socket {
    fn fd(&self) -> i32 {
        match self {
            Socket::Tcp(l) => l.as_raw_fd(),
            Socket::Unix(l, _) => l.as_raw_fd(),
        }
    }

    fn accept(&self) -> io::Result<(OwnedFd, Peer)> {
        match self {
            Socket::Tcp(l) => {
                let (stream, peer) = l.accept()?;
                let local = stream.local_addr()?;
                let fd = OwnedFd::from(stream);
                socket::set_nodelay(&fd)?;
                Ok((fd, Peer::Tcp { peer, local }))
            }
            Socket::Unix(l, _) => {
                let fd = OwnedFd::from(l.accept()?.0);
                let cred = socket::peer_credentials(&fd);
                Ok((fd, Peer::Unix { uid: cred.map_or(u32::MAX, |c| c.uid), pid: cred.map_or(0, |c| c.pid) }))
            }
        }
    }
}

/// A listening socket and the thread that accepts on it. Stops accepting when dropped; accepted connections go on.
pub struct Listener {
    addr: Addr,
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    socket: Socket,
    stop: AtomicBool,
    /// Written to make the accepting thread look at `stop`.
    wake: OwnedFd,
    open: AtomicUsize,
}

impl Listener {
    /// Listens and starts to accept. Connections are given to services that `factory` makes. Not inside a simulation
    /// (an error of kind `Unsupported`): see [`crate::sim::connect`].
    pub fn start(addr: &Addr, options: ListenerOptions, factory: Arc<dyn Factory>) -> io::Result<Listener> {
        if crate::cx::simulated() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let socket = match addr {
            Addr::Tcp(addr) => Socket::Tcp(TcpListener::bind(addr)?),
            Addr::Unix(path) => {
                use std::os::unix::fs::FileTypeExt;
                // Nobody listening any more: only then is the name free to take.
                if std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket())
                    && std::os::unix::net::UnixStream::connect(path).is_err()
                {
                    std::fs::remove_file(path)?;
                }
                Socket::Unix(UnixListener::bind(path)?, path.clone())
            }
        };
        // SAFETY: plain system calls; eventfd's result is a new descriptor that nobody else owns.
        let wake = unsafe {
            libc::listen(socket.fd(), options.backlog);
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        let addr = match &socket {
            Socket::Tcp(l) => {
                l.set_nonblocking(true)?;
                Addr::Tcp(l.local_addr()?)
            }
            Socket::Unix(l, path) => {
                l.set_nonblocking(true)?;
                Addr::Unix(path.clone())
            }
        };
        let shared = Arc::new(Shared { socket, stop: AtomicBool::new(false), wake, open: AtomicUsize::new(0) });
        let s = shared.clone();
        let thread = crate::start_thread("accept", None, move || accept_loop(&s, &options, &factory))?;
        Ok(Listener { addr, shared, thread: Some(thread) })
    }

    /// Where it listens, with the port the system chose.
    pub fn addr(&self) -> &Addr {
        &self.addr
    }

    /// Connections of this listener that are served by threads of their own and not yet closed.
    pub fn open_threads(&self) -> usize {
        self.shared.open.load(Ordering::Relaxed)
    }

    /// Stops accepting. A UNIX socket's name is removed.
    pub fn stop(self) {}
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight valid bytes are written to our own eventfd.
        unsafe { libc::write(self.shared.wake.as_raw_fd(), one.as_ptr().cast(), one.len()) };
        if let Some(t) = self.thread.take() {
            let _ = t.join();
        }
        if let Socket::Unix(_, path) = &self.shared.socket {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn accept_loop(shared: &Arc<Shared>, options: &ListenerOptions, factory: &Arc<dyn Factory>) {
    while !shared.stop.load(Ordering::SeqCst) {
        match shared.socket.accept() {
            Ok((fd, peer)) => {
                // Accepted sockets do not inherit O_NONBLOCK on Linux: they block, as the threads need it.
                let context = match &options.handling {
                    ThreadHandling::OneThreadPerConnection => TaskContext(ContextInner::new(Route::none())),
                    ThreadHandling::Workers(workers) => workers.new_context(),
                };
                let Some(service) = factory.connect(&peer, &context) else { continue };
                match &options.handling {
                    ThreadHandling::OneThreadPerConnection => start_thread(shared, options, fd, peer, context, service),
                    ThreadHandling::Workers(workers) => workers.connect(fd, peer, context, service),
                }
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => wait_for_connection(shared),
            // The client gave up meanwhile.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ECONNABORTED | libc::EINTR)) => {}
            Err(_) => {
                // Out of descriptors or memory: others have to close first.
                count(Counter::ConnectionErrorsAccept);
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    }
}

fn wait_for_connection(shared: &Shared) {
    let poll = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut fds = [poll(shared.socket.fd()), poll(shared.wake.as_raw_fd())];
    // SAFETY: two valid pollfd structures.
    unsafe { libc::poll(fds.as_mut_ptr(), 2, -1) };
}

fn start_thread(
    shared: &Arc<Shared>,
    options: &ListenerOptions,
    fd: OwnedFd,
    peer: Peer,
    context: TaskContext,
    service: Box<dyn super::Service>,
) {
    if shared.open.fetch_add(1, Ordering::Relaxed) >= options.max_threads {
        shared.open.fetch_sub(1, Ordering::Relaxed);
        return count(Counter::ConnectionErrorsMaxConnections);
    }
    let s = shared.clone();
    let started = std::thread::Builder::new().name("conn".into()).stack_size(options.thread_stack).spawn(move || {
        thread::run(fd, peer, context, service);
        s.open.fetch_sub(1, Ordering::Relaxed);
    });
    match started {
        Ok(_) => count(Counter::ThreadsCreated),
        Err(_) => {
            shared.open.fetch_sub(1, Ordering::Relaxed);
            count(Counter::ConnectionErrorsInternal);
        }
    }
}
