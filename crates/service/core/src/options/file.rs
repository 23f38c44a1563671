//! Option files in `my.cnf`'s format.

use super::Given;
use std::path::{Path, PathBuf};

/// Groups that are read.
const GROUPS: &[&str] = &["mysqld", "server", "gannet", "mysqld-8.4"];
/// `!include` may nest this deep.
const MAX_DEPTH: usize = 8;

/// Reads a file and the files it includes.
pub(super) fn read(path: &Path) -> Result<Vec<Given>, String> {
    let mut out = Vec::new();
    read_into(path, 0, &mut out)?;
    Ok(out)
}

fn read_into(path: &Path, depth: usize, out: &mut Vec<Given>) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("{}: !include nests too deeply", path.display()));
    }
    let bytes = std::fs::read(path).map_err(|e| format!("cannot read option file {}: {e}", path.display()))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{}: not UTF-8", path.display()))?;
    let mut wanted = false;
    for (i, line) in text.lines().enumerate() {
        let origin = format!("{}:{}", path.display(), i + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(file) = line.strip_prefix("!includedir") {
            for file in configs_in(Path::new(file.trim())).map_err(|e| format!("{origin}: {e}"))? {
                read_into(&file, depth + 1, out)?;
            }
            continue;
        }
        if let Some(file) = line.strip_prefix("!include") {
            read_into(Path::new(file.trim()), depth + 1, out)?;
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let group = rest.split(']').next().unwrap_or_default().trim();
            wanted = GROUPS.contains(&group);
            continue;
        }
        if !wanted {
            continue;
        }
        let (name, value) = match line.split_once('=') {
            Some((n, v)) => (n.trim(), Some(unquote(v.trim()))),
            None => (line.split('#').next().unwrap_or_default().trim(), None),
        };
        if name.is_empty() {
            return Err(format!("{origin}: a line without an option's name"));
        }
        out.push(Given { name: name.to_ascii_lowercase().replace('_', "-"), value, origin });
    }
    Ok(())
}

/// `*.cnf` of a directory, by name.
fn configs_in(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(dir).map_err(|e| format!("cannot read {}: {e}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "cnf"));
    files.sort();
    Ok(files)
}

/// Takes quotes off; outside quotes `#` begins a comment and `\b \t \n \r \\ \s` are read as MySQL does.
fn unquote(value: &str) -> String {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let body = match quote {
        Some(q) => value[1..].split(q).next().unwrap_or_default(),
        None => value.split(" #").next().unwrap_or_default().trim_end(),
    };
    let mut out = String::new();
    let mut chars = body.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('s') => out.push(' '),
            Some('\\') | None => out.push('\\'),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_unquoted() {
        assert_eq!(unquote("'a b' # c"), "a b");
        assert_eq!(unquote("a\\sb # c"), "a b");
        assert_eq!(unquote("C:\\dir"), "C:\\dir");
        assert_eq!(unquote(""), "");
    }
}
