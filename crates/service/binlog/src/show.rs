//! The Info column of SHOW BINLOG EVENTS.

use crate::beside::{self, Beside, LoadQuery};
use crate::compressed;
use crate::event::{Event, kind};
use crate::format::{FormatDescription, Gtid, Rotate, XaPrepare, gtids, rows_query};
use crate::map::TableMap;
use crate::packed::Packed;
use crate::query::Query;
use crate::rows::{self, Rows};
use std::fmt::Write;

/// What an event says; empty where there is nothing to say, or it cannot be read.
pub fn info(event: &Event<'_>) -> String {
    match compressed::plain(event.header.kind, event.body) {
        Ok(Some((kind, body))) => said(kind, &body),
        Ok(None) => said(event.header.kind, event.body),
        Err(_) => String::new(),
    }
}

fn said(kind: u8, body: &[u8]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let shown = match kind {
        kind::FORMAT_DESCRIPTION => {
            FormatDescription::decode(body).map(|d| format!("Server ver: {}, Binlog ver: 4", d.version)).ok()
        }
        kind::PREVIOUS_GTIDS => gtids(body).map(|set| set.to_string()).ok(),
        kind::GTID => Gtid::decode(body).map(|g| format!("SET @@SESSION.GTID_NEXT= '{}:{}'", g.uuid, g.number)).ok(),
        kind::ANONYMOUS_GTID => Some("SET @@SESSION.GTID_NEXT= 'ANONYMOUS'".to_owned()),
        kind::QUERY => Query::decode(body).map(|q| query(&q)).ok(),
        kind::TABLE_MAP => TableMap::decode(body).map(|m| format!("table_id: {} ({}.{})", m.id, m.schema, m.name)).ok(),
        kind::XID => body.first_chunk().map(|id| format!("COMMIT /* xid={} */", u64::from_le_bytes(*id))),
        kind::ROTATE => Rotate::decode(body).map(|r| format!("{};pos={}", text(r.file), r.position)).ok(),
        kind::ROWS_QUERY => Some(format!("# {}", text(rows_query(body)))),
        kind::TRANSACTION_PAYLOAD => Packed::decode(body)
            .ok()
            .map(|p| format!("compression='{}', decompressed_size={} bytes", p.compression(), p.size)),
        kind::INTVAR => Beside::integer(body).map(|b| b.to_string()).ok(),
        kind::RAND => Beside::seeds(body).map(|b| b.to_string()).ok(),
        kind::USER_VAR => Beside::variable(body).map(|b| b.to_string()).ok(),
        kind::BEGIN_LOAD_QUERY | kind::APPEND_BLOCK => {
            beside::block(body).map(|(file, bytes)| format!(";file_id={file};block_len={}", bytes.len())).ok()
        }
        kind::DELETE_FILE => beside::block(body).map(|(file, _)| format!(";file_id={file}")).ok(),
        kind::EXECUTE_LOAD_QUERY => {
            LoadQuery::decode(body).map(|load| format!("{} ;file_id={}", query(&load.query), load.file)).ok()
        }
        kind::XA_PREPARE => XaPrepare::decode(body).map(|x| xa(&x)).ok(),
        kind => Rows::decode(kind, body).ok().flatten().map(|r| {
            let end = if r.flags & rows::flags::STATEMENT_END != 0 { " flags: STMT_END_F" } else { "" };
            format!("table_id: {}{end}", r.table)
        }),
    };
    shown.unwrap_or_default()
}

fn query(q: &Query<'_>) -> String {
    let mut shown = String::new();
    if !q.schema.is_empty() && q.text != b"BEGIN" {
        let name = String::from_utf8_lossy(q.schema).replace('`', "``");
        let _ = write!(shown, "use `{name}`; ");
    }
    shown.push_str(&String::from_utf8_lossy(q.text));
    if let Some(xid) = q.settings.ddl_xid {
        let _ = write!(shown, " /* xid={xid} */");
    }
    shown
}

fn xa(x: &XaPrepare<'_>) -> String {
    let id = xid_text(x.gtrid, x.bqual, x.format);
    if x.one_phase { format!("XA COMMIT {id} ONE PHASE") } else { format!("XA PREPARE {id}") }
}

/// `X'..',X'..',n`
pub fn xid_text(gtrid: &[u8], bqual: &[u8], format: u32) -> String {
    let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |s, b| s + &format!("{b:02x}"));
    format!("X'{}',X'{}',{format}", hex(gtrid), hex(bqual))
}
