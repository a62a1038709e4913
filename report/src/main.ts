// SPDX-License-Identifier: MIT OR Apache-2.0

// Puts the page together.

import { acting } from "./acting";
import { h, section } from "./dom";
import type { RankGroup, Report } from "./data";
import { bytes, count, counted, percent, seconds, shortPath } from "./format";
import { files, variables } from "./files";
import { findings } from "./findings";
import { flame } from "./flame";
import { heat, ranks } from "./heat";
import { loops } from "./loops";
import { quality } from "./quality";
import { table } from "./table";
import { timeline } from "./timeline";

function main(): void {
  const values = document.getElementById("values")?.textContent ?? "";
  const report = JSON.parse(values) as Report;
  const title = report.application || report.trace;
  document.title = `I/O of ${title}`;
  const time = timeline(report);
  const hasData = report.summary.io.operations > 0;
  const sections = hasData
    ? [findings(report), time.element, heat(report, time.showRow), loops(report), files(report), variables(report), flame(report), rankTable(report), acting(report), quality(report), aboutTrace(report)]
    : [aboutTrace(report)];
  const shown = sections.filter((element): element is HTMLElement => element !== null);
  document.body.append(
    h("a", { class: "skip", href: "#verdict" }, "Skip to the verdict"),
    h("nav", { "aria-label": "Sections" },
      h("strong", {}, "ioracle"),
      h("a", { href: "#verdict" }, "Verdict"),
      ...shown.map((element) => h("a", { href: `#${element.id}` }, element.querySelector("h2")?.textContent ?? "")),
      themes()),
    h("main", {}, head(report, title), ...shown,
      h("footer", {}, `Made by ioracle ${report.version} from the trace '${report.trace}'.`)));
  markCurrent(shown);
  document.documentElement.dataset.ready = "true";
}

function head(report: Report, title: string): HTMLElement {
  const { io, predicted } = report.summary;
  const wall = report.wall_s ?? report.event_span_s;
  const share = wall > 0 ? Math.min(100, (100 * io.busiest_thread_s) / wall) : null;
  const cards: [string, string, string][] = [
    [share === null ? "–" : percent(share), "of the run in I/O", "time in I/O of the busiest thread"],
    [bytes(io.bytes_read), "read", counted(io.reads, "read")],
    [bytes(io.bytes_written), "written", counted(io.writes, "write")],
    [count(io.operations), "operations", `on ${counted(io.files, "file")}`],
  ];
  if (predicted) cards.push([percent(predicted.context_accuracy), "predicted", "mean weight given to the operation that came, before it came"]);
  const warnings = [
    report.incomplete && `The recording ${report.incomplete}.`,
    report.skipped > 0 && `${counted(report.skipped, "row")} of the trace could not be read.`,
    report.not_recorded > 0 && `${counted(report.not_recorded, "call")} of the program were seen but not recorded.`,
  ].filter((text): text is string => typeof text === "string");
  return h("header", { id: "verdict" },
    h("h1", {}, title),
    report.command && h("p", { class: "command" }, h("code", {}, shortCommand(report.command))),
    h("div", { class: "verdict" }, ...report.verdict.map((text, n) => h("p", { class: n === 2 ? "first" : null }, text))),
    ...warnings.map((text) => h("p", { class: "warning" }, text)),
    h("div", { class: "cards" }, ...cards.map(([number, name, hint]) => h("div", { class: "card", title: hint }, h("b", {}, number), h("span", {}, name)))));
}

function shortCommand(command: string): string {
  return command.length <= 400 ? command : `${command.slice(0, 399)}…`;
}

function rankTable(report: Report): HTMLElement | null {
  const alike = report.summary.ranks;
  if (!alike) return null;
  const span = (of: { least: number; most: number }, shown: (value: number) => string): string =>
    of.least === of.most ? shown(of.most) : `${shown(of.least)} – ${shown(of.most)}`;
  return section("ranks", "Ranks side by side",
    `${counted(alike.ranks, "rank")}; those that make the same calls in the same order are one row, of ${count(alike.kinds)}.`,
    table<RankGroup>({
      name: "Ranks that behave alike",
      rows: alike.groups,
      sortedBy: 1,
      columns: [
        { title: "ranks", value: (group) => ranks(group.ranks) },
        { title: "how many", value: (group) => group.n_ranks },
        { title: "operations", value: (group) => group.operations.most, cell: (group) => span(group.operations, count) },
        { title: "read", value: (group) => group.bytes_read.most, cell: (group) => span(group.bytes_read, bytes) },
        { title: "written", value: (group) => group.bytes_written.most, cell: (group) => span(group.bytes_written, bytes) },
        { title: "time in I/O", value: (group) => group.io_time_s.most, cell: (group) => span(group.io_time_s, seconds) },
      ],
    }));
}

function aboutTrace(report: Report): HTMLElement {
  const { io } = report.summary;
  const facts: [string, string][] = [
    ["trace", report.trace],
    ["application", `${report.application || "not named"}${report.application_version ? `, ${report.application_version}` : ""}`],
    ["command", report.command || "not recorded"],
    ["run", report.wall_s === null ? "duration not recorded" : seconds(report.wall_s)],
    ["events", `${count(report.events)} over ${seconds(report.event_span_s)}`],
    ["processes", `${counted(report.processes.seen, "process")}, ${counted(report.processes.threads, "thread")} with calls`],
    ["failed calls", count(io.failed_calls)],
    ["time in I/O", `${seconds(io.io_time_s)} over all threads, of which ${seconds(io.file_system_time_s)} in POSIX and stdio calls and ${seconds(io.library_time_s)} in calls of MPI-IO, HDF5 and netCDF with what is inside them`],
  ];
  return section("about", "About this trace", null,
    h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, shortPath(value, 600))])));
}

function themes(): HTMLElement {
  const root = document.documentElement;
  const button = h("button", {
    type: "button",
    class: "theme",
    onclick: () => {
      const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = isDark ? "light" : "dark";
      document.dispatchEvent(new Event("ioracle-theme"));
    },
  }, "Light or dark");
  return button;
}

/// Marks the section in view among the links.
function markCurrent(sections: HTMLElement[]): void {
  const links = new Map([...document.querySelectorAll<HTMLAnchorElement>("nav a")].map((link) => [link.hash.slice(1), link]));
  const header = document.getElementById("verdict");
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -75% 0px" });
  [header, ...sections].forEach((element) => element && observer.observe(element));
}

main();
