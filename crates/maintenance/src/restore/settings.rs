//! The settings file of a restored farm: unchanged, except for the locations of the farm.

use model::{Error, Result};

/// Returns the settings for the new location. `configuration` is the address of the configuration database, if that is
/// not a file of the data directory. None when there are no settings.
pub(super) fn moved(before: Option<&[u8]>, configuration: Option<&str>) -> Result<Option<String>> {
    let mut table = match before {
        Some(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let parsed: std::result::Result<toml::Table, _> = toml::from_str(&text);
            parsed.map_err(|e| Error::corrupt(format!("the settings in the backup cannot be read: {e}")))?
        }
        None => toml::Table::new(),
    };
    for place in ["data", "configuration_database", "database"] {
        table.remove(place);
    }
    if let Some(address) = configuration {
        table.insert("configuration_database".to_owned(), toml::Value::String(address.to_owned()));
    }
    if table.is_empty() {
        return Ok(None);
    }
    toml::to_string(&table).map(Some).map_err(|e| Error::invalid(format!("the settings cannot be written: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_change() {
        let before = b"# ours\nlisten = '0.0.0.0:80'\nconfiguration_database = 'postgres://old'\n";
        let text = moved(Some(before), Some("postgres://new")).unwrap().unwrap();
        assert!(text.contains("0.0.0.0:80"), "{text}");
        assert!(text.contains("postgres://new"), "{text}");
        assert!(!text.contains("old"), "{text}");
        assert_eq!(moved(Some(b"data = '/srv'"), None).unwrap(), None);
    }
}
