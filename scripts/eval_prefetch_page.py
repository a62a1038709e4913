# SPDX-License-Identifier: MIT OR Apache-2.0
"""Puts what scripts/eval-prefetch has measured into docs/evaluation-prefetch.md: tables, the
sentences with their figures, and the pictures. That script is its only user."""

import math
import os
import statistics
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs/figures"
PAGE = ROOT / "docs/evaluation-prefetch.md"

COLOURS = ["#2a78d6", "#1baf7a", "#eda100", "#8a63d2", "#d6452a", "#5b6770"]


def upper_bound(ratios):
    """Upper end of the two-sided 95 % interval of the mean of logarithms, as a share."""
    logarithms = [math.log(it) for it in ratios]
    # Student's t for 9 and for 19 degrees of freedom.
    spread = (2.262 if len(logarithms) < 20 else 2.093) * statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    return math.exp(statistics.mean(logarithms) + spread) - 1


def ratio(seconds, one, other):
    """How much longer one takes than the other: the mean, and the upper 95 % bound of it."""
    ratios = [a / b for a, b in zip(seconds[one], seconds[other])]
    mean = math.exp(statistics.mean(map(math.log, ratios))) - 1
    return {"mean": round(mean, 4), "upper": round(upper_bound(ratios), 4)}


def ratios(seconds):
    """What prefetching costs in all, and which part is capture's and which its own."""
    pairs = {"all": ("prefetch", "plain"), "of_capture": ("capture", "plain"), "of_prefetch": ("prefetch", "capture")}
    return {name: ratio(seconds, *pair) for name, pair in pairs.items()}


def svg(name, width, height, parts):
    PICTURES.mkdir(exist_ok=True)
    style = ("text{font:12px sans-serif;fill:#333}.t{font-size:14px;font-weight:bold}.a{text-anchor:end}"
             ".m{text-anchor:middle}.l{stroke:#ddd}")
    text = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}"><style>{style}</style><rect width="{width}" height="{height}" fill="#fff"/>'
            + "".join(parts) + "</svg>\n")
    (PICTURES / f"prefetch-{name}.svg").write_text("<!-- SPDX-License-Identifier: MIT OR Apache-2.0 -->\n" + text)


def label(x, y, text, kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{text}</text>'


def bars(name, title, rows):
    """Pairs of bars with the standard deviation: without and with prefetching."""
    width, height, left, top, bottom = 760, 330, 55, 50, 60
    inner, tall = width - left - 15, height - top - bottom
    peak = max(max(row["without"] + row["prefetch"]) for row in rows) * 1.1
    parts = [label(left, 20, title, "t")]
    step = 10 ** math.floor(math.log10(peak))
    step = next(it for it in (step / 5, step / 2, step, 2 * step) if peak / it <= 7)
    at = 0
    while at <= peak:
        y = top + tall * (1 - at / peak)
        parts.append(f'<line x1="{left}" x2="{left + inner}" y1="{y:.1f}" y2="{y:.1f}" class="l"/>')
        parts.append(label(left - 6, y + 4, f"{at:g} s", "a"))
        at = round(at + step, 9)
    place = inner / len(rows)
    for number, row in enumerate(rows):
        for which, (key, colour) in enumerate((("without", COLOURS[5]), ("prefetch", COLOURS[0]))):
            mean = statistics.mean(row[key])
            spread = statistics.stdev(row[key]) if len(row[key]) > 1 else 0
            x = left + place * number + place * (0.14 + 0.36 * which)
            y = top + tall * (1 - mean / peak)
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{place * 0.34:.1f}" '
                         f'height="{tall * mean / peak:.1f}" fill="{colour}"/>')
            middle = x + place * 0.17
            low, high = (top + tall * (1 - (mean + it) / peak) for it in (-spread, spread))
            parts.append(f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="#111"/>')
        words = row["name"].replace("; ", ", ").replace("-bit-offset", "-bit").split(", ")
        for line, word in enumerate(words):
            parts.append(label(left + place * (number + 0.5), height - bottom + 16 + 14 * line, word, "m"))
    for number, (text, colour) in enumerate((("without prefetching", COLOURS[5]), ("with (second run)", COLOURS[0]))):
        x = left + 190 * number
        parts.append(f'<rect x="{x}" y="30" width="11" height="11" fill="{colour}"/>' + label(x + 16, 40, text))
    svg(name, width, height, parts)


def gantt(name, row):
    """Reads, computation and writes over time, as in Figure 9 of the paper."""
    sides = [("without prefetching", row["plain"], ("read", "write")),
             ("with prefetching", row["prefetch"], ("read", "prefetch", "write"))]
    start = {title: min(it[0] for it in events) for title, events, _ in sides}
    length = max(max(it[1] for it in events) - start[title] for title, events, _ in sides)
    files = sorted({it[3] for it in row["plain"] if it[2] == "read"})
    width, left, high = 900, 90, 26
    parts, y = [label(left, 20, f"{row['name']}: who moves bytes when", "t")], 40
    for title, events, kinds in sides:
        parts.append(label(left, y + 12, title))
        y += 18
        for kind in kinds:
            parts.append(label(left - 8, y + 16, {"read": "reads", "write": "writes"}.get(kind, kind), "a"))
            parts.append(f'<rect x="{left}" y="{y}" width="{width - left - 15}" height="{high - 4}" fill="#f3f4f6"/>')
            merged = []
            for begin, end, what, file, _ in sorted(events):
                if what != kind:
                    continue
                if merged and merged[-1][2] == file and begin - merged[-1][1] < length / 1200:
                    merged[-1][1] = max(merged[-1][1], end)
                else:
                    merged.append([begin, end, file])
            for begin, end, file in merged:
                x = left + (begin - start[title]) / length * (width - left - 15)
                wide = max((end - begin) / length * (width - left - 15), 0.6)
                colour = COLOURS[files.index(file) % 5] if file in files else COLOURS[5]
                parts.append(f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{high - 4}" '
                             f'fill="{colour}" opacity="0.85"/>')
            y += high
        y += 12
    for at in range(0, int(length / 1e6) + 1, 100 if length > 4e8 else 50):
        parts.append(label(left + at * 1e6 / length * (width - left - 15), y + 6, f"{at} ms", "m"))
    for number, file in enumerate(files):
        parts.append(f'<rect x="{left + 150 * number}" y="{y + 18}" width="11" height="11" fill="{COLOURS[number % 5]}"/>'
                     + label(left + 150 * number + 16, y + 28, file))
    svg(name, width, y + 42, parts)


def show(row, key, unit=""):
    return "–" if row.get(key) is None else f"{row[key]:.2f}{unit}"


def percent(row, key):
    return "–" if row.get(key) is None else f"{100 * row[key]:.0f} %"


def listed(words):
    """Words with commas, and 'and' before the last."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def split(rows, is_met):
    """The names of the rows that meet a goal, and of those that do not."""
    names = {id(row): row.get("workload", row.get("name")) for row in rows}
    return [[names[id(row)] for row in rows if is_met(row) == met] for met in (True, False)]


def verdict(goal, rows, is_met):
    """A sentence on who meets a goal."""
    met, missed = split(rows, is_met)
    if not missed:
        return f"{goal}, is met by every row."
    if not met:
        return f"{goal}, is missed by every row."
    return f"{goal}, is met by {len(met)} of {len(rows)} rows and missed by {listed(missed)}."


def gain_table(results, part):
    beside = {row["workload"]: row for row in results.read("rivals") if "left_out" not in row}
    rows, lines = [], ["| workload | storage | cold | warm | bound | first run | second run | second, with the graph | share first | "
                       "share second | share with the graph | read-ahead | `vmtouch` before | `cat` beside | used | late | wasted |",
                       "| --- | --- |" + " ---: |" * 15]
    for row in results.read(part):
        if row.get("left_out"):
            continue
        rows.append(row)
        account = row["prefetch"]
        if part == "gain":
            row |= {key: value for key, value in beside.get(row["workload"], {}).items() if key not in row}
        cells = [row["workload"], row["storage"], *(show(row, it) for it in (
            "cold", "warm", "bound", "first", "second", "known")), percent(row, "share_first"),
            percent(row, "share_second"), percent(row, "share_known"), show(row, "read_ahead"), show(row, "vmtouch_before"),
            show(row, "cat_beside"), *(f"{account[it] / 1e6:.0f} MB" for it in ("used", "late", "wasted"))]
        lines.append("| " + " | ".join(cells) + " |")
    ours = [row for row in rows if row.get("group") == "gain" and row.get("share_second") is not None]
    if ours:
        lines += ["", gain_words(ours)]
    if part == "gain" and rows:
        lines += ["", loss_words(rows)]
        rivals = [row for row in rows if "cat_beside" in row]
        if rivals:
            def is_fastest(row):
                return row["known"] <= min(row.get(it, math.inf) for it in ("read_ahead", "vmtouch_before", "cat_beside"))
            met, missed = split(rivals, is_fastest)
            lines += ["", f"A second run with model and graph is faster than all that a user could do instead in {len(met)} of "
                      f"{len(rivals)} workloads" + (f", and slower in {listed(missed)}." if missed else ".")]
    return lines if rows else []


def gain_words(rows):
    """What NCO, cdo and Python readers win, beside the goals."""
    def words(key):
        lowest = min(rows, key=lambda row: row[key])
        return (f"a median of {100 * statistics.median(row[key] for row in rows):.0f} % of what is possible, "
                f"{100 * lowest[key]:.0f} % at least ({lowest['workload']})")
    return (f"NCO, cdo and Python readers ({listed([row['workload'] for row in rows])}): with a saved model, the second run wins "
            f"{words('share_second')}; with model and graph, {words('share_known')}. The goals are a median of 85 %, and none "
            f"below 60 %. The first run wins {words('share_first')}; the goal is 30 %.")


# A run that takes longer than this many times the run without help has lost.
LOSS = 1.03


def loss_words(rows):
    """Which workloads become slower."""
    ways = {"first": "first run", "second": "second run", "known": "second run with the graph"}
    found = []
    for row in rows:
        lost = [f"{row[way]:.2f} s in the {name}" for way, name in ways.items() if row[way] > LOSS * row["cold"]]
        if lost:
            found.append(f"{row['workload']} ({listed(lost)}, {row['cold']:.2f} s without `ioracle`)")
    return f"Slower by more than 3 %: {'; '.join(found) or 'none'}."


def knowledge_table(results):
    rows, ways = [row for row in results.read("knowledge") if "cold" in row], ("grammar", "model", "graph", "both")
    lines = ["| second run | cold | warm | bound | " + " | ".join(ways) + " | "
             + " | ".join(f"share {way}" for way in ways) + " | predicted | used of the graph |",
             "| --- |" + " ---: |" * 13]
    for row in rows:
        used = row["graph_prefetch"]["by_source"]["graph"]
        predicted = row.get("graph_predicted")
        cells = [row["name"], *(show(row, it) for it in ("cold", "warm", "bound", *ways)),
                 *(percent(row, f"share_{way}") for way in ways),
                 "–" if predicted is None else f"{predicted:.0f} %", f"{used / 1e6:.0f} MB"]
        lines.append("| " + " | ".join(cells) + " |")
    same = {row["name"]: row["share_graph"] for row in rows if row["name"].endswith("same inputs")}

    def reference(row):
        return same.get("PnetCDF, 4 ranks, same inputs" if "PnetCDF" in row["name"] else "same inputs")

    others = [row for row in rows if row["name"] not in same and reference(row)]
    if others:
        lines += ["", verdict("The goal for other inputs, at least 80 % of the gain that the graph brings with the same ones",
                              others, lambda row: row["share_graph"] >= 0.8 * reference(row))]
    return lines if rows else []


def signed(found, key):
    return f"{100 * found[key]:+.1f} %"


# The upper bound of what prefetching may cost where it cannot help.
MAX_SLOWDOWN = 0.03


def is_cheap(row):
    return row["ratios"]["all"]["upper"] <= MAX_SLOWDOWN


def slowdown_table(results):
    rows = [row for row in results.read("slowdown") if "ratios" in row]
    lines = ["| program | alone | captured | with prefetching | of capture | of prefetching | in all | upper 95 % bound | "
             "read ahead | stopped |", "| --- |" + " ---: |" * 8 + " --- |"]
    for row in rows:
        found = row["ratios"]
        lines.append(f"| {row['workload']} | {row['plain']:.3f} | {row['capture']:.3f} | {row['prefetch']:.3f} | "
                     f"{signed(found['of_capture'], 'mean')} | {signed(found['of_prefetch'], 'mean')} | "
                     f"{signed(found['all'], 'mean')} | {signed(found['all'], 'upper')} | "
                     f"{row['bytes'] / 1e6:.1f} MB | {row['why'] or 'no'} |")
    if rows:
        own = [1000 * (row["prefetch"] - row["capture"]) for row in rows]
        lines += ["", verdict("The goal, an upper bound of 3 %", rows, is_cheap)
                  + f" Prefetching itself takes {min(own):.0f} to {max(own):.0f} ms of these runs, the difference of the medians "
                  "with it and with capture alone."]
    return lines if rows else []


def figure_table(rows):
    has_capture = any("capture" in row for row in rows)
    more = " of capture | of the rest | upper 95 % bound |" if has_capture else ""
    lines = [f"| | without | with | |{more}", "| --- | ---: | ---: | ---: |" + " ---: |" * (3 * has_capture)]
    for row in rows:
        without, helped = statistics.mean(row["without"]), statistics.mean(row["prefetch"])
        spreads = [statistics.stdev(row[it]) if len(row[it]) > 1 else 0 for it in ("without", "prefetch")]
        line = (f"| {row['name']} | {without:.2f} ± {spreads[0]:.2f} s | {helped:.2f} ± {spreads[1]:.2f} s | "
                f"{100 * (helped / without - 1):+.0f} % |")
        if has_capture:
            found = row["ratios"]
            line += (f" {signed(found['of_capture'], 'mean')} | {signed(found['of_prefetch'], 'mean')} | "
                     f"{signed(found['all'], 'upper')} |")
        lines.append(line)
    if has_capture:
        lines += ["", verdict("The goal, an upper bound of 3 %", rows, is_cheap)]
    return lines


def document(_, results):
    """Puts the tables into the page, and draws the pictures."""
    tables = {"gain": gain_table(results, "gain"), "storage": gain_table(results, "storage"),
              "knowledge": knowledge_table(results), "slowdown": slowdown_table(results)}
    titles = {"formats": "Execution time of inputs with different sizes and formats",
              "operations": "Execution time with different computation operations",
              "servers": "Execution time with 1, 2 and 4 storage servers (GlusterFS)",
              "overhead": "Execution time with everything but the I/O of prefetching",
              "speeds": "Execution time on two storage speeds"}
    for number, (part, title) in enumerate(titles.items(), 10):
        rows = [row for row in results.read(part) if "without" in row]
        if rows:
            bars(f"figure-{number}", title, rows)
        tables[part] = figure_table(rows) if rows else []
    for row in results.read("timelines"):
        if "plain" in row:
            gantt("figure-9", row)
    parts = [*tables, "rivals", "timelines"]
    every = [(part, row) for part in parts for row in results.read(part)]
    left_out = [f"- {part}, {', '.join(row[it] for it in results.KEY if row.get(it))}: {row['left_out']}"
                for part, row in every if "left_out" in row]
    tables = {name: lines or ["Not measured with this build."] for name, lines in tables.items()}
    tables["measured"] = [measured_words([row for _, row in every])]
    tables["left-out"] = left_out or ["Nothing."]
    text = PAGE.read_text()
    for name, lines in tables.items():
        begin, end = f"<!-- table: {name} -->\n", f"<!-- end of {name} -->"
        if begin not in text:
            print(f"{PAGE} has no place for '{name}'")
            continue
        before, rest = text.split(begin)
        text = before + begin + "\n" + "\n".join(lines) + "\n\n" + end + rest.split(end)[1]
    PAGE.write_text(text)
    print(f"{PAGE}: {', '.join(tables)}")


def measured_words(rows):
    """When and how the rows were measured, and whether outputs differed."""
    rows = [row for row in rows if "left_out" not in row]
    if not rows:
        return "Nothing was measured with this build yet."
    # LAMMPS writes its own times into its log.
    differing = [row.get("workload", row.get("name")) for row in rows if row.get("outputs", 1) != 1]
    dates, loads = sorted(row["date"] for row in rows), sorted(row["load"] for row in rows)
    return (f"{sum(row.get('runs', 0) for row in rows):,} runs of one build, {dates[0]} to {dates[-1]}, {os.cpu_count()} "
            f"processors. The load average when a row was begun was {loads[0]} to {loads[-1]}, {statistics.median(loads)} in the "
            f"median. Rows whose outputs were not the same in all runs: {', '.join(differing) or 'none'}.")
