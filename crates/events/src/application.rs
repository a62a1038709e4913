// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which application a process belongs to.
//!
//! A name that the user or the program gives counts first, in the order of the
//! KNOWAC paper: the variable overrides the compiled name. Otherwise it is what
//! the process really runs, by name: the script of an interpreter, the program
//! below a launcher. How launchers and interpreters read their options is taken
//! from short tables; an option that is not in them is taken to have no value.

/// The variables that name an application, in order of precedence.
pub const APPLICATION_VARIABLES: [&str; 2] = ["CURRENT_ACCUM_APP_NAME", "IORACLE_APP"];

/// The longest name; what is longer is cut.
const MAX_NAME_BYTES: usize = 255;

/// How many nested launchers are followed.
const MAX_NESTED: usize = 8;

/// What is known about a process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessIdentity<'a> {
    /// Variables of its environment; others than [`APPLICATION_VARIABLES`] do not
    /// count.
    pub variables: &'a [(String, String)],
    /// The text of the symbol `ACCUM_APP_NAME` that the program exports.
    pub exported: Option<&'a str>,
    /// The path of its executable, or a name.
    pub executable: &'a str,
    /// Its arguments, beginning with the name it was called by.
    pub arguments: &'a [String],
}

/// The application that a process belongs to.
pub fn application(process: &ProcessIdentity<'_>) -> String {
    let variable = |wanted: &&str| {
        let mut found = process.variables.iter().filter(|(name, _)| name == wanted);
        found.find_map(|(_, value)| (!value.is_empty()).then_some(value.as_str()))
    };
    let named = APPLICATION_VARIABLES.iter().find_map(variable);
    let given = named.or(process.exported.filter(|name| !name.is_empty()));
    let arguments: Vec<&str> = process.arguments.iter().skip(1).map(String::as_str).collect();
    let mut name = match given {
        Some(name) => name.to_owned(),
        None => what_runs(process.executable, &arguments, 0),
    };
    while name.len() > MAX_NAME_BYTES {
        name.pop();
    }
    name
}

/// A program that runs another one, and its options that have values.
struct Runner {
    names: &'static [&'static str],
    /// Options with one value in the word that follows.
    valued: &'static [&'static str],
    /// Those with two.
    valued_twice: &'static [&'static str],
    /// Words before the program that are not options.
    n_words: usize,
}

const RUNNERS: [Runner; 9] = [
    Runner {
        names: &[
            "mpirun",
            "mpiexec",
            "orterun",
            "prterun",
            "mpiexec.hydra",
            "mpirun.openmpi",
            "mpiexec.openmpi",
            "mpirun.mpich",
            "mpiexec.mpich",
            "aprun",
            "jsrun",
            "ibrun",
        ],
        valued: &[
            "-n",
            "-np",
            "--np",
            "-c",
            "-N",
            "-npernode",
            "--npernode",
            "-ppn",
            "-f",
            "-host",
            "--host",
            "-H",
            "-hosts",
            "-hostfile",
            "--hostfile",
            "-machinefile",
            "--machinefile",
            "-x",
            "-wdir",
            "--wdir",
            "-wd",
            "-path",
            "-bind-to",
            "--bind-to",
            "-map-by",
            "--map-by",
            "-rank-by",
            "--rank-by",
            "-rf",
            "-envlist",
            "-genvlist",
            "-launcher",
            "-iface",
            "-outfile-pattern",
            "--output",
            "-tune",
            "--tune",
            "-am",
            "-d",
            "-S",
            "-r",
            "-a",
            "-g",
            "-b",
            "-l",
            "-p",
        ],
        valued_twice: &["-mca", "--mca", "-gmca", "--gmca", "-genv", "-env", "--prtemca"],
        n_words: 0,
    },
    Runner {
        names: &["srun"],
        valued: &[
            "-n",
            "--ntasks",
            "-N",
            "--nodes",
            "-c",
            "--cpus-per-task",
            "-p",
            "--partition",
            "-t",
            "--time",
            "-w",
            "--nodelist",
            "-J",
            "--job-name",
            "-A",
            "--account",
            "-C",
            "--constraint",
            "-o",
            "--output",
            "-e",
            "--error",
            "-i",
            "--input",
            "-D",
            "--chdir",
            "-x",
            "--exclude",
            "-m",
            "--distribution",
            "--mem",
            "--mpi",
            "--cpu-bind",
            "--export",
            "--ntasks-per-node",
            "--gpus",
            "-G",
            "--gres",
            "-q",
            "--qos",
            "-r",
            "--relative",
        ],
        valued_twice: &[],
        n_words: 0,
    },
    Runner {
        names: &["time"],
        valued: &["-o", "--output", "-f", "--format"],
        valued_twice: &[],
        n_words: 0,
    },
    Runner {
        names: &["nice", "ionice", "chrt"],
        valued: &["-n", "--adjustment", "-c", "--class", "--classdata"],
        valued_twice: &[],
        n_words: 0,
    },
    Runner {
        names: &["timeout"],
        valued: &["-s", "--signal", "-k", "--kill-after"],
        valued_twice: &[],
        n_words: 1,
    },
    Runner { names: &["taskset"], valued: &[], valued_twice: &[], n_words: 1 },
    Runner {
        names: &["numactl"],
        valued: &["-N", "-m", "-C", "-i", "-p"],
        valued_twice: &[],
        n_words: 0,
    },
    Runner { names: &["stdbuf"], valued: &["-i", "-o", "-e"], valued_twice: &[], n_words: 0 },
    Runner {
        names: &["nohup", "setsid", "exec", "command"],
        valued: &[],
        valued_twice: &[],
        n_words: 0,
    },
];

const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "ash"];

/// Interpreters by how their names begin, ignoring trailing digits and dots; options
/// with a value, and those with a program of their own.
const INTERPRETERS: [(&str, &[&str], &[&str]); 12] = [
    ("python", &["-W", "-X", "--check-hash-based-pycs"], &["-c"]),
    ("pypy", &["-W", "-X"], &["-c"]),
    ("perl", &["-I", "-M"], &["-e", "-E"]),
    ("ruby", &["-I", "-r", "-C"], &["-e"]),
    ("node", &["-r", "--require", "--import"], &["-e", "--eval", "-p", "--print"]),
    ("nodejs", &["-r", "--require", "--import"], &["-e", "--eval", "-p", "--print"]),
    ("julia", &["-J", "-t", "-p", "-L", "-C"], &["-e", "-E"]),
    ("Rscript", &[], &["-e"]),
    ("lua", &["-l"], &["-e"]),
    ("luajit", &["-l"], &["-e"]),
    ("php", &["-d", "-c"], &["-r"]),
    ("tclsh", &[], &[]),
];

/// The name of what a program with these arguments runs.
fn what_runs(executable: &str, arguments: &[&str], n_around: usize) -> String {
    let name = base_name(executable);
    let below = match n_around < MAX_NESTED {
        true => below(name, arguments, n_around),
        false => None,
    };
    below.unwrap_or_else(|| name.to_owned())
}

fn below(name: &str, arguments: &[&str], n_around: usize) -> Option<String> {
    let next = |words: &[&str]| {
        let (program, rest) = words.split_first()?;
        Some(what_runs(program, rest, n_around + 1))
    };
    if let Some(runner) = RUNNERS.iter().find(|runner| runner.names.contains(&name)) {
        return next(runner.rest(arguments));
    }
    match name {
        "env" => next(rest_of_env(arguments)),
        "ioracle" => {
            let at = arguments.iter().position(|word| *word == "--")?;
            next(arguments.get(at + 1..)?)
        }
        _ if SHELLS.contains(&name) => script_of_shell(arguments, next),
        _ => script_of_interpreter(name, arguments),
    }
}

impl Runner {
    /// The words from the program on.
    fn rest<'a, 'b>(&self, arguments: &'a [&'b str]) -> &'a [&'b str] {
        let mut rest = arguments;
        let mut n_words = self.n_words;
        while let [word, tail @ ..] = rest {
            let n_values = match () {
                () if self.valued.contains(word) => 1,
                () if self.valued_twice.contains(word) => 2,
                () => 0,
            };
            if *word == "--" {
                return tail;
            }
            if !word.starts_with('-') {
                if n_words == 0 {
                    return rest;
                }
                n_words -= 1;
            }
            rest = tail.get(n_values..).unwrap_or_default();
        }
        rest
    }
}

fn rest_of_env<'a, 'b>(arguments: &'a [&'b str]) -> &'a [&'b str] {
    let mut rest = arguments;
    while let [word, tail @ ..] = rest {
        let has_value = ["-u", "--unset", "-C", "--chdir"].contains(word);
        if !word.starts_with('-') && !word.contains('=') {
            return rest;
        }
        rest = tail.get(usize::from(has_value)..).unwrap_or_default();
    }
    rest
}

/// The script of a shell, or the program, if the command only runs one.
fn script_of_shell(arguments: &[&str], next: impl Fn(&[&str]) -> Option<String>) -> Option<String> {
    let mut rest = arguments;
    while let [word, tail @ ..] = rest {
        if !word.starts_with(['-', '+']) {
            return Some(base_name(word).to_owned());
        }
        let is_long = word.starts_with("--");
        if !is_long && word.contains('c') {
            let command = tail.first()?;
            const SPECIAL: [char; 16] =
                [';', '|', '&', '(', ')', '{', '}', '`', '$', '\'', '"', '\\', '\n', '#', '*', '?'];
            // With more than one command, the shell itself counts.
            let is_simple = !command.contains(SPECIAL);
            let words: Vec<&str> =
                command.split_whitespace().skip_while(|word| word.contains('=')).collect();
            return if is_simple { next(&words) } else { None };
        }
        let has_value = ["-o", "+o", "-O", "+O", "--rcfile", "--init-file"].contains(word);
        rest = tail.get(usize::from(has_value)..).unwrap_or_default();
    }
    None
}

/// Whether a module, by its file name, runs the programs of others: an interpreter,
/// its library (`libpython3.11.so.1.0`), or what it has loaded (`_io.cpython-311.so`).
pub fn is_interpreter(module: &str) -> bool {
    let name = module.split(".so").next().unwrap_or(module);
    let name = name.strip_prefix("lib").unwrap_or(name);
    let stem = stem(name);
    name.contains(".cpython-") || stem == "R" || INTERPRETERS.iter().any(|(it, ..)| *it == stem)
}

/// A name without its version.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

fn script_of_interpreter(name: &str, arguments: &[&str]) -> Option<String> {
    let stem = stem(name);
    let (_, valued, inline) = INTERPRETERS.iter().find(|(interpreter, ..)| *interpreter == stem)?;
    let mut rest = arguments;
    while let [word, tail @ ..] = rest {
        if inline.contains(word) {
            return None;
        }
        if *word == "-m" && (stem == "python" || stem == "pypy") {
            return tail.first().map(|module| (*module).to_owned());
        }
        if *word == "-" {
            return None;
        }
        if !word.starts_with('-') {
            return Some(base_name(word).to_owned());
        }
        rest = tail.get(usize::from(valued.contains(word))..).unwrap_or_default();
    }
    None
}

fn base_name(path: &str) -> &str {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    if name.is_empty() { path } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str, variables: &[(&str, &str)], exported: Option<&str>) -> String {
        let arguments: Vec<String> = command.split('\u{1f}').map(str::to_owned).collect();
        let arguments = match arguments.as_slice() {
            [one] => one.split(' ').map(str::to_owned).collect(),
            _ => arguments,
        };
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let variables: Vec<_> = variables.iter().map(own).collect();
        application(&ProcessIdentity {
            variables: &variables,
            exported,
            executable: &arguments[0],
            arguments: &arguments,
        })
    }

    #[test]
    fn interpreters_are_known_by_the_names_of_their_modules() {
        let interpreters = [
            "python3.11",
            "python3",
            "libpython3.11.so.1.0",
            "_h5d.cpython-311-x86_64-linux-gnu.so",
            "perl",
            "libperl.so.5.36",
            "libR.so",
            "node",
        ];
        assert!(interpreters.iter().all(|it| is_interpreter(it)), "{interpreters:?}");
        let others = ["app", "perlin", "libnodeset.so.1", "solver.R2", "a.py", "libc.so.6"];
        assert!(!others.iter().any(|it| is_interpreter(it)), "{others:?}");
    }

    #[test]
    fn a_process_is_what_it_runs() {
        // Words that hold blanks are separated by a unit separator.
        for (command, expected) in [
            ("./sim input.nml", "sim"),
            ("/opt/sim-2.1/bin/sim", "sim"),
            ("/usr/bin/python3.11 a.py x", "a.py"),
            ("python3 -u -W ignore tools/b.py", "b.py"),
            ("python3 -m pkg.tool --fast", "pkg.tool"),
            ("python3 -c pass", "python3"),
            ("python3", "python3"),
            ("python3 -", "python3"),
            ("python3-config --libs", "python3-config"),
            ("perl -I lib -w run.pl", "run.pl"),
            ("Rscript fit.R", "fit.R"),
            ("julia -t 4 solve.jl", "solve.jl"),
            ("mpirun -n 4 ./sim in", "sim"),
            ("mpiexec -np 2 -x PATH --map-by core python3 a.py", "a.py"),
            ("mpirun --mca btl tcp,self -np 4 ./sim", "sim"),
            ("mpirun", "mpirun"),
            ("srun -n 4 --cpu-bind=cores -p debug ./sim", "sim"),
            ("srun --ntasks 4 env OMP_NUM_THREADS=2 ./sim", "sim"),
            ("env -u DISPLAY A=1 B=2 ncra a.nc b.nc", "ncra"),
            ("time -o log.txt ./sim", "sim"),
            ("nice -n 5 timeout -k 5 10m ./sim", "sim"),
            ("taskset 0x3 ./sim", "sim"),
            ("numactl -N 0 -m 0 ./sim", "sim"),
            ("mpirun -n 4 ioracle run --record t -- ./sim", "sim"),
            ("bash run.sh", "run.sh"),
            ("bash -e -o pipefail scripts/run.sh", "run.sh"),
            ("sh\u{1f}-c\u{1f}./sim in > out", "sim"),
            ("sh\u{1f}-c\u{1f}A=1 python3 a.py", "a.py"),
            ("sh\u{1f}-c\u{1f}./prep; ./sim", "sh"),
            ("sh\u{1f}-c\u{1f}", "sh"),
            ("bash -l", "bash"),
            ("/usr/bin/[", "["),
            ("/", "/"),
        ] {
            assert_eq!(of(command, &[], None), expected, "{command}");
        }
    }

    #[test]
    fn a_name_that_was_given_counts_first() {
        let both = [("IORACLE_APP", "ours"), ("CURRENT_ACCUM_APP_NAME", "theirs")];
        assert_eq!(of("./sim", &both, Some("compiled")), "theirs");
        assert_eq!(of("./sim", &both[..1], Some("compiled")), "ours");
        assert_eq!(of("./sim", &[], Some("compiled")), "compiled");
        assert_eq!(of("./sim", &[("CURRENT_ACCUM_APP_NAME", "")], Some("")), "sim");
        assert_eq!(of("./sim", &[("OTHER", "name")], None), "sim");
        let long = "ä".repeat(200);
        assert_eq!(of("./sim", &[("IORACLE_APP", &long)], None), "ä".repeat(127));
    }

    #[test]
    fn launchers_without_end_come_to_one() {
        let command = "nohup ".repeat(100);
        assert_eq!(of(command.trim(), &[], None), "nohup");
    }
}
