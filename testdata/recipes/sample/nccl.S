# libnccl.so.2
        .include "common.inc"

        .globl  ncclGetVersion
        .type   ncclGetVersion, @function
ncclGetVersion:
        test    %rdi, %rdi              # 48 85 FF
        je      1f                      # 74 09
        movl    $22703, (%rdi)          # C7 07 imm32: 2.27.3
        xor     %eax, %eax
        ret
1:      mov     $4, %eax                # ncclInvalidArgument
        ret
        .size   ncclGetVersion, . - ncclGetVersion

        stub    ncclCommInitRank, ncclAllReduce, ncclCommDestroy

        .section .rodata
        .string "NCCL version 2.27.3+cuda12.9"
