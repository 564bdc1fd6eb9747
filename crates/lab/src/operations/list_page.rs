//! The page of a list with its first rows and resources.

use super::operation::{Operation, STRONGROOM, Work};
use super::page;
use super::share::Share;
use super::sign_in::signed_in;
use super::task_row::shows_in_order;
use super::user::User;
use crate::wire::Fault;

/// The page of a list with its first rows and resources.
pub const OPERATION: Operation = Operation {
    name: "list-page",
    description: "The page of a list with its first rows and resources",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: in_browser,
    run: |user, _| Box::pin(run(user)),
};

/// Rows that a page of a list must show at least.
pub const FIRST_ROWS: u32 = 20;

/// Preparation of operations on pages of lists: makes the list if necessary, and signs the user in.
pub fn in_browser<'a>(user: &'a mut User, share: &'a Share) -> Work<'a> {
    Box::pin(async {
        user.task_list().await?;
        signed_in(user, share).await
    })
}

async fn run(user: &mut User) -> Result<(), Fault> {
    let list = user.task_list().await?;
    let answer = page::get(user, &list.page, &new_row_address(&list.id)).await?;
    shows_in_order(&answer.text(), 1..=FIRST_ROWS)
}

/// Returns the address of the form for a new row of a list.
pub fn new_row_address(list: &str) -> String {
    format!("/items/{list}/new-row")
}
