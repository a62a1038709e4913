/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A library that takes all keys of threads for which glibc has room in the thread
 * itself, before other libraries are set up.
 */
#include <pthread.h>

__attribute__((constructor)) static void set_up(void)
{
    pthread_key_t key;
    for (int n = 0; n < 40; n++)
        pthread_key_create(&key, NULL);
}

int many_keys_part = 1;
