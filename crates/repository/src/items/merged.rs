//! Rows of several sources in one order, the highest position first, read in parts.

use model::{Id, Result};

/// A source, such as a library.
struct Source<T, P> {
    id: Id,
    /// Rows that have not been taken, in reverse order.
    rows: Vec<T>,
    /// Position after which there may be others.
    next: Option<P>,
}

/// Rows of several sources.
pub(super) struct Merged<T, P> {
    sources: Vec<Source<T, P>>,
    batch: usize,
}

impl<T, P: Copy + Ord> Merged<T, P> {
    /// Begins behind `start`. `batch` is the number of rows that are read at once.
    pub(super) fn new(ids: &[Id], start: P, batch: usize) -> Self {
        let source = |id: &Id| Source { id: *id, rows: Vec::new(), next: Some(start) };
        Self { sources: ids.iter().map(source).collect(), batch }
    }

    /// Takes the next row of all sources. `read` returns at most so many rows of each of some sources below a position,
    /// the highest first.
    pub(super) fn next(
        &mut self,
        mut read: impl FnMut(&[(Id, P)], usize) -> Result<Vec<Vec<T>>>,
        position: impl Fn(&T) -> P,
    ) -> Result<Option<T>> {
        let next = |source: &Source<T, P>| source.next.filter(|_| source.rows.is_empty());
        let asked: Vec<(Id, P)> = self.sources.iter().filter_map(|source| Some((source.id, next(source)?))).collect();
        if !asked.is_empty() {
            let mut found = read(&asked, self.batch)?.into_iter();
            for source in self.sources.iter_mut().filter(|source| next(source).is_some()) {
                source.rows = found.next().unwrap_or_default();
                source.next = source.rows.last().filter(|_| source.rows.len() == self.batch).map(&position);
                source.rows.reverse();
            }
        }
        let heads = self.sources.iter_mut().filter(|source| !source.rows.is_empty());
        let best = heads.max_by_key(|source| source.rows.last().map(&position));
        Ok(best.and_then(|source| source.rows.pop()))
    }

    /// Goes on below a position in one source, unless it is there already.
    pub(super) fn skip(&mut self, id: Id, below: P, position: impl Fn(&T) -> P) {
        for source in self.sources.iter_mut().filter(|source| source.id == id) {
            source.rows.retain(|row| position(row) < below);
            source.next = source.next.map(|next| next.min(below));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_merged_in_order() {
        let all = [(1, 9), (2, 8), (1, 8), (3, 5), (1, 4), (2, 3), (1, 1)];
        for batch in 1..4 {
            let mut merged = Merged::new(&[Id::new(1), Id::new(2), Id::new(3), Id::new(4)], i64::MAX, batch);
            let read = |sources: &[(Id, i64)], most: usize| {
                let of = |(source, before): &(Id, i64)| {
                    let of = all.iter().filter(|(id, at)| Id::new(*id) == *source && at < before);
                    of.take(most).copied().collect::<Vec<_>>()
                };
                Ok(sources.iter().map(of).collect())
            };
            let mut seen = Vec::new();
            while let Some((_, at)) = merged.next(read, |(_, at)| *at).unwrap() {
                seen.push(at);
            }
            assert_eq!(seen, [9, 8, 8, 5, 4, 3, 1], "batches of {batch}");
            let mut merged = Merged::new(&[Id::new(1), Id::new(2)], i64::MAX, batch);
            assert_eq!(merged.next(read, |(_, at)| *at).unwrap(), Some((1, 9)));
            merged.skip(Id::new(1), 4, |(_, at)| *at);
            // There is no way back to what was taken.
            merged.skip(Id::new(1), 9, |(_, at)| *at);
            let mut rest = Vec::new();
            while let Some((_, at)) = merged.next(read, |(_, at)| *at).unwrap() {
                rest.push(at);
            }
            assert_eq!(rest, [8, 3, 1], "batches of {batch}");
        }
    }
}
