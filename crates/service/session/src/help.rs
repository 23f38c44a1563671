//! HELP: topics and categories by name or pattern (manual, 15.8.3 "HELP Statement").

use super::Session;
use super::reply::{Done, Reply, RowsSink};
use super::show::{column, table};
use super::state::text;
use crate::virt::help::{CATEGORIES, topics};
use gannet_core::names::like;
use gannet_types::{Result, Value};

/// HELP: the topic that is asked for; the names where there are several; else what a category has.
pub(crate) fn help(session: &mut Session, mask: &str, reply: &mut dyn Reply) -> Result<Done> {
    session.send_table(&found(mask), reply)
}

fn found(mask: &str) -> RowsSink {
    let listed = |name: &str, category: bool| vec![text(name), text(if category { "Y" } else { "N" })];
    let columns = || vec![column("name", 64), column("is_it_category", 1)];
    let hits: Vec<_> = topics().iter().filter(|t| like(mask, t.name)).collect();
    let categories: Vec<usize> = (0..CATEGORIES.len()).filter(|i| like(mask, CATEGORIES[*i].0)).collect();
    match (&hits[..], &categories[..]) {
        ([topic], _) => {
            let columns = vec![column("name", 64), column("description", 1000), column("example", 1000)];
            table(columns, vec![vec![text(topic.name), text(&topic.description), text("")]])
        }
        ([], [only]) => {
            let source = text(CATEGORIES[*only].0);
            let with_source = |row: Vec<Value>| [vec![source.clone()], row].concat();
            let topics = topics().iter().filter(|t| t.category == *only).map(|t| listed(t.name, false));
            let parts =
                (1..CATEGORIES.len()).filter(|i| CATEGORIES[*i].1 == *only).map(|i| listed(CATEGORIES[i].0, true));
            let columns = [vec![column("source_category_name", 64)], columns()].concat();
            table(columns, topics.chain(parts).map(with_source).collect())
        }
        _ => {
            let names = hits.iter().map(|t| listed(t.name, false));
            table(columns(), names.chain(categories.iter().map(|i| listed(CATEGORIES[*i].0, true))).collect())
        }
    }
}
