//! Relevance in boolean mode as MyISAM computes it, by the text of a row alone: it needs no index.
//!
//! ```text
//! a word, a phrase       1 if the row has it, else 0
//! parentheses            what is in them, together
//! > <                    1.5 times as much, two thirds of it
//! ~                      minus a half
//! +                      one of n parts with it counts for an n-th; without one of them all is 0
//! -                      all is 0 where the row has the part
//! no operator            a third beside parts with +
//! ```
//!
//! Stopwords and words that are too short mean nothing. The rank of a row is not below 0. A list that has a part which
//! it must not have is nothing, in whatever order the row has its words; MyISAM lets what comes before it count.

use crate::definition::{Definition, Stopwords, Tokens};
use crate::words::{Analyzer, is_letter};
use gannet_types::charset::Charset;
use gannet_types::{CollationId, Result, sql_err};

/// Characters of a word (`ft_min_word_len`, `ft_max_word_len`).
const LENGTHS: (u8, u8) = (4, 84);

/// MyISAM's stopwords of four letters and more; of those with an apostrophe, which ends a word, nothing is left.
const STOPWORDS: &str = "\
    able about above according accordingly across actually after afterwards again against allow allows almost alone \
    along already also although always among amongst another anybody anyhow anyone anything anyway anyways anywhere \
    apart appear appreciate appropriate around aside asking associated available away awfully became because become \
    becomes becoming been before beforehand behind being believe below beside besides best better between beyond \
    both brief came cannot cant cause causes certain certainly changes clearly come comes concerning consequently \
    consider considering contain containing contains corresponding could course currently definitely described \
    despite different does doing done down downwards during each eight either else elsewhere enough entirely \
    especially even ever every everybody everyone everything everywhere exactly example except fifth first five \
    followed following follows former formerly forth four from further furthermore gets getting given gives goes \
    going gone gotten greetings happens hardly have having hello help hence here hereafter hereby herein hereupon \
    hers herself himself hither hopefully howbeit however ignored immediate inasmuch indeed indicate indicated \
    indicates inner insofar instead into inward itself just keep keeps kept know known knows last lately later \
    latter latterly least less lest like liked likely little look looking looks mainly many maybe mean meanwhile \
    merely might more moreover most mostly much must myself name namely near nearly necessary need needs neither \
    never nevertheless next nine nobody none noone normally nothing novel nowhere obviously often okay once ones \
    only onto other others otherwise ought ours ourselves outside over overall particular particularly perhaps \
    placed please plus possible presumably probably provides quite rather really reasonably regarding regardless \
    regards relatively respectively right said same saying says second secondly seeing seem seemed seeming seems \
    seen self selves sensible sent serious seriously seven several shall should since some somebody somehow someone \
    something sometime sometimes somewhat somewhere soon sorry specified specify specifying still such sure take \
    taken tell tends than thank thanks thanx that thats their theirs them themselves then thence there thereafter \
    thereby therefore therein theres thereupon these they think third this thorough thoroughly those though three \
    through throughout thru thus together took toward towards tried tries truly trying twice under unfortunately \
    unless unlikely until unto upon used useful uses using usually value various very want wants welcome well went \
    were what whatever when whence whenever where whereafter whereas whereby wherein whereupon wherever whether \
    which while whither whoever whole whom whose will willing wish with within without wonder would your yours \
    yourself yourselves zero";

/// Lists in each other; more are error 209.
const MAX_LEVELS: usize = 32;

/// A query, ready to weigh rows.
#[derive(Debug)]
pub struct Weigher {
    analyzer: Analyzer,
    query: Vec<Part>,
}

/// A part of a query.
#[derive(Debug)]
struct Part {
    need: Need,
    /// What it is worth of what it weighs.
    factor: f32,
    node: Node,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Need {
    #[default]
    May,
    Must,
    MustNot,
}

#[derive(Debug)]
enum Node {
    /// A word's key.
    Word(Vec<u8>),
    /// All words with this beginning.
    Beginning(Vec<u8>),
    /// The keys of all its words, and whether one of them is more than a stopword.
    Phrase(Vec<Vec<u8>>, bool),
    List(Vec<Part>),
}

/// Operators before a part.
#[derive(Default)]
struct Signs {
    need: Need,
    raised: i32,
    negated: bool,
}

impl Signs {
    /// Takes a sign; false: it is none.
    fn take(&mut self, c: char) -> bool {
        match c {
            '+' => self.need = Need::Must,
            '-' => self.need = Need::MustNot,
            '>' => self.raised += 1,
            '<' => self.raised -= 1,
            '~' => self.negated = !self.negated,
            _ => return false,
        }
        true
    }

    /// The part that they stand before.
    fn part(&mut self, node: Node) -> Part {
        let Signs { need, raised, negated } = std::mem::take(self);
        let factor = 1.5_f32.powi(raised.clamp(-5, 5)) * if negated { -0.5 } else { 1.0 };
        Part { need, factor, node }
    }
}

impl Weigher {
    /// Reads a query, in UTF-8, over texts of a collation: whatever it is, it means something. Signs are signs behind a
    /// blank, or another sign, only. Error 209 for too many parentheses in each other.
    pub fn new(collation: CollationId, query: &str) -> Result<Weigher> {
        let (min, max) = LENGTHS;
        let stopwords = Stopwords::Own(STOPWORDS.split(' ').map(Box::from).collect());
        let definition = Definition { tokens: Tokens::Words { min, max }, stopwords, ..Definition::new(collation) };
        let analyzer = Analyzer::new(&definition);
        let mut levels: Vec<(Signs, Vec<Part>)> = Vec::new();
        let (mut parts, mut signs, mut behind_blank) = (Vec::new(), Signs::default(), true);
        let mut rest = query;
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            match c {
                _ if is_letter(c) => {
                    let end = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
                    let star = rest[end..].starts_with('*');
                    let word = Charset::Utf8mb4.convert(&rest.as_bytes()[..end], analyzer.charset()).bytes;
                    match star {
                        true => parts.push(signs.part(Node::Beginning(word.into_owned()))),
                        false => parts.extend(analyzer.keyed(&word).map(|key| signs.part(Node::Word(key)))),
                    }
                    (signs, behind_blank, rest) = (Signs::default(), false, &rest[end..]);
                    continue;
                }
                '"' => {
                    // One that is never closed goes to the end.
                    let (text, behind) = after.split_once('"').unwrap_or((after, ""));
                    let text = Charset::Utf8mb4.convert(text.as_bytes(), analyzer.charset()).bytes;
                    let (mut keys, mut any) = (Vec::new(), false);
                    analyzer.tokens(&text, &mut |token| {
                        any |= analyzer.indexed(&token).is_some();
                        keys.push(analyzer.key(token.text));
                    });
                    parts.push(signs.part(Node::Phrase(keys, any)));
                    rest = behind;
                    continue;
                }
                '(' if levels.len() == MAX_LEVELS => return Err(sql_err!(FtTooManyLevels)),
                '(' => levels.push((std::mem::take(&mut signs), std::mem::take(&mut parts))),
                ')' => {
                    if let Some((mut before, outer)) = levels.pop() {
                        let inner = std::mem::replace(&mut parts, outer);
                        parts.push(before.part(Node::List(inner)));
                    }
                    signs = Signs::default();
                }
                _ if behind_blank && signs.take(c) => {}
                _ => (signs, behind_blank) = (Signs::default(), c == ' '),
            }
            rest = after;
        }
        while let Some((mut before, outer)) = levels.pop() {
            let inner = std::mem::replace(&mut parts, outer);
            parts.push(before.part(Node::List(inner)));
        }
        Ok(Weigher { analyzer, query: parts })
    }

    /// The rank of a row with these columns; NULL has no words.
    pub fn rank(&self, columns: &[Option<&[u8]>]) -> f32 {
        let mut row = Row { analyzer: &self.analyzer, words: Vec::new(), all: Vec::new() };
        for text in columns {
            let mut all = Vec::new();
            self.analyzer.tokens(text.unwrap_or_default(), &mut |token| {
                row.words.extend(self.analyzer.indexed(&token).map(|key| (key, token.text)));
                all.push(token.text);
            });
            row.all.push(all);
        }
        row.words.sort_unstable();
        row.list(&self.query).unwrap_or(0.0).max(0.0)
    }
}

/// What a row has.
struct Row<'r, 't> {
    analyzer: &'r Analyzer,
    /// Words by their keys.
    words: Vec<(Vec<u8>, &'t [u8])>,
    /// Of each column all tokens in their order.
    all: Vec<Vec<&'t [u8]>>,
}

impl Row<'_, '_> {
    /// What a list weighs. `None`: the row has not what it must have, or what it must not, or nothing of it.
    fn list(&self, parts: &[Part]) -> Option<f32> {
        let must = parts.iter().filter(|part| part.need == Need::Must).count();
        let (mut sum, mut any) = (0.0, false);
        for part in parts {
            let share = match (part.need, self.node(&part.node)) {
                (Need::Must, None) | (Need::MustNot, Some(_)) => return None,
                (_, None) => continue,
                (Need::Must, Some(weight)) => weight / must as f32,
                (_, Some(weight)) if must > 0 => weight / 3.0,
                (_, Some(weight)) => weight,
            };
            (sum, any) = (sum + share * part.factor, true);
        }
        any.then_some(sum)
    }

    fn node(&self, node: &Node) -> Option<f32> {
        let has = match node {
            Node::List(parts) => return self.list(parts),
            Node::Word(key) => self.words.binary_search_by(|(word, _)| word.cmp(key)).is_ok(),
            Node::Beginning(start) => self.words.iter().any(|(_, word)| self.analyzer.begins_with(word, start)),
            Node::Phrase(keys, any) => {
                let is = |words: &[&[u8]]| words.iter().zip(keys).all(|(word, key)| self.analyzer.key(word) == *key);
                *any && self.all.iter().any(|words| words.windows(keys.len()).any(is))
            }
        };
        has.then_some(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What MyISAM says of six texts, and NULL.
    #[test]
    fn rows_weigh_what_they_weigh_in_myisam() {
        let rows = [
            "Agile Web Development with Ruby On Rails",
            "Dive Into Python",
            "Programming Matz's Ruby",
            "The Definitive Guide to Django",
            "Python in a Nutshell",
            "ruby Ruby RUBY python web",
        ];
        let third = 1.0 + 1.0 / 3.0;
        let cases: &[(&str, [f32; 6])] = &[
            ("Agile Ruby Programming", [2.0, 0.0, 2.0, 0.0, 0.0, 1.0]),
            ("Dive Python", [0.0, 2.0, 0.0, 0.0, 1.0, 1.0]),
            ("+ruby python", [1.0, 0.0, 1.0, 0.0, 0.0, third]),
            ("+ruby +python", [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
            ("+ruby -python", [1.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
            (">ruby <python", [1.5, 2.0 / 3.0, 1.5, 0.0, 2.0 / 3.0, 1.5 + 2.0 / 3.0]),
            ("ruby ~python", [1.0, 0.0, 1.0, 0.0, 0.0, 0.5]),
            ("~python", [0.0; 6]),
            ("python ruby ruby", [2.0, 1.0, 2.0, 0.0, 1.0, 3.0]),
            ("+python +(>ruby <dive)", [0.0, 0.5 + 1.0 / 3.0, 0.0, 0.0, 0.0, 1.25]),
            ("(ruby python) +(>nutshell <agile)", [1.0, 0.0, 0.0, 0.0, 1.5 + 1.0 / 3.0, 0.0]),
            ("-ruby", [0.0; 6]),
            ("\"ruby python\"", [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
            ("\"python ruby\"", [0.0; 6]),
            ("+\"into python\" dive", [0.0, third, 0.0, 0.0, 0.0, 0.0]),
            ("pyth*", [0.0, 1.0, 0.0, 0.0, 1.0, 1.0]),
            ("+prog* ruby", [0.0, 0.0, third, 0.0, 0.0, 0.0]),
            ("web with the", [0.0; 6]),
            ("+with +ruby", [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
            ("matz's", [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
            ("+ruby,python", [1.0, 0.0, 1.0, 0.0, 0.0, third]),
            ("-ruby.python", [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]),
            (">ruby.python", [1.5, 1.0, 1.5, 0.0, 1.0, 2.5]),
            ("((ruby) (python))", [1.0, 1.0, 1.0, 0.0, 1.0, 2.0]),
            ("+(+(ruby))", [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
            ("+() ruby", [0.0; 6]),
            ("\"the\" ruby", [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
            ("+\"the\" ruby", [0.0; 6]),
            ("Programming-Ruby", [1.0, 0.0, 2.0, 0.0, 0.0, 1.0]),
            ("nutshell>python", [0.0, 1.0, 0.0, 0.0, 2.0, 1.0]),
            ("+>ruby", [1.5, 0.0, 1.5, 0.0, 0.0, 1.5]),
            ("))(ruby", [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
        ];
        for (query, wanted) in cases {
            let weigher = Weigher::new(CollationId::DEFAULT, query).unwrap();
            let got = rows.map(|text| weigher.rank(&[Some(text.as_bytes())]));
            assert!(got.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-4), "{query}: {got:?}");
            assert_eq!(weigher.rank(&[None]), 0.0);
        }
        let deep = "(".repeat(MAX_LEVELS + 1);
        assert_eq!(
            Weigher::new(CollationId::DEFAULT, &deep).unwrap_err().code(),
            gannet_types::ErrorCode::FtTooManyLevels
        );
        assert_eq!(STOPWORDS.split(' ').count(), 396);
    }
}
