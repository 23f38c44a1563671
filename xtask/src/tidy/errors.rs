//! Tests name the error that they expect: `assert!(x.is_err())` also holds for an error that was not meant.

/// Names the assertions that any error satisfies.
pub(super) fn check(path: &str, text: &str, faults: &mut Vec<String>) {
    // This rule's own test has such assertions, as texts.
    if path.starts_with("xtask/src/tidy/") {
        return;
    }
    let code: Vec<&str> = text.lines().map(|l| l.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    for (at, start) in code.match_indices("assert!(") {
        if argument(&code[at + start.len()..]).contains(".is_err()") {
            let number = code[..at].matches('\n').count() + 1;
            faults.push(format!("{path}:{number}: an assertion that any error satisfies: name the one that is meant"));
        }
    }
}

/// What stands before the parenthesis that closes.
fn argument(text: &str) -> &str {
    let mut open = 0;
    let end = text.find(|c| match c {
        '(' => {
            open += 1;
            false
        }
        ')' if open > 0 => {
            open -= 1;
            false
        }
        c => c == ')',
    });
    end.map_or(text, |end| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        check("crates/service/core/src/a.rs", text, &mut faults);
        faults
    }

    #[test]
    fn assertions_that_any_error_satisfies_are_found() {
        for bad in [
            "assert!(f(x).is_err());",
            "\nassert!(\n    f((1, 2)).is_err(),\n    \"why\"\n);",
            "debug_assert!(a && f().is_err() && b)",
            "for x in y { assert!(g(x).is_err(), \"{x}\") }",
        ] {
            assert_eq!(faults(bad).len(), 1, "{bad}");
        }
        assert!(faults("a;\nb;\nassert!(f().is_err());")[0].starts_with("crates/service/core/src/a.rs:3: "));
        for good in [
            "assert_eq!(f().unwrap_err().number(), 1064);",
            "assert!(matches!(f(), Err(Error::Full)));",
            "if f().is_err() { assert!(g()) }",
            "assert!(g()); let failed = f().is_err();",
            "// assert!(f().is_err());",
        ] {
            assert_eq!(faults(good), Vec::<String>::new(), "{good}");
        }
    }
}
