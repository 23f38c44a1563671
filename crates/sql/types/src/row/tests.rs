use super::*;
use crate::testing::{random_type, random_value, seeds};

#[test]
fn what_is_patched_is_what_would_be_encoded() {
    let mut patched = 0;
    seeds(1500, |rng| {
        let types: Vec<SqlType> = (0..1 + rng.below(12)).map(|_| random_type(rng)).collect();
        let layout = RowLayout::new(&types);
        let mut values: Vec<Value> = types.iter().map(|t| random_value(rng, t)).collect();
        let (mut payload, mut wanted) = (Vec::new(), Vec::new());
        layout.encode_values(&values, &mut payload).unwrap();
        let before = payload.clone();
        let col = rng.below(types.len());
        values[col] = random_value(rng, &types[col]);
        layout.encode_values(&values, &mut wanted).unwrap();
        let done = layout.patch(&mut payload, col, values[col].as_ref()).unwrap();
        assert_eq!(payload, if done { &wanted[..] } else { &before[..] }, "{types:?}, column {col}");
        patched += u32::from(done);
        // Bytes that are cut give an error or nothing, and no panic.
        let cut = rng.below(payload.len());
        let _ = layout.patch(&mut payload[..cut], col, values[col].as_ref());
    });
    assert!(patched > 500, "{patched}");
}

#[test]
fn rows_round_trip() {
    seeds(1500, |rng| {
        let types: Vec<SqlType> = (0..rng.below(40)).map(|_| random_type(rng)).collect();
        let layout = RowLayout::new(&types);
        let mut values: Vec<Value> = types.iter().map(|t| random_value(rng, t)).collect();
        if rng.chance(10)
            && let Some(i) = types.iter().position(|t| t.id == TypeId::LongBlob)
        {
            values[i] = Value::bytes(&vec![7; 70_000]);
        }
        let mut payload = vec![0xAA; 3];
        layout.encode_values(&values, &mut payload).unwrap();
        let payload = &payload[3..];
        let short = layout.short_len(payload).unwrap();
        for (i, v) in values.iter().enumerate() {
            assert_eq!(&layout.get(payload, i).unwrap().to_owned(), v, "{:?}", types[i]);
            if !layout.is_long(i) {
                assert_eq!(&layout.get(&payload[..short], i).unwrap().to_owned(), v);
            }
            if let Value::Str(text, _) = v {
                assert_eq!(layout.get_bytes(payload, i).unwrap().unwrap(), text.as_bytes());
            }
        }
        assert_eq!(layout.get(payload, values.len()), Err(Corrupt::Column));
    });
}

#[test]
fn damaged_rows_are_errors_not_panics() {
    seeds(1500, |rng| {
        let types: Vec<SqlType> = (0..1 + rng.below(8)).map(|_| random_type(rng)).collect();
        let layout = RowLayout::new(&types);
        let values: Vec<Value> = types.iter().map(|t| random_value(rng, t)).collect();
        let mut payload = Vec::new();
        layout.encode_values(&values, &mut payload).unwrap();
        payload.truncate(rng.below(payload.len() + 1));
        for _ in 0..rng.below(4) {
            if !payload.is_empty() {
                let at = rng.below(payload.len());
                payload[at] = rng.next() as u8;
            }
        }
        for i in 0..types.len() {
            if let Ok(v) = layout.get(&payload, i) {
                let mut text = Vec::new();
                v.write_text(&mut text);
            }
            let _ = layout.get_bytes(&payload, i);
        }
        let _ = layout.short_len(&payload);
    });
}

/// One of the changes that leave rows as they are, to a definition whose columns are `(type, what absent ones read
/// as)`.
fn change(rng: &mut crate::testing::Rng, now: &mut Vec<(SqlType, Value)>) -> Vec<Option<usize>> {
    let mut origins: Vec<Option<usize>> = (0..now.len()).map(Some).collect();
    match rng.below(4) {
        0 | 1 => {
            let at = rng.below(now.len() + 1);
            let ty = random_type(rng);
            let value = random_value(rng, &ty);
            now.insert(at, (ty, value));
            origins.insert(at, None);
        }
        2 if now.len() > 1 => {
            let at = rng.below(now.len());
            now.remove(at);
            origins.remove(at);
        }
        _ => {
            let (from, to) = (rng.below(now.len()), rng.below(now.len()));
            let (column, origin) = (now.remove(from), origins.remove(from));
            now.insert(to, column);
            origins.insert(to, origin);
        }
    }
    origins
}

#[test]
fn rows_of_every_definition_read_as_a_model() {
    seeds(300, |rng| {
        let mut now: Vec<(SqlType, Value)> = (0..1 + rng.below(5)).map(|_| (random_type(rng), Value::Null)).collect();
        let mut history: Vec<OlderDefinition> = Vec::new();
        let mut rows: Vec<(Vec<u8>, Vec<Value>)> = Vec::new();
        // The numbers of some begin where two bytes do not hold them any more.
        let mut number = if rng.chance(3) { u32::from(COUNT) - 2 } else { 0 };
        for _ in 0..8 {
            let types: Vec<SqlType> = now.iter().map(|c| c.0.clone()).collect();
            let defaults = now.iter().map(|c| c.1.clone()).collect();
            let layout = RowLayout::with_history(&types, number, &history, defaults);
            let values: Vec<Value> = types.iter().map(|t| random_value(rng, t)).collect();
            let mut payload = Vec::new();
            layout.encode_values(&values, &mut payload).unwrap();
            rows.push((payload, values));
            for (payload, values) in &rows {
                for (i, v) in values.iter().enumerate() {
                    assert_eq!(&layout.get(payload, i).unwrap().to_owned(), v);
                }
                assert_eq!(layout.get(payload, types.len()), Err(Corrupt::Column));
                layout.short_len(payload).unwrap();
            }
            let origins = change(rng, &mut now);
            let place = |old: usize| origins.iter().position(|o| *o == Some(old));
            for older in &mut history {
                older.columns.iter_mut().for_each(|c| c.1 = c.1.and_then(place));
            }
            let columns = types.into_iter().enumerate().map(|(i, ty)| (ty, place(i))).collect();
            history.push(OlderDefinition { number, columns });
            let came = |i: usize| now[i].1.clone();
            for (_, values) in &mut rows {
                let value = |(i, o): (usize, &Option<usize>)| o.map_or_else(|| came(i), |o| values[o].clone());
                *values = origins.iter().enumerate().map(value).collect();
            }
            number += 1;
        }
        let types: Vec<SqlType> = now.iter().map(|c| c.0.clone()).collect();
        let stranger = RowLayout::with_history(&types, number + 7, &history[..1], Vec::new());
        assert_eq!(stranger.get(&rows[3].0, 0), Err(Corrupt::Columns));
    });
}

#[test]
fn refuses_wrong_values() {
    let layout = RowLayout::new(&[SqlType::BIGINT.not_null()]);
    let mut out = Vec::new();
    assert_eq!(layout.encode_values(&[Value::Null], &mut out).unwrap_err().number(), 1815);
    assert_eq!(layout.encode_values(&[Value::text("1")], &mut out).unwrap_err().number(), 1815);
    assert_eq!(layout.encode_values(&[], &mut out).unwrap_err().number(), 1815);
}
