use super::*;
use crate::client::{self, tls_client};

fn settings() -> Settings {
    let made = certificate::make("Test", &["localhost", "127.0.0.1"], 1_767_323_045).unwrap();
    Settings {
        certificate: made.server.certificate.into_bytes(),
        key: made.server.key.into_bytes(),
        ca: made.ca.certificate.into_bytes(),
        versions: "TLSv1.2,TLSv1.3".into(),
        ..Settings::default()
    }
}

/// Runs a handshake and an exchange in memory; what was agreed.
fn talk(s: &Settings, step: usize) -> Agreed {
    let acceptor = Acceptor::new(s).unwrap();
    let mut server = acceptor.accept().unwrap();
    let mut client = tls_client(&client::Tls { ca: Some(s.ca.clone()), ..client::Tls::default() }).unwrap();
    let (mut heard, mut answered) = (Vec::new(), false);
    let text = vec![b'x'; 100_000];
    client.writer().write_all(b"hello").unwrap();
    for _ in 0..1000 {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        for piece in wire.chunks(step) {
            server.receive(piece, &mut heard).unwrap();
        }
        let mut wire = Vec::new();
        server.send(&[], &mut wire).unwrap();
        if heard == b"hello" && !answered {
            answered = true;
            server.send(&text, &mut wire).unwrap();
        }
        let mut rest = &wire[..];
        let mut got = Vec::new();
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            let n = client.process_new_packets().unwrap().plaintext_bytes_to_read();
            let had = got.len();
            got.resize(had + n, 0);
            client.reader().read_exact(&mut got[had..]).unwrap();
        }
        if answered {
            assert!(got == text);
            return server.agreed().unwrap();
        }
    }
    panic!("no end of the handshake");
}

#[test]
fn both_versions_in_pieces_of_any_size() {
    for (versions, want) in [("TLSv1.2", "TLSv1.2"), ("TLSv1.3", "TLSv1.3"), ("TLSv1.2,TLSv1.3", "TLSv1.3")] {
        let s = Settings { versions: versions.into(), ..settings() };
        for step in [1, 17, 100_000] {
            let agreed = talk(&s, step);
            assert_eq!(agreed.version, want);
            assert!(agreed.client.is_none());
        }
    }
}

#[test]
fn ciphers_are_chosen_by_their_names() {
    let chacha = "ECDHE-ECDSA-CHACHA20-POLY1305";
    let s = Settings { versions: "TLSv1.2".into(), ciphers: chacha.into(), ..settings() };
    assert_eq!(talk(&s, 1000).cipher, chacha);
    let s = Settings { suites: "TLS_AES_256_GCM_SHA384".into(), ..settings() };
    assert_eq!(talk(&s, 1000).cipher, "TLS_AES_256_GCM_SHA384");
    assert!(cipher_list().contains(&"ECDHE-RSA-AES256-GCM-SHA384".to_string()));
    let none = Settings { ciphers: "NULL".into(), suites: "NULL".into(), ..settings() };
    assert_eq!(Acceptor::new(&none).err().as_deref(), Some("none of the ciphers is there"));
}

#[test]
fn what_is_not_tls_is_refused_with_an_alert() {
    let acceptor = Acceptor::new(&settings()).unwrap();
    for (garbage, what) in [
        (&b"\x20\0\0\x02garbage that is no hello"[..], "InvalidContentType"),
        (&[0x16, 3, 1, 0, 4, 1, 0, 0, 0], "MissingData(\"ProtocolVersion\")"),
        (&[0xFF; 70_000], "InvalidContentType"),
    ] {
        let mut tls = acceptor.accept().unwrap();
        let (mut plain, mut wire) = (Vec::new(), Vec::new());
        let e = tls.receive(garbage, &mut plain).unwrap_err();
        assert_eq!(e.to_string(), format!("received corrupt message of type {what}"));
        let _ = tls.send(&[], &mut wire);
        assert!(plain.is_empty() && wire.first() == Some(&0x15), "{wire:?}");
    }
}

#[test]
fn files_that_are_none_are_refused() {
    let good = settings();
    let no_authority = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec();
    for (bad, why) in [
        (
            Settings { certificate: b"x".to_vec(), ..good.clone() },
            "the server's certificate: there is no certificate in it",
        ),
        (Settings { key: good.certificate.clone(), ..good.clone() }, "the server's key: no items found"),
        (
            Settings { ca: no_authority, ..good.clone() },
            "the authority's certificate: invalid peer certificate: BadEncoding",
        ),
        (Settings { versions: "TLSv1.0".into(), ..good.clone() }, "TLS version TLSv1.0 is not there"),
        (Settings { key: settings().key, ..good.clone() }, "keys may not be consistent: KeyMismatch"),
    ] {
        assert_eq!(Acceptor::new(&bad).err().as_deref(), Some(why));
    }
}
