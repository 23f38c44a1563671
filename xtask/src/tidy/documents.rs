//! Rules for documents: a length that one reads in a sitting, lines that fit a window, tables that can be read, names
//! of files that exist, and no build by its hash outside of `docs/lab`, where history is kept.

use super::ratchet::{Counts, note};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const COLUMNS: usize = 110;
const CELL: usize = 160;
const LINES: usize = 140;
/// A row for each variable, an entry for each change: no bound of lines.
const GROWING: &[&str] = &["CHANGELOG.md", "docs/variables.md"];

/// Looks at every document but the pages of history.
pub(super) fn check(root: &Path, counts: &mut Counts, faults: &mut Vec<String>) {
    let mut files = BTreeSet::new();
    collect(root, root, &mut files);
    for path in files.iter().filter(|p| p.ends_with(".md") && !p.starts_with("docs/lab/")) {
        let text = fs::read_to_string(root.join(path)).unwrap_or_default();
        let (mut wide, mut code) = (0, false);
        for (number, line) in text.lines().enumerate() {
            if line.starts_with("```") {
                code = !code;
            }
            let table = line.starts_with('|');
            if !code && !line.starts_with("    ") && !table && line.chars().count() > COLUMNS {
                wide += 1;
            }
            if table && path != "docs/variables.md" && line.split('|').any(|cell| cell.chars().count() > CELL) {
                wide += 1;
            }
            if !code {
                names(path, number + 1, line, &files, faults);
            }
        }
        note(counts, "wide", path.clone(), wide, 0);
        if !GROWING.contains(&path.as_str()) {
            note(counts, "document", path.clone(), text.lines().count(), LINES);
        }
    }
}

fn collect(root: &Path, dir: &Path, files: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let skipped = ["target", ".git", "corpus", "gannet-data"].iter().any(|s| path.ends_with(s));
        if path.is_dir() && !skipped {
            collect(root, &path, files);
        } else if let Ok(name) = path.strip_prefix(root) {
            files.insert(name.to_string_lossy().into_owned());
        }
    }
}

/// Files that a line names, as a link or in back quotes, exist; hashes of builds belong to the history.
fn names(path: &str, number: usize, line: &str, files: &BTreeSet<String>, faults: &mut Vec<String>) {
    for link in line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(to, _)| to) {
        let to = link.split('#').next().unwrap_or_default();
        if to.is_empty() || to.contains("://") {
            continue;
        }
        let target = PathBuf::from(path).parent().map(|p| p.join(to)).unwrap_or_default();
        let target = flat(&target);
        let exists = files.contains(&target)
            || files.iter().any(|f| f.starts_with(&format!("{}/", target.trim_end_matches('/'))));
        if !exists {
            faults.push(format!("{path}:{number}: the link to {to} leads nowhere"));
        }
    }
    for word in line.split('`').skip(1).step_by(2) {
        let named = [".rs", ".md", ".sh", ".inc"].iter().any(|end| word.ends_with(end))
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
        let word = word.trim_start_matches("../");
        let known = || files.contains(word) || files.iter().any(|f| f.ends_with(&format!("/{word}")));
        if named && !known() {
            faults.push(format!("{path}:{number}: there is no file {word}"));
        }
    }
    if path.starts_with("docs/") {
        for word in line.split(|c: char| !c.is_ascii_alphanumeric()) {
            let hex = word.len() == 7 && word.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
            if hex && word.chars().any(|c| c.is_ascii_digit()) && word.chars().any(|c| c.is_ascii_lowercase()) {
                faults.push(format!("{path}:{number}: {word} looks like a build; those belong to docs/lab"));
            }
        }
    }
}

/// A path without `.` and `..`.
fn flat(path: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in path.components() {
        match part.as_os_str().to_string_lossy().as_ref() {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name.to_owned()),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_nowhere_are_found() {
        let files = BTreeSet::from(["docs/a.md".to_owned(), "crates/x/src/lib.rs".to_owned()]);
        let mut faults = Vec::new();
        names(
            "docs/a.md",
            1,
            "[x](../crates/x/src/lib.rs) `lib.rs` [y](b.md) `src/none.rs` [z](../crates/) build 9c8c3ba",
            &files,
            &mut faults,
        );
        assert_eq!(faults.len(), 3, "{faults:?}");
    }
}
