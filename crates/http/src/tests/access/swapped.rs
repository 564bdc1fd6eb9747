//! Identifiers in the wrong place: of hidden items, of another site collection, and of another kind of object. Each
//! response must equal the one for an identifier that does not exist.

use super::case::Case;
use super::ground::Ground;
use super::people::Column;
use super::sending::{Opened, Protocol};
use super::table::{self, Row};
use super::{Farm, Faults, REST, Reply, canary};

/// Placeholder words for items.
const ITEMS: [&str; 19] = [
    "document",
    "plain",
    "page",
    "folder",
    "target",
    "site",
    "sub",
    "library",
    "filed",
    "draft",
    "submitted",
    "list",
    "row",
    "line",
    "held",
    "locked",
    "lair",
    "documents",
    "entry",
];
/// Placeholder words for other objects with an identifier.
const OTHERS: [&str; 20] = [
    "user",
    "group",
    "role",
    "member",
    "token",
    "session",
    "column",
    "field",
    "type",
    "principal",
    "shared",
    "private",
    "view",
    "link",
    "lock",
    "upload",
    "job",
    "store",
    "closed",
    "digest",
];
/// Placeholder words for objects that belong to one library, item or account and do not exist under another one.
const OWNED_OBJECTS: [&str; 7] = ["column", "type", "shared", "private", "lock", "token", "session"];
/// Callers with full rights on both parents, who still get no other response.
const FULL_RIGHTS: [&str; 2] = ["farm", "full"];
/// Callers that try the identifiers: one with full control of the root site, and two with fewer rights.
const PROBING_CALLERS: [&str; 3] = ["full", "contribute", "read"];

/// Placeholder words for paths, with a template of their value.
const PATHS: [(&str, &str); 2] = [("path", "Documents/lair/NAME.txt"), ("elsewhere", "sites/NAME/Elsewhere/new.txt")];
/// Part of a name that does not exist.
const FREE: &str = "absent-7f3a9c";

fn has(row: &Row, word: &str) -> bool {
    let fields: String = row.fields.iter().map(|(_, value)| *value).collect();
    let text = format!("{}{}{}{fields}", row.route, row.query, row.body);
    text.contains(&format!("{{{word}}}"))
}

/// Returns the placeholder words of a row.
fn words(row: &Row) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    for text in [row.route, row.query, row.body] {
        for piece in text.split('{').skip(1) {
            let word = piece.split('}').next().unwrap().rsplit('=').next().unwrap();
            let known = ITEMS.iter().chain(&OTHERS).copied().find(|known| *known == word);
            found.extend(known.filter(|_| !found.contains(&word)));
        }
    }
    found
}

/// Returns a response without the tried identifier and without the parts that differ between requests.
fn plain(status: u16, reply: &Reply, id: &str) -> String {
    let mut lines = vec![status.to_string()];
    for (name, value) in &reply.headers {
        if !["date", "x-request-id", "content-length", "set-cookie", "server-timing", "age"].contains(&name.as_str()) {
            lines.push(format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())));
        }
    }
    lines.sort();
    // Form tokens are masked differently on each page, and every request has its own number.
    let text = reply.text().replace(reply.header("x-request-id"), "NUMBER");
    let is_token =
        |word: &&str| word.len() > 60 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    let tokens: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').collect();
    let plain = tokens.into_iter().filter(is_token).fold(text.clone(), |text, token| text.replace(token, "TOKEN"));
    // The point in time since when a grid asks for changes, in microseconds.
    let is_time = |word: &&str| word.len() == 16 && word.bytes().all(|b| b.is_ascii_digit());
    let times: Vec<&str> = plain.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_time).collect();
    let plain = times.into_iter().fold(plain.clone(), |text, time| text.replace(time, "TIME"));
    lines.push(plain);
    lines.join("\n").replace(id, "ID")
}

struct Trial<'a> {
    farm: &'a Farm,
    ground: &'a Ground,
    door: Opened,
    faults: Faults,
    n: usize,
}

impl Trial<'_> {
    async fn ask(&mut self, case: &mut Case, row: &Row, column: &Column, word: &'static str, id: &str) -> String {
        let (own, n) = (case.word(word).to_owned(), format!("-{}", case.word("n")));
        case.replace(word, id.to_owned());
        let (status, reply) = self.door.ask(self.farm, case, row, column).await;
        case.replace(word, own);
        self.faults.cells += 1;
        if reply.status.is_server_error() {
            self.faults.others.push(format!("{} with {id} as {word} answers {status}", row.describe()));
        }
        if let Some(told) = canary::leak_in(&reply).filter(|_| !column.sees_all) {
            self.faults.others.push(format!("{} with {id} as {word} by {} {told}", row.describe(), column.name));
        }
        if status < 400 && !row.only_reads() {
            self.n += 1;
            *case = Case::prepare(self.farm, self.ground, row, self.n).await;
        }
        plain(status, &reply, id).replace(&n, "-N")
    }

    /// Compares the responses for a hidden name and for a free one. A caller who may change nothing there sees no
    /// difference.
    async fn paths(&mut self, row: &Row) {
        for (word, way) in PATHS.into_iter().filter(|(word, _)| has(row, word)) {
            self.n += 1;
            let mut case = Case::prepare(self.farm, self.ground, row, self.n).await;
            let trying = if row.only_reads() { &PROBING_CALLERS[..] } else { &PROBING_CALLERS[2..] };
            for name in trying {
                let column = self.ground.people.columns.iter().find(|column| column.name == *name).unwrap();
                let mut told = Vec::new();
                for part in [canary::NAME, FREE] {
                    case.replace(word, way.replace("NAME", part));
                    let (status, reply) = self.door.ask(self.farm, &case, row, column).await;
                    assert!(
                        status >= 400 || row.only_reads(),
                        "{} with a hidden name by {name}: {status}",
                        row.describe()
                    );
                    told.push(plain(status, &reply, part));
                    self.faults.cells += 1;
                }
                if told[0] != told[1] {
                    let fault = format!("{}\n    and with a free name:\n{}", told[0], told[1]);
                    self.faults.others.push(format!("{} with a hidden name by {name}:\n{fault}", row.describe()));
                }
            }
        }
    }

    /// An object of another library, item or account is treated as absent, even for a caller with full rights there.
    async fn belongings(&mut self, row: &Row) {
        let text = format!("{}{}{}", row.route, row.query, row.body);
        let speaks_of = |word: &&str| text.contains(&format!("{{{word}}}")) || text.contains(&format!("={word}}}"));
        for word in OWNED_OBJECTS.into_iter().filter(speaks_of) {
            self.n += 2;
            let mut case = Case::prepare(self.farm, self.ground, row, self.n).await;
            let foreign = Case::prepare(self.farm, self.ground, row, self.n - 1).await.word(word).to_owned();
            let elsewhere = self.elsewhere(word).await;
            for name in FULL_RIGHTS {
                let column = self.ground.people.columns.iter().find(|column| column.name == name).unwrap();
                let absent = self.ask(&mut case, row, column, word, "999999").await;
                for id in [Some(&foreign), elsewhere.as_ref()].into_iter().flatten() {
                    let found = self.ask(&mut case, row, column, word, id).await;
                    if found != absent {
                        let fault = format!("{found}\n    and with nothing:\n{absent}");
                        self.faults
                            .others
                            .push(format!("{} with another's {word} by {name}:\n{fault}", row.describe()));
                    }
                }
            }
        }
    }

    /// Creates such an object in a library of another site collection.
    async fn elsewhere(&self, word: &str) -> Option<String> {
        let body = serde_json::json!({"name": format!("other {}", self.n), "kind": "text", "shared": word == "shared"});
        let (tail, fields) = match word {
            "column" => ("columns", &["name", "kind"][..]),
            "type" => ("content-types", &["name"][..]),
            "shared" | "private" => ("views", &["name", "shared"][..]),
            _ => return None,
        };
        let library = self.farm.id(&format!("sites/{}/Elsewhere", canary::NAME)).await;
        let body: serde_json::Map<_, _> =
            fields.iter().map(|field| ((*field).to_owned(), body[*field].clone())).collect();
        let made = self.farm.json("POST", &format!("/api/v1/items/{library}/{tail}"), body.into()).await;
        assert!(made.status.is_success(), "{}", made.text());
        Some(made.json()["id"].as_str().unwrap().to_owned())
    }

    async fn row(&mut self, row: &Row) {
        let ground = self.ground;
        for word in words(row) {
            self.n += 1;
            let mut case = Case::prepare(self.farm, ground, row, self.n).await;
            let missing = ground.hidden.last().unwrap().1.parse::<i64>().unwrap() + 77_777;
            let mut tried: Vec<(&str, String)> = ground.hidden.clone();
            if ITEMS.contains(&word) {
                tried.push(("user", ground.people.nobody.to_string()));
                tried.push(("role", ground.people.role.to_string()));
            } else {
                tried.push(("visible item", ground.lair.to_string()));
                tried.push(("site", ground.site.to_string()));
            }
            for name in PROBING_CALLERS {
                let column = ground.people.columns.iter().find(|column| column.name == name).unwrap();
                let mut absent = self.ask(&mut case, row, column, word, &missing.to_string()).await;
                for (what, id) in &tried {
                    let mut found = self.ask(&mut case, row, column, word, id).await;
                    // A workbook says in which second it was made.
                    for _ in 0..3 {
                        if found != absent && row.only_reads() {
                            absent = self.ask(&mut case, row, column, word, &missing.to_string()).await;
                            found = self.ask(&mut case, row, column, word, id).await;
                        }
                    }
                    if found != absent {
                        let differs = found.lines().zip(absent.lines()).find(|(found, absent)| found != absent);
                        let (found, absent) = differs.unwrap_or_default();
                        let fault = format!("    {found:.300}\n    and with nothing:\n    {absent:.300}");
                        let fault = format!("{} with a {what} as {word} by {name}:\n{fault}", row.describe());
                        self.faults.others.push(fault);
                    }
                }
            }
        }
    }
}

async fn swap(door: Protocol, table: &'static str, part: usize, parts: usize) {
    let farm = Farm::with(|options| options.converter = Some("/bin/false".into())).await;
    let ground = Ground::create(&farm).await;
    let door = door.open(&farm, &ground.people).await;
    let name = format!("swapped part {part} of {}", door.name());
    let mut trial = Trial { farm: &farm, ground: &ground, door, faults: Faults::default(), n: 0 };
    for row in table::rows(table::read(table)).iter().skip(part).step_by(parts) {
        trial.row(row).await;
    }
    trial.faults.report(&name);
}

async fn swap_paths(door: Protocol, table: &'static str) {
    let farm = Farm::with(|options| options.converter = Some("/bin/false".into())).await;
    let ground = Ground::create(&farm).await;
    let door = door.open(&farm, &ground.people).await;
    let name = format!("hidden names of {}", door.name());
    let mut trial = Trial { farm: &farm, ground: &ground, door, faults: Faults::default(), n: 0 };
    for row in &table::rows(table::read(table)) {
        trial.paths(row).await;
    }
    trial.faults.report(&name);
}

#[tokio::test]
async fn hidden_names_are_like_free_ones() {
    swap_paths(Protocol::Rest, REST).await;
    swap_paths(Protocol::Pages, "pages.txt").await;
    swap_paths(Protocol::Dav, "webdav.txt").await;
}

#[tokio::test]
async fn foreign_objects_are_absent_even_with_full_rights() {
    for (door, table) in [(Protocol::Rest, REST), (Protocol::Pages, "pages.txt")] {
        let farm = Farm::with(|options| options.converter = Some("/bin/false".into())).await;
        let ground = Ground::create(&farm).await;
        let door = door.open(&farm, &ground.people).await;
        let name = format!("belongings of {}", door.name());
        let mut trial = Trial { farm: &farm, ground: &ground, door, faults: Faults::default(), n: 0 };
        for row in &table::rows(table::read(table)) {
            trial.belongings(row).await;
        }
        assert!(trial.faults.cells > 20, "{}", trial.faults.cells);
        trial.faults.report(&name);
    }
}

#[tokio::test]
async fn identifiers_of_others_are_of_nothing_first_part() {
    swap(Protocol::Rest, REST, 0, 2).await;
}

#[tokio::test]
async fn identifiers_of_others_are_of_nothing_second_part() {
    swap(Protocol::Rest, REST, 1, 2).await;
}

#[tokio::test]
async fn identifiers_of_others_are_of_nothing_on_pages_first_part() {
    swap(Protocol::Pages, "pages.txt", 0, 2).await;
}

#[tokio::test]
async fn identifiers_of_others_are_of_nothing_on_pages_second_part() {
    swap(Protocol::Pages, "pages.txt", 1, 2).await;
}
