//! Rows of lists as workbooks of Excel: they come back unchanged, hostile workbooks are refused, and an export of many
//! rows takes no more memory than one of few.

use std::io::{Cursor, Read, Write};
use std::time::{Duration, Instant};

use database::Engine;
use reqwest::Method;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::support::{Answer, Client, Farm, processes};
use crate::words::wait_until_indexed_within;

const WORKBOOK: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/// A list, and the client of its administrator.
struct List {
    client: Client,
    id: String,
}

impl List {
    /// Creates a list with these columns beside that of the titles.
    async fn create(client: Client, columns: &[Value]) -> Self {
        let site = call(&client, Method::GET, "/api/v1/items/by-path?path=", &Value::Null).await;
        let path = format!("/api/v1/items/{}/lists", site["id"].as_str().unwrap());
        let made = call(&client, Method::POST, &path, &json!({"name": "Tasks", "title_column": "Title"})).await;
        let list = Self { client, id: made["id"].as_str().unwrap().to_owned() };
        for column in columns {
            call(&list.client, Method::POST, &list.path("columns"), column).await;
        }
        list
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/v1/items/{}/{rest}", self.id)
    }

    async fn add(&self, rows: Vec<Value>) {
        let changes: Vec<Value> = rows.into_iter().map(|set| json!({ "set": set })).collect();
        let body = json!({"atomic": true, "changes": changes});
        let made = call(&self.client, Method::POST, &self.path("changes"), &body).await;
        assert_eq!(made["applied"], true, "{made}");
    }

    /// All rows with their entity tags.
    async fn rows(&self) -> Value {
        call(&self.client, Method::GET, &self.path("rows?limit=1000"), &Value::Null).await["items"].clone()
    }

    async fn export(&self) -> Vec<u8> {
        let answer = self.client.send(Method::GET, &self.path("rows.xlsx"), Vec::new()).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, WORKBOOK));
        assert_eq!(answer.header("content-disposition"), "attachment; filename=\"Tasks.xlsx\"");
        answer.body
    }

    async fn send(&self, query: &str, workbook: Vec<u8>) -> Answer {
        let path = self.path(&format!("rows.xlsx{query}"));
        self.client.send_with(Method::POST, &path, &[("content-type", WORKBOOK)], workbook).await.unwrap()
    }

    async fn import(&self, query: &str, workbook: Vec<u8>) -> Value {
        let answer = self.send(query, workbook).await;
        assert_eq!(answer.status.as_u16(), 200, "{}", answer.text());
        answer.json()
    }
}

async fn call(client: &Client, method: Method, path: &str, body: &Value) -> Value {
    let answer = client.send_json(method, path, body).await.unwrap();
    assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
    answer.json()
}

fn part(workbook: &[u8], name: &str) -> String {
    let mut archive = ZipArchive::new(Cursor::new(workbook)).unwrap();
    let mut text = String::new();
    archive.by_name(name).unwrap().read_to_string(&mut text).unwrap();
    text
}

/// The workbook with another sheet.
fn with_sheet(workbook: &[u8], sheet: &str) -> Vec<u8> {
    let mut archive = ZipArchive::new(Cursor::new(workbook)).unwrap();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for at in 0..archive.len() {
        let file = archive.by_index_raw(at).unwrap();
        if file.name().is_ok_and(|name| name == "xl/worksheets/sheet1.xml") {
            writer.start_file("xl/worksheets/sheet1.xml", SimpleFileOptions::default()).unwrap();
            writer.write_all(sheet.as_bytes()).unwrap();
        } else {
            writer.raw_copy_file(file).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

/// A value of each kind that is hard to keep.
fn odd_rows(person: &str) -> Vec<Value> {
    let texts = [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "'quoted",
        "''",
        "007",
        "1e5",
        "TRUE",
        "2026-11-28",
        "#N/A",
        "_x0041_",
        "_x005F_x0041_",
        "_x0041\n",
        "a\r\nb\nc\rd",
        "\ta\t",
        "\u{fffe}\u{ffff}",
        "\u{1f600}",
        "שלום \u{202e}abc",
        "  spaces  ",
        "<b>&amp;</b> \"x\" ]]>",
        "\u{feff}mark",
        "e\u{301}",
        "\u{2028}",
    ];
    let rows = texts.into_iter().map(|text| json!({ "Title": text, "Note": text }));
    let notes =
        ["   ".to_owned(), "\n".to_owned(), "é".repeat(32_767), "\u{1f600}".repeat(16_384), "x\n".repeat(30_000)];
    let rows = rows.chain(notes.into_iter().map(|note| json!({ "Title": "note", "Note": note })));
    let numbers = [0.1, -3.0, 1e300, f64::MAX, f64::MIN, 5e-324, 1.0 / 3.0, 123_456_789_012_345_680.0, 1e21, 1e-7];
    let rows = rows.chain(numbers.map(|number| json!({ "Title": "number", "Number": number })));
    let days = [
        "2026-11-28",
        "1900-02-28",
        "1900-03-01",
        "1899-12-31",
        "1970-01-01",
        "2026-11-28T12:34:56Z",
        "2026-11-28T12:34:56.789Z",
        "2026-11-28T12:34:56.000001Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999Z",
        "9999-12-31T23:59:59.999999Z",
    ];
    let rows = rows.chain(days.map(|day| json!({ "Title": "day", "Day": day })));
    rows.chain([
        json!({ "Title": "choice", "Choice": " in work " }),
        json!({ "Title": "choice", "Choice": "=done" }),
        json!({ "Title": "others", "Yes": true, "Who": person, "Link": "https://example.org/?a=1&b=%20#c" }),
        json!({ "Title": "others", "Yes": false, "Link": "mailto:anna@example.org" }),
        json!({ "Title": "empty" }),
    ])
    .collect()
}

async fn come_back(engine: Engine) {
    let farm = Farm::on(engine).await;
    let server = farm.start();
    let columns = [
        json!({"name": "Note", "kind": "note"}),
        json!({"name": "Number", "kind": "number"}),
        json!({"name": "Day", "kind": "date"}),
        json!({"name": "Choice", "kind": "choice", "choices": [" in work ", "=done", " "]}),
        json!({"name": "Who", "kind": "person"}),
        json!({"name": "Yes", "kind": "yes-no"}),
        json!({"name": "Link", "kind": "link"}),
    ];
    let list = List::create(server.client(&farm.token()), &columns).await;
    let person = farm.json(&["user", "show", "admin"])["id"].as_str().unwrap().to_owned();
    let rows = odd_rows(&person);
    let count = rows.len();
    list.add(rows).await;
    let before = list.rows().await;
    let workbook = list.export().await;
    let sheet = part(&workbook, "xl/worksheets/sheet1.xml");
    assert!(!sheet.contains("<f>"), "no formula");
    for query in ["?dry_run=true", ""] {
        let report = list.import(query, workbook.clone()).await;
        assert_eq!((&report["rows"], &report["changed"]), (&json!(count), &json!(count)), "{report}");
        assert_eq!((&report["added"], &report["refused"]), (&json!(0), &json!(0)), "{report}");
        assert_eq!(list.rows().await, before, "nothing has changed, so no row has another version");
    }

    // One changed cell changes one row, a text that was cut cannot be saved, and a row without a number is added.
    let cut = "characters are too many for Excel";
    assert_eq!(sheet.matches(cut).count(), 2);
    let changed = sheet.replacen("=1+1</t>", "=2+2</t>", 1).replacen("<t xml:space=\"preserve\">x\n", "<t>y", 1);
    let more = "<row><c r=\"B1048576\" t=\"str\"><f>1+1</f><v>new</v></c><c t=\"b\"><v>1</v></c>\
        <c s=\"3\"><v>0.5</v></c></row><row><c r=\"B1048576\" t=\"e\"><v>#N/A</v></c></row>";
    let more = more.replacen("1048576", &(count + 2).to_string(), 1).replacen("1048576", &(count + 3).to_string(), 1);
    let changed = with_sheet(&workbook, &changed.replace("</sheetData>", &format!("{more}</sheetData>")));
    let report = list.import("", changed).await;
    assert_eq!((&report["rows"], &report["added"]), (&json!(count + 2), &json!(1)), "{report}");
    let lines: Vec<u64> =
        report["refusals"].as_array().unwrap().iter().map(|row| row["line"].as_u64().unwrap()).collect();
    let long = before.as_array().unwrap().iter().position(|row| row["values"].to_string().contains("x\\nx")).unwrap();
    assert_eq!(lines, [long as u64 + 2, count as u64 + 3], "{report}");
    let after = list.rows().await;
    let differs = |at: &usize| after[*at] != before[*at];
    assert_eq!((0..count).filter(differs).collect::<Vec<_>>(), [0]);
    assert_eq!((&after[0]["title"], &after[count]["title"]), (&json!("=2+2"), &json!("new")));
    let values: Vec<&Value> = after[count]["values"].as_object().unwrap().values().collect();
    assert!(values.contains(&&json!("true")) && values.contains(&&json!(0.5)), "{values:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_come_back_unchanged_on_sqlite() {
    come_back(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_come_back_unchanged_on_postgres() {
    come_back(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_workbooks_are_refused_and_cost_the_server_nothing() {
    let farm = Farm::on(Engine::Sqlite).await;
    let mut server = farm.start();
    let list = List::create(server.client(&farm.token()), &[json!({"name": "Number", "kind": "number"})]).await;
    let empty = list.export().await;
    let sheet = |rows: &str| {
        let text = part(&empty, "xl/worksheets/sheet1.xml");
        with_sheet(&empty, &text.replace("</sheetData>", &format!("{rows}</sheetData>")))
    };
    let one = |row: u32| format!("<row r=\"{row}\"><c r=\"B{row}\" t=\"inlineStr\"><is><t>a</t></is></c></row>");
    let long_text = format!("<c t=\"str\"><v>{}</v></c>", "x".repeat(5 << 20));
    let began = processes::memory(server.pid(), "VmHWM");
    for (what, workbook, status, code) in [
        ("text", b"Title\nAnna".to_vec(), 422, "not_readable"),
        ("an old workbook", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec(), 422, "not_readable"),
        ("half", empty[..empty.len() / 2].to_vec(), 422, "not_readable"),
        ("a far cell", sheet("<row r=\"1048576\"><c r=\"XFD1048576\"><v>1</v></c></row>"), 413, "too_large"),
        ("rows", sheet(&(2..=5_002).map(one).collect::<String>()), 400, "too_much_at_once"),
        ("spaces", sheet(&" ".repeat(100 << 20)), 422, "not_readable"),
        ("elements", sheet(&"<x/>".repeat(20 << 20)), 413, "too_large"),
        ("texts", sheet(&format!("<row>{0}{0}</row>", long_text)), 413, "too_large"),
        ("more than 10 MiB", vec![b'P'; (10 << 20) + 1], 413, "too_large"),
    ] {
        let begun = Instant::now();
        let answer = list.send("", workbook).await;
        let said = (answer.status.as_u16(), answer.json()["code"].clone());
        assert_eq!(said, (status, json!(code)), "{what}: {}", answer.text());
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
    }
    assert!(server.is_alive());
    let grown = processes::memory(server.pid(), "VmHWM").saturating_sub(began);
    assert!(grown < 48 << 10, "{grown} KiB");
    assert_eq!(list.rows().await, json!([]));
    let answer = list.send("?sheet=Other", sheet("")).await;
    assert_eq!((answer.status.as_u16(), answer.json()["code"].clone()), (422, json!("not_readable")));
    let report = list.import("?sheet=tasks", sheet(&one(7))).await;
    assert_eq!((&report["added"], &report["refused"]), (&json!(1), &json!(0)), "{report}");
    let answer = list.client.send(Method::POST, &list.path("rows.xlsx"), sheet("")).await.unwrap();
    assert_eq!(answer.json()["code"], "unsupported_media_type");
}

/// Downloads a workbook. Returns it with the KiB of memory that the server took more at most meanwhile.
async fn watched(list: &List, server: u32) -> (Vec<u8>, u64) {
    let resident = || processes::memory(server, "RssAnon");
    let (before, mut most) = (resident(), 0);
    let downloading = list.export();
    tokio::pin!(downloading);
    loop {
        tokio::select! {
            workbook = &mut downloading => return (workbook, most),
            // sleep: a sample of the memory is taken now and then, while the download goes on
            () = tokio::time::sleep(Duration::from_millis(10)) => most = most.max(resident().saturating_sub(before)),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_export_of_many_rows_takes_little_memory() {
    const ROWS: usize = 20_000;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let list = List::create(server.client(&farm.token()), &[json!({"name": "Note", "kind": "note"})]).await;
    for batch in 0..ROWS / 1_000 {
        let note = |row: usize| {
            (0..200)
                .map(|word| format!("{:08x}", ((batch * 1_000 + row) * 2_654_435_761) ^ (word * 40_503)))
                .collect::<String>()
        };
        let changes: Vec<Value> =
            (0..1_000).map(|row| json!({"set": {"Title": format!("row {row}"), "Note": note(row)}})).collect();
        for part in changes.chunks(500) {
            call(&list.client, Method::POST, &list.path("changes"), &json!({ "changes": part })).await;
        }
    }
    // The search index takes memory while it follows.
    wait_until_indexed_within(&list.client, Duration::from_secs(300)).await;
    // The first export fills caches, too.
    let (first, _) = watched(&list, server.pid()).await;
    let (workbook, most) = watched(&list, server.pid()).await;
    assert_eq!(first.len(), workbook.len());
    let unpacked = part(&workbook, "xl/worksheets/sheet1.xml");
    assert_eq!(unpacked.matches("<row ").count(), ROWS + 1);
    println!("{} bytes, {} unpacked, {most} KiB more", workbook.len(), unpacked.len());
    assert!(unpacked.len() > 48 << 20);
    assert!(most < 24 << 10, "{most} KiB");
}
