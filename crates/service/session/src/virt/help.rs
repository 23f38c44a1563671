//! `mysql.help_%`: a topic for each function, aggregate and operator, made of what its declaration says.

use super::declare::{TEXT, UINT, USMALLINT, fixed};
use super::{Emit, Equals, text};
use crate::state::State;
use gannet_functions::{Arity, aggregates, functions};
use gannet_types::{Result, Value};
use std::sync::LazyLock;

/// Something that HELP can tell about.
pub(crate) struct Topic {
    /// As SQL calls it.
    pub(crate) name: &'static str,
    /// Its place in [`CATEGORIES`].
    pub(crate) category: usize,
    /// Syntax, and what it is.
    pub(crate) description: String,
}

/// Names of categories, and the place of the category that each is part of.
pub(crate) const CATEGORIES: &[(&str, usize)] =
    &[("Contents", 0), ("Functions", 0), ("Operators", 1), ("Aggregate Functions", 1)];

const FUNCTIONS: usize = 1;
const OPERATORS: usize = 2;
const AGGREGATES: usize = 3;

tables! {
    MYSQL in "mysql":
    help_topic by help_topic {
        help_topic_id: UINT.not_null(), name: fixed(64).not_null(), help_category_id: USMALLINT.not_null(),
        description: TEXT.not_null(), example: TEXT.not_null(), url: TEXT.not_null(),
    }
    help_category by help_category {
        help_category_id: USMALLINT.not_null(), name: fixed(64).not_null(), parent_category_id: USMALLINT,
        url: TEXT.not_null(),
    }
    help_relation by help_relation {
        help_topic_id: UINT.not_null(), help_keyword_id: UINT.not_null(),
    }
    help_keyword by help_keyword {
        help_keyword_id: UINT.not_null(), name: fixed(64).not_null(),
    }
}

/// All topics, by name.
pub(crate) fn topics() -> &'static [Topic] {
    static ALL: LazyLock<Vec<Topic>> = LazyLock::new(|| {
        let mut all = Vec::new();
        for f in functions() {
            let word = |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic());
            // Names with a space are what the binder makes of other syntax; other reserved words stand between their
            // operands.
            let names = std::iter::once(&f.name).chain(f.aliases).filter(|name| !name.contains(' '));
            all.extend(names.map(|name| {
                let infix = !word(name) || INFIX.contains(name);
                topic(name, if infix { OPERATORS } else { FUNCTIONS }, f.arity, f.doc)
            }));
        }
        for a in aggregates() {
            let names = std::iter::once(&a.name).chain(a.aliases);
            all.extend(names.map(|name| topic(name, AGGREGATES, a.arity, a.doc)));
        }
        all.sort_by_key(|topic| topic.name);
        all
    });
    &ALL
}

/// Operators that are words and no functions.
const INFIX: &[&str] = &["DIV", "LIKE", "XOR"];

fn topic(name: &'static str, category: usize, arity: Arity, doc: &str) -> Topic {
    let syntax = match (category, arity) {
        (OPERATORS, Arity { max: Some(1), .. }) => format!("{name}a"),
        (OPERATORS, _) => format!("a {name} b"),
        (_, Arity { min: 0, max: Some(0) }) => format!("{name}()"),
        (_, Arity { min, max }) => {
            let count = match max {
                Some(max) if max == min => format!("{min}"),
                Some(max) => format!("{min} to {max}"),
                None => format!("{min} or more"),
            };
            format!("{name}(...) with {count} argument{}", if count == "1" { "" } else { "s" })
        }
    };
    Topic { name, category, description: format!("Syntax:\n{syntax}\n\n{doc}\n") }
}

fn help_topic(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for (id, topic) in (0_u64..).zip(topics()) {
        let category = Value::UInt(topic.category as u64);
        emit(&[Value::UInt(id), text(topic.name), category, text(&topic.description), text(""), text("")])?;
    }
    Ok(())
}

fn help_category(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for (id, (name, parent)) in (0_u64..).zip(CATEGORIES) {
        emit(&[Value::UInt(id), text(name), Value::UInt(*parent as u64), text("")])?;
    }
    Ok(())
}

/// A keyword for each topic: its name.
fn help_keyword(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for (id, topic) in (0_u64..).zip(topics()) {
        emit(&[Value::UInt(id), text(topic.name)])?;
    }
    Ok(())
}

fn help_relation(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    (0..topics().len() as u64).try_for_each(|id| emit(&[Value::UInt(id), Value::UInt(id)]))
}
