//! Nanoseconds per shape, digest and parse of the statements that sysbench sends.
//!
//! `cargo run --release -p gannet-parser --example bench`

use std::hint::black_box;
use std::time::Instant;

use gannet_parser::digest::{Scan, digest, scan};
use gannet_parser::{LexMode, parse, parse_parameterised};

const STATEMENTS: &[(&str, &str)] = &[
    ("point select", "SELECT c FROM sbtest1 WHERE id=12345"),
    ("range", "SELECT c FROM sbtest1 WHERE id BETWEEN 12345 AND 12444"),
    ("sum", "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 12345 AND 12444"),
    ("distinct", "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 12345 AND 12444 ORDER BY c"),
    ("index update", "UPDATE sbtest1 SET k=k+1 WHERE id=12345"),
    (
        "non-index update",
        "UPDATE sbtest1 SET c='68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-28203206787-41238978918-19503783441' WHERE id=12345",
    ),
    ("delete", "DELETE FROM sbtest1 WHERE id=12345"),
    (
        "insert",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (12345, 54321, '68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-28203206787-41238978918-19503783441', '22195207048-70116052123-74140395089-76317954521-98694025897')",
    ),
    ("prepared", "SELECT c FROM sbtest1 WHERE id=?"),
    ("begin", "BEGIN"),
];

fn main() {
    println!("{:18} {:>9} {:>9} {:>9} {:>9}  ns", "", "shape", "digest", "parse", "with ords");
    let mode = LexMode::default();
    for (name, text) in STATEMENTS {
        let text = text.as_bytes();
        let mut buffers = Scan::new(0x5eed);
        let shape = measure(|| {
            black_box(scan(black_box(text), mode, &mut buffers));
        });
        let digest = measure(|| {
            black_box(digest(black_box(text), mode));
        });
        let plain = measure(|| {
            black_box(parse(black_box(text), mode)).ok();
        });
        let ordinals = measure(|| {
            black_box(parse_parameterised(black_box(text), mode)).ok();
        });
        println!("{name:18} {shape:9.1} {digest:9.1} {plain:9.1} {ordinals:9.1}");
    }
}

/// Best of ten rounds, in nanoseconds per call.
fn measure(mut f: impl FnMut()) -> f64 {
    const CALLS: u32 = 20_000;
    let mut best = f64::MAX;
    for _ in 0..10 {
        let start = Instant::now();
        for _ in 0..CALLS {
            f();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    best
}
