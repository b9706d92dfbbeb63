! SPDX-License-Identifier: Apache-2.0
!
! What the experiments in Fortran have in common: the two functions of program.h that have
! nothing to do, and the matrix of A2 and A3. Each program uses this module, so it is linked.
module support
    use, intrinsic :: iso_c_binding
    implicit none
    ! What result() hands out.
    real(c_double), allocatable, target :: numbers(:)

contains

    subroutine finish() bind(c)
    end subroutine

    ! Kernels, elements, elements stored.
    subroutine executed(done) bind(c)
        integer(c_int64_t), intent(out) :: done(3)
        done = 0
    end subroutine

    ! 1, 2, 3, … in column order.
    subroutine count_up(a)
        real(c_double), intent(out) :: a(:, :)
        integer(c_int64_t) :: i, j
        do j = 1, size(a, 2)
            do i = 1, size(a, 1)
                a(i, j) = real((j - 1) * size(a, 1) + i, c_double)
            end do
        end do
    end subroutine

    function numbers_at() bind(c, name='fortran_result')
        type(c_ptr) :: numbers_at
        numbers_at = c_loc(numbers)
    end function

    function result_count() bind(c, name='fortran_result_count')
        integer(c_int64_t) :: result_count
        result_count = size(numbers)
    end function
end module
