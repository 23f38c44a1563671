//! Compressed packets: zlib and zstd, over TLS too, and what is refused.

use crate::common::{Running, error, one, options, rows, run};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::{Connection, Options, Tls};
use gannet_wire::flags::cap;

fn compressed(capabilities: u32) -> Options {
    Options { capabilities, ..options() }
}

fn status(c: &mut Connection) -> String {
    rows(c, "SHOW SESSION STATUS LIKE 'Compression%'")
        .into_iter()
        .map(|mut r| r.remove(1))
        .collect::<Vec<_>>()
        .join(" ")
}

fn exercise(c: &mut Connection) {
    assert_eq!(one(c, "SELECT 1"), "1");
    let long = "x".repeat(300_000);
    assert_eq!(one(c, &format!("SELECT LENGTH('{long}')")), "300000");
    assert_eq!(one(c, "SELECT REPEAT('yz', 300000)").len(), 600_000);
    assert_eq!(error(c, "SELEC"), 1064);
    let s = c.prepare("SELECT ?, RANDOM_BYTES(1000)").unwrap();
    let got = c.execute(&s, &[gannet_wire::client::Arg::Text(&long)]).unwrap();
    assert_eq!(got.rows[0][0].bytes().unwrap().len(), 300_000);
    c.ping().unwrap();
}

#[test]
fn both_algorithms_over_everything() {
    for handling in ["workers", "one-thread-per-connection"] {
        let r = match handling {
            "workers" => Running::start(),
            _ => Running::configured(|o| o.set(Live::ThreadHandling, VarValue::text("one-thread-per-connection"))),
        };
        for (capabilities, want) in [
            (cap::COMPRESS, "ON zlib 6"),
            (cap::ZSTD_COMPRESSION, "ON zstd 1"),
            (cap::COMPRESS | cap::ZSTD_COMPRESSION, "ON zlib 6"),
            (0, "OFF  0"),
        ] {
            for tls in [None, Some(Tls::default())] {
                for at in [r.tcp(), r.socket()] {
                    let mut c =
                        Connection::connect(&at, &Options { tls: tls.clone(), ..compressed(capabilities) }).unwrap();
                    assert_eq!(status(&mut c), want);
                    exercise(&mut c);
                }
            }
        }
    }
}

#[test]
fn the_variable_says_what_is_offered() {
    let r = Running::start();
    let mut c = r.connect();
    assert_eq!(error(&mut c, "SET GLOBAL protocol_compression_algorithms = 'lz4'"), 1231);
    run(&mut c, "SET GLOBAL protocol_compression_algorithms = 'zstd'");
    assert_eq!(Connection::connect(&r.socket(), &options()).unwrap_err().code(), Some(3922));
    let mut z = Connection::connect(&r.socket(), &compressed(cap::COMPRESS | cap::ZSTD_COMPRESSION)).unwrap();
    assert_eq!(status(&mut z), "ON zstd 1");
    assert_eq!(Connection::connect(&r.socket(), &compressed(cap::COMPRESS)).unwrap_err().code(), Some(3922));
}

#[test]
fn bombs_and_damage_end_the_connection_with_an_error() {
    let r = Running::configured(|o| o.set(Live::MaxAllowedPacket, VarValue::Int(1 << 20)));
    let mut bomb = Vec::new();
    let zeros = vec![0; 1 << 20];
    gannet_wire::compress::Compressed::new(gannet_wire::compress::Algorithm::Zlib, 0).send(&zeros, &mut bomb);
    // It says that it is 2 MiB long.
    bomb[6] = 0x20;
    let damaged = [&[20, 0, 0, 0, 100, 0, 0][..], &[0xAA; 20]].concat();
    let disorder = [1, 0, 0, 7, 0, 0, 0, 0x0E];
    for (bytes, want) in [(&bomb[..], 1153), (&damaged, 1157), (&disorder, 1156)] {
        let mut plain = crate::common::raw_login(&r, cap::COMPRESS);
        use std::io::{Read, Write};
        plain.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        plain.read_to_end(&mut answer).unwrap();
        // Compressed header, packet header, ERR and its number.
        let number = answer.get(12..14).map(|b| u16::from_le_bytes([b[0], b[1]]));
        assert_eq!((answer.get(11), number), (Some(&0xFF), Some(want)), "{answer:02x?}");
    }
    assert_eq!(one(&mut r.connect(), "SELECT 1"), "1");
}
