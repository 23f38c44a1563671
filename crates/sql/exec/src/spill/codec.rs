//! Batches as bytes, little-endian: `rows: u32, columns: u16`, then each column: `kind: u8` and what follows it.
//!
//! | kind | then |
//! |---|---|
//! | 0 integers, 1 doubles, 5 unsigned integers | NULL flags (`any: u8`, one byte a row if any), 8 bytes a row |
//! | 2 text | collation `u16`, NULL flags, end `u32` a row, the bytes |
//! | 3 values | each value: `kind: u8` and its bytes |
//! | 4 constant | one value |
//!
//! Lists of ENUM and SET are named by their number in the file.

use super::damaged;
use crate::batch::{Batch, Column, Nulls, TextColumn};
use gannet_types::{
    CollationId, Date, DateTime, Decimal, Result, Time, Timestamp, Value, members::Members, value::Text,
};
use std::sync::Arc;

pub(super) fn encode(batch: &Batch, members: &mut Vec<Arc<Members>>, out: &mut Vec<u8>) {
    out.extend_from_slice(&(batch.rows as u32).to_le_bytes());
    out.extend_from_slice(&(batch.columns.len() as u16).to_le_bytes());
    for column in &batch.columns {
        match column {
            Column::Int(v, nulls) => {
                out.push(0);
                encode_nulls(nulls, out);
                v.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
            }
            Column::UInt(v, nulls) => {
                out.push(5);
                encode_nulls(nulls, out);
                v.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
            }
            Column::Double(v, nulls) => {
                out.push(1);
                encode_nulls(nulls, out);
                v.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
            }
            Column::Text(t) => {
                out.push(2);
                out.extend_from_slice(&t.collation.0.to_le_bytes());
                encode_nulls(&t.nulls, out);
                t.ends.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
                out.extend_from_slice(&t.bytes);
            }
            Column::Values(v) => {
                out.push(3);
                v.iter().for_each(|x| encode_value(x, members, out));
            }
            Column::Constant(v, _) => {
                out.push(4);
                encode_value(v, members, out);
            }
        }
    }
}

fn encode_nulls(nulls: &Nulls, out: &mut Vec<u8>) {
    out.push(u8::from(!nulls.none()));
    out.extend(nulls.0.iter().map(|n| u8::from(*n)));
}

fn number_of(list: &Arc<Members>, members: &mut Vec<Arc<Members>>) -> u32 {
    let known = members.iter().position(|m| Arc::ptr_eq(m, list));
    known.unwrap_or_else(|| {
        members.push(list.clone());
        members.len() - 1
    }) as u32
}

fn encode_value(value: &Value, members: &mut Vec<Arc<Members>>, out: &mut Vec<u8>) {
    let mut plain = |kind: u8, bytes: &[u8]| {
        out.push(kind);
        out.extend_from_slice(bytes);
    };
    match value {
        Value::Null => plain(0, &[]),
        Value::Int(v) => plain(1, &v.to_le_bytes()),
        Value::UInt(v) => plain(2, &v.to_le_bytes()),
        Value::Decimal(v) => {
            plain(3, &[v.scale()]);
            v.encode(gannet_types::decimal::MAX_PRECISION, v.scale(), out);
        }
        Value::Float(v) => plain(4, &v.to_le_bytes()),
        Value::Double(v) => plain(5, &v.to_le_bytes()),
        Value::Str(text, collation) => {
            plain(6, &collation.0.to_le_bytes());
            encode_text(text, out);
        }
        Value::Date(v) => plain(7, &v.packed().to_le_bytes()),
        Value::Time(v, digits) => {
            plain(8, &v.packed().to_le_bytes());
            out.push(*digits);
        }
        Value::DateTime(v, digits) => {
            plain(9, &v.packed().to_le_bytes());
            out.push(*digits);
        }
        Value::Timestamp(v, digits) => {
            plain(10, &v.unix_micros().to_le_bytes());
            out.push(*digits);
        }
        Value::Year(v) => plain(11, &v.to_le_bytes()),
        Value::Bit(v, width) => {
            plain(12, &v.to_le_bytes());
            out.push(*width);
        }
        Value::Enum(v, list) => {
            plain(13, &v.to_le_bytes());
            out.extend_from_slice(&number_of(list, members).to_le_bytes());
        }
        Value::Set(v, list) => {
            plain(14, &v.to_le_bytes());
            out.extend_from_slice(&number_of(list, members).to_le_bytes());
        }
        Value::Json(text) => {
            out.push(15);
            encode_text(text, out);
        }
    }
}

fn encode_text(text: &Text, out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text);
}

struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, n: usize) -> Result<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[b]| b)
    }

    fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_le_bytes)
    }

    fn nulls(&mut self, rows: usize) -> Result<Nulls> {
        if self.u8()? == 0 {
            return Ok(Nulls::NONE);
        }
        Ok(Nulls(self.take(rows)?.iter().map(|b| *b != 0).collect()))
    }

    /// `rows` numbers of `N` bytes.
    fn numbers<const N: usize, T>(&mut self, rows: usize, of: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let (chunks, _) = self.take(rows.checked_mul(N).ok_or_else(damaged)?)?.as_chunks::<N>();
        Ok(chunks.iter().map(|c| of(*c)).collect())
    }

    fn text(&mut self) -> Result<Text> {
        let len = self.u32()? as usize;
        self.take(len).map(Text::new)
    }

    fn list(&mut self, members: &[Arc<Members>]) -> Result<Arc<Members>> {
        members.get(self.u32()? as usize).cloned().ok_or_else(damaged)
    }

    fn value(&mut self, members: &[Arc<Members>]) -> Result<Value> {
        Ok(match self.u8()? {
            0 => Value::Null,
            1 => Value::Int(self.i64()?),
            2 => Value::UInt(self.u64()?),
            3 => {
                let scale = self.u8()?;
                let bytes = self.take(Decimal::encoded_len(gannet_types::decimal::MAX_PRECISION))?;
                Value::Decimal(Decimal::decode(bytes, scale).ok_or_else(damaged)?)
            }
            4 => Value::Float(self.array().map(f32::from_le_bytes)?),
            5 => Value::Double(self.array().map(f64::from_le_bytes)?),
            6 => {
                let collation = CollationId(self.u16()?);
                Value::Str(self.text()?, collation)
            }
            7 => Value::Date(Date::from_packed(self.u32()?).ok_or_else(damaged)?),
            8 => {
                let time = Time::from_packed(self.i64()?).ok_or_else(damaged)?;
                Value::Time(time, self.u8()?)
            }
            9 => {
                let datetime = DateTime::from_packed(self.i64()?).ok_or_else(damaged)?;
                Value::DateTime(datetime, self.u8()?)
            }
            10 => {
                let timestamp = Timestamp::from_unix_micros(self.i64()?).ok_or_else(damaged)?;
                Value::Timestamp(timestamp, self.u8()?)
            }
            11 => Value::Year(self.u16()?),
            12 => {
                let bits = self.u64()?;
                Value::Bit(bits, self.u8()?)
            }
            13 => {
                let index = self.u16()?;
                Value::Enum(index, self.list(members)?)
            }
            14 => {
                let bits = self.u64()?;
                Value::Set(bits, self.list(members)?)
            }
            15 => Value::Json(self.text()?),
            _ => return Err(damaged()),
        })
    }

    fn column(&mut self, rows: usize, members: &[Arc<Members>]) -> Result<Column> {
        Ok(match self.u8()? {
            0 => {
                let nulls = self.nulls(rows)?;
                Column::Int(self.numbers(rows, i64::from_le_bytes)?, nulls)
            }
            1 => {
                let nulls = self.nulls(rows)?;
                Column::Double(self.numbers(rows, f64::from_le_bytes)?, nulls)
            }
            2 => {
                let collation = CollationId(self.u16()?);
                let nulls = self.nulls(rows)?;
                let ends = self.numbers(rows, u32::from_le_bytes)?;
                if !ends.is_sorted() {
                    return Err(damaged());
                }
                let bytes = self.take(ends.last().map_or(0, |e| *e as usize))?.to_vec();
                Column::Text(TextColumn { ends, bytes, nulls, collation })
            }
            3 => Column::Values((0..rows).map(|_| self.value(members)).collect::<Result<_>>()?),
            4 => Column::Constant(self.value(members)?, rows),
            5 => {
                let nulls = self.nulls(rows)?;
                Column::UInt(self.numbers(rows, u64::from_le_bytes)?, nulls)
            }
            _ => return Err(damaged()),
        })
    }
}

pub(super) fn decode(bytes: &[u8], members: &[Arc<Members>]) -> Result<Batch> {
    let mut reader = Reader(bytes);
    let rows = reader.u32()? as usize;
    let columns = reader.u16()?;
    let columns = (0..columns).map(|_| reader.column(rows, members)).collect::<Result<_>>()?;
    if reader.0.is_empty() { Ok(Batch { rows, columns }) } else { Err(damaged()) }
}
