# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Writes a file for every step with h5py, in it fields in blocks of rows and a
# time, and reads a column of every tenth back.
import sys

try:
    import h5py
except ImportError:
    sys.exit("h5py is not there")

ROWS, COLUMNS, BLOCK = 40, 50, 4

for step in range(30):
    with h5py.File(f"snapshot_{step:04}.hdf5", "w") as file:
        for name in ("pressure", "velocity"):
            field = file.create_dataset(f"fields/{name}", (ROWS, COLUMNS), dtype="f8")
            for row in range(0, ROWS, BLOCK):
                field[row : row + BLOCK] = float(step)
        file["time"] = float(step)
for step in range(0, 30, 10):
    with h5py.File(f"snapshot_{step:04}.hdf5") as file:
        print(file["fields/pressure"][:, 0].sum())
