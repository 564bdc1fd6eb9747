//! Flags for the target of the load and the login.

use clap::{Args, ValueEnum};

/// Target of the load and login.
#[derive(Args)]
pub struct TargetFlags {
    /// Address of the server, such as http://127.0.0.1:8080 [default: the plan's]
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    /// Another server that should behave like the target, such as a second server of the same farm; users are spread
    /// over all servers, and differences are reported; may be repeated
    #[arg(long, value_name = "URL")]
    twin: Vec<String>,
    /// Protocol of the server [default: the plan's]
    #[arg(long, value_enum)]
    kind: Option<KindFlag>,
    /// Path of the corpus: a site, or for WebDAV a collection such as /dav/Documents [default: the plan's]
    #[arg(long, value_name = "PATH")]
    root: Option<String>,
    /// Login name
    #[arg(long)]
    user: Option<String>,
    /// Password; better set in the environment
    #[arg(long, env = "STRONGROOM_LAB_PASSWORD", hide_env_values = true, requires = "user")]
    password: Option<String>,
    /// Confirm that the server on another machine may be put under load
    #[arg(long)]
    yes_this_is_mine: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindFlag {
    Strongroom,
    Webdav,
}

impl TargetFlags {
    /// Converts the flags into options of a run.
    pub fn run_options(&self) -> lab::RunOptions {
        let kind = self.kind.map(|kind| match kind {
            KindFlag::Strongroom => lab::TargetKind::Strongroom,
            KindFlag::Webdav => lab::TargetKind::Webdav,
        });
        let login =
            self.user.clone().map(|user| lab::Login { user, password: self.password.clone().unwrap_or_default() });
        lab::RunOptions {
            target: self.target.clone(),
            twins: self.twin.clone(),
            changes: lab::PlanOverrides { kind, root: self.root.clone(), ..lab::PlanOverrides::default() },
            login,
            confirmed: self.yes_this_is_mine,
            ..lab::RunOptions::default()
        }
    }
}
