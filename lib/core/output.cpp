// SPDX-License-Identifier: BSD-3-Clause
#include "core/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <poll.h>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "core/names.h"

namespace lw {

namespace fs = std::filesystem;

struct OutputFile::State {
  std::string path;       // as given by the caller
  std::string target;     // for a whole file: the name that close() gives to it; else empty
  std::string temporary;  // the file's name until then; empty if it has none
  int fd = -1;
  int lock = -1;          // descriptor that holds the lock of the present file `target`
  bool in_place = false;  // true for a regular file that is written in place
  bool created = false;   // true if no file of that name existed
  bool begun = false;     // true once something was written
  std::string buffer;
  std::vector<std::size_t> ends;  // end of each record in `buffer`
  std::size_t limit = 0;
  // bytes and records in the file; records not written
  std::uint64_t valid = 0, records = 0, lost = 0;
  int error = 0;  // errno of the first failure

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  [[nodiscard]] bool is_stdout() const noexcept { return path == "-"; }
  /// Returns false if the file must be written in place.
  Result<bool> open_whole();
  Result<void> open_in_place();
  /// Keeps the existing bytes: new ones are appended.
  void keep_former();
  void write_buffer();
  void keep_whole_records(std::size_t written);
  void close();
  void publish();
  [[nodiscard]] std::string failure() const;
  [[nodiscard]] std::string message() const;
};

namespace {

/// Returns an unused name in `folder`, unique among the temporary files of running processes.
std::string temporary_name(const fs::path& folder) {
  static unsigned count = 0;
  return (folder / (".longwire." + std::to_string(::getpid()) + "." + std::to_string(count++)))
      .string();
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// Returns false if another process has locked the file. On a file system without locks it returns
/// true.
bool lock_file(int fd) noexcept {
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

std::unexpected<Error> in_use(const std::string& path) {
  return fail(path + ": another process is writing it: name another file", ExitCode::environment);
}

std::unexpected<Error> not_opened(const std::string& path, int error) {
  return fail(path + ": cannot be written: " + std::strerror(error), ExitCode::environment);
}

bool is_same(const fs::path& one, const fs::path& other) {
  std::error_code unknown;
  if (fs::equivalent(one, other, unknown)) return fs::is_regular_file(one, unknown);
  return !fs::exists(one, unknown) &&
         fs::weakly_canonical(one, unknown) == fs::weakly_canonical(other, unknown);
}

/// The files that this process has read.
struct NotedInputs {
  std::mutex mutex;
  std::set<std::string> paths;

  static NotedInputs& get() {
    static NotedInputs inputs;
    return inputs;
  }
  bool has(const std::string& path) {
    const std::scoped_lock lock(mutex);
    return std::ranges::any_of(paths, [&](const auto& input) { return is_same(path, input); });
  }
};

}  // namespace

void note_input(const std::string& path) {
  if (path == "-") return;
  const std::scoped_lock lock(NotedInputs::get().mutex);
  NotedInputs::get().paths.insert(path);
}

OutputFile::State::~State() {
  // Bytes before the first record, such as a file's header, don't overwrite an existing file.
  if (fd >= 0 && target.empty() && (begun || !ends.empty())) write_buffer();
  if (in_place && created && !begun) ::unlink(path.c_str());
  if (!temporary.empty()) ::unlink(temporary.c_str());
  if (fd >= 0 && !is_stdout()) ::close(fd);
  if (lock >= 0) ::close(lock);
}

void OutputFile::State::keep_whole_records(std::size_t written) {
  const auto whole = std::ranges::upper_bound(ends, written);
  const auto count = static_cast<std::size_t>(whole - ends.begin());
  if (count > 0) valid += ends[count - 1];
  records += count;
  lost += ends.size() - count;
  if (is_stdout() && count < ends.size()) valid += written - (count > 0 ? ends[count - 1] : 0);
  // Removes an incomplete record. Where that fails, the error message says how many bytes are
  // valid.
  if (in_place && ::ftruncate(fd, static_cast<off_t>(valid)) != 0) return;
}

void OutputFile::State::write_buffer() {
  if (error == 0 && in_place && !begun && ::ftruncate(fd, 0) != 0) error = errno;
  begun = true;
  std::size_t done = 0;
  while (error == 0 && done < buffer.size()) {
    const ssize_t wrote = ::write(fd, buffer.data() + done, buffer.size() - done);
    if (wrote >= 0) {
      done += static_cast<std::size_t>(wrote);
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error != 0) {
    keep_whole_records(done);
  } else {
    valid += done;
    records += ends.size();
  }
  buffer.clear();
  ends.clear();
}

/// Gives a whole file its final name.
void OutputFile::State::publish() {
  if (temporary.empty()) {
    const std::string unnamed = "/proc/self/fd/" + std::to_string(fd);
    const std::string name = temporary_name(folder_of(target));
    if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      error = errno;
      return;
    }
    temporary = name;
  }
  if (::close(std::exchange(fd, -1)) != 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(temporary.c_str());
  temporary.clear();
}

void OutputFile::State::close() {
  if (error == 0) write_buffer();
  if (is_stdout()) {
    // Standard output stays open for the rest of the process; closing a copy reports the same
    // errors.
    const int copy = ::dup(fd);
    if (copy >= 0 && ::close(copy) != 0 && error == 0) error = errno;
  } else if (!target.empty()) {
    if (error == 0) publish();
  } else if (fd >= 0 && ::close(std::exchange(fd, -1)) != 0 && error == 0) {
    error = errno;
  }
}

std::string OutputFile::State::failure() const {
  return (is_stdout() ? "standard output" : path) + ": cannot be written: " + std::strerror(error);
}

std::string OutputFile::State::message() const {
  if (is_stdout() && error == EPIPE) return {};
  std::string text = failure();
  if (!target.empty()) {
    return text + (created ? "; nothing of it is kept" : "; the former file is as it was");
  }
  text += "; its first " + std::to_string(valid) + " bytes are valid";
  if (is_stdout()) return text;
  return text + ", with " + std::to_string(records) + " whole records; " + std::to_string(lost) +
         " are missing";
}

OutputFile::OutputFile(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

namespace {

/// What open() finds at a path before it writes.
struct Former {
  bool exists = false, regular = false;
  mode_t mode = 0;
};

Former former_of(const std::string& path) noexcept {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {true, S_ISREG(status.st_mode), status.st_mode & 07777U};
}

/// Opens a file in `folder` that has no name or a temporary one. Returns a negative number on
/// failure.
int open_temporary(const fs::path& folder, std::string& name) {
  const int unnamed = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (unnamed >= 0) return unnamed;
  for (int tries = 0; tries < 100; ++tries) {
    name = temporary_name(folder);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return fd;
    if (errno != EEXIST) break;  // EEXIST: a killed process with the same process id left the file
  }
  name.clear();
  return -1;
}

}  // namespace

Result<bool> OutputFile::State::open_whole() {
  const Former former = former_of(path);
  created = !former.exists;
  const bool replaceable =
      former.exists ? former.regular && ::access(path.c_str(), W_OK) == 0 : !fs::is_symlink(path);
  if (!replaceable) return false;
  const std::string resolved = former.exists ? fs::canonical(path).string() : path;
  if (former.exists) {
    lock = ::open(resolved.c_str(), O_RDONLY | O_CLOEXEC);
    if (lock >= 0 && !lock_file(lock)) return in_use(path);
  }
  fd = open_temporary(folder_of(resolved), temporary);
  if (fd < 0) return false;
  if (former.exists && ::fchmod(fd, former.mode) != 0) return not_opened(path, errno);
  target = resolved;
  return true;
}

Result<void> OutputFile::State::open_in_place() {
  const Former former = former_of(path);
  fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return not_opened(path, errno);
  if (former.exists && !former.regular) return {};
  if (lock < 0 && !lock_file(fd)) return in_use(path);
  in_place = true;
  created = !former.exists;
  return {};
}

void OutputFile::State::keep_former() {
  const off_t end = ::lseek(fd, 0, SEEK_END);
  if (end < 0) {
    error = errno;
    return;
  }
  valid = static_cast<std::uint64_t>(end);
  begun = end > 0;
}

Result<OutputFile> OutputFile::open(const std::string& path, Mode mode, std::size_t buffer) {
  if (auto plain = check_plain_name(path); !plain) return std::unexpected(plain.error());
  auto state = std::make_unique<State>();
  state->path = path;
  state->limit = buffer;
  if (path == "-") {
    standard_output().flush();
    state->fd = STDOUT_FILENO;
    return OutputFile(std::move(state));
  }
  if (NotedInputs::get().has(path))
    return fail(path + ": cannot be written: it is an input: name another file");
  if (mode == Mode::whole) {
    auto opened = state->open_whole();
    if (!opened) return std::unexpected(opened.error());
    if (*opened) return OutputFile(std::move(state));
  }
  if (auto opened = state->open_in_place(); !opened) return std::unexpected(opened.error());
  if (mode == Mode::appended && state->in_place) state->keep_former();
  return OutputFile(std::move(state));
}

std::string& OutputFile::pending() noexcept { return state_->buffer; }

void OutputFile::end_record() {
  State& s = *state_;
  if (s.error != 0) {
    ++s.lost;
    s.buffer.clear();
    return;
  }
  s.ends.push_back(s.buffer.size());
  if (s.buffer.size() >= s.limit) s.write_buffer();
}

bool OutputFile::flush() {
  if (!state_->buffer.empty()) state_->write_buffer();
  return state_->error == 0;
}

bool OutputFile::failed() const noexcept { return state_ && state_->error != 0; }
std::string OutputFile::failure() const { return failed() ? state_->failure() : std::string(); }
std::uint64_t OutputFile::lost() const noexcept { return state_ ? state_->lost : 0; }

Result<void> OutputFile::close() {
  if (!state_) return {};
  State& s = *state_;
  s.close();
  if (s.error != 0) return fail(s.message(), ExitCode::environment);
  if (!s.is_stdout()) state_.reset();
  return {};
}

Result<void> write_file(const std::string& path, std::string_view text) {
  auto file = OutputFile::open(path, OutputFile::Mode::whole);
  if (!file) return std::unexpected(file.error());
  file->write(text);
  return file->close();
}

Result<void> make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return {};
  return fail(path + ": the folder cannot be made: " + error.message(), ExitCode::environment);
}

OutputFile& standard_output() {
  static OutputFile output = [] {
    auto state = std::make_unique<OutputFile::State>();
    state->path = std::string("-");
    state->fd = STDOUT_FILENO;
    state->limit = std::size_t{1} << 16;
    return OutputFile(std::move(state));
  }();
  return output;
}

void print_out(std::string_view text) {
  static const bool at_once = ::isatty(STDOUT_FILENO) == 1;
  standard_output().write(text);
  if (at_once) standard_output().flush();
}

void print_report(std::string_view text, bool taken) {
  if (!taken) {
    print_out(text);
    if (standard_output().flush()) return;
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
}

namespace {

std::vector<Error>& kept_errors() {
  static std::vector<Error> errors;
  return errors;
}

}  // namespace

void report_at_end(const Result<void>& closed) {
  if (!closed) kept_errors().push_back(closed.error());
}

std::vector<Error> close_outputs() {
  report_at_end(standard_output().close());
  return std::exchange(kept_errors(), {});
}

namespace {

bool is_named(const NamedFile& file) { return !file.path.empty() && file.path != "-"; }

std::unexpected<Error> refuse_shared(const NamedFile& output, const std::string& other) {
  return fail(output.path + ": expected a file of its own for " + output.option + ", found that " +
              other + " is the same");
}

}  // namespace

Result<void> check_outputs(const std::vector<NamedFile>& inputs,
                           const std::vector<NamedFile>& outputs) {
  std::vector<NamedFile> others = inputs;
  for (const NamedFile& output : outputs) {
    if (!is_named(output)) continue;
    if (auto plain = check_plain_name(output.path); !plain) return plain;
    for (const NamedFile& other : others)
      if (is_named(other) && is_same(output.path, other.path))
        return refuse_shared(output, other.option);
    if (NotedInputs::get().has(output.path)) return refuse_shared(output, "an input");
    others.push_back(output);
  }
  return {};
}

}  // namespace lw
