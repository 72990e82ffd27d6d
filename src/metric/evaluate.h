/* evaluate.h - the options of an evaluation with their defaults filled in. */
#ifndef PK_METRIC_EVALUATE_H
#define PK_METRIC_EVALUATE_H
#include "metric/tokenize.h"

typedef struct pk_eval_settings {
    const char  *tokenizer_name;
    pk_tokenizer tokenizer;
    bool         lowercase;
    size_t       n_resamples; /* 0: no bootstrap */
    uint64_t     seed;
    size_t       end[2]; /* tokens of a line's head and tail that are also looked at alone */
} pk_eval_settings;

/* checks the options (NULL: all defaults) */
pk_status pk_eval_settings_read(const pk_eval_options *opt, pk_eval_settings *out);
#endif
