//! The migrations of both engines lead to the same schema.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod older;

use std::collections::{BTreeMap, BTreeSet};

use database::configuration::account::{self, Account};
use database::configuration::saved_search::{self, SavedSearchRow, SeenRow};
use database::configuration::template::{self, TemplateRow};
use database::content::fields::Fields;
use database::content::node::{self, NodeRow};
use database::content::revision::{self, Revision};
use database::content::site::{self, SiteRow};
use database::content::sorted::{self, RowFilter, SortOrder};
use database::content::{column, library, record};
use database::testing::fresh_database;
use database::{Database, Engine, Options, Reader, Schema, Sql, Transaction};
use model::{ColumnKind, ColumnValue, Id, Name, NodeKind, Preferences, Result, SearchAlert, SortValue, Timestamp};

use older::{
    FOLDER, LIBRARY, OLDER_SETTINGS, SITE, make_content_older, make_revisions_older, undo_configuration_steps,
    undo_newest_steps,
};

/// Columns by name: the class of the type, and whether NULL is allowed.
type Columns = BTreeMap<String, (String, bool)>;

#[derive(Debug, Default, PartialEq)]
struct Table {
    columns: Columns,
    /// Each unique set of columns, including the primary key, with its condition if it has one.
    unique: BTreeSet<Vec<String>>,
    /// Columns of each other index, in order.
    indexes: BTreeSet<Vec<String>>,
    /// Columns and the table that they refer to.
    references: BTreeSet<(String, String)>,
}

type Tables = BTreeMap<String, Table>;

/// Table, name and uniqueness of an index.
type Index = (String, String, bool);

const SQLITE_COLUMNS: Sql = Sql::new(
    "SELECT m.name, c.name, c.type, c.\"notnull\", m.sql FROM sqlite_schema m, pragma_table_info(m.name) c \
     WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'",
);
const SQLITE_INDEXES: Sql = Sql::new(
    "SELECT m.name, i.name, i.\"unique\", c.name FROM sqlite_schema m, pragma_index_list(m.name) i, \
    pragma_index_info(i.name) c \
     WHERE m.type = 'table' ORDER BY m.name, i.name, c.seqno",
);
const SQLITE_ROWID_KEYS: Sql = Sql::new(
    "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.pk = 1 \
     AND NOT EXISTS (SELECT 1 FROM pragma_index_list(m.name) i WHERE i.origin = 'pk')",
);
const SQLITE_REFERENCES: Sql = Sql::new(
    "SELECT m.name, f.\"from\", f.\"table\" FROM sqlite_schema m, pragma_foreign_key_list(m.name) f WHERE m.type = \
    'table'",
);
const POSTGRES_COLUMNS: Sql = Sql::new(
    "SELECT table_name::text, column_name::text, data_type::text, is_nullable = 'NO', collation_name::text \
     FROM information_schema.columns WHERE table_schema = 'public'",
);
const POSTGRES_INDEXES: Sql = Sql::new(
    "SELECT t.relname::text, i.relname::text, x.indisunique, a.attname::text FROM pg_index x \
     JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid \
     CROSS JOIN unnest(x.indkey) WITH ORDINALITY k (number, place) \
     JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number \
     WHERE t.relnamespace = 'public'::regnamespace ORDER BY 1, 2, k.place",
);
const POSTGRES_REFERENCES: Sql = Sql::new(
    "SELECT t.relname::text, a.attname::text, o.relname::text FROM pg_constraint c \
     JOIN pg_class t ON t.oid = c.conrelid JOIN pg_class o ON o.oid = c.confrelid \
     CROSS JOIN unnest(c.conkey) k (number) JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number \
     WHERE c.contype = 'f'",
);

#[tokio::test]
async fn both_engines_have_the_same_tables() {
    for schema in [Schema::Configuration, Schema::Content] {
        let [sqlite, postgres] = [tables(Engine::Sqlite, schema).await, tables(Engine::Postgres, schema).await];
        assert!(sqlite.len() > 5, "{schema:?} has tables");
        let names = |tables: &Tables| tables.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&sqlite), names(&postgres));
        for (name, table) in &sqlite {
            assert_eq!(table, &postgres[name], "table {name}");
        }
    }
}

async fn tables(engine: Engine, schema: Schema) -> Tables {
    let fresh = fresh_database(engine).await;
    let db = Database::make(&fresh.location, schema, &Options::default()).await.unwrap();
    let mut tables = Tables::new();
    for (table, column, kind, required, note) in columns(&db).await {
        if engine == Engine::Sqlite {
            assert!(note.contains(") STRICT") || table == "schema_history", "{table} is not STRICT");
        }
        tables.entry(table).or_default().columns.insert(column, (class(&kind), !required));
    }
    for (table, columns, is_unique) in indexes(&db).await {
        let table = tables.get_mut(&table).unwrap();
        if is_unique {
            table.unique.insert(columns)
        } else {
            table.indexes.insert(columns)
        };
    }
    for (table, column, other) in references(&db).await {
        tables.get_mut(&table).unwrap().references.insert((column, other));
    }
    db.close().await;
    tables
}

/// The class of values that a type can hold. SQLite stores Booleans as the integers 0 and 1.
fn class(kind: &str) -> String {
    match kind.to_lowercase().as_str() {
        "integer" | "bigint" | "boolean" => "integer".into(),
        "real" | "double precision" => "real".into(),
        "blob" | "bytea" => "bytes".into(),
        "text" => "text".into(),
        other => format!("{other} is none of the portable types"),
    }
}

async fn columns(db: &Database) -> Vec<(String, String, String, bool, String)> {
    let sql = if db.engine() == Engine::Sqlite { SQLITE_COLUMNS } else { POSTGRES_COLUMNS };
    let columns = db.read(move |r| {
        r.query(sql, &[], |row| {
            let note = row.get::<Option<String>>(4)?.unwrap_or_default();
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, note))
        })
    });
    columns.await.unwrap()
}

/// Table, columns and uniqueness of each index.
async fn indexes(db: &Database) -> Vec<(String, Vec<String>, bool)> {
    let sqlite = db.engine() == Engine::Sqlite;
    let sql = if sqlite { SQLITE_INDEXES } else { POSTGRES_INDEXES };
    let rows = db.read(move |r| {
        let columns = r.query(sql, &[], |row| Ok(((row.get(0)?, row.get(1)?, row.get(2)?), row.get::<String>(3)?)))?;
        // SQLite does not list a primary key that is the row id among the indexes.
        let keys = if sqlite {
            r.query(SQLITE_ROWID_KEYS, &[], |row| Ok((row.get::<String>(0)?, vec![row.get::<String>(1)?], true)))?
        } else {
            Vec::new()
        };
        Ok((columns, keys))
    });
    let (rows, mut indexes): (Vec<(Index, String)>, _) = rows.await.unwrap();
    let mut grouped: BTreeMap<Index, Vec<String>> = BTreeMap::new();
    for (index, column) in rows {
        grouped.entry(index).or_default().push(column);
    }
    indexes.extend(grouped.into_iter().map(|((table, _, is_unique), columns)| (table, columns, is_unique)));
    indexes
}

async fn references(db: &Database) -> Vec<(String, String, String)> {
    let sql = if db.engine() == Engine::Sqlite { SQLITE_REFERENCES } else { POSTGRES_REFERENCES };
    let read = db.read(move |r| r.query(sql, &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))));
    read.await.unwrap()
}

#[tokio::test]
async fn text_that_is_ordered_is_ordered_by_its_bytes_on_both_engines() {
    const UNORDERED: Sql = Sql::new(
        "SELECT DISTINCT t.relname || '.' || a.attname FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid \
         CROSS JOIN unnest(x.indkey) k (number) JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number \
         WHERE t.relnamespace = 'public'::regnamespace AND a.atttypid = 'text'::regtype \
         AND a.attcollation <> '\"C\"'::regcollation",
    );
    for schema in [Schema::Configuration, Schema::Content] {
        let fresh = fresh_database(Engine::Postgres).await;
        let db = Database::make(&fresh.location, schema, &Options::default()).await.unwrap();
        let found: Result<Vec<String>> = db.read(|r| r.query(UNORDERED, &[], |row| row.get(0))).await;
        assert_eq!(found.unwrap(), Vec::<String>::new(), "these indexed columns need COLLATE \"C\"");
        db.close().await;
    }
}

#[tokio::test]
async fn an_older_configuration_database_gets_saved_searches_and_keeps_its_accounts() {
    const WITHOUT_TABLE: Sql = Sql::new("DROP TABLE saved_search");
    const WITHOUT_STEP: Sql = Sql::new("DELETE FROM schema_history WHERE version >= 10");
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let (fresh, options) = (fresh_database(engine).await, Options::default());
        let db = Database::make(&fresh.location, Schema::Configuration, &options).await.unwrap();
        let owner = Account {
            id: Id::new(7),
            login: "ann".into(),
            display_name: "Ann".into(),
            email: String::new(),
            farm_administrator: false,
            disabled: false,
            deleted: false,
            preferences: Preferences::default(),
            created_at: Timestamp::from_micros(1),
            signed_in_at: None,
        };
        let make_older = move |tx: &mut Transaction<'_>| {
            account::insert(tx, &owner, None)?;
            undo_configuration_steps(tx, &[WITHOUT_TABLE, WITHOUT_STEP])
        };
        db.write(make_older).await.unwrap();
        db.close().await;
        let db = Database::make(&fresh.location, Schema::Configuration, &options).await.unwrap();
        let search = SavedSearchRow {
            id: Id::new(8),
            name: "Plans".into(),
            query: "plan".into(),
            sort: "newest".into(),
            alert: SearchAlert::Daily,
            created_at: Timestamp::from_micros(2),
            seen_at: Timestamp::from_micros(3),
        };
        let versions = vec![Id::new(1), Id::new(i64::MAX)];
        let seen = SeenRow { at: search.seen_at, through: Timestamp::from_micros(i64::MIN), versions };
        let expected = (Some(search.clone()), Some(seen.clone()));
        let save = move |tx: &mut Transaction<'_>| saved_search::insert(tx, Id::new(7), &search, "plans", &seen);
        db.write(save).await.unwrap();
        let read = |reader: &mut Reader<'_>| {
            let found = saved_search::find(reader, Id::new(7), Id::new(8))?;
            Ok((found, saved_search::seen(reader, Id::new(7), Id::new(8))?))
        };
        assert_eq!(db.read(read).await.unwrap(), expected);
        db.close().await;
    }
}

#[tokio::test]
async fn an_older_content_database_keeps_its_values_as_records() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let (fresh, options) = (fresh_database(engine).await, Options::default());
        let db = Database::make(&fresh.location, Schema::Content, &options).await.unwrap();
        db.write(make_content_older).await.unwrap();
        db.close().await;
        let db = Database::make(&fresh.location, Schema::Content, &options).await.unwrap();
        let read = |reader: &mut Reader<'_>| {
            let person = sorted::named(reader, FOLDER, 4, 9)?;
            let columns: Vec<i64> = column::list(reader, LIBRARY)?.iter().map(|column| column.slot).collect();
            let mut orders = Vec::new();
            for slot in 1..=5 {
                let start = SortValue::number(f64::NEG_INFINITY);
                let order = SortOrder::Field(slot, &start, Id::NONE);
                let rows = sorted::leaves(reader, FOLDER, &order, false, &RowFilter::default(), 9)?;
                orders.push(rows.into_iter().map(|row| row.id.get()).collect::<Vec<_>>());
            }
            Ok((record::values(reader, Id::new(10))?, record::values(reader, Id::new(11))?, person, columns, orders))
        };
        let (first, second, people, slots, orders) = db.read(read).await.unwrap();
        let values = [
            ColumnValue::Text("b \"quoted\" \u{f6}".into()),
            ColumnValue::Number(0.1),
            ColumnValue::Date(Timestamp::from_micros(1_763_500_000_123_456)),
            ColumnValue::Person(Id::new(9_007_199_254_740_993)),
            ColumnValue::YesNo(true),
        ];
        assert_eq!(first.into_iter().map(|(_, value)| value).collect::<Vec<_>>(), values, "{engine:?}");
        assert_eq!(second, [(Id::new(101), ColumnValue::Text("A".into())), (Id::new(102), ColumnValue::Number(-2.0))]);
        assert_eq!(people, [Id::new(9_007_199_254_740_993)]);
        assert_eq!(slots, [1, 2, 3, 4, 5]);
        assert_eq!(orders, [vec![11, 10], vec![11, 10], vec![10], vec![10], vec![10]]);
        // The words that are new in this version are allowed now, and no slot is given again.
        let extend = |tx: &mut Transaction<'_>| {
            let library = node::find(tx, LIBRARY)?.unwrap();
            let name = Name::new("Rows").unwrap();
            let list =
                NodeRow::new(Id::new(50), &library, NodeKind::List, &name, Id::new(1), Timestamp::from_micros(1));
            node::insert(tx, &list)?;
            let mut note = column::list(tx, LIBRARY)?.remove(0);
            (note.id, note.name, note.folded, note.kind) = (Id::new(106), "N".into(), "n".into(), ColumnKind::Note);
            column::insert(tx, &note)
        };
        assert_eq!(db.write(extend).await.unwrap(), 6);
        db.close().await;
    }
}

#[tokio::test]
async fn older_databases_get_templates_and_options_of_sites() {
    const OLDER_CONFIGURATION: Sql = Sql::new("DELETE FROM schema_history WHERE version >= 11");
    const OLDER_CONTENT: Sql = Sql::new("DELETE FROM schema_history WHERE version >= 16");
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let options = Options::default();
        let [configuration, content] = [fresh_database(engine).await, fresh_database(engine).await];
        let db = Database::make(&configuration.location, Schema::Configuration, &options).await.unwrap();
        let older = |tx: &mut Transaction<'_>| undo_configuration_steps(tx, &[OLDER_CONFIGURATION]);
        db.write(older).await.unwrap();
        db.close().await;
        let db = Database::make(&configuration.location, Schema::Configuration, &options).await.unwrap();
        let row = |id: i64, collection: i64| TemplateRow {
            id: Id::new(id),
            collection_id: Id::new(collection),
            name: "plan".into(),
            kind: "list".into(),
            summary: "{}".into(),
            changed_at: Timestamp::from_micros(1),
            changed_by: Id::new(1),
        };
        let save = move |tx: &mut Transaction<'_>| {
            template::insert(tx, &row(1, 0), "for all")?;
            template::insert(tx, &row(2, 9), "for one")?;
            Ok((template::list(tx, Id::new(9), 9)?, template::find(tx, Id::new(9), "plan")?))
        };
        let (listed, found) = db.write(save).await.unwrap();
        assert_eq!((listed.len(), found), (2, Some((row(2, 9), "for one".to_owned()))), "{engine:?}");
        let again = db.write(move |tx| template::insert(tx, &row(3, 9), "again")).await.unwrap_err();
        assert_eq!(again.kind(), model::ErrorKind::Conflict);
        db.close().await;
        let db = Database::make(&content.location, Schema::Content, &options).await.unwrap();
        let older = |tx: &mut Transaction<'_>| {
            undo_newest_steps(tx)?;
            tx.execute(OLDER_CONTENT, &[]).map(drop)
        };
        db.write(older).await.unwrap();
        db.close().await;
        let db = Database::make(&content.location, Schema::Content, &options).await.unwrap();
        let fill = |tx: &mut Transaction<'_>| {
            tx.execute(SITE, &[])?;
            let row = SiteRow { template: "team".into(), options: "{}".into() };
            site::put(tx, LIBRARY, &row)?;
            site::put_logo(tx, LIBRARY, "image/png", b"png")?;
            let before = (site::find(tx, LIBRARY)?, site::logo(tx, LIBRARY)?);
            // Both go with their site.
            node::delete(tx, LIBRARY)?;
            Ok((before, site::find(tx, LIBRARY)?, site::logo(tx, LIBRARY)?))
        };
        let ((stored, logo), none, no_logo) = db.write(fill).await.unwrap();
        assert_eq!(stored.unwrap().template, "team");
        assert_eq!(logo, Some(("image/png".to_owned(), b"png".to_vec())));
        assert_eq!((none, no_logo), (None, None), "{engine:?}");
        db.close().await;
    }
}

#[tokio::test]
async fn revisions_of_an_older_content_database_are_numbered() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let (fresh, options) = (fresh_database(engine).await, Options::default());
        let db = Database::make(&fresh.location, Schema::Content, &options).await.unwrap();
        let older = |tx: &mut Transaction<'_>| {
            make_revisions_older(tx)?;
            let long = "x".repeat(300);
            tx.execute(Sql::new("UPDATE node SET title = $1 WHERE id = 10"), &database::params![long])?;
            tx.execute(OLDER_SETTINGS, &[]).map(drop)
        };
        db.write(older).await.unwrap();
        db.close().await;
        let db = Database::make(&fresh.location, Schema::Content, &options).await.unwrap();
        // Servers get identifiers in ranges, so a later revision can have a smaller one.
        let change = |tx: &mut Transaction<'_>| {
            let row = node::find(tx, Id::new(10))?.unwrap();
            let later = Revision {
                id: Id::new(60),
                number: row.number.major,
                fields: Fields::default(),
                at: Timestamp::from_micros(3),
                by: Id::new(1),
            };
            revision::insert(tx, row.id, &later)?;
            let all = revision::list(tx, row.id, 99, 9)?;
            revision::trim(tx, row.id, 1)?;
            let kept = revision::list(tx, row.id, 99, 9)?;
            let newest = node::newest_id(tx)?.max(revision::newest_id(tx)?);
            let settings = [library::find(tx, Id::new(2))?, library::find(tx, Id::new(3))?];
            let attachments = settings.map(|settings| settings.map(|settings| settings.attachments));
            // Lists take attachments from now on, libraries do not.
            assert_eq!(attachments, [Some(true), Some(false)]);
            Ok((row.title.map(|title| title.len()), all, kept, newest))
        };
        let (title, all, kept, newest) = db.write(change).await.unwrap();
        let ids = |revisions: &[Revision]| revisions.iter().map(|one| (one.id.get(), one.number)).collect::<Vec<_>>();
        assert_eq!(ids(&all), [(60, 3), (71, 2), (70, 1)]);
        assert_eq!(ids(&kept), [(60, 3)]);
        assert_eq!((title, newest), (Some(255), Some(Id::new(77))));
        db.close().await;
    }
}
