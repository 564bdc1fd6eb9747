//! Reads documents of Word, Excel and PowerPoint of the time before 2007, which LibreOffice converts first.

use model::{Code, Error, Result};

use super::reading::{ReadDocument, Reading};
use super::{Programs, office};
use crate::extract::unreadable;
use crate::readers::ReadableFormat;
use crate::sandbox::{ReadLimit, stops};

impl Programs {
    pub(super) async fn read_old_office(&self, reading: Reading<'_>) -> Result<ReadDocument> {
        let format = reading.format;
        // What has such a name may be a document of another format.
        match reading.bytes {
            [0xd0, 0xcf, 0x11, 0xe0, ..] => {}
            [b'{', b'\\', b'r', b't', b'f', ..] => return self.read_as(ReadableFormat::Rtf, reading).await,
            [b'P', b'K', 3, 4, ..] => return self.read_as(newer(format), reading).await,
            [b'<', ..] => return self.read_as(ReadableFormat::Html, reading).await,
            _ => return Err(unreadable("it does not begin like a document of its format")),
        }
        let installed = self.found().await?;
        let Some(office) = installed.office.as_ref().filter(|_| installed.converts(format)) else {
            let message = "the text of documents of this format is read by LibreOffice, which is not installed";
            let fault = Error::invalid(message).with_code(Code::NeedsSoffice);
            return Ok(ReadDocument { fault: Some(fault), ..ReadDocument::default() });
        };
        if reading.limit == ReadLimit::Short {
            return Err(Error::unavailable("the document waits for LibreOffice"));
        }
        let Reading { bytes, room, limit, .. } = reading;
        let permit = self.0.slow.acquire().await.map_err(|_| stops())?;
        let convert = || office::convert(&self.0.sandbox, &office.path, &self.0.settings.place, format, bytes);
        let converted = match convert().await {
            // The program occasionally fails on a document that it converts on the next run.
            Err(error) if error.code() == Code::NotReadable => convert().await,
            converted => converted,
        };
        drop((permit, room));
        let (format, bytes) = converted?;
        let room = self.0.sandbox.text_room(limit, bytes.len() as u64).await?;
        Ok(self.0.sandbox.read_text(limit, room, format, &bytes).await?.into())
    }
}

/// The newer format of the same program.
const fn newer(format: ReadableFormat) -> ReadableFormat {
    match format {
        ReadableFormat::Xls => ReadableFormat::Xlsx,
        ReadableFormat::Ppt => ReadableFormat::Pptx,
        _ => ReadableFormat::Docx,
    }
}
