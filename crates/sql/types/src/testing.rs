//! Seeded randomness for tests. A failing test prints its seed; `GANNET_SEED=n` runs that one.

/// xorshift64*.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// 0..n.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Bytes of which many are structural in some format.
    pub(crate) fn bytes(&mut self, max: usize, alphabet: &[u8]) -> Vec<u8> {
        let n = self.below(max + 1);
        (0..n)
            .map(|_| if alphabet.is_empty() || self.chance(5) { self.next() as u8 } else { *self.pick(alphabet) })
            .collect()
    }

    /// UTF-8 text of interesting characters: spaces, controls, letters with and without accents, expansions, CJK, jamo,
    /// beyond the BMP.
    pub(crate) fn text(&mut self, max: usize) -> String {
        const CHARS: &[char] = &[
            ' ',
            ' ',
            'a',
            'A',
            'b',
            'B',
            'z',
            'ä',
            'Ä',
            'é',
            'ß',
            's',
            'ﬁ',
            '\t',
            '\0',
            '\u{1}',
            '0',
            '9',
            '-',
            '_',
            '%',
            '\u{301}',
            'ж',
            '中',
            '国',
            '가',
            '힣',
            'ᄀ',
            '😀',
            '𝒳',
            '\u{10FFFF}',
            '\u{17000}',
            'ÿ',
            '\u{FFFD}',
            'İ',
            'ı',
        ];
        let n = self.below(max + 1);
        (0..n)
            .map(|_| {
                if self.chance(10) {
                    char::from_u32(self.below(0x110000) as u32).unwrap_or('x')
                } else {
                    *self.pick(CHARS)
                }
            })
            .collect()
    }
}

/// Runs `test` for many seeds, or the one of `GANNET_SEED`.
pub(crate) fn seeds(count: u64, mut test: impl FnMut(&mut Rng)) {
    if let Some(seed) = std::env::var("GANNET_SEED").ok().and_then(|s| s.parse().ok()) {
        test(&mut Rng::new(seed));
        return;
    }
    for seed in 0..count {
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&mut Rng::new(seed))));
        if let Err(cause) = run {
            eprintln!("failed with GANNET_SEED={seed}");
            std::panic::resume_unwind(cause);
        }
    }
}

/// A random column type.
pub(crate) fn random_type(rng: &mut Rng) -> crate::SqlType {
    use crate::members::Members;
    use crate::{CollationId, SqlType, TypeId};
    let id = *rng.pick(&TypeId::ALL[1..]);
    let mut ty = SqlType::new(id);
    ty.nullable = rng.chance(50);
    if id.is_integer() {
        ty.unsigned = rng.chance(50);
    } else if id == TypeId::Decimal {
        ty.length = 1 + rng.below(65) as u32;
        ty.scale = rng.below(ty.length.min(30) as usize + 1) as u8;
    } else if id.is_temporal() && id != TypeId::Date {
        ty.scale = rng.below(7) as u8;
    } else if id == TypeId::Bit {
        ty.length = 1 + rng.below(64) as u32;
    } else if id.is_string() {
        if !id.is_lob() {
            ty.length = 1 + rng.below(40) as u32;
        }
        if !id.is_binary_string() {
            ty.collation = rng.pick(crate::collation::COLLATIONS).id;
            if ty.collation.is_binary() {
                ty.collation = CollationId::DEFAULT;
            }
        }
    } else if matches!(id, TypeId::Enum | TypeId::Set) {
        let names = (0..1 + rng.below(20)).map(|i| format!("m{i}").into()).collect();
        let members = Members::new(names, CollationId::DEFAULT);
        ty = SqlType { nullable: ty.nullable, ..SqlType::enumeration(id, members.into()) };
    }
    ty
}

/// A random value that a column of the type may hold.
pub(crate) fn random_value(rng: &mut Rng, ty: &crate::SqlType) -> crate::Value {
    use crate::temporal::{Date, DateTime, Time, Timestamp};
    use crate::{Decimal, TypeId, Value};
    if ty.nullable && rng.chance(20) {
        return Value::Null;
    }
    let micros = |rng: &mut Rng, fsp: u8| {
        let unit = 10u32.pow(6 - u32::from(fsp));
        rng.below(1_000_000) as u32 / unit * unit
    };
    match ty.id {
        id if id.is_integer() => {
            let shift = 64 - 8 * id.int_width() as u32;
            let raw = if rng.chance(50) { rng.next() } else { *rng.pick(&[0, 1, u64::MAX, 1 << 63, i64::MAX as u64]) };
            if ty.unsigned { Value::UInt(raw >> shift) } else { Value::Int(raw as i64 >> shift) }
        }
        TypeId::Decimal => {
            let text: String = (0..1 + rng.below(65)).map(|_| *rng.pick(&['0', '1', '9', '5'])).collect();
            let sign = if rng.chance(50) { "-" } else { "" };
            let point = rng.below(text.len() + 1);
            let d = Decimal::parse(format!("{sign}{}.{}", &text[..point], &text[point..]).as_bytes()).value;
            Value::Decimal(d.to_column(ty.length as u8, ty.scale).unwrap_or_else(|limit| limit))
        }
        TypeId::Float => Value::Float(*rng.pick(&[0.0, 1.5, -2.25, f32::MAX, f32::MIN, 1e-40, -1e-40])),
        TypeId::Double => Value::Double(if rng.chance(50) {
            rng.next() as i64 as f64 / 1e3
        } else {
            *rng.pick(&[0.0, 1e-310, -5e-324, f64::MAX, f64::MIN])
        }),
        TypeId::Bit => Value::Bit(rng.next() >> (64 - ty.length), ty.length as u8),
        TypeId::Year => Value::Year(if rng.chance(10) { 0 } else { 1901 + rng.below(255) as u16 }),
        TypeId::Date => Value::Date(Date::new(rng.below(10000) as u32, rng.below(13) as u32, rng.below(32) as u32)),
        TypeId::Time => {
            let (h, m, s) = (rng.below(839) as u32, rng.below(60) as u32, rng.below(60) as u32);
            let us = if h == 838 { 0 } else { micros(rng, ty.scale) };
            Value::Time(Time::new(rng.chance(50), h, m, s, us), ty.scale)
        }
        TypeId::DateTime => {
            let (y, mo, d) = (rng.below(10000) as u32, rng.below(13) as u32, rng.below(32) as u32);
            let (h, m, s) = (rng.below(24) as u32, rng.below(60) as u32, rng.below(60) as u32);
            Value::DateTime(DateTime::new(y, mo, d, h, m, s, micros(rng, ty.scale)), ty.scale)
        }
        TypeId::Timestamp => {
            let us = (1 + rng.below(2_147_483_646) as i64) * 1_000_000 + i64::from(micros(rng, ty.scale));
            Value::Timestamp(Timestamp::from_unix_micros(us).unwrap(), ty.scale)
        }
        TypeId::Enum | TypeId::Set => {
            let members = ty.members.clone().unwrap();
            let n = members.names.len();
            if ty.id == TypeId::Enum {
                Value::Enum(rng.below(n + 1) as u16, members)
            } else {
                Value::Set(rng.next() >> (64 - n), members)
            }
        }
        TypeId::Json => {
            let json = crate::json::Json::Array(vec![crate::json::Json::String(rng.text(20).as_str().into())]);
            Value::Json(json.to_text(crate::room::Room::FREE).unwrap())
        }
        id => {
            let mut bytes = if ty.collation.charset().max_len() >= 3 {
                let bmp_only = ty.collation.charset() == crate::charset::Charset::Utf8mb3;
                let max = ty.length.min(40) as usize;
                rng.text(max).chars().filter(|c| !bmp_only || (*c as u32) < 0x10000).collect::<String>().into_bytes()
            } else {
                rng.bytes(ty.length.min(40) as usize, b"ab  \0\xFF\x01")
            };
            if ty.collation.charset() == crate::charset::Charset::Ascii {
                bytes.iter_mut().for_each(|b| *b &= 0x7F);
            }
            if id == TypeId::Char {
                bytes.truncate(bytes.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1));
            }
            if id == TypeId::Binary {
                bytes.resize(ty.length as usize, 0);
            }
            Value::Str(bytes.into(), ty.collation)
        }
    }
}
