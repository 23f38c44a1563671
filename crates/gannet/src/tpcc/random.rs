//! Random values as TPC-C 4.3 defines them.

/// A generator of its own per terminal (splitmix64): reproducible from `--seed`, no shared state.
pub struct Random(u64);

/// The run-time constants of NURand (2.1.6.1), fixed per database so that loader and terminals agree.
pub const C_LAST: u64 = 157;
const C_ID: u64 = 987;
const OL_I_ID: u64 = 5987;

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

impl Random {
    /// A generator whose sequence depends on `seed` only.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in `low..=high`.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True with a probability of `percent` in 100.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.range(1, 100) <= percent
    }

    fn nurand(&mut self, a: u64, c: u64, low: u64, high: u64) -> u64 {
        ((self.range(0, a) | self.range(low, high)) + c) % (high - low + 1) + low
    }

    /// A customer number.
    pub fn customer(&mut self) -> u64 {
        self.nurand(1023, C_ID, 1, 3000)
    }

    /// An item number.
    pub fn item(&mut self) -> u64 {
        self.nurand(8191, OL_I_ID, 1, 100_000)
    }

    /// A last name for a look-up.
    pub fn last_name(&mut self) -> String {
        last_name(self.nurand(255, C_LAST, 0, 999))
    }

    /// Letters and digits, `low..=high` of them.
    pub fn letters(&mut self, low: u64, high: u64) -> String {
        let n = self.range(low, high);
        (0..n).map(|_| char::from(LETTERS[(self.next() % LETTERS.len() as u64) as usize])).collect()
    }

    /// Exactly `n` digits.
    pub fn digits(&mut self, n: usize) -> String {
        (0..n).map(|_| char::from(b'0' + (self.next() % 10) as u8)).collect()
    }

    /// A zip code (4.3.2.7).
    pub fn zip(&mut self) -> String {
        self.digits(4) + "11111"
    }

    /// Item data: one in ten holds the word ORIGINAL (4.3.3.1).
    pub fn data(&mut self) -> String {
        let mut data = self.letters(26, 50);
        if self.percent(10) {
            let at = self.range(0, data.len() as u64 - 8) as usize;
            data.replace_range(at..at + 8, "ORIGINAL");
        }
        data
    }

    /// Shuffles in place.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, (self.next() % (i as u64 + 1)) as usize);
        }
    }
}

/// The name of number `n`, three syllables (4.3.2.3).
pub fn last_name(n: u64) -> String {
    [n / 100 % 10, n / 10 % 10, n % 10].iter().map(|d| SYLLABLES[*d as usize]).collect()
}

/// Hundredths as a decimal literal.
pub fn cents(n: i64) -> String {
    format!("{}{}.{:02}", if n < 0 { "-" } else { "" }, n.abs() / 100, n.abs() % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_three_syllables() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
    }

    #[test]
    fn values_stay_in_their_ranges() {
        let mut r = Random::new(7);
        for _ in 0..10_000 {
            assert!((1..=3000).contains(&r.customer()));
            assert!((1..=100_000).contains(&r.item()));
            let data = r.data();
            assert!((26..=50).contains(&data.len()));
        }
        assert_eq!(cents(-1005), "-10.05");
    }
}
