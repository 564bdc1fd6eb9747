//! The form for a new row of a list, with its resources.

use super::list_page::{in_browser, new_row_address};
use super::operation::{Operation, STRONGROOM};
use super::page;
use super::task_row::{DUE, EFFORT, OWNER, STATE, TITLE};
use super::user::User;
use crate::wire::Fault;

/// The form for a new row of a list, with its resources.
pub const OPERATION: Operation = Operation {
    name: "row-form",
    description: "The form for a new row of a list",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: in_browser,
    run: |user, _| Box::pin(async { open(user).await.map(drop) }),
};

/// Opens the form, and returns its token.
pub async fn open(user: &mut User) -> Result<String, Fault> {
    let list = user.task_list().await?;
    let address = new_row_address(&list.id);
    let form = page::get(user, &address, &format!("action=\"{address}\"")).await?;
    let text = form.text();
    let lacks = |name: &&str| !text.contains(&format!("name=\"{}\"", field(list.column(name))));
    match [TITLE, STATE, DUE, OWNER, EFFORT].iter().find(|name| lacks(name)) {
        Some(name) => Err(Fault::content(format!("the form for a new row has no field for {name}"))),
        None => Ok(page::form_token(&text)),
    }
}

/// Returns the name of the form's field for a column.
pub fn field(column: &str) -> String {
    format!("column-{column}")
}
