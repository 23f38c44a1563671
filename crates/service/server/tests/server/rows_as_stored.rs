//! Rows that are written from where they are stored are, byte for byte, those that are written from values: of every
//! type, in both protocols, in every character set of results, of rows of several definitions.

use crate::common::{Running, run};
use gannet_wire::client::Connection;
use gannet_wire::flags::com;
use gannet_wire::reply::EOF;

const TYPES: [&str; 49] = [
    "TINYINT",
    "TINYINT UNSIGNED",
    "SMALLINT",
    "SMALLINT UNSIGNED",
    "MEDIUMINT",
    "MEDIUMINT UNSIGNED",
    "INT",
    "INT UNSIGNED",
    "BIGINT",
    "BIGINT UNSIGNED",
    "INT(7) ZEROFILL",
    "BIGINT ZEROFILL",
    "TINYINT ZEROFILL",
    "DECIMAL(10, 3)",
    "DECIMAL(65, 30)",
    "DECIMAL(8, 2) ZEROFILL",
    "FLOAT",
    "FLOAT(9, 3)",
    "FLOAT ZEROFILL",
    "DOUBLE",
    "DOUBLE(12, 4)",
    "DOUBLE(12, 4) ZEROFILL",
    "DATE",
    "TIME",
    "TIME(3)",
    "TIME(6)",
    "DATETIME",
    "DATETIME(1)",
    "DATETIME(6)",
    "TIMESTAMP NULL",
    "TIMESTAMP(4) NULL",
    "YEAR",
    "BIT(1)",
    "BIT(17)",
    "BIT(64)",
    "CHAR(9) CHARACTER SET latin1",
    "VARCHAR(40) CHARACTER SET utf8mb4",
    "VARCHAR(40) CHARACTER SET utf8mb3",
    "VARCHAR(40) CHARACTER SET ascii",
    "VARCHAR(40) CHARACTER SET utf16",
    "VARCHAR(40) CHARACTER SET greek",
    "TEXT CHARACTER SET latin1",
    "BINARY(5)",
    "VARBINARY(40)",
    "BLOB",
    "ENUM('a', 'ü', 'c d') CHARACTER SET latin1",
    "SET('x', 'y', 'ü') CHARACTER SET utf8mb4",
    "JSON",
    "MEDIUMTEXT",
];

/// Values that columns are tried with; what a column does not take, it makes something of.
const VALUES: [&str; 14] = [
    "NULL",
    "0",
    "7",
    "-7",
    "'-1.5'",
    "'99.25'",
    "12345678",
    "18446744073709551615",
    "-9223372036854775808",
    "'2024-02-29 23:59:58.123456'",
    "'-12:34:56.789'",
    "'ü'",
    "'x,y'",
    "''",
];

/// The packets of a result, up to its end.
fn packets(c: &mut Connection, command: u8, body: &[u8]) -> Vec<Vec<u8>> {
    c.command(command, body).unwrap();
    let mut all = vec![c.receive().unwrap()];
    let columns = usize::from(all[0][0]);
    assert!((1..0xFB).contains(&columns));
    loop {
        let packet = c.receive().unwrap();
        let over = all.len() > columns && packet[0] == EOF;
        all.push(packet);
        if over {
            return all;
        }
    }
}

/// The packets of a query in one of the protocols.
fn of(c: &mut Connection, sql: &str, binary: bool) -> Vec<Vec<u8>> {
    if !binary {
        return packets(c, com::QUERY, sql.as_bytes());
    }
    let statement = c.prepare(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let mut body = statement.id.to_le_bytes().to_vec();
    body.extend([0, 1, 0, 0, 0]);
    let got = packets(c, com::STMT_EXECUTE, &body);
    c.close(&statement).unwrap();
    got
}

/// Both ways of reading the table, and keys one by one, say the same.
fn compare(c: &mut Connection, what: &str, rows: usize) {
    for binary in [false, true] {
        let stored = of(c, &format!("SELECT {what} FROM t"), binary);
        let values = of(c, &format!("SELECT {what} FROM t WHERE id + 0 > 0"), binary);
        assert_eq!(stored, values, "{what}, binary: {binary}");
        let columns = usize::from(stored[0][0]);
        assert_eq!(stored.len(), columns + rows + 2, "{what}");
        for (i, row) in stored[columns + 1..columns + 1 + rows].iter().enumerate() {
            let by_key = of(c, &format!("SELECT {what} FROM t WHERE id = {}", i + 1), binary);
            assert_eq!(by_key[columns + 1], *row, "{what}, row {i}, binary: {binary}");
        }
    }
}

/// A table with a row for each value, or several of them, in all columns. How many rows it has.
fn fill(c: &mut Connection) -> usize {
    run(c, "CREATE DATABASE d");
    run(c, "USE d");
    run(c, "SET sql_mode = '', time_zone = '+05:30'");
    let columns: Vec<String> = TYPES.iter().enumerate().map(|(i, ty)| format!("c{i} {ty}")).collect();
    run(c, &format!("CREATE TABLE t (id INT PRIMARY KEY, {}) ENGINE = InnoDB", columns.join(", ")));
    for (row, value) in VALUES.iter().enumerate() {
        // A document is what is refused in every mode.
        let document = format!("JSON_ARRAY({value})");
        let values = TYPES.map(|ty| if ty == "JSON" { &*document } else { value });
        run(c, &format!("INSERT INTO t VALUES ({}, {})", row + 1, values.join(", ")));
    }
    for (way, columns) in
        ["n1 INT NOT NULL DEFAULT 5 AFTER c3", "n2 VARCHAR(9) DEFAULT 'später', ADD n3 DATE"].iter().enumerate()
    {
        run(c, &format!("ALTER TABLE t ADD {columns}, ALGORITHM = INSTANT"));
        run(c, &format!("INSERT INTO t (id, c0, n1, c47) VALUES ({}, 3, 4, '{{\"ü\": [1]}}')", VALUES.len() + 1 + way));
    }
    run(c, "ALTER TABLE t DROP c5, ALGORITHM = INSTANT");
    VALUES.len() + 2
}

#[test]
fn rows_as_they_are_stored_are_those_of_values() {
    let r = Running::start();
    let c = &mut r.connect();
    let rows = fill(c);
    for results in ["utf8mb4", "utf8mb3", "latin1", "greek", "ascii", "cp1251", "utf16", "binary", "NULL"] {
        run(c, &format!("SET character_set_results = {results}"));
        compare(c, "*", rows);
        run(c, "SET time_zone = 'SYSTEM'");
        compare(c, "id, c30, n2, c29, c30", rows);
        run(c, "SET time_zone = '-03:15'");
    }
    for column in (0..TYPES.len()).filter(|i| *i != 5) {
        compare(c, &format!("c{column}"), rows);
    }
    run(c, "SET sql_select_limit = 3");
    compare(c, "*", 3);
    run(c, "SET sql_select_limit = 0");
    compare(c, "*", 0);
}

#[test]
fn long_rows_are_those_of_values() {
    let r = Running::start();
    let c = &mut r.connect();
    run(c, "CREATE DATABASE d");
    run(c, "USE d");
    run(c, "CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT CHARACTER SET latin1, n INT, b LONGBLOB, j JSON)");
    for (id, n) in [1, 250, 251, 70_000, 131_072, 131_073, 1 << 20].into_iter().enumerate() {
        run(
            c,
            &format!(
                "INSERT INTO t VALUES ({}, REPEAT('ü', {n}), {n}, REPEAT('b', {n} DIV 2), JSON_ARRAY(REPEAT('j', {n})))",
                id + 1
            ),
        );
    }
    for results in ["utf8mb4", "latin1", "NULL"] {
        run(c, &format!("SET character_set_results = {results}"));
        compare(c, "*", 7);
        compare(c, "n, b", 7);
        compare(c, "a", 7);
    }
}
