//! Options of `gannet sql`: those of the `mysql` command, as far as they are here.

use super::print::Style;
use crate::connection::{self, Connecting, split};
use gannet_wire::client::{Address, Options};

/// The help, in front of and behind the options about the server.
const HELP: [&str; 2] = [
    "\
Usage: gannet sql [options] [database]

Runs statements: those typed, those of --execute, or those of a file or pipe (gannet sql < dump.sql).

",
    "  -D, --database=NAME      database to use
  -e, --execute=TEXT       run these statements and end
  -t, --table              rows in a frame
  -B, --batch              rows as lines, values separated by tabs
  -E, --vertical           a line for each value
  -N, --skip-column-names  without the columns' names
  -f, --force              go on after an error
      --help
",
];

pub(super) fn help() -> String {
    [HELP[0], connection::HELP, HELP[1]].concat()
}

/// What was asked for.
pub(super) struct Settings {
    pub(super) address: Address,
    pub(super) login: Options,
    pub(super) execute: Option<String>,
    pub(super) style: Option<Style>,
    pub(super) names: bool,
    pub(super) force: bool,
}

impl Settings {
    /// Reads the arguments; `None`: help was asked for.
    pub(super) fn parse(args: &[String]) -> Result<Option<Settings>, String> {
        let mut server = Connecting::new();
        let (mut execute, mut style, mut names, mut force) = (None, None, true, false);
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let (name, glued) = split(arg);
            let mut value = || match &glued {
                Some(value) => Ok(value.clone()),
                None => rest.next().cloned().ok_or_else(|| format!("option {arg} needs a value")),
            };
            if server.take(name, glued.as_deref(), &mut value)? {
                continue;
            }
            match name {
                "-D" | "--database" => server.login.database = Some(value()?),
                "-e" | "--execute" => execute = Some(value()?),
                "-t" | "--table" => style = Some(Style::Table),
                "-B" | "--batch" => style = Some(Style::Tabs),
                "-E" | "--vertical" => style = Some(Style::Vertical),
                "-N" | "--skip-column-names" => names = false,
                "-f" | "--force" => force = true,
                "--help" | "-?" => return Ok(None),
                option if option.starts_with('-') => return Err(format!("unknown option {option}\n\n{}", help())),
                _ if server.login.database.is_some() => return Err(format!("'{arg}': there is a database already")),
                _ => server.login.database = Some(arg.clone()),
            }
        }
        let (address, login) = server.finish()?;
        Ok(Some(Settings { address, login, execute, style, names, force }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Settings {
        let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
        Settings::parse(&args).unwrap().expect("no help")
    }

    #[test]
    fn options_are_those_of_mysql() {
        let s = parsed(&["-h127.0.0.1", "-P3307", "-uapp", "-psecret", "--execute=select 1", "-N", "shop"]);
        assert_eq!(s.address, Address::Tcp("127.0.0.1".into(), 3307));
        assert_eq!((s.login.user.as_str(), s.login.password.as_str()), ("app", "secret"));
        assert_eq!(
            (s.login.database.as_deref(), s.execute.as_deref(), s.names),
            (Some("shop"), Some("select 1"), false)
        );
        assert_eq!(parsed(&["-S", "/run/s.sock", "-h", "x"]).address, Address::Unix("/run/s.sock".into()));
        assert!(parsed(&["--ssl"]).login.tls.is_some());
        let wrong: Vec<String> = vec!["--nonsense".into()];
        assert!(Settings::parse(&wrong).err().is_some_and(|e| e.starts_with("unknown option --nonsense")));
    }
}
