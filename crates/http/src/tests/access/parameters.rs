//! Every query parameter and every body field in the OpenAPI document appears in a row of its operation.

use std::collections::BTreeSet;

use serde_json::Value;

use super::REST;
use super::table::{self, Row, plain};

/// Paging parameters.
const PAGING: [&str; 2] = ["limit", "cursor"];

/// Collects the names of the fields of a schema, including its referenced and combined schemas.
fn fields(document: &Value, schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|place| place.rsplit('/').next()) {
        fields(document, &document["components"]["schemas"][name], found);
    }
    for kind in ["oneOf", "anyOf", "allOf"] {
        for part in schema[kind].as_array().into_iter().flatten() {
            fields(document, part, found);
        }
    }
    found.extend(schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()));
}

fn has_query(row: &Row, name: &str) -> bool {
    row.query.trim_start_matches('?').split('&').any(|pair| pair.split('=').next() == Some(name))
}

#[test]
fn every_parameter_and_every_field_is_in_a_row() {
    let document = rest::document();
    let rows = table::rows(table::read(REST));
    let mut missing = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let of_route = |row: &&Row| row.method.to_lowercase() == *method && plain(row.route) == *path;
            let own: Vec<&Row> = rows.iter().filter(of_route).collect();
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let name = parameter["name"].as_str().unwrap();
                let asked = parameter["in"] != "query" || PAGING.contains(&name);
                if !asked && method != "head" && !own.iter().any(|row| has_query(row, name)) {
                    missing.push(format!("{method} {path}?{name}"));
                }
            }
            let mut names = BTreeSet::new();
            for (_, content) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
                fields(&document, &content["schema"], &mut names);
            }
            let absent = |name: &&String| !own.iter().any(|row| row.body.contains(&format!("\"{name}\":")));
            missing.extend(names.iter().filter(absent).map(|name| format!("{method} {path} with {name}")));
        }
    }
    assert!(missing.is_empty(), "without a row:\n{}", missing.join("\n"));
}
