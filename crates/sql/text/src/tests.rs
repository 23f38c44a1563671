//! Ranks as MySQL 8.4 gives them (recorded answers), the grammar's errors, words.

use crate::{Analyzer, Definition, Finder, Found, List, Mode, Posting, Query, Splitter, Stopwords, Tokens, evaluate};
use gannet_types::CollationId;

fn analyzer() -> Analyzer {
    Analyzer::new(&Definition::new(CollationId::DEFAULT))
}

/// The ranks of all rows.
fn ranks_by(analyzer: &Analyzer, rows: &[&str], text: &str, mode: Mode) -> Result<Vec<f32>, String> {
    let query = Query::new(analyzer, text, mode).map_err(|e| e.message().to_owned())?;
    let mut lists: Vec<List> = query.terms().iter().map(|_| List::default()).collect();
    let mut splitter = Splitter::default();
    for (number, row) in (0..).zip(rows) {
        splitter.split(analyzer, [Some(row.as_bytes())].into_iter());
        splitter.sort();
        for word in splitter.found() {
            let mut carried = Vec::new();
            word.carried(&mut carried);
            let posting = Posting::read(&carried).unwrap();
            for (term, list) in query.terms().iter().zip(&mut lists) {
                if term.is_at(word.key) && term.takes(analyzer, posting.text) {
                    list.push(number, &posting, term.placed);
                }
            }
        }
    }
    let mut ranks = vec![0.0; rows.len()];
    let found = evaluate::<()>(&query, &lists, None, rows.len() as u64, &mut |row, phrase| {
        Ok(phrase.is_in(analyzer, [Some(rows[row as usize].as_bytes())].into_iter()))
    });
    for (row, rank) in found.unwrap().rows {
        ranks[row as usize] = rank;
    }
    Ok(ranks)
}

const FRUIT: [&str; 8] = [
    "apple apple banana",
    "apple cherry",
    "banana banana banana cherry date",
    "date elderberry fig",
    "Apple-pie, apple_pie and apple's pie",
    "fig",
    "",
    "the and was",
];

fn natural(text: &str) -> Vec<f32> {
    ranks_by(&analyzer(), &FRUIT, text, Mode::Natural).unwrap()
}

fn boolean(text: &str) -> Vec<f32> {
    ranks_by(&analyzer(), &FRUIT, text, Mode::Boolean).unwrap()
}

/// Rows from 1 with their ranks.
fn some(list: &[(usize, f32)]) -> Vec<f32> {
    let mut ranks = vec![0.0; FRUIT.len()];
    list.iter().for_each(|(row, rank)| ranks[row - 1] = *rank);
    ranks
}

#[test]
fn natural_ranks_are_mysqls() {
    assert_eq!(natural("apple"), some(&[(1, 0.362_898_7), (2, 0.181_449_35), (5, 0.362_898_7)]));
    assert_eq!(natural("banana"), some(&[(1, 0.362_476_23), (3, 1.087_428_7)]));
    assert_eq!(natural("apple apple"), some(&[(1, 0.031_219_376), (2, 0.015_609_688), (5, 0.031_219_376)]));
    assert_eq!(natural("pie"), some(&[(5, 1.631_143_1)]));
    assert_eq!(natural("the"), some(&[]));
    assert_eq!(natural("apple_pie"), some(&[(5, 0.815_571_55)]));
    assert_eq!(natural("APPLE's"), natural("apple"));
    assert_eq!(natural("\"apple pie\""), some(&[(5, 1.994_041_8)]));
    assert_eq!(natural("app*"), some(&[]));
    assert_eq!(natural("+apple -banana"), natural("apple banana"));
}

#[test]
fn boolean_ranks_are_mysqls() {
    assert_eq!(boolean("+apple"), natural("apple"));
    let raised = some(&[(1, 1.725_374_9), (2, 1.181_449_4), (3, 1.087_428_7), (5, 1.362_898_7)]);
    assert_eq!(boolean(">apple banana"), raised);
    let lowered = some(&[(1, -0.274_625_06), (2, -0.818_550_65), (3, 1.087_428_7), (5, -0.637_101_3)]);
    assert_eq!(boolean("<apple banana"), lowered);
    assert_eq!(boolean("~apple banana"), some(&[(1, 0.362_476_23), (3, 1.087_428_7)]));
    assert_eq!(boolean("apple ~banana"), some(&[(1, -0.274_625_06), (2, 0.181_449_35), (5, 0.362_898_7)]));
    assert_eq!(boolean("+apple +(banana cherry)"), some(&[(1, 0.725_374_94), (2, 0.543_925_6)]));
    assert_eq!(boolean("+apple -(banana cherry)"), some(&[(5, 0.362_898_7)]));
    let both = some(&[(1, 0.543_714_34), (2, 0.090_619_06), (3, 1.087_428_7), (5, 0.181_238_11)]);
    assert_eq!(boolean("apple*  ban*"), both);
    assert_eq!(boolean("a*"), some(&[(1, 0.031_219_376), (2, 0.015_609_688), (5, 0.031_219_376), (8, 0.015_609_688)]));
    assert_eq!(boolean("\"apple banana\""), some(&[(1, 0.725_374_94)]));
    assert_eq!(boolean("\"banana apple\""), some(&[]));
    let sub = some(&[(1, 1.725_374_9), (2, 1.181_449_4), (3, 2.087_428_6), (5, 1.362_898_7)]);
    assert_eq!(boolean(">(apple banana)"), sub);
    let three = some(&[(1, 1.725_374_9), (2, -0.456_074_42), (3, 1.449_904_9), (5, 0.362_898_7)]);
    assert_eq!(boolean("apple >banana <cherry"), three);
    for nothing in ["~apple", "+the", "-apple", "+apple -apple", "x<y", "()", "+()", "\"unclosed", "apple +ab"] {
        assert_eq!(boolean(nothing), some(&[]), "{nothing}");
    }
    // Recorded of MariaDB 10.11, whose code it is.
    assert_eq!(boolean("+apple banana"), some(&[(1, 0.725_374_94), (2, 0.181_449_35), (5, 0.362_898_7)]));
    assert_eq!(boolean("+apple ~banana"), natural("apple"));
    let nested = some(&[(1, 0.362_476_23), (2, 0.543_925_6), (3, 1.087_428_7)]);
    assert_eq!(boolean("(+apple +cherry) banana"), nested);
    assert_eq!(boolean("\"banana apple\"@5"), some(&[(1, 0.725_374_94)]));
    assert_eq!(boolean("apple,banana"), natural("apple banana"));
    assert_eq!(boolean("cherry +apple,banana"), some(&[(1, 0.725_374_94)]));
    assert_eq!(boolean("banana -apple,cherry"), some(&[]));
    // What stands before parentheses is read first, and words that punctuation joins at once.
    assert_eq!(boolean("+apple (banana) +cherry"), some(&[(2, 0.543_925_6), (3, 1.449_904_9)]));
    let joined = some(&[(2, 0.543_925_6), (3, 0.362_476_23), (4, 0.362_476_23)]);
    assert_eq!(boolean("+apple,cherry date"), joined);
    // What is in parentheses gives its rank to rows that are there, too.
    assert_eq!(boolean("+apple +(>banana)"), some(&[(1, 1.725_374_9)]));
    for kept in ["+apple +()", "+apple +\"\"", "+apple,ab"] {
        assert_eq!(boolean(kept), natural("apple"), "{kept}");
    }
    for nothing in ["+apple +(())", "+apple +(,)", "+apple +(the)", "+apple +\" \"", "+apple,the", "+apple +\"the of\""]
    {
        assert_eq!(boolean(nothing), some(&[]), "{nothing}");
    }
    // A word and the same with a star are one word, found twice.
    assert_eq!(boolean("fig fig*"), some(&[(4, 0.090_619_06), (6, 0.090_619_06)]));
    assert_eq!(boolean("\"apple banana\"@0"), some(&[(1, 0.725_374_94)]));
    let beside = some(&[(1, 0.725_374_94), (2, 0.543_925_6), (3, 1.449_904_9), (5, 0.362_898_7)]);
    assert_eq!(boolean("+apple (banana cherry)"), beside);
    let kept = some(&[(1, 0.725_374_94), (2, 0.181_449_35), (3, 2.087_428_6), (5, 0.362_898_7)]);
    assert_eq!(boolean("apple (>banana)"), kept);
    let lowered = some(&[(1, -0.274_625_06), (2, 0.181_449_35), (5, 0.362_898_7)]);
    assert_eq!(boolean("+apple ~(banana)"), lowered);
}

#[test]
fn errors_of_the_grammar() {
    let error = |text: &str| ranks_by(&analyzer(), &FRUIT, text, Mode::Boolean).unwrap_err();
    assert_eq!(error("--apple"), "syntax error, unexpected '-'");
    assert_eq!(error("John <--> Smith"), "syntax error, unexpected '-'");
    assert_eq!(error("apple-"), "syntax error, unexpected $end");
    assert_eq!(error("(apple"), "syntax error, unexpected $end");
    assert_eq!(error("apple)"), "syntax error, unexpected ')', expecting $end");
    for stars in ["**", "apple**", "\"a b\" *"] {
        assert_eq!(error(stars), "syntax error, unexpected $end, expecting FTS_TERM or FTS_NUMB or '*'");
    }
    assert_eq!(error("@3 apple"), "syntax error, unexpected '@', expecting $end");
    assert_eq!(error("apple@2"), "syntax error, unexpected '@', expecting $end");
    assert_eq!(error("\"a b\"@x"), "syntax error, unexpected FTS_TERM, expecting FTS_NUMB");
    let deep = |n: usize| format!("{}apple{}", "(".repeat(n), ")".repeat(n));
    assert_eq!(error(&deep(33)), "Too many nested sub-expressions in a full-text search");
    assert_eq!(error(&deep(100_000)), "Too many nested sub-expressions in a full-text search");
    assert_eq!(error(&deep(33)[1..]), "syntax error, unexpected ')', expecting $end");
    assert_eq!(boolean(&deep(32)), natural("apple"));
    let phrase = |n: usize| format!("\"{}\"", "apple ".repeat(n));
    assert_eq!(error(&phrase(129)), "Too many words in a FTS phrase or proximity search");
    assert_eq!(boolean(&phrase(128)), some(&[]));
    assert!(ranks_by(&analyzer(), &FRUIT, &"(apple) ".repeat(10_000), Mode::Boolean).is_ok());
    assert!(ranks_by(&analyzer(), &FRUIT, "** x", Mode::Natural).is_ok());
}

#[test]
fn words_and_places() {
    let a = analyzer();
    let mut splitter = Splitter::default();
    splitter.split(&a, [Some("naïve Naive-cafe\u{301} हिन्दी".as_bytes()), None, Some(&b"end"[..])].into_iter());
    splitter.sort();
    let words: Vec<Found<'_>> = splitter.found().collect();
    let texts: Vec<(&str, u32)> = words.iter().map(|w| (std::str::from_utf8(w.text).unwrap(), w.times)).collect();
    assert_eq!(texts, [("cafe\u{301}", 1), ("end", 1), ("naïve", 2), ("हिन्दी", 1)]);
    assert_eq!(words[1].at, [(2 << 32) + 4]);
    let mut carried = Vec::new();
    words[2].carried(&mut carried);
    let posting = Posting::read(&carried).unwrap();
    assert_eq!((posting.times, posting.ordinals()), (2, (vec![0, 1], true)));
    // The next row: words that are known, in their order in the text, with this row's places.
    splitter.split(&a, [Some("END the naive end, new".as_bytes())].into_iter());
    let words: Vec<(u32, &[u8], &[u64])> = splitter.found().map(|w| (w.word, w.text, w.at)).collect();
    assert_eq!(words, [(3, &b"end"[..], &[0, 3][..]), (0, b"naive", &[2]), (4, b"new", &[4])]);
    assert_eq!(splitter.words(), 5);
    splitter.clear();
    splitter.split(&a, [Some("the".as_bytes())].into_iter());
    assert_eq!((splitter.found().count(), splitter.words()), (0, 0));
    // What no longer has room is asked of the text.
    let long = "word ".repeat(5000);
    splitter.split(&a, [Some(long.as_bytes())].into_iter());
    let mut carried = Vec::new();
    splitter.found().for_each(|word| word.carried(&mut carried));
    assert!(carried.len() < 600 && !Posting::read(&carried).unwrap().ordinals().1);
    let ranks = ranks_by(&a, &[&long, "other"], "\"word word\"", Mode::Boolean).unwrap();
    assert!(ranks[0] > 0.0);
}

#[test]
fn phrases_with_stopwords_are_compared_with_the_text() {
    let rows = ["king of the hill", "king on the hill", "hill king", "the king of"];
    let ranks = |q: &str| ranks_by(&analyzer(), &rows, q, Mode::Boolean).unwrap();
    let found =
        |q: &str| -> Vec<usize> { ranks(q).iter().enumerate().filter(|(_, r)| **r != 0.0).map(|(i, _)| i).collect() };
    assert_eq!(found("\"king of the hill\""), [0]);
    assert_eq!(found("\"the king of\""), [0, 3]);
    assert_eq!(found("\"hill king\"@4"), [0, 1, 2]);
    assert_eq!(found("\"hill king\"@3"), [2]);
}

#[test]
fn ngrams() {
    let mut definition = Definition::new(CollationId::DEFAULT);
    definition.tokens = Tokens::Ngrams { size: 2 };
    definition.stopwords = Stopwords::None;
    let a = Analyzer::new(&definition);
    let rows = ["数据库管理", "信息系统", "数据 系统"];
    let found = |q: &str, mode| -> Vec<usize> {
        let ranks = ranks_by(&a, &rows, q, mode).unwrap();
        ranks.iter().enumerate().filter(|(_, r)| **r != 0.0).map(|(i, _)| i).collect()
    };
    assert_eq!(found("数据", Mode::Natural), [0, 2]);
    assert_eq!(found("据库系统", Mode::Natural), [0, 1, 2]);
    assert_eq!(found("数据库", Mode::Boolean), [0]);
    assert_eq!(found("管*", Mode::Boolean), [0]);
    assert_eq!(found("库数", Mode::Natural), [0; 0]);
}

#[test]
fn definitions_come_back() {
    let mut definition = Definition::new(CollationId::UTF8MB4_BIN);
    definition.stopwords = Stopwords::Own(["über".into(), "x".into()].into());
    let mut bytes = Vec::new();
    definition.encode(&mut bytes);
    assert_eq!(Definition::decode(&bytes).unwrap(), definition);
    for cut in 0..bytes.len() {
        assert_eq!(Definition::decode(&bytes[..cut]).ok(), None, "{cut}");
    }
    bytes[0] = 9;
    assert_eq!(Definition::decode(&bytes).ok(), None);
}

/// What rows have of terms is the same whether all of their words are taken or only those that may be wanted: words
/// that begin alike, letters of languages, signs without weights, other scripts.
#[test]
fn a_finder_finds_what_rows_have() {
    const ROWS: [&str; 8] = [
        "chata cesta Chalupa \u{10d}aj hrad chléb c ch cc CHCH",
        "llama loma lláma lo\u{301}ma ll LL ljeto njiva d\u{17e}ep aa Aarhus \u{e5}rhus aalborg",
        "_under under_score __ a_b \u{301}stress \u{df} ss stra\u{df}e strasse STRASSE",
        "\u{41c}\u{43e}\u{441}\u{43a}\u{432}\u{430} \u{43c}\u{43e}\u{441}\u{442} \u{4e2d}\u{6587} \u{4e2d} \u{d55c}\u{ae00} \u{1f600}a \u{10400}\u{10428}",
        "the chapter the chapters chapeau, they said; said said",
        "",
        "\u{e6}ther aether \u{c6}THER \u{153}uvre oeuvre \u{fb01}sh fish",
        "x1 1x 11 2024 20 24",
    ];
    const QUERIES: [&str; 8] = [
        "cesta chata cc ch c",
        "ll* l* lo* lj* nj* aa* a*",
        "strasse stra* under_score _under a_b ss*",
        "\u{43c}\u{43e}\u{441}\u{43a}\u{432}\u{430} \u{43c}* \u{4e2d}* \u{4e2d}\u{6587} \u{10428}* \u{d55c}*",
        "said they chap* \"the chapter the chapters\"",
        "aether fish oeuvre ae* o* fi*",
        "2024 20* 1* x1 11",
        "aarhus \u{e5}rhus \u{e5}* d\u{17e}* d*",
    ];
    let names = [
        "utf8mb4_0900_ai_ci",
        "utf8mb4_0900_as_cs",
        "utf8mb4_0900_bin",
        "utf8mb4_bin",
        "utf8mb4_general_ci",
        "utf8mb4_unicode_ci",
        "utf8mb4_unicode_520_ci",
        "utf8mb4_czech_ci",
        "utf8mb4_cs_0900_ai_ci",
        "utf8mb4_danish_ci",
        "utf8mb4_da_0900_ai_ci",
        "utf8mb4_croatian_ci",
        "utf8mb4_hr_0900_ai_ci",
        "utf8mb4_spanish2_ci",
        "utf8mb4_hu_0900_ai_ci",
        "utf8mb4_german2_ci",
        "utf8mb4_ru_0900_ai_ci",
    ];
    let mut found = 0;
    for name in names {
        let collation = gannet_types::Collation::by_name(name).expect(name).id;
        let definition = Definition { tokens: Tokens::Words { min: 1, max: 84 }, ..Definition::new(collation) };
        let analyzer = Analyzer::new(&definition);
        for text in QUERIES {
            let query = Query::new(&analyzer, text, Mode::Boolean).expect(text);
            let (mut splitter, mut finder) = (Splitter::default(), Finder::new(&analyzer, query.terms()));
            for row in ROWS {
                let mut wanted: Vec<(usize, Vec<u8>)> = Vec::new();
                splitter.split(&analyzer, [Some(row.as_bytes()), None].into_iter());
                for word in splitter.found() {
                    let takes = |term: &crate::Term| term.is_at(word.key) && term.takes(&analyzer, word.text);
                    for (n, _) in query.terms().iter().enumerate().filter(|(_, term)| takes(term)) {
                        let mut carried = Vec::new();
                        word.carried(&mut carried);
                        wanted.push((n, carried));
                    }
                }
                let mut has = Vec::new();
                finder.row([Some(row.as_bytes()), None].into_iter(), &mut |n, word| {
                    let mut carried = Vec::new();
                    word.carried(&mut carried);
                    has.push((n, carried));
                });
                wanted.sort();
                has.sort();
                found += has.len();
                assert_eq!(has, wanted, "{name}: {text} in {row}");
            }
        }
    }
    assert!(found > 1000, "{found} words of {} queries", QUERIES.len());
}
