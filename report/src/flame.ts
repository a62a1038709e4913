// SPDX-License-Identifier: MIT OR Apache-2.0

// Call stacks as a flame graph: callers below, what they call above them.

import { choice, colour, h, hideTip, onColours, onWidth, section, showTip, sized } from "./dom";
import type { Report } from "./data";
import { bytes, counted, percent, seconds, visible } from "./format";

const ROW = 20;
/** Narrower frames cannot be read or pointed at; they do not make the graph higher. */
const MIN_READABLE_PX = 6;
/** Rows of such frames above the highest one that can be read. */
const NARROW_ROWS = 2;

interface Node { name: number; parent: number; weights: [number, number, number]; children: number[]; depth: number }
interface Box { node: number; x: number; width: number; depth: number }

export function flame(report: Report): HTMLElement | null {
  const { names, places, nodes: flat, left_out } = report.flame;
  if (flat.length < 2) return null;
  const nodes: Node[] = flat.map(([name, parent, ns, size, calls]) => ({ name, parent, weights: [ns, size, calls], children: [], depth: 0 }));
  nodes.forEach((node, n) => {
    if (n === 0) return;
    const parent = nodes[node.parent] as Node;
    node.depth = parent.depth + 1;
    parent.children.push(n);
  });
  let by = (nodes[0]?.weights[0] ?? 0) > 0 ? 0 : 2;
  let root = 0;
  let cursor = 0;
  let wanted = "";
  let width = 0;
  let boxes: Box[] = [];
  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "Flame graph. Arrow keys move between frames, Enter zooms in, Escape zooms out." });
  const holder = h("div", { class: "plot", "data-chart": "flame" }, canvas);
  const readout = h("output", { class: "status" });
  const cut = h("p", { class: "quiet" });
  const weight = (n: number): number => nodes[n]?.weights[by] ?? 0;
  const shown = (value: number): string => (by === 0 ? seconds(value * 1e-9) : by === 1 ? bytes(value) : counted(value, "call"));
  const name = (n: number): string => visible(names[nodes[n]?.name ?? 0] ?? "?");

  const lines = (n: number): string[] => {
    const place = places[nodes[n]?.name ?? 0];
    const share = percent((100 * weight(n)) / Math.max(1, weight(0)));
    const [ns, size, calls] = nodes[n]?.weights ?? [0, 0, 0];
    return [name(n), ...(place ? [place] : []), `${shown(weight(n))}, ${share}`, `${seconds(ns * 1e-9)} · ${bytes(size)} · ${counted(calls, "call")}`];
  };

  const layout = (): void => {
    boxes = [];
    const place = (n: number, x: number, w: number, depth: number): void => {
      if (w < 0.4) return;
      boxes.push({ node: n, x, width: w, depth });
      const whole = weight(n);
      if (whole <= 0) return;
      let at = x;
      const children = [...(nodes[n] as Node).children].sort((a, b) => name(a).localeCompare(name(b)));
      for (const child of children) {
        const part = (w * weight(child)) / whole;
        place(child, at, part, depth + 1);
        at += part;
      }
    };
    place(root, 0, width, 0);
    const top = Math.max(0, ...boxes.filter((box) => box.width >= MIN_READABLE_PX).map((box) => box.depth));
    const drawn = boxes.filter((box) => box.depth <= top + NARROW_ROWS);
    const nCut = boxes.length - drawn.length;
    cut.textContent = nCut > 0 ? `${counted(nCut, "narrow frame")} above are cut off; click a frame below to see them.` : "";
    boxes = drawn;
  };

  const shade = (n: number): string => {
    const text = name(n);
    const module = text.includes("+0x") ? text.slice(0, text.lastIndexOf("+0x")) : text;
    let hash = 0;
    for (const letter of module) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
    const isLeaf = (nodes[n] as Node).children.length === 0;
    const hue = isLeaf ? 205 + (hash % 25) : 12 + (hash % 46);
    return `hsl(${hue} ${isLeaf ? 70 : 78}% ${colour("flame-light")})`;
  };

  const draw = (): void => {
    if (width === 0) return;
    layout();
    const depth = Math.max(1, ...boxes.map((box) => box.depth + 1));
    const height = depth * ROW + 2;
    const context = sized(canvas, width, height);
    context.textBaseline = "middle";
    for (const box of boxes) {
      const y = height - (box.depth + 1) * ROW;
      const isMatch = wanted !== "" && name(box.node).toLowerCase().includes(wanted);
      context.fillStyle = isMatch ? colour("match") : shade(box.node);
      context.globalAlpha = wanted !== "" && !isMatch ? 0.35 : 1;
      context.fillRect(box.x, y, Math.max(0.5, box.width - 0.7), ROW - 1);
      context.globalAlpha = 1;
      if (box.width > 34) {
        context.fillStyle = isMatch ? "#fff" : colour("flame-ink");
        const room = Math.floor((box.width - 8) / 6.6);
        const text = name(box.node);
        context.fillText(text.length > room ? `${text.slice(0, Math.max(1, room - 1))}…` : text, box.x + 4, y + ROW / 2);
      }
      if (box.node === cursor && document.activeElement === canvas) {
        context.strokeStyle = colour("ink");
        context.lineWidth = 2;
        context.strokeRect(box.x + 1, y + 1, Math.max(2, box.width - 2), ROW - 3);
      }
    }
  };
  const under = (event: MouseEvent): number | null => {
    const area = canvas.getBoundingClientRect();
    const depth = Math.floor((area.bottom - event.clientY) / ROW);
    const x = event.clientX - area.left;
    return boxes.find((box) => box.depth === depth && x >= box.x && x < box.x + box.width)?.node ?? null;
  };
  const zoom = (n: number): void => {
    root = n;
    cursor = n;
    back.disabled = root === 0;
    readout.textContent = lines(n).join(" · ");
    draw();
  };
  canvas.addEventListener("mousemove", (event) => {
    const found = under(event);
    if (found === null) hideTip();
    else showTip(event, lines(found));
  });
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const found = under(event);
    if (found !== null) zoom(found);
  });
  canvas.addEventListener("focus", draw);
  canvas.addEventListener("blur", draw);
  canvas.addEventListener("keydown", (event) => {
    const heaviest = (of: number): number | undefined => [...(nodes[of] as Node).children].sort((a, b) => weight(b) - weight(a))[0];
    const beside = (distance: number): number | undefined => {
      const row = boxes.filter((box) => box.depth === boxes.find((it) => it.node === cursor)?.depth).sort((a, b) => a.x - b.x);
      return row[row.findIndex((box) => box.node === cursor) + distance]?.node;
    };
    let next: number | undefined;
    if (event.key === "ArrowUp") next = heaviest(cursor);
    else if (event.key === "ArrowDown") next = cursor === root ? root : nodes[cursor]?.parent;
    else if (event.key === "ArrowLeft") next = beside(-1);
    else if (event.key === "ArrowRight") next = beside(1);
    else if (event.key === "Enter") return zoom(cursor);
    else if (event.key === "Escape") return zoom(0);
    else return;
    event.preventDefault();
    if (next !== undefined) {
      cursor = next;
      readout.textContent = lines(cursor).join(" · ");
      draw();
    }
  });
  onWidth(holder, (now) => {
    width = now;
    draw();
  });
  onColours(draw);
  const back = h("button", { type: "button", disabled: true, onclick: () => zoom(0) }, "Whole program");
  return section("flame", "Where in the program",
    "Call stacks of all I/O, callers below what they call. Click a frame to look closer.",
    h("div", { class: "tools" },
      choice("Width", [["0", "time"], ["1", "bytes"], ["2", "calls"]], String(by) as "0" | "1" | "2", (value) => { by = Number(value); draw(); }),
      h("input", { type: "search", placeholder: "Find a function", "aria-label": "Find a function in the flame graph", oninput: (event: Event) => { wanted = (event.target as HTMLInputElement).value.toLowerCase(); draw(); } }),
      back, readout),
    holder,
    cut,
    left_out > 0 && h("p", { class: "quiet" }, `${counted(left_out, "frame")} too small to be seen are left out.`));
}
