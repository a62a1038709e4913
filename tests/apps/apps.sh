# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What the real programs of scripts/test-apps do. Each function works in an
# empty directory and starts the program with `app`, which puts capture before
# it or not. What it leaves there is compared; what may differ it removes.
# shellcheck shell=bash disable=SC2154 # variables are those of scripts/test-apps

lammps_melt() {
    app "${mpirun[@]}" lmp -in "$apps/melt.in" -nocite >/dev/null || return
    keep_thermo
}
lammps_below() {
    ranks lmp -in "$apps/melt.in" -nocite >/dev/null || return
    keep_thermo
}
# The log without its times.
keep_thermo() {
    awk '/^ *Step/ { on = 1 } /^Loop time/ { on = 0 } on' log.lammps >thermo
    rm log.lammps
}

gromacs_input() {
    gmx -quiet solvate -cs spc216 -box 1.9 1.9 1.9 -o conf.gro >/dev/null 2>&1 || return
    printf '#include "oplsaa.ff/%s.itp"\n' forcefield spc >topol.top
    printf '[ system ]\nwater\n[ molecules ]\nSOL %d\n' "$(($(sed -n 2p conf.gro) / 3))" >>topol.top
}
gromacs() {
    gromacs_input || return
    app gmx -quiet grompp -f "$apps/water.mdp" -o topol.tpr -maxwarn 5 >/dev/null 2>&1 || return
    app gmx -quiet mdrun -s topol.tpr -ntmpi 1 -ntomp 1 -reprod >/dev/null 2>&1 || return
    # They hold times of the day.
    rm md.log state.cpt mdout.mdp topol.tpr
}

# Ten members of an ensemble, with some megabytes each.
members() {
    local member
    for member in 0 1 2 3 4 5 6 7 8 9; do
        awk -v m="$member" 'BEGIN {
            print "netcdf in {\ndimensions:\n time = UNLIMITED ;\n x = 2000 ;"
            print "variables:\n double time(time) ;\n float a(time, x) ;\n float b(time, x) ;\ndata:\n time = 0"
            for (t = 1; t < 20; t++) print ", " t; print ";"
            for (v = 0; v < 2; v++) { printf " %s = ", v ? "b" : "a"
                for (i = 0; i < 40000; i++) printf "%s%d", i ? "," : "", (i * 7 + m * 13 + v) % 1000; print ";" }
            print "}" }' | ncgen -k "$1" -o "in$member.nc" - || return
    done
}
nco() {
    members nc3 || return
    app ncea -h in?.nc mean.nc && app ncra -h in0.nc in1.nc time.nc && app ncks -h -v a -d x,10,20 in0.nc part.nc &&
        app ncks -h -4 -L 1 in0.nc four.nc && app ncks -m mean.nc >listed
}
cdo_tools() {
    members nc3 || return
    app cdo -s --no_history ensmean in?.nc mean.nc && app cdo -s --no_history -f nc4 timmean in0.nc time.nc &&
        app cdo -s info in0.nc >info 2>&1
}
hdf5() {
    members nc4 || return
    app h5repack -f GZIP=1 -l CHUNK=10x200 in0.nc packed.h5 && app h5repack packed.h5 plain.h5 &&
        app h5dump -d a packed.h5 >dumped && app h5dump -H -p packed.h5 >header && app h5diff in0.nc packed.h5 || return
    # These differ, and h5diff says where, with exit code 1.
    app h5diff in0.nc in1.nc >different
    [[ $? == 1 ]] && app h5copy -i packed.h5 -o copied.h5 -s a -d copy && app h5ls -rv copied.h5 >listed &&
        app h5stat plain.h5 >counted && ! app h5dump -d missing packed.h5 >failed 2>&1
}
nccopy_tool() {
    members nc3 || return
    app nccopy -k nc4 -d 1 in0.nc four.nc && app nccopy -k nc3 four.nc three.nc && app ncdump three.nc >dumped &&
        app ncgen -k nc4 -o made.nc dumped && app ncgen -k cdf5 -o five.nc dumped
}
pnetcdf_tools() {
    members nc3 || return
    cp in0.nc copy.nc && app ncmpidump in0.nc >dumped && app "${mpirun[@]}" ncmpidiff in0.nc copy.nc >same 2>&1 ||
        return
    # It tells by its exit code that they differ.
    app ncmpidiff -b in0.nc in1.nc >different 2>&1
    echo $? >>different
}
ncmpigen_tool() {
    members nc3 || return
    ncdump in0.nc >dumped && app ncmpigen -v 5 -o made.nc dumped
}
wheels() { app "$wheels_python" "$apps/wheels.py" >printed; }
xarray_files() { app "$wheels_python" "$apps/xarray_files.py" >printed; }

tar_tool() {
    cp -r "$root/crates" "$root/docs" . && find . -exec touch -d 2020-01-01 {} +
    app tar --sort=name --owner=0 --group=0 -czf all.tar.gz crates docs || return
    mkdir out && app tar -C out -xzf all.tar.gz && app tar -tvf all.tar.gz >listed && rm -rf crates docs
}
sqlite() {
    app sqlite3 test.db 'PRAGMA journal_mode=WAL; CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000) INSERT INTO t SELECT i, hex(i*i) FROM n;
        UPDATE t SET b = b||b WHERE a%7=0; DELETE FROM t WHERE a%3=0; VACUUM; PRAGMA integrity_check;' >printed || return
    app sqlite3 test.db 'PRAGMA journal_mode=DELETE; CREATE INDEX i ON t(b); SELECT count(*), sum(length(b)) FROM t;' >>printed &&
        app sqlite3 test.db .dump >dumped
}
git_tool() {
    app git -c init.defaultBranch=main init -q . && cp -r "$root/crates" . && app git add . &&
        app git commit -qm first && app git mv crates other && app git commit -qm second &&
        app git -c pack.threads=1 -c gc.auto=0 gc -q && app git fsck --no-progress && app git log --stat >log || return
    git rev-parse HEAD >head && git ls-tree -r HEAD >tree && rm -rf .git
}
java_tool() { app java "$apps/Files.java" >printed; }
shell() { app bash "$apps/shell.sh" >printed; }
gcc_tool() {
    cp "$root"/tests/programs/*.c "$root"/tests/programs/*.h .
    printf 'all: %s\n%%.o: %%.c\n\tcc -O1 -w -c $< -o $@\n' "$(echo writer.o append.o duplicates.o sparse.o)" >Makefile
    app make -s -j2 && app gcc -w -pthread writer.c -o writer && app ar rcsD all.a ./*.o
}
fortran() {
    gfortran -O2 -o records "$root/tests/programs/records.f90" && app ./records >printed && rm records
}
