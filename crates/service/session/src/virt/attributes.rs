//! information_schema's tables of attributes for engines: ENGINE_ATTRIBUTE and SECONDARY_ENGINE_ATTRIBUTE.

use super::declare::{JSON, NAME};
use super::metadata::{CATALOG, each_table, kept_back};
use super::{Emit, Equals, text};
use crate::state::State;
use gannet_core::accounts::Privileges;
use gannet_schema::EngineAttributes;
use gannet_schema::options::{ENGINE_ATTRIBUTE, SECONDARY_ENGINE_ATTRIBUTE, text_of};
use gannet_types::room::Room;
use gannet_types::{Result, Value, json};

tables! {
    INFORMATION_SCHEMA in "information_schema":
    COLUMNS_EXTENSIONS by columns {
        TABLE_CATALOG: NAME.bin().not_null(), TABLE_SCHEMA: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(),
        COLUMN_NAME: NAME, ENGINE_ATTRIBUTE: JSON, SECONDARY_ENGINE_ATTRIBUTE: JSON,
    }
    TABLES_EXTENSIONS by tables {
        TABLE_CATALOG: NAME.bin().not_null(), TABLE_SCHEMA: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(),
        ENGINE_ATTRIBUTE: JSON, SECONDARY_ENGINE_ATTRIBUTE: JSON,
    }
    TABLE_CONSTRAINTS_EXTENSIONS by constraints {
        CONSTRAINT_CATALOG: NAME.bin().not_null(), CONSTRAINT_SCHEMA: NAME.bin().not_null(),
        CONSTRAINT_NAME: NAME.not_null(), TABLE_NAME: NAME.bin().not_null(), ENGINE_ATTRIBUTE: JSON,
        SECONDARY_ENGINE_ATTRIBUTE: JSON,
    }
}

/// A document as a value; NULL where there is none.
fn document(text: &str) -> Result<Value> {
    match json::parse(text.as_bytes()) {
        Ok(json) => Ok(Value::Json(json.to_text(Room::FREE)?)),
        Err(_) => Ok(Value::Null),
    }
}

fn both(attributes: &EngineAttributes) -> Result<(Value, Value)> {
    Ok((document(&attributes.engine)?, document(&attributes.secondary)?))
}

fn columns(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let state = &*state;
    let access = &state.access;
    each_table(state, equals, ("TABLE_SCHEMA", "TABLE_NAME"), |_, t| {
        for c in t.columns.iter().skip(kept_back(state, t)).filter(|c| !c.hidden) {
            if !access.all && access.column(&t.schema, &t.name, &c.name) == Privileges::NONE {
                continue;
            }
            let (engine, secondary) = both(&c.attributes)?;
            emit(&[text(CATALOG), text(&t.schema), text(&t.name), text(&c.name), engine, secondary])?;
        }
        Ok(())
    })
}

fn tables(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    each_table(state, equals, ("TABLE_SCHEMA", "TABLE_NAME"), |_, t| {
        let of = |name| document(&text_of(&t.options.create_options, name).unwrap_or_default());
        let (engine, secondary) = (of(ENGINE_ATTRIBUTE)?, of(SECONDARY_ENGINE_ATTRIBUTE)?);
        emit(&[text(CATALOG), text(&t.schema), text(&t.name), engine, secondary])
    })
}

fn constraints(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let state = &*state;
    each_table(state, equals, ("CONSTRAINT_SCHEMA", "TABLE_NAME"), |_, t| {
        for i in t.indexes.iter().skip(kept_back(state, t)).filter(|i| i.unique()) {
            let (engine, secondary) = both(&i.attributes)?;
            emit(&[text(CATALOG), text(&t.schema), text(&i.name), text(&t.name), engine, secondary])?;
        }
        Ok(())
    })
}
