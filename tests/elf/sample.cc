// SPDX-License-Identifier: BSD-2-Clause
// Names to demangle.

namespace shop {

template <typename T> struct Basket {
	__attribute__((noinline)) T total(T price, int number);
};

template <typename T> T Basket<T>::total(T price, int number)
{
	return price * number;
}

} // namespace shop

int main(int argc, char **)
{
	return (int)shop::Basket<double>().total(1.5, argc);
}
