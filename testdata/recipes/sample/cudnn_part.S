# libcudnn_{ops,cnn,adv}.so.9: the string of the version check, then the packed version; a check at load time.
# Assembled with --defsym ops=1, cnn=1 or adv=1.
        .include "common.inc"

        .type   check_graph, @function
check_graph:
        mov     $1002, %eax             # CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH
        lea     version(%rip), %rcx
        cmpl    $0x00090a02, (%rax)     # 81 38 imm32
        ret

        .ifdef  ops
        stub    cudnnOpsVersionCheck
        .endif
        .ifdef  cnn
        stub    cudnnCnnVersionCheck
        .endif
        .ifdef  adv
        stub    cudnnAdvVersionCheck
        .endif

        .section .rodata
        .balign 4
        .ifdef  ops
        .string "cudnnOpsVersionCheck"
        .endif
        .ifdef  cnn
        .string "cudnnCnnVersionCheck"
        .endif
        .ifdef  adv
        .string "cudnnAdvVersionCheck"
        .endif
        .balign 4
version:
        .long   0x00090a02
