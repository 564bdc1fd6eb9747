//! What callers may rely on, whatever the engine.

use database::testing::each_engine;
use database::{Database, Schema, Sql, params};
use model::ErrorKind;

const CREATE: Sql = Sql::new("CREATE TABLE thing (id BIGINT NOT NULL PRIMARY KEY, name TEXT, size BIGINT NOT NULL)");
const INSERT: Sql = Sql::new("INSERT INTO thing (size, name, id) VALUES ($3, $2, $1)");
const FIND: Sql = Sql::new("SELECT name, size FROM thing WHERE id = $1 AND id <= $1");

#[tokio::test]
async fn smoke() {
    each_engine(Schema::Content, |db: Database| async move {
        db.write(|t| t.execute(CREATE, &[])).await.unwrap();
        let n = db.write(|t| t.execute(INSERT, &params![1i64, "a", 3i64])).await.unwrap();
        assert_eq!(n, 1);
        let error = db.write(|t| t.execute(INSERT, &params![1i64, "b", 3i64])).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "unique_violation"));
        let found = db
            .read(|r| r.find(FIND, &params![1i64], |row| Ok((row.get::<Option<String>>(0)?, row.get::<i64>(1)?))))
            .await
            .unwrap();
        assert_eq!(found, Some((Some("a".into()), 3)));
        assert!(db.size_bytes().await.unwrap() > 1000);
    })
    .await;
}
