//! The table of collations.

use super::simple_data::{LATIN1_GENERAL_CI, LATIN1_GENERAL_CS, LATIN1_SWEDISH_CI};
use super::{Algorithm, Collation, CollationId, Pad, Uca};
use crate::charset::Charset;

macro_rules! collations {
    ($($id:literal $name:literal $charset:ident $algorithm:expr, $pad:ident $default:literal $sortlen:literal;)*) => {
        /// All collations. The first row is `binary`.
        pub static COLLATIONS: &[Collation] = &[$(Collation {
            id: CollationId($id),
            name: $name,
            charset: Charset::$charset,
            algorithm: $algorithm,
            pad: Pad::$pad,
            is_default: $default,
            sortlen: $sortlen,
        }),*];
        const IDS: &[u16] = &[$($id),*];
    };
}

collations! {
    63 "binary" Binary Algorithm::Bytes, NoPad true 1;
    11 "ascii_general_ci" Ascii Algorithm::Ascii, PadSpace true 1;
    65 "ascii_bin" Ascii Algorithm::Bytes, PadSpace false 1;
    8 "latin1_swedish_ci" Latin1 Algorithm::Table(&LATIN1_SWEDISH_CI), PadSpace true 1;
    47 "latin1_bin" Latin1 Algorithm::Bytes, PadSpace false 1;
    48 "latin1_general_ci" Latin1 Algorithm::Table(&LATIN1_GENERAL_CI), PadSpace false 1;
    49 "latin1_general_cs" Latin1 Algorithm::Table(&LATIN1_GENERAL_CS), PadSpace false 1;
    33 "utf8mb3_general_ci" Utf8mb3 Algorithm::General, PadSpace true 1;
    83 "utf8mb3_bin" Utf8mb3 Algorithm::Bytes, PadSpace false 1;
    192 "utf8mb3_unicode_ci" Utf8mb3 Algorithm::Uca(Uca::V400, 1), PadSpace false 8;
    214 "utf8mb3_unicode_520_ci" Utf8mb3 Algorithm::Uca(Uca::V520, 1), PadSpace false 8;
    45 "utf8mb4_general_ci" Utf8mb4 Algorithm::General, PadSpace false 1;
    46 "utf8mb4_bin" Utf8mb4 Algorithm::Bytes, PadSpace false 1;
    224 "utf8mb4_unicode_ci" Utf8mb4 Algorithm::Uca(Uca::V400, 1), PadSpace false 8;
    246 "utf8mb4_unicode_520_ci" Utf8mb4 Algorithm::Uca(Uca::V520, 1), PadSpace false 8;
    255 "utf8mb4_0900_ai_ci" Utf8mb4 Algorithm::Uca(Uca::V900, 1), NoPad true 0;
    278 "utf8mb4_0900_as_cs" Utf8mb4 Algorithm::Uca(Uca::V900, 3), NoPad false 0;
    305 "utf8mb4_0900_as_ci" Utf8mb4 Algorithm::Uca(Uca::V900, 2), NoPad false 0;
    309 "utf8mb4_0900_bin" Utf8mb4 Algorithm::Bytes, NoPad false 1;
}

/// Row of each id; 0 (`binary`) where there is none.
pub(super) static INDEX: [u8; 512] = {
    let mut index = [0u8; 512];
    let mut row = 0;
    while row < IDS.len() {
        index[IDS[row] as usize] = row as u8;
        row += 1;
    }
    index
};
