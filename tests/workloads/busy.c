// SPDX-License-Identifier: BSD-2-Clause
/* Makes calls without a pause until it is killed: what an attach has to cope with. */
#include "table.h"

int main(void)
{
	for (;;)
		raw_call(SYS_getppid, 0);
}
