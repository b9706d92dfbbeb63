! SPDX-License-Identifier: Apache-2.0
!
! A1 in the paper's form: a temporary of the whole expression, then SUM. With -DFUSED the
! loops are fused by hand. Integers wrap around as unsigned ones do.
module a1
    use support
    implicit none
    integer(c_int32_t), allocatable :: a(:, :, :, :), b(:, :, :, :), t(:, :, :, :), r(:, :, :)
    integer(c_int32_t), parameter :: m0 = 1142251548_c_int32_t

contains

    subroutine prepare(n) bind(c)
        integer(c_int64_t), value :: n
        integer(c_int64_t) :: i, j, k, l, at
        allocate (a(507, 10, 5, 17), b(1, 1, 5, 17), t(507, 10, 5, 17), r(507, 5, 17))
        at = n * 0
        do l = 1, 17
            do k = 1, 5
                b(1, 1, k, l) = wrapped(1507 + (l - 1) * 5 + k - 1)
                do j = 1, 10
                    do i = 1, 507
                        a(i, j, k, l) = wrapped(1507 + 200 * at)
                        at = at + 1
                    end do
                end do
            end do
        end do
    end subroutine

    ! The low 32 bits.
    pure function wrapped(i) result(low)
        integer(c_int64_t), intent(in) :: i
        integer(c_int32_t) :: low
        low = int(ibits(i, 0, 31), c_int32_t)
        if (btest(i, 31)) low = ibset(low, 31)
    end function

    subroutine evaluate(times) bind(c)
        integer(c_int64_t), value :: times
        integer(c_int64_t) :: turn
        do turn = 1, times
            call once()
        end do
    end subroutine

    ! As unsigned numbers.
    subroutine show() bind(c, name='fortran_show')
        integer(c_int32_t) :: flat(size(r))
        flat = reshape(r, [size(r)])
        numbers = real(iand(int(flat, c_int64_t), 4294967295_c_int64_t), c_double)
    end subroutine

#ifndef FUSED
    subroutine once()
        integer :: k, l
        do l = 1, 17
            do k = 1, 5
                t(:, :, k, l) = ior(iand(m0, ishft(a(:, :, k, l), 17)), &
                                    iand(not(m0), b(1, 1, k, l)))
            end do
        end do
        r = sum(t, 2)
    end subroutine
#else
    subroutine once()
        integer :: i, j, k, l
        integer(c_int32_t) :: other
        do l = 1, 17
            do k = 1, 5
                other = iand(not(m0), b(1, 1, k, l))
                do i = 1, 507
                    r(i, k, l) = 0
                end do
                do j = 1, 10
                    do i = 1, 507
                        r(i, k, l) = r(i, k, l) + ior(iand(m0, ishft(a(i, j, k, l), 17)), other)
                    end do
                end do
            end do
        end do
    end subroutine
#endif
end module
