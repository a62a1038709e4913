/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * ioracle: learns the I/O of a program while it runs and says what comes next.
 * docs/c-api.md explains the interface. This file is generated from the source
 * of the library: change that, and run 'make docs'.
 */

#ifndef IORACLE_H
#define IORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Makes an ioracle_config with all defaults.
#define IORACLE_CONFIG_INIT { sizeof(ioracle_config), 0, 0, 0, 0, 0, 0, 0 }

// Makes an ioracle_observation that says nothing yet.
#define IORACLE_OBSERVATION_INIT \
    { sizeof(ioracle_observation), 0, 0, 0, NULL, 0, -1, -1, 0, 0, 0, 0, NULL, NULL, 0, 0 }

// Changes when programs must be compiled again.
#define IORACLE_VERSION_MAJOR 0

// Changes when something was added.
#define IORACLE_VERSION_MINOR 1

// Changes with bug fixes.
#define IORACLE_VERSION_PATCH 0

// Room for the path of a predicted file, its final NUL included.
#define IORACLE_PATH_BYTES 512

// In ioracle_observation.flags of an open: every write goes to the end.
#define IORACLE_APPENDS 1

// In ioracle_observation.flags of an open: the file was cut to length 0.
#define IORACLE_EMPTIES 2

// In ioracle_observation.flags of a data access: `requested` is set.
#define IORACLE_REQUESTS 4

// In ioracle_observation.flags: the call failed, or had nothing to do.
#define IORACLE_FAILED 8

// Whether a request reads or writes.
#define IORACLE_PATTERN_READ 0

// Whether a request reads or writes.
#define IORACLE_PATTERN_WRITE 1

// How a call ended. Below 0 it failed and changed nothing, and
// ioracle_last_error() says why.
typedef enum ioracle_result {
    // Done.
    IORACLE_OK = 0,
    // Done, and there is nothing (more) to return: the end of an iteration, no
    // burst in sight.
    IORACLE_NONE = 1,
    // The predictions do not include the caller's last operations.
    IORACLE_STALE = 2,
    // An argument is wrong: NULL, out of range, not UTF-8.
    IORACLE_INVALID = -1,
    // The handle is not, or no longer, that of such an object.
    IORACLE_DANGLING = -2,
    // A file could not be read or written.
    IORACLE_IO = -3,
    // The bytes are not a model, are damaged or of another version.
    IORACLE_MODEL = -4,
    // No room: too many handles, or no memory.
    IORACLE_LIMIT = -5,
    // A fault of this library. The object it happened to can only be freed.
    IORACLE_INTERNAL = -6,
    // No process publishes predictions for this one.
    IORACLE_UNAVAILABLE = -7,
    // The process that published them has ended.
    IORACLE_ENDED = -8,
    // The call came in the middle of another one; try again later.
    IORACLE_BUSY = -9,
} ioracle_result;

// What a call does.
typedef enum ioracle_access {
    // Opens or creates a file.
    IORACLE_OPEN = 1,
    // Closes a file.
    IORACLE_CLOSE = 2,
    // Moves data from a file.
    IORACLE_READ = 3,
    // Moves data to a file.
    IORACLE_WRITE = 4,
    // Forces data to storage.
    IORACLE_SYNC = 5,
    // Sets the length of a file.
    IORACLE_TRUNCATE = 6,
    // Only moves a position; never predicted.
    IORACLE_SEEK = 7,
    // Works on an object, moves no data itself; never predicted.
    IORACLE_DEFINE = 8,
} ioracle_access;

// Reads the future step by step; opaque.
typedef struct ioracle_iterator ioracle_iterator;

// An oracle of the caller; opaque.
typedef struct ioracle_oracle ioracle_oracle;

// The requests of a server, and what was learned about them; opaque.
typedef struct ioracle_pattern ioracle_pattern;

// How much an oracle may use. Begin with IORACLE_CONFIG_INIT; 0 stands for the
// default everywhere.
typedef struct ioracle_config {
    // sizeof(ioracle_config), as the caller knows it.
    uint32_t struct_size;
    // Maximum of predictions that ioracle_oracle_predict() returns; default 8, at most
    // 1024.
    uint32_t max_predictions;
    // Contexts distinguished; default 16384, at most 2^20. Later ones count as one
    // per function.
    uint32_t max_symbols;
    // Files remembered; default 1024, at most 2^20. Beyond that, the least recently
    // used one is forgotten.
    uint32_t max_files;
    // Transitions between contexts whose times are tracked; default 16384.
    uint32_t max_transitions;
    // Contexts of offsets remembered; default 16384.
    uint32_t max_contexts;
    // Length of the grammar at which the oldest history is forgotten.
    uint32_t max_occurrences;
    // Reserved, 0.
    uint32_t reserved;
} ioracle_config;

// One finished call. Begin with IORACLE_OBSERVATION_INIT and set what is known.
typedef struct ioracle_observation {
    // sizeof(ioracle_observation), as the caller knows it.
    uint32_t struct_size;
    // What the call did, an ioracle_access. Seeks, calls on metadata and failed calls
    // are no operations, but tell what may come next.
    uint32_t access;
    // The function that was called, from ioracle_function(); 0 for the plain
    // POSIX call of this access.
    uint32_t function;
    // IORACLE_APPENDS, IORACLE_EMPTIES, IORACLE_REQUESTS, IORACLE_FAILED, added up.
    uint32_t flags;
    // The path of the file; NULL to go by `file` or `handle`.
    const char *path;
    // A number that the caller has for the file; 0 for none.
    uint64_t file;
    // Descriptor or the like; -1 for none. A call that also names the file says
    // which one later calls with the same handle work on, until a close.
    int64_t handle;
    // Where a data access began, or where a seek has gone; -1 if not known.
    int64_t offset;
    // Bytes that really moved; the new length for IORACLE_TRUNCATE.
    uint64_t size;
    // When the call began, in nanoseconds of any clock that does not jump.
    uint64_t start_ns;
    // When it ended.
    uint64_t end_ns;
    // Where in the program the call came from: a number that is the same in every run;
    // 0 for none. `context_text` and `stack` take precedence.
    uint64_t context;
    // The same as a text, such as "solver.c:120"; NULL for none.
    const char *context_text;
    // The same as return addresses, innermost first; NULL for none. They are
    // taken relative to their modules, and at most 128 are looked at.
    const void *const *stack;
    // How many there are.
    size_t n_frames;
    // Bytes requested, with IORACLE_REQUESTS. A read that gets fewer has reached the
    // end of its file, which helps to predict the next one.
    uint64_t requested;
} ioracle_observation;

// How far a predicted number may be off: what was seen where it was predicted.
typedef struct ioracle_spread {
    // Smallest value seen.
    double min;
    // Largest value seen.
    double max;
    // Standard deviation of the values seen.
    double deviation;
} ioracle_spread;

// What one future operation is expected to be.
typedef struct ioracle_prediction {
    // What it does, an ioracle_access.
    uint32_t access;
    // The function it calls; ioracle_function_name() has its name.
    uint32_t function;
    // Context and function as a small number; UINT32_MAX for one never seen.
    uint32_t symbol;
    // Whether `offset` is known.
    bool has_offset;
    // Whether the file is named but was not used before (in this run).
    bool is_new_file;
    // Whether nothing known is expected: then the prediction is the same file,
    // contiguous, the last size, at once.
    bool is_unseen;
    // Reserved, 0.
    uint8_t reserved_byte;
    // The id that the caller gave the file; 0 for none.
    uint64_t file;
    // Where a data access starts, if `has_offset`.
    uint64_t offset;
    // Bytes it moves; 0 for operations that move none.
    uint64_t size;
    // From now (the end of the last operation) to its start.
    uint64_t from_now_ns;
    // From the end of the operation before it to its start.
    uint64_t interarrival_ns;
    // How long the call itself takes.
    uint64_t io_time_ns;
    // That this operation comes on this file at this place; between 0 and 1.
    // Further ahead also that all operations up to it come, and that new files
    // on the way have the expected names.
    double probability;
    // Spread of `size`.
    struct ioracle_spread size_spread;
    // Spread of the distance between predicted and seen offsets.
    struct ioracle_spread offset_spread;
    // Spread of `interarrival_ns`.
    struct ioracle_spread interarrival_spread;
    // Spread of `io_time_ns`.
    struct ioracle_spread io_time_spread;
    // That this operation comes, on any file, and all up to it; never less than
    // `probability`. In a set of predictions they add up to at most 1.
    double operation_probability;
    // Reserved, 0: later versions put what they add here.
    uint64_t reserved[6];
    // Length of the path; 0 if it is not known. From IORACLE_PATH_BYTES on, `path` is
    // empty, because half a path would name another file.
    uint64_t path_bytes;
    // The path of the file, ends in NUL.
    char path[IORACLE_PATH_BYTES];
} ioracle_prediction;

// How much an oracle knows and holds.
typedef struct ioracle_info {
    // Operations learned, in all runs.
    uint64_t operations;
    // Contexts distinguished, each with its function.
    uint64_t symbols;
    // Occurrences in all rules of the grammar.
    uint64_t grammar_size;
    // Memory of the model.
    uint64_t memory_bytes;
    // Reserved, 0.
    uint64_t reserved[4];
} ioracle_info;

// How good the predictions were, each compared with the operation that followed
// it. The same measures, by the same code, as those of 'ioracle eval'.
typedef struct ioracle_score {
    // Operations observed since the oracle was made or loaded.
    uint64_t operations;
    // Data accesses among them.
    uint64_t data_accesses;
    // Mean probability given to the operation that came, in percent.
    double context_accuracy;
    // Operations whose file was predicted, in percent.
    double file_accuracy;
    // Data accesses whose file and offset were predicted, in percent.
    double offset_accuracy;
    // Overlap of the predicted and the accessed bytes, in percent.
    double hit_ratio;
    // Data accesses whose size was predicted exactly, in percent.
    double size_exact;
    // Mean absolute error of the interarrival time, in seconds.
    double time_error_s;
    // How far `operation_probability` is off, between 0 and 1.
    double calibration_error;
    // How far `probability` is off, between 0 and 1.
    double place_calibration_error;
    // Reserved, 0.
    uint64_t reserved[6];
} ioracle_score;

// A group of operations close together in time, between two quiet spells.
typedef struct ioracle_burst {
    // From now to the start of its first operation; 0 inside a burst.
    uint64_t starts_in_ns;
    // From now to the end of its last operation.
    uint64_t ends_in_ns;
    // Operations in it (still to come, inside a burst). The look-ahead is 65536
    // operations: at that number, there may be more.
    uint64_t operations;
    // Bytes they move.
    uint64_t bytes;
    // Probability that the operations come as predicted.
    double confidence;
    // Reserved, 0.
    uint64_t reserved[3];
} ioracle_burst;

// What an answer of ioracle_next() is based on.
typedef struct ioracle_basis {
    // Predictions that were filled in.
    uint32_t n_predictions;
    // Operations that the thread has made since, all of them as predicted.
    uint32_t n_walked;
    // Calls of the thread that are not taken into account.
    uint64_t lag;
    // Operations of the thread that were learned.
    uint64_t n_operations;
    // Reserved, 0.
    uint64_t reserved[5];
} ioracle_basis;

// What a slice of time was.
typedef struct ioracle_pattern_slice {
    // The known pattern that the server is under.
    uint32_t pattern;
    // 1 if it was known before, 0 if it is new.
    uint32_t is_match;
    // How sure that is, from 0 to 1.
    double score;
    // IORACLE_PATTERN_READ or IORACLE_PATTERN_WRITE, what most requests did.
    uint32_t kind;
    // 1 if next_pattern, next_slices and next_probability say something.
    uint32_t has_next;
    // Files that were accessed in the slice.
    uint64_t files;
    // Requests that read.
    uint64_t reads;
    // Requests that write.
    uint64_t writes;
    // For how many slices the pattern has lasted.
    uint64_t since_slices;
    // The pattern expected after this one.
    uint32_t next_pattern;
    // Reserved, 0.
    uint32_t reserved_a;
    // After how many slices it comes.
    uint64_t next_slices;
    // How probable that is.
    double next_probability;
    // Bytes of requests released in the slice: a reward, if nothing better is
    // measured.
    uint64_t released_bytes;
    // Reserved, 0.
    uint64_t reserved[4];
} ioracle_pattern_slice;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library that is loaded, such as "0.1.0"; compare it with
// the macros to find out whether header and library belong together.
const char *ioracle_version(void);

// The name of a result, such as "IORACLE_STALE"; "unknown" for any other number.
const char *ioracle_result_name(int32_t result);

// Why this thread's last failed call failed: one sentence in UTF-8, empty if none has
// failed. It is valid until the next call of this thread that fails, and belongs to
// the library.
const char *ioracle_last_error(void);

// The word for an access, such as "read"; "unknown" for any other number.
const char *ioracle_access_name(uint32_t access);

// The code of a function by the name it has in traces, such as "pread",
// "fwrite", "mpi_read_at" or "H5Dwrite"; 0 if there is none of that name.
// Codes stay the same within a version of the interface.
uint32_t ioracle_function(const char *name);

// The name of a function by its code; "unknown" for any other number.
const char *ioracle_function_name(uint32_t function);

// What a function does, an ioracle_access; 0 for a number that is not a code.
uint32_t ioracle_function_access(uint32_t function);

// Makes an oracle that knows nothing yet. It may be used by any number of
// threads, one after the other: each call holds the oracle's own lock. One
// oracle per stream (thread, client, open file) predicts better than one for
// all.
//
// `config` may be NULL for the defaults.
enum ioracle_result ioracle_oracle_new(const struct ioracle_config *config,
                                       struct ioracle_oracle **oracle);

// Frees an oracle, once no other thread is in a call with it. Its iterators
// stay. NULL is fine; a handle that was freed before is detected and nothing happens.
enum ioracle_result ioracle_oracle_free(struct ioracle_oracle *oracle);

// Learns one finished call. Pass calls in the order in which they ended;
// one that began before the last one ended counts as following at once.
enum ioracle_result ioracle_oracle_observe(struct ioracle_oracle *oracle,
                                           const struct ioracle_observation *observation);

// What may come next, the most probable first: at most `capacity` predictions, and in
// `n` how many. There is always one, even before anything was observed: then it has
// `is_unseen` set.
enum ioracle_result ioracle_oracle_predict(const struct ioracle_oracle *oracle,
                                           struct ioracle_prediction *predictions,
                                           size_t capacity,
                                           size_t *n);

// The next operations one after the other, beginning with the `first`-th
// prediction (0 is the most probable): at most `capacity`, and in `n` how many.
// IORACLE_NONE if there is no such prediction.
enum ioracle_result ioracle_oracle_ahead(const struct ioracle_oracle *oracle,
                                         size_t first,
                                         struct ioracle_prediction *predictions,
                                         size_t capacity,
                                         size_t *n);

// Defines the path of a file that the caller identifies by a number (not 0), so that
// the number can stand for it in observations and predictions.
enum ioracle_result ioracle_oracle_define_file(struct ioracle_oracle *oracle,
                                               uint64_t file,
                                               const char *path);

// A new run of the program begins: nothing is open, ids of files may change their
// meaning, the clock may start over. What was learned stays, and the run is expected
// to begin like the last one.
enum ioracle_result ioracle_oracle_begin_run(struct ioracle_oracle *oracle);

// Adds what another oracle has learned; the other one does not change. The merged one
// begins a new run.
enum ioracle_result ioracle_oracle_merge(struct ioracle_oracle *oracle,
                                         const struct ioracle_oracle *other);

// How much an oracle knows and holds.
enum ioracle_result ioracle_oracle_info(const struct ioracle_oracle *oracle,
                                        struct ioracle_info *info);

// How good the predictions of an oracle have been since it was made or loaded.
// Without operations all is 0.
enum ioracle_result ioracle_oracle_score(const struct ioracle_oracle *oracle,
                                         struct ioracle_score *score);

// Makes an iterator that reads on from the `first`-th prediction (0 is the most
// probable). It reads what was known when it was made: later observations do
// not change it, nor does freeing the oracle. While one made since the last
// observation is alive, the next observation copies the whole model, so free
// iterators before observing where that matters.
//
// IORACLE_NONE, and no iterator, if there is no such prediction.
enum ioracle_result ioracle_oracle_iterate(const struct ioracle_oracle *oracle,
                                           size_t first,
                                           struct ioracle_iterator **iterator);

// Returns the operation that the iterator is at, and moves to the next. IORACLE_NONE
// at the end: where only something never seen before could follow.
enum ioracle_result ioracle_oracle_step(struct ioracle_iterator *iterator,
                                        struct ioracle_prediction *prediction);

// Makes another iterator at the same operation.
enum ioracle_result ioracle_iterator_copy(const struct ioracle_iterator *iterator,
                                          struct ioracle_iterator **copy);

// Frees an iterator. NULL is fine; a handle that was freed before is detected and nothing
// happens.
enum ioracle_result ioracle_iterator_free(struct ioracle_iterator *iterator);

// The next burst; inside one, what is left of it. IORACLE_NONE as long as waits cannot
// be separated into short and long ones, or nothing is expected.
enum ioracle_result ioracle_oracle_burst(const struct ioracle_oracle *oracle,
                                         struct ioracle_burst *burst);

// What is expected to start within a span of time from now, as a burst that
// starts at once and ends with the span.
enum ioracle_result ioracle_oracle_within(const struct ioracle_oracle *oracle,
                                          uint64_t span_ns,
                                          struct ioracle_burst *within);

// Saves what an oracle knows to a file, which is written completely or not at all.
enum ioracle_result ioracle_oracle_save(const struct ioracle_oracle *oracle,
                                        const char *path);

// Makes an oracle from a saved file, including those of 'ioracle model save'.
enum ioracle_result ioracle_oracle_load(const char *path, struct ioracle_oracle **oracle);

// Saves what an oracle knows to memory, which ioracle_bytes_free() frees.
enum ioracle_result ioracle_oracle_save_bytes(const struct ioracle_oracle *oracle,
                                              void **bytes,
                                              size_t *n_bytes);

// Makes an oracle from saved bytes.
enum ioracle_result ioracle_oracle_load_bytes(const void *bytes,
                                              size_t n_bytes,
                                              struct ioracle_oracle **oracle);

// Frees what ioracle_oracle_save_bytes() returned. NULL is fine.
void ioracle_bytes_free(void *bytes);

// Predicts what the calling thread will do next, under 'ioracle run': the first of
// `predictions` is its next operation, the others follow it along the most probable
// path. At most `n_predictions` are filled in (never more than 64), and `basis`,
// unless it is NULL, receives how many there are and what they are based on.
//
// IORACLE_OK: they take all calls of the thread into account. IORACLE_STALE: they do
// not, even after `max_wait_ns` nanoseconds; nothing is filled in, and `basis->lag`
// says by how many calls. IORACLE_UNAVAILABLE: this process is not run by 'ioracle
// run', or is a child before its exec. IORACLE_ENDED: 'ioracle run' has ended.
// IORACLE_LIMIT: there was no room for this thread. IORACLE_BUSY: the caller is a
// signal handler that has interrupted the recorder; ask again later.
//
// Signal handlers may call it: it allocates nothing, takes no lock, and leaves
// ioracle_last_error() alone. Without a wait it makes a system call only the first
// time in a thread.
enum ioracle_result ioracle_next(uint64_t max_wait_ns,
                                 struct ioracle_prediction *predictions,
                                 size_t n_predictions,
                                 struct ioracle_basis *basis);

// Makes one that knows nothing yet. `preset` is "server", "io-node" or NULL for
// the first. `options` names `n_options` options to choose from (scheduling
// policies, windows…); 0 if nothing is chosen.
//
// It may be used by any number of threads: each call holds its lock.
enum ioracle_result ioracle_pattern_new(const char *preset,
                                        const char *const *options,
                                        size_t n_options,
                                        struct ioracle_pattern **pattern);

// Frees one. NULL is fine.
enum ioracle_result ioracle_pattern_free(struct ioracle_pattern *pattern);

// Takes a request in when it arrives, in constant time. `file` is any number
// that is the same for the same file, `op` IORACLE_PATTERN_READ or
// IORACLE_PATTERN_WRITE.
enum ioracle_result ioracle_pattern_observe(struct ioracle_pattern *pattern,
                                            uint64_t time_ns,
                                            uint64_t file,
                                            uint32_t op,
                                            uint64_t offset,
                                            uint64_t size);

// The same for servers that know files by name, with the arguments of AGIOS'
// agios_add_request(): call it where that was called.
enum ioracle_result ioracle_pattern_add_request(struct ioracle_pattern *pattern,
                                                const char *file_id,
                                                uint32_t op,
                                                int64_t offset,
                                                int64_t len,
                                                uint64_t time_ns);

// A request was served: its bytes count for the slice, as the measure of what
// an option is worth. With the arguments of agios_release_request().
enum ioracle_result ioracle_pattern_release_request(struct ioracle_pattern *pattern,
                                                    uint32_t op,
                                                    int64_t len);

// Ends the slice; call it once a second. IORACLE_NONE if there were no requests.
enum ioracle_result ioracle_pattern_tick(struct ioracle_pattern *pattern,
                                         struct ioracle_pattern_slice *slice);

// The option to set for the next slice: its number among those that
// ioracle_pattern_new() was given.
enum ioracle_result ioracle_pattern_choose(struct ioracle_pattern *pattern,
                                           size_t *option);

// How good the last slice was, such as its bytes per second: it counts for the option
// chosen before the slice and the pattern that the slice turned out to be. A reward
// that is not a finite number changes nothing.
enum ioracle_result ioracle_pattern_reward(struct ioracle_pattern *pattern,
                                           double reward);

// Starts from what was saved before. The file is created if it does not exist.
enum ioracle_result ioracle_pattern_load(struct ioracle_pattern *pattern,
                                         const char *path);

// Saves known patterns, what was chosen under them and how it went.
enum ioracle_result ioracle_pattern_save(const struct ioracle_pattern *pattern,
                                         const char *path);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* IORACLE_H */
