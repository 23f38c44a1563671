//! "ok NAME" or "not ok NAME: why" for each check, "done" at the end.
use bigdecimal::BigDecimal;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use futures_util::TryStreamExt;
use sqlx::migrate::Migrator;
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions, MySqlRow, MySqlSslMode};
use sqlx::types::Json;
use sqlx::{Acquire, Column, Connection, Executor, Row, TypeInfo};
use std::str::FromStr;

type Outcome = Result<(), Box<dyn std::error::Error>>;

macro_rules! same {
    ($a:expr, $b:expr) => {{
        let (a, b) = (&$a, &$b);
        if a != b {
            return Err(format!("line {}: {a:?} is not {b:?}", line!()).into());
        }
    }};
}

fn report(name: &str, outcome: Outcome) {
    match outcome {
        Ok(()) => println!("ok sqlx.{name}"),
        Err(e) => println!("not ok sqlx.{name}: {}", e.to_string().replace('\n', " ")),
    }
}

#[tokio::main]
async fn main() {
    let options = MySqlConnectOptions::new()
        .host("127.0.0.1")
        .port(std::env::args().nth(1).expect("a port").parse().expect("a port"))
        .username("root")
        .database("suite_sqlx")
        .ssl_mode(MySqlSslMode::Disabled);
    let pool = MySqlPoolOptions::new().max_connections(5).connect_with(options.clone()).await.expect("a pool");
    report("migrations", migrations(&pool).await);
    report("crud", crud(&pool).await);
    report("types", types(&pool).await);
    report("text_protocol", text_protocol(&pool).await);
    report("transactions", transactions(&pool).await);
    report("streams", streams(&pool).await);
    report("multi_statements", multi_statements(&pool).await);
    report("errors", errors(&pool).await);
    report("describe", describe(&pool).await);
    report("statement_cache", statement_cache(&options).await);
    report("concurrent", concurrent(&pool).await);
    report("cancelled", cancelled(&pool).await);
    report("undo", undo(&pool).await);
    println!("done");
}

async fn migrator() -> Result<Migrator, Box<dyn std::error::Error>> {
    Ok(Migrator::new(std::path::Path::new("sqlx_migrations")).await?)
}

async fn migrations(pool: &MySqlPool) -> Outcome {
    migrator().await?.run(pool).await?;
    migrator().await?.run(pool).await?;
    let n: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM _sqlx_migrations WHERE success").fetch_one(pool).await?;
    same!(n, 2);
    Ok(())
}

async fn crud(pool: &MySqlPool) -> Outcome {
    let made = sqlx::query("INSERT INTO people (name, born, note) VALUES (?, ?, ?)")
        .bind("Ann 日本")
        .bind(NaiveDate::from_ymd_opt(1990, 1, 2))
        .bind(None::<String>)
        .execute(pool)
        .await?;
    same!(made.rows_affected(), 1);
    same!(made.last_insert_id(), 2);
    let (id, name, born, note): (u64, String, Option<NaiveDate>, Option<String>) =
        sqlx::query_as("SELECT id, name, born, note FROM people WHERE id = ?").bind(2).fetch_one(pool).await?;
    same!((id, &*name, born, note), (2, "Ann 日本", NaiveDate::from_ymd_opt(1990, 1, 2), None));
    same!(sqlx::query("UPDATE people SET note = 'n' WHERE id = ?").bind(2u64).execute(pool).await?.rows_affected(), 1);
    // The driver asks for the rows that were found.
    same!(sqlx::query("UPDATE people SET note = 'n' WHERE id = ?").bind(2u64).execute(pool).await?.rows_affected(), 1);
    let up = "INSERT INTO people (name, note) VALUES (?, 'x') ON DUPLICATE KEY UPDATE note = CONCAT(note, '!')";
    same!(sqlx::query(up).bind("Ann 日本").execute(pool).await?.rows_affected(), 2);
    let mut many = sqlx::QueryBuilder::new("INSERT INTO pets (owner, kind) ");
    many.push_values(0..100, |mut b, i| {
        b.push_bind(1u64).push_bind(if i % 2 == 0 { "cat" } else { "dog" });
    });
    same!(many.build().execute(pool).await?.rows_affected(), 100);
    let kinds: Vec<(String, i64)> =
        sqlx::query_as("SELECT kind, COUNT(*) FROM pets GROUP BY kind ORDER BY kind").fetch_all(pool).await?;
    same!(kinds, vec![("cat".to_string(), 50), ("dog".to_string(), 50)]);
    same!(sqlx::query("DELETE FROM people WHERE id = 1").execute(pool).await?.rows_affected(), 1);
    same!(sqlx::query("SELECT * FROM pets").fetch_optional(pool).await?.is_none(), true);
    Ok(())
}

const TYPES: &str = "CREATE TABLE types (t TINYINT, u TINYINT UNSIGNED, s SMALLINT, su SMALLINT UNSIGNED, m MEDIUMINT, i INT, iu INT UNSIGNED, \
    g BIGINT, gu BIGINT UNSIGNED, bo BOOL, f FLOAT, d DOUBLE, de DECIMAL(20,5), da DATE, ti TIME(6), dt DATETIME(6), ts TIMESTAMP(6) NULL, y YEAR, \
    c CHAR(4), v VARCHAR(20), te LONGTEXT, bi BINARY(16), vb VARBINARY(9), bl LONGBLOB, e ENUM('a','b'), se SET('x','y'), j JSON, b BIT(20))";

async fn types(pool: &MySqlPool) -> Outcome {
    pool.execute("DROP TABLE IF EXISTS types").await?;
    pool.execute(TYPES).await?;
    let date = NaiveDate::from_ymd_opt(2024, 2, 29).ok_or("date")?;
    let time = NaiveTime::from_hms_micro_opt(10, 11, 12, 131_415).ok_or("time")?;
    let stamp: DateTime<Utc> = NaiveDateTime::new(date, time).and_utc();
    let decimal = BigDecimal::from_str("-123456789012345.67891")?;
    let id = uuid::Uuid::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10);
    let long = "日".repeat(30_000);
    let json = serde_json::json!({"k": [1, true, null, "日"]});
    let sql = format!("INSERT INTO types VALUES ({}?)", "?, ".repeat(27));
    sqlx::query(&sql)
        .bind(-128i8).bind(255u8).bind(-32768i16).bind(65535u16).bind(-8388608i32).bind(i32::MIN).bind(u32::MAX)
        .bind(i64::MIN).bind(u64::MAX).bind(true).bind(1.5f32).bind(0.1f64).bind(&decimal).bind(date).bind(time)
        .bind(stamp.naive_utc()).bind(stamp).bind(2024u16).bind("abcd").bind("日本").bind(&long).bind(id)
        .bind(&[0u8, 255][..]).bind(vec![7u8; 70_000]).bind("b").bind("x,y").bind(Json(&json)).bind(0xABCDEu32)
        .execute(pool)
        .await?;
    sqlx::query("INSERT INTO types (t) VALUES (?)").bind(None::<i8>).execute(pool).await?;
    let r: MySqlRow = sqlx::query("SELECT * FROM types WHERE t = ?").bind(-128).fetch_one(pool).await?;
    same!((r.try_get::<i8, _>("t")?, r.try_get::<u8, _>("u")?, r.try_get::<i16, _>("s")?, r.try_get::<u16, _>("su")?), (-128, 255, -32768, 65535));
    same!((r.try_get::<i32, _>("m")?, r.try_get::<i32, _>("i")?, r.try_get::<u32, _>("iu")?), (-8388608, i32::MIN, u32::MAX));
    same!((r.try_get::<i64, _>("g")?, r.try_get::<u64, _>("gu")?, r.try_get::<bool, _>("bo")?), (i64::MIN, u64::MAX, true));
    same!((r.try_get::<f32, _>("f")?, r.try_get::<f64, _>("d")?, r.try_get::<BigDecimal, _>("de")?), (1.5, 0.1, decimal));
    same!((r.try_get::<NaiveDate, _>("da")?, r.try_get::<NaiveTime, _>("ti")?), (date, time));
    same!((r.try_get::<NaiveDateTime, _>("dt")?, r.try_get::<DateTime<Utc>, _>("ts")?), (stamp.naive_utc(), stamp));
    same!((r.try_get::<u16, _>("y")?, r.try_get::<String, _>("c")?, r.try_get::<String, _>("v")?), (2024, "abcd".to_string(), "日本".to_string()));
    same!((r.try_get::<String, _>("te")?, r.try_get::<uuid::Uuid, _>("bi")?, r.try_get::<Vec<u8>, _>("vb")?), (long, id, vec![0, 255]));
    same!(r.try_get::<Vec<u8>, _>("bl")?.len(), 70_000);
    same!((r.try_get::<String, _>("e")?, r.try_get::<String, _>("se")?), ("b".to_string(), "x,y".to_string()));
    same!(r.try_get::<Json<serde_json::Value>, _>("j")?.0, json);
    same!(r.try_get::<u64, _>("b")?, 0xABCDE);
    let r: MySqlRow = sqlx::query("SELECT * FROM types WHERE t IS NULL").fetch_one(pool).await?;
    same!(r.try_get::<Option<String>, _>("v")?.is_none() && r.try_get::<Option<DateTime<Utc>>, _>("ts")?.is_none(), true);
    let r = sqlx::query("SELECT CAST('-25:01:02.5' AS TIME(1)) t, CAST(? AS DECIMAL(5,2)) d, ? + 1 n, NOW() x").bind("1.239").bind(41).fetch_one(pool).await?;
    same!((r.try_get::<BigDecimal, _>("d")?, r.try_get::<i64, _>("n")?), (BigDecimal::from_str("1.24")?, 42));
    Ok(())
}

async fn text_protocol(pool: &MySqlPool) -> Outcome {
    // A query without parameters given as text goes over the text protocol.
    let r = pool.fetch_one("SELECT * FROM types WHERE t = -128").await?;
    same!((r.try_get::<u64, _>("gu")?, r.try_get::<f64, _>("d")?, r.try_get::<bool, _>("bo")?), (u64::MAX, 0.1, true));
    same!(r.try_get::<Json<serde_json::Value>, _>("j")?.0["k"][1], true);
    same!(r.try_get::<NaiveTime, _>("ti")?, NaiveTime::from_hms_micro_opt(10, 11, 12, 131_415).ok_or("time")?);
    Ok(())
}

async fn transactions(pool: &MySqlPool) -> Outcome {
    pool.execute("DROP TABLE IF EXISTS tx").await?;
    pool.execute("CREATE TABLE tx (a INT PRIMARY KEY)").await?;
    let mut t = pool.begin().await?;
    sqlx::query("INSERT INTO tx VALUES (1)").execute(&mut *t).await?;
    {
        let mut nested = t.begin().await?;
        sqlx::query("INSERT INTO tx VALUES (2)").execute(&mut *nested).await?;
        nested.rollback().await?;
    }
    let mut nested = t.begin().await?;
    sqlx::query("INSERT INTO tx VALUES (3)").execute(&mut *nested).await?;
    nested.commit().await?;
    let outside: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM tx").fetch_one(pool).await?;
    same!(outside, 0);
    t.commit().await?;
    {
        let mut dropped = pool.begin().await?;
        sqlx::query("INSERT INTO tx VALUES (4)").execute(&mut *dropped).await?;
    }
    let rows: Vec<i32> = sqlx::query_scalar("SELECT a FROM tx ORDER BY a").fetch_all(pool).await?;
    same!(rows, vec![1, 3]);
    Ok(())
}

async fn streams(pool: &MySqlPool) -> Outcome {
    let sql = "WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT i, REPEAT('x', i) FROM n";
    let mut c = pool.acquire().await?;
    let (mut n, mut bytes) = (0, 0);
    {
        let mut rows = sqlx::query_as::<_, (i64, String)>(sql).bind(900).fetch(&mut *c);
        while let Some((_, text)) = rows.try_next().await? {
            n += 1;
            bytes += text.len();
        }
    }
    same!((n, bytes), (900, 900 * 901 / 2));
    {
        let mut rows = sqlx::query_as::<_, (i64, String)>(sql).bind(900).fetch(&mut *c);
        rows.try_next().await?;
    }
    // What was not read is skipped.
    same!(sqlx::query_scalar::<_, i64>("SELECT 5").fetch_one(&mut *c).await?, 5);
    Ok(())
}

async fn multi_statements(pool: &MySqlPool) -> Outcome {
    let mut c = pool.acquire().await?;
    c.execute("DROP TABLE IF EXISTS multi; CREATE TABLE multi (a INT); INSERT INTO multi VALUES (1), (2); SELECT * FROM multi").await?;
    let rows = c.fetch_all("SELECT 1; SELECT a FROM multi").await?;
    same!(rows.len(), 3);
    same!(c.execute("SELECT 1; SELECT nope").await.is_err(), true);
    c.ping().await?;
    Ok(())
}

async fn errors(pool: &MySqlPool) -> Outcome {
    let code = |e: sqlx::Error| -> (u16, String) {
        match e.as_database_error().and_then(|e| e.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>()) {
            Some(e) => (e.number(), e.code().unwrap_or_default().to_string()),
            None => (0, e.to_string()),
        }
    };
    let mut got = Vec::new();
    for sql in ["INSERT INTO tx VALUES (1)", "SELEC", "SELECT nope FROM tx", "SELECT * FROM nope", "INSERT INTO tx VALUES (NULL)", "INSERT INTO pets (owner, kind) VALUES (77, 'cat')"] {
        got.push(code(sqlx::query(sql).execute(pool).await.err().ok_or("no error")?));
    }
    let want = [(1062, "23000"), (1064, "42000"), (1054, "42S22"), (1146, "42S02"), (1048, "23000"), (1452, "23000")];
    same!(got, want.map(|(n, s)| (n, s.to_string())).to_vec());
    let e = sqlx::query("INSERT INTO tx VALUES (1)").execute(pool).await.err().ok_or("no error")?;
    same!(e.as_database_error().is_some_and(|e| e.is_unique_violation()), true);
    Ok(())
}

async fn describe(pool: &MySqlPool) -> Outcome {
    let d = pool.describe("SELECT t, gu, v, j, dt, de, COUNT(*) OVER () n FROM types WHERE i > ?").await?;
    let names: Vec<String> = d.columns().iter().map(|c| format!("{} {}", c.name(), c.type_info().name())).collect();
    same!(names, ["t TINYINT", "gu BIGINT UNSIGNED", "v VARCHAR", "j JSON", "dt DATETIME", "de DECIMAL", "n BIGINT"].map(String::from).to_vec());
    same!(d.nullable(0), Some(true));
    let d = pool.describe("SELECT a FROM tx").await?;
    same!(d.nullable(0), Some(false));
    Ok(())
}

async fn statement_cache(options: &MySqlConnectOptions) -> Outcome {
    let mut c = sqlx::MySqlConnection::connect_with(&options.clone().statement_cache_capacity(10)).await?;
    for round in 0..2 {
        for i in 0..30 {
            let v: i64 = sqlx::query_scalar(&format!("SELECT ? + {i}")).bind(round).fetch_one(&mut c).await?;
            same!(v, round + i);
        }
    }
    c.clear_cached_statements().await?;
    c.close().await?;
    Ok(())
}

async fn concurrent(pool: &MySqlPool) -> Outcome {
    pool.execute("DROP TABLE IF EXISTS counter").await?;
    pool.execute("CREATE TABLE counter (id INT PRIMARY KEY, n INT)").await?;
    pool.execute("INSERT INTO counter VALUES (1, 0)").await?;
    let tasks: Vec<_> = (0..5)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move {
                for _ in 0..20 {
                    let mut t = pool.begin().await?;
                    let n: i32 = sqlx::query_scalar("SELECT n FROM counter WHERE id = 1 FOR UPDATE").fetch_one(&mut *t).await?;
                    sqlx::query("UPDATE counter SET n = ? WHERE id = 1").bind(n + 1).execute(&mut *t).await?;
                    t.commit().await?;
                }
                Ok::<(), sqlx::Error>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    same!(sqlx::query_scalar::<_, i32>("SELECT n FROM counter").fetch_one(pool).await?, 100);
    Ok(())
}

async fn cancelled(pool: &MySqlPool) -> Outcome {
    let slow = sqlx::query("SELECT SLEEP(5)").execute(pool);
    same!(tokio::time::timeout(std::time::Duration::from_millis(200), slow).await.is_err(), true);
    same!(sqlx::query_scalar::<_, i64>("SELECT 1").fetch_one(pool).await?, 1);
    Ok(())
}

async fn undo(pool: &MySqlPool) -> Outcome {
    migrator().await?.undo(pool, 0).await?;
    let n: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ('people', 'pets')")
        .fetch_one(pool)
        .await?;
    same!(n, 0);
    Ok(())
}
