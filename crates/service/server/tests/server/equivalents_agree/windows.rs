//! Windows over groups, named and by one another, beside windows over a derived table of the groups.

use super::Pair;
use super::laterals::{aggregate, filter};
use crate::common::random::Random;

pub(super) fn pair(r: &mut Random) -> Pair {
    let (key, other) = (r.of(&["x.a", "x.b", "x.a % 3", "x.g"]), r.of(&["x.s", "x.b + 1", "x.id DIV 4"]));
    let number = |r: &mut Random| r.of(&["COUNT(*)", "SUM(x.b)", "MAX(x.a)", "MIN(x.id)", "COUNT(DISTINCT x.s)"]);
    let (p, q) = (number(r), aggregate(r, "x"));
    let (frame, way) = (
        r.of(&[
            "",
            "ROWS 1 PRECEDING",
            "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
            "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            "RANGE UNBOUNDED PRECEDING",
            "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
        ]),
        r.of(&["", " DESC"]),
    );
    let partition = r.of(&["", "", "PARTITION BY {k0} ", "PARTITION BY {p} % 2 "]);
    // Whole rows order it, or what is next to what is open.
    let definitions = [
        format!("w AS ({partition}ORDER BY {{p}}{way}, {{k0}}, {{k1}})"),
        format!("v AS (w {frame})"),
        "u AS (PARTITION BY {k0})".to_owned(),
    ];
    let functions = [
        "RANK() OVER w",
        "ROW_NUMBER() OVER w",
        "SUM({p}) OVER v",
        "COUNT({q}) OVER v",
        "FIRST_VALUE({k0}) OVER v",
        "LAG({p}, 1, -1) OVER w",
        "LEAD({k0}) OVER w",
        "MAX({p}) OVER u",
        "NTILE(2) OVER w",
        "{p} - MIN({p}) OVER u",
        "CUME_DIST() OVER w",
        "NTH_VALUE({p}, 2) OVER v",
    ];
    let (f, g) = (r.of(&functions), r.of(&functions));
    let mut order: Vec<usize> = (0..3).collect();
    order.swap(0, r.below(3));
    let named: Vec<&str> = order.iter().map(|n| definitions[*n].as_str()).collect();
    let named = named.join(", ");
    let having = r.of(&["", " HAVING COUNT(*) > 1", " HAVING SUM(x.b) IS NOT NULL", " HAVING MAX(x.a) > MIN(x.b)"]);
    let from = r.of(&["{x} x", "{x} x", "{x} x LEFT JOIN {y} y ON y.a = x.b"]);
    let from = format!("{from} WHERE {} GROUP BY {key}, {other}{having}", filter(r, "x"));
    let fill = |text: &str, with: [&str; 4]| {
        ["{k0}", "{k1}", "{p}", "{q}"].iter().zip(with).fold(text.to_owned(), |t, (place, with)| t.replace(place, with))
    };
    let (here, there) = ([key, other, p, q.as_str()], ["c0", "c1", "c2", "c3"]);
    let distinct = r.of(&["", "", "DISTINCT "]);
    let mut pair = Pair::new(
        format!(
            "SELECT {distinct}{key} c0, {other} c1, {p} c2, {q} c3, {} c4, {} c5 FROM {from} WINDOW {}",
            fill(f, here),
            fill(g, here),
            fill(&named, here)
        ),
        format!(
            "SELECT {distinct}c0, c1, c2, c3, {} c4, {} c5 FROM (SELECT {key} c0, {other} c1, {p} c2, {q} c3 FROM {from}) t \
             WINDOW {}",
            fill(f, there),
            fill(g, there),
            fill(&named, there)
        ),
        6,
    );
    if r.percent(30) {
        let order = format!(" ORDER BY 5{way}, 6, 1, 2{}", r.of(&["", " LIMIT 3", " LIMIT 2 OFFSET 2"]));
        pair.first += &order;
        pair.second += &order;
        pair.ordered = true;
    }
    pair
}
