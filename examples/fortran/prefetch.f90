! SPDX-License-Identifier: MIT OR Apache-2.0
!
! A small middleware that prefetches: it reads blocks of files for its
! application, reports each read to the oracle, and has the kernel fetch what
! comes next.

program prefetch
   use, intrinsic :: iso_c_binding
   use, intrinsic :: iso_fortran_env, only: error_unit
   use ioracle
   implicit none
   integer, parameter :: block_bytes = 65536, n_blocks = 16, n_files = 24, n_ahead = 4
   integer(c_int), parameter :: will_need = 3

   interface
      ! Starts reading a part of a file into memory.
      function posix_fadvise(fd, offset, length, advice) bind(c) result(code)
         import :: c_int, c_int64_t
         integer(c_int), value :: fd
         integer(c_int64_t), value :: offset, length
         integer(c_int), value :: advice
         integer(c_int) :: code
      end function posix_fadvise
   end interface

   type(c_ptr) :: oracle
   type(ioracle_prediction) :: predictions(n_ahead)
   integer(c_size_t) :: n_predictions = 0
   integer :: n_reads = 0, n_predicted = 0, n_prefetched = 0
   character(len=1024) :: directory, path
   integer :: i, k

   call get_command_argument(1, directory)
   if (command_argument_count() /= 1) then
      write (error_unit, '(a)') 'usage: prefetch DIR    (a directory for 1.5 MiB of files)'
      stop 2
   end if
   call check(ioracle_oracle_new(c_null_ptr, oracle))
   do i = 0, n_files - 1
      write (path, '(2a, i3.3, a)') trim(directory), '/field_', i, '.bin'
      call make_file(path)
      call open_file(path)
      do k = 0, n_blocks - 1
         call read_block(path, mod(k*5, n_blocks))
      end do
      call close_file()
   end do
   print '(i0, a, i0, a, i0, a)', n_predicted, ' of ', n_reads, ' reads were predicted; ', &
      n_prefetched, ' prefetches'
   call check(ioracle_oracle_free(oracle))

contains

   subroutine open_file(path)
      character(len=*), intent(in) :: path
      integer(c_int64_t) :: start
      start = now_ns()
      open (unit=20, file=trim(path), access='stream', form='unformatted', status='old')
      call check(ioracle_observe(oracle, IORACLE_OPEN, path=path, handle=20_c_int64_t, &
                                 start_ns=start, end_ns=now_ns(), context='open_file'))
      call look_ahead()
   end subroutine open_file

   subroutine read_block(path, block)
      character(len=*), intent(in) :: path
      integer, intent(in) :: block
      character(len=block_bytes), save :: buffer
      integer(c_int64_t) :: start, offset
      offset = int(block, c_int64_t)*block_bytes
      n_reads = n_reads + 1
      if (is_predicted(path, offset)) n_predicted = n_predicted + 1
      start = now_ns()
      read (20, pos=offset + 1) buffer
      call check(ioracle_observe(oracle, IORACLE_READ, handle=20_c_int64_t, offset=offset, &
                                 size=int(block_bytes, c_int64_t), start_ns=start, &
                                 end_ns=now_ns(), context='read_block'))
      call look_ahead()
   end subroutine read_block

   subroutine close_file()
      integer(c_int64_t) :: start
      start = now_ns()
      close (20, status='delete')
      call check(ioracle_observe(oracle, IORACLE_CLOSE, handle=20_c_int64_t, &
                                 start_ns=start, end_ns=now_ns(), context='close_file'))
      call look_ahead()
   end subroutine close_file

   logical function is_predicted(path, offset)
      character(len=*), intent(in) :: path
      integer(c_int64_t), intent(in) :: offset
      is_predicted = .false.
      if (n_predictions < 1) return
      is_predicted = predictions(1)%access == IORACLE_READ &
                     .and. predictions(1)%offset == offset &
                     .and. ioracle_path(predictions(1)) == trim(path)
   end function is_predicted

   subroutine look_ahead()
      integer :: i
      logical :: is_open
      call check(ioracle_oracle_ahead(oracle, 0_c_size_t, predictions, &
                                      int(n_ahead, c_size_t), n_predictions))
      inquire (unit=20, opened=is_open)
      if (.not. is_open) return
      do i = 1, int(n_predictions)
         if (predictions(i)%access /= IORACLE_READ) exit
         ! fnum() is GNU Fortran's way to get the descriptor of a unit.
         if (posix_fadvise(fnum(20), predictions(i)%offset, predictions(i)%size, &
                           will_need) == 0) n_prefetched = n_prefetched + 1
      end do
   end subroutine look_ahead

   subroutine make_file(path)
      character(len=*), intent(in) :: path
      character(len=block_bytes) :: buffer
      integer :: i
      buffer = ' '
      open (unit=21, file=trim(path), access='stream', form='unformatted', status='replace')
      do i = 1, n_blocks
         write (21) buffer
      end do
      close (21)
   end subroutine make_file

   integer(c_int64_t) function now_ns()
      integer(c_int64_t) :: count, rate
      call system_clock(count, rate)
      now_ns = count*(1000000000_c_int64_t/rate)
   end function now_ns

   subroutine check(code)
      integer(c_int), intent(in) :: code
      if (code < IORACLE_OK) then
         write (error_unit, '(a)') ioracle_message()
         stop 1
      end if
   end subroutine check

end program prefetch
