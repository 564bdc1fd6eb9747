pub struct ExportOptions;
pub struct ExportSummary;
pub fn export() {}
