//! Whether a server says that it can work, while PostgreSQL comes and goes.

use std::path::Path;
use std::time::{Duration, Instant};

use database::testing::{fresh_postgres, postgres};
use reqwest::{Method, StatusCode};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

use crate::support::{Client, Farm};

/// How long a server may take to notice on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq)]
enum Gate {
    Open,
    /// Takes connections and bytes, and answers nothing.
    Silent,
    Closed,
}

/// Stands before PostgreSQL in this directory.
fn stand_before_postgres(directory: &Path) -> watch::Sender<Gate> {
    let (sender, gate) = watch::channel(Gate::Open);
    let listener = UnixListener::bind(directory.join(".s.PGSQL.5432")).unwrap();
    tokio::spawn(async move {
        loop {
            let Ok((client, _)) = listener.accept().await else { return };
            tokio::spawn(pass(client, gate.clone()));
        }
    });
    sender
}

async fn pass(mut client: UnixStream, mut gate: watch::Receiver<Gate>) {
    if *gate.borrow() == Gate::Open {
        let Ok(mut server) = UnixStream::connect(postgres().socket()).await else { return };
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut client, &mut server) => return,
            _ = gate.wait_for(|gate| *gate != Gate::Open) => {}
        }
    }
    let _ = gate.wait_for(|gate| *gate != Gate::Silent).await;
}

/// What `/readyz` says, and that `/healthz` says that the process lives.
async fn ready(client: &Client) -> (StatusCode, String) {
    let alive = client.send(Method::GET, "/healthz", Vec::new()).await.unwrap();
    assert_eq!(alive.status, StatusCode::OK);
    let begun = Instant::now();
    let answer = client.send(Method::GET, "/readyz", Vec::new()).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "readiness was waited for {:?}", begun.elapsed());
    (answer.status, answer.text())
}

async fn wait_for(client: &Client, status: StatusCode) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (said, text) = ready(client).await;
        if said == status {
            return text;
        }
        assert!(Instant::now() < deadline, "{said} and not {status}: {text}");
        // sleep: readiness is asked for, nothing tells of it
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_not_ready_while_postgres_gives_no_answer_and_ready_when_it_does() {
    let place = tempfile::tempdir().unwrap();
    let gate = stand_before_postgres(place.path());
    let word = |path: &Path| path.display().to_string().replace('/', "%2F");
    let through = |address: String| address.replace(&word(postgres().socket().parent().unwrap()), &word(place.path()));
    let (content, configuration) = (through(fresh_postgres().await), through(fresh_postgres().await));
    // One farm that has everything there, and one that has only its content there.
    for farm in [Farm::with_databases(&content, &configuration), Farm::with_content(&through(fresh_postgres().await))] {
        let server = farm.start();
        let client = server.client("");
        let signed_in = server.client(&farm.token());
        assert_eq!(ready(&client).await, (StatusCode::OK, "ready\n".to_owned()));
        for away in [Gate::Closed, Gate::Silent] {
            gate.send_replace(away);
            let text = wait_for(&client, StatusCode::SERVICE_UNAVAILABLE).await;
            assert!(text.starts_with("not ready\nthe con") && text.ends_with(": it does not answer\n"), "{text}");
            assert_eq!(ready(&client).await.0, StatusCode::SERVICE_UNAVAILABLE);
            // Neither does anybody wait without end, nor learn where the databases are.
            let begun = Instant::now();
            let answer = signed_in.get("never.bin").await.unwrap();
            assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.text());
            assert!(begun.elapsed() < Duration::from_secs(25), "a document was waited for {:?}", begun.elapsed());
            assert!(!answer.text().contains("postgres://"), "{}", answer.text());
            gate.send_replace(Gate::Open);
            wait_for(&client, StatusCode::OK).await;
        }
        assert!(server.stop().success());
    }
}
