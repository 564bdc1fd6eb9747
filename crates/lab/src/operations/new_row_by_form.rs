//! Adding a row by the form of the pages, which was opened before. The list is shown afterwards.

use hyper::Method;

use super::list_page::{in_browser, new_row_address};
use super::operation::{Operation, STRONGROOM};
use super::page;
use super::row_form;
use super::share::Share;
use super::task_row::{DUE, EFFORT, STATE, TITLE, TaskRow};
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// Adding a row by the form of the pages, which was opened before. The list is shown afterwards.
pub const OPERATION: Operation = Operation {
    name: "new-row-by-form",
    description: "Submitting the form for a new row; the list is shown afterwards",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: true,
    prepare: |user, share| Box::pin(prepare(user, share)),
    run: |user, _| Box::pin(run(user)),
};

const FORM_TOKEN: &str = "new-row-by-form: form token";

/// Opens the form.
async fn prepare(user: &mut User, share: &Share) -> Result<(), Fault> {
    in_browser(user, share).await?;
    let token = row_form::open(user).await?;
    user.notes_by_key.insert(FORM_TOKEN, token);
    Ok(())
}

async fn run(user: &mut User) -> Result<(), Fault> {
    let list = user.task_list().await?;
    let row = TaskRow::of_user(user.number, user.next_serial(), &mut user.random);
    let effort = row.effort.to_string();
    let [title, state, due, hours] = [TITLE, STATE, DUE, EFFORT].map(|name| row_form::field(list.column(name)));
    let fields = [
        ("form_token", user.note(FORM_TOKEN)),
        (title.as_str(), row.title.as_str()),
        (state.as_str(), row.state),
        (due.as_str(), row.due.as_str()),
        (hours.as_str(), effort.as_str()),
    ];
    let ask = RequestBuilder::new(Method::POST, new_row_address(&list.id)).like_browser().form(&fields);
    let answer = page::follow(user, ask).await?;
    // The page of the list begins with a message that names the new row.
    page::complete(user, &answer, &row.title).await
}
