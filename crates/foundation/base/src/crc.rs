/// CRC-32C (Castagnoli) of `bytes`, continuing from `seed` (0 to start): `crc32c(crc32c(0, a), b) == crc32c(0, ab)`.
///
/// Uses the processor's CRC instructions where it has them, found at run time.
#[inline]
pub fn crc32c(seed: u32, bytes: &[u8]) -> u32 {
    ::crc32c::crc32c_append(seed, bytes)
}

#[cfg(test)]
mod tests {
    use super::crc32c;

    #[test]
    fn known_value_and_continuation() {
        // The check value of CRC-32C in RFC 3720, appendix B.4 and in the CRC catalogue.
        assert_eq!(crc32c(0, b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(crc32c(0, b"1234"), b"56789"), 0xE306_9283);
        assert_eq!(crc32c(0, &[0u8; 32]), 0x8A91_36AA);
    }
}
