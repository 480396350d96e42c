// Whether the kernels of shipped winners are still those that were timed. A winner has the hash of its
// machine code as `code_hash`, and that of its template's text, which tells programs that it is stale.
//
// usage: autotune_winner_code [--every N] FILE...   compiles every Nth winner of today's text
//        autotune_winner_code --renew FILE...       compiles all, and writes what their code is now
//
// --renew is for new winners, and after scripts/same_code has told which are of today's text. Stale
// winners and those that another build of NVRTC compiled are left as they are.
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "core/cubin.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/winner.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tuner/measure/gpu_service.hpp"

namespace autotune {
namespace {

struct Request {
  bool renew = false;
  std::size_t every = 1;
  std::vector<std::string> files;
};

const KernelTemplate& kernel_of(const Winner& winner) {
  const KernelTemplate* const kernel = built_in_kernels().find(winner.template_name);
  if (kernel == nullptr) throw UsageError("there is no template " + winner.template_name);
  return *kernel;
}

class Check {
 public:
  explicit Check(const Request& request)
      : request_(request),
        compiler_(make_gpu_service(0)),
        about_(std::get<DescribeCompilerReply>(compiler_->handle(DescribeCompilerRequest()))) {}

  // The lines as they should be.
  std::vector<std::string> lines_of(const std::string& file) {
    std::ifstream in(file);
    if (!in) throw UsageError(file + " cannot be read");
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
      nlohmann::json json = nlohmann::json::parse(line);
      look_at(json, fmt::format("{}:{}", file, lines.size() + 1));
      lines.push_back(request_.renew ? json.dump() : line);
    }
    return lines;
  }

  // Prints what was found. Returns the exit code.
  [[nodiscard]] int finish() const {
    if (compiled_ == 0) {
      fmt::print("SKIPPED: no winner was compiled by NVRTC '{}'\n", about_.build);
      return 0;
    }
    fmt::print("{} winners compiled, {} stale ones left as they are, {} faults\n", compiled_,
               stale_, faults_);
    return faults_ == 0 ? 0 : 1;
  }

 private:
  void look_at(nlohmann::json& json, const std::string& place) {
    const auto winner = json.get<Winner>();
    const KernelTemplate& kernel = kernel_of(winner);
    const bool is_current = winner.source_hash == content_hash(kernel.source);
    if (!is_current) {
      ++stale_;
      return;
    }
    if (number_++ % request_.every != 0 || winner.environment.nvrtc_build != about_.build) return;
    const std::string& code = code_hash(kernel, winner);
    if (request_.renew) {
      json["code_hash"] = code;
    } else if (json.value("code_hash", "") != code) {
      fmt::print("{}: the machine code is not what code_hash says: run scripts/same_code\n", place);
      ++faults_;
    }
  }

  // Winners of several problems share kernels.
  const std::string& code_hash(const KernelTemplate& kernel, const Winner& winner) {
    const CompileRequest request{
        kernel.name, std::string(kernel.source),
        compile_options(kernel, kernel.space.validated(winner.configuration),
                        code_traits(kernel, winner.problem),
                        parse_device_class(winner.device_class).architecture)};
    const auto [place, is_new] =
        hashes_.try_emplace(fmt::format("{} {}", kernel.name, fmt::join(request.options, " ")));
    ++compiled_;
    if (!is_new) return place->second;
    const auto reply = std::get<CompileReply>(compiler_->handle(request));
    if (!reply.ok) throw Error("a winner's kernel does not compile: " + reply.log + reply.problem);
    return place->second = machine_code_hash(reply.cubin);
  }

  const Request& request_;
  std::unique_ptr<WorkerService> compiler_;
  DescribeCompilerReply about_;
  std::map<std::string, std::string> hashes_;  // by template and options
  std::size_t number_ = 0;
  int compiled_ = 0;
  int stale_ = 0;
  int faults_ = 0;
};

Request request_of(const std::vector<std::string>& arguments) {
  Request request;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--renew") {
      request.renew = true;
    } else if (arguments[i] == "--every" && i + 1 < arguments.size()) {
      request.every = std::stoul(arguments[++i]);
    } else {
      request.files.push_back(arguments[i]);
    }
  }
  if (request.files.empty()) {
    throw UsageError("usage: autotune_winner_code [--renew | --every N] FILE...");
  }
  return request;
}

int run(const Request& request) {
  Check check(request);
  for (const std::string& file : request.files) {
    const std::vector<std::string> lines = check.lines_of(file);
    if (request.renew) std::ofstream(file) << fmt::format("{}\n", fmt::join(lines, "\n"));
  }
  return check.finish();
}

}  // namespace
}  // namespace autotune

int main(int count, char** arguments) {
  try {
    return autotune::run(autotune::request_of({arguments + 1, arguments + count}));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
