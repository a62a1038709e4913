// SPDX-License-Identifier: MIT OR Apache-2.0

//! Numbers of the functions that a record can name. Names are those of traces:
//! `open` stands for open, openat and creat, `fseek` also for rewind.

/// Writes an enum whose variants have a layer and a name.
macro_rules! functions {
    ($($layer:literal: $($variant:ident $name:literal,)*)*) => {
        /// A function, as records number it. New ones go to the end.
        #[allow(missing_docs, reason = "the names say it")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Function { $($($variant,)*)* }

        impl Function {
            /// All functions, in the order of their numbers.
            pub const ALL: &[Function] = &[$($(Function::$variant,)*)*];

            /// The layer's name in traces.
            pub const fn layer(self) -> &'static str {
                match self { $($(Function::$variant => $layer,)*)* }
            }

            /// The function's name in traces.
            pub const fn name(self) -> &'static str {
                match self { $($(Function::$variant => $name,)*)* }
            }
        }
    };
}

functions! {
    "posix":
        Open "open", Close "close",
        Read "read", Pread "pread", Readv "readv", Preadv "preadv",
        Write "write", Pwrite "pwrite", Writev "writev", Pwritev "pwritev",
        Lseek "lseek", Fsync "fsync", Fdatasync "fdatasync", Ftruncate "ftruncate",
        SyncFileRange "sync_file_range", Truncate "truncate",
        Fallocate "fallocate", PosixFallocate "posix_fallocate",
        CopyFileRange "copy_file_range", CopyFileRangeRead "copy_file_range_read",
        Sendfile "sendfile", SendfileRead "sendfile_read",
        Splice "splice", SpliceRead "splice_read",
        Mmap "mmap", Munmap "munmap", Msync "msync",
        PosixFadvise "posix_fadvise", Rename "rename", Unlink "unlink",
        Dup "dup", Dup2 "dup2", Dup3 "dup3", Fcntl "fcntl",
        AioRead "aio_read", AioWrite "aio_write", LioListio "lio_listio",
    "stdio":
        Fopen "fopen", Freopen "freopen", Fdopen "fdopen", Fclose "fclose",
        Fread "fread", Fgets "fgets", Fgetc "fgetc", Getline "getline", Fscanf "fscanf",
        Fwrite "fwrite", Fprintf "fprintf", Fputs "fputs", Fputc "fputc",
        Fseek "fseek", Fflush "fflush", Setvbuf "setvbuf",
    "mpiio":
        MpiOpen "mpi_open", MpiClose "mpi_close", MpiDelete "mpi_delete", MpiSetView "mpi_set_view",
        MpiGetView "mpi_get_view", MpiSeek "mpi_seek", MpiSeekShared "mpi_seek_shared",
        MpiSync "mpi_sync", MpiSetSize "mpi_set_size", MpiPreallocate "mpi_preallocate",
        MpiRead "mpi_read", MpiReadAt "mpi_read_at", MpiReadAll "mpi_read_all",
        MpiReadAtAll "mpi_read_at_all", MpiReadShared "mpi_read_shared",
        MpiReadOrdered "mpi_read_ordered", MpiIread "mpi_iread", MpiIreadAt "mpi_iread_at",
        MpiIreadAll "mpi_iread_all", MpiIreadAtAll "mpi_iread_at_all",
        MpiIreadShared "mpi_iread_shared", MpiReadAllBegin "mpi_read_all_begin",
        MpiReadAllEnd "mpi_read_all_end", MpiReadAtAllBegin "mpi_read_at_all_begin",
        MpiReadAtAllEnd "mpi_read_at_all_end", MpiReadOrderedBegin "mpi_read_ordered_begin",
        MpiReadOrderedEnd "mpi_read_ordered_end", MpiWrite "mpi_write", MpiWriteAt "mpi_write_at",
        MpiWriteAll "mpi_write_all", MpiWriteAtAll "mpi_write_at_all",
        MpiWriteShared "mpi_write_shared", MpiWriteOrdered "mpi_write_ordered",
        MpiIwrite "mpi_iwrite", MpiIwriteAt "mpi_iwrite_at", MpiIwriteAll "mpi_iwrite_all",
        MpiIwriteAtAll "mpi_iwrite_at_all", MpiIwriteShared "mpi_iwrite_shared",
        MpiWriteAllBegin "mpi_write_all_begin", MpiWriteAllEnd "mpi_write_all_end",
        MpiWriteAtAllBegin "mpi_write_at_all_begin", MpiWriteAtAllEnd "mpi_write_at_all_end",
        MpiWriteOrderedBegin "mpi_write_ordered_begin", MpiWriteOrderedEnd "mpi_write_ordered_end",
        MpiWait "mpi_wait", MpiTest "mpi_test", MpiRequestFree "mpi_request_free",
    "hl":
        H5Fcreate "H5Fcreate", H5Fopen "H5Fopen", H5Fclose "H5Fclose", H5Fflush "H5Fflush",
        H5Dcreate "H5Dcreate", H5Dopen "H5Dopen", H5Dclose "H5Dclose", H5Dread "H5Dread",
        H5Dwrite "H5Dwrite", NcCreate "nc_create", NcCreateSized "nc__create", NcOpen "nc_open",
        NcOpenSized "nc__open", NcCreatePar "nc_create_par", NcOpenPar "nc_open_par",
        NcClose "nc_close", NcAbort "nc_abort", NcSync "nc_sync", NcEnddef "nc_enddef",
        NcEnddefPadded "nc__enddef", NcRedef "nc_redef", NcGetVar "nc_get_var",
        NcGetVar1 "nc_get_var1", NcGetVara "nc_get_vara", NcGetVars "nc_get_vars",
        NcGetVarm "nc_get_varm", NcPutVar "nc_put_var", NcPutVar1 "nc_put_var1",
        NcPutVara "nc_put_vara", NcPutVars "nc_put_vars", NcPutVarm "nc_put_varm",
        NcmpiCreate "ncmpi_create", NcmpiOpen "ncmpi_open", NcmpiClose "ncmpi_close",
        NcmpiAbort "ncmpi_abort", NcmpiSync "ncmpi_sync", NcmpiFlush "ncmpi_flush",
        NcmpiEnddef "ncmpi_enddef", NcmpiEnddefPadded "ncmpi__enddef", NcmpiRedef "ncmpi_redef",
        NcmpiWait "ncmpi_wait", NcmpiWaitAll "ncmpi_wait_all", NcmpiCancel "ncmpi_cancel",
        NcmpiBeginIndepData "ncmpi_begin_indep_data", NcmpiEndIndepData "ncmpi_end_indep_data",
        NcmpiBufferAttach "ncmpi_buffer_attach", NcmpiBufferDetach "ncmpi_buffer_detach",
        NcmpiGetVar "ncmpi_get_var", NcmpiGetVar1 "ncmpi_get_var1", NcmpiGetVara "ncmpi_get_vara",
        NcmpiGetVars "ncmpi_get_vars", NcmpiGetVarm "ncmpi_get_varm", NcmpiGetVarn "ncmpi_get_varn",
        NcmpiGetVarAll "ncmpi_get_var_all", NcmpiGetVar1All "ncmpi_get_var1_all",
        NcmpiGetVaraAll "ncmpi_get_vara_all", NcmpiGetVarsAll "ncmpi_get_vars_all",
        NcmpiGetVarmAll "ncmpi_get_varm_all", NcmpiGetVarnAll "ncmpi_get_varn_all",
        NcmpiIgetVar "ncmpi_iget_var", NcmpiIgetVar1 "ncmpi_iget_var1",
        NcmpiIgetVara "ncmpi_iget_vara", NcmpiIgetVars "ncmpi_iget_vars",
        NcmpiIgetVarm "ncmpi_iget_varm", NcmpiIgetVarn "ncmpi_iget_varn",
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
        H5Freopen "H5Freopen", H5Oopen "H5Oopen", H5DsetExtent "H5Dset_extent",
        H5Dflush "H5Dflush", H5DreadChunk "H5Dread_chunk", H5DwriteChunk "H5Dwrite_chunk",
        H5Aread "H5Aread", H5Awrite "H5Awrite",
        NcmpiGetVard "ncmpi_get_vard", NcmpiGetVardAll "ncmpi_get_vard_all",
        NcmpiPutVard "ncmpi_put_vard", NcmpiPutVardAll "ncmpi_put_vard_all",
        NcmpiMgetVar "ncmpi_mget_var", NcmpiMgetVarAll "ncmpi_mget_var_all",
        NcmpiMgetVar1 "ncmpi_mget_var1", NcmpiMgetVar1All "ncmpi_mget_var1_all",
        NcmpiMgetVara "ncmpi_mget_vara", NcmpiMgetVaraAll "ncmpi_mget_vara_all",
        NcmpiMgetVars "ncmpi_mget_vars", NcmpiMgetVarsAll "ncmpi_mget_vars_all",
        NcmpiMgetVarm "ncmpi_mget_varm", NcmpiMgetVarmAll "ncmpi_mget_varm_all",
        NcmpiMputVar "ncmpi_mput_var", NcmpiMputVarAll "ncmpi_mput_var_all",
        NcmpiMputVar1 "ncmpi_mput_var1", NcmpiMputVar1All "ncmpi_mput_var1_all",
        NcmpiMputVara "ncmpi_mput_vara", NcmpiMputVaraAll "ncmpi_mput_vara_all",
        NcmpiMputVars "ncmpi_mput_vars", NcmpiMputVarsAll "ncmpi_mput_vars_all",
        NcmpiMputVarm "ncmpi_mput_varm", NcmpiMputVarmAll "ncmpi_mput_varm_all",
}

impl Function {
    /// The function of a name, for tables whose names are put together: so that
    /// a wrong one does not compile.
    pub const fn named(name: &str) -> Option<Function> {
        let mut place = 0;
        while place < Function::ALL.len() {
            let function = Function::ALL[place];
            if is_equal(function.name().as_bytes(), name.as_bytes()) {
                return Some(function);
            }
            place += 1;
        }
        None
    }
}

/// Slices are not compared by `==` where constants are made.
const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let mut place = 0;
    while place < a.len() && place < b.len() && a[place] == b[place] {
        place += 1;
    }
    a.len() == b.len() && place == a.len()
}

impl TryFrom<u16> for Function {
    type Error = u16;

    fn try_from(number: u16) -> Result<Function, u16> {
        Function::ALL.get(usize::from(number)).copied().ok_or(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_their_whole_names() {
        for &function in Function::ALL {
            assert_eq!(Function::named(function.name()), Some(function));
        }
        for name in ["", "rea", "ncmpi_put_vara_al", "ncmpi_put_vara_all_"] {
            assert_eq!(Function::named(name), None, "{name}");
        }
    }
}
