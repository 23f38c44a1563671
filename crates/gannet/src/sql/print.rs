//! Results as people read them, and as programs do.

use gannet_wire::client::{Cell, ColumnInfo, ResultSet};
use gannet_wire::flags::ty;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// How rows are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// A frame around columns.
    Table,
    /// A line for each row, values separated by tabs.
    Tabs,
    /// A line for each value.
    Vertical,
}

/// Control characters would break the frame, or do things to the terminal.
fn shown(text: &str) -> String {
    let one = |c: char| match c {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        c if c.is_control() => c.escape_unicode().to_string(),
        c => c.to_string(),
    };
    if text.chars().any(char::is_control) { text.chars().map(one).collect() } else { text.to_owned() }
}

/// A value for people; bytes that are no text in hexadecimal.
fn readable(cell: &Cell, column: &ColumnInfo) -> String {
    match cell {
        Cell::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => shown(text),
            Err(_) => bytes.iter().fold("0x".to_owned(), |out, b| out + &format!("{b:02X}")),
        },
        other => other.text(column.decimals).unwrap_or_else(|| "NULL".into()),
    }
}

fn is_number(column: &ColumnInfo) -> bool {
    matches!(
        column.ty,
        ty::TINY | ty::SHORT | ty::INT24 | ty::LONG | ty::LONGLONG | ty::FLOAT | ty::DOUBLE | ty::NEWDECIMAL | ty::YEAR
    )
}

/// Writes the rows; `names`: with the columns' names.
pub(super) fn rows(out: &mut dyn Write, result: &ResultSet, style: Style, names: bool) -> io::Result<()> {
    match style {
        Style::Table => table(out, result, names),
        Style::Tabs => tabs(out, result, names),
        Style::Vertical => vertical(out, result),
    }
}

fn table(out: &mut dyn Write, result: &ResultSet, names: bool) -> io::Result<()> {
    if result.rows.is_empty() {
        return Ok(());
    }
    let columns = &result.columns;
    let heads: Vec<String> = columns.iter().map(|c| shown(&c.name)).collect();
    let cells: Vec<Vec<String>> =
        result.rows.iter().map(|row| row.iter().zip(columns).map(|(v, c)| readable(v, c)).collect()).collect();
    let mut widths: Vec<usize> = heads.iter().map(|h| if names { h.width() } else { 0 }).collect();
    for row in &cells {
        widths.iter_mut().zip(row).for_each(|(w, text)| *w = (*w).max(text.width()));
    }
    let line = widths.iter().fold("+".to_owned(), |line, w| line + &"-".repeat(w + 2) + "+");
    let write = |out: &mut dyn Write, row: &[String], right: &dyn Fn(usize) -> bool| -> io::Result<()> {
        for (n, text) in row.iter().enumerate() {
            let pad = " ".repeat(widths[n] - text.width());
            if right(n) { write!(out, "| {pad}{text} ")? } else { write!(out, "| {text}{pad} ")? }
        }
        writeln!(out, "|")
    };
    writeln!(out, "{line}")?;
    if names {
        write(out, &heads, &|_| false)?;
        writeln!(out, "{line}")?;
    }
    for row in &cells {
        write(out, row, &|n| is_number(&columns[n]))?;
    }
    writeln!(out, "{line}")
}

/// As the `mysql` command prints in batch mode: bytes as they are, but what separates is escaped.
fn tabs(out: &mut dyn Write, result: &ResultSet, names: bool) -> io::Result<()> {
    let escaped = |out: &mut dyn Write, bytes: &[u8]| -> io::Result<()> {
        for b in bytes {
            match b {
                0 => out.write_all(b"\\0")?,
                b'\t' => out.write_all(b"\\t")?,
                b'\n' => out.write_all(b"\\n")?,
                b'\\' => out.write_all(b"\\\\")?,
                b => out.write_all(&[*b])?,
            }
        }
        Ok(())
    };
    let separator = |n: usize| if n == 0 { &b""[..] } else { b"\t" };
    if names {
        for (n, column) in result.columns.iter().enumerate() {
            out.write_all(separator(n))?;
            escaped(out, column.name.as_bytes())?;
        }
        out.write_all(b"\n")?;
    }
    for row in &result.rows {
        for (n, (cell, column)) in row.iter().zip(&result.columns).enumerate() {
            out.write_all(separator(n))?;
            match cell {
                Cell::Null => out.write_all(b"NULL")?,
                Cell::Bytes(bytes) => escaped(out, bytes)?,
                other => escaped(out, other.text(column.decimals).unwrap_or_default().as_bytes())?,
            }
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn vertical(out: &mut dyn Write, result: &ResultSet) -> io::Result<()> {
    let width = result.columns.iter().map(|c| c.name.width()).max().unwrap_or(0);
    for (n, row) in result.rows.iter().enumerate() {
        writeln!(out, "{0} {1}. row {0}", "*".repeat(27), n + 1)?;
        for (cell, column) in row.iter().zip(&result.columns) {
            let pad = " ".repeat(width - column.name.width());
            // Texts of several lines, as of SHOW CREATE TABLE, are shown as such.
            let text = match cell {
                Cell::Bytes(bytes)
                    if std::str::from_utf8(bytes)
                        .is_ok_and(|t| !t.chars().any(|c| c.is_control() && c != '\n' && c != '\t')) =>
                {
                    String::from_utf8_lossy(bytes).into_owned()
                }
                other => readable(other, column),
            };
            writeln!(out, "{pad}{}: {text}", column.name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> ResultSet {
        let column = |name: &str, ty| ColumnInfo { name: name.into(), ty, ..ColumnInfo::default() };
        let text = |t: &str| Cell::Bytes(t.into());
        ResultSet {
            columns: vec![column("n", ty::LONG), column("text", ty::VAR_STRING)],
            rows: vec![
                vec![text("1"), text("日本")],
                vec![text("100"), Cell::Null],
                vec![Cell::Null, text("a\tb\\\n")],
            ],
            ..ResultSet::default()
        }
    }

    fn printed(style: Style, names: bool) -> String {
        let mut out = Vec::new();
        rows(&mut out, &result(), style, names).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_in_a_frame() {
        let wanted = "\
+------+---------+
| n    | text    |
+------+---------+
|    1 | 日本    |
|  100 | NULL    |
| NULL | a\\tb\\\\n |
+------+---------+
";
        // The text has a backslash of its own.
        assert_eq!(printed(Style::Table, true), wanted);
        let control = Cell::Bytes(b"\x1b[2J".to_vec());
        assert_eq!(readable(&control, &ColumnInfo::default()), "\\u{1b}[2J");
        assert_eq!(readable(&Cell::Bytes(vec![0xFF, 0x01]), &ColumnInfo::default()), "0xFF01");
    }

    #[test]
    fn rows_for_programs_and_values_in_lines() {
        assert_eq!(printed(Style::Tabs, true), "n\ttext\n1\t日本\n100\tNULL\nNULL\ta\\tb\\\\\\n\n");
        assert!(printed(Style::Tabs, false).starts_with("1\t"));
        assert!(printed(Style::Vertical, true).contains("1. row"));
        assert!(printed(Style::Vertical, true).contains("   n: 100\ntext: NULL\n"));
    }
}
