//! Opens the farm that the settings name, as its administrator. Independent of any particular command.

use std::path::PathBuf;

use database::Location;
use model::{Error, Result};
use repository::{Options, ProgramSettings, Programs, RECYCLE_DAYS, Repository, Sandbox, SearchServer, Session};

use crate::configuration::{CommonArguments, Settings};

/// Opens an existing farm as its administrator.
pub async fn open(common: &CommonArguments) -> Result<(Repository, Session)> {
    let settings = Settings::read(common)?;
    let (repository, session) = open_farm(&options(&settings, false)?).await?;
    keep_recycled(&repository, &settings);
    if let Some(server) = search_server(&settings)? {
        repository.share_search_indexes(server);
    }
    Ok((repository, session))
}

/// Opens an existing farm as its administrator, even if a restore of this content database did not finish.
pub async fn open_to_restore(common: &CommonArguments, content_database: &str) -> Result<(Repository, Session)> {
    let settings = Settings::read(common)?;
    maintenance::refuse_unfinished(&settings.directory(), Some(content_database))?;
    open_farm(&options_of(&settings, false)?).await
}

async fn open_farm(options: &Options) -> Result<(Repository, Session)> {
    let repository = Repository::open_for_command(options).await?;
    let session = repository.as_caller(repository.farm_administrator().await?);
    Ok((repository, session))
}

/// Beginning of the names of indexes on a search server, unless the settings name another.
const INDEX_PREFIX: &str = "strongroom";

/// Returns the search server that the settings name; `None` if the search indexes are in the data directory.
///
/// # Errors
/// `Invalid` if a setting cannot be used, or a file that one names cannot be read.
pub fn search_server(settings: &Settings) -> Result<Option<SearchServer>> {
    let Some(url) = settings.search_server.as_deref() else {
        let others = [
            ("search_server_password_file", settings.search_server_password_file.is_some()),
            ("search_server_certificates", settings.search_server_certificates.is_some()),
            ("search_index_prefix", settings.search_index_prefix.is_some()),
        ];
        return match others.iter().find(|(_, is_set)| *is_set) {
            Some((name, _)) => Err(Error::invalid(format!("{name} has no effect without search_server: set it too"))),
            None => Ok(None),
        };
    };
    let read = |name: &str, path: &PathBuf| {
        std::fs::read_to_string(path).map_err(|error| {
            let text = format!("the file {} that {name} names cannot be read: {error}", path.display());
            Error::invalid(text).with_source(error)
        })
    };
    let password = settings.search_server_password_file.as_ref();
    let password = password.map(|path| read("search_server_password_file", path)).transpose()?;
    let password = password.as_deref().map(|text| text.trim_end_matches(['\n', '\r']));
    let certificates = settings.search_server_certificates.as_ref();
    let certificates = certificates.map(|path| read("search_server_certificates", path)).transpose()?;
    let prefix = settings.search_index_prefix.as_deref().unwrap_or(INDEX_PREFIX);
    SearchServer::new(url, prefix, password, certificates.as_deref()).map(Some)
}

/// Sets the retention of deleted items that the settings name.
pub fn keep_recycled(repository: &Repository, settings: &Settings) {
    repository.keep_recycled(settings.recycle_days.unwrap_or(RECYCLE_DAYS));
}

/// Returns the external programs that read documents for the search index. `office` is the location of LibreOffice.
pub fn programs(repository: &Repository, sandbox: Sandbox, office: Option<PathBuf>) -> Programs {
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    Programs::new(sandbox, ProgramSettings { search_path, office, place: repository.programs_scratch() })
}

/// Builds the options for opening a farm from the settings.
///
/// # Errors
/// Returns `Conflict` if a restore into the data directory did not finish.
pub fn options(settings: &Settings, create: bool) -> Result<Options> {
    maintenance::refuse_unfinished(&settings.directory(), None)?;
    options_of(settings, create)
}

fn options_of(settings: &Settings, create: bool) -> Result<Options> {
    Ok(Options {
        directory: settings.directory(),
        configuration: settings.configuration_database.as_deref().map(Location::parse).transpose()?,
        content: settings.database.as_deref().map(Location::parse).transpose()?,
        administrator_password: std::env::var("STRONGROOM_ADMIN_PASSWORD").ok().filter(|_| create),
        create,
    })
}
