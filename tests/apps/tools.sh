# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A job script that starts several short tools, two of them twice.
set -e
cp in0.nc copy.nc
ncks -O -h -v a copy.nc part_a.nc
ncks -O -h -v b copy.nc part_b.nc
sort -o sorted input 2>/dev/null || seq 2000 | sort -o sorted
cp part_a.nc kept_a.nc
gzip -kf part_b.nc
rm copy.nc
