//! The page of a list sorted by one of its columns.

use super::list_page::{FIRST_ROWS, in_browser};
use super::operation::{Operation, STRONGROOM};
use super::page;
use super::task_row::{DUE, EFFORT, FILLED, shows_in_order};
use super::user::User;
use crate::wire::Fault;

/// The page of a list sorted by one of its columns.
pub const OPERATION: Operation = Operation {
    name: "list-view",
    description: "The page of a list sorted by a number or a date",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: in_browser,
    run: |user, _| Box::pin(run(user)),
};

async fn run(user: &mut User) -> Result<(), Fault> {
    let list = user.task_list().await?;
    let by_effort = user.random.bool();
    let column = list.column(if by_effort { EFFORT } else { DUE });
    let view = format!("{}?sort={column}&order=descending", list.page);
    let answer = page::get(user, &view, "aria-sort=\"descending\"").await?;
    if by_effort {
        shows_in_order(&answer.text(), (FILLED - FIRST_ROWS..=FILLED).rev())
    } else {
        shows_in_order(&answer.text(), 1..=FIRST_ROWS)
    }
}
