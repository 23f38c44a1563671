//! TLS at the client.

use super::Tls;
use crate::tls::{certificate, certificates, chosen, cipher_list, versions};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// A client's end of TLS. The error is a sentence.
pub fn tls_client(tls: &Tls) -> Result<ClientConnection, String> {
    for name in tls.suites.iter().flat_map(|list| list.split(':')).filter(|name| !name.trim().is_empty()) {
        if !cipher_list().iter().any(|known| known.eq_ignore_ascii_case(name.trim())) {
            return Err(format!("the cipher suite {name} is not there"));
        }
    }
    let provider = Arc::new(chosen(&tls.ciphers, tls.suites.as_deref())?);
    let versions = match versions(&tls.versions)? {
        none if none.is_empty() => rustls::ALL_VERSIONS.to_vec(),
        some => some,
    };
    let builder = ClientConfig::builder_with_provider(provider.clone());
    let builder = builder.with_protocol_versions(&versions).map_err(|e| e.to_string())?.dangerous();
    let builder = match &tls.ca {
        Some(ca) => builder.with_custom_certificate_verifier(Arc::new(Verifying::new(tls, ca, provider)?)),
        None => builder.with_custom_certificate_verifier(Arc::new(Trusting(provider))),
    };
    let mut config = match &tls.identity {
        Some(own) => {
            let chain = certificates(own.certificate.as_bytes(), "the client's certificate")?;
            let key =
                PrivateKeyDer::from_pem_slice(own.key.as_bytes()).map_err(|e| format!("the client's key: {e}"))?;
            builder.with_client_auth_cert(chain, key).map_err(|e| e.to_string())?
        }
        None => builder.with_no_client_auth(),
    };
    // The name below may not be the server's.
    config.enable_sni = false;
    let name = tls.host.as_deref().and_then(|host| ServerName::try_from(host.to_owned()).ok());
    let name = name.unwrap_or(ServerName::try_from("localhost").map_err(|e| e.to_string())?);
    ClientConnection::new(Arc::new(config), name).map_err(|e| e.to_string())
}

/// Asks that an authority has signed the certificate and has not revoked it, and if a host is given, that it is for
/// that: as OpenSSL does, by its alternative names, or by its common name where these name no host.
#[derive(Debug)]
struct Verifying {
    authorities: Arc<WebPkiServerVerifier>,
    host: Option<String>,
}

impl Verifying {
    fn new(tls: &Tls, ca: &[u8], provider: Arc<CryptoProvider>) -> Result<Verifying, String> {
        let mut roots = RootCertStore::empty();
        for ca in certificates(ca, "the authority's certificate")? {
            roots.add(ca).map_err(|e| format!("the authority's certificate: {e}"))?;
        }
        let revoked = CertificateRevocationListDer::pem_slice_iter(&tls.revoked);
        let revoked = revoked.collect::<Result<Vec<_>, _>>().map_err(|e| format!("the list of revocations: {e}"))?;
        if revoked.is_empty() && !tls.revoked.is_empty() {
            return Err("the list of revocations: there is none in it".to_owned());
        }
        // Without a list nothing is asked; with one, each certificate has to be in the reach of a current one.
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let authorities = builder.with_crls(revoked).enforce_revocation_expiration().build();
        let authorities = authorities.map_err(|e| e.to_string())?;
        Ok(Verifying { authorities, host: tls.host.clone() })
    }
}

impl ServerCertVerifier for Verifying {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let outcome = self.authorities.verify_server_cert(own, others, name, ocsp, now);
        let misnamed = |e: &rustls::Error| {
            use CertificateError::{NotValidForName, NotValidForNameContext};
            let rustls::Error::InvalidCertificate(e) = e else { return false };
            matches!(e, NotValidForName | NotValidForNameContext { .. })
        };
        match (&self.host, outcome) {
            // The name is what is looked at last.
            (None, Err(e)) if misnamed(&e) => Ok(ServerCertVerified::assertion()),
            (Some(host), Err(e)) if misnamed(&e) && certificate::is_commonly_named(own, host) => {
                Ok(ServerCertVerified::assertion())
            }
            // What is not a name of a host was not compared.
            (Some(host), Ok(_)) if ServerName::try_from(host.as_str()).is_err() => {
                Err(rustls::Error::InvalidCertificate(CertificateError::NotValidForName))
            }
            (_, outcome) => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

/// Encrypts, and accepts any certificate: `--ssl-mode=REQUIRED`.
#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
