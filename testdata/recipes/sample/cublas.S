# libcublas.so.12 contains no version: it asks libcublasLt.
        .include "common.inc"
        .globl  cublasGetVersion_v2
        .type   cublasGetVersion_v2, @function
cublasGetVersion_v2:
        jmp     cublasLtGetVersion@PLT
        .size   cublasGetVersion_v2, . - cublasGetVersion_v2
        stub    cublasCreate_v2, cublasSgemm_v2
