// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the commands of a page run, with the files that they name.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use tempfile::TempDir;

use crate::page::{Command, Page};
use crate::root;
use crate::support::spool::{NOBODY, Spool, Stream};
use crate::support::{command, done};

/// What documents call the directory of a killed job.
const KILLED_JOB: &str = "/dev/shm/ioracle-4711-8c2f0a91d3b7e654";

pub struct Place {
    directory: TempDir,
    killed_job: Option<Spool>,
}

impl Place {
    pub fn new(page: &Page) -> Place {
        let place = Place { directory: TempDir::new().expect("a directory"), killed_job: None };
        let texts: Vec<String> = page.commands().into_iter().map(|it| it.text).collect();
        let names = |name: &str| texts.iter().any(|text| text.contains(name));
        symlink(root().join("tests"), place.path("tests")).expect("a link");
        place.make_tools();
        place.compile("tests/programs/checkpoints.c", "simulation");
        fs::write(place.path("input.nml"), "&run steps = 20 /\n").expect("an input");
        if names("program.c") {
            place.write_program(page);
        }
        if names("app.c") {
            fs::copy(root().join("examples/c/next.c"), place.path("app.c")).expect("a copy");
        }
        if names("prefetch-c") {
            place.compile("examples/c/prefetch.c", "bin/prefetch-c");
        }
        if names("month_*.nc") {
            (1..=24).for_each(|month| place.write_month(month));
        }
        Place { killed_job: names(KILLED_JOB).then(killed_job), ..place }
    }

    /// What a command prints on both streams, or why it failed; None where a tool
    /// that it needs is not installed.
    pub fn run(&self, wanted: &Command) -> Option<Result<String, String>> {
        if wanted.text.contains("ncra") && Process::new("ncra").arg("--version").output().is_err() {
            eprintln!("skipped: there is no 'ncra'");
            return None;
        }
        let mut text = wanted.text.replace("/tmp", &self.path("").display().to_string());
        if let Some(job) = &self.killed_job {
            text = text.replace(KILLED_JOB, job.name());
        }
        let output = self.shell(&text).output().expect("a shell");
        let finished = done(output);
        let mut printed = finished.out + &finished.err;
        if let Some(job) = &self.killed_job {
            printed = printed.replace(job.name(), KILLED_JOB);
        }
        Some(match finished.code {
            Some(0) => Ok(printed),
            code => Err(format!("it ended with {code:?}:\n{printed}")),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A shell that finds our tools first, on a terminal of usual width.
    fn shell(&self, text: &str) -> Process {
        let mut shell = Process::new("sh");
        let path = std::env::var("PATH").unwrap_or_default();
        shell.args(["-c", text]).current_dir(self.directory.path()).stdin(Stdio::null());
        shell.env("PATH", format!("{}:{path}", self.path("bin").display()));
        shell
            .env("COLUMNS", "100")
            .env("HOME", self.directory.path())
            .env_remove("LD_LIBRARY_PATH");
        for (name, value) in command().get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        shell
    }

    /// The command, the library under its own name, and a `pkg-config` that knows both.
    fn make_tools(&self) {
        let built = Path::new(env!("CARGO_BIN_EXE_ioracle"));
        let library = built.with_file_name("deps").join("libioracle_capi.so");
        for directory in ["bin", "lib"] {
            fs::create_dir(self.path(directory)).expect("a directory");
        }
        symlink(built, self.path("bin/ioracle")).expect("a link");
        for name in ["libioracle.so", "libioracle.so.0"] {
            symlink(&library, self.path("lib").join(name)).expect("a link");
        }
        let script = format!("#!/bin/sh\necho '{}'\n", self.flags().join(" "));
        fs::write(self.path("bin/pkg-config"), script).expect("a script");
        let is_executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path("bin/pkg-config"), is_executable).expect("our own file");
    }

    fn flags(&self) -> [String; 4] {
        let (include, lib) = (root().join("crates/capi/include"), self.path("lib"));
        let (include, lib) = (include.display(), lib.display());
        [
            format!("-I{include}"),
            format!("-L{lib}"),
            format!("-Wl,-rpath,{lib}"),
            "-lioracle".to_owned(),
        ]
    }

    fn compile(&self, source: &str, name: &str) {
        let mut compiler = Process::new("cc");
        compiler.arg("-O2").arg(root().join(source)).arg("-o").arg(self.path(name));
        let done = compiler.args(self.flags()).output().expect("a C compiler");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// The program that the page shows, in a function and with a file to work on.
    fn write_program(&self, page: &Page) {
        let shown = page.first("c").expect("a program in C");
        let (include, body) = shown.split_once('\n').expect("an include, then statements");
        let program = format!(
            "#include <fcntl.h>\n{include}\nint main(void)\n{{\n\
             int fd = open(\"input.nml\", O_RDONLY);\n{body}\nreturn fd < 0;\n}}\n"
        );
        fs::write(self.path("program.c"), program).expect("a program");
    }

    /// A month of temperatures, in the classic format of netCDF: 30 steps of a
    /// grid of 90 by 180.
    fn write_month(&self, month: u32) {
        const STEPS: u32 = 30;
        const LAT: u32 = 90;
        const LON: u32 = 180;
        let mut header: Vec<u8> = b"CDF\x01".to_vec();
        let number = |to: &mut Vec<u8>, it: u32| to.extend(it.to_be_bytes());
        let numbers = |to: &mut Vec<u8>, them: &[u32]| them.iter().for_each(|it| number(to, *it));
        let name = |to: &mut Vec<u8>, name: &str| {
            number(to, name.len() as u32);
            to.extend(name.as_bytes());
            to.resize(to.len().next_multiple_of(4), 0);
        };
        // Dimensions (of which the first is that of records), no attributes.
        numbers(&mut header, &[STEPS, 0x0A, 3]);
        for (dimension, length) in [("time", 0), ("lat", LAT), ("lon", LON)] {
            name(&mut header, dimension);
            number(&mut header, length);
        }
        numbers(&mut header, &[0, 0, 0x0B, 2]);
        // Variables: dimensions, no attributes, type, bytes of a record, first byte.
        let bytes = header.len() as u32 + (8 + 7 * 4) + (16 + 9 * 4);
        name(&mut header, "time");
        numbers(&mut header, &[1, 0, 0, 0, 6, 8, bytes]);
        name(&mut header, "temperature");
        numbers(&mut header, &[3, 0, 1, 2, 0, 0, 5, 4 * LAT * LON, bytes + 8]);
        assert_eq!(header.len() as u32, bytes);
        let mut file = header;
        for step in 0..STEPS {
            file.extend(f64::from(step).to_be_bytes());
            let value = (280 + month * step) as f32;
            (0..LAT * LON).for_each(|_| file.extend(value.to_be_bytes()));
        }
        fs::write(self.path(&format!("month_{month:02}.nc")), file).expect("a file");
    }
}

/// What four ranks left, each with a file of its own.
fn killed_job() -> Spool {
    let spool = Spool::new();
    for rank in 0..4 {
        let path = format!("/data/run/out_{rank}.dat");
        let mut stream = Stream::writing(NOBODY + rank, NOBODY + rank, 50, &path);
        stream.rank = rank as i32;
        spool.add(&stream);
    }
    spool
}
