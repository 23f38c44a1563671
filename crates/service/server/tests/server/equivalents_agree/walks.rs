//! Recursive common table expressions within subqueries, laterals and changes, beside what they unroll to.

use super::laterals::filter;
use super::{Change, Pair};
use crate::common::random::Random;

/// Numbers `n` at heights `h` along the edges of y.
fn walk(r: &mut Random) -> String {
    let (first, next, all) = (
        r.of(&[
            "SELECT y.a, 0 FROM {y} y WHERE y.id < 3",
            "SELECT 1, 0",
            "SELECT MAX(y.b), 0 FROM {y} y",
            "SELECT x.b, 0 FROM {x} x",
        ]),
        r.of(&[
            "SELECT y.b, h + 1 FROM r JOIN {y} y ON y.a = r.n WHERE h < 3",
            "SELECT y.b, h + 1 FROM {y} y, r WHERE y.a <=> r.n AND h < 2",
            "SELECT n + 1, h + 1 FROM r WHERE h < 3 AND n IN (SELECT y.a FROM {y} y)",
            "SELECT y.b, h + 1 FROM r LEFT JOIN {y} y ON y.a = r.n AND y.id > 1 WHERE h < 2",
            "SELECT m.b, h + 1 FROM r JOIN LATERAL (SELECT MIN(y.b) b FROM {y} y WHERE y.a >= r.n) m WHERE h < 3",
        ]),
        r.of(&["DISTINCT", "DISTINCT", "ALL"]),
    );
    format!("WITH RECURSIVE r (n, h) AS ({first} UNION {all} {next})")
}

pub(super) fn pair(r: &mut Random) -> Pair {
    let (w, walk) = (filter(r, "x"), walk(r));
    let (of, joined) = (r.of(&["x.a", "x.b", "x.a + 1"]), r.of(&["y.a = r.n", "y.a = r.n AND y.id > 2", "y.g = r.n"]));
    // From each number, the numbers that are reached from it.
    let own = format!("WITH RECURSIVE r (n) AS (SELECT {of} UNION SELECT y.b FROM r JOIN {{y}} y ON {joined})");
    let all = format!(
        "WITH RECURSIVE r (s, n) AS (SELECT {of}, {of} FROM {{x}} x UNION SELECT r.s, y.b FROM r JOIN {{y}} y ON {joined})"
    );
    let what = r.of(&["COUNT(*)", "MAX(r.n)", "GROUP_CONCAT(r.n ORDER BY r.n)", "COUNT(r.n)"]);
    match r.below(6) {
        0 => Pair::new(
            format!("SELECT x.id c0, ({own} SELECT {what} FROM r) c1 FROM {{x}} x WHERE {w}"),
            format!("{all} SELECT x.id c0, (SELECT {what} FROM r WHERE r.s <=> {of}) c1 FROM {{x}} x WHERE {w}"),
            2,
        ),
        1 => Pair::new(
            format!("SELECT x.id c0, l.n c1 FROM {{x}} x JOIN LATERAL ({own} SELECT n FROM r) l ON l.n > 0 WHERE {w}"),
            format!("{all} SELECT x.id c0, r.n c1 FROM {{x}} x JOIN r ON r.s <=> {of} WHERE r.n > 0 AND {w}"),
            2,
        ),
        2 => {
            let not = r.of(&["", "NOT "]);
            Pair::new(
                format!(
                    "SELECT x.id c0 FROM {{x}} x WHERE x.b {not}IN ({own} SELECT n FROM r WHERE n IS NOT NULL) AND {w}"
                ),
                format!(
                    "{all} SELECT x.id c0 FROM {{x}} x WHERE {w} AND x.b IS NOT NULL AND {not}EXISTS (SELECT 1 FROM r WHERE \
                     r.s <=> {of} AND r.n = x.b) UNION ALL SELECT x.id FROM {{x}} x WHERE {w} AND x.b IS NULL AND '{not}' <> \
                     '' AND NOT EXISTS (SELECT 1 FROM r WHERE r.s <=> {of} AND r.n IS NOT NULL)"
                ),
                1,
            )
        }
        3 => {
            let (in_, at) = (r.of(&["IN", "NOT IN"]), r.below(3));
            Pair::new(
                format!("SELECT x.id c0 FROM {{x}} x WHERE x.a {in_} ({walk} SELECT n FROM r WHERE h = {at}) AND {w}"),
                format!(
                    "{walk}, q AS (SELECT n FROM r WHERE h = {at}), p AS (SELECT SUM(n IS NULL) nulls, COUNT(*) c FROM q) SELECT \
                     x.id c0 FROM {{x}} x JOIN p WHERE {w} AND IF((SELECT COUNT(*) FROM q WHERE q.n = x.a) > 0, 1, IF(p.c = 0, \
                     0, IF(p.nulls > 0 OR x.a IS NULL, NULL, 0))) = ('{in_}' = 'IN')"
                ),
                1,
            )
        }
        4 => Pair::new(
            format!(
                "{walk} SELECT x.id c0, r.n c1, r.h c2 FROM {{x}} x LEFT JOIN r ON r.n = x.a AND r.h > 0 WHERE {w}"
            ),
            format!(
                "SELECT x.id c0, q.n c1, q.h c2 FROM {{x}} x LEFT JOIN ({walk} SELECT n, h FROM r) q ON q.n = x.a AND q.h > 0 \
                 WHERE {w}"
            ),
            3,
        ),
        _ => {
            let on = r.of(&["{}.a = r.n", "{}.a <=> r.n", "{}.a = r.n AND {}.id <> 2"]);
            let step = |y: &str, n: &str| on.replace("{}", y).replace("r.n", n);
            Pair::new(
                format!(
                    "WITH RECURSIVE r (n, h) AS (SELECT x.a, 0 FROM {{x}} x WHERE {w} UNION ALL SELECT y.b, h + 1 FROM r JOIN \
                     {{y}} y ON {} WHERE h < 2) SELECT n c0, h c1 FROM r",
                    step("y", "r.n")
                ),
                format!(
                    "SELECT x.a c0, 0 c1 FROM {{x}} x WHERE {w} UNION ALL SELECT y.b, 1 FROM {{x}} x JOIN {{y}} y ON {0} WHERE \
                     {w} UNION ALL SELECT v.b, 2 FROM {{x}} x JOIN {{y}} y ON {0} JOIN {{y}} v ON {1} WHERE {w}",
                    step("y", "x.a"),
                    step("v", "y.b")
                ),
                2,
            )
        }
    }
}

/// UPDATE and DELETE with a walk in a subquery, beside a table of it.
pub(super) fn change(r: &mut Random) -> Change {
    let (walk, w) = (walk(r), filter(r, "x"));
    let (change, from) = match r.below(4) {
        0 => ("UPDATE {x} x SET x.b = ({walk} SELECT COUNT(*) FROM [r] WHERE n >= x.a)", false),
        1 => ("UPDATE {x} x SET x.b = x.a + 10, x.s = 'w' WHERE x.a IN ({walk} SELECT n FROM [r] WHERE h > 0)", true),
        2 => ("DELETE FROM {x} x WHERE x.b NOT IN ({walk} SELECT n FROM [r] WHERE n IS NOT NULL)", true),
        _ => {
            ("DELETE x FROM {x} x JOIN {z} z ON z.a = x.a WHERE EXISTS ({walk} SELECT 1 FROM [r] WHERE h = x.b)", true)
        }
    };
    let change = format!("{change} {} {w}", if from { "AND" } else { "WHERE" });
    let with = |walk: &str, of: &str| change.replace("{walk} ", walk).replace("[r]", of);
    Change {
        first: vec![with(&format!("{walk} "), "r")],
        second: vec![format!("CREATE TEMPORARY TABLE kept {walk} SELECT n, h FROM r"), with("", "kept")],
        shown: "SELECT id, a, b, s, g FROM {x}",
    }
}
