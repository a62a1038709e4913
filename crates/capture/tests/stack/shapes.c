// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Functions whose frames have many shapes, which call each other along a path:
// one letter per function, and a probe at its end.
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

struct journey {
    void (*probe)(void);
    const char *path;
    long sum;
};

static void go_on(struct journey *journey);

// Something after the call, so that it is not made a jump.
#define AFTER(journey) ((journey)->sum += __COUNTER__)

NOINLINE static void plain(struct journey *journey) {
    go_on(journey);
    AFTER(journey);
}

NOINLINE static void twin(struct journey *journey) {
    go_on(journey);
    AFTER(journey);
}

NOINLINE static void large(struct journey *journey) {
    volatile char room[5000];
    room[journey->path[0] & 63] = 1;
    go_on(journey);
    journey->sum += room[journey->path[0] & 63];
}

NOINLINE static void variable(struct journey *journey) {
    size_t length = 16 + (size_t)(journey->path[0] & 31) * 24;
    volatile char *room = alloca(length);
    room[length - 1] = 1;
    go_on(journey);
    journey->sum += room[length - 1];
}

NOINLINE static void aligned(struct journey *journey) {
    volatile char room[64] __attribute__((aligned(64)));
    room[journey->path[0] & 63] = 1;
    go_on(journey);
    journey->sum += room[journey->path[0] & 63];
}

NOINLINE static void aligned_variable(struct journey *journey) {
    volatile char fixed[64] __attribute__((aligned(64)));
    volatile char *room = alloca((size_t)(journey->path[0] & 31) + 1);
    fixed[journey->path[0] & 63] = 1;
    room[0] = 1;
    go_on(journey);
    journey->sum += fixed[journey->path[0] & 63] + room[0];
}

__attribute__((force_align_arg_pointer)) NOINLINE static void realigned(struct journey *journey) {
    go_on(journey);
    AFTER(journey);
}

NOINLINE static long many_arguments(struct journey *journey, long a, long b, long c, long d, long e,
                                    long f, long g, long h) {
    long before = journey->sum;
    go_on(journey);
    return before * a + b * c + d * e + f * g + h;
}

NOINLINE static void registers(struct journey *journey) {
    long a = journey->sum, b = a * 3, c = b ^ 5, d = c + 7, e = d * 11;
    journey->sum += many_arguments(journey, a, b, c, d, e, a + b, c + d, d + e);
    journey->sum += a + b + c + d + e;
}

static struct journey *volatile interrupted_journey;

static void handle(int number) {
    (void)number;
    struct journey *journey = interrupted_journey;
    go_on(journey);
    AFTER(journey);
}

NOINLINE static void raise_on(struct journey *journey, int flags) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = flags | SA_NODEFER}, before;
    sigaction(SIGUSR1, &action, &before);
    interrupted_journey = journey;
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, NULL);
}

NOINLINE static void signalled(struct journey *journey) {
    raise_on(journey, 0);
    AFTER(journey);
}

// The alternate stack is the upper end of a larger room, so that using more
// than it harms nobody.
NOINLINE static void raise_on_alternate(struct journey *journey, size_t size) {
    size_t room = 1 << 18;
    char *start = malloc(room);
    stack_t stack = {.ss_size = size, .ss_sp = start + room - size}, before;
    sigaltstack(&stack, &before);
    raise_on(journey, SA_ONSTACK);
    if (!(before.ss_flags & SS_ONSTACK))
        sigaltstack(&before, NULL);
    free(start);
}

NOINLINE static void alternate(struct journey *journey) {
    raise_on_alternate(journey, 1 << 17);
    AFTER(journey);
}

NOINLINE static void small_alternate(struct journey *journey) {
    raise_on_alternate(journey, sysconf(_SC_MINSIGSTKSZ) + 1024);
    AFTER(journey);
}

static void begin_coroutine(unsigned low, unsigned high) {
    struct journey *journey = (struct journey *)((uintptr_t)high << 32 | low);
    go_on(journey);
    AFTER(journey);
}

NOINLINE static void coroutine(struct journey *journey) {
    ucontext_t here, there;
    char *stack = malloc(1 << 18);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = 1 << 18;
    there.uc_link = &here;
    uintptr_t pointer = (uintptr_t)journey;
    makecontext(&there, (void (*)(void))begin_coroutine, 2, (unsigned)pointer,
                (unsigned)(pointer >> 32));
    swapcontext(&here, &there);
    free(stack);
}

static int compare(const void *left, const void *right) {
    struct journey *journey = *(struct journey *const *)left;
    if (journey != NULL && journey == *(struct journey *const *)right)
        go_on(journey);
    return 0;
}

// Frames of the C library between ours.
NOINLINE static void sorted(struct journey *journey) {
    struct journey *both[2] = {journey, journey};
    qsort(both, 2, sizeof both[0], compare);
    AFTER(journey);
}

NOINLINE static void go_on(struct journey *journey) {
    char next = *journey->path;
    if (next == 0) {
        journey->probe();
        AFTER(journey);
        return;
    }
    journey->path++;
    switch (next) {
    case 'p': plain(journey); break;
    case 't': twin(journey); break;
    case 'l': large(journey); break;
    case 'v': variable(journey); break;
    case 'a': aligned(journey); break;
    case 'w': aligned_variable(journey); break;
    case 'f': realigned(journey); break;
    case 'r': registers(journey); break;
    case 'q': sorted(journey); break;
    case 's': signalled(journey); break;
    case 'S': alternate(journey); break;
    case 'm': small_alternate(journey); break;
    case 'c': coroutine(journey); break;
    }
    AFTER(journey);
}

void travel(const char *path, void (*probe)(void)) {
    struct journey journey = {probe, path, 0};
    go_on(&journey);
}

NOINLINE static void change_below(void (*probe)(void), int word, void *value) {
    void *volatile *place = (void *volatile *)__builtin_frame_address(0) + word;
    void *kept = *place;
    volatile int turns = 3; // one call for all turns
    for (int turn = 0; turn < turns; turn++) {
        *place = turn == 1 ? value : kept;
        probe();
    }
}

// Calls the probe from one place: with all as it is, with the `word`th word
// above a frame's own address changed, and as it was. The frame is that of a
// function whose caller, this one, needs its frame pointer.
void change_a_word(void (*probe)(void), int word, void *value) {
    volatile char *room = alloca((size_t)word + 1);
    room[0] = 1;
    change_below(probe, word, value);
    room[0] = 2;
}

// Calls the probe with an invalid frame pointer, from a function that says
// that its frame is found by the frame pointer.
void break_frame_pointer(void (*probe)(void), uintptr_t value);
__asm__(".text\n"
        ".globl break_frame_pointer\n"
        ".type break_frame_pointer, @function\n"
        "break_frame_pointer:\n"
        ".cfi_startproc\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "mov %rsi, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "call *%rdi\n"
        "pop %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size break_frame_pointer, . - break_frame_pointer\n");
