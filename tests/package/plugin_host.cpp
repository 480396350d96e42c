// Loads a plugin with the library in it, has it multiply, and unloads it. Then it loads the plugin
// and a copy of it, so that the process has the library twice.
// usage: plugin_host PLUGIN COPY
#include <cstdio>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Multiply = float (*)(float*);

Multiply function_of(void* plugin) {
  return reinterpret_cast<Multiply>(dlsym(plugin, "multiply"));
}

// Each copy has its own state, and goes on when the other one is gone.
bool two_copies_work(const char* path, const char* other_path) {
  void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* const other = dlopen(other_path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr || other == nullptr || plugin == other) return false;
  float at_unload[2] = {0, 0};
  bool right = function_of(plugin)(&at_unload[0]) == 35;
  right &= function_of(other)(&at_unload[1]) == 35;
  right &= function_of(plugin)(&at_unload[0]) == 35;
  dlclose(other);
  right &= at_unload[1] == 6 && function_of(plugin)(&at_unload[0]) == 35;
  dlclose(plugin);
  return right && at_unload[0] == 6;
}

// What the library did at forks is gone with it.
bool fork_works() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

int main(int, char** arguments) {
  const char* const path = arguments[1];
  for (int round = 0; round < 2; ++round) {
    void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
      std::printf("%s\n", dlerror());
      return 1;
    }
    const Multiply multiply = function_of(plugin);
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
  if (!two_copies_work(path, arguments[2])) {
    std::printf("two copies disturb each other\n");
    return 1;
  }
  if (!fork_works()) return 1;
}
