//! The flags of meta commands: one letter each, some with a value behind it. All commands take the same letters, and
//! pass over those that mean nothing to them.

use super::base64;
use super::number::{FORMAT, signed, unsigned};

/// What `ms` and `ma` do, by flag M.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// `ms`: in place of what was there. `ma`: up.
    #[default]
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    /// `ma`
    Down,
}

/// Letters and their values, as they came; what they say is read out of them once.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MetaFlags<'b> {
    /// The letters in the order in which they came, each once.
    letters: [u8; 24],
    count: u8,
    /// M's letter.
    mode_letter: Option<u8>,
    /// O, with its letter.
    pub opaque: &'b [u8],
    /// b: the key is base64.
    pub base64: bool,
    /// q: the expected outcome is not told.
    pub quiet: bool,
    /// C: the number that the item must have.
    pub cas: Option<u64>,
    /// E: the number that the item gets.
    pub new_cas: Option<u64>,
    /// F: the client's flags.
    pub client_flags: u32,
    /// T
    pub expiry: Option<i32>,
    /// N: an item that is not there is made, with this expiry.
    pub vivify: Option<i32>,
    /// R: the first who sees less time to live than this wins.
    pub recache: Option<i32>,
    /// I
    pub invalidate: bool,
    /// D
    pub delta: Option<u64>,
    /// J
    pub initial: u64,
    /// M
    pub mode: Mode,
}

/// Letters that are known.
const KNOWN: &[u8] = b"bcfhklqstuvxCDEFIJMNORT";
/// The longest opaque token, with its letter.
const OPAQUE: usize = 32;
const TOKEN: &str = "CLIENT_ERROR bad token in command line format";
/// What `md` and `ma` answer to each fault of their flags.
const INVALID: &str = "CLIENT_ERROR invalid or duplicate flag";
/// The answer to a base64 key that is none.
pub const UNDECODABLE: &str = "CLIENT_ERROR error decoding key";

/// The answer to a fault, and whether what follows is looked at.
enum Fault {
    AtOnce(&'static str),
    Last(&'static str),
    Nameless,
}

impl From<&'static str> for Fault {
    fn from(answer: &'static str) -> Fault {
        Fault::Last(answer)
    }
}

impl<'b> MetaFlags<'b> {
    /// Reads the words behind the key (of `ms`, behind the size) of the command `name`. The error is the answer.
    ///
    /// A flag that is unknown or there twice is told at once, of other faults the last one that has a name: client
    /// flags that are no number have none.
    pub(crate) fn parse(
        name: &[u8],
        key: &[u8],
        words: impl Iterator<Item = &'b [u8]>,
    ) -> Result<MetaFlags<'b>, &'static str> {
        let mut flags = MetaFlags::default();
        let mut fault = None;
        let short = name == b"md" || name == b"ma";
        for word in words {
            match flags.take(word, key) {
                Err(_) if short => return Err(INVALID),
                Err(Fault::Last(answer)) => fault = Some(answer),
                Err(Fault::Nameless) => fault = fault.or(Some(FORMAT)),
                Err(Fault::AtOnce(answer)) => return Err(answer),
                Ok(()) => {}
            }
        }
        if let Some(answer) = fault {
            return Err(answer);
        }
        if flags.opaque.len() > OPAQUE {
            return Err("CLIENT_ERROR opaque token too long");
        }
        flags.mode = match (name, flags.mode_letter) {
            (_, None) => Mode::Set,
            (b"ma", Some(letter)) => match letter {
                b'I' | b'+' => Mode::Set,
                b'D' | b'-' => Mode::Down,
                _ => return Err("CLIENT_ERROR invalid mode for ma M token"),
            },
            (_, Some(letter)) => match letter {
                b'S' => Mode::Set,
                b'E' => Mode::Add,
                b'A' => Mode::Append,
                b'P' => Mode::Prepend,
                b'R' => Mode::Replace,
                _ if name == b"ms" => return Err("CLIENT_ERROR invalid mode for ms M token"),
                _ => Mode::Set,
            },
        };
        Ok(flags)
    }

    fn take(&mut self, word: &'b [u8], key: &[u8]) -> Result<(), Fault> {
        let Some((letter, value)) = word.split_first() else { return Ok(()) };
        // What is no ASCII counts as known.
        if self.has(*letter) || *letter >= 127 {
            return Err(Fault::AtOnce("CLIENT_ERROR duplicate flag"));
        }
        if !KNOWN.contains(letter) {
            return Err(Fault::AtOnce("CLIENT_ERROR invalid flag"));
        }
        // As many as are known fit.
        self.letters[usize::from(self.count)] = *letter;
        self.count += 1;
        let time = || signed(value).ok_or(TOKEN);
        let id = || unsigned(value).ok_or(TOKEN);
        match letter {
            b'O' => self.opaque = word,
            b'b' => {
                self.base64 = true;
                base64::decode(key).ok_or(UNDECODABLE)?;
            }
            b'q' => self.quiet = true,
            b'C' => self.cas = Some(id()?),
            b'E' => self.new_cas = Some(id()?),
            b'F' => self.client_flags = unsigned(value).ok_or(Fault::Nameless)? as u32,
            b'T' => self.expiry = Some(time()?),
            b'N' => self.vivify = Some(time()?),
            b'R' => self.recache = Some(time()?),
            b'I' => self.invalidate = true,
            b'D' => self.delta = Some(unsigned(value).ok_or("CLIENT_ERROR invalid numeric delta value")?),
            b'J' => self.initial = unsigned(value).ok_or("CLIENT_ERROR invalid numeric initial value")?,
            b'M' => match value {
                [mode] => self.mode_letter = Some(*mode),
                _ => return Err(Fault::Last("CLIENT_ERROR incorrect length for M token")),
            },
            _ => {}
        }
        Ok(())
    }

    /// The letters in the order in which they came.
    pub fn letters(&self) -> &[u8] {
        self.letters.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// The letter came.
    pub fn has(&self, letter: u8) -> bool {
        self.letters().contains(&letter)
    }
}
