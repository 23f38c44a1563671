//! Options about the server that a client connects to: those of the `mysql` command.

use gannet_wire::client::{Address, Options, Tls};
use std::path::{Path, PathBuf};

/// What they are, for the help of each command.
pub(crate) const HELP: &str = "\
  -h, --host=NAME          server (127.0.0.1); without it and -S: ./gannet-data/gannet.sock if there is one
  -P, --port=N             its port (3306)
  -S, --socket=FILE        its UNIX socket
  -u, --user=NAME          account (root)
  -p, --password[=TEXT]    password; asked for when none follows (or in the variable MYSQL_PWD)
      --ssl                encrypt
      --ssl-ca=FILE        encrypt, and trust this authority only
";

/// What was said of the server.
pub(crate) struct Connecting {
    host: Option<String>,
    port: Option<u16>,
    socket: Option<PathBuf>,
    ask: bool,
    pub(crate) login: Options,
}

impl Connecting {
    pub(crate) fn new() -> Self {
        let login = Options { password: std::env::var("MYSQL_PWD").unwrap_or_default(), ..Options::default() };
        Connecting { host: None, port: None, socket: None, ask: false, login }
    }

    /// Takes an option if it is one of these. `glued`: the value that is written to it; `value` takes the next
    /// argument otherwise.
    pub(crate) fn take(
        &mut self,
        name: &str,
        glued: Option<&str>,
        mut value: impl FnMut() -> Result<String, String>,
    ) -> Result<bool, String> {
        match name {
            "-h" | "--host" => self.host = Some(value()?),
            "-P" | "--port" => self.port = Some(value()?.parse().map_err(|e| format!("{name}: {e}"))?),
            "-S" | "--socket" => self.socket = Some(PathBuf::from(value()?)),
            "-u" | "--user" => self.login.user = value()?,
            "-p" | "--password" => match glued {
                Some(password) => self.login.password = password.to_owned(),
                None => self.ask = true,
            },
            "--ssl" => drop(self.login.tls.get_or_insert_default()),
            "--ssl-ca" => {
                let path = value()?;
                let pem = gannet_runtime::fs::read_plain(&path).map_err(|e| format!("cannot read {path}: {e}"))?;
                self.login.tls = Some(Tls { ca: Some(pem), ..Tls::default() });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The server and the account; asks for the password where it was told to.
    pub(crate) fn finish(mut self) -> Result<(Address, Options), String> {
        if self.ask {
            self.login.password = gannet_runtime::read_secret("Password: ").map_err(|e| format!("no password: {e}"))?;
        }
        let address = match (self.socket, self.host, self.port) {
            (Some(path), ..) => Address::Unix(path),
            (None, None, None) => usual_address(),
            (None, host, port) => Address::Tcp(host.unwrap_or_else(|| "127.0.0.1".into()), port.unwrap_or(3306)),
        };
        Ok((address, self.login))
    }
}

/// Where the server is when nothing is said.
fn usual_address() -> Address {
    let socket = Path::new("gannet-data/gannet.sock");
    if socket.exists() { Address::Unix(socket.into()) } else { Address::Tcp("127.0.0.1".into(), 3306) }
}

/// An option's name, and the value that is written to it: `--name=value`, `-nvalue`.
pub(crate) fn split(arg: &str) -> (&str, Option<String>) {
    if arg.starts_with("--") {
        return arg.split_once('=').map_or((arg, None), |(name, value)| (name, Some(value.to_owned())));
    }
    match arg.char_indices().nth(2) {
        Some((at, _)) if arg.starts_with('-') => (&arg[..at], Some(arg[at..].to_owned())),
        _ => (arg, None),
    }
}
