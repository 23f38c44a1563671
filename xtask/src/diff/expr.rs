//! Random expressions.

use super::Random;
use super::generate::{Column, KINDS, Kind, Schema, Table, literal};
use std::rc::Rc;

/// An expression: text with places for its operands.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: Kind,
    /// Operands stand between the parts: one more part than operands.
    parts: Vec<String>,
    args: Vec<Expr>,
}

impl Expr {
    pub(crate) fn leaf(kind: Kind, text: impl Into<String>) -> Expr {
        Expr { kind, parts: vec![text.into()], args: Vec::new() }
    }

    /// `form` with `?` for each operand.
    pub(crate) fn form(kind: Kind, form: &str, args: Vec<Expr>) -> Expr {
        let parts: Vec<String> = form.split('?').map(str::to_owned).collect();
        assert_eq!(parts.len(), args.len() + 1, "{form}");
        Expr { kind, parts, args }
    }

    /// With ` OVER (...)` behind it.
    pub(crate) fn over(mut self, over: &str, operands: Vec<Expr>) -> Expr {
        self.args.extend(operands);
        Expr::form(self.kind, &format!("{} OVER ({over})", self.parts.join("?")), self.args)
    }

    pub(crate) fn text(&self) -> String {
        let mut out = self.parts[0].clone();
        for (arg, part) in self.args.iter().zip(&self.parts[1..]) {
            out.push_str(&arg.text());
            out.push_str(part);
        }
        out
    }

    pub(crate) fn operands(&self) -> &[Expr] {
        &self.args
    }

    pub(crate) fn is_leaf(&self) -> bool {
        self.args.is_empty()
    }

    pub(crate) fn any(&self, f: &impl Fn(&str) -> bool) -> bool {
        self.parts.iter().any(|p| f(p)) || self.args.iter().any(|a| a.any(f))
    }

    /// With 30 decimals for each quotient that is compared: MariaDB rounds one to the digits of its type before.
    pub(crate) fn widened(&self) -> Expr {
        let operators =
            [" = ", " < ", " <> ", " >= ", " <=> ", " > ", " <= ", " BETWEEN ", " IN (", " ANY ", " ALL ", " WHEN "];
        let functions = ["GREATEST(", "LEAST(", "NULLIF(", "CASE "];
        let compares = self.parts.iter().any(|p| operators.iter().any(|o| p.contains(o)))
            || functions.iter().any(|f| self.parts[0].starts_with(f));
        let widen = |arg: &Expr| {
            let number = matches!(arg.kind, Kind::Int | Kind::Decimal);
            let (text, arg) = (arg.text(), arg.widened());
            if compares && number && (text.contains(" / ") || text.contains("AVG(")) {
                Expr::form(Kind::Decimal, "(? + 0.000000000000000000000000000000)", vec![arg])
            } else {
                arg
            }
        };
        Expr { kind: self.kind, parts: self.parts.clone(), args: self.args.iter().map(widen).collect() }
    }

    /// With numbers of rows signed, which they are to MariaDB.
    pub(crate) fn signed(&self) -> Expr {
        let args = self.args.iter().map(Expr::signed).collect();
        let copy = Expr { kind: self.kind, parts: self.parts.clone(), args };
        let ranks = ["ROW_NUMBER() OVER", "RANK() OVER", "DENSE_RANK() OVER", "NTILE("];
        if ranks.iter().any(|r| copy.parts[0].starts_with(r)) {
            Expr::form(self.kind, "CAST(? AS SIGNED)", vec![copy])
        } else {
            copy
        }
    }

    /// With INTERVAL(), which is never NULL, in COALESCE: MariaDB takes it for NULL when its first argument is.
    pub(crate) fn guarded(&self) -> Expr {
        let args = self.args.iter().map(Expr::guarded).collect();
        let copy = Expr { kind: self.kind, parts: self.parts.clone(), args };
        if copy.parts[0].starts_with("INTERVAL(") { Expr::form(self.kind, "COALESCE(?, 0)", vec![copy]) } else { copy }
    }

    /// With a subquery on the left of ALL, ANY and IN in COALESCE: MariaDB takes its NULL for true there when the right
    /// one is correlated.
    pub(crate) fn settled(&self) -> Expr {
        let mut args: Vec<Expr> = self.args.iter().map(Expr::settled).collect();
        let right = self
            .parts
            .get(1)
            .is_some_and(|p| [" ALL (SELECT", " ANY (SELECT", " IN (SELECT"].iter().any(|o| p.contains(o)));
        if right && args[0].parts[0].starts_with("(SELECT") {
            let left = args.remove(0);
            args.insert(0, Expr::form(left.kind, "COALESCE(?, NULL)", vec![left]));
        }
        Expr { kind: self.kind, parts: self.parts.clone(), args }
    }

    /// With the place of an empty text right behind one character said: MariaDB compares the position with the length
    /// in bytes before it counts from 0, and finds none behind a text without longer characters.
    pub(crate) fn located(&self) -> Expr {
        let args: Vec<Expr> = self.args.iter().map(Expr::located).collect();
        if self.parts[0] == "LOCATE(" && self.parts.last().is_some_and(|p| p == ", 2)") {
            let [what, text] = [&args[0], &args[1]].map(Expr::clone);
            let all = vec![what.clone(), text.clone(), text.clone(), what, text];
            let form = "IF(LENGTH(?) = 0 AND CHAR_LENGTH(?) = 1, LENGTH(?) + 1, LOCATE(?, ?, 2))";
            Expr::form(self.kind, form, all)
        } else {
            Expr { kind: self.kind, parts: self.parts.clone(), args }
        }
    }

    /// With the texts that have numbers of their own, and are read by MariaDB: names of days and months, and what IF
    /// and NULLIF choose, where it is a member of an ENUM or SET, or a date that was computed.
    pub(crate) fn as_read(&self) -> Expr {
        let args = self.args.iter().map(Expr::as_read).collect();
        let copy = Expr { kind: self.kind, parts: self.parts.clone(), args };
        let own = ["DAYNAME(", "MONTHNAME(", "IF(", "NULLIF("];
        if self.kind == Kind::Text && own.iter().any(|o| copy.parts[0].starts_with(o)) {
            Expr::form(self.kind, "CONCAT(?)", vec![copy])
        } else {
            copy
        }
    }

    /// Expressions with something left out.
    pub(crate) fn smaller(&self) -> Vec<Expr> {
        if self.is_leaf() {
            return Vec::new();
        }
        let mut out: Vec<Expr> = self.args.to_vec();
        if !self.text().contains("(SELECT") {
            out.push(Expr::leaf(self.kind, "NULL"));
        }
        out.extend(self.smaller_operands());
        out
    }

    /// As [`smaller`](Self::smaller), in the same form.
    pub(crate) fn smaller_operands(&self) -> Vec<Expr> {
        let mut out = Vec::new();
        for (i, arg) in self.args.iter().enumerate() {
            for small in arg.smaller() {
                let mut copy = self.clone();
                copy.args[i] = small;
                out.push(copy);
            }
        }
        out
    }
}

/// Functions and operators: `?` is an operand of the kind listed, `#` a small number, `~` a unit of time.
const FORMS: &[(Kind, &str, &[Kind])] = {
    use Kind::*;
    &[
        (Int, "(? + ?)", &[Int, Int]),
        (Int, "(? - ?)", &[Int, Int]),
        (Int, "(? * ?)", &[Int, Int]),
        (Int, "(? % ?)", &[Int, Int]),
        (Int, "(? DIV ?)", &[Int, Int]),
        (Int, "(? DIV ?)", &[Decimal, Int]),
        (Int, "(- ?)", &[Int]),
        (Int, "(? & ?)", &[Int, Int]),
        (Int, "(? | ?)", &[Int, Int]),
        (Int, "(? ^ ?)", &[Int, Int]),
        (Int, "(? << #)", &[Int]),
        (Int, "(? >> #)", &[Int]),
        (Int, "(~? & 1023)", &[Int]),
        (Int, "(BIT_COUNT(?) % 10)", &[Int]),
        (Int, "LENGTH(?)", &[Text]),
        (Int, "CHAR_LENGTH(?)", &[Text]),
        (Int, "BIT_LENGTH(?)", &[Text]),
        (Int, "ASCII(?)", &[Text]),
        (Int, "ORD(?)", &[Text]),
        (Int, "CRC32(?)", &[Text]),
        (Int, "LOCATE(?, ?)", &[Text, Text]),
        // MariaDB does not find the empty text at the beginning of an empty one.
        (Int, "LOCATE(?, ?, 2)", &[Text, Text]),
        (Int, "INSTR(?, ?)", &[Text, Text]),
        (Int, "FIELD(?, ?, ?)", &[Text, Text, Text]),
        (Int, "FIELD(?, ?, ?)", &[Int, Int, Int]),
        (Int, "FIND_IN_SET(?, 'a,b,abc')", &[Text]),
        (Int, "STRCMP(?, ?)", &[Text, Text]),
        (Int, "COERCIBILITY(?)", &[Text]),
        (Int, "YEAR(?)", &[Date]),
        (Int, "MONTH(?)", &[DateTime]),
        (Int, "DAYOFMONTH(?)", &[Date]),
        (Int, "TO_DAYS(?)", &[Date]),
        (Int, "TO_SECONDS(?)", &[DateTime]),
        (Int, "WEEKDAY(?)", &[Date]),
        (Int, "DAYOFWEEK(?)", &[Date]),
        (Int, "DAYOFYEAR(?)", &[Date]),
        (Int, "QUARTER(?)", &[Date]),
        (Int, "WEEK(?, #)", &[Date]),
        (Int, "WEEKOFYEAR(?)", &[Date]),
        (Int, "YEARWEEK(?)", &[Date]),
        (Int, "DATEDIFF(?, ?)", &[Date, DateTime]),
        (Int, "HOUR(?)", &[Time]),
        (Int, "MINUTE(?)", &[DateTime]),
        (Int, "SECOND(?)", &[Time]),
        (Int, "MICROSECOND(?)", &[DateTime]),
        (Int, "CAST(TRUNCATE(TIME_TO_SEC(?), 0) AS SIGNED)", &[Time]),
        (Int, "EXTRACT(~ FROM ?)", &[DateTime]),
        (Int, "EXTRACT(DAY_MINUTE FROM ?)", &[DateTime]),
        (Int, "TIMESTAMPDIFF(~, ?, ?)", &[DateTime, DateTime]),
        (Int, "TIMESTAMPDIFF(~, ?, ?)", &[Date, Date]),
        (Int, "ABS(?)", &[Int]),
        (Int, "SIGN(?)", &[Int]),
        (Int, "GREATEST(?, ?)", &[Int, Int]),
        (Int, "LEAST(?, ?, ?)", &[Int, Int, Int]),
        (Int, "INTERVAL(?, 1, 3, 7)", &[Int]),
        (Int, "CAST(? AS SIGNED)", &[Decimal]),
        (Int, "CAST(? AS UNSIGNED)", &[Int]),
        (Int, "CAST(? AS SIGNED)", &[Time]),
        (Int, "JSON_LENGTH(?)", &[Json]),
        (Int, "JSON_VALID(?)", &[Json]),
        (Int, "JSON_DEPTH(?)", &[Json]),
        (Int, "JSON_CONTAINS(?, '1')", &[Json]),
        (Int, "JSON_CONTAINS_PATH(?, 'one', '$.a')", &[Json]),
        (Decimal, "(? + ?)", &[Decimal, Decimal]),
        (Decimal, "(? - ?)", &[Decimal, Int]),
        (Decimal, "(? + ?)", &[Int, Decimal]),
        (Decimal, "(? * ?)", &[Decimal, Int]),
        (Decimal, "(? / ?)", &[Int, Int]),
        (Decimal, "(? / ?)", &[Decimal, Int]),
        // MariaDB keeps the sign of a remainder of 0.
        (Decimal, "((? % ?) + 0)", &[Decimal, Int]),
        (Decimal, "(- ?)", &[Decimal]),
        (Decimal, "ABS(?)", &[Decimal]),
        (Decimal, "FLOOR(?)", &[Decimal]),
        (Decimal, "CEILING(?)", &[Decimal]),
        (Decimal, "ROUND(?)", &[Decimal]),
        (Decimal, "ROUND(?, #)", &[Decimal]),
        (Decimal, "TRUNCATE(?, #)", &[Decimal]),
        (Decimal, "GREATEST(?, ?)", &[Decimal, Int]),
        (Decimal, "LEAST(?, ?)", &[Decimal, Decimal]),
        (Decimal, "CAST(? AS DECIMAL(12,3))", &[Int]),
        (Decimal, "CAST(? AS DECIMAL(65,10))", &[Decimal]),
        (Decimal, "CAST(? AS DECIMAL(20,2))", &[Double]),
        (Decimal, "CAST(? AS DECIMAL(10,2))", &[Text]),
        (Double, "(? + ?)", &[Double, Int]),
        (Double, "(? * ?)", &[Double, Decimal]),
        (Double, "(? - ?)", &[Double, Double]),
        (Double, "(? / ?)", &[Double, Int]),
        (Double, "(- ?)", &[Double]),
        (Double, "SQRT(?)", &[Int]),
        (Double, "POW(?, 2)", &[Int]),
        (Double, "LN(?)", &[Int]),
        (Double, "LOG2(?)", &[Decimal]),
        (Double, "SIN(?)", &[Int]),
        (Double, "ATAN(?)", &[Int]),
        (Double, "DEGREES(?)", &[Int]),
        (Double, "ABS(?)", &[Double]),
        // Of fixed decimals: MariaDB cuts products of them at 18 digits in temporary tables.
        (Double, "(FLOOR(? % 1000) + 0e0)", &[Double]),
        (Double, "(ROUND(? % 1000) + 0e0)", &[Double]),
        (Double, "(? + 0e0)", &[Text]),
        (Text, "CONCAT(?, ?)", &[Text, Text]),
        (Text, "CONCAT(?, ?, ?)", &[Text, Int, Text]),
        (Text, "CONCAT(?)", &[Decimal]),
        (Text, "CONCAT(?)", &[DateTime]),
        (Text, "CONCAT_WS('-', ?, ?)", &[Text, Text]),
        (Text, "CONCAT_WS(?, ?, ?)", &[Text, Text, Date]),
        (Text, "UPPER(?)", &[Text]),
        (Text, "LOWER(?)", &[Text]),
        (Text, "SUBSTRING(?, ?, 2)", &[Text, Int]),
        (Text, "SUBSTRING(?, #)", &[Text]),
        (Text, "LEFT(?, 2)", &[Text]),
        (Text, "RIGHT(?, #)", &[Text]),
        (Text, "REPLACE(?, 'a', 'bb')", &[Text]),
        (Text, "TRIM(?)", &[Text]),
        (Text, "TRIM(LEADING 'a' FROM ?)", &[Text]),
        (Text, "RTRIM(?)", &[Text]),
        (Text, "REVERSE(?)", &[Text]),
        (Text, "LPAD(?, #, 'ab')", &[Text]),
        (Text, "RPAD(?, #, 'xy')", &[Text]),
        (Text, "REPEAT(?, #)", &[Text]),
        (Text, "INSERT(?, #, 1, ?)", &[Text, Text]),
        (Text, "SUBSTRING_INDEX(?, 'b', 1)", &[Text]),
        (Text, "ELT(#, ?, ?)", &[Text, Text]),
        (Text, "QUOTE(?)", &[Text]),
        (Text, "HEX(?)", &[Text]),
        (Text, "HEX(?)", &[Int]),
        // Bytes that are no text stay bytes to MySQL where texts are chosen from; MariaDB converts them.
        (Text, "HEX(UNHEX(HEX(?)))", &[Text]),
        (Text, "BIN(?)", &[Int]),
        (Text, "CONV(?, 10, 7)", &[Int]),
        (Text, "MD5(?)", &[Text]),
        (Text, "TO_BASE64(?)", &[Text]),
        (Text, "FORMAT(?, #)", &[Decimal]),
        (Text, "CAST(? AS CHAR)", &[Int]),
        (Text, "CAST(? AS CHAR(3))", &[Text]),
        (Text, "CAST(? AS CHAR)", &[Time]),
        (Text, "CAST(? AS BINARY)", &[Text]),
        (Text, "CONVERT(? USING latin1)", &[Text]),
        (Text, "(CONVERT(? USING utf8mb4) COLLATE utf8mb4_bin)", &[Text]),
        (Text, "(CONVERT(? USING utf8mb4) COLLATE utf8mb4_unicode_ci)", &[Text]),
        (Text, "DATE_FORMAT(?, '%Y-%m-%d %H:%i:%s.%f %j %W %b %e')", &[DateTime]),
        (Text, "DATE_FORMAT(?, '%y %c %u %v %x %D %p %r')", &[Date]),
        (Text, "TIME_FORMAT(?, '%H %h %i %s %p')", &[Time]),
        (Text, "DAYNAME(?)", &[Date]),
        (Text, "MONTHNAME(?)", &[Date]),
        (Text, "JSON_UNQUOTE(JSON_EXTRACT(?, '$.a'))", &[Json]),
        // MariaDB's CONCAT writes over the name of the type.
        (Text, "CONCAT('', JSON_TYPE(?))", &[Json]),
        (Date, "LAST_DAY(?)", &[Date]),
        (Date, "DATE(?)", &[DateTime]),
        (Date, "CAST(? AS DATE)", &[DateTime]),
        (Date, "(? - INTERVAL # ~)", &[Date]),
        (Date, "(? + INTERVAL # MONTH)", &[Date]),
        (Date, "(? + INTERVAL ? DAY)", &[Date, Int]),
        (Date, "MAKEDATE(2021, ?)", &[Int]),
        (Date, "FROM_DAYS(738000 + #)", &[]),
        (Date, "ADDDATE(?, #)", &[Date]),
        (Date, "STR_TO_DATE('#,1,2021', '%c,%e,%Y')", &[]),
        (Date, "GREATEST(?, ?)", &[Date, Date]),
        (DateTime, "CAST(? AS DATETIME)", &[DateTime]),
        (DateTime, "CAST(? AS DATETIME(2))", &[Date]),
        (DateTime, "(? - INTERVAL # ~)", &[DateTime]),
        (DateTime, "(? + INTERVAL # HOUR)", &[DateTime]),
        (DateTime, "(? + INTERVAL '1:2:3' HOUR_SECOND)", &[DateTime]),
        (DateTime, "(? + INTERVAL '1-2' YEAR_MONTH)", &[DateTime]),
        (DateTime, "(? + INTERVAL ? SECOND)", &[DateTime, Int]),
        (DateTime, "TIMESTAMP(?, CAST(? AS TIME))", &[Date, Time]),
        (DateTime, "TIMESTAMPADD(MINUTE, ?, ?)", &[Int, DateTime]),
        (DateTime, "FROM_UNIXTIME(1600000000 + #)", &[]),
        (DateTime, "ADDTIME(?, TIME'11:10:20')", &[DateTime]),
        (DateTime, "LEAST(?, ?)", &[DateTime, DateTime]),
        (Time, "SEC_TO_TIME(CAST(TRUNCATE(TIME_TO_SEC(?), 0) AS SIGNED))", &[Time]),
        (Time, "SEC_TO_TIME(?)", &[Int]),
        (Time, "CAST(? AS TIME)", &[Time]),
        (Time, "TIME(?)", &[DateTime]),
        (Time, "TIMEDIFF(?, TIME'-03:10:20')", &[Time]),
        (Time, "SUBTIME(?, TIME'01:10:20')", &[Time]),
        (Time, "MAKETIME(#, #, #)", &[]),
        (Time, "(? + INTERVAL # MINUTE)", &[Time]),
    ]
};

/// A maker of expressions over the tables in scope.
pub(crate) struct Maker<'s, 'r> {
    pub(crate) schema: &'s Schema,
    pub(crate) random: &'r mut Random,
    /// Aliases and tables.
    pub(crate) scope: Vec<(String, Rc<Table>)>,
    /// Numbers subqueries, for their aliases.
    pub(crate) depth: usize,
    /// Operands of other kinds now and then, which are converted: not in changes, where that is an error.
    pub(crate) mixes: bool,
    /// Comparisons of rows: MariaDB takes them for never true when an outer join makes one of their values NULL.
    pub(crate) rows: bool,
}

impl<'s, 'r> Maker<'s, 'r> {
    pub(crate) fn new(schema: &'s Schema, random: &'r mut Random) -> Self {
        Maker { schema, random, scope: Vec::new(), depth: 0, mixes: false, rows: false }
    }

    pub(crate) fn kind(&mut self) -> Kind {
        *self.random.pick(&KINDS)
    }

    pub(crate) fn column(&mut self, kind: Kind) -> Option<Expr> {
        self.column_of(&|c| c.kind == kind)
    }

    fn column_of(&mut self, wanted: &dyn Fn(&Column) -> bool) -> Option<Expr> {
        let mut all = Vec::new();
        for (alias, table) in &self.scope {
            all.extend(table.columns.iter().filter(|c| wanted(c)).map(|c| (c.kind, c.value(alias))));
        }
        if all.is_empty() {
            return None;
        }
        let (kind, name) = self.random.pick(&all).clone();
        Some(Expr::leaf(kind, name))
    }

    pub(crate) fn any_column(&mut self) -> Expr {
        self.column_of(&|c| c.kind != Kind::Json).unwrap_or_else(|| Expr::leaf(Kind::Int, "1"))
    }

    /// A column whose equal values look the same.
    pub(crate) fn plain_column(&mut self) -> Expr {
        let plain = self.column_of(&|c| !matches!(c.kind, Kind::Json | Kind::Text));
        plain.unwrap_or_else(|| Expr::leaf(Kind::Int, "1"))
    }

    pub(crate) fn number(&mut self) -> Option<Expr> {
        self.column_of(&Column::is_number)
    }

    pub(crate) fn expr(&mut self, kind: Kind, depth: usize) -> Expr {
        if depth == 0 || self.random.percent(35) {
            // Texts that are no dates: MySQL makes NULL of them, MariaDB a zero date.
            let mixing = [Kind::Int, Kind::Decimal, Kind::Double, Kind::Text];
            let other = self.mixes && mixing.contains(&kind) && self.random.percent(4);
            let of = if other { *self.random.pick(&mixing) } else { kind };
            let column = match self.random.percent(75) {
                // Members of ENUM and SET are no numbers to a subquery of MariaDB.
                true if other => self.column_of(&|c| c.kind == of && !c.is_member()),
                true => self.column(of),
                false => None,
            };
            return match column {
                Some(column) => Expr { kind, ..column },
                None if self.random.percent(6) => Expr::leaf(kind, "NULL"),
                None => self.constant(kind),
            };
        }
        let d = depth - 1;
        match self.random.below(100) {
            0..=19 => self.choice(kind, d),
            20..=23 if self.depth < 2 && kind != Kind::Text && kind != Kind::Json => self.scalar(kind),
            24..=33 if kind == Kind::Int => self.condition(d),
            _ => self.call(kind, d),
        }
    }

    fn call(&mut self, kind: Kind, d: usize) -> Expr {
        let forms: Vec<_> = FORMS.iter().filter(|(k, ..)| *k == kind).collect();
        if forms.is_empty() {
            return self.expr(kind, 0);
        }
        let (_, form, kinds) = *self.random.pick(&forms);
        // FIELD of NULL is 0: MariaDB takes it for NULL when an outer join makes it.
        if form.starts_with("FIELD") && !self.rows {
            return self.expr(kind, 0);
        }
        // Texts among numbers: MySQL compares them as texts, MariaDB as numbers.
        let mixes = self.mixes;
        // A DECIMAL beyond 64 bits is the greatest signed number to MySQL, the greatest unsigned one to MariaDB.
        let bits = ["& ?", "| ?", "^ ?", "<< #", ">> #", "(~?", "BIT_COUNT"].iter().any(|op| form.contains(op));
        // One below BIGINT is the least number to MySQL, 0 to MariaDB.
        let bits = bits || form.contains("AS UNSIGNED");
        // Less than a millionth of a second keeps its sign in MariaDB.
        self.mixes &= !form.starts_with(['G', 'L']) && !bits && *form != "SEC_TO_TIME(?)";
        // MariaDB loses the sign of a TIME that a function gave.
        let d = if *form == "CAST(? AS SIGNED)" && **kinds == [Kind::Time] { 0 } else { d };
        let args = kinds.iter().map(|k| self.expr(*k, d)).collect();
        self.mixes = mixes;
        let mut text = String::new();
        for c in form.chars() {
            match c {
                '#' => text += &self.random.below(6).to_string(),
                '~' if !form.starts_with("(~") => {
                    text += self.random.pick::<&str>(&["DAY", "MONTH", "YEAR", "WEEK", "QUARTER"]);
                }
                c => text.push(c),
            }
        }
        Expr::form(kind, &text, args)
    }

    pub(crate) fn constant(&mut self, kind: Kind) -> Expr {
        let text = literal(kind, self.random);
        let text = match kind {
            Kind::Date => format!("DATE{text}"),
            Kind::DateTime => format!("TIMESTAMP{text}"),
            Kind::Time => format!("TIME{text}"),
            _ => text,
        };
        Expr::leaf(kind, text)
    }

    /// Forms that exist for every kind.
    fn choice(&mut self, kind: Kind, d: usize) -> Expr {
        let (a, b) = (self.expr(kind, d), self.expr(kind, d));
        match self.random.below(6) {
            0 => Expr::form(kind, "COALESCE(?, ?)", vec![a, b]),
            1 => Expr::form(kind, "IFNULL(?, ?)", vec![a, b]),
            2 if kind != Kind::Json => Expr::form(kind, "NULLIF(?, ?)", vec![a, b]),
            3 => {
                let c = self.condition(d);
                Expr::form(kind, "IF(?, ?, ?)", vec![c, a, b])
            }
            4 if kind != Kind::Json => {
                let (x, y) = (self.expr(kind, 0), self.expr(kind, 0));
                Expr::form(kind, "CASE ? WHEN ? THEN ? ELSE ? END", vec![x, y, a, b])
            }
            _ => {
                let c = self.condition(d);
                Expr::form(kind, "CASE WHEN ? THEN ? ELSE ? END", vec![c, a, b])
            }
        }
    }

    /// A scalar subquery.
    fn scalar(&mut self, kind: Kind) -> Expr {
        let (table, alias, filter, item) = self.inner(kind);
        let from = format!("FROM {} {alias} WHERE", table.name);
        match self.random.below(3) {
            0 => Expr::form(kind, &format!("(SELECT MAX(?) {from} ?)"), vec![item, filter]),
            1 => Expr::form(kind, &format!("(SELECT ? {from} ? ORDER BY {alias}.id LIMIT 1)"), vec![item, filter]),
            _ => {
                let id = self.random.below(12);
                Expr::form(kind, &format!("(SELECT ? {from} {alias}.id = {id})"), vec![item])
            }
        }
    }

    /// A table of a subquery with its alias, a condition, often correlated, and an item of a kind.
    fn inner(&mut self, kind: Kind) -> (Rc<Table>, String, Expr, Expr) {
        let table = self.schema.table(self.random);
        let alias = format!("s{}", self.depth);
        self.depth += 1;
        let outer = self.scope.clone();
        if self.random.percent(50) {
            self.scope.clear();
        }
        self.scope.push((alias.clone(), table.clone()));
        let filter = self.condition(1);
        self.scope = vec![(alias.clone(), table.clone())];
        // The type of the greatest NULL is text or nothing.
        let item = Some(self.expr(kind, 0)).filter(|item| item.text() != "NULL");
        let item = item.unwrap_or_else(|| self.constant(kind));
        self.scope = outer;
        self.depth -= 1;
        (table, alias, filter, item)
    }

    /// A truth value.
    pub(crate) fn condition(&mut self, depth: usize) -> Expr {
        let k = Kind::Int;
        let d = depth.saturating_sub(1);
        if depth > 0 && self.random.percent(35) {
            let form = *self.random.pick(&["(? AND ?)", "(? OR ?)", "(? AND ?)", "(? XOR ?)", "(NOT ?)"]);
            let first = self.condition(d);
            return match form {
                "(NOT ?)" => Expr::form(k, form, vec![first]),
                form => {
                    let second = self.condition(d);
                    Expr::form(k, form, vec![first, second])
                }
            };
        }
        let kind = self.kind();
        // Numbers are compared across kinds.
        let other = match kind {
            // Not in changes: MariaDB rounds a number that it looks for in an index.
            Kind::Int | Kind::Decimal | Kind::Double if self.mixes => {
                *self.random.pick(&[Kind::Int, Kind::Decimal, Kind::Double])
            }
            Kind::Date | Kind::DateTime => *self.random.pick(&[Kind::Date, Kind::DateTime]),
            kind => kind,
        };
        let a = self.expr(kind, d);
        match self.random.below(16) {
            0..=5 => {
                let form = *self.random.pick(&["(? = ?)", "(? < ?)", "(? <> ?)", "(? >= ?)", "(? <=> ?)", "(? > ?)"]);
                Expr::form(k, form, vec![a, self.expr(other, d)])
            }
            6 => {
                let forms = ["(? IS NULL)", "(? IS NOT NULL)", "((? IS NULL) IS TRUE)", "((? IS NULL) IS NOT FALSE)"];
                Expr::form(k, self.random.pick::<&str>(&forms), vec![a])
            }
            7 => {
                let form = self.random.pick::<&str>(&["(? BETWEEN ? AND ?)", "(? NOT BETWEEN ? AND ?)"]);
                let (low, high) = (self.expr(other, d), self.expr(other, d));
                let constants = [&low, &high].iter().all(|e| !e.any(&|p: &str| p.contains(".c") || p.contains(".id")));
                let a = if constants { a } else { self.plain_year(a) };
                Expr::form(k, form, vec![a, self.plain_year(low), self.plain_year(high)])
            }
            8 => {
                let list: Vec<Expr> = (0..3).map(|_| self.expr(kind, 0)).collect();
                let args = std::iter::once(self.plain_year(a)).chain(list).collect();
                Expr::form(k, self.random.pick::<&str>(&["(? IN (?, ?, ?))", "(? NOT IN (?, ?, ?))"]), args)
            }
            9 => {
                let text = self.expr(Kind::Text, d);
                let pattern = *self.random.pick(&["a%", "%b", "_", "%", "A_", "%e%", "a|%' ESCAPE '|"]);
                let not = if self.random.percent(25) { "NOT " } else { "" };
                Expr::form(k, &format!("(? {not}LIKE '{pattern}')"), vec![text])
            }
            10 | 11 if self.depth < 2 => self.subquery(a),
            12 => {
                let text = self.expr(Kind::Text, d);
                let pattern = *self.random.pick(&["^a", "b$", "[a-c]+", "x|z", "^.{2}$"]);
                Expr::form(k, &format!("(CONVERT(? USING utf8mb4) COLLATE utf8mb4_bin REGEXP '{pattern}')"), vec![text])
            }
            13 if self.rows => {
                let args = vec![a, self.expr(Kind::Int, 0), self.expr(other, 0), self.expr(Kind::Int, 0)];
                // MariaDB takes `(a, b) < (c, d)` for never true when one of them is NULL.
                let forms = ["((?, ?) = (?, ?))", "((?, ?) <=> (?, ?))", "((?, ?) IN ((?, ?)))"];
                Expr::form(k, self.random.pick::<&str>(&forms), args)
            }
            _ => Expr::form(k, "(? = ?)", vec![a, self.expr(kind, 0)]),
        }
    }

    /// A YEAR column as a number: beside lists and bounds MariaDB makes years of all values, MySQL of constants alone,
    /// of integers in a list never.
    pub(crate) fn plain_year(&self, e: Expr) -> Expr {
        let year = |(alias, table): &(String, Rc<Table>)| {
            table.columns.iter().any(|c| c.is_year() && c.value(alias) == e.text())
        };
        if self.scope.iter().any(year) { Expr::form(e.kind, "(? + 0)", vec![e]) } else { e }
    }

    /// IN, EXISTS, a quantified or scalar comparison with a subquery, often correlated.
    fn subquery(&mut self, left: Expr) -> Expr {
        let (table, alias, filter, item) = self.inner(left.kind);
        // A subquery's YEAR is compared as one where MariaDB makes EXISTS of IN, and as a number where it does not.
        let left = self.plain_year(left);
        let year = table.columns.iter().any(|c| c.is_year() && c.value(&alias) == item.text());
        let item = if year { Expr::form(item.kind, "(? + 0)", vec![item]) } else { item };
        let from = format!("FROM {} {alias} WHERE", table.name);
        let k = Kind::Int;
        let aggregate = *self.random.pick(&["MIN", "MAX"]);
        match self.random.below(8) {
            0 => Expr::form(k, &format!("(? IN (SELECT ? {from} ?))"), vec![left, item, filter]),
            1 => Expr::form(k, &format!("(? NOT IN (SELECT ? {from} ?))"), vec![left, item, filter]),
            2 => Expr::form(k, &format!("EXISTS (SELECT 1 {from} ?)"), vec![filter]),
            3 => Expr::form(k, &format!("NOT EXISTS (SELECT 1 {from} ?)"), vec![filter]),
            4 => {
                // Of texts MariaDB takes the greatest in the collation of the subquery, not of the comparison.
                let all = ["= ANY", "<> ALL", "> ALL", "< ANY", "<= ALL", ">= ANY"];
                let op = *self.random.pick(if left.kind == Kind::Text { &all[..2] } else { &all[..] });
                Expr::form(k, &format!("(? {op} (SELECT ? {from} ?))"), vec![left, item, filter])
            }
            5 if self.rows => {
                let id = self.expr(Kind::Int, 0);
                let form = format!("((?, ?) IN (SELECT ?, {alias}.id {from} ?))");
                Expr::form(k, &form, vec![left, id, item, filter])
            }
            6 => {
                let form = format!("(? IN (SELECT ? {from} ? GROUP BY {alias}.id, ?))");
                let group =
                    if item.text().starts_with('s') { item.clone() } else { Expr::leaf(k, format!("{alias}.id")) };
                Expr::form(k, &form, vec![left, item, filter, group])
            }
            _ => Expr::form(k, &format!("(? < (SELECT {aggregate}(?) {from} ?))"), vec![left, item, filter]),
        }
    }

    pub(crate) fn aggregate(&mut self) -> Expr {
        let mixes = std::mem::take(&mut self.mixes);
        let aggregate = self.any_aggregate();
        self.mixes = mixes;
        aggregate
    }

    fn any_aggregate(&mut self) -> Expr {
        let kind = *self.random.pick(&[Kind::Int, Kind::Int, Kind::Decimal, Kind::Double]);
        match self.random.below(13) {
            0 => Expr::leaf(Kind::Int, "COUNT(*)"),
            1 => Expr::form(Kind::Int, "COUNT(?)", vec![self.any_column()]),
            2 => Expr::form(Kind::Int, "COUNT(DISTINCT ?)", vec![self.any_column()]),
            3 => Expr::form(Kind::Decimal, "SUM(?)", vec![self.expr(kind, 0)]),
            4 => Expr::form(Kind::Decimal, "AVG(?)", vec![self.expr(kind, 0)]),
            5 => {
                let arg = self.number().unwrap_or_else(|| Expr::leaf(Kind::Int, "1"));
                Expr::form(Kind::Decimal, "SUM(DISTINCT ?)", vec![arg])
            }
            6 => {
                let form = *self.random.pick(&["BIT_XOR(?)", "BIT_AND(?)", "BIT_OR(?)"]);
                let arg = self.number().unwrap_or_else(|| Expr::leaf(Kind::Int, "1"));
                Expr::form(Kind::Int, form, vec![arg])
            }
            7 => {
                let form = *self.random.pick(&["STDDEV_POP(?)", "VAR_SAMP(?)"]);
                Expr::form(Kind::Double, form, vec![self.expr(Kind::Double, 0)])
            }
            8 => {
                let arg = self.plain_column();
                Expr::form(Kind::Text, "GROUP_CONCAT(? ORDER BY ?)", vec![arg.clone(), arg])
            }
            9 => Expr::form(Kind::Int, "COUNT(DISTINCT ?, ?)", vec![self.any_column(), self.plain_column()]),
            10 => {
                let arg = self.any_column();
                Expr::form(arg.kind, "MIN(?)", vec![arg])
            }
            11 => {
                let kind = self.kind();
                Expr::form(kind, "MIN(?)", vec![self.expr(kind, 1)])
            }
            _ => {
                let arg = self.any_column();
                Expr::form(arg.kind, "MAX(?)", vec![arg])
            }
        }
    }

    /// A window function whose order is total, or whose value does not depend on the order of peers.
    pub(crate) fn window(&mut self) -> Expr {
        let ids: Vec<String> = self.scope.iter().map(|(alias, _)| format!("{alias}.id")).collect();
        let key = self.any_column();
        let descending = if self.random.percent(30) { " DESC" } else { "" };
        let partition = if self.random.percent(50) { "PARTITION BY ? " } else { "" };
        let total = format!("{partition}ORDER BY ?{descending}, {}", ids.join(", "));
        let peers = format!("{partition}ORDER BY ?{descending}");
        let mut tail = Vec::new();
        if !partition.is_empty() {
            tail.push(self.any_column());
        }
        tail.push(key);
        let frame = *self.random.pick(&[
            "",
            " ROWS 1 PRECEDING",
            " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
            " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
            " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            " ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
        ]);
        match self.random.below(8) {
            0 => Expr::leaf(Kind::Int, "ROW_NUMBER()").over(&total, tail),
            1 => {
                let name = *self.random.pick(&["RANK()", "DENSE_RANK()"]);
                Expr::leaf(Kind::Int, name).over(&peers, tail)
            }
            2 => {
                let name = *self.random.pick(&["PERCENT_RANK()", "CUME_DIST()"]);
                Expr::leaf(Kind::Double, name).over(&peers, tail)
            }
            3 => Expr::leaf(Kind::Int, format!("NTILE({})", 1 + self.random.below(5))).over(&total, tail),
            4 => {
                let arg = self.any_column();
                let form = format!("{}(?, {})", self.random.pick(&["LAG", "LEAD"]), self.random.below(3));
                Expr::form(arg.kind, &form, vec![arg]).over(&total, tail)
            }
            5 => {
                let arg = self.any_column();
                let form = *self.random.pick(&["FIRST_VALUE(?)", "LAST_VALUE(?)", "NTH_VALUE(?, 2)"]);
                Expr::form(arg.kind, form, vec![arg]).over(&format!("{total}{frame}"), tail)
            }
            6 => {
                // Values near the key.
                let near = *self.random.pick(&[
                    " RANGE BETWEEN 2 PRECEDING AND CURRENT ROW",
                    " RANGE BETWEEN 1 PRECEDING AND 3 FOLLOWING",
                    " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                    "",
                ]);
                let key = self.number().unwrap_or_else(|| Expr::leaf(Kind::Int, "1"));
                let arg = self.number().unwrap_or_else(|| Expr::leaf(Kind::Int, "1"));
                let over = format!("{partition}ORDER BY ?{descending}{near}");
                let last = tail.len() - 1;
                tail[last] = key;
                let form = *self.random.pick(&["SUM(?)", "COUNT(?)", "AVG(?)"]);
                Expr::form(Kind::Decimal, form, vec![arg]).over(&over, tail)
            }
            _ => {
                let form = *self.random.pick(&["SUM(?)", "COUNT(?)", "AVG(?)", "MIN(?)", "MAX(?)"]);
                let kind = *self.random.pick(&[Kind::Int, Kind::Decimal]);
                let arg = self.expr(kind, 0);
                Expr::form(Kind::Decimal, form, vec![arg]).over(&format!("{total}{frame}"), tail)
            }
        }
    }

    /// A join condition: mostly an equality between the new table and an earlier one.
    pub(crate) fn join_condition(&mut self, n: usize) -> Expr {
        let all = self.scope.clone();
        let kind = *self.random.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Decimal]);
        self.scope = all[n..].to_vec();
        let new = self.column(kind);
        self.scope = all[..n].to_vec();
        let old = self.column(kind);
        self.scope = all;
        match (old, new) {
            (Some(a), Some(b)) => {
                let equal = Expr::form(Kind::Int, "(? = ?)", vec![a, b]);
                if self.random.percent(30) {
                    Expr::form(Kind::Int, "(? AND ?)", vec![equal, self.condition(1)])
                } else {
                    equal
                }
            }
            _ => self.condition(1),
        }
    }
}
