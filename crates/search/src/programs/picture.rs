//! Reads pictures: their metadata, and the text in them.

use model::{Code, Result};

use super::pages::Pages;
use super::reading::{ReadDocument, Reading, Recognition};
use super::recognition::recogniser;
use super::{Programs, tesseract};
use crate::sandbox::stops;

impl Programs {
    pub(super) async fn read_picture(&self, reading: Reading<'_>) -> Result<ReadDocument> {
        let (bytes, recognition, is_whole) = (reading.bytes, reading.recognition, reading.is_whole);
        let metadata = self.read_as(reading.format, reading).await;
        if recognition == Recognition::Off {
            return metadata;
        }
        let mut read = match metadata {
            Err(error) if error.code() != Code::NotReadable => return Err(error),
            // Its text does not depend on its metadata.
            metadata => metadata.unwrap_or_default(),
        };
        let installed = self.found().await?;
        match recogniser(&installed, recognition) {
            Ok(Some((tesseract, languages))) if matches!(recognition, Recognition::Now(_)) => {
                if !is_whole {
                    read.text.is_cut = true;
                    return Ok(read);
                }
                let _permit = self.0.slow.acquire().await.map_err(|_| stops())?;
                let found = tesseract::text(&self.0.sandbox, tesseract, &languages, None, bytes).await?;
                let recognised = Pages::of(&found.bytes, found.is_cut || found.fault.is_some()).finish(&[]);
                read.text.is_cut |= recognised.is_cut;
                read.text.append(&recognised.text);
                read.fault = found.fault;
            }
            Ok(recogniser) => read.awaits_recognition = recogniser.is_some(),
            Err(error) => read.note_no_recognition(error, recognition)?,
        }
        Ok(read)
    }
}
