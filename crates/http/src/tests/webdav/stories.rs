//! Save sequences of real programs, request by request. Each ends with exactly one version more and nothing left
//! behind.
//!
//! `TOKEN` stands for the latest lock token, `ETAG` for the latest entity tag.

use super::{EXCLUSIVE, dav, versions};
use crate::tests::Farm;

/// Verb, path below the library, header fields, body, expected status.
type Step = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str, u16);

const ASKED: &str =
    "<D:propfind xmlns:D='DAV:'><D:prop><D:resourcetype/><D:getetag/><D:lockdiscovery/></D:prop></D:propfind>";
const TIMES: &str = "<D:propertyupdate xmlns:D='DAV:' xmlns:Z='urn:schemas-microsoft-com:'><D:set><D:prop>\
    <Z:Win32CreationTime>Sat, 21 Nov 2026 10:00:00 GMT</Z:Win32CreationTime>\
    <Z:Win32FileAttributes>00000020</Z:Win32FileAttributes></D:prop></D:set></D:propertyupdate>";
const SHOWN: (&str, &str) = ("if", "(<TOKEN>)");
const END: (&str, &str) = ("lock-token", "<TOKEN>");

async fn tell(farm: &Farm, steps: &[Step]) {
    let (mut token, mut etag) = (String::new(), String::new());
    for (number, (verb, path, fields, body, status)) in steps.iter().enumerate() {
        let filled: Vec<(&str, String)> =
            fields.iter().map(|(name, value)| (*name, value.replace("TOKEN", &token).replace("ETAG", &etag))).collect();
        let fields: Vec<(&str, &str)> = filled.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let reply = dav(farm, verb, path, &fields, body).await;
        assert_eq!(reply.status.as_u16(), *status, "step {number}, {verb} {path}: {}", reply.text());
        if !reply.header("lock-token").is_empty() {
            token = reply.header("lock-token").trim_matches(['<', '>']).to_owned();
        }
        if !reply.header("etag").is_empty() {
            etag = reply.header("etag").to_owned();
        }
    }
}

async fn ends_with(farm: &Farm, path: &str, expected: &[&str], content: &str) {
    assert_eq!(versions(farm, path).await, expected);
    assert_eq!(dav(farm, "GET", path, &[], "").await.expect(200).text(), content);
    let found = dav(farm, "PROPFIND", path, &[("depth", "0")], ASKED).await.expect(207).text();
    assert!(!found.contains("activelock"), "a lock is left: {found}");
}

#[tokio::test]
async fn windows_makes_a_file_and_saves_it_again() {
    let farm = Farm::new().await;
    let again: &[Step] = &[
        ("PROPFIND", "Plan.docx", &[("depth", "0")], "", 207),
        ("LOCK", "Plan.docx", &[("timeout", "Second-3600")], EXCLUSIVE, 200),
        ("PROPPATCH", "Plan.docx", &[SHOWN], TIMES, 207),
        ("HEAD", "Plan.docx", &[("translate", "f")], "", 200),
        ("PUT", "Plan.docx", &[SHOWN], "two", 204),
        ("PROPPATCH", "Plan.docx", &[SHOWN], TIMES, 207),
        ("UNLOCK", "Plan.docx", &[END], "", 204),
    ];
    tell(
        &farm,
        &[
            ("OPTIONS", "", &[("translate", "f")], "", 200),
            ("PROPFIND", "", &[("depth", "0")], "", 207),
            ("PROPFIND", "Plan.docx", &[("depth", "0")], "", 404),
            ("PUT", "Plan.docx", &[], "", 201),
            ("LOCK", "Plan.docx", &[("timeout", "Second-3600")], EXCLUSIVE, 200),
            ("PROPPATCH", "Plan.docx", &[SHOWN], TIMES, 207),
            ("HEAD", "Plan.docx", &[("translate", "f")], "", 200),
            ("PUT", "Plan.docx", &[SHOWN], "one", 204),
            ("PROPPATCH", "Plan.docx", &[SHOWN], TIMES, 207),
            ("UNLOCK", "Plan.docx", &[END], "", 204),
        ],
    )
    .await;
    ends_with(&farm, "Plan.docx", &["1.0"], "one").await;
    tell(&farm, again).await;
    ends_with(&farm, "Plan.docx", &["2.0", "1.0"], "two").await;
}

#[tokio::test]
async fn finder_makes_a_file_with_its_shadow() {
    let farm = Farm::new().await;
    tell(
        &farm,
        &[
            ("PROPFIND", "Plan.pages", &[("depth", "0")], ASKED, 404),
            ("PUT", "Plan.pages", &[], "", 201),
            ("LOCK", "Plan.pages", &[("depth", "0"), ("timeout", "Second-600")], EXCLUSIVE, 200),
            ("PUT", "Plan.pages", &[SHOWN], "one", 204),
            ("LOCK", "Plan.pages", &[SHOWN, ("timeout", "Second-600")], "", 200),
            ("PROPFIND", "Plan.pages", &[("depth", "0")], ASKED, 207),
            ("UNLOCK", "Plan.pages", &[END], "", 204),
            ("PUT", "._Plan.pages", &[], "", 201),
            ("LOCK", "._Plan.pages", &[("depth", "0")], EXCLUSIVE, 200),
            ("PUT", "._Plan.pages", &[SHOWN], "shadow", 204),
            ("UNLOCK", "._Plan.pages", &[END], "", 204),
            ("DELETE", "._Plan.pages", &[], "", 204),
        ],
    )
    .await;
    ends_with(&farm, "Plan.pages", &["1.0"], "one").await;
}

#[tokio::test]
async fn davfs2_locks_before_it_makes_and_gnome_compares_tags() {
    let farm = Farm::new().await;
    tell(
        &farm,
        &[
            ("PROPFIND", "", &[("depth", "1")], ASKED, 207),
            ("LOCK", "a.txt", &[("depth", "0"), ("timeout", "Second-1800")], EXCLUSIVE, 201),
            ("HEAD", "a.txt", &[], "", 200),
            ("PUT", "a.txt", &[SHOWN], "one", 204),
            ("UNLOCK", "a.txt", &[END], "", 204),
        ],
    )
    .await;
    ends_with(&farm, "a.txt", &["1.0"], "one").await;
    tell(
        &farm,
        &[
            ("HEAD", "a.txt", &[], "", 200),
            ("PUT", "a.txt", &[("if-match", "ETAG")], "two", 204),
            ("PUT", "a.txt", &[("if-match", "\"old\"")], "three", 412),
            ("PUT", "a.txt", &[("if-none-match", "*")], "three", 412),
        ],
    )
    .await;
    ends_with(&farm, "a.txt", &["2.0", "1.0"], "two").await;
}

/// A PROPFIND body as sent by LibreOffice.
macro_rules! asks {
    ($what:literal) => {
        concat!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<propfind xmlns=\"DAV:\">", $what, "</propfind>")
    };
}

/// Recorded from LibreOffice 7.4.7, without repeated requests.
#[tokio::test]
async fn libreoffice_makes_a_document_and_saves_it_again() {
    const LOCKS: &str = asks!("<prop><supportedlock xmlns=\"DAV:\"/></prop>");
    const KIND: &str = asks!(
        "<prop><resourcetype xmlns=\"DAV:\"/><IsReadOnly xmlns=\"http://ucb.openoffice.org/dav/props/\"/>\
         <getcontenttype xmlns=\"DAV:\"/><supportedlock xmlns=\"DAV:\"/></prop>"
    );
    const OWN: &str = asks!("<prop><ObjectId xmlns=\"http://ucb.openoffice.org/dav/props/\"/></prop>");
    const CREATABLE: &str =
        asks!("<prop><CreatableContentsInfo xmlns=\"http://ucb.openoffice.org/dav/props/\"/></prop>");
    const MODIFIED: &str = asks!("<prop><getlastmodified xmlns=\"DAV:\"/></prop>");
    const NAMES: &str = asks!("<propname/>");
    const WANTED: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<lockinfo \
        xmlns=\"DAV:\"><lockscope><exclusive/></lockscope>\
        <locktype><write/></locktype><owner>LibreOffice - </owner></lockinfo>";
    const ZERO: (&str, &str) = ("depth", "0");
    let saves = |content: &'static str| -> [Step; 11] {
        [
            ("OPTIONS", "Plan.odt", &[], "", 200),
            ("PROPFIND", "Plan.odt", &[ZERO], KIND, 207),
            ("PROPFIND", "Plan.odt", &[ZERO], OWN, 207),
            ("PROPFIND", "Plan.odt", &[ZERO], NAMES, 207),
            ("HEAD", "Plan.odt", &[], "", 200),
            ("PROPFIND", "", &[ZERO], CREATABLE, 207),
            ("HEAD", "", &[], "", 200),
            ("PUT", "Plan.odt", &[SHOWN], content, 204),
            ("PROPFIND", "", &[ZERO], CREATABLE, 207),
            ("PROPFIND", "Plan.odt", &[ZERO], MODIFIED, 207),
            ("UNLOCK", "Plan.odt", &[END], "", 204),
        ]
    };
    let farm = Farm::new().await;
    let begins: &[Step] = &[
        ("OPTIONS", "Plan.odt", &[], "", 200),
        ("PROPFIND", "Plan.odt", &[ZERO], LOCKS, 404),
        ("LOCK", "Plan.odt", &[ZERO, ("timeout", "Second-180")], WANTED, 201),
    ];
    tell(&farm, &[begins, &saves("one")].concat()).await;
    ends_with(&farm, "Plan.odt", &["1.0"], "one").await;
    let opens: &[Step] = &[
        ("PROPFIND", "Plan.odt", &[ZERO], KIND, 207),
        ("GET", "Plan.odt", &[], "", 200),
        ("PROPFIND", "Plan.odt", &[ZERO], LOCKS, 207),
        ("LOCK", "Plan.odt", &[ZERO, ("timeout", "Second-180")], WANTED, 200),
    ];
    tell(&farm, &[opens, &saves("two")].concat()).await;
    ends_with(&farm, "Plan.odt", &["2.0", "1.0"], "two").await;
}

#[tokio::test]
async fn a_save_that_breaks_off_leaves_the_document_and_a_lock_that_can_be_taken() {
    let farm = Farm::new().await;
    farm.put("Documents/a.txt", "one").await.expect(201);
    tell(
        &farm,
        &[
            ("LOCK", "a.txt", &[], EXCLUSIVE, 200),
            ("PUT", "a.txt", &[SHOWN, ("content-length", "9")], "two", 400),
            ("GET", "a.txt", &[], "", 200),
            ("LOCK", "a.txt", &[], EXCLUSIVE, 423),
            ("UNLOCK", "a.txt", &[END], "", 204),
            ("LOCK", "a.txt", &[], EXCLUSIVE, 200),
            ("UNLOCK", "a.txt", &[END], "", 204),
        ],
    )
    .await;
    ends_with(&farm, "a.txt", &["1.0"], "one").await;
}
