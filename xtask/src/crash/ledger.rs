//! What each client knows: its tables as they are by all that was acknowledged, and as they would be if the statement
//! in flight took effect.

use gannet_wire::client::{Connection, Error};
use std::collections::BTreeMap;

use super::Party;
use super::server::Server;

/// Most tables of a client, and most rows of a table.
const TABLES: u64 = 6;
const ROWS: u64 = 400;
/// What a server that has no room may answer.
const NO_ROOM: [u16; 4] = [1114, 1021, 1026, 3675];

pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n.max(1)
    }

    /// A source of its own.
    pub(super) fn fork(&mut self) -> Random {
        Random(self.below(u64::MAX))
    }
}

/// A row: the indexed column, and the length of the rest.
pub(super) type Row = (u64, u64);

#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Table {
    /// It has the index `k`.
    pub(super) indexed: bool,
    /// It has the column `extra`.
    pub(super) extra: bool,
    /// How many parts it has, 0: none. It has no full-text index then.
    pub(super) parts: u64,
    /// It has the full-text index `w`.
    pub(super) searched: bool,
    pub(super) rows: BTreeMap<u64, Row>,
}

pub(super) type Tables = BTreeMap<String, Table>;

pub(super) struct Client {
    pub(super) number: u64,
    pub(super) known: Tables,
    /// What is there if the statement that was not answered took effect.
    pub(super) in_flight: Option<Tables>,
    pub(super) commits: u64,
    pub(super) definitions: u64,
    pub(super) refused: u64,
    names: u64,
}

/// Statements, the last of which makes `after` true.
struct Work {
    statements: Vec<String>,
    after: Tables,
    is_definition: bool,
    /// It gives space back: also a server without room has to do it.
    frees: bool,
}

impl Client {
    pub(super) fn new(number: u64) -> Client {
        let (known, in_flight) = Default::default();
        Client { number, known, in_flight, commits: 0, definitions: 0, refused: 0, names: 0 }
    }

    fn work(&mut self, db: &mut Connection, may_be_full: bool, random: &mut Random) -> Result<(), String> {
        let mut full = false;
        loop {
            let work = self.next(random, full);
            let Some((last, first)) = work.statements.split_last() else { continue };
            let mut outcome = first.iter().try_for_each(|sql| db.query(sql).map(drop));
            if outcome.is_ok() {
                self.in_flight = Some(work.after.clone());
                outcome = db.query(last).map(drop);
            }
            match outcome {
                Ok(()) => {
                    self.known = work.after;
                    self.in_flight = None;
                    full = false;
                    let count = if work.is_definition { &mut self.definitions } else { &mut self.commits };
                    *count += 1;
                }
                Err(Error::Server { code, message, .. }) if code != 1053 => {
                    let allowed = may_be_full && NO_ROOM.contains(&code) && !work.frees;
                    if !allowed {
                        return Err(format!("{last}: error {code}: {message}"));
                    }
                    self.in_flight = None;
                    self.refused += 1;
                    full = true;
                    if db.query("ROLLBACK").is_err() {
                        return Ok(());
                    }
                }
                Err(_) => return Ok(()),
            }
        }
    }

    fn next(&mut self, random: &mut Random, full: bool) -> Work {
        let draw = random.below(100);
        let some = self.pick(random);
        match some {
            None => self.create(random),
            Some(name) if full && draw < 40 => self.give_up(name, random),
            Some(_) if draw < 80 => self.transaction(random),
            Some(_) if draw < 86 && (self.known.len() as u64) < TABLES => self.create(random),
            Some(name) if draw < 90 => self.give_up(name, random),
            Some(name) if draw < 94 => self.rename(name, random),
            Some(name) => self.alter(name, random),
        }
    }

    fn pick(&self, random: &mut Random) -> Option<String> {
        self.known.keys().nth(random.below(self.known.len() as u64) as usize).cloned()
    }

    fn new_name(&mut self) -> String {
        self.names += 1;
        format!("c{}_{}", self.number, self.names)
    }

    fn definition(&self, sql: String, frees: bool, change: impl FnOnce(&mut Tables)) -> Work {
        let mut after = self.known.clone();
        change(&mut after);
        Work { statements: vec![sql], after, is_definition: true, frees }
    }

    fn create(&mut self, random: &mut Random) -> Work {
        let (name, indexed, extra) = (self.new_name(), random.below(2) == 0, random.below(3) == 0);
        let (parts, searched) = match random.below(3) {
            0 => (0, false),
            1 => (1 + random.below(5), false),
            _ => (0, true),
        };
        let index = if indexed { ", KEY k (k)" } else { "" };
        let more = if extra { ", extra INT NOT NULL DEFAULT 7" } else { "" };
        let words = if searched { ", FULLTEXT KEY w (w)" } else { "" };
        let by = if parts > 0 { format!(" PARTITION BY HASH (id) PARTITIONS {parts}") } else { String::new() };
        let sql = format!(
            "CREATE TABLE crash.{name} (id INT PRIMARY KEY, k INT NOT NULL, w VARCHAR(60) NOT NULL, \
             pad TEXT NOT NULL{more}{index}{words}){by}"
        );
        let table = Table { indexed, extra, parts, searched, rows: BTreeMap::new() };
        self.definition(sql, false, |all| drop(all.insert(name, table)))
    }

    fn give_up(&self, name: String, random: &mut Random) -> Work {
        if random.below(2) == 0 {
            return self.definition(format!("DROP TABLE crash.{name}"), true, |all| drop(all.remove(&name)));
        }
        self.definition(format!("TRUNCATE TABLE crash.{name}"), false, |all| {
            all.entry(name).and_modify(|t| t.rows.clear());
        })
    }

    /// To a new name, or two tables against each other.
    fn rename(&mut self, name: String, random: &mut Random) -> Work {
        let (new, other) = (self.new_name(), self.pick(random).filter(|other| *other != name));
        match other {
            None => self.definition(format!("RENAME TABLE crash.{name} TO crash.{new}"), false, |all| {
                let table = all.remove(&name).unwrap_or_default();
                all.insert(new, table);
            }),
            Some(other) => {
                let sql = format!(
                    "RENAME TABLE crash.{name} TO crash.{new}, crash.{other} TO crash.{name}, crash.{new} TO crash.{other}"
                );
                self.definition(sql, false, |all| {
                    let (a, b) = (all.remove(&name).unwrap_or_default(), all.remove(&other).unwrap_or_default());
                    all.insert(name, b);
                    all.insert(other, a);
                })
            }
        }
    }

    fn alter(&self, name: String, random: &mut Random) -> Work {
        let mut table = self.known[&name].clone();
        let change = alteration(&mut table, random);
        self.definition(format!("ALTER TABLE crash.{name} {change}"), false, |all| drop(all.insert(name, table)))
    }

    /// Some changes of one table or two. One of six is rolled back.
    fn transaction(&self, random: &mut Random) -> Work {
        let mut after = self.known.clone();
        let mut statements = vec!["BEGIN".to_owned()];
        for _ in 0..1 + random.below(5) {
            let Some(name) = self.pick(random) else { break };
            let Some(table) = after.get_mut(&name) else { break };
            statements.push(change(&name, table, random));
        }
        if random.below(6) == 0 {
            statements.push("ROLLBACK".to_owned());
            after = self.known.clone();
        } else {
            statements.push("COMMIT".to_owned());
        }
        Work { statements, after, is_definition: false, frees: false }
    }
}

impl Party for Client {
    fn load(&mut self, server: &Server, full: bool, random: &mut Random) -> Result<(), String> {
        server.connect().map_or(Ok(()), |mut db| self.work(&mut db, full, random))
    }

    fn verify(&mut self, db: &mut Connection) -> Result<(), String> {
        super::verify::client(db, self)
    }

    fn counts(&self) -> [u64; 3] {
        [self.commits, self.definitions, self.refused]
    }
}

/// An ALTER TABLE, and what it makes of the table.
fn alteration(table: &mut Table, random: &mut Random) -> String {
    let parts = 1 + random.below(6);
    match random.below(5) {
        0 => {
            table.indexed = !table.indexed;
            if table.indexed { "ADD INDEX k (k)" } else { "DROP INDEX k" }.to_owned()
        }
        1 => {
            table.extra = !table.extra;
            if table.extra { "ADD COLUMN extra INT NOT NULL DEFAULT 7" } else { "DROP COLUMN extra" }.to_owned()
        }
        2 | 3 if table.searched => {
            table.searched = false;
            "DROP INDEX w".to_owned()
        }
        2 if table.parts == 0 => {
            table.searched = true;
            "ADD FULLTEXT INDEX w (w)".to_owned()
        }
        2 | 3 => match (random.below(5), table.parts) {
            (0, 1..) => {
                table.parts = 0;
                "REMOVE PARTITIONING".to_owned()
            }
            (1, 2..) => {
                table.parts -= 1;
                "COALESCE PARTITION 1".to_owned()
            }
            (2, 1..) => {
                table.parts += parts;
                format!("ADD PARTITION PARTITIONS {parts}")
            }
            (3, 1..) => "REBUILD PARTITION ALL".to_owned(),
            _ => {
                table.parts = parts;
                format!("PARTITION BY HASH (id) PARTITIONS {parts}")
            }
        },
        _ => "ENGINE = InnoDB".to_owned(),
    }
}

/// The words of a row, of its columns as they are where this stands.
pub(super) const WORDS: &str = "CONCAT('row', id, ' value', k, ' group', k % 10)";

fn change(name: &str, table: &mut Table, random: &mut Random) -> String {
    let (id, k) = (random.below(ROWS), random.below(1000));
    let length = if random.below(20) == 0 { 20_000 + random.below(20_000) } else { random.below(2500) };
    let pad = format!("REPEAT(CHAR(97 + {id} % 26), {length})");
    let there = table.rows.contains_key(&id);
    match random.below(10) {
        0 | 1 if there => {
            table.rows.remove(&id);
            format!("DELETE FROM crash.{name} WHERE id = {id}")
        }
        2 => {
            let (from, to) = (id.saturating_sub(30), id);
            let hit = table.rows.range_mut(from..=to);
            hit.for_each(|(_, row)| row.0 += 1);
            format!("UPDATE crash.{name} SET k = k + 1, w = {WORDS} WHERE id BETWEEN {from} AND {to}")
        }
        _ if there => {
            table.rows.insert(id, (k, length));
            format!("UPDATE crash.{name} SET k = {k}, w = {WORDS}, pad = {pad} WHERE id = {id}")
        }
        _ => {
            table.rows.insert(id, (k, length));
            format!("INSERT INTO crash.{name} (id, k, w, pad) VALUES ({id}, {k}, {WORDS}, {pad})")
        }
    }
}
