//! Owns PostgreSQL connection strings: parsing them, displaying them without secrets, and opening connections.

use std::fmt::Write as _;
use std::time::Duration;

use model::{Code, Error, Result};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, NoTls};

/// Settings of every connection, whatever the server's defaults: an acknowledged commit is durable, no wait for a lock
/// is endless, and statements are not compiled by the JIT, which costs more than it saves for short ones. Nor are they
/// planned again for each set of parameters, which takes longer than most of them run.
const SETTINGS: &str = "SET jit = off; SET plan_cache_mode = force_generic_plan; \
     SET client_min_messages = warning; SET lock_timeout = '10s'; \
     SET search_path = public; \
     SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

/// Parses a connection string.
pub(crate) fn parse_config(text: &str) -> Result<Config> {
    // The driver's message may quote the text including the password, so it is not passed on.
    let mut config: Config = text.parse().map_err(|_| {
        Error::invalid(
            "the address of the database server cannot be read; write postgres://user:password@host:port/database \
             with special characters of the password percent-encoded",
        )
        .with_code(Code::InvalidAddress)
    })?;
    if config.get_ssl_mode() == SslMode::Require {
        return Err(Error::invalid(
            "the address of the database server contains sslmode=require, but this program cannot encrypt the \
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
    // Keepalives detect a server that has vanished silently within half a minute.
    config.keepalives_idle(Duration::from_secs(10)).keepalives_interval(Duration::from_secs(5)).keepalives_retries(4);
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(30));
    }
    Ok(config)
}

/// The address for display, without the password.
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

/// Opens a connection. A task of the current runtime carries its traffic.
pub(crate) async fn connect(config: &Config) -> std::result::Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(async move {
        // The user of the connection gets the error as well. This log entry covers a connection that was cut while
        // idle.
        if let Err(error) = connection.await {
            tracing::warn!(%error, "a connection to the database server was lost");
        }
    });
    client.batch_execute(SETTINGS).await?;
    Ok(client)
}

/// Opens a connection with this statement timeout, which a transaction can override.
pub(super) async fn connect_limited(
    config: &Config,
    statement: Duration,
) -> std::result::Result<Client, tokio_postgres::Error> {
    let client = connect(config).await?;
    client.batch_execute(&format!("SET statement_timeout = {}", statement.as_millis())).await?;
    Ok(client)
}
