/* SPDX-License-Identifier: BSD-2-Clause */
/* Call stacks, as all objects have them: bpftruss-json(5). */
#pragma once

#include "json/json.h"
#include "model/stack.h"

/* Adds frames and end of a stack to the object that is open. */
void json_put_stack(struct json_writer *to, const struct stack *stack);
