//! House rules as a test: what the compiler and clippy cannot see.

mod circles;
mod documents;
mod errors;
mod ratchet;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Crates that may hold `unsafe`.
const UNSAFE_CRATES: &[&str] = &["foundation/base", "foundation/runtime", "storage/buffer", "storage/log", "models"];

/// Which crates a crate may name. An edge that is missing here needs a decision record.
const ALLOWED: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("telemetry", &["base"]),
    ("queueing", &[]),
    ("runtime", &["base", "telemetry"]),
    ("page", &["base"]),
    ("log", &["base", "telemetry", "runtime"]),
    ("buffer", &["base", "telemetry", "runtime", "page", "log"]),
    ("btree", &["base", "telemetry", "runtime", "page", "log", "buffer"]),
    ("lock", &["base", "telemetry", "runtime"]),
    ("engine", &["base", "telemetry", "runtime", "page", "log", "buffer", "btree", "lock"]),
    ("types", &["base"]),
    ("parser", &["base"]),
    ("functions", &["base", "types"]),
    ("text", &["base", "types"]),
    ("schema", &["base", "types", "text"]),
    ("catalog", &["base", "runtime", "types", "text", "schema", "engine"]),
    ("plan", &["base", "telemetry", "types", "parser", "functions", "text", "schema"]),
    ("program", &["base", "telemetry", "types", "parser", "schema", "plan"]),
    (
        "exec",
        &[
            "base",
            "telemetry",
            "runtime",
            "types",
            "parser",
            "functions",
            "text",
            "schema",
            "catalog",
            "plan",
            "engine",
        ],
    ),
    ("wire", &["base", "types"]),
    ("binlog", &["base", "types"]),
    (
        "core",
        &["base", "telemetry", "runtime", "types", "parser", "schema", "catalog", "exec", "engine", "wire", "binlog"],
    ),
    (
        "session",
        &[
            "base",
            "telemetry",
            "runtime",
            "types",
            "parser",
            "functions",
            "text",
            "schema",
            "catalog",
            "plan",
            "program",
            "exec",
            "engine",
            "wire",
            "binlog",
            "core",
        ],
    ),
    (
        "server",
        &[
            "base",
            "telemetry",
            "runtime",
            "types",
            "parser",
            "schema",
            "plan",
            "exec",
            "wire",
            "binlog",
            "core",
            "session",
        ],
    ),
    (
        "memcache",
        &[
            "base",
            "telemetry",
            "runtime",
            "types",
            "parser",
            "functions",
            "schema",
            "exec",
            "engine",
            "wire",
            "core",
            "session",
        ],
    ),
    (
        "replica",
        &["base", "runtime", "types", "parser", "catalog", "exec", "engine", "wire", "binlog", "core", "session"],
    ),
    ("dump", &["base", "runtime", "wire"]),
    ("console", &["base", "telemetry", "queueing", "runtime", "types", "engine", "wire", "core", "session"]),
    ("gannet", &["base", "queueing", "runtime", "engine", "server", "memcache", "replica", "console", "wire", "dump"]),
    ("models", &["base", "telemetry"]),
    ("xtask", &["log", "page", "engine", "exec", "parser", "wire", "binlog", "schema", "text", "types"]),
];

/// Runs every rule. With `bless`, writes the ratchet's list anew.
pub fn run(root: &Path, bless: bool) -> Result<String, String> {
    let mut faults = Vec::new();
    layering(root, &mut faults);
    let sources = sources(root);
    for (path, text) in &sources {
        markers(path, text, &mut faults);
        unsafe_code(path, text, &mut faults);
        files(path, text, &mut faults);
        errors::check(path, text, &mut faults);
    }
    counters(&sources, &mut faults);
    circles::check(&sources, &mut faults);
    let mut counts = ratchet::of_sources(&sources);
    documents::check(root, &mut counts, &mut faults);
    ratchet::compare(root, &counts, bless, &mut faults)?;
    if faults.is_empty() {
        Ok(format!("tidy: {} files", sources.len()))
    } else {
        Err(format!("tidy: {} faults\n{}", faults.len(), faults.join("\n")))
    }
}

/// Compares each crate's dependencies with [`ALLOWED`].
fn layering(root: &Path, faults: &mut Vec<String>) {
    let layers = ["foundation", "storage", "sql", "service"];
    let beside = ["crates/gannet", "crates/models", "xtask"].map(|dir| root.join(dir));
    for dir in layers.iter().flat_map(|layer| dirs(&root.join("crates").join(layer))).chain(beside) {
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
        let Some((_, allowed)) = ALLOWED.iter().find(|(krate, _)| *krate == name) else {
            faults.push(format!("crate {name}: not in the table of layers"));
            continue;
        };
        let mut dev = false;
        for line in manifest.lines() {
            if line.starts_with('[') {
                dev = line.contains("dev-dependencies");
            }
            let Some(dep) = line.strip_prefix("gannet-").and_then(|rest| rest.split(['.', ' ', '=']).next()) else {
                continue;
            };
            if !dev && !allowed.contains(&dep) {
                faults.push(format!("crate {name} names {dep}: the layers do not allow it"));
            }
        }
    }
}

fn markers(path: &str, text: &str, faults: &mut Vec<String>) {
    if path.starts_with("xtask/") {
        return;
    }
    for (number, line) in text.lines().enumerate() {
        for marker in ["todo!(", "unimplemented!(", "FIXME", "XXX", "dbg!("] {
            if line.contains(marker) && !line.contains("tidy: allow") {
                faults.push(format!("{path}:{}: {marker}", number + 1));
            }
        }
    }
}

fn unsafe_code(path: &str, text: &str, faults: &mut Vec<String>) {
    let allowed = UNSAFE_CRATES.iter().any(|krate| path.starts_with(&format!("crates/{krate}/")));
    if allowed || path.starts_with("xtask/") {
        return;
    }
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        if code.contains("unsafe {") || code.contains("unsafe fn") || code.contains("unsafe impl") {
            faults.push(format!("{path}:{}: unsafe outside the named crates", number + 1));
        }
    }
}

/// Files and directories are made by `runtime::fs` and `runtime::File`, which give them their modes.
fn files(path: &str, text: &str, faults: &mut Vec<String>) {
    let test = path.contains("/tests/") || path.ends_with("/tests.rs");
    if test || !path.starts_with("crates/") || path.starts_with("crates/foundation/runtime/") {
        return;
    }
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        let made = [
            "fs::write(",
            " File::create(",
            "fs::File::create(",
            "File::options()",
            "fs::OpenOptions::new(",
            "DirBuilder::new(",
        ];
        if made.iter().any(|m| code.contains(m)) {
            faults.push(format!("{path}:{}: a file is made without a mode: see runtime::fs", number + 1));
        }
    }
}

/// Every status counter is counted somewhere; one that is only declared and read would be shown as 0 for ever.
fn counters(sources: &[(String, String)], faults: &mut Vec<String>) {
    let (declared, others): (Vec<_>, Vec<_>) =
        sources.iter().partition(|(path, _)| path.ends_with("telemetry/src/counters.rs"));
    let names = declared.iter().flat_map(|(_, text)| text.lines()).filter_map(|line| {
        let (name, rest) = line.trim().split_once(" = \"")?;
        (rest.ends_with("Both;") || rest.ends_with("Global;")).then_some(name)
    });
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        faults.push("no status counters found where they are declared".to_owned());
    }
    for name in names {
        let named = format!("Counter::{name}");
        let counts = |(path, text): &&(String, String)| {
            let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            !path.contains("/tests/")
                && text.match_indices(&named).any(|(at, _)| {
                    let whole = !text[at + named.len()..].starts_with(|c: char| c.is_ascii_alphanumeric());
                    whole && !text[..at].ends_with("total(") && !text[..at].ends_with("get(")
                })
        };
        if !others.iter().any(counts) {
            faults.push(format!("status counter {name} is declared, and nothing counts it"));
        }
    }
}

/// Every Rust source of the project as (path relative to the root, text).
fn sources(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![root.join("crates"), root.join("xtask"), root.join("fuzz")];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("target") {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs")
                && let Ok(text) = fs::read_to_string(&path)
            {
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
                found.push((name, text));
            }
        }
    }
    found.sort();
    found
}

fn dirs(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    found.sort();
    found
}
