// SPDX-License-Identifier: MIT OR Apache-2.0

// Ranks against time: the stronger the colour, the more bytes.

import { choice, colour, h, hideTip, onColours, onWidth, section, showTip, sized } from "./dom";
import type { Report, Row } from "./data";
import { bytes, count, seconds, tick } from "./format";
import { faint } from "./plot";
import { rowName } from "./timeline";

const LEFT = 84;
const BOTTOM = 24;

interface HeatRow { name: string; read: number[]; written: number[]; rows: number[]; n: number }

export function heat(report: Report, onRow: (row: number) => void): HTMLElement | null {
  const { rows, coarse_bin_s: bin } = report.timeline;
  if (rows.length < 2) return null;
  const folded = fold(report);
  let what: "both" | "read" | "written" = "both";
  let isFolded = folded !== null && rows.length > 64;
  let at: [number, number] = [0, 0];
  let width = 0;
  const all: HeatRow[] = rows.map((row, n) => ({ name: rowName(report, row), read: row.read, written: row.written, rows: [n], n: row.last - row.first + 1 }));
  const shown = (): HeatRow[] => (isFolded && folded ? folded : all);
  const n_bins = Math.max(1, ...rows.map((row) => Math.max(row.read.length, row.written.length)), Math.ceil(report.event_span_s / bin));
  const value = (row: HeatRow | undefined, n: number): number =>
    row === undefined ? 0 : (what !== "written" ? (row.read[n] ?? 0) : 0) + (what !== "read" ? (row.written[n] ?? 0) : 0);
  const rowHeight = (): number => Math.max(2, Math.min(26, Math.floor(460 / shown().length)));
  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "Heat map. Arrow keys move from cell to cell, Enter shows the timeline of the rank." });
  const holder = h("div", { class: "plot", "data-chart": "heat" }, canvas);
  const readout = h("output", { class: "status" });

  const draw = (): void => {
    if (width === 0) return;
    const heights = rowHeight();
    const visibleRows = shown();
    const height = visibleRows.length * heights + BOTTOM;
    const context = sized(canvas, width, height);
    const room = width - LEFT - 8;
    let most = 1;
    for (const row of visibleRows) for (let n = 0; n < n_bins; n += 1) most = Math.max(most, value(row, n));
    const steps = Array.from({ length: 33 }, (_, n) => faint(colour(what === "read" ? "read" : what === "written" ? "write" : "heat"), 0.08 + (0.92 * n) / 32));
    context.fillStyle = colour("sunken");
    context.fillRect(LEFT, 0, room, height - BOTTOM);
    visibleRows.forEach((row, y) => {
      for (let n = 0; n < n_bins; n += 1) {
        const amount = value(row, n);
        if (amount <= 0) continue;
        // Few bytes must still be visible, so the shade is logarithmic.
        context.fillStyle = steps[Math.round((32 * Math.log1p(amount)) / Math.log1p(most))] as string;
        const x = LEFT + (n * room) / n_bins;
        context.fillRect(x, y * heights, Math.max(1, room / n_bins + 0.4), heights > 3 ? heights - 1 : heights);
      }
    });
    context.fillStyle = colour("quiet");
    context.textBaseline = "middle";
    context.textAlign = "right";
    const every = Math.ceil(16 / heights);
    visibleRows.forEach((row, y) => {
      if (y % every === 0) context.fillText(row.name.length > 13 ? `${row.name.slice(0, 12)}…` : row.name, LEFT - 8, (y + 0.5) * heights);
    });
    context.textBaseline = "alphabetic";
    context.textAlign = "center";
    const ticks = Math.max(2, Math.floor(room / 120));
    const span = n_bins * bin;
    for (let n = 0; n <= ticks; n += 1) {
      context.textAlign = n === 0 ? "left" : n === ticks ? "right" : "center";
      context.fillText(tick((n * span) / ticks, 10 ** Math.floor(Math.log10(span / ticks)), span), LEFT + (n * room) / ticks, height - 7);
    }
    if (document.activeElement === canvas) {
      context.strokeStyle = colour("ink");
      context.lineWidth = 2;
      context.strokeRect(LEFT + (at[0] * room) / n_bins - 1, at[1] * heights, Math.max(4, room / n_bins + 2), heights);
    }
  };

  const lines = ([x, y]: [number, number]): string[] => {
    const row = shown()[y];
    if (!row) return [];
    return [`${row.name}, ${seconds(x * bin)} to ${seconds((x + 1) * bin)}`, `read ${bytes(row.read[x] ?? 0)}`, `written ${bytes(row.written[x] ?? 0)}`,
      ...(row.n > 1 ? [`the mean of ${count(row.n)} ranks`] : [])];
  };
  const cell = (event: MouseEvent): [number, number] | null => {
    const box = canvas.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left - LEFT) / (width - LEFT - 8)) * n_bins);
    const y = Math.floor((event.clientY - box.top) / rowHeight());
    return x >= 0 && x < n_bins && y >= 0 && y < shown().length ? [x, y] : null;
  };
  const open = (y: number): void => {
    const row = shown()[y]?.rows[0];
    if (row !== undefined) onRow(row);
  };
  canvas.addEventListener("mousemove", (event) => {
    const found = cell(event);
    if (found) showTip(event, lines(found));
    else hideTip();
  });
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const found = cell(event);
    if (found) open(found[1]);
  });
  canvas.addEventListener("focus", draw);
  canvas.addEventListener("blur", draw);
  canvas.addEventListener("keydown", (event) => {
    const moves: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const moved = moves[event.key];
    if (moved) {
      at = [Math.min(n_bins - 1, Math.max(0, at[0] + moved[0])), Math.min(shown().length - 1, Math.max(0, at[1] + moved[1]))];
      readout.textContent = lines(at).join(" · ");
      draw();
      event.preventDefault();
    } else if (event.key === "Enter") {
      open(at[1]);
    }
  });
  onWidth(holder, (now) => {
    width = now;
    draw();
  });
  onColours(draw);

  const alike = report.summary.ranks;
  const lead = alike && folded ? (alike.kinds === 1 ? `${count(alike.ranks)} ranks that all behave alike.` : `${count(alike.ranks)} ranks of ${count(alike.kinds)} kinds.`) : null;
  return section("heat", report.has_ranks ? "Ranks over time" : "Processes over time",
    `${lead ?? ""} The stronger the colour, the more bytes (logarithmic scale).`.trim(),
    h("div", { class: "tools" },
      choice("Show", [["both", "read and written"], ["read", "read"], ["written", "written"]], "both", (now) => { what = now; draw(); }),
      folded && h("label", { class: "check" }, h("input", { type: "checkbox", checked: isFolded, onchange: (event: Event) => { isFolded = (event.target as HTMLInputElement).checked; at = [0, 0]; draw(); } }), "Fold ranks that behave alike"),
      readout),
    holder);
}

/// A row for each group of ranks that behave alike, with their mean.
function fold(report: Report): HeatRow[] | null {
  const groups = report.summary.ranks?.groups ?? [];
  const { rows } = report.timeline;
  if (groups.length === 0 || groups.length >= rows.length) return null;
  return groups.map((group) => {
    const within = rows.map((row, n): [Row, number] => [row, n])
      .filter(([row]) => group.ranks.some(([first, last]) => row.first >= first && row.first <= last));
    const mean = (of: (row: Row) => number[]): number[] => {
      const sums: number[] = [];
      for (const [row] of within) of(row).forEach((amount, n) => { sums[n] = (sums[n] ?? 0) + amount; });
      return sums.map((sum) => sum / Math.max(1, within.length));
    };
    return { name: ranks(group.ranks), read: mean((row) => row.read), written: mean((row) => row.written), rows: within.map(([, n]) => n), n: group.n_ranks };
  });
}

export function ranks(spans: [number, number][]): string {
  const shown = spans.slice(0, 4).map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`));
  return shown.join(", ") + (spans.length > 4 ? " …" : "");
}
