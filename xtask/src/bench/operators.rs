//! Forty queries that are mostly one operator each, over a table of wide rows and a copy of it.

/// Makes a table of the rows; two of them are made.
pub(super) const COLUMNS: &str = "id INT PRIMARY KEY, k INT NOT NULL, g INT NOT NULL, n BIGINT, d DECIMAL(12,2) NOT NULL, \
    f DOUBLE NOT NULL, t DATETIME NOT NULL, s VARCHAR(40) NOT NULL, pad CHAR(100) NOT NULL, KEY (k)";

/// Name and text. Each gives one answer, whatever the plan.
pub(super) const QUERIES: &[(&str, &str)] = &[
    ("count", "SELECT COUNT(*) FROM a"),
    ("count of a column", "SELECT COUNT(n) FROM a"),
    ("sum of an INT", "SELECT SUM(k) FROM a"),
    ("sum of a DECIMAL", "SELECT SUM(d) FROM a"),
    ("sum of a DOUBLE", "SELECT ROUND(SUM(f), 3) FROM a"),
    ("least and greatest", "SELECT MIN(g), MAX(g), MIN(d), MAX(d), MIN(f), MAX(f) FROM a"),
    ("average", "SELECT AVG(k), AVG(d) FROM a"),
    ("least text", "SELECT MIN(s), MAX(s) FROM a"),
    ("sum of an expression", "SELECT SUM(k * 2 + g) FROM a"),
    ("sum of a CASE", "SELECT SUM(CASE WHEN g < 50 THEN k ELSE 0 END) FROM a"),
    ("filter of integers", "SELECT COUNT(*) FROM a WHERE g % 10 = 3 AND n > 500"),
    ("filter of decimals", "SELECT COUNT(*) FROM a WHERE d BETWEEN 100 AND 200.5"),
    ("filter of dates", "SELECT COUNT(*) FROM a WHERE t >= '2024-03-01' AND t < '2024-04-01'"),
    ("filter of text", "SELECT COUNT(*) FROM a WHERE s = 'word 77 of 1000'"),
    ("LIKE, a start", "SELECT COUNT(*) FROM a WHERE s LIKE 'word 7%'"),
    ("LIKE, anywhere", "SELECT COUNT(*) FROM a WHERE pad LIKE '%777%'"),
    ("IN of texts", "SELECT COUNT(*) FROM a WHERE s IN ('word 1 of 1000', 'word 5 of 1000', 'word 9 of 1000')"),
    ("function of a text", "SELECT COUNT(*) FROM a WHERE LENGTH(s) < 0"),
    ("function of a date", "SELECT SUM(YEAR(t) + MONTH(t)) FROM a"),
    ("text made", "SELECT SUM(LENGTH(CONCAT(s, '-', SUBSTRING(pad, 3, 10)))) FROM a"),
    ("100 groups", "SELECT g, COUNT(*), SUM(k) FROM a GROUP BY g ORDER BY g"),
    ("100 groups, five aggregates", "SELECT g, SUM(d), AVG(d), MIN(f), MAX(n), COUNT(n) FROM a GROUP BY g ORDER BY g"),
    ("1,000 groups by text", "SELECT s, COUNT(*), SUM(k) FROM a GROUP BY s ORDER BY 2 DESC, s LIMIT 10"),
    ("many groups", "SELECT n, COUNT(*) AS c FROM a GROUP BY n ORDER BY c DESC, n LIMIT 10"),
    ("many groups by two keys", "SELECT n, g, SUM(k) AS c FROM a GROUP BY n, g ORDER BY c DESC, n, g LIMIT 10"),
    ("groups by an index", "SELECT k, COUNT(*) AS c FROM a GROUP BY k ORDER BY c DESC, k LIMIT 10"),
    ("count of distinct integers", "SELECT COUNT(DISTINCT n) FROM a"),
    ("count of distinct texts", "SELECT COUNT(DISTINCT s) FROM a"),
    ("distinct integers in groups", "SELECT g, COUNT(DISTINCT n) FROM a GROUP BY g ORDER BY g"),
    ("distinct rows", "SELECT COUNT(*) FROM (SELECT DISTINCT g, s FROM a) AS x"),
    ("sort, ten rows", "SELECT id, pad FROM a ORDER BY f, id LIMIT 10"),
    ("sort by text, ten rows", "SELECT id, s FROM a ORDER BY s DESC, id LIMIT 10"),
    ("sort of all", "SELECT SUM(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY f, id) % 7 AS r FROM a) AS x"),
    ("deep OFFSET", "SELECT id, pad FROM a ORDER BY id LIMIT 10 OFFSET 900000"),
    ("deep OFFSET of a sort", "SELECT id, d FROM a ORDER BY d, id LIMIT 10 OFFSET 100000"),
    ("join by primary keys", "SELECT COUNT(*), SUM(a.k + b.g) FROM a JOIN b ON a.id = b.id"),
    ("join by no index", "SELECT COUNT(*), SUM(a.g + b.g) FROM a JOIN b ON a.n = b.n WHERE a.g = 3 AND b.g = 7"),
    ("join by an index", "SELECT COUNT(*), SUM(a.g - b.g) FROM a JOIN b ON a.k = b.k"),
    ("half join", "SELECT COUNT(*) FROM a WHERE n IN (SELECT n FROM b WHERE g = 7)"),
    (
        "outer join with groups",
        "SELECT a.g, COUNT(b.id) FROM a LEFT JOIN b ON b.n = a.n AND b.g = 5 GROUP BY a.g ORDER BY 1",
    ),
];
