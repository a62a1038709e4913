// SPDX-License-Identifier: MIT OR Apache-2.0

//! Draws nested loops: a box for each loop, a line for each call, what a turn
//! costs at the right. A picture on its own, in light and dark.

use std::fmt::Write;

use super::{LoopNode, LoopTree};
use crate::numbers::{bytes, counted, grouped, seconds};

const WIDTH: u32 = 900;
const ROW: u32 = 26;
const MARGIN: u32 = 16;
const TITLE: u32 = 34;
const INDENT: u32 = 22;
/// Calls of one body that are drawn; of more, the last ones are counted.
const MAX_SHOWN: usize = 14;
/// Rows of the picture.
const MAX_ROWS: usize = 160;
/// Letters of a line that fit beside the numbers, at the outermost level.
const LETTERS: usize = 84;

/// The picture as text. `title` names the program or thread.
pub fn draw(tree: &LoopTree, title: &str) -> String {
    let mut drawing = Drawing { rows: 0, boxes: String::new(), text: String::new() };
    drawing.nodes(&tree.nodes, 0);
    if tree.left_out > 0 {
        let more = format!("… and {} that are not drawn", counted(tree.left_out, "operation"));
        drawing.line(0, "quiet", &more, "");
    }
    if tree.nodes.is_empty() && tree.left_out == 0 {
        drawing.line(0, "quiet", "no operations", "");
    }
    let height = TITLE + drawing.rows as u32 * ROW + 2 * MARGIN;
    let Drawing { boxes, text, .. } = drawing;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"{}\">{title}</text>\n\
         <text class=\"number\" x=\"{}\" y=\"{}\">each turn</text>\n{boxes}{text}</svg>\n",
        MARGIN + 14,
        WIDTH - MARGIN - 10,
        MARGIN + 14,
        title = escaped(title),
    )
}

const STYLE: &str = "\
text{font:13px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1d2733}\
.title{font:600 15px system-ui,'DejaVu Sans',sans-serif}\
.number{text-anchor:end;fill:#566576;font-size:12px}\
.quiet{fill:#7b8896}.times{font-weight:700;fill:#0b5cad}.place{fill:#7b8896}\
.page{fill:#fff}.loop{fill:#1f77d0;fill-opacity:.06;stroke:#1f77d0;stroke-opacity:.5}\
.read{fill:#0b5cad}.write{fill:#b3540a}\
@media(prefers-color-scheme:dark){text{fill:#e4e9ef}.number,.quiet,.place{fill:#9aa7b5}\
.times,.read{fill:#6cb2ff}.write{fill:#ffb072}.page{fill:#11161c}.loop{fill-opacity:.13;stroke-opacity:.8}}";

struct Drawing {
    rows: usize,
    boxes: String,
    text: String,
}

impl Drawing {
    fn nodes(&mut self, nodes: &[LoopNode], depth: u32) {
        let n_shown = if nodes.len() > MAX_SHOWN { MAX_SHOWN - 1 } else { nodes.len() };
        let mut n_left_out = 0.0;
        for (place, node) in nodes.iter().enumerate() {
            // A loop is always drawn while there is room, because loops matter most.
            let is_shown = place < n_shown || node.call.is_none();
            if !is_shown || self.rows >= MAX_ROWS {
                n_left_out += node.operations * node.turns();
                continue;
            }
            if node.call.is_some() {
                self.call(node, depth);
            } else {
                self.repeated(node, depth);
            }
        }
        if n_left_out >= 1.0 {
            let more = format!("… {}", counted(n_left_out.round() as u64, "more operation"));
            self.line(depth, "quiet", &more, "");
        }
    }

    fn repeated(&mut self, node: &LoopNode, depth: u32) {
        let from = self.rows;
        let caller = node.caller.as_deref().unwrap_or_default();
        let place = node.source.as_deref().unwrap_or_default();
        let label = format!("{} {caller} {place}", times(node));
        self.line(depth, "times", label.trim(), &costs(node));
        self.nodes(&node.body, depth + 1);
        let (x, y) = (MARGIN + depth * INDENT, MARGIN + TITLE + from as u32 * ROW - 4);
        let height = (self.rows - from) as u32 * ROW - 2;
        let width = WIDTH.saturating_sub(x + MARGIN + depth * 4);
        let _ = writeln!(
            self.boxes,
            "<rect class=\"loop\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>"
        );
    }

    fn call(&mut self, node: &LoopNode, depth: u32) {
        let call = node.call.as_deref().unwrap_or_default();
        let mut label = call.to_owned();
        if node.turns_max > 1 {
            let _ = write!(label, " {}", times(node));
        }
        for file in &node.files {
            let _ = write!(label, " {file}");
        }
        if let Some(place) = node.source.as_deref().or(node.caller.as_deref()) {
            let _ = write!(label, " — {place}");
        }
        let class = match () {
            () if call.contains("write") || call.contains("put") => "write",
            () if call.contains("read") || call.contains("get") => "read",
            () => "call",
        };
        self.line(depth, class, &label, &costs(node));
    }

    fn line(&mut self, depth: u32, class: &str, label: &str, numbers: &str) {
        let y = MARGIN + TITLE + self.rows as u32 * ROW + 14;
        let x = MARGIN + depth * INDENT + 10;
        let room = LETTERS.saturating_sub(depth as usize * 3 + numbers.chars().count()).max(12);
        let label = shortened(label, room);
        let _ = writeln!(
            self.text,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>",
            escaped(&label)
        );
        if !numbers.is_empty() {
            let x = WIDTH - MARGIN - 10 - depth * 4;
            let _ = writeln!(
                self.text,
                "<text class=\"number\" x=\"{x}\" y=\"{y}\">{}</text>",
                escaped(numbers)
            );
        }
        self.rows += 1;
    }
}

/// `×24`, `×3–17`.
fn times(node: &LoopNode) -> String {
    match (node.turns_min, node.turns_max) {
        (least, most) if least == most => format!("×{}", grouped(least)),
        (least, most) => format!("×{}–{}", grouped(least), grouped(most)),
    }
}

fn costs(node: &LoopNode) -> String {
    let moved = match node.bytes {
        none if none < 0.5 => String::new(),
        some => format!("{} · ", bytes(some as u64)),
    };
    let time = seconds(Some(if node.call.is_some() { node.io_time_s } else { node.turn_s() }));
    format!("{moved}{time}")
}

fn shortened(label: &str, room: usize) -> String {
    if label.chars().count() <= room {
        return label.to_owned();
    }
    label.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// Text that no reader of SVG takes for markup; marks that would turn or hide
/// what follows are shown by their numbers.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ if is_hidden(character) => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(character));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Control characters, marks of direction, and what XML does not allow.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, file: &str) -> LoopNode {
        LoopNode {
            call: Some(name.into()),
            turns_min: 1,
            turns_max: 1,
            files: vec![file.into()],
            ..LoopNode::default()
        }
    }

    #[test]
    fn a_picture_has_a_box_for_each_loop() {
        let inner = LoopNode {
            turns_min: 3,
            turns_max: 9,
            body: vec![call("read", "a")],
            ..LoopNode::default()
        };
        let outer = LoopNode {
            turns_min: 24,
            turns_max: 24,
            body: vec![call("open", "a"), inner],
            ..LoopNode::default()
        };
        let picture = draw(&LoopTree { nodes: vec![outer], left_out: 0 }, "app");
        assert_eq!(picture.matches("<rect class=\"loop\"").count(), 2);
        assert!(picture.contains(">×24</text>") && picture.contains(">×3–9</text>"), "{picture}");
    }

    #[test]
    fn names_are_never_markup() {
        let evil = "</text><script>alert(1)</script>\u{202e}\"'&\u{1b}";
        let picture = draw(&LoopTree { nodes: vec![call("open", evil)], left_out: 0 }, evil);
        assert!(!picture.contains("<script") && !picture.contains('\u{202e}'));
        assert!(picture.contains("&lt;script&gt;alert(1)") && picture.contains("\\u202e"));
        assert!(!picture.contains('\u{1b}'));
    }

    #[test]
    fn a_large_tree_is_cut_and_says_so() {
        let calls = (0..5000).map(|_| LoopNode { operations: 1.0, ..call("read", "a") });
        let picture = draw(&LoopTree { nodes: calls.collect(), left_out: 7 }, "app");
        assert!(picture.matches("<text").count() < 40);
        assert!(picture.contains("4,987 more operations") && picture.contains("7 operations"));
    }
}
