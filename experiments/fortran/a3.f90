! SPDX-License-Identifier: Apache-2.0
!
! A3: a loop over the columns whose later iterations overwrite what earlier ones stored; with
! -DFUSED the sum is a loop of its own and no array expression.
module a3
    use support
    implicit none
    real(c_double), allocatable :: a(:, :)

contains

    subroutine prepare(n) bind(c)
        integer(c_int64_t), value :: n
        allocate (a(n, n), numbers(n))
        call count_up(a)
    end subroutine

    subroutine evaluate(times) bind(c)
        integer(c_int64_t), value :: times
        integer(c_int64_t) :: turn
        do turn = 1, times
            call once()
        end do
    end subroutine

#ifndef FUSED
    subroutine once()
        integer :: i
        do i = 1, size(a, 2)
            numbers(1:i) = sum(abs(sin(a(:, i))))
        end do
    end subroutine
#else
    subroutine once()
        integer :: i, k
        real(c_double) :: total
        do i = 1, size(a, 2)
            total = 0
            do k = 1, size(a, 1)
                total = total + abs(sin(a(k, i)))
            end do
            do k = 1, i
                numbers(k) = total
            end do
        end do
    end subroutine
#endif
end module
