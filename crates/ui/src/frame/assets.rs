//! Style sheet, scripts and icons. They are embedded in the binary, under URLs that change with their content.

use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::Embed;

use http_core::protocol::content_type;

#[derive(Embed)]
#[folder = "assets/"]
struct Assets;

/// Returns the URL of an asset: `/assets/<hash of all assets>/<name>`. Because all assets share one hash, they can
/// refer to each other by relative URLs.
pub fn url(name: &str) -> String {
    format!("/assets/{}/{name}", fingerprint())
}

fn fingerprint() -> &'static str {
    static FINGERPRINT: OnceLock<String> = OnceLock::new();
    FINGERPRINT.get_or_init(|| {
        let mut names: Vec<_> = Assets::iter().collect();
        names.sort();
        let mut hasher = blake3::Hasher::new();
        for file in names.iter().filter_map(|name| Assets::get(name)) {
            hasher.update(&file.metadata.sha256_hash());
        }
        hasher.finalize().to_hex()[..12].to_owned()
    })
}

/// Returns the content of a text asset.
#[cfg(any(test, debug_assertions))]
pub fn text(name: &str) -> String {
    Assets::get(name).map(|file| String::from_utf8_lossy(&file.data).into_owned()).unwrap_or_default()
}

/// Returns the names of all icons.
#[cfg(debug_assertions)]
pub fn icons() -> &'static [String] {
    static ICONS: OnceLock<Vec<String>> = OnceLock::new();
    ICONS.get_or_init(|| {
        let sprite = text("icons.svg");
        let names = sprite.split("<symbol id=\"").skip(1).filter_map(|rest| rest.split('"').next());
        names.map(ToOwned::to_owned).collect()
    })
}

/// Serves one asset. Under another hash, which an older page uses during an upgrade, the response must not be cached.
pub async fn serve(Path((hash, name)): Path<(String, String)>) -> Response {
    let Some(file) = Assets::get(&name) else { return StatusCode::NOT_FOUND.into_response() };
    let keep = if hash == fingerprint() { "public, max-age=31536000, immutable" } else { "no-cache" };
    let kind = match content_type::guess(&name) {
        "text/javascript" | "application/javascript" => "text/javascript; charset=utf-8",
        _ if name.ends_with(".mjs") => "text/javascript; charset=utf-8",
        "text/css" => "text/css; charset=utf-8",
        other => other,
    };
    let fields = [
        (header::CACHE_CONTROL, HeaderValue::from_static(keep)),
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
    ];
    (fields, file.data).into_response()
}

/// Serves the icon at the URL that browsers request by default.
pub async fn favicon() -> Response {
    serve(Path((String::new(), "favicon.svg".to_owned()))).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn assets_are_kept_for_ever_under_their_own_hash_only() {
        let ask = |hash: &str, name: &str| serve(Path((hash.to_owned(), name.to_owned())));
        let now = ask(fingerprint(), "app.css").await;
        assert!(now.headers()[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        assert_eq!(now.headers()[header::CONTENT_TYPE], "text/css; charset=utf-8");
        assert_eq!(ask("old", "app.css").await.headers()[header::CACHE_CONTROL], "no-cache");
        for bad in ["../Cargo.toml", "none.css", ""] {
            assert_eq!(ask("x", bad).await.status(), StatusCode::NOT_FOUND);
        }
    }

    #[test]
    fn every_icon_that_is_named_is_drawn() {
        let sprite = Assets::get("icons.svg").unwrap();
        let sprite = String::from_utf8(sprite.data.into_owned()).unwrap();
        let mut seen = 0;
        for (file, text) in crate::sources() {
            for part in text.split("icon(\"").skip(1) {
                let name = part.split('"').next().unwrap();
                assert!(sprite.contains(&format!("id=\"{name}\"")), "{file} names the icon {name}");
                seen += 1;
            }
        }
        assert!(seen > 10);
    }

    #[test]
    fn every_script_is_loaded_by_a_page_or_another_script() {
        let names: Vec<String> = Assets::iter().map(String::from).collect();
        let is_own = |name: &&String| name.ends_with(".js") && !name.contains('/');
        let scripts: Vec<&String> = names.iter().filter(is_own).collect();
        let pages: String = crate::sources().into_iter().map(|(_, text)| text).collect();
        let mut loaded: Vec<String> = scripts
            .iter()
            .filter(|name| pages.contains(&format!("asset(\"{name}\")")))
            .map(|name| (*name).clone())
            .collect();
        let mut at = 0;
        while at < loaded.len() {
            let source = text(&loaded[at]);
            let others = scripts.iter().filter(|name| source.contains(&format!("\"./{name}\"")));
            let new: Vec<String> = others.filter(|name| !loaded.contains(name)).map(|name| (*name).clone()).collect();
            loaded.extend(new);
            at += 1;
        }
        let lost: Vec<&&String> = scripts.iter().filter(|name| !loaded.contains(name)).collect();
        assert!(lost.is_empty(), "nothing loads {lost:?}");
    }
}
