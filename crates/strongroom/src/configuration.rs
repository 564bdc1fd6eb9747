//! Settings in three layers: a TOML file, then the environment (`STRONGROOM_...`), then flags. Knows no room's meaning of
//! them beyond their type.

use std::path::{Path, PathBuf};

use clap::Args;
use config::{Config, Environment, File, FileFormat};
use model::{Error, Result};
use serde::Deserialize;

use crate::listen::Listen;

/// Name of the settings file that is read from the data directory when none is named.
pub const FILE: &str = "strongroom.toml";

/// Environment variables with our prefix that are not settings.
const NOT_SETTINGS: [&str; 4] = ["admin_password", "log", "lab_password", "lab_token"];

/// Where the farm is, as every command takes it.
#[derive(Args, Clone, Debug, Default)]
pub struct Place {
    /// The data directory [default: ./strongroom-data]
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,
    /// A settings file [default: strongroom.toml in the data directory, if there is one]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Print JSON instead of text for people
    #[arg(long, global = true)]
    pub json: bool,
}

/// Several texts: a list, or one text with commas as the environment has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Names {
    /// Separated by commas.
    Text(String),
    /// One by one.
    List(Vec<String>),
}

impl Names {
    /// Each text, without space around it.
    pub fn each(&self) -> Vec<&str> {
        let texts: Vec<&str> = match self {
            Self::Text(text) => text.split(',').collect(),
            Self::List(list) => list.iter().map(String::as_str).collect(),
        };
        texts.into_iter().map(str::trim).filter(|text| !text.is_empty()).collect()
    }
}

/// All settings. The names are those of the TOML file; in the environment `STRONGROOM_LISTEN` and so on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The data directory.
    pub data: Option<PathBuf>,
    /// Address or host name, and port, to listen on.
    pub listen: Option<Listen>,
    /// PEM file with the server's certificate and its issuers.
    pub tls_certificate: Option<PathBuf>,
    /// PEM file with the certificate's private key.
    pub tls_key: Option<PathBuf>,
    /// Whether a proxy in front of this server speaks TLS with the clients.
    pub behind_tls_proxy: Option<bool>,
    /// Addresses and networks of proxies that are believed about clients, in a list or separated by commas.
    pub trusted_proxies: Option<Names>,
    /// Where trusted proxies write the client's address: `peer`, `x-forwarded-for`, `forwarded` or `proxy-protocol`.
    pub client_address: Option<String>,
    /// Scheme and host under which people reach this server.
    pub public_url: Option<String>,
    /// Whether WebDAV answers `Depth: infinity` with the whole tree.
    pub webdav_depth_infinity: Option<bool>,
    /// The program `soffice` of LibreOffice, or `none`; looked for where programs are when it is not set.
    pub converter: Option<PathBuf>,
    /// Where the configuration database is: a path or a PostgreSQL URL.
    pub configuration_database: Option<String>,
    /// Where the content database `main` of a new farm is: a path or a PostgreSQL URL.
    pub database: Option<String>,
    /// Days that deleted items stay in the recycle bins.
    pub recycle_days: Option<u32>,
    /// `text` or `json`.
    pub log_format: Option<String>,
    /// What programs on other machines show to read `/metrics`.
    pub metrics_token: Option<String>,
    /// Most open connections; 0 for any number, as for the three after it.
    pub connections: Option<usize>,
    /// Most open connections of one address.
    pub connections_per_address: Option<usize>,
    /// Most requests under way of one address.
    pub requests_per_address: Option<usize>,
    /// Most requests under way of one person.
    pub requests_per_user: Option<usize>,
    /// Most bytes that the unfinished uploads of one person take; 0 for any number.
    pub unfinished_bytes_per_user: Option<u64>,
    /// Fewest bytes a second of a body; 0 for any.
    pub least_body_rate: Option<u64>,
}

const KEYS: [&str; 21] = [
    "data",
    "listen",
    "tls_certificate",
    "tls_key",
    "behind_tls_proxy",
    "trusted_proxies",
    "client_address",
    "public_url",
    "webdav_depth_infinity",
    "converter",
    "configuration_database",
    "database",
    "recycle_days",
    "log_format",
    "metrics_token",
    "connections",
    "connections_per_address",
    "requests_per_address",
    "requests_per_user",
    "unfinished_bytes_per_user",
    "least_body_rate",
];

/// What the names of environment variables begin with that are settings.
const PREFIX: &str = "STRONGROOM_";
/// Likeness of two names, by Jaro, above which one may be meant by the other.
const ALIKE: f64 = 0.8;

impl Settings {
    /// Reads file and environment. The file is the named one, or the one in the data directory.
    pub fn read(place: &Place) -> Result<Self> {
        let from_environment = std::env::var_os("STRONGROOM_DATA").map(PathBuf::from);
        let data = place.data.clone().or(from_environment).unwrap_or_else(default_data);
        let mut builder = Config::builder();
        let beside = data.join(FILE);
        if let Some(file) = &place.config {
            builder = builder.add_source(File::from(file.as_path()).format(FileFormat::Toml));
        } else if beside.exists() {
            builder = builder.add_source(File::from(beside.as_path()).format(FileFormat::Toml));
        }
        let variables = variables();
        variables.keys().try_for_each(|name| check_variable(name))?;
        let environment = Environment::with_prefix("STRONGROOM").try_parsing(true).source(Some(variables));
        let merged = builder.add_source(environment).build().map_err(|error| unreadable(&error))?;
        let table: config::Map<String, config::Value> =
            merged.clone().try_deserialize().map_err(|error| unreadable(&error))?;
        for key in table.keys() {
            check_key(key)?;
        }
        let mut settings: Settings = merged.try_deserialize().map_err(|error| unreadable(&error))?;
        if let Some(data) = &place.data {
            settings.data = Some(data.clone());
        }
        check_directory(&settings.directory())?;
        Ok(settings)
    }

    /// The data directory.
    pub fn directory(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(default_data)
    }

    /// Returns whether the log is written as JSON.
    ///
    /// # Errors
    /// Invalid for a form that is unknown. Only the server asks: what is wrong with its log must keep nobody from
    /// restoring a farm.
    pub fn log_as_json(&self) -> Result<bool> {
        match self.log_format.as_deref() {
            None | Some("text") => Ok(false),
            Some("json") => Ok(true),
            Some(other) => Err(Error::invalid(format!("log_format is \"{other}\": write \"text\" or \"json\""))),
        }
    }
}

/// Refuses a data directory that is a file, or would lie below one.
fn check_directory(directory: &Path) -> Result<()> {
    let is_other = |path: &&Path| std::fs::metadata(path).is_ok_and(|found| !found.is_dir());
    match directory.ancestors().find(is_other) {
        None => Ok(()),
        Some(file) => {
            Err(Error::invalid(format!("{} is a file, not a directory: give --data a directory", file.display())))
        }
    }
}

fn default_data() -> PathBuf {
    Path::new("strongroom-data").to_owned()
}

fn variables() -> std::collections::HashMap<String, String> {
    let setting = |name: &String| {
        let name = name.strip_prefix(PREFIX).map(str::to_lowercase);
        // Those of backups are read by the commands that need them.
        name.is_some_and(|name| !NOT_SETTINGS.contains(&name.as_str()) && !name.starts_with("backup_"))
    };
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| setting(name))
        .collect()
}

fn unreadable(error: &config::ConfigError) -> Error {
    Error::invalid(format!("the settings cannot be read: {error}"))
}

fn check_key(key: &str) -> Result<()> {
    if KEYS.contains(&key) {
        return Ok(());
    }
    Err(Error::invalid(match nearest(key) {
        Some(nearest) => format!("there is no setting \"{key}\": did you mean \"{nearest}\"?"),
        None => format!("there is no setting \"{key}\""),
    }))
}

fn check_variable(name: &str) -> Result<()> {
    let key = name.strip_prefix(PREFIX).unwrap_or(name).to_lowercase();
    if KEYS.contains(&key.as_str()) {
        return Ok(());
    }
    let text = format!("the environment variable {name} stands for no setting: ");
    Err(Error::invalid(match nearest(&key) {
        Some(nearest) => format!("{text}did you mean {PREFIX}{}?", nearest.to_uppercase()),
        None => format!("{text}take it away"),
    }))
}

/// The setting whose name is nearest to this one, if any is near.
fn nearest(key: &str) -> Option<&'static str> {
    let likeness = |known: &&str| strsim::jaro(known, key);
    KEYS.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).filter(|known| likeness(known) > ALIKE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_no_setting_is_named() {
        check_variable("STRONGROOM_LEAST_BODY_RATE").unwrap();
        let near = check_variable("STRONGROOM_LEAST_BODY_RAT").unwrap_err();
        assert!(near.message().ends_with("did you mean STRONGROOM_LEAST_BODY_RATE?"), "{near}");
        let far = check_variable("STRONGROOM_X").unwrap_err();
        assert!(far.message().contains("variable STRONGROOM_X ") && far.message().ends_with("take it away"), "{far}");
    }

    fn read(text: &str) -> Result<Settings> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.toml");
        std::fs::write(&file, text).unwrap();
        Settings::read(&Place { config: Some(file), ..Place::default() })
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_nearest() {
        let error = read("listn = '127.0.0.1:80'").unwrap_err();
        assert!(error.message().contains("\"listen\""), "{error}");
    }

    #[test]
    fn several_texts_are_a_list_or_separated_by_commas() {
        for text in ["trusted_proxies = ['10.0.0.1', '::1']", "trusted_proxies = '10.0.0.1, ::1,'"] {
            assert_eq!(read(text).unwrap().trusted_proxies.unwrap().each(), ["10.0.0.1", "::1"]);
        }
    }

    #[test]
    fn a_value_of_the_wrong_type_is_an_error() {
        assert!(read("listen = 'nowhere'").is_err());
        assert!(read("recycle_days = 'many'").is_err());
        assert_eq!(read("recycle_days = 3").unwrap().recycle_days, Some(3));
    }
}
