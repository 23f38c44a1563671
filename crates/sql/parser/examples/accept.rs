//! Reads files of SQL statements (`;` at the end of a line ends one) and says which of them the parser refuses, and
//! which of them, printed and parsed again, give another tree.
//!
//! `cargo run -p gannet-parser --example accept -- DIRECTORY... [-v]`
//!
//! A statement may itself hold `;` at the end of a line: the parser decides where it ends, and only a refused statement
//! is ended by the first such `;`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gannet_parser::{LexMode, Statement, parse, parse_one, printer};

fn main() {
    let (flags, paths): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with('-'));
    let verbose = flags.iter().any(|f| f == "-v");
    let mut files = Vec::new();
    for path in &paths {
        collect(Path::new(path), &mut files);
    }
    files.sort();
    let (mut good, mut bad) = (0u32, 0u32);
    let mut per_file = BTreeMap::new();
    for file in &files {
        let Ok(text) = std::fs::read(file) else { continue };
        let (g, b) = accept(&text, verbose.then_some(file.as_path()));
        good += g;
        bad += b;
        if b > 0 {
            per_file.insert(file.clone(), (g, b));
        }
    }
    for (file, (g, b)) in per_file {
        println!("{b:6} of {:6} refused in {}", g + b, file.display());
    }
    println!("{good} accepted, {bad} refused: {:.3} %", 100.0 * f64::from(good) / f64::from((good + bad).max(1)));
}

fn collect(path: &Path, out: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            collect(&entry.path(), out);
        }
    } else if path.extension().is_some_and(|e| e == "sql") {
        out.push(path.to_path_buf());
    }
}

fn accept(text: &[u8], report: Option<&Path>) -> (u32, u32) {
    let mode = LexMode::default();
    let (mut good, mut bad, mut pos) = (0, 0, 0);
    while pos < text.len() {
        let rest = &text[pos..];
        match parse_one(rest, mode) {
            Ok(parsed) => {
                good += u32::from(parsed.statement != Statement::Empty);
                let printed = printer::statement(&parsed.statement);
                let again = parse(&printed, mode).map(|p| p.statement);
                if again.as_ref() != Ok(&parsed.statement) && parsed.statement != Statement::Empty {
                    let text = String::from_utf8_lossy(&rest[..parsed.consumed]);
                    println!("PRINT {text}\n   => {}", String::from_utf8_lossy(&printed));
                    match again {
                        Ok(again) => println!("   {:?}\n   {again:?}", parsed.statement),
                        Err(error) => println!("   {error}"),
                    }
                }
                pos += parsed.consumed.max(1);
            }
            Err(error) => {
                let end = rest.windows(2).position(|w| w == b";\n").map_or(rest.len(), |i| i + 2);
                // A lone `;`, or what is left of a statement that ended early, is no statement.
                if rest[..end].iter().all(|&b| b == b';' || b.is_ascii_whitespace()) {
                    pos += end;
                    continue;
                }
                bad += 1;
                if let Some(file) = report {
                    let statement = String::from_utf8_lossy(&rest[..end.min(400)]).replace('\n', " ");
                    println!("{}: {statement}\n    near {:?}", file.display(), error.near);
                }
                pos += end;
            }
        }
    }
    (good, bad)
}
