//! Changes to folders, which include the documents in them.

use reqwest::Method;
use serde_json::json;

use super::super::world::{Contents, FIXED, ModelState, UNNAMED, last, parent, text};
use super::super::{Answer, Client, Random};
use super::{Done, Worker};

impl Worker {
    pub(super) async fn make_folder(&mut self, client: &Client, random: &mut Random) -> Done {
        self.made += 1;
        let which = random.below(2) as usize;
        let name = format!("f{}", self.made);
        let mut next = self.world.clone();
        next.folders.insert(UNNAMED.to_owned(), format!("{}/{name}", FIXED[which]));
        let path = format!("/api/v1/items/{}/folders", self.fixed[which]);
        let named = |world: &mut ModelState, answer: &Answer| {
            let place = world.folders.remove(UNNAMED).unwrap();
            world.folders.insert(text(&answer.json()["id"]), place);
        };
        self.change(next, client.send_json(Method::POST, &path, &json!({ "name": name })), named).await
    }

    /// Moves a folder with its contents, by REST or WebDAV.
    pub(super) async fn place_folder_anew(&mut self, client: &Client, random: &mut Random) -> Done {
        let Some((id, old)) = self.free_folder(random) else { return Ok(()) };
        self.made += 1;
        let which = random.below(2) as usize;
        let place = format!("{}/f{}", FIXED[which], self.made);
        let mut next = self.world.clone();
        for document in self.world.within(&old) {
            let document = next.documents.get_mut(&document).unwrap();
            document.place = format!("{place}/{}", last(&document.place));
        }
        next.folders.insert(id.clone(), place.clone());
        if random.below(2) == 0 {
            let form = json!({ "to": self.fixed[which], "name": last(&place) });
            let path = format!("/api/v1/items/{id}/move");
            return self.change(next, client.send_json(Method::POST, &path, &form), |_, _| {}).await;
        }
        let (verb, path) = (Method::from_bytes(b"MOVE").unwrap(), format!("/dav/{}/{old}/", self.home));
        let to = format!("/dav/{}/{place}/", self.home);
        self.change(next, client.send_with(verb, &path, &[("destination", &*to)], Vec::new()), |_, _| {}).await
    }

    pub(super) async fn delete_folder(&mut self, client: &Client, random: &mut Random) -> Done {
        let Some((id, place)) = self.free_folder(random) else { return Ok(()) };
        let mut next = self.world.clone();
        next.folders.remove(&id);
        let mut contents = Contents { place, ..Contents::default() };
        for document in self.world.within(&contents.place) {
            contents.documents.extend(next.documents.remove_entry(&document));
        }
        next.recycled_folders.insert(id.clone(), contents);
        let path = format!("/api/v1/items/{id}");
        self.change(next, client.send(Method::DELETE, &path, Vec::new()), |_, _| {}).await
    }

    /// A folder without checked-out documents, and without individually deleted documents in the recycle bin.
    fn free_folder(&self, random: &mut Random) -> Option<(String, String)> {
        let is_free = |place: &str| {
            let held = self.world.documents.values().any(|it| it.checked_out && parent(&it.place) == place);
            !held && !self.world.recycled.values().any(|it| parent(&it.place) == place)
        };
        let all: Vec<_> = self.world.folders.iter().filter(|(_, place)| is_free(place)).collect();
        let (id, place) = all.get(random.below(all.len().max(1) as u64) as usize)?;
        Some(((*id).clone(), (*place).clone()))
    }
}
