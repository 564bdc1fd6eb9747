//! Where things are, as far as rights are concerned: what a row acts on, what somebody is granted, and what is hidden.

use model::Id;

use super::canary::{self, Hidden};
use super::people::People;
use crate::tests::Farm;

/// What all cases of a farm share.
pub struct Ground {
    pub site: Id,
    pub sub: Id,
    pub documents: Id,
    pub lair: Id,
    pub hidden: Hidden,
    pub people: People,
}

impl Ground {
    /// Makes it, on a farm that was made for it.
    pub async fn lay(farm: &Farm) -> Self {
        canary::watch_logs();
        // No document is opened here: the children that do that are of the whole program.
        farm.repository.open_documents_in(repository::Sandbox::new("/bin/false"));
        let hidden = canary::hide(farm).await;
        let site: Id = farm.id("").await.parse().unwrap();
        let url = format!("/api/v1/items/{site}/sites");
        farm.json("POST", &url, serde_json::json!({"name": "Team"})).await.expect(201);
        let id = async |path: &str| farm.id(path).await.parse::<Id>().unwrap();
        let (sub, documents, lair) = (id("Team").await, id("Documents").await, id("Documents/lair").await);
        let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
        let people = People::gather(farm, site, sub, documents, &admin).await;
        // Whoever has something on places of each case always finds a way to one of them.
        farm.put("Documents/way/a.txt", "a").await.expect(201);
        let url = format!("/api/v1/items/{sub}/libraries");
        farm.json("POST", &url, serde_json::json!({"name": "Way"})).await.expect(201);
        farm.put("Team/Way/a.txt", "a").await.expect(201);
        for (node, path) in [
            (Node::Folder, "Documents/way"),
            (Node::Leaf, "Documents/way/a.txt"),
            (Node::Library, "Team/Way"),
            (Node::Filed, "Team/Way/a.txt"),
        ] {
            people.grant_on(node, id(path).await).await;
        }
        Self { site, sub, documents, lair, hidden, people }
    }
}

/// A place of the farm on which the matrix stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The root site.
    Root,
    /// The library `Documents` of the root site.
    Documents,
    /// A folder of the case's own.
    Folder,
    /// A document in it, with permissions of its own.
    Leaf,
    /// Another one, which inherits.
    Plain,
    /// Another folder of the case's own.
    Target,
    /// A folder that holds hidden items beside others: one for all cases, which stays, and one of the case's own.
    Lair,
    /// A site below the root.
    Sub,
    /// A library of the case's own in that site. It keeps drafts.
    Library,
    /// A published document in it, with permissions of its own.
    Filed,
    /// A draft in it, which inherits.
    Draft,
}

impl Node {
    /// What a word of a row stands for.
    pub fn of(word: &str) -> Self {
        match word {
            "site" => Self::Root,
            "documents" => Self::Documents,
            "folder" => Self::Folder,
            "document" => Self::Leaf,
            "plain" => Self::Plain,
            "target" => Self::Target,
            "lair" | "den" => Self::Lair,
            "sub" => Self::Sub,
            "library" => Self::Library,
            "filed" => Self::Filed,
            "draft" => Self::Draft,
            other => panic!("{other} is no place"),
        }
    }

    fn parent(self) -> Option<Self> {
        match self {
            Self::Root => None,
            Self::Documents | Self::Sub => Some(Self::Root),
            Self::Folder | Self::Target | Self::Lair => Some(Self::Documents),
            Self::Leaf | Self::Plain => Some(Self::Folder),
            Self::Library => Some(Self::Sub),
            Self::Filed | Self::Draft => Some(Self::Library),
        }
    }

    /// Whether `above` is on the way to it, or it itself.
    pub fn is_in(self, above: Self) -> bool {
        self == above || self.parent().is_some_and(|parent| parent.is_in(above))
    }
}
