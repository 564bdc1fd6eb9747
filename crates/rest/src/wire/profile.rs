//! JSON forms of profiles.

use repository::{PrincipalName, Profile};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a user tells about themselves.
#[derive(Serialize, ToSchema)]
pub struct ProfileJson {
    /// Identifier of the user.
    pub id: String,
    /// The display name.
    pub name: String,
    /// Login name.
    pub login: String,
    /// Job title.
    pub job_title: String,
    /// Department.
    pub department: String,
    /// Where the user works, such as a room.
    pub office: String,
    /// Telephone number.
    pub phone: String,
    /// A web address, or empty.
    pub web_address: String,
    /// A text of several lines.
    pub about: String,
    /// True if there is a picture.
    pub has_picture: bool,
    /// Number of changes of the profile, to be sent with the next one.
    pub revision: i64,
}

impl ProfileJson {
    /// Returns the JSON form of a profile and the name of its user.
    pub fn new((name, profile): (PrincipalName, Profile)) -> Self {
        Self {
            id: name.id.to_string(),
            name: name.name,
            login: name.login.unwrap_or_default(),
            job_title: profile.job_title,
            department: profile.department,
            office: profile.office,
            phone: profile.phone,
            web_address: profile.web_address,
            about: profile.about,
            has_picture: profile.has_picture,
            revision: profile.revision,
        }
    }
}

/// The new profile of a user. Absent texts are emptied.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileForm {
    /// The revision that the change is based on.
    pub revision: i64,
    /// Job title.
    #[serde(default)]
    #[schema(value_type = super::rules::ProfileLine)]
    pub job_title: String,
    /// Department.
    #[serde(default)]
    #[schema(value_type = super::rules::ProfileLine)]
    pub department: String,
    /// Where the user works, such as a room.
    #[serde(default)]
    #[schema(value_type = super::rules::ProfileLine)]
    pub office: String,
    /// Telephone number.
    #[serde(default)]
    #[schema(value_type = super::rules::ProfileLine)]
    pub phone: String,
    /// A web address.
    #[serde(default)]
    #[schema(value_type = super::rules::WebAddress)]
    pub web_address: String,
    /// A text of several lines.
    #[serde(default)]
    #[schema(value_type = super::rules::AboutText)]
    pub about: String,
}

impl From<ProfileForm> for Profile {
    fn from(form: ProfileForm) -> Self {
        Self {
            revision: form.revision,
            job_title: form.job_title,
            department: form.department,
            office: form.office,
            phone: form.phone,
            web_address: form.web_address,
            about: form.about,
            has_picture: false,
        }
    }
}
