// SPDX-License-Identifier: MIT OR Apache-2.0

// What to change, the most severe first.

import { h, section } from "./dom";
import type { Finding, Report } from "./data";
import { bytes, count, counted, percent, seconds, shortPath } from "./format";
import { copied } from "./table";

export function findings(report: Report): HTMLElement {
  const found = report.summary.advice;
  const high = found.filter((finding) => finding.severity === "high").length;
  const lead = found.length === 0
    ? "No rule found anything worth changing."
    : `${high > 0 ? `${count(high)} of high severity, ` : ""}${counted(found.length - high, "warning")}. Times are those of all calls concerned, over all threads: the most that can be saved.`;
  const fine = report.fine;
  return section("findings", "What to change", lead,
    h("ol", { class: "findings" }, ...found.map(card)),
    fine.length > 0 && h("details", { class: "fine" },
      h("summary", {}, h("span", { class: "badge fine" }, "fine"), ` ${counted(fine.length, "rule")} found nothing`),
      h("ul", {}, ...fine.map(([kind, when]) => h("li", {}, h("code", {}, kind), ` does not hold: ${when}`)))));
}

function card(finding: Finding): HTMLElement {
  const facts: [string, string][] = [];
  if (finding.path) facts.push([finding.files > 1 ? counted(finding.files, "file") : "file", shortPath(finding.path, 90)]);
  if (finding.variable) facts.push(["variable", finding.variable]);
  if (finding.functions.length > 0) facts.push(["calls", `${finding.functions.join(", ")} (${counted(finding.calls, "call")}${finding.bytes > 0 ? `, ${bytes(finding.bytes)}` : ""})`]);
  const stack = finding.stack ?? [];
  const status = h("span", { class: "status", role: "status" });
  const copy = async (): Promise<void> => {
    status.textContent = (await copied(finding.snippet ?? "")) ? "copied" : "The browser does not allow copying";
  };
  return h("li", { class: `finding ${finding.severity}` },
    h("div", { class: "head" },
      h("span", { class: `badge ${finding.severity}` }, finding.severity),
      h("h3", {}, sentence(finding.seen)),
      h("span", { class: "gain" }, h("b", {}, `≤ ${seconds(finding.saves_at_most_s ?? finding.io_time_s)}`), h("span", {}, ` ${percent(finding.share_of_run)} of the run`))),
    h("p", { class: "remedy" }, h("strong", {}, "Change: "), `${sentence(finding.remedy)}.`, finding.is_cheap_here && " It costs little on this file system and more on a busy one."),
    h("dl", {}, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
      ...(stack.length > 0 ? [h("dt", {}, "from"), h("dd", { class: "stack" }, ...stack.map((frame) => h("div", {}, h("code", {}, frame.function ?? frame.frame), frame.source && h("span", {}, ` ${frame.source}`))))] : []),
      h("dt", {}, "rule"), h("dd", {}, h("code", {}, finding.kind))),
    finding.snippet && h("details", { class: "snippet" },
      h("summary", {}, "How, in code"),
      h("div", { class: "tools" }, h("button", { type: "button", onclick: () => void copy() }, "Copy"), status),
      h("pre", { tabindex: 0 }, h("code", {}, ...finding.snippet.split("\n").flatMap((line) => [line, document.createTextNode("\n")])))));
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
