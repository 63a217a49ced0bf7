// SPDX-License-Identifier: BSD-2-Clause
/*
 * Waits, as chain.c does: in a template with arguments, in a destructor while an exception passes
 * through, in the handler that catches it, after that, and in what is called when nobody does.
 */
#include <exception>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace shop {

[[gnu::noinline]] void wait_here()
{
	char byte;

	do {
		if (read(STDIN_FILENO, &byte, 1) != 1)
			_exit(3);
	} while (byte != 'q');
	__asm__ volatile("" ::: "memory");
}

struct Guard {
	[[gnu::noinline]] ~Guard()
	{
		wait_here();
		__asm__ volatile("" ::: "memory");
	}
};

template <typename Kind>
[[gnu::noinline]] int order(const std::string &what, Kind amount)
{
	wait_here();
	Guard guard;
	if (amount > 0)
		throw std::runtime_error(what);
	return 1;
}

template <typename Kind>
[[gnu::noinline]] int counter(const std::string &what, Kind amount)
{
	try {
		return order(what, amount);
	} catch (const std::runtime_error &error) {
		wait_here();
	}
	wait_here();
	__asm__ volatile("" ::: "memory");
	return 2;
}

[[noreturn]] void nobody_cares()
{
	wait_here();
	_exit(0);
}

} // namespace shop

int main()
{
	std::set_terminate(shop::nobody_cares);
	shop::counter<double>("tea", 2.5);
	throw 1;
}
