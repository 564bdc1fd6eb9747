//! The list of a farm's servers. Running servers are listed, gracefully stopped ones are not, and a restored farm
//! starts with its own list.

use std::time::Duration;

use database::Engine;
use reqwest::Method;
use serde_json::Value;

use crate::support::Client;
use crate::support::backups::{Place, filled, restored};

/// All listed servers, once the queried server is among them.
async fn servers(client: &Client) -> Vec<Value> {
    loop {
        let answer = client.send(Method::GET, "/api/v1/farm/servers", Vec::new()).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
        let list: Value = serde_json::from_slice(&answer.body).unwrap();
        let servers = list["items"].as_array().unwrap().clone();
        if servers.iter().any(|server| server["here"] == true) {
            return servers;
        }
        // sleep: polled, since a server registers itself only after it has started to listen
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_listed_while_they_run_and_are_none_of_a_restored_farm() {
    let place = Place::new();
    let (farm, server, client) = filled(Engine::Sqlite, 2).await;
    let listed = servers(&client).await;
    assert_eq!(listed.len(), 1, "{listed:#?}");
    let address = listed[0]["address"].as_str().unwrap();
    assert!(address.ends_with(server.host()), "{address} is not {}", server.host());
    assert_eq!((&listed[0]["gone"], listed[0]["host"].as_str().unwrap().is_empty()), (&Value::Bool(false), false));

    farm.json(&["backup", &place.text("backups")]);
    let copy = restored(Engine::Sqlite, &place, "backups", "copy", &[]).await;
    let other = copy.start();
    let listed = servers(&other.client(&copy.token())).await;
    assert_eq!(listed.len(), 1, "the server of the farm that was backed up is none of the copy: {listed:#?}");

    assert!(server.stop().success());
    let server = farm.start();
    let listed = servers(&server.client(&farm.token_named("second"))).await;
    assert_eq!(listed.len(), 1, "a server that has ended in order is listed no more: {listed:#?}");
}
