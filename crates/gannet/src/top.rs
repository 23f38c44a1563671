//! `gannet top`: who is active on a server and on what, in a terminal.

use crate::connection::{self, Connecting};
use gannet_wire::client::{Connection, ResultSet};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::time::{Duration, Instant};

/// What `gannet top --help` prints.
fn help() -> String {
    format!(
        "Who is active on a Gannet server, and on what, in the last minute: the console's front page in a terminal.\n\n\
         Usage: gannet top [options]\n\n{}\
         \x20     --every=SECONDS      how often to look (2)\n\
         \x20     --once               look once, print, end\n\n\
         The account needs PROCESS, and SELECT on performance_schema.*\n",
        connection::HELP
    )
}

/// Runs `gannet top` with these arguments.
pub fn run(args: &[String]) -> Result<(), String> {
    let (mut connecting, mut every, mut once) = (Connecting::new(), 2.0f64, false);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let (name, glued) = connection::split(arg);
        let mut next = || glued.clone().or_else(|| rest.next().cloned()).ok_or(format!("{name}: a value is missing"));
        match name {
            "--help" | "-?" => {
                print!("{}", help());
                return Ok(());
            }
            "--once" => once = true,
            "--every" => {
                let seconds = next()?.parse().ok().filter(|s| (0.1..=3600.0).contains(s));
                every = seconds.ok_or("--every: 0.1 to 3600 seconds")?;
            }
            _ if connecting.take(name, glued.as_deref(), &mut next)? => {}
            _ => return Err(format!("unknown option '{arg}'; see gannet top --help")),
        }
    }
    let (address, login) = connecting.finish()?;
    let mut connection = Connection::connect(&address, &login).map_err(|e| e.to_string())?;
    let color = std::io::stdout().is_terminal();
    let width = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).unwrap_or(100usize).clamp(40, 300);
    let mut before = Status::of(&mut connection)?;
    loop {
        // The first look has nothing to be compared with: it is a short one.
        std::thread::sleep(Duration::from_secs_f64(if once { every.min(1.0) } else { every }));
        let now = Status::of(&mut connection)?;
        let picture = render(&now, &before, &Seen::of(&mut connection)?, width, color);
        before = now;
        let clear = if color && !once { "\x1b[H\x1b[2J" } else { "" };
        let mut out = std::io::stdout().lock();
        if out.write_all(format!("{clear}{picture}").as_bytes()).and_then(|()| out.flush()).is_err() || once {
            // Nobody reads any more.
            return Ok(());
        }
    }
}

fn ask(connection: &mut Connection, sql: &str) -> Result<Vec<Vec<String>>, String> {
    connection.query(sql).map(|r: ResultSet| r.texts()).map_err(|e| e.to_string())
}

/// The server's counters at a moment.
struct Status {
    at: Instant,
    counts: BTreeMap<String, f64>,
}

impl Status {
    fn of(connection: &mut Connection) -> Result<Status, String> {
        let rows = ask(connection, "SHOW GLOBAL STATUS")?;
        let pair = |row: &Vec<String>| Some((row.first()?.clone(), row.get(1)?.parse().ok()?));
        Ok(Status { at: Instant::now(), counts: rows.iter().filter_map(pair).collect() })
    }

    fn get(&self, name: &str) -> f64 {
        self.counts.get(name).copied().unwrap_or(0.0)
    }

    /// Per second since an earlier moment.
    fn rate(&self, before: &Status, name: &str) -> f64 {
        let seconds = self.at.duration_since(before.at).as_secs_f64().max(1e-3);
        (self.get(name) - before.get(name)).max(0.0) / seconds
    }
}

/// A sum of active sessions, by what they are divided by.
type Division = Vec<(String, f64)>;

/// Who was active in the last minute.
#[derive(Default)]
struct Seen {
    classes: Division,
    /// Title and rows.
    lists: Vec<(&'static str, Division)>,
}

/// Title, expression, what else is asked.
const LISTS: [(&str, &str, &str); 5] = [
    ("Statements", "COALESCE(LEFT(DIGEST_TEXT, 200), '(not known yet)')", ""),
    ("Users", "USER", ""),
    ("Waits", "COALESCE(WAIT_EVENT, 'cpu')", ""),
    ("Tables and indexes", "OBJECT", "WHERE OBJECT IS NOT NULL"),
    ("Blockers", "CONCAT('session ', ROOT_BLOCKING_THREAD_ID)", "WHERE ROOT_BLOCKING_THREAD_ID IS NOT NULL"),
];

impl Seen {
    fn of(connection: &mut Connection) -> Result<Seen, String> {
        let mut divide = |what: &str, rest: &str| -> Result<Division, String> {
            let table = "performance_schema.gannet_active_sessions";
            let rows = ask(
                connection,
                &format!(
                    "SELECT {what}, SUM(WEIGHT) / (SELECT GREATEST(1, COUNT(DISTINCT SAMPLE_TIME)) FROM {table}) AS n \
                     FROM {table} {rest} GROUP BY 1 ORDER BY n DESC LIMIT 8"
                ),
            )?;
            let pair = |row: &Vec<String>| Some((row.first()?.clone(), row.get(1)?.parse().ok()?));
            Ok(rows.iter().filter_map(pair).collect())
        };
        let classes = divide("WAIT_CLASS", "")?;
        let lists = LISTS.iter().map(|(title, what, rest)| Ok((*title, divide(what, rest)?)));
        Ok(Seen { classes, lists: lists.collect::<Result<_, String>>()? })
    }
}

/// Class, colour of a terminal, letter where there are no colours.
const CLASSES: [(&str, u8, char); 8] = [
    ("cpu", 32, 'c'),
    ("lock", 31, 'l'),
    ("commit", 33, 'w'),
    ("io", 34, 'i'),
    ("engine", 35, 'e'),
    ("network", 36, 'n'),
    ("user", 37, 's'),
    ("other", 90, 'o'),
];

fn short(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.1}G", n / 1e9),
        n if n >= 1e6 => format!("{:.1}M", n / 1e6),
        n if n >= 1e4 => format!("{:.1}k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

fn render(now: &Status, before: &Status, seen: &Seen, width: usize, color: bool) -> String {
    let paint = |code: &str, text: &str| if color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
    let rate = |name: &str| short(now.rate(before, name));
    let mut out = String::new();
    let reads = now.rate(before, "Innodb_buffer_pool_read_requests").max(1.0);
    let missed = now.rate(before, "Innodb_buffer_pool_reads");
    let figures = [
        ("statements/s", rate("Questions")),
        ("commits/s", rate("Gannet_transactions_committed")),
        ("rows read/s", rate("Innodb_rows_read")),
        ("log syncs/s", rate("Innodb_os_log_fsyncs")),
        ("in pool", format!("{:.1} %", 100.0 * (1.0 - missed / reads).max(0.0))),
        ("connected", short(now.get("Threads_connected"))),
    ];
    for (name, value) in figures {
        let _ = write!(out, "{} {name}   ", paint("1", &value));
    }
    let total: f64 = seen.classes.iter().map(|(_, n)| n).sum();
    let _ = write!(out, "\n\n{} active sessions on average in the last minute\n", paint("1", &format!("{total:.2}")));
    let room = width as f64;
    let (mut bar, mut legend) = (String::new(), String::new());
    for (name, code, letter) in CLASSES {
        let n = seen.classes.iter().find(|(c, _)| c == name).map_or(0.0, |(_, n)| *n);
        if n <= 0.0 {
            continue;
        }
        let length = (n / total * room).round() as usize;
        let piece: String = std::iter::repeat_n(if color { '█' } else { letter }, length).collect();
        bar.push_str(&paint(&code.to_string(), &piece));
        let mark = paint(&code.to_string(), &if color { '█' } else { letter }.to_string());
        let _ = write!(legend, "{mark} {name} {n:.2}   ");
    }
    let _ = write!(out, "{bar}\n{legend}\n");
    for (title, rows) in seen.lists.iter().filter(|(_, rows)| !rows.is_empty()) {
        let _ = write!(out, "\n{}\n", paint("1", title));
        for (name, n) in rows {
            let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).take(width - 9).collect();
            let _ = writeln!(out, "{n:>7.2}  {name}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_without_colours() {
        let at = Instant::now();
        let counts = |n: f64| BTreeMap::from([("Questions".to_string(), n), ("Threads_connected".to_string(), 3.0)]);
        let before = Status { at, counts: counts(0.0) };
        let now = Status { at: at + Duration::from_secs(2), counts: counts(50_000.0) };
        let seen = Seen {
            classes: vec![("lock".into(), 3.0), ("cpu".into(), 1.0)],
            lists: vec![("Users", vec![("root\u{1b}[2J".into(), 4.0)]), ("Blockers", Vec::new())],
        };
        let picture = render(&now, &before, &seen, 40, false);
        assert!(picture.starts_with("25.0k statements/s"), "{picture}");
        assert!(picture.contains(&format!("{}{}\n", "c".repeat(10), "l".repeat(30))), "{picture}");
        // What a name has of control characters does not reach the terminal.
        assert!(picture.contains("   4.00  root [2J\n") && !picture.contains("Blockers"), "{picture}");
    }
}
