// SPDX-License-Identifier: MIT OR Apache-2.0

// What was done with predictions while the trace was recorded: prefetching, and
// knowledge over runs.

import { h, section } from "./dom";
import type { Knowledge, Prefetched, Report } from "./data";
import { bytes, count, percent, seconds } from "./format";

type Part = { key: string; name: string; value: number };

export function acting(report: Report): HTMLElement | null {
  const { prefetch, knowledge } = report;
  if (!prefetch && !knowledge) return null;
  const title = !knowledge ? "Prefetching" : !prefetch ? "Knowledge over runs" : "Prefetching and knowledge over runs";
  return section("acting", title, null,
    ...(prefetch ? prefetched(prefetch) : []),
    ...(knowledge ? known(knowledge) : []));
}

function prefetched(prefetch: Prefetched): HTMLElement[] {
  const { used, late, wasted, read, waited_s, saved_s, by_source } = prefetch;
  const sentence = h("p", {}, `${prefetch.sentence.charAt(0).toUpperCase()}${prefetch.sentence.slice(1)}.`);
  if (prefetch.bytes === 0) return [sentence];
  const inTime: Part[] = [
    { key: "good", name: "there in time, predicted by this run's grammar", value: by_source.grammar },
    { key: "read", name: "there in time, by a saved model", value: by_source.model },
    { key: "other", name: "there in time, by the knowledge graph", value: by_source.graph },
    { key: "burst", name: "on their way", value: late },
    { key: "quiet", name: "not read ahead", value: Math.max(0, read - used - late) },
  ];
  const ahead: Part[] = [
    { key: "good", name: "used", value: used },
    { key: "burst", name: "late", value: late },
    { key: "write", name: "wasted", value: wasted },
  ];
  const times: Part[] = [
    { key: "read", name: "waited for reads", value: waited_s },
    { key: "good", name: "saved (estimated)", value: Math.max(0, saved_s) },
  ];
  return [sentence,
    bar("Bytes that the program read", inTime, bytes),
    bar("Bytes that were read ahead", ahead, bytes),
    bar("Time", times, seconds)];
}

function known(knowledge: Knowledge): HTMLElement[] {
  const cards: [string, string, string][] = [
    [count(knowledge.runs), "runs", "runs of this application in the repository, with this one"],
    [count(knowledge.vertices), "data objects", `variables and files that its runs access, with ${count(knowledge.edges)} transitions between them`],
  ];
  const { matched_percent: matched, predicted_percent: predicted } = knowledge;
  if (matched !== null) cards.push([percent(matched), "known", "accesses to data objects that earlier runs accessed, too"]);
  if (predicted !== null) cards.push([percent(predicted), "predicted", "accesses that were the next step of the graph's path"]);
  return [h("p", { class: "known" }, `${knowledge.sentence}.`),
    h("div", { class: "cards" }, ...cards.map(([number, name, hint]) => h("div", { class: "card", title: hint }, h("b", {}, number), h("span", {}, name))))];
}

/// Parts of a whole side by side, with what each of them is.
function bar(title: string, parts: Part[], shown: (value: number) => string): HTMLElement {
  const there = parts.filter((part) => part.value > 0);
  const sum = there.reduce((all, part) => all + part.value, 0);
  const text = (part: Part): string => `${part.name}: ${shown(part.value)}, ${percent((100 * part.value) / sum)}`;
  return h("figure", {},
    h("figcaption", {}, h("strong", {}, title), h("span", { class: "legend" }, ...there.map((part) => h("span", { class: `key ${part.key}` }, text(part))))),
    h("div", { class: "shares", role: "img", "aria-label": there.map(text).join("; ") },
      ...there.map((part) => h("span", { class: `key ${part.key}`, title: text(part), style: `flex-grow:${part.value / sum}` }))));
}
