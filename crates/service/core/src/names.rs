//! Matching of names outside queries.

/// LIKE over names: `%` any run, `_` any character, `\\` takes the next one as it is; letters in any case.
pub fn like(pattern: &str, text: &str) -> bool {
    let fold = |s: &str| s.to_lowercase().chars().collect::<Vec<char>>();
    matches(&fold(pattern), &fold(text))
}

fn matches(p: &[char], t: &[char]) -> bool {
    let (mut i, mut j, mut star) = (0, 0, None);
    while j < t.len() {
        let (c, width) = match p.get(i) {
            Some('\\') if i + 1 < p.len() => (p.get(i + 1), 2),
            c => (c, 1),
        };
        match c {
            Some('%') if width == 1 => {
                star = Some((i, j));
                i += 1;
            }
            Some(c) if (*c == '_' && width == 1) || *c == t[j] => {
                i += width;
                j += 1;
            }
            _ => match star {
                Some((si, sj)) => {
                    i = si + 1;
                    j = sj + 1;
                    star = Some((si, sj + 1));
                }
                None => return false,
            },
        }
    }
    p[i..].iter().all(|c| *c == '%')
}

#[cfg(test)]
mod tests {
    use super::like;

    #[test]
    fn patterns() {
        assert!(like("a%C", "abbc") && like("_b", "Ab") && like("%", "") && like("a\\_b", "a_b"));
        assert!(!like("a\\_b", "axb") && !like("a", "ab") && !like("", "a"));
    }
}
