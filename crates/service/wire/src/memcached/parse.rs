//! The requests of memcached's protocol, text and meta, as memcached 1.6.18 takes them (its `doc/protocol.txt`).
//!
//! Pure: bytes in, a command out, whose keys and data are ranges of these bytes. Nothing is kept between calls but the
//! number of bytes that are still to be dropped of a refused value, and what is answered then, so that a request may
//! arrive in pieces of any size: [`Parser::next`] is called again with what was not used, and more behind it.
//!
//! A line ends with `\n`, with or without a `\r` before it; a value ends with `\r\n`.

use super::flags::MetaFlags;
use super::number::{FORMAT, length, signed, unsigned};

/// Bytes of a key, of a base64 key before it is decoded.
pub const KEY_BYTES: usize = 250;
/// Bytes of a line that does not end; those of `get` and `gets` are not bounded by it.
pub const LINE_BYTES: usize = 2048;
/// The longest line at all.
const MOST_LINE: usize = 16 << 20;
/// Blanks that may stand before `get` in a long line.
const BLANKS: usize = 100;
/// What an item takes beside its key and its value, in the account of `item_size_max`.
const ITEM_HEAD: usize = 48 + 8;

/// What comes next in a client's bytes.
#[derive(Debug, PartialEq)]
pub enum Step<'b> {
    /// Nothing whole.
    More,
    /// A command; it took `used` bytes.
    Command { command: Command<'b>, used: usize },
    /// A line that cannot be served: `answer` without its line end, nothing if it is empty.
    Refused { answer: &'static str, used: usize },
    /// The connection ends, after `answer`.
    Close { answer: &'static str },
}

/// A request. Keys are 1 to [`KEY_BYTES`] bytes without blanks and control characters.
#[derive(Debug, PartialEq)]
pub enum Command<'b> {
    /// `get` and `gets` (with `cas`). A key that is too long was refused before.
    Get {
        keys: Keys<'b>,
        cas: bool,
    },
    /// `gat` and `gats`.
    GetAndTouch {
        expiry: i32,
        keys: Keys<'b>,
        cas: bool,
    },
    Store(Store<'b>),
    /// A value that is beyond `item_size_max`: its bytes are dropped. What `set` would have replaced goes.
    TooLarge {
        key: &'b [u8],
        verb: Verb,
        noreply: bool,
    },
    /// The value does not end with `\r\n`. For `ms` the answer is the same.
    BadChunk {
        noreply: bool,
    },
    Delete {
        key: &'b [u8],
        noreply: bool,
    },
    /// `incr` and `decr`.
    Count {
        key: &'b [u8],
        delta: u64,
        up: bool,
        noreply: bool,
    },
    Touch {
        key: &'b [u8],
        expiry: i32,
        noreply: bool,
    },
    FlushAll {
        delay: i32,
        noreply: bool,
    },
    Stats {
        of: &'b [u8],
    },
    Version,
    Verbosity {
        noreply: bool,
    },
    MetaGet {
        key: &'b [u8],
        flags: MetaFlags<'b>,
    },
    MetaSet {
        key: &'b [u8],
        flags: MetaFlags<'b>,
        data: &'b [u8],
    },
    /// As `TooLarge`, of `ms`.
    MetaTooLarge {
        key: &'b [u8],
        flags: MetaFlags<'b>,
    },
    MetaDelete {
        key: &'b [u8],
        flags: MetaFlags<'b>,
    },
    MetaCount {
        key: &'b [u8],
        flags: MetaFlags<'b>,
    },
    MetaNoop,
    MetaDebug {
        key: &'b [u8],
        base64: bool,
    },
}

impl Command<'_> {
    /// It is one of the meta protocol.
    pub fn is_meta(&self) -> bool {
        use Command::*;
        matches!(
            self,
            MetaGet { .. }
                | MetaSet { .. }
                | MetaTooLarge { .. }
                | MetaDelete { .. }
                | MetaCount { .. }
                | MetaNoop
                | MetaDebug { .. }
        )
    }
}

/// `set` and its kin.
#[derive(Debug, PartialEq)]
pub struct Store<'b> {
    pub verb: Verb,
    pub key: &'b [u8],
    pub flags: u32,
    pub expiry: i32,
    /// Of `cas` alone.
    pub cas: u64,
    pub data: &'b [u8],
    pub noreply: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    Cas,
}

/// The keys of a get, in the order asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Keys<'b>(&'b [u8]);

impl<'b> Keys<'b> {
    pub fn iter(&self) -> impl Iterator<Item = &'b [u8]> + Clone + use<'b> {
        words(self.0)
    }
}

/// Where a client is in its stream.
#[derive(Debug, Default)]
pub struct Parser {
    /// Bytes of a refused value that have not come yet.
    drop: usize,
    /// What is answered when they have.
    late: &'static str,
    /// So many bytes have no line end.
    scanned: usize,
    /// A request takes at least so many bytes.
    need: usize,
}

const ERROR: &str = "ERROR";
const EXPIRY: &str = "CLIENT_ERROR invalid exptime argument";
/// The answer to a value that is too large.
pub const TOO_LARGE: &str = "SERVER_ERROR object too large for cache";
/// The answer to a value that does not end with a line end.
pub const BAD_CHUNK: &str = "CLIENT_ERROR bad data chunk";
const BAD_DELETE: &str = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]";
const BAD_DELTA: &str = "CLIENT_ERROR invalid numeric delta argument";

impl Parser {
    /// Whether so many bytes may hold a request: where not, [`Parser::next`] need not be asked again.
    pub fn may_serve(&self, bytes: usize) -> bool {
        bytes > 0 && bytes >= self.need
    }

    /// So many bytes the request takes at least of which a part has come; 0: none has, or it is dropped.
    pub fn needed(&self) -> usize {
        self.need
    }

    /// Nothing of a request has come.
    pub fn is_between(&self) -> bool {
        self.need == 0 && self.drop == 0
    }

    /// The request of which a part has come cannot be taken: its value is dropped. `false`: it is a line, whose end is
    /// not known.
    pub fn give_up(&mut self) -> bool {
        let value = self.scanned == 0;
        if value {
            self.drop = std::mem::take(&mut self.need);
        }
        value
    }

    /// The first request in `bytes`. `item_size_max` bounds key, value and what an item has beside them.
    pub fn next<'b>(&mut self, bytes: &'b [u8], item_size_max: usize) -> Step<'b> {
        if self.drop > 0 {
            let used = self.drop.min(bytes.len());
            self.drop -= used;
            if used == 0 {
                return Step::More;
            }
            let answer = if self.drop == 0 { std::mem::take(&mut self.late) } else { "" };
            return Step::Refused { answer, used };
        }
        let Some(end) = memchr::memchr(b'\n', bytes.get(self.scanned..).unwrap_or_default()) else {
            (self.scanned, self.need) = (bytes.len(), bytes.len() + 1);
            return unfinished(bytes);
        };
        let end = self.scanned + end;
        (self.scanned, self.need) = (0, 0);
        let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
        // What stands behind a zero is no part of it.
        let line = memchr::memchr(0, line).map_or(line, |zero| &line[..zero]);
        let at = Line { line, bytes, used: end + 1, item_size_max };
        match at.step() {
            Ok(Taken::Whole(command)) => Step::Command { command, used: at.used },
            Ok(Taken::WithData(command, used)) => Step::Command { command, used },
            Ok(Taken::Dropped(command, size)) => {
                self.drop = size;
                Step::Command { command, used: at.used }
            }
            Ok(Taken::More(need)) => {
                self.need = need;
                Step::More
            }
            Ok(Taken::Close(answer)) => Step::Close { answer },
            Err(Refusal::Line(answer)) if answer != ERROR && at.is_text() && at.noreply() => {
                Step::Refused { answer: "", used: at.used }
            }
            Err(Refusal::Line(answer)) => Step::Refused { answer, used: at.used },
            Err(Refusal::WithData(answer, size)) => {
                (self.drop, self.late) = (size, answer);
                Step::Refused { answer: "", used: at.used }
            }
        }
    }
}

/// Why a line is not served.
enum Refusal {
    /// What is answered; the next request is behind the line.
    Line(&'static str),
    /// So many bytes behind the line are dropped, and then this is answered.
    WithData(&'static str, usize),
}

impl From<&'static str> for Refusal {
    fn from(answer: &'static str) -> Refusal {
        Refusal::Line(answer)
    }
}

/// A line that has not ended: how long it may still become.
fn unfinished(bytes: &[u8]) -> Step<'_> {
    if bytes.len() <= LINE_BYTES {
        return Step::More;
    }
    let blanks = bytes.iter().take_while(|b| **b == b' ').count();
    let begin = &bytes[blanks..];
    if bytes.len() <= MOST_LINE && blanks <= BLANKS && (begin.starts_with(b"get ") || begin.starts_with(b"gets ")) {
        return Step::More;
    }
    Step::Close { answer: "" }
}

/// A line as a request.
enum Taken<'b> {
    Whole(Command<'b>),
    /// With a value behind the line; so many bytes in all.
    WithData(Command<'b>, usize),
    /// So many bytes behind the line are dropped.
    Dropped(Command<'b>, usize),
    /// The value has not come: so many bytes are needed.
    More(usize),
    Close(&'static str),
}

struct Line<'b> {
    line: &'b [u8],
    bytes: &'b [u8],
    /// Bytes of the line with its end.
    used: usize,
    item_size_max: usize,
}

type Outcome<'b> = Result<Taken<'b>, Refusal>;

impl<'b> Line<'b> {
    fn step(&self) -> Outcome<'b> {
        let mut rest = words(self.line);
        let Some(name) = rest.next() else { return Err(ERROR.into()) };
        match name {
            b"get" | b"gets" | b"bget" => self.get(name == b"gets"),
            b"gat" | b"gats" => self.get_and_touch(name == b"gats"),
            b"set" => self.store(Verb::Set),
            b"add" => self.store(Verb::Add),
            b"replace" => self.store(Verb::Replace),
            b"append" => self.store(Verb::Append),
            b"prepend" => self.store(Verb::Prepend),
            b"cas" => self.store(Verb::Cas),
            b"delete" => self.delete(),
            b"incr" | b"decr" => self.count(name == b"incr"),
            b"touch" => self.touch(),
            b"flush_all" => self.flush_all(),
            b"stats" => Ok(Taken::Whole(Command::Stats { of: self.behind(name) })),
            b"version" => Ok(Taken::Whole(Command::Version)),
            b"verbosity" => self.verbosity(),
            b"quit" => Ok(Taken::Close("")),
            b"shutdown" => Err("ERROR: shutdown not enabled".into()),
            b"mg" | b"ms" | b"md" | b"ma" | b"mn" | b"me" => self.meta(name),
            // A browser, or what was sent to one.
            _ if words(self.line).last().is_some_and(|word| word.starts_with(b"HTTP/")) => Ok(Taken::Close("")),
            _ => Err(ERROR.into()),
        }
    }

    /// A command of the text protocol: an error is not told to who wants no reply.
    fn is_text(&self) -> bool {
        let name = words(self.line).next().unwrap_or_default();
        !matches!(name, [b'm', _] | b"get" | b"gets" | b"bget" | b"gat" | b"gats")
    }

    /// What stands behind the first word, blanks around it apart.
    fn behind(&self, name: &[u8]) -> &'b [u8] {
        let begin = self.line.iter().take_while(|b| **b == b' ').count() + name.len();
        without_blanks(&self.line[begin.min(self.line.len())..])
    }

    /// The last word is exactly this.
    fn noreply(&self) -> bool {
        words(self.line).skip(1).last() == Some(b"noreply")
    }

    /// Words behind the name, `N` of them; more or fewer are an `ERROR`.
    fn arguments<const N: usize>(&self, least: usize) -> Result<([&'b [u8]; N], usize), &'static str> {
        let (mut all, mut n): ([&'b [u8]; N], usize) = ([b""; N], 0);
        for word in words(self.line).skip(1) {
            *all.get_mut(n).ok_or(ERROR)? = word;
            n += 1;
        }
        if n < least { Err(ERROR) } else { Ok((all, n)) }
    }

    fn get(&self, cas: bool) -> Outcome<'b> {
        let name = words(self.line).next().unwrap_or_default();
        let keys = Keys(self.behind(name));
        if keys.0.is_empty() {
            return Err(ERROR.into());
        }
        // One key that is too long, and no item is sent.
        if keys.iter().any(|key| key.len() > KEY_BYTES) {
            return Err(FORMAT.into());
        }
        Ok(Taken::Whole(Command::Get { keys, cas }))
    }

    fn get_and_touch(&self, cas: bool) -> Outcome<'b> {
        let mut rest = words(self.line).skip(1);
        let Some(word) = rest.next() else { return Err(ERROR.into()) };
        let expiry = signed(word).ok_or(EXPIRY)?;
        // The words are parts of the line.
        let end = word.as_ptr() as usize - self.line.as_ptr() as usize + word.len();
        let keys = Keys(without_blanks(&self.line[end..]));
        if keys.iter().any(|key| key.len() > KEY_BYTES) {
            return Err(FORMAT.into());
        }
        Ok(Taken::Whole(Command::GetAndTouch { expiry, keys, cas }))
    }

    fn store(&self, verb: Verb) -> Outcome<'b> {
        let least = 4 + usize::from(verb == Verb::Cas);
        let (words, n) = self.arguments::<6>(least)?;
        if n > least + 1 {
            return Err(ERROR.into());
        }
        let noreply = words[n - 1] == b"noreply";
        let [key, flags, expiry, size, cas, _] = words;
        let cas = if verb == Verb::Cas { unsigned(cas).ok_or(FORMAT)? } else { 0 };
        let flags = unsigned(flags).ok_or(FORMAT)? as u32;
        let expiry = signed(expiry).ok_or(FORMAT)?;
        let size = length(size).ok_or(FORMAT)?;
        if key.len() > KEY_BYTES {
            return Err(FORMAT.into());
        }
        if self.is_too_large(key, size) {
            return Ok(Taken::Dropped(Command::TooLarge { key, verb, noreply }, size + 2));
        }
        let store = |data| Command::Store(Store { verb, key, flags, expiry, cas, data, noreply });
        Ok(self.data(size, noreply, store))
    }

    fn is_too_large(&self, key: &[u8], size: usize) -> bool {
        key.len() + size + ITEM_HEAD > self.item_size_max
    }

    /// The value behind the line, and the two bytes that must be its line end, which are gone where they are not.
    fn data(&self, size: usize, noreply: bool, command: impl FnOnce(&'b [u8]) -> Command<'b>) -> Taken<'b> {
        let end = self.used + size;
        match self.bytes.get(end..end + 2) {
            None => Taken::More(end + 2),
            Some(b"\r\n") => Taken::WithData(command(&self.bytes[self.used..end]), end + 2),
            Some(_) => Taken::WithData(Command::BadChunk { noreply }, end + 2),
        }
    }

    fn delete(&self) -> Outcome<'b> {
        let ([key, a, b], n) = self.arguments::<3>(1)?;
        // Clients of before 1.4 send a time of 0.
        let good = match n {
            1 => true,
            2 => a == b"0" || a == b"noreply",
            _ => a == b"0" && b == b"noreply",
        };
        if !good {
            return Err(BAD_DELETE.into());
        }
        if key.len() > KEY_BYTES {
            return Err(FORMAT.into());
        }
        Ok(Taken::Whole(Command::Delete { key, noreply: self.noreply() }))
    }

    fn count(&self, up: bool) -> Outcome<'b> {
        let ([key, delta, _], _) = self.arguments::<3>(2)?;
        if key.len() > KEY_BYTES {
            return Err(FORMAT.into());
        }
        let delta = unsigned(delta).ok_or(BAD_DELTA)?;
        Ok(Taken::Whole(Command::Count { key, delta, up, noreply: self.noreply() }))
    }

    fn touch(&self) -> Outcome<'b> {
        let ([key, expiry, _], _) = self.arguments::<3>(2)?;
        if key.len() > KEY_BYTES {
            return Err(FORMAT.into());
        }
        let expiry = signed(expiry).ok_or(EXPIRY)?;
        Ok(Taken::Whole(Command::Touch { key, expiry, noreply: self.noreply() }))
    }

    fn verbosity(&self) -> Outcome<'b> {
        let ([level, _], n) = self.arguments::<2>(1)?;
        let noreply = self.noreply();
        if n > usize::from(noreply) && unsigned(level).is_none() {
            return Err(FORMAT.into());
        }
        Ok(Taken::Whole(Command::Verbosity { noreply }))
    }

    fn flush_all(&self) -> Outcome<'b> {
        let ([delay, _], n) = self.arguments::<2>(0)?;
        let noreply = self.noreply();
        let delay = if n > usize::from(noreply) { signed(delay).ok_or(EXPIRY)? } else { 0 };
        Ok(Taken::Whole(Command::FlushAll { delay, noreply }))
    }

    fn meta(&self, name: &[u8]) -> Outcome<'b> {
        if name == b"mn" {
            return Ok(Taken::Whole(Command::MetaNoop));
        }
        let mut rest = words(self.line).skip(1);
        let Some(key) = rest.next() else { return Err(if name == b"me" { FORMAT } else { ERROR }.into()) };
        if key.len() > KEY_BYTES {
            return Err(FORMAT.into());
        }
        if name == b"me" {
            return Ok(Taken::Whole(Command::MetaDebug { key, base64: rest.next() == Some(b"b") }));
        }
        if name != b"ms" {
            let flags = MetaFlags::parse(name, key, rest)?;
            return Ok(Taken::Whole(match name {
                b"mg" => Command::MetaGet { key, flags },
                b"md" => Command::MetaDelete { key, flags },
                _ => Command::MetaCount { key, flags },
            }));
        }
        let size = rest.next().and_then(length).ok_or(FORMAT)?;
        // The value is dropped with the flags that are wrong.
        let flags = MetaFlags::parse(name, key, rest).map_err(|answer| Refusal::WithData(answer, size + 2))?;
        if self.is_too_large(key, size) {
            return Ok(Taken::Dropped(Command::MetaTooLarge { key, flags }, size + 2));
        }
        Ok(self.data(size, false, |data| Command::MetaSet { key, flags, data }))
    }
}

/// Words between blanks. No other character separates.
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    line.split(|b| *b == b' ').filter(|word| !word.is_empty())
}

fn without_blanks(line: &[u8]) -> &[u8] {
    let begin = line.iter().take_while(|b| **b == b' ').count();
    let end = line.len() - line[begin..].iter().rev().take_while(|b| **b == b' ').count();
    &line[begin..end]
}
