/* isa.c - asks the processor what it can do and picks the kernels.
 *
 * avx512 means AVX-512 with VNNI (dot products of bytes); a processor that has the one without the
 * other gains little from it and uses avx2. The compiler's checks include those of the operating
 * system (saved registers). */
#include "backend/cpu/isa.h"

#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>

static bool has_f16c(void) { /* not every compiler knows this one by name */
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

/* the list is made anew for each call: no state, and it is asked once per backend */
const pk_cpu_kernels *pk_isa_available(int32_t i) {
    const pk_cpu_kernels *list[3];
    int32_t               n = 0;
#ifdef __x86_64__
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vnni");
    if (avx2 && avx512) list[n++] = &pk_kernels_avx512;
    if (avx2) list[n++] = &pk_kernels_avx2;
#endif
    list[n++] = &pk_kernels_generic;
    return i >= 0 && i < n ? list[i] : NULL;
}

pk_status pk_isa_choose(const char *wanted, const pk_cpu_kernels **out) {
    char   names[64] = "";
    size_t used = 0;
    *out = pk_isa_available(0);
    if (!wanted || !*wanted) return PK_OK;
    for (int32_t i = 0; (*out = pk_isa_available(i)); i++) {
        if (strcmp((*out)->name, wanted) == 0) return PK_OK;
        const size_t length = strlen((*out)->name);
        memcpy(names + used, " ", 1);
        memcpy(names + used + 1, (*out)->name, length + 1);
        used += length + 1;
    }
    PK_FAIL(PK_ARGUMENT, "PRONK_ISA is \"%s\"; this processor can run:%s", wanted, names);
}
