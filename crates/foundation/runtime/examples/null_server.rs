//! The cheapest possible service: fixed MySQL replies. What it costs is what this crate costs, and the kernel.
//!
//! `null_server SOCKET-PATH TCP-PORT` with the environment variables `MODE` (`threads`, `workers`), `IO` (`ring`,
//! `epoll`), `RECV` (`multishot`, `oneshot`), `SEND` (`ring`, `direct`), `LOOK` (`off`) and `WORKERS`.
//! Point sysbench's oltp_point_select at it with `--skip-trx`.

use std::sync::Arc;

use gannet_runtime::{
    Addr, Conn, IoMode, Listener, ListenerOptions, Next, Peer, Ready, RecvMode, SendMode, Service, TaskContext,
    ThreadHandling, WorkerOptions, Workers,
};

fn packet(seq: u8, body: &[u8]) -> Vec<u8> {
    let mut p = (body.len() as u32).to_le_bytes()[..3].to_vec();
    p.push(seq);
    p.extend_from_slice(body);
    p
}

/// A column definition named `name` of MySQL type `ty`.
fn column(seq: u8, name: &str, ty: u8) -> Vec<u8> {
    let mut b = Vec::new();
    for s in ["def", "sbtest", "sbtest1", "sbtest1", name, name] {
        b.push(s.len() as u8);
        b.extend_from_slice(s.as_bytes());
    }
    b.extend_from_slice(&[0x0c, 45, 0, 0xe0, 1, 0, 0, ty, 0, 0, 0, 0, 0]);
    packet(seq, &b)
}

struct Replies {
    greeting: Vec<u8>,
    auth_ok: Vec<u8>,
    ok: Vec<u8>,
    prepared: Vec<u8>,
    text_row: Vec<u8>,
    binary_row: Vec<u8>,
}

impl Replies {
    fn new() -> Self {
        let mut hello = b"\x0a8.4.0-null\0\x01\0\0\0saltsalt\0".to_vec();
        // Capabilities without CLIENT_DEPRECATE_EOF; utf8mb4; autocommit.
        hello.extend_from_slice(&[0xff, 0xf7, 45, 2, 0, 0x0f, 0x80, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        hello.extend_from_slice(b"saltsaltsalt\0mysql_native_password\0");
        let (eof, ok) = (&[0xfe, 0, 0, 2, 0], &[0, 0, 0, 2, 0, 0, 0]);
        let row = |prefix: &[u8]| {
            let mut r = prefix.to_vec();
            r.push(119);
            r.extend_from_slice(&[b'7'; 119]);
            [packet(1, &[1]), column(2, "c", 0xfe), packet(3, eof), packet(4, &r), packet(5, eof)].concat()
        };
        Replies {
            greeting: packet(0, &hello),
            auth_ok: packet(2, ok),
            ok: packet(1, ok),
            prepared: [
                packet(1, &[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]),
                column(2, "?", 0xfd),
                packet(3, eof),
                column(4, "c", 0xfe),
                packet(5, eof),
            ]
            .concat(),
            text_row: row(&[]),
            binary_row: row(&[0, 0]),
        }
    }
}

enum Phase {
    Greet,
    Auth,
    Commands,
}

struct Null {
    replies: Arc<Replies>,
    phase: Phase,
}

/// Length of the first packet with its header, when all of it is there.
fn whole(b: &[u8]) -> Option<usize> {
    let header = b.first_chunk::<4>()?;
    let len = 4 + u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
    (b.len() >= len).then_some(len)
}

impl Service for Null {
    fn ready(&mut self, buffered: &[u8]) -> Ready {
        match self.phase {
            Phase::Greet => Ready::Serve,
            _ if whole(buffered).is_some() => Ready::Serve,
            _ => Ready::NeedMore,
        }
    }

    fn serve(&mut self, conn: &mut Conn) -> Next {
        let r = &self.replies;
        if let Phase::Greet = self.phase {
            self.phase = Phase::Auth;
            conn.out().extend_from_slice(&r.greeting);
            return Next::Idle;
        }
        while let Some(len) = whole(conn.buffered()) {
            let reply: &[u8] = match (&self.phase, conn.buffered().get(4), conn.buffered().get(5)) {
                (Phase::Auth, ..) => &r.auth_ok,
                (_, Some(0x01), _) => return Next::Close,
                (_, Some(0x03), Some(b'S' | b's')) if conn.buffered().get(6) != Some(&b'E') || len > 20 => &r.text_row,
                (_, Some(0x16), _) => &r.prepared,
                (_, Some(0x17), _) => &r.binary_row,
                (_, Some(0x19), _) => &[],
                _ => &r.ok,
            };
            conn.out().extend_from_slice(reply);
            self.phase = Phase::Commands;
            conn.consume(len);
        }
        Next::Idle
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, port] = &args[..] else { panic!("null_server SOCKET-PATH TCP-PORT") };
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let options = WorkerOptions {
        count: var("WORKERS").parse().unwrap_or(0),
        io: if var("IO") == "epoll" { IoMode::Epoll } else { IoMode::Ring },
        recv: if var("RECV") == "oneshot" { RecvMode::Oneshot } else { RecvMode::Multishot },
        send: if var("SEND") == "direct" { SendMode::Direct } else { SendMode::Ring },
        look: var("LOOK") != "off",
        ..WorkerOptions::default()
    };
    let handling = if var("MODE") == "threads" {
        ThreadHandling::OneThreadPerConnection
    } else {
        ThreadHandling::Workers(Arc::new(Workers::start(options).expect("workers")))
    };
    let replies = Arc::new(Replies::new());
    let factory = Arc::new(move |_: &Peer, _: &TaskContext| {
        Some(Box::new(Null { replies: replies.clone(), phase: Phase::Greet }) as Box<dyn Service>)
    });
    let listen = |addr: Addr| {
        let o = ListenerOptions { handling: handling.clone(), ..ListenerOptions::default() };
        Listener::start(&addr, o, factory.clone()).expect("listener")
    };
    let _unix = listen(Addr::Unix(path.into()));
    let _tcp = listen(Addr::Tcp(([127, 0, 0, 1], port.parse().expect("a port")).into()));
    loop {
        std::thread::park();
    }
}
