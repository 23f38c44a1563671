//! Rows of TPC-H's tables by the rules of its specification (clause 4.2), as VALUES of an INSERT. The same scale gives
//! the same rows everywhere; the texts are of other words than those of the specification's own program.

use std::fmt::Write;

/// Random numbers (xorshift64, Marsaglia 2003).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn within(&mut self, low: i64, high: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + (self.0 % (high - low + 1) as u64) as i64
    }

    pub(super) fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.within(0, words.len() as i64 - 1) as usize]
    }
}

/// Tables with their columns and keys, in the order in which they are filled.
pub(super) const TABLES: &[(&str, &str)] = &[
    ("region", "r_regionkey INT PRIMARY KEY, r_name CHAR(25) NOT NULL, r_comment VARCHAR(152)"),
    (
        "nation",
        "n_nationkey INT PRIMARY KEY, n_name CHAR(25) NOT NULL, n_regionkey INT NOT NULL, n_comment VARCHAR(152), \
         KEY (n_regionkey)",
    ),
    (
        "supplier",
        "s_suppkey INT PRIMARY KEY, s_name CHAR(25) NOT NULL, s_address VARCHAR(40) NOT NULL, s_nationkey INT NOT \
         NULL, s_phone CHAR(15) NOT NULL, s_acctbal DECIMAL(15,2) NOT NULL, s_comment VARCHAR(101) NOT NULL, KEY \
         (s_nationkey)",
    ),
    (
        "part",
        "p_partkey INT PRIMARY KEY, p_name VARCHAR(55) NOT NULL, p_mfgr CHAR(25) NOT NULL, p_brand CHAR(10) NOT \
         NULL, p_type VARCHAR(25) NOT NULL, p_size INT NOT NULL, p_container CHAR(10) NOT NULL, p_retailprice \
         DECIMAL(15,2) NOT NULL, p_comment VARCHAR(23) NOT NULL",
    ),
    (
        "partsupp",
        "ps_partkey INT NOT NULL, ps_suppkey INT NOT NULL, ps_availqty INT NOT NULL, ps_supplycost DECIMAL(15,2) \
         NOT NULL, ps_comment VARCHAR(199) NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey), KEY (ps_suppkey)",
    ),
    (
        "customer",
        "c_custkey INT PRIMARY KEY, c_name VARCHAR(25) NOT NULL, c_address VARCHAR(40) NOT NULL, c_nationkey INT NOT \
         NULL, c_phone CHAR(15) NOT NULL, c_acctbal DECIMAL(15,2) NOT NULL, c_mktsegment CHAR(10) NOT NULL, \
         c_comment VARCHAR(117) NOT NULL, KEY (c_nationkey)",
    ),
    (
        "orders",
        "o_orderkey INT PRIMARY KEY, o_custkey INT NOT NULL, o_orderstatus CHAR(1) NOT NULL, o_totalprice \
         DECIMAL(15,2) NOT NULL, o_orderdate DATE NOT NULL, o_orderpriority CHAR(15) NOT NULL, o_clerk CHAR(15) NOT \
         NULL, o_shippriority INT NOT NULL, o_comment VARCHAR(79) NOT NULL, KEY (o_custkey)",
    ),
    (
        "lineitem",
        "l_orderkey INT NOT NULL, l_partkey INT NOT NULL, l_suppkey INT NOT NULL, l_linenumber INT NOT NULL, \
         l_quantity DECIMAL(15,2) NOT NULL, l_extendedprice DECIMAL(15,2) NOT NULL, l_discount DECIMAL(15,2) NOT \
         NULL, l_tax DECIMAL(15,2) NOT NULL, l_returnflag CHAR(1) NOT NULL, l_linestatus CHAR(1) NOT NULL, \
         l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL, l_shipinstruct CHAR(25) \
         NOT NULL, l_shipmode CHAR(10) NOT NULL, l_comment VARCHAR(44) NOT NULL, PRIMARY KEY (l_orderkey, \
         l_linenumber), KEY (l_partkey, l_suppkey), KEY (l_suppkey)",
    ),
];

const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];
const NATIONS: [(&str, i64); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];
const COLOURS: [&str; 92] = [
    "almond",
    "antique",
    "aquamarine",
    "azure",
    "beige",
    "bisque",
    "black",
    "blanched",
    "blue",
    "blush",
    "brown",
    "burlywood",
    "burnished",
    "chartreuse",
    "chiffon",
    "chocolate",
    "coral",
    "cornflower",
    "cornsilk",
    "cream",
    "cyan",
    "dark",
    "deep",
    "dim",
    "dodger",
    "drab",
    "firebrick",
    "floral",
    "forest",
    "frosted",
    "gainsboro",
    "ghost",
    "goldenrod",
    "green",
    "grey",
    "honeydew",
    "hot",
    "indian",
    "ivory",
    "khaki",
    "lace",
    "lavender",
    "lawn",
    "lemon",
    "light",
    "lime",
    "linen",
    "magenta",
    "maroon",
    "medium",
    "metallic",
    "midnight",
    "mint",
    "misty",
    "moccasin",
    "navajo",
    "navy",
    "olive",
    "orange",
    "orchid",
    "pale",
    "papaya",
    "peach",
    "peru",
    "pink",
    "plum",
    "powder",
    "puff",
    "purple",
    "red",
    "rose",
    "rosy",
    "royal",
    "saddle",
    "salmon",
    "sandy",
    "seashell",
    "sienna",
    "sky",
    "slate",
    "smoke",
    "snow",
    "spring",
    "steel",
    "tan",
    "thistle",
    "tomato",
    "turquoise",
    "violet",
    "wheat",
    "white",
    "yellow",
];
const TYPES: [&[&str]; 3] = [
    &["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"],
    &["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"],
    &["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"],
];
const CONTAINERS: [&[&str]; 2] =
    [&["SM", "LG", "MED", "JUMBO", "WRAP"], &["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"]];
const SEGMENTS: [&str; 5] = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"];
const PRIORITIES: [&str; 5] = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"];
const INSTRUCTIONS: [&str; 4] = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
const WORDS: [&str; 30] = [
    "about",
    "above",
    "accounts",
    "after",
    "among",
    "blithely",
    "bold",
    "carefully",
    "daring",
    "deposits",
    "even",
    "express",
    "final",
    "furiously",
    "ideas",
    "ironic",
    "packages",
    "pending",
    "quickly",
    "quiet",
    "regular",
    "requests",
    "silent",
    "sleep",
    "slyly",
    "special",
    "theodolites",
    "unusual",
    "wake",
    "warhorses",
];

/// Days from 1970-01-01 to 1992-01-01, the first day of an order, and to the last, 1998-08-02; the day that parts what
/// was from what will be (clause 4.2.3).
const FIRST: i64 = 8035;
const LAST: i64 = 10440;
const CURRENT: i64 = 9298;

/// Makes the rows of a scale.
pub(super) struct Data {
    random: Random,
    suppliers: i64,
    parts: i64,
    customers: i64,
}

impl Data {
    pub(super) fn new(scale: f64) -> Data {
        let of = |rows: f64| (rows * scale).max(1.0) as i64;
        Data { random: Random::new(1), suppliers: of(10_000.0), parts: of(200_000.0), customers: of(150_000.0) }
    }

    /// Gives all rows, table by table in the order of [`TABLES`]; an order comes before its lines.
    pub(super) fn rows(mut self, to: &mut dyn FnMut(&'static str, String) -> Result<(), String>) -> Result<(), String> {
        for (n, name) in REGIONS.iter().enumerate() {
            to("region", format!("{n},'{name}','{}'", self.text(8)))?;
        }
        for (n, (name, region)) in NATIONS.iter().enumerate() {
            to("nation", format!("{n},'{name}',{region},'{}'", self.text(8)))?;
        }
        for n in 1..=self.suppliers {
            let comment = match n % 2000 {
                500 => "Customer slyly Complaints".to_owned(),
                1500 => "Customer ideas Recommends".to_owned(),
                _ => self.text(7),
            };
            let (address, nation, balance) = (self.text(3), self.random.within(0, 24), self.money(-99_999, 999_999));
            let phone = self.phone(nation);
            to("supplier", format!("{n},'Supplier#{n:09}','{address}',{nation},'{phone}',{balance},'{comment}'"))?;
        }
        for n in 1..=self.parts {
            let row = self.part(n);
            to("part", row)?;
        }
        for n in 1..=self.parts {
            for i in 0..4 {
                let (supplier, available) = (self.supplier_of(n, i), self.random.within(1, 9999));
                let (cost, comment) = (self.money(100, 100_000), self.text(12));
                to("partsupp", format!("{n},{supplier},{available},{cost},'{comment}'"))?;
            }
        }
        for n in 1..=self.customers {
            let (address, nation, balance) = (self.text(3), self.random.within(0, 24), self.money(-99_999, 999_999));
            let (phone, segment, comment) = (self.phone(nation), self.random.of(&SEGMENTS), self.text(8));
            let name = format!("{n},'Customer#{n:09}','{address}'");
            to("customer", format!("{name},{nation},'{phone}',{balance},'{segment}','{comment}'"))?;
        }
        for n in 0..self.customers * 10 {
            // Eight keys of each 32 are used.
            self.order(n / 8 * 32 + n % 8 + 1, to)?;
        }
        Ok(())
    }

    fn part(&mut self, n: i64) -> String {
        let name: Vec<&str> = (0..5).map(|_| self.random.of(&COLOURS)).collect();
        let maker = self.random.within(1, 5);
        let (brand, size) = (maker * 10 + self.random.within(1, 5), self.random.within(1, 50));
        let kind = TYPES.map(|syllables| self.random.of(syllables)).join(" ");
        let container = CONTAINERS.map(|syllables| self.random.of(syllables)).join(" ");
        let (price, comment) = (cents(price(n)), self.text(2));
        let name = name.join(" ");
        format!("{n},'{name}','Manufacturer#{maker}','Brand#{brand}','{kind}',{size},'{container}',{price},'{comment}'")
    }

    /// One of the four suppliers of a part.
    fn supplier_of(&self, part: i64, i: i64) -> i64 {
        let all = self.suppliers;
        (part + i * (all / 4 + (part - 1) / all)) % all + 1
    }

    fn order(
        &mut self,
        key: i64,
        to: &mut dyn FnMut(&'static str, String) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut customer = self.random.within(1, self.customers);
        // A third of the customers orders nothing.
        if customer % 3 == 0 {
            customer -= 1;
        }
        let ordered = self.random.within(FIRST, LAST);
        let (mut total, mut open, mut lines) = (0, 0, Vec::new());
        for line in 1..=self.random.within(1, 7) {
            let (part, i) = (self.random.within(1, self.parts), self.random.within(0, 3));
            let (supplier, quantity) = (self.supplier_of(part, i), self.random.within(1, 50));
            let (discount, tax) = (self.random.within(0, 10), self.random.within(0, 8));
            let extended = quantity * price(part);
            total += extended * (100 - discount) * (100 + tax) / 10_000;
            let (shipped, due) = (ordered + self.random.within(1, 121), ordered + self.random.within(30, 90));
            let received = shipped + self.random.within(1, 30);
            let flag = if received > CURRENT { "N" } else { self.random.of(&["R", "A"]) };
            let status = if shipped > CURRENT { "O" } else { "F" };
            open += i64::from(shipped > CURRENT);
            let (shipped, due, received) = (day(shipped), day(due), day(received));
            let (instruction, mode) = (self.random.of(&INSTRUCTIONS), self.random.of(&MODES));
            let (money, comment) = (cents(extended), self.text(3));
            lines.push(format!(
                "{key},{part},{supplier},{line},{quantity},{money},0.{discount:02},0.{tax:02},'{flag}','{status}',\
                 '{shipped}','{due}','{received}','{instruction}','{mode}','{comment}'"
            ));
        }
        let status = match open {
            0 => "F",
            all if all == lines.len() as i64 => "O",
            _ => "P",
        };
        let (priority, clerk) = (self.random.of(&PRIORITIES), self.random.within(1, (self.suppliers / 10).max(1)));
        let (total, comment, ordered) = (cents(total), self.text(6), day(ordered));
        let row =
            format!("{key},{customer},'{status}',{total},'{ordered}','{priority}','Clerk#{clerk:09}',0,'{comment}'");
        to("orders", row)?;
        lines.into_iter().try_for_each(|line| to("lineitem", line))
    }

    fn text(&mut self, words: i64) -> String {
        let words = self.random.within(words / 2 + 1, words);
        let mut text = String::new();
        for n in 0..words {
            let _ = write!(text, "{}{}", if n > 0 { " " } else { "" }, self.random.of(&WORDS));
        }
        text
    }

    fn money(&mut self, low: i64, high: i64) -> String {
        cents(self.random.within(low, high))
    }

    fn phone(&mut self, nation: i64) -> String {
        let number = [999, 999, 9999].map(|high| self.random.within(high / 9, high));
        format!("{}-{}-{}-{}", nation + 10, number[0], number[1], number[2])
    }
}

/// The price of a part in cents.
fn price(part: i64) -> i64 {
    90_000 + part / 10 % 20_001 + 100 * (part % 1000)
}

fn cents(money: i64) -> String {
    format!("{}{}.{:02}", if money < 0 { "-" } else { "" }, money.abs() / 100, money.abs() % 100)
}

/// The date that is so many days after 1970-01-01 (the proleptic calendar's eras of 400 years).
fn day(days: i64) -> String {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (month, more) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{}-{month:02}-{date:02}", era * 400 + year + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_has_its_rows_and_the_same_ones_each_time() {
        let make = || {
            let mut rows: Vec<(&str, String)> = Vec::new();
            let done = Data::new(0.001).rows(&mut |table, row| {
                rows.push((table, row));
                Ok(())
            });
            assert_eq!(done, Ok(()));
            rows
        };
        let rows = make();
        let count = |name| rows.iter().filter(|(table, _)| *table == name).count();
        let counts = ["region", "nation", "supplier", "part", "partsupp", "customer", "orders"].map(count);
        assert_eq!(counts, [5, 25, 10, 200, 800, 150, 1500]);
        assert!((5500..6500).contains(&count("lineitem")), "{}", count("lineitem"));
        assert!(rows == make());
        assert_eq!(
            (day(FIRST), day(LAST), day(CURRENT)),
            ("1992-01-01".into(), "1998-08-02".into(), "1995-06-17".into())
        );
    }
}
