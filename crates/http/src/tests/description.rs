//! The OpenAPI document compared with the router that serves requests.

use std::collections::BTreeSet;

use serde_json::json;

use super::Farm;

/// Routes that are not part of the API and therefore not in the document.
const OTHERS: [&str; 4] = ["/api/v1/{*path}", "/api/{*path}", "/{*path}", "/api/openapi.json"];

/// Returns pairs of method and path of the routes under `/api/`, read from the router itself.
///
/// axum offers no list of routes, but its debug output contains them: `RouteId(7): "/path"` for each path, and for each
/// identifier a method router whose methods are `None` or not.
pub fn served(router: &axum::Router) -> BTreeSet<(String, String)> {
    let of_programs = |path: &str| path.starts_with("/api/") && !OTHERS.contains(&path);
    all_routes(router).into_iter().filter(|(_, path)| of_programs(path)).map(without_star).collect()
}

/// Returns the pairs of method and path of the web pages.
pub fn served_pages(router: &axum::Router) -> BTreeSet<(String, String)> {
    let of_servers = ["/healthz", "/readyz", "/metrics"];
    let of_people = |path: &str| {
        !path.starts_with("/api/")
            && !path.contains("__private__")
            && !OTHERS.contains(&path)
            && !of_servers.contains(&path)
            // Office servers have their own tests.
            && !path.starts_with("/wopi/")
            // WebDAV has its own matrix.
            && path != "/dav"
            && !path.starts_with("/dav/")
    };
    all_routes(router).into_iter().filter(|(_, path)| of_people(path)).map(without_star).collect()
}

fn without_star((method, path): (String, String)) -> (String, String) {
    (method, path.replace("{*", "{"))
}

pub fn all_routes(router: &axum::Router) -> BTreeSet<(String, String)> {
    let text = format!("{router:?}");
    let mut pairs = BTreeSet::new();
    for piece in text.split("RouteId(").skip(1) {
        let Some((id, rest)) = piece.split_once("): \"") else { continue };
        let Some((path, _)) = rest.split_once('"') else { continue };
        let start = text.find(&format!("RouteId({id}): MethodRouter(")).expect("each path has a method router");
        let methods = text[start..].split("allow_header").next().unwrap();
        for method in ["get", "head", "delete", "options", "patch", "post", "put", "trace"] {
            let (_, state) = methods.split_once(&format!("{method}: ")).expect("each method is shown");
            if !state.starts_with("None") {
                pairs.insert((method.to_owned(), path.to_owned()));
            }
        }
    }
    pairs
}

fn described() -> BTreeSet<(String, String)> {
    let document = rest::document();
    let paths = document["paths"].as_object().unwrap();
    let methods = |(path, item): (&String, &serde_json::Value)| {
        let item = item.as_object().unwrap().clone();
        item.into_iter().map(|(method, _)| (method, path.clone())).collect::<Vec<_>>()
    };
    paths.iter().flat_map(methods).collect()
}

#[tokio::test]
async fn every_route_is_described_and_every_description_is_served() {
    let farm = Farm::new().await;
    let (served, described) = (served(&farm.router), described());
    assert!(served.len() > 70, "the debug text of the router is not read any more: {served:?}");
    assert_eq!(served.difference(&described).collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "not described");
    assert_eq!(described.difference(&served).collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "not served");
}

#[tokio::test]
async fn the_document_is_whole() {
    let farm = Farm::new().await;
    let reply = farm.send_as("", "GET", "/api/openapi.json", &[], "").await.expect(200);
    let text = reply.text();
    let document = reply.json();
    let mut names = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let at = format!("{method} {path}");
            assert!(operation["summary"].as_str().is_some_and(|words| !words.is_empty()), "{at} has no summary");
            assert!(operation["responses"]["default"].is_object(), "{at} does not say how it fails");
            let bodies = operation["requestBody"]["content"].as_object().into_iter().flatten();
            for (_, body) in bodies.filter(|(kind, _)| kind.ends_with("octet-stream")) {
                assert_eq!(body["schema"], serde_json::json!({"type": "string", "format": "binary"}), "{at}");
            }
            let id = operation["operationId"].as_str().unwrap();
            assert!(method == "head" || names.insert(id.to_owned()), "{id} is used twice");
            let given: BTreeSet<&str> = operation["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect();
            let needed: BTreeSet<&str> =
                path.split('{').skip(1).map(|piece| piece.split('}').next().unwrap()).collect();
            assert_eq!(given, needed, "{at}");
        }
    }
    for reference in text.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"][name].is_object(), "{name} is used and not described");
    }
}

#[test]
fn every_refusal_and_every_word_of_an_address_is_described() {
    let document = rest::document();
    let responses = &document["components"]["responses"];
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let at = format!("{method} {path}");
            let described = operation["responses"].as_object().unwrap();
            let signed_in =
                operation["security"].as_array().is_none_or(|schemes| schemes.iter().any(|s| s != &json!({})));
            for status in ["400", "401", "403", "429", "503"] {
                assert!(!signed_in || described.contains_key(status), "{at} does not describe {status}");
            }
            for (status, response) in described.iter().filter(|(status, _)| status.as_str() >= "4") {
                let name = response["$ref"].as_str().and_then(|place| place.rsplit('/').next()).unwrap_or_default();
                assert!(responses[name]["content"]["application/problem+json"].is_object(), "{at}: {status}");
            }
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let (name, schema) = (&parameter["name"], &parameter["schema"]);
                let text = schema.to_string();
                assert!(!text.contains("null"), "{at}: {name} is left out, it is never null: {text}");
                let ruled = ["pattern", "enum", "minLength"].iter().any(|rule| schema.get(rule).is_some());
                assert!(parameter["in"] != "path" || ruled, "{at}: nothing says what {name} looks like");
            }
        }
    }
}

#[test]
fn each_kind_of_work_is_an_object_of_its_own() {
    let document = rest::document();
    let kinds = document["components"]["schemas"]["WorkJson"]["oneOf"].as_array().unwrap().clone();
    assert_eq!(kinds.len(), 4);
    for kind in kinds {
        assert_eq!(kind["additionalProperties"], false, "{kind}");
        assert!(kind["properties"]["kind"]["enum"].is_array(), "{kind}");
        assert!(kind["required"] == json!(["kind"]), "{kind}");
    }
}

#[tokio::test]
async fn problems_are_told_in_the_language_that_is_asked_for() {
    let farm = Farm::new().await;
    for (wanted, said) in [("en", "there is no"), ("de-AT, en;q=0.5", "Das gibt es hier nicht"), ("tlh", "there is no")]
    {
        let reply = farm.send("GET", "/api/v1/items/7", &[("accept-language", wanted)], "").await.expect(404);
        let problem = reply.json();
        assert_eq!(problem["code"], "not_found");
        assert!(problem["detail"].as_str().unwrap().contains(said), "{wanted}: {problem}");
        assert_eq!(reply.header("content-type"), "application/problem+json");
    }
}

#[test]
fn content_is_described_with_any_media_type() {
    let document = rest::document();
    for path in ["/api/v1/content/{path}", "/api/v1/items/{id}/content", "/api/v1/items/{id}/versions/{number}/content"]
    {
        for status in ["200", "206"] {
            let content = &document["paths"][path]["get"]["responses"][status]["content"];
            assert!(content["*/*"].is_object(), "{path} {status}: {content}");
        }
    }
}
