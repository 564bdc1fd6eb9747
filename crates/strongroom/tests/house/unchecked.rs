//! The list in ARCHITECTURE.md of the files that inspect an item without requiring a right on it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::root;

/// Calls after which the code itself must leave out what the caller may not know.
const UNCHECKED: [&str; 10] = [
    ".unchecked()",
    "inspect_known(",
    "inspect_root(",
    ".root(",
    "guard_unchecked(",
    "guard.find(transaction",
    "look_up_cached(",
    "CallerView::",
    "locate_id(",
    "locate_path(",
];

fn files_below(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            files_below(&path, found);
            continue;
        }
        let name =
            path.strip_prefix(root().join("crates/repository/src")).expect("below the crate").display().to_string();
        // They define these methods.
        let defines = ["known", "caller", "locate", "guard", "lookup"].map(|file| format!("session/{file}.rs"));
        let defines = defines.contains(&name);
        if defines || name.contains("tests") || !name.ends_with(".rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        if code.into_iter().any(|line| UNCHECKED.iter().any(|call| line.contains(call))) {
            found.insert(name);
        }
    }
}

#[test]
fn architecture_lists_the_files_that_inspect_items_unchecked() {
    let mut found = BTreeSet::new();
    files_below(&root().join("crates/repository/src"), &mut found);
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is readable");
    let (_, table) = text.split_once("| file in `crates/repository/src` |").expect("the table of these files");
    let table = table.split("\n\n").next().unwrap_or_default();
    let first_cells = table.lines().filter_map(|line| line.split('|').nth(1));
    let listed: BTreeSet<String> =
        first_cells.flat_map(|cell| cell.split('`').filter(|part| part.ends_with(".rs")).map(str::to_owned)).collect();
    assert_eq!(listed, found, "the table in ARCHITECTURE.md (left) and the code (right) differ");
}
