//! The definitions that a table's rows were written with.
//!
//! A row names its definition (`types::row`). A change that leaves the rows as they are makes another definition, to
//! which the earlier ones are related here; a change that writes all rows anew begins with definition 0 again. So the
//! history belongs to a row tree.

use crate::column::Column;
use gannet_types::row::{MAX_DEFINITION, OlderDefinition, RowLayout};
use gannet_types::{SqlType, Value};
use std::sync::Arc;

/// What rows of earlier definitions are to the newest one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Number of the newest definition.
    pub number: u32,
    /// Earlier ones, in ascending order.
    pub older: Vec<OlderDefinition>,
    /// What columns that came after definition 0 read as in earlier rows: by ordinal, ascending.
    pub defaults: Vec<(u32, Value)>,
}

impl History {
    /// The layout of the rows.
    pub(crate) fn layout(&self, columns: &[Column]) -> RowLayout {
        let types: Vec<SqlType> = columns.iter().map(|c| c.ty.clone()).collect();
        let mut defaults = Vec::new();
        for (ordinal, value) in &self.defaults {
            let Some(ty) = types.get(*ordinal as usize) else { break };
            defaults.resize(*ordinal as usize, Value::Null);
            // Collation and members are those of the newest type.
            defaults.push(match (value, &ty.members) {
                (Value::Str(text, _), _) => Value::Str(text.clone(), ty.collation),
                (Value::Enum(n, _), Some(members)) => Value::Enum(*n, members.clone()),
                (Value::Set(n, _), Some(members)) => Value::Set(*n, members.clone()),
                _ => value.clone(),
            });
        }
        RowLayout::with_history(&types, self.number, &self.older, defaults)
    }

    /// The history after a change from columns `old` to others that were, each, at `origins` among them; `came` are the
    /// values, by ordinal, that new ones read as. `None`: the numbers are used up.
    pub fn next(&self, old: &[Column], origins: &[Option<u32>], came: &[(u32, Value)]) -> Option<Arc<History>> {
        let place = |ordinal: usize| origins.iter().position(|o| *o == Some(ordinal as u32));
        let mut older = self.older.clone();
        for column in older.iter_mut().flat_map(|o| &mut o.columns) {
            column.1 = column.1.and_then(place);
        }
        let columns = old.iter().enumerate().map(|(i, c)| (c.ty.clone(), place(i))).collect();
        older.push(OlderDefinition { number: self.number, columns });
        let kept = self.defaults.iter().filter_map(|(o, value)| Some((place(*o as usize)? as u32, value.clone())));
        let mut defaults: Vec<(u32, Value)> = kept.chain(came.iter().cloned()).collect();
        defaults.sort_by_key(|d| d.0);
        let number = self.number + 1;
        (number <= MAX_DEFINITION).then(|| Arc::new(History { number, older, defaults }))
    }
}
