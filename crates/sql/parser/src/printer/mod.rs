//! AST to text, in the form MySQL gives to stored expressions and views: keywords and built-in functions in lower case,
//! identifiers in backquotes, operators in parentheses. What is printed parses, under the default `sql_mode`, to an
//! equal tree (concatenation by `||` becomes a call of `concat`).

mod account;
mod admin;
pub mod canonical;
mod ddl;
mod dml;
mod expr;
mod program;
mod query;

use crate::ast::*;
use crate::keyword::Kw;

/// A growing SQL text. It is bytes, because strings may hold any.
pub(crate) struct Sql(Vec<u8>);

/// What can be printed.
pub(crate) trait Print {
    fn print(&self, sql: &mut Sql);
}

/// Text of a statement.
pub fn statement(statement: &Statement) -> Vec<u8> {
    let text = text_of(statement);
    match statement {
        // A block outside a stored program (MariaDB).
        Statement::Compound(_) => [&b"begin not atomic "[..], text.strip_prefix(b"begin ").unwrap_or(&text)].concat(),
        _ => text,
    }
}

/// Text of an expression.
pub fn expr(expr: &Expr) -> Vec<u8> {
    text_of(expr)
}

/// Text of a cast's target.
pub fn cast_type(to: &CastType) -> Vec<u8> {
    text_of(to)
}

/// Text of a query.
pub fn query(query: &Query) -> Vec<u8> {
    text_of(query)
}

/// Text of a column type.
pub fn data_type(data_type: &DataType) -> Vec<u8> {
    text_of(data_type)
}

/// An identifier in backquotes.
pub fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string literal.
pub(crate) fn quote_string(bytes: &[u8]) -> Vec<u8> {
    let mut sql = Sql(Vec::with_capacity(bytes.len() + 2));
    sql.string(bytes);
    sql.0
}

fn text_of(node: &impl Print) -> Vec<u8> {
    let mut sql = Sql(Vec::with_capacity(128));
    node.print(&mut sql);
    sql.0
}

impl Sql {
    fn s(&mut self, text: &str) -> &mut Sql {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// Ends a chain.
    fn end(&mut self) {}

    /// `text` if `yes`.
    fn flag(&mut self, yes: bool, text: &str) -> &mut Sql {
        if yes { self.s(text) } else { self }
    }

    fn n(&mut self, n: u64) -> &mut Sql {
        self.s(&n.to_string())
    }

    fn name(&mut self, name: &str) -> &mut Sql {
        // Identifiers stay in the basic plane; only a string where a name may stand (an alias, a character set) leaves
        // it.
        if name.bytes().any(|b| b >= 0xF0) { self.string(name.as_bytes()) } else { self.s(&quote_name(name)) }
    }

    /// The name of a character set or collation: a plain word, or quoted if it is none.
    fn word(&mut self, name: &Ident) -> &mut Sql {
        // Reserved is one of all these names, BINARY, which stands without quotes.
        let keyword = crate::keyword::lookup(name.text.as_bytes());
        let plain = expr::is_plain(&name.text) && (!keyword.is_reserved() || keyword == Kw::BINARY);
        if plain { self.s(&name.text) } else { self.p(name) }
    }

    /// A string literal.
    fn string(&mut self, bytes: &[u8]) -> &mut Sql {
        self.0.push(b'\'');
        for &b in bytes {
            match b {
                b'\'' => self.0.extend(b"\\'"),
                b'\\' => self.0.extend(b"\\\\"),
                0 => self.0.extend(b"\\0"),
                b'\n' => self.0.extend(b"\\n"),
                b'\r' => self.0.extend(b"\\r"),
                26 => self.0.extend(b"\\Z"),
                b => self.0.push(b),
            }
        }
        self.0.push(b'\'');
        self
    }

    fn p(&mut self, node: &(impl Print + ?Sized)) -> &mut Sql {
        node.print(self);
        self
    }

    /// `before`, then the node, if there is one.
    fn opt<T: Print>(&mut self, before: &str, node: &Option<T>) -> &mut Sql {
        if let Some(node) = node {
            self.s(before).p(node);
        }
        self
    }

    /// `before`, then the string, if there is one.
    fn opt_string<T: Bytes>(&mut self, before: &str, text: &Option<T>) -> &mut Sql {
        if let Some(text) = text {
            self.s(before).string(text.bytes());
        }
        self
    }

    fn opt_n(&mut self, before: &str, n: Option<u64>) -> &mut Sql {
        match n {
            Some(n) => self.s(before).n(n),
            None => self,
        }
    }

    /// `before`, then the number, or `default`.
    fn n_or_default(&mut self, before: &str, n: Option<u64>) -> &mut Sql {
        self.s(before);
        match n {
            Some(n) => self.n(n),
            None => self.s("default"),
        }
    }

    fn list<T: Print>(&mut self, nodes: &[T], separator: &str) -> &mut Sql {
        for (i, node) in nodes.iter().enumerate() {
            if i > 0 {
                self.s(separator);
            }
            node.print(self);
        }
        self
    }

    /// `before`, the nodes in parentheses; nothing if there are none.
    fn opt_parens<T: Print>(&mut self, before: &str, nodes: &[T]) -> &mut Sql {
        if nodes.is_empty() { self } else { self.s(before).parens(nodes) }
    }

    /// The nodes in parentheses.
    fn parens<T: Print>(&mut self, nodes: &[T]) -> &mut Sql {
        self.s("(").list(nodes, ",").s(")")
    }
}

/// Contents of a string.
trait Bytes {
    fn bytes(&self) -> &[u8];
}

impl Bytes for Box<str> {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Bytes for Box<[u8]> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl<T: Print + ?Sized> Print for Box<T> {
    fn print(&self, sql: &mut Sql) {
        (**self).print(sql);
    }
}

impl Print for Ident {
    fn print(&self, sql: &mut Sql) {
        sql.name(&self.text);
    }
}

impl Print for ObjectName {
    fn print(&self, sql: &mut Sql) {
        if let Some(schema) = &self.schema {
            sql.p(schema).s(".");
        }
        sql.p(&self.name);
    }
}

/// A word printed as it is.
struct Word<'a>(&'a str);

impl Print for Word<'_> {
    fn print(&self, sql: &mut Sql) {
        sql.s(self.0);
    }
}

impl Print for Statement {
    fn print(&self, sql: &mut Sql) {
        use Statement as S;
        match self {
            S::Query(q) => sql.p(q),
            S::Insert(i) => sql.p(i),
            S::Update(u) => sql.p(u),
            S::Delete(d) => sql.p(d),
            S::Load(l) => sql.p(l),
            S::Do(list) => sql.s("do ").list(list, ","),
            S::Call { name, args } => sql.s("call ").p(name).parens(args),
            S::Handler(h) => sql.p(h),
            S::CreateTable(c) => sql.p(c),
            S::AlterTable(a) => sql.p(a),
            S::DropTable { temporary, if_exists, names } => sql
                .s("drop ")
                .flag(*temporary, "temporary ")
                .s("table ")
                .flag(*if_exists, "if exists ")
                .list(names, ","),
            S::Truncate(name) => sql.s("truncate table ").p(name),
            S::RenameTable { if_exists, pairs } => {
                sql.s("rename table ").flag(*if_exists, "if exists ").list(&to_pairs(pairs), ",")
            }
            S::CreateIndex(c) => sql.p(c),
            S::DropIndex(d) => sql.p(d),
            S::CreateDatabase { if_not_exists, name, options } => {
                sql.s("create database ").flag(*if_not_exists, "if not exists ").p(name).list(options, "")
            }
            S::AlterDatabase { name, options } => sql.s("alter database").opt(" ", name).list(options, ""),
            S::DropDatabase { if_exists, name } => sql.s("drop database ").flag(*if_exists, "if exists ").p(name),
            S::CreateView(v) => sql.p(v),
            S::DropView { if_exists, names } => sql.s("drop view ").flag(*if_exists, "if exists ").list(names, ","),
            S::CreateRoutine(r) => sql.p(r),
            S::AlterRoutine { kind, name, characteristics } => {
                sql.s("alter ").p(kind).s(" ").p(name).list(characteristics, "")
            }
            S::CreateLoadableFunction(f) => sql.p(f),
            S::CreateTrigger(t) => sql.p(t),
            S::CreateEvent(e) => sql.p(e),
            S::AlterEvent(e) => sql.p(e),
            S::DropProgram { kind, if_exists, name } => {
                sql.s("drop ").p(kind).s(" ").flag(*if_exists, "if exists ").p(name)
            }
            S::Compound(c) => sql.p(c),
            S::Storage(s) => sql.p(s),
            S::Signal(s) => sql.p(s),
            S::GetDiagnostics(g) => sql.p(g),
            S::User(u) => sql.p(u),
            S::DropUser { if_exists, users } => sql.s("drop user ").flag(*if_exists, "if exists ").list(users, ","),
            S::RenameUser(pairs) => sql.s("rename user ").list(&to_pairs(pairs), ","),
            S::CreateRole { if_not_exists, roles } => {
                sql.s("create role ").flag(*if_not_exists, "if not exists ").list(roles, ",")
            }
            S::DropRole { if_exists, roles } => sql.s("drop role ").flag(*if_exists, "if exists ").list(roles, ","),
            S::Grant(g) => sql.p(g),
            S::Revoke(r) => sql.p(r),
            S::SetPassword(s) => sql.p(s),
            S::SetRole(r) => sql.s("set role ").p(r),
            S::SetDefaultRole { roles, users } => sql.s("set default role ").p(roles).s(" to ").list(users, ","),
            S::Replication(r) => sql.p(r),
            S::Empty => sql,
            other => admin::print(other, sql),
        };
    }
}

/// `a to b`
struct Pair<'a, T>(&'a T, &'a T);

fn to_pairs<T>(pairs: &[(T, T)]) -> Vec<Pair<'_, T>> {
    pairs.iter().map(|(a, b)| Pair(a, b)).collect()
}

impl<T: Print> Print for Pair<'_, T> {
    fn print(&self, sql: &mut Sql) {
        sql.p(self.0).s(" to ").p(self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_names_of_collations_and_character_sets_are_quoted() {
        for sql in [
            "SELECT a COLLATE `select` FROM t",
            "SELECT a COLLATE BINARY, CONVERT(a USING `table`), CONVERT(a USING BINARY)",
            "SELECT CAST(a AS CHAR CHARACTER SET `from`), CAST(a AS CHAR CHARACTER SET latin1)",
            "SELECT a COLLATE 'order', a COLLATE `1st`, a COLLATE `with``quote`, a COLLATE utf8mb4_bin",
        ] {
            let parsed = |text: &[u8]| crate::parse(text, crate::LexMode::default()).unwrap().statement;
            let printed = statement(&parsed(sql.as_bytes()));
            assert_eq!(statement(&parsed(&printed)), printed, "{}", String::from_utf8_lossy(&printed));
        }
    }
}
