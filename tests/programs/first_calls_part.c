/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Parts of `first_calls`. With -DLIBRARY a library with functions of HDF5, with
 * -DTAIL a plug-in that leaves no trace of itself when it calls one, else one whose constructor waits until the program has said that it may go on.
 */
#ifdef LIBRARY
int H5open(void)
{
    return 0;
}

int H5Fclose(long file)
{
    return file == 4711 ? 0 : -1;
}

int H5Fflush(long object, int scope)
{
    return object == 4711 ? scope : -1;
}
#elif defined(TAIL)
extern int H5Fflush(long object, int scope);

int flush(long object, int scope)
{
    return H5Fflush(object, scope);
}
#else
extern void wait_for_first_call(void) __attribute__((weak));

__attribute__((constructor)) static void set_up(void)
{
    if (wait_for_first_call)
        wait_for_first_call();
}

int first_calls_part = 1;
#endif
