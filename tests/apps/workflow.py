# SPDX-License-Identifier: MIT OR Apache-2.0
"""A workflow of small steps: a table is cut into parts, parts become arrays, arrays a result."""
import json
import pathlib

import numpy
import pandas

table = pandas.read_csv("numbers.csv", nrows=60000)
for day, part in table.groupby(table["c"] // 3000):
    part.to_csv(f"part_{day:03}.csv", index=False)
sums = {}
for path in sorted(pathlib.Path(".").glob("part_*.csv")):
    part = pandas.read_csv(path)
    numpy.save(path.with_suffix(".npy"), part.to_numpy())
    numpy.savez_compressed(path.with_suffix(".npz"), a=part["a"].to_numpy(), b=part["b"].to_numpy())
for path in sorted(pathlib.Path(".").glob("part_*.npy")):
    values = numpy.load(path)
    with numpy.load(path.with_suffix(".npz")) as packed:
        sums[path.stem] = float(values[:, 1].sum() + packed["b"].sum())
    path.with_suffix(".json").write_text(json.dumps(sums))
with open("part_001.csv") as lines, open("words.txt", "w") as words:
    for line in lines:
        words.write(line.split(",")[0] + "\n")
