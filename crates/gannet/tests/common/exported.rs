//! What a binary log tells, compared with the tables and with what a reader was given before a crash.

use gannet_binlog::event::{Checksum, Event, HEADER, Header, flags, kind};
use gannet_binlog::format::{FormatDescription, Gtid, Rotate};
use gannet_binlog::map::TableMap;
use gannet_binlog::rows::{self, Change, Rows};
use gannet_types::Value;
use gannet_wire::client::Connection;
use gannet_wire::flags::com;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Bytes of files, by name: of each event, where it ends and what it is.
pub type Given = BTreeMap<String, BTreeMap<u64, Vec<u8>>>;

/// A row as text.
type Row = Vec<String>;

/// Reads from the beginning of the last file on, until the server goes away.
pub fn read(db: &mut Connection) -> Given {
    let mut given = Given::new();
    let Ok(files) = db.query("SHOW BINARY LOGS") else { return given };
    let mut file = files.texts().pop().map(|row| row[0].clone()).expect("a file");
    let asked = db.query("SET @source_binlog_checksum = 'CRC32'");
    let mut body = 4u32.to_le_bytes().to_vec();
    body.extend_from_slice(&[0, 0, 77, 0, 0, 0]);
    body.extend_from_slice(file.as_bytes());
    if asked.is_err() || db.command(com::BINLOG_DUMP, &body).is_err() {
        return given;
    }
    while let Ok(packet) = db.receive() {
        assert_eq!(packet.first(), Some(&0), "no event: {packet:?}");
        let event = Event::first(&packet[1..], Checksum::Crc32).expect("an event").expect("a whole event");
        if event.header.kind == kind::ROTATE {
            file = String::from_utf8_lossy(Rotate::decode(event.body).expect("a rotation").file).into_owned();
        } else if event.header.flags & flags::ARTIFICIAL == 0 && event.header.end_position > 0 {
            let end = u64::from(event.header.end_position);
            given.entry(file.clone()).or_default().insert(end, event.bytes.to_vec());
        }
    }
    given
}

/// A GTID event without its checksum and the transaction that it says it depends on.
fn undepending(event: &[u8]) -> Vec<u8> {
    const LAST_COMMITTED: usize = HEADER + 26;
    let mut event = event[..event.len() - 4].to_vec();
    event[LAST_COMMITTED..LAST_COMMITTED + 8].fill(0);
    event
}

/// The files have all that a reader was given, numbers without a gap, and the rows of the tables.
pub fn agree(db: &mut Connection, data: &Path, given: &Given, tables: &[&str]) {
    // It waits until the files have all that is durable.
    let end = db.query("SHOW BINARY LOG STATUS").expect("a binary log").texts().remove(0);
    let logs = db.query("SHOW BINARY LOGS").expect("files").texts();
    assert_eq!(logs.last().map(|row| (&row[0], &row[1])), Some((&end[0], &end[1])));
    let (mut rows, mut last) = (HashMap::new(), 0);
    for log in &logs {
        let bytes = std::fs::read(data.join(&log[0])).expect("a file");
        assert_eq!(bytes.len().to_string(), log[1], "size of {}", log[0]);
        for (end, event) in given.get(&log[0]).into_iter().flatten() {
            let kept = bytes.get(*end as usize - event.len()..*end as usize);
            let same = match Header::decode(event).expect("a header").kind {
                // It says whether the file is open.
                kind::FORMAT_DESCRIPTION => true,
                // What is derived again after a crash may be said to depend on more.
                kind::GTID => kept.map(undepending) == Some(undepending(event)),
                _ => kept == Some(&event[..]),
            };
            assert!(same, "{}: the event that ends at {end} is gone", log[0]);
        }
        file(&bytes[4..], &mut rows, &mut last);
    }
    let files: Vec<&str> = logs.iter().map(|row| &*row[0]).collect();
    assert!(given.keys().all(|name| files.contains(&&**name)), "a file is gone: {files:?}");
    for table in tables {
        let mut want: HashMap<Row, i64> = HashMap::new();
        for row in db.query(&format!("SELECT * FROM {table}")).expect("a table").texts() {
            *want.entry(row).or_default() += 1;
        }
        let mut told = rows.remove(*table).unwrap_or_default();
        told.retain(|_, n| *n != 0);
        for (row, n) in &told {
            assert_eq!(want.get(row), Some(n), "{table}: the log tells of {row:?}");
        }
        assert_eq!(want.len(), told.len(), "{table}: the log does not tell of all rows");
    }
}

fn file(bytes: &[u8], rows: &mut HashMap<String, HashMap<Row, i64>>, last: &mut u64) {
    let (mut rest, mut checksum, mut map) = (bytes, Checksum::Crc32, None);
    while let Some(event) = Event::first(rest, checksum).expect("an event") {
        rest = &rest[event.bytes.len()..];
        match event.header.kind {
            kind::FORMAT_DESCRIPTION => {
                checksum = FormatDescription::decode(event.body).expect("a description").checksum;
            }
            kind::GTID => {
                let number = Gtid::decode(event.body).expect("a GTID").number;
                assert_eq!(number, *last + 1, "numbers have a gap");
                *last = number;
            }
            kind::TABLE_MAP => map = Some(TableMap::decode(event.body).expect("a table map")),
            other => {
                let Some(mut changes) = Rows::decode(other, event.body).expect("rows") else { continue };
                let map = map.as_ref().expect("rows behind their table map");
                let of = rows.entry(format!("{}.{}", map.schema, map.name)).or_default();
                while let Some(rows::Row { first, second, .. }) = changes.next(map).expect("a row") {
                    let added = if changes.change == Change::Write { 1 } else { -1 };
                    *of.entry(texts(first)).or_default() += added;
                    if let Some(after) = second {
                        *of.entry(texts(after)).or_default() += 1;
                    }
                }
            }
        }
    }
    assert!(rest.is_empty(), "a file ends within an event");
}

fn texts(image: Vec<Option<Value>>) -> Row {
    let text = |value: Option<Value>| match value {
        None | Some(Value::Null) => "NULL".to_owned(),
        Some(value) => {
            let mut text = Vec::new();
            value.write_text(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
    };
    image.into_iter().map(text).collect()
}
