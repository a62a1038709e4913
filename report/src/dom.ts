// SPDX-License-Identifier: MIT OR Apache-2.0

// Elements without markup in strings: all text goes through text nodes.

import { visible } from "./format";

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : visible(String(child)));
  }
}

export function svg(tag: string, attributes: Record<string, string | number>, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  append(element, children);
  return element;
}

/// The value of a custom property, as the colour scheme has it now.
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/// Calls back when the colours change or the page is printed.
export function onColours(redraw: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.addEventListener("ioracle-theme", redraw);
}

/// Calls back with the width of an element, now and whenever it changes.
export function onWidth(element: HTMLElement, draw: (width: number) => void): void {
  let last = 0;
  const measure = (): void => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      draw(width);
    }
  };
  new ResizeObserver(measure).observe(element);
  measure();
}

/// A canvas of this size in CSS pixels, sharp on any screen.
export function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  return context;
}

/// A row of buttons of which one is chosen.
export function choice<T extends string>(
  label: string,
  options: [T, string][],
  chosen: T,
  onChoice: (value: T) => void,
): HTMLElement {
  const name = `choice-${label.replace(/\W+/g, "-")}-${Math.random().toString(36).slice(2, 8)}`;
  return h("fieldset", { class: "choice" }, h("legend", {}, label),
    ...options.map(([value, text]) =>
      h("label", {},
        h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onChoice(value) }),
        h("span", {}, text))));
}

export function section(id: string, title: string, lead: string | null, ...children: Child[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title), lead && h("p", { class: "lead" }, lead), ...children);
}

const tip = h("div", { class: "tip", role: "tooltip", hidden: true });

/// Shows what is under the pointer.
export function showTip(event: { clientX: number; clientY: number }, lines: string[]): void {
  if (!tip.isConnected) document.body.append(tip);
  tip.replaceChildren(...lines.map((line, n) => h(n === 0 ? "strong" : "div", {}, line)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const x = Math.min(event.clientX + 14, innerWidth - width - 8);
  const y = event.clientY + height + 24 > innerHeight ? event.clientY - height - 10 : event.clientY + 16;
  tip.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
}

export function hideTip(): void {
  tip.hidden = true;
}
