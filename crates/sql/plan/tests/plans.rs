//! Plans as snapshots: `tests/plans/*.txt` hold a statement, then its tree. `GANNET_UPDATE=1 cargo test` rewrites them;
//! the diff is the review.

mod common;

use std::fmt::Write;
use std::path::PathBuf;

fn run(name: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plans").join(name);
    let text = std::fs::read_to_string(&path).expect("snapshot file");
    let snapshot = common::snapshot();
    let mut made = String::new();
    for block in text.split("\n\n").filter(|b| !b.trim().is_empty()) {
        let lines: Vec<&str> = block.trim_matches('\n').lines().collect();
        let sql = lines.iter().take_while(|l| !l.starts_with("--") && !l.starts_with("->") && !l.starts_with("ERROR"));
        let sql: Vec<&str> = sql.copied().collect();
        let statement = sql.join("\n");
        let _ = writeln!(made, "{statement}");
        match common::plan(&snapshot, statement.trim_end_matches(';')) {
            Ok(plan) => made.push_str(&gannet_plan::explain::tree(&plan, false)),
            Err(e) => {
                let _ = writeln!(made, "ERROR {} {}", e.number(), e.message());
            }
        }
        made.push('\n');
    }
    if std::env::var_os("GANNET_UPDATE").is_some() {
        std::fs::write(&path, &made).expect("snapshot file");
    } else {
        assert!(text == made, "{name} differs; GANNET_UPDATE=1 rewrites it\n{}", difference(&text, &made));
    }
}

fn difference(old: &str, new: &str) -> String {
    let differing = old.lines().zip(new.lines()).enumerate().find(|(_, (a, b))| a != b);
    match differing {
        Some((n, (a, b))) => format!("line {}:\n- {a}\n+ {b}", n + 1),
        None => "one is longer".into(),
    }
}

#[test]
fn points_and_ranges() {
    run("access.txt");
}

#[test]
fn joins() {
    run("joins.txt");
}

#[test]
fn grouping_and_order() {
    run("group.txt");
}

#[test]
fn subqueries() {
    run("subqueries.txt");
}

#[test]
fn changes() {
    run("dml.txt");
}

#[test]
fn tpcc() {
    run("tpcc.txt");
}
