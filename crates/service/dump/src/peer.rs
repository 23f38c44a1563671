//! The server at the other end: which one it is, and sessions on it.

use crate::fault::{Fault, Outcome, wrong};
use gannet_wire::client::{Address, Cell, Connection, Options, ResultSet};
use gannet_wire::flags::cap;

/// Where a server is, and who logs in.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Where it listens.
    pub address: Address,
    /// The account.
    pub login: Options,
}

/// Which server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    MySql,
    MariaDb,
    Gannet,
}

/// What a server says of itself.
#[derive(Debug, Clone)]
pub(crate) struct About {
    pub(crate) kind: Kind,
    /// Major, minor and patch number.
    pub(crate) version: [u32; 3],
    /// `VERSION()`.
    pub(crate) text: String,
}

impl About {
    pub(crate) fn of(version: &str, comment: &str) -> About {
        let lower = format!("{version} {comment}").to_ascii_lowercase();
        let kind = match () {
            () if lower.contains("gannet") => Kind::Gannet,
            () if lower.contains("mariadb") => Kind::MariaDb,
            () => Kind::MySql,
        };
        // MariaDB behind a proxy puts 5.5.5- in front, for old replicas.
        let bare = match kind {
            Kind::MariaDb => version.strip_prefix("5.5.5-").unwrap_or(version),
            _ => version,
        };
        let mut numbers = bare.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse().ok());
        let version = [(); 3].map(|()| numbers.next().unwrap_or(0));
        About { kind, version, text: bare.to_owned() }
    }

    /// MySQL of at least this version, or Gannet, which says to be 8.4.
    pub(crate) fn is_mysql(&self, at_least: [u32; 3]) -> bool {
        self.kind != Kind::MariaDb && self.version >= at_least
    }

    /// `utf8mb4` without a collation is `utf8mb4_general_ci` in its definitions.
    pub(crate) fn means_general_ci(&self) -> bool {
        match self.kind {
            Kind::Gannet => false,
            Kind::MySql => self.version < [8, 0, 1],
            Kind::MariaDb => self.version < [11, 5, 0],
        }
    }
}

/// A connection, and what is known of the server.
pub(crate) struct Session {
    pub(crate) connection: Connection,
    pub(crate) about: About,
}

/// What every session here sets: texts in utf8mb4, times in UTC, values as they are (number 0 in AUTO_INCREMENT
/// columns, dates that no calendar has), and no limits on time.
pub(crate) const SETTINGS: [&str; 5] = [
    "SET NAMES utf8mb4",
    "SET time_zone = '+00:00', sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,STRICT_ALL_TABLES', autocommit = 1",
    "SET SESSION wait_timeout = 86400, SESSION interactive_timeout = 86400",
    "SET SESSION net_write_timeout = 3600, SESSION net_read_timeout = 3600",
    "SET SESSION sql_quote_show_create = 1",
];

impl Session {
    /// Connects and sets the session up.
    pub(crate) fn connect(peer: &Peer) -> Outcome<Session> {
        let mut login = peer.login.clone();
        login.capabilities |= cap::LOCAL_FILES;
        login.attributes.push(("program_name".into(), "gannet".into()));
        let connection = Connection::connect(&peer.address, &login)
            .map_err(|e| Fault::from(e).at(format!("cannot connect to {}", address(&peer.address))))?;
        let about = About { kind: Kind::MySql, version: [0; 3], text: String::new() };
        let mut it = Session { connection, about };
        let said = it.rows("SELECT VERSION(), @@version_comment")?;
        it.about = About::of(&text(&said, 0, 0)?, &text(&said, 0, 1)?);
        for sql in SETTINGS {
            it.run(sql)?;
        }
        // Statements that run for hours are wanted here.
        let limit = if it.about.kind == Kind::MariaDb { "max_statement_time" } else { "max_execution_time" };
        it.attempt(&format!("SET SESSION {limit} = 0"))?;
        Ok(it)
    }

    /// Runs a statement; the error tells its beginning.
    pub(crate) fn run(&mut self, sql: &str) -> Outcome<ResultSet> {
        self.connection.query(sql).map_err(|e| {
            let beginning: String = sql.chars().take(80).collect();
            Fault::from(e).at(format!("'{}{}'", beginning, if beginning.len() < sql.len() { "..." } else { "" }))
        })
    }

    /// Runs a statement that not every server knows or allows; whether it did.
    pub(crate) fn attempt(&mut self, sql: &str) -> Outcome<bool> {
        match self.run(sql) {
            Ok(_) => Ok(true),
            Err(Fault::Refused { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// The rows of a query as texts, `None` for NULL.
    pub(crate) fn rows(&mut self, sql: &str) -> Outcome<Vec<Vec<Option<String>>>> {
        let result = self.run(sql)?;
        let cell = |c: &Cell| match c {
            Cell::Null => Ok(None),
            Cell::Bytes(b) => match std::str::from_utf8(b) {
                Ok(s) => Ok(Some(s.to_owned())),
                Err(_) => wrong(format!("the server sent text that is not UTF-8, for {sql}")),
            },
            other => Ok(other.text(0)),
        };
        result.rows.iter().map(|row| row.iter().map(cell).collect()).collect()
    }

    /// The value of a query that has one; `None` for NULL, and for no row.
    pub(crate) fn value(&mut self, sql: &str) -> Outcome<Option<String>> {
        Ok(self.rows(sql)?.into_iter().next().and_then(|row| row.into_iter().next()).flatten())
    }
}

/// The text in a row and column, which must be there.
pub(crate) fn text(rows: &[Vec<Option<String>>], row: usize, column: usize) -> Outcome<String> {
    match rows.get(row).and_then(|r| r.get(column)) {
        Some(Some(text)) => Ok(text.clone()),
        _ => wrong("the server's answer has fewer values than it should"),
    }
}

/// A server's address for people.
pub(crate) fn address(address: &Address) -> String {
    match address {
        Address::Tcp(host, port) => format!("{host}:{port}"),
        Address::Unix(path) => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_apart() {
        let of = |version: &str, comment: &str| {
            let a = About::of(version, comment);
            (a.kind, a.version)
        };
        assert_eq!(of("5.6.51-log", "Source distribution"), (Kind::MySql, [5, 6, 51]));
        assert_eq!(of("10.11.6-MariaDB-0+deb12u1", "Debian 12"), (Kind::MariaDb, [10, 11, 6]));
        assert_eq!(of("5.5.5-10.3.39-MariaDB", ""), (Kind::MariaDb, [10, 3, 39]));
        assert_eq!(of("8.4.0-gannet-0.1.0", "Gannet"), (Kind::Gannet, [8, 4, 0]));
        let general = ["5.7.44", "10.11.6-MariaDB", "8.0.0"].map(|v| About::of(v, "").means_general_ci());
        let other = ["8.4.0-gannet", "8.0.1", "11.8.2-MariaDB"].map(|v| About::of(v, "").means_general_ci());
        assert_eq!((general, other), ([true; 3], [false; 3]));
        assert!(About::of("8.4.3", "").is_mysql([8, 0, 0]) && !About::of("11.4.2-MariaDB", "").is_mysql([8, 0, 0]));
    }
}
