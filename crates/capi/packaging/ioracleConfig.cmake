# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Gives the target ioracle::ioracle, and in ioracle_FORTRAN_MODULE the source of
# the Fortran module. Relative to where this file lies, so that the whole prefix
# can be moved.
get_filename_component(_ioracle_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

set(ioracle_FORTRAN_MODULE "${_ioracle_prefix}/share/ioracle/ioracle.f90")

if(NOT TARGET ioracle::ioracle)
    add_library(ioracle::ioracle SHARED IMPORTED)
    set_target_properties(ioracle::ioracle PROPERTIES
        IMPORTED_LOCATION "${_ioracle_prefix}/lib/libioracle.so"
        INTERFACE_INCLUDE_DIRECTORIES "${_ioracle_prefix}/include")
endif()

unset(_ioracle_prefix)
