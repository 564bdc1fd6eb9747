//! The sheets that a workbook lists, and how it counts days.

use std::borrow::Cow;

use model::{Result, fold};

use crate::extract::package::Package;
use crate::extract::unreadable;
use crate::extract::xml::Piece;

/// Limit on the sheets and relations that are read.
const MAX_LISTED: usize = 10_000;

/// Place of the wanted sheet in the archive.
pub struct Place {
    /// Path of its part.
    pub path: String,
    /// Set if the workbook counts days from 1904.
    pub since_1904: bool,
}

struct Listed {
    name: String,
    relation: String,
    is_hidden: bool,
}

/// Finds the sheet with a name, or the first one that is visible.
pub fn find(package: &mut Package<'_>, wanted: Option<&str>) -> Result<Place> {
    let (sheets, since_1904) = sheets(package)?;
    let targets = worksheets(package)?;
    let target = |sheet: &Listed| targets.iter().find(|(id, _)| *id == sheet.relation).map(|(_, path)| path.clone());
    let path = match wanted {
        Some(name) => {
            let sheet = sheets.iter().find(|sheet| fold(&sheet.name) == fold(name)).ok_or_else(|| {
                let shown: String = name.escape_debug().take(80).collect();
                unreadable(format!("it has no sheet \"{shown}\""))
            })?;
            target(sheet).ok_or_else(|| unreadable("the sheet has no cells"))?
        }
        None => {
            let mut visible = sheets.iter().filter(|sheet| !sheet.is_hidden);
            visible.find_map(target).ok_or_else(|| unreadable("it has no sheet with cells"))?
        }
    };
    Ok(Place { path, since_1904 })
}

fn sheets(package: &mut Package<'_>) -> Result<(Vec<Listed>, bool)> {
    let (mut sheets, mut since_1904) = (Vec::new(), false);
    let mut workbook = package.required("xl/workbook.xml")?.strict();
    while let Some(piece) = workbook.next()? {
        let Piece::Start(element) = piece else { continue };
        match element.name() {
            b"workbookPr" => {
                since_1904 = element.attribute("date1904").is_some_and(|yes| matches!(&*yes, "1" | "true"));
            }
            b"sheet" if sheets.len() < MAX_LISTED => {
                let attribute = |name| element.attribute(name).map_or_else(String::new, Cow::into_owned);
                let is_hidden = element.attribute("state").is_some_and(|state| state != "visible");
                sheets.push(Listed { name: attribute("name"), relation: attribute("id"), is_hidden });
            }
            _ => {}
        }
    }
    Ok((sheets, since_1904))
}

/// Returns the parts that are sheets with cells, by the identifiers of their relations. Charts are not.
fn worksheets(package: &mut Package<'_>) -> Result<Vec<(String, String)>> {
    let mut targets = Vec::new();
    let mut relations = package.required("xl/_rels/workbook.xml.rels")?.strict();
    while let Some(piece) = relations.next()? {
        if let Piece::Start(element) = piece
            && targets.len() < MAX_LISTED
            && element.attribute("Type").is_some_and(|kind| kind.ends_with("/worksheet"))
            && let (Some(id), Some(target)) = (element.attribute("Id"), element.attribute("Target"))
        {
            let path = target.strip_prefix('/').map_or_else(|| format!("xl/{target}"), str::to_owned);
            targets.push((id.into_owned(), path));
        }
    }
    Ok(targets)
}
