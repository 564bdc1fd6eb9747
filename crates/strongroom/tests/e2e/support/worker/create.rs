//! Changes that create a document: by REST and WebDAV, with an idempotency key, and in parts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::{Method, StatusCode};

use super::super::world::{last, text};
use super::super::{Answer, Client, Random, bytes};
use super::{Done, Parts, Repeatable, Trouble, Worker, is_for_a_moment, name_by};

impl Worker {
    pub(super) async fn create(&mut self, client: &Client, random: &mut Random) -> Done {
        let (_, place) = self.fresh_place(random);
        let content = self.content(random);
        let path = format!("/api/v1/content/{}/{place}", self.home);
        let request = client.send(Method::PUT, &path, bytes(content.0, content.1));
        self.change(self.with_new(&place, content), request, name_by(|answer| text(&answer.json()["id"]))).await
    }

    pub(super) async fn create_by_webdav(&mut self, client: &Client, random: &mut Random) -> Done {
        let (_, place) = self.fresh_place(random);
        let content = self.content(random);
        let path = format!("/dav/{}/{place}", self.home);
        let request = client.send(Method::PUT, &path, bytes(content.0, content.1));
        self.change(self.with_new(&place, content), request, |_, _| {}).await?;
        self.name_at(client, &place).await
    }

    /// Looks up the identifier of a document just created by WebDAV, whose response does not contain it.
    pub(super) async fn name_at(&mut self, client: &Client, place: &str) -> Done {
        let path = format!("/api/v1/items/by-path?path={}/{place}", self.home);
        let answer =
            client.send(Method::GET, &path, Vec::new()).await.inspect_err(|_| self.next = Some(self.world.clone()))?;
        name_by(|answer| text(&answer.json()["id"]))(&mut self.world, &answer);
        Ok(())
    }

    /// Creates a document with an idempotency key, often sending the request twice.
    pub(super) async fn create_once(&mut self, client: &Client, random: &mut Random) -> Done {
        let (folder, place) = self.fresh_place(random);
        let repeatable = Repeatable {
            path: format!("/api/v1/items/{folder}/documents?on_conflict=keep-both&name={}", last(&place)),
            key: format!("{:016x}", random.next()),
            seed: self.content(random),
        };
        self.repeatable = Some(repeatable.clone());
        self.next = Some(self.with_new(&place, repeatable.seed));
        for _ in 0..=random.below(2) {
            let answer = self.send_repeatable(client, &repeatable).await?;
            if is_for_a_moment(&answer) {
                (self.repeatable, self.next) = (None, None);
                return Err(Trouble::Retry);
            }
            if !answer.status.is_success() {
                return Err(Trouble::Refusal(format!("{}: {} {}", self.home, answer.status, answer.text())));
            }
            let mut world = self.next.clone().unwrap_or_default();
            name_by(|answer| text(&answer.json()["id"]))(&mut world, &answer);
            self.world = world;
            self.answered = Some((repeatable.clone(), text(&answer.json()["id"])));
        }
        (self.repeatable, self.next) = (None, None);
        Ok(())
    }

    pub(super) async fn send_repeatable(&self, client: &Client, what: &Repeatable) -> Result<Answer, reqwest::Error> {
        let body = bytes(what.seed.0, what.seed.1);
        client.send_with(Method::POST, &what.path, &[("idempotency-key", &what.key)], body).await
    }

    pub(super) async fn begin_parts(&mut self, client: &Client, random: &mut Random) -> Done {
        let (_, place) = self.fresh_place(random);
        let seed = self.content(random);
        let seed = (seed.0, seed.1.max(2));
        let metadata = format!("path {}", BASE64.encode(format!("{}/{place}", self.home)));
        let length = seed.1.to_string();
        let fields = [("tus-resumable", "1.0.0"), ("upload-length", &*length), ("upload-metadata", &*metadata)];
        let answer = client.send_with(Method::POST, "/api/v1/uploads", &fields, Vec::new()).await?;
        if answer.status != StatusCode::CREATED {
            return Err(Trouble::Refusal(format!("{}: {} {}", self.home, answer.status, answer.text())));
        }
        let location = answer.header("location").to_owned();
        self.parts = Some(Parts { location, place, seed, acknowledged: 0 });
        Ok(())
    }

    /// Continues an upload with at most `most` parts.
    pub(super) async fn go_on(&mut self, client: &Client, mut parts: Parts, most: usize) -> Done {
        let body = bytes(parts.seed.0, parts.seed.1);
        let world = self.with_new(&parts.place, parts.seed);
        // The query for the offset may already create the document.
        self.next = Some(world.clone());
        let state = client.send_with(Method::HEAD, &parts.location, &[("tus-resumable", "1.0.0")], Vec::new()).await?;
        let mut offset: usize = state.header("upload-offset").parse().unwrap_or_else(|_| {
            panic!("{}: an upload with {} acknowledged bytes: {}", self.home, parts.acknowledged, state.status)
        });
        let mut document = state.header("x-item-id").to_owned();
        assert!(offset >= parts.acknowledged, "{}: {offset} of {} bytes are left", self.home, parts.acknowledged);
        for _ in 0..most {
            if offset == body.len() {
                break;
            }
            let end = body.len().min(offset + body.len().div_ceil(3));
            let at = offset.to_string();
            let fields = [
                ("tus-resumable", "1.0.0"),
                ("upload-offset", &*at),
                ("content-type", "application/offset+octet-stream"),
            ];
            let part = body[offset..end].to_vec();
            let answer = client.send_with(Method::PATCH, &parts.location, &fields, part).await?;
            if is_for_a_moment(&answer) {
                return Err(Trouble::Retry);
            }
            if !answer.status.is_success() {
                return Err(Trouble::Refusal(format!("{}: {} {}", self.home, answer.status, answer.text())));
            }
            (offset, parts.acknowledged) = (end, end);
            document = answer.header("x-item-id").to_owned();
            self.parts = Some(parts.clone());
        }
        if offset < body.len() {
            self.next = None;
            return Ok(());
        }
        assert!(!document.is_empty(), "{}: an upload that is whole names no document", self.home);
        (self.parts, self.next) = (None, None);
        self.world = world;
        let document = move |_: &Answer| document;
        name_by(document)(&mut self.world, &state);
        Ok(())
    }
}
