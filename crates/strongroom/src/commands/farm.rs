//! Opens the farm that the settings name, as its administrator. Independent of any particular command.

use database::Location;
use model::Result;
use repository::{Options, Repository, Session};

use crate::configuration::{CommonArguments, Settings};

/// Opens an existing farm as its administrator.
pub async fn open(place: &CommonArguments) -> Result<(Repository, Session)> {
    open_farm(&options(&Settings::read(place)?, false)?).await
}

/// Opens an existing farm as its administrator, even if a restore of this content database did not finish.
pub async fn open_to_restore(place: &CommonArguments, content_database: &str) -> Result<(Repository, Session)> {
    let settings = Settings::read(place)?;
    maintenance::refuse_unfinished(&settings.directory(), Some(content_database))?;
    open_farm(&options_of(&settings, false)?).await
}

async fn open_farm(options: &Options) -> Result<(Repository, Session)> {
    let repository = Repository::open_for_command(options).await?;
    let session = repository.as_caller(repository.farm_administrator().await?);
    Ok((repository, session))
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
