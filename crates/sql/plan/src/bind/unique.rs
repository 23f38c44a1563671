//! Names of a view's columns that nobody chose: where two are alike, one that was made of an expression's text
//! becomes another (`My_exp_1_text`), and one that may be no name, too (`Name_exp_1`). Names that were chosen stay: two
//! alike are error 1060.

use super::select::item_name;
use gannet_parser::ast::{CreateView, Ident, QueryBody, Select, SelectItem};
use gannet_schema::names::eq_name;

/// The definition with other names for some columns; `None`: all are as they may be.
pub fn uniquely_named(create: &CreateView) -> Option<CreateView> {
    if !create.columns.is_empty() {
        return None;
    }
    let names = renamed(first(&create.query.body)?)?;
    let mut create = create.clone();
    let select = first_mut(&mut create.query.body)?;
    for (item, name) in select.items.iter_mut().zip(names) {
        if let (SelectItem::Expr { alias, .. }, Some(name)) = (item, name) {
            *alias = Some(Ident::new(&name));
        }
    }
    Some(create)
}

fn first(body: &QueryBody) -> Option<&Select> {
    match body {
        QueryBody::Select(select) => Some(select),
        QueryBody::Query(query) => first(&query.body),
        QueryBody::Set(set) => first(&set.first),
        QueryBody::Values(_) | QueryBody::Table(_) => None,
    }
}

fn first_mut(body: &mut QueryBody) -> Option<&mut Select> {
    match body {
        QueryBody::Select(select) => Some(select),
        QueryBody::Query(query) => first_mut(&mut query.body),
        QueryBody::Set(set) => first_mut(&mut set.first),
        QueryBody::Values(_) | QueryBody::Table(_) => None,
    }
}

/// A column: its name, the text that it was made of unless it was chosen, and whether it has got another.
struct Named {
    name: Box<str>,
    made_of: Option<Box<str>>,
    changed: bool,
}

/// A column may have that name: at most 64 characters, and no space behind them.
fn may_be_name(name: &str) -> bool {
    let spaced = name.ends_with([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
    !name.is_empty() && !spaced && !name.contains('\0') && name.chars().count() <= 64
}

/// The new names; `None` without any. Columns of `*` are not known here, and have names of their own.
fn renamed(select: &Select) -> Option<Vec<Option<Box<str>>>> {
    let mut list: Vec<Named> = Vec::with_capacity(select.items.len());
    for item in &select.items {
        let SelectItem::Expr { expr, alias, text } = item else { return None };
        let name = item_name(expr, alias.as_ref(), text);
        let chosen = alias.is_some() || matches!(expr, gannet_parser::ast::Expr::Column(_));
        list.push(Named { made_of: (!chosen).then(|| name.clone()), name, changed: false });
    }
    for (at, named) in list.iter_mut().enumerate() {
        if named.made_of.is_some() && !may_be_name(&named.name) {
            (named.name, named.changed) = (format!("Name_exp_{}", at + 1).into(), true);
        }
    }
    for at in 1..list.len() {
        for before in 0..at {
            if !eq_name(&list[at].name, &list[before].name) {
                continue;
            }
            let other = [at, before].into_iter().find(|i| list[*i].made_of.is_some())?;
            let made_of = list[other].made_of.clone()?;
            let taken = |name: &str| list[..=at].iter().enumerate().any(|(i, n)| i != other && eq_name(&n.name, name));
            let mut name = format!("My_exp_{made_of}");
            let mut tries = 0;
            while taken(&name) {
                tries += 1;
                name = format!("My_exp_{tries}_{made_of}");
            }
            (list[other].name, list[other].changed) = (name.into(), true);
        }
    }
    let any = list.iter().any(|n| n.changed);
    any.then(|| list.into_iter().map(|n| n.changed.then_some(n.name)).collect())
}
