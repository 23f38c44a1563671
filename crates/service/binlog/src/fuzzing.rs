//! Entry points for fuzzing: any bytes in, no panic out.

use crate::beside::{self, Beside, LoadQuery};
use crate::event::{Checksum, Event, HEADER, MAGIC, kind};
use crate::format::{FormatDescription, Gtid, MariadbGtid, Rotate, XaPrepare, gtids};
use crate::map::TableMap;
use crate::packed::Packed;
use crate::query::Query;
use crate::rows::Rows;

/// A file, or a part of one: all events of it are decoded, with and without checksums.
pub fn file(data: &[u8]) {
    let data = data.strip_prefix(&MAGIC).unwrap_or(data);
    for checksum in [Checksum::None, Checksum::Crc32] {
        let (mut rest, mut checksum, mut map) = (data, checksum, None);
        while let Ok(Some(event)) = Event::first(rest, checksum) {
            rest = &rest[event.bytes.len()..];
            if event.header.kind == kind::FORMAT_DESCRIPTION
                && let Ok(described) = FormatDescription::decode(event.body)
            {
                checksum = described.checksum;
            }
            body(event.header.kind, event.body, &mut map);
        }
    }
    // Bodies are reached whatever the frames are: mutations break their checksums.
    if let (Some(k), Some(rest)) = (data.get(4), data.get(HEADER..)) {
        body(*k, rest, &mut None);
    }
}

fn body(k: u8, body: &[u8], map: &mut Option<TableMap>) {
    match k {
        kind::FORMAT_DESCRIPTION => drop(FormatDescription::decode(body)),
        kind::PREVIOUS_GTIDS => drop(gtids(body)),
        kind::GTID | kind::ANONYMOUS_GTID => drop(Gtid::decode(body)),
        kind::QUERY => drop(Query::decode(body)),
        kind::INTVAR => drop(Beside::integer(body)),
        kind::RAND => drop(Beside::seeds(body)),
        kind::USER_VAR => drop(Beside::variable(body)),
        kind::BEGIN_LOAD_QUERY | kind::APPEND_BLOCK => drop(beside::block(body)),
        kind::EXECUTE_LOAD_QUERY => drop(LoadQuery::decode(body).map(|load| load.text("x"))),
        kind::ROTATE => drop(Rotate::decode(body)),
        kind::XA_PREPARE => drop(XaPrepare::decode(body)),
        kind::MARIADB_GTID => drop(MariadbGtid::decode(body)),
        kind::TABLE_MAP => *map = TableMap::decode(body).ok(),
        kind::TRANSACTION_PAYLOAD => {
            let Ok(packed) = Packed::decode(body) else { return };
            let mut events = packed.events();
            while let Ok(Some(event)) = events.next_event() {
                // One inside another is not read.
                if event.header.kind != kind::TRANSACTION_PAYLOAD {
                    self::body(event.header.kind, event.body, map);
                }
            }
        }
        _ => {
            if let Ok(Some((k, plain))) = crate::compressed::plain(k, body) {
                return self::body(k, &plain, map);
            }
            if let (Ok(Some(mut rows)), Some(map)) = (Rows::decode(k, body), map.as_ref()) {
                while let Ok(Some(_)) = rows.next(map) {}
            }
        }
    }
}

/// Binary JSON, and texts of GTID sets.
pub fn values(data: &[u8]) {
    let _ = crate::json::decode(data);
    if let Ok(diffs) = crate::diff::decode(data) {
        let mut again = Vec::new();
        crate::diff::encode(&diffs, &mut again);
        assert_eq!(crate::diff::decode(&again).as_ref(), Ok(&diffs));
        let mut document = gannet_types::json::Json::Array(Vec::new());
        crate::diff::apply(diffs, &mut document);
    }
    if let Some(set) = gannet_types::gtid::GtidSet::parse(data) {
        assert_eq!(gannet_types::gtid::GtidSet::parse(set.to_string().as_bytes()), Some(set));
    }
}

/// A file with an event of each kind, for [`file()`].
pub fn seeds() -> Vec<Vec<u8>> {
    use crate::event::Appender;
    use crate::image::RowEncoder;
    use crate::map::{Column, Metadata, Table};
    use crate::rows::{Change, Columns, put_head};
    use gannet_types::{CollationId, Decimal, SqlType, TypeId, Value};
    let types = [
        SqlType::new(TypeId::Int),
        SqlType::varchar(300, CollationId::DEFAULT),
        SqlType::decimal(12, 3),
        SqlType::new(TypeId::Json),
        SqlType::temporal(TypeId::Time, 3),
    ];
    let columns: Vec<Column<'_>> = types.iter().map(|ty| Column { name: "c", ty, visible: true }).collect();
    let table = Table { id: 5, schema: "s", name: "t", columns: &columns, primary_key: &[(0, 0)], generated_key: true };
    let json = gannet_types::json::parse(b"{\"a\": [1, 2.5, \"x\", null]}").ok();
    let document = json.and_then(|j| j.to_text(gannet_types::room::Room::FREE).ok()).map_or(Value::Null, Value::Json);
    let decimal = Value::Decimal(Decimal::parse(b"-12.5").value);
    let row = [Value::Int(-1), Value::text("text"), decimal, document, Value::Time(Default::default(), 3)];
    let encoder = RowEncoder::new(types.iter().enumerate());
    let mut out = MAGIC.to_vec();
    let mut appender = Appender { server_id: 1, checksum: Checksum::Crc32, position: 4 };
    let described = FormatDescription::new("8.4.0", 0, Checksum::Crc32);
    appender.event(&mut out, 0, kind::FORMAT_DESCRIPTION, 0, |o| described.encode(o));
    let described = out.len();
    appender.event(&mut out, 0, kind::GTID, 0, |o| Gtid { size: 300, ..Gtid::default() }.encode(o));
    appender.event(&mut out, 0, kind::TABLE_MAP, 0, |o| table.encode(Metadata::Full, o));
    appender.event(&mut out, 0, kind::UPDATE_ROWS, 0, |o| {
        let all = Columns::all(types.len());
        put_head(5, 1, types.len(), &all, Some(&all), o);
        // Images of values are always whole.
        let _whole = (0..2).try_for_each(|_| encoder.encode(&row, None, o));
    });
    appender.event(&mut out, 0, kind::PARTIAL_UPDATE_ROWS, 0, |o| {
        let changed = Columns::of(types.len(), |i| i == 3);
        put_head(5, 1, types.len(), &Columns::all(types.len()), Some(&changed), o);
        let _whole = encoder.encode(&row, None, o);
        // The option, the bit of the one document, no NULL, and what becomes of the document.
        o.extend_from_slice(&[1, 1, 0, 21, 0, 0, 0]);
        o.extend_from_slice(b"\x00\x03$.b\x03\x05\x07\x00\x02\x07$.\"c d\"\x02\x00");
    });
    appender.event(&mut out, 0, Change::Write.kind(), 0, |o| {
        put_head(5, 1, types.len(), &Columns::all(types.len()), None, o);
        let _whole = encoder.encode(&row, None, o);
    });
    appender.event(&mut out, 0, kind::MARIADB_WRITE_ROWS_COMPRESSED, 0, |o| {
        put_head(5, 1, types.len(), &Columns::all(types.len()), None, o);
        let mut image = Vec::new();
        let _whole = encoder.encode(&row, None, &mut image);
        let mut stream = flate2::read::ZlibEncoder::new(&image[..], flate2::Compression::fast());
        o.extend_from_slice(&[0x81, image.len() as u8]);
        // A slice is always read to its end.
        let _read = std::io::Read::read_to_end(&mut stream, o);
    });
    beside_statements(&mut appender, &mut out);
    // All but the description, compressed.
    let events = out.get(described..).unwrap_or_default().to_vec();
    let packed = crate::packed::compress(&events);
    appender.event(&mut out, 0, kind::TRANSACTION_PAYLOAD, 0, |o| Packed::new(events.len() as u64, &packed).encode(o));
    let mut document = Vec::new();
    crate::json::encode(
        &gannet_types::json::Json::Array((0..3).map(gannet_types::json::Json::Int).collect()),
        &mut document,
    );
    let set = b"3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5:9".to_vec();
    let diffs = b"\x01\x04$[0]\x03\x05\x07\x00\x00\x04$[0]\x02\x04\x01\x02\x04$[0]".to_vec();
    vec![out, document, set, diffs]
}

/// Both, for one target.
pub fn check(data: &[u8]) {
    file(data);
    values(data);
}

/// What stands beside statements.
fn beside_statements(appender: &mut crate::event::Appender, out: &mut Vec<u8>) {
    appender.event(out, 0, kind::INTVAR, 0, |o| o.extend_from_slice(&[2, 5, 0, 0, 0, 0, 0, 0, 0]));
    appender.event(out, 0, kind::RAND, 0, |o| o.extend_from_slice(&[7; 16]));
    for value in [
        &b"\x00\xFF\0\0\0\x03\0\0\0abc"[..],
        b"\x04\x3F\0\0\0\x04\0\0\0\x03\x01\x81\x02",
        b"\x02\x3F\0\0\0\x08\0\0\0\x01\0\0\0\0\0\0\0\x01",
    ] {
        appender.event(out, 0, kind::USER_VAR, 0, |o| o.extend_from_slice(&[b"\x01\0\0\0v\0", value].concat()));
    }
    appender.event(out, 0, kind::BEGIN_LOAD_QUERY, 0, |o| o.extend_from_slice(b"\x01\0\0\0a,b"));
    appender.event(out, 0, kind::EXECUTE_LOAD_QUERY, 0, |o| {
        o.extend_from_slice(&[&[0; 8][..], &[1, 0, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 27, 0, 0, 0, 2]].concat());
        o.extend_from_slice(b"d\0LOAD DATA INFILE 'x' INTO  TABLE t");
    });
}
