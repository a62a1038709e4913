// SPDX-License-Identifier: MIT OR Apache-2.0

// How well the run was predicted: over its operations, how far ahead, and whether
// stated probabilities hold.

import { colour, h, hideTip, onColours, onWidth, section, showTip, sized } from "./dom";
import type { Report } from "./data";
import { about, count, counted, percent, seconds } from "./format";
import { faint, plot, range, type Values } from "./plot";

const TIPS = { show: showTip, hide: hideTip };

export function quality(report: Report): HTMLElement | null {
  const { quality: data, summary } = report;
  const predicted = summary.predicted;
  if (!predicted || data.context.length === 0) return null;
  const at = range(data.context.length, (n) => (n + 0.5) * data.bin_operations);
  const ops = { format: (value: number) => about(value), label: "operation of its thread" };
  const where = (n: number): string => `operation ${count(n * data.bin_operations + 1)}${data.bin_operations > 1 ? ` to ${count((n + 1) * data.bin_operations)}` : ""}`;
  const value = (values: Values, n: number, of: (value: number) => string): string => {
    const found = values[n];
    return found === null || found === undefined ? "–" : of(found);
  };

  const accuracy = h("div", { class: "plot", "data-chart": "accuracy" });
  plot(accuracy, {
    height: 220,
    x: ops,
    y: { format: (share) => `${share} %`, range: [0, 101] },
    series: () => [
      { stroke: colour("good"), fill: faint(colour("good"), 0.12), width: 1.8, points: { show: at.length < 3 } },
      { stroke: colour("read"), width: 1.5, dash: [6, 3], points: { show: at.length < 3 } },
    ],
    data: () => [at, data.context, data.hit],
    tip: (n) => [where(n), `weight given to what came: ${value(data.context, n, percent)}`, `hit ratio of accesses: ${value(data.hit, n, percent)}`],
  }, TIPS);

  const waits = h("div", { class: "plot", "data-chart": "waits" });
  const positive = (values: Values): Values => values.map((it) => (it === null ? null : Math.max(it, 1e-9)));
  plot(waits, {
    height: 220,
    x: ops,
    y: { format: (value) => seconds(value), log: true },
    series: () => [
      { stroke: colour("quiet"), width: 1.5, points: { show: at.length < 3 } },
      { stroke: colour("good"), width: 1.5, dash: [5, 4], points: { show: at.length < 3 } },
    ],
    data: () => [at, positive(data.wait_s), positive(data.predicted_wait_s)],
    tip: (n) => [where(n), `waited ${value(data.wait_s, n, seconds)} on average`, `predicted ${value(data.predicted_wait_s, n, seconds)}`],
  }, TIPS);

  const cards = [
    ["next operation", percent(predicted.context_accuracy), "mean weight given to the operation that came, before it came"],
    ["file", percent(predicted.file_accuracy), "operations whose file was predicted, new names included"],
    ["offset", percent(predicted.offset_accuracy), "data accesses whose file and offset were predicted"],
    ["hit ratio", percent(predicted.hit_ratio), "of the bytes accessed, those that were predicted (equation 3 of the Omnisc'IO report)"],
    ["when", `± ${seconds(predicted.time_error_s)}`, "mean error of the time to the next operation"],
  ] as const;

  return section("quality", "Does it predict?",
    `Every one of ${counted(predicted.operations, "operation")} was predicted before it came, from nothing but the operations before it in this run.`,
    h("div", { class: "cards" }, ...cards.map(([name, number, hint]) => h("div", { class: "card", title: hint }, h("b", {}, number), h("span", {}, name)))),
    h("div", { class: "pair" },
      figure("Accuracy while it learns", [["good", "next operation"], ["hit", "hit ratio of accesses"]], accuracy),
      figure("Wait before an operation", [["quiet", "observed"], ["predicted good", "predicted"]], waits)),
    h("div", { class: "pair" },
      figure("How far ahead", [["good", "operations in a row that came as predicted"]], ahead(report)),
      figure("Do stated probabilities hold?", [["good", "next operation"], ["write", "with file and place"]], calibration(report))));
}

function figure(title: string, keys: [string, string][], chart: HTMLElement): HTMLElement {
  return h("figure", {}, h("figcaption", {}, h("strong", {}, title), h("span", { class: "legend" }, ...keys.map(([name, text]) => h("span", { class: `key ${name}` }, text)))), chart);
}

/// A small chart with marks on a canvas, which uPlot does not offer.
function drawn(name: string, label: string, height: number, draw: (context: CanvasRenderingContext2D, width: number, height: number) => void): HTMLElement {
  const canvas = h("canvas", { role: "img", "aria-label": label });
  const holder = h("div", { class: "plot", "data-chart": name }, canvas);
  let width = 0;
  const redraw = (): void => {
    if (width > 0) draw(sized(canvas, width, height), width, height);
  };
  onWidth(holder, (now) => {
    width = now;
    redraw();
  });
  onColours(redraw);
  return holder;
}

function frame(context: CanvasRenderingContext2D, box: { left: number; top: number; width: number; height: number }, xs: [number, string][], ys: [number, string][]): void {
  context.strokeStyle = colour("grid");
  context.fillStyle = colour("quiet");
  context.lineWidth = 1;
  for (const [share, text] of ys) {
    const y = box.top + box.height * (1 - share);
    context.beginPath();
    context.moveTo(box.left, y);
    context.lineTo(box.left + box.width, y);
    context.stroke();
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(text, box.left - 8, y);
  }
  context.textBaseline = "alphabetic";
  xs.forEach(([share, text], n) => {
    context.textAlign = n === 0 ? "left" : n === xs.length - 1 ? "right" : "center";
    context.fillText(text, box.left + box.width * share, box.top + box.height + 18);
  });
}

function ahead(report: Report): HTMLElement {
  const { ahead: asked, reach } = report.quality;
  const last = Math.max(1, ...asked.map((it) => it.position));
  return drawn("ahead", `At ${asked.length} moments, how many operations in a row came as predicted.`, 220, (context, width, height) => {
    const box = { left: 74, top: 10, width: width - 90, height: height - 36 };
    const y = (n: number): number => Math.log2(n + 1) / Math.log2(reach + 1);
    frame(context, box, [0, 0.5, 1].map((share) => [share, about(last * share)]), [0, 1, 4, 16, 64, 256].filter((n) => n <= reach).map((n) => [y(n), n === reach ? `≥ ${n}` : `${n}`]));
    context.fillStyle = faint(colour("good"), 0.55);
    for (const it of asked) {
      context.beginPath();
      context.arc(box.left + (box.width * it.position) / last, box.top + box.height * (1 - y(Math.min(it.ahead, reach))), 3, 0, 2 * Math.PI);
      if (it.at_least && it.ahead < reach) {
        context.strokeStyle = colour("good");
        context.stroke();
      } else context.fill();
    }
  });
}

function calibration(report: Report): HTMLElement {
  const { calibration: next, place_calibration: places } = report.quality;
  return drawn("calibration", "Stated probability against how often it came true.", 220, (context, width, height) => {
    const box = { left: 74, top: 10, width: width - 90, height: height - 36 };
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((share): [number, string] => [share, `${share * 100} %`]);
    frame(context, box, ticks, ticks);
    context.strokeStyle = colour("quiet");
    context.setLineDash([4, 4]);
    context.beginPath();
    context.moveTo(box.left, box.top + box.height);
    context.lineTo(box.left + box.width, box.top);
    context.stroke();
    context.setLineDash([]);
    for (const [points, name] of [[places, "write"], [next, "good"]] as const) {
      const most = Math.max(1, ...points.map(([, , n]) => n));
      context.fillStyle = faint(colour(name), 0.6);
      for (const [stated, right, n] of points) {
        context.beginPath();
        context.arc(box.left + box.width * stated, box.top + box.height * (1 - right), 3 + 9 * Math.sqrt(n / most), 0, 2 * Math.PI);
        context.fill();
      }
    }
  });
}
