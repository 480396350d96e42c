// Loads a plugin with the library in it, has it multiply, and unloads it.
// usage: plugin_host PLUGIN
#include <cstdio>

#include <dlfcn.h>

int main(int, char** arguments) {
  const char* const path = arguments[1];
  for (int round = 0; round < 2; ++round) {
    void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
      std::printf("%s\n", dlerror());
      return 1;
    }
    const auto multiply = reinterpret_cast<float (*)(float*)>(dlsym(plugin, "multiply"));
    float at_unload = 0;
    const float now = multiply(&at_unload);
    dlclose(plugin);
    if (dlopen(path, RTLD_NOW | RTLD_NOLOAD) != nullptr) {
      std::printf("the plugin is still loaded\n");
      return 1;
    }
    std::printf("%g, while it was unloaded %g\n", static_cast<double>(now),
                static_cast<double>(at_unload));
    if (now != 35 || at_unload != 6) return 1;
  }
}
