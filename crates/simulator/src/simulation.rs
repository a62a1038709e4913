// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs one benchmark on one cluster.
//!
//! The path of a request: a process issues it, its pieces travel to the servers
//! (through a forwarding node, where there are any), wait in the server's
//! scheduler, are served by the device, and are answered over the network; the
//! process goes on when the last piece is answered.

use std::collections::VecDeque;
use std::ops::Range;

use crate::cluster::ClusterConfig;
use crate::events::{EventQueue, SimulationEvent};
use crate::files::Files;
use crate::network::{Links, Network};
use crate::pieces::{Piece, PieceId, Pieces};
use crate::processes::{Process, processes};
use crate::rng::SimulationRng;
use crate::server::{DataServer, ServerStep};
use crate::twins::{ForwardingNode, NodeDecision};
use crate::workload::{Pacing, SimulatedBenchmark, TransferKind};

/// One request as a server or forwarding node saw it arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedRequest {
    /// Since the benchmark began.
    pub time_ns: u64,
    /// Numbered from 0.
    pub file: u32,
    /// What it does.
    pub kind: TransferKind,
    /// At a server: in its part of the file. At a forwarding node: in the file.
    pub offset: u64,
    /// Never 0.
    pub bytes: u64,
}

/// What a run was like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulationOutcome {
    /// All that was read or written.
    pub bytes: u64,
    /// Until the last process was done.
    pub elapsed_ns: u64,
    /// Pieces that servers served.
    pub n_requests: u64,
    /// From the arrival of a piece at its server until it was served.
    pub mean_sojourn_ns: f64,
    /// What each forwarding node saw, or each server where there is none, in
    /// order of time; empty if it was not asked for.
    pub observed: Vec<Vec<SimulatedRequest>>,
}

impl SimulationOutcome {
    /// Of all processes together; a MB is 1,000,000 bytes.
    pub fn mb_per_s(&self) -> f64 {
        self.bytes as f64 / 1e6 / (self.elapsed_ns.max(1) as f64 * 1e-9)
    }
}

/// Whether an outcome has the requests that were observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// It has; they take 40 bytes each.
    Requests,
    /// Throughput alone.
    Nothing,
}

/// Runs a benchmark to its end.
pub fn simulate(
    config: &ClusterConfig,
    benchmark: &SimulatedBenchmark,
    seed: u64,
    recording: Recording,
) -> SimulationOutcome {
    let mut simulation = Simulation::new(config, benchmark, seed, recording);
    while let Some((now_ns, event)) = simulation.events.next() {
        simulation.happen(now_ns, event);
    }
    simulation.outcome()
}

struct Simulation<'a> {
    config: &'a ClusterConfig,
    benchmark: &'a SimulatedBenchmark,
    recording: Recording,
    rng: SimulationRng,
    events: EventQueue,
    network: Network,
    clients: Vec<Links>,
    nodes: Vec<ForwardingNode>,
    node_links: Vec<Links>,
    servers: Vec<DataServer>,
    processes: Vec<Process>,
    files: Files,
    pieces: Pieces,
    /// Of the request that is being sent, by server.
    jitters: Vec<u64>,
    parts: Vec<Range<u64>>,
    tails: Vec<VecDeque<PieceId>>,
    cut: Vec<PieceId>,
    n_first: usize,
    last_answer_ns: u64,
    sojourn_ns: u128,
    observed: Vec<Vec<SimulatedRequest>>,
}

impl<'a> Simulation<'a> {
    fn new(
        config: &'a ClusterConfig,
        benchmark: &'a SimulatedBenchmark,
        seed: u64,
        recording: Recording,
    ) -> Simulation<'a> {
        let mut rng = SimulationRng::new(seed, 0);
        let files = Files::create(config, benchmark, &mut rng);
        let processes = processes(config, benchmark);
        let n_nodes = config.forwarding.map_or(0, |forwarding| forwarding.n_nodes);
        let nodes = config.forwarding.into_iter().flat_map(|forwarding| {
            (0..n_nodes)
                .map(move |number| ForwardingNode::new(forwarding, number, config.n_servers))
        });
        // A run has its speed, a server a small one of its own.
        let of_run = 1.0 + config.run_variation * (2.0 * rng.unit() - 1.0);
        let servers = (0..config.n_servers).map(|_| {
            let own = 1.0 + config.run_variation * 0.2 * (2.0 * rng.unit() - 1.0);
            DataServer::new(config, of_run * own)
        });
        let servers = servers.collect();
        let mut events = EventQueue::default();
        for process in 0..processes.len() as u32 {
            events.add(rng.below(config.start_spread_ns), SimulationEvent::Issue(process));
        }
        let n_observers = if n_nodes > 0 { n_nodes } else { config.n_servers };
        Simulation {
            config,
            benchmark,
            recording,
            rng,
            events,
            network: Network::new(config.network),
            clients: vec![Links::default(); config.n_clients as usize],
            nodes: nodes.collect(),
            node_links: vec![Links::default(); n_nodes as usize],
            servers,
            processes,
            files,
            pieces: Pieces::default(),
            jitters: vec![0; config.n_servers as usize],
            parts: vec![0..0; config.n_servers as usize],
            tails: vec![VecDeque::new(); config.n_servers as usize],
            cut: Vec::new(),
            n_first: 0,
            last_answer_ns: 0,
            sojourn_ns: 0,
            observed: vec![Vec::new(); n_observers as usize],
        }
    }

    fn happen(&mut self, now_ns: u64, event: SimulationEvent) {
        match event {
            SimulationEvent::Issue(process) => self.issue(now_ns, process),
            SimulationEvent::AtNode(process) => self.reach_node(now_ns, process),
            SimulationEvent::NodeWakes(node) => self.drive_node(now_ns, node),
            SimulationEvent::NodeAnswered(node) => {
                self.nodes[node as usize].answered();
                self.drive_node(now_ns, node);
            }
            SimulationEvent::AtServer(id) => self.reach_server(now_ns, id),
            SimulationEvent::Admitted(id) => self.admit(now_ns, id),
            SimulationEvent::DeviceDone { server, channel } => {
                self.finish_batch(now_ns, usize::from(server), usize::from(channel));
            }
            SimulationEvent::ServerWakes(server) => self.drive_server(now_ns, server as usize),
        }
    }

    /// The next request of a process leaves its node.
    fn issue(&mut self, now_ns: u64, number: u32) {
        let (benchmark, rng) = (self.benchmark, &mut self.rng);
        let process = &mut self.processes[number as usize];
        if process.n_issued == benchmark.requests_per_process() {
            return;
        }
        process.offset =
            benchmark.offset(process.rank, process.of, process.n_issued, |limit| rng.below(limit));
        process.n_issued += 1;
        if let Pacing::Poisson { mean_ns } = benchmark.pacing {
            self.events.add(now_ns + rng.exponential_ns(mean_ns), SimulationEvent::Issue(number));
        }
        let (client, node) = (process.client as usize, process.node);
        for jitter in &mut self.jitters {
            *jitter = self.network.jitter_ns(rng);
        }
        match node {
            None => self.send_pieces(now_ns, number, client),
            Some(node) => {
                let bytes = self.carried(benchmark.request_bytes, TransferKind::Write);
                let (from, to) = (&mut self.clients[client], &mut self.node_links[node as usize]);
                let arrival = self.network.send(from, to, bytes, now_ns, self.jitters[0]);
                self.events.add(arrival, SimulationEvent::AtNode(number));
            }
        }
    }

    /// The bytes that travel with a message if requests are of this kind.
    fn carried(&self, bytes: u64, kind: TransferKind) -> u64 {
        if self.benchmark.kind == kind { bytes } else { 0 }
    }

    /// From a client straight to the servers.
    fn send_pieces(&mut self, now_ns: u64, number: u32, client: usize) {
        self.cut(number);
        for index in 0..self.cut.len() {
            let id = self.cut[index];
            let Piece { server, bytes, .. } = *self.pieces.get(id);
            let jitter = self.jitters[server as usize];
            let arrival = match self.carried(bytes, TransferKind::Write) {
                // What is to be read is named in one message for each server.
                0 => self.network.signal(now_ns, jitter),
                bytes => {
                    let links = &mut self.servers[server as usize].links;
                    self.network.send(&mut self.clients[client], links, bytes, now_ns, jitter)
                }
            };
            self.pieces.get_mut(id).ready_ns = arrival;
            if index < self.n_first {
                self.events.add(arrival, SimulationEvent::AtServer(id));
            }
        }
    }

    /// Cuts the current request of a process; buffer by buffer, so that all
    /// servers get their first one before any gets a second. The first
    /// `n_first` of them start the flows, the others follow.
    fn cut(&mut self, number: u32) {
        let process = &mut self.processes[number as usize];
        let range = process.offset..process.offset + self.benchmark.request_bytes;
        let striping = self.files.striping(process.file);
        for (server, part) in self.parts.iter_mut().enumerate() {
            *part = striping.part(server as u64, range.clone());
        }
        self.cut.clear();
        self.n_first = 0;
        self.tails.iter_mut().for_each(VecDeque::clear);
        let mut begun = 0;
        loop {
            let n_before = self.cut.len();
            for server in 0..self.config.n_servers {
                let part = &self.parts[server as usize];
                let offset = part.start + begun;
                if offset >= part.end {
                    continue;
                }
                let bytes = (part.end - offset).min(self.config.flow_bytes);
                let address = self.files.address(process.file, server) + offset;
                let id = self.pieces.add(Piece {
                    process: number,
                    instance: process.instance,
                    server,
                    file: process.file,
                    kind: self.benchmark.kind,
                    offset,
                    bytes,
                    address,
                    ready_ns: 0,
                    arrived_ns: 0,
                    follower: None,
                    sequence: 0,
                });
                let tail = &mut self.tails[server as usize];
                tail.push_back(id);
                if tail.len() > self.config.flow_depth.max(1) as usize {
                    if let Some(before) = tail.pop_front() {
                        self.pieces.get_mut(before).follower = Some(id);
                    }
                } else {
                    self.n_first = self.cut.len() + 1;
                }
                self.cut.push(id);
            }
            if self.cut.len() == n_before {
                break;
            }
            begun += self.config.flow_bytes;
        }
        process.n_outstanding += self.cut.len() as u32;
    }

    fn reach_node(&mut self, now_ns: u64, number: u32) {
        let process = &self.processes[number as usize];
        let Some(node) = process.node else { return };
        let (file, offset) = (process.file, process.offset);
        self.observe(now_ns, node as usize, file, offset, self.benchmark.request_bytes);
        self.cut(number);
        for &id in &self.cut {
            let server = self.pieces.get(id).server;
            self.nodes[node as usize].add(id, server);
        }
        self.drive_node(now_ns, node);
    }

    fn drive_node(&mut self, now_ns: u64, node: u32) {
        match self.nodes[node as usize].next(now_ns) {
            NodeDecision::Idle => {}
            NodeDecision::WaitUntil(at_ns) => {
                self.events.add(at_ns, SimulationEvent::NodeWakes(node));
            }
            NodeDecision::Send(id) => {
                let Piece { server, bytes, .. } = *self.pieces.get(id);
                let bytes = self.carried(bytes, TransferKind::Write);
                let jitter = self.network.jitter_ns(&mut self.rng);
                let from = &mut self.node_links[node as usize];
                let to = &mut self.servers[server as usize].links;
                let arrival = self.network.send(from, to, bytes, now_ns, jitter);
                self.events.add(arrival, SimulationEvent::AtServer(id));
                self.events.add(now_ns, SimulationEvent::NodeWakes(node));
            }
        }
    }

    fn reach_server(&mut self, now_ns: u64, id: PieceId) {
        let piece = self.pieces.get_mut(id);
        piece.arrived_ns = now_ns;
        let Piece { server, file, offset, bytes, .. } = *piece;
        if self.nodes.is_empty() {
            self.observe(now_ns, server as usize, file, offset, bytes);
        }
        let admitted = self.servers[server as usize].read_message(now_ns);
        self.events.add(admitted, SimulationEvent::Admitted(id));
    }

    fn admit(&mut self, now_ns: u64, id: PieceId) {
        let server = self.pieces.get(id).server as usize;
        self.servers[server].add(id, &self.pieces);
        self.drive_server(now_ns, server);
    }

    fn drive_server(&mut self, now_ns: u64, number: usize) {
        let server = &mut self.servers[number];
        while let Some(step) = server.step(now_ns, &self.pieces, &mut self.rng) {
            match step {
                ServerStep::Busy { channel, until_ns } => {
                    let (server, channel) = (number as u16, channel as u16);
                    self.events.add(until_ns, SimulationEvent::DeviceDone { server, channel });
                }
                ServerStep::Wake(at_ns) => {
                    self.events.add(at_ns, SimulationEvent::ServerWakes(number as u32));
                    break;
                }
            }
        }
    }

    fn finish_batch(&mut self, now_ns: u64, number: usize, channel: usize) {
        let batch = self.servers[number].finish(channel);
        for id in &batch {
            self.answer(now_ns, *id);
            self.pieces.release(*id);
        }
        self.servers[number].reuse(channel, batch);
        self.drive_server(now_ns, number);
    }

    /// A served piece goes back to its process.
    fn answer(&mut self, now_ns: u64, id: PieceId) {
        let Piece { process: number, server, bytes, arrived_ns, follower, .. } =
            *self.pieces.get(id);
        if let (Some(follower), true) = (follower, self.nodes.is_empty()) {
            let ready_ns = self.pieces.get(follower).ready_ns;
            self.events.add(now_ns.max(ready_ns), SimulationEvent::AtServer(follower));
        }
        self.sojourn_ns += u128::from(now_ns - arrived_ns);
        let bytes = self.carried(bytes, TransferKind::Read);
        let jitter = self.network.jitter_ns(&mut self.rng);
        let process = &mut self.processes[number as usize];
        let client = &mut self.clients[process.client as usize];
        let server = &mut self.servers[server as usize].links;
        let answered = match process.node {
            None => self.network.send(server, client, bytes, now_ns, jitter),
            Some(node) => {
                let links = &mut self.node_links[node as usize];
                let at_node = self.network.send(server, links, bytes, now_ns, jitter);
                self.events.add(at_node, SimulationEvent::NodeAnswered(node));
                self.network.send(links, client, bytes, at_node, 0)
            }
        };
        self.last_answer_ns = self.last_answer_ns.max(answered);
        process.answered_ns = process.answered_ns.max(answered);
        process.n_outstanding -= 1;
        if let (0, Pacing::Synchronous { think_ns }) =
            (process.n_outstanding, self.benchmark.pacing)
        {
            let at_ns = process.answered_ns + self.rng.exponential_ns(think_ns);
            self.events.add(at_ns, SimulationEvent::Issue(number));
        }
    }

    fn observe(&mut self, time_ns: u64, observer: usize, file: u32, offset: u64, bytes: u64) {
        if self.recording == Recording::Requests {
            let kind = self.benchmark.kind;
            self.observed[observer].push(SimulatedRequest { time_ns, file, kind, offset, bytes });
        }
    }

    fn outcome(self) -> SimulationOutcome {
        let n_requests = self.pieces.n_made();
        SimulationOutcome {
            bytes: self.benchmark.total_bytes(),
            elapsed_ns: self.last_answer_ns,
            n_requests,
            mean_sojourn_ns: self.sojourn_ns as f64 / n_requests.max(1) as f64,
            observed: self.observed,
        }
    }
}
