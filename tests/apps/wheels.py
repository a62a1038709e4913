# SPDX-License-Identifier: MIT OR Apache-2.0
"""h5py and netCDF4 from wheels, each with an HDF5 library of its own."""
import h5py
import netCDF4
import numpy

numbers = numpy.arange(200000, dtype="f8").reshape(200, 1000)
with h5py.File("wheel.h5", "w") as file:
    plain = file.create_dataset("plain", data=numbers)
    packed = file.create_dataset("packed", shape=(200, 1000), chunks=(10, 1000), compression="gzip")
    for row in range(0, 200, 10):
        packed[row:row + 10] = numbers[row:row + 10]
with netCDF4.Dataset("wheel.nc", "w") as file:
    file.createDimension("time", None)
    file.createDimension("x", 1000)
    field = file.createVariable("field", "f8", ("time", "x"))
    for step in range(50):
        field[step, :] = numbers[step]
with h5py.File("wheel.h5") as file, netCDF4.Dataset("wheel.nc") as other:
    print(file["packed"][100, ::100].sum(), file["plain"][5, 5], other["field"][10, 3], other["field"].shape)
