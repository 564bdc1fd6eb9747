//! Rule for the data directory of a new farm: it does not lie within that of another one.

use std::path::Path;

use model::{Code, Error, Result};

use crate::locations::markers::{farm_around, real_path};
use crate::locations::nesting::Nesting;

/// Refuses a new farm within the data directory of another one, which would treat it as its own. Blocks.
///
/// # Errors
/// `Conflict` with code `farm_nested`.
pub(crate) fn require_no_farm_around(directory: &Path) -> Result<()> {
    let place = real_path(directory)?;
    let Some(marked) = farm_around(&place)? else { return Ok(()) };
    let how = Nesting::Within.sentence(&place.display().to_string(), &marked.place, &marked.sign.to_string());
    let text = format!("{how}: a farm cannot lie within another farm, choose another directory");
    Err(Error::conflict(text).with_code(Code::FarmNested))
}
