//! Names: quoted in SQL, and as parts of file names.

/// An identifier in backquotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `schema`.`name`, quoted.
pub(crate) fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(name))
}

/// A text literal. Backslashes escape: the sessions here do without NO_BACKSLASH_ESCAPES.
pub(crate) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\x1A' => out.push_str("\\Z"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Names in parentheses, for `IN`.
pub(crate) fn literals(names: &[String]) -> String {
    let all: Vec<String> = names.iter().map(|n| literal(n)).collect();
    format!("({})", all.join(", "))
}

/// A name as part of a file name, as MySQL Shell has it: ASCII characters other than letters, digits and `-._~` as `%`
/// and two digits.
pub(crate) fn file_part(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '-' | '.' | '_' | '~') {
            out.push_str(&format!("%{:02X}", c as u32));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_in_sql_and_in_files() {
        assert_eq!(qualified("a`b", "c d"), "`a``b`.`c d`");
        assert_eq!(literal("it's\\\n"), "'it''s\\\\\\n'");
        for name in ["plain", "a@b", "ü/%2F ~x.y-z_", "日本", "%"] {
            let part = file_part(name);
            assert!(!part.contains('@') && !part.contains('/'), "{part}");
        }
        assert_eq!(file_part("a@b/c"), "a%40b%2Fc");
    }
}
