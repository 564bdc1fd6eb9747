//! Nodes of the farm in terms of rights: targets of rows, places of grants, and hidden content.

use model::Id;

use super::canary::{self, Hidden};
use super::people::People;
use crate::tests::Farm;

/// Fixture that all cases of a farm share.
pub struct Ground {
    pub site: Id,
    pub sub: Id,
    pub documents: Id,
    pub lair: Id,
    pub hidden: Hidden,
    pub people: People,
}

impl Ground {
    /// Creates the fixture on a new farm.
    pub async fn create(farm: &Farm) -> Self {
        canary::watch_logs();
        // The sandbox cannot start. Its children are re-runs of the whole program, which this test binary is not; this
        // test opens no document.
        farm.repository.open_documents_in(repository::Sandbox::new("/bin/false"));
        let hidden = canary::hide(farm).await;
        let site: Id = farm.id("").await.parse().unwrap();
        let url = format!("/api/v1/items/{site}/sites");
        farm.json("POST", &url, serde_json::json!({"name": "Team"})).await.expect(201);
        let id = async |path: &str| farm.id(path).await.parse::<Id>().unwrap();
        let (sub, documents, lair) = (id("Team").await, id("Documents").await, id("Documents/lair").await);
        let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
        let people = People::create(farm, site, sub, documents, &admin).await;
        // Columns with grants on the case's own items always have a visible path to one of them.
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
        // The figures of what is hidden are there to be leaked.
        assert!(farm.repository.measure(true).await.unwrap() > 0);
        Self { site, sub, documents, lair, hidden, people }
    }
}

/// A node of the farm to which rows and grants refer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// Root site.
    Root,
    /// Library `Documents` of the root site.
    Documents,
    /// A folder created for the case.
    Folder,
    /// A document in `Folder` with unique permissions.
    Leaf,
    /// A document in `Folder` that inherits its permissions.
    Plain,
    /// Another folder created for the case.
    Target,
    /// A folder with hidden and visible items. There is one for all cases, which no case changes, and one per case.
    Lair,
    /// A site below the root.
    Sub,
    /// A library in `Sub`, created for the case. It keeps drafts.
    Library,
    /// A published document in `Library` with unique permissions.
    Filed,
    /// A draft in `Library` that inherits its permissions.
    Draft,
    /// A list in `Sub`, created for the case.
    List,
    /// A row of `List` with unique permissions.
    Row,
    /// A row of `List` that inherits its permissions.
    Line,
}

impl Node {
    /// Returns the node for a word of a row.
    pub fn of(word: &str) -> Self {
        match word {
            "site" => Self::Root,
            "documents" => Self::Documents,
            "folder" => Self::Folder,
            "document" => Self::Leaf,
            "plain" | "page" => Self::Plain,
            "target" => Self::Target,
            "lair" | "den" => Self::Lair,
            "sub" => Self::Sub,
            "library" => Self::Library,
            "filed" => Self::Filed,
            "draft" | "submitted" => Self::Draft,
            "list" => Self::List,
            "row" => Self::Row,
            "line" => Self::Line,
            other => panic!("{other} is no place"),
        }
    }

    fn parent(self) -> Option<Self> {
        match self {
            Self::Root => None,
            Self::Documents | Self::Sub => Some(Self::Root),
            Self::Folder | Self::Target | Self::Lair => Some(Self::Documents),
            Self::Leaf | Self::Plain => Some(Self::Folder),
            Self::Library | Self::List => Some(Self::Sub),
            Self::Row | Self::Line => Some(Self::List),
            Self::Filed | Self::Draft => Some(Self::Library),
        }
    }

    /// Returns whether `above` is this node or one of its ancestors.
    pub fn is_in(self, above: Self) -> bool {
        self == above || self.parent().is_some_and(|parent| parent.is_in(above))
    }
}
