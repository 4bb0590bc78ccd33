# libpython3.11.so.1.0
        .include "common.inc"
        .globl  Py_GetVersion
        .type   Py_GetVersion, @function
Py_GetVersion:
        lea     version(%rip), %rax
        ret
        .size   Py_GetVersion, . - Py_GetVersion
        stub    Py_BytesMain, PyModule_Create2
        .section .rodata
version:
        .string "3.11.13 (sample)"
