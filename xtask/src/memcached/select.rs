//! A prepared SELECT of an item as a client of MySQL's protocol sends it: what `bench` has beside a get.

use super::bench;
use crate::diff::Random;
use gannet_wire::{flags::cap, frame::Writer, handshake::Login};
use std::io::{Error, Read, Result, Write};
use std::net::TcpStream;

const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const VARCHAR: u8 = 0xfd;
/// A packet that ends a result, or tells of an error.
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;
/// The first statement of a connection.
const STATEMENT: u32 = 1;

fn packet(stream: &mut TcpStream) -> Result<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let mut body = vec![0; usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16];
    stream.read_exact(&mut body)?;
    match body.first() {
        Some(&ERR) => Err(Error::other(String::from_utf8_lossy(&body).into_owned())),
        _ => Ok(body),
    }
}

fn send(out: &mut Vec<u8>, body: &[u8]) {
    out.extend_from_slice(&(body.len() as u32).to_le_bytes()[..3]);
    out.push(0);
    out.extend_from_slice(body);
}

/// Logs in as root without a password and prepares the statement. Returns the bytes of an answer.
pub(super) fn begin(stream: &mut TcpStream, r: &mut Random) -> Result<usize> {
    packet(stream)?;
    let login = Login {
        capabilities: cap::PROTOCOL_41 | cap::SECURE_CONNECTION | cap::PLUGIN_AUTH | cap::DEPRECATE_EOF,
        max_packet: 1 << 24,
        collation: 45,
        user: b"root".to_vec(),
        plugin: Some(b"caching_sha2_password".to_vec()),
        ..Login::default()
    };
    let (mut out, mut number) = (Vec::new(), 1);
    login.write(&mut Writer::new(&mut out, &mut number));
    stream.write_all(&out)?;
    packet(stream)?;
    let mut text = vec![COM_STMT_PREPARE];
    text.extend_from_slice(b"SELECT c2, c3 FROM test.demo_test WHERE c1 = ?");
    out.clear();
    send(&mut out, &text);
    stream.write_all(&out)?;
    // What was prepared, its parameter, and its columns.
    (0..4).try_for_each(|_| packet(stream).map(drop))?;
    out.clear();
    request(&mut out, r);
    stream.write_all(&out)?;
    let mut bytes = 0;
    loop {
        let body = packet(stream)?;
        bytes += body.len() + 4;
        if body.first() == Some(&EOF) {
            return Ok(bytes);
        }
    }
}

/// Appends an execution for a key.
pub(super) fn request(out: &mut Vec<u8>, r: &mut Random) {
    let key = bench::key(r);
    let mut body = vec![COM_STMT_EXECUTE];
    body.extend_from_slice(&STATEMENT.to_le_bytes());
    // No cursor, once, no NULL, types are given.
    body.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1, VARCHAR, 0, key.len() as u8]);
    body.extend_from_slice(key.as_bytes());
    send(out, &body);
}
