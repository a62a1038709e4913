// SPDX-License-Identifier: MIT OR Apache-2.0

//! Slowdown of whole applications, live learning on: the ratio of 30 pairs of
//! runs, and the instructions that capture adds to the application's own process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::pairs::Pairs;
use crate::tools::{Tools, summary_of};

const ROUNDS: usize = 30;

struct Application {
    name: &'static str,
    /// A command that shows whether it is installed.
    program: &'static str,
    /// Shell commands that make its input in the working directory.
    prepare: &'static str,
    /// The run that is measured.
    command: &'static [&'static str],
}

/// Input of NCO: four files of five fields of a size.
macro_rules! grids {
    ($size:literal) => {
        concat!(
            "cat > a.cdl <<'END'
netcdf a { dimensions: time = UNLIMITED ; ",
            $size,
            " ; variables: float u(time,y,x) ; float v(time,y,x) ; }
END
ncgen -k 64-bit-offset -o empty.nc a.cdl
ncap2 -O -s 'defdim(\"t\",1);u=float(array(0,1,/$y,$x/));v=u*2' empty.nc one.nc
for i in 1 2 3 4; do ncap2 -O -s \"u=u+$i;v=v*$i;w=u+v;z=u*v;p=u-v\" one.nc in$i.nc; done"
        )
    };
}

/// Input of GROMACS: water, with a length of the run and how often what is written.
macro_rules! water_box {
    ($run:literal) => {
        concat!(
            "cat > topol.top <<'END'
#include \"oplsaa.ff/forcefield.itp\"
#include \"oplsaa.ff/spc.itp\"
[ system ]
water
[ molecules ]
END
gmx solvate -cs spc216.gro -box 2 2 2 -o conf.gro -p topol.top
printf 'integrator = md\\n",
            $run,
            "\\ncutoff-scheme = Verlet\\nrvdw = 0.8\\nrcoulomb = 0.8\\ncoulombtype = Reaction-Field\\ntcoupl = v-rescale\\ntc-grps = System\\ntau-t = 0.1\\nref-t = 300\\ngen-vel = yes\\ngen-seed = 1\\nld-seed = 1\\n' > md.mdp
gmx grompp -f md.mdp -c conf.gro -p topol.top -o md.tpr -maxwarn 5"
        )
    };
}

const APPLICATIONS: &[Application] = &[
    Application {
        name: "LAMMPS, Lennard-Jones melt, 4000 atoms, dumps and restarts",
        program: "lmp",
        prepare: "cat > in.melt <<'END'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
dump 1 all atom 50 dump.atoms
dump 2 all custom 100 dump.*.custom id x y z
restart 100 restart.a restart.b
thermo 20
run 600
END",
        command: &["lmp", "-in", "in.melt"],
    },
    Application {
        name: "NCO, ncea of 4 netCDF-3 files of 20 MB",
        program: "ncea",
        prepare: grids!("y = 512 ; x = 1024"),
        command: &["ncea", "-O", "in1.nc", "in2.nc", "in3.nc", "in4.nc", "out.nc"],
    },
    Application {
        name: "NCO, ncea of 8 netCDF-3 files of 80 MB",
        program: "ncea",
        prepare: grids!("y = 2048 ; x = 2048"),
        command: &[
            "ncea", "-O", "in1.nc", "in2.nc", "in3.nc", "in4.nc", "in1.nc", "in2.nc", "in3.nc",
            "in4.nc", "out.nc",
        ],
    },
    Application {
        name: "GROMACS, 3000 steps, coordinates every 50",
        program: "gmx",
        prepare: water_box!(
            "nsteps = 3000\\ndt = 0.002\\nnstxout = 50\\nnstvout = 50\\nnstenergy = 20\\nnstlog = 50"
        ),
        command: &[
            "gmx", "-quiet", "mdrun", "-s", "md.tpr", "-ntmpi", "1", "-ntomp", "1", "-reprod",
        ],
    },
    Application {
        name: "GROMACS, 6000 steps of a small water box",
        program: "gmx",
        prepare: water_box!(
            "nsteps = 6000\\ndt = 0.002\\nnstxout = 500\\nnstvout = 500\\nnstenergy = 100\\nnstlog = 100"
        ),
        command: &[
            "gmx", "-quiet", "mdrun", "-s", "md.tpr", "-ntmpi", "1", "-ntomp", "1", "-reprod",
        ],
    },
];

/// Prints the table.
pub fn report(tools: &Tools) {
    println!("## Slowdown of applications\n");
    println!(
        "Goal: upper 95 % bound of the ratio at most 1.03. The ratio is that of the wall times of \
         {ROUNDS} pairs of alternating runs with live learning, including the start and end of \
         `ioracle run`.\n"
    );
    println!(
        "| application | operations | plain s | captured s | ratio | upper 95 % | ioracle's processor time s | added instructions |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for application in APPLICATIONS {
        match measure(tools, application) {
            Ok(row) => println!("{row}"),
            Err(reason) => eprintln!("overhead: {}: {reason}; left out", application.name),
        }
    }
    println!();
}

fn measure(tools: &Tools, application: &Application) -> Result<String, String> {
    let Application { name, program, prepare, command } = application;
    let is_there = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    if !is_there.is_ok_and(|output| output.status.success()) {
        return Err(format!("'{program}' is not installed"));
    }
    let directory = tools.scratch.path().join(name.replace([' ', ','], "-"));
    std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let prepared = Command::new("bash")
        .args(["-ec", prepare])
        .current_dir(&directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !prepared.is_ok_and(|status| status.success()) {
        return Err("its input could not be made".to_owned());
    }
    let pairs = Pairs::measure(
        ROUNDS,
        || seconds(tools.plain(command), &directory),
        || seconds(tools.captured(command), &directory),
    );
    let (ratio, upper) = pairs.ratio();
    let (operations, reader_s) = reader_cost(tools, command, &directory);
    Ok(format!(
        "| {name} | {operations} | {:.2} | {:.2} | {ratio:.3} | {upper:.3} | {reader_s:.2} | {} |",
        pairs.plain(),
        pairs.captured(),
        added_instructions(tools, command, &directory)
    ))
}

fn seconds(mut command: Command, directory: &Path) -> f64 {
    let start = Instant::now();
    let status = command.current_dir(directory).stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
    start.elapsed().as_secs_f64()
}

/// Operations of one run, and what following and learning them cost.
fn reader_cost(tools: &Tools, command: &[&str], directory: &Path) -> (u64, f64) {
    let summary = summary_of(tools, &[], command, directory);
    (
        summary["io"]["operations"].as_u64().unwrap_or(0),
        summary["own_cpu_s"].as_f64().unwrap_or(f64::NAN),
    )
}

/// Instructions that capture adds, in percent of the plain run's; callgrind
/// counts the application's process alone.
fn added_instructions(tools: &Tools, command: &[&str], directory: &Path) -> String {
    let counting = |counted: bool| -> Option<f64> {
        let mut line = vec!["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
        line.extend_from_slice(command);
        let mut command = if counted { tools.captured(&line) } else { tools.plain(&line) };
        let output = command.current_dir(directory).stderr(Stdio::piped()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let count = text.lines().find_map(|line| line.split("Collected :").nth(1))?;
        count.trim().parse().ok()
    };
    match (counting(false), counting(true)) {
        (Some(plain), Some(captured)) => format!("{:.2} %", 100.0 * (captured / plain - 1.0)),
        _ => "valgrind is needed".to_owned(),
    }
}
