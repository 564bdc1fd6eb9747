//! Cost of reading malicious files, measured as allocated bytes. No clock is involved.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail, with the reason")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use model::Code;
use search::extract::{Format, extract};
use support::package;

thread_local! {
    /// Bytes that this thread has allocated in total, those that it holds, and the maximum that it held.
    static COUNTED: Cell<(u64, i64, i64)> = const { Cell::new((0, 0, 0)) };
}

/// The system's allocator with counters per thread.
struct Counting;

fn count(asked: usize, given: usize) {
    // The counters of a thread that is ending no longer exist.
    let _ = COUNTED.try_with(|counted| {
        let (all, held, most) = counted.get();
        let held = held + asked as i64 - given as i64;
        counted.set((all + asked as u64, held, most.max(held)));
    });
}

// SAFETY: every call is passed on unchanged, and counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the pointer came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MB: u64 = 1 << 20;

/// Reads a document. Returns the bytes allocated for it, and the maximum held at one time.
fn work(format: Format, document: &[u8]) -> (u64, u64) {
    COUNTED.set((0, 0, 0));
    let read = extract(format, document);
    drop(read);
    let (all, _, most) = COUNTED.get();
    (all, most.unsigned_abs())
}

fn workbook(sheet: &str, texts: &str) -> Vec<u8> {
    package(&[
        ("xl/workbook.xml", "<workbook><sheets><sheet r:id=\"r1\"/></sheets></workbook>"),
        ("xl/_rels/workbook.xml.rels", "<Relationships><Relationship Id=\"r1\" Target=\"a.xml\"/></Relationships>"),
        ("xl/a.xml", &format!("<worksheet><sheetData>{sheet}</sheetData></worksheet>")),
        ("xl/sharedStrings.xml", &format!("<sst>{texts}</sst>")),
    ])
}

#[test]
fn one_text_in_thousands_of_cells_is_not_copied_for_each() {
    let sheet = |cells: usize| {
        let cell = |at: usize| {
            let letter = char::from(b'A' + (at % 26) as u8);
            format!("<c r=\"{letter}{}\" t=\"s\"><v>0</v></c>", at / 26 + 1)
        };
        let row = |row: usize| (0..26).map(|column| cell(row * 26 + column)).collect::<String>();
        (0..cells / 26).map(|at| format!("<row r=\"{}\">{}</row>", at + 1, row(at))).collect::<String>()
    };
    let long = format!("<si><t>{}</t></si>", "x".repeat(7 << 20));
    let document = workbook(&sheet(4_000), &long);
    assert!(document.len() < 64 << 10, "{}", document.len());
    let (all, most) = work(Format::Xlsx, &document);
    assert!(all < 64 * MB, "{} MB, at one time {} MB", all / MB, most / MB);
    assert!(most < 32 * MB, "{} MB, at one time {} MB", all / MB, most / MB);
}

#[test]
fn cells_that_are_named_again_and_again_are_kept_once() {
    let document = workbook(&format!("<row r=\"1\">{}</row>", "<c r=\"A1\"><v>1</v></c>".repeat(1_500_000)), "");
    assert!(document.len() < 256 << 10, "{}", document.len());
    let (_, most) = work(Format::Xlsx, &document);
    assert!(most < 4 * MB, "{} MB at one time", most / MB);
}

#[test]
fn many_slides_are_unpacked_up_to_what_one_document_may_cost() {
    let slide = format!("<p>{}</p>", "<a b=\"c\"/>".repeat(1 << 20));
    let names: Vec<String> = (1..=12).map(|number| format!("ppt/slides/slide{number}.xml")).collect();
    let parts: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), slide.as_str())).collect();
    let document = package(&parts);
    assert!(document.len() < 4 << 20, "{}", document.len());
    let found = extract(Format::Pptx, &document).map(|found| found.more);
    assert!(matches!(found, Ok(true)) || found.is_err_and(|error| error.code() == Code::TooLarge));
    let (all, most) = work(Format::Pptx, &document);
    assert!(all < 64 * MB, "{} MB, at one time {} MB", all / MB, most / MB);
    assert!(most < 8 * MB, "{} MB, at one time {} MB", all / MB, most / MB);
}

#[test]
fn twice_as_much_costs_twice_as_much() {
    type Shape = (&'static str, Format, fn(usize) -> Vec<u8>);
    let shapes: [Shape; 6] = [
        ("depth", Format::Odt, |n| package(&[("content.xml", &"<text:p>".repeat(n))])),
        ("attributes", Format::Odt, |n| {
            package(&[(
                "content.xml",
                &format!("<text:s {}/>", (0..n).map(|i| format!("a{i}=\"&lt;\" ")).collect::<String>()),
            )])
        }),
        ("entities", Format::Odt, |n| {
            package(&[("content.xml", &format!("<text:p>{}</text:p>", "&a;&#33;".repeat(n)))])
        }),
        ("declared entities", Format::Odt, |n| {
            let declared: String = (1..n).map(|i| format!("<!ENTITY e{i} \"&e{};&e{};\">", i - 1, i - 1)).collect();
            package(&[("content.xml", &format!("<!DOCTYPE x [{declared}]><text:p>&e{};</text:p>", n - 1))])
        }),
        ("names of styles", Format::Xlsx, |n| {
            let formats: String = (0..n).map(|i| format!("<numFmt numFmtId=\"{i}\" formatCode=\"[{i}]d\"/>")).collect();
            package(&[
                ("xl/workbook.xml", "<sheet r:id=\"r1\"/>"),
                ("xl/_rels/workbook.xml.rels", "<Relationship Id=\"r1\" Target=\"a.xml\"/>"),
                ("xl/styles.xml", &formats),
                ("xl/a.xml", "<sheetData/>"),
            ])
        }),
        ("repeated cells", Format::Ods, |n| {
            let cell = "<table:table-cell table:number-columns-repeated=\"9999\"><text:p>x</text:p></table:table-cell>";
            let row = format!("<table:table-row table:number-rows-repeated=\"99999\">{cell}</table:table-row>");
            package(&[("content.xml", &format!("<table:table>{}", row.repeat(n)))])
        }),
    ];
    for (name, format, make) in shapes {
        let (small, large) = (work(format, &make(4_000)), work(format, &make(8_000)));
        assert!(large.0 < 2 * small.0 + small.0 / 2 + MB / 4, "{name}: {} and {} bytes", small.0, large.0);
        assert!(large.1 < 16 * MB, "{name}: {} bytes at one time", large.1);
    }
}
