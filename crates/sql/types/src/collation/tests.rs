use super::*;
use crate::testing::seeds;

fn named(name: &str) -> &'static Collation {
    Collation::by_name(name).unwrap()
}

fn order(collation: &str, a: &str, b: &str) -> Ordering {
    named(collation).compare(a.as_bytes(), b.as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

fn weights(collation: &str, text: &str) -> String {
    let mut out = Vec::new();
    named(collation).sort_key(text.as_bytes(), &mut out);
    hex(&out)
}

#[test]
fn the_table_is_sound() {
    for c in COLLATIONS {
        assert_eq!(c.id.get().name, c.name);
        assert_eq!(Collation::by_id(c.id.0).unwrap().name, c.name);
        assert!(c.name.starts_with(c.charset.name()), "{}", c.name);
    }
    for charset in crate::charset::CHARSETS {
        let defaults = COLLATIONS.iter().filter(|c| c.charset == charset.charset && c.is_default);
        let defaults: Vec<_> = defaults.map(|c| c.name).collect();
        if Collation::default_for(charset.charset).is_ok() {
            assert_eq!(defaults, [charset.default_collation]);
        } else {
            assert_eq!(Collation::by_name(charset.default_collation).unwrap_err().number(), 1235);
        }
    }
    assert_eq!(named("utf8_bin").name, "utf8mb3_bin");
    assert_eq!(Collation::by_name("nope").unwrap_err().number(), 1273);
    assert_eq!(Collation::binary_of(Charset::Utf8mb4).name, "utf8mb4_bin");
}

#[test]
fn weights_of_0900_ai_ci() {
    // As MySQL's WEIGHT_STRING gives them.
    assert_eq!(weights("utf8mb4_0900_ai_ci", "a"), "1C47");
    assert_eq!(weights("utf8mb4_0900_ai_ci", "Ab "), "1C471C600209");
    assert_eq!(weights("utf8mb4_0900_ai_ci", "é"), weights("utf8mb4_0900_ai_ci", "E"));
    assert_eq!(weights("utf8mb4_0900_ai_ci", "ß"), weights("utf8mb4_0900_ai_ci", "ss"));
    assert_eq!(weights("utf8mb4_0900_ai_ci", "中"), "FB40CE2D");
    assert_eq!(weights("utf8mb4_0900_ai_ci", "\u{3400}"), "FB80B400");
    assert_eq!(weights("utf8mb4_0900_ai_ci", "\u{17000}"), "FB008000");
    assert_eq!(weights("utf8mb4_0900_ai_ci", "\u{10FFFF}"), "FBE1FFFF");
    assert_eq!(weights("utf8mb4_0900_ai_ci", "\u{1}\u{301}"), "");
    // A syllable is its jamo.
    assert_eq!(weights("utf8mb4_0900_ai_ci", "각"), weights("utf8mb4_0900_ai_ci", "\u{1100}\u{1161}\u{11A8}"));
    assert_eq!(weights("utf8mb4_0900_as_cs", "a"), "1C47000000200000".to_owned() + "0002");
    assert_eq!(weights("utf8mb4_0900_as_ci", "é"), "1CAA000000200024");
}

#[test]
fn equalities() {
    use Ordering::*;
    for (collation, a, b, want) in [
        ("utf8mb4_0900_ai_ci", "a", "A", Equal),
        ("utf8mb4_0900_ai_ci", "resume", "Résumé", Equal),
        ("utf8mb4_0900_ai_ci", "a", "a ", Less),
        ("utf8mb4_0900_ai_ci", "a", "b", Less),
        ("utf8mb4_0900_ai_ci", "_", "a", Less),
        ("utf8mb4_0900_ai_ci", "Z", "a", Greater),
        ("utf8mb4_0900_ai_ci", "", "\u{1}", Equal),
        ("utf8mb4_0900_as_cs", "a", "A", Less),
        ("utf8mb4_0900_as_cs", "a", "á", Less),
        ("utf8mb4_0900_as_ci", "a", "A", Equal),
        ("utf8mb4_0900_as_ci", "a", "á", Less),
        ("utf8mb4_0900_as_cs", "A", "á", Less),
        ("utf8mb4_general_ci", "ß", "s", Equal),
        ("utf8mb4_general_ci", "a", "A  ", Equal),
        ("utf8mb4_general_ci", "a", "a\t", Greater),
        ("utf8mb4_general_ci", "Ä", "a", Equal),
        ("utf8mb4_general_ci", "😀", "😁", Equal),
        ("utf8mb4_unicode_ci", "ß", "ss", Equal),
        ("utf8mb4_unicode_ci", "a", "a ", Equal),
        ("utf8mb4_unicode_520_ci", "😀", "😁", Less),
        ("utf8mb4_bin", "a", "A", Greater),
        ("utf8mb4_bin", "a", "a  ", Equal),
        ("utf8mb4_bin", "a\t", "a ", Less),
        ("utf8mb4_0900_bin", "a", "a ", Less),
        ("binary", "a", "a ", Less),
    ] {
        assert_eq!(order(collation, a, b), want, "{collation} {a:?} {b:?}");
        assert_eq!(order(collation, b, a), want.reverse(), "{collation} {b:?} {a:?}");
    }
    let latin1 = named("latin1_swedish_ci");
    assert_eq!(latin1.compare(b"\xC5", b"Z"), Greater);
    assert_eq!(latin1.compare(b"\xE5", b"\xC5"), Equal);
}

#[test]
fn keys_order_as_texts_do() {
    seeds(300, |rng| {
        let collation = rng.pick(COLLATIONS);
        let texts: Vec<Vec<u8>> = (0..12)
            .map(|_| match collation.charset {
                Charset::Utf8mb4 => rng.text(6).into_bytes(),
                Charset::Utf8mb3 => {
                    rng.text(6).chars().filter(|c| (*c as u32) < 0x10000).collect::<String>().into_bytes()
                }
                charset if charset.is_multi() => rng.bytes(6, b"  aAb\0\x81\xA1\xB0\x40\x61\x5C!"),
                _ => rng.bytes(6, b"  aAbz\0\x01\xFF\t\x1F!"),
            })
            .collect();
        for a in &texts {
            let (mut ka, mut sa) = (Vec::new(), Vec::new());
            collation.key(a, &mut ka);
            collation.sort_key(a, &mut sa);
            assert_eq!(collation.key_len(&ka, 0), Some(ka.len()), "{} {a:?}", collation.name);
            for b in &texts {
                let (mut kb, mut sb) = (Vec::new(), Vec::new());
                collation.key(b, &mut kb);
                collation.sort_key(b, &mut sb);
                let want = collation.compare(a, b);
                assert_eq!(ka.cmp(&kb), want, "{} {a:?} {b:?} {} {}", collation.name, hex(&ka), hex(&kb));
                assert!(want.is_eq() || (!ka.starts_with(&kb) && !kb.starts_with(&ka)), "prefix-free");
                assert_eq!(sa == sb, want.is_eq(), "{} {a:?} {b:?}", collation.name);
                assert_eq!(
                    equality_key(collation, a) == equality_key(collation, b),
                    want.is_eq(),
                    "{}",
                    collation.name
                );
            }
        }
    });
}

/// Texts of characters that collations have rules for, as far as the character set has them.
fn tricky(rng: &mut crate::testing::Rng, charset: Charset, max: usize) -> Vec<u8> {
    const PARTS: [&str; 34] = [
        "a", "A", "á", "a\u{301}", "\u{301}", "\0", "\t", "\u{1}", " ", " ", "s", "S", "ß", "ä", "e", "c", "h", "C",
        "l", "ǉ", "j", "d", "\u{17E}", "å", "中", "가", "😀", "\u{FFFD}", "z", "ﬀ", "\u{E01}", "\u{E40}", "\u{E48}",
        "\u{E4C}",
    ];
    let text: String = (0..rng.below(max + 1)).map(|_| *rng.pick(&PARTS)).collect();
    Charset::Utf8mb4.convert(text.as_bytes(), charset).bytes.into_owned()
}

#[test]
fn keys_of_tricky_texts_order_and_tell_equality() {
    seeds(40, |rng| {
        for collation in COLLATIONS {
            let (a, b) = (tricky(rng, collation.charset, 5), tricky(rng, collation.charset, 5));
            let of = |text: &[u8]| {
                let (mut key, mut same) = (Vec::new(), Vec::new());
                collation.key(text, &mut key);
                collation.sort_key(text, &mut same);
                (key, same)
            };
            let ((ka, sa), (kb, sb)) = (of(&a), of(&b));
            let want = collation.compare(&a, &b);
            assert_eq!(ka.cmp(&kb), want, "{} {a:?} {b:?}", collation.name);
            assert_eq!(sa == sb, want.is_eq(), "{} {a:?} {b:?}", collation.name);
            assert_eq!(equality_key(collation, &a) == equality_key(collation, &b), want.is_eq(), "{}", collation.name);
            let by_prefix = collation.sort_prefix(&a).cmp(&collation.sort_prefix(&b));
            assert!(by_prefix.is_eq() || by_prefix == want, "{} {a:?} {b:?}", collation.name);
        }
    });
}

fn equality_key(collation: &Collation, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    collation.equality_key(text, &mut key);
    key
}

#[test]
fn cut_texts_are_found_where_they_are_said_to_be() {
    seeds(300, |rng| {
        for collation in COLLATIONS.iter().filter(|c| !c.cuts_keep_order()) {
            let (text, wanted) = (tricky(rng, collation.charset, 5), tricky(rng, collation.charset, 5));
            let chars = rng.below(4);
            let cut = |t: &[u8]| t[..collation.charset.prefix_len(t, chars)].to_vec();
            let mut key = Vec::new();
            collation.key(&cut(&text), &mut key);
            let keys = collation.cut_keys(&wanted, &cut(&wanted));
            let at = keys.rest.as_ref().or(keys.points.last()).unwrap();
            let said = keys.points.iter().chain(&keys.rest).any(|k| key.starts_with(k));
            let fits = said
                || match collation.compare(&text, &wanted) {
                    Ordering::Less => key < *at,
                    Ordering::Equal => false,
                    Ordering::Greater => key > *at,
                };
            assert!(fits, "{} {text:?} {wanted:?} {chars}", collation.name);
        }
    });
}

#[test]
fn what_like_matches_begins_with_the_key_of_its_stem() {
    seeds(300, |rng| {
        for collation in COLLATIONS {
            let (text, stem) = (tricky(rng, collation.charset, 5), tricky(rng, collation.charset, 3));
            let pattern = [&*stem, &*collation.charset.ascii(b"%")].concat();
            let pattern = LikePattern::new(&pattern, Some('\\'), collation.id);
            if pattern.matches(&text) {
                let (mut key, mut stem) = (Vec::new(), Vec::new());
                collation.key(&text, &mut key);
                collation.stem_key(pattern.prefix(), &mut stem);
                assert!(key.starts_with(&stem), "{} {text:?} {pattern:?}", collation.name);
            }
        }
    });
}

#[test]
fn long_runs_of_spaces() {
    let c = named("utf8mb4_bin");
    let key = |t: &str| {
        let mut k = Vec::new();
        c.key(t.as_bytes(), &mut k);
        k
    };
    let mut texts = Vec::new();
    for n in [0, 1, 2, 253, 254, 255, 256, 508, 509, 1000] {
        for tail in ["", "\t", "x"] {
            texts.push(format!("{}{tail}", " ".repeat(n)));
        }
    }
    for a in &texts {
        for b in &texts {
            assert_eq!(key(a).cmp(&key(b)), c.compare(a.as_bytes(), b.as_bytes()), "{} {}", a.len(), b.len());
        }
        let (mut text, k) = (Vec::new(), key(a));
        assert_eq!(c.text_of_key(&k, 0, &mut text), Some(k.len()));
        assert_eq!(text, a.trim_end_matches(' ').as_bytes());
    }
}

#[test]
fn languages_of_900() {
    use Ordering::{Equal, Greater, Less};
    for (language, a, b, want) in [
        ("de_pb_0900_ai_ci", "Ärger", "aerger", Equal),
        ("de_pb_0900_as_cs", "ä", "ae", Greater),
        ("sv_0900_ai_ci", "ö", "z", Greater),
        ("sv_0900_ai_ci", "å", "ä", Less),
        ("sv_0900_ai_ci", "æ", "Ǟ", Equal),
        ("da_0900_ai_ci", "aa", "å", Equal),
        ("da_0900_ai_ci", "å", "ø", Greater),
        ("da_0900_as_cs", "A", "a", Less),
        ("da_0900_as_cs", "Æ", "æ", Less),
        ("nb_0900_as_cs", "a", "A", Less),
        ("es_0900_ai_ci", "ñ", "nz", Greater),
        ("es_0900_ai_ci", "ñ", "o", Less),
        ("es_trad_0900_ai_ci", "ch", "cz", Greater),
        ("es_0900_ai_ci", "ch", "cz", Less),
        ("cs_0900_ai_ci", "ch", "hz", Greater),
        ("cs_0900_as_cs", "ch", "CH", Less),
        ("cs_0900_ai_ci", "č", "cz", Greater),
        ("hu_0900_ai_ci", "ddzs", "dzsdzs", Equal),
        ("hu_0900_ai_ci", "dzs", "dzz", Greater),
        ("et_0900_ai_ci", "ž", "t", Less),
        ("et_0900_ai_ci", "Ỡ", "õ", Equal),
        ("et_0900_ai_ci", "Ż", "z", Equal),
        ("lt_0900_ai_ci", "y", "i", Equal),
        ("lt_0900_as_cs", "i\u{307}\u{301}", "í", Equal),
        ("lv_0900_ai_ci", "ģ", "gz", Greater),
        ("tr_0900_ai_ci", "I", "i", Less),
        ("tr_0900_ai_ci", "I", "ı", Equal),
        ("vi_0900_ai_ci", "Ấ", "â", Equal),
        ("vi_0900_ai_ci", "ấ", "az", Greater),
        ("vi_0900_as_cs", "à", "á", Less),
        ("vi_0900_as_cs", "ả", "ã", Less),
        ("vi_0900_as_cs", "ã", "á", Less),
        ("ru_0900_ai_ci", "я", "a", Less),
        ("ru_0900_ai_ci", "1", "а", Less),
        ("ru_0900_ai_ci", "z", "ა", Less),
        ("hr_0900_ai_ci", "я", "α", Less),
        ("hr_0900_ai_ci", "z", "а", Less),
        ("hr_0900_ai_ci", "ǆ", "DŽ", Equal),
        ("la_0900_ai_ci", "ivs", "jus", Equal),
        ("eo_0900_ai_ci", "ĉ", "cz", Greater),
        ("is_0900_ai_ci", "Ớ", "ó", Equal),
    ] {
        let collation = named(&format!("utf8mb4_{language}"));
        assert_eq!(collation.compare(a.as_bytes(), b.as_bytes()), want, "{language} {a} {b}");
    }
    assert_eq!(weights("utf8mb4_et_0900_ai_ci", "Õ"), "1EFE54A5");
    assert_eq!(weights("utf8mb4_da_0900_ai_ci", "Å"), "1F9854A7");
    assert_eq!(weights("utf8mb4_hu_0900_ai_ci", "ddzsa"), "1C8F54A554A51C8F54A554A51C47");
    // A letter of two characters is none to LIKE, and no index finds it by its first.
    assert!(like("utf8mb4_cs_0900_ai_ci", "chata", "c%"));
    let pattern = LikePattern::new(b"xac%", None, named("utf8mb4_cs_0900_ai_ci").id);
    assert_eq!(pattern.prefix(), b"xa");
}

#[test]
fn orders_of_two_bytes() {
    use Ordering::{Equal, Greater, Less};
    let order = |name: &str, a: &[u8], b: &[u8]| named(name).compare(a, b);
    // By sound, not by code.
    assert_eq!(order("gbk_chinese_ci", b"\xB0\xA1", b"\x81\x40"), Less);
    assert_eq!(order("gbk_bin", b"\xB0\xA1", b"\x81\x40"), Greater);
    assert_eq!(order("gbk_chinese_ci", b"aZ\xB0\xA1 ", b"Az\xB0\xA1"), Equal);
    assert_eq!(order("gbk_chinese_ci", b"\xB0\x61", b"\xB0\x41"), Greater);
    assert_eq!(order("gbk_chinese_ci", b"]", b"["), Less);
    // By the number of strokes.
    assert_eq!(order("big5_chinese_ci", b"\xA4\x40", b"\xA4\x41"), Equal);
    assert_eq!(order("big5_chinese_ci", b"\xA4\x40", b"\xA4\x42"), Less);
    assert_eq!(order("sjis_japanese_ci", b"\x83\x61", b"\x83\x41"), Greater);
    assert_eq!(order("ujis_japanese_ci", b"\x8F\xB0\xA1", b"\xA4\xA2"), Less);
    let like =
        |text: &[u8], pattern: &[u8], name: &str| LikePattern::new(pattern, Some('\\'), named(name).id).matches(text);
    assert!(!like(b"\xA4\x40", b"\xA4\x41", "big5_chinese_ci"));
    assert!(like(b"a\x81\x5C", b"A\x81\x5C", "gbk_chinese_ci"));
    assert!(like(b"a\x81\x5C", b"a_", "gbk_bin"));
    assert!(!like(b"a\x81\x5C", b"%\\\\", "gbk_bin"));
    let changed = |name: &str, text: &[u8]| {
        let mut out = Vec::new();
        to_upper(named(name), text, &mut out);
        out
    };
    assert_eq!(changed("gbk_bin", b"a\xA3\xE1\x81\x61"), b"A\xA3\xC1\x81\x61");
    // Of two codes of a numeral the case changes within its own kind.
    assert_eq!(changed("cp932_bin", b"\xFA\x40\xEE\xEF"), b"\xFA\x4A\x87\x54");
    assert_eq!(changed("eucjpms_bin", b"\x8F\xF3\xF3\x8F\xF3\xF5"), b"\x8F\xF3\xFD\x8F\xF4\xA1");
}

#[test]
fn any_bytes_are_harmless() {
    seeds(300, |rng| {
        let (a, b) = (rng.bytes(20, &[]), rng.bytes(20, b"\xE4\xB8\xAD\xF0\x9F\x98\x80a %_\\"));
        for c in COLLATIONS {
            let mut out = Vec::new();
            c.compare(&a, &b);
            c.key(&a, &mut out);
            c.key_len(&b, 0xFF);
            out.clear();
            c.text_of_key(&b, 0, &mut out);
            LikePattern::new(&b, Some('\\'), c.id).matches(&a);
            to_upper(c, &a, &mut out);
            to_lower(c, &b, &mut out);
            c.charset.convert(&a, Charset::Latin1);
            c.charset.char_count(&b);
            c.charset.prefix_len(&a, 3);
        }
    });
}

fn like(collation: &str, text: &str, pattern: &str) -> bool {
    LikePattern::new(pattern.as_bytes(), Some('\\'), named(collation).id).matches(text.as_bytes())
}

#[test]
fn like_patterns() {
    for (text, pattern, want) in [
        ("abc", "abc", true),
        ("abc", "a%", true),
        ("abc", "%c", true),
        ("abc", "%b%", true),
        ("abc", "_b_", true),
        ("abc", "_b", false),
        ("", "%", true),
        ("", "_", false),
        ("a%c", "a\\%c", true),
        ("abc", "a\\%c", false),
        ("a\\", "a\\", true),
        ("ABC", "abc", true),
        ("äbc", "A%", true),
        ("中国", "_国", true),
        ("aaaaab", "%a%b", true),
        ("aaaaac", "%a%a%b", false),
        ("a ", "a", false),
        ("abab", "%ab", true),
    ] {
        assert_eq!(like("utf8mb4_0900_ai_ci", text, pattern), want, "{text} LIKE {pattern}");
    }
    assert!(!like("utf8mb4_bin", "ABC", "abc"));
    assert!(like("utf8mb4_bin", "xxabcabcd", "%abcd"));
    let p = LikePattern::new(b"ab\\_c%d", Some('\\'), CollationId::UTF8MB4_BIN);
    assert_eq!(p.prefix(), b"ab_c");
    assert!(!p.is_literal());
    // No blow-up.
    let text = "a".repeat(3000);
    assert!(!like("utf8mb4_0900_ai_ci", &text, &("%a".repeat(300) + "b")));
}

#[test]
fn like_agrees_with_a_plain_definition() {
    fn plain(text: &[char], pattern: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('%', rest)) => (0..=text.len()).any(|i| plain(&text[i..], rest)),
            Some(('_', rest)) => !text.is_empty() && plain(&text[1..], rest),
            Some((c, rest)) => text.first() == Some(c) && plain(&text[1..], rest),
        }
    }
    seeds(2000, |rng| {
        let text: Vec<char> = (0..rng.below(8)).map(|_| *rng.pick(&['a', 'b', 'ä'])).collect();
        let pattern: Vec<char> = (0..rng.below(7)).map(|_| *rng.pick(&['a', 'b', 'ä', '%', '_', '%'])).collect();
        let (t, p): (String, String) = (text.iter().collect(), pattern.iter().collect());
        for c in ["utf8mb4_bin", "utf8mb4_0900_as_cs", "utf8mb4_0900_bin"] {
            assert_eq!(like(c, &t, &p), plain(&text, &pattern), "{t} LIKE {p} {c}");
        }
    });
}

#[test]
fn case_conversion() {
    let up = |t: &str| {
        let mut out = Vec::new();
        to_upper(named("utf8mb4_general_ci"), t.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    };
    let low = |t: &str| {
        let mut out = Vec::new();
        to_lower(named("utf8mb4_general_ci"), t.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(up("aé中ß"), "AÉ中ß");
    assert_eq!(low("AÉ中İ"), "aé中i");
    // Letters as old as the tables: of Unicode 3.0 here.
    assert_eq!(up("ᾀϲ\u{19A}\u{13F8}\u{A723}ა"), "ᾈΣ\u{19A}\u{13F8}\u{A723}ა");
    assert_eq!(low("ẞȺႠ\u{10400}"), "ẞȺႠ\u{10400}");
    let both = |collation: &str, text: &str| {
        let (mut up, mut low) = (Vec::new(), Vec::new());
        to_upper(named(collation), text.as_bytes(), &mut up);
        to_lower(named(collation), text.as_bytes(), &mut low);
        (String::from_utf8(up).unwrap(), String::from_utf8(low).unwrap())
    };
    // U+A7C5 came after both, U+13F8 between them.
    let (old, new) = ("utf8mb4_unicode_520_ci", "utf8mb4_0900_ai_ci");
    assert_eq!(
        both(old, "ϲ\u{19A}\u{13F8}\u{282}Ⱥ"),
        ("Ϲ\u{23D}\u{13F8}\u{282}Ⱥ".into(), "ϲ\u{19A}\u{13F8}\u{282}ⱥ".into())
    );
    assert_eq!(both(new, "\u{13F8}\u{282}ა\u{10400}").0, "\u{13F0}\u{282}ა\u{10400}");
    assert_eq!(both(new, "\u{10400}").1, "\u{10428}");
    assert_eq!(both("utf8mb4_0900_bin", "\u{10428}").0, "\u{10400}");
    let mut out = Vec::new();
    to_upper(named("latin1_swedish_ci"), b"\xE4\xDF", &mut out);
    assert_eq!(out, b"\xC4\xDF");
    out.clear();
    to_upper(named("latin1_swedish_ci"), b"\x9A\xFF", &mut out);
    // A character that has two codes keeps its own.
    to_lower(named("armscii8_general_ci"), b"\xA4\xA9", &mut out);
    assert_eq!(out, b"\x9A\xFF\xA4\xA9");
    // The replacement character is a character.
    assert_eq!(*Charset::Ucs2.convert(b"\xFF\xFD\0a", Charset::Utf8mb4).bytes, *"\u{FFFD}a".as_bytes());
}

#[test]
fn coercibility() {
    let id = |n: &str| named(n).id;
    let s = |n: &str, c| CollationSource::new(id(n), c);
    use Coercibility::*;
    let agg = |a, b| aggregate_for(&[a, b], Purpose::Compare, "=").map(|r| r.collation.get().name);
    assert_eq!(agg(s("utf8mb4_bin", Implicit), s("utf8mb4_0900_ai_ci", Coercible)).unwrap(), "utf8mb4_bin");
    assert_eq!(agg(s("utf8mb4_bin", Implicit), s("utf8mb4_0900_ai_ci", Implicit)).unwrap(), "utf8mb4_bin");
    assert_eq!(agg(s("utf8mb4_bin", Implicit), s("utf8mb4_0900_ai_ci", Explicit)).unwrap(), "utf8mb4_0900_ai_ci");
    assert_eq!(agg(s("latin1_swedish_ci", Implicit), s("utf8mb4_0900_ai_ci", Implicit)).unwrap(), "utf8mb4_0900_ai_ci");
    assert_eq!(agg(s("binary", Coercible), s("utf8mb4_0900_ai_ci", Implicit)).unwrap(), "utf8mb4_0900_ai_ci");
    assert_eq!(agg(s("binary", Implicit), s("utf8mb4_0900_ai_ci", Implicit)).unwrap(), "binary");
    let e = agg(s("utf8mb4_general_ci", Implicit), s("utf8mb4_0900_ai_ci", Implicit)).unwrap_err();
    assert_eq!(e.number(), 1267);
    assert_eq!(
        e.message(),
        "Illegal mix of collations (utf8mb4_general_ci,IMPLICIT) and (utf8mb4_0900_ai_ci,IMPLICIT) for operation '='"
    );
    let e = agg(s("utf8mb4_general_ci", Explicit), s("utf8mb4_0900_ai_ci", Explicit)).unwrap_err();
    assert_eq!(e.number(), 1267);
    let three = [s("utf8mb4_general_ci", Implicit), s("utf8mb4_0900_ai_ci", Implicit), s("utf8mb4_bin", Explicit)];
    assert_eq!(aggregate_for(&three, Purpose::Compare, "in").unwrap().collation.get().name, "utf8mb4_bin");
    assert_eq!(aggregate_for(&three[..2], Purpose::Compare, "in").unwrap_err().number(), 1267);
    assert_eq!(aggregate_for(&three[..2], Purpose::Result, "concat").unwrap().coercibility, None);
    assert_eq!(aggregate_for(&[], Purpose::Result, "concat").unwrap().collation, CollationId::BINARY);
}

#[test]
fn sort_prefixes_never_contradict_the_order() {
    const PARTS: [&str; 14] = ["a", "B", "é", "e\u{301}", "ß", " ", "\t", "\0", "ж", "日", "😀", "1", "-", "z"];
    seeds(200, |random| {
        let mut text = || -> String { (0..random.below(8)).map(|_| *random.pick(&PARTS)).collect() };
        let (a, b) = (text(), text());
        for c in COLLATIONS.iter().filter(|c| matches!(c.charset, Charset::Utf8mb4 | Charset::Utf8mb3)) {
            let by_prefix = c.sort_prefix(a.as_bytes()).cmp(&c.sort_prefix(b.as_bytes()));
            let full = c.compare(a.as_bytes(), b.as_bytes());
            assert!(by_prefix.is_eq() || by_prefix == full, "{} {a:?} {b:?}", c.name);
        }
    });
}

#[test]
fn sort_prefixes_tell_apart_what_differs_in_the_seventh_character() {
    for name in ["utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_general_ci", "latin1_swedish_ci"] {
        let prefix = |text: &str| Collation::by_name(name).unwrap().sort_prefix(text.as_bytes());
        assert!(prefix("word 77 of") < prefix("word 78 of"), "{name}");
        assert!(prefix("Wo") < prefix("wordé") && prefix("wordé") < prefix("words"), "{name}");
    }
}

#[test]
fn languages_have_letters_of_their_own() {
    assert_eq!(order("utf8mb4_esperanto_ci", "ĉ", "cz"), Ordering::Greater);
    assert_eq!(order("utf8mb4_unicode_ci", "ĉ", "cz"), Ordering::Less);
    assert_eq!(order("utf8mb4_esperanto_ci", "Ĉu", "ĉu"), Ordering::Equal);
    assert_eq!(order("utf8mb4_swedish_ci", "Ä", "zz"), Ordering::Greater);
    assert_eq!(order("utf8mb3_swedish_ci", "ü", "Y"), Ordering::Equal);
    assert_eq!(weights("utf8mb4_czech_ci", "chc"), "0EE20E60");
    assert_eq!(weights("utf8mb4_czech_ci", "cH"), "0E600EE1");
    assert_eq!(weights("utf8mb4_croatian_ci", "DžĐ"), "0E6E0E6F");
    assert_eq!(weights("utf8mb4_danish_ci", "aa"), weights("utf8mb4_danish_ci", "Å"));
    assert_eq!(weights("utf8mb4_german2_ci", "Öl"), weights("utf8mb4_german2_ci", "OEL"));
    assert_eq!(weights("utf8mb4_vietnamese_ci", "Ặ"), "0E34");
    assert_eq!(weights("utf8mb4_turkish_ci", "I"), "0EE2");
}

#[test]
fn one_byte_sets_convert_to_and_fro() {
    for charset in crate::charset::CHARSETS.iter().filter(|c| c.max_len == 1) {
        let charset = charset.charset;
        if matches!(charset, Charset::Ascii | Charset::Binary) {
            continue;
        }
        let mut known = 0;
        for byte in 0..=255u8 {
            let Some((c, 1)) = charset.decode(&[byte]) else { panic!("{charset:?} {byte}") };
            if c == '\u{FFFD}' {
                // The map of tis620 has a character where others have none.
                let want = if charset == Charset::Tis620 { "\u{FFFD}" } else { "?" };
                assert_eq!(&*charset.convert(&[byte], Charset::Utf8mb4).bytes, want.as_bytes());
                continue;
            }
            known += 1;
            let mut back = Vec::new();
            assert!(charset.encode(c, &mut back), "{charset:?} {byte}");
            // Some sets have a character twice, or one of ASCII again.
            assert_eq!(charset.decode(&back), Some((c, 1)), "{charset:?} {byte}");
        }
        let least = if charset == Charset::Swe7 { 127 } else { 201 };
        assert!(known >= least, "{charset:?}: {known}");
    }
    let text = |charset: Charset, bytes: &[u8]| {
        String::from_utf8(charset.convert(bytes, Charset::Utf8mb4).bytes.into_owned()).unwrap()
    };
    assert_eq!(text(Charset::Cp1257, b"\xE0\xFE\xD0"), "ąžŠ");
    assert_eq!(text(Charset::Cp1251, b"\xCF\xF0\xE8"), "При");
    assert_eq!(text(Charset::Koi8r, b"\xF0\xD2\xC9"), "При");
    assert_eq!(text(Charset::Cp1257, b"\x81"), "?");
    let same = |collation: &str, a: &[u8], b: &[u8]| named(collation).compare(a, b);
    assert_eq!(same("cp1257_general_ci", b"\xC0", b"a"), Ordering::Equal);
    assert_eq!(same("cp1257_bin", b"\xC0", b"a"), Ordering::Greater);
    assert_eq!(same("cp1251_general_ci", b"\xCF", b"\xEF"), Ordering::Equal);
    assert_eq!(same("cp1251_general_cs", b"\xCF", b"\xEF"), Ordering::Less);
    assert_eq!(same("koi8r_general_ci", b"\xC1", b"\xE1"), Ordering::Equal);
    assert_eq!(text(Charset::Swe7, b"Sm|rg}s@a~"), "SmörgåsÉaü");
    let swe7 = |text: &'static str| Charset::Utf8mb4.convert(text.as_bytes(), Charset::Swe7);
    assert_eq!(&*swe7("Smörgås").bytes, b"Sm|rg}s");
    assert_eq!((&*swe7("a@b{").bytes, swe7("a@b{").lossy), (&b"a?b?"[..], true));
    assert_eq!(same("swe7_swedish_ci", b"|", b"\\"), Ordering::Equal);
    assert_eq!(same("swe7_swedish_ci", b"}", b"{"), Ordering::Less);
}

/// Orders in which the weights of a text are not those of its characters, as servers show them.
#[test]
fn texts_weighed_as_a_whole() {
    let weights = |name: &str, text: &[u8]| {
        let mut out = Vec::new();
        named(name).weights(text, &mut out);
        hex(&out)
    };
    for (text, want) in [
        (&b"abc"[..], "0304050103090A01030F1101030F1100"),
        (b"", "01010100"),
        (b"a \t", "0301030103010300"),
        (b" a  b", "020203020302040109010203020F01020302020F00"),
        (b"a-b", "030401030901030F0103B20F00"),
        (b"chcHCHCh", "0C050B0C0C01190A1819190"),
    ] {
        assert!(weights("latin2_czech_cs", text).starts_with(want), "{} {want}", weights("latin2_czech_cs", text));
    }
    assert_eq!(weights("cp1250_czech_cs", b"Ch a"), "AD82A4020102");
    assert_eq!(weights("cp1250_czech_cs", b"cHCH"), "A6ACAD020101");
    // Vowels behind their consonants, marks at the end.
    assert_eq!(weights("tis620_thai_ci", b"\xE0\xA1"), "A1E0");
    assert_eq!(weights("tis620_thai_ci", b"\xE0\xE0\xA1\xE8\xA2\xE9\xE9A\xE0"), "E0A1E0A261E0E0E0F4");
    let order = |name: &str, a: &[u8], b: &[u8]| named(name).compare(a, b);
    use Ordering::{Equal, Greater, Less};
    assert_eq!(order("latin2_czech_cs", b"a b", b"a\tb  "), Equal);
    assert_eq!(order("latin2_czech_cs", b"a b", b"a  b"), Greater);
    assert_eq!(order("latin2_czech_cs", b"hz", b"ch"), Less);
    assert_eq!(order("latin2_czech_cs", b"a", b"A"), Less);
    assert_eq!(order("cp1250_czech_cs", b"a", b"a  "), Equal);
    assert_eq!(order("cp1250_czech_cs", b"a", b"a\t"), Less);
    assert_eq!(order("tis620_thai_ci", b"\xA1\xE8", b"\xA1\xE8 "), Greater);
    assert_eq!(order("tis620_thai_ci", b"\xA1", b"\xA1 "), Equal);
    assert!(LikePattern::new(b"C%", None, named("latin2_czech_cs").id).matches(b"Ch"));
    assert!(!LikePattern::new(b"c%", None, named("latin2_czech_cs").id).matches(b"Ch"));
    assert!(LikePattern::new(b"c%", None, named("tis620_thai_ci").id).matches(b"Ch"));
    assert_eq!(order("utf8mb3_general_mysql500_ci", "ß".as_bytes(), b"s"), Greater);
    assert_eq!(order("utf8mb4_persian_ci", "ک".as_bytes(), "ك".as_bytes()), Less);
    assert_eq!(order("utf8mb4_unicode_ci", "ک".as_bytes(), "ك".as_bytes()), Greater);
}

/// The quick way of ASCII gives the keys that the other one gives.
#[test]
fn keys_of_ascii_are_those_of_its_weights() {
    let collation = named("utf8mb4_general_ci");
    let all: Vec<u8> = (0..128).collect();
    for text in
        ["", "a", "Zz~`{@", "two words", " x  y", "a\x01 \x01b"].map(str::as_bytes).into_iter().chain([&all[..]])
    {
        let (mut key, mut stem) = (Vec::new(), Vec::new());
        collation.key(text, &mut key);
        // Of weights, without the end, which is a space and a byte.
        collation.stem_key(text, &mut stem);
        assert_eq!((key.len(), &key[..stem.len()]), (stem.len() + 3, &stem[..]), "{text:?}");
    }
}

/// What a collation that says so weighs of two letters begins with what it weighs of the first, and goes on with the
/// second.
#[test]
fn characters_that_weigh_alone() {
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain("_09äåæßñłđžčúñſœ".chars()).collect();
    let (mut alone, mut together) = (0, 0);
    for collation in COLLATIONS {
        let weights = |text: &str| {
            let (bytes, mut key) = (Charset::Utf8mb4.convert(text.as_bytes(), collation.charset).bytes, Vec::new());
            collation.stem_key(&bytes, &mut key);
            key
        };
        for (a, b) in letters.iter().flat_map(|a| letters.iter().map(move |b| (a, b))) {
            let (a, b) = (a.to_string(), b.to_string());
            let joined = weights(&(a.clone() + &b)) == [weights(&a), weights(&b)].concat();
            assert!(joined || !collation.weighs_alone(), "{}: {a}{b}", collation.name);
            *(if joined { &mut alone } else { &mut together }) += 1;
        }
    }
    assert!(alone > 0 && together > 0, "{alone}, {together}");
}
