// SPDX-License-Identifier: MIT OR Apache-2.0

//! The terminal: drawn on while the view is open, and restored afterwards.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind};
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use crate::shared::output::say;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Leave,
    Up,
    Down,
    Choose,
}

/// A terminal that is drawn on. Dropping it restores the terminal.
pub struct LiveScreen {
    terminal: Terminal<CrosstermBackend<File>>,
    /// A signal has asked us to leave.
    is_over: Arc<AtomicBool>,
    /// Held while drawing.
    drawing: Arc<Mutex<()>>,
    modes: Modes,
}

/// How the terminal was before, and how it is while it is drawn on.
#[derive(Clone)]
struct Modes {
    before: Termios,
    ours: Termios,
}

impl LiveScreen {
    /// Takes the terminal of this process.
    pub fn open() -> Result<LiveScreen> {
        let is_over = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&is_over)).context(NO_HANDLERS)?;
        }
        // A shell whose job was killed takes the terminal, and would stop us while we restore
        // it.
        SigSet::from(Signal::SIGTTOU).thread_block().context(NO_HANDLERS)?;
        // 'ioracle run' blocks them, which a view that it starts inherits.
        let wanted: SigSet = [Signal::SIGINT, Signal::SIGTERM].into_iter().collect();
        wanted.thread_unblock().context(NO_HANDLERS)?;
        let tty = File::options().read(true).write(true).open("/dev/tty");
        let tty = tty.context("could not open the terminal")?;
        let before = tcgetattr(&tty).context("could not take over the terminal")?;
        enable_raw_mode().context("could not take over the terminal")?;
        (|| {
            let ours = keep_signals(&tty)?;
            let mut out = &tty;
            // Terminal::clear would ask where the cursor is, by a sequence on standard output,
            // which may be a file.
            execute!(out, EnterAlternateScreen, Clear(ClearType::All), cursor::Hide)?;
            Ok((Terminal::new(CrosstermBackend::new(tty))?, Modes { before, ours }))
        })()
        .inspect_err(|_: &io::Error| {
            let _ = disable_raw_mode();
        })
        .map(|(terminal, modes)| LiveScreen { terminal, is_over, drawing: Arc::default(), modes })
        .context(NOT_DRAWN)
    }

    /// Restores the terminal and ends this process with a message as soon as another
    /// process is gone. On a thread of its own: reading from a terminal that a shell has
    /// taken over never returns.
    pub fn leave_without(&self, process: u32, sentence: String) -> Result<()> {
        let awaited = Pid::from_raw(process.cast_signed())
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let tty = File::options().read(true).write(true).open("/dev/tty").context(NOT_DRAWN)?;
        let (drawing, modes) = (Arc::clone(&self.drawing), self.modes.clone());
        std::thread::spawn(move || {
            if let Some(process) = awaited {
                wait_for(&process);
            }
            // Kept to the end, so that nothing is drawn afterwards.
            let _drawing = drawing.lock().unwrap_or_else(PoisonError::into_inner);
            give_back(&tty, &modes);
            say(sentence);
            std::process::exit(1);
        });
        Ok(())
    }

    /// Shows the lines that are made for the size of the terminal.
    pub fn draw<'a>(&mut self, lines: impl FnOnce(usize, usize) -> Vec<Line<'a>>) -> Result<()> {
        let _drawing = self.drawing.lock().unwrap_or_else(PoisonError::into_inner);
        let drawn = self.terminal.draw(|frame| {
            let area = frame.area();
            let text = Text::from(lines(area.width.into(), area.height.into()));
            frame.render_widget(Paragraph::new(text), area);
        });
        drawn.map(|_| ()).context(NOT_DRAWN)
    }

    /// Waits at most this long for a key that means something. A terminal that is gone,
    /// or whose size has changed, ends the wait as well.
    pub fn key(&self, at_most: Duration) -> Result<Option<Key>> {
        let has_news = match event::poll(at_most) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => false,
            has_news => has_news.context(NOT_READ)?,
        };
        if self.is_over.load(Ordering::Relaxed) {
            return Ok(Some(Key::Leave));
        }
        if !has_news {
            return Ok(None);
        }
        let Event::Key(key) = event::read().context(NOT_READ)? else { return Ok(None) };
        Ok(match key.code {
            _ if key.kind == KeyEventKind::Release => None,
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(Key::Leave),
            KeyCode::Up | KeyCode::Char('k') => Some(Key::Up),
            KeyCode::Down | KeyCode::Char('j') => Some(Key::Down),
            KeyCode::Enter => Some(Key::Choose),
            _ => None,
        })
    }
}

impl Drop for LiveScreen {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _ = execute!(self.terminal.backend_mut(), LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }
}

const NO_HANDLERS: &str = "could not install signal handlers";
const NOT_DRAWN: &str = "could not draw on the terminal";
const NOT_READ: &str = "could not read from the terminal";

/// Ctrl-C stays a signal, for the program of 'run --live' too, which is in the same process
/// group. Ctrl-Z would stop all of it and leave the terminal as it is now.
fn keep_signals(tty: &File) -> io::Result<Termios> {
    let mut modes = tcgetattr(tty)?;
    modes.local_modes |= LocalModes::ISIG;
    modes.special_codes[SpecialCodeIndex::VSUSP] = 0;
    modes.special_codes[SpecialCodeIndex::VQUIT] = 0;
    tcsetattr(tty, OptionalActions::Now, &modes)?;
    Ok(modes)
}

/// Shows what was there before the view.
pub fn leave(mut tty: &File) {
    // If the terminal is gone, there is nothing to restore.
    let _ = execute!(tty, LeaveAlternateScreen, cursor::Show);
}

/// Waits until a process has ended.
fn wait_for(process: &OwnedFd) {
    let mut awaited = [PollFd::new(process, PollFlags::IN)];
    while poll(&mut awaited, None) == Err(Errno::INTR) {}
}

/// The terminal as it was, unless a shell has changed its modes in the meantime.
fn give_back(tty: &File, modes: &Modes) {
    leave(tty);
    let is_ours = tcgetattr(tty).is_ok_and(|now| {
        now.local_modes == modes.ours.local_modes && now.input_modes == modes.ours.input_modes
    });
    if is_ours {
        let _ = tcsetattr(tty, OptionalActions::Now, &modes.before);
    }
}
