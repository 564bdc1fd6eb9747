//! Documents: their content, versions and check-outs.

mod approval;
mod checkout;
mod open;
mod pending_blob;
mod rules;
mod save;
mod succession;
mod text;
mod upload;
mod versions;

pub use approval::{Rejection, Submission};
pub use checkout::CheckIn;
pub use open::{Content, ReadRange, VersionChoice};
pub use rules::Preconditions;
pub use save::{OnConflict, Ownership, Saved, UploadOptions};
pub use text::{read_member, shrink_picture};
pub use upload::{Destination, Upload};

pub(crate) use open::require_draft;
pub(crate) use pending_blob::{PendingBlob, needs_confirmation};
pub(crate) use rules::{charge, library_of, next_number, release_versions, trim};
pub(crate) use save::{DestinationFolder, SavePlan, UsageDelta};
pub(crate) use succession::{Succession, record_replaced, succeed};
pub(crate) use upload::media_type;
