// SPDX-License-Identifier: MIT OR Apache-2.0

//! The graph as a picture (the paper's Figure 5), as an SVG document.
//!
//! Vertices stand in rows, in the order in which runs most often come to them, so
//! that the usual path is read like a text: to the right, then on to the next row.
//! Edges are as thick as they are often taken. The steps of the usual path are
//! dark, branches and returns are curves around it. A vertex is filled in the
//! colour of its file; one that is written has a thick frame.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use crate::graph::{Content, Edge, KnowledgeGraph, Vertex, VertexId};

const WIDTH: f64 = 152.0;
const HEIGHT: f64 = 40.0;
const GAP_X: f64 = 58.0;
const GAP_Y: f64 = 52.0;
const MARGIN: f64 = 30.0;
const TITLE: f64 = 54.0;
/// Letters of a label; the whole name is shown when pointed at.
const LETTERS: usize = 18;
/// Edges with more than this have no labels, and weak ones are left out beyond.
const LABELLED: usize = 60;
const MAX_EDGES: usize = 1500;
/// Vertices that are drawn; of more, those that are visited most.
const MAX_VERTICES: usize = 600;
const COLOURS: [&str; 8] =
    ["#d6e6f5", "#fde3c8", "#d9efd3", "#f6d5d5", "#e6dcf2", "#ece2dc", "#fbe0ef", "#efefc8"];

/// Draws the graph of an application.
pub fn draw(application: &str, graph: &KnowledgeGraph) -> String {
    let (order, n_left_out) = order(graph);
    let n = order.len() + 1;
    let columns = ((n as f64 * 1.5).sqrt().ceil() as usize).clamp(5, 24).min(n.max(2));
    let rows = n.div_ceil(columns);
    let places: HashMap<VertexId, usize> =
        order.iter().enumerate().map(|(place, id)| (*id, place + 1)).collect();
    let place_of = |end: Option<VertexId>| match end {
        None => Some(0),
        Some(id) => places.get(&id).copied(),
    };
    let width = 2.0 * MARGIN + columns as f64 * (WIDTH + GAP_X) - GAP_X;
    let roles = roles(graph, &order);
    let legend_rows = roles.len().div_ceil(3) as f64;
    let body = TITLE + rows as f64 * (HEIGHT + GAP_Y);
    let height = MARGIN + body + 22.0 * legend_rows + 14.0;
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"sans-serif\">\n\
         <defs><marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"9\" \
         markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0,0 L8,4 \
         L0,8 z\" fill=\"#555\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{MARGIN}\" y=\"30\" font-size=\"18\" font-weight=\"bold\">{}</text>\n",
        escaped(&shortened(application, 60))
    );
    let left_out = match n_left_out {
        0 => String::new(),
        n => format!(", of which {n} that are visited least are not drawn"),
    };
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"50\" font-size=\"13\" fill=\"#555\">{}, \
         {}{left_out}</text>",
        counted(graph.runs() as usize, "run"),
        counted(graph.vertices().len(), "data object")
    );
    let at = |place: usize| {
        let (row, column) = (place / columns, place % columns);
        let x = MARGIN + column as f64 * (WIDTH + GAP_X);
        (x, TITLE + 14.0 + row as f64 * (HEIGHT + GAP_Y))
    };
    draw_edges(&mut svg, graph, &place_of, &at, columns);
    draw_start(&mut svg, at(0));
    for (place, id) in order.iter().enumerate() {
        let vertex = graph.vertex(*id);
        let role = roles.iter().position(|name| *name == vertex.object.role.in_words());
        draw_vertex(&mut svg, vertex, at(place + 1), role.unwrap_or(0));
    }
    for (n, role) in roles.iter().enumerate() {
        let x = MARGIN + (n % 3) as f64 * ((width - 2.0 * MARGIN) / 3.0);
        let y = body + 26.0 + 22.0 * (n / 3) as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.0}\" y=\"{:.0}\" width=\"14\" height=\"14\" fill=\"{}\" \
             stroke=\"#666\"/><text x=\"{:.0}\" y=\"{y:.0}\" font-size=\"13\">{}</text>",
            y - 12.0,
            COLOURS[n % COLOURS.len()],
            x + 20.0,
            escaped(&shortened(role, 44))
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw_start(svg: &mut String, (x, y): (f64, f64)) {
    let _ = writeln!(
        svg,
        "<ellipse cx=\"{:.0}\" cy=\"{:.0}\" rx=\"36\" ry=\"18\" fill=\"#444\"/><text x=\"{:.0}\" \
         y=\"{:.0}\" font-size=\"13\" fill=\"white\" text-anchor=\"middle\">start</text>",
        x + WIDTH - 36.0,
        y + HEIGHT / 2.0,
        x + WIDTH - 36.0,
        y + HEIGHT / 2.0 + 4.5
    );
}

fn draw_vertex(svg: &mut String, vertex: &Vertex, (x, y): (f64, f64), role: usize) {
    let name = vertex.object.name();
    let is_written = vertex.writes.visits > 0;
    let verb = match (vertex.reads.visits > 0, is_written) {
        _ if vertex.object.content == Content::Header => "opened",
        (true, true) => "read and written",
        (false, true) => "written",
        _ => "read",
    };
    let visits = vertex.reads.visits + vertex.writes.visits;
    let bytes = match vertex.reads.bytes.saturating_add(vertex.writes.bytes) {
        0 => String::new(),
        bytes => format!(", {}", size(bytes)),
    };
    let _ = writeln!(
        svg,
        "<g><title>{}, {}</title><rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" rx=\"7\" fill=\"{}\" stroke=\"#333\" stroke-width=\"{}\"/><text \
         x=\"{:.0}\" y=\"{:.0}\" font-size=\"13\" text-anchor=\"middle\">{}</text><text \
         x=\"{:.0}\" y=\"{:.0}\" font-size=\"10.5\" fill=\"#444\" text-anchor=\"middle\">{verb} \
         {visits} ×{bytes}</text></g>",
        escaped(&name),
        escaped(&vertex.object.role.in_words()),
        COLOURS[role % COLOURS.len()],
        if is_written { 2.6 } else { 1.0 },
        x + WIDTH / 2.0,
        y + 17.0,
        escaped(&shortened(&name, LETTERS)),
        x + WIDTH / 2.0,
        y + 32.0
    );
}

fn draw_edges(
    svg: &mut String,
    graph: &KnowledgeGraph,
    place_of: &dyn Fn(Option<VertexId>) -> Option<usize>,
    at: &dyn Fn(usize) -> (f64, f64),
    columns: usize,
) {
    let mut edges: BTreeMap<(usize, usize), (u64, f64)> = BTreeMap::new();
    for Edge { from, to, visits, wait } in graph.edges() {
        let places = (place_of(from.map(|(id, _)| id)), place_of(Some(to.0)));
        if let (Some(from), Some(to)) = places {
            let (sum, ns) = edges.entry((from, to)).or_default();
            *ns =
                (*ns * *sum as f64 + wait.mean_ns * visits as f64) / (*sum + visits).max(1) as f64;
            *sum += visits;
        }
    }
    let mut edges: Vec<_> = edges.into_iter().collect();
    edges.sort_by_key(|((from, to), (visits, _))| (std::cmp::Reverse(*visits), *from, *to));
    edges.truncate(MAX_EDGES);
    let most = edges.first().map_or(1, |(_, (visits, _))| *visits).max(1) as f64;
    let has_labels = edges.len() <= LABELLED;
    let mut labels = String::new();
    // The thin ones first, so that the usual path lies on top.
    for ((from, to), (visits, wait_ns)) in edges.into_iter().rev() {
        let thick = 1.0 + 4.5 * (1.0 + visits as f64).ln() / (1.0 + most).ln();
        let ((x1, y1), (x2, y2)) = (at(from), at(to));
        // The start is not as wide as the others, and ends where they do.
        let out = if from == 0 { WIDTH - 36.0 } else { WIDTH * 0.35 };
        let middle = HEIGHT / 2.0;
        let is_next = to == from + 1;
        let same_row = from / columns == to / columns;
        let (path, label) = match () {
            () if is_next && same_row => {
                let (a, b) = (x1 + WIDTH, x2 - 2.0);
                let path = format!("M{a:.0},{:.0} L{b:.0},{:.0}", y1 + middle, y2 + middle);
                (path, ((a + b) / 2.0, y1 + middle - 6.0))
            }
            // On to the next row, as in a text.
            () if is_next => {
                let lane = y1 + HEIGHT + GAP_Y / 2.0;
                let path = format!(
                    "M{:.0},{:.0} L{:.0},{lane:.0} L{:.0},{lane:.0} L{:.0},{:.0}",
                    x1 + WIDTH / 2.0,
                    y1 + HEIGHT,
                    x1 + WIDTH / 2.0,
                    x2 + WIDTH / 2.0,
                    x2 + WIDTH / 2.0,
                    y2 - 2.0
                );
                (path, ((x1 + x2) / 2.0, lane - 5.0))
            }
            () if from == to => {
                let (a, b) = (x1 + WIDTH - 44.0, x1 + WIDTH - 16.0);
                let path = format!(
                    "M{a:.0},{y1:.0} C{a:.0},{:.0} {b:.0},{:.0} {b:.0},{:.0}",
                    y1 - 26.0,
                    y1 - 26.0,
                    y1 - 1.0
                );
                (path, (b + 12.0, y1 - 14.0))
            }
            () => {
                let (a, b) = (x1 + out, x2 + WIDTH * 0.65);
                let bend = if same_row { 34.0 + 0.03 * (x2 - x1).abs() } else { 30.0 };
                let (start, end) = if y1 <= y2 && !same_row {
                    (y1 + HEIGHT, y2 - 2.0)
                } else {
                    (y1, y2 + if same_row { -2.0 } else { HEIGHT + 2.0 })
                };
                let (c1, c2) = match (same_row, y1 <= y2) {
                    (true, _) => (start - bend, end - bend),
                    (false, true) => (start + bend, end - bend),
                    (false, false) => (start - bend, end + bend),
                };
                let path =
                    format!("M{a:.0},{start:.0} C{a:.0},{c1:.0} {b:.0},{c2:.0} {b:.0},{end:.0}");
                // A quarter of the way along the curve: in the middle many cross.
                let label = (0.84 * a + 0.16 * b, 0.42 * (start + c1) + 0.14 * c2 + 0.02 * end);
                (path, label)
            }
        };
        let colour = if is_next { "#333" } else { "#8a9ab0" };
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{thick:.1}\" \
             stroke-opacity=\"0.75\" marker-end=\"url(#to)\"><title>{visits} ×, {} in \
             between</title></path>",
            duration(wait_ns)
        );
        if has_labels {
            let _ = writeln!(
                labels,
                "<text x=\"{:.0}\" y=\"{:.0}\" font-size=\"10\" fill=\"#333\" \
                 text-anchor=\"middle\" stroke=\"white\" stroke-width=\"3\" \
                 paint-order=\"stroke\">{visits} ×</text>",
                label.0, label.1
            );
        }
    }
    // On top of all lines.
    svg.push_str(&labels);
}

/// Vertices in the order of the usual path, and how many are left out.
fn order(graph: &KnowledgeGraph) -> (Vec<VertexId>, usize) {
    let mut following: HashMap<Option<VertexId>, Vec<(u64, VertexId)>> = HashMap::new();
    for edge in graph.edges() {
        let from = edge.from.map(|(id, _)| id);
        following.entry(from).or_default().push((edge.visits, edge.to.0));
    }
    for ways in following.values_mut() {
        ways.sort_by_key(|(visits, id)| (*visits, std::cmp::Reverse(*id)));
    }
    // Depth first, the most visited way first.
    let mut order = Vec::new();
    let mut seen = vec![false; graph.vertices().len()];
    let mut stack: Vec<VertexId> = Vec::new();
    let push = |stack: &mut Vec<VertexId>, from: Option<VertexId>| {
        let ways = following.get(&from).map_or(&[][..], Vec::as_slice);
        stack.extend(ways.iter().map(|(_, id)| *id));
    };
    push(&mut stack, None);
    while let Some(id) = stack.pop() {
        if !std::mem::replace(&mut seen[id.0 as usize], true) {
            order.push(id);
            push(&mut stack, Some(id));
        }
    }
    let n_left_out = order.len().saturating_sub(MAX_VERTICES);
    if n_left_out > 0 {
        let visits = |id: &VertexId| {
            let vertex = graph.vertex(*id);
            std::cmp::Reverse(vertex.reads.visits + vertex.writes.visits)
        };
        let mut most = order.clone();
        most.sort_by_key(visits);
        most.truncate(MAX_VERTICES);
        let drawn: std::collections::HashSet<VertexId> = most.into_iter().collect();
        order.retain(|id| drawn.contains(id));
    }
    (order, n_left_out)
}

/// The files of the vertices, in the order in which they come.
fn roles(graph: &KnowledgeGraph, order: &[VertexId]) -> Vec<String> {
    let mut roles: Vec<String> = Vec::new();
    for id in order {
        let name = graph.vertex(*id).object.role.in_words();
        if !roles.contains(&name) && roles.len() < 24 {
            roles.push(name);
        }
    }
    roles
}

fn shortened(text: &str, letters: usize) -> String {
    let n = text.chars().count();
    if n <= letters {
        return text.to_owned();
    }
    // The end of a path tells more than its beginning.
    let end: String = text.chars().skip(n - (letters - 1) * 2 / 3).collect();
    let start: String = text.chars().take(letters - 1 - end.chars().count()).collect();
    format!("{start}…{end}")
}

fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => result.push_str("&lt;"),
            '>' => result.push_str("&gt;"),
            '&' => result.push_str("&amp;"),
            '"' => result.push_str("&quot;"),
            c if c.is_control() => result.push('\u{fffd}'),
            c => result.push(c),
        }
    }
    result
}

fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.1} KB", b / 1e3),
        b => format!("{b:.0} B"),
    }
}

fn counted(n: usize, noun: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{s}")
}

fn duration(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{:.2} s", ns / 1e9),
        ns if ns >= 1e6 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.0} µs", ns / 1e3),
    }
}
