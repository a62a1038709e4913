// SPDX-License-Identifier: MIT OR Apache-2.0

//! The run's end of the performer.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use ioracle_spool::settings::DISABLE;
use rustix::io::Errno;

use super::protocol::{self, Answer, Order};
use crate::run::launch::LD_PRELOAD;

/// A performer that is running.
pub struct Performer {
    child: Child,
    socket: Option<OwnedFd>,
}

impl Performer {
    /// Starts one: this command again, in a process group of its own, so that
    /// keys that end the program do not end it in the middle of an order.
    pub fn start() -> Result<Performer> {
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
        Ok(Performer { child, socket: Some(socket) })
    }

    /// Gives an order; false if it was not taken.
    pub fn order(&mut self, order: &Order) -> bool {
        let Some(socket) = &self.socket else { return false };
        match protocol::send_order(socket, order) {
            Ok(()) => true,
            Err(Errno::AGAIN) => false,
            Err(_) => {
                self.socket = None;
                false
            }
        }
    }

    /// The next answer that has come, if any.
    pub fn answer(&mut self) -> Option<Answer> {
        let socket = self.socket.as_ref()?;
        match protocol::receive_answer(socket) {
            Ok(Some(answer)) => Some(answer),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Ok(None) | Err(_) => {
                self.socket = None;
                None
            }
        }
    }

    /// Whether it can still be reached.
    pub fn is_running(&self) -> bool {
        self.socket.is_some()
    }
}

impl Drop for Performer {
    /// It ends by itself; one that hangs in a read is left behind.
    fn drop(&mut self) {
        self.socket = None;
        let _ = self.child.try_wait();
    }
}
