//! The state of one worker's folders: what a model says, and what a server shows.
//!
//! Knows how to read that state through REST and how to compare the two; knows no operation that changes it.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::Value;

use super::Client;

/// Stands for the identifier of a document whose creation was not answered.
pub const UNNAMED: &str = "unnamed";

/// A document as its owner finds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Folder and name, such as `a/7.bin`.
    pub place: String,
    /// Digests of the versions, the newest first.
    pub versions: Vec<String>,
    /// Whether the owner has it checked out.
    pub checked_out: bool,
    /// Digest of the bytes that the owner reads: of the working copy or of the newest version.
    pub content: String,
    /// Value of the column.
    pub value: Option<String>,
    /// Identifiers of links, or [`UNNAMED`].
    pub links: BTreeSet<String>,
}

/// Everything below one worker's folder, by identifier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World {
    pub documents: BTreeMap<String, Document>,
    /// What is in the recycle bin, as it was before its deletion.
    pub recycled: BTreeMap<String, Document>,
}

/// What a server shows of a worker's folder.
#[derive(Debug)]
pub struct Found {
    documents: BTreeMap<String, Document>,
    /// Entries of the recycle bin by the identifier of their item.
    pub entries: BTreeMap<String, String>,
}

impl World {
    /// This state with the identifiers that the server gave, if it is what the server shows.
    pub fn agrees(&self, found: &Found) -> Option<World> {
        let mut world = self.clone();
        if let Some(document) = world.documents.remove(UNNAMED) {
            let mut new = found.documents.keys().filter(|id| !world.documents.contains_key(*id));
            world.documents.insert(new.next()?.clone(), document);
        }
        for (id, document) in &mut world.documents {
            if document.links.remove(UNNAMED) {
                let links = &found.documents.get(id)?.links;
                let new = links.difference(&document.links).next()?.clone();
                document.links.insert(new);
            }
        }
        let same_bin = world.recycled.keys().eq(found.entries.keys());
        (same_bin && world.documents == found.documents).then_some(world)
    }
}

impl Found {
    /// Reads the folders of a worker, all versions, values and links of what they hold, and the recycle bin.
    ///
    /// `site` is the site collection, `home` the path of the worker's folder, `column` the identifier of the column.
    pub async fn read(client: &Client, site: &str, home: &str, column: &str) -> Result<Self, reqwest::Error> {
        let mut documents = BTreeMap::new();
        for folder in ["a", "b"] {
            let path = format!("/api/v1/items/by-path/children?limit=1000&path={home}/{folder}");
            for item in list(client, &path).await? {
                let id = text(&item["id"]);
                let place = format!("{folder}/{}", text(&item["name"]));
                documents.insert(id.clone(), document(client, &id, place, &item, column).await?);
            }
        }
        let mut entries = BTreeMap::new();
        for entry in list(client, &format!("/api/v1/site-collections/{site}/recycle-bin?limit=1000")).await? {
            if text(&entry["path"]).starts_with(&format!("{home}/")) {
                entries.insert(text(&entry["item"]), text(&entry["id"]));
            }
        }
        Ok(Self { documents, entries })
    }
}

async fn document(
    client: &Client,
    id: &str,
    place: String,
    item: &Value,
    column: &str,
) -> Result<Document, reqwest::Error> {
    let get = async |what: &str| client.send(Method::GET, &format!("/api/v1/items/{id}/{what}"), Vec::new()).await;
    let content = get("content").await?;
    assert!(content.status.is_success(), "{place}: {} {}", content.status, content.text());
    let versions = list(client, &format!("/api/v1/items/{id}/versions?limit=1000")).await?;
    let links = list(client, &format!("/api/v1/items/{id}/links")).await?;
    let values = get("values").await?.json();
    Ok(Document {
        place,
        versions: versions.iter().map(|version| text(&version["digest"])).collect(),
        checked_out: !item["check_out"].is_null(),
        content: blobs::digest_of(&content.body).to_string(),
        value: values["values"][column].as_str().map(ToOwned::to_owned),
        links: links.iter().map(|link| text(&link["id"])).collect(),
    })
}

async fn list(client: &Client, path: &str) -> Result<Vec<Value>, reqwest::Error> {
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let answer = client.send(Method::GET, &format!("{path}{cursor}"), Vec::new()).await?;
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
        let mut page = answer.json();
        items.append(page["items"].as_array_mut().unwrap());
        let Some(next) = page["next"].as_str() else { return Ok(items) };
        cursor = format!("&cursor={next}");
    }
}

/// The text of a JSON value that must be one.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}
