//! What the ledger (`docs/ledger.csv`) says: rows read back, the table of `docs/benchmarks.md` made of them, and the
//! instructions that were accepted last.

use std::{fmt::Write, fs, path::Path};

/// A line of the ledger.
#[derive(Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) commit: String,
    pub(crate) what: String,
    pub(crate) figure: String,
    pub(crate) unit: String,
    command: String,
}

impl Row {
    fn of_one_connection(&self) -> bool {
        self.command.contains("--threads 1 ")
    }
}

/// Reads the ledger. A row without the build that it was measured on is an error: nobody could repeat it.
pub(crate) fn rows(root: &Path) -> Result<Vec<Row>, String> {
    let path = root.join("docs/ledger.csv");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Row>, String> {
    let row = |(number, line): (usize, &str)| {
        let mut fields = fields(line).into_iter().skip(1);
        let mut next = || fields.next().unwrap_or_default();
        let row = Row { commit: next(), what: next(), figure: next(), unit: next(), command: next() };
        if row.commit.is_empty() || row.unit.is_empty() {
            return Err(format!("docs/ledger.csv:{}: a row has a commit and a unit", number + 1));
        }
        Ok(row)
    };
    text.lines().enumerate().skip(1).map(row).collect()
}

/// The fields of a line of CSV (RFC 4180).
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut quoted) = (vec![String::new()], false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                all.last_mut().expect("a field").push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(String::new()),
            c => all.last_mut().expect("a field").push(c),
        }
    }
    all
}

/// The newest figure of a kind.
pub(crate) fn newest<'r>(rows: &'r [Row], what: &str, unit: &str) -> Option<&'r Row> {
    rows.iter().rev().find(|row| row.what == what && row.unit == unit)
}

/// Workloads of the table: name in the ledger, name for readers.
const TABLE: &[(&str, &str)] = &[
    ("point_select", "point select, prepared"),
    ("point_select text", "point select, text"),
    ("read_only", "read_only"),
    ("read_write", "read_write"),
    ("write_only", "write_only"),
    ("update_index", "update_index"),
    ("update_non_index", "update_non_index"),
    ("insert", "insert"),
];

const BEGIN: &str = "<!-- cargo xtask ledger --table -->\n";
const END: &str = "<!-- end of the table -->";

/// Writes the table of `docs/benchmarks.md` anew, of the newest figures of each workload at many connections.
pub(crate) fn write_table(root: &Path) -> Result<String, String> {
    let table = table(&rows(root)?);
    let path = root.join("docs/benchmarks.md");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    fs::write(&path, with_table(&text, &table)?).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(table)
}

fn with_table(text: &str, table: &str) -> Result<String, String> {
    let (before, rest) = text.split_once(BEGIN).ok_or("docs/benchmarks.md has no table of the ledger")?;
    let (_, after) = rest.split_once(END).ok_or("docs/benchmarks.md: the table of the ledger has no end")?;
    Ok(format!("{before}{BEGIN}{table}{END}{after}"))
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| workload | MariaDB TPS | Gannet TPS | ratio | MariaDB CPU us/query | Gannet CPU us/query | instructions |\n\
         |---|--:|--:|--:|--:|--:|--:|\n",
    );
    for (name, shown) in TABLE {
        let of = |server: &str, unit: &str| {
            let what = format!("{name}, {server}");
            rows.iter().rev().find(|row| row.what == what && row.unit == unit && !row.of_one_connection())
        };
        let tps = |server: &str| of(server, "transactions/s").and_then(|row| row.figure.parse::<f64>().ok());
        let (theirs, ours) = (tps("mariadb"), tps("gannet"));
        let ratio = theirs.zip(ours).map(|(theirs, ours)| format!("{:.2}", ours / theirs));
        let rate =
            |tps: Option<f64>| tps.map(|n| if n < 10_000.0 { format!("{n}") } else { format!("{:.1}k", n / 1e3) });
        let cpu = |server: &str| of(server, "CPU us/query").map(|row| row.figure.clone());
        let instructions = newest(rows, name, "instructions").map(|row| grouped(&row.figure));
        let cells = [rate(theirs), rate(ours), ratio, cpu("mariadb"), cpu("gannet"), instructions];
        let cells = cells.map(Option::unwrap_or_default).join(" | ");
        let _ = writeln!(text, "| {shown} | {cells} |");
    }
    text
}

/// Digits in groups of three.
fn grouped(digits: &str) -> String {
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|g| String::from_utf8_lossy(g)).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEDGER: &str = "date,commit,what,figure,unit,command\n\
        2026-11-23,abc,\"read_only, mariadb\",1000,transactions/s,x\n\
        2026-11-23,abc,\"read_only, gannet\",2500,transactions/s,x\n\
        2026-11-24,abd,\"read_only, gannet\",30000,transactions/s,\"a \"\"b\"\", c\"\n\
        2026-11-24,abd,read_only,921575,instructions,x\n\
        2026-11-25,abe,\"read_only, gannet\",9,transactions/s,xtask ledger --threads 1 --seconds 3\n";

    #[test]
    fn the_newest_figures_make_the_table() {
        let rows = parse(LEDGER).expect("a ledger");
        assert_eq!(rows.len(), 5);
        assert_eq!(newest(&rows, "read_only, gannet", "transactions/s").map(|r| r.commit.as_str()), Some("abe"));
        assert!(table(&rows).contains("| read_only | 1000 | 30.0k | 30.00 |  |  | 921,575 |\n"), "{}", table(&rows));
        assert_eq!(fields("a,\"b, \"\"c\"\"\",").as_slice(), ["a", "b, \"c\"", ""]);
    }

    #[test]
    fn a_row_without_its_build_is_refused() {
        let unnamed = "head\n2026-11-23,,read_only,1,instructions,x\n";
        assert_eq!(parse(unnamed).err().as_deref(), Some("docs/ledger.csv:2: a row has a commit and a unit"));
    }

    /// Every row has its build, and the documents' table is what the ledger says.
    #[test]
    fn the_document_has_the_ledgers_table() {
        let root = crate::root();
        let text = fs::read_to_string(root.join("docs/benchmarks.md")).expect("docs/benchmarks.md");
        let now = with_table(&text, &table(&rows(&root).expect("the ledger"))).expect("a table");
        assert_eq!(text, now, "cargo xtask ledger --table writes it anew");
    }
}
