//! What is too large to hold: rows of a result as they come, and files that the server asks for.

use super::result::read_error;
use super::{ColumnInfo, Connection, Error, OkInfo, Result};
use crate::flags::{cap, com};
use crate::frame;
use crate::reply;
use std::io;
use std::ops::Range;

/// The first byte of the packet by which a server asks for a file.
const ASKS_FOR_FILE: u8 = 0xFB;

/// Room for reads of the stream while rows come: a server may send them faster than they are taken.
const STREAMED: usize = 128 << 10;

/// The rows of a text result, read one by one. A connection whose rows are not read to their end can only be closed.
#[derive(Debug)]
pub struct Rows<'c> {
    connection: &'c mut Connection,
    /// The columns of the result.
    pub columns: Vec<ColumnInfo>,
    /// A row that came in several packets.
    long: Vec<u8>,
    done: Option<OkInfo>,
}

impl Rows<'_> {
    /// The next row as the text protocol has it: for each column a length-encoded string, or 0xFB for NULL
    /// ([`Reader::lenenc_bytes_or_null`](crate::codec::Reader::lenenc_bytes_or_null)). `None` behind the last.
    pub fn next_row(&mut self) -> Result<Option<&[u8]>> {
        if self.done.is_some() {
            return Ok(None);
        }
        let Some(at) = self.connection.receive_in_place(&mut self.long)? else {
            return Ok(Some(&self.long));
        };
        let packet = &self.connection.input[at.clone()];
        match packet.first() {
            Some(&reply::ERR) => Err(read_error(packet)?),
            Some(&reply::EOF) if packet.len() < 9 || self.connection.is_ok_end(packet) => {
                self.done = Some(self.connection.read_end(packet)?);
                Ok(None)
            }
            _ => Ok(Some(&self.connection.input[at])),
        }
    }
}

impl Connection {
    /// Runs SQL of one result, whose rows are then read from it.
    pub fn stream(&mut self, sql: &str) -> Result<Rows<'_>> {
        self.command(com::QUERY, sql.as_bytes())?;
        let head = self.receive()?;
        if head.first() == Some(&reply::OK) {
            let done = Some(self.read_ok(&head)?);
            return Ok(Rows { connection: self, columns: Vec::new(), long: Vec::new(), done });
        }
        if head.first() == Some(&ASKS_FOR_FILE) {
            return Err(Error::Protocol("the server asks for a file"));
        }
        let columns = self.described_columns(&head)?;
        if self.input.len() < STREAMED {
            self.input.resize(STREAMED, 0);
        }
        Ok(Rows { connection: self, columns, long: Vec::new(), done: None })
    }

    /// Runs a LOAD DATA LOCAL, for which the connection needs [`cap::LOCAL_FILES`]. `next` puts a piece of the file
    /// into the buffer, which it finds empty, and says whether there was one. Each piece is sent before the next is
    /// asked for, whatever name the server asks for.
    ///
    /// # Errors
    /// The server's; the error of `next`, after which the server has taken the file as ended: what was sent is in, if
    /// the transaction is not rolled back.
    pub fn load_local(&mut self, sql: &str, next: &mut dyn FnMut(&mut Vec<u8>) -> io::Result<bool>) -> Result<OkInfo> {
        if self.capabilities & cap::LOCAL_FILES == 0 {
            return Err(Error::Protocol("the connection has not agreed on LOCAL files"));
        }
        self.command(com::QUERY, sql.as_bytes())?;
        let head = self.receive()?;
        if head.first() != Some(&ASKS_FOR_FILE) {
            return Err(Error::Protocol("the server asks for no file"));
        }
        let mut piece = Vec::new();
        let mut failed = None;
        loop {
            piece.clear();
            match next(&mut piece) {
                Ok(true) if piece.is_empty() => {}
                Ok(true) => {
                    for part in piece.chunks(frame::MAX_PAYLOAD - 1) {
                        self.send(part)?;
                    }
                }
                Ok(false) => break,
                Err(e) => {
                    failed = Some(e);
                    break;
                }
            }
        }
        self.send(&[])?;
        let answer = self.receive()?;
        match failed {
            Some(e) => Err(e.into()),
            None => self.read_ok(&answer),
        }
    }

    /// Reads one payload: its place in the input, or `None` when it came in several packets and is in `long`.
    fn receive_in_place(&mut self, long: &mut Vec<u8>) -> Result<Option<Range<usize>>> {
        long.clear();
        loop {
            self.fill(frame::HEADER)?;
            let (len, sequence) = frame::header(&self.input[self.taken..self.filled])?;
            self.taken += frame::HEADER;
            self.sequence = sequence.wrapping_add(1);
            self.fill(len)?;
            let at = self.taken..self.taken + len;
            self.taken = at.end;
            if len < frame::MAX_PAYLOAD && long.is_empty() {
                return Ok(Some(at));
            }
            long.extend_from_slice(&self.input[at]);
            if len < frame::MAX_PAYLOAD {
                return Ok(None);
            }
        }
    }
}
