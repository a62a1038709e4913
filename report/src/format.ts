// SPDX-License-Identifier: MIT OR Apache-2.0

// Numbers and names as people read them, the same as in the command's own text.

export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size >= 1) return `${value.toFixed(2)} s`;
  if (size >= 1e-3) return `${(value * 1e3).toFixed(1)} ms`;
  if (size >= 1e-6) return `${(value * 1e6).toFixed(1)} µs`;
  return `${(value * 1e9).toFixed(0)} ns`;
}

/// Seconds for the ticks of an axis that goes up to `most` in steps of `step`.
export function tick(value: number, step: number, most: number): string {
  const [unit, scale]: [string, number] = most >= 1 ? ["s", 1] : most >= 1e-3 ? ["ms", 1e3] : ["µs", 1e6];
  const digits = Math.max(0, -Math.floor(Math.log10(step * scale) + 1e-9));
  return `${(value * scale).toFixed(Math.min(digits, 6))} ${unit}`;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/// A number that need not be exact: 12,345 or 1.2 M.
export function about(value: number): string {
  if (value < 100_000) return count(value);
  return value < 1e6 ? `${(value / 1e3).toFixed(0)} K` : `${(value / 1e6).toFixed(1)} M`;
}

export function percent(value: number): string {
  return `${value >= 99.95 || value === 0 ? value.toFixed(0) : value.toFixed(1)} %`;
}

export function counted(value: number, noun: string): string {
  const plural = /(ss|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/// Marks that turn or hide the text after them are shown by their numbers: a
/// file may have any name, and must not look like another one.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/g;

export function visible(text: string): string {
  return text.replace(HIDDEN, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/// The end of a path says more than its beginning.
export function shortPath(path: string, room: number): string {
  const text = visible(path);
  return text.length <= room ? text : `…${text.slice(text.length - room + 1)}`;
}

export function times(least: number, most: number): string {
  return least === most ? `×${count(least)}` : `×${count(least)}–${count(most)}`;
}
