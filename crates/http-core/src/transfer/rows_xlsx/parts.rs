//! The parts of a workbook beside the cells. They have what Excel writes, without what it does not need.

use super::cells::{attribute, column_name};
use super::style::Style;

const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
const CONTENT: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";
const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";

/// The parts that do not depend on the list, with their names. The first one must come first in the archive.
pub fn fixed() -> [(&'static str, String); 4] {
    let part = |name: &str, kind: &str| {
        format!("<Override PartName=\"/xl/{name}.xml\" ContentType=\"{CONTENT}.{kind}+xml\"/>")
    };
    let types = format!(
        "{DECLARATION}<Types xmlns=\"{PACKAGE}/content-types\">\
         <Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
         <Default Extension=\"xml\" ContentType=\"application/xml\"/>{}{}{}</Types>",
        part("workbook", "sheet.main"),
        part("worksheets/sheet1", "worksheet"),
        part("styles", "styles")
    );
    let relations = |targets: &[(&str, &str)]| {
        let relation = |(number, (kind, target)): (usize, &(&str, &str))| {
            format!("<Relationship Id=\"rId{}\" Type=\"{RELATIONS}/{kind}\" Target=\"{target}\"/>", number + 1)
        };
        let relations: String = targets.iter().enumerate().map(relation).collect();
        format!("{DECLARATION}<Relationships xmlns=\"{PACKAGE}/relationships\">{relations}</Relationships>")
    };
    [
        ("[Content_Types].xml", types),
        ("_rels/.rels", relations(&[("officeDocument", "xl/workbook.xml")])),
        ("xl/_rels/workbook.xml.rels", relations(&[("worksheet", "worksheets/sheet1.xml"), ("styles", "styles.xml")])),
        ("xl/styles.xml", styles()),
    ]
}

fn styles() -> String {
    // In the order of the variants: font and number format. 49 is the built-in format of texts.
    const STYLES: [(u8, u8); 6] = [(0, 0), (1, 0), (0, 49), (0, 164), (0, 165), (0, 166)];
    let style = |(font, format): (u8, u8)| {
        format!(
            "<xf numFmtId=\"{format}\" fontId=\"{font}\" fillId=\"0\" borderId=\"0\" xfId=\"0\"{}{}/>",
            if format > 0 { " applyNumberFormat=\"1\"" } else { "" },
            if font > 0 { " applyFont=\"1\"" } else { "" }
        )
    };
    let styles: String = STYLES.into_iter().map(style).collect();
    let font = |bold: &str| format!("<font>{bold}<sz val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/></font>");
    // A time says that it is in UTC.
    let times = [(164, ""), (165, " hh:mm:ss"), (166, " hh:mm:ss.000")].map(|(id, time)| {
        let zone = if time.is_empty() { "" } else { "\\ &quot;UTC&quot;" };
        format!("<numFmt numFmtId=\"{id}\" formatCode=\"yyyy\\-mm\\-dd{}{zone}\"/>", time.replace(' ', "\\ "))
    });
    format!(
        "{DECLARATION}<styleSheet xmlns=\"{MAIN}\"><numFmts count=\"3\">{}</numFmts>\
         <fonts count=\"2\">{}{}</fonts>\
         <fills count=\"2\"><fill><patternFill patternType=\"none\"/></fill>\
         <fill><patternFill patternType=\"gray125\"/></fill></fills>\
         <borders count=\"1\"><border><left/><right/><top/><bottom/><diagonal/></border></borders>\
         <cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/></cellStyleXfs>\
         <cellXfs count=\"{}\">{styles}</cellXfs>\
         <cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/></cellStyles></styleSheet>",
        times.concat(),
        font(""),
        font("<b/>"),
        STYLES.len()
    )
}

/// The part that names the sheet, which has this many columns and rows.
pub fn workbook(name: &str, columns: usize, rows: u32) -> String {
    let filtered = format!("'{}'!$A$1:${}${rows}", name.replace('\'', "''"), column_name(columns - 1));
    format!(
        "{DECLARATION}<workbook xmlns=\"{MAIN}\" xmlns:r=\"{RELATIONS}\"><workbookPr/>\
         <bookViews><workbookView windowWidth=\"24000\" windowHeight=\"12000\"/></bookViews>\
         <sheets><sheet name=\"{}\" sheetId=\"1\" r:id=\"rId1\"/></sheets>\
         <definedNames><definedName name=\"_xlnm._FilterDatabase\" localSheetId=\"0\" hidden=\"1\">{}</definedName>\
         </definedNames></workbook>",
        attribute(name),
        attribute(&filtered)
    )
}

/// The sheet up to its first row: the titles stay in view, and each column has a width and a style.
pub fn sheet_begin(columns: &[(u8, Style)]) -> String {
    let column = |(number, (width, style)): (usize, &(u8, Style))| {
        format!(
            "<col min=\"{0}\" max=\"{0}\" width=\"{width}\" style=\"{1}\" customWidth=\"1\"/>",
            number + 1,
            style.number()
        )
    };
    let columns: String = columns.iter().enumerate().map(column).collect();
    format!(
        "{DECLARATION}<worksheet xmlns=\"{MAIN}\" xmlns:r=\"{RELATIONS}\">\
         <sheetViews><sheetView tabSelected=\"1\" workbookViewId=\"0\">\
         <pane ySplit=\"1\" topLeftCell=\"A2\" activePane=\"bottomLeft\" state=\"frozen\"/>\
         <selection pane=\"bottomLeft\"/></sheetView></sheetViews>\
         <sheetFormatPr defaultRowHeight=\"15\"/><cols>{columns}</cols><sheetData>"
    )
}

/// The sheet from its last row on. It has this many columns and rows.
pub fn sheet_end(columns: usize, rows: u32) -> String {
    format!("</sheetData><autoFilter ref=\"A1:{}{rows}\"/></worksheet>", column_name(columns - 1))
}

/// Returns the name of the sheet of a list. Excel allows 31 characters, and some of them nowhere.
pub fn sheet_name(list: &str) -> String {
    const MAX_UNITS: usize = 31;
    let mut units = 0;
    let name = list.chars().map(|c| if c.is_control() || "[]:*?/\\".contains(c) { '_' } else { c });
    let name: String = name
        .take_while(|c| {
            units += c.len_utf16();
            units <= MAX_UNITS
        })
        .collect();
    let name = name.trim_matches('\'');
    // Excel keeps this name for itself.
    if name.is_empty() || name.eq_ignore_ascii_case("history") { "Rows".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sheets_have_names_that_excel_allows() {
        for (list, name) in [
            ("Tasks", "Tasks"),
            ("'Tasks' 2026/27?", "Tasks' 2026_27_"),
            ("History", "Rows"),
            ("'", "Rows"),
            (&"é".repeat(40), &"é".repeat(31)),
            (&"\u{1f600}".repeat(20), &"\u{1f600}".repeat(15)),
        ] {
            assert_eq!(sheet_name(list), name);
        }
    }
}
