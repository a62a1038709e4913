! SPDX-License-Identifier: MIT OR Apache-2.0
!
! MPI-IO in Fortran, by each of its three ways (MPIF_H, USE_MPI, USE_MPI_F08).
#ifdef USE_MPI_F08
#define FILE_HANDLE type(MPI_File)
#define REQUEST_HANDLE type(MPI_Request)
#define STATUS_OF(name) type(MPI_Status) :: name
#else
#define FILE_HANDLE integer
#define REQUEST_HANDLE integer
#define STATUS_OF(name) integer :: name(MPI_STATUS_SIZE)
#endif
program mpi_fortran
#ifdef USE_MPI_F08
  use mpi_f08
#endif
#ifdef USE_MPI
  use mpi
#endif
  implicit none
#ifdef MPIF_H
  include 'mpif.h'
#endif
  integer, parameter :: items = 16
  integer(8), parameter :: bytes = items * 8, none = 0, unknown = -1, any = -2
  character(len=*), parameter :: name = 'fortran.dat'
  integer :: rank, ierror, n
  integer(MPI_OFFSET_KIND) :: mine, zero
  real(8) :: block(items)
  FILE_HANDLE :: handle
  REQUEST_HANDLE :: request, list(2)
  STATUS_OF(status)
  logical :: flag

  zero = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  block = [(real(n + rank, 8), n = 1, items)]
  mine = rank * bytes

  ! Blanks around a name do not count.
  call note('mpi_open', name, none, none)
  call MPI_File_open(MPI_COMM_WORLD, name // '   ', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, handle, ierror)
  call done()

  call note('mpi_write_at', name, mine, bytes)
  call MPI_File_write_at(handle, mine, block, items, MPI_DOUBLE_PRECISION, status, ierror)
  call done()
  call note('mpi_write_at_all', name, mine, bytes)
  call MPI_File_write_at_all(handle, mine, block, items, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierror)
  call done()
  call note('mpi_seek', name, none, none)
  call MPI_File_seek(handle, mine, MPI_SEEK_SET, ierror)
  call noted(int(mine, 8))
  call note('mpi_write', name, mine, bytes)
  call MPI_File_write(handle, block, items, MPI_DOUBLE_PRECISION, status, ierror)
  call done()
  call note('mpi_write_all', name, mine + bytes, 4_8)
  call MPI_File_write_all(handle, block, 1, MPI_INTEGER, status, ierror)
  call done()
  call note('mpi_write_ordered', name, unknown, bytes)
  call MPI_File_write_ordered(handle, block, items, MPI_DOUBLE_PRECISION, status, ierror)
  call done()
  call note('mpi_sync', name, any, none)
  call MPI_File_sync(handle, ierror)
  call done()
  call note('mpi_read_at_all_begin', name, mine, bytes)
  call MPI_File_read_at_all_begin(handle, mine, block, items, MPI_DOUBLE_PRECISION, ierror)
  call done()
  call note('mpi_read_at_all_end', name, any, none)
  call MPI_File_read_at_all_end(handle, block, status, ierror)
  call done()

  call note('mpi_iwrite_at', name, mine, bytes)
  call MPI_File_iwrite_at(handle, mine, block, items, MPI_DOUBLE_PRECISION, request, ierror)
  call done()
  call note('mpi_wait', name, mine, bytes)
  call MPI_Wait(request, status, ierror)
  call done()
  call note('mpi_iread_at', name, mine, bytes)
  call MPI_File_iread_at(handle, mine, block, items, MPI_DOUBLE_PRECISION, list(2), ierror)
  call done()
  list(1) = MPI_REQUEST_NULL
  call note('mpi_wait', name, mine, bytes)
  call MPI_Waitall(2, list, MPI_STATUSES_IGNORE, ierror)
  call done()
  call note('mpi_iread_at', name, mine, bytes)
  call MPI_File_iread_at(handle, mine, block, items, MPI_DOUBLE_PRECISION, request, ierror)
  call done()
  flag = .false.
  call note('mpi_test', name, mine, bytes)
  do while (.not. flag)
    call MPI_Test(request, flag, status, ierror)
  end do
  call done()

  ! Whole numbers from byte 100 on.
  call note('mpi_set_view', name, 100_8, none)
  call MPI_File_set_view(handle, 100_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierror)
  call done()
  call note('mpi_write_at', name, 100_8 + 4 * (rank + 7), 8_8)
  call MPI_File_write_at(handle, int(rank + 7, MPI_OFFSET_KIND), block, 2, MPI_INTEGER, status, ierror)
  call done()

  call through_the_rest()

  call note('mpi_close', name, any, none)
  call MPI_File_close(handle, ierror)
  call done()
  call note('mpi_open', 'missing.dat', none, none)
  call MPI_File_open(MPI_COMM_WORLD, 'missing.dat', MPI_MODE_RDONLY, MPI_INFO_NULL, handle, ierror)
  call done()
  if (rank == 0) print '(a,l2)', 'a missing file is an error:', ierror /= MPI_SUCCESS
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) then
    call note('mpi_delete', name, any, none)
    call MPI_File_delete(name, MPI_INFO_NULL, ierror)
    call done()
  end if
  call MPI_Finalize(ierror)

contains

  ! All other forms, on the file as bytes again.
  subroutine through_the_rest()
    FILE_HANDLE :: missing
    integer(MPI_OFFSET_KIND) :: displacement
    integer :: index, n_done, indices(2)
    character(len=MPI_MAX_DATAREP_STRING) :: representation
#ifdef USE_MPI_F08
    type(MPI_Datatype) :: etype, filetype
    type(MPI_Status) :: statuses(2)
#else
    integer :: etype, filetype
    integer :: statuses(MPI_STATUS_SIZE, 2)
#endif

    call note('mpi_get_view', name, any, none)
    call MPI_File_get_view(handle, displacement, etype, filetype, representation, ierror)
    call done()
    if (displacement /= 100) error stop 'another view'

    ! A view without bytes, in which nobody may be asked for places.
    call MPI_Type_contiguous(0, MPI_INTEGER, filetype, ierror)
    call MPI_Type_commit(filetype, ierror)
    call note('mpi_set_view', name, 100_8, none)
    call MPI_File_set_view(handle, displacement, MPI_INTEGER, filetype, 'native', MPI_INFO_NULL, ierror)
    call done()
    call note('mpi_write_at', name, unknown, none)
    call MPI_File_write_at(handle, zero, block, items, filetype, status, ierror)
    call done()
    call MPI_Type_free(filetype, ierror)

    call note('mpi_set_view', name, none, none)
    call MPI_File_set_view(handle, zero, MPI_BYTE, MPI_BYTE, 'native', MPI_INFO_NULL, ierror)
    call done()
    call note('mpi_preallocate', name, any, 4096_8)
    call MPI_File_preallocate(handle, 4096_MPI_OFFSET_KIND, ierror)
    call done()
    call note('mpi_set_size', name, any, 4096_8)
    call MPI_File_set_size(handle, 4096_MPI_OFFSET_KIND, ierror)
    call done()

    call note('mpi_seek', name, any, none)
    call MPI_File_seek(handle, zero, MPI_SEEK_SET, ierror)
    call noted(0_8)
    call note('mpi_read', name, none, bytes)
    call MPI_File_read(handle, block, items, MPI_DOUBLE_PRECISION, status, ierror)
    call done()
    call note('mpi_read_all', name, bytes, bytes)
    call MPI_File_read_all(handle, block, items, MPI_DOUBLE_PRECISION, status, ierror)
    call done()
    call note('mpi_read_at', name, mine, bytes)
    call MPI_File_read_at(handle, mine, block, items, MPI_DOUBLE_PRECISION, status, ierror)
    call done()
    call note('mpi_read_at_all', name, mine, bytes)
    call MPI_File_read_at_all(handle, mine, block, items, MPI_DOUBLE_PRECISION, status, ierror)
    call done()

    call note('mpi_seek_shared', name, any, none)
    call MPI_File_seek_shared(handle, zero, MPI_SEEK_SET, ierror)
    call done()
    call note('mpi_write_shared', name, unknown, bytes)
    call MPI_File_write_shared(handle, block, items, MPI_DOUBLE_PRECISION, status, ierror)
    call done()
    call note('mpi_read_shared', name, unknown, bytes)
    call MPI_File_read_shared(handle, block, items, MPI_DOUBLE_PRECISION, status, ierror)
    call done()
    call note('mpi_read_ordered', name, unknown, bytes)
    call MPI_File_read_ordered(handle, block, items, MPI_DOUBLE_PRECISION, status, ierror)
    call done()

    call note('mpi_write_at_all_begin', name, mine, bytes)
    call MPI_File_write_at_all_begin(handle, mine, block, items, MPI_DOUBLE_PRECISION, ierror)
    call done()
    call note('mpi_write_at_all_end', name, any, none)
    call MPI_File_write_at_all_end(handle, block, status, ierror)
    call done()
    call note('mpi_write_ordered_begin', name, unknown, bytes)
    call MPI_File_write_ordered_begin(handle, block, items, MPI_DOUBLE_PRECISION, ierror)
    call done()
    call note('mpi_write_ordered_end', name, any, none)
    call MPI_File_write_ordered_end(handle, block, status, ierror)
    call done()
    call note('mpi_read_ordered_begin', name, unknown, none)
    call MPI_File_read_ordered_begin(handle, block, 0, MPI_DOUBLE_PRECISION, ierror)
    call done()
    call note('mpi_read_ordered_end', name, any, none)
    call MPI_File_read_ordered_end(handle, block, status, ierror)
    call done()
    call note('mpi_seek', name, any, none)
    call MPI_File_seek(handle, zero, MPI_SEEK_SET, ierror)
    call noted(0_8)
    call note('mpi_write_all_begin', name, unknown, none)
    call MPI_File_write_all_begin(handle, block, 0, MPI_DOUBLE_PRECISION, ierror)
    call done()
    call note('mpi_write_all_end', name, any, none)
    call MPI_File_write_all_end(handle, block, status, ierror)
    call done()
    call note('mpi_read_all_begin', name, none, bytes)
    call MPI_File_read_all_begin(handle, block, items, MPI_DOUBLE_PRECISION, ierror)
    call done()
    call note('mpi_read_all_end', name, any, none)
    call MPI_File_read_all_end(handle, block, status, ierror)
    call done()

    call note('mpi_iread', name, bytes, bytes)
    call MPI_File_iread(handle, block, items, MPI_DOUBLE_PRECISION, request, ierror)
    call done()
    call completed('mpi_wait', bytes)
    call note('mpi_iwrite', name, 2 * bytes, bytes)
    call MPI_File_iwrite(handle, block, items, MPI_DOUBLE_PRECISION, request, ierror)
    call done()
    call completed('mpi_wait', 2 * bytes)
    call note('mpi_iread_shared', name, unknown, bytes)
    call MPI_File_iread_shared(handle, block, items, MPI_DOUBLE_PRECISION, request, ierror)
    call done()
    call completed('mpi_wait', unknown)
    call note('mpi_iwrite_shared', name, unknown, bytes)
    call MPI_File_iwrite_shared(handle, block, items, MPI_DOUBLE_PRECISION, request, ierror)
    call done()
    call completed('mpi_wait', unknown)
    call note('mpi_iwrite_at_all', name, mine, bytes)
    call MPI_File_iwrite_at_all(handle, mine, block, items, MPI_DOUBLE_PRECISION, request, ierror)
    call done()
    call completed('mpi_wait', int(mine, 8))
    call note('mpi_iread_at_all', name, mine, bytes)
    call MPI_File_iread_at_all(handle, mine, block, items, MPI_DOUBLE_PRECISION, request, ierror)
    call done()
    call completed('mpi_wait', int(mine, 8))
    call note('mpi_iwrite_all', name, 3 * bytes, bytes)
    call MPI_File_iwrite_all(handle, block, items, MPI_DOUBLE_PRECISION, request, ierror)
    call done()
    call completed('mpi_wait', 3 * bytes)
    call note('mpi_iread_all', name, 4 * bytes, bytes)
    call MPI_File_iread_all(handle, block, items, MPI_DOUBLE_PRECISION, request, ierror)
    call done()
    call completed('mpi_wait', 4 * bytes)

    ! Lists of which one is a request.
    call submit()
    call note('mpi_wait', name, mine, bytes)
    call MPI_Waitany(2, list, index, status, ierror)
    call done()
    call submit()
    call note('mpi_wait', name, mine, bytes)
    call MPI_Waitsome(2, list, n_done, indices, statuses, ierror)
    call done()
    call submit()
    call note('mpi_test', name, mine, bytes)
    flag = .false.
    do while (.not. flag)
      call MPI_Testany(2, list, index, flag, status, ierror)
    end do
    call done()
    call submit()
    call note('mpi_test', name, mine, bytes)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(2, list, flag, statuses, ierror)
    end do
    call done()
    call submit()
    call note('mpi_test', name, mine, bytes)
    n_done = 0
    do while (n_done == 0)
      call MPI_Testsome(2, list, n_done, indices, statuses, ierror)
    end do
    call done()

    ! One that nobody waits for is made all the same.
    call submit()
    call note('mpi_request_free', name, mine, bytes)
    call MPI_Request_free(list(2), ierror)
    call done()
    if (list(2) /= MPI_REQUEST_NULL) print '(a)', 'a request was not given up'
    call note('mpi_sync', name, any, none)
    call MPI_File_sync(handle, ierror)
    call done()

    if (a_failing_open_is_sound()) then
      call note('mpi_open', 'nowhere/fortran.dat', none, none)
      call MPI_File_open(MPI_COMM_WORLD, 'nowhere/fortran.dat', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, missing, ierror)
      call done()
    end if
    call note('mpi_seek', name, any, none)
    call MPI_File_seek(handle, -1_MPI_OFFSET_KIND, MPI_SEEK_SET, ierror)
    call done()
    if (rank == 0) print '(a,l2)', 'a seek before the beginning is an error:', ierror /= MPI_SUCCESS
  end subroutine through_the_rest

  ! MPICH's mpi_f08 goes on to convert the handle of a file that it could not
  ! open. Nobody has set it, and most runs end there with a segmentation fault.
  logical function a_failing_open_is_sound()
    a_failing_open_is_sound = .true.
#ifdef USE_MPI_F08
    block
      character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
      integer :: length
      call MPI_Get_library_version(version, length, ierror)
      a_failing_open_is_sound = index(version, 'MPICH') == 0
    end block
#endif
  end function a_failing_open_is_sound

  subroutine submit()
    list(1) = MPI_REQUEST_NULL
    call note('mpi_iwrite_at', name, mine, bytes)
    call MPI_File_iwrite_at(handle, mine, block, items, MPI_DOUBLE_PRECISION, list(2), ierror)
    call done()
  end subroutine submit

  subroutine completed(function, offset)
    character(len=*), intent(in) :: function
    integer(8), intent(in) :: offset
    call note(function, name, offset, bytes)
    call MPI_Wait(request, status, ierror)
    call done()
  end subroutine completed

  subroutine done()
    call noted(merge(0_8, -1_8, ierror == MPI_SUCCESS))
  end subroutine done
end program mpi_fortran
