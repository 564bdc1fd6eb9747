//! Changes to existing or deleted documents.

use reqwest::Method;
use serde_json::{Value, json};

use super::super::world::{Document, ModelState, UNNAMED, last, text};
use super::super::{Answer, Client, Random, bytes};
use super::{Done, VERSIONS, Worker, name_by};

/// The ways of changing a document's path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Rename,
    Move,
    WebDav,
}

impl Worker {
    /// Stores the next version of a document, or its working copy if it is checked out.
    pub(super) async fn replace(&mut self, client: &Client, random: &mut Random, id: String) -> Done {
        if self.world.documents[&id].versions.len() >= VERSIONS {
            return self.delete(client, random, id).await;
        }
        let held = self.world.documents[&id].checked_out;
        // A working copy is recognised only by its bytes, so they must differ from the newest version.
        let (body, digest) = loop {
            let (seed, size) = self.content(random);
            let body = bytes(seed, size);
            let digest = blobs::digest_of(&body).to_string();
            if !held || digest != self.world.documents[&id].versions[0] {
                break (body, digest);
            }
        };
        let by_webdav = random.below(2) == 1;
        let next = self.with(&id, |document| {
            document.content = digest.clone();
            if !document.checked_out {
                // WebDAV clients create an empty file first. The content that follows replaces this version.
                if by_webdav && document.versions[0] == blobs::digest_of(b"").to_string() {
                    document.versions.remove(0);
                }
                document.versions.insert(0, digest);
            }
        });
        let path = match by_webdav {
            false => format!("/api/v1/items/{id}/content"),
            true => format!("/dav/{}/{}", self.home, self.world.documents[&id].place),
        };
        self.change(next, client.send(Method::PUT, &path, body), |_, _| {}).await
    }

    pub(super) async fn place_anew(&mut self, client: &Client, random: &mut Random, id: String, way: Way) -> Done {
        let old = self.world.documents[&id].place.clone();
        let (folder, place) = match way {
            Way::Rename => (String::new(), self.fresh_name(&old)),
            Way::Move | Way::WebDav => self.fresh_place(random),
        };
        let name = last(&place);
        let next = self.with(&id, |document| document.place = place.clone());
        let (item, to) = (format!("/api/v1/items/{id}"), format!("/dav/{}/{place}", self.home));
        match way {
            Way::Rename => {
                let form = json!({ "name": name });
                self.change(next, client.send_json(Method::PATCH, &item, &form), |_, _| {}).await
            }
            Way::Move => {
                let form = json!({ "to": folder, "name": name });
                let path = format!("{item}/move");
                self.change(next, client.send_json(Method::POST, &path, &form), |_, _| {}).await
            }
            Way::WebDav => {
                let (verb, path) = (Method::from_bytes(b"MOVE").unwrap(), format!("/dav/{}/{old}", self.home));
                let fields = [("destination", &*to)];
                self.change(next, client.send_with(verb, &path, &fields, Vec::new()), |_, _| {}).await
            }
        }
    }

    pub(super) async fn copy(&mut self, client: &Client, random: &mut Random, id: String) -> Done {
        let (folder, place) = self.fresh_place(random);
        let original = self.world.documents[&id].clone();
        let (mut next, old) = (self.world.clone(), original.place.clone());
        let copy = Document {
            place: place.clone(),
            versions: vec![original.content.clone()],
            links: Default::default(),
            ..original
        };
        next.documents.insert(UNNAMED.to_owned(), copy);
        if random.below(2) == 0 {
            let form = json!({ "to": folder, "name": last(&place) });
            let path = format!("/api/v1/items/{id}/copy");
            let request = client.send_json(Method::POST, &path, &form);
            return self.change(next, request, name_by(|answer| text(&answer.json()["id"]))).await;
        }
        let (verb, path) = (Method::from_bytes(b"COPY").unwrap(), format!("/dav/{}/{old}", self.home));
        let to = format!("/dav/{}/{place}", self.home);
        self.change(next, client.send_with(verb, &path, &[("destination", &*to)], Vec::new()), |_, _| {}).await?;
        self.name_at(client, &place).await
    }

    pub(super) async fn delete(&mut self, client: &Client, random: &mut Random, id: String) -> Done {
        let mut next = self.world.clone();
        let document = next.documents.remove(&id).unwrap();
        let path = match random.below(2) {
            0 => format!("/api/v1/items/{id}"),
            _ => format!("/dav/{}/{}", self.home, document.place),
        };
        next.recycled.insert(id, document);
        self.change(next, client.send(Method::DELETE, &path, Vec::new()), |_, _| {}).await
    }

    /// Restores a document from the recycle bin.
    pub(super) async fn bring_back(&mut self, client: &Client, random: &mut Random) -> Done {
        let Some((id, entry)) = self.entry(random) else { return Ok(()) };
        let mut next = self.world.clone();
        next.restore(&id);
        let path = format!("/api/v1/site-collections/{}/recycle-bin/{entry}/restore", self.ground.site);
        self.change(next, client.send(Method::POST, &path, Vec::new()), |_, _| {}).await
    }

    /// Permanently removes a document from the worker's recycle bin.
    pub(super) async fn purge(&mut self, client: &Client, random: &mut Random) -> Done {
        let Some((id, entry)) = self.entry(random) else { return Ok(()) };
        let mut next = self.world.clone();
        next.purge(&id);
        let path = format!("/api/v1/site-collections/{}/recycle-bin/{entry}", self.ground.site);
        self.change(next, client.send(Method::DELETE, &path, Vec::new()), |_, _| {}).await
    }

    /// Picks a document that was in the recycle bin when the server started, with its entry. It is not picked again: a
    /// document that is restored and deleted again has another entry.
    fn entry(&mut self, random: &mut Random) -> Option<(String, String)> {
        let entries = &mut self.found.as_mut()?.entries;
        let at = random.below(entries.len().max(1) as u64) as usize;
        let id = entries.keys().nth(at)?.clone();
        entries.remove_entry(&id)
    }

    pub(super) async fn check_out(&mut self, client: &Client, id: String) -> Done {
        let next = self.with(&id, |document| document.checked_out = true);
        let path = format!("/api/v1/items/{id}/check-out");
        self.change(next, client.send(Method::PUT, &path, Vec::new()), |_, _| {}).await
    }

    pub(super) async fn end_check_out(&mut self, client: &Client, random: &mut Random, id: String) -> Done {
        let keeps = random.below(2) == 0;
        let next = self.with(&id, |document| {
            document.checked_out = false;
            if keeps && document.content != document.versions[0] {
                document.versions.insert(0, document.content.clone());
            }
            document.content = document.versions[0].clone();
        });
        if keeps {
            let path = format!("/api/v1/items/{id}/check-in");
            self.change(next, client.send_json(Method::POST, &path, &json!({})), |_, _| {}).await
        } else {
            let path = format!("/api/v1/items/{id}/check-out");
            self.change(next, client.send(Method::DELETE, &path, Vec::new()), |_, _| {}).await
        }
    }

    pub(super) async fn set_value(&mut self, client: &Client, random: &mut Random, id: String) -> Done {
        let value = (random.below(4) > 0).then(|| format!("note {:x}", random.next()));
        let next = self.with(&id, |document| document.value = value.clone());
        let mut form = json!({ "values": {} });
        form["values"][&self.ground.column] = value.map_or(Value::Null, Value::String);
        let path = format!("/api/v1/items/{id}/values");
        self.change(next, client.send_json(Method::PATCH, &path, &form), |_, _| {}).await
    }

    /// Restores or deletes the oldest version.
    pub(super) async fn change_versions(&mut self, client: &Client, random: &mut Random, id: String) -> Done {
        if self.world.documents[&id].versions.len() < 2 {
            return Ok(());
        }
        let versions = client.send(Method::GET, &format!("/api/v1/items/{id}/versions?limit=1000"), Vec::new()).await;
        let versions = versions.inspect_err(|_| self.next = Some(self.world.clone()))?.json();
        let number = text(&versions["items"].as_array().unwrap().last().unwrap()["number"]);
        let path = format!("/api/v1/items/{id}/versions/{number}");
        if random.below(2) == 0 {
            let next = self.with(&id, |document| {
                let oldest = document.versions.last().unwrap().clone();
                document.content = oldest.clone();
                document.versions.insert(0, oldest);
            });
            self.change(next, client.send(Method::POST, &format!("{path}/restore"), Vec::new()), |_, _| {}).await
        } else {
            let next = self.with(&id, |document| _ = document.versions.pop());
            self.change(next, client.send(Method::DELETE, &path, Vec::new()), |_, _| {}).await
        }
    }

    /// Creates a link or revokes one.
    pub(super) async fn share(&mut self, client: &Client, random: &mut Random, id: String) -> Done {
        let path = format!("/api/v1/items/{id}/links");
        let link = self.world.documents[&id].links.first().cloned();
        match link {
            Some(link) if random.below(2) == 0 => {
                let next = self.with(&id, |document| _ = document.links.remove(&link));
                self.change(next, client.send(Method::DELETE, &format!("{path}/{link}"), Vec::new()), |_, _| {}).await
            }
            _ => {
                let next = self.with(&id, |document| _ = document.links.insert(UNNAMED.to_owned()));
                let name = move |world: &mut ModelState, answer: &Answer| {
                    let links = &mut world.documents.get_mut(&id).unwrap().links;
                    links.remove(UNNAMED);
                    links.insert(text(&answer.json()["id"]));
                };
                self.change(next, client.send_json(Method::POST, &path, &json!({ "days": 7 })), name).await
            }
        }
    }
}
