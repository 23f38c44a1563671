//! JSON_TABLE with nested paths, and over what comes from the tables before it, beside joined calls and paths.

use super::Pair;
use super::laterals::{condition, filter};
use crate::common::random::Random;

fn member(r: &mut Random) -> String {
    let mut parts = Vec::new();
    if r.percent(80) {
        parts.push(format!("\"a\": {}", r.of(&["1", "2", "3", "null", "\"x\""])));
    }
    for name in ["b", "c"] {
        if r.percent(65) {
            parts.push(format!(
                "\"{name}\": {}",
                r.of(&["[]", "[1]", "[1, 2]", "[2, null, 3]", "[[1, 4], [2]]", "5", "null"])
            ));
        }
    }
    format!("{{{}}}", parts.join(", "))
}

/// A document as a literal.
pub(super) fn document(r: &mut Random) -> String {
    let members: Vec<String> = (0..r.below(4)).map(|_| member(r)).collect();
    match r.below(8) {
        0 => r.of(&["'null'", "'3'", "'[]'", "'[1, 2, 3]'"]).to_owned(),
        1 => format!("'{}'", member(r)),
        _ => format!("'[{}]'", members.join(", ")),
    }
}

const VALUE: &str = "INT PATH '$' NULL ON EMPTY NULL ON ERROR";

pub(super) fn pair(r: &mut Random) -> Pair {
    let (w, on, end) = (filter(r, "x"), condition(r), r.of(&["[*]", "[0]", "[1]", "[last]"]));
    let path = r.of(&["$[*]", "$[0]", "$", "$[1 to 2]"]);
    let member = "INT PATH '$.a' NULL ON EMPTY DEFAULT '9' ON ERROR";
    match r.below(8) {
        0 => Pair::new(
            format!(
                "SELECT x.id c0, t.o c1, t.a c2, t.p c3, t.v c4 FROM {{x}} x, JSON_TABLE(x.j, '{path}' COLUMNS (o FOR \
                 ORDINALITY, a {member}, NESTED PATH '$.b{end}' COLUMNS (p FOR ORDINALITY, v {VALUE}))) t WHERE {w}"
            ),
            format!(
                "SELECT x.id c0, t.o c1, t.a c2, u.p c3, u.v c4 FROM {{x}} x, JSON_TABLE(x.j, '{path}' COLUMNS (o FOR \
                 ORDINALITY, a {member}, b JSON PATH '$.b')) t LEFT JOIN JSON_TABLE(t.b, '${end}' COLUMNS (p FOR ORDINALITY, \
                 v {VALUE})) u ON TRUE WHERE {w}"
            ),
            5,
        ),
        1 => Pair::new(
            format!(
                "SELECT x.id c0, t.o c1, t.v c2, t.u c3 FROM {{x}} x, JSON_TABLE(x.j, '{path}' COLUMNS (o FOR ORDINALITY, \
                 NESTED PATH '$.b{end}' COLUMNS (v {VALUE}), NESTED PATH '$.c[*]' COLUMNS (u {VALUE}))) t WHERE {w}"
            ),
            format!(
                "WITH t AS (SELECT x.id, o, m FROM {{x}} x, JSON_TABLE(x.j, '{path}' COLUMNS (o FOR ORDINALITY, m JSON PATH \
                 '$')) t WHERE {w}), n AS (SELECT t.id, t.o, b.v, NULL u FROM t, JSON_TABLE(t.m, '$.b{end}' COLUMNS (v \
                 {VALUE})) b UNION ALL SELECT t.id, t.o, NULL, c.u FROM t, JSON_TABLE(t.m, '$.c[*]' COLUMNS (u {VALUE})) c) \
                 SELECT t.id c0, t.o c1, n.v c2, n.u c3 FROM t LEFT JOIN n ON n.id = t.id AND n.o = t.o"
            ),
            4,
        ),
        2 => Pair::new(
            format!(
                "SELECT x.id c0, t.o c1, t.p c2, t.v c3 FROM {{x}} x, JSON_TABLE(x.j, '{path}' COLUMNS (o FOR ORDINALITY, \
                 NESTED PATH '$.b[*]' COLUMNS (p FOR ORDINALITY, NESTED PATH '$[*]' COLUMNS (v {VALUE})))) t WHERE {w}"
            ),
            format!(
                "SELECT x.id c0, t.o c1, u.p c2, v.v c3 FROM {{x}} x JOIN JSON_TABLE(x.j, '{path}' COLUMNS (o FOR ORDINALITY, \
                 m JSON PATH '$')) t LEFT JOIN JSON_TABLE(t.m, '$.b[*]' COLUMNS (p FOR ORDINALITY, m JSON PATH '$')) u ON \
                 TRUE LEFT JOIN JSON_TABLE(u.m, '$[*]' COLUMNS (v {VALUE})) v ON TRUE WHERE {w}"
            ),
            4,
        ),
        3 => Pair::new(
            format!(
                "SELECT x.id c0, t.o c1, t.v c2 FROM {{x}} x, JSON_TABLE(x.j, '$[*]' COLUMNS (o FOR ORDINALITY, v JSON PATH \
                 '$')) t WHERE {w}"
            ),
            format!(
                "SELECT x.id c0, n.n c1, JSON_EXTRACT(x.j, CONCAT('$[', n.n - 1, ']')) c2 FROM {{x}} x JOIN (VALUES ROW(1), \
                 ROW(2), ROW(3), ROW(4)) n (n) ON n.n <= JSON_LENGTH(x.j) WHERE JSON_TYPE(x.j) = 'ARRAY' AND {w}"
            ),
            3,
        ),
        4 => Pair::new(
            format!(
                "SELECT x.id c0, t.o c1, t.a c2 FROM {{x}} x JOIN LATERAL (SELECT y.j FROM {{y}} y WHERE {on}) l JOIN \
                 JSON_TABLE(l.j, '{path}' COLUMNS (o FOR ORDINALITY, a {member})) t WHERE {w} AND (t.a >= x.a OR t.a IS NULL)"
            ),
            format!(
                "SELECT x.id c0, m.o c1, m.a c2 FROM {{x}} x JOIN {{y}} y ON {on} JOIN (SELECT y.id, t.o, t.a FROM {{y}} y, \
                 JSON_TABLE(y.j, '{path}' COLUMNS (o FOR ORDINALITY, a {member})) t) m ON m.id = y.id WHERE {w} AND (m.a >= \
                 x.a OR m.a IS NULL)"
            ),
            3,
        ),
        5 => Pair::new(
            format!(
                "SELECT x.id c0, t.o c1, t.a c2 FROM {{x}} x LEFT JOIN JSON_TABLE(x.j, '{path}' COLUMNS (o FOR ORDINALITY, a \
                 {member})) t ON t.a = x.a WHERE {w}"
            ),
            format!(
                "SELECT x.id c0, m.o c1, m.a c2 FROM {{x}} x LEFT JOIN (SELECT x.id, t.o, t.a FROM {{x}} x, JSON_TABLE(x.j, \
                 '{path}' COLUMNS (o FOR ORDINALITY, a {member})) t) m ON m.id = x.id AND m.a = x.a WHERE {w}"
            ),
            3,
        ),
        6 => {
            let not = r.of(&["", "NOT "]);
            Pair::new(
                format!(
                    "SELECT x.id c0 FROM {{x}} x WHERE {not}EXISTS (SELECT 1 FROM JSON_TABLE(x.j, '{path}' COLUMNS (a \
                     {member}, NESTED PATH '$.b[*]' COLUMNS (v {VALUE}))) t WHERE t.a = x.a OR t.v = x.b) AND {w}"
                ),
                format!(
                    "SELECT x.id c0 FROM {{x}} x LEFT JOIN (SELECT DISTINCT x.id FROM {{x}} x, JSON_TABLE(x.j, '{path}' \
                     COLUMNS (a {member}, NESTED PATH '$.b[*]' COLUMNS (v {VALUE}))) t WHERE t.a = x.a OR t.v = x.b) m ON \
                     m.id = x.id WHERE {w} AND m.id IS {}NULL",
                    if not.is_empty() { "NOT " } else { "" }
                ),
                1,
            )
        }
        _ => Pair::new(
            format!(
                "SELECT x.id c0, (SELECT SUM(t.v) FROM {{y}} y JOIN JSON_TABLE(y.j, '{path}' COLUMNS (NESTED PATH '$.b{end}' \
                 COLUMNS (v {VALUE}))) t ON t.v >= x.a WHERE {on}) c1 FROM {{x}} x WHERE {w}"
            ),
            format!(
                "SELECT x.id c0, SUM(t.v) c1 FROM {{x}} x LEFT JOIN {{y}} y ON {on} LEFT JOIN (SELECT y.id, t.v FROM {{y}} y, \
                 JSON_TABLE(y.j, '{path}' COLUMNS (NESTED PATH '$.b{end}' COLUMNS (v {VALUE}))) t) t ON t.id = y.id AND t.v >= \
                 x.a WHERE {w} GROUP BY x.id"
            ),
            2,
        ),
    }
}
