//! Values of XPath expressions over a document, as MySQL computes them: a set of nodes is the texts right below its
//! nodes, and a predicate numbers what it leaves over anew.

use super::{
    document::{Document, Kind},
    xpath::{Axis, Expr, Function, Op, Step, Test},
};
use crate::{def::EvalContext, rules};
use gannet_types::{CollationId, Result, Value, charset::Charset, convert};
use std::cmp::Ordering;

/// Nodes between two looks at the kill flag.
const INTERRUPT_EVERY: u32 = 1 << 12;

/// A node and its position among its siblings that a step has found, from 0.
type Nodes = Vec<(u32, u32)>;

pub(super) enum Val {
    Null,
    Number(f64),
    Text(Vec<u8>),
}

/// What stands around an expression.
#[derive(Clone, Copy)]
pub(super) struct Around {
    node: u32,
    position: u32,
    size: u32,
    inside: bool,
}

impl Around {
    pub(super) const TOP: Around = Around { node: 0, position: 0, size: 1, inside: false };
}

pub(super) struct Evaluation<'a, 'c> {
    pub(super) document: &'a Document,
    pub(super) collation: CollationId,
    pub(super) charset: Charset,
    pub(super) cx: &'a mut EvalContext<'c>,
    pub(super) steps: u32,
}

fn number_of(text: &[u8]) -> f64 {
    convert::float::parse_double(text).0
}

fn holds(op: Op, order: Option<Ordering>) -> bool {
    match op {
        Op::Equal => order == Some(Ordering::Equal),
        Op::NotEqual => order != Some(Ordering::Equal),
        Op::Less => order == Some(Ordering::Less),
        Op::LessEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Op::Greater => order == Some(Ordering::Greater),
        _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

fn truth(b: bool) -> Val {
    Val::Number(f64::from(u8::from(b)))
}

impl Evaluation<'_, '_> {
    fn tick(&mut self) -> Result<()> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(INTERRUPT_EVERY) {
            rules::check_interrupt(self.cx)?;
        }
        Ok(())
    }

    /// The nodes of an expression that is some.
    pub(super) fn nodes(&mut self, expr: &Expr, around: Around) -> Result<Nodes> {
        gannet_types::check_stack()?;
        match expr {
            Expr::Root => Ok(vec![(0, 0)]),
            Expr::Context => Ok(vec![(around.node, around.position)]),
            Expr::Union(both) => {
                let mut all = self.nodes(&both[0], around)?;
                all.extend(self.nodes(&both[1], around)?);
                all.sort_unstable_by_key(|n| n.0);
                all.dedup_by_key(|n| n.0);
                Ok(all)
            }
            Expr::Path(from, steps) => {
                let mut nodes = self.nodes(from, around)?;
                for step in steps {
                    nodes = self.step(&nodes, step)?;
                }
                Ok(nodes)
            }
            _ => Ok(Nodes::new()),
        }
    }

    fn passes(&self, node: u32, kind: Kind, test: &Test) -> bool {
        self.document.nodes[node as usize].kind == kind
            && match test {
                Test::Any => true,
                Test::Name(name) => self.document.text(node) == &**name,
                Test::Text | Test::Never => false,
            }
    }

    fn step(&mut self, from: &Nodes, step: &Step) -> Result<Nodes> {
        let mut found = match step.test {
            Test::Text => from.clone(),
            _ => self.axis(from, step)?,
        };
        for predicate in &step.predicates {
            found = self.filter(&found, predicate)?;
        }
        Ok(found)
    }

    /// Nodes on the step's axis. From several nodes the same one may be reached: it counts once.
    fn axis(&mut self, from: &Nodes, step: &Step) -> Result<Nodes> {
        let many = from.len() > 1 && !matches!(step.axis, Axis::Child | Axis::Attribute | Axis::SelfNode);
        let mut seen = vec![false; if many { self.document.nodes.len() } else { 0 }];
        let mut found = Nodes::new();
        for (node, _) in from {
            let mut position = 0;
            let mut next = Some(*node);
            let first = *node;
            let end = self.document.nodes[first as usize].next;
            let includes = matches!(step.axis, Axis::SelfNode | Axis::DescendantOrSelf | Axis::AncestorOrSelf);
            if !includes {
                next = self.follow(step.axis, first, first, end);
            }
            while let Some(at) = next {
                self.tick()?;
                let kind = if step.axis == Axis::Attribute { Kind::Attribute } else { Kind::Element };
                // The document is a parent, and no ancestor.
                let root = at == 0 && step.test == Test::Any && (includes || step.axis == Axis::Parent);
                if (root || (at != 0 && self.passes(at, kind, &step.test)) || self.is_kept_self(step, at))
                    && (!many || !std::mem::replace(&mut seen[at as usize], true))
                {
                    found.push((at, position));
                    position += 1;
                }
                next = self.follow(step.axis, first, at, end);
            }
        }
        if many {
            found.sort_by_key(|n| n.0);
        }
        Ok(found)
    }

    /// `//` keeps attributes only on the way to themselves; `self::*` keeps what it starts from.
    fn is_kept_self(&self, step: &Step, at: u32) -> bool {
        step.axis == Axis::SelfNode && step.test == Test::Any && self.document.nodes[at as usize].kind != Kind::Text
    }

    /// The node behind `at` on an axis that began at `first`.
    fn follow(&self, axis: Axis, first: u32, at: u32, end: u32) -> Option<u32> {
        let nodes = &self.document.nodes;
        let next = match axis {
            Axis::Child | Axis::Attribute if at == first => at + 1,
            Axis::Child | Axis::Attribute => nodes[at as usize].next,
            Axis::Descendant | Axis::DescendantOrSelf => at + 1,
            Axis::Parent => return (at == first && at != 0).then(|| nodes[at as usize].parent),
            Axis::Ancestor | Axis::AncestorOrSelf => return (at != 0).then(|| nodes[at as usize].parent),
            Axis::SelfNode => return None,
        };
        (next < end).then_some(next)
    }

    fn filter(&mut self, nodes: &Nodes, predicate: &Expr) -> Result<Nodes> {
        let size = nodes.len() as u32;
        let mut left = Nodes::new();
        for (node, position) in nodes {
            self.tick()?;
            let around = Around { node: *node, position: *position, size, inside: true };
            let keeps = if predicate.is_truth() {
                self.is_true(predicate, around)?
            } else {
                match self.value(predicate, around)? {
                    Val::Null => false,
                    Val::Number(n) => n.round_ties_even() == f64::from(position + 1),
                    Val::Text(text) => number_of(&text).round_ties_even() == f64::from(position + 1),
                }
            };
            if keeps {
                left.push((*node, left.len() as u32));
            }
        }
        Ok(left)
    }

    /// Texts right below the nodes, in document order.
    fn texts(&mut self, nodes: &Nodes) -> Result<Vec<u32>> {
        let mut texts = Vec::new();
        let document = self.document;
        for (node, _) in nodes {
            for child in document.children(*node) {
                self.tick()?;
                if document.nodes[child as usize].kind == Kind::Text {
                    texts.push(child);
                }
            }
        }
        texts.sort_unstable();
        texts.dedup();
        Ok(texts)
    }

    fn is_true(&mut self, expr: &Expr, around: Around) -> Result<bool> {
        if expr.is_nodes() {
            return Ok(!self.nodes(expr, around)?.is_empty());
        }
        Ok(match self.value(expr, around)? {
            Val::Null => false,
            Val::Number(n) => n != 0.0,
            Val::Text(text) => number_of(&text) != 0.0,
        })
    }

    fn number(&mut self, expr: &Expr, around: Around) -> Result<Option<f64>> {
        Ok(match self.value(expr, around)? {
            Val::Null => None,
            Val::Number(n) => Some(n),
            Val::Text(text) => Some(number_of(&text)),
        })
    }

    fn text(&mut self, expr: &Expr, around: Around) -> Result<Option<Vec<u8>>> {
        Ok(match self.value(expr, around)? {
            Val::Null => None,
            Val::Text(text) => Some(text),
            Val::Number(n) => Some(number_text(n)),
        })
    }

    /// The value of any expression: of nodes their texts with blanks between.
    pub(super) fn value(&mut self, expr: &Expr, around: Around) -> Result<Val> {
        gannet_types::check_stack()?;
        self.tick()?;
        Ok(match expr {
            Expr::Number(n) => Val::Number(*n),
            Expr::Literal(text) => Val::Text(text.to_vec()),
            Expr::Variable(name) => self.variable(name)?,
            Expr::Binary(op, both) => self.binary(*op, both, around)?,
            Expr::Negate(of) => self.number(of, around)?.map_or(Val::Null, |n| Val::Number(-n)),
            Expr::Call(function, args) => self.call(*function, args, around)?,
            nodes => {
                let nodes = self.nodes(nodes, around)?;
                let mut out = Vec::new();
                for (i, text) in self.texts(&nodes)?.into_iter().enumerate() {
                    if i > 0 {
                        out.push(b' ');
                    }
                    out.extend_from_slice(self.document.text(text));
                }
                Val::Text(out)
            }
        })
    }

    fn variable(&mut self, name: &str) -> Result<Val> {
        let value = self.cx.session.server_function("USER_VARIABLE", &[Value::text(name)])?;
        Ok(match &value {
            Value::Null => Val::Null,
            Value::Int(v) => Val::Number(*v as f64),
            Value::UInt(v) => Val::Number(*v as f64),
            Value::Double(v) => Val::Number(*v),
            other => Val::Text(rules::text_in(other, self.charset)?.into_owned()),
        })
    }

    fn binary(&mut self, op: Op, both: &[Expr; 2], around: Around) -> Result<Val> {
        let [left, right] = both;
        Ok(match op {
            Op::Or => truth(self.is_true(left, around)? || self.is_true(right, around)?),
            Op::And => truth(self.is_true(left, around)? && self.is_true(right, around)?),
            Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Modulo => {
                let (Some(a), Some(b)) = (self.number(left, around)?, self.number(right, around)?) else {
                    return Ok(Val::Null);
                };
                let result = match op {
                    Op::Add => a + b,
                    Op::Subtract => a - b,
                    Op::Multiply => a * b,
                    Op::Divide => a / b,
                    _ => a % b,
                };
                if result.is_finite() { Val::Number(result) } else { Val::Null }
            }
            _ => return self.compare(op, left, right, around),
        })
    }

    /// A comparison with nodes holds if it does for one of their texts.
    fn compare(&mut self, op: Op, left: &Expr, right: &Expr, around: Around) -> Result<Val> {
        if !left.is_nodes() && !right.is_nodes() {
            let (a, b) = (self.value(left, around)?, self.value(right, around)?);
            return Ok(self.compare_values(op, &a, &b).map_or(Val::Null, truth));
        }
        let (nodes, other) = if left.is_nodes() { (left, right) } else { (right, left) };
        let other = self.value(other, around)?;
        let nodes = self.nodes(nodes, around)?;
        for text in self.texts(&nodes)? {
            let text = Val::Text(self.document.text(text).to_vec());
            let (a, b) = if left.is_nodes() { (&text, &other) } else { (&other, &text) };
            if self.compare_values(op, a, b) == Some(true) {
                return Ok(truth(true));
            }
        }
        Ok(truth(false))
    }

    fn compare_values(&self, op: Op, a: &Val, b: &Val) -> Option<bool> {
        let number = |v: &Val| match v {
            Val::Number(n) => *n,
            Val::Text(text) => number_of(text),
            Val::Null => 0.0,
        };
        match (a, b) {
            (Val::Null, _) | (_, Val::Null) => None,
            (Val::Text(a), Val::Text(b)) => Some(holds(op, Some(self.compare_texts(a, b)))),
            _ => Some(holds(op, number(a).partial_cmp(&number(b)))),
        }
    }

    fn compare_texts(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.charset == self.collation.charset() {
            return self.collation.compare(a, b);
        }
        let own = |text| self.charset.convert(text, self.collation.charset()).bytes;
        self.collation.compare(&own(a), &own(b))
    }

    /// `b` in `a`: a run of characters that the collation holds for equal.
    fn contains(&mut self, a: &[u8], b: &[u8]) -> Result<bool> {
        if self.collation.get().is_bytes() || b.is_empty() {
            return Ok(memchr::memmem::find(a, b).is_some() || b.is_empty());
        }
        let mut at = 0;
        while at + b.len() <= a.len() {
            self.tick()?;
            let end = at + b.len();
            let whole = a.get(end).is_none_or(|b| self.charset.is_single_byte() || b & 0xC0 != 0x80);
            if whole && self.compare_texts(&a[at..end], b) == Ordering::Equal {
                return Ok(true);
            }
            at += self.charset.char_len(&a[at..]).max(1);
        }
        Ok(false)
    }

    fn call(&mut self, function: Function, args: &[Expr], around: Around) -> Result<Val> {
        match function {
            Function::Last => Ok(Val::Number(f64::from(around.size))),
            Function::Position => Ok(Val::Number(f64::from(around.position + 1))),
            Function::Count if matches!(args[0], Expr::Context) && around.inside => {
                Ok(Val::Number(f64::from(around.size)))
            }
            Function::Count => Ok(Val::Number(self.nodes(&args[0], around)?.len() as f64)),
            Function::Sum => {
                let nodes = self.nodes(&args[0], around)?;
                let texts = self.texts(&nodes)?;
                Ok(Val::Number(texts.into_iter().map(|t| number_of(self.document.text(t))).sum()))
            }
            Function::True => Ok(truth(true)),
            Function::False => Ok(truth(false)),
            Function::Boolean => Ok(truth(self.is_true(&args[0], around)?)),
            Function::Not => Ok(truth(!self.is_true(&args[0], around)?)),
            Function::Number | Function::Ceiling | Function::Floor | Function::Round => {
                let round = match function {
                    Function::Ceiling => f64::ceil,
                    Function::Floor => f64::floor,
                    Function::Round => f64::round_ties_even,
                    _ => |n: f64| n,
                };
                Ok(self.number(&args[0], around)?.map_or(Val::Null, |n| Val::Number(round(n))))
            }
            _ => self.text_call(function, args, around),
        }
    }

    fn text_call(&mut self, function: Function, args: &[Expr], around: Around) -> Result<Val> {
        let mut texts = Vec::new();
        let of_text = if function == Function::Substring { 1 } else { args.len() };
        for arg in &args[..of_text] {
            let Some(text) = self.text(arg, around)? else { return Ok(Val::Null) };
            texts.push(text);
        }
        match function {
            Function::Concat => Ok(Val::Text(texts.concat())),
            Function::Contains => Ok(truth(self.contains(&texts[0], &texts[1])?)),
            Function::StringLength => Ok(Val::Number(self.charset.char_count(&texts[0]) as f64)),
            _ => {
                let Some(from) = self.number(&args[1], around)? else { return Ok(Val::Null) };
                let length = match args.get(2) {
                    Some(arg) => self.number(arg, around)?,
                    None => Some(f64::MAX),
                };
                let Some(length) = length else { return Ok(Val::Null) };
                Ok(Val::Text(substring(self.charset, &texts[0], from as i64, length)))
            }
        }
    }
}

/// As SUBSTRING: from 1, from the end if negative, nothing from 0.
fn substring(charset: Charset, text: &[u8], from: i64, length: f64) -> Vec<u8> {
    let chars = charset.char_count(text) as i64;
    let start = match from {
        1.. => from - 1,
        0 => return Vec::new(),
        _ => chars.saturating_add(from),
    };
    if start < 0 || start >= chars || length < 1.0 {
        return Vec::new();
    }
    let rest = &text[charset.prefix_len(text, start as usize)..];
    rest[..charset.prefix_len(rest, length.min(chars as f64) as usize)].to_vec()
}

pub(super) fn number_text(n: f64) -> Vec<u8> {
    let mut out = Vec::new();
    convert::float::write_double(n, &mut out);
    out
}
