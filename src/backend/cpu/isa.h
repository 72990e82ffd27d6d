/* isa.h - which kernels this machine can run. */
#ifndef PK_CPU_ISA_H
#define PK_CPU_ISA_H
#include "backend/cpu/kernels.h"

/* wanted: "generic", "avx2", "avx512", or NULL for the best there is; the caller reads
 * $PRONK_ISA */
pk_status pk_isa_choose(const char *wanted, const pk_cpu_kernels **out);
/* the i-th one available here, best first; NULL past the end */
const pk_cpu_kernels *pk_isa_available(int32_t i);
#endif
