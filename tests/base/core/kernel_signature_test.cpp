#include "core/kernel_signature.hpp"

#include <array>

#include <doctest/doctest.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

constexpr std::array<LaunchValues::Tensor, 2> kTensors = {{{0x7f0012345678, 40}, {64, 1LL << 40}}};
constexpr std::array<std::int64_t, 2> kSizes = {3, 1LL << 33};
constexpr std::array<double, 2> kScalars = {1.0 / 3, -2};
const LaunchValues kValues{.tensors = kTensors,
                           .sizes = kSizes,
                           .scalars = kScalars,
                           .workspace = 0x7fff00000010,
                           .raster = 8};

// The value that a kernel with one such argument receives.
template <typename T>
T passed(const KernelArgument& argument, const LaunchValues& values = kValues) {
  ArgumentPack pack(ArgumentLayout({argument}), values);
  return *static_cast<T*>(pack.pointers()[0]);
}

TEST_SUITE("ArgumentPack") {
  TEST_CASE("tensors are passed as their addresses, with row strides of 64 bits") {
    using enum ArgumentKind;
    CHECK(passed<std::uint64_t>({tensor, 0}) == 0x7f0012345678);
    CHECK(passed<std::uint64_t>({tensor, 1}) == 64);
    CHECK(passed<std::int64_t>({row_stride, 0}) == 40);
    CHECK(passed<std::int64_t>({row_stride, 1}) == 1LL << 40);
  }

  TEST_CASE("sizes have 64 bits") {
    CHECK(passed<std::int64_t>({ArgumentKind::size, 0}) == 3);
    CHECK(passed<std::int64_t>({ArgumentKind::size, 1}) == 1LL << 33);
  }

  TEST_CASE("scalars have the type that the kernel has them in") {
    CHECK(passed<float>({ArgumentKind::scalar, 0}) == 1.0F / 3);
    CHECK(passed<float>({ArgumentKind::scalar, 1, ElementType::f32}) == -2);
    CHECK(passed<double>({ArgumentKind::scalar, 0, ElementType::f64}) == 1.0 / 3);
  }

  TEST_CASE("scalars are passed as addresses to kernels that take them so") {
    constexpr std::array<std::uint64_t, 2> kAddresses = {0x7f0012345670, 0x7f0012345678};
    const LaunchValues values{.scalar_addresses = kAddresses};
    ArgumentPack pack(
        ArgumentLayout({{ArgumentKind::scalar, 1}, {ArgumentKind::scalar, 0, ElementType::f64}},
                       PointerMode::device),
        values);
    CHECK(*static_cast<std::uint64_t*>(pack.pointers()[0]) == kAddresses[1]);
    CHECK(*static_cast<std::uint64_t*>(pack.pointers()[1]) == kAddresses[0]);
    CHECK_THROWS_AS(
        ArgumentPack(ArgumentLayout({{ArgumentKind::scalar, 1}}, PointerMode::device), kValues),
        Error);
  }

  TEST_CASE("workspace and raster") {
    CHECK(passed<std::uint64_t>({ArgumentKind::workspace}) == 0x7fff00000010);
    CHECK(passed<std::uint32_t>({ArgumentKind::raster}) == 8);
    CHECK(passed<std::uint64_t>({ArgumentKind::workspace}, {}) == 0);
    CHECK(passed<std::uint32_t>({ArgumentKind::raster}, {}) == 1);
  }

  TEST_CASE("tensor maps are given by their address") {
    const ArgumentLayout layout({{ArgumentKind::raster}, {ArgumentKind::tensor_map, 1}});
    REQUIRE(layout.maps().size() == 1);
    CHECK(layout.maps()[0].argument == 1);
    CHECK(layout.maps()[0].tensor == 1);
    ArgumentPack pack(layout, kValues);
    CHECK(pack.pointers()[1] == nullptr);
    int map = 0;
    pack.set_pointer(1, &map);
    CHECK(pack.pointers()[1] == &map);
    CHECK(*static_cast<std::uint32_t*>(pack.pointers()[0]) == 8);
  }

  TEST_CASE("arguments come in the order of the signature") {
    using enum ArgumentKind;
    ArgumentPack pack(ArgumentLayout({{size, 1}, {tensor, 1}, {scalar, 1}, {size, 0}}), kValues);
    CHECK(*static_cast<std::int64_t*>(pack.pointers()[0]) == kSizes[1]);
    CHECK(*static_cast<std::uint64_t*>(pack.pointers()[1]) == 64);
    CHECK(*static_cast<float*>(pack.pointers()[2]) == -2);
    CHECK(*static_cast<std::int64_t*>(pack.pointers()[3]) == 3);
  }

  TEST_CASE("a signature that names what there is not is refused") {
    using enum ArgumentKind;
    for (const KernelArgument& argument :
         {KernelArgument{tensor, 2}, {row_stride, 2}, {size, 2}, {scalar, 2}, {tensor_map, 2}}) {
      CAPTURE(static_cast<int>(argument.kind));
      CHECK_THROWS_AS(ArgumentPack(ArgumentLayout({argument}), kValues), Error);
    }
  }

  TEST_CASE("a signature longer than a launch can pass is refused") {
    KernelSignature signature(ArgumentLayout::kMost, {ArgumentKind::raster});
    CHECK_NOTHROW(ArgumentPack(ArgumentLayout(signature), kValues));
    signature.push_back({ArgumentKind::raster});
    CHECK_THROWS_AS(ArgumentLayout{signature}, Error);
  }

  TEST_CASE("scalars that a launch does not pass are refused") {
    CHECK_THROWS_AS(ArgumentLayout({{ArgumentKind::scalar, ArgumentLayout::kMostScalars}}), Error);
    CHECK_THROWS_AS(ArgumentLayout({{ArgumentKind::scalar, 0, ElementType::f16}}), Error);
  }
}

}  // namespace
}  // namespace autotune
