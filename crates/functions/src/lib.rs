// SPDX-License-Identifier: MIT OR Apache-2.0

//! The one table of functions that ioracle records.
//!
//! A function has a number (its place in the table), the layer and the name
//! that traces use, and an access: what the call does. Several functions of
//! libc can share a row: `open` stands for open, openat and creat, `fseek` also
//! for rewind.
//!
//! Records in a spool, saved models and the C interface all hold the number, so
//! rows are never moved or removed, and new ones go to the end. To intercept
//! another function, add its row to `capture`; add one here only if no row
//! has its meaning yet. Names are checked by the compiler: `capture` refers to
//! variants, and what puts names together goes through [`Function::named`].

#![forbid(unsafe_code)]

mod collective;

use std::fmt;

/// The part of the I/O stack that a function belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    pub const fn name(self) -> &'static str {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    pub const fn is_data(self) -> bool {
        matches!(self, Access::Read | Access::Write)
    }

    /// Whether a POSIX or stdio call of this kind is an atomic request.
    pub const fn is_atomic(self) -> bool {
        !matches!(self, Access::Seek | Access::Define)
    }

    /// The word used in tables.
    pub const fn name(self) -> &'static str {
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

impl Function {
    /// The function of this name on this layer, if a trace may name it.
    pub fn from_name(layer: Layer, name: &str) -> Option<Function> {
        Function::all().find(|function| function.layer() == layer && function.name() == name)
    }

    /// The function of a name, where constants are made: names that are put
    /// together by a macro and are in no row do not compile.
    pub const fn named(name: &str) -> Option<Function> {
        let mut number = 0;
        while number < Function::ALL.len() {
            let function = Function::ALL[number];
            if is_equal(function.name().as_bytes(), name.as_bytes()) {
                return Some(function);
            }
            number += 1;
        }
        None
    }

    /// Whether it queries or changes metadata of a file or directory, without opening
    /// or renaming it.
    pub const fn is_metadata(self) -> bool {
        matches!(
            self,
            Function::Stat
                | Function::Lstat
                | Function::Fstat
                | Function::Access
                | Function::Mkdir
                | Function::Rmdir
                | Function::Opendir
                | Function::Readdir
                | Function::Closedir
                | Function::Link
                | Function::Symlink
                | Function::Readlink
                | Function::Chmod
                | Function::Fchmod
        )
    }

    /// All functions, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Function> {
        Function::ALL.iter().copied()
    }
}

/// `==` on slices is not available in constants.
const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let mut place = 0;
    while place < a.len() && place < b.len() && a[place] == b[place] {
        place += 1;
    }
    a.len() == b.len() && place == a.len()
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Function> for u16 {
    fn from(function: Function) -> u16 {
        function as u16
    }
}

impl TryFrom<u16> for Function {
    type Error = UnknownFunction;

    fn try_from(number: u16) -> Result<Function, UnknownFunction> {
        Function::ALL.get(usize::from(number)).copied().ok_or(UnknownFunction(number))
    }
}

/// A number that no row of the table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFunction(pub u16);

impl fmt::Display for UnknownFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "function number {} does not exist", self.0)
    }
}

impl std::error::Error for UnknownFunction {}

/// Writes the enum and its columns from rows of `Layer Access { Variant "name", … }`.
macro_rules! functions {
    ($($layer:ident $access:ident { $($variant:ident $name:literal,)+ })*) => {
        /// A function of the table; two bytes, cheap to copy and compare.
        #[allow(missing_docs, reason = "the names say it")]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(try_from = "u16", into = "u16"))]
        #[repr(u16)]
        pub enum Function { $($($variant,)+)* }

        impl Function {
            /// All functions, in the order of their numbers.
            pub const ALL: &[Function] = &[$($(Function::$variant,)+)*];

            /// The layer it belongs to.
            pub const fn layer(self) -> Layer {
                match self { $($(Function::$variant)|+ => Layer::$layer,)* }
            }

            /// What it does.
            pub const fn access(self) -> Access {
                match self { $($(Function::$variant)|+ => Access::$access,)* }
            }

            /// The name used in traces.
            pub const fn name(self) -> &'static str {
                match self { $($(Function::$variant => $name,)+)* }
            }
        }
    };
}

functions! {
    Posix Open { Open "open", }
    Posix Close { Close "close", }
    Posix Read { Read "read", Pread "pread", Readv "readv", Preadv "preadv", }
    Posix Write { Write "write", Pwrite "pwrite", Writev "writev", Pwritev "pwritev", }
    Posix Seek { Lseek "lseek", }
    Posix Sync { Fsync "fsync", Fdatasync "fdatasync", }
    Posix Truncate { Ftruncate "ftruncate", }
    Stdio Open { Fopen "fopen", Freopen "freopen", Fdopen "fdopen", }
    Stdio Close { Fclose "fclose", }
    Stdio Read { Fread "fread", Fgets "fgets", Fgetc "fgetc", Getline "getline", Fscanf "fscanf", }
    Stdio Write { Fwrite "fwrite", Fprintf "fprintf", Fputs "fputs", Fputc "fputc", }
    Stdio Seek { Fseek "fseek", }
    Stdio Sync { Fflush "fflush", }
    MpiIo Open { MpiOpen "mpi_open", }
    MpiIo Close { MpiClose "mpi_close", }
    MpiIo Seek { MpiSetView "mpi_set_view", MpiSeek "mpi_seek", }
    MpiIo Sync { MpiSync "mpi_sync", }
    MpiIo Truncate { MpiSetSize "mpi_set_size", }
    MpiIo Read {
        MpiRead "mpi_read", MpiReadAt "mpi_read_at", MpiReadAll "mpi_read_all",
        MpiReadAtAll "mpi_read_at_all", MpiReadShared "mpi_read_shared",
        MpiReadOrdered "mpi_read_ordered", MpiIread "mpi_iread", MpiIreadAt "mpi_iread_at",
        MpiIreadAll "mpi_iread_all", MpiIreadAtAll "mpi_iread_at_all",
        MpiIreadShared "mpi_iread_shared",
    }
    MpiIo Write {
        MpiWrite "mpi_write", MpiWriteAt "mpi_write_at", MpiWriteAll "mpi_write_all",
        MpiWriteAtAll "mpi_write_at_all", MpiWriteShared "mpi_write_shared",
        MpiWriteOrdered "mpi_write_ordered", MpiIwrite "mpi_iwrite", MpiIwriteAt "mpi_iwrite_at",
        MpiIwriteAll "mpi_iwrite_all", MpiIwriteAtAll "mpi_iwrite_at_all",
        MpiIwriteShared "mpi_iwrite_shared",
    }
    HighLevel Open {
        H5Fcreate "H5Fcreate", H5Fopen "H5Fopen", NcCreate "nc_create", NcCreateSized "nc__create",
        NcOpen "nc_open", NcOpenSized "nc__open", NcCreatePar "nc_create_par",
        NcOpenPar "nc_open_par", NcmpiCreate "ncmpi_create", NcmpiOpen "ncmpi_open",
    }
    HighLevel Close {
        H5Fclose "H5Fclose", NcClose "nc_close", NcAbort "nc_abort", NcmpiClose "ncmpi_close",
        NcmpiAbort "ncmpi_abort",
    }
    HighLevel Sync {
        H5Fflush "H5Fflush", NcSync "nc_sync", NcmpiSync "ncmpi_sync", NcmpiFlush "ncmpi_flush",
    }
    HighLevel Define {
        H5Dcreate "H5Dcreate", H5Dopen "H5Dopen", H5Dclose "H5Dclose", NcEnddef "nc_enddef",
        NcEnddefPadded "nc__enddef", NcRedef "nc_redef", NcmpiEnddef "ncmpi_enddef",
        NcmpiEnddefPadded "ncmpi__enddef", NcmpiRedef "ncmpi_redef", NcmpiWait "ncmpi_wait",
        NcmpiWaitAll "ncmpi_wait_all", NcmpiCancel "ncmpi_cancel",
        NcmpiBeginIndepData "ncmpi_begin_indep_data", NcmpiEndIndepData "ncmpi_end_indep_data",
        NcmpiBufferAttach "ncmpi_buffer_attach", NcmpiBufferDetach "ncmpi_buffer_detach",
    }
    HighLevel Read {
        H5Dread "H5Dread", NcGetVar "nc_get_var", NcGetVar1 "nc_get_var1", NcGetVara "nc_get_vara",
        NcGetVars "nc_get_vars", NcGetVarm "nc_get_varm", NcmpiGetVar "ncmpi_get_var",
        NcmpiGetVar1 "ncmpi_get_var1", NcmpiGetVara "ncmpi_get_vara", NcmpiGetVars "ncmpi_get_vars",
        NcmpiGetVarm "ncmpi_get_varm", NcmpiGetVarn "ncmpi_get_varn",
        NcmpiGetVarAll "ncmpi_get_var_all", NcmpiGetVar1All "ncmpi_get_var1_all",
        NcmpiGetVaraAll "ncmpi_get_vara_all", NcmpiGetVarsAll "ncmpi_get_vars_all",
        NcmpiGetVarmAll "ncmpi_get_varm_all", NcmpiGetVarnAll "ncmpi_get_varn_all",
        NcmpiIgetVar "ncmpi_iget_var", NcmpiIgetVar1 "ncmpi_iget_var1",
        NcmpiIgetVara "ncmpi_iget_vara", NcmpiIgetVars "ncmpi_iget_vars",
        NcmpiIgetVarm "ncmpi_iget_varm", NcmpiIgetVarn "ncmpi_iget_varn",
    }
    HighLevel Write {
        H5Dwrite "H5Dwrite", NcPutVar "nc_put_var", NcPutVar1 "nc_put_var1",
        NcPutVara "nc_put_vara", NcPutVars "nc_put_vars", NcPutVarm "nc_put_varm",
        NcmpiPutVar "ncmpi_put_var", NcmpiPutVar1 "ncmpi_put_var1", NcmpiPutVara "ncmpi_put_vara",
        NcmpiPutVars "ncmpi_put_vars", NcmpiPutVarm "ncmpi_put_varm", NcmpiPutVarn "ncmpi_put_varn",
        NcmpiPutVarAll "ncmpi_put_var_all", NcmpiPutVar1All "ncmpi_put_var1_all",
        NcmpiPutVaraAll "ncmpi_put_vara_all", NcmpiPutVarsAll "ncmpi_put_vars_all",
        NcmpiPutVarmAll "ncmpi_put_varm_all", NcmpiPutVarnAll "ncmpi_put_varn_all",
        NcmpiIputVar "ncmpi_iput_var", NcmpiIputVar1 "ncmpi_iput_var1",
        NcmpiIputVara "ncmpi_iput_vara", NcmpiIputVars "ncmpi_iput_vars",
        NcmpiIputVarm "ncmpi_iput_varm", NcmpiIputVarn "ncmpi_iput_varn",
        NcmpiBputVar "ncmpi_bput_var", NcmpiBputVar1 "ncmpi_bput_var1",
        NcmpiBputVara "ncmpi_bput_vara", NcmpiBputVars "ncmpi_bput_vars",
        NcmpiBputVarm "ncmpi_bput_varm", NcmpiBputVarn "ncmpi_bput_varn",
    }
    Posix Sync { SyncFileRange "sync_file_range", Msync "msync", }
    Posix Truncate { Truncate "truncate", }
    Posix Read {
        CopyFileRangeRead "copy_file_range_read", SendfileRead "sendfile_read",
        SpliceRead "splice_read", AioRead "aio_read",
    }
    Posix Write {
        CopyFileRange "copy_file_range", Sendfile "sendfile", Splice "splice", AioWrite "aio_write",
    }
    Posix Define {
        Fallocate "fallocate", PosixFallocate "posix_fallocate", Mmap "mmap", Munmap "munmap",
        PosixFadvise "posix_fadvise", Rename "rename", Unlink "unlink", Dup "dup", Dup2 "dup2",
        Dup3 "dup3", Fcntl "fcntl", LioListio "lio_listio",
    }
    Stdio Define { Setvbuf "setvbuf", }
    MpiIo Seek { MpiSeekShared "mpi_seek_shared", }
    MpiIo Define {
        MpiDelete "mpi_delete", MpiGetView "mpi_get_view", MpiPreallocate "mpi_preallocate",
        MpiWait "mpi_wait", MpiTest "mpi_test", MpiRequestFree "mpi_request_free",
        MpiReadAllEnd "mpi_read_all_end", MpiReadAtAllEnd "mpi_read_at_all_end",
        MpiReadOrderedEnd "mpi_read_ordered_end", MpiWriteAllEnd "mpi_write_all_end",
        MpiWriteAtAllEnd "mpi_write_at_all_end", MpiWriteOrderedEnd "mpi_write_ordered_end",
    }
    MpiIo Read {
        MpiReadAllBegin "mpi_read_all_begin", MpiReadAtAllBegin "mpi_read_at_all_begin",
        MpiReadOrderedBegin "mpi_read_ordered_begin",
    }
    MpiIo Write {
        MpiWriteAllBegin "mpi_write_all_begin", MpiWriteAtAllBegin "mpi_write_at_all_begin",
        MpiWriteOrderedBegin "mpi_write_ordered_begin",
    }
    HighLevel Open { H5Freopen "H5Freopen", }
    HighLevel Define { H5Oopen "H5Oopen", H5DsetExtent "H5Dset_extent", }
    HighLevel Sync { H5Dflush "H5Dflush", }
    HighLevel Read { H5DreadChunk "H5Dread_chunk", H5Aread "H5Aread", }
    HighLevel Write { H5DwriteChunk "H5Dwrite_chunk", H5Awrite "H5Awrite", }
    HighLevel Read {
        NcmpiGetVard "ncmpi_get_vard", NcmpiGetVardAll "ncmpi_get_vard_all",
        NcmpiMgetVar "ncmpi_mget_var", NcmpiMgetVarAll "ncmpi_mget_var_all",
        NcmpiMgetVar1 "ncmpi_mget_var1", NcmpiMgetVar1All "ncmpi_mget_var1_all",
        NcmpiMgetVara "ncmpi_mget_vara", NcmpiMgetVaraAll "ncmpi_mget_vara_all",
        NcmpiMgetVars "ncmpi_mget_vars", NcmpiMgetVarsAll "ncmpi_mget_vars_all",
        NcmpiMgetVarm "ncmpi_mget_varm", NcmpiMgetVarmAll "ncmpi_mget_varm_all",
    }
    HighLevel Write {
        NcmpiPutVard "ncmpi_put_vard", NcmpiPutVardAll "ncmpi_put_vard_all",
        NcmpiMputVar "ncmpi_mput_var", NcmpiMputVarAll "ncmpi_mput_var_all",
        NcmpiMputVar1 "ncmpi_mput_var1", NcmpiMputVar1All "ncmpi_mput_var1_all",
        NcmpiMputVara "ncmpi_mput_vara", NcmpiMputVaraAll "ncmpi_mput_vara_all",
        NcmpiMputVars "ncmpi_mput_vars", NcmpiMputVarsAll "ncmpi_mput_vars_all",
        NcmpiMputVarm "ncmpi_mput_varm", NcmpiMputVarmAll "ncmpi_mput_varm_all",
    }
    Posix Define {
        Stat "stat", Lstat "lstat", Fstat "fstat", Access "access", Mkdir "mkdir", Rmdir "rmdir",
        Opendir "opendir", Readdir "readdir", Closedir "closedir", Link "link",
        Symlink "symlink", Readlink "readlink", Chmod "chmod", Fchmod "fchmod",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found_by_its_own_name() {
        for function in Function::all() {
            assert_eq!(Function::from_name(function.layer(), function.name()), Some(function));
            assert_eq!(Function::named(function.name()), Some(function));
            assert_eq!(Function::try_from(u16::from(function)), Ok(function));
        }
    }

    #[test]
    fn functions_are_found_by_their_whole_names_only() {
        for name in ["", "rea", "ncmpi_put_vara_al", "ncmpi_put_vara_all_"] {
            assert_eq!(Function::named(name), None, "{name}");
        }
    }

    #[test]
    fn a_number_outside_the_table_is_rejected() {
        assert_eq!(Function::try_from(u16::MAX), Err(UnknownFunction(u16::MAX)));
    }

    /// Saved models and programs that were compiled against `ioracle.h` hold
    /// these numbers.
    #[test]
    fn numbers_stay_what_they_were() {
        let check =
            |function: Function, number| assert_eq!(u16::from(function), number, "{function:?}");
        check(Function::Open, 0);
        check(Function::Fflush, 28);
        check(Function::MpiWait, 174);
        check(Function::NcmpiMputVarmAll, 220);
        check(Function::Fchmod, 234);
    }
}
