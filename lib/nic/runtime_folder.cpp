// SPDX-License-Identifier: BSD-3-Clause
#include "nic/runtime_folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "nic/interface.h"

namespace lw::nic {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLock = "lock", kDown = "down";

/// Returns the number of the process whose folder this is; nothing if it is another folder.
std::optional<pid_t> process_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(RuntimeFolder::kPrefix)) return std::nullopt;
  const char* const first = name.data() + RuntimeFolder::kPrefix.size();
  const char* const last = name.data() + name.size();
  pid_t process = 0;
  const auto [end, error] = std::from_chars(first, last, process);
  return error == std::errc{} && end == last && process > 0 ? std::optional(process) : std::nullopt;
}

/// True if the process no longer lives: no process has its number, and none holds the lock, as one
/// in another process namespace would.
bool is_left_behind(const fs::path& folder) {
  const auto process = process_of(folder);
  if (!process || kill(*process, 0) == 0 || errno != ESRCH) return false;
  const int lock = open((folder / kLock).c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (lock < 0) return errno == ENOENT;
  const bool is_free = flock(lock, LOCK_EX | LOCK_NB) == 0;
  ::close(lock);
  return is_free;
}

/// The number of this process's network namespace.
std::string network_namespace() {
  struct stat status{};
  return stat("/proc/self/ns/net", &status) == 0 ? fmt::format("{}", status.st_ino) : "";
}

/// The name of the note about an interface: "down.4026531840.eth1".
std::string note_of(const std::string& interface) {
  return fmt::format("{}.{}.{}", kDown, network_namespace(), interface);
}

std::vector<fs::path> children_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed); !failed && at != fs::directory_iterator();
       at.increment(failed))
    found.push_back(at->path());
  return found;
}

/// The interfaces of this network namespace that the folder's process has set down.
std::vector<std::string> noted_down(const fs::path& folder) {
  std::vector<std::string> interfaces;
  const std::string start = note_of("");
  for (const fs::path& note : children_of(folder))
    if (const std::string name = note.filename().string(); name.starts_with(start))
      interfaces.push_back(name.substr(start.size()));
  return interfaces;
}

/// True if the folder's process has set down interfaces of other network namespaces.
bool has_notes_of_others(const fs::path& folder) {
  const std::string any = fmt::format("{}.", kDown), own = note_of("");
  return std::ranges::any_of(children_of(folder), [&](const fs::path& note) {
    const std::string name = note.filename().string();
    return name.starts_with(any) && !name.starts_with(own);
  });
}

/// Removes a folder that was left behind, and says what its process has set down. One with notes of
/// another network namespace stays for a program there, which can say it.
void remove_left(const fs::path& folder, std::vector<std::string>& sentences) {
  if (has_notes_of_others(folder)) return;
  for (const std::string& name : noted_down(folder)) {
    const NetworkInterface interface(name);
    if (interface.index() != 0 && !interface.is_up())
      sentences.push_back(
          fmt::format("interface {} is down: an earlier run (process {}) set it down and was "
                      "killed; to set it up: ip link set dev {} up",
                      name, *process_of(folder), name));
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

}  // namespace

RuntimeFolder::RuntimeFolder(fs::path path)
    : path_(std::move(path)),
      lock_(open((path_ / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
  if (lock_ >= 0) flock(lock_, LOCK_EX | LOCK_NB);
}

RuntimeFolder::~RuntimeFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void RuntimeFolder::note_down(const std::string& interface, bool down) const noexcept {
  const fs::path note = path_ / note_of(interface);
  if (!down) return static_cast<void>(unlink(note.c_str()));
  const int file = open(note.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file >= 0) ::close(file);
}

std::vector<std::string> RuntimeFolder::remove_others() const {
  std::vector<std::string> sentences;
  for (const fs::path& folder : children_of(path_.parent_path()))
    if (folder != path_ && is_left_behind(folder)) remove_left(folder, sentences);
  return sentences;
}

void remove_private_folders(const fs::path& folder) {
  for (const fs::path& own : children_of(folder)) {
    struct stat status{};
    if (!own.filename().string().starts_with(RuntimeFolder::kPrefix) ||
        lstat(own.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid())
      continue;
    std::vector<std::string> sentences;
    bool any = false;
    for (const fs::path& one : children_of(own / "dpdk"))
      if (is_left_behind(one)) {
        any = true;
        remove_left(one, sentences);
      }
    if (any && rmdir((own / "dpdk").c_str()) == 0) rmdir(own.c_str());
  }
}

}  // namespace lw::nic
