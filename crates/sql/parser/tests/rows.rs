//! Rows by kind of statement: a text and what it prints as, or how it is refused.
//!
//! `tests/rows/*.txt`: blocks separated by empty lines; the first line is the text (`\n` and `\\` are escapes), the
//! second `= printed` or `! kind "near" line`. `# mode: WORD ...` sets the bits of sql_mode for the blocks that follow
//! it. `BLESS=1 cargo test -p gannet-parser --test rows` rewrites the second lines.

use gannet_parser::{LexMode, parse, printer};

fn check(name: &str) {
    let path = format!("{}/tests/rows/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read_to_string(&path).unwrap();
    let bless = std::env::var_os("BLESS").is_some();
    let mut mode = LexMode::default();
    let mut out = Vec::new();
    let mut wrong = Vec::new();
    for block in file.split("\n\n").filter(|b| !b.trim().is_empty()) {
        let mut lines = block.trim_matches('\n').lines();
        let mut comments = Vec::new();
        let mut text = "";
        for line in lines.by_ref() {
            if let Some(words) = line.strip_prefix("# mode:") {
                mode = modes(words);
            } else if !line.starts_with("# ") {
                text = line;
                break;
            }
            comments.push(line);
        }
        if text.is_empty() {
            out.push(comments.join("\n"));
            continue;
        }
        let got = outcome(&unescape(text), mode);
        let want = lines.next().unwrap_or("");
        if got != want {
            wrong.push(format!("{text}\n  want {want}\n  got  {got}"));
        }
        comments.extend([text, &got]);
        out.push(comments.join("\n"));
    }
    if bless {
        std::fs::write(&path, out.join("\n\n") + "\n").unwrap();
    } else {
        assert!(wrong.is_empty(), "{} rows of {name} differ:\n{}", wrong.len(), wrong.join("\n"));
    }
}

fn modes(words: &str) -> LexMode {
    let has = |w: &str| words.split_whitespace().any(|x| x == w);
    LexMode {
        ansi_quotes: has("ANSI_QUOTES"),
        pipes_as_concat: has("PIPES_AS_CONCAT"),
        no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
        ignore_space: has("IGNORE_SPACE"),
        high_not_precedence: has("HIGH_NOT_PRECEDENCE"),
    }
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(match chars.next() {
                Some('n') => '\n',
                Some('0') => '\0',
                Some(other) => other,
                None => '\\',
            }),
            c => out.push(c),
        }
    }
    out
}

fn outcome(text: &str, mode: LexMode) -> String {
    match parse(text.as_bytes(), mode) {
        Ok(parsed) => {
            let printed = printer::statement(&parsed.statement);
            // What is printed means the same, and prints as itself.
            let again = parse(&printed, LexMode::default()).unwrap_or_else(|e| {
                panic!("{text}\n  printed as {}\n  {e}", String::from_utf8_lossy(&printed));
            });
            if !mode.pipes_as_concat {
                assert_eq!(again.statement, parsed.statement, "{text}");
            }
            assert_eq!(printer::statement(&again.statement), printed, "{text}");
            format!("= {}", String::from_utf8_lossy(&printed))
        }
        Err(e) => format!("! {:?} {:?} {}", e.kind, e.near, e.line),
    }
}

macro_rules! files {
    ($($name:ident)*) => { $(#[test] fn $name() { check(stringify!($name)) })* };
}

files! { lexer expressions functions queries joins dml ddl alter partitions programs transactions set show accounts admin replication errors }
