//! Certificates (RFC 5280): the ones a server makes for itself at its first start, and what is read of others.

use super::der::{Elements, put, tag};
use graviola::hashing::Sha256;
use graviola::signing::ecdsa::{P256, SigningKey};
use sha1::{Digest, Sha1};
use std::net::IpAddr;

/// The tag of a host's name among alternative names.
const DNS_NAME: u8 = 0x82;

/// A certificate and its key as PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key, PKCS #8.
    pub key: String,
}

/// What a server makes for itself.
#[derive(Debug, Clone)]
pub struct Identities {
    /// The authority that signs the others.
    pub ca: Identity,
    /// The server's own.
    pub server: Identity,
    /// For clients of accounts that ask for a certificate.
    pub client: Identity,
}

mod oid {
    pub const ECDSA_WITH_SHA256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2];
    pub const COMMON_NAME: &[u8] = &[0x55, 4, 3];
    pub const SUBJECT_KEY_ID: &[u8] = &[0x55, 0x1D, 14];
    pub const KEY_USAGE: &[u8] = &[0x55, 0x1D, 15];
    pub const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1D, 17];
    pub const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1D, 19];
    pub const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1D, 35];
}

/// Days that certificates hold: ten years, as MySQL's do.
const DAYS: i64 = 3650;

type Key = SigningKey<P256>;

/// The subject of a certificate.
struct Subject<'a> {
    name: &'a str,
    serial: u8,
    /// It signs others.
    authority: bool,
    /// DNS names and addresses.
    hosts: &'a [&'a str],
}

/// Makes an authority, and what it signs: keys on the curve P-256, names that begin with `product`. `hosts`: by what
/// names the server is reached; `now`: seconds since 1970.
pub fn make(product: &str, hosts: &[&str], now: i64) -> Result<Identities, String> {
    let fault = |e| format!("{e:?}");
    let ca_name = format!("{product}_Auto_Generated_CA_Certificate");
    let ca_key = Key::generate().map_err(fault)?;
    let make = |kind: &str, serial, hosts: &[&str], key: &Key| {
        let name = format!("{product}_Auto_Generated_{kind}_Certificate");
        let subject = Subject { name: &name, serial, authority: kind == "CA", hosts };
        let der = certificate(&subject, key, &ca_name, &ca_key, now)?;
        let mut pkcs8 = [0; 512];
        let pkcs8 = key.to_pkcs8_der(&mut pkcs8)?;
        Ok(Identity { certificate: pem("CERTIFICATE", &der), key: pem("PRIVATE KEY", pkcs8) })
    };
    let (server, client) = (Key::generate().map_err(fault)?, Key::generate().map_err(fault)?);
    Ok(Identities {
        ca: make("CA", 1, &[], &ca_key).map_err(fault)?,
        server: make("Server", 2, hosts, &server).map_err(fault)?,
        client: make("Client", 3, &[], &client).map_err(fault)?,
    })
}

/// Tells a key apart: SHA-1 of its bits, as RFC 5280, 4.2.1.2 proposes.
fn key_id(spki: &[u8]) -> [u8; 20] {
    let bits = Elements(spki).expect(tag::SEQUENCE).and_then(|inner| {
        let mut inner = Elements(inner);
        inner.next();
        inner.expect(tag::BIT_STRING)
    });
    Sha1::digest(bits.and_then(|b| b.get(1..)).unwrap_or(spki)).into()
}

fn common_name(name: &str) -> Vec<u8> {
    let pair = put(tag::SEQUENCE, &[&put(tag::OID, &[oid::COMMON_NAME]), &put(tag::UTF8_STRING, &[name.as_bytes()])]);
    put(tag::SEQUENCE, &[&put(tag::SET, &[&pair])])
}

fn extension(id: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let flag = if critical { put(tag::BOOLEAN, &[&[0xFF]]) } else { Vec::new() };
    put(tag::SEQUENCE, &[&put(tag::OID, &[id]), &flag, &put(tag::OCTET_STRING, &[value])])
}

fn certificate(s: &Subject<'_>, key: &Key, issuer: &str, signer: &Key, now: i64) -> Result<Vec<u8>, graviola::Error> {
    let (mut own, mut authority) = ([0; 256], [0; 256]);
    let own = key.to_spki_der(&mut own)?;
    let authority = signer.to_spki_der(&mut authority)?;
    let ca = if s.authority { put(tag::BOOLEAN, &[&[0xFF]]) } else { Vec::new() };
    // keyCertSign and cRLSign; digitalSignature.
    let usage: &[u8] = if s.authority { &[1, 0x06] } else { &[7, 0x80] };
    let mut extensions = [
        extension(oid::BASIC_CONSTRAINTS, true, &put(tag::SEQUENCE, &[&ca])),
        extension(oid::KEY_USAGE, true, &put(tag::BIT_STRING, &[usage])),
        extension(oid::SUBJECT_KEY_ID, false, &put(tag::OCTET_STRING, &[&key_id(own)])),
        extension(oid::AUTHORITY_KEY_ID, false, &put(tag::SEQUENCE, &[&put(0x80, &[&key_id(authority)])])),
    ]
    .concat();
    if !s.hosts.is_empty() {
        let name = |h: &&str| match h.parse() {
            Ok(IpAddr::V4(ip)) => put(0x87, &[&ip.octets()]),
            Ok(IpAddr::V6(ip)) => put(0x87, &[&ip.octets()]),
            Err(_) => put(DNS_NAME, &[h.as_bytes()]),
        };
        let names: Vec<u8> = s.hosts.iter().flat_map(name).collect();
        extensions.extend(extension(oid::SUBJECT_ALT_NAME, false, &put(tag::SEQUENCE, &[&names])));
    }
    let algorithm = put(tag::SEQUENCE, &[&put(tag::OID, &[oid::ECDSA_WITH_SHA256])]);
    let body = put(
        tag::SEQUENCE,
        &[
            &put(tag::context(0), &[&put(tag::INTEGER, &[&[2]])]),
            &put(tag::INTEGER, &[&[s.serial]]),
            &algorithm,
            &common_name(issuer),
            // A day back: clients' clocks differ.
            &put(tag::SEQUENCE, &[&time(now - 86_400), &time(now + DAYS * 86_400)]),
            &common_name(s.name),
            own,
            &put(tag::context(3), &[&put(tag::SEQUENCE, &[&extensions])]),
        ],
    );
    let mut signature = [0; 128];
    let signature = signer.sign_asn1::<Sha256>(&[&body], &mut signature)?;
    Ok(put(tag::SEQUENCE, &[&body, &algorithm, &put(tag::BIT_STRING, &[&[0], signature])]))
}

/// Year, month and day of a day since 1970 (H. Hinnant, `civil_from_days`).
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

/// UTCTime up to 2049, GeneralizedTime from then on.
fn time(unix: i64) -> Vec<u8> {
    let (y, m, d) = civil(unix.div_euclid(86_400));
    let s = unix.rem_euclid(86_400);
    let rest = format!("{m:02}{d:02}{:02}{:02}{:02}Z", s / 3600, s / 60 % 60, s % 60);
    match y {
        1950..2050 => put(tag::UTC_TIME, &[format!("{:02}{rest}", y % 100).as_bytes()]),
        _ => put(tag::GENERALIZED_TIME, &[format!("{y:04}{rest}").as_bytes()]),
    }
}

/// RFC 7468.
fn pem(label: &str, der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = format!("-----BEGIN {label}-----\n");
    for line in der.chunks(48) {
        for three in line.chunks(3) {
            let n = three.iter().enumerate().fold(0u32, |n, (i, b)| n | u32::from(*b) << (16 - 8 * i));
            for i in 0..4 {
                let digit = DIGITS[(n >> (18 - 6 * i) & 63) as usize];
                out.push(if i <= three.len() { char::from(digit) } else { '=' });
            }
        }
        out.push('\n');
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// What is read of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The issuer, as OpenSSL prints names on one line: `/C=DE/CN=...`.
    pub issuer: String,
    /// The subject, in the same form.
    pub subject: String,
    /// From when it holds, as OpenSSL prints times: `Jan  2 03:04:05 2026 GMT`.
    pub not_before: String,
    /// Until when it holds.
    pub not_after: String,
}

impl Facts {
    /// Reads a certificate's DER; `None` where it is none.
    pub fn read(der: &[u8]) -> Option<Facts> {
        let mut body = Elements(Elements(Elements(der).expect(tag::SEQUENCE)?).expect(tag::SEQUENCE)?);
        // The version may be left out.
        if body.0.first() == Some(&tag::context(0)) {
            body.next()?;
        }
        body.expect(tag::INTEGER)?;
        body.expect(tag::SEQUENCE)?;
        let issuer = one_line(body.expect(tag::SEQUENCE)?)?;
        let mut validity = Elements(body.expect(tag::SEQUENCE)?);
        let mut when = || validity.next().and_then(|(t, text)| printed_time(t, text));
        let (not_before, not_after) = (when()?, when()?);
        let subject = one_line(body.expect(tag::SEQUENCE)?)?;
        Some(Facts { issuer, subject, not_before, not_after })
    }
}

/// A certificate's extensions name no host, and its common name is this one. The name may begin with `*.` for one
/// label.
pub(crate) fn is_commonly_named(der: &[u8], host: &str) -> bool {
    common_names(der).is_some_and(|names| names.iter().any(|name| is_for(name, host)))
}

/// The common names of the subject; `None` where extensions name a host, and where it cannot be read.
fn common_names(der: &[u8]) -> Option<Vec<String>> {
    let mut body = Elements(Elements(Elements(der).expect(tag::SEQUENCE)?).expect(tag::SEQUENCE)?);
    let (mut sequences, mut names) = (0, Vec::new());
    while let Some((kind, contents)) = body.next() {
        sequences += usize::from(kind == tag::SEQUENCE);
        // Behind the algorithm, the issuer and the validity.
        if kind == tag::SEQUENCE && sequences == 4 {
            let mut sets = Elements(contents);
            while let Some((_, set)) = sets.next() {
                let mut pair = Elements(Elements(set).expect(tag::SEQUENCE)?);
                if pair.expect(tag::OID)? == oid::COMMON_NAME {
                    names.push(String::from_utf8_lossy(pair.next()?.1).into_owned());
                }
            }
        }
        if kind == tag::context(3) {
            let mut extensions = Elements(Elements(contents).expect(tag::SEQUENCE)?);
            while let Some((_, extension)) = extensions.next() {
                let mut extension = Elements(extension);
                if extension.expect(tag::OID)? != oid::SUBJECT_ALT_NAME {
                    continue;
                }
                // What is critical says so before its value.
                let value = std::iter::from_fn(|| extension.next()).find(|(kind, _)| *kind == tag::OCTET_STRING)?.1;
                let mut hosts = Elements(Elements(value).expect(tag::SEQUENCE)?);
                if std::iter::from_fn(|| hosts.next()).any(|(kind, _)| kind == DNS_NAME) {
                    return None;
                }
            }
        }
    }
    Some(names)
}

fn is_for(name: &str, host: &str) -> bool {
    match (name.strip_prefix("*."), host.split_once('.')) {
        (Some(domain), Some((label, rest))) => {
            // A star for a whole top level is for nobody.
            !label.is_empty() && domain.contains('.') && domain.eq_ignore_ascii_case(rest)
        }
        (Some(_), None) => false,
        (None, _) => !name.is_empty() && name.eq_ignore_ascii_case(host),
    }
}

fn one_line(name: &[u8]) -> Option<String> {
    let mut out = String::new();
    let mut sets = Elements(name);
    while let Some((_, set)) = sets.next() {
        let mut pairs = Elements(set);
        while let Some((_, pair)) = pairs.next() {
            let mut pair = Elements(pair);
            let id = pair.expect(tag::OID)?;
            let (_, value) = pair.next()?;
            let short = match id {
                [0x55, 4, 3] => "CN".into(),
                [0x55, 4, 4] => "SN".into(),
                [0x55, 4, 5] => "serialNumber".into(),
                [0x55, 4, 6] => "C".into(),
                [0x55, 4, 7] => "L".into(),
                [0x55, 4, 8] => "ST".into(),
                [0x55, 4, 10] => "O".into(),
                [0x55, 4, 11] => "OU".into(),
                [0x55, 4, 12] => "title".into(),
                [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9, 1] => "emailAddress".into(),
                [9, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 25] => "DC".into(),
                [9, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 1] => "UID".into(),
                other => other.iter().map(|b| format!("{b:02X}")).collect::<String>(),
            };
            out.push_str(&format!("/{short}={}", String::from_utf8_lossy(value)));
        }
    }
    Some(out)
}

fn printed_time(kind: u8, text: &[u8]) -> Option<String> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let text = std::str::from_utf8(text).ok()?;
    let (year, rest) = match kind {
        tag::UTC_TIME => {
            let two: u32 = text.get(..2)?.parse().ok()?;
            (if two < 50 { 2000 + two } else { 1900 + two }, text.get(2..)?)
        }
        tag::GENERALIZED_TIME => (text.get(..4)?.parse().ok()?, text.get(4..)?),
        _ => return None,
    };
    let month: usize = rest.get(..2)?.parse().ok()?;
    let month = MONTHS.get(month.checked_sub(1)? * 3..month * 3)?;
    let day: u32 = rest.get(2..4)?.parse().ok()?;
    Some(format!("{month} {day:2} {}:{}:{} {year} GMT", rest.get(4..6)?, rest.get(6..8)?, rest.get(8..10)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    #[test]
    fn what_is_made_can_be_read() {
        // 2026-01-02 03:04:05; ten years on it is 2035-12-31.
        let made = make("Test_1", &["localhost", "127.0.0.1"], 1_767_323_045).unwrap();
        let der = CertificateDer::from_pem_slice(made.server.certificate.as_bytes()).unwrap();
        let facts = Facts::read(&der).unwrap();
        assert_eq!(facts.issuer, "/CN=Test_1_Auto_Generated_CA_Certificate");
        assert_eq!(facts.subject, "/CN=Test_1_Auto_Generated_Server_Certificate");
        assert_eq!(facts.not_before, "Jan  1 03:04:05 2026 GMT");
        assert_eq!(facts.not_after, "Dec 31 03:04:05 2035 GMT");
        for cut in 0..der.len() {
            assert!(Facts::read(&der[..cut]).is_none() || cut > 200, "{cut}");
        }
    }

    /// As OpenSSL compares them: a common name counts where alternative names have no host.
    #[test]
    fn a_common_name_is_for_a_host() {
        let der = |hosts: &[&str]| {
            let key = Key::generate().unwrap();
            let subject = Subject { name: "db.example.org", serial: 7, authority: false, hosts };
            certificate(&subject, &key, "issuer.example.org", &key, 1_767_323_045).unwrap()
        };
        for hosts in [&[][..], &["127.0.0.1"]] {
            let der = der(hosts);
            assert!(is_commonly_named(&der, "DB.example.org"), "{hosts:?}");
            assert!(!is_commonly_named(&der, "issuer.example.org"), "{hosts:?}");
            (0..der.len()).for_each(|cut| drop(common_names(&der[..cut])));
        }
        assert!(!is_commonly_named(&der(&["other.example.org"]), "db.example.org"));
        assert!(is_for("*.example.org", "db.Example.org"));
        for (name, host) in [
            ("*.example.org", "a.db.example.org"),
            ("*.example.org", "example.org"),
            ("*.example.org", ".example.org"),
            ("*.org", "example.org"),
            ("*", "db"),
            ("", ""),
        ] {
            assert!(!is_for(name, host), "{name} {host}");
        }
    }

    #[test]
    fn days_and_digits() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(pem("X", b"any carnal pleas"), "-----BEGIN X-----\nYW55IGNhcm5hbCBwbGVhcw==\n-----END X-----\n");
    }
}
