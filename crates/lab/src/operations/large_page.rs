//! A page with 100 KB of text and a table of contents, with its resources.

use std::fmt::Write as _;

use super::operation::{Operation, STRONGROOM};
use super::page;
use super::page_library;
use super::share::Share;
use super::sign_in::signed_in;
use super::user::User;
use crate::wire::{Fault, address, encode};

/// A page with 100 KB of text and a table of contents, with its resources.
pub const OPERATION: Operation = Operation {
    name: "large-page",
    description: "A page with 100 KB of text and a table of contents",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: |user, share| Box::pin(prepare(user, share)),
    run: |user, _| Box::pin(run(user)),
};

const NAME: &str = "Large page.md";
const MADE: &str = "large-page: made";
const CHAPTERS: usize = 100;
/// The last words of the page.
const END: &str = "This is the end of the large page.";

async fn prepare(user: &mut User, share: &Share) -> Result<(), Fault> {
    signed_in(user, share).await?;
    if user.notes_by_key.contains_key(MADE) {
        return Ok(());
    }
    page_library::make(user).await?;
    // Users who write it at the same time get 409 or 423.
    page_library::put(user, NAME, text()).await?.expect(&[200, 201, 409, 423])?;
    user.notes_by_key.insert(MADE, String::new());
    Ok(())
}

async fn run(user: &mut User) -> Result<(), Fault> {
    let path = address::target_path(&user.crowd.target, &format!("{}/{NAME}", page_library::path(user)));
    page::get(user, &format!("/browse/{}", encode(&path)), END).await.map(drop)
}

fn text() -> String {
    let mut text = "# Large page\n\n```part-contents\n```\n\n".to_owned();
    for chapter in 1..=CHAPTERS {
        let sentence = "A page of this length is what a handbook or a set of minutes comes to. ";
        // Writing to a String cannot fail.
        let _ = write!(text, "## Chapter {chapter}\n\n{}\n\n- one\n- **two**\n- `three`\n\n", sentence.repeat(13));
    }
    text + END + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_hundred_kilobytes() {
        assert!((95_000..110_000).contains(&text().len()), "{}", text().len());
    }
}
