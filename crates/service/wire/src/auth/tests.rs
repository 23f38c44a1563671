use super::*;
use crate::frame::HEADER;
use std::cell::Cell;
use std::sync::OnceLock;

#[derive(Default)]
struct Ctx {
    digest: Cell<Option<FastDigest>>,
}

fn key() -> &'static RsaKey {
    static KEY: OnceLock<RsaKey> = OnceLock::new();
    KEY.get_or_init(|| RsaKey::generate().expect("randomness"))
}

impl AuthContext for Ctx {
    fn cached(&self) -> Option<FastDigest> {
        self.digest.get()
    }
    fn remember(&self, digest: FastDigest) {
        self.digest.set(Some(digest));
    }
    fn rsa_key(&self) -> Option<&RsaKey> {
        Some(key())
    }
}

const SALT: [u8; NONCE] = *b"0123456789abcdefghij";

/// Plays a client that knows `password` and starts with `plugin`; returns the verdict and the packets it took.
fn play(secret: &Secret, plugin: Plugin, password: &[u8], secure: bool, ctx: &Ctx) -> (Verdict, Vec<String>) {
    let nonce = *b"ABCDEFGHIJKLMNOPQRST";
    let answer_to_challenge = |plugin| match plugin {
        Plugin::Native => native_response(password, &nonce),
        Plugin::Sha2 => sha2_response(password, &nonce),
        Plugin::Sha256 if secure || password.is_empty() => [password, &[0]].concat(),
        Plugin::Sha256 => vec![SHA256_REQUEST_KEY],
    };
    let first = answer_to_challenge(plugin);
    let (mut out, mut seq, mut trace) = (Vec::new(), 0, Vec::new());
    let (mut ex, mut verdict) = Exchange::start(
        nonce,
        secure,
        secret.clone(),
        Some(plugin),
        true,
        &first,
        ctx,
        &mut Writer::new(&mut out, &mut seq),
    );
    while verdict == Verdict::More {
        let packet = out.split_off(HEADER);
        out.clear();
        let answer = match packet.as_slice() {
            [SWITCH, rest @ ..] if rest.starts_with(b"mysql_native_password\0") => {
                trace.push("switch native".into());
                answer_to_challenge(Plugin::Native)
            }
            [SWITCH, rest @ ..] if rest.starts_with(b"sha256_password\0") => {
                trace.push("switch sha256".into());
                answer_to_challenge(Plugin::Sha256)
            }
            [SWITCH, ..] => {
                trace.push("switch sha2".into());
                answer_to_challenge(Plugin::Sha2)
            }
            [MORE_DATA, FULL] if secure => {
                trace.push("full".into());
                [password, &[0]].concat()
            }
            [MORE_DATA, FULL] => {
                trace.push("full".into());
                vec![REQUEST_KEY]
            }
            [MORE_DATA, pem @ ..] => {
                trace.push("key".into());
                encrypt_password(std::str::from_utf8(pem).unwrap(), password, &nonce).unwrap()
            }
            other => panic!("{other:?}"),
        };
        verdict = ex.feed(&answer, ctx, &mut Writer::new(&mut out, &mut seq)).unwrap();
    }
    (verdict, trace)
}

#[test]
fn every_plugin_accepts_the_right_password_and_no_other() {
    for account in [Plugin::Native, Plugin::Sha2, Plugin::Sha256] {
        for client in [Plugin::Native, Plugin::Sha2, Plugin::Sha256] {
            for secure in [true, false] {
                let secret = Secret::from_password(account, b"s3cret", SALT);
                let ctx = Ctx::default();
                assert_eq!(play(&secret, client, b"s3cret", secure, &ctx).0, Verdict::Accepted);
                for wrong in [&b"s3creT"[..], b"x", b"s3cret\0"] {
                    let got = play(&secret, client, wrong, secure, &ctx).0;
                    assert_eq!(got, Verdict::Denied { password: true }, "{account:?} {client:?} {secure}");
                }
                assert_eq!(play(&secret, client, b"", secure, &ctx).0, Verdict::Denied { password: false });
            }
        }
    }
}

#[test]
fn the_second_login_takes_the_fast_path() {
    let secret = Secret::from_password(Plugin::Sha2, b"pw", SALT);
    let ctx = Ctx::default();
    assert_eq!(play(&secret, Plugin::Sha2, b"pw", false, &ctx).1, ["full", "key"]);
    assert_eq!(play(&secret, Plugin::Sha2, b"pw", false, &ctx), (Verdict::Accepted, vec![]));
    // A wrong password falls back to the full exchange and fails there.
    assert_eq!(play(&secret, Plugin::Sha2, b"no", true, &ctx).1, ["full"]);
}

#[test]
fn a_client_may_wait_for_the_challenge_of_another_plugin() {
    for (own, password, good) in [(&b"s3cret"[..], &b"s3cret"[..], true), (b"s3cret", b"other", false)] {
        let secret = Secret::from_password(Plugin::Native, own, SALT);
        let (mut out, mut seq, ctx) = (Vec::new(), 0, Ctx::default());
        let mut w = Writer::new(&mut out, &mut seq);
        let (mut ex, verdict) = Exchange::start(SALT, false, secret, Some(Plugin::Native), true, b"", &ctx, &mut w);
        assert_eq!((verdict, out[HEADER]), (Verdict::More, SWITCH));
        let mut w = Writer::new(&mut out, &mut seq);
        let verdict = ex.feed(&native_response(password, &SALT), &ctx, &mut w).unwrap();
        assert_eq!(verdict, if good { Verdict::Accepted } else { Verdict::Denied { password: true } });
    }
}

#[test]
fn unknown_users_take_part_in_the_same_exchange() {
    let real = Secret::from_password(Plugin::Sha2, b"pw", SALT);
    let nobody = Secret::Nobody(Plugin::Sha2);
    for client in [Plugin::Native, Plugin::Sha2, Plugin::Sha256] {
        for secure in [true, false] {
            let a = play(&real, client, b"guess", secure, &Ctx::default());
            let b = play(&nobody, client, b"guess", secure, &Ctx::default());
            assert_eq!(a, b);
            assert_eq!(a.0, Verdict::Denied { password: true });
        }
    }
    assert_eq!(play(&nobody, Plugin::Sha2, b"", true, &Ctx::default()).0, Verdict::Denied { password: false });
}

#[test]
fn accounts_without_a_password_take_none() {
    for account in [Plugin::Native, Plugin::Sha2, Plugin::Sha256] {
        for client in [Plugin::Native, Plugin::Sha2, Plugin::Sha256] {
            let secret = Secret::Empty(account);
            assert_eq!(play(&secret, client, b"", false, &Ctx::default()).0, Verdict::Accepted);
            assert_eq!(play(&secret, client, b"x", true, &Ctx::default()).0, Verdict::Denied { password: true });
        }
    }
}

#[test]
fn stored_forms_round_trip() {
    let native = Secret::from_password(Plugin::Native, b"password", SALT);
    assert_eq!(native.to_authentication_string(), b"*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
    for plugin in [Plugin::Native, Plugin::Sha2] {
        for password in [&b""[..], b"a", &[0xE9; 200]] {
            let secret = Secret::from_password(plugin, password, [0; NONCE]);
            let text = secret.to_authentication_string();
            assert_eq!(Secret::from_authentication_string(plugin, &text), Some(secret));
            for cut in 1..text.len() {
                assert_eq!(Secret::from_authentication_string(plugin, &text[..cut]), None);
            }
        }
    }
}

#[test]
fn garbage_never_panics() {
    let ctx = Ctx::default();
    for len in [0, 1, 2, 19, 20, 31, 32, 255, 256, 257, 5000] {
        for secret in [Secret::from_password(Plugin::Sha2, b"p", SALT), Secret::Nobody(Plugin::Native)] {
            let (mut out, mut seq) = (Vec::new(), 0);
            let mut w = Writer::new(&mut out, &mut seq);
            let bytes = vec![0xA5; len];
            let (mut ex, mut v) = Exchange::start([1; NONCE], false, secret, None, true, &bytes, &ctx, &mut w);
            for _ in 0..4 {
                if v == Verdict::More {
                    v = ex.feed(&bytes, &ctx, &mut w).unwrap();
                }
            }
            assert!(matches!(v, Verdict::Denied { .. }));
            assert_eq!(ex.feed(&bytes, &ctx, &mut w), Err(Malformed));
        }
    }
}
