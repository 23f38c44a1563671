//! Patterns over names, outside queries: SHOW ... LIKE, hosts, schemas that a grant names.

/// One place of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `%`: any run.
    Run,
    /// `_`: any character.
    Any,
    /// A character.
    Letter(char),
}

/// The parts of a pattern. `escapes`: a backslash takes the next character as it is.
pub fn parts(pattern: &str, escapes: bool) -> Vec<Part> {
    let mut parts = Vec::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        parts.push(match c {
            '\\' if escapes => Part::Letter(rest.next().unwrap_or('\\')),
            '%' => Part::Run,
            '_' => Part::Any,
            c => Part::Letter(c),
        });
    }
    parts
}

/// Whether the pattern matches all of `text`. `fits` says whether a part that is no run matches an element. Time is
/// bounded by the product of the lengths.
pub fn matches<T: Copy>(pattern: &[Part], text: &[T], fits: impl Fn(Part, T) -> bool) -> bool {
    let (mut i, mut j) = (0, 0);
    // The last run: the place behind it, and how much of the text it has taken.
    let mut run = None;
    while j < text.len() {
        match pattern.get(i) {
            Some(Part::Run) => {
                i += 1;
                run = Some((i, j));
            }
            Some(part) if fits(*part, text[j]) => {
                i += 1;
                j += 1;
            }
            _ => match &mut run {
                Some((behind, taken)) => {
                    *taken += 1;
                    (i, j) = (*behind, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[i..].iter().all(|part| *part == Part::Run)
}

/// LIKE over characters.
pub fn like_exactly(pattern: &str, text: &str, escapes: bool) -> bool {
    let text: Vec<char> = text.chars().collect();
    matches(&parts(pattern, escapes), &text, |part, c| part == Part::Any || part == Part::Letter(c))
}

/// LIKE over names: `%` any run, `_` any character, `\\` takes the next one as it is; letters in any case.
pub fn like(pattern: &str, text: &str) -> bool {
    like_exactly(&pattern.to_lowercase(), &text.to_lowercase(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(like("a%C", "abbc") && like("_b", "Ab") && like("%", "") && like("a\\_b", "a_b"));
        assert!(!like("a\\_b", "axb") && !like("a", "ab") && !like("", "a"));
        assert!(
            like_exactly("a\\", "a\\", true) && like_exactly("a\\_", "a\\b", false) && !like_exactly("A", "a", true)
        );
        assert!(like("%a%b%", "xxaxxbxx") && !like("%a%b", "xxaxxbxx") && like("ä_", "ÄÖ"));
    }

    #[test]
    fn many_runs_are_no_trouble() {
        let (pattern, text) = ("a%".repeat(2000) + "b", "a".repeat(20_000));
        assert!(!like(&pattern, &text));
    }
}
