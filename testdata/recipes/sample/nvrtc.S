# libnvrtc.so.12: nvrtcVersion stores major and minor.
        .include "common.inc"

        .globl  nvrtcVersion
        .type   nvrtcVersion, @function
nvrtcVersion:
        movl    $12, (%rdi)             # C7 07 imm32
        movl    $8, (%rsi)              # C7 06 imm32
        xor     %eax, %eax
        ret
        .size   nvrtcVersion, . - nvrtcVersion

        stub    nvrtcCreateProgram, nvrtcCompileProgram, nvrtcDestroyProgram
