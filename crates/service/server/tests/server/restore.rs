//! `mysqldump --single-transaction --all-databases`, and the restore of what it wrote: statements in the forms of
//! MySQL's and of MariaDB's client, into an empty server and into the same one.

use crate::common::{Running, error, one, options, rows, run};
use gannet_wire::client::{Connection, Options};
use std::fmt::Write;

/// Whose client writes the dump.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Client {
    MySql,
    MariaDb,
}

const WORLD: &[&str] = &[
    "CREATE DATABASE app",
    "CREATE DATABASE zoo",
    "CREATE TABLE app.t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20))",
    "INSERT INTO app.t (v) VALUES ('one'), ('two'), ('it''s')",
    "CREATE TABLE app.routine (a INT)",
    "CREATE ROLE reader",
    "CREATE USER web@localhost IDENTIFIED BY 'web''s secret'",
    "CREATE USER owner@localhost IDENTIFIED BY 'x' ACCOUNT LOCK",
    "CREATE USER hash@'%' IDENTIFIED WITH mysql_native_password BY 'native' WITH MAX_USER_CONNECTIONS 5",
    "CREATE SERVER far FOREIGN DATA WRAPPER mysql OPTIONS (HOST '198.51.100.7', USER 'u', PASSWORD 'it''s', PORT 3307)",
    "CREATE SERVER near FOREIGN DATA WRAPPER mysql OPTIONS (SOCKET '/s', DATABASE 'd', OWNER 'o')",
    "GRANT SELECT ON app.* TO reader",
    "GRANT reader TO web@localhost",
    "SET DEFAULT ROLE reader TO web@localhost",
    "GRANT SELECT, INSERT ON app.t TO owner@localhost WITH GRANT OPTION",
    "GRANT UPDATE (v) ON app.t TO owner@localhost",
    "GRANT CONNECTION_ADMIN ON *.* TO owner@localhost WITH GRANT OPTION",
    "GRANT ALL ON zoo.* TO hash@'%'",
    "CREATE DEFINER = owner@localhost VIEW app.v AS SELECT v FROM app.t",
    "CREATE DEFINER = root@localhost SQL SECURITY INVOKER VIEW zoo.w AS SELECT id FROM app.t",
];

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A table as the clients write it.
fn table(c: &mut Connection, name: &str, client: Client, out: &mut String) {
    let create = rows(c, &format!("SHOW CREATE TABLE `{name}`")).remove(0).remove(1);
    let log = matches!(name, "general_log" | "slow_log");
    let statistics = client == Client::MySql && name.starts_with("innodb_");
    let charset = if client == Client::MySql {
        "/*!50503 SET character_set_client = utf8mb4 */"
    } else {
        "/*!40101 SET character_set_client = utf8 */"
    };
    if !log && !statistics {
        writeln!(out, "DROP TABLE IF EXISTS `{name}`;").unwrap();
    }
    writeln!(out, "/*!40101 SET @saved_cs_client     = @@character_set_client */;\n{charset};").unwrap();
    let create =
        if log || statistics { create.replacen("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1) } else { create };
    writeln!(out, "{create};\n/*!40101 SET character_set_client = @saved_cs_client */;").unwrap();
    if log {
        return;
    }
    writeln!(out, "LOCK TABLES `{name}` WRITE;\n/*!40000 ALTER TABLE `{name}` DISABLE KEYS */;").unwrap();
    let found = c.query(&format!("SELECT * FROM `{name}`")).unwrap();
    let values: Vec<String> = found
        .texts()
        .iter()
        .map(|row| {
            let cells = row.iter().map(|cell| if cell == "NULL" { cell.clone() } else { quoted(cell) });
            format!("({})", cells.collect::<Vec<_>>().join(","))
        })
        .collect();
    if !values.is_empty() {
        let insert = if statistics { "INSERT  IGNORE INTO" } else { "INSERT INTO" };
        let between = if client == Client::MySql { "," } else { ",\n" };
        writeln!(out, "{insert} `{name}` VALUES {};", values.join(between)).unwrap();
    }
    writeln!(out, "/*!40000 ALTER TABLE `{name}` ENABLE KEYS */;\nUNLOCK TABLES;").unwrap();
}

fn dump(c: &mut Connection, client: Client) -> String {
    let mut out = String::new();
    out.push_str(match client {
        Client::MySql => {
            "/*!50503 SET NAMES utf8mb4 */;\nSET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;\nSET @@SESSION.SQL_LOG_BIN= 0;\n\
             SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '';\n\
             /*!50606 SET @OLD_INNODB_STATS_AUTO_RECALC=@@INNODB_STATS_AUTO_RECALC */;\n\
             /*!50606 SET GLOBAL INNODB_STATS_AUTO_RECALC=OFF */;\n"
        }
        Client::MariaDb => "/*M!999999\\- enable the sandbox mode */;\n/*!40101 SET NAMES utf8mb4 */;\n",
    });
    out.push_str(
        "/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;\n/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;\n\
         /*!40103 SET TIME_ZONE='+00:00' */;\n/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;\n\
         /*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;\n\
         /*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;\n\
         /*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;\n",
    );
    run(c, "SET time_zone = '+00:00'");
    let skipped = ["information_schema", "performance_schema"];
    let mut views = String::new();
    for schema in rows(c, "SHOW DATABASES").into_iter().map(|mut row| row.remove(0)) {
        if skipped.contains(&&*schema) || client == Client::MySql && schema == "sys" {
            continue;
        }
        run(c, &format!("USE `{schema}`"));
        let create = rows(c, &format!("SHOW CREATE DATABASE IF NOT EXISTS `{schema}`")).remove(0).remove(1);
        writeln!(out, "{create};\nUSE `{schema}`;").unwrap();
        writeln!(views, "USE `{schema}`;").unwrap();
        for found in rows(c, "SHOW FULL TABLES") {
            let name = &found[0];
            if found[1] != "VIEW" {
                table(c, name, client, &mut out);
                continue;
            }
            let columns: Vec<String> =
                rows(c, &format!("SHOW COLUMNS FROM `{name}`")).iter().map(|r| format!("1 AS `{}`", r[0])).collect();
            if client == Client::MariaDb {
                writeln!(out, "DROP TABLE IF EXISTS `{name}`;").unwrap();
            }
            writeln!(out, "/*!50001 DROP VIEW IF EXISTS `{name}`*/;\nSET @saved_cs_client = @@character_set_client;")
                .unwrap();
            writeln!(out, "/*!50001 CREATE VIEW `{name}` AS SELECT {}*/;", columns.join(", ")).unwrap();
            let create = rows(c, &format!("SHOW CREATE VIEW `{name}`")).remove(0).remove(1);
            let (head, rest) = create.split_once(" DEFINER=").unwrap();
            let (definer, body) = rest.split_once(" VIEW ").unwrap();
            writeln!(views, "/*!50001 DROP VIEW IF EXISTS `{name}`*/;").unwrap();
            writeln!(views, "/*!50001 {head} */\n/*!50013 DEFINER={definer} */\n/*!50001 VIEW {body} */;").unwrap();
        }
    }
    out.push_str(&views);
    out.push_str(
        "/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;\n/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;\n\
         /*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;\n/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */;\n",
    );
    out
}

fn restore(r: &Running, dump: &str) {
    let mut c = r.connect();
    for statement in dump.split(";\n").filter(|s| !s.trim().is_empty()) {
        c.query(statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
    }
}

fn login(r: &Running, user: &str, password: &str) -> Connection {
    let options = Options { user: user.into(), password: password.into(), ..options() };
    Connection::connect(&r.socket(), &options).unwrap_or_else(|e| panic!("{user}: {e}"))
}

fn accounts(r: &Running) -> Vec<Vec<String>> {
    let mut root = r.connect();
    let mut all = Vec::new();
    for account in ["web@localhost", "owner@localhost", "hash@'%'", "reader", "root@localhost"] {
        all.extend(rows(&mut root, &format!("SHOW GRANTS FOR {account}")));
        let mut created = rows(&mut root, &format!("SHOW CREATE USER {account}"));
        all.append(&mut created);
    }
    for name in
        ["user", "db", "tables_priv", "columns_priv", "global_grants", "role_edges", "default_roles", "proxies_priv"]
    {
        all.extend(rows(&mut root, &format!("SELECT * FROM mysql.{name}")));
    }
    all
}

/// What has to be there again.
fn state(r: &Running) -> Vec<Vec<String>> {
    let mut root = r.connect();
    let mut all = accounts(r);
    all.extend(rows(
        &mut root,
        "SELECT TABLE_SCHEMA, TABLE_NAME, DEFINER, SECURITY_TYPE FROM information_schema.VIEWS ORDER BY 1, 2",
    ));
    all.extend(rows(&mut root, "SELECT * FROM app.t"));
    all.extend(rows(&mut root, "SELECT * FROM mysql.servers"));
    let mut web = login(r, "web", "web's secret");
    all.extend(rows(&mut web, "SELECT v FROM app.v"));
    all.extend(rows(&mut web, "SELECT id FROM app.t"));
    login(r, "hash", "native");
    all
}

#[test]
fn the_dump_of_everything_is_restored() {
    for client in [Client::MySql, Client::MariaDb] {
        let mut r = Running::start();
        let mut root = r.connect();
        WORLD.iter().for_each(|sql| run(&mut root, sql));
        let before = state(&r);
        let text = dump(&mut root, client);
        // Into the same server: what came later goes.
        run(&mut root, "CREATE USER later@localhost");
        run(&mut root, "GRANT DELETE ON app.* TO web@localhost");
        run(&mut root, "DELETE FROM app.t");
        run(&mut root, "DROP SERVER near");
        run(&mut root, "ALTER SERVER far OPTIONS (PORT 1)");
        run(&mut root, "CREATE SERVER later FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')");
        restore(&r, &text);
        assert_eq!(state(&r), before, "{client:?}");
        assert_eq!(error(&mut root, "SHOW GRANTS FOR later@localhost"), 1141);
        // Into an empty one, and that is there after a restart, too.
        let mut empty = Running::start();
        restore(&empty, &text);
        assert_eq!(state(&empty), before, "{client:?}");
        empty.restart();
        assert_eq!(state(&empty), before, "{client:?}");
        // The dump of the copy is the same; the GTIDs of its source are those of `gtid_purged`, which is empty here.
        let again = dump(&mut empty.connect(), client);
        let own = |s: &&str| s.contains("innodb_") || s.contains("INSERT INTO `gtid_executed`");
        let of_copy = |text: &str| text.split(";\n").filter(|s| !own(s)).map(String::from).collect::<Vec<_>>();
        assert_eq!(of_copy(&again), of_copy(&text));
        r.restart();
        assert_eq!(state(&r), before);
    }
}

#[test]
fn a_restore_that_ends_changes_no_account() {
    let r = Running::start();
    let mut root = r.connect();
    WORLD.iter().for_each(|sql| run(&mut root, sql));
    let text = dump(&mut root, Client::MariaDb);
    let before = accounts(&r);
    let cut = text.find("INSERT INTO `user`").unwrap();
    restore(&r, &text[..text[..cut].rfind(";\n").unwrap()]);
    assert_eq!(accounts(&r), before);
    // Whoever restores keeps its rights, though the dump does not have it.
    let foreign = text.replace("('localhost','root'", "('localhost','toor'");
    assert_ne!(foreign, text);
    restore(&r, &foreign);
    run(&mut r.connect(), "SHOW GRANTS FOR toor@localhost");
    assert!(one(&mut r.connect(), "SHOW GRANTS").contains("SUPER"));
}

#[test]
fn single_grant_tables_wait_for_flush_privileges() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE USER a@localhost");
    let create = rows(&mut c, "SHOW CREATE TABLE mysql.db").remove(0).remove(1).replacen("`db`", "mysql.`db`", 1);
    run(&mut c, "GRANT SELECT ON d.* TO a@localhost");
    run(&mut c, "DROP TABLE IF EXISTS mysql.db");
    run(&mut c, &create);
    run(
        &mut c,
        "INSERT INTO mysql.db (Host, Db, User, Insert_priv) VALUES ('localhost', 'd', 'a', 'Y'), ('localhost', 'd', 'nobody', 'Y')",
    );
    let grants = |r: &Running| rows(&mut r.connect(), "SHOW GRANTS FOR a@localhost").remove(1);
    assert_eq!(grants(&r), ["GRANT SELECT ON `d`.* TO `a`@`localhost`"]);
    run(&mut c, "FLUSH PRIVILEGES");
    assert_eq!(grants(&r), ["GRANT INSERT ON `d`.* TO `a`@`localhost`"]);
    // Afterwards the table is as it was before.
    run(&mut c, "UPDATE mysql.db SET Insert_priv = 'N', Update_priv = 'Y' WHERE User = 'a'");
    assert_eq!(grants(&r), ["GRANT UPDATE ON `d`.* TO `a`@`localhost`"]);
    // Other definitions of the schema are refused as ever.
    for (sql, number) in [
        ("DROP TABLE mysql.db", 1044),
        ("CREATE TABLE mysql.made (a INT)", 1044),
        ("ALTER TABLE mysql.user DISABLE KEYS", 1044),
        ("ALTER TABLE mysql.user ADD x INT", 1044),
        ("TRUNCATE mysql.user", 1044),
    ] {
        assert_eq!(error(&mut c, sql), number, "{sql}");
    }
    // And ask for rights.
    let mut a = Connection::connect(&r.socket(), &Options { user: "a".into(), ..options() }).unwrap();
    for sql in ["DROP TABLE IF EXISTS mysql.user", "CREATE TABLE IF NOT EXISTS mysql.general_log (a INT)", &create] {
        assert_eq!(error(&mut a, sql), 1142, "{sql}");
    }
}
