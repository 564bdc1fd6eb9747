//! Statements over the configuration database: the farm itself, its content databases, BLOB stores and site
//! collections, and people. One module per table or small family of tables. Knows no rule and no permission.

pub mod account;
pub mod event;
pub mod farm;
pub mod group;
pub mod principal;
pub mod role;
pub mod site_collection;
pub mod throttle;
pub mod token;
pub mod web_session;

/// Every statement over the configuration database, by module.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&[crate::Sql]] = &[
    account::ALL,
    event::ALL,
    farm::ALL,
    group::ALL,
    principal::ALL,
    role::ALL,
    site_collection::ALL,
    throttle::ALL,
    token::ALL,
    web_session::ALL,
];

#[cfg(test)]
mod tests {
    use crate::{Database, Location, Options, Schema};

    #[tokio::test]
    async fn every_statement_fits_the_schema() {
        let directory = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(directory.path().join("configuration.sqlite"));
        let database = Database::open(&location, Schema::Configuration, &Options::default()).await.unwrap();
        database
            .write(|tx| super::STATEMENTS.iter().copied().flatten().try_for_each(|sql| tx.prepare(*sql)))
            .await
            .unwrap();
        database.close().await;
    }
}
