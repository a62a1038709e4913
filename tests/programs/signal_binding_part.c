/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Functions that signal_binding.c has bound at their first call: 1000 that call
 * one another through the linkage table.
 */
#define TEN(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define HUNDRED(M, n)                                                                              \
    TEN(M, n##0) TEN(M, n##1) TEN(M, n##2) TEN(M, n##3) TEN(M, n##4)                               \
    TEN(M, n##5) TEN(M, n##6) TEN(M, n##7) TEN(M, n##8) TEN(M, n##9)
#define THOUSAND(M)                                                                                \
    HUNDRED(M, 0) HUNDRED(M, 1) HUNDRED(M, 2) HUNDRED(M, 3) HUNDRED(M, 4)                          \
    HUNDRED(M, 5) HUNDRED(M, 6) HUNDRED(M, 7) HUNDRED(M, 8) HUNDRED(M, 9)

#define DEFINE(n)                                                                                  \
    long function_with_a_long_name_to_compare_##n(long value);                                     \
    long function_with_a_long_name_to_compare_##n(long value)                                      \
    {                                                                                              \
        return value + 1;                                                                          \
    }
#define CALL(n) value = function_with_a_long_name_to_compare_##n(value);

THOUSAND(DEFINE)

long call_all(long value);
long call_all(long value)
{
    THOUSAND(CALL)
    return value;
}
