//! The table of collations.

use super::simple_data::{LATIN1_GENERAL_CI, LATIN1_GENERAL_CS, LATIN1_SWEDISH_CI};
use super::{Algorithm, Collation, CollationId, Language, Pad, Uca};
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
    193 "utf8mb3_icelandic_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Icelandic), 1), PadSpace false 8;
    194 "utf8mb3_latvian_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Latvian), 1), PadSpace false 8;
    195 "utf8mb3_romanian_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Romanian), 1), PadSpace false 8;
    196 "utf8mb3_slovenian_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Slovenian), 1), PadSpace false 8;
    197 "utf8mb3_polish_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Polish), 1), PadSpace false 8;
    198 "utf8mb3_estonian_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Estonian), 1), PadSpace false 8;
    199 "utf8mb3_spanish_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Spanish), 1), PadSpace false 8;
    200 "utf8mb3_swedish_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Swedish), 1), PadSpace false 8;
    201 "utf8mb3_turkish_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Turkish), 1), PadSpace false 8;
    202 "utf8mb3_czech_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Czech), 1), PadSpace false 8;
    203 "utf8mb3_danish_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Danish), 1), PadSpace false 8;
    204 "utf8mb3_lithuanian_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Lithuanian), 1), PadSpace false 8;
    205 "utf8mb3_slovak_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Slovak), 1), PadSpace false 8;
    206 "utf8mb3_spanish2_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::TraditionalSpanish), 1), PadSpace false 8;
    207 "utf8mb3_roman_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Latin), 1), PadSpace false 8;
    209 "utf8mb3_esperanto_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Esperanto), 1), PadSpace false 8;
    210 "utf8mb3_hungarian_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Hungarian), 1), PadSpace false 8;
    212 "utf8mb3_german2_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::GermanPhonebook), 1), PadSpace false 8;
    213 "utf8mb3_croatian_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Croatian), 1), PadSpace false 8;
    215 "utf8mb3_vietnamese_ci" Utf8mb3 Algorithm::Uca(Uca::V400For(Language::Vietnamese), 1), PadSpace false 8;
    214 "utf8mb3_unicode_520_ci" Utf8mb3 Algorithm::Uca(Uca::V520, 1), PadSpace false 8;
    45 "utf8mb4_general_ci" Utf8mb4 Algorithm::General, PadSpace false 1;
    46 "utf8mb4_bin" Utf8mb4 Algorithm::Bytes, PadSpace false 1;
    224 "utf8mb4_unicode_ci" Utf8mb4 Algorithm::Uca(Uca::V400, 1), PadSpace false 8;
    225 "utf8mb4_icelandic_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Icelandic), 1), PadSpace false 8;
    226 "utf8mb4_latvian_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Latvian), 1), PadSpace false 8;
    227 "utf8mb4_romanian_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Romanian), 1), PadSpace false 8;
    228 "utf8mb4_slovenian_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Slovenian), 1), PadSpace false 8;
    229 "utf8mb4_polish_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Polish), 1), PadSpace false 8;
    230 "utf8mb4_estonian_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Estonian), 1), PadSpace false 8;
    231 "utf8mb4_spanish_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Spanish), 1), PadSpace false 8;
    232 "utf8mb4_swedish_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Swedish), 1), PadSpace false 8;
    233 "utf8mb4_turkish_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Turkish), 1), PadSpace false 8;
    234 "utf8mb4_czech_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Czech), 1), PadSpace false 8;
    235 "utf8mb4_danish_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Danish), 1), PadSpace false 8;
    236 "utf8mb4_lithuanian_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Lithuanian), 1), PadSpace false 8;
    237 "utf8mb4_slovak_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Slovak), 1), PadSpace false 8;
    238 "utf8mb4_spanish2_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::TraditionalSpanish), 1), PadSpace false 8;
    239 "utf8mb4_roman_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Latin), 1), PadSpace false 8;
    241 "utf8mb4_esperanto_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Esperanto), 1), PadSpace false 8;
    242 "utf8mb4_hungarian_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Hungarian), 1), PadSpace false 8;
    244 "utf8mb4_german2_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::GermanPhonebook), 1), PadSpace false 8;
    245 "utf8mb4_croatian_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Croatian), 1), PadSpace false 8;
    247 "utf8mb4_vietnamese_ci" Utf8mb4 Algorithm::Uca(Uca::V400For(Language::Vietnamese), 1), PadSpace false 8;
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
