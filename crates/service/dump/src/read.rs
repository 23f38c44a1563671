//! Files of rows on their way in: decompressed, and cut into pieces at the ends of rows.

use crate::fault::{Fault, Outcome, wrong};
use gannet_base::crc32c;
use gannet_runtime::fs::open_plain;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The plain content of a file: by its name, from zstd or gzip.
pub(crate) fn open(path: &Path) -> Outcome<Box<dyn Read + Send>> {
    let file = open_plain(path).map_err(|e| Fault::file(path, e))?;
    Ok(match path.extension().and_then(|e| e.to_str()) {
        Some("zst") => Box::new(Zstd { input: Some(BufReader::new(Box::new(file))), frame: None }),
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(file))),
        _ => Box::new(file),
    })
}

/// Longest look back that a zstd file may ask for: what `zstd --ultra -22` writes.
const WINDOW: u64 = 128 << 20;

type Input = BufReader<Box<dyn Read + Send>>;

/// The frames of a zstd file as one stream.
struct Zstd {
    input: Option<Input>,
    frame: Option<StreamingDecoder<Input, FrameDecoder>>,
}

impl Read for Zstd {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let n = frame.read(to)?;
                if n > 0 || to.is_empty() {
                    return Ok(n);
                }
                self.input = self.frame.take().map(StreamingDecoder::into_inner);
            }
            let Some(mut input) = self.input.take() else { return Ok(0) };
            if input.fill_buf()?.is_empty() {
                return Ok(0);
            }
            let frame = StreamingDecoder::new_with_max_window_size(input, WINDOW);
            self.frame = Some(frame.map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?);
        }
    }
}

/// How rows are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) fields_terminated: String,
    pub(crate) enclosed: String,
    pub(crate) optionally: bool,
    pub(crate) escaped: String,
    pub(crate) lines_terminated: String,
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect {
            fields_terminated: "\t".into(),
            enclosed: String::new(),
            optionally: false,
            escaped: "\\".into(),
            lines_terminated: "\n".into(),
        }
    }
}

impl Dialect {
    /// The clauses of LOAD DATA.
    pub(crate) fn clauses(&self) -> String {
        let l = crate::names::literal;
        let optionally = if self.optionally { "OPTIONALLY " } else { "" };
        format!(
            "FIELDS TERMINATED BY {} {optionally}ENCLOSED BY {} ESCAPED BY {} LINES TERMINATED BY {}",
            l(&self.fields_terminated),
            l(&self.enclosed),
            l(&self.escaped),
            l(&self.lines_terminated)
        )
    }
}

/// Finds the ends of rows.
#[derive(Debug, Clone)]
struct Ends {
    escape: Option<u8>,
    quote: Option<u8>,
    end: Vec<u8>,
    /// Inside of an enclosed value.
    inside: bool,
}

impl Ends {
    fn new(d: &Dialect) -> Ends {
        let first = |s: &str| s.bytes().next();
        Ends {
            escape: first(&d.escaped),
            quote: first(&d.enclosed),
            end: d.lines_terminated.clone().into(),
            inside: false,
        }
    }

    /// Looks at `bytes[from..]`: where the next row ends, or from where to look on when there is more.
    fn next(&mut self, bytes: &[u8], from: usize) -> Result<usize, usize> {
        let mut at = from;
        while let Some(&b) = bytes.get(at) {
            if self.quote.is_none() && Some(b) != self.escape && Some(&b) != self.end.first() {
                // Nothing to see before the next byte of meaning.
                let first = self.end.first().copied().unwrap_or(b'\n');
                at += memchr::memchr2(self.escape.unwrap_or(first), first, &bytes[at..]).unwrap_or(bytes.len() - at);
                continue;
            }
            if Some(b) == self.escape {
                if at + 1 == bytes.len() {
                    return Err(at);
                }
                at += 2;
            } else if Some(b) == self.quote {
                self.inside = !self.inside;
                at += 1;
            } else if !self.inside && bytes[at..].starts_with(&self.end) {
                return Ok(at + self.end.len());
            } else if !self.inside && self.end.starts_with(&bytes[at..]) {
                return Err(at);
            } else {
                at += 1;
            }
        }
        Err(bytes.len())
    }
}

/// Rows of a file that go in by one transaction.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) bytes: Vec<u8>,
    /// Where each row ends.
    pub(crate) ends: Vec<usize>,
    /// Its place in the plain content.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The number of its first row in the file, from 1.
    pub(crate) row: u64,
}

impl Piece {
    /// All of it is UTF-8; not every server says where it is not.
    pub(crate) fn check_text(&self) -> Outcome<()> {
        let Err(e) = std::str::from_utf8(&self.bytes) else { return Ok(()) };
        let before = self.ends.iter().take_while(|end| **end <= e.valid_up_to()).count() as u64;
        wrong(format!("row {}: the text is not UTF-8", self.row + before))
    }
}

/// Cuts a file into pieces.
pub(crate) struct Pieces {
    path: PathBuf,
    input: Box<dyn Read + Send>,
    ends: Ends,
    most: usize,
    /// Read, and not yet in a piece.
    ahead: Vec<u8>,
    at: u64,
    row: u64,
    crc: u32,
    over: bool,
}

/// Bytes that are read at once.
const STEP: usize = 256 << 10;
/// The longest row there can be: the largest `max_allowed_packet`.
const LONGEST_ROW: usize = 1 << 30;

impl Pieces {
    pub(crate) fn open(path: PathBuf, dialect: &Dialect, most: usize) -> Outcome<Pieces> {
        let input = open(&path)?;
        let ends = Ends::new(dialect);
        Ok(Pieces { path, input, ends, most, ahead: Vec::new(), at: 0, row: 1, crc: 0, over: false })
    }

    /// Reads past what is in already.
    pub(crate) fn skip_to(&mut self, to: u64) -> Outcome<()> {
        while self.at < to {
            let most = std::mem::replace(&mut self.most, (to - self.at).min(16 << 20) as usize);
            let piece = self.next();
            self.most = most;
            if piece?.is_none() || self.at > to {
                return wrong(format!("{}: the file is not the one of which {to} bytes are in", self.place()));
            }
        }
        Ok(())
    }

    /// The next piece: rows of at most so many bytes, or one longer row. `None` at the end.
    pub(crate) fn next(&mut self) -> Outcome<Option<Piece>> {
        let mut piece =
            Piece { from: self.at, row: self.row, bytes: std::mem::take(&mut self.ahead), ..Piece::default() };
        let (mut seen, mut end) = (0, 0);
        loop {
            match self.ends.next(&piece.bytes, seen) {
                Ok(next) => {
                    piece.ends.push(next);
                    (seen, end) = (next, next);
                    if end >= self.most {
                        break;
                    }
                }
                Err(next) => {
                    seen = next;
                    if piece.bytes.len() - end > LONGEST_ROW {
                        return wrong(format!(
                            "{}: row {} is too long",
                            self.place(),
                            self.row + piece.ends.len() as u64
                        ));
                    }
                    if self.over || !self.fill(&mut piece.bytes)? {
                        break;
                    }
                }
            }
        }
        if self.over && end < piece.bytes.len() {
            let row = self.row + piece.ends.len() as u64;
            return wrong(format!("{}: the file ends inside of row {row}: it is cut short", self.place()));
        }
        self.ahead = piece.bytes.split_off(end);
        self.crc = crc32c(self.crc, &piece.bytes);
        self.at += end as u64;
        self.row += piece.ends.len() as u64;
        piece.to = self.at;
        Ok((end > 0).then_some(piece))
    }

    fn fill(&mut self, bytes: &mut Vec<u8>) -> Outcome<bool> {
        let had = bytes.len();
        bytes.resize(had + STEP, 0);
        let n = self.input.read(&mut bytes[had..]).map_err(|e| {
            let at = format!("{} (after row {})", self.path.display(), self.row.saturating_sub(1));
            Fault::Wrong(format!("{at}: the file is damaged or cut short: {e}"))
        })?;
        bytes.truncate(had + n);
        self.over = n == 0;
        Ok(n > 0)
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }

    /// Rows, bytes and CRC-32C of what has been read.
    pub(crate) fn read(&self) -> (u64, u64, u32) {
        (self.row - 1, self.at, self.crc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::{Compression, Writer};

    fn dir(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("gannet-dump-{name}-{}", std::process::id()));
        gannet_runtime::fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn files_are_read_back_in_pieces() {
        let dir = dir("pieces");
        let row = |i: u64| format!("{i}\t{}\\\n\\\\\n", "x".repeat((i % 97) as usize)).into_bytes();
        for (name, compression) in
            [("a.tsv", Compression::None), ("a.zst", Compression::Zstd), ("a.gz", Compression::Gzip)]
        {
            let mut w = Writer::create(dir.join(name), compression).unwrap();
            let mut all = Vec::new();
            for i in 0..40_000 {
                all.extend(row(i));
                w.row(|out| {
                    out.extend(row(i));
                    Ok(())
                })
                .unwrap();
            }
            let written = w.finish().unwrap();
            assert_eq!((written.rows, written.plain, written.crc), (40_000, all.len() as u64, crc32c(0, &all)));
            let mut pieces = Pieces::open(dir.join(name), &Dialect::default(), 300_000).unwrap();
            let mut got = Vec::new();
            while let Some(piece) = pieces.next().unwrap() {
                assert_eq!((piece.from, *piece.ends.last().unwrap()), (got.len() as u64, piece.bytes.len()));
                assert!(piece.bytes.len() < 301_000, "{}", piece.bytes.len());
                got.extend(piece.bytes);
            }
            assert!(got == all, "{name}");
            assert_eq!(pieces.read(), (40_000, all.len() as u64, written.crc));
            // Cut short at any place: an error, never fewer rows.
            let whole = std::fs::read(dir.join(name)).unwrap();
            for cut in [1, whole.len() / 3, whole.len() - 1] {
                let path = dir.join(format!("cut-{name}"));
                std::fs::write(&path, &whole[..cut]).unwrap();
                let mut pieces = Pieces::open(path, &Dialect::default(), 300_000).unwrap();
                let e = loop {
                    match pieces.next() {
                        Ok(Some(_)) => {}
                        Ok(None) => panic!("{name} {cut}: no error"),
                        Err(e) => break e.to_string(),
                    }
                };
                assert!(e.contains("cut short"), "{e}");
            }
        }
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn rows_of_other_dialects_end_where_they_should() {
        let csv = Dialect {
            fields_terminated: ",".into(),
            enclosed: "\"".into(),
            lines_terminated: "\r\n".into(),
            ..Dialect::default()
        };
        let dir = dir("csv");
        let path = dir.join("a.csv");
        std::fs::write(&path, "1,\"a\r\nb\"\r\n2,\"it\"\"s\"\r\n\"\\\"\r\n\"\r\n").unwrap();
        let mut pieces = Pieces::open(path, &csv, 1).unwrap();
        let mut rows = Vec::new();
        while let Some(p) = pieces.next().unwrap() {
            rows.push(String::from_utf8(p.bytes).unwrap());
        }
        assert_eq!(rows, ["1,\"a\r\nb\"\r\n", "2,\"it\"\"s\"\r\n", "\"\\\"\r\n\"\r\n"]);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
