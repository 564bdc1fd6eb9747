//! Cells of workbooks: their types, and workbooks that are hostile, broken or larger than the limits.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail, with the reason")]

mod support;

use std::fmt::Write;
use std::time::{Duration, Instant};

use model::{Code, Timestamp};
use search::sheets::{Cell, MAX_SHEET_ROWS, Sheet, SheetRow, read};
use support::package;

const BOOK: &str = "<workbook><sheets><sheet name=\"One\" r:id=\"r1\"/></sheets></workbook>";
const RELATIONS: &str =
    "<Relationships><Relationship Id=\"r1\" Type=\"x/worksheet\" Target=\"a.xml\"/></Relationships>";
const STYLES: &str = "<styleSheet><numFmts>\
    <numFmt numFmtId=\"164\" formatCode=\"yyyy\\-mm\\-dd hh:mm &quot;UTC&quot;\"/>\
    <numFmt numFmtId=\"165\" formatCode=\"[h]:mm\"/><numFmt numFmtId=\"166\" formatCode=\"mmmm\"/></numFmts><cellXfs>\
    <xf numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf numFmtId=\"164\"/><xf numFmtId=\"21\"/><xf numFmtId=\"165\"/>\
    <xf numFmtId=\"166\"/></cellXfs></styleSheet>";

/// A workbook with these rows and shared texts.
fn workbook(book: &str, rows: &str, texts: &str) -> Vec<u8> {
    package(&[
        ("xl/workbook.xml", book),
        ("xl/_rels/workbook.xml.rels", RELATIONS),
        ("xl/styles.xml", STYLES),
        ("xl/sharedStrings.xml", &format!("<sst>{texts}</sst>")),
        ("xl/a.xml", &format!("<worksheet><sheetData>{rows}</sheetData></worksheet>")),
    ])
}

fn rows(rows: &str) -> model::Result<Sheet> {
    read(&workbook(BOOK, rows, "<si><t>shared</t></si>"), None)
}

fn day(days: i64) -> Cell {
    Cell::Date(Timestamp::from_micros(days * 86_400_000_000))
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

#[test]
fn cells_have_the_types_that_the_sheet_gives_them() {
    let sheet = rows(
        "<row r=\"2\" spans=\"1:2\"><c r=\"A2\" t=\"s\"><v>0</v></c><c r=\"C2\"><v> 1.5 </v></c><c t=\"b\"><v>1</v></c>\
         <c t=\"e\"><f>1/0</f><v>#DIV/0!</v></c><c t=\"str\"><f>A1&amp;\"x\"</f><v>re&#115;ult</v></c></row>\
         <row><c t=\"inlineStr\"><is><r><t>a</t></r><rPh><t>no</t></rPh><r><t> b</t></r></is></c>\
         <c s=\"1\"><v>46354</v></c><c s=\"2\"><v>46354.5</v></c><c s=\"3\"><v>0.5</v></c><c s=\"4\"><v>1.5</v></c>\
         <c s=\"5\"><v>46354</v></c><c s=\"1\"><v>60</v></c><c t=\"d\"><v>2026-11-28T12:00:00</v></c><c s=\"1\"/></row>\
         <row r=\"9\"/><row r=\"1048576\"><c r=\"A1048576\"><f>SUM(A1)</f></c><c r=\"IV1048576\"><v>-2E3</v></c></row>",
    );
    let noon = Cell::Date(Timestamp::from_micros(20_785 * 86_400_000_000 + 43_200_000_000));
    let first = [(0, text("shared")), (2, Cell::Number(1.5)), (3, Cell::Boolean(true))];
    let first = first.into_iter().chain([(4, Cell::Error("#DIV/0!".into())), (5, text("result"))]);
    let second = [text("a b"), day(20_785), noon.clone(), Cell::Time(43_200_000), Cell::Time(129_600_000), day(20_785)];
    let second = second.into_iter().chain([Cell::Number(60.0), noon]);
    let expected = [
        SheetRow { number: 2, cells: first.collect() },
        SheetRow { number: 3, cells: (0_u16..).zip(second).collect() },
        SheetRow { number: 1_048_576, cells: vec![(255, Cell::Number(-2000.0))] },
    ];
    assert_eq!(sheet.unwrap().rows, expected);
}

#[test]
fn sheets_are_found_by_name_and_days_in_both_calendars() {
    let book = "<workbook><workbookPr date1904=\"1\"/><sheets><sheet name=\"Away\" state=\"hidden\" r:id=\"r1\"/>\
        <sheet name=\"Chart\" r:id=\"r2\"/><sheet name=\"Lists\" r:id=\"r3\"/></sheets></workbook>";
    let relations = "<Relationships><Relationship Id=\"r1\" Type=\"x/worksheet\" Target=\"a.xml\"/>\
        <Relationship Id=\"r2\" Type=\"x/chartsheet\" Target=\"b.xml\"/>\
        <Relationship Id=\"r3\" Type=\"x/worksheet\" Target=\"/xl/c.xml\"/></Relationships>";
    let sheet = |cell: &str| format!("<worksheet><sheetData><row><c{cell}</c></row></sheetData></worksheet>");
    let (hidden, shown) = (sheet("><v>1</v>"), sheet(" s=\"1\"><v>0</v>"));
    let bytes = package(&[
        ("xl/workbook.xml", book),
        ("xl/_rels/workbook.xml.rels", relations),
        ("xl/styles.xml", STYLES),
        ("xl/a.xml", &hidden),
        ("xl/c.xml", &shown),
    ]);
    let cell = |name| read(&bytes, name).map(|sheet| sheet.rows[0].cells[0].1.clone());
    assert_eq!(cell(None).unwrap(), day(-24_107), "1904-01-01");
    assert_eq!(cell(Some("lists")).unwrap(), day(-24_107));
    assert_eq!(cell(Some("Away")).unwrap(), Cell::Number(1.0));
    for missing in ["Chart", "Other"] {
        assert_eq!(cell(Some(missing)).unwrap_err().code(), Code::NotReadable, "{missing}");
    }
}

#[test]
fn texts_are_read_with_their_escapes() {
    let bytes = workbook(
        BOOK,
        "<row><c t=\"s\"><v>0</v></c><c t=\"s\"><v>2</v></c><c t=\"s\"><v>1</v></c><c t=\"s\"><v>3</v></c></row>",
        "<si><t>_x005F_x0041_ &lt;&#x1F600;\n_x0001_</t></si><si/><si><r><t>a</t></r><r><t>b</t></r></si>\
         <si><t xml:space=\"preserve\">  </t></si>",
    );
    let row = read(&bytes, None).unwrap().rows.remove(0);
    assert_eq!(row.cells, [(0, text("_x0041_ <\u{1f600}\n\u{1}")), (1, text("ab")), (3, text("  "))]);
}

/// Rows of a kind that no program writes, each with its code.
#[test]
fn sheets_that_can_be_understood_in_two_ways_are_refused() {
    for bad in [
        "<row r=\"0\"/>",
        "<row r=\"1048577\"/>",
        "<row r=\"99999999999\"/>",
        "<row r=\"x\"/>",
        "<row r=\"2\"/><row r=\"2\"/>",
        "<row r=\"2\"/><row r=\"1\"/>",
        "<row r=\"1\"><c r=\"A2\"><v>1</v></c></row>",
        "<row r=\"1\"><c r=\"B1\"><v>1</v></c><c r=\"A1\"><v>1</v></c></row>",
        "<row r=\"1\"><c r=\"A1\"><v>1</v></c><c r=\"A1\"><v>1</v></c></row>",
        "<row><c r=\"AAAA1\"><v>1</v></c></row>",
        "<row><c r=\"XFE1\"><v>1</v></c></row>",
        "<row><c r=\"1\"><v>1</v></c></row>",
        "<row><c r=\"A-1\"><v>1</v></c></row>",
        "<row><c r=\"é1\"><v>1</v></c></row>",
        "<c><v>1</v></c>",
        "<row><c><v>1</v><row></row></c></row>",
        "<row><c><v>1</v><c><v>2</v></c></c></row>",
        "<row><c><v>1</v></row>",
        "<row><c><v>1</c><c><f>2</f></c></row>",
        "<row r=\"1\"><c><v>1</v></c></row><c><v>2</v></c></row>",
        "<row r=\"1\"><c><v>1</v></c></row><x><c><v>2</v></c></x>",
        "<row><c><v>1</v></c><row><c><v>1</v></c></row></row>",
        "<row><c><v>one</v></c></row>",
        "<row><c><v>inf</v></c></row>",
        "<row><c><v>1e999</v></c></row>",
        "<row><c t=\"s\"><v>9</v></c></row>",
        "<row><c t=\"s\"><v>-1</v></c></row>",
        "<row><c t=\"b\"><v>2</v></c></row>",
        "<row><c t=\"d\"><v>tomorrow</v></c></row>",
        "<row><c t=\"unknown\"><v>1</v></c></row>",
        "<row><c t=\"str\"><v>&own;</v></c></row>",
        "<row><c t=\"inlineStr\"><is><t>&own;</t></is></c></row>",
        "<row><c t=\"str\"><v>a",
    ] {
        assert_eq!(rows(bad).unwrap_err().code(), Code::NotReadable, "{bad}");
    }
}

#[test]
fn broken_files_are_refused() {
    let whole = workbook(BOOK, "<row><c t=\"s\"><v>0</v></c></row>", "<si><t>shared</t></si>");
    assert!(read(&whole, None).is_ok());
    for end in (0..whole.len()).step_by(7) {
        assert!(read(&whole[..end], None).is_err(), "cut at {end}");
    }
    let refused = |bytes: &[u8]| read(bytes, None).unwrap_err().code();
    assert_eq!(refused(b"Title\nAnna"), Code::NotReadable);
    assert_eq!(refused(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), Code::NotReadable);
    assert_eq!(refused(&package(&[("word/document.xml", "<w/>")])), Code::NotReadable);
    let without_end = package(&[
        ("xl/workbook.xml", BOOK),
        ("xl/_rels/workbook.xml.rels", RELATIONS),
        ("xl/a.xml", "<worksheet><sheetData><row><c><v>1</v></c></row>"),
    ]);
    assert_eq!(refused(&without_end), Code::NotReadable);
    // The bytes of the sheet do not have their checksum, which stands at the end of the part.
    let at = whole.windows(4).rposition(|four| four == b"PK\x03\x04").unwrap();
    let end = at + whole[at..].windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let survivors = (at + 40..end).filter(|place| {
        let mut damaged = whole.clone();
        damaged[*place] ^= 1;
        read(&damaged, None).is_ok_and(|sheet| sheet != read(&whole, None).unwrap())
    });
    assert_eq!(survivors.count(), 0);
}

#[test]
fn what_is_larger_than_the_limits_is_refused_in_time() {
    let began = Instant::now();
    let code = |bytes: &[u8]| read(bytes, None).unwrap_err().code();
    let number = "<row><c><v>1</v></c></row>";
    assert!(rows(&number.repeat(MAX_SHEET_ROWS)).is_ok());
    assert_eq!(rows(&number.repeat(MAX_SHEET_ROWS + 1)).unwrap_err().code(), Code::TooMuchAtOnce);
    // Empty rows and cells are not counted.
    let empty = "<row><c s=\"1\"/><c><v></v></c></row>";
    assert_eq!(rows(&(empty.repeat(100_000) + number)).unwrap().rows[0].number, 100_001);
    assert_eq!(rows("<row><c r=\"IW1\"><v>1</v></c></row>").unwrap_err().code(), Code::TooLarge);
    assert!(rows("<row><c r=\"XFD1\" s=\"1\"/></row>").unwrap().rows.is_empty());
    let wide = format!("<row>{}</row>", "<c><v>1</v></c>".repeat(256));
    assert_eq!(rows(&wide.repeat(1_954)).unwrap_err().code(), Code::TooLarge, "half a million cells");
    let mut far = String::new();
    (1..=500_000).for_each(|row| write!(far, "<row r=\"{row}\"><c r=\"XFD{row}\"><v>1</v></c></row>").unwrap());
    assert_eq!(rows(&far).unwrap_err().code(), Code::TooLarge);
    // One text that many cells share, long texts, and texts that no cell has.
    let shared = "<row><c t=\"s\"><v>0</v></c></row>".repeat(5_000);
    let long = format!("<si><t>{}</t></si>", "x".repeat(32_767));
    assert_eq!(code(&workbook(BOOK, &shared, &long)), Code::TooLarge);
    let one = "<row><c t=\"s\"><v>0</v></c></row>";
    assert_eq!(
        code(&workbook(BOOK, one, &format!("<si>{}</si>", "<t>a</t>".repeat(1 << 20).repeat(8)))),
        Code::TooLarge
    );
    assert!(read(&workbook(BOOK, one, &("<si><t>a</t></si>".to_owned() + &long.repeat(500))), None).is_ok());
    let inline = format!("<row><c t=\"str\"><v>{}</v></c></row>", "x&amp;".repeat(5 << 20));
    assert_eq!(rows(&inline).unwrap_err().code(), Code::TooLarge);
    // Gigabytes that are packed into kilobytes: before the cells, among them, and behind them.
    let spaces = " ".repeat(70 << 20);
    for sheet in [format!("{spaces}{number}"), format!("{number}{spaces}{number}"), format!("{number}{spaces}")] {
        let bytes = workbook(BOOK, &sheet, "");
        assert!(bytes.len() < 1 << 20);
        assert!(matches!(code(&bytes), Code::TooLarge | Code::NotReadable));
    }
    let entities: String = (1..1_000).map(|i| format!("<!ENTITY e{i} \"&e{0};&e{0};\">", i - 1)).collect();
    let book = format!("<!DOCTYPE x [{entities}]>{BOOK}");
    assert!(read(&workbook(&book, number, ""), None).is_ok(), "nothing is resolved");
    let deep = "<c>".repeat(1 << 20);
    assert_eq!(rows(&format!("<row>{deep}</row>")).unwrap_err().code(), Code::NotReadable);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}
