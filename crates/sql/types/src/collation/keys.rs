//! Self-delimiting, order-preserving encodings of text for index keys.
//!
//! Bytes, NO PAD: 00 is escaped as 00 FF, the end is 00 00.
//! Weights, NO PAD: big-endian 16-bit weights (never 0000); each level ends with 0000.
//! PAD SPACE: trailing spaces are cut. The end compares like an endless run of spaces, so runs of spaces and the end share a code: the
//! space's own unit, then a byte: 01 if what follows the run is less than a space, 02 for the end, 03 if it is greater. A run carries its
//! length, at most 254 in a byte; longer runs chain. With 01 a longer run is greater, with 03 it is less (the byte is inverted).

use super::{Algorithm, Collation, Pad};

const LESS: u8 = 1;
const END: u8 = 2;
const GREATER: u8 = 3;
const RUN: usize = 254;

impl Collation {
    /// Appends the key of `text`.
    pub fn key(&self, text: &[u8], out: &mut Vec<u8>) {
        match (self.pad, self.algorithm) {
            (Pad::NoPad, Algorithm::Bytes) => escape(text, out),
            (Pad::NoPad, _) => {
                self.sort_key(text, out);
                out.extend_from_slice(&[0, 0]);
            }
            (Pad::PadSpace, Algorithm::Bytes) => {
                let text = self.charset.trim_end(text);
                padded(text.iter().copied(), b' ', out, |b, out| out.push(b));
            }
            (Pad::PadSpace, _) => {
                let text = self.charset.trim_end(text);
                let space = self.space_weight();
                let mut weights = Vec::new();
                self.for_weights(text, |w| weights.push(w));
                // Characters that weigh a space, or nothing, may be last too.
                let end = weights.iter().rposition(|w| *w != space).map_or(0, |i| i + 1);
                if self.byte_weights() {
                    padded(weights[..end].iter().copied(), space, out, |w, out| out.push(w as u8));
                } else {
                    padded(weights[..end].iter().copied(), space, out, |w, out| {
                        out.extend_from_slice(&w.to_be_bytes())
                    });
                }
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

fn escape(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(i) = rest.iter().position(|b| *b == 0) {
        out.extend_from_slice(&rest[..=i]);
        out.push(0xFF);
        rest = &rest[i + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[0, 0]);
}

/// `weights` must not end with a space.
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
    put(space, out);
    out.push(END);
}
