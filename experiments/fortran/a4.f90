! SPDX-License-Identifier: Apache-2.0
!
! A4: K-means as one writes it in Fortran, one column after the other, with array
! expressions; with -DFUSED the distance is a loop of its own.
module a4
    use support
    implicit none
    integer, parameter :: nclasses = 50
    real(c_double), allocatable :: x(:, :), centers(:, :)
    integer, allocatable :: classes(:), old(:)

contains

    subroutine prepare(n) bind(c)
        integer(c_int64_t), value :: n
        integer :: r, c
        real(c_double) :: p, q
        allocate (x(n, n), centers(n, nclasses), classes(n), old(n), numbers(n + 1))
        do c = 0, int(n) - 1
            do r = 0, int(n) - 1
                p = mod(r, 401)
                q = mod(c, 401)
                x(r + 1, c + 1) = anint(1000 + 400 * sin(.013d0 * p + .021d0 * q) &
                    + 250 * sin(.031d0 * p - .017d0 * q + 1) &
                    + 120 * sin(.07d0 * q + .05d0 * p + 2) &
                    + 60 * sin(.11d0 * p) * sin(.13d0 * q + .5d0)) * sin(0.1d0 * (r + 1))
            end do
        end do
    end subroutine

    subroutine assign_columns()
        integer :: i, j
        real(c_double) :: d(nclasses)
        do i = 1, size(x, 2)
#ifndef FUSED
            do j = 1, nclasses
                d(j) = sqrt(sum((x(:, i) - centers(:, j))**2))
            end do
#else
            block
                integer :: r
                real(c_double) :: total
                do j = 1, nclasses
                    total = 0
                    do r = 1, size(x, 1)
                        total = total + (x(r, i) - centers(r, j))**2
                    end do
                    d(j) = sqrt(total)
                end do
            end block
#endif
            classes(i) = minloc(d, 1) - 1
        end do
    end subroutine

    subroutine move_centers()
        integer :: i, j, members
        do j = 1, nclasses
            members = count(classes == j - 1)
            if (members == 0) cycle
            centers(:, j) = 0
            do i = 1, size(x, 2)
                if (classes(i) == j - 1) centers(:, j) = centers(:, j) + x(:, i)
            end do
            centers(:, j) = centers(:, j) / members
        end do
    end subroutine

    subroutine evaluate(times) bind(c)
        integer(c_int64_t), value :: times
        integer(c_int64_t) :: turn
        integer :: i, j, n, iterations
        n = size(x, 2)
        do turn = 1, times
            do j = 1, nclasses
                centers(:, j) = x(:, int(real(j - 1, c_double) * (n - 2) / (nclasses - 1)) + 1)
            end do
            classes = 0
            iterations = 0
            do
                old = classes
                call assign_columns()
                call move_centers()
                iterations = iterations + 1
                if (all(old == classes)) exit
            end do
        end do
        do i = 1, n
            numbers(i) = classes(i)
        end do
        numbers(n + 1) = iterations
    end subroutine
end module
