//! The fuzz target's entry on mutated statements, from a seed.
//!
//! `FUZZ_SEED=n` replays a seed, `FUZZ_SECONDS=n` runs longer.

use std::time::{Duration, Instant};

struct Random(u64);

impl Random {
    /// xorshift64*
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn corpus() -> Vec<Vec<u8>> {
    let dir = format!("{}/tests/rows", env!("CARGO_MANIFEST_DIR"));
    let mut out = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        let keep = |l: &&str| !l.is_empty() && !l.starts_with('=') && !l.starts_with('!') && !l.starts_with('#');
        out.extend(text.lines().filter(keep).map(|l| l.replace("\\n", "\n").replace("\\\\", "\\").into_bytes()));
    }
    assert!(out.len() > 500);
    out
}

const PIECES: &[&str] = &[
    "(",
    ")",
    ",",
    ";",
    ".",
    "'",
    "\"",
    "`",
    "/*",
    "*/",
    "/*!",
    "/*!50000 ",
    "--",
    "-- ",
    "#",
    "@",
    "@@",
    "\\",
    "\0",
    ":=",
    "->",
    "0x",
    "x'",
    "b'",
    "1e",
    "1.",
    ".5",
    "_utf8mb4",
    "N'",
    "?",
    "{",
    "}",
    " select ",
    " from ",
    " where ",
    " union ",
    " (select 1) ",
    " as ",
    " in ",
    " not ",
    " between ",
    " and ",
    " or ",
    " case ",
    " when ",
    " end ",
    " interval ",
    " row ",
    " values ",
    " default ",
    " null ",
    " count(*) ",
    " over ",
    " on ",
    " join ",
    " using ",
    " limit ",
    " into ",
    " set ",
    " begin ",
    " if ",
    " then ",
    "18446744073709551616",
    "\u{e9}",
    "\u{1f600}",
    "\n",
    "99999999999999999999999999.9",
];

fn mutate(seeds: &[Vec<u8>], r: &mut Random) -> Vec<u8> {
    let mut text = seeds[r.below(seeds.len())].clone();
    for _ in 0..1 + r.below(4) {
        let at = r.below(text.len() + 1);
        match r.below(7) {
            0 => drop(text.splice(at..at, PIECES[r.below(PIECES.len())].bytes())),
            1 => {
                let end = (at + r.below(12)).min(text.len());
                text.drain(at..end);
            }
            2 if at < text.len() => text[at] = r.next() as u8,
            3 => text.truncate(at),
            4 => {
                // A piece of another statement.
                let other = &seeds[r.below(seeds.len())];
                let from = r.below(other.len());
                let piece = other[from..(from + r.below(40)).min(other.len())].to_vec();
                text.splice(at..at, piece);
            }
            5 => {
                // A piece of its own, again.
                let end = (at + r.below(30)).min(text.len());
                let piece = text[at..end].to_vec();
                text.splice(at..at, piece);
            }
            _ => {
                let words: Vec<&[u8]> = text.split(|b| *b == b' ').collect();
                let (i, j) = (r.below(words.len()), r.below(words.len()));
                let mut words: Vec<Vec<u8>> = words.iter().map(|w| w.to_vec()).collect();
                words.swap(i, j);
                text = words.join(&b' ');
            }
        }
    }
    text
}

#[test]
fn mutated_statements() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seconds = number("FUZZ_SECONDS").unwrap_or(3);
    let seeds = corpus();
    for seed in &seeds {
        gannet_parser::fuzz::check(&[&[0], &seed[..]].concat());
    }
    let first = number("FUZZ_SEED");
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut seed = first.unwrap_or(1);
    while Instant::now() < until {
        let mut r = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut data = vec![if r.below(4) == 0 { r.next() as u8 } else { 0 }];
        data.extend(mutate(&seeds, &mut r));
        let result = std::panic::catch_unwind(|| gannet_parser::fuzz::check(&data));
        if result.is_err() {
            panic!("FUZZ_SEED={seed}: {} {:?}", data[0], String::from_utf8_lossy(&data[1..]));
        }
        if first.is_some() {
            return;
        }
        seed += 1;
    }
    println!("{seed} texts");
}
