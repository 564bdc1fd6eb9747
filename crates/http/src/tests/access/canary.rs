//! Hidden content (items and a site collection) that only the administrator may see, and the search for its names in
//! every byte of a response and in every log line.

use std::fmt::Debug;
use std::sync::{Mutex, Once, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::tests::{Farm, Reply};

/// Part of every hidden name.
pub const NAME: &str = "canary-7f3a9c";
/// Prefix of the `x-request-id` of a request that contains a hidden name itself, or that is sent by a caller who may
/// see it. A refusal is logged with the requested path, so log lines with this prefix do not count as a leak.
pub const EXEMPT_REQUEST_PREFIX: &str = "names-it-itself-";
/// Size of a hidden document. No other document has this size.
pub const SIZE: usize = 7_313_377;

const SIZES: [&str; 6] =
    ["7313377", "7,313,377", "7.313.377", "7 313 377", "7\u{a0}313\u{a0}377", "7\u{202f}313\u{202f}377"];

/// Returns all encodings in which a hidden name may appear, in lower case. The comparison ignores case.
fn forms() -> &'static Vec<Vec<u8>> {
    static FORMS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    FORMS.get_or_init(|| {
        let mut forms = vec![NAME.as_bytes().to_vec()];
        forms.push(NAME.replace('-', "%2d").into_bytes());
        forms.push(NAME.replace('-', "\\u002d").into_bytes());
        forms.push(NAME.replace('-', "&#45;").into_bytes());
        forms.push(NAME.encode_utf16().flat_map(u16::to_le_bytes).collect());
        forms.push(NAME.bytes().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes());
        // In base64, the letters depend on the offset of the name modulo 3. The outermost letters also depend on the
        // neighbouring bytes and are cut off.
        for shift in 0..3 {
            let text = STANDARD_NO_PAD.encode([&vec![0; shift], NAME.as_bytes()].concat());
            forms.push(text[(shift * 4).div_ceil(3)..text.len() - 1].to_ascii_lowercase().into_bytes());
        }
        forms
    })
}

fn has_size(bytes: &[u8]) -> bool {
    SIZES.iter().any(|size| {
        let starts = bytes.windows(size.len()).enumerate().filter(|(_, window)| *window == size.as_bytes());
        let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        starts.map(|(at, _)| at).any(|at| !digit(at.checked_sub(1)) && !digit(Some(at + size.len())))
    })
}

/// Returns whether these bytes contain a hidden name or size.
pub fn is_in(bytes: &[u8]) -> bool {
    let lower = bytes.to_ascii_lowercase();
    has_size(&lower) || forms().iter().any(|form| contains(&lower, form))
}

/// Searches for a form by its first byte first, since hardly any byte matches.
fn contains(bytes: &[u8], form: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == form[0]) {
        if rest[at..].starts_with(form) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

/// Returns a description of the leak when a response reveals hidden content.
pub fn leak_in(reply: &Reply) -> Option<String> {
    if is_in(&reply.body) {
        let text = reply.text();
        let at = text.to_lowercase().find(NAME).unwrap_or_default();
        let around: String = text.chars().skip(at.saturating_sub(60)).take(160).collect();
        return Some(format!("tells of what is hidden: …{around}…"));
    }
    let field = reply.headers.iter().find(|(_, value)| is_in(value.as_bytes()))?;
    Some(format!("tells of what is hidden in the field {}: {:?}", field.0, field.1))
}

/// Log lines since the process started that contain a hidden name or size.
static LEAKED_LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Logs;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {field}={value:?}");
    }
}

impl Line {
    fn keep(self) {
        if is_in(self.0.as_bytes()) {
            LEAKED_LINES.lock().unwrap().push(self.0);
        }
    }
}

impl Subscriber for Logs {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // `http` is the target of requests and refusals. The others are the targets of the other crates.
        ["http", "repository", "database", "blobs", "search", "maintenance", "model"]
            .iter()
            .any(|ours| metadata.target().starts_with(ours))
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> tracing::span::Id {
        let mut line = Line(attributes.metadata().name().to_owned());
        attributes.record(&mut line);
        line.keep();
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, values: &Record<'_>) {
        let mut line = Line("span".to_owned());
        values.record(&mut line);
        line.keep();
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        line.keep();
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// Starts searching all log lines, at every level.
pub fn watch_logs() {
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| tracing::subscriber::set_global_default(Logs).unwrap());
}

/// Returns the leaks found in the logs, without those lines whose request contained the hidden name itself.
pub fn leaked_lines() -> Vec<String> {
    LEAKED_LINES.lock().unwrap().iter().filter(|line| !line.contains(EXEMPT_REQUEST_PREFIX)).cloned().collect()
}

#[tokio::test]
async fn a_line_of_the_log_that_tells_of_what_is_hidden_is_found() {
    watch_logs();
    let farm = Farm::new().await;
    let number = format!("{EXEMPT_REQUEST_PREFIX}control");
    let url = format!("/api/v1/items/by-path?path={NAME}-control");
    farm.send("GET", &url, &[("x-request-id", &number)], "").await.expect(404);
    let lines: Vec<String> =
        LEAKED_LINES.lock().unwrap().iter().filter(|line| line.contains(&number)).cloned().collect();
    assert!(lines.iter().any(|line| line.starts_with("http ") && line.contains("-control")), "{lines:?}");
    assert!(!leaked_lines().iter().any(|line| line.contains(&number)));
    tracing::debug!(target: "http", number, "the size {SIZE} is hidden");
    assert_eq!(LEAKED_LINES.lock().unwrap().iter().filter(|line| line.contains(&number)).count(), lines.len() + 1);
}

/// Identifiers of hidden content, each with its kind.
pub type Hidden = Vec<(&'static str, String)>;

/// Creates the hidden content: in the folder `Documents/lair` beside visible items, on the root site, and as another
/// site collection.
pub async fn hide(farm: &Farm) -> Hidden {
    let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
    farm.put("Documents/lair/visible.txt", "seen").await.expect(201);
    farm.put(&format!("Documents/lair/{NAME}.txt"), vec![b'x'; SIZE]).await.expect(201);
    farm.put(&format!("Documents/lair/{NAME}-folder/inner.txt"), "x").await.expect(201);
    let site = farm.id("").await;
    let made = |tail: &str, name: String| {
        let url = format!("/api/v1/items/{site}/{tail}");
        async move { farm.json("POST", &url, serde_json::json!({"name": name})).await.expect(201) }
    };
    made("libraries", format!("{NAME}-library")).await;
    made("sites", format!("{NAME}-site")).await;
    let library = farm.id(&format!("{NAME}-library")).await;
    // Searches repeat what they cannot read, so these names are no canaries.
    for name in ["burrow", "burrow depth"] {
        let body = serde_json::json!({"name": name, "kind": "text"});
        farm.json("POST", &format!("/api/v1/items/{library}/columns"), body).await.expect(201);
    }
    let mut hidden = Vec::new();
    for (what, path) in [
        ("document", format!("Documents/lair/{NAME}.txt")),
        ("folder", format!("Documents/lair/{NAME}-folder")),
        ("library", format!("{NAME}-library")),
        ("site", format!("{NAME}-site")),
    ] {
        let id: model::Id = farm.id(&path).await.parse().unwrap();
        admin.break_inheritance(&id.into(), false).await.unwrap();
        hidden.push((what, id.to_string()));
    }
    let body = serde_json::json!({"path": format!("sites/{NAME}"), "title": format!("{NAME} title")});
    let other = farm.json("POST", "/api/v1/site-collections", body).await.expect(201).json();
    let other = other["id"].as_str().unwrap().to_owned();
    let library = format!("/api/v1/items/{other}/libraries");
    farm.json("POST", &library, serde_json::json!({"name": "Elsewhere"})).await.expect(201);
    let path = format!("sites/{NAME}/Elsewhere/{NAME}.txt");
    farm.put(&path, "far away").await.expect(201);
    hidden.push(("other site collection", other));
    hidden.push(("other document", farm.id(&path).await));
    hidden
}

#[test]
fn hidden_names_are_found_however_they_are_written() {
    let upper = NAME.to_uppercase();
    for text in [format!("a{NAME}b"), format!("<{upper}>"), NAME.replace('-', "%2D"), "size: 7,313,377 B".to_owned()] {
        assert!(is_in(text.as_bytes()), "{text}");
    }
    for before in ["", "x", "xy", "path/"] {
        let text = STANDARD_NO_PAD.encode(format!("{before}{NAME}.txt"));
        assert!(is_in(format!("cursor={text}&").as_bytes()), "{text}");
    }
    assert!(!is_in(b"canary-1.txt, 17313377 and 73133770 bytes"));
}
