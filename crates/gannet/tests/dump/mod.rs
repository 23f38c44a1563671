//! `gannet dump` and `gannet load` with the real binary: what comes out comes in again, a load that is killed goes on
//! to the exact row, and wrong input is told by file and line.
//!
//! `GANNET_LOAD_KILLS` sets the number of loads that are killed (default 4), `GANNET_LOAD_SEED` the seed.

use crate::common::{Dir, Server, one};
use gannet_wire::client::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A client's command line, for the server with this socket.
fn client(socket: &Path, verb: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gannet"));
    command.arg(verb).arg("-S").arg(socket).arg("-q").args(args).env_remove("MYSQL_PWD");
    command
}

fn run(socket: &Path, verb: &str, args: &[&str]) -> Result<String, String> {
    let Output { status, stdout, stderr } = client(socket, verb, args).output().expect("the client runs");
    let (out, err) = (String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned());
    assert!(!err.contains("panicked"), "{err}");
    if status.success() { Ok(out) } else { Err(err) }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// Statements that make a schema with some of everything.
const SCHEMA: &[&str] = &[
    "CREATE DATABASE d DEFAULT CHARACTER SET latin1",
    "USE d",
    "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'",
    "CREATE TABLE p (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50) NOT NULL, UNIQUE KEY u (name))",
    "INSERT INTO p VALUES (0, 'zero'), (1, 'Zürich'), (2, 'tab\there'), (3, 'nl\n\\\\ ''q''')",
    "CREATE TABLE k (id BIGINT UNSIGNED PRIMARY KEY, f FLOAT, d DOUBLE, n DECIMAL(30,10), b BIT(10), dt DATE, \
     ts TIMESTAMP NULL, dtm DATETIME(6), t TIME(3), y YEAR, l VARCHAR(40), u VARCHAR(40) CHARACTER SET utf8mb4, \
     c VARCHAR(20) CHARACTER SET cp1251, vb VARBINARY(40), bl BLOB, e ENUM('a','b,c','d''e'), s SET('x','y'), j JSON, \
     g BIGINT UNSIGNED AS (id + 1), gs VARCHAR(50) AS (CONCAT(l, '!')) STORED, p INT, KEY kl (l), UNIQUE KEY ku (u, id), \
     KEY kg (gs), CONSTRAINT fp FOREIGN KEY (p) REFERENCES p (id), CONSTRAINT chk CHECK (id < 100000000000))",
    "INSERT INTO k (id, f, d, n, b, dt, ts, dtm, t, y, l, u, c, vb, bl, e, s, j, p) VALUES \
     (1, 0.1, 0.1, '12345678901234567890.0123456789', b'1010101010', '0000-00-00', '2001-02-03 04:05:06', 0, \
      '-838:59:59', 2155, 'äöü\t€', '日本語😀', 'Привет', x'00ff0a095c27', x'0001020a0d1a5c', 'b,c', 'x,y', '{\"a\": [1]}', 0), \
     (2, 16777216, 1.7976931348623157e308, -0.0000000001, 0, '2024-02-31', NULL, '9999-12-31 23:59:59.999999', \
      '00:00:00.001', 0, '', '', '', '', '', 'a', '', NULL, NULL), \
     (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\\\\N', 'NULL', '\\\\', '\\\\N', 'NULL', NULL, NULL, '[]', 3)",
    "INSERT INTO k (id, e, l) VALUES (4, 'nope', ''), (5, '', 'x')",
    "UPDATE k SET j = JSON_ARRAY(1.50, CAST('2024-01-01' AS DATE), x'cafe', 123456789012345678901234567890, '1.50', -0.10) \
     WHERE id = 2",
    "CREATE TABLE nokey (a INT, b TEXT)",
    "CREATE TABLE none (a INT PRIMARY KEY)",
    "CREATE TABLE `w``@/é` (`co``l` INT PRIMARY KEY, `select` INT, KEY `k``ey` (`select`))",
    "INSERT INTO `w``@/é` VALUES (1, 2)",
    "CREATE TABLE a (n INT, id INT NOT NULL AUTO_INCREMENT, KEY kn (n), KEY ki (id))",
    "INSERT INTO a VALUES (1, 5), (2, 0), (3, 9)",
    "CREATE VIEW z AS SELECT * FROM p",
    "CREATE VIEW v AS SELECT z.name, k.id FROM z JOIN k ON k.p = z.id",
    // What stands for z cannot be changed.
    "CREATE VIEW b AS SELECT * FROM z WHERE id > 1 WITH CHECK OPTION",
    "CREATE PROCEDURE pr(x INT) BEGIN SELECT x; INSERT INTO nokey VALUES (x, ';'); END",
    "CREATE FUNCTION fn(x INT) RETURNS INT DETERMINISTIC RETURN x + 1",
    "CREATE TRIGGER tr BEFORE INSERT ON nokey FOR EACH ROW SET NEW.b = CONCAT(NEW.b, ';t')",
    "CREATE EVENT ev ON SCHEDULE EVERY 1 DAY DO DELETE FROM nokey WHERE a = -1",
];

fn make(db: &mut Connection, rows: u32) {
    for sql in SCHEMA {
        db.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    db.query("CREATE TABLE many (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(60) NOT NULL, KEY kk (k))")
        .expect("a table");
    for begin in (0..rows).step_by(500) {
        let row = |i: u32| format!("({i}, {}, '{}')", i.wrapping_mul(7919) % 1000, i.wrapping_mul(2_654_435_761));
        let rows: Vec<String> = (begin..begin + 500).map(row).collect();
        db.query(&format!("INSERT INTO many VALUES {}", rows.join(","))).expect("rows");
    }
    // Equal rows, of which none may be lost and none may come twice.
    db.query("INSERT INTO nokey SELECT k % 7, c FROM many WHERE id < 1000").expect("rows");
}

/// Checksums of the tables of a schema, by `gannet dump`.
fn sums(socket: &Path, dir: &Path, schema: &str) -> String {
    let _ = fs::remove_dir_all(dir);
    run(socket, "dump", &["--schema", schema, text(dir)]).unwrap();
    let done = fs::read_to_string(dir.join("@.done.json")).expect("a dump that is done");
    let all: serde_json::Value = serde_json::from_str(&done).expect("a document");
    all["gannet"]["tables"][schema].to_string()
}

#[test]
fn a_dump_comes_in_again() {
    let dir = Dir::new("dump");
    let server = Server::try_start(&dir, "s", "", &["--local-infile=1"]).unwrap();
    let socket = dir.0.join("s.sock");
    let mut db = server.connect();
    make(&mut db, 2000);
    db.query("CREATE USER web@localhost IDENTIFIED BY 'secret'").expect("a user");
    db.query("GRANT SELECT ON d.v TO web@localhost").expect("a grant");
    let (out, again) = (dir.0.join("out"), dir.0.join("again"));
    run(&socket, "dump", &["--schema=d", "--users", "--threads=3", "--chunk-size=20K", text(&out)]).unwrap();
    assert!(fs::read_dir(&out).expect("a directory").count() > 40);
    // Into another schema by LOCAL files, and into a third by INSERTs.
    let said = run(&socket, "load", &["--into=e", "--verify", "--threads=3", text(&out)]).unwrap();
    assert!(said.contains("7 tables have the checksums of the dump"), "{said}");
    db.query("SET GLOBAL local_infile = OFF").expect("a variable");
    let said = run(&socket, "load", &["--into=f", "--verify", "--piece-size=10K", text(&out)]).unwrap();
    assert!(said.contains("the rows go in by INSERT") && said.contains("7 tables have the checksums"), "{said}");
    let first = sums(&socket, &again, "d");
    for schema in ["e", "f"] {
        assert_eq!(sums(&socket, &again, schema), first);
        for (sql, want) in [
            ("SELECT GROUP_CONCAT(name ORDER BY id SEPARATOR '|') FROM v", "zero|nl\n\\ 'q'"),
            ("SELECT fn(1)", "2"),
            ("SELECT CHECK_OPTION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE() LIMIT 1", "CASCADED"),
            ("SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE()", "1"),
            ("SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()", "1"),
            ("SELECT SUM(g) FROM k", "20"),
            ("SELECT GROUP_CONCAT(id) FROM k WHERE e = 0", "4,5"),
            ("SELECT COUNT(*) FROM nokey WHERE b LIKE '%;t;t'", "0"),
        ] {
            db.query(&format!("USE {schema}")).expect("a schema");
            assert_eq!(one(&mut db, sql), want, "{schema}: {sql}");
        }
        let of = |db: &mut Connection, table: &str| {
            db.query(&format!("SHOW CREATE TABLE {table}")).expect("a definition").texts()[0][1].clone()
        };
        let mut lines = |schema: &str| {
            let mut all: Vec<String> =
                of(&mut db, &format!("{schema}.k")).lines().map(|l| l.trim_matches([' ', ',']).to_owned()).collect();
            all.sort();
            all
        };
        assert_eq!(lines(schema), lines("d"));
    }
    // Once is enough, unless it is asked for.
    let e = run(&socket, "load", &["--into=e", text(&out)]).unwrap_err();
    assert!(e.contains("this dump has been loaded here before"), "{e}");
    let e = run(&socket, "load", &["--into=e", "--reset", text(&out)]).unwrap_err();
    assert!(e.contains("table e.a is there already (see --existing)"), "{e}");
    run(&socket, "load", &["--into=e", "--reset", "--existing=drop", "--verify", text(&out)]).unwrap();
    // Accounts, into another server.
    let there = Dir::new("dump-there");
    let other = Server::try_start(&there, "s", "", &["--local-infile=1"]).unwrap();
    run(&there.0.join("s.sock"), "load", &["--users", "--verify", text(&out)]).unwrap();
    let mut db = other.connect();
    assert_eq!(one(&mut db, "SELECT COUNT(*) FROM mysql.user WHERE User = 'web'"), "1");
    assert!(db.query("SHOW GRANTS FOR web@localhost").expect("grants").texts().concat().concat().contains("`d`.`v`"));
    assert_eq!(sums(&there.0.join("s.sock"), &again, "d"), first);
    other.stop();
    server.stop();
}

#[test]
fn files_of_sql_come_in_side_by_side() {
    let dir = Dir::new("dump-sql");
    let server = Server::try_start(&dir, "s", "", &[]).unwrap();
    let socket = dir.0.join("s.sock");
    let file = dir.0.join("all.sql");
    let mut sql = String::from(
        "-- a dump\n/*!40101 SET NAMES utf8mb4 */;\nCREATE DATABASE s;\nUSE `s`;\nDROP TABLE IF EXISTS `t`;\n\
         CREATE TABLE `t` (\n `id` int NOT NULL AUTO_INCREMENT,\n `a` varchar(20),\n `b` int,\n `g` int AS (b * 2),\n PRIMARY KEY (`id`),\n\
          KEY `ka` (`a`)\n);\nLOCK TABLES `t` WRITE;\n",
    );
    for i in 0..300 {
        // Values for generated columns, as MariaDB's dumps have them.
        let (id, next) = (2 * i + 1, 2 * i + 2);
        sql += &format!("INSERT INTO `t` VALUES ({id},'it''s; {i}',{id},0),({next},NULL,{next},7);\n");
    }
    sql += "UNLOCK TABLES;\nCREATE TABLE u (n INT NOT NULL AUTO_INCREMENT PRIMARY KEY, x INT);\n";
    // The server numbers these: their order matters.
    (0..100).for_each(|i| sql += &format!("INSERT INTO u (x) VALUES ({i});\n"));
    sql += "UPDATE u SET x = x + 1; /*!50003 SET sql_mode = 'NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION' */;\n";
    sql += "DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END//\nDELIMITER ;\n";
    fs::write(&file, &sql).expect("a file");
    run(&socket, "load", &["--piece-size=1K", text(&file)]).unwrap();
    let mut db = server.connect();
    assert_eq!(
        one(&mut db, "SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(g), ' ', COUNT(a)) FROM s.t"),
        "600 180300 360600 300"
    );
    assert_eq!(one(&mut db, "SELECT COUNT(*) FROM s.u WHERE n = x"), "100");
    // A mode that MySQL 5.7 and MariaDB have by default, and MySQL 8 no more.
    let mode = "SELECT SQL_MODE FROM information_schema.ROUTINES WHERE ROUTINE_NAME = 'p'";
    assert_eq!(one(&mut db, mode), "NO_ENGINE_SUBSTITUTION");
    assert_eq!(
        one(&mut db, "SELECT COUNT(DISTINCT INDEX_NAME) FROM information_schema.STATISTICS WHERE TABLE_NAME = 't'"),
        "2"
    );
    for (tail, want) in [
        ("INSERT INTO s.t VALUES (1,'twice',1,2);\n", "all.sql:421: ERROR 1062 (23000): Duplicate entry '1'"),
        ("SELECT 'open\n\n", "all.sql:421: the file ends inside of a quotation mark: it is cut short"),
        ("/* open\n", "all.sql:421: the file ends inside of a comment: it is cut short"),
        ("source other.sql\n", "all.sql:421: the client's command Source is not for scripts"),
        ("\n\nNONSENSE 1;\n", "all.sql:423: ERROR 1064 (42000)"),
    ] {
        db.query("DROP DATABASE s").expect("dropped");
        fs::write(&file, format!("{sql}{tail}")).expect("a file");
        let e = run(&socket, "load", &["--reset", text(&file)]).unwrap_err();
        assert!(e.contains(want), "{want}: {e}");
    }
    let e = run(&socket, "load", &["--verify", text(&file)]).unwrap_err();
    assert!(e.contains("--verify is for directories"), "{e}");
    server.stop();
}

/// Something that is wrong with a dump: what is done to it, and what is said.
type Wrong = (&'static str, fn(&Path), &'static str);

fn edit(path: PathBuf, from: &str, to: &str) {
    let old = fs::read_to_string(&path).expect("a text");
    assert!(old.contains(from), "{}: {old}", path.display());
    fs::write(path, old.replace(from, to)).expect("written");
}

fn rows(dir: &Path, table: &str) -> PathBuf {
    dir.join(format!("d@{table}@@0.tsv"))
}

const WRONG: &[Wrong] = &[
    ("no description", |d| fs::remove_file(d.join("@.json")).expect("gone"), "the directory is no dump"),
    (
        "not complete",
        |d| fs::remove_file(d.join("@.done.json")).expect("gone"),
        "not complete: there is no @.done.json",
    ),
    ("no JSON", |d| fs::write(d.join("@.json"), "{\n\"a\": \n").expect("written"), "@.json:3: EOF while parsing"),
    ("a list", |d| fs::write(d.join("@.json"), "[]").expect("written"), "@.json:1: no JSON object"),
    ("newer", |d| edit(d.join("@.json"), "\"2.0.1\"", "\"3.0.0\""), "version 3.0.0 of the format is newer"),
    ("no version", |d| edit(d.join("@.json"), "\"2.0.1\"", "\"new\""), "\"new\" is no version of the format"),
    ("no schema file", |d| fs::remove_file(d.join("d.json")).expect("gone"), "d.json: No such file"),
    ("no script", |d| fs::remove_file(d.join("d.sql")).expect("gone"), "d.sql: the file is missing"),
    ("no table file", |d| fs::remove_file(d.join("d@p.json")).expect("gone"), "d@p.json: No such file"),
    ("no table script", |d| fs::remove_file(d.join("d@p.sql")).expect("gone"), "d@p.sql: the file is missing"),
    ("no rows", |d| fs::remove_file(rows(d, "p")).expect("gone"), "d@p@0.tsv: the file is missing"),
    (
        "tables no list",
        |d| edit(d.join("d.json"), "\"tables\": [", "\"tables\": 7, \"x\": ["),
        "\"tables\" is no list of texts",
    ),
    ("a path", |d| edit(d.join("d.json"), "\"p\": \"d@p\"", "\"p\": \"../p\""), "a base name is a path"),
    ("compression", |d| edit(d.join("d@p.json"), "\"none\"", "\"lz5\""), "compression lz5 is not known"),
    ("encoding", |d| edit(d.join("d@k.json"), "FROM_BASE64", "ROT13"), "encoding \"ROT13\" is not known"),
    ("no columns", |d| edit(d.join("d@p.json"), "\"columns\"", "\"cols\""), "d@p.json: there is no list of columns"),
    ("unknown column", |d| edit(d.join("d@p.json"), "\"name\"", "\"nome\""), "Unknown column 'nome'"),
    ("cut in a row", |d| edit(rows(d, "p"), "'q'\n", "'"), "the file ends inside of row 4: it is cut short"),
    ("cut at a row", |d| edit(rows(d, "p"), "0\tzero\n", ""), "cut short"),
    ("another text", |d| edit(rows(d, "p"), "zero", "zerO"), "the file is damaged: 4 rows of 4, checksum"),
    ("too many values", |d| edit(rows(d, "p"), "0\tzero", "0\tzero\t1"), "row 1"),
    ("too few values", |d| edit(rows(d, "p"), "1\tZürich", "1"), "row 2"),
    ("no number", |d| edit(rows(d, "p"), "2\ttab", "zwei\ttab"), "row 3"),
    (
        "out of range",
        |d| edit(rows(d, "p"), "2\ttab", "2147483648\ttab"),
        "Out of range value for column 'id' at row 3",
    ),
    ("too long", |d| edit(rows(d, "p"), "zero", &"z".repeat(51)), "for column 'name' at row 1"),
    ("twice", |d| edit(rows(d, "p"), "1\tZ", "0\tZ"), "Duplicate entry '0' for key 'p.PRIMARY'"),
    ("twice in an index", |d| edit(rows(d, "p"), "Zürich", "zero"), "Duplicate entry 'zero' for key 'p.u'"),
    (
        "wrong bytes",
        |d| {
            let mut all = fs::read(rows(d, "p")).expect("rows");
            let at = all.iter().position(|b| *b == 0xC3).expect("a character of two bytes");
            all[at + 1] = b'(';
            fs::write(rows(d, "p"), all).expect("written");
        },
        "row 2: the text is not UTF-8",
    ),
    ("no base64", |d| edit(rows(d, "k"), "AP8KCVwn", "AP8*CVwn"), "base64"),
    ("a check", |d| edit(rows(d, "k"), "3\t\\N", "999999999999\t\\N"), "chk"),
    // Beside an empty one, which is taken.
    ("no member", |d| edit(rows(d, "k"), "b,c", "b,d"), "column 'e' at row 1"),
    ("an unknown type", |d| edit(d.join("d@p.sql"), "varchar(50)", "warchar(50)"), "d@p.sql:1: ERROR 1064"),
    ("script cut short", |d| edit(d.join("d@p.sql"), ";\n", " COMMENT 'x;\n"), "it is cut short"),
];

#[test]
fn wrong_input_is_told_by_its_place() {
    let dir = Dir::new("dump-wrong");
    let server = Server::try_start(&dir, "s", "", &["--local-infile=1"]).unwrap();
    let socket = dir.0.join("s.sock");
    let mut db = server.connect();
    make(&mut db, 0);
    let (good, bad) = (dir.0.join("good"), dir.0.join("bad"));
    run(&socket, "dump", &["--compression=none", "--schema=d", "--table=p", "--table=k", text(&good)]).unwrap();
    let e = run(&socket, "dump", &["--schema=d", text(&good)]).unwrap_err();
    assert!(e.contains("the directory is not empty"), "{e}");
    let e = run(&socket, "dump", &["--schema=nosuch", text(&bad)]).unwrap_err();
    assert!(e.contains("there is no schema nosuch"), "{e}");
    let e = run(&socket, "dump", &["--table=d.nosuch", text(&dir.0.join("other"))]).unwrap_err();
    assert!(e.contains("there is no table d.nosuch"), "{e}");
    let e = run(&dir.0.join("nobody.sock"), "load", &[text(&good)]).unwrap_err();
    assert!(e.contains("cannot connect to"), "{e}");
    let mut faults = Vec::new();
    for local in ["ON", "OFF"] {
        db.query(&format!("SET GLOBAL local_infile = {local}")).expect("a variable");
        for (what, damage, want) in WRONG {
            let of_rows =
                want.contains("row") || ["base64", "chk", "Duplicate entry '0' for key 'p.PRIMARY'"].contains(want);
            if local == "OFF" && !of_rows {
                continue;
            }
            let _ = fs::remove_dir_all(&bad);
            assert!(Command::new("cp").args(["-r", text(&good), text(&bad)]).status().is_ok_and(|s| s.success()));
            // As MySQL Shell has it, without checksums, for what is found behind them.
            if !["cut at a row", "another text"].contains(what) {
                fs::write(bad.join("@.done.json"), "{}").expect("written");
            }
            damage(&bad);
            let args = ["--into=w", "--reset", "--existing=drop", "--threads=1", text(&bad)];
            // What the user reads names the file, or the table whose index it is.
            let e = run(&socket, "load", &args).err().unwrap_or_default();
            if !e.contains(want) || !(e.contains(text(&bad)) || e.contains("w.p: ADD UNIQUE")) {
                faults.push(format!("{what}, local_infile {local}: {want}: {e}"));
            }
            // A piece is in as a whole or not at all.
            if of_rows {
                let table = if ["base64", "chk", "column 'e' at row 1"].contains(want) { "k" } else { "p" };
                let sql = format!(
                    "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'w' AND TABLE_NAME = '{table}'"
                );
                if one(&mut db, &sql) == "1" {
                    assert_eq!(one(&mut db, &format!("SELECT COUNT(*) FROM w.{table}")), "0", "{what}: {e}");
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    server.stop();
}

/// A load that is under way.
fn begin_load(socket: &Path, dump: &Path, more: &[&str]) -> Child {
    let mut command = client(socket, "load", &["--piece-size=2K", "--threads=3"]);
    command.args(more).arg(dump).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the client starts")
}

#[test]
fn loads_that_are_killed_go_on_where_they_were() {
    let kills = std::env::var("GANNET_LOAD_KILLS").map_or(4, |n| n.parse().expect("a number"));
    let mut seed: u64 = std::env::var("GANNET_LOAD_SEED").map_or(7, |n| n.parse().expect("a number"));
    let dir = Dir::new("dump-kill");
    let mut server = Server::try_start(&dir, "s", "", &["--local-infile=1"]).unwrap();
    let socket = dir.0.join("s.sock");
    make(&mut server.connect(), 3000);
    let (out, again) = (dir.0.join("out"), dir.0.join("again"));
    run(&socket, "dump", &["--schema=d", "--chunk-size=50K", text(&out)]).unwrap();
    let first = sums(&socket, &again, "d");
    // A file of SQL of the same rows.
    let file = dir.0.join("many.sql");
    let mut sql = String::from("CREATE TABLE `many` (`id` int PRIMARY KEY, `c` varchar(20), KEY `kc` (`c`));\n");
    (0..2000).for_each(|i| sql += &format!("INSERT INTO `many` VALUES ({i},'{}');\n", i * 31));
    sql += "UPDATE many SET c = CONCAT(c, '!');\n";
    fs::write(&file, &sql).expect("a file");
    // How long a load takes that nobody disturbs.
    let begin = Instant::now();
    run(&socket, "load", &["--into=x", "--piece-size=2K", "--threads=3", text(&out)]).unwrap();
    let whole = begin.elapsed().as_millis() as u64;
    for round in 0..kills {
        let of_sql = round % 2 == 1;
        let source = if of_sql { &file } else { &out };
        server.connect().query("DROP DATABASE IF EXISTS y").expect("dropped");
        server.connect().query("DROP DATABASE IF EXISTS gannet_load").expect("dropped");
        let mut attempts = 0;
        loop {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let wait = Duration::from_millis((seed >> 33) % whole.max(10));
            let mut load = begin_load(&socket, source, &["--into=y"]);
            std::thread::sleep(wait);
            attempts += 1;
            if attempts <= 3 && round % 4 >= 2 {
                // The server dies; the client waits for it, and goes on.
                server.kill();
                server = Server::try_start(&dir, "s", "", &["--local-infile=1"]).unwrap();
            } else if attempts <= 3 {
                load.kill().expect("kill -9");
            }
            let status = load.wait().expect("an end");
            // A client that dies behind its last commit has done its work, and the next one says so.
            let ended = "SELECT COUNT(*) FROM gannet_load.loads WHERE ended IS NOT NULL";
            if status.success() || server.connect().query(ended).is_ok_and(|r| r.texts()[0][0] == *"1") {
                break;
            }
            assert!(attempts < 10, "round {round}: the load does not come to its end");
        }
        let mut db = server.connect();
        match of_sql {
            false => assert_eq!(sums(&socket, &again, "y"), first, "round {round}, seed {seed}"),
            true => assert_eq!(
                one(
                    &mut db,
                    "SELECT CONCAT(COUNT(*), ' ', COUNT(DISTINCT id), ' ', SUM(c = CONCAT(id * 31, '!'))) FROM y.many"
                ),
                "2000 2000 2000",
                "round {round}, seed {seed}"
            ),
        }
        let sql = "SELECT COUNT(DISTINCT INDEX_NAME) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'y' \
                   AND TABLE_NAME = 'many'";
        assert_eq!(one(&mut db, sql), "2");
        assert_eq!(one(&mut db, "SELECT COUNT(*) FROM gannet_load.chunks"), "0");
    }
    server.stop();
}
