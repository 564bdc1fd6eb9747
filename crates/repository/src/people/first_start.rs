//! Initial roles, groups and accounts of a new farm: the built-in roles, the group *Everyone* and the administrator.

use database::Transaction;
use database::configuration::{account, event, farm, group, principal, role};
use model::{Id, LoginName, Name, Preferences, Principal, Result, Role, Timestamp};

use super::{Account, password, text};
use crate::Repository;

/// Login of the administrator of a new farm.
const ADMINISTRATOR: &str = "admin";

impl Repository {
    /// Creates the roles, the group *Everyone* and the administrator `admin` in a farm without accounts. The password
    /// is the given one or a generated one. A generated password is returned, because it cannot be shown again. Does
    /// nothing in a farm that has an administrator.
    ///
    /// # Errors
    /// `Invalid` with code `invalid_password` or `easy_password`; `Unavailable` or `Corrupt` from the configuration
    /// database.
    pub(crate) async fn create_administrator(&self, password: Option<String>) -> Result<Option<String>> {
        let existing = self.inner.configuration.read(account::first_farm_administrator).await?;
        if existing.is_some() {
            return Ok(None);
        }
        let (password, generated) = match password {
            Some(password) => (password, false),
            None => (password::generate_password()?, true),
        };
        let hash = self.inner.identities.hasher.hash_new(&password, &[ADMINISTRATOR]).await?;
        let (id, login, now) = (self.inner.ids.next(), LoginName::new(ADMINISTRATOR)?, Timestamp::now());
        let create = move |tx: &mut Transaction| {
            farm::change_directory(tx)?;
            // Another process may have created it first.
            if account::find_by_login(tx, &login)?.is_some() {
                return Ok(false);
            }
            built_in(tx, now)?;
            let administrator = Account {
                id,
                login: login.as_str().to_owned(),
                display_name: "Administrator".to_owned(),
                email: String::new(),
                farm_administrator: true,
                disabled: false,
                deleted: false,
                preferences: Preferences::default(),
                created_at: now,
                signed_in_at: None,
            };
            account::insert(tx, &administrator, Some(&hash))?;
            principal::set_terms(tx, id, &text::terms(Some(login.as_str()), &administrator.display_name))?;
            event::record(tx, now, Id::NONE, "account.create", &format!("account {id}"), "admin, with the farm")?;
            Ok(true)
        };
        let created = self.inner.configuration.write(create).await?;
        Ok(Some(password).filter(|_| generated && created))
    }
}

fn built_in(tx: &mut Transaction, now: Timestamp) -> Result<()> {
    for built_in in Role::built_in() {
        role::insert(tx, built_in.id, &Name::new(built_in.name)?, built_in.rights)?;
    }
    let everyone = Name::new("Everyone")?;
    group::insert(tx, Principal::EVERYONE, &everyone, "All accounts that are not disabled", now)?;
    principal::set_terms(tx, Principal::EVERYONE, &text::terms(None, everyone.as_str()))
}
