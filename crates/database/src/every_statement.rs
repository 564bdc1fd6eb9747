//! Prepares every statement of this crate on both engines, so that a mistake in a statement shows in this test and not
//! in production.

use crate::testing::each_engine;
use crate::{Database, Schema, Sql, configuration, content};

async fn prepare(database: Database, statements: &'static [&'static [Sql]]) {
    database
        .read_long(move |reader| {
            for statement in statements.iter().copied().flatten() {
                reader.prepare(*statement).inspect_err(|_| println!("{statement:?}"))?;
            }
            Ok(())
        })
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn content_statements_fit_the_schema() {
    use content::*;
    const ALL: &[&[Sql]] = &[
        attachment::ALL,
        blob::ALL,
        census::ALL,
        collection::ALL,
        column::ALL,
        displaced::ALL,
        event::ALL,
        fault::ALL,
        feed::ALL,
        followed::ALL,
        name_lookup::ALL,
        idempotency::ALL,
        identity::ALL,
        library::ALL,
        listing::ALL,
        lock::ALL,
        measurement::ALL,
        node::ALL,
        placing::ALL,
        progress::ALL,
        property::ALL,
        deletion_queue::ALL,
        record::ALL,
        recent::ALL,
        recycle::ALL,
        restored::ALL,
        revision::ALL,
        saved_view::ALL,
        scope::ALL,
        search::ALL,
        share_link::ALL,
        site::ALL,
        sorted::ALL,
        stored::ALL,
        submission::ALL,
        tree::ALL,
        upload::ALL,
        version::ALL,
    ];
    each_engine(Schema::Content, |database| prepare(database, ALL)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_statements_fit_the_schema() {
    use configuration::*;
    const ALL: &[&[Sql]] = &[
        account::ALL,
        backup::ALL,
        edit_token::ALL,
        event::ALL,
        farm::ALL,
        group::ALL,
        job::ALL,
        known_device::ALL,
        link_network::ALL,
        password_link::ALL,
        password_list::ALL,
        policy::ALL,
        principal::ALL,
        profile::ALL,
        restored::ALL,
        role::ALL,
        saved_search::ALL,
        server::ALL,
        site_collection::ALL,
        template::ALL,
        throttle::ALL,
        token::ALL,
        web_session::ALL,
    ];
    each_engine(Schema::Configuration, |database| prepare(database, ALL)).await;
}
