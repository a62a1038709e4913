// SPDX-License-Identifier: MIT OR Apache-2.0

//! `docs/evaluation-pattern.md`: the paper's Tables I to VI and Figures 1 to 4,
//! from our data.

use ioracle_pattern::evaluation::{Algorithm, LabelledRun, shuffled};
use ioracle_pattern::{ChoiceConfig, OptionOrder, Pattern, PatternConfig, RequestKind};

use super::cost::time_and_memory;
use super::data::{PatternDataSet, ServerRuns, layout, of_kind};
use super::decisions::{
    ChoiceFor, DecisionTally, OptionRewards, alternating, by_label, offline, online,
};
use super::goals::{Goals, MeasuredElsewhere};
use super::pictures::{BarGroup, bars, curves};
use super::scores::{ComparedPair, ScoreSpread, compare};
use super::sweep::{Accuracy, Prepared, accuracy};
use crate::document::markdown::table;

/// What the paper selects from, and what it compares with.
const POLICIES: [&str; 4] = ["to", "to-agg", "sjf", "song"];
const WINDOWS: [&str; 7] = ["125us", "250us", "500us", "1ms", "2ms", "4ms", "8ms"];
const ORDERS: u64 = 10;
/// Sweeps take the mean of fewer orders.
const SWEEP_ORDERS: u64 = 2;
/// How often the data are gone through when learning from nothing.
const ROUNDS: u64 = 10;
const MAX_DIFFERENCES: [f64; 6] = [0.10, 0.25, 0.40, 0.55, 0.70, 1.0];
const THRESHOLDS: [f64; 5] = [0.80, 0.90, 0.95, 0.98, 0.99];
const INFINITES: [(u64, &str); 3] =
    [(512_000_000, "512 MB"), (10_000_000_000, "10 GB"), (100_000_000_000, "100 GB")];

/// The document and its pictures.
#[derive(Clone, Debug, Default)]
pub struct PatternDocument {
    /// Markdown; pictures are expected in `figures/` beside it.
    pub text: String,
    /// File names and SVG.
    pub figures: Vec<(String, String)>,
}

/// Makes the document of two simulated sets and any number of recorded ones, each
/// with its name. `how` says what the simulated data are.
pub fn document(
    server: &PatternDataSet,
    io_node: &PatternDataSet,
    recorded: &[(String, PatternDataSet)],
    measured: MeasuredElsewhere<'_>,
    how: &str,
) -> PatternDocument {
    let mut document = PatternDocument::default();
    let mut goals = Goals::default();
    document.text += &table_1(server, io_node);
    document.text += &tables_2_and_3(io_node);
    document.text += &tables_4_and_5(server);
    document.text += &table_6(io_node, &mut goals);
    figure_1(io_node, &mut document);
    figure_2(server, &mut document, &mut goals);
    figure_3(server, &mut document, &mut goals);
    figure_4(io_node, &mut document, &mut goals);
    document.text += &opposite_loads(server, &mut goals);
    if !recorded.is_empty() {
        document.text += &recorded_servers(recorded, &mut goals);
    }
    if let Some(first) = server.servers.first() {
        document.text += "\n";
        document.text += &time_and_memory(first, PatternConfig::server(), &mut goals);
    }
    goals.add_measured(measured);
    document.text = introduction(how) + &goals.text() + &document.text;
    document
}

fn introduction(how: &str) -> String {
    format!(
        "<!-- SPDX-License-Identifier: MIT OR Apache-2.0 -->\n\
         <!-- Written by `make eval-pattern`; do not edit. -->\n\n\
         # Patterns at the server: the paper's evaluation on our data\n\n\
         The tables and figures of Boito et al., *On server-side file access pattern matching* \
         (HPCS 2019), redrawn. The paper's data are not available; {how} ([the model](simulator.md)). \
         The rows are the paper's algorithm with its constants (`paper`), its counts alone \
         (`counts`), nearest neighbours over simple features (`features`) and the algorithm that \
         `ioracle` uses (`ours`, [described here](pattern.md#how-it-works)). Each server or node is \
         evaluated separately, and so are reads and writes; figures are means over {ORDERS} random orders of \
         the runs ({SWEEP_ORDERS} in sweeps). As in the paper, every run accesses files of its own; \
         `ours` uses this to see where a run begins, the other algorithms do not. Nothing is above \
         100 %, so there a tie meets the goal.\n\n"
    )
}

fn config_of(set: &ServerRuns) -> PatternConfig {
    if set.n_nodes() > 0 { PatternConfig::io_node() } else { PatternConfig::server() }
}

fn with_compression(config: PatternConfig, compression: u32) -> PatternConfig {
    PatternConfig { read_compression: compression, write_compression: compression, ..config }
}

/// Patterns of some servers.
fn patterns(servers: &[&ServerRuns], config: PatternConfig) -> Vec<LabelledRun> {
    servers.iter().flat_map(|server| server.patterns(config)).collect()
}

fn with_nodes(set: &PatternDataSet, n_nodes: u32) -> Vec<&ServerRuns> {
    set.servers.iter().filter(|server| server.n_nodes() == n_nodes).collect()
}

fn table_1(server: &PatternDataSet, io_node: &PatternDataSet) -> String {
    let columns = [server, io_node].map(|set| {
        let servers: Vec<&ServerRuns> = set.servers.iter().collect();
        let runs = patterns(&servers, PatternConfig::server());
        let label = |run: &LabelledRun| set.labels[run.label as usize].clone();
        let count = |rule: &dyn Fn(&str) -> bool| -> usize {
            runs.iter().filter(|run| rule(&label(run))).map(|run| run.patterns.len()).sum()
        };
        let median = |rule: &dyn Fn(&Pattern) -> bool| {
            let all = runs.iter().flat_map(|run| &run.patterns).filter(|it| rule(it));
            let mut counts: Vec<u64> = all.map(|it| it.counts.requests()).collect();
            counts.sort_unstable();
            counts.get(counts.len() / 2).copied().unwrap_or(0)
        };
        [
            format!("{}", count(&|_| true)),
            format!(
                "{} vs {}",
                count(&|it| it.contains("-read-")),
                count(&|it| it.contains("-write-"))
            ),
            format!(
                "{} vs {}",
                count(&|it| it.starts_with("shared")),
                count(&|it| it.starts_with("file-per"))
            ),
            format!(
                "{} vs {}",
                count(&|it| !it.starts_with("shared-strided")),
                count(&|it| it.starts_with("shared-strided"))
            ),
            format!("{}", median(&|_| true)),
            format!(
                "{}, {}",
                median(&|it| it.kind == RequestKind::Read),
                median(&|it| it.kind == RequestKind::Write)
            ),
        ]
    });
    let names = [
        ("patterns", "9216", "130335"),
        ("read vs write", "1779 vs 7437", "29929 vs 100406"),
        ("shared-file vs file-per-process", "5063 vs 4153", "72802 vs 57533"),
        ("contiguous vs 1D-strided", "5154 vs 4062", "94997 vs 35338"),
        ("requests per pattern, median", "605", "123"),
        ("of reads, of writes", "734, 551", "302, 75"),
    ];
    let rows: Vec<Vec<String>> = names
        .iter()
        .enumerate()
        .map(|(index, (name, servers, nodes))| {
            let ours = [columns[0][index].clone(), columns[1][index].clone()];
            vec![
                (*name).to_owned(),
                ours[0].clone(),
                (*servers).to_owned(),
                ours[1].clone(),
                (*nodes).to_owned(),
            ]
        })
        .collect();
    let header = ["", "data server", "paper", "I/O node", "paper"];
    format!("## Table I: what the sets hold\n\n{}\n", table(&header, &rows))
}

fn spread_row(name: &str, spread: Option<ScoreSpread>) -> Vec<String> {
    let numbers = spread.map_or([const { String::new() }; 5].to_vec(), |spread| {
        spread.0.iter().map(|score| format!("{score:.4}")).collect()
    });
    std::iter::once(name.to_owned()).chain(numbers).collect()
}

const SPREAD_HEADER: [&str; 6] = ["", "min", "1st quartile", "median", "3rd quartile", "max"];

fn pairs_of(runs: &[LabelledRun], kind: RequestKind, radius: usize) -> Vec<ComparedPair> {
    compare(&of_kind(runs, kind).collect::<Vec<_>>(), radius)
}

fn is_match(pair: &ComparedPair) -> bool {
    pair.labels.0 == pair.labels.1
}

/// Rows of a table of scores: no match, then matches by layout.
fn score_rows(
    set: &PatternDataSet,
    pairs: &[ComparedPair],
    prefix: &str,
    layouts: &[&str],
) -> Vec<Vec<String>> {
    let mut rows =
        vec![spread_row(&format!("{prefix}no match"), ScoreSpread::of(pairs, |it| !is_match(it)))];
    for wanted in layouts {
        let rule = |pair: &ComparedPair| {
            is_match(pair) && layout(&set.labels[pair.labels.0 as usize]) == *wanted
        };
        rows.push(spread_row(&format!("{prefix}match, {wanted}"), ScoreSpread::of(pairs, rule)));
    }
    rows
}

fn tables_2_and_3(set: &PatternDataSet) -> String {
    let servers = with_nodes(set, 1);
    let config = PatternConfig::io_node();
    let plain = patterns(&servers, with_compression(config, 1));
    let mut all = pairs_of(&plain, RequestKind::Read, config.radius);
    all.extend(pairs_of(&plain, RequestKind::Write, config.radius));
    let rows = [
        spread_row("no match", ScoreSpread::of(&all, |pair| !is_match(pair))),
        spread_row("match", ScoreSpread::of(&all, is_match)),
    ];
    let mut text = format!(
        "## Table II: scores of a single I/O node, without compression\n\n{}\n",
        table(&SPREAD_HEADER, &rows)
    );
    let mut rows = Vec::new();
    for (compression, name) in [(1, "none: "), (10, "10: "), (100, "100: ")] {
        let runs = patterns(&servers, with_compression(config, compression));
        let pairs = pairs_of(&runs, RequestKind::Read, config.radius);
        rows.extend(score_rows(set, &pairs, name, &["SF, C", "SF, S"]));
    }
    text.push_str(&format!(
        "## Table III: scores of reads at a single I/O node, by compression\n\nSF: shared file, FPP: \
         file per process, C: contiguous, S: 1D-strided.\n\n{}\n",
        table(&SPREAD_HEADER, &rows)
    ));
    text
}

fn tables_4_and_5(set: &PatternDataSet) -> String {
    let servers: Vec<&ServerRuns> = set.servers.iter().take(1).collect();
    let config = PatternConfig::server();
    let mut rows = Vec::new();
    for (compression, name) in [(1, "none: "), (10, "10: ")] {
        let runs = patterns(&servers, with_compression(config, compression));
        let reads = pairs_of(&runs, RequestKind::Read, config.radius);
        let writes = pairs_of(&runs, RequestKind::Write, config.radius);
        let mut no_match = ScoreSpread::of(&reads, |pair| !is_match(pair));
        if no_match.is_none() {
            no_match = ScoreSpread::of(&writes, |pair| !is_match(pair));
        }
        rows.push(spread_row(&format!("{name}no match"), no_match));
        rows.push(spread_row(&format!("{name}match, read"), ScoreSpread::of(&reads, is_match)));
        rows.push(spread_row(&format!("{name}match, write"), ScoreSpread::of(&writes, is_match)));
    }
    let mut text = format!(
        "## Table IV: scores of the first data server, by compression\n\n{}\n",
        table(&SPREAD_HEADER, &rows)
    );
    let mut rows = Vec::new();
    for (infinite, name) in INFINITES {
        let runs = patterns(&servers, PatternConfig { infinite, ..config });
        let pairs = pairs_of(&runs, RequestKind::Read, config.radius);
        rows.extend(score_rows(set, &pairs, &format!("{name}: "), &["SF, C", "SF, S", "FPP, C"]));
    }
    text.push_str(&format!(
        "## Table V: scores of reads at the first data server, by the infinite value\n\n{}\n",
        table(&SPREAD_HEADER, &rows)
    ));
    text
}

fn prepare(servers: &[&ServerRuns], config: PatternConfig) -> Vec<Prepared> {
    servers.iter().map(|it| Prepared::new(it.patterns(config), config.radius)).collect()
}

fn shown(accuracy: Accuracy) -> String {
    format!("{:.1} / {:.1}", accuracy.precision, accuracy.recall)
}

fn table_6(set: &PatternDataSet, goals: &mut Goals) -> String {
    let mut rows: Vec<Vec<String>> =
        Algorithm::ALL.iter().map(|it| vec![format!("`{}`", it.name())]).collect();
    for n_nodes in [1, 2, 4] {
        let config = PatternConfig::io_node();
        let servers = prepare(&with_nodes(set, n_nodes), config);
        for kind in RequestKind::ALL {
            let all = Algorithm::ALL.map(|it| accuracy(&servers, it, config, kind, ORDERS));
            rows.iter_mut().zip(all).for_each(|(row, accuracy)| row.push(shown(accuracy)));
            let plural = if n_nodes == 1 { "" } else { "s" };
            let what = format!("{n_nodes} I/O node{plural}, {}s", kind.name());
            goals.add_accuracy(&what, &all, None);
        }
    }
    rows.push(
        [
            "the paper's own",
            "92.1 / 99.7",
            "80.1 / 99.9",
            "93 / 99.7",
            "74.6 / 99.9",
            "81.5 / 98.8",
            "73.7 / 99.8",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    let header = [
        "precision / recall, %",
        "1 node, read",
        "write",
        "2 nodes, read",
        "write",
        "4 nodes, read",
        "write",
    ];
    format!("## Table VI: I/O nodes\n\n{}\n", table(&header, &rows))
}

/// The paper's algorithm over one constant.
fn sweep(
    servers: &[Prepared],
    kind: RequestKind,
    configs: impl Iterator<Item = (f64, PatternConfig)>,
) -> Vec<(f64, Accuracy)> {
    configs
        .map(|(x, config)| (x, accuracy(servers, Algorithm::Paper, config, kind, SWEEP_ORDERS)))
        .collect()
}

fn put(document: &mut PatternDocument, name: String, caption: &str, svg: Option<String>) {
    let Some(svg) = svg else { return };
    document.text.push_str(&format!("![{caption}](figures/{name})\n"));
    document.figures.push((name, svg));
}

fn figure_1(set: &PatternDataSet, document: &mut PatternDocument) {
    document.text.push_str("## Figure 1: constants at 2 I/O nodes\n\nThe paper's algorithm.\n\n");
    let base = PatternConfig::io_node();
    for compression in [10, 100] {
        let config = with_compression(base, compression);
        let servers = prepare(&with_nodes(set, 2), config);
        for kind in RequestKind::ALL {
            let differences = MAX_DIFFERENCES
                .map(|share| (share * 100.0, PatternConfig { max_difference: share, ..config }));
            let thresholds = THRESHOLDS
                .map(|threshold| (threshold * 100.0, PatternConfig { threshold, ..config }));
            let kind_name = kind.name();
            for (what, points) in [
                ("maxdiff", sweep(&servers, kind, differences.into_iter())),
                ("threshold", sweep(&servers, kind, thresholds.into_iter())),
            ] {
                let title = format!("2 I/O nodes, {kind_name}, compression {compression}: {what}");
                let name = format!("pattern-fig1-{kind_name}-{compression}-{what}.svg");
                let svg = curves(&title, &format!("{what}, %"), &points, &[]);
                put(document, name, &title, svg);
            }
        }
    }
    document.text.push('\n');
}

fn figure_2(set: &PatternDataSet, document: &mut PatternDocument, goals: &mut Goals) {
    document.text.push_str(
        "## Figure 2: data servers, both methods\n\nMethod 1: benchmarks with other numbers of \
         processes should not match. Method 2: they should.\n\n",
    );
    let config = PatternConfig::server();
    let servers: Vec<&ServerRuns> = set.servers.iter().collect();
    let first = prepare(&servers, config);
    let merged = set.without_process_counts();
    let second: Vec<Prepared> = servers
        .iter()
        .map(|server| {
            let mut runs = server.patterns(config);
            runs.iter_mut().for_each(|run| run.label = merged[run.label as usize]);
            Prepared::new(runs, config.radius)
        })
        .collect();
    let mut rows: Vec<Vec<String>> =
        Algorithm::ALL.iter().map(|it| vec![format!("`{}`", it.name())]).collect();
    for (method, servers) in [(1, &first), (2, &second)] {
        for kind in RequestKind::ALL {
            let all = Algorithm::ALL.map(|it| accuracy(servers, it, config, kind, ORDERS));
            rows.iter_mut().zip(all).for_each(|(row, accuracy)| row.push(shown(accuracy)));
            let what = format!("data servers, method {method}, {}s", kind.name());
            goals.add_accuracy(&what, &all, None);
        }
    }
    rows.push(["the paper's own", "50.5 / 84.5", "61 / 97.9", "", ""].map(str::to_owned).to_vec());
    let header = ["precision / recall, %", "method 1, read", "write", "method 2, read", "write"];
    document.text.push_str(&format!("{}\n", table(&header, &rows)));
    for kind in RequestKind::ALL {
        let differences = || {
            MAX_DIFFERENCES
                .map(|share| (share * 100.0, PatternConfig { max_difference: share, ..config }))
                .into_iter()
        };
        let title = format!("data servers, {}, compression 100: maxdiff", kind.name());
        let svg = curves(
            &title,
            "maxdiff, %",
            &sweep(&first, kind, differences()),
            &sweep(&second, kind, differences()),
        );
        put(document, format!("pattern-fig2-{}.svg", kind.name()), &title, svg);
    }
    document.text.push('\n');
}

/// Tallies of all ways to decide, over some servers.
#[derive(Clone)]
struct Compared {
    oracle: DecisionTally,
    fixed: DecisionTally,
    fixed_name: String,
    by_algorithm: Vec<(Algorithm, DecisionTally)>,
    online: Vec<(Algorithm, DecisionTally, DecisionTally)>,
}

impl Compared {
    fn add(&mut self, other: &Compared) {
        self.oracle.add(&other.oracle);
        self.fixed.add(&other.fixed);
        self.fixed_name = "the best for each number of nodes".to_owned();
        for ((_, tally), (_, other)) in self.by_algorithm.iter_mut().zip(&other.by_algorithm) {
            tally.add(other);
        }
        for ((_, first, last), (_, more, most)) in self.online.iter_mut().zip(&other.online) {
            first.add(more);
            last.add(most);
        }
    }
}

fn decide(servers: &[&ServerRuns], rewards: &OptionRewards, choice: ChoiceConfig) -> Compared {
    let prepared: Vec<(PatternConfig, Prepared)> = servers
        .iter()
        .map(|server| {
            let config = config_of(server);
            (config, Prepared::new(server.patterns(config), config.radius))
        })
        .collect();
    let all: Vec<LabelledRun> = prepared.iter().flat_map(|(_, it)| it.runs.clone()).collect();
    let fixed = rewards.best_static(&all);
    let mut compared = Compared {
        oracle: by_label(&all, rewards, |label| rewards.best(label)),
        fixed: by_label(&all, rewards, |_| fixed),
        fixed_name: rewards.options[fixed].clone(),
        by_algorithm: Vec::new(),
        online: Vec::new(),
    };
    for algorithm in Algorithm::ALL {
        let mut by_pattern = DecisionTally::default();
        let (mut first, mut last) = (DecisionTally::default(), DecisionTally::default());
        for (config, server) in &prepared {
            // Reads and writes have matchers of their own, as they have largest
            // distances of their own.
            for kind in RequestKind::ALL {
                let runs = only(&server.runs, kind);
                let matcher = || algorithm.matcher(*config, kind, server.largest(kind));
                let orders: Vec<Vec<usize>> =
                    (0..ROUNDS).map(|seed| shuffled(runs.len(), seed + 1)).collect();
                for order in &orders {
                    by_pattern.add(&offline(&mut *matcher(), &runs, order, rewards, fixed));
                }
                let (begun, learned) = online(&mut *matcher(), &runs, &orders, rewards, choice);
                first.add(&begun);
                last.add(&learned);
            }
        }
        compared.by_algorithm.push((algorithm, by_pattern));
        compared.online.push((algorithm, first, last));
    }
    compared
}

fn only(runs: &[LabelledRun], kind: RequestKind) -> Vec<LabelledRun> {
    let runs = runs.iter().map(|run| LabelledRun {
        label: run.label,
        patterns: run.patterns.iter().filter(|it| it.kind == kind).cloned().collect(),
    });
    runs.filter(|run| !run.patterns.is_empty()).collect()
}

fn decision_rows(compared: &Compared) -> Vec<Vec<String>> {
    let row = |name: String, tally: &DecisionTally| {
        vec![
            name,
            tally.decisions.to_string(),
            format!("{:.1}", tally.improved_percent()),
            format!("{:.2}", tally.worsened_percent()),
        ]
    };
    let mut rows = vec![
        row("oracle".to_owned(), &compared.oracle),
        row(format!("static: {}", compared.fixed_name), &compared.fixed),
    ];
    for (algorithm, tally) in &compared.by_algorithm {
        rows.push(row(format!("offline, `{}`", algorithm.name()), tally));
    }
    for (algorithm, first, last) in &compared.online {
        rows.push(row(format!("online, `{}`, first round", algorithm.name()), first));
        rows.push(row(format!("online, `{}`, round {ROUNDS}", algorithm.name()), last));
    }
    rows
}

const DECISION_HEADER: [&str; 4] =
    ["", "decisions", "improved, % of what the oracle improves", "worsened, %"];

/// The bars of one group; those of an algorithm are for as many decisions as
/// the oracle's.
fn group(name: String, compared: &Compared) -> BarGroup {
    let bar = |name, tally: &DecisionTally| {
        let orders = (tally.decisions / compared.oracle.decisions.max(1)).max(1);
        (name, tally.improved / orders, tally.worsened / orders)
    };
    let mut bars = vec![bar("O", &compared.oracle)];
    for (algorithm, tally) in &compared.by_algorithm {
        bars.push(bar(algorithm.name(), tally));
    }
    bars.push(bar("static", &compared.fixed));
    BarGroup { name, bars }
}

/// What choosing by the patterns of `ours` is to reach: improved decisions at least and
/// worsened ones at most, in percent.
fn add_decisions(
    goals: &mut Goals,
    what: &str,
    compared: &Compared,
    (improved, worsened): (f64, Option<f64>),
) {
    let ours = compared.by_algorithm.iter().find(|(it, _)| *it == Algorithm::Ours);
    let Some((_, tally)) = ours else { return };
    let goal = match worsened {
        Some(worsened) => format!("improves {improved} %, worsens at most {worsened} %"),
        None => format!("improves {improved} %"),
    };
    let reached =
        format!("{:.1} %, {:.2} % worse", tally.improved_percent(), tally.worsened_percent());
    let is_met = tally.improved_percent() >= improved
        && worsened.is_none_or(|worsened| tally.worsened_percent() <= worsened);
    goals.add(what, &goal, reached, is_met);
}

fn figure_3(set: &PatternDataSet, document: &mut PatternDocument, goals: &mut Goals) {
    let servers: Vec<&ServerRuns> = set.servers.iter().collect();
    let rewards = OptionRewards::new(set, 0, &POLICIES, "baseline");
    let compared = decide(&servers, &rewards, ChoiceConfig::default());
    add_decisions(goals, "policy selection, offline", &compared, (95.0, Some(0.5)));
    document.text.push_str(&format!(
        "## Figure 3: selecting a scheduling policy\n\nAmong TO, TO-agg, SJF and Song against the \
         server's own scheduler; a decision per slice, differences above 5 % count. The paper's \
         improved 88.6 % of what its oracle improved and worsened 1.2 %. Online means learning from \
         nothing, by bandits over rewards with 10 % of noise.\n\n{}\n",
        table(&DECISION_HEADER, &decision_rows(&compared))
    ));
    let title = "Selecting a policy at data servers";
    let svg = bars(title, &[group("offline".to_owned(), &compared)]);
    put(document, "pattern-fig3.svg".to_owned(), title, Some(svg));
    document.text.push('\n');
}

fn figure_4(set: &PatternDataSet, document: &mut PatternDocument, goals: &mut Goals) {
    document.text.push_str(
        "## Figure 4: tuning the window of TWINS\n\nSeven windows against 1 ms. The paper's improved \
         91.6 % of what its oracle improved.\n\n",
    );
    let choice = ChoiceConfig { order: OptionOrder::Ordered, ..ChoiceConfig::default() };
    let mut groups = Vec::new();
    let mut total: Option<Compared> = None;
    for n_nodes in [1, 2, 4] {
        let rewards = OptionRewards::new(set, n_nodes, &WINDOWS, "1ms");
        let compared = decide(&with_nodes(set, n_nodes), &rewards, choice);
        match &mut total {
            Some(total) => total.add(&compared),
            None => total = Some(compared.clone()),
        }
        document.text.push_str(&format!(
            "### {n_nodes} I/O node{}\n\n{}\n",
            if n_nodes == 1 { "" } else { "s" },
            table(&DECISION_HEADER, &decision_rows(&compared))
        ));
        groups.push(group(format!("{n_nodes} I/O nodes"), &compared));
    }
    if let Some(total) = &total {
        add_decisions(goals, "window tuning, offline", total, (97.0, None));
        let rows = table(&DECISION_HEADER, &decision_rows(total));
        document.text.push_str(&format!("### All of them\n\n{rows}\n"));
    }
    let title = "Tuning the window at I/O nodes";
    put(document, "pattern-fig4.svg".to_owned(), title, Some(bars(title, &groups)));
    document.text.push('\n');
}

/// The loads whose best options differ most, taking turns.
fn opposite_loads(set: &PatternDataSet, goals: &mut Goals) -> String {
    let rewards = OptionRewards::new(set, 0, &["to", "sjf"], "baseline");
    let Some(server) = set.servers.first() else { return String::new() };
    let runs = only(&server.patterns(PatternConfig::server()), RequestKind::Read);
    let gap = |run: &&LabelledRun| rewards.factor(run.label, 0) / rewards.factor(run.label, 1);
    let by_gap = |a: &&LabelledRun, b: &&LabelledRun| gap(a).total_cmp(&gap(b));
    let (Some(one), Some(other)) = (runs.iter().max_by(by_gap), runs.iter().min_by(by_gap)) else {
        return String::new();
    };
    let runs_of = |label: u32| -> Vec<&LabelledRun> {
        runs.iter().filter(|run| run.label == label).collect()
    };
    let (ones, others) = (runs_of(one.label), runs_of(other.label));
    let config = PatternConfig::server();
    let prepared = Prepared::new(runs.clone(), config.radius);
    let rows: Vec<Vec<String>> = Algorithm::ALL
        .iter()
        .map(|algorithm| {
            let right = |choice| {
                let largest = prepared.largest(RequestKind::Read);
                let mut matcher = algorithm.matcher(config, RequestKind::Read, largest);
                alternating(&mut *matcher, [&ones, &others], &rewards, 200, choice)
            };
            let expected = right(ChoiceFor::ExpectedPattern);
            if *algorithm == Algorithm::Ours {
                let what = "online, two loads with opposite best options";
                goals.add(what, "95 % right", format!("{expected:.1} %"), expected >= 95.0);
            }
            vec![
                format!("`{}`", algorithm.name()),
                format!("{:.1}", right(ChoiceFor::PresentPattern)),
                format!("{expected:.1}"),
            ]
        })
        .collect();
    let mean = |runs: &[&LabelledRun]| {
        runs.iter().map(|run| run.patterns.len()).sum::<usize>() as f64 / runs.len().max(1) as f64
    };
    format!(
        "## Two loads with opposite best options\n\n`{}` (best under TO, {:.1} s per run) and `{}` (best \
         under SJF, {:.1} s per run) take turns 200 times; learning starts from nothing. The table has \
         the share of seconds in the second half that ran under the right option, which should be at \
         least 95 %. A choice takes effect in the next second: if it is made for the present pattern, \
         it is wrong in the first second of every turn; if it is made for the pattern that the grammar \
         predicts, it need not be. The difference is what the prediction adds.\n\n{}",
        set.labels[one.label as usize],
        mean(&ones),
        set.labels[other.label as usize],
        mean(&others),
        table(
            &["matcher", "chosen for the present pattern, %", "for the expected pattern, %"],
            &rows
        )
    )
}

/// Precision and recall on requests that real servers saw, by both methods.
fn recorded_servers(sets: &[(String, PatternDataSet)], goals: &mut Goals) -> String {
    let config = PatternConfig::server();
    let mut text = "\n## Recorded servers\n\nThe requests of GlusterFS bricks while `fio` ran \
                    benchmarks, recorded by `scripts/record-server-traces`. In the second column of \
                    each kind, labels leave out the number of processes (the paper's second method): a brick \
                    that holds one of two shared files sees the same requests whether the other file \
                    has many readers or few.\n\n"
        .to_owned();
    for (name, set) in sets {
        let merged = set.without_process_counts();
        let labelled: Vec<Prepared> = prepare(&set.servers.iter().collect::<Vec<_>>(), config);
        let unlabelled: Vec<Prepared> = set
            .servers
            .iter()
            .map(|server| {
                let mut runs = server.patterns(config);
                runs.iter_mut().for_each(|run| run.label = merged[run.label as usize]);
                Prepared::new(runs, config.radius)
            })
            .collect();
        let mut rows: Vec<Vec<String>> =
            Algorithm::ALL.iter().map(|it| vec![format!("`{}`", it.name())]).collect();
        for kind in RequestKind::ALL {
            for (servers, labels) in [(&labelled, ""), (&unlabelled, ", without process counts")] {
                let all = Algorithm::ALL.map(|it| accuracy(servers, it, config, kind, ORDERS));
                rows.iter_mut().zip(all).for_each(|(row, accuracy)| row.push(shown(accuracy)));
                let what = format!("GlusterFS, {name}, {}s{labels}", kind.name());
                goals.add_accuracy(&what, &all, Some(85.0));
            }
        }
        let n_runs: usize = set.servers.iter().map(|server| server.runs.len()).sum();
        let header = [
            "precision / recall, %",
            "read",
            "read, without process counts",
            "write",
            "write, without process counts",
        ];
        text.push_str(&format!(
            "### {name}: {} bricks, {} labels, {n_runs} runs\n\n{}\n",
            set.servers.len(),
            set.labels.len(),
            table(&header, &rows)
        ));
    }
    text
}
