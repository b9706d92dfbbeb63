! SPDX-License-Identifier: Apache-2.0
!
! A2 in the paper's form: a temporary, then SUM. With -DFUSED the loops are fused by hand.
module a2
    use support
    implicit none
    real(c_double), allocatable :: a(:, :), t(:, :)

contains

    subroutine prepare(n) bind(c)
        integer(c_int64_t), value :: n
        allocate (a(n, n), t(n, n), numbers(n))
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
        t = abs(sin(a))
        numbers = sum(t, 1)
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
            numbers(i) = total
        end do
    end subroutine
#endif
end module
