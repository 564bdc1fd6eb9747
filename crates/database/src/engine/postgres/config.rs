//! Owns connection strings of PostgreSQL: reading them, showing them without secrets, and opening connections.

use std::fmt::Write as _;
use std::time::Duration;

use model::{Code, Error, Result};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, NoTls};

/// What each connection needs, whatever the server's defaults: an acknowledged commit is durable, no wait for a lock is
/// endless, and no statement is compiled to machine code, which costs more than it saves in short ones.
const SETTINGS: &str = "SET jit = off; SET client_min_messages = warning; SET lock_timeout = '10s'; SET search_path = public; \
     SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

/// Reads a connection string.
pub(crate) fn parse_config(text: &str) -> Result<Config> {
    // The driver's message may quote the text with the password in it, so it is not passed on.
    let mut config: Config = text.parse().map_err(|_| {
        Error::invalid(
            "the address of the database server cannot be read; write postgres://user:password@host:port/database \
             with special characters of the password percent-encoded",
        )
        .with_code(Code::InvalidAddress)
    })?;
    if config.get_ssl_mode() == SslMode::Require {
        return Err(Error::invalid(
            "the address of the database server asks for sslmode=require, but this program cannot encrypt the \
             connection to it; use a private network or a tunnel and leave sslmode out",
        )
        .with_code(Code::TlsUnsupported));
    }
    config.ssl_mode(SslMode::Disable);
    if config.get_application_name().is_none() {
        config.application_name("strongroom");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(5));
    }
    // A server that vanished without a word is noticed within half a minute.
    config.keepalives_idle(Duration::from_secs(10)).keepalives_interval(Duration::from_secs(5)).keepalives_retries(4);
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(30));
    }
    Ok(config)
}

/// The address for people, without the password.
pub(in crate::engine) fn describe(text: &str) -> String {
    let Ok(config) = text.parse::<Config>() else { return "postgres://(unreadable address)".to_owned() };
    let mut shown = String::from("postgres://");
    // Writing to a string cannot fail.
    if let Some(user) = config.get_user() {
        let _ = write!(shown, "{user}@");
    }
    for (i, host) in config.get_hosts().iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let _ = match host {
            Host::Tcp(name) => write!(shown, "{comma}{name}"),
            Host::Unix(path) => write!(shown, "{comma}{}", path.display()),
        };
        if let Some(port) = config.get_ports().get(i).or(config.get_ports().first()) {
            let _ = write!(shown, ":{port}");
        }
    }
    if let Some(database) = config.get_dbname() {
        let _ = write!(shown, "/{database}");
    }
    shown
}

/// Opens a connection whose traffic a task of the current runtime carries.
pub(crate) async fn connect(config: &Config) -> std::result::Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(async move {
        // Whoever uses the connection gets the error as well; this is for the log of what happened while it was idle.
        if let Err(error) = connection.await {
            tracing::warn!(%error, "a connection to the database server was cut");
        }
    });
    client.batch_execute(SETTINGS).await?;
    Ok(client)
}

/// Opens a connection whose statements the server gives up after this time, unless a transaction says otherwise.
pub(super) async fn connect_limited(
    config: &Config,
    statement: Duration,
) -> std::result::Result<Client, tokio_postgres::Error> {
    let client = connect(config).await?;
    client.batch_execute(&format!("SET statement_timeout = {}", statement.as_millis())).await?;
    Ok(client)
}
