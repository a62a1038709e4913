// SPDX-License-Identifier: MIT OR Apache-2.0

//! What to write in a program for each finding: code that can be copied and
//! adapted, by rule and by the library that makes the calls.

use crate::tally::CountedLibrary;

/// The code for a finding; none if it depends too much on the program.
pub fn snippet(kind: &str, library: Option<CountedLibrary>) -> Option<&'static str> {
    let code = match (kind, library) {
        (
            "small_writes" | "small_reads" | "scattered_writes" | "scattered_reads",
            Some(CountedLibrary::Hdf5),
        ) => HDF5_BUFFERS,
        (
            "small_writes" | "small_reads" | "scattered_writes" | "scattered_reads",
            Some(CountedLibrary::NetCdf),
        ) => NETCDF_BUFFERS,
        (
            "small_writes" | "small_reads" | "scattered_writes" | "scattered_reads",
            Some(CountedLibrary::PnetCdf | CountedLibrary::MpiIo),
        ) => MPI_BUFFERS,
        ("small_writes", _) => WRITE_BUFFER,
        ("small_reads", _) => READ_BUFFER,
        ("stdio_bulk", _) => STREAM_BUFFER,
        ("scattered_writes", _) => SORTED_WRITES,
        ("scattered_reads", _) => WHOLE_READ,
        ("syncs", _) => ONE_SYNC,
        ("library_opens", Some(CountedLibrary::Hdf5)) => KEEP_HDF5_OPEN,
        ("library_opens", _) => KEEP_NETCDF_OPEN,
        ("reopened", _) => KEEP_OPEN,
        ("read_again", _) => READ_ONCE,
        ("read_by_all", _) => BROADCAST,
        ("many_files", _) => ONE_FILE,
        ("metadata_storm", _) => ASK_ONCE,
        ("misaligned_writes", _) => ALIGNED,
        ("shared_blocks", _) => AGGREGATED,
        ("no_collective_buffering", _) => COLLECTIVE_BUFFERING,
        ("one_rank_writes" | "uneven_ranks" | "independent_writes", _) => COLLECTIVE_WRITE,
        ("independent_reads", _) => COLLECTIVE_READ,
        ("tiny_variable_accesses", _) => LARGER_SLABS,
        ("chunk_shape", _) => CHUNKS,
        ("many_open", _) => CLOSE_EARLY,
        _ => return None,
    };
    Some(code)
}

/// A larger buffer for a file that is opened to be read or written.
macro_rules! larger_buffer {
    ($mode:literal) => {
        concat!(
            "/* C: before the first access */\n",
            "FILE *file = fopen(path, \"",
            $mode,
            "\");\n",
            "setvbuf(file, NULL, _IOFBF, 1 << 20);\n\n",
            "# Python\n",
            "file = open(path, \"",
            $mode,
            "b\", buffering=1 << 20)\n\n",
            "! Fortran (gfortran), in the environment of the run\n",
            "! GFORTRAN_FORMATTED_BUFFER_SIZE=1048576 GFORTRAN_UNFORMATTED_BUFFER_SIZE=1048576"
        )
    };
}

const READ_BUFFER: &str = larger_buffer!("r");
const WRITE_BUFFER: &str = larger_buffer!("w");

const STREAM_BUFFER: &str = "\
/* C: after the file was opened, before the first access */
setvbuf(file, NULL, _IOFBF, 1 << 20);";

const ASK_ONCE: &str = "\
/* open, and look at the error, instead of asking first whether the file is there */
int fd = open(path, O_RDONLY);
if (fd < 0 && errno == ENOENT)
    continue;

# Python: one scandir instead of a stat for each entry
sizes = {entry.name: entry.stat().st_size for entry in os.scandir(directory)}";

const HDF5_BUFFERS: &str = "\
hid_t access = H5Pcreate(H5P_FILE_ACCESS);
H5Pset_sieve_buf_size(access, 4 << 20);
H5Pset_meta_block_size(access, 1 << 20);
H5Pset_cache(access, 0, 12421, 64 << 20, 0.75);   /* chunks: 64 MiB */
hid_t file = H5Fopen(path, H5F_ACC_RDWR, access);

/* and access whole slabs */
H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values);";

const NETCDF_BUFFERS: &str = "\
size_t buffer = 4 << 20;
nc__open(path, NC_NOWRITE, &buffer, &ncid);          /* classic formats */
nc_set_chunk_cache(64 << 20, 12421, 0.75);           /* netCDF-4, before the open */
nc_get_vara_float(ncid, varid, start, count, values); /* whole slabs */";

const MPI_BUFFERS: &str = "\
MPI_Info_create(&info);
MPI_Info_set(info, \"cb_buffer_size\", \"16777216\");
MPI_Info_set(info, \"ind_rd_buffer_size\", \"4194304\");
MPI_Info_set(info, \"ind_wr_buffer_size\", \"4194304\");
MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &file);";

const SORTED_WRITES: &str = "\
/* collect (offset, bytes) pairs, then write them in order */
qsort(pieces, n_pieces, sizeof *pieces, by_offset);
for (size_t i = 0; i < n_pieces; i++)
    pwrite(fd, pieces[i].bytes, pieces[i].size, pieces[i].offset);";

const WHOLE_READ: &str = "\
/* if the file fits into memory */
struct stat about;
fstat(fd, &about);
char *all = malloc(about.st_size);
pread(fd, all, about.st_size, 0);

/* otherwise announce what comes next */
posix_fadvise(fd, offset, length, POSIX_FADV_WILLNEED);";

const ONE_SYNC: &str = "\
for (int i = 0; i < n_pieces; i++)
    write(fd, pieces[i], sizes[i]);
fdatasync(fd);   /* once, after the last write of the step */";

const KEEP_OPEN: &str = "\
/* outside of the loop */
int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0644);
for (int step = 0; step < n_steps; step++)
    write(fd, record(step), record_size);
close(fd);";

const KEEP_HDF5_OPEN: &str = "\
/* outside of the loop */
hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
for (int step = 0; step < n_steps; step++)
    read_dataset(file, step);
H5Fclose(file);";

const KEEP_NETCDF_OPEN: &str = "\
/* outside of the loop */
nc_open(path, NC_NOWRITE, &ncid);
for (int step = 0; step < n_steps; step++)
    nc_get_vara_double(ncid, varid, start[step], count, values);
nc_close(ncid);";

const READ_ONCE: &str = "\
static char *values;   /* read once, then reused */
if (values == NULL) {
    values = malloc(size);
    pread(fd, values, size, 0);
}";

const BROADCAST: &str = "\
if (rank == 0)
    read_input(path, values, n);
MPI_Bcast(values, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);";

const ONE_FILE: &str = "\
/* one file with a dataset for each step, instead of a file for each */
hid_t file = H5Fcreate(\"steps.h5\", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
for (int step = 0; step < n_steps; step++)
    write_dataset(file, step);
H5Fclose(file);";

const ALIGNED: &str = "\
H5Pset_alignment(access, 4096, 1 << 20);              /* HDF5: objects of 4 KiB or more */
MPI_Info_set(info, \"striping_unit\", \"1048576\");      /* MPI-IO, at creation */
nc_def_var_chunking(ncid, varid, NC_CHUNKED, chunks); /* netCDF-4 */";

const AGGREGATED: &str = "\
/* let few ranks write, each its own stripes */
MPI_Info_set(info, \"romio_cb_write\", \"enable\");
MPI_Info_set(info, \"striping_unit\", \"1048576\");
MPI_File_write_at_all(file, offset, values, n, MPI_DOUBLE, MPI_STATUS_IGNORE);

/* or give each rank a region of its own, a multiple of 1 MiB apart */
MPI_Offset region = ((bytes_of_rank + (1 << 20) - 1) >> 20) << 20;
MPI_File_write_at(file, rank * region, values, n, MPI_DOUBLE, MPI_STATUS_IGNORE);";

const COLLECTIVE_BUFFERING: &str = "\
MPI_Info_set(info, \"romio_cb_write\", \"enable\");     /* MPICH, ROMIO */
MPI_Info_set(info, \"romio_cb_read\", \"enable\");
MPI_Info_set(info, \"cb_buffer_size\", \"16777216\");
MPI_File_open(MPI_COMM_WORLD, path, mode, info, &file);

# Open MPI: mpirun --mca io ompio --mca fcoll vulcan …   or   --mca io romio321";

/// Collective accesses, through MPI-IO and the libraries on top of it.
macro_rules! collective {
    ($access:literal) => {
        concat!(
            "MPI_File_",
            $access,
            "_at_all(file, offset, values, n, MPI_DOUBLE, MPI_STATUS_IGNORE);\n\n",
            "/* HDF5 */\n",
            "hid_t transfer = H5Pcreate(H5P_DATASET_XFER);\n",
            "H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);\n",
            "H5D",
            $access,
            "(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, values);\n\n",
            "/* netCDF-4 */\n",
            "nc_var_par_access(ncid, varid, NC_COLLECTIVE);"
        )
    };
}

const COLLECTIVE_WRITE: &str = collective!("write");
const COLLECTIVE_READ: &str = collective!("read");

const LARGER_SLABS: &str = "\
/* netCDF: a slab instead of single elements */
size_t start[] = {step, 0, 0}, count[] = {1, n_lat, n_lon};
nc_put_vara_float(ncid, varid, start, count, values);

/* HDF5: select a hyperslab, write it at once */
H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values);";

const CHUNKS: &str = "\
/* HDF5: when the dataset is created */
hid_t create = H5Pcreate(H5P_DATASET_CREATE);
H5Pset_chunk(create, rank, chunk);   /* in the shape of an access */

/* netCDF-4 */
nc_def_var_chunking(ncid, varid, NC_CHUNKED, chunk);

# a file that is there already
h5repack -l DATASET:CHUNK=1x1000 in.h5 out.h5";

const CLOSE_EARLY: &str = "\
for (int i = 0; i < n_files; i++) {
    FILE *file = fopen(paths[i], \"r\");
    process(file);
    fclose(file);   /* before the next one is opened */
}";
