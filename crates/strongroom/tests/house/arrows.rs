//! The dependency test: the complete table of permitted dependencies between the workspace's crates, and the crates
//! that alone may use certain libraries.

use std::collections::BTreeMap;

use crate::metadata;

/// A crate, the crates it may depend on, and the reason why it must not know more.
struct Room {
    package: &'static str,
    may_use: &'static [&'static str],
    because: &'static str,
}

/// The complete table. Crates and dependencies that are not in it are not permitted.
const ROOMS: &[Room] = &[
    Room {
        package: "strongroom",
        may_use: &["model", "database", "blobs", "search", "repository", "maintenance", "http-edge", "lab"],
        because: "the binary wires all rooms and nothing depends on it",
    },
    Room {
        package: "http-edge",
        may_use: &["http-core", "rest", "webdav", "wopi", "ui", "repository", "model"],
        because: "it puts the protocols together, and sees of the product only what it hands to them",
    },
    Room {
        package: "rest",
        may_use: &["http-core", "repository", "model"],
        because: "REST leans on no other protocol, and reaches documents through a `Session` of the repository",
    },
    Room {
        package: "webdav",
        may_use: &["http-core", "repository", "model"],
        because: "WebDAV leans on no other protocol, and reaches documents through a `Session` of the repository",
    },
    Room {
        package: "wopi",
        may_use: &["http-core", "repository", "model"],
        because: "WOPI leans on no other protocol, and reaches documents through a `Session` of the repository",
    },
    Room {
        package: "ui",
        may_use: &["http-core", "repository", "model"],
        because: "the pages lean on no protocol, and reach documents through a `Session` of the repository",
    },
    Room {
        package: "http-core",
        may_use: &["repository", "model"],
        because: "connections, bodies and identity are below the protocols that share them",
    },
    Room {
        package: "maintenance",
        may_use: &["repository", "database", "blobs", "search", "model"],
        because: "jobs work on every store of state, but know no protocol",
    },
    Room {
        package: "repository",
        may_use: &["database", "blobs", "search", "model"],
        because: "what the product does stands above the stores of state and below every protocol",
    },
    Room {
        package: "database",
        may_use: &["model"],
        because: "SQL knows neither bytes nor index: the repository joins them",
    },
    Room {
        package: "blobs",
        may_use: &["model"],
        because: "a store of bytes that knew the database could not be listed, verified or recovered without it",
    },
    Room {
        package: "search",
        may_use: &["model"],
        because: "the index is rebuilt from what it is given and knows neither SQL nor stores",
    },
    Room { package: "model", may_use: &[], because: "words and rules stand alone: no I/O, no other room" },
    Room {
        package: "lab",
        may_use: &[],
        because: "it judges any build and any other server, so it speaks only HTTP and shares no code with them",
    },
];

/// Dependencies permitted in tests only: the package, the additional crates its tests may use, and the reason.
const ONLY_IN_TESTS: &[Room] = &[Room {
    package: "http-edge",
    may_use: &["database", "blobs"],
    because: "tests of a protocol open a real repository on scratch databases and stores",
}];

/// Libraries with designated owners: the name prefix, the crates that may depend on them, and the reason.
const OWNED: &[(&str, &[&str], &str)] = &[
    ("rusqlite", &["database"], "`database` is the sole owner of SQL"),
    ("tokio-postgres", &["database"], "`database` is the sole owner of SQL"),
    ("deadpool-postgres", &["database"], "`database` is the sole owner of SQL"),
    ("refinery", &["database"], "`database` is the sole owner of SQL"),
    ("object_store", &["blobs"], "`blobs` is the sole owner of stores"),
    ("tantivy", &["search"], "`search` is the sole owner of the index"),
    ("landlock", &["search"], "`search` is the sole owner of children that open documents"),
    ("seccompiler", &["search"], "`search` is the sole owner of children that open documents"),
    ("axum", &["http-edge", "http-core", "rest", "webdav", "wopi", "ui"], "only the rooms of HTTP know it"),
    ("askama", &["ui"], "`ui` is the sole owner of the pages"),
    ("utoipa", &["rest"], "`rest` is the sole owner of the wire types"),
];

/// Libraries that `model` must not use. It contains rules only: no waiting, no I/O and no wire format.
const NEVER_IN_MODEL: &[&str] = &["tokio", "futures", "serde", "tracing", "metrics"];

/// A dependency of a package, and whether only tests use it.
struct Dependency {
    name: String,
    only_in_tests: bool,
    of_ours: bool,
}

fn workspace() -> BTreeMap<String, Vec<Dependency>> {
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().expect("a list of packages");
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("a list of dependencies");
            let dependencies = dependencies.iter().map(|dependency| Dependency {
                name: dependency["name"].as_str().expect("a name").to_owned(),
                only_in_tests: dependency["kind"].as_str() == Some("dev"),
                of_ours: dependency["path"].is_string(),
            });
            (package["name"].as_str().expect("a name").to_owned(), dependencies.collect())
        })
        .collect()
}

fn fail_with(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn rooms_depend_only_on_the_rooms_that_the_table_allows() {
    let workspace = workspace();
    let mut faults = Vec::new();
    for (package, dependencies) in &workspace {
        let Some(room) = ROOMS.iter().find(|room| room.package == package) else {
            faults.push(format!("`{package}` is not in the table of rooms: put its content where it belongs"));
            continue;
        };
        let besides = ONLY_IN_TESTS.iter().find(|room| room.package == package);
        for dependency in dependencies.iter().filter(|dependency| dependency.of_ours) {
            let name = dependency.name.as_str();
            let in_tests = dependency.only_in_tests && besides.is_some_and(|room| room.may_use.contains(&name));
            if !room.may_use.contains(&name) && !in_tests && name != package {
                let kind = if dependency.only_in_tests { "in its tests depends on" } else { "depends on" };
                faults.push(format!("`{package}` {kind} `{name}`, but {}", room.because));
            }
        }
    }
    for room in ROOMS.iter().filter(|room| !workspace.contains_key(room.package)) {
        faults.push(format!("the room `{}` is in the table but not in the workspace", room.package));
    }
    for room in ONLY_IN_TESTS {
        assert!(!room.because.is_empty(), "an exception for tests needs a reason");
    }
    fail_with(&faults);
}

#[test]
fn an_outside_library_with_an_owner_is_used_by_its_owner_only() {
    let mut faults = Vec::new();
    for (package, dependencies) in workspace() {
        for dependency in dependencies.iter().filter(|dependency| !dependency.only_in_tests) {
            for (prefix, owners, because) in OWNED {
                if dependency.name.starts_with(prefix) && !owners.contains(&package.as_str()) {
                    faults.push(format!("`{package}` depends on `{}`, but {because}", dependency.name));
                }
            }
            let banned = NEVER_IN_MODEL.iter().any(|prefix| dependency.name.starts_with(prefix));
            if package == "model" && banned {
                faults.push(format!(
                    "`model` depends on `{}`, but it is rules only: no I/O, async or serde",
                    dependency.name
                ));
            }
        }
    }
    fail_with(&faults);
}
