//! Tables of TPC-C 1.3, and the initial population of 4.3.3.

use super::{
    client::{Client, Outcome},
    random::{Random, cents, last_name},
};
use std::fmt::Write;

/// The nine tables with the keys of the specification, in the order in which they are made.
pub const TABLES: &[(&str, &str)] = &[
    (
        "warehouse",
        "w_id SMALLINT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), w_city VARCHAR(20), \
         w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2), PRIMARY KEY (w_id)",
    ),
    (
        "district",
        "d_id TINYINT NOT NULL, d_w_id SMALLINT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), \
         d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT, \
         PRIMARY KEY (d_w_id, d_id)",
    ),
    (
        "customer",
        "c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id SMALLINT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2), \
         c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), \
         c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4), \
         c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt SMALLINT, c_delivery_cnt SMALLINT, c_data TEXT, \
         PRIMARY KEY (c_w_id, c_d_id, c_id), KEY idx_customer (c_w_id, c_d_id, c_last, c_first)",
    ),
    (
        "history",
        "h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT, h_d_id TINYINT, h_w_id SMALLINT, h_date DATETIME, \
         h_amount DECIMAL(6,2), h_data VARCHAR(24)",
    ),
    (
        "orders",
        "o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id SMALLINT NOT NULL, o_c_id INT, o_entry_d DATETIME, \
         o_carrier_id TINYINT, o_ol_cnt TINYINT, o_all_local TINYINT, PRIMARY KEY (o_w_id, o_d_id, o_id), \
         KEY idx_orders (o_w_id, o_d_id, o_c_id, o_id)",
    ),
    (
        "new_orders",
        "no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id SMALLINT NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    ),
    (
        "item",
        "i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50), PRIMARY KEY (i_id)",
    ),
    (
        "stock",
        "s_i_id INT NOT NULL, s_w_id SMALLINT NOT NULL, s_quantity SMALLINT, s_dist_01 CHAR(24), s_dist_02 CHAR(24), \
         s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24), \
         s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd DECIMAL(8,0), s_order_cnt SMALLINT, s_remote_cnt SMALLINT, \
         s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id)",
    ),
    (
        "order_line",
        "ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id SMALLINT NOT NULL, ol_number TINYINT NOT NULL, ol_i_id INT, \
         ol_supply_w_id SMALLINT, ol_delivery_d DATETIME, ol_quantity TINYINT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24), \
         PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    ),
];

/// Collects rows into INSERT statements of about a quarter megabyte.
struct Batch<'a> {
    client: &'a mut Client,
    table: &'static str,
    text: String,
}

impl<'a> Batch<'a> {
    fn new(client: &'a mut Client, table: &'static str) -> Batch<'a> {
        Batch { client, table, text: String::new() }
    }

    fn row(&mut self, values: std::fmt::Arguments<'_>) -> Outcome<()> {
        let separator =
            if self.text.is_empty() { format!("INSERT INTO {} VALUES ", self.table) } else { ",".to_owned() };
        let _ = write!(self.text, "{separator}({values})");
        if self.text.len() > 256 * 1024 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Outcome<()> {
        if !self.text.is_empty() {
            self.client.run(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}

/// Makes the database and its tables.
pub fn create(client: &mut Client, database: &str) -> Outcome<()> {
    client.run(&format!("DROP DATABASE IF EXISTS {database}"))?;
    client.run(&format!("CREATE DATABASE {database}"))?;
    client.run(&format!("USE {database}"))?;
    for (name, columns) in TABLES {
        client.run(&format!("CREATE TABLE {name} ({columns}) ENGINE=InnoDB"))?;
    }
    Ok(())
}

/// The 100,000 items.
pub fn load_items(client: &mut Client, random: &mut Random) -> Outcome<()> {
    let mut batch = Batch::new(client, "item");
    for id in 1..=100_000 {
        let (image, name) = (random.range(1, 10_000), random.letters(14, 24));
        let (price, data) = (cents(random.range(100, 10_000) as i64), random.data());
        batch.row(format_args!("{id},{image},'{name}',{price},'{data}'"))?;
    }
    batch.flush()
}

/// One warehouse with its stock, districts, customers and orders.
pub fn load_warehouse(client: &mut Client, random: &mut Random, w: u64) -> Outcome<()> {
    let (name, tax) = (random.letters(6, 10), random.range(0, 2000));
    let address = address(random);
    client.run(&format!("INSERT INTO warehouse VALUES ({w},'{name}',{address},0.{tax:04},300000.00)"))?;
    let mut stock = Batch::new(client, "stock");
    for item in 1..=100_000 {
        let quantity = random.range(10, 100);
        let dists: Vec<String> = (0..10).map(|_| format!("'{}'", random.letters(24, 24))).collect();
        let data = random.data();
        stock.row(format_args!("{item},{w},{quantity},{},0,0,0,'{data}'", dists.join(",")))?;
    }
    stock.flush()?;
    for d in 1..=10 {
        load_district(client, random, w, d)?;
    }
    Ok(())
}

fn address(random: &mut Random) -> String {
    format!(
        "'{}','{}','{}','{}','{}'",
        random.letters(10, 20),
        random.letters(10, 20),
        random.letters(10, 20),
        random.letters(2, 2),
        random.zip()
    )
}

fn load_district(client: &mut Client, random: &mut Random, w: u64, d: u64) -> Outcome<()> {
    let (name, tax) = (random.letters(6, 10), random.range(0, 2000));
    let place = address(random);
    client.run(&format!("INSERT INTO district VALUES ({d},{w},'{name}',{place},0.{tax:04},30000.00,3001)"))?;
    load_customers(client, random, w, d)?;
    load_orders(client, random, w, d)
}

fn load_customers(client: &mut Client, random: &mut Random, w: u64, d: u64) -> Outcome<()> {
    let mut customers = Batch::new(client, "customer");
    for c in 1..=3000 {
        let last = if c <= 1000 { last_name(c - 1) } else { random.last_name() };
        let (first, place, phone) = (random.letters(8, 16), address(random), random.digits(16));
        let credit = if random.percent(10) { "BC" } else { "GC" };
        let (discount, data) = (random.range(0, 5000), random.letters(300, 500));
        customers.row(format_args!(
            "{c},{d},{w},'{first}','OE','{last}',{place},'{phone}',NOW(),'{credit}',50000.00,0.{discount:04},-10.00,10.00,1,0,'{data}'"
        ))?;
    }
    customers.flush()?;
    let mut history = Batch::new(client, "history");
    for c in 1..=3000 {
        let data = random.letters(12, 24);
        history.row(format_args!("{c},{d},{w},{d},{w},NOW(),10.00,'{data}'"))?;
    }
    history.flush()
}

fn load_orders(client: &mut Client, random: &mut Random, w: u64, d: u64) -> Outcome<()> {
    let mut customers: Vec<u64> = (1..=3000).collect();
    random.shuffle(&mut customers);
    let counts: Vec<u64> = (0..3000).map(|_| random.range(5, 15)).collect();
    let mut orders = Batch::new(client, "orders");
    for (o, (c, lines)) in (1..).zip(customers.iter().zip(&counts)) {
        let carrier = if o < 2101 { random.range(1, 10).to_string() } else { "NULL".to_owned() };
        orders.row(format_args!("{o},{d},{w},{c},NOW(),{carrier},{lines},1"))?;
    }
    orders.flush()?;
    let mut new_orders = Batch::new(client, "new_orders");
    for o in 2101..=3000 {
        new_orders.row(format_args!("{o},{d},{w}"))?;
    }
    new_orders.flush()?;
    let mut order_lines = Batch::new(client, "order_line");
    for (o, lines) in (1..).zip(&counts) {
        for number in 1..=*lines {
            let (item, info) = (random.range(1, 100_000), random.letters(24, 24));
            let delivered = o < 2101;
            let amount = if delivered { 0 } else { random.range(1, 999_999) as i64 };
            let date = if delivered { "NOW()" } else { "NULL" };
            order_lines.row(format_args!("{o},{d},{w},{number},{item},{w},{date},5,{},'{info}'", cents(amount)))?;
        }
    }
    order_lines.flush()
}
