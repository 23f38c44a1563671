//! The twelve consistency conditions (TPC-C 3.3.2).
//!
//! The server only scans and groups; the comparison is done here, so that a wrong join in the server cannot hide a
//! wrong row.

use super::client::{Client, Outcome, Rows};
use std::collections::BTreeMap;

/// Key of up to four numbers to values (counts, or amounts in cents).
type Map = BTreeMap<Vec<i64>, Vec<i64>>;

/// Checks all conditions; each gives a line, and an error when it does not hold. `initial`: right after the load,
/// where condition 11 has its exact form.
pub fn check(client: &mut Client, initial: bool) -> Outcome<Vec<(u8, Result<(), String>)>> {
    let warehouse = load(client, "SELECT w_id, w_ytd FROM warehouse", 1)?;
    let district = load(client, "SELECT d_w_id, d_id, d_next_o_id * 1.00, d_ytd FROM district", 2)?;
    let max_order = load(
        client,
        "SELECT o_w_id, o_d_id, MAX(o_id) * 1.00, COUNT(*) * 1.00, SUM(o_ol_cnt) * 1.00 FROM orders GROUP BY o_w_id, o_d_id",
        2,
    )?;
    let new_orders = load(
        client,
        "SELECT no_w_id, no_d_id, MAX(no_o_id) * 1.00, MIN(no_o_id) * 1.00, COUNT(*) * 1.00 FROM new_orders GROUP BY no_w_id, no_d_id",
        2,
    )?;
    let open = load(client, "SELECT no_w_id, no_d_id, no_o_id FROM new_orders", 3)?;
    let orders = load(
        client,
        "SELECT o_w_id, o_d_id, o_id, o_c_id * 1.00, o_ol_cnt * 1.00, (o_carrier_id IS NULL) * 1.00 FROM orders",
        3,
    )?;
    let lines = load(
        client,
        "SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) * 1.00, SUM(ol_delivery_d IS NULL) * 1.00, SUM(ol_amount) FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id",
        3,
    )?;
    let history_w = load(client, "SELECT h_w_id, SUM(h_amount) FROM history GROUP BY h_w_id", 1)?;
    let history_d = load(client, "SELECT h_w_id, h_d_id, SUM(h_amount) FROM history GROUP BY h_w_id, h_d_id", 2)?;
    let history_c = load(
        client,
        "SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id",
        3,
    )?;
    let customers = load(client, "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment FROM customer", 3)?;

    let mut delivered: Map = Map::new();
    for (key, order) in &orders {
        if order[2] == 0 {
            let amount = lines.get(key).map_or(0, |l| l[2]);
            let customer = vec![key[0], key[1], order[0] / 100];
            delivered.entry(customer).or_insert_with(|| vec![0])[0] += amount;
        }
    }
    let delivered_of = |key: &Vec<i64>| delivered.get(key).map_or(0, |v| v[0]);
    let paid = |key: &Vec<i64>| history_c.get(key).map_or(0, |v| v[0]);

    let mut results = Vec::new();
    let mut say = |number: u8, fault: Option<String>| results.push((number, fault.map_or(Ok(()), Err)));
    let mut by_warehouse: Map = Map::new();
    for (key, d) in &district {
        by_warehouse.entry(vec![key[0]]).or_insert_with(|| vec![0])[0] += d[1];
    }
    say(1, differ(&warehouse, |k, v| (v[0], by_warehouse.get(k).map_or(0, |x| x[0]))));
    say(
        2,
        differ(&district, |k, v| (v[0] - 100, max_order.get(k).map_or(0, |o| o[0])))
            .or_else(|| differ(&new_orders, |k, v| (v[0], max_order.get(k).map_or(0, |o| o[0])))),
    );
    say(3, differ(&new_orders, |_, v| (v[0] - v[1] + 100, v[2])));
    let mut line_count: Map = Map::new();
    for (key, l) in &lines {
        line_count.entry(key[..2].to_vec()).or_insert_with(|| vec![0])[0] += l[0];
    }
    say(4, differ(&max_order, |k, v| (v[2], line_count.get(k).map_or(0, |x| x[0]))));
    say(5, differ(&orders, |k, v| (v[2] / 100, i64::from(open.contains_key(k)))));
    say(6, differ(&orders, |k, v| (v[1], lines.get(k).map_or(0, |l| l[0]))));
    say(7, differ(&orders, |k, v| (if v[2] == 0 { 0 } else { v[1] }, lines.get(k).map_or(0, |l| l[1]))));
    say(8, differ(&warehouse, |k, v| (v[0], history_w.get(k).map_or(0, |h| h[0]))));
    say(9, differ(&district, |k, v| (v[1], history_d.get(k).map_or(0, |h| h[0]))));
    say(10, differ(&customers, |k, v| (v[0], delivered_of(k) - paid(k))));
    say(
        11,
        differ(&district, |k, _| {
            let total = max_order.get(k).map_or(0, |o| o[1]) / 100;
            let closed = total - new_orders.get(k).map_or(0, |n| n[2]) / 100;
            (if initial { closed } else { closed.min(2100) }, 2100)
        }),
    );
    say(12, differ(&customers, |k, v| (v[0] + v[1], delivered_of(k))));
    Ok(results)
}

/// The first key whose two sides differ.
fn differ(map: &Map, sides: impl Fn(&Vec<i64>, &Vec<i64>) -> (i64, i64)) -> Option<String> {
    if map.is_empty() {
        return Some("no rows".to_owned());
    }
    map.iter().find_map(|(key, value)| {
        let (left, right) = sides(key, value);
        (left != right).then(|| format!("at {key:?}: {left} against {right} (hundredths)"))
    })
}

/// Reads a result of `keys` integer columns followed by amounts.
fn load(client: &mut Client, sql: &str, keys: usize) -> Outcome<Map> {
    let rows: Rows = client.query(sql)?;
    let mut map = Map::new();
    for row in 0..rows.len() {
        let key = (0..keys).map(|c| rows.int(row, c)).collect::<Outcome<Vec<i64>>>()?;
        let value = (keys..rows.width()).map(|c| rows.cents(row, c)).collect::<Outcome<Vec<i64>>>()?;
        map.insert(key, value);
    }
    Ok(map)
}
