//! Options of CREATE TABLE that are kept as they were given: how rows are stored has no meaning here, but SHOW CREATE
//! TABLE repeats it.

/// The options in the order in which MySQL prints them, with the values that it does not print.
const ORDER: &[(&str, &str)] = &[
    (ENGINE, "InnoDB"),
    ("MIN_ROWS", "0"),
    ("MAX_ROWS", "0"),
    ("AVG_ROW_LENGTH", "0"),
    ("PACK_KEYS", "DEFAULT"),
    ("STATS_PERSISTENT", "DEFAULT"),
    ("STATS_AUTO_RECALC", "DEFAULT"),
    ("STATS_SAMPLE_PAGES", "DEFAULT"),
    ("CHECKSUM", "0"),
    ("DELAY_KEY_WRITE", "0"),
    ("ROW_FORMAT", "DEFAULT"),
    ("KEY_BLOCK_SIZE", "0"),
    (COMPRESSION, "''"),
    (AUTOEXTEND_SIZE, "0"),
    ("CONNECTION", "''"),
    (ENGINE_ATTRIBUTE, "''"),
    (SECONDARY_ENGINE_ATTRIBUTE, "''"),
];

/// The engine that was asked for, where MATCH needs to know it: MyISAM. Not shown, since the table is not of it.
pub const ENGINE: &str = "ENGINE";
/// `COMPRESSION` of pages, a text in quotes.
pub const COMPRESSION: &str = "COMPRESSION";
/// `AUTOEXTEND_SIZE` of the table's file.
pub const AUTOEXTEND_SIZE: &str = "AUTOEXTEND_SIZE";
/// `ENGINE_ATTRIBUTE`: its value is a text in quotes.
pub const ENGINE_ATTRIBUTE: &str = "ENGINE_ATTRIBUTE";
/// `SECONDARY_ENGINE_ATTRIBUTE`, likewise.
pub const SECONDARY_ENGINE_ATTRIBUTE: &str = "SECONDARY_ENGINE_ATTRIBUTE";

/// Names and values of options.
pub type Kept = Box<[(Box<str>, Box<str>)]>;

/// Each option once, the last that was given, in MySQL's order; only what is not the default.
pub fn canonical(given: &[(Box<str>, Box<str>)]) -> Kept {
    let last = |name: &str| given.iter().rev().find(|(n, _)| **n == *name);
    let known =
        ORDER.iter().filter_map(|(name, default)| last(name).filter(|(_, value)| **value != **default)).cloned();
    // What has no place in the order keeps the one that it was given in.
    let others = given.iter().enumerate().filter(|(i, (n, _))| {
        !ORDER.iter().any(|(name, _)| **n == **name) && !given[i + 1..].iter().any(|(later, _)| later == n)
    });
    known.chain(others.map(|(_, option)| option.clone())).collect()
}

/// The text of an option whose value is one in quotes, as `quote_text` writes it.
pub fn text_of(given: &[(Box<str>, Box<str>)], name: &str) -> Option<String> {
    let (_, value) = given.iter().find(|(option, _)| **option == *name)?;
    let inner = value.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => out.extend(chars.next()),
            '\\' => out.extend(chars.next().map(|c| match c {
                '0' => '\0',
                'n' => '\n',
                'r' => '\r',
                c => c,
            })),
            c => out.push(c),
        }
    }
    Some(out)
}

/// Is the option printed behind the table's comment?
pub(crate) fn is_behind_comment(name: &str) -> bool {
    matches!(name, "CONNECTION" | ENGINE_ATTRIBUTE | SECONDARY_ENGINE_ATTRIBUTE)
}

#[cfg(test)]
mod tests {
    use super::{canonical, text_of};

    #[test]
    fn texts_in_quotes_come_back() {
        for text in ["", "a", "it's", "\\ and '' \n\r\0", r#"{"a": "\\n"}"#] {
            let mut value = String::new();
            crate::names::quote_text(&mut value, text);
            assert_eq!(text_of(&[("A".into(), value.into())], "A").as_deref(), Some(text));
        }
        assert_eq!(text_of(&[("A".into(), "1".into())], "A"), None);
    }

    #[test]
    fn options_are_there_once_in_order_without_defaults() {
        let of = |given: &[(&str, &str)]| -> String {
            let given: Vec<(Box<str>, Box<str>)> = given.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
            canonical(&given).iter().map(|(n, v)| format!("{n}={v} ")).collect()
        };
        assert_eq!(of(&[("ROW_FORMAT", "DYNAMIC"), ("CHECKSUM", "1")]), "CHECKSUM=1 ROW_FORMAT=DYNAMIC ");
        assert_eq!(of(&[("CHECKSUM", "1"), ("MAX_ROWS", "5"), ("CHECKSUM", "0"), ("MAX_ROWS", "7")]), "MAX_ROWS=7 ");
        assert_eq!(
            of(&[("PACK_KEYS", "0"), ("STATS_PERSISTENT", "0"), ("KEY_BLOCK_SIZE", "0")]),
            "PACK_KEYS=0 STATS_PERSISTENT=0 "
        );
        assert_eq!(of(&[("ROW_FORMAT", "COMPACT"), ("ROW_FORMAT", "DEFAULT")]), "");
        assert_eq!(of(&[("TABLESPACE", "a"), ("CHECKSUM", "1"), ("TABLESPACE", "b")]), "CHECKSUM=1 TABLESPACE=b ");
    }
}
