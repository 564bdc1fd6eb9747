//! The page of a row with its values, versions and resources.

use super::list_page::in_browser;
use super::operation::{Operation, STRONGROOM};
use super::page;
use super::task_row::{FILLED, TaskRow};
use super::user::User;
use crate::wire::Fault;

/// The page of a row with its values, versions and resources.
pub const OPERATION: Operation = Operation {
    name: "row-page",
    description: "The page of a row with its values, versions and resources",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: in_browser,
    run: |user, _| Box::pin(run(user)),
};

async fn run(user: &mut User) -> Result<(), Fault> {
    let list = user.task_list().await?;
    let number = user.random.u32(1..=FILLED);
    let row = TaskRow::filled(number);
    let answer = page::get(user, &format!("{}/{number}", list.page), &format!(">{}</h1>", row.title)).await?;
    if answer.text().contains(&format!(">{}</dd>", row.effort)) {
        Ok(())
    } else {
        Err(Fault::content(format!("the page of \"{}\" shows another effort", row.title)))
    }
}
