// SPDX-License-Identifier: MIT OR Apache-2.0

// The values that `ioracle report` puts into the page; `docs/report.md` has them too.

export interface Calls { function: string; calls: number; bytes: number; io_time_s: number }

export interface Frame { frame: string; function: string | null; source: string | null }

export interface Finding {
  kind: string;
  severity: "high" | "warning";
  path: string | null;
  files: number;
  variable: string | null;
  functions: string[];
  calls: number;
  bytes: number;
  io_time_s: number;
  saves_at_most_s?: number;
  share_of_run: number;
  is_cheap_here: boolean;
  seen: string;
  remedy: string;
  sentence: string;
  snippet?: string | null;
  stack?: Frame[];
}

export interface Between { least: number; most: number }
export interface RankGroup {
  ranks: [number, number][];
  n_ranks: number;
  operations: Between;
  bytes_read: Between;
  bytes_written: Between;
  io_time_s: Between;
}

export interface Shape { sizes: number[]; sequential: number; strided: number; random: number }
export interface FileGroup {
  path: string;
  files: number;
  kind: string;
  operations: number;
  bytes_read: number;
  bytes_written: number;
  io_time_s: number;
  file_system_time_s: number;
  opens: number;
  syncs: number;
  calls: Calls[];
  library_calls: Calls[];
  accesses: { read: Shape; written: Shape; points: [number, number, number, number][] };
}

export interface Variable {
  name: string;
  path: string;
  variables: number;
  reads: number;
  bytes_read: number;
  writes: number;
  bytes_written: number;
  io_time_s: number;
  part: unknown;
  counts: number[] | null;
  chunk: number[] | null;
  calls: Calls[];
}

export interface Predicted {
  operations: number;
  context_accuracy: number;
  file_accuracy: number;
  offset_accuracy: number;
  hit_ratio: number;
  time_error_s: number;
}

export interface Summary {
  ranks: { ranks: number; kinds: number; groups: RankGroup[] } | null;
  io: {
    operations: number;
    failed_calls: number;
    files: number;
    reads: number;
    bytes_read: number;
    writes: number;
    bytes_written: number;
    io_time_s: number;
    library_time_s: number;
    file_system_time_s: number;
    busiest_thread_s: number;
  };
  busiest_variables: Variable[];
  predicted: Predicted | null;
  predicted_variables: Predicted | null;
  advice: Finding[];
}

export interface Row { first: number; last: number; read: number[]; written: number[] }
export interface Timeline {
  bin_s: number;
  read: number[];
  written: number[];
  reads: number[];
  writes: number[];
  others: number[];
  busy_ns: number[];
  predicted_read: number[];
  predicted_written: number[];
  coarse_bin_s: number;
  rows: Row[];
  files: { group: number; read: number[]; written: number[] }[];
}

export interface LoopNode {
  call: string | null;
  turns_min: number;
  turns_max: number;
  operations: number;
  bytes: number;
  io_time_s: number;
  wait_s: number;
  caller: string | null;
  source: string | null;
  files: string[];
  body: LoopNode[];
}

export interface ThreadLoops {
  rank: number | null;
  process: number;
  thread: number;
  operations: number;
  n_alike: number;
  tree: { nodes: LoopNode[]; left_out: number };
  svg: string;
}

export interface Quality {
  bin_operations: number;
  context: (number | null)[];
  hit: (number | null)[];
  size_error: (number | null)[];
  wait_s: (number | null)[];
  predicted_wait_s: (number | null)[];
  ahead: { position: number; ahead: number; at_least: boolean }[];
  reach: number;
  calibration: [number, number, number][];
  place_calibration: [number, number, number][];
}

export interface Flame {
  names: string[];
  places: (string | null)[];
  nodes: [number, number, number, number, number][];
  left_out: number;
}

/// What prefetching did while the trace was recorded.
export interface Prefetched {
  sentence: string;
  bytes: number;
  used: number;
  wasted: number;
  late: number;
  read: number;
  waited_s: number;
  saved_s: number;
  possible_s: number;
  by_source: { grammar: number; model: number; graph: number };
}

/// What the knowledge graph knew about the run.
export interface Knowledge {
  sentence: string;
  application: string;
  runs: number;
  vertices: number;
  edges: number;
  matched_percent: number | null;
  predicted_percent: number | null;
}

export interface Report {
  format: number;
  version: string;
  trace: string;
  application: string;
  application_version: string;
  command: string;
  wall_s: number | null;
  event_span_s: number;
  events: number;
  processes: { seen: number; threads: number; ranks_seen: number };
  has_ranks: boolean;
  incomplete: string | null;
  skipped: number;
  not_recorded: number;
  prefetch: Prefetched | null;
  knowledge: Knowledge | null;
  verdict: string[];
  summary: Summary;
  fine: [string, string][];
  timeline: Timeline;
  bursts: { start_s: number; end_s: number; operations: number; bytes: number }[];
  files: FileGroup[];
  n_groups: number;
  loops: ThreadLoops[];
  quality: Quality;
  flame: Flame;
}
