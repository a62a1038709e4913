! SPDX-License-Identifier: MIT OR Apache-2.0
!
! A particle code as seen by its I/O: dumps of records whose number changes with
! the particles, a log, restart files of many short headers and long fields, and
! a last dump that the same routine writes from another line.
program plasma
  implicit none
  integer, parameter :: n_steps = 60, n_fields = 12
  real(8) :: field(4096)
  integer :: step, k
  character(len=32) :: name

  field = 1.0d0
  open (11, file='plasma.log', status='replace')
  do step = 1, n_steps
    field = field + sin(real(step, 8)) * 1.0d-3
    write (11, '(a,i6,a,es16.8)') 'step', step, ' energy', sum(field)
    if (mod(step, 4) == 0) call dump(step)
    if (mod(step, 10) == 0) call restart(step)
    if (mod(step, 20) == 0) flush (11)
  end do
  ! The end of the run: everything once more.
  call dump(n_steps + 1)
  call restart(n_steps + 1)
  close (11)
contains
  subroutine dump(step)
    integer, intent(in) :: step
    write (name, '(a,i4.4,a)') 'dump_', step, '.dat'
    open (12, file=name, form='unformatted', access='stream', status='replace')
    call header(12, step)
    do k = 1, n_fields
      call one_field(12, k, 512 + 8 * mod(step * k, 37))
    end do
    close (12)
  end subroutine
  subroutine header(unit, step)
    integer, intent(in) :: unit, step
    write (unit) step, n_fields
    write (unit) real(step, 8) * 0.1d0
    write (unit) 'plasma code, version 1          '
    flush (unit)
  end subroutine
  subroutine one_field(unit, k, n)
    integer, intent(in) :: unit, k, n
    write (unit) k, n
    write (unit) field(1:n)
    flush (unit)
  end subroutine
  subroutine restart(step)
    integer, intent(in) :: step
    integer :: part
    write (name, '(a,i4.4)') 'restart_', mod(step / 10, 2)
    open (13, file=name, form='unformatted', status='replace')
    do part = 1, 40
      write (13) part, step
      if (mod(part, 3) == 0) write (13) field(1:64 * part)
      if (mod(part, 5) == 0) write (13) 'name of a field', part
    end do
    close (13)
    open (13, file=name, form='unformatted', status='old')
    do part = 1, 40
      read (13)
    end do
    close (13)
  end subroutine
end program
