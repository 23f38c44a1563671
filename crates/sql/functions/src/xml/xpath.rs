//! MySQL's subset of XPath 1.0 (manual, "XML Functions"): expressions are read once, and checked for what they compare.

use gannet_types::{ErrorCode, Result, SqlError, sql_err};

/// Expressions within expressions.
const MAX_DEPTH: usize = 128;
/// Operators of an expression, those of expressions in it included: chains lean to the left, so their length is a
/// depth, too.
const MAX_OPERATORS: usize = 256;
/// Bytes of the rest that an error shows.
const SHOWN: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Axis {
    Child,
    Descendant,
    DescendantOrSelf,
    Parent,
    Ancestor,
    AncestorOrSelf,
    Attribute,
    SelfNode,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Test {
    /// `*`, `node()`
    Any,
    /// A name, with its prefix.
    Name(Box<[u8]>),
    /// `text()`: the values of nodes are their texts, so this changes nothing.
    Text,
    /// `comment()`, `processing-instruction()`: there are none in the tree.
    Never,
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) axis: Axis,
    pub(super) test: Test,
    pub(super) predicates: Vec<Expr>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Function {
    Last,
    Position,
    Count,
    Sum,
    Boolean,
    Not,
    True,
    False,
    Number,
    Ceiling,
    Floor,
    Round,
    Concat,
    Contains,
    StringLength,
    Substring,
}

/// Names, least and most arguments.
const FUNCTIONS: &[(&str, Function, usize, usize)] = &[
    ("last", Function::Last, 0, 0),
    ("position", Function::Position, 0, 0),
    ("count", Function::Count, 1, 1),
    ("sum", Function::Sum, 1, 1),
    ("boolean", Function::Boolean, 1, 1),
    ("not", Function::Not, 1, 1),
    ("true", Function::True, 0, 0),
    ("false", Function::False, 0, 0),
    ("number", Function::Number, 0, 1),
    ("ceiling", Function::Ceiling, 1, 1),
    ("floor", Function::Floor, 1, 1),
    ("round", Function::Round, 1, 1),
    ("concat", Function::Concat, 2, 255),
    ("contains", Function::Contains, 2, 2),
    ("string-length", Function::StringLength, 0, 1),
    ("substring", Function::Substring, 2, 3),
];

const AXES: &[(&str, Axis)] = &[
    ("child", Axis::Child),
    ("descendant", Axis::Descendant),
    ("descendant-or-self", Axis::DescendantOrSelf),
    ("parent", Axis::Parent),
    ("ancestor", Axis::Ancestor),
    ("ancestor-or-self", Axis::AncestorOrSelf),
    ("attribute", Axis::Attribute),
    ("self", Axis::SelfNode),
];

#[derive(Clone, Debug)]
pub(super) enum Expr {
    Number(f64),
    Literal(Box<[u8]>),
    /// `$@name`
    Variable(Box<str>),
    Binary(Op, Box<[Expr; 2]>),
    Negate(Box<Expr>),
    Union(Box<[Expr; 2]>),
    Call(Function, Vec<Expr>),
    /// The document.
    Root,
    /// The context node.
    Context,
    Path(Box<Expr>, Vec<Step>),
}

impl Expr {
    pub(super) fn is_nodes(&self) -> bool {
        matches!(self, Expr::Union(_) | Expr::Root | Expr::Context | Expr::Path(..))
    }

    /// True or false, as a predicate takes it; other values are positions.
    pub(super) fn is_truth(&self) -> bool {
        match self {
            Expr::Binary(op, _) => matches!(
                op,
                Op::Or | Op::And | Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual
            ),
            Expr::Call(f, _) => {
                matches!(f, Function::Boolean | Function::Not | Function::True | Function::False | Function::Contains)
            }
            other => other.is_nodes(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token {
    End,
    /// A name; with prefix.
    Name,
    Digits,
    Literal,
    /// A byte that means itself.
    Byte(u8),
    /// `::`
    Axis,
    /// `..`
    Parent,
    /// `//`
    Deep,
    NotEqual,
    LessEqual,
    GreaterEqual,
    Unknown,
}

struct Parser<'a> {
    text: &'a [u8],
    token: Token,
    /// The token's bytes.
    start: usize,
    end: usize,
    depth: usize,
    operators: usize,
    /// Inside of a predicate there is a context: `position()` means something.
    inside: bool,
}

/// What an expression takes for each byte of its text.
pub(super) const BYTES_OF_ONE: usize = 64;

/// Reads an expression. Error 1105.
pub(super) fn parse(text: &[u8]) -> Result<Expr> {
    let mut parser = Parser { text, token: Token::End, start: 0, end: 0, depth: 0, operators: 0, inside: false };
    parser.next();
    let expr = parser.expr()?;
    if parser.token != Token::End {
        return Err(parser.wrong());
    }
    Ok(expr)
}

#[cold]
fn error(what: &str, rest: &[u8]) -> SqlError {
    let rest = String::from_utf8_lossy(&rest[..rest.len().min(SHOWN)]);
    SqlError::with_message(ErrorCode::UnknownError, format!("{what}: '{}'", rest.trim_end_matches('\u{FFFD}')))
}

fn starts_name(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b >= 0x80
}

fn continues_name(b: u8) -> bool {
    starts_name(b) || b.is_ascii_digit() || b == b'-' || b == b'.'
}

impl Parser<'_> {
    #[cold]
    fn wrong(&self) -> SqlError {
        error("XPATH syntax error", &self.text[self.start..])
    }

    fn name_length(&self, from: usize) -> usize {
        match self.text.get(from) {
            Some(b) if starts_name(*b) => self.text[from..].iter().take_while(|b| continues_name(**b)).count(),
            _ => 0,
        }
    }

    fn next(&mut self) {
        let at = self.end;
        self.start = at + self.text[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        let rest = &self.text[self.start..];
        let second = rest.get(1).copied();
        let (token, length) = match rest.first().copied() {
            None => (Token::End, 0),
            Some(b'/') if second == Some(b'/') => (Token::Deep, 2),
            Some(b'.') if second == Some(b'.') => (Token::Parent, 2),
            Some(b':') if second == Some(b':') => (Token::Axis, 2),
            Some(b'!') if second == Some(b'=') => (Token::NotEqual, 2),
            Some(b'<') if second == Some(b'=') => (Token::LessEqual, 2),
            Some(b'>') if second == Some(b'=') => (Token::GreaterEqual, 2),
            Some(quote @ (b'"' | b'\'')) => match memchr::memchr(quote, &rest[1..]) {
                Some(length) => (Token::Literal, length + 2),
                None => (Token::Unknown, 0),
            },
            Some(b) if b.is_ascii_digit() => (Token::Digits, rest.iter().take_while(|b| b.is_ascii_digit()).count()),
            Some(b) if starts_name(b) => (Token::Name, self.name_length(self.start)),
            Some(b) if b"/.@*()[]|+-=<>,$".contains(&b) => (Token::Byte(b), 1),
            Some(_) => (Token::Unknown, 0),
        };
        self.token = token;
        self.end = self.start + length;
        if token == Token::Name && self.text.get(self.end) == Some(&b':') {
            let behind = self.name_length(self.end + 1);
            if behind > 0 {
                self.end += 1 + behind;
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.text[self.start..self.end]
    }

    fn take(&mut self, token: Token) -> bool {
        let there = self.token == token;
        if there {
            self.next();
        }
        there
    }

    fn want(&mut self, token: Token) -> Result<()> {
        if self.take(token) { Ok(()) } else { Err(self.wrong()) }
    }

    /// The operator of a level that the token is, behind an operand: names are operators there.
    fn operator(&self, level: usize) -> Option<Op> {
        let op = match (self.token, self.bytes()) {
            (Token::Name, b"or") => (0, Op::Or),
            (Token::Name, b"and") => (1, Op::And),
            (Token::Byte(b'='), _) => (2, Op::Equal),
            (Token::NotEqual, _) => (2, Op::NotEqual),
            (Token::Byte(b'<'), _) => (3, Op::Less),
            (Token::LessEqual, _) => (3, Op::LessEqual),
            (Token::Byte(b'>'), _) => (3, Op::Greater),
            (Token::GreaterEqual, _) => (3, Op::GreaterEqual),
            (Token::Byte(b'+'), _) => (4, Op::Add),
            (Token::Byte(b'-'), _) => (4, Op::Subtract),
            (Token::Byte(b'*'), _) => (5, Op::Multiply),
            (Token::Name, b"div") => (5, Op::Divide),
            (Token::Name, b"mod") => (5, Op::Modulo),
            _ => return None,
        };
        (op.0 == level).then_some(op.1)
    }

    fn expr(&mut self) -> Result<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(error("XPATH expression is nested too deeply", &self.text[self.start..]));
        }
        gannet_types::check_stack()?;
        let expr = self.binary(0);
        self.depth -= 1;
        expr
    }

    fn binary(&mut self, level: usize) -> Result<Expr> {
        if level == 6 {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(op) = self.operator(level) {
            let at = self.start;
            self.next();
            let right = self.binary(level + 1)?;
            if matches!(level, 2 | 3) && left.is_nodes() && right.is_nodes() {
                return Err(error("XPATH error: comparison of two nodesets is not supported", &self.text[at..]));
            }
            left = Expr::Binary(op, Box::new([left, right]));
            self.count_operator()?;
        }
        Ok(left)
    }

    fn count_operator(&mut self) -> Result<()> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return Err(error("XPATH expression is too long", &self.text[self.start..]));
        }
        Ok(())
    }

    fn unary(&mut self) -> Result<Expr> {
        let mut signs = 0;
        while self.take(Token::Byte(b'-')) {
            signs += 1;
        }
        let expr = self.union()?;
        Ok(if signs == 0 {
            expr
        } else {
            let number = Expr::Call(Function::Number, vec![expr]);
            if signs % 2 == 1 { Expr::Negate(Box::new(number)) } else { number }
        })
    }

    fn union(&mut self) -> Result<Expr> {
        let mut left = self.path()?;
        while left.is_nodes() && self.take(Token::Byte(b'|')) {
            let right = self.path()?;
            if !right.is_nodes() {
                return Err(self.wrong());
            }
            left = Expr::Union(Box::new([left, right]));
            self.count_operator()?;
        }
        Ok(left)
    }

    fn path(&mut self) -> Result<Expr> {
        match self.token {
            Token::Byte(b'/') => {
                self.next();
                if self.begins_step() { self.steps(Expr::Root, Vec::new()) } else { Ok(Expr::Root) }
            }
            Token::Deep => {
                self.next();
                self.steps(Expr::Root, vec![Self::deep()])
            }
            _ if self.begins_primary() => {
                let primary = self.primary()?;
                match self.token {
                    Token::Byte(b'/') if primary.is_nodes() => {
                        self.next();
                        self.steps(primary, Vec::new())
                    }
                    Token::Deep if primary.is_nodes() => {
                        self.next();
                        self.steps(primary, vec![Self::deep()])
                    }
                    _ => Ok(primary),
                }
            }
            _ => self.steps(Expr::Context, Vec::new()),
        }
    }

    fn deep() -> Step {
        Step { axis: Axis::DescendantOrSelf, test: Test::Any, predicates: Vec::new() }
    }

    /// What stands behind a name: an axis or a call.
    fn behind(&self) -> Option<u8> {
        self.text[self.end..].iter().find(|b| !b.is_ascii_whitespace()).copied()
    }

    fn begins_step(&self) -> bool {
        matches!(self.token, Token::Name | Token::Parent | Token::Byte(b'.' | b'@' | b'*'))
    }

    fn function(&self) -> Option<(Function, usize, usize)> {
        if self.token != Token::Name || self.behind() != Some(b'(') {
            return None;
        }
        let name = self.bytes();
        FUNCTIONS.iter().find(|f| f.0.as_bytes() == name).map(|f| (f.1, f.2, f.3))
    }

    fn begins_primary(&self) -> bool {
        matches!(self.token, Token::Literal | Token::Digits | Token::Byte(b'(' | b'$')) || self.function().is_some()
    }

    fn primary(&mut self) -> Result<Expr> {
        if let Some((function, min, max)) = self.function() {
            return self.call(function, min, max);
        }
        match self.token {
            Token::Literal => {
                let literal = self.text[self.start + 1..self.end - 1].into();
                self.next();
                Ok(Expr::Literal(literal))
            }
            Token::Digits => self.number(),
            Token::Byte(b'(') => {
                self.next();
                let expr = self.expr()?;
                self.want(Token::Byte(b')'))?;
                Ok(expr)
            }
            _ => self.variable(),
        }
    }

    fn number(&mut self) -> Result<Expr> {
        let start = self.start;
        let mut end = self.end;
        self.next();
        if self.token == Token::Byte(b'.') {
            end = self.end;
            self.next();
            if self.token == Token::Digits {
                end = self.end;
                self.next();
            }
        }
        let text = String::from_utf8_lossy(&self.text[start..end]);
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Expr::Number(number)),
            _ => {
                let shown: String = text.chars().take(192).collect();
                Err(sql_err!(IllegalValueForType, "double", shown))
            }
        }
    }

    /// `$@name`. Variables of stored programs have no `@`: error 1105.
    fn variable(&mut self) -> Result<Expr> {
        let start = self.start;
        self.want(Token::Byte(b'$'))?;
        let user = self.take(Token::Byte(b'@'));
        if self.token != Token::Name {
            return Err(self.wrong());
        }
        if !user {
            return Err(error("Unknown XPATH variable at", &self.text[start..]));
        }
        let name = String::from_utf8_lossy(self.bytes()).into();
        self.next();
        Ok(Expr::Variable(name))
    }

    fn call(&mut self, function: Function, min: usize, max: usize) -> Result<Expr> {
        self.next();
        self.want(Token::Byte(b'('))?;
        let mut args = Vec::new();
        if self.token != Token::Byte(b')') {
            loop {
                args.push(self.expr()?);
                if args.len() > max {
                    return Err(self.wrong());
                }
                if !self.take(Token::Byte(b',')) {
                    break;
                }
            }
        }
        self.want(Token::Byte(b')'))?;
        let of_context = matches!(function, Function::Last | Function::Position);
        let own = args.is_empty() && matches!(function, Function::StringLength | Function::Number);
        let of_nodes = matches!(function, Function::Count | Function::Sum);
        if args.len() < min
            || ((of_context || own) && !self.inside)
            || (of_nodes && !args.first().is_some_and(Expr::is_nodes))
        {
            return Err(self.wrong());
        }
        if own {
            args.push(Expr::Context);
        }
        Ok(Expr::Call(function, args))
    }

    fn steps(&mut self, from: Expr, mut steps: Vec<Step>) -> Result<Expr> {
        loop {
            self.step(&mut steps)?;
            match self.token {
                Token::Byte(b'/') => self.next(),
                Token::Deep => {
                    self.next();
                    steps.push(Self::deep());
                }
                _ => break,
            }
        }
        // `.` alone is the context itself: what counts it counts the predicate's set.
        Ok(if steps.is_empty() { from } else { Expr::Path(Box::new(from), steps) })
    }

    fn step(&mut self, steps: &mut Vec<Step>) -> Result<()> {
        if self.take(Token::Byte(b'.')) {
            return Ok(());
        }
        if self.take(Token::Parent) {
            steps.push(Step { axis: Axis::Parent, test: Test::Any, predicates: Vec::new() });
            return Ok(());
        }
        let mut axis = Axis::Child;
        if self.take(Token::Byte(b'@')) {
            axis = Axis::Attribute;
        } else if self.token == Token::Name && self.text[self.end..].trim_ascii_start().starts_with(b"::") {
            let Some(found) = AXES.iter().find(|a| a.0.as_bytes() == self.bytes()) else { return Err(self.wrong()) };
            axis = found.1;
            self.next();
            self.next();
        }
        let test = self.test()?;
        let mut predicates = Vec::new();
        while self.take(Token::Byte(b'[')) {
            let outer = std::mem::replace(&mut self.inside, true);
            let predicate = self.expr()?;
            self.inside = outer;
            self.want(Token::Byte(b']'))?;
            predicates.push(predicate);
        }
        steps.push(Step { axis, test, predicates });
        Ok(())
    }

    fn test(&mut self) -> Result<Test> {
        if self.take(Token::Byte(b'*')) {
            return Ok(Test::Any);
        }
        if self.token != Token::Name {
            return Err(self.wrong());
        }
        let kind = match self.bytes() {
            b"text" => Some(Test::Text),
            b"node" => Some(Test::Any),
            b"comment" | b"processing-instruction" => Some(Test::Never),
            _ => None,
        };
        if let (Some(test), Some(b'(')) = (kind, self.behind()) {
            self.next();
            self.next();
            self.want(Token::Byte(b')'))?;
            return Ok(test);
        }
        let name = self.bytes().into();
        self.next();
        Ok(Test::Name(name))
    }
}
