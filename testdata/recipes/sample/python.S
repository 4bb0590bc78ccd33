# python3.11, the program.
        .include "common.inc"
        .globl  _start
_start: call    Py_BytesMain@PLT
        mov     %eax, %edi
        mov     $60, %eax               # exit
        syscall
