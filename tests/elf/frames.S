/* SPDX-License-Identifier: BSD-2-Clause */
/* Has a function for each rule that unwind tables can say, also those that no compiler emits on demand. */

	.macro function name
	.text
	.balign 16
	.globl \name
	.type \name, @function
\name:
	.endm

	/* The outermost frame: it has no return address. */
	function _start
	.cfi_startproc
	.cfi_undefined rip
	nop
	call by_rsp
	ud2
	.cfi_endproc
	.size _start, . - _start

	function by_rsp
	.cfi_startproc
	sub $24, %rsp
	.cfi_adjust_cfa_offset 24
	nop
	add $24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_endproc
	.size by_rsp, . - by_rsp

	function by_rbp
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register rbp
	nop
	pop %rbp
	.cfi_restore rbp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size by_rbp, . - by_rbp

	/* gcc realigns like this: CFA *(rbp - 8), rbp saved at rbp + 0. */
	function by_slot
	.cfi_startproc
	.cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06
	.cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00
	nop
	ret
	.cfi_endproc
	.size by_slot, . - by_slot

	function by_other
	.cfi_startproc
	.cfi_def_cfa r10, 0
	nop
	ret
	.cfi_endproc
	.size by_other, . - by_other

	/* No table says a third of a word. */
	function by_fraction
	.cfi_startproc
	.cfi_def_cfa_offset 12
	nop
	ret
	.cfi_endproc
	.size by_fraction, . - by_fraction

	/* The return address is somewhere else. */
	function by_register
	.cfi_startproc
	.cfi_register rip, rcx
	nop
	ret
	.cfi_endproc
	.size by_register, . - by_register

	function by_rdi
	.cfi_startproc
	pop %rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rdi
	nop
	jmp *%rdi
	.cfi_endproc
	.size by_rdi, . - by_rdi

	/* The linker's stubs, for which it writes this expression. */
	function by_stub
	.cfi_startproc
	.cfi_escape 0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	nop
	ret
	.cfi_endproc
	.size by_stub, . - by_stub

	function by_signal
	.cfi_startproc
	.cfi_signal_frame
	nop
	ret
	.cfi_endproc
	.size by_signal, . - by_signal

	function without_rule
	nop
	nop
	ret
	.size without_rule, . - without_rule
	.skip 32, 0x90

	/* A label inside, which does not say how long it is. */
	function with_label
	nop
	nop
	.globl label_inside
label_inside:
	nop
	ret
	.size with_label, . - with_label

	/* Labels that do not say how long they are, at the end of a section; some at one place. */
	.section .text.last, "ax", @progbits
	.globl unsized_first
unsized_first:
	nop
	nop
	.globl unsized_last
unsized_last:
	.globl a_label_of_no_size
a_label_of_no_size:
	nop
	ret

	.section .text.after, "ax", @progbits
	.skip 64, 0x90
	.globl far_function
	.type far_function, @function
far_function:
	ret
	.size far_function, . - far_function

	/* Its entry claims more than there is: a CIE and an FDE as the assembler would never write them. */
	.section .text.beyond, "ax", @progbits
	.globl by_excess
	.type by_excess, @function
by_excess:
	ret
	.size by_excess, . - by_excess

	.section .eh_frame, "a", @unwind
cie:
	.long cie_end - cie_start
cie_start:
	.long 0
	.byte 1
	.asciz "zR"
	.uleb128 1
	.sleb128 -8
	.byte 16
	.uleb128 1
	.byte 0x1b
	.byte 0x0c, 7, 16
	.byte 0x90, 1
	.balign 8
cie_end:
	.long fde_end - fde_start
fde_start:
	.long fde_start - cie
	.long by_excess - .
	.long 0x100000
	.uleb128 0
	/* Far beyond the last byte the stack is deeper. */
	.byte 0x04
	.long 0x80000
	.byte 0x0e, 32
	.balign 8
fde_end:

	.section .note.GNU-stack, "", @progbits
