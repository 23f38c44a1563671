//! What the binder refuses, with MySQL's numbers and texts.

mod common;

fn error(sql: &str) -> String {
    match common::plan(&common::snapshot(), sql) {
        Ok(plan) => format!("planned: {:?}", plan.columns.iter().map(|c| &*c.name).collect::<Vec<_>>()),
        Err(e) => format!("{} {}", e.number(), e.message()),
    }
}

#[test]
fn binder_errors() {
    let cases = [
        ("select nope from t1", "1054 Unknown column 'nope' in 'field list'"),
        ("select x.a from t1", "1054 Unknown column 'x.a' in 'field list'"),
        ("select a from t1 where nope = 1", "1054 Unknown column 'nope' in 'where clause'"),
        ("select t1.a from t1 join t2 on t1.a = t2.nope", "1054 Unknown column 't2.nope' in 'on clause'"),
        // The list is looked at before WHERE, and that before ON, subqueries or not.
        ("select nope from t1 join t2 on t1.nope = 1 where t1.nope = 1", "1054 Unknown column 'nope' in 'field list'"),
        ("select a from t1 join t2 on t1.a = t2.nope", "1052 Column 'a' in field list is ambiguous"),
        ("select 1 from t1 join t2 on t1.n = 1 where nope = 1", "1054 Unknown column 'nope' in 'where clause'"),
        (
            "select nope from t1 join t2 on exists (select 1 from t3 where n = 1) where a in (select m from t3)",
            "1054 Unknown column 'nope' in 'field list'",
        ),
        ("select * from (select * from nope1) d, nope2", "1146 Table 'test.nope1' doesn't exist"),
        ("select * from nope2, (select * from nope1) d", "1146 Table 'test.nope2' doesn't exist"),
        ("select t1.a from t1, t2 join t3 on t1.a = t3.x", "1054 Unknown column 't1.a' in 'on clause'"),
        ("select a from t1 group by nope", "1054 Unknown column 'nope' in 'group statement'"),
        ("select a from t1 group by a having nope > 1", "1054 Unknown column 'nope' in 'having clause'"),
        ("select a from t1 having b > 1", "1054 Unknown column 'b' in 'having clause'"),
        ("select a from t1 order by nope", "1054 Unknown column 'nope' in 'order clause'"),
        ("select a from t1 order by 2", "1054 Unknown column '2' in 'order clause'"),
        ("select a from t1 group by 3", "1054 Unknown column '3' in 'group statement'"),
        ("select a from t1 join small using (id)", "1054 Unknown column 'id' in 'from clause'"),
        ("select a from t1, t2", "1052 Column 'a' in field list is ambiguous"),
        ("select t1.a from t1, t2 where a = 1", "1052 Column 'a' in where clause is ambiguous"),
        ("select a x, b x from t1 order by x", "1052 Column 'x' in order clause is ambiguous"),
        ("select * from nope", "1146 Table 'test.nope' doesn't exist"),
        ("select * from nope.t", "1049 Unknown database 'nope'"),
        ("select * from t1, t1", "1066 Not unique table/alias: 't1'"),
        ("select * from t1 x, t2 x", "1066 Not unique table/alias: 'x'"),
        ("select nope.* from t1", "1051 Unknown table 'nope'"),
        ("select *", "1096 No tables used"),
        ("select * from (select 1)", "1248 Every derived table must have its own alias"),
        ("select * from (select 1 a, 2 A) d", "1060 Duplicate column name 'A'"),
        (
            "select * from (select 1) d (x, y)",
            "1353 In definition of view, derived table or common table expression, SELECT list and column names list have different column counts",
        ),
        ("select a from t1 where count(*) > 1", "1111 Invalid use of group function"),
        ("select sum(count(*)) from t1", "1111 Invalid use of group function"),
        ("select a from t1 group by count(*)", "1111 Invalid use of group function"),
        ("select count(*) n from t1 group by n", "1056 Can't group on 'n'"),
        ("select count(*) from t1 group by 1", "1056 Can't group on 'count(*)'"),
        (
            "select b, c from t1 group by b",
            "1055 Expression #2 of SELECT list is not in GROUP BY clause and contains nonaggregated column 'test.t1.c' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by",
        ),
        (
            "select b from t1 group by b order by c",
            "1055 Expression #1 of ORDER BY clause is not in GROUP BY clause and contains nonaggregated column 'test.t1.c' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by",
        ),
        (
            "select a, count(*) from t1",
            "1140 In aggregated query without GROUP BY, expression #1 of SELECT list contains nonaggregated column 'test.t1.a'; this is incompatible with sql_mode=only_full_group_by",
        ),
        ("select (1, 2)", "1241 Operand should contain 1 column(s)"),
        ("select 1 = (1, 2)", "1241 Operand should contain 1 column(s)"),
        ("select (1, 2) = (1, 2, 3)", "1241 Operand should contain 2 column(s)"),
        ("select (select 1, 2)", "1241 Operand should contain 1 column(s)"),
        ("select * from t1 where a in (select 1, 2)", "1241 Operand should contain 1 column(s)"),
        ("select * from t1 where (a, b) in (select 1)", "1241 Operand should contain 2 column(s)"),
        ("select 1 union select 1, 2", "1222 The used SELECT statements have a different number of columns"),
        ("select nope(1)", "1305 FUNCTION test.nope does not exist"),
        ("select ifnull(1)", "1582 Incorrect parameter count in the call to native function 'ifnull'"),
        ("select if(1, 2)", "1582 Incorrect parameter count in the call to native function 'IF'"),
        ("select 'a' collate latin1_bin", "1253 COLLATION 'latin1_bin' is not valid for CHARACTER SET 'utf8mb4'"),
        ("select 'a' collate nope", "1273 Unknown collation: 'nope'"),
        (
            "select k from cs join t1 on v = c",
            "1267 Illegal mix of collations (utf8mb4_general_ci,IMPLICIT) and (utf8mb4_0900_ai_ci,IMPLICIT) for operation '='",
        ),
        ("select date '2020-13-01'", "1525 Incorrect DATE value: '2020-13-01'"),
        ("select row_number() over w from t1", "3579 Window name 'w' is not defined."),
        (
            "select a from t1 where row_number() over () > 1",
            "3593 You cannot use the window function 'row_number' in this context.'",
        ),
        (
            "select rank() over (order by a) r from t1 having r > 1",
            "3594 You cannot use the alias 'r' of an expression containing a window function in this context.'",
        ),
        (
            "with recursive r as (select * from r) select * from r",
            "3573 Recursive Common Table Expression 'r' should contain a UNION",
        ),
        (
            "with recursive r as (select * from r union select 1) select * from r",
            "3574 Recursive Common Table Expression 'r' should have one or more non-recursive query blocks followed by one or more recursive ones",
        ),
        ("insert into t1 (nope) values (1)", "1054 Unknown column 'nope' in 'field list'"),
        ("insert into t1 (a, a) values (1, 2)", "1110 Column 'a' specified twice"),
        ("insert into t1 (a, b) values (1, 2), (3)", "1136 Column count doesn't match value count at row 2"),
        ("insert into t1 values (1)", "1136 Column count doesn't match value count at row 1"),
        ("insert into t1 (a) select a, b from t1", "1136 Column count doesn't match value count at row 1"),
        ("insert into small set id = 1, name = default(name)", "1364 Field 'name' doesn't have a default value"),
        ("insert into nope values (1)", "1146 Table 'test.nope' doesn't exist"),
        ("update t1 set nope = 1", "1054 Unknown column 'nope' in 'field list'"),
        ("update t1, t2 set b = 1 order by b", "1221 Incorrect usage of UPDATE and ORDER BY"),
        ("update t1, t2 set b = 1 limit 1", "1221 Incorrect usage of UPDATE and LIMIT"),
        ("update (select 1 x) d set x = 2", "1288 The target table d of the UPDATE is not updatable"),
        ("delete nope from t1", "1109 Unknown table 'nope' in MULTI DELETE"),
        ("select a from t1 for update of nope", "3568 Unresolved table name `nope` in locking clause."),
        ("select * from t1 where match (c) against ('x')", "1191 Can't find FULLTEXT index matching the column list"),
    ];
    let mut wrong = Vec::new();
    for (sql, expected) in cases {
        let found = error(sql);
        if found != expected {
            wrong.push(format!("{sql}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Functional dependence, aliases and scopes that MySQL accepts.
#[test]
fn accepted() {
    for sql in [
        "select a, b, c from t1 group by a",
        "select t1.a, t1.c, count(*) from t1 join t2 on t1.a = t2.t1_a group by t1.a",
        "select t2.t1_a, t1.c from t1 join t2 on t1.a = t2.t1_a group by t2.t1_a",
        "select b + 1 from t1 group by b + 1",
        "select b + 1 as x from t1 group by x having x > 3 order by x",
        "select b, max(c) from t1 group by b order by max(c)",
        "select c from t1 where a = 1 group by b",
        "select a as b, b as a from t1 order by a",
        "select t1.a from t1 order by t1.b",
        "select (select t1.a) from t1 group by a",
        "select a from t1 where exists (select * from t2 where t2.t1_a = t1.a and exists (select * from t3 where t3.x = t1.b))",
        "select any_value(c) from t1 group by b",
        "select * from information_schema.tables where 1 = 0 or 1 = 1",
        "select d.* from (select a as x from t1) d where x > 1",
        "select count(*) from t1 having count(*) > 1",
        "select sum(b) / count(*) from t1 group by c order by count(*) limit 1",
        "select 1 from dual where 1",
        "select max(a) over (partition by b order by c rows between 1 preceding and current row) from t1",
        "select a from t1 union (select b from t1 order by b limit 1) order by a",
        "values row (1, 'a'), row (2, null) order by column_0",
        "table t1 order by b limit 2",
        "select t1.a, x.q from t1 join other.t1 x using (a)",
        "select * from t1 where (a, b) > (1, 2)",
        "select a from t1 where b between ? and ? limit ? offset ?",
        "insert into t1 (a, b) values (1, a + 1) as new on duplicate key update b = new.b + t1.b",
        "select a from t1 where c like 'a|%' escape '|'",
        "select @x := a from t1 where @y = 1",
        "select case b when 1 then 'one' else 2 end from t1",
    ] {
        let found = error(sql);
        let virtual_table = sql.contains("information_schema");
        assert!(found.starts_with("planned") || virtual_table, "{sql}: {found}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let depth = 300;
    let sql = format!("select {}1{}", "(select ".repeat(depth), ")".repeat(depth));
    let parsed = gannet_parser::parse(sql.as_bytes(), gannet_parser::LexMode::default());
    if let Ok(parsed) = parsed {
        let options = gannet_plan::PlanOptions::new(Some("test"));
        let snapshot = common::snapshot();
        let refused = gannet_plan::plan(&parsed.statement, &snapshot, &options).unwrap_err();
        assert_eq!(refused.number(), 1436);
    }
}

/// What a client learns of the columns.
#[test]
fn metadata() {
    use gannet_types::sqltype::flags;
    let plan = common::plan(
        &common::snapshot(),
        "select x.A as k, b + 1, count(*), 'lit' from t1 x left join t2 on t2.a = x.a group by x.a",
    )
    .unwrap();
    let c = &plan.columns[0];
    assert_eq!((&*c.name, &*c.org_name, &*c.table, &*c.org_table, &*c.schema), ("k", "a", "x", "t1", "test"));
    assert_eq!(
        c.flags & (flags::PRI_KEY | flags::NOT_NULL | flags::PART_KEY),
        flags::PRI_KEY | flags::NOT_NULL | flags::PART_KEY
    );
    assert_eq!((&*plan.columns[1].name, &*plan.columns[1].org_name), ("b + 1", ""));
    assert_eq!(&*plan.columns[2].name, "count(*)");
    assert_eq!(&*plan.columns[3].name, "lit");
    let plan =
        common::plan(&common::snapshot(), "select d.y, t2.a from (select c as y from t1) d left join t2 on t2.v = d.y")
            .unwrap();
    let c = &plan.columns[0];
    assert_eq!((&*c.table, &*c.org_table, &*c.org_name), ("d", "t1", "y"));
    assert_eq!(plan.columns[1].flags & flags::NOT_NULL, 0);
}
