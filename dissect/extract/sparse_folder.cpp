// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/extract/sparse_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "core/output.h"

namespace lw::dissect {
namespace {

std::unexpected<Error> bad_folder(const std::string& path, const std::string& what) {
  return fail(path + ": " + what, ExitCode::environment);
}

}  // namespace

Result<SparseFolder> SparseFolder::open(const std::string& path, bool force) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error))
    return bad_folder(path, "expected a folder for the files, found a file");
  const bool made = fs::create_directories(path, error);
  if (error) return bad_folder(path, "the folder cannot be made: " + error.message());
  const int folder = ::openat(AT_FDCWD, path.c_str(), O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return bad_folder(path, std::string("the folder cannot be read: ") + std::strerror(errno));
  SparseFolder opened(path, folder, made, force);
  const bool has_files = !made && fs::directory_iterator(path, error) != fs::directory_iterator();
  if (error) return bad_folder(path, "the folder cannot be read: " + error.message());
  if (has_files && !force)
    return bad_folder(path,
                      "expected a new or empty folder, found files in it: name another one, or "
                      "add --force to replace files of the same names");
  return opened;
}

SparseFolder::SparseFolder(SparseFolder&& other) noexcept
    : path_(std::move(other.path_)),
      folder_(std::exchange(other.folder_, -1)),
      made_(other.made_),
      force_(other.force_),
      files_(std::move(other.files_)),
      open_(std::move(other.open_)),
      failure_(std::move(other.failure_)) {}

SparseFolder::~SparseFolder() {
  if (folder_ < 0) return;
  for (FileId file = 0; file < files_.size(); ++file) remove(file);
  ::close(folder_);
  if (made_) ::rmdir(path_.c_str());  // if it is empty
}

SparseFolder::FileId SparseFolder::create() {
  const auto file = static_cast<FileId>(files_.size());
  files_.push_back({.name = ".part-" + std::to_string(::getpid()) + "-" + std::to_string(file),
                    .used = open_.end()});
  if (!failed()) descriptor(file, true);
  return file;
}

int SparseFolder::descriptor(FileId id, bool is_new) {
  File& file = files_[id];
  if (file.fd >= 0) {
    open_.splice(open_.begin(), open_, file.used);
    return file.fd;
  }
  if (open_.size() >= kMostOpen) close(open_.back());
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (is_new ? O_CREAT | O_EXCL : 0);
  file.fd = ::openat(folder_, file.name.c_str(), flags, 0666);
  if (file.fd < 0) {
    fail_with(file.name, errno);
    return -1;
  }
  open_.push_front(id);
  file.used = open_.begin();
  return file.fd;
}

void SparseFolder::close(FileId id) {
  File& file = files_[id];
  if (file.fd < 0) return;
  if (::close(file.fd) != 0) fail_with(file.name, errno);
  file.fd = -1;
  open_.erase(file.used);
}

void SparseFolder::write(FileId id, std::uint64_t offset, std::span<const std::byte> bytes) {
  if (failed()) return;
  const int fd = descriptor(id);
  while (fd >= 0 && !bytes.empty()) {
    const ssize_t wrote = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return fail_with(files_[id].name, wrote < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
}

void SparseFolder::copy(FileId source, std::uint64_t from, FileId target, std::uint64_t to,
                        std::uint64_t length) {
  std::vector<std::byte> piece(std::min<std::uint64_t>(length, std::uint64_t{1} << 20));
  while (length > 0 && !failed()) {
    const int fd = descriptor(source);
    if (fd < 0) return;
    const ssize_t got = ::pread(fd, piece.data(), std::min<std::uint64_t>(length, piece.size()),
                                static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail_with(files_[source].name, got < 0 ? errno : EIO);
    const auto bytes = static_cast<std::uint64_t>(got);
    write(target, to, std::span(piece).first(static_cast<std::size_t>(got)));
    from += bytes;
    to += bytes;
    length -= bytes;
  }
}

void SparseFolder::remove(FileId id) {
  File& file = files_[id];
  if (file.fd >= 0) ::close(file.fd);
  if (file.fd >= 0) open_.erase(file.used);
  file.fd = -1;
  if (!file.name.empty() && !file.published) ::unlinkat(folder_, file.name.c_str(), 0);
  file.name.clear();
}

void SparseFolder::publish(FileId id, const std::string& name) {
  close(id);
  if (failed()) return;
  File& file = files_[id];
  const std::string path = path_ + "/" + name;
  if (force_) {
    if (auto own = check_outputs({}, {{"--out", path}}); !own) {
      failure_ = own.error();
      return;
    }
  }
  const unsigned flags = force_ ? 0 : RENAME_NOREPLACE;
  int done = ::renameat2(folder_, file.name.c_str(), folder_, name.c_str(), flags);
  if (done != 0 && errno == EINVAL)  // a file system without flags
    done = ::renameat(folder_, file.name.c_str(), folder_, name.c_str());
  if (done != 0) return fail_with(name, errno);
  file.published = true;
}

void SparseFolder::fail_with(const std::string& name, int error) {
  if (failure_) return;
  const std::string shown = name.starts_with(".part-") ? path_ : path_ + "/" + name;
  failure_ = Error{shown + ": cannot be written: " + std::strerror(error) +
                       "; no data is kept: name a folder with more room, or extract less (--what, "
                       "--connection, --filter)",
                   ExitCode::environment};
}

Result<void> SparseFolder::result() const {
  if (failure_) return std::unexpected(*failure_);
  return {};
}

}  // namespace lw::dissect
