//! TLS at the client.

use crate::tls::Identity;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io;
use std::sync::Arc;

/// A client's end of TLS. `ca`: PEM of the authority that must have signed the server's certificate, for `localhost`;
/// `None` trusts every server. `own`: the client's certificate and key.
pub fn tls_client(ca: Option<&[u8]>, own: Option<&Identity>) -> io::Result<ClientConnection> {
    let fault = |e: &dyn std::fmt::Display| io::Error::new(io::ErrorKind::InvalidInput, e.to_string());
    let provider = Arc::new(rustls_graviola::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().map_err(|e| fault(&e))?;
    let builder = match ca {
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(pem).map_err(|e| fault(&e))?).map_err(|e| fault(&e))?;
            builder.with_root_certificates(roots)
        }
        None => builder.dangerous().with_custom_certificate_verifier(Arc::new(Trusting(provider))),
    };
    let config = match own {
        Some(i) => {
            let chain = vec![CertificateDer::from_pem_slice(i.certificate.as_bytes()).map_err(|e| fault(&e))?];
            let key = PrivateKeyDer::from_pem_slice(i.key.as_bytes()).map_err(|e| fault(&e))?;
            builder.with_client_auth_cert(chain, key).map_err(|e| fault(&e))?
        }
        None => builder.with_no_client_auth(),
    };
    let name = ServerName::try_from("localhost").map_err(|e| fault(&e))?;
    ClientConnection::new(Arc::new(config), name).map_err(|e| fault(&e))
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
