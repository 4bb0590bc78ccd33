# libcudnn_graph.so.9: the library that answers cudnnGetVersion().
        .include "common.inc"

        returns cudnnGetVersion, 91002
        returns cudnnGetCudartVersion, 12090
        returns cudnnGetMaxDeviceVersion, 1200
        stub    cudnnGraphVersionCheck, cudnnBackendExecute

        .section .rodata
        .globl  cudnn_graph_version
        .type   cudnn_graph_version, @object
        .balign 4
cudnn_graph_version:                    # patch, minor, major, 0
        .byte   2, 10, 9, 0
        .size   cudnn_graph_version, 4
        .balign 4
        .string "cudnnGraphVersionCheck"
        .balign 4
        .long   0x00090a02
