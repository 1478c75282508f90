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

#include <climits>

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
  std::uint64_t step = 0;      // blocks are reserved so many bytes at once; 0: none are
  std::uint64_t reserved = 0;  // end of the reserved blocks, counted in the file
  int error = 0;               // errno of the first failure

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
  /// Writes `size` bytes of records with these ends. Changes `pieces`.
  void write_out(std::span<iovec> pieces, std::size_t size,
                 std::span<const std::size_t> record_ends);
  /// Reserves blocks for `size` further bytes. Returns 0, or errno if the disk is full.
  int reserve(std::size_t size) noexcept;
  std::size_t reserve_some(std::span<const std::size_t> record_ends) noexcept;
  void keep_whole_records(std::size_t written, std::span<const std::size_t> record_ends);
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
  if (fd >= 0 && reserved > valid && ::ftruncate(fd, static_cast<off_t>(valid)) != 0) reserved = 0;
  if (in_place && created && !begun) ::unlink(path.c_str());
  if (!temporary.empty()) ::unlink(temporary.c_str());
  if (fd >= 0 && !is_stdout()) ::close(fd);
  if (lock >= 0) ::close(lock);
}

void OutputFile::State::keep_whole_records(std::size_t written,
                                           std::span<const std::size_t> record_ends) {
  const auto whole = std::ranges::upper_bound(record_ends, written);
  const auto count = static_cast<std::size_t>(whole - record_ends.begin());
  const std::size_t end = count > 0 ? record_ends[count - 1] : 0;
  valid += end;
  records += count;
  lost += record_ends.size() - count;
  if (is_stdout() && count < record_ends.size()) valid += written - end;
  // Removes an incomplete record. Where that fails, the error message says how many bytes are
  // valid.
  if (in_place && written > end && ::ftruncate(fd, static_cast<off_t>(valid)) != 0) return;
}

namespace {

/// The pieces without their first `count` bytes.
std::span<iovec> without_first(std::span<iovec> pieces, std::size_t count) noexcept {
  while (!pieces.empty() && count >= pieces.front().iov_len) {
    count -= pieces.front().iov_len;
    pieces = pieces.subspan(1);
  }
  if (count > 0) {
    pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + count;
    pieces.front().iov_len -= count;
  }
  return pieces;
}

/// The pieces up to `count` bytes.
std::span<iovec> first_of(std::span<iovec> pieces, std::size_t count) noexcept {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (count < pieces[i].iov_len) {
      pieces[i].iov_len = count;
      return pieces.first(count > 0 ? i + 1 : i);
    }
    count -= pieces[i].iov_len;
  }
  return pieces;
}

/// Returns 0, or errno. The length of the file stays as it is, as others may read the file.
int reserve_blocks(int fd, std::uint64_t from, std::uint64_t count) noexcept {
  for (;;) {
    if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from), static_cast<off_t>(count)) ==
        0)
      return 0;
    if (errno != EINTR) return errno;
  }
}

}  // namespace

int OutputFile::State::reserve(std::size_t size) noexcept {
  const std::uint64_t needed = valid + size + kLastRoom;
  if (step == 0 || needed <= reserved) return 0;
  int refused = 0;
  for (const std::uint64_t end : {std::max(needed, reserved + step), needed}) {
    refused = reserve_blocks(fd, reserved, end - reserved);
    if (refused != 0) continue;
    reserved = end;
    return 0;
  }
  if (refused == ENOSPC || refused == EDQUOT) return refused;
  step = 0;  // this file system reserves nothing
  return 0;
}

/// Reserves blocks for as many of the records as the disk takes. Returns their bytes.
std::size_t OutputFile::State::reserve_some(std::span<const std::size_t> record_ends) noexcept {
  std::size_t fit = 0, rest = record_ends.size();  // whole records
  while (rest > 0) {
    const std::size_t half = (rest + 1) / 2;
    const bool room = reserve(record_ends[fit + half - 1]) == 0;
    if (room) fit += half;
    rest = room ? rest - half : half - 1;
  }
  return fit > 0 ? record_ends[fit - 1] : 0;
}

void OutputFile::State::write_out(std::span<iovec> pieces, std::size_t size,
                                  std::span<const std::size_t> record_ends) {
  if (error == 0 && in_place && !begun && ::ftruncate(fd, 0) != 0) error = errno;
  begun = true;
  const int full = error == 0 ? reserve(size) : 0;
  if (full != 0) size = reserve_some(record_ends);
  pieces = first_of(pieces, size);
  std::size_t done = 0;
  while (error == 0 && done < size) {
    const auto count = static_cast<int>(std::min<std::size_t>(pieces.size(), IOV_MAX));
    const ssize_t wrote = ::writev(fd, pieces.data(), count);
    if (wrote >= 0) {
      done += static_cast<std::size_t>(wrote);
      pieces = without_first(pieces, static_cast<std::size_t>(wrote));
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0) error = full;
  if (error != 0) return keep_whole_records(done, record_ends);
  valid += done;
  records += record_ends.size();
}

void OutputFile::State::write_buffer() {
  iovec piece{buffer.data(), buffer.size()};
  write_out(std::span(&piece, 1), buffer.size(), ends);
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
  // Gives back the blocks behind the end. Where that fails, the file is valid all the same.
  if (reserved > valid && ::ftruncate(fd, static_cast<off_t>(valid)) != 0) reserved = 0;
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

Result<OutputFile> OutputFile::open(const std::string& path, Mode mode, std::size_t buffer,
                                    Encoding encoding) {
  if (auto named = check_file_name(path, encoding == Encoding::packed); !named)
    return std::unexpected(named.error());
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

bool OutputFile::write_pieces(std::span<iovec> pieces, std::span<const std::size_t> ends) {
  State& s = *state_;
  flush();
  if (s.error != 0) {
    s.lost += ends.size();
    return false;
  }
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  s.write_out(pieces, size, ends);
  return s.error == 0;
}

void OutputFile::reserve_ahead(std::uint64_t step) noexcept {
  if (state_->in_place || !state_->target.empty()) state_->step = step;
}

bool OutputFile::write_last(std::string_view bytes) {
  State& s = *state_;
  flush();
  s.step = 0;  // these bytes may take the last reserved blocks
  if (s.error == 0) {
    s.buffer.append(bytes);
    s.write_buffer();
    return s.error == 0;
  }
  if (!s.in_place || s.valid == 0) return false;
  const auto end = static_cast<off_t>(s.valid);
  if (::pwrite(s.fd, bytes.data(), bytes.size(), end) == static_cast<ssize_t>(bytes.size())) {
    s.valid += bytes.size();
    return true;
  }
  if (::ftruncate(s.fd, end) != 0) return false;  // the message says which bytes are valid
  return false;
}

bool OutputFile::failed() const noexcept { return state_ && state_->error != 0; }
std::string OutputFile::failure() const { return failed() ? state_->failure() : std::string(); }
std::uint64_t OutputFile::records() const noexcept { return state_ ? state_->records : 0; }
std::uint64_t OutputFile::lost() const noexcept { return state_ ? state_->lost : 0; }
std::uint64_t OutputFile::size() const noexcept {
  return state_ ? state_->valid + state_->buffer.size() : 0;
}

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

std::vector<Error>& errors_at_end() {
  static std::vector<Error> errors;
  return errors;
}

}  // namespace

void report_at_end(const Result<void>& closed) {
  if (!closed) errors_at_end().push_back(closed.error());
}

const std::vector<Error>& kept_errors() noexcept { return errors_at_end(); }

std::vector<Error> close_outputs() {
  report_at_end(standard_output().close());
  return std::exchange(errors_at_end(), {});
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
    if (auto named = check_file_name(output.path, output.packs); !named) return named;
    for (const NamedFile& other : others)
      if (is_named(other) && is_same(output.path, other.path))
        return refuse_shared(output, other.option);
    if (NotedInputs::get().has(output.path)) return refuse_shared(output, "an input");
    others.push_back(output);
  }
  return {};
}

}  // namespace lw
