#include "tuner/run/trial_claims.hpp"

#include <cerrno>
#include <string>

#include <fcntl.h>

#include "core/hash.hpp"

namespace autotune {
namespace {

FileDescriptor open_claims(const std::filesystem::path& database) {
  if (database.empty()) return {};
  const std::string path = database.string() + "-claims";
  return FileDescriptor(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
}

// Locks of the file description, so that two runs of one process see each other's too.
bool set_lock(int file, short type, TrialClaims::Key key) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = key;
  lock.l_len = 1;
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

}  // namespace

TrialClaims::Key TrialClaims::key_of(const TrialScope& scope, const Problem& problem,
                                     const Configuration& configuration) {
  constexpr std::size_t kDigits = 15;  // hexadecimal: 60 bits, a place in a file
  FieldHasher hasher;
  const std::string hash =
      add_scope(hasher, scope).add(problem.key()).add(to_string(configuration)).digest();
  return std::stoll(hash.substr(0, kDigits), nullptr, 16);
}

TrialClaims::TrialClaims(const std::filesystem::path& database) : file_(open_claims(database)) {}

bool TrialClaims::claim(Key key) const {
  return file_.get() < 0 || set_lock(file_.get(), F_WRLCK, key);
}

void TrialClaims::release(Key key) const {
  if (file_.get() >= 0) set_lock(file_.get(), F_UNLCK, key);
}

}  // namespace autotune
