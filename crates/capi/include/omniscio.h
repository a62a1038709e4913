/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The predictions of ioracle under the names of Omnisc'IO (SC14), for middleware
 * that was written for it: link with libioracle and run below 'ioracle run'.
 * docs/c-api.md lists the differences. This file is generated from the source of
 * the library: change that, and run 'make docs'.
 */

#ifndef OMNISCIO_H
#define OMNISCIO_H

// The call succeeded.
#define OMNISCIO_OK 0

// The call failed; ioracle_last_error() says why.
#define OMNISCIO_ERROR -1

// What a predicted operation does.
typedef enum omniscio_op_type {
    // Opens or creates a file.
    OMNISCIO_OPEN = 0,
    // Closes a file.
    OMNISCIO_CLOSE = 1,
    // Moves data from a file.
    OMNISCIO_READ = 2,
    // Moves data to a file.
    OMNISCIO_WRITE = 3,
    // Anything else: a sync, a truncation.
    OMNISCIO_OTHER = 4,
} omniscio_op_type;

// A position in a file, in bytes.
typedef unsigned long omniscio_offset;

// A number of bytes.
typedef unsigned long omniscio_size;

// Seconds from now.
typedef double omniscio_date;

// One predicted operation.
typedef struct omniscio_req {
    // What it does.
    enum omniscio_op_type type;
    // Where it starts; 0 if that is not known.
    omniscio_offset offset;
    // Bytes it moves.
    omniscio_size size;
    // When it starts, in seconds from the end of the last operation.
    omniscio_date date;
    // The path of its file, empty if not known; freed with the array.
    const char *name;
    // Between 0 and 1.
    double proba;
} omniscio_req;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns what may come next on this thread: `n` requests in a new array, which
// omniscio_free() frees. `n` is 0, and the array NULL, when nothing is known.
int omniscio_next(struct omniscio_req **prediction, int *n);

// Frees an array of requests with the names in it. NULL is fine.
int omniscio_free(struct omniscio_req *prediction);

// Returns up to `n` requests one after the other, starting with the `index`-th that
// omniscio_next() returned, in a new array, which omniscio_free() frees. The result is
// their number, or OMNISCIO_ERROR.
int omniscio_predict_from(int index, struct omniscio_req **predicted, int n);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* OMNISCIO_H */
