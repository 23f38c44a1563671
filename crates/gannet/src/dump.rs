//! `gannet dump` and `gannet load`: the options of the two clients.

use crate::connection::{self, Connecting, split};
use gannet_dump::{Compression, DumpOptions, Existing, LoadOptions, Peer};
use std::path::PathBuf;

const DUMP_HELP: [&str; 2] = [
    "\
Usage: gannet dump [options] DIR

Writes the schemas of a MySQL, MariaDB or Gannet server into a directory, in the format of MySQL Shell's dumps: one
snapshot, read by several connections. DIR must be empty, or not there.

",
    "\
      --schema=NAME        this schema (again for more); without: all but the server's own
      --table=NAME         this table or view, as schema.table (again for more)
      --except=NAME        without this table or view (again for more)
      --threads=N          connections that read side by side (4)
      --chunk-size=BYTES   rows in a file, before compression (64M)
      --compression=NAME   of the rows: gzip, zstd or none (gzip)
      --users              accounts and their grants, too
      --no-programs        without routines, triggers and events
      --no-data            definitions only
      --no-lock            each table as it is at the time: no snapshot of all
  -q, --quiet              without progress
      --help
",
];

const LOAD_HELP: [&str; 2] = [
    "\
Usage: gannet load [options] DIR|FILE

Brings a dump into a MySQL, MariaDB or Gannet server: a directory of `gannet dump`, MySQL Shell or mydumper, or a file of
SQL (.sql, .sql.gz, .sql.zst). Tables get their indexes after their rows. What is in is written down on the server (schema gannet_load), so that a load that was broken
off goes on where it was when it is started again.

",
    "\
      --schema=NAME        this schema (again for more); without: all of the dump
      --table=NAME         this table or view, as schema.table (again for more)
      --into=NAME          another name for the schema
      --threads=N          connections that write side by side (4)
      --piece-size=BYTES   rows in a transaction (16M)
      --existing=WHAT      tables that are there: refuse, keep (and add the rows), drop (refuse)
      --users              accounts and their grants, too
      --no-programs        without routines, triggers and events
      --reset              forget what was loaded of this dump before
      --verify             read all rows again and compare checksums
      --skip-log           not into the server's binary log
  -q, --quiet              without progress
      --help
",
];

fn help(of: [&str; 2]) -> String {
    [of[0], connection::HELP, of[1]].concat()
}

/// Options as they are read: those of the server apart.
struct Arguments<'a> {
    rest: std::slice::Iter<'a, String>,
    server: Connecting,
    path: Option<PathBuf>,
}

impl<'a> Arguments<'a> {
    fn new(args: &'a [String]) -> Self {
        Arguments { rest: args.iter(), server: Connecting::new(), path: None }
    }

    /// Reads all; `take` gets an option and its value, and says whether it knows it. False: help was asked for.
    fn read(
        &mut self,
        help: &str,
        mut take: impl FnMut(&str, &mut dyn FnMut() -> Result<String, String>) -> Result<bool, String>,
    ) -> Result<bool, String> {
        while let Some(arg) = self.rest.next() {
            let (name, glued) = split(arg);
            let rest = &mut self.rest;
            let mut value = || match &glued {
                Some(value) => Ok(value.clone()),
                None => rest.next().cloned().ok_or_else(|| format!("option {arg} needs a value")),
            };
            match name {
                "--help" | "-?" => return Ok(false),
                _ if self.server.take(name, glued.as_deref(), &mut value)? || take(name, &mut value)? => {}
                option if option.starts_with('-') => return Err(format!("unknown option {option}\n\n{help}")),
                _ if self.path.is_some() => return Err(format!("'{arg}': there is another already")),
                _ => self.path = Some(PathBuf::from(arg)),
            }
        }
        Ok(true)
    }

    fn finish(self, help: &str) -> Result<(Peer, PathBuf), String> {
        let path = self.path.ok_or_else(|| format!("a directory or file is missing\n\n{help}"))?;
        let (address, login) = self.server.finish()?;
        Ok((Peer { address, login }, path))
    }
}

/// A number with a unit: K, M or G.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no number of bytes");
    let (digits, factor) = match text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']) {
        digits if digits.len() + 1 < text.len() => return Err(wrong()),
        digits => match text[digits.len()..].to_ascii_uppercase().as_str() {
            "" => (digits, 1),
            "K" => (digits, 1 << 10),
            "M" => (digits, 1 << 20),
            _ => (digits, 1 << 30),
        },
    };
    let n: u64 = digits.parse().map_err(|_| wrong())?;
    n.checked_mul(factor).filter(|n| *n > 0).ok_or_else(wrong)
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=256) => Ok(n),
        _ => Err(format!("'{text}' is no number of connections (1 to 256)")),
    }
}

/// Runs `gannet dump` with these arguments.
pub fn run(args: &[String]) -> Result<(), String> {
    let help = help(DUMP_HELP);
    let mut arguments = Arguments::new(args);
    let mut o = DumpOptions {
        peer: Peer { address: gannet_wire::client::Address::Unix(PathBuf::new()), login: Default::default() },
        dir: PathBuf::new(),
        schemas: Vec::new(),
        tables: Vec::new(),
        without: Vec::new(),
        threads: 4,
        chunk_bytes: 64 << 20,
        compression: Compression::Gzip,
        users: false,
        programs: true,
        data: true,
        consistent: true,
        quiet: false,
    };
    let go_on = arguments.read(&help, |name, value| {
        match name {
            "--schema" => o.schemas.push(value()?),
            "--table" => o.tables.push(value()?),
            "--except" => o.without.push(value()?),
            "--threads" => o.threads = threads(&value()?)?,
            "--chunk-size" => o.chunk_bytes = size(&value()?)?,
            "--compression" => {
                let name = value()?;
                o.compression = Compression::named(&name).ok_or_else(|| format!("compression {name} is not known"))?;
            }
            "--users" => o.users = true,
            "--no-programs" => o.programs = false,
            "--no-data" => o.data = false,
            "--no-lock" => o.consistent = false,
            "-q" | "--quiet" => o.quiet = true,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if !go_on {
        print!("{help}");
        return Ok(());
    }
    (o.peer, o.dir) = arguments.finish(&help)?;
    say(gannet_dump::dump(&o))
}

/// Runs `gannet load` with these arguments.
pub fn run_load(args: &[String]) -> Result<(), String> {
    let help = help(LOAD_HELP);
    let mut arguments = Arguments::new(args);
    let mut o = LoadOptions {
        peer: Peer { address: gannet_wire::client::Address::Unix(PathBuf::new()), login: Default::default() },
        source: PathBuf::new(),
        schemas: Vec::new(),
        tables: Vec::new(),
        into: None,
        threads: 4,
        piece_bytes: 16 << 20,
        users: false,
        programs: true,
        existing: Existing::Refuse,
        reset: false,
        verify: false,
        skip_log: false,
        quiet: false,
    };
    let go_on = arguments.read(&help, |name, value| {
        match name {
            "--schema" => o.schemas.push(value()?),
            "--table" => o.tables.push(value()?),
            "--into" => o.into = Some(value()?),
            "--threads" => o.threads = threads(&value()?)?,
            "--piece-size" => o.piece_bytes = size(&value()?)?.min(512 << 20) as usize,
            "--existing" => {
                o.existing = match value()?.as_str() {
                    "refuse" => Existing::Refuse,
                    "keep" => Existing::Keep,
                    "drop" => Existing::Drop,
                    other => return Err(format!("--existing={other}: it is refuse, keep or drop")),
                }
            }
            "--users" => o.users = true,
            "--no-programs" => o.programs = false,
            "--reset" => o.reset = true,
            "--verify" => o.verify = true,
            "--skip-log" => o.skip_log = true,
            "-q" | "--quiet" => o.quiet = true,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if !go_on {
        print!("{help}");
        return Ok(());
    }
    (o.peer, o.source) = arguments.finish(&help)?;
    say(gannet_dump::load(&o))
}

fn say(outcome: gannet_dump::Outcome<Vec<String>>) -> Result<(), String> {
    for line in outcome.map_err(|e| e.to_string())? {
        println!("{line}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!((size("64M"), size("1k"), size("2G"), size("7")), (Ok(64 << 20), Ok(1024), Ok(2 << 30), Ok(7)));
        for bad in ["", "M", "0", "1MM", "1x", "-1", "99999999999G"] {
            assert_eq!(size(bad), Err(format!("'{bad}' is no number of bytes")));
        }
    }

    #[test]
    fn unknown_options_and_missing_directories_are_told() {
        let args = |list: &[&str]| list.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>();
        assert!(run(&args(&["--nonsense", "d"])).unwrap_err().starts_with("unknown option --nonsense"));
        assert!(run(&[]).unwrap_err().starts_with("a directory or file is missing"));
        assert_eq!(run(&args(&["a", "b"])).unwrap_err(), "'b': there is another already");
        assert_eq!(
            run_load(&args(&["--existing=maybe", "d"])).unwrap_err(),
            "--existing=maybe: it is refuse, keep or drop"
        );
        assert_eq!(run(&args(&["--threads=0", "d"])).unwrap_err(), "'0' is no number of connections (1 to 256)");
    }
}
