//! Self-delimiting, order-preserving encodings of text for index keys.
//!
//! Bytes, NO PAD: 00 is escaped as 00 FF, the end is 00 00. Weights, NO PAD: big-endian 16-bit weights (never 0000);
//! each level ends with 0000. PAD SPACE: trailing spaces are cut. The end compares like an endless run of spaces, so
//! runs of spaces and the end share a code: the space's own unit, then a byte: 01 if what follows the run is less than
//! a space, 02 for the end, 03 if it is greater. A run carries its length, at most 254 in a byte; longer runs chain.
//! With 01 a longer run is greater, with 03 it is less (the byte is inverted).

use super::{Algorithm, Collation, Pad, Uca};

const LESS: u8 = 1;
const END: u8 = 2;
const GREATER: u8 = 3;
const RUN: usize = 254;

/// What the keys of cut texts begin with: see [`Collation::cut_keys`].
#[derive(Debug, PartialEq, Eq)]
pub struct CutKeys {
    /// Beginnings that say all of the key's first level, its end included.
    pub points: Vec<Vec<u8>>,
    /// These are whole keys: there is one level.
    pub whole: bool,
    /// What all other keys begin with, if there may be others.
    pub rest: Option<Vec<u8>>,
}

impl Collation {
    /// Appends the key of `text`.
    pub fn key(&self, text: &[u8], out: &mut Vec<u8>) {
        match (self.pad, self.algorithm) {
            (Pad::NoPad, Algorithm::Bytes) => {
                escape(text, out);
                out.extend_from_slice(&[0, 0]);
            }
            (Pad::NoPad, _) => {
                self.sort_key(text, out);
                out.extend_from_slice(&[0, 0]);
            }
            (Pad::PadSpace, Algorithm::Bytes) => {
                let text = self.charset.trim_end(text);
                padded(text.iter().copied(), b' ', out, |b, out| out.push(b));
                out.extend_from_slice(&[b' ', END]);
            }
            (Pad::PadSpace, algorithm) => {
                let text = self.significant(text);
                if algorithm == Algorithm::General && !self.charset.is_wide() && text.is_ascii() {
                    put_ascii_general(text, out);
                } else {
                    self.put_weights(&self.weights_of(text), out);
                }
                self.put_end(out);
            }
        }
    }

    /// Appends what the keys of all texts begin with whose first characters equal those of `text` one by one. Pairs of
    /// characters that are one letter of a language must not be in it, nor begin at its end.
    pub fn stem_key(&self, text: &[u8], out: &mut Vec<u8>) {
        match (self.pad, self.algorithm) {
            (Pad::NoPad, Algorithm::Bytes) => escape(text, out),
            (Pad::PadSpace, Algorithm::Bytes) => {
                padded(self.charset.trim_end(text).iter().copied(), b' ', out, |b, out| out.push(b));
            }
            (_, Algorithm::Whole(whole)) => {
                let weights: Vec<u16> = whole.stem(text).into_iter().map(u16::from).collect();
                self.put_weights(&weights, out);
            }
            _ => self.put_weights(&self.weights_of(text), out),
        }
    }

    /// Does each character weigh what it weighs alone, whatever stands beside it? Where languages have letters of
    /// several characters, and where texts are weighed as a whole, it does not.
    pub fn weighs_alone(&self) -> bool {
        !matches!(self.algorithm, Algorithm::Whole(_) | Algorithm::Uca(Uca::V400For(_) | Uca::V900For(_), _))
    }

    /// Has every character as many weights as another, and not none? Then the first characters of texts order as the
    /// texts do.
    pub fn cuts_keep_order(&self) -> bool {
        match self.algorithm {
            Algorithm::Bytes
            | Algorithm::CodePoints
            | Algorithm::Ascii
            | Algorithm::Table(_)
            | Algorithm::Multi(_)
            | Algorithm::Coded(..)
            | Algorithm::General
            | Algorithm::General500 => true,
            Algorithm::German2 | Algorithm::Whole(_) | Algorithm::Uca(..) => false,
        }
    }

    /// Where the keys of first characters lie if the whole texts are equal to `text`, for collations whose cuts do not
    /// keep the order. The characters of such a text may have fewer weights than those of `text` (none at all, even),
    /// or more. What is cut off may therefore begin behind any of its weights. `cut` has the first characters of `text`
    /// itself.
    ///
    /// Of texts that are greater than `text` or less, the keys that are not (because the difference is cut off, or
    /// because the end counts as a space where there is less than a space) are among these, too.
    pub fn cut_keys(&self, text: &[u8], cut: &[u8]) -> CutKeys {
        if let Algorithm::Whole(_) = self.algorithm {
            // What is cut off may have been weighed before what is left.
            return CutKeys { points: Vec::new(), whole: false, rest: Some(Vec::new()) };
        }
        let weights = self.weights_of(text);
        let natural = self.weights_of(cut).len().min(weights.len());
        let whole = natural == weights.len();
        let mut points: Vec<Vec<u8>> = Vec::with_capacity(natural + 1);
        let mut push = |weights: &[u16]| {
            let mut key = Vec::with_capacity(weights.len() * 2 + 4);
            self.put_weights(weights, &mut key);
            self.put_end(&mut key);
            points.push(key);
        };
        // A cut may leave the first of two characters that are one letter together.
        let halves = match self.algorithm {
            Algorithm::Uca(Uca::V400For(language), _) => language.first_halves(),
            Algorithm::Uca(Uca::V900For(language), _) => language.first_parts(),
            _ => Vec::new(),
        };
        for n in 0..natural + usize::from(whole) {
            push(&weights[..n]);
            // The last point is the key of the text itself.
            let halves = if n < weights.len() { &halves[..] } else { &[] };
            halves.iter().for_each(|half| push(&[&weights[..n], half.as_slice()].concat()));
        }
        points.dedup();
        let rest = (!whole).then(|| {
            let mut stem = Vec::with_capacity(natural * 2);
            self.put_weights(&weights[..natural], &mut stem);
            stem
        });
        CutKeys { points, whole: !matches!(self.algorithm, Algorithm::Uca(_, 2..)), rest }
    }

    fn weights_of(&self, text: &[u8]) -> Vec<u16> {
        let mut weights = Vec::with_capacity(text.len());
        self.for_weights(text, |w| weights.push(w));
        weights
    }

    /// The first level of a key, without its end.
    fn put_weights(&self, weights: &[u16], out: &mut Vec<u8>) {
        if self.pad == Pad::NoPad {
            return weights.iter().for_each(|w| out.extend_from_slice(&w.to_be_bytes()));
        }
        let space = self.space_weight();
        // Characters that weigh a space, or nothing, may be last too.
        let end = weights.iter().rposition(|w| *w != space).map_or(0, |i| i + 1);
        let weights = weights[..end].iter().copied();
        if self.byte_weights() {
            padded(weights, space, out, |w, out| out.push(w as u8));
        } else {
            padded(weights, space, out, |w, out| out.extend_from_slice(&w.to_be_bytes()));
        }
    }

    /// The end of the first level.
    fn put_end(&self, out: &mut Vec<u8>) {
        match (self.pad, self.byte_weights()) {
            (Pad::NoPad, _) => out.extend_from_slice(&[0, 0]),
            (Pad::PadSpace, true) => out.extend_from_slice(&[self.space_weight() as u8, END]),
            (Pad::PadSpace, false) => {
                out.extend_from_slice(&self.space_weight().to_be_bytes());
                out.push(END);
            }
        }
    }

    /// Length of the key at the front of `bytes`, each xored with `flip`; `None` if it does not end.
    pub fn key_len(&self, bytes: &[u8], flip: u8) -> Option<usize> {
        let at = |i: usize| bytes.get(i).map(|b| b ^ flip);
        let mut i = 0;
        match (self.pad, self.algorithm) {
            (Pad::NoPad, Algorithm::Bytes) => loop {
                if at(i)? == 0 {
                    match at(i + 1)? {
                        0 => return Some(i + 2),
                        0xFF => i += 1,
                        _ => return None,
                    }
                }
                i += 1;
            },
            (Pad::NoPad, algorithm) => {
                // Between levels stands what stands at the end.
                let mut levels = if let Algorithm::Uca(_, n) = algorithm { n } else { 1 };
                while levels > 0 {
                    i += 2;
                    levels -= u8::from(at(i - 2)? == 0 && at(i - 1)? == 0);
                }
                Some(i)
            }
            (Pad::PadSpace, _) => {
                let space = self.space_weight();
                let width = if self.byte_weights() { 1 } else { 2 };
                loop {
                    let unit =
                        if width == 1 { u16::from(at(i)?) } else { u16::from(at(i)?) << 8 | u16::from(at(i + 1)?) };
                    i += width;
                    if unit == space {
                        i += match at(i)? {
                            END => return Some(i + 1),
                            LESS | GREATER => 2,
                            _ => return None,
                        };
                    }
                }
            }
        }
    }

    /// Appends the text of a key of a byte collation; gives the key's length. `None` for bytes that are no key.
    pub(crate) fn text_of_key(&self, bytes: &[u8], flip: u8, out: &mut Vec<u8>) -> Option<usize> {
        let len = self.key_len(bytes, flip)?;
        let mut units = bytes[..len].iter().map(|b| b ^ flip);
        if self.algorithm != Algorithm::Bytes {
            return None;
        }
        if self.pad == Pad::NoPad {
            while let Some(b) = units.next() {
                if b == 0 && units.next()? == 0 {
                    break;
                }
                out.push(b);
            }
            return Some(len);
        }
        while let Some(b) = units.next() {
            if b != b' ' {
                out.push(b);
                continue;
            }
            let n = match units.next()? {
                END => break,
                LESS => units.next()?,
                _ => !units.next()?,
            };
            out.resize(out.len() + usize::from(n).min(RUN), b' ');
        }
        Some(len)
    }
}

/// Without the end.
fn escape(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(i) = rest.iter().position(|b| *b == 0) {
        out.extend_from_slice(&rest[..=i]);
        out.push(0xFF);
        rest = &rest[i + 1..];
    }
    out.extend_from_slice(rest);
}

/// The weights of an ASCII text, which are its capital letters; it must not end with a space.
fn put_ascii_general(text: &[u8], out: &mut Vec<u8>) {
    if text.contains(&b' ') {
        let weights = text.iter().map(|b| u16::from(b.to_ascii_uppercase()));
        return padded(weights, u16::from(b' '), out, |w, out| out.extend_from_slice(&w.to_be_bytes()));
    }
    let start = out.len();
    out.resize(start + text.len() * 2, 0);
    for (unit, b) in out[start..].chunks_exact_mut(2).zip(text) {
        unit[1] = b.to_ascii_uppercase();
    }
}

/// Without the end. `weights` must not end with a space.
fn padded<W: Copy + Ord>(weights: impl Iterator<Item = W>, space: W, out: &mut Vec<u8>, put: impl Fn(W, &mut Vec<u8>)) {
    let mut run = 0;
    for w in weights {
        if w == space {
            run += 1;
            continue;
        }
        let (mark, invert) = if w < space { (LESS, 0) } else { (GREATER, 0xFF) };
        while run > 0 {
            put(space, out);
            // A full run says "254 or more so far": 255 when more follows.
            let n = if run > RUN { RUN + 1 } else { run };
            out.extend_from_slice(&[mark, n as u8 ^ invert]);
            run -= run.min(RUN);
        }
        put(w, out);
    }
}
