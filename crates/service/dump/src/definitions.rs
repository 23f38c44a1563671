//! Definitions as scripts: schemas with their programs, tables, triggers, views, accounts.

use crate::catalog::{Schema, Table};
use crate::fault::{Fault, Outcome, wrong};
use crate::names::{literal, qualified, quoted};
use crate::peer::{Kind, Session, text};
use std::fmt::Write;

/// What scripts of programs begin and end with: they set modes of their own.
const SAVE: &str =
    "SET @gannet_mode = @@sql_mode, @gannet_zone = @@time_zone, @gannet_collation = @@collation_connection;\n";
const RESTORE: &str =
    "SET sql_mode = @gannet_mode, time_zone = @gannet_zone, collation_connection = @gannet_collation;\n";

/// Creates the schema, its routines and events.
pub(crate) fn of_schema(db: &mut Session, schema: &Schema) -> Outcome<String> {
    let name = quoted(&schema.name);
    let rows = db.rows(&format!("SHOW CREATE DATABASE {name}"))?;
    let create = text(&rows, 0, 1)?;
    let Some(rest) = create.strip_prefix("CREATE DATABASE ") else {
        return wrong(format!("schema {}: unknown definition: {create}", schema.name));
    };
    let rest = rest.strip_prefix("/*!32312 IF NOT EXISTS*/ ").unwrap_or(rest);
    let mut out = format!("CREATE DATABASE IF NOT EXISTS {rest};\n\nUSE {name};\n");
    let routines = [("FUNCTION", &schema.functions), ("PROCEDURE", &schema.procedures), ("EVENT", &schema.events)];
    if routines.iter().any(|(_, names)| !names.is_empty()) {
        out += SAVE;
        for (kind, names) in routines {
            for routine in names {
                program(db, kind, &schema.name, routine, &mut out)?;
            }
        }
        out += RESTORE;
    }
    Ok(out)
}

/// Creates the triggers of a table.
pub(crate) fn of_triggers(db: &mut Session, table: &Table) -> Outcome<String> {
    let mut out = SAVE.to_owned();
    for trigger in &table.triggers {
        program(db, "TRIGGER", &table.schema, trigger, &mut out)?;
    }
    Ok(out + RESTORE)
}

/// Appends the definition of a routine, trigger or event, under the modes it was made with. The text is in utf8mb4,
/// whatever its maker's character set was.
fn program(db: &mut Session, kind: &str, schema: &str, name: &str, out: &mut String) -> Outcome<()> {
    let place = format!("{} {schema}.{name}", kind.to_ascii_lowercase());
    let result = db.run(&format!("SHOW CREATE {kind} {}", qualified(schema, name)))?;
    let column = |wanted: &str| {
        let at = result.columns.iter().position(|c| c.name.eq_ignore_ascii_case(wanted));
        at.and_then(|at| result.cell(0, at)).and_then(|c| c.bytes()).map(|b| String::from_utf8(b.to_vec()))
    };
    let statement = match kind {
        "TRIGGER" => "SQL Original Statement".to_owned(),
        _ => format!("Create {kind}"),
    };
    let Some(Ok(create)) = column(&statement) else {
        return wrong(format!("{place}: its text is not shown to this account, which does not own it"));
    };
    let of = |wanted: &str| column(wanted).and_then(|v| v.ok()).unwrap_or_default();
    let drop = format!("DROP {kind} IF EXISTS {}", quoted(name));
    let mut modes = format!("sql_mode = {}", literal(&of("sql_mode")));
    let (collation, zone) = (of("collation_connection"), of("time_zone"));
    if !collation.is_empty() {
        let _ = write!(modes, ", collation_connection = {}", literal(&collation));
    }
    if !zone.is_empty() {
        let _ = write!(modes, ", time_zone = {}", literal(&zone));
    }
    let _ = write!(out, "\nDELIMITER ;;\n{drop} ;;\nSET {modes} ;;\n{create} ;;\nDELIMITER ;\n");
    Ok(())
}

/// Creates a table, if it is not there.
pub(crate) fn of_table(db: &mut Session, table: &Table) -> Outcome<String> {
    let name = qualified(&table.schema, &table.name);
    let rows = db.rows(&format!("SHOW CREATE TABLE {name}"))?;
    let create = text(&rows, 0, 1)?;
    match create.strip_prefix("CREATE TABLE ") {
        Some(rest) => Ok(format!("CREATE TABLE IF NOT EXISTS {rest};\n")),
        None => wrong(format!("table {name}: unknown definition: {create}")),
    }
}

/// Creates what stands for a view until all tables and views are there, and then the view.
pub(crate) fn of_view(db: &mut Session, schema: &str, view: &str) -> Outcome<(String, String)> {
    let name = quoted(view);
    let rows = db.rows(&format!("SHOW CREATE VIEW {}", qualified(schema, view)))?;
    let (create, collation) = (text(&rows, 0, 1)?, text(&rows, 0, 3)?);
    let columns = db.rows(&format!(
        "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} \
         ORDER BY ORDINAL_POSITION",
        literal(schema),
        literal(view)
    ))?;
    let columns: Vec<String> = columns.iter().flatten().flatten().map(|c| format!("1 AS {}", quoted(c))).collect();
    if columns.is_empty() {
        return wrong(format!("view {schema}.{view} has no columns: a table of its definition is gone"));
    }
    let stand_in = format!("CREATE OR REPLACE VIEW {name} AS SELECT {};\n", columns.join(", "));
    let save = "SET @gannet_collation = @@collation_connection;\n";
    let restore = "SET collation_connection = @gannet_collation;\n";
    let collation = literal(&collation);
    Ok((
        stand_in,
        format!("{save}SET collation_connection = {collation};\nDROP VIEW IF EXISTS {name};\n{create};\n{restore}"),
    ))
}

/// Accounts that a server makes for itself.
const OWN_ACCOUNTS: [&str; 6] =
    ["mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys", "PUBLIC", "rds_superuser_role"];

/// Creates the accounts and grants them what they have. The names of the accounts, and the script.
pub(crate) fn of_users(db: &mut Session) -> Outcome<(Vec<String>, String)> {
    db.attempt("SET SESSION print_identified_with_as_hex = 1")?;
    let rows = db.rows("SELECT User, Host FROM mysql.user ORDER BY User, Host")?;
    let mut names = Vec::new();
    let (mut create, mut grants) = (String::new(), String::new());
    let (mut roles_of_mariadb, mut all) = (String::new(), Vec::new());
    for i in 0..rows.len() {
        let (user, host) = (text(&rows, i, 0)?, text(&rows, i, 1)?);
        if OWN_ACCOUNTS.contains(&user.as_str()) || (db.about.kind == Kind::MariaDb && user == "PUBLIC") {
            continue;
        }
        let is_role = db.about.kind == Kind::MariaDb && host.is_empty();
        let account = if is_role { literal(&user) } else { format!("{}@{}", literal(&user), literal(&host)) };
        if is_role {
            let _ = writeln!(roles_of_mariadb, "CREATE ROLE IF NOT EXISTS {account};");
        } else {
            all.push((account.clone(), created(db, &user, &host, &account)?));
        }
        names.push(account.clone());
        let _ = writeln!(grants, "-- begin grants {account}");
        for row in db.rows(&format!("SHOW GRANTS FOR {account}"))? {
            if let Some(Some(grant)) = row.first() {
                // An old server's USAGE carries the password, which the account has by now.
                let grant = grant.split(" IDENTIFIED BY PASSWORD ").next().unwrap_or(grant);
                let _ = writeln!(grants, "{grant};");
            }
        }
        let _ = writeln!(grants, "-- end grants {account}\n");
    }
    create += &roles_of_mariadb;
    for (account, text) in all {
        let _ = writeln!(create, "-- begin user {account}\n{text};\n-- end user {account}\n");
    }
    Ok((names, create + "\n" + &grants))
}

/// The CREATE USER of an account; of an old server that has no such statement, made of its grant tables.
fn created(db: &mut Session, user: &str, host: &str, account: &str) -> Outcome<String> {
    let shown = match db.rows(&format!("SHOW CREATE USER {account}")) {
        Ok(rows) => text(&rows, 0, 0)?,
        Err(Fault::Refused { code: 1064, .. }) => {
            let sql = format!(
                "SELECT plugin, authentication_string, Password FROM mysql.user WHERE User = {} AND Host = {}",
                literal(user),
                literal(host)
            );
            let rows = db.rows(&sql)?;
            let value = |i: usize| text(&rows, 0, i).unwrap_or_default();
            let plugin = Some(value(0)).filter(|p| !p.is_empty()).unwrap_or("mysql_native_password".into());
            let hash = Some(value(1)).filter(|h| !h.is_empty()).unwrap_or(value(2));
            format!("CREATE USER {account} IDENTIFIED WITH {} AS {}", literal(&plugin), literal(&hash))
        }
        Err(e) => return Err(e),
    };
    Ok(match shown.strip_prefix("CREATE USER ") {
        Some(rest) => format!("CREATE USER IF NOT EXISTS {rest}"),
        None => shown,
    })
}
