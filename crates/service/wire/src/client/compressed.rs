//! Compression at the client.

use super::Stream;
use crate::compress::{Algorithm, Compressed};
use std::io::{self, Read, Write};

/// A stream whose packets are compressed.
pub(super) struct Compressing {
    stream: Box<dyn Stream>,
    codec: Compressed,
    plain: Vec<u8>,
    at: usize,
}

impl Compressing {
    pub(super) fn new(stream: Box<dyn Stream>, algorithm: Algorithm) -> Self {
        Self { stream, codec: Compressed::new(algorithm, usize::MAX), plain: Vec::new(), at: 0 }
    }
}

impl Read for Compressing {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.at == self.plain.len() {
            self.plain.clear();
            self.at = 0;
            let fault = |f| io::Error::new(io::ErrorKind::InvalidData, format!("compressed packet: {f:?}"));
            if !self.codec.next(&mut self.plain).map_err(fault)? {
                let mut raw = [0; 16 << 10];
                let n = self.stream.read(&mut raw)?;
                if n == 0 {
                    return Ok(0);
                }
                self.codec.receive(&raw[..n]);
            }
        }
        let n = to.len().min(self.plain.len() - self.at);
        to[..n].copy_from_slice(&self.plain[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

impl Write for Compressing {
    fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        // A packet with number 0 begins a command.
        if plain.get(3) == Some(&0) {
            self.codec.restart();
        }
        let mut wire = Vec::new();
        self.codec.send(plain, &mut wire);
        self.stream.write_all(&wire)?;
        Ok(plain.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
