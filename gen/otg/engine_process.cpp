// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/engine_process.h"

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "gen/otg/engine.h"
#include "gen/otg/limits.h"
#include "gen/otg/messages.h"

namespace lw::gen::otg {
namespace {

using Json = nlohmann::ordered_json;

/// A message of one byte with room for one descriptor.
struct DescriptorMessage {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr head{};

  DescriptorMessage() {
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
  }
};

bool send_descriptor(const net::Socket& to, int descriptor) {
  DescriptorMessage message;
  cmsghdr* control = CMSG_FIRSTHDR(&message.head);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
  return sendmsg(to.descriptor(), &message.head, MSG_NOSIGNAL) == 1;
}

/// Waits for a descriptor; nothing at the end of the other process.
std::optional<net::Socket> receive_descriptor(const net::Socket& from) {
  DescriptorMessage message;
  ssize_t got = 0;
  do {
    got = recvmsg(from.descriptor(), &message.head, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* control = got == 1 ? CMSG_FIRSTHDR(&message.head) : nullptr;
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS) return std::nullopt;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(control), sizeof descriptor);
  return net::Socket(descriptor);
}

std::optional<std::array<net::Socket, 2>> socket_pair(int type) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0) return std::nullopt;
  return std::array{net::Socket(ends[0]), net::Socket(ends[1])};
}

/// The process that starts the others: it has no threads, so that its copies are whole. A signal of
/// the terminal goes to all; the processes end when the server does.
[[noreturn]] void make_engines(const net::Socket& server, const std::string& folder) {
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);  // the system forgets children that ended
  while (auto socket = receive_descriptor(server)) {
    if (fork() != 0) continue;
    signal(SIGCHLD, SIG_DFL);
    close(server.descriptor());
    run_engine(*socket, folder);
    _exit(0);
  }
  _exit(0);
}

}  // namespace

Result<PrivateFolder> PrivateFolder::create() {
  const char* top = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/longwire-otg-XXXXXX", top != nullptr ? top : "/tmp");
  if (mkdtemp(path.data()) == nullptr)
    return fail(fmt::format("{}: {}", path, std::strerror(errno)), ExitCode::environment);
  return PrivateFolder(path);
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<EngineProcess> EngineProcess::start(const std::string& folder) {
  auto ends = socket_pair(SOCK_SEQPACKET);
  const pid_t child = ends ? fork() : -1;
  if (child < 0)
    return fail(fmt::format("a process: {}", std::strerror(errno)), ExitCode::environment);
  if (child == 0) {
    {
      const net::Socket other = std::move((*ends)[0]);
    }
    make_engines((*ends)[1], folder);
  }
  return EngineProcess(std::move((*ends)[0]));
}

Result<net::Socket> EngineProcess::make() {
  auto ends = socket_pair(SOCK_STREAM);
  if (!ends || !send_descriptor(maker_, (*ends)[1].descriptor()))
    return fail("the process that starts others has gone", ExitCode::environment);
  return std::move((*ends)[0]);
}

/// Returns false if the process does not end: its ports stay in use.
bool EngineProcess::end() {
  if (!engine_) return true;
  shutdown(engine_->descriptor(), SHUT_WR);
  std::array<char, 64> rest{};
  bool ended = false;
  while (!ended && engine_->wait_for(POLLIN, kMostAnswering))
    ended = recv(engine_->descriptor(), rest.data(), rest.size(), 0) <= 0;
  engine_.reset();
  return ended;
}

Answer EngineProcess::ask_engine(const std::string& path, const Json& body) {
  const std::string text = Json{{"path", path}, {"body", body}}.dump();
  if (send_text(*engine_, text, kMostAnswering + kMostDraining)) {
    if (const auto got = receive_text(*engine_, kMostAnswer, kMostAnswering + kMostDraining))
      if (auto answer = read_answer(*got)) return std::move(*answer);
  }
  engine_.reset();
  return error_answer(kInternal, {"the process that ran the configuration has ended, or does not "
                                  "answer: see what it printed, and POST /config again"});
}

Answer EngineProcess::configure(const Json& config) {
  const std::scoped_lock lock(mutex_);
  if (!end())
    return error_answer(kInternal, {"the process of the earlier configuration does not end"});
  auto made = make();
  if (!made) return error_answer(made.error());
  engine_ = std::move(*made);
  Answer answer = ask_engine("/config", config);
  if (answer.status >= kBadRequest) end();
  return answer;
}

void EngineProcess::clear() {
  const std::scoped_lock lock(mutex_);
  end();
}

Answer EngineProcess::ask(const std::string& path, const Json& body) {
  const std::scoped_lock lock(mutex_);
  if (!engine_) return error_answer(kBadRequest, {"there is no configuration: POST /config first"});
  return ask_engine(path, body);
}

}  // namespace lw::gen::otg
