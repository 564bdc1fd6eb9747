//! Adding a user to a group and removing the user again.

use hyper::Method;

use super::operation::{Operation, STRONGROOM};
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// Adding a user to a group and removing the user again.
pub const OPERATION: Operation = Operation {
    name: "add-remove-user",
    description: "Adding a user to a group and removing them again",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: |user, _| Box::pin(prepare(user)),
    run: |user, _| Box::pin(run(user)),
};

const GROUP_NAME: &str = "add-remove-user: group";
const PERSON: &str = "add-remove-user: person";

/// Creates a group for this virtual user alone, because virtual users that share a group would see each other's
/// changes.
async fn prepare(user: &mut User) -> Result<(), Fault> {
    if user.notes_by_key.contains_key(GROUP_NAME) {
        return Ok(());
    }
    let me = user.client.send(RequestBuilder::get("/api/v1/me")).await?.expect(&[200])?.json()?;
    let name = format!("Lab {} {}", user.crowd.run, user.number);
    let said = serde_json::json!({ "name": name, "description": "Made by the load lab" });
    let made = user
        .client
        .send(RequestBuilder::new(Method::POST, "/api/v1/groups").json(&said))
        .await?
        .expect(&[201])?
        .json()?;
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    user.notes_by_key.insert(PERSON, word(&me["user"]["id"]));
    user.notes_by_key.insert(GROUP_NAME, word(&made["id"]));
    Ok(())
}

async fn run(user: &mut User) -> Result<(), Fault> {
    let member = format!("/api/v1/groups/{}/members/{}", user.note(GROUP_NAME), user.note(PERSON));
    user.client.send(RequestBuilder::new(Method::PUT, member.as_str())).await?.expect(&[204])?;
    user.client.send(RequestBuilder::new(Method::DELETE, member)).await?.expect(&[204]).map(drop)
}
