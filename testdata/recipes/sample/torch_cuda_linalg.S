# libtorch_cuda_linalg.so, which libtorch_cuda.so opens when it first needs it.
        .include "common.inc"
        stub    _ZN2at6native18lazy_linalg_sampleEv
        .globl  uses
        .hidden uses
uses:   call    cublasCreate_v2@PLT
        ret
