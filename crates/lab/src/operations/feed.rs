//! The Atom feed of a list.

use super::operation::{Operation, STRONGROOM, Work};
use super::share::Share;
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// The Atom feed of a list.
pub const OPERATION: Operation = Operation {
    name: "feed",
    description: "The Atom feed of a list",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: false,
    prepare: with_list,
    run: |user, _| Box::pin(run(user)),
};

fn with_list<'a>(user: &'a mut User, _: &'a Share) -> Work<'a> {
    Box::pin(async { user.task_list().await.map(drop) })
}

async fn run(user: &mut User) -> Result<(), Fault> {
    let list = user.task_list().await?;
    let ask = RequestBuilder::get(format!("/api/v1/items/{}/feed", list.id));
    let answer = user.client.send(ask).await?.expect(&[200])?;
    let text = answer.text();
    // The rows of the list were added by the run itself.
    if text.contains("<entry>") && text.ends_with("</feed>\n") {
        return Ok(());
    }
    Err(Fault::content("the feed of a list has no entries, or is cut off"))
}
