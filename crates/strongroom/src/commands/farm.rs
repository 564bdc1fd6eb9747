//! Opens the farm that the settings name, as its administrator. Independent of any particular command.

use std::path::PathBuf;

use database::Location;
use model::Result;
use repository::{Options, ProgramSettings, Programs, RECYCLE_DAYS, Repository, Sandbox, Session};

use crate::configuration::{CommonArguments, Settings};

/// Opens an existing farm as its administrator.
pub async fn open(common: &CommonArguments) -> Result<(Repository, Session)> {
    let settings = Settings::read(common)?;
    let (repository, session) = open_farm(&options(&settings, false)?).await?;
    keep_recycled(&repository, &settings);
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

/// Sets the retention of deleted items that the settings name.
pub fn keep_recycled(repository: &Repository, settings: &Settings) {
    repository.keep_recycled(settings.recycle_days.unwrap_or(RECYCLE_DAYS));
}

/// Returns the programs of others that read documents for the search index. `office` is the location of LibreOffice.
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
