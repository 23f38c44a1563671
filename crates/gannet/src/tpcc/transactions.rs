//! The five transactions (TPC-C 2.4 to 2.8) as prepared statements.

use super::{
    client::{Arg, Client, Outcome, Rows, Statement},
    random::Random,
};
use Arg::{Int, Text};

/// Which transaction; the numbers index statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// 2.4
    NewOrder,
    /// 2.5
    Payment,
    /// 2.6
    OrderStatus,
    /// 2.7
    Delivery,
    /// 2.8
    StockLevel,
}

impl Kind {
    /// All, with their share of the mix in percent (5.2.3).
    pub const MIX: [(Kind, u64); 5] =
        [(Kind::NewOrder, 45), (Kind::Payment, 43), (Kind::OrderStatus, 4), (Kind::Delivery, 4), (Kind::StockLevel, 4)];

    /// Draws one by its share.
    pub fn draw(random: &mut Random) -> Kind {
        let mut at = random.range(1, 100);
        for (kind, share) in Kind::MIX {
            if at <= share {
                return kind;
            }
            at -= share;
        }
        Kind::NewOrder
    }
}

macro_rules! statements {
    ($($name:ident: $sql:expr,)*) => {
        /// One terminal's prepared statements.
        struct Statements { $($name: Statement,)* }

        impl Statements {
            fn prepare(client: &mut Client) -> Outcome<Statements> {
                Ok(Statements { $($name: client.prepare($sql)?,)* })
            }
        }
    };
}

statements! {
    customer_tax: "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
    district_next: "SELECT d_next_o_id, d_tax FROM district WHERE d_id = ? AND d_w_id = ? FOR UPDATE",
    district_bump: "UPDATE district SET d_next_o_id = ? + 1 WHERE d_id = ? AND d_w_id = ?",
    order_insert: "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, NOW(), ?, ?)",
    new_order_insert: "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
    item_price: "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
    stock_row: "SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM stock WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
    stock_update: "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? WHERE s_i_id = ? AND s_w_id = ?",
    line_insert: "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    warehouse_pay: "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
    warehouse_row: "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse WHERE w_id = ?",
    district_pay: "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
    district_row: "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id = ? AND d_id = ?",
    customers_named: "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
    customer_lock: "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_since FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
    customer_data: "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    customer_pay: "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    customer_pay_bad: "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    history_insert: "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
    customer_status: "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    last_order: "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
    order_lines: "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    oldest_new: "SELECT no_o_id FROM new_orders WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    new_order_delete: "DELETE FROM new_orders WHERE no_o_id = ? AND no_d_id = ? AND no_w_id = ?",
    order_customer: "SELECT o_c_id FROM orders WHERE o_id = ? AND o_d_id = ? AND o_w_id = ? FOR UPDATE",
    order_carrier: "UPDATE orders SET o_carrier_id = ? WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?",
    lines_deliver: "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?",
    lines_total: "SELECT SUM(ol_amount) FROM order_line WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?",
    customer_deliver: "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = ? AND c_d_id = ? AND c_w_id = ?",
    district_next_plain: "SELECT d_next_o_id FROM district WHERE d_id = ? AND d_w_id = ?",
    stock_low: "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? - 20 AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?",
}

/// A terminal: its connection, statements and random numbers.
pub struct Terminal {
    client: Client,
    statements: Statements,
    random: Random,
    warehouses: u64,
    home: u64,
}

/// How a transaction ended.
pub enum End {
    /// Committed.
    Committed,
    /// A new order with an unknown item: rolled back as the specification wants (2.4.1.4).
    RolledBack,
}

fn int(rows: &Rows, column: usize) -> Outcome<i64> {
    rows.int(0, column)
}

impl Terminal {
    /// Prepares all statements; the terminal belongs to warehouse `home`.
    pub fn new(mut client: Client, seed: u64, warehouses: u64, home: u64) -> Outcome<Terminal> {
        let statements = Statements::prepare(&mut client)?;
        Ok(Terminal { client, statements, random: Random::new(seed), warehouses, home })
    }

    /// Draws the next transaction.
    pub fn draw(&mut self) -> Kind {
        Kind::draw(&mut self.random)
    }

    /// Runs one transaction; an error leaves it rolled back.
    pub fn run(&mut self, kind: Kind) -> Outcome<End> {
        let end = match kind {
            Kind::NewOrder => self.new_order(),
            Kind::Payment => self.payment(),
            Kind::OrderStatus => self.order_status(),
            Kind::Delivery => self.delivery(),
            Kind::StockLevel => self.stock_level(),
        };
        if end.is_err() {
            self.client.run("ROLLBACK")?;
        }
        end
    }

    fn remote(&mut self) -> u64 {
        loop {
            let w = self.random.range(1, self.warehouses);
            if w != self.home {
                return w;
            }
        }
    }

    fn new_order(&mut self) -> Outcome<End> {
        let (w, d, c) = (self.home as i64, self.random.range(1, 10) as i64, self.random.customer() as i64);
        let lines = self.random.range(5, 15);
        let fails = self.random.percent(1);
        let mut items = Vec::new();
        for n in 1..=lines {
            let item = if fails && n == lines { 100_001 } else { self.random.item() as i64 };
            let supply = if self.warehouses > 1 && self.random.percent(1) { self.remote() as i64 } else { w };
            items.push((item, supply, self.random.range(1, 10) as i64));
        }
        let all_local = i64::from(items.iter().all(|(_, supply, _)| *supply == w));
        let (st, client) = (&self.statements, &mut self.client);
        client.run("START TRANSACTION")?;
        client.execute(&st.customer_tax, &[Int(w), Int(d), Int(c)])?;
        let order = int(&client.execute(&st.district_next, &[Int(d), Int(w)])?, 0)?;
        client.execute(&st.district_bump, &[Int(order), Int(d), Int(w)])?;
        client.execute(&st.order_insert, &[Int(order), Int(d), Int(w), Int(c), Int(lines as i64), Int(all_local)])?;
        client.execute(&st.new_order_insert, &[Int(order), Int(d), Int(w)])?;
        for (number, (item, supply, quantity)) in (1..).zip(&items) {
            let found = client.execute(&st.item_price, &[Int(*item)])?;
            if found.is_empty() {
                client.run("ROLLBACK")?;
                return Ok(End::RolledBack);
            }
            let price = found.cents(0, 0)?;
            let stock = client.execute(&st.stock_row, &[Int(*item), Int(*supply)])?;
            let left = stock.int(0, 0)?;
            let left = if left - quantity >= 10 { left - quantity } else { left - quantity + 91 };
            let info = stock.text(0, 1 + d as usize)?;
            let update = [Int(left), Int(*quantity), Int(i64::from(*supply != w)), Int(*item), Int(*supply)];
            client.execute(&st.stock_update, &update)?;
            let amount = super::random::cents(price * quantity);
            let line = [
                Int(order),
                Int(d),
                Int(w),
                Int(number),
                Int(*item),
                Int(*supply),
                Int(*quantity),
                Text(&amount),
                Text(&info),
            ];
            client.execute(&st.line_insert, &line)?;
        }
        client.run("COMMIT")?;
        Ok(End::Committed)
    }

    /// The customer's number: by number in 40 of 100 cases, else the middle one of those with a name (2.5.2.2).
    fn pick_customer(&mut self, w: i64, d: i64) -> Outcome<i64> {
        if !self.random.percent(60) {
            return Ok(self.random.customer() as i64);
        }
        let name = self.random.last_name();
        let rows = self.client.execute(&self.statements.customers_named, &[Int(w), Int(d), Text(&name)])?;
        if rows.is_empty() { Ok(self.random.customer() as i64) } else { rows.int(rows.len().div_ceil(2) - 1, 0) }
    }

    fn payment(&mut self) -> Outcome<End> {
        let (w, d) = (self.home as i64, self.random.range(1, 10) as i64);
        let (cw, cd) = if self.warehouses > 1 && self.random.percent(15) {
            (self.remote() as i64, self.random.range(1, 10) as i64)
        } else {
            (w, d)
        };
        let amount = super::random::cents(self.random.range(100, 500_000) as i64);
        self.client.run("START TRANSACTION")?;
        let c = {
            let st = &self.statements;
            self.client.execute(&st.warehouse_pay, &[Text(&amount), Int(w)])?;
            self.client.execute(&st.district_pay, &[Text(&amount), Int(w), Int(d)])?;
            self.pick_customer(cw, cd)?
        };
        let (st, client) = (&self.statements, &mut self.client);
        let warehouse = client.execute(&st.warehouse_row, &[Int(w)])?.text(0, 5)?;
        let district = client.execute(&st.district_row, &[Int(w), Int(d)])?.text(0, 5)?;
        let who = [Int(cw), Int(cd), Int(c)];
        let customer = client.execute(&st.customer_lock, &who)?;
        if customer.text(0, 9)? == "BC" {
            let old = client.execute(&st.customer_data, &who)?.text(0, 0)?;
            let mut data = format!("{c} {cd} {cw} {d} {w} {amount} | {old}");
            data.truncate(500);
            let args = [Text(&amount), Text(&amount), Text(&data), Int(cw), Int(cd), Int(c)];
            client.execute(&st.customer_pay_bad, &args)?;
        } else {
            client.execute(&st.customer_pay, &[Text(&amount), Text(&amount), Int(cw), Int(cd), Int(c)])?;
        }
        let data = format!("{warehouse}    {district}");
        let history = [Int(cd), Int(cw), Int(c), Int(d), Int(w), Text(&amount), Text(&data)];
        client.execute(&st.history_insert, &history)?;
        client.run("COMMIT")?;
        Ok(End::Committed)
    }

    fn order_status(&mut self) -> Outcome<End> {
        let (w, d) = (self.home as i64, self.random.range(1, 10) as i64);
        self.client.run("START TRANSACTION")?;
        let c = self.pick_customer(w, d)?;
        let (st, client) = (&self.statements, &mut self.client);
        client.execute(&st.customer_status, &[Int(w), Int(d), Int(c)])?;
        let order = client.execute(&st.last_order, &[Int(w), Int(d), Int(c)])?;
        if !order.is_empty() {
            client.execute(&st.order_lines, &[Int(w), Int(d), Int(order.int(0, 0)?)])?;
        }
        client.run("COMMIT")?;
        Ok(End::Committed)
    }

    /// One transaction for all ten districts, as 2.7.4 allows.
    fn delivery(&mut self) -> Outcome<End> {
        let (w, carrier) = (self.home as i64, self.random.range(1, 10) as i64);
        let (st, client) = (&self.statements, &mut self.client);
        client.run("START TRANSACTION")?;
        for d in 1..=10 {
            let oldest = client.execute(&st.oldest_new, &[Int(w), Int(d)])?;
            if oldest.is_empty() {
                continue;
            }
            let order = oldest.int(0, 0)?;
            let at = [Int(order), Int(d), Int(w)];
            client.execute(&st.new_order_delete, &at)?;
            let c = int(&client.execute(&st.order_customer, &at)?, 0)?;
            client.execute(&st.order_carrier, &[Int(carrier), Int(order), Int(d), Int(w)])?;
            client.execute(&st.lines_deliver, &at)?;
            let total = client.execute(&st.lines_total, &at)?.text(0, 0)?;
            client.execute(&st.customer_deliver, &[Text(&total), Int(c), Int(d), Int(w)])?;
        }
        client.run("COMMIT")?;
        Ok(End::Committed)
    }

    fn stock_level(&mut self) -> Outcome<End> {
        let (w, d, threshold) = (self.home as i64, self.random.range(1, 10) as i64, self.random.range(10, 20) as i64);
        let (st, client) = (&self.statements, &mut self.client);
        client.run("START TRANSACTION")?;
        let next = int(&client.execute(&st.district_next_plain, &[Int(d), Int(w)])?, 0)?;
        client.execute(&st.stock_low, &[Int(w), Int(d), Int(next), Int(next), Int(w), Int(threshold)])?;
        client.run("COMMIT")?;
        Ok(End::Committed)
    }
}
