# SPDX-License-Identifier: MIT OR Apache-2.0
"""xarray on netCDF files: written by netCDF4, read back in parts, appended to."""
import numpy
import xarray

steps, x = numpy.arange(40), numpy.arange(500)
field = xarray.DataArray(
    (steps[:, None] * 1000.0 + x[None, :]), dims=("time", "x"), coords={"time": steps, "x": x}, name="field"
)
data = xarray.Dataset({"field": field, "squares": field**2})
data.to_netcdf("four.nc", format="NETCDF4", engine="netcdf4", encoding={"field": {"zlib": True, "chunksizes": (10, 100)}})
data.to_netcdf("three.nc", format="NETCDF3_64BIT", engine="netcdf4")
data.mean("time").to_netcdf("four.nc", mode="a", group="means", engine="netcdf4")
for name in ("four.nc", "three.nc"):
    with xarray.open_dataset(name, engine="netcdf4") as read:
        part = read["field"].isel(time=slice(3, 40, 7), x=[1, 5, 499])
        print(name, float(part.sum()), float(read["squares"][:, 250].max()), dict(read.sizes))
print(float(xarray.open_dataset("four.nc", group="means", engine="netcdf4")["field"][7]))
