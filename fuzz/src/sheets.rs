//! Fuzzes workbooks that are read for lists. An input is an archive. An input that begins with `p` instead holds the
//! parts of a workbook, separated by a byte 255, because mutated archives rarely pass their checksums. One that begins
//! with `t` is a text with characters that are escaped.

use std::io::{Cursor, Write};

use search::sheets::{Cell, MAX_SHEET_ROWS, escaped, moment, read as read_sheet, serial, unescaped};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const PARTS: [(&str, &[u8]); 5] = [
    ("xl/a.xml", b""),
    ("xl/sharedStrings.xml", b"<sst><si><t>a</t></si></sst>"),
    ("xl/styles.xml", b"<cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf numFmtId=\"21\"/></cellXfs>"),
    ("xl/workbook.xml", b"<workbook><sheet name=\"One\" r:id=\"r\"/></workbook>"),
    ("xl/_rels/workbook.xml.rels", b"<Relationship Id=\"r\" Type=\"/worksheet\" Target=\"a.xml\"/>"),
];

fn package(contents: &[u8]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut contents = contents.split(|byte| *byte == 0xff);
    for (name, usual) in PARTS {
        writer.start_file(name, stored).expect("memory is enough");
        writer.write_all(contents.next().unwrap_or(usual)).expect("memory is enough");
    }
    writer.finish().expect("memory is enough").into_inner()
}

/// Reads a workbook, and checks what every sheet promises.
pub fn read(input: &[u8]) {
    let sheet = match input {
        [b't', text @ ..] => {
            let text = String::from_utf8_lossy(text);
            assert_eq!(unescaped(&escaped(&text)), text);
            return;
        }
        [b'p', contents @ ..] => read_sheet(&package(contents), None),
        archive => read_sheet(archive, None),
    };
    let Ok(sheet) = sheet else { return };
    assert!(sheet.rows.len() <= MAX_SHEET_ROWS && sheet.rows.iter().all(|row| !row.cells.is_empty()));
    assert!(sheet.rows.is_sorted_by(|a, b| a.number < b.number));
    for row in &sheet.rows {
        assert!(row.cells.is_sorted_by(|a, b| a.0 < b.0) && row.cells.iter().all(|(column, _)| *column < 256));
        for (_, cell) in &row.cells {
            match cell {
                Cell::Text(text) => assert!(!text.is_empty()),
                Cell::Number(number) => assert!(number.is_finite()),
                Cell::Date(at) => {
                    let again = serial(*at).map(|number| moment(number, false));
                    assert!(again.is_none_or(|again| again == Some(*at)));
                }
                Cell::Boolean(_) | Cell::Time(_) | Cell::Error(_) => {}
            }
        }
    }
}
