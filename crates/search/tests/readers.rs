//! Texts of documents for the search index: from office programs, mail programs, cameras, and from malicious files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail, with the reason")]

mod support;

use std::io::{Cursor, Write};

use model::Code;
use search::readers::{DocumentText, MAX_TEXT_BYTES, ReadableFormat, read};
use support::package;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn document(name: &str) -> Vec<u8> {
    std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents").join(name)).unwrap()
}

fn read_document(name: &str) -> DocumentText {
    read(ReadableFormat::of("", name).unwrap(), &document(name)).unwrap()
}

fn lines(text: &DocumentText) -> Vec<&str> {
    text.text.lines().filter(|line| !line.trim().is_empty()).collect()
}

#[test]
fn documents_of_office_programs_are_read() {
    for name in ["text.docx", "text.odt", "text.pdf"] {
        let text = read_document(name);
        let words = lines(&text).join(" ");
        for said in ["The board met on 3 November & agreed", "Größe prüfen – 東", "Müller", "End."] {
            assert!(words.contains(said), "{name}: {words}");
        }
        assert!(!text.is_cut, "{name}");
    }
    assert!(lines(&read_document("slides.pptx")).join(" ").contains("A new roof Costs and time Grüße"));
    let sheet = read_document("table.xlsx");
    let rows: Vec<Vec<&str>> = lines(&sheet).into_iter().map(|line| line.split('\t').collect()).collect();
    assert!(rows.contains(&vec!["Müller", "1234.5", "2026-11-03", "08:30", "2026-11-03 17:05"]), "{rows:?}");
    assert!(lines(&read_document("table.ods")).contains(&"1,234.50"));
}

#[test]
fn notes_comments_margins_and_properties_are_read() {
    let core = "<cp:coreProperties><dc:title>Annual report</dc:title><dc:creator>Mia Roth</dc:creator>\
                <dc:subject>figures</dc:subject></cp:coreProperties>";
    let paragraph = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    let docx = package(&[
        ("word/document.xml", &paragraph("body")),
        ("word/header1.xml", &paragraph("above")),
        ("word/footnotes.xml", &paragraph("note")),
        ("word/comments.xml", "<w:comment><w:p><w:t>unclosed"),
        ("docProps/core.xml", core),
    ]);
    let text = read(ReadableFormat::Docx, &docx).unwrap();
    assert_eq!((text.title.as_str(), text.author.as_str()), ("Annual report", "Mia Roth"));
    assert_eq!(lines(&text), ["body", "above", "note", "unclosed", "figures"]);
    let slide = |text: &str| format!("<p:sld><a:p><a:t>{text}</a:t></a:p></p:sld>");
    let pptx = package(&[
        ("ppt/slides/slide10.xml", &slide("tenth")),
        ("ppt/slides/slide2.xml", &slide("second")),
        ("ppt/notesSlides/notesSlide2.xml", &slide("to be said")),
    ]);
    assert_eq!(lines(&read(ReadableFormat::Pptx, &pptx).unwrap()), ["second", "tenth", "to be said"]);
    let odt = package(&[
        (
            "content.xml",
            "<text:p>body<text:note><text:note-body><text:p>note</text:p></text:note-body></text:note></text:p>",
        ),
        (
            "styles.xml",
            "<style:style><text:p>sample</text:p></style:style><style:header><text:p>above</text:p></style:header>",
        ),
        ("meta.xml", "<office:meta><dc:title>Letter</dc:title><meta:keyword>roof</meta:keyword></office:meta>"),
    ]);
    let text = read(ReadableFormat::OpenDocument, &odt).unwrap();
    assert_eq!(text.title, "Letter");
    assert_eq!(text.text.split_whitespace().collect::<Vec<_>>(), ["bodynote", "above", "roof"]);
}

#[test]
fn all_sheets_are_read() {
    let sheet = |cells: &str| format!("<worksheet><sheetData><row r=\"1\">{cells}</row></sheetData></worksheet>");
    let shared = "<c t=\"s\"><v>0</v></c><c><v>42</v></c>";
    let inline = "<c t=\"inlineStr\"><is><t>roof</t></is></c><c t=\"s\"><v>9</v></c>";
    let xlsx = package(&[
        ("xl/workbook.xml", "<workbook><sheet name=\"Costs\"/><sheet name=\"Plan\"/></workbook>"),
        ("xl/worksheets/sheet1.xml", &sheet(shared)),
        ("xl/worksheets/sheet2.xml", &sheet(inline)),
        ("xl/sharedStrings.xml", "<sst><si><r><t>Mül</t></r><r><t>ler</t></r><rPh><t>x</t></rPh></si></sst>"),
        ("xl/comments1.xml", "<comments><comment><text><r><t>ask him</t></r></text></comment></comments>"),
    ]);
    let text = read(ReadableFormat::Xlsx, &xlsx).unwrap();
    assert_eq!(lines(&text), ["Costs", "Plan", "Müller\t42", "roof", "ask him"]);
}

#[test]
fn books_are_read_in_the_order_of_their_pages() {
    let epub = package(&[
        ("META-INF/container.xml", "<container><rootfile full-path=\"a/book.opf\"/></container>"),
        (
            "a/book.opf",
            "<package><metadata><dc:title>A book</dc:title><dc:creator>Mia Roth</dc:creator></metadata><manifest>\
             <item id=\"two\" href=\"../text/two%20b.xhtml\"/><item id=\"one\" href=\"one.xhtml\"/></manifest>\
             <spine><itemref idref=\"one\"/><itemref idref=\"gone\"/><itemref idref=\"two\"/></spine></package>",
        ),
        ("a/one.xhtml", "<html><title>x</title><p>first page</p></html>"),
        ("text/two b.xhtml", "<p>second page"),
    ]);
    let text = read(ReadableFormat::Epub, &epub).unwrap();
    assert_eq!((text.title.as_str(), text.author.as_str()), ("A book", "Mia Roth"));
    assert_eq!(lines(&text), ["first page", "second page"]);
}

const MESSAGE: &str = "From: Mia Roth <mia@example.org>\r\nTo: board@example.org\r\n\
    Subject: =?utf-8?Q?Gr=C3=B6=C3=9Fe?= of the roof\r\nMIME-Version: 1.0\r\n\
    Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html; charset=iso-8859-1\r\n\
    Content-Transfer-Encoding: quoted-printable\r\n\r\n<p>Sch=F6ne <b>Gr=FC=DFe</b></p>\r\n--b\r\n\
    Content-Type: text/plain; name=\"offer.txt\"\r\nContent-Disposition: attachment; filename=\"offer.txt\"\r\n\r\n\
    Slates for 900\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\nforwarded words\r\n--b--\r";

#[test]
fn messages_are_read_with_their_attachments() {
    let text = read(ReadableFormat::Email, MESSAGE.as_bytes()).unwrap();
    assert_eq!(text.title, "Größe of the roof");
    assert_eq!(text.author, "Mia Roth mia@example.org");
    let words = lines(&text).join(" ");
    for said in ["board@example.org", "Schöne Grüße", "offer.txt", "Slates for 900", "inner", "forwarded words"] {
        assert!(words.contains(said), "{said}: {words}");
    }
    for length in 0..MESSAGE.len() {
        // Neither panics nor hangs; the result does not matter.
        let _ = read(ReadableFormat::Email, &MESSAGE.as_bytes()[..length]);
    }
}

#[test]
fn messages_of_outlook_are_read() {
    let mut file = cfb::CompoundFile::create(Cursor::new(Vec::new())).unwrap();
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    file.create_storage("/__attach_version1.0_#00000000").unwrap();
    for (path, bytes) in [
        ("/__substg1.0_0037001F", utf16("Größe of the roof")),
        ("/__substg1.0_0C1A001E", b"Mia R\xf6th".to_vec()),
        ("/__substg1.0_10130102", b"<p>See the <i>offer</i>".to_vec()),
        ("/__attach_version1.0_#00000000/__substg1.0_3707001F", utf16("offer.rtf")),
        ("/__attach_version1.0_#00000000/__substg1.0_37010102", b"{\\rtf1 Slates}".to_vec()),
    ] {
        file.create_stream(path).unwrap().write_all(&bytes).unwrap();
    }
    let bytes = file.into_inner().into_inner();
    let text = read(ReadableFormat::Outlook, &bytes).unwrap();
    assert_eq!((text.title.as_str(), text.author.as_str()), ("Größe of the roof", "Mia Röth"));
    assert_eq!(lines(&text), ["Größe of the roof", "Mia Röth", "See the offer", "offer.rtf", "Slates"]);
    for length in (0..bytes.len()).step_by(97) {
        let _ = read(ReadableFormat::Outlook, &bytes[..length]);
    }
}

#[test]
fn names_in_archives_are_read() {
    let zip = package(&[("plans/Größe.dwg", ""), ("readme.txt", "not read")]);
    assert_eq!(lines(&read(ReadableFormat::Zip, &zip).unwrap()), ["plans/Größe.dwg", "readme.txt"]);
    let mut tar = tar::Builder::new(Vec::new());
    let long = format!("{}/plan.dwg", "long".repeat(40));
    for name in ["readme.txt", &long] {
        let mut header = tar::Header::new_gnu();
        header.set_size(4);
        tar.append_data(&mut header, name, &b"text"[..]).unwrap();
    }
    let tar = tar.into_inner().unwrap();
    assert_eq!(lines(&read(ReadableFormat::Tar, &tar).unwrap()), ["readme.txt", &long]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&tar).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(lines(&read(ReadableFormat::TarGz, &packed).unwrap()), ["readme.txt", &long]);
    let cut = read(ReadableFormat::TarGz, &packed[..packed.len() - 20]).unwrap();
    assert!(cut.is_cut || lines(&cut).len() == 2);
    assert_eq!(read(ReadableFormat::Tar, &[7; 4096]).unwrap_err().code(), Code::NotReadable);
}

/// A JPEG with a segment (ISO/IEC 10918-1, B.1.1.4) of this marker.
fn jpeg(marker: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 2).unwrap().to_be_bytes();
    [&[0xff, 0xd8, 0xff, marker][..], &length, content, &[0xff, 0xda, 0, 2, 0xff, 0xd9]].concat()
}

#[test]
fn metadata_of_pictures_are_read() {
    // TIFF with one directory of two entries: description and artist, which lie behind it.
    let entry = |tag: u16, text: &str, at: u32| {
        let length = u32::try_from(text.len()).unwrap();
        [&tag.to_be_bytes()[..], &2_u16.to_be_bytes(), &length.to_be_bytes(), &at.to_be_bytes()].concat()
    };
    let (description, artist) = ("the old roof\0", "Mia Roth\0");
    let exif = [
        &b"Exif\0\0MM\0*\0\0\0\x08\0\x02"[..],
        &entry(0x010e, description, 38),
        &entry(0x013b, artist, 38 + 13),
        &[0; 4],
        description.as_bytes(),
        artist.as_bytes(),
    ]
    .concat();
    let text = read(ReadableFormat::Picture, &jpeg(0xe1, &exif)).unwrap();
    assert_eq!((text.author.as_str(), text.text.as_str()), ("Mia Roth", "the old roof"));
    let iptc = [
        &b"Photoshop 3.0\08BIM\x04\x04\0\0\0\0\0\x1a\x1c\x02\x05\0\x04roof"[..],
        b"\x1c\x02\x19\0\x07Z\xc3\xbcrich\x1c\x02\x50\0\xff",
    ]
    .concat();
    let text = read(ReadableFormat::Picture, &jpeg(0xed, &iptc)).unwrap();
    assert_eq!((text.title.as_str(), text.text.as_str()), ("roof", "Zürich"));
    let xmp = "<x:xmpmeta><dc:title><rdf:Alt><rdf:li>Roof</rdf:li></rdf:Alt></dc:title><dc:subject><rdf:Bag>\
               <rdf:li>slate</rdf:li><rdf:li>1920s</rdf:li></rdf:Bag></dc:subject><x:other>no</x:other></x:xmpmeta>";
    let text = read(ReadableFormat::Picture, &jpeg(0xe1, xmp.as_bytes())).unwrap();
    assert_eq!((text.title.as_str(), text.text.as_str()), ("Roof", "slate\n1920s"));
    assert_eq!(read(ReadableFormat::Picture, &jpeg(0xe0, b"JFIF")).unwrap(), DocumentText::default());
    assert_eq!(read(ReadableFormat::Picture, b"text").unwrap_err().code(), Code::NotReadable);
}

#[test]
fn documents_cut_anywhere_are_read_or_refused() {
    for name in ["text.pdf", "text.docx", "table.xlsx", "text.odt"] {
        let whole = document(name);
        let format = ReadableFormat::of("", name).unwrap();
        for length in (0..whole.len()).step_by(whole.len() / 40) {
            let read = read(format, &whole[..length]);
            assert!(read.is_ok() || read.is_err_and(|error| error.code() == Code::NotReadable), "{name} {length}");
        }
    }
    for format in (0..=u8::MAX).filter_map(ReadableFormat::from_number) {
        for bytes in [&b""[..], &[0; 4096], b"PK\x05\x06aaaaaaaaaaaaaaaaaaaaaaaaa", b"%PDF-1.7", b"\xd0\xcf\x11\xe0"] {
            if let Err(error) = read(format, bytes) {
                assert_eq!(error.code(), Code::NotReadable, "{format:?} {bytes:?}");
            }
        }
    }
}

#[test]
fn what_unpacks_to_more_is_bounded() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("word/document.xml", SimpleFileOptions::default()).unwrap();
    let piece = "<w:p><w:r><w:t>bomb</w:t></w:r></w:p>".repeat(30_000);
    for _ in 0..100 {
        writer.write_all(piece.as_bytes()).unwrap();
    }
    let bomb = writer.finish().unwrap().into_inner();
    let text = read(ReadableFormat::Docx, &bomb).unwrap();
    assert!(text.is_cut);
    assert!(text.text.len() <= MAX_TEXT_BYTES);
    // A message in a message, a thousand times.
    let deep = "Content-Type: message/rfc822\r\n\r\n".repeat(1_000) + "Subject: deep\r\n\r\nwords";
    read(ReadableFormat::Email, deep.as_bytes()).unwrap();
    let laughs = package(&[(
        "content.xml",
        "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b SYSTEM \"file:///etc/passwd\">]><text:p>1&a;&b;2</text:p>",
    )]);
    assert_eq!(read(ReadableFormat::OpenDocument, &laughs).unwrap().text, "12");
}
