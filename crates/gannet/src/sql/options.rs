//! Options of `gannet sql`: those of the `mysql` command, as far as they are here.

use super::print::Style;
use gannet_wire::client::{Address, Options, Tls};
use std::path::PathBuf;

pub(super) const HELP: &str = "\
Usage: gannet sql [options] [database]

Runs statements: those typed, those of --execute, or those of a file or pipe (gannet sql < dump.sql).

  -h, --host=NAME          server (127.0.0.1); without it and -S: ./gannet-data/gannet.sock if there is one
  -P, --port=N             its port (3306)
  -S, --socket=FILE        its UNIX socket
  -u, --user=NAME          account (root)
  -p, --password[=TEXT]    password; asked for when none follows (or in the variable MYSQL_PWD)
  -D, --database=NAME      database to use
  -e, --execute=TEXT       run these statements and end
  -t, --table              rows in a frame
  -B, --batch              rows as lines, values separated by tabs
  -E, --vertical           a line for each value
  -N, --skip-column-names  without the columns' names
  -f, --force              go on after an error
      --ssl                encrypt
      --ssl-ca=FILE        encrypt, and trust this authority only
      --help
";

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
        let (mut host, mut port, mut socket) = (None, None, None);
        let mut login = Options { password: std::env::var("MYSQL_PWD").unwrap_or_default(), ..Options::default() };
        let (mut execute, mut style, mut names, mut force, mut ask) = (None, None, true, false, false);
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let (name, glued) = split(arg);
            let mut value = || match &glued {
                Some(value) => Ok(value.clone()),
                None => rest.next().cloned().ok_or_else(|| format!("option {arg} needs a value")),
            };
            match name {
                "-h" | "--host" => host = Some(value()?),
                "-P" | "--port" => port = Some(value()?.parse::<u16>().map_err(|e| format!("{arg}: {e}"))?),
                "-S" | "--socket" => socket = Some(PathBuf::from(value()?)),
                "-u" | "--user" => login.user = value()?,
                "-D" | "--database" => login.database = Some(value()?),
                "-e" | "--execute" => execute = Some(value()?),
                "-p" | "--password" => match glued {
                    Some(password) => login.password = password,
                    None => ask = true,
                },
                "-t" | "--table" => style = Some(Style::Table),
                "-B" | "--batch" => style = Some(Style::Tabs),
                "-E" | "--vertical" => style = Some(Style::Vertical),
                "-N" | "--skip-column-names" => names = false,
                "-f" | "--force" => force = true,
                "--ssl" => drop(login.tls.get_or_insert_default()),
                "--ssl-ca" => {
                    let path = value()?;
                    let pem = gannet_runtime::fs::read_plain(&path).map_err(|e| format!("cannot read {path}: {e}"))?;
                    login.tls = Some(Tls { ca: Some(pem), ..Tls::default() });
                }
                "--help" | "-?" => return Ok(None),
                option if option.starts_with('-') => return Err(format!("unknown option {option}\n\n{HELP}")),
                _ if login.database.is_some() => return Err(format!("'{arg}': there is a database already")),
                _ => login.database = Some(arg.clone()),
            }
        }
        if ask {
            login.password = gannet_runtime::read_secret("Password: ").map_err(|e| format!("no password: {e}"))?;
        }
        let address = match (socket, host, port) {
            (Some(path), ..) => Address::Unix(path),
            (None, None, None) => super::usual_address(),
            (None, host, port) => Address::Tcp(host.unwrap_or_else(|| "127.0.0.1".into()), port.unwrap_or(3306)),
        };
        Ok(Some(Settings { address, login, execute, style, names, force }))
    }
}

/// An option's name, and the value that is written to it: `--name=value`, `-nvalue`.
fn split(arg: &str) -> (&str, Option<String>) {
    if arg.starts_with("--") {
        return arg.split_once('=').map_or((arg, None), |(name, value)| (name, Some(value.to_owned())));
    }
    match arg.char_indices().nth(2) {
        Some((at, _)) if arg.starts_with('-') => (&arg[..at], Some(arg[at..].to_owned())),
        _ => (arg, None),
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
