//! Names of documents, folders and libraries that resemble those in real offices.

use super::document::ContentKind;
use super::hash::mix;

const SUBJECTS: &[&str] = &[
    "Invoice",
    "Offer",
    "Contract",
    "Minutes",
    "Report",
    "Budget",
    "Drawing",
    "Manual",
    "Letter",
    "Order",
    "Schedule",
    "Survey",
    "Policy",
    "Training",
    "Audit",
    "Handover",
    "Proposal",
    "Inspection",
    "Permit",
    "Balance",
];
const PLACES: &[&str] = &[
    "North",
    "South",
    "Harbour",
    "Airport",
    "Plant 2",
    "Head office",
    "Warehouse",
    "Laboratory",
    "Line 4",
    "Site B",
    "Canteen",
    "Depot",
    "Workshop",
    "Archive",
    "Terminal",
];
const FOLDERS: &[&str] = &[
    "Accounting",
    "Projects",
    "Personnel",
    "Purchasing",
    "Sales",
    "Engineering",
    "Legal",
    "Quality",
    "Marketing",
    "IT",
];

/// Name of a document, unique for each number.
pub fn document(hash: u64, number: u64, kind: ContentKind) -> String {
    let subject = SUBJECTS[(mix(hash, 11) % SUBJECTS.len() as u64) as usize];
    let place = PLACES[(mix(hash, 12) % PLACES.len() as u64) as usize];
    let year = 2009 + mix(hash, 13) % 17;
    let ending = match kind {
        ContentKind::Text => ["txt", "csv", "log"][(mix(hash, 14) % 3) as usize],
        ContentKind::Office => "docx",
        ContentKind::Media => ["mp4", "raw"][(mix(hash, 14) % 2) as usize],
    };
    format!("{subject} {place} {year}-{number:06}.{ending}")
}

/// Name of a folder in a library.
pub fn folder(number: u32) -> String {
    let name = FOLDERS[number as usize % FOLDERS.len()];
    match number as usize / FOLDERS.len() {
        0 => name.to_owned(),
        more => format!("{name} {}", more + 1),
    }
}

/// A random word that occurs in the names of some documents.
pub fn word(random: &mut fastrand::Rng) -> &'static str {
    let at = random.usize(0..SUBJECTS.len());
    SUBJECTS[at]
}
