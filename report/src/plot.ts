// SPDX-License-Identifier: MIT OR Apache-2.0

// What the charts by uPlot have in common.

import uPlot from "uplot";
import { colour, onColours, onWidth } from "./dom";

export type Values = (number | null)[];

export interface PlotOptions {
  height: number;
  x: { format: (value: number, step: number, most: number) => string; label?: string };
  y: { format: (value: number, step: number) => string; label?: string; log?: boolean; range?: [number, number]; symmetric?: boolean };
  /// Created again whenever the colours change.
  series: () => uPlot.Series[];
  data: () => uPlot.AlignedData;
  /// Lines of the tooltip for a place in the data.
  tip?: (index: number, data: uPlot.AlignedData) => string[];
  /// Draws below the series.
  below?: (plot: uPlot, context: CanvasRenderingContext2D) => void;
  /// A span of x was chosen with the pointer.
  onSelect?: (from: number, to: number) => void;
  sync?: string;
}

/// A chart that fills its element. Returns a function that draws it again with new data.
export function plot(element: HTMLElement, options: PlotOptions, tips: Tips): { redraw: () => void; range: (from: number, to: number) => void } {
  let made: uPlot | null = null;
  let range: [number, number] | null = null;
  let width = 0;

  const make = (): void => {
    if (width === 0) return;
    made?.destroy();
    const axis = { stroke: colour("quiet"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1 }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
    made = new uPlot({
      width,
      height: options.height,
      legend: { show: false },
      padding: [10, 12, 0, 0],
      cursor: {
        drag: { x: options.onSelect !== undefined, y: false, setScale: false },
        points: { show: false },
        y: false,
        ...(options.sync ? { sync: { key: options.sync, setSeries: false } } : {}),
      },
      scales: {
        x: { time: false, range: (_, min, max) => range ?? [min, max === min ? min + 1 : max] },
        y: options.y.log
          ? { distr: 3 }
          : { range: (_, min, max) => options.y.range ?? scaled(min, max, options.y.symmetric ?? false) },
      },
      axes: [
        { ...axis, label: options.x.label, labelSize: 20, size: 34, space: 90, values: (_, ticks) => ticks.map((value) => options.x.format(value, step(ticks), ticks[ticks.length - 1] ?? 0)) },
        { ...axis, label: options.y.label, labelSize: 20, size: 84, ...(options.y.log ? { filter: decades, grid: { ...axis.grid, filter: decades }, ticks: { ...axis.ticks, filter: decades } } : {}), values: (_, ticks) => ticks.map((value) => (value === null ? "" : options.y.format(value, step(ticks)))) },
      ],
      series: [{}, ...options.series()],
      hooks: {
        drawClear: [(plot) => options.below?.(plot, plot.ctx)],
        setSelect: [(plot) => {
          const { left, width } = plot.select;
          if (width > 3) options.onSelect?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        setCursor: [(plot) => {
          const { idx, left, top, event } = plot.cursor;
          if (!options.tip || !event || idx === null || idx === undefined || (left ?? -1) < 0) {
            if (event) tips.hide();
            return;
          }
          const box = plot.over.getBoundingClientRect();
          const isHere = event instanceof MouseEvent && event.clientY >= box.top && event.clientY <= box.bottom;
          if (isHere) tips.show({ clientX: box.left + (left ?? 0), clientY: box.top + (top ?? 0) }, options.tip(idx, plot.data));
        }],
      },
    }, options.data(), element);
    made.over.addEventListener("mouseleave", tips.hide);
  };

  onWidth(element, (now) => {
    width = now;
    make();
  });
  onColours(make);
  return {
    redraw: () => made?.setData(options.data()),
    range: (from, to) => {
      range = [from, to];
      made?.setData(options.data());
    },
  };
}

export interface Tips {
  show: (at: { clientX: number; clientY: number }, lines: string[]) => void;
  hide: () => void;
}

function step(ticks: number[]): number {
  return ticks.length > 1 ? (ticks[1] as number) - (ticks[0] as number) : Math.abs(ticks[0] ?? 1) || 1;
}

/// From zero, or as far below as above, with some room.
function scaled(min: number, max: number, symmetric: boolean): [number, number] {
  const top = Math.max(max ?? 0, 0) * 1.05;
  if (symmetric) {
    const bottom = Math.min(min ?? 0, 0) * 1.05;
    return top === 0 && bottom === 0 ? [-1, 1] : [bottom, top];
  }
  return [Math.min(min ?? 0, 0), top || 1];
}

/// Of a logarithmic axis only the powers of ten.
function decades(_: uPlot, ticks: number[]): (number | null)[] {
  return ticks.map((value) => (Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6 ? value : null));
}

export const steps = uPlot.paths.stepped!({ align: 1 });

export function range(n: number, of: (place: number) => number): number[] {
  return Array.from({ length: n }, (_, place) => of(place));
}

/// Half-transparent, for the areas below lines.
export function faint(of: string, share: number): string {
  return `color-mix(in srgb, ${of} ${share * 100}%, transparent)`;
}
