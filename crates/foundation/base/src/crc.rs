/// CRC-32C (Castagnoli) of `bytes`, continuing from `seed` (0 to start): `crc32c(crc32c(0, a), b) == crc32c(0, ab)`.
///
/// Uses the processor's CRC instructions where it has them, found at run time.
#[inline]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the processor is asked for its instructions first"))]
pub fn crc32c(seed: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() < SHORT && std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instructions.
        return unsafe { short(seed, bytes) };
    }
    ::crc32c::crc32c_append(seed, bytes)
}

/// Fewer bytes do not gain by three streams side by side, which is what the library makes of more.
#[cfg(target_arch = "x86_64")]
const SHORT: usize = 768;

/// Eight bytes an instruction: most log records are short, and the library aligns first.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn short(seed: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u32, _mm_crc32_u64};
    let (words, rest) = bytes.as_chunks::<8>();
    let crc = words.iter().fold(u64::from(!seed), |crc, word| _mm_crc32_u64(crc, u64::from_le_bytes(*word)));
    let (halves, rest) = rest.as_chunks::<4>();
    let crc = halves.iter().fold(crc as u32, |crc, half| _mm_crc32_u32(crc, u32::from_le_bytes(*half)));
    !rest.iter().fold(crc, |crc, byte| _mm_crc32_u8(crc, *byte))
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

    /// Bit by bit, as the polynomial says.
    fn slow(seed: u32, bytes: &[u8]) -> u32 {
        let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82F6_3B78 } else { crc >> 1 };
        !bytes.iter().fold(!seed, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
    }

    #[test]
    fn every_length_and_alignment() {
        let bytes: Vec<u8> = (0..2100u32).map(|i| ((i * i) >> 3) as u8 ^ i as u8).collect();
        for len in (0..40).chain(760..776).chain([1000, 2000]) {
            for from in 0..9 {
                let part = &bytes[from..from + len];
                assert_eq!(crc32c(len as u32, part), slow(len as u32, part), "{len} bytes from {from} on");
            }
        }
    }
}
