# libcudnn.so.9, the dispatcher: it has no constant of its own, but formats its version into the names that it loads.
        .include "common.inc"

        .type   sublibrary_name, @function
sublibrary_name:                        # snprintf(rdi, 64, "%s.%d.%d.%d", rcx, 9, 10, 2)
        sub     $8, %rsp
        push    $2                      # 6A 02: patch
        mov     $64, %esi
        lea     format(%rip), %rdx      # 48 8D 15 rel32
        mov     $9, %r8d                # 41 B8 imm32: major
        mov     $10, %r9d               # 41 B9 imm32: minor
        xor     %eax, %eax
        call    print_name
        add     $16, %rsp
        ret
print_name:
        ret

        .globl  cudnnGetVersion
        .type   cudnnGetVersion, @function
cudnnGetVersion:                        # the real one asks libcudnn_graph
        jmp     *graph_version(%rip)
        .size   cudnnGetVersion, . - cudnnGetVersion

        stub    cudnnCreate, cudnnDestroy, cudnnConvolutionForward, cudnnBackendExecute

        .section .rodata
format: .string "%s.%d.%d.%d"
        .string "libcudnn_graph.so"
        .data
        .balign 8
graph_version:
        .quad   0
