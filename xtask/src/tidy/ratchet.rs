//! Measures that may only shrink. What is beyond its bound today is listed in `xtask/ratchet.txt` with its count; a
//! listed one may not grow, an unlisted one may not be beyond its bound.
//!
//! `cargo xtask tidy --bless` lowers counts and drops what has come within its bound. It raises none: a change that
//! needs more writes the line by hand, with the reason behind ` # `, where its reader sees it.
//!
//! | measure | of | bound |
//! |---|---|--:|
//! | `lines` | a source file, tests apart | 800 |
//! | `function` | lines of a function, tests apart | 70 |
//! | `methods` | a type, over all files of its crate | 40 |
//! | `bypass` | uses of `std`'s atomics, locks and spin loops in a file outside of `base` | 0 |
//! | `files` | uses of `std::fs` in a file outside of `runtime` | 0 |
//! | `comments` | lines of a crate's comments beyond 120 columns | 0 |
//! | `wide` | lines of a document beyond 110 columns, tables and code apart | 0 |
//! | `document` | lines of a document | 140 |
//!
//! `assertions`, by crate, is the one that may only grow: each use of `check!` and `paranoid!` outside of tests is
//! listed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Measure and what it is of, to its count; only what is beyond the bound.
pub(super) type Counts = BTreeMap<(&'static str, String), usize>;

const FILE: &str = "xtask/ratchet.txt";

/// What the sources have beyond the bounds.
pub(super) fn of_sources(sources: &[(String, String)]) -> Counts {
    let mut counts = Counts::new();
    for (path, text) in sources.iter().filter(|(path, _)| !is_test(path)) {
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        note(&mut counts, "lines", path.clone(), text.lines().count(), 800);
        for (name, lines) in functions(text) {
            note(&mut counts, "function", format!("{path}:{name}"), lines, 70);
        }
        if path.starts_with("crates/") && !BELOW_THE_FACADE.iter().any(|below| path.starts_with(below)) {
            note(&mut counts, "bypass", path.clone(), bypasses(text), 0);
        }
        if path.starts_with("crates/") && !path.starts_with("crates/foundation/runtime/") {
            note(&mut counts, "files", path.clone(), file_system(text), 0);
        }
    }
    for (path, text) in sources {
        let Some((krate, _)) = path.split_once("/src/") else { continue };
        let n = text.lines().filter(|l| l.trim_start().starts_with("//") && l.chars().count() > 120).count();
        if n > 0 {
            *counts.entry(("comments", krate.to_owned())).or_default() += n;
        }
    }
    let mut methods: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in sources {
        let Some((krate, _)) = path.split_once("/src/").filter(|_| path.starts_with("crates/")) else { continue };
        for (name, n) in inherent_methods(text) {
            *methods.entry(format!("{krate}:{name}")).or_default() += n;
        }
    }
    methods.into_iter().for_each(|(name, n)| note(&mut counts, "methods", name, n, 40));
    for (path, text) in sources.iter().filter(|(path, _)| !is_test(path)) {
        let Some((krate, _)) = path.split_once("/src/").filter(|_| path.starts_with("crates/")) else { continue };
        let n = assertions(text.split("#[cfg(test)]\nmod ").next().unwrap_or_default());
        if n > 0 {
            *counts.entry((ASSERTIONS, krate.to_owned())).or_default() += n;
        }
    }
    counts
}

/// The measure that may only grow.
const ASSERTIONS: &str = "assertions";

/// Uses of the two macros in a source.
fn assertions(text: &str) -> usize {
    let used =
        |line: &str| ["check!(", "paranoid!("].iter().any(|m| line.contains(m)) && !line.trim_start().starts_with("//");
    text.lines().filter(|line| used(line)).count()
}

/// Tests, and what is no part of the server.
fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.contains("/examples/") || path.starts_with("fuzz/") || path.ends_with("tests.rs")
}

/// Counts of one thing, when they are beyond the bound. Two of a name (methods of two types) count as the greater.
pub(super) fn note(counts: &mut Counts, measure: &'static str, name: String, n: usize, bound: usize) {
    if n > bound {
        let entry = counts.entry((measure, name)).or_default();
        *entry = n.max(*entry);
    }
}

/// Compares with the list, or writes it.
pub(super) fn compare(root: &Path, now: &Counts, bless: bool, faults: &mut Vec<String>) -> Result<(), String> {
    let path = root.join(FILE);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    if bless {
        fs::write(&path, blessed(&text, now)).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let known: BTreeMap<(String, String), usize> =
        text.lines().filter_map(entry).map(|((measure, name), n)| ((measure.to_owned(), name.to_owned()), n)).collect();
    for ((_, name), limit) in known.iter().filter(|((measure, _), _)| measure == ASSERTIONS) {
        let n = now.get(&(ASSERTIONS, name.clone())).copied().unwrap_or(0);
        if n < *limit {
            faults.push(format!("{name}: {n} assertions, were {limit}: they may only grow"));
        }
    }
    for ((measure, name), n) in now.iter().filter(|((measure, _), _)| *measure != ASSERTIONS) {
        match known.get(&((*measure).to_owned(), name.clone())) {
            Some(limit) if n <= limit => {}
            Some(limit) => faults.push(format!("{name}: {measure} {n}, was {limit}: what is listed may only shrink")),
            None => faults.push(format!("{name}: {measure} {n} is beyond the bound (see xtask/src/tidy/ratchet.rs)")),
        }
    }
    Ok(())
}

/// Measure, name and count of a line of the list. What follows ` # ` is the reason for a raise.
fn entry(line: &str) -> Option<((&str, &str), usize)> {
    let line = line.split(" # ").next()?;
    let (measure, rest) = line.split_once(' ')?;
    let (n, name) = rest.split_once(' ')?;
    Some(((measure, name), n.parse().ok()?))
}

/// The list with what has improved: counts that fell, assertions that were added. Nothing gets worse, and nothing new
/// is listed but assertions.
fn blessed(list: &str, now: &Counts) -> String {
    let current =
        |measure: &str, name: &str| now.iter().find(|((m, of), _)| *m == measure && of == name).map(|(_, n)| *n);
    let mut lines: Vec<String> = Vec::new();
    for line in list.lines() {
        let Some(((measure, name), limit)) = entry(line) else { continue };
        let n = match current(measure, name) {
            Some(n) if measure == ASSERTIONS => n.max(limit),
            Some(n) => n.min(limit),
            None if measure == ASSERTIONS => limit,
            None => continue,
        };
        let reason = line.split_once(" # ").map_or(String::new(), |(_, reason)| format!(" # {reason}"));
        lines.push(format!("{measure} {n} {name}{reason}"));
    }
    for ((measure, name), n) in now.iter().filter(|((measure, _), _)| *measure == ASSERTIONS) {
        if !list.lines().filter_map(entry).any(|(listed, _)| listed == (measure, name)) {
            lines.push(format!("{measure} {n} {name}"));
        }
    }
    let key = |line: &String| entry(line).map(|((measure, name), _)| (measure.to_owned(), name.to_owned()));
    lines.sort_by_key(key);
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}

/// Functions and their lengths in lines. rustfmt closes a function at the column where it begins.
fn functions(text: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = line.len() - line.trim_start().len();
        let closes = |l: &&str| l.len() == indent + 1 && l.ends_with('}') && l.trim_start() == "}";
        let ends = |l: &&str| closes(l) || l.trim_start().len() + indent == l.len() && l.ends_with(';');
        if let Some(n) = lines[at..].iter().position(ends).filter(|n| *n > 0) {
            found.push((name, n + 1));
        }
    }
    found
}

/// The name of the function that a line begins.
fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if rest.starts_with("pub") {
        rest = rest[3..].trim_start();
        if rest.starts_with('(') {
            rest = rest.split_once(')')?.1.trim_start();
        }
    }
    for word in ["const ", "unsafe ", "async ", "extern \"C\" "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let rest = rest.strip_prefix("fn ")?;
    rest.split(['(', '<']).next().filter(|name| !name.is_empty())
}

/// Types with inherent `impl` blocks at the left margin, and the methods of each block.
fn inherent_methods(text: &str) -> Vec<(String, usize)> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let (mut found, mut open): (Vec<(String, usize)>, _) = (Vec::new(), false);
    for line in text.lines() {
        if line.starts_with("impl") && !line.contains(" for ") {
            let after = line[4..].trim_start();
            // Parameters of the block stand before the type.
            let after = if after.starts_with('<') { after.split_once("> ").map_or("", |(_, t)| t) } else { after };
            let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            found.push((name, 0));
            open = true;
        } else if line == "}" {
            open = false;
        } else if open
            && line.starts_with("    ")
            && !line.starts_with("     ")
            && function_name(line).is_some()
            && let Some((_, n)) = found.last_mut()
        {
            *n += 1;
        }
    }
    found
}

/// What the facade itself stands on, or cannot reach: the simulated machine, which runs inside its hook; memory that
/// the kernel shares; a handler of signals.
const BELOW_THE_FACADE: &[&str] = &[
    "crates/foundation/base/",
    "crates/foundation/runtime/src/sim/",
    "crates/foundation/runtime/src/worker/ring.rs",
    "crates/foundation/runtime/src/stack.rs",
];

/// What goes past the one place that the simulation and the model checker can see.
fn bypasses(text: &str) -> usize {
    let ways = [
        "std::sync::atomic",
        "std::sync::{",
        "std::sync::Mutex",
        "std::sync::RwLock",
        "std::sync::Condvar",
        "spin_loop(",
    ];
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.filter(|line| {
        ways.iter().any(|way| line.contains(way))
            && (!line.contains("std::sync::{")
                || ["Mutex", "RwLock", "Condvar", "atomic"].iter().any(|w| line.contains(w)))
    })
    .count()
}

/// Lines that reach the file system by the standard library: the simulation does not see them.
fn file_system(text: &str) -> usize {
    let imported = text.lines().any(|l| l.trim_start() == "use std::fs;");
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.filter(|line| {
        let called = line.match_indices("fs::").any(|(at, _)| {
            let before = &line[..at];
            before.ends_with("std::")
                || imported && !before.ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c))
        });
        called || line.contains(".exists()") && line.contains("path")
    })
    .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "impl<'a, T: Clone> Big<'a> {\n    pub(crate) fn one(&self) {\n        two();\n    }\n\n    fn two() -> u8 {\n        7\n    }\n}\n\nimpl Clone for Big {\n    fn clone(&self) -> Self {\n        Big\n    }\n}\n\npub fn free() {}\n";

    #[test]
    fn functions_and_methods_are_found() {
        assert_eq!(functions(TEXT), [("one", 3), ("two", 3), ("clone", 3)]);
        assert_eq!(inherent_methods(TEXT), [("Big".to_owned(), 2)]);
        assert_eq!(function_name("    pub(crate) const unsafe fn deep<T>(x: T) {"), Some("deep"));
        assert_eq!(function_name("    let fn_pointer = 1;"), None);
    }

    #[test]
    fn a_blessing_only_improves() {
        let list = "assertions 2 crates/a\nfunction 90 x.rs:f # a table\nfunction 80 x.rs:g\nlines 900 x.rs\n";
        let counted = |of: &[(&'static str, &str, usize)]| -> Counts {
            of.iter().map(|(measure, name, n)| ((*measure, (*name).to_owned()), *n)).collect()
        };
        let better = [("assertions", "crates/a", 3), ("assertions", "crates/b", 1), ("function", "x.rs:f", 85)];
        let now = counted(&[&better[..], &[("function", "x.rs:g", 99), ("function", "y.rs:new", 71)]].concat());
        let expected =
            "assertions 3 crates/a\nassertions 1 crates/b\nfunction 85 x.rs:f # a table\nfunction 80 x.rs:g\n";
        assert_eq!(blessed(list, &now), expected);
        assert_eq!(blessed(expected, &counted(&[])), "assertions 3 crates/a\nassertions 1 crates/b\n");
    }

    #[test]
    fn uses_of_the_file_system_are_counted() {
        let text =
            "use std::fs;\nfs::read(x);\nruntime::fs::read(x);\nstd::fs::read(x); // fs::read\nif path.exists() {}\n";
        assert_eq!(file_system(text), 3);
        assert_eq!(file_system("use gannet_runtime::fs;\nfs::read(x);\n"), 0);
    }

    #[test]
    fn what_goes_past_the_facade_is_counted() {
        let text = "use std::sync::Arc;\nuse std::sync::{Arc, Mutex};\nuse std::sync::{Arc, OnceLock};\nuse std::sync::atomic::AtomicU64; // why\n";
        assert_eq!(bypasses(text), 2);
    }
}
