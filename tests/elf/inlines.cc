// SPDX-License-Identifier: BSD-2-Clause
// Inlined methods and templates.

volatile int sink;

namespace shop
{

template <typename T> struct Basket {
	__attribute__((always_inline)) void add(T price)
	{
		sink = sink + (int)price;
	}
	__attribute__((always_inline)) void fill(T price)
	{
		add(price);
		add(price * 2);
	}
	__attribute__((noinline)) void total(T price);
};

template <typename T> void Basket<T>::total(T price)
{
	fill(price);
	sink = sink * 5;
}

} // namespace shop

int main(int argc, char **)
{
	shop::Basket<int>().total(argc);
	return 0;
}
