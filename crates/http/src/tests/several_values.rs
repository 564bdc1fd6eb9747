//! Columns that take several values, through the REST interface, files and pages.

use serde_json::{Value, json};

use super::Farm;
use super::lists::{CSV, change, list, rows};

const CHOICES: [&str; 4] = ["red", "=1+1", "a; \"b\"", "<b>&"];

/// A list with a column of several choices, and one of several people. Returns it with the columns.
async fn colours(farm: &Farm) -> (String, String, String) {
    let list = list(farm).await;
    let place = format!("/api/v1/items/{list}/columns");
    let colours = json!({"name": "Colours", "kind": "choice", "choices": CHOICES, "multiple": true});
    let people = json!({"name": "People", "kind": "person", "multiple": true});
    let mut ids = Vec::new();
    for new in [colours, people] {
        let made = farm.json("POST", &place, new).await.expect(201).json();
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    let [colours, people] = ids.try_into().unwrap();
    (list, colours, people)
}

async fn administrator(farm: &Farm) -> String {
    let users = farm.get("/api/v1/users").await.expect(200).json();
    users["items"][0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn several_values_are_arrays() {
    let farm = Farm::new().await;
    let (list, colours, people) = colours(&farm).await;
    let place = format!("/api/v1/items/{list}/columns");
    let columns = farm.get(&place).await.expect(200).json();
    let multiple: Vec<&Value> = columns["items"].as_array().unwrap().iter().map(|one| &one["multiple"]).collect();
    assert_eq!(multiple, [&json!(false), &json!(true), &json!(true)]);
    let me = administrator(&farm).await;
    let set = json!({"Title": "t", "Colours": ["a; \"b\"", "red"], "People": [me]});
    change(&farm, &list, "", json!({"atomic": true, "changes": [{"set": set}]})).await;
    let row = rows(&farm, &list).await.remove(0);
    assert_eq!(row["values"][&colours], json!(["a; \"b\"", "red"]));
    assert_eq!(row["values"][&people], json!([me]));
    let many: Vec<String> = (0..21).map(|number| number.to_string()).collect();
    let path = format!("/api/v1/items/{}/values", row["id"].as_str().unwrap());
    for bad in [
        json!("red"),
        json!([]),
        json!(["red", "red"]),
        json!([["red"]]),
        json!([null]),
        json!(["none"]),
        json!(many),
        json!({"red": 1}),
        json!([1]),
    ] {
        let refused = farm.json("PATCH", &path, json!({"values": {"Colours": bad}})).await.expect(400).json();
        assert_eq!(refused["code"], "invalid_value", "{refused}");
    }
    let refused = farm.json("PATCH", &path, json!({"values": {"Colours": many}})).await.expect(400).json();
    assert!(refused["detail"].as_str().unwrap().contains("at most 20 values"), "{refused}");
    for bad in [json!("x"), json!([me, "x"]), json!([me, "77"]), json!([me, me])] {
        let refused = farm.json("PATCH", &path, json!({"values": {"People": bad}})).await.expect(400).json();
        assert_eq!(refused["code"], "invalid_value", "{refused}");
    }
    // Somebody else's change of the same cell is noticed.
    let edit = |was: Value| {
        let one = json!({"id": row["id"], "etag": "1", "was": {"Colours": was}, "set": {"Colours": ["red"]}});
        json!({"changes": [one]})
    };
    let stale = change(&farm, &list, "", edit(json!(["red", "a; \"b\""]))).await;
    assert_eq!(
        (&stale["outcomes"][0]["status"], &stale["outcomes"][0]["present"][&colours]),
        (&json!(409), &json!(["a; \"b\"", "red"]))
    );
    let fresh = change(&farm, &list, "", edit(json!(["a; \"b\"", "red"]))).await;
    assert_eq!(fresh["outcomes"][0]["status"], 200);
    farm.json("PATCH", &path, json!({"values": {"Colours": null}})).await.expect(200);
    // The flag stays, and only some kinds have it.
    let one = json!({"name": "Colours", "kind": "choice", "choices": CHOICES});
    farm.json("PUT", &format!("{place}/{colours}"), one).await.expect(400);
    farm.json("POST", &place, json!({"name": "x", "kind": "text", "multiple": true})).await.expect(400);
}

#[tokio::test]
async fn a_file_has_several_values_in_one_field() {
    let farm = Farm::new().await;
    let (list, colours, people) = colours(&farm).await;
    let me = administrator(&farm).await;
    let sets = [json!({"Title": "1", "Colours": CHOICES, "People": [me]}), json!({"Title": "2", "Colours": ["red"]})];
    let changes: Vec<Value> = sets.iter().map(|set| json!({"set": set})).collect();
    change(&farm, &list, "", json!({"atomic": true, "changes": changes})).await;
    let swapped = json!({"changes": [{"set": {"Title": "3", "Colours": ["=1+1", "red"]}}]});
    change(&farm, &list, "", swapped).await;
    let path = format!("/api/v1/items/{list}/rows.csv");
    let file = farm.get(&path).await.expect(200).text();
    assert!(file.contains("\"red; =1+1; \"\"a; \"\"\"\"b\"\"\"\"\"\"; <b>&\""), "{file}");
    assert!(file.contains("\"'=1+1; red\""), "{file}");
    let before = rows(&farm, &list).await;
    let report = farm.send("POST", &path, CSV, file.clone()).await.expect(200).json();
    assert_eq!((&report["changed"], &report["refused"]), (&json!(3), &json!(0)), "{report}");
    assert_eq!(rows(&farm, &list).await, before);
    let typed = "Title,Colours,People\n4,red ;<b>&;;red,admin; ADMIN\n5,,\n6,red; none,\n7,\"\"\"red\",\n8,,nobody\n";
    let long = format!("9,{},\n", "red;".repeat(21));
    let report = farm.send("POST", &path, CSV, format!("{typed}{long}")).await.expect(200).json();
    assert_eq!((&report["added"], &report["refused"]), (&json!(2), &json!(4)), "{report}");
    let added = rows(&farm, &list).await.remove(3);
    assert_eq!(added["values"][&colours], json!(["red", "<b>&"]));
    assert_eq!(added["values"][&people], json!([me]));
}

#[tokio::test]
async fn a_file_names_a_limited_number_of_people() {
    const LOGIN: &str = "abcdefghijklmnop";
    let farm = Farm::new().await;
    let (list, ..) = colours(&farm).await;
    farm.account(LOGIN).await;
    // Logins are found whatever their case, and each way to write one counts.
    let written = |number: usize| -> String {
        let letter = |(at, letter): (usize, char)| match number >> at & 1 {
            1 => letter.to_ascii_uppercase(),
            _ => letter,
        };
        LOGIN.chars().enumerate().map(letter).collect()
    };
    let row = |row: usize| format!("x,{}\n", (row * 20..row * 20 + 20).map(written).collect::<Vec<_>>().join(";"));
    let many: String = (0..1_000).map(row).collect();
    let file = format!("Title,People\nfirst,\n{many}too late,admin\nlast,\n");
    let path = format!("/api/v1/items/{list}/rows.csv");
    let report = farm.send("POST", &path, CSV, file).await.expect(200).json();
    assert_eq!((&report["added"], &report["refused"]), (&json!(1_002), &json!(1)), "{}", report["refusals"][0]);
    assert!(report["refusals"][0]["detail"].as_str().unwrap().contains("20000 names"), "{}", report["refusals"][0]);
    let saved = farm.get(&path).await.expect(200).text();
    assert!(saved.contains("first") && saved.contains("last") && !saved.contains("too late"));
}
