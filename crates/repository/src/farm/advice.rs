//! Instructions for restoring a farm or a database from a backup. They contain complete commands that mean this farm,
//! whichever directory they are pasted in.

use std::path::{Path, absolute};

/// Explains how to restore the whole farm in a data directory, and what that loses.
pub fn farm_from_backup(directory: &Path) -> String {
    let place = for_shell(directory);
    format!(
        "Copy {place} first. Then `strongroom restore BACKUP --data {place} --force`, run while no server is running, \
         returns the whole farm, including its other databases, to the state of the backup: later changes are lost. \
         With PostgreSQL databases, or with stores elsewhere, first read \"Bringing a farm back\" in \
         docs/guide/backup.md (`--database-url`, `--use-stores`)"
    )
}

/// Explains how to restore one content database of the farm in a data directory, and what that loses.
pub fn database_from_backup(directory: &Path, name: &str) -> String {
    format!(
        "`strongroom restore BACKUP --data {} --content-database {name}`, run while no server is running, returns the \
         content database to the state of the backup: later changes to it are lost",
        for_shell(directory)
    )
}

/// Returns the command that starts the farm in a data directory.
pub fn serve_command(directory: &Path) -> String {
    format!("strongroom serve --data {}", for_shell(directory))
}

/// Returns an absolute path, quoted as a single word for the shell.
fn for_shell(path: &Path) -> String {
    shell_word(&absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string())
}

/// Returns a text, quoted as a single word for the shell where necessary.
pub fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+,:@%=".contains(letter);
    let is_word = !text.is_empty() && text.chars().all(is_plain);
    if is_word { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_directory_for_any_shell() {
        let here = std::env::current_dir().unwrap();
        for (path, word) in [
            ("/srv/farm", "/srv/farm".to_owned()),
            ("/srv/the farm", "'/srv/the farm'".to_owned()),
            ("/srv/it's", r"'/srv/it'\''s'".to_owned()),
            ("farm", for_shell(&here.join("farm"))),
        ] {
            let command = format!("`strongroom restore BACKUP --data {word} --content-database main`");
            assert!(database_from_backup(Path::new(path), "main").starts_with(&command), "{path}");
            assert!(farm_from_backup(Path::new(path)).contains(&format!("--data {word} --force`")), "{path}");
            assert_eq!(serve_command(Path::new(path)), format!("strongroom serve --data {word}"));
        }
    }
}
