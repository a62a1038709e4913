# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Writes datasets step by step with h5py and reads them back.
import sys

try:
    import h5py
except ImportError:
    sys.exit("h5py is not there")

with h5py.File("steps.h5", "w") as file:
    for step in range(20):
        group = file.create_group(f"step_{step:04}")
        for name in ("pressure", "velocity"):
            group.create_dataset(name, data=[float(step)] * 4096, chunks=(1024,))
        file.flush()
with h5py.File("steps.h5", "r") as file:
    print(sum(file[f"step_{step:04}/pressure"][0] for step in range(20)))
