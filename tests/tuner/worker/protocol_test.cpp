// Encoding of messages, and what becomes of bytes that are none.
#include "tuner/worker/protocol.hpp"

#include <limits>
#include <random>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace autotune {
namespace {

using std::string_literals::operator""s;

const std::string kBytes =
    "\x7f"
    "ELF\0\xff\xfe binary \0"s;

MeasureRequest full_measure_request() {
  return {.problem = Problem("gemm", {{"m", 129}, {"n", 2147483647}}, {{"layout", "TN"}}),
          .data = {.text = "129 TN",
                   .tensors = {{"a", TensorRole::input, ElementType::i32, 2, 3, 4, 5, 20},
                               {"c", TensorRole::output, ElementType::f64, 7, 8, 8},
                               {"d", TensorRole::inout, ElementType::f32, 1, 8, 8}},
                   .sizes = {129, 2147483647},
                   .scalars = {1.5, -1.0 / 3},
                   .work = {1e30, 0.1},
                   .error_bound = 19.25,
                   .contents = {{.kind = TensorContent::Kind::file, .file = "a \xff.npy"},
                                {.expected = "c.npy", .tolerance = Tolerance{0.5, 1.0 / 3}},
                                {.kind = TensorContent::Kind::normal,
                                 .first = 1.0 / 3,
                                 .second = 1e-300,
                                 .tolerance = Tolerance{std::numeric_limits<double>::infinity()},
                                 .results = "d \xff.npy"}},
                   .launched_reference = LaunchedReference{.name = "plain",
                                                           .source = kBytes,
                                                           .options = {"-DX=1"},
                                                           .signature = {{ArgumentKind::size, 3}},
                                                           .geometry = {.grid = {1, 2, 3}},
                                                           .host_function = "by_hand"},
                   .reference = {kBytes, {-1, 1LL << 40}, 12}},
          .kernel_name = "gemm",
          .cubin = kBytes,
          .signature = {{ArgumentKind::tensor, 1},
                        {ArgumentKind::scalar, 1, ElementType::f64},
                        {ArgumentKind::tensor_map, 2}},
          .geometry = {.grid = {3, 2, 1}, .block = {16, 8, 1}, .dynamic_shared_bytes = 100000},
          .input = InputData::linear,
          .seed = std::numeric_limits<std::uint64_t>::max(),
          .verify = false,
          .timing = {.samples = 9,
                     .min_sample_us = 0.1,
                     .launches_per_sample = 4,
                     .stop_above_us = 1.0 / 3},
          .baseline = "cublas",
          .algorithm = 3};
}

MeasureReply full_measure_reply() {
  return {.status = TrialStatus::wrong_result,
          .detail = "not UTF-8: \xff\xc3",
          .measurement = {.samples_us = {1.25, 1.0 / 3, 1e9},
                          .median_us = 1.25,
                          .spread_us = 0.5,
                          .launches_per_sample = 7,
                          .screened_out = true,
                          .sm_clock_mhz = 1980,
                          .throttle_reasons = 0x8000000000000001},
          .verification = {.integers_exact = true,
                           .max_error_ratio = 2.5,
                           .error_bound = 19,
                           .frobenius_error = 1e-7},
          .poisoned = true};
}

std::vector<WorkerRequest> sample_requests() {
  return {DescribeCompilerRequest{}, CalibrateRequest{},
          CompileRequest{"gemm", "a\0b"s, {"-DX=1", "", "--no-cache"}}, full_measure_request()};
}

std::vector<WorkerReply> sample_replies() {
  return {DescribeCompilerReply{"13.0.88", "/usr/lib/libnvrtc.so", {"sm_75", "sm_90"}, ""},
          CalibrateReply{66900.5, 4000, "none"},
          CompileReply{true, kBytes, "log \xff", {.registers = 128, .compile_ms = 0.1}, "why"},
          full_measure_reply()};
}

// Bytes flipped, cut out, doubled, or put in place of others, a few times over.
std::string mutated(std::string bytes, std::mt19937_64& random) {
  for (std::uint64_t changes = 1 + random() % 4; changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = random() % bytes.size();
    const std::size_t length = 1 + random() % 8;
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 1:
        bytes[at] = static_cast<char>(random());
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, length));
        break;
      default:
        bytes.resize(at);
    }
  }
  return bytes;
}

TEST_SUITE("Protocol") {
  TEST_CASE("requests come back as they were") {
    const auto request =
        std::get<MeasureRequest>(decode_request(encode(WorkerRequest(full_measure_request()))));
    const MeasureRequest expected = full_measure_request();
    CHECK(request.problem == expected.problem);
    CHECK(request.data.text == expected.data.text);
    CHECK(request.data.tensors == expected.data.tensors);
    CHECK(request.data.sizes == expected.data.sizes);
    CHECK(request.data.scalars == expected.data.scalars);
    CHECK(request.data.work.operations == expected.data.work.operations);
    CHECK(request.data.work.bytes == expected.data.work.bytes);
    CHECK(request.data.error_bound == expected.data.error_bound);
    CHECK(request.data.contents == expected.data.contents);
    CHECK(request.data.launched_reference == expected.data.launched_reference);
    CHECK(request.data.reference == expected.data.reference);
    CHECK(request.kernel_name == expected.kernel_name);
    CHECK(request.cubin == expected.cubin);
    CHECK(request.geometry == expected.geometry);
    CHECK(request.input == expected.input);
    CHECK(request.seed == expected.seed);
    CHECK(request.verify == expected.verify);
    CHECK(request.signature == expected.signature);
    CHECK(request.timing.samples == expected.timing.samples);
    CHECK(request.timing.min_sample_us == expected.timing.min_sample_us);
    CHECK(request.timing.launches_per_sample == expected.timing.launches_per_sample);
    CHECK(request.timing.stop_above_us == expected.timing.stop_above_us);
    CHECK(request.baseline == expected.baseline);
    CHECK(request.algorithm == expected.algorithm);

    const CompileRequest compile{"gemm", "a\0b"s, {"-DX=1", "", "--no-cache"}};
    const auto copy = std::get<CompileRequest>(decode_request(encode(WorkerRequest(compile))));
    CHECK(copy.name == compile.name);
    CHECK(copy.source == compile.source);
    CHECK(copy.options == compile.options);
  }

  TEST_CASE("replies come back as they were") {
    const auto reply =
        std::get<MeasureReply>(decode_reply(encode(WorkerReply(full_measure_reply()))));
    const MeasureReply expected = full_measure_reply();
    CHECK(reply.status == expected.status);
    CHECK(reply.detail == expected.detail);
    CHECK(reply.measurement == expected.measurement);
    CHECK(reply.verification == expected.verification);
    CHECK(reply.poisoned == expected.poisoned);

    const auto compiled = std::get<CompileReply>(decode_reply(encode(sample_replies()[2])));
    CHECK(compiled.ok);
    CHECK(compiled.cubin == kBytes);
    CHECK(compiled.log == "log \xff");
    CHECK(compiled.problem == "why");
    CHECK(compiled.resources == Resources{.registers = 128, .compile_ms = 0.1});

    const auto compiler =
        std::get<DescribeCompilerReply>(decode_reply(encode(sample_replies()[0])));
    CHECK(compiler.build == "13.0.88");
    CHECK(compiler.path == "/usr/lib/libnvrtc.so");
    CHECK(compiler.architectures == std::vector<std::string>{"sm_75", "sm_90"});

    const auto rates = std::get<CalibrateReply>(decode_reply(encode(sample_replies()[1])));
    CHECK(rates.fma_gflops == 66900.5);
    CHECK(rates.copy_gbps == 4000);
    CHECK(rates.problem == "none");
  }

  TEST_CASE("every kind keeps its kind") {
    for (const WorkerRequest& request : sample_requests()) {
      CHECK(decode_request(encode(request)).index() == request.index());
    }
    for (const WorkerReply& reply : sample_replies()) {
      CHECK(decode_reply(encode(reply)).index() == reply.index());
      CHECK(is_poisoned(decode_reply(encode(reply))) == is_poisoned(reply));
    }
  }

  TEST_CASE("bytes that are not a message are refused") {
    const std::string cases[] = {
        "",
        "no CBOR",
        "\xa0",                    // an empty object
        "\xa1\x64kind\x65other"s,  // an unknown kind
        "\xa1\x64kind\x67"
        "compile"s,                              // a kind without its members
        "\xa1\x64kind\x01",                      // a kind that is a number
        std::string(1 << 20, '\x81'),            // a million arrays in each other
        "\x9b\x7f\xff\xff\xff\xff\xff\xff\xff",  // an array of 2^63 - 1 elements
        "\x5b\x7f\xff\xff\xff\xff\xff\xff\xff",  // as many bytes
    };
    for (const std::string& bytes : cases) {
      CHECK_THROWS_AS(static_cast<void>(decode_request(bytes)), Error);
      CHECK_THROWS_AS(static_cast<void>(decode_reply(bytes)), Error);
    }
  }

  TEST_CASE("a tensor of no known role or content is refused") {
    using nlohmann::json;
    const json message = json::from_cbor(encode(WorkerRequest(full_measure_request())));
    const auto is_refused = [&](const char* list, std::size_t place, std::int64_t number) {
      json changed = message;
      changed["data"][list][0][place] = number;
      const std::vector<std::uint8_t> bytes = json::to_cbor(changed);
      CHECK_THROWS_WITH_AS(static_cast<void>(decode_request({bytes.begin(), bytes.end()})),
                           "malformed worker message: no such kind", Error);
    };
    for (const std::int64_t number : {-1, 7, 256}) {
      is_refused("tensors", 1, number);
      is_refused("contents", 0, number);
    }
    json fewer = message;
    fewer["data"]["contents"].erase(0);
    const std::vector<std::uint8_t> bytes = json::to_cbor(fewer);
    CHECK_THROWS_AS(static_cast<void>(decode_request({bytes.begin(), bytes.end()})), Error);
  }

  TEST_CASE("an argument that no signature can have is refused") {
    using nlohmann::json;
    const json message = json::from_cbor(encode(WorkerRequest(full_measure_request())));
    for (const std::int64_t index : {-1, 256, 257}) {
      for (const std::size_t place : {0, 1}) {  // of an argument's kind, and of its index
        json changed = message;
        changed["signature"][0][place] = index;
        const std::vector<std::uint8_t> bytes = json::to_cbor(changed);
        CHECK_THROWS_AS(static_cast<void>(decode_request({bytes.begin(), bytes.end()})), Error);
      }
    }
  }

  TEST_CASE("tensors and references that no problem has are refused") {
    using nlohmann::json;
    const json message = json::from_cbor(encode(WorkerRequest(full_measure_request())));
    const auto check_refused = [](const json& changed) {
      const std::vector<std::uint8_t> bytes = json::to_cbor(changed);
      CHECK_THROWS_AS(static_cast<void>(decode_request({bytes.begin(), bytes.end()})), Error);
    };
    const std::vector<std::pair<std::size_t, json>> wrong = {
        {1, "output"}, {2, "f31"}, {3, 0}, {4, -1}, {5, -1}, {6, 0}, {7, -1}};
    for (const auto& [place, value] : wrong) {
      json changed = message;
      changed["data"]["tensors"][0][place] = value;
      CAPTURE(place);
      check_refused(changed);
    }
    json changed = message;
    changed["data"]["reference_blocks"] = -1;
    check_refused(changed);
    changed = message;
    changed["data"]["reference"] = "text";
    check_refused(changed);
  }

  TEST_CASE("figures that no measurement has are refused") {
    MeasureReply good = full_measure_reply();
    good.status = TrialStatus::ok;
    CHECK_NOTHROW(static_cast<void>(decode_reply(encode(WorkerReply(good)))));
    const double inf = std::numeric_limits<double>::infinity();
    for (const double wrong : {inf, -inf, std::numeric_limits<double>::quiet_NaN(), -1.0, 1e12}) {
      CAPTURE(wrong);
      std::vector<WorkerReply> replies = {CalibrateReply{wrong, 1, ""},
                                          CalibrateReply{1, wrong, ""},
                                          CompileReply{.resources = {.compile_ms = 2 * wrong}}};
      for (double* figure : {&good.measurement.samples_us[1], &good.measurement.median_us,
                             &good.measurement.spread_us, &good.verification.max_error_ratio,
                             &good.verification.error_bound, &good.verification.frobenius_error}) {
        const double before = std::exchange(*figure, wrong);
        replies.emplace_back(good);
        *figure = before;
      }
      for (const WorkerReply& reply : replies) {
        CHECK_THROWS_AS(static_cast<void>(decode_reply(encode(reply))), Error);
      }
    }
    for (const auto& rates : {CalibrateReply{0, 1, ""}, CalibrateReply{1, 0, ""}}) {
      CHECK_THROWS_AS(static_cast<void>(decode_reply(encode(WorkerReply(rates)))), Error);
    }
    CHECK_NOTHROW(
        static_cast<void>(decode_reply(encode(WorkerReply(CalibrateReply{0, 0, "why"})))));
    for (double* figure : {&good.measurement.samples_us[1], &good.measurement.median_us}) {
      for (const double too_short : {0.0, 5e-324, 1e-300, 9e-4}) {
        const double before = std::exchange(*figure, too_short);
        CHECK_THROWS_AS(static_cast<void>(decode_reply(encode(WorkerReply(good)))), Error);
        *figure = before;
      }
    }
    // The errors of a wrong result may be anything.
    good.status = TrialStatus::wrong_result;
    good.verification.frobenius_error = inf;
    CHECK_NOTHROW(static_cast<void>(decode_reply(encode(WorkerReply(good)))));
  }

  TEST_CASE("a correct kernel's reply has the samples that were asked for") {
    const MeasureReply none;
    CHECK(answers(none, MeasureRequest{.timing = {.samples = 0}}));
    CHECK_FALSE(answers(none, MeasureRequest{.timing = {.samples = 1}}));
    CHECK(answers(full_measure_reply(), MeasureRequest{}));
    CHECK(answers(MeasureReply{.status = TrialStatus::launch_failed}, MeasureRequest{}));
    CHECK_FALSE(answers(CalibrateReply{}, MeasureRequest{}));
  }

  TEST_CASE("more values than a message has are refused before they take memory") {
    const std::string bytes = "\x9a\x01\x00\x00\x00"s + std::string(1 << 24, '\xf6');  // nulls
    CHECK_THROWS_WITH_AS(static_cast<void>(decode_reply(bytes)),
                         doctest::Contains("too many values"), Error);
    const std::string pieces(std::size_t{10} << 20, '\x7f');  // of text, in each other
    CHECK_THROWS_AS(static_cast<void>(decode_reply(pieces)), Error);
  }

  TEST_CASE("a message cut off anywhere is refused") {
    const std::string bytes = encode(WorkerReply(full_measure_reply()));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      CHECK_THROWS_AS(static_cast<void>(decode_reply(bytes.substr(0, length))), Error);
    }
  }

  TEST_CASE("mutated messages are read or refused and nothing else") {
    std::mt19937_64 random(20);
    int refused = 0;
    const auto requests = sample_requests();
    const auto replies = sample_replies();
    for (int i = 0; i < 10'000; ++i) {
      const std::size_t which = random() % requests.size();
      try {
        if (i % 2 == 0) {
          static_cast<void>(decode_request(mutated(encode(requests[which]), random)));
        } else {
          static_cast<void>(decode_reply(mutated(encode(replies[which]), random)));
        }
      } catch (const Error&) {
        ++refused;
      }
    }
    CHECK(refused > 1000);
    CHECK(refused < 10'000);
  }

  TEST_CASE("random bytes are refused") {
    std::mt19937_64 random(21);
    for (int i = 0; i < 1000; ++i) {
      std::string bytes(random() % 200, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      CHECK_THROWS_AS(static_cast<void>(decode_request(bytes)), Error);
    }
  }
}

}  // namespace
}  // namespace autotune
