// SPDX-License-Identifier: BSD-3-Clause
#include "core/socket_holder.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include "core/printable.h"

namespace lw {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

/// Returns word `place`, the inode, of the line of a table in /proc/net that `fits`; empty: there
/// are none, or several. Connections that nobody has accepted yet have the listener's name, and no
/// inode.
template <class Fits>
std::string inode_in(const std::string& table, std::size_t place, const Fits& fits) {
  std::ifstream file("/proc/net/" + table);
  std::string inode;
  for (std::string line; std::getline(file, line);) {
    const auto words = words_of(line);
    if (words.size() <= place || words[place] == "0" || !fits(words)) continue;
    if (!inode.empty()) return {};
    inode = words[place];
  }
  return inode;
}

bool has_socket(const fs::path& process, const std::string& link) {
  std::error_code denied;
  for (fs::directory_iterator at(process / "fd", denied), end; !denied && at != end;
       at.increment(denied)) {
    std::error_code gone;
    if (fs::read_symlink(at->path(), gone) == link) return true;
  }
  return false;
}

std::string process_with(const std::string& inode) {
  std::error_code gone;
  for (fs::directory_iterator at("/proc", gone), end; !inode.empty() && !gone && at != end;
       at.increment(gone)) {
    const std::string number = at->path().filename();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!has_socket(at->path(), "socket:[" + inode + "]")) continue;
    std::string name;
    std::ifstream file("/proc/" + number + "/comm");
    std::getline(file, name);
    return printable(name, 16) + " (process " + number + ")";
  }
  return "another process";
}

}  // namespace

std::string listener_at(std::uint16_t tcp_port) {
  constexpr std::string_view kListens = "0A";
  const auto fits = [&](const std::vector<std::string>& words) {
    const std::string& local = words[1];  // ADDRESS:PORT, hexadecimal
    const std::size_t colon = local.rfind(':');
    unsigned port = 0;
    if (colon != std::string::npos)
      std::from_chars(local.data() + colon + 1, local.data() + local.size(), port, 16);
    return words[3] == kListens && port == tcp_port;
  };
  constexpr std::size_t kInode = 9;
  std::string inode = inode_in("tcp", kInode, fits);
  if (inode.empty()) inode = inode_in("tcp6", kInode, fits);
  return process_with(inode);
}

std::string holder_of_unix_socket(std::string_view name) {
  constexpr std::size_t kInode = 6;
  return process_with(inode_in("unix", kInode, [&](const auto& words) {
    // A name may have blanks.
    std::string found;
    for (std::size_t i = kInode + 1; i < words.size(); ++i)
      found += (found.empty() ? "" : " ") + words[i];
    return found == name;
  }));
}

}  // namespace lw
