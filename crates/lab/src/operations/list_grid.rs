//! The page of a list as a grid: the page with its resources, and the first rows that its script asks for.

use super::list_page::in_browser;
use super::operation::{Operation, STRONGROOM};
use super::page;
use super::task_row::{FILLED, TaskRow};
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// The page of a list as a grid.
pub const OPERATION: Operation = Operation {
    name: "list-grid",
    description: "The page of a list as a grid, with the first 200 rows that its script asks for",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: in_browser,
    run: |user, _| Box::pin(run(user)),
};

async fn run(user: &mut User) -> Result<(), Fault> {
    let list = user.task_list().await?;
    let source = format!("/items/{}/grid", list.id);
    page::get(user, &format!("{}?as=grid", list.page), &format!("data-src=\"{source}\"")).await?;
    let ask = RequestBuilder::get(format!("{source}?rows={FILLED}")).like_browser();
    let block = user.client.send(ask).await?.expect(&[200])?.json()?;
    let rows = block["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let title_of = |number: u32| rows.get(number as usize - 1).and_then(|row| row["cells"][0].as_str());
    match [1, FILLED].iter().all(|number| title_of(*number) == Some(&*TaskRow::filled(*number).title)) {
        true => Ok(()),
        false => Err(Fault::content(format!("the grid has {} rows, which are not the first ones", rows.len()))),
    }
}
