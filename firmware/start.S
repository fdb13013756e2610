/* Clears .bss, sets the stack up and begins. Each core does so in its own tightly coupled memory. */
.section .text.start
.globl _start
_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, __stack_end
    la a1, __bss_start
    la a2, __bss_end
1:  bgeu a1, a2, 2f
    sw zero, 0(a1)
    addi a1, a1, 4
    j 1b
2:  call firmware
3:  wfi
    j 3b
