//! Settings in three layers: a TOML file, then the environment (`STRONGROOM_...`), then flags. Later layers override
//! earlier ones. Knows only the types of the settings, not their meaning in other crates.

use std::path::{Path, PathBuf};

use clap::Args;
use config::{Config, Environment, File, FileFormat};
use model::{Error, Result};
use repository::DataDirectory;
use serde::Deserialize;

use crate::listen::Listen;

/// Environment variables with the prefix `STRONGROOM_` that are not settings.
const NOT_SETTINGS: [&str; 4] = ["admin_password", "log", "lab_password", "lab_token"];

/// The arguments common to all commands: location of the farm, and output format.
#[derive(Args, Clone, Debug, Default)]
pub struct CommonArguments {
    /// Data directory [default: ./strongroom-data]
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,
    /// Settings file [default: strongroom.toml in the data directory, if present]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
}

/// Several strings: a list, or a single comma-separated string as in an environment variable.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Names {
    /// A comma-separated string.
    Text(String),
    /// A list of strings.
    List(Vec<String>),
}

impl Names {
    /// The strings, trimmed, without empty ones.
    pub fn each(&self) -> Vec<&str> {
        let texts: Vec<&str> = match self {
            Self::Text(text) => text.split(',').collect(),
            Self::List(list) => list.iter().map(String::as_str).collect(),
        };
        texts.into_iter().map(str::trim).filter(|text| !text.is_empty()).collect()
    }
}

/// All settings. The field names are the keys of the TOML file; the environment variables are `STRONGROOM_LISTEN` and
/// so on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Data directory.
    pub data: Option<PathBuf>,
    /// Address or host name, and port, to listen on.
    pub listen: Option<Listen>,
    /// PEM file with the server's certificate and the certificates of its issuers.
    pub tls_certificate: Option<PathBuf>,
    /// PEM file with the certificate's private key.
    pub tls_key: Option<PathBuf>,
    /// True if a proxy in front of this server terminates TLS.
    pub behind_tls_proxy: Option<bool>,
    /// Addresses and networks of proxies that are trusted to report client addresses: a list or a comma-separated
    /// string.
    pub trusted_proxies: Option<Names>,
    /// Source of the client's address behind trusted proxies: `peer`, `x-forwarded-for`, `forwarded` or
    /// `proxy-protocol`.
    pub client_address: Option<String>,
    /// Scheme and host of this server as users see them.
    pub public_url: Option<String>,
    /// True if a WebDAV request with `Depth: infinity` is answered with the whole tree.
    pub webdav_depth_infinity: Option<bool>,
    /// Path of LibreOffice's `soffice` program, or `none`. If unset, the program is searched for in the usual
    /// directories.
    pub converter: Option<PathBuf>,
    /// Address of the office server that edits documents in the browser: scheme and host.
    pub office_url: Option<String>,
    /// Location of the configuration database: a path or a PostgreSQL URL.
    pub configuration_database: Option<String>,
    /// Location of the content database `main` of a new farm: a path or a PostgreSQL URL.
    pub database: Option<String>,
    /// URL of an OpenSearch server that has the search indexes for all servers of the farm.
    pub search_server: Option<String>,
    /// File with the password for it.
    pub search_server_password_file: Option<PathBuf>,
    /// PEM file with certificate authorities that are trusted for it.
    pub search_server_certificates: Option<PathBuf>,
    /// Beginning of the names of the farm's indexes on it.
    pub search_index_prefix: Option<String>,
    /// Days that deleted items stay in the recycle bins.
    pub recycle_days: Option<u32>,
    /// Log format: `text` or `json`.
    pub log_format: Option<String>,
    /// Token that programs on other machines must present to read `/metrics`.
    pub metrics_token: Option<String>,
    /// Limit on open connections. 0 means no limit, also for the next three settings.
    pub connections: Option<usize>,
    /// Limit on open connections per client address.
    pub connections_per_address: Option<usize>,
    /// Limit on concurrent requests per client address.
    pub requests_per_address: Option<usize>,
    /// Limit on concurrent requests per user.
    pub requests_per_user: Option<usize>,
    /// Limit on the bytes of one user's unfinished uploads. 0 means no limit.
    pub unfinished_bytes_per_user: Option<u64>,
    /// Minimum transfer rate of a body in bytes per second. 0 means no minimum.
    pub least_body_rate: Option<u64>,
}

const KEYS: [&str; 26] = [
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
    "office_url",
    "configuration_database",
    "database",
    "search_server",
    "search_server_password_file",
    "search_server_certificates",
    "search_index_prefix",
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

/// Prefix of environment variables that are settings.
const PREFIX: &str = "STRONGROOM_";
/// Jaro similarity of two names above which one is suggested for the other.
const SUGGESTION_SIMILARITY: f64 = 0.8;

impl Settings {
    /// Reads the settings file and the environment. The file is the one named in `common`, otherwise the one in the
    /// data directory.
    pub fn read(common: &CommonArguments) -> Result<Self> {
        let from_environment = std::env::var_os("STRONGROOM_DATA").map(PathBuf::from);
        let data = common.data.clone().or(from_environment).unwrap_or_else(default_data);
        let mut builder = Config::builder();
        let beside = DataDirectory::new(&data).settings();
        let file = common.config.clone().or_else(|| Some(beside).filter(|file| file.exists()));
        if let Some(file) = &file {
            builder = builder.add_source(File::from(file.as_path()).format(FileFormat::Toml));
        }
        let variables = variables();
        variables.keys().try_for_each(|name| reject_unknown_variable(name))?;
        let environment = Environment::with_prefix("STRONGROOM").try_parsing(true).source(Some(variables));
        let merged = builder.add_source(environment).build().map_err(|error| unreadable(&error))?;
        let table: config::Map<String, config::Value> =
            merged.clone().try_deserialize().map_err(|error| unreadable(&error))?;
        for key in table.keys() {
            reject_unknown_key(key, file.as_deref())?;
        }
        let mut settings: Settings = merged.try_deserialize().map_err(|error| unreadable(&error))?;
        if let Some(data) = &common.data {
            settings.data = Some(data.clone());
        }
        check_directory(&settings.directory())?;
        Ok(settings)
    }

    /// Data directory.
    pub fn directory(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(default_data)
    }

    /// Returns whether the log is written as JSON.
    ///
    /// # Errors
    /// Returns `Invalid` for an unknown format. Only the server calls this function: a wrong log format must not
    /// prevent the restore of a farm.
    pub fn log_as_json(&self) -> Result<bool> {
        match self.log_format.as_deref() {
            None | Some("text") => Ok(false),
            Some("json") => Ok(true),
            Some(other) => Err(Error::invalid(format!("log_format is \"{other}\": write \"text\" or \"json\""))),
        }
    }
}

/// Refuses a data directory that is a file or lies below a file.
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
        // Variables for backups are read by the commands that need them.
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

/// Refuses a key that is not a setting. Unknown variables were refused before, so the key is in the file.
fn reject_unknown_key(key: &str, file: Option<&Path>) -> Result<()> {
    if KEYS.contains(&key) {
        return Ok(());
    }
    let place = file.map_or_else(String::new, |file| {
        let line = std::fs::read_to_string(file).ok().and_then(|text| line_of(key, &text));
        let line = line.map_or_else(String::new, |line| format!(", line {line}"));
        format!("{}{line}: ", file.display())
    });
    Err(Error::invalid(match nearest(key) {
        Some(nearest) => format!("{place}there is no setting \"{key}\": did you mean \"{nearest}\"?"),
        None => format!("{place}there is no setting \"{key}\": remove it"),
    }))
}

/// Returns the number of the line that sets a key or begins the table with its name.
fn line_of(key: &str, text: &str) -> Option<usize> {
    let name = |line: &str| -> String {
        let line = line.trim_start().trim_start_matches('[');
        let end = line.find(['=', '.', ']']).unwrap_or(line.len());
        line[..end].trim().trim_matches(['"', '\'']).to_lowercase()
    };
    text.lines().position(|line| name(line) == key.to_lowercase()).map(|index| index + 1)
}

fn reject_unknown_variable(name: &str) -> Result<()> {
    let key = name.strip_prefix(PREFIX).unwrap_or(name).to_lowercase();
    if KEYS.contains(&key.as_str()) {
        return Ok(());
    }
    let text = format!("the environment variable {name} does not correspond to a setting: ");
    Err(Error::invalid(match nearest(&key) {
        Some(nearest) => format!("{text}did you mean {PREFIX}{}?", nearest.to_uppercase()),
        None => format!("{text}remove it"),
    }))
}

/// The setting with the most similar name, if one is similar enough.
fn nearest(key: &str) -> Option<&'static str> {
    let likeness = |known: &&str| strsim::jaro(known, key);
    KEYS.iter()
        .copied()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
        .filter(|known| likeness(known) > SUGGESTION_SIMILARITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_no_setting_is_named() {
        reject_unknown_variable("STRONGROOM_LEAST_BODY_RATE").unwrap();
        let near = reject_unknown_variable("STRONGROOM_LEAST_BODY_RAT").unwrap_err();
        assert!(near.message().ends_with("did you mean STRONGROOM_LEAST_BODY_RATE?"), "{near}");
        let far = reject_unknown_variable("STRONGROOM_X").unwrap_err();
        assert!(far.message().contains("variable STRONGROOM_X "), "{far}");
        assert!(far.message().ends_with("remove it"), "{far}");
    }

    fn read(text: &str) -> Result<Settings> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.toml");
        std::fs::write(&file, text).unwrap();
        Settings::read(&CommonArguments { config: Some(file), ..CommonArguments::default() })
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_nearest() {
        let error = read("# the address\nlistn = '127.0.0.1:80'").unwrap_err();
        assert!(error.message().contains("settings.toml, line 2: "), "{error}");
        assert!(error.message().contains("\"listen\""), "{error}");
        for far in ["[xyz]\nx = 1", "xyz.x = 1", "\"xyz\" = 1"] {
            let error = read(far).unwrap_err();
            assert!(error.message().ends_with("line 1: there is no setting \"xyz\": remove it"), "{error}");
        }
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
