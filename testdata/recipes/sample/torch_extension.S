# torch/_C: the extension module that `import torch` loads.
        .include "common.inc"
        .globl  PyInit__C
        .type   PyInit__C, @function
PyInit__C:
        jmp     initModule@PLT
        .size   PyInit__C, . - PyInit__C
