//! Suggestions for a query that is being typed, and the passages of a document: only of what the caller may open, in
//! the version that the caller sees.

#![expect(clippy::unwrap_used, reason = "a farm that cannot be had fails the test")]

use crate::support::index::freeze;
use crate::support::{Farm, at, each_farm, put, with_rights};
use model::{ErrorKind, LibrarySettings, Right, Versioning};
use repository::{DocumentPassages, Session, TextSearch};

const REPORT: &str = "Documents/open/heron report.txt";
const SECRET: &str = "Documents/secret/heron secret.txt";

/// The passages of a document, with the words that are marked in brackets.
fn shown(found: &DocumentPassages) -> Vec<String> {
    let marked = |hit: bool, text: &str| if hit { format!("[{text}]") } else { text.to_owned() };
    found
        .passages
        .iter()
        .map(|passage| passage.pieces.iter().map(|piece| marked(piece.hit, &piece.text)).collect())
        .collect()
}

/// Fills a farm with an open and a secret document. Returns the administrator, and a reader of the open one.
async fn filled(farm: &Farm) -> (Session, Session) {
    let admin = farm.administrator().await;
    for path in [REPORT, SECRET] {
        put(&admin, path, "x").await.unwrap();
    }
    for folder in ["Documents/open", "Documents/secret"] {
        admin.break_inheritance(&at(folder), false).await.unwrap();
    }
    let (_, reader) = with_rights(farm, "rita", "Documents/open", &[Right::View]).await;
    (admin, reader)
}

async fn passages(session: &Session, path: &str, query: &str) -> DocumentPassages {
    session.passages(&at(path), query).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn passages_are_of_the_version_that_the_caller_may_see() {
    each_farm(|farm| async move {
        let (admin, reader) = filled(&farm).await;
        // Without an index there is nothing, and it is not said that the document has none.
        assert_eq!(passages(&reader, REPORT, "heron").await.texts, TextSearch::Unavailable);
        let _index = freeze(&farm, &[REPORT, SECRET]).await;
        let found = passages(&reader, REPORT, "HERONS in:nowhere").await;
        assert_eq!(shown(&found), ["Documents open [heron] report.txt"]);
        assert_eq!((found.more, found.texts, found.is_withheld), (false, TextSearch::Complete, false));
        // Similar words are marked where the word itself is not there.
        assert_eq!(shown(&passages(&reader, REPORT, "hreon").await), ["Documents open [heron] report.txt"]);
        assert_eq!(shown(&passages(&reader, REPORT, "heron -report").await), ["Documents open [heron] report.txt"]);
        for nothing in ["", "nothing", "type:txt"] {
            assert_eq!(shown(&passages(&reader, REPORT, nothing).await), [] as [&str; 0], "{nothing}");
        }
        let error = reader.passages(&at(SECRET), "heron").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let error = reader.passages(&at("Documents/open"), "heron").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        let error = reader.passages(&at(REPORT), &"x".repeat(4_097)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        // A draft is not indexed yet: its author sees no passages of the version before, readers still do.
        let settings = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        admin.change_library(&at("Documents"), settings).await.unwrap();
        put(&admin, REPORT, "a draft").await.unwrap();
        let found = passages(&admin, REPORT, "heron").await;
        assert_eq!((shown(&found).len(), found.texts), (0, TextSearch::Incomplete));
        assert_eq!(shown(&passages(&reader, REPORT, "heron").await).len(), 1);
        // A site that records reads shows no parts of contents.
        let site = admin.item(&at("")).await.unwrap().collection_id;
        admin.set_audit_reads(site, true).await.unwrap();
        let found = passages(&reader, REPORT, "heron").await;
        assert_eq!((shown(&found).len(), found.is_withheld), (0, true));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn suggestions_are_items_that_the_caller_may_open_and_people() {
    each_farm(|farm| async move {
        let (admin, reader) = filled(&farm).await;
        let _index = freeze(&farm, &[REPORT, SECRET]).await;
        let paths = async |session: &Session, text: &str| {
            let found = session.suggest(text, 8).await.unwrap();
            found.items.items.into_iter().map(|item| item.path).collect::<Vec<_>>()
        };
        assert_eq!(paths(&reader, "hero").await, [REPORT]);
        assert_eq!(paths(&admin, "hero").await, [SECRET, REPORT]);
        assert_eq!(paths(&reader, "secret").await, [] as [&str; 0]);
        let queries = async |text: &str| {
            let found = reader.suggest(text, 8).await.unwrap();
            found.people.into_iter().map(|found| found.query).collect::<Vec<_>>()
        };
        assert_eq!(queries("heron RI").await, ["heron author:rita"]);
        assert_eq!(queries("heron editor:r").await, ["heron editor:rita"]);
        for none in ["r", "rita ", "site:ri", "\"rita", "zz"] {
            assert_eq!(queries(none).await, [] as [&str; 0], "{none}");
        }
        assert!(reader.suggest(&"x".repeat(4_096), 8).await.unwrap().items.items.is_empty());
        assert_eq!(reader.suggest(&"x".repeat(4_097), 8).await.unwrap_err().kind(), ErrorKind::Invalid);
    })
    .await;
}
