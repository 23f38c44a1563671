//! What the fuzzer calls: bytes of entries and definitions, and queries over texts.

use crate::{Analyzer, Definition, Finder, List, Mode, Posting, Query, Splitter, Tokens, evaluate};
use gannet_types::CollationId;

/// Takes bytes for everything that the crate reads. Half of them are a text, half a query for it.
pub fn check(data: &[u8]) {
    let _ = Definition::decode(data);
    if let Ok(posting) = Posting::read(data) {
        let _ = posting.ordinals();
    }
    let (text, query) = data.split_at(data.len() / 2);
    let query = String::from_utf8_lossy(query);
    let words = Definition::new(CollationId::DEFAULT);
    let ngrams = Definition { tokens: Tokens::Ngrams { size: 2 }, ..Definition::new(CollationId::UTF8MB4_GENERAL_CI) };
    for analyzer in [Analyzer::new(&words), Analyzer::new(&ngrams)] {
        for mode in [Mode::Natural, Mode::Boolean] {
            let Ok(query) = Query::new(&analyzer, &query, mode) else { continue };
            let mut lists: Vec<List> = query.terms().iter().map(|_| List::default()).collect();
            let mut splitter = Splitter::default();
            splitter.split(&analyzer, [Some(text)].into_iter());
            splitter.sort();
            let (mut carried, mut wanted) = (Vec::new(), 0);
            for word in splitter.found() {
                carried.clear();
                word.carried(&mut carried);
                let Ok(posting) = Posting::read(&carried) else { continue };
                let at = query.terms().iter().zip(&mut lists).filter(|(t, _)| t.is_at(word.key));
                for (term, list) in at.filter(|(t, _)| t.takes(&analyzer, word.text)) {
                    list.push(0, &posting, term.placed);
                    wanted += 1;
                }
            }
            let mut found = 0;
            Finder::new(&analyzer, query.terms()).row([Some(text)].into_iter(), &mut |_, _| found += 1);
            assert_eq!(found, wanted, "a finder finds what the whole row has");
            let found = evaluate::<()>(&query, &lists, None, 1, &mut |_, phrase| {
                Ok(phrase.is_in(&analyzer, [Some(text)].into_iter()))
            });
            assert!(found.is_ok_and(|found| found.rows.len() <= 1), "one row is found once");
        }
    }
}

/// A definition, a posting of a word, and texts with a query each.
pub fn seeds() -> Vec<Vec<u8>> {
    let definition = Definition::new(CollationId::DEFAULT);
    let mut encoded = Vec::new();
    definition.encode(&mut encoded);
    let analyzer = Analyzer::new(&definition);
    let mut splitter = Splitter::default();
    splitter.split(&analyzer, [Some(&b"one two one three one"[..])].into_iter());
    splitter.sort();
    let mut seeds = vec![encoded];
    for word in splitter.found() {
        let mut carried = Vec::new();
        word.carried(&mut carried);
        seeds.push(carried);
    }
    let pairs = [
        ("the quick brown fox jumps", "+quick -slow \"brown fox\""),
        ("one two three four five six", "one (two >three <four) ~x fiv*"),
        ("a b c d e f g h i j k l m n", "\"c f\" @4 n"),
    ];
    seeds.extend(pairs.map(|(text, query)| {
        let length = text.len().max(query.len());
        format!("{text:length$}{query:length$}").into_bytes()
    }));
    seeds
}

#[cfg(test)]
mod tests {
    #[test]
    fn seeds_are_read() {
        let seeds = super::seeds();
        seeds.iter().for_each(|s| super::check(s));
        assert!(super::Definition::decode(&seeds[0]).is_ok());
        assert!(super::Posting::read(&seeds[1]).is_ok());
    }
}
