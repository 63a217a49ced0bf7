/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks /proc what descriptors of processes are: the source of struct descriptor_source. */
#pragma once

#include "calls/descriptors.h"

extern const struct descriptor_source descriptor_links;
