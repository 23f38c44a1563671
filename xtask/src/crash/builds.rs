//! Clients that load and rebuild: tables are filled from sorted rows, indexes are built, alone, two at once, beside a
//! DROP, and killed by KILL. After each death of the server a table is as it was before one of the statements under
//! way or behind it: rows, indexes, constraints, AUTO_INCREMENT.

use gannet_wire::client::{Connection, Error};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Party;
use super::ledger::Random;
use super::server::Server;

/// Rows of a filled table: more than the number from which on trees are built.
const ROWS: u64 = 6_000;
/// Texts of which no more are different.
const TEXTS: u64 = 1_500;
/// What a server that has no room may answer.
const NO_ROOM: [u16; 4] = [1114, 1021, 1026, 3675];

/// A table as it may be; `None`: it is not there.
type State = Option<Table>;

#[derive(Clone, PartialEq, Eq, Debug)]
struct Table {
    /// Rows 1 to this.
    rows: u64,
    /// What the rows are made with.
    salt: u64,
    indexes: BTreeSet<&'static str>,
    /// Columns that were added.
    added: u64,
}

/// The indexes that a table may have, but for one whose rows are equal.
const INDEXES: [(&str, &str); 4] =
    [("ik", "UNIQUE KEY ik (k)"), ("it", "KEY it (s, k)"), ("ip", "KEY ip (s(3), id)"), ("ie", "KEY ie ((k * 2))")];
const REFUSED: &str = "UNIQUE KEY no (s)";

/// One statement, and what it makes of a table. It may be refused with this error, and then changes nothing.
struct Step {
    sql: String,
    effect: Box<dyn Fn(&State) -> State + Send>,
    refused: &'static [u16],
}

/// A table, and what its client knows.
pub(super) struct Builds {
    number: u64,
    files: PathBuf,
    /// What it may be: one state, but for statements that were under way.
    known: Vec<State>,
    done: u64,
    refused: u64,
}

/// The rows of a table, by a query over the numbers.
fn values(salt: u64) -> String {
    format!("n, (n * 7919 + {salt}) % 100003, CONCAT('text ', (n * 31 + {salt}) % {TEXTS}), REPEAT('p', n % 90)")
}

impl Builds {
    pub(super) fn new(number: u64, files: &Path) -> Builds {
        Builds { number, files: files.to_owned(), known: vec![None], done: 0, refused: 0 }
    }

    fn name(&self) -> String {
        format!("crash.b{}", self.number)
    }

    fn step(&self, state: &State, random: &mut Random) -> Step {
        let name = self.name();
        let Some(table) = state else { return self.create() };
        if table.rows == 0 {
            return self.fill(random);
        }
        match random.below(14) {
            0 | 1 => Step::table(format!("TRUNCATE TABLE {name}"), |t| t.rows = 0),
            2 => Step { sql: format!("DROP TABLE {name}"), effect: Box::new(|_| None), refused: &[] },
            3 => Step::table(format!("OPTIMIZE TABLE {name}"), |_| ()),
            4 => Step::table(format!("ALTER TABLE {name} FORCE, ALGORITHM = COPY"), |_| ()),
            5 => {
                let sql = format!("ALTER TABLE {name} ADD COLUMN more{} INT NOT NULL DEFAULT 5", table.added);
                Step::table(sql, |t| t.added += 1)
            }
            6 => {
                let sql = format!("DELETE FROM {name} WHERE id > {}", table.rows / 2);
                let rows = table.rows / 2;
                Step::table(sql, move |t| t.rows = t.rows.min(rows))
            }
            7 if table.rows > TEXTS => Step {
                refused: &[1062],
                ..Step::table(format!("ALTER TABLE {name} ADD {REFUSED}, ADD KEY also (k)"), |_| ())
            },
            _ => self.index(table, random),
        }
    }

    fn create(&self) -> Step {
        let sql = format!(
            "CREATE TABLE {} (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, s VARCHAR(40) NOT NULL, \
             pad VARCHAR(100) NOT NULL, UNIQUE KEY ik (k), KEY it (s, k), CHECK (k >= 0))",
            self.name()
        );
        let indexes = BTreeSet::from(["ik", "it"]);
        let table = Table { rows: 0, salt: 0, indexes, added: 0 };
        Step { sql, effect: Box::new(move |_| Some(table.clone())), refused: &[] }
    }

    /// Rows for a table without any, by one of the ways that build its trees.
    fn fill(&self, random: &mut Random) -> Step {
        let (rows, salt) = (ROWS / 2 + random.below(ROWS / 2), random.below(90_000));
        let (name, columns) = (self.name(), "(id, k, s, pad)");
        let sql = match random.below(3) {
            0 => format!("INSERT INTO {name} {columns} SELECT {} FROM crash.numbers WHERE n <= {rows}", values(salt)),
            1 => {
                let row = |n: u64| {
                    let (k, s) = ((n * 7919 + salt) % 100_003, (n * 31 + salt) % TEXTS);
                    format!("({n},{k},'text {s}','{}')", "p".repeat((n % 90) as usize))
                };
                // In no order.
                let mut all: Vec<String> = (1..=rows).map(row).collect();
                all.reverse();
                format!("INSERT INTO {name} {columns} VALUES {}", all.join(","))
            }
            _ => {
                // Of two statements at once each has its own.
                let dir = self.files.join(format!("b{}", self.number));
                let file = dir.join(format!("{rows}.{salt}"));
                let row = |n: u64| {
                    let (k, s) = ((n * 7919 + salt) % 100_003, (n * 31 + salt) % TEXTS);
                    format!("{n}\t{k}\ttext {s}\t{}\n", "p".repeat((n % 90) as usize))
                };
                let _ = std::fs::create_dir(&dir);
                let _ = std::fs::write(&file, (1..=rows).map(row).collect::<String>());
                format!("LOAD DATA INFILE '{}' INTO TABLE {name} {columns}", file.display())
            }
        };
        Step::table(sql, move |t| (t.rows, t.salt) = (rows, salt))
    }

    /// Adds an index or several, or drops one.
    fn index(&self, table: &Table, random: &mut Random) -> Step {
        let missing: Vec<_> = INDEXES.iter().filter(|(name, _)| !table.indexes.contains(name)).collect();
        if missing.is_empty() || random.below(4) == 0 {
            let index = INDEXES[random.below(4) as usize].0;
            let refused: &[u16] = &[1091];
            return Step {
                refused,
                ..Step::table(format!("ALTER TABLE {} DROP INDEX {index}", self.name()), move |t| {
                    t.indexes.remove(index);
                })
            };
        }
        let many = 1 + random.below(missing.len() as u64) as usize;
        let names: Vec<&'static str> = missing[..many].iter().map(|i| i.0).collect();
        let add: Vec<String> = missing[..many].iter().map(|i| format!("ADD {}", i.1)).collect();
        let sql = format!("ALTER TABLE {} {}", self.name(), add.join(", "));
        Step { refused: &[1061], ..Step::table(sql, move |t| t.indexes.extend(&names)) }
    }

    /// The states behind a statement whose outcome is not known.
    fn perhaps(states: &[State], steps: &[&Step]) -> Vec<State> {
        let mut all = states.to_vec();
        // In any order, each or not.
        for _ in steps {
            for step in steps {
                let behind: Vec<State> = all.iter().map(|s| (step.effect)(s)).collect();
                behind.into_iter().for_each(|state| {
                    if !all.contains(&state) {
                        all.push(state);
                    }
                });
            }
        }
        all
    }

    /// Runs a statement, whose table is in one of `known`; true when the server is gone.
    fn run(&mut self, db: &mut Connection, step: &Step, also: &[u16]) -> Result<bool, String> {
        let before = std::mem::take(&mut self.known);
        self.known = Builds::perhaps(&before, &[step]);
        match db.query(&step.sql) {
            Ok(_) => {
                let mut behind: Vec<State> = Vec::new();
                for state in before.iter().map(|s| (step.effect)(s)) {
                    if !behind.contains(&state) {
                        behind.push(state);
                    }
                }
                self.known = behind;
                self.done += 1;
                Ok(false)
            }
            Err(Error::Server { code, message, .. }) if code != 1053 => {
                self.known = before;
                self.refused += 1;
                match step.refused.contains(&code) || also.contains(&code) {
                    true => Ok(false),
                    false => Err(format!("{}: error {code}: {message}", shortened(&step.sql))),
                }
            }
            Err(_) => Ok(true),
        }
    }

    /// Two statements at once on one table, or one that is killed.
    fn beside(
        &mut self,
        server: &Server,
        db: &mut Connection,
        full: bool,
        random: &mut Random,
    ) -> Result<bool, String> {
        let state = self.known[0].clone();
        // Beside a TRUNCATE an index over rows that are equal may succeed.
        let mut draw = |builds: &Builds| loop {
            let step = builds.step(&state, random);
            if !step.sql.contains(REFUSED) {
                return step;
            }
        };
        let (step, another) = (draw(self), draw(self));
        let Ok(mut other) = server.connect() else { return Ok(true) };
        let pause = std::time::Duration::from_millis(random.below(30));
        let number = self.number;
        let second = if random.below(2) == 0 {
            let id = match db.query("SELECT CONNECTION_ID()") {
                Ok(set) => set.texts()[0][0].clone(),
                Err(_) => return Ok(true),
            };
            Step { sql: format!("KILL QUERY {id}"), effect: Box::new(Clone::clone), refused: &[1094] }
        } else {
            another
        };
        let before = self.known.clone();
        self.known = Builds::perhaps(&before, &[&step, &second]);
        let (first, second_done) = std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                std::thread::sleep(pause);
                other.query(&second.sql).map(drop)
            });
            let first = db.query(&step.sql).map(drop);
            (first, running.join().unwrap_or(Ok(())))
        });
        // Of what is not there, of a name that is there, by the other; the KILL; rows that are there already.
        let expected = [1146, 1050, 1051, 1060, 1061, 1062, 1091, 1317, 1412, 1205, 1213];
        for (outcome, sql) in [(first, &step.sql), (second_done, &second.sql)] {
            match outcome {
                Ok(()) => self.done += 1,
                Err(Error::Server { code, message, .. }) if code != 1053 => {
                    self.refused += 1;
                    if !expected.contains(&code) && code != 1094 && !(full && NO_ROOM.contains(&code)) {
                        return Err(format!("b{number}, two at once: {}: error {code}: {message}", shortened(sql)));
                    }
                }
                Err(_) => return Ok(true),
            }
        }
        // Which of them was there first is seen at once.
        self.check(db).or_else(|e| if e.contains("gone: ") { Ok(()) } else { Err(e) })?;
        Ok(false)
    }

    /// The table is as one of the known states says; from then on it is that one.
    fn check(&mut self, db: &mut Connection) -> Result<(), String> {
        let name = self.name();
        let there = count(db, &format!("SHOW TABLES FROM crash LIKE 'b{}'", self.number))?.len();
        if there == 0 {
            return self.settle(None);
        }
        let mut found = Table { rows: 0, salt: 0, indexes: BTreeSet::new(), added: 0 };
        for row in count(db, &format!("SHOW INDEX FROM {name}"))? {
            match INDEXES.iter().find(|i| i.0 == row[2]) {
                Some(index) => drop(found.indexes.insert(index.0)),
                None if row[2] == "PRIMARY" => {}
                None => return Err(format!("{name}: there is an index {}", row[2])),
            }
        }
        found.added = count(db, &format!("SHOW COLUMNS FROM {name} LIKE 'more%'"))?.len() as u64;
        let first = count(db, &format!("SELECT k FROM {name} WHERE id = 1"))?;
        if let Some(k) = first.first().and_then(|row| row[0].parse::<u64>().ok()) {
            found.salt = (k + 100_003 - 7919) % 100_003;
        }
        let salt = found.salt;
        let right = format!(
            "k = (id * 7919 + {salt}) % 100003 AND s = CONCAT('text ', (id * 31 + {salt}) % {TEXTS}) \
             AND pad = REPEAT('p', id % 90)"
        );
        let more: String = (0..found.added).map(|n| format!(" AND more{n} = 5")).collect();
        let sums = format!(
            "SELECT COUNT(*), COALESCE(SUM({right}{more}), 0), COALESCE(MAX(id), 0), COALESCE(SUM(id), 0) FROM {name}"
        );
        let by_row = count(db, &format!("{sums} FORCE INDEX (PRIMARY)"))?;
        let number = |i: usize| by_row[0][i].parse::<u64>().unwrap_or(u64::MAX);
        found.rows = number(0);
        if number(1) != found.rows || number(2) != found.rows {
            return Err(format!("{name}: rows, of these right, greatest: {by_row:?}"));
        }
        for index in &found.indexes {
            let by_index = count(db, &format!("{sums} FORCE INDEX ({index})"))?;
            if by_index != by_row {
                return Err(format!("{name}: by row {by_row:?}, by index {index} {by_index:?}"));
            }
        }
        let checked = count(db, &format!("CHECK TABLE {name}"))?;
        if checked.iter().any(|row| row.last().is_none_or(|text| text != "OK")) {
            return Err(format!("CHECK TABLE {name}: {checked:?}"));
        }
        if found.rows == 0 {
            // What an empty table was filled with before says nothing.
            self.known.iter_mut().flatten().filter(|t| t.rows == 0).for_each(|t| t.salt = 0);
        }
        self.settle(Some(found))
    }

    fn settle(&mut self, found: State) -> Result<(), String> {
        if !self.known.contains(&found) {
            return Err(format!("{}: there {found:?}, to be {:?}", self.name(), self.known));
        }
        self.known = vec![found];
        Ok(())
    }

    /// A constraint refuses what it did, and the next number is one that no row has.
    fn constraints(&mut self, db: &mut Connection) -> Result<(), String> {
        let (name, Some(table)) = (self.name(), self.known[0].clone()) else { return Ok(()) };
        let refused = |db: &mut Connection, sql: String, want: u16| match db.query(&sql) {
            Err(Error::Server { code, .. }) if code == want || code == 1114 => Ok(()),
            Err(e @ Error::Server { .. }) => Err(format!("{sql}: {want} was to be, and {e} is")),
            Err(_) => Ok(()),
            Ok(_) => Err(format!("{sql}: {want} was to be")),
        };
        refused(db, format!("INSERT INTO {name} (k, s, pad) VALUES (-1, '', '')"), 3819)?;
        if table.rows > 0 && table.indexes.contains("ik") {
            let k = (7919 + table.salt) % 100_003;
            refused(db, format!("INSERT INTO {name} (k, s, pad) VALUES ({k}, '', '')"), 1062)?;
        }
        if db.query("BEGIN").is_err() {
            return Ok(());
        }
        if let Ok(done) = db.query(&format!("INSERT INTO {name} (k, s, pad) VALUES (100004, '', '')")) {
            drop(done);
            let id = count(db, "SELECT LAST_INSERT_ID()")?[0][0].parse::<u64>().unwrap_or(0);
            if id <= table.rows {
                return Err(format!("{name}: AUTO_INCREMENT gives {id}, and there are {} rows", table.rows));
            }
        }
        let _ = db.query("ROLLBACK");
        Ok(())
    }
}

impl Step {
    fn table(sql: String, change: impl Fn(&mut Table) + Send + 'static) -> Step {
        let effect = move |state: &State| {
            let mut after = state.clone();
            if let Some(table) = &mut after {
                change(table);
            }
            after
        };
        Step { sql, effect: Box::new(effect), refused: &[] }
    }
}

fn count(db: &mut Connection, sql: &str) -> Result<Vec<Vec<String>>, String> {
    match db.query(sql) {
        Ok(set) => Ok(set.texts()),
        Err(e @ Error::Server { .. }) => Err(format!("{}: {e}", shortened(sql))),
        Err(e) => Err(format!("gone: {e}")),
    }
}

fn shortened(sql: &str) -> String {
    sql.chars().take(150).collect()
}

impl Party for Builds {
    fn load(&mut self, server: &Server, full: bool, random: &mut Random) -> Result<(), String> {
        let Ok(mut db) = server.connect() else { return Ok(()) };
        loop {
            let gone = if random.below(4) == 0 {
                self.beside(server, &mut db, full, random)?
            } else {
                let step = self.step(&self.known[0].clone(), random);
                self.run(&mut db, &step, if full { &NO_ROOM } else { &[] })?
            };
            if gone {
                return Ok(());
            }
            if self.known.len() > 1 && self.check(&mut db).is_err_and(|e| !e.contains("gone: ")) {
                return Err(format!("{}: neither of {:?}", self.name(), self.known));
            }
            if self.known.len() > 1 {
                return Ok(());
            }
        }
    }

    fn verify(&mut self, db: &mut Connection) -> Result<(), String> {
        let _ = std::fs::remove_dir_all(self.files.join(format!("b{}", self.number)));
        self.check(db)?;
        self.constraints(db)
    }

    fn counts(&self) -> [u64; 3] {
        [0, self.done, self.refused]
    }
}
