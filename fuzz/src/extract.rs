//! Fuzzes what previews show. An input is a document. For office documents, one that begins with `p` instead holds the
//! parts of a document, separated by a byte 255, because mutated archives rarely pass their checksums.

use std::io::{Cursor, Write};

use search::extract::{Content, Format, extract};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

fn parts(format: Format) -> &'static [&'static str] {
    match format {
        Format::Docx => &["word/document.xml"],
        Format::Pptx => &["ppt/slides/slide1.xml", "ppt/slides/slide02.xml"],
        Format::Xlsx => {
            &["xl/a.xml", "xl/sharedStrings.xml", "xl/styles.xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels"]
        }
        Format::Odt | Format::Ods => &["content.xml"],
        Format::Zip | Format::Tar | Format::TarGz | Format::Email => &[],
    }
}

fn package(format: Format, contents: &[u8]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut contents = contents.split(|byte| *byte == 0xff);
    for name in parts(format) {
        let content = match (contents.next(), *name) {
            (Some(content), _) => content,
            (None, "xl/workbook.xml") => b"<sheet r:id=\"r\"/>",
            (None, "xl/_rels/workbook.xml.rels") => b"<Relationship Id=\"r\" Target=\"a.xml\"/>",
            (None, _) => continue,
        };
        writer.start_file(*name, stored).expect("memory is enough");
        writer.write_all(content).expect("memory is enough");
    }
    writer.finish().expect("memory is enough").into_inner()
}

/// Extracts a document in the format that belongs to this file extension.
pub fn read(extension: &str, input: &[u8]) {
    let format = Format::of(extension).expect("an extension of a format");
    let found = match input {
        _ if format == Format::Email => search::readers::message(input),
        [b'p', contents @ ..] if !parts(format).is_empty() => extract(format, &package(format, contents)),
        document => extract(format, document),
    };
    let Ok(found) = found else { return };
    match found.content {
        Content::Lines(lines) => {
            assert!(lines.len() <= 2_000 && lines.iter().map(String::len).sum::<usize>() <= 256 << 10);
        }
        Content::Rows(rows) => {
            assert!(rows.len() <= 201 && rows.iter().all(|row| row.len() == rows[0].len() && row.len() <= 50));
            assert!(rows.iter().flatten().all(|cell| cell.chars().count() <= 301));
        }
        Content::Members(members) => {
            let names: usize = members.iter().map(|member| member.name.len()).sum();
            assert!(members.len() <= 1_000 && names <= 128 << 10);
        }
        Content::Message(message) => {
            assert!(message.lines.len() <= 2_000 && message.attachments.len() <= 200);
            assert!(message.lines.iter().map(String::len).sum::<usize>() <= 256 << 10);
        }
    }
}
