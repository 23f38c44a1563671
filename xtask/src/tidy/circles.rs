//! Circles of files: in the crates listed here no file imports one that, by other files, imports it.
//!
//! An import is a path that begins with `crate`, `self`, `super` or the name of a child module, in a `use` or in the
//! code. It leads to the longest module that it names; a type that a parent module declares is nobody's file. Tests are
//! left out.

use std::collections::{BTreeMap, BTreeSet};

/// Crates without circles. A crate may be added, none goes.
const ORDERED: &[&str] = &[
    "foundation/base",
    "foundation/runtime",
    "foundation/telemetry",
    "storage/btree",
    "storage/buffer",
    "storage/engine",
    "storage/lock",
    "storage/log",
    "storage/page",
    "sql/catalog",
    "sql/exec",
    "sql/functions",
    "sql/plan",
    "sql/schema",
    "sql/types",
    "service/core",
    "service/server",
    "service/session",
    "service/wire",
];

/// Circles that stay, because the data itself is one: the files of each, and why. A circle may become smaller; a file
/// that is not listed may not enter one.
const KNOTS: &[(&str, &[&str], &str)] = &[
    (
        "foundation/runtime",
        &[
            "cx",
            "serve",
            "serve/conn",
            "serve/listener",
            "serve/thread",
            "sim",
            "sim/disk",
            "sim/net",
            "sim/sched",
            "stack",
            "task",
            "time",
            "worker",
            "worker/conns",
            "worker/fiber",
        ],
        "a task knows the worker or simulation that it runs on, and these run tasks; both serve connections",
    ),
    (
        "sql/exec",
        &["compare", "context", "long", "spill", "spill/dedup", "spill/kept", "spill/merge", "spill/partition"],
        "an execution owns its temporary files, and what is written to them is counted to the execution",
    ),
    (
        "sql/exec",
        &[
            "calls",
            "cte",
            "eval",
            "eval/alternatives",
            "eval/subquery",
            "integers",
            "ops",
            "ops/aggregate",
            "ops/hash_join",
            "ops/join",
            "ops/json",
            "ops/parallel",
            "ops/rows",
            "ops/scan",
            "ops/scan/made",
            "ops/scan/members",
            "ops/scan/merge",
            "ops/scan/parts",
            "ops/scan/search",
            "ops/scan/skip",
            "ops/set",
            "ops/sort",
            "ops/window",
            "ops/window_rows",
            "order",
            "place",
            "typed",
            "vector",
        ],
        "operators evaluate expressions, and an expression may hold a subquery, which is operators: the recursion is SQL's",
    ),
    (
        "sql/exec",
        &[
            "dml",
            "dml/delete",
            "dml/insert",
            "dml/insert/way",
            "dml/load",
            "dml/many",
            "dml/update",
            "dml/update/point",
            "foreign",
        ],
        "a changed row changes others by its foreign keys, which are changed as rows are",
    ),
    (
        "storage/buffer",
        &["double", "pool", "space", "writeback"],
        "the pool writes its frames back, and writing back takes frames from the pool",
    ),
    (
        "storage/engine",
        &[
            "checkpoint",
            "consumer",
            "fuzzing",
            "index",
            "indexer",
            "purge",
            "recovery",
            "redo",
            "rollback",
            "rows",
            "scrub",
            "store",
            "trees",
            "txn",
            "writer",
        ],
        "the store starts the tasks that work on it, and a transaction is what it gives and what these roll back",
    ),
    (
        "storage/engine",
        &["row", "undo/record"],
        "an undo record keeps the head of the row before it, and a row's head names its undo record",
    ),
    (
        "sql/types",
        &[
            "collation",
            "convert",
            "convert/cast",
            "convert/compare",
            "convert/json",
            "convert/number",
            "convert/store",
            "convert/time",
            "json",
            "json/parse",
            "json/path",
            "members",
            "sqltype",
            "temporal",
            "temporal/format",
            "value",
        ],
        "a value may be a document, whose scalars are values; conversions lead from any type to any other",
    ),
    (
        "sql/types",
        &["collation/language_900", "collation/tailoring", "collation/uca"],
        "a tailored collation is made of the root's weights, and looks up what it does not tailor there",
    ),
    (
        "sql/plan",
        &[
            "optimize",
            "optimize/access",
            "optimize/access/skip",
            "optimize/block",
            "optimize/block/scan",
            "optimize/join",
        ],
        "a block is optimized table by table, and a table may be a block",
    ),
    (
        "storage/lock",
        &["gaps", "intervals", "mdl", "owner", "ranges", "treap", "tree"],
        "an owner lists the trees and tables that it has locked, and these list their owners",
    ),
];

type Module = Vec<String>;

/// Names the files of each circle.
pub(super) fn check(sources: &[(String, String)], faults: &mut Vec<String>) {
    for krate in ORDERED {
        let root = format!("crates/{krate}/src/");
        let files: BTreeMap<Module, &str> = sources
            .iter()
            .filter_map(|(path, text)| Some((module_of(path.strip_prefix(&root)?), product(text))))
            .collect();
        let arrows: BTreeMap<&Module, BTreeSet<Module>> =
            files.iter().map(|(module, text)| (module, imports(module, text, &files))).collect();
        for circle in circles(&arrows) {
            let names: Vec<String> = circle.iter().map(|m| m.join("/")).collect();
            let known = |files: &&[&str]| names.iter().all(|name| files.contains(&name.as_str()));
            if !KNOTS.iter().any(|(of, files, _)| of == krate && known(files)) {
                faults.push(format!("{root}: files that import each other: {}", names.join(", ")));
            }
        }
    }
}

/// `a/b.rs` and `a/b/mod.rs` are the module a, b.
fn module_of(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut parts: Module = path.split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib")) {
        parts.pop();
    }
    parts
}

fn product(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default()
}

/// The modules of `files` that a file's paths lead to.
fn imports(module: &Module, text: &str, files: &BTreeMap<Module, &str>) -> BTreeSet<Module> {
    let code: String = text.lines().map(|l| l.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join(" ");
    let mut found = BTreeSet::new();
    let children =
        files.keys().filter(|m| m.len() == module.len() + 1 && m.starts_with(module)).filter_map(|m| m.last());
    let starts = ["crate", "super", "self"].into_iter().chain(children.map(String::as_str));
    for start in starts.map(|name| format!("{name}::")) {
        for (at, _) in code.match_indices(&start) {
            let inside = code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':'));
            if !inside {
                expand(&code[at..], &mut Vec::new(), &mut |path| found.extend(resolve(module, path, files)));
            }
        }
    }
    found.remove(module);
    found
}

/// Calls `f` with each path that a tree of paths names; gives what is left behind it.
fn expand<'t>(text: &'t str, before: &mut Vec<&'t str>, f: &mut impl FnMut(&[&str])) -> &'t str {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    before.push(name);
    match rest.strip_prefix("::").map(str::trim_start) {
        Some(list) if list.starts_with('{') => {
            rest = &list[1..];
            while !rest.trim_start().starts_with('}') && !rest.is_empty() {
                rest = expand(rest, before, f).trim_start();
                rest = rest.find([',', '}']).map_or("", |at| &rest[at..]);
                rest = rest.strip_prefix(',').unwrap_or(rest);
            }
            rest = rest.trim_start().strip_prefix('}').unwrap_or(rest);
        }
        Some(more) if more.starts_with(|c: char| c.is_alphanumeric() || c == '_') => rest = expand(more, before, f),
        _ => f(before),
    }
    before.pop();
    rest
}

fn resolve(module: &Module, path: &[&str], files: &BTreeMap<Module, &str>) -> Option<Module> {
    let mut at = module.clone();
    let mut found = None;
    for (n, name) in path.iter().enumerate() {
        match (*name, n) {
            ("crate", 0) => at.clear(),
            ("self", 0) => {}
            ("super", _) if found.is_none() => drop(at.pop()),
            _ => {
                at.push((*name).to_owned());
                if !files.contains_key(&at) {
                    break;
                }
                found = Some(at.clone());
            }
        }
    }
    found
}

/// Sets of modules that reach each other, of more than one.
fn circles(arrows: &BTreeMap<&Module, BTreeSet<Module>>) -> Vec<Vec<Module>> {
    let reach = |from: &Module| {
        let mut seen: BTreeSet<Module> = BTreeSet::new();
        let mut open: Vec<Module> = vec![from.clone()];
        while let Some(next) = open.pop() {
            for to in arrows.get(&next).into_iter().flatten() {
                if seen.insert(to.clone()) {
                    open.push(to.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> = arrows.keys().map(|m| (*m, reach(m))).collect();
    let mut done: BTreeSet<&Module> = BTreeSet::new();
    let mut all = Vec::new();
    for (module, to) in &reached {
        if !to.contains(*module) || done.contains(module) {
            continue;
        }
        let circle: Vec<&Module> = to
            .iter()
            .filter_map(|m| reached.get_key_value(m))
            .filter(|(_, back)| back.contains(*module))
            .map(|(m, _)| *m)
            .collect();
        done.extend(circle.iter().copied());
        all.push(circle.into_iter().cloned().collect());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(files: &[(&str, &str)]) -> Vec<String> {
        faults_of("service/core", files)
    }

    fn faults_of(krate: &str, files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<(String, String)> =
            files.iter().map(|(p, t)| (format!("crates/{krate}/src/{p}"), (*t).to_owned())).collect();
        let mut faults = Vec::new();
        check(&sources, &mut faults);
        faults
    }

    #[test]
    fn circles_are_found_whatever_way_they_are_written() {
        let one = ("a.rs", "use crate::{c, b::{self, Thing}};");
        assert_eq!(faults(&[one, ("b.rs", "fn f() {}"), ("c.rs", "use super::b;")]), Vec::<String>::new());
        for back in ["use crate::a::X;", "fn f() { super::a::g() }", "use super::{x, a::{\n    Y,\n    Z,\n}};"] {
            let found = faults(&[one, ("b.rs", "use super::c;"), ("c.rs", back)]);
            assert_eq!(found, ["crates/service/core/src/: files that import each other: a, b, c"], "{back}");
        }
        // By a folder; what tests import does not count, nor what a comment says.
        let deep = ("a/mod.rs", "use crate::b::x; mod inner;");
        assert_eq!(faults(&[deep, ("a/inner.rs", ""), ("b.rs", "use crate::a::inner::y;")]), Vec::<String>::new());
        assert_eq!(
            faults(&[deep, ("b.rs", "// crate::a::z\n#[cfg(test)]\nmod tests {\n use crate::a::z;\n}")]),
            Vec::<String>::new()
        );
        assert_eq!(faults(&[deep, ("b.rs", "use crate::a::z;")]).len(), 1);
        // A parent calls its child by the bare name.
        for down in ["mod inner; fn f() { inner::g() }", "pub(crate) use inner::g;"] {
            let back = ("a/inner.rs", "use crate::a::x;");
            assert_eq!(faults(&[("a/mod.rs", down), back]).len(), 1, "{down}");
            assert_eq!(faults(&[("a/mod.rs", "mod inner; fn f() { other::inner::g() }"), back]), Vec::<String>::new());
        }
    }

    #[test]
    fn a_knot_takes_in_no_other_file() {
        for (krate, files, _) in KNOTS {
            let ring = |files: &[&str]| -> Vec<String> {
                let next = files.iter().cycle().skip(1);
                let folders = files.iter().filter_map(|f| f.rsplit_once('/')).filter(|(of, _)| !files.contains(of));
                let uses = |to: &str| format!("use crate::{};", to.replace('/', "::"));
                let texts: Vec<(String, String)> = folders
                    .map(|(of, _)| (format!("{of}.rs"), String::new()))
                    .chain(files.iter().zip(next).map(|(f, to)| (format!("{f}.rs"), uses(to))))
                    .collect();
                faults_of(krate, &texts.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect::<Vec<_>>())
            };
            assert_eq!(ring(files), Vec::<String>::new());
            assert_eq!(ring(&files[1..]), Vec::<String>::new(), "{krate}: it may become smaller");
            assert_eq!(ring(&[*files, &["zz"]].concat()).len(), 1, "{krate}");
        }
    }
}
