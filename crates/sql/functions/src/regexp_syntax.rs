//! ICU's regular expressions rewritten for `fancy_regex`, with ICU's errors.

use gannet_types::{Result, SqlError, sql_err};

/// Nesting of groups before error 3700.
const MAX_DEPTH: usize = 100;

/// What a match depends on besides pattern and subject.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Flags {
    pub(crate) insensitive: bool,
    pub(crate) multiline: bool,
    pub(crate) dot_all: bool,
    pub(crate) unix_lines: bool,
    /// The subject has line ends: `.` and `$` have more to do.
    pub(crate) lines: bool,
}

/// Characters that end a line.
pub(crate) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The rewriter of patterns.
struct Translator<'a> {
    chars: Vec<char>,
    at: usize,
    out: String,
    flags: Flags,
    groups: usize,
    /// Groups of the whole pattern, for back-references that come before them.
    total: usize,
    names: Vec<String>,
    /// Groups that capture around here, with their names: `fancy_regex` finds nothing by references to them.
    open: Vec<(usize, String)>,
    /// `(?i)` or `(?-i)` was read just now. In `fancy_regex` it would not end with its group.
    cases: Option<bool>,
    pattern: &'a str,
}

/// What `^` is.
fn line_start(flags: Flags) -> &'static str {
    match flags {
        Flags { multiline: true, lines: true, unix_lines: false, .. } => {
            "(?:\\A|(?<=[\\n\\x0b\\x0c\\x{85}\\x{2028}\\x{2029}])(?!\\z)|(?<=\\r)(?![\\n]|\\z))"
        }
        Flags { multiline: true, lines: true, .. } => "(?:\\A|(?<=\\n)(?!\\z))",
        _ => "\\A",
    }
}

/// What `$` is.
fn line_end(flags: Flags) -> &'static str {
    match flags {
        Flags { lines: false, .. } => "\\z",
        Flags { multiline: true, unix_lines: true, .. } => "(?=\\n|\\z)",
        Flags { multiline: true, .. } => "(?:(?=[\\r\\x0b\\x0c\\x{85}\\x{2028}\\x{2029}])|(?<!\\r)(?=\\n)|\\z)",
        Flags { unix_lines: true, .. } => "(?=\\n?\\z)",
        _ => "(?=(?:\\r\\n|[\\n\\r\\x0b\\x0c\\x{85}\\x{2028}\\x{2029}])?\\z)",
    }
}

fn syntax(at: usize, chars: &[char]) -> SqlError {
    let before = &chars[..at.min(chars.len())];
    let line = before.iter().filter(|c| **c == '\n').count() + 1;
    let column = before.iter().rev().take_while(|c| **c != '\n').count() + 1;
    sql_err!(RegexpRuleSyntax, line, column)
}

/// Rewrites an ICU pattern for `fancy_regex`. Errors 3685 to 3697.
pub(crate) fn translate(pattern: &str, flags: Flags) -> Result<String> {
    let chars: Vec<char> = pattern.chars().collect();
    if chars.is_empty() {
        return Err(sql_err!(RegexpIllegalArgument));
    }
    let total = count_groups(&chars);
    let (out, names, open) = (String::new(), Vec::new(), Vec::new());
    let mut t = Translator { chars, at: 0, out, flags, groups: 0, total, names, open, cases: None, pattern };
    t.alternatives(0)?;
    if t.at < t.chars.len() {
        return Err(sql_err!(RegexpMismatchedParen));
    }
    Ok(t.out)
}

fn count_groups(chars: &[char]) -> usize {
    let (mut n, mut at, mut class) = (0, 0, 0usize);
    while let Some(c) = chars.get(at) {
        match c {
            '\\' => at += 1,
            '[' => class += 1,
            ']' => class = class.saturating_sub(1),
            '(' if class == 0 => {
                let named = chars.get(at + 1) == Some(&'?')
                    && chars.get(at + 2) == Some(&'<')
                    && !matches!(chars.get(at + 3), Some('=' | '!'));
                n += usize::from(chars.get(at + 1) != Some(&'?') || named);
            }
            _ => {}
        }
        at += 1;
    }
    n
}

impl Translator<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn syntax(&self) -> SqlError {
        syntax(self.at, &self.chars)
    }

    /// `a|b|...` up to a closing parenthesis or the end.
    fn alternatives(&mut self, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(sql_err!(RegexpPatternTooBig));
        }
        // Settings within a group end with it.
        let flags = self.flags;
        let mut quantifiable = false;
        // The group that holds what follows a setting, anew in each alternative.
        let mut within = "";
        while let Some(c) = self.peek(0) {
            match c {
                ')' => break,
                '|' => {
                    self.at += 1;
                    self.out.push_str(if within.is_empty() { "|" } else { ")|" });
                    self.out.push_str(within);
                    quantifiable = false;
                }
                '*' | '+' | '?' | '{' if !quantifiable => return Err(self.syntax()),
                '*' | '+' | '?' => {
                    self.at += 1;
                    self.out.push(c);
                    self.quantifier_kind();
                    quantifiable = false;
                }
                '{' => {
                    self.interval()?;
                    self.quantifier_kind();
                    quantifiable = false;
                }
                '(' => {
                    quantifiable = self.group(depth)?;
                    if let Some(insensitive) = self.cases.take() {
                        self.out.push_str(if within.is_empty() { "" } else { ")" });
                        within = if insensitive { "(?i:" } else { "(?-i:" };
                        self.out.push_str(within);
                    }
                }
                '[' => {
                    self.class(depth)?;
                    quantifiable = true;
                }
                '\\' => quantifiable = self.escape()?,
                '.' => {
                    self.at += 1;
                    self.out.push_str(match self.flags {
                        Flags { dot_all: true, .. } => "(?s:.)",
                        Flags { lines: true, unix_lines: false, .. } => "[^\\n\\r\\x0b\\x0c\\x{85}\\x{2028}\\x{2029}]",
                        _ => "[^\\n]",
                    });
                    quantifiable = true;
                }
                '^' => {
                    self.at += 1;
                    self.out.push_str(line_start(self.flags));
                    quantifiable = true;
                }
                '$' => {
                    self.at += 1;
                    self.out.push_str(line_end(self.flags));
                    quantifiable = true;
                }
                '#' | ' ' | '~' | '&' | '-' | '/' | '<' | '>' => {
                    self.at += 1;
                    self.out.push_str("\\x");
                    self.out.push_str(&format!("{:02x}", c as u32));
                    quantifiable = true;
                }
                c => {
                    self.at += 1;
                    if matches!(c, ']' | '}') {
                        self.out.push('\\');
                    }
                    self.out.push(c);
                    quantifiable = true;
                }
            }
        }
        self.out.push_str(if within.is_empty() { "" } else { ")" });
        self.flags = flags;
        Ok(())
    }

    /// Lazy and possessive marks behind a quantifier.
    fn quantifier_kind(&mut self) {
        if let Some(c @ ('?' | '+')) = self.peek(0) {
            self.at += 1;
            self.out.push(c);
        }
    }

    fn number(&mut self) -> Result<Option<u32>> {
        let start = self.at;
        let mut n = 0u32;
        while let Some(d) = self.peek(0).and_then(|c| c.to_digit(10)) {
            n = n.checked_mul(10).and_then(|n| n.checked_add(d)).ok_or_else(|| sql_err!(RegexpBadInterval))?;
            self.at += 1;
        }
        Ok((self.at > start).then_some(n))
    }

    /// `{n}`, `{n,}`, `{n,m}`
    fn interval(&mut self) -> Result<()> {
        let bad = || sql_err!(RegexpBadInterval);
        self.at += 1;
        let low = self.number()?.ok_or_else(bad)?;
        let mut high = Some(low);
        if self.peek(0) == Some(',') {
            self.at += 1;
            high = self.number()?;
        }
        if self.peek(0) != Some('}') {
            return Err(bad());
        }
        self.at += 1;
        if high.is_some_and(|high| high < low) {
            return Err(sql_err!(RegexpMaxLtMin));
        }
        // What the automaton would copy so often does not fit its bound either.
        if low.max(high.unwrap_or(0)) > 5000 {
            return Err(sql_err!(RegexpPatternTooBig));
        }
        match high {
            Some(high) if high == low => self.out.push_str(&format!("{{{low}}}")),
            Some(high) => self.out.push_str(&format!("{{{low},{high}}}")),
            None => self.out.push_str(&format!("{{{low},}}")),
        }
        Ok(())
    }

    /// A group of any kind; false when nothing stands there to be repeated (a comment, settings).
    fn group(&mut self, depth: usize) -> Result<bool> {
        self.at += 1;
        let (mut repeatable, mut capturing) = (true, false);
        if self.peek(0) == Some('?') {
            self.at += 1;
            match (self.peek(0), self.peek(1)) {
                (Some('#'), _) => {
                    while self.peek(0).is_some_and(|c| c != ')') {
                        self.at += 1;
                    }
                    if self.peek(0).is_none() {
                        return Err(sql_err!(RegexpMismatchedParen));
                    }
                    self.at += 1;
                    return Ok(false);
                }
                (Some(c @ (':' | '>')), _) => {
                    self.at += 1;
                    self.out.push_str(if c == ':' { "(?:" } else { "(?>" });
                }
                (Some(c @ ('=' | '!')), _) => {
                    self.at += 1;
                    self.out.push_str(if c == '=' { "(?=" } else { "(?!" });
                }
                (Some('<'), Some(c @ ('=' | '!'))) => {
                    self.at += 2;
                    self.out.push_str(if c == '=' { "(?<=" } else { "(?<!" });
                    let start = self.at;
                    let from = self.out.len();
                    self.alternatives(depth + 1)?;
                    let unbounded = self.chars[start..self.at].iter().any(|c| matches!(c, '*' | '+'))
                        && has_unbounded(&self.out[from..]);
                    if unbounded {
                        return Err(sql_err!(RegexpLookBehindLimit));
                    }
                    return self.close().map(|()| true);
                }
                (Some('<'), Some(c)) if c.is_ascii_alphabetic() => {
                    self.at += 1;
                    self.named_group()?;
                    capturing = true;
                }
                (Some('<'), _) => {
                    self.at += 1;
                    return Err(self.syntax());
                }
                (Some('(' | '{'), _) => return Err(sql_err!(RegexpUnimplemented)),
                (Some(c), _) if c.is_ascii_alphabetic() || c == '-' => match self.settings()? {
                    true => repeatable = true,
                    false => return Ok(false),
                },
                _ => return Err(self.syntax()),
            }
        } else {
            if matches!(self.peek(0), Some('*' | '+')) {
                return Err(self.syntax());
            }
            self.groups += 1;
            self.out.push('(');
            self.open.push((self.groups, String::new()));
            capturing = true;
        }
        let flags = self.flags;
        self.alternatives(depth + 1)?;
        self.flags = flags;
        if capturing {
            self.open.pop();
        }
        self.close()?;
        Ok(repeatable)
    }

    /// `name>` of a group.
    fn named_group(&mut self) -> Result<()> {
        let mut name = String::new();
        while let Some(c) = self.peek(0).filter(|c| c.is_ascii_alphanumeric()) {
            name.push(c);
            self.at += 1;
        }
        if self.peek(0) != Some('>') || self.names.contains(&name) {
            return Err(self.syntax());
        }
        self.at += 1;
        self.groups += 1;
        self.out.push_str(&format!("(?<{name}>"));
        self.open.push((self.groups, name.clone()));
        self.names.push(name);
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        if self.peek(0) != Some(')') {
            return Err(sql_err!(RegexpMismatchedParen));
        }
        self.at += 1;
        self.out.push(')');
        Ok(())
    }

    /// `(?ims-x)` (false) and `(?ims-x:` (true).
    fn settings(&mut self) -> Result<bool> {
        let mut on = true;
        let mut insensitive = None;
        let before = self.flags;
        loop {
            let Some(c) = self.peek(0) else { return Err(sql_err!(RegexpMismatchedParen)) };
            match c {
                '-' => on = false,
                'i' => insensitive = Some(on),
                'm' => self.flags.multiline = on,
                's' => self.flags.dot_all = on,
                'd' => self.flags.unix_lines = on,
                'x' if !on => {}
                'x' | 'w' => return Err(sql_err!(RegexpUnimplemented)),
                ')' | ':' => {
                    self.at += 1;
                    let scoped = c == ':';
                    if scoped {
                        self.out.push_str(match insensitive {
                            Some(true) => "(?i:",
                            Some(false) => "(?-i:",
                            None => "(?:",
                        });
                        self.alternatives(1)?;
                        self.flags = before;
                        self.close()?;
                        // The caller would read the group once more.
                        self.at -= 1;
                        self.out.pop();
                        return Ok(true);
                    }
                    self.cases = insensitive;
                    return Ok(false);
                }
                _ => return Err(self.syntax()),
            }
            self.at += 1;
        }
    }

    fn literal(&mut self, c: char) {
        if c.is_ascii() && !c.is_ascii_alphanumeric() {
            self.out.push_str(&format!("\\x{:02x}", c as u32));
        } else {
            self.out.push(c);
        }
    }

    /// Hexadecimal digits of an escape.
    fn hex(&mut self, digits: usize) -> Result<char> {
        let bad = || sql_err!(RegexpBadEscapeSequence);
        let mut n = 0;
        for _ in 0..digits {
            let d = self.peek(0).and_then(|c| c.to_digit(16)).ok_or_else(bad)?;
            n = n << 4 | d;
            self.at += 1;
        }
        char::from_u32(n).ok_or_else(bad)
    }

    /// The character that an escape stands for, inside and outside of classes; `None` for an escape of another kind.
    fn escaped_char(&mut self) -> Result<Option<char>> {
        let bad = || sql_err!(RegexpBadEscapeSequence);
        let Some(c) = self.peek(0) else { return Err(bad()) };
        let simple = match c {
            'a' => '\u{7}',
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'x' => {
                self.at += 1;
                if self.peek(0) == Some('{') {
                    self.at += 1;
                    let start = self.at;
                    while self.peek(0).is_some_and(|c| c != '}') {
                        self.at += 1;
                    }
                    let text: String = self.chars[start..self.at].iter().collect();
                    self.at += 1;
                    let code = u32::from_str_radix(&text, 16).map_err(|_| bad())?;
                    return char::from_u32(code).map(Some).ok_or_else(bad);
                }
                return self.hex(2).map(Some);
            }
            'u' => {
                self.at += 1;
                return self.hex(4).map(Some);
            }
            'U' => {
                self.at += 1;
                return self.hex(8).map(Some);
            }
            'c' => {
                self.at += 1;
                let c = self.peek(0).ok_or_else(bad)?;
                self.at += 1;
                return Ok(char::from_u32(c as u32 & 0x1f));
            }
            '0' => {
                self.at += 1;
                let mut n = 0;
                for _ in 0..3 {
                    let Some(d) = self.peek(0).and_then(|c| c.to_digit(8)).filter(|d| n * 8 + d < 256) else { break };
                    n = n * 8 + d;
                    self.at += 1;
                }
                return char::from_u32(n).map(Some).ok_or_else(bad);
            }
            c if !c.is_ascii_alphanumeric() => c,
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(simple))
    }

    /// A backslash outside of a class; false when it cannot be repeated.
    fn escape(&mut self) -> Result<bool> {
        let bad = || sql_err!(RegexpBadEscapeSequence);
        self.at += 1;
        if let Some(c) = self.escaped_char()? {
            self.literal(c);
            return Ok(true);
        }
        let Some(c) = self.peek(0) else { return Err(bad()) };
        self.at += 1;
        match c {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => self.out.extend(['\\', c]),
            'b' | 'B' | 'A' | 'z' => self.out.extend(['\\', c]),
            'Z' => self.out.push_str("(?=(?:\\r\\n|[\\n\\r\\x0b\\x0c\\x{85}\\x{2028}\\x{2029}])?\\z)"),
            'G' => self.out.push_str("\\G"),
            'h' => self.out.push_str("[\\t\\p{Zs}]"),
            'H' => self.out.push_str("[^\\t\\p{Zs}]"),
            'v' => self.out.push_str("[\\n\\r\\x0b\\x0c\\x{85}\\x{2028}\\x{2029}]"),
            'V' => self.out.push_str("[^\\n\\r\\x0b\\x0c\\x{85}\\x{2028}\\x{2029}]"),
            'R' => self.out.push_str("(?:\\r\\n|[\\n\\r\\x0b\\x0c\\x{85}\\x{2028}\\x{2029}])"),
            'X' => self.out.push_str("(?>\\r\\n|\\P{M}\\p{M}*|\\p{M}+)"),
            'p' | 'P' => {
                self.at -= 1;
                self.property()?;
            }
            'Q' => {
                while self.at < self.chars.len() && !(self.peek(0) == Some('\\') && self.peek(1) == Some('E')) {
                    let c = self.chars[self.at];
                    self.literal(c);
                    self.at += 1;
                }
                self.at = (self.at + 2).min(self.chars.len());
            }
            'E' => return Ok(false),
            'k' => {
                let text: String = self.chars[self.at..].iter().take_while(|c| **c != '>').collect();
                let name = text.strip_prefix('<').unwrap_or("");
                if !self.pattern.contains(&format!("(?<{name}>")) || name.is_empty() {
                    return Err(sql_err!(RegexpInvalidBackRef));
                }
                if self.open.iter().any(|(_, around)| *around == name) {
                    return Err(sql_err!(RegexpUnimplemented));
                }
                self.at += text.chars().count() + 1;
                self.out.push_str(&format!("\\k<{name}>"));
            }
            '1'..='9' => {
                let mut n = c as usize - '0' as usize;
                // More digits belong to it while there are so many groups.
                while let Some(d) = self.peek(0).and_then(|c| c.to_digit(10)) {
                    if n * 10 + d as usize > self.total {
                        break;
                    }
                    n = n * 10 + d as usize;
                    self.at += 1;
                }
                if n > self.total {
                    return Err(sql_err!(RegexpInvalidBackRef));
                }
                if self.open.iter().any(|(around, _)| *around == n) {
                    return Err(sql_err!(RegexpUnimplemented));
                }
                self.out.push_str(&format!("(?:\\{n})"));
            }
            _ => return Err(bad()),
        }
        Ok(true)
    }

    /// `\p{name}`, `\P{name}`; the current character is the `p`.
    fn property(&mut self) -> Result<()> {
        let start = self.at;
        self.at += 1;
        if self.peek(0) != Some('{') {
            return Err(sql_err!(RegexpBadEscapeSequence));
        }
        while self.peek(0).is_some_and(|c| c != '}') {
            self.at += 1;
        }
        if self.peek(0).is_none() {
            return Err(sql_err!(RegexpBadEscapeSequence));
        }
        self.at += 1;
        self.out.push('\\');
        self.out.extend(&self.chars[start..self.at]);
        Ok(())
    }

    /// A bracket expression; the current character is its `[`.
    fn class(&mut self, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(sql_err!(RegexpPatternTooBig));
        }
        let unclosed = || sql_err!(RegexpMissingCloseBracket);
        self.at += 1;
        self.out.push('[');
        if self.peek(0) == Some('^') {
            self.at += 1;
            self.out.push('^');
        }
        let mut first = true;
        let mut last: Option<char> = None;
        loop {
            let Some(c) = self.peek(0) else { return Err(unclosed()) };
            let was_first = std::mem::take(&mut first);
            match c {
                ']' if !was_first => break,
                '[' if self.peek(1) == Some(':') => {
                    self.posix()?;
                    last = None;
                }
                '[' => {
                    self.class(depth + 1)?;
                    last = None;
                }
                '&' if self.peek(1) == Some('&') => {
                    self.at += 2;
                    self.out.push_str("&&");
                    last = None;
                }
                '-' if self.peek(1) == Some('-') && !was_first => {
                    self.at += 2;
                    self.out.push_str("--");
                    last = None;
                }
                '-' if last.is_some() && !matches!(self.peek(1), None | Some(']' | '[')) => {
                    self.at += 1;
                    let high = match self.peek(0) {
                        Some('\\') => {
                            self.at += 1;
                            self.escaped_char()?
                        }
                        Some(c) => {
                            self.at += 1;
                            Some(c)
                        }
                        None => return Err(unclosed()),
                    };
                    let Some(high) = high else {
                        // A class behind the dash: the dash is a character.
                        self.out.push_str("\\x2d");
                        self.at -= 1;
                        last = None;
                        continue;
                    };
                    if last.is_some_and(|low| low > high) {
                        return Err(sql_err!(RegexpInvalidRange));
                    }
                    self.out.push('-');
                    self.literal(high);
                    last = None;
                }
                '\\' => {
                    self.at += 1;
                    match self.escaped_char()? {
                        Some(c) => {
                            self.literal(c);
                            last = Some(c);
                        }
                        None => {
                            self.class_escape()?;
                            last = None;
                        }
                    }
                }
                c => {
                    self.at += 1;
                    self.literal(c);
                    last = Some(c);
                }
            }
        }
        self.at += 1;
        self.out.push(']');
        Ok(())
    }

    fn class_escape(&mut self) -> Result<()> {
        match self.peek(0) {
            Some(c @ ('d' | 'D' | 'w' | 'W' | 's' | 'S')) => {
                self.at += 1;
                self.out.extend(['\\', c]);
            }
            Some('h') => {
                self.at += 1;
                self.out.push_str("\\t\\p{Zs}");
            }
            Some('v') => {
                self.at += 1;
                self.out.push_str("\\n\\r\\x0b\\x0c\\x{85}\\x{2028}\\x{2029}");
            }
            Some('p' | 'P') => self.property()?,
            // A backspace is not meant.
            Some(c) if c.is_ascii_alphanumeric() && !matches!(c, 'b' | 'B') => {
                self.at += 1;
                self.out.push(c);
            }
            _ => return Err(sql_err!(RegexpBadEscapeSequence)),
        }
        Ok(())
    }

    /// `[:alpha:]`, within brackets.
    fn posix(&mut self) -> Result<()> {
        let text: String = self.chars[self.at + 2..].iter().take_while(|c| **c != ':').collect();
        let end = self.at + 2 + text.chars().count();
        if self.chars.get(end + 1) != Some(&']') {
            return Err(sql_err!(RegexpMissingCloseBracket));
        }
        let (negated, name) = match text.strip_prefix('^') {
            Some(name) => (true, name),
            None => (false, text.as_str()),
        };
        let set = match name.to_ascii_lowercase().as_str() {
            "alpha" => "\\p{Alphabetic}",
            "digit" => "\\p{Nd}",
            "alnum" => "\\p{Alphabetic}\\p{Nd}",
            "upper" => "\\p{Uppercase}",
            "lower" => "\\p{Lowercase}",
            "space" => "\\p{White_Space}",
            "blank" => "\\t\\p{Zs}",
            "punct" => "\\p{P}",
            "cntrl" => "\\p{Cc}",
            "graph" => "[^\\p{White_Space}\\p{Cc}\\p{Cs}\\p{Cn}]",
            "print" => "[\\p{Zs}[^\\p{White_Space}\\p{Cc}\\p{Cs}\\p{Cn}]]",
            "xdigit" => "0-9A-Fa-f",
            "word" => "\\w",
            _ => return Err(sql_err!(RegexpIllegalArgument)),
        };
        self.out.push_str(if negated { "[^" } else { "[" });
        self.out.push_str(set);
        self.out.push(']');
        self.at = end + 2;
        Ok(())
    }
}

/// Is there a `*`, a `+` or an open interval that repeats, in translated text?
fn has_unbounded(text: &str) -> bool {
    let mut class = 0usize;
    let mut escaped = false;
    let mut before = '\0';
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class += 1,
            ']' => class = class.saturating_sub(1),
            '*' | '+' if class == 0 => return true,
            '}' if before == ',' && class == 0 => return true,
            _ => {}
        }
        before = c;
    }
    false
}
