//! The test suite of the provider contract: a macro that makes one test of each promise.

/// Expands to a module for each case, with one `#[test]` for each promise of the contract. The expression of a case is
/// a future of an empty store and of something that lasts as long as the test, such as the directory of the store. It
/// is evaluated in the scope of the macro's call. The calling crate needs tokio with multi-threaded runtime and macros.
///
/// ```text
/// blobs::provider_contract! {
///     with_defaults => empty_store(Options::default()),
///     compressed => empty_store(Options { compression: Some(3), ..Options::default() }),
/// }
/// ```
#[macro_export]
macro_rules! provider_contract {
    (@promises $empty:expr => $($promise:ident),+ $(,)?) => {
        $(
            #[::tokio::test(flavor = "multi_thread")]
            async fn $promise() {
                let (store, _kept) = $empty.await;
                $crate::testing::promises::$promise(store).await;
            }
        )+
    };
    ($($case:ident => $empty:expr),+ $(,)?) => {
        $(
            mod $case {
                use super::*;

                $crate::provider_contract! { @promises $empty =>
                    stores_and_reads_all_sizes,
                    streams_what_arrives_in_pieces,
                    refuses_other_lengths_than_announced,
                    leaves_nothing_of_a_dropped_writer,
                    serves_ranges,
                    stores_the_same_bytes_once,
                    stores_the_same_bytes_once_at_the_same_time,
                    takes_bad_locators_as_hints,
                    says_not_found_only_of_what_is_absent,
                    deletes_and_stores_again,
                    enumerates_everything_once_in_order,
                    verifies_what_it_holds,
                    rereads_what_it_lists,
                    deletes_several_at_once,
                    deletes_nothing_without_consent,
                    counts_what_it_holds,
                    compacts_without_losing,
                    refuses_writes_after_close,
                }
            }
        )+
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_promise_becomes_a_test() {
        let promises = include_str!("promises.rs").lines().filter_map(|line| line.strip_prefix("pub async fn "));
        let listed: Vec<&str> = include_str!("contract.rs").lines().map(str::trim).collect();
        for promise in promises {
            let name = promise.split('(').next().unwrap();
            assert!(listed.contains(&format!("{name},").as_str()), "{name} is not in the list");
        }
    }
}
