! SPDX-License-Identifier: MIT OR Apache-2.0
!
! ioracle for Fortran 2003: the types and functions of ioracle.h, and on top of
! them a few procedures that take Fortran's own strings. Compile this file with
! your program, and link with -lioracle. docs/c-api.md explains the calls.

module ioracle
   use, intrinsic :: iso_c_binding
   implicit none
   private

   ! How a call ended; below 0 it failed, and ioracle_message() says why.
   integer(c_int), parameter, public :: &
      IORACLE_OK = 0, IORACLE_NONE = 1, IORACLE_STALE = 2, &
      IORACLE_INVALID = -1, IORACLE_DANGLING = -2, IORACLE_IO = -3, IORACLE_MODEL = -4, &
      IORACLE_LIMIT = -5, IORACLE_INTERNAL = -6, IORACLE_UNAVAILABLE = -7, &
      IORACLE_ENDED = -8, IORACLE_BUSY = -9

   ! What a call does.
   integer(c_int32_t), parameter, public :: &
      IORACLE_OPEN = 1, IORACLE_CLOSE = 2, IORACLE_READ = 3, IORACLE_WRITE = 4, &
      IORACLE_SYNC = 5, IORACLE_TRUNCATE = 6, IORACLE_SEEK = 7, IORACLE_DEFINE = 8

   ! In the flags of an observation.
   integer(c_int32_t), parameter, public :: IORACLE_APPENDS = 1, IORACLE_EMPTIES = 2, &
      IORACLE_REQUESTS = 4, IORACLE_FAILED = 8

   integer, parameter, public :: IORACLE_PATH_BYTES = 512

   ! How much an oracle may use; 0 stands for the default.
   type, bind(c), public :: ioracle_config
      integer(c_int32_t) :: struct_size = 32
      integer(c_int32_t) :: max_predictions = 0
      integer(c_int32_t) :: max_symbols = 0
      integer(c_int32_t) :: max_files = 0
      integer(c_int32_t) :: max_transitions = 0
      integer(c_int32_t) :: max_contexts = 0
      integer(c_int32_t) :: max_occurrences = 0
      integer(c_int32_t) :: reserved = 0
   end type ioracle_config

   ! One finished call.
   type, bind(c), public :: ioracle_observation
      integer(c_int32_t) :: struct_size = 112
      integer(c_int32_t) :: access = 0
      integer(c_int32_t) :: function = 0
      integer(c_int32_t) :: flags = 0
      type(c_ptr) :: path = c_null_ptr
      integer(c_int64_t) :: file = 0
      integer(c_int64_t) :: handle = -1
      integer(c_int64_t) :: offset = -1
      integer(c_int64_t) :: size = 0
      integer(c_int64_t) :: start_ns = 0
      integer(c_int64_t) :: end_ns = 0
      integer(c_int64_t) :: context = 0
      type(c_ptr) :: context_text = c_null_ptr
      type(c_ptr) :: stack = c_null_ptr
      integer(c_size_t) :: n_frames = 0
      integer(c_int64_t) :: requested = 0
   end type ioracle_observation

   type, bind(c), public :: ioracle_spread
      real(c_double) :: min
      real(c_double) :: max
      real(c_double) :: deviation
   end type ioracle_spread

   ! What one future operation is expected to be; ioracle_path() has its file.
   type, bind(c), public :: ioracle_prediction
      integer(c_int32_t) :: access
      integer(c_int32_t) :: function
      integer(c_int32_t) :: symbol
      logical(c_bool) :: has_offset
      logical(c_bool) :: is_new_file
      logical(c_bool) :: is_unseen
      integer(c_int8_t) :: reserved_byte
      integer(c_int64_t) :: file
      integer(c_int64_t) :: offset
      integer(c_int64_t) :: size
      integer(c_int64_t) :: from_now_ns
      integer(c_int64_t) :: interarrival_ns
      integer(c_int64_t) :: io_time_ns
      real(c_double) :: probability
      type(ioracle_spread) :: size_spread
      type(ioracle_spread) :: offset_spread
      type(ioracle_spread) :: interarrival_spread
      type(ioracle_spread) :: io_time_spread
      real(c_double) :: operation_probability
      integer(c_int64_t) :: reserved(6)
      integer(c_int64_t) :: path_bytes
      character(kind=c_char) :: path(IORACLE_PATH_BYTES)
   end type ioracle_prediction

   ! A group of operations close together in time.
   type, bind(c), public :: ioracle_burst
      integer(c_int64_t) :: starts_in_ns
      integer(c_int64_t) :: ends_in_ns
      integer(c_int64_t) :: operations
      integer(c_int64_t) :: bytes
      real(c_double) :: confidence
      integer(c_int64_t) :: reserved(3)
   end type ioracle_burst

   ! How much an oracle knows and holds.
   type, bind(c), public :: ioracle_info
      integer(c_int64_t) :: operations
      integer(c_int64_t) :: symbols
      integer(c_int64_t) :: grammar_size
      integer(c_int64_t) :: memory_bytes
      integer(c_int64_t) :: reserved(4)
   end type ioracle_info

   ! How good the predictions were, by the measures of 'ioracle eval'.
   type, bind(c), public :: ioracle_score
      integer(c_int64_t) :: operations
      integer(c_int64_t) :: data_accesses
      real(c_double) :: context_accuracy
      real(c_double) :: file_accuracy
      real(c_double) :: offset_accuracy
      real(c_double) :: hit_ratio
      real(c_double) :: size_exact
      real(c_double) :: time_error_s
      real(c_double) :: calibration_error
      real(c_double) :: place_calibration_error
      integer(c_int64_t) :: reserved(6)
   end type ioracle_score

   ! What an answer of ioracle_next rests on.
   type, bind(c), public :: ioracle_basis
      integer(c_int32_t) :: n_predictions
      integer(c_int32_t) :: n_walked
      integer(c_int64_t) :: lag
      integer(c_int64_t) :: n_operations
      integer(c_int64_t) :: reserved(5)
   end type ioracle_basis

   ! Handles of oracles and iterators are type(c_ptr).
   public :: ioracle_oracle_new, ioracle_oracle_free, ioracle_oracle_observe
   public :: ioracle_oracle_predict, ioracle_oracle_ahead, ioracle_oracle_begin_run
   public :: ioracle_oracle_merge, ioracle_oracle_info, ioracle_oracle_score
   public :: ioracle_oracle_burst
   public :: ioracle_oracle_within, ioracle_oracle_iterate, ioracle_oracle_step
   public :: ioracle_iterator_copy, ioracle_iterator_free, ioracle_next
   ! These take or give Fortran's own strings.
   public :: ioracle_observe, ioracle_save, ioracle_load, ioracle_message
   public :: ioracle_path, ioracle_name

   interface
      ! config is c_null_ptr for the defaults, or c_loc of an ioracle_config.
      function ioracle_oracle_new(config, oracle) bind(c) result(code)
         import :: c_ptr, c_int
         type(c_ptr), value :: config
         type(c_ptr), intent(out) :: oracle
         integer(c_int) :: code
      end function ioracle_oracle_new

      function ioracle_oracle_free(oracle) bind(c) result(code)
         import :: c_ptr, c_int
         type(c_ptr), value :: oracle
         integer(c_int) :: code
      end function ioracle_oracle_free

      function ioracle_oracle_observe(oracle, observation) bind(c) result(code)
         import :: c_ptr, c_int, ioracle_observation
         type(c_ptr), value :: oracle
         type(ioracle_observation), intent(in) :: observation
         integer(c_int) :: code
      end function ioracle_oracle_observe

      function ioracle_oracle_predict(oracle, predictions, capacity, n) bind(c) result(code)
         import :: c_ptr, c_int, c_size_t, ioracle_prediction
         type(c_ptr), value :: oracle
         type(ioracle_prediction), intent(inout) :: predictions(*)
         integer(c_size_t), value :: capacity
         integer(c_size_t), intent(out) :: n
         integer(c_int) :: code
      end function ioracle_oracle_predict

      function ioracle_oracle_ahead(oracle, first, predictions, capacity, n) bind(c) result(code)
         import :: c_ptr, c_int, c_size_t, ioracle_prediction
         type(c_ptr), value :: oracle
         integer(c_size_t), value :: first
         type(ioracle_prediction), intent(inout) :: predictions(*)
         integer(c_size_t), value :: capacity
         integer(c_size_t), intent(out) :: n
         integer(c_int) :: code
      end function ioracle_oracle_ahead

      function ioracle_oracle_begin_run(oracle) bind(c) result(code)
         import :: c_ptr, c_int
         type(c_ptr), value :: oracle
         integer(c_int) :: code
      end function ioracle_oracle_begin_run

      function ioracle_oracle_merge(oracle, other) bind(c) result(code)
         import :: c_ptr, c_int
         type(c_ptr), value :: oracle
         type(c_ptr), value :: other
         integer(c_int) :: code
      end function ioracle_oracle_merge

      function ioracle_oracle_info(oracle, info) bind(c) result(code)
         import :: c_ptr, c_int, ioracle_info
         type(c_ptr), value :: oracle
         type(ioracle_info), intent(out) :: info
         integer(c_int) :: code
      end function ioracle_oracle_info

      function ioracle_oracle_score(oracle, score) bind(c) result(code)
         import :: c_ptr, c_int, ioracle_score
         type(c_ptr), value :: oracle
         type(ioracle_score), intent(out) :: score
         integer(c_int) :: code
      end function ioracle_oracle_score

      function ioracle_oracle_burst(oracle, burst) bind(c) result(code)
         import :: c_ptr, c_int, ioracle_burst
         type(c_ptr), value :: oracle
         type(ioracle_burst), intent(inout) :: burst
         integer(c_int) :: code
      end function ioracle_oracle_burst

      function ioracle_oracle_within(oracle, span_ns, within) bind(c) result(code)
         import :: c_ptr, c_int, c_int64_t, ioracle_burst
         type(c_ptr), value :: oracle
         integer(c_int64_t), value :: span_ns
         type(ioracle_burst), intent(inout) :: within
         integer(c_int) :: code
      end function ioracle_oracle_within

      function ioracle_oracle_iterate(oracle, first, iterator) bind(c) result(code)
         import :: c_ptr, c_int, c_size_t
         type(c_ptr), value :: oracle
         integer(c_size_t), value :: first
         type(c_ptr), intent(out) :: iterator
         integer(c_int) :: code
      end function ioracle_oracle_iterate

      function ioracle_oracle_step(iterator, prediction) bind(c) result(code)
         import :: c_ptr, c_int, ioracle_prediction
         type(c_ptr), value :: iterator
         type(ioracle_prediction), intent(inout) :: prediction
         integer(c_int) :: code
      end function ioracle_oracle_step

      function ioracle_iterator_copy(iterator, copy) bind(c) result(code)
         import :: c_ptr, c_int
         type(c_ptr), value :: iterator
         type(c_ptr), intent(out) :: copy
         integer(c_int) :: code
      end function ioracle_iterator_copy

      function ioracle_iterator_free(iterator) bind(c) result(code)
         import :: c_ptr, c_int
         type(c_ptr), value :: iterator
         integer(c_int) :: code
      end function ioracle_iterator_free

      ! What the calling thread will do next, below 'ioracle run'.
      function ioracle_next(max_wait_ns, predictions, n_predictions, basis) bind(c) result(code)
         import :: c_int, c_int64_t, c_size_t, ioracle_prediction, ioracle_basis
         integer(c_int64_t), value :: max_wait_ns
         type(ioracle_prediction), intent(inout) :: predictions(*)
         integer(c_size_t), value :: n_predictions
         type(ioracle_basis), intent(out) :: basis
         integer(c_int) :: code
      end function ioracle_next

      function c_save(oracle, path) bind(c, name="ioracle_oracle_save") result(code)
         import :: c_ptr, c_int, c_char
         type(c_ptr), value :: oracle
         character(kind=c_char), intent(in) :: path(*)
         integer(c_int) :: code
      end function c_save

      function c_load(path, oracle) bind(c, name="ioracle_oracle_load") result(code)
         import :: c_ptr, c_int, c_char
         character(kind=c_char), intent(in) :: path(*)
         type(c_ptr), intent(out) :: oracle
         integer(c_int) :: code
      end function c_load

      function c_last_error() bind(c, name="ioracle_last_error") result(text)
         import :: c_ptr
         type(c_ptr) :: text
      end function c_last_error

      function c_function_name(function) bind(c, name="ioracle_function_name") result(text)
         import :: c_ptr, c_int32_t
         integer(c_int32_t), value :: function
         type(c_ptr) :: text
      end function c_function_name

      function c_strlen(text) bind(c, name="strlen") result(length)
         import :: c_ptr, c_size_t
         type(c_ptr), value :: text
         integer(c_size_t) :: length
      end function c_strlen
   end interface

contains

   ! Learns one finished call; what is left out is not known.
   function ioracle_observe(oracle, access, path, handle, offset, size, start_ns, end_ns, &
                            context) result(code)
      type(c_ptr), intent(in) :: oracle
      integer(c_int32_t), intent(in) :: access
      character(len=*), intent(in), optional :: path
      integer(c_int64_t), intent(in), optional :: handle, offset, size, start_ns, end_ns
      character(len=*), intent(in), optional :: context
      integer(c_int) :: code
      character(len=:, kind=c_char), allocatable, target :: c_path, c_context
      type(ioracle_observation) :: call

      call%access = access
      if (present(path)) then
         c_path = trim(path)//c_null_char
         call%path = c_loc(c_path)
      end if
      if (present(context)) then
         c_context = trim(context)//c_null_char
         call%context_text = c_loc(c_context)
      end if
      if (present(handle)) call%handle = handle
      if (present(offset)) call%offset = offset
      if (present(size)) call%size = size
      if (present(start_ns)) call%start_ns = start_ns
      if (present(end_ns)) call%end_ns = end_ns
      code = ioracle_oracle_observe(oracle, call)
   end function ioracle_observe

   function ioracle_save(oracle, path) result(code)
      type(c_ptr), intent(in) :: oracle
      character(len=*), intent(in) :: path
      integer(c_int) :: code
      code = c_save(oracle, trim(path)//c_null_char)
   end function ioracle_save

   function ioracle_load(path, oracle) result(code)
      character(len=*), intent(in) :: path
      type(c_ptr), intent(out) :: oracle
      integer(c_int) :: code
      code = c_load(trim(path)//c_null_char, oracle)
   end function ioracle_load

   ! Why the last call of this thread that failed did so.
   function ioracle_message() result(message)
      character(len=:), allocatable :: message
      message = from_c(c_last_error())
   end function ioracle_message

   ! The name of the function that a prediction calls.
   function ioracle_name(prediction) result(name)
      type(ioracle_prediction), intent(in) :: prediction
      character(len=:), allocatable :: name
      name = from_c(c_function_name(prediction%function))
   end function ioracle_name

   ! The path of a predicted file; empty if it is not known.
   function ioracle_path(prediction) result(path)
      type(ioracle_prediction), intent(in) :: prediction
      character(len=:), allocatable :: path
      integer :: i, length
      length = int(prediction%path_bytes)
      if (length >= IORACLE_PATH_BYTES) length = 0
      allocate (character(len=length) :: path)
      do i = 1, length
         path(i:i) = prediction%path(i)
      end do
   end function ioracle_path

   function from_c(text) result(string)
      type(c_ptr), intent(in) :: text
      character(len=:), allocatable :: string
      character(kind=c_char), pointer :: bytes(:)
      integer :: i, length
      length = int(c_strlen(text))
      call c_f_pointer(text, bytes, [length])
      allocate (character(len=length) :: string)
      do i = 1, length
         string(i:i) = bytes(i)
      end do
   end function from_c

end module ioracle
