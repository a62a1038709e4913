/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Calls functions of its own library that are called like those of others.
 */
#include <stdio.h>

int nc_open(const char *, int, int);
double nc_close(double);
void *nc_create(long, char *);
double nc_get_var1(double, double, double, double, double, double, double, double, double);
long H5Fclose(long, long, long, long, long, long, long, long);
int MPI_File_close(long *);
double ncmpi_close(int, ...);

int main(void)
{
    char text[] = "abc";
    for (int turn = 0; turn < 3; turn++) {
        printf("%d\n", nc_open("host", 80, 5));
        printf("%g\n", nc_close(1.5));
        printf("%s\n", (char *)nc_create(1, text));
        printf("%g\n", nc_get_var1(1, 2, 3, 4, 5, 6, 7, 8, 9));
        printf("%ld\n", H5Fclose(1L << 40, 2, 3, 4, 5, 6, 7, 8));
        printf("%d\n", MPI_File_close((long *)1));
        printf("%g\n", ncmpi_close(3, 1.0, 2.5, 4.0));
    }
    FILE *file = fopen("seen.txt", "w");
    return file == NULL || fclose(file) != 0;
}
