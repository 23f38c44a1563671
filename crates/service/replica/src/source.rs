//! Whom this server follows, and where it stands in the other one's log. Both are records of the dictionary, texts in
//! lines `name=value`; the second is written with each transaction that is applied.

use super::encryption::Encryption;
use super::relay::Place;
use gannet_core::accounts::Name;
use gannet_core::replication::{Notes, Threads};
use gannet_core::xa::Branch;
use gannet_parser::ast::{Account, Ident, ReplicationValue};
use gannet_types::gtid::{GtidSet, Uuid};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};
use gannet_wire::client::DEFAULT_ZSTD_LEVEL;
use gannet_wire::compress;

/// CHANGE REPLICATION SOURCE TO.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    /// The channel's name as it was given.
    pub(crate) channel: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: String,
    /// By GTIDs; else by file and position.
    pub(crate) auto_position: bool,
    /// Seconds between attempts to connect.
    pub(crate) retry_s: u64,
    /// How often at most; 0: for ever.
    pub(crate) retries: u64,
    /// Milliseconds between signs of life from the source; 0: none.
    pub(crate) heartbeat_ms: u64,
    /// SOURCE_CONNECTION_AUTO_FAILOVER: another source is followed when this one is gone.
    pub(crate) failover: bool,
    /// How packets may be compressed, as SOURCE_COMPRESSION_ALGORITHMS names it.
    pub(crate) compression: String,
    /// The level at which the source is to compress by zstd.
    pub(crate) zstd_level: u8,
    /// SOURCE_BIND: the address of this machine from which the connection goes out; empty: any.
    pub(crate) bind: String,
    pub(crate) tls: Encryption,
    /// GET_SOURCE_PUBLIC_KEY: the source is asked for the key under which a password travels, where that is not
    /// encrypted.
    pub(crate) public_key: bool,
    /// SOURCE_PUBLIC_KEY_PATH: the PEM file with that key; empty: none.
    pub(crate) public_key_path: String,
    /// Tables without a primary key: as the source says (STREAM), refused (ON), made (OFF), or made with one
    /// (GENERATE).
    pub(crate) key_check: String,
    /// REQUIRE_ROW_FORMAT: rows and definitions are applied, and no other statements.
    pub(crate) row_format: bool,
    /// GTID_ONLY as it was given. (Where this server stands is kept with what it applies, and costs nothing.)
    pub(crate) gtid_only: bool,
    /// PRIVILEGE_CHECKS_USER: user and host of the account that has to have the privileges for what is applied.
    pub(crate) checked: Option<(String, String)>,
    /// ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS
    pub(crate) assigned: Assigned,
    /// Seconds that a transaction waits, from its commit at the source on.
    pub(crate) delay_s: u64,
    /// IGNORE_SERVER_IDS: servers whose transactions are passed over.
    pub(crate) ignored: Vec<u32>,
    /// What goes on at the server's start: START REPLICA was given, and STOP REPLICA was not.
    pub(crate) started: Threads,
}

impl Default for Source {
    fn default() -> Source {
        Source {
            channel: String::new(),
            host: String::new(),
            port: 3306,
            user: String::new(),
            password: String::new(),
            auto_position: false,
            retry_s: 60,
            retries: 10,
            heartbeat_ms: 30_000,
            failover: false,
            compression: PLAIN.to_owned(),
            zstd_level: DEFAULT_ZSTD_LEVEL,
            bind: String::new(),
            tls: Encryption::default(),
            public_key: false,
            public_key_path: String::new(),
            key_check: "STREAM".to_owned(),
            row_format: false,
            gtid_only: false,
            checked: None,
            assigned: Assigned::default(),
            delay_s: 0,
            ignored: Vec::new(),
            started: Threads::default(),
        }
    }
}

/// ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS: what GTIDs transactions get that their source gave none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Assigned {
    /// They are refused.
    Off,
    /// This server's.
    #[default]
    Local,
    /// Of this UUID.
    Uuid(Uuid),
}

/// By their numbers in the record.
const STARTED: [Threads; 4] = [
    Threads { receiver: false, applier: false },
    Threads::BOTH,
    Threads { receiver: true, applier: false },
    Threads { receiver: false, applier: true },
];
/// Longest time between heartbeats in seconds.
const MOST_HEARTBEAT_S: f64 = 4_294_967.0;
/// Packets are not compressed.
const PLAIN: &str = "uncompressed";
/// Characters of the longest list of algorithms, and how many are in one.
const LONGEST_ALGORITHMS: usize = 99;
const MOST_ALGORITHMS: usize = 3;
/// Characters of the longest password.
const LONGEST_PASSWORD: usize = 32;
/// Longest delay in seconds.
const MOST_DELAY: f64 = 2_147_483_647.0;

/// An option that MySQL has besides, of which one value is there: to enter another namespace, a thread needs calls of
/// the system that this server does not make.
const NAMESPACE: &str = "NETWORK_NAMESPACE";

/// The places that a CHANGE REPLICATION SOURCE TO names.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Places {
    /// Where reading the source's log begins: file and position.
    pub(crate) source: Option<(String, u64)>,
    /// Where the applier begins in the relay logs: what is not named stays as it is.
    pub(crate) relay: Option<(Option<String>, Option<u64>)>,
}

/// Where this server stands.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Position {
    /// File and position behind the last transaction that was applied.
    pub(crate) file: String,
    pub(crate) at: u64,
    /// Transactions of the source that were applied.
    pub(crate) applied: GtidSet,
    /// A branch that is about to be prepared, and where this server stands when it is. What prepares it and the
    /// position are two commits: if the branch is there after a crash, so is its transaction.
    pub(crate) preparing: Option<(Branch, Box<Position>)>,
    /// The place in the relay logs, and which these were: they are others after a restart.
    pub(crate) relay: Option<(u64, Place)>,
}

/// The position behind an event that begins at `at` or later, from the low 32 bits in its header; 0 in what was never
/// in a file.
pub(crate) fn behind(at: u64, end_position: u32) -> u64 {
    if end_position == 0 {
        return at;
    }
    let behind = at & !u64::from(u32::MAX) | u64::from(end_position);
    if behind < at { behind + (1 << 32) } else { behind }
}

pub(crate) fn lines(record: &[u8]) -> impl Iterator<Item = (String, String)> {
    let text = String::from_utf8_lossy(record).into_owned();
    let pair = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), unescaped(value)));
    text.lines().filter_map(pair).collect::<Vec<_>>().into_iter()
}

pub(crate) fn line(out: &mut String, name: &str, value: impl std::fmt::Display) {
    use std::fmt::Write;
    let written = out.len() + name.len() + 1;
    // A text takes all that is written to it.
    let _infallible = write!(out, "{name}={value}");
    if out[written..].contains(['\\', '\n']) {
        let value = out[written..].replace('\\', "\\\\").replace('\n', "\\n");
        out.replace_range(written.., &value);
    }
    out.push('\n');
}

fn unescaped(value: &str) -> String {
    let (mut out, mut chars) = (String::new(), value.chars());
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            (_, Some('n')) => out.push('\n'),
            (_, Some(other)) => out.push(other),
            (c, None) => out.push(c),
        }
    }
    out
}

impl Source {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = String::new();
        line(&mut out, "channel", &self.channel);
        line(&mut out, "host", &self.host);
        line(&mut out, "port", self.port);
        line(&mut out, "user", &self.user);
        line(&mut out, "password", &self.password);
        line(&mut out, "auto_position", u8::from(self.auto_position));
        line(&mut out, "retry", self.retry_s);
        line(&mut out, "retries", self.retries);
        line(&mut out, "heartbeat", self.heartbeat_ms);
        line(&mut out, "failover", u8::from(self.failover));
        line(&mut out, "compression", &self.compression);
        line(&mut out, "zstd_level", self.zstd_level);
        line(&mut out, "bind", &self.bind);
        self.tls.encode(&mut out);
        line(&mut out, "public_key", u8::from(self.public_key));
        line(&mut out, "public_key_path", &self.public_key_path);
        line(&mut out, "key_check", &self.key_check);
        line(&mut out, "row_format", u8::from(self.row_format));
        line(&mut out, "gtid_only", u8::from(self.gtid_only));
        if let Some((user, host)) = &self.checked {
            line(&mut out, "checked_user", user);
            line(&mut out, "checked_host", host);
        }
        match self.assigned {
            Assigned::Off => line(&mut out, "assigned", "OFF"),
            Assigned::Local => {}
            Assigned::Uuid(uuid) => line(&mut out, "assigned", uuid),
        }
        line(&mut out, "delay", self.delay_s);
        line(&mut out, "ignored", self.shown_ignored());
        line(&mut out, "started", STARTED.iter().position(|s| *s == self.started).unwrap_or(0));
        out.into_bytes()
    }

    pub(crate) fn decode(record: &[u8]) -> Source {
        let mut it = Source::default();
        for (name, value) in lines(record) {
            let number = value.parse().unwrap_or(0);
            match name.as_str() {
                "channel" => it.channel = value,
                "host" => it.host = value,
                "port" => it.port = number as u16,
                "user" => it.user = value,
                "password" => it.password = value,
                "auto_position" => it.auto_position = number != 0,
                "retry" => it.retry_s = number,
                "retries" => it.retries = number,
                "heartbeat" => it.heartbeat_ms = number,
                "failover" => it.failover = number != 0,
                "compression" => it.compression = value,
                "zstd_level" => it.zstd_level = number as u8,
                "bind" => it.bind = value,
                "public_key" => it.public_key = number != 0,
                "public_key_path" => it.public_key_path = value,
                "key_check" => it.key_check = value,
                "row_format" => it.row_format = number != 0,
                "gtid_only" => it.gtid_only = number != 0,
                "checked_user" => it.checked.get_or_insert_default().0 = value,
                "checked_host" => it.checked.get_or_insert_default().1 = value,
                "assigned" => it.assigned = Uuid::parse(value.as_bytes()).map_or(Assigned::Off, Assigned::Uuid),
                "delay" => it.delay_s = number,
                "ignored" => it.ignored = value.split(", ").filter_map(|id| id.parse().ok()).collect(),
                "started" => it.started = STARTED.get(number as usize).copied().unwrap_or_default(),
                name => it.tls.decode(name, &value),
            }
        }
        it
    }

    /// IGNORE_SERVER_IDS in SHOW REPLICA STATUS.
    pub(crate) fn shown_ignored(&self) -> String {
        self.ignored.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
    }

    /// One that says nothing for `net_timeout_s` seconds is gone: it gives a sign of life twice as often.
    pub(crate) fn with_heartbeat(self, net_timeout_s: u64) -> Source {
        Source { heartbeat_ms: (net_timeout_s * 500).min((MOST_HEARTBEAT_S * 1000.0) as u64), ..self }
    }

    /// Of the channel with this name.
    pub(crate) fn named(self, channel: &str) -> Source {
        Source { channel: channel.to_owned(), ..self }
    }

    /// Which tasks must not run while these options change: both where they are about both.
    pub(crate) fn standing(options: &[(Ident, ReplicationValue)]) -> Threads {
        let mut it = Threads::default();
        for (name, _) in options {
            let name = name.text.to_ascii_uppercase();
            match name.strip_prefix("MASTER_").or(name.strip_prefix("SOURCE_")).unwrap_or(&name) {
                "DELAY"
                | "REQUIRE_TABLE_PRIMARY_KEY_CHECK"
                | "PRIVILEGE_CHECKS_USER"
                | "REQUIRE_ROW_FORMAT"
                | "RELAY_LOG_FILE"
                | "RELAY_LOG_POS" => it.applier = true,
                "AUTO_POSITION" | "GTID_ONLY" | "ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS" => it = Threads::BOTH,
                _ => it.receiver = true,
            }
        }
        it
    }

    /// An option about what may be applied, if it is one. Errors 1231, 1525, 3925, 3945.
    fn take_rule(&mut self, name: &str, value: &ReplicationValue, text: &str) -> Result<bool> {
        match name {
            "REQUIRE_TABLE_PRIMARY_KEY_CHECK" => self.key_check = key_check(text.to_owned())?,
            "REQUIRE_ROW_FORMAT" => self.row_format = row_format(text)?,
            "ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS" => self.assigned = assigned(text)?,
            "GTID_ONLY" => self.gtid_only = text.parse::<f64>().map_err(|_| sql_err!(WrongArguments, name))? != 0.0,
            "PRIVILEGE_CHECKS_USER" => self.checked = account(value, &self.channel)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Errors 4065 to 4067 of what GTID_ONLY goes with; `new`: it was not given before.
    fn check_gtid_only(&self, new: bool) -> Result<()> {
        match (self.gtid_only, self.row_format, self.auto_position) {
            (false, ..) | (_, true, true) => Ok(()),
            _ if new => Err(sql_err!(ChangeReplicationSourceNoOptionsForGtidOnly, self.channel)),
            (_, false, _) => Err(sql_err!(CantDisableReqRowFormatWithGtidOnly, self.channel)),
            _ => Err(sql_err!(CantDisableAutoPositionWithGtidOnly, self.channel)),
        }
    }

    /// Error 4014 of ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS; `gives`: it was given, and not as OFF.
    fn check_assigned(&self, gives: bool, notes: &mut Notes) -> Result<()> {
        if self.auto_position && (gives || matches!(self.assigned, Assigned::Uuid(_))) {
            return Err(sql_err!(CantCombineAnonymousToGtidAndAutoposition));
        }
        notes.extend(gives.then(|| sql_err!(UsingAssignGtidsToAnonymousTransactions)));
        Ok(())
    }

    /// An option is about both tasks.
    pub(crate) fn is_about_both(options: &[(Ident, ReplicationValue)]) -> bool {
        options.iter().any(|option| Source::standing(std::slice::from_ref(option)) == Threads::BOTH)
    }

    /// With the options of a statement, and the places that these say. Errors 1064, 1210, 1221, 1231, 1235, 1624, 1729,
    /// 1776, 3920, 3921, 3924, 3991, 3993, 4037, 4065 to 4067.
    pub(crate) fn changed(
        &self,
        options: &[(Ident, ReplicationValue)],
        net_timeout_s: u64,
    ) -> Result<(Source, Places, Notes)> {
        let (mut it, mut file, mut position) = (self.clone(), None, None);
        let (mut heartbeat, mut notes) = (None, Notes::new());
        let (mut relay_file, mut relay_position, mut anew, mut gives) = (None, None, false, false);
        for (name, value) in options {
            let name = name.text.to_ascii_uppercase();
            let text = text_of(value)?;
            let number = || text.parse::<f64>().map_err(|_| sql_err!(WrongArguments, name));
            let on = || Ok::<bool, SqlError>(number()? != 0.0);
            match name.strip_prefix("MASTER_").or(name.strip_prefix("SOURCE_")).unwrap_or(&name) {
                "HOST" if text.is_empty() => return Err(sql_err!(WrongArguments, name)),
                "HOST" => (it.host, anew) = (text, true),
                "PORT" => match text.parse() {
                    Ok(port) => (it.port, anew) = (port, true),
                    Err(_) => return Err(sql_err!(WrongArguments, name)),
                },
                "USER" => it.user = text,
                "PASSWORD" => it.password = password(text)?,
                "CONNECT_RETRY" => it.retry_s = number()? as u64,
                "RETRY_COUNT" => it.retries = number()? as u64,
                "HEARTBEAT_PERIOD" => heartbeat = Some(heartbeat_ms(number()?, net_timeout_s, &mut notes)?),
                "COMPRESSION_ALGORITHMS" => it.compression = compression(text, &it.channel)?,
                "ZSTD_COMPRESSION_LEVEL" => it.zstd_level = zstd_level(number()?, &it.channel)?,
                "BIND" => it.bind = text,
                "AUTO_POSITION" => it.auto_position = on()?,
                "CONNECTION_AUTO_FAILOVER" => it.failover = on()?,
                "LOG_FILE" => file = Some(text),
                "LOG_POS" => position = Some(number()? as u64),
                "RELAY_LOG_FILE" => relay_file = Some(text),
                "RELAY_LOG_POS" => relay_position = Some(number()? as u64),
                "PUBLIC_KEY_PATH" => it.public_key_path = text,
                "GET_MASTER_PUBLIC_KEY" | "GET_SOURCE_PUBLIC_KEY" => it.public_key = on()?,
                "IGNORE_SERVER_IDS" => it.ignored = server_ids(value).ok_or_else(|| sql_err!(WrongArguments, name))?,
                "DELAY" => match number()? {
                    delay if (0.0..=MOST_DELAY).contains(&delay) => it.delay_s = delay as u64,
                    _ => return Err(sql_err!(SourceDelayValueOutOfRange, text, MOST_DELAY)),
                },
                short if it.take_rule(short, value, &text)? => gives |= short.starts_with("ASSIGN_"),
                short if it.tls.take(short, (*value != ReplicationValue::Null).then_some(&text), on)? => {}
                NAMESPACE if text.is_empty() => {}
                short => return Err(unknown(short, &name)),
            }
        }
        match heartbeat {
            Some(period) => it.heartbeat_ms = period,
            // Another source has the usual one.
            None if anew => it = it.with_heartbeat(net_timeout_s),
            None => {}
        }
        it.check_gtid_only(!self.gtid_only)?;
        if it.failover && !it.auto_position {
            let off = sql_err!(DisableAutoPositionRequiresAsyncReconnectOff);
            return Err(if self.failover { off } else { sql_err!(RplAsyncReconnectAutoPositionOff) });
        }
        it.check_assigned(gives && it.assigned != Assigned::Off, &mut notes)?;
        let placed = file.is_some() || position.is_some();
        let relay = (relay_file.is_some() || relay_position.is_some()).then_some((relay_file, relay_position));
        if it.auto_position && (placed || relay.is_some()) {
            return Err(sql_err!(BadReplicaAutoPosition));
        }
        if placed && relay.is_some() {
            return Err(sql_err!(WrongUsage, "SOURCE_LOG_FILE/SOURCE_LOG_POS", "RELAY_LOG_FILE/RELAY_LOG_POS"));
        }
        let source = (placed || anew).then(|| (file.unwrap_or_default(), position.unwrap_or(4).max(4)));
        Ok((it, Places { source, relay }, notes))
    }
}

/// The error of an option, or of a value, that is not there: 1235, or 1064 where MySQL has none of the name.
fn unknown(short: &str, name: &str) -> SqlError {
    if short == NAMESPACE {
        return SqlError::unsupported(format_args!("CHANGE REPLICATION SOURCE TO {name}"));
    }
    let what = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for \
                the right syntax to use near";
    SqlError::with_message(ErrorCode::Parse, format!("{what} '{name}' at line 1"))
}

/// SOURCE_HEARTBEAT_PERIOD in milliseconds. Error 1624, warnings 1703 and 1704.
fn heartbeat_ms(period: f64, net_timeout_s: u64, notes: &mut Notes) -> Result<u64> {
    if !(0.0..=MOST_HEARTBEAT_S).contains(&period) {
        return Err(sql_err!(ReplicaHeartbeatValueOutOfRange, MOST_HEARTBEAT_S));
    }
    if period > net_timeout_s as f64 {
        notes.push(sql_err!(ReplicaHeartbeatValueOutOfRangeMax));
    }
    if period > 0.0 && period < 0.001 {
        notes.push(sql_err!(ReplicaHeartbeatValueOutOfRangeMin));
        return Ok(0);
    }
    Ok((period * 1000.0).round() as u64)
}

/// The numbers of servers, each once.
fn server_ids(value: &ReplicationValue) -> Option<Vec<u32>> {
    let ReplicationValue::List(list) = value else { return None };
    let mut ids = list.iter().map(|id| u32::try_from(*id)).collect::<std::result::Result<Vec<u32>, _>>().ok()?;
    ids.sort_unstable();
    ids.dedup();
    Some(ids)
}

/// ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS. Error 1525.
fn assigned(text: &str) -> Result<Assigned> {
    match (text.to_ascii_uppercase().as_str(), Uuid::parse(text.as_bytes())) {
        ("OFF", _) => Ok(Assigned::Off),
        ("LOCAL", _) => Ok(Assigned::Local),
        (_, Some(uuid)) => Ok(Assigned::Uuid(uuid)),
        (_, None) => Err(sql_err!(WrongValue, "UUID", text)),
    }
}

/// SOURCE_PASSWORD. Error 3056.
fn password(text: String) -> Result<String> {
    if text.chars().count() > LONGEST_PASSWORD { Err(sql_err!(ChangeSourcePasswordLength)) } else { Ok(text) }
}

/// REQUIRE_ROW_FORMAT. Error 3945.
fn row_format(text: &str) -> Result<bool> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(sql_err!(RequireRowFormatInvalidValue, text)),
    }
}

/// PRIVILEGE_CHECKS_USER. Error 3925.
fn account(value: &ReplicationValue, channel: &str) -> Result<Option<(String, String)>> {
    match value {
        ReplicationValue::Null => Ok(None),
        ReplicationValue::Account(Account::Name { user, host, .. }) if user.is_empty() => {
            Err(sql_err!(PrivilegeChecksUserCannotBeAnonymous, channel, Name::new(user, host).host))
        }
        ReplicationValue::Account(Account::Name { user, host, .. }) => {
            let Name { user, host } = Name::new(user, host);
            Ok(Some((user, host)))
        }
        _ => Err(sql_err!(WrongArguments, "PRIVILEGE_CHECKS_USER")),
    }
}

/// REQUIRE_TABLE_PRIMARY_KEY_CHECK. Error 1231.
fn key_check(text: String) -> Result<String> {
    let text = text.to_ascii_uppercase();
    match text.as_str() {
        "STREAM" | "ON" | "OFF" | "GENERATE" => Ok(text),
        _ => Err(sql_err!(WrongValueForVar, "REQUIRE_TABLE_PRIMARY_KEY_CHECK", text)),
    }
}

/// SOURCE_COMPRESSION_ALGORITHMS, in small letters. Errors 3920, 3924, 4037.
fn compression(list: String, channel: &str) -> Result<String> {
    if list.chars().count() > LONGEST_ALGORITHMS {
        return Err(sql_err!(ChangeSourceWrongCompressionAlgorithmSize, list.chars().count(), channel));
    }
    let names: Vec<&str> = list.split(',').collect();
    if names.len() > MOST_ALGORITHMS {
        return Err(sql_err!(ChangeSourceWrongCompressionAlgorithmList, list, channel));
    }
    match names.iter().find(|name| compress::allowed(name).is_none()) {
        Some(unknown) => Err(sql_err!(ChangeSourceWrongCompressionAlgorithm, unknown, channel)),
        None => Ok(list.to_ascii_lowercase()),
    }
}

/// SOURCE_ZSTD_COMPRESSION_LEVEL. Error 3921.
fn zstd_level(level: f64, channel: &str) -> Result<u8> {
    match level {
        level if (1.0..=22.0).contains(&level) => Ok(level as u8),
        level => Err(sql_err!(ChangeSourceWrongCompressionLevel, level, channel)),
    }
}

/// A value's text. Error 1525 of one with a line feed.
fn text_of(value: &ReplicationValue) -> Result<String> {
    let text = match value {
        ReplicationValue::Text(text) | ReplicationValue::Number(text) => text.to_string(),
        ReplicationValue::Word(word) => word.text.to_string(),
        ReplicationValue::Account(_) | ReplicationValue::List(_) | ReplicationValue::Null => String::new(),
    };
    match text.contains('\n') {
        true => Err(sql_err!(WrongValue, "argument contains not-allowed LF", text)),
        false => Ok(text),
    }
}

impl Position {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = String::new();
        line(&mut out, "file", &self.file);
        line(&mut out, "at", self.at);
        line(&mut out, "applied", self.applied.to_string().replace('\n', ""));
        if let Some((epoch, place)) = self.relay {
            line(&mut out, "relay", format_args!("{epoch}:{}:{}", place.number, place.at));
        }
        if let Some((branch, then)) = &self.preparing {
            line(&mut out, "format", branch.format);
            line(&mut out, "gtrid", hex(&branch.gtrid));
            line(&mut out, "bqual", hex(&branch.bqual));
            line(&mut out, "then", String::from_utf8_lossy(&then.encode()));
        }
        out.into_bytes()
    }

    pub(crate) fn decode(record: &[u8]) -> Position {
        let (mut it, mut branch) = (Position::default(), Branch { format: 0, gtrid: Vec::new(), bqual: Vec::new() });
        for (name, value) in lines(record) {
            match name.as_str() {
                "format" => branch.format = value.parse().unwrap_or(0),
                "gtrid" => branch.gtrid = unhex(&value),
                "bqual" => branch.bqual = unhex(&value),
                "then" => it.preparing = Some((branch.clone(), Box::new(Position::decode(value.as_bytes())))),
                "file" => it.file = value,
                "at" => it.at = value.parse().unwrap_or(4),
                "relay" => it.relay = relay_place(&value),
                "applied" => it.applied = GtidSet::parse(value.as_bytes()).unwrap_or_default(),
                _ => {}
            }
        }
        it
    }

    /// After a start: if the branch that was about to be prepared is, this server stands behind it.
    pub(crate) fn prepared(self, is: impl FnOnce(&Branch) -> bool) -> Position {
        match self.preparing {
            Some((branch, then)) if is(&branch) => *then,
            _ => Position { preparing: None, ..self },
        }
    }
}

fn relay_place(text: &str) -> Option<(u64, Place)> {
    let mut numbers = text.split(':').map_while(|n| n.parse().ok());
    Some((numbers.next()?, Place { number: numbers.next()?, at: numbers.next()? }))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|s| u8::from_str_radix(s, 16).ok());
    text.as_bytes().chunks(2).filter_map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_round_trip() {
        let source =
            Source { host: "h=\n\\n".into(), password: "a\\b".into(), started: STARTED[2], ..Source::default() };
        assert_eq!(Source::decode(&source.encode()), source);
        let applied = GtidSet::parse(b"3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5:7").unwrap();
        let position = Position {
            file: "b.000001".into(),
            at: 1 << 40,
            applied,
            preparing: None,
            relay: Some((7, Place { number: 1, at: 9 })),
        };
        assert_eq!(Position::decode(&position.encode()), position);
        let branch = Branch { format: 7, gtrid: b"g\n\xff".to_vec(), bqual: Vec::new() };
        let then = Position { at: 99, ..position.clone() };
        let preparing = Position { preparing: Some((branch.clone(), Box::new(then.clone()))), ..position.clone() };
        assert_eq!(Position::decode(&preparing.encode()), preparing);
        assert_eq!(preparing.clone().prepared(|b| *b == branch), then);
        assert_eq!(preparing.prepared(|_| false), position);
        assert_eq!(Position::decode(b"\xff"), Position::default());
    }
}
