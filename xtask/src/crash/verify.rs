//! What the server has, compared with what clients know; and the blocks of the data file with what the server says of
//! them.

use gannet_wire::client::Connection;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use super::ledger::{Client, Table, Tables, WORDS};
use super::server::Disk;

/// How long the server has to give back what it does not use.
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(20);
/// Blocks that the file system takes beyond what was asked for.
const SLACK_BYTES: u64 = 2 << 20;
/// What a store without tables may take: undo, the dictionary, free extents kept for what comes next.
const EMPTY_BYTES: u64 = 48 << 20;

fn rows(db: &mut Connection, sql: &str) -> Result<Vec<Vec<String>>, String> {
    Ok(db.query(sql).map_err(|e| format!("{sql}: {e}"))?.texts())
}

fn number(db: &mut Connection, sql: &str) -> Result<u64, String> {
    let rows = rows(db, sql)?;
    rows.first().and_then(|r| r.last()?.parse().ok()).ok_or_else(|| format!("{sql}: {rows:?}"))
}

/// The client's tables are as it knows them, or as they are with what was in flight; that is what it knows from now on.
pub(super) fn client(db: &mut Connection, client: &mut Client) -> Result<(), String> {
    let mut there = Tables::new();
    for row in rows(db, &format!("SHOW TABLES FROM crash LIKE 'c{}\\_%'", client.number))? {
        let name = row[0].clone();
        let table = table(db, &name)?;
        there.insert(name, table);
    }
    if there != client.known && Some(&there) != client.in_flight.as_ref() {
        return Err(difference(client, &there));
    }
    client.known = there;
    client.in_flight = None;
    Ok(())
}

fn table(db: &mut Connection, name: &str) -> Result<Table, String> {
    let columns = rows(db, &format!("SHOW COLUMNS FROM crash.{name}"))?;
    let indexes = rows(db, &format!("SHOW INDEX FROM crash.{name}"))?;
    let mut table = Table {
        indexed: indexes.iter().any(|i| i[2] == "k"),
        extra: columns.iter().any(|c| c[0] == "extra"),
        searched: indexes.iter().any(|i| i[2] == "w"),
        parts: number(
            db,
            &format!(
                "SELECT COUNT(PARTITION_NAME) FROM information_schema.PARTITIONS \
                 WHERE TABLE_SCHEMA = 'crash' AND TABLE_NAME = '{name}'"
            ),
        )?,
        ..Table::default()
    };
    let whole = "pad = REPEAT(CHAR(97 + id % 26), LENGTH(pad))";
    for row in rows(db, &format!("SELECT id, k, LENGTH(pad), {whole} FROM crash.{name} ORDER BY id"))? {
        let value = |i: usize| row[i].parse::<u64>().map_err(|_| format!("{name}: {row:?}"));
        if value(3)? != 1 {
            return Err(format!("{name}: row {}: the long column is not what was written", row[0]));
        }
        table.rows.insert(value(0)?, (value(1)?, value(2)?));
    }
    if table.indexed {
        let both = |hint: &str| format!("SELECT COUNT(*), COALESCE(SUM(k), 0) FROM crash.{name} {hint}");
        let (by_row, by_index) = (rows(db, &both("IGNORE INDEX (k)"))?, rows(db, &both("FORCE INDEX (k)"))?);
        if by_row != by_index {
            return Err(format!("{name}: by row {by_row:?}, by index {by_index:?}"));
        }
    }
    words(db, name, &table)?;
    if table.extra && number(db, &format!("SELECT COUNT(*) FROM crash.{name} WHERE extra <> 7"))? != 0 {
        return Err(format!("{name}: a column has lost its default"));
    }
    let checked = rows(db, &format!("CHECK TABLE crash.{name}"))?;
    if checked.iter().all(|row| row.last().is_some_and(|text| text == "OK")) {
        Ok(table)
    } else {
        Err(format!("CHECK TABLE {name}: {checked:?}"))
    }
}

/// Each row has the words that it was given; where they are indexed, a search finds those rows and no others.
fn words(db: &mut Connection, name: &str, table: &Table) -> Result<(), String> {
    let wrong = number(db, &format!("SELECT COUNT(*) FROM crash.{name} WHERE w <> {WORDS}"))?;
    if wrong != 0 {
        return Err(format!("{name}: {wrong} rows have other words than they were given"));
    }
    let groups = (0..10).map(|n| format!("group{n}"));
    let one = table.rows.iter().step_by(17).flat_map(|(id, row)| [format!("row{id}"), format!("value{}", row.0)]);
    for word in groups.chain(one).filter(|_| table.searched) {
        let found =
            format!("SELECT id FROM crash.{name} WHERE MATCH (w) AGAINST ('+{word}' IN BOOLEAN MODE) ORDER BY id");
        let there = format!("SELECT id FROM crash.{name} WHERE CONCAT(' ', w, ' ') LIKE '% {word} %' ORDER BY id");
        let (found, there) = (rows(db, &found)?, rows(db, &there)?);
        if found != there {
            return Err(format!("{name}: a search of {word} finds {found:?}, and {there:?} have it"));
        }
    }
    Ok(())
}

fn difference(client: &Client, there: &Tables) -> String {
    let mut text = format!("client {}: neither what was acknowledged nor what was in flight is there", client.number);
    let flight = client.in_flight.as_ref().unwrap_or(&client.known);
    let names = client.known.keys().chain(flight.keys()).chain(there.keys());
    for name in names.collect::<std::collections::BTreeSet<_>>() {
        let all = [client.known.get(name), flight.get(name), there.get(name)];
        if all[2] == all[0] && all[2] == all[1] {
            continue;
        }
        let short = |t: Option<&Table>| t.map(|t| (t.indexed, t.extra, t.parts, t.searched, t.rows.len()));
        text +=
            &format!("\n{name}: known {:?}, in flight {:?}, there {:?}", short(all[0]), short(all[1]), short(all[2]));
        if let [Some(known), Some(flight), Some(there)] = all {
            let ids = known.rows.keys().chain(flight.rows.keys()).chain(there.rows.keys());
            for id in ids.collect::<std::collections::BTreeSet<_>>() {
                let [a, b, c] = [known, flight, there].map(|t| t.rows.get(id));
                if c != a && c != b {
                    text += &format!("\n  row {id}: known {a:?}, in flight {b:?}, there {c:?}");
                }
            }
        }
    }
    text
}

/// Bytes of the data file's blocks, as the file system has them and as the server says.
fn blocks(db: &mut Connection, disk: &Disk) -> Result<(u64, u64), String> {
    let status = |db: &mut Connection, name: &str| number(db, &format!("SHOW GLOBAL STATUS LIKE '{name}'"));
    let said = status(db, "Gannet_space_tables")? + status(db, "Gannet_space_undo")? + status(db, "Gannet_space_free")?;
    let file = disk.data().join("data.gnt");
    let there = std::fs::metadata(&file).map_err(|e| format!("{}: {e}", file.display()))?.blocks() * 512;
    Ok((there, said))
}

/// Waits until the data file takes what the server says, and not more.
pub(super) fn space(db: &mut Connection, disk: &Disk) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let (there, said) = blocks(db, disk)?;
        if there <= said + SLACK_BYTES {
            return Ok(());
        }
        if began.elapsed() > GIVEN_BACK_WITHIN {
            return Err(format!("the data file takes {there} bytes of the disk, and the server says {said}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until what was dropped is given back; gives the bytes that the data file still takes.
pub(super) fn empty(db: &mut Connection, disk: &Disk) -> Result<u64, String> {
    let began = Instant::now();
    loop {
        let (there, said) = blocks(db, disk)?;
        if there <= EMPTY_BYTES && there <= said + SLACK_BYTES {
            return Ok(there);
        }
        if began.elapsed() > GIVEN_BACK_WITHIN {
            return Err(format!("all is dropped, and the data file takes {there} bytes of the disk (said: {said})"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
