//! Stores that earlier builds have written (`tests/stores`) open in this one with all that they held; those whose
//! format is no longer read are refused by a sentence that names both formats, and left as they are.

mod common;

use common::{Dir, Server, one};
use std::path::PathBuf;
use std::process::Command;

fn unpacked(fixture: &str) -> Dir {
    let dir = Dir::new(fixture);
    let archive = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/stores/{fixture}.tar.gz"));
    let done = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&dir.0).status();
    assert!(done.is_ok_and(|s| s.success()), "{}", archive.display());
    dir
}

/// What `tests/stores/content.sql` says; `killed`: with what `make.sh` does before it kills the server.
fn holds_everything(server: &Server, killed: bool) {
    let mut db = server.connect();
    for table in ["kinds", "no_key", "parent", "child"] {
        let told = db.query(&format!("CHECK TABLE fixture.{table}")).expect("CHECK TABLE").texts();
        assert_eq!(told.last().and_then(|row| row.last()).map(String::as_str), Some("OK"), "{table}");
    }
    let same = [
        ("SELECT COUNT(*), SUM(i), SUM(t = 1), COUNT(o), SUM(d > 1) FROM kinds", "364 72874 4 291 359"),
        ("SELECT COUNT(*) FROM kinds WHERE full_name <> CONCAT(c, ' ', v) OR twice <> i * 2 OR v = 'unfinished'", "0"),
        ("SELECT COUNT(*) FROM kinds FORCE INDEX (e) WHERE e = 'green' AND s = 'a,b'", "8"),
        ("SELECT COUNT(*) FROM greens WHERE c LIKE 'Näme %' AND j->>'$.list[1]' = 'two'", "122"),
        ("SELECT id FROM kinds WHERE LOWER(c) = 'näme 300' AND twice = 600", "300"),
        (
            "SELECT MAX(LENGTH(x)), MAX(tm), MAX(ts), MAX(dt) FROM kinds",
            "30000 04:06:40.000 2001-02-19 20:05:06.789000 2001-02-04",
        ),
        ("SELECT COUNT(*), COUNT(DISTINCT b) FROM no_key WHERE a > 0", "364 40"),
        ("SELECT GROUP_CONCAT(id, name, added ORDER BY id) FROM parent", "1nobody7,2nobody7,3nobody7"),
    ];
    db.query("USE fixture").expect("the schema");
    db.query("SET time_zone = '+00:00'").expect("the zone");
    for (query, expected) in same {
        let rows = db.query(query).unwrap_or_else(|e| panic!("{query}: {e}")).texts();
        assert_eq!(rows[0].join(" "), expected, "{query}");
    }
    assert_eq!(one(&mut db, "SELECT COUNT(*) FROM child"), if killed { "5" } else { "4" });
    assert_eq!(one(&mut db, "SELECT @@max_connections"), "77");
    let grants = db.query("SHOW GRANTS FOR reader@localhost").expect("grants").texts().concat().join("; ");
    assert!(grants.contains("GRANT SELECT ON `fixture`.*") && grants.contains("auditors"), "{grants}");
    // What it had left to do is done, and it takes what is new.
    db.query("XA COMMIT 'branch'").expect("the prepared branch");
    assert_eq!(one(&mut db, "SELECT b FROM no_key WHERE a = -1"), "prepared");
    // Its rows are of the first definition, and read as those of a later one.
    db.query("ALTER TABLE no_key ADD later INT NOT NULL DEFAULT 9 FIRST, ALGORITHM=INSTANT").expect("a column");
    assert_eq!(one(&mut db, "SELECT SUM(later) FROM no_key WHERE a > 0"), "3276");
    db.query("DELETE FROM parent WHERE id = 1").expect("a cascade");
    assert_eq!(one(&mut db, "SELECT COUNT(*) FROM child WHERE parent_id = 1"), "0");
    db.query("INSERT INTO kinds (i, c, v) VALUES (-1, 'new', 'row')").expect("a row");
    assert_eq!(one(&mut db, "SELECT full_name FROM kinds WHERE twice = -2"), "new row");
}

#[test]
fn a_store_of_format_2_that_was_closed_opens() {
    let dir = unpacked("format-2-closed");
    let server = Server::start(&dir);
    holds_everything(&server, false);
    server.stop();
    checked(&dir);
}

#[test]
fn a_store_of_format_2_that_was_killed_opens() {
    let dir = unpacked("format-2-killed");
    let server = Server::start(&dir);
    holds_everything(&server, true);
    server.kill();
    checked(&dir);
}

#[test]
fn a_store_of_format_1_is_refused_and_left_as_it_is() {
    let dir = unpacked("format-1-closed");
    let before = std::fs::read(dir.data().join("data.gnt")).expect("the data file");
    let text = match Server::try_start(&dir, "s", "", &[]) {
        Ok(server) => {
            server.kill();
            panic!("the server started");
        }
        Err(text) => text,
    };
    assert!(text.contains("format 1") && text.contains("format 2"), "{text}");
    assert!(before == std::fs::read(dir.data().join("data.gnt")).expect("the data file"));
}

/// `gannet check` finds nothing.
fn checked(dir: &Dir) {
    let done = Command::new(env!("CARGO_BIN_EXE_gannet"))
        .arg("check")
        .arg(format!("--datadir={}", dir.data().display()))
        .output();
    let done = done.expect("gannet check runs");
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}
