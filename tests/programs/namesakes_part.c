/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A library of an application that has functions of its own under names that
 * netCDF, HDF5 and MPI have too, with other arguments and results.
 */
#include <stdarg.h>

int nc_open(const char *host, int port, int timeout)
{
    return host[0] == 'h' && port == 80 && timeout == 5 ? 0 : 1;
}

double nc_close(double a)
{
    return 2 * a;
}

void *nc_create(long a, char *b)
{
    return b + a;
}

double nc_get_var1(double a, double b, double c, double d, double e, double f, double g, double h, double i)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

long H5Fclose(long a, long b, long c, long d, long e, long f, long g, long h)
{
    return a + b + c + d + e + f + g + h;
}

int MPI_File_close(long *never_followed)
{
    return (long)never_followed == 1 ? 0 : 1;
}

double ncmpi_close(int n, ...)
{
    va_list rest;
    double sum = 0;
    va_start(rest, n);
    while (n-- > 0)
        sum += va_arg(rest, double);
    va_end(rest);
    return sum;
}
