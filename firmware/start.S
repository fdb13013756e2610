/* Clears .bss, sets the stack up and begins. The firmware is one for a single core: others wait for ever. */
.section .text.start
.globl _start
_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, __stack_end
    csrr a0, mhartid
    bnez a0, 3f
    la a1, __bss_start
    la a2, __bss_end
1:  bgeu a1, a2, 2f
    sw zero, 0(a1)
    addi a1, a1, 4
    j 1b
2:  call firmware
3:  wfi
    j 3b
