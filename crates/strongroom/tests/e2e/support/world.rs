//! The state of one worker's folders: expected by the model, and shown by the server.
//!
//! Reads that state through REST and compares the two. Independent of the operations that change it.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::Value;

use super::Client;

/// Placeholder for the identifier of a document or folder whose creation was not acknowledged.
pub const UNNAMED: &str = "unnamed";

/// The permanent folders of a worker.
pub const FIXED: [&str; 2] = ["a", "b"];

/// A document as its owner sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Folder and name, such as `a/7.bin` or `a/f3/7.bin`.
    pub place: String,
    /// Digests of the versions, the newest first.
    pub versions: Vec<String>,
    /// True if the owner has it checked out.
    pub checked_out: bool,
    /// Digest of the bytes that the owner reads: the working copy or the newest version.
    pub content: String,
    /// Value of the column.
    pub value: Option<String>,
    /// Identifiers of links, or [`UNNAMED`].
    pub links: BTreeSet<String>,
}

/// Everything below one worker's folder, by identifier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelState {
    pub documents: BTreeMap<String, Document>,
    /// Paths of the folders in [`FIXED`], by identifier.
    pub folders: BTreeMap<String, String>,
    /// Documents in the recycle bin, as they were before deletion.
    pub recycled: BTreeMap<String, Document>,
    /// Folders in the recycle bin, with their contents.
    pub recycled_folders: BTreeMap<String, Contents>,
}

/// A deleted folder: its path and its documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    pub place: String,
    pub documents: BTreeMap<String, Document>,
}

/// The state of a worker's folder as the server shows it.
#[derive(Debug)]
pub struct ServerState {
    documents: BTreeMap<String, Document>,
    folders: BTreeMap<String, String>,
    /// Entries of the recycle bin, by the identifier of their item.
    pub entries: BTreeMap<String, String>,
}

impl ModelState {
    /// Returns this state with the server's identifiers filled in, if it matches what the server shows.
    pub fn agrees(&self, found: &ServerState) -> Option<ModelState> {
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
        if let Some(folder) = world.folders.remove(UNNAMED) {
            let mut new = found.folders.keys().filter(|id| !world.folders.contains_key(*id));
            world.folders.insert(new.next()?.clone(), folder);
        }
        let bin: BTreeSet<&String> = world.recycled.keys().chain(world.recycled_folders.keys()).collect();
        let same = bin.into_iter().eq(found.entries.keys())
            && world.documents == found.documents
            && world.folders == found.folders;
        same.then_some(world)
    }

    /// Restores an item from the recycle bin.
    pub fn restore(&mut self, id: &str) {
        if let Some(document) = self.recycled.remove(id) {
            self.documents.insert(id.to_owned(), document);
        } else if let Some(contents) = self.recycled_folders.remove(id) {
            self.folders.insert(id.to_owned(), contents.place);
            self.documents.extend(contents.documents);
        }
    }

    /// Permanently removes an item from the recycle bin.
    pub fn purge(&mut self, id: &str) {
        self.recycled.remove(id);
        self.recycled_folders.remove(id);
    }

    /// Identifiers of the documents directly in a folder.
    pub fn within(&self, place: &str) -> Vec<String> {
        let inside = self.documents.iter().filter(|(_, document)| parent(&document.place) == place);
        inside.map(|(id, _)| id.clone()).collect()
    }
}

impl ServerState {
    /// Reads the folders of a worker, all versions, values and links of their documents, and the recycle bin.
    ///
    /// `site` is the site collection, `home` the path of the worker's folder, `column` the identifier of the column.
    /// With `deeply` the bytes of older versions are read too, and must match their digests.
    pub async fn read(
        client: &Client,
        site: &str,
        home: &str,
        column: &str,
        deeply: bool,
    ) -> Result<Self, reqwest::Error> {
        let (mut documents, mut folders) = (BTreeMap::new(), BTreeMap::new());
        let mut left: Vec<String> = FIXED.map(str::to_owned).into();
        while let Some(folder) = left.pop() {
            let path = format!("/api/v1/items/by-path/children?limit=1000&path={home}/{folder}");
            for item in list(client, &path).await? {
                let id = text(&item["id"]);
                let place = format!("{folder}/{}", text(&item["name"]));
                if item["kind"] == "folder" {
                    folders.insert(id, place.clone());
                    left.push(place);
                } else {
                    documents.insert(id.clone(), document(client, &id, place, &item, column, deeply).await?);
                }
            }
        }
        let mut entries = BTreeMap::new();
        for entry in list(client, &format!("/api/v1/site-collections/{site}/recycle-bin?limit=1000")).await? {
            if text(&entry["path"]).starts_with(&format!("{home}/")) {
                entries.insert(text(&entry["item"]), text(&entry["id"]));
            }
        }
        Ok(Self { documents, folders, entries })
    }
}

async fn document(
    client: &Client,
    id: &str,
    place: String,
    item: &Value,
    column: &str,
    deeply: bool,
) -> Result<Document, reqwest::Error> {
    let get = async |what: &str| client.send(Method::GET, &format!("/api/v1/items/{id}/{what}"), Vec::new()).await;
    let content = get("content").await?;
    assert!(content.status.is_success(), "{place}: {} {}", content.status, content.text());
    let versions = list(client, &format!("/api/v1/items/{id}/versions?limit=1000")).await?;
    for version in versions.iter().filter(|_| deeply) {
        let number = text(&version["number"]);
        let content = get(&format!("content?version={number}")).await?;
        let digest = blobs::digest_of(&content.body).to_string();
        assert_eq!(digest, text(&version["digest"]), "{place}, version {number}: {}", content.status);
    }
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

/// The text of a JSON value, which must be a string.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// The folder part of a path.
pub fn parent(place: &str) -> &str {
    place.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The name part of a path.
pub fn last(place: &str) -> &str {
    place.rsplit_once('/').map_or(place, |(_, name)| name)
}
