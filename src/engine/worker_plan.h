/* worker_plan.h - limits of a session, from what strategies say that a sentence may ask. */
#ifndef PK_ENGINE_WORKER_PLAN_H
#define PK_ENGINE_WORKER_PLAN_H
#include "engine/worker.h"

/* what strategies know of the model; c outlives it */
pk_conventions pk_plan_conventions(const pk_config *c);
/* The limits of the model's network, or of its drafter's. c: the network's own; at_once: source
 * tokens that are worth encoding at once on the backend. Returns the most that one sentence may
 * ask. */
pk_strategy_limits pk_plan_network(const pk_worker_options *o, const pk_conventions *model,
                                   const pk_config *c, int32_t at_once, bool drafter,
                                   pk_session_limits *out);
pk_strategy_limits pk_plan_larger(pk_strategy_limits a, pk_strategy_limits b);
#endif
