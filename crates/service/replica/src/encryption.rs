//! How the connection to the source is encrypted, and how the source proves who it is: SOURCE_SSL..., SOURCE_TLS...

use crate::Fault;
use crate::source::line;
use gannet_runtime::fs;
use gannet_types::{Result, SqlError, Value};
use gannet_wire::client::Tls;
use gannet_wire::tls::Identity;
use std::path::Path;

/// The number of MySQL's client library: there is no agreement on TLS.
const NO_TLS: u16 = 2026;
/// Versions of TLS that MySQL once had, which are insecure.
const OLD_VERSIONS: [&str; 5] = ["SSLv2", "SSLv3", "TLSv1", "TLSv1.0", "TLSv1.1"];

/// The options. Paths are of PEM files, or of directories of such; empty: none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Encryption {
    pub(crate) on: bool,
    /// The source's certificate has to be for SOURCE_HOST.
    pub(crate) verify: bool,
    /// The authorities that the source's certificate has to be of.
    pub(crate) ca: String,
    pub(crate) ca_path: String,
    /// This server's own certificate and its key.
    pub(crate) cert: String,
    pub(crate) key: String,
    /// What the authorities have revoked.
    pub(crate) crl: String,
    pub(crate) crl_path: String,
    /// SOURCE_TLS_VERSION, SOURCE_SSL_CIPHER, SOURCE_TLS_CIPHERSUITES; empty and `None`: all that are there.
    pub(crate) versions: String,
    pub(crate) ciphers: String,
    pub(crate) suites: Option<String>,
}

impl Encryption {
    /// Takes an option, if it is one of these; `text`: NULL is `None`. Errors 1210, 1235.
    pub(crate) fn take(&mut self, name: &str, text: Option<&str>, on: impl Fn() -> Result<bool>) -> Result<bool> {
        let given = text.unwrap_or_default().to_owned();
        match name {
            "SSL" => self.on = on()?,
            "SSL_VERIFY_SERVER_CERT" => self.verify = on()?,
            "SSL_CA" => self.ca = given,
            "SSL_CAPATH" => self.ca_path = given,
            "SSL_CERT" => self.cert = given,
            "SSL_KEY" => self.key = given,
            "SSL_CRL" => self.crl = given,
            "SSL_CRLPATH" => self.crl_path = given,
            "TLS_VERSION" => self.versions = versions(given)?,
            "SSL_CIPHER" => self.ciphers = ciphers(given)?,
            "TLS_CIPHERSUITES" => self.suites = text.map(str::to_owned),
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(crate) fn encode(&self, out: &mut String) {
        line(out, "tls", u8::from(self.on));
        line(out, "tls_verify", u8::from(self.verify));
        line(out, "tls_ca", &self.ca);
        line(out, "tls_ca_path", &self.ca_path);
        line(out, "tls_cert", &self.cert);
        line(out, "tls_key", &self.key);
        line(out, "tls_crl", &self.crl);
        line(out, "tls_crl_path", &self.crl_path);
        line(out, "tls_versions", &self.versions);
        line(out, "tls_ciphers", &self.ciphers);
        if let Some(suites) = &self.suites {
            line(out, "tls_suites", suites);
        }
    }

    /// Takes a line of a record, if it is one of these.
    pub(crate) fn decode(&mut self, name: &str, value: &str) {
        let (is, value) = (value == "1", value.to_owned());
        match name {
            "tls" => self.on = is,
            "tls_verify" => self.verify = is,
            "tls_ca" => self.ca = value,
            "tls_ca_path" => self.ca_path = value,
            "tls_cert" => self.cert = value,
            "tls_key" => self.key = value,
            "tls_crl" => self.crl = value,
            "tls_crl_path" => self.crl_path = value,
            "tls_versions" => self.versions = value,
            "tls_ciphers" => self.ciphers = value,
            "tls_suites" => self.suites = Some(value),
            _ => {}
        }
    }

    /// SOURCE_TLS_CIPHERSUITES as tables show it.
    pub(crate) fn shown_suites(&self) -> Value {
        self.suites.as_deref().map_or(Value::Null, Value::text)
    }

    /// What a connection to `host` needs, with the contents of the files; `None`: it is not encrypted. Error 2026.
    pub(crate) fn client(&self, host: &str) -> std::result::Result<Option<Tls>, Fault> {
        if !self.on {
            return Ok(None);
        }
        let text = |path: &str| match path {
            "" => Ok(None),
            path => String::from_utf8(read(path)?).map(Some).map_err(|e| failed(path, &e)),
        };
        let ca = [file(&self.ca)?, directory(&self.ca_path, "")?].concat();
        let revoked = [file(&self.crl)?, directory(&self.crl_path, "r")?].concat();
        let trusts_all = self.ca.is_empty() && self.ca_path.is_empty();
        if trusts_all && (self.verify || !self.crl.is_empty() || !self.crl_path.is_empty()) {
            let what = "SOURCE_SSL_VERIFY_SERVER_CERT, SOURCE_SSL_CRL and SOURCE_SSL_CRLPATH need SOURCE_SSL_CA or \
                        SOURCE_SSL_CAPATH";
            return Err(Fault::Refused(unagreed(&what)));
        }
        let identity = match (text(&self.cert)?, text(&self.key)?) {
            (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
            (None, None) => None,
            _ => return Err(Fault::Refused(unagreed(&"SOURCE_SSL_CERT and SOURCE_SSL_KEY need one another"))),
        };
        Ok(Some(Tls {
            ca: (!trusts_all).then_some(ca),
            revoked,
            host: self.verify.then(|| host.to_owned()),
            identity,
            versions: self.versions.clone(),
            ciphers: self.ciphers.clone(),
            suites: self.suites.clone(),
        }))
    }
}

/// SOURCE_TLS_VERSION. Error 1235 for those that are not spoken, and 1210 for what is no version.
fn versions(list: String) -> Result<String> {
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let is = |known: &&str| known.eq_ignore_ascii_case(name);
        if OLD_VERSIONS.iter().any(&is) {
            return Err(SqlError::unsupported(format_args!(
                "CHANGE REPLICATION SOURCE TO SOURCE_TLS_VERSION = '{name}'"
            )));
        }
        if !["TLSv1.2", "TLSv1.3"].iter().any(&is) {
            return Err(gannet_types::sql_err!(WrongArguments, "SOURCE_TLS_VERSION"));
        }
    }
    Ok(list)
}

/// SOURCE_SSL_CIPHER. OpenSSL has words for sets of suites (`HIGH`, `ECDHE`), and signs before names (`!`, `+`, `-`,
/// `@`), which are error 1235: whoever leaves suites out that way must not get them. A suite's name has parts.
fn ciphers(list: String) -> Result<String> {
    for name in list.split([':', ',', ' ']).filter(|name| !name.is_empty()) {
        if name.starts_with(['!', '+', '-', '@']) || name.contains('+') || !name.contains(['-', '_']) {
            return Err(SqlError::unsupported(format_args!(
                "CHANGE REPLICATION SOURCE TO SOURCE_SSL_CIPHER = '{name}'"
            )));
        }
    }
    Ok(list.replace([',', ' '], ":"))
}

fn unagreed(e: &dyn std::fmt::Display) -> SqlError {
    SqlError::signal(NO_TLS, *b"HY000", format!("SSL connection error: {e}"))
}

fn failed(path: &str, e: &dyn std::fmt::Display) -> Fault {
    Fault::Refused(unagreed(&format_args!("{path}: {e}")))
}

fn read(path: &str) -> std::result::Result<Vec<u8>, Fault> {
    fs::read_plain(path).map_err(|e| failed(path, &e))
}

fn file(path: &str) -> std::result::Result<Vec<u8>, Fault> {
    if path.is_empty() { Ok(Vec::new()) } else { read(path) }
}

/// The files of a directory with names of OpenSSL's `rehash`: eight hexadecimal digits, a point, `mark`, a number.
fn directory(path: &str, mark: &str) -> std::result::Result<Vec<u8>, Fault> {
    let mut all = Vec::new();
    if path.is_empty() {
        return Ok(all);
    }
    for found in fs::read_dir(path).map_err(|e| failed(path, &e))? {
        if is_hashed(&found, mark) {
            all.extend(read(&found.to_string_lossy())?);
            all.push(b'\n');
        }
    }
    if all.is_empty() { Err(failed(path, &"no file in it has a name of openssl rehash")) } else { Ok(all) }
}

fn is_hashed(path: &Path, mark: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((hash, number)) = name.split_once('.') else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    hash.len() == 8 && hash.bytes().all(|b| b.is_ascii_hexdigit()) && number.strip_prefix(mark).is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hashed_files() {
        for (name, mark, want) in [
            ("5ed36f99.0", "", true),
            ("5ED36F99.12", "", true),
            ("5ed36f99.r0", "r", true),
            ("5ed36f99.r0", "", false),
            ("5ed36f99.0", "r", false),
            ("5ed36f99.", "", false),
            ("5ed36f9.0", "", false),
            ("ca.pem", "", false),
        ] {
            assert_eq!(is_hashed(Path::new(name), mark), want, "{name} {mark}");
        }
    }

    #[test]
    fn lists_are_of_names() {
        assert_eq!(versions(" tlsv1.3 , TLSv1.2".into()).unwrap(), " tlsv1.3 , TLSv1.2");
        assert_eq!(versions("TLSv1.3,TLSv1.1".into()).unwrap_err().number(), 1235);
        assert_eq!(versions("TLSv1.4".into()).unwrap_err().number(), 1210);
        assert_eq!(ciphers("A-B,C_D E-F".into()).unwrap(), "A-B:C_D:E-F");
        for refused in ["HIGH", "A-B:!aNULL", "ECDHE+AESGCM", "A-B:@STRENGTH", "-RC4-SHA"] {
            assert_eq!(ciphers(refused.into()).unwrap_err().number(), 1235, "{refused}");
        }
    }
}
