! SPDX-License-Identifier: MIT OR Apache-2.0
!
! HDF5 through its Fortran interface: dimensions are told in C's order.
program hdf5_fortran
    use hdf5
    implicit none
    integer(hid_t) :: file, space, memory, dataset, properties, attribute, scalar
    integer(hsize_t) :: extent(2) = [6, 4], chunk(2) = [3, 2], start(2) = [2, 1], counts(2) = [3, 2], one(1) = [1]
    double precision :: part(3, 2), all(6, 4)
    integer :: error, list, version = 3

    open(newunit=list, file='calls.0', action='write')
    part = 7
    call h5open_f(error)
    call h5fcreate_f('fortran.h5', H5F_ACC_TRUNC_F, file, error)
    call did('H5Fcreate', '0 0 ')
    call h5screate_simple_f(2, extent, space, error)
    call h5screate_simple_f(2, counts, memory, error)
    call h5pcreate_f(H5P_DATASET_CREATE_F, properties, error)
    call h5pset_chunk_f(properties, 2, chunk, error)
    call h5pset_deflate_f(properties, 1, error)
    call h5dcreate_f(file, 'values', H5T_NATIVE_DOUBLE, space, dataset, error, properties)
    call did('H5Dcreate', '0 0 /values chunk=2:3 filters=deflate')
    call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, counts, error)
    call h5dwrite_f(dataset, H5T_NATIVE_DOUBLE, part, counts, error, memory, space)
    call did('H5Dwrite', '48 0 /values start=1:2 count=2:3')
    call h5dread_f(dataset, H5T_NATIVE_DOUBLE, all, extent, error)
    call did('H5Dread', '192 0 /values start=0:0 count=4:6')
    if (all(3, 2) /= 7 .or. all(5, 3) /= 7) error stop 'wrong values'
    call h5screate_f(H5S_SCALAR_F, scalar, error)
    call h5acreate_f(dataset, 'version', H5T_NATIVE_INTEGER, scalar, attribute, error)
    call h5awrite_f(attribute, H5T_NATIVE_INTEGER, version, one, error)
    call did('H5Awrite', '4 0 /values@version')
    call h5aclose_f(attribute, error)
    call h5dclose_f(dataset, error)
    call did('H5Dclose', '0 0 /values')
    call h5fflush_f(file, H5F_SCOPE_GLOBAL_F, error)
    call did('H5Fflush', '0 0 ')
    call h5eset_auto_f(0, error)
    call h5dopen_f(file, 'missing', dataset, error)
    if (error == 0) error stop 'it is not there'
    call did('H5Dopen', '0 -1 ')
    call h5fclose_f(file, error)
    call did('H5Fclose', '0 0 ')
    call h5close_f(error)
    close(list)
contains
    subroutine did(function, rest)
        character(*), intent(in) :: function, rest
        write (list, '(4a)') function, ' fortran.h5 ', rest
    end subroutine did
end program hdf5_fortran
