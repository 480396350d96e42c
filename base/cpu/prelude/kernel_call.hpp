// How an image calls its function. Put behind the definitions of words of CUDA C++.
#pragma once

// Calls a kernel with a pointer to each of its arguments; the compiler appends an instance for the
// kernel that it compiles. Elements of braces are evaluated from left to right.
struct autotune_call {
  template <typename... Parameters>
  autotune_call(void (*kernel)(Parameters...), Parameters... arguments) {
    kernel(arguments...);
  }
};
struct autotune_arguments {
  template <typename Parameter>
  Parameter take() {
    return *static_cast<Parameter*>(*next++);
  }
  void** next;
};
template <typename... Parameters>
void autotune_call_kernel(void (*kernel)(Parameters...), void** arguments) {
  autotune_arguments rest{arguments};
  autotune_call{kernel, rest.take<Parameters>()...};
}
