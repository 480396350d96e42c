// Descriptions that are wrong: each gives one line with its place.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "own_kernels/described_kernel.hpp"
#include "tests/own_kernels/kernel_text.hpp"

namespace autotune::test {
namespace {

constexpr const char* kDeclaration =
    "extern \"C\" __global__ void k(float* y, const float* x, int n, float a) {}\n";
constexpr const char* kLaunch =
    "#pragma kernel tune(B = 32, 64) block_size(B) problem_size(n) buffers(x[n], y[n])\n";

struct Wrong {
  std::string text;
  std::string message;  // it begins so
};

// A description that is right but for the lines that are put before it.
std::string with(const std::string& lines) {
  return lines + "\n" + kLaunch + "#pragma kernel scalar(a = 2)\n" + kDeclaration;
}
// One whose launch is described by these lines alone.
std::string only(const std::string& lines, const std::string& declaration = kDeclaration) {
  return lines + "\n" + declaration;
}

std::string refusal(const std::string& text, const std::string& wanted = "") {
  try {
    const KernelFile file = read_text(text);
    const OwnKernels kernels(file, file.kernel(wanted));
    const Operation& operation = *kernels.kernel().operation;
    std::vector<Problem::Size> sizes;
    for (const std::string& name : operation.named_sizes.value()) sizes.push_back({name, 1000});
    static_cast<void>(problem_of(operation, sizes));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

void check(const std::vector<Wrong>& all) {
  for (const Wrong& each : all) {
    CAPTURE(each.text);
    const std::string said = refusal(each.text);
    CAPTURE(said);
    CHECK(said.starts_with(each.message));
    CHECK(said.find('\n') == std::string::npos);
  }
}

}  // namespace

TEST_SUITE("a wrong description") {
  TEST_CASE("is right but for what the cases below change") {
    CHECK(refusal(with("")) == "accepted");
  }

  TEST_CASE("of parameters is refused with its place") {
    check({{with("#pragma kernel tune(A)"), "k.cu:1:22: expected '='"},
           {with("#pragma kernel tune(A =)"), "k.cu:1:"},
           {with("#pragma kernel tune()"), "k.cu:1:21: expected the name of a parameter"},
           {with("#pragma kernel tune(3 = 1, 2)"), "k.cu:1:21: expected the name of a parameter"},
           {with("#pragma kernel tune(A = 1, 1)"), "k.cu:1:21: A has the value 1 twice"},
           {with("#pragma kernel tune(A = 1.5)"), "k.cu:1:"},
           {with("#pragma kernel tune(A = x)"), "k.cu:1:"},
           {with("#pragma kernel tune(A = 1, 2"), "k.cu:1:20: the ')' of this '(' is missing"},
           {with("#pragma kernel tune A = 1"), "k.cu:1:21: expected '('"},
           {with("#pragma kernel tune(n = 1, 2)"), "k.cu:1:21: n is the name"},
           {with("#pragma kernel tune(A = 1) tune(A = 2)"), "k.cu:1:33: A is the name"},
           {with("#pragma kernel tune(A = 1, 2) default(3)"),
            "k.cu:1:39: the default must be one of A's values: 1, 2"},
           {with("#pragma kernel tune(A = 1, 2) default()"), "k.cu:1:"},
           {with("#pragma kernel tune(A = 1, 2) default(1, 2)"),
            "k.cu:1:39: the default must be one of"},
           {with("#pragma kernel tune(A = 9223372036854775808)"), "k.cu:1:"},
           {with("#pragma kernel tune(A = range(1, 100000000000))"), "k.cu:1:"},
           {with("#pragma kernel tune(A = 1 2)"), "k.cu:1:"}});
  }

  TEST_CASE("of expressions is refused with its place") {
    check(
        {{with("#pragma kernel restriction(C > 1)"), "k.cu:1:28: "},
         {with("#pragma kernel restriction(n > )"), "k.cu:1:32: "},
         {with("#pragma kernel restriction(n + * 2)"), "k.cu:1:32: "},
         {with("#pragma kernel restriction((n > 1)"), "k.cu:1:27: the ')' of this '(' is missing"},
         {with("#pragma kernel restriction(n > 1))"), "k.cu:1:34: expected a directive"},
         {with("#pragma kernel restriction(min())"), "k.cu:1:28: "},
         {with("#pragma kernel restriction(foo(n))"), "k.cu:1:28: "},
         {with("#pragma kernel restriction(n ? 1)"), "k.cu:1:"},
         {with("#pragma kernel restriction(n ; 1)"), "k.cu:1:"},
         {with("#pragma kernel restriction(system(\"rm\"))"), "k.cu:1:28: "},
         {with("#pragma kernel set(S = S + 1)"), "k.cu:1:24: "},
         {with("#pragma kernel set(S = R) set(R = S)"), "k.cu:1:24: "},
         {with("#pragma kernel set(n = 2)"), "k.cu:1:20: n has a meaning already"},
         {with("#pragma kernel set(S 2)"), "k.cu:1:22: expected '='"},
         {with("#pragma kernel set(S = " + std::string(100000, '(') + "1)"), "k.cu:1:"},
         {with("#pragma kernel tuning_key(n)"), "k.cu:1:27: a tuning key consists of texts"},
         {with("#pragma kernel work(flops = n)"), "k.cu:1:21: work has"},
         {with("#pragma kernel work(bytes = 4 * B)"), "k.cu:1:29: "},
         {with("#pragma kernel define(N2 = n * B)"), "k.cu:1:"}});
  }

  TEST_CASE("of the launch is refused with its place") {
    const std::string rest = " buffers(x[n], y[n]) scalar(a = 1)";
    check({{only("#pragma kernel problem_size(n)" + rest), "k.cu:2:28: k: the size of a block is "},
           {only("#pragma kernel block_size(32)" + rest), "k.cu:2:28: k: the size of the problem"},
           {only("#pragma kernel block_size(32) block_size(64) problem_size(n)" + rest),
            "k.cu:1:42: it is given twice"},
           {only("#pragma kernel block_size(1, 2, 3, 4) problem_size(n)" + rest), "k.cu:1:36: "},
           {only("#pragma kernel block_size() problem_size(n)" + rest), "k.cu:1:27: "},
           {only("#pragma kernel block_size(32) problem_size(n / 0)" + rest), "k.cu:1:"},
           {only("#pragma kernel block_size(32) problem_size(n / (n - 1000))" + rest), "k.cu:1:"},
           {only("#pragma kernel block_size(32) problem_size(n) grid_divisor(0)" + rest),
            "k.cu:2:28: k: the divisor '0' of the grid is 0"},
           {only("#pragma kernel block_size(0) grid_size(n)" + rest), "k.cu:2:28: "},
           {only("#pragma kernel block_size(32) grid_size(n - 1000)" + rest), "k.cu:2:28: "},
           {only("#pragma kernel block_size(32) grid_size(4000000000 * n)" + rest), "k.cu:2:28: "},
           {only("#pragma kernel block_size(32) grid_size(1, 70000)" + rest), "k.cu:2:28: "},
           {only("#pragma kernel block_size(32) problem_size(n * 4000000000 * 4000000000)" + rest),
            "k.cu:1:"},
           {only("#pragma kernel block_size(32) problem_size(n) shared_memory(0 - n)" + rest),
            "k.cu:2:28: "}});
  }

  TEST_CASE("of arguments is refused with its place") {
    const std::string launch = "#pragma kernel block_size(32) problem_size(n) ";
    check(
        {{only(launch + "buffers(x[n]) scalar(a = 1)"),
          "k.cu:2:28: k: the number of elements of y is missing"},
         {only(launch + "buffers(x[n], y[n])"), "k.cu:2:28: k: the value of a is missing"},
         {only(launch + "buffers(x[n], y[n], z[n]) scalar(a = 1)"),
          "k.cu:1:67: 'z' is not a pointer among the arguments of k: these are y, x"},
         {only(launch + "buffers(x[n], y) scalar(a = 1)"), "k.cu:1:62: expected '['"},
         {only(launch + "buffers(x[n], y[n) scalar(a = 1)"), "k.cu:1:"},
         {only(launch + "buffers(x[n], y[0]) scalar(a = 1)"),
          "k.cu:2:37: k: the buffer y has 0 elements"},
         {only(launch + "buffers(x[n], y[n - 2000]) scalar(a = 1)"),
          "k.cu:2:37: k: the buffer y has -1000 elements"},
         {only(launch + "buffers(x[n], y[n * n * n * n * n * n * n]) scalar(a = 1)"), "k.cu:1:"},
         {only(launch + "tune(T = 1, 2) buffers(x[n], y[n * T]) scalar(a = 1)"),
          "k.cu:1:78: the extent of a buffer may depend on sizes, but not on the parameter T"},
         {only(launch + "buffers(x[n], y[n]) scalar(b = 1)"),
          "k.cu:1:74: 'b' is not an argument by value"},
         {only(launch + "buffers(x[n], y[n]) scalar(a = n)"), "k.cu:1:74: a is not a whole number"},
         {only(launch + "buffers(x[n], y[n]) scalar(a = 1) input(y)"),
          "k.cu:2:28: k has no output"},
         {only(launch + "buffers(x[n], y[n]) scalar(a = 1) output(n)"),
          "k.cu:1:88: 'n' is not a pointer"},
         {only(launch + "buffers(x[n], y[n]) scalar(a = 1) data(x = wavy(1))"), "k.cu:1:"},
         {only(launch + "buffers(x[n], y[n]) scalar(a = 1) data(x = uniform(1))"), "k.cu:1:"},
         {only(launch + "buffers(x[n], y[n]) scalar(a = 1) data(x = integers(n, 1))"),
          "k.cu:1:99: the range of data ends at 1, before it begins at 1000"},
         {only(launch + "buffers(x[n], y[n]) scalar(a = 1) tolerance(x = 1)"), "k.cu:1:"},
         {only(launch + "buffers(x[n], y[n]) scalar(a = 1) tolerance(y = 0 - 1)"), "k.cu:1:"},
         {only(launch + "buffers(x[n], y[n]) scalar(a = 1) unchecked(x)"),
          "k.cu:1:91: x is an input"},
         {only(launch + "buffers(x[n], y[n]) scalar(a = 1) results(x = \"x.npy\")"),
          "k.cu:1:89: x is an input"},
         {only(launch + "buffers(x[n], y[n]) scalar(a = 1) results(y = 1)"),
          "k.cu:1:93: the results of an output are written to a file"},
         {only(launch + "buffers(y[n])", "__global__ void k(std::complex<float>* y, int n) {}\n"),
          "k.cu:2:"},
         {only(launch + "buffers(y[n])", "__global__ void k(bool* y, int n) {}\n"),
          "k.cu:2:25: y "},
         {only(launch + "buffers(y[n])", "__global__ void k(float* y, half h, int n) {}\n"),
          "k.cu:2:34: h has the type 'half'"},
         {only(launch + "buffers(y[n])", "__global__ void k(float*, int n) {}\n"), "k.cu:2:24: "},
         {only(launch + "buffers(y[n])", "__global__ int k(float* y, int n) {}\n"), "k.cu:2:12: "},
         {only(launch + "buffers(y[n])", "void k(float* y, int n) {}\n"), "k.cu:2:6: "},
         {only(launch + "buffers(y[n])", "__global__ void k(float* y, int n"), "k.cu:2:"},
         {only(launch + "buffers(y[n])", "int a;\n"), "k.cu:2:1: the pragmas describe no kernel"}});
  }

  TEST_CASE("of templates and references is refused with its place") {
    const std::string launch = "#pragma kernel block_size(32) problem_size(n) buffers(y[n])\n";
    const std::string other = launch + "__global__ void r(float* y, int n) {}\n";
    check({{launch + "template <typename T> __global__ void k(T* y, int n) {}\n",
            "k.cu:2:20: the type T is not given"},
           {launch + "template <int A> __global__ void k(float* y, int n) {}\n",
            "k.cu:2:15: the template parameter A has no value"},
           {launch + "template <> __global__ void k(float* y, int n) {}\n", "k.cu:2:"},
           {launch + "#pragma kernel typename(T float)\n"
                     "template <typename T> __global__ void k(T* y, int n) {}\n",
            "k.cu:2:27: expected '='"},
           {launch + "#pragma kernel reference(k)\n__global__ void k(float* y, int n) {}\n",
            "k.cu:3:17: the reference 'k' of k must be another"},
           {launch + "#pragma kernel reference(q)\n__global__ void k(float* y, int n) {}\n",
            "k.cu:3:17: the reference 'q' of k must be another"},
           {"#pragma kernel block_size(32) problem_size(n) buffers(y[n]) tune(B = 1, 2) typename(B "
            "= 2)\n"
            "template <int B> __global__ void k(float* y, int n) {}\n",
            "k.cu:1:66: the template argument B is given as 2, but B gets its values here"},
           {launch + "#pragma kernel reference(host(f))\n__global__ void k(float* y, int n) {}\n",
            "k.cu:2:31: the file defines no function 'f' for the host"},
           {launch + "#pragma kernel reference(host(f))\n__global__ void k(float* y, int n) {}\n"
                     "__device__ void f(float*, int) {}\nvoid f(float*, int);\n",
            "k.cu:2:31: the file defines no function 'f' for the host"},
           {launch + "#pragma kernel reference(host())\n__global__ void k(float* y, int n) {}\n",
            "k.cu:2:31: expected the name of a function"},
           {launch + "#pragma kernel reference(r) reference(host(f))\n"
                     "__global__ void k(float* y, int n) {}\n",
            "k.cu:2:39: it is given twice"},
           {"#pragma kernel block_size(32) problem_size(n) buffers(y[n]) reference(host(f))\n"
            "__global__ void k(__half* y, int n) {}\nvoid f(void*, int) {}\n",
            "k.cu:1:76: y has elements of 16 bits"},
           {other + launch + "__global__ void r(float* y, int n) {}\n",
            "k.cu:4:17: two kernels of the file are named r"},
           {other + launch + "__global__ void k(float* y, int n) {}\n",
            "k.cu: it describes 2 kernels: name one of them"},
           {launch + "#pragma kernel reference(r)\n__global__ void k(float* y, int n) {}\n" +
                "#pragma kernel block_size(32) problem_size(n) buffers(z[n])\n"
                "__global__ void r(float* z, int n) {}\n",
            "k.cu:5:17: r must have the sizes and buffers of k"}});
  }

  TEST_CASE("of a file is refused") {
    check(
        {{"", "k.cu:1:1: the file is empty"},
         {"int a;\n", "k.cu: no kernel is described"},
         {std::string("__global__ void k(float* y) {}\n") + kLaunch,
          "k.cu: no kernel is described"},
         {"#pragma kernel tun(B = 1)\n__global__ void k(float* y) {}\n",
          "k.cu:1:16: 'tun' is not a directive"},
         {"#pragma kernel 3\n__global__ void k(float* y) {}\n", "k.cu:1:16: expected a directive"},
         {"\xff\xfe__global__", "k.cu:1:1: this byte is not UTF-8"},
         {std::string("a\0b", 3), "k.cu:1:2: this byte is not UTF-8"},
         {"#include \"absent.h\"\n" + with(""), "k.cu:1:1: 'absent.h' is not there"},
         {"#include \"../../../../../../../../etc/hostname\"\n" + with(""), "k.cu:1:1: '"},
         {"#include \"k.cu\"\n" + with(""), "k.cu:1:1: 'k.cu' is included from itself"}});
    const KernelFile file = read_text(with(""));
    CHECK_THROWS_WITH_AS(static_cast<void>(file.kernel("q")),
                         "k.cu: it describes no kernel 'q': name one of them, e.g. --kernel k.cu:k",
                         UsageError);
    const std::string large(kMaxKernelFileBytes + 1, ' ');
    CHECK(refusal(large).ends_with("has more than 1048576 bytes: a file of kernels may not"));
    CHECK_THROWS_AS(static_cast<void>(read_kernel_file("/nowhere/k.cu")), UsageError);
    CHECK_THROWS_AS(static_cast<void>(read_kernel_file("/tmp")), UsageError);
  }
}

}  // namespace autotune::test
