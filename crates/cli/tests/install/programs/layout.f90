! SPDX-License-Identifier: MIT OR Apache-2.0
!
! Whether the types of the Fortran module lie in memory as those of ioracle.h.

program layout
   use, intrinsic :: iso_c_binding
   use ioracle
   implicit none

   interface
      function layout_size(structure) bind(c) result(bytes)
         import :: c_int, c_size_t
         integer(c_int), value :: structure
         integer(c_size_t) :: bytes
      end function layout_size
      subroutine layout_prediction(prediction) bind(c)
         import :: ioracle_prediction
         type(ioracle_prediction), intent(inout) :: prediction
      end subroutine layout_prediction
      function layout_observation(call) bind(c) result(code)
         import :: c_int, ioracle_observation
         type(ioracle_observation), intent(in) :: call
         integer(c_int) :: code
      end function layout_observation
      function layout_config(config) bind(c) result(code)
         import :: c_int, ioracle_config
         type(ioracle_config), intent(in) :: config
         integer(c_int) :: code
      end function layout_config
      subroutine layout_burst(burst) bind(c)
         import :: ioracle_burst
         type(ioracle_burst), intent(inout) :: burst
      end subroutine layout_burst
      subroutine layout_info(info) bind(c)
         import :: ioracle_info
         type(ioracle_info), intent(inout) :: info
      end subroutine layout_info
      subroutine layout_basis(basis) bind(c)
         import :: ioracle_basis
         type(ioracle_basis), intent(inout) :: basis
      end subroutine layout_basis
   end interface

   type(ioracle_observation) :: call
   type(ioracle_config) :: config
   type(ioracle_prediction) :: prediction
   type(ioracle_burst) :: burst
   type(ioracle_info) :: info
   type(ioracle_basis) :: basis
   type(ioracle_score) :: score

   call expect('size of observation', c_sizeof(call) == layout_size(0_c_int))
   call expect('size of config', c_sizeof(config) == layout_size(1_c_int))
   call expect('size of prediction', c_sizeof(prediction) == layout_size(2_c_int))
   call expect('size of burst', c_sizeof(burst) == layout_size(3_c_int))
   call expect('size of info', c_sizeof(info) == layout_size(4_c_int))

   call expect('size of basis', c_sizeof(basis) == layout_size(5_c_int))
   call expect('size of score', c_sizeof(score) == layout_size(6_c_int))

   call layout_prediction(prediction)
   call expect('access', prediction%access == 1)
   call expect('function', prediction%function == 2)
   call expect('symbol', prediction%symbol == 3)
   call expect('has_offset', .not. logical(prediction%has_offset))
   call expect('is_new_file', logical(prediction%is_new_file))
   call expect('is_unseen', .not. logical(prediction%is_unseen))
   call expect('file', prediction%file == 4)
   call expect('offset', prediction%offset == 5)
   call expect('size', prediction%size == 6)
   call expect('from_now_ns', prediction%from_now_ns == 7)
   call expect('interarrival_ns', prediction%interarrival_ns == 8)
   call expect('io_time_ns', prediction%io_time_ns == 9)
   call expect('probability', nint(prediction%probability) == 10)
   call expect('operation_probability', nint(prediction%operation_probability) == 15)
   call expect('size_spread', nint(prediction%size_spread%min) == 11)
   call expect('offset_spread', nint(prediction%offset_spread%max) == 12)
   call expect('interarrival_spread', nint(prediction%interarrival_spread%deviation) == 13)
   call expect('io_time_spread', nint(prediction%io_time_spread%min) == 14)
   call expect('path', ioracle_path(prediction) == 'abc')

   call%access = 2
   call%function = 3
   call%flags = 4
   call%file = 6
   call%handle = 7
   call%offset = 8
   call%size = 9
   call%start_ns = 10
   call%end_ns = 11
   call%context = 12
   call%n_frames = 15
   call expect('observation', layout_observation(call) == 0)

   config%max_predictions = 2
   config%max_symbols = 3
   config%max_files = 4
   config%max_transitions = 5
   config%max_contexts = 6
   config%max_occurrences = 7
   call expect('config', layout_config(config) == 0)

   call layout_burst(burst)
   call expect('burst', all([burst%starts_in_ns, burst%ends_in_ns, burst%operations, &
                             burst%bytes] == [1, 2, 3, 4]) .and. nint(burst%confidence) == 5)
   call layout_info(info)
   call expect('info', all([info%operations, info%symbols, info%grammar_size, &
                            info%memory_bytes] == [1, 2, 3, 4]))
   call layout_basis(basis)
   call expect('basis', basis%n_predictions == 1 .and. basis%n_walked == 2 &
               .and. basis%lag == 3 .and. basis%n_operations == 4)
   print '(a)', 'alike'

contains

   subroutine expect(what, truth)
      character(len=*), intent(in) :: what
      logical, intent(in) :: truth
      if (.not. truth) then
         print '(2a)', 'differs: ', what
         stop 1
      end if
   end subroutine expect

end program layout
