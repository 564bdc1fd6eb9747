//! Adding a row to a list.

use hyper::Method;

use super::operation::{Operation, STRONGROOM, Work};
use super::share::Share;
use super::task_row::TaskRow;
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// Adding a row to a list.
pub const OPERATION: Operation = Operation {
    name: "new-row",
    description: "A new row in a list",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: |user, _| Box::pin(prepare(user)),
    run: |user, _| Box::pin(add(user)),
};

async fn prepare(user: &mut User) -> Result<(), Fault> {
    user.task_list().await.map(drop)
}

/// Adds a row and remembers it.
pub async fn add(user: &mut User) -> Result<(), Fault> {
    let list = user.task_list().await?;
    let row = TaskRow::of_user(user.number, user.next_serial(), &mut user.random);
    let said = serde_json::json!({ "values": row.values(&list.owner) });
    let ask = RequestBuilder::new(Method::POST, format!("/api/v1/items/{}/rows", list.id)).json(&said);
    let added = user.client.send(ask).await?.expect(&[201])?.json()?;
    let id = added["id"].as_str().ok_or_else(|| Fault::content("a new row has no id"))?;
    user.remember_row(id.to_owned());
    if added["title"] != row.title.as_str() {
        return Err(Fault::content(format!("\"{}\" was added with another title", row.title)));
    }
    list.has_values(&row, &added["values"])
}

/// Preparation of operations on the user's rows: makes sure that there is one.
pub fn has_row<'a>(user: &'a mut User, _: &'a Share) -> Work<'a> {
    Box::pin(async { if user.rows.is_empty() { add(user).await } else { user.task_list().await.map(drop) } })
}
