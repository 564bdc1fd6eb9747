//! Changing the value of a document in a column of its library. The document's bytes stay the same.

use hyper::Method;

use super::operation::{Operation, STRONGROOM};
use super::share::Share;
use super::upload::has_own;
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// Changing the value of a document in a column of its library. The document's bytes stay the same.
pub const OPERATION: Operation = Operation {
    name: "edit-values",
    description: "Changing a document's value in a column of its library; its bytes stay the same",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: |user, share| Box::pin(prepare(user, share)),
    run: |user, _| Box::pin(run(user)),
};

const COLUMN: &str = "edit-values: column";
const NAME: &str = "Lab note";

/// Makes sure that the library has the column, and that the user has a document.
async fn prepare(user: &mut User, share: &Share) -> Result<(), Fault> {
    has_own(user, share).await?;
    if user.notes_by_key.contains_key(COLUMN) {
        return Ok(());
    }
    let library = user.id_at(&user.own_library()).await?;
    let path = format!("/api/v1/items/{library}/columns");
    let said = serde_json::json!({ "name": NAME, "kind": "text" });
    // 409: another user has created it.
    user.client.send(RequestBuilder::new(Method::POST, path.as_str()).json(&said)).await?.expect(&[201, 409])?;
    let columns = user.client.send(RequestBuilder::get(path)).await?.expect(&[200])?.json()?;
    let column = columns["items"].as_array().into_iter().flatten().find(|column| column["name"] == NAME);
    let id = column.and_then(|column| column["id"].as_str()).map(str::to_owned);
    user.notes_by_key.insert(COLUMN, id.ok_or_else(|| Fault::content("the library lacks the column that was made"))?);
    Ok(())
}

async fn run(user: &mut User) -> Result<(), Fault> {
    let at = user.random.usize(0..user.uploads.len().max(1));
    let path = user.uploads.get(at).map(|(path, _)| path.clone()).unwrap_or_default();
    let id = user.id_at(&path).await?;
    let value = format!("Said {} by {}", user.next_serial(), user.number);
    let column = user.note(COLUMN).to_owned();
    let said = serde_json::json!({ "values": { column.as_str(): value } });
    let ask = RequestBuilder::new(Method::PATCH, format!("/api/v1/items/{id}/values")).json(&said);
    let now = user.client.send(ask).await?.expect(&[200])?.json()?;
    if now["values"][column.as_str()] == value.as_str() {
        Ok(())
    } else {
        Err(Fault::content(format!("{path} does not have the value that was set")))
    }
}
