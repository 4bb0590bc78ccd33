# libtorch_python.so holds the release as its only string of three numbers.
        .include "common.inc"
        stub    THPModule_initNames, initModule, THPVariableClass
        .globl  uses
        .hidden uses
uses:   call    _ZN5torch4cuda4nccl7versionEv@PLT
        call    cudaGetDeviceCount@PLT
        ret
        .section .rodata
        .string "torch._C"
        .string "2.8.0"
        .string "__version__"
