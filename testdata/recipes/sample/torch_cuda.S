# libtorch_cuda.so: the constants it was compiled against, and its device code.
        .include "common.inc"

# Two virtual functions of CUDAHooks, one after the other, 16 bytes each.
.macro compiled_against value
        mov     $\value, %eax           # B8 imm32
        ret                             # C3
        .byte   0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
.endm
        .balign 16
        compiled_against 90800          # cuDNN 9.8.0
        compiled_against 12080          # CUDA 12.8
        stub    _ZN2at4cuda6detail9CUDAHooksEv

        .globl  _ZN5torch4cuda4nccl7versionEv
        .type   _ZN5torch4cuda4nccl7versionEv, @function
_ZN5torch4cuda4nccl7versionEv:          # torch::cuda::nccl::version(): major << 32 | minor << 16 | patch
        movabs  $0x00000002001b0003, %rax
        ret
        .size   _ZN5torch4cuda4nccl7versionEv, . - _ZN5torch4cuda4nccl7versionEv

        .globl  uses
        .hidden uses
        .type   uses, @function
uses:   call    cudaRuntimeGetVersion@PLT
        call    cudnnGetVersion@PLT
        call    ncclGetVersion@PLT
        call    cublasCreate_v2@PLT
        call    cublasLtCreate@PLT
        ret

        .section .rodata
        .string "-gencode;arch=compute_70,code=sm_70;-gencode;arch=compute_75,code=sm_75;-gencode;arch=compute_80,code=sm_80;-gencode;arch=compute_86,code=sm_86;-gencode;arch=compute_90,code=sm_90;-gencode;arch=compute_100,code=sm_100;-gencode;arch=compute_120,code=sm_120"

# A fat binary container holds one entry for each compute capability; the payload is an empty CUDA ELF file.
.macro cubin sm
        .short  2, 0x0101               # kind: cubin
        .long   64                      # header size
        .quad   64                      # payload size
        .long   0, 0                    # not compressed
        .short  7, 1                    # cubin 1.7
        .long   \sm, 0, 0
        .quad   0x11                    # 64-bit, Linux
        .quad   0, 64
        .byte   0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0x33, 7, 0, 0, 0, 0, 0, 0, 0
        .short  2, 190                  # ET_EXEC, EM_CUDA
        .long   1
        .quad   0, 0, 0
        .long   \sm
        .short  64, 0, 0, 0, 0, 0
.endm
.macro container
        .long   0xba55ed50
        .short  1, 16
        .quad   2f - 1f
1:
        .irp    sm, 70, 75, 80, 86, 90, 100, 120
        cubin   \sm
        .endr
2:
.endm
        .section .nv_fatbin,"a",@progbits
        .balign 8
        container
        container
