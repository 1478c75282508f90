// SPDX-License-Identifier: BSD-3-Clause
#include "capture/source.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "core/output.h"

namespace lw::capture {
namespace {

// One read() of this size costs a few per cent of what parsing its records does.
constexpr std::size_t kInitialCapacity = 1 << 20;

std::unexpected<Error> refuse(const std::string& path, int error) {
  return fail(fmt::format("{}: cannot be read: {}", path, std::strerror(error)),
              error == ENOENT ? ExitCode::usage : ExitCode::environment);
}

}  // namespace

Result<Source> Source::open(const std::string& path) {
  note_input(path);
  Source source;
  source.name_ = path == "-" ? "stdin" : path;
  source.fd_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (source.fd_ < 0) return refuse(path, errno);
  struct stat status{};
  if (::fstat(source.fd_, &status) == 0 && S_ISDIR(status.st_mode)) return refuse(path, EISDIR);
  source.buffer_ = std::make_unique_for_overwrite<std::byte[]>(kInitialCapacity);
  source.capacity_ = kInitialCapacity;
  source.data_ = source.buffer_.get();
  source.at_end_ = false;
  return source;
}

Source Source::of_memory(Bytes bytes) noexcept {
  Source source;
  source.name_ = "memory";
  source.data_ = bytes.data();
  source.end_ = bytes.size();
  return source;
}

Source::Source(Source&& other) noexcept { *this = std::move(other); }

Source& Source::operator=(Source&& other) noexcept {
  if (this == &other) return *this;
  close();
  name_ = std::move(other.name_);
  fd_ = std::exchange(other.fd_, -1);
  at_end_ = std::exchange(other.at_end_, true);
  buffer_ = std::move(other.buffer_);
  capacity_ = std::exchange(other.capacity_, 0);
  data_ = std::exchange(other.data_, nullptr);
  begin_ = std::exchange(other.begin_, 0);
  end_ = std::exchange(other.end_, 0);
  passed_ = other.passed_;
  error_ = std::move(other.error_);
  return *this;
}

Source::~Source() { close(); }

void Source::close() noexcept {
  if (fd_ > STDIN_FILENO) ::close(fd_);
  fd_ = -1;
}

/// False: there isn't enough memory.
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
      error_ = "not enough memory for a record of this length";
      at_end_ = true;
      return;
    }
    const ssize_t got = ::read(fd_, buffer_.get() + end_, capacity_ - end_);
    if (got > 0) {
      end_ += static_cast<std::size_t>(got);
    } else if (got == 0 || errno != EINTR) {
      if (got < 0) error_ = std::strerror(errno);
      at_end_ = true;
    }
  }
}

std::unexpected<Error> damaged(const Source& source, std::string_view what) {
  return fail(fmt::format("{}: offset {}: {}", source.name(), source.offset(), what),
              ExitCode::failed);
}

std::unexpected<Error> cut(const Source& source, std::string_view what, std::uint64_t needed,
                           std::size_t found) {
  if (source.read_error()) {
    return fail(fmt::format("{}: offset {}: cannot be read: {}", source.name(),
                            source.offset() + found, *source.read_error()),
                ExitCode::environment);
  }
  return damaged(source,
                 fmt::format("the file is cut in the middle of {}: {} of {} bytes are there", what,
                             found, needed));
}

}  // namespace lw::capture
