//! A container: a table whose rows are items, and which of its columns are what.

use crate::config::Mapping;
use gannet_core::work::{OpenTable, Work};
use gannet_exec::kv::{Defaults, KeyValueTable, NewRow, StoredRow};
use gannet_types::{Result, SqlError, TimeZone, ValueRef, sql_err};

/// A container with its table's newest definition.
pub(crate) struct Container {
    pub(crate) table: OpenTable,
    pub(crate) columns: Columns,
}

/// Columns, by their place in the table.
pub(crate) struct Columns {
    key: u32,
    /// Two keys that differ are never equal: the column compares bytes.
    exact: bool,
    values: Box<[u32]>,
    separator: u8,
    flags: Option<u32>,
    /// The flags have room for the state.
    wide: bool,
    cas: Option<u32>,
    pub(crate) expiry: Option<u32>,
    pub(crate) defaults: Defaults,
}

/// What a row says of its item, beside key and value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    pub(crate) flags: u32,
    /// [`STALE`], [`SENT`], [`OWN_CAS`]: above the client's flags in a column of 64 bits.
    pub(crate) state: u32,
    /// Seconds since 1970; 0: never.
    pub(crate) expiry: i64,
}

/// Somebody has to renew the item.
pub(crate) const STALE: u32 = 1;
/// A client was told that it is the one to renew it.
pub(crate) const SENT: u32 = 2;
/// Its cas number is the client's own.
pub(crate) const OWN_CAS: u32 = 4;

impl Facts {
    pub(crate) fn is_expired(&self, now_s: i64) -> bool {
        self.expiry != 0 && self.expiry <= now_s
    }
}

fn unusable(mapping: &Mapping, why: impl std::fmt::Display) -> SqlError {
    SqlError::unsupported(format_args!("container {}: {why}", mapping.name))
}

impl Container {
    /// Opens a container's table. Errors 1054, 1146 and the like for what is not there, 1235 for what cannot be served.
    pub(crate) fn open(work: &Work, mapping: &Mapping, separator: u8) -> Result<Container> {
        let open = OpenTable::open(work, &mapping.schema, &mapping.table)?;
        let table = open.table().clone();
        let column = |name: &str| table.column(name).ok_or_else(|| sql_err!(BadField, name, mapping.name));
        let optional = |name: &Option<String>| name.as_deref().map(column).transpose();
        let whole = mapping.is_whole_table();
        let key = match table.clustered_columns() {
            [key] if whole => *key,
            _ if whole => return Err(unusable(mapping, "its primary key is not one column")),
            _ => column(&mapping.key)?,
        };
        if table.clustered_columns() != [key] {
            return Err(unusable(mapping, format_args!("{} is not the whole primary key", mapping.key)));
        }
        let others = (0..table.columns.len() as u32).filter(|c| *c != key && !table.columns[*c as usize].hidden);
        let values: Box<[u32]> = match whole {
            true => others.collect(),
            false => mapping.values.iter().map(|name| column(name)).collect::<Result<_>>()?,
        };
        if values.is_empty() {
            return Err(unusable(mapping, "it has no column of values"));
        }
        let (flags, cas, expiry) = (optional(&mapping.flags)?, optional(&mapping.cas)?, optional(&mapping.expiry)?);
        for one in [flags, cas, expiry].into_iter().flatten() {
            let column = &table.columns[one as usize];
            if !column.ty.id.is_integer() {
                return Err(unusable(mapping, format_args!("column {} holds no integers", column.name)));
            }
        }
        let given: Vec<u32> =
            [Some(key), flags, cas, expiry].into_iter().flatten().chain(values.iter().copied()).collect();
        let mut once = given.clone();
        once.sort_unstable();
        once.dedup();
        if once.len() != given.len() {
            return Err(unusable(mapping, "a column is named twice"));
        }
        let ty = &table.columns[key as usize].ty;
        let exact = !ty.id.is_string() || ty.collation == gannet_types::CollationId::BINARY;
        let defaults = open.rows().defaults(&given)?;
        let wide = flags.is_some_and(|c| table.columns[c as usize].ty.id == gannet_types::TypeId::BigInt);
        let columns = Columns { key, exact, values, separator, flags, wide, cas, expiry, defaults };
        Ok(Container { table: open, columns })
    }
}

fn number(value: ValueRef<'_>) -> i128 {
    match value {
        ValueRef::Int(n) => n.into(),
        ValueRef::UInt(n) => n.into(),
        _ => 0,
    }
}

impl Columns {
    fn number(&self, row: StoredRow<'_>, column: Option<u32>) -> Result<i128> {
        column.map_or(Ok(0), |c| row.get(c).map(number))
    }

    /// The row has this very key, not one that its collation takes for the same.
    pub(crate) fn is_of(&self, row: StoredRow<'_>, key: &[u8]) -> Result<bool> {
        if self.exact {
            return Ok(true);
        }
        Ok(matches!(row.get(self.key)?, ValueRef::Str(stored, _) if stored == key))
    }

    pub(crate) fn facts(&self, row: StoredRow<'_>) -> Result<Facts> {
        let (flags, expiry) = (self.number(row, self.flags)?, self.number(row, self.expiry)?);
        let state = if self.wide { (flags >> 32) as u32 & (STALE | SENT | OWN_CAS) } else { 0 };
        Ok(Facts { flags: flags as u32, state, expiry: i64::try_from(expiry).unwrap_or(i64::MAX) })
    }

    /// Appends an item's value.
    pub(crate) fn value(&self, row: StoredRow<'_>, out: &mut Vec<u8>) -> Result<()> {
        for (n, column) in self.values.iter().enumerate() {
            if n > 0 {
                out.push(self.separator);
            }
            match row.get(*column)? {
                ValueRef::Null => {}
                ValueRef::Str(bytes, _) => out.extend_from_slice(bytes),
                value => value.write_text(out),
            }
        }
        Ok(())
    }

    /// The value where it is the bytes of one column, without a copy.
    pub(crate) fn plain<'r>(&self, row: StoredRow<'r>) -> Result<Option<&'r [u8]>> {
        let [column] = self.values[..] else { return Ok(None) };
        Ok(match row.get(column)? {
            ValueRef::Str(bytes, _) => Some(bytes),
            ValueRef::Null => Some(b""),
            _ => None,
        })
    }

    /// What tells a client that its item has not changed: a digest of value, flags and the number in the cas column.
    /// Any change of them tells another one, those of SQL too. A number of the client's own is that number.
    pub(crate) fn token(&self, row: StoredRow<'_>, facts: Facts) -> Result<u64> {
        use std::hash::{BuildHasher, Hasher};
        let number = self.number(row, self.cas)? as u64;
        if facts.state & OWN_CAS != 0 {
            return Ok(number);
        }
        let mut hasher = foldhash::quality::FixedState::with_seed(0x6d65_6d63_6163_6865).build_hasher();
        hasher.write_u64(number);
        hasher.write_u32(facts.flags);
        match self.plain(row)? {
            Some(value) => hasher.write(value),
            None => {
                let mut value = Vec::new();
                self.value(row, &mut value)?;
                hasher.write(&value);
            }
        }
        // Clients in languages without unsigned numbers take it, too.
        Ok((hasher.finish() >> 1).max(1))
    }

    /// Items can be stale.
    pub(crate) fn has_state(&self) -> bool {
        self.wide
    }

    /// Items can have a cas number of the client's own.
    pub(crate) fn takes_cas(&self) -> bool {
        self.wide && self.cas.is_some()
    }

    /// Gives a new row its value. Error 1136 for one that has not as many parts as there are columns.
    pub(crate) fn give_value(
        &self,
        rows: &KeyValueTable,
        new: &mut NewRow,
        value: &[u8],
        zone: &TimeZone,
    ) -> Result<()> {
        if let [column] = self.values[..] {
            return rows.give(new, column, value, zone);
        }
        let parts = || value.split(|b| *b == self.separator);
        if parts().count() != self.values.len() {
            return Err(sql_err!(WrongValueCountOnRow, 1));
        }
        self.values.iter().zip(parts()).try_for_each(|(column, part)| rows.give(new, *column, part, zone))
    }

    pub(crate) fn give_key(&self, rows: &KeyValueTable, new: &mut NewRow, key: &[u8], zone: &TimeZone) -> Result<()> {
        rows.give(new, self.key, key, zone)
    }

    pub(crate) fn give_facts(
        &self,
        rows: &KeyValueTable,
        new: &mut NewRow,
        facts: Facts,
        zone: &TimeZone,
    ) -> Result<()> {
        let give = |new: &mut NewRow, column: Option<u32>, n: i128| {
            column.map_or(Ok(()), |column| rows.give_number(new, column, n, zone))
        };
        let state = if self.wide { facts.state } else { 0 };
        give(new, self.flags, i128::from(u64::from(state) << 32 | u64::from(facts.flags)))?;
        give(new, self.expiry, facts.expiry.into())
    }

    /// Gives a changed row its number in the cas column: the client's own, or one that is greater than the one it had,
    /// and than those of a row that had its key before.
    pub(crate) fn renew(
        &self,
        rows: &KeyValueTable,
        new: &mut NewRow,
        (old, own): (Option<StoredRow<'_>>, Option<u64>),
        (now_us, zone): (u64, &TimeZone),
    ) -> Result<()> {
        let Some(column) = self.cas else { return Ok(()) };
        let before = old.map_or(Ok(0), |row| row.get(column).map(number))?;
        let next = (before + 1).max(now_us.into()).min(i64::MAX.into());
        rows.give_number(new, column, own.map_or(next, i128::from), zone)
    }

    /// Its value is that of several columns, or of none: it is no counter.
    pub(crate) fn is_multiple(&self) -> bool {
        self.values.len() != 1
    }
}
