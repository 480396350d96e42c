// The resources that a machine can spare, read from files like the kernel's.
#include "core/posix/host_resources.hpp"

#include <fstream>
#include <limits>

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

namespace autotune {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMiB = 1 << 20;

// The root of a file system, removed with it.
class Root {
 public:
  Root() : path_(fs::temp_directory_path() / ("machine_test." + std::to_string(::getpid()))) {
    write("proc/meminfo", "MemTotal:       8388608 kB\nMemAvailable:   4194304 kB\n");
  }
  ~Root() { fs::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }
  std::int64_t available() const { return available_memory_bytes(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

TEST_SUITE("machine") {
  TEST_CASE("without control groups the machine's memory is available") {
    const Root root;
    CHECK(root.available() == 4096 * kMiB);
    for (const char* unknown : {"", "MemAvailable: none\n", "MemAvailable:\n"}) {
      root.write("proc/meminfo", unknown);
      CHECK(root.available() == std::numeric_limits<std::int64_t>::max());
    }
  }

  TEST_CASE("a limit of any group that the process is in holds, less what is used") {
    const Root root;
    root.write("proc/self/cgroup", "1:name=systemd:/elsewhere\n0::/jobs/7\n");
    root.write("sys/fs/cgroup/jobs/7/memory.max", "max\n");
    root.write("sys/fs/cgroup/jobs/7/memory.current", "1\n");
    CHECK(root.available() == 4096 * kMiB);
    root.write("sys/fs/cgroup/jobs/memory.max", std::to_string(2048 * kMiB));
    CHECK(root.available() == 2048 * kMiB);
    root.write("sys/fs/cgroup/jobs/memory.current", std::to_string(1024 * kMiB));
    CHECK(root.available() == 1024 * kMiB);
    root.write("sys/fs/cgroup/jobs/memory.stat",
               "anon 5\nactive_file 1048576\ninactive_file 2097152\n");
    CHECK(root.available() == 1027 * kMiB);
    root.write("sys/fs/cgroup/memory.max", std::to_string(512 * kMiB));
    CHECK(root.available() == 512 * kMiB);
  }

  TEST_CASE("groups of version 1 have a hierarchy for each controller") {
    const Root root;
    root.write("proc/self/cgroup",
               "12:cpuset:/jobs/7\n4:memory:/jobs/7\n3:cpu,cpuacct:/jobs/7\n1:name=systemd:/\n");
    root.write("sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "9223372036854771712\n");
    root.write("sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes", "4096\n");
    root.write("sys/fs/cgroup/cpu/jobs/7/cpu.cfs_quota_us", "-1\n");
    root.write("sys/fs/cgroup/cpu/jobs/7/cpu.cfs_period_us", "100000\n");
    CHECK(root.available() == 4096 * kMiB);
    CHECK(usable_cores(root.path()) == usable_cores("/nonexistent"));
    root.write("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", std::to_string(512 * kMiB));
    root.write("sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", std::to_string(256 * kMiB));
    root.write("sys/fs/cgroup/memory/jobs/memory.stat",
               "active_file 7\ntotal_active_file 1048576\ntotal_inactive_file 2097152\n");
    CHECK(root.available() == 259 * kMiB);
    root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
    root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    CHECK(usable_cores(root.path()) == 1);
  }

  TEST_CASE("a group that uses more than it may has nothing to spare") {
    const Root root;
    root.write("proc/self/cgroup", "0::/\n");
    root.write("sys/fs/cgroup/memory.max", "100");
    root.write("sys/fs/cgroup/memory.current", "200");
    CHECK(root.available() == 0);
  }

  TEST_CASE("a group's quota and the scheduler's set limit the cores") {
    const int of_machine = usable_cores("/nonexistent");
    CHECK(of_machine >= 1);
    const Root root;
    root.write("proc/self/cgroup", "0::/slice/job\n");
    root.write("sys/fs/cgroup/slice/job/cpu.max", "max 100000");
    CHECK(usable_cores(root.path()) == of_machine);
    root.write("sys/fs/cgroup/slice/cpu.max", "50000 100000");
    CHECK(usable_cores(root.path()) == 1);
    cpu_set_t before;
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(usable_cores("/nonexistent") == 1);
    REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
  }

  TEST_CASE("compile jobs are cores - 2, as many as have memory, and at least one") {
    CHECK(compile_jobs_for(16, 128 * kCompileMemoryBytes) == 14);
    CHECK(compile_jobs_for(16, 8 * kCompileMemoryBytes) == 8);
    CHECK(compile_jobs_for(2, 2 * kCompileMemoryBytes) == 1);
    CHECK(compile_jobs_for(16, 0) == 1);
    CHECK(compile_jobs_for(16, std::numeric_limits<std::int64_t>::max()) == 14);
  }
}

}  // namespace autotune
