//! The list of a site, in which the users of a run work. Every user may make it: each step is harmless if another
//! user, on this machine or another one, has made it before.

use std::collections::HashMap;

use hyper::Method;
use hyper::header::HeaderName;
use serde_json::{Value, json};

use super::task_row::{DUE, EFFORT, FILLED, OWNER, STATE, STATES, TITLE, TaskRow};
use crate::wire::{Client, Fault, RequestBuilder, address, encode};

/// Rows that one request adds.
const BATCH: u32 = 100;

/// A list with its columns.
pub struct TaskList {
    /// Identifier.
    pub id: String,
    /// Address of its page.
    pub page: String,
    /// Identifier of the person in the column of people.
    pub owner: String,
    columns: HashMap<&'static str, String>,
}

impl TaskList {
    /// Makes the list of a run in the site at a path of the corpus, with its columns and its first rows.
    ///
    /// # Errors
    /// If the target refuses, or answers with something else.
    pub async fn make(client: &mut Client, site: &str, run: &str) -> Result<Self, Fault> {
        let name = format!("Lab {run} tasks");
        let path = if site.is_empty() { name.clone() } else { format!("{site}/{name}") };
        let above = id_at(client, site).await?;
        // 409, here and below: another user has made it.
        let named = json!({ "name": name, "title_column": TITLE });
        post(client, &format!("/api/v1/items/{above}/lists"), &named).await?;
        let id = id_at(client, &path).await?;
        let columns = columns(client, &id).await?;
        let me = client.send(RequestBuilder::get("/api/v1/me")).await?.expect(&[200])?.json()?;
        let owner = text(&me["user"]["id"]).ok_or_else(|| Fault::content("the user of the lab has no id"))?;
        fill(client, &id, &owner).await?;
        let page = format!("/browse/{}", encode(&address::target_path(client.target(), &path)));
        Ok(Self { id, page, owner, columns })
    }

    /// Returns the identifier of a column.
    pub fn column(&self, name: &str) -> &str {
        self.columns.get(name).map_or("", String::as_str)
    }

    /// Checks that the values of a response, by column, are those of a row.
    ///
    /// # Errors
    /// If a value differs.
    pub fn has_values(&self, row: &TaskRow, values: &Value) -> Result<(), Fault> {
        let value = |name| &values[self.column(name)];
        let same = value(TITLE) == row.title.as_str()
            && value(STATE) == row.state
            && value(OWNER) == self.owner.as_str()
            && value(EFFORT).as_f64() == Some(f64::from(row.effort))
            && value(DUE).as_str().is_some_and(|due| due.starts_with(&row.due));
        if same { Ok(()) } else { Err(Fault::content(format!("\"{}\" has other values than were set", row.title))) }
    }
}

/// Makes the columns of the list, and returns their identifiers by name.
async fn columns(client: &mut Client, list: &str) -> Result<HashMap<&'static str, String>, Fault> {
    let path = format!("/api/v1/items/{list}/columns");
    for column in [
        json!({ "name": STATE, "kind": "choice", "choices": STATES }),
        json!({ "name": DUE, "kind": "date" }),
        json!({ "name": OWNER, "kind": "person" }),
        json!({ "name": EFFORT, "kind": "number" }),
    ] {
        post(client, &path, &column).await?;
    }
    let made = client.send(RequestBuilder::get(path)).await?.expect(&[200])?.json()?;
    let id = |name: &'static str| {
        let column = made["items"].as_array().into_iter().flatten().find(|column| column["name"] == name);
        let id = column.and_then(|column| text(&column["id"]));
        id.map(|id| (name, id)).ok_or_else(|| Fault::content(format!("the list lacks the column {name}")))
    };
    [TITLE, STATE, DUE, OWNER, EFFORT].into_iter().map(id).collect()
}

/// Adds the first rows. The key of each request makes the target add its rows once, however many users send it.
async fn fill(client: &mut Client, list: &str, owner: &str) -> Result<(), Fault> {
    for first in (1..=FILLED).step_by(BATCH as usize) {
        let numbers = first..=FILLED.min(first + BATCH - 1);
        let changes: Vec<Value> =
            numbers.map(|number| json!({ "set": TaskRow::filled(number).values(owner) })).collect();
        let ask = RequestBuilder::new(Method::POST, format!("/api/v1/items/{list}/changes"))
            .with(HeaderName::from_static("idempotency-key"), &format!("lab-{list}-{first}"))
            .json(&json!({ "atomic": true, "changes": changes }));
        let answer = client.send(ask).await?.expect(&[200, 409])?;
        if answer.status == 200 && answer.json()?["applied"] != true {
            return Err(Fault::content(format!("the first rows of a list were refused: {}", answer.text())));
        }
    }
    Ok(())
}

/// Creates something, unless it exists.
async fn post(client: &mut Client, path: &str, what: &Value) -> Result<(), Fault> {
    client.send(RequestBuilder::new(Method::POST, path).json(what)).await?.expect(&[201, 409]).map(drop)
}

async fn id_at(client: &mut Client, path: &str) -> Result<String, Fault> {
    let address = address::item_address(client.target(), "", path);
    let item = client.send(RequestBuilder::get(address)).await?.expect(&[200])?.json()?;
    text(&item["id"]).ok_or_else(|| Fault::content(format!("{path} has no id")))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
