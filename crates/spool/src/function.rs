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
            pub fn layer(self) -> &'static str {
                match self { $($(Function::$variant => $layer,)*)* }
            }

            /// The function's name in traces.
            pub fn name(self) -> &'static str {
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
}

impl TryFrom<u16> for Function {
    type Error = u16;

    fn try_from(number: u16) -> Result<Function, u16> {
        Function::ALL.get(usize::from(number)).copied().ok_or(number)
    }
}
