// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/client_files.h"

#include <algorithm>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "config/limits.h"
#include "core/input.h"
#include "core/output.h"

namespace lw::config {
namespace {

namespace fs = std::filesystem;

/// Opens a file below a folder (openat2(2)). Returns a negative number if it is elsewhere.
int open_below(const fs::path& folder, const fs::path& name) noexcept {
  const Descriptor top(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, top.get(), name.c_str(), &how, sizeof how));
}

bool is_regular(int file) noexcept {
  struct stat status{};
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

Result<ClientFiles> ClientFiles::below(const std::string& folder) {
  std::error_code failed;
  ClientFiles files;
  files.folder_ = fs::canonical(folder, failed);
  if (failed || !fs::is_directory(files.folder_, failed))
    return fail(fmt::format("expected a folder, found none at {}", folder));
  return files;
}

/// Returns a path relative to the folder; empty if it is not below it, as far as its text says.
fs::path ClientFiles::inside(const fs::path& path) const {
  std::error_code failed;
  const fs::path relative =
      fs::absolute(path, failed).lexically_normal().lexically_relative(folder_);
  return relative.empty() || *relative.begin() == ".." ? fs::path() : relative;
}

std::string ClientFiles::path_of(const fs::path& from, const std::string& name) const {
  const fs::path beside = from / name;
  return inside(beside).empty() ? (folder_ / name).string() : beside.string();
}

Result<std::string> ClientFiles::read(const std::string& path) const {
  if (folder_.empty())
    return fail(
        "expected no name of a file: remote clients may name files only where the run has "
        "--web-files DIR");
  const fs::path name = path.find('\0') == std::string::npos ? inside(path) : fs::path();
  const Descriptor file(name.empty() ? -1 : open_below(folder_, name));
  if (file.get() < 0 || !is_regular(file.get()))
    return fail("expected a file below the folder of --web-files, found none");
  note_input(path);
  return read_open_file(file.get(), "the file", kMostProfileBytes);
}

std::string without_text(const std::string& error) {
  constexpr std::string_view kHidden = "is not as expected (a remote client is not shown its text)";
  const std::size_t end = error.starts_with("line ") ? error.find(':') : std::string::npos;
  return end == std::string::npos ? std::string(kHidden)
                                  : fmt::format("{} {}", error.substr(0, end), kHidden);
}

}  // namespace lw::config
