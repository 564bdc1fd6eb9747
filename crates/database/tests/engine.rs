//! Guarantees to callers that hold on both engines.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use database::testing::{each_engine, fresh_database};
use database::{Column, Database, Engine, Options, Schema, Sql, Value, params};
use model::{Code, Digest, Error, ErrorKind, Id, Timestamp};

const CREATE: Sql = Sql::new(
    "CREATE TABLE thing (id BIGINT NOT NULL PRIMARY KEY, name TEXT CHECK (name <> 'forbidden'), size BIGINT NOT NULL)",
);
const CREATE_PART: Sql =
    Sql::new("CREATE TABLE part (id BIGINT NOT NULL PRIMARY KEY, thing BIGINT NOT NULL REFERENCES thing (id))");
const INSERT: Sql = Sql::new("INSERT INTO thing (size, name, id) VALUES ($3, $2, $1)");
const INSERT_PART: Sql = Sql::new("INSERT INTO part (id, thing) VALUES ($1, $2)");
const ADD: Sql = Sql::new("UPDATE thing SET size = size + $2 WHERE id = $1");
const SET: Sql = Sql::new("UPDATE thing SET size = $2 WHERE id = $1");
const SIZE: Sql = Sql::new("SELECT size FROM thing WHERE id = $1 AND id <= $1");
const SIZE_TO_CHANGE: Sql = Sql::new("SELECT size FROM thing WHERE id = $1 {for_update}");
const SUM: Sql = Sql::new("SELECT CAST(sum(size) AS BIGINT), count(*) FROM thing");
const DROP_MOST: Sql = Sql::new("DELETE FROM thing WHERE id > 100");
const SOME: Sql = Sql::new("SELECT id FROM thing WHERE id {in $1} ORDER BY id");

const UP_TO: Sql = Sql::new("SELECT id FROM thing WHERE id <= $1 ORDER BY {indexed id}");

async fn with_things(db: &Database, count: i64) {
    db.write(move |t| {
        t.execute(CREATE, &[])?;
        t.execute(CREATE_PART, &[])?;
        (1..=count).try_for_each(|id| t.execute(INSERT, &params![id, "thing", 0i64]).map(drop))
    })
    .await
    .unwrap();
}

async fn size(db: &Database, id: i64) -> Option<i64> {
    db.read(move |r| r.find(SIZE, &params![id], |row| row.get(0))).await.unwrap()
}

fn sets(ids: std::ops::Range<i64>) -> Vec<Vec<Value<'static>>> {
    ids.map(|id| params![id].into()).collect()
}

#[tokio::test]
async fn a_statement_runs_for_each_set_of_parameters() {
    each_engine(Schema::Content, |db| async move {
        with_things(&db, 40).await;
        let all = db.read(|r| r.query_each(UP_TO, &sets(0..40), |row| row.get::<i64>(0))).await.unwrap();
        let expected: Vec<Vec<i64>> = (0..40).map(|last| (1..=last).collect()).collect();
        assert_eq!(all, expected);
        assert!(db.read(|r| r.query_each(UP_TO, &[], |row| row.get::<i64>(0))).await.unwrap().is_empty());
        let wrong = vec![params![1i64].into(), Vec::new()];
        assert!(db.read(move |r| r.query_each(UP_TO, &wrong, |row| row.get::<i64>(0))).await.is_err());
        // A row that the caller refuses is no failure of the transaction.
        let after = db.read(|r| {
            let refused = r.query_each(UP_TO, &sets(1..3), |_| Err::<(), _>(Error::invalid("no")));
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
            r.find(SIZE, &params![7i64], |row| row.get::<i64>(0))
        });
        assert_eq!(after.await.unwrap(), Some(0));
        let own = db.write(|t| {
            t.execute_deferred(INSERT, &params![41i64, "thing", 0i64])?;
            t.query_each(UP_TO, &sets(41..42), |row| row.get::<i64>(0))
        });
        assert_eq!(own.await.unwrap()[0].last(), Some(&41));
    })
    .await;
}

#[tokio::test]
async fn values_come_back_as_they_went_in() {
    each_engine(Schema::Content, |db| async move {
        let bytes = if db.engine() == Engine::Sqlite { CREATE_BLOB } else { CREATE_BYTEA };
        let digest = Digest::new([7; 32]);
        db.write(move |t| {
            t.execute(bytes, &[])?;
            let text = "naïve\u{1F600}'\"\\\u{1}";
            t.execute(PUT, &params![i64::MIN, -0.5f64, true, text, digest])?;
            t.execute(PUT, &params![Id::new(5), f64::INFINITY, false, "", Vec::new()])?;
            t.execute(PUT, &params![Timestamp::from_micros(-1), None::<f64>, None::<bool>, None::<&str>, Value::Null])
        })
        .await
        .unwrap();
        let rows = db
            .read(|r| {
                r.query(GET, &[], |row| {
                    Ok((
                        row.get::<i64>(0)?,
                        row.get::<Option<f64>>(1)?,
                        row.get::<Option<bool>>(2)?,
                        row.get::<Option<String>>(3)?,
                        row.get::<Option<Vec<u8>>>(4)?,
                    ))
                })
            })
            .await
            .unwrap();
        assert_eq!(
            rows[0],
            (i64::MIN, Some(-0.5), Some(true), Some("naïve\u{1F600}'\"\\\u{1}".into()), Some(vec![7; 32]))
        );
        assert_eq!(rows[1], (-1, None, None, None, None));
        assert_eq!(rows[2], (5, Some(f64::INFINITY), Some(false), Some(String::new()), Some(Vec::new())));
        let read = db.read(|r| r.find(GET, &[], |row| Ok((row.get::<Digest>(4)?, row.get::<Timestamp>(0)?)))).await;
        assert_eq!(read.unwrap(), Some((digest, Timestamp::from_micros(i64::MIN))));
    })
    .await;
}

const CREATE_BLOB: Sql = Sql::new("CREATE TABLE everything (i BIGINT, f DOUBLE PRECISION, b BOOLEAN, t TEXT, y BLOB)");
const CREATE_BYTEA: Sql =
    Sql::new("CREATE TABLE everything (i BIGINT, f DOUBLE PRECISION, b BOOLEAN, t TEXT, y BYTEA)");
const PUT: Sql = Sql::new("INSERT INTO everything (i, f, b, t, y) VALUES ($1, $2, $3, $4, $5)");
const GET: Sql = Sql::new("SELECT i, f, b, t, y FROM everything ORDER BY i");

#[tokio::test]
async fn each_failure_has_its_kind_and_code() {
    each_engine(Schema::Content, |db| async move {
        with_things(&db, 1).await;
        let cases: [(Sql, Vec<Value<'static>>, ErrorKind, &str); 8] = [
            (INSERT, params![1i64, "x", 1i64].into(), ErrorKind::Conflict, "unique_violation"),
            (INSERT_PART, params![1i64, 99i64].into(), ErrorKind::Conflict, "foreign_key_violation"),
            (INSERT, params![2i64, "forbidden", 1i64].into(), ErrorKind::Invalid, "check_violation"),
            (INSERT, params![2i64, "x", Value::Null].into(), ErrorKind::Invalid, "not_null_violation"),
            (INSERT, params![2i64, "x"].into(), ErrorKind::Invalid, "parameter_count"),
            (INSERT, params![2i64, "x", 1i64, 1i64].into(), ErrorKind::Invalid, "parameter_count"),
            (INSERT, params![2i64, "a\0b", 1i64].into(), ErrorKind::Invalid, "invalid_text"),
            (Sql::new("SELEKT 1"), vec![], ErrorKind::Invalid, "invalid_statement"),
        ];
        for (sql, values, kind, code) in cases {
            let error = db.write(move |t| t.execute(sql, &values)).await.unwrap_err();
            assert_eq!((error.kind(), error.code().as_str()), (kind, code), "{error:?}");
        }
        let wrong = db.read(|r| r.find(SIZE, &params![1i64], |row| row.get::<String>(0))).await.unwrap_err();
        assert_eq!(wrong.kind(), ErrorKind::Corrupt);
        assert!(wrong.message().contains("size"), "{wrong}");
        assert!(wrong.message().contains("an integer"), "{wrong}");
        let missing = db.read(|r| r.find(SIZE, &params![1i64], |row| row.get::<i64>(7))).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::Corrupt);
        let written = db.read(|r| r.find(ADD, &params![1i64, 1i64], |_| Ok(()))).await;
        assert!(written.is_err(), "a read must not change anything");
        assert_eq!(size(&db, 1).await, Some(0));
    })
    .await;
}

#[tokio::test]
async fn a_transaction_is_all_or_nothing_even_if_the_closure_ignores_a_failure() {
    each_engine(Schema::Content, |db| async move {
        with_things(&db, 2).await;
        let own = db.write(|t| {
            t.execute(ADD, &params![1i64, 5i64])?;
            Err::<(), _>(Error::invalid("changed my mind"))
        });
        assert_eq!(own.await.unwrap_err().message(), "changed my mind");
        assert_eq!(size(&db, 1).await, Some(0));

        let ignored = db.write(|t| {
            t.execute(ADD, &params![1i64, 5i64])?;
            let failed = t.execute(INSERT, &params![1i64, "again", 1i64]);
            assert!(failed.is_err());
            assert!(t.execute(ADD, &params![2i64, 5i64]).is_err());
            Ok(())
        });
        assert_eq!(ignored.await.unwrap_err().code(), "unique_violation");
        assert_eq!((size(&db, 1).await, size(&db, 2).await), (Some(0), Some(0)));

        // A deferred statement rolls the transaction back as well, no matter when its error surfaces.
        for fails_last in [true, false] {
            let later = db.write(move |t| {
                t.execute_deferred(ADD, &params![1i64, 5i64])?;
                t.execute_deferred(INSERT, &params![1i64, "x", 1i64])?;
                if !fails_last {
                    t.execute(ADD, &params![2i64, 5i64])?;
                }
                Ok(())
            });
            assert_eq!(later.await.unwrap_err().code(), "unique_violation");
            assert_eq!((size(&db, 1).await, size(&db, 2).await), (Some(0), Some(0)));
        }
        let forgotten = db.write(|t| {
            t.execute_deferred(ADD, &params![1i64, 5i64])?;
            Err::<(), _>(model::Error::invalid("no"))
        });
        assert_eq!(forgotten.await.unwrap_err().message(), "no");

        // Deferred statements run in order and are visible to later ones, even when there are more than travel at once.
        let seen = db.write(|t| {
            for _ in 0..40 {
                t.execute_deferred(ADD, &params![1i64, 1i64])?;
            }
            let seen = t.find(SIZE, &params![1i64], |row| row.get::<i64>(0))?;
            t.execute_deferred(ADD, &params![1i64, 2i64]).map(|()| seen)
        });
        assert_eq!(seen.await.unwrap(), Some(40));
        assert_eq!(size(&db, 1).await, Some(42));
    })
    .await;
}

#[tokio::test]
async fn a_panic_is_an_error_of_its_own_transaction_only() {
    each_engine(Schema::Content, |db| async move {
        with_things(&db, 1).await;
        for _ in 0..3 {
            let error = db
                .write(|t| -> model::Result<()> {
                    t.execute(ADD, &params![1i64, 5i64])?;
                    panic!("on purpose")
                })
                .await
                .unwrap_err();
            assert_eq!(error.code(), "internal_error");
            let error = db.read(|_| -> model::Result<()> { panic!("on purpose") }).await.unwrap_err();
            assert_eq!(error.code(), "internal_error");
            let inside = db.read(|r| r.find(SIZE, &params![1i64], |_| -> model::Result<()> { panic!("on purpose") }));
            assert_eq!(inside.await.unwrap_err().code(), "internal_error");
        }
        db.write(|t| t.execute(ADD, &params![1i64, 1i64])).await.unwrap();
        assert_eq!(size(&db, 1).await, Some(1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_read_sees_one_state_and_everything_acknowledged_before() {
    each_engine(Schema::Content, |db| async move {
        with_things(&db, 2).await;
        let (to_writer, begun) = mpsc::channel::<()>();
        let (done, written) = mpsc::channel::<()>();
        let reading = tokio::spawn({
            let db = db.clone();
            async move {
                db.read_long(move |r| {
                    let before = r.find(SIZE, &params![1i64], |row| row.get::<i64>(0))?;
                    to_writer.send(()).unwrap();
                    written.recv_timeout(Duration::from_secs(10)).unwrap();
                    let after = r.find(SIZE, &params![1i64], |row| row.get::<i64>(0))?;
                    Ok((before, after))
                })
                .await
            }
        });
        tokio::task::spawn_blocking(move || begun.recv_timeout(Duration::from_secs(10)).unwrap()).await.unwrap();
        db.write(|t| t.execute(ADD, &params![1i64, 5i64])).await.unwrap();
        assert_eq!(size(&db, 1).await, Some(5));
        done.send(()).unwrap();
        assert_eq!(reading.await.unwrap().unwrap(), (Some(0), Some(0)));

        for round in 1..200i64 {
            db.write(move |t| t.execute(SET, &params![2i64, round])).await.unwrap();
            assert_eq!(size(&db, 2).await, Some(round));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_changes_are_not_lost() {
    each_engine(Schema::Content, |db| async move {
        with_things(&db, 3).await;
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..24i64 {
            let db = db.clone();
            tasks.spawn(async move {
                for _ in 0..10 {
                    let id = 1 + task % 3;
                    db.write(move |t| {
                        let size = t.find(SIZE_TO_CHANGE, &params![id], |row| row.get::<i64>(0))?.unwrap_or_default();
                        t.execute(SET, &params![id, size + 1])
                    })
                    .await
                    .unwrap();
                }
            });
        }
        tasks.join_all().await;
        let total = db.read(|r| r.find(SUM, &[], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)))).await.unwrap();
        assert_eq!(total, Some((240, 3)));
    })
    .await;
}

#[tokio::test]
async fn large_results_stream_and_sets_bind() {
    each_engine(Schema::Content, |db| async move {
        with_things(&db, 5000).await;
        let mut expected: Vec<i64> = Vec::new();
        let some: Vec<i64> = (1..=5000).filter(|id| id % 7 == 0).chain([99_999]).collect();
        expected.extend(some.iter().take(some.len() - 1));
        let found = db.read(move |r| r.query(SOME, &params![&some], |row| row.get::<i64>(0))).await.unwrap();
        assert_eq!(found, expected);
        let stopped = db
            .read_long(|r| {
                let mut seen = 0;
                let stopped = r.for_each(Sql::new("SELECT id FROM thing"), &[], |_| {
                    seen += 1;
                    if seen == 10 { Err(Error::invalid("enough")) } else { Ok(()) }
                });
                assert_eq!(stopped.unwrap_err().message(), "enough");
                // The caller's own error does not doom the transaction.
                let sum = r.find(SUM, &[], |row| row.get::<i64>(1))?;
                Ok((seen, sum))
            })
            .await
            .unwrap();
        assert_eq!(stopped, (10, Some(5000)));
        let first = db.read(|r| {
            r.find(Sql::new("SELECT id FROM thing ORDER BY id"), &[], |row| match row.column(0)? {
                Column::Integer(id) => Ok(id),
                other => Err(Error::corrupt(format!("{other:?}"))),
            })
        });
        assert_eq!(first.await.unwrap(), Some(1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn more_work_than_fits_is_refused_in_bounded_time() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let fresh = fresh_database(engine).await;
        let options = Options { queue: 2, connections: 2, patience: Duration::from_millis(300), ..Options::default() };
        let db = Database::make(&fresh.location, Schema::Content, &options).await.unwrap();
        with_things(&db, 1).await;
        let running = Arc::new(AtomicU32::new(0));
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let (db, running, held) = (db.clone(), Arc::clone(&running), Arc::clone(&held));
            tasks.spawn(async move {
                db.write(move |t| {
                    running.fetch_add(1, Ordering::Relaxed);
                    // Returns when the sender is dropped.
                    let _ = held.lock().unwrap().recv();
                    t.execute(ADD, &params![1i64, 1i64])
                })
                .await
            });
        }
        let started = Instant::now();
        let mut refused = 0;
        while running.load(Ordering::Relaxed) == 0 || refused < 20 - 2 - 2 {
            match tasks.join_next().await.unwrap().unwrap() {
                Err(error) => {
                    assert_eq!((error.kind(), error.code()), (ErrorKind::Exhausted, Code::Overloaded));
                    refused += 1;
                }
                Ok(_) => panic!("nothing can finish yet"),
            }
        }
        assert!(started.elapsed() < Duration::from_secs(5));
        drop(release);
        let done = tasks.join_all().await.iter().filter(|outcome| outcome.is_ok()).count();
        assert!(done >= 1);
        assert_eq!(size(&db, 1).await, Some(done as i64));
        db.close().await;
    }
}

#[tokio::test]
async fn a_closed_database_refuses() {
    each_engine(Schema::Content, |db| async move {
        with_things(&db, 1).await;
        db.close().await;
        let write = db.write(|t| t.execute(ADD, &params![1i64, 1i64])).await.unwrap_err();
        let read = db.read(|r| r.find(SIZE, &params![1i64], |row| row.get::<i64>(0))).await.unwrap_err();
        let long = db.read_long(|r| r.find(SIZE, &params![1i64], |row| row.get::<i64>(0))).await.unwrap_err();
        assert!([write, read, long].iter().all(|error| error.code() == Code::Closed));
        db.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_newer_schema_and_the_other_schema_are_refused() {
    const NEWER: Sql = Sql::new(
        "INSERT INTO schema_history (version, name, schema_name, applied_at) VALUES (9999, 'later', 'content', 0)",
    );
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let fresh = fresh_database(engine).await;
        let options = Options::default();
        let db = Database::make(&fresh.location, Schema::Content, &options).await.unwrap();
        db.close().await;
        let other = Database::make(&fresh.location, Schema::Configuration, &options).await.err().unwrap();
        assert_eq!((other.kind(), other.code()), (ErrorKind::Invalid, Code::SchemaOther));
        let db = Database::make(&fresh.location, Schema::Content, &options).await.unwrap();
        db.write(|t| t.execute(NEWER, &[])).await.unwrap();
        db.close().await;
        let newer = Database::make(&fresh.location, Schema::Content, &options).await.err().unwrap();
        assert_eq!((newer.kind(), newer.code()), (ErrorKind::Invalid, Code::SchemaNewer));
        assert!(newer.message().contains("9999"), "{newer}");
        assert!(newer.message().contains("newer version"), "{newer}");
    }
}

#[tokio::test]
async fn a_database_that_is_written_anew_gives_room_back_and_keeps_everything() {
    each_engine(Schema::Content, |db| async move {
        with_things(&db, 20_000).await;
        db.write(|t| t.execute(DROP_MOST, &[]).map(drop)).await.unwrap();
        let before = db.size_bytes().await.unwrap();
        let freed = db.compact().await.unwrap();
        assert!(freed > 0, "{freed} of {before}");
        // PostgreSQL goes on with work of its own in the background.
        let after = db.size_bytes().await.unwrap();
        assert!(after.abs_diff(before - freed) < 1 << 20, "{freed} of {before}, {after} are left");
        assert_eq!(size(&db, 7).await, Some(0));
        db.rebuild_indexes().await.unwrap();
        db.write(|t| t.execute(SET, &params![7, 1]).map(drop)).await.unwrap();
        assert_eq!(size(&db, 7).await, Some(1));
    })
    .await;
}

#[tokio::test]
async fn a_right_to_do_something_alone_is_had_by_one_and_ends_with_it() {
    each_engine(Schema::Content, |db| async move {
        let held = db.try_exclusive("deleting").await.unwrap().unwrap();
        held.require().await.unwrap();
        assert!(db.try_exclusive("deleting").await.unwrap().is_none());
        assert!(db.try_exclusive("counting").await.unwrap().is_some());
        drop(held);
        let again = async {
            while db.try_exclusive("deleting").await.unwrap().is_none() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), again).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn whoever_asks_again_for_a_right_asks_on_the_same_connection() {
    const LATEST: Sql = Sql::new(
        "SELECT CAST(max(backend_start) AS TEXT) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE '%pg_%advisory%' AND pid <> pg_backend_pid()",
    );
    let place = fresh_database(Engine::Postgres).await;
    let options = Options::default();
    let one = Database::make(&place.location, Schema::Content, &options).await.unwrap();
    let two = Database::open(&place.location, Schema::Content, &options).await.unwrap();
    let held = one.try_exclusive("deleting").await.unwrap().unwrap();
    assert!(two.try_exclusive("deleting").await.unwrap().is_none());
    let latest = || async { one.read(|r| r.find(LATEST, &[], |row| row.get::<String>(0))).await.unwrap() };
    let before = latest().await;
    for _ in 0..20 {
        assert!(two.try_exclusive("deleting").await.unwrap().is_none());
    }
    held.release().await;
    for _ in 0..20 {
        two.try_exclusive("deleting").await.unwrap().unwrap().release().await;
        one.try_exclusive("deleting").await.unwrap().unwrap().release().await;
    }
    assert_eq!(latest().await, before, "connections were opened");
    one.close().await;
    two.close().await;
}
