//! Counts of the hits in a segment by their properties.

use std::collections::HashMap;

use model::{Id, Timestamp};
use tantivy::DocId;

use super::columns::Columns;
use crate::index::facets::{Facets, year_of};

/// Counts the hits of a segment.
#[derive(Default)]
pub(super) struct SegmentCounts {
    /// By the numbers that extensions have in the segment.
    extensions: HashMap<Option<u64>, u64>,
    rest: Facets,
    /// The year of the last hit, with its beginning and end: most hits have the same.
    year: Option<(i64, i64, i32)>,
}

impl SegmentCounts {
    pub(super) fn count(&mut self, columns: &Columns, doc: DocId, place: Id) {
        *self.extensions.entry(columns.extension(doc)).or_default() += 1;
        *self.rest.authors.entry(columns.author(doc)).or_default() += 1;
        *self.rest.places.entry((columns.collection(doc), place)).or_default() += 1;
        let year = self.year_of(columns.modified(doc));
        *self.rest.years.entry(year).or_default() += 1;
    }

    fn year_of(&mut self, at: Timestamp) -> i32 {
        let seconds = at.seconds();
        if let Some((start, end, year)) = self.year
            && (start..end).contains(&seconds)
        {
            return year;
        }
        let start_of = |year| {
            let first = time::Date::from_calendar_date(year, time::Month::January, 1).ok()?;
            Some(first.with_time(time::Time::MIDNIGHT).assume_utc().unix_timestamp())
        };
        let year = year_of(at);
        self.year = start_of(year).zip(start_of(year + 1)).map(|(start, end)| (start, end, year));
        year
    }

    /// Adds the counts to those of other segments.
    pub(super) fn finish(mut self, columns: &Columns, facets: &mut Facets) -> tantivy::Result<()> {
        for (number, count) in self.extensions {
            let name = number.map_or(Ok(String::new()), |number| columns.extension_of(number))?;
            *self.rest.extensions.entry(name).or_default() += count;
        }
        facets.add(self.rest);
        Ok(())
    }
}
