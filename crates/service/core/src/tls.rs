//! TLS of the server: where its certificates are, how they are made, when they are read.

use crate::Core;
use crate::log::ErrorLog;
use crate::vars::{Live, VarSet, VarValue};
use gannet_base::sync::RwLock;
use gannet_runtime::fs::{Readers, write_plain};
use gannet_runtime::{Conn, Transport};
use gannet_types::{Result, sql_err};
use gannet_wire::tls::{self, Acceptor, Agreed, Settings, Tls};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names of MySQL's files in the data directory.
const CA: &str = "ca.pem";
const CERTIFICATE: &str = "server-cert.pem";
const KEY: &str = "server-key.pem";

/// What connections are encrypted with, if they can be.
#[derive(Default)]
pub struct ServerTls {
    acceptor: RwLock<Option<Arc<Acceptor>>>,
    /// The variables that it was made of, as they were then.
    made_of: RwLock<Vec<(Live, String)>>,
}

/// Variables that an acceptor is made of.
const MADE_OF: [Live; 6] =
    [Live::SslCa, Live::SslCert, Live::SslKey, Live::TlsVersion, Live::SslCipher, Live::TlsCiphersuites];

impl ServerTls {
    /// What the next connection uses; `None` when TLS is off.
    pub fn acceptor(&self) -> Option<Arc<Acceptor>> {
        self.acceptor.read().clone()
    }

    /// The variable as it was when the certificates that are used were read; empty when TLS is off.
    pub fn current(&self, variable: Live) -> String {
        let made_of = self.made_of.read();
        made_of.iter().find(|(id, _)| *id == variable).map_or(String::new(), |(_, value)| value.clone())
    }

    fn use_from_now_on(&self, acceptor: Option<Acceptor>, get: impl Fn(Live) -> VarValue) {
        let made_of = MADE_OF.iter().filter(|_| acceptor.is_some()).map(|id| (*id, get(*id).as_str().to_string()));
        *self.made_of.write() = made_of.collect();
        *self.acceptor.write() = acceptor.map(Arc::new);
    }

    /// At the start: makes the files where there are none, and reads them. A file that a variable names must exist; a
    /// fault of the server's own files is logged, and TLS is off.
    pub fn open(
        vars: &mut VarSet,
        datadir: &Path,
        log: &ErrorLog,
        hostname: &str,
    ) -> std::result::Result<Self, String> {
        let it = Self::default();
        if vars[Live::TlsVersion as usize].as_str().is_empty() {
            return Ok(it);
        }
        if !tls::is_supported() {
            log.warning("TLS is off: this processor lacks instructions that the cryptography is made of");
            return Ok(it);
        }
        let files = [Live::SslCa, Live::SslCert, Live::SslKey];
        let named = files.iter().any(|f| !vars[*f as usize].as_str().is_empty());
        if !named {
            if let Err(e) = own_files(datadir, hostname) {
                log.warning(format_args!("TLS is off: {e}"));
                return Ok(it);
            }
            for (file, name) in files.into_iter().zip([CA, CERTIFICATE, KEY]) {
                vars[file as usize] = VarValue::text(name);
            }
        }
        let get = |id: Live| vars[id as usize].clone();
        match read(datadir, get).and_then(|s| Acceptor::new(&s)) {
            Ok(acceptor) => it.use_from_now_on(Some(acceptor), get),
            Err(e) if named => return Err(format!("TLS cannot be set up: {e}")),
            Err(e) => log.warning(format_args!("TLS is off: {e}")),
        }
        Ok(it)
    }

    /// ALTER INSTANCE RELOAD TLS: reads the files that the variables name now. On error 3888 the former certificates
    /// stay, unless `keep_on_error` is false: then TLS is off.
    pub fn reload(&self, server: &Core, keep_on_error: bool) -> Result<()> {
        let datadir = PathBuf::from(server.globals.get(Live::Datadir).as_str());
        let made = if tls::is_supported() {
            read(&datadir, |id| server.globals.get(id)).and_then(|s| Acceptor::new(&s))
        } else {
            Err("this processor lacks instructions that the cryptography is made of".into())
        };
        match made {
            Ok(acceptor) => self.use_from_now_on(Some(acceptor), |id| server.globals.get(id)),
            Err(e) if keep_on_error => return Err(sql_err!(DaSslLibraryError, e)),
            Err(e) => {
                server.log.warning(format_args!("TLS is off: {e}"));
                self.use_from_now_on(None, |id| server.globals.get(id));
            }
        }
        Ok(())
    }
}

/// What a client's bytes came to in a handshake.
pub enum Handshake {
    /// More bytes are needed.
    GoesOn(Box<Tls>),
    /// TLS is around the connection now.
    Done(Agreed),
    /// The connection is to be closed; an alert that says what is wrong may be in its buffer.
    Failed,
}

/// Feeds what a client has sent to its handshake.
pub fn shake_hands(mut tls: Box<Tls>, conn: &mut Conn) -> Handshake {
    let raw = conn.buffered().to_vec();
    conn.consume(raw.len());
    let mut plain = Vec::new();
    let fed = tls.receive(&raw, &mut plain);
    if tls.send(&[], conn.out()).is_err() || fed.is_err() {
        return Handshake::Failed;
    }
    let Some(agreed) = tls.agreed() else { return Handshake::GoesOn(tls) };
    if conn.flush().is_err() {
        return Handshake::Failed;
    }
    conn.set_transport(Box::new(Encrypted(tls)), plain);
    Handshake::Done(agreed)
}

/// TLS as a connection's transport, after its handshake.
struct Encrypted(Box<Tls>);

impl Transport for Encrypted {
    fn receive(&mut self, raw: &[u8], input: &mut Vec<u8>) -> io::Result<()> {
        self.0.receive(raw, input)
    }

    fn send(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> io::Result<()> {
        self.0.send(plain, wire)
    }

    fn close(&mut self, wire: &mut Vec<u8>) {
        self.0.close(wire);
    }
}

/// `protocol_compression_algorithms`: a list of algorithms that there are.
pub fn check_compression(list: &str) -> bool {
    gannet_wire::compress::allowed(list).is_some()
}

/// `tls_version` names versions that are there, or none.
pub fn check_version(list: &str) -> bool {
    let known = |v: &str| ["", "tlsv1.2", "tlsv1.3"].contains(&v.trim().to_ascii_lowercase().as_str());
    list.split(',').all(known)
}

/// The files that the variables name; relative names are in the data directory.
fn read(datadir: &Path, get: impl Fn(Live) -> VarValue) -> std::result::Result<Settings, String> {
    let file = |id: Live| {
        let path = datadir.join(get(id).as_str());
        std::fs::read(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))
    };
    let text = |id: Live| get(id).as_str().to_string();
    let ca = if text(Live::SslCa).is_empty() { Vec::new() } else { file(Live::SslCa)? };
    Ok(Settings {
        certificate: file(Live::SslCert)?,
        key: file(Live::SslKey)?,
        ca,
        versions: text(Live::TlsVersion),
        ciphers: text(Live::SslCipher),
        suites: text(Live::TlsCiphersuites),
    })
}

/// Makes the certificates of authority, server and client where none of the server's own files exists. If only some
/// exist, that is an error: the administrator has to complete them.
fn own_files(datadir: &Path, hostname: &str) -> std::result::Result<(), String> {
    let there = [CA, CERTIFICATE, KEY].map(|name| datadir.join(name).exists());
    if there == [true; 3] {
        return Ok(());
    }
    if there != [false; 3] {
        return Err(format!(
            "{} has only some of {CA}, {CERTIFICATE} and {KEY}; the server makes new ones at a start that finds none",
            datadir.display()
        ));
    }
    let mut hosts = vec!["localhost", "127.0.0.1", "::1"];
    let plain = |h: &str| !h.is_empty() && h.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.');
    if plain(hostname) && hostname != "localhost" {
        hosts.push(hostname);
    }
    let product = format!("MySQL_Server_{}", crate::MYSQL_VERSION);
    let now = gannet_runtime::WallTime::now().seconds() as i64;
    let made = tls::certificate::make(&product, &hosts, now)?;
    // The authority last: a start that was cut short before leaves some files only, and the next one says so.
    for (name, text, readers) in [
        ("ca-key.pem", &made.ca.key, Readers::Owner),
        ("client-key.pem", &made.client.key, Readers::Owner),
        ("client-cert.pem", &made.client.certificate, Readers::Everybody),
        (KEY, &made.server.key, Readers::Owner),
        (CERTIFICATE, &made.server.certificate, Readers::Everybody),
        (CA, &made.ca.certificate, Readers::Everybody),
    ] {
        let path = datadir.join(name);
        write_plain(&path, readers, text.as_bytes()).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    Ok(())
}
