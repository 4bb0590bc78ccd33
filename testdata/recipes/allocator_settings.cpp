// Hands a value of PYTORCH_CUDA_ALLOC_CONF to the allocator of PyTorch's own libraries: allocator LIBCUDART DIRECTORY VALUE.
// Ends with 0 if it is accepted and with 1 if the library throws; the process aborts if the libraries throw while they are loaded.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <string>
#include <unistd.h>

#if _GLIBCXX_USE_CXX11_ABI
#define STRING "KNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#else
#define STRING "KSs"
#endif

static void *open_library(const std::string &path) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(9);
    }
    return library;
}

int main(int, char **arguments) {
    const std::string directory = arguments[2], value = arguments[3];
    setenv("PYTORCH_CUDA_ALLOC_CONF", value.c_str(), 1);
    open_library(arguments[1]);
    void *c10 = open_library(directory + "/libc10.so");
    void *cuda = open_library(directory + "/libc10_cuda.so");
    void *shared = dlsym(c10, "_ZN3c1016CachingAllocator26AcceleratorAllocatorConfig8instanceEv");
    void *set = dlsym(cuda, "_ZN3c104cuda20CUDACachingAllocator20setAllocatorSettingsER" STRING);
    void *parse = dlsym(cuda, "_ZN3c104cuda20CUDACachingAllocator19CUDAAllocatorConfig9parseArgsER" STRING);
    if (!set && !parse) {
        fputs("no function that reads the settings\n", stderr);
        _exit(9);
    }
    try {
        if (shared)
            reinterpret_cast<void *(*)()>(shared)();
        if (set)
            reinterpret_cast<void (*)(const std::string &)>(set)(value);
        else  // A member of an object that has numbers only.
            reinterpret_cast<void (*)(void *, const std::string &)>(parse)(calloc(1, 65536), value);
    } catch (const std::exception &error) {
        puts(error.what());
        fflush(stdout);
        _exit(1);
    }
    _exit(0);
}
