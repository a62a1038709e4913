// SPDX-License-Identifier: MIT OR Apache-2.0

// Bytes and calls over the run: reads above the axis, writes below it, what was
// predicted as lines over both.

import { choice, colour, h, hideTip, section, showTip } from "./dom";
import type { Report } from "./data";
import { bytes, count, counted, seconds, shortPath, tick } from "./format";
import { faint, plot, range, steps, type Values } from "./plot";

type Shown = "all" | `row:${number}` | `file:${number}`;

/// Bins on the screen at once; more would only flicker.
const SHOWN_BINS = 420;

export interface TimelineView {
  element: HTMLElement;
  /// Shows the timeline of a row of the heat map.
  showRow: (row: number) => void;
}

export function timeline(report: Report): TimelineView {
  const { timeline: data, bursts } = report;
  const end = Math.max(report.event_span_s, lastUsed(data.busy_ns) * data.bin_s, data.bin_s);
  let view: [number, number] = [0, end];
  let shown: Shown = "all";
  let what: "bytes" | "calls" = "bytes";
  let binned: Binned = { at: [], up: [], down: [], others: [], predictedUp: [], predictedDown: [], width: 1 };

  const source = (): Source => {
    if (shown === "all") {
      return what === "bytes"
        ? { bin: data.bin_s, up: data.read, down: data.written, predictedUp: data.predicted_read, predictedDown: data.predicted_written }
        : { bin: data.bin_s, up: data.reads, down: data.writes, others: data.others };
    }
    const place = Number(shown.split(":")[1]);
    const row = shown.startsWith("row") ? data.rows[place] : data.files[place];
    return { bin: data.coarse_bin_s, up: row?.read ?? [], down: row?.written ?? [] };
  };

  const bin = (): void => {
    binned = rebin(source(), view);
  };

  const isWhole = (): boolean => view[0] <= 0 && view[1] >= end;
  const holder = h("div", { class: "plot", "data-chart": "timeline" });
  const span = h("output", { class: "status" });
  bin();

  const chart = plot(holder, {
    height: 300,
    x: { format: tick },
    y: { format: (value) => (what === "bytes" ? `${bytes(Math.abs(value))}/s` : count(Math.abs(value) * binned.width) ), symmetric: true },
    series: () => [
      { label: "read", stroke: colour("read"), fill: faint(colour("read"), 0.35), width: 1, paths: steps, points: { show: false } },
      { label: "written", stroke: colour("write"), fill: faint(colour("write"), 0.35), width: 1, paths: steps, points: { show: false } },
      { label: "predicted read", stroke: colour("ink"), width: 1.3, dash: [5, 4], paths: steps, points: { show: false } },
      { label: "predicted written", stroke: colour("ink"), width: 1.3, dash: [5, 4], paths: steps, points: { show: false } },
      { label: "others", stroke: colour("other"), width: 1.3, paths: steps, points: { show: false } },
    ],
    data: () => [binned.at, binned.up, binned.down, binned.predictedUp, binned.predictedDown, binned.others],
    below: (plot, context) => {
      context.save();
      context.fillStyle = faint(colour("burst"), 0.13);
      const { top, height, left, width } = plot.bbox;
      for (const burst of bursts) {
        const from = Math.max(left, plot.valToPos(burst.start_s, "x", true));
        const to = Math.min(left + width, plot.valToPos(burst.end_s, "x", true));
        if (to >= left && from <= left + width) context.fillRect(from, top, Math.max(1, to - from), height);
      }
      context.restore();
    },
    tip: (index) => {
      const from = binned.at[index] ?? 0;
      const amount = (value: number | null | undefined): string => {
        const sum = Math.abs(value ?? 0) * binned.width;
        return what === "bytes" ? bytes(sum) : counted(sum, "call");
      };
      const lines = [`${seconds(from)} to ${seconds(from + binned.width)}`, `read ${amount(binned.up[index])}`, `written ${amount(binned.down[index])}`];
      if (what === "calls" && shown === "all") lines.push(`others ${amount(binned.others[index])}`);
      if (hasPredicted()) lines.push(`predicted ${amount(binned.predictedUp[index])} read, ${amount(binned.predictedDown[index])} written`);
      const burst = bursts.findIndex((it) => it.start_s <= from && from < it.end_s);
      if (burst >= 0) lines.push(`burst ${burst + 1} of ${bursts.length}: ${counted(bursts[burst]!.operations, "operation")}, ${bytes(bursts[burst]!.bytes)}`);
      return lines;
    },
    onSelect: (from, to) => look(from, to),
  }, { show: showTip, hide: hideTip });

  const hasPredicted = (): boolean => shown === "all" && what === "bytes";

  const look = (from: number, to: number): void => {
    const least = source().bin * 4;
    const width = Math.min(end, Math.max(to - from, least));
    const start = Math.min(Math.max(0, from), end - width);
    view = [start, start + width];
    update();
  };
  const update = (): void => {
    bin();
    chart.range(view[0], view[1]);
    span.textContent = isWhole() ? `the whole run, ${seconds(end)}` : `${seconds(view[0])} to ${seconds(view[1])}`;
    whole.disabled = isWhole();
    legend();
  };
  const zoom = (factor: number): void => {
    const middle = (view[0] + view[1]) / 2;
    const half = ((view[1] - view[0]) * factor) / 2;
    look(middle - half, middle + half);
  };
  const move = (share: number): void => {
    const distance = (view[1] - view[0]) * share;
    look(view[0] + distance, view[1] + distance);
  };

  const keys = h("div", { class: "legend" });
  const legend = (): void => {
    const items: [string, string][] = [["read", "read, above"], ["write", "written, below"]];
    if (hasPredicted()) items.push(["predicted", "predicted, one operation ahead"]);
    if (what === "calls" && shown === "all") items.push(["other", "opens, closes, syncs"]);
    if (bursts.length > 0) items.push(["burst", counted(bursts.length, "burst")]);
    keys.replaceChildren(...items.map(([name, text]) => h("span", { class: `key ${name}` }, text)));
  };

  const whole = h("button", { type: "button", onclick: () => look(0, end) }, "Whole run");
  const select = h("select", { "aria-label": "Timeline of", onchange: () => { shown = select.value as Shown; update(); } },
    h("option", { value: "all" }, "everything"),
    data.rows.length > 1 && optgroup(report.has_ranks ? "Ranks" : "Processes", data.rows.map((row, n) => [`row:${n}`, rowName(report, row)])),
    data.files.length > 1 && optgroup("Files", data.files.map((file, n) => [`file:${n}`, shortPath(report.files[file.group]?.path ?? "?", 60)])));

  holder.tabIndex = 0;
  holder.setAttribute("role", "application");
  holder.setAttribute("aria-label", "Timeline. Arrow keys move it, plus and minus zoom, 0 shows the whole run.");
  holder.addEventListener("keydown", (event) => {
    const actions: Record<string, () => void> = {
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => look(0, end),
      ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25),
    };
    const action = actions[event.key];
    if (action) {
      action();
      event.preventDefault();
    }
  });

  const element = section("timeline", "Timeline", "Drag across a part to look closer.",
    h("div", { class: "tools" },
      h("label", {}, "Show ", select),
      choice("Count", [["bytes", "bytes"], ["calls", "calls"]], "bytes", (value) => { what = value; update(); }),
      h("span", { class: "group", role: "group", "aria-label": "Zoom" },
        h("button", { type: "button", "aria-label": "Earlier", onclick: () => move(-0.25) }, "◀"),
        h("button", { type: "button", "aria-label": "Zoom in", onclick: () => zoom(0.5) }, "+"),
        h("button", { type: "button", "aria-label": "Zoom out", onclick: () => zoom(2) }, "−"),
        h("button", { type: "button", "aria-label": "Later", onclick: () => move(0.25) }, "▶"),
        whole),
      span),
    keys, holder);
  update();
  return {
    element,
    showRow: (row) => {
      select.value = `row:${row}`;
      shown = `row:${row}`;
      update();
      element.scrollIntoView({ block: "start" });
    },
  };
}

export function rowName(report: Report, row: { first: number; last: number }): string {
  const noun = report.has_ranks ? "rank" : "process";
  return row.first === row.last ? `${noun} ${row.first}` : `${noun}s ${row.first} to ${row.last}`;
}

function optgroup(label: string, options: [string, string][]): HTMLElement {
  return h("optgroup", { label }, ...options.slice(0, 2000).map(([value, text]) => h("option", { value }, text)));
}

interface Source { bin: number; up: number[]; down: number[]; others?: number[]; predictedUp?: number[]; predictedDown?: number[] }
interface Binned { at: number[]; up: Values; down: Values; others: Values; predictedUp: Values; predictedDown: Values; width: number }

/// Adds bins up so that as many as fit the screen lie in the view, as rates.
function rebin(source: Source, [from, to]: [number, number]): Binned {
  const { bin } = source;
  const n = Math.max(source.up.length, source.down.length, source.others?.length ?? 0);
  const group = Math.max(1, Math.ceil((to - from) / bin / SHOWN_BINS));
  const first = Math.max(0, Math.floor(from / bin / group) - 1);
  const last = Math.min(Math.ceil(n / group), Math.ceil(to / bin / group) + 1);
  const width = group * bin;
  const rates = (series: number[] | undefined, sign: number): Values => {
    if (!series) return new Array<number | null>(Math.max(0, last - first) + 1).fill(null);
    const sums = range(Math.max(0, last - first), (place) => {
      let sum = 0;
      const start = (first + place) * group;
      for (let at = start; at < start + group; at += 1) sum += series[at] ?? 0;
      return (sign * sum) / width;
    });
    // A step ends where the next one begins.
    return [...sums, 0];
  };
  return {
    at: range(Math.max(0, last - first) + 1, (place) => (first + place) * width),
    up: rates(source.up, 1),
    down: rates(source.down, -1),
    others: rates(source.others, 1),
    predictedUp: rates(source.predictedUp, 1),
    predictedDown: rates(source.predictedDown, -1),
    width,
  };
}

function lastUsed(series: number[]): number {
  let last = series.length;
  while (last > 0 && series[last - 1] === 0) last -= 1;
  return last;
}
