! SPDX-License-Identifier: MIT OR Apache-2.0
!
! netCDF in Fortran, by both of its interfaces (NF90, else the one of Fortran
! 77). Dimensions are in C's order in the notes.
program netcdf_fortran
#ifdef NF90
  use netcdf
#endif
  implicit none
#ifndef NF90
  include 'netcdf.inc'
#endif
  character(len=*), parameter :: name = 'fortran.nc'
  integer, parameter :: columns = 4, rows = 3
  integer(8), parameter :: none = 0, item = 8
  integer :: ncid, dims(2), field, counts(columns), code, n
  real(8) :: block(columns, rows), column(2), number(1)
  character(len=4) :: word

  block = reshape([(real(n, 8), n = 1, columns * rows)], [columns, rows])
#ifdef NF90
  call note_part('nc_create', name, none, '')
  call done(nf90_create(name, NF90_CLOBBER, ncid))
  call sure(nf90_def_dim(ncid, 'column', columns, dims(1)))
  call sure(nf90_def_dim(ncid, 'row', NF90_UNLIMITED, dims(2)))
  call sure(nf90_def_var(ncid, 'field', NF90_DOUBLE, dims, field))
  call sure(nf90_def_var(ncid, 'word', NF90_CHAR, dims(1:1), n))
  call note_part('nc_enddef', name, none, '')
  call done(nf90_enddef(ncid))
  call note_part('nc_put_vara', name, 12 * item, 'field start=0:0 count=3:4')
  call done(nf90_put_var(ncid, field, block))
  call note_part('nc_put_vara', name, 2 * item, 'field start=2:1 count=1:2')
  call done(nf90_put_var(ncid, field, block(1:2, 1), start=[2, 3], count=[2, 1]))
  call note_part('nc_put_vars', name, 2 * item, 'field start=0:0 count=1:2 stride=1:2')
  call done(nf90_put_var(ncid, field, block(1:2, 1), start=[1, 1], count=[2, 1], stride=[2, 1]))
  call note_part('nc_put_var1', name, item, 'field start=1:3 count=1:1')
  call done(nf90_put_var(ncid, field, 7.0_8, start=[4, 2]))
  call note_part('nc_put_vars', name, 4_8, 'word start=0 count=4 stride=1')
  call done(nf90_put_var(ncid, n, 'text'))
  call note_part('nc_sync', name, none, '')
  call done(nf90_sync(ncid))
  call note_part('nc_get_vara', name, 12 * item, 'field start=0:0 count=3:4')
  call done(nf90_get_var(ncid, field, block))
  call note_part('nc_get_varm', name, 2 * item, 'field start=0:0 count=1:2 stride=1:1 imap=2:1')
  call done(nf90_get_var(ncid, field, column, start=[1, 1], count=[2, 1], stride=[1, 1], map=[1, 2]))
  call note_part('nc_get_vars', name, 4_8, 'word start=0 count=4 stride=1')
  call done(nf90_get_var(ncid, n, word))
  call note_part('nc_close', name, none, '')
  call done(nf90_close(ncid))
  call note_part('nc_open', 'missing.nc', none, '')
  code = nf90_open('missing.nc', NF90_NOWRITE, ncid)
#else
  call note_part('nc_create', name, none, '')
  call done(nf_create(name, NF_CLOBBER, ncid))
  call sure(nf_def_dim(ncid, 'column', columns, dims(1)))
  call sure(nf_def_dim(ncid, 'row', NF_UNLIMITED, dims(2)))
  call sure(nf_def_var(ncid, 'field', NF_DOUBLE, 2, dims, field))
  call sure(nf_def_var(ncid, 'word', NF_CHAR, 1, dims, n))
  call note_part('nc_enddef', name, none, '')
  call done(nf_enddef(ncid))
  call note_part('nc_put_vara', name, 12 * item, 'field start=0:0 count=3:4')
  call done(nf_put_vara_double(ncid, field, [1, 1], [columns, rows], block))
  call note_part('nc_put_var', name, 12 * item, 'field start=0:0 count=3:4')
  call done(nf_put_var_double(ncid, field, block))
  call note_part('nc_put_vars', name, 2 * item, 'field start=0:0 count=1:2 stride=1:2')
  call done(nf_put_vars_double(ncid, field, [1, 1], [2, 1], [2, 1], block))
  call note_part('nc_put_varm', name, 2 * item, 'field start=0:0 count=1:2 stride=1:1 imap=2:1')
  call done(nf_put_varm_double(ncid, field, [1, 1], [2, 1], [1, 1], [1, 2], block))
  call note_part('nc_put_var1', name, item, 'field start=1:3 count=1:1')
  call done(nf_put_var1_real(ncid, field, [4, 2], [7.0]))
  call note_part('nc_put_vara', name, 4_8, 'word start=0 count=4')
  call done(nf_put_vara_text(ncid, n, [1], [columns], 'text'))
  call note_part('nc_sync', name, none, '')
  call done(nf_sync(ncid))
  call note_part('nc_get_var', name, 12 * item, 'field start=0:0 count=3:4')
  call done(nf_get_var_double(ncid, field, block))
  call note_part('nc_get_var1', name, item, 'field start=1:3 count=1:1')
  call done(nf_get_var1_double(ncid, field, [4, 2], number))
  call note_part('nc_get_vara', name, 2 * item, 'field start=2:1 count=1:2')
  call done(nf_get_vara_double(ncid, field, [2, 3], [2, 1], column))
  call note_part('nc_get_vara', name, 4_8, 'word start=0 count=4')
  call done(nf_get_vara_text(ncid, n, [1], [columns], word))
  call note_part('nc_close', name, none, '')
  call done(nf_close(ncid))
  call note_part('nc_open', 'missing.nc', none, '')
  code = nf_open('missing.nc', NF_NOWRITE, ncid)
#endif
  call noted(-1_8)
  print *, code, word, block(4, 2)

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
