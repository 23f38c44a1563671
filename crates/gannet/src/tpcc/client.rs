//! The wire client in the benchmark's terms.

use super::Options;
use gannet_wire::client::{self, Address, Connection, ResultSet};

/// What went wrong.
#[derive(Debug)]
pub struct Failure {
    message: String,
    code: Option<u16>,
}

/// Result of a client call.
pub type Outcome<T> = Result<T, Failure>;

/// Deadlock, lock wait timeout, record changed: run the transaction again.
const TRANSIENT: &[u16] = &[1213, 1205, 1020];

impl Failure {
    /// The transaction may be run again.
    pub fn is_transient(&self) -> bool {
        self.code.is_some_and(|code| TRANSIENT.contains(&code))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Failure { message: message.to_owned(), code: None }
    }
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        Failure { code: error.code(), message: error.to_string() }
    }
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// BIGINT
    Int(i64),
    /// VARCHAR
    Text(&'a str),
}

/// A prepared statement.
pub struct Statement(client::Statement);

/// A connection.
pub struct Client(Connection);

impl Client {
    /// Connects as the options say.
    pub fn connect(options: &Options) -> Outcome<Client> {
        let address = match &options.socket {
            Some(path) => Address::Unix(path.into()),
            None => Address::Tcp(options.host.clone(), options.port),
        };
        let login = client::Options {
            user: options.user.clone(),
            password: options.password.clone(),
            ..client::Options::default()
        };
        Ok(Client(Connection::connect(&address, &login)?))
    }

    /// Runs a statement.
    pub fn run(&mut self, sql: &str) -> Outcome<()> {
        self.0.query(sql).map(|_| ()).map_err(|e| named(e, sql))
    }

    /// Runs a query by the text protocol.
    pub fn query(&mut self, sql: &str) -> Outcome<Rows> {
        self.0.query(sql).map(Rows).map_err(|e| named(e, sql))
    }

    /// Prepares a statement.
    pub fn prepare(&mut self, sql: &str) -> Outcome<Statement> {
        self.0.prepare(sql).map(Statement).map_err(|e| named(e, sql))
    }

    /// Executes a prepared statement.
    pub fn execute(&mut self, statement: &Statement, args: &[Arg<'_>]) -> Outcome<Rows> {
        let args: Vec<client::Arg<'_>> = args
            .iter()
            .map(|arg| match arg {
                Arg::Int(n) => client::Arg::Int(*n),
                Arg::Text(text) => client::Arg::Text(text),
            })
            .collect();
        Ok(Rows(self.0.execute(&statement.0, &args)?))
    }
}

/// An error with the statement it came from.
fn named(error: client::Error, sql: &str) -> Failure {
    let short: String = sql.chars().take(120).collect();
    Failure { code: error.code(), message: format!("{error} in: {short}") }
}

/// A result.
pub struct Rows(ResultSet);

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.0.rows.len()
    }

    /// No rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.0.columns.len()
    }

    /// An integer.
    pub fn int(&self, row: usize, column: usize) -> Outcome<i64> {
        let cell = self.0.cell(row, column).ok_or("a row is missing")?;
        cell.int().ok_or(Failure::from("an integer is missing"))
    }

    /// Text.
    pub fn text(&self, row: usize, column: usize) -> Outcome<String> {
        let cell = self.0.cell(row, column).ok_or("a row is missing")?;
        cell.text(0).ok_or(Failure::from("a text is missing"))
    }

    /// A decimal in hundredths; NULL is 0.
    pub fn cents(&self, row: usize, column: usize) -> Outcome<i64> {
        let cell = self.0.cell(row, column).ok_or("a row is missing")?;
        let Some(text) = cell.text(2) else { return Ok(0) };
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let digits: String = format!("{fraction}00").chars().take(2).collect();
        let number: i64 = format!("{whole}{digits}").parse().map_err(|_| Failure::from("a number is missing"))?;
        Ok(number)
    }
}
