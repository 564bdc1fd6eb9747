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

    /// Takes the next row of all sources. `read` returns at most so many rows of a source below a position, the highest
    /// first.
    pub(super) fn next(
        &mut self,
        mut read: impl FnMut(Id, P, usize) -> Result<Vec<T>>,
        position: impl Fn(&T) -> P,
    ) -> Result<Option<T>> {
        let mut best: Option<(P, usize)> = None;
        for (number, source) in self.sources.iter_mut().enumerate() {
            if let (true, Some(after)) = (source.rows.is_empty(), source.next) {
                source.rows = read(source.id, after, self.batch)?;
                source.next = source.rows.last().filter(|_| source.rows.len() == self.batch).map(&position);
                source.rows.reverse();
            }
            if let Some(row) = source.rows.last() {
                best = best.max(Some((position(row), number)));
            }
        }
        Ok(best.and_then(|(_, number)| self.sources.get_mut(number)?.rows.pop()))
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
            let read = |source: Id, before: i64, most: usize| {
                let of = all.iter().filter(|(id, at)| Id::new(*id) == source && *at < before);
                Ok(of.take(most).copied().collect::<Vec<_>>())
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
