! SPDX-License-Identifier: MIT OR Apache-2.0
!
! PnetCDF in Fortran, by both of its interfaces (NF90, else the one of Fortran
! 77). Dimensions are in C's order in the notes.
program pnetcdf_fortran
  use mpi
#ifdef NF90
  use pnetcdf
#endif
  implicit none
#ifndef NF90
  include 'pnetcdf.inc'
#endif
  character(len=*), parameter :: name = 'fortran.nc'
  integer(8), parameter :: none = 0, item = 8, columns = 4
  integer :: rank, ranks, ncid, dims(2), field, code, requests(1), statuses(1)
  integer(MPI_OFFSET_KIND) :: start(2), count(2), stride(2)
  real(8) :: block(4)
  character(len=64) :: part

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  block = rank
  start = [1_MPI_OFFSET_KIND, int(rank + 1, MPI_OFFSET_KIND)]
  count = [columns, 1_8]
  stride = 1
  write (part, '(a, i0, a)') 'field start=', rank, ':0 count=1:4'
#ifdef NF90
  call note_part('ncmpi_create', name, none, '')
  call done(nf90mpi_create(MPI_COMM_WORLD, name, NF90_CLOBBER, MPI_INFO_NULL, ncid))
  call sure(nf90mpi_def_dim(ncid, 'column', columns, dims(1)))
  call sure(nf90mpi_def_dim(ncid, 'row', int(ranks, MPI_OFFSET_KIND), dims(2)))
  call sure(nf90mpi_def_var(ncid, 'field', NF90_DOUBLE, dims, field))
  call note_part('ncmpi_enddef', name, none, '')
  call done(nf90mpi_enddef(ncid))
  call note_part('ncmpi_put_vara_all', name, 4 * item, trim(part))
  call done(nf90mpi_put_var_all(ncid, field, block, start, count))
  call note_part('ncmpi_put_vars_all', name, 4 * item, trim(part) // ' stride=1:1')
  call done(nf90mpi_put_var_all(ncid, field, block, start, count, stride))
  call note_part('ncmpi_get_vara_all', name, 4 * item, trim(part))
  call done(nf90mpi_get_var_all(ncid, field, block, start, count))
  call note_part('ncmpi_iput_vara', name, 4 * item, trim(part) // ' request=1')
  call done(nf90mpi_iput_var(ncid, field, block, requests(1), start, count))
  call note_part('ncmpi_wait_all', name, 4 * item, 'field request=1')
  call done(nf90mpi_wait_all(ncid, 1, requests, statuses))
  call note_part('ncmpi_begin_indep_data', name, none, '')
  call done(nf90mpi_begin_indep_data(ncid))
  call note_part('ncmpi_put_vara', name, 4 * item, trim(part))
  call done(nf90mpi_put_var(ncid, field, block, start, count))
  call note_part('ncmpi_end_indep_data', name, none, '')
  call done(nf90mpi_end_indep_data(ncid))
  call note_part('ncmpi_close', name, none, '')
  call done(nf90mpi_close(ncid))
  call note_part('ncmpi_open', 'missing.nc', none, '')
  code = nf90mpi_open(MPI_COMM_WORLD, 'missing.nc', NF90_NOWRITE, MPI_INFO_NULL, ncid)
#else
  call note_part('ncmpi_create', name, none, '')
  call done(nfmpi_create(MPI_COMM_WORLD, name, NF_CLOBBER, MPI_INFO_NULL, ncid))
  call sure(nfmpi_def_dim(ncid, 'column', columns, dims(1)))
  call sure(nfmpi_def_dim(ncid, 'row', int(ranks, MPI_OFFSET_KIND), dims(2)))
  call sure(nfmpi_def_var(ncid, 'field', NF_DOUBLE, 2, dims, field))
  call note_part('ncmpi_enddef', name, none, '')
  call done(nfmpi_enddef(ncid))
  call note_part('ncmpi_put_vara_all', name, 4 * item, trim(part))
  call done(nfmpi_put_vara_double_all(ncid, field, start, count, block))
  call note_part('ncmpi_put_vars_all', name, 4 * item, trim(part) // ' stride=1:1')
  call done(nfmpi_put_vars_double_all(ncid, field, start, count, stride, block))
  call note_part('ncmpi_get_vara_all', name, 4 * item, trim(part))
  call done(nfmpi_get_vara_double_all(ncid, field, start, count, block))
  call note_part('ncmpi_put_vara_all', name, 4 * item, trim(part))
  call done(nfmpi_put_vara_all(ncid, field, start, count, block, columns, MPI_DOUBLE_PRECISION))
  call note_part('ncmpi_iput_vara', name, 4 * item, trim(part) // ' request=1')
  call done(nfmpi_iput_vara_double(ncid, field, start, count, block, requests(1)))
  call note_part('ncmpi_wait_all', name, 4 * item, 'field request=1')
  call done(nfmpi_wait_all(ncid, 1, requests, statuses))
  call note_part('ncmpi_iget_vara', name, 4 * item, trim(part) // ' request=2')
  call done(nfmpi_iget_vara(ncid, field, start, count, block, columns, MPI_DOUBLE_PRECISION, requests(1)))
  call note_part('ncmpi_wait_all', name, 4 * item, 'field request=2')
  call done(nfmpi_wait_all(ncid, 1, requests, statuses))
  call note_part('ncmpi_begin_indep_data', name, none, '')
  call done(nfmpi_begin_indep_data(ncid))
  call note_part('ncmpi_put_var1', name, item, trim(part(1:index(part, ' count'))) // ' count=1:1')
  call done(nfmpi_put_var1_double(ncid, field, start, block))
  call note_part('ncmpi_end_indep_data', name, none, '')
  call done(nfmpi_end_indep_data(ncid))
  call note_part('ncmpi_close', name, none, '')
  call done(nfmpi_close(ncid))
  call note_part('ncmpi_open', 'missing.nc', none, '')
  code = nfmpi_open(MPI_COMM_WORLD, 'missing.nc', NF_NOWRITE, MPI_INFO_NULL, ncid)
#endif
  call noted(-1_8)
  if (rank == 0) print *, code, block
  call MPI_Finalize(code)

contains

  subroutine done(code)
    integer, intent(in) :: code
    call noted(merge(0_8, -1_8, code == 0))
    call sure(code)
  end subroutine

  subroutine sure(code)
    integer, intent(in) :: code
    if (code /= 0) then
      print *, 'failed with', code
      stop 1
    end if
  end subroutine
end program
