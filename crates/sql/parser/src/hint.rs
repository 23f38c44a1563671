//! Optimizer hints: what stands inside `/*+ */`. [MySQL 8.4 manual, 10.9.3]
//!
//! Hints are not part of the statement's grammar: what cannot be read is left out with what follows it, and told.

/// A hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Its name in capitals: one of [`NAMES`].
    pub name: &'static str,
    /// `@block` in front of the list.
    pub block: Option<Box<str>>,
    /// Tables, each perhaps with a block of its own.
    pub tables: Vec<HintTable>,
    /// Indexes or strategies; the name of QB_NAME and of RESOURCE_GROUP.
    pub words: Vec<Box<str>>,
    /// MAX_EXECUTION_TIME: the number. SET_VAR: variable and value.
    pub value: Option<(Box<str>, HintValue)>,
}

/// A table of a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintTable {
    /// Name or alias.
    pub name: Box<str>,
    /// `@block`.
    pub block: Option<Box<str>>,
}

/// A value of SET_VAR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HintValue {
    /// Digits, with K, M or G multiplied out.
    Number(u64),
    /// A negative number or one with a fraction, as written.
    Other(Box<str>),
    /// A word or string.
    Text(Box<str>),
}

/// How the list of a hint looks.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Name,
    Number,
    Assignment,
    /// `[@block]`
    Block,
    /// `[@block] table, ...`
    Tables,
    /// `table[@block] index, ...`
    Indexes,
    /// `[@block] strategy, ...`
    Strategies,
    /// `[@block] strategy`
    Strategy,
}

const HINTS: &[(&str, Form)] = &[
    ("QB_NAME", Form::Name),
    ("RESOURCE_GROUP", Form::Name),
    ("MAX_EXECUTION_TIME", Form::Number),
    ("SET_VAR", Form::Assignment),
    ("JOIN_FIXED_ORDER", Form::Block),
    ("JOIN_ORDER", Form::Tables),
    ("JOIN_PREFIX", Form::Tables),
    ("JOIN_SUFFIX", Form::Tables),
    ("BKA", Form::Tables),
    ("NO_BKA", Form::Tables),
    ("BNL", Form::Tables),
    ("NO_BNL", Form::Tables),
    ("HASH_JOIN", Form::Tables),
    ("NO_HASH_JOIN", Form::Tables),
    ("MERGE", Form::Tables),
    ("NO_MERGE", Form::Tables),
    ("DERIVED_CONDITION_PUSHDOWN", Form::Tables),
    ("NO_DERIVED_CONDITION_PUSHDOWN", Form::Tables),
    ("INDEX", Form::Indexes),
    ("NO_INDEX", Form::Indexes),
    ("JOIN_INDEX", Form::Indexes),
    ("NO_JOIN_INDEX", Form::Indexes),
    ("GROUP_INDEX", Form::Indexes),
    ("NO_GROUP_INDEX", Form::Indexes),
    ("ORDER_INDEX", Form::Indexes),
    ("NO_ORDER_INDEX", Form::Indexes),
    ("INDEX_MERGE", Form::Indexes),
    ("NO_INDEX_MERGE", Form::Indexes),
    ("SKIP_SCAN", Form::Indexes),
    ("NO_SKIP_SCAN", Form::Indexes),
    ("MRR", Form::Indexes),
    ("NO_MRR", Form::Indexes),
    ("NO_ICP", Form::Indexes),
    ("NO_RANGE_OPTIMIZATION", Form::Indexes),
    ("SEMIJOIN", Form::Strategies),
    ("NO_SEMIJOIN", Form::Strategies),
    ("SUBQUERY", Form::Strategy),
];

const STRATEGIES: &[&str] = &["DUPSWEEDOUT", "FIRSTMATCH", "LOOSESCAN", "MATERIALIZATION"];

/// The word of hints that this is, in capitals.
pub(crate) fn word(text: &[u8]) -> Option<&'static str> {
    let all = HINTS.iter().map(|(name, _)| *name).chain(STRATEGIES.iter().copied());
    all.into_iter().find(|word| word.as_bytes().eq_ignore_ascii_case(text))
}

/// Reads the text inside `/*+ */`: the hints up to the first that cannot be read, and the rest of the text from there.
pub fn parse(text: &str) -> (Vec<Hint>, Option<&str>) {
    let mut reader = Reader { text, at: 0 };
    let mut hints = Vec::new();
    loop {
        reader.space();
        if reader.at == text.len() {
            return (hints, None);
        }
        match reader.hint() {
            Ok(hint) => hints.push(hint),
            Err(()) => return (hints, Some(&text[reader.at..])),
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.space();
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        if there {
            self.at += wanted.len_utf8();
        }
        there
    }

    fn expect(&mut self, wanted: char) -> Result<(), ()> {
        if self.take(wanted) { Ok(()) } else { Err(()) }
    }

    /// A bare word; nothing is taken when there is none.
    fn word(&mut self) -> Result<&'t str, ()> {
        self.space();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'))).unwrap_or(rest.len());
        if end == 0 {
            return Err(());
        }
        self.at += end;
        Ok(&rest[..end])
    }

    /// Text in quotes, which are doubled inside.
    fn quoted(&mut self, quote: char) -> Result<String, ()> {
        let mut out = String::new();
        let body = &self.text[self.at + 1..];
        let mut chars = body.char_indices();
        while let Some((i, c)) = chars.next() {
            if c != quote {
                out.push(c);
                continue;
            }
            if body[i + 1..].starts_with(quote) {
                out.push(quote);
                chars.next();
                continue;
            }
            self.at += 1 + i + 1;
            return Ok(out);
        }
        Err(())
    }

    fn name(&mut self) -> Result<Box<str>, ()> {
        match self.peek() {
            Some(q @ ('`' | '"')) => Ok(self.quoted(q)?.into()),
            _ => Ok(self.word()?.into()),
        }
    }

    fn opt_block(&mut self) -> Result<Option<Box<str>>, ()> {
        if self.take('@') { self.name().map(Some) } else { Ok(None) }
    }

    fn hint(&mut self) -> Result<Hint, ()> {
        let start = self.at;
        let word = self.word()?.to_ascii_uppercase();
        let Some((name, form)) = HINTS.iter().find(|(n, _)| *n == word) else {
            self.at = start;
            return Err(());
        };
        self.expect('(')?;
        let mut hint = Hint { name, block: None, tables: Vec::new(), words: Vec::new(), value: None };
        match form {
            Form::Name => hint.words.push(self.name()?),
            Form::Number => {
                let digits = self.word()?;
                let n = digits.parse().map_err(|_| ())?;
                hint.value = Some(("".into(), HintValue::Number(n)));
            }
            Form::Assignment => {
                let variable = self.name()?;
                self.expect('=')?;
                hint.value = Some((variable, self.value()?));
            }
            Form::Block => hint.block = self.opt_block()?,
            Form::Tables => {
                hint.block = self.opt_block()?;
                let common = hint.block.is_some();
                self.list(|r| {
                    let name = r.name()?;
                    let block = if common { None } else { r.opt_block()? };
                    hint.tables.push(HintTable { name, block });
                    Ok(())
                })?;
            }
            Form::Indexes => {
                hint.block = self.opt_block()?;
                let name = self.name()?;
                let block = if hint.block.is_some() { None } else { self.opt_block()? };
                hint.tables.push(HintTable { name, block });
                self.list(|r| r.name().map(|n| hint.words.push(n)))?;
            }
            Form::Strategies | Form::Strategy => {
                let allowed = if *form == Form::Strategies { STRATEGIES } else { &["INTOEXISTS", "MATERIALIZATION"] };
                hint.block = self.opt_block()?;
                self.list(|r| {
                    r.space();
                    let start = r.at;
                    let word = r.word()?.to_ascii_uppercase();
                    if !allowed.contains(&word.as_str()) {
                        r.at = start;
                        return Err(());
                    }
                    hint.words.push(word.into());
                    Ok(())
                })?;
                if *form == Form::Strategy && hint.words.len() != 1 {
                    return Err(());
                }
            }
        }
        self.expect(')')?;
        Ok(hint)
    }

    /// Nothing, or elements with commas between them.
    fn list(&mut self, mut one: impl FnMut(&mut Self) -> Result<(), ()>) -> Result<(), ()> {
        if self.peek() == Some(')') {
            return Ok(());
        }
        loop {
            one(self)?;
            if !self.take(',') {
                return Ok(());
            }
        }
    }

    fn value(&mut self) -> Result<HintValue, ()> {
        match self.peek() {
            Some(q @ ('\'' | '"')) => return Ok(HintValue::Text(self.quoted(q)?.into())),
            Some('`') => return Ok(HintValue::Text(self.name()?)),
            Some(c) if c == '-' || c == '.' || c.is_ascii_digit() => {}
            _ => return Ok(HintValue::Text(self.word()?.into())),
        }
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '+'))).unwrap_or(rest.len());
        let number = &rest[..end];
        let digits = number.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
        let unit: u64 = match number[digits.len()..].to_ascii_uppercase().as_str() {
            "" => 1,
            "K" => 1 << 10,
            "M" => 1 << 20,
            "G" => 1 << 30,
            _ => return Err(()),
        };
        let value = if digits.bytes().all(|b| b.is_ascii_digit()) {
            HintValue::Number(digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or(())?)
        } else if unit == 1 && number.parse::<f64>().is_ok() {
            HintValue::Other(number.into())
        } else {
            return Err(());
        };
        self.at += end;
        Ok(value)
    }
}

impl std::fmt::Display for HintTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`", self.name)?;
        self.block.iter().try_for_each(|b| write!(f, "@`{b}`"))
    }
}

/// As MySQL's warnings print it.
impl std::fmt::Display for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}(", self.name)?;
        if let Some((variable, value)) = &self.value {
            return match value {
                HintValue::Number(n) if variable.is_empty() => write!(f, "{n})"),
                HintValue::Number(n) => write!(f, "{variable}={n}) "),
                HintValue::Other(n) => write!(f, "{variable}={n}) "),
                HintValue::Text(t) => write!(f, "{variable}='{t}') "),
            };
        }
        self.block.iter().try_for_each(|b| write!(f, "@`{b}`"))?;
        f.write_str(" ")?;
        let tables: Vec<String> = self.tables.iter().map(ToString::to_string).collect();
        f.write_str(&tables.join(","))?;
        if !self.words.is_empty() {
            let bare = self.tables.is_empty();
            let words = self.words.iter().map(|w| if bare { w.to_string() } else { format!("`{w}`") });
            write!(f, " {}", words.collect::<Vec<_>>().join(", "))?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Hint {
        let (mut hints, rest) = parse(text);
        assert_eq!((hints.len(), rest), (1, None), "{text}");
        hints.remove(0)
    }

    #[test]
    fn forms() {
        assert_eq!(one(" qb_name(q1) ").words, ["q1".into()]);
        assert_eq!(one("MAX_EXECUTION_TIME( 100 )").value, Some(("".into(), HintValue::Number(100))));
        assert_eq!(one("SET_VAR(x = 16M)").value, Some(("x".into(), HintValue::Number(16 << 20))));
        assert_eq!(one("SET_VAR(x='a''b')").value, Some(("x".into(), HintValue::Text("a'b".into()))));
        assert_eq!(one("SET_VAR(x=-1.5)").value, Some(("x".into(), HintValue::Other("-1.5".into()))));
        let h = one("JOIN_PREFIX(t1, `t 2`@q, t3)");
        assert_eq!(h.to_string(), "JOIN_PREFIX( `t1`,`t 2`@`q`,`t3`)");
        assert_eq!(one("NO_INDEX(t1@q i1, i2)").words.len(), 2);
        assert_eq!(one("SEMIJOIN(@subq1 LOOSESCAN)").to_string(), "SEMIJOIN(@`subq1`  LOOSESCAN)");
        assert_eq!(one("JOIN_FIXED_ORDER()").to_string(), "JOIN_FIXED_ORDER( )");
        assert_eq!(one("SET_VAR(max_join_size=1)").to_string(), "SET_VAR(max_join_size=1) ");
    }

    #[test]
    fn what_cannot_be_read_ends_the_list() {
        let (hints, rest) = parse("BKA(t) SEMIJOIN(@q INTOEXISTS) BKA(u)");
        assert_eq!((hints.len(), rest), (1, Some("INTOEXISTS) BKA(u)")));
        for bad in
            ["FOO(1)", "BKA", "BKA(", "SET_VAR(x=)", "SET_VAR(x=9000100500000G)", "SUBQUERY()", "SET_VAR(x='a)", "é("]
        {
            assert!(parse(bad).1.is_some(), "{bad}");
        }
    }
}
