//! The name of a character set or collation gives itself back, wherever one may stand.
//!
//! Every collation stands in a table, one in five in all definitions, all of them with `GANNET_NAMES=all`.

use crate::common::{Running, error, one, rows, run};
use gannet_types::charset::{CHARSETS, Charset};
use gannet_types::collation::{COLLATIONS, Collation};
use gannet_wire::client::Connection;

/// Compares the row of a query with what is expected.
fn expect(c: &mut Connection, sql: &str, expected: &[&str]) {
    assert_eq!(rows(c, sql), [expected], "{sql}");
}

/// Character set and collation of the column `a` of `t`, by the virtual table and by SHOW CREATE TABLE.
fn expect_column(c: &mut Connection, made_by: &str, collation: &Collation, shown: &str) {
    let sql = "SELECT character_set_name, collation_name FROM information_schema.columns WHERE table_name = 't' AND column_name = 'a'";
    assert_eq!(rows(c, sql), [[collation.charset.name(), collation.name]], "{made_by}");
    let create = rows(c, "SHOW CREATE TABLE t").remove(0).remove(1);
    assert!(create.contains(shown), "{made_by}: {create}");
}

fn remade(c: &mut Connection, sql: &str) {
    run(c, "DROP TABLE IF EXISTS t");
    run(c, sql);
}

/// How the names stand in definitions, but for `binary`, which makes another type.
fn definitions(c: &mut Connection, charset: &str, collation: Option<&Collation>) {
    let of = collation
        .unwrap_or_else(|| Collation::by_name(Charset::by_name(charset).unwrap().info().default_collation).unwrap());
    let set = match collation {
        None => format!("CHARACTER SET {charset}"),
        Some(l) => format!("CHARACTER SET {charset} COLLATE {}", l.name),
    };
    let column = if of.is_default && of.name != "utf8mb4_0900_ai_ci" || collation.is_none() {
        format!("CHARACTER SET {charset}")
    } else {
        format!("CHARACTER SET {charset} COLLATE {}", of.name)
    };
    for ty in ["VARCHAR(5)", "CHAR(5)", "TEXT", "ENUM('a')", "SET('a')"] {
        let sql = format!(
            "CREATE TABLE t (a {ty} {set}) CHARACTER SET {}",
            if charset == "latin1" { "utf8mb4" } else { "latin1" }
        );
        remade(c, &sql);
        expect_column(c, &sql, of, &column);
    }
    if collation.is_none() {
        let sql = format!(
            "CREATE TABLE t (a CHAR CHARSET '{charset}') CHARSET {}",
            if charset == "latin1" { "utf8mb4" } else { "latin1" }
        );
        remade(c, &sql);
        expect_column(c, &sql, of, &column);
        let sql = format!("CREATE TABLE t (a CHAR CHARACTER SET {charset} BINARY)");
        remade(c, &sql);
        expect_column(
            c,
            &sql,
            Collation::binary_of(of.charset),
            &format!("COLLATE {}", Collation::binary_of(of.charset).name),
        );
    } else {
        let sql = format!("CREATE TABLE t (a CHAR COLLATE {})", of.name);
        remade(c, &sql);
        expect_column(c, &sql, of, "");
    }
    let whole = format!("DEFAULT CHARSET={charset}");
    for sql in [format!("CREATE TABLE t (a CHAR) {set}"), format!("CREATE TABLE t (a CHAR) DEFAULT {set}")] {
        remade(c, &sql);
        expect_column(c, &sql, of, &whole);
        expect(c, "SELECT table_collation FROM information_schema.tables WHERE table_name = 't'", &[of.name]);
    }
    for sql in [format!("ALTER TABLE t CONVERT TO {set}"), format!("ALTER TABLE t MODIFY a VARCHAR(9) {set}")] {
        remade(c, "CREATE TABLE t (a CHAR CHARACTER SET koi8r) CHARACTER SET cp866");
        run(c, &sql);
        expect_column(c, &sql, of, charset);
    }
    run(c, "DROP DATABASE IF EXISTS other");
    run(c, &format!("CREATE DATABASE other {set}"));
    let sql = "SELECT default_character_set_name, default_collation_name FROM information_schema.schemata WHERE schema_name = 'other'";
    expect(c, sql, &[charset, of.name]);
    let create = rows(c, "SHOW CREATE DATABASE other").remove(0).remove(1);
    assert!(create.contains(&format!("CHARACTER SET {charset}")), "{create}");
    assert!(of.is_default || create.contains(of.name), "{create}");
    run(c, "ALTER DATABASE other CHARACTER SET cp850");
    run(c, &format!("ALTER DATABASE other {set}"));
    expect(c, sql, &[charset, of.name]);
}

/// How the names stand in expressions.
fn expressions(c: &mut Connection, charset: &str, of: &Collation) {
    let both = |e: &str| format!("SELECT CHARSET({e}), COLLATION({e})");
    let digits = if of.charset.unit() == 4 { "00000061" } else { "0061" };
    for e in [
        format!("CAST('a' AS CHAR CHARACTER SET {charset})"),
        format!("CAST('a' AS CHAR(3) CHARSET {charset})"),
        format!("CONVERT('a', CHAR CHARACTER SET {charset})"),
        format!("CONVERT('a' USING {charset})"),
        format!("_{charset} X'{digits}'"),
        format!("_{charset}'a'"),
    ] {
        let sql = both(&e);
        if e.ends_with("'a'") && of.charset.is_wide() && error(c, &sql) != 0 {
            continue;
        }
        expect(c, &sql, &[charset, of.name]);
    }
}

/// SET NAMES and the variables.
fn variables(c: &mut Connection, charset: &str, of: &Collation, set: &str) {
    let client =
        "SELECT @@character_set_client, @@character_set_results, @@character_set_connection, @@collation_connection";
    if !of.charset.may_be_clients() {
        assert_eq!(error(c, set), 1231, "{set}");
    } else {
        run(c, set);
        expect(c, client, &[charset, charset, charset, of.name]);
    }
    run(c, "SET NAMES utf8mb4");
}

#[test]
fn names_give_themselves_back() {
    let server = Running::start();
    let mut c = server.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    for info in CHARSETS {
        let Ok(of) = Collation::default_for(info.charset) else {
            // One whose default is missing stands with another.
            assert_eq!(error(&mut c, &format!("CREATE TABLE none (a CHAR CHARACTER SET {})", info.name)), 1235);
            assert_eq!(error(&mut c, &format!("SET NAMES {}", info.name)), 1235);
            continue;
        };
        if info.charset != Charset::Binary {
            definitions(&mut c, info.name, None);
        }
        expressions(&mut c, info.name, of);
        variables(&mut c, info.name, of, &format!("SET NAMES {}", info.name));
        variables(&mut c, info.name, of, &format!("SET NAMES '{}'", info.name));
        run(&mut c, &format!("SET character_set_connection = {}", info.name));
        let sql = "SELECT @@character_set_connection, @@collation_connection";
        assert_eq!(rows(&mut c, sql), [[info.name, of.name]]);
        run(&mut c, "SET NAMES utf8mb4");
    }
    let all = std::env::var("GANNET_NAMES").is_ok_and(|v| v == "all");
    for (number, of) in COLLATIONS.iter().enumerate() {
        let charset = of.charset.name();
        if of.charset != Charset::Binary && (all || number % 5 == 0) {
            definitions(&mut c, charset, Some(of));
        } else if of.charset != Charset::Binary {
            let sql = format!("CREATE TABLE t (a CHAR COLLATE {})", of.name);
            remade(&mut c, &sql);
            expect_column(&mut c, &sql, of, "");
        }
        for e in [
            format!("CONVERT('a' USING {charset}) COLLATE {}", of.name),
            format!("CAST('a' AS CHAR CHARACTER SET {charset}) COLLATE '{}'", of.name),
            format!("_{charset} X'00000061' COLLATE {}", of.name),
        ] {
            let sql = format!("SELECT CHARSET({e}), COLLATION({e})");
            // Its default collation is not there.
            if of.charset == Charset::Gb18030 && e.starts_with("CAST") {
                assert_eq!(error(&mut c, &sql), 1235);
                continue;
            }
            expect(&mut c, &sql, &[charset, of.name]);
        }
        variables(&mut c, charset, of, &format!("SET NAMES {charset} COLLATE {}", of.name));
        run(&mut c, &format!("SET collation_connection = {}", of.name));
        assert_eq!(one(&mut c, "SELECT @@collation_connection"), of.name);
        if of.charset.may_be_clients() {
            assert_eq!(one(&mut c, "SELECT COLLATION('a')"), of.name);
        }
        run(&mut c, "SET NAMES utf8mb4");
    }
    // One word alone is another name.
    for (word, collation) in [("ASCII", "latin1_swedish_ci"), ("UNICODE", "ucs2_general_ci")] {
        let of = Collation::by_name(collation).unwrap();
        let sql = format!("CREATE TABLE t (a CHAR {word})");
        remade(&mut c, &sql);
        expect_column(&mut c, &sql, of, of.charset.name());
        let e = format!("CAST('a' AS CHAR {word})");
        expect(&mut c, &format!("SELECT CHARSET({e}), COLLATION({e})"), &[of.charset.name(), collation]);
    }
    // What ascii has not is refused, or replaced where it is cast.
    remade(&mut c, "CREATE TABLE t (a VARCHAR(5) CHARACTER SET ascii)");
    assert_eq!(error(&mut c, "INSERT INTO t VALUES ('é')"), 1366);
    expect(&mut c, "SELECT CAST('é' AS CHAR CHARACTER SET ascii)", &["?"]);
}
