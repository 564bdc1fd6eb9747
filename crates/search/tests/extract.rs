//! Text extraction from documents written by office programs and common libraries, and from malicious files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail, with the reason")]

mod support;

use std::io::{Cursor, Write};

use search::extract::{Content, Extract, Format, extract};
use support::package;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn document(name: &str) -> Extract {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents").join(name);
    let format = Format::of(name.rsplit_once('.').unwrap().1).unwrap();
    extract(format, &std::fs::read(path).unwrap()).unwrap()
}

fn lines(extract: Extract) -> Vec<String> {
    let Content::Lines(lines) = extract.content else { unreachable!("it is no text: {extract:?}") };
    lines
}

fn rows(extract: Extract) -> Vec<Vec<String>> {
    let Content::Rows(rows) = extract.content else { unreachable!("it is no table: {extract:?}") };
    rows
}

#[test]
fn texts_of_writer_are_read_in_both_formats() {
    for name in ["text.docx", "text.odt"] {
        let text = lines(document(name));
        let said: Vec<&str> = text.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
        assert_eq!(
            said,
            [
                "Minutes of the board",
                "The board met on 3 November & agreed.",
                "Buy apples",
                "Größe prüfen – 東京",
                "Name",
                "Sum",
                "Müller",
                "12",
                "End."
            ],
            "{name}"
        );
    }
}

#[test]
fn slides_are_apart() {
    assert_eq!(lines(document("slides.pptx")), ["A new roof", "Costs", "and time", "", "Grüße"]);
}

#[test]
fn the_first_sheet_is_read_with_days_and_times() {
    assert_eq!(
        rows(document("table.xlsx")),
        [
            ["Name", "Amount", "Due", "Time", "Stamp"],
            ["Müller", "1234.5", "2026-11-03", "08:30", "2026-11-03 17:05"],
            ["Smith & Sons", "7", "2025-01-31", "", ""],
        ]
    );
    let ods = document("table.ods");
    assert!(!ods.more, "rows that only fill the sheet are no more");
    assert_eq!(rows(ods), [["Name", "Amount"], ["Müller", "1,234.50"], ["Smith & Sons", "7"]]);
}

#[test]
fn what_is_long_is_cut_and_says_so() {
    let body = "<w:p><w:r><w:t>line</w:t></w:r></w:p>".repeat(3_000);
    let long = package(&[("word/document.xml", &format!("<w:document><w:body>{body}</w:body></w:document>"))]);
    let found = extract(Format::Docx, &long).unwrap();
    assert!(found.more);
    assert_eq!(lines(found).len(), 2_000);
    let one = package(&[("word/document.xml", &format!("<w:p><w:t>{}</w:t></w:p>", "ü".repeat(1 << 20)))]);
    let found = extract(Format::Docx, &one).unwrap();
    assert!(found.more);
    assert_eq!(lines(found).concat().len(), 256 << 10);
    let row = |r: usize| format!("<row r=\"{r}\"><c r=\"A{r}\"><v>{r}</v></c><c r=\"ZZ{r}\"><v>9</v></c></row>");
    let sheet: String = (1..=1_000).map(row).collect();
    let wide = package(&[
        ("xl/workbook.xml", "<workbook><sheets><sheet name=\"a\" r:id=\"r1\"/></sheets></workbook>"),
        (
            "xl/_rels/workbook.xml.rels",
            "<Relationships><Relationship Id=\"r1\" Target=\"worksheets/a.xml\"/></Relationships>",
        ),
        ("xl/worksheets/a.xml", &format!("<worksheet><sheetData>{sheet}</sheetData></worksheet>")),
    ]);
    let found = extract(Format::Xlsx, &wide).unwrap();
    assert!(found.more);
    let rows = rows(found);
    assert_eq!((rows.len(), rows[0].len(), rows[200][0].as_str()), (201, 1, "201"));
}

#[test]
fn what_is_aside_is_left_out() {
    let odt = package(&[(
        "content.xml",
        "<office:body> <text:p>a<office:annotation><text:p>note</text:p></office:annotation>b<text:s \
        text:c=\"3\"/>c</text:p> </office:body>",
    )]);
    assert_eq!(lines(extract(Format::Odt, &odt).unwrap()), ["ab   c"]);
    let docx = package(&[(
        "word/document.xml",
        "<w:p><mc:AlternateContent><mc:Choice><w:t>new</w:t></mc:Choice>\
         <mc:Fallback><w:t>old</w:t></mc:Fallback></mc:AlternateContent><w:instrText>PAGE</w:instrText></w:p>",
    )]);
    assert_eq!(lines(extract(Format::Docx, &docx).unwrap()), ["new"]);
}

#[test]
fn what_means_it_badly_is_refused_or_bounded() {
    let bomb = |bit: &[u8]| {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file("content.xml", SimpleFileOptions::default()).unwrap();
        let megabyte: Vec<u8> = bit.iter().copied().cycle().take(1 << 20).collect();
        for _ in 0..80 {
            writer.write_all(&megabyte).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    assert_eq!(extract(Format::Odt, &bomb(b" ")).unwrap_err().code(), "not_readable");
    let begun = "<abcdef".repeat(8) + "><g/>" + &" ".repeat(1 << 12);
    assert_eq!(extract(Format::Odt, &bomb(begun.as_bytes())).unwrap_err().code(), "too_large");
    let laughs = package(&[(
        "content.xml",
        "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><text:p>1&b;2&#33;&amp;</text:p>",
    )]);
    assert_eq!(lines(extract(Format::Odt, &laughs).unwrap()), ["12!&"]);
    let deep = format!("{}x", "<text:p>".repeat(100_000));
    extract(Format::Odt, &package(&[("content.xml", &deep)])).unwrap();
    let lying = package(&[("content.xml", "</text:p></text:p></table:table><text:p>x</text:p>")]);
    for format in [Format::Odt, Format::Ods] {
        // Neither panics nor hangs; the result does not matter.
        let _ = extract(format, &lying);
    }
    for bytes in [
        &b""[..],
        b"PK\x05\x06",
        b"PK\x05\x06aaaaaaaaaaaaaaaaaaaaaaaaa",
        b"\xd0\xcf\x11\xe0 an old document",
        &[0; 4096],
    ] {
        for format in [Format::Docx, Format::Pptx, Format::Xlsx, Format::Odt, Format::Ods] {
            assert_eq!(extract(format, bytes).unwrap_err().code(), "not_readable", "{format:?} {bytes:?}");
        }
    }
    let whole = package(&[("word/document.xml", "<w:p><w:t>x</w:t></w:p>")]);
    for cut in 0..whole.len() {
        let _ = extract(Format::Docx, &whole[..cut]);
    }
    let empty = package(&[("mimetype", "x")]);
    for format in [Format::Docx, Format::Pptx, Format::Xlsx, Format::Odt, Format::Ods] {
        assert_eq!(extract(format, &empty).unwrap_err().code(), "not_readable", "{format:?}");
    }
}
