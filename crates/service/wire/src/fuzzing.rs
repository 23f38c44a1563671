//! Entry points for fuzzing: any bytes in, no panic out. The `cargo fuzz` targets in `fuzz/` and the seeded mutation
//! test below call the same functions.

use crate::auth::{AuthContext, Exchange, FastDigest, Plugin, RsaKey, Secret, Verdict};
use crate::client::{ColumnInfo, read_binary, read_error, read_ok, read_text};
use crate::codec::Malformed;
use crate::command::Command;
use crate::compress::{Algorithm, Compressed};
use crate::flags::{cap, com, status, ty};
use crate::frame::{Decoder, Fed, IN_PLACE, Writer};
use crate::handshake::{ClientHello, Greeting, Login};
use crate::reply;

/// The packet layer: bytes arriving in pieces. The first byte says how large they are.
pub fn frames(data: &[u8]) {
    let Some((step, stream)) = data.split_first() else { return };
    let step = usize::from(*step) + 1;
    let mut decoder = Decoder::new(1 << 20);
    let (mut sequence, mut buffer, mut total) = (0, Vec::new(), 0);
    for piece in stream.chunks(step) {
        buffer.extend_from_slice(piece);
        loop {
            match decoder.feed(&buffer, &mut sequence) {
                Err(_) => return,
                Ok(Fed::Partial { consumed, want }) => {
                    buffer.drain(..consumed);
                    assert!(want > buffer.len(), "no progress");
                    break;
                }
                Ok(Fed::InPlace { payload, consumed }) => {
                    total += payload.len();
                    buffer.drain(..consumed);
                }
                Ok(Fed::Assembled { consumed }) => {
                    total += decoder.assembled().len();
                    buffer.drain(..consumed);
                }
            }
        }
        assert!(buffer.len() <= IN_PLACE + 4 + step);
    }
    assert!(total <= stream.len());
}

/// Compressed packets, arriving in pieces. The first byte says how large they are, and the algorithm.
pub fn compressed(data: &[u8]) {
    const LIMIT: usize = 1 << 18;
    let Some((step, stream)) = data.split_first() else { return };
    let algorithm = if step & 1 == 0 { Algorithm::Zlib } else { Algorithm::Zstd };
    let mut it = Compressed::new(algorithm, LIMIT);
    let mut plain = Vec::new();
    for piece in stream.chunks(usize::from(*step) + 1) {
        it.receive(piece);
        loop {
            plain.clear();
            let got = it.next(&mut plain);
            assert!(plain.len() <= LIMIT, "more than is allowed");
            match got {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return,
            }
        }
    }
}

/// Streams of compressed packets, for [`compressed`].
pub fn compressed_seeds() -> Vec<Vec<u8>> {
    let text: Vec<u8> = (0..3000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
    let mut seeds = Vec::new();
    for (step, algorithm) in [(200, Algorithm::Zlib), (201, Algorithm::Zstd)] {
        for part in [&text[..], &text[..60], &text[..10], &vec![0; 200_000]] {
            let mut seed = vec![step];
            let mut it = Compressed::new(algorithm, usize::MAX);
            it.send(part, &mut seed);
            it.send(&text[..500], &mut seed);
            seeds.push(seed);
        }
    }
    seeds
}

struct NoKeys;

impl AuthContext for NoKeys {
    fn cached(&self) -> Option<FastDigest> {
        Some([7; 32])
    }
    fn remember(&self, _: FastDigest) {}
    fn rsa_key(&self) -> Option<&RsaKey> {
        None
    }
}

/// The connection phase: a client's hello and its answers; both directions of the handshake.
pub fn handshake(data: &[u8]) {
    let _ = Greeting::read(data);
    let _ = Login::read_change_user(data, u32::MAX);
    let Ok(ClientHello::Login(login)) = ClientHello::read(data) else { return };
    let plugin = login.plugin();
    for secret in [Secret::Empty(Plugin::Sha2), Secret::Nobody(Plugin::Native), Secret::Nobody(Plugin::Sha2)] {
        let (mut out, mut sequence) = (Vec::new(), 0);
        let mut w = Writer::new(&mut out, &mut sequence);
        let nobody = matches!(secret, Secret::Nobody(_));
        let (mut exchange, mut verdict) =
            Exchange::start([9; 20], false, secret, plugin, true, &login.response, &NoKeys, &mut w);
        let mut rounds = 0;
        while verdict == Verdict::More {
            rounds += 1;
            assert!(rounds < 5, "an exchange without an end");
            verdict = match exchange.feed(&login.user, &NoKeys, &mut w) {
                Ok(v) => v,
                Err(Malformed) => return,
            };
        }
        // No password: the answer is empty, at once or after a change of the method.
        let empty = |answer: &[u8]| answer.iter().all(|b| *b == 0);
        let right = !nobody && (empty(&login.response) || empty(&login.user));
        assert!(verdict != Verdict::Accepted || right);
    }
}

/// The command phase: decoding, parameters included. The first byte chooses the capabilities.
pub fn command(data: &[u8]) {
    let Some((choice, packet)) = data.split_first() else { return };
    let capabilities = if choice & 1 == 1 { cap::QUERY_ATTRIBUTES } else { 0 };
    let Ok(Command::Execute(execute)) = Command::decode(packet, capabilities) else { return };
    let count = usize::from(choice >> 4);
    let mut types = Vec::new();
    let mut seen = 0;
    for _ in 0..2 {
        let _ = execute.params(
            capabilities,
            count,
            &mut types,
            |i| i == 3,
            |i, _| {
                assert!(i < count);
                seen += 1;
                Ok::<(), Malformed>(())
            },
        );
    }
    assert!(seen <= 2 * count && types.len() <= count);
}

/// What a server sends, read by the client. The first byte says what it is and, of a row, how many columns it has;
/// those of a binary row have their types before it, a byte each.
pub fn replies(data: &[u8]) {
    let _ = reply(data);
}

/// Whether the packet could be read.
fn reply(data: &[u8]) -> bool {
    let Some((choice, packet)) = data.split_first() else { return false };
    let count = usize::from(choice >> 3);
    let row = match choice & 7 {
        0 => return ColumnInfo::read(packet).is_ok(),
        1 => return read_ok(packet, !0).is_ok(),
        2 => return read_ok(packet, 0).is_ok(),
        3 => return read_error(packet).is_ok(),
        4 => read_text(packet, count),
        kind => {
            let Some((types, row)) = packet.split_at_checked(count) else { return false };
            let flags = if kind == 5 { 0 } else { gannet_types::sqltype::flags::UNSIGNED };
            let columns: Vec<_> = types.iter().map(|&ty| ColumnInfo { ty, flags, ..ColumnInfo::default() }).collect();
            read_binary(row, &columns)
        }
    };
    row.is_ok_and(|cells| {
        assert_eq!(cells.len(), count);
        true
    })
}

/// Packets of a server, for [`replies`].
pub fn reply_seeds() -> Vec<Vec<u8>> {
    let packet = |choice: u8, write: &dyn Fn(&mut Writer<'_>)| {
        let (mut out, mut sequence) = (Vec::new(), 0);
        write(&mut Writer::new(&mut out, &mut sequence));
        [&[choice], &out[4..]].concat()
    };
    let mut changes = Vec::new();
    reply::put_schema_change(&mut changes, b"shop");
    reply::put_variable_change(&mut changes, b"autocommit", b"ON");
    let ok = reply::Ok {
        affected: 3,
        insert_id: 70_000,
        status: status::SESSION_STATE_CHANGED,
        warnings: 1,
        info: b"Records: 3",
        state: &changes,
    };
    let column = reply::Column {
        schema: b"shop",
        table: b"o",
        org_table: b"orders",
        name: b"n",
        org_name: b"number",
        collation: 63,
        length: 11,
        ty: ty::LONG,
        flags: 1,
        decimals: 0,
    };
    vec![
        packet(0, &|w| reply::column(w, &column)),
        packet(1, &|w| reply::ok(w, !0, &ok)),
        packet(2, &|w| reply::ok(w, 0, &ok)),
        packet(3, &|w| reply::err(w, !0, 1062, b"23000", "Duplicate entry")),
        b"\x1C\x01a\xFB\x03abc".to_vec(),
        [
            &[5 << 3 | 5, ty::LONGLONG, ty::STRING, ty::DATETIME, ty::TIME, ty::DOUBLE, 0, 0][..],
            &[1, 2, 3, 4, 5, 6, 7, 8, 2, b'a', b'b', 7, 0xE8, 7, 1, 2, 3, 4, 5, 8, 1, 1, 0, 0, 0, 1, 2, 3],
            &[0; 8],
        ]
        .concat(),
    ]
}

/// Valid inputs: a login, an execute, packets, a query with attributes.
pub fn seeds() -> Vec<Vec<u8>> {
    let packet = |write: &dyn Fn(&mut Writer<'_>)| {
        let (mut out, mut sequence) = (Vec::new(), 0);
        write(&mut Writer::new(&mut out, &mut sequence));
        out.split_off(4)
    };
    let login = Login {
        capabilities: !cap::SSL,
        max_packet: 1 << 24,
        collation: 255,
        user: b"root".to_vec(),
        response: vec![1; 32],
        database: Some(b"test".to_vec()),
        plugin: Some(b"caching_sha2_password".to_vec()),
        zstd_level: 0,
        attributes: vec![(b"_client_name".to_vec(), b"libmysql".to_vec())],
    };
    let execute = [
        &[0x50, com::STMT_EXECUTE, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0b10, 1][..],
        &[ty::LONGLONG, 0, ty::STRING, 0, ty::DATETIME, 0, ty::TIME, 0, ty::DOUBLE, 0],
        &[1, 2, 3, 4, 5, 6, 7, 8, 7, 0xE8, 7, 1, 2, 3, 4, 5, 8, 1, 1, 0, 0, 0, 1, 2, 3],
        &[0; 8],
    ]
    .concat();
    let frames = [&[16, 5, 0, 0, 0][..], b"abcde", &[0, 0, 0, 1], &[0xFF, 0xFF, 1, 2], &[3; 2000]].concat();
    vec![packet(&|w| login.write(w)), execute, frames, b"\x01\x03\x01\x01\x00\x01\xFE\x00\x01k\x01vSELECT 1".to_vec()]
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn below(&mut self, n: usize) -> usize {
            (self.next() % n.max(1) as u64) as usize
        }
    }

    #[test]
    fn valid_replies_are_read() {
        for (i, seed) in reply_seeds().iter().enumerate() {
            assert!(reply(seed), "input {i}");
        }
    }

    /// 200,000 mutated inputs; a failure prints the seed and the input.
    #[test]
    fn mutated_inputs_never_panic() {
        let seeds = [seeds(), reply_seeds()].concat();
        let mut random = Random(0x5EED_0001);
        for round in 0..200_000 {
            let mut data = seeds[random.below(seeds.len())].clone();
            for _ in 0..1 + random.below(6) {
                let at = random.below(data.len());
                match random.below(5) {
                    0 if !data.is_empty() => data[at] = random.next() as u8,
                    1 if !data.is_empty() => {
                        data[at] = [0, 1, 0x7F, 0x80, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF][random.below(10)]
                    }
                    2 => data.insert(at, random.next() as u8),
                    3 => data.truncate(at),
                    _ if !data.is_empty() => drop(data.remove(at)),
                    _ => {}
                }
            }
            let outcome = std::panic::catch_unwind(|| {
                frames(&data);
                command(&data);
                replies(&data);
                // The hashing of a full exchange makes this one slow.
                if round % 500 == 0 {
                    handshake(&data);
                } else {
                    let _ = ClientHello::read(&data);
                    let _ = Login::read_change_user(&data, u32::MAX);
                    let _ = Greeting::read(&data);
                }
            });
            assert!(outcome.is_ok(), "round {round}: {data:02x?}");
        }
    }
}
