# libcublasLt.so.12
        .include "common.inc"
        returns cublasLtGetVersion, 120804
        returns cublasLtGetCudartVersion, 12080
        stub    cublasLtCreate, cublasLtMatmul
