! SPDX-License-Identifier: MIT OR Apache-2.0
!
! Fortran's three ways to a file: sequential (formatted and unformatted),
! direct and stream access. The runtime library decides on the calls: the
! tests compare with strace.
program records
  implicit none
  integer :: n, unit
  real(8) :: block(1000), line(10)
  integer :: number

  block = [(real(n, 8), n = 1, 1000)]
  open(newunit=unit, file='formatted', action='write', status='replace')
  do n = 1, 500
    write(unit, '(i6,f12.4)') n, block(n)
  end do
  close(unit)

  open(newunit=unit, file='sequential', form='unformatted', action='readwrite', status='replace')
  do n = 1, 20
    write(unit) block
  end do
  rewind(unit)
  do n = 1, 20
    read(unit) block
  end do
  backspace(unit)
  read(unit) block
  close(unit)

  open(newunit=unit, file='direct', access='direct', recl=80, form='unformatted', status='replace')
  do n = 1, 100
    write(unit, rec=101 - n) block(n:n + 9)
  end do
  read(unit, rec=50) line
  close(unit)

  open(newunit=unit, file='stream', access='stream', form='unformatted', status='replace')
  write(unit) block
  write(unit, pos=4001) line
  flush(unit)
  read(unit, pos=801) line
  close(unit)

  open(newunit=unit, file='formatted', action='read', status='old')
  do n = 1, 500
    read(unit, '(i6)') number
  end do
  close(unit)
  print '(i6,f12.4)', number, line(1)
end program records
