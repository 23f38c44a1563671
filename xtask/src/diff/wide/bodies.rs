//! Bodies of stored programs: blocks, variables, handlers, cursors, loops that end, and statements on the tables of
//! the round. What a body does shows in the table `log`, in user variables and in the rows that it gives.

use super::{Random, one};
use std::fmt::Write;

/// What a body may do.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Anything.
    Procedure,
    /// No rows, no transactions, no dynamic SQL.
    Function,
    /// The same, and not the table that it belongs to.
    Trigger {
        on: &'static str,
        /// NEW.a and NEW.s may be set.
        sets_new: bool,
    },
}

/// A variable in scope.
#[derive(Clone)]
struct Local {
    name: String,
    text: bool,
}

/// A body under way.
pub(super) struct Body<'r> {
    random: &'r mut Random,
    kind: Kind,
    out: String,
    locals: Vec<Local>,
    /// Loops around, with whether ITERATE is safe, and blocks with a label.
    labels: Vec<(String, bool)>,
    cursors: Vec<String>,
    conditions: Vec<String>,
    /// Procedures and functions that were made before: calls do not recurse.
    procedures: usize,
    functions: usize,
    /// A name's number.
    names: usize,
    /// Of its loops' counters: a function that is called in a loop has others.
    counters: usize,
    handlers: usize,
    /// Statements that may still be written.
    left: usize,
    /// The table that the statement under way changes: it is not read in a subquery (1093).
    changes: Option<&'static str>,
}

const EXPRESSIONS: usize = 14;

impl<'r> Body<'r> {
    pub(super) fn new(random: &'r mut Random, kind: Kind, procedures: usize, functions: usize) -> Body<'r> {
        let left = 8 + random.below(25);
        let counters = random.below(1 << 20);
        let (out, locals, labels, cursors, conditions) = Default::default();
        let (names, handlers) = (0, 0);
        Body {
            random,
            kind,
            out,
            locals,
            labels,
            cursors,
            conditions,
            procedures,
            functions,
            names,
            counters,
            handlers,
            left,
            changes: None,
        }
    }

    /// A parameter, or a column of NEW or OLD.
    pub(super) fn with(mut self, name: &str, text: bool) -> Body<'r> {
        self.locals.push(Local { name: name.into(), text });
        self
    }

    /// The text; `ending` is its last statement.
    pub(super) fn finish(mut self, ending: &str) -> String {
        self.block(0, ending);
        self.out
    }

    fn counter(&mut self) -> String {
        let prefix = format!("@i{}_", self.counters);
        self.name(&prefix)
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn local(&mut self, text: bool) -> Option<String> {
        let fitting: Vec<String> = self.locals.iter().filter(|l| l.text == text).map(|l| l.name.clone()).collect();
        (!fitting.is_empty()).then(|| self.random.pick(&fitting).clone())
    }

    /// A variable that may be assigned: what is of OLD may not be.
    fn target(&mut self, text: bool) -> Option<String> {
        let settable = |l: &&Local| l.text == text && !l.name.starts_with("OLD.") && !l.name.starts_with("NEW.");
        let fitting: Vec<String> = self.locals.iter().filter(settable).map(|l| l.name.clone()).collect();
        (!fitting.is_empty()).then(|| self.random.pick(&fitting).clone())
    }

    fn expression(&mut self, text: bool, depth: usize) -> String {
        if text { self.text(depth) } else { self.number(depth) }
    }

    fn number(&mut self, depth: usize) -> String {
        let n = self.random.below(if depth == 0 { 5 } else { EXPRESSIONS });
        match n {
            0 | 1 => one(self.random, &["0", "1", "2", "3", "7", "-1", "NULL", "10"]).into(),
            2..=4 => self.local(false).unwrap_or_else(|| "4".into()),
            5 => format!("({} + {})", self.number(depth - 1), self.number(depth - 1)),
            6 => format!("({} - {})", self.number(depth - 1), self.number(0)),
            7 => format!("IFNULL({}, {})", self.number(depth - 1), self.number(0)),
            8 => format!("({} % 7)", self.number(depth - 1)),
            9 => format!("IF({}, {}, {})", self.condition(depth - 1), self.number(depth - 1), self.number(0)),
            10 => format!("(SELECT COUNT(*) FROM {} WHERE {} < {})", self.read(), self.column(), self.number(0)),
            11 => format!("(SELECT MAX(a) FROM {} WHERE id <> {})", self.read(), self.number(0)),
            // The second gives a text: where that is no number, the assignment fails behind the function's changes.
            12 if self.functions > 0 => {
                let f = if self.functions > 2 && self.random.percent(50) { 2 } else { 0 };
                format!("f{f}({})", self.number(depth - 1))
            }
            12 => "CHAR_LENGTH('abc')".into(),
            _ => format!("CHAR_LENGTH({})", self.text(depth - 1)),
        }
    }

    fn text(&mut self, depth: usize) -> String {
        match self.random.below(if depth == 0 { 4 } else { 9 }) {
            0 | 1 => one(self.random, &["'a'", "'b'", "'xyz'", "''", "NULL", "'É'"]).into(),
            2 | 3 => self.local(true).unwrap_or_else(|| "'t'".into()),
            4 => format!("CONCAT({}, {})", self.text(depth - 1), self.text(0)),
            5 => format!("LEFT({}, {})", self.text(depth - 1), 1 + self.random.below(5)),
            6 => format!("UPPER({})", self.text(depth - 1)),
            7 => format!("CONCAT_WS('-', {}, {})", self.number(depth - 1), self.text(0)),
            _ => format!("(SELECT MIN(s) FROM {} WHERE a >= {})", self.read(), self.number(0)),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        match self.random.below(8) {
            0 => format!("{} IS NULL", self.number(depth)),
            1 => format!("{} = {}", self.text(depth), self.text(0)),
            2 => format!("EXISTS (SELECT 1 FROM {} WHERE a = {})", self.read(), self.number(0)),
            3 if depth > 0 => format!("({} OR {})", self.condition(depth - 1), self.condition(depth - 1)),
            4 if depth > 0 => format!("NOT ({})", self.condition(depth - 1)),
            _ => {
                let op = one(self.random, &["<", ">", "=", "<>", ">=", "<=>"]);
                format!("{} {op} {}", self.number(depth), self.number(0))
            }
        }
    }

    /// An expression, or a condition, that is evaluated for each row of a table: how often is open, so nothing that a
    /// function does may show.
    fn by_row(&mut self, make: impl FnOnce(&mut Self) -> String) -> String {
        let functions = std::mem::take(&mut self.functions);
        let text = make(self);
        self.functions = functions;
        text
    }

    fn column(&mut self) -> &'static str {
        one(self.random, &["a", "b", "id"])
    }

    fn read(&mut self) -> &'static str {
        match self.changes {
            Some("t0") => "t1",
            Some(_) => "t0",
            None => one(self.random, &["t0", "t1"]),
        }
    }

    /// A table that may be changed, if there is one.
    fn changed(&mut self) -> Option<&'static str> {
        match self.kind {
            Kind::Procedure => Some(self.read()),
            // A function may stand in a statement that reads or changes these.
            Kind::Function | Kind::Trigger { .. } => None,
        }
    }

    /// DECLAREs, then statements, then `ending`.
    fn block(&mut self, depth: usize, ending: &str) {
        let (locals, cursors, conditions, labels) =
            (self.locals.len(), self.cursors.len(), self.conditions.len(), self.labels.len());
        let label = (depth > 0 && self.random.percent(25)).then(|| self.name("blk"));
        if let Some(label) = &label {
            let _ = write!(self.out, "{label}: ");
            self.labels.push((label.clone(), false));
        }
        self.out.push_str("BEGIN ");
        self.declarations(depth);
        for _ in 0..1 + self.random.below(5) {
            self.statement(depth + 1);
        }
        let _ = write!(self.out, "{ending}END");
        if label.is_some() && self.random.percent(50) {
            let _ = write!(self.out, " {}", label.unwrap_or_default());
        }
        self.locals.truncate(locals);
        self.cursors.truncate(cursors);
        self.conditions.truncate(conditions);
        self.labels.truncate(labels);
    }

    fn declarations(&mut self, depth: usize) {
        for _ in 0..self.random.below(if depth == 0 { 4 } else { 3 }) {
            let text = self.random.percent(40);
            // Now and then a name that is there already.
            let name = match self.target(text) {
                Some(name) if depth > 0 && self.random.percent(15) => name,
                _ => self.name("v"),
            };
            let ty = if text { one(self.random, &["VARCHAR(20)", "CHAR(5)", "TEXT"]) } else { "INT" };
            let value =
                if self.random.percent(60) { format!(" DEFAULT {}", self.expression(text, 1)) } else { String::new() };
            let _ = write!(self.out, "DECLARE {name} {ty}{value}; ");
            self.locals.push(Local { name, text });
        }
        if self.random.percent(25) {
            let name = self.name("c");
            let what = one(self.random, &["1062", "SQLSTATE '45000'", "SQLSTATE '02000'", "1051", "SQLSTATE '01234'"]);
            let _ = write!(self.out, "DECLARE {name} CONDITION FOR {what}; ");
            self.conditions.push(name);
        }
        if self.random.percent(30) {
            let name = self.name("cur");
            let (table, filter) = (self.read(), self.by_row(|b| b.number(1)));
            let _ = write!(
                self.out,
                "DECLARE {name} CURSOR FOR SELECT a, s FROM {table} WHERE a <> {filter} ORDER BY id; "
            );
            self.cursors.push(name);
        }
        self.handlers(depth);
    }

    fn handlers(&mut self, depth: usize) {
        let mut taken: Vec<String> = Vec::new();
        for _ in 0..self.random.below(3) {
            let of = [
                "SQLEXCEPTION",
                "NOT FOUND",
                "1062",
                "SQLSTATE '23000'",
                "SQLSTATE '45000'",
                "1326",
                "SQLSTATE '22003'",
                "SQLWARNING",
                "1062, SQLSTATE '45000'",
                "SQLSTATE '02000', SQLWARNING",
            ];
            // A condition of this block, or of one around.
            let named = self.random.percent(20) && !self.conditions.is_empty();
            let what = if named { self.random.pick(&self.conditions).clone() } else { one(self.random, &of).into() };
            // No condition twice in a block, whatever it is called: a name may stand for any.
            if taken.iter().any(|t| named || t.split(", ").any(|t| what.contains(t)) || t.contains(&*what)) {
                continue;
            }
            taken.push(what.clone());
            let manner = one(self.random, &["CONTINUE", "EXIT"]);
            let _ = write!(self.out, "DECLARE {manner} HANDLER FOR {what} ");
            self.handlers += 1;
            // A handler's statements see the labels of no loop around.
            let labels = std::mem::take(&mut self.labels);
            match self.random.below(5) {
                0 if depth < 2 => self.block(depth + 2, ""),
                1 => {
                    let told = self.log();
                    let again = match self.random.below(4) {
                        0 => "RESIGNAL; ",
                        1 => "RESIGNAL SET MESSAGE_TEXT = 'again'; ",
                        2 => "RESIGNAL SQLSTATE '45001' SET MYSQL_ERRNO = 5001; ",
                        _ => "",
                    };
                    let _ = write!(self.out, "BEGIN {told}{again}END");
                }
                2 => {
                    let state = "GET DIAGNOSTICS CONDITION 1 @st = RETURNED_SQLSTATE, @no = MYSQL_ERRNO; ";
                    let told = "INSERT INTO log (txt) VALUES (CONCAT_WS('|', 'caught', @st, @no)); ";
                    let _ = write!(self.out, "BEGIN {state}{told}END");
                }
                _ => {
                    let (text, value) = (self.random.percent(40), self.random.below(9));
                    let set = match self.target(text) {
                        Some(name) if text => format!("SET {name} = '{value}'"),
                        Some(name) => format!("SET {name} = {value}"),
                        None => format!("SET @h = {value}"),
                    };
                    self.out.push_str(&set);
                }
            }
            self.labels = labels;
            self.out.push_str("; ");
            self.handlers -= 1;
        }
    }

    /// A statement that tells of some variables.
    fn log(&mut self) -> String {
        let mut values = vec![format!("'{}'", self.name("n"))];
        // Of functions that write to the log, too, it is open which others have run by then.
        let functions = std::mem::take(&mut self.functions);
        for _ in 0..1 + self.random.below(3) {
            let text = self.random.percent(30);
            values.push(format!("IFNULL({}, 'null')", self.expression(text, 1)));
        }
        self.functions = functions;
        format!("INSERT INTO log (txt) VALUES (LEFT(CONCAT_WS('|', {}), 90)); ", values.join(", "))
    }

    fn statement(&mut self, depth: usize) {
        if self.left == 0 {
            self.out.push_str("SET @left = 0; ");
            return;
        }
        self.left -= 1;
        let procedure = self.kind == Kind::Procedure;
        match self.random.below(25) {
            0..=3 => self.assignment(),
            4..=6 => {
                let log = self.log();
                self.out.push_str(&log);
            }
            7 | 8 if depth < 4 => self.branch(depth),
            9 | 10 if depth < 4 => self.repetition(depth),
            11 if depth < 4 => {
                self.block(depth, "");
                self.out.push_str("; ");
            }
            12 | 13 => self.change(),
            14 => self.select_into(),
            15 | 16 if depth < 4 && !self.cursors.is_empty() => self.cursor(),
            17 => self.signal(),
            18 => self.leave(),
            19 if self.procedures > 0 => {
                let (p, x) = (self.random.below(self.procedures), self.number(1));
                let (y, z) = (self.target(false), self.target(true));
                let y = y.unwrap_or_else(|| "@y".into());
                let z = z.unwrap_or_else(|| "@z".into());
                let _ = write!(self.out, "CALL p{p}({x}, {y}, {z}); ");
            }
            20 if procedure => {
                let (text, x) = (self.text(1), self.number(1));
                let _ = write!(self.out, "SELECT CONCAT_WS('|', 'row', {x}, {text}) AS r; ");
            }
            21 if procedure => {
                let (table, filter) = (self.read(), self.by_row(|b| b.condition(1)));
                let _ =
                    write!(self.out, "SELECT CONCAT_WS('|', id, a, s) AS r FROM {table} WHERE {filter} ORDER BY id; ");
            }
            22 if procedure => self.dynamic(),
            23 if procedure && self.handlers == 0 => {
                let words =
                    one(self.random, &["START TRANSACTION", "COMMIT", "ROLLBACK", "SAVEPOINT a", "ROLLBACK TO a"]);
                let _ = write!(self.out, "{words}; ");
            }
            _ => {
                let x = self.number(2);
                let _ = write!(self.out, "SET @u{} = {x}; ", self.random.below(3));
            }
        }
    }

    fn assignment(&mut self) {
        if let Kind::Trigger { sets_new: true, .. } = self.kind
            && self.random.percent(40)
        {
            let text = self.random.percent(50);
            let value = self.expression(text, 2);
            let _ = write!(self.out, "SET NEW.{} = {value}; ", if text { "s" } else { "a" });
            return;
        }
        let text = self.random.percent(40);
        let Some(name) = self.target(text) else {
            self.out.push_str("SET @none = 1; ");
            return;
        };
        let value = self.expression(text, 2);
        let _ = write!(self.out, "SET {name} = {value}; ");
    }

    fn branch(&mut self, depth: usize) {
        match self.random.below(3) {
            0 => {
                let first = self.condition(2);
                let _ = write!(self.out, "IF {first} THEN ");
                self.statement(depth + 1);
                if self.random.percent(40) {
                    let second = self.condition(1);
                    let _ = write!(self.out, "ELSEIF {second} THEN ");
                    self.statement(depth + 1);
                }
                if self.random.percent(50) {
                    self.out.push_str("ELSE ");
                    self.statement(depth + 1);
                }
                self.out.push_str("END IF; ");
            }
            kind => {
                let simple = kind == 1;
                let operand = if simple { format!(" {}", self.number(1)) } else { String::new() };
                let _ = write!(self.out, "CASE{operand} ");
                for _ in 0..1 + self.random.below(3) {
                    let when = if simple { self.number(0) } else { self.condition(1) };
                    let _ = write!(self.out, "WHEN {when} THEN ");
                    self.statement(depth + 1);
                }
                // Without ELSE error 1339 is there to be caught.
                if self.random.percent(80) {
                    self.out.push_str("ELSE ");
                    self.statement(depth + 1);
                }
                self.out.push_str("END CASE; ");
            }
        }
    }

    /// A loop that ends: it counts in a user variable of its own, first thing in a round.
    fn repetition(&mut self, depth: usize) {
        let (label, count, most) = (self.name("l"), self.counter(), 1 + self.random.below(4));
        let _ = write!(self.out, "SET {count} = 0; ");
        self.labels.push((label.clone(), true));
        let (begin, end) = match self.random.below(3) {
            0 => (format!("{label}: WHILE {count} < {most} DO SET {count} = {count} + 1; "), "END WHILE".to_owned()),
            1 => {
                let begin = format!("{label}: REPEAT SET {count} = {count} + 1; ");
                // ITERATE goes to the begin, not to the condition.
                let begin = format!("{begin}IF {count} > {most} THEN LEAVE {label}; END IF; ");
                (begin, format!("UNTIL {count} >= {most} OR {} END REPEAT", self.condition(1)))
            }
            _ => {
                let begin = format!("{label}: LOOP SET {count} = {count} + 1; ");
                (format!("{begin}IF {count} > {most} THEN LEAVE {label}; END IF; "), "END LOOP".to_owned())
            }
        };
        self.out.push_str(&begin);
        for _ in 0..1 + self.random.below(3) {
            self.statement(depth + 1);
        }
        self.labels.pop();
        let _ = write!(self.out, "{end}; ");
    }

    fn leave(&mut self) {
        let Some((label, iterates)) = (!self.labels.is_empty()).then(|| self.random.pick(&self.labels).clone()) else {
            self.out.push_str("SET @no_label = 1; ");
            return;
        };
        let word = if iterates && self.random.percent(50) { "ITERATE" } else { "LEAVE" };
        let condition = self.condition(1);
        let _ = write!(self.out, "IF {condition} THEN {word} {label}; END IF; ");
    }

    fn change(&mut self) {
        let Some(table) = self.changed() else {
            let log = self.log();
            self.out.push_str(&log);
            return;
        };
        self.changes = Some(table);
        let (x, filter) = (self.number(1), self.by_row(|b| b.condition(1)));
        let text = match self.random.below(7) {
            0 | 1 => {
                format!("INSERT INTO {table} (id, a, s) VALUES ({}, {x}, {})", self.random.below(12), self.text(1))
            }
            2 => format!("UPDATE {table} SET a = {x} WHERE {filter}"),
            3 => {
                let id = self.by_row(|b| b.number(1));
                format!("UPDATE {table} SET s = {}, b = b + 1 WHERE id = {id}", self.text(1))
            }
            4 => format!("DELETE FROM {table} WHERE id = {}", self.by_row(|b| b.number(1))),
            5 => format!("REPLACE INTO {table} (id, a) VALUES ({}, {x})", self.random.below(12)),
            _ => {
                let id = self.random.below(12);
                format!("INSERT INTO {table} (id, a) VALUES ({id}, {x}) ON DUPLICATE KEY UPDATE a = {}", self.number(1))
            }
        };
        self.changes = None;
        let _ = write!(self.out, "{text}; ");
        if self.random.percent(20) {
            self.out.push_str("GET DIAGNOSTICS @rc = ROW_COUNT; INSERT INTO log (txt) VALUES (CONCAT('rc', @rc)); ");
        }
    }

    fn select_into(&mut self) {
        let table = self.read();
        let x = self.by_row(|b| b.number(1));
        let (a, s) = (self.target(false), self.target(true));
        let (a, s) = (a.unwrap_or_else(|| "@a".into()), s.unwrap_or_else(|| "@s".into()));
        // No row is warning 1329, several are error 1172.
        let filter = match self.random.below(4) {
            0 => format!("a = {x}"),
            1 => format!("id = {x} LIMIT 1"),
            _ => format!("id = {}", self.random.below(12)),
        };
        let _ = write!(self.out, "SELECT a, s INTO {a}, {s} FROM {table} WHERE {filter}; ");
    }

    fn cursor(&mut self) {
        let cursor = self.random.pick(&self.cursors).clone();
        let (a, s) = (self.target(false), self.target(true));
        let (Some(a), Some(s)) = (a, s) else {
            let _ = write!(self.out, "OPEN {cursor}; ");
            return;
        };
        let fetch = format!("FETCH {cursor} INTO {a}, {s}; ");
        match self.random.below(5) {
            0 => self.out.push_str(&fetch),
            1 => {
                let _ = write!(self.out, "CLOSE {cursor}; ");
            }
            _ => {
                let (label, count) = (self.name("l"), self.counter());
                let log = self.log();
                let _ = write!(
                    self.out,
                    "SET {count} = 0; OPEN {cursor}; {label}: LOOP SET {count} = {count} + 1; IF {count} > 6 THEN \
                     LEAVE {label}; END IF; {fetch}{log}END LOOP; CLOSE {cursor}; "
                );
            }
        }
    }

    fn signal(&mut self) {
        let condition = self.condition(1);
        let what = match self.random.below(5) {
            0 if !self.conditions.is_empty() => self.random.pick(&self.conditions).clone(),
            1 => "SQLSTATE '02000'".into(),
            2 => "SQLSTATE '45000' SET MYSQL_ERRNO = 1062, MESSAGE_TEXT = 'as if'".into(),
            3 => one(self.random, &["SQLSTATE '23000'", "SQLSTATE '01234'", "SQLSTATE '01000' SET MYSQL_ERRNO = 1642"])
                .into(),
            _ => "SQLSTATE '45000' SET MESSAGE_TEXT = 'own'".into(),
        };
        let _ = write!(self.out, "IF {condition} THEN SIGNAL {what}; END IF; ");
    }

    fn dynamic(&mut self) {
        let x = self.number(1);
        let text = match self.random.below(3) {
            0 => {
                format!("SET @d = {x}; PREPARE s FROM 'SELECT CONCAT(''d'', IFNULL(?, 0)) AS r'; EXECUTE s USING @d; ")
            }
            1 => format!(
                "SET @d = {x}; PREPARE s FROM 'INSERT INTO log (txt) VALUES (CONCAT(''d'', ?))'; EXECUTE s USING @d; DEALLOCATE PREPARE s; "
            ),
            _ => "PREPARE s FROM 'SELECT * FROM missing'; ".to_owned(),
        };
        self.out.push_str(&text);
    }
}
