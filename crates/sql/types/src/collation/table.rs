//! The table of collations.

use super::double_data as double;
use super::one_byte_data as data;
use super::simple_data::{LATIN1_GENERAL_CI, LATIN1_GENERAL_CS, LATIN1_SWEDISH_CI};
use super::{Algorithm, Collation, CollationId, Language, Order, Pad, Uca};
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
    3 "dec8_swedish_ci" Dec8 Algorithm::Table(&data::DEC8_SWEDISH_CI), PadSpace true 1;
    4 "cp850_general_ci" Cp850 Algorithm::Table(&data::CP850_GENERAL_CI), PadSpace true 1;
    5 "latin1_german1_ci" Latin1 Algorithm::Table(&data::LATIN1_GERMAN1_CI), PadSpace false 1;
    6 "hp8_english_ci" Hp8 Algorithm::Table(&data::HP8_ENGLISH_CI), PadSpace true 1;
    7 "koi8r_general_ci" Koi8r Algorithm::Table(&data::KOI8R_GENERAL_CI), PadSpace true 1;
    9 "latin2_general_ci" Latin2 Algorithm::Table(&data::LATIN2_GENERAL_CI), PadSpace true 1;
    14 "cp1251_bulgarian_ci" Cp1251 Algorithm::Table(&data::CP1251_BULGARIAN_CI), PadSpace false 1;
    15 "latin1_danish_ci" Latin1 Algorithm::Table(&data::LATIN1_DANISH_CI), PadSpace false 1;
    16 "hebrew_general_ci" Hebrew Algorithm::Table(&data::HEBREW_GENERAL_CI), PadSpace true 1;
    20 "latin7_estonian_cs" Latin7 Algorithm::Table(&data::LATIN7_ESTONIAN_CS), PadSpace false 1;
    21 "latin2_hungarian_ci" Latin2 Algorithm::Table(&data::LATIN2_HUNGARIAN_CI), PadSpace false 1;
    22 "koi8u_general_ci" Koi8u Algorithm::Table(&data::KOI8U_GENERAL_CI), PadSpace true 1;
    23 "cp1251_ukrainian_ci" Cp1251 Algorithm::Table(&data::CP1251_UKRAINIAN_CI), PadSpace false 1;
    25 "greek_general_ci" Greek Algorithm::Table(&data::GREEK_GENERAL_CI), PadSpace true 1;
    26 "cp1250_general_ci" Cp1250 Algorithm::Table(&data::CP1250_GENERAL_CI), PadSpace true 1;
    27 "latin2_croatian_ci" Latin2 Algorithm::Table(&data::LATIN2_CROATIAN_CI), PadSpace false 1;
    29 "cp1257_lithuanian_ci" Cp1257 Algorithm::Table(&data::CP1257_LITHUANIAN_CI), PadSpace false 1;
    30 "latin5_turkish_ci" Latin5 Algorithm::Table(&data::LATIN5_TURKISH_CI), PadSpace true 1;
    31 "latin1_german2_ci" Latin1 Algorithm::German2, PadSpace false 2;
    32 "armscii8_general_ci" Armscii8 Algorithm::Table(&data::ARMSCII8_GENERAL_CI), PadSpace true 1;
    36 "cp866_general_ci" Cp866 Algorithm::Table(&data::CP866_GENERAL_CI), PadSpace true 1;
    37 "keybcs2_general_ci" Keybcs2 Algorithm::Table(&data::KEYBCS2_GENERAL_CI), PadSpace true 1;
    38 "macce_general_ci" Macce Algorithm::Table(&data::MACCE_GENERAL_CI), PadSpace true 1;
    39 "macroman_general_ci" Macroman Algorithm::Table(&data::MACROMAN_GENERAL_CI), PadSpace true 1;
    40 "cp852_general_ci" Cp852 Algorithm::Table(&data::CP852_GENERAL_CI), PadSpace true 1;
    41 "latin7_general_ci" Latin7 Algorithm::Table(&data::LATIN7_GENERAL_CI), PadSpace true 1;
    42 "latin7_general_cs" Latin7 Algorithm::Table(&data::LATIN7_GENERAL_CS), PadSpace false 1;
    43 "macce_bin" Macce Algorithm::Bytes, PadSpace false 1;
    44 "cp1250_croatian_ci" Cp1250 Algorithm::Table(&data::CP1250_CROATIAN_CI), PadSpace false 1;
    50 "cp1251_bin" Cp1251 Algorithm::Bytes, PadSpace false 1;
    51 "cp1251_general_ci" Cp1251 Algorithm::Table(&data::CP1251_GENERAL_CI), PadSpace true 1;
    52 "cp1251_general_cs" Cp1251 Algorithm::Table(&data::CP1251_GENERAL_CS), PadSpace false 1;
    53 "macroman_bin" Macroman Algorithm::Bytes, PadSpace false 1;
    57 "cp1256_general_ci" Cp1256 Algorithm::Table(&data::CP1256_GENERAL_CI), PadSpace true 1;
    58 "cp1257_bin" Cp1257 Algorithm::Bytes, PadSpace false 1;
    59 "cp1257_general_ci" Cp1257 Algorithm::Table(&data::CP1257_GENERAL_CI), PadSpace true 1;
    64 "armscii8_bin" Armscii8 Algorithm::Bytes, PadSpace false 1;
    66 "cp1250_bin" Cp1250 Algorithm::Bytes, PadSpace false 1;
    67 "cp1256_bin" Cp1256 Algorithm::Bytes, PadSpace false 1;
    68 "cp866_bin" Cp866 Algorithm::Bytes, PadSpace false 1;
    69 "dec8_bin" Dec8 Algorithm::Bytes, PadSpace false 1;
    70 "greek_bin" Greek Algorithm::Bytes, PadSpace false 1;
    71 "hebrew_bin" Hebrew Algorithm::Bytes, PadSpace false 1;
    72 "hp8_bin" Hp8 Algorithm::Bytes, PadSpace false 1;
    73 "keybcs2_bin" Keybcs2 Algorithm::Bytes, PadSpace false 1;
    74 "koi8r_bin" Koi8r Algorithm::Bytes, PadSpace false 1;
    75 "koi8u_bin" Koi8u Algorithm::Bytes, PadSpace false 1;
    77 "latin2_bin" Latin2 Algorithm::Bytes, PadSpace false 1;
    78 "latin5_bin" Latin5 Algorithm::Bytes, PadSpace false 1;
    79 "latin7_bin" Latin7 Algorithm::Bytes, PadSpace false 1;
    80 "cp850_bin" Cp850 Algorithm::Bytes, PadSpace false 1;
    81 "cp852_bin" Cp852 Algorithm::Bytes, PadSpace false 1;
    92 "geostd8_general_ci" Geostd8 Algorithm::Table(&data::GEOSTD8_GENERAL_CI), PadSpace true 1;
    93 "geostd8_bin" Geostd8 Algorithm::Bytes, PadSpace false 1;
    94 "latin1_spanish_ci" Latin1 Algorithm::Table(&data::LATIN1_SPANISH_CI), PadSpace false 1;
    99 "cp1250_polish_ci" Cp1250 Algorithm::Table(&data::CP1250_POLISH_CI), PadSpace false 1;
    35 "ucs2_general_ci" Ucs2 Algorithm::General, PadSpace true 1;
    90 "ucs2_bin" Ucs2 Algorithm::CodePoints, PadSpace false 1;
    128 "ucs2_unicode_ci" Ucs2 Algorithm::Uca(Uca::V400, 1), PadSpace false 8;
    129 "ucs2_icelandic_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Icelandic), 1), PadSpace false 8;
    130 "ucs2_latvian_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Latvian), 1), PadSpace false 8;
    131 "ucs2_romanian_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Romanian), 1), PadSpace false 8;
    132 "ucs2_slovenian_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Slovenian), 1), PadSpace false 8;
    133 "ucs2_polish_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Polish), 1), PadSpace false 8;
    134 "ucs2_estonian_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Estonian), 1), PadSpace false 8;
    135 "ucs2_spanish_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Spanish), 1), PadSpace false 8;
    136 "ucs2_swedish_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Swedish), 1), PadSpace false 8;
    137 "ucs2_turkish_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Turkish), 1), PadSpace false 8;
    138 "ucs2_czech_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Czech), 1), PadSpace false 8;
    139 "ucs2_danish_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Danish), 1), PadSpace false 8;
    140 "ucs2_lithuanian_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Lithuanian), 1), PadSpace false 8;
    141 "ucs2_slovak_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Slovak), 1), PadSpace false 8;
    142 "ucs2_spanish2_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::TraditionalSpanish), 1), PadSpace false 8;
    143 "ucs2_roman_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Latin), 1), PadSpace false 8;
    145 "ucs2_esperanto_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Esperanto), 1), PadSpace false 8;
    146 "ucs2_hungarian_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Hungarian), 1), PadSpace false 8;
    148 "ucs2_german2_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::GermanPhonebook), 1), PadSpace false 8;
    149 "ucs2_croatian_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Croatian), 1), PadSpace false 8;
    150 "ucs2_unicode_520_ci" Ucs2 Algorithm::Uca(Uca::V520, 1), PadSpace false 8;
    151 "ucs2_vietnamese_ci" Ucs2 Algorithm::Uca(Uca::V400For(Language::Vietnamese), 1), PadSpace false 8;
    54 "utf16_general_ci" Utf16 Algorithm::General, PadSpace true 1;
    55 "utf16_bin" Utf16 Algorithm::CodePoints, PadSpace false 1;
    101 "utf16_unicode_ci" Utf16 Algorithm::Uca(Uca::V400, 1), PadSpace false 8;
    102 "utf16_icelandic_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Icelandic), 1), PadSpace false 8;
    103 "utf16_latvian_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Latvian), 1), PadSpace false 8;
    104 "utf16_romanian_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Romanian), 1), PadSpace false 8;
    105 "utf16_slovenian_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Slovenian), 1), PadSpace false 8;
    106 "utf16_polish_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Polish), 1), PadSpace false 8;
    107 "utf16_estonian_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Estonian), 1), PadSpace false 8;
    108 "utf16_spanish_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Spanish), 1), PadSpace false 8;
    109 "utf16_swedish_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Swedish), 1), PadSpace false 8;
    110 "utf16_turkish_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Turkish), 1), PadSpace false 8;
    111 "utf16_czech_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Czech), 1), PadSpace false 8;
    112 "utf16_danish_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Danish), 1), PadSpace false 8;
    113 "utf16_lithuanian_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Lithuanian), 1), PadSpace false 8;
    114 "utf16_slovak_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Slovak), 1), PadSpace false 8;
    115 "utf16_spanish2_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::TraditionalSpanish), 1), PadSpace false 8;
    116 "utf16_roman_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Latin), 1), PadSpace false 8;
    118 "utf16_esperanto_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Esperanto), 1), PadSpace false 8;
    119 "utf16_hungarian_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Hungarian), 1), PadSpace false 8;
    121 "utf16_german2_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::GermanPhonebook), 1), PadSpace false 8;
    122 "utf16_croatian_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Croatian), 1), PadSpace false 8;
    123 "utf16_unicode_520_ci" Utf16 Algorithm::Uca(Uca::V520, 1), PadSpace false 8;
    124 "utf16_vietnamese_ci" Utf16 Algorithm::Uca(Uca::V400For(Language::Vietnamese), 1), PadSpace false 8;
    56 "utf16le_general_ci" Utf16le Algorithm::General, PadSpace true 1;
    62 "utf16le_bin" Utf16le Algorithm::CodePoints, PadSpace false 1;
    60 "utf32_general_ci" Utf32 Algorithm::General, PadSpace true 1;
    61 "utf32_bin" Utf32 Algorithm::CodePoints, PadSpace false 1;
    160 "utf32_unicode_ci" Utf32 Algorithm::Uca(Uca::V400, 1), PadSpace false 8;
    161 "utf32_icelandic_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Icelandic), 1), PadSpace false 8;
    162 "utf32_latvian_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Latvian), 1), PadSpace false 8;
    163 "utf32_romanian_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Romanian), 1), PadSpace false 8;
    164 "utf32_slovenian_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Slovenian), 1), PadSpace false 8;
    165 "utf32_polish_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Polish), 1), PadSpace false 8;
    166 "utf32_estonian_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Estonian), 1), PadSpace false 8;
    167 "utf32_spanish_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Spanish), 1), PadSpace false 8;
    168 "utf32_swedish_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Swedish), 1), PadSpace false 8;
    169 "utf32_turkish_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Turkish), 1), PadSpace false 8;
    170 "utf32_czech_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Czech), 1), PadSpace false 8;
    171 "utf32_danish_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Danish), 1), PadSpace false 8;
    172 "utf32_lithuanian_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Lithuanian), 1), PadSpace false 8;
    173 "utf32_slovak_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Slovak), 1), PadSpace false 8;
    174 "utf32_spanish2_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::TraditionalSpanish), 1), PadSpace false 8;
    175 "utf32_roman_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Latin), 1), PadSpace false 8;
    177 "utf32_esperanto_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Esperanto), 1), PadSpace false 8;
    178 "utf32_hungarian_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Hungarian), 1), PadSpace false 8;
    180 "utf32_german2_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::GermanPhonebook), 1), PadSpace false 8;
    181 "utf32_croatian_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Croatian), 1), PadSpace false 8;
    182 "utf32_unicode_520_ci" Utf32 Algorithm::Uca(Uca::V520, 1), PadSpace false 8;
    183 "utf32_vietnamese_ci" Utf32 Algorithm::Uca(Uca::V400For(Language::Vietnamese), 1), PadSpace false 8;
    1 "big5_chinese_ci" Big5 Algorithm::Coded(Order::Big5, &double::BIG5), PadSpace true 1;
    84 "big5_bin" Big5 Algorithm::Bytes, PadSpace false 1;
    95 "cp932_japanese_ci" Cp932 Algorithm::Multi(&double::CAPITALS), PadSpace true 1;
    96 "cp932_bin" Cp932 Algorithm::Bytes, PadSpace false 1;
    97 "eucjpms_japanese_ci" Eucjpms Algorithm::Multi(&double::CAPITALS), PadSpace true 1;
    98 "eucjpms_bin" Eucjpms Algorithm::Bytes, PadSpace false 1;
    19 "euckr_korean_ci" Euckr Algorithm::Multi(&double::CAPITALS), PadSpace true 1;
    85 "euckr_bin" Euckr Algorithm::Bytes, PadSpace false 1;
    24 "gb2312_chinese_ci" Gb2312 Algorithm::Multi(&double::GB2312), PadSpace true 1;
    86 "gb2312_bin" Gb2312 Algorithm::Bytes, PadSpace false 1;
    249 "gb18030_bin" Gb18030 Algorithm::Bytes, PadSpace false 1;
    250 "gb18030_unicode_520_ci" Gb18030 Algorithm::Uca(Uca::V520, 1), PadSpace false 8;
    28 "gbk_chinese_ci" Gbk Algorithm::Coded(Order::Gbk, &double::GBK), PadSpace true 1;
    87 "gbk_bin" Gbk Algorithm::Bytes, PadSpace false 1;
    13 "sjis_japanese_ci" Sjis Algorithm::Multi(&double::CAPITALS), PadSpace true 1;
    88 "sjis_bin" Sjis Algorithm::Bytes, PadSpace false 1;
    12 "ujis_japanese_ci" Ujis Algorithm::Multi(&double::CAPITALS), PadSpace true 1;
    91 "ujis_bin" Ujis Algorithm::Bytes, PadSpace false 1;
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
pub(super) static INDEX: [u16; 512] = {
    let mut index = [0u16; 512];
    let mut row = 0;
    while row < IDS.len() {
        index[IDS[row] as usize] = row as u16;
        row += 1;
    }
    index
};
