// SPDX-License-Identifier: BSD-3-Clause
// Any line as each kind of line that RDMA peers exchange: an error has a message, and what is read
// is written so that it reads the same. Any bytes as what a peer sends in a session, by a socket:
// the lines come in their order, none is too long, and the session ends.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <sys/socket.h>

#include "core/token.h"
#include "gen/perf/session/handover_link.h"

namespace {

template <class Read>
void check(std::string_view line, Read read) {
  const auto first = read(line);
  if (!first) {
    if (first.error().message.empty()) std::abort();
    return;
  }
  const auto again = read(line_of(*first));
  if (!again || !(*again == *first)) std::abort();
}

using lw::gen::handover::Link;

/// Sends some of the bytes, and their end after the last one.
void send_some(const lw::net::Socket& peer, std::string_view& bytes) {
  const auto sent = send(peer.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  if (bytes.empty()) shutdown(peer.descriptor(), SHUT_WR);
}

/// Passes the peer's lines to `step` until it returns false, or the connection has ended.
template <class Step>
void converse(std::string_view bytes, Step step) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) return;
  const lw::net::Socket peer(ends[1]);
  Link link(lw::net::Socket{ends[0]}, lw::gen::handover::kMostBytes);
  while (true) {
    send_some(peer, bytes);
    const auto line = link.poll();
    if (!line) return;
    if (!*line) continue;
    if ((*line)->size() > lw::gen::handover::kMostBytes) std::abort();
    if (!step(**line)) return;
  }
}

/// What a server reads: a Hello, then a Done for its QPs.
void serve(std::string_view bytes) {
  std::optional<lw::gen::handover::Hello> hello;
  converse(bytes, [&](const std::string& line) {
    if (!hello) {
      auto read = lw::gen::handover::read_hello(line);
      if (read) hello = std::move(*read);
      return hello.has_value();
    }
    const auto done = lw::gen::handover::read_done(line);
    return done && done->messages.size() == hello->qps.size();
  });
}

/// What a client reads: an Offer, then a Report.
void connect(std::string_view bytes) {
  bool offered = false;
  converse(bytes, [&](const std::string& line) {
    if (offered) return lw::gen::handover::read_report(line).has_value();
    return offered = lw::gen::handover::read_offer(line).has_value();
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lw::gen::handover;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  check(line, read_hello);
  check(line, read_offer);
  check(line, read_done);
  check(line, read_report);
  if (lw::same_token("0123456789abcdef", line) != (line == "0123456789abcdef")) std::abort();
  serve(line);
  connect(line);
  return 0;
}
