//! What idle connections cost: opens many, lets each make one request, and prints the server's memory.
//!
//! `cargo run --release -p gannet-runtime --example idle_connections -- 10000 [epoll|threads]`; the clients are another
//! process. Needs `ulimit -n` above the number of connections.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use gannet_runtime::{
    Addr, Conn, IoMode, Listener, ListenerOptions, Next, Peer, Ready, Service, TaskContext, ThreadHandling,
    WorkerOptions, Workers,
};

struct Echo;

impl Service for Echo {
    fn ready(&mut self, buffered: &[u8]) -> Ready {
        if buffered.is_empty() { Ready::NeedMore } else { Ready::Serve }
    }

    fn serve(&mut self, conn: &mut Conn) -> Next {
        let bytes = conn.buffered().to_vec();
        conn.consume(bytes.len());
        conn.out().extend_from_slice(&bytes);
        Next::Idle
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("proc");
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).expect("VmRSS");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
}

fn allow_many_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain calls with a valid structure.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
}

/// The other process: connects, makes one request each, says so, and holds on until its input ends.
fn client(path: &str, count: usize) {
    let request = [7u8; 100];
    let mut conns = Vec::with_capacity(count);
    for _ in 0..count {
        let mut c = UnixStream::connect(path).expect("connect");
        c.write_all(&request).expect("write");
        let mut back = [0; 100];
        c.read_exact(&mut back).expect("read");
        conns.push(c);
    }
    println!("connected");
    let _ = std::io::stdin().read(&mut [0]);
    // Now a few are busy among the idle ones.
    let start = Instant::now();
    for i in 0..20_000 {
        let c = &mut conns[i % 8];
        c.write_all(&request).expect("write");
        c.read_exact(&mut [0; 100]).expect("read");
    }
    println!("{:.1} us a round trip, one after the other", start.elapsed().as_secs_f64() * 1e6 / 20_000.0);
    let _ = std::io::stdin().read(&mut [0]);
}

fn main() {
    allow_many_files();
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).map(String::as_str) == Some("client") {
        return client(&args[2], args[3].parse().expect("a number"));
    }
    let count: usize = args.get(1).and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let mode = args.get(2).map_or("ring", String::as_str);
    let path = std::env::temp_dir().join(format!("gannet-idle-{}.sock", std::process::id()));
    let io = if mode == "epoll" { IoMode::Epoll } else { IoMode::Ring };
    let handling = match mode {
        "threads" => ThreadHandling::OneThreadPerConnection,
        _ => ThreadHandling::Workers(Arc::new(
            Workers::start(WorkerOptions { io, ..Default::default() }).expect("workers"),
        )),
    };
    let factory = Arc::new(|_: &Peer, _: &TaskContext| Some(Box::new(Echo) as Box<dyn Service>));
    let options = ListenerOptions { handling, ..Default::default() };
    let _listener = Listener::start(&Addr::Unix(path.clone()), options, factory).expect("listener");
    let before = resident_kib();
    let mut child = Command::new(&args[0])
        .args(["client".as_ref(), path.as_os_str(), count.to_string().as_ref()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the client process");
    let mut stdout = child.stdout.take().expect("piped");
    let mut stdin = child.stdin.take().expect("piped");
    let mut said = [0; 200];
    let start = Instant::now();
    assert!(stdout.read(&mut said).expect("the client") > 0);
    let connected = start.elapsed();
    let after = resident_kib();
    println!("{mode}: {count} connections in {:.2} s", connected.as_secs_f64());
    println!(
        "resident: {before} KiB before, {after} KiB with them: {:.0} bytes each",
        (after - before) as f64 * 1024.0 / count as f64
    );
    stdin.write_all(b"x").expect("the client");
    let n = stdout.read(&mut said).expect("the client");
    print!("8 busy among them: {}", String::from_utf8_lossy(&said[..n]));
    drop(stdin);
    let _ = child.wait();
}
