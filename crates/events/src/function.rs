// SPDX-License-Identifier: MIT OR Apache-2.0

//! The functions that a trace can name, and what each of them does.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The part of the I/O stack that a function belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Layer {
    /// System calls, as libc exports them.
    Posix,
    /// Buffered streams of the C library.
    Stdio,
    /// MPI-IO.
    MpiIo,
    /// HDF5, netCDF and PnetCDF.
    HighLevel,
}

impl Layer {
    /// The name used in traces.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Posix => "posix",
            Layer::Stdio => "stdio",
            Layer::MpiIo => "mpiio",
            Layer::HighLevel => "hl",
        }
    }

    /// The layer with this name in traces.
    pub fn from_name(name: &str) -> Option<Layer> {
        [Layer::Posix, Layer::Stdio, Layer::MpiIo, Layer::HighLevel]
            .into_iter()
            .find(|layer| layer.name() == name)
    }
}

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Access {
    /// A file was opened or created.
    Open,
    /// A file was closed.
    Close,
    /// Data moved from the file.
    Read,
    /// Data moved to the file.
    Write,
    /// Data was forced to storage, or a buffer emptied.
    Sync,
    /// The length of the file was set.
    Truncate,
    /// Only a position or a view was moved.
    Seek,
    /// A call on an object (a dataset, a definition) that moves no data itself.
    Define,
}

impl Access {
    /// Whether it moves data.
    pub fn is_data(self) -> bool {
        matches!(self, Access::Read | Access::Write)
    }

    /// Whether a POSIX or stdio call of this kind is an atomic request.
    pub fn is_atomic(self) -> bool {
        !matches!(self, Access::Seek | Access::Define)
    }

    /// The word used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Access::Open => "open",
            Access::Close => "close",
            Access::Read => "read",
            Access::Write => "write",
            Access::Sync => "sync",
            Access::Truncate => "truncate",
            Access::Seek => "seek",
            Access::Define => "define",
        }
    }
}

/// A function of the table below; two bytes, cheap to copy and compare.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Function(u16);

impl Function {
    /// The function of this name on this layer, if a trace may name it.
    pub fn from_name(layer: Layer, name: &str) -> Option<Function> {
        let row = FUNCTIONS.iter().position(|row| row.layer == layer && row.name == name)?;
        u16::try_from(row).ok().map(Function)
    }

    /// The name used in traces.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The layer it belongs to.
    pub fn layer(self) -> Layer {
        self.row().layer
    }

    /// What it does.
    pub fn access(self) -> Access {
        self.row().access
    }

    /// Whether all ranks of a group make the call together.
    pub fn is_collective(self) -> bool {
        match self.access() {
            Access::Read | Access::Write => ["_all", "_ordered"].iter().any(|form| {
                let name = self.name().trim_end_matches("_begin");
                self.layer() != Layer::Posix && name.ends_with(form)
            }),
            Access::Open | Access::Close | Access::Sync | Access::Truncate => {
                self.layer() == Layer::MpiIo || self.name().starts_with("ncmpi_")
            }
            Access::Seek => matches!(self.name(), "mpi_set_view" | "mpi_seek_shared"),
            Access::Define => {
                let forms = ["_end", "_preallocate", "_wait_all", "def", "indep_data"];
                forms.iter().any(|form| self.name().ends_with(form))
                    && (self.layer() == Layer::MpiIo || self.name().starts_with("ncmpi_"))
            }
        }
    }

    /// Whether it accesses all of a variable, as `nc_get_var` does.
    pub fn is_of_whole_variables(self) -> bool {
        let name = self.name().trim_end_matches("_all");
        self.layer() == Layer::HighLevel && self.access().is_data() && name.ends_with("_var")
    }

    /// All functions, in the order of the table.
    pub fn all() -> impl Iterator<Item = Function> {
        (0..FUNCTIONS.len() as u16).map(Function)
    }

    fn row(self) -> &'static Row {
        &FUNCTIONS[usize::from(self.0)]
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Function> for u16 {
    fn from(function: Function) -> u16 {
        function.0
    }
}

impl TryFrom<u16> for Function {
    type Error = String;

    fn try_from(number: u16) -> Result<Function, String> {
        if usize::from(number) < FUNCTIONS.len() {
            Ok(Function(number))
        } else {
            Err(format!("function number {number} does not exist"))
        }
    }
}

struct Row {
    layer: Layer,
    name: &'static str,
    access: Access,
}

/// Writes rows as `Layer: Access [names]`. Saved models hold row numbers: new
/// rows go to the end.
macro_rules! functions {
    ($($layer:ident: $access:ident [$($name:literal)*];)*) => {
        static FUNCTIONS: &[Row] = &[
            $($(Row { layer: Layer::$layer, name: $name, access: Access::$access },)*)*
        ];
    };
}

functions! {
    Posix: Open     ["open"];
    Posix: Close    ["close"];
    Posix: Read     ["read" "pread" "readv" "preadv"];
    Posix: Write    ["write" "pwrite" "writev" "pwritev"];
    Posix: Seek     ["lseek"];
    Posix: Sync     ["fsync" "fdatasync"];
    Posix: Truncate ["ftruncate"];
    Stdio: Open     ["fopen" "freopen" "fdopen"];
    Stdio: Close    ["fclose"];
    Stdio: Read     ["fread" "fgets" "fgetc" "getline" "fscanf"];
    Stdio: Write    ["fwrite" "fprintf" "fputs" "fputc"];
    Stdio: Seek     ["fseek"];
    Stdio: Sync     ["fflush"];
    MpiIo: Open     ["mpi_open"];
    MpiIo: Close    ["mpi_close"];
    MpiIo: Seek     ["mpi_set_view" "mpi_seek"];
    MpiIo: Sync     ["mpi_sync"];
    MpiIo: Truncate ["mpi_set_size"];
    MpiIo: Read     ["mpi_read" "mpi_read_at" "mpi_read_all" "mpi_read_at_all" "mpi_read_shared" "mpi_read_ordered"
                     "mpi_iread" "mpi_iread_at" "mpi_iread_all" "mpi_iread_at_all" "mpi_iread_shared"];
    MpiIo: Write    ["mpi_write" "mpi_write_at" "mpi_write_all" "mpi_write_at_all" "mpi_write_shared" "mpi_write_ordered"
                     "mpi_iwrite" "mpi_iwrite_at" "mpi_iwrite_all" "mpi_iwrite_at_all" "mpi_iwrite_shared"];
    HighLevel: Open   ["H5Fcreate" "H5Fopen" "nc_create" "nc__create" "nc_open" "nc__open" "nc_create_par" "nc_open_par"
                       "ncmpi_create" "ncmpi_open"];
    HighLevel: Close  ["H5Fclose" "nc_close" "nc_abort" "ncmpi_close" "ncmpi_abort"];
    HighLevel: Sync   ["H5Fflush" "nc_sync" "ncmpi_sync" "ncmpi_flush"];
    HighLevel: Define ["H5Dcreate" "H5Dopen" "H5Dclose" "nc_enddef" "nc__enddef" "nc_redef" "ncmpi_enddef"
                       "ncmpi__enddef" "ncmpi_redef" "ncmpi_wait" "ncmpi_wait_all" "ncmpi_cancel"
                       "ncmpi_begin_indep_data" "ncmpi_end_indep_data" "ncmpi_buffer_attach" "ncmpi_buffer_detach"];
    HighLevel: Read   ["H5Dread" "nc_get_var" "nc_get_var1" "nc_get_vara" "nc_get_vars" "nc_get_varm"
                       "ncmpi_get_var" "ncmpi_get_var1" "ncmpi_get_vara" "ncmpi_get_vars" "ncmpi_get_varm" "ncmpi_get_varn"
                       "ncmpi_get_var_all" "ncmpi_get_var1_all" "ncmpi_get_vara_all" "ncmpi_get_vars_all"
                       "ncmpi_get_varm_all" "ncmpi_get_varn_all"
                       "ncmpi_iget_var" "ncmpi_iget_var1" "ncmpi_iget_vara" "ncmpi_iget_vars" "ncmpi_iget_varm"
                       "ncmpi_iget_varn"];
    HighLevel: Write  ["H5Dwrite" "nc_put_var" "nc_put_var1" "nc_put_vara" "nc_put_vars" "nc_put_varm"
                       "ncmpi_put_var" "ncmpi_put_var1" "ncmpi_put_vara" "ncmpi_put_vars" "ncmpi_put_varm" "ncmpi_put_varn"
                       "ncmpi_put_var_all" "ncmpi_put_var1_all" "ncmpi_put_vara_all" "ncmpi_put_vars_all"
                       "ncmpi_put_varm_all" "ncmpi_put_varn_all"
                       "ncmpi_iput_var" "ncmpi_iput_var1" "ncmpi_iput_vara" "ncmpi_iput_vars" "ncmpi_iput_varm"
                       "ncmpi_iput_varn" "ncmpi_bput_var" "ncmpi_bput_var1" "ncmpi_bput_vara" "ncmpi_bput_vars"
                       "ncmpi_bput_varm" "ncmpi_bput_varn"];
    Posix: Sync     ["sync_file_range" "msync"];
    Posix: Truncate ["truncate"];
    Posix: Read     ["copy_file_range_read" "sendfile_read" "splice_read" "aio_read"];
    Posix: Write    ["copy_file_range" "sendfile" "splice" "aio_write"];
    Posix: Define   ["fallocate" "posix_fallocate" "mmap" "munmap" "posix_fadvise" "rename" "unlink"
                     "dup" "dup2" "dup3" "fcntl" "lio_listio"];
    Stdio: Define   ["setvbuf"];
    MpiIo: Seek     ["mpi_seek_shared"];
    MpiIo: Define   ["mpi_delete" "mpi_get_view" "mpi_preallocate" "mpi_wait" "mpi_test" "mpi_request_free"
                     "mpi_read_all_end" "mpi_read_at_all_end" "mpi_read_ordered_end"
                     "mpi_write_all_end" "mpi_write_at_all_end" "mpi_write_ordered_end"];
    MpiIo: Read     ["mpi_read_all_begin" "mpi_read_at_all_begin" "mpi_read_ordered_begin"];
    MpiIo: Write    ["mpi_write_all_begin" "mpi_write_at_all_begin" "mpi_write_ordered_begin"];
    HighLevel: Open   ["H5Freopen"];
    HighLevel: Define ["H5Oopen" "H5Dset_extent"];
    HighLevel: Sync   ["H5Dflush"];
    HighLevel: Read   ["H5Dread_chunk" "H5Aread"];
    HighLevel: Write  ["H5Dwrite_chunk" "H5Awrite"];
    HighLevel: Read   ["ncmpi_get_vard" "ncmpi_get_vard_all" "ncmpi_mget_var" "ncmpi_mget_var_all" "ncmpi_mget_var1"
                       "ncmpi_mget_var1_all" "ncmpi_mget_vara" "ncmpi_mget_vara_all" "ncmpi_mget_vars"
                       "ncmpi_mget_vars_all" "ncmpi_mget_varm" "ncmpi_mget_varm_all"];
    HighLevel: Write  ["ncmpi_put_vard" "ncmpi_put_vard_all" "ncmpi_mput_var" "ncmpi_mput_var_all" "ncmpi_mput_var1"
                       "ncmpi_mput_var1_all" "ncmpi_mput_vara" "ncmpi_mput_vara_all" "ncmpi_mput_vars"
                       "ncmpi_mput_vars_all" "ncmpi_mput_varm" "ncmpi_mput_varm_all"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found_by_its_own_name() {
        for function in Function::all() {
            assert_eq!(Function::from_name(function.layer(), function.name()), Some(function));
        }
    }

    #[test]
    fn collective_calls_are_told_from_those_of_one_rank() {
        let check = |layer, name, expected| {
            let function = Function::from_name(layer, name).unwrap();
            assert_eq!(function.is_collective(), expected, "{name}");
        };
        for name in ["mpi_open", "mpi_sync", "mpi_set_view", "mpi_read_at_all", "mpi_iwrite_all"] {
            check(Layer::MpiIo, name, true);
        }
        for name in ["mpi_write_ordered_begin", "mpi_read_all_end", "mpi_preallocate"] {
            check(Layer::MpiIo, name, true);
        }
        for name in ["mpi_write_at", "mpi_iread", "mpi_read_shared", "mpi_seek", "mpi_wait"] {
            check(Layer::MpiIo, name, false);
        }
        check(Layer::HighLevel, "ncmpi_put_vara_all", true);
        check(Layer::HighLevel, "ncmpi_put_vara", false);
        check(Layer::HighLevel, "nc_enddef", false);
        check(Layer::Posix, "open", false);
    }

    #[test]
    fn a_number_outside_the_table_is_refused() {
        assert!(Function::try_from(u16::MAX).is_err());
    }
}
