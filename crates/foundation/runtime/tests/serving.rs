//! Connections served by threads and by workers, on the ring and on epoll: the same service, the same behaviour.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gannet_runtime::{
    Addr, Conn, Interrupt, IoMode, Listener, ListenerOptions, Next, Panicked, Peer, Ready, RecvMode, SendMode, Service,
    TaskContext, ThreadHandling, Unpark, Wait, Waker, WorkerOptions, Workers, now_ns, park, remember_panics,
};

#[derive(Default)]
struct Seen {
    closed: AtomicUsize,
    interrupted: AtomicUsize,
    contexts: Mutex<Vec<TaskContext>>,
    tide: AtomicUsize,
    /// How often a worker that had nothing else to do might have raised it.
    hastened: AtomicUsize,
    ashore: Mutex<Vec<Waker>>,
    panics: Mutex<Vec<String>>,
}

impl Seen {
    /// Raises the tide, for those that have left their requests until then.
    fn rise(&self, to: usize) {
        self.tide.store(to, SeqCst);
        std::mem::take(&mut *self.ashore.lock().unwrap()).iter().for_each(Waker::wake);
    }
}

/// Greets with `hi`, then obeys one command a line.
struct Lines {
    greeted: bool,
    idle_timeout: u32,
    seen: Arc<Seen>,
    /// The tide that the rest of the request waits for.
    until: usize,
}

impl Service for Lines {
    fn ready(&mut self, buffered: &[u8]) -> Ready {
        if !self.greeted || buffered.contains(&b'\n') { Ready::Serve } else { Ready::NeedMore }
    }

    fn serve(&mut self, conn: &mut Conn) -> Next {
        if !self.greeted {
            self.greeted = true;
            conn.out().extend_from_slice(b"hi\n");
            return Next::Idle;
        }
        while let Some(end) = conn.buffered().iter().position(|&b| b == b'\n') {
            let line = String::from_utf8(conn.buffered()[..end].to_vec()).unwrap();
            conn.consume(end + 1);
            let (command, arg) = line.split_once(' ').unwrap_or((&line, ""));
            match command {
                "panic" => panic!("as asked for `{line}`"),
                "quit" => return Next::Close,
                // The reply is left until the tide is there; `soon` is two more than it is now.
                "later" | "soon" => {
                    self.until = arg.parse().unwrap_or_else(|_| self.seen.tide.load(SeqCst) + 2);
                    return Next::Later(Wait::LogFlush);
                }
                // Waits until interrupted.
                "hang" => match park(Wait::UserLock, None) {
                    Unpark::Interrupted => {
                        self.seen.interrupted.fetch_add(1, SeqCst);
                        conn.context().clear(Interrupt::Query);
                        conn.out().extend_from_slice(b"interrupted\n");
                    }
                    other => panic!("{other:?}"),
                },
                "sleep" => {
                    let until = now_ns() + arg.parse::<u64>().unwrap() * 1_000_000;
                    while park(Wait::UserSleep, Some(until)) == Unpark::Woken {}
                    conn.out().extend_from_slice(b"slept\n");
                }
                // Takes `arg` bytes that follow, and answers with their sum.
                "put" => {
                    let (mut left, mut sum) = (arg.parse::<usize>().unwrap(), 0u64);
                    while left > 0 {
                        let n = conn.buffered().len().min(left);
                        sum += conn.buffered()[..n].iter().map(|&b| b as u64).sum::<u64>();
                        conn.consume(n);
                        left -= n;
                        if left > 0 && !matches!(conn.fill(), Ok(1..)) {
                            return Next::Close;
                        }
                    }
                    conn.out().extend_from_slice(format!("{sum}\n").as_bytes());
                }
                // Sends `arg` lines in many flushes.
                "get" => {
                    for i in 0..arg.parse::<u32>().unwrap() {
                        conn.out().extend_from_slice(format!("{i:063}\n").as_bytes());
                        if conn.out().len() > 16 << 10 && conn.flush().is_err() {
                            return Next::Close;
                        }
                    }
                }
                "short" => {
                    conn.set_deadline(Some(now_ns() + 30_000_000));
                    let e = conn.fill().unwrap_err();
                    conn.set_deadline(None);
                    conn.out().extend_from_slice(format!("{:?}\n", e.kind()).as_bytes());
                }
                _ => conn.out().extend_from_slice(format!("{line}\n").as_bytes()),
            }
        }
        Next::Idle
    }

    fn hasten(&mut self) {
        self.seen.hastened.fetch_add(1, SeqCst);
    }

    fn resume(&mut self, conn: &mut Conn, waker: &Waker) -> Option<Next> {
        self.seen.ashore.lock().unwrap().push(waker.clone());
        if self.seen.tide.load(SeqCst) < self.until {
            return None;
        }
        assert_ne!(self.until, 13, "as asked");
        conn.out().extend_from_slice(format!("after {}\n", self.until).as_bytes());
        Some(if self.until == 17 { Next::Close } else { Next::Idle })
    }

    fn panicked(&mut self, panic: &Panicked<'_>) {
        self.seen.panics.lock().unwrap().push(panic.to_string());
    }

    fn closed(&mut self, _: &mut Conn) {
        // May wait here, whatever the reason of the end.
        let until = Some(now_ns() + 1_000_000);
        while park(Wait::UserSleep, until) != Unpark::TimedOut {}
        self.seen.closed.fetch_add(1, SeqCst);
    }

    fn idle_timeout_s(&self) -> u32 {
        self.idle_timeout
    }
}

struct Server {
    at: SocketAddr,
    seen: Arc<Seen>,
    listener: Option<Listener>,
    workers: Option<Arc<Workers>>,
}

fn start(workers: Option<WorkerOptions>, idle_timeout: u32) -> Server {
    let seen = Arc::new(Seen::default());
    let s = seen.clone();
    let factory = move |_: &Peer, context: &TaskContext| {
        s.contexts.lock().unwrap().push(context.clone());
        Some(Box::new(Lines { greeted: false, idle_timeout, seen: s.clone(), until: 0 }) as Box<dyn Service>)
    };
    let workers = workers.map(|o| Arc::new(Workers::start(o).unwrap()));
    let handling = match &workers {
        None => ThreadHandling::OneThreadPerConnection,
        Some(w) => ThreadHandling::Workers(w.clone()),
    };
    let addr = Addr::Tcp("127.0.0.1:0".parse().unwrap());
    let options = ListenerOptions { handling, ..ListenerOptions::default() };
    let listener = Listener::start(&addr, options, Arc::new(factory)).unwrap();
    let Addr::Tcp(at) = *listener.addr() else { unreachable!() };
    Server { at, seen, listener: Some(listener), workers }
}

impl Server {
    fn connect(&self) -> TcpStream {
        let mut s = TcpStream::connect(self.at).unwrap();
        s.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        assert_eq!(line(&mut s), "hi");
        s
    }

    fn stop(mut self) {
        self.listener = None;
        if let Some(workers) = self.workers.take() {
            assert!(workers.shutdown(Duration::from_secs(10)), "clean shutdown");
        }
    }
}

fn line(s: &mut TcpStream) -> String {
    let (mut all, mut one) = (Vec::new(), [0]);
    loop {
        match s.read(&mut one) {
            Ok(1) if one[0] != b'\n' => all.push(one[0]),
            Ok(1) => return String::from_utf8(all).unwrap(),
            end => panic!("{end:?} after {:?}", String::from_utf8_lossy(&all)),
        }
    }
}

fn eventually(what: &str, f: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !f() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn all_ways(test: impl Fn(Option<WorkerOptions>)) {
    test(None);
    let base = WorkerOptions { count: 2, ..WorkerOptions::default() };
    test(Some(WorkerOptions { io: IoMode::Epoll, ..base.clone() }));
    for recv in [RecvMode::Multishot, RecvMode::Oneshot] {
        for send in [SendMode::Ring, SendMode::Direct] {
            test(Some(WorkerOptions { io: IoMode::Ring, recv, send, ..base.clone() }));
        }
    }
}

#[test]
fn pipelines_panics_and_goodbyes() {
    all_ways(|o| {
        let server = start(o, u32::MAX);
        remember_panics();
        let (mut bad, mut good) = (server.connect(), server.connect());
        bad.write_all(b"panic\n").unwrap();
        assert_eq!(bad.read(&mut [0]).unwrap(), 0, "a panic closes the connection");
        good.write_all(b"a\nbb\nc").unwrap();
        assert_eq!((line(&mut good), line(&mut good)), ("a".into(), "bb".into()));
        good.write_all(b"cc\nquit\n").unwrap();
        assert_eq!(line(&mut good), "ccc");
        assert_eq!(good.read(&mut [0]).unwrap(), 0);
        let gone = server.connect();
        drop(gone);
        eventually("all closed", || server.seen.closed.load(SeqCst) == 3);
        let told = server.seen.panics.lock().unwrap().clone();
        assert_eq!(told.len(), 1, "{told:?}");
        // Its place, and nothing of what may be quoted from a client.
        assert!(told[0].contains("serving a connection, at ") && told[0].contains("serving.rs:"), "{told:?}");
        assert!(told[0].ends_with(": as asked for"), "{told:?}");
        server.stop();
    });
}

#[test]
fn many_connections_at_once() {
    all_ways(|o| {
        let server = start(o, u32::MAX);
        let mut conns: Vec<_> = (0..100).map(|_| server.connect()).collect();
        for round in 0..10 {
            for (i, c) in conns.iter_mut().enumerate() {
                c.write_all(format!("{round}-{i}\n").as_bytes()).unwrap();
            }
            for (i, c) in conns.iter_mut().enumerate() {
                assert_eq!(line(c), format!("{round}-{i}"));
            }
        }
        server.stop();
    });
}

#[test]
fn large_requests_and_slow_readers() {
    all_ways(|o| {
        let server = start(o, u32::MAX);
        let mut c = server.connect();
        let body: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
        c.write_all(format!("put {}\n", body.len()).as_bytes()).unwrap();
        c.write_all(&body).unwrap();
        assert_eq!(line(&mut c), body.iter().map(|&b| b as u64).sum::<u64>().to_string());
        // Far more than the socket's buffers hold, with a reader that starts late; another client is served meanwhile.
        c.write_all(b"get 300000\n").unwrap();
        let mut other = server.connect();
        for i in 0..50 {
            other.write_all(format!("{i}\n").as_bytes()).unwrap();
            assert_eq!(line(&mut other), i.to_string());
        }
        std::thread::sleep(Duration::from_millis(20));
        let mut all = vec![0; 300_000 * 64];
        c.read_exact(&mut all).unwrap();
        for (i, l) in all.chunks(64).enumerate() {
            assert_eq!(l, format!("{i:063}\n").as_bytes());
        }
        server.stop();
    });
}

#[test]
fn a_long_request_behind_one_that_is_served() {
    all_ways(|o| {
        let server = start(o, u32::MAX);
        let mut c = server.connect();
        // More than is kept beside a request under way: the rest is read when that is done.
        let long = "x".repeat(300_000);
        c.write_all(format!("sleep 50\n{long}\n").as_bytes()).unwrap();
        assert_eq!((line(&mut c), line(&mut c)), ("slept".into(), long));
        server.stop();
    });
}

#[test]
fn kill_statement_and_connection() {
    all_ways(|o| {
        let server = start(o, u32::MAX);
        let mut c = server.connect();
        c.write_all(b"hang\n").unwrap();
        let context = server.seen.contexts.lock().unwrap()[0].clone();
        eventually("it waits", || context.waiting().is_some_and(|(w, _)| w == Wait::UserLock));
        context.interrupt(Interrupt::Query);
        assert_eq!(line(&mut c), "interrupted");
        c.write_all(b"still here\n").unwrap();
        assert_eq!(line(&mut c), "still here");
        // Idle, then in a statement.
        context.interrupt(Interrupt::Connection);
        assert_eq!(c.read(&mut [0]).unwrap(), 0);
        eventually("closed", || server.seen.closed.load(SeqCst) == 1);
        let mut c = server.connect();
        c.write_all(b"hang\n").unwrap();
        let context = server.seen.contexts.lock().unwrap()[1].clone();
        eventually("it waits", || context.waiting().is_some());
        context.interrupt(Interrupt::Connection);
        assert_eq!(line(&mut c), "interrupted");
        assert_eq!(c.read(&mut [0]).unwrap(), 0);
        // A statement that sends to a client which does not read.
        let mut c = server.connect();
        c.write_all(b"get 10000000\n").unwrap();
        let context = server.seen.contexts.lock().unwrap()[2].clone();
        std::thread::sleep(Duration::from_millis(100));
        context.interrupt(Interrupt::Connection);
        eventually("stopped", || server.seen.closed.load(SeqCst) == 3);
        drop(c);
        // A client that vanishes during a statement interrupts it.
        let mut c = server.connect();
        c.write_all(b"hang\n").unwrap();
        let context = server.seen.contexts.lock().unwrap()[3].clone();
        eventually("it waits", || context.waiting().is_some());
        drop(c);
        eventually("noticed", || server.seen.interrupted.load(SeqCst) == 3);
        server.stop();
    });
}

/// A worker may bring about what a request's rest waits for where it has served nobody else for a while.
#[test]
fn only_a_connection_that_is_alone_is_hastened() {
    all_ways(|o| {
        let one = o.map(|o| WorkerOptions { count: 1, ..o });
        let works = usize::from(one.is_some());
        let server = start(one, u32::MAX);
        let (mut a, mut b) = (server.connect(), server.connect());
        server.seen.rise(1);
        let ask = |c: &mut TcpStream| {
            c.write_all(b"later 1\n").unwrap();
            assert_eq!(line(c), "after 1");
        };
        let hastened = || server.seen.hastened.load(SeqCst);
        (0..16).for_each(|_| ask(&mut a));
        assert_eq!(hastened(), 0);
        (0..10).for_each(|_| ask(&mut a));
        assert_eq!(hastened(), 10 * works);
        (0..20).for_each(|_| [&mut b, &mut a].map(ask).into_iter().for_each(drop));
        assert_eq!(hastened(), 10 * works);
        // Replies of requests before leave together with the last.
        (0..16).for_each(|_| ask(&mut b));
        b.write_all(b"first\nlater 1\n").unwrap();
        assert_eq!((line(&mut b), line(&mut b)), ("first".into(), "after 1".into()));
        server.stop();
    });
}

/// Requests whose rest is left for later: what is shown meanwhile, what arrives meanwhile, and who wants it to end.
#[test]
fn the_rest_of_a_request_comes_later() {
    all_ways(|o| {
        let server = start(o, 1);
        let context = |n: usize| server.seen.contexts.lock().unwrap()[n].clone();
        let waits =
            |n: usize| eventually("it waits", || context(n).waiting().is_some_and(|(w, _)| w == Wait::LogFlush));
        // Many at once, and others beside them. They are no idle connections.
        let left = |i: usize| {
            let mut c = server.connect();
            c.write_all(format!("later {}\n", 1 + i / 100).as_bytes()).unwrap();
            c
        };
        let mut all: Vec<_> = (0..200).map(left).collect();
        let mut other = server.connect();
        (0..200).for_each(waits);
        for i in 0..15 {
            std::thread::sleep(Duration::from_millis(100));
            other.write_all(format!("{i}\n").as_bytes()).unwrap();
            assert_eq!(line(&mut other), i.to_string());
        }
        for half in [1, 2] {
            (100 * (half - 1)..200).for_each(waits);
            server.seen.rise(half);
            all[100 * (half - 1)..100 * half].iter_mut().for_each(|c| assert_eq!(line(c), format!("after {half}")));
        }
        assert!((0..200).all(|n| context(n).waiting().is_none()));
        drop((all, other));
        eventually("all closed", || server.seen.closed.load(SeqCst) == 201);

        // What arrives meanwhile is served afterwards; an earlier reply waits with it.
        let mut c = server.connect();
        c.write_all(b"first\nlater 3\nsec").unwrap();
        waits(201);
        c.write_all(b"ond\nlater 4\n").unwrap();
        server.seen.rise(3);
        assert_eq!((line(&mut c), line(&mut c)), ("first".into(), "after 3".into()));
        eventually("both have arrived", || !server.seen.ashore.lock().unwrap().is_empty());
        server.seen.rise(4);
        assert_eq!((line(&mut c), line(&mut c)), ("second".into(), "after 4".into()));
        // One that is there already.
        c.write_all(b"later 4\nlast\n").unwrap();
        assert_eq!((line(&mut c), line(&mut c)), ("after 4".into(), "last".into()));

        // Whoever wants the connection to end waits for the rest.
        for (n, goes) in [(202, false), (203, true)] {
            let mut c = server.connect();
            c.write_all(format!("later {}\n", n).as_bytes()).unwrap();
            waits(n);
            let closed = server.seen.closed.load(SeqCst);
            if goes {
                drop(c.shutdown(std::net::Shutdown::Both))
            } else {
                context(n).interrupt(Interrupt::Connection)
            }
            eventually("it is known", || context(n).pending().is_some());
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!((server.seen.closed.load(SeqCst), context(n).waiting().is_some()), (closed, true));
            server.seen.rise(n);
            eventually("closed", || server.seen.closed.load(SeqCst) == closed + 1);
        }
        // A statement's interruption is for what comes then.
        let mut c = server.connect();
        c.write_all(b"later 300\n").unwrap();
        waits(204);
        context(204).interrupt(Interrupt::Query);
        std::thread::sleep(Duration::from_millis(5));
        assert!(context(204).waiting().is_some());
        server.seen.rise(300);
        assert_eq!(line(&mut c), "after 300");
        drop(c);
        for (until, said) in [(13, None), (17, Some("after 17"))] {
            server.seen.rise(0);
            let mut c = server.connect();
            c.write_all(format!("later {until}\n").as_bytes()).unwrap();
            eventually("it waits", || {
                server.seen.contexts.lock().unwrap().last().unwrap().waiting().is_some_and(|(w, _)| w == Wait::LogFlush)
            });
            server.seen.rise(20);
            said.inspect(|said| assert_eq!(&line(&mut c), said));
            assert_eq!(c.read(&mut [0]).unwrap(), 0);
        }
        // Shutdown too: some other thread sees to the tide.
        let mut c = server.connect();
        c.write_all(b"later 400\n").unwrap();
        eventually("it waits", || {
            server.seen.contexts.lock().unwrap().last().unwrap().waiting().is_some_and(|(w, _)| w == Wait::LogFlush)
        });
        let seen = server.seen.clone();
        let moon = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            seen.rise(400);
        });
        if server.workers.is_some() {
            server.stop();
        }
        moon.join().unwrap();
        assert_eq!(line(&mut c), "after 400");
    });
}

#[test]
fn deadlines_and_sleeps() {
    all_ways(|o| {
        let server = start(o, u32::MAX);
        let mut c = server.connect();
        let mut sleepers: Vec<_> = (0..20).map(|_| server.connect()).collect();
        let start = Instant::now();
        sleepers.iter_mut().for_each(|s| s.write_all(b"sleep 500\n").unwrap());
        c.write_all(b"short\n").unwrap();
        assert_eq!(line(&mut c), "TimedOut");
        sleepers.iter_mut().for_each(|s| assert_eq!(line(s), "slept"));
        let took = start.elapsed();
        assert!(
            took >= Duration::from_millis(500) && took < Duration::from_secs(8),
            "they sleep side by side: {took:?}"
        );
        server.stop();
    });
}

#[test]
fn idle_connections_are_closed() {
    for o in [None, Some(WorkerOptions { count: 1, ..WorkerOptions::default() })] {
        let server = start(o, 1);
        let mut c = server.connect();
        assert_eq!(c.read(&mut [0]).unwrap(), 0);
        eventually("closed", || server.seen.closed.load(SeqCst) == 1);
        server.stop();
    }
}

#[test]
fn shutdown_interrupts_statements() {
    let server = start(Some(WorkerOptions { count: 2, ..WorkerOptions::default() }), u32::MAX);
    let mut busy = server.connect();
    let mut idle = server.connect();
    busy.write_all(b"hang\n").unwrap();
    let context = server.seen.contexts.lock().unwrap()[0].clone();
    eventually("it waits", || context.waiting().is_some());
    let seen = server.seen.clone();
    server.stop();
    assert_eq!(line(&mut busy), "interrupted");
    assert_eq!(busy.read(&mut [0]).unwrap(), 0);
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    assert_eq!(seen.closed.load(SeqCst), 2);
}

/// Clients that do anything at any time: the server neither hangs nor loses a connection's end.
#[test]
fn chaos() {
    all_ways(|o| {
        let mode = o.clone();
        let server = start(o, u32::MAX);
        let at = server.at;
        let clients: Vec<_> = (0..4u64)
            .map(|seed| {
                std::thread::spawn(move || {
                    let mut state = seed + 1;
                    let mut random = move |n: u64| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        (state >> 33) % n
                    };
                    for _ in 0..60 {
                        let mut c = TcpStream::connect(at).unwrap();
                        c.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                        for _ in 0..random(6) {
                            let request: &[u8] = match random(10) {
                                0 => b"hang\n",
                                1 => b"panic\n",
                                2 => b"get 20000\n",
                                3 => b"put 100000\nabc",
                                4 => b"sleep 2\n",
                                5 => b"half a li",
                                6 => b"quit\n",
                                7 => b"soon\n",
                                _ => b"a\nb\nc\nd\n",
                            };
                            if c.write_all(request).is_err() {
                                break;
                            }
                            if random(2) == 0 {
                                let _ = c.set_read_timeout(Some(Duration::from_millis(1)));
                                let _ = c.read(&mut [0; 5000]);
                            }
                        }
                    }
                })
            })
            .collect();
        let seen = server.seen.clone();
        let moon = std::thread::spawn(move || {
            while seen.closed.load(SeqCst) < 240 {
                std::thread::sleep(Duration::from_millis(1));
                seen.rise(seen.tide.load(SeqCst) + 1);
            }
        });
        clients.into_iter().for_each(|c| c.join().unwrap());
        let stuck = || {
            let contexts = server.seen.contexts.lock().unwrap();
            contexts.iter().filter_map(|c| Some((c.waiting()?.0, c.pending()))).collect::<Vec<_>>()
        };
        let until = Instant::now() + Duration::from_secs(60);
        while server.seen.closed.load(SeqCst) < 240 {
            assert!(Instant::now() < until, "{:?}: {} closed, {:?}", mode, server.seen.closed.load(SeqCst), stuck());
            std::thread::sleep(Duration::from_millis(1));
        }
        moon.join().unwrap();
        server.connect();
        server.stop();
    });
}
