//! Changing two values of a row that the user added.

use hyper::Method;

use super::new_row::has_row;
use super::operation::{Operation, STRONGROOM};
use super::task_row::{EFFORT, STATE, TaskRow};
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// Changing two values of a row that the user added.
pub const OPERATION: Operation = Operation {
    name: "edit-row",
    description: "Changing two values of a row that the user added",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: has_row,
    run: |user, _| Box::pin(run(user)),
};

async fn run(user: &mut User) -> Result<(), Fault> {
    let list = user.task_list().await?;
    let at = user.random.usize(0..user.rows.len().max(1));
    let id = user.rows.get(at).cloned().ok_or_else(|| Fault::content("the user has no row to edit"))?;
    let TaskRow { state, effort, .. } = TaskRow::of_user(user.number, user.next_serial(), &mut user.random);
    let said = serde_json::json!({ "values": { list.column(STATE): state, list.column(EFFORT): effort } });
    let ask = RequestBuilder::new(Method::PATCH, format!("/api/v1/items/{id}/values")).json(&said);
    let now = user.client.send(ask).await?.expect(&[200])?.json()?;
    let value = |name| &now["values"][list.column(name)];
    if value(STATE) == state && value(EFFORT).as_f64() == Some(f64::from(effort)) {
        Ok(())
    } else {
        Err(Fault::content(format!("the row {id} does not have the values that were set")))
    }
}
