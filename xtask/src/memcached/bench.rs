//! Processor time of a server per operation of memcached's protocol, beside other servers, in turn; and of a prepared
//! SELECT of the same items, sent and read in the same way.

use super::select;
use crate::diff::Random;
use std::{
    fmt::Write as _,
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

/// Connections that send by turns.
const CONNECTIONS: usize = 64;
/// Items, and bytes of a value.
const ITEMS: usize = 20_000;
const VALUE: usize = 100;
/// Keys of a get of many.
const MANY: usize = 100;
/// Of the clock in `/proc/PID/stat`.
const TICKS_A_SECOND: f64 = 100.0;

/// Where a server listens, and its process.
pub(super) struct Server {
    pub(super) name: String,
    pub(super) address: String,
    pid: u32,
    /// It is asked by SQL, on MySQL's protocol.
    sql: bool,
}

impl Server {
    /// `NAME=HOST:PORT,PID`
    fn of(text: &str, sql: bool) -> Option<Server> {
        let (name, rest) = text.split_once('=')?;
        let (address, pid) = rest.split_once(',')?;
        Some(Server { name: name.into(), address: address.into(), pid: pid.parse().ok()?, sql })
    }

    /// A shape of reads of single items is one of SELECTs, too.
    fn takes(&self, shape: Shape) -> bool {
        !self.sql || (!shape.2 && shape.3 == 1)
    }

    /// Seconds of processor time.
    fn cpu(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/stat", self.pid);
        let stat = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let behind_name = stat.rsplit(')').next().unwrap_or_default();
        let ticks: f64 = behind_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<f64>().ok()).sum();
        Ok(ticks / TICKS_A_SECOND)
    }
}

/// What is measured: name, requests sent at once, whether they set, keys of a get.
type Shape = (&'static str, usize, bool, usize);

const SHAPES: [Shape; 5] = [
    ("get", 1, false, 1),
    ("get, 16 at once", 16, false, 1),
    ("set", 1, true, 1),
    ("set, 16 at once", 16, true, 1),
    ("get of 100 keys", 1, false, MANY),
];

fn request(out: &mut Vec<u8>, r: &mut Random, sets: bool, keys: usize) {
    if sets {
        let _ = write!(out, "set {} 0 0 {VALUE}\r\n", key(r));
        out.resize(out.len() + VALUE, b'v');
    } else {
        out.extend_from_slice(b"get");
        (0..keys).for_each(|_| drop(write!(out, " {}", key(r))));
    }
    out.extend_from_slice(b"\r\n");
}

/// Bytes of its answer.
fn answer(sets: bool, keys: usize) -> usize {
    let item = "VALUE key-00000000 0 100\r\n".len() + VALUE + 2;
    if sets { "STORED\r\n".len() } else { keys * item + "END\r\n".len() }
}

/// A key of [`request`].
pub(super) fn key(r: &mut Random) -> String {
    format!("key-{:08}", r.below(ITEMS))
}

pub(super) fn connect(server: &Server) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(&server.address).map_err(|e| format!("{}: {e}", server.address))?;
    let set = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(Duration::from_secs(30))));
    set.map(|()| stream).map_err(|e| e.to_string())
}

fn fill(server: &Server) -> Result<(), String> {
    let mut stream = connect(server)?;
    let failed = |e: std::io::Error| format!("{}: {e}", server.name);
    let keys: Vec<usize> = (0..ITEMS).collect();
    for some in keys.chunks(100) {
        let mut out = Vec::new();
        for key in some {
            let _ = write!(out, "set key-{key:08} 0 0 {VALUE}\r\n");
            out.resize(out.len() + VALUE, b'v');
            out.extend_from_slice(b"\r\n");
        }
        stream.write_all(&out).map_err(failed)?;
        stream.read_exact(&mut vec![0; answer(true, 1) * some.len()]).map_err(failed)?;
    }
    Ok(())
}

/// Microseconds of the server's processor time an operation, and operations a second.
fn measure(server: &Server, (_, at_once, sets, keys): Shape, seconds: f64) -> Result<(f64, f64), String> {
    let mut r = Random::new(7);
    let failed = |e: std::io::Error| format!("{}: {e}", server.name);
    let (mut all, mut bytes) = (Vec::new(), answer(sets, keys));
    for _ in 0..CONNECTIONS {
        let mut stream = connect(server)?;
        if server.sql {
            bytes = select::begin(&mut stream, &mut r).map_err(failed)?;
        }
        all.push(stream);
    }
    let mut got = vec![0; bytes * at_once];
    let mut out = Vec::new();
    let mut send = |stream: &mut TcpStream| {
        out.clear();
        (0..at_once).for_each(|_| match server.sql {
            true => select::request(&mut out, &mut r),
            false => request(&mut out, &mut r, sets, keys),
        });
        stream.write_all(&out).map_err(failed)
    };
    all.iter_mut().try_for_each(&mut send)?;
    let (begun, before, mut n) = (Instant::now(), server.cpu()?, 0);
    while begun.elapsed().as_secs_f64() < seconds {
        for stream in &mut all {
            stream.read_exact(&mut got).map_err(failed)?;
            send(stream)?;
            n += at_once;
        }
    }
    let (took, spent) = (begun.elapsed().as_secs_f64(), server.cpu()? - before);
    for stream in &mut all {
        stream.read_exact(&mut got).map_err(failed)?;
    }
    Ok((spent / n as f64 * 1e6, n as f64 / took))
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or_default()
}

/// `bench`: medians of the rounds, a line for each shape.
pub(super) fn run(args: &[String]) -> Result<String, String> {
    let (mut servers, mut rounds, mut seconds, mut only) = (Vec::new(), 5, 2.0, "");
    let mut rest = args.iter();
    while let Some(name) = rest.next() {
        let value = rest.next().ok_or(super::USAGE)?;
        match name.as_str() {
            "--server" | "--sql" => servers.push(Server::of(value, name == "--sql").ok_or(super::USAGE)?),
            "--rounds" => rounds = value.parse().map_err(|_| super::USAGE)?,
            "--seconds" => seconds = value.parse().map_err(|_| super::USAGE)?,
            "--only" => only = value,
            _ => return Err(super::USAGE.to_owned()),
        }
    }
    servers.iter().filter(|server| !server.sql).try_for_each(fill)?;
    let mut text = String::new();
    for shape in SHAPES.into_iter().filter(|shape| shape.0.contains(only)) {
        let mut figures = vec![(Vec::new(), Vec::new()); servers.len()];
        for _ in 0..rounds {
            for (server, (cpu, rate)) in servers.iter().zip(&mut figures).filter(|(server, _)| server.takes(shape)) {
                let (us, per_second) = measure(server, shape, seconds)?;
                cpu.push(us);
                rate.push(per_second);
            }
        }
        let _ = write!(text, "{:<16}", shape.0);
        for (server, (cpu, rate)) in servers.iter().zip(figures).filter(|(server, _)| server.takes(shape)) {
            let _ = write!(text, "  {}: {:.2} us, {:.0}/s", server.name, median(cpu), median(rate));
        }
        text.push('\n');
    }
    Ok(text)
}
