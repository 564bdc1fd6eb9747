//! Flags that say where load goes and who signs in.

use clap::{Args, ValueEnum};

/// Where load goes and who signs in.
#[derive(Args)]
pub struct TargetFlags {
    /// Address of the server, such as http://127.0.0.1:8080; that of the plan when absent
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    /// Another server that should be equal to the target, such as one more of the same farm; may be given several
    /// times. Users are spread over all, and one that differs is named
    #[arg(long, value_name = "URL")]
    twin: Vec<String>,
    /// What the server speaks
    #[arg(long, value_enum)]
    kind: Option<KindFlag>,
    /// Below which path the corpus lies: a site, or for WebDAV a collection such as /dav/Documents
    #[arg(long, value_name = "PATH")]
    root: Option<String>,
    /// Who signs in
    #[arg(long)]
    user: Option<String>,
    /// The password; better given by the environment
    #[arg(long, env = "STRONGROOM_LAB_PASSWORD", hide_env_values = true, requires = "user")]
    password: Option<String>,
    /// The server is on another machine and may be put under load
    #[arg(long)]
    yes_this_is_mine: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindFlag {
    Strongroom,
    Webdav,
}

impl TargetFlags {
    /// The wishes that the flags amount to.
    pub fn wishes(&self) -> lab::Wishes {
        let kind = self.kind.map(|kind| match kind {
            KindFlag::Strongroom => lab::Kind::Strongroom,
            KindFlag::Webdav => lab::Kind::Webdav,
        });
        let login =
            self.user.clone().map(|user| lab::Login { user, password: self.password.clone().unwrap_or_default() });
        lab::Wishes {
            target: self.target.clone(),
            twins: self.twin.clone(),
            changes: lab::Changes { kind, root: self.root.clone(), ..lab::Changes::default() },
            login,
            confirmed: self.yes_this_is_mine,
            ..lab::Wishes::default()
        }
    }
}
