! SPDX-License-Identifier: MIT OR Apache-2.0
!
! Reports what a small application does to an oracle, then prints what comes next.
! The application writes a checkpoint every second.

program next
   use, intrinsic :: iso_c_binding
   use ioracle
   implicit none
   type(c_ptr) :: oracle
   type(ioracle_prediction) :: predictions(5)
   integer(c_size_t) :: n
   integer :: step, i

   call check(ioracle_oracle_new(c_null_ptr, oracle))
   do step = 0, 19
      call checkpoint(step)
   end do

   call check(ioracle_oracle_ahead(oracle, 0_c_size_t, predictions, 5_c_size_t, n))
   do i = 1, int(n)
      print '(a, f9.3, 5a, i0, a, i0)', 'in ', predictions(i)%from_now_ns*1.0d-6, ' ms  ', &
         ioracle_name(predictions(i)), ' ', ioracle_path(predictions(i)), ' ', &
         predictions(i)%size, ' bytes at ', predictions(i)%offset
   end do
   call check(ioracle_oracle_free(oracle))

   ! A freed handle is detected, not used.
   if (ioracle_oracle_begin_run(oracle) /= IORACLE_DANGLING) stop 1
   print '(2a)', 'and after it was freed: ', ioracle_message()

contains

   subroutine checkpoint(step)
      integer, intent(in) :: step
      integer(c_int64_t) :: now
      character(len=32) :: path

      write (path, '(a, i3.3, a)') 'checkpoint_', step, '.dat'
      now = step*1000000000_c_int64_t
      call check(ioracle_observe(oracle, IORACLE_OPEN, path=path, handle=3_c_int64_t, &
                                 start_ns=now, end_ns=now + 200000, context='open'))
      call check(ioracle_observe(oracle, IORACLE_WRITE, handle=3_c_int64_t, &
                                 offset=0_c_int64_t, size=512_c_int64_t, &
                                 start_ns=now + 1000000, end_ns=now + 1200000, context='header'))
      call check(ioracle_observe(oracle, IORACLE_WRITE, handle=3_c_int64_t, &
                                 offset=512_c_int64_t, size=1048576_c_int64_t, &
                                 start_ns=now + 2000000, end_ns=now + 2200000, context='state'))
      call check(ioracle_observe(oracle, IORACLE_CLOSE, handle=3_c_int64_t, &
                                 start_ns=now + 3000000, end_ns=now + 3200000, context='close'))
   end subroutine checkpoint

   subroutine check(code)
      integer(c_int), intent(in) :: code
      if (code < IORACLE_OK) then
         print '(a)', ioracle_message()
         stop 1
      end if
   end subroutine check

end program next
