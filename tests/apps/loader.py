# SPDX-License-Identifier: MIT OR Apache-2.0
"""A data loader as many training codes have one: samples in HDF5 shards, drawn in a
random order in every epoch, the file opened for each sample.

    loader.py make     writes the shards
    loader.py          reads them
"""

import random
import sys

import h5py
import numpy

SHARDS, SAMPLES, SHAPE, EPOCHS, BATCH = 8, 64, (64, 64), 3, 16


def make():
    for shard in range(SHARDS):
        images = numpy.arange(SAMPLES * SHAPE[0] * SHAPE[1], dtype="f4").reshape(SAMPLES, *SHAPE)
        with h5py.File(f"shard_{shard:02}.h5", "w") as file:
            file.create_dataset("images", data=images, chunks=(16, *SHAPE), compression="gzip", compression_opts=1)
            file.create_dataset("labels", data=numpy.arange(SAMPLES) % 10)


def sample(index):
    shard, row = divmod(index, SAMPLES)
    with h5py.File(f"shard_{shard:02}.h5", "r") as file:
        return file["images"][row], file["labels"][row]


def batches(order):
    for start in range(0, len(order), BATCH):
        images, labels = zip(*(sample(index) for index in order[start : start + BATCH]))
        yield numpy.stack(images), numpy.array(labels)


def train():
    weights = numpy.zeros(SHAPE, dtype="f4")
    order = list(range(SHARDS * SAMPLES))
    for epoch in range(EPOCHS):
        random.Random(epoch).shuffle(order)
        for images, labels in batches(order):
            weights += (images * labels[:, None, None]).mean(axis=0) * 1e-6
    numpy.save("weights.npy", weights)


make() if sys.argv[1:] == ["make"] else train()
