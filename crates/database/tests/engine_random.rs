//! Random transactions with failures in the middle give the same results and leave the same rows on both engines.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use database::testing::{Fresh, fresh_database};
use database::{Database, Engine, Options, Reader, Schema, Sql, Transaction, params};
use model::{Error, Result};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const CREATE_FOLDER: Sql = Sql::new("CREATE TABLE folder (id BIGINT NOT NULL PRIMARY KEY)");
const CREATE_THING_SQLITE: Sql = Sql::new(
    "CREATE TABLE thing (id BIGINT NOT NULL PRIMARY KEY, folder BIGINT NOT NULL REFERENCES folder (id), \
     name TEXT NOT NULL CHECK (length(name) < 4), size BIGINT, score DOUBLE PRECISION, open BOOLEAN NOT NULL, \
     UNIQUE (folder, name))",
);
// The default collation of the test server is that of a language, as is common. Only the columns override it.
const CREATE_THING_POSTGRES: Sql = Sql::new(
    "CREATE TABLE thing (id BIGINT NOT NULL PRIMARY KEY, folder BIGINT NOT NULL REFERENCES folder (id), \
     name TEXT COLLATE \"C\" NOT NULL CHECK (length(name) < 4), size BIGINT, score DOUBLE PRECISION, \
     open BOOLEAN NOT NULL, UNIQUE (folder, name))",
);
const CLEAR: [Sql; 2] = [Sql::new("DELETE FROM thing"), Sql::new("DELETE FROM folder")];
const ADD_FOLDER: Sql = Sql::new("INSERT INTO folder (id) VALUES ($1)");
const DROP_FOLDER: Sql = Sql::new("DELETE FROM folder WHERE id = $1");
const PUT: Sql = Sql::new(
    "INSERT INTO thing (id, folder, name, size, score, open) VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (id) DO UPDATE SET size = COALESCE(thing.size + excluded.size, excluded.size), open = excluded.open",
);
const MOVE: Sql = Sql::new("UPDATE thing SET folder = $2 WHERE folder = $1");
const RENAME: Sql = Sql::new("UPDATE thing SET name = $2 WHERE id = $1");
const GROW: Sql = Sql::new("UPDATE thing SET size = size + $1 WHERE folder {in $2}");
const TOTALS: Sql = Sql::new(
    "SELECT folder, count(*), CAST(sum(size) AS BIGINT), min(name) FROM thing GROUP BY folder ORDER BY folder",
);
const PAGE: Sql = Sql::new(
    "SELECT id, folder, name, size, score, open FROM thing WHERE id > $1 AND (open OR $2) ORDER BY id LIMIT $3",
);

/// A statement of a random transaction.
#[derive(Clone, Debug)]
enum Step {
    AddFolder(i64),
    DropFolder(i64),
    Put(i64, i64, String, Option<i64>, Option<f64>, bool),
    Move(i64, i64),
    Rename(i64, String),
    Grow(i64, Vec<i64>),
    Totals,
    GiveUp,
    Panic,
}

fn step() -> impl Strategy<Value = Step> {
    let name = "[abAé]{0,4}|\u{1F600}|a\u{0}";
    prop_oneof![
        4 => (0..5i64).prop_map(Step::AddFolder),
        1 => (0..5i64).prop_map(Step::DropFolder),
        8 => (
            0..12i64, 0..5i64, name, proptest::option::of(0..100i64), proptest::option::of(-1.0..1.0f64), any::<bool>()
        )
            .prop_map(|(id, folder, name, size, score, open)| Step::Put(id, folder, name, size, score, open)),
        2 => (0..5i64, 0..5i64).prop_map(|(from, to)| Step::Move(from, to)),
        2 => (0..12i64, name).prop_map(|(id, name)| Step::Rename(id, name)),
        2 => (0..100i64, proptest::collection::vec(0..6i64, 0..3)).prop_map(|(by, folders)| Step::Grow(by, folders)),
        2 => Just(Step::Totals),
        1 => Just(Step::GiveUp),
        1 => Just(Step::Panic),
    ]
}

impl Step {
    /// Runs the statement and returns its result as text, so that both engines can be compared.
    fn run(&self, t: &mut Transaction<'_>) -> Result<String> {
        let changed = match self {
            Self::AddFolder(id) => t.execute(ADD_FOLDER, &params![*id]),
            Self::DropFolder(id) => t.execute(DROP_FOLDER, &params![*id]),
            Self::Put(id, folder, name, size, score, open) => {
                t.execute(PUT, &params![*id, *folder, name, *size, *score, *open])
            }
            Self::Move(from, to) => t.execute(MOVE, &params![*from, *to]),
            Self::Rename(id, name) => t.execute(RENAME, &params![*id, name]),
            Self::Grow(by, folders) => t.execute(GROW, &params![*by, folders]),
            Self::Totals => return totals(t),
            Self::GiveUp => Err(Error::not_found("gave up")),
            Self::Panic => std::panic::resume_unwind(Box::new("without a message on the terminal")),
        };
        changed.map(|count| format!("changed {count}"))
    }
}

fn totals(r: &mut Reader<'_>) -> Result<String> {
    let rows = r.query(TOTALS, &[], |row| {
        let (folder, count): (i64, i64) = (row.get(0)?, row.get(1)?);
        Ok(format!("{folder} {count} {:?} {:?}", row.get::<Option<i64>>(2)?, row.get::<&str>(3)?))
    })?;
    Ok(rows.join(", "))
}

fn page(r: &mut Reader<'_>, after: i64, all: bool) -> Result<Vec<String>> {
    r.query(PAGE, &params![after, all, 5i64], |row| {
        let (id, folder, name): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (size, score, open): (Option<i64>, Option<f64>, bool) = (row.get(3)?, row.get(4)?, row.get(5)?);
        Ok(format!("{id} {folder} {name} {size:?} {score:?} {open}"))
    })
}

/// Runs the transactions on an emptied database and returns all results.
async fn story(db: &Database, transactions: &[Vec<Step>]) -> Vec<String> {
    db.write(|t| CLEAR.iter().try_for_each(|sql| t.execute(*sql, &[]).map(drop))).await.unwrap();
    let mut told = Vec::new();
    for steps in transactions {
        let steps = steps.clone();
        let outcome = db.write(move |t| steps.iter().map(|step| step.run(t)).collect::<Result<Vec<_>>>()).await;
        told.push(match outcome {
            Ok(answers) => answers.join("; "),
            Err(error) => format!("{:?} {} {}", error.kind(), error.code(), error.message()),
        });
        let after = told.len() as i64 % 7;
        let seen = db.read(move |r| Ok((totals(r)?, page(r, after, true)?, page(r, 0, false)?))).await.unwrap();
        told.push(format!("{seen:?}"));
    }
    told
}

#[test]
fn both_engines_tell_the_same_story() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let fresh = [Engine::Sqlite, Engine::Postgres].map(|engine| runtime.block_on(fresh_database(engine)));
    let [sqlite, postgres] = fresh.each_ref().map(|fresh| runtime.block_on(open(fresh)));
    let transactions = proptest::collection::vec(proptest::collection::vec(step(), 1..6), 1..12);
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
    let told = TestRunner::new(config).run(&transactions, |transactions| {
        let both = async { (story(&sqlite, &transactions).await, story(&postgres, &transactions).await) };
        let (one, other) = runtime.block_on(both);
        prop_assert_eq!(one, other);
        Ok(())
    });
    told.unwrap();
}

async fn open(fresh: &Fresh) -> Database {
    let db = Database::make(&fresh.location, Schema::Content, &Options::default()).await.unwrap();
    let thing = match db.engine() {
        Engine::Sqlite => CREATE_THING_SQLITE,
        Engine::Postgres => CREATE_THING_POSTGRES,
    };
    let create = move |t: &mut Transaction<'_>| {
        t.execute(CREATE_FOLDER, &[])?;
        t.execute(thing, &[])
    };
    db.write(create).await.unwrap();
    db
}
