//! `strongroom lab agent`.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use model::{Error, Result};

use super::failure::into_command_error;

/// Minimum length of the agent token, in bytes; shorter ones could be guessed.
const SHORTEST: usize = 16;

/// Arguments of `strongroom lab agent`.
#[derive(Args)]
pub struct Agent {
    /// Address and port to listen on; a loopback address is reachable from this machine only
    #[arg(long, default_value = "127.0.0.1:8099")]
    listen: SocketAddr,
    /// Shared secret that `strongroom lab run` must send, 16 characters or more
    #[arg(long, env = "STRONGROOM_LAB_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<String>,
}

impl Agent {
    /// Runs the command until it is interrupted.
    pub async fn run(self) -> Result<ExitCode> {
        let token = self.token.unwrap_or_default();
        if token.len() < SHORTEST {
            return Err(Error::invalid(format!(
                "an agent needs a token of {SHORTEST} characters or more: give it with --token, or in the environment \
                 variable STRONGROOM_LAB_TOKEN, to the agent and to `strongroom lab run`"
            )));
        }
        let serving = lab::agent::serve(self.listen, token, |address| eprintln!("waiting for orders on {address}"));
        tokio::select! {
            served = serving => served.map_err(|error| into_command_error(&error))?,
            _ = tokio::signal::ctrl_c() => {}
        }
        Ok(ExitCode::SUCCESS)
    }
}
