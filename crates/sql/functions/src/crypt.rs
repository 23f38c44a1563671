//! Encryption and compression: AES, random bytes, zlib; the strength of a password; digests of statements.

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext, Stability},
    rules::{self, bytes_type, own_text, string},
};
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use gannet_types::{ErrorCode, Level, Result, SqlError, SqlType, TypeId, Value, sql_err};
use std::io::{Read, Write};

const BLOCK: usize = 16;

/// What a byte of zlib's may become (its own figure: 1032 for an endless run).
const MOST_INFLATED: usize = 1032;

/// AES of one of its three key sizes.
enum Aes {
    K128(aes::Aes128),
    K192(aes::Aes192),
    K256(aes::Aes256),
}

impl Aes {
    /// A key of another length is folded into the right one, as MySQL does.
    fn new(bits: usize, key: &[u8]) -> Option<Aes> {
        let mut folded = vec![0u8; bits / 8];
        for (i, b) in key.iter().enumerate() {
            folded[i % (bits / 8)] ^= b;
        }
        Some(match bits {
            128 => Aes::K128(aes::Aes128::new_from_slice(&folded).ok()?),
            192 => Aes::K192(aes::Aes192::new_from_slice(&folded).ok()?),
            _ => Aes::K256(aes::Aes256::new_from_slice(&folded).ok()?),
        })
    }

    fn encrypt(&self, block: &mut [u8; BLOCK]) {
        let block = block.into();
        match self {
            Aes::K128(c) => c.encrypt_block(block),
            Aes::K192(c) => c.encrypt_block(block),
            Aes::K256(c) => c.encrypt_block(block),
        }
    }

    fn decrypt(&self, block: &mut [u8; BLOCK]) {
        let block = block.into();
        match self {
            Aes::K128(c) => c.decrypt_block(block),
            Aes::K192(c) => c.decrypt_block(block),
            Aes::K256(c) => c.decrypt_block(block),
        }
    }
}

/// How blocks are chained (NIST SP 800-38A).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Ecb,
    Cbc,
    Cfb1,
    Cfb8,
    Cfb128,
    Ofb,
}

/// `block_encryption_mode`: `aes-BITS-MODE`.
fn mode_of(text: &str) -> Option<(usize, Mode)> {
    let (bits, mode) = text.strip_prefix("aes-")?.split_once('-')?;
    let bits = bits.parse().ok().filter(|b| matches!(b, 128 | 192 | 256))?;
    Some((
        bits,
        match mode {
            "ecb" => Mode::Ecb,
            "cbc" => Mode::Cbc,
            "cfb1" => Mode::Cfb1,
            "cfb8" => Mode::Cfb8,
            "cfb128" => Mode::Cfb128,
            "ofb" => Mode::Ofb,
            _ => return None,
        },
    ))
}

fn block_of(bytes: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..bytes.len().min(BLOCK)].copy_from_slice(&bytes[..bytes.len().min(BLOCK)]);
    block
}

fn xor(a: &mut [u8; BLOCK], b: &[u8; BLOCK]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
}

/// The stream modes: the same for both directions but for what goes back into the register.
fn stream(cipher: &Aes, mode: Mode, iv: [u8; BLOCK], data: &[u8], decrypt: bool) -> Vec<u8> {
    let mut register = iv;
    let mut out = Vec::with_capacity(data.len());
    match mode {
        Mode::Cfb1 => {
            for byte in data {
                let mut done = 0u8;
                for bit in (0..8).rev() {
                    let mut key = register;
                    cipher.encrypt(&mut key);
                    let given = byte >> bit & 1;
                    let made = given ^ key[0] >> 7;
                    done = done << 1 | made;
                    let back = if decrypt { given } else { made };
                    let shifted = u128::from_be_bytes(register) << 1 | u128::from(back);
                    register = shifted.to_be_bytes();
                }
                out.push(done);
            }
        }
        Mode::Cfb8 => {
            for byte in data {
                let mut key = register;
                cipher.encrypt(&mut key);
                let made = byte ^ key[0];
                register.rotate_left(1);
                register[BLOCK - 1] = if decrypt { *byte } else { made };
                out.push(made);
            }
        }
        _ => {
            for chunk in data.chunks(BLOCK) {
                cipher.encrypt(&mut register);
                let key = register;
                let start = out.len();
                out.extend(chunk.iter().zip(key).map(|(a, b)| a ^ b));
                if mode == Mode::Cfb128 {
                    register = block_of(if decrypt { chunk } else { &out[start..] });
                }
            }
        }
    }
    out
}

fn encrypt(cipher: &Aes, mode: Mode, iv: [u8; BLOCK], data: &[u8]) -> Vec<u8> {
    if !matches!(mode, Mode::Ecb | Mode::Cbc) {
        return stream(cipher, mode, iv, data, false);
    }
    let pad = BLOCK - data.len() % BLOCK;
    let mut out = data.to_vec();
    out.resize(data.len() + pad, pad as u8);
    let mut last = iv;
    for chunk in out.chunks_exact_mut(BLOCK) {
        let mut block = block_of(chunk);
        if mode == Mode::Cbc {
            xor(&mut block, &last);
        }
        cipher.encrypt(&mut block);
        chunk.copy_from_slice(&block);
        last = block;
    }
    out
}

/// `None`: this was not encrypted with that key.
fn decrypt(cipher: &Aes, mode: Mode, iv: [u8; BLOCK], data: &[u8]) -> Option<Vec<u8>> {
    if !matches!(mode, Mode::Ecb | Mode::Cbc) {
        return Some(stream(cipher, mode, iv, data, true));
    }
    if data.is_empty() || !data.len().is_multiple_of(BLOCK) {
        return None;
    }
    let mut out = Vec::with_capacity(data.len());
    let mut last = iv;
    for chunk in data.chunks_exact(BLOCK) {
        let given = block_of(chunk);
        let mut block = given;
        cipher.decrypt(&mut block);
        if mode == Mode::Cbc {
            xor(&mut block, &last);
        }
        out.extend_from_slice(&block);
        last = given;
    }
    let pad = usize::from(*out.last()?);
    let start = out.len().checked_sub(pad)?;
    if !(1..=BLOCK).contains(&pad) || out[start..].iter().any(|b| usize::from(*b) != pad) {
        return None;
    }
    out.truncate(start);
    Some(out)
}

fn aes_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(bytes_type(args[0].ty.max_bytes() / 16 * 16 + 16, true))
}

fn unaes_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(bytes_type(args[0].ty.max_bytes(), true))
}

/// The cipher that the session's mode, the key and the initialization vector make.
fn cipher(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
    name: &str,
) -> Result<Option<(Aes, Mode, [u8; BLOCK])>> {
    let text = match cx.session.variable("block_encryption_mode")? {
        Value::Str(text, _) => String::from_utf8_lossy(&text).to_lowercase(),
        _ => String::new(),
    };
    let Some((bits, mode)) = mode_of(&text) else { return Err(SqlError::unsupported(text)) };
    if args.len() > 3 {
        return Err(SqlError::unsupported(format_args!("{name} with a key derivation function")));
    }
    let mut iv = [0; BLOCK];
    match (mode, args.get(2)) {
        (Mode::Ecb, Some(_)) => {
            cx.warnings.push(sql_err!(WarnOptionIgnored, "IV").to_warning(Level::Warning));
        }
        (Mode::Ecb, None) => {}
        (_, None) => return Err(sql_err!(WrongParamcountToNativeFct, name)),
        (_, Some(given)) => {
            let text = if given.is_null() { Default::default() } else { own_text(call, args, 2) };
            if text.len() < BLOCK {
                return Err(sql_err!(AesInvalidIv, name, BLOCK));
            }
            iv = block_of(&text);
        }
    }
    if args[0].is_null() || args[1].is_null() {
        return Ok(None);
    }
    Ok(Aes::new(bits, &own_text(call, args, 1)).map(|c| (c, mode, iv)))
}

fn aes_encrypt(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let Some((cipher, mode, iv)) = cipher(cx, call, args, "aes_encrypt")? else { return Ok(Value::Null) };
    Ok(string(call, encrypt(&cipher, mode, iv, &own_text(call, args, 0))))
}

fn aes_decrypt(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let Some((cipher, mode, iv)) = cipher(cx, call, args, "aes_decrypt")? else { return Ok(Value::Null) };
    Ok(decrypt(&cipher, mode, iv, &own_text(call, args, 0)).map_or(Value::Null, |bytes| string(call, bytes)))
}

fn random_bytes_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::varbinary(1024))
}

fn random_bytes(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let n = rules::count_arg(cx, &args[0])?;
    if !(1..=1024).contains(&n) {
        return Err(sql_err!(DataOutOfRange, "length", "random_bytes"));
    }
    let mut out = Vec::with_capacity(n as usize + 8);
    while out.len() < n as usize {
        out.extend_from_slice(&cx.session.random().to_ne_bytes());
    }
    out.truncate(n as usize);
    Ok(string(call, out))
}

fn compress_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    let bytes = args[0].ty.max_bytes();
    Ok(bytes_type(bytes.saturating_add(bytes / 1000).saturating_add(120), rules::nullable(args)))
}

/// Four bytes of length, low first, and a zlib stream; a `.` behind one that would end with a space.
fn compress(_: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = own_text(call, args, 0);
    if text.is_empty() {
        return Ok(string(call, &b""[..]));
    }
    let length = u32::try_from(text.len()).map_err(|_| sql_err!(ZlibZMem))?;
    let mut encoder = ZlibEncoder::new((length & 0x3FFF_FFFF).to_le_bytes().to_vec(), Compression::default());
    let failed = |_| sql_err!(ZlibZMem);
    encoder.write_all(&text).map_err(failed)?;
    let mut out = encoder.finish().map_err(failed)?;
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    Ok(string(call, out))
}

fn uncompress_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::new(TypeId::LongBlob))
}

fn zlib_warning(cx: &mut EvalContext<'_>, code: ErrorCode) -> Result<Value> {
    cx.conversion().warn(code, &[])?;
    Ok(Value::Null)
}

/// The declared length is checked against max_allowed_packet before anything is inflated, and bounds what is.
fn uncompress(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = own_text(call, args, 0);
    if text.is_empty() {
        return Ok(string(call, &b""[..]));
    }
    let Some((header, body)) = text.split_first_chunk::<4>().filter(|(_, body)| !body.is_empty()) else {
        return zlib_warning(cx, ErrorCode::ZlibZData);
    };
    let length = u64::from(u32::from_le_bytes(*header) & 0x3FFF_FFFF);
    if length > cx.max_allowed_packet {
        let limit = cx.max_allowed_packet;
        let text = format!(
            "Uncompressed data size too large; the maximum size is {limit} (probably, length of uncompressed data was corrupted)"
        );
        cx.conversion().warn_text(ErrorCode::TooBigForUncompress, text)?;
        return Ok(Value::Null);
    }
    let mut out = Vec::new();
    let mut decoder = ZlibDecoder::new(body).take(length + 1);
    match decoder.read_to_end(&mut out) {
        Ok(_) if out.len() as u64 > length => zlib_warning(cx, ErrorCode::ZlibZBuf),
        Ok(_) => Ok(string(call, out)),
        Err(_) => zlib_warning(cx, ErrorCode::ZlibZData),
    }
}

fn uncompressed_length_rule(_: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(rules::int_of(11, rules::nullable(args)))
}

fn uncompressed_length(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    let text = own_text(call, args, 0);
    match text.first_chunk::<4>() {
        _ if text.is_empty() => Ok(Value::Int(0)),
        Some(header) if text.len() > 4 => Ok(Value::Int(i64::from(u32::from_le_bytes(*header) & 0x3FFF_FFFF))),
        _ => {
            cx.conversion().warn(ErrorCode::ZlibZData, &[])?;
            Ok(Value::Int(0))
        }
    }
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new(
        "AES_ENCRYPT",
        2,
        6,
        aes_rule,
        aes_encrypt,
        "Text encrypted by AES, as block_encryption_mode says.",
    )
    .sees_null()
    .is(Stability::Statement),
    FunctionDef::new("AES_DECRYPT", 2, 6, unaes_rule, aes_decrypt, "Text decrypted; NULL for another key's.")
        .sees_null()
        .is(Stability::Statement),
    FunctionDef::new("RANDOM_BYTES", 1, 1, random_bytes_rule, random_bytes, "So many random bytes, up to 1024.")
        .numbers_at(&[0])
        .is(Stability::Volatile),
    FunctionDef::new("COMPRESS", 1, 1, compress_rule, compress, "Text compressed by zlib, behind its length."),
    FunctionDef::new("UNCOMPRESS", 1, 1, uncompress_rule, uncompress, "What was compressed.")
        .makes(|args| args[0].long_bytes().saturating_mul(MOST_INFLATED)),
    FunctionDef::new(
        "UNCOMPRESSED_LENGTH",
        1,
        1,
        uncompressed_length_rule,
        uncompressed_length,
        "Length that a compressed text had.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;

    #[test]
    fn functions() {
        check(&[
            ("UNCOMPRESS(COMPRESS('any string'))", "any string"),
            ("UNCOMPRESSED_LENGTH(COMPRESS(REPEAT('a', 30)))", "30"),
            ("LENGTH(COMPRESS(''))", "0"),
            ("UNCOMPRESS('any string')", "NULL !1256"),
            ("UNCOMPRESS('xx')", "NULL !1259"),
            ("UNCOMPRESS(x'0100000078')", "NULL !1259"),
            ("LENGTH(RANDOM_BYTES(20))", "20"),
            ("RANDOM_BYTES(0)", "ERROR 1690"),
            ("RANDOM_BYTES(1025)", "ERROR 1690"),
            ("HEX(AES_ENCRYPT('a', 'key'))", "5529FA69BE3A14B5BD8952004C4FCE5A"),
            ("HEX(AES_ENCRYPT('abc', 'a key that is longer than sixteen'))", "0BC1BC25DE6DB4D9B9AF690747B58FC9"),
            ("AES_DECRYPT(AES_ENCRYPT('abc', 'k'), 'k')", "abc"),
        ]);
    }

    /// NIST SP 800-38A, appendix F.
    #[test]
    fn modes_are_the_standards() {
        let key: Vec<u8> = (0..16)
            .map(|i| {
                [0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c][i]
            })
            .collect();
        let iv: [u8; 16] = std::array::from_fn(|i| i as u8);
        let plain = [0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a];
        let cipher = Aes::new(128, &key).unwrap();
        for (mode, expected) in [
            (Mode::Ecb, 0x3ad77bb4u32),
            (Mode::Cbc, 0x7649abac),
            (Mode::Cfb128, 0x3b3fd92e),
            (Mode::Ofb, 0x3b3fd92e),
            (Mode::Cfb8, 0x3b79424c),
            (Mode::Cfb1, 0x68b3_0000),
        ] {
            let made = encrypt(&cipher, mode, iv, &plain);
            let head = u32::from_be_bytes(made[..4].try_into().unwrap());
            let mask = if mode == Mode::Cfb1 { 0xFFFF_0000 } else { u32::MAX };
            assert_eq!(head & mask, expected, "{expected:x}");
            assert_eq!(decrypt(&cipher, mode, iv, &made).unwrap(), plain);
        }
        assert_eq!(decrypt(&cipher, Mode::Ecb, iv, &[0; 16]), None);
    }
}
