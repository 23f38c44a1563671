//! Examples in documentation, which only `rustdoc` runs: a crate that tells it not to look must have none.

use std::{fs, path::Path};

/// Looks at crates whose manifest says `doctest = false`.
pub(super) fn check(root: &Path, sources: &[(String, String)], faults: &mut Vec<String>) {
    let mut quiet = (String::new(), false);
    for (path, text) in sources {
        let Some((krate, _)) = path.split_once("/src/") else { continue };
        if quiet.0 != krate {
            let manifest = fs::read_to_string(root.join(krate).join("Cargo.toml")).unwrap_or_default();
            quiet = (krate.to_owned(), manifest.contains("doctest = false"));
        }
        if quiet.1 {
            faults.extend(examples(text).map(|line| format!("{path}:{line}: an example that no test runs")));
        }
    }
}

/// Lines at which an example begins: a fence in documentation that names no other language than Rust.
fn examples(text: &str) -> impl Iterator<Item = usize> {
    let mut open = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let line = line.trim_start();
        let documentation = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        let language = documentation.trim_start().strip_prefix("```")?.trim();
        open = !open;
        let rust = ["", "rust", "no_run", "should_panic", "compile_fail"];
        (open && rust.contains(&language.split(',').next().unwrap_or_default())).then_some(number + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::examples;

    #[test]
    fn examples_are_told_from_other_texts() {
        let text =
            "//! ```text\n//! a frame\n//! ```\n\n/// ```\n/// f();\n/// ```\n///  ```no_run,edition2024\n/// ```\n";
        assert_eq!(examples(text).collect::<Vec<_>>(), [5, 8]);
    }
}
