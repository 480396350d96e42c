#include "tuner/worker/protocol.hpp"

#include <limits>

#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "core/json.hpp"

namespace autotune {

using nlohmann::json;

namespace {

// Cubins and sources are bytes, not text: CBOR keeps them as they are.
json binary(const std::string& bytes) {
  return json::binary({bytes.begin(), bytes.end()});
}

std::string bytes_of(const json& value) {
  const auto& bytes = value.get_binary();
  return {bytes.begin(), bytes.end()};
}

json form_of(const KernelSignature& signature) {
  json form = json::array();
  for (const KernelArgument& argument : signature) {
    form.push_back({static_cast<int>(argument.kind), argument.index, to_string(argument.type)});
  }
  return form;
}

KernelSignature signature_from(const json& form) {
  KernelSignature signature;
  for (const json& argument : form) {
    const auto kind = argument.at(0).get<std::int64_t>();
    const auto index = argument.at(1).get<std::int64_t>();
    if (kind < 0 || kind > static_cast<std::int64_t>(ArgumentKind::tensor_map) || index < 0 ||
        index > std::numeric_limits<std::uint8_t>::max()) {
      throw Error("malformed worker message: no such argument");
    }
    signature.push_back({static_cast<ArgumentKind>(kind), static_cast<std::uint8_t>(index),
                         element_type_from_string(argument.at(2).get<std::string>())});
  }
  return signature;
}

json form_of(const TimingPlan& plan) {
  return {{"samples", plan.samples},
          {"min_sample_us", plan.min_sample_us},
          {"launches_per_sample", plan.launches_per_sample},
          {"stop_above_us", plan.stop_above_us}};
}

TimingPlan timing_from(const json& form) {
  return {form.at("samples"), form.at("min_sample_us"), form.at("launches_per_sample"),
          form.at("stop_above_us")};
}

json body(const DescribeCompilerRequest&) {
  return {{"kind", "describe_compiler"}};
}
json body(const CalibrateRequest&) {
  return {{"kind", "calibrate"}};
}

json body(const CompileRequest& request) {
  return {{"kind", "compile"},
          {"name", request.name},
          {"source", binary(request.source)},
          {"options", request.options}};
}

json body(const MeasureRequest& request) {
  return {{"kind", "measure"},
          {"problem", request.problem},
          {"kernel_name", request.kernel_name},
          {"cubin", binary(request.cubin)},
          {"signature", form_of(request.signature)},
          {"geometry", request.geometry},
          {"input", static_cast<int>(request.input)},
          {"seed", request.seed},
          {"verify", request.verify},
          {"timing", form_of(request.timing)},
          {"baseline", request.baseline}};
}

json body(const DescribeCompilerReply& reply) {
  return {{"kind", "describe_compiler"},
          {"build", reply.build},
          {"path", reply.path},
          {"architectures", reply.architectures},
          {"problem", reply.problem}};
}

json body(const CompileReply& reply) {
  return {{"kind", "compile"},
          {"ok", reply.ok},
          {"cubin", binary(reply.cubin)},
          {"log", binary(reply.log)},
          {"resources", reply.resources}};
}

json body(const MeasureReply& reply) {
  return {{"kind", "measure"},
          {"status", to_string(reply.status)},
          {"detail", binary(reply.detail)},
          {"measurement", reply.measurement},
          {"verification", reply.verification},
          {"poisoned", reply.poisoned}};
}

json body(const CalibrateReply& reply) {
  return {{"kind", "calibrate"},
          {"fma_gflops", reply.fma_gflops},
          {"copy_gbps", reply.copy_gbps},
          {"problem", reply.problem}};
}

WorkerRequest request_from(const json& message) {
  const auto kind = message.at("kind").get<std::string>();
  if (kind == "describe_compiler") return DescribeCompilerRequest{};
  if (kind == "calibrate") return CalibrateRequest{};
  if (kind == "compile") {
    return CompileRequest{message.at("name"), bytes_of(message.at("source")),
                          message.at("options")};
  }
  if (kind != "measure") throw Error("malformed worker message: no such request");
  MeasureRequest request;
  message.at("problem").get_to(request.problem);
  message.at("kernel_name").get_to(request.kernel_name);
  request.cubin = bytes_of(message.at("cubin"));
  request.signature = signature_from(message.at("signature"));
  message.at("geometry").get_to(request.geometry);
  request.input = message.at("input").get<int>() == 1 ? InputData::linear : InputData::uniform;
  message.at("seed").get_to(request.seed);
  message.at("verify").get_to(request.verify);
  request.timing = timing_from(message.at("timing"));
  message.at("baseline").get_to(request.baseline);
  return request;
}

WorkerReply reply_from(const json& message) {
  const auto kind = message.at("kind").get<std::string>();
  if (kind == "describe_compiler") {
    return DescribeCompilerReply{message.at("build"), message.at("path"),
                                 message.at("architectures"), message.at("problem")};
  }
  if (kind == "calibrate") {
    return CalibrateReply{message.at("fma_gflops"), message.at("copy_gbps"), message.at("problem")};
  }
  if (kind == "compile") {
    return CompileReply{message.at("ok"), bytes_of(message.at("cubin")),
                        bytes_of(message.at("log")), message.at("resources").get<Resources>()};
  }
  if (kind != "measure") throw Error("malformed worker message: no such reply");
  MeasureReply reply;
  reply.status = trial_status_from_string(message.at("status"));
  reply.detail = bytes_of(message.at("detail"));
  message.at("measurement").get_to(reply.measurement);
  message.at("verification").get_to(reply.verification);
  message.at("poisoned").get_to(reply.poisoned);
  return reply;
}

template <typename Message>
std::string encoded(const Message& message) {
  return std::visit(
      [](const auto& alternative) {
        std::string bytes;
        json::to_cbor(body(alternative), bytes);
        return bytes;
      },
      message);
}

// The parser recurses into arrays and objects: this pass ends it before a message of nothing but
// opening brackets has used up the stack.
class DepthLimit : public json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool start_array(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_object() override { return --depth_ >= 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  static constexpr int kMaxDepth = 8;  // messages have 4
  int depth_ = 0;
};

// Whatever is wrong with the bytes comes out as one Error.
template <typename Read>
auto decoded(const std::string& bytes, Read read) {
  DepthLimit limit;
  if (!json::sax_parse(bytes, &limit, json::input_format_t::cbor)) {
    throw Error("malformed worker message: not CBOR, or nested too deep");
  }
  try {
    return read(json::from_cbor(bytes));
  } catch (const json::exception& error) {
    throw Error(std::string("malformed worker message: ") + error.what());
  }
}

}  // namespace

bool is_poisoned(const WorkerReply& reply) {
  const auto* measured = std::get_if<MeasureReply>(&reply);
  return measured != nullptr && measured->poisoned;
}

std::string encode(const WorkerRequest& request) {
  return encoded(request);
}
std::string encode(const WorkerReply& reply) {
  return encoded(reply);
}
WorkerRequest decode_request(const std::string& bytes) {
  return decoded(bytes, request_from);
}
WorkerReply decode_reply(const std::string& bytes) {
  return decoded(bytes, reply_from);
}

}  // namespace autotune
