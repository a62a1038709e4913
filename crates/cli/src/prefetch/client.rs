// SPDX-License-Identifier: MIT OR Apache-2.0

//! The run's end of the performer.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use ioracle_spool::settings::DISABLE;
use rustix::io::Errno;

use super::protocol::{self, Order, Reply};
use crate::run::launch::LD_PRELOAD;
use crate::shared::failure::sentence;

/// A performer, which is started by its first order: a program that needs no help
/// does not pay for one.
#[derive(Default)]
pub enum Performer {
    #[default]
    NotStarted,
    Running(PerformerProcess),
    /// Why it cannot be reached.
    Lost(String),
}

/// A performer that is running.
pub struct PerformerProcess {
    child: Child,
    socket: OwnedFd,
}

impl Performer {
    /// Gives an order; false if it was not taken.
    pub fn order(&mut self, order: &Order) -> bool {
        if matches!(self, Performer::NotStarted) {
            *self = match PerformerProcess::start() {
                Ok(process) => Performer::Running(process),
                Err(error) => Performer::Lost(sentence(&error)),
            };
        }
        let Performer::Running(process) = self else { return false };
        match protocol::send_order(&process.socket, order) {
            Ok(()) => true,
            Err(Errno::AGAIN) => false,
            Err(_) => {
                self.lose();
                false
            }
        }
    }

    /// The next reply that has come, if any.
    pub fn reply(&mut self) -> Option<Reply> {
        let Performer::Running(process) = self else { return None };
        match protocol::receive_reply(&process.socket) {
            Ok(Some(reply)) => Some(reply),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Ok(None) | Err(_) => {
                self.lose();
                None
            }
        }
    }

    /// Why it cannot be reached, if that is so.
    pub fn lost(&self) -> Option<&str> {
        match self {
            Performer::Lost(why) => Some(why),
            Performer::NotStarted | Performer::Running(_) => None,
        }
    }

    fn lose(&mut self) {
        *self = Performer::Lost("the process that reads ahead has ended".to_owned());
    }
}

impl PerformerProcess {
    /// This command again, in a process group of its own, so that keys that end the
    /// program do not end it in the middle of an order.
    fn start() -> Result<PerformerProcess> {
        let (socket, its_end) = protocol::channel().context("could not make a socket")?;
        let ours = std::env::current_exe().context("could not find this command")?;
        let child = Command::new(ours)
            .arg("perform-prefetch")
            .env(DISABLE, "1")
            .env_remove(LD_PRELOAD)
            .stdin(Stdio::from(its_end))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("could not start the process that reads ahead")?;
        Ok(PerformerProcess { child, socket })
    }
}

impl Drop for PerformerProcess {
    /// It ends by itself when the socket is closed; one that hangs in a read is left behind.
    fn drop(&mut self) {
        let _ = self.child.try_wait();
    }
}
