// SPDX-License-Identifier: BSD-2-Clause
/*
 * A library without relocations: it may be mapped anywhere, without a linker. Compiled twice, FIRST
 * and SECOND are other names and FRAME another size for functions at the same addresses.
 */

/* Assembles the code so that it is the same for all compilers, but for the size of the frame. */
#define FUNCTION(name, frame)                                                                   \
	__asm__(".text\n\t.p2align 8\n\t.globl " name "\n\t.type " name ", @function\n" name    \
		":\n\t.cfi_startproc\n\tsubq $" frame ", %rsp\n\t.cfi_adjust_cfa_offset " frame \
		"\n\tmovl %esi, %eax\n\txchgq %rax, %rdi\n\tcall *%rax\n\taddq $" frame         \
		", %rsp\n\t.cfi_adjust_cfa_offset -" frame                                      \
		"\n\tret\n\t.cfi_endproc\n\t.size " name ", . - " name "\n")

FUNCTION(FIRST, FRAME);
FUNCTION(SECOND, FRAME);

/*
 * Makes a function that calls getppid itself: the innermost frame is here, with tables or without.
 */
#define CALLER(name)                                                                              \
	__asm__(".text\n\t.p2align 8\n\t.globl " name "\n\t.type " name ", @function\n" name      \
		":\n\t.cfi_startproc\n\tmovl %esi, %edx\n1:\tmovl $110, %eax\n\tsyscall\n\tdecl " \
		"%edx\n\tjnz 1b\n\tret\n\t.cfi_endproc\n\t.size " name ", . - " name "\n")

CALLER(SELF);
