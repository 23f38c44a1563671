//! "ok NAME" or "not ok NAME: why" for each check, "done" at the end.
#![allow(ambiguous_glob_imports)]
use bigdecimal::BigDecimal;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_migrations::{FileBasedMigrations, MigrationHarness};
use std::str::FromStr;

diesel::table! {
    notes (id) {
        id -> Integer,
        title -> Varchar,
        body -> Nullable<Text>,
        stars -> SmallInt,
        price -> Nullable<Decimal>,
        made -> Datetime,
        day -> Nullable<Date>,
        clock -> Nullable<Time>,
        raw -> Nullable<Blob>,
        ratio -> Nullable<Double>,
        big -> Nullable<Unsigned<Bigint>>,
        done -> Bool,
        extra -> Nullable<Json>,
    }
}
diesel::table! {
    tags (id) {
        id -> Integer,
        note_id -> Integer,
        label -> Varchar,
    }
}
diesel::joinable!(tags -> notes (note_id));
diesel::allow_tables_to_appear_in_same_query!(notes, tags);

#[derive(Queryable, Selectable, Identifiable, Insertable, AsChangeset, Debug, PartialEq, Clone)]
#[diesel(table_name = notes)]
struct Note {
    id: i32,
    title: String,
    body: Option<String>,
    stars: i16,
    price: Option<BigDecimal>,
    made: NaiveDateTime,
    day: Option<NaiveDate>,
    clock: Option<NaiveTime>,
    raw: Option<Vec<u8>>,
    ratio: Option<f64>,
    big: Option<u64>,
    done: bool,
    extra: Option<serde_json::Value>,
}

#[derive(Queryable, Selectable, Identifiable, Associations, Debug, PartialEq)]
#[diesel(belongs_to(Note), table_name = tags)]
struct Tag {
    id: i32,
    note_id: i32,
    label: String,
}

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

macro_rules! same {
    ($a:expr, $b:expr) => {{
        let (a, b) = (&$a, &$b);
        if a != b {
            return Err(format!("line {}: {a:?} is not {b:?}", line!()).into());
        }
    }};
}

fn check(name: &str, c: &mut MysqlConnection, f: impl FnOnce(&mut MysqlConnection) -> Outcome) {
    match f(c) {
        Ok(()) => println!("ok diesel.{name}"),
        Err(e) => println!("not ok diesel.{name}: {}", e.to_string().replace('\n', " ")),
    }
}

fn note(id: i32) -> Note {
    let day = NaiveDate::from_ymd_opt(2024, 2, 29).expect("a date");
    let clock = NaiveTime::from_hms_opt(10, 11, 12).expect("a time");
    Note {
        id,
        title: format!("日本 {id}"),
        body: Some("x".repeat(40_000)),
        stars: -5,
        price: BigDecimal::from_str("1234567.891").ok(),
        made: day.and_hms_micro_opt(1, 2, 3, 456_789).expect("a time"),
        day: Some(day),
        clock: Some(clock),
        raw: Some(vec![0, 1, 255]),
        ratio: Some(0.1),
        big: Some(u64::MAX),
        done: true,
        extra: Some(serde_json::json!({"k": [1, true, null]})),
    }
}

fn main() {
    let url = format!("mysql://root@127.0.0.1:{}/suite_diesel", std::env::args().nth(1).expect("a port"));
    let mut c = MysqlConnection::establish(&url).expect("a connection");
    let c = &mut c;
    let files = || FileBasedMigrations::from_path("diesel_migrations");
    check("migrations", c, |c| {
        same!(c.run_pending_migrations(files()?)?.len(), 2);
        same!(c.has_pending_migration(files()?)?, false);
        c.revert_last_migration(files()?)?;
        same!(c.run_pending_migrations(files()?)?.len(), 1);
        Ok(())
    });
    check("insert_and_read", c, |c| {
        same!(diesel::insert_into(notes::table).values(&note(1)).execute(c)?, 1);
        same!(notes::table.select(Note::as_select()).first(c)?, note(1));
        let plain = (notes::title.eq("plain"), notes::made.eq(note(1).made));
        same!(diesel::insert_into(notes::table).values(plain).execute(c)?, 1);
        let (id, body): (i32, Option<String>) = notes::table.filter(notes::title.eq("plain")).select((notes::id, notes::body)).first(c)?;
        same!((id, body), (2, None));
        let many: Vec<Note> = (10..60).map(note).collect();
        same!(diesel::insert_into(notes::table).values(&many).execute(c)?, 50);
        same!(notes::table.count().get_result::<i64>(c)?, 52);
        Ok(())
    });
    check("update_and_delete", c, |c| {
        same!(diesel::update(notes::table.filter(notes::id.gt(55))).set(notes::stars.eq(notes::stars + 3)).execute(c)?, 4);
        same!(notes::table.find(56).select(notes::stars).first::<i16>(c)?, -2);
        let changed = Note { title: "changed".into(), extra: None, ..note(56) };
        same!(diesel::update(notes::table.find(56)).set(&changed).execute(c)?, 1);
        same!(diesel::delete(notes::table.filter(notes::title.like("日本 5%"))).execute(c)?, 9);
        same!(diesel::replace_into(notes::table).values(&note(56)).execute(c)?, 2);
        same!(diesel::insert_or_ignore_into(notes::table).values(&note(56)).execute(c)?, 0);
        let up = diesel::insert_into(notes::table).values(&note(56)).on_conflict(diesel::dsl::DuplicatedKeys).do_update().set(notes::stars.eq(9)).execute(c)?;
        same!(up, 2);
        Ok(())
    });
    check("relations", c, |c| {
        let rows: Vec<_> = ["a", "b", "c"].iter().map(|l| (tags::note_id.eq(1), tags::label.eq(*l))).collect();
        same!(diesel::insert_into(tags::table).values(&rows).execute(c)?, 3);
        let first: Note = notes::table.find(1).select(Note::as_select()).first(c)?;
        same!(Tag::belonging_to(&first).select(Tag::as_select()).load(c)?.len(), 3);
        let joined: Vec<(String, Option<String>)> = notes::table.left_join(tags::table).filter(notes::id.lt(3)).order((notes::id, tags::label)).select((notes::title, tags::label.nullable())).load(c)?;
        same!(joined.len(), 4);
        let exists: bool = diesel::select(diesel::dsl::exists(tags::table.filter(tags::label.eq("b")))).get_result(c)?;
        same!(exists, true);
        let grouped: Vec<(i32, i64)> = tags::table.group_by(tags::note_id).select((tags::note_id, diesel::dsl::count_star())).having(diesel::dsl::count_star().gt(1)).load(c)?;
        same!(grouped, vec![(1, 3)]);
        let sub: Vec<i32> = notes::table.filter(notes::id.eq_any(tags::table.select(tags::note_id))).select(notes::id).load(c)?;
        same!(sub, vec![1]);
        same!(diesel::delete(notes::table.find(1)).execute(c)?, 1);
        same!(tags::table.count().get_result::<i64>(c)?, 0);
        Ok(())
    });
    check("aggregates", c, |c| {
        use diesel::dsl::{avg, max, min, sum};
        let (a, b): (Option<i16>, Option<i16>) = notes::table.select((max(notes::stars), min(notes::stars))).first(c)?;
        same!((a, b), (Some(9), Some(-5)));
        same!(notes::table.select(sum(notes::stars)).first::<Option<i64>>(c)?.is_some(), true);
        same!(notes::table.select(avg(notes::stars)).first::<Option<BigDecimal>>(c)?.is_some(), true);
        let page: Vec<i32> = notes::table.select(notes::id).filter(notes::title.ne("plain").and(notes::price.is_not_null())).order(notes::id.desc()).limit(5).offset(2).load(c)?;
        same!(page.len(), 5);
        same!(notes::table.select(notes::done).distinct().load::<bool>(c)?.len(), 2);
        Ok(())
    });
    check("transactions", c, |c| {
        let before: i64 = notes::table.count().get_result(c)?;
        let failed = c.transaction::<(), Error, _>(|c| {
            diesel::insert_into(notes::table).values(&note(100)).execute(c)?;
            Err(Error::RollbackTransaction)
        });
        same!(failed.is_err(), true);
        c.transaction::<(), Error, _>(|c| {
            diesel::insert_into(notes::table).values(&note(101)).execute(c)?;
            let nested = c.transaction::<(), Error, _>(|c| {
                diesel::insert_into(notes::table).values(&note(102)).execute(c)?;
                Err(Error::RollbackTransaction)
            });
            assert!(nested.is_err());
            notes::table.find(101).for_update().select(notes::id).first::<i32>(c)?;
            notes::table.select(notes::id).for_update().skip_locked().load::<i32>(c)?;
            Ok(())
        })?;
        same!(notes::table.count().get_result::<i64>(c)?, before + 1);
        Ok(())
    });
    check("errors", c, |c| {
        let duplicate = diesel::insert_into(notes::table).values(&note(101)).execute(c);
        same!(matches!(duplicate, Err(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _))), true);
        let orphan = diesel::insert_into(tags::table).values((tags::note_id.eq(9999), tags::label.eq("x"))).execute(c);
        same!(matches!(orphan, Err(Error::DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _))), true);
        let null = diesel::sql_query("INSERT INTO tags (note_id, label) VALUES (101, NULL)").execute(c);
        same!(matches!(null, Err(Error::DatabaseError(DatabaseErrorKind::NotNullViolation, _))), true);
        same!(diesel::sql_query("SELEC").execute(c).is_err(), true);
        same!(notes::table.find(-1).select(notes::id).first::<i32>(c).optional()?, None);
        Ok(())
    });
    check("batch_and_sql", c, |c| {
        c.batch_execute("SET @a = 5; CREATE TEMPORARY TABLE scratch (a INT); INSERT INTO scratch VALUES (1), (2); DROP TEMPORARY TABLE scratch")?;
        #[derive(QueryableByName)]
        struct One {
            #[diesel(sql_type = diesel::sql_types::BigInt)]
            n: i64,
            #[diesel(sql_type = diesel::sql_types::Text)]
            t: String,
        }
        let rows: Vec<One> = diesel::sql_query("SELECT CAST(? AS SIGNED) + @a AS n, CONCAT(?, '!') AS t").bind::<diesel::sql_types::BigInt, _>(37).bind::<diesel::sql_types::Text, _>("日").load(c)?;
        same!((rows[0].n, &*rows[0].t), (42, "日!"));
        Ok(())
    });
    check("all_migrations_back", c, |c| {
        same!(c.revert_all_migrations(files()?)?.len(), 2);
        Ok(())
    });
    println!("done");
}
