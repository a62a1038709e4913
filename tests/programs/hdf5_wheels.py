# SPDX-License-Identifier: MIT OR Apache-2.0
"""h5py and netCDF4 from their wheels, which bring an HDF5 each, side by side.

Lists its own calls on the file of h5py, as listed.h says; what netCDF calls of
HDF5 is its own affair.
"""
import sys

import h5py
import netCDF4
import numpy

listed = open("calls.0", "w")


def did(function, size, detail=""):
    listed.write(f"{function} python.h5 {size} 0 {detail}\n")


with h5py.File("python.h5", "w") as file, netCDF4.Dataset("python.nc", "w") as nc:
    did("H5Fcreate", 0)
    values = numpy.arange(600.0).reshape(20, 30)
    dataset = file.create_dataset("group/values", data=values, chunks=(5, 10), shuffle=True, compression="gzip")
    did("H5Dcreate", 0, "/group/values chunk=5:10 filters=shuffle:deflate")
    did("H5Dwrite", 4800, "/group/values start=0:0 count=20:30")
    nc.createDimension("time", None)
    nc.createDimension("x", 30)
    variable = nc.createVariable("values", "f8", ("time", "x"))
    for row in range(5):
        variable[row, :] = values[row]
        dataset[row, 3:7] = -values[row, 3:7]
        did("H5Dwrite", 32, f"/group/values start={row}:3 count=1:4")
    print(dataset[0:20:4, 2:30:7].sum())
    did("H5Dread", 160, "/group/values start=0:2 count=5:4 stride=4:7")
    dataset.attrs["level"] = 3
    did("H5Awrite", 8, "/group/values@level")
    try:
        dataset[:, 100]
    except (IndexError, ValueError) as error:
        print(error)
    try:
        file["nothing"]
    except KeyError as error:
        print(error)
        listed.write("H5Oopen python.h5 0 -1 \n")
did("H5Dclose", 0, "/group/values")
did("H5Fclose", 0)

with h5py.File("python.h5", "r") as file:
    did("H5Fopen", 0)
    print(file["group"]["values"][3, 4])
    did("H5Oopen", 0, "/group")
    did("H5Oopen", 0, "/group/values chunk=5:10 filters=shuffle:deflate")
    did("H5Dread", 8, "/group/values start=3:4 count=1:1")
    did("H5Dclose", 0, "/group/values")
did("H5Fclose", 0)
with netCDF4.Dataset("python.nc") as nc:
    print(nc["values"][3, 4])
listed.close()
