//! Subqueries of all shapes that read rows from outside, beside joins with what they are made of.

use super::laterals::{aggregate, condition, filter};
use super::{Change, Pair};
use crate::common::random::Random;

pub(super) fn pair(r: &mut Random) -> Pair {
    let (on, w, v) = (condition(r), filter(r, "x"), filter(r, "y"));
    let p = aggregate(r, "y");
    match r.below(11) {
        // The parts of a union, each with a row from outside.
        0 => {
            let what = r.of(&["COUNT(*)", "SUM(u.n)", "MAX(u.n)", "COUNT(DISTINCT u.n)"]);
            let all = r.of(&["ALL", "DISTINCT"]);
            Pair::new(
                format!(
                    "SELECT x.id c0, (SELECT {what} FROM (SELECT y.b n FROM {{y}} y WHERE {on} UNION {all} SELECT z.a + x.a \
                     FROM {{z}} z WHERE z.b = x.b) u) c1 FROM {{x}} x WHERE {w}"
                ),
                format!(
                    "WITH u AS (SELECT x.id i, y.b n FROM {{x}} x JOIN {{y}} y ON {on} UNION {all} SELECT x.id, z.a + x.a FROM \
                     {{x}} x JOIN {{z}} z ON z.b = x.b) SELECT x.id c0, (SELECT {what} FROM u WHERE u.i = x.id) c1 FROM {{x}} \
                     x WHERE {w}"
                ),
                2,
            )
        }
        1 => {
            let (op, is) = r.of(&[("INTERSECT", ""), ("EXCEPT", "NOT ")]);
            Pair::new(
                format!(
                    "SELECT x.id c0, (SELECT COUNT(*) FROM (SELECT y.b n FROM {{y}} y WHERE {on} {op} SELECT z.a FROM {{z}} z \
                     WHERE z.id <> x.id) u) c1 FROM {{x}} x WHERE {w}"
                ),
                format!(
                    "SELECT x.id c0, (SELECT COUNT(DISTINCT IFNULL(y.b, -9)) FROM {{y}} y WHERE {on} AND {is}EXISTS (SELECT 1 \
                     FROM {{z}} z WHERE z.id <> x.id AND z.a <=> y.b)) c1 FROM {{x}} x WHERE {w}"
                ),
                2,
            )
        }
        2 => Pair::new(
            format!(
                "SELECT x.id c0, l.n c1 FROM {{x}} x, LATERAL (VALUES ROW(x.a, 1), ROW(x.b, 2), ROW(x.a + x.b, 3)) l (n, m) \
                 WHERE {w} AND l.m <> 2"
            ),
            format!(
                "SELECT x.id c0, x.a c1 FROM {{x}} x WHERE {w} UNION ALL SELECT x.id, x.a + x.b FROM {{x}} x WHERE {w}"
            ),
            2,
        ),
        3 => Pair::new(
            format!(
                "SELECT x.id c0, l.s c1, l.p c2 FROM {{x}} x, LATERAL (SELECT GROUPING(y.a) s, {p} p FROM {{y}} y WHERE {on} GROUP BY y.a WITH ROLLUP) l WHERE {w}"
            ),
            format!(
                "SELECT x.id c0, 0 c1, {p} c2 FROM {{x}} x JOIN {{y}} y ON {on} WHERE {w} GROUP BY x.id, y.a UNION ALL SELECT \
                 x.id, 1, {p} FROM {{x}} x JOIN {{y}} y ON {on} WHERE {w} GROUP BY x.id"
            ),
            3,
        ),
        4 => Pair::new(
            format!(
                "SELECT x.id c0, (SELECT m.n FROM (SELECT y.id, ROW_NUMBER() OVER (ORDER BY y.b + x.a DESC, y.id) n FROM {{y}} \
                 y WHERE {on}) m WHERE m.id = x.a) c1 FROM {{x}} x WHERE {w}"
            ),
            format!(
                "SELECT x.id c0, m.n c1 FROM {{x}} x LEFT JOIN (SELECT x.id i, y.id, ROW_NUMBER() OVER (PARTITION BY x.id \
                 ORDER BY y.b + x.a DESC, y.id) n FROM {{x}} x JOIN {{y}} y ON {on}) m ON m.i = x.id AND m.id = x.a WHERE {w}"
            ),
            2,
        ),
        5 => {
            let not = r.of(&["", "NOT "]);
            Pair::new(
                format!(
                    "SELECT x.id c0 FROM {{x}} x WHERE (x.a, x.b) {not}IN (SELECT y.b, y.a FROM {{y}} y WHERE {on}) AND {w}"
                ),
                format!(
                    "SELECT x.id c0 FROM {{x}} x WHERE {w} AND (SELECT CASE WHEN SUM(x.a = y.b AND x.b = y.a) > 0 THEN 1 WHEN \
                     SUM((x.a = y.b AND x.b = y.a) IS NULL) > 0 THEN NULL ELSE 0 END FROM {{y}} y WHERE {on}) = ('{not}' = '')"
                ),
                1,
            )
        }
        6 => {
            let op = r.of(&["<", ">=", "=", "<>"]);
            let all = r.of(&["ALL", "ANY"]);
            let (found, missing) = if all == "ALL" { ("FALSE", "TRUE") } else { ("TRUE", "FALSE") };
            Pair::new(
                format!(
                    "SELECT x.id c0, x.a {op} {all} (SELECT y.b FROM {{y}} y WHERE {on} AND {v}) c1 FROM {{x}} x WHERE {w}"
                ),
                format!(
                    "SELECT x.id c0, (SELECT CASE WHEN SUM((x.a {op} y.b) IS {found}) > 0 THEN {found} WHEN SUM((x.a {op} y.b) \
                     IS NULL) > 0 THEN NULL ELSE {missing} END FROM {{y}} y WHERE {on} AND {v}) c1 FROM {{x}} x WHERE {w}"
                ),
                2,
            )
        }
        7 => Pair::new(
            format!(
                "SELECT x.id c0, (SELECT y.s FROM {{y}} y WHERE {on} ORDER BY y.d DESC, y.id LIMIT 1) c1, (SELECT y.id FROM \
                 {{y}} y WHERE {on} AND {v} ORDER BY y.s, y.id LIMIT 1 OFFSET 1) c2 FROM {{x}} x WHERE {w}"
            ),
            format!(
                "WITH m AS (SELECT x.id i, y.id, y.s, ROW_NUMBER() OVER (PARTITION BY x.id ORDER BY y.d DESC, y.id) n FROM \
                 {{x}} x JOIN {{y}} y ON {on}), k AS (SELECT x.id i, y.id, ROW_NUMBER() OVER (PARTITION BY x.id ORDER BY y.s, \
                 y.id) n FROM {{x}} x JOIN {{y}} y ON {on} WHERE {v}) SELECT x.id c0, m.s c1, k.id c2 FROM {{x}} x LEFT JOIN \
                 m ON m.i = x.id AND m.n = 1 LEFT JOIN k ON k.i = x.id AND k.n = 2 WHERE {w}"
            ),
            3,
        ),
        8 => Pair::new(
            format!(
                "SELECT x.a c0, COUNT(*) c1 FROM {{x}} x WHERE {w} GROUP BY x.a HAVING COUNT(*) > (SELECT COUNT(*) FROM {{z}} z \
                 WHERE z.a = x.a AND z.b < MAX(x.b))"
            ),
            format!(
                "SELECT c0, c1 FROM (SELECT x.a c0, COUNT(*) c1, MAX(x.b) m FROM {{x}} x WHERE {w} GROUP BY x.a) g WHERE c1 > \
                 (SELECT COUNT(*) FROM {{z}} z WHERE z.a = g.c0 AND z.b < g.m)"
            ),
            2,
        ),
        // An aggregate of what is outside alone is of the query around.
        9 => Pair::new(
            format!(
                "SELECT x.a c0, (SELECT SUM(x.b) FROM {{z}} z WHERE z.id = 1) c1 FROM {{x}} x WHERE {w} GROUP BY x.a"
            ),
            format!(
                "SELECT c0, (SELECT sm FROM {{z}} z WHERE z.id = 1) c1 FROM (SELECT x.a c0, SUM(x.b) sm FROM {{x}} x WHERE {w} \
                 GROUP BY x.a) g"
            ),
            2,
        ),
        _ => {
            let (a, b) = (r.of(&["y.a", "y.b"]), r.of(&["<", ">"]));
            Pair::new(
                format!(
                    "SELECT x.id c0, (SELECT COUNT(*) FROM {{y}} y WHERE {on} AND {a} {b} (SELECT AVG(z.a) FROM {{z}} z WHERE \
                     z.b <= x.b AND z.id <> y.id)) c1 FROM {{x}} x WHERE {w}"
                ),
                format!(
                    "SELECT x.id c0, COUNT(m.i) c1 FROM {{x}} x LEFT JOIN (SELECT x.id i, y.id, {a} v, AVG(z.a) g FROM {{x}} x \
                     JOIN {{y}} y ON {on} JOIN {{z}} z ON z.b <= x.b AND z.id <> y.id GROUP BY x.id, y.id, {a}) m ON m.i = x.id \
                     AND m.v {b} m.g WHERE {w} GROUP BY x.id"
                ),
                2,
            )
        }
    }
}

/// Changes by what laterals, documents and windows give, beside a table of it.
pub(super) fn change(r: &mut Random) -> Change {
    let (w, on) = (filter(r, "x"), condition(r));
    let key = r.of(&["y.a", "y.b DESC", "y.id DESC"]);
    let (join, columns) = match r.below(4) {
        0 => (format!("JOIN LATERAL (SELECT COUNT(*) n, MAX(y.s) t FROM {{y}} y WHERE {on}) l"), "l.n, l.t"),
        1 => (
            format!("LEFT JOIN LATERAL (SELECT y.b n, y.s t FROM {{y}} y WHERE {on} ORDER BY {key}, y.id LIMIT 1) l ON TRUE"),
            "l.n, l.t",
        ),
        2 => (
            "JOIN JSON_TABLE(x.j, '$[0]' COLUMNS (n INT PATH '$.a' NULL ON ERROR, t VARCHAR(4) PATH '$.a' NULL ON ERROR)) l"
                .to_owned(),
            "l.n, l.t",
        ),
        _ => (
            format!("JOIN (SELECT y.id i, RANK() OVER (ORDER BY {key}) n, y.s t FROM {{y}} y) l ON l.i = x.a"),
            "l.n, l.t",
        ),
    };
    let made = format!("CREATE TEMPORARY TABLE kept SELECT x.id i, {columns} FROM {{x}} x {join} WHERE {w}");
    let shown = "SELECT id, a, b, s, d, g FROM {x}";
    match r.below(3) {
        0 => Change {
            first: vec![format!("UPDATE {{x}} x {join} SET x.b = l.n + 1, x.s = l.t WHERE {w}")],
            second: vec![made, "UPDATE {x} x JOIN kept ON kept.i = x.id SET x.b = kept.n + 1, x.s = kept.t".into()],
            shown,
        },
        1 => Change {
            first: vec![format!("DELETE x FROM {{x}} x {join} WHERE {w} AND l.n > 0")],
            second: vec![made, "DELETE FROM {x} WHERE id IN (SELECT i FROM kept WHERE n > 0)".into()],
            shown,
        },
        _ => Change {
            first: vec![format!(
                "INSERT INTO {{x}} (id, a, b, s) SELECT x.id + 50, l.n, x.b, l.t FROM {{x}} x {join} WHERE {w}"
            )],
            second: vec![
                made,
                "INSERT INTO {x} (id, a, b, s) SELECT x.id + 50, kept.n, x.b, kept.t FROM {x} x JOIN kept ON kept.i = x.id"
                    .into(),
            ],
            shown,
        },
    }
}
