//! WITH ROLLUP beside the groups of each level, one after the other.

use super::Pair;
use super::laterals::{aggregate, filter};
use crate::common::random::Random;

/// A text with `{k0}` and `{g0}` as they stand at a level that has the first `kept` keys; without one as the query has
/// them.
fn at(text: &str, keys: &[&str], kept: Option<usize>) -> String {
    let mut text = text.to_owned();
    for (n, key) in keys.iter().enumerate() {
        let (shown, grouping) = match kept {
            None => ((*key).to_owned(), format!("GROUPING({key})")),
            Some(kept) if n < kept => ((*key).to_owned(), "0".to_owned()),
            Some(_) => ("NULL".to_owned(), "1".to_owned()),
        };
        text = text.replace(&format!("{{k{n}}}"), &shown).replace(&format!("{{g{n}}}"), &grouping);
    }
    text
}

fn item(r: &mut Random, last: usize) -> String {
    let n = r.below(last + 1);
    match r.below(9) {
        0 => format!("{{g{n}}}"),
        1 => format!("IFNULL({{k{n}}}, 'all')"),
        2 => format!("IF({{g{n}}}, 'all', {{k0}})"),
        3 => format!("{{g0}} + {{g{last}}}"),
        4 => format!("{{k{n}}} IS NULL"),
        5 => format!("COALESCE({{k{last}}}, {{k0}}, '-')"),
        _ => aggregate(r, "x"),
    }
}

pub(super) fn pair(r: &mut Random) -> Pair {
    let pool = ["x.a", "x.b", "x.s", "x.a % 3", "x.g", "x.a + 1", "x.id DIV 3"];
    let mut keys = vec![r.of(&["x.a", "x.b", "x.a % 3", "x.g"])];
    for _ in 0..r.below(3) {
        let key = r.of(&pool);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let last = keys.len() - 1;
    let items = ["{k0}".to_owned(), format!("{{k{last}}}"), item(r, last), item(r, last), aggregate(r, "x")];
    let window = r.percent(25).then(|| {
        r.of(&["RANK() OVER (ORDER BY {})", "SUM(COUNT(*)) OVER (ORDER BY {})", "MAX(SUM(x.b)) OVER (PARTITION BY {})"])
            .replace("{}", &format!("{{g0}}, {{k{last}}}, {{k0}}"))
    });
    // HAVING knows columns of GROUP BY, not its expressions.
    let plain = !keys[0].contains(' ') && !keys[last].contains(' ');
    let having = match r.below(8) {
        0 => " HAVING COUNT(*) > 1".to_owned(),
        1 => " HAVING c0 IS NOT NULL".into(),
        2 if plain => format!(" HAVING {{g{last}}} = 0"),
        3 => " HAVING c1 IS NULL OR SUM(x.b) > 3".into(),
        4 if plain => format!(" HAVING {{g{last}}} OR {{k0}} > 1"),
        5 => " HAVING c0 > 1 OR c1 IS NOT NULL".into(),
        _ => String::new(),
    };
    let from = r.of(&["{x} x", "{x} x", "{x} x JOIN {y} y ON y.a = x.a", "{x} x LEFT JOIN {y} y ON y.id = x.b"]);
    let from = format!("{from} WHERE {}", filter(r, "x"));
    let distinct = r.of(&["", "", "DISTINCT "]);
    let select = |kept: Option<usize>| {
        let list: Vec<String> =
            items.iter().enumerate().map(|(n, item)| format!("{} c{n}", at(item, &keys, kept))).collect();
        let list = list.join(", ");
        let Some(kept) = kept else {
            let window = window.iter().map(|w| format!(", {} c5", at(w, &keys, None)));
            return format!(
                "SELECT {distinct}{list}{} FROM {from} GROUP BY {} WITH ROLLUP{}",
                window.collect::<String>(),
                keys.join(", "),
                at(&having, &keys, None)
            );
        };
        // What the window needs has columns of its own.
        let needed = at(&format!(", {{g0}} o0, {{k{last}}} o1, {{k0}} o2, COUNT(*) n, SUM(x.b) t"), &keys, Some(kept));
        let having = at(&having, &keys, Some(kept));
        match kept {
            0 => {
                // No rows are no group.
                let having = having.strip_prefix(" HAVING ").unwrap_or("TRUE");
                format!("SELECT {list}{needed} FROM {from} HAVING COUNT(*) > 0 AND ({having})")
            }
            _ => format!("SELECT {list}{needed} FROM {from} GROUP BY {}{having}", keys[..kept].join(", ")),
        }
    };
    let levels: Vec<String> = (0..=keys.len()).map(|kept| select(Some(kept))).collect();
    let over = window.as_ref().map(|w| {
        let inner = w.split(" OVER ").next().unwrap_or_default().replace("COUNT(*)", "n").replace("SUM(x.b)", "t");
        let by = if w.contains("PARTITION") { "PARTITION" } else { "ORDER" };
        format!(", {inner} OVER ({by} BY o0, o1, o2) c5")
    });
    let second = format!(
        "SELECT {distinct}c0, c1, c2, c3, c4{} FROM ({}) u",
        over.unwrap_or_default(),
        levels.join(" UNION ALL ")
    );
    let columns = 5 + usize::from(window.is_some());
    let mut pair = Pair::new(select(None), second, columns);
    // With DISTINCT a query is ordered by what it shows.
    if r.percent(30) {
        let all = (1..=columns).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
        let (way, limit) = (r.of(&["", " DESC"]), r.of(&["", " LIMIT 3", " LIMIT 2 OFFSET 1"]));
        let (a, b) =
            if distinct.is_empty() { (format!("GROUPING({}){way}, ", keys[0]), "o0") } else { Default::default() };
        let b = if b.is_empty() { String::new() } else { format!("{b}{way}, ") };
        pair.first += &format!(" ORDER BY {a}{all}{limit}");
        pair.second += &format!(" ORDER BY {b}{all}{limit}");
        pair.ordered = true;
    }
    pair
}
