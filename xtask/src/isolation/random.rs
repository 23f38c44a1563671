//! Plays of random steps: two to four sessions of their own levels, with savepoints, locking reads, changes of one row
//! and of ranges, in a random order, on one of the scenes: with partitions, a second unique key, a foreign key that
//! cascades, triggers. A play that differs between two servers is made small.

use super::play::{Play, Played, SESSIONS, Stage};
use super::scenarios::{LEVELS, SCENES, Scene};
use crate::diff::Random;
use std::{collections::BTreeMap, fmt::Write, time::Duration};

/// As [`super::PATIENCE`], for the first time and for those that differ.
const PATIENCE: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(60)];
/// Differences after which a run ends.
const ENOUGH: usize = 8;

/// A play: the steps of its sessions, in the order in which they are taken.
#[derive(Clone)]
struct Steps {
    scene: &'static Scene,
    taken: Vec<(u8, String)>,
}

fn one<'t>(random: &mut Random, of: &[&'t str]) -> &'t str {
    random.pick::<&'t str>(of)
}

/// A condition on rows that are there and not, and the index that finds them.
fn place(random: &mut Random) -> (&'static str, String) {
    let n = random.below(6);
    match random.below(7) {
        0..3 => ("PRIMARY", format!("id = {n}")),
        // The row behind a range is locked by MariaDB, and was by MySQL before 8.0.18: ranges have no end.
        3 | 4 => ("PRIMARY", format!("id > {n}")),
        5 => ("k", format!("k = {n}")),
        _ => ("k", format!("k > {n}")),
    }
}

/// A step on a scene. `t` is its first table.
fn step(random: &mut Random, scene: &Scene) -> String {
    let t = scene.names.iter().find(|name| !["child", "tale", "mate"].contains(name)).copied().unwrap_or_default();
    if random.percent(25)
        && let Some(step) = own_step(random, t)
    {
        return step;
    }
    let (index, condition) = place(random);
    let n = random.below(7);
    let name = one(random, &["s", "p"]);
    match random.below(28) {
        0..4 => format!("SELECT id, v FROM {t} FORCE INDEX ({index}) WHERE {condition} ORDER BY id"),
        4..8 => {
            let lock = one(
                random,
                &["FOR UPDATE", "FOR SHARE", "FOR UPDATE NOWAIT", "FOR UPDATE SKIP LOCKED", "FOR SHARE SKIP LOCKED"],
            );
            format!("SELECT id, v FROM {t} FORCE INDEX ({index}) WHERE {condition} ORDER BY id {lock}")
        }
        8..12 => format!("UPDATE {t} FORCE INDEX ({index}) SET v = v + 1 WHERE {condition}"),
        12 => format!("UPDATE {t} FORCE INDEX ({index}) SET k = {n} WHERE {condition}"),
        13 | 14 => format!("INSERT INTO {t} VALUES ({n}, {}, 1)", random.below(6)),
        15 => format!("INSERT INTO {t} VALUES ({n}, {n}, 1) ON DUPLICATE KEY UPDATE v = v + 10"),
        16 => format!("REPLACE INTO {t} VALUES ({n}, {n}, 2)"),
        17 => format!("DELETE FROM {t} WHERE id = {n}"),
        18 => format!("SAVEPOINT {name}"),
        19 | 20 => format!("ROLLBACK TO SAVEPOINT {name}"),
        21 => format!("RELEASE SAVEPOINT {name}"),
        22 => "COMMIT AND CHAIN".into(),
        23 => format!("SET @x = (SELECT SUM(v) FROM {t} FORCE INDEX ({index}) WHERE {condition})"),
        24 => format!("DO (SELECT MAX(v) FROM {t} FORCE INDEX ({index}) WHERE {condition})"),
        25 => {
            let order = one(random, &["id", "id DESC"]);
            format!("UPDATE {t} SET v = v + 1 WHERE id > {n} ORDER BY {order} LIMIT {}", 1 + n % 2)
        }
        26 => format!("DELETE FROM {t} WHERE id > {n} ORDER BY id{} LIMIT 1", one(random, &["", " DESC"])),
        _ => one(random, &["ROLLBACK AND CHAIN", "COMMIT", "ROLLBACK", "START TRANSACTION WITH CONSISTENT SNAPSHOT"])
            .into(),
    }
}

/// What a scene has of its own.
fn own_step(random: &mut Random, t: &str) -> Option<String> {
    let (n, m, p) = (random.below(7), random.below(6), random.below(5));
    Some(match (t, random.below(8)) {
        ("parts", 0 | 1) => format!("UPDATE parts SET id = {n} WHERE id = {m}"),
        ("parts", 2) => {
            format!("SELECT id, v FROM parts PARTITION (p1) ORDER BY id {}", one(random, &["", "FOR UPDATE"]))
        }
        ("parts", 3) => format!("UPDATE parts PARTITION (p2) SET v = v + 1 WHERE id > {m}"),
        ("twice", 0 | 1) => format!("INSERT INTO twice VALUES ({n}, {m}, 1) ON DUPLICATE KEY UPDATE v = v + 10"),
        ("twice", 2) => format!("INSERT INTO twice VALUES ({n}, {m}, 1) ON DUPLICATE KEY UPDATE k = k + 5"),
        ("twice", 3) => format!("REPLACE INTO twice VALUES ({n}, {m}, 3)"),
        ("twice", 4) => format!("INSERT IGNORE INTO twice VALUES ({n}, {m}, 4)"),
        ("twice", 5) => format!("UPDATE IGNORE twice FORCE INDEX (PRIMARY) SET k = {m} WHERE id = {n}"),
        ("parent", 0) => format!("DELETE FROM parent WHERE id = {m}"),
        ("parent", 1) => format!("UPDATE parent SET id = {n} WHERE id = {m}"),
        ("parent", 2 | 3) => format!("INSERT INTO child VALUES ({}, {p}, 2)", n + 2),
        ("parent", 4) => format!("UPDATE child FORCE INDEX (PRIMARY) SET p = {p} WHERE id = {n}"),
        ("parent", 5) => format!("UPDATE child FORCE INDEX (p) SET v = v + 1 WHERE p = {p}"),
        ("parent", 6) => format!("SELECT id, p, v FROM child FORCE INDEX (p) WHERE p = {p} ORDER BY id FOR SHARE"),
        ("parent", _) => format!("DELETE FROM child WHERE id = {n}"),
        ("pair", _) => pair_step(random),
        ("told", 0 | 1) => "SELECT id, n FROM tale ORDER BY id".into(),
        ("told", 2) => format!("SELECT n FROM tale WHERE id = {} FOR UPDATE", n % 2),
        ("told", 3) => format!("UPDATE tale SET n = n + 100 WHERE id = {}", n % 2),
        _ => return None,
    })
}

/// What reads one table to change another, or calls what does.
fn pair_step(random: &mut Random) -> String {
    let (n, m) = (random.below(7), random.below(6));
    let (index, condition) = place(random);
    let read = format!("SELECT MAX(v) FROM mate FORCE INDEX ({index}) WHERE {condition}");
    match random.below(18) {
        0 => format!("INSERT INTO pair VALUES ({n}, {m}, ({read}))"),
        1 => format!("REPLACE INTO pair VALUES ({n}, {m}, (SELECT COUNT(*) FROM mate WHERE id = {m}))"),
        2 => format!("DELETE FROM pair WHERE id = {n} AND v < ({read})"),
        3 => format!("UPDATE pair SET v = v + ({read}) WHERE id = {n}"),
        4 => format!("UPDATE pair JOIN mate ON mate.id = {m} SET pair.v = mate.v + 1 WHERE pair.id = {n}"),
        5 => format!("DELETE pair FROM pair JOIN mate ON mate.id = {m} WHERE pair.id = {n}"),
        6 => format!("INSERT IGNORE INTO pair SELECT {n}, k, v FROM mate WHERE id = {m}"),
        7 => format!("REPLACE INTO pair SELECT {n}, k, v FROM mate WHERE id = {m}"),
        8 => {
            format!("INSERT INTO pair SELECT id, k, v FROM mate WHERE id = {m} ON DUPLICATE KEY UPDATE v = mate.v + 5")
        }
        9 => format!("CALL pair_if({m}, {n})"),
        10 => format!("SET @x = pair_{}({m})", one(random, &["return", "into"])),
        11 => format!("SELECT pair_{}({m})", one(random, &["return", "into"])),
        12 => format!("UPDATE pair SET v = pair_{}({m}) WHERE id = {n}", one(random, &["return", "into"])),
        13 => "SELECT @x".into(),
        14 | 15 => {
            let how = one(random, &["FOR SHARE OF mate", "FOR SHARE OF mate NOWAIT", "FOR UPDATE OF pair SKIP LOCKED"]);
            format!("SELECT pair.v, mate.v FROM pair JOIN mate ON mate.id = {m} WHERE pair.id = {n} {how}")
        }
        _ => format!("UPDATE mate SET v = v + 100 WHERE id = {m}"),
    }
}

impl Steps {
    fn any(random: &mut Random) -> Steps {
        let scene = random.pick(SCENES);
        let sessions = 2 + random.below(SESSIONS - 1);
        let mut all = Vec::new();
        for who in 0..sessions {
            // The transaction that has begun keeps its own.
            let level = one(random, &LEVELS);
            all.push((who as u8, format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")));
            all.push((who as u8, "COMMIT".into()));
            all.push((
                who as u8,
                one(random, &["START TRANSACTION", "START TRANSACTION", "START TRANSACTION READ ONLY"]).into(),
            ));
        }
        for _ in 0..4 + random.below(12) {
            all.push((random.below(sessions) as u8, step(random, scene)));
        }
        Steps { scene, taken: all }
    }

    fn play(&self, stage: &mut Stage, patience: Duration) -> Result<String, String> {
        let of = |who: usize| -> Vec<&str> {
            self.taken.iter().filter(|(w, _)| usize::from(*w) == who).map(|(_, sql)| sql.as_str()).collect()
        };
        let all: Vec<Vec<&str>> = (0..SESSIONS).map(of).collect();
        let sessions: Vec<&[&str]> = all.iter().map(Vec::as_slice).collect();
        let order: Vec<u8> = self.taken.iter().map(|(who, _)| *who).collect();
        stage.level("REPEATABLE READ")?;
        stage.each("SET @x = NULL")?;
        match stage.play(&Play { scene: self.scene, sessions: &sessions, read: "", later: true }, &order, patience)? {
            Played::Whole(line) => Ok(line),
            Played::Stuck(_) => Err("a step was not taken".into()),
        }
    }

    /// What both did, if it is not the same.
    fn differ(&self, pair: &mut [&mut Stage; 2], patience: Duration) -> Result<Option<[String; 2]>, String> {
        let [a, b] = pair;
        let (a, b) = std::thread::scope(|scope| {
            let second = scope.spawn(|| self.play(b, patience));
            (self.play(a, patience), second.join())
        });
        let (a, b) = (a?, b.map_err(|_| "the second stage panicked".to_owned())??);
        Ok((a != b).then_some([a, b]))
    }

    fn without(&self, at: usize) -> Steps {
        let mut fewer = self.clone();
        fewer.taken.remove(at);
        fewer
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (who, sql) in &self.taken {
            let _ = write!(text, "\n  {}: {sql}", char::from(b'A' + who));
        }
        text
    }
}

/// Why two plays may differ.
fn explained(play: &Steps, shown: &[String; 2]) -> Option<&'static str> {
    let has = |line: &str| shown.each_ref().map(|s| s.contains(line));
    let has_step = |words: &str| play.taken.iter().any(|(_, sql)| sql.contains(words));
    let asks = |words: &str| play.taken.iter().any(|(_, sql)| sql.ends_with(words));
    match has("error 1213") {
        [true, true] => return Some("a deadlock on both: whose work is least is each server's own count"),
        [false, true] => return Some("who raises his shared lock goes in front of those who wait: no deadlock"),
        _ => {}
    }
    // It takes the entry behind the one that it looks for, and keeps what it has met of a duplicate, with the gap.
    let [ours, theirs] = shown.each_ref().map(|s| s.split("; "));
    let parted = ours.zip(theirs).find(|(a, b)| a != b);
    if parted.is_some_and(|(a, b)| b.contains("error 1792") && !a.contains("error 1792")) {
        return Some("MySQL's START TRANSACTION goes on with READ ONLY of the transaction that it commits");
    }
    let ranges = has_step("UPDATE") && has_step(" > ");
    let early = |(a, b): (&str, &str)| a.contains("waits") && (b.contains("error 1062") || ranges);
    let unseen = has_step("READ UNCOMMITTED") && ranges && has("waits") == [true, true];
    if parted.is_some_and(early) || unseen {
        return Some("an UPDATE locks a batch of rows before it changes the first");
    }
    let held = |a: &str| a.contains("waits") || a.contains("error 1213");
    if parted.is_some_and(|(a, b)| held(a) && b.contains("error 1452")) {
        return Some("an entry waits for its gap before the row's parent is looked for");
    }
    let more = |(a, b): (&str, &str)| b.contains("waits") && !a.contains("waits") || b.contains("1205");
    let backward = play.taken.iter().any(|(_, sql)| sql.contains(" DESC"));
    if backward && (parted.is_some_and(more) || asks("SKIP LOCKED")) {
        return Some("InnoDB locks the row in front of a range that it reads backward");
    }
    match play.scene.names {
        ["pair", _] if parted.is_some_and(more) && has_step(" OF ") => {
            return Some(
                "of a join whose second table has no row, the first is not read: which one is the plan's choice",
            );
        }
        ["parts"] if parted.is_some() && has_step(" LIMIT ") => {
            return Some("whether the rows of several parts are sorted, and all locked, is the plan's choice");
        }
        ["child", _] if parted.is_some_and(more) && (has("1062")[1] || has("1452")[1]) => {
            return Some("InnoDB keeps what a refused change has locked of the children");
        }
        _ => {}
    }
    if parted.is_some_and(|(a, b)| b.contains("waits") && !a.contains("waits")) {
        if asks("SKIP LOCKED") {
            return Some("InnoDB locks the gap behind a row that SKIP LOCKED has passed");
        }
        match play.scene.names {
            ["twice"] => return Some("InnoDB's check of a second unique key locks entries and gaps beside the key"),
            ["parts"] => return Some("InnoDB's ordered read of several partitions locks the first row of each"),
            _ => {}
        }
    }
    (has("waits") == [true, true] && (asks("NOWAIT") && has("error 1205") == [false, true] || asks("SKIP LOCKED")))
        .then_some("who raises his shared lock goes in front of those who wait: nothing is locked for him")
}

/// Compares two servers.
pub(super) fn compare(a: &mut Stage, b: &mut Stage, seed: u64, plays: u64) -> Result<String, String> {
    let mut pair = [a, b];
    let mut found = Vec::new();
    let mut why: BTreeMap<&str, usize> = BTreeMap::new();
    let mut steps = 0;
    for seed in seed..seed + plays {
        let mut play = Steps::any(&mut Random::new(seed));
        steps += play.taken.len();
        if plays == 1 {
            println!("seed {seed}:{}", play.text());
        }
        let lost = |e: String| format!("seed {seed}:{}\n  {e}", play.text());
        if play.differ(&mut pair, PATIENCE[0]).map_err(lost)?.is_none() {
            continue;
        }
        let Some(mut shown) = play.differ(&mut pair, PATIENCE[1]).map_err(lost)? else { continue };
        if let Some(reason) = explained(&play, &shown) {
            *why.entry(reason).or_default() += 1;
            continue;
        }
        let mut at = play.taken.len();
        while at > 0 {
            at -= 1;
            let fewer = play.without(at);
            if let Some(still) = fewer.differ(&mut pair, PATIENCE[1])?
                && explained(&fewer, &still).is_none()
            {
                (play, shown) = (fewer, still);
            }
        }
        found.push(format!("seed {seed}:{}\n  first:  {}\n  second: {}\n", play.text(), shown[0], shown[1]));
        println!("{}", found[found.len() - 1]);
        if found.len() >= ENOUGH {
            break;
        }
    }
    let mut text = format!("{plays} plays, {steps} steps: {} differences", found.len());
    why.iter().for_each(|(reason, n)| _ = write!(text, "\n  explained {n:>5}  {reason}"));
    if found.is_empty() { Ok(text) } else { Err(text) }
}
