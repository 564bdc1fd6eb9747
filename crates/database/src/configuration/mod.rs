//! Statements over the configuration database: the farm itself, its content databases, BLOB stores and site
//! collections. One module per table or small family of tables. Knows no rule and no permission.

pub mod farm;
pub mod site_collection;
