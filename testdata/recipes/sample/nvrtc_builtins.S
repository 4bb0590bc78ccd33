# libnvrtc-builtins.so.12.8
        .include "common.inc"
        stub    nvrtcGetBuiltinHeaders
