// SPDX-License-Identifier: BSD-3-Clause
#include "capture/source.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "capture/unpack.h"
#include "core/output.h"

namespace lw::capture {
namespace {

// Buffer size in bytes. A read() of this size stays in the second-level cache until its records are
// parsed: 3.4 GB/s with CRCs, 64 KiB give 3.0 and 1 MiB gives 3.1.
constexpr std::size_t kBuffer = 256 << 10;
constexpr std::size_t kLongestMagic = 4;
constexpr int kFollowIntervalMs = 50;

std::unexpected<Error> refuse(const std::string& path, int error) {
  return fail(fmt::format("{}: cannot be read: {}", path, std::strerror(error)),
              error == ENOENT ? ExitCode::usage : ExitCode::environment);
}

}  // namespace

/// Compressed bytes that wait to be unpacked, and their unpacker.
struct Source::Packed {
  std::unique_ptr<Unpacker> unpacker;
  std::unique_ptr<std::byte[]> buffer;  // null if the file is in memory
  Bytes waiting;
  std::size_t size = 0;  // of the buffer
};

Source::Source() = default;

Result<Source> Source::open(const std::string& path, const Reading& reading) {
  note_input(path);
  Source source;
  source.name_ = path == "-" ? "stdin" : path;
  source.fd_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (source.fd_ < 0) return refuse(path, errno);
  struct stat status{};
  const bool known = ::fstat(source.fd_, &status) == 0;
  if (known && S_ISDIR(status.st_mode)) return refuse(path, EISDIR);
  if (known && S_ISREG(status.st_mode)) source.follow_until_ = reading.follow_until;
  source.capacity_ = kBuffer;
  source.buffer_ = std::make_unique_for_overwrite<std::byte[]>(source.capacity_);
  source.data_ = source.buffer_.get();
  source.at_end_ = false;
  source.detect_compression();
  return source;
}

Source Source::of_memory(Bytes bytes) {
  Source source;
  source.name_ = "memory";
  if (auto unpacker = unpacker_for(bytes)) {
    source.packed_ = std::make_unique<Packed>(std::move(unpacker), nullptr, bytes);
    source.capacity_ = kBuffer;
    source.buffer_ = std::make_unique_for_overwrite<std::byte[]>(source.capacity_);
    source.data_ = source.buffer_.get();
    source.at_end_ = false;
    return source;
  }
  source.data_ = bytes.data();
  source.end_ = bytes.size();
  return source;
}

/// Reads the first bytes of a file, and checks whether they are compressed.
void Source::detect_compression() {
  fill(kLongestMagic);
  auto unpacker = unpacker_for({data_, end_});
  if (!unpacker) return;
  // The present buffer becomes the buffer of the packed bytes.
  packed_ = std::make_unique<Packed>(std::move(unpacker), std::move(buffer_), Bytes{data_, end_});
  packed_->size = capacity_;
  buffer_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
  data_ = buffer_.get();
  end_ = 0;
  at_end_ = false;
}

Source::Source(Source&& other) noexcept { *this = std::move(other); }

Source& Source::operator=(Source&& other) noexcept {
  if (this == &other) return *this;
  close();
  name_ = std::move(other.name_);
  fd_ = std::exchange(other.fd_, -1);
  follow_until_ = other.follow_until_;
  packed_ = std::move(other.packed_);
  file_offset_ = other.file_offset_;
  at_end_ = std::exchange(other.at_end_, true);
  buffer_ = std::move(other.buffer_);
  capacity_ = std::exchange(other.capacity_, 0);
  data_ = std::exchange(other.data_, nullptr);
  begin_ = std::exchange(other.begin_, 0);
  end_ = std::exchange(other.end_, 0);
  passed_ = other.passed_;
  error_ = std::move(other.error_);
  stopped_ = other.stopped_;
  return *this;
}

Source::~Source() { close(); }

void Source::close() noexcept {
  if (fd_ > STDIN_FILENO) ::close(fd_);
  fd_ = -1;
}

/// Returns false if there isn't enough memory.
bool Source::grow_buffer() {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    passed_ += begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ < capacity_) return true;
  std::unique_ptr<std::byte[]> larger(new (std::nothrow) std::byte[capacity_ * 2]);
  if (!larger) return false;
  std::memcpy(larger.get(), buffer_.get(), end_);
  buffer_ = std::move(larger);
  capacity_ *= 2;
  data_ = buffer_.get();
  return true;
}

void Source::fill(std::size_t n) {
  while (!at_end_ && end_ - begin_ < n) {
    if (!grow_buffer()) {
      error_ = {"cannot be read: not enough memory for a record of this length",
                ExitCode::environment};
      at_end_ = true;
      return;
    }
    const std::span room(buffer_.get() + end_, capacity_ - end_);
    const std::size_t got = packed_ ? unpack(room) : read_file(room);
    if (got == 0) at_end_ = true;
    end_ += got;
  }
}

/// Reads bytes of the file. Returns 0 at its end and after an error.
std::size_t Source::read_file(std::span<std::byte> into) {
  for (;;) {
    const ssize_t got = fd_ < 0 ? 0 : ::read(fd_, into.data(), into.size());
    if (got > 0) {
      file_offset_ += static_cast<std::size_t>(got);
      return static_cast<std::size_t>(got);
    }
    if (got < 0 && errno != EINTR) {
      error_ = {fmt::format("cannot be read: {}", std::strerror(errno)), ExitCode::environment};
      return 0;
    }
    if (got == 0 && !wait_for_more()) return 0;
  }
}

/// Waits at the end of a file that is followed. Returns false if the file ends here.
bool Source::wait_for_more() {
  if (!follow_until_) return false;
  stopped_ = follow_until_->load();
  if (!stopped_) ::poll(nullptr, 0, kFollowIntervalMs);  // a signal ends it
  return !stopped_;
}

/// Returns the number of unpacked bytes; 0 at the end of the file and after an error.
std::size_t Source::unpack(std::span<std::byte> into) {
  for (;;) {
    const Unpacker::Step step = packed_->unpacker->step(packed_->waiting, into);
    packed_->waiting = packed_->waiting.subspan(step.taken);
    if (!step.problem.empty()) {
      stop_unpacking(step.problem);
      return step.given;
    }
    if (step.given > 0) return step.given;
    if (step.taken > 0) continue;
    const std::size_t got = read_file({packed_->buffer.get(), packed_->size});
    packed_->waiting = {packed_->buffer.get(), got};
    if (got > 0) continue;
    if (!error_ && !packed_->unpacker->may_end()) stop_unpacking("the file ends within it");
    return 0;
  }
}

void Source::stop_unpacking(std::string_view problem) {
  error_ = {
      fmt::format("its {} stream cannot be unpacked: {}, at byte {} of the file",
                  packed_->unpacker->format(), problem, file_offset_ - packed_->waiting.size()),
      ExitCode::failed};
  at_end_ = true;
}

namespace {

std::string place_in(const Source& source, std::uint64_t offset) {
  return fmt::format("{}: offset {}{}", source.name(), offset,
                     source.is_packed() ? " of the unpacked file" : "");
}

}  // namespace

std::unexpected<Error> damaged(const Source& source, std::string_view what) {
  return fail(fmt::format("{}: {}", place_in(source, source.offset()), what), ExitCode::failed);
}

std::unexpected<Error> cut(const Source& source, std::string_view what, std::uint64_t needed,
                           std::size_t found) {
  if (const auto& error = source.read_error()) {
    return fail(fmt::format("{}: {}", place_in(source, source.offset() + found), error->message),
                error->exit);
  }
  return damaged(source,
                 fmt::format("the file is cut in the middle of {}: {} of {} bytes are there", what,
                             found, needed));
}

}  // namespace lw::capture
