// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle pattern document`: the paper's evaluation on simulated runs, as
//! `docs/evaluation-pattern.md` (`make eval-pattern`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ioracle_lab::server_patterns::{
    MeasuredElsewhere, OptionThroughput, PatternDataSet, RequestRun, ServerRuns, document,
};
use ioracle_pattern::RequestReader;

use crate::pattern::runs;
use crate::shared::output::{check_place, write_file};

/// Write the evaluation document of two simulated sets
#[derive(clap::Args)]
pub struct PatternDocumentArguments {
    /// What 'simulate --set server' wrote
    #[arg(long, value_name = "DIR")]
    server: PathBuf,
    /// What 'simulate --set io-node' wrote
    #[arg(long, value_name = "DIR")]
    io_node: PathBuf,
    /// What 'scripts/record-server-traces' wrote; can be given several times
    #[arg(long, value_name = "DIR")]
    recorded: Vec<PathBuf>,
    /// What 'cargo bench -p ioracle-pattern' printed
    #[arg(long, value_name = "FILE")]
    cost: Option<PathBuf>,
    /// What 'scripts/pattern-watch' printed
    #[arg(long, value_name = "FILE")]
    watch: Option<PathBuf>,
    /// How the data were made, in words
    #[arg(long, value_name = "TEXT", default_value = "they were simulated")]
    how: String,
    /// The directory to write evaluation-pattern.md and figures/ into
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// Runs the subcommand.
pub fn run(arguments: &PatternDocumentArguments) -> Result<()> {
    let page = arguments.output.join("evaluation-pattern.md");
    check_place(&page)?;
    let server = read_simulated(&arguments.server)?;
    let io_node = read_simulated(&arguments.io_node)?;
    let recorded = arguments.recorded.iter().map(|directory| {
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, read(directory)?))
    });
    let recorded = recorded.collect::<Result<Vec<_>>>()?;
    let printed = |file: &Option<PathBuf>| {
        let read = |file: &PathBuf| {
            let text = fs::read_to_string(file);
            text.with_context(|| format!("could not read '{}'", file.display()))
        };
        file.as_ref().map(read).transpose()
    };
    let (cost, watch) = (printed(&arguments.cost)?, printed(&arguments.watch)?);
    let measured = MeasuredElsewhere { cost: cost.as_deref(), watch: watch.as_deref() };
    let document = document(&server, &io_node, &recorded, measured, &arguments.how);
    let figures = arguments.output.join("figures");
    fs::create_dir_all(&figures)
        .with_context(|| format!("could not create '{}'", figures.display()))?;
    for (name, svg) in &document.figures {
        write_file(&figures.join(name), svg.as_bytes())?;
    }
    write_file(&page, document.text.as_bytes())
}

fn read(directory: &Path) -> Result<PatternDataSet> {
    let servers = runs::find(directory)?;
    let mut labels: Vec<String> = servers.values().flatten().map(|run| run.label.clone()).collect();
    labels.sort();
    labels.dedup();
    let servers = servers.into_iter().map(|(name, files)| {
        let runs = files.iter().map(|file| {
            let label = labels.binary_search(&file.label).unwrap_or_default() as u32;
            let requests: Result<Vec<_>, _> = RequestReader::open(&file.path)?.collect();
            Ok(RequestRun { label, requests: requests? })
        });
        Ok(ServerRuns { name, runs: runs.collect::<Result<_>>()? })
    });
    Ok(PatternDataSet { servers: servers.collect::<Result<_>>()?, labels, throughputs: Vec::new() })
}

/// The same with the throughput of each option.
fn read_simulated(directory: &Path) -> Result<PatternDataSet> {
    let mut set = read(directory)?;
    set.throughputs = throughputs(&directory.join("throughput.csv"), &set.labels)?;
    Ok(set)
}

/// Rows of `throughput.csv`, whose columns are found by their names.
fn throughputs(path: &Path, labels: &[String]) -> Result<Vec<OptionThroughput>> {
    let text = fs::read_to_string(path).with_context(|| {
        format!("could not read '{}'; 'ioracle pattern simulate' writes it", path.display())
    })?;
    let mut lines = text.lines();
    let header: BTreeMap<&str, usize> = lines
        .next()
        .unwrap_or_default()
        .split(',')
        .enumerate()
        .map(|(at, name)| (name, at))
        .collect();
    let column = |names: [&str; 2]| names.iter().find_map(|name| header.get(name)).copied();
    let (Some(label), Some(option), Some(speed)) = (
        column(["label", "label"]),
        column(["policy", "window"]),
        column(["mb_per_s", "mb_per_s"]),
    ) else {
        bail!(
            "'{}', line 1: the header must name label, policy or window, and mb_per_s; write it again",
            path.display()
        );
    };
    let mut rows = Vec::new();
    for (index, line) in lines.enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or_default();
        let nodes = header.get("nodes").map_or(Ok(0), |at| field(*at).parse::<u32>());
        let (Ok(n_nodes), Ok(mb_per_s)) = (nodes, field(speed).parse::<f64>()) else {
            bail!(
                "'{}', line {}: '{line}' is no throughput; write it again",
                path.display(),
                index + 2
            );
        };
        if let Ok(label) = labels.binary_search_by(|other| other.as_str().cmp(field(label))) {
            let option = field(option).to_owned();
            rows.push(OptionThroughput { label: label as u32, option, n_nodes, mb_per_s });
        }
    }
    Ok(rows)
}
