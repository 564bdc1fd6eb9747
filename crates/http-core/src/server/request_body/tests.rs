//! Bodies that are slow, long or many, and work that takes long.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use tokio::sync::oneshot;

use crate::testing::is_alone;

use super::{Bounded, FIELDS, MAX_ANONYMOUS_BODY, parse_off_thread, read_to_end, run_cpu_bound};

/// Longest wait for a sender's work behind the work of others.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// A body that delivers `piece` bytes after each pause, bounded like that of a request.
fn slow(pause: Duration, piece: usize, count: usize, rate: u64) -> Body {
    let stream = futures_util::stream::unfold(0, move |at| async move {
        // sleep: the clock is paused, no real time passes
        tokio::time::sleep(pause).await;
        (at < count).then(|| (Ok::<_, std::io::Error>(Bytes::from(vec![7; piece])), at + 1))
    });
    let body = Body::from_stream(stream);
    Body::new(Bounded { body, most: usize::MAX, left: None, rate, taken: 0, waited: Duration::ZERO, wait: None })
}

#[tokio::test(start_paused = true)]
async fn a_body_that_comes_too_slowly_is_given_up_and_a_bad_line_is_not() {
    let second = Duration::from_secs(1);
    for (pause, piece, count, rate, expected) in [
        (59 * second, 1, 100, 500, Err("body_timeout")),
        (3 * second, 1, 100, 500, Err("body_timeout")),
        // The first 30 seconds are free; a pause of more than a minute never is.
        (14 * second, 1, 1, 500, Ok(1)),
        (61 * second, 1 << 20, 2, 500, Err("body_timeout")),
        (61 * second, 1, 1, 0, Err("body_timeout")),
        (59 * second, 1, 5, 0, Ok(5)),
        (second, 600, 1_000, 500, Ok(600_000)),
        (second, 400, 1_000, 500, Err("body_timeout")),
        (25 * second, 50_000, 20, 500, Ok(1_000_000)),
    ] {
        let started = tokio::time::Instant::now();
        let read = read_to_end(slow(pause, piece, count, rate), FIELDS).await;
        let read = read.map(|bytes| bytes.len()).map_err(|error| error.code().as_str());
        assert_eq!(read, expected, "{piece} bytes each {pause:?}");
        if rate > 0 && expected.is_err() {
            assert!(started.elapsed() < 200 * second, "{:?}", started.elapsed());
        }
    }
}

#[tokio::test]
async fn a_body_is_taken_up_to_its_bound() {
    let pieces = |sizes: &'static [usize]| {
        let pieces = sizes.iter().map(|size| Ok::<_, std::io::Error>(Bytes::from(vec![7; *size])));
        Body::from_stream(futures_util::stream::iter(pieces))
    };
    for (sizes, most, expected) in [
        (&[][..], 0, Ok(0)),
        (&[65_536], 65_536, Ok(65_536)),
        (&[65_536, 1], 65_536, Err("too_large")),
        (&[16_384, 16_384, 1], FIELDS, Ok(32_769)),
        (&[1 << 20, 1 << 20], FIELDS, Ok(FIELDS)),
    ] {
        let read =
            read_to_end(pieces(sizes), most).await.map(|bytes| bytes.len()).map_err(|error| error.code().as_str());
        assert_eq!(read, expected, "{sizes:?}");
    }
    assert_eq!(read_to_end(Body::from(vec![7; 2]), 1).await.unwrap_err().code(), "too_large");
}

/// A body whose first bytes have arrived, and a sender that lets it end.
fn unfinished(bytes: usize) -> (Body, oneshot::Sender<()>) {
    let (end, ended) = oneshot::channel();
    let first = futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from(vec![7; bytes]))]);
    let last = futures_util::stream::once(async move {
        let _ = ended.await;
        Ok(Bytes::from_static(b"!"))
    });
    (Body::from_stream(futures_util::StreamExt::chain(first, last)), end)
}

/// Runs work as part of a request of a user, or from an address.
async fn on_behalf<F: Future>(person: Option<&str>, address: Option<[u8; 4]>, work: F) -> F::Output {
    let context = crate::server::request::RequestContext::of(&Default::default());
    let request = async move {
        let place = address
            .and_then(|address| crate::server::concurrency::KeyedSemaphore::new(1_000).try_acquire(address.into()));
        crate::server::request::set_limits(
            crate::server::concurrency::ConcurrencyLimits::new(crate::server::Limits::default()),
            place,
        );
        person.map(crate::server::request::note_principal).transpose().unwrap();
        work.await
    };
    context.scope(request).await
}

/// A body whose first bytes have arrived, read on behalf of a user, and a sender that lets it end.
fn begun(person: &str, bytes: usize) -> (tokio::task::JoinHandle<Result<usize, &'static str>>, oneshot::Sender<()>) {
    begun_at(person, None, bytes)
}

fn begun_at(
    person: &str,
    address: Option<[u8; 4]>,
    bytes: usize,
) -> (tokio::task::JoinHandle<Result<usize, &'static str>>, oneshot::Sender<()>) {
    let ((body, end), person) = (unfinished(bytes), person.to_owned());
    let reading =
        async move { read_to_end(body, FIELDS).await.map(|bytes| bytes.len()).map_err(|error| error.code().as_str()) };
    (tokio::spawn(async move { on_behalf(Some(&person), address, reading).await }), end)
}

#[tokio::test]
async fn one_person_who_sends_slowly_keeps_nobody_else_from_sending() {
    let much = FIELDS - 1;
    let mut held: Vec<_> = (0..7).map(|_| begun("anna", much)).collect();
    // Bytes that have arrived are taken in before the next task runs.
    tokio::task::yield_now().await;
    let (further, _end) = begun("anna", much);
    assert_eq!(further.await.unwrap(), Err("too_many_requests"));
    let (small, end) = begun("anna", 1_000);
    end.send(()).unwrap();
    assert_eq!(small.await.unwrap(), Ok(1_001));
    let (other, end) = begun("bert", much);
    end.send(()).unwrap();
    assert_eq!(other.await.unwrap(), Ok(FIELDS));
    let (first, end) = held.pop().unwrap();
    end.send(()).unwrap();
    assert_eq!(first.await.unwrap(), Ok(FIELDS));
    let (again, end) = begun("anna", much);
    end.send(()).unwrap();
    assert_eq!(again.await.unwrap(), Ok(FIELDS));
}

async fn accounts_of_one_address() {
    let (here, elsewhere, much) = (Some([198, 18, 1, 1]), Some([198, 18, 1, 2]), FIELDS - 1);
    let _held: Vec<_> = (0..14).map(|number| begun_at(["anna", "bert"][number % 2], here, much)).collect();
    tokio::task::yield_now().await;
    let (further, _end) = begun_at("cora", here, much);
    assert_eq!(further.await.unwrap(), Err("too_many_requests"));
    let (other, end) = begun_at("cora", elsewhere, much);
    end.send(()).unwrap();
    assert_eq!(other.await.unwrap(), Ok(FIELDS));
}

#[test]
fn accounts_of_one_address_leave_half_of_the_room_to_others() {
    if is_alone(module_path!(), "accounts_of_one_address_leave_half_of_the_room_to_others") {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(accounts_of_one_address());
    }
}

async fn strangers() {
    let (mut held, mut refused) = (Vec::new(), 0);
    for number in 0..1_600u16 {
        let (body, end) = unfinished(MAX_ANONYMOUS_BODY - 1);
        let from = [198, 18, 0, (number % 8) as u8];
        let reading =
            on_behalf(None, Some(from), async { read_to_end(body, MAX_ANONYMOUS_BODY).await.map(|body| body.len()) });
        held.push((Box::pin(reading), end));
        let (reading, _) = held.last_mut().unwrap();
        match futures_util::future::poll_immediate(reading).await {
            Some(outcome) => {
                refused += usize::from(["busy", "too_many_requests"].contains(&outcome.unwrap_err().code().as_str()))
            }
            None => continue,
        }
        held.pop();
    }
    println!("{} bodies of strangers are held, {refused} were refused", held.len());
    assert!(refused > 0, "{} are held", held.len());
    assert!(held.len() * MAX_ANONYMOUS_BODY <= 16 << 20, "{} are held", held.len());
    // Signed-in users can still send, even from the address of an anonymous sender.
    let body = || Body::from(vec![7; FIELDS]);
    for login in ["anna", "bert", "cora"] {
        let read = on_behalf(Some(login), Some([198, 18, 0, 1]), async { read_to_end(body(), FIELDS).await });
        assert_eq!(read.await.map(|body| body.len()).map_err(|error| error.code().as_str()), Ok(FIELDS), "{login}");
    }
    // The short body of a sign-in is not counted.
    let short = on_behalf(None, Some([198, 18, 0, 1]), async {
        read_to_end(Body::from("login=anna"), MAX_ANONYMOUS_BODY).await
    });
    assert_eq!(short.await.map(|body| body.len()).map_err(|error| error.code().as_str()), Ok(10));
}

#[test]
fn strangers_who_send_slowly_keep_nobody_who_has_signed_in_from_sending() {
    // The test uses up the whole budget for anonymous senders, so no other test may need it meanwhile.
    if is_alone(module_path!(), "strangers_who_send_slowly_keep_nobody_who_has_signed_in_from_sending") {
        tokio::runtime::Runtime::new().unwrap().block_on(strangers());
    }
}

#[tokio::test]
async fn bodies_take_their_room_until_they_are_parsed() {
    let slowly = |_: &[u8]| {
        // sleep: parsing takes a while, so that bodies wait for their turn
        std::thread::sleep(Duration::from_millis(20));
        Ok(())
    };
    let send = async || parse_off_thread(read_to_end(Body::from(vec![7; FIELDS]), FIELDS).await?, slowly).await;
    let ends = (0..40).map(|_| on_behalf(Some("dora"), None, send()));
    let ends = futures_util::future::join_all(ends).await;
    let codes: Vec<_> = ends.into_iter().map(|end| end.map_err(|error| error.code().as_str())).collect();
    let parsed = codes.iter().filter(|end| end.is_ok()).count();
    assert!((1..=8).contains(&parsed), "{parsed} bodies of 2 MiB were held at a time");
    assert!(codes.iter().all(|end| matches!(end, Ok(()) | Err("too_many_requests"))), "{codes:?}");
    assert!(on_behalf(Some("dora"), None, send()).await.is_ok());
}

#[tokio::test]
async fn nobody_waits_for_all_that_another_asked_for() {
    let work = || {
        run_cpu_bound(|| {
            // sleep: work takes a while, so that the next waits for it
            std::thread::sleep(Duration::from_millis(10));
            tokio::time::Instant::now()
        })
    };
    // More than may run before Bert's work, on any machine.
    let kept = 10 * super::processors();
    let anna: Vec<_> = (0..2 * kept).map(|_| tokio::spawn(on_behalf(Some("anna"), None, work()))).collect();
    // All of Anna's work is requested before Bert's; half of it is cancelled by its caller.
    tokio::task::yield_now().await;
    anna.iter().skip(kept).for_each(|work| work.abort());
    let bert = tokio::spawn(on_behalf(Some("bert"), None, work())).await.unwrap().unwrap();
    let mut before = 0;
    for work in anna.into_iter().take(kept) {
        before += usize::from(work.await.unwrap().unwrap() < bert);
    }
    assert!(before <= 2 * super::processors() + 2, "{before} pieces of work of anna went before the one of bert");
    // Permits of cancelled waiters are not lost.
    for _ in 0..4 {
        tokio::time::timeout(MAX_WAIT, on_behalf(Some("bert"), None, work())).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn costly_work_leaves_a_processor_to_others() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static AT_WORK: AtomicUsize = AtomicUsize::new(0);
    let most = super::processors().saturating_sub(1).max(1);
    let works = (0..4 * super::processors() + 4).map(|_| {
        super::run_cpu_bound(|| {
            let at_work = AT_WORK.fetch_add(1, Ordering::SeqCst) + 1;
            // sleep: work takes a while, so that all permitted work overlaps
            std::thread::sleep(Duration::from_millis(30));
            AT_WORK.fetch_sub(1, Ordering::SeqCst);
            at_work
        })
    });
    let seen = futures_util::future::join_all(works).await.into_iter().map(Result::unwrap).max().unwrap();
    assert!(seen <= most, "{seen} at a time, although there are {most} turns");
}
