# libcudart.so.12: cudaRuntimeGetVersion calls a local function that stores the version, as the real one does.
        .include "common.inc"

        .type   store_version, @function
store_version:
        test    %rdi, %rdi              # 48 85 FF
        je      1f                      # 74 0B
        movl    $12080, (%rdi)          # C7 07 imm32: CUDA 12.8
        xor     %eax, %eax
        ret
        xchg    %ax, %ax
1:      mov     $1, %eax                # cudaErrorInvalidValue
        ret

        .globl  cudaRuntimeGetVersion
        .type   cudaRuntimeGetVersion, @function
cudaRuntimeGetVersion:
        push    %rbx
        mov     %rdi, %rbx
        call    store_version
        pop     %rbx
        ret
        .size   cudaRuntimeGetVersion, . - cudaRuntimeGetVersion

        stub    cudaDriverGetVersion, cudaGetDeviceCount, cudaMalloc, cudaFree, cudaLaunchKernel, cudaSetDevice
