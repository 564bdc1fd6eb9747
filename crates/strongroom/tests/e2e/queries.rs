//! Queries with operators and filters, their counts and their order, through the API; and that no answer to a reader
//! changes by documents that the reader may not open.

use database::Engine;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Client;
use crate::words::{Rig, names, wait_for_results, wait_until_indexed};

/// Searches with more parameters than the query.
async fn ask(client: &Client, text: &str, more: &str) -> Value {
    let query: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let answer = client.send(Method::GET, &format!("/api/v1/search?q={query}{more}"), Vec::new()).await.unwrap();
    assert!(answer.status.is_success(), "{text}: {}", answer.text());
    answer.json()
}

fn paths(found: &Value) -> Vec<String> {
    found["items"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap().to_owned()).collect()
}

/// A farm with some documents by the administrator and by the reader, all of which contain the word heron.
async fn filled(engine: Engine) -> Rig {
    let rig = Rig::new(engine).await;
    let root = rig.id("").await;
    let site = rig.call(Method::POST, &format!("/api/v1/items/{root}/sites"), json!({ "name": "Sales" })).await;
    let site = site["id"].as_str().unwrap().to_owned();
    rig.call(Method::POST, &format!("/api/v1/items/{site}/libraries"), json!({ "name": "Offers" })).await;
    let documents = rig.id("Documents").await;
    rig.grant(&documents, "Contribute", true).await;
    rig.put("Reports/plan.html", "<title>Master plan</title>heron and egrets").await;
    rig.put("Reports/heron.txt", "just a bird, but a long text about one").await;
    rig.put("minutes.txt", "heron, in the minutes").await;
    let offer = rig.admin.send(Method::PUT, "/api/v1/content/Sales/Offers/offer.txt", b"heron offered".to_vec()).await;
    assert!(offer.unwrap().status.is_success());
    assert!(rig.reader.put("by-rita.txt", b"heron of the reader".to_vec()).await.unwrap().status.is_success());
    wait_until_indexed(&rig.admin).await;
    rig
}

async fn filters_and_operators_work(engine: Engine) {
    let rig = filled(engine).await;
    let found = async |text: &str| {
        let mut found = names(&rig.admin, &text.replace('>', "%3e").replace('<', "%3c")).await;
        found.sort();
        found
    };
    assert_eq!(found("heron NOT type:txt").await, ["plan.html"]);
    assert_eq!(found("egret OR offer*").await, ["offer.txt", "plan.html"]);
    assert_eq!(found("title:plan").await, ["plan.html"]);
    assert_eq!(found("heron author:rita").await, ["by-rita.txt"]);
    assert_eq!(found("heron -author:rita -author:me").await, Vec::<String>::new());
    assert_eq!(found("in:Documents/Reports *").await, ["heron.txt", "plan.html"]);
    assert_eq!(found("in:reports heron -egret").await, ["heron.txt"]);
    assert_eq!(found("site:sales").await, ["offer.txt"]);
    assert_eq!(found("library:Offers heron").await, ["offer.txt"]);
    assert_eq!(found("modified:today minutes type:txt").await, ["minutes.txt"]);
    assert_eq!(found("heron size>1MB OR heron created<2020").await, Vec::<String>::new());
    assert_eq!(found("minutes size<1KB created>=2020").await, ["minutes.txt"]);
    // A folder that was created since the last search is within what contains it.
    rig.put("Reports/2026/new.txt", "a kingfisher").await;
    wait_for_results(&rig.admin, "in:Documents/Reports kingfisher", &["new.txt"]).await;
    rig.admin.delete("Reports/2026").await.unwrap();
    // A moved document is in its new place at once.
    let (minutes, reports) = (rig.id("Documents/minutes.txt").await, rig.id("Documents/Reports").await);
    rig.call(Method::POST, &format!("/api/v1/items/{minutes}/move"), json!({ "to": reports })).await;
    assert_eq!(found("in:Documents/Reports *").await, ["heron.txt", "minutes.txt", "plan.html"]);
}

async fn answers_are_counted_ordered_and_explained(engine: Engine) {
    let rig = filled(engine).await;
    let all = ask(&rig.admin, "heron", "&facets=true").await;
    assert_eq!(all["documents"], 5);
    assert_eq!(all["items"][0]["name"], "heron.txt", "the name counts most");
    assert_eq!(all["facets"]["types"], json!([{ "value": "txt", "count": 4 }, { "value": "html", "count": 1 }]));
    assert_eq!(all["facets"]["sites"], json!([{ "path": "Sales", "name": "Sales", "count": 1 }]));
    assert_eq!(all["facets"]["authors"][0]["count"], 4);
    assert_eq!(all["facets"]["authors"][1]["user"]["login"], "rita");
    assert_eq!(all["facets"]["years"][0]["count"], 5);
    let oldest = ask(&rig.admin, "heron type:txt", "&sort=oldest").await;
    let expected =
        ["Documents/Reports/heron.txt", "Documents/minutes.txt", "Sales/Offers/offer.txt", "Documents/by-rita.txt"];
    assert_eq!(paths(&oldest), expected);
    assert_eq!(oldest["facets"], Value::Null, "only when asked for");
    let similar = ask(&rig.admin, "mintues", "").await;
    assert_eq!((&similar["similar"], paths(&similar)), (&json!(true), vec!["Documents/minutes.txt".to_owned()]));
    assert_eq!(similar["partial"], false, "no word is missing");
    let partial = ask(&rig.admin, "kingfisher minutes heron", "").await;
    assert_eq!((&partial["partial"], paths(&partial)), (&json!(true), vec!["Documents/minutes.txt".to_owned()]));
    let odd = ask(&rig.admin, "heron (size>big author:nobody", "").await;
    let reasons: Vec<&str> =
        odd["remarks"].as_array().unwrap().iter().map(|remark| remark["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["no_size", "unmatched_parenthesis"]);
    let unknown = ask(&rig.admin, "editor:nobody", "").await;
    assert_eq!(unknown["remarks"][0], json!({ "reason": "unknown_name", "text": "nobody", "start": 7, "end": 13 }));
    for refused in ["heron%20%28&strict=true", "heron&sort=best", &"x".repeat(4_097)] {
        let path = format!("/api/v1/search?q={refused}");
        assert_eq!(rig.admin.send(Method::GET, &path, Vec::new()).await.unwrap().status, 400, "{path:.60}");
    }
    for odd in
        [&"(".repeat(4_000), &"a OR ".repeat(800), "\u{202e}*", "-", "***", "NOT NOT NOT", "\u{0}\u{1}", "\"\"~99"]
    {
        ask(&rig.admin, odd, "&facets=true").await;
    }
}

async fn hidden_documents_change_no_answer(engine: Engine) {
    let rig = filled(engine).await;
    let queries =
        ["heron", "heron OR egret", "egr*", "type:txt", "author:admin", "site:Sales", "* -minutes", "herom", "offerd"];
    let mut before = Vec::new();
    for query in queries {
        before.push(ask(&rig.reader, query, "&facets=true").await);
    }
    // The site is open to the administrator only, whose documents contain the words many times.
    for number in 0..20 {
        let path = format!("/api/v1/content/Sales/Offers/heron {number}.txt").replace(' ', "%20");
        let text = "heron egret egrets herom offer ".repeat(number + 1).into_bytes();
        assert!(rig.admin.send(Method::PUT, &path, text).await.unwrap().status.is_success());
    }
    wait_until_indexed(&rig.admin).await;
    for (query, before) in queries.iter().zip(before) {
        assert_eq!(ask(&rig.reader, query, "&facets=true").await, before, "{query}");
    }
    assert_eq!(ask(&rig.admin, "heron site:Sales", "").await["documents"], 21);
    assert_eq!(ask(&rig.reader, "site:Sales", "").await["remarks"][0]["reason"], "unknown_name", "not even the name");
}

/// Every form in which the reader can search, with its answer.
async fn all_answers(rig: &Rig, document: &str) -> Vec<(String, String)> {
    let filters = [
        "heron",
        "is:mine",
        "is:draft",
        "is:followed",
        "is:checkedout",
        "author:admin",
        "creator:admin",
        "editor:admin",
        "lang:en",
        "*eron*",
        "*eron",
        "Stage:open",
        "Stage:*",
        "-Stage:open heron",
        "Margin:40",
        "\"Deal stage\":closed",
        "size>0",
        "modified:today",
        "created:today",
        "site:Sales",
        "library:Offers",
        "in:Secret",
        "type:txt",
        "name:heron",
    ];
    let mut all = Vec::new();
    for filter in filters {
        let query: String = filter.bytes().map(|byte| format!("%{byte:02x}")).collect();
        for path in [
            format!("/api/v1/search?q={query}&facets=true"),
            format!("/api/v1/search?q={query}&facets=true&sort=largest&limit=1"),
            format!("/api/v1/search/suggest?q={query}"),
            format!("/api/v1/items/{document}/passages?q={query}"),
        ] {
            let answer = rig.reader.send(Method::GET, &path, Vec::new()).await.unwrap();
            assert_eq!(answer.status, 200, "{filter} {path}: {}", answer.text());
            all.push((format!("{filter} {path}"), answer.text()));
        }
    }
    for words in ["heron", "closed", "open"] {
        let body = format!(
            "<D:searchrequest xmlns:D='DAV:'><D:basicsearch><D:select><D:prop><D:getetag/></D:prop></D:select><D:from>\
             <D:scope><D:href>/dav/</D:href><D:depth>infinity</D:depth></D:scope></D:from><D:where><D:contains>{words}\
             </D:contains></D:where></D:basicsearch></D:searchrequest>"
        );
        let verb = Method::from_bytes(b"SEARCH").unwrap();
        let answer = rig.reader.send(verb, "/dav/", body.into_bytes()).await.unwrap();
        assert_eq!(answer.status, 207);
        all.push((format!("SEARCH {words}"), answer.text()));
    }
    all
}

async fn no_form_of_search_tells_of_what_is_hidden(engine: Engine) {
    let rig = filled(engine).await;
    let (documents, offers) = (rig.id("Documents").await, rig.id("Sales/Offers").await);
    let stage = column(&rig, &documents, "Stage", "text").await;
    let visible = rig.id("Documents/minutes.txt").await;
    let set = async |item: &str, values: Value| {
        rig.call(Method::PATCH, &format!("/api/v1/items/{item}/values"), json!({ "values": values })).await;
    };
    set(&visible, json!({ &stage: "open" })).await;
    let folder =
        rig.call(Method::POST, &format!("/api/v1/items/{documents}/folders"), json!({ "name": "Secret" })).await;
    let folder = folder["id"].as_str().unwrap();
    rig.call(Method::POST, &format!("/api/v1/items/{folder}/permissions/break"), json!({ "copy": false })).await;
    wait_until_indexed(&rig.admin).await;
    let before = all_answers(&rig, &visible).await;
    assert!(before.iter().any(|(form, answer)| form.starts_with("Stage:open") && answer.contains("minutes.txt")));

    // The reader may open neither the folder nor the site.
    let margin = column(&rig, &offers, "Margin", "number").await;
    let deal = column(&rig, &offers, "Deal stage", "text").await;
    let text = "The heron and the egret were closed and open for all of the week that had been before. ".repeat(4);
    for number in 0..5 {
        for (place, values) in
            [("Documents/Secret", json!({ &stage: "open" })), ("Sales/Offers", json!({ &margin: 40, &deal: "closed" }))]
        {
            let path = format!("{place}/heron{number}.txt");
            let put = rig.admin.send(Method::PUT, &format!("/api/v1/content/{path}"), text.clone().into_bytes()).await;
            assert!(put.unwrap().status.is_success());
            let item = rig.id(&path).await;
            set(&item, values).await;
            if number > 2 {
                rig.call(Method::PUT, &format!("/api/v1/items/{item}/check-out"), Value::Null).await;
            }
        }
    }
    wait_until_indexed(&rig.admin).await;
    for ((form, before), (_, after)) in before.into_iter().zip(all_answers(&rig, &visible).await) {
        assert_eq!(after, before, "{form}");
    }
    assert_eq!(ask(&rig.admin, "Margin:40 is:checkedout", "").await["documents"], 2);
    assert_eq!(ask(&rig.admin, "Stage:open", "").await["documents"], 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_form_of_search_tells_of_what_is_hidden_on_sqlite() {
    no_form_of_search_tells_of_what_is_hidden(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_form_of_search_tells_of_what_is_hidden_on_postgres() {
    no_form_of_search_tells_of_what_is_hidden(Engine::Postgres).await;
}

/// Adds a column to a library, and returns its identifier.
async fn column(rig: &Rig, library: &str, name: &str, kind: &str) -> String {
    let path = format!("/api/v1/items/{library}/columns");
    let column = rig.call(Method::POST, &path, json!({ "name": name, "kind": kind })).await;
    column["id"].as_str().unwrap().to_owned()
}

async fn columns_are_fields(engine: Engine) {
    let rig = filled(engine).await;
    let (documents, offers) = (rig.id("Documents").await, rig.id("Sales/Offers").await);
    let status = column(&rig, &documents, "Project status", "text").await;
    let amount = column(&rig, &documents, "Amount", "number").await;
    let secret = column(&rig, &offers, "Margin", "number").await;
    let (plan, offer) = (rig.id("Documents/Reports/plan.html").await, rig.id("Sales/Offers/offer.txt").await);
    let set = async |item: &str, values: Value| {
        rig.call(Method::PATCH, &format!("/api/v1/items/{item}/values"), json!({ "values": values })).await;
        wait_until_indexed(&rig.admin).await;
    };
    set(&plan, json!({ &status: "waiting for kingfishers", &amount: 12.5 })).await;
    set(&offer, json!({ &secret: 40 })).await;
    for (query, found) in [
        ("\"Project status\":waiting", vec!["plan.html"]),
        ("\"project status\":\"waiting for\" amount>12", vec!["plan.html"]),
        ("Amount:13..20", vec![]),
        ("kingfisher", vec!["plan.html"]),
        ("margin:40", vec!["offer.txt"]),
    ] {
        assert_eq!(names(&rig.admin, query).await, found, "{query}");
    }
    assert_eq!(names(&rig.reader, "amount:12.5").await, ["plan.html"]);
    // A column that the reader may not know is no field: the words of such a query are searched.
    let [known, unknown] = ["margin:40", "nargin:40"].map(|query| ask(&rig.reader, query, ""));
    let (mut known, mut unknown) = (known.await, unknown.await);
    for answer in [&mut known, &mut unknown] {
        assert_eq!(answer["remarks"][0]["reason"], "unknown_filter");
        answer["remarks"][0]["text"].take();
    }
    assert_eq!(known, unknown);

    // A new value replaces the old one at once, and a new name of the column needs no index.
    rig.call(Method::PATCH, &format!("/api/v1/items/{plan}/values"), json!({ "values": { &amount: 7 } })).await;
    assert_eq!(names(&rig.admin, "amount:12.5").await, Vec::<String>::new());
    wait_for_results(&rig.admin, "amount:7", &["plan.html"]).await;
    let path = format!("/api/v1/items/{documents}/columns/{amount}");
    rig.call(Method::PUT, &path, json!({ "name": "Total", "kind": "number" })).await;
    assert_eq!(names(&rig.admin, "total:7").await, ["plan.html"]);
    assert_eq!(ask(&rig.admin, "amount:7", "").await["documents"], 0);

    // Values are hidden in another library, and show again where they came from.
    let (reports, root) = (rig.id("Documents/Reports").await, rig.id("").await);
    let other = rig.call(Method::POST, &format!("/api/v1/items/{root}/libraries"), json!({ "name": "Other" })).await;
    let move_to = async |to: &str| {
        rig.call(Method::POST, &format!("/api/v1/items/{reports}/move"), json!({ "to": to })).await;
    };
    move_to(other["id"].as_str().unwrap()).await;
    for query in ["total:7", "\"project status\":*", "kingfisher"] {
        assert_eq!(ask(&rig.admin, query, "").await["documents"], 0, "{query}");
    }
    wait_for_results(&rig.admin, "egret", &["plan.html"]).await;
    move_to(&documents).await;
    wait_for_results(&rig.admin, "kingfisher", &["plan.html"]).await;

    // The values of a deleted column are found no more.
    let path = format!("/api/v1/items/{documents}/columns/{status}");
    rig.call(Method::DELETE, &path, Value::Null).await;
    assert_eq!(ask(&rig.admin, "\"project status\":*", "").await["documents"], 0);
    wait_for_results(&rig.admin, "kingfisher", &[]).await;
}

async fn states_are_those_of_the_caller(engine: Engine) {
    let rig = filled(engine).await;
    assert_eq!(names(&rig.reader, "is:mine").await, ["by-rita.txt"]);
    let minutes = rig.id("Documents/minutes.txt").await;
    let followed = rig.reader.send(Method::PUT, &format!("/api/v1/items/{minutes}/following"), Vec::new()).await;
    assert!(followed.unwrap().status.is_success());
    assert_eq!(names(&rig.reader, "is:followed").await, ["minutes.txt"]);
    assert_eq!(ask(&rig.admin, "is:followed", "").await["documents"], 0, "each user follows for themselves");
    assert_eq!(ask(&rig.reader, "is:checkedout", "").await["documents"], 0);
    rig.call(Method::PUT, &format!("/api/v1/items/{minutes}/check-out"), Value::Null).await;
    assert_eq!(names(&rig.reader, "is:checkedout").await, ["minutes.txt"], "at once");
    wait_until_indexed(&rig.admin).await;
    assert_eq!(names(&rig.reader, "ist:ausgecheckt").await, ["minutes.txt"]);
    rig.call(Method::DELETE, &format!("/api/v1/items/{minutes}/check-out"), Value::Null).await;
    assert_eq!(ask(&rig.reader, "is:checkedout", "").await["documents"], 0, "at once");
    assert_eq!(names(&rig.reader, "*inute*").await, ["minutes.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn columns_are_fields_on_sqlite() {
    columns_are_fields(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn columns_are_fields_on_postgres() {
    columns_are_fields(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn states_are_those_of_the_caller_on_sqlite() {
    states_are_those_of_the_caller(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn states_are_those_of_the_caller_on_postgres() {
    states_are_those_of_the_caller(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_and_operators_work_on_sqlite() {
    filters_and_operators_work(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_and_operators_work_on_postgres() {
    filters_and_operators_work(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_counted_ordered_and_explained_on_sqlite() {
    answers_are_counted_ordered_and_explained(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_counted_ordered_and_explained_on_postgres() {
    answers_are_counted_ordered_and_explained(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hidden_documents_change_no_answer_on_sqlite() {
    hidden_documents_change_no_answer(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hidden_documents_change_no_answer_on_postgres() {
    hidden_documents_change_no_answer(Engine::Postgres).await;
}
