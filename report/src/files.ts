// SPDX-License-Identifier: MIT OR Apache-2.0

// Files, how they are accessed, and their variables.

import { colour, h, hideTip, onColours, onWidth, section, showTip, sized } from "./dom";
import type { FileGroup, Report, Shape, Variable } from "./data";
import { bytes, count, counted, percent, seconds, shortPath, tick } from "./format";
import { faint } from "./plot";
import { table } from "./table";

export function files(report: Report): HTMLElement | null {
  if (report.files.length === 0) return null;
  const detail = h("div", { class: "detail", "aria-live": "polite" });
  const show = (group: FileGroup): void => detail.replaceChildren(...details(report, group));
  const list = table<FileGroup>({
    name: report.n_groups > report.files.length ? `The ${count(report.files.length)} busiest of ${count(report.n_groups)} files and groups` : "Files and groups of files",
    rows: report.files,
    sortedBy: 6,
    limit: 10,
    text: (group) => group.path,
    onChoice: show,
    columns: [
      { title: "file", value: (group) => group.path, cell: (group) => shortPath(group.path, 52) },
      { title: "files", value: (group) => group.files },
      { title: "operations", value: (group) => group.operations },
      { title: "read", value: (group) => group.bytes_read, cell: (group) => bytes(group.bytes_read) },
      { title: "written", value: (group) => group.bytes_written, cell: (group) => bytes(group.bytes_written) },
      { title: "opens", value: (group) => group.opens },
      { title: "time", value: (group) => group.io_time_s, cell: (group) => seconds(group.io_time_s), hint: "in calls that no other recorded call encloses" },
      { title: "in order", value: (group) => inOrder(group), cell: (group) => orderBar(group), hint: "sequential, strided and other accesses" },
    ],
  });
  show(report.files[0] as FileGroup);
  return section("files", "Files", "Choose a file to see where and in what sizes it is accessed.", list, detail);
}

function all(group: FileGroup): Shape {
  const { read, written } = group.accesses;
  return { sizes: [], sequential: read.sequential + written.sequential, strided: read.strided + written.strided, random: read.random + written.random };
}

function inOrder(group: FileGroup): number {
  const { sequential, strided, random } = all(group);
  return (100 * sequential) / Math.max(1, sequential + strided + random);
}

function orderBar(group: FileGroup): HTMLElement {
  const shape = all(group);
  const sum = shape.sequential + shape.strided + shape.random;
  if (sum === 0) return h("span", { class: "quiet" }, "–");
  const part = (name: "sequential" | "strided" | "random"): HTMLElement => h("i", { class: name, style: `width:${(100 * shape[name]) / sum}%` });
  const text = `${percent((100 * shape.sequential) / sum)} sequential, ${percent((100 * shape.strided) / sum)} strided, ${percent((100 * shape.random) / sum)} other`;
  return h("span", { class: "order", role: "img", "aria-label": text, title: text }, part("sequential"), part("strided"), part("random"));
}

function details(report: Report, group: FileGroup): HTMLElement[] {
  const calls = [...group.library_calls, ...group.calls].map((call) => `${call.function} ${counted(call.calls, "call")}${call.bytes > 0 ? `, ${bytes(call.bytes)}` : ""}, ${seconds(call.io_time_s)}`);
  return [
    h("h3", {}, group.path),
    h("p", { class: "lead" }, calls.join(" · ")),
    h("div", { class: "pair" },
      h("figure", {}, h("figcaption", {}, h("strong", {}, "Offsets over time"), h("span", { class: "legend" }, h("span", { class: "key read" }, "read"), h("span", { class: "key write" }, "written"))), offsets(report, group)),
      h("figure", {}, h("figcaption", {}, h("strong", {}, "Sizes of accesses")), sizes(group))),
    h("div", { class: "pair" }, shape("reads", group.accesses.read), shape("writes", group.accesses.written)),
  ];
}

function shape(name: string, { sequential, strided, random }: Shape): HTMLElement {
  const sum = sequential + strided + random;
  if (sum === 0) return h("p", { class: "quiet" }, `no ${name} with an offset`);
  const share = (n: number): string => percent((100 * n) / sum);
  return h("p", {}, `${name}: ${share(sequential)} sequential, ${share(strided)} strided, ${share(random)} other`);
}

/// Where in the file, when: a line from the first to the last byte of an access.
function offsets(report: Report, group: FileGroup): HTMLElement {
  const { points } = group.accesses;
  if (points.length === 0) return h("p", { class: "quiet" }, "no accesses with an offset");
  const canvas = h("canvas", { role: "img", "aria-label": `Offsets of ${points.length} accesses over time` });
  const holder = h("div", { class: "plot", "data-chart": "offsets" }, canvas);
  const height = 240;
  let width = 0;
  const from = Math.min(...points.map(([at]) => at));
  const to = Math.max(from + 1e-9, ...points.map(([at]) => at));
  const most = Math.max(1, ...points.map(([, offset, size]) => offset + size));
  const left = 70;
  const x = (at: number): number => left + ((width - left - 12) * (at - from)) / (to - from);
  const y = (offset: number): number => 10 + (height - 36) * (1 - offset / most);
  const draw = (): void => {
    if (width === 0) return;
    const context = sized(canvas, width, height);
    context.fillStyle = colour("quiet");
    context.strokeStyle = colour("grid");
    context.textBaseline = "middle";
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      context.textAlign = "right";
      context.fillText(bytes(most * share), left - 8, y(most * share));
      context.beginPath();
      context.moveTo(left, y(most * share));
      context.lineTo(width - 12, y(most * share));
      context.stroke();
    }
    context.textBaseline = "alphabetic";
    [0, 0.5, 1].forEach((share, n) => {
      context.textAlign = n === 0 ? "left" : n === 2 ? "right" : "center";
      context.fillText(tick(from + (to - from) * share, (to - from) / 40, to), left + (width - left - 12) * share, height - 6);
    });
    const colours = [faint(colour("read"), 0.6), faint(colour("write"), 0.6)];
    for (const [at, offset, size, way] of points) {
      context.fillStyle = colours[way] as string;
      const top = y(offset + size);
      context.fillRect(x(at) - 1, top, 2.4, Math.max(2.4, y(offset) - top));
    }
  };
  onWidth(holder, (now) => {
    width = now;
    draw();
  });
  onColours(draw);
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best: FileGroup["accesses"]["points"][number] | null = null;
    let least = 12;
    for (const point of points) {
      const distance = Math.hypot(x(point[0]) - px, Math.max(0, y(point[1] + point[2]) - py, py - y(point[1])));
      if (distance < least) [least, best] = [distance, point];
    }
    if (best) showTip(event, [`${best[3] === 1 ? "written" : "read"}: ${bytes(best[2])}`, `at offset ${count(best[1])}`, `after ${seconds(best[0])}`]);
    else hideTip();
  });
  canvas.addEventListener("mouseleave", hideTip);
  if (report.files.length > 0 && group.operations > points.length * 2) holder.append(h("p", { class: "quiet" }, `${count(points.length)} of the accesses, evenly chosen`));
  return holder;
}

function sizes(group: FileGroup): HTMLElement {
  const { read, written } = group.accesses;
  const bins: { label: string; read: number; written: number }[] = [];
  const first = [read.sizes, written.sizes].map((sizes) => sizes.findIndex((n) => n > 0)).filter((n) => n >= 0);
  const from = first.length > 0 ? Math.min(...first) : 0;
  for (let n = from; n < Math.max(read.sizes.length, written.sizes.length); n += 1) {
    bins.push({ label: binary(n), read: read.sizes[n] ?? 0, written: written.sizes[n] ?? 0 });
  }
  if (bins.length === 0) return h("p", { class: "quiet" }, "no data accesses");
  const most = Math.max(1, ...bins.map((bin) => Math.max(bin.read, bin.written)));
  const bar = (name: string, n: number): HTMLElement => h("i", { class: name, style: `height:${n === 0 ? 0 : Math.max(1.5, (100 * n) / most)}%` });
  return h("div", { class: "histogram", "data-chart": "sizes", role: "img", "aria-label": bins.map((bin) => `${bin.label}: ${bin.read} reads, ${bin.written} writes`).join("; ") },
    ...bins.map((bin) => h("div", { title: `from ${bin.label}, less than twice that: ${counted(bin.read, "read")}, ${counted(bin.written, "write")}` },
      h("div", { class: "bars" }, bar("read", bin.read), bar("write", bin.written)), h("span", {}, bin.label))));
}

/// 2 to the power of n, short.
function binary(n: number): string {
  const units = ["", "K", "M", "G", "T"];
  const unit = Math.min(4, Math.floor(n / 10));
  return `${2 ** (n - unit * 10)}${units[unit]}`;
}

export function variables(report: Report): HTMLElement | null {
  const rows = report.summary.busiest_variables;
  if (rows.length === 0) return null;
  return section("variables", "Variables", "Datasets and variables of HDF5, netCDF and PnetCDF, with what each call accesses of them.",
    table<Variable>({
      name: "Variables",
      rows,
      sortedBy: 5,
      text: (row) => `${row.name} ${row.path}`,
      columns: [
        { title: "variable", value: (row) => row.name },
        { title: "file", value: (row) => row.path, cell: (row) => shortPath(row.path, 40) },
        { title: "read", value: (row) => row.bytes_read, cell: (row) => bytes(row.bytes_read) },
        { title: "written", value: (row) => row.bytes_written, cell: (row) => bytes(row.bytes_written) },
        { title: "calls", value: (row) => row.reads + row.writes },
        { title: "time", value: (row) => row.io_time_s, cell: (row) => seconds(row.io_time_s) },
        { title: "each call", value: (row) => (row.counts ? row.counts.join("×") : partName(row.part)) },
        { title: "chunk", value: (row) => (row.chunk ? row.chunk.join("×") : "–") },
      ],
    }));
}

function partName(part: unknown): string {
  if (typeof part === "string") return part.replaceAll("_", " ");
  if (part && typeof part === "object") {
    return Object.entries(part).map(([name, value]) => `${name.replaceAll("_", " ")}${typeof value === "number" ? ` ${value}` : ""}`).join(", ");
  }
  return "various";
}
