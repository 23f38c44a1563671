//! Fuzzing of the parser: whatever comes, in whatever pieces, it takes it as it takes the whole, and takes no more than
//! there is.

use super::parse::{Command, Parser, Step};

/// Bytes of an item that are allowed, few so that inputs are beyond it.
const ITEM: usize = 512;
/// Steps of an input that are looked at: more say nothing new.
const MOST: usize = 10_000;

/// What a parser makes of all of `bytes`, of which `piece` more come at a time.
fn steps(bytes: &[u8], piece: usize) -> Vec<String> {
    let (mut parser, mut all, mut from, mut to) = (Parser::default(), Vec::new(), 0, 0);
    while all.len() < MOST {
        let there = &bytes[from..to];
        let step = if parser.may_serve(there.len()) { parser.next(there, ITEM) } else { Step::More };
        let used = match &step {
            Step::More if to == bytes.len() => break,
            Step::More => {
                to = (to + piece).min(bytes.len());
                continue;
            }
            Step::Command { used, command } => {
                look_at(command);
                *used
            }
            Step::Refused { used, .. } => *used,
            Step::Close { .. } => {
                all.push(format!("{step:?}"));
                break;
            }
        };
        assert!(used > 0 && used <= there.len(), "{used} bytes of {}: {step:?}", there.len());
        // What is dropped is dropped in as many steps as it takes.
        match step {
            Step::Refused { answer: "", .. } => {}
            Step::Refused { answer, .. } => all.push(answer.into()),
            Step::Command { command, .. } => all.push(format!("{command:?}")),
            other => all.push(format!("{other:?}")),
        }
        from += used;
    }
    all
}

/// Keys have the length that they may have.
fn look_at(command: &Command<'_>) {
    if let Command::Get { keys, .. } = command {
        let good = |key: &[u8]| !key.is_empty() && key.len() <= super::parse::KEY_BYTES && !key.contains(&b' ');
        assert!(keys.iter().all(good), "{command:?}");
    }
}

/// Whole and in pieces it comes to the same.
pub fn check(bytes: &[u8]) {
    let whole = steps(bytes, bytes.len().max(1));
    for piece in [1, 2, 7, 64] {
        // A line without an end is closed where it is seen to be too long, which depends on what is there of it.
        let pieces = steps(bytes, piece);
        let same = whole.iter().zip(&pieces).all(|(a, b)| a == b || a.starts_with("Close") || b.starts_with("Close"));
        assert!(same, "in pieces of {piece}: {whole:?} {pieces:?}");
    }
}

/// Requests to begin with.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts: &[&str] = &[
        "get a\r\nget a b  c\r\ngets a\r\ngat 10 a b\r\ngats 0 a\r\n",
        "set a 5 0 3\r\nabc\r\nadd a 0 -1 0 noreply\r\n\r\nreplace a 0 0 1\r\nx\r\nappend a 0 0 1\r\ny\r\nprepend a 0 0 1\r\nz\r\n",
        "cas a 0 0 2 17\r\nab\r\ndelete a 0 noreply\r\nincr a 1\r\ndecr a 18446744073709551615 noreply\r\ntouch a 3\r\n",
        "flush_all\r\nflush_all 10 noreply\r\nstats\r\nstats settings\r\nversion\r\nverbosity 1\r\nquit\r\n",
        "mg a v k s t f c h l O123 q N30 R10 T5\r\nms a 3 T0 F5 I C12 E13 MA\r\nabc\r\nmd a I T30 q\r\nma a N0 J5 D2 MD v\r\nmn\r\nme a\r\n",
        "ms YWJj 2 b k\r\nab\r\nmg YWJj b k v\r\nms a 2 bad flags\r\nab\r\nmn\r\n",
        "set a 0 0 3\r\nabcd\r\nset a 0 0 900\r\nxx\r\nset a 0 0 -1\r\nset a b c d\r\nfoo\r\n\r\nGET / HTTP/1.1\r\n",
    ];
    texts.iter().map(|t| t.as_bytes().to_vec()).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn seeds_pass() {
        super::seeds().iter().for_each(|seed| super::check(seed));
    }

    #[test]
    fn every_cut_of_the_seeds_passes() {
        for seed in super::seeds() {
            (0..seed.len()).for_each(|end| super::check(&seed[..end]));
        }
    }
}
