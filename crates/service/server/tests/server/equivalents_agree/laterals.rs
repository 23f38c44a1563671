//! LATERAL derived tables beside joins and subqueries.

use super::Pair;
use crate::common::random::Random;

/// What a row of y has to do with one of x.
pub(super) fn condition(r: &mut Random) -> &'static str {
    r.of(&[
        "y.a = x.a",
        "y.a = x.a AND y.b >= x.b",
        "y.a <= x.b",
        "y.b = x.a AND y.s = x.s",
        "y.id <> x.id AND y.a = x.b",
        "y.a <=> x.a",
        "(y.s = x.s OR y.a > x.b)",
        "y.a IN (x.a, x.b)",
        "y.a BETWEEN x.a AND x.b",
        "y.a + 1 = x.a",
        "y.g = x.a",
        "y.a % 3 = x.b",
        "(y.a, y.b) = (x.b, x.a)",
        "y.d > x.d",
        "y.id = x.id",
        "EXISTS (SELECT 1 FROM {z} z WHERE z.a = x.a AND z.b = y.b)",
        "y.a NOT IN (SELECT z.a FROM {z} z WHERE z.b = x.b)",
        "y.a = (SELECT MAX(z.a) FROM {z} z WHERE z.b = x.b)",
        "y.b >= ALL (SELECT z.b FROM {z} z WHERE z.a = x.a)",
        "TRUE",
    ])
}

/// A condition of a table alone.
pub(super) fn filter(r: &mut Random, alias: &str) -> String {
    r.of(&["TRUE", "TRUE", "{}.a > 1", "{}.b IS NULL", "{}.s <> 'a'", "{}.a % 3 = 1", "{}.id < 7", "{}.g > 3"])
        .replace("{}", alias)
}

pub(super) fn aggregate(r: &mut Random, alias: &str) -> String {
    r.of(&[
        "COUNT(*)",
        "COUNT({}.a)",
        "SUM({}.b)",
        "MIN({}.s)",
        "MAX({}.a)",
        "COUNT(DISTINCT {}.b)",
        "AVG({}.a)",
        "GROUP_CONCAT({}.id ORDER BY {}.id)",
        "MAX({}.a) - MIN({}.b)",
    ])
    .replace("{}", alias)
}

pub(super) fn pair(r: &mut Random) -> Pair {
    let (on, w, v) = (condition(r), filter(r, "x"), filter(r, "y"));
    let (p, q) = (aggregate(r, "y"), aggregate(r, "y"));
    let lateral = |inner: String, rest: &str, columns: &str| {
        format!("SELECT {columns} FROM {{x}} x, LATERAL ({inner}) l WHERE {w}{rest}")
    };
    match r.below(12) {
        0 => Pair::new(
            lateral(format!("SELECT {p} p, {q} q FROM {{y}} y WHERE {on} AND {v}"), "", "x.id c0, l.p c1, l.q c2"),
            format!(
                "SELECT x.id c0, (SELECT {p} FROM {{y}} y WHERE {on} AND {v}) c1, (SELECT {q} FROM {{y}} y WHERE {on} AND \
                 {v}) c2 FROM {{x}} x WHERE {w}"
            ),
            3,
        ),
        1 => Pair::new(
            format!(
                "SELECT x.id c0, l.id c1, l.s c2 FROM {{x}} x LEFT JOIN LATERAL (SELECT * FROM {{y}} y WHERE {on}) l ON \
                 l.b > 0 WHERE {w}"
            ),
            format!("SELECT x.id c0, y.id c1, y.s c2 FROM {{x}} x LEFT JOIN {{y}} y ON {on} AND y.b > 0 WHERE {w}"),
            3,
        ),
        2 => Pair::new(
            lateral(format!("SELECT y.* FROM {{y}} y WHERE {on}"), " AND l.a >= x.b", "x.id c0, l.id c1"),
            format!("SELECT x.id c0, y.id c1 FROM {{x}} x JOIN {{y}} y ON {on} WHERE {w} AND y.a >= x.b"),
            2,
        ),
        3 => {
            let (key, n) = (r.of(&["y.a", "y.b DESC", "y.s, y.d", "y.id DESC"]), 1 + r.below(3));
            Pair::new(
                lateral(
                    format!("SELECT y.id, y.a FROM {{y}} y WHERE {on} AND {v} ORDER BY {key}, y.id LIMIT {n}"),
                    "",
                    "x.id c0, l.id c1, l.a c2",
                ),
                format!(
                    "SELECT c0, c1, c2 FROM (SELECT x.id c0, y.id c1, y.a c2, ROW_NUMBER() OVER (PARTITION BY x.id ORDER BY \
                     {key}, y.id) n FROM {{x}} x JOIN {{y}} y ON {on} WHERE {w} AND {v}) m WHERE n <= {n}"
                ),
                3,
            )
        }
        4 => {
            let (key, having) = (r.of(&["y.a", "y.s", "y.a % 3"]), r.of(&["", " HAVING COUNT(*) > 1"]));
            Pair::new(
                lateral(
                    format!("SELECT {key} k, {p} p FROM {{y}} y WHERE {on} GROUP BY {key}{having}"),
                    "",
                    "x.id c0, l.k c1, l.p c2",
                ),
                format!(
                    "SELECT x.id c0, {key} c1, {p} c2 FROM {{x}} x JOIN {{y}} y ON {on} WHERE {w} GROUP BY x.id, {key}{having}"
                ),
                3,
            )
        }
        5 => Pair::new(
            lateral(format!("SELECT DISTINCT y.a, x.b + 0 b FROM {{y}} y WHERE {on}"), "", "x.id c0, l.a c1, l.b c2"),
            format!("SELECT DISTINCT x.id c0, y.a c1, x.b c2 FROM {{x}} x JOIN {{y}} y ON {on} WHERE {w}"),
            3,
        ),
        6 => {
            let all = r.of(&["ALL", "DISTINCT"]);
            Pair::new(
                lateral(
                    format!("SELECT x.a v UNION {all} SELECT x.b UNION {all} SELECT y.a FROM {{y}} y WHERE {on}"),
                    "",
                    "x.id c0, l.v c1",
                ),
                format!(
                    "SELECT x.id c0, x.a c1 FROM {{x}} x WHERE {w} UNION {all} SELECT x.id, x.b FROM {{x}} x WHERE {w} UNION \
                     {all} SELECT x.id, y.a FROM {{x}} x JOIN {{y}} y ON {on} WHERE {w}"
                ),
                2,
            )
        }
        7 => Pair::new(
            format!(
                "SELECT x.id c0, l.id c1, m.n c2 FROM {{x}} x JOIN LATERAL (SELECT y.id, y.b FROM {{y}} y WHERE {on}) l ON \
                 TRUE LEFT JOIN LATERAL (SELECT COUNT(*) n FROM {{z}} z WHERE z.a = l.b AND z.b <= x.a) m ON m.n > 0 WHERE \
                 {w}"
            ),
            format!(
                "SELECT x.id c0, y.id c1, NULLIF((SELECT COUNT(*) FROM {{z}} z WHERE z.a = y.b AND z.b <= x.a), 0) c2 FROM \
                 {{x}} x JOIN {{y}} y ON {on} WHERE {w}"
            ),
            3,
        ),
        8 => Pair::new(
            lateral(
                format!("SELECT y.id, SUM(y.b) OVER (ORDER BY y.a, y.id) n FROM {{y}} y WHERE {on}"),
                "",
                "x.id c0, l.id c1, l.n c2",
            ),
            format!(
                "SELECT x.id c0, y.id c1, SUM(y.b) OVER (PARTITION BY x.id ORDER BY y.a, y.id) c2 FROM {{x}} x JOIN {{y}} y \
                 ON {on} WHERE {w}"
            ),
            3,
        ),
        9 => Pair::new(
            lateral(
                format!(
                    "WITH c AS (SELECT y.id, y.b, x.b k FROM {{y}} y WHERE {on}) SELECT u.id, v.b FROM c u LEFT JOIN c v ON v.b \
                     = u.id + 1 AND v.k IS NOT NULL"
                ),
                "",
                "x.id c0, l.id c1, l.b c2",
            ),
            format!(
                "WITH c AS (SELECT x.id i, y.id, y.b, x.b k FROM {{x}} x JOIN {{y}} y ON {on} WHERE {w}) SELECT u.i c0, u.id c1, \
                 v.b c2 FROM c u LEFT JOIN c v ON v.i = u.i AND v.b = u.id + 1 AND v.k IS NOT NULL"
            ),
            3,
        ),
        10 => Pair::new(
            format!(
                "SELECT x.id c0, (WITH c AS (SELECT y.b, COUNT(*) n FROM {{y}} y WHERE {on} GROUP BY y.b) SELECT MAX(u.n + v.n) \
                 FROM c u JOIN c v ON v.b < u.b) c1 FROM {{x}} x WHERE {w}"
            ),
            format!(
                "WITH c AS (SELECT x.id i, y.b, COUNT(*) n FROM {{x}} x JOIN {{y}} y ON {on} GROUP BY x.id, y.b) SELECT x.id c0, \
                 (SELECT MAX(u.n + v.n) FROM c u JOIN c v ON v.b < u.b AND v.i = u.i WHERE u.i = x.id) c1 FROM {{x}} x WHERE {w}"
            ),
            2,
        ),
        _ => Pair::new(
            format!(
                "SELECT x.id c0, (SELECT SUM(l.n) FROM {{z}} z, LATERAL (SELECT COUNT(*) n FROM {{y}} y WHERE {on} AND y.b = \
                 z.b) l WHERE z.a = x.a) c1 FROM {{x}} x WHERE {w}"
            ),
            format!(
                "SELECT x.id c0, (SELECT SUM((SELECT COUNT(*) FROM {{y}} y WHERE {on} AND y.b = z.b)) FROM {{z}} z WHERE z.a \
                 = x.a) c1 FROM {{x}} x WHERE {w}"
            ),
            2,
        ),
    }
}
