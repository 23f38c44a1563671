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

    /// UTF-8 text of interesting characters: spaces, controls, letters with and without accents, expansions, CJK, jamo, beyond the BMP.
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
pub(crate) fn seeds(count: u64, test: impl Fn(&mut Rng)) {
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
