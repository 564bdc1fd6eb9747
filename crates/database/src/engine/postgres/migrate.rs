//! Owns the migration of a PostgreSQL schema, and the checks before it.

use model::{Code, Error, Result, Timestamp};
use tokio_postgres::Client;

use crate::migrate::{self, Applied, Migration, Plan, Taken};

use super::classify::classify;

/// Lock that is held until the end of each step's transaction, so that several processes upgrade one after another.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7307463905)";

/// Refuses a server that cannot keep the guarantees of the schema.
pub(super) async fn check_server(client: &Client, server: &str) -> Result<()> {
    let sql =
        "SELECT current_setting('server_encoding'), current_setting('server_version_num')::int, pg_is_in_recovery()";
    let row = client.query_one(sql, &[]).await.map_err(|e| classify(e, server))?;
    let (encoding, version, standby): (String, i32, bool) = (row.get(0), row.get(1), row.get(2));
    if encoding != "UTF8" {
        return Err(Error::invalid(format!(
            "the database {server} stores text as {encoding}; create it with ENCODING 'UTF8'"
        ))
        .with_code(Code::Encoding));
    }
    if version < 130_000 {
        return Err(Error::invalid(format!("the database server {server} is older than PostgreSQL 13; upgrade it"))
            .with_code(Code::ServerTooOld));
    }
    if standby {
        return Err(Error::unavailable(format!("the database server {server} is a standby and accepts no changes"))
            .with_code(Code::ReadOnly));
    }
    Ok(())
}

/// Applies all missing steps, each in a transaction of its own.
pub(super) async fn migrate(client: &mut Client, plan: &Plan, server: &str) -> Result<()> {
    let mut fresh = false;
    while let Some(taken) = step(client, plan, server).await? {
        fresh |= taken.first;
        migrate::tell(server, taken.step, fresh);
    }
    Ok(())
}

/// Applies the next step, if there is one.
async fn step(client: &mut Client, plan: &Plan, server: &str) -> Result<Option<Taken>> {
    let failed = |e| classify(e, server);
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.batch_execute(LOCK).await.map_err(failed)?;
    let applied = history(&transaction, plan.makes).await.map_err(failed)?;
    let applied = applied.map_err(|nothing| if nothing { migrate::empty(server) } else { migrate::foreign(server) })?;
    let next = plan.next(&applied, server)?;
    if let Some(step) = next {
        let taken = take(&transaction, plan, step).await;
        taken.map_err(|e| migrate::failed(server, step, classify(e, server)))?;
    }
    transaction.commit().await.map_err(failed)?;
    Ok(next.map(|step| Taken { step, first: applied.is_empty() }))
}

type PostgresResult<T> = std::result::Result<T, tokio_postgres::Error>;

/// The steps that have been applied. If there is no history, the error is true for an otherwise empty database, in
/// which a schema may be created.
async fn history(
    transaction: &tokio_postgres::Transaction<'_>,
    makes: bool,
) -> PostgresResult<std::result::Result<Vec<Applied>, bool>> {
    let tables = "SELECT count(*), count(*) FILTER (WHERE tablename = 'schema_history') \
         FROM pg_catalog.pg_tables WHERE schemaname = current_schema()";
    let row = transaction.query_one(tables, &[]).await?;
    let (all, own): (i64, i64) = (row.get(0), row.get(1));
    if own == 0 {
        if all > 0 || !makes {
            return Ok(Err(all == 0));
        }
        transaction.batch_execute(migrate::CREATE_HISTORY).await?;
    }
    let rows = transaction.query(migrate::LIST_HISTORY, &[]).await?;
    Ok(Ok(rows.iter().map(|row| Applied { version: row.get(0), schema: row.get(1) }).collect()))
}

async fn take(transaction: &tokio_postgres::Transaction<'_>, plan: &Plan, step: &Migration) -> PostgresResult<()> {
    transaction.batch_execute(step.sql).await?;
    let now = Timestamp::now().micros();
    let version = i64::from(step.version);
    transaction.execute(migrate::INSERT_HISTORY, &[&version, &step.name, &plan.schema.as_str(), &now]).await?;
    Ok(())
}
