//! Tests of agents: the orders that they accept, and the hosts that get their token.

use std::time::Instant;

use futures_util::future::join_all;
use lab::RunOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::{Misbehaviour, Server};
use crate::{plan, webdav};

const TOKEN: &str = "a word of agents";
/// Limit on the connections of an agent.
const PLACES: usize = 256;

async fn agent() -> String {
    let (to, from) = tokio::sync::oneshot::channel();
    let bound = move |address: std::net::SocketAddr| drop(to.send(address.to_string()));
    tokio::spawn(lab::agent::serve("127.0.0.1:0".parse().unwrap(), TOKEN.to_owned(), bound));
    from.await.unwrap()
}

/// Sends a text, and reads until the connection is closed.
async fn exchange(agent: &str, sent: &str) -> String {
    let mut stream = TcpStream::connect(agent).await.unwrap();
    let mut came = Vec::new();
    // The agent may already have closed the connection.
    let _ = stream.write_all(sent.as_bytes()).await;
    let _ = stream.read_to_end(&mut came).await;
    String::from_utf8_lossy(&came).into_owned()
}

fn post(path: &str, token: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: agent\r\nauthorization: Bearer {token}\r\ncontent-length: {length}\r\n\r\n")
}

#[tokio::test]
async fn an_agent_keeps_nobody_who_does_not_finish() {
    let (agent, over) = (agent().await, 50);
    let begun = Instant::now();
    let half = async |_| {
        exchange(&agent, "POST /run HT").await;
        begun.elapsed()
    };
    let ends = join_all((0..PLACES + over).map(half)).await;
    let at_once = ends.iter().filter(|end| end.as_secs() < 5).count();
    assert!(at_once >= over, "{at_once} were closed at once");
    assert!(ends.iter().all(|end| end.as_secs() < 30), "{:?}", ends.iter().max());
    let (silent, stranger) = (post("/watch", TOKEN, 100), post("/run", "guessed", 100));
    let (silent, stranger) = tokio::join!(exchange(&agent, &silent), exchange(&agent, &stranger));
    assert!(silent.contains("the order did not arrive completely"), "{silent}");
    assert!(stranger.contains("401"), "{stranger}");
}

#[tokio::test]
async fn a_part_that_is_none_is_refused() {
    let agent = agent().await;
    for (at, of) in [(0, 0), (5, 0), (3, 3), (0, 1_001)] {
        let order = serde_json::json!({
            "plan": plan("users = 1\nduration = '1s'"), "target": "http://127.0.0.1:1", "twins": [],
            "changes": { "steps": [] }, "login": null, "people": [], "confirmed": false, "run": "run", "part": [at, of],
        });
        let order = order.to_string();
        let said = exchange(&agent, &(post("/run", TOKEN, order.len()) + &order)).await;
        assert!(said.contains("400"), "{at} of {of}: {said}");
        assert!(said.contains("the order's part must be from 1 to 1000"), "{at} of {of}: {said}");
    }
}

#[tokio::test]
async fn the_largest_plan_reaches_its_agents() {
    let (server, agent) = (Server::start(Misbehaviour::None).await, agent().await);
    let text = plan("users = 1\nduration = '1s'") + "\n# ";
    // As JSON, the text is twice as long.
    let text = format!("{text}{}\n", "\"".repeat((1 << 20) - text.len() - 1));
    let (target, agents, agent_token) = (Some(server.url()), vec![agent], TOKEN.to_owned());
    let wishes = RunOptions { target, agents, agent_token, changes: webdav(), ..RunOptions::default() };
    let result = lab::run(&text, &wishes, |_| {}).await.unwrap();
    assert!(result.total.done > 0, "{:?}", result.faults);
    assert!(result.total.failed == 0, "{:?}", result.faults);
}

/// 0.0.0.0 leads to this machine, but is not a loopback address.
#[tokio::test]
async fn the_agent_token_is_sent_only_to_allowed_and_confirmed_hosts() {
    let (server, agent) = (Server::start(Misbehaviour::None).await, agent().await);
    let agent = agent.replace("127.0.0.1", "0.0.0.0");
    let unnamed = plan("users = 1\nduration = '2s'") + &format!("[[monitors]]\nkind = 'machine'\non = ['{agent}']\n");
    let named = unnamed.replace("[corpus]", "[target]\nhosts = ['0.0.0.0']\n[corpus]");
    let run = async |text: &str, confirmed| {
        let (target, agent_token) = (Some(server.url()), TOKEN.to_owned());
        let wishes = RunOptions { target, agent_token, confirmed, changes: webdav(), ..RunOptions::default() };
        lab::run(text, &wishes, |_| {}).await
    };
    let said = run(&unnamed, true).await.map(drop).unwrap_err().to_string();
    assert!(said.contains(&format!("{agent} is not contacted")), "{said}");
    assert!(said.contains("does not name 0.0.0.0"), "{said}");
    let said = run(&named, false).await.map(drop).unwrap_err().to_string();
    assert!(said.contains(&format!("{agent} is not contacted")), "{said}");
    assert!(said.contains("--yes-this-is-mine"), "{said}");
    let result = run(&named, true).await.unwrap();
    assert!(result.monitors.iter().any(|series| series.name.starts_with(&agent)), "{:?}", result.monitors);
}
