// SPDX-License-Identifier: MIT OR Apache-2.0

// The program's loops, nested as they are in its source.

import { h, section } from "./dom";
import type { LoopNode, Report, ThreadLoops } from "./data";
import { about, bytes, count, counted, percent, seconds, shortPath, times } from "./format";

/// Calls in a row that are shown at first.
const SHOWN = 6;
/// Loops that take less of the enclosing time, and are nested deeper, start closed.
const SMALL = 0.04;
const OPEN_DEPTH = 3;

export function loops(report: Report): HTMLElement | null {
  const threads = report.loops.filter((thread) => thread.tree.nodes.length > 0);
  const first = threads[0];
  if (!first) return null;
  const holder = h("div", { class: "loops", "data-chart": "loops" });
  let shown = first;
  const show = (thread: ThreadLoops): void => {
    shown = thread;
    const { nodes } = thread.tree;
    const total = nodes.reduce((sum, node) => sum + turnTime(node) * turns(node), 0);
    holder.replaceChildren(...body(nodes, total, 0),
      ...(thread.tree.left_out > 0 ? [h("p", { class: "more" }, `… and ${counted(thread.tree.left_out, "operation")} that do not fit here`)] : []));
  };
  show(first);
  const select = h("select", { "aria-label": "Thread", onchange: () => show(threads[Number(select.value)] ?? first) },
    ...threads.map((thread, n) => h("option", { value: n }, threadName(thread))));
  const save = (): void => {
    const link = h("a", { href: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(shown.svg)}`, download: `${report.trace}-loops.svg` });
    link.click();
  };
  return section("loops", "The program's loops",
    "What the program repeats, as its I/O shows it, with what a turn of each loop costs on average. Time includes the waits between operations.",
    h("div", { class: "tools" },
      threads.length > 1 ? h("label", {}, "Thread ", select) : h("span", {}, threadName(first)),
      h("button", { type: "button", onclick: save }, "Save as SVG")),
    holder);
}

function threadName(thread: ThreadLoops): string {
  const where = thread.rank === null ? `process ${thread.process}` : `rank ${thread.rank}`;
  const alike = thread.n_alike > 1 ? `, and ${counted(thread.n_alike - 1, "other thread")} alike` : "";
  return `${where}, thread ${thread.thread}: ${counted(thread.operations, "operation")}${alike}`;
}

function turns(node: LoopNode): number {
  return (node.turns_min + node.turns_max) / 2;
}

function turnTime(node: LoopNode): number {
  return node.io_time_s + node.wait_s;
}

/// The nodes of a body; `total` is the time of what encloses them. Of many calls
/// and small loops in a row only the first are shown.
function body(nodes: LoopNode[], total: number, depth: number): HTMLElement[] {
  const draw = (node: LoopNode): HTMLElement => (node.call === null ? loop(node, total, depth) : call(node));
  const isSmall = (node: LoopNode | undefined): boolean => node !== undefined && (node.call !== null || share(node, total) < SMALL);
  const elements: HTMLElement[] = [];
  for (let at = 0; at < nodes.length; ) {
    let end = at;
    while (isSmall(nodes[end])) end += 1;
    const shown = end - at > SHOWN + 1 ? at + SHOWN : Math.max(end, at + 1);
    elements.push(...nodes.slice(at, shown).map(draw));
    if (shown < end) elements.push(folded(nodes.slice(shown, end), draw));
    at = Math.max(end, shown);
  }
  return elements;
}

function folded(nodes: LoopNode[], draw: (node: LoopNode) => HTMLElement): HTMLElement {
  const n = nodes.reduce((sum, node) => sum + node.operations * turns(node), 0);
  const loops = nodes.filter((node) => node.call === null).length;
  const text = `… ${counted(n, "more operation")}${loops > 0 ? ` in ${counted(loops, "small loop")} and between them` : ""}`;
  const button = h("button", { type: "button", class: "more", onclick: () => button.replaceWith(...nodes.map(draw)) }, text);
  return button;
}

function share(node: LoopNode, total: number): number {
  return total > 0 ? Math.min(1, (turnTime(node) * turns(node)) / total) : 0;
}

function loop(node: LoopNode, total: number, depth: number): HTMLElement {
  const part = share(node, total);
  return h("details", { class: "loop", open: part >= SMALL && depth < OPEN_DEPTH },
    h("summary", {},
      h("span", { class: "times" }, times(node.turns_min, node.turns_max)),
      h("span", { class: "where" }, h("span", { class: "file" }, turn(node)), node.caller && h("span", { class: "source" }, `${node.caller}${node.source ? ` ${node.source}` : ""}`)),
      h("span", { class: "costs" },
        node.bytes >= 0.5 && h("b", {}, bytes(node.bytes)), node.bytes >= 0.5 && " · ", h("b", {}, seconds(turnTime(node))),
        ` · ${about(node.operations)} op${Math.round(node.operations) === 1 ? "" : "s"} a turn`),
      h("span", { class: "share", title: `${percent(100 * part)} of the time of what encloses it` }, h("i", { style: `width:${(100 * part).toFixed(1)}%` }))),
    h("div", { class: "body" }, ...body(node.body, turnTime(node), depth + 1)));
}

/// What a turn does, in short, for a loop that is closed.
function turn(node: LoopNode): string {
  const words = node.body.map((inner) => `${inner.call ?? "(…)"}${inner.turns_max > 1 ? ` ${times(inner.turns_min, inner.turns_max)}` : ""}`);
  return words.length > 5 ? `${words.slice(0, 4).join(", ")}, …` : words.join(", ");
}

function call(node: LoopNode): HTMLElement {
  const name = node.call ?? "";
  const way = /write|put|print/.test(name) ? "write" : /read|get|scan/.test(name) ? "read" : "other";
  return h("div", { class: `call ${way}` },
    h("code", {}, name),
    node.turns_max > 1 && h("span", { class: "times" }, times(node.turns_min, node.turns_max)),
    h("span", { class: "where" },
      h("span", { class: "file", title: node.files.join("\n") }, node.files.map((file) => shortPath(file, 48)).join(", ")),
      (node.source ?? node.caller) ? h("span", { class: "source" }, node.source ? `${node.caller ?? ""} ${node.source}` : (node.caller ?? "")) : null),
    h("span", { class: "costs" }, node.bytes >= 0.5 && `${bytes(node.bytes)} · `, seconds(node.io_time_s),
      node.turns_max > 1 && ` each, ${count(turns(node))} in a row`));
}
