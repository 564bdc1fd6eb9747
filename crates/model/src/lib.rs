//! The vocabulary of Strongroom and the rules that need nothing else: identifiers, names, kinds of item, versions,
//! principals, rights, columns, formulas and the one error type.
//!
//! This crate contains no I/O, async code, SQL or wire format, and depends on no other crate of Strongroom.

mod accent;
mod backup;
mod code;
mod column;
mod counted;
mod digest;
mod error;
mod fault;
mod formula;
mod id;
mod image;
mod job;
mod limits;
mod name;
mod network;
mod node;
mod policy;
mod preferences;
mod principal;
mod reclaim;
mod recycle;
mod right;
mod rights;
mod scopes;
mod storage;
mod store;
mod time;
mod version;
mod words;
mod zone;

pub use accent::Accent;
pub use backup::BackupState;
pub use code::Code;
pub use column::{ColumnKind, ColumnRole, ColumnValue, MAX_VALUES_PER_FIELD, SORTED_CHARS, SortValue, Total};
pub use counted::{counted, exact_size, grouped, readable_size, unsigned};
pub use digest::Digest;
pub use error::{Error, ErrorKind, Lack, Result};
pub use fault::FaultState;
pub use formula::{
    Expression, Formula, FormulaColumn, FormulaContext, FormulaFault, FormulaType, Function, Operator, Outcome,
    Parameter, ResultType, Signature, Uses, order_of,
};
pub use id::{Id, IdRange, IdSource, id_time};
pub use image::{MAX_IMAGE_BYTES, SmallImage};
pub use job::{JobKind, JobPhase, JobState, JobStatus, RequestedState};
pub use limits::{MAX_COLUMN_TEXT, MAX_COMMENT, MAX_DEPTH, MAX_NAME_CHARS, MAX_NOTE, MAX_PAGE};
pub use name::{
    Name, NodePath, SitePath, extension, fold, is_application_file, is_temporary_file, is_temporary_folder,
};
pub use network::Network;
pub use node::NodeKind;
pub use policy::{LibrarySettings, Versioning};
pub use preferences::{Preferences, SearchAlert, Theme};
pub use principal::{LoginName, Principal, PrincipalKind};
pub use reclaim::{PendingReason, ReclaimReason, ReclaimState};
pub use recycle::RecycleStage;
pub use right::Right;
pub use rights::{Rights, Role};
pub use scopes::{Authentication, Limits, TokenScope, TokenScopes};
pub use storage::{PolicyLevel, StorageRules, Tier, TierBasis};
pub use store::{StoreKind, StoreState};
pub use time::Timestamp;
pub use version::VersionNumber;
pub use zone::{LocalTime, Zone};
