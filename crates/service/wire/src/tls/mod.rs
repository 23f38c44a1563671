//! TLS 1.2 and 1.3 as a state machine over bytes.
//!
//! [`Acceptor`] is what all connections of a server share, [`Tls`] one connection. Nothing here opens a socket or a
//! file.

pub mod certificate;
mod der;

pub use certificate::{Facts, Identities, Identity};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedCipherSuite, SupportedProtocolVersion};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// True when this processor has the instructions that the cryptography is made of.
pub fn is_supported() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        has!("aes") && has!("pclmulqdq") && has!("bmi1") && has!("bmi2") && has!("adx") && has!("avx") && has!("avx2")
    }
    #[cfg(target_arch = "aarch64")]
    {
        use std::arch::is_aarch64_feature_detected as has;
        has!("neon") && has!("aes") && has!("pmull") && has!("sha2")
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    false
}

/// What an [`Acceptor`] is made of.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Certificate chain of the server, PEM, its own first.
    pub certificate: Vec<u8>,
    /// Its private key, PEM.
    pub key: Vec<u8>,
    /// Authorities whose client certificates are trusted, PEM; empty: clients are not asked for one.
    pub ca: Vec<u8>,
    /// `tls_version`: `TLSv1.2`, `TLSv1.3`, separated by commas.
    pub versions: String,
    /// `ssl_cipher`: suites of TLS 1.2 by OpenSSL's names, separated by colons; empty: all.
    pub ciphers: String,
    /// `tls_ciphersuites`: suites of TLS 1.3, separated by colons; empty: all.
    pub suites: String,
}

/// What a server needs to speak TLS.
#[derive(Clone, Debug)]
pub struct Acceptor {
    config: Arc<ServerConfig>,
    /// Of the server's own certificate.
    pub facts: Facts,
}

fn provider() -> CryptoProvider {
    rustls_graviola::default_provider()
}

/// OpenSSL's name of a suite.
fn openssl_name(suite: SupportedCipherSuite) -> String {
    let name = format!("{:?}", suite.suite());
    match name.strip_prefix("TLS13_") {
        Some(rest) => format!("TLS_{rest}"),
        None => {
            let name = name.trim_start_matches("TLS_").replace("_WITH_", "-").replace("AES_", "AES");
            name.replace("POLY1305_SHA256", "POLY1305").replace('_', "-")
        }
    }
}

/// OpenSSL's names of all suites there are, those of TLS 1.3 first.
pub fn cipher_list() -> Vec<String> {
    provider().cipher_suites.into_iter().map(openssl_name).collect()
}

/// The versions of a list, separated by commas.
pub(crate) fn versions(list: &str) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    list.split(',')
        .map(str::trim)
        .filter(|v| !v.is_empty())
        .map(|v| match v.to_ascii_lowercase().as_str() {
            "tlsv1.2" => Ok(&rustls::version::TLS12),
            "tlsv1.3" => Ok(&rustls::version::TLS13),
            _ => Err(format!("TLS version {v} is not there")),
        })
        .collect()
}

/// The cryptography with the suites of TLS 1.2 and 1.3 that are in these lists, by OpenSSL's names or those of RFCs.
/// `ciphers`, empty: all; `suites`, `None`: all.
pub(crate) fn chosen(ciphers: &str, suites: Option<&str>) -> Result<CryptoProvider, String> {
    let mut provider = provider();
    let ciphers = Some(ciphers).filter(|list| !list.is_empty());
    provider.cipher_suites.retain(|suite| {
        let (name, standard) = (openssl_name(*suite), format!("{:?}", suite.suite()));
        let is = |n: &str| n.trim().eq_ignore_ascii_case(&name) || n.trim().eq_ignore_ascii_case(&standard);
        let list = if suite.tls13().is_some() { suites } else { ciphers };
        list.is_none_or(|list| list.split(':').any(is))
    });
    if provider.cipher_suites.is_empty() {
        return Err("none of the ciphers is there".into());
    }
    Ok(provider)
}

/// The certificates in a PEM, of which there has to be one.
pub(crate) fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(format!("{what}: there is no certificate in it")),
        Err(e) => Err(format!("{what}: {e}")),
    }
}

impl Acceptor {
    /// Reads certificates and key. The error is a sentence.
    pub fn new(s: &Settings) -> Result<Self, String> {
        let suites = Some(s.suites.as_str()).filter(|list| !list.is_empty());
        let provider = Arc::new(chosen(&s.ciphers, suites)?);
        let versions = versions(&s.versions)?;
        let chain = certificates(&s.certificate, "the server's certificate")?;
        let facts = Facts::read(&chain[0]).ok_or("the server's certificate cannot be read")?;
        let key = PrivateKeyDer::from_pem_slice(&s.key).map_err(|e| format!("the server's key: {e}"))?;
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .map_err(|e| e.to_string())?;
        let builder = if s.ca.is_empty() {
            builder.with_no_client_auth()
        } else {
            let mut roots = RootCertStore::empty();
            for ca in certificates(&s.ca, "the authority's certificate")? {
                roots.add(ca).map_err(|e| format!("the authority's certificate: {e}"))?;
            }
            // What a client's certificate has to be is the account's affair.
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .allow_unauthenticated()
                .build()
                .map_err(|e| e.to_string())?;
            builder.with_client_cert_verifier(verifier)
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|e| e.to_string())?;
        // Sessions are resumed by tickets, for which the server keeps nothing.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.ticketer = rustls_graviola::Ticketer::new().map_err(|e| e.to_string())?;
        config.send_tls13_tickets = 1;
        Ok(Self { config: Arc::new(config), facts })
    }

    /// A connection whose client is about to begin the handshake.
    pub fn accept(&self) -> Result<Tls, String> {
        let connection = ServerConnection::new(self.config.clone()).map_err(|e| e.to_string())?;
        Ok(Tls { connection })
    }
}

/// What a handshake has come to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agreed {
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: &'static str,
    /// OpenSSL's name of the suite.
    pub cipher: String,
    /// Of the client's certificate, which is trusted; `None`: it has none.
    pub client: Option<Facts>,
    /// The session was resumed.
    pub resumed: bool,
}

/// One connection.
pub struct Tls {
    connection: ServerConnection,
}

/// Plain bytes sealed at a time: one record.
const RECORD: usize = 16 << 10;

impl Tls {
    /// Takes bytes off the socket, appends what they say to `plain`. After an error [`Tls::send`] still gives the
    /// alert.
    pub fn receive(&mut self, mut raw: &[u8], plain: &mut Vec<u8>) -> io::Result<()> {
        while !raw.is_empty() {
            self.connection.read_tls(&mut raw)?;
            let state = self.connection.process_new_packets();
            let state = state.map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
            let n = state.plaintext_bytes_to_read();
            if n > 0 {
                let had = plain.len();
                plain.resize(had + n, 0);
                self.connection.reader().read_exact(&mut plain[had..])?;
            }
        }
        Ok(())
    }

    /// Appends what travels for `plain`, behind what the handshake has left to say.
    pub fn send(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> io::Result<()> {
        self.drain(wire)?;
        for piece in plain.chunks(RECORD) {
            self.connection.writer().write_all(piece)?;
            self.drain(wire)?;
        }
        Ok(())
    }

    fn drain(&mut self, wire: &mut Vec<u8>) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(wire)?;
        }
        Ok(())
    }

    /// Appends the alert that ends the connection.
    pub fn close(&mut self, wire: &mut Vec<u8>) {
        self.connection.send_close_notify();
        let _ = self.drain(wire);
    }

    /// What was agreed; `None` while the handshake is under way.
    pub fn agreed(&self) -> Option<Agreed> {
        if self.connection.is_handshaking() {
            return None;
        }
        let version = match self.connection.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_2 => "TLSv1.2",
            _ => "TLSv1.3",
        };
        let cipher = openssl_name(self.connection.negotiated_cipher_suite()?);
        let client = self.connection.peer_certificates().and_then(|chain| Facts::read(chain.first()?));
        let resumed = self.connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
        Some(Agreed { version, cipher, client, resumed })
    }
}

#[cfg(test)]
mod tests;
