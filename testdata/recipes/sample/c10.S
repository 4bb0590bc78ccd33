# libc10.so
        .include "common.inc"
        stub    _ZN3c105ErrorEv
