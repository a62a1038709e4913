# SPDX-License-Identifier: MIT OR Apache-2.0
"""netCDF4 and h5py from their wheels, side by side: netCDF4 brings a libnetcdf
and an HDF5 in a scope of its own.

Lists its own calls on the files of netCDF4, as listed.h says.
"""
import h5py
import netCDF4
import numpy

listed = open("calls.0", "w")


def did(function, file, size=0, detail="", result=0):
    listed.write(f"{function} {file} {size} {result} {detail}\n")


for name, form in (("four.nc", "NETCDF4"), ("three.nc", "NETCDF3_64BIT_OFFSET")):
    with netCDF4.Dataset(name, "w", format=form) as file, h5py.File("beside.h5", "w") as beside:
        did("nc_create", name)
        file.createDimension("time", None)
        file.createDimension("x", 30)
        where, path = file, ""
        if form == "NETCDF4":
            where, path = file.createGroup("inner"), "/inner/"
        field = where.createVariable("field", "f4", ("time", "x"))
        if form != "NETCDF4":
            # netCDF4 enters and leaves define mode for each dimension and variable;
            # at first it is there already.
            for result in (-1, 0, 0):
                did("nc_redef", name, result=result)
                did("nc_enddef", name)
        for row in range(4):
            field[row, :] = numpy.arange(30.0) + row
            did("nc_put_vara", name, 120, f"{path}field start={row}:0 count=1:30")
            beside[f"row{row}"] = numpy.arange(row + 1)
        print(field[1:3, 5:25:10].sum(), beside["row3"][1])
        did("nc_get_vars", name, 16, f"{path}field start=1:5 count=2:2 stride=1:10")
        file.sync()
        did("nc_sync", name)
    did("nc_close", name)
    with netCDF4.Dataset(name) as file:
        did("nc_open", name)
        print((file["inner"] if path else file)["field"][...].mean())
        did("nc_get_vara", name, 480, f"{path}field start=0:0 count=4:30")
    did("nc_close", name)
try:
    netCDF4.Dataset("missing.nc")
except OSError as error:
    print(error)
    did("nc_open", "missing.nc", result=-1)
with netCDF4.Dataset("memory.nc", memory=open("three.nc", "rb").read()) as file:
    print(file["field"][0, 3])
listed.close()
