//! A story that shows a difference is made smaller: without steps, without statements of the setup, and without parts
//! of the bodies of programs, for as long as its last step differs in the same way.

use super::{Found, Story, walk};
use crate::diff::{Outcome, Pair, Tally};

/// Rounds after which the story is small enough.
const TRIES: usize = 400;

/// The smallest story found in which the last step differs as it does in `story`, whose last step is `found`.
pub(super) fn smaller(story: &Story, found: &Found, pair: &mut Pair) -> Result<(Story, Found), String> {
    let mut best = (Story { steps: story.steps[..=found.at].to_vec(), ..story.clone() }, found.clone());
    let mut tries = 0;
    let mut size = usize::MAX;
    while tries < TRIES && weight(&best.0) < size {
        size = weight(&best.0);
        for part in [Part::Steps, Part::Setup, Part::Bodies] {
            without(part, &mut best, &mut tries, pair)?;
        }
    }
    Ok(best)
}

#[derive(Clone, Copy)]
enum Part {
    Steps,
    Setup,
    Bodies,
}

fn weight(story: &Story) -> usize {
    story.setup.len() + story.steps.iter().map(|step| step.sql.len()).sum::<usize>()
}

/// Leaves out what can be left out of one part.
fn without(part: Part, best: &mut (Story, Found), tries: &mut usize, pair: &mut Pair) -> Result<(), String> {
    match part {
        Part::Steps => runs(best, tries, pair, |s| s.steps.len() - 1, |s, at, n| drop(s.steps.drain(at..at + n))),
        Part::Setup => runs(best, tries, pair, |s| s.setup.len(), |s, at, n| drop(s.setup.drain(at..at + n))),
        Part::Bodies => {
            for at in 0..best.0.steps.len().saturating_sub(1) {
                let mut from = 0;
                while *tries < TRIES {
                    let pieces = pieces(&best.0.steps[at].sql);
                    if from >= pieces.len() {
                        break;
                    }
                    let mut shorter = cuts(&pieces, from).into_iter();
                    if !shorter.any(|sql| {
                        let mut candidate = best.0.clone();
                        candidate.steps[at].sql = sql;
                        take(candidate, best, tries, pair)
                    }) {
                        from += 1;
                    }
                }
            }
            Ok(())
        }
    }
}

/// Leaves out runs of `count` things, long ones first.
fn runs(
    best: &mut (Story, Found),
    tries: &mut usize,
    pair: &mut Pair,
    count: impl Fn(&Story) -> usize,
    leave_out: impl Fn(&mut Story, usize, usize),
) -> Result<(), String> {
    let mut length = count(&best.0).div_ceil(2);
    while length > 0 {
        let mut at = 0;
        while at < count(&best.0) && *tries < TRIES {
            let mut candidate = best.0.clone();
            leave_out(&mut candidate, at, length.min(count(&best.0) - at));
            if !take(candidate, best, tries, pair) {
                at += length;
            }
        }
        length = if length == 1 { 0 } else { length.div_ceil(2) };
    }
    Ok(())
}

/// Takes the candidate if its last step, and no other, differs in the same way.
fn take(candidate: Story, best: &mut (Story, Found), tries: &mut usize, pair: &mut Pair) -> bool {
    if !candidate.steps.iter().all(|step| loops_end(&step.sql)) {
        return false;
    }
    *tries += 1;
    // A setup that fails says that something is missing.
    let Ok(Some(found)) = walk(&candidate, pair, &mut Tally::default()) else { return false };
    let same = found.at + 1 == candidate.steps.len() && manner(&found.shown) == manner(&best.1.shown);
    if same {
        *best = (candidate, found);
    }
    same
}

/// Error numbers, or numbers of columns.
fn manner(outcomes: &[Outcome; 2]) -> [(u16, usize); 2] {
    outcomes.clone().map(|outcome| match outcome {
        Outcome::Refused(code, _) => (code, 0),
        Outcome::Done(r) => (0, r.columns.len()),
    })
}

/// Words that begin a list of statements.
const OPEN: [&str; 6] = ["BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT"];

/// A body's statements, and what stands around them.
fn pieces(sql: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let (mut before, mut quoted) = ("", false);
    for word in sql.split_inclusive(' ') {
        let bare = word.trim_end();
        let last = out.last_mut().expect("never empty");
        last.push_str(word);
        quoted ^= bare.matches('\'').count() % 2 == 1;
        if !quoted && (bare.ends_with(';') || OPEN.contains(&bare) && before != "END") {
            out.push(String::new());
        }
        before = bare;
    }
    out.retain(|piece| !piece.is_empty());
    out
}

/// How many blocks a piece opens less those that it closes.
fn depth(piece: &str) -> i32 {
    let words: Vec<&str> = piece.split([' ', ';']).collect();
    let opens = |i: usize| {
        let word = words[i];
        (matches!(word, "BEGIN" | "IF" | "CASE" | "LOOP" | "REPEAT" | "WHILE") && (i == 0 || words[i - 1] != "END"))
            as i32
            - (word == "END") as i32
    };
    (0..words.len()).map(opens).sum()
}

/// Each loop still has its counter, which is set, counted up and compared (`bodies.rs`).
fn loops_end(sql: &str) -> bool {
    let words: Vec<&str> = sql.split([' ', ';']).collect();
    let begins = |i: usize| matches!(words[i], "LOOP" | "REPEAT" | "WHILE") && (i == 0 || words[i - 1] != "END");
    let loops = (0..words.len()).filter(|i| begins(*i)).count();
    let counts = |name: &str| {
        sql.contains(&format!("SET {name} = 0; "))
            && (sql.contains(&format!("IF {name} > ")) || sql.contains(&format!("WHILE {name} < ")))
    };
    let counted = sql.match_indices("SET @i").filter(|(at, _)| {
        let name = sql[at + 4..].split(' ').next().unwrap_or_default();
        sql[*at..].starts_with(&format!("SET {name} = {name} + 1; ")) && counts(name)
    });
    counted.count() == loops
}

/// The text without one or more whole statements from `from` on, or without what stands around some.
fn cuts(pieces: &[String], from: usize) -> Vec<String> {
    let mut ends = Vec::new();
    let mut sum = 0;
    for (at, piece) in pieces.iter().enumerate().skip(from) {
        sum += depth(piece);
        if sum < 0 {
            break;
        }
        if sum == 0 {
            ends.push(at);
        }
    }
    let text = |kept: &dyn Fn(usize) -> bool| {
        pieces.iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, p)| p.as_str()).collect::<String>()
    };
    let mut out = Vec::new();
    for count in [16, 8, 4, 2, 1] {
        if let Some(end) = ends.get(count - 1) {
            out.push(text(&|i| i < from || i > *end));
        }
    }
    // The head of a definition stays with its body.
    if let Some(end) = ends.first().filter(|end| from > 0 && **end > from + 1) {
        out.push(text(&|i| i != from && i != *end));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_left_out_whole() {
        let sql = "CREATE PROCEDURE p() BEGIN DECLARE a INT; IF a = '; ' THEN SET a = 1; ELSE SET a = 2; END IF; END";
        let parts = pieces(sql);
        assert_eq!(parts.concat(), sql);
        assert_eq!(parts.len(), 8, "{parts:?}");
        let without = |from| cuts(&parts, from);
        assert!(without(2).contains(&"CREATE PROCEDURE p() BEGIN DECLARE a INT; END".to_owned()));
        assert!(without(1).iter().any(|s| !s.contains("DECLARE") && s.contains("END IF")));
        assert!(without(0).iter().all(|s| !s.contains("DECLARE")), "the whole, or nothing");
    }

    #[test]
    fn loops_keep_their_counters() {
        let sql = "BEGIN SET @i1_2 = 0; l1: WHILE @i1_2 < 3 DO SET @i1_2 = @i1_2 + 1; END WHILE; END";
        assert!(loops_end(sql));
        assert!(!loops_end(&sql.replace("SET @i1_2 = 0; ", "")), "counts NULL");
        assert!(!loops_end(&sql.replace("SET @i1_2 = @i1_2 + 1; ", "")), "does not count");
        assert!(loops_end("BEGIN SET @a = 1; END"));
    }
}
