! SPDX-License-Identifier: MIT OR Apache-2.0
!
! A model that reports its progress on standard output and dumps its state now
! and then. libgfortran writes standard output by itself, and before each line
! flushes the C library's stream of the same file, which nobody uses.
program prints
  implicit none
  integer, parameter :: steps = 100, dumped_every = 20
  integer :: step, unit
  real(8) :: state(4096)
  character(len=16) :: name

  state = 1
  do step = 1, steps
    state = state * 1.0001d0
    print '(a,i5,f12.6)', 'step', step, state(1)
    if (mod(step, dumped_every) == 0) then
      write(name, '(a,i4.4)') 'dump_', step
      open(newunit=unit, file=name, form='unformatted', access='stream', status='replace')
      write(unit) state
      close(unit)
    end if
  end do
end program prints
