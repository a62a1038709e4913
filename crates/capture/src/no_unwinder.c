// SPDX-License-Identifier: MIT OR Apache-2.0

// Rust's standard library is linked in, unused except for what it refers to: the
// unwinder of libgcc_s.so.1. Loading that library takes about as long as all else that
// this one adds to the start of a process, and most programs in C do not need it. So
// the link editor uses these instead (`--wrap`, in build.rs). They are never called:
// nothing here panics, and no function of ours has anything to clean up when an
// exception or a cancelled thread unwinds through it; `scripts/check-capture` looks at
// the machine code for both.

// _URC_END_OF_STACK: there is no frame to unwind to. Rust then aborts.
#define END_OF_STACK 5

int __wrap__Unwind_RaiseException(void *exception) { (void)exception; return END_OF_STACK; }
int __wrap__Unwind_Backtrace(void *callback, void *data) { (void)callback; (void)data; return END_OF_STACK; }
void __wrap__Unwind_Resume(void *exception) { (void)exception; __builtin_trap(); }
void __wrap__Unwind_DeleteException(void *exception) { (void)exception; }

unsigned long __wrap__Unwind_GetIP(void *context) { (void)context; return 0; }
unsigned long __wrap__Unwind_GetIPInfo(void *context, int *before) { (void)context; *before = 0; return 0; }
unsigned long __wrap__Unwind_GetRegionStart(void *context) { (void)context; return 0; }
unsigned long __wrap__Unwind_GetTextRelBase(void *context) { (void)context; return 0; }
unsigned long __wrap__Unwind_GetDataRelBase(void *context) { (void)context; return 0; }
void *__wrap__Unwind_GetLanguageSpecificData(void *context) { (void)context; return 0; }
void __wrap__Unwind_SetGR(void *context, int number, unsigned long value) { (void)context; (void)number; (void)value; }
void __wrap__Unwind_SetIP(void *context, unsigned long value) { (void)context; (void)value; }
