// SPDX-License-Identifier: MIT OR Apache-2.0

// Tables that can be sorted, filtered and copied.

import { h } from "./dom";
import { count } from "./format";

export interface Column<T> {
  title: string;
  /// What rows are sorted and copied by.
  value: (row: T) => number | string;
  /// What is shown; the value itself otherwise.
  cell?: (row: T) => Node | string;
  /// What it means.
  hint?: string;
}

export interface TableOptions<T> {
  name: string;
  columns: Column<T>[];
  rows: T[];
  /// The column that rows are sorted by at first.
  sortedBy: number;
  /// Rows that are shown at first.
  limit?: number;
  /// Called when a row is chosen.
  onChoice?: (row: T) => void;
  /// What rows are filtered by; no filter without it.
  text?: (row: T) => string;
}

export function table<T>(options: TableOptions<T>): HTMLElement {
  const { columns, rows, name } = options;
  const isNumber = columns.map((column) => rows.length > 0 && typeof column.value(rows[0] as T) === "number");
  let sortedBy = options.sortedBy;
  let isDescending = isNumber[sortedBy] ?? false;
  let limit = options.limit ?? 12;
  let wanted = "";
  let chosen: T | null = options.onChoice ? (rows[0] ?? null) : null;
  const body = h("tbody");
  const more = h("button", { type: "button", onclick: () => { limit = Infinity; fill(); } });
  const status = h("span", { class: "status", role: "status" });

  const sorted = (): T[] => {
    const column = columns[sortedBy] as Column<T>;
    const found = rows.filter((row) => wanted === "" || (options.text?.(row) ?? "").toLowerCase().includes(wanted));
    const sign = isDescending ? -1 : 1;
    return found
      .map((row, place) => ({ row, place, value: column.value(row) }))
      .sort((a, b) => {
        const order = typeof a.value === "number" && typeof b.value === "number"
          ? a.value - b.value
          : String(a.value).localeCompare(String(b.value), "en", { numeric: true });
        return sign * order || a.place - b.place;
      })
      .map(({ row }) => row);
  };

  const fill = (): void => {
    const all = sorted();
    const shown = all.slice(0, limit);
    body.replaceChildren(...shown.map((row) => {
      const cells = columns.map((column, n) => {
        const content = column.cell ? column.cell(row) : shownValue(column.value(row));
        const title = column.cell ? String(column.value(row)) : null;
        return n === 0
          ? h("th", { scope: "row", title: isNumber[n] ? null : title },
              options.onChoice
                ? h("button", { type: "button", class: "row", "aria-pressed": String(row === chosen), onclick: () => choose(row) }, content)
                : content)
          : h("td", { class: isNumber[n] ? "number" : null }, content);
      });
      return h("tr", { class: row === chosen ? "chosen" : null }, ...cells);
    }));
    more.hidden = all.length <= limit;
    more.textContent = `Show all ${count(all.length)}`;
    heads.forEach((head, n) => {
      head.setAttribute("aria-sort", n === sortedBy ? (isDescending ? "descending" : "ascending") : "none");
    });
  };

  const choose = (row: T): void => {
    chosen = row;
    const focused = body.contains(document.activeElement);
    fill();
    if (focused) body.querySelector<HTMLElement>("tr.chosen button")?.focus();
    options.onChoice?.(row);
  };

  const heads = columns.map((column, n) =>
    h("th", { scope: "col", class: isNumber[n] ? "number" : null },
      h("button", {
        type: "button",
        title: column.hint,
        onclick: () => {
          isDescending = n === sortedBy ? !isDescending : (isNumber[n] ?? false);
          sortedBy = n;
          fill();
        },
      }, column.title)));

  const copy = async (): Promise<void> => {
    const lines = [columns.map((column) => column.title), ...sorted().map((row) => columns.map((column) => String(column.value(row))))];
    const text = lines.map((line) => line.map((field) => field.replace(/[\t\n\r]/g, " ")).join("\t")).join("\n");
    status.textContent = (await copied(text)) ? `${count(lines.length - 1)} rows copied` : "The browser does not allow copying";
  };

  fill();
  return h("div", { class: "table" },
    h("div", { class: "tools" },
      options.text && rows.length > 5 && h("input", {
        type: "search", placeholder: "Filter", "aria-label": `Filter ${name}`,
        oninput: (event: Event) => { wanted = (event.target as HTMLInputElement).value.toLowerCase(); fill(); },
      }),
      h("button", { type: "button", onclick: () => void copy() }, "Copy"),
      status),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name },
      h("table", {}, h("caption", {}, name), h("thead", {}, h("tr", {}, ...heads)), body)),
    more);
}

function shownValue(value: number | string): string {
  return typeof value === "number" ? count(value) : value;
}

/// Puts text on the clipboard; pages opened from a file may lack the modern way.
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "offscreen" });
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
}
