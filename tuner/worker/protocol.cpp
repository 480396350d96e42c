#include "tuner/worker/protocol.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "core/cbor.hpp"
#include "core/json.hpp"
#include "core/possible_time.hpp"

namespace autotune {

using nlohmann::json;

namespace {

// Cubins and sources are sent as bytes, which CBOR keeps unchanged, and not as text.
json binary(const std::string& bytes) {
  return json::binary({bytes.begin(), bytes.end()});
}

std::string bytes_of(const json& value) {
  const auto& bytes = value.get_binary();
  return {bytes.begin(), bytes.end()};
}

template <typename Enum>
Enum enumerator(const json& form, Enum last) {
  const auto number = form.get<std::int64_t>();
  if (number < 0 || number > static_cast<std::int64_t>(last)) {
    throw Error("malformed worker message: no such kind");
  }
  return static_cast<Enum>(number);
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
    const auto index = argument.at(1).get<std::int64_t>();
    if (index < 0 || index > std::numeric_limits<std::uint8_t>::max()) {
      throw Error("malformed worker message: no such argument");
    }
    signature.push_back({enumerator<ArgumentKind>(argument.at(0), kLastArgumentKind),
                         static_cast<std::uint8_t>(index),
                         element_type_from_string(argument.at(2).get<std::string>())});
  }
  return signature;
}

json form_of(const LaunchedReference& reference) {
  return {{"name", reference.name},         {"source", binary(reference.source)},
          {"options", reference.options},   {"signature", form_of(reference.signature)},
          {"geometry", reference.geometry}, {"host_function", reference.host_function}};
}

LaunchedReference reference_from(const json& form) {
  return {.name = form.at("name"),
          .source = bytes_of(form.at("source")),
          .options = form.at("options"),
          .signature = signature_from(form.at("signature")),
          .geometry = form.at("geometry"),
          .host_function = form.at("host_function")};
}

json contents_form(const std::vector<TensorContent>& contents) {
  json form = json::array();
  for (const TensorContent& content : contents) {
    const json tolerance =
        content.tolerance ? json{content.tolerance->absolute, content.tolerance->relative} : json();
    form.push_back({static_cast<int>(content.kind), content.first, content.second,
                    binary(content.file), binary(content.expected), tolerance,
                    binary(content.results)});
  }
  return form;
}

std::vector<TensorContent> contents_from(const json& form) {
  std::vector<TensorContent> contents;
  for (const json& one : form) {
    TensorContent content{
        .kind = enumerator<TensorContent::Kind>(one.at(0), TensorContent::kLastKind),
        .first = one.at(1),
        .second = one.at(2),
        .file = bytes_of(one.at(3)),
        .expected = bytes_of(one.at(4))};
    if (const json& tolerance = one.at(5); !tolerance.is_null()) {
      content.tolerance = {tolerance.at(0), tolerance.at(1)};
    }
    content.results = bytes_of(one.at(6));
    contents.push_back(std::move(content));
  }
  return contents;
}

json form_of(const ProblemData& data) {
  json tensors = json::array();
  for (const TensorDesc& tensor : data.tensors) {
    tensors.push_back({tensor.name, static_cast<int>(tensor.role), to_string(tensor.type),
                       tensor.rows, tensor.columns, tensor.row_stride, tensor.matrices,
                       tensor.matrix_stride});
  }
  return {
      {"text", data.text},
      {"tensors", std::move(tensors)},
      {"sizes", data.sizes},
      {"scalars", data.scalars},
      {"operations", data.work.operations},
      {"bytes", data.work.bytes},
      {"error_bound", data.error_bound},
      {"contents", contents_form(data.contents)},
      {"launched_reference", data.launched_reference ? form_of(*data.launched_reference) : json()},
      {"reference", binary(data.reference.source)},
      {"reference_numbers", data.reference.numbers},
      {"reference_blocks", data.reference.blocks}};
}

TensorDesc tensor_from(const json& form) {
  const auto number = [&](std::size_t place) { return form.at(place).get<std::int64_t>(); };
  const TensorDesc tensor{form.at(0).get<std::string>(),
                          enumerator<TensorRole>(form.at(1), kLastTensorRole),
                          element_type_from_string(form.at(2).get<std::string>()),
                          number(3),
                          number(4),
                          number(5),
                          number(6),
                          number(7)};
  if (std::min({tensor.rows, tensor.columns, tensor.matrices}) < 1 ||
      std::min(tensor.row_stride, tensor.matrix_stride) < 0) {
    throw Error("malformed worker message: no such tensor");
  }
  return tensor;
}

ProblemData data_from(const json& form) {
  ProblemData data{.text = form.at("text"),
                   .tensors = {},
                   .sizes = form.at("sizes"),
                   .scalars = form.at("scalars"),
                   .work = {form.at("operations"), form.at("bytes")},
                   .error_bound = form.at("error_bound"),
                   .contents = contents_from(form.at("contents")),
                   .reference = {bytes_of(form.at("reference")), form.at("reference_numbers"),
                                 form.at("reference_blocks")}};
  for (const json& tensor : form.at("tensors")) data.tensors.push_back(tensor_from(tensor));
  if (const json& reference = form.at("launched_reference"); !reference.is_null()) {
    data.launched_reference = reference_from(reference);
  }
  if (!data.contents.empty() && data.contents.size() != data.tensors.size()) {
    throw Error("malformed worker message: contents of other tensors");
  }
  if (data.reference.blocks < 0) throw Error("malformed worker message: no such reference");
  return data;
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
          {"data", form_of(request.data)},
          {"kernel_name", request.kernel_name},
          {"cubin", binary(request.cubin)},
          {"signature", form_of(request.signature)},
          {"geometry", request.geometry},
          {"input", static_cast<int>(request.input)},
          {"seed", request.seed},
          {"verify", request.verify},
          {"timing", form_of(request.timing)},
          {"share", request.share},
          {"baseline", request.baseline},
          {"algorithm", request.algorithm}};
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
          {"resources", reply.resources},
          {"problem", reply.problem}};
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
  request.data = data_from(message.at("data"));
  message.at("kernel_name").get_to(request.kernel_name);
  request.cubin = bytes_of(message.at("cubin"));
  request.signature = signature_from(message.at("signature"));
  message.at("geometry").get_to(request.geometry);
  request.input = message.at("input").get<int>() == 1 ? InputData::linear : InputData::uniform;
  message.at("seed").get_to(request.seed);
  message.at("verify").get_to(request.verify);
  request.timing = timing_from(message.at("timing"));
  message.at("share").get_to(request.share);
  if (!(request.share > 0 && request.share <= 1)) {
    throw Error("malformed worker message: no such share");
  }
  message.at("baseline").get_to(request.baseline);
  message.at("algorithm").get_to(request.algorithm);
  return request;
}

// Checks that a measurement can have this figure. The database has the same limit.
double figure(double value) {
  if (!(value >= 0 && value < 1e12)) throw Error("malformed worker message: no such figure");
  return value;
}

void check(const MeasureReply& reply) {
  const Measurement& measured = reply.measurement;
  const bool is_ok = reply.status == TrialStatus::ok;
  for (const double us : measured.samples_us) {
    if (figure(us) < kLeast_us && is_ok) throw Error("malformed worker message: no such time");
  }
  if (is_ok && (figure(measured.median_us) > 0) == measured.samples_us.empty()) {
    throw Error("malformed worker message: a median without samples, or samples without one");
  }
  if (is_ok && !measured.samples_us.empty() && measured.median_us < kLeast_us) {
    throw Error("malformed worker message: no such time");
  }
  figure(measured.spread_us);
  if (!is_ok) return;  // the errors of a wrong result may be infinite
  figure(reply.verification.max_error_ratio);
  figure(reply.verification.error_bound);
  figure(reply.verification.frobenius_error);
}

WorkerReply reply_from(const json& message) {
  const auto kind = message.at("kind").get<std::string>();
  if (kind == "describe_compiler") {
    return DescribeCompilerReply{message.at("build"), message.at("path"),
                                 message.at("architectures"), message.at("problem")};
  }
  if (kind == "calibrate") {
    CalibrateReply reply{figure(message.at("fma_gflops")), figure(message.at("copy_gbps")),
                         message.at("problem")};
    if (reply.problem.empty() && (reply.fma_gflops == 0 || reply.copy_gbps == 0)) {
      throw Error("malformed worker message: no rate at all");
    }
    return reply;
  }
  if (kind == "compile") {
    CompileReply reply{message.at("ok"), bytes_of(message.at("cubin")), bytes_of(message.at("log")),
                       message.at("resources").get<Resources>(), message.at("problem")};
    if (reply.resources.compile_ms != -1) figure(reply.resources.compile_ms);
    return reply;
  }
  if (kind != "measure") throw Error("malformed worker message: no such reply");
  MeasureReply reply;
  reply.status = trial_status_from_string(message.at("status"));
  reply.detail = bytes_of(message.at("detail"));
  message.at("measurement").get_to(reply.measurement);
  message.at("verification").get_to(reply.verification);
  message.at("poisoned").get_to(reply.poisoned);
  check(reply);
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

// Reports every fault of the bytes as an Error.
template <typename Read>
auto decoded(const std::string& bytes, Read read) {
  const std::optional<json> message = parsed_cbor(bytes);
  if (!message) {
    throw Error("malformed worker message: not CBOR, nested too deep, or too many values");
  }
  try {
    return read(*message);
  } catch (const json::exception& error) {
    throw Error(std::string("malformed worker message: ") + error.what());
  }
}

}  // namespace

bool is_poisoned(const WorkerReply& reply) {
  const auto* measured = std::get_if<MeasureReply>(&reply);
  return measured != nullptr && measured->poisoned;
}

bool answers(const WorkerReply& reply, const WorkerRequest& request) {
  if (reply.index() != request.index()) return false;
  const auto* asked = std::get_if<MeasureRequest>(&request);
  if (asked == nullptr || asked->timing.samples == 0) return true;
  const auto& measured = std::get<MeasureReply>(reply);
  return measured.status != TrialStatus::ok || !measured.measurement.samples_us.empty();
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
